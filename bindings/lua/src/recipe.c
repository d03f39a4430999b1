/* recipe.c: what Lua knows of recordings, see template.h. Nothing here that finalizers come to takes memory. */
#include "template.h"

static lua_Integer number_in(lua_State *L, int table, int slot) {
    lua_rawgeti(L, table, slot);
    const lua_Integer number = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return number;
}

static void put_number(lua_State *L, int table, int slot, lua_Integer number) {
    lua_pushinteger(L, number);
    lua_rawseti(L, table, slot);
}

void push_first_recipe(lua_State *L) {
    lua_createtable(L, RECIPE_QUEUES, 0);
    const int recipe = lua_gettop(L);
    put_number(L, recipe, RECIPE_USERS, 1);
    for (int slot = RECIPE_NODES; slot <= RECIPE_QUEUES; ++slot) {
        lua_newtable(L);
        lua_rawseti(L, recipe, slot);
    }
}

static void share_field(lua_State *L, int to, int from, int slot) {
    lua_rawgeti(L, from, slot);
    lua_rawseti(L, to, slot);
}

static void copy_types(lua_State *L, int to, int from) {
    lua_rawgeti(L, to, RECIPE_TYPES);
    lua_rawgeti(L, from, RECIPE_TYPES);
    const int types = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, types);) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, types - 1);
    }
    lua_pop(L, 2);
}

void push_next_recipe(lua_State *L, int template_index) {
    const template_object *t = lua_touserdata(L, template_index);
    push_first_recipe(L);
    push_kept(L, template_index, TEMPLATE_RECIPE);
    const int before = lua_gettop(L);
    share_field(L, before - 1, before, RECIPE_NUMBERS);
    if (t->body) copy_types(L, before - 1, before); /* the types of the whole, with which the body's have to agree */
    lua_pop(L, 1);
}

void push_body_recipe(lua_State *L, int recipe) {
    push_first_recipe(L);
    share_field(L, lua_gettop(L), recipe, RECIPE_TYPES);
    share_field(L, lua_gettop(L), recipe, RECIPE_ARRAYS);
    share_field(L, lua_gettop(L), recipe, RECIPE_QUEUES);
}

void push_recipe(lua_State *L, int template_index) {
    const template_object *t = lua_touserdata(L, template_index);
    push_kept(L, template_index, t->recording ? TEMPLATE_RECORDING : TEMPLATE_RECIPE);
}

/* --- arrays and queues --- */

/* Pops an object and puts it into the recipe's table at `slot`, and counts the recipe as a user of its memory. */
static void insert(lua_State *L, int recipe, int slot) {
    object *used = lua_touserdata(L, -1);
    lua_rawgeti(L, recipe, slot);
    const int objects = lua_gettop(L);
    lua_pushvalue(L, objects - 1);
    lua_rawget(L, objects);
    if (lua_isnil(L, -1)) {
        lua_pushvalue(L, objects - 1);
        lua_pushboolean(L, 1);
        lua_rawset(L, objects);
        ++used->users;
    }
    lua_settop(L, objects - 2);
}

static void insert_array(lua_State *L, int recipe, int slot, int array_index) {
    luaL_checkstack(L, 10, NULL);
    push_root(L, array_index);
    insert(L, recipe, slot);
}

void hold_queue(lua_State *L, int recipe, int queue_index) {
    luaL_checkstack(L, 10, NULL);
    lua_pushvalue(L, queue_index);
    insert(L, recipe, RECIPE_QUEUES);
}

void hold_array(lua_State *L, state *s, int recipe, int array_index) {
    const array_object *array = test_object(L, s, array_index, CLASS_ARRAY);
    if (array && !array->root->of_graph) insert_array(L, recipe, RECIPE_ARRAYS, array_index);
}

void hold_all_of(lua_State *L, state *s, int recipe, int other) {
    lua_rawgeti(L, other, RECIPE_ARRAYS);
    lua_rawgeti(L, other, RECIPE_QUEUES);
    const int queues = lua_gettop(L), arrays = queues - 1;
    for (lua_pushnil(L); lua_next(L, arrays); lua_pop(L, 1)) hold_array(L, s, recipe, queues + 1);
    for (lua_pushnil(L); lua_next(L, queues); lua_pop(L, 1)) hold_queue(L, recipe, queues + 1);
    lua_pop(L, 2);
}

static void drop_all(lua_State *L, state *s, int recipe, int slot) {
    luaL_checkstack(L, 10, NULL);
    lua_rawgeti(L, recipe, slot);
    const int arrays = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, arrays); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_pushnil(L);
        lua_rawset(L, arrays);
        drop_user(L, s, arrays + 1);
    }
    lua_pop(L, 1);
}

void share_recipe(lua_State *L, int recipe) {
    put_number(L, recipe, RECIPE_USERS, number_in(L, recipe, RECIPE_USERS) + 1);
}

void release_recipe(lua_State *L, state *s, int recipe) {
    const lua_Integer left = number_in(L, recipe, RECIPE_USERS) - 1;
    put_number(L, recipe, RECIPE_USERS, left);
    if (left != 0) return;
    drop_all(L, s, recipe, RECIPE_ARRAYS);
    drop_all(L, s, recipe, RECIPE_QUEUES);
}

void replace_recipe(lua_State *L, state *s, int index, int slot, int recipe) {
    push_kept(L, index, slot);
    keep(L, index, slot, recipe);
    release_recipe(L, s, lua_gettop(L));
    lua_pop(L, 1);
}

void use_arrays(lua_State *L, state *s, int arrays, int keys, int stream_index, stream_object *stream) {
    luaL_checkstack(L, 10, NULL);
    lua_pushnil(L);
    while (lua_next(L, arrays)) {
        const int at = lua_gettop(L) - (keys ? 1 : 0);
        use_array(L, s, at, lua_touserdata(L, at), stream_index, stream);
        lua_pop(L, 1);
    }
}

