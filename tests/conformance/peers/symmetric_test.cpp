// Symmetric memory, and kernels that use it through gpuorch/device/peer.cuh: copies between ranks, signals, barriers,
// and launches on all ranks together.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "conformance/peers/symmetric_rig.h"

using namespace gpo::test;

namespace {

const char kKernels[] = R"(
#include <gpuorch/device/peer.cuh>

struct piece { unsigned long long far, near, bytes; };

// Each thread, warp or block moves pieces between its memory and that of the next rank.
extern "C" __global__ void move_pieces(gpo::symmetric memory, const piece *pieces, unsigned count, char *local,
                                       unsigned form, unsigned out, unsigned *wrong) {
    const unsigned next = (memory.rank + 1) % memory.ranks;
    const unsigned width = form == 0 ? 1 : form == 1 ? 32 : blockDim.x;
    const unsigned worker = (blockIdx.x * blockDim.x + threadIdx.x) / width;
    for (unsigned i = worker; i < count; i += gridDim.x * blockDim.x / width) {
        const piece one = pieces[i];
        char *const near = local + one.near;
        int status;
        if (form == 0)
            status = out ? gpo::put(memory, next, one.far, near, one.bytes)
                         : gpo::get(near, memory, next, one.far, one.bytes);
        else if (form == 1)
            status = out ? gpo::warp_put(memory, next, one.far, near, one.bytes)
                         : gpo::warp_get(near, memory, next, one.far, one.bytes);
        else
            status = out ? gpo::block_put(memory, next, one.far, near, one.bytes)
                         : gpo::block_get(near, memory, next, one.far, one.bytes);
        if (status != gpo::peer_success) atomicAdd(wrong, 1u);
    }
}

__device__ unsigned item(unsigned rank, unsigned round, unsigned i) { return rank * 1000003u + round * 101u + i; }

// Each rank sends items to the next rank, into two places in turn. A signal returns the last round that was used up.
// Signals, by offset: 0, the last round whose items have come; 8, the last round that the next rank has used up.
extern "C" __global__ void ring(gpo::symmetric memory, unsigned *local, unsigned items, unsigned rounds, unsigned form,
                                unsigned *wrong) {
    const unsigned next = (memory.rank + 1) % memory.ranks;
    const unsigned before = (memory.rank + memory.ranks - 1) % memory.ranks;
    const gpo::bound patience = gpo::nanoseconds(20000000000ull);
    const unsigned width = form == 0 ? 1 : form == 1 ? 32 : blockDim.x;
    if (threadIdx.x >= width) return;
    int failed = 0;
    for (unsigned round = 1; round <= rounds && !failed; ++round) {
        const unsigned long long place = 256 + (round % 2) * 4ull * items;
        unsigned long long seen = 0;
        for (unsigned i = threadIdx.x; i < items; i += width) local[i] = item(memory.rank, round, i);
        const unsigned long long used = round < 2 ? 0 : round - 2;
        if (form == 0) {
            failed |= gpo::wait(memory, 8, gpo::wait_at_least, used, patience);
            failed |= gpo::put_signal(memory, next, place, local, 4ull * items, 0, 1, gpo::signal_add);
            failed |= gpo::wait(memory, 0, gpo::wait_greater, round - 1, patience, &seen);
        } else if (form == 1) {
            failed |= gpo::warp_wait(memory, 8, gpo::wait_at_least, used, patience);
            failed |= gpo::warp_put_signal(memory, next, place, local, 4ull * items, 0, round);
            failed |= gpo::warp_wait(memory, 0, gpo::wait_at_least, round, patience, &seen);
        } else {
            failed |= gpo::block_wait(memory, 8, gpo::wait_at_least, used, patience);
            failed |= gpo::block_put_signal(memory, next, place, local, 4ull * items, 0, round);
            failed |= gpo::block_wait(memory, 0, gpo::wait_at_least, round, patience, &seen);
        }
        const unsigned *const came = gpo::pointer<unsigned>(memory, memory.rank, place);
        for (unsigned i = threadIdx.x; i < items; i += width)
            if (came[i] != item(before, round, i)) atomicAdd(wrong, 1u);
        if (seen < round || seen > round + 1) atomicAdd(wrong, 1u);
        failed |= form == 0   ? gpo::signal(memory, before, 8, round)
                  : form == 1 ? gpo::warp_signal(memory, before, 8, round)
                              : gpo::block_signal(memory, before, 8, round);
    }
    if (failed) atomicAdd(wrong, 1u);
}

// Like `ring`, with packets. No rank is as many rounds ahead of another as there are places.
extern "C" __global__ void packets(gpo::symmetric memory, unsigned rounds, unsigned *wrong) {
    const unsigned next = (memory.rank + 1) % memory.ranks, before = (memory.rank + memory.ranks - 1) % memory.ranks;
    for (unsigned round = 1; round <= rounds; ++round) {
        const unsigned long long place = 256 + 16ull * (round % (memory.ranks + 1)), high = ~0ull << 40;
        unsigned long long came = 0;
        if (gpo::put_packet(memory, next, place, high ^ item(memory.rank, round, 0), round) != gpo::peer_success ||
            gpo::wait_packet(memory, place, round, gpo::nanoseconds(20000000000ull), &came) != gpo::peer_success ||
            came != (high ^ item(before, round, 0))) {
            *wrong = round;
            return;
        }
    }
}

// Tickets of rank 0's counter.
extern "C" __global__ void draw(gpo::symmetric memory, unsigned each, unsigned long long *tickets, unsigned *wrong) {
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = 0; i < each; ++i)
        if (gpo::fetch_add(memory, 0, 8, 1, &tickets[thread * each + i]) != gpo::peer_success) atomicAdd(wrong, 1u);
}

