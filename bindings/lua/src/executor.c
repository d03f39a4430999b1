/* executor.c: Lua functions that are called when GPU work is done, at a time or at once, and as host calls of streams.
 * An executor of Lua's has no threads: its functions run in run(), run_for() and poll(), and where it is closed or its
 * runtime shut down. */
#include <stdlib.h>

#include "calls.h"

enum { EXECUTOR_FUNCTIONS = 2 };

/* A function with a pending call; C's user pointer. */
typedef struct owed {
    state *s;
    int executor; /* number of the executor, which may have been collected */
    int number;   /* of the function in its table */
} owed;

int executor_create(lua_State *L) {
    state *s = the_state(L);
    object *runtime = check_object(L, s, 1, CLASS_RUNTIME);
    gpo_executor_options options = {.struct_size = sizeof options};
    read_record(L, 2, gpo_executor_options_fields, &options);
    options.flags |= GPO_EXECUTOR_CALLER; /* no other thread enters Lua */
    executor_object *executor = new_object(L, s, CLASS_EXECUTOR, 1);
    lua_newtable(L);
    keep(L, -2, EXECUTOR_FUNCTIONS, -1);
    lua_pop(L, 1);
    executor->number = remember(L, s, lua_gettop(L));
    return created(L, s, s->api->executor_create(HANDLE(runtime, gpo_runtime_t), &options,
                                                 (gpo_executor_t *)&executor->base.handle));
}

void destroy_executor(lua_State *L, state *s, object *o, int collected) {
    callers_here before = {0};
    if (!collected) before = enter(L, s);
    s->api->executor_destroy(HANDLE(o, gpo_executor_t));
    if (!collected) leave(s, before);
}

/* --- calls --- */

/* Pushes the pending function, removes it from its table, and frees C's user pointer. Returns the coroutine for the
 * call, or NULL if no call is possible any more. */
static lua_State *push_owed(owed *o) {
    state *s = o->s;
    lua_State *L = s->running;
    const int executor = o->executor, number = o->number;
    free(o);
    if (!L || !lua_checkstack(L, 20)) return NULL;
    if (push_known(L, s, executor)) {
        push_kept(L, -1, EXECUTOR_FUNCTIONS);
        lua_rawgeti(L, -1, number);
        lua_pushnil(L);
        lua_rawseti(L, -3, number);
        lua_replace(L, -3);
        lua_pop(L, 1);
        if (lua_isfunction(L, -1)) return L;
    }
    lua_pop(L, 1);
    return NULL;
}

struct call {
    const gpo_completion *completion;
    const gpo_host_call *host;
    const gpo_error *error;
};

/* Makes the arguments of the function below and calls it. Protected as a whole: making tables may fail. */
static int make_call(lua_State *L) {
    state *s = the_state(L);
    const struct call *c = s->call;
    lua_settop(L, 1);
    if (c->completion) {
        push_completion(L, s, c->completion);
    } else {
        lua_createtable(L, 0, 2);
        push_unsigned(L, c->host->call);
        lua_setfield(L, -2, "call");
        lua_pushstring(L, s->api->status_name(c->host->status));
        lua_setfield(L, -2, "status");
    }
    if (c->error) push_error_record(L, s, c->error);
    else lua_pushnil(L);
    lua_call(L, 2, 1);
    return 1;
}

/* Calls the function on top, and leaves what it returned. 0, or 1 after it raised, with nothing left. */
static int call_owed(lua_State *L, state *s, const struct call *c) {
    const struct call *outer = s->call;
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->caller);
    lua_insert(L, -2);
    s->call = c;
    const int failed = call_protected(L, s, 1, 1);
    s->call = outer;
    if (failed) report(L, s);
    return failed;
}

void when_done(void *user, const gpo_completion *completion, const gpo_error *error) {
    state *s = ((owed *)user)->s;
    lua_State *L = push_owed(user);
    const struct call c = {completion, NULL, error};
    if (L && call_owed(L, s, &c) == 0) lua_pop(L, 1);
}

gpo_status host_call(void *user, const gpo_host_call *call) {
    state *s = ((owed *)user)->s;
    lua_State *L = push_owed(user);
    const struct call c = {NULL, call, call->error};
    if (!L) return GPO_CANCELLED;
    if (call_owed(L, s, &c) != 0) return GPO_CALLBACK_FAILED;
    const int under_way = lua_isboolean(L, -1) && !lua_toboolean(L, -1);
    lua_pop(L, 1);
    return under_way ? GPO_NOT_READY : GPO_SUCCESS;
}

