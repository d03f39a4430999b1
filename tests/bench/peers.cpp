// Groups of devices: copies between devices, and collectives against NCCL called by hand. Rows need two devices or
// more.
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
#include "support/pipeline_ends.h"

using namespace gpo::bench;
using gpo::driver::Nccl;

namespace {

using Peers = gpo::test::Owned<gpo_peers_t, gpo_peers_destroy>;
using Device = gpo::test::Owned<gpo_device_t, gpo_device_close>;

constexpr uint64_t kKiB = 1 << 10, kMiB = 1 << 20;

/// The library's half: all devices, with a stream on each.
struct Devices : Gpu {
    explicit Devices(uint32_t engine = GPO_AUTO) : Gpu(GPO_COMPLETION_LATENCY) {
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
        auto options = sized<gpo_peers_options>();
        options.engine = engine;
        const gpo_status status = gpo_peers_create(handles.data(), ranks(), &options, peers.out());
        if (status == GPO_NOT_SUPPORTED) {
            auto error = sized<gpo_error>();
            gpo_last_error(&error);
            throw Skip(error.message);
        }
        CHECK_GPO(status);
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

/// The raw arm: the primary contexts of the same devices, with a stream in each.
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

/// The library's arm: a template for each device, like NCCL's graph for each device.
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

/// The bus bandwidth as nccl-tests defines it: bytes / time, times 2 (n - 1) / n.
std::string bus_bandwidth(uint64_t bytes, uint32_t ranks, double ns) {
    const double busbw = static_cast<double>(bytes) / ns * 2 * (ranks - 1) / ranks;
    return std::to_string(ranks) + " GPUs, bus bandwidth " + std::to_string(busbw).substr(0, 6) + " GB/s";
}

// --- kernels of two devices ---

const char* const kSource = R"(
#include <gpuorch/device/steal.cuh>

// 8 bytes and a signal to the other rank and back; from 64 on the data, at 0 the signal.
extern "C" __global__ void ping_pong(gpo::symmetric memory, unsigned long long from, unsigned rounds, unsigned *failed) {
    const unsigned other = 1 - memory.rank;
    for (unsigned long long round = from + 1; round <= from + rounds; ++round) {
        const unsigned long long data = round * 3;
        if (memory.rank == 0) gpo::put_signal(memory, other, 64, &data, 8, 0, round, gpo::signal_set);
        if (gpo::wait(memory, 0, gpo::wait_at_least, round, gpo::nanoseconds(1000000000)) != gpo::peer_success ||
            *gpo::pointer<volatile unsigned long long>(memory, memory.rank, 64) != data) {
            *failed = 1;
            return;
        }
        if (memory.rank == 1) gpo::put_signal(memory, other, 64, &data, 8, 0, round, gpo::signal_set);
    }
}

// A packet to the other rank and back.
extern "C" __global__ void packet_ping_pong(gpo::symmetric memory, unsigned long long from, unsigned rounds,
                                            unsigned *failed) {
    const unsigned other = 1 - memory.rank;
    for (unsigned round = (unsigned)from + 1; round <= from + rounds; ++round) {
        const unsigned long long data = round * 3ull;
        unsigned long long came = 0;
        if (memory.rank == 0) gpo::put_packet(memory, other, 128, data, round);
        if (gpo::wait_packet(memory, 128, round, gpo::nanoseconds(1000000000), &came) != gpo::peer_success ||
            came != data) {
            *failed = 1;
            return;
        }
        if (memory.rank == 1) gpo::put_packet(memory, other, 128, data, round);
    }
}

// The same by hand: a fence between the data and the flag.
extern "C" __global__ void ping_pong_by_hand(unsigned rank, volatile unsigned long long *mine,
                                             volatile unsigned long long *theirs, unsigned long long from, unsigned rounds,
                                             unsigned *failed) {
    for (unsigned long long round = from + 1; round <= from + rounds; ++round) {
        if (rank == 0) {
            theirs[8] = round * 3;
            __threadfence_system();
            theirs[0] = round;
        }
        while (mine[0] < round) {
        }
        __threadfence_system();
        if (mine[8] != round * 3) *failed = 1;
        if (rank == 1) {
            theirs[8] = round * 3;
            __threadfence_system();
            theirs[0] = round;
        }
    }
}

// Task i takes as long as i squared says.
__device__ void task(unsigned i, unsigned *out) {
    unsigned value = i + threadIdx.x % 32;
    for (unsigned turn = 0; turn < (i >> 8) * (i >> 8) >> 6; ++turn) {
        value ^= value << 13;
        value ^= value >> 17;
        value ^= value << 5;
    }
    if (value == 0) *out = i;
}
extern "C" __global__ void shared_tasks(gpo::symmetric memory, unsigned long long count, unsigned *out) {
    gpo::warp_steal mine(gpo::shared_numbers(memory, 0, count, 8));
    unsigned long long first, last;
    while (mine.next(first, last) == gpo::peer_success)
        for (; first < last; ++first) task(first, out);
}
// A gradient's backward pass: `turns` of work, and a number.
extern "C" __global__ void backward(float *gradients, unsigned n, unsigned turns) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x + 1;
    for (unsigned turn = 0; turn < turns; ++turn) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
    }
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        gradients[i] = 1 + (x == 0);
}
extern "C" __global__ void static_tasks(unsigned rank, unsigned ranks, unsigned long long count, unsigned *out) {
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = gridDim.x * blockDim.x / 32;
    const unsigned long long begin = count * rank / ranks, end = count * (rank + 1) / ranks;
    for (unsigned long long i = begin + warp; i < end; i += warps) task(i, out);
}
)";

