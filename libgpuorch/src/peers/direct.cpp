#include "peers/direct.h"

#include <algorithm>

#include "driver/driver.h"

namespace gpo::peers {

namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kMostSources = 16;         // of one launch (driver/combine.cu)
constexpr uint64_t kAlignment = 256;          // of the pieces that ranks reduce, bytes
constexpr uint64_t kAloneBytes = 32 << 10;    // up to here each rank reduces everything, in one phase

Ref<Counted> load_combine(Context& context) {
    const std::string_view image = context.driver().combine_image;
    auto module = make<Module>(Ref<Context>(&context), kernel::ImageBytes(image.data(), image.size()),
                               Module::Lowered{}, "peers", nullptr);
    Function& function = module->function("gpo_combine");
    return make<Kernel>(std::move(module), function, "combine");
}

Ref<Kernel> combine_kernel(Context& context) {
    return Ref<Kernel>::adopt(static_cast<Kernel*>(context.keep(load_combine).leak()));
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

DirectEngine::DirectEngine(std::span<const Ref<Context>> contexts) : ranks_(contexts.size()) {
    for (size_t rank = 0; rank < contexts.size(); ++rank) {
        Rank& made = ranks_[rank];
        made.context = contexts[rank];
        made.combine = combine_kernel(*made.context);
        DriverScope scope(*made.context);
        const driver::Table& table = made.context->table();
        int multiprocessors = 1;
        CUdevice device = 0;
        made.context->check(table.cuDeviceGet(&device, made.context->ordinal()), "cuDeviceGet");
        made.context->check(
            table.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
            "cuDeviceGetAttribute");
        made.blocks = static_cast<uint32_t>(std::max(multiprocessors, 1)) * 4;
        made.context->take_event(false, &made.here);
    }
}

DirectEngine::~DirectEngine() {
    for (Rank& rank : ranks_)
        if (rank.here) rank.context->give_events(false, &rank.here, 1);
}

// While one collective is issued.
class DirectEngine::Issue {
public:
    Issue(DirectEngine& engine, const Collective& collective, std::span<const Part> parts)
        : engine_(engine), collective_(collective), parts_(parts) {}

    // All go on when all are here.
    void join() {
        const uint32_t ranks = collective_.ranks;
        if (ranks == 1) return;
        for (uint32_t rank = 1; rank < ranks; ++rank) put(rank, EventWork{here(rank), false});
        for (uint32_t rank = 1; rank < ranks; ++rank) put(0, EventWork{here(rank), true});
        put(0, EventWork{here(0), false});
        for (uint32_t rank = 1; rank < ranks; ++rank) put(rank, EventWork{here(0), true});
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
        uint64_t count = bytes / c.element_bytes;
        for (uint32_t from = 0; from < c.ranks;) {
            uint64_t sources[kMostSources] = {};
            uint32_t used = 0;
            if (from) sources[used++] = destination;   // what was combined already
            while (used < kMostSources && from < c.ranks) sources[used++] = first_of(from++);
            const bool last = from == c.ranks;
            uint32_t type = c.type, divisor = c.ranks;
            uint32_t reduction = c.reduction == GPO_REDUCE_AVERAGE && !last ? GPO_REDUCE_SUM : c.reduction;
            void* arguments[] = {&destination, sources, &used, &type, &reduction, &divisor, &count};
            KernelWork work;
            work.function = engine_.ranks_[on].combine->native();
            work.grid[0] = static_cast<uint32_t>(
                std::clamp<uint64_t>(bytes / (uint64_t{kThreads} * 16), 1, engine_.ranks_[on].blocks));
            work.block[0] = kThreads;
            work.arguments = arguments;
            put(on, work);
        }
    }

    void run();

private:
    CUevent here(uint32_t rank) const noexcept { return engine_.ranks_[rank].here; }
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
    // The others in an order in which no two ranks read of the same one at once.
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

void DirectEngine::issue(const Collective& collective, std::span<const Part> parts, void (*begin)(void*), void* of) {
    std::lock_guard lock(lock_);
    begin(of);
    Issue(*this, collective, parts).run();
}

}  // namespace gpo::peers
