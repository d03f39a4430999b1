// A callback of the user that runs on an executor while a thread of the library waits for its return.
#pragma once

#include <functional>

#include "executor/executor.h"

namespace gpo {

/// Runs `function` on the executor, whether there is room or not, and returns when it has returned. It may not throw.
/// False if it wasn't run and won't be: nobody runs the executor any more. Throws where the executor takes nothing any
/// more.
bool call_on(Executor& executor, const std::function<void()>& function);

}  // namespace gpo
