/* buckets.c: shape buckets: their table, and requests. The Lua functions that they call are in bucket_call.c. */
#include "buckets.h"

#include <stdlib.h>

#include "calls.h"

_Thread_local const buckets_object *requested_here;

/* --- the table --- */

bucket *bucket_for(const buckets_object *b, uint64_t size) {
    for (uint64_t i = 0; i < b->count; ++i)
        if (b->all[i].shape >= size) return &b->all[i];
    return NULL;
}

static int place_of_bucket(const buckets_object *b, const bucket *one) { return (int)(one - b->all) + 1; }

/* Pushes what BUCKETS_RECIPES or BUCKETS_STREAMS has for the bucket, of the buckets at `index`. */
static void push_of_bucket(lua_State *L, int index, int slot, const bucket *one) {
    const buckets_object *b = lua_touserdata(L, index);
    push_kept(L, index, slot);
    lua_rawgeti(L, -1, place_of_bucket(b, one));
    lua_replace(L, -2);
}

/* Puts what is on top there. */
static void put_of_bucket(lua_State *L, int index, int slot, const bucket *one) {
    const buckets_object *b = lua_touserdata(L, index);
    push_kept(L, index, slot);
    lua_insert(L, -2);
    lua_rawseti(L, -2, place_of_bucket(b, one));
    lua_pop(L, 1);
}

/* Takes no memory: finalizers come here. */
static void drop_recipe(lua_State *L, state *s, int index, bucket *one) {
    one->recorded = NULL;
    one->marked = NULL;
    push_of_bucket(L, index, BUCKETS_RECIPES, one);
    if (lua_istable(L, -1)) release_recipe(L, s, lua_gettop(L));
    lua_pop(L, 1);
    lua_pushboolean(L, 0);
    put_of_bucket(L, index, BUCKETS_RECIPES, one);
}

static void drop_recipes(lua_State *L, state *s, int index) {
    const buckets_object *b = lua_touserdata(L, index);
    for (uint64_t i = 0; i < b->count; ++i) drop_recipe(L, s, index, &b->all[i]);
}

bucket_counts count_buckets(const state *s, const buckets_object *b) {
    gpo_buckets_statistics now = {.struct_size = sizeof now};
    if (b->base.handle) s->api->buckets_get_statistics(HANDLE(&b->base, gpo_buckets_t), &now);
    return (bucket_counts){now.buckets + now.evictions, now.evictions};
}

static int is_evicted(const state *s, const bucket *one) {
    char label[64];
    return one->recorded && s->api->object_get_label(one->recorded, label, sizeof label, NULL) != GPO_SUCCESS;
}

static void drop_evicted(lua_State *L, state *s, int index) {
    buckets_object *b = lua_touserdata(L, index);
    const uint64_t evictions = count_buckets(s, b).evictions;
    if (b->evictions == evictions) return;
    b->evictions = evictions;
    for (uint64_t i = 0; i < b->count; ++i)
        if (is_evicted(s, &b->all[i])) drop_recipe(L, s, index, &b->all[i]);
}

/* --- creation --- */

static int by_shape(const void *a, const void *b) {
    const uint64_t one = ((const bucket *)a)->shape, other = ((const bucket *)b)->shape;
    return (one > other) - (one < other);
}

/* Reads `shapes` of the options at 2 for the buckets at 3. The memory that `options` points to stays on the stack. */
static void read_shapes(lua_State *L, buckets_object *b, gpo_buckets_options *options) {
    lua_getfield(L, 2, "shapes");
    const int shapes = lua_gettop(L);
    if (!lua_istable(L, shapes)) luaL_error(L, "option 'shapes': a table of numbers expected");
    b->count = lua_rawlen(L, shapes);
    uint64_t *list = lua_newuserdata(L, sizeof *list * (b->count + 1));
    b->all = lua_newuserdata(L, sizeof *b->all * (b->count + 1));
    keep(L, 3, BUCKETS_TABLE, lua_gettop(L));
    for (uint64_t i = 0; i < b->count; ++i) {
        lua_rawgeti(L, shapes, (int)i + 1);
        const char *problem = read_unsigned(L, -1, UINT64_MAX, &list[i]);
        if (problem) luaL_error(L, "option 'shapes': %s", problem);
        b->all[i] = (bucket){.shape = list[i]};
        lua_pop(L, 1);
    }
    qsort(b->all, b->count, sizeof *b->all, by_shape);
    options->shapes = list;
    options->shape_count = b->count;
}

