// A stream's part in traces.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

namespace gpo {

namespace trace {
class OperationSpan;
class Recorder;
}
struct Mark;
class Operation;
class Stream;

/// All functions but known_lane are called under the stream's submit lock.
class Traced {
public:
    explicit Traced(Stream& stream) noexcept : stream_(stream) {}

    /// The stream's lane in the recorder's session, with Recorder::kUntimed if its device has no clock; 0: none.
    uint32_t lane(trace::Recorder& recorder) noexcept;
    /// The lane, if the stream already has one in the session; 0: none. Any thread.
    uint32_t known_lane(const trace::Recorder& recorder) const noexcept;
    /// An event with timing, or NULL. Given back by StreamMarks::return_event.
    CUevent event() noexcept;

    /// Gives an operation to the driver, inside a span. Throws the operation's exceptions.
    void hand_over(Operation& operation, uint64_t number, trace::Recorder& recorder);
    /// Called where the GPU's part of the current operation begins, by operations that wait first (Operation::work).
    void begin_work() noexcept;

    void note_notify(const Mark& mark) noexcept;
    /// Notes that an operation is held; `counts`: the operation is the program's.
    void begin_holding(bool counts) noexcept;
    /// Notes that nothing is held any more.
    void end_holding() noexcept;

private:
    Stream& stream_;
    trace::OperationSpan* span_ = nullptr;    // of the current operation
    uint64_t held_since_ = 0, kept_ = 0;      // while the stream is traced and held
    std::atomic<uint64_t> lane_{0};           // session << 32 | lane
};

}  // namespace gpo
