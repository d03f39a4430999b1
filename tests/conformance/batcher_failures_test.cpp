// Batchers: batches that fail, in their callback, on their stream or with their device; and callbacks that do more than
// they were meant to.
#include <cstdlib>
#include <stdexcept>

#include "conformance/batcher_rig.h"
#include "conformance/matrix/child.h"
#include "support/setting.h"

using namespace gpo::test;

namespace {

/// Rows of four words, four of them in a batch, with a label.
uint32_t labelled(BatcherRig& rig, const char* label = "culprit") {
    auto options = rig.rows(4);
    options.label = label;
    return rig.add(options);
}

void enter_batch(BatcherRig& rig, uint32_t key) {
    for (int i = 0; i < 4; ++i) rig.enter(key);
}

/// All of a batch fail with this status, and the failures name the key.
void take_failed(BatcherRig& rig, gpo_status status, const char* also_named = "") {
    for (const auto& [number, entry] : rig.take(4)) {
        INFO("request " << number << ": " << name_of(entry.status) << ": " << rig.text_of(entry));
        CHECK(entry.status == status);
        CHECK(rig.error_of(entry).status == status);
        CHECK(rig.names(entry, "culprit"));
        CHECK(rig.names(entry, also_named));
        CHECK(rig.asked[number].untouched());
    }
}

/// A batch of the key ends well.
void check_good_batch(BatcherRig& rig, uint32_t key) {
    enter_batch(rig, key);
    rig.take(4, GPO_SUCCESS);
}

}  // namespace

TEST_CASE("a callback that fails, or throws, fails its batch, and the next one runs") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = labelled(rig), other = labelled(rig, "innocent");
    for (const int way : {0, 1, 2, 3}) {
        const auto fail = [&](gpo_stream_t, const SeenBatch& seen) -> gpo_status {
            if (seen.batch.key != key) return GPO_SUCCESS;
            if (way == 0) return GPO_FAILED;
            if (way == 1) return GPO_NOT_READY;
            if (way == 2) throw std::runtime_error("thrown in a callback");
            throw 7;
        };
        for (auto* part : {&rig.work.before, &rig.work.after}) {
            *part = fail;
            enter_batch(rig, key);
            take_failed(rig, GPO_CALLBACK_FAILED, way == 2 ? "thrown in a callback" : "");
            check_good_batch(rig, other);
            *part = nullptr;
            check_good_batch(rig, key);
        }
    }
    CHECK(comes_true([&] { return rig.info(key).failed == 32 && rig.info(other).failed == 0; }));
    CHECK(rig.info(key).succeeded == 32);
}

TEST_CASE("keys without a label have their number as a name") {
    Gpu gpu;
    BatcherRig rig(gpu);
    rig.add(rig.rows(1));
    const uint32_t key = rig.add(rig.rows(1));
    rig.work.before = [](gpo_stream_t, const SeenBatch&) { return GPO_FAILED; };
    rig.enter(key);
    const auto ends = rig.take(1, GPO_CALLBACK_FAILED);
    CHECK(rig.names(ends.at(0), "key 1"));
}

TEST_CASE("a failed batch ends when what its callback put on the stream has ended" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    BatcherRig rig(gpu);
    const uint32_t key = labelled(rig);
    rig.work.before = [&](gpo_stream_t stream, const SeenBatch& seen) {
        if (seen.has(0)) gate.put_on(stream);
        return GPO_SUCCESS;
    };
    rig.work.after = [](gpo_stream_t, const SeenBatch& seen) { return seen.has(0) ? GPO_FAILED : GPO_SUCCESS; };
    enter_batch(rig, key);
    REQUIRE(comes_true([&] { return rig.work.count() == 1; }));
    // The GPU may still read the requests' inputs, and write the batch's output.
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(rig.queue, 20'000'000));
    CHECK(rig.info(key).running == 4);
    for (int i = 0; i < 3; ++i) enter_batch(rig, key);
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(rig.queue, 20'000'000));
    CHECK(rig.work.count() == 1);  // no batch begins beside what is left of the failed one
    gate.open();
    take_failed(rig, GPO_CALLBACK_FAILED);
    rig.take(12, GPO_SUCCESS);
}

