// Modules, functions and launches of the software GPU: their queries and their refusals.
#include "unit/softgpu/softgpu.h"

#include <algorithm>
#include <cstring>

#include "host/host.h"
#include "support/explore.h"

using namespace softgpu_test;

namespace {

CUresult launch(Gpu& gpu, const char* name, CUstream stream, unsigned grid, unsigned block, unsigned block_z = 1,
                unsigned shared = 0) {
    return gpu.cu->cuLaunchKernel(gpu.kernel(name), grid, 1, 1, block, 1, block_z, shared, stream, nullptr, nullptr);
}

}  // namespace

TEST_CASE("a module tells its functions, their parameters and its variables") {
    Gpu gpu;
    const CUfunction add = gpu.kernel("add");
    unsigned count = 0;
    OK(gpu.cu->cuModuleGetFunctionCount(&count, gpu.module));
    CHECK(count == 11);
    std::vector<CUfunction> all(count);
    OK(gpu.cu->cuModuleEnumerateFunctions(all.data(), count, gpu.module));
    CHECK(std::find(all.begin(), all.end(), add) != all.end());
    const char* name = nullptr;
    OK(gpu.cu->cuFuncGetName(&name, add));
    CHECK(std::string(name) == "add");
    size_t offset = 0, size = 0;
    OK(gpu.cu->cuFuncGetParamInfo(add, 2, &offset, &size));
    CHECK((offset == 16 && size == 8));
    IS(gpu.cu->cuFuncGetParamInfo(add, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    CUfunction none = nullptr;
    IS(gpu.cu->cuModuleGetFunction(&none, gpu.module, "nothing"), CUDA_ERROR_NOT_FOUND);
    CUdeviceptr table = 0;
    OK(gpu.cu->cuModuleGetGlobal(&table, &size, gpu.module, "table"));
    CHECK(size == 4 * sizeof(int));
    IS(gpu.cu->cuModuleGetGlobal(&table, &size, gpu.module, "nothing"), CUDA_ERROR_NOT_FOUND);
    OK(gpu.cu->cuModuleUnload(gpu.module));
    IS(gpu.cu->cuModuleUnload(gpu.module), CUDA_ERROR_INVALID_HANDLE);
    IS(gpu.cu->cuFuncGetName(&name, add), CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("a module's variables are copied to and from by address, and each load has its own") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    int* out = gpu.pinned<int>(4);
    gpu.kernel("read_table");
    CUdeviceptr table = 0;
    OK(gpu.cu->cuModuleGetGlobal(&table, nullptr, gpu.module, "table"));
    const int changed[4] = {10, 20, 30, 40};
    OK(gpu.cu->cuMemcpyHtoDAsync(table, changed, sizeof changed, stream));
    OK(gpu.launch(stream, "read_table", out));
    OK(gpu.cu->cuStreamSynchronize(stream));
    CHECK((out[0] == 10 && out[3] == 40));
    IS(gpu.cu->cuMemcpyHtoDAsync(table, changed, sizeof changed + 1, stream), CUDA_ERROR_INVALID_VALUE);
    int type = 0;
    OK(gpu.cu->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, table));
    CHECK(type == CU_MEMORYTYPE_DEVICE);
    gpu.module = nullptr;   // a second load
    OK(gpu.launch(stream, "read_table", out));
    OK(gpu.cu->cuStreamSynchronize(stream));
    CHECK((out[0] == 1 && out[3] == 4));
}

TEST_CASE("an image that isn't one is refused with a sentence") {
    Gpu gpu;
    CUmodule module = nullptr;
    const std::string text(4096, 'x');
    char log[256] = {};
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    IS(gpu.cu->cuModuleLoadDataEx(&module, text.data(), 2, options, values), CUDA_ERROR_INVALID_IMAGE);
    CHECK(std::strlen(log) > 0);
    CHECK(reinterpret_cast<size_t>(values[1]) == std::strlen(log) + 1);
    CHECK(module == nullptr);
    IS(gpu.cu->cuModuleLoadDataEx(&module, nullptr, 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("an image of another version of the software GPU is refused, and one of this version is loaded after it") {
    Gpu gpu;
    CUmodule module = nullptr;
    char log[256] = {};
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    // Images of older libraries have no digest. Images of other versions may have one, and are refused because of the
    // version in their table.
    std::vector<char> unsealed = unsealed_image("softgpu_other_version");
    REQUIRE(unsealed.size() > 4096);
    unsealed.resize(unsealed.size() + gpo::softgpu::kSealBytes);   // the zeros that images are handed over with
    const std::vector<char> other = kernel_image("softgpu_other_version"), same = kernel_image();
    for (const std::vector<char>* image : {static_cast<const std::vector<char>*>(&unsealed), &other}) {
        log[0] = '\0';
        values[1] = reinterpret_cast<void*>(sizeof log);
        IS(gpu.cu->cuModuleLoadDataEx(&module, image->data(), 2, options, values), CUDA_ERROR_INVALID_IMAGE);
        CHECK(std::string(log).find("another version of the software GPU") != std::string::npos);
        CHECK(module == nullptr);
    }
    OK(gpu.cu->cuModuleLoadDataEx(&module, same.data(), 0, nullptr, nullptr));
    OK(gpu.cu->cuModuleUnload(module));
}

TEST_CASE("launches outside the limits are refused with CUDA's codes and change nothing") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    uint32_t* words = gpu.pinned(1);
    void* parameters[] = {&words};
    const CUfunction count = gpu.kernel("count");
    const auto shape = [&](unsigned gx, unsigned gy, unsigned bx, unsigned by, unsigned bz, unsigned shared) {
        return gpu.cu->cuLaunchKernel(count, gx, gy, 1, bx, by, bz, shared, stream, parameters, nullptr);
    };
    IS(shape(0, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    IS(shape(1, 1, 0, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    IS(shape(1, 1, 1025, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    IS(shape(1, 1, 64, 32, 1, 0), CUDA_ERROR_INVALID_VALUE);
    IS(shape(1, 1, 1, 1, 65, 0), CUDA_ERROR_INVALID_VALUE);
    IS(shape(1, 65536, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
    IS(shape(1, 1, 1, 1, 1, (48 << 10) + 1), CUDA_ERROR_INVALID_VALUE);
    IS(launch(gpu, "shared_user", stream, 1, 257), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    IS(gpu.cu->cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), CUDA_ERROR_INVALID_HANDLE);
    OK(shape(3, 2, 32, 1, 1, 0));
    OK(gpu.cu->cuStreamSynchronize(stream));
    CHECK(words[0] == 6);
}

TEST_CASE("dynamic shared memory beyond 48 KiB has to be asked for") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    const CUfunction user = gpu.kernel("shared_user");
    IS(launch(gpu, "shared_user", stream, 1, 32, 1, 100 << 10), CUDA_ERROR_INVALID_VALUE);
    OK(gpu.cu->cuFuncSetAttribute(user, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10));
    OK(launch(gpu, "shared_user", stream, 1, 32, 1, 100 << 10));
    // The kernel's own 1 KiB leaves 226 of 227.
    IS(gpu.cu->cuFuncSetAttribute(user, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 << 10),
       CUDA_ERROR_INVALID_VALUE);
    OK(gpu.cu->cuFuncSetAttribute(user, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 226 << 10));
    int value = 0;
    OK(gpu.cu->cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, user));
    CHECK(value == 226 << 10);
    IS(gpu.cu->cuFuncSetAttribute(user, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);
    OK(gpu.cu->cuStreamSynchronize(stream));
}

TEST_CASE("arguments come as pointers or as one buffer, and are read at the call") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    uint32_t* out = gpu.pinned(2);
    struct Arguments {
        uint32_t* out;
        unsigned char bytes[600];
    } arguments{out, {}};
    std::memset(arguments.bytes, 2, sizeof arguments.bytes);
    const CUfunction sum = gpu.kernel("sum_large");
    Gate gate(gpu, stream);
    void* parameters[] = {&arguments.out, arguments.bytes};
    OK(gpu.cu->cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
    std::memset(arguments.bytes, 3, sizeof arguments.bytes);
    arguments.out = out + 1;
    size_t size = sizeof arguments;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    OK(gpu.cu->cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, extra));
    size = 16;
    IS(gpu.cu->cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, extra), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, stream, parameters, extra), CUDA_ERROR_INVALID_VALUE);
    std::memset(arguments.bytes, 9, sizeof arguments.bytes);
    gate.open();
    OK(gpu.cu->cuStreamSynchronize(stream));
    CHECK(out[0] == 1200);
    CHECK(out[1] == 1800);
}

TEST_CASE("launch attributes: cooperative, cluster and priority are checked, unknown ones refused") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    uint32_t* words = gpu.pinned(1);
    void* parameters[] = {&words};
    const CUfunction count = gpu.kernel("count");
    int multiprocessors = 0, blocks = 0;
    OK(gpu.cu->cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    OK(gpu.cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, count, 64, 0));
    REQUIRE(blocks > 0);
    CUlaunchAttribute attribute = {};
    CUlaunchConfig config = {};
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 64;
    config.hStream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
    config.gridDimX = unsigned(multiprocessors * blocks) + 1;
    IS(gpu.cu->cuLaunchKernelEx(&config, count, parameters, nullptr), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    config.gridDimX = unsigned(multiprocessors * blocks);
    OK(gpu.cu->cuLaunchKernelEx(&config, count, parameters, nullptr));
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = 2;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    config.gridDimX = 3;
    IS(gpu.cu->cuLaunchKernelEx(&config, count, parameters, nullptr), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    config.gridDimX = 16;
    attribute.value.clusterDim.x = 16;
    IS(gpu.cu->cuLaunchKernelEx(&config, count, parameters, nullptr), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    attribute.value.priority = -2;
    OK(gpu.cu->cuLaunchKernelEx(&config, count, parameters, nullptr));
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    IS(gpu.cu->cuLaunchKernelEx(&config, count, parameters, nullptr), CUDA_ERROR_NOT_SUPPORTED);
    OK(gpu.cu->cuStreamSynchronize(stream));
    CHECK(words[0] == unsigned(multiprocessors * blocks) + 16);
    int grid = 0, block = 0;
    OK(gpu.cu->cuOccupancyMaxPotentialBlockSize(&grid, &block, gpu.kernel("shared_user"), nullptr, 0, 0));
    CHECK((block > 0 && block <= 256 && grid >= multiprocessors));
}

TEST_CASE(
    "blocks that have not begun do so by priority, of the stream or of the launch, and then in the order of the "
    "launches") {
    Gpu gpu;
    // All workers are busy. Then a single worker becomes free and alone decides the order.
    const unsigned workers = gpo::host::processors();
    uint32_t* busy = gpu.pinned(1);
    uint32_t* go = gpu.pinned(workers);
    uint32_t* names = gpu.pinned(64);
    void* both[] = {&busy, &go};
    const CUstream holder = gpu.stream();
    OK(gpu.cu->cuLaunchKernel(gpu.kernel("occupy"), workers, 1, 1, 1, 1, 1, 0, holder, both, nullptr));
    while (__atomic_load_n(busy, __ATOMIC_ACQUIRE) != workers) usleep(50);

    constexpr unsigned kBlocks = 3;
    std::vector<CUstream> streams;
    const auto sign = [&](uint32_t name, int stream_priority, int launch_priority) {
        streams.push_back(gpu.stream(CU_STREAM_NON_BLOCKING, stream_priority));
        void* parameters[] = {&names, &name};
        CUlaunchAttribute attribute = {};
        attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
        attribute.value.priority = launch_priority;
        CUlaunchConfig config = {};
        config.gridDimX = kBlocks;
        config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
        config.hStream = streams.back();
        config.attrs = &attribute;
        config.numAttrs = launch_priority != stream_priority;
        OK(gpu.cu->cuLaunchKernelEx(&config, gpu.kernel("sign"), parameters, nullptr));
    };
    sign(10, 0, 0);
    sign(20, -2, -2);
    sign(30, -5, -5);
    sign(11, 0, 0);
    sign(25, 0, -3);    // the launch's priority counts, not the stream's
    sign(12, -5, 0);
    sign(31, -5, -5);
    CHECK(__atomic_load_n(names, __ATOMIC_ACQUIRE) == 0);
    __atomic_store_n(go, 1u, __ATOMIC_RELEASE);
    for (const CUstream stream : streams) OK(gpu.cu->cuStreamSynchronize(stream));
    for (unsigned i = 1; i < workers; ++i) __atomic_store_n(go + i, 1u, __ATOMIC_RELEASE);
    OK(gpu.cu->cuStreamSynchronize(holder));

    REQUIRE(names[0] == 7 * kBlocks);
    std::string order;
    for (unsigned i = 1; i <= names[0]; ++i) order += std::to_string(names[i]) + " ";
    CHECK(order == "30 30 30 31 31 31 25 25 25 20 20 20 10 10 10 11 11 11 12 12 12 ");
}

TEST_CASE("a kernel belongs to the context that its module was loaded in") {
    Gpu gpu;
    const CUfunction count = gpu.kernel("count");
    CUcontext mine = nullptr;
    OK(gpu.cu->cuCtxCreate(&mine, 0, 0));
    const CUstream stream = gpu.stream();
    uint32_t* words = nullptr;
    void* parameters[] = {&words};
    IS(gpu.cu->cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), CUDA_ERROR_INVALID_HANDLE);
    OK(gpu.cu->cuCtxDestroy(mine));
    IS(gpu.cu->cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("loading and unloading code and setting the stack limit wait for kernels that run, and for no others") {
    const std::vector<char> image = kernel_image();
    gpo::test::explore(100, [&] {
        Gpu gpu;
        const CUstream running = gpu.stream(), waiting = gpu.stream();
        uint32_t* word = gpu.pinned(1);
        gpu.kernel("count");
        OK(gpu.cu->cuStreamWaitValue32(waiting, reinterpret_cast<CUdeviceptr>(word), 1, CU_STREAM_WAIT_VALUE_GEQ));
        OK(gpu.launch(waiting, "count", gpu.pinned(1)));   // not begun when all calls are done
        const auto call = [&](int which) {
            CUmodule module = nullptr;
            OK(gpu.cu->cuCtxSetCurrent(gpu.context));
            if (which == 0) OK(gpu.cu->cuModuleLoadDataEx(&module, image.data(), 0, nullptr, nullptr));
            if (which == 1) OK(gpu.cu->cuModuleUnload(gpu.module));
            if (which == 2) OK(gpu.cu->cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
            OK(gpu.cu->cuCtxSetCurrent(nullptr));
        };
        for (const int which : {0, 2, 1}) {
            std::atomic<bool> opened{false};
            Gate gate(gpu, running);
            gpo::host::Thread caller("caller", [&] {
                call(which);
                CHECK(opened.load());
            });
            for (int i = 0; i < 50; ++i) gpo::host::crossing();
            opened.store(true);
            gate.open();
            caller.join();
            OK(gpu.cu->cuStreamSynchronize(running));
        }
        __atomic_store_n(word, 1, __ATOMIC_RELEASE);
        OK(gpu.cu->cuStreamSynchronize(waiting));
    });
}
