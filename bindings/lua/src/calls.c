/* calls.c: the methods that are plain functions of the library, and the classes with all their methods.
 * Made from abi.json by generator/generate.py. */
#include "calls.h"

#include "buckets.h"

struct event_notify {
    gpo_event_t event;
};
static gpo_status mark_event_notify(state *s, void *context, gpo_cq_t cq, uint64_t user_data) {
    const struct event_notify *c = context;
    return s->api->event_notify(c->event, cq, user_data);
}
static int event_notify(lua_State *L) {
    state *s = the_state(L);
    const gpo_event_t event = CHECK_HANDLE(1, event);
    const struct event_notify c = {event};
    return notify_method(L, s, 2, mark_event_notify, (void *)&c);
}

struct stream_notify {
    gpo_stream_t stream;
};
static gpo_status mark_stream_notify(state *s, void *context, gpo_cq_t cq, uint64_t user_data) {
    const struct stream_notify *c = context;
    return s->api->stream_notify(c->stream, cq, user_data);
}
static int stream_notify(lua_State *L) {
    state *s = the_state(L);
    const gpo_stream_t stream = CHECK_HANDLE(1, stream);
    const struct stream_notify c = {stream};
    return notify_method(L, s, 2, mark_stream_notify, (void *)&c);
}

struct stream_notify_timed {
    gpo_stream_t stream;
    gpo_event_t since;
};
static gpo_status mark_stream_notify_timed(state *s, void *context, gpo_cq_t cq, uint64_t user_data) {
    const struct stream_notify_timed *c = context;
    return s->api->stream_notify_timed(c->stream, cq, user_data, c->since);
}
static int stream_notify_timed(lua_State *L) {
    state *s = the_state(L);
    const gpo_stream_t stream = CHECK_HANDLE(1, stream);
    const gpo_event_t since = CHECK_HANDLE(2, event);
    const struct stream_notify_timed c = {stream, since};
    return notify_method(L, s, 3, mark_stream_notify_timed, (void *)&c);
}

struct pipeline_notify {
    gpo_pipeline_t pipeline;
};
static gpo_status mark_pipeline_notify(state *s, void *context, gpo_cq_t cq, uint64_t user_data) {
    const struct pipeline_notify *c = context;
    return s->api->pipeline_notify(c->pipeline, cq, user_data);
}
static int pipeline_notify(lua_State *L) {
    state *s = the_state(L);
    const gpo_pipeline_t pipeline = CHECK_HANDLE(1, pipeline);
    const struct pipeline_notify c = {pipeline};
    return notify_method(L, s, 2, mark_pipeline_notify, (void *)&c);
}

struct timeline_notify {
    gpo_timeline_t timeline;
    uint64_t value;
};
static gpo_status mark_timeline_notify(state *s, void *context, gpo_cq_t cq, uint64_t user_data) {
    const struct timeline_notify *c = context;
    return s->api->timeline_notify(c->timeline, c->value, cq, user_data);
}
static int timeline_notify(lua_State *L) {
    state *s = the_state(L);
    const gpo_timeline_t timeline = CHECK_HANDLE(1, timeline);
    const uint64_t value = check_unsigned(L, 2, UINT64_MAX);
    const struct timeline_notify c = {timeline, value};
    return notify_method(L, s, 3, mark_timeline_notify, (void *)&c);
}

struct admission_enter {
    gpo_admission_t admission;
    const gpo_admission_request *request;
    uint64_t *ticket;
};
static gpo_status mark_admission_enter(state *s, void *context, gpo_cq_t cq, uint64_t user_data) {
    const struct admission_enter *c = context;
    return s->api->admission_enter(c->admission, c->request, cq, user_data, c->ticket);
}
static int admission_enter(lua_State *L) {
    state *s = the_state(L);
    const gpo_admission_t admission = CHECK_HANDLE(1, admission);
    gpo_admission_request request = {.struct_size = sizeof request};
    read_record(L, 2, gpo_admission_request_fields, &request);
    uint64_t ticket = 0;
    const struct admission_enter c = {admission, &request, &ticket};
    const int count = notify_method(L, s, 3, mark_admission_enter, (void *)&c);
    if (count != 1) return count;
    push_unsigned(L, ticket);
    return 2;
}

static int runtime_get_driver(lua_State *L) {
    state *s = the_state(L);
    const gpo_runtime_t runtime = CHECK_HANDLE(1, runtime);
    gpo_driver_info info = {.struct_size = sizeof info};
    const gpo_status returned = s->api->runtime_get_driver(runtime, &info);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_driver_info_fields, &info);
    return 1;
}

static int runtime_get_statistics(lua_State *L) {
    state *s = the_state(L);
    const gpo_runtime_t runtime = CHECK_HANDLE(1, runtime);
    gpo_statistics statistics = {.struct_size = sizeof statistics};
    const gpo_status returned = s->api->runtime_get_statistics(runtime, &statistics);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_statistics_fields, &statistics);
    return 1;
}

static int runtime_get_device_count(lua_State *L) {
    state *s = the_state(L);
    const gpo_runtime_t runtime = CHECK_HANDLE(1, runtime);
    uint32_t count = 0;
    const gpo_status returned = s->api->runtime_get_device_count(runtime, &count);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, count);
    return 1;
}

static int runtime_describe_device(lua_State *L) {
    state *s = the_state(L);
    const gpo_runtime_t runtime = CHECK_HANDLE(1, runtime);
    const uint32_t ordinal = (uint32_t)optional_unsigned(L, 2, UINT32_MAX, 0);
    gpo_device_properties properties = {.struct_size = sizeof properties};
    const gpo_status returned = s->api->runtime_describe_device(runtime, ordinal, &properties);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_device_properties_fields, &properties);
    return 1;
}

static int runtime_describe_peer(lua_State *L) {
    state *s = the_state(L);
    const gpo_runtime_t runtime = CHECK_HANDLE(1, runtime);
    const uint32_t from = (uint32_t)check_unsigned(L, 2, UINT32_MAX);
    const uint32_t to = (uint32_t)check_unsigned(L, 3, UINT32_MAX);
    gpo_peer_properties properties = {.struct_size = sizeof properties};
    const gpo_status returned = s->api->runtime_describe_peer(runtime, from, to, &properties);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_peer_properties_fields, &properties);
    return 1;
}

static int device_open(lua_State *L) {
    state *s = the_state(L);
    const gpo_runtime_t runtime = CHECK_HANDLE(1, runtime);
    gpo_device_options options = {.struct_size = sizeof options};
    read_record(L, 2, gpo_device_options_fields, &options);
    object *made = new_object(L, s, CLASS_DEVICE, 1);
    return created(L, s, s->api->device_open(runtime, &options, (gpo_device_t *)&made->handle));
}

static int device_get_properties(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    gpo_device_properties properties = {.struct_size = sizeof properties};
    const gpo_status returned = s->api->device_get_properties(device, &properties);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_device_properties_fields, &properties);
    return 1;
}

struct device_wait {
    gpo_device_t device;
};
static gpo_status attempt_device_wait(state *s, void *context, int64_t timeout_ns) {
    const struct device_wait *c = context;
    return s->api->device_wait(c->device, timeout_ns);
}
static int device_wait(lua_State *L) {
    state *s = the_state(L);
    const noted_hooks hooks = note_hooks(L, s);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    const int64_t timeout_ns = check_timeout(L, 2);
    const struct device_wait c = {device};
    return result(L, s, wait_by(L, s, hooks, attempt_device_wait, (void *)&c, timeout_ns));
}

static int device_get_native(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    void *context = NULL;
    int32_t ordinal = 0;
    const gpo_status returned = s->api->device_get_native(device, &context, &ordinal);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, (uint64_t)(uintptr_t)context);
    push_signed(L, ordinal);
    return 2;
}

static int device_get_memory(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    const gpo_status returned = s->api->device_get_memory(device, &free_bytes, &total_bytes);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, free_bytes);
    push_unsigned(L, total_bytes);
    return 2;
}

static int device_enable_peer(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    const gpo_device_t peer = CHECK_HANDLE(2, device);
    return result(L, s, s->api->device_enable_peer(device, peer));
}

static int device_disable_peer(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    const gpo_device_t peer = CHECK_HANDLE(2, device);
    return result(L, s, s->api->device_disable_peer(device, peer));
}

static int device_get_limit(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    const uint32_t limit = (uint32_t)check_word(L, 2, NULL, words_of_GPO_LIMIT_STACK_BYTES) + GPO_LIMIT_STACK_BYTES;
    uint64_t value = 0;
    const gpo_status returned = s->api->device_get_limit(device, limit, &value);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, value);
    return 1;
}

static int device_set_limit(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    const uint32_t limit = (uint32_t)check_word(L, 2, NULL, words_of_GPO_LIMIT_STACK_BYTES) + GPO_LIMIT_STACK_BYTES;
    const uint64_t value = check_unsigned(L, 3, UINT64_MAX);
    return result(L, s, s->api->device_set_limit(device, limit, value));
}

static int event_create(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    gpo_event_options options = {.struct_size = sizeof options};
    read_record(L, 2, gpo_event_options_fields, &options);
    object *made = new_object(L, s, CLASS_EVENT, 1);
    return created(L, s, s->api->event_create(device, &options, (gpo_event_t *)&made->handle));
}

static int event_record(lua_State *L) {
    state *s = the_state(L);
    const gpo_event_t event = CHECK_HANDLE(1, event);
    const gpo_stream_t stream = CHECK_HANDLE(2, stream);
    return result(L, s, s->api->event_record(event, stream));
}

