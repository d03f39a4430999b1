// port.hpp: what all operations of a completion_port share: a queue, its descriptor in the io_context, and the
// operations under way.
//
// An operation is allocated once, with its handler's allocator, and holds a *place* of the port until its entry has
// been drained: also if it was abandoned before. There are as many places as the queue has room for entries, so that a
// notify never finds the queue full after its work was submitted.
//
// The descriptor is watched while an operation is pending, by one wait at a time. Its memory is the port's.
#ifndef GPUORCH_ASIO_PORT_HPP
#define GPUORCH_ASIO_PORT_HPP

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "../gpuorch.hpp"
#include "status.hpp"

namespace gpuorch {

/// The result of an operation.
struct completion {
    gpo_status status = GPO_CANCELLED;  // GPO_CANCELLED too where the wait was abandoned
    bool gpu_done = false;              // the GPU does not touch the work's memory any more, or never did
    std::uint64_t bytes = 0;            // of a copy that has succeeded
    std::uint64_t operation = 0;        // as in gpo_completion; of a request to an admission or a batcher: its ticket
    std::uint64_t submitted_ns = 0;     // as in gpo_completion, like all below
    std::uint64_t completed_ns = 0;
    std::int64_t gpu_ns = -1;
    std::uint64_t error_id = 0;  // for completion_port::failure
};

namespace asio_detail {

/// What an operation's work needs until its entry has come.
struct companion {
    virtual ~companion() = default;
    virtual void cancel() = 0;
    /// The entry has come. Changes what the handler gets.
    virtual void finish(error_code& error, completion& result) = 0;
};

/// What a call that starts an operation has done.
struct started {
    gpo_status status = GPO_SUCCESS;  // another one: no entry will come
    bool gpu_done = false;            // with another one: nothing was submitted
    std::uint64_t ticket = 0;         // for the cancel_function; 0: there is nothing to cancel
    std::shared_ptr<companion> with = nullptr;
};

/// How an operation under way is ended: NULL by abandoning the wait. Else the entry comes, and says whether there was
/// something to cancel. `abandoned`: it is the port's end, and no handler hears of the entry any more.
using cancel_function = void (*)(void* object, std::uint64_t ticket, bool abandoned);

enum class how { post, dispatch };

/// Calls a handler on its executor, of which `work` is. `io`: the port's executor.
template <class Executor, class Call>
void deliver(how way, const net::any_io_executor& io, net::executor_work_guard<Executor> work, Call call) {
    // A type-erased executor of handlers (any_completion_executor) can't post.
    constexpr bool posts =
        net::can_require<Executor, net::execution::blocking_t::never_t>::value || net::is_executor<Executor>::value;
    if constexpr (!posts) {
        auto then = [call = std::move(call), work = std::move(work)]() mutable {
            work.get_executor().execute(std::move(call));
        };
        if (way == how::dispatch)
            net::dispatch(io, std::move(then));
        else
            net::post(io, std::move(then));
    } else if (way == how::dispatch) {
        net::dispatch(work.get_executor(), std::move(call));
    } else {
        net::post(work.get_executor(), std::move(call));
    }
}

struct operation {
    virtual void complete(how) = 0;

    operation* next = nullptr;
    error_code error;
    completion result;

protected:
    ~operation() = default;
};

/// Memory of operations whose handlers have the standard allocator, used again and again.
class recycled_memory {
public:
    recycled_memory() noexcept = default;
    recycled_memory(const recycled_memory&) = delete;
    ~recycled_memory() {
        for (block*& first : free_)
            while (first != nullptr) ::operator delete(std::exchange(first, first->next));
    }
    void* allocate(std::size_t bytes) {
        const std::size_t size = class_of(bytes);
        if (size < kClasses) {
            std::lock_guard<std::mutex> lock(mutex_);
            if (free_[size] != nullptr) return std::exchange(free_[size], free_[size]->next);
        }
        return ::operator new((size + 1) * kStep);
    }
    void deallocate(void* memory, std::size_t bytes) noexcept {
        const std::size_t size = class_of(bytes);
        if (size >= kClasses) return ::operator delete(memory);
        std::lock_guard<std::mutex> lock(mutex_);
        free_[size] = new (memory) block{free_[size]};
    }

private:
    struct block {
        block* next;
    };
    static constexpr std::size_t kStep = 64, kClasses = 16;
    static std::size_t class_of(std::size_t bytes) noexcept { return (bytes - 1) / kStep; }

