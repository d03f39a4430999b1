// Host rings as the host sees them: posting, answers, tenants, completion queues, the end, and bad input. A host thread
// takes the place of the kernel (hosted_kernel.h).
#include <algorithm>
#include <thread>

#include "conformance/queue/hosted_kernel.h"

using namespace gpo::test;

namespace {

using Words = std::vector<uint32_t>;

/// Answers a task with the sum of its words, and its first word as the status.
std::pair<gpo_status, Words> sum(const HostedKernel::Task& task) {
    uint32_t sum = 0;
    for (uint32_t word : task.words) sum += word;
    return {static_cast<gpo_status>(task.words[0]), {sum}};
}

struct HostRingRig : Gpu {
    explicit HostRingRig(const std::function<void(gpo_queue_options&)>& change = [](auto&) {})
        : resident(stream("server", GPO_STREAM_RESIDENT)) {
        auto options = sized<gpo_queue_options>();
        options.kind = GPO_QUEUE_HOST_RING;
        options.capacity = 64;
        options.task_size = 16;
        options.answer_size = 4;
        options.stream = resident;
        options.label = "requests";
        change(options);
        ring = make_queue(*this, options);
    }
    uint64_t post(uint32_t tenant, const Words& tasks, uint64_t user_data, gpo_status expected = GPO_SUCCESS) {
        uint64_t posted = 77;
        CHECK_STATUS(expected, gpo_queue_post(ring, tenant, tasks.data(), tasks.size() / 4, user_data, &posted));
        return posted;
    }
    struct Answer {
        gpo_answer entry;
        uint32_t value;
    };
    /// Waits for `count` answers, and takes them.
    std::vector<Answer> take(uint32_t tenant, size_t count) {
        std::vector<Answer> out;
        while (out.size() < count) {
            REQUIRE_OK(gpo_queue_wait(ring, tenant, kPatience));
            gpo_answer entries[4] = {};
            uint32_t values[4] = {};
            uint64_t taken = 0;
            REQUIRE_OK(gpo_queue_take(ring, tenant, entries, sizeof entries[0], values,
                                      std::min<size_t>(4, count - out.size()), &taken));
            for (uint64_t i = 0; i < taken; ++i) out.push_back({entries[i], values[i]});
        }
        return out;
    }
    void set_tenant(uint32_t tenant, uint64_t limit, gpo_cq_t completions = nullptr) {
        auto options = sized<gpo_tenant_options>();
        options.limit = limit;
        options.completions = completions;
        REQUIRE_OK(gpo_queue_set_tenant(ring, tenant, &options));
    }

    Stream resident;
    DeviceQueue ring;
};

}  // namespace

TEST_CASE("each task that is posted gets its answer, with its number and its status") {
    HostRingRig rig;
    HostedKernel kernel(rig.ring, sum);
    CHECK(rig.post(0, {1, 2, 3, 4, 5, 6, 7, 8}, 100) == 2);
    const auto answers = rig.take(0, 2);
    CHECK(answers[0].entry.user_data == 100);
    CHECK(answers[0].entry.status == 1);
    CHECK(answers[0].value == 10);
    CHECK(answers[1].entry.user_data == 101);
    CHECK(answers[1].entry.status == 5);
    CHECK(answers[1].value == 26);
    CHECK_STATUS(GPO_TIMEOUT, gpo_queue_wait(rig.ring, 0, 0));
    const auto info = queue_info(rig.ring);
    CHECK(info.kind == GPO_QUEUE_HOST_RING);
    CHECK(info.posted == 2);
    CHECK(info.answered == 2);
    CHECK(info.unanswered == 0);
    CHECK(info.task_size == 16);
    CHECK(info.answer_size == 4);
    CHECK(info.tenants == 1);
    CHECK(info.capacity == 64);
    CHECK(info.pinned_bytes >= 64 * 8 * (5 + 3));
}

TEST_CASE("a host ring tells kernels of its slots, and of a device ring with room for a ticket before each task") {
    HostRingRig rig([](auto& options) { options.task_size = 256, options.answer_size = 256; });
    const auto row = row_of<HostRingRow>(rig.ring);
    CHECK(row.magic == 0x4f485247);
    CHECK(row.task_words == 65);
    CHECK(row.answer_words == 66);
    CHECK(row.capacity_log2 == 6);
    CHECK(row.tasks.magic == 0x49525247);
    CHECK(row.tasks.task_size == 272);
    CHECK(row.tasks.capacity_log2 == 6);
    Stream stream = rig.stream();
    for (uint64_t word : device_words<uint64_t>(rig, stream, row.device_words, 32)) CHECK(word == 0);
}

