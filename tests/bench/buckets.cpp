// Shape buckets: requests of any size through a stack of small layers, against launches of exactly their size, and
// against a graph captured for each new size.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/gpu.h"
#include "bench/pairs.h"
#include "bench/raw.h"
#include "bench/vectors.h"

using namespace gpo::bench;

namespace {

constexpr std::array<uint64_t, 8> kShapes = {1, 2, 4, 8, 16, 32, 64, 128};
constexpr uint64_t kMost = 128;
constexpr int kLayers = 10;

// A request has `size` rows; a row is a vector of bench/vectors.h. A layer is a kernel that doubles all rows, with a
// block for each. Every size from 1 to kMost has its own input, with room for kMost rows: the first `size` rows have
// the size as their value. The later rows are not 0, to detect missing padding.
constexpr float kUnpadded = -1;
constexpr float doubled(uint64_t size) { return static_cast<float>(size << kLayers); }

// --- requests in both arms ---

/// Requests through the driver. Each stream has its own output.
class RawRequests {
public:
    RawRequests(Raw& raw, Gpu& gpu, size_t streams) : raw_(raw), kernel_(raw.function(gpu, "scale")) {
        for (size_t i = 0; i < streams; ++i) {
            streams_.push_back(raw.stream());
            out_.push_back(rows(0, 0));
        }
        for (uint64_t size = 1; size <= kMost; ++size) in_[size] = rows(size, static_cast<float>(size));
        finish();
    }
    ~RawRequests() { forget(); }
    RawRequests(const RawRequests&) = delete;
    RawRequests& operator=(const RawRequests&) = delete;

