// For the tests of schedulers: functions that create a scheduler and read its figures and errors.
#pragma once

#include "conformance/queue/host_rig.h"

namespace gpo::test {

using Scheduler = Owned<gpo_scheduler_t, gpo_scheduler_destroy>;

/// Options with few blocks and threads, because other tests run at the same time.
inline gpo_scheduler_options scheduler_options(gpo_queue_t queue, const char* source, const char* label = "tasks") {
    auto options = sized<gpo_scheduler_options>();
    options.form = GPO_SCHEDULER_RESIDENT;
    options.queue = queue;
    options.source = source;
    options.threads = 64;
    options.multiprocessors = 2;
    options.label = label;
    return options;
}

inline gpo_status create_scheduler(Gpu& gpu, const gpo_scheduler_options& options,
                                   std::initializer_list<const char*> names, Scheduler& made) {
    std::vector<gpo_handler> handlers;
    for (const char* name : names) {
        auto handler = sized<gpo_handler>();
        handler.name = name;
        handlers.push_back(handler);
    }
    return gpo_scheduler_create(gpu.device, &options, handlers.data(), sizeof handlers[0],
                                static_cast<uint32_t>(handlers.size()), made.out());
}

inline Scheduler make_scheduler(Gpu& gpu, const gpo_scheduler_options& options,
                                std::initializer_list<const char*> names) {
    Scheduler made;
    REQUIRE_OK(create_scheduler(gpu, options, names, made));
    return made;
}

inline gpo_scheduler_info scheduler_info(gpo_scheduler_t scheduler) {
    auto info = sized<gpo_scheduler_info>();
    REQUIRE_OK(gpo_scheduler_get_info(scheduler, &info));
    return info;
}

inline std::vector<gpo_task_error> task_errors(gpo_scheduler_t scheduler) {
    std::vector<gpo_task_error> errors(4096);
    uint64_t count = 0;
    REQUIRE_OK(gpo_scheduler_get_errors(scheduler, errors.data(), sizeof errors[0], errors.size(), &count));
    errors.resize(count);
    return errors;
}

/// A task of the tests, of 16 bytes.
struct NumberTask {
    uint32_t handler, number, rest[2];
};

inline void push_tasks(gpo_queue_t ring, gpo_stream_t stream, const std::vector<NumberTask>& tasks) {
    REQUIRE_OK(gpo_queue_push(ring, stream, tasks.data(), tasks.size(), 0));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
}

}  // namespace gpo::test
