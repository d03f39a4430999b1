// The host captures a stream of the library, or a wrapped stream. Calls that can be recorded are recorded. Other calls
// are refused before they reach the driver, so that the capture continues and the stream stays usable.
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "driver/faults.h"
#include "driver/functions.h"
#include "driver/call_recorder.h"
#include "driver/wrapper.h"
#include "foreign/raw.h"

using namespace gpo::test;
namespace recorder = gpo::driver::recorder;
namespace faults = gpo::driver::faults;
using gpo::driver::Function;

namespace {

constexpr uint32_t kWords = 1024;

/// A runtime whose driver calls are recorded.
struct Recorded : Gpu {
    Recorded() : Gpu((gpo::driver::set_interposer(recorder::wrap), sized<gpo_runtime_options>())) {
        gpo::driver::set_interposer({});
    }
};

/// The calling thread's driver calls since recorder::clear(), except those that only query the context, the capture
/// mode, the capture of a stream, or the owner of an address.
std::set<std::string> effects() {
    const auto self = static_cast<uint32_t>(syscall(SYS_gettid));
    std::set<std::string> names;
    for (const recorder::Call& call : recorder::calls()) {
        if (call.thread != self) continue;
        switch (call.function) {
            case Function::cuCtxGetId:
            case Function::cuCtxGetCurrent:
            case Function::cuCtxSetCurrent:
            case Function::cuCtxPushCurrent:
            case Function::cuCtxPopCurrent:
            case Function::cuThreadExchangeStreamCaptureMode:
            case Function::cuStreamIsCapturing:
            case Function::cuStreamGetCaptureInfo:
            case Function::cuPointerGetAttribute:
            case Function::cuMemGetAddressRange: break;
            default: names.insert(gpo::driver::function_name(call.function));
        }
    }
    return names;
}

std::string joined(const std::set<std::string>& names) {
    std::string text;
    for (const auto& name : names) text += name + " ";
    return text;
}

/// Wraps the driver: just before an event is recorded on a stream, begins to capture the stream, as another thread of
/// the host might.
struct Intruder {
    template <class Call>
    static CUresult around(Function function, Call&& call) noexcept {
        if (function == Function::cuEventRecord)
            if (CUstream stream = next.exchange(nullptr))
                raw->cu().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
        return call();
    }
    static inline const Raw* raw = nullptr;
    static inline std::atomic<CUstream> next{nullptr};
};

struct Intruded : Gpu {
    explicit Intruded(const Raw& raw) : Gpu((interpose(raw), sized<gpo_runtime_options>())) {
        gpo::driver::set_interposer({});
    }

private:
    static void interpose(const Raw& raw) {
        Intruder::raw = &raw;
        gpo::driver::set_interposer(
            [](std::shared_ptr<gpo::driver::Driver> driver) -> std::shared_ptr<gpo::driver::Driver> {
                return std::make_shared<gpo::driver::Wrapper<Intruder>>(std::move(driver));
            });
    }
};

/// A capture that the host makes itself, through the driver.
class HostCapture {
public:
    HostCapture(const Raw& raw, CUstream stream) : raw_(raw), stream_(stream) {
        RAW_OK(raw_.cu().cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
    }
    /// Takes over the capture that the intruder has begun.
    struct Begun {};
    HostCapture(const Raw& raw, CUstream stream, Begun) : raw_(raw), stream_(stream) {}
    bool active() const {
        CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
        return raw_.cu().cuStreamIsCapturing(stream_, &status) == CUDA_SUCCESS &&
               status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    }
    /// Ends the capture, and returns the number of recorded nodes.
    size_t end() {
        size_t nodes = 0;
        RAW_OK(raw_.cu().cuStreamEndCapture(stream_, &graph_));
        RAW_OK(raw_.cu().cuGraphGetNodes(graph_, nullptr, &nodes));
        return nodes;
    }
    /// Runs what was recorded.
    void replay() {
        CUgraphExec exec = nullptr;
        RAW_OK(raw_.cu().cuGraphInstantiateWithFlags(&exec, graph_, 0));
        RAW_OK(raw_.cu().cuGraphLaunch(exec, stream_));
        RAW_OK(raw_.cu().cuStreamSynchronize(stream_));
        RAW_OK(raw_.cu().cuGraphExecDestroy(exec));
    }
    ~HostCapture() {
        if (graph_) raw_.cu().cuGraphDestroy(graph_);
    }

private:
    const Raw& raw_;
    const CUstream stream_;
    CUgraph graph_ = nullptr;
};

/// A stream that the host may capture: the library's own by its native handle, or the host's wrapped.
struct Capturable {
    Capturable(const Raw& raw, Gpu& gpu, bool wrapped) : raw_(raw) {
        auto options = sized<gpo_stream_options>();
        options.label = "the captured one";
        if (wrapped) {
            RAW_OK(raw.cu().cuStreamCreateWithPriority(&foreign_, CU_STREAM_NON_BLOCKING, 0));
            REQUIRE_OK(gpo_stream_wrap(gpu.device, foreign_, &options, stream.out()));
        } else {
            REQUIRE_OK(gpo_stream_create(gpu.device, &options, stream.out()));
        }
        void* handle = nullptr;
        REQUIRE_OK(gpo_stream_get_native(stream, &handle));
        native = static_cast<CUstream>(handle);
    }
    ~Capturable() {
        stream.reset();
        if (foreign_) raw_.cu().cuStreamDestroy(foreign_);
    }

