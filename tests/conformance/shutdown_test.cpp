// Shutdown, as seen by waiters: every accepted entry is in its queue, every callback has been called, and the queue's
// handle can be used to read the entries until the queue is destroyed.
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/arrivals.h"
#include "support/gpu.h"

using namespace gpo::test;

namespace {

/// Held work that is never released, with an entry for each kind of notification. Some of it has no handle any more.
struct HeldWork {
    static constexpr size_t kEntries = 5;
    explicit HeldWork(Gpu& gpu) : queue(gpu.queue()), timeline(gpu.timeline()), stream(gpu.stream("held")) {
        Stream orphan = gpu.stream();
        Event event = gpu.event();
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 5));
        REQUIRE_OK(gpo_stream_wait_timeline(orphan, timeline, 5));
        REQUIRE_OK(gpo_event_record(event, stream));
        REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
        REQUIRE_OK(gpo_timeline_notify(timeline, 5, queue, 2));
        REQUIRE_OK(gpo_event_notify(event, queue, 3));
        REQUIRE_OK(gpo_stream_notify(orphan, queue, 4));
        orphan.reset();
        REQUIRE_OK(gpo_event_record(event, stream));
        REQUIRE_OK(gpo_event_notify(event, queue, 5));
        event.reset();
    }
    Queue queue;
    Timeline timeline;
    Stream stream;
};

/// How often each number came; each must come with GPO_CANCELLED.
struct Told {
    std::map<uint64_t, int> times;
    int others = 0;
    void add(const gpo_completion* entries, uint64_t count) {
        for (uint64_t i = 0; i < count; ++i) {
            ++times[entries[i].user_data];
            others += entries[i].status != GPO_CANCELLED;
        }
    }
    void check() const {
        CHECK(times == std::map<uint64_t, int>{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}});
        CHECK(others == 0);
    }
};

/// Looks at a thread of this process that is to wait: in the kernel, or in a driver, which may spin.
class Looks {
public:
    /// Whether the thread slept at five looks, or has used 60 ms since the first.
    bool see_waiting(pid_t thread) {
        std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
        std::string text, state, skipped;
        std::getline(file, text);
        std::istringstream fields(text.substr(text.rfind(')') + 1));
        fields >> state;
        for (int i = 0; i < 10; ++i) fields >> skipped;
        uint64_t user = 0, system = 0;   // in ticks of 10 ms
        fields >> user >> system;
        if (!fields) return false;
        if (!first_) first_ = user + system;
        sleeps_ = state == "S" ? sleeps_ + 1 : 0;
        return sleeps_ == 5 || user + system - *first_ > 5;
    }

private:
    int sleeps_ = 0;
    std::optional<uint64_t> first_;
};

/// A thread in a copy to pageable memory, which doesn't return while the gate in front of the copy is closed. The gate
/// opens after a while in any case, so that a call that waits for the copy is a failure and not a hang.
class BlockedCopy {
public:
    static constexpr uint64_t kBytes = 1 << 20;
    /// With a timeline, which must not have reached 1, the copy is held, and the thread is in the call that releases
    /// it.
    BlockedCopy(Gpu& gpu, gpo_stream_t stream, uint64_t source, gpo_timeline_t release = nullptr)
        : gate_(std::make_unique<Gate>(gpu)), pageable_(kBytes) {
        gate_->put_on(stream);
        const auto copy = [=, this] { return gpo_copy_to_host(stream, pageable_.data(), source, kBytes); };
        if (release) {
            REQUIRE_OK(gpo_stream_wait_timeline(stream, release, 1));
            REQUIRE_OK(copy());
        }
        copier_ = std::thread([=, this] {
            thread_ = gettid();
            status_ = release ? gpo_timeline_signal(release, 1) : copy();
            returned_ = true;
        });
        REQUIRE(comes_true([this] { return thread_ != 0 && looks_.see_waiting(thread_); }));
        REQUIRE_FALSE(returned_);
    }
    ~BlockedCopy() { end(); }
    /// Opens the gate, and returns the copy's status.
    gpo_status end() {
        if (copier_.joinable()) {
            gate_->open();
            copier_.join();
            gate_.reset();
        }
        return status_;
    }
    /// Whether `call` returns while the copy is blocked.
    template <class Call>
    bool outlasts(Call call) {
        std::promise<void> done;
        std::thread opener([&] {
            if (done.get_future().wait_for(std::chrono::seconds(10)) != std::future_status::ready) gate_->open();
        });
        call();
        const bool in_time = !returned_;
        done.set_value();
        opener.join();
        return in_time;
    }

private:
    Looks looks_;
    std::unique_ptr<Gate> gate_;
    std::vector<char> pageable_;
    std::atomic<pid_t> thread_{0};
    std::atomic<bool> returned_{false};
    gpo_status status_ = GPO_INTERNAL;
    std::thread copier_;
};

