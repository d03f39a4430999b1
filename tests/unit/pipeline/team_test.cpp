// The threads that move blocks of bytes together.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "pipeline/team.h"

using gpo::pipeline::Team;

namespace {

std::atomic<unsigned> threads_begun{0};

void begin_slowly(const char*) noexcept {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++threads_begun;
}

}  // namespace

TEST_CASE("team: pieces cover a block, each once, in jobs one behind the other") {
    Team team("test-team", 3);
    for (const uint64_t bytes : {uint64_t{1}, Team::kPiece - 1, 4 * Team::kPiece, 9 * Team::kPiece + 5}) {
        std::vector<std::atomic<unsigned>> moved(bytes / Team::kPiece + 1);
        std::atomic<uint64_t> sum{0};
        team.run(bytes, [&](uint64_t offset, uint64_t count) {
            CHECK(offset % Team::kPiece == 0);
            ++moved[offset / Team::kPiece];
            sum += count;
        });
        CHECK(sum == bytes);
        for (uint64_t piece = 0; piece * Team::kPiece < bytes; ++piece) CHECK(moved[piece] == 1);
    }
}

TEST_CASE("team: the first piece is moved when all helpers run, so that none still maps memory for itself") {
    gpo::host::watch_thread_names(begin_slowly);
    std::atomic<unsigned> least{UINT32_MAX};
    {
        Team team("test-team", 3);
        team.run(8 * Team::kPiece, [&](uint64_t, uint64_t) {
            unsigned seen = least, now = threads_begun;
            while (now < seen && !least.compare_exchange_weak(seen, now)) {}
        });
    }
    gpo::host::watch_thread_names(nullptr);
    CHECK(least == 3);
}
