// Host calls: functions of the user in the order of a stream.
//
// The stream holds a host call like any held operation. When everything before it has been given to the driver, the
// call *begins*: a mark is recorded behind that work, and the stream stays held. When the mark completes, the executor
// calls the user's function. When the function or another caller *finishes* the call, the stream is flushed and finds
// the operation ready. After success the operation issues nothing. After a failure it throws the failure, and the
// stream drops the work behind it.
//
// A host call that is dropped before it has begun still gets a mark, which carries the error. The user's function is
// thus called in the same place among the stream's callbacks, and after the work before it: that work may use memory
// that the function releases. A host call that is dropped after it has begun is only *abandoned*: the stream no longer
// waits for it.
#pragma once

#include "executor/executor.h"
#include "stream/stream.h"

namespace gpo {

class HostCall final : public Task {
public:
    HostCall(Executor& executor, Ref<Stream> stream, gpo_host_fn function, void* user)
        : Task(executor), function_(function), user_(user), stream_(std::move(stream)) {}

    /// Puts a host call on a stream. GPO_SUCCESS or GPO_WOULD_BLOCK; throws.
    static gpo_status put(Stream& stream, Executor& executor, gpo_host_fn function, void* user);

    /// Finishes the call; further calls have no effect. `error`: NULL for success. Any thread may call this, under no
    /// lock.
    void finish(const ErrorPtr& error) noexcept;

private:
    friend class HostCallOperation;
    void call(const Outcome& outcome, bool cancelled) override;

    const gpo_host_fn function_;
    void* const user_;
    uint64_t number_ = 0;                 // among the executor's calls
    bool begun_ = false;                  // under the stream's submit lock
    uint64_t behind_ = 0;                 // number of the operation before it, under the same lock

    host::Mutex lock_;
    Ref<Stream> stream_;                  // NULL once finished; lock_ guards this and the members below
    bool finished_ = false;
    ErrorPtr failure_, abandoned_;
};

}  // namespace gpo
