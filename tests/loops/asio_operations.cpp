// The operations of gpuorch/asio.hpp: each with its result, with every kind of completion token, cancelled, failing,
// from several threads, and without an allocation.
#include "gpuorch/asio.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "asio_program.hpp"

// clang-format off
#include NET_HEADER(co_spawn.hpp)
#include NET_HEADER(detached.hpp)
#include NET_HEADER(io_context.hpp)
#include NET_HEADER(local/connect_pair.hpp)
#include NET_HEADER(local/stream_protocol.hpp)
#include NET_HEADER(posix/stream_descriptor.hpp)
#include NET_HEADER(redirect_error.hpp)
#include NET_HEADER(strand.hpp)
#include NET_HEADER(steady_timer.hpp)
#include NET_HEADER(use_awaitable.hpp)
#include NET_HEADER(use_future.hpp)
#include NET_HEADER(write.hpp)
#if GPUORCH_ASIO_VERSION >= 102000
#include NET_HEADER(bind_cancellation_slot.hpp)
#include NET_HEADER(cancellation_signal.hpp)
#endif
#if GPUORCH_ASIO_VERSION >= 102400
#include NET_HEADER(any_completion_handler.hpp)
#include NET_HEADER(as_tuple.hpp)
#include NET_HEADER(bind_allocator.hpp)
#include NET_HEADER(deferred.hpp)
#include NET_HEADER(experimental/channel.hpp)
#include NET_HEADER(experimental/parallel_group.hpp)
#endif
#if defined(HAS_CO_AWAIT)
#include NET_HEADER(experimental/awaitable_operators.hpp)
#endif
// clang-format on

using gpuorch::completion;
using gpuorch::error_code;

namespace {

const char* const kAdd = R"(
extern "C" __global__ void add(unsigned* to, const unsigned* from, unsigned long long count, unsigned what) {
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < count;
         i += (unsigned long long)gridDim.x * blockDim.x)
        to[i] = from[i] + what;
}
)";
constexpr std::uint64_t kWords = 1000, kBytes = kWords * sizeof(std::uint32_t);
using Words = std::vector<std::uint32_t>;

Words counted(std::uint32_t first) {
    Words out(kWords);
    std::iota(out.begin(), out.end(), first);
    return out;
}

gpuorch::launch one_block() {
    gpuorch::launch how;
    how.grid[0] = how.grid[1] = how.grid[2] = 1;
    how.block[0] = 64;
    how.block[1] = how.block[2] = 1;
    return how;
}

/// A device with a stream, three buffers and a kernel, and an io_context with a port.
struct Fixture {
    explicit Fixture(std::uint32_t capacity = 0) : port(context.get_executor(), runtime, capacity) {
        device = runtime.open_device();
        stream = device.create_stream();
        event = device.create_event();
        for (auto& one : words) one = device.allocate<std::uint32_t>(kWords);
        module = device.compile(kAdd);
        add = module.kernel("add");
    }
    std::tuple<gpuorch::device_ptr<std::uint32_t>, gpuorch::device_ptr<std::uint32_t>, unsigned long long, unsigned>
    arguments(int to, int from, unsigned what) {
        return gpuorch::kernel_arguments(words[to], words[from], static_cast<unsigned long long>(kWords), what);
    }
    void run() {
        context.restart();
        context.run();
    }

    gpuorch::runtime runtime = gpuorch::runtime::create();
    gpuorch::device device;
    gpuorch::stream stream;
    gpuorch::event event;
    gpuorch::buffer<std::uint32_t> words[3];
    gpuorch::module module;
    gpuorch::kernel add;
    net::io_context context;
    gpuorch::completion_port port;
};

gpuorch::collective sum_of_words() {
    gpuorch::collective sum;
    sum.kind = GPO_COLLECTIVE_ALL_REDUCE;
    sum.type = GPO_TYPE_UINT32;
    sum.reduction = GPO_REDUCE_SUM;
    sum.count = kWords;
    return sum;
}

/// From the first words into the second ones.
gpo_rank_part own_part(Fixture& f) {
    auto part = gpuorch::sized<gpo_rank_part>();
    part.stream = f.stream;
    part.send = f.words[0].get().address();
    part.receive = f.words[1].get().address();
    return part;
}

// --- what each operation does ---

void copies_and_launches() {
    Fixture f;
    const Words in = counted(5);
    Words out(kWords), rest(10);
    int came = 0;
    const auto good = [&](std::uint64_t bytes) {
        return [&came, bytes](error_code error, const completion& done) {
            LOOP_REQUIRE(!error && done.status == GPO_SUCCESS && done.gpu_done && done.bytes == bytes);
            ++came;
        };
    };
    const std::array<net::const_buffer, 2> parts{net::buffer(in.data(), 400),
                                                 net::buffer(in.data() + 100, kBytes - 400)};
    f.port.async_copy(f.stream, f.words[0], parts, good(kBytes));
    f.port.async_copy(f.stream, f.words[1].get(), f.words[0].get(), kBytes, good(kBytes));
    f.port.async_launch(f.stream, f.add, one_block(), f.arguments(2, 1, 7), good(0));
    f.port.async_launch(
        f.stream, [&](gpuorch::stream_ref on) { on.copy_on_device(f.words[0].get(), f.words[2].get(), kWords); },
        good(0));
    const std::array<net::mutable_buffer, 2> to{net::buffer(out), net::buffer(rest.data(), 0)};
    f.port.async_copy(f.stream, to, f.words[0].get().address(), good(kBytes));
    f.port.async_copy(f.stream, net::buffer(rest), f.words[0].get() + 990, good(40));
    f.run();
    LOOP_REQUIRE(came == 6);
    for (std::size_t i = 0; i < kWords; ++i) LOOP_REQUIRE(out[i] == in[i] + 7);
    for (std::size_t i = 0; i < 10; ++i) LOOP_REQUIRE(rest[i] == in[990 + i] + 7);
}

