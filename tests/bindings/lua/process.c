/* process.c: a module for the tests: what a script can't do by itself. fork(), wait(pid): exit code, or minus the signal;
 * pid(); threads(count, path, ...): runs a script in a Lua state of its own on each of so many threads, at the same time;
 * the first message of one that failed, or nil. states(count, path): the same one after the other. setenv(name, value).
 * held(): how many descriptors and threads the process has. start(path): runs a script on a thread that nobody waits for.
 * exit(code): ends the process with nothing of its own being run. */
#include <dirent.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
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

static int pid(lua_State *L) {
    lua_pushinteger(L, getpid());
    return 1;
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

/* The thread is left alone, whatever becomes of the process. */
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
    static const luaL_Reg functions[] = {{"fork", fork_process}, {"wait", wait_for}, {"pid", pid}, {"threads", threads},
                                         {"states", states}, {"setenv", set_environment}, {"held", held}, {"start", start},
                                         {"exit", exit_at_once}, {NULL, NULL}};
    lua_newtable(L);
    for (const luaL_Reg *f = functions; f->name; ++f) {
        lua_pushcfunction(L, f->func);
        lua_setfield(L, -2, f->name);
    }
    return 1;
}
