/* device_queue.c: queues that kernels take their work from: ranges, rings and host rings. Tasks and answers are strings
 * of bytes, which gpuorch.pack makes; tasks are also arrays on the host. */
#include "calls.h"

#define QUEUE(queue) HANDLE(&(queue)->base, gpo_queue_t)

/* queue{kind = , ...} */
int queue_create(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    gpo_queue_options options = {.struct_size = sizeof options};
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    read_record(L, 2, gpo_queue_options_fields, &options);
    lua_getfield(L, 2, "stream"); /* 3 */
    queue_object *queue = new_object(L, s, CLASS_QUEUE, 1); /* 4 */
    lua_newtable(L);
    keep(L, 4, QUEUE_COMPLETIONS, 5);
    lua_newtable(L);
    keep(L, 4, QUEUE_TAKEN, 6);
    keep(L, 4, QUEUE_STREAM, 3);
    lua_settop(L, 4);
    queue->kind = options.kind;
    queue->task_size = options.task_size;
    queue->answer_size = options.answer_size;
    queue->stream = lua_touserdata(L, 3);
    return created(L, s, s->api->queue_create(device, &options, (gpo_queue_t *)&queue->base.handle));
}

/* --- as arguments of kernels --- */

uint32_t queue_kind_of(uint32_t bytes) {
    return bytes == 64 ? GPO_QUEUE_RANGE : bytes == 96 ? GPO_QUEUE_RING : bytes == 192 ? GPO_QUEUE_HOST_RING : 0;
}

const char *read_queue(lua_State *L, state *s, int index, const parameter *p, void *out) {
    const queue_object *queue = test_object(L, s, index, CLASS_QUEUE);
    if (!queue) return "a queue expected";
    if (!is_open(s, &queue->base)) return "the queue is closed";
    if (queue->kind != queue_kind_of(p->size)) return "the queue is of another kind";
    const gpo_status status = s->api->queue_get_device_handle(QUEUE(queue), out, p->size, NULL);
    return status == GPO_SUCCESS ? NULL : s->api->status_text(status);
}

/* Two handles may be of one device. */
static int same_device(state *s, void *one, void *other) {
    void *contexts[2] = {NULL};
    int32_t ordinal;
    return one == other || (s->api->device_get_native(one, &contexts[0], &ordinal) == GPO_SUCCESS &&
                            s->api->device_get_native(other, &contexts[1], &ordinal) == GPO_SUCCESS &&
                            contexts[0] == contexts[1]);
}

const char *refuse_queue(state *s, const queue_object *queue, const object *user, const stream_object *stream) {
    if (queue->base.runtime != user->runtime || !same_device(s, queue->base.above, user->above))
        return "the queue is of another device";
    /* C would free its memory while the kernel runs. */
    if (stream && stream->resident && queue->stream != stream)
        return "the stream is resident, and the queue was made without it (option 'stream')";
    return NULL;
}

/* --- tasks and costs --- */

/* The bytes of the string or the array on the host at an index. Raises if it is something else. */
static const void *check_bytes(lua_State *L, state *s, int index, uint64_t *bytes) {
    if (lua_type(L, index) == LUA_TSTRING) {
        *bytes = lua_rawlen(L, index);
        return lua_tostring(L, index);
    }
    const array_object *array = check_array(L, s, index);
    luaL_argcheck(L, on_host(array), index, "an array on the host expected");
    *bytes = ARRAY_BYTES(array);
    return (const void *)(uintptr_t)array->address;
}

/* The same, for bytes that are whole tasks of the queue. */
static const void *check_tasks(lua_State *L, state *s, int index, const queue_object *queue, uint64_t *count) {
    uint64_t bytes = 0;
    const void *tasks = check_bytes(L, s, index, &bytes);
    if (queue->task_size == 0) { /* C says that it has no tasks */
        *count = 1;
    } else if (bytes % queue->task_size != 0) {
        lua_pushfstring(L, "tasks of %d bytes expected, got %d bytes", (int)queue->task_size, (int)bytes);
        luaL_argerror(L, index, lua_tostring(L, -1));
    } else {
        *count = bytes / queue->task_size;
    }
    return tasks;
}

