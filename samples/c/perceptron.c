/* A small network is trained on all devices of the machine at once. Each device has a copy of the network and a share
 * of the data. In each step it computes the gradients of its share, layer by layer, beginning at the last. While the
 * gradients of one layer are summed over the devices, the gradients of the layer before are computed. Then every device
 * takes the same step. Training on one device, share after share, has the same result, bit for bit.
 *     cc perceptron.c $(pkg-config --cflags --libs gpuorch) -lm -o perceptron
 *     GPUORCH_SOFT_DEVICES=4 ./perceptron        or without the variable, on the machine's GPUs
 *     ./perceptron training.svg                  draws some steps: the sums lie beside the kernels */
#include <gpuorch/gpuorch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUTS 8
#define HIDDEN 16
#define FIRST (INPUTS * HIDDEN + HIDDEN)   /* weights and biases of the first layer */
#define SECOND (HIDDEN + 1)                /* and of the second */
#define PARAMETERS (FIRST + SECOND)
#define GRADIENTS (PARAMETERS + 1)         /* the last one is the loss */
#define SAMPLES 480
#define STEPS 60
#define DRAWN 2                            /* steps in the picture */
#define RATE 0.5f
#define MOST_DEVICES 8
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
    "enum { inputs = 8, hidden = 16, first = inputs * hidden + hidden, second = hidden + 1 };\n"
    /* Gradients of one layer, summed over the samples in order: each thread has a parameter. One block. */
    "extern \"C\" __global__ void gradients(const float *w, const float *data, unsigned samples, unsigned layer,\n"
    "                                     float *out) {\n"
    "    __shared__ float h[hidden];\n"
    "    unsigned mine = threadIdx.x, at = layer == 1 ? mine : first + mine;\n"
    "    unsigned count = layer == 1 ? first : second + 1;\n"
    "    float sum = 0;\n"
    "    for (unsigned s = 0; s < samples; ++s) {\n"
    "        const float *x = data + s * (inputs + 1);\n"
    "        __syncthreads();\n"
    "        if (mine < hidden) {\n"
    "            float z = w[inputs * hidden + mine];\n"
    "            for (unsigned i = 0; i < inputs; ++i) z += w[mine * inputs + i] * x[i];\n"
    "            h[mine] = z / (1 + fabsf(z));\n"
    "        }\n"
    "        __syncthreads();\n"
    "        float y = w[first + hidden];\n"
    "        for (unsigned j = 0; j < hidden; ++j) y += w[first + j] * h[j];\n"
    "        float wrong = y - x[inputs];\n"
    "        if (layer == 2) {\n"
    "            sum += mine < hidden ? wrong * h[mine] : mine == hidden ? wrong : wrong * wrong;\n"
    "        } else if (mine < first) {\n"
    "            unsigned j = mine < inputs * hidden ? mine / inputs : mine - inputs * hidden;\n"
    "            float slope = 1 - fabsf(h[j]);\n"
    "            sum += wrong * w[first + j] * slope * slope * (mine < inputs * hidden ? x[mine % inputs] : 1);\n"
    "        }\n"
    "    }\n"
    "    if (mine < count) out[at] = sum;\n"
    "}\n"
    "extern \"C\" __global__ void add(float *to, const float *from, unsigned n) {\n"
    "    if (threadIdx.x < n) to[threadIdx.x] = to[threadIdx.x] + from[threadIdx.x];\n"
    "}\n"
    "extern \"C\" __global__ void descend(float *w, const float *out, unsigned n, float rate) {\n"
    "    if (threadIdx.x < n) w[threadIdx.x] -= rate * out[threadIdx.x];\n"
    "}\n";

typedef struct {
    gpo_device_t device;
    gpo_stream_t computing, summing;
    gpo_event_t computed, summed;
    gpo_module_t module;
    gpo_kernel_t gradients, add, descend;
    uint64_t weights, out, share, data;   /* device memory; `data` has all samples */
} rank_t;

static float data[SAMPLES][INPUTS + 1];   /* inputs, and what the network is to say */
static float start[PARAMETERS];

static void make_data(void) {
    uint32_t x = 12345;
    for (int s = 0; s < SAMPLES; ++s) {
        float sum = 0;
        for (int i = 0; i < INPUTS; ++i) {
            x = x * 1664525u + 1013904223u;
            data[s][i] = (float)(x >> 16) / 32768.0f - 1;
            sum += (i % 2 ? 1.0f : -1.0f) * data[s][i];
        }
        data[s][INPUTS] = sum > 0 ? 1.0f : -1.0f;
    }
    for (int p = 0; p < PARAMETERS; ++p) {
        x = x * 1664525u + 1013904223u;
        start[p] = ((float)(x >> 16) / 32768.0f - 1) * 0.5f;
    }
}