using Symmetric = gpo::test::Owned<gpo_symmetric_t, gpo_symmetric_destroy>;

/// Kernels of a source on each device, and symmetric memory.
struct Kernels : Devices {
    explicit Kernels(uint64_t bytes, uint32_t engine = GPO_AUTO) : Devices(engine) {
        for (uint32_t rank = 0; rank < ranks(); ++rank) {
            auto options = sized<gpo_compile_options>();
            options.source = kSource;
            Module module;
            CHECK_GPO(gpo_module_compile(devices[rank], &options, module.out()));
            modules.push_back(std::move(module));
            flags.push_back(memory(rank, 256));
            CHECK_GPO(gpo_fill(streams[rank], flags.back(), 0, 4, 64));
        }
        CHECK_GPO(gpo_symmetric_allocate(peers, bytes, nullptr, symmetric.out()));
        for (uint32_t rank = 0; rank < ranks(); ++rank) {
            handles.emplace_back();
            CHECK_GPO(
                gpo_symmetric_get_device_handle(symmetric, rank, handles.back().words, sizeof handles.back(), nullptr));
        }
    }
    Kernel kernel_of(uint32_t rank, const char* name) {
        Kernel made;
        CHECK_GPO(gpo_module_get_kernel(modules[rank], name, made.out()));
        return made;
    }
    uint32_t failed(uint32_t rank) {
        uint32_t out = 0;
        CHECK_GPO(gpo_copy_to_host(streams[rank], &out, flags[rank], sizeof out));
        finish(streams[rank]);
        return out;
    }
    struct Handle {
        uint64_t words[GPO_SYMMETRIC_HANDLE_BYTES / 8];
    };
    std::vector<Module> modules;
    std::vector<uint64_t> flags;
    Symmetric symmetric;
    std::vector<Handle> handles;
};

/// Launches one kernel on each rank together, with the arguments `arguments(rank)`, an array of addresses.
template <class Arguments>
double together(Kernels& on, const std::vector<Kernel>& kernels, const gpo_launch& shape, Arguments&& arguments,
                uint32_t count) {
    std::vector<gpo_rank_launch> launches(on.ranks(), sized<gpo_rank_launch>());
    for (uint32_t rank = 0; rank < on.ranks(); ++rank) {
        launches[rank].stream = on.streams[rank];
        launches[rank].kernel = kernels[rank];
        launches[rank].launch = &shape;
        launches[rank].arguments = arguments(rank);
        launches[rank].argument_count = count;
    }
    const double begin = now_ns();
    CHECK_GPO(gpo_peers_launch(on.peers, launches.data(), sizeof launches[0], on.ranks()));
    on.finish_all();
    return now_ns() - begin;
}

