// Shape buckets: which bucket a request runs in, how it is padded, the program's access to buckets, and bad input.
#include <cstring>
#include <random>
#include <thread>

#include "conformance/buckets_rig.h"

using namespace gpo::test;

// --- which bucket ---

TEST_CASE("a request runs in the smallest bucket that it fits into, which is recorded for the first") {
    Gpu gpu;
    Scaler scaler(gpu);
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make();
    CHECK(scaler.calls.empty());
    CHECK(scaler.request(buckets, stream, 3) == 4);
    CHECK(scaler.written(stream, 31) == 4);
    CHECK(scaler.request(buckets, stream, 4) == 4);
    CHECK(scaler.request(buckets, stream, 5) == 16);
    CHECK(scaler.request(buckets, stream, 16) == 16);
    CHECK(scaler.written(stream, 31) == 16);
    REQUIRE(scaler.calls.size() == 4);
    CHECK(scaler.calls[0].recorded == nullptr);  // the warm-up
    CHECK(scaler.calls[0].shape == 4);
    CHECK(scaler.calls[1].recorded != nullptr);
    CHECK(scaler.calls[1].size == 4);
    CHECK(scaler.calls[3].shape == 16);
    CHECK(scaler.calls[1].stream != stream.get());
    const gpo_buckets_statistics counts = counts_of(buckets);
    CHECK(counts.buckets == 2);
    CHECK(counts.hits == 2);
    CHECK(counts.misses == 2);
    CHECK(counts.eager == 0);
    CHECK(counts.requested == 28);
    CHECK(counts.padded == 12);
}

TEST_CASE("a request that fits into no bucket runs eagerly, for its own size and with its settings") {
    Gpu gpu;
    Scaler scaler(gpu);
    scaler.shapes = {4};
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make();
    CHECK(scaler.request(buckets, stream, 9, 2) == 0);
    CHECK(scaler.written(stream, 21) == 9);
    REQUIRE(scaler.calls.size() == 1);
    CHECK(scaler.calls[0].size == 9);
    CHECK(scaler.calls[0].recorded == nullptr);
    CHECK(scaler.calls[0].stream == stream.get());
    CHECK(counts_of(buckets).eager == 1);
    CHECK(counts_of(buckets).buckets == 0);
}

TEST_CASE("the settings of a request hold for that request alone") {
    Gpu gpu;
    Scaler scaler(gpu);
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make();
    CHECK(scaler.request(buckets, stream, 4, 7) == 4);
    CHECK(scaler.written(stream, 71) == 4);
    CHECK(scaler.request(buckets, stream, 4) == 4);
    CHECK(scaler.written(stream, 31) == 4);
}

TEST_CASE("a setting that a bucket doesn't have is refused by the names of both, and nothing runs") {
    Gpu gpu;
    Scaler scaler(gpu);
    auto options = scaler.options();
    options.pad = [](void*, gpo_stream_t, const gpo_bucket_work*) -> gpo_status { return GPO_FAILED; };
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make(options);
    REQUIRE_OK(gpo_buckets_prepare(buckets, stream));
    CHECK(scaler.written(stream, 31) == 64);
    const uint32_t value = 5;
    const gpo_setting setting = setting_of("facto", value);
    uint64_t shape = 77;
    CHECK_STATUS(GPO_NOT_FOUND, gpo_buckets_launch(buckets, stream, 3, &setting, sizeof setting, 1, &shape));
    CHECK(has(last_text(), "bucket 4 of buckets `scaler`"));
    CHECK(has(last_text(), "`facto`"));
    CHECK(has(last_text(), "`factor`"));
    CHECK(shape == 77);
    CHECK(scaler.written(stream, 0) == kMost);
    CHECK(counts_of(buckets).requested == 0);
}

// --- padding ---

