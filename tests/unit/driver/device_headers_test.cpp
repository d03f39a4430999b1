// gpuorch/device/*.cuh are for every compiler of CUDA C++. The kernels in conformance/ test the library's own
// compilers; here nvcc and Clang, where installed, compile the headers without a warning.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "support/files.h"
#include "support/report.h"

using gpo::test::Folder;

namespace {

/// Each call of queue.cuh.
const char kEachCall[] = R"(
#include <gpuorch/device/queue.cuh>

struct task { unsigned a, b, c, d; };
struct wide { unsigned char byte[240]; };
struct reply { float y[5]; };

__global__ void ranges(gpo::range rows, unsigned long long *sum) {
    __shared__ gpo::block_range_memory memory;
    __shared__ gpo::shared_range_memory stock;
    unsigned long long first = 0, last = 0;
    gpo::thread_range threads(rows), one_of(rows, 0, 4);
    gpo::warp_range warps(rows), some(rows, 1, 2, 0xffffffffu);
    gpo::block_range blocks(rows, memory), other(rows, memory, 0, 1);
    gpo::shared_range shared(rows, stock, 8);
    while (threads.next(first, last) == gpo::queue_success) *sum += threads.number(first);
    while (warps.next(first, last) == gpo::queue_success) *sum += warps.number(first);
    while (blocks.next(first, last) == gpo::queue_success) *sum += blocks.number(first);
    while (shared.next(first, last) == gpo::queue_success) *sum += shared.number(first);
    one_of.stop(), some.stop(), other.stop(), shared.stop();
}

template <class T>
__device__ int each_call(const gpo::ring &ring, gpo::block_task<T> &memory, T what) {
    const gpo::bound looks = gpo::polls(5), time = gpo::nanoseconds(1000);
    const unsigned all = 0xffffffffu;
    return gpo::try_push(ring, what) + gpo::try_pop(ring, what) + gpo::push(ring, what, looks) +
           gpo::pop(ring, what, time) + gpo::done(ring) + gpo::done_many(ring, 7) + gpo::try_push(ring, what, 1, all) +
           gpo::pop(ring, what, looks, all) + gpo::warp_try_push(ring, what) + gpo::warp_try_pop(ring, what) +
           gpo::warp_push(ring, what, time, 1, all) + gpo::warp_pop(ring, what, looks) + gpo::warp_done(ring) +
           gpo::block_try_push(ring, memory, what) + gpo::block_try_pop(ring, memory, what) +
           gpo::block_push(ring, memory, what, looks, 2) + gpo::block_pop(ring, memory, what, time) +
           gpo::block_done(ring) + gpo::close(ring) + gpo::abort(ring);
}
__global__ void rings(gpo::ring small, gpo::ring large, int *out) {
    __shared__ gpo::block_task<task> first;
    wide what = {};
    *out = each_call(small, first, task{1, 2, 3, 4}) + gpo::push(large, what, gpo::polls(1)) +
           gpo::pop(large, what, gpo::polls(1)) + what.byte[9];
}

__global__ void serve(gpo::host_ring requests, int *out) {
    __shared__ gpo::dispatch_memory memory;
    if (blockIdx.x == 0) {
        *out = gpo::dispatch(requests, memory, gpo::nanoseconds(1000));
        return;
    }
    gpo::host_task<wide> next = {};
    gpo::host_taker taker(requests);
    const reply said = {{1, 2, 3, 4, 5}};
    *out = taker.take(next, gpo::polls(1)) + gpo::answer(requests, next.ticket, 1, said) +
           gpo::answer(requests, next.ticket, 2) + gpo::warp_answer(requests, next.ticket, 3, said) +
           gpo::block_answer(requests, next.ticket, 4, said) + next.task.byte[3];
}
)";

/// Each call of peer.cuh and steal.cuh.
const char kEachPeerCall[] = R"(
#include <gpuorch/device/steal.cuh>

