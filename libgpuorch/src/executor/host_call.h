// Host code in stream order.
//
// A host call is kept by its stream as a held operation. When it has come to the front it *begins*: a mark is recorded
// behind what the driver has been given, and the stream stays held. The mark reached, the executor calls the user's
// function; when that or somebody else *finishes* the call, the stream is flushed, and the operation is found ready: it
// issues nothing, or throws the failure, and the stream drops what is behind.
//
// Dropped before it has begun it still gets a mark, with the error, so that its callback keeps its place among the others
// of the stream, and comes when the work before it has ended: what it then gives up may be in use until then. Dropped later
// it is only *abandoned*: the stream no longer waits for it.
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

    /// The first one counts. `error` NULL: success. Any thread, under no lock.
    void finish(const ErrorPtr& error) noexcept;

private:
    friend class HostCallOperation;
    void call(const Outcome& outcome, bool cancelled) override;

    const gpo_host_fn function_;
    void* const user_;
    uint64_t number_ = 0;                 // among the executor's calls
    bool begun_ = false;                  // under the stream's submit lock
    uint64_t behind_ = 0;                 // number of the operation before it, likewise

    host::Mutex lock_;
    Ref<Stream> stream_;                  // until it is finished, under lock_ as the following
    bool finished_ = false;
    ErrorPtr failure_, abandoned_;
};

}  // namespace gpo
