// stream.hpp: streams (stream.h), with copies and fills (memory.h).
#ifndef GPUORCH_CPP_STREAM_HPP
#define GPUORCH_CPP_STREAM_HPP

#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include "callable.hpp"
#include "memory.hpp"
#include "stream_calls.hpp"

namespace gpuorch {

/// The calls of a stream, for a handle that this object doesn't own, such as the stream that a stage's callable gets.
class stream_ref : public stream_calls {
public:
    using stream_calls::stream_calls;

    /// Copies all of a host container (a vector, an array, pinned memory). Pinned memory must stay unchanged until the
    /// copy is done. GPO_INVALID_ARGUMENT if the buffer is smaller.
    template <class T, class Host>
    void copy_to_device(const buffer<T>& destination, const Host& source) const {
        copy_to_device(destination.get(), std::data(source), std::size(source));
    }
    template <class T>
    void copy_to_device(device_ptr<T> destination, const T* source, std::uint64_t count) const {
        check(gpo_copy_to_device(get(), destination.address(), source, detail::bytes_of<T>(count)));
    }
    /// Fills all of a host container, which must stay until the copy is done. GPO_INVALID_ARGUMENT if the buffer is
    /// smaller.
    template <class Host, class T>
    void copy_to_host(Host& destination, const buffer<T>& source) const {
        copy_to_host(std::data(destination), source.get(), std::size(destination));
    }
    template <class T>
    void copy_to_host(T* destination, typename detail::given<device_ptr<const T>>::type source,
                      std::uint64_t count) const {
        check(gpo_copy_to_host(get(), destination, source.address(), detail::bytes_of<T>(count)));
    }
    template <class T>
    void copy_on_device(device_ptr<T> destination, typename detail::given<device_ptr<const T>>::type source,
                        std::uint64_t count) const {
        check(gpo_copy_on_device(get(), destination.address(), source.address(), detail::bytes_of<T>(count)));
    }
    /// Sets elements of 1, 2 or 4 bytes.
    template <class T>
    void fill(device_ptr<T> destination, typename detail::given<T>::type value, std::uint64_t count) const {
        static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4, "elements of 1, 2 or 4 bytes");
        using Half = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
        std::conditional_t<sizeof(T) == 4, std::uint32_t, Half> bits;
        std::memcpy(&bits, &value, sizeof bits);
        check(gpo_fill(get(), destination.address(), bits, sizeof bits, count));
    }
    template <class T>
    void fill(const buffer<T>& destination, typename detail::given<T>::type value) const {
        fill(destination.get(), value, destination.size());
    }

    /// False: the queue is full, and nothing comes.
    [[nodiscard]] bool try_notify(gpo_cq_t queue, std::uint64_t user_data) const {
        return detail::done(gpo_stream_notify(get(), queue, user_data), GPO_WOULD_BLOCK);
    }

    /// Calls `callable(gpo_status)` or `callable(const gpo_completion&, const gpo_error*)` on the executor, exactly
    /// once, when all work that is on the stream now is done or has failed. The callable is moved or copied into place,
    /// called as an rvalue, and destroyed by the thread that called it. If this function throws, the callable isn't
    /// called.
    template <class Callable>
    void then(gpo_executor_t executor, Callable&& callable) const {
        check(detail::hand_over(std::forward<Callable>(callable), gpo_stream_then, get(), executor));
    }
    /// False: the executor has no room, and the callable isn't called. A callable that was moved in is lost.
    template <class Callable>
    [[nodiscard]] bool try_then(gpo_executor_t executor, Callable&& callable) const {
        return detail::done(detail::hand_over(std::forward<Callable>(callable), gpo_stream_then, get(), executor),
                            GPO_WOULD_BLOCK);
    }

    /// Runs host code in the order of the stream. `callable()` runs if all before it has succeeded; otherwise it is
    /// destroyed without a call. `gpo_status callable(const gpo_host_call&)` runs in either case and asks the struct.
    /// An exception fails the stream; the failure's message has its text.
    template <class Callable>
    void host_call(gpo_executor_t executor, Callable&& callable) const {
        using Own = std::decay_t<Callable>;
        static_assert(std::is_invocable_v<Own> || std::is_invocable_r_v<gpo_status, Own, const gpo_host_call&>,
                      "host_call takes a callable with (), or with (const gpo_host_call&) that returns a gpo_status");
        auto own = std::make_unique<Own>(std::forward<Callable>(callable));
        check(gpo_stream_host_call(get(), executor, &detail::call_host<Own>, own.get()));
        static_cast<void>(own.release());
    }
};

class stream : public owner<stream_ref, gpo_stream_destroy> {
public:
    using owner::owner;
};

}  // namespace gpuorch

#endif
