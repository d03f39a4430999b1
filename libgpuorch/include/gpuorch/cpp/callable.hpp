// callable.hpp: callables that the library owns until it has called them.
#ifndef GPUORCH_CPP_CALLABLE_HPP
#define GPUORCH_CPP_CALLABLE_HPP

#include <memory>
#include <type_traits>
#include <utility>

#include "error.hpp"

namespace gpuorch {

namespace detail {

/// Calls the callable that `user` owns, once.
template <class Callable>
void call_back(void* user, const gpo_completion* completion, const gpo_error* failure) {
    const std::unique_ptr<Callable> owned(static_cast<Callable*>(user));
    Callable& callable = *owned;
    if constexpr (std::is_invocable_v<Callable, const gpo_completion&, const gpo_error*>)
        std::move(callable)(*completion, failure);
    else
        std::move(callable)(completion->status);
}

/// Gives the library a callable of its own, if `then(arguments..., function, user)` succeeds.
template <class Callable, class Then, class... Arguments>
gpo_status hand_over(Callable&& callable, Then then, Arguments... arguments) {
    using Own = std::decay_t<Callable>;
    static_assert(
        std::is_invocable_v<Own, const gpo_completion&, const gpo_error*> || std::is_invocable_v<Own, gpo_status>,
        "then takes a callable with (gpo_status), or with (const gpo_completion&, const gpo_error*)");
    auto own = std::make_unique<Own>(std::forward<Callable>(callable));
    const gpo_status status = then(arguments..., &call_back<Own>, own.get());
    if (status == GPO_SUCCESS) static_cast<void>(own.release());  // call_back calls and deletes it, perhaps already
    return status;
}

/// Calls the callable that `user` owns in the order of a stream, once.
template <class Callable>
gpo_status call_host(void* user, const gpo_host_call* call) {
    const std::unique_ptr<Callable> owned(static_cast<Callable*>(user));
    Callable& callable = *owned;
    if constexpr (std::is_invocable_r_v<gpo_status, Callable, const gpo_host_call&>) {
        return std::move(callable)(*call);
    } else {
        if (call->status == GPO_SUCCESS) std::move(callable)();
        return GPO_SUCCESS;
    }
}

}  // namespace detail

}  // namespace gpuorch

#endif
