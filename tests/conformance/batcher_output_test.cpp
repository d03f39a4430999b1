// Batchers: outputs of different sizes, and buckets as the work of batches.
#include <cstring>

#include "conformance/batcher_rig.h"

using namespace gpo::test;

namespace {

// --- outputs of different sizes ---

/// Each output is the scaled input. The first word of an input says how many bytes its request makes.
const char* const kMaking = R"(
extern "C" __global__ void make(unsigned* to, const unsigned* from, const unsigned* offsets, unsigned* made,
                                unsigned requests) {
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < requests; i += gridDim.x * blockDim.x) {
        const unsigned first = offsets[i] * 4, last = offsets[i + 1] * 4;
        for (unsigned at = first; at < last; ++at) to[at] = from[at] * 3 + 1;
        made[i] = from[first];
    }
}
)";

struct Maker {
    explicit Maker(Gpu& gpu) : kernel(gpu.kernel(kMaking, "make")) {}
    static gpo_status put(void* user, gpo_stream_t stream, const gpo_batch* batch) {
        return launch(stream, static_cast<Maker*>(user)->kernel.get(), 1, 64, batch->output, batch->input,
                      batch->offsets, batch->made, batch->requests);
    }
    gpo_batcher_key_options rows(BatcherRig& rig, uint32_t max_batch) {
        auto options = rig.rows(max_batch);
        options.flags = GPO_BATCHER_VARIABLE_OUTPUT;
        options.work = put;
        options.user = this;
        return options;
    }
    Kernel kernel;
};

/// A request that makes as many bytes.
Asked& enter_making(BatcherRig& rig, uint32_t key, uint32_t bytes, uint64_t elements = 0) {
    Asked& one = rig.ask(key, 0, elements);
    one.in[0] = bytes;
    one.out.resize(one.out.size() + 4, kUntouched);  // behind its room
    one.request.output = one.out.data();
    one.request.output_made = &one.made;
    return rig.enter(one);
}

/// Whether the first bytes of the output are there, and those behind them untouched.
bool made_exactly(const Asked& one, uint64_t bytes) {
    std::vector<uint32_t> expected(one.out.size(), kUntouched), scaled_words;
    for (const uint32_t word : one.in) scaled_words.push_back(scaled(word));
    std::memcpy(expected.data(), scaled_words.data(), bytes);
    return one.out == expected;
}

// --- buckets ---

/// Rows of one word become rows of four: the scaled word, and what the batch's settings say.
const char* const kTelling = R"(
extern "C" __global__ void tell(unsigned* to, const unsigned* from, const unsigned* offsets, unsigned* made,
                                unsigned long long count, unsigned long long elements) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= elements) return;
    to[4 * i] = from[i] * 3 + 1;
    to[4 * i + 1] = count;
    to[4 * i + 2] = elements;
    to[4 * i + 3] = i < count ? offsets[i + 1] - offsets[i] : 0;
    if (made && i < count) made[i] = 12;
}
)";

/// Buckets that tell, with all parameters that keys set or with some.
class Teller {
public:
    static constexpr uint64_t kMost = 16;
    static constexpr const char* kNames[] = {"output", "input", "offsets", "made", "count", "elements"};

    Teller(Gpu& gpu, gpo_device_t device, std::vector<uint64_t> shapes)
        : kernel(gpu.kernel(kTelling, "tell")), scratch_(gpu, 32 << 10), shapes_(std::move(shapes)) {
        auto options = sized<gpo_buckets_options>();
        options.shapes = shapes_.data();
        options.shape_count = shapes_.size();
        options.record = [](void* user, gpo_stream_t stream, const gpo_bucket_work* work) {
            return static_cast<Teller*>(user)->put(stream, *work);
        };
        options.user = this;
        options.label = "teller";
        REQUIRE_OK(gpo_buckets_create(device, &options, buckets.out()));
        handle = buckets;
    }
    Teller(Gpu& gpu, std::vector<uint64_t> shapes) : Teller(gpu, gpu.device, std::move(shapes)) {}

    gpo_batcher_key_options key() {
        auto options = sized<gpo_batcher_key_options>();
        options.layout = GPO_BATCH_ROWS;
        options.input_bytes = 4;
        options.output_bytes = 16;
        options.max_delay_ns = kHour;
        options.buckets = &handle;
        options.bucket_count = 1;
        return options;
    }