static int event_query(lua_State *L) {
    state *s = the_state(L);
    const gpo_event_t event = CHECK_HANDLE(1, event);
    return query_result(L, s, s->api->event_query(event));
}

struct event_wait {
    gpo_event_t event;
};
static gpo_status attempt_event_wait(state *s, void *context, int64_t timeout_ns) {
    const struct event_wait *c = context;
    return s->api->event_wait(c->event, timeout_ns);
}
static int event_wait(lua_State *L) {
    state *s = the_state(L);
    const noted_hooks hooks = note_hooks(L, s);
    const gpo_event_t event = CHECK_HANDLE(1, event);
    const int64_t timeout_ns = check_timeout(L, 2);
    const struct event_wait c = {event};
    return wait_method(L, s, hooks, attempt_event_wait, mark_event_notify, (void *)&c, timeout_ns);
}

static int event_get_elapsed(lua_State *L) {
    state *s = the_state(L);
    const gpo_event_t start = CHECK_HANDLE(1, event);
    const gpo_event_t end = CHECK_HANDLE(2, event);
    int64_t nanoseconds = 0;
    const gpo_status returned = s->api->event_get_elapsed(start, end, &nanoseconds);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_signed(L, nanoseconds);
    return 1;
}

static int event_get_native(lua_State *L) {
    state *s = the_state(L);
    const gpo_event_t event = CHECK_HANDLE(1, event);
    void *native = NULL;
    const gpo_status returned = s->api->event_get_native(event, &native);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, (uint64_t)(uintptr_t)native);
    return 1;
}

static int timeline_create(lua_State *L) {
    state *s = the_state(L);
    const gpo_runtime_t runtime = CHECK_HANDLE(1, runtime);
    gpo_timeline_options options = {.struct_size = sizeof options};
    read_record(L, 2, gpo_timeline_options_fields, &options);
    object *made = new_object(L, s, CLASS_TIMELINE, 1);
    return created(L, s, s->api->timeline_create(runtime, &options, (gpo_timeline_t *)&made->handle));
}

static int timeline_signal(lua_State *L) {
    state *s = the_state(L);
    const gpo_timeline_t timeline = CHECK_HANDLE(1, timeline);
    const uint64_t value = check_unsigned(L, 2, UINT64_MAX);
    return result(L, s, s->api->timeline_signal(timeline, value));
}

static int timeline_fail(lua_State *L) {
    state *s = the_state(L);
    const gpo_timeline_t timeline = CHECK_HANDLE(1, timeline);
    const gpo_status status = check_status_name(L, s, 2);
    const char *message = luaL_optstring(L, 3, NULL);
    return result(L, s, s->api->timeline_fail(timeline, status, message));
}

static int timeline_get_value(lua_State *L) {
    state *s = the_state(L);
    const gpo_timeline_t timeline = CHECK_HANDLE(1, timeline);
    uint64_t value = 0;
    const gpo_status returned = s->api->timeline_get_value(timeline, &value);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, value);
    return 1;
}

struct timeline_wait {
    gpo_timeline_t timeline;
    uint64_t value;
};
static gpo_status attempt_timeline_wait(state *s, void *context, int64_t timeout_ns) {
    const struct timeline_wait *c = context;
    return s->api->timeline_wait(c->timeline, c->value, timeout_ns);
}
static int timeline_wait(lua_State *L) {
    state *s = the_state(L);
    const noted_hooks hooks = note_hooks(L, s);
    const gpo_timeline_t timeline = CHECK_HANDLE(1, timeline);
    const uint64_t value = check_unsigned(L, 2, UINT64_MAX);
    const int64_t timeout_ns = check_timeout(L, 3);
    const struct timeline_wait c = {timeline, value};
    return wait_method(L, s, hooks, attempt_timeline_wait, mark_timeline_notify, (void *)&c, timeout_ns);
}

static int stream_wrap(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    void *native = (void *)(uintptr_t)check_unsigned(L, 2, UINTPTR_MAX);
    gpo_stream_options options = {.struct_size = sizeof options};
    read_record(L, 3, gpo_stream_options_fields, &options);
    object *made = new_object(L, s, CLASS_STREAM, 1);
    return created(L, s, s->api->stream_wrap(device, native, &options, (gpo_stream_t *)&made->handle));
}

static int device_get_priority_range(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    int32_t least = 0;
    int32_t greatest = 0;
    const gpo_status returned = s->api->device_get_priority_range(device, &least, &greatest);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_signed(L, least);
    push_signed(L, greatest);
    return 2;
}

static int stream_get_info(lua_State *L) {
    state *s = the_state(L);
    const gpo_stream_t stream = CHECK_HANDLE(1, stream);
    gpo_stream_info info = {.struct_size = sizeof info};
    const gpo_status returned = s->api->stream_get_info(stream, &info);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_stream_info_fields, &info);
    return 1;
}

static int stream_get_native(lua_State *L) {
    state *s = the_state(L);
    const gpo_stream_t stream = CHECK_HANDLE(1, stream);
    void *native = NULL;
    const gpo_status returned = s->api->stream_get_native(stream, &native);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, (uint64_t)(uintptr_t)native);
    return 1;
}

static int stream_query(lua_State *L) {
    state *s = the_state(L);
    const gpo_stream_t stream = CHECK_HANDLE(1, stream);
    return query_result(L, s, s->api->stream_query(stream));
}

struct stream_wait {
    gpo_stream_t stream;
};
static gpo_status attempt_stream_wait(state *s, void *context, int64_t timeout_ns) {
    const struct stream_wait *c = context;
    return s->api->stream_wait(c->stream, timeout_ns);
}
static int stream_wait(lua_State *L) {
    state *s = the_state(L);
    const noted_hooks hooks = note_hooks(L, s);
    const gpo_stream_t stream = CHECK_HANDLE(1, stream);
    const int64_t timeout_ns = check_timeout(L, 2);
    const struct stream_wait c = {stream};
    return wait_method(L, s, hooks, attempt_stream_wait, mark_stream_notify, (void *)&c, timeout_ns);
}

static int stream_cancel_held(lua_State *L) {
    state *s = the_state(L);
    const gpo_stream_t stream = CHECK_HANDLE(1, stream);
    uint64_t count = 0;
    const gpo_status returned = s->api->stream_cancel_held(stream, &count);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, count);
    return 1;
}

static int stream_wait_timeline(lua_State *L) {
    state *s = the_state(L);
    const gpo_stream_t stream = CHECK_HANDLE(1, stream);
    const gpo_timeline_t timeline = CHECK_HANDLE(2, timeline);
    const uint64_t value = check_unsigned(L, 3, UINT64_MAX);
    return result(L, s, s->api->stream_wait_timeline(stream, timeline, value));
}

static int stream_signal_timeline(lua_State *L) {
    state *s = the_state(L);
    const gpo_stream_t stream = CHECK_HANDLE(1, stream);
    const gpo_timeline_t timeline = CHECK_HANDLE(2, timeline);
    const uint64_t value = check_unsigned(L, 3, UINT64_MAX);
    return result(L, s, s->api->stream_signal_timeline(stream, timeline, value));
}

static int stream_pool_create(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    gpo_stream_pool_options options = {.struct_size = sizeof options};
    read_record(L, 2, gpo_stream_pool_options_fields, &options);
    object *made = new_object(L, s, CLASS_STREAM_POOL, 1);
    return created(L, s, s->api->stream_pool_create(device, &options, (gpo_stream_pool_t *)&made->handle));
}

static int arena_allocate(lua_State *L) {
    state *s = the_state(L);
    const gpo_arena_t arena = CHECK_HANDLE(1, arena);
    const uint64_t alignment = optional_unsigned(L, 4, UINT64_MAX, 0);
    void *memory = NULL;
    array_object *array = push_allocation(L, s, MEMORY_PINNED, 2);
    if (!array) return 3;
    gpo_status returned;
    WITH_RECLAIM(L, s, device_of(L, -1), returned, s->api->arena_allocate(arena, ARRAY_BYTES(array), alignment,
        &memory));
    return allocated(L, s, returned, (uint64_t)(uintptr_t)memory, 0);
}

static int arena_free(lua_State *L) {
    state *s = the_state(L);
    const gpo_arena_t arena = CHECK_HANDLE(1, arena);
    array_object *array = check_piece(L, s, 2);
    return piece_freed(L, s, array, 2, s->api->arena_free(arena, (void *)(uintptr_t)array->address));
}

static int arena_free_after(lua_State *L) {
    state *s = the_state(L);
    const gpo_arena_t arena = CHECK_HANDLE(1, arena);
    array_object *array = check_piece(L, s, 2);
    const gpo_stream_t stream = CHECK_HANDLE(3, stream);
    return piece_freed(L, s, array, 2, s->api->arena_free_after(arena, (void *)(uintptr_t)array->address, stream));
}

static int arena_trim(lua_State *L) {
    state *s = the_state(L);
    const gpo_arena_t arena = CHECK_HANDLE(1, arena);
    const uint64_t keep_bytes = optional_unsigned(L, 2, UINT64_MAX, 0);
    return result(L, s, s->api->arena_trim(arena, keep_bytes));
}

static int arena_get_statistics(lua_State *L) {
    state *s = the_state(L);
    const gpo_arena_t arena = CHECK_HANDLE(1, arena);
    gpo_memory_statistics statistics = {.struct_size = sizeof statistics};
    const gpo_status returned = s->api->arena_get_statistics(arena, &statistics);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_memory_statistics_fields, &statistics);
    return 1;
}

