/* device/scheduler_loop.cuh: the loops of a scheduler's blocks. Part of device/scheduler.cuh.
 *
 * The *watcher* is the scheduler's first worker, or the dispatcher of a host ring. The watcher samples the queue's
 * depth, and notices when no work is left. No other thread writes the watcher's words.
 */
#ifndef GPUORCH_DEVICE_SCHEDULER_LOOP_CUH
#define GPUORCH_DEVICE_SCHEDULER_LOOP_CUH

#include <gpuorch/device/scheduler.cuh>

namespace gpo {

/* How a run ends, as values of gpo_status; or that it goes on. */
enum { run_drained = 0, run_idle = 2, run_at_end = 4, run_no_handler = 15, run_stopped = 50, run_goes_on = -1 };

/* All pushed tasks are done. Reading `done` before `pushed` makes sure that this was true at the first read. */
__device__ inline bool is_idle(const ring& which) {
    const unsigned long long done = atomic::load_acquire(ring_word<unsigned long long>(which, ring_done));
    unsigned long long pushed = 0;
#pragma unroll 1
    for (unsigned p = 0; p < which.priorities; ++p)
        pushed += atomic::load_acquire(ring_word<unsigned long long>(which, ring_tail, p));
    return done == pushed;
}

/* For one thread that leaves: records the run's end. */
__device__ inline void note_end(const scheduler_work& work, int status) {
    scheduler_words* const words = words_of(work);
    atomic::store_relaxed((unsigned*)&words->end, (unsigned)status);
    atomic::store_relaxed(&words->end_run, work.run);
    atomic::store_relaxed(&words->again, 0u);
}

/* Whether a worker without a task ends the run, and how. */
__device__ inline int idle_verdict(const scheduler_work& work, const ring& tasks) {
    const unsigned mode = mode_of(work);
    if (mode == mode_stop) return run_stopped;
    if (mode == mode_idle) return run_idle;
    if (mode != mode_drain) return run_goes_on;
    if (GPO_TASK_OF_HOST && atomic::load_acquire(&words_of(work)->dispatched) != work.run) return run_goes_on;
    return is_idle(tasks) ? run_drained : run_goes_on;
}

/* The watcher's work between tasks. */
struct watcher {
    const scheduler_work& work;
    const ring& tasks;
    scheduler_words& words;

    __device__ watcher(const scheduler_work& of, const ring& from) : work(of), tasks(from), words(*words_of(of)) {}

    __device__ void begin() {
        if (words.watched_run == work.run) return;
        words.begin = words.idle_since = atomic::now();
        words.sampled = words.asked = 0;
        words.idle_tasks = ~0ull;
        words.watched_run = work.run;
    }
    __device__ void note_depth(unsigned long long now) {
        if (now - words.sampled < work.sample_ns) return;
        words.sampled = now;
        unsigned long long depth = 0;
        for (unsigned p = 0; p < tasks.priorities; ++p) {
            const unsigned long long head = atomic::load_relaxed(ring_word<unsigned long long>(tasks, ring_head, p));
            const unsigned long long tail = atomic::load_relaxed(ring_word<unsigned long long>(tasks, ring_tail, p));
            depth += tail > head ? tail - head : 0;
        }
        depth_sample& sample = ((depth_sample*)work.samples)[words.sample_count % depth_samples];
        sample.time_ns = now - words.begin;
        sample.depth = depth;
        sample.run = work.run;
        atomic::store_release(&words.sample_count, words.sample_count + 1);
    }
    /* Ends the run if the queue was idle for idle_ns. */
    __device__ void look_for_idleness(unsigned long long now) {
        if (work.idle_ns == 0) return;
        const unsigned long long done = atomic::load_relaxed(ring_word<unsigned long long>(tasks, ring_done));
        if (done != words.idle_tasks || !is_idle(tasks)) {
            words.idle_tasks = done;
            words.idle_since = now;
        } else if (now - words.idle_since >= work.idle_ns && mode_of(work) == mode_run) {
            atomic::store_relaxed(&words.mode, 4 * work.run + mode_idle);
        }
    }
    /* Reads the host's mode from pinned memory: works even if the driver can't write `mode`. Rarely done, since the
     * read crosses the bus. */
    __device__ void look_at_host(unsigned long long now) {
        if (now - words.asked < 1000000) return;
        words.asked = now;
        const unsigned asked = atomic::load_relaxed_system((const unsigned*)work.asked);
        if ((int)(asked - atomic::load_relaxed(&words.mode)) > 0) atomic::store_relaxed(&words.mode, asked);
    }
    __device__ void look() {
        const unsigned long long now = atomic::now();
        look_at_host(now);
        note_depth(now);
        look_for_idleness(now);
    }
};

__device__ inline scheduler_block& figures_of(const scheduler_work& work) {
    const unsigned long long bytes = sizeof(scheduler_block) + work.handlers * sizeof(scheduler_count);
    return *(scheduler_block*)(work.blocks + atomic::block_in_grid() * bytes);
}

/* For one thread: records a failed task. */
__device__ inline void store_error(const scheduler_work& work, const scheduler_task& task, const found_task& found,
                                   int status) {
    const unsigned long long number = atomic::fetch_add_relaxed(&words_of(work)->errors, 1ull);
    if (number >= work.max_errors) return;
    task_error& error = ((task_error*)work.errors)[number];
    error.position = found.position;
    error.handler = task.handler();
    error.priority = found.priority;
    error.status = status;
    for (unsigned i = 0; i < 4; ++i) error.task[i] = task.word[scheduler_task::header + i];
    atomic::store_release(&error.written, 1u);
}

/* A worker of a scheduler with handlers H. */
template <class H>
struct task_loop {
    const scheduler_work& work;
    const scheduler_queue& queue;
    const worker mine;
    worker_memory& memory;
    scheduler_block& figures;
    scheduler_count* const counts;
    unsigned long long last; /* the first thread's clock */

