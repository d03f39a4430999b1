/* A decode loop whose end is decided on the GPU: a model makes token after token from the last ones, until a sentence
 * ends or there are LIMIT tokens. The loop is a while in a graph template, so that the host launches once, however many
 * tokens come. For comparison, the host drives the same loop, and has to see each token.
 *     cc decode_loop.c $(pkg-config --cflags --libs gpuorch) -o decode_loop && ./decode_loop
 * With the name of a file, the graph is drawn into it too: ./decode_loop decode_loop.svg */
#include <gpuorch/gpuorch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT 64
#define END '.'
#define TRY(call)                                                                             \
    do {                                                                                      \
        ++calls;                                                                              \
        if ((call) != GPO_SUCCESS) {                                                          \
            gpo_error error = {.struct_size = sizeof error};                                  \
            gpo_last_error(&error);                                                           \
            fprintf(stderr, "%s: %s\n", error.function, error.message);                       \
            return 1;                                                                         \
        }                                                                                     \
    } while (0)

static unsigned calls; /* how often the host has called the library: TRY counts */

/* The model's training text. A token is a character. */
static const char learnt[] =
    "the graph goes on until it has made the end of a sentence. the host waits and waits and waits ";

/* The text so far, with length and last token; `best` belongs to the kernels, and is 0 between tokens. */
typedef struct {
    unsigned count, last, best;
    char text[100];
} sentence;

static const char source[] =
    "struct sentence { unsigned count, last, best; char text[100]; };\n"
    /* A thread for each place of the training text: how much of the text before the place was said last? */
    "extern \"C\" __global__ void score(sentence *s, const char *learnt, unsigned n) {\n"
    "    unsigned place = threadIdx.x, same = 0;\n"
    "    while (same < 8 && same < place && same < s->count &&\n"
    "           learnt[place - 1 - same] == s->text[s->count - 1 - same]) ++same;\n"
    "    atomicMax(&s->best, same * n + place);\n"
    "}\n"
    "extern \"C\" __global__ void append(sentence *s, const char *learnt, unsigned n) {\n"
    "    s->last = s->text[s->count++] = learnt[s->best % n];\n"
    "    s->best = 0;\n"
    "}\n";

typedef struct {
    gpo_stream_t stream;
    gpo_kernel_t score, append;
    gpo_graph_t graph;
    uint64_t learnt, there; /* in device memory: the training text, and a sentence */
    sentence *here;         /* the same sentence in pinned memory */
} decoder;

static int put_token(const decoder *d) {
    unsigned n = sizeof learnt - 1;
    const void *arguments[] = {&d->there, &d->learnt, &n};
    gpo_launch places = {.struct_size = sizeof places, .grid = {1}, .block = {sizeof learnt - 1}};
    gpo_launch one = {.struct_size = sizeof one, .grid = {1}, .block = {1}};
    TRY(gpo_stream_launch_kernel(d->stream, d->score, &places, arguments, NULL, 3));
    TRY(gpo_stream_launch_kernel(d->stream, d->append, &one, arguments, NULL, 3));
    return 0;
}

/* The sentence's copy to the device, the loop, and the copy back are one graph. */
static int record(decoder *d, gpo_template_t decode) {
    gpo_condition again = {.struct_size = sizeof again, .comparison = GPO_COMPARE_NOT_EQUAL,
                           .word = d->there + offsetof(sentence, last), .constant = END, .max_iterations = LIMIT};
    gpo_template_t body;
    uint32_t node;
    TRY(gpo_template_begin(decode, d->stream)); /* what is put on the stream is recorded, and doesn't run */
    TRY(gpo_copy_to_device(d->stream, d->there, d->here, sizeof *d->here));
    TRY(gpo_template_get_last_node(decode, d->stream, &node));
    TRY(gpo_template_add_while(decode, &node, 1, &again, &body, &node)); /* after the copy */
    TRY(gpo_template_set_last_node(decode, d->stream, node));
    TRY(gpo_copy_to_host(d->stream, d->here, d->there, sizeof *d->here)); /* after the while */
    TRY(gpo_template_end(decode));
    TRY(gpo_template_begin(body, d->stream));
    if (put_token(d)) return 1;
    TRY(gpo_template_end(body));
    TRY(gpo_template_destroy(body)); /* its handle: it belongs to the while */
    TRY(gpo_graph_create(decode, NULL, &d->graph));
    return 0;
}

static int by_graph(const decoder *d) {
    TRY(gpo_graph_launch(d->graph, d->stream));
    TRY(gpo_stream_wait(d->stream, -1));
    return 0;
}

