// A program's calls while a kernel stays on the GPU: every call comes back. Calls in which the driver would wait for
// the kernel's end are done later, or refused.
#include <string>
#include <vector>

#include "conformance/peers/symmetric_rig.h"
#include "conformance/pipeline_rig.h"
#include "conformance/queue/scheduler_rig.h"
#include "resident_rig.h"
#include "template_rig.h"

using namespace gpo::test;

namespace {

uint64_t put_off(Gpu& gpu) { return gpu.statistics().put_off; }

void check_refused(gpo_status status) {
    CHECK(status == GPO_INVALID_STATE);
    CHECK(says(last_error().message, "`server`"));
}

/// `prepare(rig)` makes objects, and returns the function to be called beside the kernel.
template <class Prepare>
void beside(const char* what, Prepare prepare) {
    INFO(what);
    WordsRig rig;
    auto act = prepare(rig);
    ResidentKernel resident(rig);
    act();
    CHECK_OK(gpo_device_wait(rig.device, kPatience));
    CHECK(resident.stays());
    resident.end();
    CHECK(comes_true([&] { return put_off(rig) == 0; }));
    // Nothing is left that would disturb later work.
    const uint32_t before = rig.word(15);
    REQUIRE_OK(launch(rig.on, rig.add, 1, 1, rig.at(15), 1u));
    CHECK_OK(gpo_stream_wait(rig.on, kPatience));
    CHECK(rig.word(15) == before + 1);
}

constexpr const char* kHandlers = R"(
#include <gpuorch/device/scheduler.cuh>
struct number_task { unsigned handler, number, rest[2]; };
__device__ int nothing(gpo::task_context &, const number_task &) { return 0; }
)";

}  // namespace

TEST_CASE("beside a resident kernel memory is allocated and freed" * gated) {
    beside("device memory", [](WordsRig& rig) {
        return [&rig, early = rig.memory(1 << 20)]() mutable {
            Memory made = rig.memory(1 << 20);
            REQUIRE_OK(launch(rig.on, rig.put, 1, 1, made.operator uint64_t(), 1u));
            made = Memory();
            early = Memory();
        };
    });
    beside("arenas", [](WordsRig& rig) {
        auto early = std::make_unique<Arena>();
        auto options = sized<gpo_arena_options>();
        options.slab_bytes = options.initial_bytes = 1 << 20;
        REQUIRE_OK(gpo_arena_create(rig.device, &options, early->out()));
        return [&rig, early = std::move(early), options]() mutable {
            Arena arena;
            REQUIRE_OK(gpo_arena_create(rig.device, &options, arena.out()));
            void *first = nullptr, *second = nullptr;
            REQUIRE_OK(gpo_arena_allocate(arena, 4096, 0, &first));
            REQUIRE_OK(gpo_arena_allocate(arena, 4 << 20, 0, &second));
            CHECK_OK(gpo_arena_free(arena, first));
            CHECK_OK(gpo_arena_free_after(arena, second, rig.on));
            CHECK_OK(gpo_stream_wait(rig.on, kPatience));
            CHECK_OK(gpo_arena_trim(arena, 0));
            arena.reset();
            early->reset();
            CHECK(comes_true([&] { return put_off(rig) != 0; }));
        };
    });
    beside("pools", [](WordsRig& rig) {
        return [&rig] {
            Pool pool;
            REQUIRE_OK(gpo_pool_create(rig.device, nullptr, pool.out()));
            uint64_t address = 0;
            REQUIRE_OK(gpo_pool_allocate(pool, rig.on, 1 << 20, &address));
            REQUIRE_OK(launch(rig.on, rig.put, 1, 1, address, 1u));
            CHECK_OK(gpo_pool_free(pool, rig.on, address));
            CHECK_OK(gpo_stream_wait(rig.on, kPatience));
            CHECK_OK(gpo_pool_trim(pool, 0));
        };
    });
    beside("memory of templates", [](WordsRig& rig) {
        return [&rig] {
            Template of = make_template(rig);
            uint64_t address = 0;
            void* memory = nullptr;
            REQUIRE_OK(gpo_template_allocate(of, 4096, &address));
            REQUIRE_OK(gpo_template_allocate_host(of, 4, &memory));
            rig.node(of, rig.put, address, 1);
            Graph graph = make_graph(of);
            rig.run(graph);
            graph.reset();
            of.reset();
            CHECK_OK(gpo_device_wait(rig.device, kPatience));
            CHECK(comes_true([&] { return put_off(rig) != 0; }));
        };
    });
}

