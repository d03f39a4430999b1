// Groups of several processes, by a file, an id and MPI: all kinds of collectives, ranks that disagree, and ranks that
// die, leave, hang or abort. The first process starts the others with their ranks, and checks their exit codes. With
// NCCL there are two ranks, each with a GPU of its own; `two` means two ranks with the same GPU.
// RUN: GPUORCH_DEVICE=soft file collectives
// RUN: GPUORCH_DEVICE=soft id collectives
// RUN: GPUORCH_DEVICE=soft mpi collectives
// RUN: GPUORCH_DEVICE=soft GPUORCH_MPI_DEVICE=0 mpi collectives
// RUN: GPUORCH_DEVICE=soft GPUORCH_MPI_DEVICE=1 mpi collectives
// RUN: GPUORCH_DEVICE=soft id disagree
// RUN: GPUORCH_DEVICE=soft mpi disagree
// RUN: GPUORCH_DEVICE=soft id exits
// RUN: GPUORCH_DEVICE=soft id goes_on
// RUN: GPUORCH_DEVICE=soft file goes_on
// RUN: GPUORCH_DEVICE=soft file killed
// RUN: GPUORCH_DEVICE=soft id killed_amid
// RUN: GPUORCH_DEVICE=soft id stopped
// RUN: GPUORCH_DEVICE=soft id leaves
// RUN: GPUORCH_DEVICE=soft mpi leaves
// RUN: GPUORCH_DEVICE=soft id shuts_down
// RUN: GPUORCH_DEVICE=soft id aborts
// RUN: GPUORCH_DEVICE=soft mpi aborts
// RUN: GPUORCH_DEVICE=soft id cancels
// RUN: GPUORCH_DEVICE=soft mpi late
// RUN: GPUORCH_DEVICE=soft GPUORCH_MPI_DEVICE=1 mpi aborts
// RUN: GPUORCH_DEVICE=soft GPUORCH_MPI_DEVICE=1 mpi cancels
// RUN: GPUORCH_DEVICE=soft GPUORCH_MPI_DEVICE=1 mpi mixed
// RUN: GPUORCH_DEVICE=soft GPUORCH_MPI_DEVICE=0 mpi resumes
// RUN: GPUORCH_DEVICE=soft GPUORCH_MPI_DEVICE=1 mpi resumes
// RUN: GPUORCH_DEVICE=soft file missing
// RUN: GPUORCH_DEVICE=soft file left_behind
// RUN: GPUORCH_DEVICE=soft id symmetric
// RUN: GPUORCH_DEVICE=soft two symmetric
// RUN: GPUORCH_DEVICE=soft mpi symmetric
// RUN: GPUORCH_DEVICE=soft id symmetric_differs
// RUN: GPUORCH_DEVICE=soft id symmetric_dies
// RUN: GPUORCH_DEVICE=cuda two symmetric
// RUN: GPUORCH_DEVICE=cuda two symmetric_differs
// RUN: GPUORCH_DEVICE=cuda two symmetric_dies
// RUN: GPUORCH_DEVICE=soft no_mpi
// RUN: GPUORCH_DEVICE=cuda nccl orders_differ
// RUN: GPUORCH_DEVICE=cuda nccl rank_stopped
// RUN: GPUORCH_DEVICE=cuda nccl rank_late
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "process/process.h"

using namespace gpo::test;

namespace {

constexpr uint32_t kRanks = 4;

// --- what a rank has ---

struct Rank : Opened {
    uint32_t rank = 0, ranks = 0;
    gpo_peers_t peers = nullptr;

