/* driver < lifecycle.txt: does what the cases say through C's functions, and writes the same lines with what came of
 * each step. The words: tests/bindings/README.md. */
#include <gpuorch/gpuorch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000

enum kind { RUNTIME, DEVICE, STREAM, EVENT, TIMELINE, QUEUE, ARENA, POOL, EXECUTOR, MODULE, KERNEL, MEMORY, KINDS };
static const char *const kinds[KINDS] = {"runtime", "device",   "stream", "event",  "timeline", "queue",
                                         "arena",   "pool",     "executor", "module", "kernel", "memory"};

struct object {
    enum kind kind;
    void *handle;        /* stays when it was closed */
    gpo_device_t device; /* of memory */
    uint64_t address;
} objects[128];          /* by the letter that names it */

static struct object *named(const char *name) { return &objects[name[0] & 127]; }

static gpo_status make(struct object *made, enum kind kind, struct object *parent) {
    const gpo_runtime_options soft = {.struct_size = sizeof soft, .device = "soft"};
    *made = (struct object){.kind = kind};
    switch (kind) {
        case RUNTIME: return gpo_runtime_create(&soft, (gpo_runtime_t *)&made->handle);
        case DEVICE: return gpo_device_open(parent->handle, NULL, (gpo_device_t *)&made->handle);
        case STREAM: return gpo_stream_create(parent->handle, NULL, (gpo_stream_t *)&made->handle);
        case EVENT: return gpo_event_create(parent->handle, NULL, (gpo_event_t *)&made->handle);
        case TIMELINE: return gpo_timeline_create(parent->handle, NULL, (gpo_timeline_t *)&made->handle);
        case QUEUE: return gpo_cq_create(parent->handle, NULL, (gpo_cq_t *)&made->handle);
        case ARENA: return gpo_arena_create(parent->handle, NULL, (gpo_arena_t *)&made->handle);
        case POOL: return gpo_pool_create(parent->handle, NULL, (gpo_pool_t *)&made->handle);
        case EXECUTOR: return gpo_executor_create(parent->handle, NULL, (gpo_executor_t *)&made->handle);
        case MODULE: return gpo_module_load_builtin(parent->handle, (gpo_module_t *)&made->handle);
        case KERNEL: return gpo_module_get_kernel(parent->handle, "gpo_fill_u32", (gpo_kernel_t *)&made->handle);
        default: made->device = parent->handle; return gpo_memory_allocate(made->device, 4096, NULL, &made->address);
    }
}

static gpo_status close_object(struct object *object) {
    switch (object->kind) {
        case DEVICE: return gpo_device_close(object->handle);
        case STREAM: return gpo_stream_destroy(object->handle);
        case EVENT: return gpo_event_destroy(object->handle);
        case TIMELINE: return gpo_timeline_destroy(object->handle);
        case QUEUE: return gpo_cq_destroy(object->handle);
        case ARENA: return gpo_arena_destroy(object->handle);
        case POOL: return gpo_pool_destroy(object->handle);
        case EXECUTOR: return gpo_executor_destroy(object->handle);
        case MODULE: return gpo_module_destroy(object->handle);
        case KERNEL: return gpo_kernel_destroy(object->handle);
        case MEMORY: return gpo_memory_free(object->device, object->address);
        default: return gpo_runtime_shutdown(object->handle, 30LL * SECOND);
    }
}

/* A call that needs nothing but the object. */
static gpo_status use(struct object *object) {
    gpo_statistics runtime = {.struct_size = sizeof runtime};
    gpo_memory_statistics memory = {.struct_size = sizeof memory};
    gpo_cq_statistics queue = {.struct_size = sizeof queue};
    gpo_executor_statistics executor = {.struct_size = sizeof executor};
    gpo_kernel_attributes kernel = {.struct_size = sizeof kernel};
    uint64_t a, b;
    size_t needed;
    switch (object->kind) {
        case RUNTIME: return gpo_runtime_get_statistics(object->handle, &runtime);
        case DEVICE: return gpo_device_get_memory(object->handle, &a, &b);
        case STREAM: return gpo_stream_query(object->handle);
        case EVENT: return gpo_event_query(object->handle);
        case TIMELINE: return gpo_timeline_get_value(object->handle, &a);
        case QUEUE: return gpo_cq_get_statistics(object->handle, &queue);
        case ARENA: return gpo_arena_get_statistics(object->handle, &memory);
        case POOL: return gpo_pool_get_statistics(object->handle, &memory);
        case EXECUTOR: return gpo_executor_get_statistics(object->handle, &executor);
        case MODULE: return gpo_module_get_image(object->handle, NULL, 0, &needed);
        case KERNEL: return gpo_kernel_get_attributes(object->handle, &kernel);
        default: return GPO_NOT_SUPPORTED;
    }
}

