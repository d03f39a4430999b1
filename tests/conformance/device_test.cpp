// Devices: their properties, waits for all of their work, limits, peers, foreign contexts.
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <thread>

#include "support/gpu.h"
#include "support/report.h"

using namespace gpo::test;

TEST_CASE("a device describes itself the same way before and after it is opened") {
    Gpu gpu;
    auto described = sized<gpo_device_properties>(), opened = sized<gpo_device_properties>();
    REQUIRE_OK(gpo_runtime_describe_device(gpu.runtime, 0, &described));
    REQUIRE_OK(gpo_device_get_properties(gpu.device, &opened));
    CHECK(std::string(described.name) == opened.name);
    CHECK(std::string(described.name) != "");
    CHECK(std::memcmp(described.uuid, opened.uuid, sizeof described.uuid) == 0);
    CHECK(described.multiprocessors >= 1);
    CHECK(described.copy_engines >= 1);
    CHECK(described.warp_size == 32);
    CHECK(described.max_threads_per_block == 1024);
    CHECK(described.max_block[0] == 1024);
    CHECK(described.max_grid[0] >= 65535);
    CHECK(described.compute_capability_major >= 5);
    CHECK(described.memory_bytes >= 64 << 20);
    CHECK(described.shared_bytes_per_block >= 48 << 10);
    CHECK(described.shared_bytes_per_block_max >= described.shared_bytes_per_block);
    CHECK(std::string(described.pci_address) == opened.pci_address);
    CHECK(described.numa_node == opened.numa_node);
    auto info = sized<gpo_driver_info>();
    REQUIRE_OK(gpo_runtime_get_driver(gpu.runtime, &info));
    CHECK(described.software == info.software);
    CHECK_STATUS(GPO_NO_DEVICE, gpo_runtime_describe_device(gpu.runtime, info.device_count, &described));
}

TEST_CASE("where a device is: a PCI address as Linux writes it, and a NUMA node of this machine or none") {
    Gpu gpu;
    uint32_t count = 0;
    REQUIRE_OK(gpo_runtime_get_device_count(gpu.runtime, &count));
    std::set<std::string> addresses;
    for (uint32_t i = 0; i < count; ++i) {
        CAPTURE(i);
        auto device = sized<gpo_device_properties>();
        REQUIRE_OK(gpo_runtime_describe_device(gpu.runtime, i, &device));
        const std::string address = device.pci_address;
        CAPTURE(address);
        CHECK(std::regex_match(address, std::regex("[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\\.[0-7]")));
        CHECK(addresses.insert(address).second);   // no other device has it
        CAPTURE(device.numa_node);
        CHECK(device.numa_node >= -1);
        namespace fs = std::filesystem;
        const fs::path nodes = "/sys/devices/system/node";
        if (device.numa_node >= 0 && fs::exists(nodes))
            CHECK(fs::exists(nodes / ("node" + std::to_string(device.numa_node))));
        // Linux's answer for the card, if Linux knows the address and a node.
        std::string lower = address;
        for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
        int node = -1;
        if (std::ifstream("/sys/bus/pci/devices/" + lower + "/numa_node") >> node && node >= 0 && device.numa_node >= 0)
            CHECK(device.numa_node == node);
    }
}

TEST_CASE("device memory is counted by the driver") {
    Gpu gpu;
    uint64_t free_before = 0, free_after = 0, total = 0;
    REQUIRE_OK(gpo_device_get_memory(gpu.device, &free_before, &total));
    CHECK(total > 0);
    CHECK(free_before <= total);
    Memory memory = gpu.memory(32 << 20);
    REQUIRE_OK(gpo_device_get_memory(gpu.device, &free_after, &total));
    CHECK(free_after + (32 << 20) <= free_before);
}

TEST_CASE("two handles on one device share its context") {
    Gpu gpu;
    Device second;
    REQUIRE_OK(gpo_device_open(gpu.runtime, nullptr, second.out()));
    CHECK(second.get() != gpu.device);
    void *one = nullptr, *two = nullptr;
    int32_t ordinal = -1;
    CHECK_OK(gpo_device_get_native(gpu.device, &one, &ordinal));
    CHECK_OK(gpo_device_get_native(second, &two, nullptr));
    CHECK_OK(gpo_device_get_native(second, nullptr, nullptr));
    CHECK(one == two);
    CHECK(one != nullptr);
    CHECK(ordinal >= 0);
}