/* Reads `pad_address`, the memory to pad with zeros: an array or an address. pad_element_bytes is by default the size
 * of the array's elements. An array is appended to the list. */
static void read_padded(lua_State *L, state *s, const buckets_object *b, gpo_buckets_options *options, int arrays) {
    uint64_t bytes = 0;
    lua_getfield(L, 2, "pad_address");
    if (lua_isnil(L, -1)) return;
    const array_object *array = read_memory(L, s, lua_gettop(L), "pad_address", &options->pad_address);
    if (!array) return;
    if (!options->pad_element_bytes) options->pad_element_bytes = element_sizes[array->type];
    const uint64_t largest = b->count ? b->all[b->count - 1].shape : 0;
    if (__builtin_mul_overflow(largest, options->pad_element_bytes, &bytes) || bytes > ARRAY_BYTES(array))
        luaL_error(L, "option 'pad_address': the array is shorter than the largest shape");
    append(L, arrays);
}

/* Reads `restored`, the arrays that a warm-up restores, and appends them to the list. The memory that `options` points
 * to stays on the stack. */
static void read_restored(lua_State *L, state *s, gpo_buckets_options *options, int arrays) {
    lua_getfield(L, 2, "restored");
    const int given = lua_gettop(L);
    if (lua_isnil(L, given)) return;
    if (!lua_istable(L, given)) luaL_error(L, "option 'restored': a table of arrays expected");
    const uint64_t count = lua_rawlen(L, given);
    gpo_memory_range *ranges = lua_newuserdata(L, sizeof *ranges * (count + 1));
    for (uint64_t i = 0; i < count; ++i) {
        ranges[i] = (gpo_memory_range){.struct_size = sizeof ranges[i]};
        lua_rawgeti(L, given, (int)i + 1);
        const array_object *array = read_memory(L, s, lua_gettop(L), "restored", &ranges[i].address);
        if (!array) luaL_error(L, "option 'restored': a table of arrays expected");
        ranges[i].bytes = ARRAY_BYTES(array);
        append(L, arrays);
    }
    options->restored = ranges;
    options->restored_stride = sizeof *ranges;
    options->restored_count = count;
}

/* The buckets at 3 are a user of each array of the list. */
static void keep_arrays(lua_State *L, int arrays) {
    for (int i = 1; i <= (int)lua_rawlen(L, arrays); ++i) {
        lua_rawgeti(L, arrays, i);
        ++((array_object *)lua_touserdata(L, -1))->root->base.users;
        lua_pop(L, 1);
    }
    keep(L, 3, BUCKETS_ARRAYS, arrays);
}

static void fill_with_false(lua_State *L, int slot, uint64_t count) {
    lua_createtable(L, (int)count, 0);
    for (uint64_t i = 1; i <= count; ++i) {
        lua_pushboolean(L, 0);
        lua_rawseti(L, -2, (int)i);
    }
    keep(L, 3, slot, lua_gettop(L));
    lua_pop(L, 1);
}

/* buckets{shapes = , record = [, pad = ] ...} */
int buckets_create(lua_State *L) {
    state *s = the_state(L);
    const gpo_device_t device = CHECK_HANDLE(1, device);
    gpo_buckets_options options = {.struct_size = sizeof options};
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    read_record(L, 2, gpo_buckets_options_fields, &options);
    buckets_object *b = new_object(L, s, CLASS_BUCKETS, 1); /* 3 */
    b->number = remember(L, s, 3);
    read_shapes(L, b, &options);
    fill_with_false(L, BUCKETS_RECIPES, b->count);
    fill_with_false(L, BUCKETS_STREAMS, b->count);
    options.record = keep_function(L, 2, "record", 3, BUCKETS_RECORD) ? record_bucket_here : NULL;
    options.pad = keep_function(L, 2, "pad", 3, BUCKETS_PAD) ? pad_bucket_here : NULL;
    options.user = b;
    lua_newtable(L);
    const int arrays = lua_gettop(L);
    read_restored(L, s, &options, arrays);
    read_padded(L, s, b, &options, arrays);
    const gpo_status status = s->api->buckets_create(device, &options, (gpo_buckets_t *)&b->base.handle);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    keep_arrays(L, arrays);
    lua_settop(L, 3);
    return 1;
}

