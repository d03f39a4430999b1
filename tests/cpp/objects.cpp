// gpuorch.hpp as its users meet it; each test's name says the fact tested. The program prints PASS, FAIL or SKIP for
// each test, and is compiled for each standard and compiler (check_objects.py).
#include <gpuorch/gpuorch.hpp>
// No header comes before gpuorch.hpp, which includes its own needs.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <thread>

using namespace std::chrono_literals;
namespace chunk = gpuorch::chunk;

namespace {

struct Test {
    const char* name;
    void (*run)();
};
std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}
struct Added {
    Added(const char* name, void (*run)()) { tests().push_back({name, run}); }
};
#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)
#define TEST(name)                                                      \
    void NAMED(test_, __LINE__)();                                      \
    const Added NAMED(added_, __LINE__)(name, &NAMED(test_, __LINE__)); \
    void NAMED(test_, __LINE__)()

struct Failure {
    std::string text;
};
struct Skip {
    std::string reason;
};
void require(bool holds, int line, const char* what) {
    if (!holds) throw Failure{"line " + std::to_string(line) + ": not so: " + what};
}
#define REQUIRE(...) require((__VA_ARGS__), __LINE__, #__VA_ARGS__)

/// The error that a call ends with.
template <class Call>
gpuorch::error error_of(Call&& call) {
    try {
        call();
    } catch (const gpuorch::error& error) {
        return error;
    }
    throw Failure{"a call that must fail has succeeded"};
}
template <class Call>
gpo_status status_of(Call&& call) {
    return error_of(std::forward<Call>(call)).status();
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string file_name(const char* name) {
    const char* folder = std::getenv("TMPDIR");
    return std::string(folder ? folder : "/tmp") + "/gpuorch_cpp_" + std::to_string(getpid()) + "_" + name;
}

/// Whether the handle is of something that is still there.
bool alive(const void* handle) {
    char label[64];
    return gpo_object_get_label(handle, label, sizeof label, nullptr) == GPO_SUCCESS;
}

struct Gpu {
    gpuorch::runtime runtime = gpuorch::runtime::create();
    gpuorch::device device = runtime.open_device();
    gpuorch::stream stream = device.create_stream();
    gpuorch::executor executor = runtime.create_executor();
    gpuorch::timeline timeline = runtime.create_timeline();
    gpuorch::module builtin = device.builtin();

    /// Work put on the stream from now on waits for `timeline.signal(value)`.
    void hold(std::uint64_t value = 1) { stream.wait_timeline(timeline, value); }
};

/// Counts the instances of a callable, and its calls.
struct Counted {
    std::atomic<int>* alive;
    std::atomic<int>* calls;
    Counted(std::atomic<int>& living, std::atomic<int>& called) : alive(&living), calls(&called) { ++*alive; }
    Counted(const Counted& other) : alive(other.alive), calls(other.calls) { ++*alive; }
    ~Counted() { --*alive; }
    void operator()(gpo_status) { ++*calls; }
    void operator()() { ++*calls; }
};

void wait_until(const std::atomic<int>& number, int value) {
    for (int i = 0; i < 30000 && number != value; ++i) std::this_thread::sleep_for(1ms);
    REQUIRE(number == value);
}

struct Shape {
    float factor;
    unsigned add;
};
constexpr char kernels[] = R"(
    struct Shape { float factor; unsigned add; };
    extern "C" __global__ void change(float *x, unsigned n, Shape shape) {
        unsigned i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
        if (i < n) x[i] = x[i] * shape.factor + shape.add;
    }
    extern "C" __global__ void invert(const unsigned char *in, unsigned char *out, unsigned long long bytes,
                                      unsigned *result, unsigned long long index, unsigned char with) {
        for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += gridDim.x * blockDim.x)
            out[i] = in[i] ^ with;
        if (blockIdx.x == 0 && threadIdx.x == 0) *result = (unsigned)index + 7;
    }
    __device__ int answer = 42;
    extern "C" __global__ void nothing() {}
)";

// --- objects ---

/// Moves an object about: the handle lives as long as an object owns it.
template <class Object>
void owned_once(Object object, Object another) {
    static_assert(!std::is_copy_constructible_v<Object> && !std::is_copy_assignable_v<Object>);
    static_assert(std::is_nothrow_move_constructible_v<Object> && std::is_nothrow_move_assignable_v<Object>);
    static_assert(std::is_nothrow_destructible_v<Object>);
    using Handle = typename Object::handle_type;
    static_assert(std::is_convertible_v<Object&, Handle> && !std::is_convertible_v<Object, Handle>);
    static_assert(!std::is_convertible_v<Handle, Object>);

    const Handle first = object.get(), second = another.get();
    REQUIRE(object && alive(first) && alive(second) && object == first);
    Object moved(std::move(object));
    REQUIRE(!object && object.get() == nullptr && moved.get() == first && alive(first));
    moved = std::move(another);
    REQUIRE(!another && moved.get() == second && !alive(first) && alive(second));
    Object& same = moved;
    moved = std::move(same);
    REQUIRE(moved.get() == second && alive(second));
    const Handle released = moved.release();
    REQUIRE(released == second && !moved && alive(second));
    {
        Object adopted(released);
        REQUIRE(adopted.get() == second);
    }
    REQUIRE(!alive(second));
    moved = Object();
    REQUIRE(!moved);
}

TEST("an object moves with its handle, and destroys it once") {
    Gpu gpu;
    const auto& device = gpu.device;
    owned_once(gpu.runtime.open_device(), gpu.runtime.open_device());
    owned_once(device.create_stream(), device.create_stream());
    owned_once(device.create_stream_pool(), device.create_stream_pool());
    owned_once(device.create_event(), device.create_event());
    owned_once(device.create_arena(), device.create_arena());
    owned_once(device.create_pool(), device.create_pool());
    owned_once(device.builtin(), device.builtin());
    owned_once(gpu.builtin.kernel("gpo_copy_u32"), gpu.builtin.kernel("gpo_copy_u32"));
    owned_once(gpu.runtime.create_timeline(), gpu.runtime.create_timeline());
    owned_once(gpu.runtime.create_completion_queue(), gpu.runtime.create_completion_queue());
    owned_once(gpu.runtime.create_executor(), gpu.runtime.create_executor());
    owned_once(device.create_graph_template(), device.create_graph_template());
    const auto made = device.create_graph_template();
    owned_once(made.create_graph(), made.create_graph());
    gpo_queue_options range{};
    range.kind = GPO_QUEUE_RANGE;
    range.count = 4;
    owned_once(device.create_queue(range), device.create_queue(range));
    const auto no_work = [](gpuorch::stream_ref, const gpuorch::bucket_work&) {};
    owned_once(device.create_buckets({1}, no_work), device.create_buckets({1}, no_work, no_work));
    owned_once(gpuorch::batcher::create({device}), gpuorch::batcher::create({device}));
    const auto nothing = gpuorch::callback_stage([](gpuorch::stream_ref, const gpo_chunk&) {});
    owned_once(device.create_pipeline({nothing}), device.create_pipeline({nothing}));
}

TEST("a runtime's end waits for its work, and what was made from it may go later") {
    std::atomic<int> living{0}, calls{0};
    gpuorch::stream stream;
    gpuorch::device device;
    gpuorch::buffer<float> x;
    gpo_runtime_t handle = nullptr;
    {
        auto runtime = gpuorch::runtime::create();
        device = runtime.open_device();
        auto executor = runtime.create_executor();
        stream = device.create_stream();
        x = device.allocate<float>(1000);
        for (int i = 0; i < 10; ++i) stream.fill(x, 1.5f);
        stream.then(executor, Counted(living, calls));
        handle = runtime.get();
    }
    REQUIRE(calls == 1 && living == 0);
    auto figures = gpuorch::sized<gpo_statistics>();
    REQUIRE(gpo_runtime_get_statistics(handle, &figures) == GPO_INVALID_HANDLE);
    REQUIRE(status_of([&] { stream.query(); }) == GPO_INVALID_HANDLE);
    auto other = gpuorch::runtime::create();
    REQUIRE(other.shutdown(1h) && !other);
    REQUIRE(other.shutdown(1h));  // nothing is left to shut down
}

TEST("an empty object is refused, with the function's name") {
    const gpuorch::stream none;
    REQUIRE(!none && none.get() == nullptr);
    const auto error = error_of([&] { none.query(); });
    REQUIRE(error.status() == GPO_INVALID_HANDLE && says(error.function(), "gpo_stream_query"));
    REQUIRE(status_of([&] { gpuorch::pipeline().cancel(); }) == GPO_INVALID_HANDLE);
    REQUIRE(status_of([&] { static_cast<void>(gpuorch::device().create_stream()); }) == GPO_INVALID_HANDLE);
}

TEST("an option that was set counts, and the struct's size is set") {
    Gpu gpu;
    gpo_stream_options options{};
    options.flags = GPO_STREAM_BLOCKING;
    options.label = "upload";
    const auto stream = gpu.device.create_stream(options);
    char label[64];
    gpuorch::check(gpo_object_get_label(stream, label, sizeof label, nullptr));
    REQUIRE(std::string(label) == "upload" && stream.info().flags == GPO_STREAM_BLOCKING);
    options.flags = 1u << 30;
    REQUIRE(status_of([&] { static_cast<void>(gpu.device.create_stream(options)); }) == GPO_INVALID_ARGUMENT);
    gpuorch::stream_options with_defaults;
    with_defaults.flags = GPO_STREAM_BLOCKING;
    REQUIRE(gpu.device.create_stream(with_defaults).info().flags == GPO_STREAM_BLOCKING);
    const gpo_stream_options raw = with_defaults;
    REQUIRE(raw.struct_size == sizeof raw && raw.flags == GPO_STREAM_BLOCKING && raw.priority == 0 && !raw.label);
}

