// Shape buckets whose work updates memory in place: the phases given to `record`, warm-ups that are left out or leave
// memory unchanged, and requests that run eagerly because their bucket can't be recorded.
#include <functional>
#include <vector>

#include "conformance/buckets_rig.h"

using namespace gpo::test;

namespace {

const char* const kStep = R"(
extern "C" __global__ void step(unsigned* state, unsigned digit) {
    state[threadIdx.x] = state[threadIdx.x] * 10 + digit;
}
)";

/// Each request appends a digit, 1 where it gives none, to each of two numbers in device memory.
class Steps {
public:
    static constexpr uint32_t kNumbers = 2;

    explicit Steps(Gpu& gpu, uint64_t bytes = kNumbers * sizeof(uint32_t))
        : gpu(gpu), kernel(gpu.kernel(kStep, "step")), stream(gpu.stream("steps")), state(gpu.memory(bytes)),
          seen(gpu.pinned<uint32_t>(kNumbers)) {
        CHECK_OK(gpo_fill(stream, state, 0, 4, bytes / 4));
    }
    gpo_buckets_options options(uint32_t flags = 0) {
        auto made = sized<gpo_buckets_options>();
        made.shapes = shapes;
        made.shape_count = 2;
        made.record = record;
        made.user = this;
        made.flags = flags;
        made.label = "steps";
        return made;
    }
    /// Options with ranges that warm-ups leave unchanged.
    gpo_buckets_options options(const std::vector<gpo_memory_range>& ranges, uint32_t flags = 0) {
        auto made = options(flags);
        made.restored = ranges.data();
        made.restored_count = ranges.size();
        made.restored_stride = sizeof ranges[0];
        return made;
    }
    std::vector<gpo_memory_range> ranges() const {
        return {range(state, sizeof(uint32_t)), range(state + sizeof(uint32_t), sizeof(uint32_t))};
    }
    static gpo_memory_range range(uint64_t address, uint64_t bytes) {
        auto made = sized<gpo_memory_range>();
        made.address = address;
        made.bytes = bytes;
        return made;
    }
    Buckets make(const gpo_buckets_options& options) {
        Buckets made;
        REQUIRE_OK(gpo_buckets_create(gpu.device, &options, made.out()));
        return made;
    }
    uint64_t request(gpo_buckets_t buckets, uint32_t digit, uint64_t size = 1) {
        const gpo_setting setting = setting_of("digit", digit);
        uint64_t shape = UINT64_MAX;
        CHECK_OK(gpo_buckets_launch(buckets, stream, size, &setting, sizeof setting, 1, &shape));
        return shape;
    }
    gpo_status refused(gpo_buckets_t buckets, uint64_t size = 1) {
        return gpo_buckets_launch(buckets, stream, size, nullptr, 0, 0, nullptr);
    }
    /// The value of both numbers.
    uint32_t number() {
        CHECK_OK(gpo_copy_to_host(stream, seen.data(), state, kNumbers * sizeof(uint32_t)));
        CHECK_OK(gpo_stream_wait(stream, kPatience));
        CHECK(read(seen[0]) == read(seen[1]));
        return read(seen[0]);
    }

    Gpu& gpu;
    Kernel kernel;
    Stream stream;
    Memory state;
    Pinned<uint32_t> seen;
    std::vector<uint32_t> phases;
    /// Runs at the end of `record`.
    std::function<gpo_status(const gpo_bucket_work&, gpo_stream_t)> also;

private:
    static constexpr uint64_t shapes[] = {1, 2};
    static gpo_status record(void* user, gpo_stream_t on, const gpo_bucket_work* work) {
        return static_cast<Steps*>(user)->put(on, *work);
    }
    gpo_status put(gpo_stream_t on, const gpo_bucket_work& work) {
        phases.push_back(work.phase);
        uint32_t digit = 1;
        if (work.setting_count) digit = *static_cast<const uint32_t*>(work.settings[0].value);
        const gpo_status status = launch(on, kernel, 1, kNumbers, uint64_t{state}, digit);
        if (status != GPO_SUCCESS) return status;
        if (work.graph_template) {
            uint32_t node = 0;
            CHECK_OK(gpo_template_get_last_node(work.graph_template, on, &node));
            CHECK_OK(gpo_template_add_parameter(work.graph_template, "digit", node, GPO_PARAMETER_ARGUMENT, 1));
        }
        return also ? also(work, on) : GPO_SUCCESS;
    }
};

