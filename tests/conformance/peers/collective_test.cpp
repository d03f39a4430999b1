// Collectives of a group of devices: the results on each rank, their order, and refused calls. Tests with a small
// all-reduce are gated: on CUDA devices, the kernels of a small all-reduce wait for each other.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "conformance/peers/rig.h"

using namespace gpo::test;

namespace {

// Element i of the data of rank `rank`. The values are small, so that sums over all ranks don't overflow.
int32_t value(uint32_t rank, uint64_t i) { return static_cast<int32_t>((i * 7 + rank * 13 + i / 256) % 1000) - 400; }

std::vector<int32_t> values(uint32_t rank, uint64_t count) {
    std::vector<int32_t> out(count);
    for (uint64_t i = 0; i < count; ++i) out[i] = value(rank, i);
    return out;
}

int32_t sum_of(uint32_t ranks, uint64_t i) {
    int32_t sum = 0;
    for (uint32_t rank = 0; rank < ranks; ++rank) sum += value(rank, i);
    return sum;
}

constexpr uint64_t kCounts[] = {1, 3, 1000, 20011, 300007};

std::string refused() { return last_error().message; }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("an all-reduce gives every rank the sum of all, in place too" * gated) {
    PeersRig rig;
    for (const uint64_t count : kCounts)
        for (const bool in_place : {false, true}) {
            CAPTURE(count);
            CAPTURE(in_place);
            const auto send = rig.buffers(count * 4), receive = rig.buffers(count * 4);
            for (uint32_t rank = 0; rank < rig.ranks; ++rank) rig.write(send, rank, values(rank, count));
            REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_INT32, count, GPO_REDUCE_SUM),
                                  rig.parts(send, in_place ? send : receive)));
            for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
                const auto got = rig.read<int32_t>(in_place ? send : receive, rank, count);
                uint64_t wrong = 0;
                for (uint64_t i = 0; i < count; ++i) wrong += got[i] != sum_of(rig.ranks, i);
                CHECK(wrong == 0);
                if (!in_place) CHECK(rig.read<int32_t>(send, rank, count) == values(rank, count));
            }
        }
    CHECK(rig.info().collectives == 2 * std::size(kCounts));
}

TEST_CASE("a reduce gives the root alone the result") {
    PeersRig rig;
    for (uint32_t root = 0; root < rig.ranks; ++root) {
        const uint64_t count = 5003;
        const auto send = rig.buffers(count * 4), receive = rig.buffers(count * 4);
        const std::vector<int32_t> untouched(count, -1);
        for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
            rig.write(send, rank, values(rank, count));
            rig.write(receive, rank, untouched);
        }
        REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_REDUCE, GPO_TYPE_INT32, count, GPO_REDUCE_MAXIMUM, root),
                              rig.parts(send, receive)));
        for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
            const auto got = rig.read<int32_t>(receive, rank, count);
            uint64_t wrong = 0;
            for (uint64_t i = 0; i < count; ++i) {
                int32_t most = value(0, i);
                for (uint32_t of = 1; of < rig.ranks; ++of) most = std::max(most, value(of, i));
                wrong += got[i] != (rank == root ? most : -1);
            }
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("a reduce-scatter gives each rank its piece of the result, in place too") {
    PeersRig rig;
    for (const uint64_t count : kCounts)
        for (const bool in_place : {false, true}) {
            CAPTURE(count);
            const auto send = rig.buffers(count * rig.ranks * 4), receive = rig.buffers(count * 4);
            for (uint32_t rank = 0; rank < rig.ranks; ++rank) rig.write(send, rank, values(rank, count * rig.ranks));
            auto parts = rig.parts(send, receive);
            for (uint32_t rank = 0; in_place && rank < rig.ranks; ++rank)
                parts[rank].receive = parts[rank].send + rank * count * 4;
            REQUIRE_OK(
                rig.submit(collective(GPO_COLLECTIVE_REDUCE_SCATTER, GPO_TYPE_INT32, count, GPO_REDUCE_SUM), parts));
            for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
                auto got = rig.read<int32_t>(in_place ? send : receive, rank, in_place ? count * rig.ranks : count);
                if (in_place) got.erase(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(rank * count));
                uint64_t wrong = 0;
                for (uint64_t i = 0; i < count; ++i) wrong += got[i] != sum_of(rig.ranks, rank * count + i);
                CHECK(wrong == 0);
            }
        }
}

