#include "peers/direct.h"

#include <algorithm>
#include <bit>

namespace gpo::peers {

namespace {

constexpr uint64_t kAlignment = 256;          // of the pieces that ranks reduce, bytes
constexpr uint64_t kLeastBoxBytes = 64 << 10;   // of mailboxes: for data of so many bytes
constexpr uint64_t kAloneBytes = 32 << 10;    // up to this size each rank reduces all data, in one phase

// Where kernels that exchange the data themselves are as fast as NCCL, measured on H200s (tests/bench/RESULTS.md).
uint64_t small_bytes_of(size_t ranks) noexcept {
    if (ranks < 2 || ranks > exchange::kMostRanks) return 0;
    return ranks == 2 ? 1 << 20 : ranks <= 4 ? 256 << 10 : 64 << 10;
}

// 0: none.
uint64_t capture_of(Stream& stream) {
    const DriverScope scope(stream.context());
    return stream.capture();
}

struct Piece {
    uint64_t first = 0, bytes = 0;   // from the buffer's begin
};

// The part of `bytes` that rank `rank` reduces.
Piece piece_of(uint64_t bytes, uint32_t ranks, uint32_t rank) noexcept {
    const uint64_t each = ((bytes + ranks - 1) / ranks + kAlignment - 1) / kAlignment * kAlignment;
    const uint64_t first = std::min(bytes, each * rank);
    return {first, std::min(bytes - first, each)};
}

}  // namespace

DirectEngine::DirectEngine(std::span<const Ref<Context>> contexts, const FixedText<96>& owner)
    : owner_(owner), barrier_(contexts), ranks_(contexts.size()) {
    for (size_t rank = 0; rank < contexts.size(); ++rank) {
        Rank& made = ranks_[rank];
        made.context = contexts[rank];
        if (contexts.size() > 1) made.kernels = kernels_of(*made.context);
        made.blocks = most_combine_blocks(*made.context);
        DriverScope scope(*made.context);
        made.context->take_event(false, &made.last);
    }
    small_bytes_ = small_bytes_of(ranks_.size());
}

DirectEngine::~DirectEngine() {
    for (Rank& rank : ranks_)
        if (rank.last) rank.context->give_events(false, &rank.last, 1);
}

Ref<Counted> DirectEngine::prepare(const Collective& collective, bool captured) {
    if (!small(collective)) return nullptr;
    std::vector<Ref<Context>> contexts;
    for (const Rank& rank : ranks_) contexts.push_back(rank.context);
    if (captured) return make<Mailboxes>(contexts, collective.bytes(), true, owner_);
    const auto suffice = [&] { return boxes_ && boxes_->most_bytes() >= collective.bytes(); };
    {
        std::lock_guard lock(lock_);
        if (suffice()) return boxes_;
    }
    const uint64_t bytes = std::max(kLeastBoxBytes, std::bit_ceil(collective.bytes()));
    auto made = make<Mailboxes>(contexts, std::min(bytes, small_bytes_), false, owner_);
    std::lock_guard lock(lock_);
    if (!suffice()) boxes_ = std::move(made);   // launches with the smaller ones come first, by the events `last`
    return boxes_;
}

// While one collective is issued.
class DirectEngine::Issue {
public:
    Issue(DirectEngine& engine, const Collective& collective, std::span<const Part> parts)
        : engine_(engine), collective_(collective), parts_(parts) {}

    void join() {
        engine_.barrier_.issue([&](size_t rank) -> Stream& { return *parts_[rank].stream; });
    }

    void copy(uint32_t on, uint64_t destination, uint64_t source, uint64_t bytes) {
        if (bytes == 0 || destination == source) return;
        CopyWork work;
        work.destination = destination;
        work.source = source;
        work.bytes = bytes;
        put(on, work);
    }

