/* buckets.h: what the methods of buckets (buckets.c) and the calls of their functions (bucket_call.c) share. */
#ifndef GPUORCH_LUA_BUCKETS_H
#define GPUORCH_LUA_BUCKETS_H

#include "template.h"

#pragma GCC visibility push(hidden)

enum { BUCKETS_RECORD = 2, BUCKETS_PAD, BUCKETS_ARRAYS, BUCKETS_TABLE, BUCKETS_RECIPES, BUCKETS_STREAMS,
       BUCKETS_REQUEST, BUCKETS_NEXT, BUCKETS_STREAM };

/* BUCKETS_ARRAYS is a list of the arrays that are padded with zeros or restored. BUCKETS_NEXT is the template object of
 * the next bucket that C records: C calls when its recording has begun, and to make an object then could start Lua's
 * collector, whose finalizers may use the stream. BUCKETS_STREAM is the object of the stream on which C warms up and
 * records. */

/* The bucket of a shape. At the bucket's index, BUCKETS_RECIPES keeps the recipe, which counts the bucket as a user,
 * and BUCKETS_STREAMS keeps `marked`, a stream known to use the recipe's arrays. */
typedef struct bucket {
    uint64_t shape;
    gpo_template_t recorded;     /* NULL: it isn't */
    const stream_object *marked;
} bucket;

/* A launch or preparation under way. Its Lua values are in a table, BUCKETS_REQUEST, at these indices. */
enum { REQUEST_STREAM = 1, REQUEST_SETTINGS, REQUEST_TEMPLATE, REQUEST_ERROR };
typedef struct bucket_request {
    runtime_context *context;
    gpo_stream_t stream;
    gpo_setting *settings;       /* of REQUEST_SETTINGS */
    uint64_t setting_count;
    bucket *pending;             /* bucket whose recording was begun, and hasn't been settled */
    gpo_template_t recorded;     /* the template of `pending`, */
    uint64_t kept;               /* and how many buckets had been recorded before */
} bucket_request;

typedef struct buckets_object {
    object base;
    int number;                  /* known by it */
    uint64_t count;
    bucket *all;                 /* by shape, in BUCKETS_TABLE */
    bucket_request *request;     /* NULL: none is under way */
    uint64_t evictions;          /* that are known here */
} buckets_object;

/* The buckets of the request that this thread makes. */
extern _Thread_local const buckets_object *requested_here;

/* The smallest bucket that the size fits into; NULL: there is none. */
bucket *bucket_for(const buckets_object *b, uint64_t size);
/* How many buckets C has recorded and put into its table, and how many of them it has evicted. */
typedef struct bucket_counts {
    uint64_t kept, evictions;
} bucket_counts;
bucket_counts count_buckets(const state *s, const buckets_object *b);
/* Makes BUCKETS_NEXT of the buckets at 1; or drops it, which takes no memory. */
void make_next_template(lua_State *L, state *s);
void drop_next_template(lua_State *L);
/* Ends a recording that was begun: the bucket gets the recipe, if C has kept the bucket. The buckets are at `index`. */
void settle_recording(lua_State *L, state *s, int index, buckets_object *b, bucket_request *r);

/* C's callbacks; `user` is the buckets_object, which has a request under way. */
gpo_status record_bucket_here(void *user, gpo_stream_t stream, const gpo_bucket_work *work);
gpo_status pad_bucket_here(void *user, gpo_stream_t stream, const gpo_bucket_work *work);

#pragma GCC visibility pop

#endif
