/* pipeline.c: pipelines: creation, runs, destruction. The Lua functions that they call are in callback.c. */
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "pipeline.h"

#define LONGEST_END_NS 10000000000 /* of a run that is cancelled because its pipeline is closed */

/* --- the memory of runs --- */

/* Counts a run as a user of the array at `slot`: the memory isn't freed even if the array is closed, or is collected
 * before the pipeline. `kept`: stack index of the pipeline's own table, or of a table in it. */
static void hold(lua_State *L, state *s, int kept, int slot) {
    lua_rawgeti(L, kept, slot);
    if (test_object(L, s, lua_gettop(L), CLASS_ARRAY)) ++((array_object *)lua_touserdata(L, -1))->root->base.users;
    lua_pop(L, 1);
}

static void release(lua_State *L, state *s, int kept, int slot) {
    lua_rawgeti(L, kept, slot);
    if (test_object(L, s, lua_gettop(L), CLASS_ARRAY)) {
        push_root(L, lua_gettop(L));
        drop_user(L, s, lua_gettop(L));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    lua_pushnil(L);
    lua_rawseti(L, kept, slot);
}

static void release_source_and_sink(lua_State *L, state *s, int kept) {
    release(L, s, kept, PIPELINE_SOURCE);
    release(L, s, kept, PIPELINE_SINK);
}

/* A string that a run reads is held by the registry. The pipeline's own table isn't enough: if Lua has no memory to
 * call the pipeline's finalizer, it frees the table while the run goes on. */
static void hold_string(lua_State *L, pipeline_context *p, int index) {
    lua_pushvalue(L, index);
    p->string = luaL_ref(L, LUA_REGISTRYINDEX);
}

static void release_string(lua_State *L, pipeline_context *p) {
    if (p->string) luaL_unref(L, LUA_REGISTRYINDEX, p->string);
    p->string = 0;
}

static void release_arguments(lua_State *L, state *s, int kept) {
    lua_rawgeti(L, kept, PIPELINE_ARGUMENTS);
    const int arguments = lua_gettop(L);
    for (int i = (int)lua_rawlen(L, arguments); i > 0; --i) release(L, s, arguments, i);
    lua_pop(L, 1);
}

/* Drops a run's failure; if no wait has returned it, it will be reported. */
static void drop_failure(state *s, pipeline_context *p) {
    if (p->heard) owned_free(s, p->failure);
    else leave_unheard(s, p->failure);
    p->failure = NULL;
    p->message[0] = '\0';
}

/* --- creation --- */

/* The kind of argument that a word stands for; 0 if it is none of the words. The first four stand for an address, the
 * rest for a number. */
static uint32_t argument_kind(const char *word) {
    for (uint32_t kind = GPO_ARGUMENT_INPUT; kind <= GPO_ARGUMENT_OFFSET; ++kind)
        if (strcmp(words_of_GPO_ARGUMENT_VALUE[kind], word) == 0) return kind;
    return 0;
}

/* Whether the value is a string that no number begins like: integers may be strings, too. */
static int is_word(lua_State *L, int index) {
    if (lua_type(L, index) != LUA_TSTRING) return 0;
    const char *text = lua_tostring(L, index);
    text += *text == '-';
    return *text < '0' || *text > '9';
}

/* Whether the words of this kind fit the parameter. */
static int fits(uint32_t kind, const parameter *p) {
    return kind <= GPO_ARGUMENT_RESULT ? p->kind == PARAMETER_POINTER : p->kind == ELEMENT_U64;
}

/* Returns, and pushes, the message for a word that doesn't fit the parameter's type, with the words that do. */
static const char *wrong_word(lua_State *L, const parameter *p, const char *word) {
    luaL_Buffer words;
    int count = 0;
    luaL_buffinit(L, &words);
    for (uint32_t kind = GPO_ARGUMENT_INPUT; kind <= GPO_ARGUMENT_OFFSET; ++kind) {
        if (!fits(kind, p)) continue;
        if (count++) luaL_addstring(&words, ", ");
        luaL_addstring(&words, words_of_GPO_ARGUMENT_VALUE[kind]);
    }
    luaL_pushresult(&words);
    if (count == 0) return lua_pushfstring(L, "'%s' is no value of its type, and words stand for ptr and u64", word);
    return lua_pushfstring(L, "'%s' is no word for it; there are: %s", word, lua_tostring(L, -1));
}

/* Threads under a deterministic schedule may wait for an executor, but not for Lua. */
static int cannot_call(const pipeline_context *p) {
    return p->calls && !p->has_executor && p->runtime && p->runtime->seeded;
}
static const char *const no_calls =
    "in a runtime with a schedule_seed functions of Lua's are called in an executor only: option 'executor'";

/* The value on top of the stack; the array that it is, or nil, is left in the table at `anchor`. Gives what is
 * wrong. */
static const char *read_value(lua_State *L, state *s, int anchor, const parameter *p, void *value) {
    array_object *array = NULL;
    if (lua_isnil(L, -1) && p->kind != PARAMETER_POINTER) return "it is missing";
    const char *problem = read_parameter(L, s, lua_gettop(L), p, value, &array);
    if (problem || !array) return problem;
    lua_pushvalue(L, -1);
    append(L, anchor);
    return NULL;
}

/* Reads {device = {value, ...}} on top of the stack, with a value for each device. */
static const char *read_device_values(lua_State *L, state *s, int anchor, const parameter *p, uint32_t devices,
                                      gpo_stage_argument *argument) {
    const int index = lua_gettop(L);
    lua_getfield(L, index, "device");
    if (!lua_istable(L, -1) || lua_rawlen(L, -1) > devices)
        return "a table 'device' with a value for each device expected";
    char *values = lua_newuserdata(L, (size_t)devices * p->size);
    lua_pushvalue(L, -1);
    append(L, anchor);
    for (uint32_t i = 0; i < devices; ++i) {
        lua_rawgeti(L, index + 1, (int)i + 1);
        const char *problem = read_value(L, s, anchor, p, values + (size_t)i * p->size);
        if (problem) return lua_pushfstring(L, "device %d: %s", (int)i, problem);
        lua_pop(L, 1);
    }
    argument->kind = GPO_ARGUMENT_DEVICE_VALUE;
    argument->value = values;
    argument->bytes = p->size;
    lua_settop(L, index);
    return NULL;
}

/* The arguments of the stage on top of the stack; the memory for them is left in the table at `anchor`. */
static void read_arguments(lua_State *L, state *s, int stage_index, int anchor, const kernel_object *kernel,
                           uint32_t devices, gpo_stage *stage) {
    lua_getfield(L, stage_index, "arguments");
    const int arguments = lua_gettop(L);
    const uint32_t given = lua_istable(L, arguments) ? (uint32_t)lua_rawlen(L, arguments) : 0;
    if (!lua_istable(L, arguments) && !lua_isnil(L, arguments)) luaL_error(L, "option 'arguments': a table expected");
    /* An argument may be nil, a null pointer: then the table can't tell how many there are. */
    if (given > kernel->count)
        luaL_error(L, "the kernel has %d parameters, got %d arguments", (int)kernel->count, (int)given);
    const size_t array_bytes = sizeof(gpo_stage_argument) * (kernel->count + 1);
    char *block = lua_newuserdata(L, array_bytes + kernel->bytes + 16);
    append(L, anchor);
    gpo_stage_argument *list = (gpo_stage_argument *)block;
    memset(block, 0, array_bytes);
    for (uint32_t i = 0; i < kernel->count; ++i) {
        const parameter *p = &kernel->parameters[i];
        char *value = block + array_bytes + p->offset;
        lua_rawgeti(L, arguments, (int)i + 1);
        list[i].struct_size = sizeof *list;
        const char *problem = NULL;
        if (p->kind == PARAMETER_QUEUE) {
            problem = "it is a queue, which the function 'enqueue' can pass";
        } else if (p->kind != PARAMETER_BYTES && is_word(L, -1)) {
            const char *word = lua_tostring(L, -1);
            list[i].kind = argument_kind(word);
            if (!list[i].kind || !fits(list[i].kind, p)) problem = wrong_word(L, p, word);
        } else if (lua_istable(L, -1)) {
            problem = read_device_values(L, s, anchor, p, devices, &list[i]);
        } else {
            problem = read_value(L, s, anchor, p, value);
        }
        if (problem) {
            char name[32];
            luaL_error(L, "argument %d (%s) of the stage's kernel: %s", (int)i + 1, parameter_name(p, name), problem);
        }
        if (list[i].kind == GPO_ARGUMENT_VALUE) {
            list[i].value = value;
            list[i].bytes = p->size;
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    stage->arguments = list;
    stage->argument_stride = sizeof *list;
    stage->argument_count = kernel->count;
}

/* The kernel on top of the stack; it is left in the table at `anchor`. */
static const kernel_object *stage_kernel(lua_State *L, state *s, int anchor, int number) {
    const kernel_object *kernel = test_object(L, s, -1, CLASS_KERNEL);
    if (!kernel) luaL_error(L, "stage %d: a kernel or a function 'enqueue' expected", number + 1);
    check_object(L, s, lua_gettop(L), CLASS_KERNEL);
    lua_pushvalue(L, -1);
    append(L, anchor);
    return kernel;
}

/* Reads the kernels of the stage at `index`, one for each device. All have the parameters of the first. */
static const kernel_object *read_kernels(lua_State *L, state *s, int index, int anchor, int number, uint32_t devices,
                                         gpo_stage *stage) {
    lua_getfield(L, index, "kernels");
    const int list = lua_gettop(L);
    if (!lua_istable(L, list) || lua_rawlen(L, list) != devices)
        luaL_error(L, "stage %d: option 'kernels': one for each of %d devices expected", number + 1, (int)devices);
    gpo_kernel_t *kernels = lua_newuserdata(L, sizeof *kernels * devices);
    append(L, anchor);
    const kernel_object *first = NULL;
    for (uint32_t i = 0; i < devices; ++i) {
        lua_rawgeti(L, list, (int)i + 1);
        const kernel_object *kernel = stage_kernel(L, s, anchor, number);
        if (!first) first = kernel;
        if (kernel->count != first->count ||
            memcmp(kernel->sizes, first->sizes, first->count * sizeof *first->sizes) != 0)
            luaL_error(L, "stage %d: kernel %d has other parameters than the first", number + 1, (int)i + 1);
        kernels[i] = HANDLE(&kernel->base, gpo_kernel_t);
        lua_pop(L, 1);
    }
    stage->kernels = kernels;
    lua_pop(L, 1);
    return first;
}

/* The stage on top of the stack. */
static void read_stage(lua_State *L, state *s, int pipeline, int anchor, pipeline_context *p, int number,
                       uint32_t devices, gpo_stage *stage) {
    const int index = lua_gettop(L);
    *stage = (gpo_stage){.struct_size = sizeof *stage, .kind = GPO_STAGE_KERNEL};
    if (!lua_istable(L, index)) luaL_error(L, "option 'stages': a table of tables expected");
    read_record(L, index, gpo_stage_fields, stage);
    lua_pushvalue(L, index);
    append(L, anchor);
    if (keep_function(L, index, "enqueue", pipeline, PIPELINE_STAGES + number)) {
        stage->kind = GPO_STAGE_CALLBACK;
        p->stages[number] = (struct stage_context){p, number};
        p->calls = 1;
        stage->enqueue = enqueue_here;
        stage->user = &p->stages[number];
        return;
    }
    lua_getfield(L, index, "kernel");
    const kernel_object *kernel;
    if (lua_isnil(L, -1) && devices > 1) {
        kernel = read_kernels(L, s, index, anchor, number, devices, stage);
    } else {
        kernel = stage_kernel(L, s, anchor, number);
        stage->kernel = HANDLE(&kernel->base, gpo_kernel_t);
    }
    read_arguments(L, s, index, anchor, kernel, devices, stage);
    lua_settop(L, index);
}

/* The devices of the options in argument 2; their list is left on the stack. How many devices the pipeline has. */
static uint32_t read_devices(lua_State *L, state *s, const object *first, gpo_pipeline_options *options) {
    lua_getfield(L, 2, "devices");
    if (lua_isnil(L, -1)) return 1;
    if (!lua_istable(L, -1)) luaL_error(L, "option 'devices': a table of devices expected");
    const int list = lua_gettop(L);
    const size_t count = lua_rawlen(L, list);
    if (count == 0 || count > MOST_DEVICES) luaL_error(L, "option 'devices': 1 to 64 expected");
    options->devices = check_objects(L, s, list, CLASS_DEVICE, first->runtime, "option 'devices': ");
    options->device_count = (uint32_t)count;
    return (uint32_t)count;
}

static int create_pipeline(lua_State *L, state *s, object *device, pipeline_object *pipeline,
                           gpo_pipeline_options *options) {
    pipeline_context *p = pipeline->context;
    const int index = lua_gettop(L);
    lua_newtable(L); /* the pipeline's references to the memory, kernels and arrays of its arguments */
    keep(L, index, PIPELINE_ARGUMENTS, index + 1);
    const uint32_t devices = read_devices(L, s, device, options);
    if (options->devices) keep(L, index, PIPELINE_DEVICES, index + 2);
    lua_getfield(L, 2, "stages");
    if (!lua_istable(L, -1)) return luaL_error(L, "option 'stages': a table of stages expected");
    const int stages = lua_gettop(L), count = (int)lua_rawlen(L, stages);
    if (count > MOST_STAGES) return luaL_error(L, "option 'stages': at most 64");
    gpo_stage *list = lua_newuserdata(L, sizeof *list * (size_t)(count + 1));
    for (int i = 0; i < count; ++i) {
        lua_rawgeti(L, stages, i + 1);
        read_stage(L, s, index, index + 1, p, i, devices, &list[i]);
        lua_pop(L, 1);
    }
    options->stages = list;
    options->stage_stride = sizeof *list;
    options->stage_count = (uint32_t)count;
    if (keep_function(L, 2, "progress", index, PIPELINE_PROGRESS)) {
        options->progress = progress_here;
        options->progress_user = p;
        p->calls = 1;
    }
    lua_getfield(L, 2, "executor");
    keep(L, index, PIPELINE_EXECUTOR, lua_gettop(L));
    p->has_executor = options->executor != NULL;
    if (cannot_call(p)) return failure_with(L, s, GPO_NOT_SUPPORTED, no_calls);
    p->result_bytes = options->result_bytes;
    const gpo_status status =
        s->api->pipeline_create(HANDLE(device, gpo_device_t), options, (gpo_pipeline_t *)&pipeline->base.handle);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    p->pipeline = HANDLE(&pipeline->base, gpo_pipeline_t);
    p->held = 1;
    for (int i = (int)lua_rawlen(L, index + 1); i > 0; --i) hold(L, s, index + 1, i);
    lua_settop(L, index);
    return 1;
}

int pipeline_create(lua_State *L) {
    state *s = the_state(L);
    object *device = check_object(L, s, 1, CLASS_DEVICE);
    gpo_pipeline_options options = {.struct_size = sizeof options};
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    read_record(L, 2, gpo_pipeline_options_fields, &options);
    pipeline_object *pipeline = new_object(L, s, CLASS_PIPELINE, 1);
    runtime_context *context = context_of(L, s, device);
    if (!context) return failure_with(L, s, GPO_INVALID_HANDLE, "the runtime is shut down");
    pipeline->number = remember(L, s, 3);
    pipeline_context *p = owned_make(s, sizeof *p, NULL);
    if (!p) return luaL_error(L, "not enough memory");
    p->runtime = context;
    p->number = pipeline->number;
    p->next = context->pipelines;
    context->pipelines = p; /* freed with the pipeline, or with its runtime */
    pipeline->context = p;
    return create_pipeline(L, s, device, pipeline, &options);
}

static void unlink_context(pipeline_context *p) {
    if (!p->runtime) return;
    pipeline_context **link = &p->runtime->pipelines;
    while (*link != p) link = &(*link)->next;
    *link = p->next;
    p->runtime = NULL;
}

void free_pipeline_contexts(lua_State *L, state *s, runtime_context *context) {
    while (context->pipelines) {
        pipeline_context *p = context->pipelines;
        unlink_context(p);
        if (p->reference) {
            lua_rawgeti(L, LUA_REGISTRYINDEX, p->reference);
            release_source_and_sink(L, s, lua_gettop(L));
            release_arguments(L, s, lua_gettop(L));
            lua_pop(L, 1);
            luaL_unref(L, LUA_REGISTRYINDEX, p->reference);
        }
        p->reference = 0;
        if (p->held) continue;
        release_string(L, p);
        drop_failure(s, p);
        owned_free(s, p);
    }
}

/* Cancels a run and waits for its end, since the run may use memory of Lua's. If the run doesn't end, the values in use
 * stay until the runtime is shut down. */
void destroy_pipeline(lua_State *L, state *s, object *o, int collected) {
    pipeline_object *pipeline = (pipeline_object *)o;
    pipeline_context *p = pipeline->context;
    const gpo_pipeline_t handle = HANDLE(o, gpo_pipeline_t);
    int running = p->runtime && p->started && s->api->pipeline_wait(handle, 0, NULL) == GPO_TIMEOUT;
    if (running) {
        s->api->pipeline_cancel(handle);
        close_calls(p->runtime, &p->closed);
        if (!p->busy) running = s->api->pipeline_wait(handle, LONGEST_END_NS, NULL) == GPO_TIMEOUT;
    }
    s->api->pipeline_destroy(handle);
    drop_failure(s, p);
    pipeline->context = NULL;
    p->held = 0;
    p->pipeline = NULL;
    lua_getuservalue(L, -1);
    if (!running) {
        release_source_and_sink(L, s, lua_gettop(L));
        release_arguments(L, s, lua_gettop(L));
        lua_pop(L, 1);
        release_string(L, p);
        unlink_context(p);
        owned_free(s, p);
    } else {
        p->reference = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    if (!collected) report_unheard(L, s);
}

/* Whether a pipeline is running whose calls must wake a wait. */
int has_callers(state *s) {
    for (const runtime_context *context = s->contexts; context; context = context->next)
        for (pipeline_context *p = context->pipelines; p; p = p->next) {
            if (!p->calls || !p->started) continue;
            if (!p->pipeline || s->api->pipeline_wait(p->pipeline, 0, NULL) == GPO_TIMEOUT) return 1;
            p->started = 0;
        }
    return 0;
}

/* --- runs --- */

static const char *const one_of_source = "a source has one of path, descriptor, memory and fill";
static const char *const one_of_sink = "a sink has at most one of path, descriptor and memory";

/* Pushes the field; whether it is there. */
static int has_field(lua_State *L, int index, const char *name) {
    lua_getfield(L, index, name);
    return !lua_isnil(L, -1);
}

/* Returns the stack index of the memory that the run reads; 0: none. */
static int read_source(lua_State *L, state *s, int index, pipeline_context *p, gpo_source *source) {
    luaL_checktype(L, index, LUA_TTABLE);
    read_record(L, index, gpo_source_fields, source);
    int kinds = 0, memory = 0;
    if (has_field(L, index, "path")) ++kinds, source->kind = GPO_SOURCE_FILE;
    if (has_field(L, index, "descriptor")) {
        ++kinds;
        source->kind = GPO_SOURCE_FILE;
        source->flags |= GPO_SOURCE_USE_DESCRIPTOR;
    }
    if (has_field(L, index, "memory")) {
        ++kinds;
        memory = lua_gettop(L);
        source->kind = GPO_SOURCE_MEMORY;
        const uint64_t asked = source->bytes;
        if (lua_type(L, -1) == LUA_TSTRING) {
            size_t length;
            source->memory = lua_tolstring(L, -1, &length);
            source->bytes = length;
        } else {
            const array_object *array = check_array(L, s, lua_gettop(L));
            if (!on_host(array)) luaL_error(L, "option 'memory': an array of the host's expected");
            source->memory = (const void *)(uintptr_t)array->address;
            source->bytes = ARRAY_BYTES(array);
        }
        if (asked > source->bytes) luaL_error(L, "option 'bytes': more than the memory has");
        if (asked) source->bytes = asked;
    }
    if (keep_function(L, index, "fill", 1, PIPELINE_FILL)) {
        ++kinds;
        source->kind = GPO_SOURCE_CALLBACK;
        source->fill = fill_here;
        source->user = p;
        p->calls = 1;
    }
    if (kinds != 1) luaL_error(L, one_of_source);
    return memory;
}

/* Returns the stack index of the memory that the run writes to; 0: none. */
static int read_sink(lua_State *L, state *s, int index, pipeline_context *p, gpo_sink *sink) {
    if (lua_isnoneornil(L, index)) return 0;
    luaL_checktype(L, index, LUA_TTABLE);
    read_record(L, index, gpo_sink_fields, sink);
    int kinds = 0, memory = 0;
    if (has_field(L, index, "path")) ++kinds, sink->kind = GPO_SINK_FILE;
    if (has_field(L, index, "descriptor")) {
        ++kinds;
        sink->kind = GPO_SINK_FILE;
        sink->flags |= GPO_SINK_USE_DESCRIPTOR;
    }
    if (has_field(L, index, "memory")) {
        ++kinds;
        memory = lua_gettop(L);
        const array_object *array = check_array(L, s, memory);
        if (!on_host(array)) luaL_error(L, "option 'memory': an array of the host's expected");
        sink->kind = GPO_SINK_MEMORY;
        sink->memory = (void *)(uintptr_t)array->address;
        sink->bytes = ARRAY_BYTES(array);
    }
    if (kinds > 1) luaL_error(L, one_of_sink);
    if (keep_function(L, index, "take", 1, PIPELINE_TAKE)) {
        if (!kinds) sink->kind = GPO_SINK_CALLBACK;
        sink->take = take_here;
        sink->user = p;
        p->calls = 1;
    }
    return memory;
}

/* start(source [, sink]) */
int pipeline_start(lua_State *L) {
    state *s = the_state(L);
    pipeline_object *pipeline = check_object(L, s, 1, CLASS_PIPELINE);
    pipeline_context *p = pipeline->context;
    gpo_source source = {.struct_size = sizeof source};
    gpo_sink sink = {.struct_size = sizeof sink};
    lua_settop(L, 3);
    if (p->busy ||
        (p->started && s->api->pipeline_wait(HANDLE(&pipeline->base, gpo_pipeline_t), 0, NULL) == GPO_TIMEOUT))
        return failure_with(L, s, GPO_INVALID_STATE, "the pipeline is running: one run at a time");
    const int read_from = read_source(L, s, 2, p, &source), written_to = read_sink(L, s, 3, p, &sink);
    if (cannot_call(p)) return failure_with(L, s, GPO_NOT_SUPPORTED, no_calls);
    drop_failure(s, p);
    p->rest = 0;
    lua_getuservalue(L, 1);
    const int kept = lua_gettop(L);
    release_source_and_sink(L, s, kept);
    release_string(L, p);
    if (read_from && lua_type(L, read_from) == LUA_TSTRING) hold_string(L, p, read_from);
    /* Keep the memory itself: the caller may change the tables. */
    keep(L, 1, PIPELINE_SOURCE, read_from ? read_from : 2);
    hold(L, s, kept, PIPELINE_SOURCE);
    keep(L, 1, PIPELINE_SINK, written_to ? written_to : 3);
    hold(L, s, kept, PIPELINE_SINK);
    const gpo_status status = s->api->pipeline_start(HANDLE(&pipeline->base, gpo_pipeline_t), &source, &sink);
    if (status != GPO_SUCCESS) {
        const int results = failure(L, s, status);
        release_source_and_sink(L, s, kept);
        return results;
    }
    p->started = 1;
    lua_pushboolean(L, 1);
    return 1;
}

struct pipeline_wait {
    gpo_pipeline_t pipeline;
    gpo_pipeline_result *result;
};

static gpo_status wait_for_pipeline(state *s, void *context, int64_t timeout_ns) {
    struct pipeline_wait *w = context;
    return s->api->pipeline_wait(w->pipeline, timeout_ns, w->result);
}

static gpo_status mark_end(state *s, void *context, gpo_cq_t cq, uint64_t user_data) {
    return s->api->pipeline_notify(context, cq, user_data);
}

/* wait([seconds]): the run's results as a table; nil, message, name, table if it failed. After an error in a callback,
 * the message is the error's, and the table's `traceback` adds the traceback. */
int pipeline_wait(lua_State *L) {
    state *s = the_state(L);
    pipeline_object *pipeline = check_object(L, s, 1, CLASS_PIPELINE);
    pipeline_context *p = pipeline->context;
    const noted_hooks before = note_hooks(L, s);
    const int64_t timeout_ns = check_timeout(L, 2);
    gpo_pipeline_result outcome = {.struct_size = sizeof outcome};
    struct pipeline_wait w = {HANDLE(&pipeline->base, gpo_pipeline_t), &outcome};
    if (p->busy)
        return failure_with(L, s, GPO_WOULD_DEADLOCK,
                            "from inside a callback of the pipeline: it would wait for itself");
    gpo_status status = s->api->pipeline_wait(w.pipeline, 0, &outcome);
    if (status == GPO_TIMEOUT && timeout_ns != 0 && p->calls &&
        notify(L, s, 0, 0, mark_end, w.pipeline) == 1) {
        operation_wait_at(L, s, before, lua_gettop(L), timeout_ns);
        if (!pipeline->base.handle)
            return failure_with(L, s, GPO_STALE_HANDLE, "the pipeline was closed while it was waited for");
        status = s->api->pipeline_wait(w.pipeline, 0, &outcome);
    } else if (status == GPO_TIMEOUT && timeout_ns != 0) {
        status = wait_by(L, s, before, wait_for_pipeline, &w, timeout_ns);
    }
    if (status == GPO_TIMEOUT) return failure(L, s, status);
    int results = 1;
    const int raised = status == GPO_CALLBACK_FAILED && p->message[0];
    if (raised) results += failure_with(L, s, status, p->message);
    else if (status != GPO_SUCCESS) results += failure(L, s, status);
    lua_getuservalue(L, 1);
    release_source_and_sink(L, s, lua_gettop(L));
    lua_pop(L, 1);
    release_string(L, p);
    push_record(L, s, gpo_pipeline_result_fields, &outcome);
    if (raised && p->failure) {
        lua_pushstring(L, p->failure);
        lua_setfield(L, -2, "traceback");
        p->heard = 1;
    }
    return results;
}

/* For await(): "closed"; "calling" inside a callback of the pipeline; else "open". */
int pipeline_condition(lua_State *L) {
    state *s = the_state(L);
    const pipeline_object *pipeline = check_object_even_closed(L, s, 1, CLASS_PIPELINE);
    lua_pushstring(L, !is_open(s, &pipeline->base) ? "closed" : pipeline->context->busy ? "calling" : "open");
    return 1;
}
