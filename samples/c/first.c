/* A first program: a kernel from source, its data on a stream, and one wait for the result.
 *     cc first.c $(pkg-config --cflags --libs gpuorch) -o first && ./first
 *
 * The short form: a status is 0 on success, so calls are joined by ||. The runtime's shutdown frees everything.
 * completion.c has a completion in place of the wait, and destroys each object by itself. */
/* clang-format off */
#include <gpuorch/gpuorch.h>
#include <stdio.h>
int main(void) {
    static float host[1 << 20];
    gpo_runtime_t runtime; gpo_device_t device; gpo_stream_t stream; gpo_module_t module; gpo_kernel_t halve;
    gpo_error error = {.struct_size = sizeof error};
    gpo_compile_options code = {.struct_size = sizeof code, .source =
        "extern \"C\" __global__ void halve(float *x, unsigned n) {"
        "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 0.5f; }"};
    unsigned n = 1 << 20;
    uint64_t x;
    const void *arguments[] = {&x, &n};
    gpo_launch launch = {.struct_size = sizeof launch, .grid = {n / 256}, .block = {256}};
    for (unsigned i = 0; i < n; ++i) host[i] = (float)i;
    if (gpo_runtime_create(NULL, &runtime) || /* CUDA where there is a GPU, else the software GPU */
        gpo_device_open(runtime, NULL, &device) || gpo_stream_create(device, NULL, &stream) ||
        gpo_module_compile(device, &code, &module) || gpo_module_get_kernel(module, "halve", &halve) ||
        gpo_host_register(device, host, sizeof host, 0) || /* pinned: copies run beside other work */
        gpo_memory_allocate(device, sizeof host, "x", &x) || gpo_copy_to_device(stream, x, host, sizeof host) ||
        gpo_stream_launch_kernel(stream, halve, &launch, arguments, NULL, 2) ||
        gpo_copy_to_host(stream, host, x, sizeof host) || gpo_stream_wait(stream, -1)) /* only this waits for the GPU */
        return gpo_last_error(&error), fprintf(stderr, "%s: %s\n", error.function, error.message), 1;
    printf("x[1000] is %g\n", host[1000]);
    return gpo_runtime_shutdown(runtime, -1);
}