// In each round each block writes to its place on all ranks, and behind the barrier reads what all ranks have written.
extern "C" __global__ void meet(gpo::symmetric memory, unsigned first, unsigned rounds, unsigned *wrong) {
    const gpo::bound patience = gpo::nanoseconds(20000000000ull);
    for (unsigned round = first; round < first + rounds; ++round) {
        // Two sets of places in turn, so that no block writes a place that another block still reads.
        const unsigned long long base = (blockIdx.x * 2 + round % 2) * memory.ranks * 4ull;
        for (unsigned rank = threadIdx.x; rank < memory.ranks; rank += blockDim.x)
            *gpo::pointer<unsigned>(memory, rank, base + memory.rank * 4ull) = item(memory.rank, round, blockIdx.x);
        const int status = gpo::barrier(memory, patience);
        if (status != gpo::peer_success) {
            atomicAdd(wrong, 1u);
            return;
        }
        for (unsigned rank = threadIdx.x; rank < memory.ranks; rank += blockDim.x)
            if (*gpo::pointer<unsigned>(memory, memory.rank, base + rank * 4ull) != item(rank, round, blockIdx.x))
                atomicAdd(wrong, 1u);
    }
}

extern "C" __global__ void meet_once(gpo::symmetric memory, unsigned long long looks, int *statuses) {
    const int status = gpo::barrier(memory, gpo::polls(looks));
    if (threadIdx.x == 0) statuses[blockIdx.x] = status;
}

// Waits for values that never come.
extern "C" __global__ void wait_in_vain(gpo::symmetric memory, int *statuses, unsigned long long *seen) {
    const gpo::bound looks = gpo::polls(50), time = gpo::nanoseconds(200000);
    unsigned long long last = 0;
    const int block = gpo::block_wait(memory, 16, gpo::wait_equal, 5, time, &last);
    if (threadIdx.x == 33) statuses[0] = block, seen[0] = last;
    if (threadIdx.x < 32) {
        const int warp = gpo::warp_wait(memory, 16, gpo::wait_at_least, 8, looks, &last);
        if (threadIdx.x == 31) statuses[1] = warp, seen[1] = last;
    }
    if (threadIdx.x == 0) {
        statuses[2] = gpo::wait(memory, 16, gpo::wait_not_equal, 7, time, &seen[2]);
        statuses[3] = gpo::wait(memory, 16, gpo::wait_less, 7, gpo::polls(0));
        statuses[4] = gpo::wait(memory, 16, gpo::wait_greater, 7, looks);
        statuses[5] = gpo::wait(memory, 16, gpo::wait_at_most, 6, looks);
        // A comparison that holds already needs no further polls.
        statuses[6] = gpo::wait(memory, 16, gpo::wait_equal, 7, gpo::polls(0)) +
                      gpo::wait(memory, 16, gpo::wait_not_equal, 6, looks) +
                      gpo::wait(memory, 16, gpo::wait_less, 8, looks) +
                      gpo::wait(memory, 16, gpo::wait_at_most, 7, looks) +
                      gpo::wait(memory, 16, gpo::wait_greater, 6, looks) +
                      gpo::wait(memory, 16, gpo::wait_at_least, 7, looks);
    }
}

