// asio.hpp: waiting for GPU work on an io_context of your own, with any completion token.
//
//     gpuorch::completion_port port(context.get_executor(), runtime);
//     port.async_wait(stream, [](error_code error, gpuorch::completion done) { ... });
//     gpuorch::completion done = co_await port.async_wait(stream, use_awaitable);
//     std::future<gpuorch::completion> done = port.async_wait(stream, use_future);
//
// `runtime` and `stream` are objects of gpuorch.hpp or C handles.
//
// Header-only, C++17 or newer, Boost.Asio (1.74 or newer) or standalone Asio (1.18 or newer; define
// GPUORCH_ASIO_STANDALONE or ASIO_STANDALONE). A port is a completion queue (completion.h) whose descriptor the
// io_context watches with everything else that it waits for. No other threads than those that run the io_context are
// involved.
//
// - Handlers run through their associated executor (the port's where there is none), never inside async_wait; memory
//   comes from their associated allocator. The io_context stays busy while a wait is pending.
// - The error: none if the work has succeeded. If the work has failed, its gpo_status in status_category(): the GPU is
//   done with the work, or never got it. A wait that was cancelled has error::operation_aborted: by cancel(), by the
//   port's end, or by the handler's cancellation slot (Asio 1.20, Boost 1.77 or newer). Cancelling abandons the wait
//   and not the work: `gpu_done` is false, and memory that the work uses is free only when the GPU has got there. Wait
//   once more, or for the stream.
// - A port may be used by several threads at once. Its end cancels what is pending. Like every object of Asio it must
//   go before its io_context.
#ifndef GPUORCH_ASIO_HPP
#define GPUORCH_ASIO_HPP

#include <unistd.h>

#include <utility>  // before Asio: Boost 1.74 uses std::exchange without it

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "gpuorch.hpp"

#if defined(ASIO_STANDALONE) && !defined(GPUORCH_ASIO_STANDALONE)
#define GPUORCH_ASIO_STANDALONE
#endif

#if defined(GPUORCH_ASIO_STANDALONE)
#include <system_error>

#include <asio/any_io_executor.hpp>
#include <asio/associated_allocator.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/bind_executor.hpp>
#include <asio/dispatch.hpp>
#include <asio/error.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <asio/version.hpp>
#define GPUORCH_ASIO_VERSION ASIO_VERSION
#else
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/version.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#define GPUORCH_ASIO_VERSION BOOST_ASIO_VERSION
#endif

// Cancellation slots came with Asio 1.20 (Boost 1.77).
#if GPUORCH_ASIO_VERSION >= 102000
#define GPUORCH_ASIO_HAS_CANCELLATION_SLOTS 1
#if defined(GPUORCH_ASIO_STANDALONE)
#include <asio/associated_cancellation_slot.hpp>
#else
#include <boost/asio/associated_cancellation_slot.hpp>
#endif
#endif

namespace gpuorch {

#if defined(GPUORCH_ASIO_STANDALONE)
namespace net = ::asio;
using error_code = std::error_code;
using error_category = std::error_category;
using system_error = std::system_error;
#else
namespace net = ::boost::asio;
using error_code = boost::system::error_code;
using error_category = boost::system::error_category;
using system_error = boost::system::system_error;
#endif

/// The result of the work.
struct completion {
    gpo_status status = GPO_CANCELLED;  // GPO_CANCELLED too where the wait was abandoned
    bool gpu_done = false;              // the GPU does not touch the work's memory any more, or never did
    std::uint64_t operation = 0;        // as in gpo_completion, like all below
    std::uint64_t submitted_ns = 0;
    std::uint64_t completed_ns = 0;
    std::uint64_t error_id = 0;         // for completion_port::failure
};

/// Errors that are a gpo_status.
inline const error_category& status_category() {
    class category final : public error_category {
    public:
        const char* name() const noexcept override { return "gpuorch"; }
        std::string message(int value) const override { return gpo_status_text(value); }
    };
    static const category instance;
    return instance;
}

inline error_code make_status(gpo_status status) { return error_code(status, status_category()); }

namespace asio_detail {

/// A wait and its handler. The thread that takes a wait out of the port completes it.
struct operation {
    virtual void complete(error_code error, const completion& result) = 0;

protected:
    ~operation() = default;
};

template <class Handler>
struct bound {
    Handler handler;
    error_code error;
    completion result;
    using allocator_type = typename net::associated_allocator<Handler>::type;
    allocator_type get_allocator() const noexcept { return net::get_associated_allocator(handler); }
    void operator()() { std::move(handler)(error, result); }
};

template <class Handler>
class wait_operation final : public operation {
    using executor = typename net::associated_executor<Handler, net::any_io_executor>::type;
    using allocator = typename std::allocator_traits<
        typename net::associated_allocator<Handler>::type>::template rebind_alloc<wait_operation>;

public:
    wait_operation(Handler&& handler, const net::any_io_executor& fallback)
        : work_(net::get_associated_executor(handler, fallback)), handler_(std::move(handler)) {}

