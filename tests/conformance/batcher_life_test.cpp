// Batchers: their ends, those of executors, runtimes and queues; figures; and what is refused.
#include <atomic>
#include <set>

#include "conformance/batcher_rig.h"
#include "support/report.h"

using namespace gpo::test;

namespace {

/// A batcher with four requests in a batch whose callback waits, and six that wait for a lane.
struct Busy {
    explicit Busy(Gpu& gpu, gpo_batcher_options options = sized<gpo_batcher_options>()) : rig(gpu, options), hold(rig) {
        key = rig.add(rig.rows(4, 1));
        rig.work.after = [this](gpo_stream_t, const SeenBatch& seen) {
            if (seen.has(0)) stop.wait();
            return GPO_SUCCESS;
        };
        for (int i = 0; i < 4; ++i) rig.enter(key);
        hold.open();
        REQUIRE(stop.reached());
        for (int i = 0; i < 6; ++i) rig.enter(key, i % 2);
    }
    /// Those that wait are cancelled, while the callback waits. Then those that run end well.
    void check_cancelled_and_run() {
        for (const auto& [number, entry] : rig.take(6, GPO_CANCELLED)) CHECK(number >= 4);
        stop.open();
        for (const auto& [number, entry] : rig.take(4, GPO_SUCCESS)) CHECK(number < 4);
        CHECK(rig.work.count() == 1);
    }
    BatcherRig rig;
    LaneHold hold;
    Stop stop;
    uint32_t key = 0;
};

uint64_t sum_of(const uint64_t* numbers, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; ++i) sum += numbers[i];
    return sum;
}

/// Two devices with the scaling kernel on each.
struct TwoDevices {
    explicit TwoDevices(Gpu& gpu) : second(gpu.second_device()) {
        if (!second) return;
        auto compile = sized<gpo_compile_options>();
        compile.source = kBatchScale;
        compile.file_name = "scale.cu";
        devices = {gpu.device, second};
        for (size_t i = 0; i < 2; ++i) {
            REQUIRE_OK(gpo_module_compile(devices[i], &compile, modules[i].out()));
            REQUIRE_OK(gpo_module_get_kernel(modules[i], "scale", kernels[i].out()));
        }
        work = std::make_unique<BatchWork>(std::vector<gpo_kernel_t>{kernels[0].get(), kernels[1].get()});
    }
    gpo_batcher_options options(uint32_t lanes) {
        auto made = batcher_options(lanes);
        made.devices = devices.data();
        made.device_count = 2;
        return made;
    }
    gpo_batcher_key_options rows(BatcherRig& rig, uint32_t max_batch) {
        auto made = rig.rows(max_batch, 1);
        made.user = work.get();
        return made;
    }
    Device second;
    std::vector<gpo_device_t> devices;
    Module modules[2];
    Kernel kernels[2];
    std::unique_ptr<BatchWork> work;
};

}  // namespace

TEST_CASE("a destroyed batcher cancels what waits, and brings to its end what runs") {
    Gpu gpu;
    Busy busy(gpu);
    const gpo_batcher_t gone = busy.rig.batcher;
    const uint64_t ticket = busy.rig.asked[9].ticket;
    busy.rig.batcher.reset();
    auto info = sized<gpo_batcher_info>();
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_batcher_get_info(gone, &info));
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_batcher_cancel(gone, ticket));
    Asked& late = busy.rig.ask(busy.key);
    uint64_t none = 0;
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_batcher_submit(gone, &late.request, busy.rig.queue, 0, &none, nullptr));
    busy.check_cancelled_and_run();
}

