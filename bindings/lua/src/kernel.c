/* kernel.c: modules, kernels and their launch. A kernel has a signature, "u32 f32 ptr bytes:12": Lua's numbers have no
 * type, so the signature says how to convert and check each argument. */
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "template.h"

#define MOST_PARAMETER_BYTES 32764 /* limit for the parameters of a kernel, from CUDA 12.1 on */

/* --- modules --- */

/* headers = {["name.h"] = text}: names and texts in one block, names first. */
static const char **read_headers(lua_State *L, int table, uint32_t *count) {
    lua_getfield(L, table, "headers");
    *count = 0;
    if (lua_isnil(L, -1)) return NULL;
    if (!lua_istable(L, -1)) luaL_error(L, "option 'headers': a table from names to texts expected");
    const int headers = lua_gettop(L);
    copy_table(L, headers);
    for (lua_pushnil(L); lua_next(L, headers); lua_pop(L, 1)) ++*count;
    const char **strings = lua_newuserdata(L, sizeof *strings * 2 * (*count + 1));
    uint32_t at = 0;
    for (lua_pushnil(L); lua_next(L, headers); lua_pop(L, 1), ++at) {
        if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
            luaL_error(L, "option 'headers': a table from names to texts expected");
        strings[at] = lua_tostring(L, -2);
        strings[*count + at] = lua_tostring(L, -1);
    }
    return strings;
}

/* module_compile(source [, options]), or (options) with the source among them. */
int module_compile(lua_State *L) {
    state *s = the_state(L);
    object *device = check_object(L, s, 1, CLASS_DEVICE);
    gpo_compile_options options = {.struct_size = sizeof options};
    size_t bytes;
    if (lua_type(L, 2) == LUA_TSTRING) {
        lua_settop(L, 3);
    } else {
        luaL_checktype(L, 2, LUA_TTABLE);
        lua_settop(L, 2);
        lua_getfield(L, 2, "source");
        lua_insert(L, 2);
        if (lua_type(L, 2) != LUA_TSTRING) return luaL_error(L, "option 'source': a string expected");
    }
    options.source = lua_tolstring(L, 2, &bytes);
    options.source_bytes = bytes;
    /* 0 bytes would mean "up to the NUL", which an empty string has at once: the same. */
    read_record(L, 3, gpo_compile_options_fields, &options);
    if (lua_istable(L, 3)) {
        options.header_names = read_headers(L, 3, &options.header_count);
        if (options.header_names) options.header_texts = options.header_names + options.header_count;
    }
    object *module = new_object(L, s, CLASS_MODULE, 1);
    return created(L, s,
                   s->api->module_compile(HANDLE(device, gpo_device_t), &options, (gpo_module_t *)&module->handle));
}

/* symbol(name): address and bytes; symbol(name, type): a device array. */
int module_get_symbol(lua_State *L) {
    state *s = the_state(L);
    object *module = check_object(L, s, 1, CLASS_MODULE);
    uint64_t address = 0, bytes = 0;
    const char *name = luaL_checkstring(L, 2);
    const int typed = !lua_isnoneornil(L, 3);
    const enum element type = typed ? check_element_type(L, 3) : ELEMENT_U8;
    const gpo_status status = s->api->module_get_symbol(HANDLE(module, gpo_module_t), name, &address, &bytes);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    if (typed) {
        luaL_argcheck(L, bytes % element_sizes[type] == 0, 3, "the variable is no whole number of these elements");
        array_object *array = new_array(L, s, 1, MEMORY_BORROWED_DEVICE, type, address, bytes / element_sizes[type]);
        array->base.handle = array;
        array->base.borrowed = 1;
        array->counted = 1;
        ++module->users;
        return 1;
    }
    push_address(L, s, address);
    push_unsigned(L, bytes);
    return 2;
}

/* --- signatures --- */

const char *parameter_name(const parameter *p, char text[32]) {
    if (p->kind == PARAMETER_POINTER) return "ptr";
    if (p->kind < ELEMENT_COUNT) return element_names[p->kind];
    if (p->kind == PARAMETER_QUEUE) return words_of_GPO_QUEUE_RANGE[queue_kind_of(p->size)];
    snprintf(text, 32, "bytes:%u", p->size);
    return text;
}