TEST_CASE("a batch whose stream is made to fail fails, and its lane goes on") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = labelled(rig);
    const Executor executor = gpu.executor();
    Timeline fails = gpu.timeline(), never = gpu.timeline();
    std::atomic<int> way{0}, done{0};
    rig.work.before = [&](gpo_stream_t stream, const SeenBatch&) {
        return way == 1   ? gpo_stream_wait_timeline(stream, fails, 1)
               : way == 2 ? gpo_stream_wait_timeline(stream, never, 1)
                          : GPO_SUCCESS;
    };
    rig.work.after = [&](gpo_stream_t stream, const SeenBatch&) {
        const gpo_host_fn fail = [](void*, const gpo_host_call*) { return GPO_FAILED; };
        const gpo_status status = way == 3 ? gpo_stream_host_call(stream, executor, fail, nullptr) : GPO_SUCCESS;
        way = 0;  // later batches are good
        ++done;
        return status;
    };
    const auto start = [&](int bad_way) {
        done = 0;
        way = bad_way;
        enter_batch(rig, key);
        REQUIRE(comes_true([&] { return done == 1; }));
    };
    start(1);
    REQUIRE_OK(gpo_timeline_fail(fails, GPO_FAILED, "the timeline has failed"));
    take_failed(rig, GPO_FAILED, "the timeline has failed");
    for (int i = 0; i < 4; ++i) check_good_batch(rig, key);
    start(3);
    take_failed(rig, GPO_CALLBACK_FAILED);
    for (int i = 0; i < 4; ++i) check_good_batch(rig, key);
    start(2);
    enter_batch(rig, key);  // behind it
    never.reset();          // the value can't be reached any more
    const auto ends = rig.take(8);
    for (const auto& [number, entry] : ends) {
        const bool held = number < rig.asked.size() - 4;
        CHECK(entry.status == (held ? GPO_CANCELLED : GPO_SUCCESS));
        CHECK((held ? rig.asked[number].untouched() : rig.asked[number].right()));
    }
    for (int i = 0; i < 4; ++i) check_good_batch(rig, key);
    CHECK(comes_true([&] { return rig.info(key).failed + rig.info(key).cancelled == 12; }));
}

TEST_CASE("a batch that is held by a timeline runs when it is signalled") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = labelled(rig);
    Timeline timeline = gpu.timeline();
    rig.work.before = [&](gpo_stream_t stream, const SeenBatch& seen) {
        return seen.has(0) ? gpo_stream_wait_timeline(stream, timeline, 1) : GPO_SUCCESS;
    };
    for (int i = 0; i < 5; ++i) enter_batch(rig, key);
    REQUIRE(comes_true([&] { return rig.work.count() == 1; }));
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(rig.queue, 20'000'000));
    CHECK(rig.work.count() == 1);  // if it were cancelled, a batch behind it would be, too
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    rig.take(20, GPO_SUCCESS);
}

TEST_CASE("a callback may use another stream if the batch's stream waits for it" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    BatcherRig rig(gpu);
    const uint32_t key = labelled(rig);
    Stream side = gpu.stream();
    Event begun = gpu.event(), done = gpu.event();
    const Kernel kernel = gpu.kernel(kBatchScale, "scale");
    rig.work.scales = false;
    rig.work.before = [&](gpo_stream_t stream, const SeenBatch& seen) {
        CHECK_OK(gpo_event_record(begun, stream));
        CHECK_OK(gpo_stream_wait_event(side, begun));
        if (seen.has(0)) gate.put_on(side);
        CHECK_OK(launch(side, kernel.get(), 1, 64, seen.batch.output, seen.batch.input, seen.batch.elements * 4));
        CHECK_OK(gpo_event_record(done, side));
        return gpo_stream_wait_event(stream, done);
    };
    enter_batch(rig, key);
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(rig.queue, 20'000'000));
    gate.open();
    rig.take(4, GPO_SUCCESS);
    for (int i = 0; i < 6; ++i) enter_batch(rig, key);
    rig.take(24, GPO_SUCCESS);
}

