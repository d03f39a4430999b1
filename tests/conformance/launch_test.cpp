// Launches: shapes, arguments, refusals and their reasons, and handles destroyed while a kernel is on its way.
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "support/gpu.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

const char kKernels[] = R"(
struct Large { int values[200]; };
extern "C" __global__ void saxpy(float* y, const float* x, float a, unsigned long long n) {
    unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void shape(unsigned* out) {
    if (threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x + blockIdx.y + blockIdx.z == 0) {
        out[0] = gridDim.x, out[1] = gridDim.y, out[2] = gridDim.z;
        out[3] = blockDim.x, out[4] = blockDim.y, out[5] = blockDim.z;
    }
    atomicAdd(&out[6], 1u);
}
extern "C" __global__ void sum_large(int* out, Large large, char tail) {
    int sum = tail;
    for (int i = 0; i < 200; i++) sum += large.values[i];
    *out = sum;
}
extern "C" __global__ void dynamic(int* out, int words) {
    extern __shared__ int memory[];
    for (int i = threadIdx.x; i < words; i += blockDim.x) memory[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) *out = memory[words - 1];
}
extern "C" __global__ void __launch_bounds__(64) bounded(int* out) { *out = blockDim.x; }
extern "C" __global__ void nothing() {}
extern "C" __global__ void meet(unsigned* arrived, unsigned* out) {
    if (threadIdx.x) return;
    atomicAdd(arrived, 1u);
    while (*(volatile unsigned*)arrived < gridDim.x) {}
    atomicAdd(out, 1u);
}
)";

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

gpo_launch shape_of(uint32_t blocks, uint32_t threads) {
    auto launch = sized<gpo_launch>();
    launch.grid[0] = blocks;
    launch.block[0] = threads;
    return launch;
}

gpo_device_properties properties_of(Gpu& gpu) {
    auto properties = sized<gpo_device_properties>();
    REQUIRE_OK(gpo_device_get_properties(gpu.device, &properties));
    return properties;
}

gpo_kernel_attributes attributes_of(gpo_kernel_t kernel) {
    auto attributes = sized<gpo_kernel_attributes>();
    REQUIRE_OK(gpo_kernel_get_attributes(kernel, &attributes));
    return attributes;
}

}  // namespace

TEST_CASE("a kernel computes over device memory") {
    Gpu gpu;
    Kernel saxpy = gpu.kernel(kKernels, "saxpy");
    constexpr uint64_t n = 10'000;
    Memory x = gpu.memory(n * 4), y = gpu.memory(n * 4);
    auto host = gpu.pinned<float>(n);
    Stream stream = gpu.stream();
    for (uint64_t i = 0; i < n; ++i) host[i] = static_cast<float>(i);
    REQUIRE_OK(gpo_copy_to_device(stream, x, host.data(), host.bytes()));
    REQUIRE_OK(gpo_fill(stream, y, 0, 4, n));
    CHECK_OK(launch(stream, saxpy.get(), (n + 255) / 256, 256, uint64_t{y}, uint64_t{x}, 2.0f, n));
    REQUIRE_OK(gpo_copy_to_host(stream, host.data(), y, host.bytes()));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    bool same = true;
    for (uint64_t i = 0; i < n; ++i) same &= host[i] == 2.0f * static_cast<float>(i);
    CHECK(same);
}

TEST_CASE("a launch has the shape that it was given, and zeros count as one") {
    Gpu gpu;
    Kernel shape = gpu.kernel(kKernels, "shape");
    Stream stream = gpu.stream();
    auto out = gpu.pinned<uint32_t>(7);
    uint32_t* at = out.data();
    const void* arguments[] = {&at};
    auto where = shape_of(3, 4);
    where.grid[1] = 2, where.grid[2] = 5, where.block[1] = 6, where.block[2] = 2;
    REQUIRE_OK(gpo_stream_launch_kernel(stream, shape, &where, arguments, nullptr, 1));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    const std::vector<uint32_t> all = {3, 2, 5, 4, 6, 2, 3 * 2 * 5 * 4 * 6 * 2}, few = {2, 1, 1, 3, 1, 1, 6};
    CHECK(std::vector<uint32_t>(out.begin(), out.end()) == all);
    std::memset(out.data(), 0, out.bytes());
    where = shape_of(2, 3);
    REQUIRE_OK(gpo_stream_launch_kernel(stream, shape, &where, arguments, nullptr, 1));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(std::vector<uint32_t>(out.begin(), out.end()) == few);
}

