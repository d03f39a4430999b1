// Executors: callbacks come once, in order, on the chosen threads, with a status, no matter what they do.
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/arrivals.h"
#include "support/gpu.h"
#include "support/threads.h"

using namespace gpo::test;

namespace {

/// Arguments of callbacks, in the order of the calls.
struct Record {
    struct Call {
        gpo_completion completion;
        std::string message;
        std::thread::id thread;
    };
    std::mutex lock;
    std::vector<Call> calls;
    Arrivals came;
    static void callback(void* user, const gpo_completion* completion, const gpo_error* error) {
        auto& record = *static_cast<Record*>(user);
        {
            std::lock_guard lock(record.lock);
            record.calls.push_back({*completion, error ? error->message : "", std::this_thread::get_id()});
        }
        ++record.came;
    }
};

struct Count {
    Arrivals came;
    std::atomic<int> last{GPO_INTERNAL};
    static void callback(void* user, const gpo_completion* completion, const gpo_error*) {
        static_cast<Count*>(user)->last = completion->status;
        ++static_cast<Count*>(user)->came;
    }
};

gpo_executor_statistics statistics_of(gpo_executor_t executor) {
    auto statistics = sized<gpo_executor_statistics>();
    REQUIRE_OK(gpo_executor_get_statistics(executor, &statistics));
    return statistics;
}

void wait_idle(gpo_executor_t executor) { CHECK_OK(gpo_executor_run_for(executor, kPatience, nullptr)); }

/// A place where callbacks wait until the test lets them go on.
struct Block {
    Arrivals entered, open;
    static void callback(void* user, const gpo_completion*, const gpo_error*) {
        auto& block = *static_cast<Block*>(user);
        ++block.entered;
        block.open.reach(1);
    }
};

}  // namespace

TEST_CASE("a callback comes when the stream gets there, once, on a thread of the executor's" * gated) {
    for (uint32_t flags : {0u, unsigned{GPO_EXECUTOR_SPIN}, unsigned{GPO_EXECUTOR_SLEEP}}) {
        CAPTURE(flags);
        Gpu gpu;
        Gate gate(gpu);
        Record record;
        Executor executor = gpu.executor(flags, 1);
        Stream stream = gpu.stream();
        gate.put_on(stream);
        REQUIRE_OK(gpo_stream_then(stream, executor, Record::callback, &record));
        CHECK(statistics_of(executor).called == 0);
        const uint64_t opened = monotonic_ns();
        gate.open();
        REQUIRE(record.came.reach(1));
        wait_idle(executor);
        CHECK(statistics_of(executor).called == 1);
        REQUIRE(record.calls.size() == 1);
        const auto& call = record.calls[0];
        CHECK(call.thread != std::this_thread::get_id());
        CHECK(call.completion.status == GPO_SUCCESS);
        CHECK(call.completion.user_data == reinterpret_cast<uint64_t>(&record));
        CHECK(call.completion.origin == GPO_ORIGIN_STREAM);
        CHECK(call.completion.operation == 1);
        CHECK(call.completion.completed_ns >= opened);  // the callback came no earlier
    }
}

TEST_CASE("callbacks of a stream come one at a time and in order, whatever the number of threads") {
    constexpr int kStreams = 4, kEach = 500;
    Gpu gpu;
    Executor executor = gpu.executor(0, 4);
    struct Line {
        std::atomic<int> inside{0}, next{0}, wrong{0};
        struct Place {
            Line* line;
            int number;
        };
        std::vector<Place> places;
        static void callback(void* user, const gpo_completion*, const gpo_error*) {
            auto& place = *static_cast<Place*>(user);
            Line& line = *place.line;
            if (line.inside.fetch_add(1) != 0 || line.next != place.number) ++line.wrong;
            if (place.number % 50 == 0) std::this_thread::yield();
            ++line.next;
            --line.inside;
        }
    };
    std::vector<std::unique_ptr<Line>> lines;
    std::vector<Stream> streams;
    std::vector<std::thread> threads;
    for (int s = 0; s < kStreams; ++s) {
        lines.push_back(std::make_unique<Line>());
        for (int i = 0; i < kEach; ++i) lines.back()->places.push_back({lines.back().get(), i});
        streams.push_back(gpu.stream());
    }
    for (int s = 0; s < kStreams; ++s)
        threads.emplace_back([&, s] {
            for (auto& place : lines[static_cast<size_t>(s)]->places)
                if (gpo_stream_then(streams[static_cast<size_t>(s)], executor, Line::callback, &place) != GPO_SUCCESS)
                    ++lines[static_cast<size_t>(s)]->wrong;
        });
    for (auto& thread : threads) thread.join();
    wait_idle(executor);
    for (const auto& line : lines) {
        CHECK(line->next == kEach);
        CHECK(line->wrong == 0);
    }
    CHECK(statistics_of(executor).called == kStreams * kEach);
}