void put_signal(Row& row, const char* ping_pong) {
    Kernels on(4096);
    if (on.ranks() != 2) throw Skip("needs two devices, and no more");
    std::vector<Kernel> ours, base;
    for (uint32_t rank = 0; rank < 2; ++rank) {
        ours.push_back(on.kernel_of(rank, ping_pong));
        base.push_back(on.kernel_of(rank, "ping_pong_by_hand"));
    }
    const uint64_t words[2] = {on.memory(0, 256), on.memory(1, 256)};
    for (uint32_t rank = 0; rank < 2; ++rank) CHECK_GPO(gpo_fill(on.streams[rank], words[rank], 0, 4, 64));
    const uint32_t rounds = row.size(2000u, 10u);
    uint64_t done[2] = {};
    const gpo_launch one = shape(1, 1);
    const auto block = [&](bool by_hand) {
        struct {
            uint32_t rank;
            uint64_t mine, theirs, failed;
            const void* pointers[6];
        } of[2];
        const double ns = together(on, by_hand ? base : ours, one, [&](uint32_t rank) {
            auto& a = of[rank];
            a.rank = rank;
            a.mine = words[rank];
            a.theirs = words[1 - rank];
            a.failed = on.flags[rank];
            if (by_hand) {
                const void* all[] = {&a.rank, &a.mine, &a.theirs, &done[1], &rounds, &a.failed};
                std::copy(all, all + 6, a.pointers);
            } else {
                const void* all[] = {on.handles[rank].words, &done[0], &rounds, &a.failed};
                std::copy(all, all + 4, a.pointers);
            }
            return a.pointers;
        }, by_hand ? 6 : 4);
        done[by_hand] += rounds;
        return ns / rounds;
    };
    row.pairs([&] { return block(true); }, [&] { return block(false); });
    if (on.failed(0) || on.failed(1)) throw std::runtime_error("data came behind its signal, or not at all");
}

