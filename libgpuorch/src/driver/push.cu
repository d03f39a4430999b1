// The kernel that pushes the host's tasks into a ring (queue/ring.h). gpuorch/device/queue.cuh has the kernels' side of
// the protocol. make_builtin.py compiles this file to push.ptx; softgpu/image/builtin.cpp has the same for the software
// GPU.
//
// The grid has a single block: tasks enter the ring in their order, and if it is too full, the last ones are refused.
// `words`, `sequence`, `slots`: of the priority to which the tasks belong. `state`: of the ring. `source`: `count`
// tasks.
typedef unsigned int u32;
typedef unsigned long long u64;

namespace {

enum { kTail = 0, kRoom = 256, kItems = 384, kRefused = 640 };   // bytes from `words`
enum { kAborted = 2 };
constexpr u32 kPolls = 1 << 22;      // most reads of a slot's word while waiting for a pop to free the slot
constexpr u32 kAttempts = 1 << 16;   // with tickets: most attempts to take slots while other pushes are faster

__device__ inline u64* word(u64 words, u32 offset) { return reinterpret_cast<u64*>(words + offset); }

__device__ inline u32 acquire(const u32* from) {
    u32 value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

__device__ inline void release(u32* to, u32 value) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(to), "r"(value) : "memory");
}

struct Ring {
    u64 words;
    u32* sequence;
    uint4* slots;
    u32 capacity_log2, task_units;   // of 16 bytes

    __device__ u32* slot_word(u64 position) const { return sequence + (position & ((1ull << capacity_log2) - 1)); }
    __device__ u32 free_in(u64 position) const { return static_cast<u32>(2 * (position >> capacity_log2)); }
    __device__ void fill(u64 position, const uint4* task) const {
        uint4* slot = slots + (position & ((1ull << capacity_log2) - 1)) * task_units;
        for (u32 i = 0; i < task_units; ++i) slot[i] = task[i];
        release(slot_word(position), free_in(position) + 1);
    }
};

// Results that thread 0 shares with the block.
struct Grant {
    u64 first;       // position
    u32 tasks;
    u32 free_slots;  // with tickets: number of free slots from `first` on
    bool lost;       // another push was faster
};

// Reserves room for up to `wanted` tasks: subtracts `wanted` from the ring's room, and adds back what was too much.
// Only thread 0 calls this.
__device__ inline void ask_for_room(u64 words, u32 wanted, Grant& grant) {
    const long long room = static_cast<long long>(atomicAdd(word(words, kRoom), 0ull - wanted));
    const u32 granted = room <= 0 ? 0 : room < wanted ? static_cast<u32>(room) : wanted;
    if (granted < wanted) atomicAdd(word(words, kRoom), static_cast<u64>(wanted - granted));
    grant.tasks = granted;
    grant.first = granted ? atomicAdd(word(words, kTail), static_cast<u64>(granted)) : 0;
}

// With tickets there is no count of the room: reserves the slots that are free from the tail on. All threads call this.
__device__ void take_free_slots(const Ring& ring, u32 wanted, Grant& grant) {
    u64* tail = word(ring.words, kTail);
    for (u32 attempt = 0;; ++attempt) {
        if (threadIdx.x == 0) {
            grant.first = *const_cast<const volatile u64*>(tail);
            grant.free_slots = wanted;
        }
        __syncthreads();
        const u64 mine = grant.first + threadIdx.x;
        if (threadIdx.x < wanted && acquire(ring.slot_word(mine)) != ring.free_in(mine))
            atomicMin(&grant.free_slots, threadIdx.x);
        __syncthreads();
        if (threadIdx.x == 0) {
            grant.tasks = grant.free_slots;
            grant.lost = grant.tasks != 0 && atomicCAS(tail, grant.first, grant.first + grant.tasks) != grant.first;
            if (grant.lost) grant.tasks = 0;
        }
        __syncthreads();
        if (!grant.lost || attempt == kAttempts) return;
        __syncthreads();
    }
}

__device__ inline bool wait_for_slot(const Ring& ring, u64 position) {
    for (u32 polls = 0; acquire(ring.slot_word(position)) != ring.free_in(position); ++polls) {
        if (polls == kPolls) return false;
        __nanosleep(20);
    }
    return true;
}

}  // namespace

extern "C" __global__ void gpo_push(u64 words, u32* state, u32* sequence, uint4* slots, u32 capacity_log2,
                                    u32 task_size, u32 tickets, const uint4* source, u64 count) {
    __shared__ Grant grant;
    const Ring ring{words, sequence, slots, capacity_log2, task_size / 16};
    u64 pushed = 0;
    while (pushed < count) {
        const u32 wanted = count - pushed < blockDim.x ? static_cast<u32>(count - pushed) : blockDim.x;
        if (__syncthreads_or(acquire(state) != 0)) break;   // closed or aborted
        if (tickets) {
            take_free_slots(ring, wanted, grant);
        } else if (threadIdx.x == 0) {
            ask_for_room(words, wanted, grant);
        }
        __syncthreads();
        const u32 tasks = grant.tasks;
        const u64 position = grant.first + threadIdx.x;
        if (threadIdx.x < tasks) {
            if (wait_for_slot(ring, position))
                ring.fill(position, source + (pushed + threadIdx.x) * ring.task_units);
            else
                atomicMax(state, u32(kAborted));   // the slot's owner stopped without freeing it
        }
        __syncthreads();
        if (threadIdx.x == 0 && tasks && !tickets) atomicAdd(word(words, kItems), static_cast<u64>(tasks));
        pushed += tasks;
        if (tasks < wanted) break;
    }
    if (threadIdx.x == 0 && pushed < count) atomicAdd(word(words, kRefused), count - pushed);
}