    static operation* make(Handler&& handler, const net::any_io_executor& fallback) {
        allocator memory(net::get_associated_allocator(handler));
        wait_operation* place = std::allocator_traits<allocator>::allocate(memory, 1);
        try {
            return new (place) wait_operation(std::move(handler), fallback);
        } catch (...) {
            std::allocator_traits<allocator>::deallocate(memory, place, 1);
            throw;
        }
    }

    void complete(error_code error, const completion& result) override {
        // The memory is given back before the handler runs: the handler may start the next wait with it.
        auto work = std::move(work_);
        bound<Handler> call{std::move(handler_), error, result};
        allocator memory(net::get_associated_allocator(call.handler));
        this->~wait_operation();
        std::allocator_traits<allocator>::deallocate(memory, this, 1);
        net::post(work.get_executor(), std::move(call));
    }

private:
    net::executor_work_guard<executor> work_;
    Handler handler_;
};

/// The queue, its descriptor in the io_context, and the pending waits. The descriptor is touched in the strand only,
/// and watched while a wait is pending.
class port_state : public std::enable_shared_from_this<port_state> {
public:
    port_state(const net::any_io_executor& executor, gpo_runtime_t runtime, std::uint32_t capacity)
        : strand_(executor), descriptor_(executor) {
        auto options = sized<gpo_cq_options>();
        options.capacity = capacity;
        options.label = "asio";
        std::int32_t descriptor = -1;
        gpo_cq_t queue = nullptr;
        gpo_status status = gpo_cq_create(runtime, &options, &queue);
        queue_.reset(queue);
        if (status == GPO_SUCCESS) status = gpo_cq_get_fd(queue, &descriptor);
        if (status != GPO_SUCCESS) throw system_error(make_status(status), "gpuorch::completion_port");
        error_code refused;
        descriptor_.assign(descriptor, refused);  // descriptor_ closes it
        if (refused) {
            ::close(descriptor);
            throw system_error(refused, "gpuorch::completion_port");
        }
    }
    port_state(const port_state&) = delete;
    port_state& operator=(const port_state&) = delete;

    const completion_queue& queue() const noexcept { return queue_; }

    /// A number for a wait that will be started.
    std::uint64_t next() noexcept { return last_.fetch_add(1, std::memory_order_relaxed) + 1; }

    /// `notify(queue, number)` asks for an entry with that number.
    template <class Notify>
    void start(std::uint64_t number, operation* wait, Notify&& notify) {
        bool first = false;
        try {
            std::lock_guard<std::mutex> lock(mutex_);
            waits_.emplace(number, wait);
            first = waits_.size() == 1;
        } catch (const std::bad_alloc&) {
            completion result;
            result.status = GPO_OUT_OF_MEMORY;
            return wait->complete(make_status(GPO_OUT_OF_MEMORY), result);
        }
        if (first) watch();
        const gpo_status status = notify(queue_, number);
        if (status != GPO_SUCCESS) {
            completion result;
            result.status = status;
            finish(number, make_status(status), result);
        }
    }

    void abandon(std::uint64_t number) { finish(number, net::error::operation_aborted, completion()); }

    void abandon_all() {
        std::unordered_map<std::uint64_t, operation*> waits;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            waits.swap(waits_);
        }
        for (const auto& wait : waits) wait.second->complete(net::error::operation_aborted, completion());
        unwatch();
    }

private:
    /// Completes a wait, unless another thread has done so.
    void finish(std::uint64_t number, error_code error, const completion& result) {
        operation* wait = nullptr;
        bool last = false;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            const auto found = waits_.find(number);
            if (found == waits_.end()) return;
            wait = found->second;
            waits_.erase(found);
            last = waits_.empty();
        }
        wait->complete(error, result);
        if (last) unwatch();
    }

    bool pending() {
        std::lock_guard<std::mutex> lock(mutex_);
        return !waits_.empty();
    }

    void watch() {
        auto self = shared_from_this();
        net::post(strand_, [self] { self->arm(); });
    }

    void unwatch() {
        auto self = shared_from_this();
        net::post(strand_, [self] {
            error_code ignored;
            if (self->armed_ && !self->pending()) self->descriptor_.cancel(ignored);
        });
    }

    void arm() {
        if (armed_ || !pending()) return;
        armed_ = true;
        auto self = shared_from_this();
        descriptor_.async_wait(net::posix::stream_descriptor::wait_read,
                               net::bind_executor(strand_, [self](const error_code&) {
                                   self->armed_ = false;
                                   self->drain();
                                   self->arm();
                               }));
    }

    void drain() {
        gpo_completion entries[64];
        std::uint64_t count = 0;
        if (gpo_cq_drain(queue_, entries, sizeof entries[0], 64, &count) != GPO_SUCCESS) return abandon_all();
        for (std::uint64_t i = 0; i < count; ++i) {
            const gpo_completion& entry = entries[i];
            completion result;
            result.status = entry.status;
            result.gpu_done = true;
            result.operation = entry.operation;
            result.submitted_ns = entry.submitted_ns;
            result.completed_ns = entry.completed_ns;
            result.error_id = entry.error_id;
            finish(entry.user_data, entry.status == GPO_SUCCESS ? error_code() : make_status(entry.status), result);
        }
    }