// A single thread. Each call but the last has a wrong argument.
extern "C" __global__ void misuse(gpo::symmetric memory, char *local, int *statuses) {
    const unsigned long long bytes = memory.bytes;
    const gpo::bound looks = gpo::polls(3);
    gpo::symmetric none = memory;
    none.magic = 0;
    unsigned long long was = 0;
    int n = 0;
    statuses[n++] = gpo::put(memory, memory.ranks, 0, local, 8);
    statuses[n++] = gpo::put(memory, 0, bytes, local, 1);
    statuses[n++] = gpo::put(memory, 0, ~0ull, local, 8);
    statuses[n++] = gpo::put(none, 0, 0, local, 8);
    statuses[n++] = gpo::get(local, memory, 0, bytes - 7, 8);
    statuses[n++] = gpo::get(local, memory, memory.ranks, 0, 8);
    statuses[n++] = gpo::put_signal(memory, 0, 0, local, 8, 4, 1);
    statuses[n++] = gpo::put_signal(memory, 0, bytes - 7, local, 8, 0, 1);
    statuses[n++] = gpo::signal(memory, 0, bytes, 1);
    statuses[n++] = gpo::signal(memory, 0, 1, 1);
    statuses[n++] = gpo::wait(memory, 12, gpo::wait_equal, 0, looks);
    statuses[n++] = gpo::wait(memory, 0, (gpo::comparison)6, 0, looks);
    statuses[n++] = gpo::fetch_add(memory, memory.ranks, 0, 1, &was);
    statuses[n++] = gpo::fetch_add(memory, 0, 2, 1, &was);
    statuses[n++] = gpo::put_packet(memory, 0, 8, 1, 1) | gpo::put_packet(memory, memory.ranks, 0, 1, 1);
    statuses[n++] = gpo::put_packet(none, 0, 0, 1, 1) | gpo::wait_packet(memory, bytes - bytes % 16, 1, looks, &was);
    statuses[n++] = gpo::warp_put(memory, 0, bytes, local, 1) | gpo::warp_get(local, none, 0, 0, 1);
    statuses[n++] = gpo::block_put(memory, 0, bytes, local, 1) | gpo::block_get(local, none, 0, 0, 1);
    statuses[n++] = gpo::warp_signal(memory, 0, 1, 1) | gpo::block_signal(memory, 0, 1, 1);
    statuses[n++] = gpo::warp_put_signal(none, 0, 0, local, 1, 0, 1) |
                    gpo::block_put_signal(none, 0, 0, local, 1, 0, 1);
    statuses[n++] = gpo::warp_wait(none, 0, gpo::wait_equal, 0, looks) |
                    gpo::block_wait(none, 0, gpo::wait_equal, 0, looks);
    statuses[n++] = gpo::barrier(none, looks);
    statuses[n++] = gpo::pointer(memory, 0, bytes + 1) == nullptr && gpo::pointer(none, 0, 0) == nullptr ? 10 : 0;
    none = memory;
    none.blocks = 0;
    statuses[n++] = gpo::barrier(none, looks);
    // At the end of the memory there is nothing, and that can be moved.
    statuses[n++] = gpo::put(memory, 0, bytes, local, 0) + gpo::get(local, memory, 0, bytes, 0) + gpo::quiet() +
                    gpo::warp_quiet() + gpo::block_quiet();
}
)";
constexpr size_t kMisuses = 24;

struct Piece {
    uint64_t far, near, bytes;
};

// Pieces with sizes around the access sizes, at all alignments of both sides. For sizes above 100 bytes, the near side
// has only every third alignment.
std::vector<Piece> pieces(uint64_t* extent) {
    std::vector<Piece> out;
    uint64_t at = 0;
    for (const uint64_t bytes : {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 100, 257, 1000})
        for (uint64_t far = 0; far < 16; ++far)
            for (uint64_t near = 0; near < 16; near += bytes > 100 ? 3 : 1) {
                out.push_back({at + 16 + far, at + 16 + near, bytes});
                at += (bytes + 16 + 16 + 31) / 16 * 16;
            }
    *extent = at;
    return out;
}

uint8_t pattern(uint32_t rank, uint64_t i) { return static_cast<uint8_t>(i * 131 + rank * 17 + i / 253); }

std::vector<uint8_t> patterns(uint32_t rank, uint64_t bytes) {
    std::vector<uint8_t> out(bytes);
    for (uint64_t i = 0; i < bytes; ++i) out[i] = pattern(rank, i);
    return out;
}

std::string refused() { return last_error().message; }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

uint64_t count_of(SymmetricRig& rig, const std::vector<RankMemory>& words) {
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) sum += rig.read<uint32_t>(words, rank, 1)[0];
    return sum;
}

std::vector<RankMemory> zeros(SymmetricRig& rig, uint64_t bytes) {
    auto out = rig.buffers(bytes);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) REQUIRE_OK(gpo_fill(rig.streams[rank], out[rank], 0, 1, bytes));
    return out;
}

}  // namespace

TEST_CASE("symmetric memory is zeroed on each device, aligned as asked for, and described") {
    SymmetricRig rig;
    for (const uint64_t alignment : {0, 256, 4096, 2 << 20}) {
        CAPTURE(alignment);
        Symmetric memory = rig.symmetric(1001, "board", alignment);
        auto info = sized<gpo_symmetric_info>();
        REQUIRE_OK(gpo_symmetric_get_info(memory, &info));
        CHECK(info.ranks == rig.ranks);
        CHECK(info.bytes == 1001);
        CHECK(info.alignment == (alignment ? alignment : 256));
        CHECK(info.device_bytes > 1001);
        CHECK(info.barrier_blocks > 0);
        for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
            const auto row = rig.row(memory, rank);
            CHECK(row.magic == 0x59535247);
            CHECK(row.version == 0x10000);
            CHECK(row.bytes == 1001);
            CHECK(row.rank == rank);
            CHECK(row.ranks == rig.ranks);
            CHECK(row.blocks == info.barrier_blocks);
            CHECK(rig.address(memory, rank) % info.alignment == 0);
            for (uint32_t of = 0; of < 32; ++of)
                CHECK(row.addresses[of] == (of < rig.ranks ? rig.address(memory, of) : 0));
            CHECK(rig.values<uint8_t>(memory, rank, 1001) == std::vector<uint8_t>(1001));
        }
    }
}