static int memory_allocate(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    const char *label = luaL_optstring(L, 4, NULL);
    uint64_t address = 0;
    array_object *array = push_allocation(L, s, MEMORY_DEVICE, 2);
    if (!array) return 3;
    gpo_status returned;
    WITH_RECLAIM(L, s, device_of(L, -1), returned, s->api->memory_allocate(device, ARRAY_BYTES(array), label,
        &address));
    return allocated(L, s, returned, (uint64_t)(uintptr_t)address, 0);
}

static int memory_describe(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    const uint64_t address = check_memory(L, s, 2);
    gpo_memory_info info = {.struct_size = sizeof info};
    const gpo_status returned = s->api->memory_describe(device, address, &info);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_memory_info_fields, &info);
    return 1;
}

static int pool_create(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    gpo_pool_options options = {.struct_size = sizeof options};
    read_record(L, 2, gpo_pool_options_fields, &options);
    object *made = new_object(L, s, CLASS_POOL, 1);
    gpo_status returned;
    WITH_RECLAIM(L, s, device_of(L, -1), returned, s->api->pool_create(device, &options, (gpo_pool_t *)&made->handle));
    return created(L, s, returned);
}

static int pool_allocate(lua_State *L) {
    state *s = the_state(L);
    const gpo_pool_t pool = CHECK_HANDLE(1, pool);
    const gpo_stream_t stream = CHECK_HANDLE(2, stream);
    uint64_t address = 0;
    array_object *array = push_allocation(L, s, MEMORY_POOL, 3);
    if (!array) return 3;
    gpo_status returned;
    WITH_RECLAIM(L, s, device_of(L, -1), returned, s->api->pool_allocate(pool, stream, ARRAY_BYTES(array), &address));
    return allocated(L, s, returned, (uint64_t)(uintptr_t)address, 2);
}

static int pool_trim(lua_State *L) {
    state *s = the_state(L);
    const gpo_pool_t pool = CHECK_HANDLE(1, pool);
    const uint64_t keep_bytes = optional_unsigned(L, 2, UINT64_MAX, 0);
    return result(L, s, s->api->pool_trim(pool, keep_bytes));
}

static int pool_get_statistics(lua_State *L) {
    state *s = the_state(L);
    const gpo_pool_t pool = CHECK_HANDLE(1, pool);
    gpo_memory_statistics statistics = {.struct_size = sizeof statistics};
    const gpo_status returned = s->api->pool_get_statistics(pool, &statistics);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_memory_statistics_fields, &statistics);
    return 1;
}

struct last_compile_log {
    const gpo_api *api;
};
static gpo_status read_last_compile_log(void *context, char *buffer, size_t capacity, size_t *needed) {
    const struct last_compile_log *c = context;
    return c->api->last_compile_log(buffer, capacity, needed);
}
static int last_compile_log(lua_State *L) {
    state *s = the_state(L);
    const struct last_compile_log c = {s->api};
    return push_text(L, s, read_last_compile_log, (void *)&c, 0);
}

static int module_load(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    size_t bytes = 0;
    const char *image = luaL_checklstring(L, 2, &bytes);
    const char *label = luaL_optstring(L, 3, NULL);
    object *made = new_object(L, s, CLASS_MODULE, 1);
    return created(L, s, s->api->module_load(device, image, bytes, label, (gpo_module_t *)&made->handle));
}

struct module_get_image {
    const gpo_api *api;
    gpo_module_t module;
};
static gpo_status read_module_get_image(void *context, char *buffer, size_t capacity, size_t *needed) {
    const struct module_get_image *c = context;
    return c->api->module_get_image(c->module, buffer, capacity, needed);
}
static int module_get_image(lua_State *L) {
    state *s = the_state(L);
    const gpo_module_t module = CHECK_HANDLE(1, module);
    const struct module_get_image c = {s->api, module};
    return push_text(L, s, read_module_get_image, (void *)&c, 1);
}

static int module_load_builtin(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    object *made = new_object(L, s, CLASS_MODULE, 1);
    return created(L, s, s->api->module_load_builtin(device, (gpo_module_t *)&made->handle));
}

static int kernel_get_attributes(lua_State *L) {
    state *s = the_state(L);
    const gpo_kernel_t kernel = CHECK_HANDLE(1, kernel);
    gpo_kernel_attributes attributes = {.struct_size = sizeof attributes};
    const gpo_status returned = s->api->kernel_get_attributes(kernel, &attributes);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_kernel_attributes_fields, &attributes);
    return 1;
}

struct kernel_get_name {
    const gpo_api *api;
    gpo_kernel_t kernel;
};
static gpo_status read_kernel_get_name(void *context, char *buffer, size_t capacity, size_t *needed) {
    const struct kernel_get_name *c = context;
    return c->api->kernel_get_name(c->kernel, buffer, capacity, needed);
}
static int kernel_get_name(lua_State *L) {
    state *s = the_state(L);
    const gpo_kernel_t kernel = CHECK_HANDLE(1, kernel);
    const struct kernel_get_name c = {s->api, kernel};
    return push_text(L, s, read_kernel_get_name, (void *)&c, 0);
}

static int kernel_get_native(lua_State *L) {
    state *s = the_state(L);
    const gpo_kernel_t kernel = CHECK_HANDLE(1, kernel);
    void *function = NULL;
    const gpo_status returned = s->api->kernel_get_native(kernel, &function);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, (uint64_t)(uintptr_t)function);
    return 1;
}

static int kernel_set_max_dynamic_shared(lua_State *L) {
    state *s = the_state(L);
    const gpo_kernel_t kernel = CHECK_HANDLE(1, kernel);
    const uint64_t bytes = check_unsigned(L, 2, UINT64_MAX);
    return result(L, s, s->api->kernel_set_max_dynamic_shared(kernel, bytes));
}

static int kernel_get_occupancy(lua_State *L) {
    state *s = the_state(L);
    const gpo_kernel_t kernel = CHECK_HANDLE(1, kernel);
    const uint32_t threads = (uint32_t)check_unsigned(L, 2, UINT32_MAX);
    const uint64_t dynamic_shared_bytes = optional_unsigned(L, 3, UINT64_MAX, 0);
    uint32_t blocks = 0;
    const gpo_status returned = s->api->kernel_get_occupancy(kernel, threads, dynamic_shared_bytes, &blocks);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, blocks);
    return 1;
}

static int kernel_suggest_shape(lua_State *L) {
    state *s = the_state(L);
    const gpo_kernel_t kernel = CHECK_HANDLE(1, kernel);
    const uint64_t dynamic_shared_bytes = optional_unsigned(L, 2, UINT64_MAX, 0);
    const uint32_t max_threads = (uint32_t)optional_unsigned(L, 3, UINT32_MAX, 0);
    uint32_t threads = 0;
    uint32_t blocks = 0;
    const gpo_status returned = s->api->kernel_suggest_shape(kernel, dynamic_shared_bytes, max_threads, &threads,
        &blocks);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, threads);
    push_unsigned(L, blocks);
    return 2;
}

static int cq_wake(lua_State *L) {
    state *s = the_state(L);
    const gpo_cq_t cq = CHECK_HANDLE(1, cq);
    return result(L, s, s->api->cq_wake(cq));
}

static int cq_get_statistics(lua_State *L) {
    state *s = the_state(L);
    const gpo_cq_t cq = CHECK_HANDLE(1, cq);
    gpo_cq_statistics statistics = {.struct_size = sizeof statistics};
    const gpo_status returned = s->api->cq_get_statistics(cq, &statistics);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_cq_statistics_fields, &statistics);
    return 1;
}

static int pipeline_cancel(lua_State *L) {
    state *s = the_state(L);
    const gpo_pipeline_t pipeline = CHECK_HANDLE(1, pipeline);
    return result(L, s, s->api->pipeline_cancel(pipeline));
}

static int pipeline_get_progress(lua_State *L) {
    state *s = the_state(L);
    const gpo_pipeline_t pipeline = CHECK_HANDLE(1, pipeline);
    gpo_pipeline_progress progress = {.struct_size = sizeof progress};
    const gpo_status returned = s->api->pipeline_get_progress(pipeline, &progress);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_pipeline_progress_fields, &progress);
    return 1;
}

static int device_get_metrics(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    gpo_device_metrics metrics = {.struct_size = sizeof metrics};
    const gpo_status returned = s->api->device_get_metrics(device, &metrics);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_device_metrics_fields, &metrics);
    return 1;
}

struct runtime_get_metrics_text {
    const gpo_api *api;
    gpo_runtime_t runtime;
};
static gpo_status read_runtime_get_metrics_text(void *context, char *buffer, size_t capacity, size_t *needed) {
    const struct runtime_get_metrics_text *c = context;
    return c->api->runtime_get_metrics_text(c->runtime, buffer, capacity, needed);
}
static int runtime_get_metrics_text(lua_State *L) {
    state *s = the_state(L);
    const gpo_runtime_t runtime = CHECK_HANDLE(1, runtime);
    const struct runtime_get_metrics_text c = {s->api, runtime};
    return push_text(L, s, read_runtime_get_metrics_text, (void *)&c, 0);
}

static int executor_get_statistics(lua_State *L) {
    state *s = the_state(L);
    const gpo_executor_t executor = CHECK_HANDLE(1, executor);
    gpo_executor_statistics statistics = {.struct_size = sizeof statistics};
    const gpo_status returned = s->api->executor_get_statistics(executor, &statistics);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_executor_statistics_fields, &statistics);
    return 1;
}

static int stream_then(lua_State *L) {
    state *s = the_state(L);
    const gpo_stream_t stream = CHECK_HANDLE(1, stream);
    gpo_executor_t executor;
    struct owed *owed = owe(L, s, 2, &executor);
    return owing(L, s, 2, owed, s->api->stream_then(stream, executor, when_done, owed));
}

