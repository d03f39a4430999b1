// Runtimes: creation, the driver they choose, statistics, log, shutdown.
#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/gpu.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

struct Log {
    std::mutex lock;
    std::vector<std::string> lines;
    static void take(void* user, int32_t, const char* text) {
        auto& log = *static_cast<Log*>(user);
        const std::lock_guard guard(log.lock);
        log.lines.emplace_back(text);
    }
    bool contains(const std::string& word) {
        const std::lock_guard guard(lock);
        for (const auto& line : lines)
            if (line.find(word) != std::string::npos) return true;
        return false;
    }
};

}  // namespace

TEST_CASE("a runtime is created and shut down without a device ever being opened") {
    gpo_runtime_t runtime = nullptr;
    REQUIRE_OK(gpo_runtime_create(nullptr, &runtime));
    CHECK(runtime != nullptr);
    CHECK_OK(gpo_runtime_shutdown(runtime, 0));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_runtime_shutdown(runtime, 0));
    CHECK(gpo_version() == GPO_VERSION);
}

TEST_CASE("a runtime says which driver it uses and how many devices it shows") {
    Gpu gpu;
    auto info = sized<gpo_driver_info>();
    REQUIRE_OK(gpo_runtime_get_driver(gpu.runtime, &info));
    CHECK(info.version >= 12020);
    CHECK(info.device_count >= 1);
    CHECK(std::string(info.name) == (info.software ? "soft" : "cuda"));
    CHECK((info.software != 0 || info.reason[0] == '\0'));
    uint32_t count = 0;
    REQUIRE_OK(gpo_runtime_get_device_count(gpu.runtime, &count));
    CHECK(count == info.device_count);
}

TEST_CASE("the device option chooses the driver, and one device of it") {
    for (const char* choice : {"soft", "soft:0"}) {
        auto options = sized<gpo_runtime_options>();
        options.device = choice;
        Gpu gpu(options);
        auto info = sized<gpo_driver_info>();
        REQUIRE_OK(gpo_runtime_get_driver(gpu.runtime, &info));
        CHECK(info.software == 1);
        if (std::string(choice) == "soft:0") CHECK(info.device_count == 1);
    }
    for (const char* choice : {"sof", "cuda:", "soft:-1", "soft:x", "soft:0x", "cuda:99999999999999999999"}) {
        CAPTURE(choice);
        auto options = sized<gpo_runtime_options>();
        options.device = choice;
        gpo_runtime_t runtime = nullptr;
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_runtime_create(&options, &runtime));
        CHECK(runtime == nullptr);
    }
}

TEST_CASE("a device that isn't there is refused with a reason") {
    auto options = sized<gpo_runtime_options>();
    options.device = "soft:63";
    gpo_runtime_t runtime = nullptr;
    REQUIRE_OK(gpo_runtime_create(&options, &runtime));
    uint32_t count = 7;
    CHECK_STATUS(GPO_NO_DEVICE, gpo_runtime_get_device_count(runtime, &count));
    CHECK(count == 7);
    CHECK(std::string(last_error().message).size() > 10);
    gpo_device_t device = nullptr;
    CHECK_STATUS(GPO_NO_DEVICE, gpo_device_open(runtime, nullptr, &device));
    CHECK(device == nullptr);
    CHECK_OK(gpo_runtime_shutdown(runtime, kPatience));
}

TEST_CASE("two runtimes in one process never meet") {
    Gpu one, two;
    Stream stream = one.stream();
    Event event = two.event();
    Queue queue = two.queue();
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_event_record(event, stream));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_stream_notify(stream, queue, 1));
    Timeline timeline = two.timeline();
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_stream_wait_timeline(stream, timeline, 1));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK_OK(gpo_event_query(event));
}

TEST_CASE("statistics count what was done") {
    Gpu gpu;
    Writer writer(gpu);
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(16);
    Memory memory = gpu.memory(64);
    Stream stream = gpu.stream();
    Queue queue = gpu.queue();
    const gpo_statistics before = gpu.statistics();
    REQUIRE_OK(writer.write(stream, word.data(), 5));
    REQUIRE_OK(gpo_copy_to_device(stream, memory, word.data(), 64));
    REQUIRE_OK(gpo_fill(stream, memory, 1, 4, 16));
    REQUIRE_OK(gpo_stream_notify(stream, queue, 1));
    take(queue, 1);
    const gpo_statistics after = gpu.statistics();
    CHECK(after.launches - before.launches == 1);
    CHECK(after.copies - before.copies == 1);
    CHECK(after.copied_bytes - before.copied_bytes == 64);
    CHECK(after.fills - before.fills == 1);
    CHECK(after.notifies - before.notifies == 1);
    CHECK(after.completions - before.completions == 1);
    CHECK(after.failures == before.failures);
    CHECK(after.device_allocations == before.device_allocations);
    CHECK(after.pageable_copies == before.pageable_copies);
    CHECK(after.live_objects == before.live_objects);
    Event event = gpu.event();
    CHECK(gpu.statistics().live_objects == before.live_objects + 1);
}

