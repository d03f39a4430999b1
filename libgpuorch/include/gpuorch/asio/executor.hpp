// executor.hpp: an executor of the library (executor.h) as an execution context of Asio. Functions that are posted,
// dispatched or deferred, strands, coroutines and timers run on the threads that also call back when GPU work is done.
// asio.hpp does not include this header.
//
//     gpuorch::executor_context pool(runtime, 4);
//     boost::asio::post(pool, [] { ... });
//     boost::asio::co_spawn(pool, serve(), boost::asio::detached);
//     stream.then(pool.native_handle(), [](gpo_status status) { ... });
//
// - Any executor of the library will do: with threads, or with GPO_EXECUTOR_CALLER, whose functions run inside run(),
//   run_for() and poll(). run() returns when no callback is pending and no work is outstanding
//   (execution::outstanding_work, executor_work_guard), like io_context::run. It needs no restart.
// - Functions begin in the order in which they were posted. dispatch() runs a function at once on a thread that is
//   inside a function of the context. Memory comes from the function's associated allocator; where there is none, it is
//   recycled by each thread.
// - An exception that leaves a function is caught, logged and counted by the library (executor.h). It does not leave
//   run().
// - executor_timer waits on these threads, by the library's clock. Asio's own steady_timer, and its sockets and
//   descriptors, work on the context, too: Asio starts a thread of its own for them, as for every context that isn't
//   one of Asio's, and their handlers run here.
// - A full executor refuses: post() throws system_error with GPO_WOULD_BLOCK. Outstanding work takes one place. Once
//   the runtime is shut down or the context ends, functions are destroyed without a call, as by a stopped io_context.
// - The context's end waits for the functions that run, and destroys the others without a call. Meanwhile it may run
//   other callbacks of the executor. Like every context of Asio it must outlive its executors and timers. After fork()
//   the child must not use it.
#ifndef GPUORCH_ASIO_EXECUTOR_HPP
#define GPUORCH_ASIO_EXECUTOR_HPP

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "port.hpp"

#if defined(GPUORCH_ASIO_STANDALONE)
#include <asio/execution_context.hpp>
#include <asio/query.hpp>
#else
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>
#endif

namespace gpuorch {

class executor_context;

namespace asio_detail {

/// Blocks of memory that a thread has freed, a few of each size, to be used again.
class freed_blocks {
public:
    freed_blocks() noexcept = default;
    freed_blocks(const freed_blocks&) = delete;
    ~freed_blocks() {
        kept_ = 0;  // for objects of this thread that are destroyed later
        for (std::size_t size = 0; size < kClasses; ++size)
            while (count_[size] != 0) ::operator delete(blocks_[size][--count_[size]]);
    }
    void* allocate(std::size_t bytes) {
        const std::size_t size = class_of(bytes);
        if (size < kClasses && count_[size] != 0) return blocks_[size][--count_[size]];
        return ::operator new((size + 1) * kStep);
    }
    void deallocate(void* memory, std::size_t bytes) noexcept {
        const std::size_t size = class_of(bytes);
        if (size >= kClasses || count_[size] >= kept_) return ::operator delete(memory);
        blocks_[size][count_[size]++] = memory;
    }

private:
    static constexpr std::size_t kStep = 64, kClasses = 8, kKept = 4;
    static std::size_t class_of(std::size_t bytes) noexcept { return (bytes - 1) / kStep; }

