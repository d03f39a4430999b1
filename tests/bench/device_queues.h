// Device queues in benchmarks: owners, and both arms' kernels on grids that fill the GPU.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "bench/gpu.h"
#include "bench/pairs.h"
#include "bench/raw.h"

namespace gpo::bench {

class DeviceQueue {
public:
    explicit DeviceQueue(const Gpu& gpu, const gpo_queue_options& options) {
        CHECK_GPO(gpo_queue_create(gpu.device, &options, &handle_));
    }
    ~DeviceQueue() { gpo_queue_destroy(handle_); }
    DeviceQueue(const DeviceQueue&) = delete;
    DeviceQueue& operator=(const DeviceQueue&) = delete;
    operator gpo_queue_t() const { return handle_; }
    /// The handle that kernels take.
    template <class Handle>
    Handle argument() const {
        Handle handle;
        CHECK_GPO(gpo_queue_get_device_handle(handle_, &handle, sizeof handle, nullptr));
        return handle;
    }

private:
    gpo_queue_t handle_ = nullptr;
};

struct RangeHandle {
    uint64_t words[8];
};
struct RingHandle {
    uint64_t words[12];
};

/// Blocks that all run at once, eight on each multiprocessor, of 256 threads.
struct Grid {
    explicit Grid(const Gpu& gpu) : blocks(gpu.properties.multiprocessors * 8), launch(shape(blocks, kThreads)) {}
    static constexpr uint32_t kThreads = 256;
    const uint32_t blocks;
    const gpo_launch launch;
};

/// Both arms' kernels, streams, and a word each.
struct Both {
    /// `source`: the source of both arms' kernels; must outlive this object.
    explicit Both(const char* source) { gpu.use_source(source); }

    template <class... Arguments>
    double raw(const char* kernel, Arguments... arguments) {
        void* pointers[] = {&arguments...};
        const CUfunction function = base.function(gpu, kernel);
        const double begin = now_ns();
        CHECK_CU(base.cu.cuLaunchKernel(function, grid.blocks, 1, 1, Grid::kThreads, 1, 1, 0, base_stream, pointers,
                                        nullptr));
        base.finish(base_stream);
        return now_ns() - begin;
    }
    template <class... Arguments>
    double ours(gpo_kernel_t kernel, const Arguments&... arguments) {
        const double begin = now_ns();
        launch(stream, kernel, grid.launch, arguments...);
        finish(stream);
        return now_ns() - begin;
    }
    void clear(CUdeviceptr at, uint64_t bytes) {
        CHECK_CU(base.cu.cuMemsetD32Async(at, 0, bytes / 4, base_stream));
        base.finish(base_stream);
    }
    uint64_t read(CUdeviceptr at) {
        auto* const seen = static_cast<uint64_t*>(here);
        CHECK_CU(base.cu.cuMemcpyDtoHAsync(seen, at, sizeof *seen, base_stream));
        base.finish(base_stream);
        return *seen;
    }
    static void require(bool right, const char* what) {
        if (!right) throw std::runtime_error(what);
    }

    Gpu gpu;
    const Grid grid{gpu};
    Raw base{gpu};
    const CUstream base_stream = base.stream();
    const CUdeviceptr word = base.memory(128);
    void* const here = base.pinned(64);
    const Stream stream = gpu.stream();
};

}  // namespace gpo::bench