/// A thread in a call that waits for something.
class Waiting {
public:
    template <class Call>
    explicit Waiting(Call call)
        : thread_([this, call] {
              number_ = gettid();
              call();
          }) {
        Looks looks;
        REQUIRE(comes_true([&] { return number_ != 0 && looks.see_waiting(number_); }));
    }
    ~Waiting() { thread_.join(); }

private:
    std::atomic<pid_t> number_{0};
    std::thread thread_;
};

bool readable(int descriptor) {
    pollfd asked{descriptor, POLLIN, 0};
    return poll(&asked, 1, 0) == 1 && asked.revents & POLLIN;
}

}  // namespace

TEST_CASE(
    "entries that come at shutdown are in their queue when it has returned, and the queue works until it is "
    "destroyed") {
    Gpu gpu;
    HeldWork work(gpu);
    const gpo_cq_t queue = work.queue;
    REQUIRE_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
    auto counts = sized<gpo_cq_statistics>();
    CHECK_OK(gpo_cq_get_statistics(queue, &counts));
    CHECK(counts.accepted == HeldWork::kEntries);
    CHECK(counts.delivered == HeldWork::kEntries);
    CHECK_OK(gpo_cq_wait(queue, -1));
    int32_t descriptor = -1;
    REQUIRE_OK(gpo_cq_get_fd(queue, &descriptor));
    CHECK(readable(descriptor));
    Told told;
    std::vector<gpo_completion> entries(16);
    uint64_t count = 0;
    REQUIRE_OK(gpo_cq_drain(queue, entries.data(), sizeof entries[0], 2, &count));
    told.add(entries.data(), count);
    CHECK(readable(descriptor));
    auto error = sized<gpo_error>();
    CHECK_OK(gpo_cq_get_error(queue, entries[0].error_id, &error));
    CHECK(error.status == GPO_CANCELLED);
    REQUIRE_OK(gpo_cq_drain(queue, entries.data(), sizeof entries[0], 16, &count));
    told.add(entries.data(), count);
    told.check();
    // Only the end is left, for each drain, wait or poll.
    count = 7;
    CHECK_STATUS(GPO_SHUT_DOWN, gpo_cq_drain(queue, entries.data(), sizeof entries[0], 16, &count));
    CHECK(count == 0);
    for (const int64_t timeout : {int64_t{-1}, int64_t{0}, kPatience})
        CHECK_STATUS(GPO_SHUT_DOWN, gpo_cq_wait(queue, timeout));
    CHECK(readable(descriptor));
    CHECK_OK(gpo_cq_wake(queue));
    CHECK_OK(gpo_cq_wait(queue, -1));
    CHECK_STATUS(GPO_SHUT_DOWN, gpo_cq_wait(queue, -1));
    int32_t another = -1;
    REQUIRE_OK(gpo_cq_get_fd(queue, &another));
    CHECK(readable(another));
    close(another);
    // Handles of other types are invalid now.
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_stream_notify(work.stream, queue, 9));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_timeline_notify(work.timeline, 1, queue, 9));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_stream_destroy(work.stream.release()));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_timeline_destroy(work.timeline.release()));
    CHECK_OK(gpo_cq_destroy(work.queue.release()));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_cq_wait(queue, 0));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_cq_destroy(queue));
    CHECK(readable(descriptor));
    close(descriptor);
}