TEST_CASE("beside a resident kernel memory is registered, and unregistered when the kernel has ended" * gated) {
    Gpu gpu;
    std::vector<uint8_t> early(64 << 10), late(64 << 10);
    REQUIRE_OK(gpo_host_register(gpu.device, early.data(), early.size(), 0));
    ResidentKernel resident(gpu);
    REQUIRE_OK(gpo_host_register(gpu.device, late.data(), late.size(), 0));
    check_refused(gpo_host_unregister(gpu.device, early.data()));
    check_refused(gpo_host_unregister(gpu.device, late.data()));
    CHECK(resident.stays());
    resident.end();
    CHECK_OK(gpo_host_unregister(gpu.device, early.data()));
    CHECK_OK(gpo_host_unregister(gpu.device, late.data()));
}

TEST_CASE("beside a resident kernel modules are used and destroyed, and loaded when the kernel has ended" * gated) {
    static constexpr const char* kLate = "extern \"C\" __global__ void late(unsigned *word) { *word = 7; }\n"
                                         "extern \"C\" __global__ void later() {}\n";
    auto options = sized<gpo_compile_options>();
    options.source = kLate;
    Module late;
    beside("modules", [&](WordsRig& rig) {
        REQUIRE_OK(gpo_module_compile(rig.device, &options, late.out()));
        Kernel kernel;
        REQUIRE_OK(gpo_module_get_kernel(late, "late", kernel.out()));
        return [&, kernel = std::move(kernel)]() mutable {
            Module refused;
            Kernel later;
            check_refused(gpo_module_compile(rig.device, &options, refused.out()));
            check_refused(gpo_module_load_builtin(rig.device, refused.out()));
            check_refused(gpo_module_get_kernel(late, "later", later.out()));
            REQUIRE_OK(gpo_module_get_kernel(late, "late", later.out()));
            CHECK_OK(launch(rig.on, kernel, 1, 1, rig.at(3)));
            CHECK_OK(gpo_stream_wait(rig.on, kPatience));
            CHECK(rig.word(3) == 7);
            kernel.reset();
            later.reset();
            late.reset();
            CHECK_OK(gpo_device_wait(rig.device, kPatience));
            CHECK(comes_true([&] { return put_off(rig) == 1; }));
        };
    });
    Gpu gpu;
    ResidentKernel resident(gpu);
    resident.end();
    CHECK_OK(gpo_module_compile(gpu.device, &options, late.out()));
    Kernel later;
    CHECK_OK(gpo_module_get_kernel(late, "later", later.out()));
    later.reset();
    late.reset();
}

