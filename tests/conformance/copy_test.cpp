// Copies and fills: content, ranges that are wrong, pageable memory, rows, batches, held streams, capture, peers.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "support/gpu.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void scramble(unsigned char* data, size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    for (size_t i = 0; i < count; ++i) data[i] = static_cast<unsigned char>(random());
}

bool says(const char* what) { return std::string(last_error().message).find(what) != std::string::npos; }

gpo_copy piece(uint64_t destination, uint64_t source, uint64_t bytes) {
    auto copy = sized<gpo_copy>();
    copy.destination = destination;
    copy.source = source;
    copy.bytes = bytes;
    return copy;
}

}  // namespace

TEST_CASE("copy: bytes go to the device, on it, and back, at odd offsets and sizes") {
    Gpu gpu;
    Stream stream = gpu.stream();
    constexpr size_t kBytes = 300'007;
    Pinned<unsigned char> from = gpu.pinned<unsigned char>(kBytes), back = gpu.pinned<unsigned char>(kBytes);
    Memory a = gpu.memory(kBytes + 16), b = gpu.memory(kBytes + 16);
    scramble(from.data(), kBytes, 1);
    for (const size_t bytes : {size_t{1}, size_t{3}, size_t{4096}, kBytes}) {
        std::memset(back.data(), 0, kBytes);
        REQUIRE_OK(gpo_copy_to_device(stream, a + 3, from.data(), bytes));
        REQUIRE_OK(gpo_copy_on_device(stream, b + 7, a + 3, bytes));
        REQUIRE_OK(gpo_copy_to_host(stream, back.data(), b + 7, bytes));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        CHECK(std::memcmp(from.data(), back.data(), bytes) == 0);
    }
    const auto statistics = gpu.statistics();
    CHECK(statistics.copies == 12);
    CHECK(statistics.copied_bytes == 3 * (1 + 3 + 4096 + kBytes));
    CHECK(statistics.pageable_copies == 0);
}

TEST_CASE("copy: host memory that is pinned in part is refused with both ranges, whichever end is pinned") {
    Gpu gpu;
    Stream stream = gpu.stream("s");
    constexpr uint64_t kPage = 4096;
    struct Free {
        void operator()(char* memory) const { std::free(memory); }
    };
    const std::unique_ptr<char, Free> pages(static_cast<char*>(std::aligned_alloc(kPage, 3 * kPage)));
    std::memset(pages.get(), 1, 3 * kPage);
    char* const pinned = pages.get() + kPage;   // the middle page
    REQUIRE_OK(gpo_host_register(gpu.device, pinned, kPage, 0));
    Memory memory = gpu.memory(2 * kPage);
    const auto range = [](const char* from, uint64_t bytes) {
        char text[64];
        std::snprintf(text, sizeof text, "0x%llx to 0x%llx", static_cast<unsigned long long>(number(from)),
                      static_cast<unsigned long long>(number(from) + bytes));
        return std::string(text);
    };
    const std::string of_pinned = "pinned host memory, which is " + range(pinned, kPage);
    for (const bool pinned_first : {true, false}) {
        char* const host = pinned_first ? pinned + 96 : pinned - 4000;
        const uint64_t bytes = 5000;
        auto rows = sized<gpo_copy_2d>();
        rows.destination = memory;
        rows.source = number(host);
        rows.destination_pitch = rows.source_pitch = rows.width = 1000;
        rows.height = 5;
        auto rows_back = rows;
        std::swap(rows_back.destination, rows_back.source);
        const gpo_copy batch[] = {piece(memory, number(pinned), 16), piece(memory + 16, number(host), bytes)},
                       batch_back[] = {piece(number(pinned), memory, 16), piece(number(host), memory + 16, bytes)};
        const struct {
            const char *what, *role;
            std::function<gpo_status()> call;
        } ways[] = {
            {"to the device", "source", [&] { return gpo_copy_to_device(stream, memory, host, bytes); }},
            {"to the host", "destination", [&] { return gpo_copy_to_host(stream, host, memory, bytes); }},
            {"rows to the device", "source", [&] { return gpo_copy_rows(stream, &rows); }},
            {"rows to the host", "destination", [&] { return gpo_copy_rows(stream, &rows_back); }},
            {"a batch to the device", "source", [&] { return gpo_copy_batch(stream, batch, sizeof batch[0], 2); }},
            {"a batch to the host", "destination",
             [&] { return gpo_copy_batch(stream, batch_back, sizeof batch_back[0], 2); }},
        };
        for (const auto& way : ways) {
            INFO(way.what << (pinned_first ? ", pinned first" : ", pageable first"));
            const gpo_status status = way.call();
            if (status == GPO_SUCCESS) {
                skip("this driver copies what is pinned in part", way.what);
                REQUIRE_OK(gpo_stream_wait(stream, kPatience));
                continue;
            }
            CHECK_STATUS(GPO_INVALID_ARGUMENT, status);
            const std::string message = last_error().message;
            INFO(message);
            CHECK(message.starts_with(way.role + (" " + range(host, bytes)) + " begins in " +
                                      (pinned_first ? of_pinned : "pageable host memory and runs into " + of_pinned)));
            CHECK(std::string(last_error().object) == "stream `s`");
        }
    }
    CHECK_OK(gpo_host_unregister(gpu.device, pinned));
    CHECK_OK(gpo_copy_to_device(stream, memory, pages.get(), 2 * kPage));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
}

