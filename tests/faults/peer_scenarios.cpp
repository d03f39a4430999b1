#include "faults/peer_scenarios.h"

#include <array>
#include <vector>

namespace gpo::test {

namespace {

constexpr uint32_t kRanks = 2;
constexpr uint64_t kWords = 64;

using Peers = Owned<gpo_peers_t, gpo_peers_destroy>;
using Symmetric = Owned<gpo_symmetric_t, gpo_symmetric_destroy>;

struct Group {
    std::array<gpo_device_t, kRanks> devices{};
    Device second;
    std::array<Stream, kRanks> streams;
    Stream resident;   // makes the library load the group's kernels early; if that fails, it loads them later
    std::array<Module, kRanks> modules;
    std::array<Kernel, kRanks> fill;
    Peers peers;
    Symmetric memory;

    bool open(Attempt& a, bool with_resident = false) {
        if (!a.open()) return false;
        auto options = sized<gpo_device_options>();
        options.ordinal = 1;
        if (!STEP(a, gpo_device_open(a.runtime, &options, second.out()))) return false;
        devices = {a.device, second};
        for (uint32_t rank = 0; rank < kRanks; ++rank)
            if (!STEP(a, gpo_stream_create(devices[rank], nullptr, streams[rank].out())) ||
                !STEP(a, gpo_module_load_builtin(devices[rank], modules[rank].out())) ||
                !STEP(a, gpo_module_get_kernel(modules[rank], "gpo_fill_u32", fill[rank].out())))
                return false;
        auto early = sized<gpo_stream_options>();
        early.flags = GPO_STREAM_RESIDENT;
        if (with_resident && !STEP(a, gpo_stream_create(a.device, &early, resident.out()))) return false;
        if (!STEP(a, gpo_peers_create(devices.data(), kRanks, nullptr, peers.out()))) {
            CHECK(peers.get() == nullptr);
            return false;
        }
        return true;
    }
    bool allocate(Attempt& a) {
        if (STEP(a, gpo_symmetric_allocate(peers, kWords * 4, nullptr, memory.out()))) return true;
        CHECK(memory.get() == nullptr);
        return false;
    }
    void renew_streams() {
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            Stream fresh;
            auto info = sized<gpo_stream_info>();   // the work that was put on before
            if (gpo_stream_get_info(streams[rank], &info) == GPO_SUCCESS && info.held == 0)
                gpo_stream_wait(streams[rank], kPatience);
            if (gpo_stream_create(devices[rank], nullptr, fresh.out()) == GPO_SUCCESS) streams[rank] = std::move(fresh);
        }
    }

    gpo_status barrier() {
        auto what = sized<gpo_collective>();
        what.kind = GPO_COLLECTIVE_BARRIER;
        return submit(what);
    }
    /// The sum of what the ranks have, in place.
    gpo_status sum() {
        auto what = sized<gpo_collective>();
        what.kind = GPO_COLLECTIVE_ALL_REDUCE;
        what.type = GPO_TYPE_UINT32;
        what.reduction = GPO_REDUCE_SUM;
        what.count = kWords;
        return submit(what);
    }
    gpo_status submit(const gpo_collective& what) {
        std::vector<gpo_rank_part> parts(kRanks, sized<gpo_rank_part>());
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            parts[rank].stream = streams[rank];
            if (what.kind == GPO_COLLECTIVE_BARRIER) continue;
            if (const gpo_status status = gpo_symmetric_get_address(memory, rank, &parts[rank].send)) return status;
            parts[rank].receive = parts[rank].send;
        }
        const gpo_status status = gpo_peers_submit(peers, &what, parts.data(), sizeof parts[0], kRanks);
        if (status != GPO_SUCCESS) renew_streams();
        return status;
    }

