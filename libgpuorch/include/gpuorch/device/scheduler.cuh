/* device/scheduler.cuh: handlers, a scheduler's functions for its tasks (gpuorch/scheduler.h).
 *
 *     #include <gpuorch/device/scheduler.cuh>
 *
 *     struct visit { unsigned handler, node; };
 *
 *     __device__ int visit_node(gpo::task_context &at, const visit &task) {
 *         for (unsigned next : at.argument<graph>()->new_neighbours(task.node))
 *             if (at.push(visit{0, next}) != 0) return at.argument<graph>()->leave_out(next);
 *         return 0;
 *     }
 *
 * A task begins with four bytes, the number of its handler. A handler is no template and not overloaded, and its task's
 * type is trivially copyable and no larger than the queue's tasks. All threads of a *worker* call the handler together:
 * one thread, a warp, or a block (gpo_scheduler_options.workers). Each thread may return at any time, but all threads
 * must come to sync(), answer() and again(). The value returned in the worker's first thread is the task's status: 0,
 * or a gpo_status, which is then recorded as an error.
 *
 * A handler may call on its context:
 *   argument<T>()          The address that was given to gpo_scheduler_create.
 *   thread(), threads()    The calling thread's number in the worker, and the worker's number of threads.
 *   sync()                 A barrier of the worker's threads.
 *   push(task, priority)   Pushes a task into the scheduler's queue, one for each calling thread. For a single new
 *                          task, only one thread of a warp's worker calls. The task may be smaller than the queue's.
 *                          If there is no room for a millisecond, returns queue_timeout: the worker can do the task
 *                          itself then. If a ring is too small for the tasks' pushes, all workers come to wait here.
 *   stopping()             Whether gpo_scheduler_stop was called: a long handler may come to an end.
 *   position()             The task's position in the order in which tasks are taken out of its ring.
 *   again(task)            Puts a task into the queue in place of the current one, behind all tasks there. A request of
 *                          many steps thus lets others in between. All threads of the worker call; the task is the
 *                          first thread's. With a host ring the new task is answered instead, and there is always
 *                          room.
 * With a host ring:
 *   answer(reply, status)  Answers the host, if the task is one of the host's. All threads of the worker call, with the
 *                          same reply. At most once, and nothing is pushed afterwards. A handler that returns without
 *                          an answer answers its status and zeros.
 *   push(task)             The new task isn't the host's, and gets no answer.
 *
 * A thread in answer() or again() waits for the worker's other threads for up to GPO_PARTNER_BOUND_NS nanoseconds (10
 * s, unless a compile option -DGPO_PARTNER_BOUND_NS=... says otherwise). If some don't come, the call returns
 * queue_timeout and has done nothing, and the task fails with GPO_TIMEOUT: the recorded error names its handler, and
 * a task of the host is answered with GPO_TIMEOUT. sync() has no bound.
 *
 * The library includes this header in front of the handlers, with macros that describe the queue.
 */
#ifndef GPUORCH_DEVICE_SCHEDULER_CUH
#define GPUORCH_DEVICE_SCHEDULER_CUH

#include <gpuorch/device/queue.cuh>

/* Bytes of a task, whether the queue is a host ring, and the kind of worker: 1 a thread, 2 a warp, 3 a block. */
#if !defined(GPO_TASK_BYTES)
#define GPO_TASK_BYTES 256
#define GPO_TASK_OF_HOST 0
#define GPO_TASK_WORKER 2
#endif

