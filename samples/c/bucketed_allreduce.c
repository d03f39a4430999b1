/* Data-parallel training, the part that is about GPUs: each device computes the gradients of its share of the data,
 * layer by layer, and all devices need the sum. The gradients of a few layers are a *bucket*. While a bucket is being
 * summed over the devices, on streams of its own, the next one is being computed.
 *     cc bucketed_allreduce.c $(pkg-config --cflags --libs gpuorch) -o bucketed_allreduce
 *     GPUORCH_SOFT_DEVICES=4 ./bucketed_allreduce        or without the variable, on the machine's GPUs */
#include <gpuorch/gpuorch.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BUCKETS 8
#define MOST_DEVICES 8
#define STEPS 5
#define TRY(call)                                                                             \
    do {                                                                                      \
        if ((call) != GPO_SUCCESS) {                                                          \
            gpo_error error = {.struct_size = sizeof error};                                  \
            gpo_last_error(&error);                                                           \
            fprintf(stderr, "%s: %s\n", error.function, error.message);                       \
            return 1;                                                                         \
        }                                                                                     \
    } while (0)

/* In place of a layer's backward pass: some work for each gradient, and a number whose sum is easily checked. */
static const char source[] =
    "extern \"C\" __global__ void backward(float *gradients, unsigned n, unsigned rank, unsigned bucket,\n"
    "                                    unsigned turns) {\n"
    "    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {\n"
    "        unsigned x = i + 1;\n"
    "        for (unsigned turn = 0; turn < turns; ++turn) { x ^= x << 13; x ^= x >> 17; x ^= x << 5; }\n"
    "        gradients[i] = (float)(rank + 1) * (float)(bucket + i % 16) + (x == 0);\n"
    "    }\n"
    "}\n";

typedef struct {
    gpo_device_t device;
    gpo_stream_t computing, summing;
    gpo_event_t computed[BUCKETS], summed;
    gpo_module_t module;
    gpo_kernel_t backward;
    uint64_t gradients;     /* BUCKETS pieces */
} rank_t;

static unsigned count;      /* gradients of a bucket */
static unsigned turns;      /* how much work each is */

static int open_rank(gpo_runtime_t runtime, uint32_t number, rank_t *rank) {
    gpo_device_options options = {.struct_size = sizeof options, .ordinal = number};
    gpo_compile_options compile = {.struct_size = sizeof compile, .source = source};
    TRY(gpo_device_open(runtime, &options, &rank->device));
    TRY(gpo_stream_create(rank->device, NULL, &rank->computing));
    TRY(gpo_stream_create(rank->device, NULL, &rank->summing));
    for (int bucket = 0; bucket < BUCKETS; ++bucket) TRY(gpo_event_create(rank->device, NULL, &rank->computed[bucket]));
    TRY(gpo_event_create(rank->device, NULL, &rank->summed));
    TRY(gpo_module_compile(rank->device, &compile, &rank->module));
    TRY(gpo_module_get_kernel(rank->module, "backward", &rank->backward));
    TRY(gpo_memory_allocate(rank->device, (uint64_t)BUCKETS * count * sizeof(float), "gradients", &rank->gradients));
    return 0;
}

/* A step of all ranks. With `overlap` the sums are on streams of their own, otherwise behind the kernels. */
static int step(gpo_peers_t peers, rank_t *ranks, uint32_t devices, int overlap) {
    gpo_collective sum = {.struct_size = sizeof sum, .kind = GPO_COLLECTIVE_ALL_REDUCE, .type = GPO_TYPE_FLOAT32,
                          .reduction = GPO_REDUCE_SUM, .count = count, .label = "gradients"};
    for (unsigned bucket = 0; bucket < BUCKETS; ++bucket) {
        gpo_rank_part parts[MOST_DEVICES] = {0};
        for (uint32_t number = 0; number < devices; ++number) {
            rank_t *rank = &ranks[number];
            uint64_t piece = rank->gradients + (uint64_t)bucket * count * sizeof(float);
            gpo_launch launch = {.struct_size = sizeof launch, .grid = {64}, .block = {256}};
            const void *arguments[] = {&piece, &count, &number, &bucket, &turns};
            TRY(gpo_stream_launch_kernel(rank->computing, rank->backward, &launch, arguments, NULL, 5));
            parts[number] = (gpo_rank_part){.struct_size = sizeof parts[0], .send = piece, .receive = piece,
                                            .stream = overlap ? rank->summing : rank->computing};
            if (!overlap) continue;
            TRY(gpo_event_record(rank->computed[bucket], rank->computing));
            TRY(gpo_stream_wait_event(rank->summing, rank->computed[bucket]));
        }
        TRY(gpo_peers_submit(peers, &sum, parts, sizeof parts[0], devices));
    }
    /* The next step, or the optimizer, needs the sums. */
    for (uint32_t number = 0; number < devices && overlap; ++number) {
        TRY(gpo_event_record(ranks[number].summed, ranks[number].summing));
        TRY(gpo_stream_wait_event(ranks[number].computing, ranks[number].summed));
    }
    return 0;
}

