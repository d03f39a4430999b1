// Kernels in the manner of public sample collections: bodies that pull, stencils, convolutions, fractals, solvers, and
// C++ in kernels. Their results agree with the host's.
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "program.h"

using namespace gpo::test;

namespace {

const char kBodies[] = R"cuda(#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <math.h>
#include <stdint.h>
#include <cfloat>
inline __host__ __device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
inline __host__ __device__ void operator+=(float3 &a, float3 b) { a.x += b.x; a.y += b.y; a.z += b.z; }
inline __host__ __device__ float3 operator*(float3 a, float b) { return make_float3(a.x * b, a.y * b, a.z * b); }
inline __host__ __device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline __host__ __device__ float4 make_float4(float3 a, float w) { return make_float4(a.x, a.y, a.z, w); }
inline __host__ __device__ float clamp(float f, float a, float b) { return fmaxf(a, fminf(f, b)); }
inline __host__ __device__ int clamp(int f, int a, int b) { return max(a, min(f, b)); }
struct Adder { float bias; __device__ __host__ float operator()(float a, float b) const { return a + b + bias; } };
template <class Op, int ROWS> __global__ void sumRows(const float4 *__restrict__ in, float *out, Op op) {
    float acc[ROWS] = {0.f};
#pragma unroll
    for (int r = 0; r < ROWS; ++r) { float4 v = __ldg(&in[r * blockDim.x + threadIdx.x]); acc[r] = op(op(v.x, v.y), op(v.z, v.w)); }
    auto total = [&]() { float s = 0; for (int r = 0; r < ROWS; r++) s += acc[r]; return s; };
    out[threadIdx.x] = total();
}
template <typename T> struct vec3 { typedef float Type; };
template <> struct vec3<float> { typedef float3 Type; };
template <> struct vec3<double> { typedef double3 Type; };
template <typename T> struct vec4 { typedef float Type; };
template <> struct vec4<float> { typedef float4 Type; };
template <> struct vec4<double> { typedef double4 Type; };
__constant__ float softeningSquared = 0.01f;
__constant__ double softeningSquared_fp64 = 0.01;
template <typename T> __device__ T rsqrt_T(T x) { return rsqrt(x); }
template <> __device__ float rsqrt_T<float>(float x) { return rsqrtf(x); }
template <> __device__ double rsqrt_T<double>(double x) { return rsqrt(x); }
#define SX(i) sharedPos[i + blockDim.x * threadIdx.y]
#define SX_SUM(i, j) sharedPos[i + blockDim.x * j]
template <typename T> __device__ T getSofteningSquared() { return softeningSquared; }
template <> __device__ double getSofteningSquared<double>() { return softeningSquared_fp64; }
template <typename T> struct SharedMem { __device__ inline operator T *() { extern __shared__ int __smem[]; return (T *)__smem; } };
template <typename T> __device__ typename vec3<T>::Type bodyBodyInteraction(typename vec3<T>::Type ai, typename vec4<T>::Type bi, typename vec4<T>::Type bj) {
    typename vec3<T>::Type r;
    r.x = bj.x - bi.x; r.y = bj.y - bi.y; r.z = bj.z - bi.z;
    T distSqr = r.x * r.x + r.y * r.y + r.z * r.z;
    distSqr += getSofteningSquared<T>();
    T invDist = rsqrt_T(distSqr);
    T invDistCube = invDist * invDist * invDist;
    T s = bj.w * invDistCube;
    ai.x += r.x * s; ai.y += r.y * s; ai.z += r.z * s;
    return ai;
}
template <typename T> __global__ void nbodyStep(typename vec4<T>::Type *__restrict__ newPos, typename vec4<T>::Type *__restrict__ oldPos, typename vec4<T>::Type *vel, unsigned int deviceNumBodies, float deltaTime, int numTiles) {
    typename vec4<T>::Type *sharedPos = SharedMem<typename vec4<T>::Type>();
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= deviceNumBodies) { return; }
    typename vec4<T>::Type position = oldPos[index];
    typename vec3<T>::Type acc = {0.0f, 0.0f, 0.0f};
    for (int tile = 0; tile < numTiles; tile++) {
        sharedPos[threadIdx.x] = oldPos[tile * blockDim.x + threadIdx.x];
        __syncthreads();
#pragma unroll 128
        for (unsigned int counter = 0; counter < blockDim.x; counter++) { acc = bodyBodyInteraction<T>(acc, position, sharedPos[counter]); }
        __syncthreads();
    }
    typename vec4<T>::Type velocity = vel[index];
    velocity.x += acc.x * deltaTime; velocity.y += acc.y * deltaTime; velocity.z += acc.z * deltaTime;
    position.x += velocity.x * deltaTime; position.y += velocity.y * deltaTime; position.z += velocity.z * deltaTime;
    newPos[index] = position; vel[index] = velocity;
}
extern "C" __global__ void distances(const float3 *p, float *out, int n) {
    const uint32_t i = __mul24(blockIdx.x, blockDim.x) + threadIdx.x;
    if (i >= n) return;
    float3 d = p[i] + p[0] * -1.f;
    d += make_float3(0, 0, 0);
    out[i] = clamp(sqrtf(dot(d, d)), 0.f, FLT_MAX);
}
)cuda";

