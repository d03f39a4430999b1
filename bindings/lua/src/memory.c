/* memory.c: arenas, pools, device memory, and what moves bytes between them. */
#include <string.h>

#include "calls.h"
#include "template.h"

/* --- allocations --- */

gpo_device_t device_of(lua_State *L, int index) {
    const object *parent;
    const int top = lua_gettop(L);
    push_kept(L, index, 1);
    while ((parent = lua_touserdata(L, -1))->id != CLASS_DEVICE) push_kept(L, -1, 1);
    lua_settop(L, top);
    return HANDLE(parent, gpo_device_t);
}

/* Pushes an array of memory that the template at 1 owns, or, for a body, the template of the whole. Closing the array
 * frees nothing; closing the template ends the array. */
static array_object *push_owned(lua_State *L, state *s, enum memory_kind kind, enum element type, uint64_t count) {
    lua_pushvalue(L, 1);
    const template_object *t = lua_touserdata(L, -1);
    for (; t->body; t = lua_touserdata(L, -1)) {
        push_kept(L, -1, 1);
        lua_replace(L, -2);
    }
    if (t->base.borrowed) { /* its memory may be freed at any time */
        failure_with(L, s, GPO_INVALID_STATE, "the memory of a bucket's template goes with the bucket");
        return NULL;
    }
    array_object *array = new_array(L, s, lua_gettop(L), kind, type, 0, count);
    array->base.borrowed = 1;
    array->closed = &t->base.closed;
    return array;
}

array_object *push_allocation(lua_State *L, state *s, enum memory_kind kind, int type_index) {
    const enum element type = check_element_type(L, type_index);
    const uint64_t count = check_element_count(L, type_index + 1, type);
    if (((const object *)lua_touserdata(L, 1))->id == CLASS_TEMPLATE) return push_owned(L, s, kind, type, count);
    return new_array(L, s, 1, kind, type, 0, count);
}

int allocated(lua_State *L, state *s, gpo_status status, uint64_t address, int stream_index) {
    object *parent = lua_touserdata(L, 1);
    array_object *array = lua_touserdata(L, -1);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    array->address = address;
    array->base.handle = array;
    if (array->base.borrowed) return 1;
    array->counted = 1;
    ++parent->users;
    account(L, s, (int64_t)ARRAY_BYTES(array));
    if (stream_index) use_array(L, s, lua_gettop(L), array, stream_index, lua_touserdata(L, stream_index));
    return 1;
}

/* --- pinned arenas --- */

int arena_create(lua_State *L) {
    state *s = the_state(L);
    object *device = check_object(L, s, 1, CLASS_DEVICE);
    gpo_arena_options options = {.struct_size = sizeof options, .numa_node = -1};
    read_record(L, 2, gpo_arena_options_fields, &options);
    if (options.numa_node >= 0) options.flags |= GPO_ARENA_NUMA;
    else options.numa_node = 0;
    object *arena = new_object(L, s, CLASS_ARENA, 1);
    gpo_status status;
    WITH_RECLAIM(L, s, HANDLE(device, gpo_device_t), status,
                 s->api->arena_create(HANDLE(device, gpo_device_t), &options, (gpo_arena_t *)&arena->handle));
    return created(L, s, status);
}

array_object *check_piece(lua_State *L, state *s, int index) {
    array_object *array = check_array(L, s, index);
    luaL_argcheck(L, array->root == array, index, "a slice can't be freed: free the array");
    return array;
}

uint64_t check_memory(lua_State *L, state *s, int index) {
    return test_object(L, s, index, CLASS_ARRAY) ? check_array(L, s, index)->address : check_address(L, s, index);
}

int piece_freed(lua_State *L, state *s, array_object *array, int index, gpo_status status) {
    if (status != GPO_SUCCESS) return failure(L, s, status);
    forget_array(L, s, array, index);
    lua_pushboolean(L, 1);
    return 1;
}

/* --- memory of the caller's --- */

static const field register_fields[] = {{"read_only", FIELD_FLAG, 0, GPO_REGISTER_READ_ONLY, NULL}, FIELDS_END};

/* host_register(array [, options]) of gpuorch.array, or (address, bytes [, options]) of memory of another library's. */
int host_register(lua_State *L) {
    state *s = the_state(L);
    object *device = check_object(L, s, 1, CLASS_DEVICE);
    array_object *array = test_object(L, s, 2, CLASS_ARRAY);
    uint32_t flags = 0;
    read_record(L, array ? 3 : 4, register_fields, &flags);
    if (!array) {
        void *memory = (void *)(uintptr_t)check_address(L, s, 2);
        return result(
            L, s, s->api->host_register(HANDLE(device, gpo_device_t), memory, check_unsigned(L, 3, UINT64_MAX), flags));
    }
    check_piece(L, s, 2);
    luaL_argcheck(L, on_host(array), 2, "memory of the host expected");
    const gpo_status status = s->api->host_register(HANDLE(device, gpo_device_t), (void *)(uintptr_t)array->address,
                                                    ARRAY_BYTES(array), flags);
    if (status == GPO_SUCCESS) {
        array->registered = 1;
        keep(L, 2, 1, 1);
        array->base.runtime = device->runtime;
        watch_runtime(L, s, array);
        ++device->users;
        array->counted = 1;
    }
    return result(L, s, status);
}