/* --- recordings --- */

enum { MOST_INNER = 100 }; /* nested recordings that may end in any order */

void begin_recording(state *s, template_object *t, stream_object *stream) {
    t->recording = 1;
    t->outer = s->recorder;
    s->recorder = stream->recorder = t->number;
}

/* Adds a body's recording to the recipe of its conditional node's template. */
static void add_to_whole(lua_State *L, state *s, int index, int recorded) {
    push_kept(L, index, TEMPLATE_RECIPE);
    const int recipe = lua_gettop(L);
    hold_all_of(L, s, recipe, recorded);
    copy_types(L, recipe, recorded);
    share_field(L, recipe, recorded, RECIPE_NODES);
    lua_pop(L, 1);
}

/* Removes the template from the chain of recordings. Recordings may end in any order. */
static void leave_recording(lua_State *L, state *s, const template_object *t) {
    int *last = &s->recorder;
    luaL_checkstack(L, 10, NULL);
    for (int inner = 0; *last != t->number; ++inner) {
        push_known(L, s, *last);
        template_object *later = test_object(L, s, lua_gettop(L), CLASS_TEMPLATE);
        lua_pop(L, 1);
        if (!later || inner == MOST_INNER) break;
        last = &later->outer;
    }
    if (*last == t->number) *last = t->outer;
}

void stop_recording(lua_State *L, state *s, template_object *t, int index, int taken) {
    if (!t->recording) return;
    t->recording = 0;
    leave_recording(L, s, t);
    push_kept(L, index, TEMPLATE_RECORDING);
    const int recipe = lua_gettop(L);
    if (taken && !t->body) replace_recipe(L, s, index, TEMPLATE_RECIPE, recipe);
    if (taken && t->body) add_to_whole(L, s, index, recipe);
    if (!taken || t->body) release_recipe(L, s, recipe);
    if (taken) t->marked = NULL;
    drop_all(L, s, recipe, RECIPE_WAITING);
    lua_pop(L, 1);
}

/* Pushes the template with the number `*recorder`, then the recipe of its recording. If the template isn't open or
 * isn't recording, pushes nothing and sets `*recorder` to 0. */
static template_object *push_recorder(lua_State *L, state *s, int *recorder) {
    if (*recorder == 0) return NULL;
    luaL_checkstack(L, 10, NULL);
    push_known(L, s, *recorder);
    template_object *t = test_object(L, s, lua_gettop(L), CLASS_TEMPLATE);
    if (t && t->recording && is_open(s, &t->base)) {
        push_kept(L, lua_gettop(L), TEMPLATE_RECORDING);
        return t;
    }
    lua_pop(L, 1);
    *recorder = 0;
    return NULL;
}

void join_recording(state *s, stream_object *stream, const stream_object *other) {
    if (!stream->recorder) stream->recorder = other && other->recorder ? other->recorder : s->recorder;
}

void record_array(lua_State *L, state *s, int array_index, stream_object *stream) {
    if (!push_recorder(L, s, &stream->recorder)) return;
    hold_array(L, s, lua_gettop(L), array_index);
    lua_pop(L, 2);
}

void record_queue(lua_State *L, state *s, int queue_index, stream_object *stream) {
    if (!push_recorder(L, s, &stream->recorder)) return;
    hold_queue(L, lua_gettop(L), queue_index);
    lua_pop(L, 2);
}

void note_node(lua_State *L, int recipe, uint32_t node) {
    lua_rawgeti(L, recipe, RECIPE_NODES);
    lua_insert(L, -2);
    lua_rawseti(L, -2, (int)node);
    lua_pop(L, 1);
}

void record_node(lua_State *L, state *s, stream_object *stream) {
    const int what = lua_gettop(L);
    const template_object *t = push_recorder(L, s, &stream->recorder);
    uint32_t node = 0;
    if (t) s->api->template_get_last_node(HANDLE(&t->base, gpo_template_t), HANDLE(&stream->base, gpo_stream_t), &node);
    if (node) {
        lua_pushvalue(L, what);
        note_node(L, what + 2, node);
    }
    lua_settop(L, what - 1);
}

int wait_for_recording(lua_State *L, state *s, int array_index, stream_object *stream) {
    if (!push_recorder(L, s, &stream->recorder)) return 0;
    insert_array(L, lua_gettop(L), RECIPE_WAITING, array_index);
    lua_pop(L, 2);
    return 1;
}

/* --- adding nodes --- */

const uint32_t *check_after(lua_State *L, int index, uint32_t *one, uint32_t *count) {
    *count = 0;
    if (lua_isnoneornil(L, index)) return NULL;
    if (!lua_istable(L, index)) {
        *count = 1;
        *one = (uint32_t)check_unsigned(L, index, UINT32_MAX);
        return one;
    }
    const int total = (int)lua_rawlen(L, index);
    uint32_t *nodes = lua_newuserdata(L, sizeof *nodes * (size_t)(total + 1));
    for (int i = 0; i < total; ++i) {
        uint64_t node = 0;
        lua_rawgeti(L, index, i + 1);
        const char *problem = read_unsigned(L, -1, UINT32_MAX, &node);
        if (problem) luaL_argerror(L, index, lua_pushfstring(L, "nodes expected: %s", problem));
        nodes[i] = (uint32_t)node;
        lua_pop(L, 1);
    }
    lua_replace(L, index); /* where it stays as long as the call */
    *count = (uint32_t)total;
    return nodes;
}

int added(lua_State *L, state *s, gpo_status status, const uint32_t *node) {
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_unsigned(L, *node);
    return 1;
}