TEST_CASE("the primary context may be given as if it were a foreign one") {
    Gpu gpu;
    auto options = sized<gpo_device_options>();
    REQUIRE_OK(gpo_device_get_native(gpu.device, &options.native_context, nullptr));
    Device device;
    REQUIRE_OK(gpo_device_open(gpu.runtime, &options, device.out()));
    void* native = nullptr;
    CHECK_OK(gpo_device_get_native(device, &native, nullptr));
    CHECK(native == options.native_context);
    Stream stream;
    REQUIRE_OK(gpo_stream_create(device, nullptr, stream.out()));
    Queue queue = gpu.queue();
    REQUIRE_OK(gpo_stream_notify(stream, queue, 4));
    CHECK(take(queue, 1)[0].status == GPO_SUCCESS);
}

TEST_CASE("waiting for a device waits for all its streams, and times out on time" * gated) {
    Gpu gpu;
    Writer writer(gpu);
    Gate gate(gpu);
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    Stream one = gpu.stream(), two = gpu.stream();
    CHECK_OK(gpo_device_wait(gpu.device, 0));
    gate.put_on(one);
    REQUIRE_OK(writer.write(one, &words[0], 1));
    REQUIRE_OK(writer.write(two, &words[1], 2));
    CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 5'000'000));
    CHECK(read(words[0]) == 0);
    gate.open();
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    CHECK(read(words[0]) == 1);
    CHECK(read(words[1]) == 2);
}

TEST_CASE("waiting for a device waits for held work too") {
    Gpu gpu;
    Writer writer(gpu);
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    Timeline timeline = gpu.timeline();
    Stream stream = gpu.stream();
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(writer.write(stream, word.data(), 3));
    CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 1'000'000));
    CHECK_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    CHECK(read(word[0]) == 3);
}

TEST_CASE("waiting for a device waits for what streams ran or held when they were destroyed" * gated) {
    Gpu gpu;
    Writer writer(gpu);
    Timeline timeline = gpu.timeline();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    StreamPool pool;
    REQUIRE_OK(gpo_stream_pool_create(gpu.device, nullptr, pool.out()));
    Stream stream = gpu.stream();
    Gate gate(gpu);
    const auto put = [&](gpo_stream_t on) {
        gate.put_on(on);
        REQUIRE_OK(writer.write(on, &words[0], 1));
    };
    SUBCASE("runs") {
        put(stream);
        stream.reset();
    }
    SUBCASE("of a pool") {
        gpo_stream_t pooled = nullptr;
        REQUIRE_OK(gpo_stream_pool_acquire(pool, 0, &pooled));
        put(pooled);
        pool.reset();
    }
    SUBCASE("held") {
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
        put(stream);
        stream.reset();
        CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 1'000'000));
        REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    }
    SUBCASE("failed, with work from before that runs") {
        put(stream);
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
        REQUIRE_OK(writer.write(stream, &words[1], 1));
        REQUIRE_OK(gpo_timeline_fail(timeline, GPO_FAILED, nullptr));
        stream.reset();
    }
    CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 0));
    CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 5'000'000));
    CHECK(read(words[0]) == 0);
    gate.open();
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    CHECK(read(words[0]) == 1);
    CHECK(read(words[1]) == 0);
}

TEST_CASE("who waits for a device goes on to the other streams when what one of them held is cancelled" * gated) {
    Gpu gpu;
    Writer writer(gpu);
    Timeline timeline = gpu.timeline();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    Stream held = gpu.stream(), busy = gpu.stream();
    Gate gate(gpu);
    REQUIRE_OK(gpo_stream_wait_timeline(held, timeline, 1));
    REQUIRE_OK(writer.write(held, &words[0], 1));
    gate.put_on(busy);
    REQUIRE_OK(writer.write(busy, &words[1], 1));
    std::atomic<bool> over{false};
    gpo_status waited = GPO_INTERNAL;
    std::thread waiter([&] {
        waited = gpo_device_wait(gpu.device, kPatience);
        over = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));   // by now the wait is at the first stream, as a rule
    CHECK_OK(gpo_stream_cancel_held(held, nullptr));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_FALSE(over);
    gate.open();
    waiter.join();
    CHECK_OK(waited);
    CHECK(read(words[0]) == 0);
    CHECK(read(words[1]) == 1);
}

TEST_CASE("waiting for a device waits until what was freed behind its streams is free") {
    Gpu gpu;
    constexpr uint64_t kBytes = uint64_t{64} << 20;
    const auto free_bytes = [&] {
        uint64_t free = 0, total = 0;
        REQUIRE_OK(gpo_device_get_memory(gpu.device, &free, &total));
        return free;
    };
    Timeline timeline = gpu.timeline();
    Stream stream = gpu.stream();
    for (uint64_t turn = 1; turn <= 20; ++turn) {
        uint64_t address = 0;
        REQUIRE_OK(gpo_memory_allocate(gpu.device, kBytes, "freed", &address));
        const uint64_t before = free_bytes();
        REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, turn));
        REQUIRE_OK(gpo_fill(stream, address, 1, 1, kBytes / 64));
        REQUIRE_OK(gpo_memory_free(gpu.device, address));
        CHECK(free_bytes() <= before);
        CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, turn % 2 ? 0 : 1'000'000));
        REQUIRE_OK(gpo_timeline_signal(timeline, turn));
        REQUIRE_OK(gpo_device_wait(gpu.device, kPatience));
        CHECK(free_bytes() >= before + kBytes / 2);   // the driver takes a little for itself now and then
    }
}

