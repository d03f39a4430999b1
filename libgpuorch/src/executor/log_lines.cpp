#include "executor/log_lines.h"

namespace gpo {

namespace {

class LogLine final : public Task {
public:
    LogLine(Executor& executor, int32_t level, const char* line) : Task(executor), level_(level), line_(line) {}

private:
    void call(const Outcome&, bool) override { executor().runtime().call_log(level_, line_.c_str()); }

    const int32_t level_;
    const std::string line_;
};

}  // namespace

bool LogLines::line(int32_t level, const char* line) noexcept {
    try {
        const auto task = make<LogLine>(*executor_, level, line);
        if (executor_->accept(*task, this) == GPO_SUCCESS) task->on_completed({});  // a full executor counts it
        return true;
    } catch (const std::bad_alloc&) {
        executor_->count_refused();
        return true;
    } catch (...) {
        return false;  // the executor takes no more lines
    }
}

}  // namespace gpo
