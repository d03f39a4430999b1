#include "stream/streams.h"

#include <algorithm>
#include <optional>

#include "device/contexts.h"
#include "stream/cycles.h"

namespace gpo {

namespace {

// Runs an action, which may serialise: not on the scanner.
class Action final : public Errand {
public:
    /// `waited_for`: device-wide waits wait for the action.
    Action(Context& context, std::function<void(bool)> action, bool waited_for)
        : context_(&context), action_(std::move(action)) {
        if (waited_for) entry_.emplace(Streams::of(context).deferred());
    }
    /// A mark came back with an error.
    void note_failure() noexcept { failed_ = true; }
    void run() noexcept override {
        if (failed_ && Streams::of(*context_).failed_work_runs())
            return context_->runtime().errands().post(*this, host::now() + Errands::kTryAgain);
        {
            DriverTry scope(*context_);
            action_(scope.entered());
        }
        delete this;
    }

private:
    const Ref<Context> context_;
    const std::function<void(bool)> action_;
    bool failed_ = false;
    std::optional<Deferred::Entry> entry_;   // destroyed before context_
};

// The handler of the streams' marks. The last mark releases the last reference: then all streams have passed.
class AllPassed final : public CompletionHandler, private Errand {
public:
    AllPassed(Context& context, std::unique_ptr<Action> action, std::vector<Ref<Stream>> streams) noexcept
        : context_(&context), action_(std::move(action)), unmarked_(std::move(streams)) {
        for (const auto& stream : unmarked_) stream->marks().expect_mark();
    }
    void on_completed(const Outcome& outcome) noexcept override {
        if (outcome.error) failed_.store(true, std::memory_order_relaxed);
    }
    void mark_all() noexcept {
        retain();
        run();
    }

private:
    ~AllPassed() override {
        if (failed_.load(std::memory_order_relaxed)) action_->note_failure();
        context_->runtime().errands().post(*action_.release());
    }

    void run() noexcept override {
        for (size_t at = unmarked_.size(); at-- > 0 && !context_->ended();) {
            Stream& stream = *unmarked_[at];
            try {
                // If a thread is in the driver with the submit lock, the mark comes later, as below.
                if (!stream.mark_until(Ref<CompletionHandler>(this), host::now() + Submission::kBrief)) continue;
            } catch (const std::exception& error) {
                // After a passing lack of memory the errand retries: the action never runs too early.
                if (is_passing(error)) continue;
                DriverTry scope(*context_);
                if (scope.entered() && !stream.detached()) context_->table().cuStreamSynchronize(stream.native());
            }
            stream.marks().end_expecting_mark();
            std::swap(unmarked_[at], unmarked_.back());
            unmarked_.pop_back();
        }
        if (unmarked_.empty() || context_->ended()) return release();
        context_->runtime().errands().post(*this, host::now() + Errands::kTryAgain);
    }

