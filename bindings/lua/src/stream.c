/* stream.c: streams, pools of them, events and timelines. */
#include "methods.h"

/* --- waiting: at once, else by sleeping in the library, else, where callbacks may come, by an operation --- */

struct wait_for {
    gpo_status (*wait)(state *s, const struct wait_for *w, int64_t timeout_ns);
    notifier notify;
    object *source;
    uint64_t value;
};

static gpo_status attempt_wait(state *s, void *context, int64_t timeout_ns) {
    const struct wait_for *w = context;
    return w->wait(s, w, timeout_ns);
}

static int wait_method(lua_State *L, state *s, struct wait_for *w, int timeout_index) {
    const noted_hooks before = note_hooks(L, s);
    const int64_t timeout_ns = check_timeout(L, timeout_index);
    if (timeout_ns != 0 && has_callers(s)) {
        const gpo_status status = w->wait(s, w, 0);
        if (status != GPO_TIMEOUT) return result(L, s, status);
        const int results = notify(L, s, 0, 0, w->notify, w->source, 1, w->value);
        if (results == 1) return operation_wait_at(L, s, before, lua_gettop(L), timeout_ns);
        lua_settop(L, -results - 1); /* no mark is possible (captured, or the queue is full): wait by sleeping */
    }
    return result(L, s, wait_by(L, s, before, attempt_wait, w, timeout_ns));
}

/* --- streams --- */

static int stream_create(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    gpo_stream_options options = {.struct_size = sizeof options};
    read_record(L, 2, gpo_stream_options_fields, &options);
    stream_object *stream = new_object(L, s, CLASS_STREAM, 1);
    stream->resident = (options.flags & GPO_STREAM_RESIDENT) != 0;
    return created(L, s, s->api->stream_create(device, &options, (gpo_stream_t *)&stream->base.handle));
}

void destroy_stream(lua_State *L, state *s, object *o, int collected) {
    (void)collected;
    if (!((stream_object *)o)->pooled) {
        s->api->stream_destroy(HANDLE(o, gpo_stream_t));
        return;
    }
    push_kept(L, -1, STREAM_POOL);
    const object *pool = lua_touserdata(L, -1);
    if (pool->handle) s->api->stream_pool_release(HANDLE(pool, gpo_stream_pool_t), HANDLE(o, gpo_stream_t));
    drop_user(L, s, lua_gettop(L));
    lua_pop(L, 1);
}

/* device(): the object that it was made from. */
static int stream_device(lua_State *L) {
    check_object(L, the_state(L), 1, CLASS_STREAM);
    push_kept(L, 1, 1);
    return 1;
}

int is_idle(state *s, const stream_object *stream) {
    return !s->recorder && s->api->stream_query(HANDLE(&stream->base, gpo_stream_t)) == GPO_SUCCESS;
}

static gpo_status wait_for_stream(state *s, const struct wait_for *w, int64_t timeout_ns) {
    return s->api->stream_wait(HANDLE(w->source, gpo_stream_t), timeout_ns);
}

static gpo_status notify_stream(state *s, void *source, gpo_cq_t cq, uint64_t user_data, uint64_t extra) {
    (void)extra;
    return s->api->stream_notify(HANDLE((object *)source, gpo_stream_t), cq, user_data);
}

static int stream_wait(lua_State *L) {
    state *s = the_state(L);
    struct wait_for w = {wait_for_stream, notify_stream, check_object(L, s, 1, CLASS_STREAM), 0};
    return wait_method(L, s, &w, 2);
}

/* notify([cq [, value]]): an operation; with a value true, and drain() gives an entry with it. */
static int stream_notify(lua_State *L) {
    state *s = the_state(L);
    return notify_method(L, s, 2, notify_stream, check_object(L, s, 1, CLASS_STREAM), 0);
}

struct timed {
    object *stream, *since;
};

static gpo_status notify_timed(state *s, void *source, gpo_cq_t cq, uint64_t user_data, uint64_t extra) {
    const struct timed *t = source;
    (void)extra;
    return s->api->stream_notify_timed(HANDLE(t->stream, gpo_stream_t), cq, user_data, HANDLE(t->since, gpo_event_t));
}

/* notify_timed(since [, cq [, value]]) */
static int stream_notify_timed(lua_State *L) {
    state *s = the_state(L);
    struct timed t = {check_object(L, s, 1, CLASS_STREAM), check_object(L, s, 2, CLASS_EVENT)};
    return notify_method(L, s, 3, notify_timed, &t, 0);
}

static int stream_wait_event(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream = check_object(L, s, 1, CLASS_STREAM);
    const gpo_status status = s->api->stream_wait_event(HANDLE(&stream->base, gpo_stream_t), CHECK_HANDLE(2, event));
    if (s->recorder && status == GPO_SUCCESS) join_recording(s, stream, NULL);
    return result(L, s, status);
}

static int stream_wait_stream(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream = check_object(L, s, 1, CLASS_STREAM), *other = check_object(L, s, 2, CLASS_STREAM);
    const gpo_status status =
        s->api->stream_wait_stream(HANDLE(&stream->base, gpo_stream_t), HANDLE(&other->base, gpo_stream_t));
    if (s->recorder && status == GPO_SUCCESS) join_recording(s, stream, other);
    return result(L, s, status);
}

