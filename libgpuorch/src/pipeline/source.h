// Where a pipeline's data come from: memory, a file, a callback. Each run has an object of its own.
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

    /// Not NULL: all of it lies in pinned memory, and is copied from there. Nothing is filled then.
    virtual const void* direct() const noexcept { return nullptr; }

    /// How many buffers may be begun before the first of them is finished.
    virtual unsigned ahead() const noexcept { return 1; }
    /// Begins to fill `buffer`, where that can be done while the caller does something else.
    virtual void begin(void* buffer, uint64_t capacity) = 0;
    /// Waits for the buffer that was begun first, and returns how much is in it: fewer bytes than its capacity only at
    /// the end, 0 if the end was reached before.
    virtual uint64_t finish() = 0;
    /// Whether the bytes were in the caller's memory before.
    virtual bool staged() const noexcept { return false; }

    /// A finish that waits for data (a pipe) returns soon with what it has. Any thread.
    virtual void interrupt() noexcept {}
};

/// A source whose bytes come one behind the other.
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

/// What callbacks are called for: whose they are in messages and for GPO_WOULD_DEADLOCK.
struct Owner {
    Runtime* runtime;
    const Object* pipeline;
    Ref<Executor> executor;  // where they run; NULL: on the thread that needs them
};

/// Checks the struct and opens the file. Throws.
std::unique_ptr<Source> open_source(const gpo_source& source, Context& context, const Owner& owner, Team& team);

/// Runs a callback of the user's: outside all locks, exceptions caught. Its status, or GPO_SUCCESS / GPO_END. Throws
/// Failure(GPO_CALLBACK_FAILED) for any other.
template <class Call>
gpo_status run_callback(const Owner& owner, const char* which, Call&& call);

[[noreturn]] void fail_callback(const Owner& owner, const char* which, gpo_status status);
[[noreturn]] void fail_callback_threw(const Owner& owner, const char* which, const ThrownText& thrown);

/// GPO_MEMORY_* as far as a copy cares: whether the whole range is host memory that the GPU reaches by itself. Throws
/// Failure(GPO_INVALID_ARGUMENT) for device memory.
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
