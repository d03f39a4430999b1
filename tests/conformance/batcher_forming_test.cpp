// Batchers: when a batch is formed, and of which requests; and requests that never get into one.
#include <random>
#include <set>

#include "conformance/batcher_rig.h"

using namespace gpo::test;

namespace {

using Numbers = std::vector<uint64_t>;

/// How long a test looks whether something comes that must not come.
constexpr int64_t kLook = 20'000'000;
constexpr uint64_t kMillisecond = 1'000'000;

/// The numbers of the members of a key's batches, in the order of the batches.
std::vector<Numbers> batches_of(BatcherRig& rig, uint32_t key) {
    std::vector<Numbers> out;
    for (const SeenBatch& seen : rig.work.seen())
        if (seen.batch.key == key) out.push_back(seen.numbers());
    return out;
}

/// Elements of two flows in the batches of a key, checked after each batch in which both waited: in proportion to their
/// weights, to `tolerance` elements of flow 1.
void check_shares(BatcherRig& rig, double weight, uint64_t left, double tolerance) {
    std::map<uint64_t, uint64_t> elements;
    for (const SeenBatch& seen : rig.work.seen()) {
        for (const auto& member : seen.members) {
            elements[member.flow] += member.elements;
            left -= member.flow == 2;
        }
        if (left == 0) return;  // only flow 1 waits from here on
        INFO("flow 1: " << elements[1] << ", flow 2: " << elements[2]);
        const double difference = static_cast<double>(elements[1]) - weight * static_cast<double>(elements[2]);
        CHECK(std::abs(difference) <= tolerance);
    }
    CHECK(left == 0);
}

/// Whether a request with a deadline in a key with an hour's delay is done in time. The machine may be late, and the
/// request expires; but not every time.
bool meets_a_deadline(BatcherRig& rig, uint32_t key) {
    uint64_t time = 100 * kMillisecond;
    for (int attempt = 0; attempt < 8; ++attempt, time += time / 2) {
        rig.enter(key);  // without a deadline: goes along
        Asked& urgent = rig.ask(key);
        urgent.request.deadline_ns = monotonic_ns() + time;
        rig.enter(urgent);
        for (;;) {
            const auto ends = rig.take(1);
            const auto end = ends.find(urgent.number);
            if (end == ends.end()) continue;
            if (end->second.status == GPO_SUCCESS) {
                CHECK(urgent.right());
                CHECK(rig.work.seen().back().has(urgent.number - 1));
                return true;
            }
            CHECK(end->second.status == GPO_TIMEOUT);
            break;
        }
    }
    return false;
}

}  // namespace

TEST_CASE("a batch leaves when it has as many members as it may have, and not before") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.rows(4));
    for (int i = 0; i < 3; ++i) rig.enter(key);
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(rig.queue, kLook));
    CHECK(rig.info(key).waiting == 3);
    rig.enter(key);
    rig.take(4, GPO_SUCCESS);
    for (int i = 0; i < 9; ++i) rig.enter(key);
    rig.take(8, GPO_SUCCESS);
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(rig.queue, kLook));
    CHECK(rig.info(key).waiting == 1);
    CHECK(batches_of(rig, key) == std::vector<Numbers>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}});
}

TEST_CASE("a ragged batch leaves when as many elements wait as it may have") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.ragged(10, 100));
    rig.enter(key, 0, 4);
    rig.enter(key, 0, 4);
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(rig.queue, kLook));
    CHECK(rig.info(key).waiting_elements == 8);
    rig.enter(key, 0, 4);  // 12 wait: 8 of them fit
    rig.take(2, GPO_SUCCESS);
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(rig.queue, kLook));
    CHECK(rig.info(key).waiting_elements == 4);
    rig.enter(key, 0, 6);  // 10
    rig.take(2, GPO_SUCCESS);
    rig.enter(key, 0, 10);  // one request alone
    rig.take(1, GPO_SUCCESS);
    CHECK(batches_of(rig, key) == std::vector<Numbers>{{0, 1}, {2, 3}, {4}});
}

