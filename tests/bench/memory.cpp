// Pinned arenas, stream-ordered frees, many small copies in one call, and a large copy on the software GPU.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>

#include "bench/crew.h"
#include "bench/gpu.h"
#include "bench/pairs.h"
#include "bench/raw.h"

using namespace gpo::bench;

namespace {

constexpr int kThreads = 8, kLive = 1000 / kThreads;

/// Pieces on their way to another thread, which frees them: one producer, one consumer. The producer reads the
/// consumer's cache line only if the mailbox may be full.
class Mailbox {
public:
    bool put(void* piece) noexcept {
        const uint32_t at = in_.load(std::memory_order_relaxed);
        if (at - seen_out_ == slots_.size()) {
            seen_out_ = out_.load(std::memory_order_acquire);
            if (at - seen_out_ == slots_.size()) return false;
        }
        slots_[at % slots_.size()] = piece;
        in_.store(at + 1, std::memory_order_release);
        return true;
    }
    void* take() noexcept {
        const uint32_t at = out_.load(std::memory_order_relaxed);
        if (at == in_.load(std::memory_order_acquire)) return nullptr;
        void* const piece = slots_[at % slots_.size()];
        out_.store(at + 1, std::memory_order_release);
        return piece;
    }

private:
    alignas(64) uint32_t seen_out_ = 0;
    alignas(64) std::atomic<uint32_t> in_{0};
    alignas(64) std::atomic<uint32_t> out_{0};
    alignas(64) std::array<void*, 64> slots_{};
};

/// A step of a thread, decided beforehand.
struct Step {
    uint32_t bytes;     // log-uniform, 256 B to 1 MiB
    uint16_t slot;      // of the live piece to free
    bool elsewhere;     // to be freed by the next thread
};

/// Eight threads that allocate and free, about 1,000 pieces alive among them.
template <class Allocate, class Free>
class Churn {
public:
    Churn(Crew& crew, int steps, Allocate allocate, Free free) : crew_(crew), allocate_(allocate), free_(free) {
        std::mt19937_64 random(1);
        std::uniform_real_distribution<double> exponent(8, 20);
        for (auto& thread : threads_) {
            for (int i = 0; i < steps; ++i)
                thread.steps.push_back({static_cast<uint32_t>(std::exp2(exponent(random))),
                                        static_cast<uint16_t>(random() % kLive), random() % 4 == 0});
            thread.live.resize(kLive);
        }
    }
    ~Churn() {
        for (auto& thread : threads_) {
            for (void* const piece : thread.live)
                if (piece) free_(piece);
            while (void* const piece = thread.inbox.take()) free_(piece);
        }
    }
    /// Nanoseconds an operation, as a thread sees it.
    double run() {
        std::atomic<uint64_t> operations{0};
        std::atomic<double> time{0};
        crew_.run([&](int number) {
            const double begin = now_ns();
            Thread& me = threads_[static_cast<size_t>(number)];
            Thread& next = threads_[static_cast<size_t>(number + 1) % kThreads];
            uint64_t count = 0;
            for (const Step& step : me.steps) {
                void*& piece = me.live[step.slot];
                if (piece && !(step.elsewhere && next.inbox.put(piece))) {
                    free_(piece);
                    ++count;
                }
                piece = allocate_(step.bytes);
                ++count;
                if (void* const foreign = me.inbox.take()) {
                    free_(foreign);
                    ++count;
                }
            }
            time += now_ns() - begin;
            operations += count;
        });
        return time / static_cast<double>(operations.load());
    }

private:
    struct alignas(64) Thread {
        std::vector<Step> steps;
        std::vector<void*> live;
        Mailbox inbox;
    };
    Crew& crew_;
    Allocate allocate_;
    Free free_;
    std::array<Thread, kThreads> threads_;
};

void* arena_allocate(gpo_arena_t arena, uint64_t bytes) {
    void* memory = nullptr;
    CHECK_GPO(gpo_arena_allocate(arena, bytes, GPO_AUTO, &memory));
    return memory;
}

gpo_memory_statistics statistics(gpo_arena_t arena) {
    auto result = sized<gpo_memory_statistics>();
    CHECK_GPO(gpo_arena_get_statistics(arena, &result));
    return result;
}

void arena(Row& row) {
    Gpu gpu;
    const Arena arena = gpu.arena(row.size(uint64_t{1} << 30, uint64_t{256} << 20));
    Crew crew(kThreads);
    const int steps = row.size(20'000, 1'000);
    Churn ours(crew, steps, [&](uint64_t bytes) { return arena_allocate(arena, bytes); },
               [&](void* piece) { CHECK_GPO(gpo_arena_free(arena, piece)); });
    Churn base(crew, steps, [](uint64_t bytes) { return std::malloc(bytes); }, [](void* piece) { std::free(piece); });
    // The loop, its steps and its mailboxes alone: subtracted from both arms.
    Churn loop(crew, steps, [](uint64_t bytes) { return reinterpret_cast<void*>(bytes); }, [](void*) {});
    ours.run();
    const uint64_t calls = statistics(arena).driver_calls;
    double loop_time = 0;
    const auto without_loop = [&](auto& churn) {
        loop_time = loop.run();
        return churn.run() - loop_time;
    };
    row.pairs([&] { return without_loop(base); }, [&] { return without_loop(ours); });
    row.note(std::to_string(statistics(arena).driver_calls - calls) + " driver calls; " +
             std::to_string(std::lround(loop_time)) + " ns of the loop are taken off");
}

void free_after(Row& row) {
    Gpu gpu;
    const Arena arena = gpu.arena(uint64_t{64} << 20);
    const Stream stream = gpu.stream();
    const Kernel kernel = gpu.kernel("empty");
    const gpo_launch one = shape(1, 1);
    std::vector<void*> pieces(512);
    const auto block = [&](auto free) {
        for (void*& piece : pieces) piece = arena_allocate(arena, 4096);
        unsigned* pointer = nullptr;
        launch(stream, kernel, one, pointer, 7u, 0ull);
        const double begin = now_ns();
        for (void* const piece : pieces) free(piece);
        const double end = now_ns();
        finish(stream);
        while (statistics(arena).waiting != 0) std::this_thread::yield();
        return (end - begin) / static_cast<double>(pieces.size());
    };
    row.pairs([&] { return block([&](void* piece) { CHECK_GPO(gpo_arena_free(arena, piece)); }); },
              [&] { return block([&](void* piece) { CHECK_GPO(gpo_arena_free_after(arena, piece, stream)); }); });
}

/// Stream-ordered allocation and free of device memory.
void pool(Row& row) {
    constexpr uint64_t bytes = 1 << 20;
    Gpu gpu;
    Raw raw(gpu);
    const CUstream raw_stream = raw.stream();
    const Stream stream = gpu.stream();
    auto options = sized<gpo_pool_options>();
    options.initial_bytes = 64 << 20;
    Pool pool;
    CHECK_GPO(gpo_pool_create(gpu.device, &options, pool.out()));
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = gpu.properties.native_ordinal;
    CUmemoryPool raw_pool = nullptr;
    CHECK_CU(raw.cu.cuMemPoolCreate(&raw_pool, &properties));
    cuuint64_t keep = ~0ull;
    CHECK_CU(raw.cu.cuMemPoolSetAttribute(raw_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    const int count = row.size(500, 20);
    row.pairs(
        [&] {
            const double begin = now_ns();
            for (int i = 0; i < count; ++i) {
                CUdeviceptr address = 0;
                CHECK_CU(raw.cu.cuMemAllocFromPoolAsync(&address, bytes, raw_pool, raw_stream));
                CHECK_CU(raw.cu.cuMemFreeAsync(address, raw_stream));
            }
            const double end = now_ns();
            raw.finish(raw_stream);
            return (end - begin) / count;
        },
        [&] {
            const double begin = now_ns();
            for (int i = 0; i < count; ++i) {
                uint64_t address = 0;
                CHECK_GPO(gpo_pool_allocate(pool, stream, bytes, &address));
                CHECK_GPO(gpo_pool_free(pool, stream, address));
            }
            const double end = now_ns();
            finish(stream);
            return (end - begin) / count;
        });
    raw.cu.cuMemPoolDestroy(raw_pool);
}

void batched_copies(Row& row) {
    constexpr uint64_t piece = 64 << 10;
    const uint64_t count = row.size(1024, 64), bytes = count * piece;
    const int batches = row.size(16, 2);
    Gpu gpu;
    Raw raw(gpu);
    if (!raw.cu.cuMemcpyBatchAsync) throw Skip("this driver has no cuMemcpyBatchAsync");
    const CUstream raw_stream = raw.stream();
    const CUdeviceptr raw_device = raw.memory(bytes);
    char* const raw_host = static_cast<char*>(raw.pinned(bytes));
    const Stream stream = gpu.stream();
    const Memory device(gpu, bytes);
    const Arena arena = gpu.arena(bytes);
    char* const host = static_cast<char*>(arena_allocate(arena, bytes));
    for (uint64_t i = 0; i < bytes; ++i) raw_host[i] = host[i] = static_cast<char>(i * 31 >> 7);

    // Neighbours in the source are no neighbours in the destination, so no driver can merge copies.
    std::vector<uint64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    std::vector<CUdeviceptr> destinations, sources;
    std::vector<size_t> sizes(count, piece);
    std::vector<gpo_copy> copies;
    for (uint64_t i = 0; i < count; ++i) {
        destinations.push_back(raw_device + i * piece);
        sources.push_back(reinterpret_cast<CUdeviceptr>(raw_host + order[i] * piece));
        auto copy = sized<gpo_copy>();
        copy.destination = device.address + i * piece;
        copy.source = reinterpret_cast<uint64_t>(host + order[i] * piece);
        copy.bytes = piece;
        copies.push_back(copy);
    }
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    size_t first = 0;
    const double gigabytes = static_cast<double>(bytes) * batches;
    row.pairs(
        [&] {
            const double begin = now_ns();
            for (int i = 0; i < batches; ++i)
                CHECK_CU(raw.cu.cuMemcpyBatchAsync(destinations.data(), sources.data(), sizes.data(), count,
                                                   &attributes, &first, 1, raw_stream));
            raw.finish(raw_stream);
            return gigabytes / (now_ns() - begin);
        },
        [&] {
            const double begin = now_ns();
            for (int i = 0; i < batches; ++i) CHECK_GPO(gpo_copy_batch(stream, copies.data(), sizeof copies[0], count));
            finish(stream);
            return gigabytes / (now_ns() - begin);
        });
    CHECK_GPO(gpo_arena_free(arena, host));
}

/// Both arms read the same pinned bytes, into memory that both have used before.
void large_copy(Row& row) {
    const uint64_t bytes = row.size(uint64_t{64} << 20, uint64_t{4} << 20);
    Gpu gpu;
    const Stream stream = gpu.stream();
    const Memory device(gpu, bytes);
    const Arena arena = gpu.arena(bytes);
    char* const from = static_cast<char*>(arena_allocate(arena, bytes));
    for (uint64_t i = 0; i < bytes; ++i) from[i] = static_cast<char>(i * 31 >> 7);
    std::vector<char> to(bytes);
    const auto speed = [&](auto copy) {
        const double begin = now_ns();
        copy();
        return static_cast<double>(bytes) / (now_ns() - begin);
    };
    row.pairs(
        [&] {
            return speed([&] {
                std::memcpy(to.data(), from, bytes);
                asm volatile("" : : "r"(to.data()) : "memory");
            });
        },
        [&] {
            return speed([&] {
                CHECK_GPO(gpo_copy_to_device(stream, device.address, from, bytes));
                finish(stream);
            });
        });
    std::fill(to.begin(), to.end(), '\0');
    CHECK_GPO(gpo_copy_to_host(stream, to.data(), device.address, bytes));
    finish(stream);
    if (std::memcmp(to.data(), from, bytes) != 0) throw std::runtime_error("the device has not what was copied");
    CHECK_GPO(gpo_arena_free(arena, from));
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("memory", argc, argv);
    bench.row(
        {.name = "arena_8_threads",
         .what = "arena allocate or free, 8 threads, 256 B to 1 MiB, 1,000 live, a quarter freed by another thread",
         .base = "malloc and free",
         .target = value_at_most(100)},
        arena);
    bench.row({.name = "arena_free_after", .what = "gpo_arena_free_after of 512 pieces behind a kernel, each",
               .base = "gpo_arena_free", .target = value_at_most(250)},
              free_after);
    bench.row({.name = "pool", .what = "gpo_pool_allocate + gpo_pool_free of 1 MiB",
               .base = "cuMemAllocFromPoolAsync + cuMemFreeAsync"},
              pool);
    bench.row({.name = "copy_batch", .what = "pinned to device in pieces of 64 KiB, 1,024 to a batch", .unit = "GB/s",
               .base = "cuMemcpyBatchAsync", .target = ratio_at_least(0.97)},
              batched_copies);
    bench.row({.name = "soft_copy", .what = "64 MiB, pinned to device", .unit = "GB/s", .base = "memcpy",
               .target = ratio_at_least(0.95), .target_on = on_soft, .devices = on_soft},
              large_copy);
    return bench.finish();
}
