// Shape buckets: when a bucket is recorded, how that can fail, and which buckets are evicted.
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include "conformance/buckets_rig.h"

using namespace gpo::test;

TEST_CASE("preparing records the largest bucket first, and then nothing is recorded or instantiated any more") {
    Gpu gpu;
    Scaler scaler(gpu);
    auto options = scaler.options();
    options.streams = 2;
    Stream streams[] = {gpu.stream(), gpu.stream()};
    Buckets buckets = scaler.make(options);
    REQUIRE_OK(gpo_buckets_prepare(buckets, streams[0]));
    CHECK_OK(gpo_stream_wait(streams[0], kPatience));
    REQUIRE(scaler.calls.size() == 6);
    const uint64_t order[] = {64, 64, 16, 16, 4, 4};
    for (size_t i = 0; i < 6; ++i) CHECK(scaler.calls[i].shape == order[i]);
    std::mt19937 random(7);
    for (int i = 0; i < 200; ++i) {
        const uint64_t size = random() % kMost + 1;
        CHECK(scaler.request(buckets, streams[i % 2], size, i % 5) == (size <= 4 ? 4 : size <= 16 ? 16 : 64));
    }
    for (Stream& stream : streams) CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK_OK(gpo_buckets_prepare(buckets, streams[0]));
    CHECK(scaler.calls.size() == 6);
    CHECK(counts_of(buckets).hits == 200);
    CHECK(counts_of(buckets).misses == 0);
    uint64_t launches = 0;
    for (const uint64_t shape : scaler.shapes) {
        const gpo_template_statistics counts = template_counts(scaler.recorded(shape));
        CHECK(counts.instances == 2);
        CHECK(counts.recordings == 1);
        CHECK(counts.updates == 0);
        CHECK(counts.rebuilds == 0);
        launches += counts.launches;
    }
    CHECK(launches == 200);
}

TEST_CASE("a warm-up comes after what is on the caller's stream, and before what comes later there" * gated) {
    Gpu gpu;
    Scaler scaler(gpu);
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make();
    CHECK(scaler.request(buckets, stream, 4) == 4);  // the first use of everything comes before the gate
    CHECK(scaler.written(stream, 31) == 4);
    Gate gate(gpu);
    gate.put_on(stream);
    CHECK(scaler.request(buckets, stream, 16, 2) == 16);  // returns while the gate is closed
    CHECK(read(scaler.out[0]) == 0);
    gate.open();
    CHECK(scaler.written(stream, 21) == 16);  // the request was the last that wrote
}

