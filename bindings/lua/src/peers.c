/* peers.c: groups of devices, their collectives, and memory that their kernels use together. The list in a call's table
 * has an entry for each rank: the first is for rank 0, or in a group of several processes for this process's rank. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "calls.h"

enum { PEERS_DEVICES = 2 }; /* slot: the devices of this process, a list */

static const uint8_t type_sizes[] = {1, 1, 1, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1};

/* --- groups --- */

/* runtime:peers{device, ... [, engine = ] [, label = ]} */
int peers_create(lua_State *L) {
    state *s = the_state(L);
    const object *runtime = check_object(L, s, 1, CLASS_RUNTIME);
    gpo_peers_options options = {.struct_size = sizeof options};
    lua_settop(L, 2);
    take_list(L, 2); /* 3 */
    read_record(L, 2, gpo_peers_options_fields, &options);
    const gpo_device_t *devices = check_objects(L, s, 3, CLASS_DEVICE, runtime->runtime, ""); /* 4 */
    object *peers = new_object(L, s, CLASS_PEERS, 1);                                         /* 5 */
    keep(L, 5, PEERS_DEVICES, 3);
    const uint32_t count = (uint32_t)lua_rawlen(L, 3);
    return created(L, s, s->api->peers_create(devices, count, &options, (gpo_peers_t *)&peers->handle));
}

/* split{rank, ... [, engine = ] [, label = ]}: rank i of the new group is entry i + 1 of the list. */
int peers_split(lua_State *L) {
    state *s = the_state(L);
    const gpo_peers_t peers = CHECK_HANDLE(1, peers);
    gpo_peers_options options = {.struct_size = sizeof options};
    gpo_peers_info info = {.struct_size = sizeof info};
    lua_settop(L, 2);
    take_list(L, 2); /* 3 */
    read_record(L, 2, gpo_peers_options_fields, &options);
    const int count = (int)lua_rawlen(L, 3);
    uint32_t *ranks = lua_newuserdata(L, sizeof *ranks * (size_t)(count + 1)); /* 4 */
    object *part = new_object(L, s, CLASS_PEERS, 1);                           /* 5 */
    lua_newtable(L);                                                           /* 6: its devices */
    keep(L, 5, PEERS_DEVICES, 6);
    push_kept(L, 1, PEERS_DEVICES); /* 7 */
    const gpo_status status = s->api->peers_get_info(peers, &info);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    for (int i = 0; i < count; ++i) {
        uint64_t rank = 0;
        lua_rawgeti(L, 3, i + 1);
        const char *problem = read_unsigned(L, 8, UINT32_MAX, &rank);
        if (problem) return luaL_error(L, "number %d: a rank expected: %s", i + 1, problem);
        ranks[i] = (uint32_t)rank;
        if (rank >= info.rank && rank - info.rank < info.local_ranks) {
            lua_rawgeti(L, 7, (int)(rank - info.rank) + 1);
            lua_rawseti(L, 6, (int)lua_rawlen(L, 6) + 1);
        }
        lua_settop(L, 7);
    }
    lua_settop(L, 5);
    return created(L, s, s->api->peers_split(peers, ranks, (uint32_t)count, &options, (gpo_peers_t *)&part->handle));
}

/* --- groups of several processes --- */

/* join{by = , rank = , ranks = , ...} */
int peers_join(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    gpo_join_options options = {.struct_size = sizeof options};
    uint64_t communicator = 0;
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    read_record(L, 2, gpo_join_options_fields, &options);
    lua_getfield(L, 2, "id"); /* 3 */
    if (!lua_isnil(L, 3)) {
        if (lua_type(L, 3) != LUA_TSTRING || lua_rawlen(L, 3) != GPO_PEERS_ID_BYTES)
            return luaL_error(L, "option 'id': a string of peers_make_id expected");
        options.id = lua_tostring(L, 3);
    }
    lua_getfield(L, 2, "communicator"); /* 4 */
    if (!lua_isnil(L, 4)) {
        const char *problem = read_unsigned(L, 4, UINTPTR_MAX, &communicator);
        if (problem) return luaL_error(L, "option 'communicator': an MPI_Comm as an integer expected: %s", problem);
        options.communicator = (void *)(uintptr_t)communicator;
    }
    object *peers = new_object(L, s, CLASS_PEERS, 1); /* 5 */
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, 1);
    lua_rawseti(L, 6, 1);
    keep(L, 5, PEERS_DEVICES, 6);
    lua_settop(L, 5);
    return created(L, s, s->api->peers_join(device, &options, (gpo_peers_t *)&peers->handle));
}

