/* await.c: await(), which yields where an event loop of Lua's runs the coroutine, and waits anywhere else. No other
 * function yields. A C function can't yield in every Lua, so await() is written in Lua. */
#include "binding.h"

/* owners: from a coroutine to the scheduler that resumes it. probes: functions that return the running coroutine's
 * scheduler, for loops with coroutines of their own making. A coroutine without a loop (a generator, also inside a
 * loop's coroutine) has no scheduler; nor has a callback, which may not yield. */
static const char source[] =
    "local gpuorch, methods, serving, running, condition = ...\n"
    "local owners, probes = setmetatable({}, {__mode = 'k'}), {}\n"
    "local function scheduler_of()\n"
    "    local coroutine = running()\n"
    "    if serving() or not coroutine then return nil end\n"
    "    if owners[coroutine] then return owners[coroutine] end\n"
    "    for i = 1, #probes do\n"
    "        local scheduler = probes[i]()\n"
    "        if scheduler then return scheduler end\n"
    "    end\n"
    "end\n"
    "function gpuorch.adopt(coroutine, scheduler) owners[coroutine] = scheduler end\n"
    "function gpuorch.add_probe(probe) probes[#probes + 1] = probe end\n"
    /* Ctrl-C is never left to on_error: it isn't the coroutine's alone. An error that is no string is raised as it
     * is. */
    "function gpuorch.coroutine_failed(thread, problem, on_error)\n"
    "    owners[thread] = nil\n" /* what is closed below awaits in place */
    "    local interrupt = tostring(problem):find 'interrupted!$'\n"
    "    local raised = interrupt and problem or debug.traceback(thread, problem)\n"
    "    local message = on_error and debug.traceback(thread, tostring(problem))\n"
    "    if coroutine.close then coroutine.close(thread) end\n"
    "    if interrupt or not on_error then error(raised, 0) end\n"
    "    on_error(message, thread)\n"
    "end\n"
    "local function await(operation, timeout)\n"
    "    local scheduler = not operation:ready() and scheduler_of()\n"
    "    if not scheduler then return operation:wait(timeout) end\n"
    "    return scheduler.suspend(operation, timeout)\n"
    "end\n"
    "methods.operation.await = await\n"
    "local function mark_and_await(source, timeout)\n"
    "    local operation, message, name = source:notify()\n"
    "    if not operation then return operation, message, name end\n"
    "    return await(operation, timeout)\n"
    "end\n"
    "methods.stream.await, methods.event.await = mark_and_await, mark_and_await\n"
    "function methods.timeline.await(timeline, value, timeout)\n"
    "    local operation, message, name = timeline:notify(value)\n"
    "    if not operation then return operation, message, name end\n"
    "    return await(operation, timeout)\n"
    "end\n"
    /* A pipeline's await() returns the results of its wait(), which are more than those of an operation. */
    "local function unless_running(otherwise, outcome, ...)\n"
    "    if outcome ~= false then return outcome, ... end\n"
    "    return otherwise()\n"
    "end\n"
    "function methods.pipeline.await(pipeline, timeout)\n"
    /* C says why this pipeline can't be waited for. */
    "    if condition(pipeline) == 'calling' then return pipeline:wait(0) end\n"
    "    local operation, message, name = pipeline:notify()\n"
    "    if not operation then return operation, message, name end\n"
    "    local done, message, name = await(operation, timeout)\n"
    "    local function as_told() return done, message, name end\n"
    "    if done == false or condition(pipeline) == 'closed' then return as_told() end\n"
    "    return unless_running(as_told, pipeline:wait(0))\n" /* another run may have begun */
    "end\n";

static int is_serving(lua_State *L) {
    lua_pushboolean(L, the_state(L)->serving != 0);
    return 1;
}

/* The running coroutine; nil on the main one, also in Lua 5.2 and above. */
static int running(lua_State *L) {
    if (lua_pushthread(L)) lua_pushnil(L);
    return 1;
}

/* The module's table is at `module`, the list of metatables at `list`, the state at `state_index`. */
void make_await(lua_State *L, int module, int list, int state_index) {
    if (luaL_loadbuffer(L, source, sizeof source - 1, "=gpuorch.await") != 0) lua_error(L);
    lua_pushvalue(L, module);
    lua_newtable(L);
    for (int id = 0; id < CLASS_COUNT; ++id) {
        lua_rawgeti(L, list, id + 1);
        lua_getfield(L, -1, "__index");
        lua_setfield(L, -3, classes[id].name);
        lua_pop(L, 1);
    }
    lua_pushvalue(L, state_index);
    lua_pushcclosure(L, is_serving, 1);
    lua_pushcfunction(L, running);
    lua_pushvalue(L, state_index);
    lua_pushcclosure(L, pipeline_condition, 1);
    lua_call(L, 5, 0);
}