/* The buckets are on top of the stack. */
void destroy_buckets(lua_State *L, state *s, object *o, int collected) {
    const int index = lua_gettop(L);
    (void)collected;
    s->api->buckets_destroy(HANDLE(o, gpo_buckets_t));
    luaL_checkstack(L, 20, NULL);
    drop_recipes(L, s, index);
    push_kept(L, index, BUCKETS_ARRAYS);
    for (int i = 1; i <= (int)lua_rawlen(L, index + 1); ++i) {
        lua_rawgeti(L, index + 1, i);
        push_root(L, index + 2);
        drop_user(L, s, index + 3);
        lua_settop(L, index + 1);
    }
    lua_settop(L, index);
}

/* --- requests --- */

/* The arrays of the bucket's recipe are used on the stream at `stream_index`. */
static void use_bucket(lua_State *L, state *s, int index, bucket *one, int stream_index) {
    stream_object *stream = lua_touserdata(L, stream_index);
    if (one->marked == stream && !stream->recorder) return;
    push_of_bucket(L, index, BUCKETS_RECIPES, one);
    lua_rawgeti(L, -1, RECIPE_ARRAYS);
    use_arrays(L, s, lua_gettop(L), 1, stream_index, stream);
    lua_pop(L, 2);
    lua_pushvalue(L, stream_index);
    put_of_bucket(L, index, BUCKETS_STREAMS, one);
    one->marked = stream;
}

void make_next_template(lua_State *L, state *s) {
    push_first_recipe(L);
    template_object *t = new_template(L, s, lua_gettop(L));
    t->base.borrowed = 1;
    const int index = lua_gettop(L);
    push_next_recipe(L, index);
    share_recipe(L, index + 1); /* with the bucket */
    keep(L, index, TEMPLATE_RECORDING, index + 1);
    keep(L, 1, BUCKETS_NEXT, index);
    lua_settop(L, index - 2);
}

void drop_next_template(lua_State *L) {
    lua_pushboolean(L, 0);
    keep(L, 1, BUCKETS_NEXT, lua_gettop(L));
    lua_pop(L, 1);
}

/* The buckets at 1 get a next template if they have none. */
static void have_next_template(lua_State *L, state *s) {
    push_kept(L, 1, BUCKETS_NEXT);
    const int missing = !lua_isuserdata(L, -1);
    lua_pop(L, 1);
    if (missing) make_next_template(L, s);
}

/* Stops the recording of the next template, if a call ran out of memory before the bucket took the recording over. */
static void stop_next_template(lua_State *L, state *s) {
    push_kept(L, 1, BUCKETS_NEXT);
    template_object *t = lua_touserdata(L, -1);
    if (t && t->recording) {
        stop_recording(L, s, t, lua_gettop(L), 0);
        drop_next_template(L);
    }
    lua_pop(L, 1);
}

/* The library doesn't retain a bucket that is larger than the whole budget, although the launch runs. */
void settle_recording(lua_State *L, state *s, int index, buckets_object *b, bucket_request *r) {
    bucket *one = r->pending;
    if (!one) return;
    r->pending = NULL;
    luaL_checkstack(L, 20, NULL);
    const int top = lua_gettop(L);
    push_kept(L, index, BUCKETS_REQUEST);       /* top + 1 */
    lua_rawgeti(L, top + 1, REQUEST_STREAM);    /* top + 2 */
    lua_rawgeti(L, top + 1, REQUEST_TEMPLATE);  /* top + 3 */
    push_kept(L, top + 3, TEMPLATE_RECORDING);  /* top + 4 */
    const int kept = count_buckets(s, b).kept > r->kept;
    stop_recording(L, s, lua_touserdata(L, top + 3), top + 3, kept);
    drop_recipe(L, s, index, one);
    lua_pushvalue(L, top + 4);
    put_of_bucket(L, index, BUCKETS_RECIPES, one);
    use_bucket(L, s, index, one, top + 2);
    one->recorded = r->recorded;
    if (!kept) drop_recipe(L, s, index, one);
    lua_settop(L, top);
}

typedef struct library_call {
    gpo_status (*make)(state *s, const buckets_object *b, bucket_request *r, struct library_call *call);
    uint64_t size, shape;
} library_call;

static gpo_status call_launch(state *s, const buckets_object *b, bucket_request *r, library_call *call) {
    return s->api->buckets_launch(HANDLE(&b->base, gpo_buckets_t), r->stream, call->size, r->settings,
                                  sizeof *r->settings, r->setting_count, &call->shape);
}

static gpo_status call_prepare(state *s, const buckets_object *b, bucket_request *r, library_call *call) {
    (void)call;
    return s->api->buckets_prepare(HANDLE(&b->base, gpo_buckets_t), r->stream);
}