    __device__ task_loop(const scheduler_work& of, const scheduler_queue& from, scheduler_memory& shared)
        : work(of), queue(from), mine(), memory(shared.worker[GPO_TASK_WORKER == 2 ? mine.number() : 0]),
          figures(figures_of(of)), counts((scheduler_count*)(&figures + 1)), last(atomic::now()) {}

    /* For the first thread: the time since the last call. */
    __device__ unsigned long long lap() {
        const unsigned long long before = last;
        last = atomic::now();
        atomic::add_relaxed(&figures.worker_ns, last - before);
        return last - before;
    }

    /* For the first thread: looks for a task. */
    __device__ found_task look(scheduler_task& task) {
        found_task found = {0, 0, false, run_stopped};
        if (mode_of(work) == mode_stop) return found;
        int status;
        const lanes group(worker::partners());
        const ring_offer offer = pop_some(tasks_of(queue), task, group, status);
        found.position = offer.first + group.rank;
        found.priority = offer.priority;
        found.any = status == queue_success;
        if (status == queue_would_block) {
            atomic::add_relaxed(&figures.empty_polls, 1ull);
            found.verdict = idle_verdict(work, tasks_of(queue));
        } else if (status == queue_end) {
            found.verdict = run_at_end;
        }
        return found;
    }
    __device__ void wait() {
        patience waiting(polls(32));
        await_items(tasks_of(queue), waiting);
        lap();
    }

    __device__ void note_error(const scheduler_task& task, const found_task& found, int status) {
        if (task.handler() < work.handlers) atomic::add_relaxed(&counts[task.handler()].errors, 1ull);
        store_error(work, task, found, status);
    }

    __device__ void run(const scheduler_task& task, const found_task& found) {
        task_context at(work, queue, mine, memory, GPO_TASK_OF_HOST ? task.word[0] : (unsigned)no_ticket,
                        found.position);
        const unsigned handler = task.handler();
        const bool known = handler < work.handlers;
        if (mine.first()) lap();
        int status = known ? H::call(handler, at, task.task()) : (int)run_no_handler;
        mine.sync();
        if (!mine.first()) return;
        if (GPO_TASK_WORKER != 1 && memory.some_missed()) status = queue_timeout;
        const unsigned long long took = lap();
        if (known) {
            atomic::add_relaxed(&counts[handler].busy_ns, took);
            atomic::add_relaxed(&counts[handler].tasks, 1ull);
        } else {
            atomic::add_relaxed(&figures.unknown, 1ull);
        }
        if (status != 0) note_error(task, found, status);
        finish(at, task, status);
    }
    __device__ void finish(const task_context& at, const scheduler_task& task, int status) {
        if (at.over()) return;
#if GPO_TASK_OF_HOST
        if (task.word[0] != no_ticket) {
            answer_zeros(queue, task.word[0], status, 1u << atomic::lane());
            return;
        }
#endif
        done_many(tasks_of(queue), 1);
    }