TEST_CASE("a callback may submit, cancel, add keys and read figures, and can't shut the runtime down") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = labelled(rig);
    for (int i = 0; i < 5; ++i) rig.ask(key);
    std::atomic<uint32_t> added{0};
    std::atomic<gpo_status> cancelled{GPO_INTERNAL}, own{GPO_INTERNAL}, shut{GPO_INTERNAL};
    const auto more = rig.rows(4);
    rig.work.before = [&](gpo_stream_t, const SeenBatch& seen) {
        if (!seen.has(0)) return GPO_SUCCESS;
        own = gpo_batcher_cancel(rig.batcher, rig.asked[0].ticket);
        cancelled = gpo_batcher_cancel(rig.batcher, rig.asked[4].ticket);
        shut = gpo_runtime_shutdown(gpu.runtime, 0);
        uint32_t number = 0;
        const gpo_status status = gpo_batcher_add_key(rig.batcher, &more, &number);
        added = number;
        CHECK(rig.info(key).running == 4);
        return status;
    };
    {
        LaneHold hold(rig);
        for (int i = 0; i < 5; ++i) rig.enter(rig.asked[i]);
    }
    const auto ends = rig.take(5);
    for (uint64_t i = 0; i < 4; ++i) CHECK(ends.at(i).status == GPO_SUCCESS);
    CHECK(ends.at(4).status == GPO_CANCELLED);
    CHECK(cancelled == GPO_SUCCESS);
    CHECK(own == GPO_INVALID_STATE);
    CHECK(shut == GPO_WOULD_DEADLOCK);
    CHECK(added == 2);
    CHECK(rig.info().keys == 3);
}

TEST_CASE("a callback that destroys its batcher ends its own batch well, and the line with GPO_CANCELLED") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = labelled(rig);
    rig.work.before = [&](gpo_stream_t, const SeenBatch& seen) {
        if (seen.has(0)) CHECK_OK(gpo_batcher_destroy(rig.batcher.release()));
        return GPO_SUCCESS;
    };
    {
        LaneHold hold(rig);
        for (int i = 0; i < 7; ++i) rig.enter(key);
    }
    for (const auto& [number, entry] : rig.take(7)) {
        CHECK(entry.status == (number < 4 ? GPO_SUCCESS : GPO_CANCELLED));
        CHECK((number < 4 ? rig.asked[number].right() : rig.asked[number].untouched()));
    }
}

TEST_CASE("a callback that leaves its stream in a recording fails its batch, and the next one runs") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = labelled(rig);
    Template recorded;
    auto options = sized<gpo_template_options>();
    REQUIRE_OK(gpo_template_create(gpu.device, &options, recorded.out()));
    rig.work.before = [&](gpo_stream_t stream, const SeenBatch& seen) {
        return seen.has(0) ? gpo_template_begin(recorded, stream) : GPO_SUCCESS;
    };
    enter_batch(rig, key);
    for (const auto& [number, entry] : rig.take(4)) {
        INFO(name_of(entry.status));
        CHECK(entry.status != GPO_SUCCESS);
        CHECK(rig.asked[number].untouched());
    }
    recorded.reset();
    check_good_batch(rig, key);
}

TEST_CASE("without memory for a batch's buffers requests end with GPO_OUT_OF_MEMORY, and smaller keys go on") {
    const Setting memory("GPUORCH_SOFT_MEMORY", std::to_string(256 << 20));
    Gpu gpu;
    uint64_t free = 0, total = 0;
    REQUIRE_OK(gpo_device_get_memory(gpu.device, &free, &total));
    BatcherRig rig(gpu);
    const uint32_t small = labelled(rig, "small");
    check_good_batch(rig, small);
    auto options = rig.ragged(1 << 24, 64, 1);
    options.input_bytes = options.output_bytes = (total >> 24) / 4 * 4 + 4;  // input and output: twice the memory
    options.label = "culprit";
    const uint32_t large = rig.add(options);
    for (int i = 0; i < 3; ++i) rig.enter(large, 0, 1);
    for (const auto& [number, entry] : rig.take(3, GPO_OUT_OF_MEMORY)) CHECK(rig.names(entry, "culprit"));
    check_good_batch(rig, small);
    rig.enter(large, 0, 1);
    rig.take(1, GPO_OUT_OF_MEMORY);
    check_good_batch(rig, small);
}