    std::uint8_t kept_ = kKept;
    std::uint8_t count_[kClasses] = {};
    void* blocks_[kClasses][kKept] = {};
};
inline thread_local freed_blocks this_threads_blocks;

template <class T>
struct thread_allocator {
    using value_type = T;
    thread_allocator() noexcept = default;
    template <class U>
    thread_allocator(const thread_allocator<U>&) noexcept {}
    T* allocate(std::size_t count) const {
        static_assert(alignof(T) <= alignof(std::max_align_t), "operator new aligns no further");
        return static_cast<T*>(this_threads_blocks.allocate(count * sizeof(T)));
    }
    void deallocate(T* of, std::size_t count) const noexcept { this_threads_blocks.deallocate(of, count * sizeof(T)); }
    friend bool operator==(const thread_allocator&, const thread_allocator&) noexcept { return true; }
    friend bool operator!=(const thread_allocator&, const thread_allocator&) noexcept { return false; }
};

/// Counts what many threads begin and end, on a cache line of each: the sum counts.
class spread_count {
public:
    void add(std::int64_t change) noexcept { parts_[slot()].value.fetch_add(change, std::memory_order_seq_cst); }
    /// Exact once nothing is begun any more; before that it may be too high.
    std::int64_t sum() const noexcept {
        std::int64_t total = 0;
        for (const part& one : parts_) total += one.value.load(std::memory_order_seq_cst);
        return total;
    }

private:
    static constexpr unsigned kParts = 16;
    static unsigned slot() noexcept {
        static std::atomic<unsigned> next{0};
        static thread_local const unsigned mine = next.fetch_add(1, std::memory_order_relaxed) % kParts;
        return mine;
    }
    struct alignas(64) part {
        std::atomic<std::int64_t> value{0};
    };
    part parts_[kParts];
};

/// A wait of an executor_timer. Under the context's mutex, but the ticket, which is there before the wait can end.
struct timer_entry {
    std::uint64_t ticket = 0;
    bool linked = false, done = false;
    timer_entry* before = nullptr;
    timer_entry* after = nullptr;
};

/// What a context's executors and timers share. No call of the library is made under its mutex.
class context_state {
public:
    context_state(net::execution_context& context, gpo_executor_t executor) noexcept
        : context(context), executor(executor) {}
    context_state(const context_state&) = delete;

    net::execution_context& context;
    const gpo_executor_t executor;

    bool closing() const noexcept { return closing_.load(std::memory_order_seq_cst); }

    /// For a function that the library is to call. False: the context ends.
    bool begin() noexcept {
        under_way_.add(1);
        if (!closing()) return true;
        under_way_.add(-1);
        return false;
    }
    void end() noexcept { under_way_.add(-1); }
    /// Beside a function that has begun: for the call that hands it over.
    struct call_scope {
        explicit call_scope(context_state& state) noexcept : state(state) { state.under_way_.add(1); }
        ~call_scope() { state.end(); }
        call_scope(const call_scope&) = delete;
        call_scope& operator=(const call_scope&) = delete;
        context_state& state;
    };

    /// A function of the context that this thread is inside of.
    class frame {
    public:
        explicit frame(context_state& state) noexcept : state_(&state), outer_(std::exchange(top_, this)) {}
        ~frame() {
            top_ = outer_;
            if (state_ != nullptr) state_->end();
        }
        frame(const frame&) = delete;
        frame& operator=(const frame&) = delete;

    private:
        friend class context_state;
        context_state* state_;  // NULL: the context has ended
        frame* const outer_;
        static inline thread_local frame* top_ = nullptr;
    };
    bool running_in_this_thread() const noexcept {
        for (const frame* one = frame::top_; one != nullptr; one = one->outer_)
            if (one->state_ == this) return true;
        return false;
    }

