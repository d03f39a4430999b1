/* record.c: structs of the library as tables, by lists of their fields. */
#include <string.h>

#include "binding.h"

static void *at(void *record, size_t offset) { return (char *)record + offset; }

static int complain(lua_State *L, const char *name, const char *problem) {
    return luaL_error(L, "option '%s': %s", name, problem);
}

void copy_table(lua_State *L, int index) {
    luaL_checkstack(L, 10, NULL);
    lua_newtable(L);
    const int copy = lua_gettop(L);
    lua_pushnil(L);
    while (lua_next(L, index)) { /* a finalizer could change the table: no call here may run the collector */
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, copy);
    }
    lua_replace(L, index);
}

void append(lua_State *L, int list) { lua_rawseti(L, list, (int)lua_rawlen(L, list) + 1); }

void take_list(lua_State *L, int index) {
    luaL_checktype(L, index, LUA_TTABLE);
    copy_table(L, index);
    const int count = (int)lua_rawlen(L, index);
    lua_createtable(L, count, 0);
    for (int i = count; i > 0; --i) {
        lua_rawgeti(L, index, i);
        lua_rawseti(L, -2, i);
        lua_pushnil(L);
        lua_rawseti(L, index, i);
    }
}

void take_table(lua_State *L, int index, const field *fields, const char *what) {
    luaL_checktype(L, index, LUA_TTABLE);
    copy_table(L, index);
    lua_pushnil(L);
    while (lua_next(L, index)) {
        lua_pop(L, 1);
        const char *key = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
        const field *f = fields;
        while (key && f->name && strcmp(f->name, key) != 0) ++f;
        if (key && f->name) continue;
        luaL_Buffer known;
        luaL_buffinit(L, &known);
        for (f = fields; f->name; ++f) {
            if (f != fields) luaL_addstring(&known, ", ");
            luaL_addstring(&known, f->name);
        }
        luaL_pushresult(&known);
        luaL_error(L, "there is no %s '%s'; there are: %s", what, key ? key : luaL_typename(L, -2),
                   lua_tostring(L, -1));
    }
}

/* Pushes "svg, dot". */
static const char *push_words(lua_State *L, const char *const *words) {
    luaL_Buffer known;
    luaL_buffinit(L, &known);
    for (const char *const *name = words; *name; ++name) {
        if (name != words) luaL_addstring(&known, ", ");
        luaL_addstring(&known, *name);
    }
    luaL_pushresult(&known);
    return lua_tostring(L, -1);
}

int check_word(lua_State *L, int index, const char *otherwise, const char *const *words) {
    const char *given = otherwise ? luaL_optstring(L, index, otherwise) : luaL_checkstring(L, index);
    for (int value = 0; words[value]; ++value)
        if (strcmp(words[value], given) == 0) return value;
    return luaL_argerror(L, index,
                         lua_pushfstring(L, "invalid option '%s'; there are: %s", given, push_words(L, words)));
}

static void read_word(lua_State *L, const field *f, void *record) {
    const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    for (uint32_t value = 0; f->words[value]; ++value)
        if (strcmp(f->words[value], word) == 0) {
            memcpy(at(record, f->offset), &value, sizeof value);
            return;
        }
    luaL_error(L, "option '%s': one of these expected: %s", f->name, push_words(L, f->words));
}

