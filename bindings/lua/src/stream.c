/* stream.c: streams, pools of them, events and timelines. */
#include "calls.h"

/* --- streams --- */

int stream_create(lua_State *L) {
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
int stream_device(lua_State *L) {
    check_object(L, the_state(L), 1, CLASS_STREAM);
    push_kept(L, 1, 1);
    return 1;
}

int is_idle(state *s, const stream_object *stream) {
    return !s->recorder && s->api->stream_query(HANDLE(&stream->base, gpo_stream_t)) == GPO_SUCCESS;
}

int stream_wait_event(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream = check_object(L, s, 1, CLASS_STREAM);
    const gpo_status status = s->api->stream_wait_event(HANDLE(&stream->base, gpo_stream_t), CHECK_HANDLE(2, event));
    if (s->recorder && status == GPO_SUCCESS) join_recording(s, stream, NULL);
    return result(L, s, status);
}

int stream_wait_stream(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream = check_object(L, s, 1, CLASS_STREAM), *other = check_object(L, s, 2, CLASS_STREAM);
    const gpo_status status =
        s->api->stream_wait_stream(HANDLE(&stream->base, gpo_stream_t), HANDLE(&other->base, gpo_stream_t));
    if (s->recorder && status == GPO_SUCCESS) join_recording(s, stream, other);
    return result(L, s, status);
}

/* --- pools of streams --- */

/* acquire([priority]): a stream that closing gives back, as release does. */
int stream_pool_acquire(lua_State *L) {
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

int stream_pool_release(lua_State *L) {
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
