// A kernel launch: the request, and the launch's state until it is done (remaining blocks, failure, printed text).
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "host/host.h"
#include "softgpu/kernel_abi.h"

namespace gpo::softgpu {

/// Images read parameters by their types, and rely on the alignment of each type.
inline constexpr size_t kParameterAlignment = 128;

template <class T>
struct ParameterAllocator {
    using value_type = T;
    ParameterAllocator() = default;
    template <class U>
    ParameterAllocator(const ParameterAllocator<U>&) {}
    T* allocate(size_t count) {
        return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{kParameterAlignment}));
    }
    void deallocate(T* memory, size_t) noexcept { ::operator delete(memory, std::align_val_t{kParameterAlignment}); }
    bool operator==(const ParameterAllocator&) const = default;
};
using ParameterBytes = std::vector<std::byte, ParameterAllocator<std::byte>>;

using PrintSink = std::function<void(std::string_view)>;

class Launch;
/// Launches in the multiprocessors. They move from list to list, which allocates nothing.
using Launches = std::list<Launch>;

struct KernelOutcome {
    CUresult result = CUDA_SUCCESS;
    char text[320] = "";  // for an assert or trap: file, line, block, thread; an array, so that nothing is allocated
};

struct Command;
struct KernelLaunch;

/// CUDA's device runtime for kernels: calls about the kernel's graph, and launches of kernels. `caller` is the calling
/// kernel's command. Any worker, no lock held.
class RuntimeCalls {
public:
    virtual void set_condition(Command& caller, uint64_t handle, uint32_t value) noexcept = 0;
    /// `how` is one of GPO_SOFT_GRAPH_*. Returns a cudaError.
    virtual int launch_graph(Command& caller, uint64_t graph, uint32_t how) noexcept = 0;
    virtual uint64_t current_graph(Command& caller) noexcept = 0;
    /// A thread of block number `block` (x fastest) launches a kernel. Returns a cudaError.
    virtual int launch_kernel(const KernelLaunch& caller, uint64_t block, const gpo_soft_launch&) noexcept = 0;

protected:
    ~RuntimeCalls() = default;
};

struct KernelLaunch {
    const gpo_soft_kernel* kernel = nullptr;
    gpo_soft_dim3 grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
    size_t dynamic_shared_bytes = 0;
    bool cooperative = false;
    int priority = 0;                 // lower runs first among blocks not yet resident
    ParameterBytes arguments;         // parameter buffer, laid out by kernel->parameters
    RuntimeCalls* runtime = nullptr;  // NULL: there is none, as in tests of the multiprocessors
    Command* command = nullptr;       // whose kernel it is
    /// Called on a worker, with no lock held, when the last block has ended. May destroy the launch, or take it out of
    /// the list to submit it again after a rewind().
    std::function<void(const KernelOutcome&, Launches& ended)> done;
};

class Launch {
public:
    /// Throws std::bad_alloc. Later the launch takes memory only for printed text.
    Launch(KernelLaunch request, const PrintSink& sink);

    const KernelLaunch request;
    const uint64_t block_count;
    const uint32_t thread_count;                // in each block
    const uint32_t cluster_size;                // blocks to a cluster
    uint64_t longest_loop = UINT64_MAX;         // ns; see Multiprocessors::Options
    std::vector<void*> arguments;               // one pointer per parameter, into request.arguments
    uint64_t next_block = 0;                    // under the multiprocessors' lock
    std::atomic<uint64_t> unfinished;           // blocks that haven't ended

    bool waits() const noexcept { return (request.kernel->flags & GPO_SOFT_KERNEL_WAITS) != 0; }

    /// Ends the launch at the next yield of each block. The first failure wins.
    void stop(CUresult result, std::string_view text) noexcept;
    bool stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }

    /// Appends to the launch's printed text, and passes the text to the sink when it is long.
    void print(std::string_view text);

    /// Arrival of one block at the grid's barrier: its generation, to be compared with `grid_generation()`.
    uint32_t arrive_at_grid() noexcept;
    uint32_t grid_generation() const noexcept { return grid_generation_.load(std::memory_order_acquire); }

    /// After the last block: passes the remaining printed text to the sink, and returns the outcome.
    KernelOutcome finish() noexcept;
    /// Resets the launch to its state before submission. Call this after finish().
    void rewind() noexcept;

private:
    const PrintSink& sink_;
    std::atomic<bool> stopped_{false};
    std::atomic<uint64_t> grid_arrived_{0};
    std::atomic<uint32_t> grid_generation_{0};
    host::Mutex lock_;                          // outcome_, printed_
    KernelOutcome outcome_;
    std::string printed_;
};

}  // namespace gpo::softgpu
