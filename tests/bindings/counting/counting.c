/* A library that stands before libgpuorch, for bindings' tests: gpo_get_api gives a table of the same size whose
 * functions count how often the real ones succeeded and failed. README.md in the folder above says how it is used.
 *
 * GPUORCH_COUNTED_LIBRARY   path of the real library
 * GPUORCH_COUNTS            file that each process appends its counts to when it exits: lines "function successes
 *                           failures" */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <gpuorch/gpuorch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const gpo_api *real;

struct count {
    const char *function;
    atomic_ullong succeeded, failed;
};

static gpo_status counted(struct count *count, gpo_status status) {
    atomic_fetch_add(status == GPO_SUCCESS ? &count->succeeded : &count->failed, 1);
    return status;
}

/* Counts a call of a function that can't fail. */
static void called(struct count *count) {
    atomic_fetch_add(&count->succeeded, 1);
}

/* Made from the headers: counts, counts_size, and counting_table, whose functions call the real ones. */
#include "counted_functions.h"

/* In a forked child: the parent writes its own counts. */
static void forget(void) {
    for (size_t i = 0; i < counts_size; ++i) counts[i].succeeded = counts[i].failed = 0;
}

static const gpo_api *(*load(void))(uint32_t) {
    const char *path = getenv("GPUORCH_COUNTED_LIBRARY");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *get = library ? dlsym(library, "gpo_get_api") : NULL;
    if (!get) {
        const char *reason = path ? dlerror() : "it is not set";
        fprintf(stderr, "libgpuorch_counting: GPUORCH_COUNTED_LIBRARY: %s\n", reason ? reason : "no gpo_get_api in it");
    }
    const gpo_api *(*function)(uint32_t);
    memcpy(&function, &get, sizeof function);
    return function;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const gpo_api *(*get_real)(uint32_t);
static void begin(void) {
    get_real = load();
    real = get_real ? get_real(GPO_VERSION) : NULL;
    pthread_atfork(NULL, NULL, forget);
}

GPO_API const gpo_api *gpo_get_api(uint32_t version) {
    static gpo_api table;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_once(&once, begin);
    if (!real || !get_real(version)) return NULL;
    pthread_mutex_lock(&lock);
    if (table.struct_size == 0) {
        table = counting_table;
        table.library_version = real->library_version;
        table.struct_size = real->struct_size < sizeof table ? real->struct_size : (uint32_t)sizeof table;
    }
    pthread_mutex_unlock(&lock);
    return &table;
}

/* Appends the counts in one write: lines of several processes don't mix. */
__attribute__((destructor)) static void tell(void) {
    static char text[1 << 16];
    const char *path = getenv("GPUORCH_COUNTS");
    size_t used = 0;
    for (size_t i = 0; i < counts_size; ++i) {
        const unsigned long long good = counts[i].succeeded, bad = counts[i].failed;
        if (good || bad)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s %llu %llu\n", counts[i].function, good, bad);
    }
    if (!path || used == 0) return;
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0 || write(file, text, used) != (ssize_t)used) perror("libgpuorch_counting: GPUORCH_COUNTS");
    if (file >= 0) close(file);
}