    Stream stream;
    CUstream native = nullptr;

private:
    const Raw& raw_;
    CUstream foreign_ = nullptr;
};

void nothing(void*, const gpo_completion*, const gpo_error*) {}
gpo_status no_work(void*, const gpo_host_call*) { return GPO_SUCCESS; }

gpo_copy piece(uint64_t destination, const void* source, uint64_t bytes) {
    auto copy = sized<gpo_copy>();
    copy.destination = destination;
    copy.source = reinterpret_cast<uint64_t>(source);
    copy.bytes = bytes;
    return copy;
}

/// A call that a capture refuses, and that succeeds after the capture's end.
struct Refused {
    const char* name;
    std::function<gpo_status()> call;
    const char* culprit = "the captured one";   // expected in the message
    std::set<std::string> elsewhere = {};       // driver calls that it makes before it is refused, for other streams
};

/// Calls that a capture refuses, and their objects.
struct RefusedCalls {
    RefusedCalls(const Raw& raw, bool wrapped) : captured(raw, gpu, wrapped), stream(captured.stream) {
        other = gpu.stream("other");
        queue = gpu.queue();
        executor = gpu.executor(0, 1);
        inside = gpu.event(GPO_EVENT_TIMING);
        outside = gpu.event();
        REQUIRE_OK(gpo_object_set_label(inside, "inside"));
        REQUIRE_OK(gpo_object_set_label(outside, "outside"));
        awaited = gpu.timeline();
        signalled = gpu.timeline();
        memory = gpu.memory(64 << 10);
        REQUIRE_OK(gpo_pool_create(gpu.device, nullptr, pool.out()));
        REQUIRE_OK(gpo_pool_allocate(pool, stream, 256, &piece_of_pool));
        REQUIRE_OK(gpo_event_record(outside, other));
        REQUIRE_OK(gpo_stream_notify(stream, queue, 0));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        REQUIRE_OK(gpo_stream_wait(other, kPatience));
        take(queue, 1);

        batch[0] = piece(memory, pageable.data(), 100);
        batch[1] = piece(memory + 4096, pageable.data() + 200, 100);
        rows.destination = memory;
        rows.source = reinterpret_cast<uint64_t>(pageable.data());
        rows.destination_pitch = rows.source_pitch = 128;
        rows.width = 100;
        rows.height = 8;
    }

