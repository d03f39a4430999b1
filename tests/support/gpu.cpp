// The fixture: a runtime, its device, and what tests make from them.
#include "support/gpu.h"

#include <cstdlib>
#include <ctime>

namespace gpo::test {

namespace {

constexpr const char* kGateSource = R"(
extern "C" __global__ void gate(const volatile unsigned *open)
{
    while (*open == 0) { }
}
)";

constexpr const char* kWriterSource = R"(
extern "C" __global__ void write_word(volatile unsigned *target, unsigned value)
{
    *target = value;
}
extern "C" __global__ void add_word(volatile unsigned *target, const volatile unsigned *source, unsigned value)
{
    *target = *source + value;
}
)";

}  // namespace

Gpu::Gpu(const gpo_runtime_options& options) {
    REQUIRE_OK(gpo_runtime_create(&options, &runtime));
    REQUIRE_OK(gpo_device_open(runtime, nullptr, &device));
}

Gpu::~Gpu() {
    modules_.clear();
    arena_.reset();
    gpo_device_close(device);
    const gpo_status status = gpo_runtime_shutdown(runtime, kPatience);
    // A test that shuts its runtime down itself leaves nothing to shut down here.
    if (status != GPO_INVALID_HANDLE) CHECK_OK(status);
}

Stream Gpu::stream(const char* label, uint32_t flags, uint32_t max_held) {
    auto options = sized<gpo_stream_options>();
    options.label = label;
    options.flags = flags;
    options.max_held = max_held;
    Stream stream;
    REQUIRE_OK(gpo_stream_create(device, &options, stream.out()));
    // Recordings of such streams are captures of the driver.
    if (void* native = nullptr; flags == 0 && std::getenv("GPUORCH_TEST_NATIVE"))
        REQUIRE_OK(gpo_stream_get_native(stream, &native));
    return stream;
}

Event Gpu::event(uint32_t flags) {
    auto options = sized<gpo_event_options>();
    options.flags = flags;
    Event event;
    REQUIRE_OK(gpo_event_create(device, &options, event.out()));
    return event;
}

Timeline Gpu::timeline(uint64_t value, const char* label) {
    auto options = sized<gpo_timeline_options>();
    options.value = value;
    options.label = label;
    Timeline timeline;
    REQUIRE_OK(gpo_timeline_create(runtime, &options, timeline.out()));
    return timeline;
}

Queue Gpu::queue(uint32_t capacity) {
    auto options = sized<gpo_cq_options>();
    options.capacity = capacity;
    Queue queue;
    REQUIRE_OK(gpo_cq_create(runtime, &options, queue.out()));
    return queue;
}

Executor Gpu::executor(uint32_t flags, uint32_t threads, uint32_t capacity) {
    auto options = sized<gpo_executor_options>();
    options.flags = flags;
    options.threads = threads;
    options.capacity = capacity;
    Executor executor;
    REQUIRE_OK(gpo_executor_create(runtime, &options, executor.out()));
    return executor;
}

gpo_arena_t Gpu::arena() {
    if (!arena_) {
        auto options = sized<gpo_arena_options>();
        options.slab_bytes = 4 << 20;
        options.label = "fixture";
        REQUIRE_OK(gpo_arena_create(device, &options, arena_.out()));
    }
    return arena_;
}

Kernel Gpu::kernel(const std::string& source, const char* name) {
    Module& module = modules_[source];
    if (!module) {
        auto options = sized<gpo_compile_options>();
        options.source = source.c_str();
        options.file_name = "test.cu";
        REQUIRE_OK(gpo_module_compile(device, &options, module.out()));
    }
    Kernel kernel;
    REQUIRE_OK(gpo_module_get_kernel(module, name, kernel.out()));
    return kernel;
}

bool Gpu::has_header(const char* name) {
    const std::string source = "#include <" + std::string(name) + ">\n";
    auto options = sized<gpo_compile_options>();
    options.source = source.c_str();
    Module module;
    const gpo_status status = gpo_module_compile(device, &options, module.out());
    if (status == GPO_COMPILE_FAILED &&
        std::string(last_error().message).find("could not open source file") != std::string::npos)
        return false;
    REQUIRE_OK(status);
    return true;
}