TEST_CASE("an executor of the caller's calls on the thread that runs it, and nowhere else" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Record record;
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
    Stream stream = gpu.stream();
    uint64_t count = 99;
    CHECK_OK(gpo_executor_run(executor, &count));
    CHECK(count == 0);
    gate.put_on(stream);
    REQUIRE_OK(gpo_stream_then(stream, executor, Record::callback, &record));
    CHECK_OK(gpo_executor_poll(executor, &count));
    CHECK(count == 0);
    CHECK_STATUS(GPO_TIMEOUT, gpo_executor_run_for(executor, 2'000'000, &count));
    CHECK(count == 0);
    gate.open();
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(record.calls.empty());
    CHECK_OK(gpo_executor_run_for(executor, kPatience, &count));
    CHECK(count == 1);
    REQUIRE(record.calls.size() == 1);
    CHECK(record.calls[0].thread == std::this_thread::get_id());
    REQUIRE_OK(gpo_stream_then(stream, executor, Record::callback, &record));
    CHECK_OK(gpo_executor_run(executor, nullptr));
    CHECK(record.calls.size() == 2);
    REQUIRE_OK(gpo_stream_then(stream, executor, Record::callback, &record));
    do CHECK_OK(gpo_executor_poll(executor, &count));
    while (count == 0);
    CHECK(count == 1);
    CHECK(record.calls.size() == 3);
}

TEST_CASE("events, timelines and pipelines call back too, and say what they are") {
    Gpu gpu;
    Record record;
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
    Stream stream = gpu.stream();
    Event event = gpu.event();
    Timeline timeline = gpu.timeline();
    REQUIRE_OK(gpo_event_record(event, stream));
    REQUIRE_OK(gpo_event_then(event, executor, Record::callback, &record));
    CHECK_OK(gpo_executor_run(executor, nullptr));
    REQUIRE_OK(gpo_timeline_then(timeline, 5, executor, Record::callback, &record));
    REQUIRE_OK(gpo_timeline_then(timeline, 3, executor, Record::callback, &record));
    REQUIRE_OK(gpo_timeline_signal(timeline, 2));
    CHECK_STATUS(GPO_TIMEOUT, gpo_executor_run_for(executor, 1'000'000, nullptr));
    REQUIRE_OK(gpo_stream_signal_timeline(stream, timeline, 5));
    CHECK_OK(gpo_executor_run(executor, nullptr));
    REQUIRE_OK(gpo_timeline_then(timeline, 4, executor, Record::callback, &record));  // reached already
    CHECK_OK(gpo_executor_run(executor, nullptr));
    REQUIRE(record.calls.size() == 4);
    const uint32_t origins[] = {GPO_ORIGIN_EVENT, GPO_ORIGIN_TIMELINE, GPO_ORIGIN_TIMELINE, GPO_ORIGIN_TIMELINE};
    for (size_t i = 0; i < 4; ++i) {
        CHECK(record.calls[i].completion.origin == origins[i]);
        CHECK(record.calls[i].completion.status == GPO_SUCCESS);
    }
    CHECK(record.calls[1].completion.operation == 3);
    CHECK(record.calls[2].completion.operation == 5);
    CHECK(record.calls[3].completion.operation == 4);
}

