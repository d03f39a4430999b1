// Graphs under faults: all accepted work runs once, with the right values, and no other work runs.
#include "faults/graph_scenarios.h"

#include <array>
#include <deque>
#include <string>
#include <vector>

namespace gpo::test {

namespace {

/// A step that is retried once after a failure; valid because a failed step has no effect.
#define TWICE(a, ...) (STEP(a, __VA_ARGS__) || STEP(a, __VA_ARGS__))

constexpr uint32_t kWords = 8;

/// Objects that all scenarios of this file need.
struct Parts {
    explicit Parts(Attempt& a) : a(a) {}
    /// Frees the memory, unless work may still use it; the runtime's shutdown frees it then.
    ~Parts() {
        if (!stream || !other || gpo_stream_wait(stream, kPatience) || gpo_stream_wait(other, kPatience)) return;
        if (words) gpo_arena_free(arena, words);
        if (memory) gpo_memory_free(a.device, memory);
    }
    bool open() {
        void* piece = nullptr;
        auto small = sized<gpo_arena_options>();
        small.slab_bytes = 1 << 16;
        const bool opened = a.open() && TWICE(a, gpo_stream_create(a.device, nullptr, stream.out())) &&
                            TWICE(a, gpo_stream_create(a.device, nullptr, other.out())) &&
                            TWICE(a, gpo_event_create(a.device, nullptr, forked.out())) &&
                            TWICE(a, gpo_event_create(a.device, nullptr, joined.out())) &&
                            TWICE(a, gpo_module_load_builtin(a.device, module.out())) &&
                            TWICE(a, gpo_module_get_kernel(module, "gpo_fill_u32", fill.out())) &&
                            TWICE(a, gpo_memory_allocate(a.device, 4 * kWords * sizeof(uint32_t), nullptr, &memory)) &&
                            TWICE(a, gpo_arena_create(a.device, &small, arena.out())) &&
                            TWICE(a, gpo_arena_allocate(arena, 4 * kWords * sizeof(uint32_t), 0, &piece));
        words = static_cast<uint32_t*>(piece);
        if (words && !a.shuts_down()) std::fill_n(words, 4 * kWords, 0);
        return opened;
    }
    /// Address of one of four groups of words in device memory.
    uint64_t group(uint32_t number) const { return memory + number * kWords * sizeof(uint32_t); }
    gpo_copy to_host() const {
        auto copy = sized<gpo_copy>();
        copy.destination = reinterpret_cast<uint64_t>(words);
        copy.source = memory;
        copy.bytes = 4 * kWords * sizeof(uint32_t);
        return copy;
    }
    std::array<uint32_t, 2> seen() const { return {words[0], words[kWords]}; }

    Attempt& a;
    Stream stream, other;
    Event forked, joined;
    Module module;
    Kernel fill;
    Arena arena;
    uint64_t memory = 0;
    uint32_t* words = nullptr;  // where copies to the host go, pinned
};

gpo_status set(gpo_graph_t graph, const char* name, uint32_t value) {
    return gpo_graph_set(graph, name, &value, sizeof value);
}

gpo_setting setting(const char* name, const uint32_t& value) {
    auto made = sized<gpo_setting>();
    made.name = name;
    made.value = &value;
    made.bytes = sizeof value;
    return made;
}

bool is_lost(gpo_device_t device) {
    auto error = sized<gpo_error>();
    return gpo_object_get_error(device, &error) == GPO_SUCCESS && error.status == GPO_DEVICE_LOST;
}

gpo_template_statistics statistics_of(Attempt& a, gpo_template_t of) {
    auto out = sized<gpo_template_statistics>();
    STEP(a, gpo_template_get_statistics(of, &out));
    return out;
}

/// Draws a template in both formats. Each picture must be complete, or absent.
void draw(Attempt& a, gpo_template_t of) {
    std::vector<char> room(1 << 16);
    for (const uint32_t format : {GPO_PICTURE_DOT, GPO_PICTURE_SVG}) {
        size_t needed = 0;
        if (!STEP(a, gpo_template_get_picture(of, format, room.data(), room.size(), &needed))) continue;
        const std::string drawn = room.data();
        CHECK(drawn.size() + 1 == needed);
        CHECK(drawn.ends_with(format == GPO_PICTURE_DOT ? "}\n" : "</svg>\n"));
    }
}

/// Counts of host nodes that ran, one for each attempt: after a stream's failure, host nodes may run even after the end
/// of the runtime.
std::atomic<uint64_t>& fresh_count() {
    static std::deque<std::atomic<uint64_t>> counts;
    return counts.emplace_back(0);
}
void count(void* user) {
    auto& calls = *static_cast<std::atomic<uint64_t>*>(user);
    ++calls;
    calls.notify_all();
}

/// A template that is built node by node; what was added is counted.
class Builder {
public:
    explicit Builder(Parts& parts, gpo_template_t to, std::atomic<uint64_t>* came = nullptr)
        : parts_(parts), a_(parts.a), to_(to), came_(came) {}

