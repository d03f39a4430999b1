// Driver calls of the library, as recorded: none where a piece of an arena fits, only the necessary ones for a warm
// operation, and no changes by a refused call.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "conformance/negative.h"
#include "driver/driver.h"
#include "driver/faults.h"
#include "driver/call_recorder.h"
#include "support/gpu.h"

using namespace gpo::test;
namespace recorder = gpo::driver::recorder;
using gpo::driver::Function;

namespace {

/// Records the calls of drivers opened during its life; the destructor restores this program's usual interposer.
struct Recording {
    Recording() {
        gpo::driver::set_interposer(
            [](std::shared_ptr<gpo::driver::Driver> driver) { return recorder::wrap(std::move(driver)); });
    }
    ~Recording() {
        gpo::driver::set_interposer(
            [](std::shared_ptr<gpo::driver::Driver> driver) { return gpo::driver::faults::wrap(std::move(driver)); });
    }
};

/// Waits until no driver call was recorded for a while, and clears the record. If there is a stream, the scanner may
/// still query the driver later; no test in this file mistakes such a query for one of a tested call.
void wait_for_quiet() {
    uint64_t before;
    do {
        before = recorder::count();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    } while (recorder::count() != before);
    recorder::clear();
}

std::set<std::string> functions_called() {
    std::set<std::string> names;
    for (const auto& call : recorder::calls()) names.insert(gpo::driver::function_name(call.function));
    return names;
}

/// Functions that only query, or that change only the state of the calling thread, which the library's call restores.
const std::set<std::string> kQuestions{"cuCtxGetId",
                                       "cuCtxGetCurrent",
                                       "cuCtxPushCurrent",
                                       "cuCtxPopCurrent",
                                       "cuThreadExchangeStreamCaptureMode",
                                       "cuDeviceGet",
                                       "cuDeviceGetCount",
                                       "cuDeviceGetAttribute",
                                       "cuDeviceCanAccessPeer",
                                       "cuPointerGetAttribute",
                                       "cuPointerGetAttributes",
                                       "cuFuncGetAttribute",
                                       "cuFuncGetParamInfo",
                                       "cuStreamIsCapturing",
                                       "cuStreamQuery",
                                       "cuEventQuery",
                                       "cuMemGetInfo",
                                       "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                                       "cuCtxGetStreamPriorityRange",
                                       "cuMemGetAddressRange",
                                       "cuCtxGetLimit",
                                       "cuGetErrorName",
                                       "cuGetErrorString",
                                       "cuFuncGetName",
                                       "cuModuleEnumerateFunctions",
                                       "cuModuleGetFunctionCount",
                                       "cuStreamGetPriority"};

/// Functions that, even when refused, first create something: a runtime its driver, a pipeline a stream.
const std::set<std::string> kMakes{"gpo_runtime_create", "gpo_device_open", "gpo_module_compile",
                                   "gpo_pipeline_create"};

}  // namespace

TEST_CASE("pieces of an arena that fit reach no driver, from any thread") {
    const Recording recording;
    Gpu gpu;
    gpo_arena_t arena = gpu.arena();
    void* first = nullptr;
    REQUIRE_OK(gpo_arena_allocate(arena, 100, 0, &first));   // a slab
    wait_for_quiet();
    const auto work = [&] {
        std::vector<void*> pieces;
        for (int i = 0; i < 500; ++i) {
            void* piece = nullptr;
            REQUIRE_OK(gpo_arena_allocate(arena, 64 + static_cast<uint64_t>(i % 7) * 100, 0, &piece));
            pieces.push_back(piece);
            if (i % 3 == 0) {
                REQUIRE_OK(gpo_arena_free(arena, pieces.front()));
                pieces.erase(pieces.begin());
            }
        }
        for (void* piece : pieces) REQUIRE_OK(gpo_arena_free(arena, piece));
    };
    std::thread other(work);
    work();
    other.join();
    CHECK(functions_called() == std::set<std::string>{});
    REQUIRE_OK(gpo_arena_free(arena, first));
}

TEST_CASE("operations on a warm stream cost their own driver calls and nothing that serialises") {
    const Recording recording;
    Gpu gpu;
    Stream stream = gpu.stream();
    Queue queue = gpu.queue(256);
    Memory memory = gpu.memory(4096);
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(1024);
    Module module;
    Kernel fill;
    REQUIRE_OK(gpo_module_load_builtin(gpu.device, module.out()));
    REQUIRE_OK(gpo_module_get_kernel(module, "gpo_fill_u32", fill.out()));
    const auto round = [&](uint64_t number) {
        REQUIRE_OK(gpo_copy_to_device(stream, memory, words.data(), 4096));
        REQUIRE_OK(launch(stream, fill, 1, 64, uint64_t{memory}, uint32_t{7}, uint64_t{1024}));
        REQUIRE_OK(gpo_copy_to_host(stream, words.data(), memory, 4096));
        REQUIRE_OK(gpo_stream_notify(stream, queue, number));
        take(queue, 1);
    };
    for (uint64_t i = 0; i < 50; ++i) round(i);
    wait_for_quiet();
    constexpr uint64_t kRounds = 100;
    for (uint64_t i = 0; i < kRounds; ++i) round(i);
    CHECK(recorder::count(Function::cuLaunchKernelEx) + recorder::count(Function::cuLaunchKernel) == kRounds);
    CHECK(recorder::count(Function::cuEventRecord) == kRounds);
    CHECK(recorder::count(Function::cuMemcpyHtoDAsync) == kRounds);
    CHECK(recorder::count(Function::cuMemcpyDtoHAsync) == kRounds);
    std::set<std::string> others = functions_called();
    for (const char* own :
         {"cuLaunchKernelEx", "cuLaunchKernel", "cuEventRecord", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"})
        others.erase(own);
    for (const std::string& function : others) {
        CAPTURE(function);
        CHECK(kQuestions.count(function) == 1);
    }
}

TEST_CASE("a call that is refused has asked the driver at most, or was refused by it") {
    const Recording recording;
    World world;
    REQUIRE_OK(gpo_stream_wait(world.stream, kPatience));
    for (const Row& row : rows_for(world)) {
        if (kMakes.count(row.function) != 0) continue;
        CAPTURE(row.function);
        CAPTURE(row.wrong);
        wait_for_quiet();
        CHECK_STATUS(row.expected, row.call(world));
        for (const auto& call : recorder::calls()) {
            const std::string function = gpo::driver::function_name(call.function);
            CAPTURE(function);
            CHECK((kQuestions.count(function) == 1 || call.result != CUDA_SUCCESS));
        }
    }
}
