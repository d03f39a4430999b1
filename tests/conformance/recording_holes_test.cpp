// A recording in which a call was refused lacks a piece: it can't end well, for any call.
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "conformance/template_rig.h"

using namespace gpo::test;

namespace {

void no_completion(void*, const gpo_completion*, const gpo_error*) {}
gpo_status no_call(void*, const gpo_host_call*) { return GPO_SUCCESS; }

/// Objects for calls on a recorded stream.
struct HolesRig : WordsRig {
    HolesRig() {
        REQUIRE_OK(gpo_pool_create(device, nullptr, pool.out()));
        REQUIRE_OK(gpo_pool_allocate(pool, other, 4096, &pooled));
        REQUIRE_OK(gpo_event_record(elsewhere, other));
        REQUIRE_OK(gpo_stream_wait(other, kPatience));
        auto ring = sized<gpo_queue_options>();
        ring.kind = GPO_QUEUE_RING;
        ring.task_size = 16;
        REQUIRE_OK(gpo_queue_create(device, &ring, tasks.out()));
        const uint32_t first = node(small, put, at(15), 1);
        static_cast<void>(first);
        graph = make_graph(small);
    }
    ~HolesRig() { gpo_pool_free(pool, other, pooled); }

    Stream other = stream("other");
    Event elsewhere = event(), timing = event(GPO_EVENT_TIMING);
    Timeline timeline = WordsRig::timeline();
    Queue queue = WordsRig::queue();
    Executor executor = WordsRig::executor();
    Memory memory = WordsRig::memory(4096);
    Pool pool;
    uint64_t pooled = 0;
    DeviceQueue tasks;
    Template small = make_template(*this);
    Graph graph;
    std::vector<uint32_t> pageable = std::vector<uint32_t>(1 << 18);
};

struct Refused {
    const char* function;   // named in the message of the end
    std::function<gpo_status(HolesRig&, gpo_stream_t)> call;
};

/// Each call is refused on a recorded stream: `rig.on`, or `rig.other`.
const std::vector<Refused>& refused_calls() {
    static const std::vector<Refused> all{
        {"gpo_stream_query", [](HolesRig&, gpo_stream_t on) { return gpo_stream_query(on); }},
        {"gpo_stream_wait", [](HolesRig&, gpo_stream_t on) { return gpo_stream_wait(on, kPatience); }},
        {"gpo_stream_wait", [](HolesRig&, gpo_stream_t on) { return gpo_stream_wait(on, 0); }},
        {"gpo_stream_notify", [](HolesRig& rig, gpo_stream_t on) { return gpo_stream_notify(on, rig.queue, 1); }},
        {"gpo_stream_notify_timed",
         [](HolesRig& rig, gpo_stream_t on) { return gpo_stream_notify_timed(on, rig.queue, 1, rig.timing); }},
        {"gpo_stream_then",
         [](HolesRig& rig, gpo_stream_t on) { return gpo_stream_then(on, rig.executor, no_completion, nullptr); }},
        {"gpo_stream_host_call",
         [](HolesRig& rig, gpo_stream_t on) { return gpo_stream_host_call(on, rig.executor, no_call, nullptr); }},
        {"gpo_stream_wait_event",
         [](HolesRig& rig, gpo_stream_t on) { return gpo_stream_wait_event(on, rig.elsewhere); }},
        {"gpo_stream_wait_stream",
         [](HolesRig& rig, gpo_stream_t on) { return gpo_stream_wait_stream(on, Stream(rig.stream())); }},
        {"gpo_stream_wait_timeline",
         [](HolesRig& rig, gpo_stream_t on) { return gpo_stream_wait_timeline(on, rig.timeline, 5); }},
        {"gpo_stream_signal_timeline",
         [](HolesRig& rig, gpo_stream_t on) { return gpo_stream_signal_timeline(on, rig.timeline, 5); }},
        {"gpo_pool_allocate",
         [](HolesRig& rig, gpo_stream_t on) {
             uint64_t address = 0;
             return gpo_pool_allocate(rig.pool, on, 4096, &address);
         }},
        {"gpo_pool_free", [](HolesRig& rig, gpo_stream_t on) { return gpo_pool_free(rig.pool, on, rig.pooled); }},
        {"gpo_pool_free", [](HolesRig& rig, gpo_stream_t on) { return gpo_pool_free(rig.pool, on, 4096); }},
        {"gpo_arena_free_after",
         [](HolesRig& rig, gpo_stream_t on) { return gpo_arena_free_after(rig.arena(), &rig, on); }},
        {"gpo_copy_to_device",
         [](HolesRig& rig, gpo_stream_t on) { return gpo_copy_to_device(on, rig.memory, rig.pageable.data(), 16); }},
        {"gpo_copy_to_host",
         [](HolesRig& rig, gpo_stream_t on) { return gpo_copy_to_host(on, rig.pageable.data(), rig.memory, 4096); }},
        {"gpo_copy_to_device",
         [](HolesRig& rig, gpo_stream_t on) {
             return gpo_copy_to_device(on, rig.memory, rig.pageable.data(), 1 << 20);   // more than the device has
         }},
        {"gpo_copy_batch",
         [](HolesRig& rig, gpo_stream_t on) {
             auto copy = sized<gpo_copy>();
             copy.destination = rig.memory;
             copy.source = reinterpret_cast<uint64_t>(rig.pageable.data());
             copy.bytes = 16;
             return gpo_copy_batch(on, &copy, sizeof copy, 1);
         }},
        {"gpo_copy_batch", [](HolesRig&, gpo_stream_t on) { return gpo_copy_batch(on, nullptr, 0, 1); }},
        {"gpo_copy_rows", [](HolesRig&, gpo_stream_t on) { return gpo_copy_rows(on, nullptr); }},
        {"gpo_fill", [](HolesRig& rig, gpo_stream_t on) { return gpo_fill(on, rig.memory, 1, 3, 1); }},
        {"gpo_fill_rows", [](HolesRig& rig, gpo_stream_t on) { return gpo_fill_rows(on, rig.memory, 1, 1, 16, 2); }},
        {"gpo_stream_launch_kernel",
         [](HolesRig& rig, gpo_stream_t on) { return launch(on, rig.put, 1, 1 << 20, rig.at(0), 1u); }},
        {"gpo_stream_launch_kernel",
         [](HolesRig&, gpo_stream_t on) {
             return gpo_stream_launch_kernel(on, nullptr, nullptr, nullptr, nullptr, 0);
         }},
        {"gpo_event_record", [](HolesRig&, gpo_stream_t on) { return gpo_event_record(nullptr, on); }},
        {"gpo_graph_launch", [](HolesRig& rig, gpo_stream_t on) { return gpo_graph_launch(rig.graph, on); }},
        {"gpo_graph_upload", [](HolesRig& rig, gpo_stream_t on) { return gpo_graph_upload(rig.graph, on); }},
        {"gpo_template_launch",
         [](HolesRig& rig, gpo_stream_t on) { return gpo_template_launch(rig.small, on, nullptr, 0, 0); }},
        {"gpo_template_begin", [](HolesRig& rig, gpo_stream_t on) { return gpo_template_begin(rig.small, on); }},
        {"gpo_queue_push", [](HolesRig& rig, gpo_stream_t on) { return gpo_queue_push(rig.tasks, on, nullptr, 1, 0); }},
        {"gpo_queue_set_costs",
         [](HolesRig& rig, gpo_stream_t on) { return gpo_queue_set_costs(rig.tasks, on, nullptr, 0); }},
    };
    return all;
}

Template begun(HolesRig& rig) {
    Template recorded = make_template(rig);
    REQUIRE_OK(gpo_template_begin(recorded, rig.on));
    CHECK_OK(launch(rig.on, rig.put, 1, 1, rig.at(0), 7u));
    return recorded;
}

/// The recording's end fails because of the call, and the stream works as before.
void lacks(HolesRig& rig, gpo_template_t recorded, const char* function, const char* label) {
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(recorded));
    CHECK(says(refusal(), "lacks"));
    CHECK(says(refusal(), std::string(function) + " on stream `" + label + "`"));
    CHECK(figures_of(recorded).nodes == 0);
    CHECK_OK(launch(rig.on, rig.put, 1, 1, rig.at(1), 8u));
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
}

}  // namespace

