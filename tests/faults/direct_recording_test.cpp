// Recordings without a capture of the driver: which driver calls they make, their results, and how a recording
// continues in a capture when only the driver can record the next call.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "faults/direct_rig.h"
#include "stream/captures.h"

using namespace gpo::test;
namespace driver_calls = gpo::driver::recorder;
namespace driver_faults = gpo::driver::faults;
using gpo::driver::Function;

TEST_CASE("direct: a recording calls the driver for nothing, and a graph gets all nodes with their order") {
    DirectRig rig;
    Template recorded = make_template(rig);
    rig.begin(recorded);
    rig.put_diamond();
    CHECK_OK(gpo_fill(rig.on, rig.memory, 7, 4, 4));
    CHECK_OK(gpo_copy_on_device(rig.on, rig.memory + 64, rig.memory, 16));
    CHECK_OK(gpo_copy_to_host(rig.on, &rig.words[4], rig.memory + 64, 16));
    CHECK_OK(gpo_copy_to_device(rig.on, rig.memory + 128, &rig.words[4], 16));
    uint32_t last = 0;
    CHECK_OK(gpo_template_get_last_node(recorded, rig.on, &last));
    CHECK(last == 8);
    CHECK_OK(gpo_template_get_last_node(recorded, rig.side, &last));
    CHECK(last == 3);
    CHECK_OK(gpo_template_end(recorded));
    CHECK(captures() == 0);
    CHECK(added() == 0);
    CHECK(driver_calls::count(Function::cuGraphCreate) == 0);
    CHECK(driver_calls::count(Function::cuEventRecord) == 0);
    CHECK(driver_calls::count(Function::cuStreamIsCapturing) == 0);
    CHECK(driver_calls::count(Function::cuStreamGetCaptureInfo) == 0);
    CHECK(figures_of(recorded).nodes == 8);
    rig.check_diamond(recorded);
    CHECK(added() == 8);
    for (uint32_t i = 4; i < 8; ++i) CHECK(rig.word(i) == 7);
    CHECK_OK(gpo_stream_query(rig.side));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_event_query(rig.forked));   // until it is recorded anew
    CHECK_OK(gpo_event_record(rig.forked, rig.on));
    CHECK_OK(gpo_event_wait(rig.forked, kPatience));
}

TEST_CASE("direct: an update to a recording in which every node differs needs no second graph of the driver's") {
    DirectRig rig;
    if (rig.too_old()) return;
    Template recorded = make_template(rig);
    const auto record = [&](uint32_t by) {
        rig.begin(recorded);
        for (uint32_t i = 0; i < 4; ++i) rig.put_step(rig.on, 0, by + i);
        CHECK_OK(gpo_template_end(recorded));
    };
    record(1);
    Graph graph = make_graph(recorded);
    record(2);
    CHECK_OK(gpo_graph_update(graph, nullptr));
    CHECK(added() == 0);
    CHECK(driver_calls::count(Function::cuGraphExecUpdate) == 0);
    CHECK(driver_calls::count(Function::cuGraphExecKernelNodeSetParams) == 4);
    rig.run(graph);
    CHECK(rig.word(0) == ((2 * 3 + 3) * 3 + 4) * 3 + 5);
}

TEST_CASE("direct: launch attributes and the stream's priority are those of the nodes") {
    DirectRig rig;
    auto options = sized<gpo_stream_options>();
    options.priority = -1;
    Stream urgent;
    REQUIRE_OK(gpo_stream_create(rig.device, &options, urgent.out()));
    Kernel checks = rig.kernel(R"(
#include <cooperative_groups.h>
extern "C" __global__ void checks(unsigned* word) {
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0) atomicAdd(word, 1);
}
)", "checks");
    auto shape = sized<gpo_launch>();
    shape.grid[0] = 2;
    shape.block[0] = 32;
    shape.flags = GPO_LAUNCH_COOPERATIVE;
    const uint64_t word = rig.memory;
    const void* arguments[] = {&word};
    Template recorded = make_template(rig);
    driver_calls::clear();
    REQUIRE_OK(gpo_template_begin(recorded, urgent));
    CHECK_OK(gpo_fill(urgent, rig.memory, 0, 4, 1));
    CHECK_OK(gpo_stream_launch_kernel(urgent, checks, &shape, arguments, nullptr, 1));
    CHECK_OK(gpo_copy_to_host(urgent, &rig.words[0], rig.memory, 4));
    CHECK_OK(gpo_template_end(recorded));
    CHECK(captures() == 0);
    Graph graph = make_graph(recorded);
    CHECK(driver_calls::count(Function::cuGraphKernelNodeSetAttribute) == 2);
    rig.run(graph);
    CHECK(rig.word(0) == 2);
    // Another priority is another launch.
    REQUIRE_OK(gpo_template_begin(recorded, rig.on));
    CHECK_OK(gpo_fill(rig.on, rig.memory, 0, 4, 1));
    CHECK_OK(gpo_stream_launch_kernel(rig.on, checks, &shape, arguments, nullptr, 1));
    CHECK_OK(gpo_copy_to_host(rig.on, &rig.words[0], rig.memory, 4));
    CHECK_OK(gpo_template_end(recorded));
    driver_calls::clear();
    CHECK_OK(gpo_graph_update(graph, nullptr));
    CHECK(driver_calls::count(Function::cuGraphExecUpdate) == 1);
}

