// call.hpp: what members need to call functions of C: answers, times, options, results.
#ifndef GPUORCH_CPP_CALL_HPP
#define GPUORCH_CPP_CALL_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>

#include "error.hpp"

namespace gpuorch {

namespace detail {

/// True: done. False: the answer was `not_yet`. Anything else is thrown.
inline bool done(gpo_status status, gpo_status not_yet) {
    if (status == not_yet) return false;
    check(status);
    return true;
}

/// A negative time asks and returns, as 0 does. (For the C functions a negative time has no limit.)
inline std::int64_t timeout(std::chrono::nanoseconds time) noexcept { return time.count() < 0 ? 0 : time.count(); }

/// A number, or a struct with its size set, for a function to write.
template <class Value>
Value unwritten() noexcept {
    if constexpr (std::is_class_v<Value>)
        return sized<Value>();
    else
        return Value();
}

/// The value that `get(arguments..., &value)` writes.
template <class Value, class Get, class... Arguments>
Value got(Get get, Arguments... arguments) {
    auto value = unwritten<Value>();
    check(get(arguments..., &value));
    return value;
}

/// The same; empty if the answer was `not_yet`.
template <class Value, class Get, class... Arguments>
std::optional<Value> got_unless(gpo_status not_yet, Get get, Arguments... arguments) {
    auto value = unwritten<Value>();
    if (!done(get(arguments..., &value), not_yet)) return std::nullopt;
    return value;
}

/// Options for a C function, whose size is set. Members take them as the C struct or as the struct of options.hpp. The
/// latter is the default of a template parameter, so that braces make it.
template <class Struct>
class with_size {
public:
    explicit with_size(const Struct& options) noexcept : options_(sized(options)) {}
    operator const Struct*() const noexcept { return &options_; }

private:
    Struct options_;
};

/// The object that `create(arguments..., &handle)` makes.
template <class Object, class Create, class... Arguments>
Object made(Create create, Arguments... arguments) {
    typename Object::handle_type handle = nullptr;
    check(create(arguments..., &handle));
    return Object(handle);
}

/// The text that `get(arguments..., buffer, capacity, &needed)` writes. The text may grow between two calls.
template <class Get, class... Arguments>
std::string text(Get get, Arguments... arguments) {
    std::string buffer(256, '\0');
    std::size_t needed = 0;
    gpo_status status = GPO_SUCCESS;
    while ((status = get(arguments..., &buffer[0], buffer.size(), &needed)) == GPO_BUFFER_TOO_SMALL)
        buffer.resize(needed);
    check(status);
    buffer.resize(std::strlen(buffer.c_str()));
    return buffer;
}

/// A parameter that no template argument is deduced from.
template <class T>
struct given {
    using type = T;
};

}  // namespace detail

}  // namespace gpuorch

#endif