TEST_CASE("a timeline that fails or is destroyed tells everyone who waits for a value, in queues and callbacks") {
    for (bool destroy : {false, true}) {
        CAPTURE(destroy);
        Gpu gpu;
        Record record;
        Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
        Queue queue = gpu.queue(2);
        Timeline timeline = gpu.timeline();
        REQUIRE_OK(gpo_timeline_notify(timeline, 1, queue, 11));
        REQUIRE_OK(gpo_timeline_notify(timeline, 7, queue, 17));
        CHECK_STATUS(GPO_WOULD_BLOCK, gpo_timeline_notify(timeline, 9, queue, 19));
        REQUIRE_OK(gpo_timeline_then(timeline, 8, executor, Record::callback, &record));
        REQUIRE_OK(gpo_timeline_signal(timeline, 1));
        const auto first = take(queue, 1)[0];
        CHECK(first.user_data == 11);
        CHECK(first.status == GPO_SUCCESS);
        CHECK(first.origin == GPO_ORIGIN_TIMELINE);
        const gpo_status expected = destroy ? GPO_CANCELLED : GPO_FAILED;
        if (destroy)
            timeline.reset();
        else
            REQUIRE_OK(gpo_timeline_fail(timeline, GPO_FAILED, "on purpose"));
        const auto second = take(queue, 1)[0];
        CHECK(second.user_data == 17);
        CHECK(second.status == expected);
        auto error = sized<gpo_error>();
        CHECK_OK(gpo_cq_get_error(queue, second.error_id, &error));
        CHECK(error.status == expected);
        CHECK_OK(gpo_executor_run(executor, nullptr));
        REQUIRE(record.calls.size() == 1);
        CHECK(record.calls[0].completion.status == expected);
        CHECK_FALSE(record.calls[0].message.empty());
    }
}

TEST_CASE("a callback that blocks holds up its own stream's and nobody else's") {
    Gpu gpu;
    Executor executor = gpu.executor(0, 2);
    Stream stuck = gpu.stream(), other = gpu.stream();
    Block block;
    Count behind, beside;
    REQUIRE_OK(gpo_stream_then(stuck, executor, Block::callback, &block));
    REQUIRE_OK(gpo_stream_then(stuck, executor, Count::callback, &behind));
    REQUIRE(block.entered.reach(1));
    for (int i = 0; i < 100; ++i) REQUIRE_OK(gpo_stream_then(other, executor, Count::callback, &beside));
    CHECK(beside.came.reach(100));
    CHECK(behind.came == 0);
    ++block.open;
    CHECK(behind.came.reach(1));
}

TEST_CASE("shutdown times out while a callback blocks, and succeeds when it has returned") {
    for (bool destroyed : {false, true}) {
        CAPTURE(destroyed);
        Gpu gpu;
        Executor executor = gpu.executor(0, 1);
        Stream stream = gpu.stream();
        Block block;
        Count behind;
        REQUIRE_OK(gpo_stream_then(stream, executor, Block::callback, &block));
        REQUIRE_OK(gpo_stream_then(stream, executor, Count::callback, &behind));
        REQUIRE(block.entered.reach(1));
        if (destroyed) executor.reset();
        CHECK_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(gpu.runtime, 20'000'000));
        ++block.open;
        CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
        CHECK(behind.came == 1);
        stream.release();
        executor.release();
    }
}

TEST_CASE("an executor that is destroyed calls back what it owes with GPO_CANCELLED; the work goes on" * gated) {
    for (uint32_t flags : {0u, unsigned{GPO_EXECUTOR_CALLER}}) {
        CAPTURE(flags);
        Gpu gpu;
        Gate gate(gpu);
        Writer writer(gpu);
        Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
        Record record;
        Executor executor = gpu.executor(flags);
        Timeline never = gpu.timeline();
        Stream stream = gpu.stream();
        gate.put_on(stream);
        REQUIRE_OK(writer.write(stream, word.data(), 8));
        for (int i = 0; i < 3; ++i) REQUIRE_OK(gpo_stream_then(stream, executor, Record::callback, &record));
        REQUIRE_OK(gpo_timeline_then(never, 1, executor, Record::callback, &record));
        executor.reset();
        CHECK(record.came.reach(4));
        for (const auto& call : record.calls) {
            CHECK(call.completion.status == GPO_CANCELLED);
            CHECK((call.thread == std::this_thread::get_id()) == (flags == GPO_EXECUTOR_CALLER));
        }
        CHECK(read(word[0]) == 0);
        gate.open();
        CHECK_OK(gpo_stream_wait(stream, kPatience));
        CHECK(read(word[0]) == 8);
        CHECK(record.calls.size() == 4);
    }
}

