// Kernels of round_trip.cpp, with NVSHMEM's device library to reach ranks without an address too.
#define GPUORCH_NVSHMEM
#include <gpuorch/device/peer.cuh>

namespace {

__device__ inline gpo::bound limit() { return gpo::nanoseconds(10000000000ull); }

// Sends 8 bytes and a signal to the other rank by `peer.cuh`: the bytes to offset 64, the signal to offset 0.
__device__ inline bool pass(const gpo::symmetric& memory, unsigned long long round) {
    const auto* piece = gpo::pointer<unsigned long long>(memory, memory.rank, 128);
    return gpo::put_signal(memory, 1 - memory.rank, 64, piece, 8, 0, round) == gpo::peer_success;
}

}  // namespace

extern "C" __global__ void by_peer(gpo::symmetric memory, unsigned long long first, unsigned rounds, unsigned *done) {
    for (unsigned i = 0; i < rounds; ++i) {
        const unsigned long long round = first + i;
        if (memory.rank == 0 && !pass(memory, round)) return;
        if (gpo::wait(memory, 0, gpo::wait_at_least, round, limit()) != gpo::peer_success) return;
        if (memory.rank == 1 && !pass(memory, round)) return;
    }
    *done = rounds;
}

// Like by_peer(), with NVSHMEM's own functions.
extern "C" __global__ void by_nvshmem(gpo::symmetric memory, unsigned long long first, unsigned rounds,
                                      unsigned *done) {
    char* const own = reinterpret_cast<char*>(memory.addresses[memory.rank]);
    auto* const word = reinterpret_cast<uint64_t*>(own);
    const int other = 1 - static_cast<int>(memory.rank);
    for (unsigned i = 0; i < rounds; ++i) {
        const unsigned long long round = first + i;
        if (memory.rank == 0) nvshmem_putmem_signal(own + 64, own + 128, 8, word, round, NVSHMEM_SIGNAL_SET, other);
        nvshmem_signal_wait_until(word, NVSHMEM_CMP_GE, round);
        if (memory.rank == 1) nvshmem_putmem_signal(own + 64, own + 128, 8, word, round, NVSHMEM_SIGNAL_SET, other);
    }
    *done = rounds;
}

// Makes each call at least once, with one block, and checks the moved data. result[0]: number of checks; result[1]:
// number of failed checks.
extern "C" __global__ void all_calls(gpo::symmetric memory, unsigned* result) {
    using gpo::peer_success;
    const unsigned other = 1 - memory.rank, lane = threadIdx.x;
    auto* const own = gpo::pointer<unsigned>(memory, memory.rank, 0);
    unsigned* const page = own + 16384;        // at byte 65536; the other rank gets from here, and puts at byte 4096
    const auto check = [&](bool right) {
        if (lane == 0) result[0] += 1;
        if (!right) atomicAdd(result + 1, 1u);
    };
    for (unsigned i = lane; i < 4096; i += blockDim.x) page[i] = i * 2 + memory.rank;
    check(gpo::barrier(memory, limit()) == peer_success);
    // put, by a thread, a warp and a block; then a signal
    if (lane == 0) check(gpo::put(memory, other, 4096, page, 1024) == peer_success);
    if (lane < 32) check(gpo::warp_put(memory, other, 8192, page, 1024) == peer_success);
    check(gpo::block_put(memory, other, 12288, page, 1024) == peer_success);
    check(gpo::block_quiet() == peer_success);
    check(gpo::block_signal(memory, other, 0, 5) == peer_success);
    check(gpo::block_wait(memory, 0, gpo::wait_equal, 5, limit()) == peer_success);
    for (unsigned part = 1; part <= 3; ++part)
        for (unsigned i = lane; i < 256; i += blockDim.x)
            check(static_cast<volatile unsigned*>(own)[part * 1024 + i] == i * 2 + other);
    check(gpo::barrier(memory, limit()) == peer_success);   // before the next overwrite
    // put_signal that adds
    if (lane == 0)
        check(gpo::put_signal(memory, other, 4096, page + 256, 1024, 8, 1, gpo::signal_add) == peer_success);
    __syncthreads();
    if (lane < 32)
        check(gpo::warp_put_signal(memory, other, 8192, page + 256, 1024, 8, 1, gpo::signal_add) == peer_success);
    check(gpo::block_put_signal(memory, other, 12288, page + 256, 1024, 8, 1, gpo::signal_add) == peer_success);
    check(gpo::block_wait(memory, 8, gpo::wait_equal, 3, limit()) == peer_success);
    for (unsigned part = 1; part <= 3; ++part)
        for (unsigned i = lane; i < 256; i += blockDim.x)
            check(static_cast<volatile unsigned*>(own)[part * 1024 + i] == (i + 256) * 2 + other);
    // get
    check(gpo::barrier(memory, limit()) == peer_success);
    check(gpo::block_get(own + 8192, memory, other, 65536, 16384) == peer_success);
    for (unsigned i = lane; i < 4096; i += blockDim.x)
        check(static_cast<volatile unsigned*>(own)[8192 + i] == i * 2 + other);
    if (lane == 0) check(gpo::get(own + 14000, memory, other, 65536 + 400, 8) == peer_success);
    __syncthreads();
    check(static_cast<volatile unsigned*>(own)[14000] == 200 + other);
    // fetch_add and packets
    if (lane < 32) check(gpo::fetch_add(memory, other, 16, 2) == peer_success);
    check(gpo::barrier(memory, limit()) == peer_success);
    check(static_cast<volatile unsigned long long*>(static_cast<void*>(own))[2] == 64);
    if (lane == 0) {
        unsigned long long data = 0;
        check(gpo::put_packet(memory, other, 256, 0x1234567890abcdefull + memory.rank, 9) == peer_success);
        check(gpo::wait_packet(memory, 256, 9, limit(), &data) == peer_success);
        check(data == 0x1234567890abcdefull + other);
    }
    check(gpo::barrier(memory, limit()) == peer_success);
}
