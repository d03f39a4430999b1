// Passes log lines to the user's log function on an executor.
#pragma once

#include "executor/executor.h"

namespace gpo {

class LogLines final : public LogRoute {
public:
    explicit LogLines(Executor& executor) noexcept : executor_(&executor) {}
    bool line(int32_t level, const char* line) noexcept override;

private:
    const Ref<Executor> executor_;
};

}  // namespace gpo
