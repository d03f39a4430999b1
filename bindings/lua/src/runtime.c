/* runtime.c: runtimes: their beginning and end, what they count, their traces. */
#include "calls.h"

#define COLLECTED_SHUTDOWN_NS 10000000000 /* how long the collector waits for a runtime that wasn't closed */

/* runtime_create([options]). log: function(level, line), called on this thread, during waits. */
int runtime_create(lua_State *L) {
    state *s = the_state(L);
    gpo_runtime_options options = {.struct_size = sizeof options};
    lua_settop(L, 1);
    /* Called during lua_close() by a finalizer that is older than the module. */
    if (!s->bridge) return failure_with(L, s, GPO_SHUT_DOWN, state_is_closed);
    read_record(L, 1, gpo_runtime_options_fields, &options);
    runtime_object *o = new_object(L, s, CLASS_RUNTIME, 0);
    if (!lua_isnoneornil(L, 1) && keep_function(L, 1, "log", 2, RUNTIME_LOG)) options.log = log_line;
    o->base.runtime = remember(L, s, 2);
    cq_object *home = keep_home(L, s, 2);
    runtime_context *context = make_context(s);
    if (!context) return luaL_error(L, "not enough memory");
    context->number = o->base.runtime;
    context->seeded = options.schedule_seed != 0;
    options.log_user = context;
    gpo_runtime_t runtime = NULL;
    gpo_status status = s->api->runtime_create(&options, &runtime);
    if (status != GPO_SUCCESS) {
        free_context(context);
        return failure(L, s, status);
    }
    if (!belongs_here(s)) settle_here(s); /* no runtime can be made in a child of a process that has used the library */
    o->base.handle = runtime;
    o->context = context;
    context->runtime = runtime;
    status = open_home(s, home, runtime);
    context->home = HANDLE(&home->base, gpo_cq_t);
    if (status == GPO_SUCCESS) return 1;
    const int results = failure(L, s, status);
    close_object(L, s, 2, 1);
    return results;
}

struct ending {
    lua_State *L;
    gpo_runtime_t runtime;
};

static gpo_status shut_down(state *s, void *context, int64_t timeout_ns) {
    const struct ending *e = context;
    const callers_here before = enter(e->L, s);
    const gpo_status status = s->api->runtime_shutdown(e->runtime, timeout_ns);
    leave(s, before);
    return status;
}

/* Frees the data outside Lua of a runtime that is shut down, and so makes no more calls. */
static void forget_runtime(lua_State *L, state *s, runtime_object *o, int index, int collected) {
    runtime_context *context = o->context;
    o->ended = 1;
    push_kept(L, index, RUNTIME_HOME);
    close_object(L, s, lua_gettop(L), collected);
    lua_pop(L, 1);
    if (!collected) serve_without_raising(L, s);
    o->context = NULL;
    free_pipeline_contexts(L, s, context);
    free_context(context);
}

static gpo_status shut_down_here(lua_State *L, state *s, runtime_object *o, int index, int64_t timeout_ns) {
    struct ending e = {L, HANDLE(&o->base, gpo_runtime_t)};
    const gpo_status status = wait_by(L, s, note_hooks(L, s), shut_down, &e, timeout_ns);
    if (status == GPO_SUCCESS) forget_runtime(L, s, o, index, 0);
    return status;
}

/* shutdown([seconds]): as C's; false, text, "GPO_TIMEOUT" if something still runs. */
int runtime_shutdown(lua_State *L) {
    state *s = the_state(L);
    runtime_object *o = check_object(L, s, 1, CLASS_RUNTIME);
    const int64_t timeout_ns = check_timeout(L, 2);
    if (o->context->busy)
        return failure_with(L, s, GPO_WOULD_DEADLOCK,
                            "from inside a callback of the runtime: it would wait for itself");
    const gpo_status status = shut_down_here(L, s, o, 1, timeout_ns);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    o->base.closed = 1;
    o->base.handle = NULL;
    lua_pushboolean(L, 1);
    return 1;
}

void destroy_runtime(lua_State *L, state *s, object *o, int collected) {
    runtime_object *runtime = (runtime_object *)o;
    const int index = lua_gettop(L);
    if (!collected && runtime->context->busy) {
        o->closed = 0;
        luaL_error(L, "a runtime can't be closed from inside one of its callbacks");
    }
    if (!collected) {
        shut_down_here(L, s, runtime, index, -1);
        return;
    }
    close_calls(runtime->context, &runtime->context->closed);
    if (s->api->runtime_shutdown(HANDLE(o, gpo_runtime_t), COLLECTED_SHUTDOWN_NS) == GPO_SUCCESS)
        forget_runtime(L, s, runtime, index, 1);
    else
        runtime->ended = 1;
}

/* Ends a runtime whose userdata was collected without a call of the finalizer. */
static void end_lost_runtime(lua_State *L, state *s, runtime_context *context) {
    close_calls(context, &context->closed);
    if (s->api->runtime_shutdown(context->runtime, COLLECTED_SHUTDOWN_NS) != GPO_SUCCESS) return;
    free_pipeline_contexts(L, s, context);
    free_context(context);
}

void end_runtimes(lua_State *L, state *s) {
    for (runtime_context *context = s->contexts, *next; context; context = next) {
        next = context->next;
        if (push_known(L, s, context->number)) close_object(L, s, lua_gettop(L), 1);
        else if (!context->closed) end_lost_runtime(L, s, context); /* else it didn't end in time before */
        lua_pop(L, 1);
    }
}

/* metrics(): as C's struct; `errors` is a table from names of statuses to counts. */
int runtime_get_metrics(lua_State *L) {
    state *s = the_state(L);
    gpo_metrics metrics = {.struct_size = sizeof metrics};
    object *o = check_object(L, s, 1, CLASS_RUNTIME);
    const gpo_status status = s->api->runtime_get_metrics(HANDLE(o, gpo_runtime_t), &metrics);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_record(L, s, gpo_metrics_fields, &metrics);
    lua_newtable(L);
    for (gpo_status error = 0; error < GPO_METRICS_ERRORS; ++error) {
        if (metrics.errors[error] == 0) continue;
        push_unsigned(L, metrics.errors[error]);
        lua_setfield(L, -2, s->api->status_name(error));
    }
    lua_setfield(L, -2, "errors");
    return 1;
}

/* completions(): the queue of operations that name no other, for event loops to watch. */
int runtime_completions(lua_State *L) {
    check_object(L, the_state(L), 1, CLASS_RUNTIME);
    push_kept(L, 1, RUNTIME_HOME);
    return 1;
}
