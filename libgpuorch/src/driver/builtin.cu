// The built-in kernels, for CUDA. builtin.ptx is made from this file by make_builtin.py and committed;
// softgpu/image/builtin.cpp has the same kernels for the software GPU. Grid and block may have any shape: each kernel
// numbers all threads of the grid consecutively, and loops until all n elements are processed.
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

namespace {

__device__ inline u32 threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }

__device__ inline u32 thread_of_block() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

__device__ inline u64 first() {
    const u64 block = blockIdx.x + u64(gridDim.x) * (blockIdx.y + u64(gridDim.y) * blockIdx.z);
    return block * threads_of_block() + thread_of_block();
}

__device__ inline u64 stride() { return u64(gridDim.x) * gridDim.y * gridDim.z * threads_of_block(); }

}  // namespace

extern "C" __global__ void gpo_fill_u32(u32* y, u32 value, u64 n) {
    for (u64 i = first(); i < n; i += stride()) y[i] = value;
}

extern "C" __global__ void gpo_copy_u32(u32* y, const u32* x, u64 n) {
    for (u64 i = first(); i < n; i += stride()) y[i] = x[i];
}

extern "C" __global__ void gpo_scale_add_f32(float* y, const float* x, float a, u64 n) {
    for (u64 i = first(); i < n; i += stride()) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void gpo_add_f32(float* z, const float* x, const float* y, u64 n) {
    for (u64 i = first(); i < n; i += stride()) z[i] = x[i] + y[i];
}

// Each block counts in shared memory first: at most 2^31 bytes per round, so that 32-bit counts can't overflow.
extern "C" __global__ void gpo_histogram_u8(u64* bins, const u8* x, u64 n) {
    __shared__ u32 counts[256];
    const u32 thread = thread_of_block(), threads = threads_of_block();
    const u64 step = stride();
    const u64 round = step << 21;   // at most 2^21 bytes a thread, 2^31 a block
    for (u64 from = 0; from < n; from += round) {
        const u64 to = n - from < round ? n : from + round;
        for (u32 i = thread; i < 256; i += threads) counts[i] = 0;
        __syncthreads();
        for (u64 i = from + first(); i < to; i += step) atomicAdd(&counts[x[i]], 1u);
        __syncthreads();
        for (u32 i = thread; i < 256; i += threads)
            if (counts[i]) atomicAdd(&bins[i], u64(counts[i]));
        __syncthreads();
    }
}

// Adds within each warp by shuffles, then within each block through shared memory. Each block adds its sum atomically.
extern "C" __global__ void gpo_reduce_add_f32(float* sum, const float* x, u64 n) {
    __shared__ float partial[32];
    const u32 thread = thread_of_block(), threads = threads_of_block();
    float mine = 0;
    for (u64 i = first(); i < n; i += stride()) mine += x[i];
    const u32 lane = thread & 31, warp = thread >> 5, warps = (threads + 31) >> 5;
    const u32 lanes = threads - (thread - lane) < 32 ? threads - (thread - lane) : 32;
    const u32 mask = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
    for (u32 distance = 16; distance; distance >>= 1) {
        const float other = __shfl_down_sync(mask, mine, distance);
        if (lane + distance < lanes) mine += other;
    }
    if (lane == 0) partial[warp] = mine;
    __syncthreads();
    if (thread == 0) {
        for (u32 i = 1; i < warps; i++) mine += partial[i];
        atomicAdd(sum, mine);
    }
}