    Kernel kernel;
    Buckets buckets;
    gpo_buckets_t handle = nullptr;
    std::string left_out;  // a parameter that the templates don't have
    std::atomic<bool> refuses{false};
    std::atomic<int> eager{0}, incomplete{0};

private:
    gpo_status put(gpo_stream_t stream, const gpo_bucket_work& work) {
        if (refuses) return GPO_FAILED;
        constexpr uint64_t k4 = 4096;  // 16 KiB are the output of a warm-up, as the others are what it reads
        uint64_t values[] = {scratch_, scratch_ + 4 * k4, scratch_ + 5 * k4, scratch_ + 7 * k4, 0, work.shape};
        if (work.phase == GPO_BUCKET_EAGER) {
            ++eager;
            for (size_t i = 0; i < std::size(values); ++i) incomplete += !find(work, kNames[i], values[i]);
        }
        gpo_status status =
            launch(stream, kernel.get(), 16, 64, values[0], values[1], values[2], values[3], values[4], values[5]);
        uint32_t node = 0;
        if (status == GPO_SUCCESS && work.graph_template)
            status = gpo_template_get_last_node(work.graph_template, stream, &node);
        for (uint32_t i = 0; i < std::size(values) && work.graph_template && status == GPO_SUCCESS; ++i)
            if (left_out != kNames[i])
                status = gpo_template_add_parameter(work.graph_template, kNames[i], node, GPO_PARAMETER_ARGUMENT, i);
        return status;
    }
    static bool find(const gpo_bucket_work& work, const char* name, uint64_t& value) {
        const auto* at = reinterpret_cast<const char*>(work.settings);
        for (uint64_t i = 0; i < work.setting_count; ++i, at += work.setting_stride) {
            const auto& setting = *reinterpret_cast<const gpo_setting*>(at);
            if (std::strcmp(setting.name, name) != 0) continue;
            CHECK(setting.bytes == sizeof value);
            std::memcpy(&value, setting.value, sizeof value);
            return true;
        }
        return false;
    }

    Memory scratch_;
    std::vector<uint64_t> shapes_;
};

bool told(const Asked& one, uint32_t count) {
    return one.out == std::vector<uint32_t>{scaled(one.in[0]), count, count, 1};
}

}  // namespace

TEST_CASE("a work may say how many bytes it made for each member; the rest of a host buffer is left alone") {
    Gpu gpu;
    BatcherRig rig(gpu);
    Maker maker(gpu);
    const uint32_t key = rig.add(maker.rows(rig, 6));
    const uint32_t bytes[] = {4, 16, 0, 7, 1, 12};
    for (const uint32_t one : bytes) enter_making(rig, key, one);
    for (const auto& [number, entry] : rig.take(6)) {
        const uint64_t expected = bytes[number] ? bytes[number] : 16;  // 0: all of its room
        INFO("request " << number);
        CHECK(entry.status == GPO_SUCCESS);
        CHECK(rig.asked[number].made == expected);
        CHECK(made_exactly(rig.asked[number], expected));
    }
    // A batch whose work says nothing: the words are zeros at first, also behind another batch.
    auto options = maker.rows(rig, 6);
    options.work = BatchWork::put;
    options.user = &rig.work;
    const uint32_t silent = rig.add(options);
    for (int i = 0; i < 6; ++i) rig.enter(silent).made = 0;
    rig.take(6, GPO_SUCCESS);
    CHECK(rig.work.seen().back().batch.made != 0);
}

TEST_CASE("what a member's work didn't make isn't written, to a large pinned buffer either") {
    Gpu gpu;
    constexpr size_t kWords = 32 << 10;
    BatcherRig rig(gpu);
    auto options = rig.rows(2, kHour, kWords);
    options.flags = GPO_BATCHER_VARIABLE_OUTPUT;
    options.work = [](void*, gpo_stream_t stream, const gpo_batch* batch) -> gpo_status {
        const gpo_status status = gpo_fill(stream, batch->output, 7, 4, 2 * kWords);
        return status ? status : gpo_fill(stream, batch->made, 100, 4, 2);
    };
    const uint32_t key = rig.add(options);
    const auto out = gpu.pinned<uint32_t>(2 * kWords);
    std::fill(out.begin(), out.end(), kUntouched);
    for (size_t i = 0; i < 2; ++i) {
        Asked& one = rig.ask(key);
        one.request.output = out.data() + i * kWords;
        one.request.output_made = &one.made;
        rig.enter(one);
    }
    for (const auto& [number, entry] : rig.take(2)) {
        CHECK(entry.status == GPO_SUCCESS);
        CHECK(rig.asked[number].made == 100);
        const uint32_t* const words = out.data() + number * kWords;
        for (size_t i = 0; i < kWords; ++i) REQUIRE(words[i] == (i < 25 ? 7 : kUntouched));
    }
}