    explicit Rank(const gpo_join_options& options) {
        EXPECT_OK(gpo_peers_join(device, &options, &peers));
        const gpo_peers_info known = info(peers);
        rank = known.rank;
        ranks = known.ranks;
        EXPECT(known.local_ranks == 1 && known.direct == 0);
    }
    static gpo_peers_info info(gpo_peers_t of) {
        auto out = sized<gpo_peers_info>();
        EXPECT_OK(gpo_peers_get_info(of, &out));
        return out;
    }
    uint64_t allocate(uint64_t bytes) {
        uint64_t address = 0;
        EXPECT_OK(gpo_memory_allocate(device, std::max<uint64_t>(bytes, 1), nullptr, &address));
        return address;
    }
    template <class T>
    uint64_t memory_of(const std::vector<T>& values) {
        const uint64_t address = allocate(values.size() * sizeof(T));
        if (!values.empty()) EXPECT_OK(gpo_copy_to_device(stream, address, values.data(), values.size() * sizeof(T)));
        return address;
    }
    template <class T>
    std::vector<T> read(uint64_t address, uint64_t count) {
        std::vector<T> values(count);
        if (count) EXPECT_OK(gpo_copy_to_host(stream, values.data(), address, count * sizeof(T)));
        EXPECT_OK(gpo_stream_wait(stream, kPatience));
        return values;
    }
    gpo_status submit(gpo_collective what, uint64_t send, uint64_t receive, uint32_t to = 0, uint32_t from = 0) {
        auto part = sized<gpo_rank_part>();
        part.stream = stream;
        part.send = send;
        part.receive = receive;
        part.send_to = to;
        part.receive_from = from;
        return gpo_peers_submit(peers, &what, &part, sizeof part, 1);
    }
    gpo_stream_t new_stream() {
        gpo_stream_t made = nullptr;
        EXPECT_OK(gpo_stream_create(device, nullptr, &made));
        return made;
    }
    /// Expects the stream to fail with `status` within `seconds`; returns the message.
    std::string fails_with(gpo_status status, int seconds = 20) {
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_STATUS(status, gpo_stream_wait(stream, kPatience));
        EXPECT(std::chrono::steady_clock::now() - begin < std::chrono::seconds(seconds));
        auto error = sized<gpo_error>();
        EXPECT_OK(gpo_object_get_error(stream, &error));
        EXPECT(error.status == status);
        return error.message;
    }
    int end() {
        EXPECT_OK(gpo_peers_destroy(peers));
        shut_down();
        return 0;
    }
};

gpo_collective collective(uint32_t kind, uint64_t count, uint32_t reduction = 0, uint32_t root = 0,
                          uint32_t type = GPO_TYPE_INT32) {
    auto made = sized<gpo_collective>();
    made.kind = kind;
    made.type = kind == GPO_COLLECTIVE_BARRIER ? 0 : type;
    made.count = count;
    made.reduction = reduction;
    made.root = root;
    made.label = "step";
    return made;
}

gpo_collective sum_of(uint64_t count) { return collective(GPO_COLLECTIVE_ALL_REDUCE, count, GPO_REDUCE_SUM); }

gpo_collective labelled(gpo_collective what, const char* label) {
    what.label = label;
    return what;
}

bool has(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return true;
    std::fprintf(stderr, "`%s` isn't in `%s`\n", part.c_str(), text.c_str());
    return false;
}

int32_t value(uint32_t rank, uint64_t i) { return static_cast<int32_t>((i * 7 + rank * 13 + i / 256) % 1000) - 400; }
std::vector<int32_t> values(uint32_t rank, uint64_t count) {
    std::vector<int32_t> out(count);
    for (uint64_t i = 0; i < count; ++i) out[i] = value(rank, i);
    return out;
}

// --- all kinds ---

void all_reduces(Rank& r, uint64_t count) {
    std::vector<int32_t> expected(count, 0);
    for (uint32_t rank = 0; rank < r.ranks; ++rank)
        for (uint64_t i = 0; i < count; ++i) expected[i] += value(rank, i);
    const uint64_t send = r.memory_of(values(r.rank, count)), receive = r.allocate(count * 4);
    EXPECT_OK(r.submit(sum_of(count), send, receive));
    EXPECT_OK(r.submit(sum_of(count), send, send));
    EXPECT(r.read<int32_t>(receive, count) == expected);
    EXPECT(r.read<int32_t>(send, count) == expected);
    for (uint32_t root = 0; root < r.ranks; ++root) {
        const std::vector<int32_t> untouched(count, -1);
        const uint64_t from = r.memory_of(values(r.rank, count)), to = r.memory_of(untouched);
        EXPECT_OK(r.submit(collective(GPO_COLLECTIVE_REDUCE, count, GPO_REDUCE_SUM, root), from, to));
        EXPECT(r.read<int32_t>(to, count) == (r.rank == root ? expected : untouched));
    }
}

void scatters(Rank& r, uint64_t count) {
    std::vector<int32_t> expected(count, 0);
    for (uint32_t rank = 0; rank < r.ranks; ++rank)
        for (uint64_t i = 0; i < count; ++i) expected[i] += value(rank, r.rank * count + i);
    const uint64_t send = r.memory_of(values(r.rank, count * r.ranks)), receive = r.allocate(count * 4);
    const auto scatter = collective(GPO_COLLECTIVE_REDUCE_SCATTER, count, GPO_REDUCE_SUM);
    EXPECT_OK(r.submit(scatter, send, receive));
    EXPECT_OK(r.submit(scatter, send, send + r.rank * count * 4));
    EXPECT(r.read<int32_t>(receive, count) == expected);
    EXPECT(r.read<int32_t>(send + r.rank * count * 4, count) == expected);
}

void gathers(Rank& r, uint64_t count) {
    std::vector<int32_t> expected, exchanged;
    for (uint32_t rank = 0; rank < r.ranks; ++rank)
        for (uint64_t i = 0; i < count; ++i) {
            expected.push_back(value(rank, i));
            exchanged.push_back(value(rank, r.rank * count + i));
        }
    const uint64_t own = r.memory_of(values(r.rank, count)), pieces = r.memory_of(values(r.rank, count * r.ranks));
    const uint64_t all = r.allocate(count * 4 * r.ranks), others = r.allocate(count * 4 * r.ranks);
    EXPECT_OK(r.submit(collective(GPO_COLLECTIVE_ALL_GATHER, count), own, all));
    EXPECT_OK(r.submit(collective(GPO_COLLECTIVE_ALL_TO_ALL, count), pieces, others));
    EXPECT(r.read<int32_t>(all, count * r.ranks) == expected);
    EXPECT(r.read<int32_t>(others, count * r.ranks) == exchanged);
    EXPECT_OK(gpo_fill(r.stream, all, 0, 4, r.rank * count));
    EXPECT_OK(r.submit(collective(GPO_COLLECTIVE_ALL_GATHER, count), all + r.rank * count * 4, all));
    EXPECT(r.read<int32_t>(all, count * r.ranks) == expected);
    for (uint32_t root = 0; root < r.ranks; ++root) {
        const uint64_t to = r.allocate(count * 4);
        EXPECT_OK(r.submit(collective(GPO_COLLECTIVE_BROADCAST, count, 0, root), own, r.rank == root ? own : to));
        EXPECT(r.read<int32_t>(r.rank == root ? own : to, count) == values(root, count));
    }
}

// Each rank sends to the next one. The first and the last rank have only one partner.
void chain(Rank& r, uint64_t count) {
    const std::vector<int32_t> untouched(count, -1);
    const uint64_t from = r.memory_of(values(r.rank, count)), to = r.memory_of(untouched);
    EXPECT_OK(r.submit(collective(GPO_COLLECTIVE_SEND_RECEIVE, count), from, to,
                       r.rank + 1 < r.ranks ? r.rank + 1 : GPO_NO_RANK, r.rank ? r.rank - 1 : GPO_NO_RANK));
    EXPECT(r.read<int32_t>(to, count) == (r.rank ? values(r.rank - 1, count) : untouched));
}

// Floating-point results are combined in the order of the ranks, so that the expected bits are known.
void floating_point(Rank& r) {
    const uint64_t count = 10007;
    std::vector<float> expected(count), own;
    for (uint32_t rank = 0; rank < r.ranks; ++rank) {
        own.clear();
        for (uint64_t i = 0; i < count; ++i) own.push_back(1.0f / static_cast<float>(1 + rank * 3 + i));
        for (uint64_t i = 0; i < count; ++i) expected[i] = rank ? expected[i] + own[i] : own[i];
    }
    for (uint64_t i = 0; i < count; ++i) own[i] = 1.0f / static_cast<float>(1 + r.rank * 3 + i);
    const uint64_t data = r.memory_of(own);
    auto sum = sum_of(count);
    sum.type = GPO_TYPE_FLOAT32;
    EXPECT_OK(r.submit(sum, data, data));
    EXPECT(r.read<float>(data, count) == expected);
}

// With a stream held, the collectives still run in the order of submission.
void two_streams(Rank& r) {
    const uint64_t count = 100;
    const uint64_t one = r.memory_of(std::vector<int32_t>(count, 1));
    EXPECT_OK(gpo_stream_wait(r.stream, kPatience));
    gpo_timeline_t late = nullptr;
    EXPECT_OK(gpo_timeline_create(r.runtime, nullptr, &late));
    const gpo_stream_t first = r.stream, second = r.new_stream();
    EXPECT_OK(gpo_stream_wait_timeline(first, late, 1));
    EXPECT_OK(r.submit(sum_of(count), one, one));
    r.stream = second;
    EXPECT_OK(r.submit(collective(GPO_COLLECTIVE_BARRIER, 0), 0, 0));
    EXPECT_STATUS(GPO_TIMEOUT, gpo_stream_wait(second, 20'000'000));
    EXPECT_OK(gpo_timeline_signal(late, 1));
    EXPECT_OK(gpo_stream_wait(second, kPatience));
    r.stream = first;
    EXPECT(r.read<int32_t>(one, count) == std::vector<int32_t>(count, static_cast<int32_t>(r.ranks)));
}

// Ranks 3 and 1, and the other two.
void parts(Rank& r) {
    const uint32_t odd[] = {3, 1}, even[] = {0, 2};
    gpo_peers_t part = nullptr;
    const bool is_odd = r.rank % 2 == 1;
    for (int turn = 0; turn < 2; ++turn) {
        EXPECT_OK(gpo_peers_split(r.peers, is_odd ? odd : even, 2, nullptr, &part));
        EXPECT(Rank::info(part).ranks == 2);
        EXPECT(Rank::info(part).rank == (r.rank == 3 || r.rank == 0 ? 0 : 1));
        std::swap(part, r.peers);
        const uint64_t data = r.memory_of(std::vector<int32_t>(10, static_cast<int32_t>(r.rank)));
        EXPECT_OK(r.submit(sum_of(10), data, data));
        EXPECT(r.read<int32_t>(data, 10) == std::vector<int32_t>(10, is_odd ? 4 : 2));
        std::swap(part, r.peers);
        EXPECT_OK(gpo_peers_destroy(part));
    }
    EXPECT_STATUS(GPO_INVALID_ARGUMENT, gpo_peers_split(r.peers, is_odd ? even : odd, 2, nullptr, &part));
}

void refuses(Rank& r) {
    gpo_template_t step = nullptr;
    auto options = sized<gpo_template_options>();
    EXPECT_OK(gpo_template_create(r.device, &options, &step));
    EXPECT_OK(gpo_template_begin(step, r.stream));
    EXPECT_STATUS(GPO_CAPTURE_REFUSED, r.submit(collective(GPO_COLLECTIVE_BARRIER, 0), 0, 0));
    EXPECT_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(step));
    EXPECT_OK(gpo_template_destroy(step));
    r.stream = r.new_stream();
    auto link = sized<gpo_peer_properties>();
    EXPECT_STATUS(GPO_NOT_SUPPORTED, gpo_peers_get_link(r.peers, r.rank, (r.rank + 1) % r.ranks, &link));
    EXPECT_OK(gpo_peers_get_link(r.peers, r.rank, r.rank, &link));
}

