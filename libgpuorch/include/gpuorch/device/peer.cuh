/* device/peer.cuh: kernels that use the memory of other devices: symmetric memory, signals and barriers
 * (gpuorch/symmetric.h).
 *
 * For CUDA C++ by nvcc, NVRTC or Clang, for compute capability 7.0 or newer, and for the software GPU. Needs no device
 * link step. gpo_module_compile finds this header by itself.
 *
 * A kernel takes symmetric memory as an argument, by value: gpo::symmetric, as gpo_symmetric_get_device_handle writes
 * it for the kernel's rank. Memory is named by a rank and an offset in bytes. Each call returns a gpo::peer_status. No
 * call traps, asserts, or waits without bound. The words are those of NVSHMEM.
 *
 *     #include <gpuorch/device/peer.cuh>
 *
 *     // Each rank gives its piece to the next one: at offset 0 is a signal, from 256 on the data.
 *     extern "C" __global__ void shift(gpo::symmetric memory, const float *piece, unsigned long long bytes,
 *                                      unsigned long long round) {
 *         const unsigned next = (memory.rank + 1) % memory.ranks;
 *         gpo::block_put_signal(memory, next, 256, piece, bytes, 0, round);
 *         if (gpo::block_wait(memory, 0, gpo::wait_at_least, round, gpo::nanoseconds(1000000000)) != gpo::peer_success)
 *             return;
 *         const float *mine = gpo::pointer<float>(memory, memory.rank, 256);
 *         …
 *     }
 *
 *   form     calls
 *   thread   put(memory, rank, offset, source, bytes)           get(destination, memory, rank, offset, bytes)
 *            put_signal(memory, rank, offset, source, bytes, signal_offset, value, operation)
 *            signal(memory, rank, signal_offset, value, operation)
 *            wait(memory, signal_offset, comparison, value, bound, &seen)
 *            quiet()
 *            fetch_add(memory, rank, offset, value, &before)
 *            put_packet(memory, rank, offset, data, number)
 *            wait_packet(memory, offset, number, bound, &data)
 *            pointer<T>(memory, rank, offset)
 *   warp     warp_put, warp_get, warp_put_signal, warp_signal, warp_wait, warp_quiet: the same arguments
 *   block    block_put, block_get, block_put_signal, block_signal, block_wait, block_quiet
 *            barrier(memory, bound)
 *
 *   Thread form: each thread does something of its own.
 *   Warp form: the lanes do one thing together, with the same arguments. The last argument is a mask of the lanes that
 *   come together; by default these are the lanes that are active at the call. A mask that is given must name the lanes
 *   that come to this very call, as for __syncwarp.
 *   Block form: the same for all threads of a block. Each call is a barrier of the block, at its begin and its end.
 *
 * Effects and memory orders of the calls. All atomics are for the whole system.
 *   pointer      The address of the byte at `offset` of a rank's memory, for any access; NULL if there is none.
 *   put          Copies `bytes` from `source`, memory of any kind that the threads can read, to a rank. When it
 *                returns, `source` may be changed. The writes are plain: a peer may read them when it has seen a later
 *                signal of the same thread, warp or block, or has passed a later barrier.
 *   get          Copies `bytes` from a rank to `destination`. When it returns, the bytes are there. The reads are
 *                plain: the peer must have written before a signal or barrier that the caller has seen.
 *                put and get move 16 bytes at a time for any alignment: on both sides if the alignments of source and
 *                destination agree, otherwise on the link's side.
 *   signal       Sets a word of 64 bits in a rank's memory (signal_set), or adds to it (signal_add). Release: a thread
 *                that sees the value with wait() sees all earlier writes of the signalling thread, warp or block, on
 *                any device. signal_offset is a multiple of 8.
 *   put_signal   put(), and then signal().
 *   wait         Polls a word of the caller's own memory until the comparison with `value` holds. Acquire. `seen`
 *                (optional) gets the last value. Returns peer_timeout when the bound has passed.
 *   put_packet   Writes 8 bytes of data and a number of 32 bits in one store: a *packet*, of 16 bytes at a multiple of
 *                16. The number must differ from the place's earlier one. On two H100s a packet took 2.1 us there and
 *                back; put_signal, which sets the word when its data has arrived, took 7.2. Orders nothing else.
 *   wait_packet  Polls a packet in the caller's own memory until its number is `number`, and gives its data. Returns
 *                peer_timeout when the bound has passed. A packet must have been seen before the next one is put into
 *                the same place. Modelled on the LL protocols of NCCL and MSCCL++.
 *   fetch_add    Adds to a word of 64 bits of any rank. `before` (optional) gets the previous value. Relaxed: orders
 *                nothing; a quiet() before it does.
 *   quiet        Earlier writes of the thread, warp or block are visible to all devices before any of its later writes
 *                (fence, acquire and release).
 *   barrier      Block i of each rank's kernel waits until block i of all ranks has come. Earlier writes of these
 *                blocks are visible to all of them afterwards, on any device. Blocks are counted from x to z. All
 *                blocks must be on the devices at the same time: gpo_peers_launch. A barrier that returns peer_timeout
 *                may be called again, and then waits for the same round. Barriers need no reset between launches, as
 *                long as all ranks come to the same number of barriers in each; else gpo_symmetric_reset.
 *
 *   Bounds: gpo::polls(n) looks n times, and pauses for up to half a microsecond in between. gpo::nanoseconds(n) looks
 *   for n nanoseconds.
 *   peer_invalid: the handle is none, the rank doesn't exist, a range isn't inside the memory, a signal's offset is no
 *   multiple of 8 or a packet's no multiple of 16; or the grid has more blocks than the memory has barriers for
 *   (gpo_symmetric_info.barrier_blocks).
 *   peer_not_reached: the kernel's device has no address of that rank's memory, and GPUORCH_NVSHMEM isn't defined.
 *   Nothing has happened then.
 *
 * Ranks of other hosts, by NVSHMEM (gpuorch/symmetric.h)
 *   A program reaches these ranks too if it defines GPUORCH_NVSHMEM before including this header, is compiled by nvcc
 *   -rdc=true, and is linked with libnvshmem_device. Calls then use nvshmem_putmem and the like, by a single thread:
 *   - the source of put and put_signal, and the destination of get, have to be symmetric memory of the own rank, or
 *     registered with NVSHMEM (nvshmemx_buffer_register);
 *   - a signal is ordered only behind earlier puts to the same rank, by the thread that puts: the first of the warp or
 *     block in their forms. A quiet before the signal orders puts to other ranks; a barrier is ordered behind all
 *     operations of the block's threads;
 *   - pointer gives NULL;
 *   - every kernel of the module needs NVSHMEM to run, even if it uses no such rank.
 *   Shared ranges (device/steal.cuh) are only for ranks with an address.
 */