TEST_CASE("copy: no bytes are no copy, whatever the addresses") {
    Gpu gpu;
    Stream stream = gpu.stream();
    CHECK_OK(gpo_copy_to_device(stream, 0, nullptr, 0));
    CHECK_OK(gpo_copy_to_host(stream, nullptr, 0, 0));
    CHECK_OK(gpo_copy_on_device(stream, 1, 1, 0));
    CHECK_OK(gpo_copy_batch(stream, nullptr, sizeof(gpo_copy), 0));
    CHECK_OK(gpo_fill(stream, 0, 0, 4, 0));
    CHECK_OK(gpo_fill_rows(stream, 0, 0, 0, 0, 5));
    auto rows = sized<gpo_copy_2d>();
    CHECK_OK(gpo_copy_rows(stream, &rows));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(gpu.statistics().copies == 0);
    CHECK(gpu.statistics().fills == 0);
}

TEST_CASE("copy: ranges that are wrong are refused by name, and the stream goes on") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Pinned<unsigned char> host = gpu.pinned<unsigned char>(4096);
    Memory memory = gpu.memory(4096), other = gpu.memory(4096);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_to_device(stream, memory, host.data(), UINT64_MAX));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_to_device(stream, 0, host.data(), 1));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_to_device(stream, memory, nullptr, 1));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_to_device(stream, memory + 1, host.data(), 4096));
    CHECK(says("destination"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_to_host(stream, host.data(), memory + 4000, 97));
    CHECK(says("source"));
    CHECK(says("96 are left"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_to_device(stream, number(host.data()), host.data() + 8, 4));
    CHECK(says("device memory is needed"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT,
                 gpo_copy_to_device(stream, memory, reinterpret_cast<const void*>(other + 0), 16));
    CHECK(says("host memory is needed"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_on_device(stream, memory, memory + 100, 101));
    CHECK(says("overlap"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_on_device(stream, memory, 4096, 16));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_fill(stream, memory, 0, 3, 1));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_fill(stream, memory + 1, 0, 2, 1));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_fill(stream, memory, 0, 4, 1025));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_fill(stream, memory, 0, 4, UINT64_MAX / 2));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_fill(stream, 4096, 0, 4, 1));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_fill_rows(stream, memory, 8, 0, 9, 1));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_fill_rows(stream, memory, 1024, 0, 1024, 5));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_fill_rows(stream, memory, UINT64_MAX / 2, 0, 8, 5));
    CHECK(gpu.statistics().copies == 0);
    CHECK(gpu.statistics().fills == 0);
    REQUIRE_OK(gpo_copy_to_device(stream, memory, host.data(), 4096));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
}

TEST_CASE("copy: a range that runs past a piece of a pool is refused") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Pool pool;
    REQUIRE_OK(gpo_pool_create(gpu.device, nullptr, pool.out()));
    Pinned<unsigned char> host = gpu.pinned<unsigned char>(8192);
    uint64_t address = 0;
    REQUIRE_OK(gpo_pool_allocate(pool, stream, 4096, &address));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_to_device(stream, address, host.data(), 4097));
    CHECK_OK(gpo_copy_to_device(stream, address, host.data(), 4096));
    REQUIRE_OK(gpo_pool_free(pool, stream, address));
}

