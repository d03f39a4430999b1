// Those who record what streams are given while they are captured: graph templates (graph/recording.h).
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
    /// stream's submit lock and the lock of the list: makes no call of the driver.
    virtual void captured(Stream& stream, const Operation& operation, CUgraphNode node) noexcept = 0;
    /// An operation was refused. Under the lock of the list.
    virtual void refused(Stream& stream, const char* operation, const ErrorPtr& error) noexcept = 0;

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
/// Nothing is called any more.
void remove(CaptureListener& listener) noexcept;

/// Whether there is any listener. Relaxed.
bool any() noexcept;
/// To be called for each operation that a stream was given, or that it refused, while there is any. Inside a
/// DriverScope. If the driver can't tell in which capture the stream is, all captures have an operation refused, so
/// that none is taken for complete.
void note_captured(Stream& stream, const Operation& operation) noexcept;
void note_refused(Stream& stream, const char* operation, const ErrorPtr& error) noexcept;

}  // namespace captures

}  // namespace gpo
