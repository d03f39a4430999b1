// The software GPU when a kernel fails, when contexts are destroyed, and when it is closed, opened again or forked.
#include "unit/softgpu/softgpu.h"

#include <dirent.h>
#include <sys/wait.h>

#include <algorithm>
#include <thread>

#include "support/explore.h"

using namespace softgpu_test;

TEST_CASE("a failing kernel takes every device along, and the failure names it exactly") {
    Setting two("GPUORCH_SOFT_DEVICES", "2");
    Gpu gpu;
    gpu.live = false;
    CUcontext other = nullptr;
    OK(gpu.cu->cuDevicePrimaryCtxRetain(&other, 1));
    const CUstream bad = gpu.stream(), spinning = gpu.stream();
    OK(gpu.cu->cuCtxSetCurrent(other));
    const CUstream remote = gpu.stream();
    const CUevent event = gpu.event();
    OK(gpu.cu->cuCtxSetCurrent(gpu.context));
    uint32_t* words = gpu.pinned(4);
    bool called = false;
    Gate gate(gpu, spinning);
    gate.wait_until_begun();
    OK(gpu.launch(bad, "count", words));
    OK(gpu.launch(bad, "fail_when", words + 1, int(CUDA_ERROR_LAUNCH_FAILED)));
    OK(gpu.launch(bad, "count", words + 2));
    OK(gpu.cu->cuLaunchHostFunc(bad, [](void* data) { *static_cast<bool*>(data) = true; }, &called));
    CHECK(gpu.driver->submitted(bad) == 4);
    CHECK(!gpu.driver->fault());
    __atomic_store_n(words + 1, 1u, __ATOMIC_RELEASE);
    IS(gpu.cu->cuStreamSynchronize(bad), CUDA_ERROR_LAUNCH_FAILED);
    IS(gpu.cu->cuStreamSynchronize(spinning), CUDA_ERROR_LAUNCH_FAILED);   // stopped
    IS(gpu.cu->cuStreamQuery(remote), CUDA_ERROR_LAUNCH_FAILED);
    IS(gpu.cu->cuEventQuery(event), CUDA_ERROR_LAUNCH_FAILED);
    OK(gpu.cu->cuCtxSetCurrent(other));
    CUdeviceptr memory = 0;
    IS(gpu.cu->cuMemAlloc(&memory, 16), CUDA_ERROR_LAUNCH_FAILED);
    IS(gpu.cu->cuEventRecord(event, remote), CUDA_ERROR_LAUNCH_FAILED);
    OK(gpu.cu->cuCtxSetCurrent(gpu.context));
    CHECK(words[0] == 1);
    CHECK(words[2] == 0);
    CHECK(!called);
    const auto fault = gpu.driver->fault();
    REQUIRE(fault);
    CHECK(fault->result == CUDA_ERROR_LAUNCH_FAILED);
    CHECK(fault->stream == bad);
    CHECK(fault->number == 2);
    CHECK(fault->kernel == "fail_when");
    CHECK(fault->text.find("it was asked to") != std::string::npos);
    // After the failure, a context's id and device attributes can still be queried, and objects can be destroyed.
    unsigned long long id = 0;
    OK(gpu.cu->cuCtxGetId(gpu.context, &id));
    int count = 0;
    OK(gpu.cu->cuDeviceGetCount(&count));
    gpu.cu->cuStreamDestroy(bad);
    gpu.cu->cuStreamDestroy(remote);
    gpu.cu->cuEventDestroy(event);
    gpu.cu->cuMemFreeHost(words);
    gpu.cu->cuDevicePrimaryCtxRelease(1);
}

TEST_CASE("assert and illegal address keep their codes, and the first failure wins") {
    for (const CUresult code : {CUDA_ERROR_ASSERT, CUDA_ERROR_ILLEGAL_ADDRESS}) {
        Gpu gpu;
        gpu.live = false;
        const CUstream a = gpu.stream(), b = gpu.stream();
        uint32_t* words = gpu.pinned(2);
        OK(gpu.launch(b, "fail_when", words + 1, int(CUDA_ERROR_LAUNCH_FAILED)));
        OK(gpu.launch(a, "fail_when", words, int(code)));
        __atomic_store_n(words, 1u, __ATOMIC_RELEASE);
        IS(gpu.cu->cuStreamSynchronize(a), code);
        __atomic_store_n(words + 1, 1u, __ATOMIC_RELEASE);
        IS(gpu.cu->cuStreamSynchronize(b), code);
        REQUIRE(gpu.driver->fault());
        CHECK(gpu.driver->fault()->stream == a);
    }
}