TEST_CASE("elements between the size and the shape become zeros, and the others stay") {
    Gpu gpu;
    Scaler scaler(gpu);
    auto options = scaler.options();
    options.pad_address = scaler.in.address();
    options.pad_element_bytes = sizeof(uint32_t);
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make(options);
    CHECK(scaler.request(buckets, stream, 10) == 16);
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    for (uint32_t i = 0; i < kMost; ++i) {
        CAPTURE(i);
        CHECK(read(scaler.in[i]) == (i >= 10 && i < 16 ? 0 : 10));
        CHECK(read(scaler.out[i]) == (i < 10 ? 31 : i < 16 ? 1 : 0));
    }
    CHECK(counts_of(buckets).padded == 6);
}

TEST_CASE("elements of three bytes are padded with zeros, too") {
    Gpu gpu;
    Scaler scaler(gpu);
    auto options = scaler.options();
    options.pad_address = scaler.in.address() + 1;
    options.pad_element_bytes = 3;
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make(options);
    std::memset(scaler.in.data(), 0xff, scaler.in.bytes());
    CHECK(scaler.request(buckets, stream, 3) == 4);
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    const auto* bytes = reinterpret_cast<const uint8_t*>(scaler.in.data());
    CHECK(bytes[9] == 0xff);
    CHECK(bytes[10] == 0);
    CHECK(bytes[12] == 0);
    CHECK(bytes[13] == 0xff);
}

TEST_CASE("elements of any size, wherever they begin, are padded to the last byte and no further") {
    Gpu gpu;
    Scaler scaler(gpu);
    scaler.shapes = {4, 16};
    Stream stream = gpu.stream();
    const auto* bytes = reinterpret_cast<const uint8_t*>(scaler.in.data());
    for (const uint32_t element : {1, 2, 3, 4, 5, 6, 8}) {
        for (uint64_t begin = 0; begin < 4; ++begin) {
            auto options = scaler.options();
            options.pad_address = scaler.in.address() + begin;
            options.pad_element_bytes = element;
            Buckets buckets = scaler.make(options);
            for (uint64_t size = 1; size <= 16; ++size) {
                std::memset(scaler.in.data(), 0xff, scaler.in.bytes());
                const uint64_t shape = scaler.request(buckets, stream, size);
                REQUIRE(shape == (size <= 4 ? 4 : 16));
                CHECK_OK(gpo_stream_wait(stream, kPatience));
                CAPTURE(element);
                CAPTURE(begin);
                CAPTURE(size);
                size_t wrong = 0;
                for (uint64_t i = 0; i < scaler.in.bytes(); ++i) {
                    const bool padded = i >= begin + size * element && i < begin + shape * element;
                    wrong += bytes[i] != (padded ? 0 : 0xff);
                }
                CHECK(wrong == 0);
            }
        }
    }
}

namespace {

/// A callback that pads with 100s.
struct Padder {
    static gpo_status pad(void* user, gpo_stream_t stream, const gpo_bucket_work* work) {
        auto& scaler = *static_cast<Scaler*>(user);
        CHECK(work->graph_template == scaler.recorded(work->shape));
        CHECK(work->setting_count == 1);
        return gpo_fill(stream, scaler.in.address() + work->size * sizeof(uint32_t), 100, 4, work->shape - work->size);
    }
};

}  // namespace

TEST_CASE("a callback pads on the caller's stream before the launch, and only where there is something to pad") {
    Gpu gpu;
    Scaler scaler(gpu);
    auto options = scaler.options();
    options.pad = Padder::pad;
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make(options);
    CHECK(scaler.request(buckets, stream, 16, 2) == 16);
    CHECK(scaler.written(stream, 21) == 16);
    CHECK(scaler.request(buckets, stream, 14, 2) == 16);
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(scaler.out[13]) == 21);
    CHECK(read(scaler.out[14]) == 201);
    CHECK(read(scaler.out[15]) == 201);
    CHECK(read(scaler.in[16]) == 10);
}

TEST_CASE("a padding callback that fails fails the request, which doesn't run") {
    Gpu gpu;
    Scaler scaler(gpu);
    auto options = scaler.options();
    options.pad = [](void*, gpo_stream_t, const gpo_bucket_work*) -> gpo_status { return GPO_IO_ERROR; };
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make(options);
    CHECK(scaler.request(buckets, stream, 4) == 4);
    CHECK(scaler.written(stream, 31) == 4);
    CHECK_STATUS(GPO_CALLBACK_FAILED, gpo_buckets_launch(buckets, stream, 3, nullptr, 0, 0, nullptr));
    CHECK(has(last_text(), "GPO_IO_ERROR"));
    CHECK(scaler.written(stream, 0) == kMost);
}

