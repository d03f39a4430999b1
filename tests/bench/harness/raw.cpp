// Finds the driver's functions, for the raw arm.
#include "bench/raw.h"

#include <dlfcn.h>

#include <memory>

#include "bench/gpu.h"
#include "bench/pairs.h"

namespace gpo::bench {

namespace {

using GetProcAddress = CUresult CUDAAPI(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

const driver::Table& load_cuda() {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(std::string("libcuda.so.1: ") + dlerror());
    auto* const get = reinterpret_cast<GetProcAddress*>(dlsym(library, "cuGetProcAddress_v2"));
    if (!get) throw std::runtime_error("libcuda.so.1 has no cuGetProcAddress_v2");
    static driver::Table table;
    const auto find = [get](const char* name, int version) {
        void* address = nullptr;
        CUdriverProcAddressQueryResult found{};
        if (get(name, &address, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found) != CUDA_SUCCESS)
            return static_cast<void*>(nullptr);
        return address;
    };
#define X(name, version, need) table.name = reinterpret_cast<decltype(table.name)>(find(#name, version));
    GPO_DRIVER_FUNCTIONS(X, X)
#undef X
    CHECK_CU(table.cuInit(0));
    return table;
}

/// Loads the table from the library in the programs' folder.
const driver::Table& load_soft() {
    const std::string path = program_folder() + "/gpuorch_bench_soft_raw.so";
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(path + ": " + dlerror());
    using Open = const driver::Table*();
    auto* const open = reinterpret_cast<Open*>(dlsym(library, "gpuorch_bench_soft_table"));
    const driver::Table* const table = open ? open() : nullptr;
    if (!table) throw std::runtime_error(path + " opens no software GPU");
    CHECK_CU(table->cuInit(0));
    return *table;
}

const driver::Table& table_for(const Gpu& gpu) {
    if (gpu.properties.software) {
        static const driver::Table& table = load_soft();
        return table;
    }
    static const driver::Table& table = load_cuda();
    return table;
}

}  // namespace

void fail_raw(const char* call, CUresult result) {
    throw std::runtime_error(std::string(call) + " gave CUresult " + std::to_string(static_cast<int>(result)));
}

Raw::Raw(const Gpu& gpu) : cu(table_for(gpu)) {
    CHECK_CU(cu.cuDeviceGet(&device_, gpu.properties.native_ordinal));
    CHECK_CU(cu.cuDevicePrimaryCtxRetain(&context_, device_));
    make_current();
}

Raw::~Raw() {
    for (const CUstream stream : streams_) cu.cuStreamSynchronize(stream), cu.cuStreamDestroy(stream);
    for (const CUevent event : events_) cu.cuEventDestroy(event);
    for (const CUdeviceptr address : memory_) cu.cuMemFree(address);
    for (void* const memory : pinned_) cu.cuMemFreeHost(memory);
    if (module_) cu.cuModuleUnload(module_);
    cu.cuCtxSetCurrent(nullptr);
    cu.cuDevicePrimaryCtxRelease(device_);
}

CUstream Raw::stream() {
    CUstream stream = nullptr;
    CHECK_CU(cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
    streams_.push_back(stream);
    return stream;
}

CUevent Raw::event(unsigned flags) {
    CUevent event = nullptr;
    CHECK_CU(cu.cuEventCreate(&event, flags));
    events_.push_back(event);
    return event;
}

CUfunction Raw::function(Gpu& gpu, const char* name) {
    if (!module_) {
        const std::string image = gpu.image();
        CHECK_CU(cu.cuModuleLoadDataEx(&module_, image.data(), 0, nullptr, nullptr));
    }
    CUfunction function = nullptr;
    CHECK_CU(cu.cuModuleGetFunction(&function, module_, name));
    return function;
}

CUdeviceptr Raw::memory(uint64_t bytes) {
    CUdeviceptr address = 0;
    CHECK_CU(cu.cuMemAlloc(&address, bytes));
    memory_.push_back(address);
    return address;
}

void* Raw::pinned(uint64_t bytes) {
    void* memory = nullptr;
    CHECK_CU(cu.cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE));
    pinned_.push_back(memory);
    return memory;
}

}  // namespace gpo::bench
