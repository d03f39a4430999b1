/* The library without linking it: dlopen and gpo_get_api only, for programs that must start without the library.
 *     cc dlopen.c $(pkg-config --cflags gpuorch) -ldl -o dlopen && ./dlopen */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <gpuorch/gpuorch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the library that was loaded has a function: an older one has a shorter table. */
#define HAS(gpo, member) (offsetof(gpo_api, member) + sizeof((gpo)->member) <= (gpo)->struct_size)

/* NULL, after printing the reason, if the library is missing or can't serve this program. */
static const gpo_api *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return fprintf(stderr, "dlopen: %s\n", dlerror()), NULL;
    const gpo_api *(*get)(uint32_t);
    void *symbol = dlsym(library, "gpo_get_api");
    if (!symbol) return fprintf(stderr, "dlopen: %s is not libgpuorch: it has no gpo_get_api\n", path), NULL;
    memcpy(&get, &symbol, sizeof get); /* ISO C has no cast from void * to a function */
    const gpo_api *gpo = get(GPO_VERSION);
    if (!gpo) return fprintf(stderr, "dlopen: %s can't serve version %d of the ABI\n", path, GPO_VERSION), NULL;
    if (!HAS(gpo, cq_wait)) /* of the functions called below, the last in the table */
        return fprintf(stderr, "dlopen: %s is older than this program needs\n", path), NULL;
    return gpo;
}

int main(void) {
    const char *path = secure_getenv("GPUORCH_LIBRARY"); /* nothing in a set-uid program */
    const gpo_api *gpo = load(path && *path ? path : GPO_SONAME);
    if (!gpo) return 1;

    gpo_runtime_t runtime;
    gpo_device_t device;
    gpo_stream_t stream;
    gpo_cq_t done;
    gpo_driver_info driver = {.struct_size = sizeof driver};
    gpo_completion entry;
    uint64_t memory, count = 0;
    uint32_t back[256] = {0};
    gpo_status status = gpo->runtime_create(NULL, &runtime);
    if (!status) status = gpo->runtime_get_driver(runtime, &driver);
    if (!status) status = gpo->device_open(runtime, NULL, &device);
    if (!status) status = gpo->stream_create(device, NULL, &stream);
    if (!status) status = gpo->cq_create(runtime, NULL, &done);
    if (!status) status = gpo->memory_allocate(device, sizeof back, "back", &memory);
    if (!status) status = gpo->fill(stream, memory, 42, 4, 256);
    if (!status) status = gpo->copy_to_host(stream, back, memory, sizeof back);
    if (!status) status = gpo->stream_notify(stream, done, 7);
    if (!status) status = gpo->cq_wait(done, -1);
    if (!status) status = gpo->cq_drain(done, &entry, sizeof entry, 1, &count);
    if (!status) status = gpo->memory_free(device, memory);
    if (status) {
        gpo_error error = {.struct_size = sizeof error};
        gpo->last_error(&error);
        fprintf(stderr, "dlopen: %s: %s\n", error.function, error.message);
        return 1;
    }
    printf("driver %s, entry %llu: %s, the last of 256 is %u\n", driver.name, (unsigned long long)entry.user_data,
           gpo->status_name(entry.status), back[255]);
    return gpo->runtime_shutdown(runtime, -1) == GPO_SUCCESS ? 0 : 1;
}
