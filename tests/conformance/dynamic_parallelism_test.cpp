// Kernels that launch kernels: when children run, with which arguments, how failures end, and when a parent is done.
#include <string>
#include <vector>

#include "support/gpu.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

// Words of each test: results first, `log` with a count in its first word.
constexpr const char* kSource = R"(
struct Mixed { char letter; double number; short list[3]; };

__device__ void note(unsigned* log, unsigned value) { log[1 + atomicAdd(log, 1u)] = value; }

__global__ void add(unsigned* to, unsigned value) { atomicAdd(to, value); }
__global__ void log_value(unsigned* log, unsigned value) {
    // Long enough for a child that doesn't wait for this one to overtake it.
    for (unsigned i = 0; i < 200; ++i) __threadfence();
    if (threadIdx.x == 0 && blockIdx.x == 0) note(log, value);
}
template <class T> __global__ void store(T* to, T value) { to[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void mix(float* to, Mixed mixed, unsigned char byte, const float* from, long long wide) {
    *to = mixed.letter + float(mixed.number) + mixed.list[0] + mixed.list[2] + byte + *from + float(wide);
}
__global__ void where(unsigned* to) {
    extern __shared__ unsigned kept[];
    const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    kept[thread] = blockIdx.y * gridDim.x + blockIdx.x;
    __syncthreads();
    to[kept[thread] * threads + thread] = kept[threads - 1 - thread] + gridDim.x * 100 + blockDim.y * 1000;
}

extern "C" __global__ void two_children(unsigned* to) {
    add<<<1, 1>>>(to, 1);
    add<<<2, 32>>>(to, 10);
}
extern "C" __global__ void in_order(unsigned* log, unsigned children) {
    for (unsigned i = 0; i < children; ++i) log_value<<<4, 32>>>(log, i);
}
extern "C" __global__ void each_thread(unsigned* to) { add<<<1, 2>>>(to + threadIdx.x, threadIdx.x); }
extern "C" __global__ void at_once(unsigned* to, unsigned children) {
    for (unsigned i = 0; i < children; ++i) add<<<1, 1, 0, cudaStreamFireAndForget>>>(to, 1);
}

__global__ void tail_of_tail(unsigned* log) {
    note(log, 2);
    log_value<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 3);
}
extern "C" __global__ void tails(unsigned* log) {
    tail_of_tail<<<1, 1, 0, cudaStreamTailLaunch>>>(log);
    log_value<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 4);
    log_value<<<1, 1>>>(log, 0);
    log_value<<<1, 1>>>(log, 1);
}
extern "C" __global__ void again(unsigned* count, unsigned times) {
    if (++*count < times) again<<<1, 1, 0, cudaStreamTailLaunch>>>(count, times);
}

// Launches as programs write them.
namespace inner {
static __global__ void add_static(unsigned* to, unsigned value = 4) { atomicAdd(to, value); }
template <int N, class T> __global__ void add_many(T* to, T value) { atomicAdd(to, N * value); }
template <class T> struct Launcher {
    __device__ void operator()(T* to) const { add_many<2><<<1, 1>>>(to, T(1)); }
};
template <class T> __device__ void launch_for(T* to) { add_many<3, T><<<1, 1>>>(to, 1); }
}
#define LAUNCH(kernel, threads, ...) kernel<<<1, threads>>>(__VA_ARGS__)
extern "C" __global__ void written(unsigned* to, unsigned chosen) {
    using namespace inner;
    add_static<<<1, 1>>>(to);
    if (chosen) add_static<<<1, 2>>>(to + 1, chosen); else add_static<<<1, 4>>>(to + 1, 1000);
    inner::add_many<5, unsigned>
        <<<1,
           2>>>
        (to + 2, 1);
    inner::Launcher<unsigned>()(to + 3);
    launch_for(to + 4);
    const auto later = [=](unsigned word) { LAUNCH(add, 3, to + word, word); };
    later(5);
    for (unsigned i = 6; i < 8; ++i) LAUNCH(::add, 1, to + i, i);
}
extern "C" __global__ void arguments_that_wait(unsigned* to) {
    add<<<1, 1>>>(to + __shfl_sync(0xffffffffu, threadIdx.x, 7), __shfl_xor_sync(0xffffffffu, threadIdx.x, 1));
}