    std::mutex mutex_;
    block* free_[kClasses] = {};
};

template <class T>
struct recycling_allocator {
    using value_type = T;
    explicit recycling_allocator(recycled_memory& memory) noexcept : memory(&memory) {}
    template <class U>
    recycling_allocator(const recycling_allocator<U>& other) noexcept : memory(other.memory) {}
    T* allocate(std::size_t count) const {
        static_assert(alignof(T) <= alignof(std::max_align_t), "operator new aligns no further");
        return static_cast<T*>(memory->allocate(count * sizeof(T)));
    }
    void deallocate(T* of, std::size_t count) const noexcept { memory->deallocate(of, count * sizeof(T)); }
    recycled_memory* memory;
};

/// The allocator of an operation with this handler.
template <class T, class Handler>
auto allocator_of(const Handler& handler, recycled_memory& memory) {
    using associated = typename net::associated_allocator<Handler>::type;
    if constexpr (std::is_same_v<associated, std::allocator<void>>)
        return recycling_allocator<T>(memory);
    else
        return typename std::allocator_traits<associated>::template rebind_alloc<T>(
            net::get_associated_allocator(handler));
}

template <class Handler>
struct bound {
    Handler handler;
    error_code error;
    completion result;
    using allocator_type = typename net::associated_allocator<Handler>::type;
    allocator_type get_allocator() const noexcept { return net::get_associated_allocator(handler); }
    void operator()() { std::move(handler)(error, result); }
};

/// What operations have of their port. It outlives them.
struct operation_home {
    net::any_io_executor executor;
    recycled_memory memory;
};

template <class Handler>
class handled_operation final : public operation {
    using executor = typename net::associated_executor<Handler, net::any_io_executor>::type;

public:
    handled_operation(Handler&& handler, operation_home& home)
        : home_(home), work_(net::get_associated_executor(handler, home.executor)), handler_(std::move(handler)) {}

    static operation* make(Handler&& handler, operation_home& home) {
        auto allocator = allocator_of<handled_operation>(handler, home.memory);
        handled_operation* const place = allocator.allocate(1);
        try {
            return new (place) handled_operation(std::move(handler), home);
        } catch (...) {
            allocator.deallocate(place, 1);
            throw;
        }
    }