TEST_CASE("a full host ring takes what fits, and has room again for each answer that is taken") {
    HostRingRig rig;
    CHECK(rig.post(0, Words(4 * 60), 0) == 60);
    CHECK(rig.post(0, Words(4 * 10), 60) == 4);
    CHECK(rig.post(0, Words(4), 99, GPO_WOULD_BLOCK) == 0);
    CHECK(rig.post(0, {}, 99) == 0);
    HostedKernel kernel(rig.ring, sum);
    CHECK(rig.take(0, 3).size() == 3);
    CHECK(rig.post(0, Words(4 * 10), 64) == 3);
    const auto rest = rig.take(0, 64);
    CHECK(rest[0].entry.user_data == 3);
    CHECK(rest[63].entry.user_data == 66);
}

TEST_CASE("tenants have shares of their own, and none gets another's answers") {
    HostRingRig rig([](auto& options) { options.tenants = 3; });
    rig.set_tenant(1, 5);
    CHECK(rig.post(1, Words(4 * 9), 100) == 5);
    CHECK(rig.post(1, Words(4), 105, GPO_WOULD_BLOCK) == 0);
    CHECK(rig.post(2, Words(4 * 2), 200) == 2);
    HostedKernel kernel(rig.ring, sum);
    const auto second = rig.take(2, 2), first = rig.take(1, 5);
    CHECK(second[1].entry.user_data == 201);
    CHECK(first[4].entry.user_data == 104);
    CHECK_STATUS(GPO_TIMEOUT, gpo_queue_wait(rig.ring, 0, 0));
    CHECK(rig.post(1, Words(4), 105) == 1);
    CHECK(rig.take(1, 1)[0].entry.user_data == 105);
}

TEST_CASE("answers come as entries of the tenant's completion queue") {
    HostRingRig rig([](auto& options) { options.tenants = 2, options.answer_size = 0; });
    Queue completions = rig.queue(8);
    rig.set_tenant(1, 0, completions);
    HostedKernel kernel(rig.ring, [](const HostedKernel::Task& task) {
        return std::pair(static_cast<gpo_status>(task.words[0]), Words{});
    });
    const uint64_t before = monotonic_ns();
    CHECK(rig.post(1, {0, 0, 0, 0, 52, 0, 0, 0}, 40) == 2);
    const auto entries = take(completions, 2);
    CHECK(entries[0].user_data == 40);
    CHECK(entries[0].status == GPO_SUCCESS);
    CHECK(entries[1].user_data == 41);
    CHECK(entries[1].status == 52);
    CHECK(entries[0].origin == GPO_ORIGIN_QUEUE);
    CHECK(entries[0].operation == 1);
    CHECK(entries[0].submitted_ns >= before);
    CHECK(entries[0].completed_ns >= entries[0].submitted_ns);
    CHECK_STATUS(GPO_INVALID_STATE, gpo_queue_wait(rig.ring, 1, 0));
    // Post one task at a time. Between tasks, the library's thread may fall asleep.
    for (uint64_t i = 0; i < 200; ++i) {
        CHECK(rig.post(1, Words(4), i) == 1);
        CHECK(take(completions, 1)[0].user_data == i);
    }
}

TEST_CASE("answers with bytes are announced by entries, and wait to be taken") {
    HostRingRig rig;
    Queue completions = rig.queue(64);
    rig.set_tenant(0, 0, completions);
    HostedKernel kernel(rig.ring, sum);
    CHECK(rig.post(0, {9, 9, 9, 9}, 7) == 1);
    CHECK(take(completions, 1)[0].user_data == 7);
    auto options = sized<gpo_tenant_options>();
    CHECK_STATUS(GPO_INVALID_STATE, gpo_queue_set_tenant(rig.ring, 0, &options));
    CHECK(mentions(queue_refusal(), "tenant 0 of queue `requests`"));
    CHECK(rig.take(0, 1)[0].value == 36);
    CHECK_OK(gpo_queue_set_tenant(rig.ring, 0, &options));
}

