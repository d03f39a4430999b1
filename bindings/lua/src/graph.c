/* graph.c: graphs, instances of templates, whose parameters are set by name. */
#include "calls.h"
#include "template.h"

#define GRAPH(graph) HANDLE(&(graph)->base, gpo_graph_t)

/* graph([options]): of the template as it is now. */
int graph_create(lua_State *L) {
    state *s = the_state(L);
    template_object *t = check_object(L, s, 1, CLASS_TEMPLATE);
    gpo_graph_options options = {.struct_size = sizeof options};
    read_record(L, 2, gpo_graph_options_fields, &options);
    lua_settop(L, 2);
    graph_object *graph = new_object(L, s, CLASS_GRAPH, 1); /* 3 */
    push_kept(L, 1, TEMPLATE_RECIPE);                       /* 4 */
    lua_newtable(L);
    keep(L, 3, GRAPH_RECIPE, 4);
    keep(L, 3, GRAPH_VALUES, 5);
    const gpo_status status =
        s->api->graph_create(HANDLE(&t->base, gpo_template_t), &options, (gpo_graph_t *)&graph->base.handle);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    share_recipe(L, 4);
    ++t->graphs;
    lua_settop(L, 3);
    return 1;
}

/* Ends the use of arrays by the values of the graph at `index`. */
static void drop_values(lua_State *L, state *s, int index) {
    push_kept(L, index, GRAPH_VALUES);
    const int values = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, values); lua_pop(L, 1)) drop_user(L, s, values + 2);
    lua_pop(L, 1);
}

/* The graph is on top of the stack. */
void destroy_graph(lua_State *L, state *s, object *o, int collected) {
    const int index = lua_gettop(L);
    (void)collected;
    s->api->graph_destroy(HANDLE(o, gpo_graph_t));
    push_kept(L, index, GRAPH_RECIPE);
    release_recipe(L, s, index + 1);
    drop_values(L, s, index);
    push_kept(L, index, 1);
    template_object *t = lua_touserdata(L, -1);
    if (--t->graphs == 0 && t->base.closed) {
        push_kept(L, index + 2, TEMPLATE_RECIPE);
        release_recipe(L, s, lua_gettop(L));
    }
    lua_settop(L, index);
}

/* --- values --- */

/* Holds an array at `value`, the new value of the parameter at `key` (a name or number), in place of the previous
 * array. */
static void hold_value(lua_State *L, state *s, graph_object *graph, int recipe, int key, int value) {
    if (type_of(L, recipe, key).kind != PARAMETER_POINTER) return;
    luaL_checkstack(L, 10, NULL);
    push_kept(L, 1, GRAPH_VALUES);
    const int values = lua_gettop(L);
    push_parameter_name(L, recipe, key);
    lua_pushvalue(L, -1);
    lua_rawget(L, values);
    const int name = values + 1, before = values + 2;
    const array_object *array = test_object(L, s, value, CLASS_ARRAY);
    lua_pushvalue(L, name);
    if (array) {
        push_root(L, value);
        ++array->root->base.users;
    } else {
        lua_pushnil(L);
    }
    lua_rawset(L, values);
    if (!lua_isnil(L, before)) drop_user(L, s, before);
    lua_settop(L, values - 1);
    graph->marked = NULL;
}

static int set_one(lua_State *L, state *s, graph_object *graph) {
    gpo_setting setting;
    char room[16];
    luaL_argcheck(L, lua_type(L, 2) == LUA_TSTRING || lua_type(L, 2) == LUA_TNUMBER, 2,
                  "a parameter's name or number, or a table of values expected");
    lua_settop(L, 3);
    push_kept(L, 1, GRAPH_RECIPE); /* 4 */
    read_setting(L, s, 4, 2, 3, &setting, room);
    const gpo_status status =
        setting.name ? s->api->graph_set(GRAPH(graph), setting.name, setting.value, setting.bytes)
                     : s->api->graph_set_parameter(GRAPH(graph), setting.parameter, setting.value, setting.bytes);
    if (status == GPO_SUCCESS) hold_value(L, s, graph, 4, 2, 3);
    return result(L, s, status);
}

