// Completion queues: every accepted notify comes out once, in the order of its stream, with a status and times.
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "support/gpu.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

gpo_cq_statistics statistics_of(gpo_cq_t queue) {
    auto statistics = sized<gpo_cq_statistics>();
    REQUIRE_OK(gpo_cq_get_statistics(queue, &statistics));
    return statistics;
}

}  // namespace

TEST_CASE("a notify comes out when the stream gets there, with the caller's number, its operation and its times" *
          gated) {
    Gpu gpu;
    Writer writer(gpu);
    Gate gate(gpu);
    Queue queue = gpu.queue();
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    Stream stream = gpu.stream();
    gate.put_on(stream);
    REQUIRE_OK(writer.write(stream, word.data(), 6));
    const uint64_t before = monotonic_ns();
    REQUIRE_OK(gpo_stream_notify(stream, queue, UINT64_MAX));
    const uint64_t submitted = monotonic_ns();
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 0));
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 2'000'000));
    uint64_t count = 99;
    gpo_completion entry;
    std::memset(&entry, 0xee, sizeof entry);
    CHECK_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
    CHECK(count == 0);
    const uint64_t opened = monotonic_ns();
    gate.open();
    CHECK_OK(gpo_cq_wait(queue, kPatience));
    CHECK_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
    const uint64_t after = monotonic_ns();
    REQUIRE(count == 1);
    CHECK(read(word[0]) == 6);
    CHECK(entry.struct_size == sizeof entry);
    CHECK(entry.status == GPO_SUCCESS);
    CHECK(entry.user_data == UINT64_MAX);
    CHECK(entry.origin == GPO_ORIGIN_STREAM);
    CHECK(entry.operation == 2);
    CHECK(entry.gpu_ns == -1);
    CAPTURE(before);
    CAPTURE(submitted);
    CAPTURE(entry.submitted_ns);
    CAPTURE(opened);
    CAPTURE(after);
    CAPTURE(entry.completed_ns);
    // The time of submission comes from a faster clock: the same moment, as far as a busy machine can show.
    constexpr uint64_t kSecond = 1'000'000'000;
    CHECK((before <= entry.submitted_ns + kSecond && entry.submitted_ns <= submitted + kSecond));
    CHECK(entry.submitted_ns <= entry.completed_ns);
    CHECK((opened <= entry.completed_ns && entry.completed_ns <= after));
}

TEST_CASE("marks of one stream come out in their order") {
    Gpu gpu;
    Writer writer(gpu);
    Queue queue = gpu.queue(2048);
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    Stream stream = gpu.stream();
    for (uint32_t i = 0; i < 1500; ++i) {
        if (i % 10 == 0) REQUIRE_OK(writer.write(stream, word.data(), i));
        REQUIRE_OK(gpo_stream_notify(stream, queue, i));
    }
    const auto entries = take(queue, 1500);
    uint64_t operation = 0;
    for (uint32_t i = 0; i < 1500; ++i) {
        REQUIRE(entries[i].user_data == i);
        REQUIRE(entries[i].operation >= operation);
        operation = entries[i].operation;
    }
}

TEST_CASE("a mark on a stream with nothing on it is reached") {
    Gpu gpu;
    Queue queue = gpu.queue();
    Stream stream = gpu.stream();
    REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
    const auto entry = take(queue, 1)[0];
    CHECK(entry.operation == 0);
    CHECK(entry.status == GPO_SUCCESS);
}

TEST_CASE("a full queue refuses a notify, which then has no effect; once drained it takes more" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Queue queue = gpu.queue(4);
    Stream stream = gpu.stream();
    gate.put_on(stream);
    for (uint64_t i = 0; i < 4; ++i) REQUIRE_OK(gpo_stream_notify(stream, queue, i));
    CHECK_STATUS(GPO_WOULD_BLOCK, gpo_stream_notify(stream, queue, 4));
    Event event = gpu.event();
    CHECK_STATUS(GPO_WOULD_BLOCK, gpo_event_notify(event, queue, 5));
    CHECK(statistics_of(queue).refused == 2);
    gate.open();
    // Delivered but not drained: still full.
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK_OK(gpo_cq_wait(queue, kPatience));
    CHECK_STATUS(GPO_WOULD_BLOCK, gpo_stream_notify(stream, queue, 6));
    CHECK(take(queue, 1)[0].user_data == 0);
    CHECK_OK(gpo_stream_notify(stream, queue, 7));
    const auto entries = take(queue, 4);
    CHECK(entries[0].user_data == 1);
    CHECK(entries[2].user_data == 3);
    CHECK(entries[3].user_data == 7);
    const auto statistics = statistics_of(queue);
    CHECK(statistics.capacity == 4);
    CHECK(statistics.accepted == 5);
    CHECK(statistics.delivered == 5);
    CHECK(statistics.drained == 5);
    CHECK(statistics.refused == 3);
}

