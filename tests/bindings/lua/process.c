/* process.c: a module for the tests, with functions that scripts lack. `fork()` and `wait(pid)`: exit code, or minus
 * the signal. `alarm(seconds)`: SIGALRM kills the process after that time. `threads(count, path, ...)`: runs a script
 * on each of `count` threads at the same time, in Lua states of their own; the message of a failed one, or nil.
 * `states(count, path)`: runs it in one state after the other. `setenv(name, value)`. `held()`: how many descriptors
 * and threads the process has. `start(path)`: runs a script on a detached thread. `exit(code)`: ends the process and
 * runs no exit handlers. `limited(path, first, failures)`: runs a script in a state where `failures` allocations fail,
 * from number `first` on; the number of allocations, and the script's error or nil. In that script, `starve(true)`
 * makes each allocation fail, until `starve(false)`. `interrupt_allocation()`: Ctrl-C comes at this state's next
 * allocation. */
#include <dirent.h>
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int fork_process(lua_State *L) {
    fflush(NULL);
    lua_pushinteger(L, fork());
    return 1;
}

static int wait_for(lua_State *L) {
    int status = 0;
    waitpid((pid_t)luaL_checkinteger(L, 1), &status, 0);
    lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    return 1;
}

static int limit_time(lua_State *L) {
    alarm((unsigned)luaL_checkinteger(L, 1));
    return 0;
}

struct thread {
    pthread_t thread;
    const char *path;
    char message[512];
};

static void *run(void *user) {
    struct thread *t = user;
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    if (luaL_loadfile(L, t->path) != 0 || lua_pcall(L, 0, 0, 0) != 0)
        snprintf(t->message, sizeof t->message, "%s", lua_tostring(L, -1));
    lua_close(L);
    return NULL;
}

static int states(lua_State *L) {
    const int count = (int)luaL_checkinteger(L, 1);
    struct thread t = {.path = luaL_checkstring(L, 2)};
    for (int i = 0; i < count && !t.message[0]; ++i) run(&t);
    lua_pushstring(L, t.message[0] ? t.message : NULL);
    return 1;
}

struct limit {
    long allocations, first, failures; /* failures left from the first on, which counts from 1 */
    int on;
};

static void *allocate(void *user, void *memory, size_t old_bytes, size_t bytes) {
    struct limit *l = user;
    if (bytes == 0) return free(memory), NULL;
    if (l->on && (!memory || bytes > old_bytes) && ++l->allocations >= l->first && l->failures > 0) {
        --l->failures;
        return NULL;
    }
    return realloc(memory, bytes);
}

static int starve(lua_State *L) {
    struct limit *l = lua_touserdata(L, lua_upvalueindex(1));
    l->first = 0;
    l->failures = lua_toboolean(L, 1) ? LONG_MAX : 0;
    return 0;
}

/* LuaJIT leaves a file open when it finds no memory while it reads a script, so the module's own are read before. */
static const char read_scripts[] =
    "for path in package.path:gmatch('[^;]+') do\n"
    "    local chunk = loadfile((path:gsub('%?', 'gpuorch/loop')))\n"
    "    if chunk then package.preload['gpuorch.loop'] = chunk return end\n"
    "end\n";

static int limited(lua_State *L) {
    struct limit l = {.first = (long)luaL_checkinteger(L, 2), .failures = (long)luaL_checkinteger(L, 3)};
    lua_State *other = lua_newstate(allocate, &l);
    if (!other) return 0;
    luaL_openlibs(other);
    lua_pushlightuserdata(other, &l);
    lua_pushcclosure(other, starve, 1);
    lua_setglobal(other, "starve");
    if (luaL_dostring(other, read_scripts) != 0 || luaL_loadfile(other, luaL_checkstring(L, 1)) != 0)
        return luaL_error(L, "%s", lua_tostring(other, -1));
    l.on = 1;
    const int failed = lua_pcall(other, 0, 0, 0);
    l.on = 0;
    lua_pushinteger(L, l.allocations);
    lua_pushstring(L, failed == 0 ? NULL : lua_isstring(other, -1) ? lua_tostring(other, -1) : "no string");
    lua_close(other);
    return 2;
}

static int set_environment(lua_State *L) {
    lua_pushboolean(L, setenv(luaL_checkstring(L, 1), luaL_checkstring(L, 2), 1) == 0);
    return 1;
}

static int entries(const char *path) {
    int count = 0;
    DIR *folder = opendir(path);
    while (folder && readdir(folder)) ++count;
    if (folder) closedir(folder);
    return count - 2; /* . and .. */
}

static int held(lua_State *L) {
    lua_pushfstring(L, "%d descriptors, %d threads", entries("/proc/self/fd") - 1, entries("/proc/self/task"));
    return 1;
}

struct interrupted {
    lua_State *L;
    lua_Alloc allocate;
    void *user;
};

static void *interrupt_and_allocate(void *user, void *memory, size_t old_bytes, size_t bytes) {
    const struct interrupted i = *(struct interrupted *)user;
    if (bytes > 0) {
        lua_setallocf(i.L, i.allocate, i.user);
        free(user);
        raise(SIGINT);
    }
    return i.allocate(i.user, memory, old_bytes, bytes);
}

static int interrupt_allocation(lua_State *L) {
    struct interrupted *i = malloc(sizeof *i);
    if (!i) return luaL_error(L, "not enough memory");
    i->L = L;
    i->allocate = lua_getallocf(L, &i->user);
    lua_setallocf(L, interrupt_and_allocate, i);
    return 0;
}

/* The thread is left alone, even at the end of the process. */
static int start(lua_State *L) {
    struct thread *t = calloc(1, sizeof *t);
    if (!t || !(t->path = strdup(luaL_checkstring(L, 1)))) return luaL_error(L, "not enough memory");
    pthread_create(&t->thread, NULL, run, t);
    return 0;
}

static int exit_at_once(lua_State *L) {
    _exit((int)luaL_checkinteger(L, 1));
    return 0;
}

static int threads(lua_State *L) {
    struct thread list[16];
    const int count = (int)luaL_checkinteger(L, 1);
    luaL_argcheck(L, count >= 1 && count <= 16, 1, "1 to 16");
    for (int i = 0; i < count; ++i) {
        list[i] = (struct thread){.path = luaL_checkstring(L, 2)};
        pthread_create(&list[i].thread, NULL, run, &list[i]);
    }
    lua_pushnil(L);
    for (int i = 0; i < count; ++i) {
        pthread_join(list[i].thread, NULL);
        if (list[i].message[0]) lua_pushstring(L, list[i].message);
    }
    return 1;
}

__attribute__((visibility("default"))) int luaopen_process(lua_State *L) {
    static const luaL_Reg functions[] = {{"fork", fork_process},
                                         {"wait", wait_for},
                                         {"alarm", limit_time},
                                         {"threads", threads},
                                         {"states", states},
                                         {"setenv", set_environment},
                                         {"held", held},
                                         {"start", start},
                                         {"limited", limited},
                                         {"exit", exit_at_once},
                                         {"interrupt_allocation", interrupt_allocation},
                                         {NULL, NULL}};
    lua_newtable(L);
    for (const luaL_Reg *f = functions; f->name; ++f) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, -2, f->name);
    }
    return 1;
}
