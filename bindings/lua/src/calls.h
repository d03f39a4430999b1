/* calls.h: the methods of calls.c, by classes, and the functions that have no object.
 * Made from abi.json by generator/generate.py. */
#ifndef GPUORCH_LUA_CALLS_H
#define GPUORCH_LUA_CALLS_H

#include "binding.h"

#pragma GCC visibility push(hidden)

enum {
    CLASS_OF_runtime = CLASS_RUNTIME,
    CLASS_OF_device = CLASS_DEVICE,
    CLASS_OF_stream = CLASS_STREAM,
    CLASS_OF_stream_pool = CLASS_STREAM_POOL,
    CLASS_OF_event = CLASS_EVENT,
    CLASS_OF_timeline = CLASS_TIMELINE,
    CLASS_OF_cq = CLASS_CQ,
    CLASS_OF_arena = CLASS_ARENA,
    CLASS_OF_pool = CLASS_POOL,
    CLASS_OF_module = CLASS_MODULE,
    CLASS_OF_kernel = CLASS_KERNEL,
    CLASS_OF_pipeline = CLASS_PIPELINE,
    CLASS_OF_executor = CLASS_EXECUTOR,
    CLASS_OF_template = CLASS_TEMPLATE,
    CLASS_OF_graph = CLASS_GRAPH,
    CLASS_OF_buckets = CLASS_BUCKETS,
    CLASS_OF_queue = CLASS_QUEUE,
    CLASS_OF_scheduler = CLASS_SCHEDULER,
    CLASS_OF_peers = CLASS_PEERS,
    CLASS_OF_symmetric = CLASS_SYMMETRIC,
};

extern const luaL_Reg *const calls_of_class[CLASS_COUNT]; /* NULL: the class has none */
extern const luaL_Reg gpuorch_calls[];

#pragma GCC visibility pop

#endif
