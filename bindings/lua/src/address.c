/* address.c: addresses of memory that is no array: of another library's, or of a chunk. An integer is never taken for
 * an address: a length, an offset or a handle in the wrong place would become one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "binding.h"

void push_address(lua_State *L, const state *s, uint64_t address) {
    /* As large as an object: check_object looks into userdata that may be one. */
    uint64_t *room = lua_newuserdata(L, sizeof(object));
    memset(room, 0, sizeof(object));
    *room = address;
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->addresses);
    lua_setmetatable(L, -2);
}

static const uint64_t *test_address(lua_State *L, const state *s, int index) {
    if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index)) return NULL;
    const int known = lua_topointer(L, -1) == s->address_metatable;
    lua_pop(L, 1);
    return known ? lua_touserdata(L, index) : NULL;
}

const char *read_address(lua_State *L, const state *s, int index, const char *expected, uint64_t *out) {
    const uint64_t *address = test_address(L, s, index);
    if (address) *out = *address;
    else if (lua_isnumber(L, index)) return "an integer is no pointer: pass the array, or gpuorch.address(n)";
    return address ? NULL : expected;
}

uint64_t check_address(lua_State *L, const state *s, int index) {
    uint64_t address = 0;
    const char *problem = read_address(L, s, index, "an array or an address expected", &address);
    if (problem) luaL_argerror(L, index, problem);
    return address;
}

/* address(n): of an integer. */
int make_address(lua_State *L) {
    push_address(L, the_state(L), check_unsigned(L, 1, UINT64_MAX));
    return 1;
}

/* pointer(): the integer, as an array's. */
static int address_pointer(lua_State *L) {
    push_unsigned(L, check_address(L, the_state(L), 1));
    return 1;
}

/* address + bytes, bytes + address */
static int address_add(lua_State *L) {
    const state *s = the_state(L);
    const int first = test_address(L, s, 1) != NULL;
    const uint64_t address = check_address(L, s, first ? 1 : 2);
    exact bytes;
    const char *problem = read_exact(L, first ? 2 : 1, &bytes);
    if (!problem && (bytes.negative ? bytes.magnitude > address : bytes.magnitude > UINT64_MAX - address))
        problem = "the sum is no address";
    if (problem) return luaL_error(L, "bytes to add to an address: %s", problem);
    push_address(L, s, bytes.negative ? address - bytes.magnitude : address + bytes.magnitude);
    return 1;
}

static int address_equal(lua_State *L) {
    const state *s = the_state(L);
    const uint64_t *one = test_address(L, s, 1), *other = test_address(L, s, 2);
    lua_pushboolean(L, one && other && *one == *other);
    return 1;
}

static int address_tostring(lua_State *L) {
    char text[40];
    snprintf(text, sizeof text, "gpuorch.address: 0x%" PRIx64, check_address(L, the_state(L), 1));
    lua_pushstring(L, text);
    return 1;
}

void make_addresses(lua_State *L, state *s, int state_index) {
    static const luaL_Reg metamethods[] = {
        {"__add", address_add}, {"__eq", address_equal}, {"__tostring", address_tostring}, {NULL, NULL}};
    static const luaL_Reg address_methods[] = {{"pointer", address_pointer}, {NULL, NULL}};
    lua_newtable(L);
    s->address_metatable = lua_topointer(L, -1);
    push_functions(L, state_index, metamethods);
    lua_pushliteral(L, "gpuorch.address");
    lua_setfield(L, -2, "__name");
    lua_pushliteral(L, "gpuorch.address");
    lua_setfield(L, -2, "__metatable");
    lua_newtable(L);
    push_functions(L, state_index, address_methods);
    lua_setfield(L, -2, "__index");
    s->addresses = luaL_ref(L, LUA_REGISTRYINDEX);
}