TEST_CASE("a full completion queue is a full host ring, and a destroyed one is named") {
    HostRingRig rig([](auto& options) { options.answer_size = 0; });
    Queue completions = rig.queue(3);
    rig.set_tenant(0, 0, completions);
    CHECK(rig.post(0, Words(4 * 5), 0) == 3);
    CHECK(rig.post(0, Words(4), 3, GPO_WOULD_BLOCK) == 0);
    HostedKernel kernel(rig.ring, [](const HostedKernel::Task&) { return std::pair(0, Words{}); });
    CHECK(take(completions, 3).size() == 3);
    CHECK(rig.post(0, Words(4), 3) == 1);
    completions.reset();
    CHECK(rig.post(0, Words(4), 4, GPO_STALE_HANDLE) == 0);
    CHECK(mentions(queue_refusal(), "the completion queue of tenant 0 of queue `requests` was destroyed"));
    auto options = sized<gpo_tenant_options>();
    while (gpo_queue_set_tenant(rig.ring, 0, &options) == GPO_INVALID_STATE) std::this_thread::yield();
    CHECK(rig.post(0, Words(4), 5) == 1);
}

TEST_CASE("a closed host ring answers what was posted, and then is at its end") {
    HostRingRig rig;
    CHECK(rig.post(0, Words(8), 1) == 2);
    CHECK_OK(gpo_queue_close(rig.ring));
    CHECK_OK(gpo_queue_close(rig.ring));
    CHECK(rig.post(0, Words(4), 3, GPO_INVALID_STATE) == 0);
    CHECK(mentions(queue_refusal(), "queue `requests` is closed"));
    CHECK(queue_info(rig.ring).state == GPO_QUEUE_CLOSED);
    const auto* control = reinterpret_cast<const volatile uint64_t*>(row_of<HostRingRow>(rig.ring).control);
    CHECK(static_cast<uint32_t>(control[0]) == GPO_QUEUE_CLOSED);
    CHECK(control[1] == 2);
    CHECK_STATUS(GPO_TIMEOUT, gpo_queue_wait(rig.ring, 0, 1000));
    HostedKernel kernel(rig.ring, sum);
    CHECK(rig.take(0, 2)[1].entry.user_data == 2);
    CHECK_STATUS(GPO_END, gpo_queue_wait(rig.ring, 0, kPatience));
}

TEST_CASE("a waiting thread is told that a host ring is closed, aborted or destroyed") {
    for (const char* how : {"close", "abort", "destroy"}) {
        CAPTURE(std::string(how));
        HostRingRig rig;
        gpo_status status = GPO_SUCCESS;
        const gpo_queue_t handle = rig.ring;
        std::thread waiter([&] { status = gpo_queue_wait(handle, 0, kPatience); });
        std::this_thread::yield();
        if (how[0] == 'c') CHECK_OK(gpo_queue_close(handle));
        if (how[0] == 'a') CHECK_OK(gpo_queue_abort(handle));
        if (how[0] == 'd') CHECK_OK(gpo_queue_destroy(rig.ring.release()));
        waiter.join();
        if (how[0] == 'c')
            CHECK(status == GPO_END);
        else  // the wait may begin after the handle was destroyed
            CHECK((status == GPO_CANCELLED || (how[0] == 'd' && status == GPO_STALE_HANDLE)));
    }
}

TEST_CASE("an aborted host ring tells the kernel, in pinned and in device memory, full or empty, twice") {
    for (const size_t tasks : {0, 64}) {
        CAPTURE(tasks);
        HostRingRig rig;
        Stream stream = rig.stream();
        if (tasks) CHECK(rig.post(0, Words(4 * tasks), 0) == tasks);
        const auto row = row_of<HostRingRow>(rig.ring);
        CHECK_OK(gpo_queue_abort(rig.ring));
        CHECK_OK(gpo_queue_abort(rig.ring));
        CHECK_OK(gpo_queue_close(rig.ring));
        CHECK(queue_info(rig.ring).state == GPO_QUEUE_ABORTED);
        CHECK(device_words<uint32_t>(rig, stream, row.tasks.words + 768, 1)[0] == GPO_QUEUE_ABORTED);
        CHECK(*reinterpret_cast<const volatile uint32_t*>(row.control) == GPO_QUEUE_ABORTED);
        CHECK(rig.post(0, Words(4), 3, GPO_INVALID_STATE) == 0);
        CHECK_STATUS(GPO_CANCELLED, gpo_queue_wait(rig.ring, 0, kPatience));
    }
}