void graphs_templates_and_buckets() {
    Fixture f;
    const auto recorded = f.device.create_graph_template();
    recorded.record(f.stream, [&](gpuorch::recording into) {
        f.add.launch(f.stream, {1}, {64}, f.words[1], f.words[0], static_cast<unsigned long long>(kWords), 1u);
        into.argument("what", 3);
    });
    const auto graph = recorded.create_graph();
    std::vector<std::uint64_t> shapes{500, kWords};
    const auto buckets = f.device.create_buckets(shapes, [&](gpuorch::stream_ref on, const gpuorch::bucket_work& work) {
        f.add.launch(on, {1}, {64}, f.words[2], f.words[1], static_cast<unsigned long long>(work.shape()),
                     work.value("what", 2u));
        work.argument("what", 3);
    });
    const Words in = counted(1);
    Words out(kWords);
    int came = 0;
    const auto good = [&](error_code error, const completion& done) {
        LOOP_REQUIRE(!error && done.gpu_done);
        ++came;
    };
    f.port.async_copy(f.stream, f.words[0], net::buffer(in), good);
    f.port.async_launch(f.stream, graph, good);
    f.port.async_launch(f.stream, recorded, good);
    f.port.async_launch(f.stream, recorded, std::make_tuple(gpuorch::setting("what", 10u)), good);
    f.port.async_launch(f.stream, buckets, kWords, std::make_tuple(gpuorch::setting("what", 100u)), good);
    f.port.async_copy(f.stream, net::buffer(out), f.words[2], good);
    f.run();
    LOOP_REQUIRE(came == 6);
    for (std::size_t i = 0; i < kWords; ++i) LOOP_REQUIRE(out[i] == in[i] + 110);
}

void requests() {
    Fixture f;
    gpuorch::admission_options two;
    two.count = 2;
    const auto admission = f.runtime.create_admission(two);
    gpuorch::admission_request place;
    std::vector<std::uint64_t> tickets;
    const auto admitted = [&](error_code error, const completion& done) {
        LOOP_REQUIRE(!error && done.operation != 0);
        tickets.push_back(done.operation);
    };
    f.port.async_enter(admission, place, admitted);
    f.port.async_enter(admission, place, admitted);
    f.run();
    LOOP_REQUIRE(tickets.size() == 2);
    f.port.async_enter(admission, place, admitted);
    f.context.restart();
    f.context.poll();
    LOOP_REQUIRE(tickets.size() == 2);
    admission.leave(tickets[0]);
    f.run();
    LOOP_REQUIRE(tickets.size() == 3);
    place.count = 3;
    bool large = false;
    f.port.async_enter(admission, place, [&](error_code error, const completion& done) {
        large = error == gpuorch::make_status(GPO_LIMIT_EXCEEDED) && done.gpu_done;
    });
    LOOP_REQUIRE(!large);  // never in the call
    f.run();
    LOOP_REQUIRE(large);

    auto batcher = gpuorch::batcher::create({f.device});
    gpuorch::batcher_key_options rows;
    rows.layout = GPO_BATCH_ROWS;
    rows.input_bytes = rows.output_bytes = 16;
    const auto key = batcher.add_key(rows, [](gpuorch::stream_ref on, const gpo_batch& batch) {
        gpuorch::check(gpo_copy_on_device(on, batch.output, batch.input, batch.elements * 16));
    });
    const std::array<std::uint32_t, 4> in{1, 2, 3, 4};
    std::array<std::uint32_t, 4> out{};
    gpuorch::batcher_request request;
    request.key = key;
    request.input = in.data();
    request.output = out.data();
    bool answered = false;
    f.port.async_submit(batcher, request, [&](error_code error, const completion& done) {
        answered = !error && done.operation != 0 && out == in;
    });
    f.run();
    LOOP_REQUIRE(answered);
    request.key = 9;
    bool unknown = false;
    f.port.async_submit(batcher, request, [&](error_code error, const completion&) {
        unknown = error == gpuorch::make_status(GPO_NOT_FOUND);
    });
    f.run();
    LOOP_REQUIRE(unknown);
}

const char* const kServe = R"(
#include <gpuorch/device/queue.cuh>
struct request { unsigned status, rest[3]; };
extern "C" __global__ void serve(gpo::host_ring requests) {
    __shared__ gpo::dispatch_memory memory;
    const auto idle = gpo::nanoseconds(60000000000);
    if (blockIdx.x == 0) {
        gpo::dispatch(requests, memory, idle);
    } else {
        gpo::host_task<request> next;
        for (int status; (status = gpo::pop(requests.tasks, next, idle)) == gpo::queue_success ||
                         status == gpo::queue_would_block;)
            if (status == gpo::queue_success) gpo::answer(requests, next.ticket, next.task.status);
    }
}
)";
struct RingTask {
    std::uint32_t status, rest[3];
};

/// A resident kernel answers tasks of a host ring.
void tasks_of_a_ring() {
    Fixture f;
    gpuorch::stream_options resident;
    resident.flags = GPO_STREAM_RESIDENT;
    const auto stream = f.device.create_stream(resident);
    const auto server = f.device.compile(kServe).kernel("serve");
    gpuorch::queue_options options;
    options.kind = GPO_QUEUE_HOST_RING;
    options.capacity = 64;
    options.task_size = sizeof(RingTask);
    options.stream = stream;
    const auto ring = f.device.create_queue(options);
    gpuorch::tenant_options tenant;
    tenant.limit = 8;
    tenant.completions = f.port.native_handle();
    ring.set_tenant(0, tenant);
    int good = 0, failed = 0, full = 0;
    const auto count = [&](error_code error, const completion& done) {
        good += !error && done.gpu_done;
        failed += error == gpuorch::make_status(GPO_FAILED);
        full += error == gpuorch::make_status(GPO_WOULD_BLOCK);
    };
    // The kernel doesn't run yet: the tenant's eight places are taken.
    for (std::uint32_t i = 0; i < 9; ++i)
        f.port.async_post(ring, 0, RingTask{i == 3 ? static_cast<std::uint32_t>(GPO_FAILED) : 0u, {}}, count);
    server.launch(stream, {2}, {64}, ring.host_ring());
    f.run();
    LOOP_REQUIRE(good == 7 && failed == 1 && full == 1);
    ring.close();
    stream.wait();
    f.port.async_post(ring, 0, RingTask{}, [&](error_code error, const completion&) {
        good += error == gpuorch::make_status(GPO_INVALID_STATE);
    });
    f.run();
    LOOP_REQUIRE(good == 8);
}

