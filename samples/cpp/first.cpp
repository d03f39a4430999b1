// A first program: a kernel from source, its data on a stream, and a call in place of a wait for the GPU. The program
// runs on CUDA where there is a GPU, else on the software GPU.
//     c++ -std=c++17 first.cpp $(pkg-config --cflags --libs gpuorch) -o first && ./first
#include <cstdio>
#include <gpuorch/gpuorch.hpp>
constexpr char source[] = R"(extern "C" __global__ void halve(float *x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 0.5f; })";
int main() try {
    const unsigned n = 1 << 20;
    auto runtime = gpuorch::runtime::create();
    auto device = runtime.open_device();
    auto stream = device.create_stream();
    auto executor = runtime.create_executor();
    auto halve = device.compile(source).kernel("halve");
    auto arena = device.create_arena();
    auto host = arena.allocate<float>(n);  // pinned: copies run beside other work
    auto x = device.allocate<float>(n);
    for (unsigned i = 0; i < n; ++i) host[i] = static_cast<float>(i);
    stream.copy_to_device(x, host);
    halve.launch(stream, n / 256, 256, x, n);
    stream.copy_to_host(host, x);
    stream.then(executor, [&](gpo_status s) { std::printf("%s, x[1000] is %g\n", gpo_status_name(s), host[1000]); });
    executor.run();  // calls it; nothing above has waited for the GPU
} catch (const gpuorch::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