TEST_CASE("a broadcast gives all ranks what the root has, in place too") {
    PeersRig rig;
    for (uint32_t root = 0; root < rig.ranks; ++root)
        for (const bool in_place : {false, true}) {
            const uint64_t count = 4099;
            const auto send = rig.buffers(count * 4), receive = rig.buffers(count * 4);
            rig.write(send, root, values(root, count));
            REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_BROADCAST, GPO_TYPE_INT32, count, 0, root),
                                  rig.parts(send, in_place ? send : receive)));
            for (uint32_t rank = 0; rank < rig.ranks; ++rank)
                CHECK(rig.read<int32_t>(in_place ? send : receive, rank, count) == values(root, count));
        }
}

TEST_CASE("an all-gather gives all ranks the pieces in the order of the ranks, in place too") {
    PeersRig rig;
    for (const uint64_t count : {uint64_t{1}, uint64_t{777}, uint64_t{40001}})
        for (const bool in_place : {false, true}) {
            CAPTURE(count);
            const auto send = rig.buffers(count * 4), receive = rig.buffers(count * rig.ranks * 4);
            auto parts = rig.parts(send, receive);
            for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
                if (in_place) parts[rank].send = parts[rank].receive + rank * count * 4;
                const auto own = values(rank, count);
                REQUIRE_OK(gpo_copy_to_device(rig.streams[rank], parts[rank].send, own.data(), count * 4));
            }
            REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_ALL_GATHER, GPO_TYPE_INT32, count), parts));
            for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
                const auto got = rig.read<int32_t>(receive, rank, count * rig.ranks);
                uint64_t wrong = 0;
                for (uint64_t i = 0; i < got.size(); ++i)
                    wrong += got[i] != value(static_cast<uint32_t>(i / count), i % count);
                CHECK(wrong == 0);
            }
        }
}

TEST_CASE("an all-to-all exchanges pieces") {
    PeersRig rig;
    const uint64_t count = 1234, n = rig.ranks;
    const auto send = rig.buffers(count * n * 4), receive = rig.buffers(count * n * 4);
    for (uint32_t rank = 0; rank < n; ++rank) rig.write(send, rank, values(rank, count * n));
    REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_ALL_TO_ALL, GPO_TYPE_INT32, count), rig.parts(send, receive)));
    for (uint32_t rank = 0; rank < n; ++rank) {
        const auto got = rig.read<int32_t>(receive, rank, count * n);
        uint64_t wrong = 0;
        for (uint64_t i = 0; i < got.size(); ++i)
            wrong += got[i] != value(static_cast<uint32_t>(i / count), rank * count + i % count);
        CHECK(wrong == 0);
    }
}

TEST_CASE("ranks send to others and receive from others, and some do neither") {
    PeersRig rig;
    const uint64_t count = 999;
    const auto send = rig.buffers(count * 4), receive = rig.buffers(count * 4);
    auto parts = rig.parts(send, receive);
    const std::vector<int32_t> untouched(count, -1);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        rig.write(send, rank, values(rank, count));
        rig.write(receive, rank, untouched);
        parts[rank].send_to = rank + 1 < rig.ranks ? rank + 1 : GPO_NO_RANK;
        parts[rank].receive_from = rank ? rank - 1 : GPO_NO_RANK;
    }
    REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_SEND_RECEIVE, GPO_TYPE_INT32, count), parts));
    for (uint32_t rank = 0; rank < rig.ranks; ++rank)
        CHECK(rig.read<int32_t>(receive, rank, count) == (rank ? values(rank - 1, count) : untouched));
}

TEST_CASE("floating point is reduced in the order of the ranks, and every rank has the same bits" * gated) {
    PeersRig rig(8, GPO_ENGINE_DIRECT);
    const uint64_t count = 20000;
    const auto send = rig.buffers(count * 4), receive = rig.buffers(count * 4);
    std::vector<float> expected(count);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        std::vector<float> own(count);
        for (uint64_t i = 0; i < count; ++i) own[i] = 1.0f / static_cast<float>(1 + value(rank, i) * value(rank, i));
        rig.write(send, rank, own);
        for (uint64_t i = 0; i < count; ++i) expected[i] = rank ? expected[i] + own[i] : own[i];
    }
    REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_FLOAT32, count, GPO_REDUCE_SUM),
                          rig.parts(send, receive)));
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) CHECK(rig.read<float>(receive, rank, count) == expected);
}

