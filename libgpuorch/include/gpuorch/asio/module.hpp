// module.hpp: compiling without holding up an event loop (module.h), and what else blocks.
#ifndef GPUORCH_ASIO_MODULE_HPP
#define GPUORCH_ASIO_MODULE_HPP

#include <new>
#include <string>
#include <string_view>

#include "port.hpp"

#if defined(GPUORCH_ASIO_STANDALONE)
#include <asio/system_executor.hpp>
#else
#include <boost/asio/system_executor.hpp>
#endif

namespace gpuorch {

/// The object that a call has made, or the reason of its failure.
template <class Object>
struct made {
    Object object;        // empty after a failure
    std::string message;  // of the failure
    std::string log;      // of a compiler
};

namespace asio_detail {

/// Makes an object on a thread of Asio's system_executor. `make(made<Object>&)` may throw gpuorch::error.
template <class Object, class Make>
struct making {
    using executor_type = net::any_io_executor;
    executor_type executor;
    Make make;
    executor_type get_executor() const noexcept { return executor; }

    /// The handler's part: has the work of its executor.
    template <class Handler>
    struct bound {
        Handler handler;
        error_code error;
        made<Object> result;
        using allocator_type = typename net::associated_allocator<Handler>::type;
        allocator_type get_allocator() const noexcept { return net::get_associated_allocator(handler); }
        void operator()() { std::move(handler)(error, std::move(result)); }
    };

    template <class Handler>
    void operator()(Handler&& handler) {
        using plain = std::decay_t<Handler>;
        plain own(std::forward<Handler>(handler));
        auto work = net::make_work_guard(net::get_associated_executor(own, executor));
        net::post(net::system_executor(), [make = std::move(make), own = std::move(own), work = std::move(work),
                                           io = net::make_work_guard(executor)]() mutable {
            made<Object> result;
            error_code error;
            try {
                make(result);
            } catch (const gpuorch::error& failure) {
                error = make_status(failure.status());
                result.message = failure.what();
            } catch (const std::bad_alloc&) {
                error = make_status(GPO_OUT_OF_MEMORY);
            }
            bound<plain> call{std::move(own), error, std::move(result)};
            deliver(how::post, io.get_executor(), std::move(work), std::move(call));
        });
    }
};

}  // namespace asio_detail

template <class Base>
class port_modules : public Base {
public:
    /// Compiles a module on another thread, one of Asio's system_executor. Completes with void(error_code,
    /// made<module>). The source is copied. Memory that the options point to must stay until then. Can't be
    /// cancelled.
    template <class Options, class Token>
    auto async_compile(gpo_device_t device, std::string_view source, const Options& options, Token&& token) const {
        gpo_compile_options given = sized<gpo_compile_options>(options);
        auto compile = [device, given, text = std::string(source)](made<module>& result) mutable {
            given.source = text.c_str();
            given.source_bytes = text.size();
            gpo_module_t handle = nullptr;
            const gpo_status status = gpo_module_compile(device, &given, &handle);
            result.object = module(handle);
            const auto failure = error::of_last_call(status);
            result.log = compile_log();
            if (status != GPO_SUCCESS) throw failure;
        };
        asio_detail::making<module, decltype(compile)> one{this->get_executor(), std::move(compile)};
        return net::async_initiate<Token, void(error_code, made<module>)>(std::move(one), token);
    }

protected:
    using Base::Base;
};

}  // namespace gpuorch

#endif
