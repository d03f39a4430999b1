// Admissions: the order of admission, the ends of a wait, and a single answer for every request.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "support/gpu.h"

using namespace gpo::test;

namespace {

gpo_admission_options limits(uint64_t count, uint64_t bytes = 0) {
    auto options = sized<gpo_admission_options>();
    options.count = count;
    options.bytes = bytes;
    return options;
}

struct Door {
    explicit Door(Gpu& gpu, const gpo_admission_options& options) : gpu(gpu), queue(gpu.queue()) {
        REQUIRE_OK(gpo_admission_create(gpu.runtime, &options, admission.out()));
    }
    Door(Gpu& gpu, uint64_t count, uint64_t bytes = 0) : Door(gpu, limits(count, bytes)) {}

    /// A request that is accepted; returns its ticket. Its user_data is `number`.
    uint64_t enter(uint64_t number, gpo_admission_request request = sized<gpo_admission_request>()) {
        uint64_t ticket = 0;
        REQUIRE_OK(gpo_admission_enter(admission, &request, queue, number, &ticket));
        CHECK(ticket != 0);
        return ticket;
    }
    uint64_t enter(uint64_t number, uint64_t count, uint64_t bytes, uint64_t flow = 0, uint32_t priority = 0) {
        auto request = sized<gpo_admission_request>();
        request.count = count;
        request.bytes = bytes;
        request.flow = flow;
        request.priority = priority;
        return enter(number, request);
    }
    void leave(uint64_t ticket) { REQUIRE_OK(gpo_admission_leave(admission, ticket)); }
    /// The user_data of the entries in the queue. All entries must have this status.
    std::vector<uint64_t> there(gpo_status status = GPO_SUCCESS) {
        gpo_completion entries[64];
        uint64_t count = 0;
        REQUIRE_OK(gpo_cq_drain(queue, entries, sizeof entries[0], 64, &count));
        std::vector<uint64_t> out;
        for (uint64_t i = 0; i < count; ++i) {
            CHECK(entries[i].status == status);
            CHECK(entries[i].origin == GPO_ORIGIN_ADMISSION);
            tickets[entries[i].user_data] = entries[i].operation;
            out.push_back(entries[i].user_data);
        }
        return out;
    }
    /// Gives the only held place back. Returns the number of the request that gets it, whose ticket is then in `held`.
    uint64_t pass_on(uint64_t& held) {
        there();
        leave(held);
        const auto admitted = there();
        REQUIRE(admitted.size() == 1);
        held = tickets[admitted[0]];
        return admitted[0];
    }
    gpo_admission_info info() {
        auto out = sized<gpo_admission_info>();
        REQUIRE_OK(gpo_admission_get_info(admission, &out));
        return out;
    }

    Gpu& gpu;
    Queue queue;
    Admission admission;
    std::map<uint64_t, uint64_t> tickets;  // of drained entries, by user_data
};

using Numbers = std::vector<uint64_t>;

struct Called {
    std::atomic<int> times{0};
    std::atomic<gpo_status> status{GPO_INTERNAL};
    std::atomic<uint64_t> ticket{0};
    static void call(void* user, const gpo_completion* completion, const gpo_error* error) {
        auto& self = *static_cast<Called*>(user);
        CHECK((error != nullptr) == (completion->status != GPO_SUCCESS));
        self.status = completion->status;
        self.ticket = completion->operation;
        ++self.times;
    }
    bool came() {
        return comes_true([&] { return times == 1; });
    }
};

/// Many clients of one admission, and the accounts of what they were promised.
struct Crowd {
    static constexpr uint64_t kClients = 6, kPlaces = 12, kBytes = 1000;
    struct Asked {
        std::atomic<int> answers{0};
        uint32_t count = 0, bytes = 0;
    };

    Crowd(Gpu& gpu, uint64_t each) : each(each), queue(gpu.queue(1 << 16)), asked(kClients * each) {
        auto options = limits(kPlaces, kBytes);
        options.priorities = 3;
        options.capacity = 200;
        REQUIRE_OK(gpo_admission_create(gpu.runtime, &options, admission.out()));
    }
    void expect(std::initializer_list<gpo_status> statuses, gpo_status got) {
        if (std::find(statuses.begin(), statuses.end(), got) == statuses.end()) ++wrong;
    }
    void client(uint64_t thread) {
        std::mt19937 random(static_cast<unsigned>(thread) + 1);
        std::vector<uint64_t> mine;
        for (uint64_t number = thread * each; number < (thread + 1) * each; ++number) {
            auto request = sized<gpo_admission_request>();
            request.priority = random() % 3;
            request.count = asked[number].count = 1 + random() % 4;
            request.bytes = asked[number].bytes = random() % 500;
            request.flow = random() % 10;
            if (random() % 4 == 0) request.deadline_ns = monotonic_ns() + random() % 300'000;
            uint64_t ticket = 0;
            const gpo_status status = gpo_admission_enter(admission, &request, queue, number, &ticket);
            expect({GPO_SUCCESS, GPO_WOULD_BLOCK, GPO_TIMEOUT}, status);
            if (status == GPO_SUCCESS) {
                ++accepted;
                mine.push_back(ticket);
            } else {
                std::this_thread::yield();
            }
            if (!mine.empty() && random() % 5 == 0)
                expect({GPO_SUCCESS, GPO_INVALID_STATE, GPO_NOT_FOUND},
                       gpo_admission_cancel(admission, mine[random() % mine.size()]));
        }
        ++done;
    }
    void take(const gpo_completion& entry) {
        Asked& one = asked[entry.user_data];
        wrong += ++one.answers != 1;
        ++by_status[entry.status];
        if (entry.status != GPO_SUCCESS) return;
        over += (places += one.count) > static_cast<int64_t>(kPlaces);
        over += (bytes += one.bytes) > static_cast<int64_t>(kBytes);
        places -= one.count;
        bytes -= one.bytes;
        expect({GPO_SUCCESS}, gpo_admission_leave(admission, entry.operation));
    }
    void server() {
        gpo_completion entries[32];
        while (done < kClients || answered < accepted) {
            gpo_cq_wait(queue, 1'000'000);
            uint64_t count = 0;
            expect({GPO_SUCCESS}, gpo_cq_drain(queue, entries, sizeof entries[0], 32, &count));
            for (uint64_t i = 0; i < count; ++i) take(entries[i]);
            answered += count;
        }
    }