TEST_CASE("a batch leaves when its oldest request has waited for the delay") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.rows(64, 30 * kMillisecond));
    const uint64_t before = monotonic_ns();
    rig.enter(key);
    rig.enter(key);
    const auto ends = rig.take(2, GPO_SUCCESS);
    CHECK(ends.at(0).completed_ns - before >= 30 * kMillisecond);
    const uint32_t at_once = rig.add(rig.rows(64, 1)), learnt = rig.add(rig.rows(64, GPO_AUTO));
    for (const uint32_t other : {at_once, learnt}) {
        rig.enter(other);
        rig.take(1, GPO_SUCCESS);
    }
}

TEST_CASE("requests that wait for a lane share the next batch, also if they wait for no others") {
    Gpu gpu;
    BatcherRig rig(gpu);
    for (const uint64_t delay : {uint64_t{1}, uint64_t{GPO_AUTO}}) {
        const uint32_t key = rig.add(rig.rows(64, delay));
        LaneHold hold(rig);
        for (int i = 0; i < 6; ++i) rig.enter(key);
        CHECK(rig.info(key).waiting == 6);
        hold.open();
        rig.take(6, GPO_SUCCESS);
        CHECK(batches_of(rig, key).size() == 1);
    }
}

TEST_CASE("a batch leaves before the deadline of its most urgent request passes") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.rows(64));
    for (int round = 0; round < 6; ++round) {  // a batch's time is known: the first of each slot isn't measured
        for (int i = 0; i < 64; ++i) rig.enter(key);
        rig.take(64, GPO_SUCCESS);
    }
    CHECK(meets_a_deadline(rig, key));
    CHECK(comes_true([&] { return rig.info(key).waiting + rig.info(key).running == 0; }));
}

TEST_CASE("an urgent request wakes its own batch, and no other one") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t slow = rig.add(rig.rows(8)), other = rig.add(rig.rows(8));
    rig.enter(other);
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(rig.queue, kLook));
    CHECK(meets_a_deadline(rig, slow));
    CHECK(rig.info(slow).waiting == 0);
    CHECK(rig.info(other).waiting == 1);
}

TEST_CASE("lanes serve the key whose batch has been due for the longest time") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t many = rig.add(rig.rows(4, 1)), few = rig.add(rig.rows(4, 1));
    {
        LaneHold hold(rig);
        rig.enter(few);
        for (int i = 0; i < 16; ++i) rig.enter(many);
    }
    rig.take(17, GPO_SUCCESS);
    CHECK(rig.work.seen()[0].batch.key == few);
}

TEST_CASE("a key that always has full batches does not starve another") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t many = rig.add(rig.rows(4, 1)), few = rig.add(rig.rows(4, 1));
    const Queue own = gpu.queue();
    Asked& one = rig.ask(many);
    std::atomic<int> submitted{0};
    std::vector<uint32_t> outputs(400 * 4);
    const auto submit = [&] {  // four more, one batch
        for (int i = 0; i < 4 && submitted < 400; ++i) {
            gpo_batcher_request request = one.request;
            request.output = &outputs[static_cast<size_t>(submitted++) * 4];
            uint64_t ticket = 0;
            CHECK_OK(gpo_batcher_submit(rig.batcher, &request, own, 0, &ticket, nullptr));
        }
    };
    rig.work.after = [&](gpo_stream_t, const SeenBatch&) {
        submit();
        return GPO_SUCCESS;
    };
    {
        LaneHold hold(rig);
        submit();
        submit();
        rig.enter(few);
    }
    CHECK(take(own, 400).size() == 400);
    const auto seen = rig.work.seen();
    REQUIRE(seen.size() > 50);
    CHECK(seen[2].batch.key == few);
}