/// Fails what is recorded, and nothing else.
gpo_status fail_recording(const gpo_bucket_work& work, gpo_stream_t) {
    return work.graph_template ? GPO_IO_ERROR : GPO_SUCCESS;
}

constexpr uint32_t kWarm = GPO_BUCKET_WARM_UP, kRecorded = GPO_BUCKET_RECORDING, kEager = GPO_BUCKET_EAGER;

}  // namespace

// --- phases given to record ---

TEST_CASE("record is told whether its work warms up, is recorded or runs eagerly, and pad that it pads") {
    Gpu gpu;
    Steps steps(gpu);
    auto options = steps.options();
    options.pad = [](void* user, gpo_stream_t, const gpo_bucket_work* work) -> gpo_status {
        static_cast<Steps*>(user)->phases.push_back(work->phase);
        return GPO_SUCCESS;
    };
    const uint64_t shapes[] = {2};
    options.shapes = shapes;
    options.shape_count = 1;
    Buckets buckets = steps.make(options);
    CHECK(steps.request(buckets, 1) == 2);
    CHECK(steps.request(buckets, 2, 3) == 0);
    CHECK(steps.phases == std::vector<uint32_t>{kWarm, kRecorded, GPO_BUCKET_PADDING, kEager});
}

TEST_CASE("work that leaves the update out of its warm-up runs once for each request") {
    Gpu gpu;
    Steps steps(gpu);
    auto options = steps.options();
    options.record = [](void* user, gpo_stream_t on, const gpo_bucket_work* work) -> gpo_status {
        auto& steps = *static_cast<Steps*>(user);
        if (work->phase == GPO_BUCKET_WARM_UP) return GPO_SUCCESS;
        return launch(on, steps.kernel, 1, Steps::kNumbers, uint64_t{steps.state}, 4u);
    };
    Buckets buckets = steps.make(options);
    for (int i = 0; i < 3; ++i) CHECK(steps.refused(buckets) == GPO_SUCCESS);
    CHECK(steps.number() == 444);
}

// --- without a warm-up ---

TEST_CASE("without a warm-up the work runs once for the first request") {
    Gpu gpu;
    Steps steps(gpu);
    Buckets buckets = steps.make(steps.options(GPO_BUCKETS_NO_WARM_UP));
    for (uint32_t digit = 1; digit <= 3; ++digit) CHECK(steps.request(buckets, digit) == 1);
    CHECK(steps.number() == 123);
    REQUIRE_OK(gpo_buckets_prepare(buckets, steps.stream));
    CHECK(steps.request(buckets, 4, 2) == 2);
    CHECK(steps.number() == 1234);
    CHECK(steps.phases == std::vector<uint32_t>{kRecorded, kRecorded});
}

// --- memory that is restored ---

TEST_CASE("memory that is restored is as if there had been no warm-up" * gated) {
    Gpu gpu;
    Steps steps(gpu);
    const auto ranges = steps.ranges();
    Buckets buckets = steps.make(steps.options(ranges));
    CHECK(steps.request(buckets, 1) == 1);
    CHECK(steps.number() == 1);
    Gate gate(gpu);   // what is before the warm-up on the stream is saved too
    gate.put_on(steps.stream);
    CHECK(steps.request(buckets, 2) == 1);
    CHECK(steps.request(buckets, 3, 2) == 2);
    gate.open();
    CHECK(steps.request(buckets, 4) == 1);
    CHECK(steps.number() == 1234);
    CHECK(steps.phases == std::vector<uint32_t>{kWarm, kRecorded, kWarm, kRecorded});
}

