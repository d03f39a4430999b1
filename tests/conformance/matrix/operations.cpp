// The operations of the matrix. Each sets its word to kDone after its copies, fills, waits and recordings, in the order
// of its stream or graph. The operation's own event or timeline value comes after the word.
#include "matrix.h"

namespace gpo::test::matrix {

namespace {

uint64_t address_of(const void* memory) { return reinterpret_cast<uint64_t>(memory); }

/// Device memory with kDone in each of its words.
std::shared_ptr<Memory> filled(World& world, Act& act, uint64_t words = 16) {
    auto memory = act.keep(world.gpu.memory(words * sizeof(uint32_t)));
    Stream stream = world.gpu.stream();
    REQUIRE_OK(gpo_fill(stream, *memory, kDone, 4, words));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    return memory;
}

/// The memory may be freed while the GPU reads it.
void frees(Act& act, std::shared_ptr<Memory> memory) {
    act.give_up = [memory, before = act.give_up] {
        if (before) before();
        *memory = Memory();
    };
}

gpo_copy copy_of(uint64_t to, uint64_t from, uint64_t bytes = sizeof(uint32_t)) {
    auto copy = sized<gpo_copy>();
    copy.destination = to;
    copy.source = from;
    copy.bytes = bytes;
    return copy;
}

void adds_copy(Act& act, uint64_t to, uint64_t from) {
    act.as_node = [=](gpo_template_t in, const uint32_t* after, uint32_t count, uint32_t* node) {
        const gpo_copy copy = copy_of(to, from);
        return gpo_template_add_copy(in, after, count, &copy, node);
    };
}

void kernel(World& world, Act& act) {
    act.on_stream = [&](gpo_stream_t on) { return world.write(on, act.word, kDone); };
    act.as_node = [&](gpo_template_t in, const uint32_t* after, uint32_t count, uint32_t* node) {
        return world.node(in, world.write_word, act.word, kDone, after, count, node);
    };
}

void copy_to_host(World& world, Act& act) {
    auto from = filled(world, act);
    act.on_stream = [&, from](gpo_stream_t on) { return gpo_copy_to_host(on, act.word, *from, sizeof(uint32_t)); };
    adds_copy(act, address_of(act.word), *from);
    frees(act, from);
}

void copy_to_device(World& world, Act& act) {
    auto through = act.keep(world.gpu.memory(64));
    uint32_t* const from = world.word();
    *from = kDone;
    act.on_stream = [&, through, from](gpo_stream_t on) {
        const gpo_status status = gpo_copy_to_device(on, *through, from, sizeof *from);
        return status ? status : gpo_copy_to_host(on, act.word, *through, sizeof *from);
    };
    frees(act, through);
}

void copy_on_device(World& world, Act& act) {
    auto from = filled(world, act), through = act.keep(world.gpu.memory(64));
    act.on_stream = [&, from, through](gpo_stream_t on) {
        const gpo_status status = gpo_copy_on_device(on, *through, *from, 64);
        return status ? status : gpo_copy_to_host(on, act.word, *through, sizeof(uint32_t));
    };
    frees(act, from);
    frees(act, through);
}

void copy_pageable(World& world, Act& act) {
    auto from = filled(world, act);
    auto to = act.keep(std::vector<uint32_t>(16));
    act.on_stream = [&, from, to](gpo_stream_t on) {
        const gpo_status status = gpo_copy_to_device(on, *from, to->data(), 4);   // 0, in the first word
        if (status) return status;
        return gpo_copy_to_host(on, act.word, *from + 4, sizeof(uint32_t));
    };
    frees(act, from);
}

void copy_batch(World& world, Act& act) {
    auto from = filled(world, act);
    uint32_t* const beside = world.word();
    act.on_stream = [&, from, beside](gpo_stream_t on) {
        const gpo_copy copies[] = {copy_of(address_of(beside), *from), copy_of(address_of(act.word), *from + 4)};
        return gpo_copy_batch(on, copies, sizeof copies[0], 2);
    };
    act.at_end = [beside] { CHECK(read(*beside) == kDone); };
    frees(act, from);
}

void copy_rows(World& world, Act& act) {
    auto from = filled(world, act);
    act.on_stream = [&, from](gpo_stream_t on) {
        auto copy = sized<gpo_copy_2d>();
        copy.destination = address_of(act.word);
        copy.destination_pitch = copy.source_pitch = copy.width = sizeof(uint32_t);
        copy.source = *from;
        copy.height = 1;
        return gpo_copy_rows(on, &copy);
    };
    frees(act, from);
}

void copy_peer(World& world, Act& act) {
    const gpo_device_t other = world.devices.back();
    auto there = act.keep(RankMemory(other, 64));
    auto from = filled(world, act), back = act.keep(world.gpu.memory(64));
    act.on_stream = [&, other, there, from, back](gpo_stream_t on) {
        gpo_status status = gpo_copy_peer(on, other, *there, world.gpu.device, *from, 64);
        if (!status) status = gpo_copy_peer(on, world.gpu.device, *back, other, *there, 64);
        return status ? status : gpo_copy_to_host(on, act.word, *back, sizeof(uint32_t));
    };
    frees(act, from);
    frees(act, back);
}

void fill(World&, Act& act) {
    act.on_stream = [&](gpo_stream_t on) { return gpo_fill(on, address_of(act.word), kDone, 4, 1); };
    act.as_node = [&](gpo_template_t in, const uint32_t* after, uint32_t count, uint32_t* node) {
        return gpo_template_add_fill(in, after, count, address_of(act.word), kDone, 4, 1, node);
    };
}

void fill_rows(World& world, Act& act) {
    auto through = act.keep(world.gpu.memory(64));
    act.on_stream = [&, through](gpo_stream_t on) {
        gpo_status status = gpo_fill_rows(on, *through, 16, 0, 4, 4);
        if (!status) status = gpo_fill_rows(on, *through + 16, 16, kDone, 1, 1);
        return status ? status : gpo_copy_to_host(on, act.word, *through + 16, sizeof(uint32_t));
    };
    frees(act, through);
}

void event_record(World& world, Act& act) {
    auto event = act.keep(world.gpu.event(GPO_EVENT_TIMING));
    act.event = *event;
    act.on_stream = [&, event](gpo_stream_t on) {
        const gpo_status status = world.write(on, act.word, kDone);
        return status ? status : gpo_event_record(*event, on);
    };
}

/// An event that only graphs ever record.
void event_node(World& world, Act& act) {
    auto event = act.keep(world.gpu.event(GPO_EVENT_TIMING));
    act.event = *event;
    act.as_node = [&, event](gpo_template_t in, const uint32_t* after, uint32_t count, uint32_t* node) {
        uint32_t write = 0;
        const gpo_status status = world.node(in, world.write_word, act.word, kDone, after, count, &write);
        return status ? status : gpo_template_add_event_record(in, &write, 1, *event, node);
    };
}

/// A stream beside, with a kernel that waits until the act is opened and then writes a word; `close` puts it there.
struct Beside {
    Stream stream;
    uint32_t *open, *word;
};
std::shared_ptr<Beside> beside(World& world, Act& act) {
    auto made = act.keep(Beside{world.gpu.stream("beside"), world.word(), world.word()});
    act.on_open = [&world, open = made->open] { world.set(open, 1); };
    return made;
}
gpo_status close(World& world, Beside& beside) {
    const gpo_status status = world.gate(beside.stream, beside.open);
    return status ? status : world.write(beside.stream, beside.word, kDone - 1);
}

void event_wait(World& world, Act& act) {
    auto other = beside(world, act);
    auto event = act.keep(world.gpu.event());
    act.on_stream = [&, other, event](gpo_stream_t on) {
        gpo_status status = close(world, *other);
        if (!status) status = gpo_event_record(*event, other->stream);
        if (!status) status = gpo_stream_wait_event(on, *event);
        return status ? status : world.add(on, act.word, other->word, 1);
    };
    act.give_up = [event] { event->reset(); };
}

void event_wait_node(World& world, Act& act) {
    auto other = beside(world, act);
    auto event = act.keep(world.gpu.event());
    act.as_node = [&, other, event](gpo_template_t in, const uint32_t* after, uint32_t count, uint32_t* node) {
        gpo_status status = close(world, *other);
        if (!status) status = gpo_event_record(*event, other->stream);
        uint32_t wait = 0;
        if (!status) status = gpo_template_add_event_wait(in, after, count, *event, &wait);
        if (status) return status;
        uint32_t *to = act.word, *from = other->word, by = 1;
        auto shape = sized<gpo_launch>();
        shape.grid[0] = shape.block[0] = 1;
        const void* arguments[] = {&to, &from, &by};
        return gpo_template_add_kernel(in, &wait, 1, world.add_word, &shape, arguments, nullptr, 3, node);
    };
}

void stream_wait(World& world, Act& act) {
    auto other = beside(world, act);
    act.on_stream = [&, other](gpo_stream_t on) {
        gpo_status status = close(world, *other);
        if (!status) status = gpo_stream_wait_stream(on, other->stream);
        return status ? status : world.add(on, act.word, other->word, 1);
    };
    act.give_up = [other] { other->stream.reset(); };
}

void timeline_reached(World& world, Act& act) {
    auto timeline = act.keep(world.gpu.timeline(5));
    act.on_stream = [&, timeline](gpo_stream_t on) {
        const gpo_status status = gpo_stream_wait_timeline(on, *timeline, 5);
        return status ? status : world.write(on, act.word, kDone);
    };
    act.give_up = [timeline] { timeline->reset(); };
}

void timeline_sent(World& world, Act& act) {
    auto other = beside(world, act);
    auto timeline = act.keep(world.gpu.timeline());
    act.on_stream = [&, other, timeline](gpo_stream_t on) {
        gpo_status status = close(world, *other);
        if (!status) status = gpo_stream_signal_timeline(other->stream, *timeline, 1);
        if (!status) status = gpo_stream_wait_timeline(on, *timeline, 1);
        return status ? status : world.add(on, act.word, other->word, 1);
    };
    act.give_up = [timeline] { timeline->reset(); };
}

void timeline_unsent(World& world, Act& act) {
    auto timeline = act.keep(world.gpu.timeline());
    act.on_stream = [&, timeline](gpo_stream_t on) {
        const gpo_status status = gpo_stream_wait_timeline(on, *timeline, 1);
        return status ? status : world.write(on, act.word, kDone);
    };
    act.on_open = [timeline] { gpo_timeline_signal(*timeline, 1); };
}

void timeline_signal(World& world, Act& act) {
    auto timeline = act.keep(world.gpu.timeline());
    act.on_stream = [&, timeline](gpo_stream_t on) {
        const gpo_status status = world.write(on, act.word, kDone);
        return status ? status : gpo_stream_signal_timeline(on, *timeline, 1);
    };
    act.at_end = [timeline] {
        uint64_t value = 0;
        CHECK_OK(gpo_timeline_wait(*timeline, 1, kPatience));
        CHECK_OK(gpo_timeline_get_value(*timeline, &value));
        CHECK(value == 1);
    };
}

void mark(World& world, Act& act) {
    auto queue = act.keep(world.gpu.queue());
    act.on_stream = [&, queue](gpo_stream_t on) {
        const gpo_status status = world.write(on, act.word, kDone);
        return status ? status : gpo_stream_notify(on, *queue, 11);
    };
    act.at_end = [&, queue] {
        const gpo_completion entry = take(*queue, 1)[0];
        CHECK(entry.status == GPO_SUCCESS);
        CHECK(entry.user_data == 11);
    };
}

void leave(World& world, Act& act) {
    auto queue = act.keep(world.gpu.queue());
    auto admission = act.keep(Admission());
    auto options = sized<gpo_admission_options>();
    options.count = 1;
    REQUIRE_OK(gpo_admission_create(world.gpu.runtime, &options, admission->out()));
    uint64_t inside = 0, behind = 0;
    REQUIRE_OK(gpo_admission_enter(*admission, nullptr, *queue, 1, &inside));
    REQUIRE_OK(gpo_admission_enter(*admission, nullptr, *queue, 2, &behind));
    CHECK(take(*queue, 1)[0].user_data == 1);
    act.on_stream = [&, admission, inside](gpo_stream_t on) {
        const gpo_status status = world.write(on, act.word, kDone);
        return status ? status : gpo_admission_leave_after(*admission, inside, on);
    };
    act.at_end = [&, queue] {
        const gpo_completion entry = take(*queue, 1)[0];
        CHECK(entry.status == GPO_SUCCESS);
        CHECK(entry.user_data == 2);
        CHECK(act.done());
    };
}

void then(World& world, Act& act) {
    auto calls = std::make_shared<std::atomic<int>>(0);
    act.on_stream = [&, calls](gpo_stream_t on) {
        const gpo_status status = world.write(on, act.word, kDone);
        if (status) return status;
        return gpo_stream_then(
            on, world.executor,
            [](void* user, const gpo_completion* entry, const gpo_error*) {
                *static_cast<std::atomic<int>*>(user) += entry->status == GPO_SUCCESS ? 1 : 100;
            },
            calls.get());
    };
    act.at_end = [calls, &world] {
        world.wait_for_callbacks();
        CHECK(*calls == 1);
    };
}

void host_call(World& world, Act& act) {
    act.on_stream = [&](gpo_stream_t on) {
        return gpo_stream_host_call(
            on, world.executor,
            [](void* user, const gpo_host_call* call) -> gpo_status {
                if (call->status == GPO_SUCCESS)
                    __atomic_store_n(static_cast<uint32_t*>(user), kDone, __ATOMIC_SEQ_CST);
                return GPO_SUCCESS;
            },
            act.word);
    };
}

void host_node(World&, Act& act) {
    act.as_node = [&](gpo_template_t in, const uint32_t* after, uint32_t count, uint32_t* node) {
        return gpo_template_add_host_call(
            in, after, count,
            [](void* user) { __atomic_store_n(static_cast<uint32_t*>(user), kDone, __ATOMIC_SEQ_CST); }, act.word,
            node);
    };
}

std::shared_ptr<Pool> pool_of(World& world, Act& act) {
    Pool pool;
    auto options = sized<gpo_pool_options>();
    options.initial_bytes = 1 << 20;
    REQUIRE_OK(gpo_pool_create(world.gpu.device, &options, pool.out()));
    return act.keep(std::move(pool));
}

void pool_allocate(World& world, Act& act) {
    auto pool = pool_of(world, act);
    act.on_stream = [&, pool](gpo_stream_t on) {
        uint64_t address = 0;
        gpo_status status = gpo_pool_allocate(*pool, on, 64, &address);
        if (!status) status = gpo_fill(on, address, kDone, 4, 16);
        if (!status) status = gpo_copy_to_host(on, act.word, address, sizeof(uint32_t));
        return status ? status : gpo_pool_free(*pool, on, address);
    };
    act.give_up = [pool] { pool->reset(); };
}

void pool_free(World& world, Act& act) {
    auto pool = pool_of(world, act);
    Stream stream = world.gpu.stream();
    uint64_t address = 0;
    REQUIRE_OK(gpo_pool_allocate(*pool, stream, 64, &address));
    REQUIRE_OK(gpo_fill(stream, address, kDone, 4, 16));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    act.on_stream = [&, pool, address](gpo_stream_t on) {
        const gpo_status status = gpo_copy_to_host(on, act.word, address, sizeof(uint32_t));
        return status ? status : gpo_pool_free(*pool, on, address);
    };
    act.give_up = [pool] { pool->reset(); };
}

void graph_launch(World& world, Act& act) {
    auto graph_template = act.keep(Template());
    auto graph = act.keep(Graph());
    REQUIRE_OK(gpo_template_create(world.gpu.device, nullptr, graph_template->out()));
    REQUIRE_OK(world.node(*graph_template, world.write_word, act.word, kDone, nullptr, 0, nullptr));
    REQUIRE_OK(gpo_graph_create(*graph_template, nullptr, graph->out()));
    act.on_stream = [graph](gpo_stream_t on) { return gpo_graph_launch(*graph, on); };
    act.give_up = [graph_template, graph] {
        graph->reset();
        graph_template->reset();
    };
}

void graph_upload(World& world, Act& act) {
    graph_launch(world, act);
    auto launch = act.on_stream;
    auto graph = std::static_pointer_cast<Graph>(act.kept.back());
    act.on_stream = [launch, graph](gpo_stream_t on) {
        const gpo_status status = gpo_graph_upload(*graph, on);
        return status ? status : launch(on);
    };
}

void template_launch(World& world, Act& act) {
    auto graph_template = act.keep(Template());
    REQUIRE_OK(gpo_template_create(world.gpu.device, nullptr, graph_template->out()));
    uint32_t node = 0;
    REQUIRE_OK(world.node(*graph_template, world.write_word, act.word, 0, nullptr, 0, &node));
    REQUIRE_OK(gpo_template_add_parameter(*graph_template, "value", node, GPO_PARAMETER_ARGUMENT, 1));
    Stream stream = world.gpu.stream();
    REQUIRE_OK(gpo_template_prepare(*graph_template, 1, stream));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    act.on_stream = [graph_template](gpo_stream_t on) {
        auto setting = sized<gpo_setting>();
        setting.name = "value";
        setting.value = &kDone;
        setting.bytes = sizeof kDone;
        return gpo_template_launch(*graph_template, on, &setting, sizeof setting, 1);
    };
    act.give_up = [graph_template] { graph_template->reset(); };
}

gpo_condition compare(uint32_t comparison, uint32_t* word, uint32_t constant) {
    auto condition = sized<gpo_condition>();
    condition.comparison = comparison;
    condition.word = address_of(word);
    condition.constant = constant;
    return condition;
}

void if_node(World& world, Act& act) {
    act.as_node = [&](gpo_template_t in, const uint32_t* after, uint32_t count, uint32_t* node) {
        Template yes, no;
        const gpo_condition zero = compare(GPO_COMPARE_EQUAL, act.word, 0);
        gpo_status status = gpo_template_add_if(in, after, count, &zero, yes.out(), no.out(), node);
        if (!status) status = world.node(yes, world.write_word, act.word, kDone, nullptr, 0, nullptr);
        return status ? status : world.node(no, world.write_word, act.word, 1000, nullptr, 0, nullptr);
    };
}

void while_node(World& world, Act& act) {
    act.as_node = [&](gpo_template_t in, const uint32_t* after, uint32_t count, uint32_t* node) {
        Template body;
        const gpo_condition less = compare(GPO_COMPARE_LESS, act.word, kDone);
        const gpo_status status = gpo_template_add_while(in, after, count, &less, body.out(), node);
        return status ? status : world.node(body, world.count_word, act.word, 1, nullptr, 0, nullptr);
    };
}

void switch_node(World& world, Act& act) {
    uint32_t* const which = world.word();
    *which = 1;
    act.as_node = [&, which](gpo_template_t in, const uint32_t* after, uint32_t count, uint32_t* node) {
        gpo_template_t bodies[2] = {};
        const gpo_condition value = compare(GPO_COMPARE_VALUE, which, 0);
        gpo_status status = gpo_template_add_switch(in, after, count, &value, bodies, 2, node);
        const Template first(bodies[0]), second(bodies[1]);
        if (!status) status = world.node(first, world.write_word, act.word, 1000, nullptr, 0, nullptr);
        return status ? status : world.node(second, world.write_word, act.word, kDone, nullptr, 0, nullptr);
    };
}

void child(World& world, Act& act) {
    act.as_node = [&](gpo_template_t in, const uint32_t* after, uint32_t count, uint32_t* node) {
        Template made;
        gpo_status status = gpo_template_create(world.gpu.device, nullptr, made.out());
        if (!status) status = world.node(made, world.write_word, act.word, kDone, nullptr, 0, nullptr);
        return status ? status : gpo_template_add_child(in, after, count, made, "", node);
    };
}

void memory_nodes(World&, Act& act) {
    act.as_node = [&](gpo_template_t in, const uint32_t* after, uint32_t count, uint32_t* node) {
        uint64_t address = 0;
        uint32_t last = 0;
        gpo_status status = gpo_template_add_allocation(in, after, count, 64, &address, &last);
        if (!status) status = gpo_template_add_fill(in, &last, 1, address, kDone, 4, 16, &last);
        const gpo_copy copy = copy_of(address_of(act.word), address);
        if (!status) status = gpo_template_add_copy(in, &last, 1, &copy, &last);
        return status ? status : gpo_template_add_free(in, &last, 1, address, node);
    };
}

/// A kernel that launches a graph, which writes the word.
void device_launch(World& world, Act& act) {
    auto graph_template = act.keep(Template());
    auto graph = act.keep(Graph());
    REQUIRE_OK(gpo_template_create(world.gpu.device, nullptr, graph_template->out()));
    REQUIRE_OK(world.node(*graph_template, world.write_word, act.word, kDone, nullptr, 0, nullptr));
    auto options = sized<gpo_graph_options>();
    options.flags = GPO_GRAPH_DEVICE_LAUNCH;
    REQUIRE_OK(gpo_graph_create(*graph_template, &options, graph->out()));
    struct Handle {
        uint64_t native, status;
    } handle = {};
    REQUIRE_OK(gpo_graph_get_device_handle(*graph, &handle.native, &handle.status));
    uint32_t* const failed = world.word();
    *failed = 1;
    act.on_stream = [&, handle, failed](gpo_stream_t on) {
        return launch(on, world.relaunch, 1, 1, handle, failed);
    };
    act.as_node = [&, handle, failed](gpo_template_t in, const uint32_t* after, uint32_t count, uint32_t* node) {
        auto shape = sized<gpo_launch>();
        shape.grid[0] = shape.block[0] = 1;
        const void* arguments[] = {&handle, &failed};
        return gpo_template_add_kernel(in, after, count, world.relaunch, &shape, arguments, nullptr, 2, node);
    };
    act.at_end = [failed] { CHECK(read(*failed) == 0); };
}

void queue_push(World& world, Act& act) {
    auto options = sized<gpo_queue_options>();
    options.kind = GPO_QUEUE_RING;
    options.capacity = 64;
    options.task_size = 16;
    DeviceQueue made;
    REQUIRE_OK(gpo_queue_create(world.gpu.device, &options, made.out()));
    auto queue = act.keep(std::move(made));
    act.on_stream = [&, queue](gpo_stream_t on) {
        const uint32_t tasks[8] = {1, 2, 3, 4, 5, 6, 7, 8};
        const gpo_status status = gpo_queue_push(*queue, on, tasks, 2, 0);
        return status ? status : world.write(on, act.word, kDone);
    };
    act.at_end = [queue] {
        if (!*queue) return;
        auto info = sized<gpo_queue_info>();
        REQUIRE_OK(gpo_queue_get_info(*queue, &info));
        CHECK(info.pushed == 2);
    };
    act.give_up = [queue] { queue->reset(); };
}

void queue_reset(World& world, Act& act) {
    queue_push(world, act);
    auto queue = std::static_pointer_cast<DeviceQueue>(act.kept.back());
    const uint32_t task[4] = {};
    Stream stream = world.gpu.stream();
    REQUIRE_OK(gpo_queue_push(*queue, stream, task, 1, 0));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    act.on_stream = [&, queue](gpo_stream_t on) {
        const gpo_status status = gpo_queue_reset(*queue, on);
        return status ? status : world.write(on, act.word, kDone);
    };
    act.at_end = [queue] {
        if (!*queue) return;
        auto info = sized<gpo_queue_info>();
        REQUIRE_OK(gpo_queue_get_info(*queue, &info));
        CHECK(info.depth == 0);
    };
}

void collective(World& world, Act& act) {
    auto from = filled(world, act), to = act.keep(world.gpu.memory(64));
    auto group = act.keep(world.group(1));
    act.on_stream = [&, from, to, group](gpo_stream_t on) {
        auto sum = test::collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_UINT32, 16, GPO_REDUCE_SUM);
        auto part = sized<gpo_rank_part>();
        part.stream = on;
        part.send = *from;
        part.receive = *to;
        const gpo_status status = gpo_peers_submit(*group, &sum, &part, sizeof part, 1);
        return status ? status : gpo_copy_to_host(on, act.word, *to, sizeof(uint32_t));
    };
    frees(act, from);
    frees(act, to);
}

// --- what needs no stream: done at the place, and a kernel behind it shows that the place goes on ---

template <class Make>
void at_once(World& world, Act& act, Make make) {
    act.at_once = make;
    act.on_stream = [&](gpo_stream_t on) { return world.write(on, act.word, kDone); };
}

/// Creates an object, and destroys it again.
template <class Object, class Create>
void creation(World& world, Act& act, Create create) {
    at_once(world, act, [create]() -> gpo_status {
        Object made;
        const gpo_status status = create(made.out());
        if (status) return status;
        return made.get() ? GPO_SUCCESS : GPO_INTERNAL;
    });
}

void create_stream(World& world, Act& act) {
    creation<Stream>(world, act, [&](gpo_stream_t* out) { return gpo_stream_create(world.gpu.device, nullptr, out); });
}
void create_event(World& world, Act& act) {
    creation<Event>(world, act, [&](gpo_event_t* out) { return gpo_event_create(world.gpu.device, nullptr, out); });
}
void create_shared_event(World& world, Act& act) {
    creation<Event>(world, act, [&](gpo_event_t* out) {
        auto options = sized<gpo_event_options>();
        options.flags = GPO_EVENT_INTERPROCESS;
        return gpo_event_create(world.gpu.device, &options, out);
    });
}
void create_timeline(World& world, Act& act) {
    creation<Timeline>(world, act,
                       [&](gpo_timeline_t* out) { return gpo_timeline_create(world.gpu.runtime, nullptr, out); });
}
void create_cq(World& world, Act& act) {
    creation<Queue>(world, act, [&](gpo_cq_t* out) { return gpo_cq_create(world.gpu.runtime, nullptr, out); });
}
void create_executor(World& world, Act& act) {
    creation<Executor>(world, act,
                       [&](gpo_executor_t* out) { return gpo_executor_create(world.gpu.runtime, nullptr, out); });
}
void create_stream_pool(World& world, Act& act) {
    creation<StreamPool>(world, act, [&](gpo_stream_pool_t* out) {
        return gpo_stream_pool_create(world.gpu.device, nullptr, out);
    });
}
void create_arena(World& world, Act& act) {
    creation<Arena>(world, act, [&](gpo_arena_t* out) {
        auto options = sized<gpo_arena_options>();
        options.slab_bytes = options.initial_bytes = 1 << 20;
        return gpo_arena_create(world.gpu.device, &options, out);
    });
}
void create_pool(World& world, Act& act) {
    creation<Pool>(world, act, [&](gpo_pool_t* out) { return gpo_pool_create(world.gpu.device, nullptr, out); });
}
void create_template(World& world, Act& act) {
    creation<Template>(world, act,
                       [&](gpo_template_t* out) { return gpo_template_create(world.gpu.device, nullptr, out); });
}
void create_graph(World& world, Act& act) {
    creation<Graph>(world, act, [&](gpo_graph_t* out) {
        Template made;
        gpo_status status = gpo_template_create(world.gpu.device, nullptr, made.out());
        if (!status) status = world.node(made, world.write_word, world.word(), 1, nullptr, 0, nullptr);
        return status ? status : gpo_graph_create(made, nullptr, out);
    });
}
void create_buckets(World& world, Act& act) {
    creation<Buckets>(world, act, [&](gpo_buckets_t* out) {
        static const uint64_t shapes[] = {16, 32};
        auto options = sized<gpo_buckets_options>();
        options.shapes = shapes;
        options.shape_count = 2;
        options.record = [](void*, gpo_stream_t, const gpo_bucket_work*) -> gpo_status { return GPO_SUCCESS; };
        return gpo_buckets_create(world.gpu.device, &options, out);
    });
}
void create_queue(World& world, Act& act) {
    creation<DeviceQueue>(world, act, [&](gpo_queue_t* out) {
        auto options = sized<gpo_queue_options>();
        options.kind = GPO_QUEUE_RING;
        options.task_size = 16;
        options.capacity = 64;
        return gpo_queue_create(world.gpu.device, &options, out);
    });
}
gpo_status create_batcher_of(World& world, gpo_batcher_t* out) {
    auto options = sized<gpo_batcher_options>();
    const gpo_device_t device = world.gpu.device;
    options.devices = &device;
    options.device_count = 1;
    return gpo_batcher_create(&options, out);
}
void create_batcher(World& world, Act& act) {
    creation<Batcher>(world, act, [&](gpo_batcher_t* out) { return create_batcher_of(world, out); });
}
/// One request of one word. Its output belongs to the batcher until it is answered, in cells that fail, too.
struct BatcherRequest {
    ~BatcherRequest() {
        if (submitted) take(queue, 1);
    }
    Queue queue;
    Batcher batcher;
    uint32_t word = 0;
    bool submitted = false;
};
/// The batch's work sets the output to kDone.
void batcher_submit(World& world, Act& act) {
    auto of = std::make_shared<BatcherRequest>();
    of->queue = world.gpu.queue();
    REQUIRE_OK(create_batcher_of(world, of->batcher.out()));
    auto key = sized<gpo_batcher_key_options>();
    key.layout = GPO_BATCH_ROWS;
    key.output_bytes = sizeof(uint32_t);
    key.work = [](void*, gpo_stream_t on, const gpo_batch* batch) -> gpo_status {
        return gpo_fill(on, batch->output, kDone, sizeof(uint32_t), batch->elements);
    };
    uint32_t number = 0;
    REQUIRE_OK(gpo_batcher_add_key(of->batcher, &key, &number));
    at_once(world, act, [of, number]() -> gpo_status {
        auto request = sized<gpo_batcher_request>();
        request.key = number;
        request.output = &of->word;
        uint64_t ticket = 0;
        const gpo_status status = gpo_batcher_submit(of->batcher, &request, of->queue, 12, &ticket, nullptr);
        of->submitted = status == GPO_SUCCESS;
        return status;
    });
    act.at_end = [of] {
        const gpo_completion entry = take(of->queue, 1)[0];
        of->submitted = false;
        CHECK(entry.status == GPO_SUCCESS);
        CHECK(entry.user_data == 12);
        CHECK(of->word == kDone);
    };
}
void create_peers(World& world, Act& act) {
    creation<Peers>(world, act, [&](gpo_peers_t* out) {
        auto options = sized<gpo_peers_options>();
        options.engine = GPO_ENGINE_DIRECT;
        const std::vector<gpo_device_t> devices(world.devices.begin(), world.devices.end());
        return gpo_peers_create(devices.data(), static_cast<uint32_t>(devices.size()), &options, out);
    });
}
void create_pipeline(World& world, Act& act) {
    creation<Pipeline>(world, act, [&](gpo_pipeline_t* out) {
        auto options = sized<gpo_pipeline_options>();
        options.chunk_bytes = 4096;
        auto stage = sized<gpo_stage>();
        stage.kind = GPO_STAGE_KERNEL;
        stage.kernel = world.write_word;
        gpo_stage_argument arguments[2] = {sized<gpo_stage_argument>(), sized<gpo_stage_argument>()};
        arguments[0].kind = GPO_ARGUMENT_INPUT;
        arguments[1].kind = GPO_ARGUMENT_VALUE;
        arguments[1].value = &kDone;
        arguments[1].bytes = sizeof kDone;
        stage.block[0] = stage.grid[0] = 1;
        stage.arguments = arguments;
        stage.argument_stride = sizeof arguments[0];
        stage.argument_count = 2;
        options.stages = &stage;
        options.stage_stride = sizeof stage;
        options.stage_count = 1;
        return gpo_pipeline_create(world.gpu.device, &options, out);
    });
}
void open_device(World& world, Act& act) {
    creation<Device>(world, act, [&](gpo_device_t* out) { return gpo_device_open(world.gpu.runtime, nullptr, out); });
}
void create_runtime(World& world, Act& act) {
    at_once(world, act, []() -> gpo_status {
        gpo_runtime_t made = nullptr;
        const gpo_status status = gpo_runtime_create(nullptr, &made);
        return status ? status : gpo_runtime_shutdown(made, kPatience);
    });
}
void load_module(World& world, Act& act) {
    creation<Module>(world, act, [&](gpo_module_t* out) { return gpo_module_load_builtin(world.gpu.device, out); });
}
void compile_module(World& world, Act& act) {
    creation<Module>(world, act, [&](gpo_module_t* out) {
        auto options = sized<gpo_compile_options>();
        options.source = "extern \"C\" __global__ void nothing() {}\n";
        return gpo_module_compile(world.gpu.device, &options, out);
    });
}
void allocate_memory(World& world, Act& act) {
    at_once(world, act, [&]() -> gpo_status {
        uint64_t address = 0;
        const gpo_status status = gpo_memory_allocate(world.gpu.device, 4096, nullptr, &address);
        return status ? status : gpo_memory_free(world.gpu.device, address);
    });
}
void pool_trim(World& world, Act& act) {
    auto pool = pool_of(world, act);
    // Memory that was used and freed; the library's own wait has seen the free.
    Stream stream = world.gpu.stream();
    uint64_t address = 0;
    REQUIRE_OK(gpo_pool_allocate(*pool, stream, 8 << 20, &address));
    REQUIRE_OK(gpo_fill(stream, address, 1, 4, 16));
    REQUIRE_OK(gpo_pool_free(*pool, stream, address));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    at_once(world, act, [pool]() -> gpo_status { return gpo_pool_trim(*pool, 0); });
    act.at_end = [pool] {
        auto figures = sized<gpo_memory_statistics>();
        CHECK_OK(gpo_pool_get_statistics(*pool, &figures));
        CHECK(figures.reserved == 0);
    };
}
void arena_trim(World& world, Act& act) {
    auto arena = act.keep(Arena());
    auto options = sized<gpo_arena_options>();
    options.slab_bytes = options.initial_bytes = 1 << 20;
    REQUIRE_OK(gpo_arena_create(world.gpu.device, &options, arena->out()));
    at_once(world, act, [arena]() -> gpo_status { return gpo_arena_trim(*arena, 0); });
}
void start_trace(World& world, Act& act) {
    at_once(world, act, [&]() -> gpo_status {
        const gpo_status status = gpo_trace_start(world.gpu.runtime, nullptr);
        return status ? status : gpo_trace_stop(world.gpu.runtime);
    });
}

}  // namespace

