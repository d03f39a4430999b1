// Where a pipeline's output goes: nowhere, into memory, into a file, to a callback. Each run has an object of its own.
//
// The run's writing thread calls all functions except `interrupt` and `direct`. Failures are thrown.
#pragma once

#include <memory>

#include "pipeline/source.h"

namespace gpo::pipeline {

class Sink {
public:
    virtual ~Sink() = default;

    /// Whether chunks' output is copied out of the device.
    virtual bool wants_output() const noexcept { return true; }

    /// Throws Failure(GPO_LIMIT_EXCEEDED) if output up to `end` has no room. Before anything is copied. Any thread.
    virtual void check_room(uint64_t end) const { static_cast<void>(end); }

    /// Not NULL: the output is copied to pinned memory here, chunk by chunk, and `put` isn't called.
    virtual void* direct() const noexcept { return nullptr; }

    /// Takes the next bytes of output.
    virtual void put(const void* output, uint64_t offset, uint64_t bytes) = 0;
    virtual bool staged() const noexcept { return false; }

    /// All went well and everything has been put.
    virtual void commit() {}

    /// A put that waits for a reader (a pipe) gives up soon. Any thread.
    virtual void interrupt() noexcept {}
};

/// Checks the struct and opens the file. The callback `take` is the run's affair. Throws.
std::unique_ptr<Sink> open_sink(const gpo_sink& sink, Context& context, Team& team);

}  // namespace gpo::pipeline