/* --- collectives --- */

/* How many pieces of `count` elements a rank has in a collective of so many ranks. */
static uint64_t pieces_sent(uint32_t kind, uint32_t ranks) {
    return kind == GPO_COLLECTIVE_REDUCE_SCATTER || kind == GPO_COLLECTIVE_ALL_TO_ALL ? ranks : 1;
}
static uint64_t pieces_received(uint32_t kind, uint32_t ranks) {
    return kind == GPO_COLLECTIVE_ALL_GATHER || kind == GPO_COLLECTIVE_ALL_TO_ALL ? ranks : 1;
}

static uint32_t collective_type_of(const array_object *array) {
    for (uint32_t type = 1; words_of_GPO_TYPE_INT8[type]; ++type)
        if (strcmp(words_of_GPO_TYPE_INT8[type], element_names[array->type]) == 0) return type;
    return 0;
}

/* Type and count, where the caller gave none, are those of the first rank that brings an array. The list of parts is at
 * `parts`. */
static void complete_collective(lua_State *L, state *s, int parts, uint32_t ranks, gpo_collective *c) {
    static const char *const names[] = {"send", "receive"};
    const int has_type = c->type != 0;
    lua_getfield(L, parts - 1, "count");
    const int has_count = !lua_isnil(L, -1);
    lua_pop(L, 1);
    for (int i = 0; i < 2 * (int)lua_rawlen(L, parts) && c->kind != GPO_COLLECTIVE_BARRIER; ++i) {
        lua_rawgeti(L, parts, i / 2 + 1);
        lua_getfield(L, -1, names[i % 2]);
        const array_object *array = test_object(L, s, -1, CLASS_ARRAY);
        lua_pop(L, 2);
        if (!array) continue;
        if (!has_type && !(c->type = collective_type_of(array)))
            luaL_error(L, "option 'type' expected, since there is none for arrays of %s", element_names[array->type]);
        if (!has_count)
            c->count = ARRAY_BYTES(array) / type_sizes[c->type] /
                       (i % 2 ? pieces_received(c->kind, ranks) : pieces_sent(c->kind, ranks));
        return;
    }
}

/* The address in the field `name` of the part at `index`, which is left on the stack: 0 if there is none. An array is
 * on the device, and has `bytes`. */
static uint64_t read_buffer(lua_State *L, state *s, int index, int rank, const char *name, uint64_t bytes,
                            array_object **array) {
    uint64_t address = 0;
    lua_getfield(L, index, name);
    const int at = lua_gettop(L);
    if (lua_isnil(L, at)) return 0;
    if ((*array = test_object(L, s, at, CLASS_ARRAY))) {
        if (is_gone(*array)) luaL_error(L, "number %d: field '%s': the array is closed", rank + 1, name);
        if (on_host(*array))
            luaL_error(L, "number %d: field '%s': a device array expected, got one of the host's", rank + 1, name);
        if (ARRAY_BYTES(*array) < bytes) {
            char text[160];
            snprintf(text, sizeof text, "number %d: field '%s': %" PRIu64 " bytes expected, and the array has %" PRIu64,
                     rank + 1, name, bytes, (uint64_t)ARRAY_BYTES(*array));
            luaL_error(L, "%s", text);
        }
        return (*array)->address;
    }
    const char *problem = read_address(L, s, at, "a device array or an address expected", &address);
    if (problem) luaL_error(L, "number %d: field '%s': %s", rank + 1, name, problem);
    return address;
}

