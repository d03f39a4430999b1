/* wait.c: waits on Lua's thread, which run callbacks, deliver log lines and notice Ctrl-C; and what the collector
 * learns of the memory of arrays. */
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

noted_hooks note_hooks(lua_State *L, state *s) {
    const lua_Hook own = lua_gethook(L);
    return (noted_hooks){own, s->main ? lua_gethook(s->main) : own};
}

/* Whether the wait must end. A hook of this coroutine raises when the C function returns; for a hook of the main
 * coroutine alone, this function raises. */
int was_interrupted(lua_State *L, state *s, noted_hooks before) {
    const noted_hooks now = note_hooks(L, s);
    if (now.own && now.own != before.own) return 1;
    return now.main && now.main != before.main ? luaL_error(L, "interrupted!") : 0;
}

static int64_t slice_until(int64_t deadline, int64_t longest) {
    const int64_t left = deadline == INT64_MAX ? longest : deadline - now_ns();
    return left < 0 ? 0 : left < longest ? left : longest;
}

int64_t wait_slice(int64_t deadline) { return slice_until(deadline, SLICE_NS); }

gpo_status wait_by(lua_State *L, state *s, noted_hooks before, wait_attempt attempt, void *context,
                   int64_t timeout_ns) {
    const int64_t deadline = deadline_after(timeout_ns);
    for (;;) {
        serve(L, s);
        const int64_t slice = timeout_ns == 0 ? 0 : slice_until(deadline, has_callers(s) ? CALLED_SLICE_NS : SLICE_NS);
        const gpo_status status = attempt(s, context, slice);
        if (status != GPO_TIMEOUT || timeout_ns == 0 || (deadline != INT64_MAX && now_ns() >= deadline)) {
            serve(L, s);
            return status;
        }
        if (was_interrupted(L, s, before)) return GPO_CANCELLED;
    }
}

/* --- memory --- */

static gpo_status wait_for_frees(state *s, void *context, int64_t timeout_ns) {
    return s->api->device_wait(context, timeout_ns);
}

void reclaim(lua_State *L, state *s, gpo_device_t device) {
    const noted_hooks before = note_hooks(L, s);
    lua_gc(L, LUA_GCCOLLECT, 0);
    lua_gc(L, LUA_GCCOLLECT, 0); /* for objects that the first round's finalizers released */
    wait_by(L, s, before, wait_for_frees, device, FREES_NS);
}

void account(lua_State *L, state *s, int64_t bytes) {
    s->held_bytes += bytes;
    if (bytes <= 0) return;
    s->unstepped += bytes;
    /* Steps as if Lua had allocated the bytes; a step for each small array would only slow down. */
    const int64_t kib = s->unstepped >> 10;
    if (kib < 64) return;
    s->unstepped = 0;
    lua_gc(L, LUA_GCSTEP, kib > INT_MAX >> 11 ? INT_MAX >> 11 : (int)kib);
}
