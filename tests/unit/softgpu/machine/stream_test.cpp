// Streams and events of the software GPU: order, overlap, queries, refusals.
#include "unit/softgpu/softgpu.h"

#include <thread>

using namespace softgpu_test;

TEST_CASE("data goes in, through a kernel and out again, in stream order") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    constexpr unsigned n = 100'000;
    int* host = gpu.pinned<int>(n);
    for (unsigned i = 0; i < n; ++i) host[i] = int(i);
    const CUdeviceptr data = gpu.memory(n * sizeof(int));
    OK(gpu.cu->cuMemcpyHtoDAsync(data, host, n * sizeof(int), stream));
    OK(gpu.add(stream, data, 7, n));
    OK(gpu.cu->cuMemcpyDtoHAsync(host, data, n * sizeof(int), stream));
    OK(gpu.cu->cuStreamSynchronize(stream));
    unsigned wrong = 0;
    for (unsigned i = 0; i < n; ++i) wrong += host[i] != int(i) + 7;
    CHECK(wrong == 0);
    OK(gpu.cu->cuStreamDestroy(stream));
    OK(gpu.cu->cuMemFree(data));
}

TEST_CASE("calls return while the stream is held up, and nothing is done out of order") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    const CUevent event = gpu.event();
    uint32_t* word = gpu.pinned(4);
    const CUdeviceptr data = gpu.memory(16);
    Gate gate(gpu, stream);
    OK(gpu.cu->cuMemsetD32Async(data, 5, 4, stream));
    OK(gpu.cu->cuMemcpyDtoHAsync(word, data, 16, stream));
    OK(gpu.cu->cuEventRecord(event, stream));
    gate.wait_until_begun();
    IS(gpu.cu->cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    IS(gpu.cu->cuEventQuery(event), CUDA_ERROR_NOT_READY);
    CHECK(word[0] == 0);
    gate.open();
    OK(gpu.cu->cuEventSynchronize(event));
    IS(gpu.cu->cuEventQuery(event), CUDA_SUCCESS);
    CHECK(word[3] == 5);
    OK(gpu.cu->cuStreamSynchronize(stream));
    IS(gpu.cu->cuStreamQuery(stream), CUDA_SUCCESS);
}

TEST_CASE("a stream is idle for whoever has seen that the last thing on it is done") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    const CUevent event = gpu.event();
    uint32_t* word = gpu.pinned(1);
    const CUdeviceptr data = gpu.memory(4);
    int busy = 0;
    for (int i = 0; i < 20'000; ++i) {
        OK(gpu.cu->cuMemcpyDtoHAsync(word, data, 4, stream));
        OK(gpu.cu->cuEventRecord(event, stream));
        while (gpu.cu->cuEventQuery(event) == CUDA_ERROR_NOT_READY) {}
        busy += gpu.cu->cuStreamQuery(stream) != CUDA_SUCCESS;
    }
    CHECK(busy == 0);
}

TEST_CASE("two streams, both copy directions and kernels make progress while another stream is held up") {
    Gpu gpu;
    const CUstream held = gpu.stream(), other = gpu.stream();
    Gate gate(gpu, held);
    gate.wait_until_begun();
    uint32_t* words = gpu.pinned(8);
    words[0] = 41;
    const CUdeviceptr data = gpu.memory(32), copy = gpu.memory(32);
    OK(gpu.cu->cuMemcpyHtoDAsync(data, words, 4, other));
    OK(gpu.add(other, data, 1, 1));
    OK(gpu.cu->cuMemcpyDtoDAsync(copy, data, 4, other));
    OK(gpu.cu->cuMemcpyDtoHAsync(words + 1, copy, 4, other));
    OK(gpu.cu->cuStreamSynchronize(other));
    CHECK(words[1] == 42);
    IS(gpu.cu->cuStreamQuery(held), CUDA_ERROR_NOT_READY);
}

