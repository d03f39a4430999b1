/* device/scheduler_step.cuh: the step of a scheduler whose tasks are graphs. Part of device/scheduler.cuh.
 *
 * A step is one thread in a graph that kernels launch. It takes tasks, launches a graph for each (fire and forget), and
 * launches its own graph as a tail: so the next step begins when these graphs are done. A run ends with a step that has
 * launched nothing.
 */
#ifndef GPUORCH_DEVICE_SCHEDULER_STEP_CUH
#define GPUORCH_DEVICE_SCHEDULER_STEP_CUH

#include <gpuorch/device/graph.cuh>
#include <gpuorch/device/scheduler.cuh>

namespace gpo {

enum { most_launches = 120 }; /* of one step: CUDA's limit */

/* A handler's graphs: `count` of them from `first` on; `used` of them in this step. */
struct step_handler {
    unsigned long long task_memory; /* 0: they don't read their tasks */
    unsigned first, count, used, reserved;
};

/* In device memory; behind it a step_handler of each handler, and a device_graph of each graph. */
struct step_state {
    unsigned fired;   /* graphs that the step before has launched */
    unsigned carried; /* 1: a task was taken for which that step had no graph left */
    unsigned priority, reserved;
    unsigned long long position;
    unsigned handler[most_launches]; /* of each graph that was launched */
    unsigned long long unused;
    scheduler_task task;             /* that is carried */
};

struct step {
    const scheduler_work& work;
    const ring& tasks;
    step_state& state;
    step_handler* const handlers;
    const device_graph* const graphs;
    scheduler_block& figures;
    scheduler_count* const counts;

    __device__ step(const scheduler_work& of, const ring& from, unsigned long long memory)
        : work(of), tasks(from), state(*(step_state*)memory), handlers((step_handler*)(&state + 1)),
          graphs((const device_graph*)(handlers + of.handlers)), figures(figures_of(of)),
          counts((scheduler_count*)(&figures + 1)) {}

    /* The graphs of the step before are done. */
    __device__ void finish() {
        for (unsigned i = 0; i < state.fired; ++i) atomic::add_relaxed(&counts[state.handler[i]].tasks, 1ull);
        if (state.fired != 0) done_many(tasks, state.fired);
        state.fired = 0;
        for (unsigned i = 0; i < work.handlers; ++i) handlers[i].used = 0;
    }
    __device__ void refuse(const scheduler_task& task, const found_task& found, int status) {
        if (task.handler() >= work.handlers) {
            atomic::add_relaxed(&figures.unknown, 1ull);
        } else {
            atomic::add_relaxed(&counts[task.handler()].tasks, 1ull);
            atomic::add_relaxed(&counts[task.handler()].errors, 1ull);
        }
        store_error(work, task, found, status);
        done_many(tasks, 1);
    }
    /* False: all graphs of the task's handler are launched already. */
    __device__ bool fire(const scheduler_task& task, const found_task& found) {
        if (task.handler() >= work.handlers) {
            refuse(task, found, run_no_handler);
            return true;
        }
        step_handler& mine = handlers[task.handler()];
        if (mine.used == mine.count) return false;
        const unsigned number = mine.used++;
        if (mine.task_memory != 0)
            memcpy((void*)(mine.task_memory + number * (unsigned long long)GPO_TASK_BYTES), task.task(),
                   GPO_TASK_BYTES);
        __threadfence();
        const int status = launch_fire_and_forget(graphs[mine.first + number]);
        if (status == launch_success)
            state.handler[state.fired++] = task.handler();
        else
            refuse(task, found, status);
        return true;
    }
    __device__ found_task take(scheduler_task& task) {
        found_task found = {state.position, state.priority, state.carried != 0, run_stopped};
        if (found.any) { /* it has begun */
            task = state.task;
            state.carried = 0;
            return found;
        }
        if (mode_of(work) == mode_stop) return found;
        int status;
        const ring_offer offer = pop_some(tasks, task, lanes(worker::partners()), status);
        found = {offer.first, offer.priority, status == queue_success, run_stopped};
        if (status == queue_would_block) {
            atomic::add_relaxed(&figures.empty_polls, 1ull);
            found.verdict = idle_verdict(work, tasks);
        } else if (status == queue_end) {
            found.verdict = run_at_end;
        }
        return found;
    }
    /* How the run ends, or that it goes on. */
    __device__ int go() {
        finish();
        scheduler_task task;
        int verdict = run_goes_on;
        while (state.fired < work.batch) {
            const found_task found = take(task);
            verdict = found.any ? (int)run_goes_on : found.verdict;
            if (!found.any) break;
            if (fire(task, found)) continue;
            state.task = task;
            state.position = found.position;
            state.priority = found.priority;
            state.carried = 1;
            break;
        }
        if (state.fired != 0 || state.carried != 0) return run_goes_on;
        if (verdict == run_goes_on) {
            patience waiting(polls(32));
            await_items(tasks, waiting);
        }
        return verdict;
    }
};

/* What the thread of a step does. */
__device__ inline void run_step(const scheduler_work& of, const ring& tasks, unsigned long long memory, unsigned run) {
    scheduler_work work = of;
    work.run = run;
    watcher watch(work, tasks);
    watch.begin();
    watch.look();
    atomic::add_relaxed(&words_of(work)->steps, 1ull);
    scheduler_block& figures = figures_of(work);
    figures.multiprocessor = atomic::multiprocessor();
    int end = step(work, tasks, memory).go();
    if (end == run_goes_on) {
        end = relaunch_self();
        if (end == launch_success) return;
    }
    note_end(work, end);
}

}  // namespace gpo

#endif
