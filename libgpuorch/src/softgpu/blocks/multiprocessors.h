// A device's multiprocessors: the worker threads that run kernels, with blocks as resumable tasks.
//
// Forward progress. A block that has been given to the device's workers is *resident*. Every resident block makes
// progress independently of other blocks: a worker runs one resident block at a time and takes the next when that block
// yields or ends. Blocks of kernels that can't wait run to their end. The blocks of a cluster become resident together,
// and their shared memory exists until the last of them has ended.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "softgpu/blocks/launch.h"
#include "softgpu/kernel_abi.h"

namespace gpo::softgpu {

class Multiprocessors {
public:
    struct Options {
        unsigned workers = 0;              // 0: host::processors()
        unsigned multiprocessors = 8;      // the device's reported number, which limits resident blocks
        unsigned max_resident_blocks = 0;  // 0: multiprocessors × 32
        bool catch_faults = catches_faults();   // an invalid access ends only the launch: error 700, with the address
        bool guard = guard_from_environment();  // a stack overflow also ends only the launch
        /// ns that a loop may take in a kernel whose threads run one after the other. A longer loop probably waits for
        /// another thread, which can't run: the launch ends with CUDA_ERROR_LAUNCH_TIMEOUT and the loop's place. Loops
        /// that really compute for so long are rare.
        uint64_t longest_loop = 10'000'000'000;
        /// Gets the text of device printf, in order per thread, from a worker. Empty: the process's stdout.
        std::function<void(std::string_view)> print;
    };
    static bool catches_faults() noexcept;           // not with GPUORCH_SOFT_GUARD=0
    static bool guard_from_environment() noexcept;   // GPUORCH_SOFT_GUARD=1
    virtual ~Multiprocessors() = default;   // waits for running blocks; stops endlessly spinning ones at a yield
    static std::unique_ptr<Multiprocessors> create(const Options&);

    /// Allocates all memory that the launch needs. Returns a list with one element, which the caller passes to submit()
    /// or discards. A launch that has ended can be submitted again (KernelLaunch::done). Any thread. Throws
    /// std::bad_alloc.
    virtual Launches prepare(KernelLaunch launch) = 0;
    /// Never blocks, never fails. The largest cooperative grid is blocks_per_multiprocessor() × multiprocessors.
    virtual void submit(Launches prepared) noexcept = 0;
    virtual unsigned blocks_per_multiprocessor(const gpo_soft_kernel&, unsigned threads,
                                               size_t dynamic_shared) const = 0;
    /// Called when the device is lost: every launch, running or waiting, ends with `result` at its next yield.
    virtual void stop_all(CUresult result) noexcept = 0;
};

}  // namespace gpo::softgpu