    const uint64_t each;
    Queue queue;
    Admission admission;
    std::vector<Asked> asked;
    std::atomic<uint64_t> accepted{0}, answered{0}, wrong{0}, over{0}, done{0};
    std::atomic<uint64_t> by_status[100]{};
    std::atomic<int64_t> places{0}, bytes{0};  // held
};

}  // namespace

TEST_CASE("a request that fits is admitted at once; others wait for places and bytes, in their order") {
    Gpu gpu;
    Door door(gpu, 2, 100);
    const uint64_t first = door.enter(1, 1, 60);
    CHECK(door.there() == Numbers{1});
    CHECK(door.tickets[1] == first);
    const uint64_t second = door.enter(2, 1, 40);
    CHECK(door.there() == Numbers{2});
    door.enter(3, 1, 0);  // no place
    door.enter(4, 1, 50);
    CHECK(door.there().empty());
    auto info = door.info();
    CHECK(info.held == 2);
    CHECK(info.held_count == 2);
    CHECK(info.held_bytes == 100);
    CHECK(info.waiting == 2);
    CHECK(info.waiting_bytes == 50);
    CHECK(info.waiting_flows == 1);
    door.leave(second);
    CHECK(door.there() == Numbers{3});
    CHECK_STATUS(GPO_NOT_FOUND, gpo_admission_leave(door.admission, second));
    door.leave(door.tickets[3]);  // a place, but 40 bytes of 50
    CHECK(door.there().empty());
    door.leave(first);
    CHECK(door.there() == Numbers{4});
    door.leave(door.tickets[4]);
    info = door.info();
    CHECK(info.held == 0);
    CHECK(info.held_count == 0);
    CHECK(info.held_bytes == 0);
    CHECK(info.waiting == 0);
    CHECK(info.waiting_flows == 0);
    CHECK(info.admitted == 4);
    CHECK(info.longest_wait_ns > 0);
    CHECK(info.wait_ns >= info.longest_wait_ns);
    CHECK(std::accumulate(std::begin(info.wait_times), std::end(info.wait_times), uint64_t{0}) == 4);
}

TEST_CASE("waits are counted by their length, and a request that needn't wait counts as the shortest") {
    Gpu gpu;
    const Queue queue = gpu.queue();
    Admission admission;
    auto options = sized<gpo_admission_options>();
    options.count = 1;
    REQUIRE_OK(gpo_admission_create(gpu.runtime, &options, admission.out()));
    uint64_t first = 0, second = 0;
    REQUIRE_OK(gpo_admission_enter(admission, nullptr, queue, 1, &first));
    REQUIRE_OK(gpo_admission_enter(admission, nullptr, queue, 2, &second));
    auto info = sized<gpo_admission_info>();
    const auto since = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - since < std::chrono::milliseconds(3)) std::this_thread::yield();
    REQUIRE_OK(gpo_admission_leave(admission, first));
    take(queue, 2);
    REQUIRE_OK(gpo_admission_get_info(admission, &info));
    CHECK(info.wait_times[0] == 1);
    size_t place = 12;  // 2049 to 4096 us
    while ((uint64_t{1000} << place) < info.longest_wait_ns) ++place;
    CHECK(info.wait_times[place] == 1);
}

TEST_CASE("without options nothing is limited; a request without a struct asks for one place") {
    Gpu gpu;
    const Queue queue = gpu.queue();
    Admission admission;
    REQUIRE_OK(gpo_admission_create(gpu.runtime, nullptr, admission.out()));
    std::vector<uint64_t> tickets(600);  // more than one chunk of the library's
    for (uint64_t& ticket : tickets) REQUIRE_OK(gpo_admission_enter(admission, nullptr, queue, 0, &ticket));
    CHECK(take(queue, tickets.size()).size() == tickets.size());
    auto info = sized<gpo_admission_info>();
    REQUIRE_OK(gpo_admission_get_info(admission, &info));
    CHECK(info.count == UINT64_MAX);
    CHECK(info.bytes == UINT64_MAX);
    CHECK(info.held_count == tickets.size());
    std::sort(tickets.begin(), tickets.end());
    CHECK(std::unique(tickets.begin(), tickets.end()) == tickets.end());
    for (uint64_t ticket : tickets) CHECK_OK(gpo_admission_leave(admission, ticket));
}

