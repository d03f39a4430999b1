// An operation's way through its stream, as the trace sees it.
#pragma once

#include "stream/operation.h"
#include "trace/recorder/recorder.h"

namespace gpo {
class DriverStream;
class StreamMarks;
class Traced;
}

namespace gpo::trace {

/// A scope around the issuing of an operation, under the stream's submit lock: records the operation's events, and
/// notes the operation.
class OperationSpan {
public:
    OperationSpan(DriverStream& stream, StreamMarks& marks, Traced& traced, Recorder& recorder,
                  const gpo::Operation& operation) noexcept;
    /// An operation without end(), because issuing threw, leaves no trace.
    ~OperationSpan();
    OperationSpan(const OperationSpan&) = delete;
    OperationSpan& operator=(const OperationSpan&) = delete;
    /// The GPU's part begins here.
    void begin_work() noexcept;
    void end(uint64_t number) noexcept;

private:
    CUevent take_event() noexcept;

    DriverStream& stream_;
    StreamMarks& marks_;
    Buffer* buffer_ = nullptr;
    Record record_;
    Ref<NewestTime> time_;
    bool timed_ = false;
};

}  // namespace gpo::trace
