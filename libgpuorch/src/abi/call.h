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
// No exception leaves an exported function. A failure is stored as the calling thread's last error, and in the objects
// that were passed to `blame`.
//
// Functions pass their handles to `call`. If a failure names no object, the error names the blamed object, or the
// object of the first valid handle. `works_on` marks the streams on which the call puts work. If such a call fails
// while its stream is in a recording, the recording is incomplete and will fail.
//
// In a host node (core/host_node.h) all calls fail except those marked `call<InHostNode::works>(…)`. A marked call
// doesn't call the driver, takes no lock under which the driver is called, and destroys no objects of the driver.
#pragma once

#include <new>
#include <span>

#include "core/handles.h"
#include "core/host_node.h"
#include "core/struct_options.h"
#include "host/schedule.h"
#include "trace/record.h"

namespace gpo::abi {

/// A handle that a call was given.
struct Handle {
    Handle() noexcept = default;
    Handle(const void* of) noexcept : number(of) {}
    const void* number = nullptr;
    bool works_on = false;  // a stream on which the call puts work
};
inline Handle works_on(gpo_stream_t stream) noexcept {
    Handle handle(stream);
    handle.works_on = true;
    return handle;
}

/// The handles that a call was given, in the order of its parameters.
struct Given {
    Given(Handle first = {}, Handle second = {}, Handle third = {}) noexcept : handles{first, second, third} {}
    /// `read`: streams on which the call puts work, read from an array of the caller. After a failure it may be
    /// incomplete.
    Given(Handle first, std::span<const gpo_stream_t> read) noexcept : handles{first}, streams(read) {}
    Handle handles[3];
    std::span<const gpo_stream_t> streams;
};

/// Stores the error as the calling thread's last error, with the function's name. Returns its status.
gpo_status keep(const char* function, const Error& error) noexcept;
gpo_status keep(const char* function, gpo_status status, const char* message) noexcept;
/// When the current call fails with this error, the object stores it too, with the function's name.
void keep_blame(Object& object, const ErrorPtr& error) noexcept;
/// Stores the current exception as the thread's last error, and returns its status. Call this in a catch block.
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

/// Handles unusual conditions around a call: the process was forked, a host node runs, the deterministic scheduler is
/// in force, or a trace is recorded. A single load shows whether any of them holds.
class Watched {
public:
    Watched(const char* function, InHostNode rule) noexcept
        : watched_(host::detail::unusual(~uint32_t{host::detail::kNoMembarrier})) {
        if (watched_) [[unlikely]]
            begin(function, rule);
    }
    ~Watched() {
        if (watched_) [[unlikely]]
            end();
    }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    /// Whether the call must fail, because the process was forked or the thread is in a host node.
    bool refused() const noexcept { return watched_ && refused_; }
    gpo_status returns(gpo_status status) noexcept {
        if (watched_) [[unlikely]]
            note(status);
        return status;
    }

private:
    [[gnu::cold, gnu::noinline]] void begin(const char* function, InHostNode rule) noexcept;
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

/// A cheaper `call` for functions that take a fraction of a microsecond: those that put work on a stream, that allocate
/// from arenas or free there, and that post to an executor. It doesn't disable thread cancellation, which would cost
/// 30 ns, as much as the rest. Most of these functions have no cancellation point. Functions that may have a
/// cancellation point (a pageable copy, a new slab) disable cancellation themselves.
template <InHostNode rule = InHostNode::refused, class Body>
gpo_status submit(const char* function, const Given& given, Body&& body) noexcept {
    Watched watched(function, rule);
    if (watched.refused()) [[unlikely]] return refuse(function, given);
    try {
        return watched.returns(body());
    } catch (...) {
        return watched.returns(keep_exception(function, given));
    }
}

/// Runs `body`. If it fails, the object stores the error too. Used inside `call`.
template <class Body>
gpo_status blame(Object& object, Body&& body) {
    try {
        return body();
    } catch (const Failure& failure) {
        keep_blame(object, failure.error());
        throw;
    }
}

/// The work of each gpo_…_destroy. A NULL handle succeeds.
gpo_status destroy(const char* function, const void* handle, Type type) noexcept;

}  // namespace gpo::abi
