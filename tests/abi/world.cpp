// The world of the bad calls.
#include "abi/world.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "support/pipeline_ends.h"

namespace gpo::test {

namespace {

constexpr const char* kSource = R"(
__device__ unsigned symbol;
extern "C" __global__ void two(unsigned *target, unsigned value) { *target = value; }
)";

constexpr char kTrace[] = R"([
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"host: world"}},
]
)";

[[maybe_unused]] const int two_devices = setenv("GPUORCH_SOFT_DEVICES", "2", 0);

gpo_status nothing(void*, gpo_stream_t, const gpo_chunk*) { return GPO_SUCCESS; }

const gpo_stage& stage() {
    static const gpo_stage stage = [] {
        auto stage = sized<gpo_stage>();
        stage.kind = GPO_STAGE_CALLBACK;
        stage.enqueue = nothing;
        return stage;
    }();
    return stage;
}

gpo_pipeline_options pipeline_options() {
    auto options = sized<gpo_pipeline_options>();
    options.chunk_bytes = 4096;
    options.slots = 1;
    options.stage_stride = sizeof(gpo_stage);
    options.stage_count = 1;
    options.stages = &stage();
    return options;
}

gpo_compile_options compile_options() {
    auto options = sized<gpo_compile_options>();
    options.source = kSource;
    return options;
}

/// Runs a body, from any place where the library calls it.
struct Body {
    const Lambda& run;
    int came = 0;
    void call() {
        ++came;
        run();
    }
    static void callback(void* user, const gpo_completion*, const gpo_error*) { static_cast<Body*>(user)->call(); }
    static gpo_status host_call(void* user, const gpo_host_call*) {
        return static_cast<Body*>(user)->call(), GPO_SUCCESS;
    }
    static gpo_status take(void* user, const gpo_chunk*) { return static_cast<Body*>(user)->call(), GPO_SUCCESS; }
};

/// Bodies that the world's log function calls once, and that its host nodes call.
Body *logged = nullptr, *in_node = nullptr;

const gpo_runtime_options& logging_options() {
    static const gpo_runtime_options options = [] {
        auto options = sized<gpo_runtime_options>();
        options.log = [](void*, int32_t, const char*) {
            if (Body* const body = std::exchange(logged, nullptr)) body->call();
        };
        return options;
    }();
    return options;
}

/// Never destroyed: without the last test the world stays, because doctest ends before static objects do.
std::unique_ptr<World>& holder() {
    static auto& world = *new std::unique_ptr<World>;
    return world;
}

}  // namespace

Objects::Objects(const gpo_runtime_options* options) {
    REQUIRE_OK(gpo_runtime_create(options, &runtime));
    REQUIRE_OK(gpo_device_open(runtime, nullptr, &device));
    stream = fresh_stream();
    stream_pool = fresh_stream_pool();
    event = fresh_event();
    timeline = fresh_timeline();
    cq = fresh_cq();
    arena = fresh_arena();
    pool = fresh_pool();
    module = fresh_module();
    kernel = fresh_kernel();
    pipeline = fresh_pipeline();
    executor = fresh_executor();
    REQUIRE_OK(gpo_memory_allocate(device, 4096, nullptr, &memory));
    graph_template = fresh_graph_template();
    graph = fresh_graph();
    buckets = fresh_buckets();
    queue = fresh_queue();
    scheduler = fresh_scheduler();
    peers = fresh_peers();
    symmetric = fresh_symmetric();
    admission = fresh_admission();
    batcher = fresh_batcher();
}

Objects::~Objects() { CHECK_OK(gpo_runtime_shutdown(runtime, kPatience)); }

#define GPO_FRESH(type, ...)                        \
    gpo_##type##_t Objects::fresh_##type() {        \
        gpo_##type##_t handle = nullptr;            \
        REQUIRE_OK(__VA_ARGS__);                    \
        return handle;                              \
    }
