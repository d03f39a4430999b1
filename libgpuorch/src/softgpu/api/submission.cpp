#include "softgpu/api/submission.h"

#include <utility>

namespace gpo::softgpu {

Submission::Submission(Machine& machine, CUstream handle, bool needs_current) : machine_(machine), batch_(machine) {
    if (const int code = machine.fault_code.load(std::memory_order_relaxed)) refuse(CUresult(code));
    if (needs_current) current_context(machine);
    stream_ = &stream_of(machine, handle);
    require(!stream_->context->dying, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    if (stream_->legacy && !machine.captures.empty()) refuse_implicit(machine, *stream_);
    require_valid(*stream_);
}

Submission::~Submission() {
    for (Command* command : {command_, record_, wait_})
        if (command) machine_.give_command(command);
}

Command& Submission::command(CommandKind kind) {
    if (captured()) {
        node_ = std::make_unique<Command>();
        node_->kind = kind;
        return *node_;
    }
    join_legacy();   // here and not in submit(), which can't fail for a stream that isn't captured
    command_ = machine_.take_command();
    command_->kind = kind;
    return *command_;
}

void Submission::reserve_follow() {
    if (!record_) record_ = machine_.take_command();
    if (!record_->mark) record_->mark = machine_.take_mark();
    if (!wait_) wait_ = machine_.take_command();
}

void Submission::follow_reserved(Stream& other) noexcept {
    record_->kind = CommandKind::record;
    wait_->kind = CommandKind::wait;
    wait_->mark = record_->mark;
    ++wait_->mark->references;
    batch_.append(other, *std::exchange(record_, nullptr));
    batch_.append(*stream_, *std::exchange(wait_, nullptr));
}

void Submission::follow(Stream& other) {
    reserve_follow();
    follow_reserved(other);
}

void Submission::follow_launch(Mark& mark) {
    if (mark.done.load(std::memory_order_acquire)) return;
    Command& wait = *machine_.take_command();
    wait.kind = CommandKind::wait;
    wait.flags = kWaitsForLaunch;
    wait.mark = &mark;
    ++mark.references;
    batch_.append(*stream_, wait);
}

/// Orders the legacy stream and the blocking streams of a context with each other. Work on the legacy stream waits for
/// all earlier work on the blocking streams; work on a blocking stream waits for all earlier work on the legacy stream.
void Submission::join_legacy() {
    Context& context = *stream_->context;
    if (stream_->legacy) {
        for (size_t i = 0; i < context.streams.size(); ++i) {
            Stream& other = *context.streams[i];
            if (!other.blocking() || other.idle()) continue;
            if (other.submitted.load(std::memory_order_relaxed) == other.legacy_joined) continue;
            follow(other);
            other.legacy_joined = other.submitted.load(std::memory_order_relaxed);
        }
    } else if (stream_->blocking() && context.legacy && !context.legacy->idle() &&
               context.legacy->submitted.load(std::memory_order_relaxed) != stream_->legacy_seen) {
        follow(*context.legacy);
        stream_->legacy_seen = context.legacy->submitted.load(std::memory_order_relaxed);
    }
}

uint64_t Submission::submit() {
    if (node_) {
        capture_work(machine_, *stream_, std::move(*node_));
        node_.reset();
        return 0;
    }
    Command& command = *command_;
    command_ = nullptr;
    command.number = ++stream_->number;
    batch_.append(*stream_, command);
    return command.ticket;
}

}  // namespace gpo::softgpu