TEST_CASE("what is wrong with symmetric memory is named") {
    SymmetricRig rig;
    auto options = sized<gpo_symmetric_options>();
    Symmetric memory;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_symmetric_allocate(rig.peers, 0, nullptr, memory.out()));
    CHECK(has(refused(), "bytes is 0"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_symmetric_allocate(rig.peers, UINT64_MAX, nullptr, memory.out()));
    for (const uint64_t alignment : {1, 128, 257, 768, 4 << 20}) {
        options.alignment = alignment;
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_symmetric_allocate(rig.peers, 64, &options, memory.out()));
        CHECK(has(refused(), "options.alignment is " + std::to_string(alignment)));
    }
    options.alignment = 0;
    const auto other = [&](gpo_status status, uint32_t engine, uint32_t flags, uint32_t reserved, const char* what) {
        options.engine = engine;
        options.flags = flags;
        options.reserved = reserved;
        CHECK_STATUS(status, gpo_symmetric_allocate(rig.peers, 64, &options, memory.out()));
        CHECK(has(refused(), what));
    };
    other(GPO_INVALID_ARGUMENT, GPO_ENGINE_NCCL, 0, 0, "options.engine is GPO_ENGINE_NCCL");
    other(GPO_INVALID_ARGUMENT, GPO_ENGINE_HOST, 0, 0, "options.engine is GPO_ENGINE_HOST");
    other(GPO_INVALID_ARGUMENT, 5, 0, 0, "options.engine is 5");
    other(GPO_NOT_SUPPORTED, GPO_ENGINE_NVSHMEM, 0, 0, "groups of several processes");
    other(GPO_INVALID_ARGUMENT, 0, 2, 0, "options.flags");
    other(GPO_INVALID_ARGUMENT, 0, 0, 1, "options.reserved");
    options.reserved = 0;
    options.engine = GPO_ENGINE_DIRECT;
    options.flags = GPO_SYMMETRIC_REMOTE;   // says that the kernels can reach all ranks
    CHECK_OK(gpo_symmetric_allocate(rig.peers, 64, &options, memory.out()));
    memory = rig.symmetric(64, "board");
    uint64_t address = 0, handle[GPO_SYMMETRIC_HANDLE_BYTES / 8] = {};
    size_t needed = 0;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_symmetric_get_address(memory, rig.ranks, &address));
    CHECK(has(refused(), "symmetric memory `board`"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT,
                 gpo_symmetric_get_device_handle(memory, rig.ranks, handle, sizeof handle, nullptr));
    CHECK_STATUS(GPO_BUFFER_TOO_SMALL, gpo_symmetric_get_device_handle(memory, 0, handle, sizeof handle - 1, &needed));
    CHECK(needed == GPO_SYMMETRIC_HANDLE_BYTES);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_symmetric_reset(memory, rig.ranks, rig.streams[0]));
    if (rig.ranks > 1) CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_symmetric_reset(memory, 1, rig.streams[0]));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_memory_free(rig.devices[0], rig.address(memory, 0)));
}

TEST_CASE("puts and gets move exactly their bytes, of any size and alignment, by threads, warps and blocks") {
    SymmetricRig rig;
    const auto move = rig.kernels(kKernels, "move_pieces");
    uint64_t bytes = 0;
    const auto all = pieces(&bytes);
    Symmetric memory = rig.symmetric(bytes);
    const auto list = rig.buffers(all.size() * sizeof(Piece)), local = rig.buffers(bytes);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) rig.write(list, rank, all);
    for (uint32_t form = 0; form < 3; ++form)
        for (const uint32_t out : {1, 0}) {
            CAPTURE(form);
            CAPTURE(out);
            const auto wrong = zeros(rig, 4);
            for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
                const uint64_t far = rig.address(memory, rank), near = local[rank];
                const auto data = patterns(rank, bytes);
                REQUIRE_OK(gpo_copy_to_device(rig.streams[rank], out ? near : far, data.data(), bytes));
                REQUIRE_OK(gpo_fill(rig.streams[rank], out ? far : near, 0xee, 1, bytes));
            }
            REQUIRE_OK(rig.launch(move, 4, 128, [&](uint32_t rank) {
                return std::tuple(rig.row(memory, rank), uint64_t{list[rank]}, static_cast<uint32_t>(all.size()),
                                  uint64_t{local[rank]}, form, out, uint64_t{wrong[rank]});
            }));
            rig.wait_all();
            CHECK(count_of(rig, wrong) == 0);
            for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
                // Puts fill a rank's memory from the previous rank. Gets fill a rank's buffer from the next rank.
                const uint32_t of = out ? (rank + rig.ranks - 1) % rig.ranks : (rank + 1) % rig.ranks;
                std::vector<uint8_t> expected(bytes, 0xee);
                for (const Piece& piece : all)
                    for (uint64_t i = 0; i < piece.bytes; ++i)
                        expected[(out ? piece.far : piece.near) + i] =
                            pattern(of, (out ? piece.near : piece.far) + i);
                const auto got = out ? rig.values<uint8_t>(memory, rank, bytes) : rig.read<uint8_t>(local, rank, bytes);
                CHECK(got == expected);
            }
        }
}

