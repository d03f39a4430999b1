// Events and graphs: recorded by each launch, waited for by each launch, and events that a recording used.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "template_rig.h"

using namespace gpo::test;

namespace {

/// A recorded graph: a gate, a number, the event, and a second gate.
struct Launches {
    explicit Launches(uint32_t flags = 0)
        : writer(gpu), before(gpu), behind(gpu), words(gpu.pinned<uint32_t>(8)), launching(gpu.stream("launching")),
          waiting(gpu.stream("waiting")), event(gpu.event(flags)), made(make_template(gpu)) {
        REQUIRE_OK(gpo_template_begin(made, launching));
        before.put_on(launching);
        REQUIRE_OK(writer.write(launching, &words[0], 7));
        uint32_t node = 0;
        REQUIRE_OK(gpo_template_get_last_node(made, launching, &node));
        REQUIRE_OK(gpo_template_add_event_record(made, &node, 1, event, &node));
        REQUIRE_OK(gpo_template_set_last_node(made, launching, node));
        behind.put_on(launching);
        REQUIRE_OK(gpo_template_end(made));
        graph = make_graph(made);
    }
    void launch() { REQUIRE_OK(gpo_graph_launch(graph, launching)); }
    /// The event isn't complete, and all waiters wait. Then the first gate is opened, and all waits end, though the
    /// graph goes on.
    void check_waited_for() {
        Queue queue = gpu.queue();
        Executor executor = gpu.executor();
        Timeline timeline = gpu.timeline();
        Stream held = gpu.stream("held");
        CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event));
        CHECK_STATUS(GPO_TIMEOUT, gpo_event_wait(event, 1'000'000));
        REQUIRE_OK(gpo_event_notify(event, queue, 5));
        REQUIRE_OK(gpo_stream_wait_event(waiting, event));
        REQUIRE_OK(writer.add(waiting, &words[1], &words[0], 1));
        REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 1));
        REQUIRE_OK(gpo_stream_wait_event(held, event));
        REQUIRE_OK(writer.add(held, &words[2], &words[0], 2));
        REQUIRE_OK(gpo_timeline_signal(timeline, 1));
        CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(waiting, 1'000'000));
        CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(held, 1'000'000));
        CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 1'000'000));
        before.open();
        CHECK_OK(gpo_event_wait(event, kPatience));
        CHECK_OK(gpo_stream_wait(waiting, kPatience));
        CHECK_OK(gpo_stream_wait(held, kPatience));
        CHECK(take(queue, 1)[0].status == GPO_SUCCESS);
        CHECK(read(words[1]) == 8);
        CHECK(read(words[2]) == 9);
        CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(launching));
        behind.open();
        CHECK_OK(gpo_stream_wait(launching, kPatience));
        CHECK_OK(gpo_event_query(event));
    }

    Gpu gpu;
    Writer writer;
    Gate before, behind;
    Pinned<uint32_t> words;
    Stream launching, waiting;
    Event event;
    Template made;
    Graph graph;
};

void hold(Launches& all, const Timeline& timeline) { REQUIRE_OK(gpo_stream_wait_timeline(all.launching, timeline, 1)); }

uint32_t record_node(gpo_template_t in, gpo_event_t event, std::vector<uint32_t> after = {}) {
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_add_event_record(in, after.data(), static_cast<uint32_t>(after.size()), event, &node));
    return node;
}

uint32_t wait_node(gpo_template_t in, gpo_event_t event) {
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_add_event_wait(in, nullptr, 0, event, &node));
    return node;
}

}  // namespace

TEST_CASE("what waits for an event that only a graph records waits for the launch, as far as the event" * gated) {
    Launches all;
    all.launch();
    all.check_waited_for();
}