TEST_CASE("what can't be admitted is refused at the door, without an entry") {
    Gpu gpu;
    auto options = limits(2, 100);
    options.capacity = 1;
    options.priorities = 2;
    Door door(gpu, options);
    auto request = sized<gpo_admission_request>();
    uint64_t ticket = 77;
    const auto refused = [&](gpo_status status) {
        CHECK_STATUS(status, gpo_admission_enter(door.admission, &request, door.queue, 9, &ticket));
        CHECK(ticket == 77);
    };
    request.count = 3;
    refused(GPO_LIMIT_EXCEEDED);
    request.count = 1;
    request.bytes = 101;
    refused(GPO_LIMIT_EXCEEDED);
    request.bytes = 100;
    request.priority = 2;
    refused(GPO_INVALID_ARGUMENT);
    request.priority = 0;
    request.deadline_ns = monotonic_ns();
    refused(GPO_TIMEOUT);
    request.deadline_ns = 0;
    const uint64_t all = door.enter(1, request);
    const uint64_t waits = door.enter(2, request);
    refused(GPO_WOULD_BLOCK);
    request.priority = 1;
    refused(GPO_WOULD_BLOCK);
    CHECK(door.there() == Numbers{1});
    const auto info = door.info();
    CHECK(info.refused == 2);
    CHECK(info.too_large == 2);
    CHECK(info.expired == 1);
    CHECK_STATUS(GPO_INVALID_STATE, gpo_admission_leave(door.admission, waits));
    CHECK_STATUS(GPO_NOT_FOUND, gpo_admission_leave(door.admission, 0));
    CHECK_STATUS(GPO_NOT_FOUND, gpo_admission_leave(door.admission, UINT64_MAX));
    door.leave(all);
    CHECK(door.there() == Numbers{2});
}

TEST_CASE("a full queue refuses a request, and no place is taken") {
    Gpu gpu;
    Door door(gpu, 8);
    const Queue small = gpu.queue(1);
    uint64_t ticket = 0;
    REQUIRE_OK(gpo_admission_enter(door.admission, nullptr, small, 1, &ticket));
    CHECK_STATUS(GPO_WOULD_BLOCK, gpo_admission_enter(door.admission, nullptr, small, 2, &ticket));
    CHECK(door.info().held == 1);
    // A refused request gives its room in the queue back.
    REQUIRE(take(small, 1).size() == 1);
    auto request = sized<gpo_admission_request>();
    request.count = 9;
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, gpo_admission_enter(door.admission, &request, small, 3, &ticket));
    REQUIRE_OK(gpo_admission_enter(door.admission, nullptr, small, 4, &ticket));
    CHECK(take(small, 1)[0].user_data == 4);
}

TEST_CASE("options are checked") {
    Gpu gpu;
    Pool pool;
    REQUIRE_OK(gpo_pool_create(gpu.device, nullptr, pool.out()));
    gpo_admission_t none = nullptr;
    const auto refused = [&](auto change, gpo_status status = GPO_INVALID_ARGUMENT) {
        auto options = sized<gpo_admission_options>();
        change(options);
        CHECK_STATUS(status, gpo_admission_create(gpu.runtime, &options, &none));
        CHECK(none == nullptr);
    };
    refused([](auto& options) { options.capacity = (1u << 20) + 1; });
    refused([](auto& options) { options.priorities = 17; });
    refused([](auto& options) { options.high_bytes = 1; });
    refused([](auto& options) { options.low_bytes = 1; });
    refused([&](auto& options) { options.pool = pool; });
    refused([&](auto& options) {
        options.pool = pool;
        options.high_bytes = 10;
        options.low_bytes = 11;
    });
    Gpu other;
    refused(
        [&](auto& options) {
            REQUIRE_OK(gpo_pool_create(other.device, nullptr, pool.out()));
            options.pool = pool;
            options.high_bytes = 10;
        },
        GPO_INVALID_HANDLE);
    Door door(gpu, 1);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_admission_set_flow(door.admission, 1, 0));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_admission_set_flow(door.admission, 1, 65537));
    CHECK_OK(gpo_admission_set_flow(door.admission, 1, 65536));
}

TEST_CASE("a lower number of priority goes first, and nothing passes the request that is next") {
    Gpu gpu;
    auto options = limits(4);
    options.priorities = 3;
    Door door(gpu, options);
    const uint64_t all = door.enter(0, 4, 0);
    door.enter(1, 1, 0, 0, 2);
    door.enter(2, 1, 0, 0, 1);
    door.enter(3, 4, 0, 0, 0);  // large, and next
    door.enter(4, 1, 0, 0, 0);
    CHECK(door.there() == Numbers{0});
    door.leave(all);
    CHECK(door.there() == Numbers{3});
    CHECK(door.info().waiting == 3);
    door.leave(door.tickets[3]);
    CHECK(door.there() == Numbers{4, 2, 1});
    // A place is free: a request of the highest priority passes requests of other priorities.
    door.enter(5, 3, 0, 0, 1);
    door.enter(6, 1, 0, 0, 0);
    CHECK(door.there() == Numbers{6});
}

