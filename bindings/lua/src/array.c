/* array.c: typed arrays of pinned, pageable and device memory. Elements count from 1. A slice is an array that shares
 * the memory of its root. An array remembers the streams of its uses; its memory is freed behind them. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "binding.h"

#define LONGEST_FREE_NS 2000000000 /* of a wait for streams before memory is freed that C can't free behind them */

enum { ARRAY_STREAMS = 2 }; /* slots 2 and above of a root's own table */
static const int never = 0;

/* A shutdown of the runtime frees the array's memory; through its parents the array keeps the runtime's userdata. */
void watch_runtime(lua_State *L, state *s, array_object *array) {
    if (push_known(L, s, array->base.runtime)) array->ended = &((runtime_object *)lua_touserdata(L, -1))->ended;
    lua_pop(L, 1);
}

array_object *new_array(lua_State *L, state *s, int parent, enum memory_kind kind, enum element type, uint64_t address,
                        uint64_t count) {
    array_object *array = new_object(L, s, CLASS_ARRAY, parent);
    array->type = type;
    array->kind = kind;
    array->address = address;
    array->count = count;
    array->root = array;
    array->ended = array->closed = &never;
    if (parent) watch_runtime(L, s, array);
    return array;
}

int on_host(const array_object *array) { return array->root->kind <= MEMORY_BORROWED_HOST; }

int is_gone(const array_object *array) {
    const array_object *root = array->root;
    return root->base.closed || array->base.closed || *root->ended || *root->closed;
}

array_object *check_array(lua_State *L, state *s, int index) {
    array_object *array = check_object_even_closed(L, s, index, CLASS_ARRAY);
    if (is_gone(array) || !s->bridge) luaL_argerror(L, index, s->bridge ? "the array is closed" : state_is_closed);
    return array;
}

static array_object *check_host_array(lua_State *L, state *s, int index) {
    array_object *array = check_array(L, s, index);
    if (!on_host(array))
        luaL_argerror(L, index, "device memory can't be reached from the host: copy it, or give a stream first");
    return array;
}

void push_root(lua_State *L, int index) {
    const array_object *array = lua_touserdata(L, index);
    if (array->root == array) lua_pushvalue(L, index);
    else push_kept(L, index, 1);
}

/* --- the streams that used it --- */

void use_array(lua_State *L, state *s, int array_index, array_object *array, int stream_index, stream_object *stream) {
    array_object *root = array->root;
    if (stream->recorder) record_array(L, s, array_index, stream);
    if (root->of_graph) {
        if (!stream->recorder) luaL_error(L, "memory that a graph allocates is for its nodes only");
        return;
    }
    if (root->last_stream == stream) return;
    /* C frees device memory behind all streams of the device except resident streams. */
    if (root->kind == MEMORY_DEVICE && root->base.above == stream->base.above && !stream->resident) return;
    push_root(L, array_index);
    const int index = lua_gettop(L);
    lua_getuservalue(L, index);
    int free_slot = 0;
    for (int i = 0; i < root->streams; ++i) {
        lua_rawgeti(L, -1, ARRAY_STREAMS + i);
        stream_object *used = lua_touserdata(L, -1);
        lua_pop(L, 1);
        if (used == stream) {
            root->last_stream = stream;
            lua_pop(L, 2);
            return;
        }
        /* Streams that were closed and have become idle since need not be remembered. */
        if (used->base.closed && (!used->base.handle || is_idle(s, used)))
            free_slot = ARRAY_STREAMS + i;
    }
    if (free_slot) {
        lua_rawgeti(L, -1, free_slot);
        drop_user(L, s, lua_gettop(L));
        lua_pop(L, 1);
    } else {
        free_slot = ARRAY_STREAMS + root->streams;
    }
    lua_pushvalue(L, stream_index);
    lua_rawseti(L, -2, free_slot);
    if (free_slot == ARRAY_STREAMS + root->streams) ++root->streams;
    ++stream->base.users;
    root->last_stream = stream;
    lua_pop(L, 2);
}

/* Number i of the streams that used the array at `index`. */
static stream_object *used_stream(lua_State *L, int index, int i) {
    push_kept(L, index, ARRAY_STREAMS + i);
    stream_object *used = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return used;
}