TEST_CASE("flows share batches by their weights, whatever they have waiting") {
    Gpu gpu;
    for (const uint32_t weight : {1u, 3u}) {
        BatcherRig rig(gpu);
        CHECK_OK(gpo_batcher_set_flow(rig.batcher, 1, weight));
        const uint32_t key = rig.add(rig.rows(8, 1));
        {
            LaneHold hold(rig);
            for (int i = 0; i < 200; ++i) rig.enter(key, 1);
            for (int i = 0; i < 20; ++i) rig.enter(key, 2);
            CHECK(rig.info(key).waiting_flows == 2);
        }
        rig.take(220, GPO_SUCCESS);
        check_shares(rig, weight, 20, weight);
        // Each flow's requests in their order.
        std::map<uint64_t, uint64_t> next{{1, 0}, {2, 200}};
        for (const SeenBatch& seen : rig.work.seen())
            for (const auto& member : seen.members) CHECK(member.user_data == next[member.flow]++);
    }
}

TEST_CASE("flows of ragged requests share elements and not requests") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.ragged(64, 64, 1));
    {
        LaneHold hold(rig);
        for (int i = 0; i < 100; ++i) rig.enter(key, 1, 8);
        for (int i = 0; i < 200; ++i) rig.enter(key, 2, 1);
    }
    rig.take(300, GPO_SUCCESS);
    check_shares(rig, 1, 200, 16);
    CHECK(rig.work.seen()[0].batch.elements == 64);
}

TEST_CASE("a waiting request can be cancelled, a running or an ended one can't") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.rows(1, 1));
    CHECK_STATUS(GPO_NOT_FOUND, gpo_batcher_cancel(rig.batcher, 0));
    CHECK_STATUS(GPO_NOT_FOUND, gpo_batcher_cancel(rig.batcher, UINT64_MAX));
    Stop stop;
    rig.work.before = [&](gpo_stream_t, const SeenBatch& seen) {
        if (seen.has(0)) stop.wait();
        return GPO_SUCCESS;
    };
    Asked& running = rig.enter(key);
    REQUIRE(stop.reached());
    Asked& waiting = rig.enter(key);
    rig.enter(key);
    CHECK_STATUS(GPO_NOT_FOUND, gpo_batcher_cancel(rig.batcher, waiting.ticket + 1000));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_batcher_cancel(rig.batcher, running.ticket));
    CHECK_OK(gpo_batcher_cancel(rig.batcher, waiting.ticket));
    CHECK_STATUS(GPO_NOT_FOUND, gpo_batcher_cancel(rig.batcher, waiting.ticket));
    const auto ends = rig.take(1, GPO_CANCELLED);
    CHECK(ends.count(1) == 1);
    CHECK(rig.names(ends.at(1), "cancel"));
    stop.open();
    rig.take(2, GPO_SUCCESS);
    for (const Asked& one : rig.asked) CHECK_STATUS(GPO_NOT_FOUND, gpo_batcher_cancel(rig.batcher, one.ticket));
    CHECK(batches_of(rig, key) == std::vector<Numbers>{{0}, {2}});
    const auto info = rig.info(key);
    CHECK(info.cancelled == 1);
    CHECK(info.waiting == 0);
}

TEST_CASE("cancelled requests count no more for a batch") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t rows = rig.add(rig.rows(3)), ragged = rig.add(rig.ragged(10, 10));
    for (int i = 0; i < 2; ++i) rig.enter(rows);
    CHECK_OK(gpo_batcher_cancel(rig.batcher, rig.asked[0].ticket));
    rig.take(1, GPO_CANCELLED);
    rig.enter(rows);
    rig.enter(ragged, 0, 6);
    CHECK_OK(gpo_batcher_cancel(rig.batcher, rig.asked[3].ticket));
    rig.take(1, GPO_CANCELLED);
    rig.enter(ragged, 0, 6);
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(rig.queue, kLook));
    rig.enter(rows);
    rig.take(3, GPO_SUCCESS);
    CHECK(batches_of(rig, rows) == std::vector<Numbers>{{1, 2, 5}});
    CHECK(rig.info(ragged).waiting_elements == 6);
}

TEST_CASE("a deadline that has passed is refused at the call") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.rows(1));
    Asked& one = rig.ask(key);
    for (const uint64_t deadline : {uint64_t{1}, monotonic_ns()}) {
        one.request.deadline_ns = deadline;
        rig.refused(GPO_TIMEOUT, one);
    }
    CHECK(rig.info(key).refused_deadline == 2);
    CHECK(rig.info(key).expired == 0);
    one.request.deadline_ns = UINT64_MAX;
    rig.enter(one);
    rig.take(1, GPO_SUCCESS);
}