TEST_CASE("flows of one priority take turns, by their weights and not by their loads") {
    Gpu gpu;
    Door door(gpu, 1);
    uint64_t held = door.enter(0, 1, 0, 99);
    for (uint64_t i = 0; i < 8; ++i) door.enter(100 + i, 1, 0, 1);
    for (uint64_t i = 0; i < 3; ++i) door.enter(200 + i, 1, 0, 2);
    CHECK(door.info().waiting_flows == 2);
    Numbers order;
    const auto next = [&] { order.push_back(door.pass_on(held)); };
    for (int i = 0; i < 6; ++i) next();
    CHECK(order == Numbers{100, 200, 101, 201, 102, 202});
    // Weight 3: three requests in a turn, from flow 1's next turn on; for requests that wait and for later ones.
    CHECK_OK(gpo_admission_set_flow(door.admission, 1, 3));
    for (uint64_t i = 0; i < 2; ++i) door.enter(300 + i, 1, 0, 3);
    order.clear();
    for (int i = 0; i < 7; ++i) next();
    CHECK(order == Numbers{103, 300, 104, 105, 106, 301, 107});
    for (uint64_t i = 0; i < 4; ++i) door.enter(100 + i, 1, 0, 1);
    door.enter(302, 1, 0, 3);
    order.clear();
    for (int i = 0; i < 5; ++i) next();
    CHECK(order == Numbers{100, 101, 102, 302, 103});
}

TEST_CASE("a flow without another request passes its turn on in the order of the flows") {
    Gpu gpu;
    Door door(gpu, 1);
    uint64_t held = door.enter(0, 1, 0, 99);
    door.enter(100, 1, 0, 1);
    for (uint64_t i = 0; i < 2; ++i)
        for (uint64_t flow = 2; flow <= 3; ++flow) door.enter(100 * flow + i, 1, 0, flow);
    Numbers order;
    for (int i = 0; i < 5; ++i) order.push_back(door.pass_on(held));
    CHECK(order == Numbers{100, 200, 300, 201, 301});
}

TEST_CASE("a place that comes back admits as many requests as fit") {
    Gpu gpu;
    Door door(gpu, 300);
    const uint64_t all = door.enter(0, 300, 0);
    for (uint64_t i = 1; i <= 301; ++i) door.enter(i, 1, 0, i % 5);
    CHECK(take(door.queue, 1)[0].user_data == 0);
    door.leave(all);
    CHECK(take(door.queue, 300).size() == 300);
    CHECK(door.there().empty());
    CHECK(door.info().waiting == 1);
}

TEST_CASE("a large request that has left the line changes no turns, and neither do costs of other budgets") {
    Gpu gpu;
    Door door(gpu, 1000);
    uint64_t held = door.enter(0, 1000, 0, 99);
    for (uint64_t i = 0; i < 3; ++i)
        for (uint64_t flow = 1; flow <= 2; ++flow) door.enter(100 * flow + i, 400, 0, flow);
    const uint64_t large = door.enter(1, 1000, 0, 3);
    CHECK_OK(gpo_admission_cancel(door.admission, large));
    CHECK(take(door.queue, 2).size() == 2);
    door.leave(held);
    CHECK(door.there() == Numbers{100, 200});
    // Of a budget of one place, a request costs the whole. Of the next budget it costs a thousandth.
    Door small(gpu, 1);
    held = small.enter(0, 1, 0, 99);
    for (uint64_t i = 0; i < 40; ++i) small.enter(100 + i, 1, 0, 1);
    for (uint64_t i = 0; i < 40; ++i) small.enter(200 + i, 1, 0, 2);
    small.leave(held);  // request 100 is in, and flow 2 at turn
    CHECK(small.there() == Numbers{0, 100});
    CHECK_OK(gpo_admission_set_budget(small.admission, 21, UINT64_MAX));
    const Numbers order = small.there();
    REQUIRE(order.size() == 20);
    CHECK(std::count_if(order.begin(), order.end(), [](uint64_t number) { return number < 200; }) == 10);
}

TEST_CASE("a flow of large requests and a flow of small ones get equal shares of the bytes") {
    Gpu gpu;
    Door door(gpu, 0, 1000);
    const uint64_t all = door.enter(0, 1, 1000, 9);
    for (uint64_t i = 0; i < 10; ++i) door.enter(100 + i, 1, 400, 1);
    for (uint64_t i = 0; i < 40; ++i) door.enter(200 + i, 1, 100, 2);
    door.there();
    door.leave(all);
    uint64_t bytes[3] = {};
    Numbers inside;
    for (int round = 0; round < 24; ++round) {
        for (uint64_t number : door.there()) {
            inside.push_back(number);
            bytes[number / 100] += number / 100 == 1 ? 400 : 100;
        }
        REQUIRE_FALSE(inside.empty());
        door.leave(door.tickets[inside.front()]);
        inside.erase(inside.begin());
    }
    CHECK(bytes[1] + bytes[2] > 4000);
    CHECK(bytes[1] <= bytes[2] + 800);
    CHECK(bytes[2] <= bytes[1] + 800);
}

