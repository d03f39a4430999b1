// The part of a scheduler that host and kernels (gpuorch/device/scheduler.cuh) share. All words are in device memory.
#pragma once

#include <cstdint>

namespace gpo::scheduler {

/// gpo::scheduler_work: an argument of the kernel, by value.
struct Work {
    uint64_t words = 0, blocks = 0, errors = 0, samples = 0;  // device addresses
    uint64_t asked = 0;                                       // of a word of pinned memory
    uint64_t argument = 0, idle_ns = 0, sample_ns = 0;
    uint32_t handlers = 0, max_errors = 0, run = 0, batch = 0;
};
static_assert(sizeof(Work) == 80);

/// A request to a run: the word has 4 * run + the mode, so that requests to an earlier run don't concern the next run.
/// A word of pinned memory has the same value, in case the driver fails: the watcher reads that word now and then.
enum class Mode : uint32_t { run, drain, stop, idle };

/// gpo::scheduler_words.
struct alignas(128) Words {
    uint32_t mode, again, run;
    alignas(128) uint32_t dispatched;
    uint32_t end_run;
    int32_t end;
    alignas(128) uint64_t errors;
    uint64_t refused_pushes, steps;
    alignas(128) uint64_t sample_count;
    uint64_t begin, sampled, asked, idle_since, idle_tasks;
    uint32_t watched_run;
};
static_assert(sizeof(Words) == 512);

/// gpo::scheduler_block, followed by a Count of each handler.
struct Block {
    uint32_t multiprocessor, workers;
    uint64_t empty_polls, worker_ns, unknown;
};
static_assert(sizeof(Block) == 32);
struct Count {
    uint64_t tasks, errors, busy_ns;
};

/// gpo::task_error.
struct TaskError {
    uint64_t position;
    uint32_t handler, priority;
    int32_t status;
    uint32_t written;
    uint32_t task[4];
};
static_assert(sizeof(TaskError) == 40);

/// gpo::depth_sample, in a ring of kSamples.
struct Sample {
    uint64_t time_ns, depth, run;
};
inline constexpr uint64_t kSamples = 1024;

/// gpo::step_state of a step graph, without the carried tasks, one per lane. Handlers and graphs follow the tasks.
inline constexpr uint32_t kStepLanes = 32;
struct alignas(16) StepState {
    uint32_t fired, carried, reserved[2];
    uint32_t handler[120];
    uint64_t position[kStepLanes];
    uint32_t priority[kStepLanes];
};
static_assert(sizeof(StepState) == 880);
struct StepHandler {
    uint64_t task_memory;
    uint32_t first, count, used, reserved;
};
struct DeviceGraph {
    uint64_t graph, status;
};

}  // namespace gpo::scheduler
