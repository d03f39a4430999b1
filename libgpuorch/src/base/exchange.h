// How ranks exchange small data from kernel to kernel, in a small all-reduce. Both sources of its kernels include this
// file: driver/combine.cu, compiled by nvcc, and softgpu/image/combine.cpp.
//
// Each rank sends its data to the inboxes of all other ranks. Then it combines its own data with the received data. A
// *packet* carries 8 bytes of data in two halves, each followed by the number of the all-reduce. The sender stores each
// half together with its number. A reader that finds the number behind both halves therefore has valid data, and needs
// no fence. (NCCL and MSCCL++ call such packets LL.)
//
// An inbox has one half for odd and one for even all-reduces. When a rank sends its data of all-reduce e + 2, it
// overwrites its data of all-reduce e. The peer has already read these: the rank has received the peer's data of
// all-reduce e + 1, which the peer sends after it has finished all-reduce e.
//
// Each block counts all-reduces itself, so that no block waits for another block of the same kernel. Therefore all
// launches have blocks of kThreads threads, or a single smaller block.
//
// If the launch fails on some ranks, the kernels of the other ranks would wait forever. On the software GPU the host
// writes the number of such a launch to a word that kernels read after long waits. A kernel of that launch gives up,
// and its results are undefined. If a rank's device is lost, its kernels may never begin, and those of all launches
// give up. CUDA kernels don't give up: counting the reads of a packet made an all-reduce of 8 KiB 8 % slower (2.88 us
// instead of 2.68 on two H200s).
#pragma once

#include "combine.h"

namespace gpo::exchange {

using u32 = unsigned;
using u64 = unsigned long long;

constexpr u32 kMostRanks = 8, kThreads = 256;   // of a block, each with 8 bytes

/// A parameter of the kernels.
struct Mailboxes {
    u64 inbox[kMostRanks];   // addresses of the ranks' inboxes, each of 2 * ranks * slots packets
    u64 numbers;             // address of an array: the number of each block's last all-reduce
    u64 slots;               // packets that one rank sends at most in one all-reduce
    u32 ranks, rank;
};

/// Another parameter, of the software GPU's kernels.
struct Stop {
    u64 word;     // address of a word with the number of the launch that must give up; 0: no such word
    u64 launch;   // number of this launch
};

constexpr u32 kEveryLaunch = ~0u;   // in the word: all launches must give up

struct alignas(16) Packet {
    u32 low, number_low, high, number_high;
};

/// Loads up to 8 bytes; missing bytes are 0.
GPO_HOST_DEVICE inline u64 load(u64 address, u64 bytes) {
    if (bytes >= 8 && address % 8 == 0) return *reinterpret_cast<const u64*>(address);
    u64 out = 0;
    for (u32 i = 0; i < 8 && i < bytes; ++i) out |= u64(reinterpret_cast<const unsigned char*>(address)[i]) << 8 * i;
    return out;
}

GPO_HOST_DEVICE inline void store(u64 address, u64 bytes, u64 data) {
    if (bytes >= 8 && address % 8 == 0) {
        *reinterpret_cast<u64*>(address) = data;
        return;
    }
    for (u32 i = 0; i < 8 && i < bytes; ++i)
        reinterpret_cast<unsigned char*>(address)[i] = static_cast<unsigned char>(data >> 8 * i);
}

/// Calls `kernel(name, element type)` for each of the kernels.
#define GPO_EACH_SMALL_ALL_REDUCE(kernel)                          \
    kernel(int8, Integer<signed char, unsigned>)                   \
    kernel(uint8, Integer<unsigned char, unsigned>)                \
    kernel(int32, Integer<int, unsigned>)                          \
    kernel(uint32, Integer<unsigned, unsigned>)                    \
    kernel(int64, Integer<long long, unsigned long long>)          \
    kernel(uint64, Integer<unsigned long long, unsigned long long>) \
    kernel(float16, Narrow<gpo::Float16>)                          \
    kernel(bfloat16, Narrow<gpo::Bfloat16>)                        \
    kernel(float32, Float32)                                       \
    kernel(float64, Float64)                                       \
    kernel(float8_e4m3, Narrow<gpo::Float8E4m3>)                   \
    kernel(float8_e5m2, Narrow<gpo::Float8E5m2>)

}  // namespace gpo::exchange