#if __cplusplus >= 202002L
TEST("options are designated initialisers, where a call takes them and by their type") {
    Gpu gpu;
    REQUIRE(gpu.device.create_stream({.flags = GPO_STREAM_BLOCKING}).info().flags == GPO_STREAM_BLOCKING);
    const auto options = gpuorch::stream_options{.flags = GPO_STREAM_BLOCKING, .label = "upload"};
    REQUIRE(gpu.device.create_stream(options).info().flags == GPO_STREAM_BLOCKING);
    gpo_stream_t raw = nullptr;
    const gpo_stream_options of_c = gpuorch::stream_options{.struct_size = sizeof of_c, .flags = GPO_STREAM_BLOCKING};
    gpuorch::check(gpo_stream_create(gpu.device, &of_c, &raw));
    REQUIRE(gpuorch::stream(raw).info().flags == GPO_STREAM_BLOCKING);

    const auto module = gpu.device.compile(kernels, {.label = "kernels"});
    module.kernel("nothing").launch(gpu.stream, gpuorch::launch{.grid = {2}, .block = {32}, .label = "nothing"});
    const auto range = gpu.device.create_queue({.kind = GPO_QUEUE_RANGE, .count = 7});
    REQUIRE(range.info().capacity == 7);
    const auto record = [](gpuorch::stream_ref, const gpuorch::bucket_work&) {};
    const auto buckets = gpu.device.create_buckets({16}, record, {.max_buckets = 1});
    const auto padded = gpu.device.create_buckets({16}, record, record, {.max_buckets = 1});
    const auto stage = gpuorch::callback_stage([](gpuorch::stream_ref, const gpo_chunk&) {});
    const auto pipeline = gpu.device.create_pipeline({stage}, {.chunk_bytes = 4096, .result_bytes = 4});
    REQUIRE(buckets && padded && pipeline);
    const auto group = gpuorch::peers::create({gpu.device}, {.label = "alone"});
    group.submit({.kind = GPO_COLLECTIVE_BARRIER}, {gpuorch::rank_part{.stream = gpu.stream}});
    REQUIRE(!gpu.device.advise({.flags = GPO_WORKLOAD_REPEATS, .launches = 10}).empty());
    gpu.stream.wait();
}
#endif

TEST("a runtime tells of its driver, its devices and its figures") {
    Gpu gpu;
    REQUIRE(gpu.runtime.driver().name[0] != '\0' && gpu.runtime.device_count() >= 1);
    REQUIRE(gpu.device.properties().name[0] != '\0');
    REQUIRE(gpu.runtime.statistics().live_objects >= 5);
    REQUIRE(gpu.runtime.metrics_text().size() > 1000 && says(gpu.runtime.metrics_text(), "gpuorch_"));
    REQUIRE(status_of([&] { gpu.runtime.stop_trace(); }) == GPO_INVALID_STATE);
    gpu.runtime.start_trace();
    gpu.stream.wait();
    gpu.runtime.stop_trace();
    REQUIRE(!gpu.runtime.trace_summary().empty());
}

TEST("a plain call returns what its function writes: one value, several or a text") {
    Gpu gpu;
    const auto change = gpu.device.compile(kernels).kernel("change");
    REQUIRE(change.name() == "change" && change.occupancy(64, 0) > 0);
    const auto [threads, blocks] = change.suggest_shape(0, 128);
    REQUIRE(threads > 0 && threads <= 128 && blocks > 0);
    const auto memory = gpu.device.memory();
    REQUIRE(memory.free_bytes <= memory.total_bytes && memory.total_bytes > 0);
    REQUIRE(gpu.runtime.describe_device(0).multiprocessors == gpu.device.properties().multiprocessors);
    REQUIRE(gpu.stream.native() != nullptr && gpu.runtime.metrics().struct_size > 0);
    REQUIRE(status_of([&] { gpu.device.limit(1000); }) == GPO_INVALID_ARGUMENT);
}

TEST("a workload gets advice, with the costs of a device or without one") {
    Gpu gpu;
    REQUIRE(gpu.device.costs().measured == 0);
    const gpo_costs measured = gpu.device.costs(GPO_COSTS_PROBE);
    REQUIRE(measured.measured == 1 && measured.launch_ns >= 1);
    gpo_workload workload{};
    workload.flags = GPO_WORKLOAD_REPEATS;
    workload.launches = 100;
    workload.kernel_ns = 109000;
    gpo_diagnosis now{};
    for (const auto& forms : {gpu.device.advise(workload, &now), gpuorch::advise(workload)}) {
        REQUIRE(forms.size() >= 2 && forms[0].form == GPO_FORM_GRAPH && forms[0].gain_low > 1500);
        REQUIRE(says(forms[0].reason, "100 calls"));
    }
    REQUIRE(now.bound == GPO_BOUND_LAUNCH);
    workload.order = 17;
    REQUIRE(status_of([&] { gpuorch::advise(workload); }) == GPO_INVALID_ARGUMENT);
}

TEST("a trace goes to a file and a picture, or to one of them") {
    Gpu gpu;
    const std::string path = file_name("trace.json"), picture = file_name("timeline.svg");
    const auto size = [](const std::string& file) { return std::ifstream(file, std::ios::ate).tellg(); };
    for (const bool both : {true, false}) {
        gpu.runtime.start_trace(path, both ? picture : "");
        gpu.stream.wait();
        gpu.runtime.stop_trace();
        REQUIRE(size(path) > 0 && (size(picture) > 0) == both);
        gpo_workload work{};
        REQUIRE(says(gpuorch::advise_trace(path, &work), "trace of ") && work.launches == 0);
        std::remove(path.c_str()), std::remove(picture.c_str());
    }
    gpu.runtime.start_trace("", picture);
    gpu.runtime.stop_trace();
    REQUIRE(size(path) < 0 && size(picture) > 0);
    std::remove(picture.c_str());
}

// --- errors and answers ---

TEST("an error has the status, the function, the object and the sentence, and copies of it too") {
    Gpu gpu;
    gpo_stream_options options{};
    options.label = "culprit";
    const auto stream = gpu.device.create_stream(options);
    gpu.timeline.fail(GPO_FAILED, "on purpose");
    const auto error = error_of([&] { stream.wait_timeline(gpu.timeline, 1); });
    static_assert(std::is_nothrow_copy_constructible_v<gpuorch::error>);
    const gpuorch::error copy = error;
    REQUIRE(copy.status() == GPO_FAILED && copy.details().status == GPO_FAILED);
    REQUIRE(says(copy.message(), "on purpose") && says(copy.what(), copy.message()) && says(copy.what(), "GPO_FAILED"));
    REQUIRE(copy.function()[0] != '\0' && says(copy.what(), copy.function()));
    REQUIRE(copy.object() == std::string(copy.details().object));
    const std::exception& base = copy;
    REQUIRE(base.what() == std::string(copy.what()));
}

TEST("a status without details is told by its own sentence") {
    const auto error = error_of([] { gpuorch::check(GPO_WOULD_BLOCK); });
    REQUIRE(error.status() == GPO_WOULD_BLOCK && error.message() == std::string(gpo_status_text(GPO_WOULD_BLOCK)));
    gpuorch::check(GPO_SUCCESS);
}

TEST("a kernel that doesn't compile is an error, and the compiler's text is there") {
    Gpu gpu;
    gpo_compile_options options{};
    options.file_name = "bad.cu";
    const auto error =
        error_of([&] { static_cast<void>(gpu.device.compile("__global__ void f() { undeclared; }", options)); });
    REQUIRE(error.status() == GPO_COMPILE_FAILED);
    REQUIRE(says(gpuorch::compile_log(), "undeclared") && says(gpuorch::compile_log(), "bad.cu"));
    REQUIRE(status_of([&] { static_cast<void>(gpu.builtin.kernel("no such kernel")); }) == GPO_NOT_FOUND);
    static_cast<void>(
        gpu.device.compile(std::string_view("__global__ void f() {}#error", 22)));  // reads up to its end
}

TEST("what isn't done yet is an answer and no error, and a time that is past doesn't wait for ever") {
    Gpu gpu;
    const auto x = gpu.device.allocate<int>(1);
    gpo_event_options timed{};
    timed.flags = GPO_EVENT_TIMING;
    const auto start = gpu.device.create_event(timed), end = gpu.device.create_event(timed);
    const auto queue = gpu.runtime.create_completion_queue();
    start.record(gpu.stream);
    gpu.hold();
    gpu.stream.fill(x, 3);
    end.record(gpu.stream);
    gpu.stream.notify(queue, 9);
    std::atomic<int> living{0}, calls{0};
    gpo_executor_options ours{};
    ours.flags = GPO_EXECUTOR_CALLER;
    const auto executor = gpu.runtime.create_executor(ours);
    gpu.stream.then(executor, Counted(living, calls));
    REQUIRE(!gpu.stream.query() && !gpu.stream.wait(1ms) && !gpu.stream.wait(-1s));
    REQUIRE(!end.query() && !end.wait(0s) && !end.wait(-1h) && !start.elapsed(end));
    REQUIRE(!gpu.timeline.wait(1, -1ns) && gpu.timeline.value() == 0);
    REQUIRE(!queue.wait(1us) && !queue.wait(-5s) && !gpu.device.wait(0s));
    REQUIRE(!executor.run_for(1ms) && executor.poll() == 0 && calls == 0);
    gpo_completion entries[4];
    REQUIRE(queue.drain(entries, 4) == 0);
    gpu.timeline.signal(1);
    gpu.stream.wait();
    end.wait();
    REQUIRE(gpu.stream.query() && end.query() && gpu.stream.wait(1h) && end.wait(1h) &&
            start.elapsed(end).value() >= 0ns);
    REQUIRE(gpu.timeline.wait(1, 0s) && gpu.timeline.value() == 1 && gpu.device.wait(1h));
    queue.wait();
    REQUIRE(queue.wait(1h) && queue.drain(entries, 4) == 1 && entries[0].user_data == 9 &&
            entries[0].status == GPO_SUCCESS);
    REQUIRE(executor.run() == 1 && calls == 1 && executor.run_for(1h) && living == 0);
}

TEST("without room a call throws, and its try_ form says no") {
    Gpu gpu;
    gpo_cq_options small{};
    small.capacity = 1;
    const auto queue = gpu.runtime.create_completion_queue(small);
    gpu.hold();
    REQUIRE(gpu.stream.try_notify(queue, 1) && !gpu.stream.try_notify(queue, 2));
    REQUIRE(status_of([&] { gpu.stream.notify(queue, 3); }) == GPO_WOULD_BLOCK);
    gpo_executor_options one{};
    one.capacity = 1;
    const auto executor = gpu.runtime.create_executor(one);
    std::atomic<int> living{0}, calls{0};
    {
        Counted callable(living, calls);
        REQUIRE(gpu.stream.try_then(executor, callable) && living == 2);
        REQUIRE(!gpu.stream.try_then(executor, callable) && living == 2);
        REQUIRE(status_of([&] { gpu.stream.then(executor, callable); }) == GPO_WOULD_BLOCK && living == 2);
    }
    gpu.timeline.signal(1);
    wait_until(living, 0);
    REQUIRE(calls == 1 && queue.statistics().accepted == 1 && queue.statistics().refused == 2);
}

TEST("a queue's failed entry has its details, and its end is an error") {
    auto runtime = gpuorch::runtime::create();
    const auto queue = runtime.create_completion_queue();
    const auto timeline = runtime.create_timeline();
    timeline.notify(5, queue, 1);
    timeline.fail(GPO_FAILED, "on purpose");
    queue.wait();
    gpo_completion entry{};
    REQUIRE(queue.drain(&entry, 1) == 1 && entry.status == GPO_FAILED);
    REQUIRE(queue.failure(entry).status() == GPO_FAILED && says(queue.failure(entry).what(), "on purpose"));
    entry.error_id = 12345;
    REQUIRE(queue.failure(entry).status() == GPO_FAILED);
    const int descriptor = queue.descriptor();
    REQUIRE(descriptor >= 0 && close(descriptor) == 0);
    queue.wake();
    REQUIRE(queue.wait(1h));
    REQUIRE(runtime.shutdown(1h));
    REQUIRE(status_of([&] { queue.drain(&entry, 1); }) == GPO_SHUT_DOWN &&
            status_of([&] { queue.wait(); }) == GPO_SHUT_DOWN);
}

