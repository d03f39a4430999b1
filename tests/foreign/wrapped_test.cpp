// The host's own stream, wrapped by a handle. When the handle is destroyed and the work is done, the host may destroy
// the stream: the library never passes it to the driver again.
#include <unistd.h>

#include <string>
#include <utility>

#include "driver/functions.h"
#include "driver/call_recorder.h"
#include "foreign/raw.h"

using namespace gpo::test;
namespace recorder = gpo::driver::recorder;

namespace {

struct Recorded : Gpu {
    Recorded() : Gpu((gpo::driver::set_interposer(recorder::wrap), sized<gpo_runtime_options>())) {
        gpo::driver::set_interposer({});
    }
};

/// Driver calls with handles of destroyed objects. A real driver may crash in such a call.
std::string stale_calls() {
    std::string names;
    for (const recorder::Call& call : recorder::calls())
        if (call.result == CUDA_ERROR_INVALID_HANDLE)
            names += std::string(gpo::driver::function_name(call.function)) + " ";
    return names;
}

struct Wrapped {
    Wrapped(const Raw& raw, Gpu& gpu) : raw_(raw) {
        RAW_OK(raw_.cu().cuStreamCreateWithPriority(&native_, CU_STREAM_NON_BLOCKING, 0));
        wrap(gpu, stream);
    }
    void wrap(Gpu& gpu, Stream& another) { REQUIRE_OK(gpo_stream_wrap(gpu.device, native_, nullptr, another.out())); }
    /// Ends the stream as the host does after its use.
    void end() {
        stream.reset();
        if (!native_) return;
        RAW_OK(raw_.cu().cuStreamSynchronize(native_));
        RAW_OK(raw_.cu().cuStreamDestroy(std::exchange(native_, nullptr)));
    }
    ~Wrapped() { end(); }

    Stream stream;

private:
    const Raw& raw_;
    CUstream native_ = nullptr;
};

uint64_t waiting_in(gpo_arena_t arena) {
    auto statistics = sized<gpo_memory_statistics>();
    REQUIRE_OK(gpo_arena_get_statistics(arena, &statistics));
    return statistics.waiting;
}

}  // namespace

TEST_CASE("a wait that is refused on a wrapped stream keeps nothing of it") {
    Raw raw;
    const Current current(raw, raw.primary);
    Recorded gpu;
    Timeline timeline = gpu.timeline();
    Event event = gpu.event();
    {
        Wrapped wrapped(raw, gpu);
        CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_stream_wait_timeline(wrapped.stream, timeline, 1));
    }
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    Wrapped wrapped(raw, gpu);
    Stream held = gpu.stream();
    REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 1));
    REQUIRE_OK(gpo_event_record(event, held));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_stream_wait_event(wrapped.stream, event));
    wrapped.end();
    CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 0));
    CHECK_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    CHECK(stale_calls() == "");
}

TEST_CASE("a wrapped stream may be destroyed as soon as its handle is and its work is done") {
    Raw raw;
    const Current current(raw, raw.primary);
    Recorded gpu;
    Queue queue = gpu.queue();
    Memory memory = gpu.memory(4096);
    for (int i = 0; i < 200; ++i) {
        Wrapped wrapped(raw, gpu);
        REQUIRE_OK(gpo_fill(wrapped.stream, memory, 1, 4, 1024));
        REQUIRE_OK(gpo_stream_notify(wrapped.stream, queue, 1));
        CHECK_OK(take(queue, 1)[0].status);
        wrapped.end();
        static_cast<void>(gpu.memory(64));   // freed at once, behind the work of all streams
        CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    }
    CHECK(stale_calls() == "");
}

TEST_CASE("pieces that are freed behind a wrapped stream are free when its work is done, though the stream is gone" *
          gated) {
    Raw raw;
    const Current current(raw, raw.primary);
    Recorded gpu;
    for (int turn = 0; turn < 20; ++turn) {
        Gate gate(gpu);
        Wrapped wrapped(raw, gpu);
        void* pieces[3] = {};
        for (void*& piece : pieces) REQUIRE_OK(gpo_arena_allocate(gpu.arena(), 256, 0, &piece));
        gate.put_on(wrapped.stream);
        for (void* piece : pieces) REQUIRE_OK(gpo_arena_free_after(gpu.arena(), piece, wrapped.stream));
        wrapped.stream.reset();
        CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 100'000));
        CHECK(waiting_in(gpu.arena()) >= 3 * 256);
        gate.open();
        wrapped.end();
        for (int i = 0; i < 5000 && waiting_in(gpu.arena()) != 0; ++i) usleep(1000);
        CHECK(waiting_in(gpu.arena()) == 0);
    }
    CHECK(stale_calls() == "");
}

TEST_CASE(
    "a piece that is freed behind the host's own work on a wrapped stream waits for that when the handle is gone" *
    gated) {
    Raw raw;
    const Current current(raw, raw.primary);
    Recorded gpu;
    Gate first(gpu), second(gpu);
    Wrapped wrapped(raw, gpu);
    Stream hosts;   // a second wrapper of the same stream: neither knows the other's work
    wrapped.wrap(gpu, hosts);
    void* pieces[2] = {};
    for (void*& piece : pieces) REQUIRE_OK(gpo_arena_allocate(gpu.arena(), 256, 0, &piece));
    first.put_on(hosts);
    REQUIRE_OK(gpo_arena_free_after(gpu.arena(), pieces[0], wrapped.stream));
    second.put_on(hosts);
    REQUIRE_OK(gpo_arena_free_after(gpu.arena(), pieces[1], wrapped.stream));
    wrapped.stream.reset();
    first.open();
    for (int i = 0; i < 5000 && waiting_in(gpu.arena()) > 256; ++i) usleep(1000);
    usleep(20'000);   // for the errands
    CHECK(waiting_in(gpu.arena()) == 256);
    second.open();
    hosts.reset();
    wrapped.end();
    for (int i = 0; i < 5000 && waiting_in(gpu.arena()) != 0; ++i) usleep(1000);
    CHECK(waiting_in(gpu.arena()) == 0);
    CHECK(stale_calls() == "");
}
