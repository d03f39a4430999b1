// The contexts of a runtime: one for each device that was opened, and for each foreign context that was given; shared
// by all handles on it, and kept until shutdown, whatever device handles do.
#pragma once

#include <map>
#include <vector>

#include "device/context.h"

namespace gpo {

class Contexts final : public Annex {
public:
    static constexpr Slot kSlot = Slot::contexts;
    explicit Contexts(Runtime& runtime) noexcept : runtime_(runtime) {}

    /// Throws std::bad_alloc where there are none yet.
    static Contexts& of(Runtime& runtime) { return runtime.annex<Contexts>(); }

    /// The context of a device (native ordinal), or the foreign one, opened if it isn't yet, with what uses it. Throws
    /// Failure, std::bad_alloc.
    Ref<Context> open(int native_ordinal, CUcontext foreign, ContextUsers::Make make_users);
    /// Throws std::bad_alloc.
    std::vector<Ref<Context>> all() const;
    /// Calls `visit` for one after the other, under no lock, until it returns false; whether it never did. Takes no
    /// memory.
    template <class Visit>
    bool each(Visit visit) const noexcept {
        Key key;
        for (auto context = next(nullptr, key); context; context = next(&key, key))
            if (!visit(*context)) return false;
        return true;
    }
    /// One context crashed: finds out whether the others are lost as well.
    void probe() const noexcept;
    void add_stream_counters(gpo_statistics& statistics) const noexcept;

    // --- for shutdown ---
    /// Cancels what is held on all streams.
    void cancel_held() const noexcept;
    /// Waits for the marks of all streams. False if the deadline passes first.
    bool drain_marks(uint64_t deadline) const noexcept;
    /// Those that shutdown ends: they are the caller's, and none is left. Foreign ones come before the primary ones
    /// that they may be: destroy them in this order.
    using Key = std::pair<int, CUcontext>;   // native ordinal, or -1 and the foreign context
    std::map<Key, Ref<Context>> take_all() noexcept;

private:
    /// The first behind `last` (NULL: of all), whose key it writes.
    Ref<Context> next(const Key* last, Key& key) const noexcept;

    Runtime& runtime_;
    mutable host::Mutex lock_;
    std::map<Key, Ref<Context>> contexts_;   // under lock_
};

}  // namespace gpo