TEST_CASE("direct: a stream whose native handle is asked for in a recording goes on in a capture") {
    for (const bool of_joined : {false, true}) {
        CAPTURE(of_joined);
        DirectRig rig;
        Template made = make_template(rig);
        rig.begin(made);
        rig.put_step(rig.on, 0, 1);
        rig.fork();
        rig.put_step(rig.side, 1, 3);
        CHECK_OK(gpo_event_record(rig.joined, rig.side));
        CHECK(captures() == 0);
        const CUstream native = rig.native(of_joined ? rig.side : rig.on);
        CHECK(captures() == 1);
        // The other library's work follows the stream's last node. An event that was recorded earlier is unchanged.
        rig.fill_natively(native, 5);
        rig.put_step(rig.on, 0, 2);
        if (of_joined) CHECK_OK(gpo_stream_wait_stream(rig.on, rig.side));
        CHECK_OK(gpo_stream_wait_event(rig.on, rig.joined));
        rig.put_step(rig.on, 1, 4);
        CHECK_OK(gpo_copy_to_host(rig.on, &rig.words[2], rig.memory, 4));
        CHECK_OK(gpo_template_end(made));
        CHECK(figures_of(made).nodes == 6);
        Graph graph = make_graph(made);
        rig.run(graph);
        CHECK(rig.word(0) == 5);
        CHECK(rig.word(1) == 13);
        CHECK(rig.word(2) == 5);
    }
}

TEST_CASE("direct: an event whose native handle is asked for names its nodes in a capture") {
    DirectRig rig;
    Template recorded = make_template(rig);
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    CHECK_OK(gpo_event_record(rig.forked, rig.on));
    rig.put_step(rig.on, 1, 9);
    CHECK(captures() == 0);
    void* native = nullptr;
    CHECK_OK(gpo_event_get_native(rig.forked, &native));
    CHECK(captures() == 1);
    CHECK_OK(gpo_stream_wait_event(rig.side, rig.forked));
    rig.put_step(rig.side, 0, 2);
    rig.join();
    CHECK_OK(gpo_template_end(recorded));
    CHECK(figures_of(recorded).nodes == 3);
    Graph graph = make_graph(recorded);
    rig.run(graph);
    CHECK(rig.word(0) == 5);
    CHECK(rig.word(1) == 9);
}

TEST_CASE("direct: a stream or an event whose native handle is out brings a recording into a capture") {
    DirectRig rig;
    Template recorded = make_template(rig);
    const CUstream native = rig.native(rig.side);
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    CHECK_OK(gpo_event_record(rig.forked, rig.on));
    CHECK(captures() == 0);
    CHECK_OK(gpo_stream_wait_event(rig.side, rig.forked));
    CHECK(captures() == 1);
    rig.fill_natively(native, 5);
    rig.join();
    CHECK_OK(gpo_copy_to_host(rig.on, &rig.words[2], rig.memory, 4));
    CHECK_OK(gpo_template_end(recorded));
    CHECK(figures_of(recorded).nodes == 3);
    Graph graph = make_graph(recorded);
    rig.run(graph);
    CHECK(rig.word(2) == 5);

    void* event = nullptr;
    REQUIRE_OK(gpo_event_get_native(rig.joined, &event));
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    CHECK(captures() == 0);
    CHECK_OK(gpo_event_record(rig.joined, rig.on));
    CHECK(captures() == 1);
    CHECK_OK(gpo_template_end(recorded));
}