TEST_CASE("whatever call on a stream of a recording is refused, the recording can't end well, and names the first") {
    HolesRig rig;
    for (const Refused& refused : refused_calls()) {
        INFO(refused.function);
        Template recorded = begun(rig);
        CHECK(refused.call(rig, rig.on) >= 10);
        const gpo_status later = gpo_fill(rig.on, rig.memory, 1, 3, 1);
        CHECK(later == GPO_INVALID_ARGUMENT);
        lacks(rig, recorded, refused.function, "words");
    }
}

TEST_CASE("the same of a stream that has joined the recording") {
    HolesRig rig;
    for (const Refused& refused : refused_calls()) {
        INFO(refused.function);
        Template recorded = begun(rig);
        Stream joined = rig.stream("joined");
        REQUIRE_OK(gpo_stream_wait_stream(joined, rig.on));
        CHECK(refused.call(rig, joined) >= 10);
        CHECK_OK(gpo_stream_wait_stream(rig.on, joined));
        lacks(rig, recorded, refused.function, "joined");
    }
}

TEST_CASE("a refused call on another stream leaves a recording alone") {
    HolesRig rig;
    Template recorded = begun(rig);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_fill(rig.other, rig.memory, 1, 3, 1));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_stream_notify(rig.other, nullptr, 1));
    CHECK_OK(gpo_stream_query(rig.other));
    CHECK_OK(gpo_template_end(recorded));
    CHECK(figures_of(recorded).nodes == 1);
}

