/* queue.c: completion queues, and operations: points to wait for. An entry's user_data is a number, under which the
 * queue keeps the entry's owner until the entry is drained: odd for an operation, even for a value of the caller's.
 * Answers' entries (device_queue.c) have numbers of the caller's. */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"

enum { QUEUE_OWNERS = 2 };                            /* slots of a queue's own table */
enum { OPERATION_SOURCE = 2, OPERATION_WAITERS = 3 }; /* … and of an operation's; the next is OPERATION_ARRAYS */
#define BATCH 64

void push_completion(lua_State *L, state *s, const gpo_completion *entry) {
    push_record(L, s, gpo_completion_fields, entry);
}

/* --- queues --- */

/* Releases the rest of a queue when its block is freed: after the finalizer, only the descriptor. */
static void release_cq(state *s, void *block) {
    const cq_hold *hold = block;
    if (hold->handle && belongs_here(s)) s->api->cq_destroy(hold->handle);
    if (hold->fd >= 0) close(hold->fd);
}

/* Pushes a new queue of the runtime at `parent`. */
static cq_object *new_cq(lua_State *L, state *s, int parent) {
    cq_object *queue = new_object(L, s, CLASS_CQ, parent);
    queue->hold = owned_make(s, sizeof *queue->hold, release_cq);
    if (!queue->hold) luaL_error(L, "not enough memory");
    queue->hold->fd = -1;
    queue->last[1] = 1; /* odd numbers are operations' */
    lua_newtable(L);
    keep(L, -2, QUEUE_OWNERS, -1);
    lua_pop(L, 1);
    return queue;
}

static gpo_status open_cq(state *s, cq_object *queue, gpo_runtime_t runtime, const gpo_cq_options *options) {
    const gpo_status status = s->api->cq_create(runtime, options, &queue->hold->handle);
    queue->base.handle = queue->hold->handle;
    return status;
}

int cq_create(lua_State *L) {
    state *s = the_state(L);
    object *runtime = check_object(L, s, 1, CLASS_RUNTIME);
    gpo_cq_options options = {.struct_size = sizeof options};
    read_record(L, 2, gpo_cq_options_fields, &options);
    return created(L, s, open_cq(s, new_cq(L, s, 1), HANDLE(runtime, gpo_runtime_t), &options));
}

cq_object *keep_home(lua_State *L, state *s, int runtime) {
    cq_object *home = new_cq(L, s, runtime);
    keep(L, runtime, RUNTIME_HOME, -1);
    lua_pop(L, 1);
    return home;
}

gpo_status open_home(state *s, cq_object *home, gpo_runtime_t runtime) {
    const gpo_cq_options options = {.struct_size = sizeof options, .capacity = 1 << 16, .label = "lua"};
    home->base.above = runtime;
    return open_cq(s, home, runtime, &options);
}

/* Pushes the queue of the runtime of the object at `index`; false, and anything is pushed, if that is shut down. */
static int push_home(lua_State *L, state *s, int index) {
    const object *o = lua_touserdata(L, index);
    if (!push_known(L, s, o->runtime)) return 0;
    push_kept(L, -1, RUNTIME_HOME);
    lua_replace(L, -2);
    const object *queue = lua_touserdata(L, -1);
    return queue && !queue->closed && queue->handle;
}

/* Calls the waiters of the operation on top of the stack, which is done now. */
static void tell_waiters(lua_State *L, state *s) {
    push_kept(L, -1, OPERATION_WAITERS);
    if (lua_istable(L, -1)) {
        const int count = (int)lua_rawlen(L, -1);
        for (int i = 1; i <= count; ++i) {
            lua_rawgeti(L, -1, i);
            lua_pushvalue(L, -3);
            if (call_protected(L, s, 1, 0) != 0) report(L, s);
        }
    }
    lua_pop(L, 1);
}

static char *failure_text(state *s, const cq_object *queue, const gpo_completion *entry) {
    gpo_error error = {.struct_size = sizeof error};
    if (entry->status == GPO_SUCCESS) return NULL;
    if (s->api->cq_get_error(HANDLE(&queue->base, gpo_cq_t), entry->error_id, &error) != GPO_SUCCESS ||
        !error.message[0])
        return NULL;
    return owned_text(s, error.message);
}