TEST_CASE("a request that still waits at its deadline ends with GPO_TIMEOUT, and the one behind it may enter") {
    Gpu gpu;
    Door door(gpu, 4);
    const uint64_t three = door.enter(0, 3, 0);
    CHECK(door.there() == Numbers{0});
    auto request = sized<gpo_admission_request>();
    request.count = 2;
    request.deadline_ns = monotonic_ns() + 3'600'000'000'000;
    const uint64_t later = door.enter(1, request);
    request.deadline_ns = monotonic_ns() + 20'000'000;  // earlier than the deadline of request 1
    const uint64_t soon = door.enter(2, request);
    door.enter(3, 1, 0, 5);  // fits, but another request is next
    CHECK(door.there().empty());
    CHECK_OK(gpo_admission_cancel(door.admission, later));
    const auto first = take(door.queue, 1);
    CHECK(first[0].user_data == 1);
    CHECK(first[0].status == GPO_CANCELLED);
    const auto entries = take(door.queue, 2);
    CHECK(entries[0].user_data == 2);
    CHECK(entries[0].status == GPO_TIMEOUT);
    CHECK(entries[0].operation == soon);
    CHECK(entries[0].completed_ns >= request.deadline_ns);
    auto error = sized<gpo_error>();
    CHECK_OK(gpo_cq_get_error(door.queue, entries[0].error_id, &error));
    CHECK(error.status == GPO_TIMEOUT);
    CHECK(entries[1].user_data == 3);
    CHECK(entries[1].status == GPO_SUCCESS);
    CHECK_STATUS(GPO_NOT_FOUND, gpo_admission_leave(door.admission, soon));
    door.leave(three);
    // A deadline means nothing any more once the request is in.
    request.deadline_ns = monotonic_ns() + 5'000'000;
    const uint64_t in = door.enter(4, request);
    CHECK(door.there() == Numbers{4});
    request.count = 4;
    request.deadline_ns += 1'000'000;
    door.enter(5, request);  // waits, and its deadline is later
    CHECK(take(door.queue, 1)[0].user_data == 5);
    CHECK(door.there().empty());
    door.leave(in);
    CHECK(door.info().expired == 2);
}

TEST_CASE("a request can be cancelled while it waits, and only then") {
    Gpu gpu;
    Door door(gpu, 2);
    const uint64_t in = door.enter(0, 1, 0);
    const uint64_t large = door.enter(1, 2, 0);
    door.enter(2, 1, 0);
    CHECK(door.there() == Numbers{0});
    CHECK_STATUS(GPO_INVALID_STATE, gpo_admission_cancel(door.admission, in));
    CHECK_OK(gpo_admission_cancel(door.admission, large));
    const auto entries = take(door.queue, 2);
    CHECK(entries[0].status == GPO_CANCELLED);
    CHECK(entries[0].operation == large);
    CHECK(entries[1].status == GPO_SUCCESS);  // waited only behind request 1
    CHECK(entries[1].user_data == 2);
    CHECK_STATUS(GPO_NOT_FOUND, gpo_admission_cancel(door.admission, large));
    door.leave(in);
    CHECK_STATUS(GPO_NOT_FOUND, gpo_admission_cancel(door.admission, in));
    // The ticket of a request that has ended stays wrong when its place in the library is used again.
    const uint64_t again = door.enter(3, 1, 0);
    CHECK(again != in);
    CHECK_STATUS(GPO_NOT_FOUND, gpo_admission_leave(door.admission, in));
    CHECK(door.info().cancelled == 1);
}

TEST_CASE("a place is given back in stream order" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Stream stream = gpu.stream();
    Door door(gpu, 1);
    const uint64_t in = door.enter(0, 1, 0);
    door.enter(1, 1, 0);
    CHECK(door.there() == Numbers{0});
    gate.put_on(stream);
    REQUIRE_OK(gpo_admission_leave_after(door.admission, in, stream));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_admission_leave(door.admission, in));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_admission_leave_after(door.admission, in, stream));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_admission_cancel(door.admission, in));
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(door.queue, 5'000'000));
    CHECK(door.info().held == 1);
    gate.open();
    CHECK(take(door.queue, 1)[0].user_data == 1);
    CHECK_STATUS(GPO_NOT_FOUND, gpo_admission_leave(door.admission, in));
}

TEST_CASE("a place comes back behind a held stream, behind work that fails, and not in a recording") {
    Gpu gpu;
    Stream stream = gpu.stream();
    Timeline timeline = gpu.timeline();
    Door door(gpu, 1);
    uint64_t in = door.enter(0, 1, 0);
    CHECK(door.there() == Numbers{0});
    // held
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_admission_leave_after(door.admission, in, stream));
    in = door.enter(1, 1, 0);
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(door.queue, 2'000'000));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    CHECK(take(door.queue, 1)[0].user_data == 1);
    // A recording refuses it, and the place is still held.
    Template graph_template;
    REQUIRE_OK(gpo_template_create(gpu.device, nullptr, graph_template.out()));
    REQUIRE_OK(gpo_template_begin(graph_template, stream));
    CHECK_STATUS(GPO_CAPTURE_REFUSED, gpo_admission_leave_after(door.admission, in, stream));
    REQUIRE_OK(gpo_template_cancel(graph_template));
    CHECK(door.info().held == 1);
    // A stream without room for another held operation refuses the call, too.
    Stream full = gpu.stream(nullptr, 0, 1);
    REQUIRE_OK(gpo_stream_wait_timeline(full, timeline, 2));
    CHECK_STATUS(GPO_WOULD_BLOCK, gpo_admission_leave_after(door.admission, in, full));
    CHECK(door.info().held == 1);
    Gpu other;
    Stream foreign = other.stream();
    CHECK_STATUS(GPO_INVALID_HANDLE, gpo_admission_leave_after(door.admission, in, foreign));
    // The stream fails.
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 2));
    REQUIRE_OK(gpo_admission_leave_after(door.admission, in, stream));
    in = door.enter(2, 1, 0);
    REQUIRE_OK(gpo_timeline_fail(timeline, GPO_FAILED, "no"));
    CHECK(take(door.queue, 1)[0].user_data == 2);
    // The stream has failed before the call.
    REQUIRE_OK(gpo_admission_leave_after(door.admission, in, stream));
    door.enter(3, 1, 0);
    CHECK(take(door.queue, 1)[0].user_data == 3);
}

