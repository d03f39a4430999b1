/* methods.h: macros for methods of the same shape. `call` is C's name without gpo_, and the function's name here;
 * `word` is the name of the method's class. */
#ifndef GPUORCH_LUA_METHODS_H
#define GPUORCH_LUA_METHODS_H

#include "binding.h"

enum {
    CLASS_OF_runtime = CLASS_RUNTIME,
    CLASS_OF_device = CLASS_DEVICE,
    CLASS_OF_stream = CLASS_STREAM,
    CLASS_OF_stream_pool = CLASS_STREAM_POOL,
    CLASS_OF_event = CLASS_EVENT,
    CLASS_OF_timeline = CLASS_TIMELINE,
    CLASS_OF_cq = CLASS_CQ,
    CLASS_OF_arena = CLASS_ARENA,
    CLASS_OF_pool = CLASS_POOL,
    CLASS_OF_module = CLASS_MODULE,
    CLASS_OF_kernel = CLASS_KERNEL,
    CLASS_OF_pipeline = CLASS_PIPELINE,
    CLASS_OF_template = CLASS_TEMPLATE,
    CLASS_OF_graph = CLASS_GRAPH,
    CLASS_OF_buckets = CLASS_BUCKETS,
    CLASS_OF_queue = CLASS_QUEUE,
    CLASS_OF_scheduler = CLASS_SCHEDULER,
    CLASS_OF_peers = CLASS_PEERS,
    CLASS_OF_symmetric = CLASS_SYMMETRIC,
    CLASS_OF_executor = CLASS_EXECUTOR,
};

/* The handle of the argument at an index. */
#define CHECK_HANDLE(index, word) \
    HANDLE((const object *)check_object(L, s, index, (enum class_id)CLASS_OF_##word), gpo_##word##_t)

/* Done, or not. */
#define PLAIN_METHOD(call, word)                                  \
    static int call(lua_State *L) {                               \
        state *s = the_state(L);                                  \
        return result(L, s, s->api->call(CHECK_HANDLE(1, word))); \
    }

/* … with another object. */
#define PAIR_METHOD(call, word, other)                                    \
    static int call(lua_State *L) {                                       \
        state *s = the_state(L);                                          \
        const gpo_##word##_t first = CHECK_HANDLE(1, word);               \
        return result(L, s, s->api->call(first, CHECK_HANDLE(2, other))); \
    }

/* A number that C gives out. */
#define NUMBER_METHOD(call, word, type)                                         \
    static int call(lua_State *L) {                                             \
        state *s = the_state(L);                                                \
        type number = 0;                                                        \
        const gpo_status status = s->api->call(CHECK_HANDLE(1, word), &number); \
        if (status != GPO_SUCCESS) return failure(L, s, status);                \
        push_unsigned(L, number);                                               \
        return 1;                                                               \
    }

/* A handle of the driver's, as an integer. */
#define NATIVE_METHOD(call, word)                                               \
    static int call(lua_State *L) {                                             \
        state *s = the_state(L);                                                \
        void *native = NULL;                                                    \
        const gpo_status status = s->api->call(CHECK_HANDLE(1, word), &native); \
        if (status != GPO_SUCCESS) return failure(L, s, status);                \
        push_unsigned(L, (uint64_t)(uintptr_t)native);                          \
        return 1;                                                               \
    }

/* A struct that C fills, as a table. */
#define RECORD_METHOD(call, word, type, fields)                                 \
    static int call(lua_State *L) {                                             \
        state *s = the_state(L);                                                \
        type record = {.struct_size = sizeof record};                           \
        const gpo_status status = s->api->call(CHECK_HANDLE(1, word), &record); \
        if (status != GPO_SUCCESS) return failure(L, s, status);                \
        push_record(L, s, fields, &record);                                     \
        return 1;                                                               \
    }

/* A text that C gives out by (buffer, capacity, needed); `binary`: without a NUL. */
struct reading {
    const gpo_api *api;
    void *handle;
};
#define TEXT_METHOD(call, word, binary)                                                           \
    static gpo_status read_##call(void *context, char *buffer, size_t capacity, size_t *needed) { \
        const struct reading *r = context;                                                        \
        return r->api->call(r->handle, buffer, capacity, needed);                                 \
    }                                                                                             \
    static int call(lua_State *L) {                                                               \
        state *s = the_state(L);                                                                  \
        struct reading r = {s->api, CHECK_HANDLE(1, word)};                                       \
        return push_text(L, s, read_##call, &r, binary);                                          \
    }

/* call{options}: a new object of class `made`. */
#define CREATE_METHOD(call, word, made, type, fields)                                     \
    static int call(lua_State *L) {                                                       \
        state *s = the_state(L);                                                          \
        const gpo_##word##_t from = CHECK_HANDLE(1, word);                                \
        type options = {.struct_size = sizeof options};                                   \
        read_record(L, 2, fields, &options);                                              \
        object *o = new_object(L, s, (enum class_id)CLASS_OF_##made, 1);                  \
        return created(L, s, s->api->call(from, &options, (gpo_##made##_t *)&o->handle)); \
    }

#endif