// --- their life, and bad input ---

TEST_CASE("a bucket's template and stream can't be destroyed, and go with the buckets") {
    Gpu gpu;
    Scaler scaler(gpu);
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make();
    scaler.also = [&](const gpo_bucket_work& work, gpo_stream_t on) {
        if (!work.graph_template) return GPO_SUCCESS;
        CHECK_STATUS(GPO_INVALID_STATE, gpo_template_destroy(work.graph_template));
        CHECK_STATUS(GPO_INVALID_STATE, gpo_stream_destroy(on));
        CHECK_STATUS(GPO_WOULD_DEADLOCK, gpo_runtime_shutdown(gpu.runtime, kPatience));
        return GPO_SUCCESS;
    };
    CHECK(scaler.request(buckets, stream, 4) == 4);
    const gpo_template_t recorded = scaler.recorded(4);
    CHECK_STATUS(GPO_INVALID_STATE, gpo_template_destroy(recorded));
    CHECK(scaler.request(buckets, stream, 4, 2) == 4);
    const uint64_t live = gpu.statistics().live_objects;
    CHECK_OK(gpo_buckets_destroy(buckets.release()));
    CHECK(scaler.written(stream, 21) == 4);
    CHECK(gpu.statistics().live_objects == live - 3);
    auto counts = sized<gpo_template_statistics>();
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_template_get_statistics(recorded, &counts));
}

TEST_CASE("buckets that are destroyed by their own callback finish the request") {
    Gpu gpu;
    Scaler scaler(gpu);
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make();
    const gpo_buckets_t handle = buckets;
    scaler.also = [&](const gpo_bucket_work&, gpo_stream_t) {
        return buckets ? gpo_buckets_destroy(buckets.release()) : GPO_SUCCESS;
    };
    CHECK(scaler.request(handle, stream, 4) == 4);
    CHECK(scaler.written(stream, 31) == 4);
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_buckets_launch(handle, stream, 4, nullptr, 0, 0, nullptr));
}

