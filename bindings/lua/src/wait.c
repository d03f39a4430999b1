/* wait.c: waiting here, with callbacks, log lines and Ctrl-C between; and what memory that is held does to the collector. */
#include <limits.h>
#include <time.h>

#include "binding.h"

#define SLICE_NS 50000000      /* how late Ctrl-C may be seen */
#define CALLED_SLICE_NS 1000000 /* … and a callback, in a wait that can't be woken for it */
#define FREES_NS 2000000000    /* longest wait for deferred frees */

int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t deadline_after(int64_t timeout_ns) {
    const int64_t now = now_ns();
    return timeout_ns < 0 || timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

/* Interpreters turn Ctrl-C into a debug hook that raises, on the main coroutine: it was pressed if a hook has come. */
void note_interrupt(lua_State *L, state *s, lua_Hook hooks[2]) {
    hooks[0] = lua_gethook(L);
    hooks[1] = s->main ? lua_gethook(s->main) : hooks[0];
}

/* Whether the wait is to end. The hook raises when the C function returns; where it is only the main coroutine's, it is the
 * wait that has to raise in this one. */
int was_interrupted(lua_State *L, state *s, const lua_Hook hooks[2]) {
    const lua_Hook own = lua_gethook(L), main = s->main ? lua_gethook(s->main) : own;
    if (own && own != hooks[0]) return 1;
    return main && main != hooks[1] ? luaL_error(L, "interrupted!") : 0;
}

static int64_t slice_until(int64_t deadline, int64_t longest) {
    const int64_t left = deadline == INT64_MAX ? longest : deadline - now_ns();
    return left < 0 ? 0 : left < longest ? left : longest;
}

int64_t wait_slice(int64_t deadline) { return slice_until(deadline, SLICE_NS); }

gpo_status wait_by(lua_State *L, state *s, wait_attempt attempt, void *context, int64_t timeout_ns) {
    const int64_t deadline = deadline_after(timeout_ns);
    lua_Hook hooks[2];
    note_interrupt(L, s, hooks);
    for (;;) {
        serve(L, s);
        const int64_t slice = timeout_ns == 0 ? 0 : slice_until(deadline, has_callers(s) ? CALLED_SLICE_NS : SLICE_NS);
        const gpo_status status = attempt(s, context, slice);
        if (status != GPO_TIMEOUT || timeout_ns == 0 || (deadline != INT64_MAX && now_ns() >= deadline)) {
            serve(L, s);
            return status;
        }
        if (was_interrupted(L, s, hooks)) return GPO_CANCELLED;
    }
}

/* --- memory --- */

static gpo_status wait_for_frees(state *s, void *context, int64_t timeout_ns) {
    return s->api->device_wait(context, timeout_ns);
}

void reclaim(lua_State *L, state *s, gpo_device_t device) {
    lua_gc(L, LUA_GCCOLLECT, 0);
    lua_gc(L, LUA_GCCOLLECT, 0); /* what the finalizers of the first let go of */
    wait_by(L, s, wait_for_frees, device, FREES_NS);
}

void account(lua_State *L, state *s, int64_t bytes) {
    s->held_bytes += bytes;
    if (bytes <= 0) return;
    s->unstepped += bytes;
    /* As if Lua had allocated it; a step for each small array would only slow down. */
    const int64_t kib = s->unstepped >> 10;
    if (kib < 64) return;
    s->unstepped = 0;
    lua_gc(L, LUA_GCSTEP, kib > INT_MAX >> 11 ? INT_MAX >> 11 : (int)kib);
}