TEST_CASE("collectives follow what is on their streams, and are followed by what comes later" * gated) {
    PeersRig rig;
    const uint64_t count = 50000;
    const auto data = rig.buffers(count * 4);
    // Each all-reduce in place multiplies the values by the number of ranks. A wrong order changes the final values.
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) REQUIRE_OK(gpo_fill(rig.streams[rank], data[rank], 1, 4, count));
    int32_t expected = 1;
    for (int turn = 0; turn < 5; ++turn) {
        REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_INT32, count, GPO_REDUCE_SUM),
                              rig.parts(data, data)));
        expected *= static_cast<int32_t>(rig.ranks);
    }
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        const auto got = rig.read<int32_t>(data, rank, count);
        CHECK(std::count(got.begin(), got.end(), expected) == static_cast<std::ptrdiff_t>(count));
    }
}

TEST_CASE("a collective with a held stream is held on all, and runs when the last is let go" * gated) {
    PeersRig rig;
    const uint64_t count = 3000;
    const auto send = rig.buffers(count * 4), receive = rig.buffers(count * 4);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) rig.write(send, rank, values(rank, count));
    rig.wait_all();
    Timeline first = rig.timeline(), second = rig.timeline();
    REQUIRE_OK(gpo_stream_wait_timeline(rig.streams[0], first, 1));
    REQUIRE_OK(gpo_stream_wait_timeline(rig.streams[rig.ranks - 1], second, 1));
    REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_INT32, count, GPO_REDUCE_SUM),
                          rig.parts(send, receive)));
    REQUIRE_OK(gpo_timeline_signal(first, 1));
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        CHECK(info_of(rig.streams[rank]).held >= 1);
        CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(rig.streams[rank], 1'000'000));
    }
    REQUIRE_OK(gpo_timeline_signal(second, 1));
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) CHECK(info_of(rig.streams[rank]).held == 0);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        const auto got = rig.read<int32_t>(receive, rank, count);
        uint64_t wrong = 0;
        for (uint64_t i = 0; i < count; ++i) wrong += got[i] != sum_of(rig.ranks, i);
        CHECK(wrong == 0);
    }
}

TEST_CASE("a held collective that is cancelled on one stream fails on the others, which say why") {
    PeersRig rig;
    if (rig.ranks < 2) return skip("there is one device");
    const auto data = rig.buffers(64);
    Timeline never = rig.timeline();
    REQUIRE_OK(gpo_stream_wait_timeline(rig.streams[0], never, 1));
    auto sum = collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_INT32, 16, GPO_REDUCE_SUM);
    sum.label = "gradients";
    REQUIRE_OK(rig.submit(sum, rig.parts(data, data)));
    uint64_t cancelled = 0;
    REQUIRE_OK(gpo_stream_cancel_held(rig.streams[0], &cancelled));
    CHECK(cancelled == 2);
    for (uint32_t rank = 1; rank < rig.ranks; ++rank) {
        CHECK_STATUS(GPO_CANCELLED, gpo_stream_wait(rig.streams[rank], kPatience));
        CHECK_STATUS(GPO_CANCELLED, rig.submit(sum, rig.parts(data, data)));
    }
    REQUIRE_OK(gpo_stream_wait(rig.streams[0], kPatience));
}

TEST_CASE("two threads submit collectives over the same streams" * gated) {
    PeersRig rig;
    constexpr int kTurns = 50;
    const uint64_t count = 100;
    const auto one = rig.buffers(count * 4), other = rig.buffers(count * 4);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        REQUIRE_OK(gpo_fill(rig.streams[rank], one[rank], 1, 4, count));
        REQUIRE_OK(gpo_fill(rig.streams[rank], other[rank], rank, 4, count));
    }
    std::vector<gpo_status> failed[2];
    const auto work = [&](int which, const std::vector<RankMemory>& data, uint32_t reduction) {
        for (int turn = 0; turn < kTurns; ++turn)
            if (const gpo_status status = rig.submit(
                    collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_INT32, count, reduction), rig.parts(data, data)))
                failed[which].push_back(status);
    };
    std::thread thread([&] { work(0, one, GPO_REDUCE_MINIMUM); });
    work(1, other, GPO_REDUCE_MAXIMUM);
    thread.join();
    CHECK(failed[0].empty());
    CHECK(failed[1].empty());
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        CHECK(rig.read<int32_t>(one, rank, count) == std::vector<int32_t>(count, 1));
        CHECK(rig.read<int32_t>(other, rank, count) ==
              std::vector<int32_t>(count, static_cast<int32_t>(rig.ranks) - 1));
    }
    CHECK(rig.info().collectives == 2 * kTurns);
}