TEST_CASE("data goes round all ranks with signals, many times, by threads, warps and blocks" * gated) {
    SymmetricRig rig;
    const auto ring = rig.kernels(kKernels, "ring");
    const uint32_t items = 100, rounds = 200;
    for (uint32_t form = 0; form < 3; ++form) {
        CAPTURE(form);
        Symmetric memory = rig.symmetric(256 + 2 * 4 * items);
        const auto local = rig.buffers(4 * items), wrong = zeros(rig, 4);
        REQUIRE_OK(rig.launch(ring, 1, 64, [&](uint32_t rank) {
            return std::tuple(rig.row(memory, rank), uint64_t{local[rank]}, items, rounds, form, uint64_t{wrong[rank]});
        }));
        rig.wait_all();
        CHECK(count_of(rig, wrong) == 0);
        for (uint32_t rank = 0; rank < rig.ranks; ++rank) CHECK(rig.values<uint64_t>(memory, rank, 1)[0] == rounds);
    }
}

TEST_CASE("packets go round all ranks, each with its number" * gated) {
    SymmetricRig rig;
    const auto packets = rig.kernels(kKernels, "packets");
    Symmetric memory = rig.symmetric(256 + 16 * (rig.ranks + 1));
    const auto wrong = zeros(rig, 4);
    REQUIRE_OK(rig.launch(packets, 1, 1, [&](uint32_t rank) {
        return std::tuple(rig.row(memory, rank), uint32_t{2000}, uint64_t{wrong[rank]});
    }));
    rig.wait_all();
    CHECK(count_of(rig, wrong) == 0);
}

TEST_CASE("each thread of all ranks draws tickets of its own of one counter") {
    SymmetricRig rig;
    auto info = rig.info();
    if (!info.native_atomics) return skip("the links have no native atomics");
    const auto draw = rig.kernels(kKernels, "draw");
    const uint32_t each = 20, threads = 256;
    Symmetric memory = rig.symmetric(64);
    const auto tickets = rig.buffers(8 * each * threads), wrong = zeros(rig, 4);
    REQUIRE_OK(rig.launch(draw, 2, threads / 2, [&](uint32_t rank) {
        return std::tuple(rig.row(memory, rank), each, uint64_t{tickets[rank]}, uint64_t{wrong[rank]});
    }));
    rig.wait_all();
    CHECK(count_of(rig, wrong) == 0);
    std::vector<uint64_t> drawn;
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        const auto some = rig.read<uint64_t>(tickets, rank, each * threads);
        drawn.insert(drawn.end(), some.begin(), some.end());
    }
    std::sort(drawn.begin(), drawn.end());
    std::vector<uint64_t> expected(drawn.size());
    std::iota(expected.begin(), expected.end(), uint64_t{0});
    CHECK(drawn == expected);
    CHECK(rig.values<uint64_t>(memory, 0, 1, 8)[0] == drawn.size());
}

TEST_CASE("behind a barrier each block sees what that block of all ranks has written, launch after launch" * gated) {
    SymmetricRig rig;
    const auto meet = rig.kernels(kKernels, "meet");
    const uint32_t blocks = 3;
    Symmetric memory = rig.symmetric(blocks * 2 * rig.ranks * 4);
    const auto wrong = zeros(rig, 4);
    uint32_t first = 0;
    for (const uint32_t rounds : {1u, 7u, 1000u, 2u}) {
        REQUIRE_OK(rig.launch(meet, blocks, 64, [&](uint32_t rank) {
            return std::tuple(rig.row(memory, rank), first, rounds, uint64_t{wrong[rank]});
        }));
        first += rounds;
    }
    rig.wait_all();
    CHECK(count_of(rig, wrong) == 0);
}

TEST_CASE("a wait for what nobody sends ends at its bound, and says what it has seen last") {
    SymmetricRig rig;
    const auto wait = rig.kernels(kKernels, "wait_in_vain");
    Symmetric memory = rig.symmetric(64);
    const auto statuses = rig.buffers(64), seen = rig.buffers(64);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        REQUIRE_OK(gpo_fill(rig.streams[rank], rig.address(memory, rank) + 16, 7, 4, 1));
        REQUIRE_OK(launch(rig.streams[rank], wait[rank], 1, 64, rig.row(memory, rank), uint64_t{statuses[rank]},
                          uint64_t{seen[rank]}));
        CHECK(rig.read<int32_t>(statuses, rank, 7) == std::vector<int32_t>{2, 2, 2, 2, 2, 2, 0});
        CHECK(rig.read<uint64_t>(seen, rank, 3) == std::vector<uint64_t>{7, 7, 7});
    }
}

