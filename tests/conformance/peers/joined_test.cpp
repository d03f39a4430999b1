// Joined groups with threads in place of processes: all ranks share a runtime and its first device.
// tests/process/joined.cpp tests joined processes.
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "conformance/peers/rig.h"

using namespace gpo::test;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

class JoinedRig : public Gpu {
public:
    explicit JoinedRig(uint32_t ranks, int64_t timeout_ns = 30 * kSecond) : ranks(ranks), peers(ranks) {
        uint8_t id[GPO_PEERS_ID_BYTES];
        REQUIRE_OK(gpo_peers_make_id(id, sizeof id, nullptr));
        std::vector<gpo_status> joined(ranks, GPO_INTERNAL);
        each([&](uint32_t rank) {
            auto options = sized<gpo_join_options>();
            options.by = GPO_JOIN_ID;
            options.engine = GPO_ENGINE_HOST;
            options.rank = rank;
            options.ranks = ranks;
            options.timeout_ns = timeout_ns;
            options.id = id;
            const std::string label = "of rank " + std::to_string(rank);
            options.label = label.c_str();
            joined[rank] = gpo_peers_join(device, &options, peers[rank].out());
        });
        for (uint32_t rank = 0; rank < ranks; ++rank) {
            REQUIRE(joined[rank] == GPO_SUCCESS);
            streams.push_back(stream(("rank " + std::to_string(rank)).c_str()));
        }
    }

    void each(const std::function<void(uint32_t)>& body) const {
        std::vector<std::thread> threads;
        for (uint32_t rank = 0; rank < ranks; ++rank) threads.emplace_back(body, rank);
        for (std::thread& thread : threads) thread.join();
    }
    std::vector<Memory> buffers(uint64_t words) {
        std::vector<Memory> out;
        for (uint32_t rank = 0; rank < ranks; ++rank) out.push_back(memory(words * 4));
        return out;
    }
    gpo_status submit(uint32_t rank, const gpo_collective& what, uint64_t send, uint64_t receive, uint32_t to = 0,
                      uint32_t from = 0) {
        auto part = sized<gpo_rank_part>();
        part.stream = streams[rank];
        part.send = send;
        part.receive = receive;
        part.send_to = to;
        part.receive_from = from;
        return gpo_peers_submit(peers[rank], &what, &part, sizeof part, 1);
    }
    void write(uint32_t rank, uint64_t to, const std::vector<uint32_t>& words) {
        REQUIRE_OK(gpo_copy_to_device(streams[rank], to, words.data(), words.size() * 4));
        REQUIRE_OK(gpo_stream_wait(streams[rank], kPatience));
    }
    std::vector<uint32_t> read(uint32_t rank, uint64_t from, uint64_t words) {
        std::vector<uint32_t> out(words);
        REQUIRE_OK(gpo_copy_to_host(streams[rank], out.data(), from, words * 4));
        REQUIRE_OK(gpo_stream_wait(streams[rank], kPatience));
        return out;
    }
    std::string failure_of(uint32_t rank, gpo_status status) {
        CHECK_STATUS(status, gpo_stream_wait(streams[rank], kPatience));
        auto error = sized<gpo_error>();
        REQUIRE_OK(gpo_object_get_error(streams[rank], &error));
        CHECK(error.status == status);
        return error.message;
    }

    gpo_peers_info info(uint32_t rank) {
        auto out = sized<gpo_peers_info>();
        REQUIRE_OK(gpo_peers_get_info(peers[rank], &out));
        return out;
    }

    const uint32_t ranks;
    std::vector<Peers> peers;
    std::vector<Stream> streams;
};