/* "range", "ring" and "host_ring" are the structs of device/queue.cuh. */
static int read_queue_type(const char *word, size_t length, parameter *p) {
    static const uint32_t sizes[] = {0, 64, 96, 192};
    for (uint32_t kind = GPO_QUEUE_RANGE; kind <= GPO_QUEUE_HOST_RING; ++kind) {
        const char *name = words_of_GPO_QUEUE_RANGE[kind];
        if (strlen(name) != length || memcmp(name, word, length) != 0) continue;
        *p = (parameter){PARAMETER_QUEUE, sizes[kind], 0};
        return 1;
    }
    return 0;
}

int read_parameter_type(const char *word, size_t length, parameter *p) {
    const int type = find_element_type(word, length);
    if (type >= 0) {
        *p = (parameter){(uint8_t)type, element_sizes[type], 0};
        return 1;
    }
    if (length == 3 && memcmp(word, "ptr", 3) == 0) {
        *p = (parameter){PARAMETER_POINTER, 8, 0};
        return 1;
    }
    if (read_queue_type(word, length, p)) return 1;
    if (length < 7 || length > 11 || memcmp(word, "bytes:", 6) != 0) return 0;
    uint32_t size = 0;
    for (size_t i = 6; i < length; ++i) {
        if (word[i] < '0' || word[i] > '9') return 0;
        size = size * 10 + (uint32_t)(word[i] - '0');
    }
    *p = (parameter){PARAMETER_BYTES, size, 0};
    return size >= 1 && size <= MOST_PARAMETER_BYTES;
}

/* Reads the signature at `index` into the kernel, whose memory the collector frees. */
static void read_signature(lua_State *L, state *s, int index, kernel_object *kernel) {
    const char *text = luaL_optstring(L, index, "");
    uint32_t words = 0, total = 0;
    for (const char *at = text; *(at += strspn(at, " ,\t\n")); at += strcspn(at, " ,\t\n")) ++words;
    const size_t entry = sizeof(parameter) + sizeof(void *) + sizeof(uint32_t);
    char *block = owned_resize(s, NULL, entry * (words + 1));
    if (!block) luaL_error(L, "not enough memory");
    kernel->pointers = (const void **)block;
    kernel->parameters = (parameter *)(block + (words + 1) * sizeof(void *));
    kernel->sizes = (uint32_t *)(kernel->parameters + words + 1);
    for (const char *at = text; *(at += strspn(at, " ,\t\n"));) {
        const size_t length = strcspn(at, " ,\t\n");
        parameter *p = &kernel->parameters[kernel->count];
        if (!read_parameter_type(at, length, p)) {
            lua_pushlstring(L, at, length);
            luaL_error(L,
                       "'%s' is no type of a parameter: u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, ptr, bytes:N, "
                       "range, ring or host_ring expected",
                       lua_tostring(L, -1));
        }
        p->offset = total;
        total += (p->size + 15) & ~15u; /* aligned for any type */
        kernel->sizes[kernel->count++] = p->size;
        at += length;
    }
    luaL_argcheck(L, total <= 4 * MOST_PARAMETER_BYTES, index, "the parameters are too many");
    kernel->bytes = total;
    kernel->values = owned_make(s, total + 1, NULL);
    if (!kernel->values) luaL_error(L, "not enough memory");
    for (uint32_t i = 0; i < kernel->count; ++i) kernel->pointers[i] = kernel->values + kernel->parameters[i].offset;
}

/* kernel(name [, signature]): without one it has no parameters. */
int module_get_kernel(lua_State *L) {
    state *s = the_state(L);
    object *module = check_object(L, s, 1, CLASS_MODULE);
    const char *name = luaL_checkstring(L, 2);
    lua_settop(L, 3);
    kernel_object *kernel = new_object(L, s, CLASS_KERNEL, 1);
    read_signature(L, s, 3, kernel);
    gpo_kernel_t handle = NULL;
    gpo_status status = s->api->module_get_kernel(HANDLE(module, gpo_module_t), name, &handle);
    kernel->base.handle = handle;
    if (status != GPO_SUCCESS) return failure(L, s, status);
    gpo_kernel_attributes attributes = {.struct_size = sizeof attributes};
    status = s->api->kernel_get_attributes(handle, &attributes);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    if (attributes.parameter_count != 0 && attributes.parameter_count != kernel->count)
        return luaL_error(L, "kernel '%s' has %d parameters, the signature %d", name, (int)attributes.parameter_count,
                          (int)kernel->count);
    return 1;
}

