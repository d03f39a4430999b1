/* status.c: the library's results and failures as Lua values. */
#include <string.h>

#include "binding.h"

/* Statuses below this are answers: nothing is wrong. */
#define FIRST_FAILURE 10

int failure_with(lua_State *L, state *s, gpo_status status, const char *message) {
    if (status > 0 && status < FIRST_FAILURE) lua_pushboolean(L, 0);
    else lua_pushnil(L);
    lua_pushstring(L, message);
    lua_pushstring(L, s->api->status_name(status));
    return 3;
}

int failure(lua_State *L, state *s, gpo_status status) {
    gpo_error error = {.struct_size = sizeof error};
    const char *text = s->api->status_text(status);
    if (status >= FIRST_FAILURE && s->api->last_error(&error) == GPO_SUCCESS && error.status == status &&
        error.message[0])
        text = error.message;
    return failure_with(L, s, status, text);
}

int result(lua_State *L, state *s, gpo_status status) {
    if (status != GPO_SUCCESS) return failure(L, s, status);
    lua_pushboolean(L, 1);
    return 1;
}

int query_result(lua_State *L, state *s, gpo_status status) {
    if (status != GPO_SUCCESS && status != GPO_NOT_READY) return failure(L, s, status);
    lua_pushboolean(L, status == GPO_SUCCESS);
    return 1;
}

int created(lua_State *L, state *s, gpo_status status) { return status == GPO_SUCCESS ? 1 : failure(L, s, status); }

/* A table, or nil if there was no failure. */
void push_error_record(lua_State *L, state *s, const gpo_error *error) {
    if (error->status == GPO_SUCCESS) lua_pushnil(L);
    else push_record(L, s, gpo_error_fields, error);
}

int object_get_error(lua_State *L) {
    state *s = the_state(L);
    gpo_error error = {.struct_size = sizeof error};
    const gpo_status status = s->api->object_get_error(any_object(L, s, 1)->handle, &error);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_error_record(L, s, &error);
    return 1;
}

static gpo_status read_label(void *context, char *buffer, size_t capacity, size_t *needed) {
    void **both = context;
    return ((const gpo_api *)both[0])->object_get_label(both[1], buffer, capacity, needed);
}

int object_get_label(lua_State *L) {
    state *s = the_state(L);
    void *both[] = {(void *)s->api, any_object(L, s, 1)->handle};
    return push_text(L, s, read_label, both, 0);
}

int object_set_label(lua_State *L) {
    state *s = the_state(L);
    object *o = any_object(L, s, 1);
    return result(L, s, s->api->object_set_label(o->handle, luaL_optstring(L, 2, NULL)));
}

int push_text(lua_State *L, state *s, text_reader read, void *context, int binary) {
    size_t needed = 0;
    gpo_status status = read(context, NULL, 0, &needed);
    for (int turn = 0; turn < 8 && (status == GPO_SUCCESS || status == GPO_BUFFER_TOO_SMALL); ++turn) {
        /* The text may have grown between the calls. */
        const size_t capacity = needed + 256;
        char *buffer = lua_newuserdata(L, capacity);
        status = read(context, buffer, capacity, &needed);
        if (status == GPO_SUCCESS) {
            lua_pushlstring(L, buffer, binary || needed == 0 ? needed : needed - 1);
            return 1;
        }
        lua_pop(L, 1);
    }
    return failure(L, s, status);
}

static int last_error(lua_State *L) {
    state *s = the_state(L);
    gpo_error error = {.struct_size = sizeof error};
    const gpo_status status = s->api->last_error(&error);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_error_record(L, s, &error);
    return 1;
}

gpo_status check_status_name(lua_State *L, state *s, int index) {
    const char *name = luaL_checkstring(L, index);
    for (gpo_status status = 0; status < GPO_METRICS_ERRORS; ++status)
        if (strcmp(s->api->status_name(status), name) == 0) return status;
    luaL_argerror(L, index, "the name of a status expected, such as \"GPO_CANCELLED\"");
    return GPO_INTERNAL;
}

/* status_name(number), and status_text(name or number). */
static int status_name(lua_State *L) {
    state *s = the_state(L);
    lua_pushstring(L, s->api->status_name((gpo_status)check_signed(L, 1, INT32_MIN, INT32_MAX)));
    return 1;
}

static int status_text(lua_State *L) {
    state *s = the_state(L);
    const gpo_status status = lua_type(L, 1) == LUA_TNUMBER ? (gpo_status)check_signed(L, 1, INT32_MIN, INT32_MAX)
                                                            : check_status_name(L, s, 1);
    lua_pushstring(L, s->api->status_text(status));
    return 1;
}

const luaL_Reg status_functions[] = {
    {"last_error", last_error}, {"status_name", status_name}, {"status_text", status_text}, {NULL, NULL}};