// --- memory ---

TEST("containers, arrays and pinned memory are copied to the device and back") {
    Gpu gpu;
    const auto arena = gpu.device.create_arena();
    auto pinned = arena.allocate<int>(1000);
    for (int i = 0; i < 1000; ++i) pinned[static_cast<std::size_t>(i)] = i;
    REQUIRE(pinned.size() == 1000 && pinned.end() - pinned.begin() == 1000);
    const auto x = gpu.device.allocate<int>(1000), y = gpu.device.allocate<int>(1000);
    REQUIRE(x.size() == 1000 && x.get() && x.get() != y.get());
    gpu.stream.copy_to_device(x, pinned);
    gpu.stream.copy_on_device(y.get() + 1, x.get(), 999);
    gpu.stream.fill(y.get(), -1, 1);
    std::vector<int> back(1000);
    gpu.stream.copy_to_host(back, y);
    std::array<int, 3> some{};
    gpu.stream.copy_to_host(some, x);
    gpu.stream.copy_to_host(&some[2], y.get() + 5, 1);
    gpu.stream.wait();
    REQUIRE(back[0] == -1 && back[1] == 0 && back[999] == 998 && some[0] == 0 && some[1] == 1 && some[2] == 4);
    const int plain[] = {5, 6};
    gpu.stream.copy_to_device(x, plain);
    gpu.stream.copy_to_host(some, x);
    gpu.stream.wait();
    REQUIRE(some[0] == 5 && some[1] == 6 && some[2] == 2);
    pinned.free_after(gpu.stream);
    REQUIRE(pinned.data() == nullptr && pinned.size() == 0);
}

TEST("fills take elements of 1, 2 and 4 bytes, whatever their type") {
    Gpu gpu;
    const auto floats = gpu.device.allocate<float>(10);
    const auto shorts = gpu.device.allocate<std::int16_t>(10);
    const auto bytes = gpu.device.allocate<bool>(10);
    gpu.stream.fill(floats, 2.5f);
    gpu.stream.fill(shorts, -2);
    gpu.stream.fill(bytes, true);
    std::array<float, 10> f{};
    std::array<std::int16_t, 10> s{};
    std::array<bool, 10> b{};
    gpu.stream.copy_to_host(f, floats);
    gpu.stream.copy_to_host(s, shorts);
    gpu.stream.copy_to_host(b, bytes);
    gpu.stream.wait();
    REQUIRE(f[0] == 2.5f && f[9] == 2.5f && s[0] == -2 && s[9] == -2 && b[0] && b[9]);
}

TEST("a copy that is larger than the buffer is refused") {
    Gpu gpu;
    const auto x = gpu.device.allocate<int>(1000);
    std::vector<int> large(1 << 20);
    REQUIRE(status_of([&] { gpu.stream.copy_to_device(x, large); }) == GPO_INVALID_ARGUMENT);
    REQUIRE(status_of([&] { gpu.stream.copy_to_host(large, x); }) == GPO_INVALID_ARGUMENT);
    REQUIRE(status_of([&] { static_cast<void>(gpu.device.allocate<int>(UINT64_MAX / 2)); }) >= GPO_INVALID_ARGUMENT);
}

TEST("memory goes with its object, once") {
    Gpu gpu;
    const auto arena = gpu.device.create_arena();
    std::uint64_t address = 0;
    {
        auto x = gpu.device.allocate<int>(1000, "x");
        address = x.get().address();
        auto y = std::move(x);
        REQUIRE(!x.get() && x.size() == 0 && y.get().address() == address && y.size() == 1000);
        y = gpu.device.allocate<int>(10);
        REQUIRE(y.get().address() != address && gpo_memory_free(gpu.device, address) == GPO_INVALID_ARGUMENT);
        address = y.get().address();
        auto a = arena.allocate<int>(1000), b = std::move(a);
        REQUIRE(a.data() == nullptr && b.size() == 1000 && arena.statistics().in_use >= 4000);
        b = arena.allocate<int>(10);
        REQUIRE(arena.statistics().in_use < 4000);
    }
    REQUIRE(gpo_memory_free(gpu.device, address) == GPO_INVALID_ARGUMENT && arena.statistics().in_use == 0);
    arena.trim(0);
    REQUIRE(arena.statistics().reserved == 0);
    struct alignas(1024) Wide {
        char bytes[1024];
    };
    REQUIRE(reinterpret_cast<std::uintptr_t>(arena.allocate<Wide>(3).data()) % 1024 == 0);
}

TEST("a pool gives and takes in the order of a stream") {
    Gpu gpu;
    const auto pool = gpu.device.create_pool();
    const auto piece = pool.allocate<unsigned>(gpu.stream, 100);
    gpu.stream.fill(piece, 7, 100);
    std::array<unsigned, 100> back{};
    gpu.stream.copy_to_host(back.data(), piece, 100);
    pool.free(gpu.stream, piece);
    gpu.stream.wait();
    REQUIRE(back[0] == 7 && back[99] == 7 && pool.statistics().in_use == 0 && pool.statistics().frees == 1);
    pool.trim(0);
}

// --- launches ---

TEST("a kernel gets values, structs, buffers, addresses and pinned memory") {
    Gpu gpu;
    const auto change = gpu.device.compile(kernels).kernel("change");
    const auto arena = gpu.device.create_arena();
    auto pinned = arena.allocate<float>(64);
    std::fill(pinned.begin(), pinned.end(), 1.0f);
    const auto x = gpu.device.allocate<float>(64);
    gpu.stream.fill(x, 3.0f);
    change.launch(gpu.stream, {2, 2}, 16, x, 64u, Shape{2, 1});
    change.launch(gpu.stream, 1, 32, x.get() + 32, 32u, Shape{1, 10});
    change.launch(gpu.stream, 1, 64, pinned, 64u, Shape{5, 0});
    gpo_launch how{};
    how.grid[0] = 1;
    how.block[0] = 64;
    how.label = "the last";
    change.launch(gpu.stream, how, pinned, 64u, Shape{1, 1});
    std::array<float, 64> back{};
    gpu.stream.copy_to_host(back, x);
    gpu.stream.wait();
    REQUIRE(back[0] == 7 && back[31] == 7 && back[32] == 17 && back[63] == 17 && pinned[0] == 6 && pinned[63] == 6);
    gpu.device.compile(kernels).kernel("nothing").launch(gpu.stream, 1, 1);
    gpu.stream.wait();
    REQUIRE(change.attributes().max_threads_per_block >= 64);
}

TEST("an argument of another size than the parameter's is refused, and so is another count") {
    Gpu gpu;
    const auto change = gpu.device.compile(kernels).kernel("change");
    if (change.attributes().parameter_count == 0) throw Skip{"this driver can't tell a kernel's parameters"};
    const auto x = gpu.device.allocate<float>(64);
    const auto error = error_of([&] { change.launch(gpu.stream, 1, 64, x, std::uint64_t{64}, Shape{}); });
    REQUIRE(error.status() == GPO_INVALID_ARGUMENT && says(error.message(), "1"));
    REQUIRE(status_of([&] { change.launch(gpu.stream, 1, 64, x, 64u, 1.0f); }) == GPO_INVALID_ARGUMENT);
    REQUIRE(status_of([&] { change.launch(gpu.stream, 1, 64, x, 64u); }) == GPO_INVALID_ARGUMENT);
    REQUIRE(status_of([&] { change.launch(gpu.stream, 1, 64, x, 64u, Shape{}, 1); }) == GPO_INVALID_ARGUMENT);
    REQUIRE(status_of([&] { change.launch(gpu.stream, 1, 1 << 20, x, 64u, Shape{}); }) == GPO_INVALID_ARGUMENT);
    REQUIRE(gpu.stream.info().accepted == 0);
}

TEST("a device variable is found by its name") {
    Gpu gpu;
    const auto module = gpu.device.compile(kernels);
    int answer = 0;
    gpu.stream.copy_to_host(&answer, module.symbol<int>("answer"), 1);
    gpu.stream.wait();
    REQUIRE(answer == 42 && status_of([&] { static_cast<void>(module.symbol<int>("question")); }) == GPO_NOT_FOUND);
    REQUIRE(status_of([&] { static_cast<void>(module.symbol<double>("answer")); }) == GPO_INVALID_ARGUMENT);
}

// --- graph templates ---

/// A template of a fill of `x` with 1, whose value is "value", and of `change`, whose data is "data" and whose number
/// of elements is "count".
gpuorch::graph_template recorded(const Gpu& gpu, const gpuorch::buffer<float>& x) {
    const auto change = gpu.device.compile(kernels).kernel("change");
    auto made = gpu.device.create_graph_template();
    made.record(gpu.stream, [&](gpuorch::recording recording) {
        gpu.stream.fill(x, 1.0f);
        recording.parameter("value", GPO_PARAMETER_VALUE);
        recording.parameter("filled", GPO_PARAMETER_ENABLED);
        change.launch(gpu.stream, 1, 64, x, 64u, Shape{2, 1});
        recording.argument("data", 0);
        recording.argument("count", 1);
        recording.parameter("grid", GPO_PARAMETER_GRID);
    });
    return made;
}

