/* advice.c: which form of work fits a workload. A workload is a table; so is what is advised. */
#include <string.h>

#include "methods.h"

static const char *const bounds[] = {"unknown", "launch", "memory", "operations", "kernel", "copy", "decision", "idle"};
static const char *const forms[] = {"unknown", "leave", "more_streams", "fewer_streams", "graph", "buckets", "while",
                                    "range", "ring", "host_ring", "dynamic_parallelism", "host_launches", "fuse",
                                    "pipeline", "batched_copies"};
static const char *const orders[] = {"default", "grid", "chunks", "strided", "claimed", "longest_first",
                                     "claimed_late", NULL};

static const field cost_fields[] = {FIELDS_OF_gpo_costs, FIELDS_END};

static const field probe_fields[] = {{"probe", FIELD_FLAG, 0, GPO_COSTS_PROBE, NULL}, FIELDS_END};

/* costs([{probe = true}]) */
static int device_get_costs(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    gpo_costs costs = {.struct_size = sizeof costs};
    uint32_t flags = 0;
    read_record(L, 2, probe_fields, &flags);
    const gpo_status status = s->api->device_get_costs(device, flags, &costs);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_record(L, s, cost_fields, &costs);
    return 1;
}

static const field workload_fields[] = {
    FLAG(gpo_workload, "repeats", GPO_WORKLOAD_REPEATS),
    FLAG(gpo_workload, "shapes_vary", GPO_WORKLOAD_SHAPES_VARY),
    FLAG(gpo_workload, "independent", GPO_WORKLOAD_INDEPENDENT),
    FLAG(gpo_workload, "spawns", GPO_WORKLOAD_SPAWNS),
    FLAG(gpo_workload, "arrives", GPO_WORKLOAD_ARRIVES),
    FLAG(gpo_workload, "pageable", GPO_WORKLOAD_PAGEABLE),
    FLAG(gpo_workload, "in_graph", GPO_WORKLOAD_IN_GRAPH),
    FLAG(gpo_workload, "dynamic_parallelism", GPO_WORKLOAD_DYNAMIC_PARALLELISM),
    FLAG(gpo_workload, "overlapped", GPO_WORKLOAD_OVERLAPPED),
    FIELD(gpo_workload, launches, U64),        FIELD(gpo_workload, round_ns, U64),
    FIELD(gpo_workload, kernel_ns, U64),       FIELD(gpo_workload, decisions, U64),
    FIELD(gpo_workload, streams, U32),         FIELD(gpo_workload, blocks, U32),
    FIELD(gpo_workload, bytes, U64),           FIELD(gpo_workload, operations, U64),
    FIELD(gpo_workload, copies, U64),          FIELD(gpo_workload, copy_in_bytes, U64),
    FIELD(gpo_workload, copy_out_bytes, U64),  FIELD(gpo_workload, tasks, U64),
    FIELD(gpo_workload, task_ns, U64),         WORD(gpo_workload, order, orders),
    FIELD(gpo_workload, workers, U32),         FIELD(gpo_workload, block_workers, U32),
    FIELD(gpo_workload, cost_deviation, U64),  FIELD(gpo_workload, cost_max, U64),
    OTHER("costs"),                            OTHER("task_costs"),
    FIELDS_END};

/* Reads the workload at an index. Its pointers lead to values on the stack. */
static void check_workload(lua_State *L, int index, gpo_workload *workload, gpo_costs *costs) {
    *workload = (gpo_workload){.struct_size = sizeof *workload};
    *costs = (gpo_costs){.struct_size = sizeof *costs};
    luaL_checktype(L, index, LUA_TTABLE);
    read_record(L, index, workload_fields, workload);
    lua_getfield(L, index, "costs");
    read_record(L, lua_gettop(L), cost_fields, costs);
    if (!lua_isnil(L, -1)) workload->costs = costs;
    lua_getfield(L, index, "task_costs");
    if (lua_isnil(L, -1)) return;
    if (!lua_istable(L, -1)) luaL_error(L, "option 'task_costs': a table of numbers expected");
    workload->task_costs = check_numbers(L, lua_gettop(L), &workload->cost_count);
    workload->cost_stride = sizeof *workload->task_costs;
}

static const field diagnosis_fields[] = {FIELDS_OF_gpo_diagnosis(bounds), FIELDS_END};
static const field advice_fields[] = {FIELDS_OF_gpo_advice(forms, bounds, orders), FIELDS_END};

enum { MOST_FORMS = 16 };

/* A word that only a newer library knows becomes 0, "unknown". */
static void limit(uint32_t *word, uint32_t most) {
    if (*word > most) *word = 0;
}

static void push_advice(lua_State *L, state *s, gpo_advice *advice) {
    limit(&advice->form, GPO_FORM_BATCHED_COPIES);
    limit(&advice->bound, GPO_BOUND_IDLE);
    limit(&advice->order, GPO_ORDER_CLAIMED_LATE);
    push_record(L, s, advice_fields, advice);
}

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
        push_advice(L, s, &advice[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    limit(&diagnosis.bound, GPO_BOUND_IDLE);
    push_record(L, s, diagnosis_fields, &diagnosis);
    return 2;
}

static int device_advise(lua_State *L) {
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
    limit(&r.workload.order, GPO_ORDER_CLAIMED_LATE);
    push_record(L, s, workload_fields, &r.workload);
    return 2;
}

const luaL_Reg device_advice_methods[] = {{"costs", device_get_costs}, {"advise", device_advise}, {NULL, NULL}};