/* A stream of the library's own, for frees; NULL: there is none. */
static gpo_stream_t make_stream(state *s, gpo_device_t device) {
    const gpo_stream_options options = {.struct_size = sizeof options, .label = "lua frees"};
    gpo_stream_t stream = NULL;
    return s->api->stream_create(device, &options, &stream) == GPO_SUCCESS ? stream : NULL;
}

/* A stream whose end is the end of all uses of the array; NULL: no use is pending. `*own`: the caller destroys the
 * stream. */
static gpo_stream_t stream_behind(lua_State *L, state *s, array_object *array, int index, gpo_device_t device,
                                  int *own) {
    gpo_stream_t only = NULL, joined = NULL;
    *own = 0;
    for (int i = 0; i < array->streams; ++i) {
        const stream_object *used = used_stream(L, index, i);
        if (!used->base.handle || is_idle(s, used)) continue;
        if (!only) {
            only = HANDLE(&used->base, gpo_stream_t);
            continue;
        }
        /* Several streams are busy: a new stream waits for all of them, so that none of them waits for another. */
        if (!joined) {
            if (!(joined = make_stream(s, device))) break;
            *own = 1;
            s->api->stream_wait_stream(joined, only);
        }
        s->api->stream_wait_stream(joined, HANDLE(&used->base, gpo_stream_t));
    }
    return joined ? joined : only;
}

static void wait_until_idle(lua_State *L, state *s, array_object *array, int index, int *busy) {
    *busy = 0;
    for (int i = 0; i < array->streams; ++i) {
        const object *used = &used_stream(L, index, i)->base;
        if (used->handle && s->api->stream_wait(HANDLE(used, gpo_stream_t), LONGEST_FREE_NS) == GPO_TIMEOUT) *busy = 1;
    }
}

int is_recorded(lua_State *L, state *s, int index) {
    const array_object *array = lua_touserdata(L, index);
    int waits = 0;
    luaL_checkstack(L, 10, NULL);
    for (int i = 0; i < array->streams && !waits; ++i)
        waits = wait_for_recording(L, s, index, used_stream(L, index, i));
    return waits;
}

static void free_pool_piece(lua_State *L, state *s, array_object *array, int index, gpo_pool_t pool,
                            gpo_device_t device) {
    int own = 0;
    gpo_stream_t stream = stream_behind(L, s, array, index, device, &own);
    if (!stream) {
        if (!(stream = make_stream(s, device))) return;
        own = 1;
    }
    const gpo_status status = s->api->pool_free(pool, stream, array->address);
    if (own) s->api->stream_destroy(stream);
    /* A failed stream accepts no free. Free on a new stream then, once the device is idle. */
    if (status == GPO_SUCCESS || s->api->device_wait(device, LONGEST_FREE_NS) == GPO_TIMEOUT) return;
    if (!(stream = make_stream(s, device))) return;
    s->api->pool_free(pool, stream, array->address);
    s->api->stream_destroy(stream);
}

/* Frees behind all streams of the device. A new stream among them waits for the array's other busy streams: resident
 * streams, and streams of other devices. */
static void free_device_piece(lua_State *L, state *s, array_object *array, int index, gpo_device_t device) {
    gpo_stream_t waiting = NULL;
    for (int i = 0; i < array->streams; ++i) {
        const stream_object *used = used_stream(L, index, i);
        if (!used->base.handle || is_idle(s, used)) continue;
        if (!waiting && !(waiting = make_stream(s, device))) return;
        s->api->stream_wait_stream(waiting, HANDLE(&used->base, gpo_stream_t));
    }
    s->api->memory_free(device, array->address);
    if (waiting) s->api->stream_destroy(waiting);
}

static void free_pinned_piece(lua_State *L, state *s, array_object *array, int index, gpo_arena_t arena,
                              gpo_device_t device) {
    int own = 0;
    void *memory = (void *)(uintptr_t)array->address;
    const gpo_stream_t stream = stream_behind(L, s, array, index, device, &own);
    gpo_status status = stream ? s->api->arena_free_after(arena, memory, stream) : s->api->arena_free(arena, memory);
    if (own) s->api->stream_destroy(stream);
    /* If the stream refuses the free, the memory is freed once the device is idle; better lost than reused. */
    if (status != GPO_SUCCESS && stream && s->api->device_wait(device, LONGEST_FREE_NS) != GPO_TIMEOUT)
        s->api->arena_free(arena, memory);
}