TEST_CASE("the same of gpo_template_launch, of a graph with the graph as a child, and of one updated to it" * gated) {
    for (const std::string how : {"template", "child", "updated"}) {
        CAPTURE(how);
        Launches all;
        if (how == "template") {
            REQUIRE_OK(gpo_template_launch(all.made, all.launching, nullptr, 0, 0));
            all.check_waited_for();
            continue;
        }
        Template other = make_template(all.gpu);
        uint32_t node = 0;
        Graph graph;
        if (how == "child") {
            REQUIRE_OK(gpo_template_add_child(other, nullptr, 0, all.made, nullptr, &node));
            graph = make_graph(other);
        } else {
            REQUIRE_OK(gpo_template_add_empty(other, nullptr, 0, nullptr));
            graph = make_graph(other);
            REQUIRE_OK(gpo_template_clear(other));
            REQUIRE_OK(gpo_template_add_child(other, nullptr, 0, all.made, nullptr, &node));
            REQUIRE_OK(gpo_graph_update(graph, nullptr));
        }
        REQUIRE_OK(gpo_graph_launch(graph, all.launching));
        all.check_waited_for();
    }
}

TEST_CASE("the launch counts whatever was done with the event before" * gated) {
    for (const std::string before :
         {"recorded", "recorded in a recording", "cancelled", "waited for by a held stream"}) {
        CAPTURE(before);
        Launches all;
        Stream other = all.gpu.stream();
        Timeline timeline = all.gpu.timeline();
        if (before == "recorded") {
            REQUIRE_OK(gpo_event_record(all.event, other));
            CHECK_OK(gpo_event_wait(all.event, kPatience));
        } else if (before == "recorded in a recording") {
            Template recording = make_template(all.gpu);
            REQUIRE_OK(gpo_template_begin(recording, other));
            REQUIRE_OK(gpo_event_record(all.event, other));
            REQUIRE_OK(gpo_template_end(recording));
            CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_event_query(all.event));
        } else if (before == "cancelled") {
            REQUIRE_OK(gpo_stream_wait_timeline(other, timeline, 1));
            REQUIRE_OK(gpo_event_record(all.event, other));
            REQUIRE_OK(gpo_stream_cancel_held(other, nullptr));
            CHECK_STATUS(GPO_CANCELLED, gpo_event_query(all.event));
        } else {
            REQUIRE_OK(gpo_event_record(all.event, all.waiting));
            REQUIRE_OK(gpo_stream_wait_timeline(other, timeline, 1));
            REQUIRE_OK(gpo_stream_wait_event(other, all.event));
            all.launch();
            REQUIRE_OK(gpo_timeline_signal(timeline, 1));
            CHECK_OK(gpo_stream_wait(other, kPatience));   // `other` waits for the earlier recording
            all.check_waited_for();
            continue;
        }
        all.launch();
        all.check_waited_for();
    }
}

TEST_CASE("an event that a held launch records is pending from the launch's acceptance" * gated) {
    Launches all;
    Timeline timeline = all.gpu.timeline();
    Queue queue = all.gpu.queue();
    hold(all, timeline);
    all.launch();
    CHECK_STATUS(GPO_NOT_READY, gpo_event_query(all.event));
    CHECK_STATUS(GPO_TIMEOUT, gpo_event_wait(all.event, 1'000'000));
    REQUIRE_OK(gpo_event_notify(all.event, queue, 1));
    REQUIRE_OK(gpo_stream_wait_event(all.waiting, all.event));
    REQUIRE_OK(all.writer.add(all.waiting, &all.words[3], &all.words[0], 3));
    CHECK(info_of(all.waiting).held >= 1);
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK(info_of(all.waiting).held == 0);
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(all.waiting, 1'000'000));
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 1'000'000));
    all.check_waited_for();
    CHECK(take(queue, 1)[0].status == GPO_SUCCESS);
    CHECK(read(all.words[3]) == 10);
}

TEST_CASE("a held launch that is dropped fails whoever waits for its event, until the event is recorded anew" * gated) {
    Launches all;
    Timeline timeline = all.gpu.timeline();
    Queue queue = all.gpu.queue();
    hold(all, timeline);
    all.launch();
    REQUIRE_OK(gpo_event_notify(all.event, queue, 1));
    REQUIRE_OK(gpo_stream_wait_event(all.waiting, all.event));
    REQUIRE_OK(gpo_stream_cancel_held(all.launching, nullptr));
    CHECK_STATUS(GPO_CANCELLED, gpo_event_query(all.event));
    CHECK_STATUS(GPO_CANCELLED, gpo_event_wait(all.event, kPatience));
    CHECK(take(queue, 1)[0].status == GPO_CANCELLED);
    CHECK_STATUS(GPO_CANCELLED, gpo_stream_wait(all.waiting, kPatience));
    all.waiting = all.gpu.stream();
    all.launch();
    all.check_waited_for();
}

