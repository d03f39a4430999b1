/* copy.c: copies and fills. Their ends are arrays, or addresses for what other libraries allocated; the source
 * of an upload may be a string. Arrays are checked to hold what is copied; addresses are checked by C as far as it
 * can. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "template.h"

typedef struct end {
    uint64_t address;
    uint64_t bytes;      /* that it has; UINT64_MAX for an address */
    array_object *array; /* NULL: none */
    int index;
    const char *name;    /* of the field that it is; NULL: it is an argument */
} end;

enum { HOST_END = 1, DEVICE_END = 2, STRING_END = 4 };

static int complain(lua_State *L, int index, const char *name, const char *problem) {
    return name ? luaL_error(L, "field '%s': %s", name, problem) : luaL_argerror(L, index, problem);
}

/* The value at `index`: an argument, or what the field `name` has. */
static end read_end(lua_State *L, state *s, int index, const char *name, int allowed) {
    end e = {0, UINT64_MAX, NULL, index, name};
    if ((e.array = test_object(L, s, index, CLASS_ARRAY))) {
        if (is_gone(e.array)) complain(L, index, name, "the array is closed");
        e.address = e.array->address;
        e.bytes = ARRAY_BYTES(e.array);
        const int side = on_host(e.array) ? HOST_END : DEVICE_END;
        if (!(allowed & side))
            complain(L, index, name, side == HOST_END ? "a device array expected, got one of the host's"
                                                      : "an array of the host's expected, got a device array");
        return e;
    }
    if ((allowed & STRING_END) && lua_type(L, index) == LUA_TSTRING) {
        size_t length;
        e.address = (uint64_t)(uintptr_t)lua_tolstring(L, index, &length);
        e.bytes = length;
        return e;
    }
    const char *problem = read_address(L, s, index, "an array or an address expected", &e.address);
    if (problem) complain(L, index, name, problem);
    return e;
}

/* The number of bytes given at `index`, or what both ends have. `name`: as an end's. */
static uint64_t check_bytes(lua_State *L, int index, const char *name, const end *to, const end *from) {
    uint64_t bytes = to->bytes < from->bytes ? to->bytes : from->bytes, asked = 0;
    if (lua_isnoneornil(L, index)) {
        if (to->bytes != from->bytes && to->bytes != UINT64_MAX && from->bytes != UINT64_MAX) {
            char text[128];
            snprintf(text, sizeof text, "%" PRIu64 " bytes to %" PRIu64 ": slice one, or give the number of bytes",
                     from->bytes, to->bytes);
            complain(L, to->index, to->name, text);
        }
        if (bytes == UINT64_MAX) complain(L, index, name, "the number of bytes expected, since neither end tells it");
        return bytes;
    }
    const char *problem = read_unsigned(L, index, UINT64_MAX, &asked);
    if (problem || asked > bytes) complain(L, index, name, problem ? problem : "more bytes than an end has");
    return asked;
}

static void use_end(lua_State *L, state *s, const end *e, stream_object *stream) {
    if (e->array) use_array(L, s, e->index, e->array, 1, stream);
}

/* Reads how many bytes to copy, as check_bytes, and notes that the stream uses both ends. */
static uint64_t check_copy(lua_State *L, state *s, int index, const char *name, const end *to, const end *from,
                           stream_object *stream) {
    const uint64_t bytes = check_bytes(L, index, name, to, from);
    use_end(L, s, to, stream);
    use_end(L, s, from, stream);
    return bytes;
}

/* copy_to_device(destination, source [, bytes]) */
int copy_to_device(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream = check_object(L, s, 1, CLASS_STREAM);
    const end to = read_end(L, s, 2, NULL, DEVICE_END), from = read_end(L, s, 3, NULL, HOST_END | STRING_END);
    const uint64_t bytes = check_copy(L, s, 4, NULL, &to, &from, stream);
    return result(L, s, s->api->copy_to_device(HANDLE(&stream->base, gpo_stream_t), to.address,
                                               (const void *)(uintptr_t)from.address, bytes));
}

/* copy_to_host(destination, source [, bytes]) */
int copy_to_host(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream = check_object(L, s, 1, CLASS_STREAM);
    const end to = read_end(L, s, 2, NULL, HOST_END), from = read_end(L, s, 3, NULL, DEVICE_END);
    const uint64_t bytes = check_copy(L, s, 4, NULL, &to, &from, stream);
    return result(L, s, s->api->copy_to_host(HANDLE(&stream->base, gpo_stream_t), (void *)(uintptr_t)to.address,
                                             from.address, bytes));
}

