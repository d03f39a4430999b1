// Calls a user's callback on an executor, while a thread of the library waits until the callback has returned.
#pragma once

#include <functional>

#include "executor/executor.h"

namespace gpo {

/// Runs `function` on the executor, and returns when `function` has returned. The executor accepts the call even if it
/// is full. `function` must not throw. Returns false if no thread is left to run the function. Throws if the executor
/// accepts no more tasks.
bool call_on(Executor& executor, const std::function<void()>& function);

}  // namespace gpo
