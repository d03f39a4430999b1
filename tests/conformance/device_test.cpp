// Devices: what they say of themselves, waiting for all of their work, limits, peers, foreign contexts.
#include <cstring>
#include <string>

#include "support/gpu.h"
#include "support/report.h"

using namespace gpo::test;

TEST_CASE("a device describes itself the same way before and after it is opened") {
    Gpu gpu;
    auto described = sized<gpo_device_properties>(), opened = sized<gpo_device_properties>();
    REQUIRE_OK(gpo_device_describe(gpu.runtime, 0, &described));
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
    CHECK(std::strlen(described.pci_address) >= 7);
    auto info = sized<gpo_driver_info>();
    REQUIRE_OK(gpo_runtime_driver(gpu.runtime, &info));
    CHECK(described.software == info.software);
    CHECK_STATUS(GPO_NO_DEVICE, gpo_device_describe(gpu.runtime, info.device_count, &described));
}

TEST_CASE("device memory is counted by the driver") {
    Gpu gpu;
    uint64_t free_before = 0, free_after = 0, total = 0;
    REQUIRE_OK(gpo_device_memory(gpu.device, &free_before, &total));
    CHECK(total > 0);
    CHECK(free_before <= total);
    Memory memory = gpu.memory(32 << 20);
    REQUIRE_OK(gpo_device_memory(gpu.device, &free_after, &total));
    CHECK(free_after + (32 << 20) <= free_before);
}

TEST_CASE("two handles on one device share its context") {
    Gpu gpu;
    Device second;
    REQUIRE_OK(gpo_device_open(gpu.runtime, nullptr, second.out()));
    CHECK(second.get() != gpu.device);
    void *one = nullptr, *two = nullptr;
    int32_t ordinal = -1;
    CHECK_OK(gpo_device_native(gpu.device, &one, &ordinal));
    CHECK_OK(gpo_device_native(second, &two, nullptr));
    CHECK_OK(gpo_device_native(second, nullptr, nullptr));
    CHECK(one == two);
    CHECK(one != nullptr);
    CHECK(ordinal >= 0);
}

TEST_CASE("the primary context may be given as if it were a foreign one") {
    Gpu gpu;
    auto options = sized<gpo_device_options>();
    REQUIRE_OK(gpo_device_native(gpu.device, &options.native_context, nullptr));
    Device device;
    REQUIRE_OK(gpo_device_open(gpu.runtime, &options, device.out()));
    void* native = nullptr;
    CHECK_OK(gpo_device_native(device, &native, nullptr));
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

TEST_CASE("limits can be asked for, set, and asked for again") {
    Gpu gpu;
    for (uint32_t limit : {GPO_LIMIT_STACK_BYTES, GPO_LIMIT_PRINTF_BYTES, GPO_LIMIT_HEAP_BYTES}) {
        CAPTURE(limit);
        uint64_t before = 0, after = 0;
        REQUIRE_OK(gpo_device_get_limit(gpu.device, limit, &before));
        CHECK(before > 0);
        REQUIRE_OK(gpo_device_set_limit(gpu.device, limit, before));
        REQUIRE_OK(gpo_device_get_limit(gpu.device, limit, &after));
        CHECK(after >= before);
    }
    uint64_t value = 0;
    REQUIRE_OK(gpo_device_set_limit(gpu.device, GPO_LIMIT_STACK_BYTES, 4096));
    REQUIRE_OK(gpo_device_get_limit(gpu.device, GPO_LIMIT_STACK_BYTES, &value));
    CHECK(value >= 4096);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_device_get_limit(gpu.device, 0, &value));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_device_set_limit(gpu.device, 99, 1));
}

TEST_CASE("devices say how they reach each other, and peer access can be switched on and off") {
    Gpu gpu;
    Device second = gpu.second_device();
    if (!second) {
        skip("needs two devices");
        return;
    }
    auto properties = sized<gpo_peer_properties>();
    REQUIRE_OK(gpo_device_describe_peer(gpu.runtime, 0, 1, &properties));
    if (!properties.accessible) {
        skip("the two devices can't reach each other");
        return;
    }
    CHECK_OK(gpo_device_enable_peer(gpu.device, second));
    CHECK_OK(gpo_device_enable_peer(gpu.device, second));
    CHECK_OK(gpo_device_disable_peer(gpu.device, second));
    CHECK_OK(gpo_device_enable_peer(gpu.device, second));
    CHECK_OK(gpo_device_disable_peer(gpu.device, second));
}

TEST_CASE("a device reaches itself, without peer access") {
    Gpu gpu;
    auto properties = sized<gpo_peer_properties>();
    CHECK_OK(gpo_device_describe_peer(gpu.runtime, 0, 0, &properties));
    CHECK_STATUS(GPO_NO_DEVICE, gpo_device_describe_peer(gpu.runtime, 0, 64, &properties));
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
