/* template.c: graph templates: recording, adding nodes, naming parameters, launching without a graph of one's own. */
#include "template.h"

#include "calls.h"

#define TEMPLATE(t) HANDLE(&(t)->base, gpo_template_t)

template_object *new_template(lua_State *L, state *s, int recipe) {
    template_object *t = new_object(L, s, CLASS_TEMPLATE, 1);
    keep(L, lua_gettop(L), TEMPLATE_RECIPE, recipe);
    keep(L, lua_gettop(L), TEMPLATE_RECORDING, recipe); /* the place for another */
    t->number = remember(L, s, lua_gettop(L));
    return t;
}

/* template([options]) */
int template_create(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    gpo_template_options options = {.struct_size = sizeof options};
    read_record(L, 2, gpo_template_options_fields, &options);
    lua_settop(L, 2);
    push_first_recipe(L);
    template_object *t = new_template(L, s, 3);
    return created(L, s, s->api->template_create(device, &options, (gpo_template_t *)&t->base.handle));
}

/* template_import(native [, options]): a copy of a CUgraph, which is an integer. */
int template_import(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    void *native = (void *)(uintptr_t)check_unsigned(L, 2, UINTPTR_MAX);
    gpo_template_options options = {.struct_size = sizeof options};
    read_record(L, 3, gpo_template_options_fields, &options);
    lua_settop(L, 3);
    push_first_recipe(L);
    template_object *t = new_template(L, s, 4);
    return created(L, s, s->api->template_import(device, native, &options, (gpo_template_t *)&t->base.handle));
}

/* The template is on top of the stack. */
void destroy_template(lua_State *L, state *s, object *o, int collected) {
    template_object *t = (template_object *)o;
    const int index = lua_gettop(L);
    (void)collected;
    if (!o->borrowed) s->api->template_destroy(TEMPLATE(t)); /* a bucket's is C's */
    stop_recording(L, s, t, index, 0);
    if (t->graphs || t->body) return; /* the last graph releases the recipe; that of a body is its whole's */
    push_kept(L, index, TEMPLATE_RECIPE);
    release_recipe(L, s, lua_gettop(L));
    lua_pop(L, 1);
}

/* --- recording; the template is at 1 --- */

static gpo_status begin(lua_State *L, state *s, template_object *t, stream_object *stream) {
    if (!t->recording) {
        push_next_recipe(L, 1);
        keep(L, 1, TEMPLATE_RECORDING, lua_gettop(L));
        lua_pop(L, 1);
    }
    const gpo_status status = s->api->template_begin(TEMPLATE(t), HANDLE(&stream->base, gpo_stream_t));
    if (status == GPO_SUCCESS) begin_recording(s, t, stream);
    return status;
}

static gpo_status end(lua_State *L, state *s, template_object *t) {
    const gpo_status status = s->api->template_end(TEMPLATE(t));
    /* Any other failure has discarded the recording. */
    if (status != GPO_INVALID_STATE && status != GPO_INVALID_HANDLE) stop_recording(L, s, t, 1, status == GPO_SUCCESS);
    return status;
}

static gpo_status cancel(lua_State *L, state *s, template_object *t) {
    const gpo_status status = s->api->template_cancel(TEMPLATE(t));
    if (status == GPO_SUCCESS) stop_recording(L, s, t, 1, 0);
    return status;
}

int template_begin(lua_State *L) {
    state *s = the_state(L);
    template_object *t = check_object(L, s, 1, CLASS_TEMPLATE);
    return result(L, s, begin(L, s, t, check_object(L, s, 2, CLASS_STREAM)));
}

int template_end(lua_State *L) {
    state *s = the_state(L);
    return result(L, s, end(L, s, check_object(L, s, 1, CLASS_TEMPLATE)));
}

int template_cancel(lua_State *L) {
    state *s = the_state(L);
    return result(L, s, cancel(L, s, check_object(L, s, 1, CLASS_TEMPLATE)));
}

/* record(stream, f): calls f(template) in a recording and ends that, or discards it if f raises. Gives true and what f
 * returned. */
int template_record(lua_State *L) {
    state *s = the_state(L);
    template_object *t = check_object(L, s, 1, CLASS_TEMPLATE);
    stream_object *stream = check_object(L, s, 2, CLASS_STREAM);
    luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_settop(L, 3);
    gpo_status status = begin(L, s, t, stream);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    lua_pushboolean(L, 1);
    lua_pushvalue(L, 3);
    lua_pushvalue(L, 1);
    ++s->serving; /* f can't yield */
    const int failed = lua_pcall(L, 1, LUA_MULTRET, 0);
    --s->serving;
    luaL_checkstack(L, 20, NULL);
    if (failed) {
        if (is_open(s, &t->base) && t->recording) cancel(L, s, t);
        return lua_error(L);
    }
    if (!is_open(s, &t->base))
        return failure_with(L, s, GPO_STALE_HANDLE, "the template was closed while it was recorded");
    status = end(L, s, t);
    return status == GPO_SUCCESS ? lua_gettop(L) - 3 : failure(L, s, status);
}

