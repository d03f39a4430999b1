#include "executor/awaited_call.h"

namespace gpo {

namespace {

class AwaitedCall final : public Task {
public:
    AwaitedCall(Executor& executor, const std::function<void()>& function)
        : Task(executor, Task::awaited), function_(function) {}

    bool wait() const noexcept {
        uint32_t end;
        while ((end = end_.load(std::memory_order_acquire)) == kPending) host::wait(end_, kPending);
        return end == kCalled;
    }

private:
    static constexpr uint32_t kPending = 0, kCalled = 1, kAbandoned = 2;
    void call(const Outcome&, bool) override {
        function_();
        end(kCalled);
    }
    void abandon() noexcept override { end(kAbandoned); }
    void end(uint32_t how) noexcept {
        end_.store(how, std::memory_order_release);
        host::wake_all(end_);  // the executor holds the task until this returns
    }

    const std::function<void()>& function_;  // owned by the waiting thread
    std::atomic<uint32_t> end_{kPending};
};

}  // namespace

bool call_on(Executor& executor, const std::function<void()>& function) {
    const auto call = make<AwaitedCall>(executor, function);
    executor.accept(*call, nullptr);
    call->on_completed({});
    return call->wait();
}

}  // namespace gpo