TEST_CASE("a request that waits until its deadline expires in the line, also while the lane's callback waits") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.rows(4, 1));
    LaneHold hold(rig);
    for (int i = 0; i < 6; ++i) {
        Asked& one = rig.ask(key, i % 2);
        if (i % 2) one.request.deadline_ns = monotonic_ns() + (7 - i) * 20 * kMillisecond;
        rig.enter(one);
    }
    const auto ends = rig.take(3, GPO_TIMEOUT);
    for (const uint64_t number : {1, 3, 5}) {
        REQUIRE(ends.count(number) == 1);
        CHECK(ends.at(number).completed_ns >= rig.asked[number].request.deadline_ns);
    }
    CHECK(rig.info(key).expired == 3);
    CHECK(rig.info(key).waiting == 3);
    hold.open();
    rig.take(3, GPO_SUCCESS);
    CHECK(batches_of(rig, key) == std::vector<Numbers>{{0, 2, 4}});
}

TEST_CASE("requests expire while a kernel keeps the lane busy" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.rows(1, 1));
    rig.work.before = [&](gpo_stream_t stream, const SeenBatch& seen) {
        if (seen.has(0)) gate.put_on(stream);
        return GPO_SUCCESS;
    };
    for (int i = 0; i < 7; ++i) rig.enter(key);  // a lane takes two, or three
    Asked& last = rig.ask(key);
    last.request.deadline_ns = monotonic_ns() + 100 * kMillisecond;
    rig.enter(last);
    const auto ends = rig.take(1, GPO_TIMEOUT);
    CHECK(ends.count(7) == 1);
    CHECK(rig.info(key).waiting >= 4);
    gate.open();
    rig.take(7, GPO_SUCCESS);
    CHECK(rig.work.count() == 7);
}

TEST_CASE("a deadline that the line in front can't meet is refused, with the predicted wait") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.rows(1, 1));
    rig.work.before = [](gpo_stream_t, const SeenBatch&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a batch that takes time
        return GPO_SUCCESS;
    };
    for (int i = 0; i < 6; ++i) rig.enter(key);
    rig.take(6, GPO_SUCCESS);
    {
        LaneHold hold(rig);
        for (int i = 0; i < 20; ++i) rig.enter(key);
        uint64_t wait_ns = 0;
        Asked& one = rig.ask(key);
        one.request.deadline_ns = monotonic_ns() + 50 * kMillisecond;
        CHECK_STATUS(GPO_TIMEOUT, rig.submit(one, &wait_ns));
        CHECK(wait_ns > 40 * kMillisecond);
        CHECK(rig.info(key).wait_ns > 40 * kMillisecond);
        CHECK(rig.info().wait_ns >= 40 * kMillisecond);
        CHECK(rig.info(key).refused_deadline == 1);
        CHECK(one.untouched());
        one.request.deadline_ns = monotonic_ns() + kHour;
        rig.enter(one);
    }
    rig.take(21, GPO_SUCCESS);
}

TEST_CASE("as many requests wait as the capacity says, of all keys; a place that comes free is given again") {
    Gpu gpu;
    BatcherRig rig(gpu, batcher_options(1, 3));
    const uint32_t one_key = rig.add(rig.rows(64)), other_key = rig.add(rig.rows(64, 1));
    LaneHold hold(rig);
    for (int i = 0; i < 3; ++i) rig.enter(i % 2 ? one_key : other_key);
    Asked& more = rig.ask(one_key);
    rig.refused(GPO_WOULD_BLOCK, more);
    CHECK(rig.info(one_key).refused_full == 1);
    CHECK(rig.info(other_key).refused_full == 0);
    CHECK(rig.info().refused_full == 1);
    CHECK_OK(gpo_batcher_cancel(rig.batcher, rig.asked[0].ticket));
    rig.take(1, GPO_CANCELLED);
    // The place of an expired one is free, too.
    Asked& urgent = rig.ask(one_key);
    urgent.request.deadline_ns = monotonic_ns() + 100 * kMillisecond;
    rig.enter(urgent);
    rig.refused(GPO_WOULD_BLOCK, more);
    rig.take(1, GPO_TIMEOUT);
    rig.enter(more);
    rig.refused(GPO_WOULD_BLOCK, rig.ask(other_key));
    // And those of a batch that was formed.
    hold.open();
    rig.take(1, GPO_SUCCESS);
    rig.enter(other_key);
    rig.take(1, GPO_SUCCESS);
    CHECK(rig.info(one_key).waiting == 2);
}

