/* device/range.cuh: the numbers of a range, handed out in batches. Part of device/queue.cuh, which describes its use.
 *
 * A *worker* is a thread, a warp or a block, by the form; a *batch* is a worker's next few numbers.
 *
 * With W workers, worker w has batch w without a claim. Later batches are claimed: claim c of a launch gets batch
 * W + c. Each worker claims until one of its claims finds no batch. A launch therefore has as many claims as batches:
 * (batches - W) claims find a batch, and a last claim of each worker finds none. The last claim of all is known by its
 * number, and its worker sets the counter back to 0. The range is then as new for the next launch, and no worker has
 * waited for another. If there are no more batches than workers, there are no claims.
 *
 * A worker claims its next batch when it begins the current batch. With late claims (range_late_claims) it claims when
 * it asks for the next batch; the number of claims is the same. With late claims a worker that has a batch looks to the
 * calls like a worker at its end until they check `late`. Early claims therefore pay nothing for late ones.
 */
#ifndef GPUORCH_DEVICE_RANGE_CUH
#define GPUORCH_DEVICE_RANGE_CUH

#include <gpuorch/device/handles.cuh>

namespace gpo {

/* State of a worker of any form. Only the thread that claims for its worker knows `ahead`. */
struct range_worker {
    unsigned long long count, batch, workers;
    unsigned long long ahead; /* the claim whose batch comes next. The first batch counts as claim index - workers */
    unsigned long long* claims; /* counter for claims ahead; 0: there are none */
    unsigned long long* late;   /* counter for late claims; 0: there are none (any more) */
    const unsigned* order;
    bool valid;

    static constexpr unsigned long long no_claim = 1ull << 63;

    /* Worker `index` of `all`. Each of its batches is `batches` batches of the range. */
    __device__ range_worker(const range& from, unsigned long long index, unsigned long long all, unsigned batches)
        : count(from.count), batch((unsigned long long)from.batch * batches), workers(all), ahead(index - all),
          claims((unsigned long long*)from.words), late(nullptr), order((const unsigned*)from.order),
          valid(from.magic == range_magic && from.version == queue_version && from.batch && batches && index < all) {
        if (!valid || batch >= count || workers * batch >= count) claims = nullptr;
        if (from.flags & range_late_claims) {
            late = claims;
            claims = nullptr;
        }
    }

    /* The number at a place from 0 to count - 1. */
    __device__ unsigned long long number(unsigned long long place) const { return order ? order[place] : place; }

    /* The places of a claim's batch; false if the batch is behind the end. */
    __device__ bool places(unsigned long long claimed, unsigned long long& first, unsigned long long& last) const {
        first = (workers + claimed) * batch;
        if (claimed == no_claim || first >= count) return false;
        last = count - first < batch ? count : first + batch;
        return true;
    }

    /* The thread waits for the atomic's result only when it reads `ahead`. */
    __device__ void claim() { ahead = claims ? atomic::fetch_add_relaxed(claims, 1ull) : no_claim; }

    /* Claims for a worker that asks for a batch. Only if `late` isn't 0. */
    __device__ void claim_late() { ahead = atomic::fetch_add_relaxed(late, 1ull); }

    /* Ends the worker: its last claim is behind the end. The launch's last claim sets the counter back. */
    __device__ void finish() {
        unsigned long long* const counter = claims ? claims : late;
        if (counter && ahead != no_claim) {
            const unsigned long long before =
                ahead * batch; /* numbers in as many batches as there were earlier claims */
            if (before < count && count - before <= batch) atomic::store_relaxed(counter, 0ull);
        }
        ahead = no_claim;
        late = nullptr;
    }

    /* Leaves no batch to be claimed by any worker. A worker whose claim was behind the end may not touch the counter
     * any more: no batch is left. */
    __device__ void drop_rest() {
        unsigned long long first, last;
        if (late) {
            raise(late);
            claim_late();
        } else if (claims && places(ahead, first, last)) {
            raise(claims);
            claim();
        }
        finish();
    }
    __device__ void raise(unsigned long long* counter) const {
        atomic::raise_relaxed(counter, (count + batch - 1) / batch - workers);
    }
};

/* Each thread has batches of its own. */
struct thread_range {
    range_worker worker;

    __device__ explicit thread_range(const range& from)
        : worker(from, atomic::block_in_grid() * atomic::threads_in_block() + atomic::thread_in_block(),
                 atomic::blocks_in_grid() * atomic::threads_in_block(), 1) {}
    /* Worker `index` of `all`. */
    __device__ thread_range(const range& from, unsigned long long index, unsigned long long all)
        : worker(from, index, all, 1) {}