/* push(stream, tasks [, priority]): as work of the stream. */
int queue_push(lua_State *L) {
    state *s = the_state(L);
    const queue_object *queue = check_object(L, s, 1, CLASS_QUEUE);
    const gpo_stream_t stream = CHECK_HANDLE(2, stream);
    uint64_t count = 0;
    const void *tasks = check_tasks(L, s, 3, queue, &count);
    const uint32_t priority = (uint32_t)optional_unsigned(L, 4, UINT32_MAX, 0);
    return result(L, s, s->api->queue_push(QUEUE(queue), stream, tasks, count, priority));
}

const float *check_numbers(lua_State *L, int index, uint64_t *count) {
    luaL_checktype(L, index, LUA_TTABLE);
    copy_table(L, index);
    *count = lua_rawlen(L, index);
    float *numbers = lua_newuserdata(L, (size_t)(*count + 1) * sizeof *numbers);
    for (uint64_t i = 0; i < *count; ++i) {
        lua_rawgeti(L, index, (int)i + 1);
        const char *problem = read_element(L, lua_gettop(L), ELEMENT_F32, &numbers[i]);
        if (problem) luaL_error(L, "number %d: %s", (int)i + 1, problem);
        lua_pop(L, 1);
    }
    return numbers;
}

/* set_costs(stream, costs): a table of numbers or an array of f32 on the host; nil: the numbers' own order again. */
int queue_set_costs(lua_State *L) {
    state *s = the_state(L);
    const gpo_queue_t queue = CHECK_HANDLE(1, queue);
    const gpo_stream_t stream = CHECK_HANDLE(2, stream);
    const float *costs = NULL;
    uint64_t count = 0;
    lua_settop(L, 3);
    if (lua_istable(L, 3)) {
        costs = check_numbers(L, 3, &count);
    } else if (!lua_isnil(L, 3)) {
        const array_object *array = check_array(L, s, 3);
        luaL_argcheck(L, array->type == ELEMENT_F32, 3, "an array of f32 expected");
        costs = check_bytes(L, s, 3, &count);
        count /= sizeof *costs;
    }
    return result(L, s, s->api->queue_set_costs(queue, stream, costs, count));
}

/* --- host rings; tenants count from 0, as in C --- */

/* set_tenant(tenant [, {limit = , completions = }]) */
int queue_set_tenant(lua_State *L) {
    state *s = the_state(L);
    const gpo_queue_t queue = CHECK_HANDLE(1, queue);
    const uint32_t tenant = (uint32_t)check_unsigned(L, 2, INT32_MAX);
    gpo_tenant_options options = {.struct_size = sizeof options};
    lua_settop(L, 3);
    read_record(L, 3, gpo_tenant_options_fields, &options);
    if (lua_istable(L, 3)) lua_getfield(L, 3, "completions");
    else lua_pushnil(L);
    const gpo_status status = s->api->queue_set_tenant(queue, tenant, &options);
    if (status != GPO_SUCCESS) return result(L, s, status);
    push_kept(L, 1, QUEUE_COMPLETIONS);
    lua_pushvalue(L, 4);
    lua_rawseti(L, 5, (int)tenant);
    lua_pushboolean(L, 1);
    return 1;
}

/* post(tasks [, user_data [, tenant]]): how many were posted. */
int queue_post(lua_State *L) {
    state *s = the_state(L);
    const queue_object *queue = check_object(L, s, 1, CLASS_QUEUE);
    uint64_t count = 0, posted = 0;
    const void *tasks = check_tasks(L, s, 2, queue, &count);
    const uint64_t user_data = optional_unsigned(L, 3, UINT64_MAX, 0);
    const uint32_t tenant = (uint32_t)optional_unsigned(L, 4, UINT32_MAX, 0);
    const gpo_status status = s->api->queue_post(QUEUE(queue), tenant, tasks, count, user_data, &posted);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_unsigned(L, posted);
    return 1;
}