TEST_CASE("budgets change while requests wait and hold places") {
    Gpu gpu;
    Door door(gpu, 2, 100);
    const uint64_t first = door.enter(1, 1, 100);
    door.enter(2, 1, 60);
    door.enter(3, 2, 10);
    CHECK(door.there() == Numbers{1});
    CHECK_OK(gpo_admission_set_budget(door.admission, 4, 200));
    CHECK(door.there() == Numbers{2, 3});
    CHECK(door.info().count == 4);
    CHECK(door.info().bytes == 200);
    door.enter(4, 1, 90);
    door.enter(5, 1, 40);
    CHECK(door.there().empty());
    // Lowered below what is held, and below what request 4 asks for.
    CHECK_OK(gpo_admission_set_budget(door.admission, 2, 80));
    const auto ended = take(door.queue, 1);
    CHECK(ended[0].user_data == 4);
    CHECK(ended[0].status == GPO_LIMIT_EXCEEDED);
    CHECK(door.info().held_bytes == 170);
    door.leave(first);
    door.leave(door.tickets[2]);
    CHECK(door.there().empty());  // 2 of 2 places are held
    door.leave(door.tickets[3]);
    CHECK(door.there() == Numbers{5});
    CHECK_OK(gpo_admission_set_budget(door.admission, UINT64_MAX, UINT64_MAX));
    door.enter(6, 1000, UINT64_MAX - 100);
    CHECK(door.there() == Numbers{6});
}

TEST_CASE("a budget that is lowered ends all the requests that it has no room for") {
    Gpu gpu;
    Door door(gpu, 0, 1000);
    const uint64_t all = door.enter(0, 1, 1000);
    for (uint64_t i = 0; i < 1000; ++i) door.enter(1 + i, 1, i % 2 ? 10 : 500, i % 7);
    CHECK(door.there() == Numbers{0});
    CHECK_OK(gpo_admission_set_budget(door.admission, UINT64_MAX, 499));
    for (const auto& entry : take(door.queue, 500)) {
        CHECK(entry.status == GPO_LIMIT_EXCEEDED);
        CHECK(entry.user_data % 2 == 1);
    }
    CHECK(door.info().waiting == 500);
    CHECK(door.info().too_large == 500);
    door.leave(all);
    CHECK(take(door.queue, 49).size() == 49);
    CHECK(door.there().empty());
    CHECK(door.info().held_bytes == 490);
}

TEST_CASE("a watched pool above its high watermark stops admissions until it is down at the low one") {
    Gpu gpu;
    Pool pool;
    REQUIRE_OK(gpo_pool_create(gpu.device, nullptr, pool.out()));
    Stream stream = gpu.stream();
    const auto allocate = [&](uint64_t bytes) {
        uint64_t address = 0;
        REQUIRE_OK(gpo_pool_allocate(pool, stream, bytes, &address));
        return address;
    };
    const uint64_t before = allocate(600);
    auto options = sized<gpo_admission_options>();
    options.pool = pool;
    options.high_bytes = 1000;
    options.low_bytes = 500;
    Door door(gpu, options);
    door.enter(1);
    CHECK(door.there() == Numbers{1});  // between the two, and never above
    const uint64_t piece = allocate(400);
    door.enter(2);
    CHECK(door.there() == Numbers{2});  // at the high watermark
    const uint64_t last = allocate(1);
    CHECK(door.info().paused == 1);
    door.enter(3);
    auto request = sized<gpo_admission_request>();
    request.deadline_ns = monotonic_ns() + 10'000'000;
    door.enter(4, request);
    const auto expired = take(door.queue, 1);
    CHECK(expired[0].user_data == 4);
    CHECK(expired[0].status == GPO_TIMEOUT);
    REQUIRE_OK(gpo_pool_free(pool, stream, last));
    REQUIRE_OK(gpo_pool_free(pool, stream, piece));  // 600 are left
    CHECK(door.info().paused == 1);
    CHECK_STATUS(GPO_TIMEOUT, gpo_cq_wait(door.queue, 2'000'000));
    REQUIRE_OK(gpo_pool_free(pool, stream, before));
    CHECK(take(door.queue, 1)[0].user_data == 3);
    CHECK(door.info().paused == 0);
    // The pool is above the watermark when the second watch begins.
    const uint64_t much = allocate(2000);
    Door other(gpu, options);
    CHECK(other.info().paused == 1);
    CHECK(door.info().paused == 1);
    other.enter(5);
    other.admission.reset();
    CHECK(other.there(GPO_CANCELLED) == Numbers{5});
    REQUIRE_OK(gpo_pool_free(pool, stream, much));
    CHECK(door.info().paused == 0);
    // The admission keeps the pool.
    pool.reset();
    door.enter(6);
    CHECK(door.there() == Numbers{6});
    // An allocation that the pool refuses counts for nothing.
    auto small = sized<gpo_pool_options>();
    small.max_bytes = 1 << 20;
    REQUIRE_OK(gpo_pool_create(gpu.device, &small, pool.out()));
    options.pool = pool;
    Door third(gpu, options);
    uint64_t address = 0;
    CHECK_STATUS(GPO_LIMIT_EXCEEDED, gpo_pool_allocate(pool, stream, 2 << 20, &address));
    CHECK(third.info().paused == 0);
    Timeline never = gpu.timeline();
    REQUIRE_OK(gpo_stream_wait_timeline(stream, never, 1));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_pool_allocate(pool, stream, 5000, &address));  // on a held stream
    CHECK(third.info().paused == 0);
    REQUIRE_OK(gpo_timeline_signal(never, 1));
}

