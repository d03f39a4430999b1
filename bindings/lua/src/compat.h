/* compat.h: what Lua 5.1 (and LuaJIT), 5.2, 5.3 and 5.4 call differently. Nothing here needs liblua at link time. */
#ifndef GPUORCH_LUA_COMPAT_H
#define GPUORCH_LUA_COMPAT_H

#include <lauxlib.h>
#include <lua.h>

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
/* A userdata's own table: 5.1 calls it the environment. */
#define lua_setuservalue lua_setfenv
#define lua_getuservalue lua_getfenv
#endif

#if LUA_VERSION_NUM >= 503
#define HAS_INTEGERS 1
#else
#define HAS_INTEGERS 0
#endif

#endif
