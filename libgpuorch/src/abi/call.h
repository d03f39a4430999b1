// The frame around the work of every exported function:
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
// Functions name their handles. A failure that names no object gets the blamed object, or that of the first valid
// handle. `works_on` marks the streams that the call is for. If such a call fails while its stream is in a recording,
// the recording lacks something, and can't end well.
//
// In a host node (core/host_node.h) only calls marked `call<InHostNode::works>(…)` are made. Such a call reaches no
// driver, takes no lock under which the driver is called, and destroys nothing of the driver's.
#pragma once

#include <new>
#include <span>

#include "core/handles.h"
#include "core/host_node.h"
#include "core/options.h"
#include "host/schedule.h"
#include "trace/record.h"

namespace gpo::abi {

/// A handle that a call was given.
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
    /// `read`: streams that the call is for and reads from an array; complete as far as the call got.
    Given(Handle first, std::span<const gpo_stream_t> read) noexcept : handles{first}, streams(read) {}
    Handle handles[3];
    std::span<const gpo_stream_t> streams;
};

/// Keeps the error as the calling thread's last, with the function's name; returns its status.
gpo_status keep(const char* function, const Error& error) noexcept;
gpo_status keep(const char* function, gpo_status status, const char* message) noexcept;
/// Makes the object keep this error, with the function's name, once the current call has failed with it.
void keep_blame(Object& object, const ErrorPtr& error) noexcept;
/// Translates the exception in flight.
gpo_status keep_exception(const char* function, const Given& given) noexcept;
/// Fails a call in a forked process or a host node.
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

/// Unusual conditions for a call to notice before it begins: the process was forked, a host node runs, the
/// deterministic scheduler is in force, a trace is recorded. If there is none, a single look finds that out.
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
    bool refused_;              // set if watched_
    union { Scopes scopes_; };  // made if watched_ and not refused_
};

/// `call` for the few functions that take a fraction of a microsecond: putting work on a stream, allocating from arenas
/// and freeing there. Cancellation stays as it is: switching it off and on costs as much as the rest (30 ns), and these
/// functions pass no cancellation point. Where they may (a pageable copy, a new slab), it is switched off further
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

/// Makes the object keep the error of `body` too. For use inside `call`, around the object's work.
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