TEST_CASE("shutdown runs the callbacks of a caller's executor that nobody runs") {
    Record record;
    {
        Gpu gpu;
        Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
        Stream stream = gpu.stream();
        for (int i = 0; i < 3; ++i) REQUIRE_OK(gpo_stream_then(stream, executor, Record::callback, &record));
        CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
        stream.release();
        executor.release();
    }
    REQUIRE(record.calls.size() == 3);
    for (const auto& call : record.calls) {
        CHECK(call.completion.status == GPO_SUCCESS);
        CHECK(call.thread == std::this_thread::get_id());
    }
}

TEST_CASE("a callback may call anything: more callbacks, waits, launches; what waits for itself is refused") {
    Gpu gpu;
    Writer writer(gpu);
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    Executor executor = gpu.executor(0, 1);
    Stream stream = gpu.stream();
    struct Inside {
        Gpu& gpu;
        Writer& writer;
        gpo_stream_t stream;
        gpo_executor_t executor;
        uint32_t* word;
        std::atomic<int> came{0};
        gpo_status statuses[8] = {};
        static void callback(void* user, const gpo_completion*, const gpo_error*) {
            auto& me = *static_cast<Inside*>(user);
            if (me.came++ == 0) {
                me.statuses[0] = me.writer.write(me.stream, me.word, 3);
                me.statuses[1] = gpo_stream_wait(me.stream, kPatience);
                me.statuses[2] = gpo_stream_then(me.stream, me.executor, callback, user);
                me.statuses[3] = gpo_executor_run(me.executor, nullptr);
                me.statuses[4] = gpo_executor_run_for(me.executor, 0, nullptr);
                me.statuses[5] = gpo_runtime_shutdown(me.gpu.runtime, 0);
                me.statuses[6] = gpo_executor_poll(me.executor, nullptr);
                me.statuses[7] = gpo_device_wait(me.gpu.device, kPatience);
            }
        }
    } inside{gpu, writer, stream, executor, word.data()};
    REQUIRE_OK(gpo_stream_then(stream, executor, Inside::callback, &inside));
    wait_idle(executor);
    CHECK(inside.came == 2);
    CHECK_OK(inside.statuses[0]);
    CHECK_OK(inside.statuses[1]);
    CHECK_OK(inside.statuses[2]);
    CHECK_STATUS(GPO_WOULD_DEADLOCK, inside.statuses[3]);
    CHECK_STATUS(GPO_WOULD_DEADLOCK, inside.statuses[4]);
    CHECK_STATUS(GPO_WOULD_DEADLOCK, inside.statuses[5]);
    CHECK_OK(inside.statuses[6]);
    CHECK_OK(inside.statuses[7]);
    CHECK(read(word[0]) == 3);
}

TEST_CASE("a callback destroys its stream and its executor, on the executor's thread and on the caller's") {
    for (uint32_t flags : {0u, unsigned{GPO_EXECUTOR_CALLER}}) {
        CAPTURE(flags);
        Gpu gpu;
        Executor executor = gpu.executor(flags);
        Stream stream = gpu.stream();
        struct Ends {
            gpo_stream_t stream;
            gpo_executor_t executor;
            Arrivals came{};
            gpo_status first = GPO_INTERNAL, second = GPO_INTERNAL;
            static void callback(void* user, const gpo_completion*, const gpo_error*) {
                auto& me = *static_cast<Ends*>(user);
                me.first = gpo_stream_destroy(me.stream);
                me.second = gpo_executor_destroy(me.executor);
                ++me.came;
            }
        } ends{stream, executor};
        Count behind;
        Timeline never = gpu.timeline();
        REQUIRE_OK(gpo_timeline_then(never, 1, executor, Count::callback, &behind));
        REQUIRE_OK(gpo_stream_then(stream, executor, Ends::callback, &ends));
        const gpo_executor_t handle = executor.release();
        stream.release();
        if (flags) CHECK_STATUS(GPO_CANCELLED, gpo_executor_run(handle, nullptr));
        CHECK(ends.came.reach(1));
        CHECK(behind.came.reach(1));
        CHECK_OK(ends.first);
        CHECK_OK(ends.second);
        CHECK(behind.last == GPO_CANCELLED);
        CHECK_STATUS(GPO_STALE_HANDLE, gpo_executor_run(handle, nullptr));
    }
}