    std::vector<Refused> calls() {
        return {
            {"query", [&] { return gpo_stream_query(stream); }},
            {"wait", [&] { return gpo_stream_wait(stream, kPatience); }},
            {"notify", [&] { return gpo_stream_notify(stream, queue, 1); }},
            {"timed notify", [&] { return gpo_stream_notify_timed(stream, queue, 2, inside); }},
            {"then", [&] { return gpo_stream_then(stream, executor, nothing, nullptr); }},
            {"timed notify elsewhere", [&] { return gpo_stream_notify_timed(other, queue, 4, inside); }, "inside"},
            {"host call", [&] { return gpo_stream_host_call(stream, executor, no_work, nullptr); }},
            {"timeline signal", [&] { return gpo_stream_signal_timeline(stream, signalled, 1); }},
            {"timeline wait", [&] { return gpo_stream_wait_timeline(stream, awaited, 1); }},
            {"wait for what lies outside", [&] { return gpo_stream_wait_event(stream, outside); }},
            {"wait for a stream outside", [&] { return gpo_stream_wait_stream(stream, other); }, "the captured one",
             {"cuEventCreate", "cuEventRecord", "cuEventDestroy"}},
            {"pageable copy in", [&] { return gpo_copy_to_device(stream, memory, pageable.data(), 4096); }},
            {"pageable copy out", [&] { return gpo_copy_to_host(stream, pageable.data(), memory, 4096); }},
            {"pageable batch", [&] { return gpo_copy_batch(stream, batch, sizeof batch[0], 2); }},
            {"pageable rows", [&] { return gpo_copy_rows(stream, &rows); }},
            {"allocation in order", [&] { return gpo_pool_allocate(pool, stream, 256, &another); }},
            {"free in order", [&] { return gpo_pool_free(pool, stream, piece_of_pool); }},
            {"event query", [&] { return gpo_event_query(inside); }, "inside"},
            {"event wait", [&] { return gpo_event_wait(inside, kPatience); }, "inside"},
            {"event notify", [&] { return gpo_event_notify(inside, queue, 3); }, "inside"},
            {"event then", [&] { return gpo_event_then(inside, executor, nothing, nullptr); }, "inside"},
            {"event elapsed", [&] { return gpo_event_get_elapsed(inside, inside, &elapsed); }, "inside"},
        };
    }

    /// Makes each call during the capture: it must be refused.
    void make_during(HostCapture& capture) {
        auto before = sized<gpo_stream_info>();
        REQUIRE_OK(gpo_event_record(inside, stream));
        REQUIRE_OK(gpo_stream_get_info(stream, &before));
        for (const Refused& refusal : refused) {
            CAPTURE(std::string(refusal.name));
            recorder::clear();
            CHECK_STATUS(GPO_CAPTURE_REFUSED, refusal.call());
            CHECK(joined(effects()) == joined(refusal.elsewhere));
            CHECK(std::string(last_error().message).find(refusal.culprit) != std::string::npos);
            CHECK(capture.active());
        }
        gpo_stream_info after = info_of(stream);
        CHECK(after.accepted == before.accepted);
        CHECK(after.held == 0);
        REQUIRE_OK(gpo_fill(stream, memory, 7, 1, 4096));
        CHECK(capture.end() == 1);
    }
    /// Makes each call after the capture: it must succeed.
    void make_after(bool wrapped) {
        REQUIRE_OK(gpo_event_record(inside, stream));
        REQUIRE_OK(gpo_timeline_signal(awaited, 1));
        for (const Refused& refusal : refused) {
            CAPTURE(std::string(refusal.name));
            if (wrapped && refusal.name == std::string("host call")) {
                CHECK_STATUS(GPO_NOT_SUPPORTED, refusal.call());
                continue;
            }
            gpo_status status = refusal.call();
            if (refusal.name == std::string("query")) status = status == GPO_NOT_READY ? GPO_SUCCESS : status;
            CHECK_OK(status);
            REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        }
        CHECK(take(queue, 4).size() == 4);
        REQUIRE_OK(gpo_executor_run_for(executor, kPatience, nullptr));
        REQUIRE_OK(gpo_timeline_wait(signalled, 1, kPatience));
    }
    void check_replay(HostCapture& capture) {
        capture.replay();
        REQUIRE_OK(gpo_copy_to_host(stream, pageable.data(), memory, 4096));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        CHECK(std::count(pageable.begin(), pageable.begin() + 4096, 7) == 4096);
        REQUIRE_OK(gpo_pool_free(pool, stream, another));
    }

