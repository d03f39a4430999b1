#include "peers/staged_exchange.h"

#include <algorithm>
#include <cstring>

#include "base/combine.h"

namespace gpo::peers {

Exchange::Exchange(Transport& transport, const Staging& staging, uint64_t patience, Copies copies, Combines combines,
                   std::function<void()> check)
    : transport_(transport), rank_(transport.rank()), ranks_(transport.ranks()), sent_(staging.at),
      received_(staging.at + staging.half), half_(staging.half), device_(staging.device), patience_(patience),
      copies_(std::move(copies)), combines_(std::move(combines)), check_(std::move(check)) {}

void Exchange::run(const Collective& collective, const Part& part) {
    if (collective.bytes() == 0) return;
    element_ = collective.element_bytes;
    switch (collective.kind) {
        case Kind::all_reduce:
        case Kind::reduce: return reduce_to(collective, part);
        case Kind::reduce_scatter: return reduce_scatter(collective, part);
        case Kind::broadcast: return broadcast(collective, part);
        case Kind::all_gather: return gather_all(collective, part);
        case Kind::all_to_all: return to_all(collective, part);
        case Kind::send_receive: return send_receive(collective, part);
        case Kind::barrier: return;
    }
}

// --- copies and transfers, a few at a time ---

void Exchange::add_copy(bool in, std::byte* staging, uint64_t memory, uint64_t bytes) {
    if (bytes) to_copy_.push_back({in, staging, memory, bytes});
}

void Exchange::copy() {
    if (!to_copy_.empty()) copies_(to_copy_);
    to_copy_.clear();
}

void Exchange::add_transfer(uint32_t peer, bool sends, std::byte* at, uint64_t bytes) {
    if (bytes == 0 || peer == rank_) return;
    Transfer transfer;
    transfer.peer = peer;
    transfer.sends = sends;
    transfer.device = device_;
    transfer.bytes = at;
    transfer.size = bytes;
    transfers_.push_back(transfer);
}

void Exchange::exchange() {
    complete(transport_, transfers_, patience_, check_);
    transfers_.clear();
}

void Exchange::combine(const Collective& collective, const std::vector<const std::byte*>& sources, std::byte* to,
                       uint64_t count) const {
    if (device_) {
        std::vector<uint64_t> addresses;
        for (const std::byte* source : sources) addresses.push_back(reinterpret_cast<uint64_t>(source));
        if (count) combines_(addresses, reinterpret_cast<uint64_t>(to), bytes(count));
        return;
    }
    gpo::combine::with_type(collective.type, [&]<class Element>(Element) {
        using Stored = typename Element::Stored;
        const auto runs = [&]<unsigned length>(uint64_t from) {
            const auto at = [&](const std::byte* source) { return reinterpret_cast<const Stored*>(source) + from; };
            for (; count - from >= length; from += length) {
                gpo::combine::Run<Element, length> run(at(sources[0]));
                for (size_t source = 1; source < sources.size(); ++source)
                    run.combine(collective.reduction, at(sources[source]));
                run.store(collective.reduction, ranks_, reinterpret_cast<Stored*>(to) + from);
            }
            return from;
        };
        runs.template operator()<1>(runs.template operator()<64>(0));
    });
}

// --- the kinds ---

Exchange::Piece Exchange::piece_of(uint32_t rank, uint64_t count) const noexcept {
    const uint64_t first = count / ranks_ * rank + std::min<uint64_t>(rank, count % ranks_);
    return {first, count / ranks_ + (rank < count % ranks_)};
}

// Executes an all-reduce, or a reduce to the root.
void Exchange::reduce_to(const Collective& collective, const Part& part) {
    const bool all = collective.kind == Kind::all_reduce;
    const uint64_t chunk = per_chunk(ranks_) * ranks_;
    std::vector<const std::byte*> sources(ranks_);
    for (uint64_t first = 0; first < collective.count; first += chunk) {
        const uint64_t count = std::min(chunk, collective.count - first);
        const Piece own = piece_of(rank_, count);
        add_copy(true, sent(0), part.send + bytes(first), bytes(count));
        copy();
        for (uint32_t other = 0; other < ranks_; ++other) {
            const Piece piece = piece_of(other, count);
            add_transfer(other, true, sent(piece.first), bytes(piece.count));
            add_transfer(other, false, received(other * own.count), bytes(own.count));
            sources[other] = other == rank_ ? sent(own.first) : received(other * own.count);
        }
        exchange();
        combine(collective, sources, sent(own.first), own.count);
        const bool receives = all || rank_ == collective.root;
        for (uint32_t other = 0; other < ranks_; ++other) {
            const Piece piece = piece_of(other, count);
            if (all || other == collective.root) add_transfer(other, true, sent(own.first), bytes(own.count));
            if (receives) add_transfer(other, false, sent(piece.first), bytes(piece.count));
        }
        exchange();
        if (receives) add_copy(false, sent(0), part.receive + bytes(first), bytes(count));
        copy();
    }
}

void Exchange::reduce_scatter(const Collective& collective, const Part& part) {
    const uint64_t chunk = per_chunk(ranks_);
    std::vector<const std::byte*> sources(ranks_);
    for (uint64_t first = 0; first < collective.count; first += chunk) {
        const uint64_t count = std::min(chunk, collective.count - first);
        for (uint32_t to = 0; to < ranks_; ++to)
            add_copy(true, sent(to * count), part.send + bytes(to * collective.count + first), bytes(count));
        copy();
        for (uint32_t other = 0; other < ranks_; ++other) {
            add_transfer(other, true, sent(other * count), bytes(count));
            add_transfer(other, false, received(other * count), bytes(count));
            sources[other] = other == rank_ ? sent(rank_ * count) : received(other * count);
        }
        exchange();
        combine(collective, sources, sent(rank_ * count), count);
        add_copy(false, sent(rank_ * count), part.receive + bytes(first), bytes(count));
        copy();
    }
}

void Exchange::broadcast(const Collective& collective, const Part& part) {
    const bool root = rank_ == collective.root;
    const uint64_t chunk = per_chunk(1);
    for (uint64_t first = 0; first < collective.count; first += chunk) {
        const uint64_t count = std::min(chunk, collective.count - first);
        if (root) add_copy(true, sent(0), part.send + bytes(first), bytes(count));
        copy();
        for (uint32_t other = 0; root && other < ranks_; ++other) add_transfer(other, true, sent(0), bytes(count));
        if (!root) add_transfer(collective.root, false, sent(0), bytes(count));
        exchange();
        if (!root || part.receive != part.send)
            add_copy(false, sent(0), part.receive + bytes(first), bytes(count));
        copy();
    }
}

void Exchange::gather_all(const Collective& collective, const Part& part) {
    const uint64_t chunk = per_chunk(ranks_);
    for (uint64_t first = 0; first < collective.count; first += chunk) {
        const uint64_t count = std::min(chunk, collective.count - first);
        add_copy(true, received(rank_ * count), part.send + bytes(first), bytes(count));
        copy();
        for (uint32_t other = 0; other < ranks_; ++other) {
            add_transfer(other, true, received(rank_ * count), bytes(count));
            add_transfer(other, false, received(other * count), bytes(count));
        }
        exchange();
        for (uint32_t of = 0; of < ranks_; ++of) {
            const uint64_t to = part.receive + bytes(of * collective.count);
            if (to != part.send) add_copy(false, received(of * count), to + bytes(first), bytes(count));
        }
        copy();
    }
}

void Exchange::to_all(const Collective& collective, const Part& part) {
    const uint64_t chunk = per_chunk(ranks_);
    for (uint64_t first = 0; first < collective.count; first += chunk) {
        const uint64_t count = std::min(chunk, collective.count - first);
        const auto at = [&](uint64_t buffer, uint32_t piece) {
            return buffer + bytes(piece * collective.count + first);
        };
        for (uint32_t to = 0; to < ranks_; ++to) add_copy(true, sent(to * count), at(part.send, to), bytes(count));
        copy();
        for (uint32_t other = 0; other < ranks_; ++other) {
            add_transfer(other, true, sent(other * count), bytes(count));
            add_transfer(other, false, received(other * count), bytes(count));
        }
        exchange();
        for (uint32_t from = 0; from < ranks_; ++from)
            add_copy(false, from == rank_ ? sent(rank_ * count) : received(from * count), at(part.receive, from),
                     bytes(count));
        copy();
    }
}

void Exchange::send_receive(const Collective& collective, const Part& part) {
    const bool sends = part.send_to != GPO_NO_RANK, receives = part.receive_from != GPO_NO_RANK;
    const uint64_t chunk = per_chunk(1);
    for (uint64_t first = 0; first < collective.count; first += chunk) {
        const uint64_t count = std::min(chunk, collective.count - first);
        if (sends) add_copy(true, sent(0), part.send + bytes(first), bytes(count));
        copy();
        if (sends) add_transfer(part.send_to, true, sent(0), bytes(count));
        if (receives) add_transfer(part.receive_from, false, received(0), bytes(count));
        exchange();
        std::byte* const from = part.receive_from == rank_ ? sent(0) : received(0);
        if (receives) add_copy(false, from, part.receive + bytes(first), bytes(count));
        copy();
    }
}

}  // namespace gpo::peers
