// A rank that waits for data of another rank learns why the other left, at any order of its looks.
#include <doctest/doctest.h>

#include <array>

#include "host/host.h"
#include "peers/transport.h"

namespace {

using namespace gpo::peers;

/// Rank 0 of two. Rank 1 sends nothing; it is present for the first looks and then in the state `then`.
class Silent final : public Transport {
public:
    Silent(unsigned looks, Presence then) : Transport(0, 2), looks_(looks), then_(std::move(then)) {}

    bool advance(Transfer&) override { return false; }
    void give_up(Transfer&) noexcept override { ++given_up; }
    Presence look_at(uint32_t) override {
        if (looks_ == 0) return then_;
        --looks_;
        return {};
    }
    void depart(Presence::State, uint32_t, std::string_view) noexcept override {}
    std::unique_ptr<Transport> split(std::span<const uint32_t>, uint64_t, const std::function<void()>&) override {
        return nullptr;
    }

    unsigned given_up = 0;

private:
    unsigned looks_;
    const Presence then_;
};

std::string why(unsigned looks, Presence then) {
    Silent transport(looks, std::move(then));
    std::byte byte{};
    std::array<Transfer, 1> transfers;
    transfers[0] = {.peer = 1, .bytes = &byte, .size = 1};
    std::string said;
    try {
        complete(transport, transfers, gpo::host::kForever, [] {});
    } catch (const Broken& broken) {
        said = std::to_string(broken.culprit()) + " " + broken.why();
    }
    CHECK(transport.given_up == 1);
    return said;
}

}  // namespace

TEST_CASE("what a rank says as it leaves is told, whenever the others look") {
    for (unsigned looks = 0; looks < 5; ++looks) {
        CAPTURE(looks);
        CHECK(why(looks, {Presence::State::broken, 1, "has aborted the group"}) == "1 has aborted the group");
        CHECK(why(looks, {Presence::State::broken, 0, "has died"}) == "0 has died");
        CHECK(why(looks, {Presence::State::left, 1, ""}) == "1 has left the group");
        CHECK(why(looks, {Presence::State::dead, 1, ""}) == "1 has died");
    }
}