    // A part of all ranks' buffers that begin at `first_of(rank)`.
    template <class FirstOf>
    void combine(uint32_t on, uint64_t destination, FirstOf first_of, uint64_t bytes) {
        const Collective& c = collective_;
        if (bytes == 0) return;
        if (c.ranks == 1) return copy(on, destination, first_of(0), bytes);
        uint64_t sources[kMostCombined] = {};
        for (uint32_t of = 0; of < c.ranks; ++of) sources[of] = first_of(of);
        const Rank& rank = engine_.ranks_[on];
        put(on, Combine(*rank.kernels, rank.blocks, c, destination, {sources, c.ranks}, bytes).work());
    }

    void run();

private:
    template <class Work>
    void put(uint32_t rank, const Work& work) {
        Stream& stream = *parts_[rank].stream;
        const DriverScope scope(stream.context());
        gpo::issue(stream, work);
    }
    template <class Do>
    void each(Do act) {
        for (uint32_t rank = 0; rank < collective_.ranks; ++rank) act(rank, parts_[rank]);
    }
    // Calls act() for each other rank, in an order in which no two ranks read from the same rank at once.
    template <class Do>
    void each_other(uint32_t rank, Do act) {
        for (uint32_t i = 1; i < collective_.ranks; ++i) act((rank + i) % collective_.ranks);
    }
    void all_reduce();

