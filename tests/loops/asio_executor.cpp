// gpuorch/asio/executor.hpp: an executor of the library as one of Asio's, with threads and without: posts, strands,
// coroutines, timers, Asio's own I/O objects, what is refused, and what its end does.
#include "gpuorch/asio/executor.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "asio_program.hpp"

// clang-format off
#include NET_HEADER(co_spawn.hpp)
#include NET_HEADER(defer.hpp)
#include NET_HEADER(detached.hpp)
#include NET_HEADER(dispatch.hpp)
#include NET_HEADER(io_context.hpp)
#include NET_HEADER(local/connect_pair.hpp)
#include NET_HEADER(local/stream_protocol.hpp)
#include NET_HEADER(post.hpp)
#include NET_HEADER(prefer.hpp)
#include NET_HEADER(read.hpp)
#include NET_HEADER(steady_timer.hpp)
#include NET_HEADER(strand.hpp)
#include NET_HEADER(use_awaitable.hpp)
#include NET_HEADER(use_future.hpp)
#include NET_HEADER(write.hpp)
#if GPUORCH_ASIO_VERSION >= 102000
#include NET_HEADER(bind_cancellation_slot.hpp)
#include NET_HEADER(cancellation_signal.hpp)
#endif
#if defined(HAS_CO_AWAIT)
#include NET_HEADER(experimental/awaitable_operators.hpp)
#endif
// clang-format on

using gpuorch::error_code;
using gpuorch::executor_context;
using gpuorch::executor_timer;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

/// A runtime, and a pool with so many threads.
struct Pool {
    explicit Pool(std::uint32_t threads) : context(gpu.runtime, threads) {}
    /// Waits until nothing is pending.
    void run() { context.run(); }

    loop::Gpu gpu;
    executor_context context;
};

using Executor = executor_context::executor_type;
static_assert(net::execution::is_executor<Executor>::value);
static_assert(net::can_require<Executor, net::execution::blocking_t::never_t>::value);
static_assert(net::can_prefer<Executor, net::execution::outstanding_work_t::tracked_t>::value);
static_assert(std::is_nothrow_copy_constructible_v<Executor> && std::is_nothrow_move_constructible_v<Executor>);

void what_it_is() {
    Pool pool(2);
    const Executor executor = pool.context.get_executor();
    net::any_io_executor any = executor;
    LOOP_REQUIRE(any == net::any_io_executor(executor) && any.target<Executor>() != nullptr);
    LOOP_REQUIRE(&net::query(any, net::execution::context) == &pool.context);
    LOOP_REQUIRE(net::query(executor, net::execution::mapping) == net::execution::mapping.thread);
    LOOP_REQUIRE(net::query(executor, net::execution::blocking) == net::execution::blocking.possibly);
    const auto never = net::require(executor, net::execution::blocking.never);
    LOOP_REQUIRE(never != executor && net::query(never, net::execution::blocking) == net::execution::blocking.never);
    LOOP_REQUIRE(net::require(never, net::execution::blocking.possibly) == executor);
    LOOP_REQUIRE(!executor.running_in_this_thread());
    Pool other(0);
    LOOP_REQUIRE(other.context.get_executor() != executor);
}

void functions_on_threads() {
    for (const std::uint32_t threads : {1u, 4u}) {
        Pool pool(threads);
        std::atomic<int> came{0}, wrong{0};
        std::mutex lock;
        std::set<std::thread::id> seen;
        std::vector<int> order;
        const auto own = std::this_thread::get_id();
        std::promise<void> all;
        constexpr int kCount = 1000;
        for (int i = 0; i < kCount; ++i)
            net::post(pool.context, [&, i] {
                if (std::this_thread::get_id() == own || !pool.context.get_executor().running_in_this_thread()) ++wrong;
                {
                    std::lock_guard<std::mutex> guard(lock);
                    seen.insert(std::this_thread::get_id());
                    order.push_back(i);
                }
                if (++came == kCount) all.set_value();
            });
        all.get_future().wait();
        LOOP_REQUIRE(wrong == 0 && seen.size() <= threads);
        if (threads == 1)
            for (int i = 0; i < kCount; ++i) LOOP_REQUIRE(order[static_cast<std::size_t>(i)] == i);
    }
}