static void free_host_memory(lua_State *L, state *s, array_object *array, int index, const object *device) {
    int busy = 0;
    void *memory = (void *)(uintptr_t)array->address;
    wait_until_idle(L, s, array, index, &busy);
    if (array->registered && !*array->ended && device &&
        s->api->host_unregister(HANDLE(device, gpo_device_t), memory) != GPO_SUCCESS)
        busy = 1;
    /* If a copy may still write to the memory, keep it until the state is closed. */
    if (!busy) owned_free(s, memory);
}

static void forget_streams(lua_State *L, state *s, array_object *array, int index) {
    array->last_stream = NULL;
    for (int i = 0; i < array->streams; ++i) {
        push_kept(L, index, ARRAY_STREAMS + i);
        drop_user(L, s, lua_gettop(L));
        lua_pop(L, 1);
    }
    array->streams = 0;
}

/* Releases all that an array holds beside its memory. */
static void let_go(lua_State *L, state *s, array_object *array, int index) {
    if (!array->base.borrowed) s->held_bytes -= (int64_t)ARRAY_BYTES(array);
    forget_streams(L, s, array, index);
    if (!array->counted) return;
    array->counted = 0;
    push_kept(L, index, 1);
    drop_user(L, s, lua_gettop(L));
    lua_pop(L, 1);
}

/* The array is on top of the stack. */
void destroy_array(lua_State *L, state *s, object *o, int collected) {
    array_object *array = (array_object *)o;
    const int index = lua_gettop(L);
    (void)collected;
    if (array->root != array) return;
    luaL_checkstack(L, 10, NULL);
    push_kept(L, index, 1);
    const object *parent = lua_touserdata(L, -1);
    if (parent && array->kind != MEMORY_HOST && parent->handle && !*array->ended) {
        push_kept(L, index + 1, 1);
        const object *above = lua_touserdata(L, -1); /* of an arena or a pool: the device */
        lua_pop(L, 1);
        const gpo_device_t device = above ? HANDLE(above, gpo_device_t) : NULL;
        if (array->kind == MEMORY_PINNED) free_pinned_piece(L, s, array, index, HANDLE(parent, gpo_arena_t), device);
        else if (array->kind == MEMORY_POOL) free_pool_piece(L, s, array, index, HANDLE(parent, gpo_pool_t), device);
        else if (array->kind == MEMORY_DEVICE) free_device_piece(L, s, array, index, HANDLE(parent, gpo_device_t));
    } else if (array->kind == MEMORY_HOST) {
        free_host_memory(L, s, array, index, parent);
    }
    lua_pop(L, 1);
    let_go(L, s, array, index);
}

void free_in_child(state *s, array_object *array) {
    if (array->kind == MEMORY_HOST && array->root == array) owned_free(s, (void *)(uintptr_t)array->address);
}

void forget_array(lua_State *L, state *s, array_object *array, int index) {
    array->base.closed = 1;
    array->base.handle = NULL;
    let_go(L, s, array, index);
}

/* --- elements --- */

static void *element_at(const array_object *array, uint64_t index) {
    return (void *)(uintptr_t)(array->address + (index - 1) * element_sizes[array->type]);
}

static uint64_t check_index(lua_State *L, const array_object *array, int at) {
    uint64_t index = 0;
    const char *problem = read_unsigned(L, at, array->count, &index);
    if (problem || index == 0) {
        char text[64];
        snprintf(text, sizeof text, "an index from 1 to %" PRIu64 " expected", array->count);
        luaL_argerror(L, at, text);
    }
    return index;
}

int array_index(lua_State *L) {
    state *s = the_state(L);
    array_object *array = check_object_even_closed(L, s, 1, CLASS_ARRAY);
    if (lua_type(L, 2) != LUA_TNUMBER) {
        lua_pushvalue(L, 2);
        lua_rawget(L, lua_upvalueindex(2));
        return 1;
    }
    array = check_host_array(L, s, 1);
    push_element(L, array->type, element_at(array, check_index(L, array, 2)));
    return 1;
}