void free_kernel(state *s, object *o) {
    kernel_object *kernel = (kernel_object *)o;
    owned_free(s, kernel->pointers);
    owned_free(s, kernel->values);
    kernel->pointers = NULL;
    kernel->values = NULL;
}

/* --- launches --- */

const char *read_shape(lua_State *L, int index, uint32_t out[3]) {
    uint64_t value = 0;
    const char *problem = NULL;
    if (!lua_istable(L, index)) {
        problem = read_unsigned(L, index, UINT32_MAX, &value);
        if (!problem) out[0] = (uint32_t)value;
        return problem;
    }
    const int count = (int)lua_rawlen(L, index);
    if (count < 1 || count > 3) return "one to three numbers expected";
    for (int i = 0; i < count; ++i) {
        lua_rawgeti(L, index, i + 1);
        problem = read_unsigned(L, lua_gettop(L), UINT32_MAX, &value); /* a message stays above it */
        if (problem) break;
        out[i] = (uint32_t)value;
        lua_pop(L, 1);
    }
    return problem;
}

void read_three(lua_State *L, int index, const char *name, uint32_t out[3]) {
    const char *problem = read_shape(L, index, out);
    if (problem) luaL_error(L, "option '%s': %s", name, problem);
}

static void read_launch(lua_State *L, int index, gpo_launch *launch) {
    *launch = (gpo_launch){.struct_size = sizeof *launch};
    luaL_checktype(L, index, LUA_TTABLE);
    read_record(L, index, gpo_launch_fields, launch);
    lua_getfield(L, index, "priority");
    if (!lua_isnil(L, -1)) launch->flags |= GPO_LAUNCH_PRIORITY;
    lua_pop(L, 1);
}

/* launch(options): read once, for launches that make no garbage. */
int make_launch(lua_State *L) {
    state *s = the_state(L);
    gpo_launch launch;
    read_launch(L, 1, &launch);
    launch_object *reused = new_object(L, s, CLASS_LAUNCH, 0);
    reused->launch = launch;
    if (launch.label) {
        snprintf(reused->label, sizeof reused->label, "%s", launch.label);
        reused->launch.label = reused->label;
    }
    reused->base.handle = reused;
    return 1;
}

const char *read_parameter(lua_State *L, state *s, int index, const parameter *p, void *out, array_object **array) {
    if (p->kind < ELEMENT_COUNT) return read_element(L, index, (enum element)p->kind, out);
    if (p->kind == PARAMETER_BYTES) {
        if (lua_type(L, index) != LUA_TSTRING) return "a string of bytes expected";
        if (lua_rawlen(L, index) != p->size) return "the string has another size than the parameter";
        memcpy(out, lua_tostring(L, index), p->size);
        return NULL;
    }
    if (p->kind == PARAMETER_QUEUE) return read_queue(L, s, index, p, out);
    uint64_t address = 0;
    if ((*array = test_object(L, s, index, CLASS_ARRAY))) {
        const array_object *root = (*array)->root;
        if (is_gone(*array)) return "the array is closed";
        if (root->kind == MEMORY_HOST && !root->registered)   /* a fault that would cost the whole context */
            return "pageable memory, which a GPU can't reach: arena:allocate gives pinned memory, device:host_register "
                   "pins it";
        address = (*array)->address;
    } else if (!lua_isnil(L, index)) {
        const char *problem = read_address(L, s, index, "an array, an address or nil expected", &address);
        if (problem) return problem;
    }
    memcpy(out, &address, sizeof address);
    return NULL;
}

array_object *read_memory(lua_State *L, state *s, int index, const char *option, uint64_t *address) {
    static const parameter pointer = {PARAMETER_POINTER, 8, 0};
    array_object *array = NULL;
    const char *problem = read_parameter(L, s, index, &pointer, address, &array);
    if (problem) luaL_error(L, "option '%s': %s", option, problem);
    return array;
}

enum { FIRST_ARGUMENT = 4 };

static int bad_parameter(lua_State *L, const kernel_object *kernel, uint32_t which, const char *problem) {
    char name[32];
    return luaL_error(L, "parameter %d (%s) of the kernel: %s", (int)which + 1,
                      parameter_name(&kernel->parameters[which], name), problem);
}

