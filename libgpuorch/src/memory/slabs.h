// Slabs of pinned memory from the driver: pinned for all devices (portable), mapped for the GPU, near the device or on
// a given NUMA node.
#pragma once

#include <map>

#include "device/context.h"
#include "memory/heap.h"
#include "stream/blocking_calls.h"

namespace gpo {

class DriverSlabs final : public SlabSource {
public:
    /// `numa_node`: -1 for the node near the device. `numa_asked`: throw if the system can't place memory there.
    DriverSlabs(const Object& owner, Ref<Context> context, bool write_combined, int numa_node, bool numa_asked);
    void* take(uint64_t bytes) override;
    void give(void* memory, uint64_t bytes) noexcept override;

    /// From now on the errands' thread gives slabs back: the scanner, which may free the last piece, and the thread
    /// that destroys the arena must not wait for the device.
    void give_elsewhere() noexcept { elsewhere_.store(true, std::memory_order_release); }

private:
    class Free;
    const Object& owner_;  // the arena that contains this object
    const Ref<Context> context_;
    const unsigned flags_;
    int numa_node_;
    const bool numa_asked_;
    std::atomic<bool> elsewhere_{false};
    host::Mutex lock_;
    std::map<void*, std::unique_ptr<BlockingCall>> frees_;   // frees of the slabs in use, by address; under lock_
};

}  // namespace gpo