    void launch(uint64_t size, size_t stream) const {
        CUdeviceptr from = in_[size], to = out_[stream];
        unsigned long long bytes = size * kVectorBytes;
        void* arguments[] = {&to, &from, &bytes};
        for (int layer = 0; layer < kLayers; ++layer) {
            CHECK_CU(raw_.cu.cuLaunchKernel(kernel_, static_cast<unsigned>(size), 1, 1, kThreads, 1, 1, 0,
                                            streams_[stream], arguments, nullptr));
            from = to;
        }
    }
    /// Launches a graph for the size on the first stream. The first request of a size captures the graph.
    void launch_captured(uint64_t size) {
        if (!captured_[size]) captured_[size] = capture(size);
        CHECK_CU(raw_.cu.cuGraphLaunch(captured_[size], streams_[0]));
    }
    void forget() {
        finish();
        for (CUgraphExec& exec : captured_)
            if (exec) raw_.cu.cuGraphExecDestroy(std::exchange(exec, nullptr));
    }
    void finish() const {
        for (const CUstream stream : streams_) raw_.finish(stream);
    }
    /// Checks the result of the stream's newest request.
    void check(uint64_t size, size_t stream) const {
        float row[kFloats];
        for (const uint64_t i : {uint64_t{0}, size - 1}) {
            CHECK_CU(raw_.cu.cuMemcpyDtoHAsync(row, out_[stream] + i * kVectorBytes, sizeof row, streams_[stream]));
            raw_.finish(streams_[stream]);
            require_all(row, doubled(size), "the base");
        }
    }

private:
    CUdeviceptr rows(uint64_t count, float value) {
        const CUdeviceptr made = raw_.memory(kMost * kVectorBytes);
        CHECK_CU(raw_.cu.cuMemsetD32Async(made, bits_of(kUnpadded), kMost * kFloats, streams_[0]));
        if (count) CHECK_CU(raw_.cu.cuMemsetD32Async(made, bits_of(value), count * kFloats, streams_[0]));
        return made;
    }
    CUgraphExec capture(uint64_t size) const {
        CUgraph graph = nullptr;
        CUgraphExec made = nullptr;
        CHECK_CU(raw_.cu.cuStreamBeginCapture(streams_[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        launch(size, 0);
        CHECK_CU(raw_.cu.cuStreamEndCapture(streams_[0], &graph));
        CHECK_CU(raw_.cu.cuGraphInstantiateWithFlags(&made, graph, 0));
        CHECK_CU(raw_.cu.cuGraphDestroy(graph));
        return made;
    }

    Raw& raw_;
    const CUfunction kernel_;
    std::vector<CUstream> streams_;
    std::vector<CUdeviceptr> out_;
    std::array<CUdeviceptr, kMost + 1> in_{};
    std::array<CUgraphExec, kMost + 1> captured_{};
};

/// Requests through the library.
class BucketRequests {
public:
    BucketRequests(Gpu& gpu, size_t streams)
        : gpu_(gpu), kernel_(gpu.kernel("scale")), streams_(gpu.streams(static_cast<int>(streams))) {
        for (size_t i = 0; i < streams; ++i) out_.push_back(rows(0, 0));
        for (uint64_t size = 1; size <= kMost; ++size) in_.push_back(rows(size, static_cast<float>(size)));
        finish();
    }
    BucketRequests(const BucketRequests&) = delete;
    BucketRequests& operator=(const BucketRequests&) = delete;

    /// Buckets with all shapes, ready to launch on all streams.
    void prepare() {
        auto options = sized<gpo_buckets_options>();
        options.shapes = kShapes.data();
        options.shape_count = kShapes.size();
        options.streams = static_cast<uint32_t>(streams_.size());
        options.record = record;
        options.pad = pad;
        options.user = this;
        CHECK_GPO(gpo_buckets_create(gpu_.device, &options, buckets_.out()));
        CHECK_GPO(gpo_buckets_prepare(buckets_, streams_[0]));
    }
    void launch(uint64_t size, size_t stream) {
        const uint64_t addresses[] = {in_[size - 1]->address, out_[stream]->address};
        settings_[0].value = &addresses[0];
        settings_[1].value = &addresses[1];
        CHECK_GPO(gpo_buckets_launch(buckets_, streams_[stream], size, settings_.data(), sizeof settings_[0],
                                     settings_.size(), nullptr));
        ++launched_;
    }
    void forget() {
        finish();
        buckets_.reset();
        templates_.clear();
        launched_ = 0;
    }
    void finish() const {
        for (const Stream& stream : streams_) gpo::bench::finish(stream);
    }
    void check(uint64_t size, size_t stream) const {
        float row[kFloats];
        const uint64_t shape = *std::lower_bound(kShapes.begin(), kShapes.end(), size);
        for (const uint64_t i : {uint64_t{0}, size - 1, shape - 1}) {
            CHECK_GPO(gpo_copy_to_host(streams_[stream], row, out_[stream]->address + i * kVectorBytes, sizeof row));
            gpo::bench::finish(streams_[stream]);
            require_all(row, i < size ? doubled(size) : 0, "the library");
        }
    }
    /// Throws unless all requests found their bucket, and no bucket has made new graphs.
    void require_no_graphs_made() const {
        auto seen = sized<gpo_buckets_statistics>();
        CHECK_GPO(gpo_buckets_get_statistics(buckets_, &seen));
        require(seen.hits == launched_ && seen.misses == 0 && seen.eager == 0, "a request did not find its bucket");
        require(seen.buckets == kShapes.size() && seen.evictions == 0, "a bucket was evicted");
        for (const gpo_template_t one : templates_) {
            auto graphs = sized<gpo_template_statistics>();
            CHECK_GPO(gpo_template_get_statistics(one, &graphs));
            require(graphs.recordings == 1 && graphs.rebuilds == 0, "a bucket was recorded once more");
            require(graphs.instances == streams_.size(), "a graph was made for a request");
        }
    }
    /// The fraction of padding among the elements that ran.
    double padding() const {
        auto seen = sized<gpo_buckets_statistics>();
        CHECK_GPO(gpo_buckets_get_statistics(buckets_, &seen));
        return static_cast<double>(seen.padded) / static_cast<double>(seen.padded + seen.requested);
    }

private:
    using Rows = std::unique_ptr<Memory>;

    static void require(bool right, const char* what) {
        if (!right) throw std::runtime_error(what);
    }
    static gpo_setting setting(const char* name) {
        auto made = sized<gpo_setting>();
        made.name = name;
        made.bytes = sizeof(uint64_t);
        return made;
    }
    Rows rows(uint64_t count, float value) const {
        auto made = std::make_unique<Memory>(gpu_, kMost * kVectorBytes);
        CHECK_GPO(gpo_fill(streams_[0], made->address, bits_of(kUnpadded), sizeof(float), kMost * kFloats));
        if (count) CHECK_GPO(gpo_fill(streams_[0], made->address, bits_of(value), sizeof(float), count * kFloats));
        return made;
    }
    static gpo_status record(void* user, gpo_stream_t stream, const gpo_bucket_work* work) {
        static_cast<BucketRequests*>(user)->put(stream, *work);
        return GPO_SUCCESS;
    }
    void put(gpo_stream_t stream, const gpo_bucket_work& work) {
        if (work.setting_count) throw std::runtime_error("a request runs eagerly");
        const gpo_launch shape = gpo::bench::shape(static_cast<uint32_t>(work.shape), kThreads);
        const uint64_t bytes = work.shape * kVectorBytes, to = out_[0]->address;
        for (int layer = 0; layer < kLayers; ++layer) {
            gpo::bench::launch(stream, kernel_, shape, to, layer == 0 ? in_.back()->address : to, bytes);
            if (work.graph_template) name_addresses(work.graph_template, stream, layer);
        }
        if (work.graph_template) templates_.push_back(work.graph_template);
    }
    static void name_addresses(gpo_template_t of, gpo_stream_t stream, int layer) {
        uint32_t node = 0;
        CHECK_GPO(gpo_template_get_last_node(of, stream, &node));
        CHECK_GPO(gpo_template_add_parameter(of, "out", node, GPO_PARAMETER_ARGUMENT, 0));
        CHECK_GPO(gpo_template_add_parameter(of, layer == 0 ? "in" : "out", node, GPO_PARAMETER_ARGUMENT, 1));
    }
    /// Writes zeros into the request's input.
    static gpo_status pad(void*, gpo_stream_t stream, const gpo_bucket_work* work) {
        const uint64_t in = *static_cast<const uint64_t*>(work->settings[0].value);
        return gpo_fill(stream, in + work->size * kVectorBytes, 0, sizeof(float), (work->shape - work->size) * kFloats);
    }

    Gpu& gpu_;
    const Kernel kernel_;
    const std::vector<Stream> streams_;
    std::vector<Rows> out_, in_;  // freed after the buckets
    std::array<gpo_setting, 2> settings_ = {setting("in"), setting("out")};
    std::vector<gpo_template_t> templates_;  // of the buckets
    uint64_t launched_ = 0;
    Buckets buckets_;
};

/// Both arms, with the same requests. Successive requests go to the streams in turn.
class Both {
public:
    Both(size_t count, size_t streams) : streams_(streams), base(raw_, gpu_, streams), ours(gpu_, streams) {
        std::mt19937_64 random(1);
        std::uniform_int_distribution<uint64_t> any(1, kMost);
        for (size_t i = 0; i < count; ++i) sizes_.push_back(any(random));
    }

    /// Runs requests to their end, after `first`. `one` has a size and a stream.
    template <class Arm, class First, class One>
    double block(Arm& arm, First&& first, One&& one) const {
        arm.finish();
        const double begin = now_ns();
        first();
        for (size_t i = 0; i < sizes_.size(); ++i) one(sizes_[i], i % streams_);
        arm.finish();
        return million_per_second(sizes_.size(), now_ns() - begin);
    }
    void check() const {
        for (size_t i = sizes_.size() - streams_; i < sizes_.size(); ++i) {
            base.check(sizes_[i], i % streams_);
            ours.check(sizes_[i], i % streams_);
        }
    }
    size_t different_sizes() const { return std::set<uint64_t>(sizes_.begin(), sizes_.end()).size(); }

private:
    Gpu gpu_;
    Raw raw_{gpu_};
    const size_t streams_;
    std::vector<uint64_t> sizes_;

public:
    RawRequests base;
    BucketRequests ours;
};

// --- rows ---

void requests(Row& row, size_t streams) {
    Both both(row.size(size_t{800}, size_t{16}), streams);
    both.ours.prepare();
    const auto nothing = [] {};
    row.pairs(
        [&] {
            return both.block(both.base, nothing,
                              [&](uint64_t size, size_t stream) { both.base.launch(size, stream); });
        },
        [&] {
            return both.block(both.ours, nothing,
                              [&](uint64_t size, size_t stream) { both.ours.launch(size, stream); });
        });
    both.check();
    both.ours.require_no_graphs_made();
    row.note(std::to_string(std::lround(both.ours.padding() * 100)) + " % padding");
}

/// Each block begins without any graph.
void first_requests(Row& row) {
    Both both(row.size(size_t{2000}, size_t{16}), 1);
    row.pairs(
        [&] {
            both.base.forget();
            return both.block(
                both.base, [] {}, [&](uint64_t size, size_t) { both.base.launch_captured(size); });
        },
        [&] {
            both.ours.forget();
            return both.block(
                both.ours, [&] { both.ours.prepare(); },
                [&](uint64_t size, size_t stream) { both.ours.launch(size, stream); });
        });
    both.check();
    both.ours.require_no_graphs_made();
    row.note(std::to_string(both.different_sizes()) + " graphs against " + std::to_string(kShapes.size()));
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("buckets", argc, argv);
    bench.row(
        {.name = "buckets",
         .what = "requests of 1 to 128 rows through 10 small layers, by buckets for 1, 2, 4, … 128, over 8 streams",
         .unit = "M/s",
         .base = "cuLaunchKernel, 10 times with the request's size",
         .target = ratio_at_least(2.5)},
        [](Row& row) { requests(row, 8); });
    bench.row({.name = "buckets_one_stream",
               .what = "the same on one stream",
               .unit = "M/s",
               .base = "cuLaunchKernel, 10 times with the request's size"},
              [](Row& row) { requests(row, 1); });
    bench.row({.name = "buckets_from_none",
               .what = "2,000 such requests on one stream, and making the buckets before them",
               .unit = "M/s",
               .base = "cuGraphLaunch, of a graph that is captured and instantiated when its size comes first"},
              first_requests);
    return bench.finish();
}
