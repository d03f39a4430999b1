// Many threads at once: one kernel from eight, one stream from many, streams and kernels that meet in memory.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "support/gpu.h"

using namespace gpo::test;

namespace {

constexpr const char* kCount = R"(
extern "C" __global__ void count(unsigned *cells, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&cells[i], 1u);
}
)";

constexpr const char* kShake = R"(
extern "C" __global__ void shake(volatile unsigned *mine, volatile unsigned *theirs, unsigned rounds)
{
    for (unsigned i = 1; i <= rounds; ++i) {
        *mine = i;
        __threadfence_system();
        while (*theirs < i) { }
    }
}
)";

}  // namespace

TEST_CASE("eight threads launch one kernel on eight streams, and no launch is lost") {
    Gpu gpu;
    Kernel kernel = gpu.kernel(kCount, "count");
    constexpr uint32_t n = 300, launches = 100;
    Memory cells = gpu.memory(n * 4);
    Pinned<uint32_t> host = gpu.pinned<uint32_t>(n);
    Stream first = gpu.stream();
    REQUIRE_OK(gpo_fill(first, cells, 0, 4, n));
    CHECK_OK(gpo_stream_wait(first, kPatience));
    std::vector<Stream> streams;
    for (int i = 0; i < 8; ++i) streams.push_back(gpu.stream());
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            const uint64_t address = cells;
            for (uint32_t i = 0; i < launches; ++i)
                if (launch(streams[t], kernel.get(), 3, 128, address, n) != GPO_SUCCESS) ++wrong;
            if (gpo_stream_wait(streams[t], kPatience) != GPO_SUCCESS) ++wrong;
        });
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
    REQUIRE_OK(gpo_copy_to_host(first, host.data(), cells, host.bytes()));
    CHECK_OK(gpo_stream_wait(first, kPatience));
    CHECK(std::all_of(host.begin(), host.end(), [](uint32_t cell) { return cell == 8 * launches; }));
}

TEST_CASE("many threads put work on one stream: all of it runs, one after the other") {
    Gpu gpu;
    Writer writer(gpu);
    Stream stream = gpu.stream();
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 100; ++i)
                if (writer.add(stream, word.data(), word.data(), 1) != GPO_SUCCESS) ++wrong;
        });
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(word[0]) == 400);  // not atomic: only right if no two ran at once
}

TEST_CASE("kernels on two streams shake hands through memory" * gated) {
    Gpu gpu;
    Kernel kernel = gpu.kernel(kShake, "shake");
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(64);
    Stream one = gpu.stream(), two = gpu.stream();
    uint32_t *a = &words[0], *b = &words[32];
    const uint32_t warm_up = 0, rounds = 100;
    REQUIRE_OK(launch(one, kernel.get(), 1, 1, a, b, warm_up));
    CHECK_OK(gpo_stream_wait(one, kPatience));
    REQUIRE_OK(launch(one, kernel.get(), 1, 1, a, b, rounds));
    REQUIRE_OK(launch(two, kernel.get(), 1, 1, b, a, rounds));
    CHECK_OK(gpo_stream_wait(one, kPatience));
    CHECK_OK(gpo_stream_wait(two, kPatience));
    CHECK(read(*a) == rounds);
    CHECK(read(*b) == rounds);
}

TEST_CASE("a kernel and the host shake hands through pinned memory, long after the launch returned" * gated) {
    Gpu gpu;
    Kernel kernel = gpu.kernel(kShake, "shake");
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(64);
    Stream stream = gpu.stream();
    uint32_t *device = &words[0], *host = &words[32];
    const uint32_t rounds = 50;
    REQUIRE_OK(launch(stream, kernel.get(), 1, 1, device, host, rounds));
    for (uint32_t i = 1; i <= rounds; ++i) {
        while (read(*device) < i) std::this_thread::yield();
        CHECK(read(*device) == i);
        __atomic_store_n(host, i, __ATOMIC_SEQ_CST);
    }
    CHECK_OK(gpo_stream_wait(stream, kPatience));
}

TEST_CASE("one thread waits for what another one puts on the stream") {
    Gpu gpu;
    Writer writer(gpu);
    Stream stream = gpu.stream();
    Queue queue = gpu.queue();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(100);
    std::thread producer([&] {
        for (uint32_t i = 0; i < 100; ++i) {
            CHECK(writer.write(stream, &words[i], i + 1) == GPO_SUCCESS);
            CHECK(gpo_stream_notify(stream, queue, i) == GPO_SUCCESS);
        }
    });
    for (uint32_t i = 0; i < 100; ++i) {
        CHECK(take(queue, 1)[0].user_data == i);
        CHECK(read(words[i]) == i + 1);
    }
    producer.join();
}