void posted_dispatched_and_deferred() {
    Pool pool(1);
    std::vector<std::string> order;
    std::promise<void> done;
    net::post(pool.context, [&] {
        net::post(pool.context, [&] {
            order.push_back("posted");
            done.set_value();
        });
        net::dispatch(pool.context, [&] { order.push_back("dispatched"); });
        order.push_back("first");
    });
    done.get_future().wait();
    LOOP_REQUIRE(order == (std::vector<std::string>{"dispatched", "first", "posted"}));

    // Outside of the context it isn't run at once.
    std::promise<std::thread::id> where;
    net::dispatch(pool.context, [&] { where.set_value(std::this_thread::get_id()); });
    LOOP_REQUIRE(where.get_future().get() != std::this_thread::get_id());
    std::promise<bool> deferred;
    net::post(pool.context, [&] {
        auto inside = std::make_shared<bool>(true);
        net::defer(pool.context, [&deferred, inside] { deferred.set_value(!*inside); });
        *inside = false;
    });
    LOOP_REQUIRE(deferred.get_future().get());
    // A future's value and its exception.
    LOOP_REQUIRE(net::post(pool.context, net::use_future([] { return 42; })).get() == 42);
    bool threw = false;
    try {
        net::post(pool.context, net::use_future([] { throw std::runtime_error("no"); })).get();
    } catch (const std::runtime_error&) {
        threw = true;
    }
    LOOP_REQUIRE(threw);
}

void run_by_the_caller() {
    Pool pool(0);
    int came = 0;
    const auto own = std::this_thread::get_id();
    LOOP_REQUIRE(pool.context.run() == 0);
    for (int i = 0; i < 3; ++i)
        net::post(pool.context, [&] {
            LOOP_REQUIRE(std::this_thread::get_id() == own);
            if (++came < 6) net::post(pool.context, [&] { ++came; });
        });
    LOOP_REQUIRE(came == 0);
    LOOP_REQUIRE(pool.context.run() == 6 && came == 6);
    net::post(pool.context, [&] { ++came; });  // without a restart
    LOOP_REQUIRE(pool.context.poll() == 1 && came == 7);

    // Outstanding work keeps run() inside, and its end lets it out, whoever has the last piece.
    {
        auto work = net::make_work_guard(pool.context);
        auto more = work;
        LOOP_REQUIRE(!pool.context.run_for(1ms));
        work.reset();
        LOOP_REQUIRE(!pool.context.run_for(1ms));
        auto moved = std::move(more);
        LOOP_REQUIRE(!pool.context.run_for(1ms));
        std::thread ends([&] {
            std::promise<void> ran;  // inside run()
            net::post(pool.context, [&] {
                ++came;
                ran.set_value();
            });
            ran.get_future().wait();
            moved.reset();
        });
        pool.context.run();
        ends.join();
        LOOP_REQUIRE(came == 8);
    }
    for (int i = 0; i < 100; ++i) {  // from none to one and back
        const auto tracked = net::require(pool.context.get_executor(), net::execution::outstanding_work.tracked);
        LOOP_REQUIRE(net::query(tracked, net::execution::outstanding_work) == net::execution::outstanding_work.tracked);
    }
    LOOP_REQUIRE(pool.context.run_for(1s));
    // Inside a function it would wait for itself.
    gpo_status status = GPO_SUCCESS;
    net::post(pool.context, [&] {
        try {
            pool.context.run();
        } catch (const gpuorch::error& failure) {
            status = failure.status();
        }
    });
    pool.context.run();
    LOOP_REQUIRE(status == GPO_WOULD_DEADLOCK);
    // Two threads run it.
    std::atomic<int> count{0};
    for (int i = 0; i < 1000; ++i) net::post(pool.context, [&] { ++count; });
    std::thread other([&] { pool.context.run(); });
    pool.context.run();
    other.join();
    LOOP_REQUIRE(count == 1000);
}

void work_that_begins_and_ends_on_many_threads() {
    Pool pool(0);
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            while (!stop) {
                auto work = net::make_work_guard(pool.context);
                auto second = work;
                work.reset();
            }
        });
    for (int i = 0; i < 50; ++i) static_cast<void>(pool.context.run_for(1ms));
    stop = true;
    for (auto& thread : threads) thread.join();
    LOOP_REQUIRE(pool.context.run_for(10s));  // nothing has been left
    auto work = net::make_work_guard(pool.context);
    LOOP_REQUIRE(!pool.context.run_for(1ms));
}