TEST_CASE("a work that claims more bytes than a member has room for writes past no buffer") {
    Gpu gpu;
    BatcherRig rig(gpu);
    Maker maker(gpu);
    const uint32_t key = rig.add(maker.rows(rig, 3));
    for (const uint32_t bytes : {17u, 4u, UINT32_MAX}) enter_making(rig, key, bytes);
    for (const auto& [number, entry] : rig.take(3)) {
        const Asked& one = rig.asked[number];
        INFO("request " << number << " " << name_of(entry.status));
        for (size_t i = 4; i < one.out.size(); ++i) CHECK(one.out[i] == kUntouched);
        if (entry.status == GPO_SUCCESS) CHECK(one.made == (number == 1 ? 4 : 16));
        if (number == 1 && entry.status == GPO_SUCCESS) CHECK(made_exactly(one, 4));
    }
}

TEST_CASE("ragged members have room of different sizes, and make parts of it") {
    Gpu gpu;
    BatcherRig rig(gpu);
    Maker maker(gpu);
    auto options = maker.rows(rig, 8);
    options.layout = GPO_BATCH_RAGGED;
    options.max_elements = 100;
    const uint32_t key = rig.add(options);
    for (uint32_t i = 0; i < 8; ++i) enter_making(rig, key, i * 5, 1 + i);
    for (const auto& [number, entry] : rig.take(8)) {
        const uint64_t expected = number ? number * 5 : 16;
        INFO("request " << number);
        CHECK(entry.status == GPO_SUCCESS);
        CHECK(rig.asked[number].made == expected);
        CHECK(made_exactly(rig.asked[number], expected));
    }
}

TEST_CASE("device memory is written as far as its room reaches, with zeros where nothing was made") {
    Gpu gpu;
    BatcherRig rig(gpu);
    auto options = rig.rows(2);
    options.flags = GPO_BATCHER_VARIABLE_OUTPUT;
    options.work = [](void*, gpo_stream_t stream, const gpo_batch* batch) {
        // Each member makes 4 bytes of 16.
        gpo_status status = gpo_fill(stream, batch->made, 4, 4, batch->requests);
        for (uint32_t i = 0; i < batch->requests && status == GPO_SUCCESS; ++i)
            status = gpo_fill(stream, batch->output + 16 * i, 5, 4, 1);
        return status;
    };
    const uint32_t key = rig.add(options);
    Stream stream = gpu.stream();
    const Memory memory = gpu.memory(16);
    REQUIRE_OK(gpo_fill(stream, memory, kUntouched, 4, 4));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    Asked& one = rig.ask(key);
    one.request.output = nullptr;
    one.request.output_address = memory;
    one.request.output_made = &one.made;
    rig.enter(one);
    rig.enter(key);
    CHECK(rig.take(2)[0].status == GPO_SUCCESS);
    CHECK(one.made == 4);
    REQUIRE_OK(gpo_copy_to_host(stream, one.out.data(), memory, 16));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(one.out == std::vector<uint32_t>{5, 0, 0, 0});
    CHECK(rig.asked[1].out == std::vector<uint32_t>{5, kUntouched, kUntouched, kUntouched});
}

TEST_CASE("buckets run batches: padded to a shape, with the batch's addresses and counts as settings") {
    Gpu gpu;
    Teller teller(gpu, {2, 4, 8});
    BatcherRig rig(gpu);
    auto options = teller.key();
    options.max_delay_ns = 1;
    const uint32_t key = rig.add(options);
    uint64_t padded = 0, batches = 0;
    for (const uint32_t count : {3u, 8u, 1u, 5u, 2u, 3u}) {
        const uint64_t before = rig.asked.size();
        {
            LaneHold hold(rig);
            for (uint32_t i = 0; i < count; ++i) rig.enter(key);
        }
        for (const auto& [number, entry] : rig.take(count)) {
            INFO("request " << number << " of " << count << ": " << rig.text_of(entry));
            CHECK(entry.status == GPO_SUCCESS);
            CHECK(number >= before);
            CHECK(told(rig.asked[number], count));
        }
        padded += (count <= 2 ? 2 : count <= 4 ? 4 : 8) - count;
        ++batches;
    }
    CHECK(comes_true([&] { return rig.info(key).batches == batches; }));
    CHECK(rig.info(key).batch_elements == 22);
    CHECK(rig.info(key).padded_elements == padded);
    CHECK(teller.eager == 0);
    auto figures = sized<gpo_buckets_statistics>();
    REQUIRE_OK(gpo_buckets_get_statistics(teller.buckets, &figures));
    CHECK(figures.requested == 22);
    CHECK(figures.padded == padded);
}

