// Deferred actions that have not ended. Each is represented by an Entry, from its construction to its destruction. A
// thread can wait for all of them.
#pragma once

#include <cstdint>

#include "host/host.h"

namespace gpo {

class Deferred {
public:
    class Entry {
    public:
        explicit Entry(Deferred& in) noexcept;
        ~Entry();
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;

    private:
        friend class Deferred;
        Deferred& in_;
        uint64_t number_ = 0;
        Entry *before_ = nullptr, *behind_ = nullptr;
    };

    /// Number of the newest entry ever made; 0 if there was none.
    uint64_t newest() const noexcept;
    /// Waits until all entries with numbers up to `number` have ended. False when the deadline has passed. Must not be
    /// called on a thread where ServesDeferred::here() is true.
    bool wait(uint64_t number, uint64_t deadline) noexcept;
    /// Waits until all entries that exist now have ended.
    void wait_for_all() noexcept;

private:
    mutable host::Mutex lock_;
    host::Condition ended_;
    Entry *oldest_ = nullptr, *newest_ = nullptr;   // lock_ guards these and the links of all entries
    uint64_t count_ = 0;
};

/// While this object exists, the calling thread is one of the threads that end entries, and must not wait for entries.
class ServesDeferred {
public:
    ServesDeferred() noexcept;
    ~ServesDeferred();
    ServesDeferred(const ServesDeferred&) = delete;
    ServesDeferred& operator=(const ServesDeferred&) = delete;
    static bool here() noexcept;

private:
    const bool outer_;
};

}  // namespace gpo
