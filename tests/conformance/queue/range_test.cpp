// Ranges: the structs for kernels, the order of the numbers, and bad input.
#include <cmath>
#include <limits>
#include <numeric>

#include "conformance/queue/host_rig.h"
#include "conformance/template_rig.h"
#include "support/device_queue.h"

using namespace gpo::test;

namespace {

std::vector<uint32_t> order_of(Gpu& gpu, gpo_stream_t stream, gpo_queue_t range) {
    const auto row = row_of<RangeRow>(range);
    REQUIRE(row.order != 0);
    return device_words<uint32_t>(gpu, stream, row.order, row.count);
}

}  // namespace

TEST_CASE("a range tells kernels its count and its batch, and begins with no claims") {
    Gpu gpu;
    Stream stream = gpu.stream();
    auto options = range_options(1000);
    options.batch = 8;
    DeviceQueue range = make_queue(gpu, options);
    const auto row = row_of<RangeRow>(range);
    CHECK(row.magic == 0x52415247);
    CHECK(row.version == 0x10000);
    CHECK(row.count == 1000);
    CHECK(row.batch == 8);
    CHECK(row.flags == 0);
    CHECK(row.order == 0);
    CHECK(row.words % 128 == 0);
    for (uint64_t word : device_words<uint64_t>(gpu, stream, row.words, 48)) CHECK(word == 0);
    const auto info = queue_info(range);
    CHECK(info.kind == GPO_QUEUE_RANGE);
    CHECK(info.capacity == 1000);
    CHECK(info.device_bytes >= 384);
    CHECK(info.state == GPO_QUEUE_OPEN);
}

TEST_CASE("a batch of a range is one number unless the options say otherwise") {
    Gpu gpu;
    DeviceQueue range = make_queue(gpu, range_options(5));
    CHECK(row_of<RangeRow>(range).batch == 1);
}

TEST_CASE("a range tells kernels that its workers claim late, with and without an order") {
    Gpu gpu;
    Stream stream = gpu.stream();
    auto options = range_options(3);
    options.flags = GPO_QUEUE_LATE_CLAIMS;
    DeviceQueue range = make_queue(gpu, options);
    CHECK(row_of<RangeRow>(range).flags == kRangeLateClaims);
    const float costs[] = {1, 2, 3};
    CHECK_OK(gpo_queue_set_costs(range, stream, costs, 3));
    CHECK(row_of<RangeRow>(range).flags == kRangeLateClaims);
    CHECK(order_of(gpu, stream, range) == std::vector<uint32_t>{2, 1, 0});
}

TEST_CASE("the numbers with the greatest costs come first, and equal costs keep their order") {
    Gpu gpu;
    Stream stream = gpu.stream();
    DeviceQueue range = make_queue(gpu, range_options(6));
    float costs[] = {1, 5, 3, 5, -2, std::numeric_limits<float>::infinity()};
    CHECK_OK(gpo_queue_set_costs(range, stream, costs, 6));
    std::fill(std::begin(costs), std::end(costs), 0.0f);  // the caller may change the costs after the call
    CHECK(order_of(gpu, stream, range) == std::vector<uint32_t>{5, 1, 3, 2, 0, 4});
    CHECK(queue_info(range).device_bytes >= 384 + 24);
}

TEST_CASE("without costs the numbers come in their own order again, by the same handle") {
    Gpu gpu;
    Stream stream = gpu.stream();
    DeviceQueue range = make_queue(gpu, range_options(4));
    CHECK_OK(gpo_queue_set_costs(range, stream, nullptr, 0));
    CHECK(row_of<RangeRow>(range).order == 0);
    const float costs[] = {1, 2, 3, 4};
    CHECK_OK(gpo_queue_set_costs(range, stream, costs, 4));
    const uint64_t order = row_of<RangeRow>(range).order;
    CHECK(order_of(gpu, stream, range) == std::vector<uint32_t>{3, 2, 1, 0});
    CHECK_OK(gpo_queue_set_costs(range, stream, nullptr, 0));
    CHECK(row_of<RangeRow>(range).order == order);
    CHECK(order_of(gpu, stream, range) == std::vector<uint32_t>{0, 1, 2, 3});
}

