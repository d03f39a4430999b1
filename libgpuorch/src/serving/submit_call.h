// A task that calls a user's callback with the outcome of a request (gpo_batcher_submit_then).
#pragma once

#include "executor/continuation.h"
#include "serving/batcher.h"

namespace gpo {

class SubmitCall final : public Task {
public:
    SubmitCall(Executor& executor, Batcher& batcher, gpo_completion_fn callback, void* user)
        : Task(executor), batcher_(&batcher), callback_(callback), user_(user) {}

    /// `ticket`: written before the callback can run, unless the callback gets GPO_CANCELLED because the executor was
    /// destroyed meanwhile.
    gpo_status submit(const gpo_batcher_request& request, uint32_t thread, uint64_t* ticket, uint64_t* wait_ns) {
        Target target;
        target.user_data = reinterpret_cast<uint64_t>(user_);
        target.handler = Ref<CompletionHandler>(this);
        return batcher_->submit(request, thread, target, &ticket_, &dropped_, ticket, wait_ns);
    }

private:
    void call(const Outcome& outcome, bool cancelled) override {
        // The executor was destroyed, and takes no outcome any more.
        if (!cancelled) return call_completion(executor().runtime(), callback_, user_, GPO_ORIGIN_BATCHER, outcome);
        Outcome dropped = outcome;
        dropped_.store(true, std::memory_order_seq_cst);
        dropped.operation = ticket_.load(std::memory_order_seq_cst);
        if (dropped.operation) batcher_->drop(dropped.operation);
        call_completion(executor().runtime(), callback_, user_, GPO_ORIGIN_BATCHER, dropped);
    }

    const Ref<Batcher> batcher_;
    const gpo_completion_fn callback_;
    void* const user_;
    std::atomic<uint64_t> ticket_{0};
    std::atomic<bool> dropped_{false};
};

}  // namespace gpo
