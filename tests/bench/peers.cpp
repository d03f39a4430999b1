// Groups of devices: copies between devices, and collectives against NCCL called by hand. Rows need two devices or more.
// LINK: objects
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/gpu.h"
#include "bench/pairs.h"
#include "bench/raw.h"
#include "driver/nccl.h"

using namespace gpo::bench;
using gpo::driver::Nccl;

namespace {

using Peers = gpo::test::Owned<gpo_peers_t, gpo_peers_destroy>;
using Device = gpo::test::Owned<gpo_device_t, gpo_device_close>;

constexpr uint64_t kKiB = 1 << 10, kMiB = 1 << 20;

/// The library's half: all devices, with a stream on each.
struct Devices : Gpu {
    Devices() : Gpu(GPO_COMPLETION_LATENCY) {
        uint32_t count = 0;
        CHECK_GPO(gpo_runtime_get_device_count(runtime, &count));
        if (count < 2) throw Skip("there is one device");
        for (uint32_t rank = 0; rank < std::min(count, 8u); ++rank) {
            auto options = sized<gpo_device_options>();
            options.ordinal = rank;
            Device made;
            CHECK_GPO(gpo_device_open(runtime, &options, made.out()));
            auto properties = sized<gpo_device_properties>();
            CHECK_GPO(gpo_device_get_properties(made, &properties));
            ordinals.push_back(properties.native_ordinal);
            devices.push_back(std::move(made));
            Stream stream;
            CHECK_GPO(gpo_stream_create(devices.back(), nullptr, stream.out()));
            streams.push_back(std::move(stream));
        }
        const std::vector<gpo_device_t> handles(devices.begin(), devices.end());
        CHECK_GPO(gpo_peers_create(handles.data(), ranks(), nullptr, peers.out()));
    }
    uint32_t ranks() const { return static_cast<uint32_t>(devices.size()); }
    uint64_t memory(uint32_t rank, uint64_t bytes) {
        uint64_t address = 0;
        CHECK_GPO(gpo_memory_allocate(devices[rank], bytes, "bench", &address));
        taken_.emplace_back(rank, address);
        CHECK_GPO(gpo_fill(streams[rank], address, 0x3c003c00, 4, bytes / 4));
        CHECK_GPO(gpo_stream_wait(streams[rank], -1));
        return address;
    }
    ~Devices() {
        for (const auto& [rank, address] : taken_) gpo_memory_free(devices[rank], address);
    }
    void finish_all() {
        for (const Stream& stream : streams) finish(stream);
    }
    std::vector<Device> devices;
    std::vector<int> ordinals;
    std::vector<Stream> streams;
    Peers peers;

private:
    std::vector<std::pair<uint32_t, uint64_t>> taken_;
};

/// The raw half: the same devices' primary contexts, with a stream in each.
struct RawDevices {
    explicit RawDevices(const Devices& like) : raw(like), cu(raw.cu) {
        for (const int ordinal : like.ordinals) {
            CUdevice device = 0;
            CUcontext context = nullptr;
            CUstream stream = nullptr;
            CHECK_CU(cu.cuDeviceGet(&device, ordinal));
            CHECK_CU(cu.cuDevicePrimaryCtxRetain(&context, device));
            CHECK_CU(cu.cuCtxSetCurrent(context));
            CHECK_CU(cu.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
            devices.push_back(device);
            contexts.push_back(context);
            streams.push_back(stream);
        }
    }
    ~RawDevices() {
        for (size_t rank = 0; rank < streams.size(); ++rank) {
            use(rank);
            for (const auto& [of, address] : taken_)
                if (of == rank) cu.cuMemFree(address);
            cu.cuStreamDestroy(streams[rank]);
        }
        cu.cuCtxSetCurrent(nullptr);
        for (const CUdevice device : devices) cu.cuDevicePrimaryCtxRelease(device);
    }
    void use(size_t rank) const { CHECK_CU(cu.cuCtxSetCurrent(contexts[rank])); }
    CUdeviceptr memory(size_t rank, uint64_t bytes) {
        CUdeviceptr address = 0;
        use(rank);
        CHECK_CU(cu.cuMemAlloc(&address, bytes));
        CHECK_CU(cu.cuMemsetD32Async(address, 0x3c003c00, bytes / 4, streams[rank]));
        taken_.emplace_back(rank, address);
        return address;
    }
    void finish_all() const {
        for (size_t rank = 0; rank < streams.size(); ++rank) {
            use(rank);
            raw.finish(streams[rank]);
        }
    }
    Raw raw;
    const gpo::driver::Table& cu;
    std::vector<CUdevice> devices;
    std::vector<CUcontext> contexts;
    std::vector<CUstream> streams;

private:
    std::vector<std::pair<size_t, CUdeviceptr>> taken_;
};

// --- copies ---

double gigabytes_per_second(uint64_t bytes, double ns) { return static_cast<double>(bytes) / ns; }

void peer_copy(Row& row, bool both) {
    Devices ours;
    RawDevices base(ours);
    const uint64_t bytes = row.size(256 * kMiB, kMiB);
    const int turns = row.size(8, 1);
    uint64_t own[2][2];
    CUdeviceptr raw[2][2];
    for (uint32_t rank = 0; rank < 2; ++rank)
        for (int which = 0; which < 2; ++which) {
            own[rank][which] = ours.memory(rank, bytes);
            raw[rank][which] = base.memory(rank, bytes);
        }
    const uint64_t moved = bytes * static_cast<uint64_t>(turns) * (both ? 2 : 1);
    row.pairs(
        [&] {
            base.finish_all();
            const double begin = now_ns();
            for (int turn = 0; turn < turns; ++turn)
                for (size_t to = 0; to < (both ? 2 : 1); ++to) {
                    base.use(to);
                    CHECK_CU(base.cu.cuMemcpyPeerAsync(raw[to][0], base.contexts[to], raw[1 - to][1],
                                                       base.contexts[1 - to], bytes, base.streams[to]));
                }
            base.finish_all();
            return gigabytes_per_second(moved, now_ns() - begin);
        },
        [&] {
            ours.finish_all();
            const double begin = now_ns();
            for (int turn = 0; turn < turns; ++turn)
                for (size_t to = 0; to < (both ? 2 : 1); ++to)
                    CHECK_GPO(gpo_copy_peer(ours.streams[to], ours.devices[to], own[to][0], ours.devices[1 - to],
                                            own[1 - to][1], bytes));
            ours.finish_all();
            return gigabytes_per_second(moved, now_ns() - begin);
        });
}

// --- all-reduce ---

constexpr Nccl::DataType kNcclFloat = 7;
constexpr Nccl::Reduction kNcclSum = 0;

/// NCCL called by hand: one graph for each device.
class RawAllReduce {
public:
    RawAllReduce(const Devices& like, RawDevices& base, uint64_t bytes, int chain)
        : base_(base), count_(bytes / sizeof(float)) {
        std::string why;
        nccl_ = Nccl::open(&why);
        if (!nccl_) throw Skip(why);
        communicators_.resize(like.ranks());
        check(nccl_->ncclCommInitAll(communicators_.data(), static_cast<int>(like.ranks()), like.ordinals.data()));
        for (uint32_t rank = 0; rank < like.ranks(); ++rank) {
            send_.push_back(base.memory(rank, std::max<uint64_t>(bytes, 64)));
            receive_.push_back(base.memory(rank, std::max<uint64_t>(bytes, 64)));
        }
        call();   // warm
        base.finish_all();
        for (size_t rank = 0; rank < send_.size(); ++rank) {
            base_.use(rank);
            CHECK_CU(base_.cu.cuStreamBeginCapture(base_.streams[rank], CU_STREAM_CAPTURE_MODE_RELAXED));
        }
        for (int i = 0; i < chain; ++i) call();
        for (size_t rank = 0; rank < send_.size(); ++rank) {
            base_.use(rank);
            CUgraph graph = nullptr;
            CUgraphExec exec = nullptr;
            CHECK_CU(base_.cu.cuStreamEndCapture(base_.streams[rank], &graph));
            CHECK_CU(base_.cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
            CHECK_CU(base_.cu.cuGraphDestroy(graph));
            graphs_.push_back(exec);
        }
    }
    ~RawAllReduce() {
        for (size_t rank = 0; rank < graphs_.size(); ++rank) {
            base_.use(rank);
            base_.cu.cuGraphExecDestroy(graphs_[rank]);
        }
        for (const Nccl::Communicator communicator : communicators_) nccl_->ncclCommDestroy(communicator);
    }
    double block(int launches) const {
        base_.finish_all();
        const double begin = now_ns();
        for (int i = 0; i < launches; ++i)
            for (size_t rank = 0; rank < graphs_.size(); ++rank) {
                base_.use(rank);
                CHECK_CU(base_.cu.cuGraphLaunch(graphs_[rank], base_.streams[rank]));
            }
        base_.finish_all();
        return now_ns() - begin;
    }

private:
    static void check(Nccl::Result result) {
        if (result != Nccl::kSuccess) throw std::runtime_error("NCCL gave " + std::to_string(result));
    }
    void call() const {
        check(nccl_->ncclGroupStart());
        for (size_t rank = 0; rank < send_.size(); ++rank)
            check(nccl_->ncclAllReduce(reinterpret_cast<const void*>(send_[rank]),
                                       reinterpret_cast<void*>(receive_[rank]), count_, kNcclFloat, kNcclSum,
                                       communicators_[rank], base_.streams[rank]));
        check(nccl_->ncclGroupEnd());
    }
    RawDevices& base_;
    const uint64_t count_;
    const Nccl* nccl_ = nullptr;
    std::vector<Nccl::Communicator> communicators_;
    std::vector<CUdeviceptr> send_, receive_;
    std::vector<CUgraphExec> graphs_;
};

/// The library's: a template for each device, as NCCL's arm has a graph for each.
class OurAllReduce {
public:
    OurAllReduce(Devices& devices, uint64_t bytes, int chain) : devices_(devices) {
        const uint32_t ranks = devices.ranks();
        auto what = sized<gpo_collective>();
        what.kind = GPO_COLLECTIVE_ALL_REDUCE;
        what.type = GPO_TYPE_FLOAT32;
        what.reduction = GPO_REDUCE_SUM;
        what.count = bytes / sizeof(float);
        std::vector<gpo_rank_part> parts(ranks, sized<gpo_rank_part>());
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            parts[rank].stream = devices.streams[rank];
            parts[rank].send = devices.memory(rank, std::max<uint64_t>(bytes, 64));
            parts[rank].receive = devices.memory(rank, std::max<uint64_t>(bytes, 64));
        }
        std::vector<Template> templates(ranks);
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            CHECK_GPO(gpo_template_create(devices.devices[rank], nullptr, templates[rank].out()));
            CHECK_GPO(gpo_template_begin(templates[rank], devices.streams[rank]));
        }
        for (int i = 0; i < chain; ++i)
            CHECK_GPO(gpo_peers_submit(devices.peers, &what, parts.data(), sizeof parts[0], ranks));
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            CHECK_GPO(gpo_template_end(templates[rank]));
            graphs_.emplace_back();
            CHECK_GPO(gpo_graph_create(templates[rank], nullptr, graphs_.back().out()));
        }
    }
    double block(int launches) const {
        devices_.finish_all();
        const double begin = now_ns();
        for (int i = 0; i < launches; ++i)
            for (uint32_t rank = 0; rank < devices_.ranks(); ++rank)
                CHECK_GPO(gpo_graph_launch(graphs_[rank], devices_.streams[rank]));
        devices_.finish_all();
        return now_ns() - begin;
    }

private:
    Devices& devices_;
    std::vector<Graph> graphs_;
};