static void push_answer(lua_State *L, state *s, const queue_object *queue, const gpo_answer *entry, const char *bytes) {
    lua_createtable(L, 0, 4);
    push_unsigned(L, entry->user_data);
    lua_setfield(L, -2, "user_data");
    lua_pushstring(L, s->api->status_name(entry->status));
    lua_setfield(L, -2, "status");
    lua_pushinteger(L, entry->status);
    lua_setfield(L, -2, "code");
    lua_pushlstring(L, bytes, queue->answer_size);
    lua_setfield(L, -2, "answer");
}

/* Answers taken for a tenant and not yet returned to the script, because Lua may have no memory for their table. */
enum { TAKEN_MOST = 64 };
struct taken {
    uint64_t first, count;
    gpo_answer entries[TAKEN_MOST];
    char bytes[]; /* answer_size for each */
};

/* Pushes it, or nil if nothing was ever taken. The library refuses tenants from MOST_TENANTS on. */
enum { MOST_TENANTS = 64 };
static struct taken *push_taken(lua_State *L, uint32_t tenant) {
    push_kept(L, 1, QUEUE_TAKEN);
    lua_rawgeti(L, -1, (int)(tenant < MOST_TENANTS ? tenant : MOST_TENANTS) + 1);
    lua_remove(L, -2);
    return lua_touserdata(L, -1);
}

static struct taken *new_taken(lua_State *L, const queue_object *queue, uint32_t tenant) {
    push_kept(L, 1, QUEUE_TAKEN);
    struct taken *t = lua_newuserdata(L, sizeof *t + (size_t)TAKEN_MOST * queue->answer_size);
    t->first = t->count = 0;
    lua_rawseti(L, -2, (int)(tenant < MOST_TENANTS ? tenant : MOST_TENANTS) + 1);
    return t;
}

/* take([most [, tenant]]): a table of answers, 64 at most. */
int queue_take(lua_State *L) {
    state *s = the_state(L);
    const queue_object *queue = check_object(L, s, 1, CLASS_QUEUE);
    const uint64_t most = optional_unsigned(L, 2, UINT32_MAX, TAKEN_MOST);
    const uint32_t tenant = (uint32_t)optional_unsigned(L, 3, UINT32_MAX, 0);
    const uint64_t room = most < TAKEN_MOST ? most : TAKEN_MOST;
    struct taken *t = push_taken(L, tenant);
    if (!t) t = new_taken(L, queue, tenant);
    if (t->count == 0) {
        t->first = 0;
        const gpo_status status = s->api->queue_take(QUEUE(queue), tenant, t->entries, sizeof t->entries[0],
                                                     queue->answer_size ? t->bytes : NULL, room, &t->count);
        if (status != GPO_SUCCESS) return failure(L, s, status);
    }
    const uint64_t count = t->count < room ? t->count : room;
    lua_createtable(L, (int)count, 0);
    for (uint64_t i = 0; i < count; ++i) {
        const uint64_t at = t->first + i;
        push_answer(L, s, queue, &t->entries[at], t->bytes + at * queue->answer_size);
        lua_rawseti(L, -2, (int)i + 1);
    }
    t->first += count;
    t->count -= count;
    return 1;
}

struct answer_wait {
    gpo_queue_t queue;
    uint32_t tenant;
};

static gpo_status wait_for_answer(state *s, void *context, int64_t timeout_ns) {
    const struct answer_wait *w = context;
    return s->api->queue_wait(w->queue, w->tenant, timeout_ns);
}

/* wait([seconds [, tenant]]) */
int queue_wait(lua_State *L) {
    state *s = the_state(L);
    struct answer_wait w = {CHECK_HANDLE(1, queue), (uint32_t)optional_unsigned(L, 3, UINT32_MAX, 0)};
    const int64_t timeout = check_timeout(L, 2);
    const struct taken *t = push_taken(L, w.tenant);
    lua_pop(L, 1);
    if (t && t->count) return lua_pushboolean(L, 1), 1;
    return result(L, s, wait_by(L, s, note_hooks(L, s), wait_for_answer, &w, timeout));
}