    /// Each rank fills the other's memory. A launch that fails half way takes its streams along: the next try has new
    /// ones.
    gpo_status launch(uint32_t value) {
        std::array<uint64_t, kRanks> to{};
        std::array<std::array<const void*, 3>, kRanks> arguments{};
        const uint64_t words = kWords;
        const uint32_t sizes[] = {8, 4, 8};
        auto shape = sized<gpo_launch>();
        shape.grid[0] = 1;
        shape.block[0] = 32;
        std::vector<gpo_rank_launch> launches(kRanks, sized<gpo_rank_launch>());
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            if (const gpo_status status = gpo_symmetric_get_address(memory, 1 - rank, &to[rank])) return status;
            arguments[rank] = {&to[rank], &value, &words};
            launches[rank].stream = streams[rank];
            launches[rank].kernel = fill[rank];
            launches[rank].launch = &shape;
            launches[rank].arguments = arguments[rank].data();
            launches[rank].sizes = sizes;
            launches[rank].argument_count = 3;
        }
        const gpo_status status = gpo_peers_launch(peers, launches.data(), sizeof launches[0], kRanks);
        if (status != GPO_SUCCESS) renew_streams();
        return status;
    }

    /// Whether all submitted work is done. If a wait has failed, later work would not be ordered after it.
    bool idle(Attempt& a) {
        bool all = true;
        for (const Stream& stream : streams) all = ASK(a, gpo_stream_wait(stream, kPatience)) && all;
        return all;
    }

    /// Whether both memories are filled; false also where that can't be seen.
    bool filled(Attempt& a, uint32_t value) {
        bool right = true;
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            std::array<uint32_t, kWords> words{};
            uint64_t address = 0;
            if (!STEP(a, gpo_symmetric_get_address(memory, rank, &address)) ||
                !STEP(a, gpo_copy_to_host(streams[rank], words.data(), address, sizeof words)) ||
                !ASK(a, gpo_stream_wait(streams[rank], kPatience)))
                return false;
            for (const uint32_t word : words) right = right && word == value;
        }
        return right;
    }
};

}  // namespace

void symmetric_memory(Attempt& a) {
    Group group;
    if (!group.open(a) || !group.allocate(a)) return;
    char handle[GPO_SYMMETRIC_HANDLE_BYTES];
    auto info = sized<gpo_symmetric_info>();
    STEP(a, gpo_symmetric_get_device_handle(group.memory, 1, handle, sizeof handle, nullptr));
    STEP(a, gpo_symmetric_get_info(group.memory, &info));
    STEP(a, gpo_symmetric_reset(group.memory, 1, group.streams[1]));
    if (STEP(a, group.launch(7))) {
        for (const Stream& stream : group.streams) a.notify(stream);
        const int failures = a.failures();
        const bool right = group.idle(a) && group.filled(a, 7);
        if (a.failures() == failures && !a.shared()) CHECK(right);
    }
    Timeline later;
    if (group.idle(a) && STEP(a, gpo_timeline_create(a.runtime, nullptr, later.out())) &&
        STEP(a, gpo_stream_wait_timeline(group.streams[0], later, 1))) {
        if (STEP(a, group.launch(9)))
            for (const Stream& stream : group.streams) a.notify(stream);
        STEP(a, gpo_timeline_signal(later, 1));
        group.idle(a);
    }
    STEP(a, gpo_symmetric_destroy(group.memory.release()));
    STEP(a, gpo_peers_destroy(group.peers.release()));
}

void collectives(Attempt& a) {
    Group group;
    if (!group.open(a, true) || !group.allocate(a)) return;
    auto info = sized<gpo_peers_info>();
    auto link = sized<gpo_peer_properties>();
    STEP(a, gpo_peers_get_info(group.peers, &info));
    STEP(a, gpo_peers_get_link(group.peers, 0, 1, &link));
    const uint32_t swapped[] = {1, 0};
    Peers part;
    if (!STEP(a, gpo_peers_split(group.peers, swapped, kRanks, nullptr, part.out()))) CHECK(part.get() == nullptr);
    // The ranks have written each other's memory, and a stream of a small sum waits for none of the others.
    if (STEP(a, group.launch(3)) && STEP(a, group.barrier()) && STEP(a, group.sum())) {
        for (const Stream& stream : group.streams) a.notify(stream);
        const int failures = a.failures();
        const bool right = group.idle(a) && group.filled(a, 6);
        if (a.failures() == failures && !a.shared()) CHECK(right);
    }
    Timeline later;
    if (group.idle(a) && STEP(a, gpo_timeline_create(a.runtime, nullptr, later.out())) &&
        STEP(a, gpo_stream_wait_timeline(group.streams[1], later, 1))) {
        if (STEP(a, group.sum()))
            for (const Stream& stream : group.streams) a.notify(stream);
        STEP(a, gpo_timeline_signal(later, 1));
        group.idle(a);
    }
    STEP(a, gpo_peers_destroy(part.release()));
    STEP(a, gpo_peers_destroy(group.peers.release()));
}

}  // namespace gpo::test