static int open_rank(gpo_runtime_t runtime, uint32_t number, rank_t *rank) {
    gpo_device_options options = {.struct_size = sizeof options, .ordinal = number};
    gpo_compile_options compile = {.struct_size = sizeof compile, .source = source};
    TRY(gpo_device_open(runtime, &options, &rank->device));
    TRY(gpo_stream_create(rank->device,
                          &(gpo_stream_options){.struct_size = sizeof(gpo_stream_options), .label = "compute"},
                          &rank->computing));
    TRY(gpo_stream_create(rank->device,
                          &(gpo_stream_options){.struct_size = sizeof(gpo_stream_options), .label = "sum"},
                          &rank->summing));
    TRY(gpo_event_create(rank->device, NULL, &rank->computed));
    TRY(gpo_event_create(rank->device, NULL, &rank->summed));
    TRY(gpo_module_compile(rank->device, &compile, &rank->module));
    TRY(gpo_module_get_kernel(rank->module, "gradients", &rank->gradients));
    TRY(gpo_module_get_kernel(rank->module, "add", &rank->add));
    TRY(gpo_module_get_kernel(rank->module, "descend", &rank->descend));
    TRY(gpo_memory_allocate(rank->device, PARAMETERS * sizeof(float), "weights", &rank->weights));
    TRY(gpo_memory_allocate(rank->device, GRADIENTS * sizeof(float), "gradients", &rank->out));
    TRY(gpo_memory_allocate(rank->device, GRADIENTS * sizeof(float), "share", &rank->share));
    TRY(gpo_memory_allocate(rank->device, sizeof data, "data", &rank->data));
    TRY(gpo_copy_to_device(rank->computing, rank->data, data, sizeof data));
    return 0;
}

static int close_rank(rank_t *rank) {
    const uint64_t memory[] = {rank->weights, rank->out, rank->share, rank->data};
    for (int i = 0; i < 4; ++i) TRY(gpo_memory_free(rank->device, memory[i]));
    gpo_kernel_destroy(rank->gradients);
    gpo_kernel_destroy(rank->add);
    gpo_kernel_destroy(rank->descend);
    gpo_module_destroy(rank->module);
    gpo_event_destroy(rank->computed);
    gpo_event_destroy(rank->summed);
    gpo_stream_destroy(rank->computing);
    gpo_stream_destroy(rank->summing);
    gpo_device_close(rank->device);
    return 0;
}

static int launch(rank_t *rank, gpo_kernel_t kernel, const void *const *arguments, uint32_t count) {
    gpo_launch shape = {.struct_size = sizeof shape, .grid = {1}, .block = {160}}; /* a thread for each parameter */
    TRY(gpo_stream_launch_kernel(rank->computing, kernel, &shape, arguments, NULL, count));
    return 0;
}

/* The gradients of a layer over one share of the data. */
static int compute(rank_t *rank, unsigned layer, unsigned share, unsigned shares, uint64_t out) {
    unsigned samples = SAMPLES / shares;
    uint64_t from = rank->data + (uint64_t)share * samples * sizeof data[0];
    const void *arguments[] = {&rank->weights, &from, &samples, &layer, &out};
    return launch(rank, rank->gradients, arguments, 5);
}

static int descend(rank_t *rank) {
    unsigned n = PARAMETERS;
    float rate = RATE / SAMPLES;
    const void *arguments[] = {&rank->weights, &rank->out, &n, &rate};
    return launch(rank, rank->descend, arguments, 4);
}

/* A step on all devices. */
static int step(gpo_peers_t peers, rank_t *ranks, uint32_t devices) {
    for (unsigned layer = 2; layer >= 1; --layer) {
        const uint64_t first = layer == 1 ? 0 : FIRST;
        gpo_collective sum = {.struct_size = sizeof sum, .kind = GPO_COLLECTIVE_ALL_REDUCE, .type = GPO_TYPE_FLOAT32,
                              .reduction = GPO_REDUCE_SUM, .count = layer == 1 ? FIRST : SECOND + 1,
                              .label = layer == 1 ? "first layer" : "second layer"};
        gpo_rank_part parts[MOST_DEVICES] = {0};
        for (uint32_t number = 0; number < devices; ++number) {
            rank_t *rank = &ranks[number];
            if (compute(rank, layer, number, devices, rank->out)) return 1;
            TRY(gpo_event_record(rank->computed, rank->computing));
            TRY(gpo_stream_wait_event(rank->summing, rank->computed));
            parts[number].struct_size = sizeof parts[0];
            parts[number].stream = rank->summing;
            parts[number].send = parts[number].receive = rank->out + first * sizeof(float);
        }
        TRY(gpo_peers_submit(peers, &sum, parts, sizeof parts[0], devices));
    }
    for (uint32_t number = 0; number < devices; ++number) {
        rank_t *rank = &ranks[number];
        TRY(gpo_event_record(rank->summed, rank->summing));
        TRY(gpo_stream_wait_event(rank->computing, rank->summed));
        if (descend(rank)) return 1;
    }
    return 0;
}

