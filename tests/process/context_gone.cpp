// The host destroys the context that the library uses, or resets the device, while no call of the library is inside the
// driver. The next call must return GPO_DEVICE_LOST, objects can be destroyed safely, and a runtime opened afterwards
// must work.
// LINK: objects
// RUN: destroyed
// RUN: reset
#include <dlfcn.h>

#include <memory>

#include "driver/driver.h"
#include "process/process.h"

using namespace gpo::test;

namespace {

/// cudaDeviceReset, where the machine has a CUDA runtime; else what it does of the driver.
bool reset(CUdevice device) {
    for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so"})
        if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
            auto* set_device = reinterpret_cast<int (*)(int)>(dlsym(library, "cudaSetDevice"));
            auto* reset_device = reinterpret_cast<int (*)()>(dlsym(library, "cudaDeviceReset"));
            std::printf("cudaDeviceReset of %s\n", name);
            return set_device && reset_device && set_device(device) == 0 && reset_device() == 0;
        }
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    auto* reset_primary =
        driver ? reinterpret_cast<CUresult (*)(CUdevice)>(dlsym(driver, "cuDevicePrimaryCtxReset_v2")) : nullptr;
    std::printf("cuDevicePrimaryCtxReset\n");
    return reset_primary && reset_primary(device) == CUDA_SUCCESS;
}

/// An object of each kind that holds something of the driver's.
struct Objects {
    Objects(gpo_runtime_t runtime, const gpo_device_options& options) {
        EXPECT_OK(gpo_device_open(runtime, &options, &device));
        EXPECT_OK(gpo_stream_create(device, nullptr, &stream));
        EXPECT_OK(gpo_event_create(device, nullptr, &event));
        EXPECT_OK(gpo_cq_create(runtime, nullptr, &queue));
        EXPECT_OK(gpo_executor_create(runtime, nullptr, &executor));
        EXPECT_OK(gpo_arena_create(device, nullptr, &arena));
        EXPECT_OK(gpo_arena_allocate(arena, 4096, 0, &piece));
        EXPECT_OK(gpo_pool_create(device, nullptr, &pool));
        EXPECT_OK(gpo_memory_allocate(device, 4096, nullptr, &address));
        kernel = compile(device, "extern \"C\" __global__ void set(unsigned *a) { *a = 7; }", "set");
        EXPECT_OK(launch(stream, kernel, address));
        EXPECT_OK(gpo_event_record(event, stream));
        EXPECT_OK(gpo_stream_notify(stream, queue, 1));
        gpo_completion entry{};
        uint64_t count = 0;
        EXPECT_OK(gpo_cq_wait(queue, kPatience));
        EXPECT_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
        EXPECT(count == 1 && entry.status == GPO_SUCCESS);
        EXPECT_OK(gpo_device_wait(device, kPatience));
        usleep(20'000);   // nothing is pending: the scanner parks
    }

    void expect_lost() {
        EXPECT_STATUS(GPO_DEVICE_LOST, launch(stream, kernel, address));
        gpo_error said{};
        said.struct_size = sizeof said;
        EXPECT_OK(gpo_object_get_error(device, &said));   // the error came from a call on the stream
        EXPECT(said.status == GPO_DEVICE_LOST);
        EXPECT_STATUS(GPO_DEVICE_LOST, gpo_fill(stream, address, 0, 1, 4096));
        EXPECT_STATUS(GPO_DEVICE_LOST, gpo_event_record(event, stream));
        EXPECT_STATUS(GPO_DEVICE_LOST, gpo_stream_query(stream));
        EXPECT_STATUS(GPO_DEVICE_LOST, gpo_stream_wait(stream, kPatience));
        EXPECT_STATUS(GPO_DEVICE_LOST, gpo_device_wait(device, kPatience));
        uint64_t none = 0;
        EXPECT_STATUS(GPO_DEVICE_LOST, gpo_memory_allocate(device, 4096, nullptr, &none));
        EXPECT_STATUS(GPO_DEVICE_LOST, gpo_pool_allocate(pool, stream, 4096, &none));
        gpo_stream_t more = nullptr;
        EXPECT_STATUS(GPO_DEVICE_LOST, gpo_stream_create(device, nullptr, &more));
        gpo_completion entry{};
        uint64_t count = 0;
        // A notify is refused, or comes with the loss.
        const gpo_status notified = gpo_stream_notify(stream, queue, 2);
        EXPECT(notified == GPO_SUCCESS || notified == GPO_DEVICE_LOST);
        if (notified == GPO_SUCCESS) {
            EXPECT_OK(gpo_cq_wait(queue, kPatience));
            EXPECT_OK(gpo_cq_drain(queue, &entry, sizeof entry, 1, &count));
            EXPECT(count == 1 && entry.status == GPO_DEVICE_LOST);
        }
    }

    void destroy() {
        EXPECT_OK(gpo_kernel_destroy(kernel));
        EXPECT_OK(gpo_memory_free(device, address));
        EXPECT_OK(gpo_arena_free(arena, piece));
        EXPECT_OK(gpo_arena_destroy(arena));
        EXPECT_OK(gpo_pool_destroy(pool));
        EXPECT_OK(gpo_event_destroy(event));
        EXPECT_OK(gpo_executor_destroy(executor));
        EXPECT_OK(gpo_stream_destroy(stream));
        EXPECT_OK(gpo_cq_destroy(queue));
        EXPECT_OK(gpo_device_close(device));
    }

    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr;
    gpo_event_t event = nullptr;
    gpo_cq_t queue = nullptr;
    gpo_executor_t executor = nullptr;
    gpo_arena_t arena = nullptr;
    gpo_pool_t pool = nullptr;
    uint64_t address = 0;
    void* piece = nullptr;
    gpo_kernel_t kernel = nullptr;
};

void expect_new_runtime_works() {
    Opened again;
    gpo_kernel_t set = compile(again.device, "extern \"C\" __global__ void set(unsigned *a) { *a = 7; }", "set");
    uint32_t* word = pinned(again.device, 16);
    EXPECT_OK(launch(again.stream, set, word));
    again.check_works();
    EXPECT(*word == 7);
    again.shut_down();
}

}  // namespace