TEST_CASE("direct: no node is lost while another thread asks for the native handle") {
    DirectRig rig;
    constexpr uint32_t kNodes = 50;
    for (int round = 0; round < 20; ++round) {
        CAPTURE(round);
        rig.side = rig.stream("round");
        Template recorded = make_template(rig);
        REQUIRE_OK(gpo_template_begin(recorded, rig.side));
        std::atomic<uint32_t> put{0};
        std::thread asks([&] {
            while (put.load() < static_cast<uint32_t>(round)) std::this_thread::yield();
            static_cast<void>(rig.native(rig.side));
        });
        for (uint32_t i = 0; i < kNodes; ++i, ++put) rig.put_step(rig.side, 0, 1);
        asks.join();
        CHECK_OK(gpo_template_end(recorded));
        CHECK(figures_of(recorded).nodes == kNodes);
    }
}

TEST_CASE("direct: nodes added by themselves, and parameters named before them, are in one recording") {
    DirectRig rig;
    if (rig.too_old()) return;
    Template recorded = make_template(rig);
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    uint32_t node = 0;
    CHECK_OK(gpo_template_get_last_node(recorded, rig.on, &node));
    CHECK_OK(gpo_template_add_parameter(recorded, "by", node, GPO_PARAMETER_ARGUMENT, 1));
    rig.put_step(rig.on, 0, 2);
    CHECK(captures() == 0);
    CHECK_OK(gpo_template_get_last_node(recorded, rig.on, &node));
    CHECK(node == 2);
    const uint32_t alone = rig.node(recorded, rig.step, rig.at(0), 3, {node});
    CHECK(alone == 3);
    CHECK(added() == 3);
    CHECK_OK(gpo_template_set_last_node(recorded, rig.on, alone));
    rig.put_step(rig.on, 0, 4);
    CHECK_OK(gpo_template_end(recorded));
    CHECK(captures() == 0);
    CHECK(figures_of(recorded).nodes == 4);
    Graph graph = make_graph(recorded);
    const uint32_t by = 2;
    CHECK_OK(gpo_graph_set(graph, "by", &by, sizeof by));
    rig.run(graph);
    CHECK(rig.word(0) == ((2 * 3 + 2) * 3 + 3) * 3 + 4);
}

TEST_CASE("direct: a last node that is set is what comes before") {
    DirectRig rig;
    Template recorded = make_template(rig);
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    rig.put_step(rig.on, 1, 5);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_template_set_last_node(recorded, rig.on, 3));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_template_set_last_node(recorded, rig.side, 1));
    uint32_t node = 7;
    CHECK_STATUS(GPO_INVALID_STATE, gpo_template_get_last_node(recorded, rig.side, &node));
    CHECK_OK(gpo_template_cancel(recorded));

    rig.begin(recorded);
    CHECK_OK(gpo_template_get_last_node(recorded, rig.on, &node));
    CHECK(node == 0);
    rig.put_step(rig.on, 0, 1);
    rig.put_step(rig.on, 1, 5);
    CHECK_OK(gpo_template_set_last_node(recorded, rig.on, 1));
    rig.put_step(rig.on, 0, 2);
    CHECK_OK(gpo_template_end(recorded));
    CHECK(captures() == 0);
    Graph graph = make_graph(recorded);
    rig.run(graph);
    CHECK(rig.word(0) == 5);
    CHECK(rig.word(1) == 5);
}

TEST_CASE("direct: a stream for whose work the first stream doesn't wait spoils a recording") {
    DirectRig rig;
    Template recorded = make_template(rig);
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    rig.fork();
    rig.put_step(rig.side, 1, 2);
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(recorded));
    CHECK(says(refusal(), "doesn't wait"));
    CHECK(says(refusal(), "side"));
    CHECK(captures() == 0);
    // Both streams are as before.
    rig.put_step(rig.side, 2, 3);
    rig.put_step(rig.on, 3, 4);
    CHECK_OK(gpo_stream_wait(rig.side, kPatience));
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    CHECK(rig.word(1) == 0);
    CHECK(rig.word(2) == 3);
    // A stream that joined the recording without getting work doesn't make the recording fail.
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    rig.fork();
    CHECK_OK(gpo_template_end(recorded));
}