    /* Shares the first thread's result with all threads of the worker. */
    __device__ found_task share(const found_task& found) {
        if (mine.first()) {
            memory.found = found;
            memory.nobody_came();
        }
        mine.sync();
        const found_task shared = memory.found;
        if (!shared.any) mine.sync(); /* else run() does */
        return shared;
    }

    /* Works until the run or the launch ends. */
    __device__ int go() {
        const bool watches = !GPO_TASK_OF_HOST && atomic::block_in_grid() == 0 && mine.number() == 0 && mine.first();
        watcher watch(work, tasks_of(queue));
        if (watches) watch.begin();
        for (unsigned turn = 1;; ++turn) {
            scheduler_task task;
            found_task found = {};
            if (mine.first()) found = look(GPO_TASK_WORKER == 1 ? task : memory.task);
            if (GPO_TASK_WORKER != 1) found = share(found);
            if (watches) watch.look();
            if (found.any) {
                run(GPO_TASK_WORKER == 1 ? task : memory.task, found);
                if (turn == work.batch) return run_goes_on;
                continue;
            }
            if (found.verdict != run_goes_on) return found.verdict;
            if (mine.first()) wait();
            if (work.batch != 0) return run_goes_on; /* other work may have the multiprocessor */
        }
    }
};

/* The loop of the dispatcher's block, by all its threads. */
#if GPO_TASK_OF_HOST
__device__ inline int run_dispatcher(const scheduler_work& work, const host_ring& queue, scheduler_memory& memory) {
    const unsigned lanes = worker::mask;
    dispatcher turns(queue, memory.dispatch, nanoseconds(~0ull));
    watcher watch(work, queue.tasks);
    const bool first = atomic::thread_in_block() == 0;
    if (first) watch.begin();
    for (unsigned number = 0;; ++number) {
        /* If all tasks are done before the turn, the turn has room for all tasks that the host has posted. */
        const bool idle = first && mode_of(work) == mode_drain && is_idle(queue.tasks);
        const unsigned long long before = turns.taken;
        const int status = turns.turn(number, lanes);
        if (status != queue_success) return status == queue_end ? run_at_end : run_stopped;
        if (turns.taken != before && number % 64 != 0) continue;
        if (first) {
            watch.look();
            const unsigned mode = mode_of(work);
            memory.verdict = run_goes_on;
            if (mode == mode_stop) memory.verdict = run_stopped;
            if (mode == mode_idle) memory.verdict = run_idle;
            if (idle && turns.taken == before) {
                memory.verdict = run_drained;
                atomic::store_release(&words_of(work)->dispatched, work.run);
            }
            if (memory.verdict != run_goes_on && turns.published != turns.taken) turns.publish(turns.taken);
        }
        __syncthreads();
        const int verdict = memory.verdict;
        __syncthreads();
        if (verdict != run_goes_on) return verdict;
    }
}
#endif

/* The work of all threads of a scheduler's blocks. */
template <class H>
__device__ void run_scheduler(const scheduler_work& work, const scheduler_queue& queue, scheduler_memory& memory) {
    const bool first = atomic::thread_in_block() == 0;
    const bool dispatches = GPO_TASK_OF_HOST && atomic::block_in_grid() == 0;
    if (first) {
        scheduler_block& figures = figures_of(work);
        figures.multiprocessor = atomic::multiprocessor();
        figures.workers = dispatches ? 0 : worker::of_block();
        if (atomic::block_in_grid() == 0) atomic::add_relaxed(&words_of(work)->steps, 1ull);
    }
    __syncwarp();
    int end = run_goes_on;
#if GPO_TASK_OF_HOST
    if (dispatches)
        end = run_dispatcher(work, queue, memory);
    else
#endif
        end = task_loop<H>(work, queue, memory).go();
    if (end != run_goes_on && (first || GPO_TASK_WORKER != 3)) note_end(work, end);
}

/* The work of a while's body. */
template <class H>
__device__ void run_turn(const scheduler_work& work, const scheduler_queue& queue, scheduler_memory& memory) {
    scheduler_work mine = work;
    mine.run = words_of(work)->run;
    run_scheduler<H>(mine, queue, memory);
}

}  // namespace gpo

#endif