static int event_then(lua_State *L) {
    state *s = the_state(L);
    const gpo_event_t event = CHECK_HANDLE(1, event);
    gpo_executor_t executor;
    struct owed *owed = owe(L, s, 2, &executor);
    return owing(L, s, 2, owed, s->api->event_then(event, executor, when_done, owed));
}

static int timeline_then(lua_State *L) {
    state *s = the_state(L);
    const gpo_timeline_t timeline = CHECK_HANDLE(1, timeline);
    const uint64_t value = check_unsigned(L, 2, UINT64_MAX);
    gpo_executor_t executor;
    struct owed *owed = owe(L, s, 3, &executor);
    return owing(L, s, 3, owed, s->api->timeline_then(timeline, value, executor, when_done, owed));
}

static int pipeline_then(lua_State *L) {
    state *s = the_state(L);
    const gpo_pipeline_t pipeline = CHECK_HANDLE(1, pipeline);
    gpo_executor_t executor;
    struct owed *owed = owe(L, s, 2, &executor);
    return owing(L, s, 2, owed, s->api->pipeline_then(pipeline, executor, when_done, owed));
}

static int stream_host_call(lua_State *L) {
    state *s = the_state(L);
    const gpo_stream_t stream = CHECK_HANDLE(1, stream);
    gpo_executor_t executor;
    struct owed *owed = owe(L, s, 2, &executor);
    return owing(L, s, 2, owed, s->api->stream_host_call(stream, executor, host_call, owed));
}

static int runtime_set_log_executor(lua_State *L) {
    state *s = the_state(L);
    const gpo_runtime_t runtime = CHECK_HANDLE(1, runtime);
    const object *executor = optional_object(L, s, 2, CLASS_EXECUTOR);
    return result(L, s, s->api->runtime_set_log_executor(runtime, executor ? HANDLE(executor, gpo_executor_t) : NULL));
}

static int trace_start(lua_State *L) {
    state *s = the_state(L);
    const gpo_runtime_t runtime = CHECK_HANDLE(1, runtime);
    gpo_trace_options options = {.struct_size = sizeof options};
    read_record(L, 2, gpo_trace_options_fields, &options);
    return result(L, s, s->api->trace_start(runtime, &options));
}

static int trace_stop(lua_State *L) {
    state *s = the_state(L);
    const gpo_runtime_t runtime = CHECK_HANDLE(1, runtime);
    return result(L, s, s->api->trace_stop(runtime));
}

static int trace_get_info(lua_State *L) {
    state *s = the_state(L);
    const gpo_runtime_t runtime = CHECK_HANDLE(1, runtime);
    gpo_trace_info info = {.struct_size = sizeof info};
    const gpo_status returned = s->api->trace_get_info(runtime, &info);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_trace_info_fields, &info);
    return 1;
}

struct trace_get_summary {
    const gpo_api *api;
    gpo_runtime_t runtime;
};
static gpo_status read_trace_get_summary(void *context, char *buffer, size_t capacity, size_t *needed) {
    const struct trace_get_summary *c = context;
    return c->api->trace_get_summary(c->runtime, buffer, capacity, needed);
}
static int trace_get_summary(lua_State *L) {
    state *s = the_state(L);
    const gpo_runtime_t runtime = CHECK_HANDLE(1, runtime);
    const struct trace_get_summary c = {s->api, runtime};
    return push_text(L, s, read_trace_get_summary, (void *)&c, 0);
}

static int kernel_get_parameter(lua_State *L) {
    state *s = the_state(L);
    const gpo_kernel_t kernel = CHECK_HANDLE(1, kernel);
    const uint32_t index = (uint32_t)check_from_1(L, 2, "parameters");
    uint64_t offset = 0;
    uint64_t bytes = 0;
    const gpo_status returned = s->api->kernel_get_parameter(kernel, index, &offset, &bytes);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, offset);
    push_unsigned(L, bytes);
    return 2;
}

static int template_get_last_node(lua_State *L) {
    state *s = the_state(L);
    const gpo_template_t graph_template = CHECK_HANDLE(1, template);
    const gpo_stream_t stream = CHECK_HANDLE(2, stream);
    uint32_t node = 0;
    const gpo_status returned = s->api->template_get_last_node(graph_template, stream, &node);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, node);
    return 1;
}

static int template_set_last_node(lua_State *L) {
    state *s = the_state(L);
    const gpo_template_t graph_template = CHECK_HANDLE(1, template);
    const gpo_stream_t stream = CHECK_HANDLE(2, stream);
    const uint32_t node = (uint32_t)check_unsigned(L, 3, UINT32_MAX);
    return result(L, s, s->api->template_set_last_node(graph_template, stream, node));
}

static int template_add_empty(lua_State *L) {
    state *s = the_state(L);
    const gpo_template_t graph_template = CHECK_HANDLE(1, template);
    uint32_t one, after_count;
    const uint32_t *after = check_after(L, 2, &one, &after_count);
    uint32_t node = 0;
    const gpo_status returned = s->api->template_add_empty(graph_template, after, after_count, &node);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, node);
    return 1;
}

static int template_add_event_record(lua_State *L) {
    state *s = the_state(L);
    const gpo_template_t graph_template = CHECK_HANDLE(1, template);
    uint32_t one, after_count;
    const uint32_t *after = check_after(L, 2, &one, &after_count);
    const gpo_event_t event = CHECK_HANDLE(3, event);
    uint32_t node = 0;
    const gpo_status returned = s->api->template_add_event_record(graph_template, after, after_count, event, &node);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, node);
    return 1;
}

static int template_add_event_wait(lua_State *L) {
    state *s = the_state(L);
    const gpo_template_t graph_template = CHECK_HANDLE(1, template);
    uint32_t one, after_count;
    const uint32_t *after = check_after(L, 2, &one, &after_count);
    const gpo_event_t event = CHECK_HANDLE(3, event);
    uint32_t node = 0;
    const gpo_status returned = s->api->template_add_event_wait(graph_template, after, after_count, event, &node);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, node);
    return 1;
}

static int template_find_node(lua_State *L) {
    state *s = the_state(L);
    const gpo_template_t graph_template = CHECK_HANDLE(1, template);
    const char *label = luaL_checkstring(L, 2);
    uint32_t node = 0;
    const gpo_status returned = s->api->template_find_node(graph_template, label, &node);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, node);
    return 1;
}

static int template_get_native(lua_State *L) {
    state *s = the_state(L);
    const gpo_template_t graph_template = CHECK_HANDLE(1, template);
    void *native = NULL;
    const gpo_status returned = s->api->template_get_native(graph_template, &native);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, (uint64_t)(uintptr_t)native);
    return 1;
}

static int template_get_statistics(lua_State *L) {
    state *s = the_state(L);
    const gpo_template_t graph_template = CHECK_HANDLE(1, template);
    gpo_template_statistics statistics = {.struct_size = sizeof statistics};
    const gpo_status returned = s->api->template_get_statistics(graph_template, &statistics);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_template_statistics_fields, &statistics);
    return 1;
}

static int graph_upload(lua_State *L) {
    state *s = the_state(L);
    const gpo_graph_t graph = CHECK_HANDLE(1, graph);
    const gpo_stream_t stream = CHECK_HANDLE(2, stream);
    return result(L, s, s->api->graph_upload(graph, stream));
}

static int template_prepare(lua_State *L) {
    state *s = the_state(L);
    const gpo_template_t graph_template = CHECK_HANDLE(1, template);
    const uint32_t count = (uint32_t)check_unsigned(L, 2, UINT32_MAX);
    const gpo_stream_t stream = CHECK_HANDLE(3, stream);
    return result(L, s, s->api->template_prepare(graph_template, count, stream));
}

static int graph_get_native(lua_State *L) {
    state *s = the_state(L);
    const gpo_graph_t graph = CHECK_HANDLE(1, graph);
    void *native = NULL;
    const gpo_status returned = s->api->graph_get_native(graph, &native);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, (uint64_t)(uintptr_t)native);
    return 1;
}

static int template_bind_condition(lua_State *L) {
    state *s = the_state(L);
    const gpo_template_t kernel_in = CHECK_HANDLE(1, template);
    const uint32_t kernel_node = (uint32_t)check_unsigned(L, 2, UINT32_MAX);
    const uint32_t index = (uint32_t)check_from_1(L, 3, "arguments");
    const gpo_template_t conditional_in = CHECK_HANDLE(4, template);
    const uint32_t conditional = (uint32_t)check_unsigned(L, 5, UINT32_MAX);
    return result(L, s, s->api->template_bind_condition(kernel_in, kernel_node, index, conditional_in, conditional));
}

static int graph_get_loop(lua_State *L) {
    state *s = the_state(L);
    const gpo_graph_t graph = CHECK_HANDLE(1, graph);
    const gpo_template_t conditional_in = CHECK_HANDLE(2, template);
    const uint32_t node = (uint32_t)check_unsigned(L, 3, UINT32_MAX);
    uint64_t iterations = 0;
    uint32_t limited = 0;
    const gpo_status returned = s->api->graph_get_loop(graph, conditional_in, node, &iterations, &limited);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, iterations);
    lua_pushboolean(L, limited != 0);
    return 2;
}

static int graph_get_device_status(lua_State *L) {
    state *s = the_state(L);
    const gpo_graph_t graph = CHECK_HANDLE(1, graph);
    gpo_status device_status = 0;
    const gpo_status returned = s->api->graph_get_device_status(graph, &device_status);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    lua_pushstring(L, s->api->status_name(device_status));
    return 1;
}

