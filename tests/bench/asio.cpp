// asio.hpp beside the C calls that it makes: what an operation adds to them. An executor beside Asio's thread_pool.
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <thread>
#include <vector>

#include "bench/gpu.h"
#include "bench/latency.h"
#include "bench/pairs.h"
#include "bench/raw.h"
#include "gpuorch/asio.hpp"
#include "gpuorch/asio/executor.hpp"

using namespace gpo::bench;

namespace {

/// A queue whose descriptor an epoll of its own watches.
class Watched {
public:
    explicit Watched(Gpu& gpu) : queue(gpu.queue(4096)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
        CHECK_GPO(gpo_cq_get_fd(queue, &descriptor_));
        epoll_event event{};
        event.events = EPOLLIN;
        epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor_, &event);
    }
    Watched(const Watched&) = delete;
    ~Watched() {
        close(descriptor_);
        close(epoll_);
    }
    /// Waits for the descriptor and drains, until as many entries have come.
    void take(uint64_t entries) {
        gpo_completion out[64];
        for (uint64_t count; entries > 0; entries -= count) {
            epoll_event event;
            epoll_wait(epoll_, &event, 1, -1);
            CHECK_GPO(gpo_cq_drain(queue, out, sizeof out[0], 64, &count));
        }
    }
    const Queue queue;

private:
    int32_t descriptor_ = -1;
    const int epoll_;
};

struct Loop {
    explicit Loop(Gpu& gpu) : port(context.get_executor(), gpu.runtime) {}
    void run() {
        context.restart();
        context.run();
    }
    boost::asio::io_context context;
    gpuorch::completion_port port;
};

/// The time from a launch until the host knows its end, with one launch at a time.
void handler(Row& row) {
    Gpu gpu;
    Raw raw(gpu);
    const Stream stream = gpu.stream();
    Watched watched(gpu);
    Loop loop(gpu);
    EmptyKernel kernel(gpu, raw);
    latency_pairs(
        row, row.size(200, 20), pause_5_us,
        [&] {
            kernel.launch(stream);
            CHECK_GPO(gpo_stream_notify(stream, watched.queue, 1));
            watched.take(1);
            return now_ns();
        },
        [&] {
            double known = 0;
            kernel.launch(stream);
            loop.port.async_wait(stream, [&](gpuorch::error_code, const gpuorch::completion&) { known = now_ns(); });
            loop.run();
            return known;
        });
}

/// Launches, 64 under way at a time.
void launches(Row& row) {
    Gpu gpu;
    Raw raw(gpu);
    const Stream stream = gpu.stream();
    Watched watched(gpu);
    Loop loop(gpu);
    EmptyKernel kernel(gpu, raw);
    const int rounds = row.size(100, 5);
    const auto block = [&](auto round) {
        const double begin = now_ns();
        for (int i = 0; i < rounds; ++i) round();
        return (now_ns() - begin) / (rounds * 64);
    };
    row.pairs(
        [&] {
            return block([&] {
                for (int i = 0; i < 64; ++i) {
                    kernel.launch(stream);
                    CHECK_GPO(gpo_stream_notify(stream, watched.queue, 1));
                }
                watched.take(64);
            });
        },
        [&] {
            return block([&] {
                for (int i = 0; i < 64; ++i)
                    loop.port.async_launch(
                        stream, [&](gpuorch::stream_ref on) { kernel.launch(on); },
                        [](gpuorch::error_code, const gpuorch::completion&) {});
                loop.run();
            });
        });
}

constexpr unsigned kThreads = 8;

/// Functions that post the next one, on eight threads: how many run in a microsecond.
template <class Pool>
double chains(Pool& pool, int each) {
    constexpr int kChains = 64;
    struct Chain {
        void next() {
            if (left-- == 0) {
                running->fetch_sub(1, std::memory_order_release);
                running->notify_one();
            } else {
                boost::asio::post(*pool, [this] { next(); });
            }
        }
        Pool* pool;
        std::atomic<int>* running;
        int left;
    };
    struct alignas(64) Apart {
        Chain chain;
    };
    std::atomic<int> running{kChains};
    std::vector<Apart> all(kChains, Apart{{&pool, &running, each}});
    const double begin = now_ns();
    for (Apart& one : all) boost::asio::post(pool, [&one] { one.chain.next(); });
    for (int seen; (seen = running.load(std::memory_order_acquire)) != 0;) running.wait(seen);
    return million_per_second(static_cast<size_t>(kChains) * static_cast<size_t>(each), now_ns() - begin);
}

/// Functions that eight threads of the program post to eight others.
template <class Pool>
double from_outside(Pool& pool, int each) {
    struct alignas(64) Count {
        std::atomic<int> came{0};
    };
    std::array<Count, kThreads> counts;
    std::vector<std::thread> posters;
    const double begin = now_ns();
    for (Count& count : counts)
        posters.emplace_back([&pool, &count, each] {
            for (int i = 0; i < each; ++i) {
                // As many under way as a server has requests: not a queue without end.
                while (i - count.came.load(std::memory_order_relaxed) >= 64) std::this_thread::yield();
                boost::asio::post(pool, [&count] { count.came.fetch_add(1, std::memory_order_relaxed); });
            }
            while (count.came.load(std::memory_order_relaxed) != each) std::this_thread::yield();
        });
    for (std::thread& poster : posters) poster.join();
    return million_per_second(static_cast<size_t>(kThreads) * static_cast<size_t>(each), now_ns() - begin);
}

template <class Block>
void posts(Row& row, Block&& block) {
    Gpu gpu;
    boost::asio::thread_pool base(kThreads);
    gpuorch::executor_context ours(gpu.runtime, kThreads);
    row.pairs([&] { return block(base); }, [&] { return block(ours); });
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("asio", argc, argv);
    bench.row({.name = "asio_wait",
               .what = "from before a launch until the handler of async_wait runs",
               .base = "the same with gpo_stream_notify, the queue's descriptor in an epoll, and gpo_cq_drain",
               .target = difference_at_most(2000)},
              handler);
    bench.row({.name = "asio_launch",
               .what = "async_launch and its handler, 64 under way at a time, for each",
               .base = "a launch, gpo_stream_notify, the queue's descriptor in an epoll, and gpo_cq_drain",
               .target = difference_at_most(300)},
              launches);
    const auto counts = [](Row& row) { return row.size(4000, 50); };
    bench.row({.name = "asio_post",
               .what = "functions that post the next one, 64 chains on eight threads of an executor_context",
               .unit = "M/s",
               .base = "asio::thread_pool with eight threads",
               .target = ratio_at_least(1),
               .target_on = on_any},
              [&](Row& row) { posts(row, [each = counts(row)](auto& pool) { return chains(pool, each); }); });
    bench.row({.name = "asio_post_outside",
               .what = "empty functions that eight threads of the program post to eight threads of an executor_context",
               .unit = "M/s",
               .base = "asio::thread_pool with eight threads",
               .target = ratio_at_least(1),
               .target_on = on_any},
              [&](Row& row) { posts(row, [each = counts(row)](auto& pool) { return from_outside(pool, each); }); });
    return bench.finish();
}
