#include "stream/timeline.h"

#include "abi/call.h"
#include "completion/completion_queue.h"

using namespace gpo;

extern "C" {

GPO_API gpo_status gpo_timeline_notify(gpo_timeline_t timeline, uint64_t value, gpo_cq_t cq, uint64_t user_data) {
    return abi::call(__func__, {timeline, cq}, [&] {
        Pin<Timeline> pinned(timeline);
        Pin<CompletionQueue> queue(cq);
        if (&pinned->runtime() != &queue->runtime())
            fail(GPO_INVALID_HANDLE, pinned->describe(), " and ", queue->describe(), " are of different runtimes");
        const auto entry = make<QueueEntry>(*queue, user_data, uint32_t{GPO_ORIGIN_TIMELINE});
        if (!queue->reserve()) return GPO_WOULD_BLOCK;
        try {
            if (pinned->runtime().shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
            pinned->then(value, entry);
        } catch (...) {
            queue->unreserve();
            throw;
        }
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_timeline_create(gpo_runtime_t runtime, const gpo_timeline_options* options,
                                       gpo_timeline_t* timeline) {
    return abi::call(__func__, {runtime}, [&] {
        required(timeline, "timeline");
        const gpo_timeline_options read = read_struct(options, "options");
        refuse_unknown_flags(read.flags, 0, "options.flags");
        Pin<Runtime> pinned(runtime);
        auto made = make<Timeline>(*pinned, read.value, read.label);
        *timeline = pinned->publish<gpo_timeline_t>(*made);
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_timeline_destroy(gpo_timeline_t timeline) {
    return abi::destroy(__func__, timeline, Type::timeline);
}

GPO_API gpo_status gpo_timeline_signal(gpo_timeline_t timeline, uint64_t value) {
    return abi::call<abi::InHostNode::works>(__func__, {timeline}, [&] {
        Pin<Timeline> pinned(timeline);
        return abi::blame(*pinned, [&] {
            pinned->signal(value);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_timeline_fail(gpo_timeline_t timeline, gpo_status status, const char* message) {
    return abi::call<abi::InHostNode::works>(__func__, {timeline}, [&] {
        Pin<Timeline> pinned(timeline);
        pinned->fail(status, message);
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_timeline_get_value(gpo_timeline_t timeline, uint64_t* value) {
    return abi::call<abi::InHostNode::works>(__func__, {timeline}, [&] {
        required(value, "value");
        Pin<Timeline> pinned(timeline);
        *value = pinned->value();
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_timeline_wait(gpo_timeline_t timeline, uint64_t value, int64_t timeout_ns) {
    return abi::call(__func__, {timeline}, [&] {
        Pin<Timeline> pinned(timeline);
        return pinned->wait(value, host::deadline_after(timeout_ns));
    });
}

}
