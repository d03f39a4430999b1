// The exported functions of symmetric.h.
#include "gpuorch/symmetric.h"

#include <cstring>
#include <optional>
#include <vector>

#include "abi/call.h"
#include "core/struct_array.h"
#include "peers/symmetric.h"

using namespace gpo;

extern "C" {

GPO_API gpo_status gpo_symmetric_allocate(gpo_peers_t peers, uint64_t bytes, const gpo_symmetric_options* options,
                                          gpo_symmetric_t* memory) {
    return abi::call(__func__, {peers}, [&] {
        required(memory, "memory");
        const gpo_symmetric_options read = read_struct(options, "options");
        Pin<Peers> pinned(peers);
        return abi::blame(*pinned, [&] {
            auto made = Symmetric::create(*pinned, bytes, read);
            *memory = pinned->runtime().publish<gpo_symmetric_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_symmetric_destroy(gpo_symmetric_t memory) {
    return abi::destroy(__func__, memory, Type::symmetric);
}

GPO_API gpo_status gpo_symmetric_get_address(gpo_symmetric_t memory, uint32_t rank, uint64_t* address) {
    return abi::call(__func__, {memory}, [&] {
        required(address, "address");
        Pin<Symmetric> pinned(memory);
        return abi::blame(*pinned, [&] {
            *address = pinned->address(rank);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_symmetric_get_device_handle(gpo_symmetric_t memory, uint32_t rank, void* buffer, size_t capacity,
                                                   size_t* needed) {
    return abi::call(__func__, {memory}, [&] {
        Pin<Symmetric> pinned(memory);
        return abi::blame(*pinned, [&]() -> gpo_status {
            const SymmetricHandle handle = pinned->handle(rank);
            if (!buffer && capacity) fail(GPO_INVALID_ARGUMENT, "buffer is NULL and capacity is ", capacity);
            if (needed) *needed = sizeof handle;
            if (!buffer) return GPO_SUCCESS;
            if (capacity < sizeof handle)
                fail(GPO_BUFFER_TOO_SMALL, "the device handle of ", pinned->describe(), " has ", sizeof handle,
                     " bytes, capacity is ", capacity);
            std::memcpy(buffer, &handle, sizeof handle);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_symmetric_reset(gpo_symmetric_t memory, uint32_t rank, gpo_stream_t stream) {
    return abi::call(__func__, {memory, abi::works_on(stream)}, [&] {
        Pin<Symmetric> pinned(memory);
        Pin<Stream> on(stream);
        return abi::blame(*pinned, [&] { return pinned->reset(rank, *on); });
    });
}

GPO_API gpo_status gpo_symmetric_get_info(gpo_symmetric_t memory, gpo_symmetric_info* info) {
    return abi::call(__func__, {memory}, [&] {
        required(info, "info");
        Pin<Symmetric> pinned(memory);
        write_struct(info, pinned->info(), "info");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_peers_launch(gpo_peers_t peers, const gpo_rank_launch* launches, uint64_t stride,
                                    uint32_t count) {
    gpo_stream_t named[GPO_PEERS_MOST_RANKS] = {};
    return abi::call(__func__, {peers, std::span<const gpo_stream_t>(named)}, [&] {
        if (count == 0 || count > GPO_PEERS_MOST_RANKS)
            fail(GPO_INVALID_ARGUMENT, "count is ", count, ": a group has 1 to ", GPO_PEERS_MOST_RANKS, " ranks");
        const StructArray<gpo_rank_launch> array(launches, stride, count, "launches", "stride");
        for (uint32_t rank = 0; rank < count; ++rank) named[rank] = array.read(rank).stream;
        Pin<Peers> pinned(peers);
        return abi::blame(*pinned, [&] {
            std::optional<Pin<Stream>> streams[GPO_PEERS_MOST_RANKS];
            std::optional<Pin<Kernel>> kernels[GPO_PEERS_MOST_RANKS];
            std::vector<gpo::peers::RankLaunch> own;
            for (uint32_t rank = 0; rank < count; ++rank) {
                const gpo_rank_launch launch = array.read(rank);
                if (launch.reserved) fail(GPO_INVALID_ARGUMENT, "launches[", rank, "].reserved is not 0");
                refuse_unknown_flags(launch.flags, 0, text("launches[", rank, "].flags").c_str());
                if (!launch.launch) fail(GPO_INVALID_ARGUMENT, "launches[", rank, "].launch is NULL");
                streams[rank].emplace(launch.stream);
                kernels[rank].emplace(launch.kernel);
                own.push_back({&**streams[rank], &**kernels[rank], read_struct(launch.launch, "launch"),
                               launch.arguments, launch.sizes, launch.argument_count});
            }
            return pinned->launch(own);
        });
    });
}
}
