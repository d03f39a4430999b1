/* A decode loop that stays on the GPU: requests join and leave while it runs. A request is a task in a host ring, and
 * has a model say what follows after its prompt. A scheduler on the GPU makes one token for a request, and puts the
 * request behind the others, until the sentence is at its end. The host posts a request and gets a sentence: between
 * these it calls nothing, however many tokens there are. Beside it is the loop that the host drives, token by token.
 *     cc decode_scheduler.c $(pkg-config --cflags --libs gpuorch) -o decode_scheduler && ./decode_scheduler */
#include <gpuorch/gpuorch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define REQUESTS 8
#define LIMIT 64
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

/* The text so far. Each request has one, in device memory. */
typedef struct {
    unsigned count, last;
    char text[104];
} sentence;

/* A task: the handler's number comes first. */
typedef struct {
    unsigned handler, sentence, made;
    char prompt[36];
} request;

typedef struct {
    unsigned made;
    char text[104];
} reply;

/* A warp makes a token: each lane looks at some places of the training text. How much of the text before the place was
 * said last? The longest match decides what comes next. */
static const char source[] =
    "#include <gpuorch/device/scheduler.cuh>\n"
    "struct sentence { unsigned count, last; char text[104]; };\n"
    "struct request { unsigned handler, sentence, made; char prompt[36]; };\n"
    "struct step { unsigned handler, sentence, made; };\n"
    "struct reply { unsigned made; char text[104]; };\n"
    "struct model { char learnt[N + 2]; sentence of[REQUESTS]; };\n"
    "__device__ void add_token(const model *m, sentence *s, unsigned lane) {\n"
    "    unsigned best = 0;\n"
    "    for (unsigned place = lane; place < N; place += 32) {\n"
    "        unsigned same = 0;\n"
    "        while (same < 8 && same < place && same < s->count &&\n"
    "               m->learnt[place - 1 - same] == s->text[s->count - 1 - same]) ++same;\n"
    "        if (same * N + place > best) best = same * N + place;\n"
    "    }\n"
    "    for (unsigned part = 16; part; part /= 2) {\n"
    "        unsigned other = __shfl_xor_sync(0xffffffffu, best, part);\n"
    "        if (other > best) best = other;\n"
    "    }\n"
    "    __syncwarp();\n"
    "    if (lane == 0) s->last = s->text[s->count++] = m->learnt[best % N];\n"
    "    __syncwarp();\n"
    "}\n"
    /* A request's first task: its prompt becomes the sentence. Then it goes to the end of the queue. */
    "__device__ int join(gpo::task_context &at, const request &task) {\n"
    "    sentence *s = &at.argument<model>()->of[task.sentence];\n"
    "    if (at.thread() == 0)\n"
    "        for (s->count = 0; task.prompt[s->count]; ++s->count) s->text[s->count] = task.prompt[s->count];\n"
    "    return at.again(step{1, task.sentence, 0});\n"
    "}\n"
    /* The others: each makes a token. After the last one the request leaves. */
    "__device__ int decode(gpo::task_context &at, const step &task) {\n"
    "    sentence *s = &at.argument<model>()->of[task.sentence];\n"
    "    add_token(at.argument<model>(), s, at.thread());\n"
    "    reply said = {task.made + 1, {}};\n"
    "    if (s->last != '.' && said.made < LIMIT) return at.again(step{1, task.sentence, said.made});\n"
    "    for (unsigned i = 0; i < s->count; ++i) said.text[i] = s->text[i];\n"
    "    return at.answer(said);\n"
    "}\n"
    /* A token for the loop that the host drives, and whose tokens the host has to see. */
    "extern \"C\" __global__ void token(model *m, unsigned which, unsigned *last) {\n"
    "    add_token(m, &m->of[which], threadIdx.x);\n"
    "    if (threadIdx.x == 0) *last = m->of[which].last;\n"
    "}\n";

static const char *const options[] = {"-DN=94", "-DREQUESTS=8", "-DLIMIT=64"};
_Static_assert(sizeof learnt - 1 == 94 && REQUESTS == 8 && LIMIT == 64, "what the source is compiled for");

static const char *const prompts[REQUESTS] = {"the graph", "the host", "it has",     "the end",
                                              "until",     "a sent",   "the host w", "goes on"};

