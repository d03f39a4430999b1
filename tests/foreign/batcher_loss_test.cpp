// A batcher of two devices goes on when the host destroys the context of one of them.
#include <atomic>
#include <cstdlib>
#include <map>
#include <vector>

#include "foreign/raw.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

[[maybe_unused]] const bool two_devices = setenv("GPUORCH_SOFT_DEVICES", "2", 0) == 0;

/// Requests of eight bytes whose output is their input.
struct Copies {
    explicit Copies(Gpu& gpu, const std::vector<gpo_device_t>& devices) : queue(gpu.queue()) {
        auto options = sized<gpo_batcher_options>();
        options.devices = devices.data();
        options.device_count = devices.size();
        REQUIRE_OK(gpo_batcher_create(&options, batcher.out()));
        auto made = sized<gpo_batcher_key_options>();
        made.layout = GPO_BATCH_ROWS;
        made.max_batch = 2;
        made.max_delay_ns = 1;
        made.input_bytes = made.output_bytes = sizeof(uint64_t);
        made.user = this;
        made.work = [](void* user, gpo_stream_t stream, const gpo_batch* batch) {
            ++static_cast<Copies*>(user)->batches_on[batch->device];
            return gpo_copy_on_device(stream, batch->output, batch->input, batch->elements * sizeof(uint64_t));
        };
        REQUIRE_OK(gpo_batcher_add_key(batcher, &made, &key));
    }
    /// Runs as many requests. Returns how many ended with which status.
    std::map<gpo_status, int> run(uint64_t count) {
        std::vector<uint64_t> in(count), out(count);
        uint64_t ticket = 0;
        for (uint64_t i = 0; i < count; ++i) {
            in[i] = i + 1;
            auto request = sized<gpo_batcher_request>();
            request.key = key;
            request.input = &in[i];
            request.output = &out[i];
            REQUIRE_OK(gpo_batcher_submit(batcher, &request, queue, i, &ticket, nullptr));
        }
        std::map<gpo_status, int> ended;
        std::vector<int> answers(count);
        for (const gpo_completion& entry : take(queue, count)) {
            ++ended[entry.status];
            CHECK(++answers.at(entry.user_data) == 1);
            CHECK(out[entry.user_data] == (entry.status == GPO_SUCCESS ? entry.user_data + 1 : 0));
        }
        return ended;
    }

    Queue queue;
    uint32_t key = 0;
    std::atomic<int> batches_on[2]{};
    Batcher batcher;
};

}  // namespace

TEST_CASE("a batcher goes on with its other device when one is lost") {
    Raw raw;
    Gpu gpu;
    uint32_t count = 0;
    REQUIRE_OK(gpo_runtime_get_device_count(gpu.runtime, &count));
    if (count < 2) return skip("there is one device");
    auto properties = sized<gpo_device_properties>();
    REQUIRE_OK(gpo_runtime_describe_device(gpu.runtime, 1, &properties));
    CUdevice native = 0;
    RAW_OK(raw.cu().cuDeviceGet(&native, properties.native_ordinal));
    CUcontext context = nullptr, popped = nullptr;
    RAW_OK(raw.cu().cuCtxCreate(&context, 0, native));
    RAW_OK(raw.cu().cuCtxPopCurrent(&popped));
    Device second;
    auto options = sized<gpo_device_options>();
    options.ordinal = 1;
    options.native_context = context;
    REQUIRE_OK(gpo_device_open(gpu.runtime, &options, second.out()));
    Copies copies(gpu, {gpu.device, second});
    CHECK(comes_true([&] {
        CHECK(copies.run(50)[GPO_SUCCESS] == 50);
        return copies.batches_on[0] != 0 && copies.batches_on[1] != 0;
    }));
    // Nothing runs now.
    RAW_OK(raw.cu().cuCtxDestroy(context));
    int lost = 0;
    for (int round = 0; round < 40; ++round) {
        auto ended = copies.run(50);
        CHECK(ended[GPO_SUCCESS] + ended[GPO_DEVICE_LOST] == 50);
        lost += ended[GPO_DEVICE_LOST];
        if (round >= 20) CHECK(ended[GPO_SUCCESS] == 50);  // the lost one gets no batches any more
    }
    CHECK(lost <= 8);  // what a lane had, or took before it learnt of the loss
    CHECK_STATUS(GPO_DEVICE_LOST, gpo_device_wait(second, kPatience));
}