/* Draws some steps, without reading results back. */
static int draw(const char *file, gpo_runtime_t runtime, gpo_peers_t peers, rank_t *ranks, uint32_t devices) {
    gpo_trace_options options = {
        .struct_size = sizeof options, .picture = file, .title = "a data-parallel training step"};
    TRY(gpo_trace_start(runtime, &options));
    for (int turn = 0; turn < DRAWN; ++turn)
        if (step(peers, ranks, devices)) return 1;
    for (uint32_t number = 0; number < devices; ++number) TRY(gpo_stream_wait(ranks[number].computing, -1));
    TRY(gpo_trace_stop(runtime));
    return 0;
}

/* A step on one device: share after share, added in the order of the ranks. */
static int step_alone(rank_t *rank, uint32_t shares) {
    for (unsigned share = 0; share < shares; ++share) {
        uint64_t to = share ? rank->share : rank->out;
        unsigned n = GRADIENTS;
        const void *arguments[] = {&rank->out, &rank->share, &n};
        if (compute(rank, 2, share, shares, to) || compute(rank, 1, share, shares, to)) return 1;
        if (share && launch(rank, rank->add, arguments, 3)) return 1;
    }
    return descend(rank);
}

static int read_back(rank_t *rank, uint64_t from, float *to, size_t count) {
    TRY(gpo_copy_to_host(rank->computing, to, from, count * sizeof(float)));
    TRY(gpo_stream_wait(rank->computing, -1));
    return 0;
}

int main(int count, char **words) {
    gpo_runtime_t runtime;
    uint32_t devices = 0;
    rank_t ranks[MOST_DEVICES];
    gpo_device_t handles[MOST_DEVICES];
    gpo_peers_t peers;
    float weights[MOST_DEVICES][PARAMETERS], alone[PARAMETERS], out[GRADIENTS], loss[STEPS];
    make_data();
    TRY(gpo_runtime_create(NULL, &runtime));
    TRY(gpo_runtime_get_device_count(runtime, &devices));
    if (devices > MOST_DEVICES) devices = MOST_DEVICES;
    while (SAMPLES % devices) --devices;
    for (uint32_t number = 0; number < devices; ++number) {
        if (open_rank(runtime, number, &ranks[number])) return 1;
        handles[number] = ranks[number].device;
        TRY(gpo_copy_to_device(ranks[number].computing, ranks[number].weights, start, sizeof start));
    }
    gpo_peers_options options = {.struct_size = sizeof options, .label = "training"};
    TRY(gpo_peers_create(handles, devices, &options, &peers));

    for (int turn = 0; turn < STEPS; ++turn) {
        if (step(peers, ranks, devices) || read_back(&ranks[0], ranks[0].out, out, GRADIENTS)) return 1;
        loss[turn] = out[PARAMETERS] / SAMPLES;
    }
    for (uint32_t number = 0; number < devices; ++number)
        if (read_back(&ranks[number], ranks[number].weights, weights[number], PARAMETERS)) return 1;

    if (count > 1 && draw(words[1], runtime, peers, ranks, devices)) return 1;

    TRY(gpo_copy_to_device(ranks[0].computing, ranks[0].weights, start, sizeof start));
    for (int turn = 0; turn < STEPS; ++turn)
        if (step_alone(&ranks[0], devices)) return 1;
    if (read_back(&ranks[0], ranks[0].weights, alone, PARAMETERS)) return 1;

    int same = 1;
    float apart = 0;
    for (uint32_t number = 0; number < devices; ++number) {
        same = same && memcmp(weights[number], alone, sizeof alone) == 0;
        for (int p = 0; p < PARAMETERS; ++p) apart = fmaxf(apart, fabsf(weights[number][p] - alone[p]));
    }
    printf("%u devices: loss %.3f at first, %.3f after %d steps, %.3f after %d\n", devices, loss[0],
           loss[STEPS / 2 - 1], STEPS / 2, loss[STEPS - 1], STEPS);
    if (same) printf("every device has the weights of one device that trains alone, bit for bit\n");
    else printf("the weights differ from those of one device that trains alone by at most %g\n", apart);

    TRY(gpo_peers_destroy(peers));
    for (uint32_t number = 0; number < devices; ++number)
        if (close_rank(&ranks[number])) return 1;
    int learned = loss[STEPS - 1] < loss[STEPS / 2 - 1] && loss[STEPS / 2 - 1] < loss[0] && apart < 1e-4f;
    return gpo_runtime_shutdown(runtime, -1) == GPO_SUCCESS && learned ? 0 : 1;
}
