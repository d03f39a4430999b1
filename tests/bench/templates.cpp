// Graph templates: the host's cost of launches, parameters and updates, and the gain of small kernels in one graph.
#include <array>
#include <utility>
#include <vector>

#include "bench/gpu.h"
#include "bench/pairs.h"
#include "bench/raw.h"
#include "bench/vectors.h"

using namespace gpo::bench;

namespace {

constexpr int kNodes = 10;
constexpr int kManyNodes = 100;

/// The host's time for one call of `submit`. Waits are outside the measured time, and frequent: the driver never has
/// enough work to make the host wait.
template <class Submit, class Finish>
double host_cost(const Row& row, Submit&& submit, Finish&& finish) {
    const int rounds = row.size(20, 2), count = row.size(50, 10);
    double total = 0;
    for (int round = 0; round < rounds; ++round) {
        const double begin = now_ns();
        for (int i = 0; i < count; ++i) submit();
        total += now_ns() - begin;
        finish();
    }
    return total / (rounds * count);
}

/// The mean time of `timed`. Each call follows a call of `prepare`, which isn't timed.
template <class Prepare, class Timed>
double time_after(int count, Prepare&& prepare, Timed&& timed) {
    double total = 0;
    for (int i = 0; i < count; ++i) {
        prepare();
        const double begin = now_ns();
        timed();
        total += now_ns() - begin;
    }
    return total / count;
}

// --- a chain of kernels that do nothing, in both arms ---

/// The driver's chain. Callers can set an argument of the middle node.
class RawChain {
public:
    RawChain(Raw& raw, Gpu& gpu, int nodes)
        : cu_(raw.cu), stream_(raw.stream()), kernel_(raw.function(gpu, "empty")), nodes_(nodes) {
        capture();
        instantiate_anew();
        std::vector<CUgraphNode> all(static_cast<size_t>(nodes));
        size_t count = all.size();
        CHECK_CU(cu_.cuGraphGetNodes(graph_, all.data(), &count));
        middle_ = all[count / 2];
        CHECK_CU(cu_.cuGraphKernelNodeGetParams(middle_, &params_));
        params_.kernelParams = arguments_;
    }
    ~RawChain() {
        cu_.cuStreamSynchronize(stream_);
        if (exec_) cu_.cuGraphExecDestroy(exec_);
        for (const CUgraph graph : {graph_, captured_})
            if (graph) cu_.cuGraphDestroy(graph);
    }
    RawChain(const RawChain&) = delete;
    RawChain& operator=(const RawChain&) = delete;

    void launch() const { CHECK_CU(cu_.cuGraphLaunch(exec_, stream_)); }
    void set() {
        ++value_;
        CHECK_CU(cu_.cuGraphExecKernelNodeSetParams(exec_, middle_, &params_));
    }
    void finish() const { CHECK_CU(cu_.cuStreamSynchronize(stream_)); }

    /// Captures another graph, with another argument of the middle node. Call instantiate_anew() or update() next.
    void capture() {
        ++value_;
        CHECK_CU(cu_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        for (int i = 0; i < nodes_; ++i)
            CHECK_CU(cu_.cuLaunchKernel(kernel_, 1, 1, 1, 1, 1, 1, 0, stream_,
                                        i == nodes_ / 2 ? arguments_ : of_others_, nullptr));
        CHECK_CU(cu_.cuStreamEndCapture(stream_, &captured_));
    }
    void drop_capture() { CHECK_CU(cu_.cuGraphDestroy(std::exchange(captured_, nullptr))); }
    /// Replaces the graph by the captured graph, and the executable graph by a new one.
    void instantiate_anew() {
        CUgraphExec made = nullptr;
        CHECK_CU(cu_.cuGraphInstantiateWithFlags(&made, captured_, 0));
        if (exec_) CHECK_CU(cu_.cuGraphExecDestroy(exec_));
        exec_ = made;
        replace_graph();
    }
    /// Replaces the graph by the captured graph, and updates the executable graph.
    void update() {
        CUgraphExecUpdateResultInfo info;
        CHECK_CU(cu_.cuGraphExecUpdate(exec_, captured_, &info));
        replace_graph();
    }

private:
    void replace_graph() {
        if (graph_) CHECK_CU(cu_.cuGraphDestroy(graph_));
        graph_ = std::exchange(captured_, nullptr);
    }

    const gpo::driver::Table& cu_;
    const CUstream stream_;
    const CUfunction kernel_;
    const int nodes_;
    CUgraph graph_ = nullptr, captured_ = nullptr;
    CUgraphExec exec_ = nullptr;
    CUgraphNode middle_ = nullptr;
    CUDA_KERNEL_NODE_PARAMS params_{};
    unsigned* pointer_ = nullptr;
    unsigned value_ = 0, other_value_ = 0;
    unsigned long long n_ = 0;
    void* arguments_[3] = {&pointer_, &value_, &n_};
    void* of_others_[3] = {&pointer_, &other_value_, &n_};
};

/// The library's chain: a template with one graph.
class Chain {
public:
    Chain(Gpu& gpu, int nodes) : stream_(gpu.stream()), kernel_(gpu.kernel("empty")), nodes_(nodes) {
        CHECK_GPO(gpo_template_create(gpu.device, nullptr, template_.out()));
        record();
        CHECK_GPO(gpo_graph_create(template_, nullptr, graph_.out()));
        CHECK_GPO(gpo_template_get_parameter(template_, "value", &parameter_, nullptr));
    }

