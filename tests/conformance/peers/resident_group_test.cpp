// Groups of devices that are created and used while a resident kernel runs on one of the devices.
#include <string>
#include <vector>

#include "conformance/peers/symmetric_rig.h"
#include "conformance/resident_rig.h"

using namespace gpo::test;

namespace {

/// Two devices, without a group. On a machine with one device, `second` is empty.
struct TwoDevices : private EightDevices, public Gpu {
    void open_second() {
        uint32_t count = 0;
        REQUIRE_OK(gpo_runtime_get_device_count(runtime, &count));
        if (count < 2) return skip("there is one device");
        auto options = sized<gpo_device_options>();
        options.ordinal = 1;
        REQUIRE_OK(gpo_device_open(runtime, &options, second.out()));
        const gpo_device_t of[] = {device, second};
        for (const gpo_device_t one : of) {
            Stream made;
            REQUIRE_OK(gpo_stream_create(one, nullptr, made.out()));
            streams.push_back(std::move(made));
            data.emplace_back(one, 64);
        }
    }
    gpo_status group(gpo_peers_t* out, uint32_t engine = GPO_AUTO) {
        const gpo_device_t of[] = {device, second};
        auto options = sized<gpo_peers_options>();
        options.engine = engine;
        return gpo_peers_create(of, 2, &options, out);
    }
    gpo_status submit(gpo_peers_t peers, const gpo_collective& what, const std::vector<RankMemory>& memory) {
        std::vector<gpo_rank_part> parts(2, sized<gpo_rank_part>());
        for (uint32_t rank = 0; rank < 2; ++rank) {
            parts[rank].stream = streams[rank];
            parts[rank].send = parts[rank].receive = memory[rank];
        }
        return gpo_peers_submit(peers, &what, parts.data(), sizeof parts[0], 2);
    }
    /// Both ranks' results of an all-reduce that sums 1 and 2.
    std::vector<uint32_t> sums(gpo_peers_t peers) {
        for (uint32_t rank = 0; rank < 2; ++rank) REQUIRE_OK(gpo_fill(streams[rank], data[rank], rank + 1, 4, 16));
        REQUIRE_OK(submit(peers, collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_UINT32, 16, GPO_REDUCE_SUM), data));
        std::vector<uint32_t> out(32);
        for (uint32_t rank = 0; rank < 2; ++rank) {
            REQUIRE_OK(gpo_copy_to_host(streams[rank], out.data() + 16 * rank, data[rank], 64));
            CHECK_OK(gpo_stream_wait(streams[rank], kPatience));
        }
        return out;
    }

    Device second;
    std::vector<Stream> streams;
    std::vector<RankMemory> data;
};

const std::vector<uint32_t> kSums(32, 3);

}  // namespace

TEST_CASE("beside a resident kernel a group is made of devices that were open before its stream" * gated) {
    TwoDevices rig;
    rig.open_second();
    if (!rig.second) return;
    ResidentKernel resident(rig);
    CHECK_OK(gpo_device_enable_peer(rig.second, rig.device));
    CHECK_OK(gpo_device_enable_peer(rig.device, rig.second));
    Peers peers;
    REQUIRE_OK(rig.group(peers.out()));
    CHECK(rig.sums(peers) == kSums);
    auto info = sized<gpo_peers_info>();
    REQUIRE_OK(gpo_peers_get_info(peers, &info));
    CHECK(info.nccl_version == 0);   // NCCL would have to load kernels
    Peers refused;
    const gpo_status status = rig.group(refused.out(), GPO_ENGINE_NCCL);
    CHECK((status == GPO_INVALID_STATE || status == GPO_NOT_SUPPORTED));   // GPO_NOT_SUPPORTED without NCCL
    Symmetric memory;
    REQUIRE_OK(gpo_symmetric_allocate(peers, 4096, nullptr, memory.out()));
    for (uint32_t rank = 0; rank < 2; ++rank) REQUIRE_OK(gpo_symmetric_reset(memory, rank, rig.streams[rank]));
    memory.reset();
    peers.reset();
    CHECK_OK(gpo_device_wait(rig.device, kPatience));
    CHECK(resident.stays());
    resident.end();
    REQUIRE_OK(rig.group(peers.out()));
    CHECK(rig.sums(peers) == kSums);
}

TEST_CASE("beside a resident kernel whose stream is older than the second device a group is refused" * gated) {
    TwoDevices rig;
    ResidentKernel resident(rig);
    rig.open_second();
    if (!rig.second) return;
    Peers peers;
    for (const uint32_t engine : {GPO_AUTO, GPO_ENGINE_DIRECT}) {
        CHECK_STATUS(GPO_INVALID_STATE, rig.group(peers.out(), engine));
        CHECK(std::string(last_error().message).find("`server`") != std::string::npos);
        CHECK(!peers);
    }
    CHECK(resident.stays());
    resident.end();
    REQUIRE_OK(rig.group(peers.out()));
    CHECK(rig.sums(peers) == kSums);
    // The group has loaded its kernels, so another group can be created beside a resident kernel.
    ResidentKernel another(rig, "another");
    Peers later;
    REQUIRE_OK(rig.group(later.out()));
    CHECK(rig.sums(later) == kSums);
    CHECK(another.stays());
}

TEST_CASE("beside a resident kernel a group goes on with NCCL, and what that would have to load is refused" * gated) {
    TwoDevices rig;
    rig.open_second();
    if (!rig.second) return;
    Peers peers;
    REQUIRE_OK(rig.group(peers.out()));
    auto info = sized<gpo_peers_info>();
    REQUIRE_OK(gpo_peers_get_info(peers, &info));
    if (info.nccl_version == 0) return skip("NCCL isn't used");
    const uint64_t bytes = 8 << 20;
    std::vector<RankMemory> memory;
    memory.emplace_back(rig.device, bytes);
    memory.emplace_back(rig.second, bytes);
    const auto sum = collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_UINT32, bytes / 4, GPO_REDUCE_SUM);
    const auto most = collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_FLOAT64, bytes / 8, GPO_REDUCE_MAXIMUM);
    const auto wait = [&] {
        for (const Stream& stream : rig.streams) CHECK_OK(gpo_stream_wait(stream, kPatience));
    };
    REQUIRE_OK(rig.submit(peers, sum, memory));
    wait();
    ResidentKernel resident(rig);
    REQUIRE_OK(rig.submit(peers, sum, memory));
    wait();
    REQUIRE_OK(rig.submit(peers, most, memory));   // an all-reduce of another type and operation
    wait();
    CHECK_STATUS(GPO_INVALID_STATE,
                 rig.submit(peers, collective(GPO_COLLECTIVE_BROADCAST, GPO_TYPE_UINT32, bytes / 4), memory));
    CHECK(std::string(last_error().message).find("`server`") != std::string::npos);
    CHECK(resident.stays());
    resident.end();
    REQUIRE_OK(rig.submit(peers, collective(GPO_COLLECTIVE_BROADCAST, GPO_TYPE_UINT32, bytes / 4), memory));
    wait();
}