    net::strand<net::any_io_executor> strand_;
    net::posix::stream_descriptor descriptor_;
    completion_queue queue_;
    bool armed_ = false;  // in the strand

    std::atomic<std::uint64_t> last_{0};
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, operation*> waits_;  // by the number that their entries carry
};

}  // namespace asio_detail

class completion_port {
public:
    using executor_type = net::any_io_executor;

    /// `executor`: of an io_context. `capacity`: waits at once, abandoned ones included until the work is done; 0:
    /// 4096. Throws system_error with the status of gpo_cq_create or gpo_cq_get_fd.
    completion_port(const executor_type& executor, gpo_runtime_t runtime, std::uint32_t capacity = 0)
        : executor_(executor), state_(std::make_shared<asio_detail::port_state>(executor, runtime, capacity)) {}
    ~completion_port() {
        if (state_) state_->abandon_all();
    }
    completion_port(completion_port&&) noexcept = default;
    completion_port& operator=(completion_port&& other) noexcept {
        if (state_) state_->abandon_all();
        executor_ = std::move(other.executor_);
        state_ = std::move(other.state_);
        return *this;
    }

    executor_type get_executor() const noexcept { return executor_; }
    gpo_cq_t native_handle() const noexcept { return state_->queue().get(); }

    /// The failure of a failed wait's work: `throw port.failure(done);`. For the newest 256 failures it has the
    /// details, for others and for waits that weren't accepted the status alone.
    error failure(const completion& done) const {
        gpo_completion entry{};
        entry.status = done.status;
        entry.error_id = done.error_id;
        return state_->queue().failure(entry);
    }

    /// Abandons every pending wait: their handlers come with error::operation_aborted.
    void cancel() { state_->abandon_all(); }

    /// Signature void(error_code, completion). Completes when the stream has got to the point behind all work that is
    /// on it now.
    template <class Token>
    auto async_wait(gpo_stream_t stream, Token&& token) {
        return initiate(
            [stream](gpo_cq_t queue, std::uint64_t number) { return gpo_stream_notify(stream, queue, number); },
            std::forward<Token>(token));
    }

    /// Completes when the event's last recording is reached.
    template <class Token>
    auto async_wait(gpo_event_t event, Token&& token) {
        return initiate(
            [event](gpo_cq_t queue, std::uint64_t number) { return gpo_event_notify(event, queue, number); },
            std::forward<Token>(token));
    }

    /// Completes when the pipeline's run has ended.
    template <class Token>
    auto async_wait(gpo_pipeline_t pipeline, Token&& token) {
        return initiate(
            [pipeline](gpo_cq_t queue, std::uint64_t number) { return gpo_pipeline_notify(pipeline, queue, number); },
            std::forward<Token>(token));
    }

    /// Completes when the timeline has reached `value`.
    template <class Token>
    auto async_wait(gpo_timeline_t timeline, std::uint64_t value, Token&& token) {
        return initiate([timeline, value](gpo_cq_t queue, std::uint64_t number) {
            return gpo_timeline_notify(timeline, value, queue, number);
        }, std::forward<Token>(token));
    }

private:
    /// An initiation that may run later (deferred, co_await) keeps the port's state, not the port.
    template <class Notify>
    struct initiation {
        using executor_type = net::any_io_executor;
        executor_type executor;
        std::shared_ptr<asio_detail::port_state> state;
        Notify notify;
        executor_type get_executor() const noexcept { return executor; }
        template <class Handler>
        void operator()(Handler&& handler) {
            using plain = std::decay_t<Handler>;
            plain own(std::forward<Handler>(handler));
            const std::uint64_t number = state->next();
#if defined(GPUORCH_ASIO_HAS_CANCELLATION_SLOTS)
            // A late call, after the wait has ended, finds nothing to abandon.
            auto slot = net::get_associated_cancellation_slot(own);
            if (slot.is_connected()) {
                std::weak_ptr<asio_detail::port_state> weak = state;
                slot.assign([weak, number](net::cancellation_type type) {
                    if (type == net::cancellation_type::none) return;
                    if (auto alive = weak.lock()) alive->abandon(number);
                });
            }
#endif
            asio_detail::operation* wait = asio_detail::wait_operation<plain>::make(std::move(own), executor);
            state->start(number, wait, notify);
        }
    };

    template <class Notify, class Token>
    auto initiate(Notify notify, Token&& token) {
        return net::async_initiate<Token, void(error_code, completion)>(
            initiation<Notify>{executor_, state_, std::move(notify)}, token);
    }

    executor_type executor_;
    std::shared_ptr<asio_detail::port_state> state_;
};

}  // namespace gpuorch

#endif