gpo_stream_info info_of(gpo_stream_t stream) {
    auto info = sized<gpo_stream_info>();
    REQUIRE_OK(gpo_stream_get_info(stream, &info));
    return info;
}

bool tells_parameters(gpo_kernel_t kernel) {
    auto attributes = sized<gpo_kernel_attributes>();
    REQUIRE_OK(gpo_kernel_get_attributes(kernel, &attributes));
    return attributes.parameter_count != 0;
}

Device Gpu::second_device() {
    uint32_t count = 0;
    REQUIRE_OK(gpo_runtime_get_device_count(runtime, &count));
    Device second;
    if (count > 1) {
        auto options = sized<gpo_device_options>();
        options.ordinal = 1;
        REQUIRE_OK(gpo_device_open(runtime, &options, second.out()));
    }
    return second;
}

gpo_statistics Gpu::statistics() {
    auto statistics = sized<gpo_statistics>();
    REQUIRE_OK(gpo_runtime_get_statistics(runtime, &statistics));
    return statistics;
}

Memory::Memory(Gpu& gpu, uint64_t bytes) : device_(gpu.device), bytes_(bytes) {
    REQUIRE_OK(gpo_memory_allocate(device_, bytes, "test", &address_));
}

Gate::Gate(Gpu& gpu)
    : device_(gpu.device), kernel_(gpu.kernel(kGateSource, "gate")), open_(gpu.pinned<uint32_t>(1)) {
    // Run once open, so that no lazy loading is left to be done while something runs.
    open();
    Stream stream = gpu.stream();
    put_on(stream);
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    __atomic_store_n(&open_[0], 0, __ATOMIC_SEQ_CST);
}

Gate::~Gate() {
    open();
    gpo_device_wait(device_, kPatience);
}

void Gate::put_on(gpo_stream_t stream) { REQUIRE_OK(launch(stream, kernel_.get(), 1, 1, open_.data())); }

void Gate::open() noexcept {
#ifdef __SANITIZE_THREAD__
    // Values that this thread read earlier are overwritten behind the gate. ThreadSanitizer can't see the kernel read
    // the gate. A call that takes the software GPU's lock, which the end of a kernel takes too, makes the order
    // visible.
    gpo_event_t event = nullptr;
    if (gpo_event_create(device_, nullptr, &event) == GPO_SUCCESS) gpo_event_destroy(event);
#endif
    __atomic_store_n(&open_[0], 1, __ATOMIC_SEQ_CST);
}

Writer::Writer(Gpu& gpu)
    : write_(gpu.kernel(kWriterSource, "write_word")), add_(gpu.kernel(kWriterSource, "add_word")) {
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    Stream stream = gpu.stream();
    REQUIRE_OK(write(stream, word.data(), 1));
    REQUIRE_OK(add(stream, word.data(), word.data(), 1));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    REQUIRE(read(word[0]) == 2);
}

gpo_status Writer::write(gpo_stream_t stream, uint32_t* target, uint32_t value) {
    return launch(stream, write_.get(), 1, 1, target, value);
}

gpo_status Writer::add(gpo_stream_t stream, uint32_t* target, const uint32_t* source, uint32_t value) {
    return launch(stream, add_.get(), 1, 1, target, source, value);
}

uint64_t monotonic_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

std::vector<gpo_completion> take(gpo_cq_t cq, size_t count) {
    std::vector<gpo_completion> entries(count);
    size_t taken = 0;
    while (taken < count) {
        uint64_t got = 0;
        REQUIRE_OK(gpo_cq_wait(cq, kPatience));
        REQUIRE_OK(gpo_cq_drain(cq, &entries[taken], sizeof entries[0], count - taken, &got));
        taken += got;
    }
    return entries;
}

}  // namespace gpo::test