gpo_collective sum_of(uint64_t count) {
    return collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_UINT32, count, GPO_REDUCE_SUM);
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("joined ranks of one process sum, in the order of their streams") {
    JoinedRig rig(3);
    const uint64_t count = 40'000;
    const auto data = rig.buffers(count);
    for (int turn = 0; turn < 3; ++turn)
        for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
            REQUIRE_OK(gpo_fill(rig.streams[rank], data[rank], rank + 1, 4, count));
            REQUIRE_OK(rig.submit(rank, sum_of(count), data[rank], data[rank]));
            REQUIRE_OK(rig.submit(rank, sum_of(count), data[rank], data[rank]));
        }
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        CHECK(rig.read(rank, data[rank], count) == std::vector<uint32_t>(count, 18));
        auto info = sized<gpo_peers_info>();
        REQUIRE_OK(gpo_peers_get_info(rig.peers[rank], &info));
        CHECK(info.ranks == 3);
        CHECK(info.rank == rank);
        CHECK(info.local_ranks == 1);
        CHECK(info.collectives == 6);
        CHECK(info.direct_collectives == 0);
        CHECK(info.bytes == 6 * count * 4);
    }
}

TEST_CASE("each kind of collective moves more than is on its way at once, all to its place") {
    JoinedRig rig(2);
    const uint64_t count = 1'300'003;   // words: more than a chunk of any kind of collective
    const auto word = [](uint32_t rank, uint64_t i) { return static_cast<uint32_t>(i) * 2654435761u + 7 * rank; };
    const auto data = rig.buffers(2 * count), results = rig.buffers(2 * count);
    for (uint32_t rank = 0; rank < 2; ++rank) {
        std::vector<uint32_t> words(2 * count);
        for (uint64_t i = 0; i < words.size(); ++i) words[i] = word(rank, i);
        rig.write(rank, data[rank], words);
    }
    const auto sum = [&](uint64_t i) { return word(0, i) + word(1, i); };
    const uint32_t nothing = 0xffffffff;
    // Submits `collective` on both ranks, and checks the results. `expected(rank, i)` is element i of a rank's results:
    // `nothing` if the collective doesn't write the element.
    const auto check = [&](const std::string& what, const gpo_collective& collective, auto expected,
                           bool itself = false) {
        CAPTURE(what);
        for (uint32_t rank = 0; rank < 2; ++rank) {
            REQUIRE_OK(gpo_fill(rig.streams[rank], results[rank], nothing, 4, 2 * count));
            const bool sends = collective.kind == GPO_COLLECTIVE_SEND_RECEIVE;
            const uint32_t partner = !sends ? 0 : itself ? rank : 1 - rank;
            REQUIRE_OK(rig.submit(rank, collective, data[rank], results[rank], partner, partner));
        }
        for (uint32_t rank = 0; rank < 2; ++rank) {
            const auto got = rig.read(rank, results[rank], 2 * count);
            uint64_t wrong = 0;
            for (uint64_t i = 0; i < got.size(); ++i) wrong += got[i] != expected(rank, i);
            CHECK(wrong == 0);
        }
    };
    const auto first = [&](uint64_t i, uint32_t value) { return i < count ? value : nothing; };
    check("all-reduce", sum_of(count), [&](uint32_t, uint64_t i) { return first(i, sum(i)); });
    check("reduce", collective(GPO_COLLECTIVE_REDUCE, GPO_TYPE_UINT32, count, GPO_REDUCE_SUM, 1),
          [&](uint32_t rank, uint64_t i) { return rank == 1 ? first(i, sum(i)) : nothing; });
    check("reduce-scatter", collective(GPO_COLLECTIVE_REDUCE_SCATTER, GPO_TYPE_UINT32, count, GPO_REDUCE_SUM),
          [&](uint32_t rank, uint64_t i) { return first(i, sum(rank * count + i)); });
    check("broadcast", collective(GPO_COLLECTIVE_BROADCAST, GPO_TYPE_UINT32, count, 0, 1),
          [&](uint32_t, uint64_t i) { return first(i, word(1, i)); });
    check("all-gather", collective(GPO_COLLECTIVE_ALL_GATHER, GPO_TYPE_UINT32, count),
          [&](uint32_t, uint64_t i) { return word(i >= count, i % count); });
    check("all-to-all", collective(GPO_COLLECTIVE_ALL_TO_ALL, GPO_TYPE_UINT32, count),
          [&](uint32_t rank, uint64_t i) { return word(i >= count, rank * count + i % count); });
    const auto exchange = collective(GPO_COLLECTIVE_SEND_RECEIVE, GPO_TYPE_UINT32, count);
    check("to the other", exchange, [&](uint32_t rank, uint64_t i) { return first(i, word(1 - rank, i)); });
    check("to itself", exchange, [&](uint32_t rank, uint64_t i) { return first(i, word(rank, i)); }, true);
}