/* Its graphs keep what they have. */
int template_clear(lua_State *L) {
    state *s = the_state(L);
    template_object *t = check_object(L, s, 1, CLASS_TEMPLATE);
    push_next_recipe(L, 1);
    const gpo_status status = s->api->template_clear(TEMPLATE(t));
    if (status == GPO_SUCCESS) {
        replace_recipe(L, s, 1, TEMPLATE_RECIPE, lua_gettop(L));
        t->marked = NULL;
    }
    return result(L, s, status);
}

/* --- nodes; those that launch kernels, copy and fill are in kernel.c and copy.c --- */

/* Pushes the name that the child's parameter at `key` has here. */
static void push_prefixed(lua_State *L, const char *prefix, int key) {
    lua_pushfstring(L, "%s%s", prefix, lua_tostring(L, key));
}

/* add_child(after, child [, prefix]) */
int template_add_child(lua_State *L) {
    state *s = the_state(L);
    template_object *t = check_object(L, s, 1, CLASS_TEMPLATE), *child = check_object(L, s, 3, CLASS_TEMPLATE);
    const char *prefix = luaL_optstring(L, 4, "");
    lua_settop(L, 4);
    uint32_t one, count, node = 0;
    const uint32_t *after = check_after(L, 2, &one, &count);
    push_recipe(L, 1);                /* 5 */
    push_kept(L, 3, TEMPLATE_RECIPE); /* 6 */
    lua_rawgeti(L, 5, RECIPE_TYPES);  /* 7 */
    lua_rawgeti(L, 6, RECIPE_TYPES);  /* 8, its pairs at 9 and 10, and the name here at 11 */
    for (lua_pushnil(L); lua_next(L, 8); lua_settop(L, 9)) {
        push_prefixed(L, prefix, 9);
        const parameter theirs = type_at(L, 10), ours = type_of(L, 5, 11);
        if (ours.kind != PARAMETER_UNKNOWN && !same_type(&ours, &theirs))
            return luaL_error(L, "parameter '%s' of the child has another type than that of this template",
                              lua_tostring(L, 11));
    }
    const gpo_status status =
        s->api->template_add_child(TEMPLATE(t), after, count, TEMPLATE(child), prefix[0] ? prefix : NULL, &node);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    hold_all_of(L, s, 5, 6);
    for (lua_pushnil(L); lua_next(L, 8); lua_settop(L, 9)) {
        push_prefixed(L, prefix, 9);
        lua_pushvalue(L, 10);
        lua_rawset(L, 7);
    }
    return added(L, s, status, &node);
}

/* --- parameters --- */

/* Type of a template's parameter, by the signature's. A queue's parameter is set by the queue's device_handle(). */
static parameter plain_type(parameter in_signature) {
    const uint8_t kind = in_signature.kind == PARAMETER_QUEUE ? PARAMETER_BYTES : in_signature.kind;
    return (parameter){kind, in_signature.size, 0};
}

/* Reads the type named at `index`. False if there is no name. */
static int read_type(lua_State *L, int index, parameter *type) {
    size_t length;
    if (lua_isnoneornil(L, index)) return 0;
    const char *word = luaL_checklstring(L, index, &length);
    if (!read_parameter_type(word, length, type))
        luaL_argerror(L, index, "u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, ptr or bytes:N expected");
    *type = plain_type(*type);
    return 1;
}

/* Type of an argument by the kernel's signature, for a call that gives none; UNKNOWN if Lua didn't launch the
 * kernel. */
static parameter signature_type(lua_State *L, state *s, int recipe, uint32_t node, uint32_t argument) {
    parameter type = {PARAMETER_UNKNOWN, 0, 0};
    lua_rawgeti(L, recipe, RECIPE_NODES);
    lua_rawgeti(L, -1, (int)node);
    const kernel_object *kernel = test_object(L, s, lua_gettop(L), CLASS_KERNEL);
    if (kernel && argument < kernel->count) type = plain_type(kernel->parameters[argument]);
    lua_pop(L, 2);
    return type;
}

/* Type of a fill's value: the type at `index`, otherwise the type with which the fill was made. */
static parameter value_type(lua_State *L, int recipe, uint32_t node, int index) {
    parameter type = pattern_type(ELEMENT_U32);
    if (!lua_isnoneornil(L, index)) return pattern_type(check_element_type(L, index));
    lua_rawgeti(L, recipe, RECIPE_NODES);
    lua_rawgeti(L, -1, (int)node);
    if (lua_type(L, -1) == LUA_TNUMBER) type = type_at(L, lua_gettop(L));
    lua_pop(L, 2);
    return type;
}

static parameter fixed_type(uint32_t what) {
    switch (what) {
    case GPO_PARAMETER_GRID:
    case GPO_PARAMETER_BLOCK: return (parameter){PARAMETER_SHAPE, 12, 0};
    case GPO_PARAMETER_SHARED_BYTES: return (parameter){ELEMENT_U32, 4, 0};
    case GPO_PARAMETER_BYTES: return (parameter){ELEMENT_U64, 8, 0};
    case GPO_PARAMETER_ENABLED: return (parameter){PARAMETER_SWITCH, 4, 0};
    default: return (parameter){PARAMETER_POINTER, 8, 0};
    }
}