    void complete(how way) override {
        // The memory is given back before the handler runs: the handler may start the next operation with it.
        operation_home& home = home_;
        auto work = std::move(work_);
        bound<Handler> call{std::move(handler_), error, result};
        auto allocator = allocator_of<handled_operation>(call.handler, home.memory);
        this->~handled_operation();
        allocator.deallocate(this, 1);
        deliver(way, home.executor, std::move(work), std::move(call));
    }

private:
    operation_home& home_;
    net::executor_work_guard<executor> work_;
    Handler handler_;
};

/// Operations in the order of their entries. If a handler throws, the others are posted.
class operation_list {
public:
    operation_list() noexcept = default;
    operation_list(const operation_list&) = delete;
    ~operation_list() { complete(how::post); }
    void add(operation& one) noexcept {
        *last_ = &one;
        last_ = &one.next;
    }
    void complete(how way) {
        while (first_ != nullptr) {
            operation* const one = first_;
            first_ = one->next;
            if (first_ == nullptr) last_ = &first_;
            one->complete(way);
        }
    }

private:
    operation* first_ = nullptr;
    operation** last_ = &first_;
};

class port_state : public std::enable_shared_from_this<port_state> {
public:
    port_state(const net::any_io_executor& executor, gpo_runtime_t runtime, std::uint32_t capacity)
        : home_{executor, {}}, descriptor_(executor), capacity_(capacity == 0 ? 4096 : capacity) {
        auto options = sized<gpo_cq_options>();
        options.capacity = capacity_;
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
    ~port_state() {
        // The work of abandoned operations needs its companions until it ends, and the port will not hear of that.
        for (place& of : places_)
            if (of.with != nullptr) static_cast<void>(new std::shared_ptr<companion>(std::move(of.with)));
        ::operator delete(wait_memory_);
    }

    const completion_queue& queue() const noexcept { return queue_; }
    /// For operations. All have ended before the state does.
    operation_home& home() noexcept { return home_; }

    /// Gives an operation a place. Returns the place's number, which its entry carries; 0: there is none, and the
    /// operation was completed with the reason. `submits`: it isn't a wait for work of others.
    std::uint64_t add(operation& one, bool submits, cancel_function cancel, void* object) {
        gpo_status refused = GPO_WOULD_BLOCK;
        std::uint64_t number = 0;
        operation_list done;
        try {
            std::lock_guard<std::mutex> lock(mutex_);
            if (free_ == kNone && places_.size() == capacity_) drain(done);  // of abandoned operations
            const std::uint32_t index = closed_ != GPO_SUCCESS ? kNone : take();
            if (closed_ != GPO_SUCCESS) refused = closed_;
            if (index != kNone) {
                place& of = places_[index];
                of.of = &one;
                of.cancel = cancel;
                of.object = object;
                of.ticket = 0;
                of.cancelled = false;
                ++pending_;
                number = of.number;
                watch();
            }
        } catch (const std::bad_alloc&) {
            if (number != 0) {
                std::lock_guard<std::mutex> lock(mutex_);
                static_cast<void>(claim(*find(number)));
                number = 0;
            }
            refused = GPO_OUT_OF_MEMORY;
        }
        done.complete(how::post);
        if (number != 0) return number;
        one.error = refused == GPO_CANCELLED ? error_code(net::error::operation_aborted) : make_status(refused);
        one.result = completion();
        one.result.status = refused;
        one.result.gpu_done = submits;
        one.complete(how::post);
        return 0;
    }

    /// What the call that starts the operation has done.
    void note(std::uint64_t number, const started& what) {
        if (what.status != GPO_SUCCESS) return refuse(number, what);
        if (what.ticket == 0 && what.with == nullptr) return;
        cancellation due;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            place* const of = find(number);
            if (of == nullptr) return;
            of->ticket = what.ticket;
            of->with = what.with;
            // Another thread has called cancel() meanwhile, or it was the port's end.
            if (of->cancelled || of->of == nullptr) due = cancellation(*of);
        }
        due.run();
    }

    /// Ends an operation before its time, if it is still under way.
    void cancel(std::uint64_t number) {
        operation_list done;
        cancellation due;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            if (place* const of = find(number); of != nullptr && of->of != nullptr) due = cancel(*of, false, done);
        }
        done.complete(how::post);
        due.run();
    }