typedef struct {
    gpo_device_t device;
    gpo_stream_t stream, resident;
    gpo_queue_t ring;
    gpo_scheduler_t scheduler;
    gpo_kernel_t token;
    uint64_t model;      /* in device memory: the training text, and the sentences behind it */
    sentence *here;      /* in pinned memory */
    unsigned *last;      /* in pinned memory, for the host's loop */
    char said[2][REQUESTS][104];
} decoder;

static double us_since(const struct timespec *from) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)(now.tv_sec - from->tv_sec) * 1e6 + (double)(now.tv_nsec - from->tv_nsec) * 1e-3;
}

/* How often the host called, and how long it took, for so many tokens. */
typedef struct {
    double tokens, calls, us;
} spent;

static int post(const decoder *d, unsigned number) {
    request asked = {.sentence = number};
    uint64_t posted;
    memcpy(asked.prompt, prompts[number], strlen(prompts[number]));
    TRY(gpo_queue_post(d->ring, 0, &asked, 1, number, &posted));
    return 0;
}

/* Takes what is ready, and counts the tokens. */
static int take(decoder *d, unsigned *done, double *tokens) {
    gpo_answer entries[REQUESTS];
    reply replies[REQUESTS];
    uint64_t count;
    TRY(gpo_queue_wait(d->ring, 0, -1));
    TRY(gpo_queue_take(d->ring, 0, entries, sizeof entries[0], replies, REQUESTS, &count));
    for (uint64_t i = 0; i < count; ++i) {
        *tokens += replies[i].made;
        memcpy(d->said[0][entries[i].user_data], replies[i].text, sizeof replies[i].text);
    }
    *done += (unsigned)count;
    return 0;
}

/* Half of the requests come at the beginning, and one more whenever another leaves. */
static int by_scheduler(decoder *d, spent *out) {
    unsigned posted = 0, done = 0;
    for (; posted < REQUESTS / 2; ++posted)
        if (post(d, posted)) return 1;
    while (done < REQUESTS) {
        if (take(d, &done, &out->tokens)) return 1;
        for (; posted < REQUESTS && posted < done + REQUESTS / 2; ++posted)
            if (post(d, posted)) return 1;
    }
    return 0;
}

static int by_host(decoder *d, spent *out) {
    for (unsigned number = 0; number < REQUESTS; ++number) {
        const uint64_t there = d->model + sizeof learnt + 1 + number * sizeof(sentence);
        const void *arguments[] = {&d->model, &number, &d->last};
        gpo_launch warp = {.struct_size = sizeof warp, .grid = {1}, .block = {32}};
        unsigned made = 0;
        memset(d->here, 0, sizeof *d->here);
        d->here->count = (unsigned)strlen(strcpy(d->here->text, prompts[number]));
        TRY(gpo_copy_to_device(d->stream, there, d->here, sizeof *d->here));
        do {
            TRY(gpo_stream_launch_kernel(d->stream, d->token, &warp, arguments, NULL, 3));
            TRY(gpo_stream_wait(d->stream, -1));
        } while (*d->last != '.' && ++made < LIMIT);
        TRY(gpo_copy_to_host(d->stream, d->here, there, sizeof *d->here));
        TRY(gpo_stream_wait(d->stream, -1));
        out->tokens += d->here->count - (unsigned)strlen(prompts[number]);
        memcpy(d->said[1][number], d->here->text, sizeof d->here->text);
    }
    return 0;
}

/* A request whose sentence ends, and a request that goes on to the limit: how many host calls for a further token? */
static int further_calls(decoder *d, double *calls_per_token) {
    double tokens[2] = {0, 0}, made[2];
    for (unsigned i = 0; i < 2; ++i) {
        unsigned done = 0;
        calls = 0;
        if (post(d, i) || take(d, &done, &tokens[i])) return 1;
        made[i] = calls;
    }
    *calls_per_token = (made[1] - made[0]) / (tokens[1] - tokens[0]);
    return 0;
}

/* The fastest of some times. */
static int measure(decoder *d, const char *name, int (*loop)(decoder *, spent *), spent *out) {
    out->us = 1e9;
    for (int round = 0; round < 10; ++round) {
        struct timespec from;
        spent now = {0, 0, 0};
        calls = 0;
        timespec_get(&from, TIME_UTC);
        if (loop(d, &now)) return 1;
        double us = us_since(&from);
        if (us < out->us) *out = (spent){now.tokens, calls, us};
    }
    printf("%s: %g tokens for %d requests, %g host calls, %.1f us\n", name, out->tokens, REQUESTS, out->calls, out->us);
    return 0;
}

