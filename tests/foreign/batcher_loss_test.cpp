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
    Copies(Gpu& gpu, const std::vector<gpo_device_t>& devices, uint32_t max_batch = 2,
           gpo_executor_t executor = nullptr)
        : queue(gpu.queue()) {
        auto options = sized<gpo_batcher_options>();
        options.executor = executor;
        options.devices = devices.data();
        options.device_count = devices.size();
        REQUIRE_OK(gpo_batcher_create(&options, batcher.out()));
        auto made = sized<gpo_batcher_key_options>();
        made.layout = GPO_BATCH_ROWS;
        made.max_batch = max_batch;
        made.max_delay_ns = 1;
        made.input_bytes = made.output_bytes = sizeof(uint64_t);
        made.user = this;
        made.work = [](void* user, gpo_stream_t stream, const gpo_batch* batch) {
            ++static_cast<Copies*>(user)->batches_on[batch->device];
            return gpo_copy_on_device(stream, batch->output, batch->input, batch->elements * sizeof(uint64_t));
        };
        REQUIRE_OK(gpo_batcher_add_key(batcher, &made, &key));
    }
    void submit(uint64_t number, const uint64_t* input, uint64_t* output) {
        auto request = sized<gpo_batcher_request>();
        request.key = key;
        request.input = input;
        request.output = output;
        uint64_t ticket = 0;
        REQUIRE_OK(gpo_batcher_submit(batcher, &request, queue, number, &ticket, nullptr));
    }
    /// Runs as many requests. Returns how many ended with which status.
    std::map<gpo_status, int> run(uint64_t count) {
        std::vector<uint64_t> in(count), out(count);
        for (uint64_t i = 0; i < count; ++i) {
            in[i] = i + 1;
            submit(i, &in[i], &out[i]);
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

/// The second device, in a context that the host can destroy. `device` is empty if there is one device only.
struct Second {
    explicit Second(Gpu& gpu) {
        uint32_t count = 0;
        REQUIRE_OK(gpo_runtime_get_device_count(gpu.runtime, &count));
        if (count < 2) {
            skip("there is one device");
            return;
        }
        auto properties = sized<gpo_device_properties>();
        REQUIRE_OK(gpo_runtime_describe_device(gpu.runtime, 1, &properties));
        CUdevice native = 0;
        RAW_OK(raw.cu().cuDeviceGet(&native, properties.native_ordinal));
        CUcontext popped = nullptr;
        RAW_OK(raw.cu().cuCtxCreate(&context, 0, native));
        RAW_OK(raw.cu().cuCtxPopCurrent(&popped));
        auto options = sized<gpo_device_options>();
        options.ordinal = 1;
        options.native_context = context;
        REQUIRE_OK(gpo_device_open(gpu.runtime, &options, device.out()));
    }
    void lose() { RAW_OK(raw.cu().cuCtxDestroy(context)); }

    Raw raw;
    CUcontext context = nullptr;
    Device device;
};

}  // namespace

TEST_CASE("a batcher goes on with its other device when one is lost") {
    Gpu gpu;
    Second second(gpu);
    if (!second.device) return;
    Copies copies(gpu, {gpu.device, second.device});
    CHECK(comes_true([&] {
        CHECK(copies.run(50)[GPO_SUCCESS] == 50);
        return copies.batches_on[0] != 0 && copies.batches_on[1] != 0;
    }));
    // Nothing runs now.
    second.lose();
    int lost = 0;
    for (int round = 0; round < 40; ++round) {
        auto ended = copies.run(50);
        CHECK(ended[GPO_SUCCESS] + ended[GPO_DEVICE_LOST] == 50);
        lost += ended[GPO_DEVICE_LOST];
        if (round >= 20) CHECK(ended[GPO_SUCCESS] == 50);  // the lost one gets no batches any more
    }
    CHECK(lost <= 8);  // what a lane had, or took before it learnt of the loss
    CHECK_STATUS(GPO_DEVICE_LOST, gpo_device_wait(second.device, kPatience));
}

TEST_CASE("a request that counts on the turn of a lost device goes to the other one") {
    Gpu gpu;
    Second second(gpu);
    if (!second.device) return;
    const Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
    Copies copies(gpu, {second.device, gpu.device}, 1, executor);
    second.lose();
    const uint64_t in[2] = {1, 2};
    uint64_t out[2] = {};
    // The first request makes a turn of the first lane due. The second one leaves all to this turn, which learns of the
    // loss by the first request.
    for (uint64_t i = 0; i < 2; ++i) copies.submit(i, &in[i], &out[i]);
    REQUIRE(comes_true([&] {
        CHECK_OK(gpo_executor_poll(executor, nullptr));
        return gpo_cq_wait(copies.queue, 0) == GPO_SUCCESS && out[1] == 2;
    }));
    const auto entries = take(copies.queue, 2);
    CHECK(entries[0].status == GPO_DEVICE_LOST);
    CHECK(entries[1].status == GPO_SUCCESS);
    CHECK(out[0] == 0);
}
