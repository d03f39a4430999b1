// The parameters that the driver gets for replayed operations, including parameters that memory doesn't show.
#include <doctest/doctest.h>

#include <atomic>
#include <memory>

#include "driver/driver.h"
#include "support/soft.h"

namespace {

using gpo::test::sized;

constexpr int64_t kPatience = 30'000'000'000;
constexpr int kManyTurns = 5000;   // enough to learn, even on a busy machine

decltype(gpo::driver::Table::cuGraphExecKernelNodeSetParams) set_params = nullptr;
std::atomic<uint32_t> given{0};        // bytes of dynamic shared memory of the last changed kernel node
std::atomic<uint32_t> changes{0};      // changes of kernel nodes so far
std::atomic<bool> refuses_next{false};

/// A software GPU that notes the dynamic shared memory given to a graph's kernel, and refuses a change on request.
struct NotingDriver final : gpo::driver::Driver {
    explicit NotingDriver(std::shared_ptr<Driver> soft) : soft_(std::move(soft)) {
        name = soft_->name;
        version = soft_->version;
        software = soft_->software;
        reports_faults = soft_->reports_faults;
        builtin_image = soft_->builtin_image;
        table = soft_->table;
        set_params = table.cuGraphExecKernelNodeSetParams;
        table.cuGraphExecKernelNodeSetParams = [](CUgraphExec exec, CUgraphNode node,
                                                  const CUDA_KERNEL_NODE_PARAMS* params) noexcept -> CUresult {
            if (refuses_next.exchange(false)) return CUDA_ERROR_OUT_OF_MEMORY;
            given = params->sharedMemBytes;
            ++changes;
            return set_params(exec, node, params);
        };
    }
    gpo::driver::Compiler& compiler() override { return soft_->compiler(); }

private:
    const std::shared_ptr<Driver> soft_;
};

struct Learning {
    Learning() {
        gpo::driver::set_interposer([](std::shared_ptr<gpo::driver::Driver> driver) {
            return std::make_shared<NotingDriver>(std::move(driver));
        });
        runtime = gpo::test::make_soft_runtime();
        REQUIRE(gpo_device_open(runtime, nullptr, &device) == GPO_SUCCESS);
        auto options = sized<gpo_stream_options>();
        options.flags = GPO_STREAM_LEARNS;
        REQUIRE(gpo_stream_create(device, &options, &stream) == GPO_SUCCESS);
        auto compile = sized<gpo_compile_options>();
        compile.source = "extern \"C\" __global__ void add(unsigned *word, unsigned by) { *word += by; }";
        gpo_module_t module = nullptr;
        REQUIRE(gpo_module_compile(device, &compile, &module) == GPO_SUCCESS);
        REQUIRE(gpo_module_get_kernel(module, "add", &add) == GPO_SUCCESS);
        REQUIRE(gpo_arena_create(device, nullptr, &arena) == GPO_SUCCESS);
        void* pinned = nullptr;
        REQUIRE(gpo_arena_allocate(arena, 64, 0, &pinned) == GPO_SUCCESS);
        word = static_cast<uint32_t*>(pinned);
        *word = 0;
    }
    ~Learning() {
        CHECK(gpo_runtime_shutdown(runtime, kPatience) == GPO_SUCCESS);
        gpo::driver::set_interposer({});
    }
    Learning(const Learning&) = delete;
    Learning& operator=(const Learning&) = delete;

    void put(uint32_t shared_bytes, uint32_t by) const {
        auto shape = sized<gpo_launch>();
        for (int i = 0; i < 3; ++i) shape.grid[i] = shape.block[i] = 1;
        shape.dynamic_shared_bytes = shared_bytes;
        const void* arguments[] = {&word, &by};
        REQUIRE(gpo_stream_launch_kernel(stream, add, &shape, arguments, nullptr, 2) == GPO_SUCCESS);
    }
    /// Repeats such turns until one is replayed.
    void replay(uint32_t shared_bytes) const {
        for (int i = 0; i < kManyTurns; ++i)
            if (turn(shared_bytes)) return;
        FAIL("nothing was replayed");
    }
    /// Two kernels, the first with this much dynamic shared memory. True: they were replayed.
    bool turn(uint32_t shared_bytes, uint32_t by = 1) const {
        const uint64_t before = replayed();
        put(shared_bytes, by);
        put(64, 1);
        REQUIRE(gpo_stream_wait(stream, kPatience) == GPO_SUCCESS);
        return replayed() > before;
    }
    uint64_t replayed() const {
        auto info = sized<gpo_stream_info>();
        REQUIRE(gpo_stream_get_info(stream, &info) == GPO_SUCCESS);
        return info.replayed;
    }

    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_stream_t stream = nullptr;
    gpo_kernel_t add = nullptr;
    gpo_arena_t arena = nullptr;
    uint32_t* word = nullptr;
};

}  // namespace

TEST_CASE("a kernel of which only the dynamic shared memory changes is replayed with the new one") {
    Learning learning;
    // The machine's other work decides which turns are replayed.
    int replays = 0;
    bool before = false;
    for (int i = 1; i <= kManyTurns && replays < 4; ++i) {
        const uint32_t bytes = 256 * (1 + i % 2);
        const bool replayed = learning.turn(bytes);
        if (replayed && before) {
            CHECK(given == bytes);
            ++replays;
        }
        before = replayed;
    }
    CHECK(replays == 4);
}

TEST_CASE("a change that came in a sequence which was broken isn't lost, and what stays as it is isn't given again") {
    Learning learning;
    int replays = 0;
    for (int i = 0; i < kManyTurns && replays < 4; ++i) {
        learning.replay(256);
        learning.put(512, 1);
        REQUIRE(gpo_stream_wait(learning.stream, kPatience) == GPO_SUCCESS);
        const uint32_t before = changes;
        if (!learning.turn(512)) continue;
        CHECK(changes == before + 1);
        CHECK(given == 512);
        if (learning.turn(512)) CHECK(changes == before + 1);
        ++replays;
    }
    CHECK(replays == 4);
}

TEST_CASE("where the driver refuses a change, the operations run once each, and the stream learns again") {
    Learning learning;
    uint32_t refusals = 0;
    for (int i = 0; i < kManyTurns && refusals == 0; ++i) {
        learning.replay(256);
        const uint32_t before = *learning.word;
        refuses_next = true;
        CHECK_FALSE(learning.turn(512, 10));
        refusals += !refuses_next.exchange(false);
        CHECK(*learning.word == before + 11);
    }
    REQUIRE(refusals == 1);
    learning.replay(512);
}
