// Addresses that graphs may still use, and the frees that wait for them.
//
// Words. A *holder* is an object whose work refers to addresses: a graph template, for all of its graphs. A holder
// *holds* an address for as long as its work can be launched with that address. A free of memory with a held address
// *waits*: the caller's free has succeeded, and the memory stays. When the last address in the memory is released, the
// free is *due*.
//
// A *word* is an address inside a larger value: a struct that is a kernel's argument. A word may be a number that looks
// like an address by chance. Holds of words are therefore counted separately, and the log names their place.
//
// Accepted launches may still run when a free becomes due. The errands' thread therefore first waits for all work that
// is on the runtime's streams at that time, and then frees the memory.
//
// If one thread holds an address while another frees its memory, either order may result. The free waits for the hold,
// or the hold is of an address without memory, as if the hold had come later.
//
// Locks. The lock here is a leaf: the code under it only looks at holders' labels. Frees are made, described, logged
// and performed under no lock of this file.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <memory>
#include <optional>

#include "core/deferred.h"
#include "core/errands.h"
#include "device/context.h"

namespace gpo {

class Stream;

/// A waiting free. Owns everything that the later free needs.
class WaitingFree : private Errand {
public:
    /// Frees the memory at [start, start + bytes). A wait for the context's device includes the free once it is due.
    WaitingFree(Context& context, uint64_t start, uint64_t bytes) noexcept
        : context_(&context), start_(start), bytes_(bytes) {}
    ~WaitingFree() override = default;
    WaitingFree(const WaitingFree&) = delete;
    WaitingFree& operator=(const WaitingFree&) = delete;

    Context& context() const noexcept { return *context_; }
    uint64_t start() const noexcept { return start_; }
    uint64_t bytes() const noexcept { return bytes_; }
    /// Names the memory, as the subject of a sentence: "a piece of 4096 bytes of arena `staging`".
    virtual FixedText<160> describe() const noexcept = 0;

protected:
    /// The stream that the program ordered the free behind; NULL: none. The free waits for this stream even if the
    /// stream is resident.
    virtual Stream* behind() const noexcept { return nullptr; }
    /// Frees the memory. Called once, by the errands' thread, under no lock, when no holder refers to the memory and
    /// all work that used it has ended. The context may be lost.
    virtual void free() noexcept = 0;

private:
    friend class Holds;
    void become_due() noexcept;
    void run() noexcept override;

    const Ref<Context> context_;
    const uint64_t start_, bytes_;
    unsigned passed_ = 0;                  // contexts of the runtime whose streams have been waited for
    std::optional<Deferred::Entry> due_;   // destroyed before context_
};

/// Place of a word: the kernel's label, the argument and the word in the argument. The label lives as long as the
/// runtime. Without a label, the address is no word.
struct HeldWord {
    const char* kernel = nullptr;
    uint32_t argument = 0, word = 0;   // from 0
    auto operator<=>(const HeldWord&) const = default;
};

class Holds final : public Annex {
    using Frees = std::multimap<uint64_t, std::unique_ptr<WaitingFree>>;   // by start

public:
    static constexpr Slot kSlot = Slot::holds;
    explicit Holds(Runtime& runtime) noexcept : runtime_(runtime) {}
    static Holds& of(Runtime& runtime) { return runtime.annex<Holds>(); }

    // --- for holders, which outlive their holds. Any thread ---
    /// An address may be held any number of times, and is released as often. Any number is accepted as an address,
    /// with or without memory. Has no effect if it throws std::bad_alloc.
    void hold(uint64_t address, const Object& holder, const HeldWord& word = {});
    void release(uint64_t address, const Object& holder, const HeldWord& word = {}) noexcept;
    /// hold(to) and release(from) in one step. Needs memory only if `from` is held more than once. Has no effect if it
    /// throws std::bad_alloc.
    void replace(uint64_t from, uint64_t to, const Object& holder, const HeldWord& word = {});
    /// Number of frees that wait for this holder, and how many of them wait only for words.
    struct Waiting {
        uint64_t frees = 0, for_words = 0;
    };
    Waiting waiting_frees(const Object& holder) const noexcept;

    // --- for frees. Any thread ---
    /// False: no address is held. A relaxed load is enough: other synchronisation orders a hold before the free of its
    /// memory.
    bool any() const noexcept { return held_.load(std::memory_order_relaxed) != 0; }
    /// If an address in [start, start + bytes) is held, `make()` makes a WaitingFree of this memory, which waits from
    /// then on, and is logged. Otherwise returns false, without effect. Throws what `make` throws, and std::bad_alloc:
    /// then no free waits. Nothing fails once `make` has returned.
    template <class Make>
    bool defer(uint64_t start, uint64_t bytes, Make make) {
        if (!any() || !may_hold(start, bytes) || !holds(start, bytes)) [[likely]] return false;
        Frees one;
        std::unique_ptr<WaitingFree>& place = one.emplace(start, nullptr)->second;
        place = make();
        accept(one.extract(one.begin()));
        return true;
    }

    /// A free made in advance, with its memory: free() then allocates nothing. Throws std::bad_alloc.
    using Ready = Frees::node_type;
    static Ready make_ready(std::unique_ptr<WaitingFree> free);
    /// The free waits if an address in the memory is held; else it is due.
    void free(Ready free) noexcept;

    /// Makes all waiting frees due: the runtime shuts down, and its objects are closed.
    void shut_down() noexcept;

private:
    // A held address, its holder and its place.
    struct Key {
        uint64_t address;
        const Object* holder;
        HeldWord word;
        auto operator<=>(const Key&) const = default;
    };

    // Number of held addresses in each region, with all regions hashed onto few counters. While some address is held, a
    // free that has nothing to do with graphs thus takes no lock.
    static constexpr unsigned kRegionShift = 21, kRegionBits = 8;
    static constexpr uint64_t kMostRegions = 8;   // frees of memory in more regions take the lock
    static size_t cell_of(uint64_t region) noexcept {
        return static_cast<size_t>((region * 0x9e37'79b9'7f4a'7c15u) >> (64 - kRegionBits));
    }
    /// False: no address in the memory is held.
    bool may_hold(uint64_t start, uint64_t bytes) const noexcept {
        const uint64_t first = start >> kRegionShift, last = (start + bytes - 1) >> kRegionShift;
        if (last - first >= kMostRegions) return true;
        for (uint64_t region = first; region <= last; ++region)
            if (cells_[cell_of(region)].load(std::memory_order_relaxed) != 0) return true;
        return false;
    }
    bool holds(uint64_t start, uint64_t bytes) const noexcept;
    void accept(Ready free) noexcept;
    static void become_due(Frees& frees) noexcept;

    // Under lock_:
    std::map<Key, uint64_t>::const_iterator first_in(const WaitingFree& free) const noexcept;
    void add(const Key& key);
    void drop(const Key& key) noexcept;
    void count(uint64_t address, uint32_t change) noexcept;
    void take_due(uint64_t address, Frees& due) noexcept;
    bool wait_if_held(Ready& free) noexcept;

    Runtime& runtime_;
    mutable host::Mutex lock_;
    std::map<Key, uint64_t> holds_;   // how often each key is held; under lock_, as is waiting_
    Frees waiting_;
    // Written under lock_, read by every free.
    alignas(64) std::atomic<uint32_t> held_{0};   // entries of holds_
    alignas(64) std::array<std::atomic<uint32_t>, 1u << kRegionBits> cells_{};
};

}  // namespace gpo