static gpo_status wait_for(struct object *object, int64_t timeout_ns) {
    return object->kind == EVENT ? gpo_event_wait(object->handle, timeout_ns)
                                 : gpo_stream_wait(object->handle, timeout_ns);
}

static gpo_status launch(struct object *stream, struct object *kernel, struct object *memory) {
    const gpo_launch shape = {.struct_size = sizeof shape, .grid = {1}, .block = {32}};
    const uint32_t value = 7;
    const uint64_t count = 1024;
    const void *arguments[] = {&memory->address, &value, &count};
    return gpo_stream_launch_kernel(stream->handle, kernel->handle, &shape, arguments, NULL, 3);
}

/* The status of the next entry, waited for where `timeout_ns` says so; NULL: there is none. */
static const char *drain(struct object *queue, int64_t timeout_ns) {
    gpo_completion entry;
    uint64_t count = 0;
    if (timeout_ns) gpo_cq_wait(queue->handle, timeout_ns);
    const gpo_status status = gpo_cq_drain(queue->handle, &entry, sizeof entry, 1, &count);
    return status ? gpo_status_name(status) : count ? gpo_status_name(entry.status) : NULL;
}

/* The outcome of a step of at most four words. */
static const char *step(char words[4][16]) {
    const char *verb = words[0];
    struct object *a = named(words[1]), *b = named(words[2]), *c = named(words[3]);
    for (int kind = 0; kind < KINDS; ++kind)
        if (!strcmp(verb, kinds[kind])) return gpo_status_name(make(a, (enum kind)kind, b));
    gpo_status status = GPO_NOT_FOUND;
    if (!strcmp(verb, "close")) {
        status = close_object(a);
        const int gone = status == GPO_STALE_HANDLE || status == GPO_INVALID_HANDLE;
        return status == GPO_SUCCESS || gone ? "closed" : gpo_status_name(status);
    }
    if (!strcmp(verb, "drain") || !strcmp(verb, "entry")) {
        const char *entry = drain(a, *verb == 'e' ? 30LL * SECOND : 0);
        return entry ? entry : "nothing";
    }
    if (!strcmp(verb, "shutdown")) status = gpo_runtime_shutdown(a->handle, 30LL * SECOND);
    if (!strcmp(verb, "use") || !strcmp(verb, "query")) status = use(a);
    if (!strcmp(verb, "wait")) status = wait_for(a, 30LL * SECOND);
    if (!strcmp(verb, "briefly")) status = wait_for(a, SECOND / 50);
    if (!strcmp(verb, "hold")) status = gpo_stream_wait_timeline(a->handle, b->handle, strtoull(words[3], NULL, 10));
    if (!strcmp(verb, "signal")) status = gpo_timeline_signal(a->handle, strtoull(words[2], NULL, 10));
    if (!strcmp(verb, "fail")) status = gpo_timeline_fail(a->handle, GPO_FAILED, "as the case says");
    if (!strcmp(verb, "cancel")) status = gpo_stream_cancel_held(a->handle, NULL);
    if (!strcmp(verb, "fill")) status = gpo_fill(a->handle, b->address, 1, 4, 1024);
    if (!strcmp(verb, "record")) status = gpo_event_record(a->handle, b->handle);
    if (!strcmp(verb, "after")) status = gpo_stream_wait_event(a->handle, b->handle);
    if (!strcmp(verb, "notify")) status = gpo_stream_notify(a->handle, b->handle, 1);
    if (!strcmp(verb, "launch")) status = launch(a, b, c);
    return gpo_status_name(status);
}

int main(void) {
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        if (!strncmp(line, "case ", 5)) {
            memset(objects, 0, sizeof objects);
            fputs(line, stdout);
        }
        char *arrow = strstr(line, " -> ");
        if (!arrow || line[0] == '#') continue;
        *arrow = '\0';
        char words[4][16] = {"", "", "", ""};
        sscanf(line, "%15s %15s %15s %15s", words[0], words[1], words[2], words[3]);
        const char *outcome = step(words);
        printf("%s -> %s\n", line, strncmp(outcome, "GPO_", 4) ? outcome : outcome + 4);
    }
    return 0;
}
