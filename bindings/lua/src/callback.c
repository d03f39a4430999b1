/* callback.c: the functions of Lua's that a pipeline calls: sources, stages, sinks and progress. C calls on threads of
 * its own, or in an executor; each call is made into a request that runs here (bridge.c). The functions may not
 * yield. */
#include <stdio.h>
#include <string.h>

#include "pipeline.h"

typedef struct callback {
    request base;
    pipeline_context *pipeline;
    const gpo_chunk *chunk;
    const gpo_pipeline_progress *progress;
    void *buffer;
    uint64_t capacity, bytes;
    gpo_stream_t stream;
    int slot;            /* where the pipeline object keeps the function */
} callback;

/* A wait for the run returns the run's first error. The error is reported only if no wait returns it. */
static int keep_failure(request *r, const char *text) {
    pipeline_context *p = ((callback *)r)->pipeline;
    if (p->failure) return 0;
    const char *traceback = strstr(text, "\nstack traceback:");
    const size_t length = traceback ? (size_t)(traceback - text) : strlen(text);
    snprintf(p->message, sizeof p->message, "%.*s", length < sizeof p->message ? (int)length : (int)sizeof p->message,
             text);
    if (is_interrupt(text)) return 0;
    p->heard = 0;
    return (p->failure = owned_text(r->context->owner, text)) != NULL;
}

/* Pushes the function, below its arguments. False: the pipeline's object was collected. */
static int push_function(lua_State *L, state *s, const callback *c) {
    if (!push_known(L, s, c->pipeline->number)) return 0;
    push_kept(L, -1, c->slot);
    return lua_isfunction(L, -1);
}

/* Pushes a u8 array of memory that is the library's, for the time of the call. */
static void push_borrowed(lua_State *L, state *s, enum memory_kind kind, uint64_t address, uint64_t bytes) {
    array_object *array = new_array(L, s, 0, kind, ELEMENT_U8, address, bytes);
    array->base.handle = array;
    array->base.borrowed = 1;
}

static void set_borrowed(lua_State *L, state *s, const char *name, enum memory_kind kind, uint64_t address,
                         uint64_t bytes) {
    if (address == 0) return;
    push_borrowed(L, s, kind, address, bytes);
    lua_setfield(L, -2, name);
}

static const char *const chunk_arrays[] = {"output", "result", "input_address", "output_address", "scratch_address",
                                           "result_address", NULL};

static void push_chunk(lua_State *L, state *s, const pipeline_context *p, const gpo_chunk *chunk) {
    push_record(L, s, gpo_chunk_fields, chunk);
    set_borrowed(L, s, "output", MEMORY_BORROWED_HOST, (uint64_t)(uintptr_t)chunk->output, chunk->output_bytes);
    set_borrowed(L, s, "result", MEMORY_BORROWED_HOST, (uint64_t)(uintptr_t)chunk->result, p->result_bytes);
}

/* Closes the borrowed arrays after a call, even if the call failed. */
static void close_chunk(lua_State *L, state *s, int index) {
    for (const char *const *name = chunk_arrays; *name; ++name) {
        lua_getfield(L, index, *name);
        if (test_object(L, s, -1, CLASS_ARRAY)) close_object(L, s, lua_gettop(L), 1);
        lua_pop(L, 1);
    }
}

/* Calls the function below `arguments` values. Then calls `close` for the value at `borrowed`, and raises the call's
 * error again. */
static void call_and_close(lua_State *L, state *s, callback *c, int arguments, int results, int borrowed,
                           void (*close)(lua_State *, state *, int)) {
    ++c->pipeline->busy;
    const int failed = call_protected(L, s, arguments, results);
    --c->pipeline->busy;
    if (borrowed) close(L, s, borrowed);
    if (failed) raise_again(L, s);
}

static void close_borrowed(lua_State *L, state *s, int index) { close_object(L, s, index, 1); }

/* Calls take(chunk). If take returns false, the run ends; after any other result, the run goes on. */
static void run_take(lua_State *L, state *s, request *r) {
    callback *c = (callback *)r;
    if (!push_function(L, s, c)) {
        r->answer = GPO_CANCELLED;
        return;
    }
    push_chunk(L, s, c->pipeline, c->chunk);
    lua_pushvalue(L, -1);
    lua_insert(L, -3); /* the chunk stays below the function */
    const int chunk = lua_gettop(L) - 2;
    call_and_close(L, s, c, 1, 1, chunk, close_chunk);
    r->answer = lua_isboolean(L, -1) && !lua_toboolean(L, -1) ? GPO_END : GPO_SUCCESS;
}

gpo_status take_here(void *user, const gpo_chunk *chunk) {
    pipeline_context *p = user;
    callback c = {.base = {.run = run_take, .failed = keep_failure, .closed = &p->closed},
                  .pipeline = p, .chunk = chunk, .slot = PIPELINE_TAKE};
    return ask(p->runtime, &c.base);
}