TEST_CASE("direct: the recording of a body is direct, and its nodes go into the body at once") {
    DirectRig rig;
    if (rig.too_old()) return;
    Template outer = make_template(rig);
    auto condition = sized<gpo_condition>();
    condition.comparison = GPO_COMPARE_LESS;
    condition.word = rig.at(2);
    condition.constant = 3;
    Template body;
    uint32_t loop = 0;
    REQUIRE_OK(gpo_template_add_while(outer, nullptr, 0, &condition, body.out(), &loop));
    rig.begin(body);
    rig.put_diamond();
    CHECK_OK(launch(rig.on, rig.add, 1, 1, rig.at(2), 1u));
    CHECK(added() == 0);
    CHECK_OK(gpo_template_end(body));
    CHECK(captures() == 0);
    CHECK(added() == 5);
    Graph graph = make_graph(outer);
    rig.run(graph);
    CHECK(rig.word(2) == 3);
    CHECK(rig.word(1) == 3 * 9 + 3 * 3 + 3);
}

TEST_CASE("direct: an event that was recorded elsewhere since stays as it is when the recording enters a capture") {
    DirectRig rig;
    Template recorded = make_template(rig);
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    CHECK_OK(gpo_event_record(rig.forked, rig.on));
    rig.put_step(rig.side, 1, 9);   // not in the recording
    CHECK_OK(gpo_event_record(rig.forked, rig.side));
    static_cast<void>(rig.native(rig.on));
    CHECK(captures() == 1);
    CHECK_OK(gpo_event_wait(rig.forked, kPatience));
    CHECK(rig.word(1) == 9);
    CHECK_OK(gpo_template_end(recorded));
}

TEST_CASE("direct: an event that is recorded again names the later nodes, and a wait adds to what a stream waits for") {
    DirectRig rig;
    Template recorded = make_template(rig);
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    CHECK_OK(gpo_event_record(rig.forked, rig.on));
    rig.put_step(rig.on, 0, 2);
    rig.fork();                      // the same event
    rig.put_step(rig.side, 0, 4);    // word 0: 19
    rig.put_step(rig.on, 1, 5);
    rig.join();
    CHECK_OK(gpo_stream_wait_event(rig.on, rig.joined));   // twice
    rig.put_step(rig.on, 1, 6);
    rig.put_step(rig.on, 0, 7);
    CHECK_OK(gpo_template_end(recorded));
    CHECK(captures() == 0);
    Graph graph = make_graph(recorded);
    rig.run(graph);
    CHECK(rig.word(0) == 64);
    CHECK(rig.word(1) == 21);
    // The same with the driver's capture in between.
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    CHECK_OK(gpo_event_record(rig.forked, rig.on));
    rig.put_step(rig.on, 0, 2);
    rig.fork();
    static_cast<void>(rig.native(rig.on));
    rig.put_step(rig.side, 0, 4);
    rig.join();
    rig.put_step(rig.on, 0, 7);
    CHECK_OK(gpo_template_end(recorded));
    Graph other = make_graph(recorded);
    rig.run(other);
    CHECK(rig.word(0) == 64);
}

TEST_CASE("direct: a copy beyond its memory, or the wrong way, is refused when it is recorded") {
    DirectRig rig;
    CUdeviceptr small = 0, large = 0;
    const gpo::Pin<gpo::Stream> pin(rig.on.get());
    const gpo::driver::Table& cu = pin->table();
    {
        const gpo::DriverScope scope(pin->context());
        REQUIRE(cu.cuMemAlloc(&small, 64) == CUDA_SUCCESS);
        REQUIRE(cu.cuMemAlloc(&large, 256) == CUDA_SUCCESS);
    }
    const auto refused = [&](const auto& copy) {
        Template recorded = make_template(rig);
        rig.begin(recorded);
        rig.put_step(rig.on, 0, 1);
        CHECK_STATUS(GPO_INVALID_ARGUMENT, copy());
        CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(recorded));
    };
    refused([&] { return gpo_copy_on_device(rig.on, small, large, 128); });
    refused([&] { return gpo_copy_on_device(rig.on, large, small, 128); });
    refused([&] { return gpo_copy_to_host(rig.on, reinterpret_cast<void*>(small), large, 16); });
    {
        const gpo::DriverScope scope(pin->context());
        CHECK(cu.cuMemFree(small) == CUDA_SUCCESS);
        CHECK(cu.cuMemFree(large) == CUDA_SUCCESS);
    }
}

TEST_CASE("direct: a kernel whose handle is destroyed stays with the recording") {
    DirectRig rig;
    Template recorded = make_template(rig);
    rig.begin(recorded);
    CHECK_OK(launch(rig.on, rig.kernel_that_goes("gone"), 1, 1, rig.at(5)));
    CHECK_OK(gpo_template_end(recorded));
    // Only the module that is no longer used is unloaded.
    rig.kernel_that_goes("later");
    for (int64_t waited = 0; driver_calls::count(Function::cuModuleUnload) == 0 && waited < kPatience;
         waited += 1'000'000)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(driver_calls::count(Function::cuModuleUnload) == 1);
    Graph graph = make_graph(recorded);
    rig.run(graph);
    CHECK(rig.word(5) == 11);
}

