/* object.c: userdata around handles: their classes, their ends, and what they keep alive. */
#include <stdio.h>
#include <string.h>

#include "buckets.h"
#include "calls.h"

void *test_object(lua_State *L, state *s, int index, enum class_id id) {
    object *memory = lua_touserdata(L, index);
    if (!memory) return NULL;
    object **place = place_of(s, memory);
    if (*place == memory && memory->state == s) return memory->id == id ? memory : NULL;
    if (lua_type(L, index) != LUA_TUSERDATA) return NULL;
    /* The metatable's address says what a userdata is: nothing is looked up by name. */
    if (!lua_getmetatable(L, index)) return NULL;
    const void *metatable = lua_topointer(L, -1);
    lua_pop(L, 1);
    if (metatable != s->metatables[id]) return NULL;
    if (!memory->closed)
        *place = memory; /* a closed one may have been collected, and reached from another's finalizer */
    return memory;
}

const char state_is_closed[] = "the Lua state is being closed";

static int type_error(lua_State *L, int index, const char *expected) {
    const char *got = luaL_typename(L, index);
    if (luaL_getmetafield(L, index, "__name")) got = lua_tostring(L, -1);
    return luaL_argerror(L, index, lua_pushfstring(L, "%s expected, got %s", expected, got));
}

void *check_object_even_closed(lua_State *L, state *s, int index, enum class_id id) {
    void *memory = test_object(L, s, index, id);
    if (!memory) {
        char expected[32];
        snprintf(expected, sizeof expected, "gpuorch.%s", classes[id].name);
        type_error(L, index, expected);
    }
    return memory;
}

void *check_unknown_object(lua_State *L, state *s, int index, enum class_id id) {
    object *o = check_object_even_closed(L, s, index, id);
    if (is_open(s, o)) return o;
    luaL_argerror(L, index, s->bridge ? lua_pushfstring(L, "the %s is closed", classes[id].name) : state_is_closed);
    return NULL;
}

const char *article(const char *word) { return strchr("aeiou", word[0]) ? "an" : "a"; }

void *optional_object(lua_State *L, state *s, int index, enum class_id id) {
    return lua_isnoneornil(L, index) ? NULL : check_object(L, s, index, id);
}

void *check_objects(lua_State *L, state *s, int list, enum class_id id, int runtime, const char *option) {
    const int count = (int)lua_rawlen(L, list);
    void **handles = lua_newuserdata(L, sizeof *handles * (size_t)(count + 1));
    for (int i = 0; i < count; ++i) {
        lua_rawgeti(L, list, i + 1);
        const object *o = test_object(L, s, lua_gettop(L), id);
        if (!o || !is_open(s, o))
            luaL_error(L, "%snumber %d: %s %s that is open expected", option, i + 1, article(classes[id].name),
                       classes[id].name);
        if (runtime && o->runtime != runtime)
            luaL_error(L, "%snumber %d: the %s is of another runtime", option, i + 1, classes[id].name);
        handles[i] = o->handle;
        lua_pop(L, 1);
    }
    return handles;
}

object *any_object(lua_State *L, state *s, int index) {
    for (int id = 0; id < CLASS_ARRAY; ++id)
        if (test_object(L, s, index, (enum class_id)id)) return check_object(L, s, index, (enum class_id)id);
    type_error(L, index, "an object of gpuorch");
    return NULL;
}

void *new_object(lua_State *L, state *s, enum class_id id, int parent) {
    if (!s->bridge) luaL_error(L, "%s", state_is_closed);
    object *o = lua_newuserdata(L, classes[id].size);
    memset(o, 0, classes[id].size);
    o->id = id;
    o->state = s;
    lua_createtable(L, 1, 0);
    if (parent) {
        const object *above = lua_touserdata(L, parent);
        o->runtime = above->runtime;
        o->above = above->handle;
        lua_pushvalue(L, parent);
        lua_rawseti(L, -2, 1);
    }
    lua_setuservalue(L, -2);
    /* Last: from here on it is finalized, and nothing raises until the caller has made it whole. */
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->classes);
    lua_rawgeti(L, -1, id + 1);
    lua_setmetatable(L, -3);
    lua_pop(L, 1);
    return o;
}

void keep(lua_State *L, int index, int slot, int value) {
    lua_pushvalue(L, value);
    lua_getuservalue(L, index < 0 ? index - 1 : index);
    lua_insert(L, -2);
    lua_rawseti(L, -2, slot);
    lua_pop(L, 1);
}

void push_kept(lua_State *L, int index, int slot) {
    lua_getuservalue(L, index);
    lua_rawgeti(L, -1, slot);
    lua_replace(L, -2);
}

int remember(lua_State *L, state *s, int index) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->known);
    s->newest = free_number(L, lua_gettop(L), s->newest, 1);
    lua_pushvalue(L, index);
    lua_rawseti(L, -2, s->newest);
    lua_pop(L, 1);
    return s->newest;
}

int push_known(lua_State *L, state *s, int number) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->known);
    lua_rawgeti(L, -1, number);
    lua_replace(L, -2);
    return !lua_isnil(L, -1);
}

runtime_context *context_of(lua_State *L, state *s, const object *o) {
    runtime_context *context = NULL;
    if (push_known(L, s, o->runtime)) context = ((runtime_object *)lua_touserdata(L, -1))->context;
    lua_pop(L, 1);
    return context;
}

