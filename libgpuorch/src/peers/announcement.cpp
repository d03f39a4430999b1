#include "peers/announcement.h"

#include <algorithm>
#include <cstring>

#include "peers/peers_names.h"

namespace gpo::peers {

namespace {

constexpr const char* kRule = ": all ranks have to submit the same collectives in the same order";

// Texts of other processes may lack their end.
template <size_t Size>
std::string_view text_of(const char (&said)[Size]) noexcept {
    return {said, strnlen(said, Size)};
}

std::string submitted(const Announcement& of) {
    return describe(static_cast<Kind>(of.kind), std::string(text_of(of.label)).c_str(), of.type, of.reduction, of.root,
                    of.count);
}

bool same(const Announcement& a, const Announcement& b) noexcept {
    return a.kind == b.kind && a.type == b.type && a.reduction == b.reduction && a.root == b.root && a.count == b.count;
}

ErrorPtr differ(std::span<const Announcement> ranks, uint32_t rank, uint32_t from) {
    return make_error(GPO_INVALID_STATE, "collective ", ranks[0].number, " of the group: rank ", rank,
                      " has submitted ", submitted(ranks[rank]), ", and rank ", from, " ", submitted(ranks[from]),
                      kRule);
}

// The rank that another rank sends to has to receive from the sender.
ErrorPtr check_partners(std::span<const Announcement> ranks) {
    const auto refuse = [&](uint32_t rank, const auto&... why) {
        return make_error(GPO_INVALID_STATE, "collective ", ranks[rank].number, " of the group, ",
                          submitted(ranks[rank]), ": rank ", rank, why...);
    };
    const auto partner = [&](uint32_t rank) { return rank < ranks.size() ? &ranks[rank] : nullptr; };
    for (uint32_t rank = 0; rank < ranks.size(); ++rank) {
        const uint32_t to = ranks[rank].send_to, from = ranks[rank].receive_from;
        const Announcement *const receiver = partner(to), *const sender = partner(from);
        if (to != GPO_NO_RANK && !(receiver && receiver->receive_from == rank))
            return refuse(rank, " sends to rank ", to, ", which doesn't receive from it");
        if (from != GPO_NO_RANK && !(sender && sender->send_to == rank))
            return refuse(rank, " receives from rank ", from, ", which doesn't send to it");
    }
    return nullptr;
}

}  // namespace

Announcement announcement_of(uint64_t number, const Collective& collective, const Part& part, const char* label,
                             const ErrorPtr& error) {
    Announcement own;
    own.number = number;
    own.count = collective.count;
    own.kind = static_cast<uint32_t>(collective.kind);
    own.type = collective.type;
    own.reduction = collective.reduction;
    own.root = collective.root;
    own.send_to = part.send_to;
    own.receive_from = part.receive_from;
    if (label) copy_text(own.label, label);
    if (!error) return own;
    own.status = error->status;
    copy_text(own.why, error->sentence());
    return own;
}

ErrorPtr disagreement(std::span<const Announcement> ranks) {
    for (uint32_t rank = 0; rank < ranks.size(); ++rank)
        if (ranks[rank].status) return make_error(ranks[rank].status, "rank ", rank, ": ", text_of(ranks[rank].why));
    for (uint32_t rank = 1; rank < ranks.size(); ++rank) {
        if (ranks[rank].number != ranks[0].number)
            return make_error(GPO_INVALID_STATE, "rank ", rank, " has come to collective ", ranks[rank].number,
                              " of the group, and rank 0 to collective ", ranks[0].number, kRule);
        if (!same(ranks[rank], ranks[0])) return differ(ranks, rank, 0);
    }
    // Equal ones with different labels are different work: of another layer, say.
    const auto labelled =
        std::find_if(ranks.begin(), ranks.end(), [](const Announcement& of) { return of.label[0] != '\0'; });
    const auto first = static_cast<uint32_t>(labelled - ranks.begin());
    for (uint32_t rank = first + 1; rank < ranks.size(); ++rank)
        if (ranks[rank].label[0] && text_of(ranks[rank].label) != text_of(labelled->label))
            return differ(ranks, rank, first);
    return static_cast<Kind>(ranks[0].kind) == Kind::send_receive ? check_partners(ranks) : nullptr;
}

}  // namespace gpo::peers
