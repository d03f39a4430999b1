// Listeners that record the operations of captured streams: graph templates (graph/recording.h).
#pragma once

#include <cuda.h>

#include <cstdint>

#include "core/error.h"

namespace gpo {

class Operation;
class Stream;

class CaptureListener {
public:
    /// An operation was captured; the stream's later work comes after `node`, or after several nodes (NULL). Under the
    /// stream's submit lock and the lock of the list: makes no driver calls.
    virtual void captured(Stream& stream, const Operation& operation, CUgraphNode node) noexcept = 0;
    /// A call that named the stream was refused. Under the lock of the list.
    virtual void refused(Stream& stream, const char* function, const ErrorPtr& error) noexcept = 0;
    /// Whether the calling thread may put work on streams of the capture. Under the lock of the list.
    virtual bool on_this_thread() const noexcept = 0;

protected:
    ~CaptureListener() = default;

private:
    friend class CaptureListeners;
    CaptureListener* next_ = nullptr;   // in the list
    uint64_t capture_ = 0;
};

namespace captures {

/// `capture`: its number (Stream::capture).
void add(CaptureListener& listener, uint64_t capture) noexcept;
/// After the return the listener isn't called any more.
void remove(CaptureListener& listener) noexcept;

/// Whether there is any listener. Relaxed.
bool any() noexcept;
/// Whether this capture has a listener: a template's recording that hasn't ended.
bool is_recording(uint64_t capture) noexcept;
/// To be called for each operation put on a stream, while there is any listener. Inside a DriverScope. If the driver
/// can't report the stream's capture, all captures have an operation refused, so that none counts as complete.
void note_captured(Stream& stream, const Operation& operation) noexcept;
/// To be called for each refused call that named the stream (abi/call.h). `function`: the called function. Enters the
/// context itself.
void note_refused(Stream& stream, const char* function, const ErrorPtr& error) noexcept;
/// Throws Failure(GPO_INVALID_STATE) if another thread records the stream. Inside a DriverScope.
void refuse_other_thread(Stream& stream);

}  // namespace captures

}  // namespace gpo