TEST_CASE("what a full queue or executor refuses in a recording couldn't be recorded with room either") {
    HolesRig rig;
    Queue full = rig.WordsRig::queue(1);
    while (gpo_stream_notify(rig.other, full, 1) == GPO_SUCCESS) continue;
    Executor busy = rig.WordsRig::executor(GPO_EXECUTOR_CALLER, 0, 1);
    CHECK_OK(gpo_stream_then(rig.other, busy, no_completion, nullptr));
    const std::vector<Refused> calls{
        {"gpo_stream_notify", [&](HolesRig&, gpo_stream_t on) { return gpo_stream_notify(on, full, 1); }},
        {"gpo_stream_then",
         [&](HolesRig&, gpo_stream_t on) { return gpo_stream_then(on, busy, no_completion, nullptr); }},
        {"gpo_stream_host_call",
         [&](HolesRig&, gpo_stream_t on) { return gpo_stream_host_call(on, busy, no_call, nullptr); }},
    };
    for (const Refused& call : calls) {
        INFO(call.function);
        Template recorded = begun(rig);
        CHECK_STATUS(GPO_CAPTURE_REFUSED, call.call(rig, rig.on));
        lacks(rig, recorded, call.function, "words");
        CHECK_STATUS(GPO_WOULD_BLOCK, call.call(rig, rig.on));
    }
    CHECK_OK(gpo_executor_run(busy, nullptr));
}

TEST_CASE("work that another thread puts on a stream of a recording is refused, and the recording can't end well") {
    HolesRig rig;
    const std::vector<Refused> calls{
        {"gpo_stream_launch_kernel",
         [](HolesRig& rig, gpo_stream_t on) { return launch(on, rig.put, 1, 1, rig.at(2), 9u); }},
        {"gpo_fill", [](HolesRig& rig, gpo_stream_t on) { return gpo_fill(on, rig.memory, 1, 4, 4); }},
        {"gpo_copy_on_device",
         [](HolesRig& rig, gpo_stream_t on) { return gpo_copy_on_device(on, rig.memory, rig.memory + 64, 16); }},
        {"gpo_event_record", [](HolesRig& rig, gpo_stream_t on) { return gpo_event_record(rig.elsewhere, on); }},
        {"gpo_stream_wait_stream",
         [](HolesRig& rig, gpo_stream_t on) { return gpo_stream_wait_stream(rig.other, on); }},
    };
    for (const bool native : {false, true}) {
        for (const Refused& call : calls) {
            INFO(call.function);
            void* handle = nullptr;
            if (native) REQUIRE_OK(gpo_stream_get_native(rig.on, &handle));
            Template recorded = begun(rig);
            std::thread([&] {
                CHECK_STATUS(GPO_INVALID_STATE, call.call(rig, rig.on));
                CHECK(says(refusal(), "recording"));
                CHECK(says(refusal(), "thread"));
            }).join();
            CHECK_OK(launch(rig.on, rig.put, 1, 1, rig.at(0), 7u));
            lacks(rig, recorded, call.function, "words");
            CHECK(rig.word(2) == 0);
            // Without a recording, any thread may make the call.
            std::thread([&] { CHECK_OK(call.call(rig, rig.on)); }).join();
            CHECK_OK(gpo_stream_wait(rig.on, kPatience));
            CHECK_OK(gpo_stream_wait(rig.other, kPatience));
            REQUIRE_OK(launch(rig.on, rig.put, 1, 1, rig.at(2), 0u));
            CHECK_OK(gpo_stream_wait(rig.on, kPatience));
        }
    }
}