std::uint32_t bits_of(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

float first_of(const Gpu& gpu, const gpuorch::buffer<float>& x) {
    std::array<float, 64> back{};
    gpu.stream.copy_to_host(back, x);
    gpu.stream.wait();
    return back[0];
}

TEST("what a callable records runs with each launch of a graph, with the values that were set") {
    Gpu gpu;
    const auto x = gpu.device.allocate<float>(64), y = gpu.device.allocate<float>(64);
    const auto recorded_once = recorded(gpu, x);
    const auto graph = recorded_once.create_graph();
    graph.launch(gpu.stream);
    REQUIRE(first_of(gpu, x) == 3);
    graph.set("value", 10.0f);
    graph.launch(gpu.stream);
    REQUIRE(first_of(gpu, x) == 21 && graph.value<std::uint32_t>("value") == bits_of(10.0f));
    gpu.stream.fill(y, 5.0f);
    graph.launch(gpu.stream, gpuorch::setting("data", y), gpuorch::setting("grid", gpuorch::dim3(1)));
    REQUIRE(first_of(gpu, y) == 11 && first_of(gpu, x) == 10);
    graph.enable("filled", false);
    graph.set(gpuorch::setting(recorded_once.parameter_number("data"), x.get()), gpuorch::setting("count", 1u));
    graph.launch(gpu.stream);
    REQUIRE(first_of(gpu, x) == 21);
    REQUIRE(recorded_once.statistics().launches == 4);
}

TEST("a template draws itself, as SVG or for Graphviz") {
    Gpu gpu;
    const auto x = gpu.device.allocate<float>(64);
    const auto made = recorded(gpu, x);
    const std::string svg = made.picture(), dot = made.picture(GPO_PICTURE_DOT);
    REQUIRE(svg.rfind("<svg ", 0) == 0 && svg.find(">change<") != std::string::npos);
    REQUIRE(dot.rfind("digraph {", 0) == 0 && dot.find("change") != std::string::npos);
    REQUIRE(status_of([&] { static_cast<void>(made.picture(7)); }) == GPO_INVALID_ARGUMENT);
}

TEST("settings are checked: all are set or none") {
    Gpu gpu;
    const auto x = gpu.device.allocate<float>(64);
    const auto graph = recorded(gpu, x).create_graph();
    REQUIRE(status_of([&] { graph.set("valve", 1.0f); }) == GPO_NOT_FOUND);
    REQUIRE(status_of([&] { graph.set("value", 1.0); }) == GPO_INVALID_ARGUMENT);
    REQUIRE(status_of([&] { graph.set(gpuorch::setting("value", 2.0f), gpuorch::setting("count", 2.0)); }) ==
            GPO_INVALID_ARGUMENT);
    REQUIRE(graph.value<float>("value") == 1.0f);
}

TEST("an exception in a recording discards it: the template and the stream stay what they were") {
    Gpu gpu;
    const auto x = gpu.device.allocate<float>(64);
    const auto made = recorded(gpu, x);
    bool came = false;
    try {
        made.record(gpu.stream, [&] {
            gpu.stream.fill(x, 7.0f);
            throw 7;
        });
    } catch (int) {
        came = true;
    }
    REQUIRE(came && made.statistics().nodes == 2);
    REQUIRE(status_of([&] {
                made.record(gpu.stream, [&] {
                    gpu.stream.wait();
                });
            }) == GPO_CAPTURE_REFUSED);
    made.create_graph().launch(gpu.stream);
    REQUIRE(first_of(gpu, x) == 3);
}

TEST("a template launches by itself, and its graphs follow a new recording") {
    Gpu gpu;
    const auto x = gpu.device.allocate<float>(64);
    const auto made = recorded(gpu, x);
    const auto graph = made.create_graph();
    made.prepare(1, gpu.stream);
    made.launch(gpu.stream, gpuorch::setting("value", 4.0f));
    REQUIRE(first_of(gpu, x) == 9);
    made.launch(gpu.stream);
    REQUIRE(first_of(gpu, x) == 3);
    made.record(gpu.stream, [&] { gpu.stream.fill(x, 8.0f); });
    const gpo_graph_update_report report = graph.update();
    graph.launch(gpu.stream);
    REQUIRE(report.rebuilt == 1 && first_of(gpu, x) == 8);
    graph.upload(gpu.stream);
    made.launch(gpu.stream);
    REQUIRE(first_of(gpu, x) == 8);
}

// --- device queues ---

TEST("a range is a kernel's argument, and has an order while there are costs") {
    Gpu gpu;
    constexpr const char* source = R"(
#include <gpuorch/device/queue.cuh>
extern "C" __global__ void list(gpo::range numbers, unsigned* out) {
    gpo::thread_range mine(numbers);
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::queue_success)
        for (; first < last; ++first) out[first] = unsigned(mine.number(first));
}
)";
    const auto list = gpu.device.compile(source).kernel("list");
    gpo_queue_options options{};
    options.kind = GPO_QUEUE_RANGE;
    options.count = 4;
    const auto range = gpu.device.create_queue(options);
    const auto out = gpu.device.allocate<unsigned>(4);
    const auto listed = [&] {
        std::array<unsigned, 4> back{};
        list.launch(gpu.stream, 1, 1, range.range(), out);
        gpu.stream.copy_to_host(back, out);
        gpu.stream.wait();
        return back;
    };
    range.set_costs(gpu.stream, {2, 4, 1, 3});
    REQUIRE((listed() == std::array<unsigned, 4>{1, 3, 0, 2}));
    range.forget_costs(gpu.stream);
    REQUIRE((listed() == std::array<unsigned, 4>{0, 1, 2, 3}));
    range.restart(gpu.stream);
    REQUIRE(range.info().capacity == 4);
    REQUIRE(status_of([&] { range.close(); }) == GPO_NOT_SUPPORTED);
}

TEST("tasks of a ring and of a host ring are values of the host's") {
    struct Task {
        std::uint32_t number, rest[3];
    };
    Gpu gpu;
    gpo_queue_options options{};
    options.kind = GPO_QUEUE_RING;
    options.task_size = sizeof(Task);
    const auto ring = gpu.device.create_queue(options);
    const Task tasks[] = {{1, {}}, {2, {}}};
    ring.push(gpu.stream, tasks, 2);
    gpu.stream.wait();
    REQUIRE(ring.info().pushed == 2 && ring.ring().words[0] != 0);
    ring.abort();
    REQUIRE(ring.info().state == GPO_QUEUE_ABORTED);
    REQUIRE(status_of([&] { static_cast<void>(ring.range()); }) == GPO_BUFFER_TOO_SMALL);

    gpo_stream_options resident{};
    resident.flags = GPO_STREAM_RESIDENT;
    const auto server = gpu.device.create_stream(resident);
    options.kind = GPO_QUEUE_HOST_RING;
    options.capacity = 64;
    options.answer_size = 4;
    options.stream = server;
    const auto requests = gpu.device.create_queue(options);
    gpo_tenant_options tenant{};
    tenant.limit = 3;
    requests.set_tenant(0, tenant);
    requests.post(0, tasks[0], 7);
    REQUIRE(requests.try_post(0, tasks, 2, 8) == 2 && requests.try_post(0, tasks, 2, 8) == 0);
    REQUIRE(status_of([&] { requests.post(0, tasks[0], 9); }) == GPO_WOULD_BLOCK);
    gpo_answer entry{};
    unsigned answer = 0;
    REQUIRE(requests.take(0, &entry, &answer, 1) == 0);
    REQUIRE(!requests.wait(0, std::chrono::nanoseconds(1)));
    requests.abort();
    REQUIRE(status_of([&] { requests.wait(0); }) == GPO_CANCELLED);
    REQUIRE(requests.host_ring().words[0] != 0);
}

TEST("a scheduler does what a stream pushes, says what failed, and stops") {
    struct Task {
        std::uint32_t handler, number, rest[2];
    };
    Gpu gpu;
    gpo_queue_options queue_options{};
    queue_options.kind = GPO_QUEUE_RING;
    queue_options.task_size = sizeof(Task);
    const auto ring = gpu.device.create_queue(queue_options);
    const auto sum = gpu.device.allocate<float>(64);
    gpu.stream.fill(sum, 0.0f);
    gpo_scheduler_options options{};
    options.queue = ring;
    options.argument = sum.get().address();
    options.multiprocessors = 1;
    options.threads = 32;
    constexpr const char* source = R"(
struct task { unsigned handler, number, rest[2]; };
__device__ int add(gpo::task_context& at, const task& mine) {
    if (at.thread() == 0) atomicAdd(at.argument<float>(), float(mine.number));
    return 0;
}
__device__ int refuse(gpo::task_context&, const task& mine) { return int(mine.number); }
)";
    const auto made = gpu.device.create_scheduler(source, {"add", "refuse"}, options);
    made.start();
    const Task tasks[] = {{0, 3, {}}, {1, 51, {}}, {0, 4, {}}};
    ring.push(gpu.stream, tasks, 3);
    gpu.stream.wait();
    REQUIRE(!made.wait(std::chrono::nanoseconds(1)));
    made.drain();
    REQUIRE(first_of(gpu, sum) == 7);
    REQUIRE(made.info().tasks == 3 && made.handler(0).tasks == 2 && made.blocks().size() == 1);
    REQUIRE(made.errors().size() == 1 && made.errors()[0].status == GPO_FAILED && !made.samples().empty());
    REQUIRE(made.drain(1h) && made.stop(1h) && made.wait(1h));
    made.start();
    made.stop();
    made.wait();
    REQUIRE(status_of([&] { made.drain(); }) == GPO_CANCELLED);
    REQUIRE(status_of([&] { static_cast<void>(gpu.device.create_scheduler(source, {"add"}, options)); }) ==
            GPO_INVALID_STATE);
}

TEST("a group of one device has collectives, parts, and says what it is") {
    Gpu gpu;
    const auto alone = gpuorch::peers::create({gpu.device});
    REQUIRE(alone.info().ranks == 1 && alone.link(0, 0).accessible == 1);
    const auto x = gpu.device.allocate<float>(64), y = gpu.device.allocate<float>(64);
    gpu.stream.fill(x, 3.0f);
    const std::vector<gpuorch::rank_buffers> buffers{{gpu.stream, x.get().address(), y.get().address()}};
    alone.all_reduce(GPO_TYPE_FLOAT32, GPO_REDUCE_SUM, 64, buffers);
    REQUIRE(first_of(gpu, y) == 3);
    gpu.stream.fill(x, 4.0f);
    alone.split({0}).reduce_scatter(GPO_TYPE_FLOAT32, GPO_REDUCE_AVERAGE, 64, buffers);
    REQUIRE(first_of(gpu, y) == 4);
    gpu.stream.fill(x, 5.0f);
    alone.reduce(GPO_TYPE_FLOAT32, GPO_REDUCE_MAXIMUM, 64, 0, buffers);
    REQUIRE(first_of(gpu, y) == 5);
    for (int turn = 6; turn < 9; ++turn) {
        gpu.stream.fill(x, static_cast<float>(turn));
        if (turn == 6) alone.broadcast(GPO_TYPE_FLOAT32, 64, 0, buffers);
        if (turn == 7) alone.all_gather(GPO_TYPE_FLOAT32, 64, buffers);
        if (turn == 8) alone.all_to_all(GPO_TYPE_FLOAT32, 64, buffers);
        REQUIRE(first_of(gpu, y) == static_cast<float>(turn));
    }
    alone.barrier(buffers);
    gpu.stream.wait();
    REQUIRE(alone.info().collectives == 6);
    const auto memory = alone.allocate_symmetric(256, {});
    REQUIRE(memory.info().bytes == 256 && gpu.device.describe_memory(memory.address(0)).kind == GPO_MEMORY_DEVICE);
    REQUIRE(memory.argument(0).words[1] == 256);
    REQUIRE(status_of([&] { memory.address(1); }) == GPO_INVALID_ARGUMENT);
    REQUIRE(status_of([&] { alone.abort(); }) == GPO_NOT_SUPPORTED);
    REQUIRE(status_of([&] { alone.all_reduce(0, GPO_REDUCE_SUM, 64, buffers); }) == GPO_INVALID_ARGUMENT);
    gpo_join_options options{};
    options.by = GPO_JOIN_FILE;
    options.ranks = 1;
    REQUIRE(status_of([&] { gpuorch::peers::join(gpu.device, options); }) == GPO_INVALID_ARGUMENT);
}

