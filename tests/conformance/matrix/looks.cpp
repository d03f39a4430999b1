// The ways to wait for an operation, or to look at it. Each says "not yet" while the gate is closed, and says that the
// operation is done only when it is.
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "matrix.h"
#include "other_process.h"

namespace gpo::test::matrix {

namespace {

/// A call that blocks, on a thread of its own.
class Blocked {
public:
    Blocked(View& view, std::function<gpo_status()> call)
        : view_(view), thread_([this, call = std::move(call)] {
              begun_ = true;
              status_ = call();
              too_early_ = !view_.is_open;
              saw_done_ = view_.act.done();
              returned_ = true;
          }) {
        while (!begun_) std::this_thread::yield();
    }
    ~Blocked() {
        if (thread_.joinable()) thread_.join();
    }
    void closed() { CHECK(!returned_); }
    void opened(gpo_status expected = GPO_SUCCESS) {
        thread_.join();
        CHECK(gpo_status_name(status_) == std::string(gpo_status_name(expected)));
        CHECK_FALSE(too_early_);
        if (expected == GPO_SUCCESS) CHECK(saw_done_);
    }

private:
    View& view_;
    std::atomic<bool> begun_{false}, returned_{false};
    gpo_status status_ = GPO_INTERNAL;
    bool too_early_ = false, saw_done_ = false;
    std::thread thread_;
};

class Query final : public View {
public:
    using View::View;
    void closed() override { CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(site.on())); }
    void opened() override {
        gpo_status status = GPO_NOT_READY;
        const uint64_t until = monotonic_ns() + kPatience;
        while ((status = gpo_stream_query(site.on())) == GPO_NOT_READY && monotonic_ns() < until)
            std::this_thread::yield();
        CHECK_OK(status);
        CHECK(act.done());
    }
};

class Wait final : public View {
public:
    using View::View;
    void closed() override {
        CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(site.on(), 0));
        waiting_.emplace(*this, [this] { return gpo_stream_wait(site.on(), kPatience); });
        CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(site.on()));
        waiting_->closed();
    }
    void opened() override { waiting_->opened(); }

private:
    std::optional<Blocked> waiting_;
};

class DeviceWait final : public View {
public:
    using View::View;
    void closed() override {
        CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(world.gpu.device, 0));
        waiting_.emplace(*this, [this] { return gpo_device_wait(world.gpu.device, kPatience); });
        CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(world.gpu.device, 1'000'000));
        waiting_->closed();
    }
    void opened() override { waiting_->opened(); }
    void answers(gpo_status status) override {
        act.open();   // what it waits for on other streams isn't resident
        CHECK_STATUS(status, gpo_device_wait(world.gpu.device, kPatience));
    }

private:
    std::optional<Blocked> waiting_;
};

/// Looks by an event: the operation's own, or one behind the operation.
class EventView : public View {
public:
    using View::View;
    void before() override { own_ = world.gpu.event(GPO_EVENT_TIMING); }
    void closed() override {
        event_ = look_at(own_);
        look();
    }

protected:
    virtual void look() = 0;
    Event own_;
    gpo_event_t event_ = nullptr;
};

class EventWait final : public EventView {
public:
    using EventView::EventView;
    void look() override {
        CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event_));
        CHECK_STATUS(GPO_TIMEOUT, gpo_event_wait(event_, 0));
        waiting_.emplace(*this, [this] { return gpo_event_wait(event_, kPatience); });
        CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event_));
        waiting_->closed();
    }
    void opened() override {
        waiting_->opened();
        CHECK_OK(gpo_event_query(event_));
    }
    void answers(gpo_status status) override {
        CHECK_STATUS(status, gpo_event_query(act.event));
        CHECK_STATUS(status, gpo_event_wait(act.event, 0));
    }

private:
    std::optional<Blocked> waiting_;
};

/// A queue that gets exactly one entry.
class Entries {
public:
    explicit Entries(World& world) : queue(world.gpu.queue()) {}
    void none() {
        uint64_t count = 1;
        gpo_completion entry;
        CHECK_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
        CHECK(count == 0);
    }
    gpo_completion one(uint64_t user_data, gpo_status status = GPO_SUCCESS) {
        const gpo_completion entry = take(queue, 1)[0];
        CHECK(entry.user_data == user_data);
        CHECK(gpo_status_name(entry.status) == std::string(gpo_status_name(status)));
        return entry;
    }
    ~Entries() {
        auto figures = sized<gpo_cq_statistics>();
        CHECK_OK(gpo_cq_get_statistics(queue, &figures));
        CHECK(figures.delivered == figures.accepted);
    }
    Queue queue;
};