TEST_CASE("what is recorded after a held launch was accepted is the newest recording, though the launch comes later" *
          gated) {
    for (const std::string how : {"record", "held record", "launch", "held launch"}) {
        CAPTURE(how);
        Launches all(GPO_EVENT_TIMING);
        Gate gate(all.gpu);
        Event start = all.gpu.event(GPO_EVENT_TIMING);
        Timeline timeline = all.gpu.timeline(), second = all.gpu.timeline();
        Stream busy = all.gpu.stream("busy"), early = all.gpu.stream("early");
        Template made = make_template(all.gpu);
        REQUIRE_OK(gpo_template_begin(made, busy));
        gate.put_on(busy);
        uint32_t node = 0;
        REQUIRE_OK(gpo_template_get_last_node(made, busy, &node));
        REQUIRE_OK(gpo_template_add_event_record(made, &node, 1, all.event, nullptr));
        REQUIRE_OK(gpo_template_end(made));
        Graph graph = make_graph(made);
        REQUIRE_OK(gpo_event_record(start, busy));
        hold(all, timeline);
        all.launch();
        REQUIRE_OK(gpo_stream_wait_event(early, all.event));   // for this launch's record
        const bool held = how.find("held") == 0;
        if (held) REQUIRE_OK(gpo_stream_wait_timeline(busy, second, 1));
        if (how.find("launch") != std::string::npos) {
            REQUIRE_OK(gpo_graph_launch(graph, busy));
        } else {
            gate.put_on(busy);
            REQUIRE_OK(gpo_event_record(all.event, busy));
        }
        REQUIRE_OK(gpo_stream_wait_event(all.waiting, all.event));
        REQUIRE_OK(gpo_timeline_signal(timeline, 1));
        if (held) REQUIRE_OK(gpo_timeline_signal(second, 1));
        all.before.open();
        all.behind.open();
        CHECK_OK(gpo_stream_wait(all.launching, kPatience));
        CHECK_OK(gpo_stream_wait(early, kPatience));
        CHECK_STATUS(GPO_NOT_READY, gpo_event_query(all.event));
        CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(all.waiting, 1'000'000));
        Stream late = all.gpu.stream("late");
        REQUIRE_OK(gpo_stream_wait_event(late, all.event));
        CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(late, 1'000'000));
        gate.open();
        CHECK_OK(gpo_event_wait(all.event, kPatience));
        CHECK_OK(gpo_stream_wait(late, kPatience));
        CHECK_OK(gpo_stream_wait(all.waiting, kPatience));
        int64_t time = -1;
        CHECK_OK(gpo_event_get_elapsed(start, all.event, &time));
        CHECK(time > 0);
        all.launch();   // the gates are open
        CHECK_OK(gpo_stream_wait(all.launching, kPatience));
        CHECK_OK(gpo_event_query(all.event));
    }
}

TEST_CASE("a held launch whose graph is updated to one without the event completes the recording with the launch") {
    WordsRig rig;
    Template made = make_template(rig);
    Event event = rig.event();
    Timeline timeline = rig.timeline();
    Stream waiting = rig.stream();
    record_node(made, event, {rig.node(made, rig.put, rig.at(0), 5)});
    Graph graph = make_graph(made);
    REQUIRE_OK(gpo_stream_wait_timeline(rig.on, timeline, 1));
    REQUIRE_OK(gpo_graph_launch(graph, rig.on));
    REQUIRE_OK(gpo_stream_wait_event(waiting, event));
    REQUIRE_OK(gpo_template_clear(made));
    rig.node(made, rig.put, rig.at(0), 6);
    REQUIRE_OK(gpo_graph_update(graph, nullptr));
    CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(gpo_stream_wait(waiting, kPatience));
    CHECK(rig.word(0) == 6);
    CHECK_OK(gpo_event_wait(event, kPatience));
    REQUIRE_OK(gpo_event_record(event, rig.on));
    CHECK_OK(gpo_event_wait(event, kPatience));
}

