#include "peers/transport.h"

#include <algorithm>

#include "host/host.h"

namespace gpo::peers {

namespace {

constexpr uint64_t kLooksEvery = 5'000'000;                       // ns, at other ranks
constexpr uint64_t kGrace = 2'000'000'000;                        // ns
constexpr unsigned kRelaxed = 40, kYields = 80;                   // turns
constexpr uint64_t kLeastPause = 50'000, kMostPause = 1'000'000;  // ns

}  // namespace

void fail_broken(uint32_t culprit, const std::string& why) {
    throw Broken(make_error(GPO_PEER_LOST, "rank ", culprit, " ", why), culprit, why);
}

void Pauses::pause() noexcept {
    const unsigned turn = turns_++;
    if (turn < kRelaxed) return host::step(turn % 16);
    if (turn < kYields) return host::step(64);
    const unsigned doublings = std::min((turn - kYields) / 8, 5u);
    host::sleep_until(host::now() + std::min(kLeastPause << doublings, kMostPause));
}

std::string duration(uint64_t ns) {
    constexpr uint64_t kSecond = 1'000'000'000, kMillisecond = 1'000'000;
    if (ns >= kSecond && ns % kSecond == 0) return text(ns / kSecond, " s");
    return text((ns + kMillisecond - 1) / kMillisecond, " ms");
}

void look_for_broken(Transport& transport) {
    for (uint32_t rank = 0; rank < transport.ranks(); ++rank) {
        if (rank == transport.rank()) continue;
        const Presence presence = transport.look_at(rank);
        if (presence.state == Presence::State::broken) fail_broken(presence.culprit, presence.why);
    }
}

void Watch::look() {
    look_for_broken(transport_);
    for (uint32_t rank = 0; rank < transport_.ranks(); ++rank) {
        if (rank == transport_.rank()) continue;
        const Presence presence = transport_.look_at(rank);
        if (presence.state == Presence::State::dead) fail_broken(rank, "has died");
        if (presence.state != Presence::State::left) continue;
        const uint64_t now = host::now();
        if (left_since_ == 0) left_since_ = now;
        if (now - left_since_ >= kGrace) fail_broken(rank, "has left the group");
    }
}

namespace {

class Completing {
public:
    Completing(Transport& transport, std::span<Transfer> transfers, uint64_t patience)
        : transport_(transport), transfers_(transfers), patience_(patience),
          moved_(transport.ranks(), host::now()) {}
    ~Completing() {
        for (Transfer& transfer : transfers_)
            if (!transfer.complete) transport_.give_up(transfer);
    }
    Completing(const Completing&) = delete;
    Completing& operator=(const Completing&) = delete;

    void run(const std::function<void()>& check) {
        uint64_t looked = host::now();
        for (;;) {
            bool all = true;
            const bool moved = advance(&all);
            if (all) return;
            if (host::now() - looked >= kLooksEvery) {
                check();
                look();
                looked = host::now();
            }
            if (moved) pauses_.begin();
            else pauses_.pause();
        }
    }

private:
    bool advance(bool* all) {
        bool moved = false;
        for (Transfer& transfer : transfers_) {
            if (transfer.complete) continue;
            if (transport_.advance(transfer)) {
                moved = true;
                moved_[transfer.peer] = host::now();
            }
            *all = *all && transfer.complete;
        }
        return moved;
    }

    void look() {
        look_for_broken(transport_);
        const uint64_t now = host::now();
        for (Transfer& transfer : transfers_) {
            if (transfer.complete) continue;
            const Presence presence = transport_.look_at(transfer.peer);
            if (presence.state != Presence::State::here) {
                while (transport_.advance(transfer) && !transfer.complete) {}   // data sent before the end
                if (transfer.complete) continue;
                if (presence.state == Presence::State::broken) fail_broken(presence.culprit, presence.why);
                fail_broken(transfer.peer, presence.state == Presence::State::dead ? "has died" : "has left the group");
            }
            if (patience_ != host::kForever && now - moved_[transfer.peer] >= patience_ &&
                !transport_.advance(transfer))
                fail_broken(transfer.peer, text("hasn't come, or hangs: nothing came of it for ", duration(patience_)));
        }
    }

    Transport& transport_;
    const std::span<Transfer> transfers_;
    const uint64_t patience_;
    std::vector<uint64_t> moved_;   // by peer: when data last moved
    Pauses pauses_;
};

}  // namespace

void complete(Transport& transport, std::span<Transfer> transfers, uint64_t patience,
              const std::function<void()>& check) {
    Completing(transport, transfers, patience).run(check);
}

}  // namespace gpo::peers