TEST_CASE("shapes that the device or the kernel can't have are refused, and the culprit is named") {
    Gpu gpu;
    Kernel shape = gpu.kernel(kKernels, "shape"), bounded = gpu.kernel(kKernels, "bounded");
    const auto device = properties_of(gpu);
    Stream stream = gpu.stream("upload");
    auto out = gpu.pinned<uint32_t>(7);
    uint32_t* at = out.data();
    const void* arguments[] = {&at};
    const auto refused = [&](gpo_kernel_t kernel, const gpo_launch& where, const char* culprit) {
        CAPTURE(culprit);
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_launch_kernel(stream, kernel, &where, arguments, nullptr, 1));
        CHECK(contains(last_error().message, culprit));
    };
    refused(shape, shape_of(0, 1), "launch.grid[0]");
    refused(shape, shape_of(1, 0), "launch.block[0]");
    refused(shape, shape_of(1, device.max_threads_per_block + 1), "launch.block[0]");
    auto where = shape_of(1, device.max_threads_per_block);
    where.block[1] = 2;
    refused(shape, where, "kernel `shape`");
    where = shape_of(1, 1);
    where.block[2] = device.max_block[2] + 1;
    refused(shape, where, "launch.block[2]");
    where = shape_of(1, 1);
    where.grid[1] = device.max_grid[1] + 1;
    refused(shape, where, "launch.grid[1]");
    where = shape_of(1, 1);
    where.block[0] = where.block[1] = where.block[2] = UINT32_MAX;
    refused(shape, where, "launch.block[0]");
    refused(bounded, shape_of(1, 65), "kernel `bounded`");
    where = shape_of(1, 1);
    where.flags = 0x100;
    refused(shape, where, "launch.flags");
    where = shape_of(1, 1);
    where.dynamic_shared_bytes = UINT64_MAX;
    refused(shape, where, "launch.dynamic_shared_bytes");

    // The refused launches had no effect.
    gpo_stream_info info = info_of(stream);
    CHECK(info.accepted == 0);
    CHECK_OK(launch(stream, bounded.get(), 1, 64, out.data()));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(out[0] == 64);
}

TEST_CASE("arguments are checked by count and size, and the culprit is named") {
    Gpu gpu;
    Kernel saxpy = gpu.kernel(kKernels, "saxpy"), nothing = gpu.kernel(kKernels, "nothing");
    if (!tells_parameters(saxpy)) return skip("this driver can't tell the parameters of a kernel");
    Stream stream = gpu.stream();
    auto values = gpu.pinned<float>(4);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, launch(stream, saxpy.get(), 1, 1, values.data(), values.data(), 2.0));
    CHECK(contains(last_error().message, "kernel `saxpy` takes 4 arguments, 3 were given"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT,
                 launch(stream, saxpy.get(), 1, 1, values.data(), values.data(), 2.0, uint64_t{4}));
    CHECK(contains(last_error().message, "argument 2 of kernel `saxpy` has 4 bytes, 8 were given"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, launch(stream, saxpy.get(), 1, 1));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, launch(stream, nothing.get(), 1, 1, 5));
    const auto where = shape_of(1, 1);
    const float* pointer = values.data();
    const void* with_hole[] = {&pointer, nullptr, &pointer, &pointer};
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_launch_kernel(stream, saxpy, &where, with_hole, nullptr, 4));
    CHECK(contains(last_error().message, "argument 1 of kernel `saxpy` is NULL"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_launch_kernel(stream, saxpy, &where, nullptr, nullptr, 4));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_launch_kernel(stream, saxpy, nullptr, with_hole, nullptr, 4));
    CHECK(std::string(object_error(stream.get()).message).size() > 0);
    CHECK_OK(launch(stream, nothing.get(), 1, 1));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
}

TEST_CASE("large structs go by value, and the caller's copy may change at once") {
    Gpu gpu;
    Kernel sum = gpu.kernel(kKernels, "sum_large");
    struct Large {
        int values[200];
    };
    Large large{};
    for (int i = 0; i < 200; ++i) large.values[i] = i;
    auto out = gpu.pinned<int>(1);
    Stream stream = gpu.stream();
    CHECK_OK(launch(stream, sum.get(), 1, 1, out.data(), large, char{5}));
    std::memset(&large, 0xff, sizeof large);
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(out[0] == 199 * 100 + 5);
}

