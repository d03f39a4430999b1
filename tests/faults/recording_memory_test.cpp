// Recordings while memory runs out: each failed call reports the shortage, and so does the end of a recording that
// lacks that call's nodes.
#include <doctest/doctest.h>

#include <string>

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

    /// Whether all of it has been put there. `lacks`: whether the recording lacks a piece then.
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
    Recorder gpu;
    gpu.record_well();
    uint64_t failures = 0;
    // Functions of the recording itself, without those that manage the context.
    for (const Function function :
         {Function::cuStreamBeginCapture, Function::cuStreamGetCaptureInfo, Function::cuStreamIsCapturing,
          Function::cuLaunchKernel, Function::cuLaunchKernelEx, Function::cuEventRecord, Function::cuStreamWaitEvent,
          Function::cuMemsetD32Async, Function::cuGraphAddNode, Function::cuGraphGetNodes,
          Function::cuStreamEndCapture})
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
    CHECK(failures > 10);
}