extern "C" __global__ void tree(unsigned* nodes, unsigned depth) {
    atomicAdd(nodes, 1u);
    if (depth > 0) tree<<<2, 2>>>(nodes, depth - 1);
}

extern "C" __global__ void arguments(float* to, const float* from, double* doubles, unsigned* words) {
    Mixed mixed = {3, 0.5, {10, 20, 30}};
    mix<<<1, 1>>>(to, mixed, 200, from, 1ll << 20);
    mixed.letter = 100;
    store<double><<<2, 2>>>(doubles, 2.5);
    store<<<dim3(3), dim3(1, 1, 1), 0, 0>>>(words, 7u);
}
extern "C" __global__ void shaped(unsigned* to) {
    const unsigned threads = 8;
    where<<<dim3(3, 2), dim3(4, threads / 4), threads * sizeof(unsigned)>>>(to);
}

extern "C" __global__ void fill_pending(unsigned* counts, unsigned attempts) {
    for (unsigned i = 0; i < attempts; ++i) {
        add<<<1, 1, 0, cudaStreamTailLaunch>>>(counts, 1);
        const cudaError_t error = cudaGetLastError();
        if (error == cudaSuccess) ++counts[1];
        else if (error == cudaErrorLaunchPendingCountExceeded) ++counts[2];
        else counts[3] = error;
    }
}
extern "C" __global__ void too_large(unsigned* errors, unsigned threads) {
    add<<<1, threads>>>(errors + 3, 1);
    errors[0] = cudaPeekAtLastError();
    errors[1] = cudaGetLastError();
    errors[2] = cudaGetLastError();
}

__global__ void sum(unsigned* to, const unsigned* from, unsigned count) {
    for (unsigned i = 0; i < count; ++i) *to += from[i];
}
extern "C" __global__ void map_and_reduce(unsigned* to, unsigned* between, unsigned count) {
    between[count] = 5;
    __threadfence();
    store<<<count / 32, 32>>>(between, 3u);
    sum<<<1, 1, 0, cudaStreamTailLaunch>>>(to, between, count + 1);
}
extern "C" __global__ void take_over(unsigned* to, const unsigned* from) { to[1] = *from; }
)";

/// The module; `present` false, and the test counted as skipped, where it can't be compiled.
struct LaunchingRig : Gpu {
    LaunchingRig() : words(pinned<uint32_t>(256)), on(stream("parents")) {
        const gpo_status status = compile(GPO_COMPILE_DYNAMIC_PARALLELISM);
        if (status == GPO_NO_COMPILER) {
            skip(why());
            present = false;
        } else {
            INFO(why());
            REQUIRE(status == GPO_SUCCESS);
        }
    }
    gpo_status compile(uint32_t flags) {
        auto options = sized<gpo_compile_options>();
        options.source = kSource;
        options.flags = flags;
        options.file_name = "parents.cu";
        return gpo_module_compile(device, &options, module.out());
    }
    static std::string why() {
        auto error = sized<gpo_error>();
        gpo_last_error(&error);
        return error.message;
    }
    Kernel kernel_of(const char* name) const {
        Kernel kernel;
        REQUIRE_OK(gpo_module_get_kernel(module, name, kernel.out()));
        return kernel;
    }
    template <class... Arguments>
    void run(const char* name, const Arguments&... arguments) {
        run_shape(name, 1, 1, arguments...);
    }
    template <class... Arguments>
    void run_shape(const char* name, uint32_t blocks, uint32_t threads, const Arguments&... arguments) {
        const Kernel kernel = kernel_of(name);
        CHECK_OK(launch(on, kernel, blocks, threads, arguments...));
        CHECK_OK(gpo_stream_wait(on, kPatience));
    }
    uint32_t* at(size_t word) const { return words.data() + word; }
    uint32_t word(size_t i) const { return read(words[i]); }
    std::vector<uint32_t> logged() const {
        std::vector<uint32_t> out;
        for (uint32_t i = 0; i < word(0); ++i) out.push_back(word(1 + i));
        return out;
    }