class Notify final : public View {
public:
    using View::View;
    void before() override { entries_.emplace(world); }
    void closed() override {
        REQUIRE_OK(gpo_stream_notify(site.on(), entries_->queue, 3));
        entries_->none();
    }
    void opened() override {
        entries_->one(3);
        CHECK(act.done());
        entries_->none();
    }

private:
    std::optional<Entries> entries_;
};

class EventNotify final : public EventView {
public:
    using EventView::EventView;
    void before() override {
        EventView::before();
        entries_.emplace(world);
    }
    void look() override {
        REQUIRE_OK(gpo_event_notify(event_, entries_->queue, 4));
        entries_->none();
    }
    void opened() override {
        entries_->one(4);
        CHECK(act.done());
        entries_->none();
    }
    void answers(gpo_status status) override {
        CHECK_STATUS(status, gpo_event_notify(act.event, entries_->queue, 4));
        entries_->none();
    }

private:
    std::optional<Entries> entries_;
};

/// A callback, and whether the operation was done when it came.
struct Callback {
    static void called(void* user, const gpo_completion* entry, const gpo_error*) {
        auto& self = *static_cast<Callback*>(user);
        self.right = entry->status == GPO_SUCCESS && self.act.done();
        ++self.count;
    }
    void wait() {
        const uint64_t until = monotonic_ns() + kPatience;
        while (count == 0 && monotonic_ns() < until) std::this_thread::yield();
        CHECK(count == 1);
        CHECK(right);
    }
    Act& act;
    std::atomic<int> count{0};
    std::atomic<bool> right{false};
};

class Then final : public View {
public:
    using View::View;
    void closed() override {
        REQUIRE_OK(gpo_stream_then(site.on(), world.executor, Callback::called, &callback_));
        CHECK(callback_.count == 0);
    }
    void opened() override { callback_.wait(); }

private:
    Callback callback_{act};
};

class EventThen final : public EventView {
public:
    using EventView::EventView;
    void look() override {
        REQUIRE_OK(gpo_event_then(event_, world.executor, Callback::called, &callback_));
        CHECK(callback_.count == 0);
    }
    void opened() override { callback_.wait(); }
    void answers(gpo_status status) override {
        CHECK_STATUS(status, gpo_event_then(act.event, world.executor, Callback::called, &callback_));
        CHECK(callback_.count == 0);
    }

private:
    Callback callback_{act};
};

class TimelineValue final : public View {
public:
    using View::View;
    void before() override { timeline_ = world.gpu.timeline(); }
    void closed() override {
        REQUIRE_OK(gpo_stream_signal_timeline(site.on(), timeline_, 1));
        uint64_t value = 1;
        CHECK_OK(gpo_timeline_get_value(timeline_, &value));
        CHECK(value == 0);
        CHECK_STATUS(GPO_TIMEOUT, gpo_timeline_wait(timeline_, 1, 0));
        waiting_.emplace(*this, [this] { return gpo_timeline_wait(timeline_, 1, kPatience); });
        CHECK_STATUS(GPO_TIMEOUT, gpo_timeline_wait(timeline_, 1, 0));
        waiting_->closed();
    }
    void opened() override { waiting_->opened(); }

private:
    Timeline timeline_;
    std::optional<Blocked> waiting_;
};

/// Another stream reads what the operation has written.
constexpr uint32_t kSeen = 100;
class Reader {
public:
    explicit Reader(World& world) : stream(world.gpu.stream("reader")), word(world.word()) {}
    void put(World& world, const Act& act) { REQUIRE_OK(world.add(stream, word, act.word, kSeen)); }
    void closed() {
        CHECK(read(*word) == 0);
        CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(stream));
    }
    void opened() {
        CHECK_OK(gpo_stream_wait(stream, kPatience));
        CHECK(read(*word) == kSeen + kDone);
    }
    Stream stream;
    uint32_t* const word;
};

class StreamByStream final : public View {
public:
    using View::View;
    void before() override { reader_.emplace(world); }
    void closed() override {
        REQUIRE_OK(gpo_stream_wait_stream(reader_->stream, site.on()));
        reader_->put(world, act);
        reader_->closed();
    }
    void opened() override { reader_->opened(); }

private:
    std::optional<Reader> reader_;
};

class StreamByEvent : public EventView {
public:
    using EventView::EventView;
    void before() override {
        EventView::before();
        reader_.emplace(world);
    }
    void look() override {
        REQUIRE_OK(gpo_stream_wait_event(reader_->stream, event_));
        reader_->put(world, act);
        reader_->closed();
    }
    void opened() override { reader_->opened(); }
    void answers(gpo_status status) override {
        CHECK_STATUS(status, gpo_stream_wait_event(reader_->stream, act.event));
        // Nothing has changed for the stream.
        CHECK_OK(gpo_stream_query(reader_->stream));
    }

protected:
    std::optional<Reader> reader_;
};