TEST_CASE("many ranges, pinned memory and memory of a pool are restored, and what isn't named stays changed") {
    Gpu gpu;
    Steps steps(gpu);
    Pool pool;
    REQUIRE_OK(gpo_pool_create(gpu.device, nullptr, pool.out()));
    uint64_t piece = 0;
    REQUIRE_OK(gpo_pool_allocate(pool, steps.stream, 4096, &piece));
    Pinned<uint32_t> words = gpu.pinned<uint32_t>(200);
    for (uint32_t i = 0; i < 200; ++i) words[i] = 100 + i;
    REQUIRE_OK(gpo_fill(steps.stream, piece, 7, 4, 1024));
    std::vector<gpo_memory_range> ranges{Steps::range(piece, 4096)};
    for (size_t i = 0; i < 100; ++i) ranges.push_back(Steps::range(words.address() + 8 * i, 4));   // every other word
    steps.also = [&](const gpo_bucket_work& work, gpo_stream_t on) {
        if (work.phase != GPO_BUCKET_WARM_UP) return GPO_SUCCESS;
        CHECK_OK(gpo_fill(on, piece, 9, 4, 1024));
        return gpo_fill(on, words.address(), 9, 4, 200);
    };
    Buckets buckets = steps.make(steps.options(ranges));
    CHECK(steps.request(buckets, 2) == 1);
    CHECK(steps.number() == 12);   // the numbers aren't named
    for (uint32_t i = 0; i < 200; ++i) CHECK(read(words[i]) == (i % 2 ? 9 : 100 + i));
    REQUIRE_OK(gpo_copy_to_host(steps.stream, words.data(), piece + 4096 - 400, 400));
    CHECK_OK(gpo_stream_wait(steps.stream, kPatience));
    CHECK(read(words[0]) == 7);
    CHECK(read(words[99]) == 7);
    CHECK_OK(gpo_pool_free(pool, steps.stream, piece));
    CHECK_OK(gpo_stream_wait(steps.stream, kPatience));
}

TEST_CASE("memory for what is restored is taken once for a table, given back, and not counted as the buckets'") {
    constexpr uint64_t kBytes = uint64_t{64} << 20;
    Gpu gpu;
    Steps steps(gpu, kBytes);
    const std::vector<gpo_memory_range> ranges{Steps::range(steps.state, kBytes)};
    Buckets buckets = steps.make(steps.options(ranges));
    const auto free_bytes = [&] {
        uint64_t free = 0, total = 0;
        CHECK_OK(gpo_device_wait(gpu.device, kPatience));
        CHECK_OK(gpo_device_get_memory(gpu.device, &free, &total));
        return free;
    };
    const uint64_t before = free_bytes(), calls = gpu.statistics().device_allocations;
    REQUIRE_OK(gpo_buckets_prepare(buckets, steps.stream));
    CHECK(counts_of(buckets).buckets == 2);
    CHECK(counts_of(buckets).bytes < kBytes);
    CHECK(free_bytes() + kBytes > before);
    CHECK(gpu.statistics().device_allocations - calls == 1);   // a free waits for no kernel
    CHECK(steps.number() == 0);
}

TEST_CASE("memory is restored too if record fails in the warm-up or in the recording") {
    Gpu gpu;
    Steps steps(gpu);
    const auto ranges = steps.ranges();
    Buckets buckets = steps.make(steps.options(ranges));
    SUBCASE("in the warm-up") {
        steps.also = [](const gpo_bucket_work&, gpo_stream_t) { return GPO_IO_ERROR; };
    }
    SUBCASE("in the recording") { steps.also = fail_recording; }
    CHECK_STATUS(GPO_CALLBACK_FAILED, steps.refused(buckets));
    CHECK(has(last_text(), "GPO_IO_ERROR"));
    CHECK(steps.number() == 0);
    steps.also = nullptr;
    CHECK(steps.request(buckets, 5) == 1);
    CHECK(steps.number() == 5);
}

TEST_CASE("a range that can't be saved fails the request before anything has run") {
    Gpu gpu;
    Steps steps(gpu);
    std::vector<gpo_memory_range> ranges = steps.ranges();
    const char* part = "options.restored[1]";
    std::vector<uint32_t> pageable(4);
    gpo_status expected = GPO_INVALID_ARGUMENT;
    SUBCASE("behind the end of its allocation") { ranges[1].bytes = uint64_t{1} << 40; }
    SUBCASE("pageable") { ranges[1].address = reinterpret_cast<uint64_t>(pageable.data()); }
    Buckets buckets = steps.make(steps.options(ranges));
    CHECK_STATUS(expected, steps.refused(buckets));
    CHECK(has(last_text(), part));
    CHECK(has(last_text(), "bucket 1 of buckets `steps`"));
    CHECK(steps.phases.empty());
    CHECK(steps.number() == 0);
}

TEST_CASE("memory that can't be restored, as record made the stream fail, is said to be what the warm-up left") {
    Gpu gpu;
    Steps steps(gpu);
    const auto ranges = steps.ranges();
    Timeline timeline = gpu.timeline();
    Buckets buckets = steps.make(steps.options(ranges, GPO_BUCKETS_EAGER_FALLBACK));
    steps.also = [&](const gpo_bucket_work& work, gpo_stream_t on) {
        if (work.graph_template) return GPO_SUCCESS;
        CHECK_OK(gpo_stream_wait_timeline(on, timeline, 1));
        return gpo_timeline_fail(timeline, GPO_FAILED, "broken");
    };
    CHECK(steps.refused(buckets) != GPO_SUCCESS);
    CHECK(has(last_text(), "can't be restored"));
    steps.also = nullptr;
    CHECK(steps.request(buckets, 2) == 1);
}