TEST_CASE("rows with buckets have the largest shape as their most, unless the key says more: then it runs eagerly") {
    Gpu gpu;
    Teller teller(gpu, {2, 8, 4});
    BatcherRig rig(gpu);
    const uint32_t shaped = rig.add(teller.key());
    for (int i = 0; i < 16; ++i) rig.enter(shaped);  // the delay is an hour: two full batches
    for (const auto& [number, entry] : rig.take(16)) {
        CHECK(entry.status == GPO_SUCCESS);
        CHECK(told(rig.asked[number], 8));
    }
    auto options = teller.key();
    options.max_batch = 12;
    options.flags = GPO_BATCHER_VARIABLE_OUTPUT;
    const uint32_t larger = rig.add(options);
    for (int i = 0; i < 12; ++i) rig.enter(larger);
    for (const auto& [number, entry] : rig.take(12)) {
        const Asked& one = rig.asked[number];
        INFO("request " << number << ": " << rig.text_of(entry));
        CHECK(entry.status == GPO_SUCCESS);
        CHECK(one.out == std::vector<uint32_t>{scaled(one.in[0]), 12, 12, kUntouched});  // it made 12 bytes
    }
    CHECK(teller.eager == 1);
    CHECK(teller.incomplete == 0);
    CHECK(rig.info(larger).padded_elements == 0);
}

TEST_CASE("a batch's buffers have room for the padding") {
    Gpu gpu;
    Teller teller(gpu, {1024});
    teller.left_out = "elements";  // the kernel works on the whole shape
    BatcherRig rig(gpu);
    auto options = teller.key();
    options.max_batch = 513;
    const uint32_t key = rig.add(options);
    const auto run = [&] {
        for (int i = 0; i < 513; ++i) rig.enter(key);
        return rig.take(513);
    };
    run();
    // Memory that was got next may lie behind the buffers.
    const Memory next = gpu.memory(64 << 10);
    const Stream stream = gpu.stream();
    std::vector<uint32_t> words(next.bytes() / 4, kUntouched), got(words.size());
    REQUIRE_OK(gpo_fill(stream, next, kUntouched, 4, words.size()));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    for (const auto& [number, entry] : run()) {
        INFO("request " << number << ": " << rig.text_of(entry));
        CHECK(entry.status == GPO_SUCCESS);
        const Asked& one = rig.asked[number];
        CHECK(one.out == std::vector<uint32_t>{scaled(one.in[0]), 513, 1024, 1});
    }
    CHECK(rig.info(key).padded_elements == 2 * 511);
    REQUIRE_OK(gpo_copy_to_host(stream, got.data(), next, got.size() * 4));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(got == words);
}

TEST_CASE("ragged requests run in buckets of elements, and keys may share buckets") {
    Gpu gpu;
    Teller teller(gpu, {4, 16});
    BatcherRig rig(gpu);
    auto options = teller.key();
    options.layout = GPO_BATCH_RAGGED;
    const uint32_t ragged = rig.add(options);  // max_elements: 16
    const uint32_t rows = rig.add(teller.key());
    Asked& large = rig.ask(ragged, 0, 17);
    rig.refused(GPO_INVALID_ARGUMENT, large);
    for (const uint64_t elements : {9, 7}) rig.enter(ragged, 0, elements);
    for (int i = 0; i < 16; ++i) rig.enter(rows);
    for (const auto& [number, entry] : rig.take(18)) {
        const Asked& one = rig.asked[number];
        INFO("request " << number << ": " << rig.text_of(entry));
        CHECK(entry.status == GPO_SUCCESS);
        const bool is_row = one.request.key == rows;
        for (size_t i = 0; i < one.in.size(); ++i) {
            CHECK(one.out[4 * i] == scaled(one.in[i]));
            CHECK(one.out[4 * i + 1] == (is_row ? 16 : 2));
            CHECK(one.out[4 * i + 2] == 16);
        }
        if (number == 1) CHECK(one.out[3] == 9);  // offsets: the first two differences are at the first elements
        if (number == 1) CHECK(one.out[7] == 7);
    }
}