static int buckets_get_statistics(lua_State *L) {
    state *s = the_state(L);
    const gpo_buckets_t buckets = CHECK_HANDLE(1, buckets);
    gpo_buckets_statistics statistics = {.struct_size = sizeof statistics};
    const gpo_status returned = s->api->buckets_get_statistics(buckets, &statistics);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_buckets_statistics_fields, &statistics);
    return 1;
}

struct template_get_picture {
    const gpo_api *api;
    gpo_template_t graph_template;
    uint32_t format;
};
static gpo_status read_template_get_picture(void *context, char *buffer, size_t capacity, size_t *needed) {
    const struct template_get_picture *c = context;
    return c->api->template_get_picture(c->graph_template, c->format, buffer, capacity, needed);
}
static int template_get_picture(lua_State *L) {
    state *s = the_state(L);
    const gpo_template_t graph_template = CHECK_HANDLE(1, template);
    const uint32_t format = (uint32_t)check_word(L, 2, "svg", words_of_GPO_PICTURE_DOT) + GPO_PICTURE_DOT;
    const struct template_get_picture c = {s->api, graph_template, format};
    return push_text(L, s, read_template_get_picture, (void *)&c, 0);
}

static int template_allocate(lua_State *L) {
    state *s = the_state(L);
    const gpo_template_t graph_template = CHECK_HANDLE(1, template);
    uint64_t address = 0;
    array_object *array = push_allocation(L, s, MEMORY_BORROWED_DEVICE, 2);
    if (!array) return 3;
    gpo_status returned;
    WITH_RECLAIM(L, s, device_of(L, -1), returned, s->api->template_allocate(graph_template, ARRAY_BYTES(array),
        &address));
    return allocated(L, s, returned, (uint64_t)(uintptr_t)address, 0);
}

static int template_allocate_host(lua_State *L) {
    state *s = the_state(L);
    const gpo_template_t graph_template = CHECK_HANDLE(1, template);
    void *memory = NULL;
    array_object *array = push_allocation(L, s, MEMORY_BORROWED_HOST, 2);
    if (!array) return 3;
    gpo_status returned;
    WITH_RECLAIM(L, s, device_of(L, -1), returned, s->api->template_allocate_host(graph_template, ARRAY_BYTES(array),
        &memory));
    return allocated(L, s, returned, (uint64_t)(uintptr_t)memory, 0);
}

struct queue_get_device_handle {
    const gpo_api *api;
    gpo_queue_t queue;
};
static gpo_status read_queue_get_device_handle(void *context, char *buffer, size_t capacity, size_t *needed) {
    const struct queue_get_device_handle *c = context;
    return c->api->queue_get_device_handle(c->queue, buffer, capacity, needed);
}
static int queue_get_device_handle(lua_State *L) {
    state *s = the_state(L);
    const gpo_queue_t queue = CHECK_HANDLE(1, queue);
    const struct queue_get_device_handle c = {s->api, queue};
    return push_text(L, s, read_queue_get_device_handle, (void *)&c, 1);
}

static int queue_reset(lua_State *L) {
    state *s = the_state(L);
    const gpo_queue_t queue = CHECK_HANDLE(1, queue);
    const gpo_stream_t stream = CHECK_HANDLE(2, stream);
    return result(L, s, s->api->queue_reset(queue, stream));
}

static int queue_close(lua_State *L) {
    state *s = the_state(L);
    const gpo_queue_t queue = CHECK_HANDLE(1, queue);
    return result(L, s, s->api->queue_close(queue));
}

static int queue_abort(lua_State *L) {
    state *s = the_state(L);
    const gpo_queue_t queue = CHECK_HANDLE(1, queue);
    return result(L, s, s->api->queue_abort(queue));
}

static int queue_get_info(lua_State *L) {
    state *s = the_state(L);
    const gpo_queue_t queue = CHECK_HANDLE(1, queue);
    gpo_queue_info info = {.struct_size = sizeof info};
    const gpo_status returned = s->api->queue_get_info(queue, &info);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_queue_info_fields, &info);
    return 1;
}

static const field flags_of_device_get_costs[] = {
    {"probe", FIELD_FLAG, 0, GPO_COSTS_PROBE, NULL},
    FIELDS_END,
};
static int device_get_costs(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    uint32_t flags = 0;
    read_record(L, 2, flags_of_device_get_costs, &flags);
    gpo_costs costs = {.struct_size = sizeof costs};
    const gpo_status returned = s->api->device_get_costs(device, flags, &costs);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_costs_fields, &costs);
    return 1;
}

static int scheduler_start(lua_State *L) {
    state *s = the_state(L);
    const gpo_scheduler_t scheduler = CHECK_HANDLE(1, scheduler);
    return result(L, s, s->api->scheduler_start(scheduler));
}

struct scheduler_drain {
    gpo_scheduler_t scheduler;
};
static gpo_status attempt_scheduler_drain(state *s, void *context, int64_t timeout_ns) {
    const struct scheduler_drain *c = context;
    return s->api->scheduler_drain(c->scheduler, timeout_ns);
}
static int scheduler_drain(lua_State *L) {
    state *s = the_state(L);
    const noted_hooks hooks = note_hooks(L, s);
    const gpo_scheduler_t scheduler = CHECK_HANDLE(1, scheduler);
    const int64_t timeout_ns = check_timeout(L, 2);
    const struct scheduler_drain c = {scheduler};
    return result(L, s, wait_by(L, s, hooks, attempt_scheduler_drain, (void *)&c, timeout_ns));
}

struct scheduler_stop {
    gpo_scheduler_t scheduler;
};
static gpo_status attempt_scheduler_stop(state *s, void *context, int64_t timeout_ns) {
    const struct scheduler_stop *c = context;
    return s->api->scheduler_stop(c->scheduler, timeout_ns);
}
static int scheduler_stop(lua_State *L) {
    state *s = the_state(L);
    const noted_hooks hooks = note_hooks(L, s);
    const gpo_scheduler_t scheduler = CHECK_HANDLE(1, scheduler);
    const int64_t timeout_ns = check_timeout(L, 2);
    const struct scheduler_stop c = {scheduler};
    return result(L, s, wait_by(L, s, hooks, attempt_scheduler_stop, (void *)&c, timeout_ns));
}

struct scheduler_wait {
    gpo_scheduler_t scheduler;
};
static gpo_status attempt_scheduler_wait(state *s, void *context, int64_t timeout_ns) {
    const struct scheduler_wait *c = context;
    return s->api->scheduler_wait(c->scheduler, timeout_ns);
}
static int scheduler_wait(lua_State *L) {
    state *s = the_state(L);
    const noted_hooks hooks = note_hooks(L, s);
    const gpo_scheduler_t scheduler = CHECK_HANDLE(1, scheduler);
    const int64_t timeout_ns = check_timeout(L, 2);
    const struct scheduler_wait c = {scheduler};
    return result(L, s, wait_by(L, s, hooks, attempt_scheduler_wait, (void *)&c, timeout_ns));
}

static int scheduler_get_info(lua_State *L) {
    state *s = the_state(L);
    const gpo_scheduler_t scheduler = CHECK_HANDLE(1, scheduler);
    gpo_scheduler_info info = {.struct_size = sizeof info};
    const gpo_status returned = s->api->scheduler_get_info(scheduler, &info);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_scheduler_info_fields, &info);
    return 1;
}

static int scheduler_get_handler(lua_State *L) {
    state *s = the_state(L);
    const gpo_scheduler_t scheduler = CHECK_HANDLE(1, scheduler);
    const uint32_t handler = (uint32_t)check_unsigned(L, 2, UINT32_MAX);
    gpo_handler_info info = {.struct_size = sizeof info};
    const gpo_status returned = s->api->scheduler_get_handler(scheduler, handler, &info);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_handler_info_fields, &info);
    return 1;
}

struct scheduler_get_blocks {
    gpo_scheduler_t scheduler;
};
static gpo_status read_scheduler_get_blocks(state *s, const void *context, void *to, uint64_t capacity,
    uint64_t *count) {
    const struct scheduler_get_blocks *c = context;
    return s->api->scheduler_get_blocks(c->scheduler, to, sizeof(gpo_scheduler_block), capacity, count);
}
static int scheduler_get_blocks(lua_State *L) {
    state *s = the_state(L);
    const gpo_scheduler_t scheduler = CHECK_HANDLE(1, scheduler);
    const struct scheduler_get_blocks c = {scheduler};
    return push_list(L, s, read_scheduler_get_blocks, &c, gpo_scheduler_block_fields, sizeof(gpo_scheduler_block));
}

struct scheduler_get_samples {
    gpo_scheduler_t scheduler;
};
static gpo_status read_scheduler_get_samples(state *s, const void *context, void *to, uint64_t capacity,
    uint64_t *count) {
    const struct scheduler_get_samples *c = context;
    return s->api->scheduler_get_samples(c->scheduler, to, sizeof(gpo_depth_sample), capacity, count);
}
static int scheduler_get_samples(lua_State *L) {
    state *s = the_state(L);
    const gpo_scheduler_t scheduler = CHECK_HANDLE(1, scheduler);
    const struct scheduler_get_samples c = {scheduler};
    return push_list(L, s, read_scheduler_get_samples, &c, gpo_depth_sample_fields, sizeof(gpo_depth_sample));
}

struct scheduler_get_errors {
    gpo_scheduler_t scheduler;
};
static gpo_status read_scheduler_get_errors(state *s, const void *context, void *to, uint64_t capacity,
    uint64_t *count) {
    const struct scheduler_get_errors *c = context;
    return s->api->scheduler_get_errors(c->scheduler, to, sizeof(gpo_task_error), capacity, count);
}
static int scheduler_get_errors(lua_State *L) {
    state *s = the_state(L);
    const gpo_scheduler_t scheduler = CHECK_HANDLE(1, scheduler);
    const struct scheduler_get_errors c = {scheduler};
    return push_list(L, s, read_scheduler_get_errors, &c, gpo_task_error_fields, sizeof(gpo_task_error));
}