TEST_CASE("a joined rank counts the bytes that it sends itself") {
    JoinedRig rig(2);
    const auto data = rig.buffers(100);
    for (uint32_t rank = 0; rank < 2; ++rank)
        REQUIRE_OK(rig.submit(rank, collective(GPO_COLLECTIVE_BROADCAST, GPO_TYPE_UINT32, 100, 0, 1), data[rank],
                              data[rank]));
    CHECK(rig.info(0).bytes == 0);
    CHECK(rig.info(1).bytes == 400);
    for (uint32_t rank = 0; rank < 2; ++rank) {
        CHECK(rig.info(rank).collectives == 1);
        REQUIRE_OK(gpo_stream_wait(rig.streams[rank], kPatience));
    }
}

TEST_CASE("equal sums of two layers, submitted in another order by one rank, fail on all ranks, which name both") {
    JoinedRig rig(3);
    const auto data = rig.buffers(10);
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        auto sum = sum_of(10);
        sum.label = rank == 1 ? "layer 2" : "layer 1";
        REQUIRE_OK(rig.submit(rank, sum, data[rank], data[rank]));
    }
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        const std::string message = rig.failure_of(rank, GPO_INVALID_STATE);
        CHECK(has(message, "rank 1 has submitted all-reduce `layer 2` (sum of 10 uint32), and rank 0 all-reduce "
                           "`layer 1` (sum of 10 uint32)"));
    }
    // The group works afterwards. A rank may give no label, and labels may differ after their first 63 characters.
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) rig.streams[rank] = rig.stream("again");
    const std::string prefix(63, 'x');
    for (const bool labelled : {false, true})
        for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
            REQUIRE_OK(gpo_fill(rig.streams[rank], data[rank], rank + 1, 4, 10));
            auto sum = sum_of(10);
            const std::string label = prefix + std::to_string(rank);
            if (labelled) sum.label = label.c_str();
            else if (rank == 1) sum.label = "layer 1";
            REQUIRE_OK(rig.submit(rank, sum, data[rank], data[rank]));
        }
    for (uint32_t rank = 0; rank < rig.ranks; ++rank)
        CHECK(rig.read(rank, data[rank], 10) == std::vector<uint32_t>(10, 6));
}

TEST_CASE("a joined group that is destroyed still does what was submitted, and then the others lose it") {
    JoinedRig rig(2);
    const auto data = rig.buffers(100);
    REQUIRE_OK(gpo_fill(rig.streams[0], data[0], 1, 4, 100));
    REQUIRE_OK(gpo_fill(rig.streams[1], data[1], 2, 4, 100));
    REQUIRE_OK(rig.submit(0, sum_of(100), data[0], data[0]));
    rig.peers[0].reset();
    REQUIRE_OK(rig.submit(1, sum_of(100), data[1], data[1]));
    CHECK(rig.read(0, data[0], 100) == std::vector<uint32_t>(100, 3));
    CHECK(rig.read(1, data[1], 100) == std::vector<uint32_t>(100, 3));
    REQUIRE_OK(rig.submit(1, sum_of(100), data[1], data[1]));
    CHECK(has(rig.failure_of(1, GPO_PEER_LOST), "rank 0 has left the group"));
    rig.streams[1] = rig.stream();
    CHECK_STATUS(GPO_PEER_LOST, rig.submit(1, sum_of(100), data[1], data[1]));
}

