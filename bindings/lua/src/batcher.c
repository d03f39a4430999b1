/* batcher.c: batchers: many small requests, put together into few large batches. The work of a key is that of buckets,
 * which have to be prepared: threads of a batcher launch them, and those can't enter Lua. */
#include <string.h>

#include "calls.h"

/* The options, whose table has the devices and the executor; a list of the buckets that keys use, each counted as a
 * user; and the sizes of keys, by their numbers. */
enum { BATCHER_OPTIONS = 2, BATCHER_BUCKETS, BATCHER_KEYS };

/* Sizes of a key, as a string of Lua's. */
typedef struct key_sizes {
    uint64_t input_bytes, output_bytes;
    uint32_t layout;
} key_sizes;

/* runtime:batcher{devices = {device, ...} [, executor = ] [, lanes = ] [, capacity = ] [, label = ]} */
int batcher_create(lua_State *L) {
    state *s = the_state(L);
    const object *runtime = check_object(L, s, 1, CLASS_RUNTIME);
    gpo_batcher_options options = {.struct_size = sizeof options};
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    read_record(L, 2, gpo_batcher_options_fields, &options);
    lua_getfield(L, 2, "devices"); /* 3 */
    if (!lua_istable(L, 3)) return luaL_error(L, "option 'devices': a table of devices expected");
    copy_table(L, 3);
    lua_pushvalue(L, 3);
    lua_setfield(L, 2, "devices");
    options.devices = check_objects(L, s, 3, CLASS_DEVICE, runtime->runtime, "option 'devices': "); /* 4 */
    options.device_count = lua_rawlen(L, 3);
    object *batcher = new_object(L, s, CLASS_BATCHER, 1); /* 5 */
    keep(L, 5, BATCHER_OPTIONS, 2);
    for (int slot = BATCHER_BUCKETS; slot <= BATCHER_KEYS; ++slot) {
        lua_newtable(L);
        keep(L, 5, slot, 6);
        lua_settop(L, 5);
    }
    return created(L, s, s->api->batcher_create(&options, (gpo_batcher_t *)&batcher->handle));
}

/* The batcher is on top of the stack. Takes no memory: finalizers come here. */
void destroy_batcher(lua_State *L, state *s, object *o, int collected) {
    const int index = lua_gettop(L);
    (void)collected;
    s->api->batcher_destroy(HANDLE(o, gpo_batcher_t));
    push_kept(L, index, BATCHER_BUCKETS);
    for (int i = lua_istable(L, -1) ? (int)lua_rawlen(L, -1) : 0; i > 0; --i) {
        lua_rawgeti(L, index + 1, i);
        drop_user(L, s, index + 2);
        lua_pop(L, 1);
    }
    lua_settop(L, index);
}

/* add_key{layout = , input_bytes = , output_bytes = , buckets = {for each device} ...}: the key's number, from 0 */
int batcher_add_key(lua_State *L) {
    state *s = the_state(L);
    const object *batcher = check_object(L, s, 1, CLASS_BATCHER);
    gpo_batcher_key_options options = {.struct_size = sizeof options};
    uint32_t key = 0;
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    read_record(L, 2, gpo_batcher_key_options_fields, &options);
    lua_getfield(L, 2, "buckets"); /* 3 */
    if (!lua_istable(L, 3)) return luaL_error(L, "option 'buckets': a table with buckets for each device expected");
    copy_table(L, 3);
    options.buckets = check_objects(L, s, 3, CLASS_BUCKETS, batcher->runtime, "option 'buckets': "); /* 4 */
    options.bucket_count = lua_rawlen(L, 3);
    const key_sizes sizes = {options.input_bytes, options.output_bytes, options.layout};
    push_kept(L, 1, BATCHER_BUCKETS); /* 5 */
    push_kept(L, 1, BATCHER_KEYS);    /* 6 */
    lua_pushlstring(L, (const char *)&sizes, sizeof sizes);
    const gpo_status status = s->api->batcher_add_key(HANDLE(batcher, gpo_batcher_t), &options, &key);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    lua_rawseti(L, 6, (int)key + 1);
    for (int i = 1; i <= (int)lua_rawlen(L, 3); ++i) {
        lua_rawgeti(L, 3, i);
        lua_pushvalue(L, -1);
        append(L, 5);
        ++((object *)lua_touserdata(L, -1))->users;
        lua_pop(L, 1);
    }
    push_unsigned(L, key);
    return 1;
}

/* --- requests --- */

/* Pushes an array of the options at 2, or nil. */
static array_object *push_array(lua_State *L, state *s, const char *name) {
    lua_getfield(L, 2, name);
    if (lua_isnil(L, -1)) return NULL;
    if (!test_object(L, s, lua_gettop(L), CLASS_ARRAY)) luaL_error(L, "option '%s': an array expected", name);
    array_object *array = check_array(L, s, lua_gettop(L));
    if (array->root->of_graph) luaL_error(L, "option '%s': memory that a graph allocates is for its nodes only", name);
    return array;
}