TEST_CASE("each limit is asked for, set to another value, and seen to have it") {
    Gpu gpu;
    struct Limit {
        uint32_t which;
        std::string name;
        uint64_t wanted, least, most;   // the value asked for, and the bounds within which a driver may round it
    };
    // The L2 sizes to fetch at once and to set aside are hints: a device that can't follow keeps its own.
    const Limit limits[] = {{GPO_LIMIT_STACK_BYTES, "stack", 4096, 4096, 8192},
                            {GPO_LIMIT_PRINTF_BYTES, "printf", 3 << 20, 3 << 20, 4 << 20},
                            {GPO_LIMIT_HEAP_BYTES, "heap", 24 << 20, 24 << 20, 32 << 20},
                            {GPO_LIMIT_PENDING_LAUNCHES, "pending launches", 4096, 4096, 8192},
                            {GPO_LIMIT_L2_FETCH_BYTES, "L2 fetch", 32, 1, 128},
                            {GPO_LIMIT_PERSISTING_L2_BYTES, "persisting L2", 1 << 20, 0, 64 << 20}};
    const auto values = [&] {
        std::map<std::string, uint64_t> all;
        for (const Limit& limit : limits) REQUIRE_OK(gpo_device_get_limit(gpu.device, limit.which, &all[limit.name]));
        return all;
    };
    const std::map<std::string, uint64_t> before = values();
    for (const Limit& limit : limits) {
        CAPTURE(limit.name);
        CHECK(before.at(limit.name) != limit.wanted);
        CHECK_OK(gpo_device_set_limit(gpu.device, limit.which, limit.wanted));
        std::map<std::string, uint64_t> after = values();
        CHECK(after[limit.name] >= limit.least);
        CHECK(after[limit.name] <= limit.most);
        after[limit.name] = before.at(limit.name);
        CHECK(after == before);   // no other limit was meant
        CHECK_OK(gpo_device_set_limit(gpu.device, limit.which, before.at(limit.name)));
        CHECK(values() == before);
    }
}

namespace {

constexpr const char* kAddSource = R"(
extern "C" __global__ void add(unsigned *sum, const unsigned *there, unsigned *back, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    sum[i] += there[i];
    back[i] = 7 * there[i];
})";
constexpr const char* kCountSource =
    R"(extern "C" __global__ void count(unsigned *there) { atomicAdd_system(there, 1u); })";

/// Memory and a stream of each of two devices, and kernels of the first.
struct PeerRig {
    static constexpr uint32_t kCount = 10'000;
    static constexpr uint64_t kBytes = kCount * sizeof(uint32_t);
    PeerRig(Gpu& gpu, gpo_device_t second) : gpu(gpu), second(second) {
        for (uint32_t i = 0; i < kCount; ++i) numbers[i] = i;
    }

    /// With peer access.
    void use_memory_of_second() {
        // The second device fills its memory; a kernel of the first reads and writes it.
        REQUIRE_OK(gpo_copy_to_device(other, there, numbers.data(), kBytes));
        REQUIRE_OK(gpo_fill(other, back, 0, 4, kCount));
        REQUIRE_OK(gpo_stream_wait(other, kPatience));
        REQUIRE_OK(gpo_fill(stream, here, 1, 4, kCount));
        CHECK_OK(launch(stream, add.get(), (kCount + 255) / 256, 256, uint64_t{here}, there, back, kCount));
        REQUIRE_OK(gpo_copy_to_host(stream, out.data(), here, kBytes));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        for (uint32_t i = 0; i < kCount; ++i) REQUIRE(out[i] == i + 1);
        // A copy brings over the kernel's results, and the second device sees them too.
        CHECK_OK(gpo_copy_peer(stream, gpu.device, here, second, back, kBytes));
        REQUIRE_OK(gpo_copy_to_host(stream, out.data(), here, kBytes));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        for (uint32_t i = 0; i < kCount; ++i) REQUIRE(out[i] == 7 * i);
        REQUIRE_OK(gpo_copy_to_host(other, out.data(), back, kBytes));
        REQUIRE_OK(gpo_stream_wait(other, kPatience));
        for (uint32_t i = 0; i < kCount; ++i) REQUIRE(out[i] == 7 * i);
    }
    /// Both devices count in the second one's memory at once.
    void count_on_both() {
        Kernel count_there;
        Module module;
        auto options = sized<gpo_compile_options>();
        options.source = kCountSource;
        REQUIRE_OK(gpo_module_compile(second, &options, module.out()));
        REQUIRE_OK(gpo_module_get_kernel(module, "count", count_there.out()));
        REQUIRE_OK(gpo_device_enable_peer(gpu.device, second));
        REQUIRE_OK(gpo_fill(other, there, 0, 4, 1));
        REQUIRE_OK(gpo_stream_wait(other, kPatience));
        CHECK_OK(launch(stream, count.get(), 100, 128, there));
        CHECK_OK(launch(other, count_there.get(), 100, 128, there));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        REQUIRE_OK(gpo_copy_to_host(other, out.data(), there, 4));
        REQUIRE_OK(gpo_stream_wait(other, kPatience));
        CHECK(out[0] == 2 * 100 * 128);
        REQUIRE_OK(gpo_device_disable_peer(gpu.device, second));
    }
    void copy_without_access() {
        REQUIRE_OK(gpo_fill(stream, here, 5, 4, kCount));
        CHECK_OK(gpo_copy_peer(stream, second, back, gpu.device, here, kBytes));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        REQUIRE_OK(gpo_copy_to_host(other, out.data(), back, kBytes));
        REQUIRE_OK(gpo_stream_wait(other, kPatience));
        for (uint32_t i = 0; i < kCount; ++i) REQUIRE(out[i] == 5);
    }