void strands() {
    Pool pool(4);
    auto strand = net::make_strand(pool.context);
    int count = 0, inside = 0;
    std::promise<void> done;
    constexpr int kEach = 2000;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < kEach; ++i)
                net::post(strand, [&] {
                    LOOP_REQUIRE(inside++ == 0 && strand.running_in_this_thread());
                    const bool last = ++count == 4 * kEach;
                    --inside;
                    if (last) done.set_value();
                });
        });
    for (auto& thread : threads) thread.join();
    done.get_future().wait();
    LOOP_REQUIRE(count == 4 * kEach);
}

void timers() {
    for (const std::uint32_t threads : {0u, 2u}) {
        Pool pool(threads);
        std::mutex lock;
        std::vector<int> order;
        std::vector<std::unique_ptr<executor_timer>> kept;
        const auto begin = Clock::now();
        for (const int ms : {20, 5, 10, 0}) {
            auto timer = std::make_unique<executor_timer>(pool.context);
            timer->expires_at(begin + std::chrono::milliseconds(ms));
            timer->async_wait([&, ms](error_code error) {
                LOOP_REQUIRE(!error && Clock::now() - begin >= std::chrono::milliseconds(ms));
                LOOP_REQUIRE(pool.context.get_executor().running_in_this_thread());
                std::lock_guard<std::mutex> guard(lock);
                order.push_back(ms);
            });
            kept.push_back(std::move(timer));
        }
        pool.run();
        if (threads != 0) std::sort(order.begin(), order.end());  // two threads may begin in order and end otherwise
        LOOP_REQUIRE(order == (std::vector<int>{0, 5, 10, 20}));
    }
}

void timers_that_change() {
    for (const std::uint32_t threads : {0u, 2u}) {
        Pool pool(threads);
        // Timers are cancelled, set anew, moved and destroyed. Some never expire, some times have passed.
        std::atomic<int> aborted{0}, expired{0};
        const auto wait = [&](error_code error) { ++(error == net::error::operation_aborted ? aborted : expired); };
        executor_timer timer(pool.context.get_executor());
        timer.expires_after(1h);
        timer.async_wait(wait);
        timer.async_wait(wait);
        LOOP_REQUIRE(timer.cancel() == 2 && timer.cancel() == 0);
        timer.async_wait(wait);
        LOOP_REQUIRE(timer.expires_at(Clock::now() - 1s) == 1);
        timer.async_wait(wait);
        pool.run();
        LOOP_REQUIRE(aborted == 3 && expired == 1 && timer.cancel() == 0);
        timer.expires_at(executor_timer::time_point::max());
        timer.async_wait(wait);
        LOOP_REQUIRE(!pool.context.run_for(2ms));
        executor_timer moved(std::move(timer));
        {
            executor_timer destroyed(pool.context, 1h);
            destroyed.async_wait(wait);
            timer = std::move(destroyed);
        }
        LOOP_REQUIRE(!pool.context.run_for(1ms) && aborted == 3);
        LOOP_REQUIRE(moved.cancel() == 1);
        executor_timer other(pool.context);
        timer = std::move(other);  // cancels what it had, though `other` lives on
        pool.run();
        LOOP_REQUIRE(aborted == 5 && expired == 1);
        std::make_unique<executor_timer>(pool.context, 1h)->async_wait(wait);
        pool.run();
        LOOP_REQUIRE(aborted-- == 6);
        LOOP_REQUIRE(aborted == 5 && expired == 1);
        timer.expires_after(0ns);
        for (int i = 0; i < 1000; ++i) timer.async_wait(wait);
        pool.run();
        LOOP_REQUIRE(expired == 1001);
        LOOP_REQUIRE(timer.expires_after(Clock::duration::max()) == 0);
        LOOP_REQUIRE(timer.expiry() == executor_timer::time_point::max());

        // An earlier time behind a later one, while all threads sleep.
        timer.expires_after(1h);
        timer.async_wait(wait);
        std::promise<void> early;
        executor_timer soon(net::any_io_executor(net::make_strand(pool.context)), 5ms);
        soon.async_wait([&](error_code error) {
            LOOP_REQUIRE(!error);
            early.set_value();
        });
        if (threads == 0)
            static_cast<void>(pool.context.run_for(30s / 1000));
        else
            LOOP_REQUIRE(early.get_future().wait_for(30s) == std::future_status::ready);
        timer.cancel();
        pool.run();
    }
    net::io_context elsewhere;
    bool refused = false;
    try {
        executor_timer timer(elsewhere.get_executor());
    } catch (const gpuorch::system_error& failure) {
        refused = failure.code() == gpuorch::make_status(GPO_INVALID_ARGUMENT);
    }
    LOOP_REQUIRE(refused);
}