TEST_CASE("what is left behind at shutdown is logged by label") {
    Log log;
    auto options = sized<gpo_runtime_options>();
    options.log = Log::take;
    options.log_user = &log;
    options.log_level = GPO_LOG_DEBUG;
    options.label = "root";
    gpo_stream_t stream = nullptr;
    {
        Gpu gpu(options);
        stream = gpu.stream("forgotten upload").release();
    }
    CHECK(log.contains("forgotten upload"));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_stream_query(stream));
}

TEST_CASE("the log function may call the library") {
    struct Caller {
        std::atomic<int> calls{0};
        static void take(void* user, int32_t, const char*) {
            auto& caller = *static_cast<Caller*>(user);
            gpo_runtime_t runtime = nullptr;
            if (caller.calls.fetch_add(1) == 0 && gpo_runtime_create(nullptr, &runtime) == GPO_SUCCESS)
                gpo_runtime_shutdown(runtime, -1);
        }
    } caller;
    auto options = sized<gpo_runtime_options>();
    options.log = Caller::take;
    options.log_user = &caller;
    options.log_level = GPO_LOG_DEBUG;
    {
        Gpu gpu(options);
        gpu.stream("left behind, so that shutdown has something to say").release();
    }
    CHECK(caller.calls > 0);
}

TEST_CASE("shutdown with work that runs times out on time, and succeeds once the work is done" * gated) {
    Gpu gpu;
    Queue queue = gpu.queue();
    Stream stream = gpu.stream();
    auto gate = std::make_unique<Gate>(gpu);
    gate->put_on(stream);
    REQUIRE_OK(gpo_stream_notify(stream, queue, 11));
    CHECK_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(gpu.runtime, 20'000'000));
    SUBCASE("no work is taken meanwhile") {
        gpo_stream_t another = nullptr;
        CHECK_STATUS(GPO_SHUT_DOWN, gpo_stream_create(gpu.device, nullptr, &another));
        CHECK(another == nullptr);
    }
    SUBCASE("and it can be asked again") { CHECK_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(gpu.runtime, 0)); }
    gate->open();
    gate.reset();  // its memory goes with the runtime
    CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_stream_query(stream));
    const auto entries = take(queue, 1);
    CHECK(entries[0].user_data == 11);
    CHECK(entries[0].status == GPO_SUCCESS);
}

TEST_CASE("shutdown times out on time too where the stream of what runs was destroyed" * gated) {
    Gpu gpu;
    Queue queue = gpu.queue();
    Timeline timeline = gpu.timeline();
    Stream stream = gpu.stream();
    auto gate = std::make_unique<Gate>(gpu);
    // Opens the gate of a shutdown that waits too long, so the shutdown doesn't give a timeout.
    std::promise<void> over;
    std::thread opener([&, ended = over.get_future()] {
        if (ended.wait_for(std::chrono::seconds(5)) == std::future_status::timeout) gate->open();
    });
    gate->put_on(stream);
    SUBCASE("") {}
    SUBCASE("marked") { REQUIRE_OK(gpo_stream_notify(stream, queue, 11)); }
    SUBCASE("with held work behind it") {
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
        REQUIRE_OK(gpo_stream_notify(stream, queue, 11));
    }
    stream.reset();
    for (const int64_t timeout : {20'000'000, 0}) CHECK_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(gpu.runtime, timeout));
    over.set_value();
    opener.join();
    gate->open();
    gate.reset();
    CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
}

TEST_CASE("shutdown cancels what is held") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    Event event = gpu.event();
    REQUIRE_OK(gpo_event_record(event, stream));
    CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_event_query(event));
}

TEST_CASE("of several threads that shut one runtime down, one succeeds") {
    for (int round = 0; round < 8; ++round) {
        Gpu gpu;
        Stream stream = gpu.stream();
        std::atomic<int> successes{0}, others{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                const gpo_status status = gpo_runtime_shutdown(gpu.runtime, kPatience);
                if (status == GPO_SUCCESS) ++successes;
                if (status == GPO_INVALID_HANDLE) ++others;
            });
        for (auto& thread : threads) thread.join();
        CHECK(successes == 1);
        CHECK(others == 3);
    }
}