const gpo_launch *check_shape(lua_State *L, state *s, int index, gpo_launch *read) {
    const launch_object *reused = test_object(L, s, index, CLASS_LAUNCH);
    if (reused) return &reused->launch;
    read_launch(L, index, read);
    return read;
}

static void check_argument_count(lua_State *L, const kernel_object *kernel, int first) {
    const int given = lua_gettop(L) - (first - 1);
    if (given != (int)kernel->count)
        luaL_error(L, "the kernel has %d parameters, got %d arguments", (int)kernel->count, given);
}

array_object *read_argument(lua_State *L, state *s, kernel_object *kernel, uint32_t which, int index) {
    array_object *array = NULL;
    const parameter *p = &kernel->parameters[which];
    const char *problem = read_parameter(L, s, index, p, kernel->values + p->offset, &array);
    if (problem) bad_parameter(L, kernel, which, problem);
    return array;
}

const struct queue_object *check_queue_argument(lua_State *L, state *s, const kernel_object *kernel, uint32_t which,
                                                int index, const object *user, const stream_object *stream) {
    if (kernel->parameters[which].kind != PARAMETER_QUEUE) return NULL;
    const queue_object *queue = lua_touserdata(L, index);
    const char *problem = refuse_queue(s, queue, user, stream);
    if (problem) bad_parameter(L, kernel, which, problem);
    return queue;
}

/* stream_launch_kernel(kernel, launch or options, arguments...) */
int stream_launch_kernel(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream = check_object(L, s, 1, CLASS_STREAM);
    kernel_object *kernel = check_object(L, s, 2, CLASS_KERNEL);
    gpo_launch read;
    const gpo_launch *shape = check_shape(L, s, 3, &read);
    check_argument_count(L, kernel, FIRST_ARGUMENT);
    for (uint32_t i = 0; i < kernel->count; ++i) {
        const int index = FIRST_ARGUMENT + (int)i;
        array_object *array = read_argument(L, s, kernel, i, index);
        if (array && (array->root->last_stream != stream || stream->recorder)) use_array(L, s, index, array, 1, stream);
        if (check_queue_argument(L, s, kernel, i, index, &stream->base, stream) && stream->recorder)
            record_queue(L, s, index, stream);
    }
    const gpo_status status =
        s->api->stream_launch_kernel(HANDLE(&stream->base, gpo_stream_t), HANDLE(&kernel->base, gpo_kernel_t), shape,
                                     kernel->pointers, kernel->sizes, kernel->count);
    if (stream->recorder && status == GPO_SUCCESS) {
        lua_pushvalue(L, 2);
        record_node(L, s, stream);
    }
    return result(L, s, status);
}

/* add_kernel(after, kernel, launch or options, arguments...): a node of a template. */
int template_add_kernel(lua_State *L) {
    enum { FIRST = 5 };
    state *s = the_state(L);
    const object *t = check_object(L, s, 1, CLASS_TEMPLATE);
    kernel_object *kernel = check_object(L, s, 3, CLASS_KERNEL);
    uint32_t one, after_count, node = 0;
    check_argument_count(L, kernel, FIRST);
    const uint32_t *after = check_after(L, 2, &one, &after_count);
    gpo_launch read;
    const gpo_launch *shape = check_shape(L, s, 4, &read);
    for (uint32_t i = 0; i < kernel->count; ++i) {
        read_argument(L, s, kernel, i, FIRST + (int)i);
        check_queue_argument(L, s, kernel, i, FIRST + (int)i, t, NULL);
    }
    const gpo_status status =
        s->api->template_add_kernel(HANDLE(t, gpo_template_t), after, after_count, HANDLE(&kernel->base, gpo_kernel_t),
                                    shape, kernel->pointers, kernel->sizes, kernel->count, &node);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_recipe(L, 1);
    const int recipe = lua_gettop(L);
    lua_pushvalue(L, 3);
    note_node(L, recipe, node);
    for (uint32_t i = 0; i < kernel->count; ++i) {
        hold_array(L, s, recipe, FIRST + (int)i);
        if (kernel->parameters[i].kind == PARAMETER_QUEUE) hold_queue(L, recipe, FIRST + (int)i);
    }
    return added(L, s, status, &node);
}
