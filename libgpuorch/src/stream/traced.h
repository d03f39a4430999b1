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
class DriverStream;

/// All functions but known_lane are called under the stream's submit lock.
class Traced {
public:
    explicit Traced(DriverStream& stream) noexcept : stream_(stream) {}

    /// The stream's lane in the recorder's session, with Recorder::kUntimed if its device has no clock; 0: none.
    uint32_t lane(trace::Recorder& recorder) noexcept;
    /// The lane, if the stream already has one in the session; 0: none. Any thread.
    uint32_t known_lane(const trace::Recorder& recorder) const noexcept;

    /// A scope around the issuing of an operation: begin_work() goes to the operation's span.
    class Current {
    public:
        Current(Traced& traced, trace::OperationSpan& span) noexcept : traced_(traced) { traced_.span_ = &span; }
        ~Current() { traced_.span_ = nullptr; }
        Current(const Current&) = delete;
        Current& operator=(const Current&) = delete;

    private:
        Traced& traced_;
    };
    /// Called where the GPU's part of the current operation begins, by operations that wait first (Operation::work).
    void begin_work() noexcept;

    void note_notify(const Mark& mark) noexcept;
    /// Notes that an operation is held; `counts`: the operation is the program's.
    void begin_holding(bool counts) noexcept;
    /// Notes that nothing is held any more.
    void end_holding() noexcept;

private:
    DriverStream& stream_;
    trace::OperationSpan* span_ = nullptr;    // of the current operation
    uint64_t held_since_ = 0, kept_ = 0;      // while the stream is traced and held
    std::atomic<uint64_t> lane_{0};           // session << 32 | lane
};

}  // namespace gpo