TEST_CASE("a held launch has copies of its arguments and keeps its kernel") {
    Gpu gpu;
    struct Large {
        int values[200];
    };
    auto out = gpu.pinned<int>(1);
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    {
        Module module;
        auto options = sized<gpo_compile_options>();
        options.source = kKernels;
        REQUIRE_OK(gpo_module_compile(gpu.device, &options, module.out()));
        Kernel sum;
        REQUIRE_OK(gpo_module_get_kernel(module, "sum_large", sum.out()));
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
        Large large{};
        for (int i = 0; i < 200; ++i) large.values[i] = i;
        REQUIRE_OK(launch(stream, sum.get(), 1, 1, out.data(), large, char{7}));
        std::memset(&large, 0xff, sizeof large);
    }
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(stream));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(out[0] == 199 * 100 + 7);
}

TEST_CASE("module and kernel may be destroyed while the kernel runs" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    auto out = gpu.pinned<int>(1);
    Stream stream = gpu.stream();
    Module module;
    auto options = sized<gpo_compile_options>();
    options.source = kKernels;
    REQUIRE_OK(gpo_module_compile(gpu.device, &options, module.out()));
    Kernel bounded;
    REQUIRE_OK(gpo_module_get_kernel(module, "bounded", bounded.out()));
    gate.put_on(stream);
    REQUIRE_OK(launch(stream, bounded.get(), 1, 33, out.data()));
    CHECK_OK(gpo_kernel_destroy(bounded.release()));
    CHECK_OK(gpo_module_destroy(module.release()));
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(stream));
    gate.open();
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(out[0] == 33);
}

TEST_CASE("dynamic shared memory beyond the usual has to be allowed first") {
    Gpu gpu;
    Kernel dynamic = gpu.kernel(kKernels, "dynamic");
    const auto device = properties_of(gpu);
    Stream stream = gpu.stream();
    auto out = gpu.pinned<int>(1);
    int* at = out.data();
    int words = 48 * 1024 / 4;
    const void* arguments[] = {&at, &words};
    auto where = shape_of(1, 128);
    where.dynamic_shared_bytes = 48 * 1024;
    REQUIRE_OK(gpo_stream_launch_kernel(stream, dynamic, &where, arguments, nullptr, 2));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(out[0] == words - 1);
    REQUIRE(device.shared_bytes_per_block_max > 48 * 1024);
    where.dynamic_shared_bytes = device.shared_bytes_per_block_max;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_launch_kernel(stream, dynamic, &where, arguments, nullptr, 2));
    CHECK(contains(last_error().message, "gpo_kernel_set_max_dynamic_shared"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT,
                 gpo_kernel_set_max_dynamic_shared(dynamic, device.shared_bytes_per_block_max + 1));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_kernel_set_max_dynamic_shared(dynamic, UINT64_MAX));
    REQUIRE_OK(gpo_kernel_set_max_dynamic_shared(dynamic, device.shared_bytes_per_block_max));
    CHECK(attributes_of(dynamic).max_dynamic_shared_bytes == device.shared_bytes_per_block_max);
    words = static_cast<int>(device.shared_bytes_per_block_max / 4);
    REQUIRE_OK(gpo_stream_launch_kernel(stream, dynamic, &where, arguments, nullptr, 2));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(out[0] == words - 1);
    // Another handle on the same kernel sees the limit.
    Kernel same = gpu.kernel(kKernels, "dynamic");
    CHECK_OK(gpo_stream_launch_kernel(stream, same, &where, arguments, nullptr, 2));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
}

TEST_CASE("static shared memory counts among what a block may have unasked") {
    Gpu gpu;
    Kernel kernel = gpu.kernel(R"(
extern "C" __global__ void both(int* out) {
    __shared__ int fixed[8192];
    extern __shared__ int dynamic[];
    fixed[threadIdx.x] = threadIdx.x;
    dynamic[threadIdx.x] = 2 * threadIdx.x;
    __syncthreads();
    *out = fixed[blockDim.x - 1] + dynamic[blockDim.x - 1];
}
)", "both");
    constexpr uint64_t unasked = 48 * 1024 - 8192 * sizeof(int);
    CHECK(attributes_of(kernel).max_dynamic_shared_bytes == unasked);
    Stream stream = gpu.stream();
    auto out = gpu.pinned<int>(1);
    int* at = out.data();
    const void* arguments[] = {&at};
    auto where = shape_of(1, 32);
    where.dynamic_shared_bytes = unasked + 1024;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_stream_launch_kernel(stream, kernel, &where, arguments, nullptr, 1));
    where.dynamic_shared_bytes = unasked;
    CHECK_OK(gpo_stream_launch_kernel(stream, kernel, &where, arguments, nullptr, 1));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(out[0] == 93);
}