    /// Ends all. `closes`: it is the port's end, and the operations are told at once.
    void cancel_all(bool closes) {
        for (std::size_t i = 0;; ++i) {
            operation_list done;
            cancellation due;
            {
                std::lock_guard<std::mutex> lock(mutex_);
                if (closes) closed_ = GPO_CANCELLED;
                if (i >= places_.size()) return;
                if (places_[i].of != nullptr) due = cancel(places_[i], closes, done);
            }
            done.complete(how::post);
            due.run();
        }
    }

private:
    static constexpr std::uint32_t kNone = UINT32_MAX, kIndexBits = 24;
    struct place {
        std::uint64_t number = 0;  // the index, and above it how often the place was given
        operation* of = nullptr;   // NULL: free, or abandoned
        cancel_function cancel = nullptr;
        void* object = nullptr;
        std::uint64_t ticket = 0;
        std::shared_ptr<companion> with;
        bool cancelled = false;
        std::uint32_t next_free = kNone;
    };
    struct cancellation {
        cancellation() = default;
        explicit cancellation(const place& of)
            : cancel(of.cancel), object(of.object), ticket(of.ticket), abandoned(of.of == nullptr), with(of.with) {}
        void run() const {
            if (with != nullptr) with->cancel();
            if (cancel != nullptr && ticket != 0) cancel(object, ticket, abandoned);
        }
        cancel_function cancel = nullptr;
        void* object = nullptr;
        std::uint64_t ticket = 0;
        bool abandoned = false;
        std::shared_ptr<companion> with;
    };

    /// Allocates the one wait for the descriptor, again and again in the same memory.
    template <class T>
    struct wait_allocator {
        using value_type = T;
        explicit wait_allocator(port_state& state) noexcept : state(&state) {}
        template <class U>
        wait_allocator(const wait_allocator<U>& other) noexcept : state(other.state) {}
        T* allocate(std::size_t count) const {
            static_assert(alignof(T) <= alignof(std::max_align_t), "operator new aligns no further");
            const std::size_t bytes = count * sizeof(T);
            if (state->wait_memory_used_) return static_cast<T*>(::operator new(bytes));
            if (bytes > state->wait_bytes_) {
                void* const more = ::operator new(bytes);
                ::operator delete(std::exchange(state->wait_memory_, more));
                state->wait_bytes_ = bytes;
            }
            state->wait_memory_used_ = true;
            return static_cast<T*>(state->wait_memory_);
        }
        void deallocate(T* memory, std::size_t) const noexcept {
            if (memory == state->wait_memory_)
                state->wait_memory_used_ = false;
            else
                ::operator delete(memory);
        }
        template <class U>
        bool operator==(const wait_allocator<U>& other) const noexcept {
            return state == other.state;
        }
        template <class U>
        bool operator!=(const wait_allocator<U>& other) const noexcept {
            return state != other.state;
        }
        port_state* state;
    };
    struct wait_handler {
        std::shared_ptr<port_state> state;
        using allocator_type = wait_allocator<std::byte>;
        allocator_type get_allocator() const noexcept { return allocator_type(*state); }
        void operator()(const error_code&, std::size_t = 0) const { state->wake(); }
    };

    // All below: with the mutex.

    std::uint32_t take() {
        if (free_ != kNone) return std::exchange(free_, places_[free_].next_free);
        if (places_.size() == capacity_) return kNone;
        const auto index = static_cast<std::uint32_t>(places_.size());
        places_.emplace_back();
        places_.back().number = (std::uint64_t{1} << kIndexBits) | index;
        return index;
    }
    /// NULL: its entry has come.
    place* find(std::uint64_t number) noexcept {
        const std::uint64_t index = number & ((std::uint64_t{1} << kIndexBits) - 1);
        if (index >= places_.size() || places_[index].number != number) return nullptr;
        return &places_[index];
    }
    void give_back(place& of) noexcept {
        of.number += std::uint64_t{1} << kIndexBits;
        of.with = nullptr;
        of.next_free = std::exchange(free_, static_cast<std::uint32_t>(&of - places_.data()));
        --pending_;
    }
    /// Of an operation under way. What is returned is to be run without the mutex.
    cancellation cancel(place& of, bool closes, operation_list& done) {
        of.cancelled = true;
        if (closes || of.cancel == nullptr) {
            abandon(of, done);
            ended();
        }
        return cancellation(of);
    }
    /// The place stays taken until the entry comes.
    void abandon(place& of, operation_list& done) {
        operation* const one = std::exchange(of.of, nullptr);
        one->error = net::error::operation_aborted;
        one->result = completion();
        --pending_;
        done.add(*one);
    }
    /// The io_context needn't wait for nothing.
    void ended() noexcept {
        error_code ignored;
        if (pending_ == 0 && watched_) descriptor_.cancel(ignored);
    }
    void watch() {
        if (watched_) return;
        watched_ = true;
        descriptor_.async_wait(net::posix::stream_descriptor::wait_read, wait_handler{shared_from_this()});
    }