TEST_CASE("buckets without a parameter that a key must set fail its batches, and the failure names it") {
    Gpu gpu;
    for (const char* name : {"input", "output"}) {
        Teller teller(gpu, {4});
        teller.left_out = name;
        BatcherRig rig(gpu);
        auto options = teller.key();
        options.label = "crooked";
        const uint32_t key = rig.add(options);
        for (int i = 0; i < 4; ++i) rig.enter(key);
        for (const auto& [number, entry] : rig.take(4)) {
            INFO(name << ": " << rig.text_of(entry));
            CHECK(entry.status == GPO_NOT_FOUND);
            CHECK(rig.names(entry, name));
            CHECK(rig.asked[number].untouched());
        }
        CHECK(comes_true([&] { return rig.info(key).failed == 4; }));
    }
    // Without the others all is well: only what the kernel reads is missing.
    Teller teller(gpu, {4});
    teller.left_out = "count";
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(teller.key());
    for (int i = 0; i < 4; ++i) rig.enter(key);
    for (const auto& [number, entry] : rig.take(4)) {
        CHECK(entry.status == GPO_SUCCESS);
        CHECK(rig.asked[number].out == std::vector<uint32_t>{scaled(rig.asked[number].in[0]), 0, 4, 0});
    }
}

TEST_CASE("buckets that were destroyed fail the batches of their key; other keys go on") {
    Gpu gpu;
    Teller teller(gpu, {4});
    BatcherRig rig(gpu);
    const uint32_t gone = rig.add(teller.key()), key = rig.add(rig.rows(2));
    for (int i = 0; i < 4; ++i) rig.enter(gone);
    for (const auto& [number, entry] : rig.take(4)) CHECK(entry.status == GPO_SUCCESS);
    teller.buckets.reset();
    for (int i = 0; i < 4; ++i) rig.enter(gone);
    rig.take(4, GPO_STALE_HANDLE);
    for (int i = 0; i < 2; ++i) rig.enter(key);
    rig.take(2, GPO_SUCCESS);
}

TEST_CASE("buckets whose recording fails give the failure to each request, and may work later") {
    Gpu gpu;
    Teller teller(gpu, {4});
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(teller.key());
    teller.refuses = true;
    for (int i = 0; i < 4; ++i) rig.enter(key);
    rig.take(4, GPO_CALLBACK_FAILED);
    teller.refuses = false;
    for (int i = 0; i < 4; ++i) rig.enter(key);
    for (const auto& [number, entry] : rig.take(4)) {
        CHECK(entry.status == GPO_SUCCESS);
        CHECK(told(rig.asked[number], 4));
    }
}

TEST_CASE("a key has buckets of each device, or a work") {
    Gpu gpu;
    Teller teller(gpu, {4});
    BatcherRig rig(gpu);
    const auto refused = [&](gpo_status status, auto change) {
        auto options = teller.key();
        change(options);
        uint32_t key = 0;
        CHECK_STATUS(status, gpo_batcher_add_key(rig.batcher, &options, &key));
    };
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.work = BatchWork::put; });
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.buckets = nullptr; });
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.bucket_count = 0; });
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.bucket_count = 2; });
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.release = [](void*) {}; });
    Teller stale(gpu, {4});
    stale.buckets.reset();
    refused(GPO_STALE_HANDLE, [&](auto& options) { options.buckets = &stale.handle; });
    Gpu elsewhere;
    Teller foreign(elsewhere, {4});
    refused(GPO_INVALID_HANDLE, [&](auto& options) { options.buckets = &foreign.handle; });
    if (const Device second = gpu.second_device(); second) {
        const uint64_t shape = 4;
        auto options = sized<gpo_buckets_options>();
        options.shapes = &shape;
        options.shape_count = 1;
        options.record = [](void*, gpo_stream_t, const gpo_bucket_work*) { return GPO_SUCCESS; };
        Buckets of_second;
        REQUIRE_OK(gpo_buckets_create(second, &options, of_second.out()));
        const gpo_buckets_t handle = of_second;
        refused(GPO_INVALID_HANDLE, [&](auto& key) { key.buckets = &handle; });
    }
    CHECK(rig.info().keys == 0);
    for (int i = 0; i < 4; ++i) rig.enter(i ? 0 : rig.add(teller.key()));
    for (const auto& [number, entry] : rig.take(4)) CHECK(told(rig.asked[number], 4));
}
