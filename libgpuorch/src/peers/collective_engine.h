// Engines: they execute collectives.
#pragma once

#include "peers/collective.h"

namespace gpo::peers {

class Engine : public Counted {
public:
    /// Puts a checked collective on the streams of this process's ranks, on all or on none. `label`: interned, or NULL.
    /// GPO_SUCCESS or GPO_WOULD_BLOCK. Throws Failure, std::bad_alloc.
    virtual gpo_status submit(const Collective& collective, std::span<const Part> parts, const char* label) = 0;
};

/// An engine whose collectives are driver work only, submitted in one go (stream/group_work.h).
class StreamEngine : public Engine {
public:
    gpo_status submit(const Collective& collective, std::span<const Part> parts, const char* label) override;

    /// Prepares a collective so that issue() need not wait. The caller holds no lock. The result (NULL: nothing to
    /// keep) lives until the collective was issued; if a recording has the collective, for as long as the recording can
    /// run. `captured`: the streams are being captured. Throws Failure, std::bad_alloc.
    virtual Ref<Counted> prepare(const Collective& collective, bool captured) = 0;
    /// Submits the collective to the driver, under the submit locks of the parts' streams. Enters contexts itself.
    /// Calls `begin(of)` before the first driver call that has an effect. Throws Failure.
    virtual void issue(const Collective& collective, std::span<const Part> parts, Counted* prepared,
                       void (*begin)(void*), void* of) = 0;
};

}  // namespace gpo::peers
