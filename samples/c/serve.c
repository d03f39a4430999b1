/* A server without its network: threads ask for the scores of images at random times (a Poisson process of a fixed
 * seed). A batcher puts requests together that wait at the same time, runs a perceptron of three layers once for all of
 * them, and refuses what would come too late. Every answer is compared with the CPU's.
 *     cc serve.c $(pkg-config --cflags --libs gpuorch) -lm -lpthread -o serve
 *     ./serve 100        requests a second, for two seconds: so few that a software GPU can do them */
#define _XOPEN_SOURCE 700
#include <gpuorch/gpuorch.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CLIENTS = 4, IMAGES = 8, MAX_BATCH = 32, DEADLINE_NS = 250000000 };
#define TRY(call)                                                                             \
    do {                                                                                      \
        if ((call) != GPO_SUCCESS) {                                                          \
            gpo_error error = {.struct_size = sizeof error};                                  \
            gpo_last_error(&error);                                                           \
            fprintf(stderr, "%s: %s\n", error.function, error.message);                       \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

static const char source[] = /* a row of blocks for each image, a thread for each neuron */
    "extern \"C\" __global__ void layer(float *out, const float *in, const float *w, unsigned ins, unsigned outs) {\n"
    "    unsigned neuron = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    float sum = 0;\n"
    "    if (neuron >= outs) return;\n"
    "    for (unsigned i = 0; i < ins; ++i) sum += in[blockIdx.y * ins + i] * w[i * outs + neuron];\n"
    "    out[blockIdx.y * outs + neuron] = fmaxf(sum, 0);\n"
    "}\n";
static const unsigned neurons[4] = {784, 512, 512, 10};
static float images[IMAGES][784], weights[3][784 * 512], right[IMAGES][10];
static uint64_t rows[4], device_weights[3]; /* device memory; `rows` go into a layer and come out of the one before */
static gpo_kernel_t layer;
static gpo_batcher_t batcher;
static gpo_cq_t cq;
static uint32_t key;
static double rate;
static size_t per_client;
static atomic_size_t refused;
static struct { uint64_t due_ns; float scores[10]; } *asked;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static int ascending(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : 1; }

/* The work of a batch, recorded once for each size. The parameters say where a batch's images and scores lie. */
static gpo_status put_layers(void *user, gpo_stream_t stream, const gpo_bucket_work *work) {
    gpo_template_t recording = work->graph_template;
    uint32_t node;
    (void)user;
    for (int l = 0; l < 3; ++l) {
        gpo_launch shape = {.struct_size = sizeof shape, .grid = {4, (uint32_t)work->shape}, .block = {128}};
        const void *arguments[] = {&rows[l + 1], &rows[l], &device_weights[l], &neurons[l], &neurons[l + 1]};
        TRY(gpo_stream_launch_kernel(stream, layer, &shape, arguments, NULL, 5));
        if (recording) TRY(gpo_template_get_last_node(recording, stream, &node));
        if (recording && l == 0) TRY(gpo_template_add_parameter(recording, "input", node, GPO_PARAMETER_ARGUMENT, 1));
        if (recording && l == 2) TRY(gpo_template_add_parameter(recording, "output", node, GPO_PARAMETER_ARGUMENT, 0));
    }
    return GPO_SUCCESS;
}

static void make_network(gpo_device_t device, gpo_stream_t stream) {
    static float values[4][784]; /* of an image, on the CPU */
    gpo_compile_options compile = {.struct_size = sizeof compile, .source = source};
    gpo_module_t module;
    unsigned short seed[3] = {1};
    TRY(gpo_module_compile(device, &compile, &module));
    TRY(gpo_module_get_kernel(module, "layer", &layer));
    for (int l = 0; l < 4; ++l) TRY(gpo_memory_allocate(device, MAX_BATCH * 784 * sizeof(float), "rows", &rows[l]));
    for (int l = 0; l < 3; ++l) {
        for (unsigned i = 0; i < neurons[l] * neurons[l + 1]; ++i) weights[l][i] = (float)(erand48(seed) - 0.5) / 8;
        TRY(gpo_memory_allocate(device, sizeof weights[l], "weights", &device_weights[l]));
        TRY(gpo_copy_to_device(stream, device_weights[l], weights[l], sizeof weights[l]));
    }
    for (int image = 0; image < IMAGES; ++image) {
        for (int i = 0; i < 784; ++i) values[0][i] = images[image][i] = (float)erand48(seed);
        for (int l = 0; l < 3; ++l)
            for (unsigned j = 0; j < neurons[l + 1]; ++j) {
                float sum = 0;
                for (unsigned i = 0; i < neurons[l]; ++i) sum += values[l][i] * weights[l][i * neurons[l + 1] + j];
                values[l + 1][j] = fmaxf(sum, 0);
            }
        for (int i = 0; i < 10; ++i) right[image][i] = values[3][i];
    }
}

static void *client(void *number) {
    const size_t flow = (size_t)(uintptr_t)number;
    unsigned short seed[3] = {(unsigned short)flow};
    uint64_t ticket;
    double due_ns = (double)now_ns();
    for (size_t i = flow * per_client; i < (flow + 1) * per_client; ++i) {
        due_ns -= log(1 - erand48(seed)) * CLIENTS / rate * 1e9;
        const uint64_t due = asked[i].due_ns = (uint64_t)due_ns; /* times count from here, even if it is late */
        const struct timespec until = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        gpo_batcher_request request = {.struct_size = sizeof request, .key = key, .flow = flow,
                                       .input = images[i % IMAGES], .output = asked[i].scores,
                                       .deadline_ns = due + DEADLINE_NS};
        gpo_status status = gpo_batcher_submit(batcher, &request, cq, i, &ticket, NULL);
        if (status == GPO_TIMEOUT || status == GPO_WOULD_BLOCK)
            ++refused; /* a server answers "503" at once */
        else TRY(status);
    }
    return NULL;
}

int main(int count, char **words) {
    static const uint64_t shapes[] = {1, 2, 4, 8, 16, MAX_BATCH};
    gpo_runtime_t runtime;
    gpo_device_t device;
    gpo_stream_t stream;
    gpo_buckets_t buckets;
    gpo_completion entry;
    gpo_batcher_info info = {.struct_size = sizeof info};
    pthread_t threads[CLIENTS];
    rate = count > 1 ? atof(words[1]) : 100;
    per_client = (size_t)(rate * 2 / CLIENTS) + 1;
    const size_t total = CLIENTS * per_client;
    double *ms = calloc(total, sizeof *ms);
    asked = calloc(total, sizeof *asked);
    TRY(gpo_runtime_create(NULL, &runtime));
    TRY(gpo_device_open(runtime, NULL, &device));
    TRY(gpo_stream_create(device, NULL, &stream));
    make_network(device, stream);

    gpo_buckets_options table = {.struct_size = sizeof table, .shapes = shapes, .shape_count = 6, .record = put_layers};
    TRY(gpo_buckets_create(device, &table, &buckets));
    TRY(gpo_buckets_prepare(buckets, stream));
    TRY(gpo_stream_wait(stream, -1)); /* batches run on other streams: they begin when the weights are there */
    gpo_batcher_options options = {.struct_size = sizeof options, .devices = &device, .device_count = 1};
    TRY(gpo_batcher_create(&options, &batcher));
    gpo_batcher_key_options scores = {.struct_size = sizeof scores, .layout = GPO_BATCH_ROWS, .buckets = &buckets,
                                      .bucket_count = 1, .input_bytes = sizeof images[0],
                                      .output_bytes = sizeof right[0]};
    TRY(gpo_batcher_add_key(batcher, &scores, &key));
    TRY(gpo_cq_create(runtime, NULL, &cq));

    size_t ended = 0, done = 0, in_time = 0, wrong = 0;
    uint64_t taken, begun = now_ns();
    for (uintptr_t i = 0; i < CLIENTS; ++i) pthread_create(&threads[i], NULL, client, (void *)i);
    for (; ended + refused < total; ended += taken) {
        gpo_cq_wait(cq, 10000000); /* not for ever: the last request may be refused */
        TRY(gpo_cq_drain(cq, &entry, sizeof entry, 1, &taken));
        if (!taken || entry.status == GPO_TIMEOUT) continue; /* accepted, and would have come too late after all */
        const size_t at = entry.user_data;
        ms[done] = (double)(now_ns() - asked[at].due_ns) / 1e6;
        in_time += ms[done++] * 1e6 <= DEADLINE_NS;
        wrong += entry.status != GPO_SUCCESS;
        for (int i = 0; i < 10; ++i) wrong += !(fabsf(asked[at].scores[i] - right[at % IMAGES][i]) < 1e-3f);
    }
    const double seconds = (double)(now_ns() - begun) / 1e9;
    for (int i = 0; i < CLIENTS; ++i) pthread_join(threads[i], NULL);
    qsort(ms, done, sizeof *ms, ascending);
    TRY(gpo_batcher_get_info(batcher, &info));
    printf("%zu requests, %zu refused, %zu in time: %.0f a second, %.1f a batch; p50 %.2f ms, p99 %.2f ms; %zu wrong\n",
           total, (size_t)refused, in_time, (double)in_time / seconds,
           (double)info.batch_elements / (double)info.batches, ms[done / 2], ms[done * 99 / 100], wrong);
    free(asked);
    free(ms);
    return gpo_runtime_shutdown(runtime, -1) == GPO_SUCCESS && done && !wrong ? 0 : 1;
}