/* --- pools of streams --- */

/* acquire([priority]): a stream that closing gives back, as release does. */
static int stream_pool_acquire(lua_State *L) {
    state *s = the_state(L);
    object *pool = check_object(L, s, 1, CLASS_STREAM_POOL);
    const int32_t priority = lua_isnoneornil(L, 2) ? 0 : (int32_t)check_signed(L, 2, INT32_MIN, INT32_MAX);
    push_kept(L, 1, 1);
    stream_object *stream = new_object(L, s, CLASS_STREAM, lua_gettop(L));
    keep(L, lua_gettop(L), STREAM_POOL, 1);
    gpo_stream_t handle = NULL;
    const gpo_status status = s->api->stream_pool_acquire(HANDLE(pool, gpo_stream_pool_t), priority, &handle);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    stream->pooled = 1;
    stream->base.handle = handle;
    ++pool->users; /* a closed pool releases its streams when the last one is given back */
    return 1;
}

static int stream_pool_release(lua_State *L) {
    state *s = the_state(L);
    object *pool = check_object(L, s, 1, CLASS_STREAM_POOL), *stream = check_object(L, s, 2, CLASS_STREAM);
    push_kept(L, 2, STREAM_POOL);
    if (lua_touserdata(L, -1) != pool) /* C says why: it is not out of this pool */
        return result(L, s, s->api->stream_pool_release(HANDLE(pool, gpo_stream_pool_t), HANDLE(stream, gpo_stream_t)));
    if (stream->users) { /* Arrays need the handle to be freed behind it. The stream goes back to its pool with its
                          * last array, or now if it is idle. */
        close_object(L, s, 2, 0);
        lua_pushboolean(L, 1);
        return 1;
    }
    const gpo_status status =
        s->api->stream_pool_release(HANDLE(pool, gpo_stream_pool_t), HANDLE(stream, gpo_stream_t));
    if (status == GPO_SUCCESS) {
        stream->closed = 1;
        stream->handle = NULL;
        drop_user(L, s, 1);
    }
    return result(L, s, status);
}

/* --- events --- */

static gpo_status wait_for_event(state *s, const struct wait_for *w, int64_t timeout_ns) {
    return s->api->event_wait(HANDLE(w->source, gpo_event_t), timeout_ns);
}

static gpo_status notify_event(state *s, void *source, gpo_cq_t cq, uint64_t user_data, uint64_t extra) {
    (void)extra;
    return s->api->event_notify(HANDLE((object *)source, gpo_event_t), cq, user_data);
}

static int event_wait(lua_State *L) {
    state *s = the_state(L);
    struct wait_for w = {wait_for_event, notify_event, check_object(L, s, 1, CLASS_EVENT), 0};
    return wait_method(L, s, &w, 2);
}

static int event_notify(lua_State *L) {
    state *s = the_state(L);
    return notify_method(L, s, 2, notify_event, check_object(L, s, 1, CLASS_EVENT), 0);
}

/* --- timelines --- */

static gpo_status wait_for_timeline(state *s, const struct wait_for *w, int64_t timeout_ns) {
    return s->api->timeline_wait(HANDLE(w->source, gpo_timeline_t), w->value, timeout_ns);
}

static gpo_status notify_timeline(state *s, void *source, gpo_cq_t cq, uint64_t user_data, uint64_t value) {
    return s->api->timeline_notify(HANDLE((object *)source, gpo_timeline_t), value, cq, user_data);
}

/* wait(value [, seconds]) */
static int timeline_wait(lua_State *L) {
    state *s = the_state(L);
    struct wait_for w = {wait_for_timeline, notify_timeline, check_object(L, s, 1, CLASS_TIMELINE),
                         check_unsigned(L, 2, UINT64_MAX)};
    return wait_method(L, s, &w, 3);
}

/* notify(value [, cq [, user_data]]) */
static int timeline_notify(lua_State *L) {
    state *s = the_state(L);
    object *timeline = check_object(L, s, 1, CLASS_TIMELINE);
    return notify_method(L, s, 3, notify_timeline, timeline, check_unsigned(L, 2, UINT64_MAX));
}

const luaL_Reg stream_methods[] = {
    {"device", stream_device}, {"wait", stream_wait}, {"notify", stream_notify},
    {"notify_timed", stream_notify_timed}, {"wait_event", stream_wait_event}, {"wait_stream", stream_wait_stream},
    {NULL, NULL}};
const luaL_Reg stream_pool_methods[] = {
    {"acquire", stream_pool_acquire}, {"release", stream_pool_release}, {NULL, NULL}};
const luaL_Reg event_methods[] = {{"wait", event_wait}, {"notify", event_notify}, {NULL, NULL}};
const luaL_Reg timeline_methods[] = {{"wait", timeline_wait}, {"notify", timeline_notify}, {NULL, NULL}};
const luaL_Reg device_stream_methods[] = {{"stream_create", stream_create}, {NULL, NULL}};