TEST_CASE("a full queue refuses a request, and no place is taken") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.rows(1, 1));
    const Queue small = gpu.queue(2);
    uint64_t ticket = 0;
    const auto submit = [&](Asked& one) {
        uint64_t wait_ns = 77;
        const gpo_status status = gpo_batcher_submit(rig.batcher, &one.request, small, one.number, &ticket, &wait_ns);
        CHECK(wait_ns == 0);
        return status;
    };
    REQUIRE_OK(submit(rig.ask(key)));
    REQUIRE_OK(submit(rig.ask(key)));
    CHECK_STATUS(GPO_WOULD_BLOCK, submit(rig.ask(key)));
    // Nobody drains it: its requests end all the same, and those of another queue are served.
    CHECK(comes_true([&] { return rig.info(key).succeeded == 2; }));
    CHECK_STATUS(GPO_WOULD_BLOCK, submit(rig.ask(key)));
    for (int i = 0; i < 10; ++i) rig.enter(key);
    rig.take(10, GPO_SUCCESS);
    CHECK(rig.info(key).submitted == 12);
    CHECK(take(small, 2).size() == 2);
    REQUIRE_OK(submit(rig.ask(key)));
    CHECK(take(small, 1)[0].status == GPO_SUCCESS);
    // A refused request gives its room in the queue back.
    Asked& wrong = rig.ask(key);
    wrong.request.key = 99;
    for (int i = 0; i < 5; ++i) CHECK_STATUS(GPO_NOT_FOUND, submit(wrong));
    wrong.request.key = key;
    wrong.request.deadline_ns = 1;
    for (int i = 0; i < 5; ++i)
        CHECK_STATUS(GPO_TIMEOUT, gpo_batcher_submit(rig.batcher, &wrong.request, small, 0, &ticket, nullptr));
    REQUIRE_OK(submit(rig.ask(key)));
    REQUIRE_OK(submit(rig.ask(key)));
    CHECK(take(small, 2).size() == 2);
}

TEST_CASE("a queue may be destroyed while its requests wait and run") {
    Gpu gpu;
    BatcherRig rig(gpu);
    const uint32_t key = rig.add(rig.rows(4, 1));
    Stop stop;
    rig.work.before = [&](gpo_stream_t, const SeenBatch& seen) {
        if (seen.has(0)) stop.wait();
        return GPO_SUCCESS;
    };
    Queue other = gpu.queue();
    const auto submit = [&] {
        Asked& one = rig.ask(key);
        REQUIRE_OK(gpo_batcher_submit(rig.batcher, &one.request, other, one.number, &one.ticket, nullptr));
    };
    submit();
    REQUIRE(stop.reached());
    for (int i = 0; i < 5; ++i) {
        submit();
        rig.enter(key);
    }
    other.reset();
    stop.open();
    rig.take(5, GPO_SUCCESS);
    CHECK(comes_true([&] { return rig.info(key).waiting + rig.info(key).running == 0; }));
    const auto info = rig.info(key);
    CHECK(info.submitted == 11);
    CHECK(info.succeeded + info.failed + info.expired + info.cancelled == 11);
}