/// A handler may end its timer while the call that started the wait has not returned, and its context.
void handlers_that_end_things() {
    Pool pool(2);
    std::atomic<int> came{0};
    for (int i = 0; i < 2000; ++i) {
        auto timer = std::make_shared<executor_timer>(pool.context, 0ns);
        executor_timer& of = *timer;
        of.async_wait([timer = std::move(timer), &came](error_code) { ++came; });
    }
    pool.run();
    LOOP_REQUIRE(came == 2000);
    for (const bool wrapped : {false, true}) {
        auto context = std::make_unique<executor_context>(pool.gpu.runtime, 1);
        auto timer = wrapped ? std::make_unique<executor_timer>(net::make_strand(*context), 0ns)
                             : std::make_unique<executor_timer>(*context, 0ns);
        std::promise<void> done;
        timer->async_wait([&](error_code error) {
            timer.reset();
            if (!wrapped) context.reset();
            LOOP_REQUIRE(!error);
            done.set_value();
        });
        done.get_future().wait();
    }
}

#if GPUORCH_ASIO_VERSION >= 102000
void cancelled_timers() {
    Pool pool(2);
    net::cancellation_signal signal;
    std::promise<error_code> first;
    executor_timer timer(pool.context, 1h);
    timer.async_wait(net::bind_cancellation_slot(signal.slot(), [&](error_code error) { first.set_value(error); }));
    signal.emit(net::cancellation_type::terminal);
    LOOP_REQUIRE(first.get_future().get() == net::error::operation_aborted);
    signal.emit(net::cancellation_type::terminal);  // too late
    LOOP_REQUIRE(timer.cancel() == 0);
}

/// Four threads cancel their timers at random: each handler is called once.
void many(std::uint64_t count) {
    Pool pool(2);
    std::atomic<std::uint64_t> came{0}, aborted{0};
    std::vector<std::thread> threads;
    const std::uint64_t each = count / 4;
    for (std::uint64_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            std::mt19937_64 random(t);
            struct One {
                explicit One(executor_context& context) : timer(context) {}
                executor_timer timer;
                net::cancellation_signal signal;
                std::atomic<int> called{1};
            };
            std::vector<std::unique_ptr<One>> ring;
            for (int i = 0; i < 16; ++i) ring.push_back(std::make_unique<One>(pool.context));
            for (std::uint64_t i = 0; i < each; ++i) {
                One& one = *ring[random() % ring.size()];
                if (random() % 4 == 0)
                    one.timer.cancel();
                else if (one.called.load() == 0 && random() % 2 == 0)
                    one.signal.emit(net::cancellation_type::partial);
                while (one.called.load() == 0) one.timer.cancel(), std::this_thread::yield();
                LOOP_REQUIRE(one.called.load() == 1);
                one.called = 0;
                one.timer.expires_after(std::chrono::microseconds(random() % 200));
                one.timer.async_wait(net::bind_cancellation_slot(one.signal.slot(), [&](error_code error) {
                    ++came;
                    if (error) ++aborted;
                    LOOP_REQUIRE(!error || error == net::error::operation_aborted);
                    LOOP_REQUIRE(one.called.fetch_add(1) == 0);
                }));
                if (random() % 8 == 0) net::post(pool.context, [] {});
            }
            for (auto& one : ring)
                while (one->called.load() == 0) std::this_thread::yield();
        });
    for (auto& thread : threads) thread.join();
    LOOP_REQUIRE(came == 4 * each && aborted != 0);
    pool.run();
}
#endif

