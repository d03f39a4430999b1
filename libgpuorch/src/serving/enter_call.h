// A task that calls a user's callback with the outcome of a request for a place (gpo_admission_enter_then).
#pragma once

#include "executor/continuation.h"
#include "serving/admission.h"

namespace gpo {

class EnterCall final : public Task {
public:
    EnterCall(Executor& executor, Admission& admission, gpo_completion_fn callback, void* user)
        : Task(executor), admission_(&admission), callback_(callback), user_(user) {}

    /// `ticket`: gets the ticket before the callback can run. Not written if the callback gets GPO_CANCELLED because
    /// the executor was destroyed meanwhile.
    gpo_status enter(const gpo_admission_request& request, uint64_t* ticket) {
        Admission::Target target;
        target.ticket = ticket;
        target.handler = Ref<CompletionHandler>(this);
        target.dropped = &dropped_;
        return admission_->enter(request, std::move(target), &ticket_);
    }

private:
    void call(const Outcome& outcome, bool cancelled) override {
        // The executor was destroyed, and takes no outcome any more.
        if (!cancelled) return call_completion(executor().runtime(), callback_, user_, GPO_ORIGIN_ADMISSION, outcome);
        Outcome dropped = outcome;
        dropped.operation = admission_->drop(ticket_, dropped_);
        call_completion(executor().runtime(), callback_, user_, GPO_ORIGIN_ADMISSION, dropped);
    }

    const Ref<Admission> admission_;
    const gpo_completion_fn callback_;
    void* const user_;
    uint64_t ticket_ = 0;  // these two under the admission's lock
    bool dropped_ = false;
};

}  // namespace gpo