/* The list on top, whose copy replaces it in the table at `index`, and has the memory with the strings at 0. */
static void read_strings(lua_State *L, int index, const field *f, void *record) {
    const int list = lua_gettop(L);
    if (!lua_istable(L, list)) complain(L, f->name, "a table of strings expected");
    copy_table(L, list);
    const uint32_t count = (uint32_t)lua_rawlen(L, list);
    const char **strings = lua_newuserdata(L, sizeof *strings * (count + 1));
    lua_rawseti(L, list, 0);
    for (uint32_t i = 0; i < count; ++i) {
        lua_rawgeti(L, list, (int)i + 1);
        if (lua_type(L, -1) != LUA_TSTRING) complain(L, f->name, "a table of strings expected");
        strings[i] = lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    lua_pushvalue(L, list);
    lua_setfield(L, index, f->name);
    *(const char ***)at(record, f->offset) = strings;
    *(uint32_t *)at(record, f->extra) = count;
}

static const char *read_object(lua_State *L, const field *f, void **handle) {
    state *s = the_state(L);
    const object *o = test_object(L, s, lua_gettop(L), (enum class_id)f->extra);
    const char *name = classes[f->extra].name;
    if (!o || !is_open(s, o)) return lua_pushfstring(L, "%s %s that is open expected", article(name), name);
    *handle = o->handle;
    return NULL;
}

/* The value on top, a field of the table at `index`. */
static void read_field(lua_State *L, int index, const field *f, void *record) {
    uint64_t natural = 0;
    int64_t integer = 0;
    const char *problem = NULL;
    switch (f->kind) {
    case FIELD_U32:
        problem = read_unsigned(L, -1, UINT32_MAX, &natural);
        if (!problem) *(uint32_t *)at(record, f->offset) = (uint32_t)natural;
        break;
    case FIELD_U64:
        problem = read_unsigned(L, -1, UINT64_MAX, &natural);
        if (!problem) *(uint64_t *)at(record, f->offset) = natural;
        break;
    case FIELD_I32:
        problem = read_signed(L, -1, INT32_MIN, INT32_MAX, &integer);
        if (!problem) *(int32_t *)at(record, f->offset) = (int32_t)integer;
        break;
    case FIELD_I64:
        problem = read_signed(L, -1, INT64_MIN, INT64_MAX, &integer);
        if (!problem) *(int64_t *)at(record, f->offset) = integer;
        break;
    case FIELD_STRING:
        if (lua_type(L, -1) != LUA_TSTRING) problem = "a string expected";
        else if (strlen(lua_tostring(L, -1)) != lua_rawlen(L, -1)) problem = "the string has a zero byte in it";
        else *(const char **)at(record, f->offset) = lua_tostring(L, -1);
        break;
    case FIELD_FLAG:
        if (!lua_isboolean(L, -1)) problem = "true or false expected";
        else if (lua_toboolean(L, -1)) *(uint32_t *)at(record, f->offset) |= f->extra;
        break;
    case FIELD_WORD: read_word(L, f, record); break;
    case FIELD_OBJECT: problem = read_object(L, f, at(record, f->offset)); break;
    case FIELD_STRINGS: read_strings(L, index, f, record); break;
    case FIELD_THREE: read_three(L, lua_gettop(L), f->name, at(record, f->offset)); break;
    default: break; /* what only comes out, and what the caller reads */
    }
    if (problem) complain(L, f->name, problem);
}

void read_record(lua_State *L, int index, const field *fields, void *record) {
    if (lua_isnoneornil(L, index)) return;
    take_table(L, index, fields, "option");
    for (const field *f = fields; f->name; ++f) {
        lua_pushstring(L, f->name);
        lua_rawget(L, index);
        if (!lua_isnil(L, -1)) read_field(L, index, f, record);
        lua_pop(L, 1);
    }
}

/* A value that only a newer library knows becomes the word for 0. */
static void push_word(lua_State *L, const char *const *words, uint32_t value) {
    uint32_t known = 0;
    while (known < value && words[known]) ++known;
    lua_pushstring(L, words[known] ? words[known] : words[0]);
}

int keep_function(lua_State *L, int index, const char *name, int owner, int slot) {
    lua_getfield(L, index, name);
    const int given = !lua_isnil(L, -1);
    if (given && !lua_isfunction(L, -1)) complain(L, name, "a function expected");
    if (given) keep(L, owner, slot, lua_gettop(L));
    lua_pop(L, 1);
    return given;
}

static void push_field(lua_State *L, state *s, const field *f, const void *member) {
    switch (f->kind) {
    case FIELD_U32: push_unsigned(L, *(const uint32_t *)member); break;
    case FIELD_I32: push_signed(L, *(const int32_t *)member); break;
    case FIELD_U64: push_unsigned(L, *(const uint64_t *)member); break;
    case FIELD_I64: push_signed(L, *(const int64_t *)member); break;
    case FIELD_F64: lua_pushnumber(L, *(const double *)member); break;
    case FIELD_ADDRESS: push_address(L, s, *(const uint64_t *)member); break;
    case FIELD_BOOL: lua_pushboolean(L, *(const uint32_t *)member != 0); break;
    case FIELD_FLAG: lua_pushboolean(L, (*(const uint32_t *)member & f->extra) != 0); break;
    case FIELD_CHARS: lua_pushlstring(L, member, strnlen(member, f->extra)); break;
    case FIELD_BYTES: lua_pushlstring(L, member, f->extra); break;
    case FIELD_STATUS: lua_pushstring(L, s->api->status_name(*(const gpo_status *)member)); break;
    case FIELD_WORD: push_word(L, f->words, *(const uint32_t *)member); break;
    case FIELD_THREE:
        lua_createtable(L, 3, 0);
        for (int i = 0; i < 3; ++i) {
            push_unsigned(L, ((const uint32_t *)member)[i]);
            lua_rawseti(L, -2, i + 1);
        }
        break;
    case FIELD_U64S:
        lua_createtable(L, (int)(f->extra / 8), 0);
        for (uint32_t i = 0; i < f->extra / 8; ++i) {
            push_unsigned(L, ((const uint64_t *)member)[i]);
            lua_rawseti(L, -2, (int)i + 1);
        }
        break;
    default: lua_pushnil(L);
    }
}

void push_record(lua_State *L, state *s, const field *fields, const void *record) {
    lua_newtable(L);
    for (const field *f = fields; f->name; ++f) {
        push_field(L, s, f, (const char *)record + f->offset);
        lua_setfield(L, -2, f->name);
    }
}

int push_list(lua_State *L, state *s, list_reader read, const void *context, const field *fields, size_t size) {
    uint64_t capacity = 64, count = 0;
    const char *records = NULL;
    for (;; capacity *= 4) {
        void *memory = lua_newuserdata(L, capacity * size);
        const gpo_status status = read(s, context, memory, capacity, &count);
        if (status != GPO_SUCCESS) return failure(L, s, status);
        records = memory;
        if (count < capacity) break;
        lua_pop(L, 1);
    }
    lua_createtable(L, (int)count, 0);
    for (uint64_t i = 0; i < count; ++i) {
        push_record(L, s, fields, records + i * size);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}