TEST_CASE("what a key's work needed is released once: when a destroyed batcher's last batch has ended" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    BatcherRig rig(gpu);
    struct Needed {
        BatchWork& work;
        std::atomic<int> calls{0}, released{0};
    } needed{rig.work};
    const auto run = [](void* user, gpo_stream_t stream, const gpo_batch* batch) -> gpo_status {
        auto* of = static_cast<Needed*>(user);
        CHECK(of->released == 0);
        ++of->calls;
        return BatchWork::put(&of->work, stream, batch);
    };
    auto options = rig.rows(1);
    options.work = run;
    options.user = &needed;
    options.release = [](void* user) { ++static_cast<Needed*>(user)->released; };
    uint32_t key = 0;
    auto refused = options;
    refused.layout = 7;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_batcher_add_key(rig.batcher, &refused, &key));
    key = rig.add(options);
    rig.work.before = [&](gpo_stream_t stream, const SeenBatch&) {
        gate.put_on(stream);
        return GPO_SUCCESS;
    };
    rig.enter(key);
    REQUIRE(comes_true([&] { return needed.calls == 1; }));
    rig.batcher.reset();
    CHECK(needed.released == 0);
    gate.open();
    rig.take(1, GPO_SUCCESS);
    CHECK(comes_true([&] { return needed.released == 1; }));
    CHECK(needed.calls == 1);
}

TEST_CASE("a destroyed batcher waits for no deadline of its requests") {
    std::atomic<int> released{0};
    Gpu gpu;
    BatcherRig rig(gpu);
    auto options = rig.rows(4);
    options.work = [](void*, gpo_stream_t, const gpo_batch*) -> gpo_status { return GPO_SUCCESS; };
    options.user = &released;
    options.release = [](void* user) { ++*static_cast<std::atomic<int>*>(user); };
    const uint32_t key = rig.add(options);
    for (int round = 0; round < 6; ++round) {
        for (int i = 0; i < 4; ++i) rig.enter(key);
        rig.take(4);
    }
    Asked& one = rig.ask(key);
    one.request.deadline_ns = monotonic_ns() + kHour;
    rig.enter(one);
    rig.batcher.reset();
    CHECK(rig.take(1).at(one.number).status == GPO_CANCELLED);
    CHECK(comes_true([&] { return released == 1; }));
}

TEST_CASE("a shutdown releases what the keys' works needed") {
    std::atomic<int> released{0};
    Gpu gpu;
    BatcherRig rig(gpu);
    auto options = rig.rows(1);
    options.work = [](void*, gpo_stream_t, const gpo_batch*) -> gpo_status { return GPO_SUCCESS; };
    options.user = &released;
    options.release = [](void* user) { ++*static_cast<std::atomic<int>*>(user); };
    const uint32_t key = rig.add(options);
    rig.add(options);
    rig.enter(key);
    rig.take(1);
    CHECK(released == 0);
    CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
    CHECK(released == 2);
}

TEST_CASE("a batcher may be destroyed while its batch is on the GPU, and another one made" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    BatcherRig rig(gpu), other(gpu);
    const uint32_t key = rig.add(rig.rows(4, 1)), of_other = other.add(other.rows(4, 1));
    rig.work.before = [&](gpo_stream_t stream, const SeenBatch& seen) {
        if (seen.has(0)) gate.put_on(stream);
        return GPO_SUCCESS;
    };
    for (int i = 0; i < 40; ++i) rig.enter(key);
    REQUIRE(comes_true([&] { return rig.work.count() >= 1; }));
    rig.batcher.reset();
    for (int i = 0; i < 4; ++i) other.enter(of_other);
    other.take(4, GPO_SUCCESS);
    gate.open();
    size_t succeeded = 0;
    for (const auto& [number, entry] : rig.take(40)) {
        const bool good = entry.status == GPO_SUCCESS;
        CHECK((good ? rig.asked[number].right() : entry.status == GPO_CANCELLED && rig.asked[number].untouched()));
        succeeded += good;
    }
    CHECK(succeeded >= 1);
    CHECK(succeeded <= 12);  // a lane is two batches deep
}

