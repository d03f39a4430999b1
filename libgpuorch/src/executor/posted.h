// A task that calls a user's callback at once, or at a time (gpo_executor_post, gpo_executor_post_at).
#pragma once

#include "executor/continuation.h"

namespace gpo {

/// Its executor uses it again and again.
class Posted final : public Task {
public:
    explicit Posted(Executor& executor) noexcept : Task(executor, Kept()) {}

private:
    friend class Executor;
    void call(const Outcome& outcome, bool) override {
        call_completion(executor().runtime(), callback_, user_, GPO_ORIGIN_EXECUTOR, outcome);
    }

    gpo_completion_fn callback_ = nullptr;
    void* user_ = nullptr;
    Posted* next_free_ = nullptr;
};

}  // namespace gpo