    /// The operation of an entry that has come, or never will; its place is free. NULL: it was abandoned.
    operation* claim(place& of) noexcept {
        operation* const one = std::exchange(of.of, nullptr);
        if (one == nullptr) ++pending_;  // abandon() has counted it
        give_back(of);
        return one;
    }

    void drain(operation_list& done) {
        gpo_completion entries[64];
        std::uint64_t count = 0;
        if (gpo_cq_drain(queue_, entries, sizeof entries[0], 64, &count) != GPO_SUCCESS) {
            closed_ = GPO_SHUT_DOWN;  // no entry will come any more
            for (place& of : places_)
                if (of.of != nullptr) abandon(of, done);
            return;
        }
        for (std::uint64_t i = 0; i < count; ++i) {
            const gpo_completion& entry = entries[i];
            place* const of = find(entry.user_data);
            if (of == nullptr) continue;  // an entry of somebody else
            const bool cancelled = of->cancelled;
            const std::shared_ptr<companion> with = std::move(of->with);
            operation* const one = claim(*of);
            if (one == nullptr) continue;
            completion& result = one->result;
            result.status = entry.status;
            result.gpu_done = true;
            if (entry.status != GPO_SUCCESS) result.bytes = 0;
            result.operation = entry.operation;
            result.submitted_ns = entry.submitted_ns;
            result.completed_ns = entry.completed_ns;
            result.gpu_ns = entry.gpu_ns;
            result.error_id = entry.error_id;
            if (entry.status == GPO_CANCELLED && cancelled)
                one->error = net::error::operation_aborted;
            else if (entry.status != GPO_SUCCESS)
                one->error = make_status(entry.status);
            if (with != nullptr) with->finish(one->error, result);
            done.add(*one);
        }
    }

    void refuse(std::uint64_t number, const started& what) {
        operation_list done;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            place* const of = find(number);
            if (operation* const one = of != nullptr ? claim(*of) : nullptr; one != nullptr) {
                one->error = make_status(what.status);
                one->result = completion();
                one->result.status = what.status;
                one->result.gpu_done = what.gpu_done;
                done.add(*one);
            }
            ended();
        }
        done.complete(how::post);
    }

    // Without the mutex, as refuse(): the descriptor is readable, or its wait was cancelled.
    void wake() {
        operation_list done;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            watched_ = false;
            drain(done);
            if (pending_ != 0) watch();  // before the handlers run: another thread may take the next entries
        }
        done.complete(how::dispatch);
    }

    operation_home home_;
    net::posix::stream_descriptor descriptor_;
    completion_queue queue_;
    const std::uint32_t capacity_;

    std::mutex mutex_;
    std::vector<place> places_;
    std::uint32_t free_ = kNone;
    std::uint64_t pending_ = 0;  // places with an operation
    bool watched_ = false;
    gpo_status closed_ = GPO_SUCCESS;  // else why no operation is taken any more

    // Of the wait for the descriptor.
    void* wait_memory_ = nullptr;
    std::size_t wait_bytes_ = 0;
    bool wait_memory_used_ = false;
};

/// Starts an operation: `start(queue, number)` submits its work, asks for an entry with that number, and returns
/// `started`. An initiation that runs later (deferred, co_await) keeps the port's state, not the port.
template <class Start>
struct initiation {
    using executor_type = net::any_io_executor;
    executor_type executor;
    std::shared_ptr<port_state> state;
    Start start;
    bool submits = false;  // it isn't a wait for work of others
    std::uint64_t bytes = 0;
    cancel_function cancel = nullptr;
    void* object = nullptr;
    executor_type get_executor() const noexcept { return executor; }