    void launch() const { CHECK_GPO(gpo_graph_launch(graph_, stream_)); }
    void launch_of_template() const {
        CHECK_GPO(gpo_template_launch(template_, stream_, nullptr, sizeof(gpo_setting), 0));
    }
    void set_same() const { CHECK_GPO(gpo_graph_set_parameter(graph_, parameter_, &value_, sizeof value_)); }
    void set() {
        ++value_;
        set_same();
    }
    void set_by_name() {
        ++value_;
        CHECK_GPO(gpo_graph_set(graph_, "value", &value_, sizeof value_));
    }
    void finish() const { gpo::bench::finish(stream_); }

    /// Makes another recording, with another argument of the middle node.
    void record() {
        ++value_;
        CHECK_GPO(gpo_template_begin(template_, stream_));
        for (int i = 0; i < nodes_; ++i) {
            gpo::bench::launch(stream_, kernel_, shape(1, 1), pointer_, i == nodes_ / 2 ? value_ : other_value_, n_);
            if (i == nodes_ / 2) name_argument();
        }
        CHECK_GPO(gpo_template_end(template_));
    }
    void update() {
        auto report = sized<gpo_graph_update_report>();
        CHECK_GPO(gpo_graph_update(graph_, &report));
        if (report.rebuilt) throw std::runtime_error(std::string("an update made the graph anew: ") + report.reason);
    }
    gpo_template_statistics statistics() const {
        auto out = sized<gpo_template_statistics>();
        CHECK_GPO(gpo_template_get_statistics(template_, &out));
        return out;
    }

private:
    void name_argument() {
        uint32_t node = 0;
        CHECK_GPO(gpo_template_get_last_node(template_, stream_, &node));
        CHECK_GPO(gpo_template_add_parameter(template_, "value", node, GPO_PARAMETER_ARGUMENT, 1));
    }