__global__ void peers(gpo::symmetric memory, unsigned char *local, unsigned long long *out) {
    const gpo::bound looks = gpo::polls(5), time = gpo::nanoseconds(1000);
    const unsigned all = 0xffffffffu;
    unsigned long long seen = 0;
    int n = gpo::put(memory, 1, 3, local, 100) + gpo::warp_put(memory, 1, 3, local, 100) +
            gpo::warp_put(memory, 1, 3, local, 100, all) + gpo::block_put(memory, 1, 3, local, 100) +
            gpo::get(local, memory, 1, 3, 100) + gpo::warp_get(local, memory, 1, 3, 100) +
            gpo::warp_get(local, memory, 1, 3, 100, all) + gpo::block_get(local, memory, 1, 3, 100) +
            gpo::put_signal(memory, 1, 3, local, 100, 8, 1) +
            gpo::warp_put_signal(memory, 1, 3, local, 100, 8, 1, gpo::signal_add, all) +
            gpo::block_put_signal(memory, 1, 3, local, 100, 8, 1, gpo::signal_set);
    n += gpo::signal(memory, 1, 8, 1) + gpo::warp_signal(memory, 1, 8, 1, gpo::signal_add) +
         gpo::block_signal(memory, 1, 8, 2) + gpo::wait(memory, 8, gpo::wait_equal, 1, looks) +
         gpo::warp_wait(memory, 8, gpo::wait_at_least, 1, time, &seen, all) +
         gpo::block_wait(memory, 8, gpo::wait_less, 1, time, &seen) + gpo::fetch_add(memory, 1, 8, 5, &seen) +
         gpo::fetch_add(memory, 1, 8, 5) + gpo::quiet() + gpo::warp_quiet() + gpo::warp_quiet(all) +
         gpo::block_quiet() + gpo::barrier(memory, time);
    *gpo::pointer<int>(memory, 1, 4) = n;
    *(int *)gpo::pointer(memory, 1, 4) = n;
    *out = seen;
}

__global__ void steals(gpo::symmetric memory, unsigned long long *sum) {
    __shared__ gpo::block_steal_memory shared;
    gpo::shared_numbers numbers(memory, 0, 1000, 4), some = numbers;
    some.workers = 7;
    unsigned long long first = 0, last = 0;
    gpo::thread_steal threads(numbers);
    gpo::warp_steal warps(numbers), others(some, 0xffffffffu);
    gpo::block_steal blocks(numbers, shared);
    while (threads.next(first, last) == gpo::peer_success) *sum += first;
    while (warps.next(first, last) == gpo::peer_success) *sum += last;
    while (blocks.next(first, last) == gpo::peer_success) *sum += last;
    threads.stop(), others.stop(), blocks.stop();
}
)";

/// A scheduler kernel's source; macros are put in front.
const char kHandlers[] = R"(
#include <gpuorch/device/scheduler.cuh>

struct node { unsigned handler, number; };

__device__ int visit(gpo::task_context &at, const node &task) {
    if (at.stopping() || at.position() == 9) return 1;
    at.sync();
    if (at.thread() + 1 == at.threads()) *at.argument<unsigned>() = task.number;
    if (task.number == 0) return at.answer(task.number, 2);
    return at.push(node{0, task.number}) | at.push(task, 1) | at.again(node{0, task.number - 1});
}

struct handlers {
    __device__ static int call(unsigned number, gpo::task_context &at, const void *task) {
        typedef decltype(gpo::task_type(&visit)) type;
        return number == 0 ? visit(at, *(const type *)task) : (int)gpo::run_no_handler;
    }
};
extern "C" __global__ void __launch_bounds__(128) run(const __grid_constant__ gpo::scheduler_work work,
    const __grid_constant__ gpo::scheduler_queue queue) {
    __shared__ gpo::scheduler_memory memory;
    gpo::run_scheduler<handlers>(work, queue, memory);
}
)";

const char kStep[] = R"(
#define GPO_TASK_BYTES 48
#define GPO_TASK_OF_HOST 0
#define GPO_TASK_WORKER 1
#include <gpuorch/device/scheduler.cuh>
#include <gpuorch/device/scheduler_step.cuh>
extern "C" __global__ void run(const __grid_constant__ gpo::scheduler_work work,
    const __grid_constant__ gpo::scheduler_queue queue, unsigned long long state, unsigned run) {
    gpo::run_step(work, queue, state, run);
}
)";

