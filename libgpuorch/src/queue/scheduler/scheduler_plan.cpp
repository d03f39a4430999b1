#include "queue/scheduler/scheduler_plan.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>

#include "base/text.h"
#include "queue/queue_layout.h"

namespace gpo::scheduler {

namespace {

constexpr uint32_t kMostHandlers = 256, kMostErrors = 4096, kMostBatch = 65536, kMostThreads = 1024;
constexpr uint32_t kMostLaunches = 120;  // by one run of a graph: CUDA's limit
constexpr uint32_t kThreads = 128, kBatch = 16, kErrors = 64;
constexpr uint64_t kSampleNs = 1'000'000;

void check_between(const char* name, uint64_t value, uint64_t least, uint64_t most) {
    if (value < least || value > most)
        fail(GPO_INVALID_ARGUMENT, "options.", name, " is ", value, ", not ", least, " to ", most);
}

uint32_t or_else(uint32_t value, uint32_t otherwise) noexcept { return value == GPO_AUTO ? otherwise : value; }

// A name of C++, possibly in a namespace.
bool is_name(std::string_view name) noexcept {
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front()))) return false;
    return std::all_of(name.begin(), name.end(),
                       [](unsigned char c) { return std::isalnum(c) || c == '_' || c == ':'; });
}

constexpr uint32_t kMostGraphs = 4096;

Handler graphs_of(const gpo_handler& given, uint32_t number) {
    if (given.graph_count < 1 || given.graph_count > kMostGraphs)
        fail(GPO_INVALID_ARGUMENT, "handlers[", number, "].graph_count is ", given.graph_count, ", not 1 to ",
             kMostGraphs);
    if (!given.graphs) fail(GPO_INVALID_ARGUMENT, "handlers[", number, "].graphs is NULL");
    if (given.task_memory % 16 != 0)
        fail(GPO_INVALID_ARGUMENT, "handlers[", number, "].task_memory is ", hex(given.task_memory),
             ", no multiple of 16");
    Handler out{text("handlers[", number, "]"), {}, given.task_memory};
    if (given.name && *given.name) out.name += text(", `", given.name, "`");
    for (uint32_t i = 0; i < given.graph_count; ++i) {
        if (!given.graphs[i]) fail(GPO_INVALID_ARGUMENT, "handlers[", number, "].graphs[", i, "] is NULL");
        out.graphs.push_back(Pin<Graph>(given.graphs[i]).ref());
    }
    return out;
}

Handler function_of(const gpo_handler& given, uint32_t number) {
    if (given.graph_count || given.graphs || given.task_memory)
        fail(GPO_INVALID_ARGUMENT, "handlers[", number, "] has graphs or task_memory, and the form has functions");
    if (!given.name) fail(GPO_INVALID_ARGUMENT, "handlers[", number, "].name is NULL");
    if (!is_name(given.name))
        fail(GPO_INVALID_ARGUMENT, "handlers[", number, "].name is `", given.name, "`, no name of a function");
    return {given.name, {}, 0};
}

void add_queue(Plan& plan, DeviceQueue& queue) {
    const queue::HandleBytes handle = queue.handle();
    switch (queue.kind()) {
        case GPO_QUEUE_RING: {
            queue::RingHandle ring;
            std::memcpy(static_cast<void*>(&ring), handle.bytes, sizeof ring);
            if (ring.flags & queue::RingHandle::kTickets)
                fail(GPO_NOT_SUPPORTED, queue.describe(),
                     " has tickets: a worker that waits with one can't be stopped");
            plan.task_size = ring.task_size;
            return;
        }
        case GPO_QUEUE_HOST_RING: {
            queue::HostRingHandle ring;
            std::memcpy(static_cast<void*>(&ring), handle.bytes, sizeof ring);
            plan.task_size = (ring.task_words - 1) * 4;
            plan.host_ring = true;
            return;
        }
        default: fail(GPO_NOT_SUPPORTED, queue.describe(), " is a range, which has numbers and no tasks");
    }
}

}  // namespace

// Refuses options for handlers that are functions: a scheduler of graphs doesn't have them.
void refuse_options_of_functions(const gpo_scheduler_options& options) {
    const std::pair<const char*, uint64_t> given[] = {
        {"source", options.source != nullptr},
        {"compile_option_count", options.compile_option_count},
        {"workers", options.workers},
        {"threads", options.threads},
        {"blocks_per_multiprocessor", options.blocks_per_multiprocessor},
        {"multiprocessors", options.multiprocessors},
        {"leave_free", options.leave_free},
        {"argument", options.argument},
        {"dynamic_shared_bytes", options.dynamic_shared_bytes},
    };
    for (const auto& [name, value] : given)
        if (value) fail(GPO_INVALID_ARGUMENT, "options.", name, " is given, and a scheduler of graphs has none");
}

