// Recordings of streams' operations, in graph templates (graph/recording.h).
//
// A recording has two forms. At first operations add their records to it, and the driver isn't involved: the recording
// is *direct*. Where only the driver can record an operation, the recording goes on in a capture of the driver, and
// then listens to what is captured. Wrapped streams, and streams whose native handle was given out, are captured from
// the start.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <span>

#include "core/error.h"
#include "stream/arguments.h"
#include "stream/work.h"

namespace gpo {

class DriverStream;
class Event;
class Operation;
class Stream;

class StreamRecording : public Counted {
public:
    // --- a direct recording. Under the submit lock of the stream, inside a DriverScope of its context. Throw Failure,
    // std::bad_alloc, and then nothing was added. False if the recording is a capture by now: the driver has to record
    // ---

    /// Add a node behind the stream's last nodes. `arguments`: in place of those in `work`.
    virtual bool add(Stream& stream, const Operation& operation, const KernelWork& work, Arguments arguments) = 0;
    /// One node for each of the copies, one behind the other.
    virtual bool add(Stream& stream, const Operation& operation, std::span<const RowsWork> works) = 0;
    virtual bool add(Stream& stream, const Operation& operation, const FillWork& work) = 0;
    virtual bool add(Stream& stream, const Operation& operation, const EventWork& work) = 0;
    /// The event names the stream's last nodes.
    virtual bool record(Stream& stream, Event& event) = 0;
    /// The stream's next nodes come behind those that the event names, too. A stream without a recording joins. False
    /// if the stream can't join directly, or the recording is a capture: then the capture has recorded the event.
    virtual bool wait(Stream& stream, Event& event) = 0;
    /// Goes on in a capture of the driver, unless the recording is one already. Any thread; the calling thread may hold
    /// submit locks.
    virtual void enter_capture() = 0;

    // --- a capture of the driver ---
    /// An operation was captured; the stream's later work comes after `node`, or after several nodes (NULL). Under the
    /// stream's submit lock and the lock of the list: makes no driver calls.
    virtual void captured(DriverStream& stream, const Operation& operation, CUgraphNode node) noexcept = 0;
    /// A call that named the stream was refused. Under the lock of the list.
    virtual void refused(DriverStream& stream, const char* function, const ErrorPtr& error) noexcept = 0;
    /// Whether the calling thread may put work on streams of the capture. Under the lock of the list.
    virtual bool on_this_thread() const noexcept = 0;

protected:
    ~StreamRecording() override = default;

private:
    friend class StreamRecordings;
    StreamRecording* next_ = nullptr;   // in the list
    std::atomic<uint64_t> capture_{0};
};

namespace captures {

/// A number for a direct recording. The driver gives its captures other numbers.
uint64_t new_number() noexcept;
/// Whether the number is that of a direct recording.
constexpr bool is_direct(uint64_t capture) noexcept { return capture >> 62 == 1; }
/// `capture`: its number (Stream::capture).
void add(StreamRecording& listener, uint64_t capture) noexcept;
/// A direct recording goes on in a capture with this number.
void renumber(StreamRecording& listener, uint64_t capture) noexcept;
/// The recording with this number, if it hasn't ended.
Ref<StreamRecording> find(uint64_t capture) noexcept;
/// After the return the listener isn't called any more.
void remove(StreamRecording& listener) noexcept;

/// Whether there is any listener. Relaxed.
bool any() noexcept;
/// Whether this capture has a listener: a template's recording that hasn't ended.
bool is_recording(uint64_t capture) noexcept;
/// To be called for each operation put on a stream, while there is any listener. Inside a DriverScope. If the driver
/// can't report the stream's capture, all captures have an operation refused, so that none counts as complete.
void note_captured(DriverStream& stream, const Operation& operation) noexcept;
/// To be called for each refused call that named the stream (abi/call.h). `function`: the called function. Enters the
/// context itself.
void note_refused(DriverStream& stream, const char* function, const ErrorPtr& error) noexcept;
/// GPO_INVALID_STATE: another thread records the stream.
ErrorPtr of_other_thread(const DriverStream& stream) noexcept;
/// Throws the error of of_other_thread() if another thread records the stream. Inside a DriverScope.
void refuse_other_thread(DriverStream& stream);

}  // namespace captures

}  // namespace gpo