/* An answer of a host ring: its user_data is a number of the caller's. */
static int is_answer(const gpo_completion *entry) { return entry->origin == GPO_ORIGIN_QUEUE; }

static int is_operation(const gpo_completion *entry) { return !is_answer(entry) && (entry->user_data & 1); }

/* Marks the operation of an entry as done. Allocates nothing of Lua's, so that no entry is lost to an error. */
static void settle(lua_State *L, state *s, int index, cq_object *queue, const gpo_completion *entry) {
    push_kept(L, index, QUEUE_OWNERS);
    lua_rawgeti(L, -1, (int)entry->user_data);
    operation_object *operation = test_object(L, s, -1, CLASS_OPERATION);
    if (operation) {
        lua_pushnil(L);
        lua_rawseti(L, -3, (int)entry->user_data);
        operation->entry = *entry;
        operation->message = failure_text(s, queue, entry);
        operation->done = 1;
        release_request(L, s);
        tell_waiters(L, s);
    }
    lua_pop(L, 2);
}

static gpo_status take_entries(lua_State *L, state *s, int index) {
    cq_object *queue = lua_touserdata(L, index);
    gpo_completion entries[BATCH];
    uint64_t count = BATCH;
    int taken = 0;
    luaL_checkstack(L, 20, "completions");
    while (count == BATCH && queue->base.handle) {
        if (queue->stashed + BATCH > queue->stash_room) {
            const uint64_t room = (queue->stash_room + BATCH) * 2;
            gpo_completion *larger = owned_resize(s, queue->stash, room * sizeof *larger);
            if (!larger) return GPO_OUT_OF_MEMORY;
            queue->stash = larger;
            queue->stash_room = room;
        }
        const gpo_status status =
            s->api->cq_drain(HANDLE(&queue->base, gpo_cq_t), entries, sizeof entries[0], BATCH, &count);
        /* The runtime has ended: return the taken entries first; the next call reports the end. */
        if (status == GPO_SHUT_DOWN && taken) return GPO_SUCCESS;
        if (status != GPO_SUCCESS) return status;
        taken = 1;
        /* Values first: a waiter of an operation may drain this queue too, and use up the room that was made. */
        for (uint64_t i = 0; i < count; ++i)
            if (!is_operation(&entries[i])) queue->stash[queue->stashed++] = entries[i];
        for (uint64_t i = 0; i < count; ++i)
            if (is_operation(&entries[i])) settle(L, s, index, queue, &entries[i]);
    }
    return GPO_SUCCESS;
}

/* Requests are served behind the drain, which may have taken the wake-up for a request. */
gpo_status pump(lua_State *L, state *s, int index) {
    const gpo_status status = take_entries(L, s, index);
    serve(L, s);
    return status;
}

/* drain([max]): completes operations, then returns the entries of values as a table. */
int cq_drain(lua_State *L) {
    state *s = the_state(L);
    cq_object *queue = check_object(L, s, 1, CLASS_CQ);
    const uint64_t max = optional_unsigned(L, 2, UINT32_MAX, UINT32_MAX);
    lua_settop(L, 1);
    const gpo_status status = pump(L, s, 1);
    if (status != GPO_SUCCESS && !(status == GPO_SHUT_DOWN && queue->stashed)) return failure(L, s, status);
    lua_newtable(L);
    push_kept(L, 1, QUEUE_OWNERS);
    uint64_t taken = 0;
    for (; taken < max && taken < queue->stashed; ++taken) {
        push_completion(L, s, &queue->stash[taken]);
        if (is_answer(&queue->stash[taken])) push_unsigned(L, queue->stash[taken].user_data);
        else lua_rawgeti(L, 3, (int)queue->stash[taken].user_data);
        lua_setfield(L, -2, "user_data");
        lua_rawseti(L, 2, (int)taken + 1);
    }
    /* All of them are in the table: only now they leave the queue. */
    for (uint64_t i = 0; i < taken; ++i) {
        if (is_answer(&queue->stash[i])) continue;
        lua_pushnil(L);
        lua_rawseti(L, 3, (int)queue->stash[i].user_data);
    }
    queue->stashed -= taken;
    memmove(queue->stash, queue->stash + taken, queue->stashed * sizeof *queue->stash);
    lua_settop(L, 2);
    return 1;
}

