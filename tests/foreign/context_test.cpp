// A device that is opened on a context of the host. The device's objects are made in that context, which belongs to the
// host alone again afterwards.
#include <cstdlib>
#include <utility>
#include <vector>

#include "foreign/raw.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

[[maybe_unused]] const bool two_devices = setenv("GPUORCH_SOFT_DEVICES", "2", 0) == 0;

/// A context that the host has made; not current.
class HostContext {
public:
    HostContext(const Raw& raw, CUdevice device) : raw_(raw) {
        CUcontext popped = nullptr;
        RAW_OK(raw_.cu().cuCtxCreate(&native, 0, device));
        RAW_OK(raw_.cu().cuCtxPopCurrent(&popped));
    }
    ~HostContext() {
        if (native) CHECK(raw_.cu().cuCtxDestroy(native) == CUDA_SUCCESS);
    }

    CUcontext native = nullptr;

private:
    const Raw& raw_;
};

}  // namespace

TEST_CASE("a device opened on a context of the host's works in that context, and leaves it as it was") {
    Raw raw;
    const auto& cu = raw.cu();
    HostContext own(raw, raw.device);
    REQUIRE(own.native != raw.primary);
    unsigned long long number = 0, later = 0;
    RAW_OK(cu.cuCtxGetId(own.native, &number));
    {
        Gpu gpu;
        Device device;
        auto options = sized<gpo_device_options>();
        options.native_context = own.native;
        REQUIRE_OK(gpo_device_open(gpu.runtime, &options, device.out()));
        void *native = nullptr, *primary = nullptr;
        REQUIRE_OK(gpo_device_get_native(device, &native, nullptr));
        REQUIRE_OK(gpo_device_get_native(gpu.device, &primary, nullptr));
        CHECK(native == own.native);
        CHECK(primary == raw.primary);

        Stream stream, elsewhere = gpu.stream();
        REQUIRE_OK(gpo_stream_create(device, nullptr, stream.out()));
        void* handle = nullptr;
        CUcontext of_stream = nullptr;
        REQUIRE_OK(gpo_stream_get_native(stream, &handle));
        RAW_OK(cu.cuStreamGetCtx(static_cast<CUstream>(handle), &of_stream));
        CHECK(of_stream == own.native);
        REQUIRE_OK(gpo_stream_get_native(elsewhere, &handle));
        RAW_OK(cu.cuStreamGetCtx(static_cast<CUstream>(handle), &of_stream));
        CHECK(of_stream == raw.primary);
        // A device on one context refuses a stream of another context.
        gpo_stream_t wrapped = nullptr;
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_wrap(device, handle, nullptr, &wrapped));
        CHECK(wrapped == nullptr);

        uint64_t memory = 0;
        CUcontext of_memory = nullptr;
        REQUIRE_OK(gpo_memory_allocate(device, 4096, nullptr, &memory));
        const Current there(raw, raw.primary);
        RAW_OK(cu.cuPointerGetAttribute(&of_memory, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
        CHECK(of_memory == own.native);

        Module module;
        Kernel fill;
        REQUIRE_OK(gpo_module_load_builtin(device, module.out()));
        REQUIRE_OK(gpo_module_get_kernel(module, "gpo_fill_u32", fill.out()));
        std::vector<uint32_t> back(1024);
        Queue queue = gpu.queue();
        REQUIRE_OK(launch(stream, fill, 4, 64, memory, uint32_t{42}, uint64_t{1024}));
        REQUIRE_OK(gpo_copy_to_host(stream, back.data(), memory, 4096));
        REQUIRE_OK(gpo_stream_notify(stream, queue, 4));
        CHECK(take(queue, 1)[0].status == GPO_SUCCESS);
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        CHECK(back == std::vector<uint32_t>(1024, 42));
        // Events order work of the two contexts, as they do between devices.
        Event event = gpu.event();
        REQUIRE_OK(gpo_event_record(event, elsewhere));
        REQUIRE_OK(gpo_stream_wait_event(stream, event));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        REQUIRE_OK(gpo_memory_free(device, memory));
    }
    CUcontext current = own.native;
    RAW_OK(cu.cuCtxGetCurrent(&current));
    CHECK(current == nullptr);
    RAW_OK(cu.cuCtxGetId(own.native, &later));
    CHECK(later == number);
    const Current there(raw, own.native);
    CUdeviceptr memory = 0;
    RAW_OK(cu.cuMemAlloc(&memory, 64));
    RAW_OK(cu.cuMemFree(memory));
}

TEST_CASE(
    "events of a context that the host has destroyed are not given to the driver, and who waits for one loses no "
    "device") {
    Raw raw;
    HostContext own(raw, raw.device);
    Gpu gpu;
    Writer writer(gpu);
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    Stream stream = gpu.stream(), held = gpu.stream(), there;
    Timeline timeline = gpu.timeline();
    Device device;
    auto options = sized<gpo_device_options>();
    options.native_context = own.native;
    REQUIRE_OK(gpo_device_open(gpu.runtime, &options, device.out()));
    REQUIRE_OK(gpo_stream_create(device, nullptr, there.out()));
    Event event;
    REQUIRE_OK(gpo_event_create(device, nullptr, event.out()));
    REQUIRE_OK(gpo_event_record(event, there));
    REQUIRE_OK(gpo_stream_wait(there, kPatience));
    REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 1));
    REQUIRE_OK(gpo_stream_wait_event(held, event));
    Memory here = gpu.memory(256);
    uint64_t memory = 0;
    REQUIRE_OK(gpo_memory_allocate(device, 256, nullptr, &memory));
    RAW_OK(raw.cu().cuCtxDestroy(std::exchange(own.native, nullptr)));

    CHECK_STATUS(GPO_DEVICE_LOST, gpo_stream_wait_event(stream, event));
    REQUIRE_OK(writer.write(stream, &words[0], 1));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(words[0]) == 1);
    // The held wait has failed like any other wait for a lost device.
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK_STATUS(GPO_DEVICE_LOST, gpo_stream_wait(held, kPatience));
    CHECK_STATUS(GPO_DEVICE_LOST, gpo_device_enable_peer(gpu.device, device));
    CHECK_STATUS(GPO_DEVICE_LOST, gpo_device_disable_peer(gpu.device, device));
    CHECK_STATUS(GPO_DEVICE_LOST, gpo_copy_peer(stream, device, memory, gpu.device, here, 256));
    CHECK_STATUS(GPO_DEVICE_LOST, gpo_copy_peer(stream, gpu.device, here, device, memory, 256));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
}

TEST_CASE("a context of another device than the one opened is refused") {
    Raw raw;
    Gpu gpu;
    uint32_t devices = 0;
    REQUIRE_OK(gpo_runtime_get_device_count(gpu.runtime, &devices));
    if (devices < 2) return skip("needs two devices");
    HostContext other(raw, raw.device == 0 ? 1 : 0);
    auto options = sized<gpo_device_options>();
    options.native_context = other.native;
    gpo_device_t device = nullptr;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_device_open(gpu.runtime, &options, &device));
    CHECK(device == nullptr);
    // Once it is known as its own device's, too.
    Device opened;
    options.ordinal = 1;
    REQUIRE_OK(gpo_device_open(gpu.runtime, &options, opened.out()));
    options.ordinal = 0;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_device_open(gpu.runtime, &options, &device));
    CHECK(device == nullptr);
}
