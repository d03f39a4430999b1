/* gpuorch.h: all of libgpuorch. Read the headers in this order:
 *
 *     types.h       handles, and the rules that hold for every function
 *     status.h      what functions return; details of a failure
 *     runtime.h     the root object: drivers, threads, statistics
 *     device.h      GPUs, real and software
 *     stream.h      queues of GPU work
 *     event.h       points in a stream
 *     timeline.h    a counter on which streams and the host wait for one another
 *     memory.h      pinned arenas, device pools, copies, fills
 *     interprocess.h  memory and events that processes of one host share
 *     module.h      kernels and their launch
 *     completion.h  completion queues: the host learns that GPU work is done
 *     executor.h    callbacks when GPU work is done; host functions in the order of a stream
 *     pipeline.h    files, memory and callbacks streamed through a GPU
 *     template.h    work that is recorded once and launched again and again, with other values
 *     buckets.h     one template for each shape that requests come in
 *     queue.h       queues that kernels take their work from
 *     scheduler.h   schedulers, which stay on the GPU and do the tasks of a queue
 *     peers.h       groups of devices that work together: collectives
 *     symmetric.h   memory that kernels of several devices use together; launches of such kernels
 *     admission.h   how many requests may use a GPU at a time, and how much memory they may take
 *     batcher.h     many small requests, put together into few large batches
 *     metrics.h     gauges and counters for monitoring
 *     trace.h       a timeline of what the host and the GPUs did
 *     advice.h      which form of work fits a workload; what a trace says of a run
 *     api.h         the same functions as a table, for dlopen
 *
 * C++ has gpuorch.hpp, one layer over these, and asio.hpp for an io_context.
 */
#ifndef GPUORCH_H
#define GPUORCH_H

#include "api.h"

#endif