TEST_CASE("a small all-reduce has the bits of a reduce, for each type and reduction, to the last byte" * gated) {
    PeersRig rig(3, GPO_ENGINE_DIRECT);
    const uint64_t count = 2501;   // more than a block's, and no whole number of 8 bytes
    for (uint32_t type = GPO_TYPE_INT8; type <= GPO_TYPE_FLOAT8_E5M2; ++type)
        for (uint32_t reduction = GPO_REDUCE_SUM; reduction <= GPO_REDUCE_AVERAGE; ++reduction) {
            CAPTURE(type);
            CAPTURE(reduction);
            const uint64_t bytes = count * 8, room = bytes + 8;
            const auto send = rig.buffers(bytes), all = rig.buffers(room), one = rig.buffers(room);
            for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
                std::vector<uint8_t> data(bytes);
                uint32_t seed = rank + 100 * type;
                for (uint8_t& byte : data) byte = static_cast<uint8_t>((seed = seed * 1664525 + 1013904223) >> 24);
                rig.write(send, rank, data);
                rig.write(all, rank, std::vector<uint8_t>(room, 0xee));
                rig.write(one, rank, std::vector<uint8_t>(room, 0xee));
            }
            REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_ALL_REDUCE, type, count, reduction), rig.parts(send, all)));
            REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_REDUCE, type, count, reduction, 0), rig.parts(send, one)));
            const auto expected = rig.read<uint8_t>(one, 0, room);
            for (uint32_t rank = 0; rank < rig.ranks; ++rank) CHECK(rig.read<uint8_t>(all, rank, room) == expected);
        }
}

TEST_CASE("a small all-reduce on other streams comes behind the one before it" * gated) {
    PeersRig rig;
    const uint64_t count = 600;
    const auto one = rig.buffers(count * 4), other = rig.buffers(count * 4);
    std::vector<Stream> others;
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        others.push_back(rig.stream_on(rank));
        REQUIRE_OK(gpo_fill(rig.streams[rank], one[rank], 3, 4, count));
        REQUIRE_OK(gpo_fill(others[rank], other[rank], 5, 4, count));
    }
    const auto sum = collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_INT32, count, GPO_REDUCE_SUM);
    auto parts = rig.parts(other, other);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) parts[rank].stream = others[rank];
    REQUIRE_OK(rig.submit(sum, parts));   // what is made once is there
    for (const Stream& stream : others) REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    rig.wait_all();
    {
        Gate gate(rig);
        gate.put_on(rig.streams[0]);
        REQUIRE_OK(rig.submit(sum, rig.parts(one, one)));
        REQUIRE_OK(rig.submit(sum, parts));
        for (const Stream& stream : others)   // it runs on none of the ranks while the gate is closed
            if (rig.ranks > 1) CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(stream, 5'000'000));
        gate.open();
    }
    const auto ranks = static_cast<int32_t>(rig.ranks);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        CHECK(rig.read<int32_t>(one, rank, count) == std::vector<int32_t>(count, 3 * ranks));
        REQUIRE_OK(gpo_stream_wait(others[rank], kPatience));
        CHECK(rig.read<int32_t>(other, rank, count) == std::vector<int32_t>(count, 5 * ranks * ranks));
    }
}

