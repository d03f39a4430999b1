// Streams that hold each other up. While a handle that can end the cycle is left, the cycle stays held, and a wait for
// the device names it. Without such a handle its streams fail, each entry comes once, and the error says who waited for
// whom.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/gpu.h"

using namespace gpo::test;

namespace {

bool contains(const gpo_error& error, const std::string& text) {
    return std::string(error.message).find(text) != std::string::npos;
}

/// Two streams and two timelines that have no work yet, and a queue.
struct Parts {
    explicit Parts(Gpu& gpu)
        : queue(gpu.queue()), t(gpu.timeline(0, "t")), u(gpu.timeline(0, "u")), a(gpu.stream("a")), b(gpu.stream("b")) {
    }
    Queue queue;
    Timeline t, u;
    Stream a, b;
};

/// Takes `count` entries, and no more are there: by their numbers.
std::map<uint64_t, gpo_completion> take_all(gpo_cq_t queue, size_t count) {
    std::map<uint64_t, gpo_completion> out;
    for (const auto& entry : take(queue, count)) CHECK(out.emplace(entry.user_data, entry).second);
    gpo_completion more{};
    uint64_t left = 0;
    CHECK_OK(gpo_cq_drain(queue, &more, sizeof more, 1, &left));
    CHECK(left == 0);
    return out;
}

gpo_error error_of(gpo_cq_t queue, const gpo_completion& entry) {
    auto error = sized<gpo_error>();
    CHECK_OK(gpo_cq_get_error(queue, entry.error_id, &error));
    return error;
}

struct Cycle {
    const char* name;
    std::function<void(Parts&)> make;
    size_t entries;
    std::vector<std::string> named;   // in the error
};

const std::vector<Cycle>& cycles() {
    static const std::vector<Cycle> all = {
        {"a stream that waits for itself",
         [](Parts& p) {
             REQUIRE_OK(gpo_stream_wait_timeline(p.a, p.t, 5));
             REQUIRE_OK(gpo_stream_signal_timeline(p.a, p.t, 7));
             REQUIRE_OK(gpo_stream_notify(p.a, p.queue, 1));
             REQUIRE_OK(gpo_timeline_notify(p.t, 5, p.queue, 2));
         },
         2,
         {"stream `a` waits for timeline `t` to reach 5", "held on the same stream"}},
        {"two streams that wait for each other's signal",
         [](Parts& p) {
             REQUIRE_OK(gpo_stream_wait_timeline(p.a, p.t, 5));
             REQUIRE_OK(gpo_stream_wait_timeline(p.b, p.u, 5));
             REQUIRE_OK(gpo_stream_signal_timeline(p.a, p.u, 5));
             REQUIRE_OK(gpo_stream_signal_timeline(p.b, p.t, 5));
             REQUIRE_OK(gpo_stream_notify(p.a, p.queue, 1));
             REQUIRE_OK(gpo_timeline_notify(p.t, 5, p.queue, 2));
             REQUIRE_OK(gpo_stream_notify(p.b, p.queue, 3));
             REQUIRE_OK(gpo_timeline_notify(p.u, 5, p.queue, 4));
         },
         4,
         {"stream `a` waits for timeline `t` to reach 5, whose signal is held on stream `b`",
          "stream `b` waits for timeline `u` to reach 5, whose signal is held on stream `a`"}},
        {"a stream whose signal is held on one that waits for it",
         [](Parts& p) {
             REQUIRE_OK(gpo_stream_wait_timeline(p.a, p.t, 5));
             REQUIRE_OK(gpo_stream_wait_stream(p.b, p.a));
             REQUIRE_OK(gpo_stream_signal_timeline(p.b, p.t, 5));
             REQUIRE_OK(gpo_stream_notify(p.a, p.queue, 1));
             REQUIRE_OK(gpo_stream_notify(p.b, p.queue, 2));
             REQUIRE_OK(gpo_timeline_notify(p.t, 5, p.queue, 3));
         },
         3,
         {"stream `a` waits for timeline `t` to reach 5, whose signal is held on stream `b`",
          "stream `b` waits for an event, whose recording is held on stream `a`"}},
    };
    return all;
}

}  // namespace