TEST_CASE("a thread that waits while its runtime shuts down gets every entry, and then is told of the end") {
    enum Style { asks, waits, polls };
    for (const Style style : {asks, waits, polls}) {
        CAPTURE(static_cast<int>(style));
        for (int round = 0; round < 10; ++round) {
            Gpu gpu;
            HeldWork work(gpu);
            Told told;
            gpo_status end = GPO_SUCCESS;
            std::atomic<bool> up{false};
            std::thread reader([&, queue = work.queue.get()] {
                int32_t descriptor = -1;
                if (style == polls && gpo_cq_get_fd(queue, &descriptor) != GPO_SUCCESS) return;
                up = true;
                while (end == GPO_SUCCESS) {
                    gpo_completion entries[4];
                    uint64_t count = 0;
                    pollfd asked{descriptor, POLLIN, 0};
                    if (style == polls) poll(&asked, 1, -1);
                    if (style == waits) end = gpo_cq_wait(queue, -1);
                    if (end == GPO_SUCCESS) end = gpo_cq_drain(queue, entries, sizeof entries[0], 4, &count);
                    told.add(entries, count);
                }
                if (descriptor >= 0) close(descriptor);
            });
            while (!up) std::this_thread::yield();
            const gpo_status ended = gpo_runtime_shutdown(gpu.runtime, kPatience);
            reader.join();
            CHECK_OK(ended);
            CHECK_STATUS(GPO_SHUT_DOWN, end);
            told.check();
        }
    }
}

TEST_CASE("callbacks that are owed at shutdown have been called when it has returned") {
    for (const uint32_t flags : {0u, uint32_t{GPO_EXECUTOR_CALLER}}) {
        CAPTURE(flags);
        Gpu gpu;
        Timeline timeline = gpu.timeline();
        Stream stream = gpu.stream();
        Event event = gpu.event();
        Executor executor = gpu.executor(flags);
        std::atomic<int> called{0}, cancelled{0};
        std::atomic<int>* counts[] = {&called, &cancelled};
        const gpo_completion_fn count = [](void* user, const gpo_completion* completion, const gpo_error* error) {
            auto& [all, of_them] = *static_cast<std::atomic<int>*(*)[2]>(user);
            ++*all;
            *of_them += completion->status == GPO_CANCELLED && error;
        };
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 5));
        REQUIRE_OK(gpo_stream_signal_timeline(stream, timeline, 7));
        REQUIRE_OK(gpo_event_record(event, stream));
        REQUIRE_OK(gpo_stream_then(stream, executor, count, &counts));
        REQUIRE_OK(gpo_timeline_then(timeline, 5, executor, count, &counts));
        REQUIRE_OK(gpo_event_then(event, executor, count, &counts));
        SUBCASE("with handles") {}
        SUBCASE("without") {
            stream.reset();
            event.reset();
        }
        REQUIRE_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
        CHECK(called == 3);
        CHECK(cancelled == 3);
    }
}