int array_newindex(lua_State *L) {
    array_object *array = check_host_array(L, the_state(L), 1);
    luaL_argcheck(L, lua_type(L, 2) == LUA_TNUMBER, 2, "an array has elements only");
    const char *problem = read_element(L, 3, array->type, element_at(array, check_index(L, array, 2)));
    return problem ? luaL_argerror(L, 3, problem) : 0;
}

int array_length(lua_State *L) {
    push_unsigned(L, check_array(L, the_state(L), 1)->count);
    return 1;
}

/* Reads the first and last element at `index` and `index` + 1, by default all. Returns the first, sets `*count`. */
static uint64_t check_range(lua_State *L, int index, const array_object *array, uint64_t *count) {
    const uint64_t first = optional_unsigned(L, index, UINT64_MAX, 1),
                   last = optional_unsigned(L, index + 1, UINT64_MAX, array->count);
    luaL_argcheck(L, first >= 1 && first <= array->count + 1, index, "the first element is outside the array");
    luaL_argcheck(L, last <= array->count && last + 1 >= first, index + 1,
                  "the last element is outside the array, or before the first");
    *count = last + 1 - first;
    return first;
}

static int array_fill(lua_State *L) {
    state *s = the_state(L);
    array_object *array = check_host_array(L, s, 1);
    char value[8];
    const size_t size = element_sizes[array->type];
    const char *problem = read_element(L, 2, array->type, value);
    luaL_argcheck(L, !problem, 2, problem);
    uint64_t count;
    char *at = element_at(array, check_range(L, 3, array, &count));
    for (uint64_t i = 0; i < count; ++i, at += size) memcpy(at, value, size);
    lua_settop(L, 1);
    return 1;
}

static int push_view(lua_State *L, state *s, array_object *array, enum element type, uint64_t address, uint64_t count) {
    push_root(L, 1);
    array_object *view = new_array(L, s, lua_gettop(L), array->kind, type, address, count);
    view->root = array->root;
    view->base.handle = array->root->base.handle;
    return 1;
}

/* slice(first [, last]): shares the memory. */
static int array_slice(lua_State *L) {
    state *s = the_state(L);
    array_object *array = check_array(L, s, 1);
    uint64_t count;
    const uint64_t first = check_range(L, 2, array, &count);
    return push_view(L, s, array, array->type, (uint64_t)(uintptr_t)element_at(array, first), count);
}

/* as(type): the same memory with elements of another type. */
static int array_as(lua_State *L) {
    state *s = the_state(L);
    array_object *array = check_array(L, s, 1);
    const enum element type = check_element_type(L, 2);
    luaL_argcheck(L, ARRAY_BYTES(array) % element_sizes[type] == 0, 2,
                  "the array is no whole number of these elements");
    luaL_argcheck(L, array->address % element_sizes[type] == 0, 2, "the array isn't aligned for these elements");
    return push_view(L, s, array, type, array->address, ARRAY_BYTES(array) / element_sizes[type]);
}

/* unpack([first [, last]]): the elements as values, as table.unpack has them. */
static int array_unpack(lua_State *L) {
    array_object *array = check_host_array(L, the_state(L), 1);
    const size_t size = element_sizes[array->type];
    uint64_t count;
    const char *at = element_at(array, check_range(L, 2, array, &count));
    if (count > INT_MAX || !lua_checkstack(L, (int)count)) return luaL_error(L, "too many elements to unpack");
    for (uint64_t i = 0; i < count; ++i, at += size) push_element(L, array->type, at);
    return (int)count;
}

static int array_type(lua_State *L) {
    lua_pushstring(L, element_names[check_array(L, the_state(L), 1)->type]);
    return 1;
}

static int array_bytes(lua_State *L) {
    const array_object *array = check_array(L, the_state(L), 1);
    push_unsigned(L, ARRAY_BYTES(array));
    return 1;
}

/* pointer(): the address as an integer; ffi.cast("float *", array:pointer()) with LuaJIT. Keep the array. */
static int array_pointer(lua_State *L) {
    push_unsigned(L, check_array(L, the_state(L), 1)->address);
    return 1;
}