namespace {

const char* const kCrash = R"(
extern "C" __global__ void crash_when_open(const volatile unsigned *open)
{
    while (*open == 0) { }
    __trap();
}
)";
constexpr const char* kLossVariable = "GPUORCH_TEST_BATCHER_LOSS";
constexpr const char* kLossTest = "a device that is lost ends each request of its batcher once";

/// Loses the device, and with it all devices of the process. "idle": one lane has nothing to do, and doesn't find
/// out. "refused": the device is lost before the callback has put all of its batch on the stream.
void lose_the_device(const std::string& way) {
    const bool idle = way == "idle", refused = way == "refused";
    Gpu gpu;
    BatcherRig rig(gpu, batcher_options(2));
    const uint32_t key = labelled(rig), waiting = rig.add(rig.rows(64));
    const Kernel crash = gpu.kernel(kCrash, "crash_when_open");
    auto open = gpu.pinned<uint32_t>(1);
    check_good_batch(rig, key);
    Executor executor = gpu.executor();
    std::atomic<bool> launched{false};
    rig.work.before = [&](gpo_stream_t stream, const SeenBatch& seen) -> gpo_status {
        if (!seen.has(4)) return GPO_SUCCESS;
        const gpo_status status = launch(stream, crash.get(), 1, 1, open.data());
        launched = true;
        while (refused && gpo_stream_query(stream) == GPO_NOT_READY) std::this_thread::yield();
        return status;
    };
    enter_batch(rig, key);
    REQUIRE(comes_true([&] { return launched.load(); }));
    for (int i = 0; i < 30; ++i) rig.enter(i % 3 && !idle ? key : waiting);
    BatchCalled called;
    uint64_t ticket = 0;
    REQUIRE_OK(gpo_batcher_submit_then(rig.batcher, &rig.ask(waiting).request, executor, BatchCalled::call, &called,
                                       &ticket, nullptr));
    // Batches on the other lane may end before.
    __atomic_store_n(&open[0], 1u, __ATOMIC_SEQ_CST);
    size_t lost = 0;
    for (const auto& [number, entry] : rig.take(34)) {
        INFO("request " << number << ": " << name_of(entry.status));
        CHECK((entry.status == GPO_DEVICE_LOST || (entry.status == GPO_SUCCESS && rig.asked[number].right())));
        lost += entry.status == GPO_DEVICE_LOST;
        if (number < 8 || rig.asked[number].request.key == waiting) CHECK(entry.status == GPO_DEVICE_LOST);
    }
    CHECK(lost >= 14);
    CHECK(called.came());
    CHECK(called.status == GPO_DEVICE_LOST);
    CHECK(rig.nothing_there());
    rig.refused(GPO_DEVICE_LOST, rig.ask(key));
    CHECK_STATUS(GPO_NOT_FOUND, gpo_batcher_cancel(rig.batcher, ticket));
    const auto info = rig.info();
    CHECK(info.waiting + info.running == 0);
    CHECK(info.succeeded + info.failed + info.expired + info.cancelled == info.submitted);
    CHECK(called.times == 1);
}

}  // namespace

TEST_CASE("a device that is lost ends each request of its batcher once" * gated) {
    if (const char* way = std::getenv(kLossVariable)) return lose_the_device(way);
    for (const char* way : {"busy", "idle", "refused"})
        CHECK(matrix::wait_for_child(matrix::start_child(kLossTest, std::string(kLossVariable) + "=" + way)) == 0);
}
