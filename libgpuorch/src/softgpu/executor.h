// Runs kernels of the software GPU: images, the worker threads, blocks as resumable tasks.
//
// Forward progress. A block that has been given to the device's workers is *resident*. Every resident block makes
// progress whatever the others do: a worker runs one resident block at a time and takes the next one when that block
// yields or ends. The blocks of kernels that can't wait run to their end. A cluster's blocks become resident together, and
// keep their shared memory until the last of them has ended.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "softgpu/executor_launch.h"
#include "softgpu/kernel_abi.h"

namespace gpo::softgpu {

/// A loaded kernel image: each load has variables of its own.
class Image {
public:
    virtual ~Image() = default;
    /// CUDA_SUCCESS, CUDA_ERROR_INVALID_IMAGE (not an image of the software GPU, cut short, altered, other ABI version), or
    /// CUDA_ERROR_OUT_OF_MEMORY; `log` gets a sentence. `size` 0: as the ELF headers tell, whose tables and all that they
    /// name the caller has found within its bytes, with room for a seal (kSealBytes) behind them.
    static CUresult load(const void* data, size_t size, std::string* log, std::unique_ptr<Image>* out);
    virtual std::span<const gpo_soft_kernel> kernels() const = 0;
    virtual std::span<const gpo_soft_variable> variables() const = 0;
    virtual std::span<const gpo_soft_name> names() const = 0;
};

/// One device's workers.
class Executor {
public:
    struct Options {
        unsigned workers = 0;              // 0: host::processors()
        unsigned multiprocessors = 8;      // what the device says it has; resident blocks are counted against it
        unsigned max_resident_blocks = 0;  // 0: multiprocessors × 32
        bool catch_faults = catches_faults();   // a wild access ends the launch with 700 and the address, no more
        bool guard = guard_from_environment();  // so does a stack that runs over
        /// ns that one loop of one thread may take, in a kernel whose threads run one after the other, before it is thought to wait
        /// for another thread: the launch then ends with CUDA_ERROR_LAUNCH_TIMEOUT and the loop's place. All the others of a
        /// block wait meanwhile, so real work that takes as long is rare.
        uint64_t longest_loop = 10'000'000'000;
        /// Gets the text of device printf, in order per thread, from a worker. Empty: the process's stdout.
        std::function<void(std::string_view)> print;
    };
    static bool catches_faults() noexcept;           // not with GPUORCH_SOFT_GUARD=0
    static bool guard_from_environment() noexcept;   // GPUORCH_SOFT_GUARD=1
    virtual ~Executor() = default;         // waits for what runs; blocks that spin for ever are stopped at a yield
    static std::unique_ptr<Executor> create(const Options&);

    /// Takes all that the launch will need until it is done: from here on no memory is asked for on its behalf. Any
    /// thread; throws std::bad_alloc. The list has one element, to be handed to submit() or dropped.
    virtual Launches prepare(KernelLaunch launch) = 0;
    /// Never blocks, never fails. The largest cooperative grid is blocks_per_multiprocessor() × multiprocessors.
    virtual void submit(Launches prepared) noexcept = 0;
    virtual unsigned blocks_per_multiprocessor(const gpo_soft_kernel&, unsigned threads,
                                               size_t dynamic_shared) const = 0;
    /// Every launch, running or waiting, ends with `result` at its next yield: the device was lost.
    virtual void stop_all(CUresult result) noexcept = 0;
};

}  // namespace gpo::softgpu