TEST_CASE("a queue that nobody drains loses nothing it has accepted") {
    Gpu gpu;
    Queue queue = gpu.queue(100);
    Stream stream = gpu.stream();
    uint64_t accepted = 0;
    for (uint64_t i = 0; i < 1000; ++i)
        if (gpo_stream_notify(stream, queue, accepted) == GPO_SUCCESS) ++accepted;
    CHECK(accepted == 100);
    const auto entries = take(queue, 100);
    for (uint64_t i = 0; i < 100; ++i) CHECK(entries[i].user_data == i);
}

TEST_CASE("a wake ends one wait, in progress or next, and wakes don't add up") {
    Gpu gpu;
    Queue queue = gpu.queue();
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 0));
    CHECK_OK(gpo_cq_wake(queue));
    CHECK_OK(gpo_cq_wake(queue));
    CHECK_OK(gpo_cq_wait(queue, kPatience));
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 0));
    std::thread waker([&] { CHECK(gpo_cq_wake(queue) == GPO_SUCCESS); });
    CHECK_OK(gpo_cq_wait(queue, -1));
    waker.join();
    uint64_t count = 1;
    gpo_completion entry;
    CHECK_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
    CHECK(count == 0);
}

TEST_CASE("a wait that times out does so no earlier than asked") {
    Gpu gpu;
    Queue queue = gpu.queue();
    const uint64_t begin = monotonic_ns();
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 3'000'000));
    CHECK(monotonic_ns() - begin >= 3'000'000);
}

TEST_CASE("the GPU time since an event comes with the entry on request" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Queue queue = gpu.queue();
    Event since = gpu.event(GPO_EVENT_TIMING), plain = gpu.event();
    Stream stream = gpu.stream();
    REQUIRE_OK(gpo_event_record(since, stream));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    gate.put_on(stream);
    REQUIRE_OK(gpo_stream_notify_timed(stream, queue, 1, since));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the measured interval mustn't be 0
    gate.open();
    const auto entry = take(queue, 1)[0];
    CHECK(entry.gpu_ns >= 1'900'000);
    CHECK(entry.status == GPO_SUCCESS);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_notify_timed(stream, queue, 2, plain));
}

TEST_CASE("the GPU time is told since the recording that was the newest, and not since another one" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Queue queue = gpu.queue();
    Timeline timeline = gpu.timeline();
    Event since = gpu.event(GPO_EVENT_TIMING);
    Stream stream = gpu.stream(), held = gpu.stream();
    REQUIRE_OK(gpo_event_record(since, stream));
    gate.put_on(stream);
    REQUIRE_OK(gpo_stream_notify_timed(stream, queue, 1, since));
    REQUIRE_OK(gpo_event_record(since, stream));   // the mark before it isn't reached
    gate.open();
    CHECK(take(queue, 1)[0].gpu_ns == -1);
    REQUIRE_OK(gpo_stream_notify_timed(stream, queue, 2, since));
    CHECK(take(queue, 1)[0].gpu_ns >= 0);
    REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 1));
    REQUIRE_OK(gpo_event_record(since, held));
    REQUIRE_OK(gpo_stream_notify_timed(stream, queue, 3, since));
    CHECK(take(queue, 1)[0].gpu_ns == -1);         // the recording is held
    REQUIRE_OK(gpo_stream_notify_timed(held, queue, 4, since));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK(take(queue, 1)[0].gpu_ns >= 0);
    REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 2));
    REQUIRE_OK(gpo_event_record(since, held));
    REQUIRE_OK(gpo_stream_cancel_held(held, nullptr));
    REQUIRE_OK(gpo_stream_notify_timed(stream, queue, 5, since));
    const gpo_completion entry = take(queue, 1)[0];
    CHECK_OK(entry.status);
    CHECK(entry.gpu_ns == -1);                     // the recording never ran
}

TEST_CASE("entries are written with the caller's stride, and an older caller's smaller ones too") {
    Gpu gpu;
    Queue queue = gpu.queue();
    Stream stream = gpu.stream();
    for (uint64_t i = 0; i < 3; ++i) REQUIRE_OK(gpo_stream_notify(stream, queue, i + 7));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    std::vector<unsigned char> bytes(3 * 24, 0xee);
    uint64_t taken = 0;
    while (taken < 3) {
        uint64_t count = 0;
        REQUIRE_OK(gpo_cq_wait(queue, kPatience));
        REQUIRE_OK(
            gpo_cq_drain(queue, reinterpret_cast<gpo_completion*>(bytes.data() + taken * 24), 24, 3 - taken, &count));
        taken += count;
    }
    for (uint64_t i = 0; i < 3; ++i) {
        uint64_t user_data = 0;
        std::memcpy(&user_data, &bytes[i * 24 + offsetof(gpo_completion, user_data)], sizeof user_data);
        CHECK(user_data == i + 7);
    }
    uint64_t count = 0;
    gpo_completion entry;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_cq_drain(queue, &entry, 23, 1, &count));
}

