// Records of a collective that ranks exchange before the data, and the check that they agree.
#pragma once

#include <span>

#include "core/error.h"
#include "peers/collective.h"

namespace gpo::peers {

/// Has the same layout in all processes.
struct Announcement {
    uint64_t number = 0, count = 0;   // of the collective in the group; elements
    uint32_t kind = 0, type = 0, reduction = 0, root = 0, send_to = 0, receive_from = 0;
    int32_t status = GPO_SUCCESS;     // not 0: the rank can't take part
    char why[212] = {};               // if status is not 0
    char label[64] = {};              // the rank's label of the collective; "": none
};

/// `error`: why this rank can't take part; NULL: it can. `label` may be NULL.
Announcement announcement_of(uint64_t number, const Collective& collective, const Part& part, const char* label,
                             const ErrorPtr& error);

/// Why the collective can't be carried out: a rank can't take part, or ranks have submitted different collectives.
/// NULL: no disagreement. `ranks`: by rank. The result depends only on the announcements: equal on all ranks.
ErrorPtr disagreement(std::span<const Announcement> ranks);

}  // namespace gpo::peers
