// The chunk size that a pipeline finds, on engines with given times.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "pipeline/tuning.h"

using gpo::pipeline::Tuning;

namespace {

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

struct Outcome {
    uint64_t last_size = 0, largest = 0;
    double lost = 0;  // fraction of time above a run at the last size
};

/// Runs `total` bytes through an engine whose chunks take overhead + bytes * per_byte nanoseconds; `ahead` chunks are
/// asked for before the first one is done.
template <class Time>
Outcome run(Tuning& tuning, uint64_t total, uint64_t granule, uint64_t limit, Time time, int ahead = 6) {
    tuning.begin(total, granule, limit);
    std::vector<uint64_t> sizes;
    Outcome outcome;
    double now = 0;
    size_t done = 0;
    const auto finish_one = [&] {
        now += time(sizes[done++]);
        tuning.done(static_cast<int64_t>(now));
    };
    for (uint64_t left = total; left != 0;) {
        const uint64_t size = std::min(tuning.next(), left);
        if (size < left) {
            CHECK(size % granule == 0);
            outcome.last_size = size;
        }
        CHECK(size <= limit);
        outcome.largest = std::max(outcome.largest, size);
        sizes.push_back(size);
        left -= size;
        if (sizes.size() - done > static_cast<size_t>(ahead)) finish_one();
    }
    while (done < sizes.size()) finish_one();
    const double whole = std::ceil(static_cast<double>(total) / static_cast<double>(outcome.last_size));
    outcome.lost = now / (whole * time(outcome.last_size)) - 1;
    return outcome;
}

auto linear(double overhead_ns, double ns_per_byte) {
    return [=](uint64_t bytes) { return overhead_ns + ns_per_byte * static_cast<double>(bytes); };
}

}  // namespace

TEST_CASE("with the times of an H200 a gigabyte is cut into chunks of 16 MiB, and measuring costs little") {
    Tuning tuning;
    const auto first = run(tuning, kGiB, 4096, Tuning::kMost, linear(4200, 0.02));
    CHECK(tuning.measured());
    CHECK(first.last_size == 16 * kMiB);
    CHECK(first.lost < 0.03);
    const auto second = run(tuning, kGiB, 4096, Tuning::kMost, linear(4200, 0.02));
    CHECK_FALSE(tuning.measured());
    CHECK(second.last_size == first.last_size);
    CHECK(second.lost < 0.001);
}

TEST_CASE("a few microseconds a chunk, taken for more or for less, don't change the choice") {
    for (const double overhead : {0.0, 1000.0, 2000.0, 8000.0}) {
        CAPTURE(overhead);
        Tuning tuning;
        CHECK(run(tuning, kGiB, 4096, Tuning::kMost, linear(overhead, 0.02)).last_size == 16 * kMiB);
    }
}