TEST_CASE("a destroyed queue drops what it had; the streams go on" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Queue queue = gpu.queue();
    Stream stream = gpu.stream();
    gate.put_on(stream);
    REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
    CHECK_OK(gpo_cq_destroy(queue.release()));
    gate.open();
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    Queue second = gpu.queue();
    REQUIRE_OK(gpo_stream_notify(stream, second, 2));
    CHECK(take(second, 1)[0].user_data == 2);
}

TEST_CASE("a failure that a queue doesn't know is not found") {
    Gpu gpu;
    Queue queue = gpu.queue();
    auto error = sized<gpo_error>();
    CHECK_STATUS(GPO_NOT_FOUND, gpo_cq_get_error(queue, 0, &error));
    CHECK_STATUS(GPO_NOT_FOUND, gpo_cq_get_error(queue, 12345, &error));
}

TEST_CASE("only the last 256 failures of a queue are kept") {
    Gpu gpu;
    Queue queue = gpu.queue(512);
    Timeline timeline = gpu.timeline();
    Stream stream = gpu.stream();
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    for (uint64_t i = 0; i < 300; ++i) REQUIRE_OK(gpo_stream_notify(stream, queue, i));
    CHECK_OK(gpo_timeline_fail(timeline, GPO_FAILED, "all of them"));
    const auto entries = take(queue, 300);
    auto error = sized<gpo_error>();
    CHECK_STATUS(GPO_NOT_FOUND, gpo_cq_get_error(queue, entries[0].error_id, &error));
    CHECK_OK(gpo_cq_get_error(queue, entries[299].error_id, &error));
    CHECK(error.status == GPO_FAILED);
    CHECK_OK(gpo_cq_get_error(queue, entries[50].error_id, &error));
}

TEST_CASE("several threads notify and several drain: each entry goes to one, and none is lost") {
    Gpu gpu;
    Queue queue = gpu.queue(256);
    constexpr int producers = 4, each = 2000;
    std::vector<Stream> streams;
    for (int i = 0; i < producers; ++i) streams.push_back(gpu.stream());
    std::vector<std::atomic<int>> seen(producers * each);
    std::atomic<int> drained{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int p = 0; p < producers; ++p)
        threads.emplace_back([&, p] {
            for (int i = 0; i < each; ++i) {
                gpo_status status;
                while ((status = gpo_stream_notify(streams[static_cast<size_t>(p)], queue,
                                                   static_cast<uint64_t>(p * each + i))) == GPO_WOULD_BLOCK)
                    std::this_thread::yield();
                if (status != GPO_SUCCESS) ++wrong;
            }
        });
    for (int c = 0; c < 2; ++c)
        threads.emplace_back([&] {
            std::vector<gpo_completion> entries(32);
            std::map<int, uint64_t> last;
            while (drained < producers * each) {
                const gpo_status status = gpo_cq_wait(queue, 1'000'000);
                if (status != GPO_SUCCESS && status != GPO_TIMEOUT) ++wrong;
                uint64_t count = 0;
                if (gpo_cq_drain(queue, entries.data(), sizeof entries[0], entries.size(), &count)) ++wrong;
                for (uint64_t i = 0; i < count; ++i) {
                    const uint64_t number = entries[i].user_data;
                    const int producer = static_cast<int>(number) / each;
                    if (entries[i].status != GPO_SUCCESS) ++wrong;
                    if (last.count(producer) && last[producer] >= number) ++wrong;
                    last[producer] = number;
                    ++seen[number];
                }
                drained += static_cast<int>(count);
            }
        });
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& count) { return count == 1; }));
}

TEST_CASE("in latency mode the same entries come out") {
    auto options = sized<gpo_runtime_options>();
    options.completion_mode = GPO_COMPLETION_LATENCY;
    Gpu gpu(options);
    Writer writer(gpu);
    Queue queue = gpu.queue();
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    Stream stream = gpu.stream();
    for (uint32_t i = 1; i <= 20; ++i) {
        REQUIRE_OK(writer.write(stream, word.data(), i));
        REQUIRE_OK(gpo_stream_notify(stream, queue, i));
        CHECK(take(queue, 1)[0].user_data == i);
        CHECK(read(word[0]) == i);
    }
}