TEST_CASE("a larger small all-reduce comes behind smaller ones that still run" * gated) {
    PeersRig rig;
    const auto ranks = static_cast<int32_t>(rig.ranks);
    const std::vector<uint64_t> counts{16, 16'000, 16, 60'000, 100};
    std::vector<std::vector<RankMemory>> data;
    for (const uint64_t count : counts) {
        data.push_back(rig.buffers(count * 4));
        for (uint32_t rank = 0; rank < rig.ranks; ++rank)
            REQUIRE_OK(gpo_fill(rig.streams[rank], data.back()[rank], 3, 4, count));
    }
    Gate gate(rig);
    gate.put_on(rig.streams[0]);
    for (size_t i = 0; i < counts.size(); ++i) {
        const auto sum = collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_INT32, counts[i], GPO_REDUCE_SUM);
        for (int turn = 0; turn < 2; ++turn) REQUIRE_OK(rig.submit(sum, rig.parts(data[i], data[i])));
    }
    gate.open();
    for (size_t i = 0; i < counts.size(); ++i)
        for (uint32_t rank = 0; rank < rig.ranks; ++rank)
            CHECK(rig.read<int32_t>(data[i], rank, counts[i]) ==
                  std::vector<int32_t>(counts[i], 3 * ranks * ranks));
}

TEST_CASE("collectives are recorded into a template, and launched again with other data" * gated) {
    PeersRig rig;
    const uint64_t count = 6000;
    const auto send = rig.buffers(count * 4), receive = rig.buffers(count * 4);
    auto options = sized<gpo_template_options>();
    Template step;
    REQUIRE_OK(gpo_template_create(rig.devices[0], &options, step.out()));
    Event fork = rig.event();
    std::vector<Event> joins;
    REQUIRE_OK(gpo_template_begin(step, rig.streams[0]));
    REQUIRE_OK(gpo_event_record(fork, rig.streams[0]));
    for (uint32_t rank = 1; rank < rig.ranks; ++rank) REQUIRE_OK(gpo_stream_wait_event(rig.streams[rank], fork));
    for (int turn = 0; turn < 2; ++turn)
        REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_INT32, count, GPO_REDUCE_SUM),
                              turn ? rig.parts(receive, receive) : rig.parts(send, receive)));
    // The last nodes of streams of other devices can be queried, too.
    std::vector<uint32_t> last(rig.ranks);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank)
        REQUIRE_OK(gpo_template_get_last_node(step, rig.streams[rank], &last[rank]));
    if (!rig.software()) CHECK(last[rig.ranks - 1] != 0);   // on software GPUs each stream waits for several nodes
    for (uint32_t rank = 1; rank < rig.ranks; ++rank) {
        auto of = sized<gpo_event_options>();
        Event join;
        REQUIRE_OK(gpo_event_create(rig.devices[rank], &of, join.out()));
        REQUIRE_OK(gpo_event_record(join, rig.streams[rank]));
        REQUIRE_OK(gpo_stream_wait_event(rig.streams[0], join));
        joins.push_back(std::move(join));
    }
    REQUIRE_OK(gpo_template_end(step));
    Graph graph;
    REQUIRE_OK(gpo_graph_create(step, nullptr, graph.out()));
    for (uint32_t round = 0; round < 3; ++round) {
        for (uint32_t rank = 0; rank < rig.ranks; ++rank) rig.write(send, rank, values(rank + round, count));
        rig.wait_all();
        REQUIRE_OK(gpo_graph_launch(graph, rig.streams[0]));
        REQUIRE_OK(gpo_stream_wait(rig.streams[0], kPatience));
        for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
            const auto got = rig.read<int32_t>(receive, rank, count);
            uint64_t wrong = 0;
            for (uint64_t i = 0; i < count; ++i) {
                int32_t sum = 0;
                for (uint32_t of = 0; of < rig.ranks; ++of) sum += value(of + round, i);
                wrong += got[i] != sum * static_cast<int32_t>(rig.ranks);
            }
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("collectives are recorded into a template for each device, where no stream waits for another" * gated) {
    PeersRig rig;
    const uint64_t count = 2000;
    const auto data = rig.buffers(count * 4);
    std::vector<Template> templates(rig.ranks);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        REQUIRE_OK(gpo_template_create(rig.devices[rank], nullptr, templates[rank].out()));
        REQUIRE_OK(gpo_template_begin(templates[rank], rig.streams[rank]));
    }
    const auto sum = collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_INT32, count, GPO_REDUCE_SUM);
    REQUIRE_OK(rig.submit(sum, rig.parts(data, data)));
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) REQUIRE_OK(gpo_template_end(templates[rank]));
    std::vector<Graph> graphs(rig.ranks);
    int32_t expected = 1;
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        REQUIRE_OK(gpo_graph_create(templates[rank], nullptr, graphs[rank].out()));
        REQUIRE_OK(gpo_fill(rig.streams[rank], data[rank], 1, 4, count));
    }
    templates.clear();
    for (int turn = 0; turn < 5; ++turn, expected *= static_cast<int32_t>(rig.ranks))
        for (uint32_t rank = 0; rank < rig.ranks; ++rank) REQUIRE_OK(gpo_graph_launch(graphs[rank], rig.streams[rank]));
    for (uint32_t rank = 0; rank < rig.ranks; ++rank)
        CHECK(rig.read<int32_t>(data, rank, count) == std::vector<int32_t>(count, expected));
}

