/* parameters.c: the types of templates' parameters, and how Lua's values become them. */
#include <string.h>

#include "template.h"

/* --- types --- */

enum { KIND_BITS = 4 }; /* of a type as a number */
_Static_assert(PARAMETER_UNKNOWN < 1 << KIND_BITS, "kinds fit");

void push_type(lua_State *L, const parameter *type) {
    const uint32_t detail = type->kind == PARAMETER_PATTERN ? type->offset : type->size;
    lua_pushinteger(L, (lua_Integer)(detail << KIND_BITS | type->kind));
}

parameter type_at(lua_State *L, int index) {
    if (lua_isnil(L, index)) return (parameter){PARAMETER_UNKNOWN, 0, 0};
    const uint32_t code = (uint32_t)lua_tointeger(L, index), detail = code >> KIND_BITS;
    const uint8_t kind = code & ((1 << KIND_BITS) - 1);
    return kind == PARAMETER_PATTERN ? pattern_type((enum element)detail) : (parameter){kind, detail, 0};
}

void push_parameter_name(lua_State *L, int recipe, int key) {
    lua_pushvalue(L, key);
    if (lua_type(L, key) == LUA_TSTRING) return;
    lua_rawgeti(L, recipe, RECIPE_NUMBERS);
    lua_insert(L, -2);
    lua_rawget(L, -2);
    lua_remove(L, -2);
}

parameter type_of(lua_State *L, int recipe, int key) {
    lua_rawgeti(L, recipe, RECIPE_TYPES);
    push_parameter_name(L, recipe, key);
    if (!lua_isnil(L, -1)) lua_rawget(L, -2);
    const parameter type = type_at(L, lua_gettop(L));
    lua_pop(L, 2);
    return type;
}

parameter pattern_type(enum element type) { return (parameter){PARAMETER_PATTERN, 4, (uint32_t)type}; }

void push_fill_type(lua_State *L, enum element type) {
    const parameter fill = pattern_type(type);
    push_type(L, &fill);
}

int same_type(const parameter *a, const parameter *b) {
    return a->kind == b->kind && a->size == b->size && a->offset == b->offset;
}

/* --- values --- */

static const char *read_value(lua_State *L, state *s, int index, const parameter *type, char room[16],
                              array_object **array) {
    uint32_t shape[3] = {1, 1, 1}, word = 0, bytes;
    uint64_t count = 1;
    const char *problem = NULL;
    switch (type->kind) {
    case PARAMETER_SHAPE:
        problem = read_shape(L, index, shape);
        memcpy(room, shape, sizeof shape);
        return problem;
    case PARAMETER_SWITCH:
        if (!lua_isboolean(L, index)) return "true or false expected";
        word = (uint32_t)lua_toboolean(L, index);
        break;
    case PARAMETER_PATTERN: problem = read_pattern(L, index, (enum element)type->offset, &word, &bytes, &count); break;
    default: return read_parameter(L, s, index, type, room, array);
    }
    memcpy(room, &word, sizeof word);
    return problem;
}

static int complain(lua_State *L, int key, const char *problem) {
    lua_pushvalue(L, key); /* tostring changes what lua_next needs */
    return luaL_error(L, "parameter '%s': %s", lua_tostring(L, -1), problem);
}

void read_setting(lua_State *L, state *s, int recipe, int key, int index, gpo_setting *setting, char room[16]) {
    array_object *array = NULL;
    const parameter known = type_of(L, recipe, key);
    *setting = (gpo_setting){.struct_size = sizeof *setting, .value = room};
    uint64_t number = 0;
    const char *problem = NULL;
    if (lua_type(L, key) == LUA_TSTRING) setting->name = lua_tostring(L, key);
    else problem = read_unsigned(L, key, UINT32_MAX, &number);
    if (problem) complain(L, key, problem);
    setting->parameter = (uint32_t)number;
    if (known.kind == PARAMETER_UNKNOWN) return; /* C says what is wrong with the name */
    setting->bytes = known.size;
    if (known.kind != PARAMETER_BYTES) problem = read_value(L, s, index, &known, room, &array);
    else if (lua_type(L, index) != LUA_TSTRING) problem = "a string of bytes expected";
    else if (lua_rawlen(L, index) != known.size) problem = "the string has another size than the parameter";
    else setting->value = lua_tostring(L, index);
    if (problem) complain(L, key, problem);
}

typedef struct room { /* for a value, behind the settings */
    char bytes[16];
} room;

void read_settings_again(lua_State *L, state *s, int recipe, int index, gpo_setting *settings, uint64_t count) {
    room *rooms = (room *)(settings + count);
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1), ++settings, ++rooms)
        read_setting(L, s, recipe, lua_gettop(L) - 1, lua_gettop(L), settings, rooms->bytes);
}

gpo_setting *read_settings(lua_State *L, state *s, int recipe, int index, uint64_t *count) {
    *count = 0;
    if (lua_isnoneornil(L, index)) return NULL;
    luaL_checktype(L, index, LUA_TTABLE);
    copy_table(L, index);
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        const int type = lua_type(L, -2);
        if (type != LUA_TSTRING && type != LUA_TNUMBER)
            luaL_error(L, "parameters are known by names or numbers, got a key that is a %s", lua_typename(L, type));
        ++*count;
    }
    gpo_setting *settings = lua_newuserdata(L, (size_t)*count * (sizeof *settings + sizeof(room)) + 1);
    read_settings_again(L, s, recipe, index, settings, *count);
    return settings;
}

void use_settings(lua_State *L, state *s, int index, int stream_index, stream_object *stream) {
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        const int value = lua_gettop(L);
        array_object *array = test_object(L, s, value, CLASS_ARRAY);
        if (array) use_array(L, s, value, array, stream_index, stream);
    }
}

static void push_pattern(lua_State *L, enum element type, uint32_t word) {
    const uint32_t halves[2] = {word, word};
    push_element(L, type, halves);
}

void push_value(lua_State *L, state *s, const parameter *type, const void *value) {
    uint32_t words[3] = {0};
    uint64_t address = 0;
    if (type->kind < ELEMENT_COUNT) {
        push_element(L, (enum element)type->kind, value);
        return;
    }
    memcpy(words, value, type->size < sizeof words ? type->size : sizeof words);
    memcpy(&address, words, sizeof address);
    switch (type->kind) {
    case PARAMETER_POINTER: push_address(L, s, address); break;
    case PARAMETER_SWITCH: lua_pushboolean(L, words[0] != 0); break;
    case PARAMETER_PATTERN: push_pattern(L, (enum element)type->offset, words[0]); break;
    case PARAMETER_SHAPE:
        lua_createtable(L, 3, 0);
        for (int i = 0; i < 3; ++i) {
            push_unsigned(L, words[i]);
            lua_rawseti(L, -2, i + 1);
        }
        break;
    default: lua_pushlstring(L, value, type->size);
    }
}