TEST_CASE("what is not answered when a host ring is destroyed comes as cancelled, once") {
    HostRingRig rig([](auto& options) { options.tenants = 2; });
    Queue completions = rig.queue(64);
    rig.set_tenant(0, 0, completions);
    rig.set_tenant(1, 0, completions);
    CHECK(rig.post(0, Words(4 * 3), 10) == 3);
    CHECK(rig.post(1, Words(4 * 2), 20) == 2);
    CHECK_OK(gpo_queue_destroy(rig.ring.release()));
    auto entries = take(completions, 5);
    std::sort(entries.begin(), entries.end(), [](auto& a, auto& b) { return a.user_data < b.user_data; });
    const uint64_t expected[] = {10, 11, 12, 20, 21};
    for (size_t i = 0; i < 5; ++i) {
        CHECK(entries[i].status == GPO_CANCELLED);
        CHECK(entries[i].user_data == expected[i]);
    }
    auto error = sized<gpo_error>();
    CHECK_OK(gpo_cq_get_error(completions, entries[0].error_id, &error));
    CHECK(mentions(error.message, "queue `requests` was destroyed"));
    auto statistics = sized<gpo_cq_statistics>();
    CHECK_OK(gpo_cq_get_statistics(completions, &statistics));
    CHECK(statistics.accepted == statistics.drained);
}

TEST_CASE("a shutdown ends waits for answers, and entries that are owed come as cancelled") {
    auto rig = std::make_unique<HostRingRig>();
    Queue completions = rig->queue(64);
    rig->set_tenant(0, 0, completions);
    CHECK(rig->post(0, Words(4 * 2), 10) == 2);
    gpo_status status = GPO_SUCCESS;
    std::atomic<bool> waits{false};
    const gpo_queue_t handle = rig->ring;
    std::thread waiter([&] {
        waits = true;
        status = gpo_queue_wait(handle, 0, kPatience);
    });
    while (!waits) std::this_thread::yield();
    CHECK_OK(gpo_runtime_shutdown(rig->runtime, kPatience));
    waiter.join();
    // A wait that begins after the shutdown finds no queue.
    CAPTURE(status);
    CHECK((status == GPO_SHUT_DOWN || status == GPO_CANCELLED || status == GPO_STALE_HANDLE));
    gpo_completion entries[3];
    uint64_t count = 0;
    CHECK_OK(gpo_cq_drain(completions, entries, sizeof entries[0], 3, &count));
    REQUIRE(count == 2);
    CHECK(entries[0].status == GPO_CANCELLED);
    CHECK(entries[1].status == GPO_CANCELLED);
    CHECK_STATUS(GPO_SHUT_DOWN, gpo_cq_drain(completions, entries, sizeof entries[0], 3, &count));
    rig->runtime = nullptr;
}

TEST_CASE("a host ring without answers has room when the kernel has read") {
    HostRingRig rig([](auto& options) { options.flags = GPO_QUEUE_NO_ANSWERS, options.answer_size = 0; });
    const auto row = row_of<HostRingRow>(rig.ring);
    CHECK(row.answer_words == 0);
    CHECK(row.answer_slots == 0);
    CHECK(rig.post(0, Words(4 * 70), 0) == 64);
    CHECK(rig.post(0, Words(4), 0, GPO_WOULD_BLOCK) == 0);
    CHECK(queue_info(rig.ring).unanswered == 64);
    {
        HostedKernel kernel(rig.ring);
        while (queue_info(rig.ring).unanswered != 0) std::this_thread::yield();
        CHECK(kernel.read() == 64);
    }
    CHECK(rig.post(0, Words(4 * 70), 0) == 64);
    gpo_answer entry{};
    uint64_t count = 0;
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_queue_wait(rig.ring, 0, 0));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_queue_take(rig.ring, 0, &entry, sizeof entry, nullptr, 1, &count));
    auto options = sized<gpo_tenant_options>();
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_queue_set_tenant(rig.ring, 0, &options));
}