namespace gpo {

struct scheduler_work {
    unsigned long long words;  /* scheduler_words */
    unsigned long long blocks; /* of each block scheduler_block, and a scheduler_count of each handler */
    unsigned long long errors; /* task_error of each error that is stored */
    unsigned long long samples;
    unsigned long long asked; /* pinned: the mode that the host has written, or is about to write, to the words */
    unsigned long long argument;
    unsigned long long idle_ns, sample_ns; /* idle_ns 0: never */
    unsigned handlers, max_errors, run;
    unsigned batch; /* of a while: tasks of a worker in a turn; else 0 */
};

/* The host writes 4 * run + a mode to scheduler_words::mode. */
enum { mode_run = 0, mode_drain = 1, mode_stop = 2, mode_idle = 3 };

struct alignas(128) scheduler_words {
    unsigned mode;
    unsigned again; /* 0: a while ends */
    unsigned run;   /* for graphs: their nodes have the same scheduler_work in each run */
    alignas(128) unsigned dispatched; /* the run in which the dispatcher, in mode_drain, has found no more tasks */
    unsigned end_run;                 /* the run that has ended, and its status */
    int end;
    alignas(128) unsigned long long errors;
    unsigned long long refused_pushes;
    unsigned long long steps;
    alignas(128) unsigned long long sample_count; /* the watcher's, with all words from here on */
    unsigned long long begin, sampled, asked, idle_since, idle_tasks;
    unsigned watched_run;
};

struct scheduler_count {
    unsigned long long tasks, errors, busy_ns;
};

struct scheduler_block {
    unsigned multiprocessor, workers;
    unsigned long long empty_polls, worker_ns, unknown;
};

struct task_error {
    unsigned long long position;
    unsigned handler, priority;
    int status;
    unsigned written; /* 1: the rest is there */
    unsigned task[4];
};

struct depth_sample {
    unsigned long long time_ns, depth, run;
};
enum { depth_samples = 1024 };

/* A task in its slot; tasks of the host begin with the header of host_task. */
struct alignas(16) scheduler_task {
    enum { header = GPO_TASK_OF_HOST ? 4 : 0 };
    unsigned word[header + GPO_TASK_BYTES / 4];

    __device__ unsigned handler() const { return word[header]; }
    __device__ const void* task() const { return word + header; }

    template <class T>
    __device__ static scheduler_task of(const T& task, unsigned ticket) {
        static_assert(__is_trivially_copyable(T), "tasks are moved as bytes: their type must be trivially copyable");
        static_assert(sizeof(T) <= GPO_TASK_BYTES, "the task is larger than the queue's tasks");
        scheduler_task made = {};
        if (GPO_TASK_OF_HOST) made.word[0] = ticket;
        memcpy(made.word + header, &task, sizeof(T));
        return made;
    }
};
enum { no_ticket = 0xffffffff };

#if GPO_TASK_OF_HOST
typedef host_ring scheduler_queue;
__device__ inline const ring& tasks_of(const host_ring& queue) { return queue.tasks; }
#else
typedef ring scheduler_queue;
__device__ inline const ring& tasks_of(const ring& queue) { return queue; }
#endif

/* The result of a worker's look for a task. */
struct found_task {
    unsigned long long position;
    unsigned priority;
    bool any;
    int verdict; /* if no task was found: an end, or run_goes_on */
};

/* Calls in which a worker's threads act together. */
enum worker_call { call_answer, call_again, worker_calls };

/* In shared memory, for each worker of more than one thread. */
struct worker_memory {
    enum : unsigned { missed = 1u << 31 };

    scheduler_task task;
    found_task found;
    unsigned came[worker_calls]; /* count of threads that have come to the call with this task; `missed`: some didn't */

    __device__ void nobody_came() {
        for (unsigned call = 0; call < worker_calls; ++call) came[call] = 0;
    }
    /* Valid in any thread after the handler. */
    __device__ bool some_missed() const { return ((came[call_answer] | came[call_again]) & missed) != 0; }
};
struct scheduler_memory {
    enum { workers = GPO_TASK_WORKER == 1 ? 1 : GPO_TASK_WORKER == 2 ? 32 : 1 };
    worker_memory worker[workers];
    dispatch_memory dispatch;
    int verdict;
};

/* Threads that do tasks together. */
struct worker {
    enum : unsigned { mask = 0xffffffffu }; /* all lanes: blocks of a scheduler have whole warps */

    __device__ unsigned number() const {
        const unsigned thread = atomic::thread_in_block();
        return GPO_TASK_WORKER == 1 ? thread : GPO_TASK_WORKER == 2 ? thread / 32 : 0;
    }
    __device__ unsigned thread() const {
        return GPO_TASK_WORKER == 1   ? 0
               : GPO_TASK_WORKER == 2 ? atomic::lane()
                                      : atomic::thread_in_block();
    }
    __device__ unsigned threads() const {
        return GPO_TASK_WORKER == 1   ? 1
               : GPO_TASK_WORKER == 2 ? 32
                                      : atomic::threads_in_block();
    }
    __device__ static unsigned of_block() {
        const unsigned threads = atomic::threads_in_block();
        return GPO_TASK_WORKER == 1 ? threads : GPO_TASK_WORKER == 2 ? (threads + 31) / 32 : 1;
    }
    __device__ bool first() const { return thread() == 0; }
    __device__ void sync() const {
        if (GPO_TASK_WORKER == 2) __syncwarp(mask);
        if (GPO_TASK_WORKER == 3) __syncthreads();
    }
    /* The lanes that act with the calling first thread. */
    __device__ static unsigned partners() { return GPO_TASK_WORKER == 1 ? __activemask() : 1u << atomic::lane(); }
};

__device__ inline scheduler_words* words_of(const scheduler_work& work) { return (scheduler_words*)work.words; }

__device__ inline unsigned mode_of(const scheduler_work& work) {
    const unsigned mode = atomic::load_relaxed(&words_of(work)->mode), mine = 4 * work.run;
    return (int)(mode - mine) < 0 ? (unsigned)mode_run : mode - mine > mode_idle ? (unsigned)mode_stop : mode - mine;
}

class task_context {
public:
    __device__ task_context(const scheduler_work& of, const scheduler_queue& from, const worker& threads,
                            worker_memory& shared, unsigned its_ticket, unsigned long long its_position)
        : work_(of), queue_(from), worker_(threads), memory_(shared), ticket_(its_ticket), position_(its_position),
          over_(false) {}

