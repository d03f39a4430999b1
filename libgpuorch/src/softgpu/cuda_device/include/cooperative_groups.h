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
/// Memory for CUDA's larger tiles on devices before 8.0; unused here.
template <unsigned MaxBlockSize = 1024> struct __attribute__((aligned(8))) block_tile_memory {};
template <unsigned MaxBlockSize> thread_block this_thread_block(block_tile_memory<MaxBlockSize>&) { return thread_block(); }

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
    typedef gpo_soft_u32 arrival_token;
    bool is_valid() const { return true; }
    void sync() const { barrier_wait(barrier_arrive()); }
    /// The block arrives at the grid's barrier when all its threads have arrived; its first thread takes the ticket.
    arrival_token barrier_arrive() const {
        __syncthreads();
        arrival_token token = 0;
        if (__gpo_thread()->linear == 0) {
            gpo_soft_block* block = __gpo_block();
            if (!block->services->grid_arrive(block, &token)) __gpo_fail(719, "a barrier of the grid in a launch that isn't cooperative");
        }
        return token;
    }
    void barrier_wait(arrival_token&& token) const {
        if (__gpo_thread()->linear == 0) {
            gpo_soft_block* block = __gpo_block();
            block->services->grid_wait(block, token);
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
    template <class T> T shfl(T value, int rank) const { return hand_over(value, lane(static_cast<unsigned>(rank) % num_threads())); }
    template <class T> T shfl_up(T value, unsigned delta) const {
        const unsigned rank = thread_rank();
        return hand_over(value, lane(rank < delta ? rank : rank - delta));
    }
    template <class T> T shfl_down(T value, unsigned delta) const {
        const unsigned rank = thread_rank();
        return hand_over(value, lane(delta >= num_threads() - rank ? rank : rank + delta));
    }
    template <class T> T shfl_xor(T value, unsigned lanes) const {
        const unsigned rank = thread_rank() ^ lanes;
        return hand_over(value, lane(rank < num_threads() ? rank : thread_rank()));
    }
    unsigned __gpo_mask() const { return mask_; }
    int any(int predicate) const { return __any_sync(mask_, predicate); }
    int all(int predicate) const { return __all_sync(mask_, predicate); }
    unsigned ballot(int predicate) const { return ranks(__ballot_sync(mask_, predicate)); }
    template <class T> unsigned match_any(T value) const { return ranks(__match_any_sync(mask_, value)); }
    template <class T> unsigned match_all(T value, int& predicate) const { return ranks(__match_all_sync(mask_, value, &predicate)); }

    /// Everybody's answer is that of the lanes in their order.
    template <class T, class Operation> T __gpo_reduce(T value, Operation operation) const {
        T result = shfl(value, 0);
        for (unsigned rank = 1; rank < num_threads(); ++rank) result = operation(result, shfl(value, static_cast<int>(rank)));
        return result;
    }
    template <class T, class Operation> T __gpo_inclusive(T value, Operation operation) const {
        const unsigned own = thread_rank();
        T result = shfl(value, 0);
        for (unsigned rank = 1; rank < num_threads(); ++rank) {
            const T next = shfl(value, static_cast<int>(rank));
            if (rank <= own) result = operation(result, next);
        }
        return result;
    }
    template <class T, class Operation> T __gpo_exclusive(T value, Operation operation) const {
        const T before = shfl_up(__gpo_inclusive(value, operation), 1);
        return thread_rank() == 0 ? T() : before;
    }

protected:
    explicit __gpo_lanes(unsigned mask) : mask_(mask) {}
    template <class T> T hand_over(T value, unsigned from) const {
        static_assert(__is_trivially_copyable(T) && sizeof(T) <= 32, "a group's threads hand over what can be copied as bytes, 32 at most");
        return __gpo_shuffle(mask_, value, from);
    }
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

/// Coalesced threads, with the number of this part of the parent group and the count of parts.
class coalesced_group : public __gpo_lanes {
public:
    explicit coalesced_group(unsigned mask, unsigned part = 0, unsigned parts = 1) : __gpo_lanes(mask), part_(part), parts_(parts) {}
    template <unsigned Size, class Parent> coalesced_group(const thread_block_tile<Size, Parent>& tile);
    unsigned meta_group_rank() const { return part_; }
    unsigned meta_group_size() const { return parts_; }

private:
    unsigned part_, parts_;
};
__gpo_inline coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

/// A tile's threads are lanes of one warp,
template <unsigned Size, bool Many = (Size > 32)>
class __gpo_tile : public __gpo_lanes {
    static_assert(Size != 0 && (Size & (Size - 1)) == 0 && Size <= 1024, "a tile has a power of two of threads, 1024 at most");

public:
    __gpo_tile() : __gpo_lanes((Size == 32 ? 0xffffffffu : (1u << (Size & 31)) - 1u) << (__gpo_lane() & ~(Size - 1))) {}
    static constexpr unsigned num_threads() { return Size; }
    static constexpr unsigned size() { return Size; }
    static unsigned thread_rank() { return __gpo_lane() & (Size - 1); }
    template <class T> T shfl(T value, int rank) const { return hand_over(value, lane(static_cast<unsigned>(rank) & (Size - 1))); }
    template <class T> T shfl_up(T value, unsigned delta) const {
        return hand_over(value, lane(thread_rank() < delta ? thread_rank() : thread_rank() - delta));
    }
    template <class T> T shfl_down(T value, unsigned delta) const {
        return hand_over(value, lane(delta >= Size - thread_rank() ? thread_rank() : thread_rank() + delta));
    }
    template <class T> T shfl_xor(T value, unsigned lanes) const {
        const unsigned rank = thread_rank() ^ lanes;
        return hand_over(value, lane(rank < Size ? rank : thread_rank()));
    }

private:
    static unsigned lane(unsigned rank) { return (__gpo_lane() & ~(Size - 1)) + rank; }
};
/// or several warps. The warps meet by the block's `scratch`, which has for each size a bit per arrived warp and a bit
/// per tile. A tile's bit flips when all its warps have arrived. `exchange` hands over values, a word per warp.
template <unsigned Size>
class __gpo_tile<Size, true> {
    static_assert((Size & (Size - 1)) == 0 && Size <= 1024, "a tile has a power of two of threads, 1024 at most");

public:
    static constexpr unsigned num_threads() { return Size; }
    static constexpr unsigned size() { return Size; }
    static unsigned thread_rank() { return __gpo_thread()->linear & (Size - 1); }
    void sync() const {
        gpo_soft_block* block = __gpo_block();
        const unsigned linear = __gpo_thread()->linear, here = __ballot_sync(~0u, 1);   // the lanes that are left
        if (__gpo_lane() == static_cast<unsigned>(__builtin_ctz(here))) {
            const unsigned count = (thread_block::num_threads() + 31) / 32 - linear / Size * kWarps;
            const unsigned warps = (count >= kWarps ? kAll : (1u << count) - 1u) << (linear / Size * kWarps);
            volatile unsigned* come = reinterpret_cast<unsigned*>(block->scratch) + kSize;
            volatile unsigned* turns = reinterpret_cast<unsigned*>(block->scratch) + 5;
            const unsigned turn = 1u << (kFirstTurn + linear / Size), before = *turns & turn;
            *come = *come | 1u << linear / 32;
            if ((*come & warps) == warps) {
                *come = *come & ~warps;
                *turns = *turns ^ turn;
            }
            while ((*turns & turn) == before) block->services->yield(block);
        }
        __syncwarp();
    }
    template <class T> T shfl(T value, unsigned rank) const {
        if (thread_rank() == rank) leave(rank / 32, value);
        sync();
        value = left<T>(rank / 32);
        sync();
        return value;
    }
    int any(int predicate) const { return __gpo_reduce(__any_sync(~0u, predicate), [](int a, int b) { return a | b; }); }
    int all(int predicate) const { return __gpo_reduce(__all_sync(~0u, predicate), [](int a, int b) { return a & b; }); }

    template <class T, class Operation> T __gpo_reduce(T value, Operation operation) const {
        leave(warp(), __gpo_tile<32>().__gpo_reduce(value, operation));
        sync();
        T result = left<T>(0);
        for (unsigned i = 1; i < kWarps; ++i) result = operation(result, left<T>(i));
        sync();
        return result;
    }
    template <class T, class Operation> T __gpo_inclusive(T value, Operation operation) const {
        value = __gpo_tile<32>().__gpo_inclusive(value, operation);
        T before = value;
        return before_warp(value, before, operation) ? operation(before, value) : value;
    }
    template <class T, class Operation> T __gpo_exclusive(T value, Operation operation) const {
        value = __gpo_tile<32>().__gpo_inclusive(value, operation);
        const T own = __gpo_tile<32>().shfl_up(value, 1);
        T before = value;
        const bool others = before_warp(value, before, operation);
        if (__gpo_lane() == 0) return others ? before : T();
        return others ? operation(before, own) : own;
    }

private:
    static constexpr unsigned kWarps = Size / 32, kAll = Size == 1024 ? ~0u : (1u << (kWarps & 31)) - 1u;
    static constexpr unsigned kSize = Size == 64 ? 0 : Size == 128 ? 1 : Size == 256 ? 2 : Size == 512 ? 3 : 4;
    static constexpr unsigned kFirstTurn = 32 - (32 >> kSize);   // 16 tiles of 64 come first, then 8 of 128, …

    static unsigned warp() { return thread_rank() / 32; }
    static gpo_soft_u64* place(unsigned warp) { return __gpo_block()->exchange + __gpo_thread()->linear / Size * kWarps + warp; }
    template <class T> static void leave(unsigned warp, const T& value) {
        static_assert(__is_trivially_copyable(T) && sizeof(T) <= 8, "what a tile of several warps hands over has 8 bytes at most");
        __builtin_memcpy(place(warp), &value, sizeof value);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    template <class T> static T left(unsigned warp) {
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        T value;
        __builtin_memcpy(&value, place(warp), sizeof value);
        return value;
    }
    /// Sets `before` to the result of earlier warps; each warp's last lane has the warp's `value`. False in the first.
    template <class T, class Operation> bool before_warp(const T& value, T& before, Operation operation) const {
        if (__gpo_lane() == 31) leave(warp(), value);
        sync();
        for (unsigned i = 0; i < warp(); ++i) before = i == 0 ? left<T>(0) : operation(before, left<T>(i));
        sync();
        return warp() != 0;
    }
};

template <unsigned Size, class Parent>
class thread_block_tile : public __gpo_tile<Size> {
public:
    static unsigned meta_group_rank() { return Parent::thread_rank() / Size; }
    static unsigned meta_group_size() { return (Parent::size() + Size - 1) / Size; }
};
/// A tile with a forgotten parent type.
template <unsigned Size>
class thread_block_tile<Size, void> : public __gpo_tile<Size> {
public:
    template <class Parent>
    thread_block_tile(const thread_block_tile<Size, Parent>& tile) : part_(tile.meta_group_rank()), parts_(tile.meta_group_size()) {}
    unsigned meta_group_rank() const { return part_; }
    unsigned meta_group_size() const { return parts_; }

private:
    unsigned part_, parts_;
};
template <unsigned Size, class Parent>
coalesced_group::coalesced_group(const thread_block_tile<Size, Parent>& tile)
    : __gpo_lanes(tile.__gpo_mask()), part_(tile.meta_group_rank()), parts_(tile.meta_group_size()) {}
__gpo_inline thread_block_tile<1> this_thread() { return thread_block_tile<1, thread_block_tile<1, thread_block>>(); }

template <class Group> struct __gpo_most { static constexpr unsigned size = 0; };
template <> struct __gpo_most<thread_block> { static constexpr unsigned size = 1024; };
template <unsigned Size, class Parent> struct __gpo_most<thread_block_tile<Size, Parent>> { static constexpr unsigned size = Size / 2; };
template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
    static_assert(__gpo_most<Parent>::size != 0, "tiled_partition<N>(group) divides a block or a tile; other groups: tiled_partition(group, n)");
    static_assert(__gpo_most<Parent>::size == 0 || Size <= __gpo_most<Parent>::size, "a tile has to be smaller than its parent");
    return thread_block_tile<Size, Parent>();
}

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
/// Parts of `size` threads in rank order; `size` is a power of two up to 32. A group that isn't larger stays whole.
__gpo_inline coalesced_group tiled_partition(const coalesced_group& group, unsigned size) {
    if (group.num_threads() <= size) return group;
    const unsigned rank = group.thread_rank();
    unsigned left = group.__gpo_mask(), chosen = 0;
    for (unsigned at = 0; left; left &= left - 1, ++at)
        if (at / size == rank / size) chosen |= left & (0u - left);
    return coalesced_group(chosen, rank / size, (group.num_threads() + size - 1) / size);
}
__gpo_inline thread_group tiled_partition(const thread_group& group, unsigned size) {
    if (group.__gpo_mask()) return thread_group(tiled_partition(coalesced_group(group.__gpo_mask()), size));
    // If the block's size is no multiple of 32, the last warp is shorter.
    const unsigned before = thread_block::thread_rank() & ~31u, rest = thread_block::num_threads() - before;
    return thread_group(tiled_partition(coalesced_group(rest >= 32 ? ~0u : (1u << rest) - 1u), size));
}
__gpo_inline coalesced_group binary_partition(const __gpo_lanes& group, bool side) {
    const unsigned all = group.__gpo_mask(), yes = __ballot_sync(all, side);
    if (yes == all || yes == 0) return coalesced_group(all);
    return coalesced_group(side ? yes : all & ~yes, side, 2);
}
/// The parts are counted in the order of their first lanes.
template <class Label>
coalesced_group labeled_partition(const __gpo_lanes& group, Label label) {
    const unsigned same = __match_any_sync(group.__gpo_mask(), label), first = same & (0u - same);
    const unsigned firsts = __ballot_sync(group.__gpo_mask(), first >> __gpo_lane() == 1u);
    return coalesced_group(same, static_cast<unsigned>(__popc(firsts & (first - 1u))), static_cast<unsigned>(__popc(firsts)));
}
__gpo_inline coalesced_group labeled_partition(const __gpo_lanes& group, bool side) { return binary_partition(group, side); }

template <class T> struct __gpo_plain { typedef T type; };
template <class T> struct __gpo_plain<T&> { typedef T type; };
template <class T> struct __gpo_plain<T&&> { typedef T type; };
/// Only the group's first thread calls the function.
template <class Group, class Function, class... Arguments>
void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
    if (group.thread_rank() == 0) static_cast<Function&&>(function)(static_cast<Arguments&&>(arguments)...);
}
/// All threads get the result of the first thread's call.
template <class Group, class Function, class... Arguments>
auto invoke_one_broadcast(const Group& group, Function&& function, Arguments&&... arguments) ->
    typename __gpo_plain<decltype(static_cast<Function&&>(function)(static_cast<Arguments&&>(arguments)...))>::type {
    typename __gpo_bare<typename __gpo_plain<decltype(static_cast<Function&&>(function)(static_cast<Arguments&&>(arguments)...))>::type>::type result;
    if (group.thread_rank() == 0) result = static_cast<Function&&>(function)(static_cast<Arguments&&>(arguments)...);
    return group.shfl(result, 0);
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

template <class Group, class T, class Operation>
T reduce(const Group& group, T value, Operation operation) { return group.__gpo_reduce(value, operation); }
template <class Group, class T, class Operation>
T inclusive_scan(const Group& group, T value, Operation operation) { return group.__gpo_inclusive(value, operation); }
template <class Group, class T> T inclusive_scan(const Group& group, T value) { return inclusive_scan(group, value, plus<T>()); }
/// The first thread's answer is T().
template <class Group, class T, class Operation>
T exclusive_scan(const Group& group, T value, Operation operation) { return group.__gpo_exclusive(value, operation); }
template <class Group, class T> T exclusive_scan(const Group& group, T value) { return exclusive_scan(group, value, plus<T>()); }

/// The group copies at once; after wait(group) all its threads see the copied bytes.
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
