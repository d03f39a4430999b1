/* peers_launch.c: launches of one kernel on each rank of a group. */
#include <string.h>

#include "calls.h"

/* The table of rank `rank`, on top of the stack, gives way to a copy of its own, in which `arguments` is one too. Reads
 * the shape into `*read`, where it isn't reused, and sets `launch->launch`. */
static void take_rank(lua_State *L, state *s, int rank, gpo_launch *read, gpo_rank_launch *launch) {
    const int index = lua_gettop(L);
    if (!lua_istable(L, index)) luaL_error(L, "number %d: a table expected", rank + 1);
    take_table(L, index, gpo_rank_launch_fields, "field");
    lua_getfield(L, index, "launch");
    if (!lua_istable(L, index + 1) && !test_object(L, s, index + 1, CLASS_LAUNCH))
        luaL_error(L, "number %d: field 'launch': a launch, or a table of its options, expected", rank + 1);
    launch->launch = check_shape(L, s, index + 1, read);
    lua_setfield(L, index, "launch"); /* the copy has the label */
    lua_getfield(L, index, "arguments");
    if (lua_isnil(L, index + 1)) {
        lua_pop(L, 1);
        lua_newtable(L);
    } else {
        if (!lua_istable(L, index + 1)) luaL_error(L, "number %d: field 'arguments': a table expected", rank + 1);
        copy_table(L, index + 1);
    }
    lua_setfield(L, index, "arguments");
}

/* Reads the rest of it. Nothing here lets the collector run: no finalizer closes what was read. */
static void read_rank(lua_State *L, state *s, int rank, gpo_rank_launch *launch) {
    const int index = lua_gettop(L);
    lua_getfield(L, index, "stream");    /* index + 1 */
    lua_getfield(L, index, "kernel");    /* + 2 */
    lua_getfield(L, index, "arguments"); /* + 3 */
    stream_object *stream = test_object(L, s, index + 1, CLASS_STREAM);
    kernel_object *kernel = test_object(L, s, index + 2, CLASS_KERNEL);
    if (!stream || !is_open(s, &stream->base))
        luaL_error(L, "number %d: field 'stream': a stream that is open expected", rank + 1);
    if (!kernel || !is_open(s, &kernel->base))
        luaL_error(L, "number %d: field 'kernel': a kernel that is open expected", rank + 1);
    if (lua_rawlen(L, index + 3) != kernel->count)
        luaL_error(L, "number %d: the kernel has %d parameters, got %d arguments", rank + 1, (int)kernel->count,
                   (int)lua_rawlen(L, index + 3));
    for (uint32_t i = 0; i < kernel->count; ++i) {
        lua_rawgeti(L, index + 3, (int)i + 1);
        array_object *array = read_argument(L, s, kernel, i, index + 4);
        if (array) use_array(L, s, index + 4, array, index + 1, stream);
        if (check_queue_argument(L, s, kernel, i, index + 4, &stream->base, stream) && stream->recorder)
            record_queue(L, s, index + 4, stream);
        lua_settop(L, index + 3);
    }
    launch->struct_size = sizeof *launch;
    launch->stream = HANDLE(&stream->base, gpo_stream_t);
    launch->kernel = HANDLE(&kernel->base, gpo_kernel_t);
    launch->arguments = kernel->pointers;
    launch->sizes = kernel->sizes;
    launch->argument_count = kernel->count;
    lua_settop(L, index);
}

/* launch{{stream = , kernel = , launch = [, arguments = ]}, ...}: one for each rank of a group. */
int peers_launch(lua_State *L) {
    state *s = the_state(L);
    const gpo_peers_t peers = CHECK_HANDLE(1, peers);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    copy_table(L, 2);
    const int count = (int)lua_rawlen(L, 2);
    gpo_rank_launch *launches = lua_newuserdata(L, (sizeof *launches + sizeof(gpo_launch)) * (size_t)(count + 1));
    gpo_launch *shapes = (gpo_launch *)(launches + count);
    memset(launches, 0, sizeof *launches * (size_t)count);
    for (int i = 0; i < count; ++i) {
        lua_rawgeti(L, 2, i + 1);
        take_rank(L, s, i, &shapes[i], &launches[i]);
        lua_rawseti(L, 2, i + 1);
    }
    for (int i = 0; i < count; ++i) {
        lua_rawgeti(L, 2, i + 1);
        read_rank(L, s, i, &launches[i]);
        lua_settop(L, 3);
    }
    const gpo_status status = s->api->peers_launch(peers, launches, sizeof *launches, (uint32_t)count);
    for (int i = 0; i < count && status == GPO_SUCCESS; ++i) {
        lua_rawgeti(L, 2, i + 1);
        lua_getfield(L, 4, "stream");
        lua_getfield(L, 4, "kernel");
        stream_object *stream = lua_touserdata(L, 5);
        if (stream->recorder) record_node(L, s, stream);
        lua_settop(L, 3);
    }
    return result(L, s, status);
}