TEST_CASE("copy: pageable memory works both ways, is counted, and a source may be reused at once") {
    Gpu gpu;
    Stream stream = gpu.stream();
    constexpr size_t kBytes = 3'000'001;
    std::vector<unsigned char> from(kBytes), expected, back(kBytes);
    scramble(from.data(), kBytes, 2);
    expected = from;
    Memory memory = gpu.memory(kBytes);
    REQUIRE_OK(gpo_copy_to_device(stream, memory, from.data(), kBytes));
    std::fill(from.begin(), from.end(), 0);
    REQUIRE_OK(gpo_copy_to_host(stream, back.data(), memory, kBytes));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(back == expected);
    CHECK(gpu.statistics().pageable_copies == 2);
    CHECK(gpu.statistics().pageable_bytes == 2 * kBytes);
}

TEST_CASE("copy: what is held copies what pageable sources had at the call, and pinned ones when it runs") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    Memory memory = gpu.memory(4 * 4096);
    Pinned<uint32_t> pinned = gpu.pinned<uint32_t>(1024), back = gpu.pinned<uint32_t>(4 * 1024);
    std::vector<uint32_t> plain(1024, 1), rows(1024, 3), batched(1024, 4);
    std::fill(pinned.begin(), pinned.end(), 2);
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_copy_to_device(stream, memory, plain.data(), 4096));
    REQUIRE_OK(gpo_copy_to_device(stream, memory + 4096, pinned.data(), 4096));
    auto grid = sized<gpo_copy_2d>();
    grid.destination = memory + 8192;
    grid.destination_pitch = 64;
    grid.source = number(rows.data());
    grid.source_pitch = 64;
    grid.width = 64;
    grid.height = 64;
    REQUIRE_OK(gpo_copy_rows(stream, &grid));
    const gpo_copy batch[] = {piece(memory + 12288, number(batched.data()), 2048),
                              piece(memory + 14336, number(batched.data() + 512), 2048)};
    REQUIRE_OK(gpo_copy_batch(stream, batch, sizeof batch[0], 2));
    // Checked when it is kept, not when it runs.
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_to_device(stream, memory + 16000, pinned.data(), 4096));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_on_device(stream, 4096, memory, 16));
    REQUIRE_OK(gpo_copy_to_host(stream, back.data(), memory, back.bytes()));
    for (auto* data : {&plain, &rows, &batched}) std::fill(data->begin(), data->end(), 9u);
    std::fill(pinned.begin(), pinned.end(), 8);
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    const uint32_t expected[] = {1, 8, 3, 4};
    for (size_t i = 0; i < back.size(); ++i) REQUIRE(back[i] == expected[i / 1024]);
}

TEST_CASE("copy: rows keep their pitches, and what lies between them") {
    Gpu gpu;
    Stream stream = gpu.stream();
    constexpr uint64_t kWidth = 100, kHeight = 37, kPitch = 128;
    Memory memory = gpu.memory(kPitch * kHeight);
    Pinned<unsigned char> back = gpu.pinned<unsigned char>(kPitch * kHeight);
    for (const bool pageable : {false, true}) {
        std::vector<unsigned char> plain(kWidth * kHeight);
        Pinned<unsigned char> pinned = gpu.pinned<unsigned char>(kWidth * kHeight);
        unsigned char* from = pageable ? plain.data() : pinned.data();
        scramble(from, kWidth * kHeight, 3);
        REQUIRE_OK(gpo_fill(stream, memory, 0xee, 1, memory.bytes()));
        auto copy = sized<gpo_copy_2d>();
        copy.destination = memory;
        copy.destination_pitch = kPitch;
        copy.source = number(from);
        copy.source_pitch = kWidth;
        copy.width = kWidth;
        copy.height = kHeight;
        REQUIRE_OK(gpo_copy_rows(stream, &copy));
        REQUIRE_OK(gpo_copy_to_host(stream, back.data(), memory, memory.bytes()));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        for (uint64_t row = 0; row < kHeight; ++row)
            for (uint64_t column = 0; column < kPitch; ++column)
                REQUIRE(back[row * kPitch + column] == (column < kWidth ? from[row * kWidth + column] : 0xee));
    }
    CHECK(gpu.statistics().pageable_copies == 1);
    auto wrong = sized<gpo_copy_2d>();
    wrong.destination = memory;
    wrong.source = number(back.data());
    wrong.destination_pitch = wrong.source_pitch = kPitch;
    wrong.width = kPitch;
    wrong.height = kHeight + 1;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_rows(stream, &wrong));
    wrong.height = UINT64_MAX;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_rows(stream, &wrong));
    wrong.height = 1;
    wrong.width = kPitch + 1;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_rows(stream, &wrong));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_rows(stream, nullptr));
}