    template <class T>
    __device__ T* argument() const {
        return (T*)work_.argument;
    }
    __device__ unsigned thread() const { return worker_.thread(); }
    __device__ unsigned threads() const { return worker_.threads(); }
    __device__ void sync() const { worker_.sync(); }
    __device__ bool stopping() const { return mode_of(work_) == mode_stop; }
    __device__ unsigned long long position() const { return position_; }

    template <class T>
    __device__ int push(const T& task, unsigned priority = 0) const {
        const scheduler_task made = scheduler_task::of(task, no_ticket);
        const int status = gpo::push(tasks_of(queue_), made, nanoseconds(1000000), priority);
        if (status != queue_success) atomic::add_relaxed(&words_of(work_)->refused_pushes, 1ull);
        return status;
    }
    template <class A>
    __device__ int answer(const A& reply, int status = 0) {
#if GPO_TASK_OF_HOST
        if (over_ || ticket_ == no_ticket || !takes_answer<A>(queue_)) return queue_invalid;
        if (!all_come_to(call_answer)) return queue_timeout;
        over_ = true;
        if (GPO_TASK_WORKER == 1) return gpo::answer(queue_, ticket_, status, reply);
        if (GPO_TASK_WORKER == 2) return warp_answer(queue_, ticket_, status, reply, worker_.mask);
        return block_answer(queue_, ticket_, status, reply);
#else
        (void)reply, (void)status;
        return queue_invalid;
#endif
    }
    template <class T>
    __device__ int again(const T& task) {
        if (over_) return queue_invalid;
        if (!all_come_to(call_again)) return queue_timeout;
        over_ = true;
        int status = queue_success;
        worker_.sync();
        if (worker_.first()) {
            const scheduler_task made = scheduler_task::of(task, ticket_);
            const unsigned together = worker::partners();
            const bound limit = GPO_TASK_OF_HOST ? partner_bound() : nanoseconds(1000000);
            status = gpo::push(tasks_of(queue_), made, limit, 0, together);
            if (status != queue_success) atomic::add_relaxed(&words_of(work_)->refused_pushes, 1ull);
            __syncwarp(together);
            done_many(tasks_of(queue_), 1);
        }
        return status;
    }
    /* Whether the task was answered, or put into the queue again. */
    __device__ bool over() const { return over_; }

private:
    /* Whether all of the worker's threads come to the call, with this task. Costs nothing if a warp comes together. */
    __device__ bool all_come_to(worker_call call) {
        if (GPO_TASK_WORKER == 1) return true;
        const lanes group(__activemask());
        if (GPO_TASK_WORKER == 2 && group.mask == worker::mask) return true;
        unsigned* const came = &memory_.came[call];
        const unsigned all = worker_.threads();
        if (group.first()) atomicAdd(came, group.count);
        patience waiting(partner_bound());
        for (;;) {
            const unsigned seen = *(volatile unsigned*)came;
            if ((seen & worker_memory::missed) != 0) return false;
            if (seen == all) return true;
            /* Succeeds only if no thread has come since the look, so all threads get the same verdict. */
            if (waiting.over())
                atomicCAS(came, seen, seen | worker_memory::missed);
            else
                waiting.give_way();
        }
    }

    const scheduler_work& work_;
    const scheduler_queue& queue_;
    const worker& worker_;
    worker_memory& memory_;
    const unsigned ticket_;
    const unsigned long long position_;
    bool over_;
};

/* The type of a handler's tasks. */
template <class T>
__device__ T task_type(int (*)(task_context&, const T&));

}  // namespace gpo

#include <gpuorch/device/scheduler_loop.cuh>

#endif
