// peers.hpp: groups of devices (peers.h).
#ifndef GPUORCH_CPP_PEERS_HPP
#define GPUORCH_CPP_PEERS_HPP

#include <cstdint>
#include <vector>

#include "peers_calls.hpp"

namespace gpuorch {

/// A rank's part in a collective: a stream of the rank's device, and the addresses of the sent and received data.
struct rank_buffers {
    gpo_stream_t stream;
    std::uint64_t send, receive;
};

/// From create, or from split or join.
class peers : public owner<peers_calls, gpo_peers_destroy> {
public:
    using owner::owner;

    /// The device at place r has rank r.
    template <class Options = peers_options>
    static peers create(const std::vector<gpo_device_t>& devices, const Options& options = {}) {
        return detail::made<peers>(gpo_peers_create, devices.data(), static_cast<std::uint32_t>(devices.size()),
                                   detail::with_size<gpo_peers_options>(options));
    }
    /// This process's rank in a group of several processes; each process calls this function.
    template <class Options = join_options>
    static peers join(gpo_device_t device, const Options& options) {
        return detail::made<peers>(gpo_peers_join, device, detail::with_size<gpo_join_options>(options));
    }
    template <class Options = peers_options>
    peers split(const std::vector<std::uint32_t>& ranks, const Options& options = {}) const {
        return detail::made<peers>(gpo_peers_split, get(), ranks.data(), static_cast<std::uint32_t>(ranks.size()),
                                   detail::with_size<gpo_peers_options>(options));
    }

    void all_reduce(std::uint32_t type, std::uint32_t reduction, std::uint64_t count,
                    const std::vector<rank_buffers>& ranks) const {
        submit_to(collective(GPO_COLLECTIVE_ALL_REDUCE, type, count, reduction), ranks);
    }
    void reduce(std::uint32_t type, std::uint32_t reduction, std::uint64_t count, std::uint32_t root,
                const std::vector<rank_buffers>& ranks) const {
        submit_to(collective(GPO_COLLECTIVE_REDUCE, type, count, reduction, root), ranks);
    }
    void reduce_scatter(std::uint32_t type, std::uint32_t reduction, std::uint64_t count,
                        const std::vector<rank_buffers>& ranks) const {
        submit_to(collective(GPO_COLLECTIVE_REDUCE_SCATTER, type, count, reduction), ranks);
    }
    void broadcast(std::uint32_t type, std::uint64_t count, std::uint32_t root,
                   const std::vector<rank_buffers>& ranks) const {
        submit_to(collective(GPO_COLLECTIVE_BROADCAST, type, count, 0, root), ranks);
    }
    void all_gather(std::uint32_t type, std::uint64_t count, const std::vector<rank_buffers>& ranks) const {
        submit_to(collective(GPO_COLLECTIVE_ALL_GATHER, type, count), ranks);
    }
    void all_to_all(std::uint32_t type, std::uint64_t count, const std::vector<rank_buffers>& ranks) const {
        submit_to(collective(GPO_COLLECTIVE_ALL_TO_ALL, type, count), ranks);
    }
    /// A barrier ignores the buffers.
    void barrier(const std::vector<rank_buffers>& ranks) const {
        submit_to(collective(GPO_COLLECTIVE_BARRIER, 0, 0), ranks);
    }
    /// Any collective.
    template <class Collective = gpuorch::collective>
    void submit(const Collective& what, const std::vector<gpo_rank_part>& parts) const {
        check(gpo_peers_submit(get(), detail::with_size<gpo_collective>(what), parts.data(), sizeof(gpo_rank_part),
                               static_cast<std::uint32_t>(parts.size())));
    }

private:
    static gpo_collective collective(std::uint32_t kind, std::uint32_t type, std::uint64_t count,
                                     std::uint32_t reduction = 0, std::uint32_t root = 0) noexcept {
        gpo_collective out{};
        out.kind = kind;
        out.type = type;
        out.count = count;
        out.reduction = reduction;
        out.root = root;
        return out;
    }
    void submit_to(const gpo_collective& what, const std::vector<rank_buffers>& ranks) const {
        std::vector<gpo_rank_part> parts;
        for (const rank_buffers& rank : ranks) {
            gpo_rank_part part{};
            part.struct_size = sizeof part;
            part.stream = rank.stream;
            part.send = rank.send;
            part.receive = rank.receive;
            parts.push_back(part);
        }
        submit(what, parts);
    }
};

}  // namespace gpuorch

#endif
