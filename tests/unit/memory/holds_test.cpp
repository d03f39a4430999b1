// Frees of memory that is still held: a free is accepted, waits, names the holders, and is done once, behind earlier
// launches. The holders in these tests take the place of graph templates.
#include <doctest/doctest.h>

#include <cuda.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/runtime.h"
#include "driver/faults.h"
#include "driver/call_recorder.h"
#include "gpuorch/gpuorch.h"
#include "memory/holds.h"
#include "support/soft.h"

namespace {

namespace faults = gpo::driver::faults;
namespace recorder = gpo::driver::recorder;
using gpo::driver::Function;

constexpr uint64_t kBytes = 4096;
constexpr int64_t kPatience = 30'000'000'000;

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

/// Something with a label that holds addresses.
class Holder final : public gpo::Object {
public:
    Holder(gpo::Runtime& runtime, const char* label) : Object(runtime, gpo::Type::kernel, label) {}
};

/// A runtime with a device, a stream, an arena, a pool, and its log.
struct World {
    explicit World(uint64_t seed = 0, bool recorded = false) {
        if (recorded)
            gpo::driver::set_interposer([](std::shared_ptr<gpo::driver::Driver> driver) {
                return recorder::wrap(faults::wrap(std::move(driver)));
            });
        auto options = gpo::test::sized<gpo_runtime_options>();
        options.device = "soft";
        options.schedule_seed = seed;
        options.log_level = GPO_LOG_INFO;
        options.log = [](void* user, int32_t, const char* line) {
            static_cast<std::string*>(user)->append(line).append("\n");
        };
        options.log_user = &log;
        REQUIRE(gpo_runtime_create(&options, &runtime) == GPO_SUCCESS);
        REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
        stream = make_stream();
        auto arena_options = gpo::test::sized<gpo_arena_options>();
        arena_options.slab_bytes = 1 << 20;
        arena_options.label = "staging";
        REQUIRE(gpo_arena_create(device, &arena_options, &arena) == GPO_SUCCESS);
        auto pool_options = gpo::test::sized<gpo_pool_options>();
        pool_options.label = "scratch";
        REQUIRE(gpo_pool_create(device, &pool_options, &pool) == GPO_SUCCESS);
        const gpo::Pin<gpo::Runtime> pinned(runtime);
        holds = &gpo::Holds::of(*pinned);
        holder = gpo::make<Holder>(*pinned, "step");
        other = gpo::make<Holder>(*pinned, "decode");
    }
    ~World() {
        holder = other = nullptr;
        shut_down();
        gpo::driver::set_interposer({});
    }
    void shut_down() {
        if (runtime) CHECK(gpo_runtime_shutdown(std::exchange(runtime, nullptr), kPatience) == GPO_SUCCESS);
    }
    gpo_stream_t make_stream() {
        gpo_stream_t made = nullptr;
        REQUIRE(gpo_stream_create(device, nullptr, &made) == GPO_SUCCESS);
        return made;
    }
    uint64_t device_memory(const char* label = nullptr) {
        uint64_t address = 0;
        REQUIRE(gpo_memory_allocate(device, kBytes, label, &address) == GPO_SUCCESS);
        return address;
    }
    void* piece() {
        void* memory = nullptr;
        REQUIRE(gpo_arena_allocate(arena, kBytes, 0, &memory) == GPO_SUCCESS);
        return memory;
    }
    uint64_t pool_piece() {
        uint64_t address = 0;
        REQUIRE(gpo_pool_allocate(pool, stream, kBytes, &address) == GPO_SUCCESS);
        return address;
    }
    /// Returns when all due memory has been freed.
    void wait() { CHECK(gpo_device_wait(device, kPatience) == GPO_SUCCESS); }
    bool is_device_memory(uint64_t address) {
        auto info = gpo::test::sized<gpo_memory_info>();
        REQUIRE(gpo_memory_describe(device, address, &info) == GPO_SUCCESS);
        return info.kind == GPO_MEMORY_DEVICE;
    }
    gpo_memory_statistics arena_figures() {
        auto figures = gpo::test::sized<gpo_memory_statistics>();
        REQUIRE(gpo_arena_get_statistics(arena, &figures) == GPO_SUCCESS);
        return figures;
    }
    gpo_memory_statistics pool_figures() {
        auto figures = gpo::test::sized<gpo_memory_statistics>();
        REQUIRE(gpo_pool_get_statistics(pool, &figures) == GPO_SUCCESS);
        return figures;
    }
    /// Whether the memory is writable and readable.
    bool usable(uint64_t address) {
        void *out = piece(), *in = piece();
        std::memset(out, 0x5A, kBytes);
        std::memset(in, 0, kBytes);
        const bool copied = gpo_copy_to_device(stream, address, out, kBytes) == GPO_SUCCESS &&
                            gpo_copy_to_host(stream, in, address, kBytes) == GPO_SUCCESS &&
                            gpo_stream_wait(stream, kPatience) == GPO_SUCCESS;
        const bool same = std::memcmp(out, in, kBytes) == 0;
        CHECK(gpo_arena_free(arena, out) == GPO_SUCCESS);
        CHECK(gpo_arena_free(arena, in) == GPO_SUCCESS);
        return copied && same;
    }
    template <class Done>
    void until(Done done) {
        const uint64_t deadline = gpo::host::deadline_after(kPatience);
        while (!done() && gpo::host::now() < deadline) gpo::host::sleep_until(gpo::host::now() + 100'000);
        CHECK(done());
    }
    bool logged(const std::string& line) { return log.find(line + "\n") != std::string::npos; }

    std::string log;
    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr;
    gpo_arena_t arena = nullptr;
    gpo_pool_t pool = nullptr;
    gpo::Holds* holds = nullptr;
    gpo::Ref<Holder> holder, other;
};

/// A timeline that holds a stream up until it is signalled.
struct Held {
    Held(World& world, gpo_stream_t stream) {
        auto options = gpo::test::sized<gpo_timeline_options>();
        REQUIRE(gpo_timeline_create(world.runtime, &options, &timeline) == GPO_SUCCESS);
        REQUIRE(gpo_stream_wait_timeline(stream, timeline, 1) == GPO_SUCCESS);
    }
    void signal() { REQUIRE(gpo_timeline_signal(timeline, 1) == GPO_SUCCESS); }
    gpo_timeline_t timeline = nullptr;
};

/// The program's own calls of the driver, on this thread.
struct Program {
    explicit Program(World& world) {
        void* context = nullptr;
        REQUIRE(gpo_device_get_native(world.device, &context, nullptr) == GPO_SUCCESS);
        REQUIRE(table.cuCtxPushCurrent(static_cast<CUcontext>(context)) == CUDA_SUCCESS);
    }
    ~Program() {
        CUcontext popped;
        table.cuCtxPopCurrent(&popped);
    }
    CUstream native(gpo_stream_t stream) const {
        void* handle = nullptr;
        REQUIRE(gpo_stream_get_native(stream, &handle) == GPO_SUCCESS);
        return static_cast<CUstream>(handle);
    }
    void begin_capture(CUstream stream) const {
        REQUIRE(table.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
    }
    void end_capture(CUstream stream) const {
        CUgraph graph = nullptr;
        CHECK(table.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
        CHECK(table.cuGraphDestroy(graph) == CUDA_SUCCESS);
    }
    std::string why;
    const std::shared_ptr<gpo::driver::Driver> driver = gpo::driver::open_soft(&why);
    const gpo::driver::Table& table = driver->table;
};

/// Releases an address whose memory must then be freed. While this object exists, the library has waited for all
/// streams but hasn't freed the memory yet.
class Gap {
public:
    Gap(World& world, uint64_t address) : runtime_(world.runtime), held_(world, world.make_stream()) {
        world.holds->release(address, *world.holder);
        std::atomic<bool> marked{false};   // all streams, behind what is on them now
        runtime_->errands().post_body([&] { marked = true; });
        world.until([&] { return marked.load(); });
        std::atomic<bool> stopped{false};
        runtime_->errands().post_body([&stopped, open = open_] {
            stopped = true;
            while (!*open) std::this_thread::yield();
        });
        world.until([&] { return stopped.load(); });
        held_.signal();
    }
    ~Gap() { *open_ = true; }

private:
    gpo::Pin<gpo::Runtime> runtime_;
    Held held_;
    const std::shared_ptr<std::atomic<bool>> open_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace

TEST_CASE("device memory that is held stays until it is released, and its free says who holds it") {
    World world;
    const uint64_t memory = world.device_memory("weights");
    world.holds->hold(memory + 100, *world.holder);
    CHECK(gpo_memory_free(world.device, memory) == GPO_SUCCESS);
    CHECK(world.log.find("device memory `weights`, 4096 bytes at 0x") != std::string::npos);
    CHECK(world.log.find(" is freed when kernel `step` no longer refers to it\n") != std::string::npos);
    CHECK(world.holds->waiting_frees(*world.holder).frees == 1);
    CHECK(world.holds->waiting_frees(*world.other).frees == 0);
    CHECK(gpo_memory_free(world.device, memory) == GPO_INVALID_ARGUMENT);
    world.wait();
    CHECK(world.is_device_memory(memory));
    CHECK(world.usable(memory));

    world.holds->release(memory + 100, *world.holder);
    world.wait();
    CHECK_FALSE(world.is_device_memory(memory));
    CHECK(world.holds->waiting_frees(*world.holder).frees == 0);
    CHECK_FALSE(world.holds->any());
}

TEST_CASE("an address right before or right behind memory doesn't hold it") {
    World world;
    const uint64_t memory = world.device_memory();
    world.holds->hold(memory - 1, *world.holder);
    world.holds->hold(memory + kBytes, *world.holder);
    CHECK(gpo_memory_free(world.device, memory) == GPO_SUCCESS);
    world.wait();
    CHECK_FALSE(world.is_device_memory(memory));
    CHECK(world.log == "");

    const uint64_t next = world.device_memory();
    world.holds->hold(next + kBytes - 1, *world.holder);
    CHECK(gpo_memory_free(world.device, next) == GPO_SUCCESS);
    CHECK(world.holds->waiting_frees(*world.holder).frees == 1);
    for (const uint64_t address : {memory - 1, memory + kBytes, next + kBytes - 1})
        world.holds->release(address, *world.holder);
}

TEST_CASE("memory is freed with the last of its holds, of all addresses in it and all holders") {
    World world;
    const uint64_t memory = world.device_memory();
    world.holds->hold(memory, *world.holder);
    world.holds->hold(memory, *world.holder);
    world.holds->hold(memory + 8, *world.other);
    CHECK(gpo_memory_free(world.device, memory) == GPO_SUCCESS);
    CHECK(world.log.find(" is freed when kernel `step` and others no longer refer to it\n") != std::string::npos);
    CHECK(world.holds->waiting_frees(*world.holder).frees == 1);
    CHECK(world.holds->waiting_frees(*world.other).frees == 1);

    world.holds->release(memory, *world.holder);
    world.holds->release(memory + 8, *world.other);
    world.wait();
    CHECK(world.is_device_memory(memory));
    CHECK(world.holds->waiting_frees(*world.other).frees == 0);
    world.holds->hold(memory + 16, *world.other);   // while the free waits
    world.holds->release(memory, *world.holder);
    world.wait();
    CHECK(world.is_device_memory(memory));
    world.holds->release(memory + 16, *world.other);
    world.wait();
    CHECK_FALSE(world.is_device_memory(memory));
}

TEST_CASE("a free that waits for words of structs alone is told from one that waits for an address") {
    World world;
    const uint64_t memory = world.device_memory();
    const gpo::HeldWord first{"scale", 2, 1}, second{"scale", 2, 3};
    world.holds->hold(memory + 8, *world.holder, first);
    world.holds->hold(memory + 8, *world.holder, second);
    world.holds->hold(memory + 8, *world.other);
    CHECK(gpo_memory_free(world.device, memory) == GPO_SUCCESS);
    CHECK(world.log.find(" and others no longer refer to it\n") != std::string::npos);
    CHECK(world.holds->waiting_frees(*world.holder).for_words == 1);
    CHECK(world.holds->waiting_frees(*world.other).for_words == 0);
    world.holds->hold(memory, *world.holder);
    CHECK(world.holds->waiting_frees(*world.holder).for_words == 0);
    world.holds->release(memory, *world.holder);
    world.holds->release(memory + 8, *world.other);
    world.holds->release(memory + 8, *world.holder, first);
    world.holds->release(memory + 8, *world.holder);   // no effect: this word was held separately
    world.wait();
    CHECK(world.is_device_memory(memory));
    world.holds->release(memory + 8, *world.holder, second);
    world.wait();
    CHECK_FALSE(world.is_device_memory(memory));
    CHECK_FALSE(world.holds->any());

    const uint64_t other = world.device_memory();
    world.holds->hold(other, *world.holder, first);
    world.holds->hold(other, *world.other, second);
    CHECK(gpo_memory_free(world.device, other) == GPO_SUCCESS);
    CHECK(world.log.find(" and others no longer refer to it (held by argument 2, word ") != std::string::npos);
    world.holds->release(other, *world.holder, first);
    world.holds->release(other, *world.other, second);
}

TEST_CASE("a hold that moves to another address releases the first one") {
    World world;
    const uint64_t first = world.device_memory(), second = world.device_memory();
    world.holds->hold(first, *world.holder);
    CHECK(gpo_memory_free(world.device, first) == GPO_SUCCESS);
    world.holds->replace(first, first + 8, *world.holder);   // within the memory
    CHECK(world.holds->waiting_frees(*world.holder).frees == 1);
    world.holds->hold(first + 8, *world.holder);
    world.holds->replace(first + 8, second, *world.holder);
    CHECK(world.holds->waiting_frees(*world.holder).frees == 1);
    world.holds->replace(first + 8, second, *world.holder);
    world.wait();
    CHECK_FALSE(world.is_device_memory(first));

    CHECK(gpo_memory_free(world.device, second) == GPO_SUCCESS);
    world.holds->replace(second, second, *world.holder);
    world.holds->release(second, *world.holder);
    world.wait();
    CHECK(world.is_device_memory(second));
    world.holds->release(second, *world.holder);
    world.wait();
    CHECK_FALSE(world.is_device_memory(second));
    CHECK_FALSE(world.holds->any());
}

TEST_CASE("an arena's piece that is held counts as in use until it is released, and can't be freed twice") {
    World world;
    for (const bool after : {false, true}) {
        CAPTURE(after);
        void* piece = world.piece();
        const auto free = [&] {
            return after ? gpo_arena_free_after(world.arena, piece, world.stream) : gpo_arena_free(world.arena, piece);
        };
        world.holds->hold(number(piece) + 1, *world.holder);
        CHECK(free() == GPO_SUCCESS);
        CHECK(world.logged(
            "a piece of 4096 bytes of arena `staging` is freed when kernel `step` no longer refers to it"));
        CHECK(gpo_arena_free(world.arena, piece) == GPO_INVALID_ARGUMENT);
        CHECK(gpo_arena_free_after(world.arena, piece, world.stream) == GPO_INVALID_ARGUMENT);
        world.wait();
        CHECK(world.arena_figures().in_use == kBytes);
        CHECK(world.arena_figures().waiting == kBytes);
        std::memset(piece, 1, kBytes);

        world.holds->release(number(piece) + 1, *world.holder);
        world.wait();
        CHECK(world.arena_figures().in_use == 0);
        CHECK(world.arena_figures().waiting == 0);
    }
}

TEST_CASE("pieces that nobody holds are freed at once while others are held") {
    World world;
    void *held = world.piece(), *first = world.piece(), *second = world.piece();
    world.holds->hold(number(held), *world.holder);
    CHECK(gpo_arena_free(world.arena, first) == GPO_SUCCESS);
    CHECK(gpo_arena_free(world.arena, first) == GPO_INVALID_ARGUMENT);
    CHECK(world.arena_figures().in_use == 2 * kBytes);
    CHECK(gpo_arena_free_after(world.arena, second, world.stream) == GPO_SUCCESS);
    CHECK(gpo_stream_wait(world.stream, kPatience) == GPO_SUCCESS);
    CHECK(world.arena_figures().in_use == kBytes);
    const uint64_t of_pool = world.pool_piece();
    CHECK(gpo_pool_free(world.pool, world.stream, of_pool) == GPO_SUCCESS);
    CHECK(world.pool_figures().in_use == 0);
    CHECK(world.log == "");
    world.holds->release(number(held), *world.holder);
    CHECK(gpo_arena_free(world.arena, held) == GPO_SUCCESS);
    CHECK(world.arena_figures().in_use == 0);
}

TEST_CASE("memory of any size is held by an address anywhere in it") {
    World world;
    for (const uint64_t bytes : {uint64_t{1} << 12, uint64_t{3} << 20, uint64_t{40} << 20})
        for (const uint64_t at : {uint64_t{0}, bytes / 3, bytes / 2, bytes - 1}) {
            CAPTURE(bytes);
            CAPTURE(at);
            uint64_t memory = 0;
            REQUIRE(gpo_memory_allocate(world.device, bytes, nullptr, &memory) == GPO_SUCCESS);
            world.holds->hold(memory + at, *world.holder);
            CHECK(gpo_memory_free(world.device, memory) == GPO_SUCCESS);
            CHECK(world.holds->waiting_frees(*world.holder).frees == 1);
            world.holds->release(memory + at, *world.holder);
            world.wait();
            CHECK_FALSE(world.is_device_memory(memory));
        }
}

TEST_CASE("a pool's piece that is held is freed on its stream when it is released") {
    World world(0, true);
    const uint64_t piece = world.pool_piece();
    world.holds->hold(piece, *world.holder);
    CHECK(gpo_pool_free(world.pool, world.stream, piece) == GPO_SUCCESS);
    CHECK(world.logged("a piece of 4096 bytes of pool `scratch` is freed when kernel `step` no longer refers to it"));
    CHECK(gpo_pool_free(world.pool, world.stream, piece) == GPO_INVALID_ARGUMENT);
    CHECK(world.usable(piece));
    CHECK(world.pool_figures().in_use == kBytes);
    recorder::clear();
    world.holds->release(piece, *world.holder);
    world.wait();
    CHECK(recorder::count(Function::cuMemFreeAsync) == 1);
    CHECK(recorder::count(Function::cuMemFree) == 0);
    CHECK(world.pool_figures().in_use == 0);
    CHECK(world.pool_figures().frees == 1);
}

TEST_CASE("a pool's piece whose stream takes no more work when it is released is freed without the stream") {
    enum class End { destroyed, detached, failed, captured, cancelled };
    for (const End end : {End::destroyed, End::detached, End::failed, End::captured, End::cancelled}) {
        CAPTURE(static_cast<int>(end));
        World world(0, true);
        const Program program(world);
        const auto& table = program.table;
        CUstream native = nullptr;
        gpo_stream_t stream = nullptr;
        if (end == End::detached) {
            REQUIRE(table.cuStreamCreateWithPriority(&native, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
            REQUIRE(gpo_stream_wrap(world.device, native, nullptr, &stream) == GPO_SUCCESS);
        } else {
            stream = world.make_stream();
            native = program.native(stream);
        }
        const uint64_t piece = world.pool_piece();
        world.holds->hold(piece, *world.holder);
        REQUIRE(gpo_pool_free(world.pool, stream, piece) == GPO_SUCCESS);
        recorder::clear();
        {
            const Gap gap(world, piece);
            if (end == End::destroyed || end == End::detached) CHECK(gpo_stream_destroy(stream) == GPO_SUCCESS);
            if (end == End::detached) CHECK(table.cuStreamDestroy(native) == CUDA_SUCCESS);
            if (end == End::failed)
                CHECK(gpo_timeline_fail(Held(world, stream).timeline, GPO_FAILED, "on purpose") == GPO_SUCCESS);
            if (end == End::captured) program.begin_capture(native);
            if (end == End::cancelled) Held(world, stream);
            CHECK(world.pool_figures().in_use == kBytes);
        }
        if (end == End::cancelled) {
            world.until([&] {
                auto info = gpo::test::sized<gpo_stream_info>();
                REQUIRE(gpo_stream_get_info(stream, &info) == GPO_SUCCESS);
                return info.held == 2;
            });
            CHECK(world.pool_figures().in_use == kBytes);
            CHECK(gpo_stream_cancel_held(stream, nullptr) == GPO_SUCCESS);
        }
        world.until([&] { return world.pool_figures().in_use == 0; });
        const bool by_stream = end == End::destroyed;   // the driver's stream is still there
        CHECK(recorder::count(Function::cuMemFreeAsync) == (by_stream ? 1 : 0));
        CHECK(recorder::count(Function::cuMemFree) == (by_stream ? 0 : 1));
        if (end == End::captured) program.end_capture(native);
    }
}

TEST_CASE("a wrapped stream that is destroyed after a free on it is waited for when the piece is released") {
    World world;
    const Program program(world);
    const auto& table = program.table;
    CUstream native = nullptr;
    REQUIRE(table.cuStreamCreateWithPriority(&native, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
    gpo_stream_t stream = nullptr;
    REQUIRE(gpo_stream_wrap(world.device, native, nullptr, &stream) == GPO_SUCCESS);
    void* piece = world.piece();
    std::atomic<bool> open{false};
    REQUIRE(table.cuLaunchHostFunc(
                native,
                [](void* user) {
                    while (!static_cast<std::atomic<bool>*>(user)->load()) std::this_thread::yield();
                },
                &open) == CUDA_SUCCESS);
    world.holds->hold(number(piece), *world.holder);
    CHECK(gpo_arena_free_after(world.arena, piece, stream) == GPO_SUCCESS);
    CHECK(gpo_stream_destroy(stream) == GPO_SUCCESS);
    world.holds->release(number(piece), *world.holder);
    CHECK(gpo_device_wait(world.device, 20'000'000) == GPO_TIMEOUT);
    CHECK(world.arena_figures().in_use == kBytes);
    open = true;
    world.wait();
    CHECK(world.arena_figures().in_use == 0);
    CHECK(table.cuStreamDestroy(native) == CUDA_SUCCESS);
}

TEST_CASE("a stream in capture or that has failed takes no free of a held piece either") {
    World world;
    const uint64_t piece = world.pool_piece();
    world.holds->hold(piece, *world.holder);
    gpo_stream_t failed = world.make_stream();
    CHECK(gpo_timeline_fail(Held(world, failed).timeline, GPO_FAILED, "on purpose") == GPO_SUCCESS);
    CHECK(gpo_pool_free(world.pool, failed, piece) == GPO_FAILED);
    const Program program(world);
    gpo_stream_t captured = world.make_stream();
    program.begin_capture(program.native(captured));
    CHECK(gpo_pool_free(world.pool, captured, piece) == GPO_CAPTURE_REFUSED);
    program.end_capture(program.native(captured));
    CHECK(world.holds->waiting_frees(*world.holder).frees == 0);
    CHECK(gpo_pool_free(world.pool, world.stream, piece) == GPO_SUCCESS);
    world.holds->release(piece, *world.holder);
    world.wait();
    CHECK(world.pool_figures().in_use == 0);
}

TEST_CASE("what was launched before the release may use the memory to its end") {
    World world;
    Held held(world, world.stream);
    gpo_stream_t freed_on = world.make_stream();
    const uint64_t memory = world.device_memory();
    uint64_t of_pool = 0;
    REQUIRE(gpo_pool_allocate(world.pool, freed_on, kBytes, &of_pool) == GPO_SUCCESS);
    auto* piece = static_cast<unsigned char*>(world.piece());
    std::memset(piece, 7, kBytes);
    for (const uint64_t address : {memory, of_pool, number(piece)}) world.holds->hold(address, *world.holder);
    CHECK(gpo_memory_free(world.device, memory) == GPO_SUCCESS);
    CHECK(gpo_pool_free(world.pool, freed_on, of_pool) == GPO_SUCCESS);
    CHECK(gpo_arena_free(world.arena, piece) == GPO_SUCCESS);
    // Copies like those of a graph launched after the frees.
    CHECK(gpo_copy_to_device(world.stream, memory, piece, kBytes) == GPO_SUCCESS);
    CHECK(gpo_copy_on_device(world.stream, of_pool, memory, kBytes) == GPO_SUCCESS);
    for (const uint64_t address : {memory, of_pool, number(piece)}) world.holds->release(address, *world.holder);
    CHECK(gpo_device_wait(world.device, 20'000'000) == GPO_TIMEOUT);
    CHECK(world.is_device_memory(memory));
    CHECK(world.pool_figures().in_use == kBytes);
    CHECK(world.arena_figures().in_use == kBytes);
    held.signal();
    world.wait();
    CHECK_FALSE(world.is_device_memory(memory));
    CHECK(world.pool_figures().in_use == 0);
    CHECK(world.arena_figures().in_use == 0);
}

TEST_CASE("an arena or pool that is destroyed keeps what is held until it is released, and goes then") {
    World world(0, true);
    auto* piece = static_cast<unsigned char*>(world.piece());
    const uint64_t of_pool = world.pool_piece();
    world.holds->hold(number(piece), *world.holder);
    world.holds->hold(of_pool, *world.holder);
    CHECK(gpo_arena_free(world.arena, piece) == GPO_SUCCESS);
    CHECK(gpo_pool_free(world.pool, world.stream, of_pool) == GPO_SUCCESS);
    CHECK(gpo_arena_destroy(world.arena) == GPO_SUCCESS);
    CHECK(gpo_pool_destroy(world.pool) == GPO_SUCCESS);
    recorder::clear();
    std::memset(piece, 1, kBytes);
    CHECK(world.is_device_memory(of_pool));
    CHECK(recorder::count(Function::cuMemFreeHost) + recorder::count(Function::cuMemPoolDestroy) == 0);
    world.holds->release(number(piece), *world.holder);
    world.holds->release(of_pool, *world.holder);
    world.wait();
    world.until([] { return recorder::count(Function::cuMemPoolDestroy) == 1; });
    world.until([] { return recorder::count(Function::cuMemFreeHost) == 1; });
    world.log.clear();
    world.shut_down();
    CHECK(world.log.find("never freed") == std::string::npos);
}

TEST_CASE("a shutdown frees what still waits, and reports only what the program never freed") {
    for (const bool destroyed : {false, true}) {
        CAPTURE(destroyed);
        World world(0, true);
        recorder::clear();
        const uint64_t memory = world.device_memory("weights"), of_pool = world.pool_piece();
        void *piece = world.piece(), *forgotten = world.piece();
        for (const uint64_t address : {memory, of_pool, number(piece)}) world.holds->hold(address, *world.holder);
        CHECK(gpo_memory_free(world.device, memory) == GPO_SUCCESS);
        CHECK(gpo_pool_free(world.pool, world.stream, of_pool) == GPO_SUCCESS);
        CHECK(gpo_arena_free_after(world.arena, piece, world.stream) == GPO_SUCCESS);
        if (destroyed) {
            CHECK(gpo_arena_destroy(world.arena) == GPO_SUCCESS);
            CHECK(gpo_pool_destroy(world.pool) == GPO_SUCCESS);
        }
        world.log.clear();
        world.shut_down();
        CHECK(world.log.find("arena `staging` with 4096 bytes in 1 pieces") != std::string::npos);
        CHECK(world.log.find("weights") == std::string::npos);
        CHECK(world.log.find("pool `scratch` with") == std::string::npos);
        CHECK(recorder::count(Function::cuMemAlloc) == 1);
        CHECK(recorder::count(Function::cuMemFreeAsync) == 1);
        CHECK(recorder::count(Function::cuStreamSynchronize) >= 1);   // the driver keeps the memory until then
        // cuMemFree frees the pool's piece: at this stage nothing is put on a stream.
        CHECK(recorder::count(Function::cuMemFree) == 1);
        CHECK(recorder::count(Function::cuMemFreeHost) == 1);
        CHECK(recorder::count(Function::cuMemPoolDestroy) == 1);
        static_cast<void>(forgotten);
    }
}

TEST_CASE("what waits when the device is lost goes without a call of the driver") {
    World world(0, true);
    const uint64_t memory = world.device_memory(), of_pool = world.pool_piece();
    void* piece = world.piece();
    for (const uint64_t address : {memory, of_pool, number(piece)}) world.holds->hold(address, *world.holder);
    CHECK(gpo_memory_free(world.device, memory) == GPO_SUCCESS);
    CHECK(gpo_pool_free(world.pool, world.stream, of_pool) == GPO_SUCCESS);
    CHECK(gpo_arena_free(world.arena, piece) == GPO_SUCCESS);
    CHECK(gpo_stream_wait(world.stream, kPatience) == GPO_SUCCESS);
    faults::arm({.function = Function::cuStreamQuery,
                 .kth = 1,
                 .result = CUDA_ERROR_ILLEGAL_ADDRESS,
                 .for_ever = true});
    CHECK(gpo_stream_query(world.stream) == GPO_DEVICE_LOST);
    faults::disarm();
    CHECK(world.holds->waiting_frees(*world.holder).frees == 3);
    recorder::clear();
    for (const uint64_t address : {memory, of_pool, number(piece)}) world.holds->release(address, *world.holder);
    world.until([&] { return world.arena_figures().in_use == 0; });
    CHECK(world.holds->waiting_frees(*world.holder).frees == 0);
    world.shut_down();
    CHECK(recorder::count(Function::cuMemFree) + recorder::count(Function::cuMemFreeAsync) +
              recorder::count(Function::cuMemFreeHost) == 0);
}

TEST_CASE("memory is freed once under every schedule, whoever holds, releases and frees it meanwhile") {
    size_t waited = 0, frees = 0;
    for (uint64_t seed = 1; seed <= 150; ++seed) {
        CAPTURE(seed);
        World world(seed);
        constexpr int kPieces = 6;
        void* pieces[kPieces];
        uint64_t of_pool[kPieces];
        for (void*& piece : pieces) piece = world.piece();
        for (uint64_t& piece : of_pool) piece = world.pool_piece();
        std::atomic<int> wrong{0};
        {
            std::vector<gpo::host::Thread> threads;
            for (Holder* holder : {world.holder.get(), world.other.get()})
                threads.emplace_back("holder", [&, holder] {
                    for (int i = 0; i < kPieces; ++i) {
                        const uint64_t piece = number(pieces[i]);
                        world.holds->hold(piece + 8, *holder);
                        world.holds->hold(of_pool[i], *holder);
                        world.holds->replace(piece + 8, piece + 16, *holder);
                        world.holds->release(of_pool[i], *holder);
                        world.holds->release(piece + 16, *holder);
                    }
                });
            threads.emplace_back("freer", [&] {
                for (int i = 0; i < kPieces; ++i) {
                    if (gpo_arena_free(world.arena, pieces[i]) != GPO_SUCCESS) ++wrong;
                    if (gpo_pool_free(world.pool, world.stream, of_pool[i]) != GPO_SUCCESS) ++wrong;
                    if (gpo_arena_free(world.arena, pieces[i]) != GPO_INVALID_ARGUMENT) ++wrong;
                    if (gpo_pool_free(world.pool, world.stream, of_pool[i]) != GPO_INVALID_ARGUMENT) ++wrong;
                }
            });
        }
        CHECK(wrong == 0);
        world.wait();
        CHECK_FALSE(world.holds->any());
        CHECK(world.arena_figures().in_use == 0);
        CHECK(world.arena_figures().frees == kPieces);
        CHECK(world.pool_figures().in_use == 0);
        CHECK(world.pool_figures().frees == kPieces);
        frees += 2 * kPieces;
        for (size_t at = 0; (at = world.log.find(" is freed when ", at)) != std::string::npos; ++at) ++waited;
    }
    CHECK(waited > frees / 20);
    CHECK(waited < frees - frees / 20);
}

TEST_CASE("a shutdown goes well under every schedule while the last hold is released") {
    for (uint64_t seed = 1; seed <= 150; ++seed) {
        CAPTURE(seed);
        World world(seed);
        const uint64_t memory = world.device_memory(), of_pool = world.pool_piece();
        void* piece = world.piece();
        for (const uint64_t address : {memory, of_pool, number(piece)}) world.holds->hold(address, *world.holder);
        REQUIRE(gpo_memory_free(world.device, memory) == GPO_SUCCESS);
        REQUIRE(gpo_pool_free(world.pool, world.stream, of_pool) == GPO_SUCCESS);
        REQUIRE(gpo_arena_free_after(world.arena, piece, world.stream) == GPO_SUCCESS);
        REQUIRE(gpo_arena_destroy(world.arena) == GPO_SUCCESS);
        REQUIRE(gpo_pool_destroy(world.pool) == GPO_SUCCESS);
        world.log.clear();
        {
            // The holder uses the runtime, like a graph with a last launch that ends late.
            gpo::host::Thread releasing("releasing", [&] {
                for (const uint64_t address : {memory, of_pool, number(piece)})
                    world.holds->release(address, *world.holder);
            });
            world.shut_down();
        }
        CHECK(world.log.find("never freed") == std::string::npos);
    }
}
