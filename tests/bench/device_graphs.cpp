// Graphs that decide on the GPU, against decisions by the host and against the driver's own conditional nodes; graphs
// launched by kernels through the device header, and a scheduler of graphs, against the driver's own device functions.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/gpu.h"
#include "bench/pairs.h"
#include "bench/raw.h"

using namespace gpo::bench;

namespace {

// Kernels of one thread. Kernels named `raw_…` make the driver's calls themselves. The numbers of streams are
// cudaStreamGraphTailLaunch and cudaStreamGraphFireAndForget, which NVRTC defines for relocatable code only.
const char* const kSource = R"(
#include <gpuorch/device/graph.cuh>

typedef unsigned long long u64;

extern "C" __global__ void count_down(unsigned *left) { --*left; }
extern "C" __global__ void decide(gpo::condition again, unsigned *left) { gpo::set_condition(again, --*left); }
extern "C" __global__ void raw_decide(u64 again, unsigned *left) { cudaGraphSetConditional(again, --*left); }

extern "C" __global__ void step(unsigned *left, u64 status) {
    if (--*left != 0) gpo::relaunch_self(status);
}
extern "C" __global__ void raw_step(unsigned *left, u64) {
    if (--*left != 0) cudaGraphLaunch((cudaGraphExec_t)gpo::current_graph(), (cudaStream_t)0x0100000000000000ull);
}

static __device__ u64 now() {
#if defined(__GPUORCH_SOFT__)
    return (u64)clock64();  // counts nanoseconds, for all threads alike
#else
    u64 ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
#endif
}
struct Starts { u64 launched, total, count; };
extern "C" __global__ void child(Starts *starts, u64) {
    starts->total += now() - starts->launched;
    ++starts->count;
}
extern "C" __global__ void parent(Starts *starts, gpo::device_graph graph) {
    starts->launched = now();
    gpo::launch_fire_and_forget(graph);
}
extern "C" __global__ void raw_parent(Starts *starts, u64 graph) {
    starts->launched = now();
    cudaGraphLaunch((cudaGraphExec_t)graph, (cudaStream_t)0x0200000000000000ull);
}

struct alignas(16) task { unsigned handler, number, rest[2]; };
extern "C" __global__ void add(Starts *sums, const task *mine) {
    atomicAdd(&sums->total, (u64)mine->number);
    atomicAdd(&sums->count, 1ull);
}
// A warp that launches a graph for each of the next tasks, and then its own graph again. `failure`: what a launch returned.
struct raw_tasks { const task *tasks; task *mine; const u64 *graphs; unsigned next, count, batch, failure; };
extern "C" __global__ void raw_schedule(Starts *, raw_tasks *from) {
    const unsigned first = from->next, left = from->count - first;
    const unsigned count = left < from->batch ? left : from->batch;
    bool failed = false;
    for (unsigned i = threadIdx.x; i < count; i += 32) {
        from->mine[i] = from->tasks[first + i];
        const unsigned failure = cudaGraphLaunch((cudaGraphExec_t)from->graphs[i], (cudaStream_t)0x0200000000000000ull);
        if (failure != 0) from->failure = failure;
        failed = failed || failure != 0;
    }
    if (__any_sync(0xffffffffu, failed) || threadIdx.x != 0) return;
    from->next = first + count;
    if (count != 0)
        from->failure = cudaGraphLaunch((cudaGraphExec_t)gpo::current_graph(), (cudaStream_t)0x0100000000000000ull);
}
)";

struct Starts {
    uint64_t launched, total, count;
};

struct DeviceHandle {
    uint64_t graph = 0, status = 0;
};

struct Task {
    uint32_t handler, number, rest[2];
};
struct RawTasks {
    uint64_t tasks, mine, graphs;
    uint32_t next, count, batch, failure;
};

// --- one arm's memory, kernels and graphs ---

/// The driver's arm. Each graph has one kernel, of `threads` threads (default 1).
class RawArm {
public:
    explicit RawArm(Gpu& gpu)
        : raw(gpu), stream(raw.stream()), word(raw.memory(sizeof(Starts))),
          seen(static_cast<Starts*>(raw.pinned(sizeof(Starts)))), gpu_(gpu) {}
    ~RawArm() {
        raw.cu.cuStreamSynchronize(stream);
        for (const CUgraphExec exec : execs_) raw.cu.cuGraphExecDestroy(exec);
        for (const CUgraph graph : graphs_) raw.cu.cuGraphDestroy(graph);
    }
    RawArm(const RawArm&) = delete;
    RawArm& operator=(const RawArm&) = delete;