class HeldStreamByEvent final : public StreamByEvent {
public:
    using StreamByEvent::StreamByEvent;
    void before() override {
        StreamByEvent::before();
        timeline_ = world.gpu.timeline();
    }
    void look() override {
        REQUIRE_OK(gpo_stream_wait_timeline(reader_->stream, timeline_, 1));
        StreamByEvent::look();
        REQUIRE_OK(gpo_timeline_signal(timeline_, 1));
        reader_->closed();
    }
    void answers(gpo_status status) override {
        REQUIRE_OK(gpo_stream_wait_timeline(reader_->stream, timeline_, 1));
        CHECK_STATUS(status, gpo_stream_wait_event(reader_->stream, act.event));
        REQUIRE_OK(gpo_timeline_signal(timeline_, 1));
        CHECK_OK(gpo_stream_wait(reader_->stream, kPatience));
    }

private:
    Timeline timeline_;
};

/// A graph on another stream waits for the event in a node.
class WaitNode final : public EventView {
public:
    using EventView::EventView;
    void before() override {
        EventView::before();
        reader_.emplace(world);
        REQUIRE_OK(gpo_template_create(world.gpu.device, nullptr, made_.out()));
        uint32_t wait = 0;
        REQUIRE_OK(gpo_template_add_event_wait(made_, nullptr, 0, act.event ? act.event : own_.get(), &wait));
        uint32_t *to = reader_->word, *from = act.word, by = kSeen;
        auto shape = sized<gpo_launch>();
        shape.grid[0] = shape.block[0] = 1;
        const void* arguments[] = {&to, &from, &by};
        REQUIRE_OK(gpo_template_add_kernel(made_, &wait, 1, world.add_word, &shape, arguments, nullptr, 3, nullptr));
        REQUIRE_OK(gpo_graph_create(made_, nullptr, graph_.out()));
    }
    void look() override {
        REQUIRE_OK(gpo_graph_launch(graph_, reader_->stream));
        reader_->closed();
    }
    void opened() override { reader_->opened(); }
    void answers(gpo_status status) override { CHECK_STATUS(status, gpo_graph_launch(graph_, reader_->stream)); }

private:
    std::optional<Reader> reader_;
    Template made_;
    Graph graph_;
};

/// Another process waits for an event that is recorded behind the operation.
class ByProcess final : public View {
public:
    using View::View;
    void before() override {
        event_ = world.gpu.event(GPO_EVENT_INTERPROCESS);
        other_.import_event(event_);
    }
    void closed() override {
        REQUIRE_OK(gpo_event_record(event_, site.on()));
        CHECK_STATUS(GPO_NOT_READY, other_.query());
    }
    void opened() override {
        CHECK_OK(other_.wait());
        CHECK(act.done());
    }

private:
    OtherProcess& other_ = OtherProcess::instance();
    Event event_;
};

class Elapsed final : public EventView {
public:
    using EventView::EventView;
    void before() override {
        EventView::before();
        start_ = world.gpu.event(GPO_EVENT_TIMING);
        entries_.emplace(world);
        Stream idle = world.gpu.stream();
        REQUIRE_OK(gpo_event_record(start_, idle));
        REQUIRE_OK(gpo_stream_wait(idle, kPatience));
    }
    void look() override {
        int64_t ns = -1;
        CHECK_STATUS(GPO_NOT_READY, gpo_event_get_elapsed(start_, event_, &ns));
    }
    void opened() override {
        CHECK_OK(gpo_event_wait(event_, kPatience));
        CHECK(act.done());
        int64_t ns = -1;
        CHECK_OK(gpo_event_get_elapsed(start_, event_, &ns));
        CHECK(ns > 0);
        Stream after = world.gpu.stream();
        REQUIRE_OK(gpo_stream_notify_timed(after, entries_->queue, 9, event_));
        CHECK(entries_->one(9).gpu_ns >= 0);
    }
    void answers(gpo_status status) override {
        int64_t ns = -1;
        CHECK_STATUS(status, gpo_event_get_elapsed(start_, act.event, &ns));
        CHECK_STATUS(status, gpo_stream_notify_timed(site.on(), entries_->queue, 9, act.event));
    }

private:
    Event start_;
    std::optional<Entries> entries_;
};