/* --- strings and files. For a device array the first argument is a stream, and the call waits for the stream. --- */

/* Pushes a host array of as many bytes as a device array has, to be copied through; its index. */
static int push_stage(lua_State *L, state *s, stream_object *stream, uint64_t bytes) {
    array_object *stage = new_array(L, s, 0, MEMORY_HOST, ELEMENT_U8, 0, bytes);
    void *memory = owned_resize(s, NULL, bytes);
    if (!memory) return luaL_error(L, "not enough memory");
    stage->address = (uint64_t)(uintptr_t)memory;
    stage->base.handle = stage;
    s->held_bytes += (int64_t)bytes;
    use_array(L, s, lua_gettop(L), stage, 2, stream);
    return lua_gettop(L);
}

static gpo_status wait_for_copy(state *s, void *context, int64_t timeout_ns) {
    return s->api->stream_wait(context, timeout_ns);
}

/* For a device array: its bytes are copied into a stage, which is pushed and returned; NULL with failure values
 * pushed. */
static array_object *download(lua_State *L, state *s, array_object *array, stream_object *stream) {
    const noted_hooks before = note_hooks(L, s);
    const int stage = push_stage(L, s, stream, ARRAY_BYTES(array));
    array_object *copy = lua_touserdata(L, stage);
    const gpo_stream_t handle = HANDLE(&stream->base, gpo_stream_t);
    use_array(L, s, 1, array, 2, stream);
    gpo_status status =
        s->api->copy_to_host(handle, (void *)(uintptr_t)copy->address, array->address, ARRAY_BYTES(array));
    if (status == GPO_SUCCESS) status = wait_by(L, s, before, wait_for_copy, handle, -1);
    if (status == GPO_SUCCESS) return copy;
    failure(L, s, status);
    return NULL;
}

/* Returns the array at 1. Device memory takes a stream at 2, and the next arguments begin at 3; otherwise they begin at
 * 2. */
static array_object *check_with_stream(lua_State *L, state *s, stream_object **stream, int *arguments) {
    array_object *array = check_array(L, s, 1);
    *stream = on_host(array) ? NULL : check_object(L, s, 2, CLASS_STREAM);
    *arguments = *stream ? 3 : 2;
    return array;
}

/* to_string([stream]): all bytes. */
static int array_to_string(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream;
    int arguments;
    array_object *array = check_with_stream(L, s, &stream, &arguments);
    if (stream && !(array = download(L, s, array, stream))) return 3;
    lua_pushlstring(L, (const char *)(uintptr_t)array->address, ARRAY_BYTES(array));
    return 1;
}

static int upload(lua_State *L, state *s, array_object *array, stream_object *stream, uint64_t offset,
                  const void *bytes, size_t length) {
    if (!stream) {
        memcpy((char *)(uintptr_t)array->address + offset, bytes, length);
        lua_settop(L, 1);
        return 1;
    }
    const noted_hooks before = note_hooks(L, s);
    use_array(L, s, 1, array, 2, stream);
    const gpo_stream_t handle = HANDLE(&stream->base, gpo_stream_t);
    gpo_status status = s->api->copy_to_device(handle, array->address + offset, bytes, length);
    if (status == GPO_SUCCESS) status = wait_by(L, s, before, wait_for_copy, handle, -1);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    lua_settop(L, 1);
    return 1;
}

/* from_string([stream,] bytes [, offset]): bytes into the array, from a byte offset that counts from 0. */
static int array_from_string(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream;
    int arguments;
    array_object *array = check_with_stream(L, s, &stream, &arguments);
    size_t length;
    const char *bytes = luaL_checklstring(L, arguments, &length);
    const uint64_t offset = optional_unsigned(L, arguments + 1, UINT64_MAX, 0);
    luaL_argcheck(L, offset <= ARRAY_BYTES(array) && length <= ARRAY_BYTES(array) - offset, arguments,
                  "the string is longer than the array");
    return upload(L, s, array, stream, offset, bytes, length);
}