    uint64_t memory_of_second() {
        uint64_t address = 0;
        REQUIRE_OK(gpo_memory_allocate(second, kBytes, nullptr, &address));
        return address;
    }
    Stream stream_of_second() {
        Stream made;
        REQUIRE_OK(gpo_stream_create(second, nullptr, made.out()));
        return made;
    }

    Gpu& gpu;
    const gpo_device_t second;
    Kernel add = gpu.kernel(kAddSource, "add"), count = gpu.kernel(kCountSource, "count");
    Memory here = gpu.memory(kBytes);
    uint64_t there = memory_of_second(), back = memory_of_second();
    Stream stream = gpu.stream(), other = stream_of_second();
    Pinned<uint32_t> numbers = gpu.pinned<uint32_t>(kCount), out = gpu.pinned<uint32_t>(kCount);
};

}  // namespace

TEST_CASE("devices say how they reach each other, and with peer access kernels and copies use each other's memory") {
    Gpu gpu;
    Device second = gpu.second_device();
    if (!second) return skip("there is one device");
    auto properties = sized<gpo_peer_properties>();
    REQUIRE_OK(gpo_runtime_describe_peer(gpu.runtime, 0, 1, &properties));
    CHECK(properties.performance_rank >= 0);
    CHECK(properties.native_atomics <= properties.accessible);
    CHECK(properties.accessible <= 1);
    if (!properties.accessible) {
        CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_device_enable_peer(gpu.device, second));
        return skip("the two devices can't reach each other");
    }
    PeerRig rig(gpu, second);

    CHECK_OK(gpo_device_enable_peer(gpu.device, second));
    CHECK_OK(gpo_device_enable_peer(gpu.device, second));   // access is enabled already
    for (int turn = 1; turn <= 2; ++turn) {
        CAPTURE(turn);
        rig.use_memory_of_second();
        CHECK_OK(gpo_device_disable_peer(gpu.device, second));
        if (turn == 1) CHECK_OK(gpo_device_enable_peer(gpu.device, second));
    }
    if (properties.native_atomics) rig.count_on_both();
    rig.copy_without_access();
    CHECK_OK(gpo_memory_free(second, rig.there));
    CHECK_OK(gpo_memory_free(second, rig.back));
}

TEST_CASE("a device reaches itself, without peer access") {
    Gpu gpu;
    auto properties = sized<gpo_peer_properties>();
    CHECK_OK(gpo_runtime_describe_peer(gpu.runtime, 0, 0, &properties));
    CHECK(properties.accessible == 1);
    CHECK(properties.native_atomics == 1);
    CHECK(properties.performance_rank == 0);   // nothing is faster
}

TEST_CASE("a stream waits for an event of another device" * gated) {
    Gpu gpu;
    Device second = gpu.second_device();
    if (!second) {
        skip("needs two devices");
        return;
    }
    Gate gate(gpu);
    Stream here = gpu.stream(), there;
    REQUIRE_OK(gpo_stream_create(second, nullptr, there.out()));
    Event event = gpu.event();
    gate.put_on(here);
    REQUIRE_OK(gpo_event_record(event, here));
    REQUIRE_OK(gpo_stream_wait_event(there, event));
    Queue queue = gpu.queue();
    REQUIRE_OK(gpo_stream_notify(there, queue, 1));
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 5'000'000));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_event_record(event, there));
    gate.open();
    CHECK(take(queue, 1)[0].status == GPO_SUCCESS);
}