int collectives(Rank& r) {
    for (const uint64_t count : {1, 3, 1000, 100003}) {
        all_reduces(r, count);
        scatters(r, count);
        gathers(r, count);
        chain(r, count);
    }
    all_reduces(r, 2'500'000);   // in several pieces each
    gathers(r, 600'000);
    EXPECT_OK(r.submit(sum_of(0), 0, 0));
    floating_point(r);
    two_streams(r);
    parts(r);
    refuses(r);
    EXPECT_OK(r.submit(collective(GPO_COLLECTIVE_BARRIER, 0), 0, 0));
    EXPECT_OK(gpo_stream_wait(r.stream, kPatience));
    return r.end();
}

// --- what ranks tell each other beside the group: files, in a folder that the first process has made ---

constexpr const char* kTold = "GPUORCH_TEST_TOLD";

std::string told(const std::string& what, uint32_t rank) {
    return std::string(std::getenv(kTold)) + "/" + what + "-" + std::to_string(rank);
}
void tell(const Rank& r, const std::string& what) { std::ofstream(told(what, r.rank)).flush(); }
void hear(const std::string& what, const std::vector<uint32_t>& ranks) {
    const auto begin = std::chrono::steady_clock::now();
    for (const uint32_t rank : ranks)
        while (access(told(what, rank).c_str(), F_OK) != 0) {
            EXPECT(std::chrono::steady_clock::now() - begin < std::chrono::nanoseconds(kPatience));
            std::this_thread::yield();
        }
}

// --- ranks that disagree ---

int disagree(Rank& r) {
    const uint64_t data = r.allocate(4096);
    const auto differ = [&](const gpo_collective& others, const gpo_collective& of_rank_2, const std::string& what) {
        EXPECT_OK(r.submit(r.rank == 2 ? of_rank_2 : others, data, data));
        const std::string message = r.fails_with(GPO_INVALID_STATE);
        EXPECT(has(message, "rank 2 has submitted " + what));
        r.stream = r.new_stream();
    };
    differ(sum_of(10), sum_of(11),
           "all-reduce `step` (sum of 11 int32), and rank 0 all-reduce `step` (sum of 10 int32)");
    differ(sum_of(10), collective(GPO_COLLECTIVE_BARRIER, 0),
           "barrier `step`, and rank 0 all-reduce `step` (sum of 10 int32)");
    differ(collective(GPO_COLLECTIVE_BROADCAST, 5, 0, 1), collective(GPO_COLLECTIVE_BROADCAST, 5, 0, 3),
           "broadcast `step` (5 int32, root 3), and rank 0 broadcast `step` (5 int32, root 1)");
    differ(sum_of(8), collective(GPO_COLLECTIVE_ALL_REDUCE, 8, GPO_REDUCE_MAXIMUM),
           "all-reduce `step` (maximum of 8 int32), and rank 0 all-reduce `step` (sum of 8 int32)");
    differ(sum_of(8), collective(GPO_COLLECTIVE_ALL_REDUCE, 8, GPO_REDUCE_SUM, 0, GPO_TYPE_FLOAT32),
           "all-reduce `step` (sum of 8 float32), and rank 0 all-reduce `step` (sum of 8 int32)");
    // Another layer of the same size.
    differ(labelled(sum_of(8), "layer 1"), labelled(sum_of(8), "layer 2"),
           "all-reduce `layer 2` (sum of 8 int32), and rank 0 all-reduce `layer 1` (sum of 8 int32)");
    EXPECT_OK(r.submit(labelled(sum_of(8), r.rank == 2 ? nullptr : "layer 1"), data, data));
    EXPECT_OK(gpo_stream_wait(r.stream, kPatience));
    const uint32_t next = (r.rank + 1) % r.ranks, before = (r.rank + r.ranks - 1) % r.ranks;
    EXPECT_OK(r.submit(collective(GPO_COLLECTIVE_SEND_RECEIVE, 4), data, data + 2048, next,
                       r.rank == 2 ? GPO_NO_RANK : before));
    EXPECT(has(r.fails_with(GPO_INVALID_STATE),
               "send-receive `step` (4 int32): rank 1 sends to rank 2, which doesn't receive from it"));
    // The group still works.
    r.stream = r.new_stream();
    EXPECT_OK(r.submit(collective(GPO_COLLECTIVE_BARRIER, 0), 0, 0));
    EXPECT_OK(gpo_stream_wait(r.stream, kPatience));
    return r.end();
}

// --- ranks that are lost. Rank 2 is, and all others have to say so ---

int others_lose(Rank& r, const std::string& why, gpo_status own = GPO_PEER_LOST) {
    const uint64_t data = r.allocate(4096);
    const gpo_status first = r.submit(sum_of(10), data, data);   // it may be known already
    tell(r, "submitted");
    if (first == GPO_SUCCESS) {
        EXPECT(has(r.fails_with(own), why));
        r.stream = r.new_stream();
    }
    EXPECT_STATUS(own, r.submit(sum_of(10), data, data));
    EXPECT(has(last_message(), why));
    tell(r, "lost");
    if (r.rank == 2) hear("lost", {0, 1, 3});   // rank 2 leaves last: its leaving would change the others' reason
    return r.end();
}

void barrier(Rank& r) {
    EXPECT_OK(r.submit(collective(GPO_COLLECTIVE_BARRIER, 0), 0, 0));
    EXPECT_OK(gpo_stream_wait(r.stream, kPatience));
}

/// A barrier that rank 2 leaves last, so that the end of rank 2 can't make the barrier fail for others.
void rank_2_leaves_last(Rank& r) {
    barrier(r);
    tell(r, "there");
    if (r.rank == 2) hear("there", {0, 1, 3});
}

int exits(Rank& r) {
    rank_2_leaves_last(r);
    if (r.rank == 2) _exit(0);
    return others_lose(r, "rank 2 has died");
}

// The remaining ranks form a new group. The failed stream can't be used any more.
int goes_on(Rank& r) {
    rank_2_leaves_last(r);
    if (r.rank == 2) _exit(0);
    const gpo_status lost = r.submit(sum_of(0), 0, 0);   // it may be known already
    if (lost == GPO_SUCCESS) EXPECT(has(r.fails_with(GPO_PEER_LOST), "rank 2 has died"));
    else EXPECT(lost == GPO_PEER_LOST);
    const uint32_t left[] = {0, 1, 3};
    gpo_peers_t rest = nullptr;
    EXPECT_OK(gpo_peers_split(r.peers, left, 3, nullptr, &rest));
    EXPECT_OK(gpo_peers_destroy(r.peers));
    r.peers = rest;
    r.stream = r.new_stream();
    const gpo_peers_info known = Rank::info(rest);
    EXPECT(known.ranks == 3 && known.rank == (r.rank == 3 ? 2 : r.rank));
    const uint64_t data = r.memory_of(std::vector<int32_t>(100, static_cast<int32_t>(r.rank) + 1));
    EXPECT_OK(r.submit(sum_of(100), data, data));
    EXPECT(r.read<int32_t>(data, 100) == std::vector<int32_t>(100, 7));
    return r.end();
}

int killed(Rank& r) {
    rank_2_leaves_last(r);
    if (r.rank == 2) raise(SIGKILL);
    return others_lose(r, "rank 2 has died");
}

// Rank 2 is killed while data is being transferred.
int killed_amid(Rank& r) {
    const uint64_t count = 5'000'000, data = r.allocate(count * 4);
    barrier(r);
    if (r.rank == 2)
        std::thread([peers = r.peers] {
            while (Rank::info(peers).collectives < 3) std::this_thread::yield();   // that and a barrier before
            raise(SIGKILL);
        }).detach();
    gpo_status status = GPO_SUCCESS;
    for (int turn = 0; turn < 1000 && status == GPO_SUCCESS; ++turn) {
        status = r.submit(sum_of(count), data, data);
        if (status == GPO_SUCCESS) status = gpo_stream_wait(r.stream, kPatience);
    }
    EXPECT(status == GPO_PEER_LOST);
    EXPECT(has(last_message(), "rank 2 has died"));
    return r.end();
}

int stopped(Rank& r) {
    rank_2_leaves_last(r);
    if (r.rank == 2) raise(SIGSTOP);
    return others_lose(r, "rank 2 hasn't come, or hangs: nothing came of it for 1 s");
}

int leaves(Rank& r) {
    rank_2_leaves_last(r);
    if (r.rank == 2) return r.end();
    return others_lose(r, "rank 2 has left the group");
}

int shuts_down(Rank& r) {
    rank_2_leaves_last(r);
    if (r.rank != 2) return others_lose(r, "rank 2 has");
    const uint64_t data = r.allocate(4096);
    gpo_timeline_t never = nullptr;
    EXPECT_OK(gpo_timeline_create(r.runtime, nullptr, &never));
    EXPECT_OK(gpo_stream_wait_timeline(r.stream, never, 1));
    EXPECT_OK(r.submit(sum_of(10), data, data));
    r.shut_down();
    return 0;
}

int aborts(Rank& r) {
    rank_2_leaves_last(r);
    const bool own = r.rank == 2;
    if (own)
        std::thread([peers = r.peers] {
            hear("submitted", {0, 1, 2});
            EXPECT_OK(gpo_peers_abort(peers));
        }).detach();
    // Rank 3 submits after the others have noticed the loss.
    if (r.rank == 3) {
        hear("lost", {0, 1, 2});
        return others_lose(r, "rank 2 has aborted the group");
    }
    return others_lose(r, own ? "aborted" : "rank 2 has aborted the group", own ? GPO_CANCELLED : GPO_PEER_LOST);
}

// Rank 2 cancels its part before the collective begins: the others fail with GPO_CANCELLED, and the group goes on.
int cancels(Rank& r) {
    const uint64_t data = r.allocate(4096);
    if (r.rank == 2) {
        gpo_timeline_t never = nullptr;
        EXPECT_OK(gpo_timeline_create(r.runtime, nullptr, &never));
        EXPECT_OK(gpo_stream_wait_timeline(r.stream, never, 1));
        EXPECT_OK(r.submit(sum_of(10), data, data));
        uint64_t cancelled = 0;
        EXPECT_OK(gpo_stream_cancel_held(r.stream, &cancelled));
        EXPECT(cancelled == 2);
    } else {
        EXPECT_OK(r.submit(sum_of(10), data, data));
        EXPECT(has(r.fails_with(GPO_CANCELLED), "rank 2"));
        r.stream = r.new_stream();
    }
    barrier(r);
    return r.end();
}

// Rank 2 submits after the other ranks' timeouts.
int late(Rank& r) {
    barrier(r);
    if (r.rank == 2) hear("lost", {0, 1, 3});
    return others_lose(r, "rank 2 hasn't come");
}

// On some ranks MPI doesn't accept device memory. Then no rank passes device memory to MPI.
int mixed(Rank& r) {
    EXPECT(Rank::info(r.peers).mpi_device == 0);
    all_reduces(r, 1000);
    gathers(r, 1000);
    return r.end();
}

// Rank 2 is stopped (SIGSTOP) during a transfer, and continues after the other ranks have reported its loss. It must
// not write to their memory then.
int resumes(Rank& r) {
    const uint64_t count = 4'000'000, own = r.memory_of(std::vector<int32_t>(count, 7)),
                   all = r.allocate(count * 4 * r.ranks);
    const auto gather = collective(GPO_COLLECTIVE_ALL_GATHER, count);
    EXPECT_OK(r.submit(gather, own, all));
    EXPECT_OK(gpo_stream_wait(r.stream, kPatience));
    if (r.rank == 2) {
        const pid_t stopped = getpid(), waker = fork();
        EXPECT(waker >= 0);
        if (waker == 0) {
            hear("filled", {0, 1, 3});
            kill(stopped, SIGCONT);
            _exit(0);
        }
        std::thread([peers = r.peers] {
            while (Rank::info(peers).collectives < 3) std::this_thread::yield();   // that and one before
            raise(SIGSTOP);
        }).detach();
    }
    gpo_status status = GPO_SUCCESS;
    for (int turn = 0; turn < 1000 && status == GPO_SUCCESS; ++turn) {
        status = r.submit(gather, own, all);
        if (status == GPO_SUCCESS) status = gpo_stream_wait(r.stream, kPatience);
    }
    EXPECT(status == GPO_PEER_LOST);
    if (r.rank != 2) EXPECT(has(last_message(), "rank 2 hasn't come, or hangs"));
    r.stream = r.new_stream();
    EXPECT_OK(gpo_fill(r.stream, all, -5, 4, count * r.ranks));
    EXPECT_OK(gpo_stream_wait(r.stream, kPatience));
    tell(r, "filled");
    hear("filled", {2});   // rank 2 runs again, and has also given up its operations
    EXPECT(r.read<int32_t>(all, count * r.ranks) == std::vector<int32_t>(count * r.ranks, -5));
    return r.end();
}

// --- with NCCL: rank 1 is the culprit ---

// Ranks submit in different orders while orders are checked. Afterwards the group still works.
int orders_differ(Rank& r) {
    const uint64_t count = 1000, data = r.memory_of(std::vector<int32_t>(count, static_cast<int32_t>(r.rank) + 1));
    const auto differ = [&](const gpo_collective& first, const gpo_collective& second, const std::string& what) {
        EXPECT_OK(r.submit(r.rank == 1 ? second : first, data, data));
        const std::string message = r.fails_with(GPO_INVALID_STATE);
        EXPECT(has(message, "rank 1 has submitted " + what));
        r.stream = r.new_stream();
    };
    differ(sum_of(10), sum_of(11),
           "all-reduce `step` (sum of 11 int32), and rank 0 all-reduce `step` (sum of 10 int32)");
    differ(sum_of(10), collective(GPO_COLLECTIVE_BARRIER, 0),
           "barrier `step`, and rank 0 all-reduce `step` (sum of 10 int32)");
    differ(labelled(sum_of(8), "layer 1"), labelled(sum_of(8), "layer 2"),
           "all-reduce `layer 2` (sum of 8 int32), and rank 0 all-reduce `layer 1` (sum of 8 int32)");
    EXPECT_OK(r.submit(sum_of(count), data, data));
    EXPECT(r.read<int32_t>(data, count) == std::vector<int32_t>(count, 3));
    barrier(r);
    return r.end();
}

int rank_stopped(Rank& r) {
    barrier(r);
    if (r.rank == 1) raise(SIGSTOP);
    return others_lose(r, "rank 1 hasn't come, or hangs: collective 2 of the group has waited for it for 5 s");
}

int rank_late(Rank& r) {
    for (int turn = 0; turn < 200; ++turn) {   // more than are watched at once
        const uint64_t data = r.allocate(4096);
        for (int i = 0; i < 100; ++i) EXPECT_OK(r.submit(sum_of(1000), data, data));
        if (turn % 50 == 0) EXPECT_OK(gpo_stream_wait(r.stream, kPatience));
        EXPECT_OK(gpo_memory_free(r.device, data));
    }
    EXPECT_OK(gpo_stream_wait(r.stream, kPatience));
    const std::string why = "rank 1 hasn't come, or hangs: collective 20001 of the group has waited";
    if (r.rank == 0) return others_lose(r, why);
    // Data that rank 0 sent earlier may complete a collective here before this rank learns of the loss.
    hear("lost", {0});
    const uint64_t data = r.allocate(4096);
    const auto begin = std::chrono::steady_clock::now();
    gpo_status status = GPO_SUCCESS;
    while (status == GPO_SUCCESS) {
        EXPECT(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
        status = r.submit(sum_of(10), data, data);
        if (status == GPO_SUCCESS) status = gpo_stream_wait(r.stream, kPatience);
    }
    EXPECT_STATUS(GPO_PEER_LOST, r.submit(sum_of(10), data, data));
    EXPECT(has(last_message(), why));
    return r.end();
}

// --- symmetric memory ---

constexpr uint64_t kOwn = 32768, kCounter = 65600, kBytes = 100'000;
constexpr uint32_t kBlocks = 4, kThreads = 256;
constexpr const char* kExchangeSource = R"(
#include <gpuorch/device/peer.cuh>

// Each block puts what it has made into the memory of the next rank, and waits for that of the rank before.
extern "C" __global__ void exchange(gpo::symmetric memory, int *status, unsigned turn, unsigned long long limit_ns)
{
    const unsigned next = (memory.rank + 1) % memory.ranks, block = blockIdx.x, thread = threadIdx.x;
    const gpo::bound limit = gpo::nanoseconds(limit_ns);
    unsigned *own = gpo::pointer<unsigned>(memory, memory.rank, 32768 + block * 1024);
    own[thread] = turn * 1000000 + memory.rank * 10000 + block * 1000 + thread;
    __syncthreads();
    int bad = gpo::block_put_signal(memory, next, block * 1024, own, 1024, 65536 + block * 8, turn, gpo::signal_set);
    if (!bad) bad = gpo::block_wait(memory, 65536 + block * 8, gpo::wait_at_least, turn, limit);
    if (!bad && thread == 0) bad = gpo::fetch_add(memory, 0, 65600, 1);
    const int met = gpo::barrier(memory, limit);
    if (thread == 0) status[block] = bad ? bad : met;
}
)";

gpo_symmetric_options symmetric_options(uint64_t alignment) {
    auto options = sized<gpo_symmetric_options>();
    options.alignment = alignment;
    options.label = "pages";
    return options;
}

struct Shared {
    Rank& r;
    gpo_symmetric_t memory = nullptr;
    gpo_kernel_t exchange = compile(r.device, kExchangeSource, "exchange");

    explicit Shared(Rank& r, uint64_t alignment = 0) : r(r) {
        const auto options = symmetric_options(alignment);
        EXPECT_OK(gpo_symmetric_allocate(r.peers, kBytes, &options, &memory));
    }
    uint64_t address(uint32_t rank) const {
        uint64_t address = 0;
        EXPECT_OK(gpo_symmetric_get_address(memory, rank, &address));
        return address;
    }
    /// Each block's status.
    std::vector<int32_t> run(uint32_t turn, uint64_t limit_ns) {
        struct {
            char bytes[GPO_SYMMETRIC_HANDLE_BYTES];
        } handle;
        EXPECT_OK(gpo_symmetric_get_device_handle(memory, r.rank, &handle, sizeof handle, nullptr));
        const uint64_t status = r.allocate(kBlocks * 4);
        const void* arguments[] = {&handle, &status, &turn, &limit_ns};
        const uint32_t sizes[] = {sizeof handle, sizeof status, sizeof turn, sizeof limit_ns};
        auto shape = sized<gpo_launch>();
        shape.grid[0] = kBlocks;
        shape.block[0] = kThreads;
        auto launch = sized<gpo_rank_launch>();
        launch.stream = r.stream;
        launch.kernel = exchange;
        launch.launch = &shape;
        launch.arguments = arguments;
        launch.sizes = sizes;
        launch.argument_count = 4;
        const gpo_rank_launch twice[] = {launch, launch};
        EXPECT_STATUS(GPO_INVALID_ARGUMENT, gpo_peers_launch(r.peers, twice, sizeof launch, 2));
        EXPECT(has(last_message(), "1 ranks in this process"));
        EXPECT_OK(gpo_peers_launch(r.peers, &launch, sizeof launch, 1));
        return r.read<int32_t>(status, kBlocks);
    }
};

int symmetric(Rank& r) {
    for (const uint64_t alignment : {uint64_t{0}, uint64_t{1} << 20}) {
        Shared shared(r, alignment);
        auto info = sized<gpo_symmetric_info>();
        EXPECT_OK(gpo_symmetric_get_info(shared.memory, &info));
        EXPECT(info.ranks == r.ranks && info.bytes == kBytes && info.native_atomics == 1);
        EXPECT(shared.address(r.rank) % (alignment ? alignment : 256) == 0);
        const uint32_t next = (r.rank + 1) % r.ranks, before = (r.rank + r.ranks - 1) % r.ranks;
        for (uint32_t rank = 0; rank < r.ranks; ++rank)
            EXPECT(r.read<char>(shared.address(rank), kBytes) == std::vector<char>(kBytes));
        barrier(r);   // all have looked
        for (uint32_t turn = 1; turn <= 20; ++turn) {
            EXPECT(shared.run(turn, 20'000'000'000) == std::vector<int32_t>(kBlocks, 0));
            const auto words = r.read<uint32_t>(shared.address(r.rank), kBlocks * kThreads);
            for (uint32_t i = 0; i < words.size(); ++i)
                EXPECT(words[i] == turn * 1'000'000 + before * 10'000 + i / kThreads * 1000 + i % kThreads);
            EXPECT(r.read<uint32_t>(shared.address(next), 1)[0] == turn * 1'000'000 + r.rank * 10'000);
            EXPECT(r.read<uint64_t>(shared.address(0) + kCounter, 1)[0] == uint64_t{turn} * kBlocks * r.ranks);
            barrier(r);
        }
        char handle[GPO_SYMMETRIC_HANDLE_BYTES];
        EXPECT_STATUS(GPO_INVALID_ARGUMENT,
                      gpo_symmetric_get_device_handle(shared.memory, next, handle, sizeof handle, nullptr));
        EXPECT(has(last_message(), "is of another process"));
        EXPECT_STATUS(GPO_INVALID_ARGUMENT, gpo_symmetric_reset(shared.memory, next, r.stream));
        EXPECT_OK(gpo_symmetric_reset(shared.memory, r.rank, r.stream));
        barrier(r);
        EXPECT(shared.run(21, 20'000'000'000) == std::vector<int32_t>(kBlocks, 0));
        barrier(r);
        EXPECT_OK(gpo_symmetric_destroy(shared.memory));
    }
    return r.end();
}

// The last rank allocates differently. All ranks must fail in the same way, and the group must still work.
int symmetric_differs(Rank& r) {
    const uint32_t last = r.ranks - 1;
    const std::string name = "rank " + std::to_string(last);
    const auto refuse = [&](gpo_status status, uint64_t bytes, uint64_t alignment, const std::string& what) {
        const auto options = symmetric_options(r.rank == last ? alignment : 0);
        gpo_symmetric_t memory = nullptr;
        EXPECT_STATUS(status, gpo_symmetric_allocate(r.peers, r.rank == last ? bytes : kBytes, &options, &memory));
        EXPECT(has(last_message(), what) && memory == nullptr);
    };
    refuse(GPO_INVALID_ARGUMENT, kBytes + 1, 0, "bytes of " + name + " is 100001, and that of rank 0 is 100000");
    refuse(GPO_INVALID_ARGUMENT, kBytes, 4096, "the alignment of " + name + " is 4096");
    refuse(GPO_INVALID_ARGUMENT, kBytes, 100, "options.alignment is 100");
    refuse(GPO_INVALID_ARGUMENT, 0, 0, "bytes is 0");
    auto options = symmetric_options(0);
    if (r.rank == last) options.label = "weights";
    gpo_symmetric_t other = nullptr;
    EXPECT_STATUS(GPO_INVALID_ARGUMENT, gpo_symmetric_allocate(r.peers, kBytes, &options, &other));
    EXPECT(has(last_message(), name + " allocates symmetric memory `weights`, and rank 0 symmetric memory `pages`: all "
                                      "ranks have to allocate the same memory in the same order"));
    options.label = r.rank == last ? nullptr : "pages";   // which says nothing
    EXPECT_OK(gpo_symmetric_allocate(r.peers, kBytes, &options, &other));
    EXPECT_OK(gpo_symmetric_destroy(other));
    gpo_symmetric_t memory = nullptr;
    EXPECT_STATUS(GPO_OUT_OF_MEMORY, gpo_symmetric_allocate(r.peers, uint64_t{1} << 47, &options, &memory));
    Shared shared(r);
    EXPECT(shared.run(1, 20'000'000'000) == std::vector<int32_t>(kBlocks, 0));
    barrier(r);
    EXPECT_OK(gpo_symmetric_destroy(shared.memory));
    return r.end();
}

// The last rank dies. Its memory stays mapped, and kernels that wait for its kernels end after their time limit.
int symmetric_dies(Rank& r) {
    const uint32_t last = r.ranks - 1;
    Shared shared(r);
    EXPECT_OK(gpo_fill(r.stream, shared.address(r.rank) + kOwn, r.rank + 1, 4, 100));
    EXPECT_OK(gpo_stream_wait(r.stream, kPatience));
    barrier(r);
    if (r.rank == last) raise(SIGKILL);
    gpo_symmetric_t none = nullptr;
    EXPECT_STATUS(GPO_PEER_LOST, gpo_symmetric_allocate(r.peers, kBytes, nullptr, &none));
    EXPECT(has(last_message(), "rank " + std::to_string(last) + " has died"));
    EXPECT(r.read<uint32_t>(shared.address(last) + kOwn, 100) == std::vector<uint32_t>(100, last + 1));
    for (const int32_t status : shared.run(1, 100'000'000)) EXPECT(status == GPO_TIMEOUT);
    EXPECT_OK(gpo_symmetric_destroy(shared.memory));
    return r.end();
}

struct Scenario {
    const char* name;
    int (*rank)(Rank&);
    int64_t timeout_ns;
    int code_of_one;   // as in_child gives it, of the rank that one_of() names
};
constexpr int64_t kSecond = 1'000'000'000;
const Scenario kScenarios[] = {
    {"collectives", collectives, 30 * kSecond, 0}, {"disagree", disagree, 30 * kSecond, 0},
    {"exits", exits, 30 * kSecond, 0},             {"goes_on", goes_on, 30 * kSecond, 0},
    {"killed", killed, 30 * kSecond, -SIGKILL},
    {"killed_amid", killed_amid, 30 * kSecond, -SIGKILL},
    {"stopped", stopped, kSecond, -SIGKILL},       {"leaves", leaves, 30 * kSecond, 0},
    {"shuts_down", shuts_down, 30 * kSecond, 0},   {"aborts", aborts, 30 * kSecond, 0},
    {"cancels", cancels, 30 * kSecond, 0},         {"late", late, kSecond, 0},
    {"symmetric", symmetric, 30 * kSecond, 0},     {"symmetric_differs", symmetric_differs, 30 * kSecond, 0},
    {"symmetric_dies", symmetric_dies, 30 * kSecond, -SIGKILL},
    {"mixed", mixed, 30 * kSecond, 0},
    {"resumes", resumes, 5 * kSecond, 0},   // moving the data may take a busy machine a second
    {"orders_differ", orders_differ, 30 * kSecond, 0},
    {"rank_stopped", rank_stopped, 5 * kSecond, -SIGKILL},   // joining takes NCCL a second or two
    {"rank_late", rank_late, 5 * kSecond, 0},
};
bool stops(const Scenario& scenario) { return scenario.rank == stopped || scenario.rank == rank_stopped; }

// --- the processes ---

std::string hex_of(const std::vector<uint8_t>& bytes) {
    std::string out;
    char digits[3];
    for (const uint8_t byte : bytes) {
        std::snprintf(digits, sizeof digits, "%02x", byte);
        out += digits;
    }
    return out;
}
std::vector<uint8_t> bytes_of(const std::string& hex) {
    std::vector<uint8_t> out;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        out.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return out;
}

bool joins_by_id(const std::string& by) { return by == "id" || by == "nccl" || by == "two"; }
uint32_t ranks_of(const std::string& by) { return by == "nccl" || by == "two" ? 2 : kRanks; }
uint32_t one_of(const Scenario& scenario, const std::string& by) {
    if (scenario.rank == symmetric_dies) return ranks_of(by) - 1;
    return ranks_of(by) == 2 ? 1 : 2;
}

int be_rank(const Scenario& scenario, const std::string& by, const char* place, const char* rank) {
    auto options = sized<gpo_join_options>();
    options.timeout_ns = scenario.timeout_ns;
    options.label = "all";
    const std::vector<uint8_t> id = joins_by_id(by) ? bytes_of(place) : std::vector<uint8_t>();
    if (by == "mpi") {
        options.by = GPO_JOIN_MPI;
    } else {
        options.by = by == "file" ? GPO_JOIN_FILE : GPO_JOIN_ID;
        options.id = by == "file" ? nullptr : id.data();
        options.path = by == "file" ? place : nullptr;
        options.rank = static_cast<uint32_t>(std::atoi(rank));
        options.ranks = ranks_of(by);
    }
    if (by == "two") options.engine = GPO_ENGINE_HOST;   // NCCL refuses two ranks on one GPU
    if (by == "nccl") {
        options.engine = GPO_ENGINE_NCCL;
        setenv("CUDA_VISIBLE_DEVICES", rank, 1);
    }
    const char* of_all = getenv("GPUORCH_MPI_DEVICE");
    const std::string device = of_all ? of_all : "";
    if (scenario.rank == mixed) {
        const char* own = getenv("OMPI_COMM_WORLD_RANK");
        EXPECT(own);
        if (own == std::string("2")) setenv("GPUORCH_MPI_DEVICE", "0", 1);
    }
    if (scenario.rank == orders_differ || scenario.rank == disagree) options.flags = GPO_JOIN_CHECK_ORDER;
    Rank r(options);
    EXPECT(r.ranks == ranks_of(by));
    EXPECT((Rank::info(r.peers).nccl_version != 0) == (by == "nccl"));
    if (by != "mpi" || !device.empty())
        EXPECT((Rank::info(r.peers).mpi_device != 0) == (by == "mpi" && device == "1" && scenario.rank != mixed));
    return scenario.rank(r);
}

pid_t start(const std::vector<std::string>& words) {
    std::vector<char*> pointers;
    for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
    pointers.push_back(nullptr);
    std::fflush(nullptr);
    const pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        execvp(pointers[0], pointers.data());
        _exit(127);
    }
    return child;
}

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

int code_of(pid_t child) {
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int by_mpi(const Scenario& scenario) {
    const char* mpirun = nullptr;
    for (const char* name : {"mpirun.openmpi", "mpirun"}) {
        const std::string is_open_mpi = std::string(name) + " --version 2>&1 | grep -q 'Open MPI'";
        if (!mpirun && std::system(is_open_mpi.c_str()) == 0) mpirun = name;
    }
    if (!mpirun) end_skipped("mpi", "there is no mpirun of Open MPI");
    // Otherwise it looks for ssh, even though all processes are on this machine (releases 4 and 5).
    setenv("OMPI_MCA_plm_rsh_agent", "sh", 1);
    setenv("PRTE_MCA_plm_ssh_agent", "sh", 1);
    return code_of(start({mpirun, "-np", std::to_string(kRanks), "--oversubscribe", "--allow-run-as-root",
                          own_program(), "rank", scenario.name, "mpi", "-", "-"}));
}

int run_ranks(const Scenario& scenario, const std::string& by) {
    Folder folder;
    std::vector<uint8_t> id(GPO_PEERS_ID_BYTES);
    size_t needed = 0;
    EXPECT_STATUS(GPO_BUFFER_TOO_SMALL, gpo_peers_make_id(id.data(), id.size() - 1, &needed));
    EXPECT(needed == id.size());
    EXPECT_OK(gpo_peers_make_id(id.data(), id.size(), nullptr));
    const std::string place = by == "file" ? folder / "group" : hex_of(id);
    const uint32_t ranks = ranks_of(by), one = one_of(scenario, by);
    std::vector<pid_t> children;
    for (uint32_t rank = 0; rank < ranks; ++rank)
        children.push_back(start({own_program(), "rank", scenario.name, by, place, std::to_string(rank)}));
    int wrong = 0;
    const auto expect_code = [&](uint32_t rank, int expected) {
        const int code = code_of(children[rank]);
        if (code == expected) return;
        std::fprintf(stderr, "rank %u ended with %d, not with %d\n", rank, code, expected);
        ++wrong;
    };
    for (uint32_t rank = 0; rank < ranks; ++rank)
        if (rank != one) expect_code(rank, 0);
    if (stops(scenario)) kill(children[one], SIGKILL);
    expect_code(one, scenario.code_of_one);
    EXPECT(folder.names().empty());
    return wrong != 0;
}

// A child process checks this: the ranks must be able to initialise the driver themselves.
void skip_without_nccl() {
    const int code = in_child([] {
        gpo_runtime_t runtime = nullptr;
        if (gpo_runtime_create(nullptr, &runtime) != GPO_SUCCESS) return 2;
        uint32_t devices = 0;
        if (gpo_runtime_get_device_count(runtime, &devices) != GPO_SUCCESS || devices < 2) return 2;
        Opened a;
        uint8_t id[GPO_PEERS_ID_BYTES];
        EXPECT_OK(gpo_peers_make_id(id, sizeof id, nullptr));
        auto options = sized<gpo_join_options>();
        options.by = GPO_JOIN_ID;
        options.id = id;
        options.ranks = 1;
        options.engine = GPO_ENGINE_NCCL;
        gpo_peers_t peers = nullptr;
        const gpo_status status = gpo_peers_join(a.device, &options, &peers);
        if (status == GPO_NOT_SUPPORTED) return 3;
        EXPECT_OK(status);
        return 0;
    });
    if (code == 2) end_skipped("nccl", "there are no two GPUs");
    if (code == 3) end_skipped("nccl", "there is no NCCL");
    EXPECT(code == 0);
}

// --- without others ---

gpo_join_options alone(const std::string& path, uint32_t rank) {
    auto options = sized<gpo_join_options>();
    options.by = GPO_JOIN_FILE;
    options.path = path.c_str();
    options.rank = rank;
    options.ranks = 3;
    options.timeout_ns = 200'000'000;
    return options;
}

int missing() {
    Folder folder;
    Opened a;
    gpo_peers_t peers = nullptr;
    const std::string path = folder / "group";
    for (const uint32_t rank : {0, 1}) {
        const gpo_join_options options = alone(path, rank);
        EXPECT_STATUS(GPO_PEER_LOST, gpo_peers_join(a.device, &options, &peers));
        EXPECT(has(last_message(), rank == 0 ? "ranks 1, 2 didn't come" : "ranks 0, 2 didn't come"));
        EXPECT(peers == nullptr);
        EXPECT(folder.names().empty());
    }
    std::ofstream(path) << "something else";
    for (const uint32_t rank : {0, 1}) {
        const gpo_join_options options = alone(path, rank);
        EXPECT_STATUS(GPO_INVALID_ARGUMENT, gpo_peers_join(a.device, &options, &peers));
    }
    EXPECT(read_whole(path) == "something else");
    a.shut_down();
    return 0;
}

// If rank 0 was killed, the file that it has left must not be taken for a group.
int left_behind() {
    Folder folder;
    const std::string path = folder / "group";
    EXPECT(in_child([&] {
        Opened a;
        auto options = alone(path, 0);
        options.timeout_ns = -1;
        std::thread([&] {
            while (folder.names().count("group") == 0) std::this_thread::yield();
            raise(SIGKILL);
        }).detach();
        gpo_peers_t peers = nullptr;
        gpo_peers_join(a.device, &options, &peers);
        return 1;
    }) == -SIGKILL);
    EXPECT(folder.names().count("group") == 1);
    Opened a;
    gpo_peers_t peers = nullptr;
    for (const uint32_t rank : {1, 0}) {
        const gpo_join_options options = alone(path, rank);
        EXPECT_STATUS(GPO_PEER_LOST, gpo_peers_join(a.device, &options, &peers));
        EXPECT(has(last_message(), rank ? "ranks 0, 2 didn't come" : "ranks 1, 2 didn't come"));
    }
    EXPECT(folder.names().empty());
    auto options = alone(path, 0);
    options.ranks = 1;
    EXPECT_OK(gpo_peers_join(a.device, &options, &peers));
    a.shut_down();
    return 0;
}

int no_mpi() {
    setenv("GPUORCH_MPI", "/nonexistent/libmpi.so", 1);
    Opened a;
    auto options = sized<gpo_join_options>();
    options.by = GPO_JOIN_MPI;
    gpo_peers_t peers = nullptr;
    EXPECT_STATUS(GPO_NOT_SUPPORTED, gpo_peers_join(a.device, &options, &peers));
    EXPECT(has(last_message(), "/nonexistent/libmpi.so") && has(last_message(), "libopenmpi3"));
    a.shut_down();
    return 0;
}

}  // namespace

int main(int count, char** words) {
    const std::vector<std::string> given(words + 1, words + count);
    std::optional<Folder> folder;
    if (!std::getenv(kTold)) setenv(kTold, folder.emplace().path.c_str(), 1);
    if (given == std::vector<std::string>{"no_mpi"}) return no_mpi();
    if (given == std::vector<std::string>{"file", "missing"}) return missing();
    if (given == std::vector<std::string>{"file", "left_behind"}) return left_behind();
    EXPECT(given.size() == 2 || given.size() == 5);
    for (const Scenario& scenario : kScenarios) {
        if (scenario.name != given[1]) continue;
        if (given.size() == 5) return be_rank(scenario, given[2], words[4], words[5]);
        if (given[0] == "nccl") skip_without_nccl();
        if (given[0] == "two") skip_without_device("two");
        return given[0] == "mpi" ? by_mpi(scenario) : run_ranks(scenario, given[0]);
    }
    EXPECT(false);
}
