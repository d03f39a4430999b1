// A task that calls a user's callback at once, or at a time (gpo_executor_post, gpo_executor_post_at).
#pragma once

#include "executor/continuation.h"

#include <utility>

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
    static FreePosted& of_this_thread() noexcept {
        static constinit thread_local FreePosted mine;
        return mine;
    }

    /// Throws std::bad_alloc.
    Ref<Posted> take() {
        if (!first_) return make<Posted>();
        --count_;
        return Ref<Posted>::adopt(std::exchange(first_, first_->next_free_));
    }
    void give(Ref<Posted> task) noexcept {
        if (count_ >= kMost || (end_ != End::noted && !note_end())) return;
        task->outcome_.error = nullptr;
        ++count_;
        task->next_free_ = first_;
        first_ = task.leak();
    }

private:
    bool note_end() noexcept;
    static void free_all(void* mine) noexcept;

    static constexpr uint32_t kMost = 64;
    Posted* first_ = nullptr;
    uint32_t count_ = 0;
    enum class End : uint8_t { unknown, noted, come } end_ = End::unknown;  // of the thread
};

}  // namespace gpo
