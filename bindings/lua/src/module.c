/* module.c: require "gpuorch": opens the library, makes the classes. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

#define EXPORT __attribute__((visibility("default")))

/* The table of the library's functions. Raises if there is no library, or only an incompatible version. */
static const gpo_api *open_library(lua_State *L) {
    const char *given = secure_getenv("GPUORCH_LIBRARY");
    const char *path = given && *given ? given : GPO_SONAME;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        luaL_error(L,
                   "gpuorch: the library can't be loaded: %s; install libgpuorch, or set GPUORCH_LIBRARY to its path",
                   dlerror());
    const gpo_api *(*get)(uint32_t);
    uint32_t (*version)(void);
    *(void **)&get = dlsym(library, "gpo_get_api");
    *(void **)&version = dlsym(library, "gpo_version");
    if (!get) luaL_error(L, "gpuorch: %s is no libgpuorch, or older than this module: it has no gpo_get_api", path);
    const gpo_api *api = get(GPO_VERSION);
    const uint32_t theirs = api ? api->library_version : version ? version() : 0;
    if (!api || api->struct_size < sizeof *api)
        luaL_error(L, "gpuorch: %s is version %d.%d.%d, and this module was made for %d.%d.%d: it needs %s", path,
                   (int)(theirs / 10000), (int)(theirs / 100 % 100), (int)(theirs % 100), GPO_VERSION_MAJOR,
                   GPO_VERSION_MINOR, GPO_VERSION_PATCH,
                   theirs > GPO_VERSION ? "a module made for that library" : "a newer library");
    return api; /* the library stays loaded: it can't be unloaded with work in flight, and is marked so itself */
}

/* A callback may still be returning through this module when lua_close() would unload the module. */
static void stay_loaded(void) {
    Dl_info self;
    if (dladdr((const void *)(uintptr_t)stay_loaded, &self))
        dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static int version(lua_State *L) {
    push_unsigned(L, the_state(L)->api->version());
    return 1;
}

/* held_bytes(): the bytes of all live arrays, as the collector accounts for them. */
static int held_bytes(lua_State *L) {
    push_signed(L, the_state(L)->held_bytes);
    return 1;
}

/* now(): the time in seconds, by the clock of timeouts. */
static int now(lua_State *L) {
    lua_pushnumber(L, (lua_Number)now_ns() * 1e-9);
    return 1;
}

void print_text(const char *text) { fprintf(stderr, "gpuorch: an error in a callback: %s\n", text); }

/* The default on_error: writes the message to standard error. */
static int print_error(lua_State *L) {
    const char *text = lua_tostring(L, 1);
    print_text(text ? text : luaL_typename(L, 1));
    return 0;
}

/* The last of the module's finalizers. Releases the resources of objects whose finalizers weren't called: Lua had no
 * memory for the call, or, in some Luas, a finalizer made the object while the Lua state was closed. */
static int close_state(lua_State *L) {
    state *s = lua_touserdata(L, 1);
    if (!s->bridge) return 0;
    const int here = belongs_here(s);
    if (here) {
        end_runtimes(L, s);
        print_unheard(s);
    }
    /* A runtime that didn't end in time may still use memory of a userdata's: then nothing is freed. */
    if (!here || !s->contexts) owned_free_all(s);
    if (here) close_bridge(s->bridge);
    s->bridge = NULL;
    return 0;
}

static const luaL_Reg functions[] = {
    {"runtime_create", runtime_create}, {"launch", make_launch}, {"array", make_host_array},
    {"address", make_address},
    {"pack", kernel_pack},              {"unpack", kernel_unpack}, {"advise", advise}, {"advise_trace", advise_trace},
    {"poll", poll_queues},              {"version", version},    {"held_bytes", held_bytes}, {"on_error", print_error},
    {"now", now},                       {"interrupt_on", interrupt_on}, {NULL, NULL}};

static state *push_state(lua_State *L) {
    state *s = lua_newuserdata(L, sizeof *s);
    memset(s, 0, sizeof *s);
    lua_newtable(L);
    lua_pushcfunction(L, close_state);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    /* The state lives as long as the Lua state: lua_close has room to call close_state, a collection may have none. */
    lua_pushvalue(L, -1);
    luaL_ref(L, LUA_REGISTRYINDEX);
    s->api = open_library(L);
    stay_loaded();
    if (!watch_forks() || !(s->bridge = make_bridge(s->api))) luaL_error(L, "not enough memory");
    settle_here(s);
    if (lua_pushthread(L)) s->main = L;
    lua_pop(L, 1);
#if LUA_VERSION_NUM >= 502
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    s->main = lua_tothread(L, -1);
    lua_pop(L, 1);
#endif
    return s;
}

/* A registry reference to the function, whose upvalue is the state at 1. */
static int refer(lua_State *L, lua_CFunction function) {
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, function, 1);
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

EXPORT int luaopen_gpuorch(lua_State *L) {
    luaL_checkstack(L, 20, NULL);
    lua_settop(L, 0);
    state *s = push_state(L); /* 1 */
    lua_newtable(L);          /* 2: the module */
    push_functions(L, 1, functions);
    push_functions(L, 1, gpuorch_calls);
    push_functions(L, 1, status_functions);
    lua_newtable(L);          /* 3: metatables by number */
    make_classes(L, s, 1);
    make_addresses(L, s, 1);
    lua_pushvalue(L, 3);
    s->classes = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_pushvalue(L, 2);
    s->module = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_newtable(L); /* what callbacks look for by number, and doesn't stay for that */
    lua_newtable(L);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    s->known = luaL_ref(L, LUA_REGISTRYINDEX);
    s->runner = refer(L, run_request);
    s->teller = refer(L, tell_log);
    s->handler = refer(L, with_traceback);
    s->unheard_teller = refer(L, tell_unheard);
    make_caller(L, s, 1);
    make_await(L, 2, 3, 1);
    /* Makes the registry's list of free references, so that luaL_unref in a finalizer needs no memory. */
    lua_pushboolean(L, 1);
    luaL_unref(L, LUA_REGISTRYINDEX, luaL_ref(L, LUA_REGISTRYINDEX));
    lua_settop(L, 2);
    return 1;
}