TEST_CASE("direct: two recordings of one thread don't mix, and an event of one isn't waited for in the other") {
    DirectRig rig;
    Template first = make_template(rig), second = make_template(rig);
    rig.begin(first);
    REQUIRE_OK(gpo_template_begin(second, rig.side));
    rig.put_step(rig.on, 0, 1);
    rig.put_step(rig.side, 1, 2);
    CHECK_OK(gpo_event_record(rig.forked, rig.on));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_wait_event(rig.side, rig.forked));
    CHECK(says(refusal(), "another capture"));
    CHECK_OK(gpo_template_end(first));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(second));
    CHECK(captures() == 0);
    // The event can't join a stream to a recording that has ended.
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_wait_event(rig.side, rig.forked));
    CHECK(says(refusal(), "has ended"));
    Graph graph = make_graph(first);
    rig.run(graph);
    CHECK(rig.word(0) == 1);
    CHECK(rig.word(1) == 0);
}

TEST_CASE("direct: a recording of a blocking stream leaves the legacy stream alone") {
    DirectRig rig(GPO_STREAM_BLOCKING);
    Template recorded = make_template(rig);
    gpo_stream_t legacy = nullptr;
    REQUIRE_OK(gpo_stream_wrap(rig.device, nullptr, nullptr, &legacy));
    REQUIRE_OK(gpo_template_begin(recorded, rig.side));
    CHECK_OK(launch(rig.side, rig.put, 1, 1, rig.at(0), 6u));
    CHECK_OK(launch(legacy, rig.put, 1, 1, rig.at(1), 7u));
    CHECK_OK(gpo_stream_wait(legacy, kPatience));
    CHECK(rig.word(1) == 7);
    CHECK_OK(gpo_template_end(recorded));
    CHECK(figures_of(recorded).nodes == 1);
    CHECK_OK(gpo_stream_destroy(legacy));
}

TEST_CASE("direct: a recording in which the driver refuses to begin the capture fails, and the streams go on") {
    // Make each driver call of the switch to a capture fail, one at a time, until the switch succeeds.
    const Function functions[] = {Function::cuStreamBeginCapture, Function::cuStreamGetCaptureInfo,
                                  Function::cuGraphAddNode,       Function::cuEventCreate,
                                  Function::cuEventRecord,        Function::cuStreamWaitEvent,
                                  Function::cuStreamUpdateCaptureDependencies};
    for (const Function function : functions)
        for (uint64_t kth = 1;; ++kth) {
            CAPTURE(gpo::driver::function_name(function));
            CAPTURE(kth);
            DirectRig rig;
            Template recorded = make_template(rig);
            rig.begin(recorded);
            rig.put_step(rig.on, 0, 1);
            rig.fork();
            rig.put_step(rig.side, 1, 2);
            CHECK_OK(gpo_event_record(rig.joined, rig.side));
            driver_faults::arm({function, kth, CUDA_ERROR_OUT_OF_MEMORY});
            void* native = nullptr;
            const gpo_status status = gpo_stream_get_native(rig.on, &native);
            const bool refused = driver_faults::failed() != 0;
            driver_faults::disarm();
            CHECK(status == (refused ? GPO_OUT_OF_MEMORY : GPO_SUCCESS));
            CHECK_OK(gpo_stream_wait_event(rig.on, rig.joined));
            rig.put_step(rig.on, 0, 2);
            CHECK_STATUS(refused ? GPO_OUT_OF_MEMORY : GPO_SUCCESS, gpo_template_end(recorded));
            rig.put_step(rig.side, 2, 3);
            CHECK_OK(gpo_stream_wait(rig.side, kPatience));
            CHECK(rig.word(2) == 3);
            rig.begin(recorded);
            rig.put_diamond();
            CHECK_OK(gpo_template_end(recorded));
            rig.check_diamond(recorded);
            if (!refused) break;
        }
}

