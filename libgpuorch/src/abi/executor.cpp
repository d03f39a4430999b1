// The exported functions of executor.h.
#include "gpuorch/executor.h"

#include "abi/call.h"
#include "executor/continuation.h"
#include "executor/host_call.h"
#include "executor/log_lines.h"
#include "pipeline/pipeline.h"
#include "stream/event.h"
#include "stream/releasing.h"
#include "stream/timeline.h"

using namespace gpo;

namespace {

constexpr uint32_t kDefaultThreads = 2, kMostThreads = 256, kDefaultCallbacks = 65536, kMostCallbacks = 1u << 24;

/// Arranges a callback for the object behind `handle`: `submit(thing, task)` requests that the task becomes due. Tasks
/// of one stream are called in order.
template <class Thing, class Handle, class Submit>
gpo_status then(const char* function, Handle handle, gpo_executor_t executor, gpo_completion_fn callback, void* user,
                uint32_t origin, Submit&& submit) {
    abi::Handle first(handle);
    first.works_on = std::is_same_v<Thing, Stream>;
    return abi::call(function, {first, executor}, [&] {
        required(callback, "callback");
        Pin<Thing> pinned(handle);
        Pin<Executor> on(executor);
        if (&pinned->runtime() != &on->runtime())
            fail(GPO_INVALID_HANDLE, pinned->describe(), " and ", on->describe(), " are of different runtimes");
        return abi::blame(*pinned, [&] {
            if constexpr (std::is_same_v<Thing, Stream>) pinned->refuse_captured();   // even if there is no room
            const Ref<Task> task = make<Continuation>(*on, callback, user, origin);
            const void* const order = origin == GPO_ORIGIN_STREAM ? &*pinned : nullptr;
            return accept_and_submit(*on, task, order, [&] { return submit(*pinned, task); });
        });
    });
}

}  // namespace

