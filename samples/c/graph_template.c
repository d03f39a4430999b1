/* A graph template: a copy in, a kernel and a copy out are recorded once, and launched three times with one call each,
 * with another factor each time. Setting the factor costs no call of the driver.
 *     cc graph_template.c $(pkg-config --cflags --libs gpuorch) -o graph_template && ./graph_template */
#include <gpuorch/gpuorch.h>
#include <stdio.h>

#define N 4096
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
    "extern \"C\" __global__ void scale(float *x, float factor, unsigned n) {\n"
    "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) x[i] *= factor;\n"
    "}\n";

int main(void) {
    gpo_runtime_t runtime;
    gpo_device_t device;
    gpo_stream_t stream;
    gpo_arena_t arena;
    gpo_module_t module;
    gpo_kernel_t scale;
    TRY(gpo_runtime_create(NULL, &runtime));
    TRY(gpo_device_open(runtime, NULL, &device));
    TRY(gpo_stream_create(device, NULL, &stream));
    TRY(gpo_arena_create(device, NULL, &arena));
    gpo_compile_options compile = {.struct_size = sizeof compile, .source = source};
    TRY(gpo_module_compile(device, &compile, &module));
    TRY(gpo_module_get_kernel(module, "scale", &scale));

    void *memory;
    uint64_t x;
    TRY(gpo_arena_allocate(arena, N * sizeof(float), GPO_AUTO, &memory)); /* pinned: recorded copies need that */
    TRY(gpo_memory_allocate(device, N * sizeof(float), "x", &x));
    float *host = memory;
    for (unsigned i = 0; i < N; ++i) host[i] = (float)i;

    unsigned n = N;
    float factor = 1;
    const void *arguments[] = {&x, &factor, &n};
    gpo_launch launch = {.struct_size = sizeof launch, .grid = {N / 256}, .block = {256}};
    gpo_template_t step;
    gpo_graph_t graph;
    uint32_t node;
    TRY(gpo_template_create(device, NULL, &step));
    TRY(gpo_template_begin(step, stream)); /* what is put on the stream is recorded, and doesn't run */
    TRY(gpo_copy_to_device(stream, x, host, N * sizeof(float)));
    TRY(gpo_stream_launch_kernel(stream, scale, &launch, arguments, NULL, 3));
    TRY(gpo_template_get_last_node(step, stream, &node));
    TRY(gpo_template_add_parameter(step, "factor", node, GPO_PARAMETER_ARGUMENT, 1));
    TRY(gpo_copy_to_host(stream, host, x, N * sizeof(float)));
    TRY(gpo_template_end(step));
    TRY(gpo_graph_create(step, NULL, &graph));

    for (factor = 2; factor <= 4; ++factor) {
        TRY(gpo_graph_set(graph, "factor", &factor, sizeof factor));
        TRY(gpo_graph_launch(graph, stream));
        TRY(gpo_stream_wait(stream, -1)); /* only to print what came out */
        printf("times %g: x[100] is %g\n", factor, host[100]);
    }

    gpo_graph_destroy(graph);
    gpo_template_destroy(step);
    TRY(gpo_memory_free(device, x));
    TRY(gpo_arena_free(arena, memory));
    gpo_kernel_destroy(scale);
    gpo_module_destroy(module);
    gpo_arena_destroy(arena);
    gpo_stream_destroy(stream);
    gpo_device_close(device);
    return gpo_runtime_shutdown(runtime, -1) == GPO_SUCCESS ? 0 : 1;
}