void io_objects_of_asio() {
    Pool pool(2);
    using protocol = net::local::stream_protocol;
    protocol::socket a(pool.context), b(pool.context);
    net::local::connect_pair(a, b);
    std::array<char, 5> got{};
    std::promise<bool> read;
    net::async_read(b, net::buffer(got), [&](error_code error, std::size_t bytes) {
        read.set_value(!error && bytes == 5 && pool.context.get_executor().running_in_this_thread());
    });
    LOOP_REQUIRE(net::async_write(a, net::buffer("hello", 5), net::use_future).get() == 5);
    LOOP_REQUIRE(read.get_future().get() && std::string(got.data(), 5) == "hello");
    net::steady_timer timer(pool.context, 1ms);
    LOOP_REQUIRE((timer.async_wait(net::use_future).get(), true));
    // The GPU's operations, by a port whose handlers run here, and by callbacks.
    gpuorch::completion_port port(pool.context.get_executor(), pool.gpu.runtime);
    pool.gpu.work(0);
    std::promise<bool> waited, called;
    port.async_wait(pool.gpu.streams[0], [&](error_code error, gpuorch::completion done) {
        waited.set_value(!error && done.gpu_done && pool.context.get_executor().running_in_this_thread());
    });
    LOOP_REQUIRE(waited.get_future().get());
    std::set<std::thread::id> threads;
    for (int i = 0; i < 100; ++i)
        threads.insert(net::post(pool.context, net::use_future([] { return std::this_thread::get_id(); })).get());
    const gpuorch::stream_ref stream(pool.gpu.streams[0]);
    std::set<std::thread::id> callbacks;
    for (int i = 0; i < 20; ++i) {
        std::promise<std::thread::id> id;
        stream.then(pool.context.native_handle(), [&](gpo_status status) {
            LOOP_REQUIRE(status == GPO_SUCCESS);
            id.set_value(std::this_thread::get_id());
        });
        callbacks.insert(id.get_future().get());
    }
    threads.insert(callbacks.begin(), callbacks.end());
    LOOP_REQUIRE(threads.size() <= 2);  // one pool for both
}

#if defined(HAS_CO_AWAIT)
net::awaitable<int> sleeper(int ms) {
    executor_timer timer(co_await net::this_coro::executor, std::chrono::milliseconds(ms));
    co_await timer.async_wait(net::use_awaitable);
    co_return ms;
}

net::awaitable<int> race() {
    using namespace net::experimental::awaitable_operators;
    const auto first = co_await (sleeper(3'600'000) || sleeper(2));
    const auto [a, b] = co_await (sleeper(1) && sleeper(2));
    co_return static_cast<int>(first.index()) * 10 + a + b;
}

void coroutines() {
    for (const std::uint32_t threads : {0u, 1u, 3u}) {
        Pool pool(threads);
        auto future = net::co_spawn(pool.context, race(), net::use_future);
        auto on_strand = net::co_spawn(net::make_strand(pool.context), race(), net::use_future);
        if (threads == 0) pool.run();
        LOOP_REQUIRE(future.get() == 13 && on_strand.get() == 13);
    }
}
#endif

void a_function_that_throws() {
    Pool pool(1);
    std::promise<void> next;
    net::post(pool.context, [] { throw std::runtime_error("on purpose"); });
    net::post(pool.context, [&] { next.set_value(); });
    next.get_future().wait();
    pool.run();
    gpo_executor_statistics statistics{};
    statistics.struct_size = sizeof statistics;
    LOOP_CHECK(gpo_executor_get_statistics(pool.context.native_handle(), &statistics));
    LOOP_REQUIRE(statistics.threw == 1 && statistics.called == statistics.accepted);
}

/// Counts how often it is destroyed without having been called.
struct Token {
    explicit Token(std::atomic<int>& lost) : lost(&lost) {}
    Token(Token&& other) noexcept : lost(std::exchange(other.lost, nullptr)) {}
    ~Token() {
        if (lost != nullptr) ++*lost;
    }
    void called() { lost = nullptr; }
    std::atomic<int>* lost;
};

