// What every exported function does around its work:
//
//     gpo_status gpo_event_record(gpo_event_t event, gpo_stream_t stream) {
//         return gpo::abi::call(__func__, {event, works_on(stream)}, [&] {
//             Pin<Event> e(event);
//             Pin<Stream> s(stream);
//             e->record(*s);
//             return GPO_SUCCESS;
//         });
//     }
//
// Nothing throws across the ABI; a failure is kept as the thread's last error, and by the objects named with `blame`.
//
// Functions name their handles. A failure that names no object gets the one that was blamed, or that of the first
// handle that is valid. `works_on` marks the streams that the call is for: if such a call fails while a recording is
// under way that the stream is in, the recording lacks something, and can't end well.
//
// In a host node (core/host_node.h) only those calls are made that say so: `call<InHostNode::works>(…)`. They reach no
// driver, take no lock under which the driver is called, and destroy nothing of the driver's.
#pragma once

#include <new>
#include <span>

#include "core/handles.h"
#include "core/host_node.h"
#include "core/options.h"
#include "host/schedule.h"
#include "trace/record.h"

namespace gpo::abi {

/// One of the handles that a call was given.
struct Handle {
    Handle() noexcept = default;
    Handle(const void* of) noexcept : number(of) {}
    const void* number = nullptr;
    bool works_on = false;  // a stream that the call is for
};
inline Handle works_on(gpo_stream_t stream) noexcept {
    Handle handle(stream);
    handle.works_on = true;
    return handle;
}

/// The handles that a call was given, in the order of its parameters.
struct Given {
    Given(Handle first = {}, Handle second = {}, Handle third = {}) noexcept : handles{first, second, third} {}
    /// `read`: streams that the call reads from an array and is for. They are there as far as the call got.
    Given(Handle first, std::span<const gpo_stream_t> read) noexcept : handles{first}, streams(read) {}
    Handle handles[3];
    std::span<const gpo_stream_t> streams;
};

/// Keeps the error as the calling thread's last, with the function's name; returns its status.
gpo_status keep(const char* function, const Error& error) noexcept;
gpo_status keep(const char* function, gpo_status status, const char* message) noexcept;
/// The object keeps this error when the call it belongs to has failed with it, and says which function that was.
void keep_blame(Object& object, const ErrorPtr& error) noexcept;
/// Translates the exception in flight.
gpo_status keep_exception(const char* function, const Given& given) noexcept;
/// The process was forked, or the call is made in a host node.
gpo_status refuse(const char* function, const Given& given) noexcept;

enum class InHostNode : uint8_t { refused, works };

template <InHostNode rule = InHostNode::refused, class Body>
gpo_status call(const char* function, const Given& given, Body&& body) noexcept {
    if (host::forked() || (rule == InHostNode::refused && in_host_node())) [[unlikely]]
        return refuse(function, given);
    host::NoCancel no_cancel;
    host::ActorScope actor("caller");
    trace::CallSpan span(function);
    try {
        return span.returns(body());
    } catch (...) {
        return span.returns(keep_exception(function, given));
    }
}

/// What a call may have to notice before it begins: the process was forked, a host node runs, the deterministic
/// scheduler is in force, the trace wants to know. One look where there is nothing of the kind.
class Watched {
public:
    explicit Watched(const char* function) noexcept
        : watched_(host::detail::unusual(~uint32_t{host::detail::kNoMembarrier})) {
        if (watched_) [[unlikely]]
            begin(function);
    }
    ~Watched() {
        if (watched_) [[unlikely]]
            end();
    }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    /// The process was forked, or this is a host node: the call may not be made.
    bool refused() const noexcept { return watched_ && refused_; }
    gpo_status returns(gpo_status status) noexcept {
        if (watched_) [[unlikely]]
            note(status);
        return status;
    }

private:
    [[gnu::cold, gnu::noinline]] void begin(const char* function) noexcept;
    [[gnu::cold, gnu::noinline]] void note(gpo_status status) noexcept;
    [[gnu::cold, gnu::noinline]] void end() noexcept;
    struct Scopes {
        explicit Scopes(const char* function) : actor("caller"), span(function) {}
        host::ActorScope actor;
        trace::CallSpan span;
    };
    const bool watched_;
    bool refused_;              // set where it is watched
    union { Scopes scopes_; };  // made where it is watched and not refused
};

/// The same for the few calls that take a fraction of a microsecond: those that put work on a stream, and what arenas
/// hand out and take back. They leave cancellation as it is: switching it off and on costs as much as the rest (30 ns),
/// and no cancellation point lies on their way. Where one may (a pageable copy, a new slab), it is switched off further
/// inside.
template <class Body>
gpo_status submit(const char* function, const Given& given, Body&& body) noexcept {
    Watched watched(function);
    if (watched.refused()) [[unlikely]] return refuse(function, given);
    try {
        return watched.returns(body());
    } catch (...) {
        return watched.returns(keep_exception(function, given));
    }
}

/// The same, and the object keeps the error too: call inside `call`, around what the object does.
template <class Body>
gpo_status blame(Object& object, Body&& body) {
    try {
        return body();
    } catch (const Failure& failure) {
        keep_blame(object, failure.error());
        throw;
    }
}

/// gpo_x_destroy: NULL succeeds.
gpo_status destroy(const char* function, const void* handle, Type type) noexcept;

}  // namespace gpo::abi
