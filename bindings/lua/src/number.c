/* number.c: integers between Lua and the library, never rounded. Lua 5.1 and 5.2 have doubles only, 5.3 and 5.4 signed
 * 64-bit integers: a value that the interpreter's numbers can't hold exactly is a decimal string. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binding.h"

#define EXACT_IN_DOUBLE 9007199254740992.0 /* 2^53 */

/* The common case: a number that the interpreter holds exactly. */
static int read_plain(lua_State *L, int index, int64_t *out) {
#if HAS_INTEGERS
    if (!lua_isinteger(L, index)) return 0;
    *out = lua_tointeger(L, index);
    return 1;
#else
    if (lua_type(L, index) != LUA_TNUMBER) return 0;
    const double value = lua_tonumber(L, index);
    if (!(value >= -EXACT_IN_DOUBLE && value <= EXACT_IN_DOUBLE)) return 0;
    *out = (int64_t)value;
    return (double)*out == value;
#endif
}

static const char *read_text(const char *text, exact *out) {
    const char *digits = text + (*text == '-');
    char *end;
    out->negative = *text == '-';
    /* strtoull takes blanks and signs; an integer here begins with a digit. */
    if (*digits < '0' || *digits > '9') return "an integer expected, got a string that is none";
    errno = 0;
    const int hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    out->magnitude = strtoull(digits, &end, hexadecimal ? 16 : 10);
    if (*end != '\0') return "an integer expected, got a string that is none";
    if (errno == ERANGE) return "the integer has more than 64 bits";
    return NULL;
}

const char *read_exact(lua_State *L, int index, exact *out) {
    int64_t plain;
    if (read_plain(L, index, &plain)) {
        out->negative = plain < 0;
        out->magnitude = plain < 0 ? 0 - (uint64_t)plain : (uint64_t)plain;
        return NULL;
    }
    const int type = lua_type(L, index);
    if (type == LUA_TSTRING) return read_text(lua_tostring(L, index), out);
    if (type != LUA_TNUMBER) return "an integer expected";
    const double value = lua_tonumber(L, index);
    if (!(floor(value) == value)) return "the number has no integer representation";
    if (!(fabs(value) <= EXACT_IN_DOUBLE))
        return "the number is too large to be exact as a double; pass it as a string";
    out->negative = value < 0;
    out->magnitude = (uint64_t)fabs(value);
    return NULL;
}

const char *read_unsigned(lua_State *L, int index, uint64_t max, uint64_t *out) {
    int64_t plain;
    if (read_plain(L, index, &plain) && plain >= 0 && (uint64_t)plain <= max) {
        *out = (uint64_t)plain;
        return NULL;
    }
    exact value;
    const char *problem = read_exact(L, index, &value);
    if (problem) return problem;
    if ((value.negative && value.magnitude != 0) || value.magnitude > max) {
        char most[24];
        snprintf(most, sizeof most, "%" PRIu64, max);
        return lua_pushfstring(L, "out of range: an integer from 0 to %s expected", most);
    }
    *out = value.magnitude;
    return NULL;
}

const char *read_signed(lua_State *L, int index, int64_t min, int64_t max, int64_t *out) {
    if (read_plain(L, index, out) && *out >= min && *out <= max) return NULL;
    exact value;
    const char *problem = read_exact(L, index, &value);
    if (problem) return problem;
    const uint64_t most = value.negative ? 0 - (uint64_t)min : (uint64_t)max;
    if (value.magnitude > most) {
        char least[24], most_text[24];
        snprintf(least, sizeof least, "%" PRId64, min);
        snprintf(most_text, sizeof most_text, "%" PRId64, max);
        return lua_pushfstring(L, "out of range: an integer from %s to %s expected", least, most_text);
    }
    *out = value.negative ? (int64_t)(0 - value.magnitude) : (int64_t)value.magnitude;
    return NULL;
}

uint64_t check_unsigned(lua_State *L, int index, uint64_t max) {
    uint64_t value = 0;
    const char *problem = read_unsigned(L, index, max, &value);
    if (problem) luaL_argerror(L, index, problem);
    return value;
}

int64_t check_signed(lua_State *L, int index, int64_t min, int64_t max) {
    int64_t value = 0;
    const char *problem = read_signed(L, index, min, max, &value);
    if (problem) luaL_argerror(L, index, problem);
    return value;
}

uint64_t optional_unsigned(lua_State *L, int index, uint64_t max, uint64_t otherwise) {
    return lua_isnoneornil(L, index) ? otherwise : check_unsigned(L, index, max);
}

uint32_t check_from_1(lua_State *L, int index, const char *what) {
    const uint64_t number = check_unsigned(L, index, UINT32_MAX);
    if (number == 0) luaL_argerror(L, index, lua_pushfstring(L, "%s count from 1", what));
    return (uint32_t)(number - 1);
}

void push_unsigned(lua_State *L, uint64_t value) {
    char text[24];
#if HAS_INTEGERS
    if (value <= INT64_MAX) {
        lua_pushinteger(L, (lua_Integer)value);
        return;
    }
#else
    if (value <= (uint64_t)EXACT_IN_DOUBLE) {
        lua_pushnumber(L, (lua_Number)value);
        return;
    }
#endif
    snprintf(text, sizeof text, "%" PRIu64, value);
    lua_pushstring(L, text);
}

void push_signed(lua_State *L, int64_t value) {
#if HAS_INTEGERS
    lua_pushinteger(L, value);
#else
    char text[24];
    if (value >= -(int64_t)EXACT_IN_DOUBLE && value <= (int64_t)EXACT_IN_DOUBLE) {
        lua_pushnumber(L, (lua_Number)value);
        return;
    }
    snprintf(text, sizeof text, "%" PRId64, value);
    lua_pushstring(L, text);
#endif
}

int64_t check_timeout(lua_State *L, int index) {
    if (lua_isnoneornil(L, index)) return -1;
    const double seconds = luaL_checknumber(L, index);
    luaL_argcheck(L, seconds == seconds, index, "seconds expected, got a number that is none");
    if (seconds < 0 || seconds >= 9e9) return -1;
    return (int64_t)(seconds * 1e9);
}
