// What carries collectives out.
#pragma once

#include "peers/collective.h"

namespace gpo::peers {

class Engine : public Counted {
public:
    /// Puts a checked collective on the streams of this process's ranks, on all or on none. `label`: interned, or NULL.
    /// GPO_SUCCESS or GPO_WOULD_BLOCK. Throws Failure, std::bad_alloc.
    virtual gpo_status submit(const Collective& collective, std::span<const Part> parts, const char* label) = 0;
};

/// One whose collectives are work of the driver's alone, given to it in one go (stream/group_work.h).
class StreamEngine : public Engine {
public:
    gpo_status submit(const Collective& collective, std::span<const Part> parts, const char* label) override;

    /// Before any lock is taken: what it takes to issue such a collective without waiting for anything. What it returns
    /// is kept until the collective was issued, and, if that is recorded, for as long as the recording can run. NULL:
    /// nothing. `captured`: the streams are being captured. Throws Failure, std::bad_alloc.
    virtual Ref<Counted> prepare(const Collective& collective, bool captured) = 0;
    /// Gives it to the driver: under the submit locks of the parts' streams. Enters contexts itself. `begin` is called
    /// before the first call that has an effect. Throws Failure.
    virtual void issue(const Collective& collective, std::span<const Part> parts, Counted* prepared,
                       void (*begin)(void*), void* of) = 0;
};

}  // namespace gpo::peers