    // Outstanding work: as long as there is some, a callback waits for a time that never comes.
    void work_started() noexcept {
        for (std::int64_t seen = work_.load(std::memory_order_relaxed); seen > 0;)
            if (work_.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed)) return;
        std::uint64_t guard = 0;
        const auto never = [](void*, const gpo_completion*, const gpo_error*) {};
        // Refused: the runtime is shutting down, and run() returns in any case; or the executor is full.
        static_cast<void>(gpo_executor_post_at(executor, UINT64_MAX, never, nullptr, &guard));
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (work_.fetch_add(1, std::memory_order_relaxed) == 0) std::swap(guard, guard_);
        }
        drop(guard);
    }
    void work_finished() noexcept {
        for (std::int64_t seen = work_.load(std::memory_order_relaxed); seen > 1;)
            if (work_.compare_exchange_weak(seen, seen - 1, std::memory_order_release)) return;
        std::uint64_t guard = 0;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (work_.fetch_sub(1, std::memory_order_acq_rel) == 1) std::swap(guard, guard_);
        }
        drop(guard);
    }

    /// The wait has been started: the context's end will cancel it.
    void add(timer_entry& one) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        if (one.done) return;
        one.linked = true;
        one.after = timers_;
        if (timers_ != nullptr) timers_->before = &one;
        timers_ = &one;
    }
    bool done(const timer_entry& one) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        return one.done;
    }
    /// Its callback has come.
    void remove(timer_entry& one) noexcept {
        std::lock_guard<std::mutex> lock(mutex_);
        one.done = true;
        if (one.linked) unlink(one);
    }

    /// The context's end, first part: nothing begins any more.
    void close() noexcept { closing_.store(true, std::memory_order_seq_cst); }
    /// The last part: waits until no function of the context is left, but those that this thread is inside of.
    void wait() noexcept {
        std::int64_t mine = 0;
        for (frame* one = frame::top_; one != nullptr; one = one->outer_) {
            if (one->state_ != this) continue;
            one->state_ = nullptr;
            ++mine;
        }
        for (;;) {
            cancel_timers();
            if (under_way_.sum() == mine) break;
            std::uint64_t called = 0;
            gpo_status status = gpo_executor_run_for(executor, 1'000'000, &called);
            if (status == GPO_WOULD_DEADLOCK) status = gpo_executor_poll(executor, &called);  // inside a callback
            if (status == GPO_FORKED) break;  // the threads stayed in the parent
            if (called == 0 && status != GPO_TIMEOUT) std::this_thread::yield();
        }
        std::uint64_t guard = 0;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            std::swap(guard, guard_);
        }
        drop(guard);
    }

private:
    void drop(std::uint64_t guard) noexcept {
        if (guard != 0) static_cast<void>(gpo_executor_cancel(executor, guard));
    }
    void unlink(timer_entry& one) noexcept {
        one.linked = false;
        (one.before != nullptr ? one.before->after : timers_) = one.after;
        if (one.after != nullptr) one.after->before = one.before;
    }
    void cancel_timers() noexcept {
        for (;;) {
            std::uint64_t ticket = 0;
            {
                std::lock_guard<std::mutex> lock(mutex_);
                if (timers_ == nullptr) return;
                ticket = timers_->ticket;
                unlink(*timers_);
            }
            static_cast<void>(gpo_executor_cancel(executor, ticket));
        }
    }

    std::atomic<bool> closing_{false};
    std::atomic<std::int64_t> work_{0};
    std::mutex mutex_;
    std::uint64_t guard_ = 0;
    timer_entry* timers_ = nullptr;
    spread_count under_way_;
};

/// A function that the library will call once.
template <class Function, class Allocator>
class posted_function {
    using own_allocator =
        std::conditional_t<std::is_same_v<Allocator, std::allocator<void>>, thread_allocator<posted_function>,
                           typename std::allocator_traits<Allocator>::template rebind_alloc<posted_function>>;
    static own_allocator allocator_from(const Allocator& allocator) {
        if constexpr (std::is_same_v<Allocator, std::allocator<void>>)
            return own_allocator();
        else
            return own_allocator(allocator);
    }

public:
    template <class Given>
    static void post(context_state& state, const Allocator& given, Given&& function) {
        own_allocator allocator = allocator_from(given);
        posted_function* const one = allocator.allocate(1);
        try {
            new (one) posted_function(state, allocator, std::forward<Given>(function));
        } catch (...) {
            allocator.deallocate(one, 1);
            throw;
        }
        if (!state.begin()) return one->destroy();
        const gpo_status status = gpo_executor_post(state.executor, &posted_function::called, one);
        if (status == GPO_SUCCESS) return;
        one->destroy();
        state.end();
        if (status == GPO_OUT_OF_MEMORY) throw std::bad_alloc();
        if (status == GPO_WOULD_BLOCK) throw system_error(make_status(status), "gpuorch::executor_context");
    }

private:
    template <class Given>
    posted_function(context_state& state, const own_allocator& allocator, Given&& function)
        : state_(state), allocator_(allocator), function_(std::forward<Given>(function)) {}

    static void called(void* user, const gpo_completion*, const gpo_error*) {
        auto* const one = static_cast<posted_function*>(user);
        const context_state::frame inside(one->state_);
        if (one->state_.closing()) return one->destroy();
        // The memory is given back before the function runs: the function may post the next one into it.
        Function function(std::move(one->function_));
        one->destroy();
        std::move(function)();
    }
    void destroy() noexcept {
        own_allocator allocator(allocator_);
        this->~posted_function();
        allocator.deallocate(this, 1);
    }