static double now_ms(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int run(gpo_peers_t peers, rank_t *ranks, uint32_t devices, int overlap, double *ms) {
    if (step(peers, ranks, devices, overlap)) return 1; /* warm */
    for (uint32_t number = 0; number < devices; ++number) TRY(gpo_stream_wait(ranks[number].computing, -1));
    double begin = now_ms();
    for (int turn = 0; turn < STEPS; ++turn)
        if (step(peers, ranks, devices, overlap)) return 1;
    for (uint32_t number = 0; number < devices; ++number) TRY(gpo_stream_wait(ranks[number].computing, -1));
    *ms = (now_ms() - begin) / STEPS;
    return 0;
}

static int check(rank_t *ranks, uint32_t devices, unsigned long *wrong) {
    float *copy = malloc(count * sizeof(float));
    if (!copy) return 1;
    for (uint32_t number = 0; number < devices; ++number)
        for (unsigned bucket = 0; bucket < BUCKETS; ++bucket) {
            TRY(gpo_copy_to_host(ranks[number].computing, copy,
                                 ranks[number].gradients + (uint64_t)bucket * count * sizeof(float),
                                 count * sizeof(float)));
            TRY(gpo_stream_wait(ranks[number].computing, -1));
            for (unsigned i = 0; i < count; ++i)
                *wrong += copy[i] != (float)(devices * (devices + 1) / 2) * (float)(bucket + i % 16);
        }
    free(copy);
    return 0;
}

int main(void) {
    gpo_runtime_t runtime;
    uint32_t devices = 0;
    rank_t ranks[MOST_DEVICES];
    gpo_device_t handles[MOST_DEVICES];
    gpo_peers_t peers;
    gpo_driver_info driver = {.struct_size = sizeof driver};
    TRY(gpo_runtime_create(NULL, &runtime));
    TRY(gpo_runtime_get_device_count(runtime, &devices));
    TRY(gpo_runtime_get_driver(runtime, &driver));
    if (devices > MOST_DEVICES) devices = MOST_DEVICES;
    count = driver.software ? 1u << 15 : 1u << 23;
    turns = driver.software ? 40 : 30;
    for (uint32_t number = 0; number < devices; ++number) {
        if (open_rank(runtime, number, &ranks[number])) return 1;
        handles[number] = ranks[number].device;
    }
    TRY(gpo_peers_create(handles, devices, NULL, &peers));

    double apart = 0, together = 0;
    unsigned long wrong = 0;
    if (run(peers, ranks, devices, 0, &apart) || check(ranks, devices, &wrong) ||
        run(peers, ranks, devices, 1, &together) || check(ranks, devices, &wrong))
        return 1;
    printf(
        "%u devices, %d buckets of %u gradients: %.2f ms a step, %.2f ms with sums beside the next bucket, %lu wrong\n",
        devices, BUCKETS, count, apart, together, wrong);

    TRY(gpo_peers_destroy(peers));
    for (uint32_t number = 0; number < devices; ++number) {
        rank_t *rank = &ranks[number];
        TRY(gpo_memory_free(rank->device, rank->gradients));
        gpo_kernel_destroy(rank->backward);
        gpo_module_destroy(rank->module);
        for (int bucket = 0; bucket < BUCKETS; ++bucket) gpo_event_destroy(rank->computed[bucket]);
        gpo_event_destroy(rank->summed);
        gpo_stream_destroy(rank->computing);
        gpo_stream_destroy(rank->summing);
        gpo_device_close(rank->device);
    }
    return gpo_runtime_shutdown(runtime, -1) == GPO_SUCCESS && wrong == 0 ? 0 : 1;
}