TEST_CASE("a destroyed batcher gives its device memory back") {
    Gpu gpu;
    uint64_t before = 0, total = 0;
    constexpr uint64_t kBytes = 16 << 20;
    BatcherRig first(gpu);  // what is made once is made
    first.enter(first.add(first.rows(1)));
    first.take(1, GPO_SUCCESS);
    REQUIRE_OK(gpo_device_get_memory(gpu.device, &before, &total));
    {
        BatcherRig rig(gpu);
        const uint32_t key = rig.add(rig.rows(2, 1, kBytes / 4));
        for (int i = 0; i < 4; ++i) rig.enter(key);
        rig.take(4, GPO_SUCCESS);
        uint64_t free = 0;
        REQUIRE_OK(gpo_device_get_memory(gpu.device, &free, &total));
        CHECK(free + 4 * kBytes <= before);
    }
    CHECK(comes_true([&] {
        uint64_t free = 0;
        CHECK_OK(gpo_device_get_memory(gpu.device, &free, &total));
        return free + kBytes > before;
    }));
}

TEST_CASE("a shutdown cancels what waits, waits for what runs, and delivers each entry") {
    Gpu gpu;
    Busy busy(gpu);
    std::atomic<bool> ended{false};
    std::thread shutting([&] {
        CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
        ended = true;
    });
    for (const auto& [number, entry] : busy.rig.take(6, GPO_CANCELLED)) CHECK(number >= 4);
    CHECK(!ended);
    Asked& late = busy.rig.ask(busy.key);
    const gpo_status refused = busy.rig.submit(late);
    CHECK((refused == GPO_SHUT_DOWN || refused == GPO_CANCELLED));
    busy.stop.open();
    shutting.join();
    // The callback ran when the shutdown began: what the library puts on the stream behind it may have been refused.
    const auto ends = busy.rig.take(4);
    for (uint64_t number = 0; number < 4; ++number) {
        const Asked& one = busy.rig.asked[number];
        CHECK(ends.at(number).status == ends.at(0).status);
        if (ends.at(0).status == GPO_SUCCESS)
            CHECK(one.right());
        else
            CHECK((ends.at(number).status == GPO_CANCELLED && one.untouched()));
    }
    gpo_completion entry{};
    uint64_t count = 0;
    CHECK_STATUS(GPO_SHUT_DOWN, gpo_cq_drain(busy.rig.queue, &entry, sizeof entry, 1, &count));
}

TEST_CASE("a shutdown with batches on the GPU and a line behind them delivers each entry once" * gated) {
    Gpu gpu;
    auto gate = std::make_unique<Gate>(gpu);
    BatcherRig rig(gpu, batcher_options(2));
    const uint32_t key = rig.add(rig.rows(4, 1)), waits = rig.add(rig.rows(64));
    std::atomic<bool> closed{false};  // the gate is on the stream: until then a shutdown would end, and take its memory
    rig.work.before = [&](gpo_stream_t stream, const SeenBatch& seen) {
        if (seen.has(0)) gate->put_on(stream);
        closed = true;
        return GPO_SUCCESS;
    };
    rig.enter(key);
    REQUIRE(comes_true([&] { return closed.load(); }));
    for (int i = 0; i < 10; ++i) rig.enter(waits);
    CHECK_STATUS(GPO_TIMEOUT, gpo_runtime_shutdown(gpu.runtime, 20'000'000));
    rig.take(10, GPO_CANCELLED);
    CHECK(rig.nothing_there());
    gate->open();
    gate.reset();  // its memory goes with the runtime
    CHECK_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
    // The first shutdown may have begun while the callback put its work.
    for (const auto& [number, entry] : rig.take(1))
        CHECK((entry.status == GPO_SUCCESS ? rig.asked[0].right()
                                           : entry.status == GPO_CANCELLED && rig.asked[0].untouched()));
}

