/* bucket_call.c: the functions of Lua's that put a bucket's work on a stream. C calls them inside a launch or a
 * preparation, on the thread that runs the Lua state. The functions may not yield. */
#include "buckets.h"

typedef struct bucket_call {
    request base;
    buckets_object *of;
    gpo_stream_t stream;
    const gpo_bucket_work *work;
    int slot;                    /* where the function is kept */
} bucket_call;

static int is_recording(const bucket_call *c) { return c->slot == BUCKETS_RECORD && c->work->graph_template; }

/* Pushes the caller's stream object, so that uses of arrays are noted on it. For another stream, pushes an object that
 * is open during the call. A stream always has the same object, because arrays of a warm-up may be collected while the
 * stream is recorded. The buckets are at 1, the request at 2. */
static stream_object *push_stream(lua_State *L, state *s, const bucket_call *c) {
    if (c->stream == c->of->request->stream) {
        lua_rawgeti(L, 2, REQUEST_STREAM);
        return lua_touserdata(L, -1);
    }
    push_kept(L, 1, BUCKETS_STREAM);
    stream_object *stream = lua_touserdata(L, -1);
    const int other = !stream || (stream->base.handle && stream->base.handle != c->stream);
    if (other) {
        lua_pop(L, 1);
        push_kept(L, 1, 1);
        stream = new_object(L, s, CLASS_STREAM, lua_gettop(L));
        lua_remove(L, -2);
    }
    stream->base.handle = c->stream;
    stream->base.borrowed = 1;
    stream->base.closed = 0;
    if (other) keep(L, 1, BUCKETS_STREAM, lua_gettop(L));
    return stream;
}

static const char *phase_name(uint32_t phase) {
    switch (phase) {
        case GPO_BUCKET_WARM_UP: return "warm_up";
        case GPO_BUCKET_RECORDING: return "recording";
        case GPO_BUCKET_EAGER: return "eager";
        default: return "padding";
    }
}

/* phase, size, shape and a copy of the request's settings */
static void push_work(lua_State *L, const bucket_call *c) {
    lua_createtable(L, 0, 5);
    lua_pushstring(L, phase_name(c->work->phase));
    lua_setfield(L, -2, "phase");
    push_unsigned(L, c->work->size);
    lua_setfield(L, -2, "size");
    push_unsigned(L, c->work->shape);
    lua_setfield(L, -2, "shape");
    lua_rawgeti(L, 2, REQUEST_SETTINGS);
    if (c->work->setting_count) {
        copy_table(L, lua_gettop(L));
    } else {
        lua_pop(L, 1);
        lua_newtable(L);
    }
    lua_setfield(L, -2, "settings");
}

/* Pushes the bucket's template, into which the stream at 3 is being recorded, or nil. Allocates no memory before
 * begin_recording() has noted the recording in the template. */
static void push_recorded(lua_State *L, state *s, const bucket_call *c, stream_object *stream) {
    if (is_recording(c)) {
        push_kept(L, 1, BUCKETS_NEXT);
        /* The one before was taken, and there was no memory for another. */
        if (!lua_isuserdata(L, -1)) luaL_error(L, "not enough memory");
        begin_recording(s, lua_touserdata(L, -1), stream);
    } else {
        lua_pushnil(L);
    }
}

/* The template at 4 is that of the bucket that is recorded. */
static void settle_next(lua_State *L, state *s, const bucket_call *c) {
    bucket_request *r = c->of->request;
    template_object *t = lua_touserdata(L, 4);
    t->base.handle = c->work->graph_template;
    lua_pushvalue(L, 4);
    lua_rawseti(L, 2, REQUEST_TEMPLATE);
    r->pending = bucket_for(c->of, c->work->shape);
    r->recorded = c->work->graph_template;
    r->kept = count_buckets(s, c->of).kept;
    drop_next_template(L);
    make_next_template(L, s);
}

/* (call, function, stream, work, request, template or nil): calls the function. The recording then determines the types
 * of the request's settings, which C reads later. */
static int call_function(lua_State *L) {
    state *s = the_state(L);
    const bucket_request *r = ((bucket_call *)lua_touserdata(L, 1))->of->request;
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    lua_pushvalue(L, 4);
    lua_call(L, 2, 0);
    if (lua_isnil(L, 6) || !r->setting_count) return 0;
    push_kept(L, 6, TEMPLATE_RECORDING);
    lua_rawgeti(L, 5, REQUEST_SETTINGS);
    read_settings_again(L, s, 7, 8, r->settings, r->setting_count);
    return 0;
}

static void run_call(lua_State *L, state *s, request *base) {
    bucket_call *c = (bucket_call *)base;
    buckets_object *b = c->of;
    base->answer = GPO_CANCELLED;
    if (!push_known(L, s, b->number)) return; /* 1 */
    base->answer = GPO_CALLBACK_FAILED;
    push_kept(L, 1, BUCKETS_REQUEST);             /* 2 */
    stream_object *stream = push_stream(L, s, c); /* 3 */
    push_recorded(L, s, c, stream);               /* 4 */
    settle_recording(L, s, 1, b, b->request);     /* C has ended what was recorded before */
    if (is_recording(c)) settle_next(L, s, c);
    push_work(L, c); /* 5 */
    lua_pushvalue(L, 4);
    lua_setfield(L, 5, "template");
    lua_pushlightuserdata(L, s);
    lua_pushcclosure(L, call_function, 1);
    lua_pushlightuserdata(L, c);
    push_kept(L, 1, c->slot);
    lua_pushvalue(L, 3);
    lua_pushvalue(L, 5);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 4);
    const int failed = lua_pcall(L, 6, 0, 0);
    if (stream->base.borrowed) close_object(L, s, 3, 1);
    if (failed) lua_rawseti(L, 2, REQUEST_ERROR);
    else base->answer = GPO_SUCCESS;
}

/* Nothing is raised across C: what runs the call is protected. Threads of a batcher, which launches buckets too, can't
 * enter Lua. */
static gpo_status call_here(void *user, gpo_stream_t stream, const gpo_bucket_work *work, int slot) {
    static const int never = 0;
    buckets_object *b = user;
    if (requested_here != b) return GPO_CALLBACK_FAILED;
    bucket_call c = {
        .base = {.run = run_call, .closed = &never}, .of = b, .stream = stream, .work = work, .slot = slot};
    return ask(b->request->context, &c.base);
}

gpo_status record_bucket_here(void *user, gpo_stream_t stream, const gpo_bucket_work *work) {
    return call_here(user, stream, work, BUCKETS_RECORD);
}

gpo_status pad_bucket_here(void *user, gpo_stream_t stream, const gpo_bucket_work *work) {
    return call_here(user, stream, work, BUCKETS_PAD);
}