int host_unregister(lua_State *L) {
    state *s = the_state(L);
    object *device = check_object(L, s, 1, CLASS_DEVICE);
    array_object *array = test_object(L, s, 2, CLASS_ARRAY);
    void *memory = (void *)(uintptr_t)(array ? check_piece(L, s, 2)->address : check_address(L, s, 2));
    const gpo_status status = s->api->host_unregister(HANDLE(device, gpo_device_t), memory);
    if (status == GPO_SUCCESS && array && array->registered) {
        array->registered = 0;
        push_kept(L, 2, 1);
        drop_user(L, s, lua_gettop(L));
        array->counted = 0;
    }
    return result(L, s, status);
}

/* --- memory of a template --- */

/* add_allocation(after, type, count): a node, and a device array that exists while the graph runs. */
int template_add_allocation(lua_State *L) {
    state *s = the_state(L);
    const object *t = check_object(L, s, 1, CLASS_TEMPLATE);
    uint32_t one, after_count, node = 0;
    uint64_t address = 0;
    const uint32_t *after = check_after(L, 2, &one, &after_count);
    const enum element type = check_element_type(L, 3);
    const uint64_t count = check_element_count(L, 4, type);
    array_object *array = new_array(L, s, 1, MEMORY_BORROWED_DEVICE, type, 0, count);
    array->base.borrowed = array->of_graph = 1;
    array->closed = &t->closed;
    const gpo_status status = s->api->template_add_allocation(HANDLE(t, gpo_template_t), after, after_count,
                                                              ARRAY_BYTES(array), &address, &node);
    const int results = allocated(L, s, status, address, 0);
    if (status != GPO_SUCCESS) return results;
    push_unsigned(L, node);
    lua_insert(L, -2);
    return 2;
}

/* add_free(after, array or address): behind all nodes that use it. */
int template_add_free(lua_State *L) {
    static const parameter pointer = {PARAMETER_POINTER, 8, 0};
    state *s = the_state(L);
    const gpo_template_t t = CHECK_HANDLE(1, template);
    uint32_t one, after_count, node = 0;
    uint64_t address = 0;
    array_object *array = NULL;
    const uint32_t *after = check_after(L, 2, &one, &after_count);
    const char *problem = read_parameter(L, s, 3, &pointer, &address, &array);
    if (problem) return luaL_argerror(L, 3, problem);
    return added(L, s, s->api->template_add_free(t, after, after_count, address, &node), &node);
}

/* --- device memory --- */

/* memory_free(array or address): behind all that is on the device's streams now. */
int memory_free(lua_State *L) {
    state *s = the_state(L);
    object *device = check_object(L, s, 1, CLASS_DEVICE);
    if (!test_object(L, s, 2, CLASS_ARRAY))
        return result(L, s, s->api->memory_free(HANDLE(device, gpo_device_t), check_address(L, s, 2)));
    array_object *array = check_piece(L, s, 2);
    return piece_freed(L, s, array, 2, s->api->memory_free(HANDLE(device, gpo_device_t), array->address));
}

/* memory_import(type, exported [, label]): a device array of another process's memory. */
int memory_import(lua_State *L) {
    state *s = the_state(L);
    const object *device = check_object(L, s, 1, CLASS_DEVICE);
    const enum element type = check_element_type(L, 2);
    size_t length = 0;
    const char *exported = luaL_checklstring(L, 3, &length);
    const char *label = luaL_optstring(L, 4, NULL);
    array_object *array = new_array(L, s, 1, MEMORY_DEVICE, type, 0, 0);
    uint64_t address = 0, bytes = 0;
    const gpo_status status =
        s->api->memory_import(HANDLE(device, gpo_device_t), exported, length, label, &address, &bytes);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    if (bytes % element_sizes[type]) {
        s->api->memory_free(HANDLE(device, gpo_device_t), address);
        return failure_with(L, s, GPO_INVALID_ARGUMENT, "the memory isn't whole elements of this type");
    }
    array->count = bytes / element_sizes[type];
    return allocated(L, s, status, address, 0);
}

/* --- pools --- */

/* free(array, stream): when the stream gets there; uses on other streams must be ordered before. */
int pool_free(lua_State *L) {
    state *s = the_state(L);
    object *pool = check_object(L, s, 1, CLASS_POOL);
    array_object *array = check_piece(L, s, 2);
    object *stream = check_object(L, s, 3, CLASS_STREAM);
    return piece_freed(L, s, array, 2,
                       s->api->pool_free(HANDLE(pool, gpo_pool_t), HANDLE(stream, gpo_stream_t), array->address));
}