/* The array, which has to have so many bytes, is appended to the list at 4. */
static array_object *read_side(lua_State *L, state *s, const char *name, uint64_t bytes) {
    array_object *array = push_array(L, s, name);
    if (array && ARRAY_BYTES(array) < bytes) luaL_error(L, "option '%s': the array is shorter than the request", name);
    if (array)
        append(L, 4);
    else
        lua_pop(L, 1);
    return array;
}

/* Finds how many bytes the request reads and writes. `elements`, if it isn't given, follows from the input's length. A
 * key that there isn't has no sizes: the library refuses the request. */
static void measure(lua_State *L, state *s, gpo_batcher_request *request, uint64_t *input, uint64_t *output) {
    key_sizes sizes = {0};
    push_kept(L, 1, BATCHER_KEYS);
    lua_rawgeti(L, -1, (int)request->key + 1);
    if (lua_type(L, -1) == LUA_TSTRING) memcpy(&sizes, lua_tostring(L, -1), sizeof sizes);
    lua_pop(L, 2);
    uint64_t elements = 1;
    if (sizes.layout == GPO_BATCH_RAGGED) {
        const array_object *array = push_array(L, s, "input");
        if (!request->elements && array && sizes.input_bytes)
            request->elements = ARRAY_BYTES(array) / sizes.input_bytes;
        lua_pop(L, 1);
        elements = request->elements;
    }
    if (__builtin_mul_overflow(elements, sizes.input_bytes, input) ||
        __builtin_mul_overflow(elements, sizes.output_bytes, output))
        luaL_error(L, "option 'elements': the request is too large");
}

struct submission {
    lua_State *L;
    gpo_batcher_t batcher;
    gpo_batcher_request request;
    uint64_t ticket, wait_ns;
};

/* Drops a user of each array of the list on top. */
static void release_arrays(lua_State *L, state *s) {
    const int list = lua_gettop(L);
    for (int i = (int)lua_rawlen(L, list); i > 0; --i) {
        lua_rawgeti(L, list, i);
        push_root(L, list + 1);
        drop_user(L, s, list + 2);
        lua_settop(L, list);
    }
}

/* The operation is on top, the list of its arrays at 4. */
static gpo_status mark_batcher_submit(state *s, void *context, gpo_cq_t cq, uint64_t user_data) {
    struct submission *c = context;
    lua_State *L = c->L;
    keep(L, lua_gettop(L), OPERATION_ARRAYS, 4);
    for (int i = (int)lua_rawlen(L, 4); i > 0; --i) {
        lua_rawgeti(L, 4, i);
        ++((array_object *)lua_touserdata(L, -1))->root->base.users;
        lua_pop(L, 1);
    }
    const gpo_status status = s->api->batcher_submit(c->batcher, &c->request, cq, user_data, &c->ticket, &c->wait_ns);
    if (status == GPO_SUCCESS) return status;
    lua_pushvalue(L, 4);
    release_arrays(L, s);
    lua_pop(L, 1);
    return status;
}

void release_request(lua_State *L, state *s) {
    push_kept(L, -1, OPERATION_ARRAYS);
    if (lua_istable(L, -1)) release_arrays(L, s);
    lua_pop(L, 1);
}

/* submit{key = , input = , output = , ...} [, queue]: the operation, which keeps the arrays until it is done, and the
 * ticket. A refusal because of the deadline has a fourth result: the predicted seconds. */
int batcher_submit(lua_State *L) {
    state *s = the_state(L);
    struct submission c = {.L = L, .batcher = CHECK_HANDLE(1, batcher), .request = {.struct_size = sizeof c.request}};
    uint64_t input = 0, output = 0;
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 3);
    lua_newtable(L); /* 4 */
    read_record(L, 2, gpo_batcher_request_fields, &c.request);
    measure(L, s, &c.request, &input, &output);
    const array_object *from = read_side(L, s, "input", input), *to = read_side(L, s, "output", output);
    const array_object *made = read_side(L, s, "output_made", sizeof(uint64_t));
    if (made && (!on_host(made) || made->address % sizeof(uint64_t)))
        return luaL_error(L, "option 'output_made': an array of u64 in host memory expected");
    if (from && on_host(from))
        c.request.input = (const void *)(uintptr_t)from->address;
    else if (from)
        c.request.input_address = from->address;
    if (to && on_host(to))
        c.request.output = (void *)(uintptr_t)to->address;
    else if (to)
        c.request.output_address = to->address;
    if (made) c.request.output_made = (uint64_t *)(uintptr_t)made->address;
    const int count = notify(L, s, lua_isnil(L, 3) ? 0 : 3, 0, mark_batcher_submit, &c);
    if (count == 1) {
        push_unsigned(L, c.ticket);
        return 2;
    }
    if (!c.wait_ns) return count;
    lua_pushnumber(L, (lua_Number)c.wait_ns * 1e-9);
    return count + 1;
}