TEST_CASE("streams that hold each other up fail when the last handle that could end it goes, whichever that is") {
    for (const Cycle& cycle : cycles()) {
        // The last of the four to go is each in turn.
        for (unsigned first = 0; first < 4; ++first) {
            CAPTURE(std::string(cycle.name));
            CAPTURE(first);
            Gpu gpu;
            Parts parts(gpu);
            cycle.make(parts);
            const std::function<void()> gone[] = {[&] { parts.a.reset(); }, [&] { parts.t.reset(); },
                                                  [&] { parts.b.reset(); }, [&] { parts.u.reset(); }};
            for (unsigned i = 0; i < 4; ++i) gone[(first + i) % 4]();
            const auto entries = take_all(parts.queue, cycle.entries);
            for (const auto& [number, entry] : entries) {
                CHECK(entry.status == GPO_CANCELLED);
                const gpo_error error = error_of(parts.queue, entry);
                CAPTURE(std::string(error.message));
                CHECK(contains(error, "hold each other up"));
                for (const std::string& part : cycle.named) CHECK(contains(error, part));
            }
            CHECK_OK(gpo_device_wait(gpu.device, kPatience));
        }
    }
}

TEST_CASE(
    "while a handle is left that can end it streams that hold each other up stay held, and a wait for the device names "
    "them") {
    enum Ends { signal, failure, cancellation };
    for (unsigned turn = 0; turn < 3 * cycles().size(); ++turn) {
        const Cycle& cycle = cycles()[turn / 3];
        const auto ends = static_cast<Ends>(turn % 3);
        CAPTURE(std::string(cycle.name));
        CAPTURE(static_cast<int>(ends));
        Gpu gpu;
        Parts parts(gpu);
        cycle.make(parts);
        parts.b.reset();
        parts.u.reset();
        if (ends == cancellation)
            parts.t.reset();
        else
            parts.a.reset();
        CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 20'000'000));
        const gpo_error error = last_error();
        CHECK(error.status == GPO_TIMEOUT);
        CAPTURE(std::string(error.message));
        for (const std::string& part : cycle.named) CHECK(contains(error, part));
        CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 0));
        uint64_t left = 7;
        gpo_completion entry{};
        REQUIRE_OK(gpo_cq_drain(parts.queue, &entry, sizeof entry, 1, &left));
        CHECK(left == 0);
        if (ends == cancellation) CHECK_OK(gpo_stream_cancel_held(parts.a, nullptr));
        if (ends == failure) CHECK_OK(gpo_timeline_fail(parts.t, GPO_FAILED, "on purpose"));
        if (ends == signal) CHECK_OK(gpo_timeline_signal(parts.t, 6));
        for (const auto& taken : take_all(parts.queue, cycle.entries)) {
            CAPTURE(taken.first);
            CHECK(taken.second.status == (ends == signal ? GPO_SUCCESS : ends == failure ? GPO_FAILED : GPO_CANCELLED));
        }
        CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    }
}

TEST_CASE("what waits for a value that the host can still signal is no cycle: it goes on with the signal") {
    Gpu gpu;
    Parts parts(gpu);
    REQUIRE_OK(gpo_stream_wait_timeline(parts.a, parts.t, 5));
    REQUIRE_OK(gpo_stream_signal_timeline(parts.a, parts.t, 7));
    REQUIRE_OK(gpo_stream_notify(parts.a, parts.queue, 1));
    REQUIRE_OK(gpo_timeline_notify(parts.t, 5, parts.queue, 2));
    parts.a.reset();
    CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 20'000'000));
    CHECK_OK(gpo_timeline_signal(parts.t, 6));
    for (const auto& [number, entry] : take_all(parts.queue, 2)) CHECK(entry.status == GPO_SUCCESS);
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    uint64_t value = 0;
    CHECK_OK(gpo_timeline_get_value(parts.t, &value));
    CHECK(value == 7);
}