/* The rank in a field: GPO_NO_RANK if there is none. */
static uint32_t read_rank(lua_State *L, int index, int rank, const char *name) {
    uint64_t value = GPO_NO_RANK;
    lua_getfield(L, index, name);
    const char *problem = lua_isnil(L, -1) ? NULL : read_unsigned(L, -1, UINT32_MAX, &value);
    if (problem) luaL_error(L, "number %d: field '%s': a rank expected: %s", rank + 1, name, problem);
    lua_pop(L, 1);
    return (uint32_t)value;
}

/* The list at `parts` gets tables of its own, whose keys are the fields'. A stream stands for a part without
 * buffers. */
static void take_parts(lua_State *L, state *s, int parts) {
    const int count = (int)lua_rawlen(L, parts);
    for (int i = 0; i < count; ++i) {
        lua_rawgeti(L, parts, i + 1);
        const int part = lua_gettop(L);
        if (test_object(L, s, part, CLASS_STREAM)) {
            lua_createtable(L, 0, 1);
            lua_insert(L, part);
            lua_setfield(L, part, "stream");
        } else {
            if (!lua_istable(L, part)) luaL_error(L, "number %d: a stream, or a table with one, expected", i + 1);
            take_table(L, part, gpo_rank_part_fields, "field");
        }
        lua_rawseti(L, parts, i + 1);
    }
}

/* The part on top of the stack. Nothing here lets the collector run: no finalizer closes what was read. */
static void read_part(lua_State *L, state *s, int rank, uint32_t ranks, const gpo_collective *c, gpo_rank_part *part) {
    const int index = lua_gettop(L);
    const int exchanges = c->kind == GPO_COLLECTIVE_SEND_RECEIVE;
    uint64_t bytes = 0;
    array_object *sent = NULL, *received = NULL;
    lua_getfield(L, index, "stream");
    stream_object *stream = test_object(L, s, index + 1, CLASS_STREAM);
    if (!stream || !is_open(s, &stream->base))
        luaL_error(L, "number %d: field 'stream': a stream that is open expected", rank + 1);
    *part = (gpo_rank_part){.struct_size = sizeof *part, .stream = HANDLE(&stream->base, gpo_stream_t)};
    part->send_to = read_rank(L, index, rank, "send_to");
    part->receive_from = read_rank(L, index, rank, "receive_from");
    if (!exchanges && part->send_to == GPO_NO_RANK) part->send_to = 0;
    if (!exchanges && part->receive_from == GPO_NO_RANK) part->receive_from = 0;
    if (__builtin_mul_overflow(c->count, (uint64_t)type_sizes[c->type] * ranks, &bytes)) bytes = 0; /* C refuses it */
    bytes /= ranks;
    part->send = read_buffer(L, s, index, rank, "send", bytes * pieces_sent(c->kind, ranks), &sent);
    part->receive = read_buffer(L, s, index, rank, "receive", bytes * pieces_received(c->kind, ranks), &received);
    if (sent) use_array(L, s, index + 2, sent, index + 1, stream);
    if (received) use_array(L, s, index + 3, received, index + 1, stream);
    lua_settop(L, index);
}

/* peers:<kind>{part, ... [, type = ] [, reduction = ] [, root = ] [, count = ] [, label = ]} */
int peers_submit(lua_State *L, uint32_t kind) {
    state *s = the_state(L);
    const gpo_peers_t peers = CHECK_HANDLE(1, peers);
    gpo_collective collective = {.struct_size = sizeof collective, .kind = kind};
    gpo_peers_info info = {.struct_size = sizeof info};
    lua_settop(L, 2);
    take_list(L, 2); /* 3 */
    read_record(L, 2, gpo_collective_fields, &collective);
    take_parts(L, s, 3);
    const int count = (int)lua_rawlen(L, 3);
    gpo_rank_part *parts = lua_newuserdata(L, sizeof *parts * (size_t)(count + 1)); /* 4 */
    const gpo_status status = s->api->peers_get_info(peers, &info);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    complete_collective(L, s, 3, info.ranks, &collective);
    for (int i = 0; i < count; ++i) {
        lua_rawgeti(L, 3, i + 1);
        read_part(L, s, i, info.ranks, &collective, &parts[i]);
        lua_settop(L, 4);
    }
    return result(L, s, s->api->peers_submit(peers, &collective, parts, sizeof *parts, (uint32_t)count));
}