TEST_CASE("a callback that waits for an entry doesn't hold the shutdown up") {
    Gpu gpu;
    Timeline timeline = gpu.timeline();
    struct Waits {
        gpo_cq_t queue;
        Arrivals inside;
        std::atomic<gpo_status> first{GPO_SUCCESS}, again{GPO_SUCCESS};
        static void call(void* user, const gpo_completion*, const gpo_error*) {
            auto& me = *static_cast<Waits*>(user);
            ++me.inside;
            me.first = gpo_cq_wait(me.queue, kPatience);
            me.again = gpo_cq_wait(me.queue, kPatience);
        }
    } waits{};
    Queue queue = gpu.queue();
    waits.queue = queue;
    Executor executor = gpu.executor();
    REQUIRE_OK(gpo_timeline_then(timeline, 0, executor, Waits::call, &waits));
    REQUIRE(waits.inside.reach(1));
    SUBCASE("that nothing was asked for") {
        REQUIRE_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
        CHECK_STATUS(GPO_SHUT_DOWN, waits.first.load());
        CHECK_STATUS(GPO_SHUT_DOWN, waits.again.load());
    }
}

TEST_CASE("a shutdown that times out lets go who waits: there may be more, unless nothing was asked for" * gated) {
    Gpu gpu;
    Queue owed = gpu.queue(), idle = gpu.queue();
    Stream stream = gpu.stream();
    auto gate = std::make_unique<Gate>(gpu);
    gate->put_on(stream);
    REQUIRE_OK(gpo_stream_notify(stream, owed, 11));
    gpo_status for_owed = GPO_SUCCESS, for_idle = GPO_SUCCESS;
    std::thread waits_for_owed([&] { for_owed = gpo_cq_wait(owed, kPatience); });
    std::thread waits_for_idle([&] { for_idle = gpo_cq_wait(idle, kPatience); });
    const gpo_status ended = gpo_runtime_shutdown(gpu.runtime, 20'000'000);
    waits_for_owed.join();
    waits_for_idle.join();
    CHECK_STATUS(GPO_TIMEOUT, ended);
    CHECK_STATUS(GPO_CANCELLED, for_owed);
    CHECK_STATUS(GPO_SHUT_DOWN, for_idle);
    gpo_completion entry{};
    uint64_t count = 7;
    CHECK_OK(gpo_cq_drain(owed, &entry, sizeof entry, 1, &count));
    CHECK(count == 0);
    CHECK_STATUS(GPO_SHUT_DOWN, gpo_cq_drain(idle, &entry, sizeof entry, 1, &count));
    gate->open();
    gate.reset();   // its memory goes with the runtime
    CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
    CHECK(take(owed, 1)[0].user_data == 11);
    CHECK_STATUS(GPO_SHUT_DOWN, gpo_cq_wait(owed, -1));
}

TEST_CASE("timeouts hold while another thread is blocked in a copy to pageable memory" * gated) {
    constexpr int64_t kTimeout = 100'000'000;
    Gpu gpu;
    Stream stream = gpu.stream(), held = gpu.stream();
    Timeline timeline = gpu.timeline();
    Queue queue = gpu.queue();
    Memory source = gpu.memory(BlockedCopy::kBytes);
    // CUDA makes no events while such a copy waits: a stream takes some at its first notify, and keeps them.
    for (const gpo_stream_t first : {stream.get(), held.get()}) REQUIRE_OK(gpo_stream_notify(first, queue, 1));
    take(queue, 2);
    REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 1));
    REQUIRE_OK(gpo_stream_notify(held, queue, 7));
    auto copy = std::make_unique<BlockedCopy>(gpu, stream, source);
    gpo_status status = GPO_INTERNAL;
    SUBCASE("a wait for the stream") {
        CHECK_OK(gpo_timeline_signal(timeline, 1));
        CHECK(copy->outlasts([&] { status = gpo_stream_wait(stream, kTimeout); }));
        CHECK_STATUS(GPO_TIMEOUT, status);
        CHECK_OK(copy->end());
        CHECK_OK(gpo_stream_wait(stream, kPatience));
    }
    SUBCASE("a wait for the device") {
        CHECK_OK(gpo_timeline_signal(timeline, 1));
        CHECK(copy->outlasts([&] { status = gpo_device_wait(gpu.device, kTimeout); }));
        CHECK_STATUS(GPO_TIMEOUT, status);
        CHECK_OK(copy->end());
        CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    }
    SUBCASE("a shutdown, which cancels what is held on other streams") {
        CHECK(copy->outlasts([&] { status = gpo_runtime_shutdown(gpu.runtime, kTimeout); }));
        CHECK_STATUS(GPO_TIMEOUT, status);
        const auto entries = take(queue, 1);
        CHECK(entries[0].user_data == 7);
        CHECK(entries[0].status == GPO_CANCELLED);
        CHECK_OK(copy->end());
        CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
    }
}