    context_state& state_;
    const own_allocator allocator_;
    Function function_;
};

}  // namespace asio_detail

/// The executor of an executor_context. `Tracked`: while one exists, run() does not return.
template <class Allocator, bool Tracked>
class basic_context_executor {
    using blocking = net::execution::blocking_t;
    using relationship = net::execution::relationship_t;
    using outstanding_work = net::execution::outstanding_work_t;

public:
    basic_context_executor(const basic_context_executor& other) noexcept
        : basic_context_executor(other.state_, other.allocator_, other.never_) {}
    basic_context_executor(basic_context_executor&& other) noexcept
        : state_(other.state_), allocator_(std::move(other.allocator_)), never_(other.never_) {
        if constexpr (Tracked) other.state_ = nullptr;
    }
    basic_context_executor& operator=(basic_context_executor other) noexcept {
        std::swap(state_, other.state_);
        std::swap(never_, other.never_);
        allocator_ = other.allocator_;
        return *this;
    }
    ~basic_context_executor() {
        if constexpr (Tracked)
            if (state_ != nullptr) state_->work_finished();
    }

    /// Calls the function on a thread that runs the executor; at once where that may block and this is such a thread.
    template <class Function>
    void execute(Function&& function) const {
        using own = std::decay_t<Function>;
        if (!never_ && state_->running_in_this_thread()) {
            own here(std::forward<Function>(function));
            std::move(here)();
        } else {
            asio_detail::posted_function<own, Allocator>::post(*state_, allocator_, std::forward<Function>(function));
        }
    }

    bool running_in_this_thread() const noexcept { return state_->running_in_this_thread(); }

    friend bool operator==(const basic_context_executor& a, const basic_context_executor& b) noexcept {
        return a.state_ == b.state_ && a.never_ == b.never_ && a.allocator_ == b.allocator_;
    }
    friend bool operator!=(const basic_context_executor& a, const basic_context_executor& b) noexcept {
        return !(a == b);
    }

    // Asio's properties of executors.
    net::execution_context& query(net::execution::context_t) const noexcept { return state_->context; }
    static constexpr net::execution::mapping_t query(net::execution::mapping_t) noexcept {
        return net::execution::mapping.thread;
    }
    blocking query(blocking) const noexcept {
        return never_ ? blocking(net::execution::blocking.never) : blocking(net::execution::blocking.possibly);
    }
    static constexpr relationship query(relationship) noexcept { return net::execution::relationship.fork; }
    static constexpr outstanding_work query(outstanding_work) noexcept {
        if constexpr (Tracked)
            return net::execution::outstanding_work.tracked;
        else
            return net::execution::outstanding_work.untracked;
    }
    template <class Other>
    Allocator query(net::execution::allocator_t<Other>) const noexcept {
        return allocator_;
    }

    basic_context_executor require(blocking::possibly_t) const { return {state_, allocator_, false}; }
    basic_context_executor require(blocking::never_t) const { return {state_, allocator_, true}; }
    basic_context_executor require(relationship::fork_t) const { return *this; }
    basic_context_executor<Allocator, true> require(outstanding_work::tracked_t) const {
        return {state_, allocator_, never_};
    }
    basic_context_executor<Allocator, false> require(outstanding_work::untracked_t) const {
        return {state_, allocator_, never_};
    }
    template <class Other>
    basic_context_executor<Other, Tracked> require(net::execution::allocator_t<Other> with) const {
        return {state_, with.value(), never_};
    }
    basic_context_executor<std::allocator<void>, Tracked> require(net::execution::allocator_t<void>) const {
        return {state_, std::allocator<void>(), never_};
    }

private:
    friend class executor_context;
    template <class, bool>
    friend class basic_context_executor;

    basic_context_executor(asio_detail::context_state* state, const Allocator& allocator, bool never) noexcept
        : state_(state), allocator_(allocator), never_(never) {
        if constexpr (Tracked)
            if (state_ != nullptr) state_->work_started();
    }

    asio_detail::context_state* state_;
    Allocator allocator_;
    bool never_;
};