// --- shape buckets ---

/// Work of buckets: it adds 1 to the product of as many elements as the shape has with a factor, which is 2 where a
/// request sets none.
struct Scaler {
    explicit Scaler(const Gpu& of) : gpu(of) { gpu.stream.fill(x, 10.0f); }

    auto record() {
        return [this](gpuorch::stream_ref stream, const gpuorch::bucket_work& work) {
            shapes.push_back(work.shape());
            change.launch(stream, 1, 64, work.value("data", x), static_cast<unsigned>(work.shape()),
                          work.value("how", Shape{2, 1}));
            work.argument("data", 0);
            work.argument("how", 2);
        };
    }
    std::array<float, 64> read() const {
        std::array<float, 64> back{};
        gpu.stream.copy_to_host(back, x);
        gpu.stream.wait();
        gpu.stream.fill(x, 10.0f);
        return back;
    }
    /// How many elements have this value, from the first on; then all are 10 again.
    std::ptrdiff_t written(float value) const {
        const auto back = read();
        return std::find_if(back.begin(), back.end(), [&](float one) { return one != value; }) - back.begin();
    }

    const Gpu& gpu;
    gpuorch::kernel change = gpu.device.compile(kernels).kernel("change");
    gpuorch::buffer<float> x = gpu.device.allocate<float>(64);
    std::vector<std::uint64_t> shapes;  // of all calls
};

TEST("a request runs in the smallest bucket that it fits into, with its settings; without one it runs eagerly") {
    Gpu gpu;
    Scaler scaler(gpu);
    gpo_buckets_options options{};
    options.max_buckets = 1;
    const auto buckets = gpu.device.create_buckets({16, 4}, scaler.record(), options);
    REQUIRE(buckets.launch(gpu.stream, 3) == 4 && scaler.shapes == std::vector<std::uint64_t>{4, 4});
    scaler.written(21);
    REQUIRE(buckets.launch(gpu.stream, 4) == 4 && scaler.written(21) == 4);
    const auto y = gpu.device.allocate<float>(64);
    gpu.stream.fill(y, 1.0f);
    REQUIRE(buckets.launch(gpu.stream, 2, gpuorch::setting("how", Shape{5, 0}), gpuorch::setting("data", y)) == 4);
    REQUIRE(first_of(gpu, y) == 5 && scaler.written(10) == 64);
    REQUIRE(buckets.launch(gpu.stream, 50, gpuorch::setting("how", Shape{7, 0})) == 0 && scaler.written(70) == 50);
    REQUIRE(buckets.launch(gpu.stream, 9) == 16);
    const gpo_buckets_statistics counts = buckets.statistics();
    REQUIRE(counts.hits == 2 && counts.misses == 2 && counts.eager == 1 && counts.evictions == 1);
    REQUIRE(counts.buckets == 1 && counts.requested == 3 + 4 + 2 + 50 + 9 && counts.padded == 1 + 0 + 2 + 7);
}

TEST("buckets that were prepared record nothing more, and are padded by a callable or with zeros") {
    Gpu gpu;
    Scaler scaler(gpu);
    const auto sevens = [&](gpuorch::stream_ref stream, const gpuorch::bucket_work& work) {
        stream.fill(scaler.x.get() + work.size(), 7.0f, work.shape() - work.size());
    };
    const auto buckets = gpu.device.create_buckets({4, 16}, scaler.record(), sevens);
    buckets.prepare(gpu.stream);
    REQUIRE(scaler.shapes == std::vector<std::uint64_t>{16, 16, 4, 4});
    scaler.read();
    REQUIRE(buckets.launch(gpu.stream, 10) == 16);
    const auto padded = scaler.read();
    REQUIRE(padded[9] == 21 && padded[10] == 15 && padded[15] == 15 && padded[16] == 10);
    REQUIRE(buckets.statistics().hits == 1 && scaler.shapes.size() == 4);

    gpo_buckets_options options{};
    options.pad_address = scaler.x.get().address();
    options.pad_element_bytes = sizeof(float);
    const auto zeros = gpu.device.create_buckets({4}, scaler.record(), options);
    zeros.prepare(gpu.stream);
    scaler.read();
    REQUIRE(zeros.launch(gpu.stream, 3) == 4);
    const auto with_zeros = scaler.read();
    REQUIRE(with_zeros[2] == 21 && with_zeros[3] == 1 && with_zeros[4] == 10);
}

TEST("a callable of buckets is told why it is called, a warm-up leaves what is restored, and failures fall back") {
    Gpu gpu;
    Scaler scaler(gpu);
    std::vector<std::uint32_t> phases;
    bool fails = false;
    const auto record = [&, put = scaler.record()](gpuorch::stream_ref stream, const gpuorch::bucket_work& work) {
        phases.push_back(work.phase());
        put(stream, work);
        if (fails && work.phase() == GPO_BUCKET_RECORDING) throw 7;
    };
    gpo_buckets_options options{};
    const gpo_memory_range ranges[] = {scaler.x.range()};
    options.restored = ranges;
    options.restored_stride = sizeof ranges[0];
    options.restored_count = 1;
    options.flags = GPO_BUCKETS_EAGER_FALLBACK;
    const auto buckets = gpu.device.create_buckets({4, 16}, record, options);
    REQUIRE(buckets.launch(gpu.stream, 4) == 4 && scaler.written(21) == 4);
    fails = true;
    REQUIRE(buckets.launch(gpu.stream, 9) == 0 && scaler.written(21) == 9);
    REQUIRE(phases == std::vector<std::uint32_t>{GPO_BUCKET_WARM_UP, GPO_BUCKET_RECORDING, GPO_BUCKET_WARM_UP,
                                                 GPO_BUCKET_RECORDING, GPO_BUCKET_EAGER});
    const gpo_buckets_statistics counts = buckets.statistics();
    REQUIRE(counts.failures == 1 && counts.fallbacks == 1 && says(counts.last_failure, "bucket 16"));
}

TEST("an exception in a callable of buckets fails the request, and the next one is a first one again") {
    Gpu gpu;
    Scaler scaler(gpu);
    bool fails = true;
    const auto record = [&, put = scaler.record()](gpuorch::stream_ref stream, const gpuorch::bucket_work& work) {
        put(stream, work);
        if (fails) throw 7;
    };
    const auto pad = [](gpuorch::stream_ref, const gpuorch::bucket_work&) { throw std::runtime_error("no"); };
    const auto buckets = gpu.device.create_buckets({4}, record, pad);
    const auto failure = error_of([&] { buckets.launch(gpu.stream, 4); });
    REQUIRE(failure.status() == GPO_CALLBACK_FAILED && says(failure.message(), "bucket 4"));
    REQUIRE(says(failure.message(), "the record callback threw a C++ exception"));
    fails = false;
    REQUIRE(buckets.launch(gpu.stream, 4) == 4);
    scaler.read();
    REQUIRE(says(error_of([&] { buckets.launch(gpu.stream, 3); }).message(), "the pad callback threw"));
    REQUIRE(scaler.written(10) == 64);
    REQUIRE(status_of([&] { buckets.launch(gpu.stream, 4, gpuorch::setting("haw", 1)); }) == GPO_NOT_FOUND);
    const gpo_buckets_statistics counts = buckets.statistics();
    REQUIRE(counts.misses == 1 && counts.hits == 0 && counts.requested == 4);
}

TEST("a setting of another size than the work asks for is an error there") {
    Gpu gpu;
    Scaler scaler(gpu);
    const auto buckets = gpu.device.create_buckets({1}, scaler.record());
    REQUIRE(status_of([&] { buckets.launch(gpu.stream, 2, gpuorch::setting("how", 1)); }) == GPO_CALLBACK_FAILED);
    REQUIRE(scaler.written(10) == 64);
}

TEST("callables go with their buckets, which may go in one of them, and stay if the handle is given up") {
    Gpu gpu;
    std::atomic<int> living{0}, calls{0};
    gpuorch::buckets buckets;
    const auto work = [&, counted = Counted(living, calls)](gpuorch::stream_ref, const gpuorch::bucket_work&) mutable {
        buckets.reset();
        ++calls;
        REQUIRE(living > 0);
    };
    buckets = gpu.device.create_buckets({4}, work);
    REQUIRE(living == 2 && buckets.launch(gpu.stream, 4) == 4);
    REQUIRE(calls == 2);
    buckets = {};
    REQUIRE(living == 1);

    auto released = gpu.device.create_buckets({4}, [counted = Counted(living, calls)](auto...) mutable { counted(); });
    const gpo_buckets_t handle = released.release();
    released = {};
    REQUIRE(living == 2 && gpo_buckets_prepare(handle, gpu.stream) == GPO_SUCCESS && calls == 4);
    REQUIRE(gpo_buckets_destroy(handle) == GPO_SUCCESS);
}

TEST("memory that a template owns outlives its handle, as long as a graph of it does") {
    Gpu gpu;
    const auto change = gpu.device.compile(kernels).kernel("change");
    gpuorch::graph graph;
    gpuorch::host_memory<float> host;
    {
        const auto made = gpu.device.create_graph_template();
        const auto device = made.allocate<float>(64);
        host = made.allocate_host<float>(64);
        REQUIRE(device && host.size() == 64);
        REQUIRE(status_of([&] { static_cast<void>(made.allocate<float>(0)); }) == GPO_INVALID_ARGUMENT);
        REQUIRE(gpo_memory_free(gpu.device, device.address()) == GPO_INVALID_STATE);
        made.record(gpu.stream, [&] {
            gpu.stream.fill(device, 1.0f, 64);
            change.launch(gpu.stream, 1, 64, device, 64u, Shape{2, 1});
            gpu.stream.copy_to_host(host.data(), device, 64);
            change.launch(gpu.stream, 1, 64, host, 64u, Shape{2, 1});
        });
        graph = made.create_graph();
    }
    graph.launch(gpu.stream);
    gpu.stream.wait();
    REQUIRE(host[0] == 7 && host[63] == 7);
}

TEST("a graph allocates memory in its place, and frees it") {
    Gpu gpu;
    const auto x = gpu.device.allocate<float>(64);
    const auto made = gpu.device.create_graph_template();
    made.record(gpu.stream, [&](gpuorch::recording recording) {
        const auto scratch = made.add_allocation<float>(64);
        recording.set_last_node(scratch.node);
        gpu.stream.fill(scratch.memory, 6.0f, 64);
        gpu.stream.copy_on_device(x.get(), scratch.memory, 64);
        recording.set_last_node(made.add_free(scratch.memory, {recording.last_node()}));
    });
    const auto graph = made.create_graph();
    graph.launch(gpu.stream);
    REQUIRE(first_of(gpu, x) == 6);
    const auto other = gpu.device.create_graph_template();
    const auto unordered = other.add_allocation<float>(64);
    REQUIRE(status_of([&] { other.add_free(unordered.memory, {}); }) == GPO_INVALID_ARGUMENT);
    REQUIRE(status_of([&] { static_cast<void>(made.create_graph()); }) == GPO_NOT_SUPPORTED);
    static_cast<void>(gpu.device.create_graph_template().add_allocation<float>(64));
}