TEST_CASE("beside a resident kernel streams, events, timelines and copies are used" * gated) {
    beside("streams", [](WordsRig& rig) {
        return [&rig] {
            Stream stream = rig.stream("beside"), blocking = rig.stream("blocking", GPO_STREAM_BLOCKING);
            StreamPool pool;
            REQUIRE_OK(gpo_stream_pool_create(rig.device, nullptr, pool.out()));
            gpo_stream_t shared = nullptr;
            REQUIRE_OK(gpo_stream_pool_acquire(pool, 0, &shared));
            Event event = rig.event();
            Timeline timeline = rig.timeline();
            Queue queue = rig.queue();
            for (gpo_stream_t on : {stream.get(), blocking.get(), shared}) {
                REQUIRE_OK(launch(on, rig.add, 1, 1, rig.at(1), 1u));
                REQUIRE_OK(gpo_event_record(event, on));
                REQUIRE_OK(gpo_stream_wait_event(rig.on, event));
                CHECK_OK(gpo_stream_wait(on, kPatience));
            }
            REQUIRE_OK(gpo_stream_wait_timeline(rig.on, timeline, 1));   // held
            REQUIRE_OK(launch(rig.on, rig.add, 1, 1, rig.at(1), 1u));
            REQUIRE_OK(gpo_stream_signal_timeline(stream, timeline, 1));
            REQUIRE_OK(gpo_stream_notify(rig.on, queue, 5));
            CHECK(take(queue, 1)[0].user_data == 5);
            CHECK(rig.word(1) == 4);
            CHECK_OK(gpo_stream_pool_release(pool, shared));
        };
    });
    beside("copies and fills", [](WordsRig& rig) {
        return [&rig] {
            Memory memory = rig.memory(1 << 20);
            std::vector<uint8_t> pageable(1 << 20, 5), back(1 << 20);
            REQUIRE_OK(gpo_fill(rig.on, memory, 1, 4, 1 << 18));
            REQUIRE_OK(gpo_copy_to_device(rig.on, memory, pageable.data(), pageable.size()));
            REQUIRE_OK(gpo_copy_to_host(rig.on, back.data(), memory, back.size()));
            REQUIRE_OK(gpo_copy_to_device(rig.on, memory, rig.words.data(), 16));
            CHECK_OK(gpo_stream_wait(rig.on, kPatience));
            CHECK(back == pageable);
        };
    });
}

TEST_CASE("beside a resident kernel templates and graphs are made, launched and destroyed" * gated) {
    beside("graphs", [](WordsRig& rig) {
        return [&rig] {
            if (rig.too_old()) return;
            Template of = counting(rig);
            Graph graph = make_graph(of);
            rig.run(graph);
            CHECK(rig.word(0) == 3);
            Template recorded = make_template(rig);
            REQUIRE_OK(gpo_template_begin(recorded, rig.on));
            REQUIRE_OK(launch(rig.on, rig.add, 1, 1, rig.at(0), 1u));
            REQUIRE_OK(gpo_template_end(recorded));
            Graph plain = make_graph(recorded);
            rig.run(plain);
            CHECK(rig.word(0) == 4);
            auto options = sized<gpo_graph_options>();
            options.flags = GPO_GRAPH_DEVICE_LAUNCH;
            Graph launched;
            REQUIRE_OK(gpo_graph_create(recorded, &options, launched.out()));
            launched.reset();
            CHECK_OK(gpo_device_wait(rig.device, kPatience));
            CHECK(comes_true([&] { return put_off(rig) != 0; }));
        };
    });
}

TEST_CASE("beside a resident kernel queues and schedulers are used" * gated) {
    beside("queues", [](WordsRig& rig) {
        return [&rig] {
            DeviceQueue range = make_queue(rig, range_options(100));
            DeviceQueue ring = make_queue(rig, ring_options(64));
            auto options = sized<gpo_queue_options>();
            options.kind = GPO_QUEUE_HOST_RING;
            options.task_size = 16;
            Stream stream = rig.stream("other server", GPO_STREAM_RESIDENT);
            options.stream = stream;
            DeviceQueue posted = make_queue(rig, options);
            push_tasks(ring, rig.on, {{0, 1, {}}, {0, 2, {}}});
            CHECK(queue_info(ring).pushed == 2);
            CHECK_OK(gpo_queue_abort(posted));
        };
    });
    beside("schedulers", [](WordsRig& rig) {
        struct Made {
            DeviceQueue ring;
            Scheduler scheduler;
        };
        auto made = std::make_unique<Made>();
        made->ring = make_queue(rig, ring_options(64));
        made->scheduler = make_scheduler(rig, scheduler_options(made->ring, kHandlers), {"nothing"});
        return [&rig, made = std::move(made)] {
            DeviceQueue other = make_queue(rig, ring_options(64));
            Scheduler refused;
            check_refused(create_scheduler(rig, scheduler_options(other, kHandlers), {"nothing"}, refused));
            push_tasks(made->ring, rig.on, {{0, 1, {}}});
            REQUIRE_OK(gpo_scheduler_start(made->scheduler));
            CHECK_OK(gpo_scheduler_drain(made->scheduler, kPatience));
            CHECK(queue_info(made->ring).done == 1);
            REQUIRE_OK(gpo_scheduler_start(made->scheduler));
            CHECK_OK(gpo_scheduler_stop(made->scheduler, kPatience));
            made->scheduler.reset();
            made->ring.reset();
        };
    });
}