class executor_context : public net::execution_context {
public:
    using executor_type = basic_context_executor<std::allocator<void>, false>;

    /// Takes over an executor: the context's end destroys it. The library's other callbacks on it go on as before.
    explicit executor_context(gpuorch::executor own)
        : own_(std::move(own)), state_(new asio_detail::context_state(*this, own_.get())) {
        net::use_service<service>(*this).state = state_.get();
    }
    /// Makes an executor. `threads`: its own; 0: none, functions run inside run(), run_for() and poll()
    /// (GPO_EXECUTOR_CALLER). Throws gpuorch::error as gpo_executor_create fails.
    executor_context(gpo_runtime_t runtime, std::uint32_t threads) : executor_context(made(runtime, threads)) {}

    ~executor_context() {
        state_->close();
        state_->wait();
        shutdown();  // of Asio's services: destroys the handlers that they still have
        own_.reset();
        destroy();
    }

    executor_type get_executor() const noexcept { return {state_.get(), std::allocator<void>(), false}; }
    /// For callbacks of the library: gpo_stream_then and its kin.
    gpo_executor_t native_handle() const noexcept { return own_.get(); }

    /// Runs functions and callbacks on the calling thread until none is pending and no work is outstanding, and returns
    /// how many it has run. Throws gpuorch::error: GPO_WOULD_DEADLOCK inside a function of the context.
    std::uint64_t run() const { return own_.run(); }
    /// False: there is still something to wait for.
    bool run_for(std::chrono::nanoseconds time) const { return own_.run_for(time); }
    /// Runs what is due, and returns how many it has run.
    std::uint64_t poll() const { return own_.poll(); }

private:
    friend class executor_timer;

    /// Finds the context of an executor that Asio has wrapped.
    class service final : public net::execution_context::service {
    public:
        using key_type = service;
        static inline net::execution_context::id id;
        explicit service(net::execution_context& context) : net::execution_context::service(context) {}
        void shutdown() override {}
        asio_detail::context_state* state = nullptr;
    };

    static gpuorch::executor made(gpo_runtime_t runtime, std::uint32_t threads) {
        auto options = sized<gpo_executor_options>();
        options.flags = threads == 0 ? GPO_EXECUTOR_CALLER : 0;
        options.threads = threads;
        options.capacity = 1u << 24;  // a program's own tasks have no queue behind them that could wait
        options.label = "asio";
        gpo_executor_t executor = nullptr;
        check(gpo_executor_create(runtime, &options, &executor));
        return gpuorch::executor(executor);
    }

    gpuorch::executor own_;
    std::unique_ptr<asio_detail::context_state> state_;
};

/// A timer of an executor_context, by the executor's clock (gpo_executor_get_time), whose times are those of
/// std::chrono::steady_clock. Like timers of Asio it may
/// be used by one thread at a time, and its end cancels its waits.
class executor_timer {
public:
    using clock_type = std::chrono::steady_clock;
    using duration = clock_type::duration;
    using time_point = clock_type::time_point;
    using executor_type = net::any_io_executor;

    /// `executor`: of an executor_context, also wrapped (any_io_executor, strand). Throws system_error with
    /// GPO_INVALID_ARGUMENT for one of another context.
    template <class Executor, class = std::enable_if_t<net::execution::is_executor<Executor>::value>>
    explicit executor_timer(const Executor& executor)
        : executor_(executor), state_(&state_of(net::query(executor, net::execution::context))) {}
    explicit executor_timer(executor_context& context) : executor_timer(context.get_executor()) {}
    template <class Executor>
    executor_timer(const Executor& executor, duration after) : executor_timer(executor) {
        expires_after(after);
    }
    executor_timer(executor_context& context, duration after) : executor_timer(context) { expires_after(after); }
    executor_timer(executor_timer&& other) noexcept = default;
    executor_timer& operator=(executor_timer&& other) noexcept {
        cancel();
        executor_ = other.executor_;
        state_ = other.state_;
        expiry_ = other.expiry_;
        waits_.swap(other.waits_);
        return *this;
    }
    ~executor_timer() { cancel(); }

    executor_type get_executor() const noexcept { return executor_; }
    time_point expiry() const noexcept { return expiry_; }