const char kGrids[] = R"cuda(#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
using namespace cooperative_groups;
namespace cg = cooperative_groups;
// A block takes the next tile when it has done one.
__device__ unsigned int blockCounter;
template <class T> __device__ inline int CalcMandelbrot(const T xPos, const T yPos, const int crunch) {
    T y = yPos, x = xPos, yy = y * y, xx = x * x;
    int i = crunch;
    while (--i && (xx + yy < T(4.0))) { y = x * y * T(2.0) + yPos; x = xx - yy + xPos; yy = y * y; xx = x * x; }
    return i;
}
template <class T> __global__ void mandelbrot(uchar4 *dst, const int imageW, const int imageH, const int crunch, const T xOff, const T yOff, const T scale, const uchar4 colors, const int gridWidth, const int numBlocks) {
    cg::thread_block cta = cg::this_thread_block();
    __shared__ unsigned int blockIndex;
    __shared__ unsigned int blockX, blockY;
    while (1) {
        if ((threadIdx.x == 0) && (threadIdx.y == 0)) {
            blockIndex = atomicAdd(&blockCounter, 1);
            blockX = blockIndex % gridWidth;
            blockY = blockIndex / gridWidth;
        }
        cg::sync(cta);
        if (blockIndex >= numBlocks) { break; }
        const int ix = blockDim.x * blockX + threadIdx.x;
        const int iy = blockDim.y * blockY + threadIdx.y;
        if ((ix < imageW) && (iy < imageH)) {
            const T xPos = (T)ix * scale + xOff, yPos = (T)iy * scale + yOff;
            int m = CalcMandelbrot<T>(xPos, yPos, crunch);
            m = m > 0 ? crunch - m : 0;
            uchar4 color;
            if (m) { color.x = m * colors.x; color.y = m * colors.y; color.z = m * colors.z; } else { color.x = color.y = color.z = 0; }
            color.w = 0;
            dst[imageW * iy + ix] = color;
        }
        cg::sync(cta);
    }
}
// Marching planes held in registers.
template <int RADIUS, int BY> __global__ void __launch_bounds__(32 * BY) fdtd(float *__restrict__ output, const float *__restrict__ input, const int dimx, const int dimy, const int dimz, const float c0) {
    __shared__ float tile[BY + 2 * RADIUS][32 + 2 * RADIUS];
    const int gx = blockIdx.x * 32 + threadIdx.x, gy = blockIdx.y * BY + threadIdx.y;
    const int tx = threadIdx.x + RADIUS, ty = threadIdx.y + RADIUS;
    const size_t plane = (size_t)dimx * dimy;
    float behind[RADIUS], infront[RADIUS], current;
    bool valid = gx < dimx && gy < dimy;
    size_t idx = (size_t)gy * dimx + gx;
#pragma unroll
    for (int i = 0; i < RADIUS; ++i) { behind[i] = 0.f; infront[i] = valid && i + 1 < dimz ? input[idx + (i + 1) * plane] : 0.f; }
    current = valid ? input[idx] : 0.f;
#pragma unroll 9
    for (int iz = 0; iz < dimz; iz++) {
        __syncthreads();
        if (threadIdx.y < RADIUS) {
            tile[threadIdx.y][tx] = valid && gy >= RADIUS ? input[idx + iz * plane - (size_t)RADIUS * dimx] : 0.f;
            tile[threadIdx.y + BY + RADIUS][tx] = gx < dimx && gy + BY < dimy ? input[idx + iz * plane + (size_t)BY * dimx] : 0.f;
        }
        if (threadIdx.x < RADIUS) {
            tile[ty][threadIdx.x] = valid && gx >= RADIUS ? input[idx + iz * plane - RADIUS] : 0.f;
            tile[ty][threadIdx.x + 32 + RADIUS] = gy < dimy && gx + 32 < dimx ? input[idx + iz * plane + 32] : 0.f;
        }
        tile[ty][tx] = current;
        __syncthreads();
        float value = c0 * current;
#pragma unroll RADIUS
        for (int i = 1; i <= RADIUS; i++) {
            value += (infront[i - 1] + behind[i - 1] + tile[ty - i][tx] + tile[ty + i][tx] + tile[ty][tx - i] + tile[ty][tx + i]) / (float)(i + 1);
        }
        if (valid) output[idx + iz * plane] = value;
        for (int i = RADIUS - 1; i > 0; i--) behind[i] = behind[i - 1];
        behind[0] = current;
        current = infront[0];
        for (int i = 0; i < RADIUS - 1; i++) infront[i] = infront[i + 1];
        infront[RADIUS - 1] = valid && iz + RADIUS + 1 < dimz ? input[idx + (iz + RADIUS + 1) * plane] : 0.f;
    }
}
// Jacobi's method in one cooperative launch.
__device__ double grid_dot_result = 0.0;
__global__ void jacobi(const float *A, const double *b, double *x, double *x_new, double *sum, int n, int iterations) {
    grid_group grid = this_grid();
    thread_block cta = this_thread_block();
    thread_block_tile<32> tile32 = tiled_partition<32>(cta);
    for (int k = 0; k < iterations; k++) {
        double *out = (k & 1) == 0 ? x_new : x;
        const double *in = (k & 1) == 0 ? x : x_new;
        for (unsigned row = grid.thread_rank() / 32; row < n; row += grid.size() / 32) {
            double s = 0.0;
            for (unsigned j = tile32.thread_rank(); j < n; j += 32) if (j != row) s += A[row * n + j] * in[j];
            for (int offset = 16; offset > 0; offset >>= 1) s += tile32.shfl_down(s, offset);
            if (tile32.thread_rank() == 0) out[row] = (b[row] - s) / A[row * n + row];
        }
        grid.sync();
    }
    if (grid.thread_rank() == 0) *sum = 0;
    sync(grid);
    double local = 0;
    for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size()) local += ((iterations & 1) ? x_new : x)[i];
    int inclusive = inclusive_scan(tile32, 1);
    if (inclusive <= 32) atomicAdd(sum, local);
}
// A separable convolution with a halo on both sides.
#define KERNEL_RADIUS 8
#define KERNEL_LENGTH (2 * KERNEL_RADIUS + 1)
__constant__ float c_Kernel[KERNEL_LENGTH];
#define ROWS_BLOCKDIM_X 16
#define ROWS_BLOCKDIM_Y 4
#define ROWS_RESULT_STEPS 4
#define ROWS_HALO_STEPS 1
__global__ void convolutionRowsKernel(float *d_Dst, float *d_Src, int imageW, int imageH, int pitch) {
    __shared__ float s_Data[ROWS_BLOCKDIM_Y][(ROWS_RESULT_STEPS + 2 * ROWS_HALO_STEPS) * ROWS_BLOCKDIM_X];
    const int baseX = (blockIdx.x * ROWS_RESULT_STEPS - ROWS_HALO_STEPS) * ROWS_BLOCKDIM_X + threadIdx.x;
    const int baseY = blockIdx.y * ROWS_BLOCKDIM_Y + threadIdx.y;
    d_Src += baseY * pitch + baseX;
    d_Dst += baseY * pitch + baseX;
#pragma unroll
    for (int i = ROWS_HALO_STEPS; i < ROWS_HALO_STEPS + ROWS_RESULT_STEPS; i++) { s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X] = d_Src[i * ROWS_BLOCKDIM_X]; }
