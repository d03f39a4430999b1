// Pairs of ends: A is destroyed while B, which uses it, is behind a closed gate. Accepted work is done all the same, or
// ends once with the status that a header names.
#include "matrix.h"

using namespace gpo::test;

namespace gpo::test::matrix {

namespace {

/// A gate: a test puts work behind it and destroys objects meanwhile.
class Ends {
public:
    Ends()
        : stream(world.gpu.stream("user")), other(world.gpu.stream("other")), word(world.word()), open_(world.word()) {}
    ~Ends() { open(); }
    void gate() { REQUIRE_OK(world.gate(stream, open_)); }
    void open() {
        if (!opened_) world.set(open_, 1);
        opened_ = true;
    }
    /// Checks that the GPU does the work once the gate is open.
    void check_done(uint32_t value = kDone) {
        CHECK(read(*word) == 0);
        open();
        CHECK_OK(gpo_device_wait(world.gpu.device, kPatience));
        CHECK(read(*word) == value);
    }
    gpo_status write(gpo_stream_t on) { return world.write(on, word, kDone); }

    World world;
    Stream stream, other;
    uint32_t* const word;

private:
    uint32_t* const open_;
    bool opened_ = false;   // the word is freed with the runtime
};

struct Calls {
    static void count(void* user, const gpo_completion* entry, const gpo_error*) {
        auto& self = *static_cast<Calls*>(user);
        self.status = entry->status;
        ++self.called;
    }
    static gpo_status host(void* user, const gpo_host_call* call) {
        auto& self = *static_cast<Calls*>(user);
        self.status = call->status;
        ++self.called;
        return GPO_SUCCESS;
    }
    void wait(gpo_status expected) {
        const uint64_t until = monotonic_ns() + kPatience;
        while (called == 0 && monotonic_ns() < until) std::this_thread::yield();
        CHECK(called == 1);
        CHECK(std::string(gpo_status_name(status)) == gpo_status_name(expected));
    }
    std::atomic<int> called{0};
    std::atomic<gpo_status> status{GPO_INTERNAL};
};

}  // namespace

TEST_CASE("ends: a stream goes while another waits for its event, and the event goes too" * gated) {
    Ends ends;
    Event event = ends.world.gpu.event();
    ends.gate();
    REQUIRE_OK(gpo_event_record(event, ends.stream));
    REQUIRE_OK(gpo_stream_wait_event(ends.other, event));
    REQUIRE_OK(ends.write(ends.other));
    ends.stream.reset();
    event.reset();
    ends.check_done();
}

TEST_CASE("ends: an event goes while a held stream and a graph's node wait for it" * gated) {
    Ends ends;
    Event event = ends.world.gpu.event();
    Template waits;
    Graph graph;
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_create(ends.world.gpu.device, nullptr, waits.out()));
    REQUIRE_OK(gpo_template_add_event_wait(waits, nullptr, 0, event, &node));
    REQUIRE_OK(ends.world.node(waits, ends.world.count_word, ends.word, 3, &node, 1, nullptr));
    REQUIRE_OK(gpo_graph_create(waits, nullptr, graph.out()));
    Timeline timeline = ends.world.gpu.timeline();
    Stream held = ends.world.gpu.stream("held");
    uint32_t* const seen = ends.world.word();
    ends.gate();
    REQUIRE_OK(gpo_event_record(event, ends.stream));
    REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 1));
    REQUIRE_OK(gpo_stream_wait_event(held, event));
    REQUIRE_OK(ends.world.add(held, seen, ends.word, 1));
    REQUIRE_OK(gpo_graph_launch(graph, ends.other));
    event.reset();
    graph.reset();
    waits.reset();
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK(read(*seen) == 0);
    ends.check_done(3);
    CHECK((read(*seen) == 1 || read(*seen) == 4));   // the two waiters have no order
}

TEST_CASE("ends: a timeline goes while its signal is on the way to who waits" * gated) {
    Ends ends;
    Timeline timeline = ends.world.gpu.timeline();
    ends.gate();
    REQUIRE_OK(gpo_stream_signal_timeline(ends.stream, timeline, 1));
    REQUIRE_OK(gpo_stream_wait_timeline(ends.other, timeline, 1));
    REQUIRE_OK(ends.write(ends.other));
    timeline.reset();
    ends.check_done();
}

