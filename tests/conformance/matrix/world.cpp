// Objects shared by cells, and how an operation is put on a stream, recorded, or made a node.
#include <optional>

#include "matrix.h"

namespace gpo::test::matrix {

namespace {

constexpr const char* kSource = R"(
#include <gpuorch/device/graph.cuh>
extern "C" __global__ void write_word(volatile unsigned *to, unsigned value) { *to = value; }
extern "C" __global__ void add_word(volatile unsigned *to, const volatile unsigned *from, unsigned value)
{
    *to = *from + value;
}
extern "C" __global__ void count_word(volatile unsigned *word, unsigned by) { *word = *word + by; }
extern "C" __global__ void gate_word(const volatile unsigned *open)
{
    while (*open == 0) { }
    if (*open == 2) __trap();
}
extern "C" __global__ void relaunch(gpo::device_graph graph, unsigned *failed)
{
    *failed = gpo::launch_tail(graph) != 0;
}
)";

}  // namespace

World::World()
    : write_word(gpu.kernel(kSource, "write_word")), add_word(gpu.kernel(kSource, "add_word")),
      count_word(gpu.kernel(kSource, "count_word")), gate_word(gpu.kernel(kSource, "gate_word")),
      relaunch(gpu.kernel(kSource, "relaunch")), executor(gpu.executor()), words_(gpu.pinned<uint32_t>(1 << 18)) {
    uint32_t count = 0;
    REQUIRE_OK(gpo_runtime_get_device_count(gpu.runtime, &count));
    for (uint32_t ordinal = 0; ordinal < std::min(count, 2u); ++ordinal) {
        auto options = sized<gpo_device_options>();
        options.ordinal = ordinal;
        Device made;
        REQUIRE_OK(gpo_device_open(gpu.runtime, &options, made.out()));
        devices.push_back(std::move(made));
    }
    // Once each, so that no lazy loading is left for later.
    Stream first = gpu.stream();
    uint32_t* const one = word();
    REQUIRE_OK(write(first, one, 1));
    REQUIRE_OK(gate(first, one));
    REQUIRE_OK(add(first, one, one, 1));
    REQUIRE_OK(launch(first, count_word, 1, 1, one, 1u));
    REQUIRE_OK(gpo_stream_wait(first, kPatience));
    REQUIRE(read(*one) == 3);
}

World::~World() { gpo_device_wait(gpu.device, kPatience); }

void World::wait_for_callbacks() {
    auto figures = sized<gpo_executor_statistics>();
    const uint64_t until = monotonic_ns() + kPatience;
    do CHECK_OK(gpo_executor_get_statistics(executor, &figures));
    while (figures.pending != 0 && monotonic_ns() < until);
    CHECK(figures.pending == 0);
}

// Each free completes after everything given up before the previous free.
void World::wait_for_frees() {
    for (int i = 0; i < 3; ++i) {
        uint64_t address = 0;
        REQUIRE_OK(gpo_memory_allocate(gpu.device, 256, "last", &address));
        REQUIRE_OK(gpo_memory_free(gpu.device, address));
        CHECK_OK(gpo_device_wait(gpu.device, kPatience));   // for the free too
    }
}

Peers World::group(size_t ranks) {
    const std::vector<gpo_device_t> handles(devices.begin(), devices.begin() + static_cast<ptrdiff_t>(ranks));
    auto options = sized<gpo_peers_options>();
    options.engine = GPO_ENGINE_DIRECT;
    Peers made;
    REQUIRE_OK(gpo_peers_create(handles.data(), static_cast<uint32_t>(ranks), &options, made.out()));
    return made;
}

uint32_t* World::word() {
    REQUIRE(used_ < words_.size());
    return &words_[used_++];
}

void World::set(uint32_t* word, uint32_t value) {
#ifdef __SANITIZE_THREAD__
    // See Gate::open: ThreadSanitizer doesn't see the kernel that looks at the word.
    gpo_event_t event = nullptr;
    if (gpo_event_create(gpu.device, nullptr, &event) == GPO_SUCCESS) gpo_event_destroy(event);
#endif
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

gpo_status World::node(gpo_template_t in, gpo_kernel_t kernel, uint32_t* word, uint32_t number, const uint32_t* after,
                       uint32_t count, uint32_t* node) {
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    const void* arguments[] = {&word, &number};
    return gpo_template_add_kernel(in, after, count, kernel, &shape, arguments, nullptr, 2, node);
}

gpo_status Act::prepare() {
    if (on_stream || !as_node || graph_) return GPO_SUCCESS;
    REQUIRE_OK(gpo_template_create(world.gpu.device, nullptr, graph_template_.out()));
    gpo_status status = as_node(graph_template_, nullptr, 0, nullptr);
    if (status == GPO_SUCCESS) status = gpo_graph_create(graph_template_, nullptr, graph_.out());
    return status;
}

gpo_status Act::put(gpo_stream_t stream) {
    if (on_stream) return on_stream(stream);
    const gpo_status status = gpo_graph_launch(graph_, stream);
    if (give_up) return status;
    give_up = [this] {
        graph_.reset();
        graph_template_.reset();
    };
    return status;
}

gpo_status Act::record(gpo_template_t recording, gpo_stream_t stream) {
    if (on_stream) return on_stream(stream);
    uint32_t last = 0, node = 0;
    REQUIRE_OK(gpo_template_get_last_node(recording, stream, &last));
    const gpo_status status = as_node(recording, &last, last ? 1 : 0, &node);
    if (status == GPO_SUCCESS) REQUIRE_OK(gpo_template_set_last_node(recording, stream, node));
    return status;
}

gpo_status Site::before_gate() {
    const gpo_status status = act.at_once();
    world.wait_for_frees();
    return status;
}

gpo_status Site::put_behind_gate() {
    gpo_status status = act.prepare();
    if (status == GPO_SUCCESS && act.at_once) status = before_gate();
    REQUIRE_OK(gate());
    return status == GPO_SUCCESS ? act.put(on()) : status;
}

void Site::give_up() {
    if (act.give_up) act.give_up();
    if (!borrowed) stream.reset();
}

gpo_event_t View::look_at(gpo_event_t own) {
    if (act.event) return act.event;
    REQUIRE_OK(gpo_event_record(own, site.on()));
    return own;
}

}  // namespace gpo::test::matrix
