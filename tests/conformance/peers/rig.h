// For tests of groups of devices: a group of all devices, at most eight, with a stream and buffers on each device.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "support/gpu.h"
#include "support/report.h"
#include "support/setting.h"

namespace gpo::test {

using Peers = Owned<gpo_peers_t, gpo_peers_destroy>;

/// Runtimes that are created during the life of this object have eight software GPUs. The number of CUDA GPUs stays
/// unchanged.
struct EightDevices {
    Setting devices_of_runtime{"GPUORCH_SOFT_DEVICES", "8"};
};

/// Device memory of any device, freed by the destructor.
class RankMemory {
public:
    RankMemory(gpo_device_t device, uint64_t bytes) : device_(device) {
        REQUIRE_OK(gpo_memory_allocate(device, bytes, nullptr, &address_));
    }
    RankMemory(RankMemory&& other) noexcept
        : device_(other.device_), address_(std::exchange(other.address_, 0)) {}
    RankMemory& operator=(RankMemory&&) = delete;
    ~RankMemory() {
        if (address_) gpo_memory_free(device_, address_);
    }
    operator uint64_t() const noexcept { return address_; }

private:
    gpo_device_t device_;
    uint64_t address_ = 0;
};

inline gpo_collective collective(uint32_t kind, uint32_t type, uint64_t count, uint32_t reduction = 0,
                                 uint32_t root = 0) {
    auto made = sized<gpo_collective>();
    made.kind = kind;
    made.type = type;
    made.count = count;
    made.reduction = reduction;
    made.root = root;
    return made;
}

class PeersRig : private EightDevices, public Gpu {
public:
    explicit PeersRig(uint32_t most = 8, uint32_t engine = GPO_AUTO) {
        uint32_t count = 0;
        REQUIRE_OK(gpo_runtime_get_device_count(runtime, &count));
        ranks = std::min(count, most);
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            auto options = sized<gpo_device_options>();
            options.ordinal = rank;
            Device made;
            REQUIRE_OK(gpo_device_open(runtime, &options, made.out()));
            devices.push_back(std::move(made));
            streams.push_back(stream_on(rank));
        }
        auto options = sized<gpo_peers_options>();
        options.engine = engine;
        options.label = "all";
        const auto handles = device_handles();
        REQUIRE_OK(gpo_peers_create(handles.data(), ranks, &options, peers.out()));
    }

    std::vector<gpo_device_t> device_handles() const { return {devices.begin(), devices.end()}; }
    Stream stream_on(uint32_t rank, uint32_t flags = 0) {
        auto options = sized<gpo_stream_options>();
        const std::string label = "rank " + std::to_string(rank);
        options.label = label.c_str();
        options.flags = flags;
        Stream made;
        REQUIRE_OK(gpo_stream_create(devices[rank], &options, made.out()));
        return made;
    }
    std::vector<RankMemory> buffers(uint64_t bytes) {
        std::vector<RankMemory> out;
        for (uint32_t rank = 0; rank < ranks; ++rank) out.emplace_back(devices[rank], std::max<uint64_t>(bytes, 1));
        return out;
    }
    std::vector<gpo_rank_part> parts(const std::vector<RankMemory>& send, const std::vector<RankMemory>& receive) {
        std::vector<gpo_rank_part> out(ranks, sized<gpo_rank_part>());
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            out[rank].stream = streams[rank];
            out[rank].send = send[rank];
            out[rank].receive = receive[rank];
        }
        return out;
    }
    gpo_status submit(const gpo_collective& what, const std::vector<gpo_rank_part>& with) {
        return gpo_peers_submit(peers, &what, with.data(), sizeof with[0], static_cast<uint32_t>(with.size()));
    }
    template <class T>
    void write(const std::vector<RankMemory>& to, uint32_t rank, const std::vector<T>& values) {
        if (values.empty()) return;
        REQUIRE_OK(gpo_copy_to_device(streams[rank], to[rank], values.data(), values.size() * sizeof(T)));
    }
    template <class T>
    std::vector<T> read(const std::vector<RankMemory>& from, uint32_t rank, uint64_t count) {
        std::vector<T> values(count);
        if (count) REQUIRE_OK(gpo_copy_to_host(streams[rank], values.data(), from[rank], count * sizeof(T)));
        REQUIRE_OK(gpo_stream_wait(streams[rank], kPatience));
        return values;
    }
    gpo_peers_info info() {
        auto out = sized<gpo_peers_info>();
        REQUIRE_OK(gpo_peers_get_info(peers, &out));
        return out;
    }
    bool software() {
        auto info = sized<gpo_driver_info>();
        REQUIRE_OK(gpo_runtime_get_driver(runtime, &info));
        return info.software != 0;
    }
    void wait_all() {
        for (const Stream& stream : streams) REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    }

    uint32_t ranks = 0;
    std::vector<Device> devices;
    std::vector<Stream> streams;
    Peers peers;
};

}  // namespace gpo::test
