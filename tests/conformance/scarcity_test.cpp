// Memory that really runs out, on the device and pinned; and kernel sources beyond the usual.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/gpu.h"

using namespace gpo::test;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kPieces = 7'000;
#else
constexpr size_t kPieces = 70'000;   // more mappings than Linux lets a process have
#endif

constexpr const char* kSet = R"(
extern "C" __global__ void set(unsigned *target, unsigned value) { *target = value; }
)";

}  // namespace

TEST_CASE("device memory is used up to the last MiB: refused with a status, and the next launch works") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Kernel set = gpu.kernel(kSet, "set");
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    uint64_t free_bytes = 0, total = 0;
    REQUIRE_OK(gpo_device_get_memory(gpu.device, &free_bytes, &total));
    std::vector<uint64_t> pieces;
    for (uint64_t bytes = uint64_t{1} << 40; bytes >= 1 << 20;) {
        uint64_t address = 0;
        const gpo_status status = gpo_memory_allocate(gpu.device, bytes, "hoard", &address);
        if (status == GPO_SUCCESS) {
            pieces.push_back(address);
        } else {
            REQUIRE_STATUS(GPO_OUT_OF_MEMORY, status);
            CHECK(address == 0);
            bytes /= 2;
        }
    }
    CHECK(!pieces.empty());
    uint64_t left = 0;
    REQUIRE_OK(gpo_device_get_memory(gpu.device, &left, &total));
    CHECK(left < std::max(free_bytes / 16, uint64_t{256} << 20));
    // The pool may have a reserve; afterwards it gives the same status.
    Pool pool;
    auto options = sized<gpo_pool_options>();
    REQUIRE_OK(gpo_pool_create(gpu.device, &options, pool.out()));
    uint64_t none = 0;
    CHECK_STATUS(GPO_OUT_OF_MEMORY, gpo_pool_allocate(pool, stream, free_bytes / 2, &none));
    CHECK(none == 0);

    for (uint32_t value = 1; value <= 3; ++value) {
        REQUIRE_OK(launch(stream, set.get(), 1, 1, word.data(), value));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        CHECK(read(word[0]) == value);
    }
    for (uint64_t address : pieces) CHECK_OK(gpo_memory_free(gpu.device, address));
    REQUIRE_OK(gpo_device_wait(gpu.device, kPatience));
    // The memory is free again once the errands have freed it; then most of it can be allocated again.
    uint64_t again = 0;
    gpo_status status = GPO_OUT_OF_MEMORY;
    for (int turn = 0; turn < 3000 && status == GPO_OUT_OF_MEMORY; ++turn) {
        status = gpo_memory_allocate(gpu.device, free_bytes / 2, nullptr, &again);
        if (status != GPO_SUCCESS) usleep(10'000);
    }
    REQUIRE_OK(status);
    CHECK_OK(gpo_memory_free(gpu.device, again));
    REQUIRE_OK(launch(stream, set.get(), 1, 1, word.data(), uint32_t{9}));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(word[0]) == 9);
}

TEST_CASE(
    "pinned memory in no bytes, in 2^46 and in more small pieces than there can be mappings, then all of it back") {
    Gpu gpu;
    Arena arena;
    REQUIRE_OK(gpo_arena_create(gpu.device, nullptr, arena.out()));
    void* none = nullptr;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_arena_allocate(arena, 0, 0, &none));
    CHECK_STATUS(GPO_OUT_OF_MEMORY, gpo_arena_allocate(arena, uint64_t{1} << 46, 0, &none));
    CHECK(none == nullptr);
    std::vector<uint32_t*> pieces;
    for (size_t i = 0; i < kPieces; ++i) {
        void* piece = nullptr;
        REQUIRE_OK(gpo_arena_allocate(arena, 512, 0, &piece));
        pieces.push_back(static_cast<uint32_t*>(piece));
        *pieces.back() = static_cast<uint32_t>(i);
    }
    size_t wrong = 0;
    for (size_t i = 0; i < kPieces; ++i) wrong += *pieces[i] != i;
    CHECK(wrong == 0);
    for (uint32_t* piece : pieces) REQUIRE_OK(gpo_arena_free(arena, piece));
    auto statistics = sized<gpo_memory_statistics>();
    REQUIRE_OK(gpo_arena_trim(arena, 0));
    REQUIRE_OK(gpo_arena_get_statistics(arena, &statistics));
    CHECK(statistics.in_use == 0);
    CHECK(statistics.reserved == 0);
}

TEST_CASE(
    "registrations of single pages, until the driver has no more: a status, and those that succeeded are undone") {
    Gpu gpu;
    constexpr size_t kPage = 4096;
    void* mapped = mmap(nullptr, kPieces * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(mapped != MAP_FAILED);
    char* const memory = static_cast<char*>(mapped);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_host_register(gpu.device, memory, 0, 0));
    CHECK(gpo_host_register(gpu.device, memory, uint64_t{1} << 46, 0) >= 10);
    size_t registered = 0;
    gpo_status status = GPO_SUCCESS;
    while (registered < kPieces &&
           (status = gpo_host_register(gpu.device, memory + registered * kPage, kPage, 0)) == GPO_SUCCESS)
        ++registered;
    CAPTURE(registered);
    INFO(explain("gpo_host_register", status));
    CHECK((status == GPO_SUCCESS || status == GPO_OUT_OF_MEMORY || status == GPO_LIMIT_EXCEEDED));
    CHECK(registered >= 1000);
    size_t refused = 0;
    for (size_t i = 0; i < registered; ++i)
        refused += gpo_host_unregister(gpu.device, memory + i * kPage) != GPO_SUCCESS;
    CHECK(refused == 0);
    // Nothing of them is left: the whole range can be registered.
    CHECK_OK(gpo_host_register(gpu.device, memory, kPieces * kPage, 0));
    CHECK_OK(gpo_host_unregister(gpu.device, memory));
    munmap(mapped, kPieces * kPage);
}

TEST_CASE("a source of 10 MiB compiles, one that fails at its end says where, and neither spoils the next") {
    Gpu gpu;
    std::string source = kSet;
    while (source.size() < 10 << 20) source += "// a line of a comment that goes on and on, as generated sources do\n";
    const auto lines = static_cast<size_t>(std::count(source.begin(), source.end(), '\n'));
    auto options = sized<gpo_compile_options>();
    options.flags = GPO_COMPILE_NO_CACHE;
    options.file_name = "long.cu";
    Module module;
    const std::string broken = source + "extern \"C\" __global__ void last(unsigned *target) { *target = nothing; }\n";
    options.source = broken.c_str();
    CHECK_STATUS(GPO_COMPILE_FAILED, gpo_module_compile(gpu.device, &options, module.out()));
    CHECK(module.get() == nullptr);
    const std::string message = last_error().message;
    INFO(message);
    CHECK(message.find("long.cu") != std::string::npos);
    CHECK(message.find(std::to_string(lines + 1)) != std::string::npos);
    options.source = source.c_str();
    REQUIRE_OK(gpo_module_compile(gpu.device, &options, module.out()));
    Kernel kernel, missing;
    CHECK_STATUS(GPO_NOT_FOUND, gpo_module_get_kernel(module, "last", missing.out()));
    REQUIRE_OK(gpo_module_get_kernel(module, "set", kernel.out()));
    Stream stream = gpu.stream();
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    REQUIRE_OK(launch(stream, kernel.get(), 1, 1, word.data(), uint32_t{5}));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(word[0]) == 5);
}
