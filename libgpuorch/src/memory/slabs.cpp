#include "memory/slabs.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "stream/streams.h"
#include "trace/serialising.h"

namespace gpo {

namespace {

// <numaif.h> belongs to libnuma, which we do without.
constexpr int kDefault = 0, kPreferred = 1, kBind = 2;
constexpr unsigned kMostNodes = 1024;
using NodeMask = std::array<unsigned long, kMostNodes / (CHAR_BIT * sizeof(unsigned long))>;

NodeMask mask_of(int node) noexcept {
    constexpr unsigned kBits = CHAR_BIT * sizeof(unsigned long);
    NodeMask mask{};
    mask[static_cast<unsigned>(node) / kBits] |= 1ul << (static_cast<unsigned>(node) % kBits);
    return mask;
}

// While a NodeScope lives, new pages of the calling thread come from the given node. The driver pins its pages inside
// the call, on this thread: the scope decides where the pages are.
class NodeScope {
public:
    NodeScope(int node, bool asked) {
        if (node < 0 || node >= static_cast<int>(kMostNodes)) return;
        if (syscall(SYS_get_mempolicy, &outer_policy_, outer_mask_.data(), kMostNodes, nullptr, 0) != 0) {
            refuse(node, asked);
            return;
        }
        const NodeMask mask = mask_of(node);
        if (syscall(SYS_set_mempolicy, asked ? kBind : kPreferred, mask.data(), kMostNodes) != 0) {
            refuse(node, asked);
            return;
        }
        changed_ = true;
    }
    ~NodeScope() {
        if (changed_)
            syscall(SYS_set_mempolicy, outer_policy_, outer_policy_ == kDefault ? nullptr : outer_mask_.data(),
                    kMostNodes);
    }
    NodeScope(const NodeScope&) = delete;
    NodeScope& operator=(const NodeScope&) = delete;

private:
    // A kernel without NUMA has one node, 0.
    static void refuse(int node, bool asked) {
        const int number = errno;
        if (!asked || (number == ENOSYS && node == 0)) return;
        fail_errno(number == EINVAL ? GPO_INVALID_ARGUMENT : GPO_NOT_SUPPORTED, number,
                   text("memory can't be placed on NUMA node ", node));
    }
    int outer_policy_ = kDefault;
    NodeMask outer_mask_{};
    bool changed_ = false;
};

}  // namespace

// Allocated together with its slab, so that returning the slab allocates nothing.
class DriverSlabs::Free final : public BlockingCall {
public:
    using BlockingCall::BlockingCall;
    void* memory = nullptr;

private:
    void call(bool ok) noexcept override {
        if (ok) {   // else the driver's context has been destroyed, with its memory
            Streams::settle_withheld(context().runtime());   // the call waits for the work that the driver has
            const SerialisingScope serialising(context().runtime(), Serialising::host_registration);
            context().table().cuMemFreeHost(memory);
        }
        delete this;
    }
};

DriverSlabs::DriverSlabs(const Object& owner, Ref<Context> context, bool write_combined, int numa_node, bool numa_asked)
    : owner_(owner), context_(std::move(context)),
      flags_(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP |
             (write_combined ? CU_MEMHOSTALLOC_WRITECOMBINED : 0)),
      numa_node_(numa_node), numa_asked_(numa_asked) {
    if (numa_node_ >= 0) return;
    DriverScope scope(*context_);
    CUdevice device = 0;
    int node = -1;
    const driver::Table& table = context_->table();
    if (table.cuDeviceGet(&device, context_->ordinal()) == CUDA_SUCCESS &&
        table.cuDeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, device) == CUDA_SUCCESS)
        numa_node_ = node;
}

void* DriverSlabs::take(uint64_t bytes) {
    auto free = std::make_unique<Free>(*context_);
    Free& made = *free;
    std::map<void*, std::unique_ptr<BlockingCall>> one;
    auto entry = one.extract(one.emplace(nullptr, std::move(free)).first);
    DriverScope scope(*context_);
    NodeScope node(numa_node_, numa_asked_);
    void* memory = nullptr;
    const SerialisingScope serialising(context_->runtime(), Serialising::host_registration);
    context_->check_allocation(context_->table().cuMemHostAlloc(&memory, bytes, flags_), "cuMemHostAlloc",
                               {Context::Wanted::Where::host, bytes, owner_.describe()});
    // Pages that aren't populated yet follow the policy of their range. For ranges that the driver has populated, the
    // call fails without harm.
    if (numa_node_ >= 0 && numa_node_ < static_cast<int>(kMostNodes)) {
        const NodeMask mask = mask_of(numa_node_);
        syscall(SYS_mbind, memory, bytes, numa_asked_ ? kBind : kPreferred, mask.data(), kMostNodes, 0);
    }
    made.memory = memory;
    entry.key() = memory;
    std::lock_guard lock(lock_);
    frees_.insert(std::move(entry));
    return memory;
}

void DriverSlabs::give(void* memory, uint64_t) noexcept {
    std::unique_ptr<BlockingCall> free;
    {
        std::lock_guard lock(lock_);
        const auto found = frees_.find(memory);
        free = std::move(found->second);
        frees_.erase(found);
    }
    if (elsewhere_.load(std::memory_order_acquire) && !context_->runtime().shutting_down())
        free.release()->make_elsewhere();
    else
        free.release()->make();
}

}  // namespace gpo