void shared_range(Row& row) {
    Kernels on(4096);
    std::vector<Kernel> ours, base;
    for (uint32_t rank = 0; rank < on.ranks(); ++rank) {
        ours.push_back(on.kernel_of(rank, "shared_tasks"));
        base.push_back(on.kernel_of(rank, "static_tasks"));
    }
    const uint64_t count = row.size(uint64_t{200000}, uint64_t{1000});
    const uint32_t ranks = on.ranks();
    const gpo_launch whole = shape(static_cast<uint32_t>(on.properties.multiprocessors) * 2, 256);
    const auto block = [&](bool fixed) {
        struct Of {
            uint32_t rank;
            uint64_t out;
            const void* pointers[4];
        };
        std::vector<Of> of(ranks);
        return together(on, fixed ? base : ours, whole, [&](uint32_t rank) {
            Of& a = of[rank];
            a.rank = rank;
            a.out = on.flags[rank];
            if (fixed) {
                const void* all[] = {&a.rank, &ranks, &count, &a.out};
                std::copy(all, all + 4, a.pointers);
            } else {
                const void* all[] = {on.handles[rank].words, &count, &a.out};
                std::copy(all, all + 3, a.pointers);
            }
            return a.pointers;
        }, fixed ? 4 : 3) * 1e-6;
    };
    row.pairs([&] { return block(true); }, [&] { return block(false); });
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

// --- a data-parallel step ---

/// Sixteen kernels on each device, and after each kernel the sum of its results over the devices, in one template.
class TrainingStep {
public:
    static constexpr uint32_t kBuckets = 16;
    enum class Does { both_at_once, one_after_the_other, kernels, sums };

    TrainingStep(Kernels& on, uint64_t gradient_bytes, double compute_ns)
        : on_(on), count_(static_cast<uint32_t>(gradient_bytes / sizeof(float) / kBuckets)) {
        for (uint32_t rank = 0; rank < on.ranks(); ++rank) {
            kernels_.push_back(on.kernel_of(rank, "backward"));
            gradients_.push_back(on.memory(rank, gradient_bytes));
            sums_.emplace_back();
            CHECK_GPO(gpo_stream_create(on.devices[rank], nullptr, sums_.back().out()));
            events_.emplace_back(kBuckets + 1);
            for (Event& event : events_.back()) CHECK_GPO(gpo_event_create(on.devices[rank], nullptr, event.out()));
        }
        constexpr uint32_t kTrial = 20000;
        turns_ = kTrial;
        const Graph trial = record(Does::kernels);
        block(trial, 1);
        turns_ = static_cast<uint32_t>(kTrial * compute_ns / block(trial, 4));
        for (const Does does : {Does::both_at_once, Does::one_after_the_other, Does::kernels, Does::sums}) {
            graphs_.push_back(record(does));
            block(graphs_.back(), 1);
        }
    }
    double block(Does does, int steps) { return block(graphs_[static_cast<size_t>(does)], steps); }

private:
    using Event = gpo::test::Owned<gpo_event_t, gpo_event_destroy>;

    /// Makes `stream` of one device wait for the work on `before` of another device, or of the same.
    void follow(gpo_stream_t stream, gpo_stream_t before, const Event& event) {
        CHECK_GPO(gpo_event_record(event, before));
        CHECK_GPO(gpo_stream_wait_event(stream, event));
    }

    Graph record(Does does) {
        const uint32_t ranks = on_.ranks();
        Template recording;
        CHECK_GPO(gpo_template_create(on_.devices[0], nullptr, recording.out()));
        CHECK_GPO(gpo_template_begin(recording, on_.streams[0]));
        for (uint32_t rank = 1; rank < ranks; ++rank) follow(on_.streams[rank], on_.streams[0], events_[0][kBuckets]);
        auto sum = sized<gpo_collective>();
        sum.kind = GPO_COLLECTIVE_ALL_REDUCE;
        sum.type = GPO_TYPE_FLOAT32;
        sum.reduction = GPO_REDUCE_SUM;
        sum.count = count_;
        const gpo_launch whole = shape(static_cast<uint32_t>(on_.properties.multiprocessors), 256);
        for (uint32_t bucket = 0; bucket < kBuckets; ++bucket) {
            std::vector<gpo_rank_part> parts(ranks, sized<gpo_rank_part>());
            for (uint32_t rank = 0; rank < ranks; ++rank) {
                const uint64_t piece = gradients_[rank] + uint64_t{bucket} * count_ * sizeof(float);
                const void* arguments[] = {&piece, &count_, &turns_};
                if (does != Does::sums)
                    CHECK_GPO(gpo_stream_launch_kernel(on_.streams[rank], kernels_[rank], &whole, arguments, nullptr,
                                                       3));
                if (does == Does::both_at_once) follow(sums_[rank], on_.streams[rank], events_[rank][bucket]);
                parts[rank].stream = does == Does::both_at_once ? sums_[rank] : on_.streams[rank];
                parts[rank].send = parts[rank].receive = piece;
            }
            if (does != Does::kernels)
                CHECK_GPO(gpo_peers_submit(on_.peers, &sum, parts.data(), sizeof parts[0], ranks));
        }
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            if (does == Does::both_at_once) follow(on_.streams[rank], sums_[rank], events_[rank][kBuckets]);
            if (rank) follow(on_.streams[0], on_.streams[rank], events_[rank][0]);
        }
        CHECK_GPO(gpo_template_end(recording));
        Graph made;
        CHECK_GPO(gpo_graph_create(recording, nullptr, made.out()));
        return made;
    }
    double block(const Graph& graph, int steps) {
        on_.finish_all();
        const double begin = now_ns();
        for (int step = 0; step < steps; ++step) CHECK_GPO(gpo_graph_launch(graph, on_.streams[0]));
        on_.finish_all();
        return (now_ns() - begin) / steps * 1e-6;
    }

    Kernels& on_;
    const uint32_t count_;       // elements of a bucket
    uint32_t turns_ = 0;
    std::vector<Kernel> kernels_;
    std::vector<uint64_t> gradients_;
    std::vector<Stream> sums_;
    std::vector<std::vector<Event>> events_;
    std::vector<Graph> graphs_;
};

