// Handles: for any number that is handed in, the answer is a status, and nothing else happens.
#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "support/gpu.h"

using namespace gpo::test;

namespace {

template <class Handle>
Handle handle_of(uint64_t number) {
    return reinterpret_cast<Handle>(number);
}

}  // namespace

TEST_CASE("a stale stream handle is refused and the slot's new owner is untouched") {
    Gpu gpu;
    gpo_stream_t stale = gpu.stream("first").release();
    CHECK_OK(gpo_stream_destroy(stale));
    std::vector<Stream> owners;
    for (int i = 0; i < 16; ++i) owners.push_back(gpu.stream("owner"));
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_stream_query(stale));
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_stream_destroy(stale));
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_object_set_label(stale, "mine"));
    char label[64];
    for (auto& owner : owners) {
        CHECK(owner.get() != stale);
        CHECK_OK(gpo_object_get_label(owner, label, sizeof label, nullptr));
        CHECK(std::string(label) == "owner");
        CHECK_OK(gpo_stream_query(owner));
    }
}

TEST_CASE("a handle of another type is refused") {
    Gpu gpu;
    Event event = gpu.event();
    CHECK_STATUS(GPO_INVALID_HANDLE,
                 gpo_stream_query(handle_of<gpo_stream_t>(reinterpret_cast<uint64_t>(event.get()))));
    CHECK_STATUS(GPO_INVALID_HANDLE,
                 gpo_stream_destroy(handle_of<gpo_stream_t>(reinterpret_cast<uint64_t>(event.get()))));
    CHECK_OK(gpo_event_query(event));
}

TEST_CASE("random numbers are no handles") {
    Gpu gpu;
    Stream stream = gpu.stream();
    std::mt19937_64 random(7);
    const uint64_t real = reinterpret_cast<uint64_t>(stream.get());
    for (int i = 0; i < 20000; ++i) {
        // Half of them differ from a real handle in one or two bits only.
        const uint64_t number =
            i % 2 ? random() : real ^ (1ull << random() % 64) ^ (i % 4 ? 0 : 1ull << random() % 64);
        if (number == real || number == reinterpret_cast<uint64_t>(gpu.device)) continue;
        const gpo_status status = gpo_stream_query(handle_of<gpo_stream_t>(number));
        if (status != GPO_INVALID_HANDLE && status != GPO_STALE_HANDLE)
            FAIL_CHECK("number " << number << " gave " << status);
    }
    CHECK_OK(gpo_stream_query(stream));
}

TEST_CASE("of 64 threads that destroy one handle, one succeeds") {
    Gpu gpu;
    for (int round = 0; round < 4; ++round) {
        gpo_event_t event = gpu.event().release();
        std::atomic<int> successes{0}, stale{0};
        std::atomic<bool> go{false};
        std::vector<std::thread> threads;
        for (int i = 0; i < 64; ++i)
            threads.emplace_back([&] {
                while (!go) std::this_thread::yield();
                const gpo_status status = gpo_event_destroy(event);
                if (status == GPO_SUCCESS) ++successes;
                if (status == GPO_STALE_HANDLE) ++stale;
            });
        go = true;
        for (auto& thread : threads) thread.join();
        CHECK(successes == 1);
        CHECK(stale == 63);
    }
}

TEST_CASE("destroying NULL succeeds for every type") {
    CHECK_OK(gpo_device_close(nullptr));
    CHECK_OK(gpo_stream_destroy(nullptr));
    CHECK_OK(gpo_stream_pool_destroy(nullptr));
    CHECK_OK(gpo_event_destroy(nullptr));
    CHECK_OK(gpo_timeline_destroy(nullptr));
    CHECK_OK(gpo_cq_destroy(nullptr));
    CHECK_OK(gpo_arena_destroy(nullptr));
    CHECK_OK(gpo_pool_destroy(nullptr));
    CHECK_OK(gpo_module_destroy(nullptr));
    CHECK_OK(gpo_kernel_destroy(nullptr));
    CHECK_OK(gpo_pipeline_destroy(nullptr));
}

TEST_CASE("a call that another thread's destroy overtakes finishes normally") {
    Gpu gpu;
    for (int round = 0; round < 20; ++round) {
        gpo_cq_t queue = gpu.queue().release();
        std::atomic<bool> inside{false};
        gpo_status status = GPO_INTERNAL;
        std::thread waiter([&] {
            inside = true;
            status = gpo_cq_wait(queue, kPatience);
        });
        while (!inside) std::this_thread::yield();
        CHECK_OK(gpo_cq_destroy(queue));
        waiter.join();
        // An early wait is cancelled; a late wait finds a stale handle.
        CHECK((status == GPO_CANCELLED || status == GPO_STALE_HANDLE));
    }
}