TEST_CASE("copy: a batch moves every piece, in all directions, few or many") {
    Gpu gpu;
    Stream stream = gpu.stream();
    constexpr size_t kPieces = 500, kBytes = 1000;
    Pinned<unsigned char> from = gpu.pinned<unsigned char>(kPieces * kBytes),
                          back = gpu.pinned<unsigned char>(kPieces * kBytes);
    Memory memory = gpu.memory(kPieces * kBytes), second = gpu.memory(kPieces * kBytes);
    scramble(from.data(), from.size(), 4);
    for (const size_t count : {size_t{1}, size_t{3}, kPieces}) {
        std::memset(back.data(), 0, back.size());
        std::vector<gpo_copy> in, across, out;
        for (size_t i = 0; i < count; ++i) {
            const size_t at = i * kBytes, to = (count - 1 - i) * kBytes;
            in.push_back(piece(memory + at, number(from.data() + at), kBytes));
            across.push_back(piece(second + to, memory + at, kBytes));
            out.push_back(piece(number(back.data() + at), second + to, kBytes));
        }
        in.push_back(piece(0, 0, 0));
        REQUIRE_OK(gpo_copy_batch(stream, in.data(), sizeof(gpo_copy), in.size()));
        REQUIRE_OK(gpo_copy_batch(stream, across.data(), sizeof(gpo_copy), across.size()));
        REQUIRE_OK(gpo_copy_batch(stream, out.data(), sizeof(gpo_copy), out.size()));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        CHECK(std::memcmp(from.data(), back.data(), count * kBytes) == 0);
    }
    CHECK(gpu.statistics().copies == 3 * (1 + 3 + kPieces));
    CHECK(gpu.statistics().pageable_copies == 0);
}

TEST_CASE("copy: a batch takes pageable pieces among others, and larger structs by their stride") {
    Gpu gpu;
    Stream stream = gpu.stream();
    struct Newer {
        gpo_copy copy;
        uint64_t later[2];
    };
    constexpr size_t kPieces = 8, kBytes = 5000;
    Pinned<unsigned char> pinned = gpu.pinned<unsigned char>(kPieces * kBytes);
    std::vector<unsigned char> plain(kPieces * kBytes), expected(kPieces * kBytes), back(kPieces * kBytes);
    scramble(pinned.data(), pinned.size(), 5);
    scramble(plain.data(), plain.size(), 6);
    Memory memory = gpu.memory(kPieces * kBytes);
    std::vector<Newer> copies(kPieces);
    for (size_t i = 0; i < kPieces; ++i) {
        const unsigned char* source = (i % 2 ? plain.data() : pinned.data()) + i * kBytes;
        std::memcpy(&expected[i * kBytes], source, kBytes);
        copies[i] = {piece(memory + i * kBytes, number(source), kBytes), {0, 0}};
        copies[i].copy.struct_size = sizeof(Newer);
    }
    REQUIRE_OK(gpo_copy_batch(stream, &copies[0].copy, sizeof(Newer), kPieces));
    std::fill(plain.begin(), plain.end(), 0);
    CHECK(gpu.statistics().pageable_copies == kPieces / 2);
    REQUIRE_OK(gpo_copy_to_host(stream, back.data(), memory, memory.bytes()));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(back == expected);
    copies[3].later[1] = 1;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_batch(stream, &copies[0].copy, sizeof(Newer), kPieces));
}

TEST_CASE("copy: one wrong piece refuses the whole batch before anything has moved") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Memory memory = gpu.memory(4096);
    Pinned<unsigned char> host = gpu.pinned<unsigned char>(4096), back = gpu.pinned<unsigned char>(4096);
    std::memset(host.data(), 1, 4096);
    REQUIRE_OK(gpo_fill(stream, memory, 0, 1, 4096));
    const gpo_copy good = piece(memory, number(host.data()), 16);
    auto unknown = good;
    unknown.flags = 1;
    auto unsized_ = good;
    unsized_.struct_size = 0;
    for (const gpo_copy& wrong :
         {piece(memory + 4090, number(host.data()), 16), piece(memory, 0, 16),
          piece(memory, number(host.data()), UINT64_MAX), piece(memory + 16, memory + 20, 16), unknown, unsized_}) {
        const gpo_copy copies[] = {good, wrong};
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_batch(stream, copies, sizeof(gpo_copy), 2));
    }
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_batch(stream, &good, sizeof(gpo_copy) - 1, 1));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_batch(stream, &good, sizeof(gpo_copy) + 1, 1));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_batch(stream, &good, sizeof(gpo_copy), UINT64_MAX));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_batch(stream, nullptr, sizeof(gpo_copy), 1));
    REQUIRE_OK(gpo_copy_to_host(stream, back.data(), memory, 4096));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(std::count(back.begin(), back.end(), 0) == 4096);
}