TEST_CASE("a C++ exception that leaves a callback is caught, logged and counted, and the next one comes") {
    static std::mutex lock;
    static std::vector<std::string> lines;
    lines.clear();
    auto options = sized<gpo_runtime_options>();
    options.log = [](void*, int32_t level, const char* text) {
        std::lock_guard guard(lock);
        if (level == GPO_LOG_ERROR) lines.push_back(text);
    };
    Gpu gpu(options);
    Executor executor = gpu.executor(0, 1);
    Stream stream = gpu.stream();
    Count count;
    REQUIRE_OK(gpo_stream_then(
        stream, executor,
        [](void*, const gpo_completion*, const gpo_error*) { throw std::runtime_error("out of tea"); }, nullptr));
    REQUIRE_OK(gpo_stream_then(
        stream, executor, [](void*, const gpo_completion*, const gpo_error*) { throw 7; }, nullptr));
    REQUIRE_OK(gpo_stream_then(stream, executor, Count::callback, &count));
    wait_idle(executor);
    CHECK(count.came == 1);
    CHECK(statistics_of(executor).threw == 2);
    CHECK(statistics_of(executor).called == 3);
    std::lock_guard guard(lock);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].find("out of tea") != std::string::npos);
}

TEST_CASE("the log function that is told of an exception can't wait for the callback that threw it") {
    struct Log {
        gpo_executor_t executor = nullptr;
        gpo_status waited = GPO_INTERNAL;
        static void take(void* user, int32_t, const char*) {
            auto& log = *static_cast<Log*>(user);
            log.waited = gpo_executor_run_for(log.executor, 1'000'000, nullptr);
        }
    } log;
    auto options = sized<gpo_runtime_options>();
    options.log = Log::take;
    options.log_user = &log;
    options.log_level = GPO_LOG_ERROR;
    Gpu gpu(options);
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
    log.executor = executor;
    Stream stream = gpu.stream();
    REQUIRE_OK(gpo_stream_then(
        stream, executor, [](void*, const gpo_completion*, const gpo_error*) { throw 1; }, nullptr));
    CHECK_OK(gpo_executor_run(executor, nullptr));
    CHECK_STATUS(GPO_WOULD_DEADLOCK, log.waited);
    CHECK(statistics_of(executor).threw == 1);
}

TEST_CASE("no deadlock where a callback wants a lock that the launching thread holds") {
    Gpu gpu;
    Executor executor = gpu.executor(0, 1);
    Stream stream = gpu.stream();
    static std::mutex users;
    Count count;
    {
        std::lock_guard held(users);
        for (int i = 0; i < 200; ++i) {
            REQUIRE_OK(gpo_stream_then(stream, executor,
                                       [](void* user, const gpo_completion* completion, const gpo_error* error) {
                                           std::lock_guard wanted(users);
                                           Count::callback(user, completion, error);
                                       },
                                       &count));
            REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        }
    }
    wait_idle(executor);
    CHECK(count.came == 200);
}

TEST_CASE("a full executor refuses, which has no effect; what it accepted comes") {
    Gpu gpu;
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER, 0, 3);
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    Event event = gpu.event();
    Count count;
    for (int i = 0; i < 3; ++i) REQUIRE_OK(gpo_stream_then(stream, executor, Count::callback, &count));
    CHECK_STATUS(GPO_WOULD_BLOCK, gpo_stream_then(stream, executor, Count::callback, &count));
    CHECK_STATUS(GPO_WOULD_BLOCK, gpo_event_then(event, executor, Count::callback, &count));
    CHECK_STATUS(GPO_WOULD_BLOCK, gpo_timeline_then(timeline, 1, executor, Count::callback, &count));
    CHECK_STATUS(GPO_WOULD_BLOCK,
                 gpo_stream_host_call(
                     stream, executor, [](void*, const gpo_host_call*) { return GPO_SUCCESS; }, nullptr));
    CHECK_OK(gpo_executor_run(executor, nullptr));
    CHECK(count.came == 3);
    CHECK(statistics_of(executor).refused == 4);
    CHECK(statistics_of(executor).accepted == 3);
    REQUIRE_OK(gpo_stream_then(stream, executor, Count::callback, &count));
    CHECK_OK(gpo_executor_run(executor, nullptr));
    CHECK(count.came == 4);
}