void training_step(Row& row, uint32_t engine, bool against_the_longer) {
    using Does = TrainingStep::Does;
    Kernels on(4096, engine);
    TrainingStep step(on, row.size(256 * kMiB, kMiB), row.size(2.0, 0.1));
    const int steps = row.size(5, 1);
    double kernels = 1e30, sums = 1e30;
    row.pairs(
        [&] {
            if (!against_the_longer) return step.block(Does::one_after_the_other, steps);
            const double first = step.block(Does::kernels, steps), second = step.block(Does::sums, steps);
            kernels = std::min(kernels, first);
            sums = std::min(sums, second);
            return std::max(first, second);
        },
        [&] { return step.block(Does::both_at_once, steps); });
    if (against_the_longer)
        row.note("kernels alone " + std::to_string(kernels).substr(0, 5) + " ms, sums alone " +
                 std::to_string(sums).substr(0, 5) + " ms (best blocks)");
}

// --- a pipeline over all devices ---

const char* const kIterate = R"(
extern "C" __global__ void iterate(const float *x, float *y, unsigned long long bytes, unsigned turns) {
    const unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    if (i >= bytes / sizeof(float)) return;
    float value = x[i];
    for (unsigned turn = 0; turn < turns; ++turn) value = value * 0.5f + 1.0f;
    y[i] = value;
}
)";

void shared_pipeline(Row& row) {
    constexpr uint64_t kChunk = kMiB;
    Devices all(GPO_ENGINE_DIRECT);
    const uint64_t bytes = row.size(256 * kMiB, uint64_t{4} * all.ranks() * kMiB);
    const uint32_t turns = row.size(32768u, 4u);   // some 0.3 ms a chunk, fifteen times its copy
    std::vector<float> in(bytes / sizeof(float)), out[2] = {in, in};
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 1024);
    std::vector<Module> modules(all.ranks());
    std::vector<Kernel> owned(all.ranks());
    std::vector<gpo_kernel_t> kernels;
    for (uint32_t rank = 0; rank < all.ranks(); ++rank) {
        auto options = sized<gpo_compile_options>();
        options.source = kIterate;
        CHECK_GPO(gpo_module_compile(all.devices[rank], &options, modules[rank].out()));
        CHECK_GPO(gpo_module_get_kernel(modules[rank], "iterate", owned[rank].out()));
        kernels.push_back(owned[rank]);
    }
    gpo_stage_argument arguments[] = {GPO_STAGE_ARGUMENT(INPUT), GPO_STAGE_ARGUMENT(OUTPUT),
                                      GPO_STAGE_ARGUMENT(INPUT_BYTES), GPO_STAGE_ARGUMENT_VALUE(turns)};
    gpo_stage stage = GPO_STAGE_FOR_KERNEL(nullptr, arguments);
    stage.kernels = kernels.data();
    stage.block[0] = 256;
    stage.bytes_per_block = 256 * sizeof(float);
    const std::vector<gpo_device_t> devices(all.devices.begin(), all.devices.end());
    auto options = sized<gpo_pipeline_options>();
    options.stages = &stage;
    options.stage_stride = sizeof stage;
    options.stage_count = 1;
    options.chunk_bytes = kChunk;
    options.devices = devices.data();
    Pipeline pipelines[2];
    for (uint32_t wide = 0; wide < 2; ++wide) {
        options.device_count = wide ? all.ranks() : 1;
        CHECK_GPO(gpo_pipeline_create(devices[0], &options, pipelines[wide].out()));
    }
    for (void* memory : {static_cast<void*>(in.data()), static_cast<void*>(out[0].data()),
                         static_cast<void*>(out[1].data())})
        CHECK_GPO(gpo_host_register(devices[0], memory, bytes, 0));
    const gpo_source source = gpo::test::from_memory(in.data(), bytes);
    const auto block = [&](uint32_t wide) {
        const gpo_sink sink = gpo::test::to_memory(out[wide].data(), bytes);
        auto result = sized<gpo_pipeline_result>();
        CHECK_GPO(gpo_pipeline_start(pipelines[wide], &source, &sink));
        CHECK_GPO(gpo_pipeline_wait(pipelines[wide], -1, &result));
        return gigabytes_per_second(bytes, static_cast<double>(result.elapsed_ns)) / (wide ? all.ranks() : 1);
    };
    block(0), block(1);
    row.pairs([&] { return block(0); }, [&] { return block(1); });
    if (out[0] != out[1]) throw std::runtime_error("the output of all devices isn't that of one");
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t rank = 0; rank < all.ranks(); ++rank) {
        auto share = sized<gpo_pipeline_share>();
        CHECK_GPO(gpo_pipeline_get_share(pipelines[1], rank, &share));
        least = std::min(least, share.chunks);
        most = std::max(most, share.chunks);
    }
    row.note(std::to_string(all.ranks()) + " GPUs; of " + std::to_string(bytes / kChunk) + " chunks each did " +
             std::to_string(least) + " to " + std::to_string(most) + " in the last run");
    for (void* memory : {static_cast<void*>(in.data()), static_cast<void*>(out[0].data()),
                         static_cast<void*>(out[1].data())})
        CHECK_GPO(gpo_host_unregister(devices[0], memory));
}

