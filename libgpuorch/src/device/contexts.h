// The contexts of a runtime: one for each opened device, and one for each given foreign context. All device handles on
// a context share it; contexts stay until shutdown, even without handles.
#pragma once

#include <map>
#include <vector>

#include "device/context.h"

namespace gpo {

class Contexts final : public Annex {
public:
    static constexpr Slot kSlot = Slot::contexts;
    explicit Contexts(Runtime& runtime) noexcept : runtime_(runtime) {}

    /// Throws std::bad_alloc if there are none yet.
    static Contexts& of(Runtime& runtime) { return runtime.annex<Contexts>(); }

    /// Returns the context of a device (native ordinal), or the foreign context. The first call makes the context and
    /// its streams object. Throws Failure, std::bad_alloc.
    Ref<Context> open(int native_ordinal, CUcontext foreign, ContextUsers::Make make_users);
    /// Throws std::bad_alloc.
    std::vector<Ref<Context>> all() const;
    /// Calls `visit` for each context in turn, under no lock, until it returns false. True if all returned true.
    /// Allocates no memory.
    template <class Visit>
    bool each(Visit visit) const noexcept {
        Key key;
        for (auto context = next(nullptr, key); context; context = next(&key, key))
            if (!visit(*context)) return false;
        return true;
    }
    /// Finds out which contexts are lost, after one of them crashed.
    void probe() const noexcept;
    void add_stream_counters(gpo_statistics& statistics) const noexcept;

    // --- for shutdown ---
    /// Cancels held work on all streams. False if the deadline passes first.
    bool cancel_held(uint64_t deadline) const noexcept;
    /// Waits for the marks of all streams. False if the deadline passes first.
    bool drain_marks(uint64_t deadline) const noexcept;
    /// Moves all contexts to the caller, which ends them. Destroy them in the map's order, foreign contexts first: a
    /// foreign context may be a device's primary context, which the device's own entry releases.
    using Key = std::pair<int, CUcontext>;   // native ordinal, or -1 and the foreign context
    std::map<Key, Ref<Context>> take_all() noexcept;

private:
    /// The first context behind `last` (NULL: of all); writes the context's key to `key`.
    Ref<Context> next(const Key* last, Key& key) const noexcept;

    Runtime& runtime_;
    mutable host::Mutex lock_;
    std::map<Key, Ref<Context>> contexts_;   // under lock_
};

}  // namespace gpo