TEST_CASE("options that make no sense are refused, and a lack of threads is a limit") {
    Gpu gpu;
    gpo_executor_t executor = nullptr;
    auto options = sized<gpo_executor_options>();
    options.flags = GPO_EXECUTOR_SPIN | GPO_EXECUTOR_SLEEP;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_executor_create(gpu.runtime, &options, &executor));
    options.flags = GPO_EXECUTOR_CALLER;
    options.threads = 1;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_executor_create(gpu.runtime, &options, &executor));
    options.flags = 0;
    options.threads = 257;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_executor_create(gpu.runtime, &options, &executor));
    options.threads = 0;
    options.capacity = (1u << 24) + 1;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_executor_create(gpu.runtime, &options, &executor));
    CHECK(executor == nullptr);
}

TEST_CASE("two threads run one executor of the caller's, and each callback comes once") {
    Gpu gpu;
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
    std::vector<Stream> streams;
    for (int i = 0; i < 3; ++i) streams.push_back(gpu.stream());
    Count count;
    std::atomic<uint64_t> ran{0};
    std::atomic<bool> all{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([&] {
            while (!all || statistics_of(executor).pending != 0) {
                uint64_t here = 0;
                gpo_executor_run_for(executor, 1'000'000, &here);
                ran += here;
            }
        });
    for (int i = 0; i < 3000; ++i)
        REQUIRE_OK(gpo_stream_then(streams[static_cast<size_t>(i % 3)], executor, Count::callback, &count));
    all = true;
    for (auto& thread : threads) thread.join();
    CHECK(count.came == 3000);
    CHECK(ran == 3000);
}

TEST_CASE("on a stream that has failed the callback comes at once with that failure") {
    Gpu gpu;
    Record record;
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_stream_then(stream, executor, Record::callback, &record));
    REQUIRE_OK(gpo_timeline_fail(timeline, GPO_FAILED, "on purpose"));
    REQUIRE_OK(gpo_stream_then(stream, executor, Record::callback, &record));
    CHECK_OK(gpo_executor_run(executor, nullptr));
    REQUIRE(record.calls.size() == 2);
    for (const auto& call : record.calls) {
        CHECK(call.completion.status == GPO_FAILED);
        CHECK(call.message.find("on purpose") != std::string::npos);
    }
}

