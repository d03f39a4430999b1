// The calling thread's last error. It is plain memory without a destructor, and thus usable even while the thread ends.
// Setting the error allocates nothing, so that out-of-memory failures can be reported.
#include "abi/call.h"

#include <cstring>
#include <system_error>
#include <utility>

#include "core/runtime.h"
#include "stream/captures.h"
#include "stream/stream.h"

namespace gpo::abi {

namespace {
thread_local gpo_error t_last_error;
// The object that will store the failure of the current call, and the error for which it was blamed.
thread_local Object* t_blamed;
thread_local const Error* t_blamed_with;

// A reference holds the blamed object until the call has failed, because the call's pins end before that. Releasing the
// reference may run the destructor, which may put marks on streams. A shutdown therefore waits for the release.
void hold_blamed(Object& object) noexcept {
    Runtime& runtime = object.runtime();
    runtime.retain();
    runtime.lingering(1);
    object.retain();
}

void release_blamed(Object& object) noexcept {
    const Ref<Runtime> runtime = Ref<Runtime>::adopt(&object.runtime());
    object.release();
    runtime->lingering(-1);
}

// Whether an error with this status names an object of the call. Errors about a loss don't: their cause is earlier work
// on the device, or another process.
bool names_call_objects(gpo_status status) noexcept {
    return status != GPO_DEVICE_LOST && status != GPO_PEER_LOST && status != GPO_FORKED;
}

void name_object(const Object& object) noexcept {
    if (!t_last_error.object[0] && names_call_objects(t_last_error.status))
        copy_text(t_last_error.object, object.describe().c_str());
}

// Names the object of the first valid handle, even if the handle has the wrong type: that may be the cause.
void name_one_of(const Given& given) noexcept {
    const uint32_t tag = handle::last_tag();  // from the call's own pins
    for (const Handle& handle : given.handles) {
        if (t_last_error.object[0] || !names_call_objects(t_last_error.status)) break;
        handle::Note* note = nullptr;
        gpo_status status = GPO_SUCCESS;
        handle::Slot* const slot =
            handle::pin(reinterpret_cast<uint64_t>(handle.number), Type::none, &note, &status);
        if (!slot) continue;
        name_object(*slot->object);
        handle::unpin(*slot, *note);
    }
    handle::set_last_tag(tag);
}

// The error as the object stores it: with the called function, and with the object if the error names no object.
ErrorPtr blaming(const Object& object, const char* function, const ErrorPtr& error) noexcept {
    const bool names = !error->object.empty() || !names_call_objects(error->status);
    if (!error->function.empty() && names) return error;
    try {
        auto named = std::make_shared<Error>(*error);
        if (named->function.empty()) named->function = function;
        if (!names) named->object = object.describe();
        return named;
    } catch (const std::bad_alloc&) {
        return error;  // without these names
    }
}

void keep_failure(const char* function, const ErrorPtr& error) noexcept {
    keep(function, *error);
    Object* const object = std::exchange(t_blamed, nullptr);
    if (!object) return;
    if (t_blamed_with == error.get()) {
        name_object(*object);
        object->note_error(blaming(*object, function, error));
    }
    release_blamed(*object);
}

gpo_status keep_in_flight(const char* function) noexcept {
    try {
        throw;
    } catch (const Failure& failure) {
        keep_failure(function, failure.error());
        return failure.error()->status;
    } catch (const std::bad_alloc&) {
        return keep(function, GPO_OUT_OF_MEMORY, "the system has no memory left");
    } catch (const std::system_error& error) {
        keep(function, GPO_LIMIT_EXCEEDED, error.what());
        t_last_error.native_code = error.code().value();
        t_last_error.native_domain = GPO_NATIVE_ERRNO;
        return GPO_LIMIT_EXCEEDED;
    } catch (const std::exception& error) {
        return keep(function, GPO_INTERNAL, error.what());
    } catch (...) {
        return keep(function, GPO_INTERNAL, "an exception of an unknown type");
    }
}

// Calls Runtime::refuse_in_host_function() of the object's runtime. Does nothing if the handle is invalid.
void refuse_in_host_function(uint64_t object, Type type) {
    struct Pinned {
        ~Pinned() {
            if (slot) handle::unpin(*slot, *note);
        }
        handle::Note* note = nullptr;
        handle::Slot* slot = nullptr;
    } pinned;
    gpo_status status = GPO_SUCCESS;
    pinned.slot = handle::pin(object, type, &pinned.note, &status);
    if (pinned.slot) pinned.slot->object->runtime().refuse_in_host_function();
}

// The thread's last error is from a call that named the stream.
void note_refused(const char* function, const void* stream) noexcept {
    handle::Note* note = nullptr;
    gpo_status status = GPO_SUCCESS;
    handle::Slot* const slot = handle::pin(reinterpret_cast<uint64_t>(stream), Type::stream, &note, &status);
    if (!slot) return;
    captures::note_refused(static_cast<Stream&>(*slot->object), function,
                           make_error(t_last_error.status, static_cast<const char*>(t_last_error.message)));
    handle::unpin(*slot, *note);
}

}  // namespace

void Watched::begin(const char* function, InHostNode rule) noexcept {
    refused_ = host::forked() || (rule == InHostNode::refused && in_host_node());
    if (!refused_) new (&scopes_) Scopes(function);
}

void Watched::note(gpo_status status) noexcept {
    if (!refused_) scopes_.span.returns(status);
}

void Watched::end() noexcept {
    if (!refused_) scopes_.~Scopes();
}

void keep_blame(Object& object, const ErrorPtr& error) noexcept {
    if (!t_blamed || t_blamed_with != error.get()) object.runtime().counters.count_error(error->status);
    hold_blamed(object);
    if (Object* earlier = std::exchange(t_blamed, &object)) release_blamed(*earlier);
    t_blamed_with = error.get();
}

gpo_status keep(const char* function, const Error& error) noexcept {
    t_last_error.struct_size = sizeof t_last_error;
    error.write_to(t_last_error);
    if (error.function.empty()) copy_text(t_last_error.function, function);
    return error.status;
}

gpo_status keep(const char* function, gpo_status status, const char* message) noexcept {
    std::memset(&t_last_error, 0, sizeof t_last_error);
    t_last_error.struct_size = sizeof t_last_error;
    t_last_error.status = status;
    copy_text(t_last_error.function, function);
    copy_text(t_last_error.message, message);
    return status;
}

gpo_status keep_exception(const char* function, const Given& given) noexcept {
    const gpo_status status = keep_in_flight(function);
    name_one_of(given);
    if (captures::any()) [[unlikely]] {
        for (const Handle& handle : given.handles)
            if (handle.works_on) note_refused(function, handle.number);
        for (const gpo_stream_t stream : given.streams) note_refused(function, stream);
    }
    return status;
}

gpo_status refuse(const char* function, const Given& given) noexcept {
    if (host::forked())
        return keep(function, GPO_FORKED,
                    "the process was forked after the library was used: its threads are the parent's");
    keep(function, GPO_WOULD_DEADLOCK, kCalledInHostNode);
    name_one_of(given);
    return GPO_WOULD_DEADLOCK;
}

gpo_status destroy(const char* function, const void* handle, Type type) noexcept {
    if (!handle) return GPO_SUCCESS;
    return call(function, {handle}, [&] {
        const auto number = reinterpret_cast<uint64_t>(handle);
        refuse_in_host_function(number, type);
        const gpo_status status = handle::destroy(number, type);
        if (status != GPO_SUCCESS) fail_handle(status, type, number);
        return status;
    });
}

const gpo_error& last_error() noexcept {
    return t_last_error;
}

}  // namespace gpo::abi
