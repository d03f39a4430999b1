/* element.c: the types of array elements and kernel parameters, and how Lua's values become them. A value that a type
 * can't hold is refused; only what is a fraction anyway is rounded, to f32. */
#include <math.h>
#include <string.h>

#include "binding.h"

const char *const element_names[ELEMENT_COUNT + 1] = {"u8",  "i8",  "u16", "i16", "u32", "i32",
                                                      "u64", "i64", "f32", "f64", NULL};
const uint8_t element_sizes[ELEMENT_COUNT] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

int find_element_type(const char *name, size_t length) {
    for (int type = 0; type < ELEMENT_COUNT; ++type)
        if (strlen(element_names[type]) == length && memcmp(element_names[type], name, length) == 0) return type;
    return -1;
}

enum element check_element_type(lua_State *L, int index) {
    return (enum element)check_word(L, index, NULL, element_names);
}

static const char *read_float(lua_State *L, int index, enum element type, void *out) {
    if (lua_type(L, index) != LUA_TNUMBER) return "a number expected";
    const double value = lua_tonumber(L, index);
#if HAS_INTEGERS
    if (lua_isinteger(L, index)) {
        const lua_Integer integer = lua_tointeger(L, index);
        const lua_Integer limit = type == ELEMENT_F32 ? (lua_Integer)1 << 24 : (lua_Integer)1 << 53;
        const double kept = type == ELEMENT_F32 ? (double)(float)integer : (double)integer;
        /* 2^63 as a double is no lua_Integer: compare as doubles only where that is exact. */
        if ((integer > limit || integer < -limit) && (kept >= 0x1p63 || (lua_Integer)kept != integer))
            return "the integer would be rounded; pass a float, or another type's";
    }
#endif
    if (type == ELEMENT_F64) {
        memcpy(out, &value, sizeof value);
        return NULL;
    }
    const float single = (float)value;
    if (isinf(single) && !isinf(value)) return "the number is out of range for f32";
    memcpy(out, &single, sizeof single);
    return NULL;
}

const char *read_element(lua_State *L, int index, enum element type, void *out) {
    static const uint64_t largest[] = {UINT8_MAX,  INT8_MAX,  UINT16_MAX, INT16_MAX,
                                       UINT32_MAX, INT32_MAX, UINT64_MAX, INT64_MAX};
    if (type >= ELEMENT_F32) return read_float(L, index, type, out);
    uint64_t bits = 0;
    const char *problem;
    if (type & 1) {
        int64_t value = 0;
        const int64_t most = (int64_t)largest[type];
        problem = read_signed(L, index, -most - 1, most, &value);
        bits = (uint64_t)value;
    } else {
        problem = read_unsigned(L, index, largest[type], &bits);
    }
    if (problem) return problem;
    switch (element_sizes[type]) { /* little-endian: the low bytes */
    case 1: memcpy(out, &bits, 1); break;
    case 2: memcpy(out, &bits, 2); break;
    case 4: memcpy(out, &bits, 4); break;
    default: memcpy(out, &bits, 8);
    }
    return NULL;
}

const char *read_pattern(lua_State *L, int index, enum element type, uint32_t *pattern, uint32_t *bytes,
                         uint64_t *count) {
    uint32_t halves[2] = {0, 0};
    const char *problem = read_element(L, index, type, halves);
    if (problem) return problem;
    *pattern = halves[0];
    *bytes = element_sizes[type];
    if (*bytes < 8) return NULL;
    if (halves[0] != halves[1])
        return "a fill with elements of 8 bytes needs two equal halves: launch a kernel instead";
    *bytes = 4;
    *count *= 2;
    return NULL;
}

#define PUSH(type, push)               \
    {                                  \
        type element;                  \
        memcpy(&element, value, sizeof element); \
        push(L, element);              \
        return;                        \
    }
void push_element(lua_State *L, enum element type, const void *value) {
    switch (type) {
    case ELEMENT_U8: PUSH(uint8_t, push_unsigned)
    case ELEMENT_I8: PUSH(int8_t, push_signed)
    case ELEMENT_U16: PUSH(uint16_t, push_unsigned)
    case ELEMENT_I16: PUSH(int16_t, push_signed)
    case ELEMENT_U32: PUSH(uint32_t, push_unsigned)
    case ELEMENT_I32: PUSH(int32_t, push_signed)
    case ELEMENT_U64: PUSH(uint64_t, push_unsigned)
    case ELEMENT_I64: PUSH(int64_t, push_signed)
    case ELEMENT_F32: PUSH(float, lua_pushnumber)
    case ELEMENT_F64: PUSH(double, lua_pushnumber)
    default: lua_pushnil(L);
    }
}