/* copy_on_device(destination, source [, bytes]) */
int copy_on_device(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream = check_object(L, s, 1, CLASS_STREAM);
    const end to = read_end(L, s, 2, NULL, DEVICE_END), from = read_end(L, s, 3, NULL, DEVICE_END);
    const uint64_t bytes = check_copy(L, s, 4, NULL, &to, &from, stream);
    return result(L, s, s->api->copy_on_device(HANDLE(&stream->base, gpo_stream_t), to.address, from.address, bytes));
}

/* copy_peer(destination_device, destination, source_device, source [, bytes]) */
int copy_peer(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream = check_object(L, s, 1, CLASS_STREAM);
    object *to_device = check_object(L, s, 2, CLASS_DEVICE), *from_device = check_object(L, s, 4, CLASS_DEVICE);
    const end to = read_end(L, s, 3, NULL, DEVICE_END), from = read_end(L, s, 5, NULL, DEVICE_END);
    const uint64_t bytes = check_copy(L, s, 6, NULL, &to, &from, stream);
    return result(L, s,
                  s->api->copy_peer(HANDLE(&stream->base, gpo_stream_t), HANDLE(to_device, gpo_device_t), to.address,
                                    HANDLE(from_device, gpo_device_t), from.address, bytes));
}

/* copy_batch{{destination = , source = [, bytes = ]}, ...} */
int copy_batch(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream = check_object(L, s, 1, CLASS_STREAM);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    copy_table(L, 2);
    const int count = (int)lua_rawlen(L, 2);
    gpo_copy *copies = lua_newuserdata(L, sizeof *copies * (size_t)(count + 1));
    memset(copies, 0, sizeof *copies * (size_t)(count + 1));
    for (int i = 0; i < count; ++i) {
        lua_rawgeti(L, 2, i + 1);
        take_table(L, 4, gpo_copy_fields, "field");
        lua_rawseti(L, 2, i + 1);
    }
    /* From here on the collector doesn't run: no finalizer closes an array that has been read. */
    for (int i = 0; i < count; ++i) {
        lua_rawgeti(L, 2, i + 1);
        lua_getfield(L, 4, "destination");
        lua_getfield(L, 4, "source");
        lua_getfield(L, 4, "bytes");
        const end to = read_end(L, s, 5, "destination", HOST_END | DEVICE_END),
                  from = read_end(L, s, 6, "source", HOST_END | DEVICE_END);
        copies[i] = (gpo_copy){.struct_size = sizeof *copies, .destination = to.address, .source = from.address,
                               .bytes = check_copy(L, s, 7, "bytes", &to, &from, stream)};
        lua_settop(L, 3);
    }
    return result(L, s,
                  s->api->copy_batch(HANDLE(&stream->base, gpo_stream_t), copies, sizeof *copies, (uint64_t)count));
}

/* The rows lie within the end. */
static void check_rows(lua_State *L, const end *e, uint64_t pitch, uint64_t width, uint64_t height, const char *which) {
    uint64_t bytes = 0;
    if (height == 0 || width == 0) return;
    if (__builtin_mul_overflow(height - 1, pitch, &bytes) || __builtin_add_overflow(bytes, width, &bytes) ||
        bytes > e->bytes)
        luaL_error(L, "the rows reach beyond the %s", which);
}

/* copy_rows{destination = , destination_pitch = , source = , source_pitch = , width = , height = }: in bytes. */
int copy_rows(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream = check_object(L, s, 1, CLASS_STREAM);
    luaL_checktype(L, 2, LUA_TTABLE);
    gpo_copy_2d copy = {.struct_size = sizeof copy};
    read_record(L, 2, gpo_copy_2d_fields, &copy);
    lua_settop(L, 2);
    lua_getfield(L, 2, "destination");
    lua_getfield(L, 2, "source");
    const end to = read_end(L, s, 3, "destination", HOST_END | DEVICE_END),
              from = read_end(L, s, 4, "source", HOST_END | DEVICE_END);
    check_rows(L, &to, copy.destination_pitch, copy.width, copy.height, "destination");
    check_rows(L, &from, copy.source_pitch, copy.width, copy.height, "source");
    copy.destination = to.address;
    copy.source = from.address;
    use_end(L, s, &to, stream);
    use_end(L, s, &from, stream);
    return result(L, s, s->api->copy_rows(HANDLE(&stream->base, gpo_stream_t), &copy));
}