TEST_CASE("an order becomes the range's behind the work that is on the stream") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Stream reader = gpu.stream();
    Timeline timeline = gpu.timeline();
    DeviceQueue range = make_queue(gpu, range_options(3));
    const float first[] = {1, 2, 3}, second[] = {3, 2, 1};
    CHECK_OK(gpo_queue_set_costs(range, stream, first, 3));
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    CHECK_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    CHECK_OK(gpo_queue_set_costs(range, stream, second, 3));
    CHECK(order_of(gpu, reader, range) == std::vector<uint32_t>{2, 1, 0});
    CHECK_OK(gpo_timeline_signal(timeline, 1));
    CHECK(order_of(gpu, stream, range) == std::vector<uint32_t>{0, 1, 2});
}

TEST_CASE("a cost that is no number is refused by its index, and the order stays") {
    Gpu gpu;
    Stream stream = gpu.stream();
    DeviceQueue range = make_queue(gpu, range_options(3, "rows"));
    const float costs[] = {1, 2, NAN};
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_set_costs(range, stream, costs, 3));
    CHECK(mentions(queue_refusal(), "costs[2]"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_set_costs(range, stream, costs, 2));
    CHECK(mentions(queue_refusal(), "`rows` has 3 numbers"));
    CHECK(row_of<RangeRow>(range).order == 0);
}

TEST_CASE("costs are for ranges of up to 2^32 numbers") {
    Gpu gpu;
    Stream stream = gpu.stream();
    const float cost = 1;
    DeviceQueue ring = make_queue(gpu, ring_options(64));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_queue_set_costs(ring, stream, &cost, 1));
    DeviceQueue huge = make_queue(gpu, range_options(uint64_t{1} << 33));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_queue_set_costs(huge, stream, &cost, uint64_t{1} << 33));
}

TEST_CASE("a reset makes a range forget what was claimed") {
    Gpu gpu;
    Stream stream = gpu.stream();
    DeviceQueue range = make_queue(gpu, range_options(100));
    const uint64_t words = row_of<RangeRow>(range).words;
    set_word(stream, words, 77);
    CHECK_OK(gpo_queue_reset(range, stream));
    CHECK(device_words<uint64_t>(gpu, stream, words, 1)[0] == 0);
}

TEST_CASE("an order can't be recorded, and a reset can") {
    Gpu gpu;
    Stream stream = gpu.stream();
    DeviceQueue range = make_queue(gpu, range_options(2));
    const float costs[] = {1, 2};
    Template refused = make_template(gpu), recorded = make_template(gpu);
    REQUIRE_OK(gpo_template_begin(refused, stream));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_queue_set_costs(range, stream, costs, 2));
    CHECK(mentions(queue_refusal(), "order of a range"));
    REQUIRE_OK(gpo_template_cancel(refused));
    REQUIRE_OK(gpo_template_begin(recorded, stream));
    CHECK_OK(gpo_queue_reset(range, stream));
    REQUIRE_OK(gpo_template_end(recorded));
    const uint64_t words = row_of<RangeRow>(range).words;
    set_word(stream, words, 3);
    CHECK_OK(gpo_template_launch(recorded, stream, nullptr, 0, 0));
    CHECK(device_words<uint64_t>(gpu, stream, words, 1)[0] == 0);
}

TEST_CASE("a range ends by itself: it can't be closed or aborted") {
    Gpu gpu;
    DeviceQueue range = make_queue(gpu, range_options(2, "rows"));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_queue_close(range));
    CHECK(mentions(queue_refusal(), "queue `rows`"));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_queue_abort(range));
}
