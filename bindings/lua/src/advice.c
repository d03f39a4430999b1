/* advice.c: which form of work fits a workload. A workload is a table; so is what is advised. */
#include <string.h>

#include "calls.h"

/* Reads the workload at an index. Its pointers lead to values on the stack. */
static void check_workload(lua_State *L, int index, gpo_workload *workload, gpo_costs *costs) {
    *workload = (gpo_workload){.struct_size = sizeof *workload};
    *costs = (gpo_costs){.struct_size = sizeof *costs};
    luaL_checktype(L, index, LUA_TTABLE);
    read_record(L, index, gpo_workload_fields, workload);
    lua_getfield(L, index, "costs");
    read_record(L, lua_gettop(L), gpo_costs_fields, costs);
    if (!lua_isnil(L, -1)) workload->costs = costs;
    lua_getfield(L, index, "task_costs");
    if (lua_isnil(L, -1)) return;
    if (!lua_istable(L, -1)) luaL_error(L, "option 'task_costs': a table of numbers expected");
    workload->task_costs = check_numbers(L, lua_gettop(L), &workload->cost_count);
    workload->cost_stride = sizeof *workload->task_costs;
}

enum { MOST_FORMS = 16 };

/* The forms as a table, the best first; and the diagnosis. */
static int advise_on(lua_State *L, state *s, gpo_device_t device, int index) {
    gpo_workload workload;
    gpo_costs costs;
    gpo_diagnosis diagnosis = {.struct_size = sizeof diagnosis};
    gpo_advice advice[MOST_FORMS];
    uint64_t count = 0;
    memset(advice, 0, sizeof advice);
    for (int i = 0; i < MOST_FORMS; ++i) advice[i].struct_size = sizeof advice[i];
    check_workload(L, index, &workload, &costs);
    const gpo_status status =
        s->api->advise(device, &workload, &diagnosis, advice, sizeof advice[0], MOST_FORMS, &count);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    lua_createtable(L, (int)count, 0);
    for (uint64_t i = 0; i < count; ++i) {
        push_record(L, s, gpo_advice_fields, &advice[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    push_record(L, s, gpo_diagnosis_fields, &diagnosis);
    return 2;
}

int device_advise(lua_State *L) {
    state *s = the_state(L);
    return advise_on(L, s, CHECK_HANDLE(1, device), 2);
}

/* advise(workload): with the costs of an H200. */
int advise(lua_State *L) { return advise_on(L, the_state(L), NULL, 1); }

struct trace_reading {
    const gpo_api *api;
    const char *path;
    gpo_workload workload;
};

static gpo_status read_advice(void *context, char *buffer, size_t capacity, size_t *needed) {
    struct trace_reading *r = context;
    return r->api->advise_trace(r->path, &r->workload, buffer, capacity, needed);
}

/* advise_trace(path): a text, and the workload that was traced. */
int advise_trace(lua_State *L) {
    state *s = the_state(L);
    struct trace_reading r = {s->api, luaL_checkstring(L, 1), {.struct_size = sizeof r.workload}};
    const int results = push_text(L, s, read_advice, &r, 0);
    if (results != 1) return results;
    push_record(L, s, gpo_workload_fields, &r.workload);
    return 2;
}