TEST("a graph of the program's becomes a template of its own") {
    Gpu gpu;
    const auto x = gpu.device.allocate<float>(64);
    void* native = nullptr;
    auto theirs = recorded(gpu, x);
    REQUIRE(gpo_template_get_native(theirs, &native) == GPO_SUCCESS);
    gpo_template_options options{};
    options.label = "imported";
    const auto imported = gpu.device.import_graph(native, options);
    theirs.reset();
    imported.parameter("begin", 1, GPO_PARAMETER_VALUE);
    imported.create_graph().launch(gpu.stream, gpuorch::setting("begin", 10.0f));
    REQUIRE(first_of(gpu, x) == 21);
    REQUIRE(status_of([&] { static_cast<void>(gpu.device.import_graph(nullptr)); }) == GPO_INVALID_ARGUMENT);
}

// --- order ---

TEST("what a process exports is no other's, and isn't imported by the process itself") {
    Gpu gpu;
    gpo_event_options options{};
    options.flags = GPO_EVENT_INTERPROCESS;
    const auto event = gpu.device.create_event(options), plain = gpu.device.create_event();
    const auto x = gpu.device.allocate<int>(100);
    const gpuorch::exported_bytes of_event = event.exported(), of_memory = x.exported();
    REQUIRE(of_event != of_memory && of_memory == x.exported());
    REQUIRE(status_of([&] { static_cast<void>(plain.exported()); }) == GPO_INVALID_ARGUMENT);
    REQUIRE(status_of([&] { static_cast<void>(gpu.device.import_event(of_event)); }) == GPO_INVALID_ARGUMENT);
    REQUIRE(status_of([&] { static_cast<void>(gpu.device.import_memory<int>(of_memory)); }) == GPO_INVALID_ARGUMENT);
}

TEST("an admission lets requests in, by entries and by callables") {
    Gpu gpu;
    gpuorch::admission_options options;
    options.count = 1;
    const auto admission = gpu.runtime.create_admission(options);
    gpuorch::cq_options one;
    one.capacity = 1;
    const auto queue = gpu.runtime.create_completion_queue(one);
    gpuorch::admission_request request;
    request.flow = 3;
    const auto in = admission.enter(request, queue, 7);
    REQUIRE(!admission.try_enter(gpuorch::admission_request{}, queue, 8));   // the queue is full
    gpo_completion entry[1]{};
    REQUIRE(queue.drain(entry, 1) == 1 && entry[0].user_data == 7 && entry[0].operation == in);
    std::atomic<int> living{0}, calls{0};
    const auto waits = admission.enter_then(gpuorch::admission_request{}, gpu.executor, Counted(living, calls));
    const auto later = admission.try_enter(gpuorch::admission_request{}, queue, 9);
    REQUIRE(later.has_value());
    REQUIRE(status_of([&] { admission.leave(waits); }) == GPO_INVALID_STATE);
    auto stream = gpu.device.create_stream();
    admission.leave_after(in, stream);
    stream.wait();
    wait_until(calls, 1);
    REQUIRE(admission.info().waiting == 1 && admission.info().held == 1);
    admission.set_flow(3, 2);
    admission.set_budget(2, 0);
    REQUIRE(queue.wait(30s) && queue.drain(entry, 1) == 1 && entry[0].user_data == 9);
    admission.leave(waits);
    admission.leave(*later);
    REQUIRE(status_of([&] { admission.cancel(*later); }) == GPO_NOT_FOUND);
    request.count = 3;
    REQUIRE(status_of([&] { admission.enter_then(request, gpu.executor, Counted(living, calls)); }) ==
            GPO_LIMIT_EXCEEDED);
    wait_until(living, 0);
    REQUIRE(calls == 1);
}

TEST("a batcher runs requests together, by entries and by callables") {
    Gpu gpu;
    auto batcher = gpuorch::batcher::create({gpu.device});
    gpuorch::batcher_key_options rows;
    rows.layout = GPO_BATCH_ROWS;
    rows.input_bytes = rows.output_bytes = 16;
    std::atomic<int> living{0}, calls{0};
    const auto copy = [counted = Counted(living, calls)](gpuorch::stream_ref stream, const gpo_batch& batch) {
        ++*counted.calls;
        gpuorch::check(gpo_copy_on_device(stream, batch.output, batch.input, batch.requests * 16));
    };
    const auto key = batcher.add_key(rows, copy);
    REQUIRE(living == 2);
    rows.label = "fails";
    const auto fails = batcher.add_key(rows, [](gpuorch::stream_ref, const gpo_batch&) { throw 1; });
    REQUIRE(status_of([&] { batcher.add_key(rows); }) == GPO_INVALID_ARGUMENT);
    const std::vector<gpo_buckets_t> none{nullptr};
    REQUIRE(status_of([&] { batcher.add_key(rows, none); }) == GPO_INVALID_HANDLE);
    rows.layout = 7;
    REQUIRE(status_of([&] { batcher.add_key(rows, copy); }) == GPO_INVALID_ARGUMENT && living == 2);

    const auto queue = gpu.runtime.create_completion_queue();
    const std::array<float, 4> in{1, 2, 3, 4};
    std::array<float, 4> out{}, other{};
    gpuorch::batcher_request request;
    request.key = key;
    request.flow = 3;
    request.input = in.data();
    request.output = out.data();
    const auto ticket = batcher.submit(request, queue, 7);
    gpo_completion entry[1]{};
    REQUIRE(queue.wait(30s) && queue.drain(entry, 1) == 1 && entry[0].user_data == 7 && entry[0].operation == ticket);
    REQUIRE(entry[0].status == GPO_SUCCESS && entry[0].origin == GPO_ORIGIN_BATCHER && out == in);
    REQUIRE(status_of([&] { batcher.cancel(ticket); }) == GPO_NOT_FOUND);
    request.output = other.data();
    std::promise<gpo_status> done;
    batcher.submit_then(request, gpu.executor, [&](gpo_status status) { done.set_value(status); });
    REQUIRE(done.get_future().get() == GPO_SUCCESS && other == in && calls == 2);

    request.key = fails;
    REQUIRE(batcher.try_submit(request, queue, 8).has_value());
    REQUIRE(queue.wait(30s) && queue.drain(entry, 1) == 1 && entry[0].status == GPO_CALLBACK_FAILED);
    request.deadline_ns = 1;
    std::uint64_t wait = 0;
    REQUIRE(!batcher.try_submit(request, queue, 9, &wait));
    REQUIRE(status_of([&] { batcher.submit(request, queue, 9); }) == GPO_TIMEOUT);
    batcher.set_flow(3, 2);
    REQUIRE(batcher.info().keys == 2 && batcher.info().succeeded == 2 && batcher.key_info(fails).failed == 1);
    REQUIRE(batcher.flow_info(3).weight == 2);
    auto moved = std::move(batcher);
    REQUIRE(moved && !batcher && living == 2);
    moved.reset();
    while (living != 1) std::this_thread::yield();  // when the last batch has ended, on any thread
}

TEST("streams wait for streams, events and timelines") {
    Gpu gpu;
    const auto other = gpu.device.create_stream(), third = gpu.device.create_stream();
    const auto x = gpu.device.allocate<int>(1);
    const auto event = gpu.device.create_event();
    const auto finished = gpu.runtime.create_timeline();
    gpu.hold();
    gpu.stream.fill(x, 1);
    event.record(gpu.stream);
    other.wait_event(event);
    other.fill(x, 2);
    third.wait_stream(other);
    int last = 0;
    third.copy_to_host(&last, x.get(), 1);
    third.signal_timeline(finished, 8);
    REQUIRE(!finished.wait(8, 1ms));
    gpu.timeline.signal(1);
    finished.wait(8);
    REQUIRE(last == 2);
    gpu.hold(2);
    gpu.stream.fill(x, 3);
    REQUIRE(gpu.stream.cancel_held() >= 1 && gpu.stream.wait(1h));
}

TEST("a stream that a pool has lent goes back with its object") {
    Gpu gpu;
    gpo_stream_pool_options two{};
    two.streams = 2;
    const auto pool = gpu.device.create_stream_pool(two);
    gpo_stream_t handle = nullptr;
    {
        auto lent = pool.acquire();
        handle = lent.get();
        gpuorch::pooled_stream moved(std::move(lent));
        REQUIRE(!lent && moved.get() == handle && moved.query());
        moved = pool.acquire();
        REQUIRE(moved.get() != handle);
    }
    REQUIRE(gpo_stream_pool_release(pool, handle) == GPO_INVALID_ARGUMENT);
}

// --- callbacks ---

TEST("then calls exactly once with the status, and destroys what it called") {
    Gpu gpu;
    std::atomic<int> living{0}, calls{0};
    const auto event = gpu.device.create_event();
    event.record(gpu.stream);
    for (int i = 0; i < 100; ++i) gpu.stream.then(gpu.executor, Counted(living, calls));
    event.then(gpu.executor, Counted(living, calls));
    gpu.timeline.then(1, gpu.executor, Counted(living, calls));
    wait_until(calls, 101);
    gpu.timeline.signal(1);
    wait_until(calls, 102);
    gpu.executor.run();
    wait_until(living, 0);
    REQUIRE(calls == 102 && gpu.executor.statistics().called == 102);
}

TEST("a callable may be move-only, and may have the completion and the failure") {
    Gpu gpu;
    std::promise<gpo_status> promise;
    auto told = promise.get_future();
    gpu.stream.then(gpu.executor, [own = std::move(promise)](gpo_status status) mutable { own.set_value(status); });
    REQUIRE(told.get() == GPO_SUCCESS);
    std::promise<std::string> other;
    gpu.timeline.then(3, gpu.executor, [&](const gpo_completion& done, const gpo_error* failure) {
        other.set_value(done.status == GPO_FAILED && failure != nullptr ? failure->message : "no failure");
    });
    gpu.timeline.fail(GPO_FAILED, "on purpose");
    REQUIRE(says(other.get_future().get(), "on purpose"));
}