TEST_CASE("ends: a completion queue goes while it is owed entries" * gated) {
    Ends ends;
    Queue queue = ends.world.gpu.queue();
    Event event = ends.world.gpu.event();
    ends.gate();
    REQUIRE_OK(ends.write(ends.stream));
    REQUIRE_OK(gpo_event_record(event, ends.stream));
    REQUIRE_OK(gpo_stream_notify(ends.stream, queue, 1));
    REQUIRE_OK(gpo_event_notify(event, queue, 2));
    const gpo_cq_t gone = queue;
    queue.reset();
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_stream_notify(ends.stream, gone, 3));
    ends.check_done();
}

TEST_CASE("ends: an executor goes while it owes a callback and a host call" * gated) {
    Ends ends;
    Executor executor = ends.world.gpu.executor();
    Calls then, host;
    ends.gate();
    REQUIRE_OK(ends.write(ends.stream));
    REQUIRE_OK(gpo_stream_then(ends.stream, executor, Calls::count, &then));
    REQUIRE_OK(ends.world.gate(ends.other, ends.word));   // until the write
    REQUIRE_OK(gpo_stream_host_call(ends.other, executor, Calls::host, &host));
    executor.reset();
    then.wait(GPO_CANCELLED);
    host.wait(GPO_CANCELLED);
    CHECK(read(*ends.word) == 0);
    ends.open();
    CHECK_OK(gpo_stream_wait(ends.stream, kPatience));
    CHECK(read(*ends.word) == kDone);
    CHECK_STATUS(GPO_CANCELLED, gpo_stream_wait(ends.other, kPatience));
}

TEST_CASE("ends: an arena and a pool go while copies use their pieces" * gated) {
    Ends ends;
    Arena arena;
    Pool pool;
    void* piece = nullptr;
    uint64_t address = 0;
    REQUIRE_OK(gpo_arena_create(ends.world.gpu.device, nullptr, arena.out()));
    REQUIRE_OK(gpo_arena_allocate(arena, 64, 0, &piece));
    *static_cast<uint32_t*>(piece) = kDone;
    REQUIRE_OK(gpo_pool_create(ends.world.gpu.device, nullptr, pool.out()));
    REQUIRE_OK(gpo_pool_allocate(pool, ends.stream, 64, &address));
    ends.gate();
    REQUIRE_OK(gpo_copy_to_device(ends.stream, address, piece, 64));
    REQUIRE_OK(gpo_copy_to_host(ends.stream, ends.word, address, sizeof(uint32_t)));
    REQUIRE_OK(gpo_pool_free(pool, ends.stream, address));
    REQUIRE_OK(gpo_arena_free_after(arena, piece, ends.stream));
    arena.reset();
    pool.reset();
    ends.check_done();
}

// Both ends meet in the driver: the stream has freed memory of the pool, and a graph on another stream waits for that.
TEST_CASE("ends: pools go while another thread destroys streams that have freed their memory" * gated) {
    World world;
    std::atomic<gpo_stream_t> given{nullptr};
    std::atomic<bool> over{false};
    std::atomic<int> destroyed{0};
    std::thread destroys([&] {
        while (!over) {
            gpo_stream_t const stream = given.exchange(nullptr);
            if (stream && gpo_stream_destroy(stream) == GPO_SUCCESS) ++destroyed;
        }
    });
    constexpr int kRounds = 300;
    for (int i = 0; i < kRounds; ++i) {
        Stream first = world.gpu.stream("first"), frees = world.gpu.stream("frees"), waits = world.gpu.stream("waits");
        Pool pool;
        REQUIRE_OK(gpo_pool_create(world.gpu.device, nullptr, pool.out()));
        uint64_t piece = 0;
        REQUIRE_OK(gpo_pool_allocate(pool, first, 64, &piece));
        REQUIRE_OK(gpo_fill(first, piece, kDone, 4, 16));
        REQUIRE_OK(gpo_stream_wait(first, kPatience));
        REQUIRE_OK(gpo_pool_free(pool, frees, piece));
        Event event = world.gpu.event();
        REQUIRE_OK(gpo_event_record(event, frees));
        Template made;
        Graph graph;
        REQUIRE_OK(gpo_template_create(world.gpu.device, nullptr, made.out()));
        REQUIRE_OK(gpo_template_add_event_wait(made, nullptr, 0, event, nullptr));
        REQUIRE_OK(gpo_graph_create(made, nullptr, graph.out()));
        REQUIRE_OK(gpo_graph_launch(graph, waits));
        while (given.load()) std::this_thread::yield();
        Stream& goes = i % 2 ? frees : waits;
        given = goes.release();
        if (i % 3 == 0) REQUIRE_OK(gpo_stream_wait(i % 2 ? waits : frees, kPatience));
        pool.reset();
    }
    while (given.load()) std::this_thread::yield();
    over = true;
    destroys.join();
    CHECK(destroyed == kRounds);
    CHECK_OK(gpo_device_wait(world.gpu.device, kPatience));
}