/// By nccl-tests: bytes / time, times 2 (n - 1) / n.
std::string bus_bandwidth(uint64_t bytes, uint32_t ranks, double ns) {
    const double busbw = static_cast<double>(bytes) / ns * 2 * (ranks - 1) / ranks;
    return std::to_string(ranks) + " GPUs, bus bandwidth " + std::to_string(busbw).substr(0, 6) + " GB/s";
}

void all_reduce(Row& row, uint64_t bytes, int chain, int launches) {
    Devices devices;
    RawDevices raw(devices);
    RawAllReduce base(devices, raw, bytes, chain);
    OurAllReduce ours(devices, bytes, chain);
    launches = row.size(launches, 1);
    const double each = 1.0 / (launches * chain);
    double best = 1e30;
    row.pairs([&] { return base.block(launches) * each; },
              [&] {
                  const double ns = ours.block(launches) * each;
                  best = std::min(best, ns);
                  return ns;
              });
    row.note(bus_bandwidth(bytes, devices.ranks(), best) + " (best block)");
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("peers", argc, argv);
    bench.row({.name = "peer_copy",
               .what = "copies of 256 MiB from one device to another",
               .unit = "GB/s",
               .base = "cuMemcpyPeerAsync",
               .target = ratio_at_least(0.99)},
              [](Row& row) { peer_copy(row, false); });
    bench.row({.name = "peer_copy_both",
               .what = "the same, both ways at once",
               .unit = "GB/s",
               .base = "cuMemcpyPeerAsync",
               .target = ratio_at_least(0.99)},
              [](Row& row) { peer_copy(row, true); });
    struct Size {
        const char* name;
        const char* what;
        uint64_t bytes;
        int chain, launches;
        double target;
    };
    static constexpr Size kSizes[] = {
        {"all_reduce_8b", "an all-reduce of 8 bytes, of 20 in one template", 8, 20, 20, 1 / 2.2},
        {"all_reduce_8b_alone", "a template of one all-reduce of 8 bytes", 8, 1, 200, 1 / 2.2},
        {"all_reduce_8k", "an all-reduce of 8 KiB, of 20 in one template", 8 * kKiB, 20, 20, 1 / 2.2},
        {"all_reduce_64k", "an all-reduce of 64 KiB, of 20 in one template", 64 * kKiB, 20, 20, 1 / 1.9},
        {"all_reduce_256k", "an all-reduce of 256 KiB, of 20 in one template", 256 * kKiB, 20, 20, 1 / 1.3},
        {"all_reduce_1m", "an all-reduce of 1 MiB, of 20 in one template", kMiB, 20, 10, 1.03},
        {"all_reduce_16m", "an all-reduce of 16 MiB, of 4 in one template", 16 * kMiB, 4, 8, 1.03},
        {"all_reduce_256m", "an all-reduce of 256 MiB in a template", 256 * kMiB, 1, 4, 1.03},
        {"all_reduce_1g", "an all-reduce of 1 GiB in a template", 1024 * kMiB, 1, 1, 1.03}};
    for (const Size& size : kSizes)
        bench.row({.name = size.name,
                   .what = size.what,
                   .base = "NCCL called by hand, in a graph for each device",
                   .target = ratio_at_most(size.target),
                   .devices = on_cuda},
                  [&](Row& row) { all_reduce(row, size.bytes, size.chain, size.launches); });
    return bench.finish();
}
