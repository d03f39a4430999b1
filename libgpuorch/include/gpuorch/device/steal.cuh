/* device/steal.cuh: a range of numbers that the kernels of all ranks share: a device that is done early takes over
 * numbers of the others (gpuorch/symmetric.h).
 *
 * At first each rank has a part of the numbers from 0 to count - 1, in the order of the ranks. Its workers take batches
 * of the part, by atomics on their own device's memory. A worker that finds the part empty takes from the rank with the
 * most batches left. At first it takes many batches at once, a fair share of the rest for each worker of the group, and
 * in the end single batches. Few atomics therefore cross the links, and no worker has much more than the others when
 * the numbers end. Every number is handed out exactly once in each launch, to any rank.
 *
 *     #include <gpuorch/device/steal.cuh>
 *
 *     extern "C" __global__ void rows(gpo::symmetric memory, unsigned long long count) {
 *         gpo::warp_steal mine(gpo::shared_numbers(memory, 0, count, 4));
 *         unsigned long long first, last;
 *         while (mine.next(first, last) == gpo::peer_success)
 *             for (unsigned long long i = first; i < last; ++i) row(i, threadIdx.x % 32);
 *     }
 *
 *   gpo::shared_numbers(memory, offset, count, batch)
 *       The numbers. From `offset` on, a multiple of 128, the range has GPO_STEAL_BYTES (384) of each rank's memory,
 *       which are zeros before the first launch and between launches. `count` is below 2^63; `batch`, numbers at a
 *       time, is 1 or more. All ranks give the same offset, count and batch. `memory` must be the kernel's parameter or
 *       live as long as the workers. The member `workers` says how many workers the rank has; 0, as it is at first,
 *       means all threads, warps or blocks of the grid, according to the form. Set it where only some take part.
 *   gpo::thread_steal(numbers), gpo::warp_steal(numbers), gpo::block_steal(numbers, memory)
 *       A worker: a thread, the lanes of a warp that come together, or a block. All workers of a rank are of one form.
 *       memory: a __shared__ gpo::block_steal_memory. next() of a block is a barrier.
 *   next(first, last) gives the numbers first to last - 1, or returns peer_end, or peer_invalid.
 *
 *   Every worker calls next() until it gets peer_end, on each rank, or calls stop() instead: then workers get no more
 *   of the range in this launch than they have taken already. The last worker of all ranks makes the range as new, so
 *   launches need no reset in between. After a failed launch, write zeros into the range's bytes of each rank. Launches
 *   that use a range must not overlap on any device: gpo_peers_launch on the same streams keeps them apart. No worker
 *   waits for another, so other launches will do as well, if each stream waits for the previous launch on all devices.
 *
 *   Writes of a worker are visible to other ranks when the launch has ended. The links must have native atomics
 *   (gpo_peers_info.native_atomics).
 */
#ifndef GPUORCH_DEVICE_STEAL_CUH
#define GPUORCH_DEVICE_STEAL_CUH

#include <gpuorch/device/peer.cuh>

namespace gpo {

/* The range's u64 words in each rank's memory, 128 bytes from one to the next. */
enum steal_word {
    steal_claims = 0, /* claimed batches of the rank's part; workers that come too late add to the word, too */
    steal_done = 1,   /* the rank's workers that have ended */
    steal_ranks = 2   /* in rank 0's memory: ranks whose workers have all ended */
};

struct shared_numbers {
    const symmetric* memory;
    unsigned long long offset, count, batch, workers;

    __device__ shared_numbers(const symmetric& in, unsigned long long at, unsigned long long numbers,
                              unsigned long long batch_numbers)
        : memory(&in), offset(at), count(numbers), batch(batch_numbers), workers(0) {}

    __device__ bool valid() const {
        return has(*memory, memory->rank, offset, 384) && memory->remote == 0 && offset % 128 == 0 &&
               count >> 63 == 0 && batch != 0;
    }
    __device__ unsigned long long* word(unsigned rank, steal_word which) const {
        return word_at(*memory, rank, offset + which * 128ull);
    }
};

/* The part of a worker that one thread executes. */
struct stealer {
    shared_numbers numbers;
    unsigned long long part;      /* batches of each rank's part; the first `more` ranks have one more */
    unsigned more;
    bool valid, own, working;     /* the own part isn't known to be empty; the worker hasn't ended */
    unsigned long long next, end; /* batches in hand */

    __device__ stealer(const shared_numbers& of, unsigned long long all)
        : numbers(of), part(0), more(0), valid(of.valid()), own(true), working(valid), next(0), end(0) {
        if (!valid) return;
        if (numbers.workers == 0) numbers.workers = all;
        const unsigned long long batches = of.count / of.batch + (of.count % of.batch != 0);
        part = batches / of.memory->ranks;
        more = (unsigned)(batches % of.memory->ranks);
    }

    /* A rank's part, in batches. */
    __device__ unsigned long long batches_of(unsigned rank) const { return part + (rank < more); }
    __device__ unsigned long long first_of(unsigned rank) const { return part * rank + (rank < more ? rank : more); }