// --- rows ---

void copy_rows(Bench& bench) {
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
}

/// Kernels of several devices that work together.
void kernel_rows(Bench& bench) {
    bench.row({.name = "put_signal",
               .what = "8 bytes and a signal to the other device's kernel and back",
               .base = "stores, fences and a flag by hand",
               .target = ratio_at_most(1.1),
               .devices = on_cuda},
              [](Row& row) { put_signal(row, "ping_pong"); });
    bench.row({.name = "put_packet",
               .what = "8 bytes as a packet to the other device's kernel and back",
               .base = "stores, fences and a flag by hand",
               .target = ratio_at_most(1.1),
               .devices = on_cuda},
              [](Row& row) { put_signal(row, "packet_ping_pong"); });
    bench.row({.name = "shared_range",
               .what = "200,000 tasks, as long as the square of their number, by a range that the devices share",
               .unit = "ms",
               .base = "as many neighbouring tasks for each device",
               .target = ratio_at_most(1 / 1.5),
               .devices = on_cuda},
              shared_range);
}

void training_rows(Bench& bench) {
    bench.row({.name = "training_step",
               .what = "2 ms of kernels, and the sums of their 256 MiB of gradients over the devices, in 16 buckets",
               .unit = "ms",
               .base = "the kernels alone, or the sums alone: whichever is longer",
               .target = ratio_at_most(1.08),
               .devices = on_cuda},
              [](Row& row) { training_step(row, GPO_ENGINE_DIRECT, true); });
    bench.row({.name = "training_step_nccl",
               .what = "the same, where NCCL sums",
               .unit = "ms",
               .base = "the kernels alone, or the sums alone: whichever is longer",
               .target = ratio_at_most(1.08),
               .devices = on_cuda},
              [](Row& row) { training_step(row, GPO_ENGINE_NCCL, true); });
    bench.row({.name = "training_step_overlap",
               .what = "the step without NCCL",
               .unit = "ms",
               .base = "each sum behind its kernel, and before the next",
               .devices = on_cuda},
              [](Row& row) { training_step(row, GPO_ENGINE_DIRECT, false); });
}

void pipeline_row(Bench& bench) {
    bench.row({.name = "shared_pipeline",
               .what = "256 MiB through a pipeline over all devices, where the kernels take the time: for each device",
               .unit = "GB/s",
               .base = "the pipeline on one device",
               .target = ratio_at_least(0.97)},
              shared_pipeline);
}

void all_reduce_rows(Bench& bench) {
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
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("peers", argc, argv);
    copy_rows(bench);
    kernel_rows(bench);
    training_rows(bench);
    pipeline_row(bench);
    all_reduce_rows(bench);
    return bench.finish();
}