TEST_CASE("bad ranges and flags that don't go together are refused by name") {
    Gpu gpu;
    Steps steps(gpu);
    const auto refuses = [&](const gpo_buckets_options& options, const char* part) {
        Buckets made;
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_buckets_create(gpu.device, &options, made.out()));
        CHECK(has(last_text(), part));
    };
    auto ranges = steps.ranges();
    refuses(steps.options(ranges, GPO_BUCKETS_NO_WARM_UP), "GPO_BUCKETS_NO_WARM_UP");
    refuses(steps.options(8), "options.flags");
    auto options = steps.options(ranges);
    options.restored_stride = 2;
    refuses(options, "options.restored_stride");
    options.restored = nullptr;
    refuses(options, "options.restored");
    options = steps.options(ranges);
    options.restored_count = uint64_t{1} << 40;
    refuses(options, "options.restored_count");
    ranges[1].bytes = 0;
    refuses(steps.options(ranges), "options.restored[1].bytes is 0");
    ranges[1].bytes = UINT64_MAX;
    refuses(steps.options(ranges), "options.restored[1]");
    ranges[1].address = 0;
    refuses(steps.options(ranges), "options.restored[1]");
}

// --- eager instead of failing ---

TEST_CASE("where a recording fails the request runs eagerly, with its own values, and the reason can be read") {
    Gpu gpu;
    Steps steps(gpu);
    const auto ranges = steps.ranges();
    Queue queue = gpu.queue();
    Buckets buckets = steps.make(steps.options(ranges, GPO_BUCKETS_EAGER_FALLBACK));
    bool returns = false;
    steps.also = [&](const gpo_bucket_work& work, gpo_stream_t on) {
        if (!work.graph_template) return GPO_SUCCESS;
        const gpo_status refused = gpo_stream_notify(on, queue, 1);
        CHECK(refused == GPO_CAPTURE_REFUSED);
        return returns ? refused : GPO_SUCCESS;
    };
    SUBCASE("the recording lacks what was refused") {}
    SUBCASE("record returns what was refused") { returns = true; }
    for (uint32_t digit = 3; digit <= 5; ++digit) CHECK(steps.request(buckets, digit) == 0);
    CHECK(steps.number() == 345);
    // The recording isn't tried again.
    CHECK(steps.phases == std::vector<uint32_t>{kWarm, kRecorded, kEager, kEager, kEager});
    const gpo_buckets_statistics counts = counts_of(buckets);
    CHECK(counts.eager == 3);
    CHECK(counts.fallbacks == 3);
    CHECK(counts.failures == 1);
    CHECK(counts.misses == 0);
    CHECK(counts.requested == 3);
    CHECK(has(counts.last_failure, "bucket 1 of buckets `steps`"));
    CHECK(has(counts.last_failure, "notify on stream"));
    // Other buckets aren't affected.
    steps.also = nullptr;
    CHECK(steps.request(buckets, 6, 2) == 2);
    CHECK(steps.number() == 3456);
    CHECK(counts_of(buckets).fallbacks == 3);
}

TEST_CASE("preparing tries buckets again whose recording had failed, and goes on where one fails") {
    Gpu gpu;
    Steps steps(gpu);
    Buckets buckets = steps.make(steps.options(GPO_BUCKETS_NO_WARM_UP | GPO_BUCKETS_EAGER_FALLBACK));
    steps.also = fail_recording;
    CHECK(steps.request(buckets, 1) == 0);
    REQUIRE_OK(gpo_buckets_prepare(buckets, steps.stream));
    CHECK(counts_of(buckets).failures == 3);
    CHECK(counts_of(buckets).buckets == 0);
    CHECK(has(counts_of(buckets).last_failure, "bucket 1 of"));   // the largest is first
    steps.also = [](const gpo_bucket_work& work, gpo_stream_t) {
        return work.shape == 2 ? GPO_IO_ERROR : GPO_SUCCESS;
    };
    REQUIRE_OK(gpo_buckets_prepare(buckets, steps.stream));
    CHECK(counts_of(buckets).buckets == 1);
    CHECK(steps.request(buckets, 2) == 1);
    steps.also = nullptr;
    CHECK(steps.request(buckets, 3, 2) == 0);   // only preparing tries again
    CHECK(steps.number() == 123);
    REQUIRE_OK(gpo_buckets_prepare(buckets, steps.stream));
    CHECK(steps.request(buckets, 4, 2) == 2);
    CHECK(steps.number() == 1234);
    CHECK(counts_of(buckets).failures == 4);
}