/// Replaces Clang's CUDA headers, as far as the calls use them: those need a toolkit version that this Clang knows.
const char kClangPrelude[] = R"(
#include <stddef.h>
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; __device__ dim3(unsigned a, unsigned b, unsigned c) : x(a), y(b), z(c) {} };
struct alignas(16) uint4 { unsigned x, y, z, w; };
#include <__clang_cuda_builtin_vars.h>
extern "C" __device__ void *memcpy(void *, const void *, size_t) noexcept;
__device__ int __popc(unsigned);
__device__ int __ffs(int);
__device__ void __threadfence_block();
__device__ void __syncwarp(unsigned = 0xffffffffu);
__device__ unsigned __activemask();
__device__ unsigned __ballot_sync(unsigned, int);
__device__ int __all_sync(unsigned, int);
template <class T> __device__ T __shfl_sync(unsigned, T, int);
template <class T> __device__ T atomicAdd(T *, T);
template <class T> __device__ T atomicMin(T *, T);
template <class T> __device__ T atomicExch(T *, T);
__device__ int __syncthreads_or(int);
)";

const std::string kInclude = std::string(GPUORCH_SOURCE) + "/../include";

}  // namespace

TEST_CASE("nvcc compiles schedulers of rings and host rings, for each form of workers, without a warning") {
    const std::string nvcc = std::string(GPUORCH_NVCC_FOLDER) + "/bin/nvcc";
    if (access(nvcc.c_str(), X_OK) != 0) return gpo::test::skip("no nvcc: .ci/setup nvcc unpacks it");
    Folder folder;
    std::ofstream(folder.path + "/handlers.cu") << kHandlers;
    for (const char* how : {"-DGPO_TASK_OF_HOST=0 -DGPO_TASK_WORKER=1 -arch=sm_90 -std=c++17",
                            "-DGPO_TASK_OF_HOST=0 -DGPO_TASK_WORKER=2 -arch=sm_75 -std=c++14",
                            "-DGPO_TASK_OF_HOST=1 -DGPO_TASK_WORKER=2 -arch=sm_90 -std=c++17",
                            "-DGPO_TASK_OF_HOST=1 -DGPO_TASK_WORKER=3 -arch=sm_90 -std=c++20"}) {
        CAPTURE(std::string(how));
        const std::string command = nvcc + " " + how + " -DGPO_TASK_BYTES=16 -cubin -Werror all-warnings -I" +
                                    kInclude + " " + folder.path + "/handlers.cu -o " + folder.path + "/handlers.cubin";
        CHECK(std::system(command.c_str()) == 0);
    }
    std::ofstream(folder.path + "/step.cu") << kStep;
    const std::string step = nvcc + " -arch=sm_90 -std=c++17 -ptx -Werror all-warnings -I" + kInclude + " " +
                             folder.path + "/step.cu -o " + folder.path + "/step.ptx";
    CHECK(std::system(step.c_str()) == 0);
}

TEST_CASE("nvcc compiles the device headers for old and new devices and standards without a warning") {
    const std::string nvcc = std::string(GPUORCH_NVCC_FOLDER) + "/bin/nvcc";
    if (access(nvcc.c_str(), X_OK) != 0) return gpo::test::skip("no nvcc: .ci/setup nvcc unpacks it");
    Folder folder;
    std::ofstream(folder.path + "/calls.cu") << kEachCall << kEachPeerCall;
    for (const char* how : {"-arch=sm_75 -std=c++14", "-arch=sm_90 -std=c++20"}) {
        CAPTURE(std::string(how));
        const std::string command = nvcc + " " + how + " -cubin -Werror all-warnings -I" + kInclude + " " +
                                    folder.path + "/calls.cu -o " + folder.path + "/calls.cubin";
        CHECK(std::system(command.c_str()) == 0);
    }
}

TEST_CASE("Clang compiles the device headers without a warning") {
    if (std::system("clang++ --version >/dev/null 2>&1") != 0) return gpo::test::skip("no clang++");
    Folder folder;
    std::ofstream(folder.path + "/prelude.h") << kClangPrelude;
    std::ofstream(folder.path + "/calls.cu") << kEachCall << kEachPeerCall;
    for (const char* how : {"-std=c++14", "-std=c++20"}) {
        CAPTURE(std::string(how));
        const std::string command = std::string(
                                        "clang++ -x cuda -fsyntax-only --cuda-device-only "
                                        "--cuda-gpu-arch=sm_70 -nocudainc -nocudalib -Wall -Wextra -Werror "
                                        "-Wno-undefined-inline -include ") +
                                    folder.path + "/prelude.h " + how + " -I" + kInclude + " " + folder.path +
                                    "/calls.cu";
        CHECK(std::system(command.c_str()) == 0);
    }
}