/* pump(): for an event loop, when the descriptor is readable: operations and callbacks, no entries. The descriptor of a
 * closed queue, or of an ended runtime, stays readable: pump() returns a failure, and doesn't raise. */
int cq_pump(lua_State *L) {
    state *s = the_state(L);
    const object *queue = check_object_even_closed(L, s, 1, CLASS_CQ);
    if (!is_open(s, queue)) return failure_with(L, s, GPO_STALE_HANDLE, "the cq is closed");
    return result(L, s, pump(L, s, 1));
}

static gpo_status wait_for_entry(state *s, void *context, int64_t timeout_ns) {
    cq_object *queue = context;
    if (queue->stashed) return GPO_SUCCESS;
    if (!begin_waiting(s, HANDLE(&queue->base, gpo_cq_t))) return GPO_TIMEOUT;
    const gpo_status status = s->api->cq_wait(HANDLE(&queue->base, gpo_cq_t), timeout_ns);
    end_waiting(s);
    return status;
}

int cq_wait(lua_State *L) {
    state *s = the_state(L);
    cq_object *queue = check_object(L, s, 1, CLASS_CQ);
    return result(L, s, wait_by(L, s, note_hooks(L, s), wait_for_entry, queue, check_timeout(L, 2)));
}

/* The descriptor, requested from C once. Wakes the queue, since a request may have come before the descriptor was
 * made. */
static gpo_status get_fd(state *s, cq_object *queue) {
    if (queue->hold->fd >= 0) return GPO_SUCCESS;
    int32_t descriptor = -1;
    const gpo_status status = s->api->cq_get_fd(HANDLE(&queue->base, gpo_cq_t), &descriptor);
    if (status != GPO_SUCCESS) return status;
    queue->hold->fd = descriptor;
    return s->api->cq_wake(HANDLE(&queue->base, gpo_cq_t));
}

/* fd(): readable when pump() or drain() may have something to do; it is the queue's, and closed with it. */
int cq_get_fd(lua_State *L) {
    state *s = the_state(L);
    cq_object *queue = check_object(L, s, 1, CLASS_CQ);
    const gpo_status status = get_fd(s, queue);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    lua_pushinteger(L, queue->hold->fd);
    return 1;
}

/* error(error_id): the error of a failed entry. Without an error_id: the queue's own error, as with every object. */
int cq_get_error(lua_State *L) {
    state *s = the_state(L);
    if (lua_isnoneornil(L, 2)) return object_get_error(L);
    object *queue = check_object(L, s, 1, CLASS_CQ);
    gpo_error error = {.struct_size = sizeof error};
    const gpo_status status = s->api->cq_get_error(HANDLE(queue, gpo_cq_t), check_unsigned(L, 2, UINT64_MAX), &error);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_error_record(L, s, &error);
    return 1;
}

/* Pending operations get no entry any more: they end with GPO_CANCELLED. The arrays of requests stay: their batches may
 * still run. */
static void cancel_operations(lua_State *L, state *s, int index) {
    push_kept(L, index, QUEUE_OWNERS); /* no operation is added any more */
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        operation_object *operation = test_object(L, s, -1, CLASS_OPERATION);
        if (operation && !operation->done) {
            operation->entry.status = GPO_CANCELLED;
            operation->done = 1;
            tell_waiters(L, s);
        }
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, -4);
    }
    lua_pop(L, 1);
}

void destroy_cq(lua_State *L, state *s, object *o, int collected) {
    cq_object *queue = (cq_object *)o;
    const int index = lua_gettop(L);
    s->api->cq_destroy(HANDLE(o, gpo_cq_t));
    queue->hold->handle = NULL;
    queue->stashed = 0;
    o->handle = NULL; /* the waiters look at it */
    if (!collected) cancel_operations(L, s, index);
}

/* The descriptor stays until the userdata is collected: a loop may still watch it after the queue was closed. */
void free_cq(state *s, object *o) {
    cq_object *queue = (cq_object *)o;
    owned_free(s, queue->hold);
    owned_free(s, queue->stash);
    queue->hold = NULL;
    queue->stash = NULL;
}

/* --- operations --- */

/* The next number after `last`, in steps, under which the table has nothing. */
int free_number(lua_State *L, int table, int last, int step) {
    for (;;) {
        last = last > INT32_MAX - step ? last % step + step : last + step;
        lua_rawgeti(L, table, last);
        const int is_free = lua_isnil(L, -1);
        lua_pop(L, 1);
        if (is_free) return last;
    }
}