static int compare(decoder *d) {
    spent scheduled, driven;
    double per_token;
    TRY(gpo_scheduler_start(d->scheduler));
    if (measure(d, "by the scheduler", by_scheduler, &scheduled) || further_calls(d, &per_token)) return 1;
    TRY(gpo_scheduler_drain(d->scheduler, -1));
    if (measure(d, "by the host", by_host, &driven)) return 1;
    for (int i = 0; i < REQUESTS; ++i) {
        printf("    %.104s\n", d->said[0][i]);
        if (strncmp(d->said[0][i], d->said[1][i], sizeof d->said[0][i]) != 0) {
            fprintf(stderr, "the host's loop says: %.104s\n", d->said[1][i]);
            return 1;
        }
    }
    printf("host calls per further token: %g by the scheduler, 2 by the host\n", per_token);
    printf("the host's loop takes %.2f times as long\n", driven.us / driven.tokens / (scheduled.us / scheduled.tokens));
    gpo_scheduler_info info = {.struct_size = sizeof info};
    TRY(gpo_scheduler_get_info(d->scheduler, &info));
    printf("the scheduler did %llu tasks, and was busy for %.0f %% of the time\n", (unsigned long long)info.tasks,
           100.0 * (double)info.busy_ns / (double)info.worker_ns);
    return per_token == 0 ? 0 : 1;
}

int main(void) {
    gpo_runtime_t runtime;
    gpo_arena_t arena;
    gpo_module_t module;
    decoder d;
    void *memory;
    TRY(gpo_runtime_create(NULL, &runtime));
    TRY(gpo_device_open(runtime, NULL, &d.device));
    TRY(gpo_stream_create(d.device, NULL, &d.stream));
    TRY(gpo_arena_create(d.device, NULL, &arena));
    TRY(gpo_arena_allocate(arena, 256, GPO_AUTO, &memory));
    d.here = memory;
    d.last = (unsigned *)memory + 60;
    TRY(gpo_memory_allocate(d.device, sizeof learnt + 1 + REQUESTS * sizeof(sentence), "model", &d.model));
    TRY(gpo_copy_to_device(d.stream, d.model, learnt, sizeof learnt));
    TRY(gpo_stream_wait(d.stream, -1));
    gpo_compile_options compile = {.struct_size = sizeof compile, .source = source, .options = options,
                                   .option_count = 3};
    TRY(gpo_module_compile(d.device, &compile, &module));
    TRY(gpo_module_get_kernel(module, "token", &d.token));

    gpo_stream_options stays = {.struct_size = sizeof stays, .flags = GPO_STREAM_RESIDENT};
    TRY(gpo_stream_create(d.device, &stays, &d.resident));
    gpo_queue_options queue = {.struct_size = sizeof queue, .kind = GPO_QUEUE_HOST_RING, .capacity = 64,
                               .task_size = sizeof(request), .answer_size = sizeof(reply), .stream = d.resident,
                               .label = "requests"};
    TRY(gpo_queue_create(d.device, &queue, &d.ring));
    gpo_handler handlers[] = {{.struct_size = sizeof handlers[0], .name = "join"},
                              {.struct_size = sizeof handlers[0], .name = "decode"}};
    gpo_scheduler_options made = {.struct_size = sizeof made, .form = GPO_SCHEDULER_RESIDENT, .queue = d.ring,
                                  .source = source, .compile_options = options, .compile_option_count = 3,
                                  .multiprocessors = 1, .argument = d.model, .label = "decode"};
    TRY(gpo_scheduler_create(d.device, &made, handlers, sizeof handlers[0], 2, &d.scheduler));
    if (compare(&d)) return 1;

    gpo_scheduler_destroy(d.scheduler);
    gpo_queue_destroy(d.ring);
    gpo_stream_destroy(d.resident);
    gpo_kernel_destroy(d.token);
    gpo_module_destroy(module);
    TRY(gpo_memory_free(d.device, d.model));
    TRY(gpo_arena_free(arena, memory));
    gpo_arena_destroy(arena);
    gpo_stream_destroy(d.stream);
    gpo_device_close(d.device);
    return gpo_runtime_shutdown(runtime, -1) == GPO_SUCCESS ? 0 : 1;
}
