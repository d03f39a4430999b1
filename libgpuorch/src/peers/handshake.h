// Calls that all processes of a group make together, to exchange records about themselves.
#pragma once

#include <cstring>
#include <string_view>

#include "core/runtime.h"
#include "peers/transport.h"

namespace gpo::peers {

/// All ranks call it. Returns every rank's record, by rank. Throws Broken, Failure.
template <class Record>
std::vector<Record> handshake(Transport& transport, const Record& own, uint64_t patience,
                              const std::function<void()>& check) {
    std::vector<Record> records(transport.ranks(), own);
    std::vector<Transfer> transfers;
    for (uint32_t other = 0; other < transport.ranks(); ++other) {
        if (other == transport.rank()) continue;
        for (const bool sends : {true, false}) {
            Transfer transfer;
            transfer.peer = other;
            transfer.sends = sends;
            transfer.bytes = reinterpret_cast<std::byte*>(&records[sends ? transport.rank() : other]);
            transfer.size = sizeof(Record);
            transfers.push_back(transfer);
        }
    }
    complete(transport, transfers, patience, check);
    return records;
}

/// Requires equal labels of all ranks that have labelled the memory allocated by a call. `Record::owner` names the
/// memory's owner; a label, if any, is its last word, in backquotes. Throws Failure(GPO_INVALID_ARGUMENT), in all
/// processes alike.
template <class Record>
void require_same_label(const std::vector<Record>& records) {
    const auto owner = [&](size_t rank) {
        return std::string_view(records[rank].owner, strnlen(records[rank].owner, sizeof records[rank].owner));
    };
    size_t first = 0;
    while (first < records.size() && !owner(first).ends_with('`')) ++first;
    for (size_t rank = first + 1; rank < records.size(); ++rank)
        if (owner(rank).ends_with('`') && owner(rank) != owner(first))
            fail(GPO_INVALID_ARGUMENT, "rank ", rank, " allocates ", owner(rank), ", and rank ", first, " ",
                 owner(first), ": all ranks have to allocate the same memory in the same order");
}

/// A `check` to call now and then during waits for other ranks: throws Failure(GPO_SHUT_DOWN).
inline std::function<void()> look_for_shutdown(Runtime& runtime) {
    return [&runtime] {
        if (runtime.shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
    };
}

}  // namespace gpo::peers