    Module module;
    Pinned<uint32_t> words;
    Stream on;
    bool present = true;
};

using Values = std::vector<uint32_t>;

}  // namespace

TEST_CASE("a kernel launches two kernels, and is done when they are") {
    LaunchingRig rig;
    if (!rig.present) return;
    rig.run("two_children", rig.at(0));
    CHECK(rig.word(0) == 1 + 2 * 32 * 10);
}

TEST_CASE("without its flag a source that launches kernels from kernels is refused, and the message names the flag") {
    LaunchingRig rig;
    rig.module.reset();
    REQUIRE(rig.compile(0) == GPO_COMPILE_FAILED);
    CHECK(rig.why().find("GPO_COMPILE_DYNAMIC_PARALLELISM") != std::string::npos);
}

TEST_CASE("what is behind a parent on its stream runs after all its children, and so is a notify told") {
    LaunchingRig rig;
    if (!rig.present) return;
    Queue queue = rig.queue();
    const Kernel parent = rig.kernel_of("in_order"), after = rig.kernel_of("take_over");
    const uint32_t children = 20;
    CHECK_OK(launch(rig.on, parent.get(), 1, 1, rig.at(0), children));
    CHECK_OK(launch(rig.on, after.get(), 1, 1, rig.at(100), rig.at(0)));
    CHECK_OK(gpo_stream_notify(rig.on, queue, 7));
    const auto entries = take(queue, 1);
    CHECK(entries.front().status == GPO_SUCCESS);
    CHECK(rig.word(101) == children);
    CHECK(rig.word(0) == children);
}

TEST_CASE("children in a block's stream run in the order in which the block has launched them") {
    LaunchingRig rig;
    if (!rig.present) return;
    const uint32_t children = 40;
    rig.run("in_order", rig.at(0), children);
    Values expected;
    for (uint32_t i = 0; i < children; ++i) expected.push_back(i);
    CHECK(rig.logged() == expected);
}

TEST_CASE("each thread that comes to a launch makes one, in every block") {
    LaunchingRig rig;
    if (!rig.present) return;
    rig.run_shape("each_thread", 3, 100, rig.at(0));
    for (uint32_t i = 0; i < 100; ++i) {
        CAPTURE(i);
        CHECK(rig.word(i) == 3 * 2 * i);
    }
}

TEST_CASE("children that are launched at once have all run when the parent is done") {
    LaunchingRig rig;
    if (!rig.present) return;
    rig.run_shape("at_once", 4, 8, rig.at(0), uint32_t{10});
    CHECK(rig.word(0) == 4 * 8 * 10);
}

TEST_CASE("tails run after the parent's other children, in their order, and a tail's own before the next") {
    LaunchingRig rig;
    if (!rig.present) return;
    rig.run("tails", rig.at(0));
    CHECK(rig.logged() == Values{0, 1, 2, 3, 4});
}

TEST_CASE("a kernel that launches itself as its tail runs again and again") {
    LaunchingRig rig;
    if (!rig.present) return;
    rig.run("again", rig.at(0), uint32_t{3000});
    CHECK(rig.word(0) == 3000);
}

TEST_CASE("children launch children, three deep") {
    LaunchingRig rig;
    if (!rig.present) return;
    rig.run("tree", rig.at(0), uint32_t{3});
    CHECK(rig.word(0) == 1 + 4 + 16 + 64);
}