TEST_CASE("a bucket whose recording fails isn't recorded, and can be with the next request") {
    Gpu gpu;
    Scaler scaler(gpu);
    Stream stream = gpu.stream();
    Queue queue = gpu.queue();
    Buckets buckets = scaler.make();
    const auto fails = [&](gpo_status expected, const char* part) {
        CHECK_STATUS(expected, gpo_buckets_launch(buckets, stream, 3, nullptr, 0, 0, nullptr));
        CHECK(has(last_text(), "bucket 4 of buckets `scaler`"));
        CHECK(has(last_text(), part));
        CHECK(counts_of(buckets).buckets == 0);
    };
    SUBCASE("the callback returns a failure") {
        scaler.also = [](const gpo_bucket_work& work, gpo_stream_t) {
            return work.graph_template ? GPO_IO_ERROR : GPO_SUCCESS;
        };
        fails(GPO_CALLBACK_FAILED, "GPO_IO_ERROR");
    }
    SUBCASE("the callback returns a failure in the warm-up") {
        scaler.also = [](const gpo_bucket_work&, gpo_stream_t) { return GPO_END; };
        fails(GPO_CALLBACK_FAILED, "GPO_END");
    }
    SUBCASE("the callback throws") {
        scaler.also = [](const gpo_bucket_work& work, gpo_stream_t) -> gpo_status {
            return work.graph_template ? throw std::runtime_error("no") : GPO_SUCCESS;
        };
        fails(GPO_CALLBACK_FAILED, "threw a C++ exception: no");
    }
    SUBCASE("the callback makes a call that can't be recorded") {
        scaler.also = [&](const gpo_bucket_work& work, gpo_stream_t on) {
            if (work.graph_template) CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_notify(on, queue, 1));
            return GPO_SUCCESS;
        };
        fails(GPO_CAPTURE_REFUSED, "notify");
    }
    SUBCASE("the callback ends the recording itself") {
        scaler.also = [](const gpo_bucket_work& work, gpo_stream_t) {
            return work.graph_template ? gpo_template_end(work.graph_template) : GPO_SUCCESS;
        };
        fails(GPO_INVALID_STATE, "is not being recorded");
    }
    SUBCASE("the callback leaves the library's stream failed") {
        Timeline timeline = gpu.timeline();
        scaler.also = [&](const gpo_bucket_work& work, gpo_stream_t on) {
            if (work.graph_template) return GPO_SUCCESS;
            CHECK_OK(gpo_timeline_fail(timeline, GPO_FAILED, "broken"));
            gpo_stream_wait_timeline(on, timeline, 1);
            return GPO_FAILED;
        };
        fails(GPO_CALLBACK_FAILED, "GPO_FAILED");
    }
    scaler.also = nullptr;
    CHECK(scaler.request(buckets, stream, 3) == 4);
    CHECK(scaler.written(stream, 31) == 4);
    CHECK(counts_of(buckets).misses == 1);
}

TEST_CASE("an eager request whose callback fails says so") {
    Gpu gpu;
    Scaler scaler(gpu);
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make();
    scaler.also = [](const gpo_bucket_work&, gpo_stream_t) { return GPO_FAILED; };
    CHECK_STATUS(GPO_CALLBACK_FAILED, gpo_buckets_launch(buckets, stream, 65, nullptr, 0, 0, nullptr));
    CHECK(has(last_text(), "eager request of buckets `scaler`"));
    CHECK(counts_of(buckets).eager == 0);
}

TEST_CASE("while a bucket is recorded, launches of others go on, and nobody waits for the recording") {
    Gpu gpu;
    Scaler scaler(gpu);
    Stream stream = gpu.stream(), other = gpu.stream();
    Buckets buckets = scaler.make();
    CHECK(scaler.request(buckets, stream, 4) == 4);
    bool once = false;
    scaler.also = [&](const gpo_bucket_work& work, gpo_stream_t) {
        if (!work.graph_template || std::exchange(once, true)) return GPO_SUCCESS;
        std::thread([&] {
            CHECK(scaler.request(buckets, other, 4) == 4);   // recorded
            CHECK(scaler.request(buckets, other, 16) == 0);  // being recorded
            CHECK(scaler.request(buckets, other, 64) == 0);  // not recorded
            CHECK_STATUS(GPO_INVALID_STATE, gpo_buckets_prepare(buckets, other));
        }).join();
        return GPO_SUCCESS;
    };
    CHECK(scaler.request(buckets, stream, 16) == 16);
    CHECK(once);
    for (const Stream* each : {&stream, &other}) CHECK_OK(gpo_stream_wait(*each, kPatience));
    CHECK(scaler.request(buckets, other, 64) == 64);
    CHECK(scaler.written(other, 31) == 64);
    const gpo_buckets_statistics counts = counts_of(buckets);
    CHECK(counts.hits == 1);
    CHECK(counts.misses == 3);
    CHECK(counts.eager == 2);
}