TEST_CASE("children keep their parents: a device handle may go first") {
    Gpu gpu;
    Writer writer(gpu);
    Pinned<uint32_t> word = gpu.pinned<uint32_t>(1);
    auto options = sized<gpo_device_options>();
    Device device;
    REQUIRE_OK(gpo_device_open(gpu.runtime, &options, device.out()));
    Stream stream;
    REQUIRE_OK(gpo_stream_create(device, nullptr, stream.out()));
    gpo_device_t gone = device.get();
    device.reset();
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_device_wait(gone, 0));
    CHECK_OK(writer.write(stream, word.data(), 9));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(word[0]) == 9);
}

TEST_CASE("a stream destroyed with work in flight: the work is done, and every completion comes once" * gated) {
    Gpu gpu;
    Writer writer(gpu);
    Gate gate(gpu);
    Queue queue = gpu.queue();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(8);
    Stream stream = gpu.stream();
    gate.put_on(stream);
    for (uint32_t i = 0; i < 8; ++i) {
        REQUIRE_OK(writer.write(stream, &words[i], i + 1));
        REQUIRE_OK(gpo_stream_notify(stream, queue, i));
    }
    CHECK_OK(gpo_stream_destroy(stream.release()));
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 1'000'000));
    gate.open();
    const auto entries = take(queue, 8);
    for (uint32_t i = 0; i < 8; ++i) {
        CHECK(entries[i].user_data == i);
        CHECK(entries[i].status == GPO_SUCCESS);
        CHECK(read(words[i]) == i + 1);
    }
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(queue, 1'000'000));
}

TEST_CASE("an event destroyed while a stream waits for it still holds that stream until it is reached" * gated) {
    Gpu gpu;
    Writer writer(gpu);
    Gate gate(gpu);
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    Stream first = gpu.stream(), second = gpu.stream();
    Event event = gpu.event();
    gate.put_on(first);
    REQUIRE_OK(writer.write(first, &words[0], 41));
    REQUIRE_OK(gpo_event_record(event, first));
    REQUIRE_OK(gpo_stream_wait_event(second, event));
    REQUIRE_OK(writer.add(second, &words[1], &words[0], 1));
    CHECK_OK(gpo_event_destroy(event.release()));
    CHECK_STATUS(GPO_NOT_READY, gpo_stream_query(second));
    gate.open();
    CHECK_OK(gpo_stream_wait(second, kPatience));
    CHECK(read(words[1]) == 42);
}

TEST_CASE("after a refused call the next valid one behaves as if the refused one never happened") {
    Gpu gpu;
    Stream stream = gpu.stream();
    gpo_stream_info before = info_of(stream);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_fill(stream, 0, 1, 3, 1));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_stream_wait_event(stream, nullptr));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_stream_notify(stream, nullptr, 1));
    gpo_stream_info after = info_of(stream);
    CHECK(after.accepted == before.accepted);
    Event event = gpu.event();
    CHECK_OK(gpo_event_record(event, stream));
    REQUIRE_OK(gpo_stream_get_info(stream, &after));
    CHECK(after.accepted == before.accepted + 1);
    CHECK_OK(gpo_stream_wait(stream, kPatience));
}

TEST_CASE("handles are destroyed and made again by eight threads, and every answer is right") {
    Gpu gpu;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
            std::array<gpo_timeline_t, 16> mine{};
            for (int i = 0; i < 500; ++i) {
                auto& slot = mine[static_cast<size_t>(i) % mine.size()];
                if (slot) {
                    uint64_t value = 0;
                    if (gpo_timeline_get_value(slot, &value) != GPO_SUCCESS || value != 3) ++wrong;
                    if (gpo_timeline_destroy(slot) != GPO_SUCCESS) ++wrong;
                    if (gpo_timeline_get_value(slot, &value) != GPO_STALE_HANDLE) ++wrong;
                }
                auto options = sized<gpo_timeline_options>();
                options.value = 3;
                if (gpo_timeline_create(gpu.runtime, &options, &slot) != GPO_SUCCESS) ++wrong;
            }
            for (auto handle : mine)
                if (gpo_timeline_destroy(handle) != GPO_SUCCESS) ++wrong;
        });
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
}