TEST_CASE("the scanner wakes again after it has been idle") {
    Gpu gpu;
    Queue queue = gpu.queue();
    Stream stream = gpu.stream();
    for (uint64_t i = 0; i < 10; ++i) {
        REQUIRE_OK(gpo_stream_notify(stream, queue, i));
        CHECK(take(queue, 1)[0].user_data == i);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the thread parks after one
    }
}

TEST_CASE("a poller learns of an entry through the queue's descriptor, and drains once" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Queue queue = gpu.queue();
    Stream stream = gpu.stream();
    int32_t descriptor = -1;
    REQUIRE_OK(gpo_cq_get_fd(queue, &descriptor));
    pollfd watch{descriptor, POLLIN, 0};
    gate.put_on(stream);
    REQUIRE_OK(gpo_stream_notify(stream, queue, 5));
    CHECK(poll(&watch, 1, 0) == 0);
    gate.open();
    REQUIRE(poll(&watch, 1, 30'000) == 1);
    gpo_completion entry{};
    uint64_t count = 0;
    CHECK_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
    REQUIRE(count == 1);
    CHECK(entry.user_data == 5);
    CHECK(poll(&watch, 1, 0) == 0);
    gpo_cq_t destroyed = queue.get();
    queue.reset();
    CHECK(poll(&watch, 1, 0) == 1);
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_cq_drain(destroyed, &entry, sizeof entry, 1, &count));
    close(descriptor);
}

/// A late wake-up may come without an entry; another drain clears it.
bool falls_silent(gpo_cq_t queue, int descriptor) {
    for (int looks = 0; looks < 1000; ++looks) {
        pollfd watch{descriptor, POLLIN, 0};
        if (poll(&watch, 1, 0) == 0) return true;
        gpo_completion entry;
        uint64_t count = 1;
        if (gpo_cq_drain(queue, &entry, sizeof entry, 1, &count) != GPO_SUCCESS || count != 0) return false;
    }
    return false;
}

TEST_CASE("a thousand queues have a descriptor each; where none is left the call says so, and the queue goes on") {
    Gpu gpu;
    Stream stream = gpu.stream();
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit few = before;
    few.rlim_cur = std::min<rlim_t>(before.rlim_max, 2600);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
    std::vector<Queue> queues;
    std::vector<pollfd> watches;
    gpo_status status = GPO_SUCCESS;
    for (int i = 0; i < 1000; ++i) queues.push_back(gpu.queue(8));
    for (size_t i = 0; i < queues.size() && status == GPO_SUCCESS; ++i) {
        int32_t descriptor = -1;
        status = gpo_cq_get_fd(queues[i], &descriptor);
        if (status == GPO_SUCCESS) watches.push_back({descriptor, POLLIN, 0});
    }
    const size_t most = few.rlim_cur >= 2600 ? 1000 : watches.size();
    CHECK(watches.size() == most);
#if defined(GPUORCH_UBSAN)
    gpo::test::skip("UBSan needs descriptors itself, to see whether memory can be read", "where none is left");
#else
    few.rlim_cur = 16;  // fewer than are open
    REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
    int32_t refused = -7;
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, gpo_cq_get_fd(queues.back(), &refused));
    CHECK(refused == -7);
    CHECK(last_error().native_domain == GPO_NATIVE_ERRNO);
#endif
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    for (size_t i = 0; i < watches.size(); ++i) REQUIRE_OK(gpo_stream_notify(stream, queues[i], i));
    bool told = true;
    for (size_t i = 0; i < watches.size(); ++i) {
        told = told && poll(&watches[i], 1, 30'000) == 1;
        const auto entry = take(queues[i], 1)[0];
        told = told && entry.user_data == i && falls_silent(queues[i], watches[i].fd);
        close(watches[i].fd);
    }
    CHECK(told);
}

TEST_CASE("a descriptor that the caller has closed, or that nobody watches, does the queue no harm") {
    Gpu gpu;
    Queue queue = gpu.queue(64);
    Stream stream = gpu.stream();
    int32_t closed = -1, unwatched = -1;
    REQUIRE_OK(gpo_cq_get_fd(queue, &closed));
    REQUIRE_OK(gpo_cq_get_fd(queue, &unwatched));
    REQUIRE(close(closed) == 0);
    for (uint64_t i = 0; i < 64; ++i) REQUIRE_OK(gpo_stream_notify(stream, queue, i));
    CHECK_STATUS(GPO_WOULD_BLOCK, gpo_stream_notify(stream, queue, 64));
    const auto entries = take(queue, 64);
    for (uint64_t i = 0; i < 64; ++i) CHECK(entries[i].user_data == i);
    CHECK(falls_silent(queue, unwatched));
    close(unwatched);
}
