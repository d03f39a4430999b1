// gpuorch/asio.hpp with the Asio of this build: callbacks, futures, coroutines, deferred operations, associated
// executors and allocators, cancellation by the port and by slots, C handles and objects; and the 10,000 completions.
#include "gpuorch/asio.hpp"

#include <chrono>
#include <memory>
#include <thread>

#include "loop.hpp"

#if defined(GPUORCH_ASIO_STANDALONE)
#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#if GPUORCH_ASIO_VERSION >= 102000
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#endif
#if GPUORCH_ASIO_VERSION >= 102400
#include <asio/deferred.hpp>
#endif
#if defined(ASIO_HAS_CO_AWAIT)
#define HAS_CO_AWAIT
#endif
#else
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#if GPUORCH_ASIO_VERSION >= 102000
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#endif
#if GPUORCH_ASIO_VERSION >= 102400
#include <boost/asio/deferred.hpp>
#endif
#if defined(BOOST_ASIO_HAS_CO_AWAIT)
#define HAS_CO_AWAIT
#endif
#endif

namespace net = gpuorch::net;

namespace {

// A stream's chain of waits by callback.
struct Chain {
    loop::Gpu& gpu;
    gpuorch::completion_port& port;
    loop::Accounts& accounts;
    std::uint64_t stream;
    void next() {
        const std::uint64_t number = gpu.submitted[stream];
        if (number == loop::kEach) return;
        gpu.work(stream);
        port.async_wait(gpu.streams[stream], [this, number](gpuorch::error_code error, gpuorch::completion done) {
            LOOP_REQUIRE(!error && done.gpu_done);
            accounts.came(stream, number, done.status);
            next();
        });
    }
};

void ten_thousand(loop::Gpu& gpu) {
    net::io_context context;
    gpuorch::completion_port port(context.get_executor(), gpu.runtime);
    loop::Accounts accounts;
    std::vector<std::unique_ptr<Chain>> chains;
    for (std::uint64_t s = 0; s < loop::kStreams; ++s) {
        chains.push_back(std::unique_ptr<Chain>(new Chain{gpu, port, accounts, s}));
        for (std::uint64_t i = 0; i < loop::kUnderWay; ++i) chains.back()->next();
    }
    context.run();  // ends when no wait is pending
    accounts.finish();
}

void future(loop::Gpu& gpu) {
    net::io_context context;
    gpuorch::completion_port port(context.get_executor(), gpu.runtime);
    auto done = port.async_wait(gpu.streams[0], net::use_future);
    std::thread runner([&] { context.run(); });
    LOOP_REQUIRE(done.get().status == GPO_SUCCESS);
    runner.join();
}

// An allocator that counts its allocations.
template <class T>
struct CountingAllocator {
    using value_type = T;
    int* live;
    int* total;
    CountingAllocator(int* l, int* t) : live(l), total(t) {}
    template <class U>
    CountingAllocator(const CountingAllocator<U>& other) : live(other.live), total(other.total) {}
    T* allocate(std::size_t n) {
        ++*live;
        ++*total;
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T* p, std::size_t n) {
        --*live;
        std::allocator<T>().deallocate(p, n);
    }
    bool operator==(const CountingAllocator& other) const { return live == other.live; }
    bool operator!=(const CountingAllocator& other) const { return live != other.live; }
};

struct AssociatedHandler {
    net::io_context* other;
    int *live, *total, *live_inside;
    bool* ran_there;
    using executor_type = net::io_context::executor_type;
    executor_type get_executor() const noexcept { return other->get_executor(); }
    using allocator_type = CountingAllocator<char>;
    allocator_type get_allocator() const noexcept { return {live, total}; }
    std::unique_ptr<int> move_only = std::make_unique<int>(3);
    void operator()(gpuorch::error_code error, gpuorch::completion) {
        *live_inside = *live;
        *ran_there = !error && *move_only == 3 && other->get_executor().running_in_this_thread();
    }
};

void associated(loop::Gpu& gpu) {
    net::io_context context, other;
    gpuorch::completion_port port(context.get_executor(), gpu.runtime);
    int live = 0, total = 0, live_inside = -1;
    bool ran_there = false;
    AssociatedHandler handler{&other, &live, &total, &live_inside, &ran_there};
    port.async_wait(gpu.streams[0], std::move(handler));
    context.run();
    LOOP_REQUIRE(!ran_there);
    other.run();
    LOOP_REQUIRE(ran_there);
    LOOP_REQUIRE(total > 0 && live == 0 && live_inside == 0);
}

void failures(loop::Gpu& gpu) {
    net::io_context context;
    gpuorch::completion_port port(context.get_executor(), gpu.runtime, 1);
    gpo_timeline_t timeline = nullptr;
    LOOP_CHECK(gpo_timeline_create(gpu.runtime, nullptr, &timeline));
    int failed = 0, full = 0;
    bool inside = true;
    port.async_wait(timeline, 7, [&](gpuorch::error_code error, gpuorch::completion done) {
        LOOP_REQUIRE(!inside && error == gpuorch::make_status(GPO_FAILED) && done.status == GPO_FAILED &&
                     done.gpu_done);
        ++failed;
    });
    port.async_wait(timeline, 8, [&](gpuorch::error_code error, gpuorch::completion) {
        LOOP_REQUIRE(!inside && error == gpuorch::make_status(GPO_WOULD_BLOCK));
        ++full;
    });
    inside = false;
    LOOP_CHECK(gpo_timeline_fail(timeline, GPO_FAILED, "on purpose"));
    context.run();
    LOOP_REQUIRE(failed == 1 && full == 1);
    LOOP_CHECK(gpo_timeline_destroy(timeline));
}

// A pipeline whose sink takes three chunks, then returns `last`.
struct Run {
    gpo_pipeline_t pipeline = nullptr;
    gpo_status last = GPO_SUCCESS;
    int taken = 0;
    char input[3 * 4096] = {};