TEST_CASE("a part that waits for other ranks is cancelled, and its memory can be freed") {
    JoinedRig rig(2);
    auto data = rig.buffers(100);
    REQUIRE_OK(rig.submit(0, sum_of(100), data[0], data[0]));
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(rig.streams[0], kSecond / 50));
    uint64_t cancelled = 0;
    REQUIRE_OK(gpo_stream_cancel_held(rig.streams[0], &cancelled));
    CHECK(cancelled == 1);
    data[0] = Memory();
    REQUIRE_OK(gpo_stream_wait(rig.streams[0], kPatience));
    // Rank 0 has announced its part, unless a busy machine delayed the announcement until after the cancellation.
    const gpo_status status = rig.submit(1, sum_of(100), data[1], data[1]);
    if (status != GPO_SUCCESS) {
        CHECK(status == GPO_PEER_LOST);
        return;
    }
    const gpo_status ended = gpo_stream_wait(rig.streams[1], kPatience);
    CHECK(has(rig.failure_of(1, ended), ended == GPO_CANCELLED ? "rank 0: " : "rank 0 has failed"));
    CHECK((ended == GPO_PEER_LOST || ended == GPO_CANCELLED));
}

TEST_CASE("a part that was cancelled takes no part when the other ranks come, and its memory stays as it is") {
    JoinedRig rig(2);
    const auto data = rig.buffers(100);
    for (uint32_t rank = 0; rank < 2; ++rank) rig.write(rank, data[rank], std::vector<uint32_t>(100, 5));
    REQUIRE_OK(rig.submit(0, sum_of(100), data[0], data[0]));
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(rig.streams[0], kSecond / 50));
    REQUIRE_OK(gpo_stream_cancel_held(rig.streams[0], nullptr));
    const gpo_status submitted = rig.submit(1, sum_of(100), data[1], data[1]);
    const gpo_status ended = submitted == GPO_SUCCESS ? gpo_stream_wait(rig.streams[1], kPatience) : submitted;
    CHECK((ended == GPO_PEER_LOST || ended == GPO_CANCELLED));
    rig.streams[1] = rig.stream();
    for (uint32_t rank = 0; rank < 2; ++rank)
        CHECK(rig.read(rank, data[rank], 100) == std::vector<uint32_t>(100, 5));
}

TEST_CASE("the failure of one rank's stream is the other ranks' too, and the group goes on") {
    JoinedRig rig(2);
    const auto data = rig.buffers(100);
    Timeline never = rig.timeline();
    REQUIRE_OK(gpo_stream_wait_timeline(rig.streams[0], never, 1));
    REQUIRE_OK(rig.submit(0, sum_of(100), data[0], data[0]));
    REQUIRE_OK(rig.submit(1, sum_of(100), data[1], data[1]));
    REQUIRE_OK(gpo_timeline_fail(never, GPO_FAILED, "no data today"));
    CHECK_STATUS(GPO_FAILED, gpo_stream_wait(rig.streams[0], kPatience));
    const std::string message = rig.failure_of(1, GPO_FAILED);
    CHECK(has(message, "rank 0"));
    CHECK(has(message, "no data today"));
    for (uint32_t rank = 0; rank < rig.ranks; ++rank) {
        rig.streams[rank] = rig.stream();
        REQUIRE_OK(gpo_fill(rig.streams[rank], data[rank], 7, 4, 100));
        REQUIRE_OK(rig.submit(rank, sum_of(100), data[rank], data[rank]));
    }
    for (uint32_t rank = 0; rank < rig.ranks; ++rank)
        CHECK(rig.read(rank, data[rank], 100) == std::vector<uint32_t>(100, 14));
}

TEST_CASE("a rank that doesn't come is lost when the timeout has passed") {
    JoinedRig rig(2, kSecond / 5);
    const auto data = rig.buffers(100);
    REQUIRE_OK(rig.submit(0, sum_of(100), data[0], data[0]));
    CHECK(has(rig.failure_of(0, GPO_PEER_LOST), "rank 1 hasn't come, or hangs: nothing came of it for 200 ms"));
    const gpo_status status = rig.submit(1, sum_of(100), data[1], data[1]);
    if (status == GPO_SUCCESS)
        CHECK(has(rig.failure_of(1, GPO_PEER_LOST), "rank 1 hasn't come"));
    else
        CHECK(status == GPO_PEER_LOST);
}

