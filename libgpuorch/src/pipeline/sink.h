// The destination of a pipeline's output: none, memory, a file, a callback. Each run has its own Sink.
//
// The run's writing thread calls all functions except `interrupt` and `direct`. Failures are thrown.
#pragma once

#include <memory>

#include "pipeline/data_source.h"

namespace gpo::pipeline {

class Sink {
public:
    virtual ~Sink() = default;

    /// True if chunks' output is copied out of the device.
    virtual bool wants_output() const noexcept { return true; }

    /// Throws Failure(GPO_LIMIT_EXCEEDED) if output up to `end` has no room. Called before the copy. Any thread.
    virtual void check_room(uint64_t end) const { static_cast<void>(end); }

    /// Not NULL: the output is copied to pinned memory here, chunk by chunk, and `put` isn't called.
    virtual void* direct() const noexcept { return nullptr; }

    /// Takes the next bytes of output.
    virtual void put(const void* output, uint64_t offset, uint64_t bytes) = 0;
    virtual bool staged() const noexcept { return false; }

    /// Completes the output, after a run without failure has put everything.
    virtual void commit() {}

    /// Makes a put() that waits for a reader (a pipe) fail soon. Any thread.
    virtual void interrupt() noexcept {}
};

/// Checks the struct and opens the file. The run calls the callback `take`. Throws.
std::unique_ptr<Sink> open_sink(const gpo_sink& sink, Context& context, Team& team);

}  // namespace gpo::pipeline