TEST_CASE("calls with a bad handle, rank, range or offset say so and do nothing") {
    SymmetricRig rig;
    const auto misuse = rig.kernels(kKernels, "misuse");
    Symmetric memory = rig.symmetric(64);
    const auto local = rig.buffers(64), statuses = rig.buffers(4 * kMisuses + 4);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        REQUIRE_OK(gpo_fill(rig.streams[rank], local[rank], 0xff, 1, 64));
        REQUIRE_OK(launch(rig.streams[rank], misuse[rank], 1, 1, rig.row(memory, rank), uint64_t{local[rank]},
                          uint64_t{statuses[rank]}));
        std::vector<int32_t> expected(kMisuses, 10);
        expected.push_back(0);
        CHECK(rig.read<int32_t>(statuses, rank, kMisuses + 1) == expected);
        CHECK(rig.values<uint8_t>(memory, rank, 64) == std::vector<uint8_t>(64));
        CHECK(rig.read<uint8_t>(local, rank, 64) == std::vector<uint8_t>(64, 0xff));
    }
}

TEST_CASE("a barrier that has run out of its bound can be gone on with, by a later launch too" * gated) {
    SymmetricRig rig;
    if (rig.ranks < 2) return skip("there is one device");
    const auto meet = rig.kernels(kKernels, "meet_once");
    Symmetric memory = rig.symmetric(64);
    const auto statuses = rig.buffers(8);
    const auto alone = [&](uint32_t rank, uint64_t looks) {
        REQUIRE_OK(launch(rig.streams[rank], meet[rank], 2, 64, rig.row(memory, rank), looks,
                          uint64_t{statuses[rank]}));
        return rig.read<int32_t>(statuses, rank, 2);
    };
    const auto together = [&](uint64_t looks) {
        REQUIRE_OK(rig.launch(meet, 2, 64, [&](uint32_t rank) {
            return std::tuple(rig.row(memory, rank), looks, uint64_t{statuses[rank]});
        }));
        std::vector<std::vector<int32_t>> out;
        for (uint32_t rank = 0; rank < rig.ranks; ++rank) out.push_back(rig.read<int32_t>(statuses, rank, 2));
        return out;
    };
    const uint64_t many = 1 << 24;
    const std::vector<int32_t> late = {2, 2}, met = {0, 0};
    CHECK(alone(0, 20) == late);
    CHECK(alone(0, 20) == late);
    for (const auto& status : together(many)) CHECK(status == met);

    // All ranks but rank 0 give up. Rank 0 comes afterwards, and has passed one barrier more than the others.
    for (uint32_t rank = 1; rank < rig.ranks; ++rank) CHECK(alone(rank, 20) == late);
    CHECK(alone(0, many) == met);
    CHECK(together(1000)[0] == late);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank)
        REQUIRE_OK(gpo_symmetric_reset(memory, rank, rig.streams[rank]));
    for (const auto& status : together(many)) CHECK(status == met);
    CHECK(rig.values<uint8_t>(memory, 0, 64) == std::vector<uint8_t>(64));
}

TEST_CASE("a reset makes the barriers of all blocks as new, on its rank alone" * gated) {
    SymmetricRig rig;
    if (rig.ranks < 2) return skip("there is one device");
    const auto meet = rig.kernels(kKernels, "meet_once");
    const uint32_t blocks = 5;
    Symmetric memory = rig.symmetric(64);
    const auto statuses = rig.buffers(4 * blocks);
    const auto words_of = [&](uint32_t rank) {
        const SymmetricRow row = rig.row(memory, rank);
        return rig.values<uint32_t>(memory, rank, uint64_t{row.blocks} * row.block_words, row.words);
    };
    const auto all_meet = [&] {
        REQUIRE_OK(rig.launch(meet, blocks, 64, [&](uint32_t rank) {
            return std::tuple(rig.row(memory, rank), uint64_t{1 << 24}, uint64_t{statuses[rank]});
        }));
        rig.wait_all();
        for (uint32_t rank = 0; rank < rig.ranks; ++rank)
            CHECK(rig.read<int32_t>(statuses, rank, blocks) == std::vector<int32_t>(blocks));
    };
    all_meet();
    const auto met = words_of(0);
    const std::vector<uint32_t> none(met.size());
    CHECK(met != none);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        const auto after = rank + 1 < rig.ranks ? words_of(rank + 1) : none;
        REQUIRE_OK(gpo_symmetric_reset(memory, rank, rig.streams[rank]));
        CHECK(words_of(rank) == none);
        if (rank + 1 < rig.ranks) CHECK(words_of(rank + 1) == after);
    }
    all_meet();
    CHECK(words_of(0) == met);
}

TEST_CASE("kernels that can't all be on their devices at once are refused, with the rank and the numbers" * gated) {
    SymmetricRig rig;
    const auto meet = rig.kernels(kKernels, "meet_once");
    Symmetric memory = rig.symmetric(64);
    const auto statuses = rig.buffers(8);
    auto device = sized<gpo_device_properties>();
    REQUIRE_OK(gpo_device_get_properties(rig.devices[0], &device));
    uint32_t each = 0;
    REQUIRE_OK(gpo_kernel_get_occupancy(meet[0], 64, 0, &each));
    const uint32_t fit = each * device.multiprocessors;
    const auto arguments = [&](uint32_t rank) {
        return std::tuple(rig.row(memory, rank), uint64_t{1 << 24}, uint64_t{statuses[rank]});
    };
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, rig.launch(meet, fit + 1, 64, arguments));
    CAPTURE(refused());
    CHECK(has(refused(), "rank 0: "));
    CHECK(has(refused(), std::to_string(fit) + " blocks"));
    CHECK(has(refused(), std::to_string(fit + 1)));
    REQUIRE_OK(rig.launch(meet, 2, 64, arguments));
    rig.wait_all();
}