TEST_CASE("batches run on the program's executor, and outlive it") {
    Gpu gpu;
    Executor executor = gpu.executor(0, 2);  // one of them in the callback
    Busy busy(gpu, batcher_options(1, 0, executor));
    auto figures = sized<gpo_executor_statistics>();
    REQUIRE_OK(gpo_executor_get_statistics(executor, &figures));
    CHECK(figures.accepted >= 1);
    executor.reset();
    CHECK(comes_true([&] { return busy.rig.info().waiting == 0; }));
    Asked& late = busy.rig.ask(busy.key);
    busy.rig.refused(GPO_CANCELLED, late);
    busy.check_cancelled_and_run();
    CHECK(busy.rig.info(busy.key).cancelled == 6);
    CHECK(busy.rig.info(busy.key).succeeded == 4);
}

TEST_CASE("an executor may be destroyed while a batch is on the GPU" * gated) {
    Gpu gpu;
    for (const uint32_t flags : {0u, uint32_t{GPO_EXECUTOR_CALLER}}) {
        Executor executor = gpu.executor(flags);
        BatcherRig rig(gpu, batcher_options(1, 0, executor));
        const uint32_t key = rig.add(rig.rows(4)), waits = rig.add(rig.rows(64));
        Gate closed(gpu);
        rig.work.before = [&](gpo_stream_t stream, const SeenBatch&) {
            closed.put_on(stream);
            return GPO_SUCCESS;
        };
        for (int i = 0; i < 4; ++i) rig.enter(key);
        REQUIRE(comes_true([&] {
            if (flags) CHECK_OK(gpo_executor_poll(executor, nullptr));
            return rig.work.count() == 1;
        }));
        for (int i = 0; i < 3; ++i) rig.enter(waits);
        executor.reset();
        rig.take(3, GPO_CANCELLED);
        closed.open();
        rig.take(4, GPO_SUCCESS);  // nobody polls: the library ends them
    }
}

TEST_CASE("with an executor without threads, batches are formed and run where it is polled") {
    Gpu gpu;
    Executor executor = gpu.executor(GPO_EXECUTOR_CALLER);
    BatcherRig rig(gpu, batcher_options(1, 0, executor));
    const uint32_t key = rig.add(rig.rows(4, 1));
    for (int i = 0; i < 6; ++i) rig.enter(key);
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(rig.queue, 20'000'000));
    CHECK(rig.info(key).waiting == 6);
    CHECK(rig.work.count() == 0);
    rig.executor = executor;
    rig.take(6, GPO_SUCCESS);
    for (const SeenBatch& seen : rig.work.seen()) CHECK(seen.thread == std::this_thread::get_id());
    CHECK(rig.work.seen()[0].numbers() == std::vector<uint64_t>{0, 1, 2, 3});
    // Destroyed while nothing is due: nothing runs.
    const uint32_t waits = rig.add(rig.rows(64));
    for (int i = 0; i < 4; ++i) rig.enter(waits);
    CHECK_OK(gpo_executor_poll(executor, nullptr));
    CHECK(rig.info(waits).waiting == 4);
    const size_t before = rig.work.count();
    rig.executor = nullptr;
    executor.reset();
    rig.take(4, GPO_CANCELLED);
    CHECK(rig.work.count() == before);
    rig.refused(GPO_CANCELLED, rig.ask(key));
}