    /// Both cancel the waits that are under way, and return how many.
    std::size_t expires_at(time_point time) {
        const std::size_t cancelled = cancel();
        expiry_ = time;
        return cancelled;
    }
    /// From now on by the executor's clock, which is virtual in deterministic mode.
    std::size_t expires_after(duration time) {
        const time_point now = this->now();
        return expires_at(time_point::max() - now < time ? time_point::max() : now + time);
    }
    /// The waits complete with error::operation_aborted, unless their time has come already. Returns how many.
    std::size_t cancel() noexcept {
        std::size_t count = 0;
        for (const auto& one : waits_)
            if (!state_->done(*one) && gpo_executor_cancel(state_->executor, one->ticket) == GPO_SUCCESS) ++count;
        waits_.clear();
        return count;
    }

    /// Completes at the expiry, at once if that has passed. Signature: void(error_code). Cancellation of any type:
    /// error::operation_aborted. Throws system_error with GPO_WOULD_BLOCK if the executor is full.
    template <class Token>
    auto async_wait(Token&& token) {
        return net::async_initiate<Token, void(error_code)>(initiation{this, executor_}, token);
    }

private:
    template <class Handler>
    class wait {
        using executor = typename net::associated_executor<Handler, net::any_io_executor>::type;
        using associated = typename net::associated_allocator<Handler>::type;

    public:
        wait(asio_detail::context_state& state, const net::any_io_executor& io, Handler&& handler)
            : state_(state), io_(io), entry_(std::allocate_shared<asio_detail::timer_entry>(
                                          asio_detail::thread_allocator<asio_detail::timer_entry>())),
              work_(net::get_associated_executor(handler, io)), handler_(std::move(handler)) {}
        static auto allocator_of(const Handler& handler) {
            if constexpr (std::is_same_v<associated, std::allocator<void>>)
                return asio_detail::thread_allocator<wait>();
            else
                return typename std::allocator_traits<associated>::template rebind_alloc<wait>(
                    net::get_associated_allocator(handler));
        }
        static wait* make(asio_detail::context_state& state, const net::any_io_executor& io, Handler&& handler) {
            auto allocator = allocator_of(handler);
            wait* const place = allocator.allocate(1);
            try {
                return new (place) wait(state, io, std::move(handler));
            } catch (...) {
                allocator.deallocate(place, 1);
                throw;
            }
        }
        const std::shared_ptr<asio_detail::timer_entry>& entry() const noexcept { return entry_; }
        static void called(void* user, const gpo_completion* completion, const gpo_error*) {
            wait* const one = static_cast<wait*>(user);
            asio_detail::context_state& state = one->state_;
            const asio_detail::context_state::frame inside(state);
            state.remove(*one->entry_);
            if (state.closing()) return static_cast<void>(one->take_handler());
            one->complete(completion->status == GPO_SUCCESS ? error_code() : net::error::operation_aborted, false);
        }
        void complete(error_code error, bool posts) {
            auto work = std::move(work_);
            const net::any_io_executor io = io_;
            net::execution_context& context = state_.context;
            const auto target = work.get_executor();
            bound call{take_handler(), error};
            if (posts || !is_of(target, context)) {
                const auto how = posts ? asio_detail::how::post : asio_detail::how::dispatch;
                return asio_detail::deliver(how, io, std::move(work), std::move(call));
            }
            // This callback is work enough, and the handler may end the context.
            work.reset();
            if (is_own(target, context)) return call();  // dispatch would do the same, with an allocation
            net::dispatch(target, std::move(call));
        }

        /// The memory is given back before the handler runs.
        Handler take_handler() {
            Handler handler(std::move(handler_));
            auto allocator = allocator_of(handler);
            this->~wait();
            allocator.deallocate(this, 1);
            return handler;
        }

