/* A library that isn't quite libgpuorch, for bindings' tests. Its gpo_get_api changes the table of the real library
 * (path in GPUORCH_COUNTED_LIBRARY) by the word in GPUORCH_ODD:
 *
 * refusing    No table, for any version: a library too old or too new for the caller.
 * truncated   Only the first 40 functions; a read behind them crashes. An older library.
 * extended    With 8 more members, which are no functions. A newer library.
 * talkative   Runtimes log lines 1 to 1500 while they are made, on a thread of their own.
 * logging     gpo_stream_query, gpo_pipeline_cancel and gpo_pipeline_destroy log their names first, until a runtime is
 *             shut down.
 */
#include <dlfcn.h>
#include <gpuorch/gpuorch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* `bytes` of the table and `more` others, at the very end of readable memory. */
static const gpo_api *copied(const gpo_api *table, size_t bytes, size_t more) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + more + page - 1) / page * page;
    char *memory = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    mprotect(memory + room, page, PROT_NONE);
    gpo_api *copy = (gpo_api *)(memory + room - bytes - more);
    memcpy(copy, table, bytes);
    memset((char *)copy + bytes, 0xee, more);
    copy->struct_size = (uint32_t)(bytes + more);
    return copy;
}

static const gpo_api *real;

static void *talk(void *user) {
    const gpo_runtime_options *options = user;
    char line[16];
    for (int i = 1; i <= 1500; ++i) {
        snprintf(line, sizeof line, "line %d", i);
        options->log(options->log_user, GPO_LOG_INFO, line);
    }
    return NULL;
}

static gpo_status talkative_runtime(const gpo_runtime_options *options, gpo_runtime_t *runtime) {
    pthread_t thread;
    const gpo_status status = real->runtime_create(options, runtime);
    if (status == GPO_SUCCESS && options && options->log && pthread_create(&thread, NULL, talk, (void *)options) == 0)
        pthread_join(thread, NULL);
    return status;
}

static gpo_log_fn log_function;
static void *log_user;

static gpo_status logging_runtime(const gpo_runtime_options *options, gpo_runtime_t *runtime) {
    const gpo_status status = real->runtime_create(options, runtime);
    if (status == GPO_SUCCESS && options && options->log) {
        log_function = options->log;
        log_user = options->log_user;
    }
    return status;
}

static gpo_status logging_shutdown(gpo_runtime_t runtime, int64_t timeout_ns) {
    log_function = NULL;
    return real->runtime_shutdown(runtime, timeout_ns);
}

static void say(const char *name) {
    if (log_function) log_function(log_user, GPO_LOG_INFO, name);
}

static gpo_status logging_query(gpo_stream_t stream) {
    say("gpo_stream_query");
    return real->stream_query(stream);
}

static gpo_status logging_cancel(gpo_pipeline_t pipeline) {
    say("gpo_pipeline_cancel");
    return real->pipeline_cancel(pipeline);
}

static gpo_status logging_destroy(gpo_pipeline_t pipeline) {
    say("gpo_pipeline_destroy");
    return real->pipeline_destroy(pipeline);
}

static const gpo_api *logging(const gpo_api *table) {
    static gpo_api logging;
    real = table;
    logging = *table;
    logging.runtime_create = logging_runtime;
    logging.runtime_shutdown = logging_shutdown;
    logging.stream_query = logging_query;
    logging.pipeline_cancel = logging_cancel;
    logging.pipeline_destroy = logging_destroy;
    return &logging;
}

GPO_API const gpo_api *gpo_get_api(uint32_t version) {
    const char *odd = getenv("GPUORCH_ODD"), *path = getenv("GPUORCH_COUNTED_LIBRARY");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const gpo_api *(*get)(uint32_t) = NULL;
    if (library) *(void **)&get = dlsym(library, "gpo_get_api");
    const gpo_api *table = get ? get(version) : NULL;
    if (!table || !odd || !strcmp(odd, "refusing")) return NULL;
    if (!strcmp(odd, "truncated")) return copied(table, offsetof(gpo_api, status_name) + 40 * sizeof(void *), 0);
    if (!strcmp(odd, "logging")) return logging(table);
    if (strcmp(odd, "talkative")) return copied(table, table->struct_size, 8 * sizeof(void *));
    static gpo_api talkative;
    real = table;
    talkative = *table;
    talkative.runtime_create = talkative_runtime;
    return &talkative;
}