    DirectEngine& engine_;
    const Collective& collective_;
    const std::span<const Part> parts_;
};

void DirectEngine::Issue::all_reduce() {
    const Collective& c = collective_;
    const bool in_place = std::any_of(parts_.begin(), parts_.end(), [](const Part& p) { return p.send == p.receive; });
    if (c.ranks == 1 || (c.bytes() <= kAloneBytes && !in_place)) {
        each([&](uint32_t rank, const Part& part) {
            combine(rank, part.receive, [&](uint32_t of) { return parts_[of].send; }, c.bytes());
        });
        return;
    }
    each([&](uint32_t rank, const Part& part) {
        const Piece piece = piece_of(c.bytes(), c.ranks, rank);
        combine(rank, part.receive + piece.first, [&](uint32_t of) { return parts_[of].send + piece.first; },
                piece.bytes);
    });
    join();
    each([&](uint32_t rank, const Part& part) {
        each_other(rank, [&](uint32_t of) {
            const Piece piece = piece_of(c.bytes(), c.ranks, of);
            copy(rank, part.receive + piece.first, parts_[of].receive + piece.first, piece.bytes);
        });
    });
}

void DirectEngine::Issue::run() {
    const Collective& c = collective_;
    join();
    switch (c.kind) {
        case Kind::all_reduce: all_reduce(); break;
        case Kind::reduce:
            combine(c.root, parts_[c.root].receive, [&](uint32_t of) { return parts_[of].send; }, c.bytes());
            break;
        case Kind::reduce_scatter:
            each([&](uint32_t rank, const Part& part) {
                combine(rank, part.receive, [&](uint32_t of) { return parts_[of].send + rank * c.bytes(); }, c.bytes());
            });
            break;
        case Kind::broadcast:
            each([&](uint32_t rank, const Part& part) { copy(rank, part.receive, parts_[c.root].send, c.bytes()); });
            break;
        case Kind::all_gather:
            each([&](uint32_t rank, const Part& part) {
                copy(rank, part.receive + rank * c.bytes(), part.send, c.bytes());
                each_other(rank, [&](uint32_t of) {
                    copy(rank, part.receive + of * c.bytes(), parts_[of].send, c.bytes());
                });
            });
            break;
        case Kind::all_to_all:
            each([&](uint32_t rank, const Part& part) {
                const auto take = [&](uint32_t of) {
                    copy(rank, part.receive + of * c.bytes(), parts_[of].send + rank * c.bytes(), c.bytes());
                };
                take(rank);
                each_other(rank, take);
            });
            break;
        case Kind::send_receive:
            each([&](uint32_t rank, const Part& part) {
                if (part.receive_from != GPO_NO_RANK)
                    copy(rank, part.receive, parts_[part.receive_from].send, c.bytes());
            });
            break;
        case Kind::barrier: return;   // which the join is
    }
    join();
}

// Launches the kernels of all ranks, behind the kernels of the previous launch even if that was on other streams: the
// mailboxes serve one launch at a time. `launched` counts the kernels.
void DirectEngine::launch_small(const Collective& c, std::span<const Part> parts, const Mailboxes& boxes, bool captured,
                                uint32_t& launched) {
    constexpr uint64_t kUnit = 8;   // bytes of a thread
    const uint64_t units = (c.bytes() + kUnit - 1) / kUnit;
    uint32_t reduction = c.reduction;
    uint64_t bytes = c.bytes();
    KernelWork work;
    work.block[0] = static_cast<uint32_t>(std::min<uint64_t>((units + 31) / 32 * 32, uint64_t{exchange::kThreads}));
    work.grid[0] = static_cast<uint32_t>((units + work.block[0] - 1) / work.block[0]);
    const LaunchTogether together(parts[0].stream->runtime());
    for (uint32_t rank = 0; rank < c.ranks; ++rank) {
        Stream& stream = *parts[rank].stream;
        Rank& own = ranks_[rank];
        const DriverScope scope(stream.context());
        if (!captured && own.last_recorded) gpo::issue(stream, EventWork{own.last, true});
        exchange::Mailboxes argument = boxes.argument(rank);
        uint64_t send = parts[rank].send, receive = parts[rank].receive;
        exchange::Stop stop = boxes.stop_argument(rank);   // CUDA's kernels don't take the last one
        void* arguments[] = {&argument, &send, &receive, &bytes, &reduction, &stop};
        work.function = own.kernels->small[c.type - 1]->native();
        work.arguments = arguments;
        gpo::issue(stream, work);
        ++launched;
        if (captured) continue;
        gpo::issue(stream, EventWork{own.last, false});
        own.last_recorded = true;
    }
}

void DirectEngine::issue_small(const Collective& c, std::span<const Part> parts, Mailboxes& boxes, bool captured) {
    uint32_t launched = 0;
    boxes.begin_launch();
    try {
        launch_small(c, parts, boxes, captured, launched);
    } catch (...) {
        if (!captured && launched != 0) give_up(boxes, launched < c.ranks);
        throw;
    }
}

// A launch has failed halfway. The ranks count their launches, so these mailboxes can't be used again.
void DirectEngine::give_up(Mailboxes& boxes, bool some_are_missing) noexcept {
    if (some_are_missing) boxes.stop();   // the launched kernels would wait for the missing ones
    boxes_ = nullptr;                     // the result of prepare() still holds a reference
    for (Rank& rank : ranks_) rank.last_recorded = false;
}

void DirectEngine::issue(const Collective& collective, std::span<const Part> parts, Counted* prepared,
                         void (*begin)(void*), void* of) {
    const uint64_t capture = capture_of(*parts[0].stream);
    std::lock_guard lock(lock_);
    auto* boxes = static_cast<Mailboxes*>(prepared);
    // Otherwise a capture has begun or ended since prepare(), or larger mailboxes have replaced these. Then the
    // collective runs in several steps, which need no mailboxes.
    if (boxes && (capture != 0) == (boxes != boxes_.get())) {
        begin(of);
        return issue_small(collective, parts, *boxes, capture != 0);
    }
    for (const Part& part : parts)
        if (capture_of(*part.stream) != capture)
            fail(GPO_CAPTURE_REFUSED, kind_name(collective.kind), ": ", parts[0].stream->describe(), " and ",
                 part.stream->describe(), " have to be in one recording, since the ranks' work waits for each other's");
    begin(of);
    Issue(*this, collective, parts).run();
}

}  // namespace gpo::peers