TEST_CASE("a kernel tells its attributes") {
    Gpu gpu;
    const auto saxpy = attributes_of(gpu.kernel(kKernels, "saxpy"));
    CHECK(saxpy.max_threads_per_block >= 256);
    CHECK((saxpy.parameter_count == 4 || saxpy.parameter_count == 0));
    CHECK((saxpy.parameter_bytes == 32 || saxpy.parameter_bytes == 0));
    CHECK(attributes_of(gpu.kernel(kKernels, "bounded")).max_threads_per_block == 64);
    auto small = sized<gpo_kernel_attributes>();
    small.struct_size = 8;
    CHECK_OK(gpo_kernel_get_attributes(gpu.kernel(kKernels, "bounded"), &small));
    CHECK(small.max_threads_per_block == 64);
    CHECK(small.parameter_count == 0);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_kernel_get_attributes(gpu.kernel(kKernels, "bounded"), nullptr));
}

TEST_CASE("a kernel tells where each of its parameters is, and that there are no others") {
    Gpu gpu;
    Kernel kernel = gpu.kernel(R"(
struct Twelve { int all[3]; };
extern "C" __global__ void mixed(char a, double b, Twelve c, float *d) {}
)", "mixed");
    uint64_t offset = 7, bytes = 7;
    if (gpo_kernel_get_parameter(kernel, 0, &offset, &bytes) == GPO_NOT_SUPPORTED) {  // CUDA 12.2's driver
        CHECK(attributes_of(kernel).parameter_count == 0);
        CHECK((offset == 7 && bytes == 7));
        return;
    }
    constexpr uint64_t right[][2] = {{0, 1}, {8, 8}, {16, 12}, {32, 8}};
    for (uint32_t i = 0; i < 4; ++i) {
        CAPTURE(i);
        REQUIRE_OK(gpo_kernel_get_parameter(kernel, i, &offset, &bytes));
        CHECK((offset == right[i][0] && bytes == right[i][1]));
    }
    CHECK_OK(gpo_kernel_get_parameter(kernel, 3, nullptr, nullptr));
    for (const uint32_t none : {4u, UINT32_MAX}) {
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_kernel_get_parameter(kernel, none, &offset, &bytes));
        CHECK(contains(last_error().message, "has 4 parameters"));
    }
    CHECK((offset == 32 && bytes == 8));
    CHECK_STATUS(
        GPO_INVALID_ARGUMENT,
        gpo_kernel_get_parameter(gpu.kernel(R"(extern "C" __global__ void none() {})", "none"), 0, &offset, &bytes));
}

TEST_CASE("occupancy follows the block size, and a suggestion can be launched") {
    Gpu gpu;
    Kernel saxpy = gpu.kernel(kKernels, "saxpy");
    const auto device = properties_of(gpu);
    uint32_t small = 0, large = 0, threads = 0, blocks = 0;
    REQUIRE_OK(gpo_kernel_get_occupancy(saxpy, 64, 0, &small));
    REQUIRE_OK(gpo_kernel_get_occupancy(saxpy, device.max_threads_per_block, 0, &large));
    CHECK(small >= large);
    CHECK(large >= 1);
    uint32_t again = 0;
    REQUIRE_OK(gpo_kernel_get_occupancy(saxpy, 64, 0, &again));
    CHECK(again == small);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_kernel_get_occupancy(saxpy, 0, 0, &small));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_kernel_get_occupancy(saxpy, device.max_threads_per_block + 1, 0, &small));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_kernel_get_occupancy(saxpy, 64, 0, nullptr));
    REQUIRE_OK(gpo_kernel_suggest_shape(saxpy, 0, 0, &threads, &blocks));
    CHECK(threads >= 32);
    CHECK(blocks >= 1);
    REQUIRE_OK(gpo_kernel_suggest_shape(saxpy, 0, 128, &threads, nullptr));
    CHECK(threads <= 128);
    auto values = gpu.pinned<float>(4);
    Stream stream = gpu.stream();
    CHECK_OK(launch(stream, saxpy.get(), blocks, threads, values.data(), values.data(), 1.0f, uint64_t{4}));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
}