TEST_CASE("keys of one member run alone, spread over the lanes") {
    Gpu gpu;
    BatcherRig rig(gpu, batcher_options(3));
    const uint32_t key = rig.add(rig.rows(1));
    Stop stop;
    rig.work.before = [&](gpo_stream_t, const SeenBatch&) {
        stop.wait();
        return GPO_SUCCESS;
    };
    for (int i = 0; i < 3; ++i) rig.enter(key);
    CHECK(stop.reached(3));  // at a time
    CHECK(rig.info(key).running_batches == 3);
    stop.open();
    rig.take(3, GPO_SUCCESS);
    std::set<uint32_t> lanes;
    for (const SeenBatch& seen : rig.work.seen()) lanes.insert(seen.batch.lane);
    CHECK(lanes == std::set<uint32_t>{0, 1, 2});
}

TEST_CASE("with PRESERVE_ORDER entries of a flow come in their order, however their batches end") {
    Gpu gpu;
    BatcherRig rig(gpu, batcher_options(2));
    auto options = rig.rows(1, 1);
    options.flags = GPO_BATCHER_PRESERVE_ORDER;
    const uint32_t key = rig.add(options);
    Stop first, second;
    rig.work.before = [&](gpo_stream_t, const SeenBatch& seen) {
        if (seen.has(0)) first.wait();
        if (seen.has(1)) second.wait();
        return seen.has(1) ? GPO_FAILED : GPO_SUCCESS;
    };
    for (int i = 0; i < 2; ++i) rig.enter(key);
    REQUIRE(first.reached());
    REQUIRE(second.reached());
    for (int i = 2; i < 5; ++i) rig.enter(key);
    Asked& late = rig.ask(key);
    late.request.deadline_ns = monotonic_ns() + 100 * kMillisecond;
    rig.enter(late);
    CHECK(comes_true([&] { return rig.info(key).waiting == 3; }));  // it has expired
    CHECK_OK(gpo_batcher_cancel(rig.batcher, rig.asked[3].ticket));
    for (uint64_t i = 6; i < 12; ++i) rig.enter(key, i);
    second.open();
    // The other lane goes on: entries of other flows come, and those of flow 0 wait for the first.
    for (const auto& [number, entry] : rig.take(3)) CHECK(number >= 6);
    first.open();
    const auto ends = rig.take(9);
    Numbers of_flow;
    for (const uint64_t number : rig.order)
        if (number < 6) of_flow.push_back(number);
    CHECK(of_flow == Numbers{0, 1, 2, 3, 4, 5});
    const gpo_status expected[] = {GPO_SUCCESS,   GPO_CALLBACK_FAILED, GPO_SUCCESS,
                                   GPO_CANCELLED, GPO_SUCCESS,         GPO_TIMEOUT};
    for (uint64_t i = 0; i < 6; ++i) {
        CHECK(ends.at(i).status == expected[i]);
        if (expected[i] == GPO_SUCCESS) CHECK(rig.asked[i].right());
    }
}

TEST_CASE("with PRESERVE_ORDER on four lanes, thousands of requests come in the order of their flows") {
    Gpu gpu;
    BatcherRig rig(gpu, batcher_options(4));
    auto options = rig.rows(3, 1);
    options.flags = GPO_BATCHER_PRESERVE_ORDER;
    const uint32_t key = rig.add(options);
    std::mt19937 random(11);
    for (int i = 0; i < 2000; ++i) {
        Asked& one = rig.ask(key, random() % 3);
        // The time until a deadline comes from the requests in front: some expire, and some are refused.
        if (random() % 8 == 0) one.request.deadline_ns = monotonic_ns() + random() % 3'000'000;
        if (rig.submit(one) != GPO_SUCCESS)
            one.ticket = 0;
        else if (random() % 8 == 0)
            gpo_batcher_cancel(rig.batcher, one.ticket);
    }
    const auto accepted = static_cast<size_t>(
        std::count_if(rig.asked.begin(), rig.asked.end(), [](const Asked& one) { return one.ticket != 0; }));
    for (const auto& [number, entry] : rig.take(accepted))
        if (entry.status == GPO_SUCCESS) CHECK(rig.asked[number].right());
    std::map<uint64_t, uint64_t> last;
    for (const uint64_t number : rig.order) {
        uint64_t& before = last[rig.asked[number].request.flow];
        CHECK(number >= before);
        before = number;
    }
}
