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
        bool catch_faults = catches_faults();   // a wild access ends the launch with 700 and the address, no more
        bool guard = guard_from_environment();  // so does a stack that runs over
        /// ns that one loop of a thread may take in a kernel whose threads run one after the other. A longer loop is
        /// thought to wait for another thread: the launch ends with CUDA_ERROR_LAUNCH_TIMEOUT and the loop's place. The
        /// block's other threads wait during the loop, so real work that takes as long is rare.
        uint64_t longest_loop = 10'000'000'000;
        /// Gets the text of device printf, in order per thread, from a worker. Empty: the process's stdout.
        std::function<void(std::string_view)> print;
    };
    static bool catches_faults() noexcept;           // not with GPUORCH_SOFT_GUARD=0
    static bool guard_from_environment() noexcept;   // GPUORCH_SOFT_GUARD=1
    virtual ~Multiprocessors() = default;   // waits for running blocks; stops endlessly spinning ones at a yield
    static std::unique_ptr<Multiprocessors> create(const Options&);

    /// Takes all memory that the launch needs until it is done. Any thread; throws std::bad_alloc. The list has one
    /// element, to be handed to submit() or dropped.
    /// A launch that has ended can be submitted again (KernelLaunch::done).
    virtual Launches prepare(KernelLaunch launch) = 0;
    /// Never blocks, never fails. The largest cooperative grid is blocks_per_multiprocessor() × multiprocessors.
    virtual void submit(Launches prepared) noexcept = 0;
    virtual unsigned blocks_per_multiprocessor(const gpo_soft_kernel&, unsigned threads,
                                               size_t dynamic_shared) const = 0;
    /// Every launch, running or waiting, ends with `result` at its next yield: the device was lost.
    virtual void stop_all(CUresult result) noexcept = 0;
};

}  // namespace gpo::softgpu