void a_full_executor() {
    loop::Gpu gpu;
    gpo_executor_options options{};
    options.struct_size = sizeof options;
    options.flags = GPO_EXECUTOR_CALLER;
    options.capacity = 2;
    gpo_executor_t executor = nullptr;
    LOOP_CHECK(gpo_executor_create(gpu.runtime, &options, &executor));
    executor_context context{gpuorch::executor(executor)};
    std::atomic<int> lost{0};
    int came = 0;
    const auto post = [&] {
        net::post(context, [&, token = Token(lost)]() mutable {
            token.called();
            ++came;
        });
    };
    post(), post();
    gpo_status refused = GPO_SUCCESS;
    try {
        post();
    } catch (const gpuorch::system_error& failure) {
        refused = failure.code().value();
    }
    LOOP_REQUIRE(refused == GPO_WOULD_BLOCK && lost == 1 && came == 0);
    LOOP_REQUIRE(context.run() == 2 && came == 2 && lost == 1);
    post();
    LOOP_REQUIRE(context.run() == 1 && came == 3);
}

/// Returns in a function of a context that has begun to end: it destroys functions without a call then.
void until_it_ends(executor_context& context) {
    const auto lost = std::make_shared<std::atomic<int>>(0);
    struct Lost {
        ~Lost() {
            if (of != nullptr) ++*of;
        }
        explicit Lost(std::shared_ptr<std::atomic<int>> of) : of(std::move(of)) {}
        Lost(Lost&&) noexcept = default;
        std::shared_ptr<std::atomic<int>> of;
    };
    while (*lost == 0) {
        net::post(context, [one = Lost(lost)] {});
        std::this_thread::yield();
    }
}

void a_context_that_ends() {
    for (const std::uint32_t threads : {0u, 2u}) {
        loop::Gpu gpu;
        std::atomic<int> lost{0}, called{0};
        std::atomic<int> entered{0};
        std::atomic<bool> left{false};
        auto context = std::make_unique<executor_context>(gpu.runtime, threads);
        if (threads != 0) {
            // Both threads are busy until the context ends.
            for (const bool first : {true, false})
                net::post(*context, [&, first, context = context.get()] {
                    ++entered;
                    until_it_ends(*context);
                    if (first) left = true;
                });
            while (entered != 2) std::this_thread::yield();
        }
        for (int i = 0; i < 10; ++i)
            net::post(*context, [&, token = Token(lost)]() mutable {
                token.called();
                ++called;
            });
        // A timer, one of Asio's, and a socket: they go with their handlers.
        auto timer = std::make_shared<executor_timer>(*context, 1h);
        auto* const waits = timer.get();
        waits->async_wait([timer = std::move(timer), token = Token(lost)](error_code) {});
        auto asios = std::make_shared<net::steady_timer>(*context, 1h);
        auto* const asio_waits = asios.get();
        asio_waits->async_wait([asios = std::move(asios), token = Token(lost)](error_code) {});
        context.reset();
        LOOP_REQUIRE(left == (threads != 0));
        LOOP_REQUIRE(lost == 12 && called == 0);
    }
    // In one of its own functions.
    loop::Gpu gpu;
    for (const std::uint32_t threads : {0u, 1u, 3u}) {
        std::atomic<int> lost{0}, called{0};
        std::promise<void> done;
        auto* const context = new executor_context(gpu.runtime, threads);
        net::post(*context, [&, context] {
            for (int i = 0; i < 10; ++i)
                net::post(*context, [&, token = Token(lost)]() mutable {
                    token.called();
                    ++called;
                });
            delete context;
            LOOP_REQUIRE(lost + called == 10);
            done.set_value();
        });
        if (threads == 0) context->poll();
        done.get_future().wait();
    }
    // With a callback of the library under way that doesn't end for now.
    gpo_timeline_t line = nullptr;
    LOOP_CHECK(gpo_timeline_create(gpu.runtime, nullptr, &line));
    const gpuorch::timeline timeline(line);
    gpo_status status = GPO_SUCCESS;
    {
        executor_context context(gpu.runtime, 0);
        timeline.then(1, context.native_handle(), [&](gpo_status result) { status = result; });
    }
    LOOP_REQUIRE(status == GPO_CANCELLED);
}

void a_wait_of_a_context_that_ends() {
    loop::Gpu gpu;
    std::atomic<int> lost{0};
    std::atomic<bool> entered{false};
    auto context = std::make_unique<executor_context>(gpu.runtime, 1);
    net::post(*context, [&, context = context.get()] {
        entered = true;
        until_it_ends(*context);
        executor_timer timer(*context, 0ns);
        timer.async_wait([token = Token(lost)](error_code) {});
        LOOP_REQUIRE(lost == 1);
    });
    while (!entered) std::this_thread::yield();
    context.reset();
    LOOP_REQUIRE(lost == 1);
}

