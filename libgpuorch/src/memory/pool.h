// Pools of device memory over the driver's pools. Allocations and frees are operations of a stream.
//
// The driver may reuse an address once the address was freed on any stream. A piece is therefore taken out of the range
// map before the driver gets its free. Until then the piece is tagged as being freed, and a second free is refused.
#pragma once

#include "gpuorch/memory.h"
#include "memory/holds.h"
#include "memory/registry.h"
#include "stream/stream.h"

namespace gpo {

/// Is notified when the memory in use of a pool passes one of two watermarks.
class PoolWatch {
public:
    PoolWatch(uint64_t high, uint64_t low) noexcept : high_(high), low_(low) {}
    /// `above`: more than `high` bytes are in use; otherwise at most `low` are, after they were above. Called under the
    /// pool's lock for watches, and perhaps under a stream's submit lock: must be quick and call no driver.
    virtual void crossed(bool above) noexcept = 0;

protected:
    virtual ~PoolWatch() = default;

private:
    friend class Pool;
    const uint64_t high_, low_;
    bool above_ = false;
    PoolWatch* next_ = nullptr;
};

class Pool final : public Object {
public:
    /// Throws Failure.
    Pool(Ref<Context> context, const gpo_pool_options& options);

    uint64_t allocate(Stream& stream, uint64_t bytes);
    gpo_status free(Stream& stream, uint64_t address);
    void trim(uint64_t keep_bytes);
    gpo_memory_statistics statistics();

    /// Reports to `watch` from now on, and at once if more than its high watermark is in use.
    void watch(PoolWatch& watch) noexcept;
    /// `watch` is not called any more when this returns. The end of the pool's handle ends its watches, too, as pieces
    /// that are left can't be freed any more.
    void unwatch(PoolWatch& watch) noexcept;

    void close() noexcept override;
    FixedText<128> leaks() noexcept override;

private:
    friend class PoolAllocation;
    friend class PoolFree;
    friend class WaitingPoolFree;
    ~Pool() override;
    void warm_up(uint64_t bytes);
    void take_room(uint64_t bytes);
    void give_room(uint64_t bytes) noexcept;
    void notify_watches() noexcept;
    void end_watches() noexcept;
    void check_runtime(Stream& stream);
    /// Throws if a free on this stream would fail now.
    static void check_free(Stream& stream);
    /// Frees a piece that no work uses, outside of any stream's order. Serialises.
    void free_now(uint64_t address, uint64_t bytes) noexcept;

    const Ref<Context> context_;
    Registry& registry_;
    Holds& holds_;
    Registry::Nodes node_ = Registry::make_node();
    const uint64_t max_bytes_;
    CUmemoryPool native_ = nullptr;
    std::atomic<uint64_t> in_use_{0}, peak_{0}, allocations_{0}, frees_{0}, driver_calls_{0};
    std::atomic<bool> closed_{false}, reported_{false};
    host::Mutex watch_lock_;
    std::atomic<PoolWatch*> watches_{nullptr};   // a list, under watch_lock_
};

template <>
struct TypeOf<Pool> { static constexpr Type value = Type::pool; };

}  // namespace gpo