#pragma unroll
    for (int i = 0; i < ROWS_HALO_STEPS; i++) { s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X] = (baseX >= -i * ROWS_BLOCKDIM_X) ? d_Src[i * ROWS_BLOCKDIM_X] : 0; }
#pragma unroll
    for (int i = ROWS_HALO_STEPS + ROWS_RESULT_STEPS; i < ROWS_HALO_STEPS + ROWS_RESULT_STEPS + ROWS_HALO_STEPS; i++) {
        s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X] = (imageW - baseX > i * ROWS_BLOCKDIM_X) ? d_Src[i * ROWS_BLOCKDIM_X] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int i = ROWS_HALO_STEPS; i < ROWS_HALO_STEPS + ROWS_RESULT_STEPS; i++) {
        float sum = 0;
#pragma unroll
        for (int j = -KERNEL_RADIUS; j <= KERNEL_RADIUS; j++) { sum += c_Kernel[KERNEL_RADIUS - j] * s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X + j]; }
        d_Dst[i * ROWS_BLOCKDIM_X] = sum;
    }
}
)cuda";

const char kLanguage[] =
    R"cuda(// function pointers, virtual functions, new and delete, unions, device globals with initialisers
typedef float (*binary_t)(float, float);
__device__ float add_f(float a, float b) { return a + b; }
__device__ float mul_f(float a, float b) { return a * b; }
__device__ binary_t table[2] = {add_f, mul_f};
__device__ const int lookup[] = {1, 2, 3, 5, 8};
static __device__ __constant__ float weights[3][2] = {{1, 2}, {3, 4}, {5, 6}};
struct Shape { __device__ virtual float area() const = 0; __device__ virtual ~Shape() {} };
struct Square : Shape { float a; __device__ Square(float x) : a(x) {} __device__ float area() const override { return a * a; } };
struct Circle final : public Shape { float r; __device__ explicit Circle(float x) : r(x) {} __device__ float area() const { return 3.0f * r * r; } };
enum class Mode : int { kAdd = 0, kMul };
union Bits { float f; unsigned u; };
template <typename T> __global__ void compute(T *out, int n, Mode mode) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n) return;
  Shape *s = (i & 1) ? static_cast<Shape *>(new Square(i)) : static_cast<Shape *>(new Circle(i));
  T v = s->area();
  delete s;
  binary_t f = table[static_cast<int>(mode)];
  Bits b; b.f = f(v, weights[i % 3][i % 2]); b.u ^= 0;
  T *scratch = (T *)malloc(4 * sizeof(T));
  for (int k = 0; k < 4; ++k) scratch[k] = lookup[k];
  out[i] = b.f + scratch[i % 4];
  free(scratch);
  switch (mode) { case Mode::kAdd: out[i] += 1; break; default: break; }
}
#include <cuComplex.h>
__global__ void spectrum(cuFloatComplex *z, cuDoubleComplex w) {
    int i = threadIdx.x;
    z[i] = cuCmulf(z[i], make_cuFloatComplex((float)cuCreal(w), (float)cuCimag(w)));
    z[i].x += cuCabsf(z[i]);
}
)cuda";