    /// `argument` comes after the address of `word`.
    CUgraphExec graph(const char* kernel, uint64_t argument, bool launched_by_kernels, uint32_t threads = 1) {
        const CUgraph made = keep_graph();
        CUdeviceptr address = word;
        void* arguments[] = {&address, &argument, nullptr};
        add_kernel(made, kernel, arguments, threads);
        return instantiate(made, launched_by_kernels);
    }
    /// A graph with a while node that runs `raw_decide` until `word` is 0.
    CUgraphExec loop() {
        const CUgraph made = keep_graph();
        CUcontext context = nullptr;
        CHECK_CU(raw.cu.cuCtxGetCurrent(&context));
        CUgraphNodeParams parameters{};
        parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
        CUDA_CONDITIONAL_NODE_PARAMS& loop = parameters.conditional;
        loop.type = CU_GRAPH_COND_TYPE_WHILE;
        loop.size = 1;
        loop.ctx = context;
        CHECK_CU(raw.cu.cuGraphConditionalHandleCreate(&loop.handle, made, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
        CUgraphNode node = nullptr;
        CHECK_CU(raw.cu.cuGraphAddNode(&node, made, nullptr, 0, &parameters));
        CUdeviceptr address = word;
        void* arguments[] = {&loop.handle, &address, nullptr};
        add_kernel(loop.phGraph_out[0], "raw_decide", arguments);
        return instantiate(made, false);
    }
    void set(uint32_t value) {
        CHECK_CU(raw.cu.cuMemsetD32Async(word, value, 1, stream));
        raw.finish(stream);
    }
    void clear() {
        CHECK_CU(raw.cu.cuMemsetD32Async(word, 0, sizeof(Starts) / 4, stream));
        raw.finish(stream);
    }
    void launch(CUgraphExec exec) const { CHECK_CU(raw.cu.cuGraphLaunch(exec, stream)); }
    void finish() const { raw.finish(stream); }
    /// Reads `word` and the words behind it.
    const Starts& read() {
        CHECK_CU(raw.cu.cuMemcpyDtoHAsync(seen, word, sizeof *seen, stream));
        finish();
        return *seen;
    }

    Raw raw;
    const CUstream stream;
    const CUdeviceptr word;
    Starts* const seen;

private:
    CUgraph keep_graph() {
        CUgraph made = nullptr;
        CHECK_CU(raw.cu.cuGraphCreate(&made, 0));
        graphs_.push_back(made);
        return made;
    }
    void add_kernel(CUgraph graph, const char* name, void** arguments, uint32_t threads = 1) {
        CUgraphNodeParams parameters{};
        parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
        CUDA_KERNEL_NODE_PARAMS_v3& kernel = parameters.kernel;
        kernel.func = raw.function(gpu_, name);
        kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
        kernel.blockDimX = threads;
        kernel.blockDimY = kernel.blockDimZ = 1;
        kernel.kernelParams = arguments;
        CUgraphNode node = nullptr;
        CHECK_CU(raw.cu.cuGraphAddNode(&node, graph, nullptr, 0, &parameters));
    }
    CUgraphExec instantiate(CUgraph graph, bool launched_by_kernels) {
        CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
        if (launched_by_kernels)
            parameters.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
        parameters.hUploadStream = stream;
        CUgraphExec made = nullptr;
        CHECK_CU(raw.cu.cuGraphInstantiateWithParams(&made, graph, &parameters));
        execs_.push_back(made);
        finish();
        return made;
    }

    Gpu& gpu_;
    std::vector<CUgraph> graphs_;
    std::vector<CUgraphExec> execs_;
};

/// The library's arm.
class Arm {
public:
    explicit Arm(Gpu& gpu) : stream(gpu.stream()), gpu_(gpu), memory_(gpu, sizeof(Starts)) {}

    uint64_t word() const { return memory_.address; }
    /// A template's new graph, with one kernel of one thread.
    template <class Argument>
    Graph graph(Template& of, const char* kernel, const Argument& argument, uint32_t flags) {
        CHECK_GPO(gpo_template_create(gpu_.device, nullptr, of.out()));
        const uint64_t address = word();
        const void* arguments[] = {&address, &argument};
        add_kernel(of, kernel, arguments, 2);
        return graph_of(of, flags);
    }
    /// A graph with a while node that runs until the word is 0. `compared`: the node compares the word; otherwise the
    /// kernel `decide` does. `node`: gets the number of the while node.
    Graph loop(Template& of, bool compared, uint32_t& node) {
        CHECK_GPO(gpo_template_create(gpu_.device, nullptr, of.out()));
        auto condition = sized<gpo_condition>();
        condition.comparison = compared ? GPO_COMPARE_NOT_EQUAL : GPO_COMPARE_KERNEL;
        if (compared) condition.word = word();
        condition.initial = !compared;
        Template body;
        CHECK_GPO(gpo_template_add_while(of, nullptr, 0, &condition, body.out(), &node));
        const uint64_t address = word(), placeholder = 0;
        const void* arguments[] = {&placeholder, &address};
        if (compared) {
            add_kernel(body, "count_down", arguments + 1, 1);
        } else {
            const uint32_t kernel = add_kernel(body, "decide", arguments, 2);
            CHECK_GPO(gpo_template_bind_condition(body, kernel, 0, of, node));
        }
        return graph_of(of, 0);
    }
    void set(uint32_t value) {
        CHECK_GPO(gpo_fill(stream, word(), value, sizeof value, 1));
        finish();
    }
    void clear() {
        CHECK_GPO(gpo_fill(stream, word(), 0, sizeof(uint32_t), sizeof(Starts) / sizeof(uint32_t)));
        finish();
    }
    void launch(gpo_graph_t graph) const { CHECK_GPO(gpo_graph_launch(graph, stream)); }
    void finish() const { gpo::bench::finish(stream); }
    const Starts& read() {
        CHECK_GPO(gpo_copy_to_host(stream, &seen_, word(), sizeof seen_));
        finish();
        return seen_;
    }

    const Stream stream;

private:
    uint32_t add_kernel(gpo_template_t to, const char* name, const void* const* arguments, uint32_t count) {
        const Kernel kernel = gpu_.kernel(name);
        const gpo_launch one = shape(1, 1);
        uint32_t node = 0;
        CHECK_GPO(gpo_template_add_kernel(to, nullptr, 0, kernel, &one, arguments, nullptr, count, &node));
        return node;
    }
    static Graph graph_of(gpo_template_t of, uint32_t flags) {
        auto options = sized<gpo_graph_options>();
        options.flags = flags;
        Graph made;
        CHECK_GPO(gpo_graph_create(of, &options, made.out()));
        return made;
    }

    Gpu& gpu_;
    const Memory memory_;
    Starts seen_{};
};

/// Both arms, with the kernels above.
struct Both {
    Both() { gpu.use_source(kSource); }
    void require(bool right, const char* what) const {
        if (!right) throw std::runtime_error(what);
    }

    Gpu gpu;
    RawArm base{gpu};
    Arm ours{gpu};
};

// --- loops ---

/// Runs loops of many iterations. `compared`: the while node compares the word; otherwise a kernel decides.
class Loops : public Both {
public:
    Loops(const Row& row, bool compared)
        : count_(row.size(2000u, 5u)), graph_(ours.loop(template_, compared, while_)) {}

    /// The host copies the word back after each iteration, and decides whether another follows.
    double by_host() {
        const CUfunction kernel = base.raw.function(gpu, "count_down");
        CUdeviceptr word = base.word;
        void* arguments[] = {&word};
        auto* const left = reinterpret_cast<uint32_t*>(base.seen);
        base.set(count_);
        const double begin = now_ns();
        do {
            CHECK_CU(base.raw.cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, base.stream, arguments, nullptr));
            CHECK_CU(base.raw.cu.cuMemcpyDtoHAsync(left, word, sizeof *left, base.stream));
            base.finish();
        } while (*left != 0);
        return million_per_second(count_, now_ns() - begin);
    }
    double by_driver() {
        if (!raw_graph_) raw_graph_ = base.loop();
        base.set(count_);
        const double begin = now_ns();
        base.launch(raw_graph_);
        base.finish();
        const double ns = now_ns() - begin;
        require(static_cast<uint32_t>(base.read().launched) == 0, "the base's loop ended early");
        return million_per_second(count_, ns);
    }
    double by_graph() {
        ours.set(count_);
        const double begin = now_ns();
        ours.launch(graph_);
        ours.finish();
        const double ns = now_ns() - begin;
        uint64_t iterations = 0;
        CHECK_GPO(gpo_graph_get_loop(graph_, template_, while_, &iterations, nullptr));
        require(iterations == count_, "the library's loop ended early");
        return million_per_second(count_, ns);
    }

private:
    const uint32_t count_;
    Template template_;
    uint32_t while_ = 0;
    const Graph graph_;
    CUgraphExec raw_graph_ = nullptr;
};

void loops(Row& row, bool compared) {
    Loops both(row, compared);
    row.pairs([&] { return both.by_host(); }, [&] { return both.by_graph(); });
}

void loops_of_the_driver(Row& row) {
    Loops both(row, false);
    row.pairs([&] { return both.by_driver(); }, [&] { return both.by_graph(); });
}

// --- launches by kernels ---

/// A graph launches itself as its tail: the time of a step.
void tails(Row& row) {
    const auto steps = row.size(2000u, 5u);
    Both both;
    const CUgraphExec raw_graph = both.base.graph("raw_step", 0, true);
    Template of;
    const Graph graph = both.ours.graph(of, "step", uint64_t{0}, GPO_GRAPH_DEVICE_LAUNCH);
    const auto block = [&](auto& arm, auto launched) {
        arm.set(steps);
        const double begin = now_ns();
        arm.launch(launched);
        arm.finish();
        const double ns = now_ns() - begin;
        both.require(static_cast<uint32_t>(arm.read().launched) == 0, "a graph did not launch itself");
        return ns / steps;
    };
    row.pairs([&] { return block(both.base, raw_graph); }, [&] { return block(both.ours, graph.get()); });
}

/// From before a kernel launches a graph to the graph's first instruction, by the GPU's clock.
void starts(Row& row) {
    const int count = row.size(500, 5);
    Both both;
    const CUgraphExec raw_child = both.base.graph("child", 0, true);
    const CUgraphExec raw_parent = both.base.graph("raw_parent", reinterpret_cast<uintptr_t>(raw_child), false);
    Template of_child, of_parent;
    const Graph child = both.ours.graph(of_child, "child", uint64_t{0}, GPO_GRAPH_DEVICE_LAUNCH);
    DeviceHandle handle;
    CHECK_GPO(gpo_graph_get_device_handle(child, &handle.graph, &handle.status));
    const Graph parent = both.ours.graph(of_parent, "parent", handle, 0);
    const auto block = [&](auto& arm, auto launched) {
        arm.clear();
        for (int i = 0; i < count; ++i) arm.launch(launched);
        arm.finish();
        const Starts& seen = arm.read();
        both.require(seen.count == static_cast<uint64_t>(count), "a child was not launched");
        return static_cast<double>(seen.total) / count;
    };
    row.pairs([&] { return block(both.base, raw_parent); }, [&] { return block(both.ours, parent.get()); });
}

// --- schedulers ---

/// Each task is a graph of one kernel, which adds the task's number; a step launches `batch` tasks.
class Scheduled : public Both {
public:
    explicit Scheduled(const Row& row) : batch_(row.size(120u, 3u)), tasks_(row.size(size_t{10'000}, size_t{10})) {
        for (uint32_t i = 0; i < tasks_.size(); ++i) tasks_[i].number = i + 1;
        make_base();
        make_ours();
    }

    double by_hand() {
        base.clear();
        put(queue_, RawTasks{in_base_, base_mine_, base_graphs_, 0, static_cast<uint32_t>(tasks_.size()), batch_, 0});
        const double begin = now_ns();
        base.launch(step_);
        base.finish();
        const double ns = now_ns() - begin;
        RawTasks after{};
        CHECK_CU(base.raw.cu.cuMemcpyDtoHAsync(&after, queue_, sizeof after, base.stream));
        base.finish();
        if (after.failure != 0)
            throw std::runtime_error("cudaGraphLaunch in a kernel gave " + std::to_string(after.failure) +
                                     ", in the step that began with task " + std::to_string(after.next));
        require_sums(base.read());
        return ns / static_cast<double>(tasks_.size());
    }
    double by_scheduler() {
        ours.clear();
        CHECK_GPO(gpo_queue_push(ring_, ours.stream, tasks_.data(), tasks_.size(), 0));
        ours.finish();
        const double begin = now_ns();
        CHECK_GPO(gpo_scheduler_start(scheduler_));
        CHECK_GPO(gpo_scheduler_drain(scheduler_, kPatience));
        const double ns = now_ns() - begin;
        require_sums(ours.read());
        return ns / static_cast<double>(tasks_.size());
    }

private:
    using Ring = gpo::test::DeviceQueue;
    using Scheduler = gpo::test::Owned<gpo_scheduler_t, gpo_scheduler_destroy>;
    static constexpr int64_t kPatience = 60'000'000'000;

    template <class T>
    void put(CUdeviceptr to, const T& value) {
        CHECK_CU(base.raw.cu.cuMemcpyHtoDAsync(to, &value, sizeof value, base.stream));
        base.finish();
    }
    void make_base() {
        in_base_ = base.raw.memory(tasks_.size() * sizeof(Task));
        base_mine_ = base.raw.memory(batch_ * sizeof(Task));
        base_graphs_ = base.raw.memory(batch_ * sizeof(uint64_t));
        queue_ = base.raw.memory(sizeof(RawTasks));
        CHECK_CU(base.raw.cu.cuMemcpyHtoDAsync(in_base_, tasks_.data(), tasks_.size() * sizeof(Task), base.stream));
        for (uint32_t i = 0; i < batch_; ++i)
            put(base_graphs_ + i * sizeof(uint64_t), base.graph("add", base_mine_ + i * sizeof(Task), true));
        step_ = base.graph("raw_schedule", queue_, true, 32);
    }
    void make_ours() {
        std::vector<gpo_graph_t> graphs;
        for (uint32_t i = 0; i < batch_; ++i) {
            Template of;
            children_.push_back(ours.graph(of, "add", mine_.address + i * sizeof(Task), GPO_GRAPH_DEVICE_LAUNCH));
            graphs.push_back(children_.back());
        }
        auto ring = sized<gpo_queue_options>();
        ring.kind = GPO_QUEUE_RING;
        ring.capacity = tasks_.size();
        ring.task_size = sizeof(Task);
        CHECK_GPO(gpo_queue_create(gpu.device, &ring, ring_.out()));
        auto handler = sized<gpo_handler>();
        handler.name = "add";
        handler.graphs = graphs.data();
        handler.graph_count = batch_;
        handler.task_memory = mine_.address;
        auto options = sized<gpo_scheduler_options>();
        options.form = GPO_SCHEDULER_GRAPHS;
        options.queue = ring_;
        options.batch = batch_;
        options.label = "bench";
        CHECK_GPO(gpo_scheduler_create(gpu.device, &options, &handler, sizeof handler, 1, scheduler_.out()));
    }
    void require_sums(const Starts& seen) const {
        const uint64_t count = tasks_.size();
        require(seen.count == count, "a task's graph was not launched, or was launched twice");
        require(seen.total == count * (count + 1) / 2, "a graph found another's task");
    }

    const uint32_t batch_;
    std::vector<Task> tasks_;
    CUdeviceptr in_base_ = 0, base_mine_ = 0, base_graphs_ = 0, queue_ = 0;
    CUgraphExec step_ = nullptr;
    const Memory mine_{gpu, batch_ * sizeof(Task)};
    std::vector<Graph> children_;
    Ring ring_;
    Scheduler scheduler_;
};

void scheduled(Row& row) {
    Scheduled both(row);
    row.pairs([&] { return both.by_hand(); }, [&] { return both.by_scheduler(); });
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("device_graphs", argc, argv);
    bench.row({.name = "graph_while",
               .what = "a while of 2,000 iterations of a small kernel, which compares a word",
               .unit = "M/s",
               .base = "cuLaunchKernel, cuMemcpyDtoHAsync and cuStreamSynchronize, 2,000 times",
               .target = ratio_at_least(2.5)},
              [](Row& row) { loops(row, true); });
    bench.row({.name = "graph_while_by_kernel",
               .what = "the same, where the kernel sets the condition",
               .unit = "M/s",
               .base = "cuLaunchKernel, cuMemcpyDtoHAsync and cuStreamSynchronize, 2,000 times",
               .target = ratio_at_least(2.5)},
              [](Row& row) { loops(row, false); });
    bench.row({.name = "graph_while_driver",
               .what = "the same",
               .unit = "M/s",
               .base = "a conditional node of the driver, whose loop has no limit and no count"},
              loops_of_the_driver);
    bench.row({.name = "graph_tail",
               .what = "a step of a graph that launches itself as its tail, 2,000 times",
               .base = "cudaGraphLaunch in the kernel",
               .target = ratio_at_most(1.05)},
              tails);
    bench.row({.name = "graph_fire_and_forget",
               .what = "from a kernel that launches a graph to the start of the graph's kernel, on the GPU",
               .base = "cudaGraphLaunch in the kernel",
               .target = ratio_at_most(1.05)},
              starts);
    bench.row({.name = "scheduler_graphs",
               .what = "a task of a scheduler that launches a graph of one small kernel for each, of 10,000",
               .base = "a warp in a graph that launches one for each of 120 tasks and then itself, by cudaGraphLaunch",
               .target = ratio_at_most(1.1),
               .limit_seconds = 300},
              scheduled);
    return bench.finish();
}