static int peers_get_info(lua_State *L) {
    state *s = the_state(L);
    const gpo_peers_t peers = CHECK_HANDLE(1, peers);
    gpo_peers_info info = {.struct_size = sizeof info};
    const gpo_status returned = s->api->peers_get_info(peers, &info);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_peers_info_fields, &info);
    return 1;
}

static int peers_get_link(lua_State *L) {
    state *s = the_state(L);
    const gpo_peers_t peers = CHECK_HANDLE(1, peers);
    const uint32_t from = (uint32_t)check_unsigned(L, 2, UINT32_MAX);
    const uint32_t to = (uint32_t)check_unsigned(L, 3, UINT32_MAX);
    gpo_peer_properties link = {.struct_size = sizeof link};
    const gpo_status returned = s->api->peers_get_link(peers, from, to, &link);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_peer_properties_fields, &link);
    return 1;
}

static int symmetric_get_address(lua_State *L) {
    state *s = the_state(L);
    const gpo_symmetric_t memory = CHECK_HANDLE(1, symmetric);
    const uint32_t rank = (uint32_t)check_unsigned(L, 2, UINT32_MAX);
    uint64_t address = 0;
    const gpo_status returned = s->api->symmetric_get_address(memory, rank, &address);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_address(L, s, address);
    return 1;
}

struct symmetric_get_device_handle {
    const gpo_api *api;
    gpo_symmetric_t memory;
    uint32_t rank;
};
static gpo_status read_symmetric_get_device_handle(void *context, char *buffer, size_t capacity, size_t *needed) {
    const struct symmetric_get_device_handle *c = context;
    return c->api->symmetric_get_device_handle(c->memory, c->rank, buffer, capacity, needed);
}
static int symmetric_get_device_handle(lua_State *L) {
    state *s = the_state(L);
    const gpo_symmetric_t memory = CHECK_HANDLE(1, symmetric);
    const uint32_t rank = (uint32_t)check_unsigned(L, 2, UINT32_MAX);
    const struct symmetric_get_device_handle c = {s->api, memory, rank};
    return push_text(L, s, read_symmetric_get_device_handle, (void *)&c, 1);
}

static int symmetric_reset(lua_State *L) {
    state *s = the_state(L);
    const gpo_symmetric_t memory = CHECK_HANDLE(1, symmetric);
    const uint32_t rank = (uint32_t)check_unsigned(L, 2, UINT32_MAX);
    const gpo_stream_t stream = CHECK_HANDLE(3, stream);
    return result(L, s, s->api->symmetric_reset(memory, rank, stream));
}

static int symmetric_get_info(lua_State *L) {
    state *s = the_state(L);
    const gpo_symmetric_t memory = CHECK_HANDLE(1, symmetric);
    gpo_symmetric_info info = {.struct_size = sizeof info};
    const gpo_status returned = s->api->symmetric_get_info(memory, &info);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_symmetric_info_fields, &info);
    return 1;
}

struct peers_make_id {
    const gpo_api *api;
};
static gpo_status read_peers_make_id(void *context, char *buffer, size_t capacity, size_t *needed) {
    const struct peers_make_id *c = context;
    return c->api->peers_make_id(buffer, capacity, needed);
}
static int peers_make_id(lua_State *L) {
    state *s = the_state(L);
    const struct peers_make_id c = {s->api};
    return push_text(L, s, read_peers_make_id, (void *)&c, 1);
}

static int peers_abort(lua_State *L) {
    state *s = the_state(L);
    const gpo_peers_t peers = CHECK_HANDLE(1, peers);
    return result(L, s, s->api->peers_abort(peers));
}

struct memory_export {
    const gpo_api *api;
    gpo_device_t device;
    uint64_t address;
};
static gpo_status read_memory_export(void *context, char *buffer, size_t capacity, size_t *needed) {
    const struct memory_export *c = context;
    return c->api->memory_export(c->device, c->address, buffer, capacity, needed);
}
static int memory_export(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    const uint64_t address = check_array(L, s, 2)->address;
    const struct memory_export c = {s->api, device, address};
    return push_text(L, s, read_memory_export, (void *)&c, 1);
}

struct event_export {
    const gpo_api *api;
    gpo_event_t event;
};
static gpo_status read_event_export(void *context, char *buffer, size_t capacity, size_t *needed) {
    const struct event_export *c = context;
    return c->api->event_export(c->event, buffer, capacity, needed);
}
static int event_export(lua_State *L) {
    state *s = the_state(L);
    const gpo_event_t event = CHECK_HANDLE(1, event);
    const struct event_export c = {s->api, event};
    return push_text(L, s, read_event_export, (void *)&c, 1);
}

static int event_import(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    size_t bytes = 0;
    const char *exported = luaL_checklstring(L, 2, &bytes);
    const char *label = luaL_optstring(L, 3, NULL);
    object *made = new_object(L, s, CLASS_EVENT, 1);
    return created(L, s, s->api->event_import(device, exported, bytes, label, (gpo_event_t *)&made->handle));
}

static int pipeline_get_share(lua_State *L) {
    state *s = the_state(L);
    const gpo_pipeline_t pipeline = CHECK_HANDLE(1, pipeline);
    const uint32_t device = (uint32_t)check_unsigned(L, 2, UINT32_MAX);
    gpo_pipeline_share share = {.struct_size = sizeof share};
    const gpo_status returned = s->api->pipeline_get_share(pipeline, device, &share);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_pipeline_share_fields, &share);
    return 1;
}

static int admission_create(lua_State *L) {
    lua_settop(L, 2);
    state *s = the_state(L);
    const gpo_runtime_t runtime = CHECK_HANDLE(1, runtime);
    gpo_admission_options options = {.struct_size = sizeof options};
    read_record(L, 2, gpo_admission_options_fields, &options);
    object *made = new_object(L, s, CLASS_ADMISSION, 1);
    keep(L, -1, 2, 2);
    return created(L, s, s->api->admission_create(runtime, &options, (gpo_admission_t *)&made->handle));
}

static int admission_enter_then(lua_State *L) {
    state *s = the_state(L);
    const gpo_admission_t admission = CHECK_HANDLE(1, admission);
    gpo_admission_request request = {.struct_size = sizeof request};
    read_record(L, 2, gpo_admission_request_fields, &request);
    gpo_executor_t executor;
    uint64_t ticket = 0;
    struct owed *owed = owe(L, s, 3, &executor);
    const int count = owing(L, s, 3, owed, s->api->admission_enter_then(admission, &request, executor, when_done,
        owed, &ticket));
    if (count != 1) return count;
    push_unsigned(L, ticket);
    return 2;
}

static int admission_cancel(lua_State *L) {
    state *s = the_state(L);
    const gpo_admission_t admission = CHECK_HANDLE(1, admission);
    const uint64_t ticket = check_unsigned(L, 2, UINT64_MAX);
    return result(L, s, s->api->admission_cancel(admission, ticket));
}

static int admission_leave(lua_State *L) {
    state *s = the_state(L);
    const gpo_admission_t admission = CHECK_HANDLE(1, admission);
    const uint64_t ticket = check_unsigned(L, 2, UINT64_MAX);
    return result(L, s, s->api->admission_leave(admission, ticket));
}

static int admission_leave_after(lua_State *L) {
    state *s = the_state(L);
    const gpo_admission_t admission = CHECK_HANDLE(1, admission);
    const uint64_t ticket = check_unsigned(L, 2, UINT64_MAX);
    const gpo_stream_t stream = CHECK_HANDLE(3, stream);
    return result(L, s, s->api->admission_leave_after(admission, ticket, stream));
}

static int admission_set_budget(lua_State *L) {
    state *s = the_state(L);
    const gpo_admission_t admission = CHECK_HANDLE(1, admission);
    const uint64_t count = check_unsigned(L, 2, UINT64_MAX);
    const uint64_t bytes = check_unsigned(L, 3, UINT64_MAX);
    return result(L, s, s->api->admission_set_budget(admission, count, bytes));
}

static int admission_set_flow(lua_State *L) {
    state *s = the_state(L);
    const gpo_admission_t admission = CHECK_HANDLE(1, admission);
    const uint64_t flow = check_unsigned(L, 2, UINT64_MAX);
    const uint32_t weight = (uint32_t)check_unsigned(L, 3, UINT32_MAX);
    return result(L, s, s->api->admission_set_flow(admission, flow, weight));
}

static int admission_get_info(lua_State *L) {
    state *s = the_state(L);
    const gpo_admission_t admission = CHECK_HANDLE(1, admission);
    gpo_admission_info info = {.struct_size = sizeof info};
    const gpo_status returned = s->api->admission_get_info(admission, &info);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_admission_info_fields, &info);
    return 1;
}

static int batcher_cancel(lua_State *L) {
    state *s = the_state(L);
    const gpo_batcher_t batcher = CHECK_HANDLE(1, batcher);
    const uint64_t ticket = check_unsigned(L, 2, UINT64_MAX);
    return result(L, s, s->api->batcher_cancel(batcher, ticket));
}

static int batcher_set_flow(lua_State *L) {
    state *s = the_state(L);
    const gpo_batcher_t batcher = CHECK_HANDLE(1, batcher);
    const uint64_t flow = check_unsigned(L, 2, UINT64_MAX);
    const uint32_t weight = (uint32_t)check_unsigned(L, 3, UINT32_MAX);
    return result(L, s, s->api->batcher_set_flow(batcher, flow, weight));
}