struct Float3 { float x, y, z; };
struct Float4 { float x, y, z, w; };
struct Byte4 { uint8_t x, y, z, w; };

}  // namespace

TEST_CASE("bodies pull at each other in float and double") {
    Program corpus(kBodies, {"nbodyStep<float>", "nbodyStep<double>", "sumRows<Adder, 4>", "distances"});
    if (!corpus.present) return;
    constexpr uint32_t n = 256;
    const auto check = [&](const char* name, auto zero) {
        using T = decltype(zero);
        CAPTURE(name);
        auto old = corpus.gpu.pinned<T>(4 * n), next = corpus.gpu.pinned<T>(4 * n), speed = corpus.gpu.pinned<T>(4 * n);
        for (uint32_t i = 0; i < 4 * n; ++i) old[i] = i % 4 == 3 ? T(1 + i % 3) : static_cast<T>(std::sin(1.0 + i));
        corpus.run(name, shape_of(n / 64, 64, 64 * 4 * sizeof(T)), next.data(), old.data(), speed.data(), n, 0.5f,
                   static_cast<int>(n / 64));
        for (uint32_t i = 0; i < n; i += 17) {
            double pull[3] = {};
            for (uint32_t j = 0; j < n; ++j) {
                double r[3], square = 0.01;
                for (int k = 0; k < 3; ++k)
                    r[k] = double(old[4 * j + k]) - double(old[4 * i + k]), square += r[k] * r[k];
                for (int k = 0; k < 3; ++k) pull[k] += r[k] * double(old[4 * j + 3]) / (square * std::sqrt(square));
            }
            for (int k = 0; k < 3; ++k) {
                CHECK(double(speed[4 * i + k]) == doctest::Approx(0.5 * pull[k]).epsilon(1e-3));
                CHECK(double(next[4 * i + k]) ==
                      doctest::Approx(double(old[4 * i + k]) + 0.25 * pull[k]).epsilon(1e-3));
            }
        }
    };
    check("nbodyStep<float>", 0.0f);
    check("nbodyStep<double>", 0.0);

    auto in = corpus.gpu.pinned<Float4>(4 * 32);
    auto out = corpus.gpu.pinned<float>(n);
    for (int i = 0; i < 128; ++i) in[i] = {1.0f * i, 2, 3, 4};
    corpus.run("sumRows<Adder, 4>", shape_of(1, 32), static_cast<const Float4*>(in.data()), out.data(), 0.5f);
    for (int i = 0; i < 32; ++i) CHECK(out[i] == 4 * i + 32 * 6 + 4 * 9 + 4 * 1.5f);
    auto points = corpus.gpu.pinned<Float3>(n);
    for (uint32_t i = 0; i < n; ++i) points[i] = {3.0f * i + 1, 4.0f * i + 1, 1};
    corpus.run("distances", shape_of(2, 128), static_cast<const Float3*>(points.data()), out.data(),
               static_cast<int>(n));
    for (uint32_t i = 0; i < n; ++i) CHECK(out[i] == 5.0f * i);
}