TEST_CASE("direct: a graph that the driver has no memory for is made by the next try") {
    DirectRig rig;
    Template recorded = make_template(rig);
    rig.begin(recorded);
    rig.put_diamond();
    CHECK_OK(gpo_template_end(recorded));
    for (uint64_t kth = 1; kth <= 4; ++kth) {
        driver_faults::arm({Function::cuGraphAddNode, kth, CUDA_ERROR_OUT_OF_MEMORY});
        gpo_graph_t none = nullptr;
        CHECK_STATUS(GPO_OUT_OF_MEMORY, gpo_graph_create(recorded, nullptr, &none));
        CHECK(says(refusal(), "node " + std::to_string(kth) + ", kernel `step`"));
        driver_faults::disarm();
    }
    rig.check_diamond(recorded);
}

TEST_CASE("direct: a recording that another thread cancels, or whose template is destroyed, frees the streams") {
    DirectRig rig;
    for (const bool destroyed : {false, true}) {
        CAPTURE(destroyed);
        Template recorded = make_template(rig);
        rig.begin(recorded);
        rig.put_step(rig.on, 0, 1);
        rig.fork();
        std::thread([&] {
            if (destroyed) recorded = Template();
            else CHECK_OK(gpo_template_cancel(recorded));
        }).join();
        rig.put_step(rig.side, 1, 3);
        rig.put_step(rig.on, 2, 4);
        CHECK_OK(gpo_stream_wait(rig.side, kPatience));
        CHECK_OK(gpo_stream_wait(rig.on, kPatience));
        CHECK(rig.word(0) == 0);
        CHECK(rig.word(1) == 3);
        CHECK(rig.word(2) == 4);
        CHECK(captures() == 0);
    }
}

TEST_CASE("direct: a recording of a device that is lost is given up, however it ends") {
    for (const bool captured : {false, true})
        for (int way = 0; way < 3; ++way) {
            CAPTURE(captured);
            CAPTURE(way);
            // Not of the fixture, which can't be shut down well with a lost device.
            Interposed interposed;
            auto options = sized<gpo_runtime_options>();
            options.device = "soft";
            gpo_runtime_t runtime = nullptr;
            gpo_device_t device = nullptr;
            gpo_stream_t on = nullptr, side = nullptr;
            gpo_template_t recorded = nullptr;
            uint64_t memory = 0;
            REQUIRE_OK(gpo_runtime_create(&options, &runtime));
            REQUIRE_OK(gpo_device_open(runtime, nullptr, &device));
            for (gpo_stream_t* each : {&on, &side}) REQUIRE_OK(gpo_stream_create(device, nullptr, each));
            REQUIRE_OK(gpo_memory_allocate(device, 64, nullptr, &memory));
            REQUIRE_OK(gpo_template_create(device, nullptr, &recorded));
            REQUIRE_OK(gpo_template_begin(recorded, on));
            CHECK_OK(gpo_fill(on, memory, 1, 4, 1));
            CHECK_OK(gpo_stream_wait_stream(side, on));
            void* native = nullptr;
            if (captured) CHECK_OK(gpo_stream_get_native(on, &native));
            driver_faults::arm({std::nullopt, 1, CUDA_ERROR_ILLEGAL_ADDRESS, true});
            gpo_stream_t probe = nullptr;
            CHECK_STATUS(GPO_DEVICE_LOST, gpo_stream_create(device, nullptr, &probe));
            if (way == 0) CHECK_STATUS(GPO_DEVICE_LOST, gpo_template_end(recorded));
            if (way == 1) CHECK_OK(gpo_template_cancel(recorded));
            CHECK_OK(gpo_template_destroy(recorded));
            CHECK(!gpo::captures::any());
            for (const gpo_stream_t each : {on, side}) {
                const gpo::Pin<gpo::Stream> pin(each);
                CHECK(pin->direct_recording() == 0);
                const gpo::Submission::Lock lock(pin->submission());
                CHECK(pin->recording() == nullptr);
            }
            for (const gpo_stream_t each : {on, side}) CHECK_OK(gpo_stream_destroy(each));
            gpo_runtime_shutdown(runtime, kPatience);
        }
}

TEST_CASE("direct: a stream that is destroyed in a recording stays until the end") {
    DirectRig rig;
    Template recorded = make_template(rig);
    rig.begin(recorded);
    rig.put_step(rig.on, 0, 1);
    rig.fork();
    rig.put_step(rig.side, 0, 2);
    rig.join();
    rig.side = Stream();
    rig.put_step(rig.on, 0, 4);
    CHECK_OK(gpo_template_end(recorded));
    Graph graph = make_graph(recorded);
    rig.run(graph);
    CHECK(rig.word(0) == 19);
}