TEST_CASE("a callback says that a request has ended") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.rows(2, 1));
    Executor executor = gpu.executor();
    BatchCalled first, second, cancelled, never;
    uint64_t tickets[4] = {};
    const auto submit = [&](Asked& one, BatchCalled& called, uint64_t* ticket) {
        uint64_t wait_ns = 77;
        const gpo_status status =
            gpo_batcher_submit_then(rig.batcher, &one.request, executor, BatchCalled::call, &called, ticket, &wait_ns);
        CHECK(wait_ns == 0);
        return status;
    };
    {
        LaneHold hold(rig);
        CHECK_OK(submit(rig.ask(key), first, &tickets[0]));
        CHECK_OK(submit(rig.ask(key), second, &tickets[1]));
        CHECK_OK(submit(rig.ask(key), cancelled, &tickets[2]));
        CHECK_OK(gpo_batcher_cancel(rig.batcher, tickets[2]));
        CHECK(cancelled.came());
        CHECK(cancelled.status == GPO_CANCELLED);
        CHECK(first.times == 0);
    }
    for (BatchCalled* one : {&first, &second}) {
        CHECK(one->came());
        CHECK(one->status == GPO_SUCCESS);
        CHECK(one->ticket == tickets[one == &second]);
    }
    CHECK(rig.asked[0].right());
    CHECK(rig.asked[1].right());
    const auto seen = rig.work.seen();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].members[0].user_data == reinterpret_cast<uint64_t>(&first));
    // Refused: never called.
    Asked& wrong = rig.ask(key);
    wrong.request.elements = 2;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, submit(wrong, never, &tickets[3]));
    const Executor full = gpu.executor(GPO_EXECUTOR_CALLER, 0, 1);
    BatchCalled waits;
    CHECK_OK(gpo_batcher_submit_then(rig.batcher, &rig.ask(key).request, full, BatchCalled::call, &waits, &tickets[3],
                                     nullptr));
    CHECK_STATUS(GPO_WOULD_BLOCK, gpo_batcher_submit_then(rig.batcher, &rig.ask(key).request, full, BatchCalled::call,
                                                          &never, &tickets[3], nullptr));
    CHECK_OK(gpo_executor_run_for(full, kPatience, nullptr));
    CHECK(waits.status == GPO_SUCCESS);
    CHECK(never.times == 0);
}

TEST_CASE("an executor of callbacks that is destroyed tells them so at once, and the batches go on") {
    Gpu gpu;
    Busy busy(gpu);
    BatcherRig& rig = busy.rig;
    Executor executor = gpu.executor();
    std::vector<BatchCalled> called(3);
    for (BatchCalled& one : called) {
        uint64_t ticket = 0;
        REQUIRE_OK(gpo_batcher_submit_then(rig.batcher, &rig.ask(busy.key).request, executor, BatchCalled::call, &one,
                                           &ticket, nullptr));
    }
    CHECK(rig.info(busy.key).waiting == 9);
    executor.reset();
    for (BatchCalled& one : called) {
        CHECK(one.came());
        CHECK(one.status == GPO_CANCELLED);
    }
    CHECK(comes_true([&] { return rig.info(busy.key).waiting == 6; }));
    busy.stop.open();
    rig.take(10, GPO_SUCCESS);
    CHECK(comes_true([&] { return rig.info().waiting + rig.info().running == 0; }));
    const auto info = rig.info(busy.key);
    CHECK(info.submitted == 13);
    CHECK(info.succeeded + info.cancelled == 13);
    for (const BatchCalled& one : called) CHECK(one.times == 1);
}

TEST_CASE("two devices share the requests, and each lane has its own number") {
    Gpu gpu;
    TwoDevices two(gpu);
    if (!two.second) return skip("there is one device");
    BatcherRig rig(gpu, two.options(2));
    const uint32_t key = rig.add(two.rows(rig, 1));
    Stop stop;
    two.work->before = [&](gpo_stream_t, const SeenBatch& seen) {
        if (seen.members[0].user_data < 4) stop.wait();
        return GPO_SUCCESS;
    };
    for (int i = 0; i < 4; ++i) rig.enter(key);
    CHECK(stop.reached(4));
    stop.open();
    rig.take(4, GPO_SUCCESS);
    std::set<uint32_t> lanes, devices;
    for (const SeenBatch& seen : two.work->seen()) {
        lanes.insert(seen.batch.lane);
        devices.insert(seen.batch.device);
    }
    CHECK(lanes == std::set<uint32_t>{0, 1, 2, 3});
    CHECK(devices == std::set<uint32_t>{0, 1});
    // Pinned memory is for all devices.
    std::vector<Pinned<uint32_t>> inputs;
    for (int i = 0; i < 100; ++i) {
        Asked& one = rig.ask(key);
        if (i % 2 == 0) {
            inputs.push_back(gpu.pinned<uint32_t>(4));
            std::copy(one.in.begin(), one.in.end(), inputs.back().begin());
            one.request.input = inputs.back().data();
        }
        rig.enter(one);
    }
    rig.take(100, GPO_SUCCESS);
    // Device memory is of one of them.
    const Memory memory = gpu.memory(64);
    Asked& one = rig.ask(key);
    one.request.input = nullptr;
    one.request.input_address = memory;
    rig.refused(GPO_INVALID_ARGUMENT, one);
}