Plan plan_of(const gpo_scheduler_options& options, const StructArray<gpo_handler>& handlers, uint32_t count,
             DeviceQueue& queue) {
    Plan plan;
    plan.form = options.form;
    if (options.form < GPO_SCHEDULER_RESIDENT || options.form > GPO_SCHEDULER_WHILE)
        fail(GPO_INVALID_ARGUMENT, "options.form is ", options.form, ", none of GPO_SCHEDULER_*");
    add_queue(plan, queue);
    const bool resident = options.form == GPO_SCHEDULER_RESIDENT;
    if (plan.host_ring && !resident)
        fail(GPO_NOT_SUPPORTED, queue.describe(), " is a host ring, for which options.form is GPO_SCHEDULER_RESIDENT");
    if (count < 1 || count > kMostHandlers)
        fail(GPO_INVALID_ARGUMENT, "count is ", count, ", not 1 to ", kMostHandlers);
    const auto handler_of = plan.of_graphs() ? graphs_of : function_of;
    for (uint32_t i = 0; i < count; ++i) plan.handlers.push_back(handler_of(handlers.read(i), i));
    if (plan.of_graphs()) refuse_options_of_functions(options);
    else if (!options.source) fail(GPO_INVALID_ARGUMENT, "options.source is NULL");

    plan.workers = or_else(options.workers, GPO_WORKER_WARP);
    check_between("workers", plan.workers, GPO_WORKER_THREAD, GPO_WORKER_BLOCK);
    plan.threads = or_else(options.threads, kThreads);
    if (plan.of_graphs()) plan.workers = GPO_WORKER_THREAD, plan.threads = 32;
    check_between("threads", plan.threads, 32, kMostThreads);
    if (plan.threads % 32 != 0) fail(GPO_INVALID_ARGUMENT, "options.threads is ", plan.threads, ", no multiple of 32");
    const uint32_t words = 1 + plan.task_size / 4;
    if (plan.host_ring && plan.threads < words)
        fail(GPO_INVALID_ARGUMENT, "options.threads is ", plan.threads, ", and to hand out tasks of ", plan.task_size,
             " bytes takes ", words);
    plan.blocks_per_multiprocessor = or_else(options.blocks_per_multiprocessor, 1);
    check_between("blocks_per_multiprocessor", plan.blocks_per_multiprocessor, 1, 32);
    plan.multiprocessors = options.multiprocessors;
    plan.leave_free = options.leave_free;
    plan.max_errors = or_else(options.max_errors, kErrors);
    check_between("max_errors", plan.max_errors, 1, kMostErrors);
    plan.argument = options.argument;
    plan.dynamic_shared = options.dynamic_shared_bytes;
    check_between("dynamic_shared_bytes", plan.dynamic_shared, 0, UINT32_MAX);
    plan.idle_ns = options.idle_timeout_ns;
    plan.sample_ns = options.sample_interval_ns == GPO_AUTO ? kSampleNs : options.sample_interval_ns;
    if (resident && options.batch != 0)
        fail(GPO_INVALID_ARGUMENT, "options.batch is ", options.batch, ", and the form has none");
    const uint32_t most = plan.of_graphs() ? kMostLaunches : kMostBatch;
    if (!resident) plan.batch = or_else(options.batch, plan.of_graphs() ? kMostLaunches : kBatch);
    check_between("batch", plan.batch, 0, most);
    return plan;
}

std::string source_of(const Plan& plan, const gpo_scheduler_options& options) {
    std::string out = text("#define GPO_TASK_BYTES ", plan.task_size, "\n#define GPO_TASK_OF_HOST ",
                           plan.host_ring ? 1 : 0, "\n#define GPO_TASK_WORKER ", plan.workers,
                           "\n#include <gpuorch/device/scheduler.cuh>\n#line 1\n");
    if (plan.of_graphs())
        return out + text("#include <gpuorch/device/scheduler_step.cuh>\nextern \"C\" __global__ void ", kKernel,
                          "(const __grid_constant__ gpo::scheduler_work work,\n        const __grid_constant__ "
                          "gpo::scheduler_queue queue, unsigned long long state, unsigned run) {\n"
                          "    gpo::run_step(work, queue, state, run);\n}\n");
    out.append(options.source, options.source_bytes ? options.source_bytes : std::strlen(options.source));
    out += "\n#line 1 \"gpuorch scheduler\"\n";
    std::string cases;
    for (size_t i = 0; i < plan.handlers.size(); ++i) {
        const std::string& name = plan.handlers[i].name;
        out += text("typedef decltype(gpo::task_type(&", name, ")) gpo_task_", i,
                    ";\nstatic_assert(sizeof(gpo_task_", i, ") <= GPO_TASK_BYTES, \"the task of handler ", name,
                    " is larger than the queue's tasks\");\n");
        cases += text("            case ", i, ": return ", name, "(at, *(const gpo_task_", i, "*)task);\n");
    }
    out += text("struct gpo_handlers {\n    __device__ static int call(unsigned number, gpo::task_context& at, "
                "const void* task) {\n        switch (number) {\n",
                cases,
                "            default: return gpo::run_no_handler;\n        }\n    }\n};\n"
                "extern \"C\" __global__ void __launch_bounds__(",
                plan.threads, ") ", kKernel,
                "(const __grid_constant__ gpo::scheduler_work work,\n"
                "        const __grid_constant__ gpo::scheduler_queue queue) {\n"
                "    __shared__ gpo::scheduler_memory memory;\n"
                "    gpo::",
                plan.form == GPO_SCHEDULER_WHILE ? "run_turn" : "run_scheduler",
                "<gpo_handlers>(work, queue, memory);\n}\n");
    return out;
}

}  // namespace gpo::scheduler