static int by_host(const decoder *d) {
    unsigned made = 0;
    TRY(gpo_copy_to_device(d->stream, d->there, d->here, sizeof *d->here));
    while (d->here->last != END && made++ < LIMIT) {
        if (put_token(d)) return 1;
        TRY(gpo_copy_to_host(d->stream, &d->here->last, d->there + offsetof(sentence, last), sizeof d->here->last));
        TRY(gpo_stream_wait(d->stream, -1));
    }
    TRY(gpo_copy_to_host(d->stream, d->here, d->there, sizeof *d->here));
    TRY(gpo_stream_wait(d->stream, -1));
    return 0;
}

/* How often the host called, and how long it took, for so many tokens. */
typedef struct {
    double tokens, calls, us;
} spent;

/* Makes a sentence that begins with `prompt`, several times; the fastest counts. */
static int make(const decoder *d, const char *prompt, const char *name, int (*loop)(const decoder *), spent *out) {
    out->us = 1e9;
    for (int round = 0; round < 20; ++round) {
        struct timespec from, to;
        memset(d->here, 0, sizeof *d->here);
        d->here->count = (unsigned)strlen(strcpy(d->here->text, prompt));
        calls = 0;
        timespec_get(&from, TIME_UTC);
        if (loop(d)) return 1;
        timespec_get(&to, TIME_UTC);
        double us = (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) * 1e-3;
        if (us < out->us) out->us = us;
    }
    out->calls = calls;
    out->tokens = (double)(d->here->count - strlen(prompt));
    printf("%s: %s%s\n", name, d->here->text, d->here->last == END ? "" : " (the limit)");
    printf("    %g tokens, %g host calls, %.1f us\n", out->tokens, out->calls, out->us);
    return 0;
}

/* Host calls for each token beyond the first sentence's. */
static double further_calls(const spent made[2]) {
    return (made[1].calls - made[0].calls) / (made[1].tokens - made[0].tokens);
}

static int compare(const decoder *d) {
    static const char *const prompts[] = {"the graph", "the host"}; /* the second one's sentence has no end */
    spent graph[2], host[2];
    for (int i = 0; i < 2; ++i) {
        if (make(d, prompts[i], "by the graph", by_graph, &graph[i])) return 1;
        if (make(d, prompts[i], "by the host", by_host, &host[i])) return 1;
    }
    printf("host calls per further token: %g by the graph, %g by the host\n", further_calls(graph),
           further_calls(host));
    return 0;
}

static int draw(gpo_template_t decode, const char *path) {
    size_t size;
    TRY(gpo_template_get_picture(decode, GPO_PICTURE_SVG, NULL, 0, &size));
    char *svg = malloc(size);
    FILE *file = svg ? fopen(path, "w") : NULL;
    if (!file) {
        perror(path);
        free(svg);
        return 1;
    }
    TRY(gpo_template_get_picture(decode, GPO_PICTURE_SVG, svg, size, NULL));
    fputs(svg, file);
    free(svg);
    return fclose(file) == 0 ? 0 : 1;
}

int main(int count, char **words) {
    gpo_runtime_t runtime;
    gpo_device_t device;
    gpo_arena_t arena;
    gpo_module_t module;
    gpo_template_t decode;
    decoder d;
    void *memory;
    TRY(gpo_runtime_create(NULL, &runtime));
    TRY(gpo_device_open(runtime, NULL, &device));
    TRY(gpo_stream_create(device, NULL, &d.stream));
    TRY(gpo_arena_create(device, NULL, &arena));
    gpo_compile_options compile = {.struct_size = sizeof compile, .source = source};
    TRY(gpo_module_compile(device, &compile, &module));
    TRY(gpo_module_get_kernel(module, "score", &d.score));
    TRY(gpo_module_get_kernel(module, "append", &d.append));
    TRY(gpo_arena_allocate(arena, sizeof *d.here, GPO_AUTO, &memory));
    TRY(gpo_memory_allocate(device, sizeof *d.here, "sentence", &d.there));
    TRY(gpo_memory_allocate(device, sizeof learnt, "learnt", &d.learnt));
    TRY(gpo_copy_to_device(d.stream, d.learnt, learnt, sizeof learnt));
    d.here = memory;

    gpo_template_options named = {.struct_size = sizeof named, .label = "decode"};
    TRY(gpo_template_create(device, &named, &decode));
    if (record(&d, decode) || compare(&d)) return 1;
    if (count > 1 && draw(decode, words[1])) return 1;

    gpo_graph_destroy(d.graph);
    gpo_template_destroy(decode);
    TRY(gpo_memory_free(device, d.learnt));
    TRY(gpo_memory_free(device, d.there));
    TRY(gpo_arena_free(arena, memory));
    gpo_kernel_destroy(d.append);
    gpo_kernel_destroy(d.score);
    gpo_module_destroy(module);
    gpo_arena_destroy(arena);
    gpo_stream_destroy(d.stream);
    gpo_device_close(device);
    return gpo_runtime_shutdown(runtime, -1) == GPO_SUCCESS ? 0 : 1;
}