TEST_CASE("beside a resident kernel pipelines and host calls run, and traces are recorded" * gated) {
    beside("pipelines", [](WordsRig& rig) {
        auto options = std::make_unique<ComplementOptions>(rig);
        return [&rig, options = std::move(options)] {
            for (const size_t bytes : {100'000, 20'000'000}) {
                Pipeline pipeline = options->create(rig);
                const auto data = noise(bytes);
                std::vector<uint8_t> out(bytes);
                CHECK_OK(run(pipeline, from_memory(data.data(), bytes), to_memory(out.data(), bytes)));
                CHECK(out == complement(data));
            }
            CHECK(comes_true([&] { return put_off(rig) != 0; }));
        };
    });
    beside("host calls", [](WordsRig& rig) {
        return [&rig] {
            Executor executor = rig.executor();
            bool called = false;
            const auto call = [](void* user, const gpo_host_call*) -> gpo_status {
                *static_cast<bool*>(user) = true;
                return GPO_SUCCESS;
            };
            REQUIRE_OK(gpo_stream_host_call(rig.on, executor, call, &called));
            CHECK_OK(gpo_stream_wait(rig.on, kPatience));
            CHECK(called);
        };
    });
    beside("traces", [](WordsRig& rig) {
        return [&rig] {
            REQUIRE_OK(gpo_trace_start(rig.runtime, nullptr));
            REQUIRE_OK(launch(rig.on, rig.add, 1, 1, rig.at(1), 1u));
            CHECK_OK(gpo_stream_wait(rig.on, kPatience));
            CHECK_OK(gpo_trace_stop(rig.runtime));
        };
    });
}

TEST_CASE("beside a resident kernel a group of one device is made and used" * gated) {
    beside("groups", [](WordsRig& rig) {
        return [&rig] {
            Peers peers, part;
            REQUIRE_OK(gpo_peers_create(&rig.device, 1, nullptr, peers.out()));
            const uint32_t first = 0;
            REQUIRE_OK(gpo_peers_split(peers, &first, 1, nullptr, part.out()));
            Memory from = rig.memory(64), to = rig.memory(64);
            auto rank = sized<gpo_rank_part>();
            rank.stream = rig.on;
            rank.send = from;
            uint32_t value = 1;
            const auto submit = [&](uint32_t kind, uint32_t reduction, uint64_t receive) {
                const bool barrier = kind == GPO_COLLECTIVE_BARRIER;
                REQUIRE_OK(gpo_fill(rig.on, from, ++value, 4, 16));
                rank.receive = receive;
                const auto what =
                    collective(kind, barrier ? 0 : GPO_TYPE_UINT32, barrier ? 0 : 16, reduction);
                REQUIRE_OK(gpo_peers_submit(part, &what, &rank, sizeof rank, 1));
                if (barrier) return;
                REQUIRE_OK(gpo_copy_to_host(rig.on, rig.words.data(), receive, 64));
                CHECK_OK(gpo_stream_wait(rig.on, kPatience));
                for (uint32_t i = 0; i < 16; ++i) CHECK(rig.word(i) == value);
            };
            for (uint32_t reduction = GPO_REDUCE_SUM; reduction <= GPO_REDUCE_AVERAGE; ++reduction) {
                submit(GPO_COLLECTIVE_ALL_REDUCE, reduction, to);
                submit(GPO_COLLECTIVE_ALL_REDUCE, reduction, from);
                submit(GPO_COLLECTIVE_REDUCE, reduction, to);
                submit(GPO_COLLECTIVE_REDUCE_SCATTER, reduction, to);
            }
            for (const uint32_t kind : {GPO_COLLECTIVE_BROADCAST, GPO_COLLECTIVE_ALL_GATHER,
                                        GPO_COLLECTIVE_ALL_TO_ALL, GPO_COLLECTIVE_SEND_RECEIVE, GPO_COLLECTIVE_BARRIER})
                submit(kind, 0, to);
            Symmetric memory;
            REQUIRE_OK(gpo_symmetric_allocate(peers, 4096, nullptr, memory.out()));
            REQUIRE_OK(gpo_symmetric_reset(memory, 0, rig.on));
            auto shape = sized<gpo_launch>();
            shape.grid[0] = shape.block[0] = 1;
            const uint64_t word = rig.at(2);
            const uint32_t number = 77;
            const void* arguments[] = {&word, &number};
            auto launch = sized<gpo_rank_launch>();
            launch.stream = rig.on;
            launch.kernel = rig.put;
            launch.launch = &shape;
            launch.arguments = arguments;
            launch.argument_count = 2;
            REQUIRE_OK(gpo_peers_launch(peers, &launch, sizeof launch, 1));
            CHECK_OK(gpo_stream_wait(rig.on, kPatience));
            CHECK(rig.word(2) == 77);
            Template of = make_template(rig);
            REQUIRE_OK(gpo_template_begin(of, rig.on));
            const auto sum = collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_UINT32, 16, GPO_REDUCE_SUM);
            rank.receive = to;
            REQUIRE_OK(gpo_peers_submit(part, &sum, &rank, sizeof rank, 1));
            REQUIRE_OK(gpo_template_end(of));
            Graph graph = make_graph(of);
            rig.run(graph);
            memory.reset();
            part.reset();
            peers.reset();
        };
    });
}

