// The exported functions of peers.h.
#include "gpuorch/peers.h"

#include <optional>
#include <vector>

#include "abi/call.h"
#include "core/struct_array.h"
#include "peers/file_transport.h"
#include "peers/group.h"

using namespace gpo;

namespace {

void check_count(uint32_t count, uint32_t most = GPO_PEERS_MOST_RANKS) {
    if (count == 0 || count > most)
        fail(GPO_INVALID_ARGUMENT, "count is ", count, ": a group has 1 to ", most, " ranks");
}

}  // namespace

extern "C" {

GPO_API gpo_status gpo_peers_create(const gpo_device_t* devices, uint32_t count, const gpo_peers_options* options,
                                    gpo_peers_t* peers) {
    return abi::call(__func__, {}, [&] {
        required(devices, "devices");
        required(peers, "peers");
        const gpo_peers_options read = read_struct(options, "options");
        check_count(count);
        std::vector<Ref<Context>> contexts;
        for (uint32_t rank = 0; rank < count; ++rank) contexts.push_back(Pin<Device>(devices[rank])->context_ref());
        Pin<Device> first(devices[0]);
        return abi::blame(*first, [&] {
            auto made = Peers::create(std::move(contexts), read);
            *peers = first->runtime().publish<gpo_peers_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_peers_destroy(gpo_peers_t peers) { return abi::destroy(__func__, peers, Type::peers); }

GPO_API gpo_status gpo_peers_split(gpo_peers_t peers, const uint32_t* ranks, uint32_t count,
                                   const gpo_peers_options* options, gpo_peers_t* part) {
    return abi::call(__func__, {peers}, [&] {
        required(ranks, "ranks");
        required(part, "part");
        const gpo_peers_options read = read_struct(options, "options");
        check_count(count, GPO_PEERS_MOST_JOINED);
        Pin<Peers> pinned(peers);
        return abi::blame(*pinned, [&] {
            auto made = pinned->split({ranks, count}, read);
            *part = pinned->runtime().publish<gpo_peers_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_peers_make_id(void* buffer, size_t capacity, size_t* needed) {
    return abi::call(__func__, {}, [&] {
        if (!buffer && capacity) fail(GPO_INVALID_ARGUMENT, "buffer is NULL, and capacity is ", capacity);
        if (needed) *needed = GPO_PEERS_ID_BYTES;
        if (capacity < GPO_PEERS_ID_BYTES)
            fail(GPO_BUFFER_TOO_SMALL, "capacity is ", capacity, ", and an id has ", GPO_PEERS_ID_BYTES, " bytes");
        peers::make_id(buffer);
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_peers_join(gpo_device_t device, const gpo_join_options* options, gpo_peers_t* peers) {
    return abi::call(__func__, {device}, [&] {
        required(options, "options");
        required(peers, "peers");
        const gpo_join_options read = read_struct(options, "options");
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            auto made = Peers::join(pinned->context_ref(), read);
            *peers = pinned->runtime().publish<gpo_peers_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_peers_abort(gpo_peers_t peers) {
    return abi::call(__func__, {peers}, [&] {
        Pin<Peers> pinned(peers);
        return abi::blame(*pinned, [&] {
            pinned->abort();
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_peers_get_info(gpo_peers_t peers, gpo_peers_info* info) {
    return abi::call(__func__, {peers}, [&] {
        required(info, "info");
        Pin<Peers> pinned(peers);
        write_struct(info, pinned->info(), "info");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_peers_get_link(gpo_peers_t peers, uint32_t from, uint32_t to, gpo_peer_properties* link) {
    return abi::call(__func__, {peers}, [&] {
        required(link, "link");
        Pin<Peers> pinned(peers);
        return abi::blame(*pinned, [&] {
            write_struct(link, pinned->link(from, to), "link");
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_peers_submit(gpo_peers_t peers, const gpo_collective* collective, const gpo_rank_part* parts,
                                    uint64_t stride, uint32_t count) {
    gpo_stream_t named[GPO_PEERS_MOST_RANKS] = {};
    return abi::call(__func__, {peers, std::span<const gpo_stream_t>(named)}, [&] {
        check_count(count);
        const StructArray<gpo_rank_part> array(parts, stride, count, "parts", "stride");
        for (uint32_t rank = 0; rank < count; ++rank) named[rank] = array.read(rank).stream;
        required(collective, "collective");
        const gpo_collective read = read_struct(collective, "collective");
        Pin<Peers> pinned(peers);
        return abi::blame(*pinned, [&] {
            std::optional<Pin<Stream>> streams[GPO_PEERS_MOST_RANKS];
            std::vector<peers::Part> own;
            for (uint32_t rank = 0; rank < count; ++rank) {
                const gpo_rank_part part = array.read(rank);
                if (part.reserved) fail(GPO_INVALID_ARGUMENT, "parts[", rank, "].reserved is not 0");
                streams[rank].emplace(part.stream);
                own.push_back({&**streams[rank], part.send, part.receive, part.send_to, part.receive_from});
            }
            return pinned->submit(read, own);
        });
    });
}
}
