// gpuorch.hpp: libgpuorch for C++17 and newer: one thin layer over the C functions, header-only.
//
//     auto runtime = gpuorch::runtime::create();            // CUDA where there is a GPU, else the software GPU
//     auto device = runtime.open_device();
//     auto stream = device.create_stream();
//     auto halve = device.compile(source).kernel("halve");
//     auto x = device.allocate<float>(n);                   // device memory, freed by the destructor
//
//     stream.copy_to_device(x, host);                       // host: a vector, an array, a pinned piece of an arena
//     halve.launch(stream, n / 256, 256, x, n);             // grid, block, then the kernel's arguments
//     stream.copy_to_host(host, x);
//     stream.wait();
//
// The C headers are the manual: a member does what the C function of the same name does. The folder cpp/ has a file for
// each object. Members that only call their function are in cpp/*_calls.hpp, with the first sentence of the function's
// comment: such a member throws errors, and returns the value that the function writes. All other comments say only
// what differs from C. An object converts to its C handle. Functions without a member are called as in C:
//
//     gpuorch::check(gpo_copy_batch(stream, copies.data(), sizeof copies[0], copies.size()));
//
// - Errors are exceptions. gpuorch::error has the status, the function, the object and the sentence of gpo_last_error.
//   Exceptions rather than returned values, because C++17 has no std::expected, a returned status is easily dropped,
//   and functions that return an object have no place for one. Answers are not errors. A call that asks or waits
//   returns false, or an empty optional, for "not yet" (GPO_NOT_READY, GPO_TIMEOUT). A call that finds no room throws
//   GPO_WOULD_BLOCK, and no work is lost unseen; its try_ form returns false instead.
// - An object owns its handle: it can be moved and not copied, and its destructor destroys the handle. A destructor
//   never throws: it ignores the status of the destroy function. `.get()` is the handle, `.release()` gives it up, and
//   gpuorch::stream(handle) takes one over. An object that was default-constructed, moved from or released is empty:
//   its handle is NULL, and calls with it throw GPO_INVALID_HANDLE.
// - Objects may be destroyed in any order, memory excepted: the library keeps all objects that are still in use. A
//   buffer is freed through its device and pinned memory through its arena: declare memory behind device and arena. The
//   destructor of the runtime waits for all work.
// - Options are the C structs with a default for each field (options.hpp): fill in what differs. In C++20:
//       auto stream = device.create_stream({.priority = -1});
//   In C++17:
//       gpuorch::stream_options options;
//       options.priority = -1;
//       auto stream = device.create_stream(options);
//   A gpo_stream_options will do, too: its `struct_size` is set here. GCC's -Wextra reports the fields that a
//   designated initialiser of the C struct doesn't name. It reports none of gpuorch::stream_options, which converts to
//   the C struct.
// - A graph template is recorded by a callable, and its graphs take values of their parameters by name:
//       auto step = device.create_graph_template();
//       step.record(stream, [&](gpuorch::recording recorded) {
//           halve.launch(stream, n / 256, 256, x, n);
//           recorded.argument("data", 0);
//       });
//       auto graph = step.create_graph();
//       graph.launch(stream, gpuorch::setting("data", y));
// - Shape buckets (buckets.h) take one callable for the work that runs and for the work that is recorded for a shape:
//       auto record = [&](gpuorch::stream_ref on, const gpuorch::bucket_work& work) {
//           halve.launch(on, 1, 256, work.value("data", x), work.shape());
//           work.argument("data", 0);
//       };
//       auto buckets = device.create_buckets({16, 64, 256}, record);
//       buckets.launch(stream, 50, gpuorch::setting("data", y));
// - A device queue (queue.h) is a kernel's argument by range(), ring() or host_ring():
//       auto rows = device.create_queue({.kind = GPO_QUEUE_RANGE, .count = n});
//       solve.launch(stream, 132, 256, rows.range(), x);
// - A scheduler (scheduler.h) does the tasks of a queue by functions of a source:
//       auto scheduler = device.create_scheduler(source, {"visit"}, {.queue = ring});
//       scheduler.start();
//       ring.push(stream, &first, 1);
//       stream.wait();
//       scheduler.drain();
// - Devices that work together are a group (peers.h):
//       auto all = gpuorch::peers::create({first, second});
//       all.all_reduce(GPO_TYPE_FLOAT32, GPO_REDUCE_SUM, n, {{first_stream, x, x}, {second_stream, y, y}});
// - A batcher (batcher.h) puts small requests together:
//       auto batcher = gpuorch::batcher::create({device});
//       auto key = batcher.add_key({.layout = GPO_BATCH_ROWS, .input_bytes = 16, .output_bytes = 4}, work);
//       batcher.submit({.key = key, .input = x, .output = y}, queue, user_data);
// - Any thread may make any call, as in C. While an object is moved, reset or destroyed, no other thread may use it.
// - The library owns a callable that is passed to `then`, `host_call`, buckets or a pipeline until its last run.
//   Callables run on the threads that executor.h, buckets.h and pipeline.h name.
#ifndef GPUORCH_HPP
#define GPUORCH_HPP

#include "cpp/admission.hpp"
#include "cpp/advice.hpp"
#include "cpp/arena.hpp"
#include "cpp/batcher.hpp"
#include "cpp/buckets.hpp"
#include "cpp/call.hpp"
#include "cpp/callable.hpp"
#include "cpp/completion_queue.hpp"
#include "cpp/device.hpp"
#include "cpp/error.hpp"
#include "cpp/event.hpp"
#include "cpp/executor.hpp"
#include "cpp/graph.hpp"
#include "cpp/graph_template.hpp"
#include "cpp/kernel.hpp"
#include "cpp/memory.hpp"
#include "cpp/module.hpp"
#include "cpp/object.hpp"
#include "cpp/peers.hpp"
#include "cpp/pipeline.hpp"
#include "cpp/pool.hpp"
#include "cpp/queue.hpp"
#include "cpp/runtime.hpp"
#include "cpp/scheduler.hpp"
#include "cpp/setting.hpp"
#include "cpp/sink.hpp"
#include "cpp/source.hpp"
#include "cpp/stage.hpp"
#include "cpp/stream.hpp"
#include "cpp/stream_pool.hpp"
#include "cpp/symmetric.hpp"
#include "cpp/timeline.hpp"

#endif