    void fill(uint64_t where, uint32_t value) {
        added(TWICE(a_, gpo_template_add_fill(to_, after(), after_count(), where, value, 4, kWords, &last_)));
    }
    void kernel(uint64_t where, uint32_t value) {
        auto shape = sized<gpo_launch>();
        shape.grid[0] = 1;
        shape.block[0] = kWords;
        shape.label = "kernel";
        const uint64_t words = kWords;
        const void* arguments[] = {&where, &value, &words};
        added(TWICE(a_, gpo_template_add_kernel(to_, after(), after_count(), parts_.fill, &shape, arguments, nullptr, 3,
                                                &last_)));
    }
    void copy() {
        const gpo_copy what = parts_.to_host();
        added(TWICE(a_, gpo_template_add_copy(to_, after(), after_count(), &what, &last_)));
    }
    void empty() { added(TWICE(a_, gpo_template_add_empty(to_, after(), after_count(), &last_))); }
    void event() {
        added(TWICE(a_, gpo_template_add_event_record(to_, after(), after_count(), parts_.forked, &last_)));
        added(TWICE(a_, gpo_template_add_event_wait(to_, after(), after_count(), parts_.forked, &last_)));
    }
    void host_call() {
        const bool made = TWICE(a_, gpo_template_add_host_call(to_, after(), after_count(), count, came_, &last_));
        host_calls_ += made;
        added(made);
    }
    void child(const Builder& of, const char* prefix) {
        const bool made = TWICE(a_, gpo_template_add_child(to_, after(), after_count(), of.to_, prefix, &last_));
        host_calls_ += made ? of.host_calls_ : 0;
        nodes_ += made ? of.nodes_ : 0;
        added(made);
    }
    void parameter(const char* name, uint32_t what, uint32_t index) {
        whole_ &= last_ && TWICE(a_, gpo_template_add_parameter(to_, name, last_, what, index));
    }

    uint32_t host_calls() const { return host_calls_; }
    /// The node that was added last.
    uint32_t last() const { return last_; }
    /// Nothing is missing.
    bool whole() const { return whole_; }

private:
    const uint32_t* after() const { return last_ ? &last_ : nullptr; }
    uint32_t after_count() const { return last_ ? 1 : 0; }
    void added(bool made) {
        nodes_ += made;
        whole_ &= made;
        const gpo_template_statistics now = statistics_of(a_, to_);
        if (!a_.shared()) CHECK(now.nodes == nodes_);
    }

