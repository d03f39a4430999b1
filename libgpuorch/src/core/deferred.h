// Actions that were put off until something else is done, in the order in which they came, so that a thread can wait
// for all of them.
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

    /// Of the newest entry that there has been; 0 if there was none.
    uint64_t newest() const noexcept;
    /// Waits until no entry up to `number` is left. False when the deadline has passed. Not where
    /// ServesDeferred::here().
    bool wait(uint64_t number, uint64_t deadline) noexcept;
    /// Waits until none of the entries is left that there are now.
    void wait_for_all() noexcept;

private:
    mutable host::Mutex lock_;
    host::Condition gone_;
    Entry *oldest_ = nullptr, *newest_ = nullptr;   // under lock_, as all entries' links
    uint64_t count_ = 0;
};

/// Says for as long as it lives that entries go by what the calling thread does.
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