TEST_CASE("figures add up") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t rows = rig.add(rig.rows(8, 1)), ragged = rig.add(rig.ragged(100, 8, 1));
    rig.work.before = [&](gpo_stream_t, const SeenBatch& seen) {
        return seen.batch.key == ragged ? GPO_FAILED : GPO_SUCCESS;
    };
    {
        LaneHold hold(rig);
        for (int i = 0; i < 11; ++i) rig.enter(rows, 5);  // batches of 8 and 3
        for (int i = 0; i < 3; ++i) rig.enter(ragged, 6, 10);
        rig.enter(rows, 5);
        CHECK_OK(gpo_batcher_cancel(rig.batcher, rig.asked.back().ticket));
        Asked& late = rig.ask(rows, 5);
        late.request.deadline_ns = monotonic_ns() + 50'000'000;
        rig.enter(late);
        CHECK(comes_true([&] { return rig.info(rows).expired == 1; }));
        auto info = rig.info();
        CHECK(info.keys == 3);
        CHECK(info.waiting == 14);
        CHECK(info.waiting_elements == 41);
        CHECK(info.waiting_flows == 2);
        CHECK(info.running == 1);
        CHECK(info.running_batches == 1);
        CHECK(rig.info(ragged).waiting_elements == 30);
        CHECK(info.submitted_bytes == 13 * 32 + 3 * 80 + 4);
    }
    rig.take(16);
    REQUIRE(comes_true([&] { return rig.info().batches == 4; }));
    const auto info = rig.info(rows), all = rig.info(), failed = rig.info(ragged);
    CHECK(info.submitted == 13);
    CHECK(info.succeeded == 11);
    CHECK(info.cancelled == 1);
    CHECK(info.expired == 1);
    CHECK(info.batches == 2);
    CHECK(info.batch_elements == 11);
    CHECK(info.padded_elements == 0);
    CHECK(info.late == 0);
    CHECK(info.waiting + info.running + info.running_batches + info.waiting_elements == 0);
    CHECK(info.sizes[3] == 1);  // 8
    CHECK(info.sizes[2] == 1);  // 3
    CHECK(sum_of(info.sizes, GPO_BATCHER_SIZES) == 2);
    CHECK(sum_of(info.queue_times, GPO_BATCHER_TIMES) == 11);
    CHECK(sum_of(info.batch_times, GPO_BATCHER_TIMES) == 2);
    CHECK(sum_of(info.request_times, GPO_BATCHER_TIMES) == 11);
    CHECK(failed.failed == 3);
    CHECK(failed.succeeded == 0);
    CHECK(failed.sizes[2] == 1);
    CHECK(all.submitted == 17);
    CHECK(all.succeeded + all.failed + all.expired + all.cancelled == 17);
    CHECK(all.succeeded == 12);
    CHECK(sum_of(all.sizes, GPO_BATCHER_SIZES) == all.batches);
    CHECK(all.delay_ns == 0);
    CHECK(info.requests_per_second >= 0);
}