TEST("post calls at once or at a time, in three forms, and cancel calls before the time") {
    Gpu gpu;
    std::atomic<int> living{0}, calls{0}, plain{0};
    std::vector<gpo_status> status;
    gpuorch::executor_options options;
    options.flags = GPO_EXECUTOR_CALLER;
    const auto executor = gpu.runtime.create_executor(options);
    executor.post(Counted(living, calls));
    executor.post([&] { ++plain; });
    executor.post([&](const gpo_completion& done, const gpo_error* failure) {
        REQUIRE(done.origin == GPO_ORIGIN_EXECUTOR && failure == nullptr);
        status.push_back(done.status);
    });
    REQUIRE(executor.run() == 3 && calls == 1 && living == 0 && plain == 1);

    const auto time = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    REQUIRE(executor.post_at(time, [&, time] { plain += std::chrono::steady_clock::now() >= time; }) != 0);
    const auto later = time + std::chrono::hours(1);
    const auto form = executor.post_at(later, [&](gpo_status with) { status.push_back(with); });
    const auto never = executor.post_at(later, [&] { plain = 100; });
    executor.cancel(form);
    executor.cancel(never);
    REQUIRE(status_of([&] { executor.cancel(never); }) == GPO_NOT_FOUND);
    REQUIRE(executor.run() == 3 && plain == 2);
    REQUIRE(status == (std::vector<gpo_status>{GPO_SUCCESS, GPO_CANCELLED}));
    executor.post_at(std::chrono::steady_clock::time_point::min(), [&] { ++plain; });
    REQUIRE(executor.run() == 1 && plain == 3 && executor.time() != 0);

    options.capacity = 1;
    const auto small = gpu.runtime.create_executor(options);
    REQUIRE(small.try_post(Counted(living, calls)) && !small.try_post(Counted(living, calls)));
    REQUIRE(status_of([&] { small.post(Counted(living, calls)); }) == GPO_WOULD_BLOCK && living == 1);
    REQUIRE(small.run() == 1 && calls == 2 && living == 0);
}

TEST("a callable is called once, with GPO_CANCELLED, when the executor goes first") {
    Gpu gpu;
    std::atomic<int> calls{0}, status{0};
    gpu.hold();
    auto executor = gpu.runtime.create_executor();
    gpu.stream.then(executor, [&](gpo_status with) { status = with, ++calls; });
    executor.reset();
    wait_until(calls, 1);
    gpu.timeline.signal(1);
    gpu.stream.wait();
    gpu.device.wait();
    REQUIRE(status == GPO_CANCELLED && calls == 1);
}

TEST("a call that throws calls nothing, and keeps nothing") {
    Gpu gpu;
    std::atomic<int> living{0}, calls{0};
    auto gone = gpu.runtime.create_executor();
    const gpo_executor_t handle = gone.get();
    gone.reset();
    REQUIRE(status_of([&] { gpu.stream.then(handle, Counted(living, calls)); }) == GPO_STALE_HANDLE);
    REQUIRE(status_of([&] { gpu.stream.host_call(handle, Counted(living, calls)); }) == GPO_STALE_HANDLE);
    REQUIRE(living == 0 && calls == 0);
}

TEST("an exception that leaves a callable is counted, and the callable goes") {
    Gpu gpu;
    std::atomic<int> living{0}, calls{0};
    gpu.stream.then(gpu.executor, [counted = Counted(living, calls)](gpo_status) mutable {
        counted();
        throw std::runtime_error("on purpose");
    });
    wait_until(living, 0);
    gpu.executor.run();
    REQUIRE(calls == 1 && gpu.executor.statistics().threw == 1 && gpu.stream.query());
}

TEST("an exception that leaves a host call fails the stream with the exception's text") {
    Gpu gpu;
    const std::function<void()> fails = [] { throw std::runtime_error("the disk is full"); };
    gpu.stream.host_call(gpu.executor, fails);
    gpu.executor.run();
    const auto failure = error_of([&] { gpu.stream.wait(); });
    REQUIRE(failure.status() == GPO_CALLBACK_FAILED && says(failure.message(), "a C++ exception: the disk is full"));
    REQUIRE(says(failure.what(), "the disk is full"));
    auto of_stream = gpuorch::sized<gpo_error>();
    gpuorch::check(gpo_object_get_error(gpu.stream, &of_stream));
    REQUIRE(of_stream.status == GPO_CALLBACK_FAILED && says(of_stream.message, "the disk is full"));

    // The library's own failure in a host call says which function has failed, and why.
    const auto another = gpu.device.create_stream();
    another.host_call(gpu.executor, [] { gpuorch::stream().wait(); });
    const auto inner = error_of([&] { another.wait(); });
    REQUIRE(inner.status() == GPO_CALLBACK_FAILED && says(inner.message(), "gpo_stream_wait: ") &&
            says(inner.message(), "GPO_INVALID_HANDLE"));
}

TEST("a host call runs in the order of the stream, and what is behind it waits") {
    Gpu gpu;
    const auto x = gpu.device.allocate<int>(1);
    int before = 0, after = 0, *value = &before;
    gpu.stream.fill(x, 1);
    gpu.stream.copy_to_host(value, x.get(), 1);
    gpu.stream.host_call(gpu.executor, [&] { after = before + 1; });
    gpu.stream.fill(x, 9);
    gpu.stream.wait();
    REQUIRE(before == 1 && after == 2);
}

TEST("a host call that isn't to do its work is destroyed, or told so") {
    Gpu gpu;
    std::atomic<int> living{0}, calls{0}, status{0};
    gpu.hold();
    gpu.stream.host_call(gpu.executor, Counted(living, calls));
    gpu.stream.host_call(gpu.executor, [&](const gpo_host_call& call) -> gpo_status { return status = call.status; });
    gpu.timeline.fail(GPO_FAILED, "on purpose");
    wait_until(living, 0);
    wait_until(status, GPO_FAILED);
    REQUIRE(calls == 0);
}

TEST("an exception that leaves a host call fails the stream") {
    Gpu gpu;
    gpu.stream.host_call(gpu.executor, [] { throw std::runtime_error("on purpose"); });
    REQUIRE(status_of([&] { gpu.stream.wait(); }) == GPO_CALLBACK_FAILED);
}

// --- pipelines ---

std::vector<unsigned char> numbers(std::size_t count) {
    std::vector<unsigned char> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<unsigned char>(i * 7 + i / 256);
    return all;
}

std::vector<unsigned char> inverted(std::vector<unsigned char> all) {
    for (auto& byte : all) byte = static_cast<unsigned char>(byte ^ 255);
    return all;
}

/// A pipeline that inverts, in chunks of 4096 bytes, and says 7 + its index of each chunk.
struct Inverter : Gpu {
    gpuorch::kernel invert = device.compile(kernels).kernel("invert");
    gpuorch::pipeline pipeline = create(settings());

    static gpo_pipeline_options settings() {
        gpo_pipeline_options options{};
        options.chunk_bytes = 4096;
        options.result_bytes = sizeof(unsigned);
        return options;
    }
    gpuorch::pipeline create(const gpo_pipeline_options& options) {
        return device.create_pipeline(
            {gpuorch::kernel_stage(invert, chunk::input, chunk::output, chunk::input_bytes, chunk::result, chunk::index,
                                   static_cast<unsigned char>(255))
                 .block(64)
                 .grid(2)
                 .label("invert")},
            options);
    }
};

TEST("a pipeline goes from memory to memory, and again") {
    Inverter gpu;
    const auto input = numbers(10000);
    for (int i = 0; i < 3; ++i) {
        std::vector<unsigned char> output(10000);
        const auto result = gpu.pipeline.run(gpuorch::from_memory(input), gpuorch::to_memory(output));
        REQUIRE(output == inverted(input) && result.bytes_in == 10000 && result.bytes_out == 10000 &&
                result.chunks == 3);
    }
    REQUIRE(gpu.pipeline.progress().bytes_done == 10000 && gpu.pipeline.wait(1h)->chunks == 3);
    std::array<unsigned char, 100> small{};
    REQUIRE(status_of([&] { gpu.pipeline.run(gpuorch::from_memory(input), gpuorch::to_memory(small)); }) ==
            GPO_LIMIT_EXCEEDED);
}

TEST("a pipeline goes from file to file, from an offset on, and names a file that isn't there") {
    Inverter gpu;
    const auto in = file_name("in"), out = file_name("out");
    const auto input = numbers(20000);
    std::ofstream(in, std::ios::binary).write(reinterpret_cast<const char*>(input.data()), 20000);
    const auto written = [&] {
        std::ifstream file(out, std::ios::binary);
        return std::vector<unsigned char>(std::istreambuf_iterator<char>(file), {});
    };
    gpu.pipeline.run(gpuorch::from_file(in).unchanged(), gpuorch::to_file(out));
    REQUIRE(written() == inverted(input));
    gpu.pipeline.run(gpuorch::from_file(in).offset(1000).bytes(5000), gpuorch::to_file(out));
    REQUIRE(written() == inverted({input.begin() + 1000, input.begin() + 6000}));
    std::FILE *from = std::fopen(in.c_str(), "rb"), *to = std::fopen(out.c_str(), "wb");
    gpu.pipeline.run(gpuorch::from_descriptor(fileno(from)), gpuorch::to_descriptor(fileno(to)));
    std::fclose(from), std::fclose(to);
    REQUIRE(written() == inverted(input));
    const auto error = error_of([&] { gpu.pipeline.run(gpuorch::from_file(in + ".none"), gpuorch::to_file(out)); });
    REQUIRE(error.status() == GPO_NOT_FOUND && says(error.what(), in + ".none"));
    unlink(in.c_str()), unlink(out.c_str());
}

TEST("a pipeline goes from callable to callable, and its sink sees the results in order") {
    Inverter gpu;
    const auto input = numbers(30000);
    std::size_t given = 0;
    std::vector<unsigned char> output;
    bool right = true;
    const auto fill = [&](void* buffer, std::size_t capacity) {
        const std::size_t bytes = std::min({capacity, input.size() - given, std::size_t{1500}});
        std::memcpy(buffer, input.data() + given, bytes);
        return given += bytes, bytes;
    };
    gpu.pipeline.run(gpuorch::from_callable(fill), gpuorch::to_callable([&](const gpo_chunk& chunk) {
                         const auto bytes = static_cast<const unsigned char*>(chunk.output);
                         output.insert(output.end(), bytes, bytes + chunk.output_bytes);
                         right = right && *static_cast<const unsigned*>(chunk.result) == chunk.index + 7;
                     }));
    REQUIRE(right && output == inverted(input));
    std::vector<unsigned char> memory(input.size());
    int seen = 0;
    gpu.pipeline.run(gpuorch::from_memory(input),
                     gpuorch::to_memory(memory).take([&](const gpo_chunk& chunk) -> gpo_status {
                         return ++seen, chunk.index == 2 ? GPO_END : GPO_SUCCESS;
                     }));
    REQUIRE(seen == 3 && std::equal(memory.begin(), memory.begin() + 3 * 4096, inverted(input).begin()));
}