TEST_CASE("a callback says that a request was admitted") {
    Gpu gpu;
    Door door(gpu, 1);
    Executor executor = gpu.executor();
    Called first, second;
    uint64_t one = 0, two = 0;
    REQUIRE_OK(gpo_admission_enter_then(door.admission, nullptr, executor, Called::call, &first, &one));
    CHECK(first.came());
    CHECK(first.status == GPO_SUCCESS);
    CHECK(first.ticket == one);
    REQUIRE_OK(gpo_admission_enter_then(door.admission, nullptr, executor, Called::call, &second, &two));
    CHECK(second.times == 0);
    door.leave(one);
    CHECK(second.came());
    CHECK(second.ticket == two);
    Called third;
    uint64_t three = 0;
    REQUIRE_OK(gpo_admission_enter_then(door.admission, nullptr, executor, Called::call, &third, &three));
    CHECK_OK(gpo_admission_cancel(door.admission, three));
    CHECK(third.came());
    CHECK(third.status == GPO_CANCELLED);
    // refused: never called
    Called never;
    auto request = sized<gpo_admission_request>();
    request.count = 2;
    CHECK_STATUS(GPO_LIMIT_EXCEEDED,
                 gpo_admission_enter_then(door.admission, &request, executor, Called::call, &never, &three));
    CHECK_OK(gpo_executor_run(executor, nullptr));
    CHECK(never.times == 0);
}

TEST_CASE("an executor that is destroyed takes its waiting requests out of the line, and gives their places back") {
    Gpu gpu;
    Door door(gpu, 1);
    Executor executor = gpu.executor();
    const uint64_t in = door.enter(0, 1, 0);
    CHECK(door.there() == Numbers{0});
    Called waiting;
    uint64_t ticket = 0;
    REQUIRE_OK(gpo_admission_enter_then(door.admission, nullptr, executor, Called::call, &waiting, &ticket));
    door.enter(1, 1, 0);
    executor.reset();
    CHECK(waiting.came());
    CHECK(waiting.status == GPO_CANCELLED);
    CHECK(comes_true([&] { return door.info().waiting == 1; }));
    CHECK_STATUS(GPO_NOT_FOUND, gpo_admission_cancel(door.admission, ticket));
    door.leave(in);
    CHECK(door.there() == Numbers{1});
}

TEST_CASE("the ticket is written before the callback, and the callback of a destroyed executor has it") {
    Gpu gpu;
    Door door(gpu, 1);
    Executor executor = gpu.executor();
    struct Object {
        uint64_t ticket = 0, seen = 0;
        std::atomic<bool> called{false};
    };
    for (int round = 0; round < 200; ++round) {
        Object object;
        const gpo_completion_fn callback = [](void* user, const gpo_completion* completion, const gpo_error*) {
            auto& self = *static_cast<Object*>(user);
            self.seen = self.ticket;
            self.ticket = 0;  // as if the object were freed
            CHECK(self.seen == completion->operation);
            self.called = true;
        };
        REQUIRE_OK(gpo_admission_enter_then(door.admission, nullptr, executor, callback, &object, &object.ticket));
        REQUIRE(comes_true([&] { return object.called.load(); }));
        REQUIRE(object.ticket == 0);
        door.leave(object.seen);
    }
    const uint64_t in = door.enter(0, 1, 0);
    Called waiting;
    uint64_t ticket = 0;
    REQUIRE_OK(gpo_admission_enter_then(door.admission, nullptr, executor, Called::call, &waiting, &ticket));
    executor.reset();
    CHECK(waiting.came());
    CHECK(waiting.ticket == ticket);
    door.leave(in);
}

TEST_CASE("a request whose queue was destroyed takes no place") {
    Gpu gpu;
    Door door(gpu, 1);
    const uint64_t in = door.enter(0, 1, 0);
    Queue other = gpu.queue();
    uint64_t ticket = 0;
    REQUIRE_OK(gpo_admission_enter(door.admission, nullptr, other, 1, &ticket));
    door.enter(2, 1, 0);
    other.reset();
    CHECK(door.there() == Numbers{0});
    door.leave(in);
    CHECK(door.there() == Numbers{2});
    CHECK(door.info().held == 1);
    CHECK(door.info().cancelled == 1);
}

TEST_CASE("a destroyed admission gives up everything at once, whatever deadlines its requests had") {
    Gpu gpu;
    uint64_t before = 0, total = 0;
    Pool pool;
    auto options = sized<gpo_pool_options>();
    options.initial_bytes = 64 << 20;
    REQUIRE_OK(gpo_device_get_memory(gpu.device, &before, &total));
    REQUIRE_OK(gpo_pool_create(gpu.device, &options, pool.out()));
    auto watching = limits(1);
    watching.pool = pool;
    watching.high_bytes = 1 << 30;
    Door door(gpu, watching);
    auto request = sized<gpo_admission_request>();
    door.enter(0);
    request.deadline_ns = monotonic_ns() + 3'600'000'000'000;
    door.enter(1, request);
    request.deadline_ns = UINT64_MAX;
    door.enter(2, request);
    door.admission.reset();
    pool.reset();
    CHECK(comes_true([&] {
        uint64_t free = 0;
        CHECK_OK(gpo_device_get_memory(gpu.device, &free, &total));
        return free + (32 << 20) > before;
    }));
}

