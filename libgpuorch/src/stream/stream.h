// Streams: the order in which operations reach the driver, what is held back, and what has failed.
//
// The submit lock is held from before an operation gets its number until the driver has it, so that numbers, driver order
// and marks agree. It is the only lock of ours under which the driver is called. Nobody takes two of them: what has to
// happen on other streams as a consequence (a timeline signal that releases them) is put on a list and done after the lock
// is released (`flush_others`). The scanner never takes it.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "completion/mark.h"
#include "device/context.h"
#include "gpuorch/stream.h"
#include "stream/operation.h"

namespace gpo {

class Stream final : public Object {
public:
    /// Creates a driver stream, inside a DriverScope of its own. Throws.
    Stream(Ref<Context> context, gpo_device_t device, const gpo_stream_options& options);
    /// Wraps one.
    Stream(Ref<Context> context, gpo_device_t device, CUstream foreign, const gpo_stream_options& options);

    Context& context() const noexcept { return *context_; }
    const driver::Table& table() const noexcept { return context_->table(); }
    CUstream native() const noexcept { return native_; }
    bool wrapped() const noexcept { return wrapped_; }
    bool blocking() const noexcept { return blocking_; }
    /// The native handle was given out: the host may capture the stream.
    CUstream expose() noexcept;

    /// Puts an operation on the stream: issues it, or keeps it if the stream is held. GPO_SUCCESS or GPO_WOULD_BLOCK (too
    /// much held). Throws Failure: its own, or the stream's sticky one. Enters the context itself.
    gpo_status submit(Operation& operation);

    /// A mark behind all that is on the stream: `target->reached` is called exactly once. Throws only where nothing was
    /// marked; on a failed stream `target` is told of the failure. `must_fit`: not refused because much is held.
    gpo_status mark(Ref<Reached> target);
    gpo_status notify(CompletionQueue& queue, uint64_t user_data, Event* since);

    gpo_status query();
    gpo_status wait(uint64_t deadline);
    uint64_t cancel_held();
    gpo_stream_info info();

    /// Issues what is held as far as it is ready. Called by whoever made it ready, with no lock held.
    void flush() noexcept;

    /// Drops everything held, and fails the stream for good.
    void fail_held(const ErrorPtr& error) noexcept;
    /// Sticky: refuses new work with this error.
    void fail(const ErrorPtr& error) noexcept;
    ErrorPtr failure() const noexcept;

    /// Throws Failure(GPO_CAPTURE_REFUSED) if the host is capturing this stream. Inside a DriverScope.
    void refuse_capture(const char* what);

    // --- for operations, while they are issued or dropped (under the submit lock) ---
    /// Pushes a mark; with an event it has been recorded.
    void push_mark(Mark&& mark) noexcept;
    /// Makes sure that push_mark can't fail, and takes an event from the context. Throws.
    CUevent mark_event(bool timing);
    void return_event(bool timing, CUevent event) noexcept;
    uint64_t newest_operation() const noexcept { return accepted_.load(std::memory_order_relaxed); }
    /// Streams to flush once the lock is released.
    void flush_later(Ref<Stream> stream);

    // --- for the scanner ---
    MarkQueue& marks() noexcept { return marks_; }
    void seen_done(uint64_t operation) noexcept { completed_.store(operation, std::memory_order_relaxed); }
    /// The failure of work on this stream, with suspects, for a driver's answer.
    ErrorPtr failure_of_work(CUresult result, const char* function) noexcept;

    void close() noexcept override;

    uint32_t load() const noexcept;  // operations accepted and not seen done, for pools
    void count_copy(uint64_t bytes) noexcept;
    void count_launch() noexcept;
    void count_fill() noexcept;

private:
    ~Stream() override;
    void issue(Operation& operation);
    void note(const Operation& operation, uint64_t number) noexcept;
    void drop_held(const ErrorPtr& error) noexcept;  // under the submit lock
    void run_flushes(std::vector<Ref<Stream>>& flushes) noexcept;

    const Ref<Context> context_;
    const gpo_device_t device_;
    CUstream native_ = nullptr;
    const bool wrapped_, blocking_;
    int32_t priority_ = 0;
    const uint32_t max_held_;
    std::atomic<bool> exposed_;

    host::Mutex submit_;
    std::deque<std::unique_ptr<Operation>> held_;    // under submit_
    std::atomic<uint64_t> held_count_{0};
    std::vector<Ref<Stream>> flushes_;               // under submit_
    std::vector<CUevent> events_[2];                 // under submit_: spare ones for marks
    std::atomic<uint64_t> accepted_{0}, completed_{0};
    std::atomic<bool> failed_{false};
    MarkQueue marks_;
    std::atomic<bool> scanned_{false};               // known to the scanner

    struct Recent { std::atomic<const char*> kind{nullptr}, label{nullptr}; std::atomic<uint64_t> number{0}; };
    std::array<Recent, 64> recent_;                  // the last operations, for suspects
    std::atomic<uint64_t> launches_{0}, copies_{0}, copied_bytes_{0}, fills_{0};  // written under submit_
};

template <>
struct TypeOf<Stream> { static constexpr Type value = Type::stream; };

}  // namespace gpo