/* Puts the function behind the executor into its table. */
owed *owe(lua_State *L, state *s, int executor_index, gpo_executor_t *executor) {
    executor_object *e = check_object(L, s, executor_index, CLASS_EXECUTOR);
    luaL_checktype(L, executor_index + 1, LUA_TFUNCTION);
    push_kept(L, executor_index, EXECUTOR_FUNCTIONS);
    e->last = free_number(L, lua_gettop(L), e->last, 1);
    lua_pushvalue(L, executor_index + 1);
    lua_rawseti(L, -2, e->last);
    lua_pop(L, 1);
    owed *o = malloc(sizeof *o);
    if (!o) luaL_error(L, "not enough memory");
    *o = (owed){s, e->number, e->last};
    *executor = HANDLE(&e->base, gpo_executor_t);
    return o;
}

int owing(lua_State *L, state *s, int executor_index, owed *o, gpo_status status) {
    if (status != GPO_SUCCESS) {
        push_kept(L, executor_index, EXECUTOR_FUNCTIONS);
        lua_pushnil(L);
        lua_rawseti(L, -2, o->number);
        lua_pop(L, 1);
        free(o);
    }
    return result(L, s, status);
}

/* post_at(time in nanoseconds, function): true and the ticket. */
int executor_post_at(lua_State *L) {
    state *s = the_state(L);
    gpo_executor_t executor;
    uint64_t ticket = 0;
    check_object(L, s, 1, CLASS_EXECUTOR);
    const uint64_t time_ns = check_unsigned(L, 2, UINT64_MAX);
    luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_remove(L, 2); /* the function comes behind the executor */
    owed *o = owe(L, s, 1, &executor);
    const int count = owing(L, s, 1, o, s->api->executor_post_at(executor, time_ns, when_done, o, &ticket));
    if (count != 1) return count;
    push_unsigned(L, ticket);
    return 2;
}

/* host_call_finish(call.call [, name of a status [, message]]) */
int host_call_finish(lua_State *L) {
    state *s = the_state(L);
    object *executor = check_object(L, s, 1, CLASS_EXECUTOR);
    const uint64_t call = check_unsigned(L, 2, UINT64_MAX);
    const gpo_status status = lua_isnoneornil(L, 3) ? GPO_SUCCESS : check_status_name(L, s, 3);
    const char *message = luaL_optstring(L, 4, NULL);
    const callers_here before = enter(L, s);
    const gpo_status finished = s->api->host_call_finish(HANDLE(executor, gpo_executor_t), call, status, message);
    leave(s, before);
    return result(L, s, finished);
}

/* --- running --- */

struct run {
    lua_State *L;
    gpo_executor_t executor;
    uint64_t count;
};

static gpo_status run_for(state *s, void *context, int64_t timeout_ns) {
    struct run *r = context;
    uint64_t count = 0;
    const callers_here before = enter(r->L, s);
    const gpo_status status = s->api->executor_run_for(r->executor, timeout_ns, &count);
    leave(s, before);
    r->count += count;
    return status;
}

static int ran(lua_State *L, state *s, const struct run *r, gpo_status status) {
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_unsigned(L, r->count);
    return 1;
}

/* Runs callbacks by run_for in short slices, so that Ctrl-C ends the run. */
static int run_until(lua_State *L, int64_t timeout_ns) {
    state *s = the_state(L);
    executor_object *executor = check_object(L, s, 1, CLASS_EXECUTOR);
    struct run r = {L, HANDLE(&executor->base, gpo_executor_t), 0};
    const gpo_status status = wait_by(L, s, note_hooks(L, s), run_for, &r, timeout_ns);
    return ran(L, s, &r, status);
}

/* run(): until no call is pending; how many callbacks ran. */
int executor_run(lua_State *L) { return run_until(L, -1); }
int executor_run_for(lua_State *L) { return run_until(L, check_timeout(L, 2)); }

int executor_poll(lua_State *L) {
    state *s = the_state(L);
    executor_object *executor = check_object(L, s, 1, CLASS_EXECUTOR);
    struct run r = {L, HANDLE(&executor->base, gpo_executor_t), 0};
    serve(L, s);
    const callers_here before = enter(L, s);
    const gpo_status status = s->api->executor_poll(r.executor, &r.count);
    leave(s, before);
    pass_interrupt(L, s);
    return ran(L, s, &r, status);
}

void make_caller(lua_State *L, state *s, int state_index) {
    lua_pushvalue(L, state_index);
    lua_pushcclosure(L, make_call, 1);
    s->caller = luaL_ref(L, LUA_REGISTRYINDEX);
}