    Recorded gpu;
    Capturable captured;
    gpo_stream_t stream;
    Stream other;
    Queue queue;
    Executor executor;
    Event inside, outside;
    Timeline awaited, signalled;
    Memory memory;
    std::vector<uint8_t> pageable = std::vector<uint8_t>(64 << 10);
    Pool pool;
    uint64_t piece_of_pool = 0, another = 0;
    gpo_copy batch[2];
    gpo_copy_2d rows = sized<gpo_copy_2d>();
    int64_t elapsed = 0;
    const std::vector<Refused> refused = calls();
};

}  // namespace

TEST_CASE("what a capture can't record is refused before the driver hears of it, and the stream is usable again") {
    Raw raw;
    const Current current(raw, raw.primary);
    for (const bool wrapped : {false, true}) {
        CAPTURE(wrapped);
        RefusedCalls calls(raw, wrapped);
        HostCapture capture(raw, calls.captured.native);
        calls.make_during(capture);
        calls.make_after(wrapped);
        calls.check_replay(capture);
    }
}

TEST_CASE("launches, copies, fills and the order between streams are recorded, on streams that join the capture too") {
    Raw raw;
    const Current current(raw, raw.primary);
    for (const bool wrapped : {false, true}) {
        CAPTURE(wrapped);
        Recorded gpu;
        Capturable captured(raw, gpu, wrapped);
        gpo_stream_t stream = captured.stream;
        Stream side = gpu.stream("side"), branch = gpu.stream("branch");
        Queue queue = gpu.queue();
        Event fork = gpu.event(), join = gpu.event();
        Writer writer(gpu);
        Memory memory = gpu.memory(kWords * 4);
        auto words = gpu.pinned<uint32_t>(8);
        auto back = gpu.pinned<uint32_t>(kWords);
        // Load everything lazy before the capture.
        REQUIRE_OK(writer.write(stream, &words[0], 0));
        REQUIRE_OK(writer.add(stream, &words[0], &words[1], 0));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));

        HostCapture capture(raw, captured.native);
        REQUIRE_OK(writer.write(stream, &words[0], 40));
        REQUIRE_OK(gpo_event_record(fork, stream));
        REQUIRE_OK(gpo_stream_wait_event(side, fork));
        REQUIRE_OK(writer.add(side, &words[1], &words[0], 2));
        REQUIRE_OK(gpo_stream_wait_stream(branch, side));
        REQUIRE_OK(gpo_fill(branch, memory, 9, 4, kWords));
        REQUIRE_OK(gpo_copy_to_host(branch, back.data(), memory, back.bytes()));
        // Streams that have joined the capture are treated like the stream that the host captured first.
        CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_notify(side, queue, 1));
        CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_query(branch));
        REQUIRE_OK(gpo_event_record(join, branch));
        REQUIRE_OK(gpo_stream_wait_event(stream, join));
        REQUIRE_OK(writer.add(stream, &words[2], &words[1], 100));
        CHECK(capture.active());
        CHECK(capture.end() == 5);
        CHECK(read(words[0]) == 0);
        CHECK(read(words[2]) == 0);
        CHECK(read(back[0]) == 0);

        for (int turn = 0; turn < 2; ++turn) {
            capture.replay();
            CHECK(read(words[1]) == 42);
            CHECK(read(words[2]) == 142);
            CHECK(std::count(back.begin(), back.end(), 9) == kWords);
            words[1] = words[2] = 0;
            std::fill(back.begin(), back.end(), 0);
        }
        for (gpo_stream_t each : {stream, side.get(), branch.get()}) {
            REQUIRE_OK(gpo_stream_notify(each, queue, 2));
            REQUIRE_OK(gpo_stream_wait(each, kPatience));
        }
        for (const auto& entry : take(queue, 3)) CHECK_OK(entry.status);
    }
}

TEST_CASE("numbers for GPUORCH_ATTRIBUTE stay out of captures, which outlive their runtime") {
    Raw raw;
    const Current current(raw, raw.primary);
    CUdeviceptr memory = 0;
    RAW_OK(raw.cu().cuMemAlloc(&memory, 8));
    for (const bool traced : {false, true}) {
        CAPTURE(traced);
        CUstream native = nullptr;
        RAW_OK(raw.cu().cuStreamCreateWithPriority(&native, CU_STREAM_NON_BLOCKING, 0));
        HostCapture* capture = nullptr;
        {
            setenv("GPUORCH_ATTRIBUTE", "1", 1);
            Gpu gpu;
            unsetenv("GPUORCH_ATTRIBUTE");
            if (traced) REQUIRE_OK(gpo_trace_start(gpu.runtime, nullptr));
            Stream stream, side = gpu.stream("side");
            REQUIRE_OK(gpo_stream_wrap(gpu.device, native, nullptr, stream.out()));
            Event fork = gpu.event(), join = gpu.event();
            REQUIRE_OK(gpo_fill(stream, memory, 1, 1, 8));
            REQUIRE_OK(gpo_fill(side, memory, 1, 1, 4));
            capture = new HostCapture(raw, native);
            REQUIRE_OK(gpo_fill(stream, memory, 7, 1, 4));
            REQUIRE_OK(gpo_event_record(fork, stream));
            REQUIRE_OK(gpo_stream_wait_event(side, fork));
            REQUIRE_OK(gpo_fill(side, memory + 4, 9, 1, 4));
            REQUIRE_OK(gpo_event_record(join, side));
            REQUIRE_OK(gpo_stream_wait_event(stream, join));
            CHECK(capture->end() == 2);
            REQUIRE_OK(gpo_stream_wait(stream, kPatience));
            REQUIRE_OK(gpo_stream_wait(side, kPatience));
        }
        RAW_OK(raw.cu().cuMemsetD8Async(memory, 0, 8, native));
        capture->replay();
        uint8_t bytes[8] = {};
        RAW_OK(raw.cu().cuMemcpyDtoHAsync(bytes, memory, 8, native));
        RAW_OK(raw.cu().cuStreamSynchronize(native));
        CHECK(bytes[3] == 7);
        CHECK(bytes[4] == 9);
        delete capture;
        raw.cu().cuStreamDestroy(native);
    }
    raw.cu().cuMemFree(memory);
}

