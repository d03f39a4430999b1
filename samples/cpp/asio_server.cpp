// asio_server [--serve PORT] [MEGABYTES]: a TCP server whose bytes go through a GPU, with Asio. A client sends eight
// bytes with a length, and as many bytes. They come back as the main job's kernel (stream_files.cu, beside the program)
// maps them: as their complement. A connection's bytes go from the socket into pinned memory, through the GPU and back,
// chunk by chunk: what a client doesn't take holds up what it sends. A client that goes away ends its own run alone.
// Ctrl-C waits for the connections that are there. Without --serve the program is its own clients: four of them send
// the megabytes (by default 64) over the loopback and check the CRC-32 of what comes back, through the GPU and, for
// comparison, through the same server without one.
#include <gpuorch/asio.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#define __device__ inline
#include "../stream_files.cu"  // what the kernel shares with its host: Result, Tables, multiply

namespace net = boost::asio;
namespace chunk = gpuorch::chunk;
using net::use_awaitable;
using net::ip::tcp;
using Bytes = std::vector<unsigned char>;

struct Gpu {  // pipelines, each for one connection at a time
    gpuorch::runtime runtime = gpuorch::runtime::create();
    gpuorch::device device = runtime.open_device();
    gpuorch::kernel kernel;
    Tables tables;
    std::vector<gpuorch::pipeline> idle;

    Gpu() {
        std::ifstream file(std::filesystem::read_symlink("/proc/self/exe").replace_filename("stream_files.cu"));
        kernel = device.compile(std::string(std::istreambuf_iterator<char>(file), {})).kernel("stream_files");
        for (int i = 0; i < 256; ++i) tables.map[i] = static_cast<unsigned char>(~i);
        for (int k = 0; k < 32; ++k)
            tables.powers[k] = k ? multiply(tables.powers[k - 1], tables.powers[k - 1]) : 1u << 23;
    }
    gpuorch::pipeline take() {
        if (!idle.empty()) {
            auto one = std::move(idle.back());
            idle.pop_back();
            return one;
        }
        gpuorch::pipeline_options options;
        options.result_bytes = sizeof(Result);
        options.chunk_bytes = 1 << 20;
        auto stage =
            gpuorch::kernel_stage(kernel, chunk::input, chunk::output, chunk::result, chunk::input_bytes, tables);
        return device.create_pipeline({stage.block(64).bytes_per_block(64 * 1024)}, options);
    }
};

struct Bounded {  // a socket's bytes up to a length: an AsyncReadStream
    tcp::socket& socket;
    std::uint64_t left;
    using executor_type = tcp::socket::executor_type;
    executor_type get_executor() { return socket.get_executor(); }
    template <class Token>
    auto async_read_some(net::mutable_buffer into, Token&& token) {
        return net::async_initiate<Token, void(gpuorch::error_code, std::size_t)>(
            [this, into](auto handler) {
                if (left == 0)
                    return net::post(get_executor(), [own = std::move(handler)]() mutable { own(net::error::eof, 0); });
                const auto slot = net::get_associated_cancellation_slot(handler);
                auto count = [this, own = std::move(handler)](gpuorch::error_code error, std::size_t bytes) mutable {
                    left -= bytes;
                    if (error == net::error::eof) error = net::error::connection_reset;  // before the length was there
                    own(error, bytes);
                };
                socket.async_read_some(net::buffer(into, left), net::bind_cancellation_slot(slot, std::move(count)));
            },
            token);
    }
};

static net::awaitable<void> answer(tcp::socket client, Gpu* gpu, gpuorch::completion_port* port) try {
    std::uint64_t length = 0;
    co_await net::async_read(client, net::buffer(&length, sizeof length), use_awaitable);
    Bounded input{client, length};
    if (gpu) {
        auto pipeline = gpu->take();
        co_await port->async_run(pipeline, input, client, use_awaitable);
        gpu->idle.push_back(std::move(pipeline));
    } else {
        for (Bytes some(1 << 20); input.left > 0;) {
            const auto bytes = co_await input.async_read_some(net::buffer(some), use_awaitable);
            for (std::size_t i = 0; i < bytes; ++i) some[i] = static_cast<unsigned char>(~some[i]);
            co_await net::async_write(client, net::buffer(some.data(), bytes), use_awaitable);
        }
    }
} catch (const std::exception& failure) {
    std::fprintf(stderr, "a client: %s\n", failure.what());
}

static net::awaitable<void> serve(tcp::acceptor& door, Gpu* gpu, gpuorch::completion_port* port) try {
    for (;;) {
        auto client = co_await door.async_accept(use_awaitable);
        net::co_spawn(door.get_executor(), answer(std::move(client), gpu, port), net::detached);
    }
} catch (const boost::system::system_error&) {  // the door was closed
}