TEST_CASE("ends: a kernel and its module go while the kernel is launched and in a graph" * gated) {
    Ends ends;
    auto options = sized<gpo_compile_options>();
    options.source =
        "extern \"C\" __global__ void count(volatile unsigned *word, unsigned by) { *word = *word + by; }\n";
    Module module;
    Kernel kernel;
    REQUIRE_OK(gpo_module_compile(ends.world.gpu.device, &options, module.out()));
    REQUIRE_OK(gpo_module_get_kernel(module, "count", kernel.out()));
    Template made;
    Graph graph;
    REQUIRE_OK(gpo_template_create(ends.world.gpu.device, nullptr, made.out()));
    REQUIRE_OK(ends.world.node(made, kernel, ends.word, 4, nullptr, 0, nullptr));
    REQUIRE_OK(gpo_graph_create(made, nullptr, graph.out()));
    ends.gate();
    REQUIRE_OK(launch(ends.stream, kernel, 1, 1, ends.word, 3u));
    REQUIRE_OK(gpo_graph_launch(graph, ends.stream));
    kernel.reset();
    module.reset();
    made.reset();
    graph.reset();
    ends.check_done(7);
}

TEST_CASE("ends: bodies and children go before the templates that have them, and these while their graphs run" *
          gated) {
    Ends ends;
    Template child, parent, body;
    Graph graph;
    REQUIRE_OK(gpo_template_create(ends.world.gpu.device, nullptr, child.out()));
    REQUIRE_OK(gpo_template_create(ends.world.gpu.device, nullptr, parent.out()));
    REQUIRE_OK(ends.world.node(child, ends.world.count_word, ends.word, 3, nullptr, 0, nullptr));
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_add_child(parent, nullptr, 0, child, nullptr, &node));
    auto condition = sized<gpo_condition>();
    condition.comparison = GPO_COMPARE_NOT_EQUAL;
    condition.word = reinterpret_cast<uint64_t>(ends.word);
    REQUIRE_OK(gpo_template_add_if(parent, &node, 1, &condition, body.out(), nullptr, nullptr));
    REQUIRE_OK(ends.world.node(body, ends.world.count_word, ends.word, 4, nullptr, 0, nullptr));
    child.reset();
    body.reset();
    REQUIRE_OK(gpo_graph_create(parent, nullptr, graph.out()));
    ends.gate();
    REQUIRE_OK(gpo_graph_launch(graph, ends.stream));
    parent.reset();
    graph.reset();
    ends.check_done(7);
}

TEST_CASE("ends: a pool of streams goes while its streams work, one of them held" * gated) {
    Ends ends;
    StreamPool pool;
    REQUIRE_OK(gpo_stream_pool_create(ends.world.gpu.device, nullptr, pool.out()));
    gpo_stream_t one = nullptr, two = nullptr;
    REQUIRE_OK(gpo_stream_pool_acquire(pool, 0, &one));
    REQUIRE_OK(gpo_stream_pool_acquire(pool, 0, &two));
    Timeline timeline = ends.world.gpu.timeline();
    ends.gate();
    REQUIRE_OK(gpo_stream_wait_stream(one, ends.stream));
    REQUIRE_OK(gpo_stream_wait_timeline(two, timeline, 1));
    REQUIRE_OK(gpo_stream_wait_stream(two, one));
    REQUIRE_OK(ends.write(two));
    pool.reset();
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_stream_query(one));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    ends.check_done();
}