TEST_CASE("a flow has figures of all keys, and the least recently seen flows are forgotten") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.rows(64)), other = rig.add(rig.rows(64, 1));
    auto flow = sized<gpo_batcher_flow_info>();
    CHECK_STATUS(GPO_NOT_FOUND, gpo_batcher_get_flow_info(rig.batcher, 7, &flow));
    CHECK_OK(gpo_batcher_set_flow(rig.batcher, 7, 5));
    for (int i = 0; i < 3; ++i) rig.enter(key, 7);
    for (int i = 0; i < 4; ++i) rig.enter(other, 7);
    rig.enter(other, 8);
    rig.take(5, GPO_SUCCESS);
    CHECK_OK(gpo_batcher_cancel(rig.batcher, rig.asked[0].ticket));
    rig.take(1, GPO_CANCELLED);
    REQUIRE(comes_true([&] { return rig.info().succeeded == 5; }));
    REQUIRE_OK(gpo_batcher_get_flow_info(rig.batcher, 7, &flow));
    CHECK(flow.weight == 5);
    CHECK(flow.waiting == 2);
    CHECK(flow.submitted == 7);
    CHECK(flow.succeeded == 4);
    CHECK(flow.failed == 1);
    CHECK(flow.wait_ns >= flow.longest_wait_ns);
    CHECK(flow.longest_wait_ns > 0);
    REQUIRE_OK(gpo_batcher_get_flow_info(rig.batcher, 8, &flow));
    CHECK(flow.weight == 1);
    CHECK(flow.submitted == 1);
    CHECK(flow.succeeded == 1);
    // As many others as are kept; flow 7 still waits.
    for (uint64_t i = 0; i < 4096; ++i) rig.enter(other, 1000 + i);
    rig.take(4096, GPO_SUCCESS);
    CHECK_STATUS(GPO_NOT_FOUND, gpo_batcher_get_flow_info(rig.batcher, 8, &flow));
    CHECK_OK(gpo_batcher_get_flow_info(rig.batcher, 1000 + 4095, &flow));
}

TEST_CASE("options of batchers are checked") {
    Gpu gpu, foreign;
    const Executor elsewhere = foreign.executor();
    const auto refused = [&](gpo_status status, auto change) {
        auto options = batcher_options(1);
        options.devices = &gpu.device;
        options.device_count = 1;
        change(options);
        gpo_batcher_t none = nullptr;
        CHECK_STATUS(status, gpo_batcher_create(&options, &none));
        CHECK(none == nullptr);
    };
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.device_count = 0; });
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.device_count = 65; });
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.lanes = 17; });
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.capacity = (1u << 20) + 1; });
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.devices = nullptr; });
    const gpo_device_t twice[] = {gpu.device, gpu.device}, of_two[] = {gpu.device, foreign.device};
    refused(GPO_INVALID_ARGUMENT, [&](auto& options) {
        options.devices = twice;
        options.device_count = 2;
    });
    Device again;
    REQUIRE_OK(gpo_device_open(gpu.runtime, nullptr, again.out()));
    const gpo_device_t same[] = {gpu.device, again};
    refused(GPO_INVALID_ARGUMENT, [&](auto& options) {
        options.devices = same;
        options.device_count = 2;
    });
    refused(GPO_INVALID_HANDLE, [&](auto& options) {
        options.devices = of_two;
        options.device_count = 2;
    });
    refused(GPO_INVALID_HANDLE, [&](auto& options) { options.executor = elsewhere; });
    BatcherRig largest(gpu, batcher_options(16, 1 << 20));
    largest.enter(largest.add(largest.rows(1)));
    largest.take(1, GPO_SUCCESS);
}