void modules_and_groups() {
    Fixture f;
    int came = 0;
    f.port.async_compile(f.device, kAdd, gpuorch::compile_options(),
                         [&](error_code error, gpuorch::made<gpuorch::module> made) {
                             LOOP_REQUIRE(!error && made.message.empty());
                             const auto add = made.object.kernel("add");
                             ++came;
                         });
    f.port.async_compile(f.device, "this is no C++", gpuorch::compile_options(),
                         [&](error_code error, gpuorch::made<gpuorch::module> made) {
                             LOOP_REQUIRE(error == gpuorch::make_status(GPO_COMPILE_FAILED) && !made.object);
                             LOOP_REQUIRE(!made.message.empty() && !made.log.empty());
                             ++came;
                         });
    LOOP_REQUIRE(came == 0);
    f.run();
    LOOP_REQUIRE(came == 2);
    gpuorch::join_options join;
    join.by = 99;
    f.port.async_join(f.device, join, [&](error_code error, const gpuorch::made<gpuorch::peers>& made) {
        LOOP_REQUIRE(error == gpuorch::make_status(GPO_INVALID_ARGUMENT) && !made.object && !made.message.empty());
        ++came;
    });
    f.run();
    LOOP_REQUIRE(came == 3);

    const auto group = gpuorch::peers::create({f.device});
    const gpuorch::collective sum = sum_of_words();
    const gpo_rank_part part = own_part(f);
    const Words in = counted(11);
    Words out(kWords);
    f.port.async_copy(f.stream, f.words[0], net::buffer(in), net::detached);
    f.port.async_submit(group, sum, std::vector<gpo_rank_part>{part}, [&](error_code error, const completion& done) {
        LOOP_REQUIRE(!error && done.gpu_done);
        ++came;
    });
    f.port.async_copy(f.stream, net::buffer(out), f.words[1], net::detached);
    f.run();
    LOOP_REQUIRE(came == 4 && out == in);
    for (std::vector<gpo_rank_part> wrong : {std::vector<gpo_rank_part>{}, std::vector<gpo_rank_part>{part, part}})
        f.port.async_submit(group, sum, wrong, [&](error_code error, const completion& done) {
            LOOP_REQUIRE(error == gpuorch::make_status(GPO_INVALID_ARGUMENT) && done.gpu_done);
            ++came;
        });
    f.run();
    LOOP_REQUIRE(came == 6);
}

// Memory runs out at each allocation of a collective's submission in turn: the handler hears of it, or the call throws.
// Nothing is lost: the next submission takes the memory of earlier ones, and its handler is called.
void collectives_without_memory() {
    Fixture f;
    const auto group = gpuorch::peers::create({f.device});
    const gpuorch::collective sum = sum_of_words();
    const gpo_rank_part part = own_part(f);
    // Returns how often the thread allocated, and counts the handler's calls.
    int succeeded = 0, failed = 0;
    const auto submit = [&](std::int64_t failing_after) {
        const auto token = std::make_shared<int>();
        std::vector<gpo_rank_part> parts{part};
        bool threw = false;
        const std::uint64_t before = own_allocations;
        const int heard = succeeded + failed;
        try {
            auto handler = [&, token](error_code error, const completion&) { ++(error ? failed : succeeded); };
            until_failure = failing_after;
            f.port.async_submit(group, sum, std::move(parts), std::move(handler));
        } catch (const std::bad_alloc&) {
            threw = true;
        }
        until_failure = -1;
        const std::uint64_t made = own_allocations - before;
        f.run();
        LOOP_REQUIRE(succeeded + failed == heard + (threw ? 0 : 1));
        LOOP_REQUIRE(token.use_count() == 1);
        return made;
    };
    for (int i = 0; i < 4; ++i) submit(-1);
    const std::uint64_t usual = submit(-1);
    LOOP_REQUIRE(usual > 0 && succeeded == 5);
    for (std::uint64_t i = 0; i <= usual; ++i) {
        submit(static_cast<std::int64_t>(i));
        LOOP_REQUIRE(submit(-1) <= usual);
    }
    std::printf("%llu allocations of a collective failed in turn\n", static_cast<unsigned long long>(usual));
}

// --- pipelines, with streams of Asio ---

using local_socket = net::local::stream_protocol::socket;

/// A pipeline that adds 1 to each byte, chunk by chunk, and its sockets: what the test's ends write and read.
struct Streamed {
    explicit Streamed(Fixture& f) : bytes(f.device.compile(kAddBytes)), add(bytes.kernel("add_bytes")) {
        gpuorch::pipeline_options options;
        options.chunk_bytes = 64 << 10;
        pipeline = f.device.create_pipeline(
            {gpuorch::kernel_stage(add, gpuorch::chunk::input, gpuorch::chunk::output, gpuorch::chunk::input_bytes)},
            options);
        net::local::connect_pair(source, feeds);
        net::local::connect_pair(sink, takes);
    }
    static constexpr const char* kAddBytes = R"(
extern "C" __global__ void add_bytes(const unsigned char* from, unsigned char* to, unsigned long long count) {
    const unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    if (i < count) to[i] = from[i] + 1;
}
)";
    gpuorch::module bytes;
    gpuorch::kernel add;
    gpuorch::pipeline pipeline;
    net::io_context others;   // of the test's ends
    net::io_context context;  // of the run's
    local_socket source{context}, sink{context}, feeds{others}, takes{others};
};

void streams_through_a_pipeline() {
    Fixture f;
    Streamed s(f);
    gpuorch::completion_port port(s.context.get_executor(), f.runtime);
    std::vector<unsigned char> in(300'001), out;
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i * 7 + i / 1000);
    std::thread feeder([&] {
        net::write(s.feeds, net::buffer(in));
        s.feeds.close();
    });
    std::thread taker([&] {
        std::vector<unsigned char> some(7000);
        for (error_code error; !error;) {
            const std::size_t got = s.takes.read_some(net::buffer(some), error);
            out.insert(out.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(got));
        }
    });
    int came = 0;
    port.async_run(s.pipeline, s.source, s.sink, [&](error_code error, const completion& done) {
        LOOP_REQUIRE(!error && done.bytes == in.size());
        s.sink.close();
        ++came;
    });
    s.context.run();
    feeder.join();
    taker.join();
    LOOP_REQUIRE(came == 1 && out.size() == in.size());
    for (std::size_t i = 0; i < in.size(); ++i) LOOP_REQUIRE(out[i] == static_cast<unsigned char>(in[i] + 1));
    // Structs of the library, alone and beside a stream.
    std::vector<unsigned char> again(in.size());
    auto from = gpuorch::sized<gpo_source>();
    from.kind = GPO_SOURCE_MEMORY;
    from.memory = in.data();
    from.bytes = in.size();
    auto to = gpuorch::sized<gpo_sink>();
    to.kind = GPO_SINK_MEMORY;
    to.memory = again.data();
    to.bytes = again.size();
    port.async_run(s.pipeline, from, to, [&](error_code error, const completion&) { came += !error; });
    s.context.restart();
    s.context.run();
    LOOP_REQUIRE(came == 2 && again == out);
    port.async_run(s.pipeline, from, s.feeds, [&](error_code error, const completion& done) {
        LOOP_REQUIRE(error == net::error::bad_descriptor && done.status == GPO_CALLBACK_FAILED);  // it was closed
        ++came;
    });
    std::thread other([&] {
        const auto busy = net::make_work_guard(s.others);
        s.others.run_for(std::chrono::seconds(30));
    });
    s.context.restart();
    s.context.run();
    s.others.stop();
    other.join();
    LOOP_REQUIRE(came == 3);
}