GPO_FRESH(device, gpo_device_open(runtime, nullptr, &handle))
GPO_FRESH(stream, gpo_stream_create(device, nullptr, &handle))
GPO_FRESH(stream_pool, gpo_stream_pool_create(device, nullptr, &handle))
GPO_FRESH(event, gpo_event_create(device, nullptr, &handle))
GPO_FRESH(timeline, gpo_timeline_create(runtime, nullptr, &handle))
GPO_FRESH(peers, gpo_peers_create(&device, 1, nullptr, &handle))
GPO_FRESH(symmetric, gpo_symmetric_allocate(peers, 4096, nullptr, &handle))
GPO_FRESH(admission, gpo_admission_create(runtime, nullptr, &handle))
GPO_FRESH(cq, gpo_cq_create(runtime, nullptr, &handle))
GPO_FRESH(arena, gpo_arena_create(device, nullptr, &handle))
GPO_FRESH(pool, gpo_pool_create(device, nullptr, &handle))
GPO_FRESH(kernel, gpo_module_get_kernel(module, "two", &handle))
GPO_FRESH(executor, gpo_executor_create(runtime, nullptr, &handle))
GPO_FRESH(graph, gpo_graph_create(graph_template, nullptr, &handle))
#undef GPO_FRESH

gpo_module_t Objects::fresh_module() {
    const auto options = compile_options();
    gpo_module_t handle = nullptr;
    REQUIRE_OK(gpo_module_compile(device, &options, &handle));
    return handle;
}

gpo_pipeline_t Objects::fresh_pipeline() {
    const auto options = pipeline_options();
    gpo_pipeline_t handle = nullptr;
    REQUIRE_OK(gpo_pipeline_create(device, &options, &handle));
    return handle;
}

void Objects::add_fill(gpo_template_t to) {
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_add_fill(to, nullptr, 0, memory, 1, 4, 4, &node));
    REQUIRE_OK(gpo_template_add_parameter(to, "two", node, GPO_PARAMETER_VALUE, 0));
}

gpo_template_t Objects::fresh_graph_template() {
    const uint32_t fill = 1, value = 3;
    const void* arguments[] = {&memory, &value};
    auto launch = sized<gpo_launch>();
    launch.grid[0] = launch.block[0] = 1;
    launch.label = "label";
    gpo_template_t handle = nullptr;
    REQUIRE_OK(gpo_template_create(device, nullptr, &handle));
    add_fill(handle);
    REQUIRE_OK(gpo_template_add_kernel(handle, &fill, 1, kernel, &launch, arguments, nullptr, 2, nullptr));
    return handle;
}

// A fill at `user`, whose value is the parameter "two".
static gpo_status record_fill(void* user, gpo_stream_t stream, const gpo_bucket_work* work) {
    CHECK_OK(gpo_fill(stream, *static_cast<uint64_t*>(user), 1, 4, work->shape));
    if (!work->graph_template) return GPO_SUCCESS;
    uint32_t node = 0;
    CHECK_OK(gpo_template_get_last_node(work->graph_template, stream, &node));
    return gpo_template_add_parameter(work->graph_template, "two", node, GPO_PARAMETER_VALUE, 0);
}

gpo_buckets_options Objects::buckets_options() {
    static constexpr uint64_t kShapes[] = {4, 8};
    auto options = sized<gpo_buckets_options>();
    options.shapes = kShapes;
    options.shape_count = 2;
    options.record = record_fill;
    options.user = &memory;
    return options;
}

gpo_buckets_t Objects::fresh_buckets() {
    const auto options = buckets_options();
    gpo_buckets_t handle = nullptr;
    REQUIRE_OK(gpo_buckets_create(device, &options, &handle));
    return handle;
}

gpo_queue_options Objects::queue_options() {
    auto options = sized<gpo_queue_options>();
    options.kind = GPO_QUEUE_RING;
    options.task_size = 16;
    return options;
}

gpo_queue_t Objects::fresh_queue() {
    const auto options = queue_options();
    gpo_queue_t handle = nullptr;
    REQUIRE_OK(gpo_queue_create(device, &options, &handle));
    return handle;
}

gpo_batcher_options Objects::batcher_options() {
    auto options = sized<gpo_batcher_options>();
    options.devices = &device;
    options.device_count = 1;
    options.executor = executor;
    return options;
}

gpo_batcher_key_options Objects::batcher_key_options() {
    auto options = sized<gpo_batcher_key_options>();
    options.layout = GPO_BATCH_ROWS;
    options.input_bytes = options.output_bytes = 16;
    options.work = no_batch;
    return options;
}

