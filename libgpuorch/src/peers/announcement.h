// What ranks tell each other of a collective before its data, and whether they agree.
#pragma once

#include <span>

#include "core/error.h"
#include "peers/collective.h"

namespace gpo::peers {

/// The same layout in all processes.
struct Announcement {
    uint64_t number = 0, count = 0;   // of the collective in the group; elements
    uint32_t kind = 0, type = 0, reduction = 0, root = 0, send_to = 0, receive_from = 0;
    int32_t status = GPO_SUCCESS;     // another: the rank can't take part
    char why[212] = {};               // likewise
    char label[64] = {};              // as the rank has labelled the collective; "": it hasn't
};

/// `error`: why this rank can't take part; NULL: it can. `label` may be NULL.
Announcement announcement_of(uint64_t number, const Collective& collective, const Part& part, const char* label,
                             const ErrorPtr& error);

/// Why the collective can't be carried out: a rank can't take part, or ranks have submitted different collectives.
/// NULL: it can. All ranks that are given the same announcements, by rank, find the same.
ErrorPtr disagreement(std::span<const Announcement> ranks);

}  // namespace gpo::peers