void pipes_through_a_pipeline() {
    Fixture f;
    Streamed s(f);
    gpuorch::completion_port port(s.context.get_executor(), f.runtime);
    int in[2], out[2];
    LOOP_REQUIRE(::pipe(in) == 0 && ::pipe(out) == 0);
    net::posix::stream_descriptor source(s.context, in[0]), sink(s.context, out[1]);
    net::posix::stream_descriptor feeds(s.others, in[1]), takes(s.others, out[0]);
    net::write(feeds, net::buffer("HAL", 3));
    feeds.close();
    int came = 0;
    port.async_run(s.pipeline, source, sink, [&](error_code error, const completion& done) {
        LOOP_REQUIRE(!error && done.bytes == 3);
        ++came;
    });
    s.context.run();
    std::array<char, 8> got{};
    LOOP_REQUIRE(came == 1 && takes.read_some(net::buffer(got)) == 3 && std::string(got.data()) == "IBM");
}

/// A source that resets in the middle of a chunk.
void a_source_that_resets() {
    Fixture f;
    Streamed s(f);
    gpuorch::completion_port port(s.context.get_executor(), f.runtime);
    net::write(s.source, net::buffer("unread", 6));  // a socket that is closed with unread bytes resets its peer
    net::write(s.feeds, net::buffer("half of a chunk", 15));
    s.feeds.close();
    int came = 0;
    port.async_run(s.pipeline, s.source, s.sink, [&](error_code error, const completion& done) {
        LOOP_REQUIRE(error == net::error::connection_reset && done.status == GPO_CALLBACK_FAILED && done.gpu_done);
        ++came;
    });
    s.context.run();
    LOOP_REQUIRE(came == 1);
}