TEST_CASE("an aborted group ends what waits, in all ranks") {
    JoinedRig rig(3);
    const auto data = rig.buffers(100);
    for (const uint32_t rank : {0, 2}) REQUIRE_OK(rig.submit(rank, sum_of(100), data[rank], data[rank]));
    REQUIRE_OK(gpo_peers_abort(rig.peers[2]));
    CHECK(has(rig.failure_of(2, GPO_CANCELLED), "aborted"));
    CHECK(has(rig.failure_of(0, GPO_PEER_LOST), "rank 2 has aborted the group"));
    REQUIRE_OK(gpo_peers_abort(rig.peers[2]));
    rig.streams[2] = rig.stream();
    CHECK_STATUS(GPO_CANCELLED, rig.submit(2, sum_of(100), data[2], data[2]));
}

TEST_CASE("a group that is aborted while it has nothing to do is lost to all ranks") {
    JoinedRig rig(2);
    const auto data = rig.buffers(100);
    REQUIRE_OK(gpo_peers_abort(rig.peers[0]));
    const auto lost = [&](uint32_t rank, gpo_status status, const char* why) {
        // The rank may learn of the abort before it submits.
        const gpo_status submitted = rig.submit(rank, sum_of(100), data[rank], data[rank]);
        if (submitted != GPO_SUCCESS) CHECK(submitted == status);
        CHECK(has(submitted == GPO_SUCCESS ? rig.failure_of(rank, status) : last_error().message, why));
    };
    lost(1, GPO_PEER_LOST, "rank 0 has aborted the group");
    lost(0, GPO_CANCELLED, "the group was aborted");
}

TEST_CASE("a shutdown ends what waits for other ranks") {
    JoinedRig rig(2);
    const auto data = rig.buffers(100);
    REQUIRE_OK(rig.submit(0, sum_of(100), data[0], data[0]));
    CHECK_STATUS(GPO_TIMEOUT, gpo_stream_wait(rig.streams[0], kSecond / 50));
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE_OK(gpo_runtime_shutdown(rig.runtime, kPatience));
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
    rig.runtime = nullptr;
    for (Stream& stream : rig.streams) stream.release();
    for (Peers& one : rig.peers) one.release();
}

TEST_CASE("a shutdown ends a join that waits") {
    Gpu gpu;
    const std::string path = "/tmp/gpuorch-test-joining-" + std::to_string(getpid());
    gpo_status joined = GPO_INTERNAL;
    std::thread thread([&] {
        auto options = sized<gpo_join_options>();
        options.by = GPO_JOIN_FILE;
        options.ranks = 2;
        options.timeout_ns = -1;
        options.path = path.c_str();
        gpo_peers_t peers = nullptr;
        joined = gpo_peers_join(gpu.device, &options, &peers);
    });
    while (access(path.c_str(), F_OK) != 0) std::this_thread::yield();   // the join has begun to wait
    REQUIRE_OK(gpo_runtime_shutdown(gpu.runtime, kPatience));
    gpu.runtime = nullptr;
    thread.join();
    CHECK(joined == GPO_SHUT_DOWN);
    unlink(path.c_str());
}

