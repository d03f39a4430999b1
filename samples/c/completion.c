/* The first program (first.c) with a completion queue in place of the wait. A program with an event loop watches the
 * queue's descriptor (gpo_cq_get_fd) instead of calling gpo_cq_wait. Each object is destroyed by itself.
 *     cc completion.c $(pkg-config --cflags --libs gpuorch) -o completion && ./completion */
#include <gpuorch/gpuorch.h>
#include <stdio.h>

#define N (1 << 20)
#define TRY(call)                                                                             \
    do {                                                                                      \
        if ((call) != GPO_SUCCESS) {                                                          \
            gpo_error error = {.struct_size = sizeof error};                                  \
            gpo_last_error(&error);                                                           \
            fprintf(stderr, "%s: %s\n", error.function, error.message);                       \
            return 1;                                                                         \
        }                                                                                     \
    } while (0)

static const char source[] =
    "extern \"C\" __global__ void halve(float *x, unsigned n) {\n"
    "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) x[i] *= 0.5f;\n"
    "}\n";

int main(void) {
    gpo_runtime_t runtime;
    gpo_device_t device;
    gpo_stream_t stream;
    gpo_cq_t done;
    gpo_arena_t arena;
    gpo_module_t module;
    gpo_kernel_t halve;
    TRY(gpo_runtime_create(NULL, &runtime)); /* CUDA where there is a GPU, else the software GPU */
    TRY(gpo_device_open(runtime, NULL, &device));
    TRY(gpo_stream_create(device, NULL, &stream));
    TRY(gpo_cq_create(runtime, NULL, &done));
    TRY(gpo_arena_create(device, NULL, &arena));
    gpo_compile_options compile = {.struct_size = sizeof compile, .source = source};
    TRY(gpo_module_compile(device, &compile, &module));
    TRY(gpo_module_get_kernel(module, "halve", &halve));

    void *memory;
    uint64_t x;
    TRY(gpo_arena_allocate(arena, N * sizeof(float), GPO_AUTO, &memory)); /* pinned: copies run beside other work */
    TRY(gpo_memory_allocate(device, N * sizeof(float), "x", &x));
    float *host = memory;
    for (unsigned i = 0; i < N; ++i) host[i] = (float)i;

    unsigned n = N;
    const void *arguments[] = {&x, &n};
    gpo_launch launch = {.struct_size = sizeof launch, .grid = {N / 256}, .block = {256}};
    TRY(gpo_copy_to_device(stream, x, host, N * sizeof(float)));
    TRY(gpo_stream_launch_kernel(stream, halve, &launch, arguments, NULL, 2));
    TRY(gpo_copy_to_host(stream, host, x, N * sizeof(float)));
    TRY(gpo_stream_notify(stream, done, 42)); /* nothing above has waited for the GPU */

    gpo_completion entry;
    uint64_t count = 0;
    TRY(gpo_cq_wait(done, -1));
    TRY(gpo_cq_drain(done, &entry, sizeof entry, 1, &count));
    printf("%llu: %s, x[1000] is %g\n", (unsigned long long)entry.user_data, gpo_status_name(entry.status), host[1000]);

    TRY(gpo_memory_free(device, x));
    TRY(gpo_arena_free(arena, memory));
    gpo_kernel_destroy(halve);
    gpo_module_destroy(module);
    gpo_arena_destroy(arena);
    gpo_cq_destroy(done);
    gpo_stream_destroy(stream);
    gpo_device_close(device);
    return gpo_runtime_shutdown(runtime, -1) == GPO_SUCCESS ? 0 : 1;
}