TEST_CASE("a pool whose handle is destroyed is watched no more") {
    Gpu gpu;
    Pool pool;
    REQUIRE_OK(gpo_pool_create(gpu.device, nullptr, pool.out()));
    Stream stream = gpu.stream();
    uint64_t address = 0;
    REQUIRE_OK(gpo_pool_allocate(pool, stream, 2000, &address));
    auto options = limits(0);
    options.pool = pool;
    options.high_bytes = 1000;
    Door door(gpu, options);
    door.enter(1);
    CHECK(door.there().empty());
    pool.reset();  // the piece can't be freed any more
    CHECK(take(door.queue, 1)[0].user_data == 1);
    CHECK(door.info().paused == 0);
}

TEST_CASE("destroying an admission ends its line; places may be left over") {
    Gpu gpu;
    Door door(gpu, 1);
    Stream stream = gpu.stream();
    const uint64_t in = door.enter(0, 1, 0);
    for (uint64_t i = 1; i <= 40; ++i) door.enter(i, 1, 0, i % 3);
    Executor executor = gpu.executor();
    std::vector<Called> called(40);  // more callbacks than end under one lock
    uint64_t ticket = 0;
    for (Called& one : called)
        REQUIRE_OK(gpo_admission_enter_then(door.admission, nullptr, executor, Called::call, &one, &ticket));
    CHECK(door.there() == Numbers{0});
    const gpo_admission_t gone = door.admission;
    door.admission.reset();
    Numbers ended = door.there(GPO_CANCELLED);
    CHECK(ended.size() == 40);
    std::sort(ended.begin(), ended.end());
    for (uint64_t i = 0; i < ended.size(); ++i) CHECK(ended[i] == i + 1);
    for (Called& one : called) {
        CHECK(one.came());
        CHECK(one.status == GPO_CANCELLED);
    }
    CHECK_STATUS(GPO_STALE_HANDLE, gpo_admission_leave(gone, in));
}

TEST_CASE("an admission may be destroyed while places come back behind streams" * gated) {
    Gpu gpu;
    Gate gate(gpu);
    Stream stream = gpu.stream();
    {
        Door door(gpu, 1);
        const uint64_t in = door.enter(0, 1, 0);
        gate.put_on(stream);
        REQUIRE_OK(gpo_admission_leave_after(door.admission, in, stream));
    }
    gate.open();
    CHECK_OK(gpo_stream_wait(stream, kPatience));
}

TEST_CASE("a shutdown ends the line, and its entries can be drained behind it") {
    auto options = sized<gpo_runtime_options>();
    gpo_runtime_t runtime = nullptr;
    REQUIRE_OK(gpo_runtime_create(&options, &runtime));
    gpo_cq_t queue = nullptr;
    REQUIRE_OK(gpo_cq_create(runtime, nullptr, &queue));
    gpo_admission_t admission = nullptr;
    const auto one = limits(1);
    REQUIRE_OK(gpo_admission_create(runtime, &one, &admission));
    uint64_t ticket = 0;
    auto request = sized<gpo_admission_request>();
    request.deadline_ns = monotonic_ns() + 3'600'000'000'000;
    for (uint64_t i = 0; i < 3; ++i) REQUIRE_OK(gpo_admission_enter(admission, &request, queue, i, &ticket));
    REQUIRE_OK(gpo_runtime_shutdown(runtime, kPatience));
    gpo_completion entries[4];
    uint64_t count = 0;
    REQUIRE_OK(gpo_cq_drain(queue, entries, sizeof entries[0], 4, &count));
    REQUIRE(count == 3);
    CHECK(entries[0].status == GPO_SUCCESS);
    CHECK(entries[1].status == GPO_CANCELLED);
    CHECK(entries[2].status == GPO_CANCELLED);
    CHECK_STATUS(GPO_SHUT_DOWN, gpo_cq_drain(queue, entries, sizeof entries[0], 4, &count));
    REQUIRE_OK(gpo_cq_destroy(queue));
}

TEST_CASE("requests of many threads, with deadlines and cancels, are each answered once, and budgets are kept") {
    Gpu gpu;
    Crowd crowd(gpu, std::getenv("GPUORCH_TEST_FULL") ? 170'000 : 3'000);
    std::vector<std::thread> threads;
    for (uint64_t thread = 0; thread < Crowd::kClients; ++thread)
        threads.emplace_back([&, thread] { crowd.client(thread); });
    for (int server = 0; server < 2; ++server) threads.emplace_back([&] { crowd.server(); });
    for (auto& thread : threads) thread.join();
    CHECK(crowd.wrong == 0);
    CHECK(crowd.over == 0);
    CHECK(crowd.answered == crowd.accepted);
    auto info = sized<gpo_admission_info>();
    REQUIRE_OK(gpo_admission_get_info(crowd.admission, &info));
    CHECK(info.held == 0);
    CHECK(info.held_count == 0);
    CHECK(info.held_bytes == 0);
    CHECK(info.waiting == 0);
    CHECK(info.waiting_bytes == 0);
    CHECK(info.waiting_flows == 0);
    CHECK(info.admitted == crowd.by_status[GPO_SUCCESS]);
    CHECK(info.cancelled == crowd.by_status[GPO_CANCELLED]);
    CHECK(info.admitted + info.cancelled + crowd.by_status[GPO_TIMEOUT] == crowd.accepted);
}