    template <class Handler>
    void operator()(Handler&& handler) {
        using plain = std::decay_t<Handler>;
        plain own(std::forward<Handler>(handler));
#if defined(GPUORCH_ASIO_HAS_CANCELLATION_SLOTS)
        auto slot = net::get_associated_cancellation_slot(own);
#endif
        operation* const one = handled_operation<plain>::make(std::move(own), state->home());
        one->result.bytes = bytes;
        const std::uint64_t number = state->add(*one, submits, cancel, object);
        if (number == 0) return;
        try {
#if defined(GPUORCH_ASIO_HAS_CANCELLATION_SLOTS)
            // A late call, after the operation has ended, finds nothing to cancel.
            if (slot.is_connected()) {
                std::weak_ptr<port_state> weak = state;
                slot.assign([weak, number](net::cancellation_type type) {
                    if (type == net::cancellation_type::none) return;
                    if (auto alive = weak.lock()) alive->cancel(number);
                });
            }
#endif
            state->note(number, start(state->queue().get(), number));
        } catch (const error& failure) {
            state->note(number, {failure.status(), false});
        } catch (const std::bad_alloc&) {
            state->note(number, {GPO_OUT_OF_MEMORY, false});
        } catch (...) {
            state->note(number, {GPO_CALLBACK_FAILED, false});
            throw;
        }
    }
};

}  // namespace asio_detail

/// What all groups of operations build on.
class port_base {
public:
    using executor_type = net::any_io_executor;

    executor_type get_executor() const noexcept { return executor_; }
    gpo_cq_t native_handle() const noexcept { return state_->queue().get(); }

    /// The failure of a failed operation's work: `throw port.failure(done);`. For the newest 256 failures it has the
    /// details, for others and for operations that weren't accepted the status alone.
    error failure(const completion& done) const {
        gpo_completion entry{};
        entry.status = done.status;
        entry.error_id = done.error_id;
        return state_->queue().failure(entry);
    }

    /// Cancels every pending operation, as by their cancellation slots.
    void cancel() { state_->cancel_all(false); }

protected:
    port_base(const executor_type& executor, gpo_runtime_t runtime, std::uint32_t capacity)
        : executor_(executor), state_(std::make_shared<asio_detail::port_state>(executor, runtime, capacity)) {}
    ~port_base() {
        if (state_) state_->cancel_all(true);
    }
    port_base(port_base&&) noexcept = default;
    port_base& operator=(port_base&& other) noexcept {
        if (state_) state_->cancel_all(true);
        executor_ = std::move(other.executor_);
        state_ = std::move(other.state_);
        return *this;
    }

    template <class Start>
    asio_detail::initiation<Start> operation(Start start) const {
        return {executor_, state_, std::move(start)};
    }
    const std::shared_ptr<asio_detail::port_state>& state() const noexcept { return state_; }
    template <class Initiation, class Token>
    static auto begin(Initiation one, Token&& token) {
        return net::async_initiate<Token, void(error_code, completion)>(std::move(one), token);
    }
    /// Puts work on a stream, and ends when the stream has got there. `put(stream)` returns a status, and has done
    /// nothing if that isn't GPO_SUCCESS, or throws.
    template <class Put, class Token>
    auto begin_on(gpo_stream_t stream, Put put, Token&& token, std::uint64_t bytes = 0) const {
        auto one = operation(
            [stream, put = std::move(put)](gpo_cq_t queue, std::uint64_t number) mutable -> asio_detail::started {
                const gpo_status status = put(stream);
                if (status != GPO_SUCCESS) return {status, true};
                return {gpo_stream_notify(stream, queue, number), false};
            });
        one.submits = true;
        one.bytes = bytes;
        return begin(std::move(one), std::forward<Token>(token));
    }

private:
    executor_type executor_;
    std::shared_ptr<asio_detail::port_state> state_;
};

}  // namespace gpuorch

#endif
