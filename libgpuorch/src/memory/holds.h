// Addresses that graphs may still use, and the frees that wait for them.
//
// Words. A *holder* is an object whose work refers to addresses: a graph template, for all of its graphs. It *holds* an
// address for as long as its work can be launched with that address. A free of memory that has a held address in it
// *waits*: the caller has been told that the memory is freed, and it stays as it is. When the last address in the
// memory is released, the free is *due*.
//
// A *word* is an address that stands in a larger value, a struct that is a kernel's argument. It may be a number that
// looks like an address by chance. So holds of words are told apart: they are counted, and the log names the place.
//
// Launches that were accepted may still run when a free becomes due. So the errands' thread first waits for all that is
// on the runtime's streams then, and frees the memory after that.
//
// Who holds and frees the same memory at the same time on two threads gets one of the two orders: either the free waits
// for the hold, or the memory is freed and the hold is of an address without memory, as if it had come later.
//
// Locks. The lock here is a leaf: nothing but holders' labels is looked at under it. Frees are made, described, logged
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

/// A free that waits. It owns what it needs to free the memory later.
class WaitingFree : private Errand {
public:
    /// Of the memory at [start, start + bytes). Once the free is due, a wait for the context's device waits for it too.
    WaitingFree(Context& context, uint64_t start, uint64_t bytes) noexcept
        : context_(&context), start_(start), bytes_(bytes) {}
    ~WaitingFree() override = default;
    WaitingFree(const WaitingFree&) = delete;
    WaitingFree& operator=(const WaitingFree&) = delete;

    Context& context() const noexcept { return *context_; }
    uint64_t start() const noexcept { return start_; }
    uint64_t bytes() const noexcept { return bytes_; }
    /// What is freed, as the subject of a sentence: "a piece of 4096 bytes of arena `staging`".
    virtual FixedText<160> describe() const noexcept = 0;

protected:
    /// The stream behind whose work the memory is freed, where that isn't all streams: a resident one is waited for
    /// then. NULL: none.
    virtual Stream* behind() const noexcept { return nullptr; }
    /// Nothing refers to the memory any more, and nothing that did runs. Called once, by the errands, under no lock.
    /// The context may be lost.
    virtual void free() noexcept = 0;

private:
    friend class Holds;
    void become_due() noexcept;
    void run() noexcept override;

    const Ref<Context> context_;
    const uint64_t start_, bytes_;
    unsigned passed_ = 0;                  // the runtime's contexts whose streams have been waited for
    std::optional<Deferred::Entry> due_;   // goes before the context may
};

/// Where a word stands: in which argument of the kernel of this label. The label stays as long as the runtime. Without
/// a label: the address is no word.
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
    /// An address may be held any number of times, and is released as often. Any number will do, whether memory is
    /// there or not. Throws std::bad_alloc, and then has had no effect.
    void hold(uint64_t address, const Object& holder, const HeldWord& word = {});
    void release(uint64_t address, const Object& holder, const HeldWord& word = {}) noexcept;
    /// The same as hold(to) and release(from), in one step. Needs memory only if `from` is held more than once. Throws
    /// std::bad_alloc, and then has had no effect.
    void replace(uint64_t from, uint64_t to, const Object& holder, const HeldWord& word = {});
    /// How many frees wait for this holder, and how many of these wait only for words.
    struct Waiting {
        uint64_t frees = 0, for_words = 0;
    };
    Waiting waiting_frees(const Object& holder) const noexcept;

    // --- for those who free. Any thread ---
    /// False: nothing is held at all. A relaxed load: whoever frees memory that has been held knows of that by other
    /// means than this number.
    bool any() const noexcept { return held_.load(std::memory_order_relaxed) != 0; }
    /// If an address in [start, start + bytes) is held, `make()` gives a WaitingFree of this memory, which waits from
    /// then on, and is logged. Otherwise false, and nothing has happened. Throws what `make` throws, std::bad_alloc,
    /// and then nothing waits; once `make` has returned nothing fails.
    template <class Make>
    bool defer(uint64_t start, uint64_t bytes, Make make) {
        if (!any() || !may_hold(start, bytes) || !holds(start, bytes)) [[likely]] return false;
        Frees one;
        std::unique_ptr<WaitingFree>& place = one.emplace(start, nullptr)->second;
        place = make();
        accept(one.extract(one.begin()));
        return true;
    }

    /// A free that was made with its memory, so that it needs none. Throws std::bad_alloc.
    using Ready = Frees::node_type;
    static Ready make_ready(std::unique_ptr<WaitingFree> free);
    /// Where an address in the memory is held the free waits, else it is due.
    void free(Ready free) noexcept;

    /// The runtime shuts down, and its objects are closed: what waits is due.
    void shut_down() noexcept;

private:
    // What is held, by whom, and where it stands.
    struct Key {
        uint64_t address;
        const Object* holder;
        HeldWord word;
        auto operator<=>(const Key&) const = default;
    };

    // So that a free that has nothing to do with graphs takes no lock while something is held: how many of the held
    // addresses lie in each region, regions being folded onto few counters.
    static constexpr unsigned kRegionShift = 21, kRegionBits = 8;
    static constexpr uint64_t kMostRegions = 8;   // memory that lies in more takes the lock
    static size_t cell_of(uint64_t region) noexcept {
        return static_cast<size_t>((region * 0x9e37'79b9'7f4a'7c15u) >> (64 - kRegionBits));
    }
    /// False: no address there is held.
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
    std::map<Key, uint64_t> holds_;   // how often; under lock_, as:
    Frees waiting_;
    // Written under lock_, read by every free.
    alignas(64) std::atomic<uint32_t> held_{0};   // entries of holds_
    alignas(64) std::array<std::atomic<uint32_t>, 1u << kRegionBits> cells_{};
};

}  // namespace gpo