TEST_CASE("options of keys are checked, and a refused key has no number") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const auto refused = [&](gpo_status status, auto change) {
        auto options = rig.rows(4);
        change(options);
        uint32_t key = 99;
        CHECK_STATUS(status, gpo_batcher_add_key(rig.batcher, &options, &key));
    };
    const auto ragged = [](auto& options, uint64_t elements) {
        options.layout = GPO_BATCH_RAGGED;
        options.max_elements = elements;
    };
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.flags = 8; });
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.layout = 0; });
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.layout = 3; });
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.max_batch = 65537; });
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.input_bytes = options.output_bytes = 0; });
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.max_elements = 1; });
    refused(GPO_INVALID_ARGUMENT, [](auto& options) { options.work = nullptr; });
    refused(GPO_INVALID_ARGUMENT, [&](auto& options) { ragged(options, 0); });
    refused(GPO_INVALID_ARGUMENT, [&](auto& options) { ragged(options, uint64_t{1} << 32); });
    refused(GPO_LIMIT_EXCEEDED, [](auto& options) { options.input_bytes = uint64_t{1} << 40; });
    refused(GPO_LIMIT_EXCEEDED, [](auto& options) { options.output_bytes = UINT64_MAX; });
    refused(GPO_LIMIT_EXCEEDED, [&](auto& options) { ragged(options, UINT32_MAX), options.input_bytes = 1024; });
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_batcher_set_flow(rig.batcher, 1, 0));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_batcher_set_flow(rig.batcher, 1, 65537));
    CHECK_OK(gpo_batcher_set_flow(rig.batcher, 1, 65536));
    auto info = sized<gpo_batcher_info>();
    CHECK_STATUS(GPO_NOT_FOUND, gpo_batcher_get_key_info(rig.batcher, 0, &info));
    CHECK(rig.info().keys == 0);
    uint32_t key = 0;
    for (int i = 0; i < 256; ++i) key = rig.add(rig.rows(1));
    refused(GPO_LIMIT_EXCEEDED, [](auto&) {});
    rig.enter(key);
    rig.take(1, GPO_SUCCESS);
}

TEST_CASE("requests are checked, and a refused one leaves nothing") {
    Gpu gpu, foreign;
    BatcherRig rig(gpu);
    const uint32_t rows = rig.add(rig.rows(1)), ragged = rig.add(rig.ragged(100, 1));
    const Memory memory = gpu.memory(4096);
    const auto refused = [&](gpo_status status, uint32_t key, auto change) {
        Asked& one = rig.ask(key, 0, key == ragged);
        change(one.request);
        rig.refused(status, one);
    };
    refused(GPO_NOT_FOUND, rows, [](auto& request) { request.key = 2; });
    refused(GPO_NOT_FOUND, rows, [](auto& request) { request.key = UINT32_MAX; });
    refused(GPO_INVALID_ARGUMENT, rows, [](auto& request) { request.elements = 2; });
    refused(GPO_INVALID_ARGUMENT, ragged, [](auto& request) { request.elements = 0; });
    refused(GPO_INVALID_ARGUMENT, ragged, [](auto& request) { request.elements = 101; });
    refused(GPO_INVALID_ARGUMENT, ragged, [](auto& request) { request.elements = UINT64_MAX; });
    refused(GPO_INVALID_ARGUMENT, rows, [](auto& request) { request.input = nullptr; });
    refused(GPO_INVALID_ARGUMENT, rows, [](auto& request) { request.output = nullptr; });
    refused(GPO_INVALID_ARGUMENT, rows, [&](auto& request) { request.input_address = memory; });
    refused(GPO_INVALID_ARGUMENT, rows, [&](auto& request) { request.output_address = memory; });
    const Queue elsewhere = foreign.queue();
    uint64_t ticket = 0;
    Asked& one = rig.ask(rows);
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_batcher_submit(rig.batcher, &one.request, elsewhere, 0, &ticket, nullptr));
    const Executor other = foreign.executor();
    BatchCalled never;
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_batcher_submit_then(rig.batcher, &one.request, other, BatchCalled::call,
                                                             &never, &ticket, nullptr));
    CHECK(rig.info().submitted == 0);
    CHECK(rig.info().waiting == 0);
    one.request.elements = 1;  // as good as 0
    rig.enter(one);
    rig.take(1, GPO_SUCCESS);
    CHECK(never.times == 0);
}
