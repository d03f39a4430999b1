#include "stream/event.h"

#include "abi/call.h"
#include "completion/completion_queue.h"
#include "device/device.h"

using namespace gpo;

extern "C" {

GPO_API gpo_status gpo_event_create(gpo_device_t device, const gpo_event_options* options, gpo_event_t* event) {
    return abi::call(__func__, {device}, [&] {
        required(event, "event");
        const gpo_event_options read = read_struct(options, "options");
        refuse_unknown_flags(
            read.flags,
            GPO_EVENT_TIMING | GPO_EVENT_BLOCKING_SYNC | GPO_EVENT_INTERPROCESS | GPO_EVENT_EXTERNAL, "options.flags");
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            auto made = make<Event>(pinned->context_ref(), read.flags, read.label);
            *event = pinned->runtime().publish<gpo_event_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_event_destroy(gpo_event_t event) {
    return abi::destroy(__func__, event, Type::event);
}

GPO_API gpo_status gpo_event_record(gpo_event_t event, gpo_stream_t stream) {
    return abi::submit(__func__, {event, abi::works_on(stream)}, [&] {
        Pin<Event> pinned(event);
        Pin<Stream> on(stream, pinned);
        return abi::blame(*on, [&] { return pinned->record(*on); });
    });
}

GPO_API gpo_status gpo_event_query(gpo_event_t event) {
    return abi::call(__func__, {event}, [&] {
        Pin<Event> pinned(event);
        return abi::blame(*pinned, [&] { return pinned->query(); });
    });
}

GPO_API gpo_status gpo_event_wait(gpo_event_t event, int64_t timeout_ns) {
    return abi::call(__func__, {event}, [&] {
        Pin<Event> pinned(event);
        return abi::blame(*pinned, [&] { return pinned->wait(host::deadline_after(timeout_ns)); });
    });
}

GPO_API gpo_status gpo_event_get_elapsed(gpo_event_t start, gpo_event_t end, int64_t* nanoseconds) {
    return abi::call(__func__, {start, end}, [&] {
        required(nanoseconds, "nanoseconds");
        Pin<Event> first(start), last(end);
        return abi::blame(*last, [&] { return Event::elapsed(*first, *last, nanoseconds); });
    });
}

GPO_API gpo_status gpo_event_notify(gpo_event_t event, gpo_cq_t cq, uint64_t user_data) {
    return abi::call(__func__, {event, cq}, [&] {
        Pin<Event> pinned(event);
        Pin<CompletionQueue> queue(cq);
        return abi::blame(*pinned, [&] { return pinned->notify(*queue, user_data); });
    });
}

GPO_API gpo_status gpo_event_get_native(gpo_event_t event, void** native) {
    return abi::call(__func__, {event}, [&] {
        required(native, "native");
        Pin<Event> pinned(event);
        return abi::blame(*pinned, [&] {
            pinned->require_own("native event");
            pinned->expose();
            *native = pinned->native();
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_event_export(gpo_event_t event, void* buffer, size_t capacity, size_t* needed) {
    return abi::call(__func__, {event}, [&] {
        Pin<Event> pinned(event);
        return abi::blame(*pinned, [&] {
            write_exported(pinned->export_event(), buffer, capacity, needed);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_event_import(gpo_device_t device, const void* exported, size_t bytes, const char* label,
                                    gpo_event_t* event) {
    return abi::call(__func__, {device}, [&] {
        if (!exported) fail(GPO_INVALID_ARGUMENT, "exported is NULL");
        required(event, "event");
        Pin<Device> on(device);
        return abi::blame(*on, [&] {
            const Exported read = read_exported(on->context(), Exported::event, exported, bytes);
            auto made = make<Event>(on->context_ref(), read, label);
            *event = on->runtime().publish<gpo_event_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

}