/* Copies as much of the string on top as there is room for, from `offset` on; the rest is for the next call. */
static void give_string(lua_State *L, callback *c, int pipeline, size_t offset) {
    size_t length;
    const char *bytes = lua_tolstring(L, -1, &length);
    c->bytes = length - offset < c->capacity ? length - offset : c->capacity;
    memcpy(c->buffer, bytes + offset, c->bytes);
    c->pipeline->rest = offset + c->bytes < length ? offset + c->bytes : 0;
    keep(L, pipeline, PIPELINE_REST, lua_gettop(L));
}

/* fill(buffer): a number of bytes put into the buffer, a string, or nil at the end. */
static void run_fill(lua_State *L, state *s, request *r) {
    callback *c = (callback *)r;
    c->bytes = 0;
    r->answer = GPO_CANCELLED;
    if (!push_function(L, s, c)) return;
    const int pipeline = lua_gettop(L) - 1;
    if (c->pipeline->rest) {
        push_kept(L, pipeline, PIPELINE_REST);
        give_string(L, c, pipeline, c->pipeline->rest);
        r->answer = GPO_SUCCESS;
        return;
    }
    push_borrowed(L, s, MEMORY_BORROWED_HOST, (uint64_t)(uintptr_t)c->buffer, c->capacity);
    lua_pushvalue(L, -1);
    lua_insert(L, -3); /* the buffer stays below the function */
    r->answer = GPO_CALLBACK_FAILED;
    call_and_close(L, s, c, 1, 1, lua_gettop(L) - 2, close_borrowed);
    if (lua_type(L, -1) == LUA_TSTRING) {
        give_string(L, c, pipeline, 0);
    } else if (!lua_isnil(L, -1)) {
        const char *problem = read_unsigned(L, -1, c->capacity, &c->bytes);
        if (problem) luaL_error(L, "the source returned no number of bytes, string or nil: %s", problem);
    }
    r->answer = lua_isnil(L, -1) ? GPO_END : GPO_SUCCESS;
}

gpo_status fill_here(void *user, void *buffer, uint64_t capacity, uint64_t *bytes) {
    pipeline_context *p = user;
    callback c = {.base = {.run = run_fill, .failed = keep_failure, .closed = &p->closed},
                  .pipeline = p, .buffer = buffer, .capacity = capacity, .slot = PIPELINE_FILL};
    const gpo_status status = ask(p->runtime, &c.base);
    *bytes = c.bytes;
    return status;
}

/* enqueue(stream, chunk) */
static void run_enqueue(lua_State *L, state *s, request *r) {
    callback *c = (callback *)r;
    if (!push_function(L, s, c)) {
        r->answer = GPO_CANCELLED;
        return;
    }
    const int pipeline = lua_gettop(L) - 1;
    push_kept(L, pipeline, 1);
    stream_object *stream = new_object(L, s, CLASS_STREAM, lua_gettop(L));
    lua_replace(L, -2);
    stream->base.handle = c->stream;
    stream->base.borrowed = 1;
    push_chunk(L, s, c->pipeline, c->chunk);
    /* stream, chunk, function, stream, chunk */
    lua_pushvalue(L, -3);
    lua_pushvalue(L, -3);
    lua_pushvalue(L, -3);
    const int chunk = lua_gettop(L) - 3, stream_index = chunk - 1;
    lua_remove(L, stream_index - 1);
    ++c->pipeline->busy;
    const int failed = call_protected(L, s, 2, 0);
    --c->pipeline->busy;
    close_chunk(L, s, chunk - 1);
    close_object(L, s, stream_index - 1, 1);
    if (failed) raise_again(L, s);
    r->answer = GPO_SUCCESS;
}

gpo_status enqueue_here(void *user, gpo_stream_t stream, const gpo_chunk *chunk) {
    const struct stage_context *stage = user;
    callback c = {.base = {.run = run_enqueue, .failed = keep_failure, .closed = &stage->pipeline->closed},
                  .pipeline = stage->pipeline,
                  .chunk = chunk,
                  .stream = stream,
                  .slot = PIPELINE_STAGES + stage->number};
    return ask(stage->pipeline->runtime, &c.base);
}

static void run_progress(lua_State *L, state *s, request *r) {
    callback *c = (callback *)r;
    r->answer = GPO_SUCCESS;
    if (!push_function(L, s, c)) return;
    push_record(L, s, gpo_pipeline_progress_fields, c->progress);
    call_and_close(L, s, c, 1, 0, 0, NULL);
}

void progress_here(void *user, const gpo_pipeline_progress *now) {
    pipeline_context *p = user;
    callback c = {
        .base = {.run = run_progress, .closed = &p->closed}, .pipeline = p, .progress = now, .slot = PIPELINE_PROGRESS};
    ask(p->runtime, &c.base);
}
