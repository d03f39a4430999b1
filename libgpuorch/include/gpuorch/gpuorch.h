/* gpuorch.h: all of libgpuorch.
 *
 *     runtime.h     the root                      memory.h      pinned arenas, device pools, copies, fills
 *     device.h      GPUs, real and software       module.h      kernels and their launch
 *     stream.h      queues of GPU work            completion.h  learning that work is done
 *     event.h       points in them                executor.h    being called when it is, and host code in stream order
 *     timeline.h    order between all of them     pipeline.h    files, memory and callbacks streamed through a GPU
 *     metrics.h     what it is doing, in numbers  trace.h       a picture of a run
 *     api.h         the same functions as a table, for dlopen
 *
 * C++ has gpuorch.hpp, one layer over these, and asio.hpp for an io_context.
 *
 * types.h has the rules that hold for every function; status.h what they return.
 */
#ifndef GPUORCH_H
#define GPUORCH_H

#include "api.h"

#endif