TEST_CASE("all blocks of a cooperative launch run at once, and a grid that can't is refused") {
    Gpu gpu;
    const auto device = properties_of(gpu);
    if (!device.cooperative_launch) return skip("this device has no cooperative launches");
    Kernel meet = gpu.kernel(kKernels, "meet");
    Stream stream = gpu.stream();
    uint32_t per_multiprocessor = 0;
    REQUIRE_OK(gpo_kernel_get_occupancy(meet, 32, 0, &per_multiprocessor));
    const uint32_t most = per_multiprocessor * static_cast<uint32_t>(device.multiprocessors);
    auto counts = gpu.pinned<uint32_t>(2);
    uint32_t *arrived = &counts[0], *out = &counts[1];
    const void* arguments[] = {&arrived, &out};
    auto where = shape_of(most, 32);
    where.flags = GPO_LAUNCH_COOPERATIVE;
    REQUIRE_OK(gpo_stream_launch_kernel(stream, meet, &where, arguments, nullptr, 2));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(counts[1] == most);
    where.grid[0] = most + 1;
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, gpo_stream_launch_kernel(stream, meet, &where, arguments, nullptr, 2));
    CHECK(contains(last_error().message, "kernel `meet`"));
    CHECK_OK(gpo_stream_query(stream));
}

TEST_CASE("a launch may have a priority of its own, and blocks may come in clusters") {
    Gpu gpu;
    const auto device = properties_of(gpu);
    Kernel shape = gpu.kernel(kKernels, "shape");
    Stream stream = gpu.stream();
    auto out = gpu.pinned<uint32_t>(7);
    uint32_t* at = out.data();
    const void* arguments[] = {&at};
    auto where = shape_of(4, 32);
    where.flags = GPO_LAUNCH_PRIORITY;
    int32_t least = 0, greatest = 0;
    REQUIRE_OK(gpo_device_get_priority_range(gpu.device, &least, &greatest));
    where.priority = greatest;
    REQUIRE_OK(gpo_stream_launch_kernel(stream, shape, &where, arguments, nullptr, 1));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(out[6] == 4 * 32);
    where = shape_of(4, 32);
    where.cluster[0] = 2;
    if (!device.cluster_launch) {
        CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_stream_launch_kernel(stream, shape, &where, arguments, nullptr, 1));
        return skip("this device has no clusters", "clusters");
    }
    REQUIRE_OK(gpo_stream_launch_kernel(stream, shape, &where, arguments, nullptr, 1));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(out[6] == 2 * 4 * 32);
}

TEST_CASE("launches are counted and numbered in their stream") {
    Gpu gpu;
    Kernel nothing = gpu.kernel(kKernels, "nothing");
    Stream stream = gpu.stream();
    const uint64_t before = gpu.statistics().launches;
    for (int i = 0; i < 100; ++i) CHECK_OK(launch(stream, nothing.get(), 1, 32));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    gpo_stream_info info = info_of(stream);
    CHECK(info.accepted == 100);
    CHECK(gpu.statistics().launches == before + 100);
}

TEST_CASE("the native function and stream are those of the driver") {
    Gpu gpu;
    Kernel nothing = gpu.kernel(kKernels, "nothing"), same = gpu.kernel(kKernels, "nothing"),
           other = gpu.kernel(kKernels, "shape");
    void *function = nullptr, *same_function = nullptr, *other_function = nullptr;
    REQUIRE_OK(gpo_kernel_get_native(nothing, &function));
    REQUIRE_OK(gpo_kernel_get_native(same, &same_function));
    REQUIRE_OK(gpo_kernel_get_native(other, &other_function));
    CHECK(function != nullptr);
    CHECK(function == same_function);
    CHECK(function != other_function);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_kernel_get_native(nothing, nullptr));
}

TEST_CASE("a kernel may be launched by many threads at once") {
    Gpu gpu;
    Kernel shape = gpu.kernel(kKernels, "shape");
    constexpr int kThreads = 4, kLaunches = 250;
    std::vector<Stream> streams;
    auto out = gpu.pinned<uint32_t>(7 * kThreads);
    for (int i = 0; i < kThreads; ++i) streams.push_back(gpu.stream());
    std::vector<gpo_status> failures(kThreads, GPO_SUCCESS);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
        threads.emplace_back([&, i] {
            for (int j = 0; j < kLaunches; ++j)
                if (const gpo_status status = launch(streams[i], shape.get(), 1, 2, &out[7 * i])) failures[i] = status;
        });
    for (auto& thread : threads) thread.join();
    for (int i = 0; i < kThreads; ++i) {
        CHECK(failures[i] == GPO_SUCCESS);
        REQUIRE_OK(gpo_stream_wait(streams[i], kPatience));
        CHECK(out[7 * i + 6] == 2 * kLaunches);
    }
}
