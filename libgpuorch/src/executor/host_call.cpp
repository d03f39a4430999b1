#include "executor/host_call.h"

#include "core/thrown.h"
#include "executor/continuation.h"
#include "trace/record.h"

namespace gpo {

class HostCallOperation final : public HookedOperation {
public:
    explicit HostCallOperation(Ref<HostCall> call) : HookedOperation("host call", nullptr), call_(std::move(call)) {}
    HostCallOperation(const HostCallOperation& other) : HookedOperation(other), call_(other.call_), held_(true) {}

    // Only the held copy begins the call: the stream has accepted it and can't refuse it any more.
    bool ready(Stream& stream) override {
        if (!held_) return false;
        if (!call_->begun_) begin(stream);
        std::lock_guard lock(call_->lock_);
        return call_->finished_;
    }

    void issue(Stream&) override {
        std::lock_guard lock(call_->lock_);
        if (call_->failure_) throw NeverPossible(call_->failure_);
    }

    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<HostCallOperation>(*this); }
    void held_behind(uint64_t operation) noexcept override { call_->behind_ = operation; }

    void drop(Stream& stream, const ErrorPtr& error) noexcept override {
        if (std::exchange(call_->begun_, true)) {
            std::lock_guard lock(call_->lock_);
            call_->abandoned_ = error;
            return;
        }
        Mark mark;
        mark.set_error(error);
        mark.target = call_;
        mark.operation = call_->behind_;
        stream.marks().record_failed(mark);  // behind work that may use what the callback releases
        stream.marks().push(std::move(mark));
    }

private:
    void begin(Stream& stream) {
        // This call's mark, and one for each held operation that may be dropped.
        stream.marks().reserve(stream.held().count() + 2);
        Mark mark;
        stream.marks().record(mark);
        mark.target = call_;
        mark.operation = call_->behind_;
        call_->begun_ = true;
        stream.marks().push(std::move(mark));
    }

    const Ref<HostCall> call_;
    const bool held_ = false;
};

gpo_status HostCall::put(Stream& stream, Executor& executor, gpo_host_fn function, void* user) {
    stream.refuse_captured();
    const auto call = make<HostCall>(executor, Ref<Stream>(&stream), function, user);
    // Before accept(): if the executor is destroyed after that, the function is called and gets the number.
    executor.add_call(*call, call->number_);
    gpo_status status;
    try {
        status = accept_and_submit(executor, call, &stream, [&] {
            HostCallOperation operation(call);
            return stream.submit(operation);
        });
    } catch (...) {
        executor.remove_call(call->number_);
        throw;
    }
    if (status != GPO_SUCCESS) executor.remove_call(call->number_);
    return status;
}

void HostCall::call(const Outcome& outcome, bool) {
    ErrorPtr error = outcome.error;
    Ref<Stream> stream;
    {
        std::lock_guard lock(lock_);
        if (!error) error = abandoned_;
        stream = stream_;
    }
    gpo_host_call call{};
    call.struct_size = sizeof call;
    call.call = number_;
    gpo_error details{};
    if (error) {
        details.struct_size = sizeof details;
        error->write_to(details);
        call.status = error->status;
        call.error = &details;
    }
    gpo_status status = GPO_SUCCESS;
    try {
        Runtime::CallbackScope scope(executor().runtime(), stream.get());
        const trace::CallbackSpan span(executor().runtime(), "host call");
        status = function_(user_, &call);
    } catch (const std::exception& exception) {
        finish(error ? error : make_error(GPO_CALLBACK_FAILED, "a host call threw ", thrown_text(exception)));
        throw;  // to be logged and counted
    } catch (...) {
        finish(error ? error : make_error(GPO_CALLBACK_FAILED, "a host call threw ", thrown_text()));
        throw;
    }
    if (error)
        finish(error);
    else if (status == GPO_SUCCESS)
        finish(nullptr);
    else if (status != GPO_NOT_READY)
        finish(make_error(GPO_CALLBACK_FAILED, "a host call returned ", gpo_status_name(status), " (", status, ")"));
}

void HostCall::finish(const ErrorPtr& error) noexcept {
    Ref<Stream> stream;
    {
        std::lock_guard lock(lock_);
        if (finished_) return;
        finished_ = true;
        failure_ = error;
        stream = std::move(stream_);
    }
    executor().remove_call(number_);
    // If the operation was dropped, a thread may be in the driver with the stream's submit lock.
    if (stream->held().any()) stream->held().flush();
}

}  // namespace gpo
