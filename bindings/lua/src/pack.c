/* pack.c: values as the bytes of a C struct, and back: for parameters of kernels (bytes:N), tasks and answers. Each is
 * aligned to its size, and the struct to its largest member's, as compilers do. */
#include <string.h>

#include "binding.h"

/* A member of the struct. */
typedef struct member {
    parameter type;
    size_t offset;
} member;

typedef struct layout {
    const char *at;              /* the rest of the types */
    size_t end, alignment;       /* of the members so far */
} layout;

static size_t aligned(size_t offset, size_t to) { return (offset + to - 1) / to * to; }

static size_t alignment_of(const parameter *type) { return type->kind == PARAMETER_BYTES ? 1 : type->size; }

/* The next member; 0: there is none. Raises if its type is unknown. */
static int next_member(lua_State *L, layout *l, member *m) {
    l->at += strspn(l->at, " ,\t\n");
    const size_t length = strcspn(l->at, " ,\t\n");
    if (length == 0) return 0;
    if (!read_parameter_type(l->at, length, &m->type) || m->type.kind == PARAMETER_QUEUE) {
        lua_pushlstring(L, l->at, length);
        luaL_error(
            L, "'%s' is no type of a value: u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, ptr or bytes:N expected",
            lua_tostring(L, -1));
    }
    const size_t alignment = alignment_of(&m->type);
    m->offset = aligned(l->end, alignment);
    l->end = m->offset + m->type.size;
    if (alignment > l->alignment) l->alignment = alignment;
    l->at += length;
    return 1;
}

static size_t size_of(lua_State *L, const char *types, int *count) {
    layout l = {types, 0, 1};
    member m;
    for (*count = 0; next_member(L, &l, &m); ++*count) {}
    return aligned(l.end, l.alignment);
}

/* pack(types, values...): a string. */
int kernel_pack(lua_State *L) {
    state *s = the_state(L);
    const char *types = luaL_checkstring(L, 1);
    const int given = lua_gettop(L) - 1;
    int count = 0;
    const size_t size = size_of(L, types, &count);
    if (given != count) return luaL_error(L, "%d values expected, got %d", count, given);
    char *bytes = lua_newuserdata(L, size + 1);
    memset(bytes, 0, size + 1);
    layout l = {types, 0, 1};
    member m;
    for (int i = 0; next_member(L, &l, &m); ++i) {
        array_object *array = NULL;
        const char *problem = read_parameter(L, s, i + 2, &m.type, bytes + m.offset, &array);
        if (problem) return luaL_argerror(L, i + 2, problem);
    }
    lua_pushlstring(L, bytes, size);
    return 1;
}

static void push_member(lua_State *L, state *s, const member *m, const char *bytes) {
    uint64_t address;
    if (m->type.kind < ELEMENT_COUNT) {
        push_element(L, (enum element)m->type.kind, bytes + m->offset);
    } else if (m->type.kind == PARAMETER_BYTES) {
        lua_pushlstring(L, bytes + m->offset, m->type.size);
    } else {
        memcpy(&address, bytes + m->offset, sizeof address);
        push_address(L, s, address);
    }
}

/* unpack(types, bytes [, position]): the values, and the position behind them. */
int kernel_unpack(lua_State *L) {
    size_t length;
    int count = 0;
    const char *types = luaL_checkstring(L, 1), *bytes = luaL_checklstring(L, 2, &length);
    const uint64_t position = optional_unsigned(L, 3, UINT32_MAX, 1);
    const size_t size = size_of(L, types, &count);
    luaL_argcheck(L, position >= 1 && position - 1 + size <= length, 2, "the string is too short");
    luaL_checkstack(L, count + 10, "too many values");
    layout l = {types, 0, 1};
    member m;
    while (next_member(L, &l, &m)) push_member(L, the_state(L), &m, bytes + (position - 1));
    push_unsigned(L, position + size);
    return count + 1;
}