TEST_CASE("what can't be joined is refused, with the reason") {
    Gpu gpu;
    uint8_t id[GPO_PEERS_ID_BYTES];
    REQUIRE_OK(gpo_peers_make_id(id, sizeof id, nullptr));
    const auto refused = [&](const std::function<void(gpo_join_options&)>& change, const char* what) {
        auto options = sized<gpo_join_options>();
        options.by = GPO_JOIN_ID;
        options.ranks = 1;
        options.id = id;
        change(options);
        Peers peers;
        CAPTURE(what);
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_peers_join(gpu.device, &options, peers.out()));
        CHECK(has(last_error().message, what));
    };
    refused([](auto& options) { options.by = 0; }, "options.by is 0");
    refused([](auto& options) { options.by = 4; }, "options.by is 4");
    refused([](auto& options) { options.engine = GPO_ENGINE_DIRECT; }, "options.engine is GPO_ENGINE_DIRECT");
    refused([](auto& options) { options.flags = 2; }, "options.flags");
    refused([](auto& options) { options.ranks = 0; }, "options.ranks is 0");
    refused([](auto& options) { options.ranks = 65; }, "options.ranks is 65");
    refused([](auto& options) { options.rank = 1; }, "options.rank is 1");
    refused([](auto& options) { options.id = nullptr; }, "options.id is NULL");
    refused([](auto& options) { options.path = "/tmp/x"; }, "options.path is not NULL");
    refused([](auto& options) { options.communicator = &options; }, "options.communicator is not NULL");
    const uint8_t none[GPO_PEERS_ID_BYTES] = {};
    refused([&](auto& options) { options.id = none; }, "options.id is none");
}

TEST_CASE("ranks that join with different options both learn which, by name") {
    Gpu gpu;
    const auto differ = [&](const std::function<void(gpo_join_options&)>& change, const char* what) {
        uint8_t id[GPO_PEERS_ID_BYTES];
        REQUIRE_OK(gpo_peers_make_id(id, sizeof id, nullptr));
        gpo_status joined[2] = {};
        std::string messages[2];
        std::vector<std::thread> threads;
        for (uint32_t rank = 0; rank < 2; ++rank)
            threads.emplace_back([&, rank] {
                auto options = sized<gpo_join_options>();
                options.by = GPO_JOIN_ID;
                options.engine = GPO_ENGINE_HOST;
                options.rank = rank;
                options.ranks = 2;
                options.timeout_ns = 30 * kSecond;
                options.id = id;
                if (rank == 1) change(options);
                Peers peers;
                joined[rank] = gpo_peers_join(gpu.device, &options, peers.out());
                messages[rank] = last_error().message;
            });
        for (std::thread& thread : threads) thread.join();
        for (uint32_t rank = 0; rank < 2; ++rank) {
            CAPTURE(messages[rank]);
            CHECK(joined[rank] == GPO_INVALID_ARGUMENT);
            CHECK(has(messages[rank], what));
        }
    };
    differ([](auto& options) { options.engine = GPO_AUTO; },
           "options.engine of rank 1 is GPO_AUTO, and rank 0 has GPO_ENGINE_HOST");
    differ([](auto& options) { options.flags = GPO_JOIN_CHECK_ORDER; },
           "rank 1 has GPO_JOIN_CHECK_ORDER in its options.flags, and rank 0 hasn't");
}

TEST_CASE("the second of two processes with the same rank is refused") {
    JoinedRig rig(1);
    uint8_t id[GPO_PEERS_ID_BYTES];
    REQUIRE_OK(gpo_peers_make_id(id, sizeof id, nullptr));
    std::vector<gpo_status> joined(3, GPO_INTERNAL);
    std::vector<Peers> peers(3);
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < 3; ++i)   // joins as ranks 0, 1 and 1
        threads.emplace_back([&, i] {
            auto options = sized<gpo_join_options>();
            options.by = GPO_JOIN_ID;
            options.engine = GPO_ENGINE_HOST;
            options.rank = i ? 1 : 0;
            options.ranks = 3;
            options.timeout_ns = kSecond / 2;
            options.id = id;
            joined[i] = gpo_peers_join(rig.device, &options, peers[i].out());
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(joined[0] == GPO_PEER_LOST);
    CHECK((joined[1] == GPO_INVALID_STATE) != (joined[2] == GPO_INVALID_STATE));
    CHECK((joined[1] == GPO_PEER_LOST) != (joined[2] == GPO_PEER_LOST));
}
