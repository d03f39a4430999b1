/* Tasks that differ in length: a picture of the Mandelbrot set, whose rows take from no time to long. Shared out before
 * the launch, some warps have all the long rows, and the others wait for them. A range hands the rows out while the
 * kernel runs; with what each row took the last time, it hands out the longest ones first.
 *     cc uneven_work.c $(pkg-config --cflags --libs gpuorch) -o uneven_work && ./uneven_work */
#include <gpuorch/gpuorch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define ROWS 512
#define COLUMNS 256
#define TURNS 256
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
    "#include <gpuorch/device/queue.cuh>\n"
    "enum { rows = 512, columns = 256, turns = 256 };\n"
    /* How soon each point of a row leaves the circle; the lanes of a warp do a row together. `costs` gets what it
     * took. */
    "static __device__ void draw(unsigned row, unsigned *picture, float *costs) {\n"
    "    unsigned lane = threadIdx.x % 32, most = 0;\n"
    "    for (unsigned column = lane; column < columns; column += 32) {\n"
    "        float a = -2.2f + 3.0f * column / columns, b = -0.2f + 2.6f * row / rows, x = 0, y = 0;\n"
    "        unsigned turn = 0;\n"
    "        for (; turn < turns && x * x + y * y < 4; ++turn) {\n"
    "            float next = x * x - y * y + a;\n"
    "            y = 2 * x * y + b;\n"
    "            x = next;\n"
    "        }\n"
    "        picture[row * columns + column] = turn;\n"
    "        most += turn;\n"
    "    }\n"
    "    for (unsigned apart = 16; apart; apart /= 2) most += __shfl_xor_sync(~0u, most, apart);\n"
    "    if (lane == 0) costs[row] = (float)most;\n"
    "}\n"
    /* Each warp has as many neighbouring rows. */
    "extern \"C\" __global__ void shared_out(unsigned *picture, float *costs) {\n"
    "    unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = gridDim.x * blockDim.x / 32;\n"
    "    for (unsigned row = rows * warp / warps; row < rows * (warp + 1) / warps; ++row) draw(row, picture, costs);\n"
    "}\n"
    /* Each warp takes the next free row. */
    "extern \"C\" __global__ void handed_out(unsigned *picture, float *costs, gpo::range range) {\n"
    "    unsigned long long first, last;\n"
    "    gpo::warp_range worker(range);\n"
    "    while (worker.next(first, last) == gpo::queue_success)\n"
    "        for (; first < last; ++first) draw((unsigned)worker.number(first), picture, costs);\n"
    "}\n";

typedef struct {
    gpo_stream_t stream;
    gpo_queue_t range;
    uint64_t picture, costs; /* in device memory */
} drawing;

static unsigned pictures[3][ROWS * COLUMNS];

/* Draws several times; the fastest counts. */
static int draw(const drawing *d, gpo_kernel_t kernel, unsigned parameters, const char *name, unsigned *picture) {
    unsigned char range[GPO_QUEUE_HANDLE_BYTES];
    const void *arguments[] = {&d->picture, &d->costs, range};
    gpo_launch launch = {.struct_size = sizeof launch, .grid = {8}, .block = {128}};
    double best = 1e9;
    TRY(gpo_queue_get_device_handle(d->range, range, sizeof range, NULL));
    for (int round = 0; round < 5; ++round) {
        struct timespec from, to;
        timespec_get(&from, TIME_UTC);
        TRY(gpo_stream_launch_kernel(d->stream, kernel, &launch, arguments, NULL, parameters));
        TRY(gpo_stream_wait(d->stream, -1));
        timespec_get(&to, TIME_UTC);
        double ms = (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) * 1e-6;
        if (ms < best) best = ms;
    }
    TRY(gpo_copy_to_host(d->stream, picture, d->picture, sizeof pictures[0]));
    TRY(gpo_stream_wait(d->stream, -1));
    printf("%s: %.2f ms\n", name, best);
    return 0;
}

int main(void) {
    static float costs[ROWS];
    gpo_runtime_t runtime;
    gpo_device_t device;
    gpo_module_t module;
    gpo_kernel_t shared_out, handed_out;
    drawing d;
    TRY(gpo_runtime_create(NULL, &runtime));
    TRY(gpo_device_open(runtime, NULL, &device));
    TRY(gpo_stream_create(device, NULL, &d.stream));
    gpo_compile_options compile = {.struct_size = sizeof compile, .source = source};
    TRY(gpo_module_compile(device, &compile, &module));
    TRY(gpo_module_get_kernel(module, "shared_out", &shared_out));
    TRY(gpo_module_get_kernel(module, "handed_out", &handed_out));
    TRY(gpo_memory_allocate(device, sizeof pictures[0], "picture", &d.picture));
    TRY(gpo_memory_allocate(device, sizeof costs, "costs", &d.costs));

    gpo_queue_options rows = {.struct_size = sizeof rows, .kind = GPO_QUEUE_RANGE, .count = ROWS, .label = "rows"};
    TRY(gpo_queue_create(device, &rows, &d.range));
    if (draw(&d, shared_out, 2, "as many rows to each warp", pictures[0])) return 1;
    if (draw(&d, handed_out, 3, "a row at a time", pictures[1])) return 1;
    TRY(gpo_copy_to_host(d.stream, costs, d.costs, sizeof costs));
    TRY(gpo_stream_wait(d.stream, -1));
    TRY(gpo_queue_set_costs(d.range, d.stream, costs, ROWS)); /* what each row took */
    if (draw(&d, handed_out, 3, "the longest rows first", pictures[2])) return 1;
    for (int i = 1; i < 3; ++i)
        if (memcmp(pictures[0], pictures[i], sizeof pictures[0]) != 0) return fputs("the pictures differ\n", stderr), 1;

    gpo_queue_destroy(d.range);
    TRY(gpo_memory_free(device, d.costs));
    TRY(gpo_memory_free(device, d.picture));
    gpo_kernel_destroy(handed_out);
    gpo_kernel_destroy(shared_out);
    gpo_module_destroy(module);
    gpo_stream_destroy(d.stream);
    gpo_device_close(device);
    return gpo_runtime_shutdown(runtime, -1) == GPO_SUCCESS ? 0 : 1;
}
