// The scanner's queries of the driver: queries are expensive and delay submitting threads.
#include <doctest/doctest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "driver/call_recorder.h"
#include "gpuorch/gpuorch.h"
#include "stream/stream.h"
#include "stream/streams.h"
#include "support/soft.h"
#include "support/threads.h"

namespace {

using gpo::driver::Function;
namespace recorder = gpo::driver::recorder;

/// A stream of a software GPU and a gate that blocks the stream on the device. By default the driver's calls are
/// recorded, and the driver behaves like CUDA's: it notifies no listener, and waiting threads spin.
struct Recorded {
    explicit Recorded(uint32_t mode = GPO_COMPLETION_BALANCED, bool records = true) {
        if (records)
            gpo::driver::set_interposer([this](std::shared_ptr<gpo::driver::Driver> below) {
                driver = recorder::wrap(std::move(below));
                driver->uses_host_cores = false;
                return driver;
            });
        runtime = gpo::test::make_soft_runtime(0, mode);
        REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
        REQUIRE(gpo_stream_create(device, nullptr, &stream) == GPO_SUCCESS);
        REQUIRE(gpo_event_create(device, nullptr, &event) == GPO_SUCCESS);
        REQUIRE(gpo_cq_create(runtime, nullptr, &queue) == GPO_SUCCESS);
        gpo_arena_t arena = nullptr;
        REQUIRE(gpo_arena_create(device, nullptr, &arena) == GPO_SUCCESS);
        void* memory = nullptr;
        REQUIRE(gpo_arena_allocate(arena, 256, 0, &memory) == GPO_SUCCESS);
        word = static_cast<unsigned*>(memory);
        *word = 0;
        gpo_compile_options compile{};
        compile.struct_size = sizeof compile;
        compile.source = "extern \"C\" __global__ void gate(const volatile unsigned *open) { while (*open == 0) { } }";
        gpo_module_t module = nullptr;
        REQUIRE(gpo_module_compile(device, &compile, &module) == GPO_SUCCESS);
        REQUIRE(gpo_module_get_kernel(module, "gate", &gate) == GPO_SUCCESS);
    }
    ~Recorded() {
        open();
        CHECK(gpo_runtime_shutdown(runtime, 30'000'000'000) == GPO_SUCCESS);
        CHECK(gpo_cq_destroy(queue) == GPO_SUCCESS);
        gpo::driver::set_interposer({});
    }
    void shut() {
        gpo_launch shape{};
        shape.struct_size = sizeof shape;
        for (int i = 0; i < 3; ++i) shape.grid[i] = shape.block[i] = 1;
        const void* arguments[] = {&word};
        REQUIRE(gpo_stream_launch_kernel(stream, gate, &shape, arguments, nullptr, 1) == GPO_SUCCESS);
    }
    void open() { __atomic_store_n(word, 1u, __ATOMIC_SEQ_CST); }
    void notify(uint64_t number) {
        REQUIRE(gpo_event_record(event, stream) == GPO_SUCCESS);   // gives each mark its own event
        REQUIRE(gpo_stream_notify(stream, queue, number) == GPO_SUCCESS);
    }
    void expect(uint64_t from, uint64_t to) {
        std::vector<gpo_completion> entries(1);
        for (uint64_t next = from, count = 0; next < to; ++next) {
            REQUIRE(gpo_cq_wait(queue, 30'000'000'000) == GPO_SUCCESS);
            REQUIRE(gpo_cq_drain(queue, entries.data(), sizeof entries[0], 1, &count) == GPO_SUCCESS);
            REQUIRE(count == 1);
            REQUIRE(entries[0].user_data == next);
        }
    }

    std::shared_ptr<gpo::driver::Driver> driver;
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr;
    gpo_event_t event = nullptr;
    gpo_cq_t queue = nullptr;
    gpo_kernel_t gate = nullptr;
    unsigned* word = nullptr;
};

}  // namespace

TEST_CASE("a stream that has got nowhere is asked one question a turn, however many marks are on it") {
    Recorded on;
    on.notify(0);
    on.expect(0, 1);
    on.shut();
    constexpr uint64_t kMarks = 500;
    for (uint64_t i = 1; i <= kMarks; ++i) on.notify(i);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));   // so that marks are old and the scanner's pauses long
    recorder::clear();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    // Each turn first queries whether the context is alive.
    const uint64_t turns = recorder::count(Function::cuCtxGetId), questions = recorder::count(Function::cuEventQuery);
    CHECK(questions > 0);
    CHECK(questions <= turns + 1);
    on.open();
    on.expect(1, kMarks + 1);
}

/// Counts the scanner's turns during a tenth of a second, or longer on a busy machine. Each turn begins with a query
/// whether the context is alive. Sets `milliseconds` to the time that passed.
static uint64_t turns_in_a_while(uint64_t& milliseconds) {
    const auto begin = std::chrono::steady_clock::now();
    recorder::clear();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const uint64_t turns = recorder::count(Function::cuCtxGetId);
    milliseconds = static_cast<uint64_t>((std::chrono::steady_clock::now() - begin) / std::chrono::milliseconds(1)) + 1;
    return turns;
}

TEST_CASE("a stream is looked at every millisecond at most in balanced mode, and all the time in latency mode") {
    for (const bool latency : {false, true}) {
        CAPTURE(latency);
        Recorded on(latency ? GPO_COMPLETION_LATENCY : GPO_COMPLETION_BALANCED);
        on.shut();
        on.notify(0);
        std::this_thread::sleep_for(std::chrono::milliseconds(30));   // a sixteenth of the mark's age is more than 1 ms
        uint64_t milliseconds = 0;
        const uint64_t turns = turns_in_a_while(milliseconds);
        CHECK(turns > 0);
        if (latency)
            CHECK(turns > milliseconds);
        else
            CHECK(turns <= milliseconds);
        on.open();
        on.expect(0, 1);
    }
}

TEST_CASE(
    "where the driver tells, the scanner sleeps until a mark is reached, and further marks of the stream don't wake "
    "it") {
    Recorded on(GPO_COMPLETION_BALANCED, false);
    for (uint64_t round = 0; round < 20; ++round) {
        constexpr uint64_t kMarks = 100;
        const uint64_t first = round * kMarks;
        on.shut();
        on.notify(first);
        uint64_t sleeps = gpo::test::sleeps_of("gpo-scanner");
        // The scanner is busy for a moment, then rests. On a busy machine, it may just have no core for a while.
        for (int rests = 0; rests < 4; ++rests) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            const uint64_t now = gpo::test::sleeps_of("gpo-scanner");
            if (now != sleeps) rests = 0;
            sleeps = now;
        }
        for (uint64_t i = 1; i < kMarks; ++i) on.notify(first + i);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        CHECK(gpo::test::sleeps_of("gpo-scanner") == sleeps);
        on.open();
        on.expect(first, first + kMarks);
        *on.word = 0;
    }
}

TEST_CASE("where the driver tells, the end of its context is told too") {
    const auto driver = gpo::driver::open_soft(nullptr);
    REQUIRE(driver != nullptr);
    CUcontext context = nullptr;
    REQUIRE(driver->table.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    REQUIRE(driver->table.cuCtxSetCurrent(context) == CUDA_SUCCESS);
    gpo::driver::Listener mine(context), others(nullptr);
    REQUIRE(driver->listen(mine));
    REQUIRE(driver->listen(others));
    const auto told = [](gpo::driver::Listener& listener) {
        const bool heard = !listener.listening.exchange(false);
        return listener.signal.exchange(0) == (heard ? 1 : 0) && heard;
    };
    CUevent event = nullptr;
    REQUIRE(driver->table.cuEventCreate(&event, 0) == CUDA_SUCCESS);
    // A listener that isn't listening isn't notified.
    REQUIRE(driver->table.cuEventRecord(event, nullptr) == CUDA_SUCCESS);
    REQUIRE(driver->table.cuEventSynchronize(event) == CUDA_SUCCESS);
    CHECK(mine.signal == 0);
    for (int i = 0; i < 3; ++i) {
        mine.listening = others.listening = true;
        REQUIRE(driver->table.cuEventRecord(event, nullptr) == CUDA_SUCCESS);
        REQUIRE(driver->table.cuEventSynchronize(event) == CUDA_SUCCESS);
        CHECK(told(mine));
        CHECK(!told(others));
    }
    mine.listening = others.listening = true;
    REQUIRE(driver->table.cuCtxSetCurrent(nullptr) == CUDA_SUCCESS);
    REQUIRE(driver->table.cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
    CHECK(told(mine));
    CHECK(!told(others));
    driver->ignore(mine);
    driver->ignore(others);
}

TEST_CASE("with nothing pending the driver hears no more, in either mode, and the next mark is seen") {
    for (const bool latency : {false, true}) {
        CAPTURE(latency);
        Recorded on(latency ? GPO_COMPLETION_LATENCY : GPO_COMPLETION_BALANCED);
        on.notify(0);
        on.expect(0, 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        uint64_t milliseconds = 0;
        CHECK(turns_in_a_while(milliseconds) == 0);
        CHECK(recorder::count() == 0);
        on.notify(1);
        on.expect(1, 2);
    }
}

TEST_CASE("marks that are reached one by one are each told of, in order") {
    Recorded on;
    for (uint64_t i = 0; i < 3000; ++i) {
        on.notify(i);
        if (i % 7 == 0) std::this_thread::yield();
    }
    on.expect(0, 3000);
    CHECK(recorder::count(Function::cuEventQuery) > 0);
}

TEST_CASE("a notify needs no context to be current, and makes none so") {
    Recorded on;
    on.notify(0);
    on.expect(0, 1);
    on.shut();
    std::thread([&] {
        REQUIRE(gpo_event_record(on.event, on.stream) == GPO_SUCCESS);
        recorder::clear();
        REQUIRE(gpo_stream_notify(on.stream, on.queue, 1) == GPO_SUCCESS);
    }).join();
    CHECK(recorder::count(Function::cuEventRecord) == 1);
    CHECK(recorder::count(Function::cuCtxPushCurrent) == 0);
    on.open();
    on.expect(1, 2);
}

TEST_CASE("the events of marks go round with their places") {
    Recorded on;
    uint64_t next = 0;
    const auto some = [&](uint64_t count) {
        const uint64_t from = next;
        while (next < from + count) on.notify(next++);
        on.expect(from, next);
    };
    for (int i = 0; i < 20; ++i) some(10);
    recorder::clear();
    for (int i = 0; i < 100; ++i) some(10);
    CHECK(recorder::count(Function::cuEventCreate) == 0);
    // A stream with more pending marks than before takes more events, which the next stream reuses.
    on.shut();
    const uint64_t from = next;
    while (next < from + 1000) on.notify(next++);
    const auto created = recorder::count(Function::cuEventCreate);
    CHECK(created > 0);
    CHECK(created <= 1100);
    on.open();
    on.expect(from, next);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));   // the scanner is usually parked and has to be woken
    REQUIRE(gpo_stream_destroy(on.stream) == GPO_SUCCESS);
    REQUIRE(gpo_stream_create(on.device, nullptr, &on.stream) == GPO_SUCCESS);
    for (int i = 0; i < 3000 && recorder::count(Function::cuStreamDestroy) == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    REQUIRE(recorder::count(Function::cuStreamDestroy) == 1);
    recorder::clear();
    for (int i = 0; i < 100; ++i) some(10);
    CHECK(recorder::count(Function::cuEventCreate) == 0);
}

TEST_CASE("waits that time out one after the other leave one mark and one event") {
    Recorded on;
    on.notify(0);
    on.expect(0, 1);
    on.shut();
    recorder::clear();
    for (int i = 0; i < 10; ++i) CHECK(gpo_stream_wait(on.stream, 100'000) == GPO_TIMEOUT);
    CHECK(recorder::count(Function::cuEventRecord) == 1);
    CHECK(gpo::Pin<gpo::Stream>(on.stream)->marks().queue().size() == 1);
    on.notify(1);   // behind more work
    for (int i = 0; i < 10; ++i) CHECK(gpo_stream_wait(on.stream, 100'000) == GPO_TIMEOUT);
    CHECK(recorder::count(Function::cuEventRecord) == 3);
    CHECK(gpo::Pin<gpo::Stream>(on.stream)->marks().queue().size() == 3);
    on.open();
    CHECK(gpo_stream_wait(on.stream, 30'000'000'000) == GPO_SUCCESS);
    on.expect(1, 2);
}

TEST_CASE("a stream whose work was seen done is destroyed without asking for it") {
    Recorded on;
    on.notify(0);
    on.expect(0, 1);
    recorder::clear();
    REQUIRE(gpo_stream_destroy(on.stream) == GPO_SUCCESS);
    for (int i = 0; i < 3000 && recorder::count(Function::cuStreamDestroy) == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(recorder::count(Function::cuStreamDestroy) == 1);
    CHECK(recorder::count(Function::cuStreamQuery) == 0);
    CHECK(recorder::count(Function::cuEventRecord) == 0);
}

TEST_CASE(
    "where the context is current an operation asks the driver once whether it still is, elsewhere it makes it so") {
    Recorded on;
    on.notify(0);
    on.expect(0, 1);
    on.shut();   // the scanner queries only marks, and there are none
    void* context = nullptr;
    REQUIRE(gpo_device_get_native(on.device, &context, nullptr) == GPO_SUCCESS);
    const auto counts = [&](bool current) {
        const auto record = [&] { REQUIRE(gpo_event_record(on.event, on.stream) == GPO_SUCCESS); };
        if (current) REQUIRE(on.driver->table.cuCtxSetCurrent(static_cast<CUcontext>(context)) == CUDA_SUCCESS);
        record();   // the library remembers from this call whether the context is current
        recorder::clear();
        for (int i = 0; i < 10; ++i) record();
        CHECK(recorder::count(Function::cuEventRecord) == 10);
        CHECK(recorder::count(Function::cuCtxGetId) == 10);
        CHECK(recorder::count(Function::cuCtxGetCurrent) == (current ? 0 : 10));
        CHECK(recorder::count(Function::cuCtxPushCurrent) == (current ? 0 : 10));
        CHECK(recorder::count(Function::cuCtxPopCurrent) == (current ? 0 : 10));
        CUcontext now = nullptr;
        REQUIRE(on.driver->table.cuCtxGetCurrent(&now) == CUDA_SUCCESS);
        CHECK((now != nullptr) == current);
    };
    for (const bool current : {false, true, false, true}) std::thread(counts, current).join();
}

namespace {

/// This thread's event queries since the record was cleared.
uint64_t questions_of_this_thread() {
    uint64_t count = 0;
    const auto mine = static_cast<uint32_t>(gettid());
    for (const recorder::Call& call : recorder::calls())
        count += call.function == Function::cuEventQuery && call.thread == mine;
    return count;
}

/// How often this thread has left its processor because it had to wait.
long sleeps_of_this_thread() {
    rusage usage{};
    REQUIRE(getrusage(RUSAGE_THREAD, &usage) == 0);
    return usage.ru_nvcsw;
}

gpo::Scanner& scanner_of(gpo_stream_t stream) {
    return gpo::Streams::of(gpo::Pin<gpo::Stream>(stream)->context()).scanner();
}

}  // namespace

TEST_CASE("a thread that waits for a stream or event asks the driver itself, all the time in the first millisecond") {
    Recorded on;
    on.notify(0);
    on.expect(0, 1);
    on.shut();
    on.notify(1);
    for (const bool event : {false, true}) {
        CAPTURE(event);
        bool all_the_time = false;
        for (int i = 0; i < 1000 && !all_the_time; ++i) {   // the recorder has a lock, and may make the thread sleep
            recorder::clear();
            const long before = sleeps_of_this_thread();
            CHECK((event ? gpo_event_wait(on.event, 900'000) : gpo_stream_wait(on.stream, 900'000)) == GPO_TIMEOUT);
            all_the_time = sleeps_of_this_thread() == before && questions_of_this_thread() >= 10;
        }
        CHECK(all_the_time);
    }
    on.open();
    CHECK(gpo_stream_wait(on.stream, 30'000'000'000) == GPO_SUCCESS);
    on.expect(1, 2);
}

TEST_CASE("one thread at most looks all the time") {
    Recorded on;
    on.notify(0);
    on.expect(0, 1);
    on.shut();
    on.notify(1);
    {
        const gpo::Scanner::Spinning first(scanner_of(on.stream)), second(scanner_of(on.stream));
        CHECK(first.granted());
        CHECK_FALSE(second.granted());
        recorder::clear();
        CHECK(gpo_stream_wait(on.stream, 500'000) == GPO_TIMEOUT);
        CHECK(questions_of_this_thread() == 0);
    }
    CHECK(gpo::Scanner::Spinning(scanner_of(on.stream)).granted());
    on.open();
    on.expect(1, 2);
}

TEST_CASE("in latency mode and where the driver notifies, no thread that waits looks all the time") {
    for (const bool notifies : {false, true}) {
        Recorded other(notifies ? GPO_COMPLETION_BALANCED : GPO_COMPLETION_LATENCY, !notifies);
        other.notify(0);
        other.expect(0, 1);
        CHECK_FALSE(gpo::Scanner::Spinning(scanner_of(other.stream)).granted());
    }
}

TEST_CASE("while a thread waits for a queue the scanner asks all the time in the first millisecond") {
    Recorded on;
    on.shut();
    on.notify(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));   // so that the scanner's pauses are long
    recorder::clear();
    uint64_t waits = 0;
    while (waits < 1000 && recorder::count(Function::cuEventQuery) < 20 * waits + 200) {
        CHECK(gpo_cq_wait(on.queue, 900'000) == GPO_TIMEOUT);
        ++waits;
    }
    CHECK(waits < 1000);
    on.open();
    on.expect(0, 1);
}