TEST_CASE("a child gets its arguments as they were when it was launched, whatever their types") {
    LaunchingRig rig;
    if (!rig.present) return;
    auto floats = rig.pinned<float>(2);
    auto doubles = rig.pinned<double>(4);
    floats[1] = 0.25f;
    rig.run("arguments", floats.data(), floats.data() + 1, doubles.data(), rig.at(0));
    CHECK(floats[0] == 3 + 0.5f + 10 + 30 + 200 + 0.25f + (1 << 20));
    for (int i = 0; i < 4; ++i) CHECK(doubles[i] == 2.5);
    for (uint32_t i = 0; i < 4; ++i) CHECK(rig.word(i) == (i < 3 ? 7 : 0));
}

TEST_CASE("a child has the grid, the blocks and the shared memory that its launch says") {
    LaunchingRig rig;
    if (!rig.present) return;
    rig.run("shaped", rig.at(0));
    for (uint32_t i = 0; i < 6 * 8; ++i) {
        CAPTURE(i);
        CHECK(rig.word(i) == i / 8 + 3 * 100 + 2 * 1000);
    }
    CHECK(rig.word(48) == 0);
}

TEST_CASE("launches are written as calls are: with scopes, templates, defaults, in lambdas and functions") {
    LaunchingRig rig;
    if (!rig.present) return;
    rig.run("written", rig.at(0), uint32_t{9});
    const uint32_t expected[] = {4, 18, 10, 2, 3, 15, 6, 7};
    for (uint32_t i = 0; i < 8; ++i) {
        CAPTURE(i);
        CHECK(rig.word(i) == expected[i]);
    }
}

TEST_CASE("the arguments of a launch may be made by what waits for other threads") {
    LaunchingRig rig;
    if (!rig.present) return;
    rig.run_shape("arguments_that_wait", 1, 32, rig.at(0));
    CHECK(rig.word(7) == 31 * 32 / 2);
}

TEST_CASE("a tail sees what parent and children have written") {
    LaunchingRig rig;
    if (!rig.present) return;
    rig.run("map_and_reduce", rig.at(0), rig.at(1), uint32_t{128});
    CHECK(rig.word(0) == 128 * 3 + 5);
}

TEST_CASE("a launch beyond the limit of pending ones fails, says so in the kernel, and harms no other") {
    LaunchingRig rig;
    if (!rig.present) return;
    uint64_t before = 0, limit = 0;
    REQUIRE_OK(gpo_device_get_limit(rig.device, GPO_LIMIT_PENDING_LAUNCHES, &before));
    CHECK(before >= 1);
    REQUIRE_OK(gpo_device_set_limit(rig.device, GPO_LIMIT_PENDING_LAUNCHES, 64));
    REQUIRE_OK(gpo_device_get_limit(rig.device, GPO_LIMIT_PENDING_LAUNCHES, &limit));
    CHECK(limit >= 64);
    for (int turn = 0; turn < 2; ++turn) {
        for (uint32_t i = 0; i < 4; ++i) rig.words[i] = 0;
        rig.run("fill_pending", rig.at(0), uint32_t(limit + 10));
        CAPTURE(limit);
        const uint32_t ran = rig.word(0), accepted = rig.word(1), refused = rig.word(2);
        CHECK(accepted <= limit);
        CHECK(accepted >= limit / 2);
        CHECK(refused == limit + 10 - accepted);
        CHECK(rig.word(3) == 0);
        CHECK(ran == accepted);
    }
    REQUIRE_OK(gpo_device_set_limit(rig.device, GPO_LIMIT_PENDING_LAUNCHES, before));
}

TEST_CASE("a launch that the device can't have fails without effect, and the kernel is told once") {
    LaunchingRig rig;
    if (!rig.present) return;
    rig.run("too_large", rig.at(0), uint32_t{2048});
    CHECK(rig.word(0) == 9);
    CHECK(rig.word(1) == 9);
    CHECK(rig.word(2) == 0);
    CHECK(rig.word(3) == 0);
}

