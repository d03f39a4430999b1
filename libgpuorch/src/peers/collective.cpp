#include "peers/collective.h"

#include <algorithm>

#include "core/struct_options.h"
#include "memory/place.h"
#include "peers/peers_names.h"

namespace gpo::peers {

namespace {

constexpr uint32_t kElementBytes[kTypes + 1] = {0, 1, 1, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1};

bool has_root(Kind kind) noexcept { return kind == Kind::reduce || kind == Kind::broadcast; }

std::string role_of(const char* what, uint32_t rank) { return text(what, " of rank ", rank); }

struct Span {
    uint64_t begin = 0, bytes = 0;
    bool overlaps(const Span& other) const noexcept {
        return bytes && other.bytes && begin < other.begin + other.bytes && other.begin < begin + bytes;
    }
};

}  // namespace

const char* kind_name(Kind kind) noexcept {
    switch (kind) {
        case Kind::all_reduce: return "all-reduce";
        case Kind::reduce: return "reduce";
        case Kind::reduce_scatter: return "reduce-scatter";
        case Kind::broadcast: return "broadcast";
        case Kind::all_gather: return "all-gather";
        case Kind::all_to_all: return "all-to-all";
        case Kind::send_receive: return "send-receive";
        case Kind::barrier: return "barrier";
    }
    return "collective";
}

bool Collective::reduces() const noexcept {
    return kind == Kind::all_reduce || kind == Kind::reduce || kind == Kind::reduce_scatter;
}

Collective::Collective(const gpo_collective& given, uint32_t ranks)
    : kind(static_cast<Kind>(given.kind)), type(given.type), reduction(given.reduction), root(given.root),
      ranks(ranks), count(given.count), element_bytes(0) {
    if (given.kind < GPO_COLLECTIVE_ALL_REDUCE || given.kind > GPO_COLLECTIVE_BARRIER)
        fail(GPO_INVALID_ARGUMENT, "collective.kind is ", given.kind, ", none of GPO_COLLECTIVE_*");
    refuse_unknown_flags(given.flags, 0, "collective.flags");
    if (kind == Kind::barrier ? type != 0 : type == 0 || type > kTypes)
        fail(GPO_INVALID_ARGUMENT, "collective.type is ", type_name(type),
             kind == Kind::barrier ? ": a barrier has none" : ", none of GPO_TYPE_*");
    if (reduces() ? reduction == 0 || reduction > GPO_REDUCE_AVERAGE : reduction != 0)
        fail(GPO_INVALID_ARGUMENT, "collective.reduction is ", reduction_name(reduction),
             reduces() ? std::string(", none of GPO_REDUCE_*") : text(", and ", kind_name(kind), " reduces nothing"));
    if (has_root(kind) ? root >= ranks : root != 0)
        fail(GPO_INVALID_ARGUMENT, "collective.root is ", root,
             has_root(kind) ? text(": the group has ", ranks, " ranks")
                            : text(", and ", kind_name(kind), " has none"));
    if (kind == Kind::barrier && count)
        fail(GPO_INVALID_ARGUMENT, "collective.count is ", count, ": a barrier sends nothing");
    element_bytes = kElementBytes[type];
    uint64_t largest = 0;
    if (__builtin_mul_overflow(count, uint64_t{element_bytes} * ranks, &largest))
        fail(GPO_INVALID_ARGUMENT, "collective.count is ", count, ": that many bytes don't fit into 64 bits");
}

uint64_t Collective::sent(uint32_t rank) const noexcept {
    switch (kind) {
        case Kind::reduce_scatter:
        case Kind::all_to_all: return bytes() * ranks;
        case Kind::broadcast: return rank == root ? bytes() : 0;
        default: return bytes();
    }
}

uint64_t Collective::received(uint32_t rank) const noexcept {
    switch (kind) {
        case Kind::all_gather:
        case Kind::all_to_all: return bytes() * ranks;
        case Kind::reduce: return rank == root ? bytes() : 0;
        default: return bytes();
    }
}

void Collective::check(std::span<const Part> parts, std::span<const Ref<Context>> contexts, uint32_t first) const {
    if (kind == Kind::send_receive) check_partners(parts, first);
    for (uint32_t place = 0; place < parts.size(); ++place) {
        const uint32_t rank = first + place;
        const Part& part = parts[place];
        Context& context = *contexts[place];
        if (&part.stream->runtime() != &context.runtime())
            fail(GPO_INVALID_HANDLE, role_of("the stream", rank), ", ", part.stream->describe(),
                 ", is of another runtime");
        if (&part.stream->context() != &context)
            fail(GPO_INVALID_ARGUMENT, role_of("the stream", rank), ", ", part.stream->describe(),
                 ", is of another device than the rank");
        if (part.stream->residence())
            fail(GPO_NOT_SUPPORTED, role_of("the stream", rank), ", ", part.stream->describe(),
                 ", is resident: a collective is no work that stays");
        if (kind != Kind::send_receive && (part.send_to != 0 || part.receive_from != 0))
            fail(GPO_INVALID_ARGUMENT, role_of("send_to or receive_from", rank), " is not 0");
        check_buffers(part, rank, context);
    }
}

// Checks that receivers receive from their senders, if this process has all ranks.
void Collective::check_partners(std::span<const Part> parts, uint32_t first) const {
    const auto known = [&](uint32_t rank) { return rank < ranks || rank == GPO_NO_RANK; };
    for (uint32_t place = 0; place < parts.size(); ++place) {
        const Part& part = parts[place];
        if (!known(part.send_to) || !known(part.receive_from))
            fail(GPO_INVALID_ARGUMENT, "rank ", first + place, " sends to rank ", part.send_to,
                 " and receives from rank ", part.receive_from, ": the group has ", ranks, " ranks");
    }
    if (parts.size() != ranks) return;
    for (uint32_t rank = 0; rank < parts.size(); ++rank) {
        const Part& part = parts[rank];
        if (part.send_to != GPO_NO_RANK && parts[part.send_to].receive_from != rank)
            fail(GPO_INVALID_ARGUMENT, "rank ", rank, " sends to rank ", part.send_to,
                 ", which doesn't receive from it");
        if (part.receive_from != GPO_NO_RANK && parts[part.receive_from].send_to != rank)
            fail(GPO_INVALID_ARGUMENT, "rank ", rank, " receives from rank ", part.receive_from,
                 ", which doesn't send to it");
    }
}

void Collective::check_buffers(const Part& part, uint32_t rank, Context& context) const {
    const bool sends = kind != Kind::send_receive || part.send_to != GPO_NO_RANK;
    const bool receives = kind != Kind::send_receive || part.receive_from != GPO_NO_RANK;
    const Span send{part.send, sends ? sent(rank) : 0}, receive{part.receive, receives ? received(rank) : 0};
    const DriverScope scope(context);
    const auto check_one = [&](const char* what, const Span& span) {
        if (span.bytes == 0) return;
        const std::string role = role_of(what, rank);
        check_addresses(role.c_str(), span.begin, span.bytes);
        if (span.begin % element_bytes)
            fail(GPO_INVALID_ARGUMENT, role, " ", hex(span.begin), " is no multiple of its elements' ", element_bytes,
                 " bytes");
        const Place place = place_of(context, span.begin);
        if (place.kind != GPO_MEMORY_DEVICE || place.ordinal != context.ordinal())
            fail(GPO_INVALID_ARGUMENT, role, " ", hex(span.begin), " is ",
                 place.kind == GPO_MEMORY_DEVICE ? "memory of another device" : gpo::kind_name(place.kind),
                 ", where memory of the rank's device is needed");
        check_room(role.c_str(), place, span.begin, span.bytes);
    };
    check_one("send", send);
    check_one("receive", receive);
    if (!send.overlaps(receive)) return;
    const bool same = send.begin == receive.begin;
    const bool in_place = kind == Kind::all_gather       ? send.begin == receive.begin + rank * bytes()
                          : kind == Kind::reduce_scatter ? receive.begin == send.begin + rank * bytes()
                                                         : same && kind != Kind::all_to_all &&
                                                               kind != Kind::send_receive;
    if (!in_place)
        fail(GPO_INVALID_ARGUMENT, "send and receive of rank ", rank, " overlap (", hex(send.begin), ", ",
             hex(receive.begin), ") and are not in place");
}

}  // namespace gpo::peers
