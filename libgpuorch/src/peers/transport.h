// Messages between the ranks of a group of several processes.
//
// A *transfer* is a message of a length that both sides know. Transfers from one rank to another arrive in the order in
// which they were begun. A rank *leaves* by a departure, which gives a reason. After a departure only messages that the
// rank sent before still arrive. A rank that has found the group *broken* names the rank at fault in its departure, so
// that the other ranks are informed soon.
//
// A transport is used by one thread at a time, except for split(), which any thread may call. Only split() waits.
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
    Counted* device = nullptr;   // not NULL: owner of `bytes`, which are device memory; see takes_device_memory()
    std::byte* bytes = nullptr;
    uint64_t size = 0;        // not 0
    // Used by the transport:
    uint64_t done = 0;        // bytes
    uintptr_t request = 0;
    bool begun = false, complete = false;
};

/// A rank's last known state.
struct Presence {
    enum class State : uint8_t {
        here,
        left,     // the rank takes part in nothing more
        dead,     // the rank's process has ended without a departure
        broken,   // the rank has found that the group can't go on
    };
    State state = State::here;
    uint32_t culprit = 0;   // state `broken`: the rank at fault
    std::string why;        // state `broken`: "hasn't come for 60 s"
};

class Transport {
public:
    virtual ~Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    uint32_t rank() const noexcept { return rank_; }
    uint32_t ranks() const noexcept { return ranks_; }

    /// Whether transfers may use device memory, which isn't copied. A transfer that is given up may still access the
    /// memory, so the transport keeps the memory's owner until the access has ended, possibly until the process ends.
    virtual bool takes_device_memory() const { return false; }
    /// Moves the data that can be moved now; true if any data moved. Sets `complete`. Throws Failure.
    virtual bool advance(Transfer& transfer) = 0;
    /// Ends a transfer. Afterwards the caller may reuse the memory, unless it is device memory.
    virtual void give_up(Transfer& transfer) noexcept = 0;
    /// State of another rank. Takes some microseconds: call it only now and then. Throws Failure.
    virtual Presence look_at(uint32_t rank) = 0;
    /// Leaves the group; the first departure counts. `culprit`: rank() if no rank is at fault.
    virtual void depart(Presence::State state, uint32_t culprit, std::string_view why) noexcept = 0;
    /// A transport for a group of some of the ranks, including this rank. All listed ranks call it with the same list.
    /// Throws Failure.
    virtual std::unique_ptr<Transport> split(std::span<const uint32_t> ranks, uint64_t deadline,
                                           const std::function<void()>& check) = 0;

protected:
    Transport(uint32_t rank, uint32_t ranks) noexcept : rank_(rank), ranks_(ranks) {}

private:
    const uint32_t rank_, ranks_;
};

/// The group can't go on, and rank culprit() is at fault.
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
/// (host::kForever: no limit) counts as hanging. `check` is called now and then, and may throw. Throws Broken, Failure,
/// after giving up the incomplete transfers.
void complete(Transport& transport, std::span<Transfer> transfers, uint64_t patience,
              const std::function<void()>& check);

/// Throws Broken if any rank has found the group broken.
void look_for_broken(Transport& transport);

/// Checks for threads that wait for other ranks without transfers: has a rank found the group broken, died, or left so
/// long ago that its last work must have ended?
class Watch {
public:
    explicit Watch(Transport& transport) noexcept : transport_(transport) {}
    /// Throws Broken, Failure.
    void look();

private:
    Transport& transport_;
    uint64_t left_since_ = 0;   // when a rank was first seen to have left
};

/// Nanoseconds as text: "60 s", "20 ms".
std::string duration(uint64_t ns);

}  // namespace gpo::peers