/* Marks a point: pushes the operation, or true where the caller gave a value for the entry (`value` != 0). */
int notify(lua_State *L, state *s, int queue_index, int value, notifier call, void *context) {
    if (queue_index == 0) {
        if (!push_home(L, s, 1)) return failure_with(L, s, GPO_INVALID_HANDLE, "the runtime is shut down");
        queue_index = lua_gettop(L);
    }
    cq_object *queue = check_object(L, s, queue_index, CLASS_CQ);
    push_kept(L, queue_index, QUEUE_OWNERS);
    const int owners = lua_gettop(L), number = free_number(L, owners, queue->last[!value], 2);
    queue->last[!value] = number;
    if (value) {
        lua_pushvalue(L, value);
    } else {
        operation_object *operation = new_object(L, s, CLASS_OPERATION, queue_index);
        operation->base.handle = operation;
        keep(L, -1, OPERATION_SOURCE, 1);
    }
    lua_pushvalue(L, -1);
    lua_rawseti(L, owners, number);
    const gpo_status status = call(s, context, HANDLE(&queue->base, gpo_cq_t), (uint64_t)number);
    if (status != GPO_SUCCESS) {
        lua_pushnil(L);
        lua_rawseti(L, owners, number);
        return failure(L, s, status);
    }
    if (value) lua_pushboolean(L, 1);
    return 1;
}

int notify_method(lua_State *L, state *s, int queue_index, notifier call, void *context) {
    const int has_queue = !lua_isnoneornil(L, queue_index), has_value = !lua_isnoneornil(L, queue_index + 1);
    luaL_argcheck(L, has_queue || !has_value, queue_index, "a cq expected for a value");
    return notify(L, s, has_queue ? queue_index : 0, has_value ? queue_index + 1 : 0, call, context);
}

static int operation_result_of(lua_State *L, state *s, operation_object *operation) {
    if (!operation->done) {
        lua_pushboolean(L, 0);
        return 1;
    }
    const gpo_status status = operation->entry.status;
    if (status != GPO_SUCCESS)
        return failure_with(L, s, status,
                            operation->message && s->bridge ? operation->message : s->api->status_text(status));
    lua_pushboolean(L, 1);
    return 1;
}

static gpo_status wait_for_operation(lua_State *L, state *s, noted_hooks before, operation_object *operation,
                                     int queue_index, int64_t timeout_ns) {
    cq_object *queue = lua_touserdata(L, queue_index);
    const int64_t deadline = deadline_after(timeout_ns);
    for (;;) {
        /* A collected queue completes nothing, and a finalizer may wait even after that. */
        const gpo_status status = operation->done ? GPO_SUCCESS
                                  : is_open(s, &queue->base) ? pump(L, s, queue_index) : GPO_STALE_HANDLE;
        if (operation->done || status != GPO_SUCCESS) return status;
        const int64_t slice = wait_slice(deadline);
        if (timeout_ns == 0 || (deadline != INT64_MAX && slice == 0)) return GPO_TIMEOUT;
        if (begin_waiting(s, HANDLE(&queue->base, gpo_cq_t))) {
            s->api->cq_wait(HANDLE(&queue->base, gpo_cq_t), slice);
            end_waiting(s);
        }
        if (was_interrupted(L, s, before)) return GPO_CANCELLED;
    }
}

int operation_wait_at(lua_State *L, state *s, noted_hooks before, int index, int64_t timeout_ns) {
    operation_object *operation = lua_touserdata(L, index);
    push_kept(L, index, 1);
    const gpo_status status = wait_for_operation(L, s, before, operation, lua_gettop(L), timeout_ns);
    return operation->done ? operation_result_of(L, s, operation) : failure(L, s, status);
}

int wait_method(lua_State *L, state *s, noted_hooks before, wait_attempt attempt, notifier call, void *context,
                int64_t timeout_ns) {
    if (timeout_ns != 0 && has_callers(s)) {
        const gpo_status status = attempt(s, context, 0);
        if (status != GPO_TIMEOUT) return result(L, s, status);
        const int results = notify(L, s, 0, 0, call, context);
        if (results == 1) return operation_wait_at(L, s, before, lua_gettop(L), timeout_ns);
        lua_settop(L, -results - 1); /* no mark is possible (captured, or the queue is full): wait by sleeping */
    }
    return result(L, s, wait_by(L, s, before, attempt, context, timeout_ns));
}

