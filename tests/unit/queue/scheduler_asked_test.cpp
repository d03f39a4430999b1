// Requests to a scheduler despite the driver: the write of one thread's request may reach the device after another
// thread's later request, or never.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "driver/wrapper.h"
#include "gpuorch/gpuorch.h"
#include "support/soft.h"

namespace {

using gpo::driver::Function;
using gpo::test::sized;

constexpr int64_t kPatience = 30'000'000'000;

void await(const std::atomic<bool>& flag) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kPatience);
    while (!flag && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
}

/// Holds up one stream write of a device word when armed; or refuses all such writes.
struct LateWrite {
    template <class Call>
    static CUresult around(Function function, Call&& call) noexcept {
        if (function == Function::cuStreamWriteValue32 && armed.exchange(false)) {
            held = true;
            await(let_go);
        }
        if (function == Function::cuStreamWriteValue32 && refuses) return CUDA_ERROR_OUT_OF_MEMORY;
        return call();
    }
    static inline std::atomic<bool> refuses{false}, armed{false}, held{false}, let_go{false};
};

struct LateWrites {
    LateWrites() {
        LateWrite::refuses = LateWrite::armed = LateWrite::held = LateWrite::let_go = false;
        gpo::driver::set_interposer([](std::shared_ptr<gpo::driver::Driver> driver) {
            return std::make_shared<gpo::driver::Wrapper<LateWrite>>(std::move(driver));
        });
    }
    ~LateWrites() { gpo::driver::set_interposer({}); }
};

constexpr const char* kGate = R"(
#include <gpuorch/device/scheduler.cuh>
struct number_task { unsigned handler, number, rest[2]; };
__device__ int wait_for_host(gpo::task_context &at, const number_task &) {
    volatile unsigned *const words = at.argument<volatile unsigned>();
    if (at.thread() == 0) atomicAdd((unsigned *)&words[1], 1u);
    while (words[0] == 0) { }
    return 0;
}
)";

/// A scheduler with one worker, busy with the first of two tasks; the task waits for the host.
struct Serving : private LateWrites, gpo::test::SoftRuntime {
    Serving() {
        gpo_arena_t arena = nullptr;
        REQUIRE(gpo_arena_create(device, nullptr, &arena) == GPO_SUCCESS);
        void* memory = nullptr;
        REQUIRE(gpo_arena_allocate(arena, 2 * sizeof *words, 0, &memory) == GPO_SUCCESS);
        words = static_cast<unsigned*>(memory);
        words[0] = words[1] = 0;
        auto of_ring = sized<gpo_queue_options>();
        of_ring.kind = GPO_QUEUE_RING;
        of_ring.capacity = 64;
        of_ring.task_size = 16;
        gpo_queue_t ring = nullptr;
        REQUIRE(gpo_queue_create(device, &of_ring, &ring) == GPO_SUCCESS);
        auto options = sized<gpo_scheduler_options>();
        options.form = GPO_SCHEDULER_RESIDENT;
        options.queue = ring;
        options.source = kGate;
        options.threads = 32;
        options.multiprocessors = 1;
        options.argument = reinterpret_cast<uint64_t>(words);
        auto handler = sized<gpo_handler>();
        handler.name = "wait_for_host";
        REQUIRE(gpo_scheduler_create(device, &options, &handler, sizeof handler, 1, &scheduler) == GPO_SUCCESS);
        const gpo_stream_t plain = stream();
        const uint32_t tasks[8] = {};
        REQUIRE(gpo_queue_push(ring, plain, tasks, 2, 0) == GPO_SUCCESS);
        REQUIRE(gpo_stream_wait(plain, kPatience) == GPO_SUCCESS);
        REQUIRE(gpo_scheduler_start(scheduler) == GPO_SUCCESS);
        while (begun() == 0) std::this_thread::yield();
    }
    ~Serving() { open(); }
    unsigned begun() const { return __atomic_load_n(&words[1], __ATOMIC_SEQ_CST); }
    void open() { __atomic_store_n(&words[0], 1u, __ATOMIC_SEQ_CST); }

    unsigned* words = nullptr;
    gpo_scheduler_t scheduler = nullptr;
};

}  // namespace

TEST_CASE("a scheduler that one thread drains and another stops is stopped, though the drain's write comes last") {
    Serving serving;
    LateWrite::armed = true;
    gpo_status drained = GPO_INTERNAL;
    std::thread drains([&] { drained = gpo_scheduler_drain(serving.scheduler, 0); });
    await(LateWrite::held);
    REQUIRE(LateWrite::held);
    CHECK(gpo_scheduler_stop(serving.scheduler, 0) == GPO_TIMEOUT);
    LateWrite::let_go = true;
    drains.join();
    CHECK(drained == GPO_TIMEOUT);
    serving.open();
    CHECK(gpo_scheduler_wait(serving.scheduler, kPatience) == GPO_SUCCESS);
    auto info = sized<gpo_scheduler_info>();
    REQUIRE(gpo_scheduler_get_info(serving.scheduler, &info) == GPO_SUCCESS);
    CHECK(info.last_end == GPO_CANCELLED);
    CHECK(info.tasks == 1);
    CHECK(info.depth == 1);
    CHECK(serving.begun() == 1);
}

TEST_CASE("a scheduler is stopped though the driver refuses to write to the device") {
    Serving serving;
    LateWrite::refuses = true;
    CHECK(gpo_scheduler_stop(serving.scheduler, kPatience) == GPO_OUT_OF_MEMORY);
    serving.open();
    CHECK(gpo_scheduler_wait(serving.scheduler, kPatience) == GPO_SUCCESS);
    auto info = sized<gpo_scheduler_info>();
    REQUIRE(gpo_scheduler_get_info(serving.scheduler, &info) == GPO_SUCCESS);
    CHECK(info.last_end == GPO_CANCELLED);
    LateWrite::refuses = false;
}
