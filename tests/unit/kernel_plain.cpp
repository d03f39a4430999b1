// Kernels whose threads don't wait for each other: from source to results.
#include "kernel_device.h"

using namespace kernel_test;

TEST_CASE("a kernel is compiled, loaded and run, and agrees with the host") {
    const Program program(R"(
extern "C" __global__ void saxpy(float *y, const float *x, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
})");
    Device device;
    std::vector<float> x(1000), y(1000);
    for (int i = 0; i < 1000; ++i) x[i] = i, y[i] = 2 * i;
    const gpo_soft_kernel& kernel = program.kernel("saxpy");
    CHECK((kernel.flags & GPO_SOFT_KERNEL_WAITS) == 0);
    device.run(kernel, {{8, 1, 1}, {128, 1, 1}}, y.data(), static_cast<const float*>(x.data()), 3.0f, 1000);
    for (int i = 0; i < 1000; ++i) CHECK(y[i] == 5.0f * i);
}