void a_runtime_that_ends_first() {
    std::atomic<int> lost{0}, called{0};
    auto gpu = std::make_unique<loop::Gpu>();
    executor_context context(gpu->runtime, 1);
    auto work = net::make_work_guard(context);
    executor_timer timer(context, 1h);
    std::promise<error_code> told;
    timer.async_wait([&](error_code error) { told.set_value(error); });
    gpu.reset();  // does not wait for the timer, or for the work
    LOOP_REQUIRE(told.get_future().get() == net::error::operation_aborted);
    net::post(context, [&, token = Token(lost)]() mutable {
        token.called();
        ++called;
    });
    LOOP_REQUIRE(lost == 1 && called == 0);
    std::promise<error_code> late;
    timer.async_wait([token = Token(lost)](error_code) {});
    LOOP_REQUIRE(lost == 2);
}

template <class T>
struct CountingAllocator {
    using value_type = T;
    explicit CountingAllocator(std::atomic<int>* blocks) : blocks(blocks) {}
    template <class U>
    CountingAllocator(const CountingAllocator<U>& other) : blocks(other.blocks) {}
    T* allocate(std::size_t count) {
        ++*blocks;
        return static_cast<T*>(::operator new(count * sizeof(T)));
    }
    void deallocate(T* memory, std::size_t) noexcept {
        --*blocks;
        ::operator delete(memory);
    }
    template <class U>
    bool operator==(const CountingAllocator<U>& other) const {
        return blocks == other.blocks;
    }
    template <class U>
    bool operator!=(const CountingAllocator<U>& other) const {
        return blocks != other.blocks;
    }
    std::atomic<int>* blocks;
};

void memory() {
    Pool pool(0);
    struct Handler {
        using allocator_type = CountingAllocator<char>;
        allocator_type get_allocator() const noexcept { return allocator_type(blocks); }
        void operator()() { *inside = *blocks; }
        void operator()(error_code) { *inside = *blocks; }
        std::atomic<int>* blocks;
        int* inside;
    };
    std::atomic<int> blocks{0};
    int inside = -1;
    net::post(pool.context, Handler{&blocks, &inside});
    LOOP_REQUIRE(blocks == 1);
    pool.run();
    LOOP_REQUIRE(blocks == 0 && inside == 0);  // given back before the handler ran
    executor_timer timer(pool.context, 0ns);
    timer.async_wait(Handler{&blocks, &(inside = -1)});
    LOOP_REQUIRE(blocks == 1);
    pool.run();
    LOOP_REQUIRE(blocks == 0 && inside == 0);

    // In the steady state posts and waits allocate nothing.
    struct Chain {
        executor_context& context;
        executor_timer& timer;
        std::uint64_t step = 0, before = 0;
        void next() {
            if (step == 200) before = allocations;
            if (step++ == 1000) return;
            net::post(context, [this] {
                timer.expires_after(0ns);
                timer.async_wait([this](error_code) { next(); });
            });
        }
    } chain{pool.context, timer};
    chain.next();
    pool.run();
    const std::uint64_t made = allocations - chain.before;
    std::printf("%llu allocations in 800 posts and waits\n", static_cast<unsigned long long>(made));
    LOOP_REQUIRE(made < 20);
}

}  // namespace

int main(int count, char** words) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    what_it_is();
    functions_on_threads();
    posted_dispatched_and_deferred();
    run_by_the_caller();
    work_that_begins_and_ends_on_many_threads();
    strands();
    timers();
    timers_that_change();
    handlers_that_end_things();
    io_objects_of_asio();
#if defined(HAS_CO_AWAIT)
    coroutines();
    std::puts("with co_await");
#endif
    a_function_that_throws();
    a_full_executor();
    a_context_that_ends();
    a_wait_of_a_context_that_ends();
    a_runtime_that_ends_first();
    memory();
#if GPUORCH_ASIO_VERSION >= 102000
    cancelled_timers();
    many(count > 1 ? std::strtoull(words[1], nullptr, 10) : 20'000);
#else
    static_cast<void>(count), static_cast<void>(words);
#endif
    std::puts("one of Asio's executors");
    return 0;
}