TEST_CASE("fill: elements of every size, and rows") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Memory memory = gpu.memory(4096);
    Pinned<unsigned char> back = gpu.pinned<unsigned char>(4096);
    REQUIRE_OK(gpo_fill(stream, memory, 0x11223344, 4, 256));
    REQUIRE_OK(gpo_fill(stream, memory + 1024, 0x11225566, 2, 512));
    REQUIRE_OK(gpo_fill(stream, memory + 2048, 0x11223377, 1, 1024));
    REQUIRE_OK(gpo_fill(stream, memory + 3072, 0, 1, 1024));
    REQUIRE_OK(gpo_fill_rows(stream, memory + 3072, 64, 0x1ab, 10, 16));
    REQUIRE_OK(gpo_copy_to_host(stream, back.data(), memory, 4096));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    for (size_t i = 0; i < 4096; ++i) {
        const unsigned expected = i < 1024   ? 0x11223344u >> 8 * (i % 4) & 0xff
                                  : i < 2048 ? 0x5566u >> 8 * (i % 2) & 0xff
                                  : i < 3072 ? 0x77u
                                             : (i % 64 < 10 ? 0xabu : 0u);
        REQUIRE(back[i] == expected);
    }
    CHECK(gpu.statistics().fills == 5);
}

TEST_CASE("copy: between two devices, held and not") {
    Gpu gpu;
    Device second = gpu.second_device();
    if (!second) return skip("there is one device");
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    Pinned<uint32_t> from = gpu.pinned<uint32_t>(1024), back = gpu.pinned<uint32_t>(1024);
    for (uint32_t i = 0; i < 1024; ++i) from[i] = i * 3;
    Memory here = gpu.memory(4096);
    uint64_t there = 0;
    REQUIRE_OK(gpo_memory_allocate(second, 4096, nullptr, &there));
    REQUIRE_OK(gpo_copy_to_device(stream, here, from.data(), 4096));
    REQUIRE_OK(gpo_copy_peer(stream, second, there, gpu.device, here, 4096));
    REQUIRE_OK(gpo_fill(stream, here, 0, 4, 1024));
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_copy_peer(stream, gpu.device, here, second, there, 4096));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_copy_peer(stream, gpu.device, here, second, there, 4097));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_free(gpu.device, there));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    REQUIRE_OK(gpo_copy_to_host(stream, back.data(), here, 4096));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(std::equal(from.begin(), from.end(), back.begin()));
    REQUIRE_OK(gpo_memory_free(second, there));
}

TEST_CASE("copy: on one device by the call for two") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Pinned<uint32_t> back = gpu.pinned<uint32_t>(1024);
    Memory a = gpu.memory(4096), b = gpu.memory(4096);
    REQUIRE_OK(gpo_fill(stream, a, 5, 4, 1024));
    REQUIRE_OK(gpo_copy_peer(stream, gpu.device, b, gpu.device, a, 4096));
    REQUIRE_OK(gpo_copy_to_host(stream, back.data(), b, 4096));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(std::count(back.begin(), back.end(), 5u) == 1024);
    Gpu other;
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_copy_peer(stream, other.device, b, gpu.device, a, 4096));
}

TEST_CASE("copy: the legacy default stream takes batches too") {
    Gpu gpu;
    Pinned<uint32_t> from = gpu.pinned<uint32_t>(2048), back = gpu.pinned<uint32_t>(2048);
    for (uint32_t i = 0; i < 2048; ++i) from[i] = i + 1;
    Memory memory = gpu.memory(8192);
    for (uintptr_t native : {0, 1}) {
        Stream stream;
        REQUIRE_OK(gpo_stream_wrap(gpu.device, reinterpret_cast<void*>(native), nullptr, stream.out()));
        std::fill(back.begin(), back.end(), 0);
        const gpo_copy copies[] = {piece(memory, from.address(), 4096),
                                   piece(memory + 4096, from.address() + 4096, 4096)};
        REQUIRE_OK(gpo_copy_batch(stream, copies, sizeof(gpo_copy), 2));
        REQUIRE_OK(gpo_copy_to_host(stream, back.data(), memory, 8192));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        CHECK(std::equal(from.begin(), from.end(), back.begin()));
    }
}