TEST_CASE("whoever asks to be told is told of a failure by an entry, whether it came before the notify or after it") {
    enum class Kind { stream, event, timeline };
    for (const Kind kind : {Kind::stream, Kind::event, Kind::timeline}) {
        CAPTURE(static_cast<int>(kind));
        Gpu gpu;
        Record record;
        Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
        Queue queue = gpu.queue(2);
        Stream stream = gpu.stream();
        Event event = gpu.event();
        Timeline timeline = gpu.timeline();
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
        REQUIRE_OK(gpo_event_record(event, stream));
        const auto notify = [&](uint64_t number) {
            return kind == Kind::stream  ? gpo_stream_notify(stream, queue, number)
                   : kind == Kind::event ? gpo_event_notify(event, queue, number)
                                         : gpo_timeline_notify(timeline, 1, queue, number);
        };
        const auto then = [&] {
            return kind == Kind::stream  ? gpo_stream_then(stream, executor, Record::callback, &record)
                   : kind == Kind::event ? gpo_event_then(event, executor, Record::callback, &record)
                                         : gpo_timeline_then(timeline, 1, executor, Record::callback, &record);
        };
        const auto statistics = [&] {
            auto out = sized<gpo_statistics>();
            REQUIRE_OK(gpo_runtime_get_statistics(gpu.runtime, &out));
            return out;
        };
        CHECK_OK(notify(1));
        CHECK_OK(then());
        REQUIRE_OK(gpo_timeline_fail(timeline, GPO_FAILED, "on purpose"));
        CHECK_OK(gpo_executor_run_for(executor, kPatience, nullptr));
        CHECK_STATUS(GPO_FAILED, gpo_event_query(event));
        const auto before = statistics();
        CHECK_OK(notify(2));
        CHECK_OK(then());
        CHECK_STATUS(GPO_WOULD_BLOCK, notify(3));   // a full queue refuses these like any others
        CHECK_OK(gpo_executor_run_for(executor, kPatience, nullptr));
        const auto entries = take(queue, 2);
        for (const auto& entry : entries) {
            CHECK(entry.user_data == static_cast<uint64_t>(&entry - entries.data()) + 1);
            CHECK(entry.status == GPO_FAILED);
            CHECK(entry.origin == (kind == Kind::stream  ? GPO_ORIGIN_STREAM
                                   : kind == Kind::event ? GPO_ORIGIN_EVENT
                                                         : GPO_ORIGIN_TIMELINE));
            CHECK(entry.submitted_ns <= entry.completed_ns);
            CHECK(entry.submitted_ns != 0);
            auto error = sized<gpo_error>();
            CHECK_OK(gpo_cq_get_error(queue, entry.error_id, &error));
            CHECK(std::string(error.message).find("on purpose") != std::string::npos);
        }
        REQUIRE(record.calls.size() == 2);
        for (const auto& call : record.calls) {
            CHECK(call.completion.status == GPO_FAILED);
            CHECK(call.message.find("on purpose") != std::string::npos);
        }
        // Both are counted as accepted and as delivered.
        const auto after = statistics();
        CHECK(after.notifies - before.notifies == 2);
        CHECK(after.completions - before.completions == 2);
        CHECK(after.failures - before.failures == 2);
        CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 0));   // each came once
    }
}

TEST_CASE("log lines are called on the executor that they were given, in order, until it is gone") {
    static std::mutex lock;
    static std::vector<std::pair<std::string, std::thread::id>> lines;
    static std::thread::id threw;   // the thread on which the latest line arose
    lines.clear();
    auto options = sized<gpo_runtime_options>();
    options.log = [](void*, int32_t, const char* text) {
        std::lock_guard guard(lock);
        lines.push_back({text, std::this_thread::get_id()});
    };
    Gpu gpu(options);
    Executor log = gpu.executor(GPO_EXECUTOR_CALLER, 0, 2);
    Executor thrower = gpu.executor(0, 1);
    REQUIRE_OK(gpo_runtime_set_log_executor(gpu.runtime, log));
    Stream stream = gpu.stream();
    const auto make_line = [&](const char* text) {
        REQUIRE_OK(gpo_stream_then(stream, thrower,
                                   [](void* user, const gpo_completion*, const gpo_error*) {
                                       threw = std::this_thread::get_id();
                                       throw std::runtime_error(static_cast<const char*>(user));
                                   },
                                   const_cast<char*>(text)));
        wait_idle(thrower);
    };
    make_line("first");
    make_line("second");
    make_line("no room for the third");
    CHECK(lines.empty());
    CHECK(statistics_of(log).refused == 1);
    CHECK_OK(gpo_executor_run(log, nullptr));
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].first.find("first") != std::string::npos);
    CHECK(lines[1].first.find("second") != std::string::npos);
    CHECK(lines[1].second == std::this_thread::get_id());
    log.reset();
    make_line("fourth");
    REQUIRE(lines.size() == 3);
    CHECK(lines[2].second == threw);
    REQUIRE_OK(gpo_runtime_set_log_executor(gpu.runtime, nullptr));
    make_line("fifth");
    CHECK(lines.size() == 4);
}

