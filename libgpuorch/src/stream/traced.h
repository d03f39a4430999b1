// What a stream does for whoever traces it.
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
    /// The same if the stream has a lane already. Any thread.
    uint32_t known_lane(const trace::Recorder& recorder) const noexcept;
    /// An event with timing, or NULL. Given back by StreamMarks::return_event.
    CUevent event() noexcept;

    /// Gives an operation to the driver, with its span around it. Throws what the operation throws.
    void hand_over(Operation& operation, uint64_t number, trace::Recorder& recorder);
    /// Where the GPU's part of the operation begins that is being handed over, for those that wait first
    /// (Operation::work).
    void begin_work() noexcept;

    void note_notify(const Mark& mark) noexcept;
    /// An operation is held; `counts`: it is the user's.
    void begin_holding(bool counts) noexcept;
    /// Nothing is held any more.
    void end_holding() noexcept;

private:
    Stream& stream_;
    trace::OperationSpan* span_ = nullptr;    // of the operation that is being handed over
    uint64_t held_since_ = 0, kept_ = 0;      // while it is traced, and held
    std::atomic<uint64_t> lane_{0};           // session << 32 | lane
};

}  // namespace gpo
