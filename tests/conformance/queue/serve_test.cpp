// Host rings with kernels that serve them through gpuorch/device/queue.cuh: answers, several tenants and threads,
// relaunches, and the ways in which a kernel ends.
#include <algorithm>
#include <thread>

#include "conformance/queue/host_rig.h"

using namespace gpo::test;

namespace {

constexpr const char* kServe = R"(
#include <gpuorch/device/queue.cuh>

struct request { unsigned number, by, rest[2]; };

// The first block hands out, the threads of the others answer. `ended`: how often a block has ended, then how the first did.
extern "C" __global__ void serve(gpo::host_ring requests, unsigned long long idle, volatile int *here, int *ended) {
    __shared__ gpo::dispatch_memory memory;
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) *here = 1;
        const int status = gpo::dispatch(requests, memory, gpo::nanoseconds(idle));
        if (threadIdx.x == 0) ended[1] = status;
    } else {
        gpo::host_task<request> next;
        for (;;) {
            const int status = gpo::pop(requests.tasks, next, gpo::nanoseconds(idle));
            if (status == gpo::queue_would_block) continue;
            if (status != gpo::queue_success) break;
            gpo::answer(requests, next.ticket, next.task.number % 3, next.task.number * next.task.by);
        }
    }
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(ended, 1);  // the host reads it when the kernel has ended
}
)";
constexpr unsigned long long kIdle = 60'000'000'000;

struct Request {
    uint32_t number, by, rest[2];
};

struct Server : Gpu {
    explicit Server(uint32_t tenants = 1)
        : resident(stream("server", GPO_STREAM_RESIDENT)), serve(kernel(kServe, "serve")), words(pinned<int32_t>(3)) {
        auto options = sized<gpo_queue_options>();
        options.kind = GPO_QUEUE_HOST_RING;
        options.capacity = 256;
        options.task_size = sizeof(Request);
        options.answer_size = 4;
        options.tenants = tenants;
        options.stream = resident;
        ring = make_queue(*this, options);
    }
    void start(unsigned long long idle = kIdle) {
        words[0] = 0;
        REQUIRE_OK(launch(resident, serve, 2, 64, row_of<HostRingRow>(ring), idle, &words[0], &words[1]));
    }
    void wait_until_there() {
        while (word(0) == 0) std::this_thread::yield();
    }
    int32_t word(size_t i) const { return *const_cast<const volatile int32_t*>(&words[i]); }
    /// The status with which the dispatcher ended.
    int32_t verdict() const { return word(2); }

    Stream resident;
    Kernel serve;
    Pinned<int32_t> words;
    DeviceQueue ring;
};

/// Posts tasks and takes their answers until all have come. Returns the number of wrong answers.
uint64_t ask(gpo_queue_t ring, uint32_t tenant, uint64_t tasks, uint64_t batch) {
    uint64_t posted = 0, taken = 0, wrong = 0;
    std::vector<bool> seen(tasks);
    while (taken < tasks) {
        std::vector<Request> requests;
        for (uint64_t i = posted; i < std::min(posted + batch, tasks); ++i)
            requests.push_back({static_cast<uint32_t>(i), tenant + 2, {}});
        uint64_t accepted = 0;
        gpo_queue_post(ring, tenant, requests.data(), requests.size(), posted, &accepted);
        posted += accepted;
        if (accepted == 0 && posted == taken) std::this_thread::yield();  // tasks of other tenants fill the ring
        if (accepted == 0 && posted != taken && gpo_queue_wait(ring, tenant, kPatience) != GPO_SUCCESS)
            return UINT64_MAX;
        gpo_answer entries[64];
        uint32_t answers[64];
        uint64_t count = 0;
        gpo_queue_take(ring, tenant, entries, sizeof entries[0], answers, 64, &count);
        for (uint64_t i = 0; i < count; ++i) {
            const uint64_t number = entries[i].user_data;
            if (number >= tasks || seen[number] || answers[i] != number * (tenant + 2) ||
                entries[i].status != static_cast<gpo_status>(number % 3)) {
                ++wrong;
                continue;
            }
            seen[number] = true;
        }
        taken += count;
    }
    return wrong;
}

}  // namespace

TEST_CASE("a kernel answers what the host posts, and ends when the host closes the ring" * gated) {
    Server server;
    server.start();
    CHECK(ask(server.ring, 0, 1000, 1) == 0);
    CHECK(ask(server.ring, 0, 5000, 100) == 0);
    CHECK(gpo_stream_query(server.resident) == GPO_NOT_READY);
    CHECK_OK(gpo_queue_close(server.ring));
    CHECK_OK(gpo_stream_wait(server.resident, kPatience));
    CHECK(server.word(1) == 2);
    CHECK(server.verdict() == 4);
    CHECK_STATUS(GPO_END, gpo_queue_wait(server.ring, 0, kPatience));
    const auto info = queue_info(server.ring);
    CHECK(info.state == GPO_QUEUE_CLOSED);
    CHECK(info.posted == 6000);
    CHECK(info.answered == 6000);
    CHECK(info.pushed == 6000);
    CHECK(info.done == 6000);
    CHECK(info.unanswered == 0);
}