extern "C" {

GPO_API gpo_status gpo_executor_create(gpo_runtime_t runtime, const gpo_executor_options* options,
                                       gpo_executor_t* executor) {
    return abi::call(__func__, {runtime}, [&] {
        required(executor, "executor");
        const gpo_executor_options read = read_struct(options, "options");
        refuse_unknown_flags(read.flags, GPO_EXECUTOR_CALLER | GPO_EXECUTOR_SPIN | GPO_EXECUTOR_SLEEP, "options.flags");
        const bool caller = read.flags & GPO_EXECUTOR_CALLER, spin = read.flags & GPO_EXECUTOR_SPIN,
                   sleep = read.flags & GPO_EXECUTOR_SLEEP;
        if (spin && sleep)
            fail(GPO_INVALID_ARGUMENT, "options.flags has both GPO_EXECUTOR_SPIN and GPO_EXECUTOR_SLEEP");
        if (read.threads > kMostThreads)
            fail(GPO_INVALID_ARGUMENT, "options.threads is ", read.threads, ", at most ", kMostThreads,
                 " are possible");
        if (caller && read.threads)
            fail(GPO_INVALID_ARGUMENT, "options.threads is ", read.threads, ", and GPO_EXECUTOR_CALLER has none");
        if (read.capacity > kMostCallbacks)
            fail(GPO_INVALID_ARGUMENT, "options.capacity is ", read.capacity, ", at most ", kMostCallbacks,
                 " are possible");
        Pin<Runtime> pinned(runtime);
        auto made = make<Executor>(*pinned, caller ? 0 : read.threads ? read.threads : kDefaultThreads,
                                   read.capacity ? read.capacity : kDefaultCallbacks,
                                   spin || (!sleep && pinned->latency_mode()), read.label);
        made->start();
        try {
            *executor = pinned->publish<gpo_executor_t>(*made);
        } catch (...) {
            made->close();
            throw;
        }
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_executor_destroy(gpo_executor_t executor) {
    return abi::destroy(__func__, executor, Type::executor);
}

GPO_API gpo_status gpo_executor_run(gpo_executor_t executor, uint64_t* count) {
    return abi::call(__func__, {executor}, [&] {
        Pin<Executor> pinned(executor);
        return pinned->run(host::kForever, count);
    });
}

GPO_API gpo_status gpo_executor_run_for(gpo_executor_t executor, int64_t timeout_ns, uint64_t* count) {
    return abi::call(__func__, {executor}, [&] {
        Pin<Executor> pinned(executor);
        return pinned->run(host::deadline_after(timeout_ns), count);
    });
}

GPO_API gpo_status gpo_executor_poll(gpo_executor_t executor, uint64_t* count) {
    return abi::call(__func__, {executor}, [&] {
        Pin<Executor> pinned(executor);
        const uint64_t served = pinned->poll();
        if (count) *count = served;
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_executor_get_statistics(gpo_executor_t executor, gpo_executor_statistics* statistics) {
    return abi::call(__func__, {executor}, [&] {
        required(statistics, "statistics");
        Pin<Executor> pinned(executor);
        write_struct(statistics, pinned->statistics(), "statistics");
        return GPO_SUCCESS;
    });
}

// No lock of the executor's is held around a call of the driver.
GPO_API gpo_status gpo_executor_post(gpo_executor_t executor, gpo_completion_fn callback, void* user) {
    return abi::submit<abi::InHostNode::works>(__func__, {executor}, [&] {
        required(callback, "callback");
        Pin<Executor> pinned(executor);
        return pinned->post(callback, user);
    });
}

GPO_API gpo_status gpo_executor_post_at(gpo_executor_t executor, uint64_t time_ns, gpo_completion_fn callback,
                                        void* user, uint64_t* ticket) {
    return abi::submit<abi::InHostNode::works>(__func__, {executor}, [&] {
        required(callback, "callback");
        Pin<Executor> pinned(executor);
        uint64_t unused;
        return pinned->post_at(time_ns, callback, user, ticket ? ticket : &unused);
    });
}

GPO_API gpo_status gpo_executor_get_time(gpo_executor_t executor, uint64_t* time_ns) {
    return abi::submit<abi::InHostNode::works>(__func__, {executor}, [&] {
        required(time_ns, "time_ns");
        Pin<Executor> pinned(executor);
        *time_ns = host::now();
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_executor_cancel(gpo_executor_t executor, uint64_t ticket) {
    return abi::submit<abi::InHostNode::works>(__func__, {executor}, [&] {
        Pin<Executor> pinned(executor);
        if (!pinned->cancel(ticket))
            fail(GPO_NOT_FOUND, pinned->describe(), " has no callback with the ticket ", ticket,
                 " that waits for a time");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_stream_then(gpo_stream_t stream, gpo_executor_t executor, gpo_completion_fn callback,
                                   void* user) {
    return then<Stream>(__func__, stream, executor, callback, user, GPO_ORIGIN_STREAM,
                        [](Stream& pinned, const Ref<Task>& task) { return pinned.then(task); });
}

GPO_API gpo_status gpo_event_then(gpo_event_t event, gpo_executor_t executor, gpo_completion_fn callback, void* user) {
    return then<Event>(__func__, event, executor, callback, user, GPO_ORIGIN_EVENT,
                       [](Event& pinned, const Ref<Task>& task) { return pinned.then(task); });
}

GPO_API gpo_status gpo_timeline_then(gpo_timeline_t timeline, uint64_t value, gpo_executor_t executor,
                                     gpo_completion_fn callback, void* user) {
    return then<Timeline>(__func__, timeline, executor, callback, user, GPO_ORIGIN_TIMELINE,
                          [&](Timeline& pinned, const Ref<Task>& task) {
                              pinned.then(value, task);
                              return GPO_SUCCESS;
                          });
}

GPO_API gpo_status gpo_pipeline_then(gpo_pipeline_t pipeline, gpo_executor_t executor, gpo_completion_fn callback,
                                     void* user) {
    return then<Pipeline>(__func__, pipeline, executor, callback, user, GPO_ORIGIN_PIPELINE,
                          [](Pipeline& pinned, const Ref<Task>& task) {
                              pinned.then(task);
                              return GPO_SUCCESS;
                          });
}

GPO_API gpo_status gpo_stream_host_call(gpo_stream_t stream, gpo_executor_t executor, gpo_host_fn function,
                                        void* user) {
    return abi::call(__func__, {abi::works_on(stream), executor}, [&] {
        required(function, "function");
        Pin<Stream> pinned(stream);
        Pin<Executor> on(executor);
        if (&pinned->runtime() != &on->runtime())
            fail(GPO_INVALID_HANDLE, pinned->describe(), " and ", on->describe(), " are of different runtimes");
        return abi::blame(*pinned, [&] { return HostCall::put(*pinned, *on, function, user); });
    });
}

GPO_API gpo_status gpo_host_call_finish(gpo_executor_t executor, uint64_t call, gpo_status status,
                                        const char* message) {
    return abi::call<abi::InHostNode::works>(__func__, {executor}, [&] {
        Pin<Executor> pinned(executor);
        if (status != GPO_SUCCESS && (status < 50 || status > 89))
            fail(GPO_INVALID_ARGUMENT, "a host call fails with a status of 50 to 89, not ", status);
        ErrorPtr error;
        if (status != GPO_SUCCESS) {
            auto made = std::make_shared<Error>();
            made->status = status;
            made->message = message && *message ? message : "a host call was failed";
            error = std::move(made);
        }
        const Ref<HostCall> found = pinned->take_call(call);
        if (!found) fail(GPO_NOT_FOUND, pinned->describe(), " has no host call ", call, " under way");
        found->finish(error);
        Releasing::wait_for_others(pinned->runtime());
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_runtime_set_log_executor(gpo_runtime_t runtime, gpo_executor_t executor) {
    return abi::call(__func__, {runtime, executor}, [&] {
        Pin<Runtime> pinned(runtime);
        if (!executor) {
            pinned->set_log_route(nullptr);
            return GPO_SUCCESS;
        }
        Pin<Executor> on(executor);
        if (&on->runtime() != &*pinned) fail(GPO_INVALID_HANDLE, on->describe(), " is of another runtime");
        pinned->set_log_route(make<LogLines>(*on));
        return GPO_SUCCESS;
    });
}

}  // extern "C"