/* --- symmetric memory --- */

/* After GPO_OUT_OF_MEMORY: as for other allocations, on each device of the group at 1. */
static void reclaim_all(lua_State *L, state *s) {
    push_kept(L, 1, PEERS_DEVICES);
    const int devices = lua_gettop(L);
    for (int i = (int)lua_rawlen(L, devices); i > 0; --i) {
        lua_rawgeti(L, devices, i);
        const object *device = lua_touserdata(L, -1);
        if (is_open(s, device)) reclaim(L, s, HANDLE(device, gpo_device_t));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* allocate(bytes [, options]) */
int symmetric_allocate(lua_State *L) {
    state *s = the_state(L);
    const gpo_peers_t peers = CHECK_HANDLE(1, peers);
    const uint64_t bytes = check_unsigned(L, 2, UINT64_MAX);
    gpo_symmetric_options options = {.struct_size = sizeof options};
    gpo_symmetric_info info = {.struct_size = sizeof info};
    lua_settop(L, 3);
    read_record(L, 3, gpo_symmetric_options_fields, &options);
    symmetric_object *memory = new_object(L, s, CLASS_SYMMETRIC, 1); /* 4 */
    gpo_symmetric_t handle = NULL;
    gpo_status status = s->api->symmetric_allocate(peers, bytes, &options, &handle);
    if (status == GPO_OUT_OF_MEMORY) {
        reclaim_all(L, s);
        status = s->api->symmetric_allocate(peers, bytes, &options, &handle);
    }
    memory->base.handle = handle;
    if (status != GPO_SUCCESS) return failure(L, s, status);
    if (s->api->symmetric_get_info(handle, &info) == GPO_SUCCESS)
        memory->held_bytes = (int64_t)(info.device_bytes * info.ranks);
    account(L, s, memory->held_bytes);
    return 1;
}

void destroy_symmetric(lua_State *L, state *s, object *o, int collected) {
    (void)L, (void)collected;
    s->held_bytes -= ((const symmetric_object *)o)->held_bytes;
    s->api->symmetric_destroy(HANDLE(o, gpo_symmetric_t));
}

/* array(rank, type [, offset [, count]]): a device array of a rank's memory, from a byte offset; by default up to the
 * end. Closing it frees nothing. */
int symmetric_array(lua_State *L) {
    state *s = the_state(L);
    const object *memory = check_object(L, s, 1, CLASS_SYMMETRIC);
    const uint32_t rank = (uint32_t)check_unsigned(L, 2, UINT32_MAX);
    const enum element type = check_element_type(L, 3);
    const uint64_t offset = optional_unsigned(L, 4, UINT64_MAX, 0), size = element_sizes[type];
    gpo_symmetric_info info = {.struct_size = sizeof info};
    uint64_t address = 0;
    gpo_status status = s->api->symmetric_get_info(HANDLE(memory, gpo_symmetric_t), &info);
    if (status == GPO_SUCCESS) status = s->api->symmetric_get_address(HANDLE(memory, gpo_symmetric_t), rank, &address);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    luaL_argcheck(L, offset % size == 0, 4, "the offset isn't aligned for these elements");
    luaL_argcheck(L, offset < info.bytes, 4, "the offset is outside the memory");
    const uint64_t most = (info.bytes - offset) / size, count = optional_unsigned(L, 5, UINT64_MAX, most);
    luaL_argcheck(L, count >= 1 && count <= most, 5, "the elements reach beyond the memory, or there are none");
    array_object *array = new_array(L, s, 1, MEMORY_BORROWED_DEVICE, type, address + offset, count);
    array->base.borrowed = 1;
    array->base.handle = array;
    array->closed = &memory->closed;
    return 1;
}