TEST_CASE("a recording that not all streams of a collective are in refuses it, and names the stream" * gated) {
    PeersRig rig;
    if (rig.ranks < 2) return skip("there is one device");
    const auto data = rig.buffers(64);
    auto options = sized<gpo_template_options>();
    Template step;
    REQUIRE_OK(gpo_template_create(rig.devices[0], &options, step.out()));
    REQUIRE_OK(gpo_template_begin(step, rig.streams[0]));
    CHECK_STATUS(GPO_CAPTURE_REFUSED,
                 rig.submit(collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_INT32, 16, GPO_REDUCE_SUM),
                            rig.parts(data, data)));
    CHECK(has(refused(), "is not being captured"));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(step));
    REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_INT32, 16, GPO_REDUCE_SUM),
                          rig.parts(data, data)));
    rig.wait_all();
}

TEST_CASE("a group is destroyed while a collective is on its way" * gated) {
    PeersRig rig;
    const uint64_t count = 200000;
    const auto data = rig.buffers(count * 4);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) REQUIRE_OK(gpo_fill(rig.streams[rank], data[rank], 2, 4, count));
    Timeline later = rig.timeline();
    REQUIRE_OK(gpo_stream_wait_timeline(rig.streams[0], later, 1));
    REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_INT32, count, GPO_REDUCE_SUM),
                          rig.parts(data, data)));
    rig.peers.reset();
    REQUIRE_OK(gpo_timeline_signal(later, 1));
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        const auto got = rig.read<int32_t>(data, rank, count);
        CHECK(std::count(got.begin(), got.end(), static_cast<int32_t>(2 * rig.ranks)) ==
              static_cast<std::ptrdiff_t>(count));
    }
}

TEST_CASE("a recorded collective can be launched when the group's handle is destroyed" * gated) {
    PeersRig rig;
    // A small and a large collective: each available engine does one.
    for (const uint64_t count : {uint64_t{1000}, uint64_t{1} << 20}) {
        CAPTURE(count);
        const auto data = rig.buffers(count * 4);
        Peers group;
        const auto handles = rig.device_handles();
        REQUIRE_OK(gpo_peers_create(handles.data(), rig.ranks, nullptr, group.out()));
        Template step;
        std::vector<Event> events(rig.ranks);
        for (uint32_t rank = 0; rank < rig.ranks; ++rank)
            REQUIRE_OK(gpo_event_create(rig.devices[rank], nullptr, events[rank].out()));
        REQUIRE_OK(gpo_template_create(rig.devices[0], nullptr, step.out()));
        REQUIRE_OK(gpo_template_begin(step, rig.streams[0]));
        REQUIRE_OK(gpo_event_record(events[0], rig.streams[0]));
        for (uint32_t rank = 1; rank < rig.ranks; ++rank)
            REQUIRE_OK(gpo_stream_wait_event(rig.streams[rank], events[0]));
        const auto sum = collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_INT32, count, GPO_REDUCE_SUM);
        const auto parts = rig.parts(data, data);
        REQUIRE_OK(gpo_peers_submit(group, &sum, parts.data(), sizeof parts[0], rig.ranks));
        for (uint32_t rank = 1; rank < rig.ranks; ++rank) {
            REQUIRE_OK(gpo_event_record(events[rank], rig.streams[rank]));
            REQUIRE_OK(gpo_stream_wait_event(rig.streams[0], events[rank]));
        }
        REQUIRE_OK(gpo_template_end(step));
        Graph graph;
        REQUIRE_OK(gpo_graph_create(step, nullptr, graph.out()));
        group.reset();
        step.reset();
        for (uint32_t rank = 0; rank < rig.ranks; ++rank)
            REQUIRE_OK(gpo_fill(rig.streams[rank], data[rank], rank + 1, 4, count));
        rig.wait_all();
        REQUIRE_OK(gpo_graph_launch(graph, rig.streams[0]));
        REQUIRE_OK(gpo_stream_wait(rig.streams[0], kPatience));
        const auto expected = static_cast<int32_t>(rig.ranks * (rig.ranks + 1) / 2);
        for (uint32_t rank = 0; rank < rig.ranks; ++rank)
            CHECK(rig.read<int32_t>(data, rank, count) == std::vector<int32_t>(count, expected));
    }
}