TEST_CASE("a launch that is refused leaves its event as it was") {
    WordsRig rig;
    Template made = make_template(rig), recording = make_template(rig);
    Event event = rig.event(GPO_EVENT_TIMING);
    record_node(made, event, {rig.node(made, rig.put, rig.at(0), 5)});
    Graph graph = make_graph(made);
    REQUIRE_OK(gpo_template_begin(recording, rig.on));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_graph_launch(graph, rig.on));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(recording));
    int64_t time = 0;
    CHECK_STATUS(GPO_INVALID_STATE, gpo_event_get_elapsed(event, event, &time));
    CHECK(says(refusal(), "was never recorded"));
}

TEST_CASE("parts of a graph are timed by the events that it records, each launch anew" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Stream stream = gpu.stream(), other = gpu.stream();
    Queue queue = gpu.queue();
    Event begin = gpu.event(GPO_EVENT_TIMING), end = gpu.event(GPO_EVENT_TIMING);
    Template made = make_template(gpu);
    REQUIRE_OK(gpo_template_begin(made, stream));
    uint32_t node = record_node(made, begin);
    REQUIRE_OK(gpo_template_set_last_node(made, stream, node));
    gate.put_on(stream);
    REQUIRE_OK(gpo_template_get_last_node(made, stream, &node));
    record_node(made, end, {node});
    REQUIRE_OK(gpo_template_end(made));
    Graph graph = make_graph(made);
    int64_t time = -1;
    CHECK_STATUS(GPO_INVALID_STATE, gpo_event_get_elapsed(begin, end, &time));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_notify_timed(other, queue, 1, begin));
    REQUIRE_OK(gpo_graph_launch(graph, stream));
    CHECK_OK(gpo_event_wait(begin, kPatience));
    CHECK_STATUS(GPO_NOT_READY, gpo_event_get_elapsed(begin, end, &time));
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // the measured interval mustn't be 0
    REQUIRE_OK(gpo_stream_notify_timed(other, queue, 1, begin));
    CHECK(take(queue, 1)[0].gpu_ns >= 2'900'000);
    gate.open();
    CHECK_OK(gpo_event_wait(end, kPatience));
    CHECK_OK(gpo_event_get_elapsed(begin, end, &time));
    CHECK(time >= 2'900'000);
    int64_t second = -1;
    REQUIRE_OK(gpo_graph_launch(graph, stream));
    CHECK_OK(gpo_event_wait(end, kPatience));
    CHECK_OK(gpo_event_get_elapsed(begin, end, &second));
    CHECK(second >= 0);
    CHECK(second != time);
}

TEST_CASE("a graph waits for a recording that is held, and is refused one that has failed or was captured") {
    WordsRig rig;
    Template made = make_template(rig), recording = make_template(rig);
    Event event = rig.event();
    Timeline timeline = rig.timeline(), second = rig.timeline();
    Stream held = rig.stream("held");
    Writer writer(rig);
    rig.node(made, rig.add, rig.at(0), 1);
    Graph graph = make_graph(made);
    REQUIRE_OK(gpo_template_clear(made));
    rig.node(made, rig.add, rig.at(0), 1, {wait_node(made, event)});
    REQUIRE_OK(gpo_graph_update(graph, nullptr));
    rig.run(graph);   // never recorded
    REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 1));
    REQUIRE_OK(writer.write(held, &rig.words[0], 10));
    REQUIRE_OK(gpo_event_record(event, held));
    REQUIRE_OK(gpo_graph_launch(graph, rig.on));
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(rig.on, 1'000'000));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    CHECK(rig.word(0) == 11);
    REQUIRE_OK(gpo_stream_wait_timeline(held, second, 1));
    REQUIRE_OK(gpo_event_record(event, held));
    REQUIRE_OK(gpo_stream_cancel_held(held, nullptr));
    CHECK_STATUS(GPO_CANCELLED, gpo_graph_launch(graph, rig.on));
    REQUIRE_OK(gpo_template_begin(recording, held));
    REQUIRE_OK(gpo_event_record(event, held));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_launch(made, rig.on, nullptr, 0, 0));
    REQUIRE_OK(gpo_template_end(recording));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_graph_launch(graph, rig.on));
    REQUIRE_OK(gpo_event_record(event, held));
    rig.run(graph);
    CHECK(rig.word(0) == 12);
}

