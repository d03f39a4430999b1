#include "stream/learner.h"

#include <algorithm>

#include "host/fence.h"
#include "stream/services.h"
#include "stream/stream.h"

namespace gpo {

// --- accepting an operation ---

bool Learner::withhold(const Operation& operation) noexcept {
    if (resting()) return false;
    Discarded discarded;
    const Submission::Lock lock(stream_.submission());
    const LearnableWork work = may_learn() && notices_breaks() ? operation.learnable() : LearnableWork{};
    if (std::holds_alternative<std::monostate>(work)) {
        separate();
        return false;
    }
    const bool separated = take_separated();
    try {
        if (learned_whole_) return replay(operation, work, separated, discarded);
        search(operation, work, separated, discarded);
    } catch (const std::bad_alloc&) {
        forget(discarded);
        rest();
    }
    return false;
}

bool Learner::resting() const noexcept {
    return stream_.submission().accepted() < rests_until_.load(std::memory_order_relaxed);
}

// False while operations are refused, traced, attributed or perhaps captured: the usual path takes them.
bool Learner::may_learn() noexcept {
    return !stream_.failed() && !stream_.context().lost() &&
           !stream_.runtime().shutting_down() && !stream_.given_out() && !trace::on() &&
           !stream_.history().attributes();
}

// Notices if another thread has issued the withheld operations. False: the stream is held.
bool Learner::notices_breaks() noexcept {
    const Held& held = stream_.held();
    if (held.only_withheld() && held.withheld() == next_) return true;
    if (!held.empty()) return false;
    note_broken();
    return true;
}

bool Learner::take_separated() noexcept {
    const bool separated = separated_.load(std::memory_order_relaxed) || stream_.marks().newest();
    if (separated) separated_.store(false, std::memory_order_relaxed);
    return separated;
}

// --- learning ---

void Learner::search(const Operation& operation, const LearnableWork& work, bool separated, Discarded& discarded) {
    if (!wanted_.empty()) return rehearse(operation, work, separated, discarded);
    if (repetition_.note(fingerprint_of(work), separated)) return begin_rehearsal();
    if (++since_ > kLongSearch) rest();
}

void Learner::begin_rehearsal() {
    std::vector<uint64_t> wanted(repetition_.length());
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = repetition_.fingerprint(i);
    wanted_.swap(wanted);
    begins_at_separator_ = repetition_.begins_at_separator();
    launched_ = false;
    tries_ = 0;
    since_ = 0;
    repetition_.clear();
}

void Learner::rehearse(const Operation& operation, const LearnableWork& work, bool separated, Discarded& discarded) {
    if (++since_ > kLongSearch) return forget(discarded);
    const uint64_t fingerprint = fingerprint_of(work);
    const size_t seen = replay_ ? replay_->size() : 0;
    if (seen != 0 && (fingerprint != wanted_[seen] || separated)) {
        Replay::give_up(std::move(replay_), discarded);
        if (++tries_ == kMostTries) return forget(discarded);
        return rehearse(operation, work, separated, discarded);
    }
    if (seen == 0 && (fingerprint != wanted_[0] || !may_begin(separated))) return;
    if (!replay_) replay_ = std::make_unique<Replay>(stream_.context(), stream_.priority());
    replay_->add(operation, work);
    if (replay_->size() == wanted_.size()) finish_rehearsal(discarded);
}

void Learner::finish_rehearsal(Discarded& discarded) noexcept {
    CUresult result = CUDA_ERROR_UNKNOWN;
    {
        const host::NoCancel no_cancel;
        const DriverTry scope(stream_.context());
        if (scope.entered()) result = replay_->build();
    }
    if (result != CUDA_SUCCESS) {
        forget(discarded);
        return rest();
    }
    learned_whole_ = true;
    launches_ = 0;
    broken_ = 0;
    since_ = 0;
    learned_.store(static_cast<uint32_t>(replay_->size()), std::memory_order_relaxed);
}

// Forgets everything except the number of rests. Called while nothing is withheld.
void Learner::forget(Discarded& discarded) noexcept {
    Replay::give_up(std::move(replay_), discarded);
    wanted_.clear();
    repetition_.clear();
    learned_whole_ = launched_ = refused_ = false;
    next_ = 0;
    since_ = 0;
    broken_ = 0;
    learned_.store(0, std::memory_order_relaxed);
}

void Learner::rest() noexcept {
    rests_until_.store(stream_.submission().accepted() + (kLeastRest << rests_), std::memory_order_relaxed);
    rests_ = std::min<unsigned>(rests_ + 1, kMostRests);
    repetition_.clear();
    since_ = 0;
}

// --- replaying ---

bool Learner::replay(const Operation& operation, const LearnableWork& work, bool separated,
                     Discarded& discarded) noexcept {
    if (next_ != 0 && (separated || !replay_->step(next_).can_do(work))) {
        issue_withheld();
        if (!stream_.held().empty() || stream_.failed()) return false;
        note_broken();
    }
    if (next_ == 0) {
        if (refused_ || broken_ >= kMostBroken) {
            forget(discarded);
            rest();
            return false;
        }
        if (!may_begin(separated) || !replay_->step(0).can_do(work)) {
            launched_ = false;
            if (++since_ > kLongSearch) forget(discarded);
            return false;
        }
    }
    accept(operation, work);
    if (next_ == replay_->size()) launch();
    return true;
}

void Learner::accept(const Operation& operation, const LearnableWork& work) noexcept {
    Submission& submission = stream_.submission();
    const uint64_t number = submission.next();
    replay_->step(next_).take(operation, work, number);
    stream_.held().withhold(replay_->place(next_));
    stream_.marks().set_newest(false);
    stream_.history().note_withheld(operation, number);
    if (const auto* kernel = std::get_if<KernelWork>(&work))
        submission.count(*kernel);
    else if (const auto* copy = std::get_if<CopyWork>(&work))
        submission.count(*copy);
    else
        submission.count(*std::get_if<FillWork>(&work));
    submission.accept(number);
    if (next_++ == 0) {
        begun_.store(begun_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        watch_.begin();
    }
}

void Learner::launch() noexcept {
    const size_t count = next_;
    CUresult result = CUDA_ERROR_UNKNOWN;
    {
        const DriverTry scope(stream_.context());
        if (scope.entered()) result = replay_->launch(stream_.native());
    }
    next_ = 0;
    if (result != CUDA_SUCCESS) {
        refused_ = true;
        return issue_withheld();
    }
    stream_.history().note_replayed(count);
    stream_.held().end_withholding();
    launched_ = true;
    broken_ = 0;
    since_ = 0;
    replayed_.store(replayed_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
    if (++launches_ == kManyLaunches) rests_ = 0;
}

void Learner::note_broken() noexcept {
    next_ = 0;
    ++broken_;
    launched_ = false;
}

// Operations that can't be issued for lack of memory are tried again later.
void Learner::issue_withheld() noexcept {
    const DriverTry scope(stream_.context());
    Held::Spent none;  // stays empty: withheld operations return to their home list
    if (scope.entered())
        stream_.held().issue_ready(none);
    else
        stream_.held().try_again();
}

// --- operations that are withheld for too long ---

// Called after an operation was withheld. An ending watch clears posted_, passes a heavy fence, and looks once more.
// Hence either the watch sees the operation, or this function sees that posted_ is clear.
void Learner::Watch::begin() noexcept {
    host::light_fence();
    host::crossing();
    if (posted_.load(std::memory_order_relaxed)) [[likely]]
        return;
    host::crossing();
    if (posted_.exchange(true, std::memory_order_acquire)) return;  // a watch that was about to end goes on
    idle_ = 0;
    learner_.stream_.retain();
    post();
}

void Learner::Watch::post() noexcept {
    StreamServices::of(learner_.stream_.context()).prompts().post(*this, host::now() + kPatience);
}

void Learner::Watch::run() noexcept {
    Stream& stream = learner_.stream_;
    look();
    if (!ends()) return post();
    const bool orphaned = stream.orphaned();
    const Ref<Context> context(&stream.context());
    stream.release();
    if (orphaned) StreamServices::of(*context).scanner().wake();  // the scanner may have the last reference
}

void Learner::Watch::look() noexcept {
    const uint64_t begun = learner_.begun_.load(std::memory_order_relaxed);
    const bool same = begun == std::exchange(seen_, begun);
    idle_ = same ? idle_ + 1 : 0;
    if (same && learner_.stream_.held().withheld()) learner_.stream_.issue_withheld();
}

bool Learner::Watch::ends() noexcept {
    Stream& stream = learner_.stream_;
    const bool last = stream.runtime().shutting_down() || stream.orphaned();
    if (!last && idle_ < kMostIdle) return false;
    host::crossing();
    posted_.store(false, std::memory_order_release);
    host::crossing();
    host::heavy_fence();
    if (!stream.held().withheld()) return true;
    if (last) {
        stream.held().flush();
        return true;
    }
    host::crossing();
    return posted_.exchange(true, std::memory_order_acquire);
}

}  // namespace gpo
