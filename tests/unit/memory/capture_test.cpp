// Copies, fills and frees on a stream that the host captures: each is recorded or refused.
#include <doctest/doctest.h>

#include <cuda.h>

#include <cstring>
#include <string>
#include <vector>

#include "driver/driver.h"
#include "gpuorch/gpuorch.h"
#include "support/soft.h"

namespace {

struct Soft {
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr;
    gpo_arena_t arena = nullptr;
    uint64_t memory = 0;
    CUstream native = nullptr;
    std::shared_ptr<gpo::driver::Driver> driver;

    Soft() {
        runtime = gpo::test::make_soft_runtime();
        REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
        REQUIRE(gpo_stream_create(device, nullptr, &stream) == GPO_SUCCESS);
        gpo_arena_options arena_options{};
        arena_options.struct_size = sizeof arena_options;
        arena_options.slab_bytes = 1 << 20;
        REQUIRE(gpo_arena_create(device, &arena_options, &arena) == GPO_SUCCESS);
        REQUIRE(gpo_memory_allocate(device, 8192, nullptr, &memory) == GPO_SUCCESS);
        void* handle = nullptr;
        REQUIRE(gpo_stream_get_native(stream, &handle) == GPO_SUCCESS);
        native = static_cast<CUstream>(handle);
        std::string why;
        driver = gpo::driver::open_soft(&why);
        void* context = nullptr;
        REQUIRE(gpo_device_get_native(device, &context, nullptr) == GPO_SUCCESS);
        REQUIRE(driver->table.cuCtxPushCurrent(static_cast<CUcontext>(context)) == CUDA_SUCCESS);
    }
    ~Soft() {
        CUcontext popped;
        driver->table.cuCtxPopCurrent(&popped);
        CHECK(gpo_memory_free(device, memory) == GPO_SUCCESS);
        CHECK(gpo_arena_destroy(arena) == GPO_SUCCESS);
        CHECK(gpo_stream_destroy(stream) == GPO_SUCCESS);
        CHECK(gpo_runtime_shutdown(runtime, 30'000'000'000) == GPO_SUCCESS);
    }
    unsigned char* take(uint64_t bytes) {
        void* piece = nullptr;
        REQUIRE(gpo_arena_allocate(arena, bytes, 0, &piece) == GPO_SUCCESS);
        return static_cast<unsigned char*>(piece);
    }
};

gpo_copy piece(uint64_t destination, const void* source, uint64_t bytes) {
    gpo_copy copy{};
    copy.struct_size = sizeof copy;
    copy.destination = destination;
    copy.source = reinterpret_cast<uint64_t>(source);
    copy.bytes = bytes;
    return copy;
}

}  // namespace

TEST_CASE("pinned copies, batches and fills are recorded by a capture, pageable copies and pools are refused") {
    Soft soft;
    const auto& table = soft.driver->table;
    unsigned char *from = soft.take(4096), *back = soft.take(8192);
    std::vector<unsigned char> plain(4096);
    gpo_pool_t pool = nullptr;
    REQUIRE(gpo_pool_create(soft.device, nullptr, &pool) == GPO_SUCCESS);
    uint64_t address = 0;
    REQUIRE(gpo_pool_allocate(pool, soft.stream, 256, &address) == GPO_SUCCESS);
    REQUIRE(gpo_stream_wait(soft.stream, -1) == GPO_SUCCESS);

    REQUIRE(table.cuStreamBeginCapture(soft.native, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    CHECK(gpo_copy_to_device(soft.stream, soft.memory, plain.data(), 4096) == GPO_CAPTURE_REFUSED);
    gpo_error error{};
    error.struct_size = sizeof error;
    CHECK(gpo_last_error(&error) == GPO_SUCCESS);
    CHECK(std::string(error.message).find("pageable") != std::string::npos);
    CHECK(gpo_copy_to_host(soft.stream, plain.data(), soft.memory, 4096) == GPO_CAPTURE_REFUSED);
    const gpo_copy mixed[] = {piece(soft.memory, from, 100), piece(soft.memory + 200, plain.data(), 100)};
    CHECK(gpo_copy_batch(soft.stream, mixed, sizeof(gpo_copy), 2) == GPO_CAPTURE_REFUSED);
    uint64_t none = 0;
    CHECK(gpo_pool_allocate(pool, soft.stream, 256, &none) == GPO_CAPTURE_REFUSED);
    CHECK(gpo_pool_free(pool, soft.stream, address) == GPO_CAPTURE_REFUSED);
    CHECK(gpo_fill(soft.stream, soft.memory, 7, 1, 8192) == GPO_SUCCESS);
    const gpo_copy batch[] = {piece(soft.memory, from, 1000), piece(soft.memory + 1000, from + 1000, 3096)};
    CHECK(gpo_copy_batch(soft.stream, batch, sizeof(gpo_copy), 2) == GPO_SUCCESS);
    CHECK(gpo_copy_to_host(soft.stream, back, soft.memory, 8192) == GPO_SUCCESS);
    // The next calls don't break the capture either.
    gpo_memory_info info{};
    info.struct_size = sizeof info;
    CHECK(gpo_memory_describe(soft.device, reinterpret_cast<uint64_t>(plain.data()), &info) == GPO_SUCCESS);
    uint64_t other = 0;
    CHECK(gpo_memory_allocate(soft.device, 100, nullptr, &other) == GPO_SUCCESS);
    CHECK(gpo_arena_trim(soft.arena, 0) == GPO_SUCCESS);
    CHECK(gpo_host_register(soft.device, plain.data(), plain.size(), 0) == GPO_SUCCESS);
    CHECK(gpo_host_unregister(soft.device, plain.data()) == GPO_SUCCESS);
    CUgraph graph = nullptr;
    REQUIRE(table.cuStreamEndCapture(soft.native, &graph) == CUDA_SUCCESS);
    size_t nodes = 0;
    REQUIRE(table.cuGraphGetNodes(graph, nullptr, &nodes) == CUDA_SUCCESS);
    CHECK(nodes == 4);

    std::memset(from, 0x3c, 4096);
    CUgraphExec exec = nullptr;
    REQUIRE(table.cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);
    REQUIRE(table.cuGraphLaunch(exec, soft.native) == CUDA_SUCCESS);
    REQUIRE(gpo_stream_wait(soft.stream, -1) == GPO_SUCCESS);
    CHECK(back[0] == 0x3c);
    CHECK(back[4095] == 0x3c);
    CHECK(back[4096] == 7);
    CHECK(back[8191] == 7);
    table.cuGraphExecDestroy(exec);
    table.cuGraphDestroy(graph);
    CHECK(gpo_memory_free(soft.device, other) == GPO_SUCCESS);
    CHECK(gpo_pool_free(pool, soft.stream, address) == GPO_SUCCESS);
    CHECK(gpo_pool_destroy(pool) == GPO_SUCCESS);
    CHECK(gpo_arena_free(soft.arena, from) == GPO_SUCCESS);
    CHECK(gpo_arena_free(soft.arena, back) == GPO_SUCCESS);
}

TEST_CASE("a free behind a stream that is captured takes effect when the capture has ended") {
    Soft soft;
    const auto& table = soft.driver->table;
    unsigned char* piece = soft.take(4096);
    REQUIRE(table.cuStreamBeginCapture(soft.native, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
    CHECK(gpo_arena_free_after(soft.arena, piece, soft.stream) == GPO_SUCCESS);
    gpo_memory_statistics statistics{};
    statistics.struct_size = sizeof statistics;
    REQUIRE(gpo_arena_get_statistics(soft.arena, &statistics) == GPO_SUCCESS);
    CHECK(statistics.waiting == 4096);
    CUgraph graph = nullptr;
    REQUIRE(table.cuStreamEndCapture(soft.native, &graph) == CUDA_SUCCESS);
    table.cuGraphDestroy(graph);
    do REQUIRE(gpo_arena_get_statistics(soft.arena, &statistics) == GPO_SUCCESS);
    while (statistics.waiting != 0);
    CHECK(statistics.in_use == 0);
}
