// A stream of the host's that is wrapped: once the handle is destroyed and the work is done the host may destroy it, and the
// library names it to the driver no more.
#include <unistd.h>

#include <string>
#include <utility>

#include "driver/functions.h"
#include "driver/recorder.h"
#include "foreign/raw.h"

using namespace gpo::test;
namespace recorder = gpo::driver::recorder;

namespace {

struct Recorded : Gpu {
    Recorded() : Gpu((gpo::driver::set_interposer(recorder::wrap), sized<gpo_runtime_options>())) {
        gpo::driver::set_interposer({});
    }
};

/// The driver's calls for what isn't there any more. A GPU's driver needn't survive them.
std::string stale_calls() {
    std::string names;
    for (const recorder::Call& call : recorder::calls())
        if (call.result == CUDA_ERROR_INVALID_HANDLE) names += std::string(gpo::driver::function_name(call.function)) + " ";
    return names;
}

struct Wrapped {
    Wrapped(const Raw& raw, Gpu& gpu) : raw_(raw) {
        RAW_OK(raw_.cu().cuStreamCreateWithPriority(&native_, CU_STREAM_NON_BLOCKING, 0));
        wrap(gpu, stream);
    }
    void wrap(Gpu& gpu, Stream& another) { REQUIRE_OK(gpo_stream_wrap(gpu.device, native_, nullptr, another.out())); }
    /// As the host does with its stream when it is done with it.
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