TEST_CASE("on a held stream a bucket that isn't recorded runs eagerly, and one that is is held with its settings") {
    Gpu gpu;
    Scaler scaler(gpu);
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    Buckets buckets = scaler.make();
    CHECK(scaler.request(buckets, stream, 4) == 4);
    CHECK(scaler.written(stream, 31) == 4);
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    CHECK(scaler.request(buckets, stream, 16, 2) == 0);
    CHECK(scaler.request(buckets, stream, 4, 5) == 4);
    CHECK_STATUS(GPO_INVALID_STATE, gpo_buckets_prepare(buckets, stream));
    CHECK(has(last_text(), "is held"));
    CHECK(read(scaler.out[0]) == 0);
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(scaler.out[0]) == 51);
    CHECK(read(scaler.out[15]) == 21);
    CHECK(scaler.recordings() == 1);
}

TEST_CASE("on a stream that is recorded requests become part of the recording, and no bucket is recorded") {
    Gpu gpu;
    Scaler scaler(gpu);
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make();
    CHECK(scaler.request(buckets, stream, 4) == 4);
    CHECK(scaler.written(stream, 31) == 4);
    Template outer;
    REQUIRE_OK(gpo_template_create(gpu.device, nullptr, outer.out()));
    REQUIRE_OK(gpo_template_begin(outer, stream));
    CHECK(scaler.request(buckets, stream, 16, 2) == 0);
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_buckets_prepare(buckets, stream));
    REQUIRE_OK(gpo_template_cancel(outer));
    CHECK(scaler.written(stream, 0) == kMost);
    CHECK(counts_of(buckets).buckets == 1);
    CHECK(scaler.request(buckets, stream, 16, 2) == 16);
    CHECK(scaler.written(stream, 21) == 16);
}

// --- the budget ---

TEST_CASE("beyond the number of buckets the one that was not used for the longest time is evicted") {
    Gpu gpu;
    Scaler scaler(gpu);
    auto options = scaler.options();
    options.max_buckets = 2;
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make(options);
    CHECK(scaler.request(buckets, stream, 4) == 4);
    CHECK(scaler.request(buckets, stream, 16) == 16);
    CHECK(scaler.request(buckets, stream, 4) == 4);
    const gpo_template_t evicted = scaler.recorded(16), stays = scaler.recorded(4);
    CHECK(scaler.request(buckets, stream, 64) == 64);
    auto counts = sized<gpo_template_statistics>();
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_template_get_statistics(evicted, &counts));
    CHECK_OK(gpo_template_get_statistics(stays, &counts));
    CHECK(counts_of(buckets).buckets == 2);
    CHECK(counts_of(buckets).evictions == 1);
    CHECK(scaler.request(buckets, stream, 16) == 16);
    CHECK(scaler.written(stream, 31) == kMost);
    CHECK(counts_of(buckets).evictions == 2);
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_template_get_statistics(stays, &counts));
    CHECK(scaler.recordings() == 4);
}

TEST_CASE("preparing evicts nothing, and leaves out what there is no room for") {
    Gpu gpu;
    Scaler scaler(gpu);
    auto options = scaler.options();
    options.max_buckets = 2;
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make(options);
    REQUIRE_OK(gpo_buckets_prepare(buckets, stream));
    CHECK(counts_of(buckets).buckets == 2);
    CHECK(counts_of(buckets).evictions == 0);
    CHECK(scaler.recorded(64) != nullptr);
    CHECK(scaler.recorded(16) != nullptr);
    CHECK(scaler.recorded(4) == nullptr);
    CHECK(scaler.written(stream, 31) == 64);
}

TEST_CASE("launches of an evicted bucket that were accepted run to their end" * gated) {
    Gpu gpu;
    Scaler scaler(gpu);
    auto options = scaler.options();
    options.max_buckets = 1;
    Stream stream = gpu.stream(), other = gpu.stream();
    Buckets buckets = scaler.make(options);
    CHECK(scaler.request(buckets, stream, 64) == 64);  // its kernel is loaded before the gate closes
    CHECK(scaler.request(buckets, stream, 4) == 4);
    CHECK(scaler.written(stream, 31) == 64);
    Gate gate(gpu);
    gate.put_on(stream);
    CHECK(scaler.request(buckets, stream, 4, 2) == 4);
    CHECK(scaler.request(buckets, other, 16, 5) == 16);
    CHECK(counts_of(buckets).evictions == 2);
    CHECK_OK(gpo_stream_wait(other, kPatience));
    CHECK(read(scaler.out[0]) == 51);
    gate.open();
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK(read(scaler.out[3]) == 21);
    CHECK(read(scaler.out[4]) == 51);
}