TEST_CASE("dear chunks are made larger, cheap ones smaller") {
    Tuning dear, cheap;
    CHECK(run(dear, kGiB / 2, 4096, Tuning::kMost, linear(500'000, 0.02)).last_size >= 32 * kMiB);
    CHECK(run(cheap, kGiB / 2, 4096, Tuning::kMost, linear(50, 0.02)).last_size <= 8 * kMiB);
}

TEST_CASE("what was measured on a large input serves a small one with smaller chunks") {
    Tuning tuning;
    const auto large = run(tuning, kGiB, 4096, Tuning::kMost, linear(3500, 0.02));
    const auto small = run(tuning, 16 * kMiB, 4096, Tuning::kMost, linear(3500, 0.02));
    CHECK_FALSE(tuning.measured());
    CHECK(small.last_size < large.last_size);
    CHECK(small.last_size <= 4 * kMiB);
}

TEST_CASE("small inputs are not measured on, and still come in several chunks") {
    Tuning tuning;
    const auto outcome = run(tuning, 8 * kMiB, 4096, Tuning::kMost, linear(3500, 0.02));
    CHECK_FALSE(tuning.measured());
    CHECK(outcome.largest <= kMiB);
    run(tuning, kGiB, 4096, Tuning::kMost, linear(3500, 0.02));
    CHECK(tuning.measured());
}

TEST_CASE(
    "without memory for larger chunks a run goes on with smaller ones, and has measured only if it had begun to") {
    Tuning at_once;
    at_once.begin(kGiB, 4096, Tuning::kMost);
    at_once.restrict(kMiB);
    CHECK_FALSE(at_once.measured());
    CHECK(at_once.next() == kMiB);

    Tuning later;
    later.begin(kGiB, 4096, Tuning::kMost);
    for (int i = 0; i < 30; ++i) later.next();
    later.restrict(kMiB);
    CHECK(later.measured());
    CHECK_FALSE(later.measuring());
    CHECK(later.next() == kMiB);
}

TEST_CASE("where large chunks are slower a byte, as out of a cache, the small ones are used") {
    Tuning tuning;
    const auto time = [](uint64_t bytes) {
        return 1000 + (bytes > 2 * kMiB ? 0.2 : 0.1) * static_cast<double>(bytes);
    };
    CHECK(run(tuning, kGiB, 4096, Tuning::kMost, time).last_size <= 2 * kMiB);
    CHECK(run(tuning, kGiB, 4096, Tuning::kMost, time).last_size <= 2 * kMiB);
}

TEST_CASE("a run that ends before large chunks were tried twice leaves what it knows") {
    Tuning tuning;
    const auto time = [](uint64_t bytes) {
        return 1000 + (bytes > 2 * kMiB ? 0.2 : 0.1) * static_cast<double>(bytes);
    };
    run(tuning, 140 * kMiB, 4096, Tuning::kMost, time);
    CHECK(tuning.measured());
    CHECK(run(tuning, kGiB, 4096, Tuning::kMost, time).largest <= 2 * kMiB);
    CHECK_FALSE(tuning.measured());
}

TEST_CASE("one trial that was disturbed changes nothing") {
    // The trial of large chunks, and that of the choice.
    struct Disturbance {
        uint64_t begin, end;
    };
    for (const Disturbance disturbed : {Disturbance{Tuning::kSmallChunks, Tuning::kSmallChunks + Tuning::kLargeChunks},
                                        Disturbance{40, 48}}) {
        CAPTURE(disturbed.begin);
        Tuning tuning;
        const auto time = [disturbed, at = uint64_t{0}](uint64_t bytes) mutable {
            const bool slow = at >= disturbed.begin && at < disturbed.end;
            ++at;
            return (4200 + 0.02 * static_cast<double>(bytes)) * (slow ? 2 : 1);
        };
        CHECK(run(tuning, kGiB, 4096, Tuning::kMost, time).last_size == 16 * kMiB);
        CHECK(run(tuning, kGiB, 4096, Tuning::kMost, linear(4200, 0.02)).last_size == 16 * kMiB);
    }
}

TEST_CASE("a choice of the model that turns out slow is taken back") {
    Tuning tuning;
    const auto time = [](uint64_t bytes) {
        return 100'000 + (bytes > 4 * kMiB ? 0.2 : 0.02) * static_cast<double>(bytes);
    };
    CHECK(run(tuning, kGiB, 4096, Tuning::kMost, time).last_size <= 4 * kMiB);
    CHECK(run(tuning, kGiB, 4096, Tuning::kMost, time).last_size <= 4 * kMiB);
}

TEST_CASE("one end that is seen late changes nothing") {
    Tuning tuning;
    tuning.begin(kGiB, 4096, Tuning::kMost);
    double now = 0;
    uint64_t left = kGiB, last = 0;
    for (int i = 0; left != 0; ++i) {
        const uint64_t size = std::min(tuning.next(), left);
        left -= size;
        if (left != 0) last = size;
        now += 4200 + 0.02 * static_cast<double>(size);
        tuning.done(static_cast<int64_t>(now) + (i % 9 == 5 ? 200'000 : 0));
    }
    CHECK(last == 16 * kMiB);
}

TEST_CASE("sizes keep to the granule and to the limit") {
    Tuning tuning;
    const uint64_t granule = 3 * 1000 * 1000;
    CHECK(run(tuning, kGiB, granule, 2 * granule, linear(500'000, 0.02)).largest <= 2 * granule);
    Tuning limited;
    CHECK(run(limited, kGiB, 4096, kMiB, linear(500'000, 0.02)).largest <= kMiB);
    Tuning coarse;
    CHECK(run(coarse, kGiB, 100 * kMiB, 100 * kMiB, linear(3500, 0.02)).largest == 100 * kMiB);
}

TEST_CASE("a clock that stands still does no harm") {
    Tuning tuning;
    CHECK(run(tuning, kGiB, 4096, Tuning::kMost, linear(0, 0)).largest <= Tuning::kMost);
}