static int batcher_get_info(lua_State *L) {
    state *s = the_state(L);
    const gpo_batcher_t batcher = CHECK_HANDLE(1, batcher);
    gpo_batcher_info info = {.struct_size = sizeof info};
    const gpo_status returned = s->api->batcher_get_info(batcher, &info);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_batcher_info_fields, &info);
    return 1;
}

static int batcher_get_key_info(lua_State *L) {
    state *s = the_state(L);
    const gpo_batcher_t batcher = CHECK_HANDLE(1, batcher);
    const uint32_t key = (uint32_t)check_unsigned(L, 2, UINT32_MAX);
    gpo_batcher_info info = {.struct_size = sizeof info};
    const gpo_status returned = s->api->batcher_get_key_info(batcher, key, &info);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_batcher_info_fields, &info);
    return 1;
}

static int batcher_get_flow_info(lua_State *L) {
    state *s = the_state(L);
    const gpo_batcher_t batcher = CHECK_HANDLE(1, batcher);
    const uint64_t flow = check_unsigned(L, 2, UINT64_MAX);
    gpo_batcher_flow_info info = {.struct_size = sizeof info};
    const gpo_status returned = s->api->batcher_get_flow_info(batcher, flow, &info);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_record(L, s, gpo_batcher_flow_info_fields, &info);
    return 1;
}

static int executor_post(lua_State *L) {
    state *s = the_state(L);
    gpo_executor_t executor;
    struct owed *owed = owe(L, s, 1, &executor);
    return owing(L, s, 1, owed, s->api->executor_post(executor, when_done, owed));
}

static int executor_cancel(lua_State *L) {
    state *s = the_state(L);
    const gpo_executor_t executor = CHECK_HANDLE(1, executor);
    const uint64_t ticket = check_unsigned(L, 2, UINT64_MAX);
    return result(L, s, s->api->executor_cancel(executor, ticket));
}

static int executor_get_time(lua_State *L) {
    state *s = the_state(L);
    const gpo_executor_t executor = CHECK_HANDLE(1, executor);
    uint64_t time_ns = 0;
    const gpo_status returned = s->api->executor_get_time(executor, &time_ns);
    if (returned != GPO_SUCCESS) return failure(L, s, returned);
    push_unsigned(L, time_ns);
    return 1;
}

static int peers_all_reduce(lua_State *L) {
    return peers_submit(L, GPO_COLLECTIVE_ALL_REDUCE);
}

static int peers_reduce(lua_State *L) {
    return peers_submit(L, GPO_COLLECTIVE_REDUCE);
}

static int peers_reduce_scatter(lua_State *L) {
    return peers_submit(L, GPO_COLLECTIVE_REDUCE_SCATTER);
}

static int peers_broadcast(lua_State *L) {
    return peers_submit(L, GPO_COLLECTIVE_BROADCAST);
}

static int peers_all_gather(lua_State *L) {
    return peers_submit(L, GPO_COLLECTIVE_ALL_GATHER);
}

static int peers_all_to_all(lua_State *L) {
    return peers_submit(L, GPO_COLLECTIVE_ALL_TO_ALL);
}

static int peers_send_receive(lua_State *L) {
    return peers_submit(L, GPO_COLLECTIVE_SEND_RECEIVE);
}

static int peers_barrier(lua_State *L) {
    return peers_submit(L, GPO_COLLECTIVE_BARRIER);
}

static const luaL_Reg runtime_calls[] = {
    {"driver", runtime_get_driver},
    {"statistics", runtime_get_statistics},
    {"device_count", runtime_get_device_count},
    {"describe_device", runtime_describe_device},
    {"describe_peer", runtime_describe_peer},
    {"device_open", device_open},
    {"timeline_create", timeline_create},
    {"metrics_text", runtime_get_metrics_text},
    {"set_log_executor", runtime_set_log_executor},
    {"trace_start", trace_start},
    {"trace_stop", trace_stop},
    {"trace_info", trace_get_info},
    {"trace_summary", trace_get_summary},
    {"admission_create", admission_create},
    {"shutdown", runtime_shutdown},
    {"cq_create", cq_create},
    {"metrics", runtime_get_metrics},
    {"executor_create", executor_create},
    {"peers", peers_create},
    {"batcher", batcher_create},
    {"completions", runtime_completions},
    {NULL, NULL},
};
static const luaL_Reg device_calls[] = {
    {"properties", device_get_properties},
    {"wait", device_wait},
    {"native", device_get_native},
    {"memory", device_get_memory},
    {"enable_peer", device_enable_peer},
    {"disable_peer", device_disable_peer},
    {"limit", device_get_limit},
    {"set_limit", device_set_limit},
    {"event_create", event_create},
    {"stream_wrap", stream_wrap},
    {"priority_range", device_get_priority_range},
    {"stream_pool_create", stream_pool_create},
    {"memory_allocate", memory_allocate},
    {"memory_describe", memory_describe},
    {"pool_create", pool_create},
    {"module_load", module_load},
    {"module_load_builtin", module_load_builtin},
    {"metrics", device_get_metrics},
    {"costs", device_get_costs},
    {"memory_export", memory_export},
    {"event_import", event_import},
    {"stream_create", stream_create},
    {"arena_create", arena_create},
    {"host_register", host_register},
    {"host_unregister", host_unregister},
    {"memory_free", memory_free},
    {"module_compile", module_compile},
    {"pipeline_create", pipeline_create},
    {"template", template_create},
    {"buckets", buckets_create},
    {"template_import", template_import},
    {"queue", queue_create},
    {"scheduler", scheduler_create},
    {"join", peers_join},
    {"memory_import", memory_import},
    {"advise", device_advise},
    {NULL, NULL},
};
static const luaL_Reg stream_calls[] = {
    {"info", stream_get_info},
    {"native", stream_get_native},
    {"query", stream_query},
    {"wait", stream_wait},
    {"cancel_held", stream_cancel_held},
    {"wait_timeline", stream_wait_timeline},
    {"signal_timeline", stream_signal_timeline},
    {"notify", stream_notify},
    {"notify_timed", stream_notify_timed},
    {"then_", stream_then},
    {"host_call", stream_host_call},
    {"wait_event", stream_wait_event},
    {"wait_stream", stream_wait_stream},
    {"copy_to_device", copy_to_device},
    {"copy_to_host", copy_to_host},
    {"copy_on_device", copy_on_device},
    {"copy_peer", copy_peer},
    {"copy_batch", copy_batch},
    {"copy_rows", copy_rows},
    {"fill", fill},
    {"fill_rows", fill_rows},
    {"launch_kernel", stream_launch_kernel},
    {"device", stream_device},
    {NULL, NULL},
};
static const luaL_Reg stream_pool_calls[] = {
    {"acquire", stream_pool_acquire},
    {"release", stream_pool_release},
    {NULL, NULL},
};
static const luaL_Reg event_calls[] = {
    {"record", event_record},
    {"query", event_query},
    {"wait", event_wait},
    {"elapsed", event_get_elapsed},
    {"notify", event_notify},
    {"native", event_get_native},
    {"then_", event_then},
    {"export", event_export},
    {NULL, NULL},
};
static const luaL_Reg timeline_calls[] = {
    {"signal", timeline_signal},
    {"fail", timeline_fail},
    {"value", timeline_get_value},
    {"wait", timeline_wait},
    {"notify", timeline_notify},
    {"then_", timeline_then},
    {NULL, NULL},
};
static const luaL_Reg cq_calls[] = {
    {"wake", cq_wake},
    {"statistics", cq_get_statistics},
    {"drain", cq_drain},
    {"wait", cq_wait},
    {"error", cq_get_error},
    {"fd", cq_get_fd},
    {"pump", cq_pump},
    {NULL, NULL},
};
static const luaL_Reg arena_calls[] = {
    {"allocate", arena_allocate},
    {"free", arena_free},
    {"free_after", arena_free_after},
    {"trim", arena_trim},
    {"statistics", arena_get_statistics},
    {NULL, NULL},
};
static const luaL_Reg pool_calls[] = {
    {"allocate", pool_allocate},
    {"trim", pool_trim},
    {"statistics", pool_get_statistics},
    {"free", pool_free},
    {NULL, NULL},
};
static const luaL_Reg module_calls[] = {
    {"image", module_get_image},
    {"kernel", module_get_kernel},
    {"symbol", module_get_symbol},
    {NULL, NULL},
};
static const luaL_Reg kernel_calls[] = {
    {"attributes", kernel_get_attributes},
    {"name", kernel_get_name},
    {"native", kernel_get_native},
    {"set_max_dynamic_shared", kernel_set_max_dynamic_shared},
    {"occupancy", kernel_get_occupancy},
    {"suggest_shape", kernel_suggest_shape},
    {"parameter", kernel_get_parameter},
    {NULL, NULL},
};
static const luaL_Reg pipeline_calls[] = {
    {"cancel", pipeline_cancel},
    {"notify", pipeline_notify},
    {"progress", pipeline_get_progress},
    {"then_", pipeline_then},
    {"share", pipeline_get_share},
    {"start", pipeline_start},
    {"wait", pipeline_wait},
    {NULL, NULL},
};
static const luaL_Reg executor_calls[] = {
    {"statistics", executor_get_statistics},
    {"post", executor_post},
    {"cancel", executor_cancel},
    {"time", executor_get_time},
    {"run", executor_run},
    {"run_for", executor_run_for},
    {"poll", executor_poll},
    {"host_call_finish", host_call_finish},
    {"post_at", executor_post_at},
    {NULL, NULL},
};
static const luaL_Reg template_calls[] = {
    {"last_node", template_get_last_node},
    {"set_last_node", template_set_last_node},
    {"add_empty", template_add_empty},
    {"add_event_record", template_add_event_record},
    {"add_event_wait", template_add_event_wait},
    {"find_node", template_find_node},
    {"native", template_get_native},
    {"statistics", template_get_statistics},
    {"prepare", template_prepare},
    {"bind_condition", template_bind_condition},
    {"picture", template_get_picture},
    {"allocate", template_allocate},
    {"allocate_host", template_allocate_host},
    {"begin", template_begin},
    {"end_", template_end},
    {"cancel", template_cancel},
    {"add_kernel", template_add_kernel},
    {"add_copy", template_add_copy},
    {"add_fill", template_add_fill},
    {"add_child", template_add_child},
    {"clear", template_clear},
    {"graph", graph_create},
    {"launch", template_launch},
    {"add_if", template_add_if},
    {"add_while", template_add_while},
    {"add_switch", template_add_switch},
    {"add_allocation", template_add_allocation},
    {"add_free", template_add_free},
    {"record", template_record},
    {"parameter", template_parameter},
    {NULL, NULL},
};
static const luaL_Reg graph_calls[] = {
    {"upload", graph_upload},
    {"native", graph_get_native},
    {"loop", graph_get_loop},
    {"device_status", graph_get_device_status},
    {"set", graph_set},
    {"get", graph_get},
    {"launch", graph_launch},
    {"update", graph_update},
    {"device_handle", graph_get_device_handle},
    {NULL, NULL},
};
static const luaL_Reg buckets_calls[] = {
    {"statistics", buckets_get_statistics},
    {"prepare", buckets_prepare},
    {"launch", buckets_launch},
    {NULL, NULL},
};
static const luaL_Reg queue_calls[] = {
    {"device_handle", queue_get_device_handle},
    {"reset", queue_reset},
    {"close_ring", queue_close},
    {"abort", queue_abort},
    {"info", queue_get_info},
    {"set_costs", queue_set_costs},
    {"push", queue_push},
    {"set_tenant", queue_set_tenant},
    {"post", queue_post},
    {"take", queue_take},
    {"wait", queue_wait},
    {NULL, NULL},
};
static const luaL_Reg scheduler_calls[] = {
    {"start", scheduler_start},
    {"drain", scheduler_drain},
    {"stop", scheduler_stop},
    {"wait", scheduler_wait},
    {"info", scheduler_get_info},
    {"handler", scheduler_get_handler},
    {"blocks", scheduler_get_blocks},
    {"samples", scheduler_get_samples},
    {"errors", scheduler_get_errors},
    {NULL, NULL},
};
static const luaL_Reg peers_calls[] = {
    {"info", peers_get_info},
    {"link", peers_get_link},
    {"abort", peers_abort},
    {"split", peers_split},
    {"allocate", symmetric_allocate},
    {"launch", peers_launch},
    {"all_reduce", peers_all_reduce},
    {"reduce", peers_reduce},
    {"reduce_scatter", peers_reduce_scatter},
    {"broadcast", peers_broadcast},
    {"all_gather", peers_all_gather},
    {"all_to_all", peers_all_to_all},
    {"send_receive", peers_send_receive},
    {"barrier", peers_barrier},
    {NULL, NULL},
};
static const luaL_Reg symmetric_calls[] = {
    {"address", symmetric_get_address},
    {"device_handle", symmetric_get_device_handle},
    {"reset", symmetric_reset},
    {"info", symmetric_get_info},
    {"array", symmetric_array},
    {NULL, NULL},
};
static const luaL_Reg admission_calls[] = {
    {"enter", admission_enter},
    {"enter_then", admission_enter_then},
    {"cancel", admission_cancel},
    {"leave", admission_leave},
    {"leave_after", admission_leave_after},
    {"set_budget", admission_set_budget},
    {"set_flow", admission_set_flow},
    {"info", admission_get_info},
    {NULL, NULL},
};
static const luaL_Reg batcher_calls[] = {
    {"cancel", batcher_cancel},
    {"set_flow", batcher_set_flow},
    {"info", batcher_get_info},
    {"key_info", batcher_get_key_info},
    {"flow_info", batcher_get_flow_info},
    {"add_key", batcher_add_key},
    {"submit", batcher_submit},
    {NULL, NULL},
};
const luaL_Reg gpuorch_calls[] = {
    {"last_compile_log", last_compile_log},
    {"peers_make_id", peers_make_id},
    {NULL, NULL},
};