    const Ref<Context> context_;
    std::unique_ptr<Action> action_;
    std::vector<Ref<Stream>> unmarked_;
    std::atomic<bool> failed_{false};
};

}  // namespace

void Streams::finish() noexcept {
    prompts().finish();
    {
        std::lock_guard lock(idle_lock_);
        hidden_streams_.clear();
    }
    scanner().stop();
    blocking_calls().finish();
}

Ref<Stream> Streams::idle() {
    {
        std::lock_guard lock(idle_lock_);
        std::erase_if(hidden_streams_, [](const auto& stream) { return stream->failure() && !stream->marks().any(); });
        for (const auto& stream : hidden_streams_)
            if (stream->claim_if_idle()) return stream;
    }
    gpo_stream_options options{};
    options.struct_size = sizeof options;
    options.label = "watch";
    auto made = make<Stream>(Ref<Context>(&context_), nullptr, options);
    static_cast<void>(made->claim_if_idle());
    std::lock_guard lock(idle_lock_);
    hidden_streams_.push_back(made);
    return made;
}

// --- loss, and streams that hold each other up ---

void Streams::context_lost(bool crashed) noexcept {
    scanner().wake();
    // The aftermath takes submit locks and calls the driver, so the errands run it.
    aftermath_.crashed = crashed;
    context_.retain();
    context_.runtime().errands().post(aftermath_);
}

void Streams::Aftermath::run() noexcept {
    const Ref<Context> context = Ref<Context>::adopt(&streams_.context_);
    std::vector<Ref<Stream>> streams;
    {
        std::lock_guard lock(streams_.streams_lock_);
        streams.swap(streams_.last_streams_);   // needs no memory: see add
        for (Stream* stream : streams_.streams_)
            if (stream->try_retain()) streams.push_back(Ref<Stream>::adopt(stream));
    }
    for (const auto& stream : streams) stream->held().flush();
    if (crashed) Contexts::of(context->runtime()).probe();
}

void Streams::look_for_cycles() noexcept {
    if (context_.runtime().shutting_down() || cycle_search_.posted.exchange(true, std::memory_order_seq_cst)) return;
    context_.retain();
    context_.runtime().errands().post(cycle_search_);
}

void Streams::CycleSearch::run() noexcept {
    const Ref<Context> context = Ref<Context>::adopt(&streams_.context_);
    posted.store(false, std::memory_order_seq_cst);   // later changes post another search
    if (fail_unbreakable_cycles(context->runtime())) return;
    if (posted.exchange(true, std::memory_order_seq_cst)) return;
    context->retain();
    context->runtime().errands().post(*this, host::now() + Errands::kTryAgain);
}

// --- all of them ---

void Streams::add(Stream& stream) {
    std::lock_guard lock(streams_lock_);
    if (!context_.lost() && last_streams_.capacity() <= streams_.size())
        last_streams_.reserve(2 * streams_.size() + 16);
    streams_.push_back(&stream);
}

void Streams::remove(Stream& stream) noexcept {
    std::lock_guard lock(streams_lock_);
    std::erase(streams_, &stream);
    stream.add_counters(past_);
}

Ref<Stream> Streams::find(const Stream* wanted) const noexcept {
    std::lock_guard lock(streams_lock_);
    for (Stream* stream : streams_)
        if (stream == wanted && stream->try_retain()) return Ref<Stream>::adopt(stream);
    return nullptr;
}

std::vector<Ref<Stream>> Streams::all() const {
    std::vector<Ref<Stream>> out;
    std::lock_guard lock(streams_lock_);
    out.reserve(streams_.size());
    for (Stream* stream : streams_)
        if (stream->try_retain()) out.push_back(Ref<Stream>::adopt(stream));
    return out;
}

std::vector<Ref<Stream>> Streams::passing() const {
    std::vector<Ref<Stream>> out = all();
    std::erase_if(out, [](const Ref<Stream>& stream) { return stream->residence() != nullptr; });
    return out;
}

// Visits streams in the order of their addresses.
template <class Wanted, class Visit>
bool Streams::each(Wanted wanted, Visit visit) noexcept {
    for (const Stream* last = nullptr;;) {
        Ref<Stream> found;
        {
            std::lock_guard hidden_lock(idle_lock_);
            std::lock_guard lock(streams_lock_);
            Stream* next = nullptr;
            const auto look_at = [&](Stream* stream) {
                if (std::less<>()(last, stream) && (!next || std::less<>()(stream, next)) && wanted(*stream))
                    next = stream;
            };
            for (Stream* stream : streams_) look_at(stream);
            for (const auto& stream : hidden_streams_) look_at(stream.get());
            if (!next) return true;
            if (next->try_retain()) found = Ref<Stream>::adopt(next);
            last = next;
        }
        if (found && !visit(*found)) return false;
    }
}

bool Streams::cancel_held(uint64_t deadline) noexcept {
    bool all = true;
    each([](Stream& stream) { return stream.held().any() || stream.held().uncancelled(); },
         [&](Stream& stream) {
             all &= stream.held().cancel_until(deadline);
             return true;
         });
    return all;
}

void Streams::settle_withheld() noexcept {
    if (!learns()) return;
    each([](Stream& stream) { return stream.held().withheld() != 0; },
         [](Stream& stream) {
             stream.held().settle_withheld();
             return true;
         });
}

void Streams::settle_withheld(Runtime& runtime) noexcept {
    const Contexts* contexts = runtime.find_annex<Contexts>();
    if (!contexts) return;
    contexts->each([](Context& context) {
        of(context).settle_withheld();
        return true;
    });
}

void Streams::show_frees(Runtime& runtime) noexcept {
    const Contexts* contexts = runtime.find_annex<Contexts>();
    if (!contexts) return;
    contexts->each([](Context& context) {
        of(context).each([](Stream& stream) { return stream.has_unseen_frees(); },
                         [](Stream& stream) {
                             stream.show_frees();
                             return true;
                         });
        return true;
    });
}

bool Streams::drain_marks(uint64_t deadline) noexcept {
    return each(
        [](Stream& stream) { return stream.marks().any() || stream.held().has_pending_mark() || stream.unmarked(); },
        [=](Stream& stream) { return stream.drain_unmarked(deadline) && stream.marks().drain(deadline); });
}

// The last thread to mark the stream released its reference after the mark, and the lock keeps other threads from
// taking a reference out of streams_.
bool Streams::claim_unused(Stream& stream) noexcept {
    std::lock_guard lock(streams_lock_);
    return stream.only() && !stream.marks().any() && stream.claim_if_only();
}

void Streams::add_counters(gpo_statistics& statistics) const {
    std::lock_guard lock(streams_lock_);
    statistics.launches += past_.launches;
    statistics.copies += past_.copies;
    statistics.copied_bytes += past_.copied_bytes;
    statistics.fills += past_.fills;
    statistics.notifies += past_.notifies;
    statistics.legacy_stream_uses += past_.legacy_stream_uses;
    for (const Stream* stream : streams_) stream->add_counters(statistics);
    statistics.put_off += waiting_calls();
}

// A failed stream's mark completes after its work too, unless the driver couldn't record or query the mark's event.
bool Streams::failed_work_runs() noexcept {
    bool runs = false;
    const DriverTry scope(context_);
    if (!scope.entered() || context_.runtime().shutting_down()) return false;
    each([](Stream& stream) { return !stream.residence() && stream.failure(); },
         [&](Stream& stream) {
             try {
                 runs = !stream.detached() && !stream.captured() &&
                        context_.table().cuStreamQuery(stream.native()) == CUDA_ERROR_NOT_READY;
             } catch (const Failure&) {
                 // The driver can't report it.
             }
             return !runs;
         });
    return runs;
}

void Streams::when_all_pass(std::function<void(bool)> action, Stream* behind) {
    // May throw, hence comes before anything that would run the action. In a context that has ended, all streams have
    // passed.
    auto streams = context_.ended() ? std::vector<Ref<Stream>>() : passing();
    if (behind && behind->residence() && !context_.ended()) streams.push_back(Ref<Stream>(behind));
    auto errand = std::make_unique<Action>(context_, std::move(action), true);
    make<AllPassed>(context_, std::move(errand), std::move(streams))->mark_all();
}

// Skips resident streams that are only held: it may take long until the work before the mark begins.
void Streams::when_residents_pass(std::function<void(bool)> action) {
    auto streams = context_.ended() ? std::vector<Ref<Stream>>() : all();
    std::erase_if(streams, [](const Ref<Stream>& stream) { return !stream->residence() || !stream->may_be_at_work(); });
    auto errand = std::make_unique<Action>(context_, std::move(action), false);
    make<AllPassed>(context_, std::move(errand), std::move(streams))->mark_all();
}

Ref<Object> Streams::resident_work() noexcept {
    Ref<Object> found;
    each([](Stream& stream) { return stream.residence() != nullptr; },
         [&](Stream& stream) {
             if (stream.may_be_at_work()) found = Ref<Object>(&stream);
             return !found;
         });
    return found;
}

}  // namespace gpo