    explicit Run(loop::Gpu& gpu) {
        gpo_stage stage{};
        stage.struct_size = sizeof stage;
        stage.kind = GPO_STAGE_CALLBACK;
        stage.enqueue = [](void*, gpo_stream_t, const gpo_chunk*) -> gpo_status { return GPO_SUCCESS; };
        gpo_pipeline_options options{};
        options.struct_size = sizeof options;
        options.stages = &stage;
        options.stage_stride = sizeof(gpo_stage);
        options.stage_count = 1;
        options.chunk_bytes = 4096;
        LOOP_CHECK(gpo_pipeline_create(gpu.device, &options, &pipeline));
    }
    ~Run() { LOOP_CHECK(gpo_pipeline_destroy(pipeline)); }
    void start() {
        gpo_source source{};
        source.struct_size = sizeof source;
        source.kind = GPO_SOURCE_MEMORY;
        source.memory = input;
        source.bytes = sizeof input;
        gpo_sink sink{};
        sink.struct_size = sizeof sink;
        sink.kind = GPO_SINK_CALLBACK;
        sink.take = [](void* user, const gpo_chunk*) -> gpo_status {
            Run& me = *static_cast<Run*>(user);
            return ++me.taken % 3 == 0 ? me.last : GPO_SUCCESS;
        };
        sink.user = this;
        LOOP_CHECK(gpo_pipeline_start(pipeline, &source, &sink));
    }
};

// Waits for an event and for runs of a pipeline, one failing. The handlers destroy the objects they waited for, wait
// for other work, and make a runtime of their own.
void events_and_pipelines(loop::Gpu& gpu) {
    net::io_context context;
    gpuorch::completion_port port(context.get_executor(), gpu.runtime);
    gpo_event_t event = nullptr;
    LOOP_CHECK(gpo_event_create(gpu.device, nullptr, &event));
    gpu.work(0);
    LOOP_CHECK(gpo_event_record(event, gpu.streams[0]));
    Run run(gpu);
    int came = 0;
    port.async_wait(event, [&](gpuorch::error_code error, gpuorch::completion done) {
        LOOP_REQUIRE(!error && done.gpu_done && done.status == GPO_SUCCESS);
        LOOP_CHECK(gpo_event_destroy(event));
        gpo_runtime_t other = nullptr;
        LOOP_CHECK(gpo_runtime_create(nullptr, &other));
        LOOP_CHECK(gpo_runtime_shutdown(other, -1));
        LOOP_CHECK(gpo_stream_wait(gpu.streams[0], -1));
        ++came;
    });
    run.start();
    port.async_wait(run.pipeline, [&](gpuorch::error_code error, gpuorch::completion done) {
        LOOP_REQUIRE(!error && done.gpu_done && done.status == GPO_SUCCESS && run.taken == 3);
        LOOP_CHECK(gpo_pipeline_wait(run.pipeline, -1, nullptr));
        run.last = GPO_FAILED;
        run.start();
        port.async_wait(run.pipeline, [&](gpuorch::error_code failure, gpuorch::completion failed) {
            LOOP_REQUIRE(failure == gpuorch::make_status(GPO_CALLBACK_FAILED) && failed.status == GPO_CALLBACK_FAILED);
            LOOP_REQUIRE(failed.gpu_done && run.taken == 6);
            ++came;
        });
        ++came;
    });
    context.run();
    LOOP_REQUIRE(came == 3);
    gpu.submitted[0] = 0;
}

void cancelled(loop::Gpu& gpu) {
    net::io_context context;
    gpo_timeline_t timeline = nullptr;
    LOOP_CHECK(gpo_timeline_create(gpu.runtime, nullptr, &timeline));
    int aborted = 0, came = 0;
    const auto count = [&](gpuorch::error_code error, gpuorch::completion done) {
        if (error == net::error::operation_aborted) {
            LOOP_REQUIRE(!done.gpu_done);
            ++aborted;
        } else {
            LOOP_REQUIRE(!error && done.gpu_done);
            ++came;
        }
    };
    {
        gpuorch::completion_port port(context.get_executor(), gpu.runtime);
        port.async_wait(timeline, 1, count);
        port.cancel();
        context.run();
        LOOP_REQUIRE(aborted == 1 && came == 0);
        context.restart();
        // The port goes on: the abandoned entry is drained and forgotten.
        LOOP_CHECK(gpo_timeline_signal(timeline, 1));
        port.async_wait(gpu.streams[0], count);
        context.run();
        LOOP_REQUIRE(aborted == 1 && came == 1);
        context.restart();
        port.async_wait(timeline, 2, count);
    }
    context.run();
    LOOP_REQUIRE(aborted == 2);
#if defined(GPUORCH_ASIO_HAS_CANCELLATION_SLOTS)
    context.restart();
    {
        gpuorch::completion_port port(context.get_executor(), gpu.runtime);
        net::cancellation_signal one, two;
        port.async_wait(timeline, 2, net::bind_cancellation_slot(one.slot(), count));
        port.async_wait(timeline, 3, net::bind_cancellation_slot(two.slot(), count));
        net::post(context, [&] { one.emit(net::cancellation_type::terminal); });
        while (aborted == 2) context.run_one();
        LOOP_REQUIRE(aborted == 3 && came == 1);
        LOOP_CHECK(gpo_timeline_signal(timeline, 3));
        context.run();
        LOOP_REQUIRE(aborted == 3 && came == 2);
        two.emit(net::cancellation_type::terminal);  // too late: nothing happens
    }
    context.run();
    LOOP_REQUIRE(aborted == 3 && came == 2);
#endif
    LOOP_CHECK(gpo_timeline_destroy(timeline));
}

// Objects of gpuorch.hpp in place of handles, and the details of a failure.
void objects() {
    net::io_context context;
    const auto runtime = gpuorch::runtime::create();
    const auto device = runtime.open_device();
    const auto stream = device.create_stream();
    const auto event = device.create_event();
    const auto timeline = runtime.create_timeline();
    auto pipeline = device.create_pipeline({gpuorch::callback_stage([](gpuorch::stream_ref, const gpo_chunk&) {})});
    char bytes[100] = {};
    pipeline.start(gpuorch::from_memory(bytes), gpuorch::to_nothing());
    gpuorch::completion_port port(context.get_executor(), runtime);
    int came = 0;
    const auto count = [&](gpuorch::error_code error, gpuorch::completion done) { came += !error && done.gpu_done; };
    event.record(stream);
    port.async_wait(stream, count);
    port.async_wait(gpuorch::stream_ref(stream.get()), count);
    port.async_wait(event, count);
    port.async_wait(pipeline, count);
    port.async_wait(timeline, 3, [&](gpuorch::error_code error, gpuorch::completion done) {
        LOOP_REQUIRE(error == gpuorch::make_status(GPO_FAILED));
        const gpuorch::error failure = port.failure(done);
        LOOP_REQUIRE(failure.status() == GPO_FAILED && std::strstr(failure.what(), "on purpose") != nullptr);
        done.error_id = 0;
        LOOP_REQUIRE(port.failure(done).status() == GPO_FAILED);
        ++came;
    });
    timeline.fail(GPO_FAILED, "on purpose");
    context.run();
    LOOP_REQUIRE(came == 5);
    pipeline.wait();
    try {
        gpuorch::completion_port none(context.get_executor(), gpuorch::runtime().get());
        LOOP_REQUIRE(false);
    } catch (const gpuorch::system_error& error) {
        LOOP_REQUIRE(error.code() == gpuorch::make_status(GPO_INVALID_HANDLE));
    }
}

void several_threads(loop::Gpu& gpu) {
    net::io_context context;
    gpuorch::completion_port port(context.get_executor(), gpu.runtime);
    std::atomic<int> came{0};
    std::vector<std::thread> threads;
    for (std::uint64_t s = 0; s < loop::kStreams; ++s)
        threads.emplace_back([&, s] {
            for (int i = 0; i < 200; ++i)
                port.async_wait(gpu.streams[s],
                                [&](gpuorch::error_code error, gpuorch::completion) { came += !error; });
            while (came < 800) context.run_for(std::chrono::milliseconds(1)), context.restart();
        });
    for (auto& thread : threads) thread.join();
    LOOP_REQUIRE(came == 800);
}

#if GPUORCH_ASIO_VERSION >= 102400
void deferred(loop::Gpu& gpu) {
    net::io_context context;
    gpuorch::completion_port port(context.get_executor(), gpu.runtime);
    auto later = port.async_wait(gpu.streams[0], net::deferred);
    int came = 0;
    std::move(later)([&](gpuorch::error_code error, gpuorch::completion) { came += !error; });
    context.run();
    LOOP_REQUIRE(came == 1);
}
#endif

#if defined(HAS_CO_AWAIT)
net::awaitable<void> coroutine(loop::Gpu& gpu, gpuorch::completion_port& port, int& came) {
    for (int i = 0; i < 100; ++i) {
        const gpuorch::completion done = co_await port.async_wait(gpu.streams[0], net::use_awaitable);
        came += done.status == GPO_SUCCESS;
    }
    gpo_timeline_t timeline = nullptr;
    LOOP_CHECK(gpo_timeline_create(gpu.runtime, nullptr, &timeline));
    LOOP_CHECK(gpo_timeline_fail(timeline, GPO_FAILED, nullptr));
    try {
        co_await port.async_wait(timeline, 1, net::use_awaitable);
    } catch (const gpuorch::system_error& error) {
        came += error.code() == gpuorch::make_status(GPO_FAILED);
    }
    LOOP_CHECK(gpo_timeline_destroy(timeline));
}

void coroutines(loop::Gpu& gpu) {
    net::io_context context;
    gpuorch::completion_port port(context.get_executor(), gpu.runtime);
    int came = 0;
    net::co_spawn(context, coroutine(gpu, port, came), net::detached);
    context.run();
    LOOP_REQUIRE(came == 101);
}
#endif

}  // namespace

int main() {
    loop::Gpu gpu;
    std::printf("Asio %d.%d\n", GPUORCH_ASIO_VERSION / 100000, GPUORCH_ASIO_VERSION / 100 % 1000);
    future(gpu);
    associated(gpu);
    failures(gpu);
    events_and_pipelines(gpu);
    cancelled(gpu);
    objects();
    several_threads(gpu);
#if GPUORCH_ASIO_VERSION >= 102400
    deferred(gpu);
#endif
#if defined(HAS_CO_AWAIT)
    coroutines(gpu);
    std::puts("with co_await");
#endif
    ten_thousand(gpu);
    return 0;
}