/* Calls C, which calls back. The buckets are at 1, the stream at 2, and the settings' table is at `settings`, or 0. An
 * error of a Lua function is raised again. */
static gpo_status make_request(lua_State *L, state *s, buckets_object *b, bucket_request *r, int settings,
                               library_call *call) {
    bucket_request *outer = b->request;
    have_next_template(L, s);
    push_kept(L, 1, BUCKETS_REQUEST);
    lua_createtable(L, REQUEST_ERROR, 0);
    const int before = lua_gettop(L) - 1, mine = before + 1;
    lua_pushvalue(L, 2);
    lua_rawseti(L, mine, REQUEST_STREAM);
    if (settings) {
        lua_pushvalue(L, settings);
        lua_rawseti(L, mine, REQUEST_SETTINGS);
    }
    keep(L, 1, BUCKETS_REQUEST, mine);
    r->context = context_of(L, s, &b->base);
    const callers_here callers = enter(L, s);
    const buckets_object *around = requested_here;
    b->request = r;
    requested_here = b;
    const gpo_status status = call->make(s, b, r, call);
    requested_here = around;
    b->request = outer;
    leave(s, callers);
    const int recorded = r->recorded != NULL;
    settle_recording(L, s, 1, b, r);
    stop_next_template(L, s);
    keep(L, 1, BUCKETS_REQUEST, before);
    if (!b->base.handle) drop_recipes(L, s, 1); /* it was closed meanwhile */
    /* Not after a failure: C's errors for evicted buckets would replace the failure's error. */
    else if (recorded && status == GPO_SUCCESS) drop_evicted(L, s, 1);
    pass_interrupt(L, s);
    lua_rawgeti(L, mine, REQUEST_ERROR);
    if (status == GPO_CALLBACK_FAILED && !lua_isnil(L, -1)) lua_error(L);
    lua_settop(L, before - 1);
    return status;
}

/* Notes that the arrays of BUCKETS_ARRAYS are used on the stream: padded before the launch, or copied around a
 * warm-up. */
static void use_given(lua_State *L, state *s, stream_object *stream) {
    push_kept(L, 1, BUCKETS_ARRAYS);
    use_arrays(L, s, lua_gettop(L), 0, 2, stream);
    lua_pop(L, 1);
}

static void check_setting_names(lua_State *L, int index) {
    if (!lua_istable(L, index)) return;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1))
        if (lua_type(L, -2) != LUA_TSTRING)
            luaL_argerror(L, index, "parameters of buckets are known by their names");
}

/* Pushes the recipe with the types of the settings: an empty recipe if nothing is known yet. */
static void push_types(lua_State *L, const bucket *one) {
    if (one && one->recorded) push_of_bucket(L, 1, BUCKETS_RECIPES, one);
    else push_first_recipe(L);
}

/* launch(stream, size [, {name = value, ...}]): the bucket's shape; 0: it ran eagerly. */
int buckets_launch(lua_State *L) {
    state *s = the_state(L);
    buckets_object *b = check_object(L, s, 1, CLASS_BUCKETS);
    stream_object *stream = check_object(L, s, 2, CLASS_STREAM);
    library_call call = {.make = call_launch, .size = check_unsigned(L, 3, UINT64_MAX)};
    bucket_request r = {.stream = HANDLE(&stream->base, gpo_stream_t)};
    bucket *one = bucket_for(b, call.size);
    lua_settop(L, 4);
    if (one && one->recorded) use_bucket(L, s, 1, one, 2);
    use_given(L, s, stream);
    if (!lua_isnil(L, 4)) {
        check_setting_names(L, 4);
        push_types(L, one); /* 5 */
        r.settings = read_settings(L, s, 5, 4, &r.setting_count);
        use_settings(L, s, 4, 2, stream);
    }
    const gpo_status status = make_request(L, s, b, &r, r.setting_count ? 4 : 0, &call);
    if (status != GPO_SUCCESS) return failure(L, s, status);
    push_unsigned(L, call.shape);
    return 1;
}

/* prepare(stream) */
int buckets_prepare(lua_State *L) {
    state *s = the_state(L);
    buckets_object *b = check_object(L, s, 1, CLASS_BUCKETS);
    stream_object *stream = check_object(L, s, 2, CLASS_STREAM);
    library_call call = {.make = call_prepare};
    bucket_request r = {.stream = HANDLE(&stream->base, gpo_stream_t)};
    lua_settop(L, 2);
    use_given(L, s, stream);
    return result(L, s, make_request(L, s, b, &r, 0, &call));
}