TEST_CASE("a log function that throws has lost its line; the next one comes, here and on an executor") {
    static std::atomic<int> lines;
    lines = 0;
    auto options = sized<gpo_runtime_options>();
    options.log = [](void*, int32_t, const char*) {
        ++lines;
        throw std::runtime_error("no paper");
    };
    Gpu gpu(options);
    Executor executor = gpu.executor(0, 1), log = gpu.executor(0, 1);
    Stream stream = gpu.stream();
    Count count;
    for (const gpo_executor_t route : {gpo_executor_t{}, log.get()}) {
        REQUIRE_OK(gpo_runtime_set_log_executor(gpu.runtime, route));
        const int before = lines;
        for (int i = 0; i < 3; ++i)
            REQUIRE_OK(gpo_stream_then(
                stream, executor, [](void*, const gpo_completion*, const gpo_error*) { throw 1; }, nullptr));
        REQUIRE_OK(gpo_stream_then(stream, executor, Count::callback, &count));
        wait_idle(executor);
        wait_idle(log);
        CHECK(lines == before + 3);
    }
    CHECK(count.came.reach(2));
    CHECK(count.last == GPO_SUCCESS);
    CHECK(statistics_of(executor).threw == 6);
    CHECK(statistics_of(log).called == 3);
}

TEST_CASE("when nothing is pending the library's threads come to rest: none wakes up for half a second") {
    Gpu gpu;
    Executor executor = gpu.executor(GPO_EXECUTOR_SLEEP);
    Stream stream = gpu.stream();
    Count count;
    REQUIRE_OK(gpo_stream_then(stream, executor, Count::callback, &count));
    REQUIRE(count.came.reach(1));
    CHECK(sleeps_of_library_threads() != 0);
    // Threads that expect more work soon stay awake for 50 ms before they sleep, longer if they seldom get a core.
    uint64_t woken = 1;
    for (int i = 0; i < 40 && woken != 0; ++i) {
        const uint64_t before = sleeps_of_library_threads();
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        woken = sleeps_of_library_threads() - before;
    }
    CHECK(woken == 0);
}

TEST_CASE(
    "a runtime shuts down while threads notify, ask for callbacks, drain and poll; what was accepted comes once") {
    for (int round = 0; round < 5; ++round) {
        CAPTURE(round);
        Gpu gpu;
        Executor threads = gpu.executor(), caller = gpu.executor(GPO_EXECUTOR_CALLER);
        Queue queue = gpu.queue(64);
        std::vector<Stream> streams;
        for (int i = 0; i < 3; ++i) streams.push_back(gpu.stream());
        int32_t descriptor = -1;
        REQUIRE_OK(gpo_cq_get_fd(queue, &descriptor));
        Count count;
        std::atomic<int> accepted{0}, notified{0}, drained{0}, wrong{0};
        std::atomic<bool> stop{false};
        std::vector<std::thread> users;
        for (size_t i = 0; i < streams.size(); ++i)
            users.emplace_back([&, i] {
                const gpo_host_fn call = [](void* user, const gpo_host_call* told) -> gpo_status {
                    static_cast<Count*>(user)->last = told->status;
                    ++static_cast<Count*>(user)->came;
                    return GPO_SUCCESS;
                };
                for (int k = 0; !stop; ++k) {
                    const gpo_executor_t executor = k % 2 ? threads : caller;
                    const gpo_status then = k % 5 ? gpo_stream_then(streams[i], executor, Count::callback, &count)
                                                  : gpo_stream_host_call(streams[i], executor, call, &count);
                    accepted += then == GPO_SUCCESS;
                    const gpo_status notify = gpo_stream_notify(streams[i], queue, 1);
                    notified += notify == GPO_SUCCESS;
                    for (gpo_status status : {then, notify})
                        wrong += status == GPO_INTERNAL || status == GPO_DRIVER_ERROR || status == GPO_OUT_OF_MEMORY;
                }
            });
        users.emplace_back([&] {
            while (!stop) {
                pollfd watch{descriptor, POLLIN, 0};
                poll(&watch, 1, 1);
                gpo_completion entries[16];
                uint64_t taken = 0;
                if (gpo_cq_drain(queue, entries, sizeof entries[0], 16, &taken) == GPO_SUCCESS)
                    drained += static_cast<int>(taken);
                gpo_executor_poll(caller, nullptr);
                gpo_cq_wake(queue);
            }
        });
        while (accepted < 100 || notified < 100) std::this_thread::yield();
        CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
        stop = true;
        for (auto& user : users) user.join();
        CHECK(count.came == accepted);
        CHECK(drained <= notified);
        CHECK(wrong == 0);
        close(descriptor);
        for (auto& stream : streams) stream.release();
        threads.release();
        caller.release();
        queue.release();
    }
}
