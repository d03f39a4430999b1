// Shared parts of the unit tests of the software GPU's driver: an open driver with a context and the hand-written
// kernels of tests/images/softgpu_kernels.cpp.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "softgpu/image/seal.h"
#include "support/files.h"
#include "support/setting.h"

namespace softgpu_test {

#define OK(call) REQUIRE((call) == CUDA_SUCCESS)
#define IS(call, code) CHECK((call) == (code))

using gpo::test::Setting;

/// A shared object from the program's folder, as linked.
inline std::vector<char> unsealed_image(const std::string& name) {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0) throw std::runtime_error("no /proc/self/exe");
    const std::string folder =
        std::string(path, size_t(length)).substr(0, std::string(path, size_t(length)).rfind('/'));
    const std::string image = gpo::test::read_whole(folder + "/" + name + ".so");
    return {image.begin(), image.end()};
}

/// A shared object, sealed as an image that the software GPU loads.
inline std::vector<char> kernel_image(const std::string& name = "softgpu_kernels") {
    const std::vector<char> object = unsealed_image(name);
    const std::vector<std::byte> sealed = gpo::softgpu::seal_image({object.data(), object.size()});
    const auto* bytes = reinterpret_cast<const char*>(sealed.data());
    return {bytes, bytes + sealed.size()};
}

/// An open software GPU, with the primary context of device 0 current. Counts on being the only holder.
struct Gpu {
    std::shared_ptr<gpo::driver::Driver> driver;
    const gpo::driver::Table* cu = nullptr;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    bool live = true;

    Gpu() {
        std::string why;
        driver = gpo::driver::open_soft(&why);
        INFO(why);
        REQUIRE(driver != nullptr);
        cu = &driver->table;
        OK(cu->cuInit(0));
        OK(cu->cuDevicePrimaryCtxRetain(&context, 0));
        OK(cu->cuCtxSetCurrent(context));
    }
    ~Gpu() {
        cu->cuCtxSetCurrent(nullptr);
        const CUresult released = cu->cuDevicePrimaryCtxRelease(0);
        if (live) CHECK(released == CUDA_SUCCESS);
    }
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    CUfunction kernel(const char* name) {
        if (!module) {
            const std::vector<char> image = kernel_image();
            REQUIRE(image.size() > 1000);
            OK(cu->cuModuleLoadDataEx(&module, image.data(), 0, nullptr, nullptr));
        }
        CUfunction function = nullptr;
        OK(cu->cuModuleGetFunction(&function, module, name));
        return function;
    }
    CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING, int priority = 0) {
        CUstream made = nullptr;
        OK(cu->cuStreamCreateWithPriority(&made, flags, priority));
        return made;
    }
    CUevent event(unsigned flags = CU_EVENT_DISABLE_TIMING) {
        CUevent made = nullptr;
        OK(cu->cuEventCreate(&made, flags));
        return made;
    }
    template <class T = uint32_t>
    T* pinned(size_t count) {
        void* made = nullptr;
        OK(cu->cuMemHostAlloc(&made, count * sizeof(T), CU_MEMHOSTALLOC_PORTABLE));
        std::fill_n(static_cast<T*>(made), count, T());
        return static_cast<T*>(made);
    }
    CUdeviceptr memory(size_t bytes) {
        CUdeviceptr made = 0;
        OK(cu->cuMemAlloc(&made, bytes));
        return made;
    }
    /// Launches one block of one thread.
    template <class... Arguments>
    CUresult launch(CUstream stream, const char* name, Arguments... arguments) {
        void* parameters[] = {&arguments..., nullptr};
        return cu->cuLaunchKernel(kernel(name), 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
    }
    CUresult add(CUstream stream, CUdeviceptr data, int amount, unsigned long long count) {
        void* parameters[] = {&data, &amount, &count};
        return cu->cuLaunchKernel(kernel("add"), unsigned((count + 255) / 256), 1, 1, 256, 1, 1, 0, stream, parameters,
                                  nullptr);
    }
};

/// Waits until a kernel has written the word. Kernels can't wake threads, so this function polls.
inline void await_nonzero(const uint32_t* word) {
    while (!__atomic_load_n(word, __ATOMIC_ACQUIRE)) usleep(50);
}

/// Holds a stream up: a kernel on it spins until open() is called. Opens by itself at the end of its life.
class Gate {
public:
    Gate(Gpu& gpu, CUstream stream) : words_(gpu.pinned(2)) {
        OK(gpu.launch(stream, "wait_for", words_, words_ + 1));
    }
    ~Gate() { open(); }
    void open() { __atomic_store_n(words_ + 1, 1u, __ATOMIC_RELEASE); }
    bool begun() const { return __atomic_load_n(words_, __ATOMIC_ACQUIRE) != 0; }
    void wait_until_begun() const { await_nonzero(words_); }

private:
    uint32_t* words_;
};

}  // namespace softgpu_test