TEST_CASE("threads launch into a table that keeps too few buckets, and each request writes its result") {
    Gpu gpu;
    constexpr int kThreads = 4, kRequests = 40;
    Kernel kernel = gpu.kernel(kScale, "scale");
    struct Shared {
        Kernel& kernel;
        Pinned<uint32_t> words;
    } shared{kernel, gpu.pinned<uint32_t>(2 * kMost * kThreads)};
    std::fill(shared.words.begin(), shared.words.end(), 10);
    auto options = sized<gpo_buckets_options>();
    const uint64_t shapes[] = {8, 16, 32, 64};
    options.shapes = shapes;
    options.shape_count = 4;
    options.max_buckets = 2;
    options.user = &shared;
    // The places come with the settings; a warm-up has a place of its own.
    options.record = [](void* user, gpo_stream_t stream, const gpo_bucket_work* work) -> gpo_status {
        auto& shared = *static_cast<Shared*>(user);
        uint32_t *to = shared.words.data(), *from = to + 1;
        const uint32_t factor = 0;
        if (work->setting_count) {
            to = *static_cast<uint32_t* const*>(work->settings[0].value);
            from = *static_cast<uint32_t* const*>(work->settings[1].value);
        }
        const uint32_t count = work->setting_count ? static_cast<uint32_t>(work->shape) : 0;
        const gpo_status status = launch(stream, shared.kernel, 1, kMost, to, from, count, factor);
        if (status != GPO_SUCCESS || !work->graph_template) return status;
        uint32_t node = 0;
        CHECK_OK(gpo_template_get_last_node(work->graph_template, stream, &node));
        CHECK_OK(gpo_template_add_parameter(work->graph_template, "to", node, GPO_PARAMETER_ARGUMENT, 0));
        CHECK_OK(gpo_template_add_parameter(work->graph_template, "from", node, GPO_PARAMETER_ARGUMENT, 1));
        CHECK_OK(gpo_template_add_parameter(work->graph_template, "count", node, GPO_PARAMETER_ARGUMENT, 2));
        return GPO_SUCCESS;
    };
    Buckets buckets;
    REQUIRE_OK(gpo_buckets_create(gpu.device, &options, buckets.out()));
    std::vector<std::thread> threads;
    for (int number = 0; number < kThreads; ++number)
        threads.emplace_back([&, number] {
            Stream stream = gpu.stream();
            uint32_t *to = &shared.words[2 * kMost * static_cast<size_t>(number)], *from = to + kMost;
            std::mt19937 random(static_cast<unsigned>(number));
            for (int i = 0; i < kRequests; ++i) {
                std::fill(to, to + kMost, 0);
                const uint32_t size = random() % kMost + 1;
                gpo_setting settings[3] = {sized<gpo_setting>(), sized<gpo_setting>(), setting_of("count", size)};
                settings[0].name = "to";
                settings[0].value = &to;
                settings[0].bytes = sizeof to;
                settings[1].name = "from";
                settings[1].value = &from;
                settings[1].bytes = sizeof from;
                CHECK_OK(gpo_buckets_launch(buckets, stream, size, settings, sizeof settings[0], 3, nullptr));
                CHECK_OK(gpo_stream_wait(stream, kPatience));
                CHECK(read(to[size - 1]) == 1);
                CHECK((size == kMost || read(to[size]) == 0));
            }
        });
    for (std::thread& thread : threads) thread.join();
    const gpo_buckets_statistics counts = counts_of(buckets);
    CHECK(counts.hits + counts.misses + counts.eager == kThreads * kRequests);
    CHECK(counts.buckets == 2);
    CHECK(counts.misses == counts.evictions + 2);
}

TEST_CASE("bad tables, callbacks, paddings and sizes are refused by name") {
    Gpu gpu, other;
    Scaler scaler(gpu);
    Stream stream = gpu.stream(), foreign = other.stream();
    const auto refuses = [&](const gpo_buckets_options& options, const char* part) {
        Buckets made;
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_buckets_create(gpu.device, &options, made.out()));
        CHECK(made.get() == nullptr);
        CHECK(has(last_text(), part));
    };
    auto options = scaler.options();
    options.shapes = nullptr;
    refuses(options, "options.shapes");
    options = scaler.options();
    options.shape_count = 0;
    refuses(options, "options.shape_count");
    options.shape_count = uint64_t{1} << 60;
    refuses(options, "options.shape_count");
    const uint64_t twice[] = {8, 4, 8}, zero[] = {8, 0};
    options.shapes = twice;
    options.shape_count = 3;
    refuses(options, "has 8 twice");
    options.shapes = zero;
    options.shape_count = 2;
    refuses(options, "options.shapes[1] is 0");
    options = scaler.options();
    options.record = nullptr;
    refuses(options, "options.record");
    options = scaler.options();
    options.streams = 65;
    refuses(options, "options.streams");
    options = scaler.options();
    options.pad_address = scaler.in.address();
    refuses(options, "options.pad_element_bytes");
    options.pad_element_bytes = uint64_t{1} << 60;
    refuses(options, "past the end");
    options.pad_element_bytes = 4;
    options.pad = Padder::pad;
    refuses(options, "both");
    options = scaler.options();
    options.flags = 4;
    refuses(options, "options.flags");

    Buckets buckets = scaler.make();
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_buckets_launch(buckets, stream, 0, nullptr, 0, 0, nullptr));
    CHECK(has(last_text(), "size"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT,
                 gpo_buckets_launch(buckets, stream, 1, nullptr, sizeof(gpo_setting), 1, nullptr));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_buckets_launch(buckets, foreign, 1, nullptr, 0, 0, nullptr));
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_buckets_prepare(buckets, foreign));
    CHECK(scaler.calls.empty());
}