    __device__ int next(unsigned long long& first, unsigned long long& last) {
        if (!worker.valid) return queue_invalid;
        if (!worker.places(worker.ahead, first, last) && !late(first, last)) {
            worker.finish();
            return queue_end;
        }
        if (worker.claims)
            claim(worker.claims, __activemask());
        else
            worker.ahead = range_worker::no_claim;
        return queue_success;
    }
    __device__ unsigned long long number(unsigned long long place) const { return worker.number(place); }
    __device__ void stop() {
        if (worker.valid) worker.drop_rest();
    }

    /* Threads of a warp that come together claim with one atomic. */
    __device__ void claim(unsigned long long* counter, unsigned lanes) {
        unsigned long long before = 0;
        if (atomic::elected(lanes)) before = atomic::fetch_add_relaxed(counter, (unsigned long long)__popc(lanes));
        worker.ahead = atomic::from_first(lanes, before) + atomic::rank_in(lanes);
    }
    __device__ bool late(unsigned long long& first, unsigned long long& last) {
        if (!worker.late) return false;
        claim(worker.late, __activemask());
        return worker.places(worker.ahead, first, last);
    }
};

/* The lanes of a warp have batches together. */
struct warp_range {
    range_worker worker;
    unsigned mask;

    __device__ explicit warp_range(const range& from, unsigned lanes = __activemask())
        : worker(from, atomic::block_in_grid() * warps() + atomic::thread_in_block() / 32,
                 atomic::blocks_in_grid() * warps(), 1),
          mask(lanes) {}
    __device__ warp_range(const range& from, unsigned long long index, unsigned long long all,
                          unsigned lanes = __activemask())
        : worker(from, index, all, 1), mask(lanes) {}

    __device__ int next(unsigned long long& first, unsigned long long& last) {
        if (!worker.valid) return queue_invalid;
        const bool found =
            worker.places(atomic::from_first(mask, worker.ahead), first, last) || late(first, last);
        if (atomic::elected(mask)) {
            if (found)
                worker.claim();
            else
                worker.finish();
        }
        return found ? queue_success : queue_end;
    }
    __device__ unsigned long long number(unsigned long long place) const { return worker.number(place); }
    __device__ void stop() {
        if (worker.valid && atomic::elected(mask)) worker.drop_rest();
        worker.late = nullptr;
    }

    /* Behind the end no lane claims any more. */
    __device__ bool late(unsigned long long& first, unsigned long long& last) {
        if (!worker.late) return false;
        if (atomic::elected(mask)) worker.claim_late();
        if (worker.places(atomic::from_first(mask, worker.ahead), first, last)) return true;
        if (!atomic::elected(mask)) worker.late = nullptr;
        return false;
    }

    __device__ static unsigned warps() { return (atomic::threads_in_block() + 31) / 32; }
};

/* The threads of a block have batches together. In shared memory, one for each block_range. */
struct block_range_memory {
    unsigned long long claim[2];
};

struct block_range {
    range_worker worker;
    block_range_memory& memory;
    unsigned turn;

    __device__ block_range(const range& from, block_range_memory& shared)
        : worker(from, atomic::block_in_grid(), atomic::blocks_in_grid(), 1), memory(shared), turn(0) {}
    __device__ block_range(const range& from, block_range_memory& shared, unsigned long long index,
                           unsigned long long all)
        : worker(from, index, all, 1), memory(shared), turn(0) {}

    /* Two places take turns: a thread that still reads the previous place has not come to this call's barrier, and the
     * place is written again only behind that barrier. */
    __device__ int next(unsigned long long& first, unsigned long long& last) {
        if (!worker.valid) return queue_invalid;
        const bool first_thread = atomic::thread_in_block() == 0;
        const bool found = worker.places(share(first_thread), first, last) || late(first_thread, first, last);
        if (first_thread) {
            if (found)
                worker.claim();
            else
                worker.finish();
        }
        return found ? queue_success : queue_end;
    }
    __device__ unsigned long long number(unsigned long long place) const { return worker.number(place); }
    __device__ void stop() {
        if (worker.valid && atomic::thread_in_block() == 0) worker.drop_rest();
        worker.late = nullptr;
    }

    /* The claim that the first thread has. */
    __device__ unsigned long long share(bool first_thread) {
        unsigned long long& claim = memory.claim[turn++ % 2];
        if (first_thread) claim = worker.ahead;
        __syncthreads();
        return claim;
    }
    /* Behind the end no thread claims any more. */
    __device__ bool late(bool first_thread, unsigned long long& first, unsigned long long& last) {
        if (!worker.late) return false;
        if (first_thread) worker.claim_late();
        if (worker.places(share(first_thread), first, last)) return true;
        if (!first_thread) worker.late = nullptr;
        return false;
    }
};

/* Each warp of a block has batches of its own. The block claims several at a time, a *chunk*, so most claims go to a
 * counter in shared memory. This struct is in shared memory, one for each block. */
struct shared_range_memory {
    /* The low 16 bits: how many batches of the chunk are left. From 0x8000 on the range has ended; from 0xc000 on a
     * warp fetches the next chunk. The high bits: the number of the next batch. */
    unsigned long long stock;
    /* The claim whose chunk is next; or no_claim, on_its_way or not_claimed. Threads poll this word: only atomics. */
    unsigned long long ahead;
};

struct shared_range {
    range_worker worker; /* the block; its batches are chunks */
    shared_range_memory& memory;
    unsigned long long batch;
    unsigned mask, chunk;

