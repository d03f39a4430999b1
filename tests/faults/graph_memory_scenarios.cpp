// Memory of templates under faults: it keeps its address until its last user has ended, and is freed then.
#include "faults/graph_scenarios.h"

namespace gpo::test {

namespace {

/// A step that is retried once after a failure; valid because a failed step has no effect.
#define AGAIN(a, ...) (STEP(a, __VA_ARGS__) || STEP(a, __VA_ARGS__))

constexpr uint32_t kWords = 8;
constexpr uint64_t kBytes = kWords * sizeof(uint32_t);

gpo_copy copy_of(uint64_t to, uint64_t from) {
    auto copy = sized<gpo_copy>();
    copy.destination = to;
    copy.source = from;
    copy.bytes = kBytes;
    return copy;
}

}  // namespace

void template_memory(Attempt& a) {
    if (!a.open()) return;
    Stream stream;
    Template made, outer;
    Graph graph;
    uint64_t device = 0;
    void* memory = nullptr;
    if (!AGAIN(a, gpo_stream_create(a.device, nullptr, stream.out()))) return;
    if (!AGAIN(a, gpo_template_create(a.device, nullptr, made.out()))) return;
    if (!AGAIN(a, gpo_template_create(a.device, nullptr, outer.out()))) return;
    if (!AGAIN(a, gpo_template_allocate(made, kBytes, &device))) return;
    if (!AGAIN(a, gpo_template_allocate_host(made, kBytes, &memory))) return;
    const gpo_copy out = copy_of(reinterpret_cast<uint64_t>(memory), device);
    uint32_t node = 0;
    if (!AGAIN(a, gpo_template_add_fill(made, nullptr, 0, device, 7, 4, kWords, &node))) return;
    if (!AGAIN(a, gpo_template_add_copy(made, &node, 1, &out, &node))) return;
    if (!AGAIN(a, gpo_template_add_child(outer, nullptr, 0, made, nullptr, nullptr))) return;
    a.ask("the free of a template's memory", [&] {
        const gpo_status freed = gpo_memory_free(a.device, device);
        return freed == GPO_INVALID_STATE ? GPO_SUCCESS : freed;
    });
    STEP(a, gpo_template_destroy(made.release()));
    if (!AGAIN(a, gpo_graph_create(outer, nullptr, graph.out()))) return;
    if (!AGAIN(a, gpo_graph_launch(graph, stream)) || !AGAIN(a, gpo_stream_wait(stream, kPatience))) return;
    if (!a.shared()) CHECK(*static_cast<const volatile uint32_t*>(memory) == 7);
    STEP(a, gpo_graph_launch(graph, stream));
    STEP(a, gpo_template_destroy(outer.release()));
    STEP(a, gpo_graph_destroy(graph.release()));
    a.notify(stream);
}

void allocating_templates(Attempt& a) {
    if (!a.open()) return;
    Stream stream;
    Template made;
    Module module;
    Kernel fill;
    Event event;
    Graph graph;
    void* memory = nullptr;
    if (!AGAIN(a, gpo_stream_create(a.device, nullptr, stream.out()))) return;
    if (!AGAIN(a, gpo_module_load_builtin(a.device, module.out()))) return;
    if (!AGAIN(a, gpo_module_get_kernel(module, "gpo_fill_u32", fill.out()))) return;
    if (!AGAIN(a, gpo_event_create(a.device, nullptr, event.out()))) return;
    if (!AGAIN(a, gpo_template_create(a.device, nullptr, made.out()))) return;
    if (!AGAIN(a, gpo_template_allocate_host(made, kBytes, &memory))) return;
    // Nodes behind an allocation can't be removed again; a failed addition has to leave no effect anyway.
    uint64_t address = 0;
    uint32_t node = 0, value = 7;
    auto shape = sized<gpo_launch>();
    shape.grid[0] = 1;
    shape.block[0] = kWords;
    shape.flags = GPO_LAUNCH_PRIORITY;
    if (!AGAIN(a, gpo_template_add_allocation(made, nullptr, 0, kBytes, &address, &node))) return;
    if (!AGAIN(a, gpo_template_add_fill(made, &node, 1, address, 3, 4, kWords, &node))) return;
    const uint64_t words = kWords;
    const void* arguments[] = {&address, &value, &words};
    if (!AGAIN(a, gpo_template_add_kernel(made, &node, 1, fill, &shape, arguments, nullptr, 3, &node))) return;
    if (!AGAIN(a, gpo_template_add_event_record(made, &node, 1, event, &node))) return;
    const gpo_copy out = copy_of(reinterpret_cast<uint64_t>(memory), address);
    if (!AGAIN(a, gpo_template_add_copy(made, &node, 1, &out, &node))) return;
    if (!AGAIN(a, gpo_template_add_free(made, &node, 1, address, &node))) return;
    if (!a.shared()) CHECK(node == 6);
    if (!AGAIN(a, gpo_graph_create(made, nullptr, graph.out()))) return;
    for (int i = 0; i < 2; ++i)
        if (!AGAIN(a, gpo_graph_launch(graph, stream)) || !AGAIN(a, gpo_stream_wait(stream, kPatience))) return;
    if (!a.shared()) CHECK(*static_cast<const volatile uint32_t*>(memory) == 7);
    STEP(a, gpo_graph_destroy(graph.release()));
    STEP(a, gpo_template_launch(made, stream, nullptr, 0, 0));
    a.notify(stream);
    STEP(a, gpo_stream_wait(stream, kPatience));
}

}  // namespace gpo::test