TEST_CASE("a held launch waits for the recording that was the newest when it was accepted" * gated) {
    WordsRig rig;
    Writer writer(rig);
    Gate gate(rig);
    Template made = make_template(rig);
    Event event = rig.event();
    Timeline timeline = rig.timeline();
    Stream busy = rig.stream(), idle = rig.stream();
    rig.node(made, rig.add, rig.at(0), 1, {wait_node(made, event)});
    Graph graph = make_graph(made);
    gate.put_on(busy);
    REQUIRE_OK(writer.write(busy, &rig.words[0], 10));
    REQUIRE_OK(gpo_event_record(event, busy));
    REQUIRE_OK(gpo_stream_wait_timeline(rig.on, timeline, 1));
    REQUIRE_OK(gpo_graph_launch(graph, rig.on));
    REQUIRE_OK(gpo_event_record(event, idle));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(rig.on, 1'000'000));
    gate.open();
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    CHECK(rig.word(0) == 11);
}

// --- recorded on a stream in a recording ---

TEST_CASE("an external event is a node of the graph: each launch is waited for, timed and told of" * gated) {
    Gpu gpu;
    Writer writer(gpu);
    Gate gate(gpu);
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(4);
    Stream stream = gpu.stream(), forked = gpu.stream(), other = gpu.stream();
    Event begin = gpu.event(GPO_EVENT_EXTERNAL | GPO_EVENT_TIMING),
          end = gpu.event(GPO_EVENT_EXTERNAL | GPO_EVENT_TIMING);
    Event input = gpu.event(GPO_EVENT_EXTERNAL), fork = gpu.event(), join = gpu.event();
    Queue queue = gpu.queue();
    Template made = make_template(gpu);
    REQUIRE_OK(gpo_template_begin(made, stream));
    REQUIRE_OK(gpo_event_record(begin, stream));
    uint32_t node = 0;
    REQUIRE_OK(gpo_template_get_last_node(made, stream, &node));
    CHECK(node == 1);
    REQUIRE_OK(gpo_event_record(fork, stream));
    REQUIRE_OK(gpo_stream_wait_event(forked, fork));
    REQUIRE_OK(gpo_stream_wait_event(forked, input));
    REQUIRE_OK(writer.add(forked, &words[1], &words[0], 1));
    REQUIRE_OK(gpo_event_record(end, forked));
    REQUIRE_OK(gpo_event_record(join, forked));
    REQUIRE_OK(gpo_stream_wait_event(stream, join));
    // Both events count as not recorded yet: the recording marks no point by them, and a stream that waits doesn't join
    // it.
    CHECK_OK(gpo_event_query(end));
    REQUIRE_OK(gpo_stream_wait_event(other, end));
    REQUIRE_OK(writer.write(other, &words[2], 1));
    CHECK_OK(gpo_stream_wait(other, kPatience));
    REQUIRE_OK(gpo_template_end(made));
    auto figures = figures_of(made);
    CHECK(figures.nodes == 4);
    Graph graph = make_graph(made);
    for (uint32_t round = 1; round <= 2; ++round) {
        CAPTURE(round);
        if (round == 1) gate.put_on(other);
        REQUIRE_OK(writer.write(other, &words[0], 10 * round));
        REQUIRE_OK(gpo_event_record(input, other));
        REQUIRE_OK(gpo_graph_launch(graph, stream));
        REQUIRE_OK(gpo_event_notify(end, queue, round));
        if (round == 1) {
            CHECK_STATUS(GPO_NOT_READY, gpo_event_query(end));
            CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 1'000'000));
            gate.open();
        }
        CHECK(take(queue, 1)[0].user_data == round);
        CHECK(read(words[1]) == 10 * round + 1);
        int64_t time = -1;
        CHECK_OK(gpo_event_get_elapsed(begin, end, &time));
        CHECK(time >= 0);
    }
    auto options = sized<gpo_event_options>();
    options.flags = GPO_EVENT_EXTERNAL | GPO_EVENT_INTERPROCESS;
    Event both;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_event_create(gpu.device, &options, both.out()));
    CHECK(says(refusal(), "GPO_EVENT_EXTERNAL"));
}

