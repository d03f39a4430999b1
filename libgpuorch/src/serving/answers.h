// Outcomes of requests on the way to their receivers: entries are put into queues at once, perhaps under a lock.
// Sleepers are woken and callbacks made due by give(), after the lock was released.
#pragma once

#include "completion/completion_queue.h"

namespace gpo {

/// The receiver of a request's outcome.
struct Target {
    CompletionQueue* queue = nullptr;  // with reserved room, which keeps it alive; NULL: `handler`
    uint64_t user_data = 0;
    Ref<CompletionHandler> handler;
    const bool* dropped = nullptr;  // handler: set when it takes no outcome any more; the request is then not taken
    uint64_t* ticket = nullptr;     // handler: gets the ticket as well, before the outcome can come
};

// A limited number of requests end under one hold of a lock: full() says when to release it and begin again.
class Answers {
public:
    explicit Answers(uint32_t origin) noexcept : origin_(origin) {}
    Answers(const Answers&) = delete;
    Answers& operator=(const Answers&) = delete;
    ~Answers() { give(); }

    bool full() const noexcept { return count_ == kMost || entries_ >= kMostEntries; }
    /// Not when full. `target` is used up.
    void put(Target& target, Outcome outcome) noexcept {
        if (target.queue)
            put(*target.queue, entry_of(outcome, target.user_data, origin_), outcome.error);
        else
            call(std::move(target.handler), std::move(outcome));
        target = {};
    }
    /// Without the lock.
    void give() noexcept {
        for (size_t i = 0; i < count_; ++i) {
            Given& one = given_[i];
            if (one.queue) {
                std::exchange(one.queue, nullptr)->notify(one.entries);
            } else {
                one.handler->on_completed(one.outcome);
                one = {};
            }
        }
        count_ = entries_ = 0;
    }

private:
    void put(CompletionQueue& queue, const gpo_completion& entry, const ErrorPtr& error) noexcept {
        queue.put(entry, error);
        ++entries_;
        for (size_t i = 0; i < count_; ++i)
            if (given_[i].queue == &queue) return void(++given_[i].entries);
        given_[count_].queue = &queue;
        given_[count_++].entries = 1;
    }
    void call(Ref<CompletionHandler> handler, Outcome outcome) noexcept {
        given_[count_].handler = std::move(handler);
        given_[count_++].outcome = std::move(outcome);
    }

    static constexpr size_t kMost = 16, kMostEntries = 64;
    struct Given {
        CompletionQueue* queue = nullptr;
        uint64_t entries = 0;
        Ref<CompletionHandler> handler;
        Outcome outcome;
    };
    const uint32_t origin_;
    Given given_[kMost];
    size_t count_ = 0, entries_ = 0;
};

}  // namespace gpo
