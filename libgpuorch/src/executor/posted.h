// A task that calls a user's callback at once, or at a time (gpo_executor_post, gpo_executor_post_at).
#pragma once

#include "executor/continuation.h"

namespace gpo {

class Posted final : public Task {
public:
    Posted() noexcept = default;

private:
    friend class Executor;
    friend class FreePosted;
    void call(const Outcome& outcome, bool) override {
        call_completion(executor().runtime(), callback_, user_, GPO_ORIGIN_EXECUTOR, outcome);
    }

    gpo_completion_fn callback_ = nullptr;
    void* user_ = nullptr;
    Posted* next_free_ = nullptr;
};

/// The tasks that a thread has called, to be posted again. Each thread has its own.
class FreePosted {
public:
    static FreePosted& of_this_thread() noexcept;
    FreePosted() noexcept = default;
    ~FreePosted();
    FreePosted(const FreePosted&) = delete;
    FreePosted& operator=(const FreePosted&) = delete;

    /// Throws std::bad_alloc.
    Ref<Posted> take();
    void give(Ref<Posted> task) noexcept;

private:
    static constexpr uint32_t kMost = 64;
    Posted* first_ = nullptr;
    uint32_t count_ = 0, most_ = kMost;
};

}  // namespace gpo