TEST_CASE("beside a resident kernel graphs of buckets are recorded, and streams learn" * gated) {
    beside("buckets", [](WordsRig& rig) {
        return [&rig] {
            if (rig.too_old()) return;
            const uint64_t shapes[] = {4, 8};
            auto options = sized<gpo_buckets_options>();
            options.shapes = shapes;
            options.shape_count = 2;
            options.user = &rig;
            options.record = [](void* user, gpo_stream_t stream, const gpo_bucket_work*) -> gpo_status {
                WordsRig& own = *static_cast<WordsRig*>(user);
                return launch(stream, own.put, 1, 1, own.at(4), 9u);
            };
            Buckets buckets;
            REQUIRE_OK(gpo_buckets_create(rig.device, &options, buckets.out()));
            REQUIRE_OK(gpo_buckets_launch(buckets, rig.on, 3, nullptr, 0, 0, nullptr));
            CHECK_OK(gpo_stream_wait(rig.on, kPatience));
            CHECK(rig.word(4) == 9);
        };
    });
    beside("learning", [](WordsRig& rig) {
        return [&rig] {
            Stream learns = rig.stream("learns", GPO_STREAM_LEARNS);
            const uint32_t before = rig.word(5);
            for (int i = 0; i < 200; ++i) REQUIRE_OK(launch(learns, rig.add, 1, 1, rig.at(5), 1u));
            CHECK_OK(gpo_stream_wait(learns, kPatience));
            CHECK(rig.word(5) == before + 200);
        };
    });
}