TEST_CASE("ends: a group goes while its collective is on the way" * gated) {
    Ends ends;
    Peers group = ends.world.group(1);
    Memory from = ends.world.gpu.memory(64), to = ends.world.gpu.memory(64);
    REQUIRE_OK(gpo_fill(ends.stream, from, kDone, 4, 16));
    ends.gate();
    auto sum = collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_UINT32, 16, GPO_REDUCE_SUM);
    auto part = sized<gpo_rank_part>();
    part.stream = ends.stream;
    part.send = from;
    part.receive = to;
    REQUIRE_OK(gpo_peers_submit(group, &sum, &part, sizeof part, 1));
    REQUIRE_OK(gpo_copy_to_host(ends.stream, ends.word, to, sizeof(uint32_t)));
    group.reset();
    from = Memory();
    to = Memory();
    ends.check_done();
}

TEST_CASE("ends: buckets go while a launch of them is on the way" * gated) {
    Ends ends;
    static const uint64_t shapes[] = {16};
    auto options = sized<gpo_buckets_options>();
    options.shapes = shapes;
    options.shape_count = 1;
    options.user = &ends;
    options.record = [](void* user, gpo_stream_t on, const gpo_bucket_work*) -> gpo_status {
        auto& self = *static_cast<Ends*>(user);
        return launch(on, self.world.write_word, 1, 1, self.word, kDone);
    };
    Buckets buckets;
    REQUIRE_OK(gpo_buckets_create(ends.world.gpu.device, &options, buckets.out()));
    REQUIRE_OK(gpo_buckets_prepare(buckets, ends.stream));
    REQUIRE_OK(gpo_stream_wait(ends.stream, kPatience));
    ends.world.set(ends.word, 0);
    ends.gate();
    uint64_t shape = 0;
    REQUIRE_OK(gpo_buckets_launch(buckets, ends.stream, 16, nullptr, 0, 0, &shape));
    buckets.reset();
    ends.check_done();
}

TEST_CASE("ends: a device's handle is closed while everything of it works" * gated) {
    Ends ends;
    auto options = sized<gpo_device_options>();
    gpo_device_t device = nullptr;
    REQUIRE_OK(gpo_device_open(ends.world.gpu.runtime, &options, &device));
    Stream stream;
    Event event;
    Queue queue = ends.world.gpu.queue();
    REQUIRE_OK(gpo_stream_create(device, nullptr, stream.out()));
    REQUIRE_OK(gpo_event_create(device, nullptr, event.out()));
    ends.gate();
    REQUIRE_OK(gpo_stream_wait_stream(stream, ends.stream));
    REQUIRE_OK(ends.write(stream));
    REQUIRE_OK(gpo_event_record(event, stream));
    REQUIRE_OK(gpo_event_notify(event, queue, 8));
    REQUIRE_OK(gpo_device_close(device));
    ends.check_done();
    const gpo_completion entry = take(queue, 1)[0];
    CHECK(entry.status == GPO_SUCCESS);
    CHECK(entry.user_data == 8);
    CHECK_OK(gpo_event_query(event));
}

TEST_CASE("ends: a runtime shuts down while work is on the way, and owes nothing afterwards" * gated) {
    Ends ends;
    Queue queue = ends.world.gpu.queue();
    Calls then;
    ends.gate();
    REQUIRE_OK(ends.write(ends.stream));
    REQUIRE_OK(gpo_stream_notify(ends.stream, queue, 1));
    REQUIRE_OK(gpo_stream_then(ends.stream, ends.world.executor, Calls::count, &then));
    Timeline timeline = ends.world.gpu.timeline();
    Calls held;
    REQUIRE_OK(gpo_stream_wait_timeline(ends.other, timeline, 1));
    REQUIRE_OK(gpo_stream_then(ends.other, ends.world.executor, Calls::count, &held));
    std::thread opener([&] {
        held.wait(GPO_CANCELLED);   // held work is cancelled first
        ends.open();
    });
    CHECK_OK(gpo_runtime_shutdown(ends.world.gpu.runtime, kPatience));
    opener.join();
    then.wait(GPO_SUCCESS);
    gpo_completion entry;
    uint64_t count = 0;
    CHECK_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
    CHECK(count == 1);
    CHECK(entry.status == GPO_SUCCESS);
    CHECK_STATUS(GPO_SHUT_DOWN, gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
}

}  // namespace gpo::test::matrix