TEST_CASE("four threads post and four take, and each task is answered once") {
    HostRingRig rig([](auto& options) { options.tenants = 4; });
    HostedKernel kernel(rig.ring, [](const HostedKernel::Task& task) { return std::pair(0, Words{task.words[1]}); });
    constexpr uint64_t kTasks = 5000;
    std::vector<std::vector<uint64_t>> seen(4);
    std::vector<std::thread> threads;
    for (uint32_t tenant = 0; tenant < 4; ++tenant) {
        threads.emplace_back([&, tenant] {
            for (uint64_t next = 0; next < kTasks;) {
                Words tasks;
                for (uint64_t i = next; i < std::min(next + 7, kTasks); ++i)
                    tasks.insert(tasks.end(), {0, static_cast<uint32_t>(i), tenant, 1});
                uint64_t posted = 0;
                const gpo_status status =
                    gpo_queue_post(rig.ring, tenant, tasks.data(), tasks.size() / 4, next, &posted);
                if (status == GPO_WOULD_BLOCK) std::this_thread::yield();
                next += posted;
            }
        });
        threads.emplace_back([&, tenant] {
            while (seen[tenant].size() < kTasks && gpo_queue_wait(rig.ring, tenant, kPatience) == GPO_SUCCESS) {
                gpo_answer entries[16];
                uint32_t values[16];
                uint64_t count = 0;
                gpo_queue_take(rig.ring, tenant, entries, sizeof entries[0], values, 16, &count);
                for (uint64_t i = 0; i < count; ++i)
                    seen[tenant].push_back(entries[i].user_data == values[i] ? values[i] : UINT64_MAX);
            }
        });
    }
    for (auto& thread : threads) thread.join();
    for (auto& numbers : seen) {
        std::sort(numbers.begin(), numbers.end());
        REQUIRE(numbers.size() == kTasks);
        for (uint64_t i = 0; i < kTasks; ++i) REQUIRE(numbers[i] == i);
    }
    CHECK(queue_info(rig.ring).unanswered == 0);
}

TEST_CASE("a host ring's options that are out of range are refused by name") {
    Gpu gpu;
    Stream resident = gpu.stream("server", GPO_STREAM_RESIDENT);
    const auto refused = [&](const char* named, const std::function<void(gpo_queue_options&)>& spoil) {
        CAPTURE(std::string(named));
        auto options = sized<gpo_queue_options>();
        options.kind = GPO_QUEUE_HOST_RING;
        options.task_size = 16;
        options.stream = resident;
        spoil(options);
        gpo_queue_t made = nullptr;
        CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_create(gpu.device, &options, &made));
        CHECK(mentions(queue_refusal(), named));
        CHECK(made == nullptr);
    };
    refused("options.stream", [](auto& o) { o.stream = nullptr; });
    refused("options.task_size", [](auto& o) { o.task_size = 8; });
    refused("options.answer_size", [](auto& o) { o.answer_size = 260; });
    refused("options.answer_size", [](auto& o) { o.answer_size = 6; });
    refused("options.tenants", [](auto& o) { o.tenants = 65; });
    refused("options.priorities", [](auto& o) { o.priorities = 1; });
    refused("options.flags", [](auto& o) { o.flags = GPO_QUEUE_TICKETS; });
    refused("options.capacity", [](auto& o) { o.capacity = uint64_t{1} << 27; });
    refused("options.answer_size", [](auto& o) { o.flags = GPO_QUEUE_NO_ANSWERS, o.answer_size = 4; });
    refused("options.tenants", [](auto& o) { o.flags = GPO_QUEUE_NO_ANSWERS, o.tenants = 2; });
}

TEST_CASE("calls on a host ring that can't be are told by name") {
    HostRingRig rig;
    Stream stream = rig.stream();
    uint64_t number = 0;
    gpo_answer entry{};
    auto options = sized<gpo_tenant_options>();
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_post(rig.ring, 1, "", 0, 0, &number));
    CHECK(mentions(queue_refusal(), "tenant is 1, and queue `requests` has 1"));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_take(rig.ring, 1, &entry, sizeof entry, nullptr, 1, &number));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_take(rig.ring, 0, &entry, 8, nullptr, 1, &number));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_wait(rig.ring, 1, 0));
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_set_tenant(rig.ring, 1, &options));
    options.limit = 65;
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_queue_set_tenant(rig.ring, 0, &options));
    CHECK(mentions(queue_refusal(), "options.limit is 65"));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_queue_reset(rig.ring, stream));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_queue_push(rig.ring, stream, nullptr, 0, 0));
    DeviceQueue plain = make_queue(rig, ring_options(64));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_queue_post(plain, 0, "", 0, 0, &number));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_queue_wait(plain, 0, 0));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_queue_take(plain, 0, &entry, sizeof entry, nullptr, 1, &number));
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_queue_set_tenant(plain, 0, &options));
}