static void destroy_device(lua_State *L, state *s, object *o, int collected) {
    (void)L, (void)s, (void)o, (void)collected;
    s->api->device_close(HANDLE(o, gpo_device_t));
}

static void destroy_stream_pool(lua_State *L, state *s, object *o, int collected) {
    (void)L, (void)s, (void)o, (void)collected;
    s->api->stream_pool_destroy(HANDLE(o, gpo_stream_pool_t));
}

static void destroy_event(lua_State *L, state *s, object *o, int collected) {
    (void)L, (void)s, (void)o, (void)collected;
    s->api->event_destroy(HANDLE(o, gpo_event_t));
}

static void destroy_timeline(lua_State *L, state *s, object *o, int collected) {
    (void)L, (void)s, (void)o, (void)collected;
    s->api->timeline_destroy(HANDLE(o, gpo_timeline_t));
}

static void destroy_arena(lua_State *L, state *s, object *o, int collected) {
    (void)L, (void)s, (void)o, (void)collected;
    s->api->arena_destroy(HANDLE(o, gpo_arena_t));
}

static void destroy_pool(lua_State *L, state *s, object *o, int collected) {
    (void)L, (void)s, (void)o, (void)collected;
    s->api->pool_destroy(HANDLE(o, gpo_pool_t));
}

static void destroy_module(lua_State *L, state *s, object *o, int collected) {
    (void)L, (void)s, (void)o, (void)collected;
    s->api->module_destroy(HANDLE(o, gpo_module_t));
}

static void destroy_kernel(lua_State *L, state *s, object *o, int collected) {
    (void)L, (void)s, (void)o, (void)collected;
    s->api->kernel_destroy(HANDLE(o, gpo_kernel_t));
}

static void destroy_queue(lua_State *L, state *s, object *o, int collected) {
    (void)L, (void)s, (void)o, (void)collected;
    s->api->queue_destroy(HANDLE(o, gpo_queue_t));
}

static void destroy_peers(lua_State *L, state *s, object *o, int collected) {
    (void)L, (void)s, (void)o, (void)collected;
    s->api->peers_destroy(HANDLE(o, gpo_peers_t));
}

static void destroy_admission(lua_State *L, state *s, object *o, int collected) {
    (void)L, (void)s, (void)o, (void)collected;
    s->api->admission_destroy(HANDLE(o, gpo_admission_t));
}

static void destroy_launch(lua_State *L, state *s, object *o, int collected) {
    (void)L, (void)s, (void)o, (void)collected;
}

const class_info classes[CLASS_COUNT] = {
    [CLASS_RUNTIME] = {"runtime", sizeof(runtime_object), runtime_calls, destroy_runtime},
    [CLASS_DEVICE] = {"device", sizeof(object), device_calls, destroy_device},
    [CLASS_STREAM] = {"stream", sizeof(stream_object), stream_calls, destroy_stream},
    [CLASS_STREAM_POOL] = {"stream_pool", sizeof(object), stream_pool_calls, destroy_stream_pool},
    [CLASS_EVENT] = {"event", sizeof(object), event_calls, destroy_event},
    [CLASS_TIMELINE] = {"timeline", sizeof(object), timeline_calls, destroy_timeline},
    [CLASS_CQ] = {"cq", sizeof(cq_object), cq_calls, destroy_cq},
    [CLASS_ARENA] = {"arena", sizeof(object), arena_calls, destroy_arena},
    [CLASS_POOL] = {"pool", sizeof(object), pool_calls, destroy_pool},
    [CLASS_MODULE] = {"module", sizeof(object), module_calls, destroy_module},
    [CLASS_KERNEL] = {"kernel", sizeof(kernel_object), kernel_calls, destroy_kernel},
    [CLASS_PIPELINE] = {"pipeline", sizeof(pipeline_object), pipeline_calls, destroy_pipeline},
    [CLASS_EXECUTOR] = {"executor", sizeof(executor_object), executor_calls, destroy_executor},
    [CLASS_TEMPLATE] = {"template", sizeof(template_object), template_calls, destroy_template},
    [CLASS_GRAPH] = {"graph", sizeof(graph_object), graph_calls, destroy_graph},
    [CLASS_BUCKETS] = {"buckets", sizeof(buckets_object), buckets_calls, destroy_buckets},
    [CLASS_QUEUE] = {"queue", sizeof(queue_object), queue_calls, destroy_queue},
    [CLASS_SCHEDULER] = {"scheduler", sizeof(object), scheduler_calls, destroy_scheduler},
    [CLASS_PEERS] = {"peers", sizeof(object), peers_calls, destroy_peers},
    [CLASS_SYMMETRIC] = {"symmetric", sizeof(symmetric_object), symmetric_calls, destroy_symmetric},
    [CLASS_ADMISSION] = {"admission", sizeof(object), admission_calls, destroy_admission},
    [CLASS_BATCHER] = {"batcher", sizeof(object), batcher_calls, destroy_batcher},
    [CLASS_ARRAY] = {"array", sizeof(array_object), array_methods, destroy_array},
    [CLASS_OPERATION] = {"operation", sizeof(operation_object), operation_methods, destroy_operation},
    [CLASS_LAUNCH] = {"launch", sizeof(launch_object), NULL, destroy_launch},
};