#ifndef GPUORCH_DEVICE_PEER_CUH
#define GPUORCH_DEVICE_PEER_CUH

#include <gpuorch/device/bound.cuh>

#ifdef GPUORCH_NVSHMEM
#include <nvshmem.h>
#include <nvshmemx.h>
#endif

namespace gpo {

/* Results of calls: values of gpo_status. */
enum peer_status {
    peer_success = 0,
    peer_timeout = 2, /* the bound of a wait has passed */
    peer_end = 4,     /* of a shared range (device/steal.cuh): no more numbers */
    peer_invalid = 10,
    peer_not_reached = 14 /* the rank's memory has no address here */
};

enum signal_operation { signal_set, signal_add };

/* Comparisons of the seen word with the value, as unsigned numbers. */
enum comparison { wait_equal, wait_not_equal, wait_less, wait_at_most, wait_greater, wait_at_least };

enum { symmetric_magic = 0x59535247 /* GRSY */, symmetric_version = 0x00010000 };

struct symmetric {
    unsigned magic, version;
    unsigned long long bytes;         /* of each rank's memory */
    unsigned rank, ranks;             /* the kernel's own rank; how many there are */
    unsigned long long words;         /* offset of the barriers' u32 words, behind the memory */
    unsigned blocks;                  /* number of blocks with words */
    unsigned block_words;             /* words of a block: one for each rank, then the count of barriers passed */
    unsigned long long remote;        /* how many ranks have no address */
    unsigned long long reserved[2];
    unsigned long long addresses[32]; /* of each rank's memory; 0: there is none here */
};
static_assert(sizeof(symmetric) == 320, "the host's layout");

/* -- addresses -- */

__device__ inline bool is_symmetric(const symmetric& memory) {
    return memory.magic == symmetric_magic && memory.version == symmetric_version;
}

__device__ inline bool has(const symmetric& memory, unsigned rank, unsigned long long offset,
                           unsigned long long bytes) {
    return is_symmetric(memory) && rank < memory.ranks && offset <= memory.bytes && bytes <= memory.bytes - offset;
}

__device__ inline bool has_word(const symmetric& memory, unsigned rank, unsigned long long offset) {
    return has(memory, rank, offset, 8) && offset % 8 == 0;
}

/* Whether kernels use the rank's memory by its address. */
__device__ inline bool is_near(const symmetric& memory, unsigned rank) { return memory.addresses[rank] != 0; }

/* For an existing rank: success, or the reason why its memory can't be used. */
__device__ inline int reaches(const symmetric& memory, unsigned rank) {
#ifdef GPUORCH_NVSHMEM
    return peer_success;
#else
    return is_near(memory, rank) ? peer_success : peer_not_reached;
#endif
}

template <class T = void>
__device__ inline T* pointer(const symmetric& memory, unsigned rank, unsigned long long offset) {
    return has(memory, rank, offset, 0) && is_near(memory, rank) ? (T*)(memory.addresses[rank] + offset) : nullptr;
}

__device__ inline unsigned long long* word_at(const symmetric& memory, unsigned rank, unsigned long long offset) {
    return (unsigned long long*)(memory.addresses[rank] + offset);
}

/* -- ranks without an address --
 * NVSHMEM names memory of another rank by the address of the same byte in the own memory. Without NVSHMEM these
 * functions do nothing, and reaches() gives the refusal. */
namespace far {
#ifdef GPUORCH_NVSHMEM
__device__ inline void* at(const symmetric& memory, unsigned long long offset) {
    return (void*)(memory.addresses[memory.rank] + offset);
}
__device__ inline void put(const symmetric& memory, unsigned rank, unsigned long long offset, const void* source,
                           unsigned long long bytes) {
    if (bytes) nvshmem_putmem(at(memory, offset), source, bytes, (int)rank);
}
__device__ inline void get(void* destination, const symmetric& memory, unsigned rank, unsigned long long offset,
                           unsigned long long bytes) {
    if (bytes) nvshmem_getmem(destination, at(memory, offset), bytes, (int)rank);
}
__device__ inline void send(const symmetric& memory, unsigned rank, unsigned long long offset,
                            unsigned long long value, bool adds) {
    nvshmem_fence();
    nvshmemx_signal_op((uint64_t*)at(memory, offset), value, adds ? NVSHMEM_SIGNAL_ADD : NVSHMEM_SIGNAL_SET, (int)rank);
}
__device__ inline void put_send(const symmetric& memory, unsigned rank, unsigned long long offset, const void* source,
                                unsigned long long bytes, unsigned long long signal_offset, unsigned long long value,
                                bool adds) {
    if (bytes == 0) return send(memory, rank, signal_offset, value, adds);
    nvshmem_fence();
    nvshmem_putmem_signal(at(memory, offset), source, bytes, (uint64_t*)at(memory, signal_offset), value,
                          adds ? NVSHMEM_SIGNAL_ADD : NVSHMEM_SIGNAL_SET, (int)rank);
}
__device__ inline unsigned long long fetch_add(const symmetric& memory, unsigned rank, unsigned long long offset,
                                               unsigned long long value) {
    return nvshmem_uint64_atomic_fetch_add((uint64_t*)at(memory, offset), value, (int)rank);
}
__device__ inline void store(const symmetric& memory, unsigned rank, unsigned long long offset,
                             unsigned long long value) {
    nvshmem_uint64_p((uint64_t*)at(memory, offset), value, (int)rank);
}
__device__ inline void store(const symmetric& memory, unsigned rank, unsigned long long offset, unsigned value) {
    nvshmem_uint32_p((uint32_t*)at(memory, offset), value, (int)rank);
}
__device__ inline void quiet() { nvshmem_quiet(); }
/* For a seen value that a network card has written: makes the card's earlier writes visible. nvshmem_test does this if
 * its comparison holds, and the word never gets the complement of the seen value. */
__device__ inline void seen(const unsigned long long* word, unsigned long long value) {
    nvshmem_uint64_test((uint64_t*)word, NVSHMEM_CMP_NE, ~value);
}
/* Does the same for barrier words, which the block's threads have seen by loads of their own. */
__device__ inline void met(unsigned* word) { nvshmem_uint32_test(word, NVSHMEM_CMP_GE, 0u); }
#else
__device__ inline void put(const symmetric&, unsigned, unsigned long long, const void*, unsigned long long) {}
__device__ inline void get(void*, const symmetric&, unsigned, unsigned long long, unsigned long long) {}
__device__ inline void send(const symmetric&, unsigned, unsigned long long, unsigned long long, bool) {}
__device__ inline void put_send(const symmetric&, unsigned, unsigned long long, const void*, unsigned long long,
                                unsigned long long, unsigned long long, bool) {}
__device__ inline unsigned long long fetch_add(const symmetric&, unsigned, unsigned long long, unsigned long long) {
    return 0;
}
template <class T>
__device__ inline void store(const symmetric&, unsigned, unsigned long long, T) {}
__device__ inline void quiet() {}
__device__ inline void seen(const unsigned long long*, unsigned long long) {}
__device__ inline void met(unsigned*) {}
#endif
}  // namespace far

/* -- copies -- */

/* The thread's index among the threads that copy together, and their count. */
struct mover {
    unsigned index, count;
};
__device__ inline mover thread_mover() { return mover{0, 1}; }
__device__ inline mover warp_mover(unsigned mask) { return mover{atomic::rank_in(mask), (unsigned)__popc(mask)}; }
__device__ inline mover block_mover() { return mover{atomic::thread_in_block(), atomic::threads_in_block()}; }

__device__ inline void move_bytes(char* to, const char* from, unsigned long long bytes, mover self) {
    for (unsigned long long i = self.index; i < bytes; i += self.count) to[i] = from[i];
}

/* Sixteen bytes in parts of T. */
template <class T>
struct parts {
    T part[16 / sizeof(T)];
};

/* Pieces of 16 bytes, each side in accesses of To and From. Four pieces are read before they are written. */
template <class To, class From>
__device__ inline void move_pieces(char* to, const char* from, unsigned long long pieces, mover self) {
    constexpr unsigned ahead = 4;
    unsigned long long i = self.index;
    const unsigned long long step = self.count;
    for (; i + (ahead - 1) * step < pieces; i += ahead * step) {
        parts<From> read[ahead];
#pragma unroll
        for (unsigned k = 0; k < ahead; ++k) {
            const From* source = (const From*)(from + (i + k * step) * 16);
#pragma unroll
            for (unsigned j = 0; j < 16 / sizeof(From); ++j) read[k].part[j] = source[j];
        }
#pragma unroll
        for (unsigned k = 0; k < ahead; ++k) {
            parts<To> write;
            memcpy(&write, &read[k], 16);
            To* destination = (To*)(to + (i + k * step) * 16);
#pragma unroll
            for (unsigned j = 0; j < 16 / sizeof(To); ++j) destination[j] = write.part[j];
        }
    }
#pragma unroll 1
    for (; i < pieces; i += step) {
        parts<From> read;
        parts<To> write;
        const From* source = (const From*)(from + i * 16);
        To* destination = (To*)(to + i * 16);
#pragma unroll
        for (unsigned j = 0; j < 16 / sizeof(From); ++j) read.part[j] = source[j];
        memcpy(&write, &read, 16);
#pragma unroll
        for (unsigned j = 0; j < 16 / sizeof(To); ++j) destination[j] = write.part[j];
    }
}

/* `far_is_source`: the side on the link, whose accesses have 16 bytes. */
template <bool far_is_source, class Near>
__device__ inline void move_near(char* to, const char* from, unsigned long long pieces, mover self) {
    if (far_is_source)
        move_pieces<Near, uint4>(to, from, pieces, self);
    else
        move_pieces<uint4, Near>(to, from, pieces, self);
}

template <bool far_is_source>
__device__ inline void move(char* to, const char* from, unsigned long long bytes, mover self) {
    const unsigned long long far = far_is_source ? (unsigned long long)from : (unsigned long long)to;
    const unsigned apart = (unsigned)((unsigned long long)to ^ (unsigned long long)from) % 16;
    unsigned long long head = (0 - far) % 16;
    if (head > bytes) head = bytes;
    const unsigned long long pieces = (bytes - head) / 16, tail = head + pieces * 16;
    move_bytes(to, from, head, self);
    if (apart == 0)
        move_pieces<uint4, uint4>(to + head, from + head, pieces, self);
    else if (apart % 8 == 0)
        move_near<far_is_source, unsigned long long>(to + head, from + head, pieces, self);
    else if (apart % 4 == 0)
        move_near<far_is_source, unsigned>(to + head, from + head, pieces, self);
    else if (apart % 2 == 0)
        move_near<far_is_source, unsigned short>(to + head, from + head, pieces, self);
    else
        move_near<far_is_source, unsigned char>(to + head, from + head, pieces, self);
    move_bytes(to + tail, from + tail, bytes - tail, self);
}

__device__ inline void move_out(const symmetric& memory, unsigned rank, unsigned long long offset, const void* source,
                                unsigned long long bytes, mover self) {
    move<false>((char*)(memory.addresses[rank] + offset), (const char*)source, bytes, self);
}
__device__ inline void move_in(void* destination, const symmetric& memory, unsigned rank, unsigned long long offset,
                               unsigned long long bytes, mover self) {
    move<true>((char*)destination, (const char*)(memory.addresses[rank] + offset), bytes, self);
}

__device__ inline int put(const symmetric& memory, unsigned rank, unsigned long long offset, const void* source,
                          unsigned long long bytes) {
    if (!has(memory, rank, offset, bytes)) return peer_invalid;
    if (!is_near(memory, rank)) {
        far::put(memory, rank, offset, source, bytes);
        return reaches(memory, rank);
    }
    move_out(memory, rank, offset, source, bytes, thread_mover());
    return peer_success;
}
/* The lanes' earlier writes to the source are read, and no lane changes the source before all have read it. */
__device__ inline int warp_put(const symmetric& memory, unsigned rank, unsigned long long offset, const void* source,
                               unsigned long long bytes, unsigned mask = __activemask()) {
    if (!has(memory, rank, offset, bytes)) return peer_invalid;
    __syncwarp(mask);
    if (is_near(memory, rank))
        move_out(memory, rank, offset, source, bytes, warp_mover(mask));
    else if (atomic::elected(mask))
        far::put(memory, rank, offset, source, bytes);
    __syncwarp(mask);
    return reaches(memory, rank);
}
__device__ inline int block_put(const symmetric& memory, unsigned rank, unsigned long long offset, const void* source,
                                unsigned long long bytes) {
    if (!has(memory, rank, offset, bytes)) return peer_invalid;
    __syncthreads();
    if (is_near(memory, rank))
        move_out(memory, rank, offset, source, bytes, block_mover());
    else if (atomic::thread_in_block() == 0)
        far::put(memory, rank, offset, source, bytes);
    __syncthreads();
    return reaches(memory, rank);
}

__device__ inline int get(void* destination, const symmetric& memory, unsigned rank, unsigned long long offset,
                          unsigned long long bytes) {
    if (!has(memory, rank, offset, bytes)) return peer_invalid;
    if (!is_near(memory, rank)) {
        far::get(destination, memory, rank, offset, bytes);
        return reaches(memory, rank);
    }
    move_in(destination, memory, rank, offset, bytes, thread_mover());
    return peer_success;
}
__device__ inline int warp_get(void* destination, const symmetric& memory, unsigned rank, unsigned long long offset,
                               unsigned long long bytes, unsigned mask = __activemask()) {
    if (!has(memory, rank, offset, bytes)) return peer_invalid;
    __syncwarp(mask);
    if (is_near(memory, rank))
        move_in(destination, memory, rank, offset, bytes, warp_mover(mask));
    else if (atomic::elected(mask))
        far::get(destination, memory, rank, offset, bytes);
    __syncwarp(mask);
    return reaches(memory, rank);
}
__device__ inline int block_get(void* destination, const symmetric& memory, unsigned rank, unsigned long long offset,
                                unsigned long long bytes) {
    if (!has(memory, rank, offset, bytes)) return peer_invalid;
    __syncthreads();
    if (is_near(memory, rank))
        move_in(destination, memory, rank, offset, bytes, block_mover());
    else if (atomic::thread_in_block() == 0)
        far::get(destination, memory, rank, offset, bytes);
    __syncthreads();
    return reaches(memory, rank);
}

/* -- signals -- */

__device__ inline void send(const symmetric& memory, unsigned rank, unsigned long long offset,
                            unsigned long long value, signal_operation operation) {
    if (!is_near(memory, rank))
        far::send(memory, rank, offset, value, operation == signal_add);
    else if (operation == signal_add)
        atomic::add_release_system(word_at(memory, rank, offset), value);
    else
        atomic::store_release_system(word_at(memory, rank, offset), value);
}

__device__ inline int signal(const symmetric& memory, unsigned rank, unsigned long long signal_offset,
                             unsigned long long value, signal_operation operation = signal_set) {
    if (!has_word(memory, rank, signal_offset)) return peer_invalid;
    send(memory, rank, signal_offset, value, operation);
    return reaches(memory, rank);
}
__device__ inline int warp_signal(const symmetric& memory, unsigned rank, unsigned long long signal_offset,
                                  unsigned long long value, signal_operation operation = signal_set,
                                  unsigned mask = __activemask()) {
    if (!has_word(memory, rank, signal_offset)) return peer_invalid;
    __syncwarp(mask);
    if (atomic::elected(mask)) send(memory, rank, signal_offset, value, operation);
    __syncwarp(mask);
    return reaches(memory, rank);
}
__device__ inline int block_signal(const symmetric& memory, unsigned rank, unsigned long long signal_offset,
                                   unsigned long long value, signal_operation operation = signal_set) {
    if (!has_word(memory, rank, signal_offset)) return peer_invalid;
    __syncthreads();
    if (atomic::thread_in_block() == 0) send(memory, rank, signal_offset, value, operation);
    __syncthreads();
    return reaches(memory, rank);
}

__device__ inline int put_signal(const symmetric& memory, unsigned rank, unsigned long long offset, const void* source,
                                 unsigned long long bytes, unsigned long long signal_offset, unsigned long long value,
                                 signal_operation operation = signal_set) {
    if (!has(memory, rank, offset, bytes) || !has_word(memory, rank, signal_offset)) return peer_invalid;
    if (!is_near(memory, rank)) {
        far::put_send(memory, rank, offset, source, bytes, signal_offset, value, operation == signal_add);
        return reaches(memory, rank);
    }
    move_out(memory, rank, offset, source, bytes, thread_mover());
    send(memory, rank, signal_offset, value, operation);
    return peer_success;
}
__device__ inline int warp_put_signal(const symmetric& memory, unsigned rank, unsigned long long offset,
                                      const void* source, unsigned long long bytes, unsigned long long signal_offset,
                                      unsigned long long value, signal_operation operation = signal_set,
                                      unsigned mask = __activemask()) {
    if (!has(memory, rank, offset, bytes) || !has_word(memory, rank, signal_offset)) return peer_invalid;
    if (is_near(memory, rank)) {
        warp_put(memory, rank, offset, source, bytes, mask);
        if (atomic::elected(mask)) send(memory, rank, signal_offset, value, operation);
    } else {
        __syncwarp(mask);
        if (atomic::elected(mask))
            far::put_send(memory, rank, offset, source, bytes, signal_offset, value, operation == signal_add);
    }
    __syncwarp(mask);
    return reaches(memory, rank);
}
__device__ inline int block_put_signal(const symmetric& memory, unsigned rank, unsigned long long offset,
                                       const void* source, unsigned long long bytes, unsigned long long signal_offset,
                                       unsigned long long value, signal_operation operation = signal_set) {
    if (!has(memory, rank, offset, bytes) || !has_word(memory, rank, signal_offset)) return peer_invalid;
    if (is_near(memory, rank)) {
        block_put(memory, rank, offset, source, bytes);
        if (atomic::thread_in_block() == 0) send(memory, rank, signal_offset, value, operation);
    } else {
        __syncthreads();
        if (atomic::thread_in_block() == 0)
            far::put_send(memory, rank, offset, source, bytes, signal_offset, value, operation == signal_add);
    }
    __syncthreads();
    return reaches(memory, rank);
}

/* -- waits -- */

__device__ inline bool compares(unsigned long long seen, comparison how, unsigned long long value) {
    switch (how) {
        case wait_equal: return seen == value;
        case wait_not_equal: return seen != value;
        case wait_less: return seen < value;
        case wait_at_most: return seen <= value;
        case wait_greater: return seen > value;
        default: return seen >= value;
    }
}

/* Waits for a word of the own memory. */
__device__ inline int await(const symmetric& memory, unsigned long long offset, comparison how,
                            unsigned long long value, bound limit, unsigned long long& seen) {
    const unsigned long long* const word = word_at(memory, memory.rank, offset);
    patience waiting(limit);
    for (;;) {
        seen = atomic::load_acquire_system(word);
        if (compares(seen, how, value)) {
            if (memory.remote) far::seen(word, seen);
            return peer_success;
        }
        if (waiting.over()) return peer_timeout;
        waiting.give_way();
    }
}

__device__ inline bool can_wait(const symmetric& memory, unsigned long long signal_offset, comparison how) {
    return has_word(memory, memory.rank, signal_offset) && (unsigned)how <= (unsigned)wait_at_least;
}

__device__ inline int wait(const symmetric& memory, unsigned long long signal_offset, comparison how,
                           unsigned long long value, bound limit, unsigned long long* seen = nullptr) {
    if (!can_wait(memory, signal_offset, how)) return peer_invalid;
    unsigned long long last = 0;
    const int status = await(memory, signal_offset, how, value, limit, last);
    if (seen) *seen = last;
    return status;
}
__device__ inline int warp_wait(const symmetric& memory, unsigned long long signal_offset, comparison how,
                                unsigned long long value, bound limit, unsigned long long* seen = nullptr,
                                unsigned mask = __activemask()) {
    if (!can_wait(memory, signal_offset, how)) return peer_invalid;
    __syncwarp(mask);
    int status = peer_success;
    unsigned long long last = 0;
    if (atomic::elected(mask)) status = await(memory, signal_offset, how, value, limit, last);
    status = atomic::from_first(mask, status);
    last = atomic::from_first(mask, last);
    if (seen) *seen = last;
    __syncwarp(mask); /* orders the other lanes behind the first lane's acquire */
    return status;
}
__device__ inline int block_wait(const symmetric& memory, unsigned long long signal_offset, comparison how,
                                 unsigned long long value, bound limit, unsigned long long* seen = nullptr) {
    __shared__ unsigned long long last;
    if (!can_wait(memory, signal_offset, how)) return peer_invalid;
    __syncthreads();
    int status = peer_success;
    if (atomic::thread_in_block() == 0) {
        unsigned long long value_seen = 0;
        status = await(memory, signal_offset, how, value, limit, value_seen);
        last = value_seen;
    }
    const bool late = __syncthreads_or(status) != 0;
    if (seen) *seen = last;
    __syncthreads();
    return late ? peer_timeout : peer_success;
}

__device__ inline int fetch_add(const symmetric& memory, unsigned rank, unsigned long long offset,
                                unsigned long long value, unsigned long long* before = nullptr) {
    if (!has_word(memory, rank, offset)) return peer_invalid;
    const unsigned long long was = is_near(memory, rank)
                                       ? atomic::fetch_add_relaxed_system(word_at(memory, rank, offset), value)
                                       : far::fetch_add(memory, rank, offset, value);
    if (before) *before = was;
    return reaches(memory, rank);
}

/* -- packets -- */

__device__ inline bool has_packet(const symmetric& memory, unsigned rank, unsigned long long offset) {
    return has(memory, rank, offset, 16) && offset % 16 == 0;
}

/* Each word has half of the data and the number, so the order of the words' arrival doesn't matter. */
__device__ inline int put_packet(const symmetric& memory, unsigned rank, unsigned long long offset,
                                 unsigned long long data, unsigned number) {
    if (!has_packet(memory, rank, offset)) return peer_invalid;
    const unsigned long long tag = (unsigned long long)number << 32;
    if (!is_near(memory, rank)) {
        far::store(memory, rank, offset, tag | (unsigned)data);
        far::store(memory, rank, offset + 8, tag | (unsigned)(data >> 32));
        return reaches(memory, rank);
    }
    atomic::store_pair_relaxed_system(word_at(memory, rank, offset), tag | (unsigned)data,
                                      tag | (unsigned)(data >> 32));
    return peer_success;
}

__device__ inline int wait_packet(const symmetric& memory, unsigned long long offset, unsigned number, bound limit,
                                  unsigned long long* data) {
    if (!has_packet(memory, memory.rank, offset)) return peer_invalid;
    const unsigned long long* const word = word_at(memory, memory.rank, offset);
    patience waiting(limit);
    for (;;) {
        atomic::u64 low, high;
        atomic::load_pair_relaxed_system(word, low, high);
        if (low >> 32 == number && high >> 32 == number) {
            if (data) *data = high << 32 | (unsigned)low;
            return peer_success;
        }
        if (waiting.over()) return peer_timeout;
        waiting.give_way();
    }
}

/* -- order -- */

__device__ inline int quiet() {
    far::quiet();
    atomic::fence_system();
    return peer_success;
}
/* Each lane's fence is behind earlier writes of all lanes, and before their later writes. */
__device__ inline int warp_quiet(unsigned mask = __activemask()) {
    __syncwarp(mask);
    far::quiet();
    atomic::fence_system();
    __syncwarp(mask);
    return peer_success;
}
__device__ inline int block_quiet() {
    __syncthreads();
    far::quiet();
    atomic::fence_system();
    __syncthreads();
    return peer_success;
}

/* -- barriers -- */

__device__ inline unsigned* barrier_words(const symmetric& memory, unsigned rank, unsigned long long block) {
    return (unsigned*)(memory.addresses[rank] + memory.words) + block * memory.block_words;
}

/* Each rank counts its rounds, and announces the number of its next round to the others. A rank waits until the others'
 * numbers have reached its own. Announcements may therefore be repeated, and are never withdrawn. */
__device__ inline int barrier(const symmetric& memory, bound limit) {
    const unsigned long long block = atomic::block_in_grid();
    if (!is_symmetric(memory) || atomic::blocks_in_grid() > memory.blocks) return peer_invalid;
    if (memory.remote) {
#ifdef GPUORCH_NVSHMEM
        far::quiet(); /* of each thread, before all of them meet */
#else
        return peer_not_reached;
#endif
    }
    unsigned* const own = barrier_words(memory, memory.rank, block);
    unsigned* const passed = own + memory.ranks;
    __syncthreads();
    const unsigned round = atomic::load_relaxed(passed) + 1;
    const mover self = block_mover();
    for (unsigned rank = self.index; rank < memory.ranks; rank += self.count)
        if (!is_near(memory, rank))
            far::store(memory, rank, memory.words + (block * memory.block_words + memory.rank) * 4, round);
        else if (rank != memory.rank)
            atomic::store_release_system(barrier_words(memory, rank, block) + memory.rank, round);
    patience waiting(limit);
    bool late = false;
    for (unsigned rank = self.index; rank < memory.ranks && !late; rank += self.count)
        while (rank != memory.rank && (int)(atomic::load_acquire_system(own + rank) - round) < 0) {
            late = waiting.over();
            if (late) break;
            waiting.give_way();
        }
    if (memory.remote && !late) far::met(own);
    if (__syncthreads_or(late)) return peer_timeout;
    if (self.index == 0) atomic::store_relaxed(passed, round);
    return peer_success;
}

}  // namespace gpo

#endif
