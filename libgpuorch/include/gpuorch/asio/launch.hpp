// launch.hpp: launches of kernels, graphs, templates and buckets, and any other work of a stream.
#ifndef GPUORCH_ASIO_LAUNCH_HPP
#define GPUORCH_ASIO_LAUNCH_HPP

#include <array>
#include <tuple>

#include "port.hpp"

namespace gpuorch {

/// A kernel's arguments, as in kernel::launch:
///     port.async_launch(stream, kernel, how, kernel_arguments(x, n), token)
template <class... T>
auto kernel_arguments(const T&... arguments) {
    return std::make_tuple(detail::kernel_argument(arguments)...);
}

/// Work put on a stream. The operations complete with void(error_code, completion) when the stream has done it.
/// Cancellation of any type abandons the wait; the work goes on. No GPU takes back what it was given.
template <class Base>
class port_launches : public Base {
public:
    /// Work that a callable with (gpuorch::stream_ref) puts on the stream, once, in the initiating call. If it throws
    /// gpuorch::error, the operation completes with that status; with anything else it completes with
    /// GPO_CALLBACK_FAILED, and the exception goes to the caller.
    template <class Put, class Token, std::enable_if_t<std::is_invocable_v<std::decay_t<Put>&, stream_ref>, int> = 0>
    auto async_launch(gpo_stream_t stream, Put&& put, Token&& token) const {
        return this->begin_on(
            stream,
            [put = std::decay_t<Put>(std::forward<Put>(put))](gpo_stream_t on) mutable {
                put(stream_ref(on));
                return gpo_status{GPO_SUCCESS};
            },
            std::forward<Token>(token));
    }
    /// A kernel. `how`: a gpuorch::launch or gpo_launch.
    template <class Launch, class... T, class Token>
    auto async_launch(gpo_stream_t stream, gpo_kernel_t kernel, const Launch& how, const std::tuple<T...>& arguments,
                      Token&& token) const {
        const gpo_launch given = sized<gpo_launch>(how);
        return this->begin_on(
            stream,
            [kernel, given, arguments](gpo_stream_t on) {
                return std::apply(
                    [&](const auto&... value) {
                        const void* addresses[] = {static_cast<const void*>(std::addressof(value))..., nullptr};
                        const std::uint32_t sizes[] = {static_cast<std::uint32_t>(sizeof value)..., 0};
                        return gpo_stream_launch_kernel(on, kernel, &given, addresses, sizes, sizeof...(value));
                    },
                    arguments);
            },
            std::forward<Token>(token));
    }
    /// A graph, with the values that it has now.
    template <class Token>
    auto async_launch(gpo_stream_t stream, gpo_graph_t graph, Token&& token) const {
        return this->begin_on(
            stream, [graph](gpo_stream_t on) { return gpo_graph_launch(graph, on); }, std::forward<Token>(token));
    }
    /// A template, with settings: std::make_tuple(setting("factor", 2.0f)).
    template <class... T, class Token>
    auto async_launch(gpo_stream_t stream, gpo_template_t recorded, const std::tuple<setting<T>...>& settings,
                      Token&& token) const {
        return this->begin_on(
            stream,
            [recorded, settings](gpo_stream_t on) {
                return with(settings, [&](const gpo_setting* all, std::uint64_t count) {
                    return gpo_template_launch(recorded, on, all, sizeof *all, count);
                });
            },
            std::forward<Token>(token));
    }
    template <class Token>
    auto async_launch(gpo_stream_t stream, gpo_template_t recorded, Token&& token) const {
        return async_launch(stream, recorded, std::tuple<>(), std::forward<Token>(token));
    }
    /// A request of `size` elements to buckets, with settings.
    template <class... T, class Token>
    auto async_launch(gpo_stream_t stream, gpo_buckets_t buckets, std::uint64_t size,
                      const std::tuple<setting<T>...>& settings, Token&& token) const {
        return this->begin_on(
            stream,
            [buckets, size, settings](gpo_stream_t on) {
                return with(settings, [&](const gpo_setting* all, std::uint64_t count) {
                    return gpo_buckets_launch(buckets, on, size, all, sizeof *all, count, nullptr);
                });
            },
            std::forward<Token>(token));
    }

protected:
    using Base::Base;

private:
    template <class... T, class Launch>
    static gpo_status with(const std::tuple<setting<T>...>& settings, Launch launch) {
        return std::apply(
            [&](const auto&... one) {
                const std::array<gpo_setting, sizeof...(one) + 1> all{one.raw()..., gpo_setting{}};
                return launch(all.data(), sizeof...(one));
            },
            settings);
    }
};

}  // namespace gpuorch

#endif