static int operation_wait(lua_State *L) {
    state *s = the_state(L);
    check_object_even_closed(L, s, 1, CLASS_OPERATION);
    const int64_t timeout_ns = check_timeout(L, 2);
    return operation_wait_at(L, s, note_hooks(L, s), 1, timeout_ns);
}

static int operation_ready(lua_State *L) {
    state *s = the_state(L);
    operation_object *operation = check_object_even_closed(L, s, 1, CLASS_OPERATION);
    lua_pushboolean(L, operation->done);
    return 1;
}

static int operation_result(lua_State *L) {
    state *s = the_state(L);
    return operation_result_of(L, s, check_object_even_closed(L, s, 1, CLASS_OPERATION));
}

/* entry(): the completion's fields, or false. */
static int operation_entry(lua_State *L) {
    state *s = the_state(L);
    operation_object *operation = check_object_even_closed(L, s, 1, CLASS_OPERATION);
    if (operation->done) push_completion(L, s, &operation->entry);
    else lua_pushboolean(L, 0);
    return 1;
}

static int operation_cq(lua_State *L) {
    state *s = the_state(L);
    check_object_even_closed(L, s, 1, CLASS_OPERATION);
    push_kept(L, 1, 1);
    return 1;
}

/* when_done(f): the code that drains the queue calls f(operation); false, and no call, if the operation is done
 * already. f may not yield. */
static int operation_when_done(lua_State *L) {
    state *s = the_state(L);
    operation_object *operation = check_object_even_closed(L, s, 1, CLASS_OPERATION);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_pushboolean(L, !operation->done);
    if (operation->done) return 1;
    push_kept(L, 1, OPERATION_WAITERS);
    if (!lua_istable(L, -1)) {
        lua_pop(L, 1);
        lua_createtable(L, 1, 0);
        keep(L, 1, OPERATION_WAITERS, -1);
    }
    lua_pushvalue(L, 2);
    lua_rawseti(L, -2, (int)lua_rawlen(L, -2) + 1);
    lua_pop(L, 1);
    return 1;
}

/* Closing an operation does nothing: its waiters are still called. */
void destroy_operation(lua_State *L, state *s, object *o, int collected) { (void)L, (void)s, (void)o, (void)collected; }

void free_operation(state *s, object *o) {
    operation_object *operation = (operation_object *)o;
    owned_free(s, operation->message);
    operation->message = NULL;
}

/* poll(queues, timeout): waits until one of the queues in the table may have something; true, or false. For event
 * loops. */
int poll_queues(lua_State *L) {
    state *s = the_state(L);
    const noted_hooks before = note_hooks(L, s);
    luaL_checktype(L, 1, LUA_TTABLE);
    const int64_t timeout_ns = check_timeout(L, 2), deadline = deadline_after(timeout_ns);
    const int count = (int)lua_rawlen(L, 1);
    struct pollfd *watched = lua_newuserdata(L, sizeof *watched * (size_t)(count + 1));
    for (int i = 0; i < count; ++i) {
        lua_rawgeti(L, 1, i + 1);
        cq_object *queue = check_object(L, s, lua_gettop(L), CLASS_CQ);
        const gpo_status status = get_fd(s, queue);
        if (status != GPO_SUCCESS) return failure(L, s, status);
        watched[i] = (struct pollfd){.fd = queue->hold->fd, .events = POLLIN};
        lua_pop(L, 1);
    }
    for (;;) {
        const int64_t slice = timeout_ns == 0 ? 0 : wait_slice(deadline);
        const int ready = poll(watched, (nfds_t)count, (int)((slice + 999999) / 1000000));
        if (ready > 0 || slice == 0 || (deadline != INT64_MAX && now_ns() >= deadline) ||
            was_interrupted(L, s, before)) {
            lua_pushboolean(L, ready > 0);
            return 1;
        }
    }
}

const luaL_Reg operation_methods[] = {
    {"wait", operation_wait}, {"ready", operation_ready}, {"result", operation_result}, {"entry", operation_entry},
    {"cq", operation_cq},     {"when_done", operation_when_done}, {NULL, NULL}};