TEST_CASE("a copy to pageable memory that another thread releases delays neither a wait nor a destruction" * gated) {
    Gpu gpu;
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    Queue queue = gpu.queue();
    Memory source = gpu.memory(BlockedCopy::kBytes);
    REQUIRE_OK(gpo_stream_notify(stream, queue, 1));   // CUDA makes no events later, as above
    take(queue, 1);
    BlockedCopy copy(gpu, stream, source, timeline);
    SUBCASE("a wait for the device, which looks for streams that hold each other up") {
        gpo_status status = GPO_INTERNAL;
        CHECK(copy.outlasts([&] { status = gpo_device_wait(gpu.device, 100'000'000); }));
        CHECK_STATUS(GPO_TIMEOUT, status);
    }
    SUBCASE("the destruction of the stream") {
        CHECK(copy.outlasts([&] { stream.reset(); }));
        CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 0));
    }
    CHECK_OK(copy.end());
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
}

TEST_CASE("calls that put no work on a stream don't wait for another thread's copy to pageable memory" * gated) {
    constexpr int64_t kTimeout = 100'000'000;
    Gpu gpu;
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    Queue queue = gpu.queue();
    Memory source = gpu.memory(BlockedCopy::kBytes);
    uint64_t other = 0;
    REQUIRE_OK(gpo_memory_allocate(gpu.device, 4096, nullptr, &other));
    Template recorded;
    REQUIRE_OK(gpo_template_create(gpu.device, nullptr, recorded.out()));
    REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
    take(queue, 1);
    Timeline unrelated = gpu.timeline();
    // The timeline remembers the stream, though the wait was cancelled.
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 5));
    REQUIRE_OK(gpo_stream_cancel_held(stream, nullptr));
    BlockedCopy copy(gpu, stream, source);
    gpo_status status = GPO_INTERNAL;
    SUBCASE("the signal of a timeline for which the stream doesn't wait any more") {
        CHECK(copy.outlasts([&] { status = gpo_timeline_signal(timeline, 5); }));
    }
    SUBCASE("the destruction of such a timeline") {
        CHECK(copy.outlasts([&] { timeline.reset(); }));
        status = GPO_SUCCESS;
    }
    SUBCASE("a cancellation, where nothing is held") {
        CHECK(copy.outlasts([&] { status = gpo_stream_cancel_held(stream, nullptr); }));
    }
    SUBCASE("the freeing of other memory") {
        CHECK(copy.outlasts([&] { status = gpo_memory_free(gpu.device, other); }));
    }
    SUBCASE("a shutdown, while a recording of the stream is to begin") {
        gpo_status begun = GPO_INTERNAL;
        {
            const Waiting recorder([&] { begun = gpo_template_begin(recorded, stream); });
            CHECK(copy.outlasts([&] { status = gpo_runtime_shutdown(gpu.runtime, kTimeout); }));
        }
        CHECK_STATUS(GPO_SHUT_DOWN, begun);
        CHECK_STATUS(GPO_TIMEOUT, std::exchange(status, GPO_SUCCESS));
    }
    SUBCASE("the failure of a timeline during a long shutdown") {
        constexpr int64_t kSome = 2'000'000'000;   // the gate opens later: a shutdown that ends frees the gate's memory
        const uint64_t begun = monotonic_ns();
        gpo_status stopped = GPO_INTERNAL;
        CHECK(copy.outlasts([&] {
            const Waiting stopper([&] { stopped = gpo_runtime_shutdown(gpu.runtime, kSome); });
            status = gpo_timeline_fail(unrelated, GPO_FAILED, nullptr);
            CHECK(monotonic_ns() - begun < kSome);
        }));
        CHECK_STATUS(GPO_TIMEOUT, stopped);
    }
    CHECK_OK(status);
    CHECK_OK(copy.end());
}