/// A sink's peer that goes away in the middle of a chunk.
void a_stream_that_breaks() {
    Fixture f;
    Streamed s(f);
    gpuorch::completion_port port(s.context.get_executor(), f.runtime);
    const std::vector<unsigned char> some(100'000, 7);
    s.takes.close();
    std::thread feeder([&] {
        error_code ignored;
        for (int i = 0; i < 100 && !ignored; ++i) net::write(s.feeds, net::buffer(some), ignored);
    });
    int came = 0;
    port.async_run(s.pipeline, s.source, s.sink, [&](error_code error, const completion& done) {
        LOOP_REQUIRE(error == net::error::broken_pipe && done.status == GPO_CALLBACK_FAILED);
        s.source.close();
        ++came;
    });
    s.context.run();
    feeder.join();
    LOOP_REQUIRE(came == 1);
}

#if GPUORCH_ASIO_VERSION >= 102000
void a_run_that_is_cancelled() {
    Fixture f;
    Streamed s(f);
    gpuorch::completion_port port(s.context.get_executor(), f.runtime);
    net::cancellation_signal signal;
    int came = 0;
    net::write(s.feeds, net::buffer("half of a chunk", 15));
    port.async_run(s.pipeline, s.source, s.sink,
                   net::bind_cancellation_slot(signal.slot(), [&](error_code error, const completion& done) {
                       LOOP_REQUIRE(error == net::error::operation_aborted && done.gpu_done);
                       ++came;
                   }));
    net::steady_timer later(s.context, std::chrono::milliseconds(20));
    later.async_wait([&](error_code) { signal.emit(net::cancellation_type::partial); });
    s.context.run();
    LOOP_REQUIRE(came == 1);
    // The pipeline and the sockets can be used again.
    s.feeds.close();
    port.async_run(s.pipeline, s.source, s.sink, [&](error_code error, const completion&) { came += !error; });
    s.context.restart();
    s.context.run();
    LOOP_REQUIRE(came == 2);
}
#endif

// --- failures ---

void failures() {
    Fixture f;
    int came = 0;
    f.port.async_copy(f.stream, f.words[0], f.words[0].get() + 1, 40, [&](error_code error, const completion& done) {
        LOOP_REQUIRE(error == gpuorch::make_status(GPO_INVALID_ARGUMENT) && done.gpu_done && done.bytes == 0);
        LOOP_REQUIRE(error.default_error_condition().value() == EINVAL);
        ++came;
    });
    f.port.async_launch(
        f.stream, [](gpuorch::stream_ref) { throw gpuorch::error(gpuorch::error::of_status(GPO_FAILED)); },
        [&](error_code error, const completion& done) {
            LOOP_REQUIRE(error == gpuorch::make_status(GPO_FAILED) && !done.gpu_done);
            ++came;
        });
    bool thrown = false;
    try {
        f.port.async_launch(
            f.stream, [](gpuorch::stream_ref) { throw 7; },
            [&](error_code error, const completion&) {
                LOOP_REQUIRE(error == gpuorch::make_status(GPO_CALLBACK_FAILED));
                ++came;
            });
    } catch (int number) {
        thrown = number == 7;
    }
    LOOP_REQUIRE(thrown && came == 0);
    f.run();
    LOOP_REQUIRE(came == 3);
    // The work of a stream fails: the operation has its failure.
    auto fails = f.runtime.create_timeline();
    f.stream.wait_timeline(fails, 1);
    f.port.async_launch(
        f.stream, f.add, one_block(), f.arguments(0, 1, 1), [&](error_code error, const completion& done) {
            LOOP_REQUIRE(error == gpuorch::make_status(GPO_FAILED) && done.gpu_done);
            LOOP_REQUIRE(std::string(f.port.failure(done).what()).find("on purpose") != std::string::npos);
            ++came;
        });
    f.port.async_copy(f.stream, f.words[0], f.words[1], kBytes, [&](error_code error, const completion& done) {
        LOOP_REQUIRE(error == gpuorch::make_status(GPO_FAILED) && done.bytes == 0);
        ++came;
    });
    fails.fail(GPO_FAILED, "on purpose");
    f.run();
    LOOP_REQUIRE(came == 5);
    // No handler runs in the initiating call, not in a handler either.
    bool inside = false, outside = false;
    net::post(f.context, [&] {
        inside = true;
        f.port.async_copy(f.stream, f.words[0], f.words[0].get() + 1, 40,
                          [&](error_code error, const completion&) { outside = error && !inside; });
        inside = false;
    });
    f.run();
    LOOP_REQUIRE(outside);
}

/// Errors compare with the portable conditions.
void conditions() {
    for (const auto& [status, portable] :
         {std::pair<gpo_status, int>(GPO_CANCELLED, ECANCELED), std::pair<gpo_status, int>(GPO_TIMEOUT, ETIMEDOUT),
          std::pair<gpo_status, int>(GPO_OUT_OF_MEMORY, ENOMEM)}) {
        const error_code error = gpuorch::make_status(status);
        const gpuorch::error_condition condition = error.default_error_condition();
        LOOP_REQUIRE(condition.value() == portable && condition.category() != gpuorch::status_category());
        LOOP_REQUIRE(error == condition && error != gpuorch::make_status(GPO_FAILED).default_error_condition());
    }
    LOOP_REQUIRE(gpuorch::make_status(GPO_FAILED).default_error_condition().category() == gpuorch::status_category());
}

/// A port has no room: the operation says so, and its work isn't submitted. Abandoned operations hold their places
/// until their work is done.
void full() {
    Fixture f(2);
    auto gate = f.runtime.create_timeline();
    int refused = 0, came = 0, aborted = 0;
    const auto count = [&](error_code error, const completion& done) {
        if (!error)
            ++came;
        else if (error == net::error::operation_aborted)
            ++aborted;
        else if (error == gpuorch::make_status(GPO_WOULD_BLOCK) && done.gpu_done)
            ++refused;
    };
    f.stream.wait_timeline(gate, 1);
    const auto two = [&] {
        for (int i = 0; i < 2; ++i) f.port.async_launch(f.stream, f.add, one_block(), f.arguments(0, 1, 1), count);
    };
    two();
    f.port.cancel();
    f.run();
    LOOP_REQUIRE(aborted == 2 && came == 0);
    bool put = false;
    f.port.async_launch(
        f.stream, [&](gpuorch::stream_ref) { put = true; }, count);
    f.run();
    LOOP_REQUIRE(refused == 1 && !put);
    bool unknown = false;  // a wait that is refused says nothing of the stream's work
    f.port.async_wait(f.stream, [&](error_code error, const completion& done) {
        unknown = error == gpuorch::make_status(GPO_WOULD_BLOCK) && !done.gpu_done;
    });
    f.run();
    LOOP_REQUIRE(unknown);
    gate.signal(1);
    f.stream.wait();
    while (came < 2) {  // the entries of the abandoned ones may be late
        two();
        f.run();
    }
    LOOP_REQUIRE(came + refused >= 3);
}

// --- ends ---

/// cancel() and a port's end take requests out of their lines, and no place is lost.
void requests_of_a_port_that_ends() {
    Fixture f;
    gpuorch::admission_options two;
    two.count = 2;
    const auto admission = f.runtime.create_admission(two);
    int came = 0, aborted = 0;
    const auto count = [&](error_code error, const completion&) {
        came += !error;
        aborted += error == net::error::operation_aborted;
    };
    auto port = std::make_unique<gpuorch::completion_port>(f.context.get_executor(), f.runtime);
    for (int i = 0; i < 4; ++i) port->async_enter(admission, gpuorch::admission_request(), count);
    port->cancel();
    f.run();
    LOOP_REQUIRE(came == 2 && aborted == 2);
    LOOP_REQUIRE(admission.info().held == 2 && admission.info().waiting == 0 && admission.info().cancelled == 2);
    admission.set_budget(4, UINT64_MAX);
    for (int i = 0; i < 4; ++i) port->async_enter(admission, gpuorch::admission_request(), count);
    LOOP_REQUIRE(admission.info().held == 4 && admission.info().waiting == 2);
    port.reset();  // two were admitted, and no handler has heard of it
    f.run();
    LOOP_REQUIRE(came == 2 && aborted == 6);
    LOOP_REQUIRE(admission.info().held == 2 && admission.info().waiting == 0);
}

void a_handler_that_throws() {
    Fixture f;
    int came = 0;
    for (int i = 0; i < 5; ++i)
        f.port.async_wait(f.stream, [&, i](error_code, const completion&) {
            ++came;
            if (i == 1) throw i;
        });
    auto figures = gpuorch::sized<gpo_cq_statistics>();
    while (figures.delivered < 5) LOOP_CHECK(gpo_cq_get_statistics(f.port.native_handle(), &figures));
    bool thrown = false;
    for (int runs = 0; came < 5 && runs < 50; ++runs) {
        f.context.restart();
        try {
            f.context.run();
        } catch (int number) {
            thrown = number == 1;
        }
    }
    LOOP_REQUIRE(thrown && came == 5);
}

void a_port_that_ends_in_its_handler() {
    Fixture f;
    auto port = std::make_unique<gpuorch::completion_port>(f.context.get_executor(), f.runtime);
    auto gate = f.runtime.create_timeline();
    const auto other = f.device.create_stream();
    other.wait_timeline(gate, 1);
    int came = 0, aborted = 0;
    port->async_wait(other,
                     [&](error_code error, const completion&) { aborted += error == net::error::operation_aborted; });
    port->async_wait(f.stream, [&](error_code, const completion&) {
        port.reset();
        ++came;
    });
    f.run();
    LOOP_REQUIRE(came == 1 && aborted == 1);
    gate.signal(1);
}

void an_io_context_that_ends_first() {
    Fixture f;
    auto gate = f.runtime.create_timeline();
    f.stream.wait_timeline(gate, 1);
    const auto watched = std::make_shared<int>(0);
    {
        auto context = std::make_unique<net::io_context>();
        auto port = std::make_unique<gpuorch::completion_port>(context->get_executor(), f.runtime);
        port->async_wait(f.stream, [watched](error_code, const completion&) { LOOP_REQUIRE(false); });
        context->poll();
        context->stop();
        port.reset();  // the handler is posted, and destroyed with the context
        context.reset();
    }
    LOOP_REQUIRE(watched.use_count() == 1);
    gate.signal(1);
    f.stream.wait();
}

void a_stream_that_ends_first() {
    Fixture f;
    auto other = f.device.create_stream();
    auto gate = f.runtime.create_timeline();
    other.wait_timeline(gate, 1);
    int came = 0;
    f.port.async_launch(other, f.add, one_block(), f.arguments(0, 1, 1), [&](error_code error, const completion&) {
        LOOP_REQUIRE(!error);
        ++came;
    });
    other.reset();
    gate.signal(1);
    f.run();
    LOOP_REQUIRE(came == 1);
}

/// A wait for a future on the loop's only thread would never end: the value comes when the handler has returned.
void a_future_on_the_loops_thread() {
    Fixture f;
    std::future<completion> done;
    bool waited = false;
    net::post(f.context, [&] {
        done = f.port.async_wait(f.stream, net::use_future);
        f.stream.wait();
        waited = done.wait_for(std::chrono::milliseconds(1)) == std::future_status::timeout;
    });
    f.run();
    LOOP_REQUIRE(waited && done.wait_for(std::chrono::seconds(0)) == std::future_status::ready && done.get().gpu_done);
}

/// The parent's operations go on. In the child new operations are refused, and the port's end completes the others.
void a_process_that_forks() {
    Fixture f;
    auto port = std::make_unique<gpuorch::completion_port>(f.context.get_executor(), f.runtime);
    auto gate = f.runtime.create_timeline();
    gpuorch::admission_options one;
    one.count = 1;
    const auto admission = f.runtime.create_admission(one);
    int came = 0, aborted = 0, refused = 0;
    const auto count = [&](error_code error, const completion&) {
        came += !error;
        aborted += error == net::error::operation_aborted;
        refused += error == gpuorch::make_status(GPO_FORKED);
    };
    port->async_wait(gate, 1, count);
    for (int i = 0; i < 2; ++i) port->async_enter(admission, gpuorch::admission_request(), count);
    f.context.notify_fork(net::execution_context::fork_prepare);
    const pid_t child = ::fork();
    LOOP_REQUIRE(child >= 0);
    if (child == 0) {
        ::alarm(60);
        f.context.notify_fork(net::execution_context::fork_child);
        port->async_wait(f.stream, count);
        port.reset();
        f.run();
        ::_exit(came == 0 && aborted == 3 && refused == 1 ? 0 : 1);
    }
    f.context.notify_fork(net::execution_context::fork_parent);
    int status = -1;
    LOOP_REQUIRE(::waitpid(child, &status, 0) == child && status == 0);
    gate.signal(1);
    admission.set_budget(2, UINT64_MAX);
    f.run();
    LOOP_REQUIRE(came == 3 && aborted == 0 && refused == 0);
}

// --- tokens ---

/// What the operations need beside the fixture.
struct Objects {
    explicit Objects(Fixture& f)
        : admission(f.runtime.create_admission()), batcher(gpuorch::batcher::create({f.device})),
          recorded(f.device.create_graph_template()), timeline(f.runtime.create_timeline()),
          group(gpuorch::peers::create({f.device})), server(f.device.create_stream(resident())) {
        gpuorch::batcher_key_options rows;
        rows.layout = GPO_BATCH_ROWS;
        rows.input_bytes = rows.output_bytes = 16;
        batcher.add_key(rows, [](gpuorch::stream_ref, const gpo_batch&) {});
        recorded.record(f.stream, [&](gpuorch::recording into) {
            f.add.launch(f.stream, {1}, {64}, f.words[1], f.words[0], static_cast<unsigned long long>(kWords), 1u);
            into.argument("what", 3);
        });
        graph = recorded.create_graph();
        buckets = f.device.create_buckets({kWords}, [&f](gpuorch::stream_ref on, const gpuorch::bucket_work& work) {
            f.add.launch(on, {1}, {64}, f.words[2], f.words[1], static_cast<unsigned long long>(work.shape()), 1u);
        });
        timeline.signal(1);
        since = f.device.create_event(timed());
        since.record(f.stream);
        const auto add_bytes = f.device.compile(Streamed::kAddBytes).kernel("add_bytes");
        pipeline = f.device.create_pipeline({gpuorch::kernel_stage(
            add_bytes, gpuorch::chunk::input, gpuorch::chunk::output, gpuorch::chunk::input_bytes)});
        source.kind = GPO_SOURCE_MEMORY;
        source.memory = from.data();
        sink.kind = GPO_SINK_MEMORY;
        sink.memory = to.data();
        source.bytes = sink.bytes = sizeof from;
        part = own_part(f);
        gpuorch::queue_options options;
        options.kind = GPO_QUEUE_HOST_RING;
        options.capacity = 64;
        options.task_size = sizeof(RingTask);
        options.stream = server;
        ring = f.device.create_queue(options);
        gpuorch::tenant_options tenant;
        tenant.completions = f.port.native_handle();
        ring.set_tenant(0, tenant);
        f.device.compile(kServe).kernel("serve").launch(server, {2}, {64}, ring.host_ring());
    }
    static gpuorch::event_options timed() {
        gpuorch::event_options options;
        options.flags = GPO_EVENT_TIMING;
        return options;
    }
    ~Objects() {
        ring.close();
        server.wait();
    }
    static gpuorch::stream_options resident() {
        gpuorch::stream_options options;
        options.flags = GPO_STREAM_RESIDENT;
        return options;
    }

    std::array<std::uint32_t, 4> from{1, 2, 3, 4}, to{};
    gpuorch::admission admission;
    gpuorch::batcher batcher;
    gpuorch::graph_template recorded;
    gpuorch::graph graph;
    gpuorch::buckets buckets;
    gpuorch::timeline timeline;
    gpuorch::pipeline pipeline;
    gpo_source source = gpuorch::sized<gpo_source>();
    gpo_sink sink = gpuorch::sized<gpo_sink>();
    gpuorch::peers group;
    gpuorch::collective sum = sum_of_words();
    gpo_rank_part part{};
    gpuorch::event since;
    gpuorch::stream server;
    gpuorch::queue ring;
};

/// Starts every operation with the token: `use` gets a callable for each.
template <class Token, class Use>
void every_operation(Fixture& f, Objects& o, Token token, Use use) {
    static Words in = counted(3), out(kWords);
    f.event.record(f.stream);
    gpuorch::batcher_request request;
    request.input = o.from.data();
    request.output = o.to.data();
    use([&] { return f.port.async_wait(f.stream, token); });
    use([&] { return f.port.async_wait(f.event, token); });
    use([&] { return f.port.async_wait(f.stream, o.since, token); });
    use([&] { return f.port.async_wait(o.timeline, 1, token); });
    use([&] { return f.port.async_copy(f.stream, f.words[0], net::buffer(in), token); });
    use([&] { return f.port.async_copy(f.stream, net::buffer(out), f.words[0], token); });
    use([&] { return f.port.async_copy(f.stream, f.words[1], f.words[0], kBytes, token); });
    use([&] { return f.port.async_launch(f.stream, f.add, one_block(), f.arguments(2, 1, 7), token); });
    use([&] {
        return f.port.async_launch(
            f.stream, [](gpuorch::stream_ref) {}, token);
    });
    use([&] { return f.port.async_launch(f.stream, o.graph, token); });
    use([&] { return f.port.async_launch(f.stream, o.recorded, token); });
    const auto what = std::make_tuple(gpuorch::setting("what", 10u));
    use([&] { return f.port.async_launch(f.stream, o.recorded, what, token); });
    use([&] { return f.port.async_launch(f.stream, o.buckets, kWords, std::tuple<>(), token); });
    use([&] { return f.port.async_run(o.pipeline, o.source, o.sink, token); });
    use([&] { return f.port.async_wait(o.pipeline, token); });
    use([&] { return f.port.async_submit(o.group, o.sum, std::vector<gpo_rank_part>{o.part}, token); });
    use([&] { return f.port.async_post(o.ring, 0, RingTask{}, token); });
    use([&] { return f.port.async_enter(o.admission, gpuorch::admission_request(), token); });
    use([&] { return f.port.async_submit(o.batcher, request, token); });
}
constexpr int kOperations = 19;

void tokens() {
    Fixture f;
    // Before the ring's kernel runs: nothing is compiled beside resident work.
    auto compiled = f.port.async_compile(f.device, kAdd, gpuorch::compile_options(), net::use_future);
    f.run();
    const auto made = compiled.get();
    LOOP_REQUIRE(made.object && made.message.empty());
    Objects objects(f);
    {
        std::vector<std::future<completion>> all;
        every_operation(f, objects, net::use_future, [&](auto start) { all.push_back(start()); });
        f.run();
        for (auto& one : all) LOOP_REQUIRE(one.get().status == GPO_SUCCESS);
    }
    {
        error_code error = net::error::eof;
        std::vector<std::future<completion>> all;
        every_operation(f, objects, net::redirect_error(net::use_future, error),
                        [&](auto start) { all.push_back(start()); });
        f.run();
        for (auto& one : all) LOOP_REQUIRE(one.get().status == GPO_SUCCESS);
        LOOP_REQUIRE(!error);
    }
    {
        auto strand = net::make_strand(f.context);
        int came = 0;
        every_operation(f, objects,
                        net::bind_executor(strand,
                                           [&](error_code error, completion) {
                                               LOOP_REQUIRE(!error && strand.running_in_this_thread());
                                               ++came;
                                           }),
                        [](auto start) { start(); });
        f.run();
        LOOP_REQUIRE(came == kOperations);
    }
#if GPUORCH_ASIO_VERSION >= 102400
    {
        int came = 0;
        const auto count = [&](error_code error, completion) { came += !error; };
        every_operation(f, objects, net::deferred, [&](auto start) { start()(count); });
        f.run();
        LOOP_REQUIRE(came == kOperations);
        using any_handler = net::any_completion_handler<void(error_code, completion)>;
        every_operation(f, objects, net::deferred, [&](auto start) { start()(any_handler(count)); });
        f.run();
        LOOP_REQUIRE(came == 2 * kOperations);
        every_operation(f, objects, net::bind_allocator(std::allocator<char>(), count), [](auto start) { start(); });
        f.run();
        LOOP_REQUIRE(came == 3 * kOperations);
    }
    {
        int came = 0;
        every_operation(f, objects, net::as_tuple(net::deferred), [&](auto start) {
            start()([&](const std::tuple<error_code, completion>& got) { came += !std::get<0>(got); });
        });
        f.run();
        LOOP_REQUIRE(came == kOperations);
    }
#endif
}

#if GPUORCH_ASIO_VERSION >= 102400
void groups_and_channels() {
    Fixture f;
    {
        // The wait for held work loses, and is abandoned.
        auto gate = f.runtime.create_timeline();
        const auto held = f.device.create_stream();
        held.wait_timeline(gate, 1);
        bool first = false;
        net::experimental::make_parallel_group(f.port.async_wait(held, net::deferred),
                                               f.port.async_wait(f.stream, net::deferred))
            .async_wait(net::experimental::wait_for_one(), [&](std::array<std::size_t, 2> order, error_code lost,
                                                               completion, error_code won, completion done) {
                first = order[0] == 1 && lost == net::error::operation_aborted && !won && done.gpu_done;
            });
        f.run();
        LOOP_REQUIRE(first);
        gate.signal(1);
    }
    {
        // A handler is the sender of a channel.
        net::experimental::channel<void(error_code, completion)> channel(f.context, 1);
        f.port.async_wait(
            f.stream, [&](error_code error, const completion& done) { LOOP_REQUIRE(channel.try_send(error, done)); });
        bool received = false;
        channel.async_receive([&](error_code error, const completion& done) { received = !error && done.gpu_done; });
        f.run();
        LOOP_REQUIRE(received);
    }
}
#endif

#if defined(HAS_CO_AWAIT)
net::awaitable<void> all_in_turn(Fixture& f, Objects& objects, int& came) {
    std::vector<net::awaitable<completion>> all;
    every_operation(f, objects, net::use_awaitable, [&](auto start) { all.push_back(start()); });
    for (auto& one : all) came += (co_await std::move(one)).status == GPO_SUCCESS;
    using namespace net::experimental::awaitable_operators;
    const auto both =
        co_await (f.port.async_wait(f.stream, net::use_awaitable) &&
                  f.port.async_launch(f.stream, f.add, one_block(), f.arguments(0, 1, 1), net::use_awaitable));
    came += std::get<0>(both).gpu_done && std::get<1>(both).gpu_done;
    // Time runs out for work that is held: the wait is abandoned, and the work goes on later.
    auto gate = f.runtime.create_timeline();
    f.stream.wait_timeline(gate, 1);
    net::steady_timer soon(f.context, std::chrono::milliseconds(5));
    const auto first =
        co_await (f.port.async_wait(f.stream, net::use_awaitable) || soon.async_wait(net::use_awaitable));
    came += first.index() == 1;
    gate.signal(1);
    const auto [error, done] = co_await f.port.async_wait(f.stream, net::as_tuple(net::use_awaitable));
    came += !error && done.gpu_done;
}

net::awaitable<void> compiled(Fixture& f, bool& came) {
    const auto made = co_await f.port.async_compile(f.device, kAdd, gpuorch::compile_options(), net::use_awaitable);
    came = static_cast<bool>(made.object);
}

void coroutines() {
    Fixture f;
    bool made = false;
    net::co_spawn(f.context, compiled(f, made), net::detached);
    f.run();
    LOOP_REQUIRE(made);
    Objects objects(f);
    int came = 0;
    net::co_spawn(f.context, all_in_turn(f, objects, came), [](std::exception_ptr failure) {
        if (failure) std::rethrow_exception(failure);
    });
    f.run();
    LOOP_REQUIRE(came == kOperations + 3);
}
#endif

// --- cancellation ---

#if GPUORCH_ASIO_VERSION >= 102000
void cancelled() {
    Fixture f;
    gpuorch::admission_options one;
    one.count = 1;
    const auto admission = f.runtime.create_admission(one);
    int came = 0, aborted = 0;
    const auto count = [&](error_code error, const completion& done) {
        aborted += error == net::error::operation_aborted && done.status == GPO_CANCELLED;
        came += !error;
    };
    net::cancellation_signal signal;
    f.port.async_enter(admission, gpuorch::admission_request(), count);
    f.port.async_enter(admission, gpuorch::admission_request(), net::bind_cancellation_slot(signal.slot(), count));
    f.context.poll();
    signal.emit(net::cancellation_type::total);
    f.run();
    LOOP_REQUIRE(came == 1 && aborted == 1);
    LOOP_REQUIRE(admission.info().cancelled == 1 && admission.info().waiting == 0);
    signal.emit(net::cancellation_type::total);  // late: nothing is there to cancel

    // A late signal doesn't cancel the next operation, which has the same place.
    auto gate = f.runtime.create_timeline();
    f.stream.wait_timeline(gate, 1);
    for (int i = 0; i < 8; ++i) f.port.async_wait(f.stream, count);
    signal.emit(net::cancellation_type::total);
    gate.signal(1);
    f.run();
    LOOP_REQUIRE(came == 9 && aborted == 1);

    // A request of a batcher that waits for others leaves the line; one whose batch was formed runs to its end.
    auto batcher = gpuorch::batcher::create({f.device});
    gpuorch::batcher_key_options rows;
    rows.layout = GPO_BATCH_ROWS;
    rows.input_bytes = rows.output_bytes = 4;
    rows.max_batch = 2;
    rows.max_delay_ns = 3'600'000'000'000;
    batcher.add_key(rows, [](gpuorch::stream_ref, const gpo_batch&) {});
    std::uint32_t in = 1, out = 0;
    gpuorch::batcher_request request;
    request.input = &in;
    request.output = &out;
    f.port.async_submit(batcher, request, net::bind_cancellation_slot(signal.slot(), count));
    signal.emit(net::cancellation_type::partial);
    f.run();
    LOOP_REQUIRE(aborted == 2 && batcher.info().cancelled == 1);

    // The GPU has the work: only the wait ends.
    auto last = f.runtime.create_timeline();
    f.stream.wait_timeline(last, 1);
    bool abandoned = false;
    f.port.async_copy(f.stream, f.words[0], f.words[1], kBytes,
                      net::bind_cancellation_slot(signal.slot(), [&](error_code error, const completion& done) {
                          abandoned = error == net::error::operation_aborted && !done.gpu_done && done.bytes == 0;
                      }));
    signal.emit(net::cancellation_type::terminal);
    f.run();
    LOOP_REQUIRE(abandoned);
    last.signal(1);
}

/// Operations of four threads, some of which are cancelled: each handler comes once.
void many(std::uint64_t count) {
    Fixture f;
    Objects objects(f);
    gpuorch::admission_options few;
    few.count = 3;
    few.capacity = 64;
    const auto admission = f.runtime.create_admission(few);
    std::atomic<std::uint64_t> begun{0}, ended{0};
    struct Lane {
        Fixture& f;
        Objects& objects;
        const gpuorch::admission& admission;
        std::atomic<std::uint64_t>&begun, &ended;
        const std::uint64_t count;
        net::strand<net::io_context::executor_type> strand;
        std::minstd_rand random;
        gpuorch::stream stream;
        net::cancellation_signal signal;
        std::array<std::uint32_t, 4> in{}, out{};
        int came = 0;

        void next() {
            if (begun.fetch_add(1) >= count) return;
            came = 0;
            const unsigned kind = random() % 4;
            const auto handler = [&] {
                return net::bind_cancellation_slot(
                    signal.slot(), net::bind_executor(strand, [this, kind](error_code error, const completion& done) {
                        LOOP_REQUIRE(++came == 1);
                        LOOP_REQUIRE(!error || error == net::error::operation_aborted ||
                                     error == gpuorch::make_status(GPO_WOULD_BLOCK));
                        ++ended;
                        if (kind == 1 && !error) admission.leave(done.operation);
                        next();
                    }));
            };
            gpuorch::batcher_request request;
            request.input = in.data();
            request.output = out.data();
            if (kind == 0) f.port.async_wait(stream, handler());
            if (kind == 1) f.port.async_enter(admission, gpuorch::admission_request(), handler());
            if (kind == 2) f.port.async_launch(stream, f.add, one_block(), f.arguments(0, 1, 1), handler());
            if (kind == 3) f.port.async_submit(objects.batcher, request, handler());
            if (random() % 3 == 0) signal.emit(net::cancellation_type::terminal);
        }
    };
    std::vector<std::unique_ptr<Lane>> lanes;
    for (unsigned i = 0; i < 8; ++i) {
        lanes.push_back(std::unique_ptr<Lane>(new Lane{f,
                                                       objects,
                                                       admission,
                                                       begun,
                                                       ended,
                                                       count,
                                                       net::make_strand(f.context),
                                                       std::minstd_rand(i + 1),
                                                       f.device.create_stream(),
                                                       {}}));
        net::post(lanes.back()->strand, [lane = lanes.back().get()] { lane->next(); });
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { f.context.run(); });
    for (auto& one : threads) one.join();
    LOOP_REQUIRE(ended == count);
}
#endif

// --- memory ---

void without_allocations() {
    Fixture f;
    const auto graph = [&] {
        const auto recorded = f.device.create_graph_template();
        recorded.record(f.stream, [&](gpuorch::recording) {
            f.add.launch(f.stream, {1}, {64}, f.words[1], f.words[0], static_cast<unsigned long long>(kWords), 1u);
        });
        return recorded.create_graph();
    }();
    struct Chain {
        Fixture& f;
        const gpuorch::graph& graph;
        int left, step = 0;
        std::uint64_t before = 0;
        void next() {
            if (step == 200) before = allocations;
            if (step++ == left) return;
            f.port.async_launch(f.stream, graph, [this](error_code error, const completion&) {
                LOOP_REQUIRE(!error);
                next();
            });
        }
    } chain{f, graph, 1000};
    chain.next();
    f.run();
    const std::uint64_t made = allocations - chain.before;
    std::printf("%llu allocations in 800 launches\n", static_cast<unsigned long long>(made));
    LOOP_REQUIRE(made < 80);  // the library's own threads may make some
}

}  // namespace

int main(int count, char** words) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    copies_and_launches();
    graphs_templates_and_buckets();
    requests();
    tasks_of_a_ring();
    modules_and_groups();
    collectives_without_memory();
    streams_through_a_pipeline();
    pipes_through_a_pipeline();
    a_source_that_resets();
    a_stream_that_breaks();
    failures();
    conditions();
    full();
    requests_of_a_port_that_ends();
    a_handler_that_throws();
    a_port_that_ends_in_its_handler();
    an_io_context_that_ends_first();
    a_stream_that_ends_first();
    a_future_on_the_loops_thread();
    a_process_that_forks();
    tokens();
#if GPUORCH_ASIO_VERSION >= 102400
    groups_and_channels();
#endif
#if defined(HAS_CO_AWAIT)
    coroutines();
    std::puts("with co_await");
#endif
#if GPUORCH_ASIO_VERSION >= 102000
    a_run_that_is_cancelled();
    cancelled();
    many(count > 1 ? std::strtoull(words[1], nullptr, 10) : 5000);
#else
    static_cast<void>(count), static_cast<void>(words);
#endif
    without_allocations();
    std::puts("all operations");
    return 0;
}