static void destroy(lua_State *L, state *s, int index, int collected) {
    object *o = lua_touserdata(L, index);
    if (o->id == CLASS_ARRAY && s->recorder && is_recorded(L, s, index)) return;
    lua_pushvalue(L, index);
    /* Of borrowed objects, only arrays (their streams) and templates (their recipe) have something to release. */
    if (!o->borrowed || o->id == CLASS_ARRAY || o->id == CLASS_TEMPLATE) classes[o->id].destroy(L, s, o, collected);
    lua_pop(L, 1);
    o->handle = NULL;
}

/* Whether users still need the handle. Arrays need a stream only until the stream is idle. */
static int is_needed(state *s, const object *o) {
    if (o->users == 0) return 0;
    return o->id != CLASS_STREAM || !is_idle(s, (const stream_object *)o);
}

void close_object(lua_State *L, state *s, int index, int collected) {
    object *o = lua_touserdata(L, index);
    if (o->closed || !o->handle) return;
    o->closed = 1;
    if (o->id == CLASS_ARRAY && !belongs_here(s)) free_in_child(s, (array_object *)o);
    /* Once the state is closed, close_state has released the object's resources. */
    if (!belongs_here(s) || !s->bridge) o->handle = NULL;
    else if (!is_needed(s, o)) destroy(L, s, index, collected);
}

void drop_user(lua_State *L, state *s, int index) {
    object *o = lua_touserdata(L, index);
    if (--o->users == 0 && o->closed && o->handle && belongs_here(s)) destroy(L, s, index, 1);
}

static int method_close(lua_State *L) {
    state *s = the_state(L);
    object *o = lua_touserdata(L, 1);
    int known = 0;
    for (int id = 0; o && id < CLASS_COUNT && !known; ++id) known = test_object(L, s, 1, (enum class_id)id) != NULL;
    if (!known) type_error(L, 1, "an object of gpuorch");
    close_object(L, s, 1, !s->bridge);
    return 0;
}

static int metamethod_gc(lua_State *L) {
    state *s = the_state(L);
    object *o = lua_touserdata(L, 1);
    luaL_checkstack(L, 20, NULL);
    close_object(L, s, 1, 1);
    o->closed = 1;
    if (*place_of(s, o) == o) *place_of(s, o) = NULL;
    if (o->id == CLASS_KERNEL) free_kernel(s, o);
    if (o->id == CLASS_OPERATION) free_operation(s, o);
    if (o->id == CLASS_CQ) free_cq(s, o);
    return 0;
}

static int metamethod_tostring(lua_State *L) {
    state *s = the_state(L);
    const object *o = lua_touserdata(L, 1);
    char label[64] = "";
    const char *name = classes[o->id].name;
    if (o->closed || !o->handle) {
        lua_pushfstring(L, "gpuorch.%s (closed)", name);
        return 1;
    }
    if (o->id < CLASS_ARRAY && s->api->object_get_label(o->handle, label, sizeof label, NULL) == GPO_SUCCESS &&
        label[0])
        lua_pushfstring(L, "gpuorch.%s \"%s\"", name, label);
    else
        lua_pushfstring(L, "gpuorch.%s: %p", name, (void *)o);
    return 1;
}

static const luaL_Reg every_object[] = {
    {"error", object_get_error}, {"label", object_get_label}, {"set_label", object_set_label}, {NULL, NULL}};

void push_functions(lua_State *L, int state_index, const luaL_Reg *functions) {
    for (; functions->name; ++functions) {
        lua_pushvalue(L, state_index);
        lua_pushcclosure(L, functions->func, 1);
        lua_setfield(L, -2, functions->name);
    }
}

/* Fills the table on top with metatables, at 1 and above. */
void make_classes(lua_State *L, state *s, int state_index) {
    static const luaL_Reg metamethods[] = {
        {"__gc", metamethod_gc}, {"__close", method_close}, {"__tostring", metamethod_tostring}, {NULL, NULL}};
    static const luaL_Reg close[] = {{"close", method_close}, {NULL, NULL}};
    static const luaL_Reg array_metamethods[] = {{"__newindex", array_newindex}, {"__len", array_length}, {NULL, NULL}};
    for (int id = 0; id < CLASS_COUNT; ++id) {
        lua_newtable(L);
        s->metatables[id] = lua_topointer(L, -1);
        push_functions(L, state_index, metamethods);
        lua_pushfstring(L, "gpuorch.%s", classes[id].name);
        lua_setfield(L, -2, "__name");
        /* Hides the metatable, and so __gc, from Lua. */
        lua_pushfstring(L, "gpuorch.%s", classes[id].name);
        lua_setfield(L, -2, "__metatable");
        lua_newtable(L);
        push_functions(L, state_index, close);
        if (id < CLASS_ARRAY) push_functions(L, state_index, every_object);
        if (classes[id].methods) push_functions(L, state_index, classes[id].methods);
        if (id == CLASS_ARRAY) {
            lua_pushvalue(L, state_index);
            lua_pushvalue(L, -2);
            lua_pushcclosure(L, array_index, 2);
            lua_setfield(L, -3, "__index");
            lua_pop(L, 1);
            push_functions(L, state_index, array_metamethods);
        } else {
            lua_setfield(L, -2, "__index");
        }
        lua_rawseti(L, -2, id + 1);
    }
}
