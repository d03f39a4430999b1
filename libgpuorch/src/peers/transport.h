// How the processes of a group reach each other: messages between ranks.
//
// A *transfer* is a message of a length that both sides know. Transfers from one rank to another arrive in the order in
// which they were begun. A rank *leaves* by a farewell, which says why: then nothing comes of it any more but what it
// has sent before. The farewell of a rank that has found the group *broken* names the rank at fault, and so the others
// learn of it soon.
//
// One thread at a time uses a transport, but for split(), which any thread may call. No other function waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/object.h"

namespace gpo::peers {

struct Transfer {
    uint32_t peer = 0;
    bool sends = false;
    Counted* device = nullptr;   // not NULL: `bytes` is device memory, which this owns. See takes_device_memory()
    std::byte* bytes = nullptr;
    uint64_t size = 0;        // not 0
    // The transport's:
    uint64_t done = 0;        // bytes
    uintptr_t request = 0;
    bool begun = false, complete = false;
};

/// What is known of a rank.
struct Presence {
    enum class State : uint8_t {
        here,
        left,     // it takes part in nothing more
        dead,     // its process has ended without a farewell
        broken,   // it has found that the group can't go on
    };
    State state = State::here;
    uint32_t culprit = 0;   // of a broken one, the rank at fault
    std::string why;        // likewise: "hasn't come for 60 s"
};

class Transport {
public:
    virtual ~Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    uint32_t rank() const noexcept { return rank_; }
    uint32_t ranks() const noexcept { return ranks_; }

    /// Whether transfers may be of device memory. Such memory isn't copied: what is given up may still read and write
    /// it, so its owner is kept until that has ended, for good if need be.
    virtual bool takes_device_memory() const { return false; }
    /// Moves what can be moved now; true if that was something. Sets `complete`. Throws Failure.
    virtual bool advance(Transfer& transfer) = 0;
    /// It will not be advanced any more, and its memory is the caller's again, unless it is a device's.
    virtual void give_up(Transfer& transfer) noexcept = 0;
    /// Of another rank. Takes some microseconds: to be asked now and then. Throws Failure.
    virtual Presence look_at(uint32_t rank) = 0;
    /// Leaves; the first farewell counts. `culprit`: rank() for one that just leaves.
    virtual void say_farewell(Presence::State state, uint32_t culprit, std::string_view why) noexcept = 0;
    /// A transport of some of the ranks, of which this one is one, for a group of them. All of these call it with the
    /// same list. Throws Failure.
    virtual std::unique_ptr<Transport> split(std::span<const uint32_t> ranks, uint64_t deadline,
                                           const std::function<void()>& check) = 0;

protected:
    Transport(uint32_t rank, uint32_t ranks) noexcept : rank_(rank), ranks_(ranks) {}

private:
    const uint32_t rank_, ranks_;
};

/// The group can't go on, and this rank is at fault.
class Broken final : public Failure {
public:
    Broken(ErrorPtr error, uint32_t culprit, std::string why)
        : Failure(std::move(error)), culprit_(culprit), why_(std::move(why)) {}
    uint32_t culprit() const noexcept { return culprit_; }
    const std::string& why() const noexcept { return why_; }

private:
    uint32_t culprit_;
    std::string why_;
};
/// GPO_PEER_LOST: "rank 2 has died".
[[noreturn]] void fail_broken(uint32_t culprit, const std::string& why);

/// Waits with growing pauses: from 50 us to 1 ms.
class Pauses {
public:
    void begin() noexcept { turns_ = 0; }
    void pause() noexcept;

private:
    unsigned turns_ = 0;
};

/// Completes transfers, and returns when all are complete. A peer that has moved nothing for `patience` ns
/// (host::kForever: for ever) hangs. `check` is called now and then, and may throw. Throws Broken, Failure; then all
/// are given up.
void complete(Transport& transport, std::span<Transfer> transfers, uint64_t patience,
              const std::function<void()>& check);

/// Throws Broken if any rank has found the group broken.
void look_for_broken(Transport& transport);

/// The same for whoever waits for other ranks in another way: looks whether any has died, or has left long ago, so that
/// what it still took part in has ended.
class Watch {
public:
    explicit Watch(Transport& transport) noexcept : transport_(transport) {}
    /// Throws Broken, Failure.
    void look();

private:
    Transport& transport_;
    uint64_t left_since_ = 0;   // when the first was seen to have left
};

/// Nanoseconds as text: "60 s", "20 ms".
std::string duration(uint64_t ns);

}  // namespace gpo::peers
