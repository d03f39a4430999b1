// An operation's way through its stream, as the trace sees it.
#pragma once

#include "stream/stream.h"
#include "trace/recorder/recorder.h"

namespace gpo::trace {

/// Around the issuing of an operation, under the stream's submit lock: records its events, and notes it.
class OperationSpan {
public:
    OperationSpan(Stream& stream, Recorder& recorder, const gpo::Operation& operation) noexcept;
    /// What was begun and not ended, because issuing threw, leaves no trace.
    ~OperationSpan();
    OperationSpan(const OperationSpan&) = delete;
    OperationSpan& operator=(const OperationSpan&) = delete;
    /// The GPU's part begins here.
    void begin_work() noexcept;
    void end(uint64_t number) noexcept;

private:
    void return_event(CUevent event) noexcept;
    Stream& stream_;
    Buffer* buffer_ = nullptr;
    Record record_;
    Ref<NewestTime> time_;
    bool timed_ = false;
};

}  // namespace gpo::trace