/// The label of the stream is in the trace, and so is work on it.
class Trace final : public View {
public:
    using View::View;
    void before() override {
        path_ = "/tmp/gpuorch-test-matrix-" + std::to_string(getpid()) + ".json";
        auto options = sized<gpo_trace_options>();
        options.path = path_.c_str();
        REQUIRE_OK(gpo_trace_start(world.gpu.runtime, &options));
    }
    void closed() override {
        auto info = sized<gpo_trace_info>();
        REQUIRE_OK(gpo_trace_get_info(world.gpu.runtime, &info));
        CHECK(info.running == 1);
        CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(site.on()));
    }
    void opened() override {
        CHECK_OK(gpo_stream_wait(site.on(), kPatience));
        CHECK(act.done());
        CHECK_OK(gpo_trace_stop(world.gpu.runtime));
        auto info = sized<gpo_trace_info>();
        REQUIRE_OK(gpo_trace_get_info(world.gpu.runtime, &info));
        CHECK(info.operations > 0);
        CHECK(info.dropped == 0);
        std::ifstream file(path_);
        std::stringstream text;
        text << file.rdbuf();
        CHECK((text.str().find("gate_word") != std::string::npos || text.str().find("`cell`") != std::string::npos ||
               text.str().find("\"cell\"") != std::string::npos));
        std::remove(path_.c_str());
    }
    ~Trace() override { gpo_trace_stop(world.gpu.runtime); }

private:
    std::string path_;
};

/// The work before the operation fails: the operation never runs, and each look gives the reason, once.
class Failure final : public View {
public:
    using View::View;
    void before() override { entries_.emplace(world); }
    void closed() override {
        REQUIRE_OK(gpo_stream_notify(site.on(), entries_->queue, 5));
        entries_->none();
        waiting_.emplace(*this, [this] { return gpo_stream_wait(site.on(), kPatience); });
        waiting_->closed();
        is_open = true;
        site.fail();
        act.open();
        waiting_->opened(GPO_FAILED);
        const gpo_completion entry = entries_->one(5, GPO_FAILED);
        auto error = sized<gpo_error>();
        CHECK_OK(gpo_cq_get_error(entries_->queue, entry.error_id, &error));
        CHECK(std::string(error.message).find("by the matrix") != std::string::npos);
        CHECK(object_error(site.on()).status == GPO_FAILED);
        CHECK_FALSE(act.done());
    }
    void opened() override {}

private:
    std::optional<Entries> entries_;
    std::optional<Blocked> waiting_;
};

/// Memory is freed and handles are destroyed while the GPU works.
class Freed final : public View {
public:
    using View::View;
    void closed() override {
        CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(site.on()));
        site.give_up();
        // A new allocation must not reuse the memory before the GPU is done.
        Memory next = world.gpu.memory(64);
        Stream other = world.gpu.stream();
        CHECK_OK(gpo_fill(other, next, 99, 4, 16));
        CHECK_FALSE(act.done());
    }
    void opened() override {
        CHECK_OK(gpo_device_wait(world.gpu.device, kPatience));
        CHECK(act.done());
    }
};

/// The event and the template are recorded anew while the GPU works. Earlier waits aren't affected.
class Anew final : public EventView {
public:
    using EventView::EventView;
    void before() override {
        EventView::before();
        reader_.emplace(world);
    }
    void look() override {
        REQUIRE_OK(gpo_stream_wait_event(reader_->stream, event_));
        reader_->put(world, act);
        Stream idle = world.gpu.stream();
        REQUIRE_OK(gpo_event_record(event_, idle));
        CHECK_OK(gpo_event_wait(event_, kPatience));
        site.record_anew();
        reader_->closed();
    }
    void opened() override {
        reader_->opened();
        site.check_anew();
    }
    void answers(gpo_status status) override {
        CHECK_STATUS(status, gpo_event_query(act.event));
        // A recording outside of a capture, and the event can be looked at again.
        REQUIRE_OK(gpo_event_record(act.event, reader_->stream));
        CHECK_OK(gpo_event_wait(act.event, kPatience));
    }

private:
    std::optional<Reader> reader_;
};

template <class T>
std::unique_ptr<View> make(World& world, Site& site, Act& act) {
    return std::make_unique<T>(world, site, act);
}

}  // namespace

const std::vector<LookKind>& looks() {
    static const std::vector<LookKind> all = {
        {"stream query", 0, make<Query>},
        {"stream wait", 0, make<Wait>},
        {"event", kByEvent, make<EventWait>},
        {"device wait", kByDevice, make<DeviceWait>},
        {"notify", 0, make<Notify>},
        {"event notify", kByEvent, make<EventNotify>},
        {"then", 0, make<Then>},
        {"event then", kByEvent, make<EventThen>},
        {"timeline", 0, make<TimelineValue>},
        {"another stream", 0, make<StreamByStream>},
        {"another stream, by event", kByEvent, make<StreamByEvent>},
        {"a held stream, by event", kByEvent, make<HeldStreamByEvent>},
        {"a graph's wait node", kByEvent, make<WaitNode>},
        {"another process", kByProcess, make<ByProcess>},
        {"elapsed time", kByEvent, make<Elapsed>},
        {"trace", kTracing, make<Trace>},
        {"failure", kFails, make<Failure>},
        {"freed meanwhile", kFreed, make<Freed>},
        {"recorded anew meanwhile", kByEvent, make<Anew>},
    };
    return all;
}

}  // namespace gpo::test::matrix
