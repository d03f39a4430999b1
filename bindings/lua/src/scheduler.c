/* scheduler.c: schedulers, which stay on the GPU and do the tasks of a queue. A scheduler counts as a user of the
 * arrays and graphs that it was made with: though they are closed, they stay until its last run has ended. */
#include "calls.h"

#define LONGEST_END_NS 2000000000 /* of a run, when its scheduler is closed */

enum { SCHEDULER_QUEUE = 2, SCHEDULER_USED }; /* slots: its queue; a list of arrays and graphs */

/* --- creation --- */

/* The address in a field of the table at `table`: 0 if there is none. An array is appended to the list at `used`; its
 * bytes are `*bytes`, or UINT64_MAX if it is no array. */
static uint64_t read_used(lua_State *L, state *s, int table, const char *name, int used, uint64_t *bytes) {
    uint64_t address = 0;
    lua_getfield(L, table, name);
    const int index = lua_gettop(L);
    const array_object *array = read_memory(L, s, index, name, &address);
    *bytes = array ? ARRAY_BYTES(array) : UINT64_MAX;
    if (array) {
        push_root(L, index);
        append(L, used);
    }
    lua_settop(L, index - 1);
    return address;
}

/* The graphs of the handler whose table is at `table`. Pushes memory with their handles, or nil if there are none. */
static void read_graphs(lua_State *L, state *s, int table, int used, gpo_handler *handler) {
    lua_getfield(L, table, "graphs");
    if (lua_isnil(L, -1)) return;
    if (!lua_istable(L, -1)) luaL_error(L, "option 'graphs': a table of graphs expected");
    copy_table(L, lua_gettop(L));
    const int graphs = lua_gettop(L), count = (int)lua_rawlen(L, graphs);
    handler->graphs = check_objects(L, s, graphs, CLASS_GRAPH, 0, "option 'graphs': ");
    for (int i = 0; i < count; ++i) {
        lua_rawgeti(L, graphs, i + 1);
        append(L, used);
    }
    lua_remove(L, graphs);
    handler->graph_count = (uint32_t)count;
}

/* Reads the handler on top of the stack, a name or a table. The handler's memory is appended to the list at
 * `anchor`. */
static void read_handler(lua_State *L, state *s, int number, const queue_object *queue, int anchor, int used,
                         gpo_handler *handler) {
    const int index = lua_gettop(L);
    *handler = (gpo_handler){.struct_size = sizeof *handler};
    if (lua_type(L, index) == LUA_TSTRING) {
        handler->name = lua_tostring(L, index);
    } else if (lua_istable(L, index)) {
        uint64_t bytes = 0;
        read_record(L, index, gpo_handler_fields, handler);
        lua_pushvalue(L, index);
        append(L, anchor);
        read_graphs(L, s, index, used, handler);
        append(L, anchor);
        handler->task_memory = read_used(L, s, index, "task_memory", used, &bytes);
        if (queue && bytes / (queue->task_size ? queue->task_size : 1) < handler->graph_count)
            luaL_error(L, "option 'task_memory': %d graphs with tasks of %d bytes don't fit into the array",
                       (int)handler->graph_count, (int)queue->task_size);
    } else {
        luaL_error(L, "option 'handlers': number %d: a name or a table expected", number);
    }
    lua_settop(L, index);
}

/* Pushes memory with the handlers of the options at 2. */
static const gpo_handler *read_handlers(lua_State *L, state *s, const queue_object *queue, int used, uint32_t *count) {
    lua_getfield(L, 2, "handlers");
    if (!lua_istable(L, -1)) luaL_error(L, "option 'handlers': a table of names or tables expected");
    copy_table(L, lua_gettop(L));
    const int names = lua_gettop(L), total = (int)lua_rawlen(L, names);
    lua_newtable(L);
    gpo_handler *handlers = lua_newuserdata(L, sizeof *handlers * (size_t)(total + 1));
    for (int i = 0; i < total; ++i) {
        lua_rawgeti(L, names, i + 1);
        read_handler(L, s, i + 1, queue, names + 1, used, &handlers[i]);
        lua_pop(L, 1);
    }
    *count = (uint32_t)total;
    return handlers;
}

/* scheduler{form = , queue = , handlers = , ...} */
int scheduler_create(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    gpo_scheduler_options options = {.struct_size = sizeof options};
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    read_record(L, 2, gpo_scheduler_options_fields, &options);
    lua_getfield(L, 2, "queue"); /* 3 */
    const queue_object *queue = lua_touserdata(L, 3);
    object *scheduler = new_object(L, s, CLASS_SCHEDULER, 1); /* 4 */
    lua_newtable(L);                                          /* 5 */
    keep(L, 4, SCHEDULER_QUEUE, 3);
    keep(L, 4, SCHEDULER_USED, 5);
    uint64_t bytes = 0;
    uint32_t count = 0;
    options.argument = read_used(L, s, 2, "argument", 5, &bytes);
    const gpo_handler *handlers = read_handlers(L, s, queue, 5, &count);
    const gpo_status status = s->api->scheduler_create(device, &options, handlers, sizeof *handlers, count,
                                                       (gpo_scheduler_t *)&scheduler->handle);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    for (int i = (int)lua_rawlen(L, 5); i > 0; --i) {
        lua_rawgeti(L, 5, i);
        ++((object *)lua_touserdata(L, -1))->users;
        lua_pop(L, 1);
    }
    lua_settop(L, 4);
    return 1;
}

/* The scheduler is on top of the stack. If the run doesn't end, the values in use stay until the runtime is shut
 * down. */
void destroy_scheduler(lua_State *L, state *s, object *o, int collected) {
    const gpo_scheduler_t scheduler = HANDLE(o, gpo_scheduler_t);
    const int runs = s->api->scheduler_stop(scheduler, LONGEST_END_NS) == GPO_TIMEOUT;
    (void)collected;
    s->api->scheduler_destroy(scheduler);
    if (runs) return;
    push_kept(L, lua_gettop(L), SCHEDULER_USED);
    const int used = lua_gettop(L);
    for (int i = (int)lua_rawlen(L, used); i > 0; --i) {
        lua_rawgeti(L, used, i);
        drop_user(L, s, used + 1);
        lua_pop(L, 1);
    }
    lua_pushnil(L);
    keep(L, used - 1, SCHEDULER_USED, used + 1);
    lua_settop(L, used - 1);
}