/* set(name or number, value), or set{name = value, ...}: all or none. */
int graph_set(lua_State *L) {
    state *s = the_state(L);
    graph_object *graph = check_object(L, s, 1, CLASS_GRAPH);
    if (!lua_istable(L, 2)) return set_one(L, s, graph);
    uint64_t count;
    lua_settop(L, 2);
    push_kept(L, 1, GRAPH_RECIPE); /* 3 */
    const gpo_setting *settings = read_settings(L, s, 3, 2, &count);
    const gpo_status status = s->api->graph_set_all(GRAPH(graph), settings, sizeof *settings, count);
    if (status == GPO_SUCCESS)
        for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1))
            hold_value(L, s, graph, 3, lua_gettop(L) - 1, lua_gettop(L));
    return result(L, s, status);
}

/* get(name): the value that the next launch uses; of an array its address. */
int graph_get(lua_State *L) {
    state *s = the_state(L);
    graph_object *graph = check_object(L, s, 1, CLASS_GRAPH);
    const char *name = luaL_checkstring(L, 2);
    lua_settop(L, 2);
    push_kept(L, 1, GRAPH_RECIPE);
    const parameter type = type_of(L, 3, 2);
    void *value = lua_newuserdata(L, type.size + 16);
    const gpo_status status = s->api->graph_get(GRAPH(graph), name, value, type.size);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_value(L, s, &type, value);
    return 1;
}

/* --- launches --- */

static void use_all(lua_State *L, state *s, graph_object *graph, stream_object *stream) {
    lua_settop(L, 2);
    push_kept(L, 1, GRAPH_RECIPE);
    lua_rawgeti(L, 3, RECIPE_ARRAYS);
    use_arrays(L, s, 4, 1, 2, stream);
    push_kept(L, 1, GRAPH_VALUES);
    use_arrays(L, s, 5, 0, 2, stream);
    lua_settop(L, 2);
    keep(L, 1, GRAPH_STREAM, 2);
    graph->marked = stream;
}

int graph_launch(lua_State *L) {
    state *s = the_state(L);
    graph_object *graph = check_object(L, s, 1, CLASS_GRAPH);
    stream_object *stream = check_object(L, s, 2, CLASS_STREAM);
    if (graph->marked != stream || stream->recorder) use_all(L, s, graph, stream);
    return result(L, s, s->api->graph_launch(GRAPH(graph), HANDLE(&stream->base, gpo_stream_t)));
}

/* --- a new recording --- */

/* update(): updates the graph, and returns the report as a table. */
int graph_update(lua_State *L) {
    state *s = the_state(L);
    graph_object *graph = check_object(L, s, 1, CLASS_GRAPH);
    gpo_graph_update_report report = {.struct_size = sizeof report};
    lua_settop(L, 1);
    const gpo_status status = s->api->graph_update(GRAPH(graph), &report);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_kept(L, 1, 1);
    push_kept(L, 2, TEMPLATE_RECIPE);
    share_recipe(L, 3);
    replace_recipe(L, s, 1, GRAPH_RECIPE, 3);
    graph->marked = NULL;
    push_record(L, s, gpo_graph_update_report_fields, &report);
    return 1;
}

/* --- what the GPU decided --- */

/* device_handle(): what a kernel takes as a gpo::device_graph, a string of 16 bytes; and its two parts. */
int graph_get_device_handle(lua_State *L) {
    state *s = the_state(L);
    uint64_t parts[2] = {0};
    const gpo_status status = s->api->graph_get_device_handle(CHECK_HANDLE(1, graph), &parts[0], &parts[1]);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    lua_pushlstring(L, (const char *)parts, sizeof parts);
    push_unsigned(L, parts[0]);
    push_unsigned(L, parts[1]);
    return 3;
}