TEST_CASE("waits on events, values and streams all return when the devices are lost") {
    Gpu gpu;
    gpu.live = false;
    const CUstream bad = gpu.stream(), value = gpu.stream(), follower = gpu.stream();
    const CUevent event = gpu.event();
    uint32_t* words = gpu.pinned(4);
    OK(gpu.launch(bad, "fail_when", words, int(CUDA_ERROR_ASSERT)));
    OK(gpu.cu->cuStreamWaitValue32(value, reinterpret_cast<CUdeviceptr>(words + 1), 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(gpu.cu->cuEventRecord(event, value));
    OK(gpu.cu->cuStreamWaitEvent(follower, event, 0));
    std::vector<CUresult> results(3, CUDA_SUCCESS);
    std::vector<std::thread> waiters;
    for (int i = 0; i < 3; ++i)
        waiters.emplace_back([&, i] {
            gpu.cu->cuCtxSetCurrent(gpu.context);
            results[size_t(i)] = i == 0   ? gpu.cu->cuStreamSynchronize(value)
                                 : i == 1 ? gpu.cu->cuStreamSynchronize(follower)
                                          : gpu.cu->cuEventSynchronize(event);
        });
    __atomic_store_n(words, 1u, __ATOMIC_RELEASE);
    for (auto& waiter : waiters) waiter.join();
    for (const CUresult result : results) CHECK(result == CUDA_ERROR_ASSERT);
}

TEST_CASE("whoever asks while the devices are being lost never hears that what was left undone is done") {
    for (int round = 0; round < 200; ++round) {
        Gpu gpu;
        gpu.live = false;
        const CUstream stream = gpu.stream();
        const CUevent before = gpu.event(CU_EVENT_DEFAULT), behind = gpu.event(CU_EVENT_DEFAULT);
        uint32_t* words = gpu.pinned(1);
        OK(gpu.cu->cuEventRecord(before, stream));
        OK(gpu.launch(stream, "fail_when", words, int(CUDA_ERROR_ASSERT)));
        OK(gpu.cu->cuEventRecord(behind, stream));
        std::vector<CUresult> results(3, CUDA_SUCCESS);
        std::vector<std::thread> askers;
        for (int i = 0; i < 3; ++i)
            askers.emplace_back([&, i] {
                gpu.cu->cuCtxSetCurrent(gpu.context);
                float milliseconds = 0;
                CUresult& result = results[size_t(i)];
                do
                    result = i == 0   ? gpu.cu->cuEventQuery(behind)
                             : i == 1 ? gpu.cu->cuStreamQuery(stream)
                                      : gpu.cu->cuEventElapsedTime(&milliseconds, before, behind);
                while (result == CUDA_ERROR_NOT_READY);
            });
        __atomic_store_n(words, 1u, __ATOMIC_RELEASE);
        for (auto& asker : askers) asker.join();
        for (const CUresult result : results) REQUIRE(result == CUDA_ERROR_ASSERT);
    }
}

TEST_CASE("a failure ends with its software GPU: the next one works") {
    {
        Gpu gpu;
        gpu.live = false;
        const CUstream stream = gpu.stream();
        uint32_t* words = gpu.pinned(1);
        words[0] = 1;
        OK(gpu.launch(stream, "fail_when", words, int(CUDA_ERROR_ASSERT)));
        IS(gpu.cu->cuStreamSynchronize(stream), CUDA_ERROR_ASSERT);
    }
    Gpu gpu;
    CHECK(!gpu.driver->fault());
    const CUstream stream = gpu.stream();
    IS(gpu.cu->cuStreamSynchronize(stream), CUDA_SUCCESS);
}

TEST_CASE("contexts: the stack of each thread, identities, and what a destroyed one says") {
    Gpu gpu;
    CUcontext popped = nullptr, current = nullptr, mine = nullptr;
    OK(gpu.cu->cuCtxCreate(&mine, 0, 0));
    OK(gpu.cu->cuCtxGetCurrent(&current));
    CHECK(current == mine);
    OK(gpu.cu->cuCtxPushCurrent(gpu.context));
    OK(gpu.cu->cuCtxPopCurrent(&popped));
    CHECK(popped == gpu.context);
    unsigned long long first = 0, second = 0, primary = 0;
    OK(gpu.cu->cuCtxGetId(nullptr, &first));
    OK(gpu.cu->cuCtxGetId(gpu.context, &primary));
    CHECK(first != primary);
    const CUstream stream = gpu.stream();
    const CUevent event = gpu.event();
    OK(gpu.cu->cuCtxDestroy(mine));   // was current: popped too
    OK(gpu.cu->cuCtxGetCurrent(&current));
    CHECK(current == gpu.context);
    IS(gpu.cu->cuCtxGetId(mine, &first), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    IS(gpu.cu->cuCtxDestroy(mine), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    IS(gpu.cu->cuCtxSetCurrent(mine), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    IS(gpu.cu->cuCtxSetCurrent(reinterpret_cast<CUcontext>(uintptr_t(77))), CUDA_ERROR_INVALID_CONTEXT);
    IS(gpu.cu->cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    IS(gpu.cu->cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
    // The primary context is the same handle in its next life, with another identity.
    OK(gpu.cu->cuDevicePrimaryCtxRelease(0));
    IS(gpu.cu->cuCtxGetId(gpu.context, &second), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    CUstream none = nullptr;
    IS(gpu.cu->cuStreamCreateWithPriority(&none, 0, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    IS(gpu.cu->cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
    CUcontext again = nullptr;
    OK(gpu.cu->cuDevicePrimaryCtxRetain(&again, 0));
    CHECK(again == gpu.context);
    OK(gpu.cu->cuCtxGetId(again, &second));
    CHECK(second != primary);
    unsigned flags = 9;
    int active = 0;
    OK(gpu.cu->cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK((active == 1 && flags == 0));
}

TEST_CASE("who retains the primary context while it ends waits for the end, and has a new one") {
    Gpu gpu;
    unsigned long long first = 0, second = 0;
    OK(gpu.cu->cuCtxGetId(gpu.context, &first));
    std::atomic<unsigned> begun{0}, go{0};
    OK(gpu.launch(gpu.stream(), "wait_for", &begun, &go));
    while (!begun.load()) std::this_thread::yield();
    CUresult released = CUDA_ERROR_UNKNOWN, retained = CUDA_ERROR_UNKNOWN;
    std::atomic<bool> has{false};
    std::thread releases([&] { released = gpu.cu->cuDevicePrimaryCtxRelease(0); });
    unsigned flags = 0;
    for (int active = 1; active;) OK(gpu.cu->cuDevicePrimaryCtxGetState(0, &flags, &active));
    std::thread retains([&] {
        CUcontext again = nullptr;
        retained = gpu.cu->cuDevicePrimaryCtxRetain(&again, 0);
        has.store(true);
    });
    usleep(20'000);
    CHECK_FALSE(has.load());
    go.store(1);
    releases.join();
    retains.join();
    CHECK(released == CUDA_SUCCESS);
    REQUIRE(retained == CUDA_SUCCESS);
    OK(gpu.cu->cuCtxGetId(gpu.context, &second));
    CHECK(second != first);
    gpu.stream();
}

TEST_CASE("a primary context that was retained lives, though other threads retain it and give it up") {
    gpo::test::explore(300, [] {
        Gpu gpu;
        OK(gpu.cu->cuDevicePrimaryCtxRelease(0));
        int wrong = 0;
        {
            std::vector<gpo::host::Thread> threads;
            for (int t = 0; t < 2; ++t)
                threads.emplace_back("holder", [&] {
                    for (int i = 0; i < 3; ++i) {
                        CUcontext context = nullptr;
                        CUstream stream = nullptr;
                        wrong += gpu.cu->cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS;
                        wrong += gpu.cu->cuCtxSetCurrent(context) != CUDA_SUCCESS;
                        wrong += gpu.cu->cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS;
                        wrong += gpu.cu->cuDevicePrimaryCtxRelease(0) != CUDA_SUCCESS;
                    }
                });
        }
        CHECK(wrong == 0);
        CUcontext again = nullptr;
        OK(gpu.cu->cuDevicePrimaryCtxRetain(&again, 0));
    });
}

TEST_CASE("without a current context, calls that need one say so") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    const CUevent event = gpu.event();
    OK(gpu.cu->cuCtxSetCurrent(nullptr));
    OK(gpu.cu->cuEventRecord(event, stream));   // the next two calls don't
    while (gpu.cu->cuEventQuery(event) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
    OK(gpu.cu->cuEventQuery(event));
    IS(gpu.cu->cuEventRecord(event, nullptr), CUDA_ERROR_INVALID_CONTEXT);
    CUdeviceptr memory = 0;
    IS(gpu.cu->cuMemAlloc(&memory, 16), CUDA_ERROR_INVALID_CONTEXT);
    IS(gpu.cu->cuStreamSynchronize(nullptr), CUDA_ERROR_INVALID_CONTEXT);
    IS(gpu.cu->cuStreamQuery(stream), CUDA_ERROR_INVALID_CONTEXT);
    CUcontext popped = nullptr;
    IS(gpu.cu->cuCtxPopCurrent(&popped), CUDA_ERROR_INVALID_CONTEXT);
    OK(gpu.cu->cuStreamDestroy(stream));
    OK(gpu.cu->cuCtxSetCurrent(gpu.context));
}

TEST_CASE("limits are kept, and unknown ones refused") {
    Gpu gpu;
    size_t value = 0;
    OK(gpu.cu->cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    OK(gpu.cu->cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    CHECK(value == 4096);
    IS(gpu.cu->cuCtxSetLimit(CU_LIMIT_STACK_SIZE, size_t(1) << 40), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuCtxGetLimit(&value, CU_LIMIT_MAX), CUDA_ERROR_UNSUPPORTED_LIMIT);
}

TEST_CASE("a context that is destroyed while its streams wait drops what they have not begun") {
    Gpu gpu;
    CUcontext mine = nullptr;
    OK(gpu.cu->cuCtxCreate(&mine, 0, 0));
    const CUstream stream = gpu.stream(), follower = gpu.stream();
    const CUevent event = gpu.event();
    uint32_t* words = gpu.pinned(1);
    OK(gpu.cu->cuStreamWaitValue32(stream, reinterpret_cast<CUdeviceptr>(words), 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(gpu.cu->cuEventRecord(event, stream));
    OK(gpu.cu->cuStreamWaitEvent(follower, event, 0));
    OK(gpu.cu->cuCtxDestroy(mine));
    const CUstream next = gpu.stream();
    OK(gpu.cu->cuStreamSynchronize(next));
}

namespace {

size_t entries_of(const char* folder) {
    DIR* opened = opendir(folder);
    REQUIRE(opened != nullptr);
    size_t count = 0;
    while (readdir(opened)) ++count;
    closedir(opened);
    return count;
}

}  // namespace

TEST_CASE("opening, using and closing leaves no thread and no descriptor behind") {
    { Gpu gpu; }
    const size_t threads = entries_of("/proc/self/task"), descriptors = entries_of("/proc/self/fd");
    for (int i = 0; i < 50; ++i) {
        Gpu gpu;
        const CUstream stream = gpu.stream();
        uint32_t* words = gpu.pinned(1);
        OK(gpu.launch(stream, "count", words));
        OK(gpu.cu->cuMemAlloc(reinterpret_cast<CUdeviceptr*>(&words), 1 << 20));
        // Closed with the kernel maybe running, the memory not freed, the stream not destroyed.
    }
    CHECK(entries_of("/proc/self/task") == threads);
    CHECK(entries_of("/proc/self/fd") == descriptors);
}

TEST_CASE("handles and current contexts of a closed software GPU are stale in the next one") {
    CUstream stream = nullptr;
    CUcontext context = nullptr;
    {
        auto driver = gpo::driver::open_soft(nullptr);
        REQUIRE(driver);
        OK(driver->table.cuDevicePrimaryCtxRetain(&context, 0));
        OK(driver->table.cuCtxSetCurrent(context));
        OK(driver->table.cuStreamCreateWithPriority(&stream, 0, 0));
    }
    Gpu gpu;
    IS(gpu.cu->cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    unsigned long long id = 0;
    CHECK(gpu.cu->cuCtxGetId(context, &id) != CUDA_SUCCESS);
}

TEST_CASE("there is one software GPU for all who ask, and it closes with work in flight") {
    auto first = gpo::driver::open_soft(nullptr);
    auto second = gpo::driver::open_soft(nullptr);
    CHECK(first == second);
    first.reset();
    const auto& cu = second->table;
    CUcontext context = nullptr;
    OK(cu.cuDevicePrimaryCtxRetain(&context, 0));
    OK(cu.cuCtxSetCurrent(context));
    CUstream stream = nullptr;
    OK(cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
    const std::vector<char> image = kernel_image();
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    OK(cu.cuModuleLoadDataEx(&module, image.data(), 0, nullptr, nullptr));
    OK(cu.cuModuleGetFunction(&function, module, "wait_for"));
    static uint32_t words[2];
    uint32_t *begun = words, *go = words + 1;
    void* parameters[] = {&begun, &go};
    OK(cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
    OK(cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
    second.reset();   // a kernel that would never end is stopped
    CHECK(words[1] == 0);
}

TEST_CASE("settings that make no sense are refused with a sentence") {
    for (const auto& [name, value] : {std::pair{"GPUORCH_SOFT_DEVICES", "0"}, {"GPUORCH_SOFT_DEVICES", "65"},
                                      {"GPUORCH_SOFT_DEVICES", "two"}, {"GPUORCH_SOFT_MEMORY", "-1"},
                                      {"GPUORCH_SOFT_RATES", "h2d=fast"}, {"GPUORCH_SOFT_RATES", "warp=9"}}) {
        Setting setting(name, value);
        std::string why;
        CHECK(gpo::driver::open_soft(&why) == nullptr);
        CHECK(why.find(name) != std::string::npos);
    }
}

TEST_CASE("in a forked child every call says that nothing is initialised, and the child exits cleanly") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        CUdeviceptr memory = 0;
        int wrong = 0;
        wrong += gpu.cu->cuStreamQuery(stream) != CUDA_ERROR_NOT_INITIALIZED;
        wrong += gpu.cu->cuMemAlloc(&memory, 16) != CUDA_ERROR_NOT_INITIALIZED;
        wrong += gpu.cu->cuStreamSynchronize(stream) != CUDA_ERROR_NOT_INITIALIZED;
        wrong += gpo::driver::open_soft(nullptr) != nullptr;
        gpu.driver.reset();
        _exit(wrong);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    IS(gpu.cu->cuStreamSynchronize(stream), CUDA_SUCCESS);
}

TEST_CASE("errors have CUDA's names") {
    Gpu gpu;
    const char* text = nullptr;
    OK(gpu.cu->cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    CHECK(std::string(text) == "CUDA_ERROR_ILLEGAL_ADDRESS");
    OK(gpu.cu->cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    CHECK(std::string(text) == "an illegal memory access was encountered");
    IS(gpu.cu->cuGetErrorName(CUresult(123456), &text), CUDA_ERROR_INVALID_VALUE);
    CHECK(text == nullptr);
}

TEST_CASE("every entry of the table is filled") {
    Gpu gpu;
    int missing = 0;
#define X(name, version, need) missing += gpu.cu->name == nullptr;
    GPO_DRIVER_FUNCTIONS(X, X)
#undef X
    CHECK(missing == 0);
}

TEST_CASE("a thread's stack of contexts is as deep as it is made, and each thread has its own") {
    Gpu gpu;
    constexpr int kDepth = 40;
    const auto walk = [&](CUcontext at_the_bottom) {
        CUcontext contexts[] = {gpu.context, nullptr};
        OK(gpu.cu->cuCtxCreate(&contexts[1], 0, 0));
        CUcontext popped = nullptr;
        OK(gpu.cu->cuCtxPopCurrent(&popped));
        for (int round = 0; round < 2; ++round) {
            for (int i = 0; i < kDepth; ++i) OK(gpu.cu->cuCtxPushCurrent(contexts[i % 3 == 0]));
            for (int i = kDepth; i-- > 0;) {
                OK(gpu.cu->cuCtxPopCurrent(&popped));
                CHECK(popped == contexts[i % 3 == 0]);
            }
        }
        CUcontext current = nullptr;
        OK(gpu.cu->cuCtxGetCurrent(&current));
        CHECK(current == at_the_bottom);
        for (int i = 0; i < kDepth; ++i)
            OK(gpu.cu->cuCtxPushCurrent(gpu.context));  // of the other thread, and end with the thread
        OK(gpu.cu->cuCtxDestroy(contexts[1]));
    };
    std::thread(walk, nullptr).join();
    walk(gpu.context);
    CUcontext popped = nullptr;
    for (int i = 0; i < kDepth; ++i) OK(gpu.cu->cuCtxPopCurrent(&popped));
}
