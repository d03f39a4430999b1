// Both a waiting thread and a host queue's own thread collect answers.
#include "support/device_queue.h"
#include "support/explore.h"
#include "support/gpu.h"

using namespace gpo::test;

TEST_CASE("an answer that is there ends a wait without patience, whoever collects it, in every schedule") {
    explore(200, [](uint64_t) {
        Gpu gpu;
        const Stream resident = gpu.stream("resident", GPO_STREAM_RESIDENT);
        auto options = sized<gpo_queue_options>();
        options.kind = GPO_QUEUE_HOST_RING;
        options.capacity = 4;
        options.task_size = 16;
        options.answer_size = 4;
        options.tenants = 2;
        options.stream = resident;
        DeviceQueue queue;
        REQUIRE_OK(gpo_queue_create(gpu.device, &options, queue.out()));
        // Another tenant's completions are delivered by the queue's own thread.
        const Queue entries = gpu.queue();
        auto tenant = sized<gpo_tenant_options>();
        tenant.completions = entries;
        REQUIRE_OK(gpo_queue_set_tenant(queue, 1, &tenant));
        const char task[16] = {};
        uint64_t posted = 0;
        REQUIRE_OK(gpo_queue_post(queue, 0, task, 1, 0, &posted));
        DeviceHostRing ring;
        REQUIRE_OK(gpo_queue_get_device_handle(queue, &ring, sizeof ring, nullptr));
        answer_first_task(ring);
        REQUIRE_OK(gpo_queue_post(queue, 1, task, 1, 7, &posted));   // the thread looks for answers
        CHECK_OK(gpo_queue_wait(queue, 0, 0));
        gpo_answer answer;
        uint64_t count = 0;
        CHECK_OK(gpo_queue_take(queue, 0, &answer, sizeof answer, nullptr, 1, &count));
        CHECK(count == 1);
    });
}