static unsigned crc_of(unsigned crc, const unsigned char* bytes, std::size_t count, unsigned char flip) {
    static const auto tables = [] {
        std::vector<std::array<unsigned, 256>> made(4);
        for (unsigned i = 0; i < 256; ++i)
            for (unsigned k = 0, c = i; k < 32; made[k++ / 8][i] = c) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
        return made;
    }();
    for (; count >= 4; count -= 4, bytes += 4) {
        unsigned word = 0;
        for (unsigned i = 0; i < 4; ++i)
            word |= static_cast<unsigned>(static_cast<unsigned char>(bytes[i] ^ flip)) << 8 * i;
        const unsigned x = crc ^ word;
        crc = tables[3][x & 255] ^ tables[2][x >> 8 & 255] ^ tables[1][x >> 16 & 255] ^ tables[0][x >> 24];
    }
    for (; count > 0; --count) crc = crc >> 8 ^ tables[0][(crc ^ *bytes++ ^ flip) & 255];
    return crc;
}

static net::awaitable<void> send(tcp::socket& socket, std::uint64_t length, const Bytes& some) {
    co_await net::async_write(socket, net::buffer(&length, sizeof length), use_awaitable);
    for (std::uint64_t left = length; left > 0; left -= std::min<std::uint64_t>(left, some.size()))
        co_await net::async_write(socket, net::buffer(some, left), use_awaitable);
}
static net::awaitable<void> receive(tcp::socket& socket, std::uint64_t length, unsigned& crc) {
    Bytes back(1 << 20);
    for (std::uint64_t left = length; left > 0;) {
        const auto bytes = co_await socket.async_read_some(net::buffer(back, left), use_awaitable);
        crc = crc_of(crc, back.data(), bytes, 0);
        left -= bytes;
    }
}
static net::awaitable<void> ask(tcp::endpoint server, unsigned number, std::uint64_t length, int& right) {
    using namespace net::experimental::awaitable_operators;
    tcp::socket socket(co_await net::this_coro::executor);
    co_await socket.async_connect(server, use_awaitable);
    Bytes some(1 << 20);
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = static_cast<unsigned char>(i * (number + 3) + i / 256);
    unsigned expected = ~0u, got = ~0u;
    for (std::uint64_t left = length; left > 0; left -= std::min<std::uint64_t>(left, some.size()))
        expected = crc_of(expected, some.data(), std::min<std::uint64_t>(left, some.size()), 0xff);
    co_await (send(socket, length, some) && receive(socket, length, got));
    right += got == expected;
}

static double measure(Gpu* gpu, std::uint64_t length, int& right) {  // GB a second
    net::io_context servers, clients;
    tcp::acceptor door(servers, {net::ip::address_v4::loopback(), 0});
    std::optional<gpuorch::completion_port> port;
    if (gpu) port.emplace(servers.get_executor(), gpu->runtime);
    net::co_spawn(servers, serve(door, gpu, gpu ? &*port : nullptr), net::detached);
    std::thread thread([&] { servers.run(); });
    const auto begun = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < 4; ++i)
        net::co_spawn(clients, ask(door.local_endpoint(), i, length / 4, right), net::detached);
    clients.run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    net::post(servers, [&] { door.close(); });
    thread.join();
    return static_cast<double>(length) / took.count() / 1e9;
}

int main(int count, char** words) try {
    const bool serves = count > 2 && std::string(words[1]) == "--serve";
    Gpu gpu;
    if (!serves) {
        const std::uint64_t length = static_cast<std::uint64_t>(count > 1 ? std::atoi(words[1]) : 64) << 20;
        int right = 0;
        measure(&gpu, 4 << 20, right);  // pipelines are made
        const double with = measure(&gpu, length, right), without = measure(nullptr, length, right);
        std::printf("through the GPU %.2f GB/s, without it %.2f GB/s; %d of 12 answers are right\n", with, without,
                    right);
        return right == 12 ? 0 : 1;
    }
    net::io_context context;
    gpuorch::completion_port port(context.get_executor(), gpu.runtime);
    tcp::acceptor door(context, {net::ip::address_v4::loopback(), static_cast<unsigned short>(std::atoi(words[2]))});
    net::signal_set stop(context, SIGINT, SIGTERM);
    stop.async_wait([&](gpuorch::error_code, int) { door.close(); });
    net::co_spawn(context, serve(door, &gpu, &port), net::detached);
    std::printf("port %u\n", door.local_endpoint().port());
    std::fflush(stdout);
    context.run();
} catch (const std::exception& failure) {
    return std::fprintf(stderr, "asio_server: %s\n", failure.what()), 1;
}