/* parameter(name): the parameter's number, and its size in bytes. Afterwards the module also finds the parameter by the
 * number. */
static int find_parameter(lua_State *L, state *s, gpo_template_t t, const char *name) {
    uint32_t number = 0;
    uint64_t bytes = 0;
    const gpo_status status = s->api->template_get_parameter(t, name, &number, &bytes);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_recipe(L, 1);
    lua_rawgeti(L, -1, RECIPE_NUMBERS);
    push_unsigned(L, number);
    lua_pushvalue(L, 2);
    lua_rawset(L, -3);
    push_unsigned(L, number);
    push_unsigned(L, bytes);
    return 2;
}

/* Reads arguments 4 to 6: sets `*what`, and C's index of an argument. Returns the type: UNKNOWN if Lua doesn't know
 * it. */
static parameter check_named(lua_State *L, state *s, uint32_t node, uint32_t *what, uint32_t *index) {
    parameter type;
    const int recipe = lua_gettop(L);
    *index = 0;
    *what = (uint32_t)check_word(L, 4, NULL, words_of_GPO_PARAMETER_ARGUMENT) + GPO_PARAMETER_ARGUMENT;
    if (*what == GPO_PARAMETER_VALUE) return value_type(L, recipe, node, 5);
    if (*what != GPO_PARAMETER_ARGUMENT) {
        luaL_argcheck(L, lua_isnil(L, 5), 5, "only arguments have a number, and only arguments and values a type");
        return fixed_type(*what);
    }
    const uint64_t number = check_unsigned(L, 5, UINT32_MAX);
    luaL_argcheck(L, number >= 1, 5, "arguments count from 1");
    *index = (uint32_t)number - 1;
    return read_type(L, 6, &type) ? type : signature_type(L, s, recipe, node, *index);
}

/* parameter(name, node, "argument", number [, type]), where arguments count from 1;
 * parameter(name, node, "value" [, type]); parameter(name, node, what); parameter(name) */
int template_parameter(lua_State *L) {
    state *s = the_state(L);
    template_object *t = check_object(L, s, 1, CLASS_TEMPLATE);
    const char *name = luaL_checkstring(L, 2);
    if (lua_isnoneornil(L, 3)) return find_parameter(L, s, TEMPLATE(t), name);
    const uint32_t node = (uint32_t)check_unsigned(L, 3, UINT32_MAX);
    uint32_t what, index;
    lua_settop(L, 6);
    push_recipe(L, 1); /* 7 */
    parameter type = check_named(L, s, node, &what, &index);
    lua_pushvalue(L, 2);
    const parameter known = type_of(L, 7, 8);
    if (known.kind != PARAMETER_UNKNOWN && type.kind == PARAMETER_UNKNOWN) type = known;
    if (known.kind != PARAMETER_UNKNOWN && !same_type(&known, &type))
        return luaL_error(L, "parameter '%s' is of another type already", name);
    gpo_status status = s->api->template_add_parameter(TEMPLATE(t), name, node, what, index);
    uint64_t bytes = 0;
    if (status == GPO_SUCCESS) status = s->api->template_get_parameter(TEMPLATE(t), name, NULL, &bytes);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    if (type.kind == PARAMETER_UNKNOWN) type = (parameter){PARAMETER_BYTES, (uint32_t)bytes, 0};
    if (bytes != type.size)
        return luaL_error(L, "parameter '%s' has %d bytes, and its type %d", name, (int)bytes, (int)type.size);
    lua_rawgeti(L, 7, RECIPE_TYPES);
    lua_pushvalue(L, 2);
    push_type(L, &type);
    lua_rawset(L, -3);
    return result(L, s, status);
}

/* --- launches without a graph of one's own --- */

static void use_recipe(lua_State *L, state *s, template_object *t, stream_object *stream) {
    if (t->marked == stream && !stream->recorder) return;
    push_kept(L, 1, TEMPLATE_RECIPE);
    lua_rawgeti(L, -1, RECIPE_ARRAYS);
    use_arrays(L, s, lua_gettop(L), 1, 2, stream);
    lua_pop(L, 2);
    keep(L, 1, TEMPLATE_STREAM, 2);
    t->marked = stream;
}

/* launch(stream [, {name = value, ...}]) */
int template_launch(lua_State *L) {
    state *s = the_state(L);
    template_object *t = check_object(L, s, 1, CLASS_TEMPLATE);
    stream_object *stream = check_object(L, s, 2, CLASS_STREAM);
    uint64_t count;
    lua_settop(L, 3);
    push_kept(L, 1, TEMPLATE_RECIPE); /* 4 */
    use_recipe(L, s, t, stream);
    const gpo_setting *settings = read_settings(L, s, 4, 3, &count);
    if (count) use_settings(L, s, 3, 2, stream);
    return result(L, s, s->api->template_launch(TEMPLATE(t), HANDLE(&stream->base, gpo_stream_t), settings,
                                                sizeof *settings, count));
}
