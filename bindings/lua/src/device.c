/* device.c: the GPUs that a runtime sees, and opened devices. Devices are numbered from 0, as in C. */
#include "methods.h"

NUMBER_METHOD(runtime_get_device_count, runtime, uint32_t)

static int runtime_describe_device(lua_State *L) {
    state *s = the_state(L);
    object *runtime = check_object(L, s, 1, CLASS_RUNTIME);
    gpo_device_properties properties = {.struct_size = sizeof properties};
    const gpo_status status = s->api->runtime_describe_device(
        HANDLE(runtime, gpo_runtime_t), (uint32_t)optional_unsigned(L, 2, UINT32_MAX, 0), &properties);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_record(L, s, gpo_device_properties_fields, &properties);
    return 1;
}

static int runtime_describe_peer(lua_State *L) {
    state *s = the_state(L);
    object *runtime = check_object(L, s, 1, CLASS_RUNTIME);
    gpo_peer_properties properties = {.struct_size = sizeof properties};
    const uint32_t from = (uint32_t)check_unsigned(L, 2, UINT32_MAX), to = (uint32_t)check_unsigned(L, 3, UINT32_MAX);
    const gpo_status status = s->api->runtime_describe_peer(HANDLE(runtime, gpo_runtime_t), from, to, &properties);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_record(L, s, gpo_peer_properties_fields, &properties);
    return 1;
}

CREATE_METHOD(device_open, runtime, device, gpo_device_options, gpo_device_options_fields)

RECORD_METHOD(device_get_properties, device, gpo_device_properties, gpo_device_properties_fields)

static gpo_status wait_for_device(state *s, void *context, int64_t timeout_ns) {
    return s->api->device_wait(context, timeout_ns);
}

static int device_wait(lua_State *L) {
    state *s = the_state(L);
    object *device = check_object(L, s, 1, CLASS_DEVICE);
    return result(L, s, wait_by(L, s, note_hooks(L, s), wait_for_device, device->handle, check_timeout(L, 2)));
}

/* native(): the CUcontext and the CUdevice, as integers. */
static int device_get_native(lua_State *L) {
    state *s = the_state(L);
    object *device = check_object(L, s, 1, CLASS_DEVICE);
    void *context = NULL;
    int32_t ordinal = 0;
    const gpo_status status = s->api->device_get_native(HANDLE(device, gpo_device_t), &context, &ordinal);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_unsigned(L, (uint64_t)(uintptr_t)context);
    push_signed(L, ordinal);
    return 2;
}

/* memory(): free and total bytes. */
static int device_get_memory(lua_State *L) {
    state *s = the_state(L);
    object *device = check_object(L, s, 1, CLASS_DEVICE);
    uint64_t free_bytes = 0, total_bytes = 0;
    const gpo_status status = s->api->device_get_memory(HANDLE(device, gpo_device_t), &free_bytes, &total_bytes);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_unsigned(L, free_bytes);
    push_unsigned(L, total_bytes);
    return 2;
}

PAIR_METHOD(device_enable_peer, device, device)

PAIR_METHOD(device_disable_peer, device, device)

static int device_get_limit(lua_State *L) {
    state *s = the_state(L);
    object *device = check_object(L, s, 1, CLASS_DEVICE);
    uint64_t value = 0;
    const uint32_t limit = (uint32_t)check_word(L, 2, NULL, words_of_GPO_LIMIT_STACK_BYTES) + GPO_LIMIT_STACK_BYTES;
    const gpo_status status = s->api->device_get_limit(HANDLE(device, gpo_device_t), limit, &value);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_unsigned(L, value);
    return 1;
}

static int device_set_limit(lua_State *L) {
    state *s = the_state(L);
    object *device = check_object(L, s, 1, CLASS_DEVICE);
    const uint32_t limit = (uint32_t)check_word(L, 2, NULL, words_of_GPO_LIMIT_STACK_BYTES) + GPO_LIMIT_STACK_BYTES;
    return result(L, s,
                  s->api->device_set_limit(HANDLE(device, gpo_device_t), limit, check_unsigned(L, 3, UINT64_MAX)));
}

RECORD_METHOD(device_get_metrics, device, gpo_device_metrics, gpo_device_metrics_fields)

/* device_get_priority_range(): the least and the greatest. */
static int device_get_priority_range(lua_State *L) {
    state *s = the_state(L);
    object *device = check_object(L, s, 1, CLASS_DEVICE);
    int32_t least = 0, greatest = 0;
    const gpo_status status = s->api->device_get_priority_range(HANDLE(device, gpo_device_t), &least, &greatest);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_signed(L, least);
    push_signed(L, greatest);
    return 2;
}

const luaL_Reg device_methods[] = {
    {"properties", device_get_properties}, {"wait", device_wait},
    {"native", device_get_native},         {"memory", device_get_memory},
    {"enable_peer", device_enable_peer},   {"disable_peer", device_disable_peer},
    {"limit", device_get_limit},           {"set_limit", device_set_limit},
    {"metrics", device_get_metrics},       {"priority_range", device_get_priority_range},
    {NULL, NULL}};
const luaL_Reg runtime_device_methods[] = {{"device_count", runtime_get_device_count},
                                           {"describe_device", runtime_describe_device},
                                           {"describe_peer", runtime_describe_peer},
                                           {"device_open", device_open},
                                           {NULL, NULL}};