TEST_CASE("beside a resident kernel kernels, variables, memory and costs are asked for" * gated) {
    static constexpr const char* kSource = "__device__ unsigned counter;\n"
                                           "extern \"C\" __global__ void count() { atomicAdd(&counter, 1u); }\n";
    beside("questions", [](WordsRig& rig) {
        auto options = sized<gpo_compile_options>();
        options.source = kSource;
        auto module = std::make_unique<Module>();
        REQUIRE_OK(gpo_module_compile(rig.device, &options, module->out()));
        Kernel kernel;
        REQUIRE_OK(gpo_module_get_kernel(*module, "count", kernel.out()));
        return [&rig, module = std::move(module), kernel = std::move(kernel)] {
            uint64_t address = 0, bytes = 0;
            REQUIRE_OK(gpo_module_get_symbol(*module, "counter", &address, &bytes));
            CHECK(bytes == 4);
            REQUIRE_OK(gpo_module_get_image(*module, nullptr, 0, &bytes));
            auto attributes = sized<gpo_kernel_attributes>();
            REQUIRE_OK(gpo_kernel_get_attributes(kernel, &attributes));
            uint32_t blocks = 0, threads = 0;
            REQUIRE_OK(gpo_kernel_get_occupancy(kernel, 128, 0, &blocks));
            REQUIRE_OK(gpo_kernel_suggest_shape(kernel, 0, 0, &threads, &blocks));
            REQUIRE_OK(gpo_kernel_set_max_dynamic_shared(kernel, 32 << 10));
            REQUIRE_OK(launch(rig.on, kernel, 1, 1));
            uint32_t counted = 0;
            REQUIRE_OK(gpo_copy_to_host(rig.on, &counted, address, 4));
            CHECK_OK(gpo_stream_wait(rig.on, kPatience));
            CHECK(counted == 1);
            auto costs = sized<gpo_costs>();
            REQUIRE_OK(gpo_device_get_costs(rig.device, 0, &costs));
            check_refused(gpo_device_get_costs(rig.device, GPO_COSTS_PROBE, &costs));
            auto metrics = sized<gpo_device_metrics>();
            REQUIRE_OK(gpo_device_get_metrics(rig.device, &metrics));
            Memory made = rig.memory(4096);
            uint8_t exported[GPO_EXPORT_BYTES];
            REQUIRE_OK(gpo_memory_export(rig.device, made, exported, sizeof exported, nullptr));
            auto options = sized<gpo_event_options>();
            options.flags = GPO_EVENT_INTERPROCESS;
            Event event;
            REQUIRE_OK(gpo_event_create(rig.device, &options, event.out()));
            REQUIRE_OK(gpo_event_export(event, exported, sizeof exported, nullptr));
        };
    });
}

TEST_CASE("beside a resident kernel the limits of the device are set, all but the stack's" * gated) {
    Gpu gpu;
    uint64_t stack = 0, fetch = 0;
    REQUIRE_OK(gpo_device_get_limit(gpu.device, GPO_LIMIT_STACK_BYTES, &stack));
    REQUIRE_OK(gpo_device_get_limit(gpu.device, GPO_LIMIT_L2_FETCH_BYTES, &fetch));
    ResidentKernel resident(gpu);
    check_refused(gpo_device_set_limit(gpu.device, GPO_LIMIT_STACK_BYTES, stack));
    // The limit of printf isn't tried: an earlier test may have printed in this context, which fixes the limit.
    CHECK_OK(gpo_device_set_limit(gpu.device, GPO_LIMIT_L2_FETCH_BYTES, fetch));
    CHECK(resident.stays());
    resident.end();
    CHECK_OK(gpo_device_set_limit(gpu.device, GPO_LIMIT_STACK_BYTES, stack));
}

TEST_CASE("what was put off is done one kernel after another, and before a runtime has shut down" * gated) {
    Gpu gpu;
    const auto destroy_an_arena = [&] {
        Arena arena;
        void* piece = nullptr;
        REQUIRE_OK(gpo_arena_create(gpu.device, nullptr, arena.out()));
        REQUIRE_OK(gpo_arena_allocate(arena, 4096, 0, &piece));
        REQUIRE_OK(gpo_arena_free(arena, piece));
    };
    ResidentKernel second(gpu, "second");
    {
        ResidentKernel first(gpu, "first");
        destroy_an_arena();
        CHECK(comes_true([&] { return put_off(gpu) == 1; }));   // another thread frees the arena's memory
    }
    CHECK(put_off(gpu) == 1);
    CHECK(second.stays());
    second.end();
    CHECK(comes_true([&] { return put_off(gpu) == 0; }));
    ResidentKernel last(gpu, "last");
    destroy_an_arena();
    CHECK(comes_true([&] { return put_off(gpu) == 1; }));
    last.tell();
}