TEST_CASE("an image of kernels that launch kernels is loaded again as any other") {
    LaunchingRig rig;
    if (!rig.present) return;
    size_t bytes = 0;
    REQUIRE_OK(gpo_module_get_image(rig.module, nullptr, 0, &bytes));
    std::vector<char> image(bytes);
    REQUIRE_OK(gpo_module_get_image(rig.module, image.data(), image.size(), &bytes));
    rig.module.reset();
    REQUIRE_OK(gpo_module_load(rig.device, image.data(), image.size(), nullptr, rig.module.out()));
    rig.run("two_children", rig.at(0));
    CHECK(rig.word(0) == 1 + 2 * 32 * 10);
}

namespace {

/// A node with a parent of `children` children in a template.
uint32_t add_parent(LaunchingRig& rig, gpo_template_t in, gpo_kernel_t parent, gpo_status* status) {
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    const uint32_t* log = rig.at(0);
    const uint32_t children = 3;
    const void* arguments[] = {&log, &children};
    uint32_t node = 0;
    *status = gpo_template_add_kernel(in, nullptr, 0, parent, &shape, arguments, nullptr, 2, &node);
    return node;
}

}  // namespace

TEST_CASE("a graph's node that launches kernels is done when they are, in every launch") {
    LaunchingRig rig;
    if (!rig.present) return;
    const Kernel parent = rig.kernel_of("in_order"), after = rig.kernel_of("take_over");
    Template made;
    REQUIRE_OK(gpo_template_create(rig.device, nullptr, made.out()));
    gpo_status status = GPO_SUCCESS;
    const uint32_t node = add_parent(rig, made, parent, &status);
    REQUIRE(status == GPO_SUCCESS);
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    const uint32_t *to = rig.at(100), *from = rig.at(0);
    const void* arguments[] = {&to, &from};
    REQUIRE_OK(gpo_template_add_kernel(made, &node, 1, after, &shape, arguments, nullptr, 2, nullptr));
    Graph graph;
    REQUIRE_OK(gpo_graph_create(made, nullptr, graph.out()));
    for (uint32_t turn = 1; turn <= 3; ++turn) {
        CHECK_OK(gpo_graph_launch(graph, rig.on));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
        CHECK(rig.word(101) == 3 * turn);
    }
    CHECK(rig.logged() == Values{0, 1, 2, 0, 1, 2, 0, 1, 2});
}

TEST_CASE("neither a conditional body nor a graph that kernels launch may have kernels that launch kernels") {
    LaunchingRig rig;
    if (!rig.present) return;
    const Kernel parent = rig.kernel_of("in_order");
    auto condition = sized<gpo_condition>();
    condition.comparison = GPO_COMPARE_NOT_EQUAL;
    condition.word = rig.words.address();
    for (const bool conditional : {true, false}) {
        CAPTURE(conditional);
        auto options = sized<gpo_graph_options>();
        options.flags = conditional ? 0 : GPO_GRAPH_DEVICE_LAUNCH;
        Template made, body;
        REQUIRE_OK(gpo_template_create(rig.device, nullptr, made.out()));
        if (conditional) REQUIRE_OK(gpo_template_add_if(made, nullptr, 0, &condition, body.out(), nullptr, nullptr));
        gpo_status status = GPO_SUCCESS;
        add_parent(rig, conditional ? body : made, parent, &status);
        Graph graph;
        if (status == GPO_SUCCESS) status = gpo_graph_create(made, &options, graph.out());
        INFO(rig.why());
        CHECK(status != GPO_SUCCESS);
        CHECK(graph.get() == nullptr);
    }
    rig.run("two_children", rig.at(0));  // the refusals had no effect
    CHECK(rig.word(0) == 1 + 2 * 32 * 10);
}
