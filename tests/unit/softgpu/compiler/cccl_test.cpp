// <cuda/std/…>, <cuda/atomic> and <cuda/barrier> from CCCL's own headers.
#include "unit/softgpu/kernel_device.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "support/report.h"

using namespace kernel_test;

TEST_CASE("CCCL's headers compile where their folder is given, and threads wait at their barriers") {
    const char* const deps = getenv("GPUORCH_DEPS");   // as in .ci/setup
    const std::string folder = (deps ? deps + std::string("/nvidia/cu13") : GPUORCH_NVCC_FOLDER) + "/include/cccl";
    if (!std::filesystem::exists(folder + "/cuda/std/version"))
        return gpo::test::skip("no CCCL: .ci/setup nvcc unpacks it");
    const Program program(R"(
#include <cuda/std/array>
#include <cuda/std/tuple>
#include <cuda/std/limits>
#include <cuda/std/cstdint>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cuda/atomic>
#include <cuda/barrier>
#if !defined(__CUDACC__) || __CUDA_ARCH__ < 900
#error "these are hidden from CCCL alone"
#endif
__device__ cuda::atomic<int, cuda::thread_scope_device> total;
extern "C" __global__ void counted(int *out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> meeting;
    __shared__ int slots[64];
    if (threadIdx.x == 0) init(&meeting, blockDim.x);
    __syncthreads();
    int sum = 0;
    for (int turn = 0; turn < 3; ++turn) {
        slots[threadIdx.x] = (int)threadIdx.x + turn;
        meeting.arrive_and_wait();
        sum += slots[(threadIdx.x + 33) % blockDim.x];
        meeting.wait(meeting.arrive());
    }
    cuda::std::array<int, 3> three = {1, 2, 3};
    const auto pair = cuda::std::make_tuple(sum, three[2]);
    cuda::atomic_ref<int, cuda::thread_scope_system> counter(out[64]);
    counter.fetch_add(cuda::std::get<1>(pair), cuda::std::memory_order_relaxed);
    total.fetch_max((int)threadIdx.x);
    static_assert(cuda::std::is_same_v<cuda::std::uint32_t, unsigned>, "");
    out[threadIdx.x] = cuda::std::get<0>(pair) + (cuda::std::numeric_limits<int>::max() == 0x7fffffff);
    meeting.arrive_and_wait();
    out[65] = total.load();
}
extern "C" __global__ void handed_over(int *out) {
    __shared__ cuda::std::atomic<int> flag;
    if (threadIdx.x == 0) flag.store(0);
    __syncthreads();
    if (threadIdx.x == 0) {
        while (flag.load(cuda::std::memory_order_acquire) == 0) ;
        out[0] = 5;
    } else if (threadIdx.x == 40) {
        flag.store(1, cuda::std::memory_order_release);
    }
}
)", {}, {"-I" + folder, "-std=c++17"});
    Device device;
    std::vector<int> out(66);
    device.run(program.kernel("counted"), {{1, 1, 1}, {64, 1, 1}}, out.data());
    for (int t = 0; t < 64; ++t) CHECK(out[static_cast<size_t>(t)] == 3 * ((t + 33) % 64) + 3 + 1);
    CHECK(out[64] == 64 * 3);
    CHECK(out[65] == 63);
    device.run(program.kernel("handed_over"), {{1, 1, 1}, {64, 1, 1}}, out.data());
    CHECK(out[0] == 5);
}