TEST_CASE("a stencil that marches through planes agrees with the host") {
    Program corpus(kGrids, {"fdtd<2, 4>"});
    if (!corpus.present) return;
    constexpr int X = 50, Y = 19, Z = 7;
    auto in = corpus.gpu.pinned<float>(X * Y * Z), out = corpus.gpu.pinned<float>(X * Y * Z);
    for (int i = 0; i < X * Y * Z; ++i) in[i] = static_cast<float>(i * 37 % 64) * 6;
    auto shape = shape_of((X + 31) / 32, 32);
    shape.grid[1] = (Y + 3) / 4, shape.block[1] = 4;
    corpus.run("fdtd<2, 4>", shape, out.data(), static_cast<const float*>(in.data()), X, Y, Z, 2.0f);
    const auto at = [&](int x, int y, int z) {
        return x < 0 || y < 0 || z < 0 || x >= X || y >= Y || z >= Z ? 0.0f : in[(z * Y + y) * X + x];
    };
    for (int z = 0; z < Z; ++z)
        for (int y = 0; y < Y; ++y)
            for (int x = 0; x < X; ++x) {
                float value = 2 * at(x, y, z);
                for (int i = 1; i <= 2; ++i)
                    value += (at(x, y, z + i) + at(x, y, z - i) + at(x, y - i, z) + at(x, y + i, z) + at(x - i, y, z) +
                              at(x + i, y, z)) /
                             static_cast<float>(i + 1);
                CHECK(out[(z * Y + y) * X + x] == doctest::Approx(value));
            }
}

TEST_CASE("a convolution of rows by a kernel in constant memory agrees with the host") {
    Program corpus(kGrids, {"convolutionRowsKernel"});
    if (!corpus.present) return;
    constexpr int W = 192, H = 12;
    auto weights = corpus.gpu.pinned<float>(17), in = corpus.gpu.pinned<float>(W * H),
         out = corpus.gpu.pinned<float>(W * H);
    for (int i = 0; i < 17; ++i) weights[i] = static_cast<float>(i + 1);
    for (int i = 0; i < W * H; ++i) in[i] = static_cast<float>(i % 16);
    uint64_t address = 0, bytes = 0;
    REQUIRE_OK(gpo_module_get_symbol(corpus.module, "c_Kernel", &address, &bytes));
    REQUIRE(bytes == weights.bytes());
    REQUIRE_OK(gpo_copy_to_device(corpus.stream, address, weights.data(), bytes));
    auto shape = shape_of(W / 64, 16);
    shape.grid[1] = H / 4, shape.block[1] = 4;
    corpus.run("convolutionRowsKernel", shape, out.data(), in.data(), W, H, W);
    bool same = true;
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x) {
            float sum = 0;
            for (int j = -8; j <= 8; ++j)
                if (x + j >= 0 && x + j < W) sum += weights[8 - j] * in[y * W + x + j];
            same &= out[y * W + x] == sum;
        }
    CHECK(same);
}

