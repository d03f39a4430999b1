// Cooperative groups: blocks, clusters of them, the grid, tiles of a warp and lanes that happen to be together; what they do
// together: reductions, scans, copies.
#pragma once
#pragma GCC system_header

#include "gpo_device.h"

namespace cooperative_groups {

__gpo_inline unsigned __gpo_grid_rank() {
    const uint3 at = __gpo_block_index();
    const dim3 size = __gpo_grid_dim();
    return (at.z * size.y + at.y) * size.x + at.x;
}

class thread_block {
public:
    struct arrival_token {};
    static void sync() { __syncthreads(); }
    static arrival_token barrier_arrive() { return arrival_token(); }
    static void barrier_wait(arrival_token&&) { __syncthreads(); }
    static bool is_valid() { return true; }
    static unsigned thread_rank() { return __gpo_thread()->linear; }
    static unsigned num_threads() { return __gpo_block_dim().x * __gpo_block_dim().y * __gpo_block_dim().z; }
    static unsigned size() { return num_threads(); }
    static dim3 group_index() { return dim3(__gpo_block_index()); }
    static dim3 thread_index() { return dim3(__gpo_thread_index()); }
    static dim3 group_dim() { return __gpo_block_dim(); }
    static dim3 dim_threads() { return __gpo_block_dim(); }
};
inline thread_block this_thread_block() { return thread_block(); }

class cluster_group {
public:
    struct arrival_token {};
    static void sync() {
        __cluster_barrier_arrive();
        __cluster_barrier_wait();
    }
    static arrival_token barrier_arrive() {
        __cluster_barrier_arrive();
        return arrival_token();
    }
    static void barrier_wait() { __cluster_barrier_wait(); }
    static void barrier_wait(arrival_token&&) { __cluster_barrier_wait(); }
    static unsigned query_shared_rank(const void* address) { return __cluster_query_shared_rank(address); }
    template <class T> static T* map_shared_rank(T* address, int rank) {
        return static_cast<T*>(__cluster_map_shared_rank(address, static_cast<unsigned>(rank)));
    }
    static dim3 block_index() { return __clusterRelativeBlockIdx(); }
    static unsigned block_rank() { return __clusterRelativeBlockRank(); }
    static dim3 thread_index() {
        const dim3 block = block_index(), size = __gpo_block_dim();
        const uint3 at = __gpo_thread_index();
        return dim3(block.x * size.x + at.x, block.y * size.y + at.y, block.z * size.z + at.z);
    }
    static unsigned thread_rank() { return block_rank() * thread_block::num_threads() + thread_block::thread_rank(); }
    static dim3 dim_blocks() { return __clusterDim(); }
    static unsigned num_blocks() { return __clusterSizeInBlocks(); }
    static dim3 dim_threads() {
        const dim3 blocks = dim_blocks(), size = __gpo_block_dim();
        return dim3(blocks.x * size.x, blocks.y * size.y, blocks.z * size.z);
    }
    static unsigned num_threads() { return num_blocks() * thread_block::num_threads(); }
    static unsigned size() { return num_threads(); }
    static bool is_valid() { return true; }
};
__gpo_inline cluster_group this_cluster() { return cluster_group(); }

class grid_group {
public:
    bool is_valid() const { return true; }
    void sync() const {
        __syncthreads();
        if (__gpo_thread()->linear == 0) {
            gpo_soft_block* block = __gpo_block();
            if (!block->services->grid_barrier(block)) __gpo_fail(719, "grid.sync() in a launch that isn't cooperative");
        }
        __syncthreads();
    }
    unsigned long long thread_rank() const {
        return static_cast<unsigned long long>(__gpo_grid_rank()) * thread_block::num_threads() + thread_block::thread_rank();
    }
    unsigned long long num_blocks() const {
        const dim3 size = __gpo_grid_dim();
        return static_cast<unsigned long long>(size.x) * size.y * size.z;
    }
    unsigned long long num_threads() const { return num_blocks() * thread_block::num_threads(); }
    unsigned long long size() const { return num_threads(); }
    unsigned long long block_rank() const { return __gpo_grid_rank(); }
    dim3 block_index() const { return dim3(__gpo_block_index()); }
    dim3 dim_blocks() const { return __gpo_grid_dim(); }
    dim3 group_dim() const { return __gpo_grid_dim(); }
    dim3 cluster_index() const { return __clusterIdx(); }
    dim3 dim_clusters() const { return __clusterGridDimInClusters(); }
    unsigned long long cluster_rank() const {
        const dim3 at = __clusterIdx(), size = __clusterGridDimInClusters();
        return (static_cast<unsigned long long>(at.z) * size.y + at.y) * size.x + at.x;
    }
    unsigned long long num_clusters() const { return num_blocks() / __clusterSizeInBlocks(); }
};
inline grid_group this_grid() { return grid_group(); }

template <unsigned Size, class Parent = void> class thread_block_tile;

/// Lanes of one warp, by their mask; a lane's rank is how many of them come before it.
class __gpo_lanes {
public:
    void sync() const { __syncwarp(mask_); }
    unsigned thread_rank() const { return static_cast<unsigned>(__popc(mask_ & ((1u << __gpo_lane()) - 1u))); }
    unsigned num_threads() const { return static_cast<unsigned>(__popc(mask_)); }
    unsigned size() const { return num_threads(); }
    template <class T> T shfl(T value, int rank) const { return __gpo_shuffle(mask_, value, lane(static_cast<unsigned>(rank) % size())); }
    template <class T> T shfl_up(T value, unsigned delta) const {
        const unsigned rank = thread_rank();
        return __gpo_shuffle(mask_, value, lane(rank < delta ? rank : rank - delta));
    }
    template <class T> T shfl_down(T value, unsigned delta) const {
        const unsigned rank = thread_rank();
        return __gpo_shuffle(mask_, value, lane(delta >= size() - rank ? rank : rank + delta));
    }
    template <class T> T shfl_xor(T value, unsigned lanes) const {
        const unsigned rank = thread_rank() ^ lanes;
        return __gpo_shuffle(mask_, value, lane(rank < size() ? rank : thread_rank()));
    }
    unsigned __gpo_mask() const { return mask_; }
    int any(int predicate) const { return __any_sync(mask_, predicate); }
    int all(int predicate) const { return __all_sync(mask_, predicate); }
    unsigned ballot(int predicate) const { return ranks(__ballot_sync(mask_, predicate)); }
    template <class T> unsigned match_any(T value) const { return ranks(__match_any_sync(mask_, value)); }
    template <class T> unsigned match_all(T value, int& predicate) const { return ranks(__match_all_sync(mask_, value, &predicate)); }

protected:
    explicit __gpo_lanes(unsigned mask) : mask_(mask) {}
    /// The lane of a rank.
    unsigned lane(unsigned rank) const {
        unsigned left = mask_;
        while (rank-- != 0) left &= left - 1;
        return static_cast<unsigned>(__builtin_ctz(left));
    }
    /// Lanes as ranks.
    unsigned ranks(unsigned lanes) const {
        unsigned out = 0, rank = 0;
        for (unsigned left = mask_; left; left &= left - 1, ++rank)
            if (lanes & left & (0u - left)) out |= 1u << rank;
        return out;
    }
    unsigned mask_;
};

class coalesced_group : public __gpo_lanes {
public:
    explicit coalesced_group(unsigned mask) : __gpo_lanes(mask) {}
    template <unsigned Size, class Parent> coalesced_group(const thread_block_tile<Size, Parent>& tile);
    unsigned meta_group_rank() const { return 0; }
    unsigned meta_group_size() const { return 1; }
};
__gpo_inline coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

template <unsigned Size, class Parent>
class thread_block_tile : public __gpo_lanes {
    static_assert(Size != 0 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

public:
    thread_block_tile()
        : __gpo_lanes((Size == 32 ? 0xffffffffu : (1u << (Size & 31)) - 1u) << (__gpo_lane() & ~(Size - 1))) {}
    template <class Other> thread_block_tile(const thread_block_tile<Size, Other>&) : thread_block_tile() {}
    static constexpr unsigned num_threads() { return Size; }
    static constexpr unsigned size() { return Size; }
    unsigned thread_rank() const { return __gpo_lane() & (Size - 1); }
    unsigned meta_group_rank() const { return thread_block::thread_rank() / Size; }
    unsigned meta_group_size() const { return (thread_block::num_threads() + Size - 1) / Size; }
    template <class T> T shfl(T value, int rank) const { return __shfl_sync(mask_, value, rank, Size); }
    template <class T> T shfl_up(T value, unsigned delta) const { return __shfl_up_sync(mask_, value, delta, Size); }
    template <class T> T shfl_down(T value, unsigned delta) const { return __shfl_down_sync(mask_, value, delta, Size); }
    template <class T> T shfl_xor(T value, unsigned lanes) const { return __shfl_xor_sync(mask_, value, static_cast<int>(lanes), Size); }
};
template <unsigned Size, class Parent>
coalesced_group::coalesced_group(const thread_block_tile<Size, Parent>& tile) : __gpo_lanes(tile.__gpo_mask()) {}
template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent&) { return thread_block_tile<Size, Parent>(); }

/// A group of a kind known at run time: a block, or lanes of one warp.
class thread_group {
public:
    thread_group(const thread_block&) : mask_(0) {}
    thread_group(const __gpo_lanes& lanes) : mask_(lanes.__gpo_mask()) {}
    void sync() const { mask_ ? __syncwarp(mask_) : __syncthreads(); }
    unsigned num_threads() const { return mask_ ? static_cast<unsigned>(__popc(mask_)) : thread_block::num_threads(); }
    unsigned size() const { return num_threads(); }
    unsigned thread_rank() const { return mask_ ? coalesced_group(mask_).thread_rank() : thread_block::thread_rank(); }
    bool is_valid() const { return true; }
    unsigned __gpo_mask() const { return mask_; }

private:
    unsigned mask_;   // 0: the block
};
/// Each `size` threads in the order of their ranks; `size` is a power of two up to 32.
__gpo_inline coalesced_group __gpo_partition(unsigned mask, unsigned rank, unsigned size) {
    unsigned left = mask, chosen = 0;
    for (unsigned at = 0; left; left &= left - 1, ++at)
        if (at / size == rank / size) chosen |= left & (0u - left);
    return coalesced_group(chosen);
}
__gpo_inline coalesced_group tiled_partition(const coalesced_group& group, unsigned size) {
    return __gpo_partition(group.__gpo_mask(), group.thread_rank(), size);
}
__gpo_inline thread_group tiled_partition(const thread_group& group, unsigned size) {
    if (group.__gpo_mask()) return thread_group(__gpo_partition(group.__gpo_mask(), group.thread_rank(), size));
    // Of a block whose size is no multiple of 32 the last warp is shorter.
    const unsigned before = thread_block::thread_rank() & ~31u, rest = thread_block::num_threads() - before;
    return thread_group(__gpo_partition(rest >= 32 ? ~0u : (1u << rest) - 1u, __gpo_lane(), size));
}
template <class Label>
coalesced_group labeled_partition(const __gpo_lanes& group, Label label) {
    return coalesced_group(__match_any_sync(group.__gpo_mask(), label));
}
__gpo_inline coalesced_group binary_partition(const __gpo_lanes& group, bool side) {
    const unsigned all = group.__gpo_mask(), yes = __ballot_sync(all, side);
    return coalesced_group(side ? yes : all & ~yes);
}

template <class Group> void sync(const Group& group) { group.sync(); }
template <class Group> unsigned thread_rank(const Group& group) { return group.thread_rank(); }
template <class Group> unsigned group_size(const Group& group) { return group.size(); }

template <class T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };

/// Everybody's answer is that of the lanes in their order.
template <class Group, class T, class Operation>
T reduce(const Group& group, T value, Operation operation) {
    T result = group.shfl(value, 0);
    for (unsigned rank = 1; rank < group.size(); ++rank) result = operation(result, group.shfl(value, static_cast<int>(rank)));
    return result;
}
template <class Group, class T, class Operation>
T inclusive_scan(const Group& group, T value, Operation operation) {
    const unsigned own = group.thread_rank();
    T result = group.shfl(value, 0);
    for (unsigned rank = 1; rank < group.size(); ++rank) {
        const T next = group.shfl(value, static_cast<int>(rank));
        if (rank <= own) result = operation(result, next);
    }
    return result;
}
template <class Group, class T> T inclusive_scan(const Group& group, T value) { return inclusive_scan(group, value, plus<T>()); }
/// The first lane's answer is T().
template <class Group, class T, class Operation>
T exclusive_scan(const Group& group, T value, Operation operation) {
    const T before = group.shfl_up(inclusive_scan(group, value, operation), 1);
    return group.thread_rank() == 0 ? T() : before;
}
template <class Group, class T> T exclusive_scan(const Group& group, T value) { return exclusive_scan(group, value, plus<T>()); }

/// The group copies at once; what it has copied is there for all of it after wait(group).
template <class Group>
void memcpy_async(const Group& group, void* to, const void* from, size_t bytes) {
    // A piece for each thread: neighbours copy neighbouring bytes.
    const size_t each = (bytes / group.size() + 1 + 15) / 16 * 16, begin = each * group.thread_rank();
    if (begin < bytes)
        __builtin_memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                         bytes - begin < each ? bytes - begin : each);
}
template <class Group, class T>
void memcpy_async(const Group& group, T* to, size_t to_count, const T* from, size_t from_count) {
    memcpy_async(group, static_cast<void*>(to), static_cast<const void*>(from),
                 sizeof(T) * (to_count < from_count ? to_count : from_count));
}
template <class Group> void wait(const Group& group) { group.sync(); }
template <unsigned Stages, class Group> void wait_prior(const Group& group) { group.sync(); }

}  // namespace cooperative_groups