namespace {

/// A bucket of n elements takes n MiB of device memory, beside what its graphs take.
struct Hungry {
    explicit Hungry(Gpu& gpu, Scaler& scaler) : device(gpu.device) {
        scaler.also = [this](const gpo_bucket_work& work, gpo_stream_t) {
            if (!work.graph_template) return GPO_SUCCESS;
            uint64_t address = 0;
            REQUIRE_OK(gpo_memory_allocate(device, work.shape << 20, nullptr, &address));
            taken.push_back(address);
            return GPO_SUCCESS;
        };
    }
    ~Hungry() {
        for (const uint64_t address : taken) gpo_memory_free(device, address);
    }
    gpo_device_t device;
    std::vector<uint64_t> taken;
};

}  // namespace

TEST_CASE("what a bucket takes is counted, and beyond the budget others are evicted for it") {
    Gpu gpu;
    Scaler scaler(gpu);
    Hungry hungry(gpu, scaler);
    auto options = scaler.options();
    options.max_bytes = uint64_t{128} << 20;
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make(options);
    CHECK(scaler.request(buckets, stream, 4) == 4);  // with what a driver takes for its first graph
    const uint64_t first = counts_of(buckets).bytes;
    CHECK(first >= uint64_t{4} << 20);
    CHECK(scaler.request(buckets, stream, 64) == 64);
    CHECK(counts_of(buckets).bytes - first >= uint64_t{64} << 20);
    CHECK(counts_of(buckets).bytes - first < uint64_t{80} << 20);
    CHECK(scaler.request(buckets, stream, 16) == 16);
    CHECK(counts_of(buckets).bytes >= uint64_t{84} << 20);
    CHECK(counts_of(buckets).evictions == 0);
    scaler.shapes = {16, 64};
    options = scaler.options();
    options.max_bytes = uint64_t{76} << 20;
    Buckets fewer = scaler.make(options);
    REQUIRE_OK(gpo_buckets_prepare(fewer, stream));  // 64 fits, and then 16 doesn't
    CHECK(counts_of(fewer).buckets == 1);
    CHECK(counts_of(fewer).evictions == 0);
    CHECK(scaler.request(fewer, stream, 64) == 64);
    CHECK(counts_of(fewer).hits == 1);
    CHECK(scaler.request(fewer, stream, 16) == 16);
    CHECK(counts_of(fewer).evictions == 1);
    CHECK(counts_of(fewer).bytes < uint64_t{64} << 20);
    CHECK_OK(gpo_stream_wait(stream, kPatience));
}

TEST_CASE("a bucket that alone takes more than the budget is not kept, and its requests run eagerly") {
    Gpu gpu;
    Scaler scaler(gpu);
    Hungry hungry(gpu, scaler);
    auto options = scaler.options();
    options.max_bytes = uint64_t{40} << 20;
    Stream stream = gpu.stream();
    Buckets buckets = scaler.make(options);
    CHECK(scaler.request(buckets, stream, 16) == 16);
    CHECK(scaler.request(buckets, stream, 60, 2) == 64);  // recorded for this request
    CHECK(scaler.written(stream, 21) == 64);
    CHECK(counts_of(buckets).buckets == 1);
    CHECK(scaler.request(buckets, stream, 60, 2) == 0);
    CHECK(scaler.written(stream, 21) == 60);
    CHECK(scaler.recordings() == 2);
    CHECK(counts_of(buckets).eager == 1);
    CHECK(counts_of(buckets).evictions == 0);
}
