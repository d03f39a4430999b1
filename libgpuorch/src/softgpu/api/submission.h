// A Submission is one call that gives work to a stream. Its steps: take the lock, check the stream, make the command,
// append the command to the stream or record it in the capture. A command that is not submitted leaves no trace.
#pragma once

#include <memory>

#include "softgpu/api/call.h"

namespace gpo::softgpu {

class Submission {
public:
    /// Refuses a stale stream, a lost device, a call that the stream's capture doesn't allow; and, if the call needs
    /// one, a thread with no current context.
    Submission(Machine&, CUstream, bool needs_current = true);
    ~Submission();
    Submission(const Submission&) = delete;
    Submission& operator=(const Submission&) = delete;

    Stream& stream() noexcept { return *stream_; }
    Context& context() noexcept { return *stream_->context; }
    bool captured() const noexcept { return stream_->capture != nullptr; }
    Batch& batch() noexcept { return batch_; }

    /// The command to fill in, one for each submission. Throws std::bad_alloc.
    Command& command(CommandKind);
    /// The stream's ticket to wait for; 0 when it was captured. Only then may it throw.
    uint64_t submit();
    /// Orders the stream after all work that `other` has now. Throws std::bad_alloc.
    void follow(Stream& other);
    /// follow() in two steps; the second can't fail.
    void reserve_follow();
    void follow_reserved(Stream& other) noexcept;
    /// Orders the stream after the end of an executable graph's launch, if that isn't done. Throws std::bad_alloc.
    void follow_launch(Mark&);
    /// Counts a call whose work was done already.
    void count() noexcept { ++stream_->number; }

private:
    void join_legacy();

    Machine& machine_;
    Batch batch_;
    Stream* stream_;
    Command* command_ = nullptr;
    Command *record_ = nullptr, *wait_ = nullptr;   // reserve_follow's
    std::unique_ptr<Command> node_;
};

}  // namespace gpo::softgpu