TEST_CASE("what is wrong with a launch on all ranks is named, and nothing is launched" * gated) {
    SymmetricRig rig;
    const auto meet = rig.kernels(kKernels, "meet_once");
    Symmetric memory = rig.symmetric(64);
    const auto statuses = zeros(rig, 8);
    std::vector<SymmetricRow> rows;
    std::vector<uint64_t> outs;
    const uint64_t looks = 1 << 24;
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        rows.push_back(rig.row(memory, rank));
        outs.push_back(statuses[rank]);
        REQUIRE_OK(gpo_fill(rig.streams[rank], statuses[rank], 0x77, 1, 8));
    }
    auto shape = sized<gpo_launch>();
    shape.grid[0] = 2;
    shape.block[0] = 32;
    std::vector<std::array<const void*, 3>> arguments;
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) arguments.push_back({&rows[rank], &looks, &outs[rank]});
    const uint32_t sizes[] = {sizeof(SymmetricRow), 8, 8};
    std::vector<gpo_rank_launch> good(rig.ranks, sized<gpo_rank_launch>());
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        good[rank].stream = rig.streams[rank];
        good[rank].kernel = meet[rank];
        good[rank].launch = &shape;
        good[rank].arguments = arguments[rank].data();
        good[rank].sizes = sizes;
        good[rank].argument_count = 3;
    }
    const uint32_t last = rig.ranks - 1;
    const std::string of_last = "launches[" + std::to_string(last) + "]";
    const auto refuse = [&](gpo_status status, auto change, const std::string& says) {
        auto launches = good;
        change(launches[last]);
        CHECK_STATUS(status, gpo_peers_launch(rig.peers, launches.data(), sizeof launches[0], rig.ranks));
        CAPTURE(refused());
        CHECK(has(refused(), says));
    };
    refuse(GPO_INVALID_ARGUMENT, [](auto& l) { l.flags = 1; }, of_last + ".flags");
    refuse(GPO_INVALID_ARGUMENT, [](auto& l) { l.reserved = 1; }, of_last + ".reserved");
    refuse(GPO_INVALID_ARGUMENT, [](auto& l) { l.launch = nullptr; }, of_last + ".launch");
    refuse(GPO_INVALID_HANDLE, [](auto& l) { l.stream = nullptr; }, "");
    refuse(GPO_INVALID_HANDLE, [](auto& l) { l.kernel = nullptr; }, "");
    refuse(GPO_INVALID_ARGUMENT, [](auto& l) { l.arguments = nullptr; }, "rank " + std::to_string(last));
    if (tells_parameters(meet[0]))
        refuse(GPO_INVALID_ARGUMENT, [](auto& l) { l.argument_count = 2; }, "rank " + std::to_string(last));
    auto odd = shape;
    odd.block[0] = 1 << 20;
    refuse(GPO_INVALID_ARGUMENT, [&](auto& l) { l.launch = &odd; }, "rank " + std::to_string(last));
    auto resident = rig.stream_on(last, GPO_STREAM_RESIDENT);
    refuse(GPO_NOT_SUPPORTED, [&](auto& l) { l.stream = resident; }, "resident");
    if (rig.ranks > 1) {
        refuse(GPO_INVALID_ARGUMENT, [&](auto& l) { l.stream = rig.streams[0]; }, "another device");
        refuse(GPO_INVALID_ARGUMENT, [&](auto& l) { l.kernel = meet[0]; }, "not of one device");
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_peers_launch(rig.peers, good.data(), sizeof good[0], rig.ranks - 1));
    }
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_peers_launch(rig.peers, good.data(), sizeof good[0], 0));
    for (uint32_t rank = 0; rank < rig.ranks; ++rank)
        CHECK(rig.read<int32_t>(statuses, rank, 2) == std::vector<int32_t>(2, 0x77777777));
    REQUIRE_OK(gpo_peers_launch(rig.peers, good.data(), sizeof good[0], rig.ranks));
    for (uint32_t rank = 0; rank < rig.ranks; ++rank)
        CHECK(rig.read<int32_t>(statuses, rank, 2) == std::vector<int32_t>{0, 0});
}