const std::vector<Operation>& operations() {
    constexpr uint32_t kAnywhere = kNode | kBody;
    static const std::vector<Operation> all = {
        {"kernel", kAnywhere | kAlsoNode, kernel},
        {"copy to the host", kAnywhere | kAlsoNode, copy_to_host},
        {"copy to the device", kAnywhere, copy_to_device},
        {"copy on the device", kAnywhere, copy_on_device},
        {"copy of pageable memory", 0, copy_pageable},
        {"copy in a batch", kAnywhere, copy_batch},
        {"copy of rows", kAnywhere, copy_rows},
        {"copy between devices", kAnywhere, copy_peer},
        {"fill", kAnywhere | kAlsoNode, fill},
        {"fill of rows", kAnywhere, fill_rows},
        {"event record", kAnywhere | kMarksCapture, event_record},
        {"event record node", kNode | kOnlyNode, event_node},
        {"event wait", kNode | kFromOutside, event_wait},
        {"event wait node", kNode | kOnlyNode, event_wait_node},
        {"wait for a stream", kNode | kFromOutside, stream_wait},
        {"wait for a reached value", kAnywhere, timeline_reached},
        {"wait for a submitted value", 0, timeline_sent},
        {"wait for a value to come", kWaitsUnsent, timeline_unsent},
        {"timeline signal", 0, timeline_signal},
        {"notify", 0, mark},
        {"then", 0, then},
        {"place back", 0, leave},
        {"host call", kNeedsHost, host_call},
        {"host node", kNode | kOnlyNode, host_node},
        {"pool allocation", kAnswers, pool_allocate},
        {"pool free", 0, pool_free},
        {"graph launch", 0, graph_launch},
        {"graph upload", 0, graph_upload},
        {"template launch", 0, template_launch},
        {"if", kAnywhere | kOnlyNode, if_node},
        {"while", kAnywhere | kOnlyNode, while_node},
        {"switch", kAnywhere | kOnlyNode, switch_node},
        {"child", kAnywhere | kOnlyNode, child},
        {"memory nodes", kNode | kNoChild | kOnlyNode, memory_nodes},
        {"kernel that launches a graph", kNode | kOnlyInGraph | kAlsoNode, device_launch},
        {"queue push", 0, queue_push},
        {"queue reset", kAnywhere, queue_reset},
        {"collective", kAnywhere | kEnds, collective},
        {"gpo_stream_create", kNoStream, create_stream},
        {"gpo_event_create", kNoStream, create_event},
        {"gpo_event_create, of several processes", kNoStream, create_shared_event},
        {"gpo_timeline_create", kNoStream, create_timeline},
        {"gpo_cq_create", kNoStream, create_cq},
        {"gpo_executor_create", kNoStream, create_executor},
        {"gpo_stream_pool_create", kNoStream, create_stream_pool},
        {"gpo_arena_create", kNoStream, create_arena},
        {"gpo_pool_create", kNoStream, create_pool},
        {"gpo_template_create", kNoStream, create_template},
        {"gpo_graph_create", kNoStream, create_graph},
        {"gpo_buckets_create", kNoStream, create_buckets},
        {"gpo_queue_create", kNoStream, create_queue},
        {"gpo_batcher_create", kNoStream, create_batcher},
        {"gpo_batcher_submit", kNoStream, batcher_submit},
        {"gpo_peers_create", kNoStream, create_peers},
        {"gpo_pipeline_create", kNoStream, create_pipeline},
        {"gpo_device_open", kNoStream, open_device},
        {"gpo_runtime_create", kNoStream, create_runtime},
        {"gpo_module_load_builtin", kNoStream | kLoads, load_module},
        {"gpo_module_compile", kNoStream | kLoads, compile_module},
        {"gpo_memory_allocate", kNoStream, allocate_memory},
        {"gpo_pool_trim", kNoStream, pool_trim},
        {"gpo_arena_trim", kNoStream, arena_trim},
        {"gpo_trace_start", kNoStream | kTraces, start_trace},
    };
    return all;
}

}  // namespace gpo::test::matrix