    const Stream stream_;
    const Kernel kernel_;
    const int nodes_;
    Template template_;
    Graph graph_;
    uint32_t parameter_ = 0;
    unsigned* pointer_ = nullptr;
    unsigned value_ = 0, other_value_ = 0;
    unsigned long long n_ = 0;
};

/// The host's cost of both arms' operations on chains of 10 nodes.
template <class Base, class Ours>
void chains(Row& row, Base&& base, Ours&& ours) {
    Gpu gpu;
    Raw raw(gpu);
    RawChain raw_chain(raw, gpu, kNodes);
    Chain chain(gpu, kNodes);
    row.pairs(
        [&] {
            return host_cost(
                row, [&] { base(raw_chain); }, [&] { raw_chain.finish(); });
        },
        [&] {
            return host_cost(
                row, [&] { ours(chain); }, [&] { chain.finish(); });
        });
}

void launches(Row& row) {
    chains(
        row, [](RawChain& raw) { raw.launch(); }, [](Chain& chain) { chain.launch(); });
}

void template_launches(Row& row) {
    chains(
        row, [](RawChain& raw) { raw.launch(); }, [](Chain& chain) { chain.launch_of_template(); });
}

/// `set` as a member of Chain: by a number or by a name.
void settings(Row& row, void (Chain::*set)()) {
    const auto base = [](RawChain& raw) {
        raw.set();
        raw.launch();
    };
    chains(row, base, [&](Chain& chain) {
        (chain.*set)();
        chain.launch();
    });
}

void same_settings(Row& row) {
    chains(
        row, [](RawChain& raw) { raw.launch(); },
        [](Chain& chain) {
            chain.set_same();
            chain.launch();
        });
}

// --- streams that learn ---

/// Ten kernels, one after the other, on their own stream. The first `changing` kernels get another argument each time.
class Ten {
public:
    Ten(Gpu& gpu, uint32_t flags, int changing) : kernel_(gpu.kernel("empty")), changing_(changing) {
        auto options = sized<gpo_stream_options>();
        options.flags = flags;
        CHECK_GPO(gpo_stream_create(gpu.device, &options, stream_.out()));
    }
    void put() {
        ++value_;
        for (int i = 0; i < kNodes; ++i)
            gpo::bench::launch(stream_, kernel_, shape(1, 1), pointer_, i < changing_ ? value_ : 0u, n_);
    }
    void finish() const { gpo::bench::finish(stream_); }
    uint64_t replayed() const {
        auto info = sized<gpo_stream_info>();
        CHECK_GPO(gpo_stream_get_info(stream_, &info));
        return info.replayed;
    }

private:
    Stream stream_;
    const Kernel kernel_;
    const int changing_;
    unsigned* pointer_ = nullptr;
    unsigned value_ = 0;
    unsigned long long n_ = 0;
};

void repeated(Row& row, int changing) {
    Gpu gpu;
    Ten plain(gpu, 0, changing), learning(gpu, GPO_STREAM_LEARNS, changing);
    const auto cost_of = [&](Ten& ten) {
        return host_cost(
            row, [&] { ten.put(); }, [&] { ten.finish(); });
    };
    row.pairs([&] { return cost_of(plain); }, [&] { return cost_of(learning); });
    if (learning.replayed() == 0) throw std::runtime_error("nothing was replayed");
}

// --- updates ---

/// Updates to new recordings, over `update` in the raw arm. The recordings of both arms aren't timed. Both arms destroy
/// the replaced graph: the library's update destroys the previous recording.
void updates(Row& row, void (RawChain::*update)()) {
    Gpu gpu;
    Raw raw(gpu);
    RawChain raw_chain(raw, gpu, kManyNodes);
    Chain chain(gpu, kManyNodes);
    const int count = row.size(20, 2);
    row.pairs(
        [&] {
            return time_after(
                count, [&] { raw_chain.capture(); }, [&] { (raw_chain.*update)(); });
        },
        [&] {
            return time_after(
                count, [&] { chain.record(); }, [&] { chain.update(); });
        });
    if (chain.statistics().rebuilds != 0) throw std::runtime_error("a graph was made anew");
}

/// Recordings, alone or with the update to each.
void recordings(Row& row, bool with_update) {
    Gpu gpu;
    Raw raw(gpu);
    RawChain raw_chain(raw, gpu, kManyNodes);
    Chain chain(gpu, kManyNodes);
    const int count = row.size(20, 2);
    const auto nothing = [] {};
    row.pairs(
        [&] {
            return time_after(count, nothing, [&] {
                raw_chain.capture();
                if (with_update) raw_chain.instantiate_anew();
                else raw_chain.drop_capture();
            });
        },
        [&] {
            return time_after(count, nothing, [&] {
                chain.record();
                if (with_update) chain.update();
            });
        });
}

// --- a diamond ---

constexpr int kBranches = 4, kPerBranch = 2, kDiamond = 2 + kBranches * kPerBranch;

/// A kernel, four branches of two kernels on their own streams, and a kernel behind all. `Streams` puts the work on
/// streams.
template <class Streams>
void put_diamond(Streams& streams) {
    streams.launch(0);
    streams.fork();
    for (int branch = 0; branch < kBranches; ++branch)
        for (int i = 0; i < kPerBranch; ++i) streams.launch(branch);
    streams.join();
    streams.launch(0);
}

class RawDiamond {
public:
    RawDiamond(Raw& raw, Gpu& gpu) : cu_(raw.cu), kernel_(raw.function(gpu, "empty")) {
        for (CUstream& stream : streams_) stream = raw.stream();
        for (CUevent& event : events_) CHECK_CU(cu_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        capture();
        CHECK_CU(cu_.cuGraphInstantiateWithFlags(&exec_, graph_, 0));
    }
    ~RawDiamond() {
        cu_.cuStreamSynchronize(streams_[0]);
        cu_.cuGraphExecDestroy(exec_);
        cu_.cuGraphDestroy(graph_);
        for (const CUevent event : events_) cu_.cuEventDestroy(event);
    }
    RawDiamond(const RawDiamond&) = delete;
    RawDiamond& operator=(const RawDiamond&) = delete;

    void run() {
        CUgraph before = graph_;
        capture();
        CUgraphExecUpdateResultInfo info;
        CHECK_CU(cu_.cuGraphExecUpdate(exec_, graph_, &info));
        CHECK_CU(cu_.cuGraphDestroy(before));
        CHECK_CU(cu_.cuGraphLaunch(exec_, streams_[0]));
    }
    void finish() const { CHECK_CU(cu_.cuStreamSynchronize(streams_[0])); }

    void launch(int branch) {
        CHECK_CU(cu_.cuLaunchKernel(kernel_, 1, 1, 1, 1, 1, 1, 0, streams_[branch], arguments_, nullptr));
    }
    void fork() {
        CHECK_CU(cu_.cuEventRecord(events_[0], streams_[0]));
        for (int i = 1; i < kBranches; ++i)
            CHECK_CU(cu_.cuStreamWaitEvent(streams_[i], events_[0], CU_EVENT_WAIT_DEFAULT));
    }
    void join() {
        for (int i = 1; i < kBranches; ++i) {
            CHECK_CU(cu_.cuEventRecord(events_[i], streams_[i]));
            CHECK_CU(cu_.cuStreamWaitEvent(streams_[0], events_[i], CU_EVENT_WAIT_DEFAULT));
        }
    }

private:
    void capture() {
        ++value_;
        CHECK_CU(cu_.cuStreamBeginCapture(streams_[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        put_diamond(*this);
        CHECK_CU(cu_.cuStreamEndCapture(streams_[0], &graph_));
    }

    const gpo::driver::Table& cu_;
    const CUfunction kernel_;
    CUstream streams_[kBranches];
    CUevent events_[kBranches];
    CUgraph graph_ = nullptr;
    CUgraphExec exec_ = nullptr;
    unsigned* pointer_ = nullptr;
    unsigned value_ = 0;
    unsigned long long n_ = 0;
    void* arguments_[3] = {&pointer_, &value_, &n_};
};

class Diamond {
public:
    explicit Diamond(Gpu& gpu) : kernel_(gpu.kernel("empty")) {
        for (Stream& stream : streams_) stream = gpu.stream();
        for (Event& event : events_) CHECK_GPO(gpo_event_create(gpu.device, nullptr, event.out()));
        CHECK_GPO(gpo_template_create(gpu.device, nullptr, template_.out()));
        record();
        CHECK_GPO(gpo_graph_create(template_, nullptr, graph_.out()));
    }

    void run() {
        record();
        auto report = sized<gpo_graph_update_report>();
        CHECK_GPO(gpo_graph_update(graph_, &report));
        if (report.rebuilt) throw std::runtime_error(std::string("an update made the graph anew: ") + report.reason);
        CHECK_GPO(gpo_graph_launch(graph_, streams_[0]));
    }
    void finish() const { gpo::bench::finish(streams_[0]); }

    void launch(int branch) {
        gpo::bench::launch(streams_[branch], kernel_, shape(1, 1), pointer_, value_, n_);
    }
    void fork() {
        CHECK_GPO(gpo_event_record(events_[0], streams_[0]));
        for (int i = 1; i < kBranches; ++i) CHECK_GPO(gpo_stream_wait_event(streams_[i], events_[0]));
    }
    void join() {
        for (int i = 1; i < kBranches; ++i) {
            CHECK_GPO(gpo_event_record(events_[i], streams_[i]));
            CHECK_GPO(gpo_stream_wait_event(streams_[0], events_[i]));
        }
    }

private:
    void record() {
        ++value_;
        CHECK_GPO(gpo_template_begin(template_, streams_[0]));
        put_diamond(*this);
        CHECK_GPO(gpo_template_end(template_));
    }

    const Kernel kernel_;
    Stream streams_[kBranches];
    Event events_[kBranches];
    Template template_;
    Graph graph_;
    unsigned* pointer_ = nullptr;
    unsigned value_ = 0;
    unsigned long long n_ = 0;
};

void diamonds(Row& row) {
    Gpu gpu;
    Raw raw(gpu);
    RawDiamond raw_diamond(raw, gpu);
    Diamond diamond(gpu);
    const auto cost_of = [&](auto& each) {
        return host_cost(
                   row, [&] { each.run(); }, [&] { each.finish(); }) /
               kDiamond;
    };
    row.pairs([&] { return cost_of(raw_diamond); }, [&] { return cost_of(diamond); });
}

// --- small kernels that compute something ---

/// a → b → c → d, three kernels, 100 times. The base puts the kernels on a stream, and waits after each if `synced`.
void steps(Row& row, bool synced) {
    const auto count = row.size(size_t{100}, size_t{5});
    Gpu gpu;
    Raw raw(gpu);
    RawVectors base(raw, gpu);
    Vectors ours(gpu);
    std::array<CUdeviceptr, 4> raw_vectors{};
    std::array<uint64_t, 4> vectors{};
    for (CUdeviceptr& each : raw_vectors) each = base.vector(1);
    for (uint64_t& each : vectors) each = ours.vector(1);
    ours.begin();
    for (size_t i = 0; i + 1 < vectors.size(); ++i) ours.twice(vectors[i + 1], vectors[i]);
    Graph graph;
    CHECK_GPO(gpo_graph_create(ours.end(), nullptr, graph.out()));
    row.pairs(
        [&] {
            base.finish();
            const double begin = now_ns();
            for (size_t step = 0; step < count; ++step)
                for (size_t i = 0; i + 1 < raw_vectors.size(); ++i) {
                    base.twice(raw_vectors[i + 1], raw_vectors[i]);
                    if (synced) base.finish();
                }
            base.finish();
            return million_per_second(count, now_ns() - begin);
        },
        [&] {
            const double begin = now_ns();
            for (size_t step = 0; step < count; ++step) CHECK_GPO(gpo_graph_launch(graph, ours.stream()));
            finish(ours.stream());
            return million_per_second(count, now_ns() - begin);
        });
    base.check(raw_vectors.back(), 8);
    ours.check(vectors.back(), 8);
}

/// A request reads an input and doubles it ten times into its stream's output.
class Requests {
public:
    static constexpr size_t kStreams = 8, kInputs = 16;

    explicit Requests(size_t count) : count_(count), streams_(gpu_.streams(kStreams)) {
        for (size_t i = 0; i < kInputs; ++i) {
            raw_in_[i] = base_.vector(static_cast<float>(i + 1));
            in_[i] = ours_.vector(static_cast<float>(i + 1));
        }
        for (size_t i = 0; i < kStreams; ++i) {
            raw_out_[i] = base_.vector(0);
            out_[i] = ours_.vector(0);
        }
        record();
        CHECK_GPO(gpo_template_prepare(template_, kStreams, ours_.stream()));
        finish(ours_.stream());
    }

    /// All kernels on one stream.
    double base_block() {
        base_.finish();
        const double begin = now_ns();
        for (size_t i = 0; i < count_; ++i) {
            const CUdeviceptr to = raw_out_[i % kStreams];
            base_.twice(to, raw_in_[input_of(i)]);
            for (int node = 1; node < kNodes; ++node) base_.twice(to, to);
        }
        base_.finish();
        return million_per_second(count_, now_ns() - begin);
    }
    /// Launches of the template, over the streams in turn.
    double our_block() const {
        uint64_t in = 0, out = 0;
        const gpo_setting settings[] = {ours_.setting("in", &in), ours_.setting("out", &out)};
        const double begin = now_ns();
        for (size_t i = 0; i < count_; ++i) {
            in = in_[input_of(i)];
            out = out_[i % kStreams];
            CHECK_GPO(gpo_template_launch(template_, streams_[i % kStreams], settings, sizeof settings[0], 2));
        }
        for (const Stream& stream : streams_) finish(stream);
        return million_per_second(count_, now_ns() - begin);
    }
    /// Checks the results of each stream's last request.
    void check() const {
        for (size_t i = count_ - kStreams; i < count_; ++i) {
            const auto wanted = static_cast<float>((input_of(i) + 1) << kNodes);
            base_.check(raw_out_[i % kStreams], wanted);
            ours_.check(out_[i % kStreams], wanted);
        }
    }

private:
    void record() {
        ours_.begin();
        for (int i = 0; i < kNodes; ++i) {
            ours_.twice(out_[0], i == 0 ? in_[0] : out_[0]);
            ours_.name("out", 0);
            ours_.name(i == 0 ? "in" : "out", 1);
        }
        template_ = ours_.end();
    }
    /// Each turn of a stream gets another input.
    static size_t input_of(size_t request) { return (request + request / kStreams) % kInputs; }

    const size_t count_;
    Gpu gpu_;
    Raw raw_{gpu_};
    RawVectors base_{raw_, gpu_};
    Vectors ours_{gpu_};
    const std::vector<Stream> streams_;
    gpo_template_t template_ = nullptr;  // of ours_
    std::array<CUdeviceptr, kInputs> raw_in_{};
    std::array<CUdeviceptr, kStreams> raw_out_{};
    std::array<uint64_t, kInputs> in_{};
    std::array<uint64_t, kStreams> out_{};
};

void requests(Row& row) {
    Requests both(row.size(size_t{800}, size_t{16}));
    row.pairs([&] { return both.base_block(); }, [&] { return both.our_block(); });
    both.check();
}

void recording_rows(Bench& bench) {
    bench.row(
        {.name = "graph_update",
         .what = "update of a graph of 100 kernels to a recording with another argument of one of them, without the "
                 "recording",
         .base = "cuGraphInstantiate, without the capture, and destroying the graphs before",
         .target = ratio_at_most(0.05)},
        [](Row& row) { updates(row, &RawChain::instantiate_anew); });
    bench.row({.name = "graph_update_in_place", .what = "the same", .base = "cuGraphExecUpdate, cuGraphDestroy"},
              [](Row& row) { updates(row, &RawChain::update); });
    bench.row({.name = "graph_record_and_update",
               .what = "the same, and the recording",
               .base = "capture, cuGraphInstantiate, and destroying the graphs before",
               .target = ratio_at_most(1)},
              [](Row& row) { recordings(row, true); });
    bench.row({.name = "graph_record",
               .what = "recording 100 kernels anew",
               .base = "capture of 100 kernels, and destroying the graph",
               .target = ratio_at_most(1)},
              [](Row& row) { recordings(row, false); });
    bench.row({.name = "graph_diamond",
               .what = "a diamond of 10 kernels on 4 streams, recorded with other arguments, updated and launched: the "
                       "host's cost for each kernel",
               .base = "capture, cuGraphExecUpdate, cuGraphDestroy and cuGraphLaunch",
               .target = value_at_most(4000)},
              diamonds);
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("templates", argc, argv);
    bench.row({.name = "graph_launch",
               .what = "launch of a graph of 10 kernels, host cost",
               .base = "cuGraphLaunch",
               .target = ratio_at_most(1.05, 100)},
              launches);
    bench.row({.name = "graph_set",
               .what = "set a parameter by its number to another value and launch, host cost",
               .base = "cuGraphExecKernelNodeSetParams and cuGraphLaunch",
               .target = ratio_at_most(1.1)},
              [](Row& row) { settings(row, &Chain::set); });
    bench.row({.name = "graph_set_by_name",
               .what = "the same by its name",
               .base = "cuGraphExecKernelNodeSetParams and cuGraphLaunch",
               .target = ratio_at_most(1.1)},
              [](Row& row) { settings(row, &Chain::set_by_name); });
    bench.row({.name = "graph_set_same",
               .what = "set a parameter to the value that it has and launch, host cost",
               .base = "cuGraphLaunch",
               .target = ratio_at_most(1.05)},
              same_settings);
    bench.row({.name = "template_launch",
               .what = "gpo_template_launch of 10 kernels, without settings, host cost",
               .base = "cuGraphLaunch"},
              template_launches);
    bench.row({.name = "learned_sequence",
               .what = "10 kernels, again and again with the same arguments, on a stream that learns, host cost",
               .base = "the same on a plain stream",
               .target = ratio_at_most(0.5)},
              [](Row& row) { repeated(row, 0); });
    bench.row({.name = "learned_sequence_set",
               .what = "the same, with another argument for two of the kernels each time",
               .base = "the same on a plain stream",
               .target = ratio_at_most(0.5)},
              [](Row& row) { repeated(row, 2); });
    recording_rows(bench);
    bench.row({.name = "graph_chain",
               .what = "three small kernels one after the other, 100 times, by graph launches",
               .unit = "M/s",
               .base = "300 x cuLaunchKernel",
               .target = ratio_at_least(2.5)},
              [](Row& row) { steps(row, false); });
    bench.row({.name = "graph_chain_synced",
               .what = "the same",
               .unit = "M/s",
               .base = "cuLaunchKernel and cuStreamSynchronize, 300 times"},
              [](Row& row) { steps(row, true); });
    bench.row({.name = "template_requests",
               .what = "requests of 10 small kernels with 2 parameters, gpo_template_launch over 8 streams",
               .unit = "M/s",
               .base = "cuLaunchKernel on one stream",
               .target = ratio_at_least(12)},
              requests);
    return bench.finish();
}