TEST_CASE("outside of recordings an external event is like any other") {
    Gpu gpu;
    Writer writer(gpu);
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    Stream stream = gpu.stream(), other = gpu.stream();
    Timeline timeline = gpu.timeline();
    Event event = gpu.event(GPO_EVENT_EXTERNAL);
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(writer.write(stream, &words[0], 1));
    REQUIRE_OK(gpo_event_record(event, stream));
    REQUIRE_OK(gpo_stream_wait_event(other, event));
    REQUIRE_OK(writer.add(other, &words[1], &words[0], 1));
    CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event));
    // A wait in a recording belongs to the graph, and isn't held.
    Stream recorded = gpu.stream();
    Template made = make_template(gpu);
    REQUIRE_OK(gpo_template_begin(made, recorded));
    CHECK_OK(gpo_stream_wait_event(recorded, event));
    REQUIRE_OK(gpo_template_end(made));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(gpo_stream_wait(other, kPatience));
    CHECK(read(words[1]) == 2);
}

TEST_CASE("an event of a recording that has ended is refused everywhere, until it is recorded outside") {
    Gpu gpu;
    Stream stream = gpu.stream(), other = gpu.stream();
    Queue queue = gpu.queue();
    Timeline timeline = gpu.timeline();
    for (const std::string ended : {"end", "cancel", "failed"}) {
        CAPTURE(ended);
        Event event = gpu.event(GPO_EVENT_TIMING);
        Template made = make_template(gpu), second = make_template(gpu);
        REQUIRE_OK(gpo_template_begin(made, stream));
        REQUIRE_OK(gpo_event_record(event, stream));
        CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_event_query(event));
        CHECK(says(refusal(), "is being captured"));
        if (ended == "failed") CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_notify(stream, queue, 1));
        if (ended == "cancel") REQUIRE_OK(gpo_template_cancel(made));
        else CHECK_STATUS(ended == "end" ? GPO_SUCCESS : GPO_CAPTURE_REFUSED, gpo_template_end(made));
        const auto refused = [&](gpo_status status) {
            CHECK(status == GPO_CAPTURE_REFUSED);
            CHECK(says(refusal(), "recording that has ended"));
        };
        int64_t time = 0;
        refused(gpo_event_query(event));
        refused(gpo_event_wait(event, 0));
        refused(gpo_event_notify(event, queue, 1));
        refused(gpo_event_get_elapsed(event, event, &time));
        refused(gpo_stream_notify_timed(other, queue, 1, event));
        refused(gpo_stream_wait_event(other, event));
        CHECK_OK(gpo_stream_wait(other, kPatience));   // the stream is unchanged
        const uint64_t next = [&] {
            uint64_t value = 0;
            CHECK_OK(gpo_timeline_get_value(timeline, &value));
            return value + 1;
        }();
        REQUIRE_OK(gpo_stream_wait_timeline(other, timeline, next));
        refused(gpo_stream_wait_event(other, event));
        REQUIRE_OK(gpo_timeline_signal(timeline, next));
        CHECK_OK(gpo_stream_wait(other, kPatience));
        REQUIRE_OK(gpo_template_begin(second, other));
        refused(gpo_stream_wait_event(other, event));
        refused(gpo_template_end(second));
        CHECK_OK(gpo_stream_wait(other, kPatience));
        if (ended == "end") {
            REQUIRE_OK(gpo_event_record(event, other));
        } else {
            record_node(second, event);
            REQUIRE_OK(gpo_template_launch(second, other, nullptr, 0, 0));
        }
        CHECK_OK(gpo_event_wait(event, kPatience));
        CHECK_OK(gpo_stream_wait_event(stream, event));
        CHECK_OK(gpo_stream_wait(stream, kPatience));
        CHECK_OK(gpo_event_get_elapsed(event, event, &time));
    }
}