int main(int argc, char** argv) {
    EXPECT(argc == 2);
    const std::string kind = argv[1];
    gpo_runtime_t runtime = nullptr;
    EXPECT_OK(gpo_runtime_create(nullptr, &runtime));
    auto info = sized<gpo_driver_info>();
    EXPECT_OK(gpo_runtime_get_driver(runtime, &info));
    if (kind == "reset" && info.software) end_skipped("context_gone reset", "the software GPU can't be reset");
    auto properties = sized<gpo_device_properties>();
    EXPECT_OK(gpo_runtime_describe_device(runtime, 0, &properties));
    const auto driver = info.software ? gpo::driver::open_soft(nullptr) : gpo::driver::open_cuda(nullptr);
    EXPECT(driver != nullptr);
    const auto& cu = driver->table;
    CUdevice native = 0;
    EXPECT(cu.cuDeviceGet(&native, properties.native_ordinal) == CUDA_SUCCESS);
    CUcontext own = nullptr, popped = nullptr;
    auto options = sized<gpo_device_options>();
    if (kind == "destroyed") {
        EXPECT(cu.cuCtxCreate(&own, 0, native) == CUDA_SUCCESS);
        EXPECT(cu.cuCtxPopCurrent(&popped) == CUDA_SUCCESS);
        options.native_context = own;
    }

    Objects objects(runtime, options);
    if (kind == "destroyed")
        EXPECT(cu.cuCtxDestroy(own) == CUDA_SUCCESS);
    else
        EXPECT(reset(native));
    objects.expect_lost();
    objects.destroy();
    EXPECT_OK(gpo_runtime_shutdown(runtime, kPatience));
    expect_new_runtime_works();
    return 0;
}
