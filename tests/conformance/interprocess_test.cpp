// Memory and events shared by processes, as far as a single process can test them; tests/process/interprocess.cpp has
// two.
#include <array>
#include <cstring>
#include <string>

#include "support/gpu.h"

using namespace gpo::test;

namespace {

using Exported = std::array<uint8_t, GPO_EXPORT_BYTES>;

std::string last_message() {
    auto error = sized<gpo_error>();
    gpo_last_error(&error);
    return error.message;
}
void says(const char* part) {
    INFO(last_message());
    CHECK(last_message().find(part) != std::string::npos);
}

gpo_status export_memory(const Gpu& gpu, uint64_t address) {
    Exported exported{};
    return gpo_memory_export(gpu.device, address, exported.data(), exported.size(), nullptr);
}

Event shared_event(const Gpu& gpu) {
    auto options = sized<gpo_event_options>();
    options.flags = GPO_EVENT_INTERPROCESS;
    Event event;
    REQUIRE_OK(gpo_event_create(gpu.device, &options, event.out()));
    return event;
}

}  // namespace

TEST_CASE("only the start of an allocation of gpo_memory_allocate is exported, and the message says why not") {
    Gpu gpu;
    uint64_t memory = 0, piece = 0;
    REQUIRE_OK(gpo_memory_allocate(gpu.device, 10'000, nullptr, &memory));
    CHECK_OK(export_memory(gpu, memory));
    CHECK_OK(export_memory(gpu, memory));
    CHECK(export_memory(gpu, memory + 256) == GPO_INVALID_ARGUMENT);
    says("is inside of an allocation");
    Pool pool;
    Stream stream;
    REQUIRE_OK(gpo_pool_create(gpu.device, nullptr, pool.out()));
    REQUIRE_OK(gpo_stream_create(gpu.device, nullptr, stream.out()));
    REQUIRE_OK(gpo_pool_allocate(pool, stream, 4096, &piece));
    CHECK(export_memory(gpu, piece) == GPO_INVALID_ARGUMENT);
    says("is of a pool");
    REQUIRE_OK(gpo_pool_free(pool, stream, piece));
    uint32_t on_host = 0;
    CHECK(export_memory(gpu, reinterpret_cast<uint64_t>(&on_host)) == GPO_INVALID_ARGUMENT);
    REQUIRE_OK(gpo_memory_free(gpu.device, memory));
    CHECK(export_memory(gpu, memory) == GPO_INVALID_ARGUMENT);
    says("not the start of a live allocation");
}

TEST_CASE("what is exported has its size, which a smaller buffer is told") {
    Gpu gpu;
    uint64_t memory = 0;
    REQUIRE_OK(gpo_memory_allocate(gpu.device, 4096, nullptr, &memory));
    const Event event = shared_event(gpu);
    Exported small{};
    size_t needed = 0;
    CHECK_OK(gpo_memory_export(gpu.device, memory, nullptr, 0, &needed));
    CHECK(needed == GPO_EXPORT_BYTES);
    needed = 0;
    CHECK(gpo_event_export(event, small.data(), small.size() - 1, &needed) == GPO_BUFFER_TOO_SMALL);
    CHECK(needed == GPO_EXPORT_BYTES);
    CHECK(small == Exported{});
    REQUIRE_OK(gpo_memory_free(gpu.device, memory));
}

TEST_CASE("the process that has exported memory or an event can't import it") {
    Gpu gpu;
    uint64_t memory = 0, imported = 0, size = 0;
    REQUIRE_OK(gpo_memory_allocate(gpu.device, 4096, nullptr, &memory));
    const Event event = shared_event(gpu);
    Event none;
    Exported of_memory{}, of_event{};
    REQUIRE_OK(gpo_memory_export(gpu.device, memory, of_memory.data(), of_memory.size(), nullptr));
    REQUIRE_OK(gpo_event_export(event, of_event.data(), of_event.size(), nullptr));
    CHECK(gpo_memory_import(gpu.device, of_memory.data(), of_memory.size(), nullptr, &imported, &size) ==
          GPO_INVALID_ARGUMENT);
    says("of this process");
    CHECK(gpo_event_import(gpu.device, of_event.data(), of_event.size(), nullptr, none.out()) == GPO_INVALID_ARGUMENT);
    says("of this process");
    CHECK(gpo_memory_import(gpu.device, of_event.data(), of_event.size(), nullptr, &imported, &size) ==
          GPO_INVALID_ARGUMENT);
    says("is of an event, not of memory");
    for (size_t place = 0; place < of_memory.size(); place += 5) {
        Exported damaged = of_memory;
        damaged[place] ^= 0x10;
        CHECK(gpo_memory_import(gpu.device, damaged.data(), damaged.size(), nullptr, &imported, &size) ==
              GPO_INVALID_ARGUMENT);
    }
    CHECK(gpo_memory_import(gpu.device, of_memory.data(), 100, nullptr, &imported, &size) == GPO_INVALID_ARGUMENT);
    says("bytes is 100");
    CHECK(imported == 0);
    CHECK(size == 0);
    CHECK(none.get() == nullptr);
    REQUIRE_OK(gpo_memory_free(gpu.device, memory));
}

TEST_CASE("an event of several processes can be recorded far more often than it has words") {
    Gpu gpu;
    const Event event = shared_event(gpu);
    const Stream one = gpu.stream(), two = gpu.stream();
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(2);
    words[0] = words[1] = 0;
    for (uint32_t turn = 1; turn <= 5000; ++turn) {
        const Stream& records = turn % 2 ? one : two;
        const Stream& waits = turn % 2 ? two : one;
        REQUIRE_OK(gpo_fill(records, words.address() + turn % 2 * 4, turn, 4, 1));
        REQUIRE_OK(gpo_event_record(event, records));
        if (turn % 3 == 0) REQUIRE_OK(gpo_stream_wait_event(waits, event));
        if (turn % 100) continue;
        REQUIRE_OK(gpo_event_wait(event, kPatience));
        REQUIRE(words[turn % 2] == turn);
        REQUIRE_OK(gpo_event_query(event));
    }
    CHECK_OK(gpo_stream_wait(one, kPatience));
    CHECK_OK(gpo_stream_wait(two, kPatience));
}

TEST_CASE("an event of several processes does in one process what others do, without times and templates") {
    Gpu gpu;
    auto options = sized<gpo_event_options>();
    options.flags = GPO_EVENT_INTERPROCESS | GPO_EVENT_TIMING;
    Event none;
    CHECK(gpo_event_create(gpu.device, &options, none.out()) == GPO_INVALID_ARGUMENT);
    CHECK(none.get() == nullptr);
    options.flags = 0;
    Event plain;
    REQUIRE_OK(gpo_event_create(gpu.device, &options, plain.out()));
    Exported exported{};
    CHECK(gpo_event_export(plain, exported.data(), exported.size(), nullptr) == GPO_INVALID_ARGUMENT);
    says("GPO_EVENT_INTERPROCESS");
    const Event event = shared_event(gpu);
    Stream held, other;
    Timeline go;
    REQUIRE_OK(gpo_stream_create(gpu.device, nullptr, held.out()));
    REQUIRE_OK(gpo_stream_create(gpu.device, nullptr, other.out()));
    REQUIRE_OK(gpo_timeline_create(gpu.runtime, nullptr, go.out()));
    CHECK_OK(gpo_event_query(event));
    REQUIRE_OK(gpo_stream_wait_timeline(held, go, 1));
    REQUIRE_OK(gpo_event_record(event, held));
    CHECK(gpo_event_query(event) == GPO_NOT_READY);
    REQUIRE_OK(gpo_stream_wait_event(other, event));
    CHECK(gpo_stream_wait(other, 5'000'000) == GPO_TIMEOUT);
    REQUIRE_OK(gpo_timeline_signal(go, 1));
    CHECK_OK(gpo_stream_wait(other, kPatience));
    CHECK_OK(gpo_event_wait(event, kPatience));
    int64_t time = 0;
    CHECK(gpo_event_get_elapsed(event, event, &time) == GPO_INVALID_ARGUMENT);
    auto of_step = sized<gpo_template_options>();
    Template step;
    REQUIRE_OK(gpo_template_create(gpu.device, &of_step, step.out()));
    CHECK(gpo_template_add_event_wait(step, nullptr, 0, event, nullptr) == GPO_NOT_SUPPORTED);
    says("is of several processes");
}