/// A source without an end, which counts itself.
struct Endless {
    Counted counted;
    std::size_t operator()(void* buffer, std::size_t capacity) {
        std::memset(buffer, 1, capacity);
        counted();
        return capacity;
    }
};

TEST("a wait for a run can show its progress meanwhile, and cancel it") {
    Inverter gpu;
    const auto input = numbers(10000);
    std::vector<unsigned char> output(10000);
    std::atomic<std::uint64_t> shown{0};
    std::size_t given = 0;
    const auto fill = [&](void* buffer, std::size_t capacity) {  // holds back its end until progress was shown twice
        while (given == input.size() && shown < 2) std::this_thread::yield();
        const std::size_t bytes = std::min(capacity, input.size() - given);
        std::memcpy(buffer, input.data() + given, bytes);
        return given += bytes, bytes;
    };
    gpu.pipeline.start(gpuorch::from_callable(fill), gpuorch::to_memory(output));
    bool sane = true;
    const auto result = gpu.pipeline.wait(1ms, [&](const gpo_pipeline_progress& now) {
        sane = sane && now.bytes_done <= input.size();
        ++shown;
    });
    REQUIRE(result.bytes_out == 10000 && sane && shown >= 2 && output == inverted(input));
    std::atomic<int> living{0}, calls{0};
    gpu.pipeline.start(gpuorch::from_callable(Endless{Counted(living, calls)}), gpuorch::to_nothing());
    const auto cancel = [&](const gpo_pipeline_progress&) { gpu.pipeline.cancel(); };
    REQUIRE(status_of([&] { gpu.pipeline.wait(1ms, cancel); }) == GPO_CANCELLED);
}

TEST("a pipeline that is reset cancels its run and destroys what it has called") {
    Gpu gpu;
    std::atomic<int> living{0}, calls{0};
    const auto nothing = gpuorch::callback_stage([](gpuorch::stream_ref, const gpo_chunk&) {});
    auto pipeline = gpu.device.create_pipeline({nothing});
    auto next = gpu.device.create_pipeline({nothing});
    const auto first = pipeline.get(), second = next.get();
    pipeline.start(gpuorch::from_callable(Endless{Counted(living, calls)}), gpuorch::to_nothing());
    while (calls == 0) std::this_thread::yield();
    pipeline.reset(next.release());
    REQUIRE(!alive(first) && alive(second) && pipeline.get() == second && living == 0 && calls > 0);
    pipeline.reset();
    REQUIRE(!alive(second) && !pipeline);
}

TEST("a stage may be a callable, several stages run one after the other") {
    Inverter gpu;
    const auto change = gpu.device.compile(kernels).kernel("change");
    auto options = gpu.settings();
    options.scratch_bytes = 4096;
    const auto pipeline = [&] {
        const auto first = gpuorch::callback_stage([&](gpuorch::stream_ref stream, const gpo_chunk& chunk) {
            stream.copy_on_device(gpuorch::device_ptr<float>(chunk.output_address),
                                  gpuorch::device_ptr<float>(chunk.input_address), chunk.bytes / sizeof(float));
            change.launch(stream, 16, 64, gpuorch::device_ptr<float>(chunk.output_address),
                          static_cast<unsigned>(chunk.bytes / sizeof(float)), Shape{2, 0});
        });
        const auto second = gpuorch::kernel_stage(change, chunk::output, 1024u, Shape{1, 5}).block(64).grid(16);
        return gpu.device.create_pipeline({first, second}, options);
    };
    auto made = pipeline();
    std::vector<float> input(2048, 3.0f), output(2048);
    made.run(gpuorch::from_memory(input), gpuorch::to_memory(output));
    REQUIRE(output == std::vector<float>(2048, 11.0f));
}

TEST("a pipeline over two devices has a kernel and values of each, and says what each did") {
    setenv("GPUORCH_SOFT_DEVICES", "2", 1);
    const auto runtime = gpuorch::runtime::create();
    gpo_device_options second{};
    second.ordinal = 1;
    const gpuorch::device devices[] = {runtime.open_device(), runtime.open_device(second)};
    unsetenv("GPUORCH_SOFT_DEVICES");
    const gpuorch::kernel kernels_of[] = {devices[0].compile(kernels).kernel("invert"),
                                          devices[1].compile(kernels).kernel("invert")};
    const gpo_device_t handles[] = {devices[0], devices[1]};
    auto options = Inverter::settings();
    options.devices = handles;
    options.device_count = 2;
    const auto stage = [&](std::vector<gpo_kernel_t> each, const std::vector<unsigned char>& masks) {
        return gpuorch::kernel_stage(std::move(each), chunk::input, chunk::output, chunk::input_bytes, chunk::result,
                                     chunk::index, gpuorch::per_device(masks))
            .block(64)
            .grid(2);
    };
    auto pipeline = devices[0].create_pipeline({stage({kernels_of[0], kernels_of[1]}, {255, 15})}, options);
    const auto input = numbers(50000);
    std::vector<unsigned char> output(50000);
    bool right = true;
    const auto result = pipeline.run(
        gpuorch::from_memory(input), gpuorch::to_memory(output).take([&](const gpo_chunk& taken) {
            const unsigned char mask = taken.device == 0 ? 255 : 15;
            for (std::uint64_t i = taken.offset; i < taken.offset + taken.bytes; ++i)
                right = right && output[i] == static_cast<unsigned char>(input[i] ^ mask);
        }));
    REQUIRE(right && result.chunks == 13);
    REQUIRE(pipeline.share(0).chunks + pipeline.share(1).chunks == 13);
    REQUIRE(pipeline.share(0).chunks > 0 && pipeline.share(1).bytes_in > 0);
    REQUIRE(status_of([&] { pipeline.share(2); }) == GPO_INVALID_ARGUMENT);
    const auto why = [&](const gpuorch::stage& wrong) -> std::string {
        return error_of([&] { static_cast<void>(devices[0].create_pipeline({wrong}, options)); }).what();
    };
    REQUIRE(says(why(stage({kernels_of[0]}, {1, 2})), "one kernel for each device"));
    REQUIRE(says(why(stage({kernels_of[0], kernels_of[1]}, {1})), "one value for each device"));
}

TEST("an exception in a source, a stage or a sink ends the run, and the next one goes") {
    Inverter gpu;
    const auto input = numbers(30000);
    const auto thrown = [](auto&&...) -> std::size_t { throw std::runtime_error("on purpose"); };
    std::vector<unsigned char> output(30000);
    REQUIRE(status_of([&] { gpu.pipeline.run(gpuorch::from_callable(thrown), gpuorch::to_memory(output)); }) ==
            GPO_CALLBACK_FAILED);
    REQUIRE(status_of([&] {
                gpu.pipeline.run(gpuorch::from_memory(input), gpuorch::to_memory(output).take([](const gpo_chunk&) {
                    throw std::runtime_error("on purpose");
                }));
            }) == GPO_CALLBACK_FAILED);
    gpu.pipeline.run(gpuorch::from_memory(input), gpuorch::to_memory(output));
    REQUIRE(output == inverted(input));
    auto other = gpu.device.create_pipeline({gpuorch::callback_stage(
        [](gpuorch::stream_ref, const gpo_chunk&) { throw std::runtime_error("on purpose"); })});
    REQUIRE(status_of([&] { other.run(gpuorch::from_memory(input), gpuorch::to_memory(output)); }) ==
            GPO_CALLBACK_FAILED);
}

TEST("a pipeline that goes ends its run first, and then what that calls") {
    Inverter gpu;
    std::atomic<int> living{0}, calls{0}, taken{0};
    {
        auto pipeline = gpu.create(gpu.settings());
        pipeline.start(gpuorch::from_callable(Endless{Counted(living, calls)}),
                       gpuorch::to_callable([&, counted = Counted(living, calls)](const gpo_chunk&) { ++taken; }));
        REQUIRE(status_of([&] {
                    pipeline.start(gpuorch::from_callable(Endless{Counted(living, calls)}),
                                   gpuorch::to_memory(nullptr, 0));
                }) != GPO_SUCCESS);
        REQUIRE(living == 2 && !pipeline.wait(1ms));
        auto moved = std::move(pipeline);
        while (taken < 3) std::this_thread::sleep_for(1ms);
    }
    REQUIRE(living == 0 && calls >= 3);
}

TEST("a pipeline whose callables run on the caller's executor can go before they have run") {
    Inverter gpu;
    std::atomic<int> living{0}, calls{0};
    gpo_executor_options ours{};
    ours.flags = GPO_EXECUTOR_CALLER;
    const auto executor = gpu.runtime.create_executor(ours);
    auto options = gpu.settings();
    options.executor = executor;
    {
        auto pipeline = gpu.create(options);
        pipeline.start(gpuorch::from_callable(Endless{Counted(living, calls)}),
                       gpuorch::to_callable([](const gpo_chunk&) {}));
        while (calls == 0) executor.poll();
    }
    REQUIRE(living == 0);
}

TEST("a pipeline may go in a callback of its own") {
    Inverter gpu;
    std::promise<void> gone;
    auto pipeline = std::make_unique<gpuorch::pipeline>(gpu.create(gpu.settings()));
    const gpo_pipeline_t handle = pipeline->get();
    const auto input = numbers(30000);
    pipeline->start(gpuorch::from_memory(input), gpuorch::to_callable([&](const gpo_chunk&) {
                        if (pipeline) pipeline.reset(), gone.set_value();
                    }));
    gone.get_future().get();
    REQUIRE(!alive(handle) && gpu.runtime.shutdown(1h));
}

TEST("then tells of a run's end, and cancel ends it") {
    Inverter gpu;
    std::atomic<int> living{0}, calls{0};
    std::promise<gpo_status> told;
    gpu.pipeline.start(gpuorch::from_callable(Endless{Counted(living, calls)}),
                       gpuorch::to_callable([](const gpo_chunk&) {}));
    const auto queue = gpu.runtime.create_completion_queue();
    gpu.pipeline.notify(queue, 4);
    gpu.pipeline.then(gpu.executor, [&](gpo_status status) { told.set_value(status); });
    gpu.pipeline.cancel();
    REQUIRE(told.get_future().get() == GPO_CANCELLED && status_of([&] { gpu.pipeline.wait(); }) == GPO_CANCELLED);
    REQUIRE(status_of([&] { gpu.pipeline.wait(1h); }) == GPO_CANCELLED && queue.wait(1h));
}

}  // namespace

int main() {
    for (const Test& test : tests()) {
        std::string line = std::string("PASS ") + test.name;
        try {
            test.run();
        } catch (const Skip& skip) {
            line = std::string("SKIP ") + test.name + ": " + skip.reason;
        } catch (const Failure& failure) {
            line = std::string("FAIL ") + test.name + ": " + failure.text;
        } catch (const std::exception& error) {
            line = std::string("FAIL ") + test.name + ": an exception: " + error.what();
        }
        std::puts(line.c_str());
        std::fflush(stdout);
    }
    std::puts("END");
}
