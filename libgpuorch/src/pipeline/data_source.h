// The origin of a pipeline's data: memory, a file, a callback. Each run has its own Source.
//
// The run's reading thread calls all functions except `interrupt`. Failures are thrown.
#pragma once

#include <memory>
#include <optional>

#include "core/thrown.h"
#include "device/context.h"
#include "executor/awaited_call.h"
#include "gpuorch/pipeline.h"
#include "pipeline/team.h"
#include "trace/record.h"

namespace gpo::pipeline {

class Source {
public:
    virtual ~Source() = default;

    /// Bytes in all; 0: not known before the end.
    virtual uint64_t total() const noexcept { return 0; }

    /// Not NULL: all data lie here, in pinned memory, and are copied from here. No buffer is filled then.
    virtual const void* direct() const noexcept { return nullptr; }

    /// Number of buffers that may be begun before the first of them is finished.
    virtual unsigned ahead() const noexcept { return 1; }
    /// Begins to fill `buffer`, in the background where the source can.
    virtual void begin(void* buffer, uint64_t capacity) = 0;
    /// Waits for the buffer that was begun first, and returns its number of bytes: less than its capacity only at the
    /// end, 0 if the end was reached before.
    virtual uint64_t finish() = 0;
    /// True if the bytes come from the caller's memory.
    virtual bool staged() const noexcept { return false; }

    /// Makes a finish() that waits for data (a pipe) return soon, with the bytes so far. Any thread.
    virtual void interrupt() noexcept {}
};

/// A source that delivers its bytes in order.
class SerialSource : public Source {
public:
    void begin(void* buffer, uint64_t capacity) final {
        buffer_ = buffer;
        capacity_ = capacity;
    }
    uint64_t finish() final { return fill(buffer_, capacity_); }

private:
    virtual uint64_t fill(void* buffer, uint64_t capacity) = 0;

    void* buffer_ = nullptr;
    uint64_t capacity_ = 0;
};

/// The owner of callbacks, for messages and for GPO_WOULD_DEADLOCK.
struct Owner {
    Runtime* runtime;
    const Object* pipeline;
    Ref<Executor> executor;  // runs the callbacks; NULL: the thread that needs them does
};

/// Checks the struct and opens the file. Throws.
std::unique_ptr<Source> open_source(const gpo_source& source, Context& context, const Owner& owner, Team& team);

/// Runs a user callback under no lock, and catches exceptions. Returns GPO_SUCCESS or GPO_END. Throws
/// Failure(GPO_CALLBACK_FAILED) for any other status, and for an exception.
template <class Call>
gpo_status run_callback(const Owner& owner, const char* which, Call&& call);

[[noreturn]] void fail_callback(const Owner& owner, const char* which, gpo_status status);
[[noreturn]] void fail_callback_threw(const Owner& owner, const char* which, const ThrownText& thrown);

/// True if the whole range is pinned host memory, which the GPU reaches by itself. Throws Failure(GPO_INVALID_ARGUMENT)
/// for device memory.
bool is_pinned(Context& context, const void* memory, uint64_t bytes, const char* name);

template <class Call>
gpo_status run_callback(const Owner& owner, const char* which, Call&& call) {
    gpo_status status = GPO_INTERNAL;
    std::optional<ThrownText> thrown;
    const auto guarded = [&] {
        Runtime::CallbackScope scope(*owner.runtime, owner.pipeline);
        const trace::CallbackSpan span(*owner.runtime, which);
        try {
            status = call();
        } catch (const std::exception& exception) {
            thrown = thrown_text(exception);
        } catch (...) {
            thrown = thrown_text();
        }
    };
    if (!owner.executor)
        guarded();
    else if (!call_on(*owner.executor, guarded))
        fail(GPO_CANCELLED, "nobody runs ", owner.executor->describe(), " of ", owner.pipeline->describe(),
             " any more");
    if (thrown) fail_callback_threw(owner, which, *thrown);
    if (status != GPO_SUCCESS && status != GPO_END) fail_callback(owner, which, status);
    return status;
}

}  // namespace gpo::pipeline