TEST_CASE("two threads record on streams of their own, and neither minds the other") {
    HolesRig rig;
    Template mine = begun(rig), theirs = make_template(rig);
    std::thread([&] {
        REQUIRE_OK(gpo_template_begin(theirs, rig.other));
        CHECK_OK(launch(rig.other, rig.put, 1, 1, rig.at(3), 9u));
        CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_query(rig.other));
        CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(theirs));
    }).join();
    CHECK_OK(gpo_template_end(mine));
}

TEST_CASE("a collective that is refused on the streams of a recording fails it") {
    HolesRig rig;
    auto options = sized<gpo_peers_options>();
    gpo_peers_t peers = nullptr;
    const gpo_device_t device = rig.device;
    REQUIRE_OK(gpo_peers_create(&device, 1, &options, &peers));
    auto collective = sized<gpo_collective>();
    collective.kind = GPO_COLLECTIVE_ALL_REDUCE;
    collective.type = GPO_TYPE_FLOAT32;
    collective.reduction = GPO_REDUCE_SUM;
    collective.count = 4;
    auto part = sized<gpo_rank_part>();
    part.send = part.receive = rig.memory;
    for (const bool reserved : {false, true}) {
        Template recorded = begun(rig);
        part.stream = rig.on;
        part.reserved = reserved;
        collective.kind = reserved ? GPO_COLLECTIVE_ALL_REDUCE : 99;
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_peers_submit(peers, &collective, &part, sizeof part, 1));
        lacks(rig, recorded, "gpo_peers_submit", "words");
    }
    part.reserved = 0;
    // Of another thread.
    Template recorded = begun(rig);
    std::thread([&] {
        CHECK_STATUS(GPO_INVALID_STATE, gpo_peers_submit(peers, &collective, &part, sizeof part, 1));
    }).join();
    lacks(rig, recorded, "gpo_peers_submit", "words");
    gpo_peers_destroy(peers);
    // The host engine records nothing.
    uint8_t id[GPO_PEERS_ID_BYTES];
    REQUIRE_OK(gpo_peers_make_id(id, sizeof id, nullptr));
    auto join = sized<gpo_join_options>();
    join.by = GPO_JOIN_ID;
    join.engine = GPO_ENGINE_HOST;
    join.ranks = 1;
    join.id = id;
    REQUIRE_OK(gpo_peers_join(rig.device, &join, &peers));
    recorded = begun(rig);
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_peers_submit(peers, &collective, &part, sizeof part, 1));
    lacks(rig, recorded, "gpo_peers_submit", "words");
    gpo_peers_destroy(peers);
}

TEST_CASE("a recording in which a node couldn't be added can't end well either") {
    HolesRig rig;
    const uint32_t nowhere = 77;
    const auto at_one_node = [&](const char* function, const std::function<gpo_status(gpo_template_t)>& add) {
        CAPTURE(function);
        Template recorded = begun(rig);
        CHECK_STATUS(GPO_INVALID_ARGUMENT, add(recorded));
        CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(recorded));
        CHECK(says(refusal(), function));
        REQUIRE_OK(launch(rig.on, rig.put, 1, 1, rig.at(0), 1u));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    };
    at_one_node("gpo_template_add_empty",
                [&](gpo_template_t to) { return gpo_template_add_empty(to, &nowhere, 1, nullptr); });
    at_one_node("gpo_template_add_fill", [&](gpo_template_t to) {
        return gpo_template_add_fill(to, nullptr, 0, rig.memory, 1, 3, 4, nullptr);
    });
    at_one_node("gpo_template_add_event_record", [&](gpo_template_t to) {
        return gpo_template_add_event_record(to, &nowhere, 1, rig.timing, nullptr);
    });
    at_one_node("gpo_template_add_child", [&](gpo_template_t to) {
        return gpo_template_add_child(to, nullptr, 0, to, nullptr, nullptr);
    });
    at_one_node("gpo_template_add_if", [&](gpo_template_t to) {
        Template body;
        auto condition = sized<gpo_condition>();
        condition.comparison = 99;
        return gpo_template_add_if(to, nullptr, 0, &condition, body.out(), nullptr, nullptr);
    });
    // Outside of a recording it spoils nothing.
    Template built = make_template(rig);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_add_empty(built, &nowhere, 1, nullptr));
    rig.node(built, rig.put, rig.at(1), 5);
    Graph graph = make_graph(built);
    rig.run(graph);
    CHECK(rig.word(1) == 5);
}