    Parts& parts_;
    Attempt& a_;
    const gpo_template_t to_;
    std::atomic<uint64_t>* const came_;  // what the host calls count
    uint32_t last_ = 0, nodes_ = 0, host_calls_ = 0;
    bool whole_ = true;
};

/// Puts the template's work on both streams: a kernel and, concurrently, a fill, and then a copy of both results.
gpo_status put_on_streams(Parts& parts, gpo_template_t recorded, uint32_t value, bool twice) {
    const auto step = [&](gpo_status status) {
        if (status != GPO_SUCCESS) throw status;
    };
    try {
        uint32_t node = 0, found = 0;
        auto shape = sized<gpo_launch>();
        shape.grid[0] = 1;
        shape.block[0] = kWords;
        shape.label = "kernel";
        const uint64_t words = kWords, where = parts.group(0);
        const void* arguments[] = {&where, &value, &words};
        step(gpo_event_record(parts.forked, parts.stream));
        step(gpo_stream_wait_event(parts.other, parts.forked));
        step(gpo_stream_launch_kernel(parts.stream, parts.fill, &shape, arguments, nullptr, 3));
        step(gpo_template_get_last_node(recorded, parts.stream, &node));
        step(gpo_template_add_parameter(recorded, "value", node, GPO_PARAMETER_ARGUMENT, 1));
        step(gpo_template_find_node(recorded, "kernel", &found));
        step(gpo_template_add_empty(recorded, &node, 1, &node));
        step(gpo_template_set_last_node(recorded, parts.stream, node));
        step(gpo_fill(parts.other, parts.group(1), value + 1, 4, kWords));
        if (twice) step(gpo_fill(parts.other, parts.group(1), value + 2, 4, kWords));
        step(gpo_template_get_last_node(recorded, parts.other, &node));
        step(gpo_template_add_parameter(recorded, "beside", node, GPO_PARAMETER_VALUE, 0));
        step(gpo_event_record(parts.joined, parts.other));
        void* native = nullptr;
        if (twice) step(gpo_event_get_native(parts.joined, &native));   // the recording goes on in a capture
        step(gpo_stream_wait_event(parts.stream, parts.joined));
        step(gpo_copy_to_host(parts.stream, parts.words, parts.memory, 4 * kWords * sizeof(uint32_t)));
        return GPO_SUCCESS;
    } catch (gpo_status status) {
        return status;
    }
}

/// Records a template, and discards the recording if any step fails.
gpo_status record(Parts& parts, gpo_template_t recorded, uint32_t value, bool twice = false) {
    if (const gpo_status status = gpo_template_begin(recorded, parts.stream); status != GPO_SUCCESS) return status;
    const gpo_status status = put_on_streams(parts, recorded, value, twice);
    if (status == GPO_SUCCESS) return gpo_template_end(recorded);
    const gpo_status cancelled = gpo_template_cancel(recorded);
    if (!parts.a.shared()) CHECK(cancelled == GPO_SUCCESS);
    return status;
}

/// Waits for both streams. True if all work has run, and the host may read the results.
bool wait(Parts& parts) {
    return TWICE(parts.a, gpo_stream_wait(parts.stream, kPatience)) &&
           TWICE(parts.a, gpo_stream_wait(parts.other, kPatience)) && !parts.a.shuts_down();
}

}  // namespace

void built_templates(Attempt& a) {
    std::atomic<uint64_t>& came = fresh_count();
    uint64_t expected = 0;
    {
        Parts parts(a);
        if (!parts.open()) return;
        Template part, all;
        auto options = sized<gpo_template_options>();
        options.label = "all";
        if (!TWICE(a, gpo_template_create(a.device, nullptr, part.out()))) return;
        if (!TWICE(a, gpo_template_create(a.device, &options, all.out()))) return;
        Builder child(parts, part, &came), build(parts, all, &came);
        child.fill(parts.group(0), 5);
        child.parameter("value", GPO_PARAMETER_VALUE, 0);
        child.host_call();
        build.kernel(parts.group(1), 3);
        build.parameter("value", GPO_PARAMETER_ARGUMENT, 1);
        build.child(child, "child.");
        build.event();
        build.host_call();
        build.copy();
        build.empty();
        uint32_t node = 0, number = 0;
        if (build.whole()) STEP(a, gpo_template_find_node(all, "kernel", &node));
        draw(a, all);
        void* native = nullptr;
        STEP(a, gpo_template_get_native(all, &native));
        Graph graph;
        if (!TWICE(a, gpo_graph_create(all, nullptr, graph.out()))) return;
        const auto launched = [&] {
            expected += TWICE(a, gpo_graph_launch(graph, parts.stream)) ? build.host_calls() : 0;
        };
        launched();
        bool good = build.whole() && child.whole();
        const uint32_t seven = 7, eight = 8;
        if (good) {
            good = TWICE(a, set(graph, "child.value", 9)) &&
                   TWICE(a, gpo_template_get_parameter(all, "value", &number, nullptr)) &&
                   TWICE(a, gpo_graph_set_parameter(graph, number, &seven, sizeof seven));
            launched();
            const gpo_setting settings[] = {setting("child.value", seven), setting("value", eight)};
            good = good && TWICE(a, gpo_graph_set_all(graph, settings, sizeof settings[0], 2));
            uint32_t now = 0;
            good = good && TWICE(a, gpo_graph_get(graph, "value", &now, sizeof now));
            if (good) CHECK(now == 8);
        }
        const uint64_t asked = expected;
        launched();
        if (wait(parts) && good && expected > asked) CHECK(parts.seen() == std::array<uint32_t, 2>{7, 8});
        if (TWICE(a, gpo_template_clear(all))) CHECK((a.shared() || statistics_of(a, all).nodes == 0));
        if (is_lost(a.device)) return;
        graph.reset();
    }
    a.finish();
    if (a.shared()) return;
    for (uint64_t now = came; now < expected; now = came) came.wait(now);   // attempt() aborts if this never ends
    CHECK(came == expected);
}

void recorded_templates(Attempt& a) {
    Parts parts(a);
    if (!parts.open()) return;
    Template recorded;
    Graph graph;
    if (!TWICE(a, gpo_template_create(a.device, nullptr, recorded.out()))) return;
    if (!TWICE(a, record(parts, recorded, 1))) return;
    if (!TWICE(a, gpo_graph_create(recorded, nullptr, graph.out()))) return;
    const auto sees = [&](bool good, std::array<uint32_t, 2> expected) {
        if (TWICE(a, gpo_graph_launch(graph, parts.stream)) && wait(parts) && good) CHECK(parts.seen() == expected);
    };
    sees(true, {1, 2});
    bool set_beside = TWICE(a, set(graph, "beside", 7));
    sees(set_beside, {1, 7});
    // A failed recording leaves the previous one in place.
    a.ask("a recording that is refused", [&] {
        const gpo_status begun = gpo_template_begin(recorded, parts.stream);
        if (begun != GPO_SUCCESS) return begun;
        const gpo_status notified = gpo_stream_notify(parts.stream, a.queue, 0);
        const gpo_status ended = gpo_template_end(recorded);
        CHECK(notified != GPO_SUCCESS);
        CHECK(ended != GPO_SUCCESS);
        return ended == GPO_CAPTURE_REFUSED ? GPO_SUCCESS : ended;
    });
    STEP(a, gpo_graph_update(graph, nullptr));
    sees(set_beside, {1, 7});
    auto report = sized<gpo_graph_update_report>();
    bool again = TWICE(a, record(parts, recorded, 11));
    bool updated = again && TWICE(a, gpo_graph_update(graph, &report));
    sees(set_beside && again == updated, {again ? 11u : 1u, 7});
    again = TWICE(a, record(parts, recorded, 21, true));
    updated = again && TWICE(a, gpo_graph_update(graph, &report));
    if (updated) CHECK((a.shared() || report.rebuilt == 1));
    sees(set_beside && updated, {21, 7});
    void* native = nullptr;
    STEP(a, gpo_graph_get_native(graph, &native));
    a.notify(parts.stream);
    a.notify(parts.other);
    // Left open: it is discarded with its template.
    STEP(a, gpo_template_begin(recorded, parts.stream)) && STEP(a, gpo_template_cancel(recorded));
    STEP(a, gpo_template_begin(recorded, parts.stream));
    recorded.reset();
    a.notify(parts.stream);
}

void launched_templates(Attempt& a) {
    Parts parts(a);
    if (!parts.open()) return;
    Template built;
    Timeline go;
    if (!TWICE(a, gpo_template_create(a.device, nullptr, built.out()))) return;
    if (!TWICE(a, gpo_timeline_create(a.runtime, nullptr, go.out()))) return;
    Builder build(parts, built);
    build.kernel(parts.group(0), 3);
    build.parameter("value", GPO_PARAMETER_ARGUMENT, 1);
    build.parameter("where", GPO_PARAMETER_ARGUMENT, 0);
    build.copy();
    if (!build.whole()) return;
    STEP(a, gpo_template_prepare(built, 1, parts.stream));
    // On two streams, each with its value in its place; in turn, as both copy all words to one place.
    const auto launch = [&](gpo_stream_t stream, uint32_t group, uint32_t value) {
        const uint64_t where = parts.group(group);
        gpo_setting settings[] = {setting("value", value), sized<gpo_setting>()};
        settings[1].name = "where";
        settings[1].value = &where;
        settings[1].bytes = sizeof where;
        return TWICE(a, gpo_template_launch(built, stream, settings, sizeof settings[0], 2));
    };
    bool good = true;
    for (uint32_t value = 1; value <= 3; ++value)
        good = good && launch(parts.stream, 0, value) && TWICE(a, gpo_stream_wait_stream(parts.other, parts.stream)) &&
               launch(parts.other, 1, 10 * value) && TWICE(a, gpo_stream_wait_stream(parts.stream, parts.other));
    if (wait(parts) && good && launch(parts.stream, 2, 0) && wait(parts))
        CHECK(parts.seen() == std::array<uint32_t, 2>{3, 30});
    // Held launches, each with the value of its time, released when they alone hold the graph.
    auto options = sized<gpo_graph_options>();
    options.flags = GPO_GRAPH_UPLOAD;
    Graph graph;
    if (!TWICE(a, gpo_graph_create(built, &options, graph.out()))) return;
    STEP(a, gpo_graph_upload(graph, parts.stream));
    const bool held = TWICE(a, gpo_stream_wait_timeline(parts.stream, go, 1));
    const uint64_t second = parts.group(1);
    const bool first = TWICE(a, set(graph, "value", 41)) && TWICE(a, gpo_graph_launch(graph, parts.stream));
    const bool last = first && TWICE(a, set(graph, "value", 42)) &&
                      TWICE(a, gpo_graph_set(graph, "where", &second, sizeof second)) &&
                      TWICE(a, gpo_graph_launch(graph, parts.stream));
    STEP(a, gpo_graph_destroy(graph.release()));
    STEP(a, gpo_template_destroy(built.release()));
    STEP(a, gpo_kernel_destroy(parts.fill.release()));
    STEP(a, gpo_module_destroy(parts.module.release()));
    a.notify(parts.stream);
    if (held && !TWICE(a, gpo_timeline_signal(go, 1))) return;
    // A held launch that the driver refuses when it is released fails the stream, which the wait says once.
    const int failures = a.failures();
    if (wait(parts) && last && a.failures() == failures) CHECK(parts.seen() == std::array<uint32_t, 2>{41, 42});
}

void launched_events(Attempt& a) {
    Parts parts(a);
    if (!parts.open()) return;
    Template built, recorded, waiting;
    Timeline go;
    Event event, external;
    auto options = sized<gpo_event_options>();
    options.flags = GPO_EVENT_EXTERNAL | GPO_EVENT_TIMING;
    for (Template* made : {&built, &recorded, &waiting})
        if (!TWICE(a, gpo_template_create(a.device, nullptr, made->out()))) return;
    if (!TWICE(a, gpo_timeline_create(a.runtime, nullptr, go.out()))) return;
    if (!TWICE(a, gpo_event_create(a.device, nullptr, event.out()))) return;
    if (!TWICE(a, gpo_event_create(a.device, &options, external.out()))) return;
    Builder build(parts, built);
    build.fill(parts.group(0), 5);
    uint32_t node = 1;
    if (!build.whole() || !TWICE(a, gpo_template_add_event_record(built, &node, 1, event, nullptr))) return;
    if (!TWICE(a, gpo_template_add_event_wait(waiting, nullptr, 0, event, nullptr))) return;
    // The event reports each accepted launch, or its failure, and no launch that was refused.
    const auto reached = [&](gpo_event_t which) {
        const int failures = a.failures();
        if (!STEP(a, gpo_stream_wait_event(parts.other, which)) || !STEP(a, gpo_event_wait(which, kPatience))) return;
        const uint64_t mark = a.next_mark();
        if (STEP(a, gpo_event_notify(which, a.queue, mark))) a.accepted(mark);
        if (a.failures() == failures) ASK(a, gpo_event_query(which));
    };
    if (TWICE(a, gpo_template_launch(built, parts.stream, nullptr, 0, 0))) reached(event);
    // A stream waits for the event, which a held launch will record. Meanwhile another stream records the event first.
    const bool held = TWICE(a, gpo_stream_wait_timeline(parts.stream, go, 1));
    STEP(a, gpo_template_launch(built, parts.stream, nullptr, 0, 0));
    STEP(a, gpo_stream_wait_event(parts.other, event));
    STEP(a, gpo_template_launch(waiting, parts.other, nullptr, 0, 0));
    Stream beside;
    if (TWICE(a, gpo_stream_create(a.device, nullptr, beside.out()))) {
        STEP(a, gpo_event_record(event, beside));
        STEP(a, gpo_template_launch(built, beside, nullptr, 0, 0));
    }
    a.notify(parts.other);
    if (held && !TWICE(a, gpo_timeline_signal(go, 1))) return;
    wait(parts);
    reached(event);
    // Records a template in which waiting for the event and recording the event are nodes.
    const auto record_nodes = [&] {
        if (const gpo_status status = gpo_template_begin(recorded, parts.stream)) return status;
        gpo_status status = gpo_stream_wait_event(parts.stream, external);
        if (status == GPO_SUCCESS) status = gpo_fill(parts.stream, parts.group(1), 6, 4, kWords);
        if (status == GPO_SUCCESS) status = gpo_event_record(external, parts.stream);
        if (status == GPO_SUCCESS) return gpo_template_end(recorded);
        gpo_template_cancel(recorded);
        return status;
    };
    if (!TWICE(a, record_nodes())) return;
    if (TWICE(a, gpo_template_launch(recorded, parts.stream, nullptr, 0, 0))) reached(external);
    wait(parts);
}

void imported_templates(Attempt& a) {
    Parts parts(a);
    if (!parts.open()) return;
    Template theirs, imported;
    Graph graph;
    if (!TWICE(a, gpo_template_create(a.device, nullptr, theirs.out()))) return;
    Builder build(parts, theirs);
    build.kernel(parts.group(0), 3);
    build.fill(parts.group(1), 5);
    build.copy();
    void* native = nullptr;
    if (!build.whole() || !TWICE(a, gpo_template_get_native(theirs, &native))) return;
    if (!TWICE(a, gpo_template_import(a.device, native, nullptr, imported.out()))) return;
    if (!a.shared()) CHECK(statistics_of(a, imported).nodes == statistics_of(a, theirs).nodes);
    STEP(a, gpo_template_destroy(theirs.release()));
    if (!TWICE(a, gpo_template_add_parameter(imported, "value", 2, GPO_PARAMETER_VALUE, 0))) return;
    if (!TWICE(a, gpo_graph_create(imported, nullptr, graph.out())) || !TWICE(a, set(graph, "value", 6))) return;
    if (TWICE(a, gpo_graph_launch(graph, parts.stream)) && wait(parts))
        CHECK(parts.seen() == std::array<uint32_t, 2>{3, 6});
}

namespace {

/// The host node's function, which may run after the end of the runtime: hence one object for each attempt.
struct Caller {
    gpo_timeline_t timeline;
    gpo_stream_t stream;
    std::atomic<uint32_t> runs{0};
    std::atomic<bool> refused{true}, signalled{false};
    static void call(void* user) {
        auto& self = *static_cast<Caller*>(user);
        const gpo_status asked = gpo_stream_query(self.stream);
        if (asked != GPO_WOULD_DEADLOCK) self.refused = false;
        if (gpo_timeline_signal(self.timeline, 1) == GPO_SUCCESS) self.signalled = true;
        ++self.runs;
    }
};
Caller& fresh_caller(gpo_timeline_t timeline, gpo_stream_t stream) {
    static std::deque<Caller> callers;
    Caller& made = callers.emplace_back();
    made.timeline = timeline;
    made.stream = stream;
    return made;
}

}  // namespace

void calling_host_nodes(Attempt& a) {
    Parts parts(a);
    if (!parts.open()) return;
    Template built, imported;
    Timeline go;
    Graph graph;
    void* native = nullptr;
    if (!TWICE(a, gpo_timeline_create(a.runtime, nullptr, go.out()))) return;
    if (!TWICE(a, gpo_template_create(a.device, nullptr, built.out()))) return;
    Caller& caller = fresh_caller(go, parts.stream);
    if (!TWICE(a, gpo_template_add_host_call(built, nullptr, 0, Caller::call, &caller, nullptr))) return;
    if (!TWICE(a, gpo_template_get_native(built, &native))) return;
    if (!TWICE(a, gpo_template_import(a.device, native, nullptr, imported.out()))) return;
    STEP(a, gpo_template_destroy(built.release()));
    if (!TWICE(a, gpo_graph_create(imported, nullptr, graph.out()))) return;
    const bool held = TWICE(a, gpo_stream_wait_timeline(parts.other, go, 1));
    const bool filled = held && TWICE(a, gpo_fill(parts.other, parts.group(0), 6, 4, kWords));
    a.notify(parts.other);
    const bool launched = TWICE(a, gpo_graph_launch(graph, parts.stream));
    STEP(a, gpo_graph_destroy(graph.release()));
    STEP(a, gpo_template_destroy(imported.release()));
    if (!TWICE(a, gpo_stream_wait(parts.stream, kPatience))) return;
    CHECK(caller.refused.load());
    if (!a.shared()) CHECK(caller.runs.load() == (launched ? 1u : 0u));
    if (!caller.signalled.load() && !TWICE(a, gpo_timeline_signal(go, 1))) return;
    if (!wait(parts) || !filled) return;
    const gpo_copy copy = parts.to_host();
    if (TWICE(a, gpo_copy_batch(parts.other, &copy, sizeof copy, 1)) && wait(parts)) CHECK(parts.seen()[0] == 6);
}

void traced_templates(Attempt& a) {
    Parts parts(a);
    if (!parts.open()) return;
    STEP(a, gpo_trace_start(a.runtime, nullptr));
    uint32_t launched = 0;
    for (uint32_t value = 1; value <= 3; ++value) {
        Template made;
        if (!TWICE(a, gpo_template_create(a.device, nullptr, made.out()))) continue;
        Builder build(parts, made);
        build.fill(parts.group(0), value);
        build.copy();
        if (build.whole() && TWICE(a, gpo_template_launch(made, parts.stream, nullptr, 0, 0))) launched = value;
        draw(a, made);
    }
    if (wait(parts) && launched) CHECK(parts.seen()[0] == launched);
    a.ask("stop", [&] {  // the trace may not have begun
        const gpo_status status = gpo_trace_stop(a.runtime);
        return a.failures() && status == GPO_INVALID_STATE ? GPO_SUCCESS : status;
    });
}

void templates_made_anew(Attempt& a) {
    Parts parts(a);
    if (!parts.open()) return;
    Template made;
    Graph graph;
    Timeline go;
    if (!TWICE(a, gpo_template_create(a.device, nullptr, made.out()))) return;
    if (!TWICE(a, gpo_timeline_create(a.runtime, nullptr, go.out()))) return;
    // In the first version `changed` is a value, and the loop never runs.
    const auto make = [&](bool anew, uint32_t value) {
        if (!TWICE(a, gpo_template_clear(made))) return false;
        Builder build(parts, made);
        build.kernel(parts.group(0), value);
        build.parameter("kept", GPO_PARAMETER_ARGUMENT, 1);
        build.fill(parts.group(1), value);
        build.parameter("changed", anew ? GPO_PARAMETER_ENABLED : GPO_PARAMETER_VALUE, 0);
        build.copy();
        if (anew || !build.whole()) return build.whole();
        Template body;
        auto never = sized<gpo_condition>();
        never.comparison = GPO_COMPARE_EQUAL;
        never.word = parts.group(0);
        never.constant = 99;
        const uint32_t copied = build.last();   // the loop reads what was filled
        return TWICE(a, gpo_template_add_while(made, &copied, 1, &never, body.out(), nullptr)) &&
               TWICE(a, gpo_template_add_empty(body, nullptr, 0, nullptr));
    };
    if (!make(false, 3) || !TWICE(a, gpo_graph_create(made, nullptr, graph.out()))) return;
    if (!TWICE(a, set(graph, "kept", 7)) || !TWICE(a, set(graph, "changed", 0))) return;
    const bool held = TWICE(a, gpo_stream_wait_timeline(parts.stream, go, 1));
    const bool launched = held && TWICE(a, gpo_graph_launch(graph, parts.stream));
    auto report = sized<gpo_graph_update_report>();
    const bool updated = make(true, 4) && TWICE(a, gpo_graph_update(graph, &report));
    if (updated) CHECK((a.shared() || (report.dropped == 1 && std::string(report.dropped_parameter) == "changed")));
    if (held && !TWICE(a, gpo_timeline_signal(go, 1))) return;
    const int failures = a.failures();
    if (wait(parts) && launched && a.failures() == failures && !a.shared())
        CHECK(parts.seen() == (updated ? std::array<uint32_t, 2>{7, 4} : std::array<uint32_t, 2>{7, 0}));
    uint32_t now = 0;
    if (updated && TWICE(a, gpo_graph_get(graph, "changed", &now, sizeof now))) CHECK(now == 1);
    if (TWICE(a, gpo_graph_launch(graph, parts.stream)) && wait(parts) && a.failures() == failures && !a.shared())
        CHECK(parts.seen() == (updated ? std::array<uint32_t, 2>{7, 4} : std::array<uint32_t, 2>{7, 0}));
}

namespace {

/// Records a body with a kernel, an if and `child`.
gpo_status record_body(Parts& parts, gpo_template_t body, gpo_template_t child, const gpo_condition& decides,
                       Template& within) {
    const auto step = [&](gpo_status status) {
        if (status != GPO_SUCCESS) throw status;
    };
    if (const gpo_status status = gpo_template_begin(body, parts.stream); status != GPO_SUCCESS) return status;
    try {
        uint32_t node = 0;
        step(gpo_fill(parts.stream, parts.group(3), 1, 4, kWords));
        step(gpo_template_get_last_node(body, parts.stream, &node));
        step(gpo_template_add_if(body, &node, 1, &decides, within.out(), nullptr, &node));
        step(gpo_template_add_fill(within, nullptr, 0, parts.group(3), 2, 4, kWords, nullptr));
        step(gpo_template_add_child(body, &node, 1, child, "child.", &node));
        step(gpo_template_set_last_node(body, parts.stream, node));
        return gpo_template_end(body);
    } catch (gpo_status status) {
        gpo_template_cancel(body);
        return status;
    }
}

/// Records a fill, a while whose body fills once and is recorded in turn, and a copy; in a capture from the middle on,
/// if `captured`. The first word is 6 at last, and the second `value`.
gpo_status record_loop(Parts& parts, gpo_template_t recorded, uint32_t value, bool captured) {
    const auto step = [&](gpo_status status) {
        if (status != GPO_SUCCESS) throw status;
    };
    if (const gpo_status status = gpo_template_begin(recorded, parts.stream); status != GPO_SUCCESS) return status;
    try {
        Template body;
        auto decides = sized<gpo_condition>();
        decides.comparison = GPO_COMPARE_EQUAL;
        decides.word = parts.group(0);
        decides.constant = 3;
        uint32_t node = 0;
        void* native = nullptr;
        step(gpo_fill(parts.stream, parts.group(0), 3, 4, kWords));
        step(gpo_template_get_last_node(recorded, parts.stream, &node));
        step(gpo_template_add_while(recorded, &node, 1, &decides, body.out(), &node));
        step(gpo_template_set_last_node(recorded, parts.stream, node));
        step(gpo_template_begin(body, parts.other));
        step(gpo_fill(parts.other, parts.group(0), 6, 4, kWords));
        step(gpo_fill(parts.other, parts.group(1), value, 4, kWords));
        step(gpo_template_end(body));
        step(gpo_event_record(parts.forked, parts.stream));
        if (captured) step(gpo_event_get_native(parts.forked, &native));
        step(gpo_copy_to_host(parts.stream, parts.words, parts.memory, 4 * kWords * sizeof(uint32_t)));
        return gpo_template_end(recorded);
    } catch (gpo_status status) {
        gpo_template_cancel(recorded);
        return status;
    }
}

/// A graph of a recording with a loop, updated to another one.
void recorded_loops(Parts& parts) {
    Attempt& a = parts.a;
    Template recorded;
    Graph graph;
    if (!TWICE(a, gpo_template_create(a.device, nullptr, recorded.out()))) return;
    bool captured = false;
    for (const uint32_t value : {8u, 9u, 10u}) {
        if (!TWICE(a, record_loop(parts, recorded, value, captured))) return;
        const bool ready = graph ? TWICE(a, gpo_graph_update(graph, nullptr))
                                 : TWICE(a, gpo_graph_create(recorded, nullptr, graph.out()));
        if (ready && TWICE(a, gpo_graph_launch(graph, parts.stream)) && wait(parts))
            CHECK(parts.seen() == std::array<uint32_t, 2>{6, value});
        captured = value == 9;
    }
}

void composed(Parts& parts, gpo_template_t child) {
    Attempt& a = parts.a;
    Template outer, body, within, again;
    if (!TWICE(a, gpo_template_create(a.device, nullptr, outer.out()))) return;
    auto decides = sized<gpo_condition>();
    decides.comparison = GPO_COMPARE_LESS;
    decides.word = parts.group(3);
    decides.constant = 5;
    uint32_t node = 0;
    if (!TWICE(a, gpo_template_add_if(outer, nullptr, 0, &decides, body.out(), nullptr, &node))) return;
    const bool recorded = STEP(a, record_body(parts, body, child, decides, within)) ||
                          STEP(a, record_body(parts, body, child, decides, again));
    const gpo_copy copy = parts.to_host();
    if (!recorded || !TWICE(a, gpo_template_add_copy(outer, &node, 1, &copy, nullptr))) return;
    draw(a, outer);
    Graph first, second;
    if (!TWICE(a, gpo_graph_create(outer, nullptr, first.out()))) return;
    if (!TWICE(a, gpo_graph_create(outer, nullptr, second.out()))) return;
    for (const gpo_graph_t graph : {first.get(), second.get()}) {
        if (!TWICE(a, gpo_fill(parts.stream, parts.group(3), 0, 4, kWords))) return;
        if (TWICE(a, gpo_graph_launch(graph, parts.stream)) && wait(parts)) CHECK(parts.words[3 * kWords] == 2);
    }
}

/// Binds conditions and launches by kernels, without running them.
void bind_to_kernels(Parts& parts, gpo_template_t deciding) {
    Attempt& a = parts.a;
    Builder build_deciding(parts, deciding);
    build_deciding.kernel(parts.group(0), 1);
    auto decides = sized<gpo_condition>();
    decides.comparison = GPO_COMPARE_KERNEL;
    Graph launchable;
    Template body;
    uint32_t node = 1;
    if (build_deciding.whole() &&
        TWICE(a, gpo_template_add_if(deciding, &node, 1, &decides, body.out(), nullptr, &node)))
        STEP(a, gpo_template_bind_condition(deciding, 1, 2, deciding, node));
    Template plain;
    auto options = sized<gpo_graph_options>();
    options.flags = GPO_GRAPH_DEVICE_LAUNCH;
    if (!TWICE(a, gpo_template_create(a.device, nullptr, plain.out()))) return;
    Builder build_plain(parts, plain);
    build_plain.fill(parts.group(0), 1);
    if (!build_plain.whole() || !TWICE(a, gpo_graph_create(plain, &options, launchable.out()))) return;
    uint64_t native = 0, word = 0;
    gpo_status failed = GPO_SUCCESS;
    STEP(a, gpo_graph_get_device_handle(launchable, &native, &word));
    STEP(a, gpo_graph_get_device_status(launchable, &failed));
}

}  // namespace

void conditional_templates(Attempt& a) {
    Parts parts(a);
    if (!parts.open()) return;
    Template made, deciding;
    if (!TWICE(a, gpo_template_create(a.device, nullptr, made.out()))) return;
    if (!TWICE(a, gpo_template_create(a.device, nullptr, deciding.out()))) return;
    // While the first word is 1, which it is once; if the second is 5; and what the first is.
    Builder build(parts, made);
    build.fill(parts.group(0), 1);
    build.fill(parts.group(1), 5);
    const auto condition = [&](uint32_t comparison, uint32_t group, uint32_t constant) {
        auto out = sized<gpo_condition>();
        out.comparison = comparison;
        out.word = parts.group(group);
        out.constant = constant;
        return out;
    };
    Template again, then, otherwise, first, second;
    uint32_t loop = 0, node = 2;
    gpo_template_t bodies[2] = {};
    gpo_condition decides = condition(GPO_COMPARE_EQUAL, 0, 1);
    if (!build.whole() || !TWICE(a, gpo_template_add_while(made, &node, 1, &decides, again.out(), &loop))) return;
    decides = condition(GPO_COMPARE_EQUAL, 1, 5);
    if (!TWICE(a, gpo_template_add_if(made, &loop, 1, &decides, then.out(), otherwise.out(), &node))) return;
    decides = condition(GPO_COMPARE_VALUE, 0, 0);
    const bool switched = TWICE(a, gpo_template_add_switch(made, &node, 1, &decides, bodies, 2, &node));
    *first.out() = bodies[0];
    *second.out() = bodies[1];
    if (!switched) return;
    const gpo_copy copy = parts.to_host();
    if (!TWICE(a, gpo_template_add_copy(made, &node, 1, &copy, nullptr))) return;
    Builder in_loop(parts, again), in_then(parts, then), in_first(parts, first);
    in_loop.fill(parts.group(0), 0);
    in_then.fill(parts.group(1), 7);
    in_then.parameter("value", GPO_PARAMETER_VALUE, 0);
    in_first.fill(parts.group(2), 1);
    const bool whole = in_loop.whole() && in_then.whole() && in_first.whole() &&
                       TWICE(a, gpo_template_add_empty(otherwise, nullptr, 0, nullptr)) &&
                       TWICE(a, gpo_template_add_empty(second, nullptr, 0, nullptr));
    if (!whole) return;
    draw(a, made);
    Graph graph, beside;
    if (!TWICE(a, gpo_graph_create(made, nullptr, graph.out()))) return;
    if (!TWICE(a, gpo_graph_create(made, nullptr, beside.out()))) return;
    const bool set_beside = TWICE(a, set(beside, "value", 9));
    uint64_t iterations = 0;
    uint32_t limited = 0;
    if (TWICE(a, gpo_graph_launch(graph, parts.stream)) && wait(parts)) {
        CHECK(parts.seen() == std::array<uint32_t, 2>{0, 7});
        if (TWICE(a, gpo_graph_get_loop(graph, made, loop, &iterations, &limited))) CHECK(iterations == 1);
    }
    if (TWICE(a, gpo_graph_launch(beside, parts.stream)) && wait(parts) && set_beside)
        CHECK(parts.seen() == std::array<uint32_t, 2>{0, 9});
    // The whole template becomes a child graph, in the body of an if that was recorded and contains an if.
    composed(parts, made);
    bind_to_kernels(parts, deciding);
    recorded_loops(parts);
}

namespace {

bool contains(const char* text, const char* part) { return std::string(text).find(part) != std::string::npos; }

/// The warm-up spoils the words that are to be restored; the work itself fills others with a value.
gpo_status spoil_and_fill(void* user, gpo_stream_t stream, const gpo_bucket_work* work) {
    auto& parts = *static_cast<Parts*>(user);
    const auto words = reinterpret_cast<uint64_t>(parts.words);
    if (work->phase == GPO_BUCKET_WARM_UP) {
        const gpo_status spoiled = gpo_fill(stream, words, 99, 4, kWords);
        return spoiled == GPO_SUCCESS ? gpo_fill(stream, parts.group(0), 99, 4, kWords) : spoiled;
    }
    uint32_t value = 1, node = 0;
    if (work->setting_count) value = *static_cast<const uint32_t*>(work->settings[0].value);
    const uint64_t others = words + kWords * sizeof(uint32_t);
    if (const gpo_status filled = gpo_fill(stream, others, value, 4, kWords); filled != GPO_SUCCESS) return filled;
    if (!work->graph_template) return GPO_SUCCESS;
    if (const gpo_status read = gpo_template_get_last_node(work->graph_template, stream, &node); read != GPO_SUCCESS)
        return read;
    return gpo_template_add_parameter(work->graph_template, "value", node, GPO_PARAMETER_VALUE, 0);
}

}  // namespace

void restored_buckets(Attempt& a) {
    Parts parts(a);
    if (!parts.open()) return;
    const auto range = [](uint64_t address) {
        auto made = sized<gpo_memory_range>();
        made.address = address;
        made.bytes = kWords * sizeof(uint32_t);
        return made;
    };
    std::fill_n(parts.words, kWords, 5);
    const gpo_memory_range ranges[] = {range(reinterpret_cast<uint64_t>(parts.words)), range(parts.group(0))};
    const uint64_t shapes[] = {1, 2};
    auto options = sized<gpo_buckets_options>();
    options.flags = GPO_BUCKETS_EAGER_FALLBACK;
    options.shapes = shapes;
    options.shape_count = 2;
    options.record = spoil_and_fill;
    options.user = &parts;
    options.restored = ranges;
    options.restored_count = 2;
    options.restored_stride = sizeof ranges[0];
    Buckets buckets;
    if (!TWICE(a, gpo_fill(parts.stream, parts.group(0), 5, 4, kWords)) ||
        !TWICE(a, gpo_buckets_create(a.device, &options, buckets.out())))
        return;
    bool spoiled = false;   // and the library has said so
    uint32_t wanted = 0;
    const auto request = [&](uint64_t size) {
        const uint32_t value = wanted + 1;
        const gpo_setting one = setting("value", value);
        const gpo_status status = gpo_buckets_launch(buckets, parts.stream, size, &one, sizeof one, 1, nullptr);
        auto error = sized<gpo_error>();
        gpo_last_error(&error);
        if (status == GPO_SUCCESS)
            wanted = value;
        else   // where there is no memory at all, there is none for the message
            spoiled |= contains(error.message, "can't be restored") ||
                       (a.memory_may_be_out() && contains(error.message, gpo_status_text(GPO_OUT_OF_MEMORY)));
        return status;
    };
    for (const uint64_t size : {2, 1, 2, 3}) STEP(a, request(size));
    auto counts = sized<gpo_buckets_statistics>();
    if (STEP(a, gpo_buckets_get_statistics(buckets, &counts))) CHECK(counts.fallbacks <= counts.eager);
    const gpo_copy back = [&] {
        auto made = parts.to_host();
        made.destination += 2 * kWords * sizeof(uint32_t);
        made.bytes = kWords * sizeof(uint32_t);
        return made;
    }();
    // Wait for the device: if ordering the streams has failed, the warm-up's work isn't ordered with this stream.
    if (!TWICE(a, gpo_device_wait(a.device, kPatience))) return;
    const bool copied = TWICE(a, gpo_copy_batch(parts.stream, &back, sizeof back, 1));
    if (!TWICE(a, gpo_stream_wait(parts.stream, kPatience)) || spoiled || a.shuts_down()) return;
    CHECK(parts.words[0] == 5);
    CHECK(parts.words[kWords - 1] == 5);
    CHECK(parts.words[kWords] == wanted);
    if (copied) CHECK(parts.words[2 * kWords] == 5);
}

}  // namespace gpo::test