TEST_CASE("Mandelbrot's set is drawn tile by tile as blocks come for them") {
    Program corpus(kGrids, {"mandelbrot<double>"});
    if (!corpus.present) return;
    constexpr int W = 70, H = 50, crunch = 64, across = (W + 15) / 16, tiles = across * ((H + 7) / 8);
    auto out = corpus.gpu.pinned<Byte4>(W * H);
    auto shape = shape_of(5, 16);
    shape.block[1] = 8;
    corpus.run("mandelbrot<double>", shape, out.data(), W, H, crunch, -2.0, -1.0, 0.04, Byte4{3, 5, 7, 0}, across,
               tiles);
    int differing = 0;
    for (int py = 0; py < H; ++py)
        for (int px = 0; px < W; ++px) {
            const double cx = px * 0.04 - 2.0, cy = py * 0.04 - 1.0;
            double x = cx, y = cy;
            int i = crunch;
            while (--i && x * x + y * y < 4.0) {
                const double next = x * y * 2.0 + cy;
                x = x * x - y * y + cx;
                y = next;
            }
            const int m = i > 0 ? crunch - i : 0;
            const Byte4& got = out[py * W + px];
            differing += got.x != static_cast<uint8_t>(3 * m) || got.y != static_cast<uint8_t>(5 * m) ||
                         got.z != static_cast<uint8_t>(7 * m);
        }
    // Points on the border may fall to either side: a product and a sum are one operation or two.
    CHECK(differing <= W * H / 100);
}

TEST_CASE("Jacobi's method runs in one cooperative launch") {
    Program corpus(kGrids, {"jacobi"});
    if (!corpus.present) return;
    constexpr int n = 96;
    auto A = corpus.gpu.pinned<float>(n * n);
    auto b = corpus.gpu.pinned<double>(n), x = corpus.gpu.pinned<double>(n), next = corpus.gpu.pinned<double>(n),
         sum = corpus.gpu.pinned<double>(1);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) A[i * n + j] = i == j ? 2.0f * n : 1.0f;
        b[i] = 3.0 * n - 1;   // all ones solve it
    }
    auto shape = shape_of(4, 128);
    shape.flags = GPO_LAUNCH_COOPERATIVE;
    corpus.run("jacobi", shape, static_cast<const float*>(A.data()), static_cast<const double*>(b.data()), x.data(),
               next.data(), sum.data(), n, 61);
    for (const double value : next) CHECK(value == doctest::Approx(1.0).epsilon(1e-9));
    CHECK(sum[0] == doctest::Approx(n).epsilon(1e-9));
}

TEST_CASE("tables of functions, virtual functions, memory from within, enumerations, unions and complex numbers") {
    Program corpus(kLanguage, {"compute<float>", "spectrum"});
    if (!corpus.present) return;
    constexpr int n = 100;
    auto out = corpus.gpu.pinned<float>(n);
    const int lookup[] = {1, 2, 3, 5};
    for (const int mode : {0, 1}) {
        corpus.run("compute<float>", shape_of(2, 64), out.data(), n, mode);
        for (int i = 0; i < n; ++i) {
            const auto f = static_cast<float>(i);
            const float area = i & 1 ? f * f : 3 * f * f, weight = static_cast<float>(i % 3 * 2 + i % 2 + 1);
            CHECK(out[i] == (mode ? area * weight : area + weight + 1) + static_cast<float>(lookup[i % 4]));
        }
    }
    struct Complex { float x, y; };
    struct alignas(16) Wide { double x, y; };
    auto z = corpus.gpu.pinned<Complex>(8);
    for (int i = 0; i < 8; ++i) z[i] = {3.0f * i, 4.0f * i};
    corpus.run("spectrum", shape_of(1, 8), z.data(), Wide{0, 1});
    for (int i = 0; i < 8; ++i) {
        CHECK(z[i].x == doctest::Approx(-4.0f * i + 5.0f * i));
        CHECK(z[i].y == 3.0f * i);
    }
}
