// Recordings while memory runs out: each failed call reports the shortage, and so does the end of a recording that
// lacks that call's nodes. And captured recordings while the driver can't report the capture of a stream.
#include <doctest/doctest.h>

#include <string>
#include <thread>

#include "driver/faults.h"
#include "faults/allocations.h"
#include "support/gpu.h"

using namespace gpo::test;
namespace faults = gpo::driver::faults;
using gpo::driver::Function;

namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void put(unsigned *word, unsigned value) { *word = value; }
)";

struct Recorder : Gpu {
    Recorder()
        : on(stream("on")), beside(stream("beside")), forked(event()), joined(event()), words(memory(4096)),
          put(kernel(kSource, "put")) {}

    gpo_status told(gpo_status status) {
        if (status == GPO_SUCCESS) return status;
        CAPTURE(std::string(gpo_status_name(status)));
        auto error = sized<gpo_error>();
        gpo_last_error(&error);
        CAPTURE(std::string(error.function));
        CAPTURE(std::string(error.message));
        CHECK(status == GPO_OUT_OF_MEMORY);
        return status;
    }

    /// Puts the work on both streams. True if all calls succeeded. `lacks`: whether the recording is incomplete.
    bool put_on_streams(gpo_template_t recorded, bool& lacks) {
        const uint64_t address = words;
        uint32_t node = 0, empty = 0;
        lacks = true;
        if (told(launch(on, put, 1, 1, address, 1u)) || told(gpo_event_record(forked, on))) return false;
        lacks = false;   // a stream that can't join isn't in the recording
        if (told(gpo_stream_wait_event(beside, forked))) return false;
        lacks = true;
        if (told(gpo_fill(beside, address + 8, 7, 4, 4)) ||
            told(gpo_template_add_empty(recorded, nullptr, 0, &empty)) || told(gpo_event_record(joined, beside)) ||
            told(gpo_stream_wait_event(on, joined)))
            return false;
        lacks = false;
        return !told(gpo_template_get_last_node(recorded, beside, &node)) &&
               !told(gpo_template_add_parameter(recorded, "value", node, GPO_PARAMETER_VALUE, 0));
    }

    /// Whether all of that was recorded.
    bool record(gpo_template_t recorded) {
        if (told(gpo_template_begin(recorded, on))) return false;
        bool lacks = false;
        const bool whole = put_on_streams(recorded, lacks);
        const gpo_status ended = told(gpo_template_end(recorded));
        if (lacks) CHECK(ended == GPO_OUT_OF_MEMORY);
        return whole && ended == GPO_SUCCESS;
    }

    /// With memory, on the same streams.
    void record_well() {
        Template recorded;
        Graph graph;
        REQUIRE_OK(gpo_template_create(device, nullptr, recorded.out()));
        REQUIRE(record(recorded));
        CHECK_OK(gpo_graph_create(recorded, nullptr, graph.out()));
    }

    Stream on, beside;
    Event forked, joined;
    Memory words;
    Kernel put;
};

/// Lets the driver capture the stream's recordings: the program has its native handle.
void give_out(gpo_stream_t stream) {
    void* native = nullptr;
    REQUIRE_OK(gpo_stream_get_native(stream, &native));
}

/// Makes each call of this driver function fail during a recording, first alone, then with all later ones. Returns the
/// number of failed recordings.
uint64_t fail_each_call(Recorder& gpu, Function function) {
    uint64_t failures = 0;
    for (const bool for_ever : {false, true})
        for (uint64_t kth = 1;; ++kth) {
            if (for_ever && function == Function::cuStreamEndCapture) break;   // the stream would stay captured
            CAPTURE(std::string(gpo::driver::function_name(function)));
            CAPTURE(for_ever);
            CAPTURE(kth);
            Template recorded;
            REQUIRE_OK(gpo_template_create(gpu.device, nullptr, recorded.out()));
            faults::arm({function, kth, CUDA_ERROR_OUT_OF_MEMORY, for_ever});
            gpu.record(recorded);
            const bool failed = faults::failed() > 0;
            faults::disarm();
            if (!failed) break;
            ++failures;
            REQUIRE(kth < 1000);
            gpu.record_well();
        }
    return failures;
}

}  // namespace