TEST_CASE("tasks that were posted before the kernel came, and before the ring was closed, are answered" * gated) {
    Server server;
    const Request requests[] = {{5, 3, {}}, {7, 4, {}}};
    uint64_t posted = 0;
    CHECK_OK(gpo_queue_post(server.ring, 0, requests, 2, 10, &posted));
    CHECK_OK(gpo_queue_close(server.ring));
    server.start();
    CHECK_OK(gpo_stream_wait(server.resident, kPatience));
    CHECK(server.verdict() == 4);
    gpo_answer entries[3];
    uint32_t answers[3];
    uint64_t count = 0;
    CHECK_OK(gpo_queue_take(server.ring, 0, entries, sizeof entries[0], answers, 3, &count));
    REQUIRE(count == 2);
    for (uint64_t i = 0; i < 2; ++i) CHECK(answers[i] == (entries[i].user_data == 10 ? 15 : 28));
}

TEST_CASE("several threads ask a kernel as tenants of their own" * gated) {
    constexpr uint32_t kTenants = 4;
    Server server(kTenants);
    server.start();
    uint64_t wrong[kTenants];
    std::vector<std::thread> threads;
    for (uint32_t tenant = 0; tenant < kTenants; ++tenant)
        threads.emplace_back([&, tenant] { wrong[tenant] = ask(server.ring, tenant, 3000, 5 + tenant); });
    for (auto& thread : threads) thread.join();
    for (const uint64_t count : wrong) CHECK(count == 0);
    CHECK_OK(gpo_queue_close(server.ring));
    CHECK_OK(gpo_stream_wait(server.resident, kPatience));
}

TEST_CASE("a kernel's answers are entries of a completion queue" * gated) {
    Server server;
    Queue completions = server.queue(64);
    auto tenant = sized<gpo_tenant_options>();
    tenant.completions = completions;
    REQUIRE_OK(gpo_queue_set_tenant(server.ring, 0, &tenant));
    server.start();
    server.wait_until_there();
    for (uint32_t i = 0; i < 100; ++i) {
        const Request request{i, 2, {}};
        uint64_t posted = 0;
        REQUIRE_OK(gpo_queue_post(server.ring, 0, &request, 1, i, &posted));
        const auto entry = take(completions, 1)[0];
        CHECK(entry.user_data == i);
        CHECK(entry.status == static_cast<gpo_status>(i % 3));
        gpo_answer answer{};
        uint32_t value = 0;
        uint64_t count = 0;
        CHECK_OK(gpo_queue_take(server.ring, 0, &answer, sizeof answer, &value, 1, &count));
        CHECK(count == 1);
        CHECK(value == 2 * i);
    }
    CHECK_OK(gpo_queue_close(server.ring));
    CHECK_OK(gpo_stream_wait(server.resident, kPatience));
}

TEST_CASE("a kernel that hears nothing from the host ends at its bound, and the next goes on where it was") {
    Server server;
    const Request requests[] = {{1, 3, {}}, {2, 4, {}}};
    uint64_t posted = 0;
    for (int turn = 0; turn < 3; ++turn) {
        CAPTURE(turn);
        REQUIRE_OK(gpo_queue_post(server.ring, 0, requests, 2, 10, &posted));
        // On a busy machine, a worker may reach its bound before the dispatcher has begun. Another launch then answers
        // the tasks.
        uint64_t taken = 0;
        for (int launches = 0; taken < 2 && launches < 100; ++launches) {
            server.start(20'000'000);
            CHECK_OK(gpo_stream_wait(server.resident, kPatience));
            CHECK(server.verdict() == 2);
            gpo_answer entries[3];
            uint64_t count = 0;
            CHECK_OK(gpo_queue_take(server.ring, 0, entries, sizeof entries[0], nullptr, 3, &count));
            taken += count;
        }
        CHECK(taken == 2);
    }
}

TEST_CASE("aborting or destroying a host ring, or a shutdown, ends its kernel" * gated) {
    for (const char* how : {"abort", "destroy", "shutdown"}) {
        CAPTURE(std::string(how));
        Server server;
        server.start();
        server.wait_until_there();
        if (how[0] == 's') {
            CHECK_OK(gpo_runtime_shutdown(server.runtime, kPatience));
            server.runtime = nullptr;
            continue;
        }
        if (how[0] == 'a') CHECK_OK(gpo_queue_abort(server.ring));
        if (how[0] == 'd') CHECK_OK(gpo_queue_destroy(server.ring.release()));
        CHECK_OK(gpo_stream_wait(server.resident, kPatience));
        CHECK(server.verdict() == 50);
    }
}