TEST_CASE("a kernel sees a host write made after its launch returned, and two kernels shake hands") {
    Gpu gpu;
    const CUstream a = gpu.stream(), b = gpu.stream();
    uint32_t* words = gpu.pinned(3);
    OK(gpu.launch(a, "wait_for", words, words + 1));       // a waits for b's word
    OK(gpu.launch(b, "wait_for", words + 1, words + 2));   // b waits for the host's
    await_nonzero(words + 1);
    OK(gpu.cu->cuStreamSynchronize(a));
    __atomic_store_n(words + 2, 1u, __ATOMIC_RELEASE);
    OK(gpu.cu->cuStreamSynchronize(b));
    CHECK(words[0] == 1);
}

TEST_CASE("a stream waits for the record that an event held when the wait was called") {
    Gpu gpu;
    const CUstream a = gpu.stream(), b = gpu.stream(), c = gpu.stream();
    const CUevent event = gpu.event();
    uint32_t* words = gpu.pinned(2);
    Gate first(gpu, a), second(gpu, c);
    OK(gpu.cu->cuEventRecord(event, a));
    OK(gpu.cu->cuStreamWaitEvent(b, event, 0));
    OK(gpu.cu->cuEventRecord(event, c));   // a later record doesn't hold b up
    OK(gpu.launch(b, "count", words));
    IS(gpu.cu->cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    first.open();
    OK(gpu.cu->cuStreamSynchronize(b));
    CHECK(words[0] == 1);
    IS(gpu.cu->cuEventQuery(event), CUDA_ERROR_NOT_READY);
    second.open();
    OK(gpu.cu->cuEventSynchronize(event));
}

TEST_CASE("waiting for an event that was never recorded is nothing, and querying it is success") {
    Gpu gpu;
    const CUevent event = gpu.event();
    const CUstream stream = gpu.stream();
    IS(gpu.cu->cuEventQuery(event), CUDA_SUCCESS);
    IS(gpu.cu->cuEventSynchronize(event), CUDA_SUCCESS);
    IS(gpu.cu->cuStreamWaitEvent(stream, event, 0), CUDA_SUCCESS);
    IS(gpu.cu->cuStreamQuery(stream), CUDA_SUCCESS);
}

TEST_CASE("elapsed time wants two completed records of timing events") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    const CUevent begin = gpu.event(0), end = gpu.event(0), untimed = gpu.event(), fresh = gpu.event(0);
    float ms = -1;
    Gate gate(gpu, stream);
    OK(gpu.cu->cuEventRecord(begin, stream));
    OK(gpu.cu->cuEventRecord(untimed, stream));
    OK(gpu.cu->cuEventRecord(end, stream));
    IS(gpu.cu->cuEventElapsedTime(&ms, begin, end), CUDA_ERROR_NOT_READY);
    gate.open();
    OK(gpu.cu->cuStreamSynchronize(stream));
    IS(gpu.cu->cuEventElapsedTime(&ms, begin, end), CUDA_SUCCESS);
    CHECK(ms >= 0);
    IS(gpu.cu->cuEventElapsedTime(&ms, begin, untimed), CUDA_ERROR_INVALID_HANDLE);
    IS(gpu.cu->cuEventElapsedTime(&ms, begin, fresh), CUDA_ERROR_INVALID_HANDLE);
    IS(gpu.cu->cuEventElapsedTime(nullptr, begin, end), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("blocking streams and the legacy stream wait for each other, non-blocking ones don't") {
    Gpu gpu;
    const CUstream blocking = gpu.stream(CU_STREAM_DEFAULT), free = gpu.stream();
    uint32_t* words = gpu.pinned(4);
    {
        Gate gate(gpu, blocking);
        OK(gpu.launch(CUstream(nullptr), "count", words));
        OK(gpu.launch(blocking, "count", words + 1));
        OK(gpu.launch(free, "count", words + 2));
        OK(gpu.cu->cuStreamSynchronize(free));
        CHECK(words[2] == 1);
        IS(gpu.cu->cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
        CHECK(words[0] == 0);
        gate.open();
        OK(gpu.cu->cuStreamSynchronize(nullptr));
        CHECK(words[0] == 1);
    }
    Gate gate(gpu, CU_STREAM_LEGACY);
    OK(gpu.launch(blocking, "count", words + 1));
    OK(gpu.launch(free, "count", words + 2));
    OK(gpu.cu->cuStreamSynchronize(free));
    IS(gpu.cu->cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
    gate.open();
    OK(gpu.cu->cuStreamSynchronize(blocking));
    CHECK(words[1] == 2);
}

TEST_CASE("the per-thread default stream is another one in each thread") {
    Gpu gpu;
    uint32_t* words = gpu.pinned(2);
    Gate gate(gpu, CU_STREAM_PER_THREAD);
    IS(gpu.cu->cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
    const CUfunction count = gpu.kernel("count");
    CUresult queried = CUDA_ERROR_UNKNOWN, synchronized = CUDA_ERROR_UNKNOWN;
    std::thread([&] {
        gpu.cu->cuCtxSetCurrent(gpu.context);
        void* parameters[] = {&words};
        gpu.cu->cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_PER_THREAD, parameters, nullptr);
        synchronized = gpu.cu->cuStreamSynchronize(CU_STREAM_PER_THREAD);
        queried = gpu.cu->cuStreamQuery(CU_STREAM_PER_THREAD);
    }).join();
    CHECK(synchronized == CUDA_SUCCESS);
    CHECK(queried == CUDA_SUCCESS);
    CHECK(words[0] == 1);
}

TEST_CASE("host functions run in stream order, on a thread that may not call CUDA") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    struct Seen {
        Gpu* gpu;
        uint32_t* words;
        uint32_t before = 99;
        CUresult inside = CUDA_SUCCESS;
        std::thread::id thread{};
    } seen{&gpu, gpu.pinned(1)};
    Gate gate(gpu, stream);
    OK(gpu.launch(stream, "count", seen.words));
    OK(gpu.cu->cuLaunchHostFunc(stream, [](void* data) {
        auto& seen = *static_cast<Seen*>(data);
        seen.before = *seen.words;
        int count = 0;
        seen.inside = seen.gpu->cu->cuDeviceGetCount(&count);
        seen.thread = std::this_thread::get_id();
        *seen.words = 10;
    }, &seen));
    OK(gpu.launch(stream, "count", seen.words));
    CHECK(seen.before == 99);
    gate.open();
    OK(gpu.cu->cuStreamSynchronize(stream));
    CHECK(seen.before == 1);
    CHECK(seen.inside == CUDA_ERROR_NOT_PERMITTED);
    CHECK(seen.thread != std::this_thread::get_id());
    CHECK(*seen.words == 11);
}

TEST_CASE("a stream writes values, and waits for values that the host or another stream writes") {
    Gpu gpu;
    const CUstream a = gpu.stream(), b = gpu.stream();
    uint32_t* words = gpu.pinned(4);
    const auto at = [&](int i) { return reinterpret_cast<CUdeviceptr>(words + i); };
    OK(gpu.cu->cuStreamWaitValue32(a, at(0), 3, CU_STREAM_WAIT_VALUE_GEQ));
    OK(gpu.cu->cuStreamWriteValue32(a, at(1), 7, 0));
    OK(gpu.cu->cuStreamWaitValue32(b, at(1), 7, CU_STREAM_WAIT_VALUE_EQ | CU_STREAM_WAIT_VALUE_FLUSH));
    OK(gpu.cu->cuStreamWriteValue32(b, at(2), 9, 0));
    IS(gpu.cu->cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    __atomic_store_n(words, 4u, __ATOMIC_RELEASE);
    OK(gpu.cu->cuStreamSynchronize(b));
    CHECK(words[2] == 9);
    IS(gpu.cu->cuStreamWriteValue32(a, at(0), 1, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuStreamWriteValue32(a, at(0) + 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("a destroyed stream does what it was given, and its handle is stale at once") {
    Gpu gpu;
    const CUstream stream = gpu.stream();
    const CUevent event = gpu.event();
    uint32_t* words = gpu.pinned(1);
    {
        Gate gate(gpu, stream);
        OK(gpu.launch(stream, "count", words));
        OK(gpu.cu->cuEventRecord(event, stream));
        OK(gpu.cu->cuStreamDestroy(stream));
        IS(gpu.cu->cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
        IS(gpu.cu->cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
        const CUstream next = gpu.stream();
        CHECK(next != stream);
    }
    OK(gpu.cu->cuEventSynchronize(event));
    CHECK(words[0] == 1);
}

TEST_CASE("stale, mistyped and made-up handles are refused") {
    Gpu gpu;
    const CUevent event = gpu.event(), gone = gpu.event();
    const CUstream stream = gpu.stream();
    OK(gpu.cu->cuEventDestroy(gone));
    const CUevent owner = gpu.event();   // may reuse the destroyed event's slot
    IS(gpu.cu->cuEventQuery(gone), CUDA_ERROR_INVALID_HANDLE);
    IS(gpu.cu->cuEventDestroy(gone), CUDA_ERROR_INVALID_HANDLE);
    IS(gpu.cu->cuEventRecord(gone, stream), CUDA_ERROR_INVALID_HANDLE);
    IS(gpu.cu->cuEventQuery(owner), CUDA_SUCCESS);
    IS(gpu.cu->cuStreamQuery(reinterpret_cast<CUstream>(event)), CUDA_ERROR_INVALID_HANDLE);
    IS(gpu.cu->cuStreamQuery(reinterpret_cast<CUstream>(uintptr_t(0xdeadbeef))), CUDA_ERROR_INVALID_HANDLE);
    IS(gpu.cu->cuEventQuery(nullptr), CUDA_ERROR_INVALID_HANDLE);
    IS(gpu.cu->cuStreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
    CUstream made = nullptr;
    IS(gpu.cu->cuStreamCreateWithPriority(&made, 2, 0), CUDA_ERROR_INVALID_VALUE);
    IS(gpu.cu->cuStreamCreateWithPriority(nullptr, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("priorities are taken to the range, and a stream tells its own") {
    Gpu gpu;
    int least = 1, greatest = 1;
    OK(gpu.cu->cuCtxGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0);
    CHECK(greatest == -5);
    for (const auto& [asked, given] : {std::pair{-100, -5}, {-3, -3}, {0, 0}, {5, 0}}) {
        const CUstream stream = gpu.stream(CU_STREAM_NON_BLOCKING, asked);
        int priority = 99;
        unsigned flags = 99;
        CUcontext context = nullptr;
        OK(gpu.cu->cuStreamGetPriority(stream, &priority));
        OK(gpu.cu->cuStreamGetFlags(stream, &flags));
        OK(gpu.cu->cuStreamGetCtx(stream, &context));
        CHECK(priority == given);
        CHECK(flags == CU_STREAM_NON_BLOCKING);
        CHECK(context == gpu.context);
    }
}

TEST_CASE("many threads on streams of their own lose no work") {
    Gpu gpu;
    constexpr int threads = 4, rounds = 300;
    const CUfunction count = gpu.kernel("count");
    uint32_t* words = gpu.pinned(threads);
    std::atomic<int> failures{0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            gpu.cu->cuCtxSetCurrent(gpu.context);
            CUstream stream = nullptr;
            CUevent event = nullptr;
            failures += gpu.cu->cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS;
            failures += gpu.cu->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS;
            for (int i = 0; i < rounds; ++i) {
                uint32_t* mine = words + t;
                void* parameters[] = {&mine};
                failures +=
                    gpu.cu->cuLaunchKernel(count, 2, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr) != CUDA_SUCCESS;
                if (i % 16 == 0) {
                    failures += gpu.cu->cuEventRecord(event, stream) != CUDA_SUCCESS;
                    failures += gpu.cu->cuEventSynchronize(event) != CUDA_SUCCESS;
                }
            }
            failures += gpu.cu->cuStreamSynchronize(stream) != CUDA_SUCCESS;
            failures += gpu.cu->cuStreamDestroy(stream) != CUDA_SUCCESS;
            failures += gpu.cu->cuEventDestroy(event) != CUDA_SUCCESS;
        });
    for (auto& thread : all) thread.join();
    CHECK(failures == 0);
    for (int t = 0; t < threads; ++t) CHECK(words[t] == rounds * 2);
}
