// A task that calls a user's callback with the outcome of work (gpo_stream_then, gpo_event_then, gpo_timeline_then,
// gpo_pipeline_then).
#pragma once

#include "completion/completion_queue.h"
#include "executor/executor.h"
#include "trace/record.h"

namespace gpo {

/// Calls a user's callback with the outcome of what it was requested for.
inline void call_completion(Runtime& runtime, gpo_completion_fn callback, void* user, uint32_t origin,
                            const Outcome& outcome) {
    const gpo_completion completion = entry_of(outcome, reinterpret_cast<uint64_t>(user), origin);
    const trace::CallbackSpan span(runtime, "completion callback");
    if (!outcome.error) return callback(user, &completion, nullptr);
    gpo_error error{};
    error.struct_size = sizeof error;
    outcome.error->write_to(error);
    callback(user, &completion, &error);
}

class Continuation final : public Task {
public:
    Continuation(Executor& executor, gpo_completion_fn callback, void* user, uint32_t origin)
        : Task(executor), callback_(callback), user_(user), origin_(origin) {}

private:
    void call(const Outcome& outcome, bool) override {
        call_completion(executor().runtime(), callback_, user_, origin_, outcome);
    }

    const gpo_completion_fn callback_;
    void* const user_;
    const uint32_t origin_;
};

/// Accepts a task on its executor, then calls `submit`, which must arrange for the task to become due later. A `submit`
/// that throws or returns a failure must have had no effect: the task is withdrawn and the failure passed on. If the
/// executor was destroyed meanwhile, the task is called with GPO_CANCELLED, and the result is GPO_SUCCESS.
template <class Submit>
gpo_status accept_and_submit(Executor& executor, Ref<Task> task, const void* order, Submit&& submit) {
    gpo_status status = executor.accept(*task, order);
    if (status != GPO_SUCCESS) return status;
    try {
        status = submit();
    } catch (...) {
        if (executor.withdraw(*task)) throw;
        return GPO_SUCCESS;
    }
    if (status != GPO_SUCCESS && !executor.withdraw(*task)) return GPO_SUCCESS;
    return status;
}

}  // namespace gpo
