// A callback of the user that runs on an executor while a thread of the library waits for its return.
#pragma once

#include <functional>

#include "executor/executor.h"

namespace gpo {

/// Runs `function` on the executor, beyond its capacity if need be, and returns when `function` has returned.
/// `function` must not throw. False if the function will never run, because no thread runs the executor any more.
/// Throws if the executor accepts no more tasks.
bool call_on(Executor& executor, const std::function<void()>& function);

}  // namespace gpo
