// Calls that all processes of a group make together: each tells the others what it says of itself.
#pragma once

#include "core/runtime.h"
#include "peers/transport.h"

namespace gpo::peers {

/// All ranks call it. What each has said, by rank. Throws Broken, Failure.
template <class Said>
std::vector<Said> greet(Transport& transport, const Said& own, uint64_t patience, const std::function<void()>& check) {
    std::vector<Said> said(transport.ranks(), own);
    std::vector<Transfer> transfers;
    for (uint32_t other = 0; other < transport.ranks(); ++other) {
        if (other == transport.rank()) continue;
        for (const bool sends : {true, false}) {
            Transfer transfer;
            transfer.peer = other;
            transfer.sends = sends;
            transfer.bytes = reinterpret_cast<std::byte*>(&said[sends ? transport.rank() : other]);
            transfer.size = sizeof(Said);
            transfers.push_back(transfer);
        }
    }
    complete(transport, transfers, patience, check);
    return said;
}

/// What to call now and then while others are waited for: throws Failure(GPO_SHUT_DOWN).
inline std::function<void()> look_for_shutdown(Runtime& runtime) {
    return [&runtime] {
        if (runtime.shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
    };
}

}  // namespace gpo::peers