    private:
        struct bound {
            Handler handler;
            error_code error;
            using allocator_type = associated;
            allocator_type get_allocator() const noexcept { return net::get_associated_allocator(handler); }
            void operator()() { std::move(handler)(error); }
        };
        /// Whether a handler's executor leads to the context.
        template <class Target>
        static bool is_of(const Target& target, net::execution_context& context) noexcept {
            if constexpr (net::can_query<Target, net::execution::context_t>::value)
                return &net::query(target, net::execution::context) == &context;
            else
                return false;
        }
        /// Whether it is the context's own, behind Asio's wrapper.
        static bool is_own(const net::any_io_executor& target, net::execution_context& context) noexcept {
            const auto* const wrapped = target.target<executor_context::executor_type>();
            return wrapped != nullptr && *wrapped == static_cast<executor_context&>(context).get_executor();
        }
        template <class Target>
        static bool is_own(const Target&, net::execution_context&) noexcept {
            return false;
        }

        asio_detail::context_state& state_;
        const net::any_io_executor io_;
        const std::shared_ptr<asio_detail::timer_entry> entry_;
        net::executor_work_guard<executor> work_;
        Handler handler_;
    };

    struct initiation {
        using executor_type = net::any_io_executor;
        executor_timer* timer;
        executor_type executor;
        executor_type get_executor() const noexcept { return executor; }

        template <class Handler>
        void operator()(Handler&& handler) {
            timer->start(std::decay_t<Handler>(std::forward<Handler>(handler)));
        }
    };

    template <class Handler>
    void start(Handler handler) {
        using own = wait<Handler>;
        asio_detail::context_state& state = *state_;
        if (waits_.size() == waits_.capacity()) forget_done();
#if defined(GPUORCH_ASIO_HAS_CANCELLATION_SLOTS)
        auto slot = net::get_associated_cancellation_slot(handler);
#endif
        own* const one = own::make(state, executor_, std::move(handler));
        const std::shared_ptr<asio_detail::timer_entry> entry = one->entry();
#if defined(GPUORCH_ASIO_HAS_CANCELLATION_SLOTS)
        try {
            if (slot.is_connected())
                slot.assign([executor = state.executor, entry](net::cancellation_type type) {
                    if (type != net::cancellation_type::none)
                        static_cast<void>(gpo_executor_cancel(executor, entry->ticket));
                });
        } catch (...) {
            static_cast<void>(one->take_handler());
            throw;
        }
#endif
        if (!state.begin()) return one->complete(net::error::operation_aborted, true);
        const asio_detail::context_state::call_scope here(state);  // the handler may end the context
        const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(expiry_.time_since_epoch()).count();
        const bool never = expiry_ == time_point::max();
        const std::uint64_t time_ns = never ? UINT64_MAX : since < 0 ? 0 : static_cast<std::uint64_t>(since);
        // Once the wait has been started, its handler may end, and with it the slot and this timer.
        waits_.push_back(entry);
        const gpo_status status = gpo_executor_post_at(state.executor, time_ns, &own::called, one, &entry->ticket);
        if (status == GPO_SUCCESS) return state.add(*entry);
        waits_.pop_back();
        state.end();
        const bool full = status == GPO_WOULD_BLOCK;
        if (!full && status != GPO_OUT_OF_MEMORY) return one->complete(make_status(status), true);
        static_cast<void>(one->take_handler());
        if (full) throw system_error(make_status(status), "gpuorch::executor_timer");
        throw std::bad_alloc();
    }

    /// Makes room for one wait more.
    void forget_done() {
        std::size_t kept = 0;
        for (auto& one : waits_)
            if (!state_->done(*one)) waits_[kept++].swap(one);
        waits_.resize(kept);
        waits_.reserve(2 * kept + 2);
    }

    time_point now() const noexcept {
        std::uint64_t now = 0;
        if (gpo_executor_get_time(state_->executor, &now) != GPO_SUCCESS) return clock_type::now();  // after a shutdown
        return time_point(std::chrono::duration_cast<duration>(std::chrono::nanoseconds(now)));
    }

    static asio_detail::context_state& state_of(net::execution_context& context) {
        if (!net::has_service<executor_context::service>(context))
            throw system_error(make_status(GPO_INVALID_ARGUMENT), "gpuorch::executor_timer");
        return *net::use_service<executor_context::service>(context).state;
    }

    executor_type executor_;
    asio_detail::context_state* state_;
    time_point expiry_{};
    std::vector<std::shared_ptr<asio_detail::timer_entry>> waits_;  // for this expiry
};

}  // namespace gpuorch

#endif