TEST_CASE("a bucket that was evicted is recorded anew, however it failed before") {
    Gpu gpu;
    Steps steps(gpu);
    auto options = steps.options(GPO_BUCKETS_NO_WARM_UP | GPO_BUCKETS_EAGER_FALLBACK);
    options.max_buckets = 1;
    Buckets buckets = steps.make(options);
    steps.also = fail_recording;
    CHECK(steps.request(buckets, 1, 2) == 0);
    steps.also = nullptr;
    REQUIRE_OK(gpo_buckets_prepare(buckets, steps.stream));
    CHECK(steps.request(buckets, 2) == 1);   // evicts the larger one
    CHECK(steps.request(buckets, 3, 2) == 2);
    CHECK(steps.number() == 123);
    CHECK(counts_of(buckets).fallbacks == 1);
    CHECK(counts_of(buckets).evictions == 2);
}

TEST_CASE("work that fails in its warm-up, or on a stream that has failed, doesn't fall back") {
    Gpu gpu;
    Steps steps(gpu);
    Buckets buckets = steps.make(steps.options(GPO_BUCKETS_EAGER_FALLBACK));
    steps.also = [](const gpo_bucket_work& work, gpo_stream_t) {
        return work.phase == GPO_BUCKET_WARM_UP ? GPO_IO_ERROR : GPO_SUCCESS;
    };
    CHECK_STATUS(GPO_CALLBACK_FAILED, steps.refused(buckets));
    CHECK(counts_of(buckets).failures == 1);
    CHECK(counts_of(buckets).fallbacks == 0);
    CHECK(counts_of(buckets).eager == 0);
    Stream failed = gpu.stream();
    Timeline timeline = gpu.timeline();
    steps.also = [&](const gpo_bucket_work& work, gpo_stream_t) {
        if (!work.graph_template) return GPO_SUCCESS;
        CHECK_OK(gpo_stream_wait_timeline(failed, timeline, 1));
        CHECK_OK(gpo_timeline_fail(timeline, GPO_FAILED, "broken"));
        return GPO_IO_ERROR;
    };
    CHECK(gpo_buckets_launch(buckets, failed, 1, nullptr, 0, 0, nullptr) != GPO_SUCCESS);
    steps.also = nullptr;
    CHECK(steps.request(buckets, 1) == 1);   // that failure has no effect
}

TEST_CASE("an eager request instead of a bucket is in the order of its stream" * gated) {
    Gpu gpu;
    Steps steps(gpu);
    const auto ranges = steps.ranges();
    Buckets buckets = steps.make(steps.options(ranges, GPO_BUCKETS_EAGER_FALLBACK));
    CHECK(steps.request(buckets, 1, 2) == 2);   // the first use of everything comes before the gate
    steps.also = fail_recording;
    Gate gate(gpu);
    gate.put_on(steps.stream);
    CHECK(steps.request(buckets, 2) == 0);
    CHECK(steps.request(buckets, 3) == 0);
    CHECK(steps.request(buckets, 4, 2) == 2);
    gate.open();
    CHECK(steps.number() == 1234);
}

TEST_CASE("a callback that was built with the older struct works, and an older options struct asks for nothing new") {
    Gpu gpu;
    Steps steps(gpu);
    auto options = steps.options();
    options.struct_size = offsetof(gpo_buckets_options, restored);
    options.record = [](void* user, gpo_stream_t on, const gpo_bucket_work* work) -> gpo_status {
        CHECK(work->struct_size >= offsetof(gpo_bucket_work, phase));
        auto& steps = *static_cast<Steps*>(user);
        return launch(on, steps.kernel, 1, Steps::kNumbers, uint64_t{steps.state}, 4u);
    };
    Buckets buckets = steps.make(options);
    CHECK(steps.refused(buckets) == GPO_SUCCESS);
    CHECK(steps.number() == 44);   // one digit from the warm-up
    auto counts = sized<gpo_buckets_statistics>();
    counts.struct_size = offsetof(gpo_buckets_statistics, failures);
    counts.failures = 77;
    CHECK_OK(gpo_buckets_get_statistics(buckets, &counts));
    CHECK(counts.failures == 77);
}