TEST_CASE("an allocation that fails in a recording is told as that, whichever it is") {
    Recorder gpu;
    gpu.record_well();
    uint64_t failures = 0;
    for (const bool for_ever : {false, true})
        for (uint64_t kth = 1;; ++kth) {
            CAPTURE(for_ever);
            CAPTURE(kth);
            Template recorded;
            REQUIRE_OK(gpo_template_create(gpu.device, nullptr, recorded.out()));
            allocations::arm(kth, for_ever);
            gpu.record(recorded);
            allocations::disarm();
            if (allocations::failed() == 0) break;
            ++failures;
            REQUIRE(kth < 10'000);
            gpu.record_well();
        }
    CHECK(failures > 20);
}

TEST_CASE("a driver that has no memory in a recording is told as that, whichever call it is") {
    for (const bool captured : {false, true}) {
        CAPTURE(captured);
        Recorder gpu;
        if (captured) give_out(gpu.on);
        gpu.record_well();
        uint64_t failures = 0;
        // Functions of the recording itself, without those that manage the context.
        for (const Function function :
             {Function::cuStreamBeginCapture, Function::cuStreamGetCaptureInfo, Function::cuStreamIsCapturing,
              Function::cuLaunchKernel, Function::cuLaunchKernelEx, Function::cuEventRecord,
              Function::cuStreamWaitEvent, Function::cuMemsetD32Async, Function::cuGraphCreate,
              Function::cuGraphAddNode, Function::cuGraphGetNodes, Function::cuStreamEndCapture})
            failures += fail_each_call(gpu, function);
        CHECK(failures > (captured ? 10 : 3));
    }
}

namespace {

bool says(const std::string& part) {
    auto error = sized<gpo_error>();
    gpo_last_error(&error);
    CAPTURE(std::string(error.message));
    return std::string(error.message).find(part) != std::string::npos;
}

/// A recording that is begun on a stream.
Template begun(gpo_device_t device, gpo_stream_t stream) {
    Template recorded;
    REQUIRE_OK(gpo_template_create(device, nullptr, recorded.out()));
    REQUIRE_OK(gpo_template_begin(recorded, stream));
    return recorded;
}

}  // namespace

TEST_CASE("a recording isn't whole if the driver can't report the capture of a stream that was given work") {
    Recorder gpu;
    give_out(gpu.on);
    give_out(gpu.beside);
    for (const CUresult refusal : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_PERMITTED})
        for (const bool joined : {false, true}) {
            CAPTURE(refusal);
            CAPTURE(joined);
            const gpo_stream_t stream = joined ? gpu.beside : gpu.on;
            Template recorded = begun(gpu.device, gpu.on);
            if (joined) REQUIRE_OK(gpo_stream_wait_stream(stream, gpu.on));
            faults::arm({Function::cuStreamGetCaptureInfo, 1, refusal, true});
            const gpo_status put = launch(stream, gpu.put, 1, 1, uint64_t{gpu.words}, 1u);
            faults::disarm();
            CHECK_OK(put);
            if (joined) CHECK_OK(gpo_stream_wait_stream(gpu.on, stream));
            CHECK_STATUS(refusal == CUDA_ERROR_OUT_OF_MEMORY ? GPO_OUT_OF_MEMORY : GPO_CAPTURE_REFUSED,
                         gpo_template_end(recorded));
            CHECK(says(joined ? "kernel on stream `beside`" : "kernel on stream `on`"));
            CHECK(says("which node the operation has become isn't known: "));
            gpu.record_well();
        }
}

TEST_CASE("a recording isn't whole if a call on its stream was refused while the driver couldn't report the capture") {
    Recorder gpu;
    give_out(gpu.on);
    for (const Function function : {Function::cuStreamGetCaptureInfo, Function::cuCtxPushCurrent}) {
        CAPTURE(std::string(gpo::driver::function_name(function)));
        Template recorded = begun(gpu.device, gpu.on);
        faults::arm({function, 1, CUDA_ERROR_NOT_PERMITTED, true});
        const gpo_status refused = gpo_fill(gpu.on, gpu.words, 1, 3, 1);
        faults::disarm();
        CHECK_STATUS(GPO_INVALID_ARGUMENT, refused);
        CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(recorded));
        CHECK(says("gpo_fill on stream `on`"));
        gpu.record_well();
    }
}

TEST_CASE("no recording is whole if the driver can't report which one a stream is in") {
    Recorder gpu;
    give_out(gpu.on);
    give_out(gpu.beside);
    Stream third = gpu.stream("third");
    give_out(third);
    Template first = begun(gpu.device, gpu.on), second = begun(gpu.device, gpu.beside);
    faults::arm({Function::cuStreamGetCaptureInfo, 1, CUDA_ERROR_OUT_OF_MEMORY, true});
    const gpo_status put = launch(third, gpu.put, 1, 1, uint64_t{gpu.words}, 1u);
    faults::disarm();
    CHECK_OK(put);
    for (const gpo_template_t recorded : {first.get(), second.get()}) {
        CHECK_STATUS(GPO_OUT_OF_MEMORY, gpo_template_end(recorded));
        CHECK(says("kernel on stream `third`"));
    }
    CHECK_OK(gpo_stream_wait(third, kPatience));
    gpu.record_well();
}

TEST_CASE("work of another thread on a stream in no recording is done, though the driver can't say so at once") {
    Recorder gpu;
    give_out(gpu.on);
    give_out(gpu.beside);
    Template recorded = begun(gpu.device, gpu.on);
    CHECK_OK(launch(gpu.on, gpu.put, 1, 1, uint64_t{gpu.words}, 1u));
    std::thread([&] {
        faults::arm({Function::cuStreamGetCaptureInfo, 1, CUDA_ERROR_OUT_OF_MEMORY});
        const gpo_status put = launch(gpu.beside, gpu.put, 1, 1, uint64_t{gpu.words}, 2u);
        CHECK(faults::failed() == 1);
        faults::disarm();
        CHECK_OK(put);
    }).join();
    CHECK_OK(gpo_template_end(recorded));
    CHECK_OK(gpo_stream_wait(gpu.beside, kPatience));
}

TEST_CASE("work of another thread spoils a recording, though the driver can't say at once that the stream is in it") {
    Recorder gpu;
    give_out(gpu.on);
    Template recorded = begun(gpu.device, gpu.on);
    std::thread([&] {
        faults::arm({Function::cuStreamGetCaptureInfo, 1, CUDA_ERROR_OUT_OF_MEMORY});
        launch(gpu.on, gpu.put, 1, 1, uint64_t{gpu.words}, 2u);
        CHECK(faults::failed() == 1);
        faults::disarm();
    }).join();
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(recorded));
    CHECK(says("only the thread that began it"));
    gpu.record_well();
}
