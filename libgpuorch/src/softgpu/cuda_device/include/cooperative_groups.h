// Cooperative groups: blocks, the grid, tiles of a warp and lanes that happen to be together.
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
    static void sync() { __syncthreads(); }
    static unsigned thread_rank() { return __gpo_thread()->linear; }
    static unsigned num_threads() { return __gpo_block_dim().x * __gpo_block_dim().y * __gpo_block_dim().z; }
    static unsigned size() { return num_threads(); }
    static dim3 group_index() { return dim3(__gpo_block_index()); }
    static dim3 thread_index() { return dim3(__gpo_thread_index()); }
    static dim3 group_dim() { return __gpo_block_dim(); }
    static dim3 dim_threads() { return __gpo_block_dim(); }
};
inline thread_block this_thread_block() { return thread_block(); }

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
};
inline grid_group this_grid() { return grid_group(); }

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
    unsigned meta_group_rank() const { return 0; }
    unsigned meta_group_size() const { return 1; }
};
__gpo_inline coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

template <unsigned Size, class Parent = void>
class thread_block_tile : public __gpo_lanes {
    static_assert(Size != 0 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

public:
    thread_block_tile()
        : __gpo_lanes((Size == 32 ? 0xffffffffu : (1u << (Size & 31)) - 1u) << (__gpo_lane() & ~(Size - 1))) {}
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
thread_block_tile<Size, Parent> tiled_partition(const Parent&) { return thread_block_tile<Size, Parent>(); }

template <class Group> void sync(const Group& group) { group.sync(); }
template <class Group> unsigned thread_rank(const Group& group) { return group.thread_rank(); }

template <class T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };

template <class Group, class T, class Operation>
T reduce(const Group& group, T value, Operation operation) {
    T result = group.shfl(value, 0);
    for (unsigned rank = 1; rank < group.size(); ++rank) result = operation(result, group.shfl(value, static_cast<int>(rank)));
    return result;
}

}  // namespace cooperative_groups
