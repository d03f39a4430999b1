// The staging copier: what is copied is what was there, whoever copies and however it is cut.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "host/schedule.h"
#include "memory/staging.h"

using gpo::StagingCopier;

namespace {

std::vector<unsigned char> pattern(size_t bytes, unsigned seed) {
    std::vector<unsigned char> data(bytes);
    for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>((i * 2654435761u + seed) >> 13);
    return data;
}

bool copies_exactly(StagingCopier& copier, size_t bytes, size_t to_skew, size_t from_skew) {
    const auto source = pattern(bytes + from_skew, 7);
    std::vector<unsigned char> target(bytes + to_skew + 64, 0xee);
    copier.copy(target.data() + to_skew, source.data() + from_skew, bytes);
    if (bytes != 0 && std::memcmp(target.data() + to_skew, source.data() + from_skew, bytes) != 0) return false;
    for (size_t i = 0; i < target.size(); ++i)
        if ((i < to_skew || i >= to_skew + bytes) && target[i] != 0xee) return false;
    return true;
}

}  // namespace

TEST_CASE("a staged copy moves every byte and no other, at any size and alignment") {
    StagingCopier copier(3);
    CHECK(copier.threads() == 3);
    for (const size_t bytes : {0, 1, 63, 64, 65, 4095, 262'143, 262'144, 524'288, 524'289, 3'000'001})
        for (const size_t skew : {0, 1, 17, 63}) CHECK(copies_exactly(copier, bytes, skew, 63 - skew));
}

TEST_CASE("a copier with one thread copies on the caller's") {
    StagingCopier copier(1);
    CHECK(copier.threads() == 1);
    CHECK(copies_exactly(copier, 2'000'000, 3, 5));
}

TEST_CASE("many copies one after the other, and from several threads at once, stay apart") {
    StagingCopier copier(2);
    std::vector<gpo::host::Thread> callers;
    std::atomic<int> wrong{0};
    for (unsigned t = 0; t < 3; ++t)
        callers.emplace_back("caller", [&, t] {
            for (size_t i = 0; i < 20; ++i)
                if (!copies_exactly(copier, 700'000 + 1000 * i + t, t, i)) ++wrong;
        });
    callers.clear();
    CHECK(wrong == 0);
}

TEST_CASE("the copier runs under the deterministic scheduler") {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        gpo::host::Schedule schedule(seed);
        {
            StagingCopier copier(3);
            CHECK(copies_exactly(copier, 1'500'000, 1, 2));
            CHECK(copies_exactly(copier, 900'000, 0, 0));
        }
        CHECK_FALSE(schedule.deadlocked());
    }
}