gpo_batcher_t Objects::fresh_batcher(uint64_t max_delay_ns) {
    auto options = batcher_options();
    if (max_delay_ns > 1'000'000'000) options.executor = nullptr;  // which would have work for so long
    gpo_batcher_t handle = nullptr;
    REQUIRE_OK(gpo_batcher_create(&options, &handle));
    auto key = batcher_key_options();
    key.max_batch = 65536;
    key.max_delay_ns = max_delay_ns;
    uint32_t number = 0;
    REQUIRE_OK(gpo_batcher_add_key(handle, &key, &number));
    return handle;
}

// Each scheduler has a ring of its own, which goes with the runtime.
gpo_scheduler_options Objects::scheduler_options() {
    rings_.push_back(fresh_queue());
    auto options = sized<gpo_scheduler_options>();
    options.form = GPO_SCHEDULER_RESIDENT;
    options.queue = rings_.back();
    options.source = "struct task { unsigned handler; };\n"
                     "__device__ int work(gpo::task_context &, const task &) { return 0; }\n";
    options.threads = 32;
    options.multiprocessors = 1;
    return options;
}

gpo_handler Objects::handler() {
    auto made = sized<gpo_handler>();
    made.name = "work";
    return made;
}

gpo_scheduler_t Objects::fresh_scheduler() {
    const auto options = scheduler_options();
    const auto work = handler();
    gpo_scheduler_t handle = nullptr;
    REQUIRE_OK(gpo_scheduler_create(device, &options, &work, sizeof work, 1, &handle));
    return handle;
}

gpo_scheduler_t World::stopped_scheduler() {
    REQUIRE_OK(gpo_scheduler_stop(scheduler, kPatience));
    return scheduler;
}

gpo_scheduler_t World::running_scheduler() {
    REQUIRE_OK(gpo_scheduler_start(stopped_scheduler()));
    return scheduler;
}

// Handles of a runtime that was shut down.
static void make_gone(World& of) {
    Objects gone;
    of.gone_runtime = gone.runtime;
#define GPO_GONE(type) of.gone_##type = gone.type
    GPO_GONE(device); GPO_GONE(stream); GPO_GONE(stream_pool); GPO_GONE(event); GPO_GONE(timeline); GPO_GONE(cq);
    GPO_GONE(arena); GPO_GONE(pool); GPO_GONE(module); GPO_GONE(kernel); GPO_GONE(pipeline);
    GPO_GONE(executor);
    GPO_GONE(graph_template);
    GPO_GONE(graph);
    GPO_GONE(buckets);
    GPO_GONE(queue);
    GPO_GONE(scheduler);
    GPO_GONE(peers);
    GPO_GONE(symmetric);
    GPO_GONE(admission);
    GPO_GONE(batcher);
#undef GPO_GONE
}

World::World() : Objects(&logging_options()), other(std::make_unique<Objects>()) {
    uint32_t count = 0;
    REQUIRE_OK(gpo_runtime_get_device_count(runtime, &count));
    if (count > 1) {
        auto options = sized<gpo_device_options>();
        options.ordinal = 1;
        REQUIRE_OK(gpo_device_open(runtime, &options, &second_device));
    }
    make_gone(*this);
    stale_device = fresh_device();
    REQUIRE_OK(gpo_device_close(stale_device));
#define GPO_STALE(type)                    \
    stale_##type = fresh_##type();         \
    REQUIRE_OK(gpo_##type##_destroy(stale_##type))
    GPO_STALE(stream); GPO_STALE(stream_pool); GPO_STALE(event); GPO_STALE(timeline); GPO_STALE(cq);
    GPO_STALE(arena); GPO_STALE(pool); GPO_STALE(module); GPO_STALE(kernel); GPO_STALE(pipeline);
    GPO_STALE(executor);
    GPO_STALE(graph); GPO_STALE(buckets); GPO_STALE(queue); GPO_STALE(scheduler);
    GPO_STALE(peers); GPO_STALE(symmetric); GPO_STALE(admission); GPO_STALE(batcher);
#undef GPO_STALE
    stale_graph_template = fresh_graph_template();
    REQUIRE_OK(gpo_template_destroy(stale_graph_template));

    REQUIRE_OK(gpo_trace_start(runtime, nullptr));  // makes a summary
    REQUIRE_OK(gpo_trace_stop(runtime));
    trace_file = memfd_create("gpuorch-world", MFD_CLOEXEC);
    REQUIRE(write(trace_file, kTrace, sizeof kTrace - 1) == sizeof kTrace - 1);
    trace = "/proc/self/fd/" + std::to_string(trace_file);
    auto caller = sized<gpo_executor_options>();
    caller.flags = GPO_EXECUTOR_CALLER;
    REQUIRE_OK(gpo_executor_create(runtime, &caller, &callbacks_));
    held_ = fresh_stream();
    auto one_place = sized<gpo_admission_options>();
    one_place.count = 1;
    REQUIRE_OK(gpo_admission_create(runtime, &one_place, &full_admission));
    timed_executor = fresh_executor();
    entered_ = fresh_cq();
    enter(full_admission);
    slow_batcher = fresh_batcher(3'600'000'000'000);
    const auto request = good_gpo_batcher_request();
    uint64_t ticket = 0;
    REQUIRE_OK(gpo_batcher_submit(batcher, &request, entered_, 0, &ticket, nullptr));
    carrier_ = fresh_pipeline();
    auto timed = sized<gpo_event_options>();
    timed.flags = GPO_EVENT_TIMING;
    REQUIRE_OK(gpo_event_create(device, &timed, &timing));
    REQUIRE_OK(gpo_event_record(timing, stream));
    timed.flags = GPO_EVENT_INTERPROCESS;
    REQUIRE_OK(gpo_event_create(device, &timed, &between));
    void* piece = nullptr;
    REQUIRE_OK(gpo_arena_allocate(arena, 4096, 0, &piece));
    pinned.memory = static_cast<uint8_t*>(piece);
    std::memset(piece, 0, 4096);
    pages = std::aligned_alloc(4096, 4096);
    REQUIRE(pages != nullptr);
    REQUIRE_OK(gpo_stream_get_native(stream, &native_stream));
    REQUIRE_OK(gpo_device_get_limit(device, GPO_LIMIT_PRINTF_BYTES, &printf_bytes));
    size_t needed = 0;
    REQUIRE_OK(gpo_module_get_image(module, nullptr, 0, &needed));
    image.resize(needed);
    REQUIRE_OK(gpo_module_get_image(module, image.data(), image.size(), &needed));
    const auto source = good_gpo_source();
    const auto sink = good_gpo_sink();
    REQUIRE_OK(gpo_pipeline_start(pipeline, &source, &sink));
    make_graphs();
    make_host_nodes();
    make_queues();
    renew();
}

uint64_t World::enter(gpo_admission_t at) {
    uint64_t ticket = 0, count = 0;
    gpo_completion entry;
    REQUIRE_OK(gpo_admission_enter(at, nullptr, entered_, 0, &ticket));
    CHECK_OK(gpo_cq_drain(entered_, &entry, sizeof entry, 1, &count));
    return ticket;
}

uint64_t World::held_ticket() { return enter(admission); }
uint64_t World::waiting_ticket() { return enter(full_admission); }

uint64_t World::timed_callback() {
    uint64_t ticket = 0;
    REQUIRE_OK(gpo_executor_post_at(timed_executor, UINT64_MAX, no_completion, nullptr, &ticket));
    return ticket;
}

gpo_batcher_request World::good_gpo_batcher_request() {
    auto request = sized<gpo_batcher_request>();
    request.flow = 7;
    request.input = row[0];
    request.output = row[1];
    return request;
}

uint64_t World::waiting_request() {
    const auto request = good_gpo_batcher_request();
    uint64_t ticket = 0;
    REQUIRE_OK(gpo_batcher_submit(slow_batcher, &request, entered_, 0, &ticket, nullptr));
    return ticket;
}

// Graphs that only some functions take.
void World::make_graphs() {
    gpo_template_t body = nullptr;
    auto condition = sized<gpo_condition>();
    deciding = fresh_graph_template();
    REQUIRE_OK(gpo_template_add_if(deciding, nullptr, 0, &condition, &body, nullptr, nullptr));
    REQUIRE_OK(gpo_template_destroy(body));
    condition = good_gpo_condition();
    condition.max_iterations = 3;
    REQUIRE_OK(gpo_template_create(device, nullptr, &looping));
    REQUIRE_OK(gpo_template_add_while(looping, nullptr, 0, &condition, &body, &loop_node));
    REQUIRE_OK(gpo_template_destroy(body));
    REQUIRE_OK(gpo_graph_create(looping, nullptr, &looping_graph));
    auto options = sized<gpo_graph_options>();
    options.flags = GPO_GRAPH_DEVICE_LAUNCH;
    REQUIRE_OK(gpo_graph_create(graph_template, &options, &device_graph));
    REQUIRE_OK(gpo_template_get_native(graph_template, &native_graph));
}

// Queues of other kinds than `queue`.
void World::make_queues() {
    auto options = sized<gpo_queue_options>();
    options.kind = GPO_QUEUE_RANGE;
    options.count = 4;
    REQUIRE_OK(gpo_queue_create(device, &options, &range));
    auto resident = sized<gpo_stream_options>();
    resident.flags = GPO_STREAM_RESIDENT;
    options = sized<gpo_queue_options>();
    options.kind = GPO_QUEUE_HOST_RING;
    options.task_size = 16;
    options.answer_size = 4;
    options.tenants = 2;
    REQUIRE_OK(gpo_stream_create(device, &resident, &options.stream));
    REQUIRE_OK(gpo_queue_create(device, &options, &host_queue));
    REQUIRE_OK(gpo_stream_destroy(options.stream));
}

void World::make_host_nodes() {
    nodes_ = fresh_stream();
    gpo_template_t built = nullptr, imported = nullptr;
    REQUIRE_OK(gpo_template_create(device, nullptr, &built));
    REQUIRE_OK(gpo_template_add_host_call(built, nullptr, 0, [](void*) { in_node->call(); }, nullptr, nullptr));
    void* native = nullptr;
    REQUIRE_OK(gpo_template_get_native(built, &native));
    REQUIRE_OK(gpo_template_import(device, native, nullptr, &imported));
    REQUIRE_OK(gpo_graph_create(built, nullptr, &built_node_));
    REQUIRE_OK(gpo_graph_create(imported, nullptr, &imported_node_));
    gpo_template_destroy(built);
    gpo_template_destroy(imported);
}

World::~World() {
    renew();
    gpo_graph_destroy(built_node_);
    gpo_graph_destroy(imported_node_);
    gpo_queue_destroy(range);
    gpo_queue_destroy(host_queue);
    gpo_executor_destroy(timed_executor);
    gpo_admission_destroy(full_admission);
    gpo_batcher_destroy(slow_batcher);
    gpo_cq_destroy(entered_);
    gpo_graph_destroy(looping_graph);
    gpo_graph_destroy(device_graph);
    gpo_template_destroy(looping);
    gpo_template_destroy(deciding);
    std::free(pages);
    close(trace_file);
}

void World::renew() {
    gpo_trace_stop(runtime);
    gpo_runtime_set_log_executor(runtime, nullptr);
    gpo_host_unregister(device, pages);
    for (void* piece : pieces_) gpo_arena_free(arena, piece);
    for (uint64_t address : allocations_) gpo_memory_free(device, address);
    for (uint64_t address : pooled_) gpo_pool_free(pool, stream, address);
    for (gpo_stream_t pooled : pooled_streams_) gpo_stream_pool_release(stream_pool, pooled);
    for (gpo_template_t made : templates_) gpo_template_destroy(made);  // what is recorded is discarded
    pieces_.clear();
    allocations_.clear();
    pooled_.clear();
    pooled_streams_.clear();
    templates_.clear();
    allocating_ = nullptr;
    CHECK_OK(gpo_pipeline_wait(pipeline, kPatience, nullptr));
    CHECK_OK(gpo_event_record(event, stream));   // it may have been recorded in a recording
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK_OK(gpo_executor_run_for(executor, kPatience, nullptr));
    // Nothing is in the queue, on its way there, or woken.
    auto statistics = sized<gpo_cq_statistics>();
    gpo_completion entries[16];
    uint64_t count = 0;
    do {
        gpo_cq_wait(cq, 0);
        CHECK_OK(gpo_cq_drain(cq, entries, sizeof entries[0], 16, &count));
        CHECK_OK(gpo_cq_get_statistics(cq, &statistics));
    } while (statistics.drained < statistics.accepted);
    gpo_cq_wait(cq, 0);
}

void World::inside(Inside what, const Lambda& run) {
    Body body{run};
    const auto throws = [](void*, const gpo_completion*, const gpo_error*) { throw 20; };
    const auto source = good_gpo_source();
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_CALLBACK;
    sink.take = Body::take;
    sink.user = &body;
    switch (what) {
    case Inside::callback: REQUIRE_OK(gpo_stream_then(stream, callbacks_, Body::callback, &body)); break;
    case Inside::host_call: REQUIRE_OK(gpo_stream_host_call(held_, callbacks_, Body::host_call, &body)); break;
    case Inside::pipeline: REQUIRE_OK(gpo_pipeline_start(carrier_, &source, &sink)); break;
    case Inside::host_node:
    case Inside::imported_node:
        in_node = &body;
        REQUIRE_OK(gpo_graph_launch(what == Inside::host_node ? built_node_ : imported_node_, nodes_));
        CHECK_OK(gpo_stream_wait(nodes_, kPatience));
        break;
    case Inside::log:  // of a callback that throws
        logged = &body;
        REQUIRE_OK(gpo_stream_then(stream, callbacks_, throws, nullptr));
        break;
    }
    CHECK_OK(gpo_executor_run_for(callbacks_, kPatience, nullptr));
    if (what == Inside::pipeline) CHECK_OK(gpo_pipeline_wait(carrier_, kPatience, nullptr));
    CHECK_OK(gpo_stream_wait(held_, kPatience));
    CHECK(body.came == 1);
    auto statistics = sized<gpo_executor_statistics>();
    REQUIRE_OK(gpo_executor_get_statistics(callbacks_, &statistics));
    thrown_ += what == Inside::log;
    CHECK(statistics.threw == thrown_);
}

void* World::piece() {
    void* piece = nullptr;
    REQUIRE_OK(gpo_arena_allocate(arena, 64, 0, &piece));
    pieces_.push_back(piece);
    return piece;
}

uint64_t World::allocation() {
    uint64_t address = 0;
    REQUIRE_OK(gpo_memory_allocate(device, 64, nullptr, &address));
    allocations_.push_back(address);
    return address;
}

uint64_t World::pooled() {
    uint64_t address = 0;
    REQUIRE_OK(gpo_pool_allocate(pool, stream, 64, &address));
    pooled_.push_back(address);
    return address;
}

gpo_stream_t World::pooled_stream() {
    gpo_stream_t pooled = nullptr;
    REQUIRE_OK(gpo_stream_pool_acquire(stream_pool, 0, &pooled));
    pooled_streams_.push_back(pooled);
    return pooled;
}

gpo_template_t World::building() {
    gpo_template_t made = nullptr;
    REQUIRE_OK(gpo_template_create(device, nullptr, &made));
    templates_.push_back(made);
    add_fill(made);
    return made;
}

gpo_template_t World::recording() {
    const gpo_template_t made = building();
    REQUIRE_OK(gpo_template_begin(made, stream));
    REQUIRE_OK(gpo_fill(stream, memory, 1, 4, 4));
    return made;
}

gpo_template_t World::allocating() {
    if (allocating_) return allocating_;
    REQUIRE_OK(gpo_template_create(device, nullptr, &allocating_));
    templates_.push_back(allocating_);
    REQUIRE_OK(gpo_template_add_allocation(allocating_, nullptr, 0, 4096, &allocated_, nullptr));
    return allocating_;
}

uint64_t World::allocated() {
    allocating();
    return allocated_;
}

gpo_collective World::good_gpo_collective() {
    auto sum = sized<gpo_collective>();
    sum.kind = GPO_COLLECTIVE_ALL_REDUCE;
    sum.type = GPO_TYPE_INT32;
    sum.reduction = GPO_REDUCE_SUM;
    sum.count = 4;
    return sum;
}

gpo_rank_part World::good_gpo_rank_part() {
    auto part = sized<gpo_rank_part>();
    part.stream = stream;
    part.send = part.receive = memory;
    return part;
}

gpo_rank_launch World::good_gpo_rank_launch() {
    auto launch = sized<gpo_rank_launch>();
    shape = good_gpo_launch();
    launch.stream = stream;
    launch.kernel = kernel;
    launch.launch = &shape;
    launch.arguments = arguments;
    launch.sizes = sizes;
    launch.argument_count = 2;
    return launch;
}

gpo_join_options World::good_gpo_join_options() {
    auto options = sized<gpo_join_options>();
    REQUIRE_OK(gpo_peers_make_id(peers_id, sizeof peers_id, nullptr));
    options.by = GPO_JOIN_ID;
    options.id = peers_id;
    options.ranks = 1;
    return options;
}

gpo_workload World::good_gpo_workload() {
    auto workload = sized<gpo_workload>();
    workload.flags = GPO_WORKLOAD_REPEATS;
    workload.launches = 10;
    workload.kernel_ns = 20'000;
    return workload;
}

gpo_condition World::good_gpo_condition() {
    auto condition = sized<gpo_condition>();
    condition.comparison = GPO_COMPARE_EQUAL;
    condition.word = memory;
    return condition;
}

gpo_compile_options World::good_gpo_compile_options() { return compile_options(); }

gpo_launch World::good_gpo_launch() {
    auto launch = sized<gpo_launch>();
    launch.grid[0] = launch.block[0] = 1;
    return launch;
}

gpo_copy World::good_gpo_copy() {
    auto copy = sized<gpo_copy>();
    copy.destination = memory;
    copy.source = reinterpret_cast<uint64_t>(pinned.memory);
    copy.bytes = 64;
    return copy;
}

gpo_copy_2d World::good_gpo_copy_2d() {
    auto copy = sized<gpo_copy_2d>();
    copy.destination = memory;
    copy.source = reinterpret_cast<uint64_t>(pinned.memory);
    copy.destination_pitch = copy.source_pitch = 64;
    copy.width = 16;
    copy.height = 4;
    return copy;
}

gpo_setting World::good_gpo_setting() {
    auto setting = sized<gpo_setting>();
    setting.name = "two";
    setting.value = &launch_value;
    setting.bytes = sizeof launch_value;
    return setting;
}

gpo_source World::good_gpo_source() { return from_memory(pinned.memory, 4096); }

gpo_pipeline_options World::good_gpo_pipeline_options() { return pipeline_options(); }

void assert_call(const Assertion& where, const char* call, gpo_status expected, const Handles& given, gpo_status got) {
    assert_status(where, call, expected, got);
    if (got < 10 || got >= 50 || got != expected || given.size() == 0) return;
    const gpo_error error = last_error();
    std::string wrong;
    if (error.status != got) {
        wrong = std::string(call) + ": the last error is of another call";
        ADD_FAIL_CHECK_AT(where.file, where.line, wrong);
    }
    bool valid = false;
    for (const GivenHandle& one : given) {
        char label[64] = {};
        if (gpo_object_get_label(one.handle, label, sizeof label, nullptr) != GPO_SUCCESS) continue;
        valid = true;
        const std::string called = *label ? std::string(one.type) + " `" + label + "`" : one.type;
        if (called.substr(0, sizeof error.object - 1) == error.object) return;
    }
    if (!valid) return;
    wrong = std::string(call) + " is blamed on \"" + error.object + "\": " + error.message;
    ADD_FAIL_CHECK_AT(where.file, where.line, wrong);
}

World& world() {
    if (!holder()) holder() = std::make_unique<World>();
    return *holder();
}

void end_world() {
    World& w = world();
    const auto launch = w.good_gpo_launch();
    CHECK_OK(gpo_stream_launch_kernel(w.stream, w.kernel, &launch, w.arguments, w.sizes, 2));
    CHECK_OK(gpo_graph_launch(w.graph, w.stream));
    CHECK_OK(gpo_buckets_launch(w.buckets, w.stream, 3, nullptr, 0, 0, nullptr));
    CHECK_OK(gpo_stream_notify(w.stream, w.cq, 1));
    CHECK(take(w.cq, 1)[0].status == GPO_SUCCESS);
    holder().reset();
}

}  // namespace gpo::test
