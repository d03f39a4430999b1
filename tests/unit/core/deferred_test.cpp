// Deferred work: a wait covers the entries that were deferred before it, in any order of their completion.
#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <vector>

#include "core/deferred.h"
#include "core/errands.h"
#include "support/explore.h"

using gpo::Deferred;
using gpo::ServesDeferred;

TEST_CASE("a wait is for the entries up to a number, and for no later ones") {
    Deferred deferred;
    CHECK(deferred.newest() == 0);
    CHECK(deferred.wait(0, 0));
    std::optional<Deferred::Entry> first(std::in_place, deferred), second(std::in_place, deferred);
    const uint64_t both = deferred.newest();
    std::optional<Deferred::Entry> third(std::in_place, deferred);
    CHECK(deferred.newest() == both + 1);
    CHECK_FALSE(deferred.wait(both, 0));
    CHECK_FALSE(deferred.wait(both, gpo::host::now() + 1'000'000));
    first.reset();
    CHECK(deferred.wait(both - 1, 0));
    CHECK_FALSE(deferred.wait(both, 0));
    second.reset();
    CHECK(deferred.wait(both, gpo::host::kForever));
    CHECK_FALSE(deferred.wait(both + 1, 0));
    third.reset();
    CHECK(deferred.wait(both + 1, 0));
    CHECK(deferred.wait(both + 100, 0));
}

TEST_CASE("under every schedule a wait ends when what was there has gone, in any order, though more keeps coming") {
    gpo::test::explore(300, [](uint64_t seed) {
        Deferred deferred;
        std::vector<std::optional<Deferred::Entry>> entries(4);
        for (auto& entry : entries) entry.emplace(deferred);
        std::optional<Deferred::Entry> more;
        std::atomic<size_t> going{0};
        {
            gpo::host::Thread comes("comes", [&] { more.emplace(deferred); });
            gpo::host::Thread goes("goes", [&] {
                for (size_t i = 0; i < entries.size(); ++i) {
                    ++going;
                    entries[(seed + 3 * i) % entries.size()].reset();
                }
            });
            REQUIRE(deferred.wait(entries.size(), gpo::host::kForever));
            REQUIRE(going == entries.size());
        }
        REQUIRE_FALSE(deferred.wait(deferred.newest(), 0));
    });
}

TEST_CASE("the thread of the errands knows that entries go by what it does") {
    struct Looks final : gpo::Errand {
        void run() noexcept override { here = ServesDeferred::here(); }
        bool here = false;
    };
    CHECK_FALSE(ServesDeferred::here());
    Looks on_its_thread, at_once;
    gpo::Errands errands;
    errands.post(at_once);   // there is no thread yet
    errands.start();
    errands.post(on_its_thread);
    errands.finish();
    CHECK(on_its_thread.here);
    CHECK(at_once.here);
    CHECK_FALSE(ServesDeferred::here());
}
