// Plain device memory, the caller's memory, and descriptions of addresses.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/gpu.h"

using namespace gpo::test;

namespace {

constexpr uint64_t kPage = 4096;

struct Free {
    void operator()(char* memory) const { std::free(memory); }
};
using Pages = std::unique_ptr<char, Free>;

Pages pages(uint64_t count) { return Pages(static_cast<char*>(std::aligned_alloc(kPage, count * kPage))); }

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

gpo_memory_info describe(Gpu& gpu, uint64_t address) {
    auto info = sized<gpo_memory_info>();
    REQUIRE_OK(gpo_memory_describe(gpu.device, address, &info));
    return info;
}

}  // namespace

TEST_CASE("memory: an allocation is aligned, described, counted, and freed once") {
    Gpu gpu;
    const uint64_t before = gpu.statistics().device_allocations;
    uint64_t address = 0;
    REQUIRE_OK(gpo_memory_allocate(gpu.device, 10'000, "block", &address));
    CHECK(address % 256 == 0);
    CHECK(gpu.statistics().device_allocations == before + 1);
    const auto info = describe(gpu, address + 9999);
    CHECK(info.kind == GPO_MEMORY_DEVICE);
    CHECK(info.start == address);
    CHECK(info.bytes >= 10'000);
    CHECK(info.device_ordinal >= 0);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_free(gpu.device, address + 1));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_free(gpu.device, 256));
    CHECK_OK(gpo_memory_free(gpu.device, address));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_free(gpu.device, address));
    CHECK_OK(gpo_memory_free(gpu.device, 0));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_allocate(gpu.device, 0, nullptr, &address));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_allocate(gpu.device, 1, nullptr, nullptr));
}

TEST_CASE("memory: more than there is is refused, and the next allocation works") {
    Gpu gpu;
    uint64_t address = 77;
    CHECK_STATUS(GPO_OUT_OF_MEMORY, gpo_memory_allocate(gpu.device, uint64_t{1} << 46, nullptr, &address));
    CHECK_STATUS(GPO_OUT_OF_MEMORY, gpo_memory_allocate(gpu.device, UINT64_MAX / 2, nullptr, &address));
    CHECK(address == 77);
    Memory memory = gpu.memory(1000);
}

TEST_CASE("memory: out of memory says how much was asked for, for whom, and how much the device has left") {
    Gpu gpu;
    uint64_t free_bytes = 0, total = 0, address = 0;
    REQUIRE_OK(gpo_device_get_memory(gpu.device, &free_bytes, &total));
    const uint64_t bytes = total * 2;
    Stream stream = gpu.stream();
    auto pool_options = sized<gpo_pool_options>();
    pool_options.label = "tensors";
    Pool pool;
    REQUIRE_OK(gpo_pool_create(gpu.device, &pool_options, pool.out()));
    auto template_options = sized<gpo_template_options>();
    template_options.label = "step";
    Template made;
    REQUIRE_OK(gpo_template_create(gpu.device, &template_options, made.out()));
    auto arena_options = sized<gpo_arena_options>();
    arena_options.label = "staging";
    Arena arena;
    REQUIRE_OK(gpo_arena_create(gpu.device, &arena_options, arena.out()));
    const gpo_device_t group[] = {gpu.device};
    gpo_peers_t peers = nullptr;
    REQUIRE_OK(gpo_peers_create(group, 1, nullptr, &peers));
    auto symmetric_options = sized<gpo_symmetric_options>();
    symmetric_options.label = "shared";
    gpo_symmetric_t symmetric = nullptr;
    void* memory = nullptr;
    const uint64_t pinned = uint64_t{1} << 46;
    const std::string device_left = " of its " + std::to_string(total) + " bytes are free",
                      host = "the host has no memory left to pin for " + std::to_string(pinned) + " bytes of ";
    const struct {
        const char* what;
        std::function<gpo_status()> call;
        std::vector<std::string> says;
    } rows[] = {
        {"device memory", [&] { return gpo_memory_allocate(gpu.device, bytes, "KV cache", &address); },
         {std::to_string(bytes) + " bytes of `KV cache`: ", device_left}},
        {"device memory without a label", [&] { return gpo_memory_allocate(gpu.device, bytes, nullptr, &address); },
         {"for " + std::to_string(bytes) + " bytes: ", device_left}},
        {"a pool", [&] { return gpo_pool_allocate(pool, stream, bytes, &address); },
         {std::to_string(bytes) + " bytes of pool `tensors`: ", device_left}},
        {"a template", [&] { return gpo_template_allocate(made, bytes, &address); },
         {std::to_string(bytes) + " bytes of template `step`: ", device_left}},
        {"symmetric memory", [&] { return gpo_symmetric_allocate(peers, bytes, &symmetric_options, &symmetric); },
         {" bytes of symmetric memory `shared`", device_left}},
        {"an arena", [&] { return gpo_arena_allocate(arena, pinned, 0, &memory); },
         {"arena `staging` can't have " + std::to_string(pinned) + " bytes in one piece"}},
        {"pinned memory of a template", [&] { return gpo_template_allocate_host(made, pinned, &memory); },
         {host + "template `step`"}},
    };
    for (const auto& row : rows) {
        INFO(row.what);
        CHECK_STATUS(GPO_OUT_OF_MEMORY, row.call());
        const std::string message = last_error().message;
        INFO(message);
        for (const std::string& part : row.says) {
            CAPTURE(part);
            CHECK(message.find(part) != std::string::npos);
        }
    }
    CHECK_OK(gpo_peers_destroy(peers));
}

