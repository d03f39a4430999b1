// An object of each type for the test that generate_bad_calls.py makes: usable, destroyed, of another runtime, of a
// runtime that was shut down; and the structs of good calls.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <random>
#include <vector>

#include "support/gpu.h"

namespace gpo::test {

/// A handle that a call was given, and the name of its type in messages.
struct GivenHandle {
    const char* type;
    const void* handle;
};
using Handles = std::initializer_list<GivenHandle>;

/// Refers to a lambda. The test has more than a thousand; with a std::function for each, and vectors of handles, it
/// took a compiler three times as long.
class Lambda {
public:
    template <class F>
    Lambda(const F& lambda) : lambda_(&lambda), call_([](const void* of) { (*static_cast<const F*>(of))(); }) {}
    void operator()() const { call_(lambda_); }

private:
    const void* lambda_;
    void (*call_)(const void*);
};

/// CHECK_STATUS, with a text that describes the call. If the call was refused, the last error has to be the call's own,
/// and has to name an object behind the valid handles, if there are any.
#define CHECK_CALL(what, expected, given, ...) \
    gpo::test::assert_call({__FILE__, __LINE__, false}, what ": " #__VA_ARGS__, expected, given, (__VA_ARGS__))
void assert_call(const Assertion& where, const char* call, gpo_status expected, const Handles& given, gpo_status got);

/// A struct as a newer caller has it.
template <class T>
struct Larger {
    T value;
    unsigned char tail[16];
    void guard(size_t from) { std::memset(reinterpret_cast<unsigned char*>(this) + from, 0xee, sizeof *this - from); }
    bool guarded(size_t from) const {
        for (size_t i = from; i < sizeof *this; ++i)
            if (reinterpret_cast<const unsigned char*>(this)[i] != 0xee) return false;
        return true;
    }
};

struct Field {
    size_t begin, bytes;
};
/// The sizes below a struct's own at which none of its fields begins or ends: no version of the struct can have them.
inline std::vector<uint32_t> sizes_that_cut(size_t bytes, std::initializer_list<Field> fields) {
    std::vector<uint32_t> found;
    for (uint32_t size = 1; size < bytes; ++size)
        if (std::none_of(fields.begin(), fields.end(),
                         [&](const Field& field) { return size == field.begin || size == field.begin + field.bytes; }))
            found.push_back(size);
    return found;
}

/// An object of each type in one runtime, named like the handle types.
struct Objects {
    explicit Objects(const gpo_runtime_options* options = nullptr);
    ~Objects();
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr;
    gpo_stream_pool_t stream_pool = nullptr;
    gpo_event_t event = nullptr;
    gpo_timeline_t timeline = nullptr;
    gpo_cq_t cq = nullptr;
    gpo_arena_t arena = nullptr;
    gpo_pool_t pool = nullptr;
    gpo_module_t module = nullptr;
    gpo_kernel_t kernel = nullptr;
    gpo_pipeline_t pipeline = nullptr;
    gpo_executor_t executor = nullptr;
    gpo_template_t graph_template = nullptr;  // has a fill, and a kernel called "label" behind it; see add_fill()
    gpo_graph_t graph = nullptr;
    gpo_buckets_t buckets = nullptr;          // of shapes 4 and 8, with the parameter "two"
    gpo_queue_t queue = nullptr;              // a ring
    gpo_scheduler_t scheduler = nullptr;      // of a ring of its own, without tasks
    gpo_peers_t peers = nullptr;              // of `device` alone
    gpo_symmetric_t symmetric = nullptr;      // 4096 bytes
    gpo_admission_t admission = nullptr;      // without limits
    gpo_batcher_t batcher = nullptr;          // of `device`, on `executor`, with a key for rows
    uint64_t memory = 0;  // 4096 bytes on the device

    gpo_device_t fresh_device();
    gpo_stream_t fresh_stream();
    gpo_stream_pool_t fresh_stream_pool();
    gpo_event_t fresh_event();
    gpo_timeline_t fresh_timeline();
    gpo_cq_t fresh_cq();
    gpo_arena_t fresh_arena();
    gpo_pool_t fresh_pool();
    gpo_module_t fresh_module();
    gpo_kernel_t fresh_kernel();
    gpo_pipeline_t fresh_pipeline();
    gpo_executor_t fresh_executor();
    gpo_template_t fresh_graph_template();
    gpo_graph_t fresh_graph();
    gpo_buckets_t fresh_buckets();
    gpo_queue_t fresh_queue();
    gpo_scheduler_t fresh_scheduler();
    gpo_peers_t fresh_peers();
    gpo_symmetric_t fresh_symmetric();
    gpo_admission_t fresh_admission();
    gpo_batcher_t fresh_batcher(uint64_t max_delay_ns = GPO_AUTO);

protected:
    /// An empty template gets a fill as its first node, whose value is the parameter "two".
    void add_fill(gpo_template_t to);
    gpo_buckets_options buckets_options();
    static gpo_queue_options queue_options();
    gpo_scheduler_options scheduler_options();
    static gpo_handler handler();
    gpo_batcher_options batcher_options();
    static gpo_batcher_key_options batcher_key_options();

private:
    std::vector<gpo_queue_t> rings_;  // of schedulers
};

/// Places from which the library calls functions of the program.
enum class Inside { callback, host_call, pipeline, log, host_node, imported_node };

struct World : Objects {
    World();
    ~World();

    std::unique_ptr<Objects> other;  // another runtime's
    gpo_device_t second_device = nullptr;
    gpo_event_t timing = nullptr;    // recorded, and reached
    gpo_event_t between = nullptr;   // of several processes

#define GPO_STALE(type) gpo_##type##_t stale_##type, gone_##type
    GPO_STALE(device); GPO_STALE(stream); GPO_STALE(stream_pool); GPO_STALE(event); GPO_STALE(timeline); GPO_STALE(cq);
    GPO_STALE(arena); GPO_STALE(pool); GPO_STALE(module); GPO_STALE(kernel); GPO_STALE(pipeline);
    GPO_STALE(executor);
    GPO_STALE(graph); GPO_STALE(buckets); GPO_STALE(queue); GPO_STALE(scheduler);
    GPO_STALE(peers); GPO_STALE(symmetric); GPO_STALE(admission); GPO_STALE(batcher);
    gpo_template_t stale_graph_template, gone_graph_template;
    gpo_runtime_t gone_runtime;
#undef GPO_STALE

    void* pages = nullptr;           // 4096 bytes of the host's own, aligned
    void* native_stream = nullptr;
    uint64_t printf_bytes = 0;
    std::vector<uint8_t> image;
    std::vector<char> room = std::vector<char>(32 << 20);
    uint32_t launch_value = 3;
    int trace_file = -1;             // a trace without work, in memory
    std::string trace;               // its name
    const void* arguments[2] = {&memory, &launch_value};
    uint32_t sizes[2] = {8, 4};

    struct {
        uint8_t* memory;
        uint8_t* data() const { return memory; }
    } pinned{};                      // 4096 bytes

    uint64_t next() { return ++last_value_; }
    uint64_t random() { return random_(); }
    void* piece();                   // of the arena
    uint64_t allocation();
    uint64_t pooled();
    gpo_stream_t pooled_stream();
    const uint32_t first_node = 1;
    const uint32_t rank = 0;
    gpo_launch shape;   // that good_gpo_rank_launch() refers to
    gpo_template_t deciding = nullptr;   // as fresh_graph_template(), and an if (node 3) that a kernel decides
    gpo_template_t looping = nullptr;    // a while, node loop_node
    gpo_graph_t looping_graph = nullptr;
    uint32_t loop_node = 0;
    gpo_graph_t device_graph = nullptr;  // that kernels may launch
    gpo_queue_t range = nullptr;         // of 4 numbers
    gpo_queue_t host_queue = nullptr;    // a host ring of two tenants, without a consumer
    const float costs[4] = {1, 2, 3, 4};
    void* native_graph = nullptr;        // graph_template's
    gpo_scheduler_t stopped_scheduler();  // `scheduler`
    gpo_scheduler_t running_scheduler();
    gpo_template_t building();   // as add_fill() leaves it
    gpo_template_t recording();  // on `stream`, by this thread: a fill
    gpo_template_t allocating();  // an allocation is the first node; the same template until renew()
    uint64_t allocated();         // its address
    gpo_admission_t full_admission = nullptr;   // whose only place is held
    uint64_t held_ticket();       // of `admission`
    uint64_t waiting_ticket();    // of `full_admission`
    gpo_executor_t timed_executor = nullptr;
    uint64_t timed_callback();    // of `timed_executor`: waits for a time that never comes
    gpo_batcher_t slow_batcher = nullptr;       // whose requests wait for others for an hour
    uint64_t waiting_request();   // of `slow_batcher`
    uint8_t row[2][16] = {};      // input and output of requests

    gpo_runtime_options good_gpo_runtime_options() { return sized<gpo_runtime_options>(); }
    gpo_device_options good_gpo_device_options() { return sized<gpo_device_options>(); }
    gpo_stream_options good_gpo_stream_options() { return sized<gpo_stream_options>(); }
    gpo_stream_pool_options good_gpo_stream_pool_options() { return sized<gpo_stream_pool_options>(); }
    gpo_event_options good_gpo_event_options() { return sized<gpo_event_options>(); }
    gpo_timeline_options good_gpo_timeline_options() { return sized<gpo_timeline_options>(); }
    gpo_cq_options good_gpo_cq_options() { return sized<gpo_cq_options>(); }
    gpo_arena_options good_gpo_arena_options() { return sized<gpo_arena_options>(); }
    gpo_pool_options good_gpo_pool_options() { return sized<gpo_pool_options>(); }
    gpo_compile_options good_gpo_compile_options();
    gpo_launch good_gpo_launch();
    gpo_trace_options good_gpo_trace_options() { return sized<gpo_trace_options>(); }
    gpo_copy good_gpo_copy();
    gpo_copy_2d good_gpo_copy_2d();
    gpo_source good_gpo_source();
    gpo_sink good_gpo_sink() { return sized<gpo_sink>(); }
    gpo_pipeline_options good_gpo_pipeline_options();
    gpo_executor_options good_gpo_executor_options() { return sized<gpo_executor_options>(); }
    gpo_template_options good_gpo_template_options() { return sized<gpo_template_options>(); }
    gpo_graph_options good_gpo_graph_options() { return sized<gpo_graph_options>(); }
    gpo_buckets_options good_gpo_buckets_options() { return buckets_options(); }
    gpo_queue_options good_gpo_queue_options() { return queue_options(); }
    gpo_scheduler_options good_gpo_scheduler_options() { return scheduler_options(); }
    gpo_handler good_gpo_handler() { return handler(); }
    gpo_tenant_options good_gpo_tenant_options() { return sized<gpo_tenant_options>(); }
    gpo_setting good_gpo_setting();
    gpo_condition good_gpo_condition();
    gpo_workload good_gpo_workload();
    gpo_peers_options good_gpo_peers_options() { return sized<gpo_peers_options>(); }
    gpo_collective good_gpo_collective();
    gpo_rank_part good_gpo_rank_part();
    gpo_symmetric_options good_gpo_symmetric_options() { return sized<gpo_symmetric_options>(); }
    gpo_rank_launch good_gpo_rank_launch();
    gpo_admission_options good_gpo_admission_options() { return sized<gpo_admission_options>(); }
    gpo_admission_request good_gpo_admission_request() { return sized<gpo_admission_request>(); }
    gpo_batcher_options good_gpo_batcher_options() { return batcher_options(); }
    gpo_batcher_key_options good_gpo_batcher_key_options() { return batcher_key_options(); }
    gpo_batcher_request good_gpo_batcher_request();
    gpo_join_options good_gpo_join_options();   // of a group that it has alone
    uint8_t peers_id[GPO_PEERS_ID_BYTES];

    // Keeps a call's result until renew() destroys it.
    void keep(gpo_runtime_t handle) { gpo_runtime_shutdown(handle, kPatience); }
    void keep(gpo_device_t handle) { gpo_device_close(handle); }
    void keep(gpo_stream_t handle) { gpo_stream_destroy(handle); }
    void keep(gpo_stream_pool_t handle) { gpo_stream_pool_destroy(handle); }
    void keep(gpo_event_t handle) { gpo_event_destroy(handle); }
    void keep(gpo_timeline_t handle) { gpo_timeline_destroy(handle); }
    void keep(gpo_cq_t handle) { gpo_cq_destroy(handle); }
    void keep(gpo_arena_t handle) { gpo_arena_destroy(handle); }
    void keep(gpo_pool_t handle) { gpo_pool_destroy(handle); }
    void keep(gpo_module_t handle) { gpo_module_destroy(handle); }
    void keep(gpo_kernel_t handle) { gpo_kernel_destroy(handle); }
    void keep(gpo_pipeline_t handle) { gpo_pipeline_destroy(handle); }
    void keep(gpo_executor_t handle) { gpo_executor_destroy(handle); }
    void keep(gpo_template_t handle) { gpo_template_destroy(handle); }
    void keep(gpo_graph_t handle) { gpo_graph_destroy(handle); }
    void keep(gpo_buckets_t handle) { gpo_buckets_destroy(handle); }
    void keep(gpo_queue_t handle) { gpo_queue_destroy(handle); }
    void keep(gpo_scheduler_t handle) { gpo_scheduler_destroy(handle); }
    void keep(gpo_peers_t handle) { gpo_peers_destroy(handle); }
    void keep(gpo_symmetric_t handle) { gpo_symmetric_destroy(handle); }
    void keep(gpo_admission_t handle) { gpo_admission_destroy(handle); }
    void keep(gpo_batcher_t handle) { gpo_batcher_destroy(handle); }
    void keep_pooled(gpo_stream_t handle) { gpo_stream_pool_release(stream_pool, handle); }

    /// Runs `body` in a callback or a host call on an executor of the caller's, or in the log function: on this thread.
    /// In a sink, the body runs on a thread of a pipeline. In a host node, of a built or of an imported graph, it runs
    /// on a thread of the driver. Each place has a stream or pipeline of its own, and is finished on return.
    void inside(Inside what, const Lambda& body);

    /// After each call: waits for its work, and takes back its leftovers.
    void renew();

private:
    uint64_t enter(gpo_admission_t at);
    gpo_cq_t entered_ = nullptr;     // queue of held_ticket(), waiting_ticket() and waiting_request()
    gpo_executor_t callbacks_ = nullptr;
    gpo_stream_t held_ = nullptr;    // by host calls
    gpo_pipeline_t carrier_ = nullptr;
    gpo_stream_t nodes_ = nullptr;   // of the graphs below, with one host node each
    gpo_graph_t built_node_ = nullptr, imported_node_ = nullptr;
    uint64_t thrown_ = 0;            // on callbacks_
    std::mt19937_64 random_{20};
    uint64_t last_value_ = 0;
    std::vector<void*> pieces_;
    std::vector<uint64_t> allocations_, pooled_;
    std::vector<gpo_stream_t> pooled_streams_;
    void make_graphs();
    void make_host_nodes();
    void make_queues();
    std::vector<gpo_template_t> templates_;
    gpo_template_t allocating_ = nullptr;
    uint64_t allocated_ = 0;
};

/// Callbacks that do nothing.
inline void no_completion(void*, const gpo_completion*, const gpo_error*) {}
inline gpo_status no_host_call(void*, const gpo_host_call*) { return GPO_SUCCESS; }
inline gpo_status no_batch(void*, gpo_stream_t, const gpo_batch*) { return GPO_SUCCESS; }
inline void no_host_node(void*) {}

/// The program's only world, made on first use.
World& world();
/// Uses the world once more, and ends it.
void end_world();

}  // namespace gpo::test
