// Frees behind streams under many schedules: all memory comes back exactly once, regardless of the scanner, the errands
// and the callers.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "driver/driver.h"
#include "driver/faults.h"
#include "gpuorch/gpuorch.h"
#include "host/host.h"
#include "host/schedule.h"

namespace {

constexpr uint64_t kPiece = 1024;

/// A runtime under the schedule of a seed: its device, an arena, a stream, and memory on the device for copies.
struct World {
    explicit World(uint64_t seed, uint64_t slab_bytes = 0) {
        gpo_runtime_options options{};
        options.struct_size = sizeof options;
        options.device = "soft";
        options.schedule_seed = seed;
        options.log = [](void* user, int32_t, const char* line) { *static_cast<std::string*>(user) += line; };
        options.log_user = &log;
        REQUIRE(gpo_runtime_create(&options, &runtime) == GPO_SUCCESS);
        REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
        gpo_arena_options arena_options{};
        arena_options.struct_size = sizeof arena_options;
        arena_options.slab_bytes = slab_bytes;
        REQUIRE(gpo_arena_create(device, &arena_options, &arena) == GPO_SUCCESS);
        stream = make_stream();
        REQUIRE(gpo_memory_allocate(device, kPiece, nullptr, &target) == GPO_SUCCESS);
    }
    gpo_stream_t make_stream() {
        gpo_stream_t made = nullptr;
        REQUIRE(gpo_stream_create(device, nullptr, &made) == GPO_SUCCESS);
        return made;
    }
    void* take() {
        void* piece = nullptr;
        REQUIRE(gpo_arena_allocate(arena, kPiece, 0, &piece) == GPO_SUCCESS);
        return piece;
    }
    /// A piece that is freed once the stream has copied it.
    void copy_and_free(void* piece) {
        REQUIRE(gpo_copy_to_device(stream, target, piece, kPiece) == GPO_SUCCESS);
        REQUIRE(gpo_arena_free_after(arena, piece, stream) == GPO_SUCCESS);
    }
    uint64_t in_use() {
        gpo_memory_statistics statistics{};
        statistics.struct_size = sizeof statistics;
        REQUIRE(gpo_arena_get_statistics(arena, &statistics) == GPO_SUCCESS);
        return statistics.in_use;
    }
    /// Destroys all handles except the device's, which the shutdown destroys.
    void destroy() {
        CHECK(gpo_arena_destroy(arena) == GPO_SUCCESS);
        CHECK(gpo_memory_free(device, target) == GPO_SUCCESS);
        CHECK(gpo_stream_destroy(stream) == GPO_SUCCESS);
    }
    void shut_down() { CHECK(gpo_runtime_shutdown(runtime, 10'000'000'000) == GPO_SUCCESS); }

    std::string log;
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_arena_t arena = nullptr;
    gpo_stream_t stream = nullptr;
    uint64_t target = 0;
};

enum class End { signal, cancel, fail, destroy };

void run(uint64_t seed, End end) {
    World world(seed, 1 << 20);
    gpo_timeline_options timeline_options{};
    timeline_options.struct_size = sizeof timeline_options;
    gpo_timeline_t timeline = nullptr;
    REQUIRE(gpo_timeline_create(world.runtime, &timeline_options, &timeline) == GPO_SUCCESS);
    gpo_stream_t held = world.make_stream(), busy = world.stream;
    REQUIRE(gpo_stream_wait_timeline(held, timeline, 1) == GPO_SUCCESS);

    std::atomic<int> wrong{0};
    std::vector<gpo::host::Thread> threads;
    for (int t = 0; t < 2; ++t)
        threads.emplace_back("caller", [&, t] {
            for (int i = 0; i < 40; ++i) {
                void* piece = nullptr;
                gpo_stream_t stream = (i + t) % 3 ? busy : held;
                if (gpo_arena_allocate(world.arena, kPiece, 0, &piece) != GPO_SUCCESS) ++wrong;
                if (stream == busy && gpo_copy_to_device(stream, world.target, piece, kPiece) != GPO_SUCCESS) ++wrong;
                if (gpo_arena_free_after(world.arena, piece, stream) != GPO_SUCCESS) ++wrong;
                if (gpo_arena_free(world.arena, piece) != GPO_INVALID_ARGUMENT) ++wrong;
            }
        });
    if (end == End::signal) REQUIRE(gpo_timeline_signal(timeline, 1) == GPO_SUCCESS);
    if (end == End::cancel) REQUIRE(gpo_stream_cancel_held(held, nullptr) == GPO_SUCCESS);
    threads.clear();
    if (end == End::cancel) REQUIRE(gpo_stream_cancel_held(held, nullptr) == GPO_SUCCESS);
    if (end == End::fail) REQUIRE(gpo_timeline_fail(timeline, GPO_FAILED, "on purpose") == GPO_SUCCESS);
    if (end == End::destroy) {
        REQUIRE(gpo_stream_destroy(held) == GPO_SUCCESS);
        REQUIRE(gpo_timeline_signal(timeline, 1) == GPO_SUCCESS);
    }
    CHECK(wrong == 0);
    while (world.in_use() != 0) gpo::host::sleep_until(gpo::host::now() + 10'000);
    world.destroy();
    world.shut_down();
}

}  // namespace

TEST_CASE("memory freed behind streams comes back under every schedule, however the stream ends") {
    for (const End end : {End::signal, End::cancel, End::fail, End::destroy})
        for (uint64_t seed = 1; seed <= 12; ++seed) {
            INFO("end ", static_cast<int>(end), ", schedule_seed ", seed);
            run(seed, end);
        }
}

TEST_CASE("an arena destroyed while its pieces wait for a stream goes when they have come back") {
    for (uint64_t seed = 1; seed <= 12; ++seed) {
        CAPTURE(seed);
        World world(seed);
        for (int i = 0; i < 40; ++i) world.copy_and_free(world.take());
        world.destroy();
        CHECK(gpo_device_close(world.device) == GPO_SUCCESS);
        world.shut_down();
        CHECK(world.log == "");
    }
}

TEST_CASE("what was never freed outlives the arena's handle, though pieces that wait come back meanwhile") {
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        World world(seed);
        auto* live = static_cast<char*>(world.take());
        // Many frees of many streams: the pieces come back while the arena queries one stream after the other.
        gpo_stream_t streams[8];
        for (gpo_stream_t& stream : streams) {
            stream = world.make_stream();
            for (int i = 0; i < 20; ++i) {
                void* piece = world.take();
                REQUIRE(gpo_copy_to_device(stream, world.target, piece, kPiece) == GPO_SUCCESS);
                REQUIRE(gpo_arena_free_after(world.arena, piece, stream) == GPO_SUCCESS);
            }
        }
        world.destroy();
        gpo::host::sleep_until(gpo::host::now() + 1'000'000);
        gpo_memory_info info{};
        info.struct_size = sizeof info;
        REQUIRE(gpo_memory_describe(world.device, reinterpret_cast<uint64_t>(live), &info) == GPO_SUCCESS);
        REQUIRE(info.kind == GPO_MEMORY_PINNED);
        live[kPiece - 1] = 7;
        world.shut_down();
        CHECK(world.log.find("with 1024 bytes in 1 pieces") != std::string::npos);
    }
}

TEST_CASE("a shutdown goes well under every schedule while an errand marks streams") {
    namespace faults = gpo::driver::faults;
    gpo::driver::set_interposer(
        [](std::shared_ptr<gpo::driver::Driver> driver) { return faults::wrap(std::move(driver)); });
    const uint32_t threads = gpo::host::detail::running_threads();
    for (uint64_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        World world(seed);
        void* piece = world.take();
        // There is no memory for the free's mark. An errand retries a millisecond later, while the runtime shuts down.
        faults::arm({.function = gpo::driver::Function::cuEventRecord,
                     .kth = 1,
                     .result = CUDA_ERROR_OUT_OF_MEMORY,
                     .for_ever = true});
        world.copy_and_free(piece);
        REQUIRE(faults::failed() > 0);
        faults::disarm();
        gpo::host::sleep_until(gpo::host::now() + 1'000'000);
        world.shut_down();
        CHECK(gpo::host::detail::running_threads() == threads);
    }
    gpo::driver::set_interposer({});
}