TEST_CASE(
    "with the legacy stream wrapped, a capture of a blocking stream goes on through frees and waits for the device") {
    Raw raw;
    const Current current(raw, raw.primary);
    Gpu gpu;
    CUstream blocking = nullptr;
    RAW_OK(raw.cu().cuStreamCreateWithPriority(&blocking, CU_STREAM_DEFAULT, 0));
    {
        Stream legacy;
        REQUIRE_OK(gpo_stream_wrap(gpu.device, nullptr, nullptr, legacy.out()));
        Event event = gpu.event();
        Memory memory = gpu.memory(4096);
        REQUIRE_OK(gpo_fill(legacy, memory, 7, 4, 1024));
        HostCapture capture(raw, blocking);
        memory = Memory();
        for (int i = 0; i < 20; ++i) {
            CHECK_OK(gpo_device_wait(gpu.device, kPatience));
            CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_query(legacy));
            CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_event_record(event, legacy));
            usleep(1000);   // for the library's threads
            CHECK(capture.active());
        }
        CHECK(capture.end() == 0);
        CHECK_OK(gpo_device_wait(gpu.device, kPatience));
        CHECK_OK(gpo_event_record(event, legacy));
        CHECK_OK(gpo_stream_wait(legacy, kPatience));
    }
    RAW_OK(raw.cu().cuStreamDestroy(blocking));
}

TEST_CASE("an event of one capture is refused in another, and both go on") {
    Raw raw;
    const Current current(raw, raw.primary);
    Recorded gpu;
    Capturable first(raw, gpu, false), second(raw, gpu, true);
    Event event = gpu.event();
    Memory memory = gpu.memory(4096);
    HostCapture one(raw, first.native), two(raw, second.native);
    REQUIRE_OK(gpo_fill(first.stream, memory, 1, 4, 10));
    REQUIRE_OK(gpo_event_record(event, first.stream));
    recorder::clear();
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_wait_event(second.stream, event));
    CHECK(joined(effects()) == "");
    REQUIRE_OK(gpo_fill(second.stream, memory, 2, 4, 10));
    REQUIRE_OK(gpo_stream_wait_event(first.stream, event));
    CHECK(one.end() == 1);
    // A stream can't join a capture that has ended.
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_wait_event(second.stream, event));
    CHECK(two.active());
    CHECK(two.end() == 1);
}

TEST_CASE("what is held when a capture begins runs when it has ended, and is not in its graph") {
    Raw raw;
    const Current current(raw, raw.primary);
    Recorded gpu;
    Capturable captured(raw, gpu, false);
    gpo_stream_t stream = captured.stream;
    Queue queue = gpu.queue();
    Timeline timeline = gpu.timeline();
    Event event = gpu.event();
    Memory memory = gpu.memory(4096);
    auto back = gpu.pinned<uint32_t>(4);
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_fill(stream, memory, 5, 4, 4));
    REQUIRE_OK(gpo_copy_to_host(stream, back.data(), memory, back.bytes()));
    REQUIRE_OK(gpo_event_record(event, stream));
    REQUIRE_OK(gpo_stream_notify(stream, queue, 1));

    HostCapture capture(raw, captured.native);
    // The call is refused, because work behind held work can't be recorded.
    recorder::clear();
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_fill(stream, memory, 6, 4, 4));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_wait_event(stream, event));
    CHECK(joined(effects()) == "");
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 20'000'000));
    CHECK(capture.active());
    CHECK(capture.end() == 0);
    for (const auto& entry : take(queue, 1)) CHECK_OK(entry.status);
    for (uint32_t word : back) CHECK(word == 5);
}

