/* device/scheduler_step.cuh: the step of a scheduler whose tasks are graphs. Part of device/scheduler.cuh.
 *
 * A step is a warp in a graph that kernels launch. The lanes take tasks together, and each launches its task's graph
 * (fire and forget). Then the step launches its own graph as a tail: the next step begins when the tasks' graphs are
 * done. A run ends with a step that has launched no graphs.
 */
#ifndef GPUORCH_DEVICE_SCHEDULER_STEP_CUH
#define GPUORCH_DEVICE_SCHEDULER_STEP_CUH

#include <gpuorch/device/graph.cuh>
#include <gpuorch/device/scheduler.cuh>

namespace gpo {

enum { most_launches = 120 }; /* of one step: CUDA's limit */

/* A handler's graphs: `count` of them from `first` on; `used` of them in this step. */
struct step_handler {
    unsigned long long task_memory; /* 0: the graphs don't read their tasks */
    unsigned first, count, used, reserved;
};

/* In device memory, followed by a step_handler of each handler, and a device_graph of each graph. */
struct step_state {
    enum { lanes = 32 };
    unsigned fired;   /* graphs that the previous step has launched */
    unsigned carried; /* tasks that the previous step took but had no graph left for */
    unsigned reserved[2];
    unsigned handler[most_launches];    /* of each graph that was launched */
    unsigned long long position[lanes]; /* of the carried tasks */
    unsigned priority[lanes];
    scheduler_task task[lanes];
};

/* A step's warp: all lanes call its functions together. */
struct step {
    enum : unsigned { all = 0xffffffffu };

    const scheduler_work& work;
    const ring& tasks;
    step_state& state;
    step_handler* const handlers;
    const device_graph* const graphs;
    scheduler_block& figures;
    scheduler_count* const counts;
    const unsigned lane;
    unsigned fired, most; /* graphs that this step has launched, and may */

    __device__ step(const scheduler_work& of, const ring& from, unsigned long long memory)
        : work(of), tasks(from), state(*(step_state*)memory), handlers((step_handler*)(&state + 1)),
          graphs((const device_graph*)(handlers + of.handlers)), figures(figures_of(of)),
          counts((scheduler_count*)(&figures + 1)), lane(atomic::lane()), fired(0), most(0) {}

    /* The graphs of the previous step are done. */
    __device__ void finish() {
        const unsigned before = state.fired;
        for (unsigned i = lane; i < before; i += step_state::lanes)
            atomic::add_relaxed(&counts[state.handler[i]].tasks, 1ull);
        for (unsigned i = lane; i < work.handlers; i += step_state::lanes) handlers[i].used = 0;
        for (unsigned i = 0; i < work.handlers; ++i) most += handlers[i].count;
        most = most < work.batch ? most : work.batch;
        __syncwarp();
        if (lane == 0 && before != 0) done_many(tasks, before);
    }
    /* For one lane. */
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
    /* Launches the graph of each lane's task. False: all graphs of some handler were launched already, and tasks are
     * carried. */
    __device__ bool fire(const scheduler_task& task, const found_task& found) {
        const unsigned handler = found.any ? task.handler() : 0;
        const bool known = found.any && handler < work.handlers;
        if (found.any && !known) refuse(task, found, run_no_handler);
        const unsigned asking = __ballot_sync(all, known);
        unsigned number = 0;
        bool mine = false;
        if (known) {
            const unsigned same = __match_any_sync(asking, handler);
            step_handler& of = handlers[handler];
            const unsigned used = of.used, count = of.count, then = used + (unsigned)__popc((int)same);
            number = of.first + used + atomic::rank_in(same);
            mine = used + atomic::rank_in(same) < count;
            __syncwarp(asking);
            if (atomic::elected(same)) of.used = then < count ? then : count;
        }
        const unsigned over = __ballot_sync(all, known && !mine);
        if (known && !mine) {
            const unsigned place = atomic::rank_in(over);
            state.task[place] = task;
            state.position[place] = found.position;
            state.priority[place] = found.priority;
        }
        if (lane == 0) state.carried = (unsigned)__popc((int)over);
        bool launched = false;
        if (mine) {
            const step_handler& of = handlers[handler];
            if (of.task_memory != 0)
                memcpy((void*)(of.task_memory + (number - of.first) * (unsigned long long)GPO_TASK_BYTES), task.task(),
                       GPO_TASK_BYTES);
            __threadfence();
            const int status = launch_fire_and_forget(graphs[number]);
            launched = status == launch_success;
            if (!launched) refuse(task, found, status);
        }
        const unsigned which = __ballot_sync(all, launched);
        if (launched) state.handler[fired + atomic::rank_in(which)] = handler;
        fired += (unsigned)__popc((int)which);
        return over == 0;
    }
    /* A task for each of the first lanes, up to `wanted`, or the reason for having none. */
    __device__ found_task take(scheduler_task& task, unsigned wanted) {
        found_task found = {0, 0, false, run_stopped};
        const unsigned carried = state.carried;
        if (carried != 0) { /* these tasks have begun: a stop doesn't drop them */
            if (lane < carried) {
                task = state.task[lane];
                found = {state.position[lane], state.priority[lane], true, run_goes_on};
            }
            return found;
        }
        if (atomic::from_first(all, mode_of(work)) == mode_stop) return found;
        if (lane < wanted) {
            const lanes group(all >> (step_state::lanes - wanted));
            int status;
            const ring_offer offer = pop_some(tasks, task, group, status);
            found = {offer.first + group.rank, offer.priority, status == queue_success, run_stopped};
            if (group.first() && offer.status == queue_would_block) {
                atomic::add_relaxed(&figures.empty_polls, 1ull);
                found.verdict = idle_verdict(work, tasks);
            } else if (offer.status == queue_end) {
                found.verdict = run_at_end;
            }
        }
        found.verdict = atomic::from_first(all, found.verdict);
        return found;
    }
    /* How the run ends, or that it goes on. */
    __device__ int go() {
        finish();
        scheduler_task task;
        int verdict = run_goes_on;
        bool carries = false;
        while (fired < most && !carries) {
            const found_task found = take(task, most - fired < step_state::lanes ? most - fired : step_state::lanes);
            if (!__any_sync(all, found.any)) {
                verdict = found.verdict;
                break;
            }
            carries = !fire(task, found);
        }
        if (lane == 0) state.fired = fired;
        if (fired != 0 || carries) return run_goes_on;
        if (verdict == run_goes_on && lane == 0) {
            patience waiting(polls(32));
            await_items(tasks, waiting);
        }
        return verdict;
    }
};

/* The work of a step's warp. */
__device__ inline void run_step(const scheduler_work& of, const ring& tasks, unsigned long long memory, unsigned run) {
    scheduler_work work = of;
    work.run = run;
    const bool first = atomic::lane() == 0;
    if (first) {
        watcher watch(work, tasks);
        watch.begin();
        watch.look();
        atomic::add_relaxed(&words_of(work)->steps, 1ull);
        figures_of(work).multiprocessor = atomic::multiprocessor();
    }
    __syncwarp();
    int end = step(work, tasks, memory).go();
    if (!first) return;
    if (end == run_goes_on) {
        end = relaunch_self();
        if (end == launch_success) return;
    }
    note_end(work, end);
}

}  // namespace gpo

#endif
