// A kernel of a graph traps. Every pending launch completes once with GPO_DEVICE_LOST, and later calls on templates and
// graphs give a status. A recording under way can be discarded, and all handles and the runtime can be destroyed.
#include "process/process.h"

using namespace gpo::test;

namespace {

constexpr const char* kSource = R"(
extern "C" __global__ void trap(unsigned value) { if (value == 1) __trap(); }
)";

gpo_graph_t graph_of(gpo_template_t of) {
    gpo_graph_t graph = nullptr;
    EXPECT_OK(gpo_graph_create(of, nullptr, &graph));
    return graph;
}

gpo_stream_t stream_of(gpo_device_t device) {
    gpo_stream_t stream = nullptr;
    EXPECT_OK(gpo_stream_create(device, nullptr, &stream));
    return stream;
}

/// Expects a failure that reports the lost device.
void expect_lost(gpo_status status) { EXPECT_STATUS(GPO_DEVICE_LOST, status); }

}  // namespace

int main() {
    Opened a;
    auto options = sized<gpo_compile_options>();
    options.source = kSource;
    gpo_module_t module = nullptr;
    gpo_kernel_t kernel = nullptr;
    EXPECT_OK(gpo_module_compile(a.device, &options, &module));
    EXPECT_OK(gpo_module_get_kernel(module, "trap", &kernel));
    const gpo_stream_t stream = stream_of(a.device), held = stream_of(a.device), recorded = stream_of(a.device);
    gpo_template_t built = nullptr, other = nullptr;
    uint32_t node = 0;
    const uint32_t fine = 0, fatal = 1;
    const void* arguments[] = {&fine};
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    EXPECT_OK(gpo_template_create(a.device, nullptr, &built));
    EXPECT_OK(gpo_template_add_kernel(built, nullptr, 0, kernel, &shape, arguments, nullptr, 1, &node));
    EXPECT_OK(gpo_template_add_parameter(built, "value", node, GPO_PARAMETER_ARGUMENT, 0));
    const gpo_graph_t graph = graph_of(built), waits = graph_of(built);
    EXPECT_OK(gpo_graph_launch(graph, stream));
    EXPECT_OK(gpo_template_launch(built, stream, nullptr, 0, 0));
    EXPECT_OK(gpo_stream_wait(stream, kPatience));

    gpo_timeline_t go = nullptr;
    EXPECT_OK(gpo_timeline_create(a.runtime, nullptr, &go));
    EXPECT_OK(gpo_stream_wait_timeline(held, go, 1));
    EXPECT_OK(gpo_graph_launch(waits, held));
    EXPECT_OK(gpo_stream_notify(held, a.queue, 1));
    EXPECT_OK(gpo_template_create(a.device, nullptr, &other));
    EXPECT_OK(gpo_template_begin(other, recorded));
    EXPECT_OK(launch(recorded, kernel, fine));
    EXPECT_OK(gpo_graph_set(graph, "value", &fatal, sizeof fatal));
    EXPECT_OK(gpo_graph_launch(graph, stream));
    EXPECT_OK(gpo_stream_notify(stream, a.queue, 2));
    expect_lost(gpo_stream_wait(stream, kPatience));

    expect_lost(gpo_template_end(other));
    EXPECT_STATUS(GPO_INVALID_STATE, gpo_template_cancel(other));  // it has ended
    expect_lost(gpo_graph_launch(graph, stream));
    expect_lost(gpo_template_launch(built, held, nullptr, 0, 0));
    expect_lost(gpo_template_prepare(built, 3, stream));
    expect_lost(gpo_graph_upload(graph, stream));
    expect_lost(gpo_template_begin(other, recorded));
    expect_lost(gpo_template_add_empty(other, nullptr, 0, nullptr));
    gpo_graph_t never = nullptr;
    expect_lost(gpo_graph_create(built, nullptr, &never));
    EXPECT(never == nullptr);
    EXPECT_OK(gpo_graph_set(graph, "value", &fine, sizeof fine));  // which asks nothing of the device
    uint64_t seen = 0;
    while (seen < 2) {
        gpo_completion entries[4];
        uint64_t count = 0;
        EXPECT_OK(gpo_cq_wait(a.queue, kPatience));
        EXPECT_OK(gpo_cq_drain(a.queue, entries, sizeof entries[0], 4, &count));
        for (uint64_t i = 0; i < count; ++i) EXPECT(entries[i].status == GPO_DEVICE_LOST);
        seen += count;
    }
    EXPECT(seen == 2);
    EXPECT_OK(gpo_template_destroy(built));
    EXPECT_OK(gpo_graph_destroy(waits));
    EXPECT_OK(gpo_template_destroy(other));
    EXPECT_OK(gpo_kernel_destroy(kernel));
    EXPECT_OK(gpo_graph_destroy(graph));
    EXPECT_OK(gpo_runtime_shutdown(a.runtime, kPatience));
    return 0;
}