TEST_CASE("a timeline that another stream is on the way to signal can't be waited for inside a capture" * gated) {
    Raw raw;
    const Current current(raw, raw.primary);
    for (const bool wrapped : {false, true}) {
        CAPTURE(wrapped);
        Recorded gpu;
        Capturable captured(raw, gpu, wrapped);
        Stream signaller = gpu.stream();
        Timeline timeline = gpu.timeline();
        Memory memory = gpu.memory(4096);
        Gate gate(gpu);
        gate.put_on(signaller);
        REQUIRE_OK(gpo_stream_signal_timeline(signaller, timeline, 1));
        HostCapture capture(raw, captured.native);
        recorder::clear();
        CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_wait_timeline(captured.stream, timeline, 1));
        CHECK(joined(effects()) == "");
        CHECK(capture.active());
        gate.open();
        REQUIRE_OK(gpo_timeline_wait(timeline, 1, kPatience));
        REQUIRE_OK(gpo_stream_wait_timeline(captured.stream, timeline, 1));   // reached: nothing to wait for
        REQUIRE_OK(gpo_fill(captured.stream, memory, 1, 4, 4));
        CHECK(capture.end() == 1);
        REQUIRE_OK(gpo_stream_wait(captured.stream, kPatience));
    }
}

TEST_CASE("an event that was recorded in a capture is as any other when it is recorded again on a held stream") {
    Raw raw;
    const Current current(raw, raw.primary);
    Recorded gpu;
    Capturable captured(raw, gpu, false);
    Timeline first = gpu.timeline(), second = gpu.timeline();
    Queue queue = gpu.queue();
    Stream recording = gpu.stream("recording"), waiting = gpu.stream("waiting");
    Event event = gpu.event();
    Memory memory = gpu.memory(16);
    {
        HostCapture capture(raw, captured.native);
        REQUIRE_OK(gpo_event_record(event, captured.stream));
        REQUIRE_OK(gpo_fill(captured.stream, memory, 1, 1, 16));
        capture.end();
    }
    REQUIRE_OK(gpo_stream_wait_timeline(waiting, second, 1));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_wait_event(waiting, event));
    REQUIRE_OK(gpo_stream_wait_timeline(recording, first, 1));
    REQUIRE_OK(gpo_event_record(event, recording));
    CHECK_STATUS(GPO_NOT_READY, gpo_event_query(event));
    REQUIRE_OK(gpo_event_notify(event, queue, 1));
    REQUIRE_OK(gpo_stream_wait_event(waiting, event));
    REQUIRE_OK(gpo_event_record(event, waiting));
    REQUIRE_OK(gpo_timeline_signal(second, 1));
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(waiting, 2'000'000));
    REQUIRE_OK(gpo_timeline_signal(first, 1));
    CHECK_OK(gpo_stream_wait(waiting, kPatience));
    CHECK_OK(gpo_event_wait(event, kPatience));
    CHECK_OK(take(queue, 1)[0].status);
}

TEST_CASE("however often a held stream is to wait for a recording, it takes one stream of the library's" * gated) {
    Recorded gpu;
    Gate gate(gpu);
    Timeline timeline = gpu.timeline();
    Stream busy = gpu.stream("busy"), held = gpu.stream("held");
    Event event = gpu.event();
    gate.put_on(busy);
    REQUIRE_OK(gpo_event_record(event, busy));
    REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 1));
    recorder::clear();
    for (int i = 0; i < 50; ++i) {
        REQUIRE_OK(gpo_stream_wait_event(held, event));
        REQUIRE_OK(gpo_stream_wait_stream(held, busy));
    }
    CHECK(recorder::count(Function::cuStreamCreateWithPriority) == 1);
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(held, 2'000'000));
    gate.open();
    CHECK_OK(gpo_stream_wait(held, kPatience));
}