TEST_CASE("no kernel of a launch begins while one of its streams is held, or busy" * gated) {
    SymmetricRig rig;
    const auto meet = rig.kernels(kKernels, "meet_once");
    Symmetric memory = rig.symmetric(64);
    const auto statuses = rig.buffers(8);
    Timeline later = rig.timeline();
    Gate gate(rig);
    const auto mark = [&] {
        for (uint32_t rank = 0; rank < rig.ranks; ++rank)
            REQUIRE_OK(gpo_fill(rig.streams[rank], statuses[rank], 0x77, 1, 8));
        rig.wait_all();
    };
    const auto launch_all = [&] {
        REQUIRE_OK(rig.launch(meet, 2, 64, [&](uint32_t rank) {
            return std::tuple(rig.row(memory, rank), uint64_t{1 << 24}, uint64_t{statuses[rank]});
        }));
    };
    std::vector<Stream> others;
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) others.push_back(rig.stream_on(rank));
    const auto none_began = [&] {
        for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
            CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(rig.streams[rank], 2'000'000));
            std::vector<int32_t> now(2);
            REQUIRE_OK(gpo_copy_to_host(others[rank], now.data(), statuses[rank], 8));
            REQUIRE_OK(gpo_stream_wait(others[rank], kPatience));
            CHECK(now == std::vector<int32_t>(2, 0x77777777));
        }
    };
    const auto all_met = [&] {
        for (uint32_t rank = 0; rank < rig.ranks; ++rank)
            CHECK(rig.read<int32_t>(statuses, rank, 2) == std::vector<int32_t>{0, 0});
    };
    mark();
    REQUIRE_OK(gpo_stream_wait_timeline(rig.streams[rig.ranks - 1], later, 1));
    launch_all();
    none_began();
    REQUIRE_OK(gpo_timeline_signal(later, 1));
    all_met();

    mark();
    gate.put_on(rig.streams[0]);
    launch_all();
    none_began();
    gate.open();
    all_met();
}

TEST_CASE("a launch that is held on a stream that fails fails on all of them, and its kernels may be destroyed") {
    SymmetricRig rig;
    auto meet = rig.kernels(kKernels, "meet_once");
    Symmetric memory = rig.symmetric(64);
    const auto statuses = rig.buffers(8);
    Timeline later = rig.timeline();
    REQUIRE_OK(gpo_stream_wait_timeline(rig.streams[0], later, 1));
    REQUIRE_OK(rig.launch(meet, 2, 64, [&](uint32_t rank) {
        return std::tuple(rig.row(memory, rank), uint64_t{1 << 24}, uint64_t{statuses[rank]});
    }));
    meet.clear();
    REQUIRE_OK(gpo_timeline_fail(later, GPO_FAILED, "called off"));
    for (uint32_t rank = 0; rank < rig.ranks; ++rank)
        CHECK_STATUS(GPO_FAILED, gpo_stream_wait(rig.streams[rank], kPatience));
}

TEST_CASE("launches on all ranks are recorded into a template, which keeps their kernels" * gated) {
    SymmetricRig rig;
    auto meet = rig.kernels(kKernels, "meet");
    const uint32_t blocks = 2;
    Symmetric memory = rig.symmetric(blocks * 2 * rig.ranks * 4);
    const auto wrong = zeros(rig, 4);
    const auto launch_rounds = [&](uint32_t first, uint32_t rounds) {
        REQUIRE_OK(rig.launch(meet, blocks, 32, [&](uint32_t rank) {
            return std::tuple(rig.row(memory, rank), first, rounds, uint64_t{wrong[rank]});
        }));
    };
    rig.wait_all();
    Graph graph = rig.recorded([&] {
        launch_rounds(0, 3);
        launch_rounds(3, 5);
    });
    meet.clear();
    for (int turn = 0; turn < 4; ++turn) REQUIRE_OK(gpo_graph_launch(graph, rig.streams[0]));
    REQUIRE_OK(gpo_stream_wait(rig.streams[0], kPatience));
    CHECK(count_of(rig, wrong) == 0);
}

TEST_CASE("symmetric memory stays when its group is destroyed, and goes when what uses it is done" * gated) {
    SymmetricRig rig;
    const auto move = rig.kernels(kKernels, "move_pieces");
    const std::vector<Piece> one = {{0, 0, 1 << 16}};
    Symmetric memory = rig.symmetric(1 << 16);
    const auto list = rig.buffers(sizeof(Piece)), local = rig.buffers(1 << 16), wrong = zeros(rig, 4);
    rig.peers.reset();
    Gate gate(rig);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        rig.write(list, rank, one);
        REQUIRE_OK(gpo_fill(rig.streams[rank], rig.address(memory, rank), rank + 1, 4, 1 << 14));
    }
    rig.wait_all();
    gate.put_on(rig.streams[0]);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank)
        REQUIRE_OK(launch(rig.streams[rank], move[rank], 1, 64, rig.row(memory, rank), uint64_t{list[rank]},
                          uint32_t{1}, uint64_t{local[rank]}, uint32_t{2}, uint32_t{0}, uint64_t{wrong[rank]}));
    memory.reset();
    gate.open();
    rig.wait_all();
    CHECK(count_of(rig, wrong) == 0);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank)
        CHECK(rig.read<uint32_t>(local, rank, 1 << 14) == std::vector<uint32_t>(1 << 14, (rank + 1) % rig.ranks + 1));
}
