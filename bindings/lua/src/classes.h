/* classes.h: the classes of objects: the library's, then the module's own.
 * Made from abi.json by generator/generate.py. */
#ifndef GPUORCH_LUA_CLASSES_H
#define GPUORCH_LUA_CLASSES_H

enum class_id {
    CLASS_RUNTIME,
    CLASS_DEVICE,
    CLASS_STREAM,
    CLASS_STREAM_POOL,
    CLASS_EVENT,
    CLASS_TIMELINE,
    CLASS_CQ,
    CLASS_ARENA,
    CLASS_POOL,
    CLASS_MODULE,
    CLASS_KERNEL,
    CLASS_PIPELINE,
    CLASS_EXECUTOR,
    CLASS_TEMPLATE,
    CLASS_GRAPH,
    CLASS_BUCKETS,
    CLASS_QUEUE,
    CLASS_SCHEDULER,
    CLASS_PEERS,
    CLASS_SYMMETRIC,
    CLASS_ADMISSION,
    CLASS_BATCHER,
    CLASS_ARRAY,
    CLASS_OPERATION,
    CLASS_LAUNCH,
    CLASS_COUNT
};
/* For macros that get the name. */
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
    CLASS_OF_admission = CLASS_ADMISSION,
    CLASS_OF_batcher = CLASS_BATCHER,
    CLASS_OF_array = CLASS_ARRAY,
    CLASS_OF_operation = CLASS_OPERATION,
    CLASS_OF_launch = CLASS_LAUNCH,
};

#endif
