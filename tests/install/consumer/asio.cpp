// consumer.c with Asio: waits for a stream in an io_context, and prints on an executor of the library.
#include <gpuorch/asio.hpp>
#include <gpuorch/asio/executor.hpp>

#include <iostream>

#if defined(GPUORCH_ASIO_STANDALONE)
#include <asio/io_context.hpp>
#else
#include <boost/asio/io_context.hpp>
#endif

int main() {
    const auto runtime = gpuorch::runtime::create();
    const auto device = runtime.open_device();
    const auto stream = device.create_stream();
    gpuorch::net::io_context context;
    gpuorch::executor_context pool(runtime, 0);
    gpuorch::completion_port port(context.get_executor(), runtime);
    port.async_wait(stream, [&](gpuorch::error_code error, const gpuorch::completion&) {
        if (error) return;
        gpuorch::net::post(pool, [version = gpo_version()] {
            std::cout << version / 10000 << '.' << version / 100 % 100 << '.' << version % 100 << '\n';
        });
    });
    context.run();
    pool.run();
}