TEST_CASE("a group of some ranks has ranks of its own") {
    PeersRig rig;
    if (rig.ranks < 2) return skip("there is one device");
    const std::vector<uint32_t> some = {rig.ranks - 1, 0};
    Peers part;
    REQUIRE_OK(gpo_peers_split(rig.peers, some.data(), 2, nullptr, part.out()));
    auto info = sized<gpo_peers_info>();
    REQUIRE_OK(gpo_peers_get_info(part, &info));
    CHECK(info.ranks == 2);
    const auto data = rig.buffers(64);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank)
        REQUIRE_OK(gpo_fill(rig.streams[rank], data[rank], rank + 1, 4, 16));
    std::vector<gpo_rank_part> parts(2, sized<gpo_rank_part>());
    for (uint32_t i = 0; i < 2; ++i) {
        parts[i].stream = rig.streams[some[i]];
        parts[i].send = parts[i].receive = data[some[i]];
    }
    // The root is rank 0 of the new group, which is the last rank of the old group.
    const gpo_collective what = collective(GPO_COLLECTIVE_BROADCAST, GPO_TYPE_INT32, 16);
    REQUIRE_OK(gpo_peers_submit(part, &what, parts.data(), sizeof parts[0], 2));
    CHECK(rig.read<int32_t>(data, 0, 16) == std::vector<int32_t>(16, static_cast<int32_t>(rig.ranks)));
    const uint32_t twice[] = {0, 0}, beyond[] = {rig.ranks};
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_peers_split(rig.peers, twice, 2, nullptr, part.out()));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_peers_split(rig.peers, beyond, 1, nullptr, part.out()));
}

TEST_CASE("links between ranks are as the devices say") {
    PeersRig rig;
    for (uint32_t from = 0; from < rig.ranks; ++from)
        for (uint32_t to = 0; to < rig.ranks; ++to) {
            auto link = sized<gpo_peer_properties>(), peer = sized<gpo_peer_properties>();
            REQUIRE_OK(gpo_peers_get_link(rig.peers, from, to, &link));
            REQUIRE_OK(gpo_runtime_describe_peer(rig.runtime, from, to, &peer));
            CHECK(link.accessible == peer.accessible);
            CHECK(link.native_atomics == peer.native_atomics);
            CHECK(link.performance_rank == peer.performance_rank);
        }
    auto link = sized<gpo_peer_properties>();
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_peers_get_link(rig.peers, 0, rig.ranks, &link));
}

