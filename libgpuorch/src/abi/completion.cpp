#include "gpuorch/completion.h"

#include "abi/call.h"
#include "completion/completion_queue.h"
#include "stream/event.h"

using namespace gpo;

namespace {

constexpr uint32_t kDefaultEntries = 4096, kMostEntries = 1u << 24;

[[gnu::always_inline]] inline gpo_status notify(gpo_stream_t stream, gpo_cq_t cq, uint64_t user_data, Event* since) {
    Pin<Stream> pinned(stream);
    Pin<CompletionQueue> queue(cq, pinned);
    if (&pinned->runtime() != &queue->runtime())
        fail(GPO_INVALID_HANDLE, pinned->describe(), " and ", queue->describe(), " are of different runtimes");
    return abi::blame(*pinned, [&] {
        if (!since) return pinned->notify(*queue, user_data);
        const Stream::Since beginning = since->beginning_on(*pinned);
        return pinned->notify(*queue, user_data, &beginning);
    });
}

}  // namespace

extern "C" {

GPO_API gpo_status gpo_cq_create(gpo_runtime_t runtime, const gpo_cq_options* options, gpo_cq_t* cq) {
    return abi::call(__func__, {runtime}, [&] {
        required(cq, "cq");
        const gpo_cq_options read = read_struct(options, "options");
        refuse_unknown_flags(read.flags, 0, "options.flags");
        if (read.reserved) fail(GPO_INVALID_ARGUMENT, "options.reserved is not 0");
        if (read.capacity > kMostEntries)
            fail(GPO_INVALID_ARGUMENT, "options.capacity is ", read.capacity, ", at most ", kMostEntries,
                 " are possible");
        Pin<Runtime> pinned(runtime);
        auto made = make<CompletionQueue>(*pinned, read.capacity ? read.capacity : kDefaultEntries, read.label);
        *cq = pinned->publish<gpo_cq_t>(*made);
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_cq_destroy(gpo_cq_t cq) {
    return abi::destroy(__func__, cq, Type::cq);
}

GPO_API gpo_status gpo_stream_notify(gpo_stream_t stream, gpo_cq_t cq, uint64_t user_data) {
    return abi::submit(__func__, {abi::works_on(stream), cq}, [&] { return notify(stream, cq, user_data, nullptr); });
}

GPO_API gpo_status gpo_stream_notify_timed(gpo_stream_t stream, gpo_cq_t cq, uint64_t user_data, gpo_event_t since) {
    return abi::call(__func__, {abi::works_on(stream), cq, since}, [&] {
        Pin<Event> pinned(since);
        return notify(stream, cq, user_data, &*pinned);
    });
}

GPO_API gpo_status gpo_cq_drain(gpo_cq_t cq, gpo_completion* entries, uint64_t stride, uint64_t capacity,
                                uint64_t* count) {
    return abi::call<abi::InHostNode::works>(__func__, {cq}, [&] {
        required(count, "count");
        if (capacity) required(entries, "entries");
        constexpr uint64_t kLeast = offsetof(gpo_completion, operation);
        if (stride < kLeast) fail(GPO_INVALID_ARGUMENT, "stride is ", stride, ", at least ", kLeast, " are needed");
        check_stride<gpo_completion>(stride);
        if (capacity > SIZE_MAX / stride)
            fail(GPO_INVALID_ARGUMENT, capacity, " entries of ", stride, " bytes are too many");
        Pin<CompletionQueue> pinned(cq);
        *count = 0;   // also if the queue is at its end
        *count = pinned->drain(entries, stride, capacity);
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_cq_wait(gpo_cq_t cq, int64_t timeout_ns) {
    return abi::call(__func__, {cq}, [&] {
        Pin<CompletionQueue> pinned(cq);
        return pinned->wait(timeout_ns == 0 ? 0 : host::deadline_after(timeout_ns));
    });
}

GPO_API gpo_status gpo_cq_wake(gpo_cq_t cq) {
    return abi::call<abi::InHostNode::works>(__func__, {cq}, [&] {
        Pin<CompletionQueue> pinned(cq);
        pinned->wake();
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_cq_get_fd(gpo_cq_t cq, int32_t* descriptor) {
    return abi::call<abi::InHostNode::works>(__func__, {cq}, [&] {
        required(descriptor, "descriptor");
        Pin<CompletionQueue> pinned(cq);
        *descriptor = pinned->descriptor();
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_cq_get_error(gpo_cq_t cq, uint64_t error_id, gpo_error* error) {
    return abi::call<abi::InHostNode::works>(__func__, {cq}, [&] {
        required(error, "error");
        Pin<CompletionQueue> pinned(cq);
        writable(*error, "error");
        const ErrorPtr found = pinned->failure(error_id);
        if (!found) fail(GPO_NOT_FOUND, pinned->describe(), " knows no failure ", error_id, " (any more)");
        gpo_error out{};
        found->write_to(out);
        write_struct(error, out, "error");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_cq_get_statistics(gpo_cq_t cq, gpo_cq_statistics* statistics) {
    return abi::call<abi::InHostNode::works>(__func__, {cq}, [&] {
        required(statistics, "statistics");
        Pin<CompletionQueue> pinned(cq);
        write_struct(statistics, pinned->statistics(), "statistics");
        return GPO_SUCCESS;
    });
}

}