TEST_CASE(
    "who shuts a runtime down while another thread does waits no longer than it wants to, and the log function may "
    "wait for it") {
    struct Meeting {
        gpo_runtime_t runtime = nullptr;
        gpo_status hasty = GPO_INTERNAL, brief = GPO_INTERNAL, patient = GPO_INTERNAL;
        std::thread waits;
        static void line(void* user, int32_t, const char* line) {
            auto& me = *static_cast<Meeting*>(user);
            if (!std::strstr(line, "not destroyed")) return;
            me.waits = std::thread([&me] { me.patient = gpo_runtime_shutdown(me.runtime, kPatience); });
            std::thread([&me] {
                me.hasty = gpo_runtime_shutdown(me.runtime, 0);
                me.brief = gpo_runtime_shutdown(me.runtime, 1'000'000);
            }).join();
        }
    } meeting;
    auto options = sized<gpo_runtime_options>();
    options.log = Meeting::line;
    options.log_user = &meeting;
    REQUIRE_OK(gpo_runtime_create(&options, &meeting.runtime));
    gpo_timeline_t leaked = nullptr;
    REQUIRE_OK(gpo_timeline_create(meeting.runtime, nullptr, &leaked));
    CHECK_OK(gpo_runtime_shutdown(meeting.runtime, kPatience));
    REQUIRE(meeting.waits.joinable());
    meeting.waits.join();
    CHECK_STATUS(GPO_TIMEOUT, meeting.hasty);
    CHECK_STATUS(GPO_TIMEOUT, meeting.brief);
    CHECK_STATUS(GPO_INVALID_HANDLE, meeting.patient);
}

TEST_CASE("options of an older and of a newer caller are understood") {
    gpo_runtime_t runtime = nullptr;
    gpo_runtime_options options{};
    options.struct_size = offsetof(gpo_runtime_options, log);
    options.device = "soft";
    options.log_user = &runtime;
    options.log = [](void* user, int32_t, const char*) { *static_cast<int*>(user) = 1; };  // beyond the size: not read
    REQUIRE_OK(gpo_runtime_create(&options, &runtime));
    CHECK_OK(gpo_runtime_shutdown(runtime, 0));

    struct Newer {
        gpo_runtime_options options;
        uint64_t unknown;
    } newer{};
    newer.options.struct_size = sizeof newer;
    REQUIRE_OK(gpo_runtime_create(&newer.options, &runtime));
    CHECK_OK(gpo_runtime_shutdown(runtime, 0));
    newer.unknown = 1;
    runtime = nullptr;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_runtime_create(&newer.options, &runtime));
    CHECK(runtime == nullptr);
}

TEST_CASE("a deterministic runtime does the same work, and excludes others") {
    auto options = sized<gpo_runtime_options>();
    options.device = "soft";
    options.schedule_seed = 20;
    gpo_runtime_t runtime = nullptr;
    REQUIRE_OK(gpo_runtime_create(&options, &runtime));
    gpo_runtime_t other = nullptr;
    CHECK_STATUS(GPO_INVALID_STATE, gpo_runtime_create(nullptr, &other));
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr;
    gpo_cq_t queue = nullptr;
    REQUIRE_OK(gpo_device_open(runtime, nullptr, &device));
    REQUIRE_OK(gpo_stream_create(device, nullptr, &stream));
    REQUIRE_OK(gpo_cq_create(runtime, nullptr, &queue));
    for (uint64_t i = 0; i < 8; ++i) REQUIRE_OK(gpo_stream_notify(stream, queue, i));
    const auto entries = take(queue, 8);
    for (uint64_t i = 0; i < 8; ++i) CHECK(entries[i].user_data == i);
    // The other thread has its turn while this thread is in a waiting call.
    std::atomic<gpo_status> elsewhere{-1};
    std::thread other_thread([&] { elsewhere = gpo_runtime_shutdown(runtime, kPatience); });
    while (elsewhere == -1) gpo_cq_wait(queue, 1'000'000);
    other_thread.join();
    CHECK(elsewhere == GPO_INVALID_STATE);
    REQUIRE_OK(gpo_stream_notify(stream, queue, 8));
    CHECK_OK(gpo_runtime_shutdown(runtime, kPatience));
    REQUIRE_OK(gpo_runtime_create(nullptr, &other));
    CHECK_OK(gpo_runtime_shutdown(other, 0));
}
