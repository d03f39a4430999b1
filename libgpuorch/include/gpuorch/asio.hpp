// asio.hpp: the GPU as one more I/O object of Asio: its operations with any completion token.
//
//     gpuorch::completion_port port(context.get_executor(), runtime);
//     co_await port.async_copy(stream, device_memory, boost::asio::buffer(bytes), use_awaitable);
//     co_await port.async_launch(stream, kernel, how, gpuorch::kernel_arguments(device_memory, size), use_awaitable);
//     port.async_wait(stream, [](gpuorch::error_code error, gpuorch::completion done) { ... });
//     std::future<gpuorch::completion> done = port.async_wait(stream, use_future);
//
// | Operation                 | ends when                                                      | header            |
// |---------------------------|----------------------------------------------------------------|-------------------|
// | async_wait                | a stream, event, timeline or pipeline has got there            | asio/wait.hpp     |
// | async_copy                | bytes are on the device, or in Asio's buffers                  | asio/copy.hpp     |
// | async_launch              | a kernel, graph, template, bucket, or any work of a stream ran | asio/launch.hpp   |
// | async_run                 | a pipeline has run, also between sockets                       | asio/pipeline.hpp |
// | async_compile             | a module is compiled                                           | asio/module.hpp   |
// | async_join, async_submit  | a group is joined; a collective is done                        | asio/peers.hpp    |
// | async_enter, async_submit | an admission has a place; a batcher's output is there          | asio/serving.hpp  |
// | async_post                | a kernel has answered a task of a host ring                    | asio/serving.hpp  |
//
// Runtimes, streams and other objects are those of gpuorch.hpp, or C handles. The other way round, asio/executor.hpp
// lets Asio's functions, coroutines and timers run on the threads of a gpo_executor_t.
//
// Header-only, C++17 or newer, Boost.Asio (1.74 or newer) or standalone Asio (1.18 or newer; define
// GPUORCH_ASIO_STANDALONE or ASIO_STANDALONE). A port is a completion queue (completion.h) whose descriptor the
// io_context watches with everything else that it waits for. No other threads than those that run the io_context are
// involved, except for async_compile and async_join, whose calls block: they run on Asio's system_executor.
//
// - Handlers run through their associated executor (the port's where there is none), never inside the initiating call.
//   Memory of operations comes from their associated allocator; where there is none, the port recycles it, and in the
//   steady state an operation allocates nothing. The io_context stays busy while an operation is pending.
// - The error: none if the work has succeeded. If the work has failed, its gpo_status in status_category(), which also
//   compares with portable conditions: the GPU is done with the work, or never got it.
// - Cancellation, by a handler's cancellation slot (Asio 1.20, Boost 1.77 or newer), by cancel() and by the port's end:
//   the error is error::operation_aborted. Each operation says what else it does. Where it abandons the wait, the work
//   goes on: `gpu_done` is false, and memory that the work uses is free only when the GPU has got there. Wait once
//   more, or for the stream.
// - A port may be used by several threads at once. Its end cancels what is pending. Like every object of Asio it must
//   go before its io_context. A handler may destroy it. If a handler throws, the exception leaves io_context::run, and
//   no other handler is lost. A future of use_future must not be waited for on the only thread that runs the
//   io_context: the value comes on that thread.
// - fork(): with io_context::notify_fork before and after, the parent's operations go on. In the child the library
//   refuses new operations (GPO_FORKED), and the port's end completes the others with error::operation_aborted.
#ifndef GPUORCH_ASIO_HPP
#define GPUORCH_ASIO_HPP

#include "asio/copy.hpp"
#include "asio/launch.hpp"
#include "asio/module.hpp"
#include "asio/peers.hpp"
#include "asio/pipeline.hpp"
#include "asio/serving.hpp"
#include "asio/wait.hpp"

namespace gpuorch {

/// Its operations are those of the groups in asio/.
class completion_port
    : public port_waits<
          port_copies<port_launches<port_pipelines<port_requests<port_modules<port_peers<port_base>>>>>>> {
public:
    /// `executor`: of an io_context. `capacity`: operations at once, abandoned ones included until their work is done;
    /// 0: 4096. Throws system_error with the status of gpo_cq_create or gpo_cq_get_fd.
    completion_port(const executor_type& executor, gpo_runtime_t runtime, std::uint32_t capacity = 0)
        : port_waits(executor, runtime, capacity) {}
};

}  // namespace gpuorch

#endif
