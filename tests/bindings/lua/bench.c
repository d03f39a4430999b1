/* bench.c: the C arm of bench.lua: the same calls on a runtime of its own, in the same process. query(n) and launch(n)
 * make n calls and return the nanoseconds that one took; wait() waits for the stream. */
#include <dlfcn.h>
#include <gpuorch/api.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <time.h>

static const gpo_api *gpo;
static gpo_runtime_t runtime;
static gpo_device_t device;
static gpo_stream_t stream;
static gpo_module_t module;
static gpo_kernel_t kernel;
static uint64_t memory;

static int check(lua_State *L, gpo_status status) {
    return status ? luaL_error(L, "bench: %s", gpo->status_name(status)) : 0;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int query(lua_State *L) {
    const int count = (int)luaL_checkinteger(L, 1);
    const double start = now();
    for (int i = 0; i < count; ++i) check(L, gpo->stream_query(stream));
    lua_pushnumber(L, (now() - start) / count);
    return 1;
}

static int launch(lua_State *L) {
    const int count = (int)luaL_checkinteger(L, 1);
    const gpo_launch shape = {.struct_size = sizeof shape, .grid = {1}, .block = {1}};
    const uint32_t sizes[] = {8, 4, 8};
    const double start = now();
    for (uint32_t i = 0; i < (uint32_t)count; ++i) {
        const uint64_t n = 1;
        const void *arguments[] = {&memory, &i, &n};
        check(L, gpo->stream_launch_kernel(stream, kernel, &shape, arguments, sizes, 3));
    }
    lua_pushnumber(L, (now() - start) / count);
    return 1;
}

static int wait(lua_State *L) { return check(L, gpo->stream_wait(stream, -1)); }

__attribute__((visibility("default"))) int luaopen_bench(lua_State *L) {
    static const luaL_Reg functions[] = {{"query", query}, {"launch", launch}, {"wait", wait}};
    void *library = dlopen(getenv("GPUORCH_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    if (!library) return luaL_error(L, "bench: %s", dlerror());
    const gpo_api *(*get)(uint32_t);
    *(void **)&get = dlsym(library, "gpo_get_api");
    gpo = get(GPO_VERSION);
    check(L, gpo->runtime_create(NULL, &runtime));
    check(L, gpo->device_open(runtime, NULL, &device));
    check(L, gpo->stream_create(device, NULL, &stream));
    check(L, gpo->module_load_builtin(device, &module));
    check(L, gpo->module_get_kernel(module, "gpo_fill_u32", &kernel));
    check(L, gpo->memory_allocate(device, 4, NULL, &memory));
    lua_newtable(L);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
        lua_pushcfunction(L, functions[i].func);
        lua_setfield(L, -2, functions[i].name);
    }
    return 1;
}