/* fill(array, value), or fill(address, value, type, count) */
int fill(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream = check_object(L, s, 1, CLASS_STREAM);
    const end to = read_end(L, s, 2, NULL, HOST_END | DEVICE_END);
    const enum element type = to.array ? to.array->type : check_element_type(L, 4);
    uint64_t count = to.array ? to.array->count : check_element_count(L, 5, type);
    uint32_t pattern = 0, bytes = 0;
    const char *problem = read_pattern(L, 3, type, &pattern, &bytes, &count);
    if (problem) return luaL_argerror(L, 3, problem);
    use_end(L, s, &to, stream);
    const gpo_status status = s->api->fill(HANDLE(&stream->base, gpo_stream_t), to.address, pattern, bytes, count);
    if (stream->recorder && status == GPO_SUCCESS) {
        push_fill_type(L, type);
        record_node(L, s, stream);
    }
    return result(L, s, status);
}

/* fill_rows(destination, pitch, value, width, height): bytes. */
int fill_rows(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream = check_object(L, s, 1, CLASS_STREAM);
    const end to = read_end(L, s, 2, NULL, HOST_END | DEVICE_END);
    const uint64_t pitch = check_unsigned(L, 3, UINT64_MAX), value = check_unsigned(L, 4, UINT8_MAX),
                   width = check_unsigned(L, 5, UINT64_MAX), height = check_unsigned(L, 6, UINT64_MAX);
    check_rows(L, &to, pitch, width, height, "destination");
    use_end(L, s, &to, stream);
    return result(
        L, s,
        s->api->fill_rows(HANDLE(&stream->base, gpo_stream_t), to.address, pitch, (uint32_t)value, width, height));
}

/* --- nodes of templates --- */

static void hold_end(lua_State *L, state *s, const end *e, int recipe) {
    if (e->array) hold_array(L, s, recipe, e->index);
}

/* add_copy(after, {destination = , source = [, bytes = ]}) */
int template_add_copy(lua_State *L) {
    state *s = the_state(L);
    const object *t = check_object(L, s, 1, CLASS_TEMPLATE);
    uint32_t one, count, node = 0;
    const uint32_t *after = check_after(L, 2, &one, &count);
    take_table(L, 3, gpo_copy_fields, "field");
    lua_settop(L, 3);
    lua_getfield(L, 3, "destination");
    lua_getfield(L, 3, "source");
    lua_getfield(L, 3, "bytes");
    const end to = read_end(L, s, 4, "destination", HOST_END | DEVICE_END),
              from = read_end(L, s, 5, "source", HOST_END | DEVICE_END);
    const gpo_copy copy = {.struct_size = sizeof copy, .destination = to.address, .source = from.address,
                           .bytes = check_bytes(L, 6, "bytes", &to, &from)};
    const gpo_status status = s->api->template_add_copy(HANDLE(t, gpo_template_t), after, count, &copy, &node);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_recipe(L, 1);
    hold_end(L, s, &to, 7);
    hold_end(L, s, &from, 7);
    return added(L, s, status, &node);
}

/* add_fill(after, array, value), or add_fill(after, address, value, type, count) */
int template_add_fill(lua_State *L) {
    state *s = the_state(L);
    const object *t = check_object(L, s, 1, CLASS_TEMPLATE);
    uint32_t one, after_count, node = 0, pattern = 0, bytes = 0;
    const uint32_t *after = check_after(L, 2, &one, &after_count);
    const end to = read_end(L, s, 3, NULL, HOST_END | DEVICE_END);
    const enum element type = to.array ? to.array->type : check_element_type(L, 5);
    uint64_t count = to.array ? to.array->count : check_element_count(L, 6, type);
    const char *problem = read_pattern(L, 4, type, &pattern, &bytes, &count);
    if (problem) return luaL_argerror(L, 4, problem);
    const gpo_status status = s->api->template_add_fill(HANDLE(t, gpo_template_t), after, after_count, to.address,
                                                        pattern, bytes, count, &node);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_recipe(L, 1);
    const int recipe = lua_gettop(L);
    hold_end(L, s, &to, recipe);
    push_fill_type(L, type);
    note_node(L, recipe, node);
    return added(L, s, status, &node);
}