TEST_CASE("memory: what is freed under work that was put before stays until that work is done") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    Pinned<uint32_t> source = gpu.pinned<uint32_t>(1024), target = gpu.pinned<uint32_t>(1024);
    for (uint32_t i = 0; i < 1024; ++i) source[i] = i;
    uint64_t address = 0;
    REQUIRE_OK(gpo_memory_allocate(gpu.device, source.bytes(), nullptr, &address));
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_copy_to_device(stream, address, source.data(), source.bytes()));
    REQUIRE_OK(gpo_copy_to_host(stream, target.data(), address, source.bytes()));
    REQUIRE_OK(gpo_memory_free(gpu.device, address));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(std::equal(source.begin(), source.end(), target.begin()));
}

TEST_CASE("memory: freed memory can be had again, over and over") {
    Gpu gpu;
    uint64_t free_bytes = 0, total = 0;
    REQUIRE_OK(gpo_device_get_memory(gpu.device, &free_bytes, &total));
    // Two thirds of the free memory: the second allocation succeeds only after the first was freed.
    const uint64_t bytes = std::min<uint64_t>(free_bytes / 3 * 2, uint64_t{1} << 40);
    for (int round = 0; round < 3; ++round) {
        uint64_t address = 0;
        gpo_status status = GPO_OUT_OF_MEMORY;
        // The free is deferred: it happens soon after the streams have passed.
        for (int tries = 0; status == GPO_OUT_OF_MEMORY && tries < 100'000; ++tries) {
            status = gpo_memory_allocate(gpu.device, bytes, nullptr, &address);
            if (status == GPO_OUT_OF_MEMORY) std::this_thread::yield();
        }
        REQUIRE_OK(status);
        REQUIRE_OK(gpo_memory_free(gpu.device, address));
    }
}

TEST_CASE("memory: registered memory is pinned until it is unregistered") {
    Gpu gpu;
    Pages memory = pages(4);
    const uint64_t before = gpu.statistics().host_registrations;
    CHECK(describe(gpu, number(memory.get())).kind == GPO_MEMORY_PAGEABLE);
    REQUIRE_OK(gpo_host_register(gpu.device, memory.get(), 4 * kPage, 0));
    const auto info = describe(gpu, number(memory.get()) + kPage);
    CHECK(info.kind == GPO_MEMORY_PINNED);
    CHECK(info.start == number(memory.get()));
    CHECK(info.bytes == 4 * kPage);
    CHECK_STATUS(GPO_INVALID_STATE, gpo_host_register(gpu.device, memory.get(), 4 * kPage, 0));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_host_register(gpu.device, memory.get() + kPage, kPage, 0));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_host_unregister(gpu.device, memory.get() + kPage));
    CHECK(gpu.statistics().host_registrations == before + 1);
    Memory device = gpu.memory(4 * kPage);
    Stream stream = gpu.stream();
    REQUIRE_OK(gpo_copy_to_device(stream, device, memory.get(), 4 * kPage));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(gpu.statistics().pageable_copies == 0);
    REQUIRE_OK(gpo_host_unregister(gpu.device, memory.get()));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_host_unregister(gpu.device, memory.get()));
    CHECK(describe(gpu, number(memory.get())).kind == GPO_MEMORY_PAGEABLE);
    CHECK(gpu.statistics().host_registrations == before + 2);
    REQUIRE_OK(gpo_host_register(gpu.device, memory.get(), kPage, GPO_REGISTER_READ_ONLY));
    REQUIRE_OK(gpo_host_unregister(gpu.device, memory.get()));
}

TEST_CASE("memory: registrations that make no sense are refused") {
    Gpu gpu;
    Pages memory = pages(1);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_host_register(gpu.device, nullptr, kPage, 0));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_host_register(gpu.device, memory.get(), 0, 0));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_host_register(gpu.device, memory.get(), UINT64_MAX, 0));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_host_register(gpu.device, memory.get(), kPage, 2));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_host_unregister(gpu.device, nullptr));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_host_unregister(gpu.device, memory.get()));
    Pinned<char> piece = gpu.pinned<char>(kPage);
    CHECK_STATUS(GPO_INVALID_STATE, gpo_host_register(gpu.device, piece.data(), kPage, 0));
}

TEST_CASE("memory: threads register and unregister side by side") {
    Gpu gpu;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            Pages memory = pages(2);
            for (int i = 0; i < 100; ++i) {
                if (gpo_host_register(gpu.device, memory.get(), 2 * kPage, 0) != GPO_SUCCESS) ++wrong;
                auto info = sized<gpo_memory_info>();
                if (gpo_memory_describe(gpu.device, number(memory.get()) + 1, &info) != GPO_SUCCESS ||
                    info.kind != GPO_MEMORY_PINNED)
                    ++wrong;
                if (gpo_host_unregister(gpu.device, memory.get()) != GPO_SUCCESS) ++wrong;
            }
        });
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("memory: what is no pointer can't be described, a plain one is pageable") {
    Gpu gpu;
    auto info = sized<gpo_memory_info>();
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_describe(gpu.device, 0, &info));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_describe(gpu.device, 1, nullptr));
    int local = 0;
    const auto plain = describe(gpu, number(&local));
    CHECK(plain.kind == GPO_MEMORY_PAGEABLE);
    CHECK(plain.start == 0);
    CHECK(plain.device_ordinal == -1);
}