    __device__ int take(unsigned long long& first, unsigned long long& last) {
        if (!valid) return peer_invalid;
        if (!working) return peer_end;
        if (next == end && !take_own() && !steal()) {
            finish();
            return peer_end;
        }
        first = next++ * numbers.batch;
        last = numbers.count - first < numbers.batch ? numbers.count : first + numbers.batch;
        return peer_success;
    }

    /* Claims up to `wanted` batches of a rank's part; false if none are left. */
    __device__ bool claim(unsigned rank, unsigned long long wanted) {
        const unsigned long long all = batches_of(rank);
        const unsigned long long before =
            atomic::fetch_add_relaxed_system(numbers.word(rank, steal_claims), wanted);
        if (before >= all) return false;
        next = first_of(rank) + before;
        end = next + (all - before < wanted ? all - before : wanted);
        return true;
    }

    __device__ bool take_own() {
        own = own && claim(numbers.memory->rank, 1);
        return own;
    }

    /* Ends: a claim comes too late only if other workers have taken the batches meanwhile. */
    __device__ bool steal() {
        for (;;) {
            const unsigned ranks = numbers.memory->ranks;
            unsigned long long most = 0;
            unsigned victim = 0, rank = numbers.memory->rank;
            for (unsigned i = 1; i < ranks; ++i) { /* each rank begins with the next rank */
                rank = rank + 1 == ranks ? 0 : rank + 1;
                const unsigned long long all = batches_of(rank);
                const unsigned long long claimed = atomic::load_relaxed_system(numbers.word(rank, steal_claims));
                if (claimed >= all || all - claimed <= most) continue;
                most = all - claimed;
                victim = rank;
            }
            if (most == 0) return false;
            const unsigned long long share = most / 2 / ranks / numbers.workers;
            if (claim(victim, share ? share : 1)) return true;
        }
    }

    /* A worker that has ended doesn't touch the claims any more: the last worker of all sets everything back. */
    __device__ void finish() {
        working = false;
        unsigned long long* const done = numbers.word(numbers.memory->rank, steal_done);
        if (atomic::fetch_add_acq_rel(done, 1ull) + 1 != numbers.workers) return;
        atomic::store_relaxed(done, 0ull);
        unsigned long long* const ranks_done = numbers.word(0, steal_ranks);
        if (atomic::fetch_add_acq_rel_system(ranks_done, 1ull) + 1 != numbers.memory->ranks) return;
        for (unsigned rank = 0; rank < numbers.memory->ranks; ++rank)
            atomic::store_relaxed_system(numbers.word(rank, steal_claims), 0ull);
        atomic::store_relaxed_system(ranks_done, 0ull);
    }

    __device__ void stop() {
        if (!working) return;
        for (unsigned rank = 0; rank < numbers.memory->ranks; ++rank)
            atomic::raise_relaxed_system(numbers.word(rank, steal_claims), batches_of(rank));
        finish();
    }
};

struct thread_steal {
    stealer self;

    __device__ explicit thread_steal(const shared_numbers& of)
        : self(of, atomic::blocks_in_grid() * atomic::threads_in_block()) {}
    __device__ int next(unsigned long long& first, unsigned long long& last) { return self.take(first, last); }
    __device__ void stop() { self.stop(); }
};

struct warp_steal {
    stealer self; /* the first lane's counts */
    unsigned mask;

    __device__ explicit warp_steal(const shared_numbers& of, unsigned lanes = __activemask())
        : self(of, atomic::blocks_in_grid() * ((atomic::threads_in_block() + 31) / 32)), mask(lanes) {}

    __device__ int next(unsigned long long& first, unsigned long long& last) {
        int status = peer_success;
        if (atomic::elected(mask)) status = self.take(first, last);
        status = atomic::from_first(mask, status);
        if (status != peer_success) return status;
        first = atomic::from_first(mask, first);
        last = atomic::from_first(mask, last);
        return peer_success;
    }
    __device__ void stop() {
        if (atomic::elected(mask)) self.stop();
    }
};

/* In shared memory, one for each block_steal. Two places in turn, as in block_range. */
struct block_steal_memory {
    struct {
        unsigned long long first, last;
        int status;
    } place[2];
};

struct block_steal {
    stealer self; /* the first thread's counts */
    block_steal_memory& memory;
    unsigned turn;

    __device__ block_steal(const shared_numbers& of, block_steal_memory& shared)
        : self(of, atomic::blocks_in_grid()), memory(shared), turn(0) {}

    __device__ int next(unsigned long long& first, unsigned long long& last) {
        auto& place = memory.place[turn++ % 2];
        if (atomic::thread_in_block() == 0) {
            unsigned long long from = 0, to = 0;
            place.status = self.take(from, to);
            place.first = from;
            place.last = to;
        }
        __syncthreads();
        first = place.first;
        last = place.last;
        return place.status;
    }
    __device__ void stop() {
        if (atomic::thread_in_block() == 0) self.stop();
    }
};

}  // namespace gpo

#endif