    static constexpr unsigned most_batches = 0x7fff, has_ended = 0xbfff, is_fetched = 0xc000;
    static constexpr unsigned long long on_its_way = range_worker::no_claim + 1,
                                        not_claimed = range_worker::no_claim + 2, no_batch = ~0ull;

    /* Called by all threads of the block: has a barrier. `batches`: how many batches a chunk has. */
    __device__ shared_range(const range& from, shared_range_memory& shared, unsigned batches,
                            unsigned lanes = __activemask())
        : worker(from, atomic::block_in_grid(), atomic::blocks_in_grid(), batches), memory(shared), batch(from.batch),
          mask(lanes), chunk(batches) {
        worker.valid = worker.valid && batches <= most_batches;
        if (atomic::thread_in_block() == 0) {
            memory.stock = 0;
            memory.ahead = worker.ahead;
        }
        __syncthreads();
    }

    __device__ int next(unsigned long long& first, unsigned long long& last) {
        if (!worker.valid) return queue_invalid;
        unsigned long long which = 0;
        if (atomic::elected(mask)) which = take();
        which = atomic::from_first(mask, which);
        if (which == no_batch || which * batch >= worker.count) return queue_end;
        first = which * batch;
        last = worker.count - first < batch ? worker.count : first + batch;
        return queue_success;
    }
    __device__ unsigned long long number(unsigned long long place) const { return worker.number(place); }
    __device__ void stop() {
        if (worker.valid && atomic::elected(mask)) end();
    }

    /* -- of one thread -- */

    __device__ static unsigned left(unsigned long long stock) { return (unsigned)(stock & 0xffff); }
    __device__ static unsigned long long look(const unsigned long long& word) {
        return *(const volatile unsigned long long*)&word;
    }

    /* Takes a batch out of the stock. A warp that finds none left fetches a chunk. Other warps wait meanwhile, for as
     * long as one claim takes. */
    __device__ unsigned long long take() {
        for (;;) {
            const unsigned seen = left(look(memory.stock));
            if (seen > most_batches && seen <= has_ended) return no_batch;
            if (seen <= most_batches) {
                /* Adds 1 to the batch number, and subtracts 1 from the count left. */
                const unsigned long long stock = atomicAdd(&memory.stock, 0xffffull);
                if (left(stock) == 0) return fetch();
                if (left(stock) <= most_batches) return stock >> 16;
            }
            atomic::pause(20);
        }
    }

    __device__ unsigned long long await_ahead() const {
        for (;;) {
            const unsigned long long claimed = atomicCAS(&memory.ahead, 0ull, 0ull);
            if (claimed != on_its_way) return claimed;
            atomic::pause(20);
        }
    }

    /* Publishes the chunk that was claimed ahead, and claims the next. With late claims: claims a chunk and publishes
     * it. */
    __device__ unsigned long long fetch() {
        unsigned long long claimed = await_ahead();
        if (claimed == not_claimed) {
            worker.claim_late();
            claimed = publish_claim();
        }
        if (claimed == range_worker::no_claim) {
            atomicExch(&memory.stock, (unsigned long long)has_ended);
            return no_batch;
        }
        const unsigned long long which = (worker.workers + claimed) * chunk;
        atomicExch(&memory.ahead, worker.late ? not_claimed : on_its_way);
        __threadfence_block();
        atomicExch(&memory.stock, (which + 1) << 16 | (chunk - 1));
        if (!worker.late) {
            worker.claim();
            publish_claim();
        }
        return which;
    }

    __device__ unsigned long long publish_claim() {
        unsigned long long first, last;
        if (!worker.places(worker.ahead, first, last)) worker.finish();
        atomicExch(&memory.ahead, worker.ahead);
        return worker.ahead;
    }

    /* Takes the stock away from the others like a fetch, and ends the range instead. */
    __device__ void end() {
        for (;;) {
            const unsigned before = left(atomicExch(&memory.stock, (unsigned long long)0xffff));
            if (before <= most_batches) {
                worker.ahead = await_ahead();
                worker.drop_rest();
                atomicExch(&memory.ahead, range_worker::no_claim);
                __threadfence_block();
            }
            if (before <= has_ended) break;
            atomic::pause(20);
        }
        atomicExch(&memory.stock, (unsigned long long)has_ended);
    }
};

}  // namespace gpo

#endif