TEST_CASE("a wait that no signal will reach is told when the timeline goes, and a time-out for it names no cycle") {
    Gpu gpu;
    Parts parts(gpu);
    REQUIRE_OK(gpo_stream_wait_timeline(parts.a, parts.t, 5));
    REQUIRE_OK(gpo_stream_notify(parts.a, parts.queue, 1));
    REQUIRE_OK(gpo_timeline_notify(parts.t, 5, parts.queue, 2));
    parts.a.reset();
    REQUIRE(gpo_stream_query(nullptr) == GPO_INVALID_HANDLE);
    CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 20'000'000));
    CHECK(last_error().status == GPO_INVALID_HANDLE);   // that of the call before
    parts.t.reset();
    for (const auto& [number, entry] : take_all(parts.queue, 2)) CHECK(entry.status == GPO_CANCELLED);
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
}

TEST_CASE("a pool's stream that waits for itself fails when pool and timeline are gone") {
    for (const bool timeline_last : {false, true}) {
        CAPTURE(timeline_last);
        Gpu gpu;
        Parts parts(gpu);
        StreamPool pool;
        REQUIRE_OK(gpo_stream_pool_create(gpu.device, nullptr, pool.out()));
        gpo_stream_t stream = nullptr;
        REQUIRE_OK(gpo_stream_pool_acquire(pool, 0, &stream));
        REQUIRE_OK(gpo_stream_wait_timeline(stream, parts.t, 5));
        REQUIRE_OK(gpo_stream_signal_timeline(stream, parts.t, 7));
        REQUIRE_OK(gpo_stream_notify(stream, parts.queue, 1));
        if (timeline_last) pool.reset();
        parts.t.reset();
        pool.reset();
        CHECK(take_all(parts.queue, 1)[1].status == GPO_CANCELLED);
        CHECK_OK(gpo_device_wait(gpu.device, kPatience));
    }
}

TEST_CASE(
    "a cycle that comes about when what was before it is released fails then, with what hangs on it and nothing else") {
    Gpu gpu;
    Parts parts(gpu);
    Timeline before = gpu.timeline(0, "before"), apart = gpu.timeline(0, "apart");
    Stream behind = gpu.stream("behind"), other = gpu.stream("other");
    Event event = gpu.event();
    REQUIRE_OK(gpo_stream_wait_timeline(parts.a, before, 1));
    REQUIRE_OK(gpo_stream_notify(parts.a, parts.queue, 1));
    REQUIRE_OK(gpo_stream_wait_timeline(parts.a, parts.t, 5));
    REQUIRE_OK(gpo_stream_signal_timeline(parts.a, parts.t, 5));
    REQUIRE_OK(gpo_stream_notify(parts.a, parts.queue, 2));
    REQUIRE_OK(gpo_event_record(event, parts.a));
    REQUIRE_OK(gpo_event_notify(event, parts.queue, 3));
    REQUIRE_OK(gpo_stream_wait_timeline(behind, parts.t, 4));
    REQUIRE_OK(gpo_stream_notify(behind, parts.queue, 4));
    REQUIRE_OK(gpo_stream_wait_timeline(other, apart, 1));
    REQUIRE_OK(gpo_stream_notify(other, parts.queue, 5));
    for (Stream* stream : {&parts.a, &behind, &other}) stream->reset();
    parts.t.reset();
    event.reset();
    CHECK_STATUS(GPO_TIMEOUT, gpo_device_wait(gpu.device, 20'000'000));
    REQUIRE_OK(gpo_timeline_signal(before, 1));
    auto entries = take_all(parts.queue, 4);
    CHECK(entries.at(1).status == GPO_SUCCESS);
    for (const uint64_t number : {2, 3, 4}) {
        CHECK(entries.at(number).status == GPO_CANCELLED);
        CHECK(contains(error_of(parts.queue, entries.at(number)), "stream `a` waits for timeline `t` to reach 5"));
    }
    REQUIRE_OK(gpo_timeline_signal(apart, 1));
    entries = take_all(parts.queue, 1);
    CHECK(entries.at(5).status == GPO_SUCCESS);
    CHECK_OK(gpo_device_wait(gpu.device, kPatience));
}