TEST_CASE("a capture that begins just before the library marks the stream goes on, and the mark comes behind it" *
          gated) {
    Raw raw;
    const Current current(raw, raw.primary);
    for (const char* what : {"notify", "wait", "then", "cancel", "host call", "free"}) {
        CAPTURE(std::string(what));
        const auto is = [&](const char* name) { return what == std::string(name); };
        Intruded gpu(raw);
        Capturable captured(raw, gpu, false);
        Queue queue = gpu.queue();
        Executor executor = gpu.executor(0, 1);
        Timeline timeline = gpu.timeline();
        Memory memory = gpu.memory(64);
        Gate gate(gpu);
        gate.put_on(captured.stream);
        if (is("cancel")) {
            REQUIRE_OK(gpo_stream_wait_timeline(captured.stream, timeline, 1));
            REQUIRE_OK(gpo_stream_notify(captured.stream, queue, 1));
        }
        if (is("free")) {
            // The scanner records this mark after the first capture has ended.
            HostCapture first(raw, captured.native);
            memory = Memory();
            Intruder::next = captured.native;
            CHECK(first.end() == 0);
            while (Intruder::next.load()) usleep(1000);
        } else {
            Intruder::next = captured.native;
            if (is("notify")) CHECK_OK(gpo_stream_notify(captured.stream, queue, 1));
            if (is("wait")) CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(captured.stream, 1'000'000));
            if (is("then")) CHECK_OK(gpo_stream_then(captured.stream, executor, nothing, nullptr));
            if (is("cancel")) CHECK_OK(gpo_stream_cancel_held(captured.stream, nullptr));
            if (is("host call")) CHECK_OK(gpo_stream_host_call(captured.stream, executor, no_work, nullptr));
            CHECK(Intruder::next.load() == nullptr);
        }
        {
            HostCapture capture(raw, captured.native, HostCapture::Begun());
            usleep(20'000);   // for the scanner
            CHECK(capture.active());
            CHECK(capture.end() == 0);
        }
        CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 5'000'000));   // the gate is shut
        CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 5'000'000));
        gate.open();
        if (is("notify")) CHECK_OK(take(queue, 1)[0].status);
        if (is("cancel")) CHECK(take(queue, 1)[0].status == GPO_CANCELLED);
        CHECK_OK(gpo_device_wait(gpu.device, kPatience));
        CHECK_OK(gpo_stream_wait(captured.stream, kPatience));
    }
}

TEST_CASE("a capture that begins just before a timeline's signal is recorded refuses it, and goes on") {
    Raw raw;
    const Current current(raw, raw.primary);
    Intruded gpu(raw);
    Capturable captured(raw, gpu, false);
    Stream other = gpu.stream();
    Timeline timeline = gpu.timeline();
    Intruder::next = captured.native;
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_signal_timeline(captured.stream, timeline, 1));
    HostCapture capture(raw, captured.native, HostCapture::Begun());
    REQUIRE_OK(gpo_stream_wait_timeline(other, timeline, 1));
    usleep(20'000);
    CHECK(capture.active());
    CHECK(capture.end() == 0);
    CHECK_OK(gpo_stream_signal_timeline(captured.stream, timeline, 1));
    CHECK_OK(gpo_stream_wait(other, kPatience));
}

TEST_CASE("a mark whose event has got into a capture is recorded again") {
    Raw raw;
    gpo::driver::set_interposer(faults::wrap);
    Gpu gpu;
    gpo::driver::set_interposer({});
    Capturable captured(raw, gpu, false);
    Queue queue = gpu.queue();
    faults::arm({.function = Function::cuEventQuery, .kth = 1, .result = CUDA_ERROR_CAPTURED_EVENT});
    REQUIRE_OK(gpo_stream_notify(captured.stream, queue, 1));
    CHECK_OK(take(queue, 1)[0].status);
    CHECK(faults::failed() == 1);
    faults::disarm();
    CHECK_OK(gpo_stream_wait(captured.stream, kPatience));
}

TEST_CASE("what is cancelled while the stream is captured is told when the work before it has ended" * gated) {
    Raw raw;
    const Current current(raw, raw.primary);
    Gpu gpu;
    Capturable captured(raw, gpu, false);
    Queue queue = gpu.queue();
    Timeline timeline = gpu.timeline();
    Gate gate(gpu);
    gate.put_on(captured.stream);
    REQUIRE_OK(gpo_stream_wait_timeline(captured.stream, timeline, 1));
    REQUIRE_OK(gpo_stream_notify(captured.stream, queue, 1));
    {
        HostCapture capture(raw, captured.native);
        CHECK_OK(gpo_stream_cancel_held(captured.stream, nullptr));
        CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 5'000'000));
        CHECK(capture.active());
        CHECK(capture.end() == 0);
    }
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 5'000'000));
    gate.open();
    CHECK(take(queue, 1)[0].status == GPO_CANCELLED);
}