TEST_CASE("what is wrong with a collective is named, with the rank, and nothing has happened" * gated) {
    PeersRig rig;
    const auto send = rig.buffers(4096), receive = rig.buffers(4096);
    const auto good = collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_FLOAT32, 256, GPO_REDUCE_SUM);
    const auto parts = rig.parts(send, receive);
    const auto refuse = [&](const gpo_collective& what, const std::vector<gpo_rank_part>& with, const char* says) {
        CAPTURE(says);
        CHECK_STATUS(GPO_INVALID_ARGUMENT, rig.submit(what, with));
        CAPTURE(refused());
        CHECK(has(refused(), says));
    };
    const auto changed = [](gpo_collective what, auto change) {
        change(what);
        return what;
    };
    const auto with = [&](uint32_t rank, auto change) {
        auto out = parts;
        change(out[rank]);
        return out;
    };
    refuse(changed(good, [](auto& c) { c.kind = 0; }), parts, "collective.kind is 0");
    refuse(changed(good, [](auto& c) { c.kind = 9; }), parts, "collective.kind is 9");
    refuse(changed(good, [](auto& c) { c.type = 0; }), parts, "collective.type is 0");
    refuse(changed(good, [](auto& c) { c.type = 13; }), parts, "collective.type is 13");
    refuse(changed(good, [](auto& c) { c.reduction = 0; }), parts, "collective.reduction is 0");
    refuse(changed(good, [](auto& c) { c.reduction = 6; }), parts, "collective.reduction is 6");
    refuse(changed(good, [](auto& c) { c.kind = GPO_COLLECTIVE_ALL_GATHER; }), parts,
           "collective.reduction is sum, and all-gather reduces nothing");
    refuse(changed(good, [](auto& c) { c.kind = GPO_COLLECTIVE_BARRIER; }), parts, ": a barrier has none");
    refuse(changed(good, [](auto& c) { c.root = 1; }), parts, "collective.root is 1");
    refuse(changed(good, [](auto& c) { c.flags = 1; }), parts, "collective.flags");
    refuse(changed(good, [](auto& c) { c.count = UINT64_MAX / 2; }), parts, "collective.count");
    refuse(changed(good, [](auto& c) { c.count = 1025; }), parts, "send of rank 0");
    const uint32_t last = rig.ranks - 1;
    const std::string of_last = " of rank " + std::to_string(last);
    refuse(good, with(last, [](auto& p) { p.send += 2; }), ("send" + of_last).c_str());
    refuse(good, with(last, [](auto& p) { p.receive = 0; }), ("receive" + of_last).c_str());
    refuse(good, with(last, [](auto& p) { p.receive = p.send + 512; }), "overlap");
    refuse(good, with(last, [](auto& p) { p.send_to = 1; }), "send_to");
    refuse(good, with(last, [](auto& p) { p.reserved = 1; }), "reserved");
    uint64_t host = 0;
    refuse(good, with(last, [&](auto& p) { p.send = reinterpret_cast<uint64_t>(&host) & ~uint64_t{255}; }),
           ("send" + of_last).c_str());
    if (rig.ranks > 1) {
        refuse(good, with(last, [&](auto& p) { p.send = send[0]; }), "another device");
        refuse(good, with(last, [&](auto& p) { p.stream = rig.streams[0]; }), "another device");
        auto fewer = parts;
        fewer.pop_back();
        refuse(good, fewer, "count is ");
        auto exchange = with(0, [](auto& p) { p.send_to = 1; });
        for (auto& p : exchange) p.receive_from = GPO_NO_RANK;
        for (uint32_t rank = 1; rank < rig.ranks; ++rank) exchange[rank].send_to = GPO_NO_RANK;
        refuse(collective(GPO_COLLECTIVE_SEND_RECEIVE, GPO_TYPE_INT8, 8), exchange, "doesn't receive from it");
    }
    CHECK(rig.info().collectives == 0);
    REQUIRE_OK(rig.submit(good, parts));
    rig.wait_all();
}

TEST_CASE("a device can't be in a group twice, and NCCL isn't for software GPUs") {
    PeersRig rig(1);
    const gpo_device_t twice[] = {rig.devices[0], rig.devices[0]};
    Peers made;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_peers_create(twice, 2, nullptr, made.out()));
    CHECK(has(refused(), "ranks 0 and 1 are the same device"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_peers_create(twice, 0, nullptr, made.out()));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_peers_create(twice, 17, nullptr, made.out()));
    if (!rig.software()) return;
    auto options = sized<gpo_peers_options>();
    options.engine = GPO_ENGINE_NCCL;
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_peers_create(twice, 1, &options, made.out()));
    CHECK(has(refused(), "software GPUs"));
}

TEST_CASE("a barrier lets no stream go on before all are there" * gated) {
    PeersRig rig;
    if (rig.ranks < 2) return skip("there is one device");
    Gate gate(rig);
    gate.put_on(rig.streams[0]);
    REQUIRE_OK(rig.submit(collective(GPO_COLLECTIVE_BARRIER, 0, 0), [&] {
        std::vector<gpo_rank_part> parts(rig.ranks, sized<gpo_rank_part>());
        for (uint32_t rank = 0; rank < rig.ranks; ++rank) parts[rank].stream = rig.streams[rank];
        return parts;
    }()));
    for (uint32_t rank = 1; rank < rig.ranks; ++rank)
        CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(rig.streams[rank], 2'000'000));
    gate.open();
    rig.wait_all();
}
