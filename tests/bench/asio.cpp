// asio.hpp beside the C calls that it makes: what an operation adds to them.
#include <sys/epoll.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "bench/gpu.h"
#include "bench/latency.h"
#include "bench/pairs.h"
#include "bench/raw.h"
#include "gpuorch/asio.hpp"

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
    return bench.finish();
}