/* A file of the io library's, or a path. `*own`: to be closed. */
static FILE *check_file(lua_State *L, int index, const char *mode, int *own) {
    *own = lua_type(L, index) == LUA_TSTRING;
    if (*own) return fopen(lua_tostring(L, index), mode);
#if LUA_VERSION_NUM >= 502
    luaL_Stream *stream = luaL_checkudata(L, index, LUA_FILEHANDLE);
    luaL_argcheck(L, stream->closef, index, "the file is closed");
    return stream->f;
#else
    FILE **file = luaL_checkudata(L, index, LUA_FILEHANDLE); /* LuaJIT's userdata begins with it, too */
    luaL_argcheck(L, *file, index, "the file is closed");
    return *file;
#endif
}

static int file_failure(lua_State *L, state *s, int index) {
    const char *reason = strerror(errno);
    if (lua_type(L, index) == LUA_TSTRING)
        reason = lua_pushfstring(L, "%s: %s", lua_tostring(L, index), reason);
    return failure_with(L, s, GPO_IO_ERROR, reason);
}

/* read_file([stream,] file or path): fills the array from its beginning; how many elements there were. */
static int array_read_file(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream;
    int arguments, own;
    array_object *array = check_with_stream(L, s, &stream, &arguments), *target = array;
    lua_settop(L, arguments);
    if (stream) target = lua_touserdata(L, push_stage(L, s, stream, ARRAY_BYTES(array)));
    FILE *file = check_file(L, arguments, "rb", &own);
    if (!file) return file_failure(L, s, arguments);
    const size_t bytes = fread((void *)(uintptr_t)target->address, 1, ARRAY_BYTES(array), file);
    const int failed = ferror(file);
    const int reason = errno;
    if (own) fclose(file);
    errno = reason;
    if (failed) return file_failure(L, s, arguments);
    if (stream) {
        const int results = upload(L, s, array, stream, 0, (void *)(uintptr_t)target->address, bytes);
        if (results != 1) return results;
    }
    push_unsigned(L, bytes / element_sizes[array->type]);
    return 1;
}

/* write_file([stream,] file or path): all bytes. */
static int array_write_file(lua_State *L) {
    state *s = the_state(L);
    stream_object *stream;
    int arguments, own;
    array_object *array = check_with_stream(L, s, &stream, &arguments);
    lua_settop(L, arguments);
    if (stream && !(array = download(L, s, array, stream))) return 3;
    FILE *file = check_file(L, arguments, "wb", &own);
    if (!file) return file_failure(L, s, arguments);
    int failed = fwrite((void *)(uintptr_t)array->address, 1, ARRAY_BYTES(array), file) != ARRAY_BYTES(array);
    if (own) failed |= fclose(file) != 0;
    if (failed) return file_failure(L, s, arguments);
    lua_pushvalue(L, 1);
    return 1;
}

/* --- memory of the host's own --- */

uint64_t check_element_count(lua_State *L, int index, enum element type) {
    const uint64_t count = check_unsigned(L, index, UINT64_MAX);
    luaL_argcheck(L, count >= 1 && count <= INT64_MAX / element_sizes[type], index,
                  "the number of elements is out of range");
    return count;
}

/* array(type, count): pageable memory, zeroed; device:host_register pins it. */
int make_host_array(lua_State *L) {
    state *s = the_state(L);
    const enum element type = check_element_type(L, 1);
    const uint64_t count = check_element_count(L, 2, type);
    array_object *array = new_array(L, s, 0, MEMORY_HOST, type, 0, count);
    array->address = (uint64_t)(uintptr_t)owned_make(s, count * element_sizes[type], NULL);
    if (!array->address) return failure_with(L, s, GPO_OUT_OF_MEMORY, "there is no host memory for the array");
    array->base.handle = array;
    account(L, s, (int64_t)ARRAY_BYTES(array));
    return 1;
}

const luaL_Reg array_methods[] = {{"fill", array_fill},           {"slice", array_slice},
                                  {"as", array_as},               {"unpack", array_unpack},
                                  {"type", array_type},           {"bytes", array_bytes},
                                  {"pointer", array_pointer},     {"to_string", array_to_string},
                                  {"from_string", array_from_string}, {"read_file", array_read_file},
                                  {"write_file", array_write_file},
                                  {NULL, NULL}};