TEST_CASE("a pipeline is cancelled while a stage is blocked in a copy to pageable memory" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Memory source = gpu.memory(BlockedCopy::kBytes);
    struct Copying {
        Gate& gate;
        uint64_t source;
        std::vector<char> pageable = std::vector<char>(BlockedCopy::kBytes);
        std::atomic<pid_t> thread{0};
        std::atomic<bool> returned{false};
    } copying{gate, source};
    auto stage = sized<gpo_stage>();
    stage.kind = GPO_STAGE_CALLBACK;
    stage.user = &copying;
    stage.enqueue = [](void* user, gpo_stream_t stream, const gpo_chunk*) {
        auto& own = *static_cast<Copying*>(user);
        own.gate.put_on(stream);
        own.thread = gettid();
        const gpo_status status = gpo_copy_to_host(stream, own.pageable.data(), own.source, own.pageable.size());
        own.returned = true;
        return status;
    };
    auto options = sized<gpo_pipeline_options>();
    options.stages = &stage;
    options.stage_count = 1;
    options.stage_stride = sizeof stage;
    options.chunk_bytes = 4096;
    Pipeline pipeline;
    REQUIRE_OK(gpo_pipeline_create(gpu.device, &options, pipeline.out()));
    std::vector<char> in(4096), out(4096);
    auto from = sized<gpo_source>();
    from.kind = GPO_SOURCE_MEMORY;
    from.memory = in.data();
    from.bytes = in.size();
    auto to = sized<gpo_sink>();
    to.kind = GPO_SINK_MEMORY;
    to.memory = out.data();
    to.bytes = out.size();
    REQUIRE_OK(gpo_pipeline_start(pipeline, &from, &to));
    Looks looks;
    REQUIRE(comes_true([&] { return copying.thread != 0 && looks.see_waiting(copying.thread); }));
    std::promise<void> cancelled;
    std::thread opener([&, done = cancelled.get_future()] {   // a call that waits for the copy fails, and doesn't hang
        done.wait_for(std::chrono::seconds(10));
        gate.open();
    });
    CHECK_OK(gpo_pipeline_cancel(pipeline));
    CHECK_FALSE(copying.returned);
    cancelled.set_value();
    opener.join();
    CHECK_STATUS(GPO_CANCELLED, gpo_pipeline_wait(pipeline, kPatience, nullptr));
}

TEST_CASE("queues of runtimes that have gone keep their entries apart, whatever runtimes come after") {
    std::vector<Queue> queues;
    uint32_t live = 0;
    for (uint64_t i = 0; i < 12; ++i) {
        Gpu gpu;
        Timeline timeline = gpu.timeline();
        Queue queue = gpu.queue(4);
        REQUIRE_OK(gpo_timeline_notify(timeline, 5, queue, i));
        // The runtime counts its own objects, and not the queues of earlier runtimes.
        if (i == 0) live = gpu.statistics().live_objects;
        CHECK(gpu.statistics().live_objects == live);
        if (i > 0) CHECK_STATUS(GPO_INVALID_HANDLE, gpo_timeline_notify(timeline, 5, queues.back(), 99));
        timeline.release();   // left to the shutdown
        REQUIRE_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
        queues.push_back(std::move(queue));
    }
    for (uint64_t i = 0; i < queues.size(); ++i) {
        const auto entries = take(queues[i], 1);
        CHECK(entries[0].user_data == i);
        CHECK(entries[0].status == GPO_CANCELLED);
    }
}
