/* closing.c: the ends of what can't be closed at once.
 *
 * - A thread, which never runs Python, destroys runtimes, and handles of kinds whose destruction may wait for the GPU.
 *   The thread starts with the first job and ends with the last.
 * - A pipeline that is collected during a run stays until the run has ended, and so does an executor whose threads
 *   still have callbacks to call. reap_closed() looks.
 * - A pipeline that is closed during a run is cancelled, and is destroyed when the run has ended. */
#include "objects.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define TRY_NS (10 * 1000 * 1000)        /* one try at a runtime's shutdown */
#define PAUSE_NS_MAX (100 * 1000 * 1000) /* between two tries */
#define PAUSE_NS_MIN (1000 * 1000)

/* A handle that the thread destroys. */
struct job {
    enum class_id kind;
    int left; /* a deterministic runtime has refused this thread: another has to shut it down */
    void *handle;
    PyObject *kept;
    struct leftovers *leftovers;
    struct job *next;
};

/* A pipeline whose run was cancelled. */
struct ending {
    void *handle, *runtime;
    int destroyed; /* by the end of its runtime */
    PyObject *kept;
    struct ending *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct job *jobs, *done; /* jobs: in order */
static int running, ended;
static unsigned tries;          /* jobs that the thread has in its hands */
static struct ending *endings;
static handle_object **busy;    /* collected objects that are busy, referenced */
static size_t busy_count, busy_room;
static int something;           /* atomic: there is something to reap */

int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * NS_PER_SECOND + time.tv_nsec;
}

static void prepare(void) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Under the lock. Returns 0 once the time is over. */
static int wait_until(int64_t time_ns) {
    const struct timespec until = {time_ns / NS_PER_SECOND, time_ns % NS_PER_SECOND};
    return pthread_cond_timedwait(&changed, &lock, &until) == 0 || now_ns() < time_ns;
}

/* --- the thread --- */

static int has_objects(void) {
    for (const struct job *job = jobs; job; job = job->next)
        if (job->kind != CLASS_RUNTIME) return 1;
    return 0;
}

/* Whether objects of the runtime are open, or in the list of jobs, which they enter before they count as closed. */
static int is_used(const void *runtime) {
    if (has_open_objects(runtime)) return 1;
    pthread_mutex_lock(&lock);
    const int found = has_objects();
    pthread_mutex_unlock(&lock);
    return found;
}

/* Whether the job is done, or is another thread's. */
static int try_job(const gpo_api *api, struct job *job, int64_t timeout_ns) {
    if (job->kind != CLASS_RUNTIME) {
        destroy_handle(api, job->kind, job->handle);
        return 1;
    }
    if (is_used(job->handle)) return 0;
    const gpo_status status = api->runtime_shutdown(job->handle, timeout_ns);
    job->left = status == GPO_INVALID_STATE;
    return status != GPO_TIMEOUT && status != GPO_WOULD_DEADLOCK;
}

static void append(struct job **list, struct job *job) {
    while (*list) list = &(*list)->next;
    job->next = NULL;
    *list = job;
}

/* Tries each job of the list once. Called under the lock, and unlocks during a try. Returns how many jobs are done. */
static unsigned turn(const gpo_api *api) {
    unsigned finished = 0, count = 0;
    for (struct job *job = jobs; job; job = job->next) ++count;
    for (; count > 0 && jobs && !ended; --count) {
        struct job *job = jobs;
        jobs = job->next;
        if (job->left) {
            append(&jobs, job);
            continue;
        }
        ++tries;
        pthread_mutex_unlock(&lock);
        const int is_done = try_job(api, job, TRY_NS);
        pthread_mutex_lock(&lock);
        --tries;
        finished += (unsigned)is_done;
        append(is_done && !job->left ? &done : &jobs, job);
        if (is_done) __atomic_store_n(&something, 1, __ATOMIC_RELEASE);
        pthread_cond_broadcast(&changed);
    }
    return finished;
}

static int has_jobs(void) {
    for (const struct job *job = jobs; job; job = job->next)
        if (!job->left) return 1;
    return 0;
}

static void *work(void *api) {
    int64_t pause = PAUSE_NS_MIN;
    pthread_mutex_lock(&lock);
    while (!ended && has_jobs()) {
        pause = turn(api) ? PAUSE_NS_MIN : 2 * pause < PAUSE_NS_MAX ? 2 * pause : PAUSE_NS_MAX;
        if (!ended && has_jobs()) wait_until(now_ns() + pause);
    }
    running = 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Under the lock. If the system has no thread to give, the next job tries again. */
static void start(void) {
    if (running || ended) return;
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for Python's threads */
    running = pthread_create(&thread, NULL, work, (void *)(uintptr_t)open_library()) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (running) pthread_detach(thread);
}

int close_later(enum class_id kind, void *handle, PyObject *kept, struct leftovers *leftovers) {
    struct job *job = calloc(1, sizeof *job);
    if (!job) return -1;
    *job = (struct job){.kind = kind, .handle = handle, .kept = kept, .leftovers = leftovers};
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
    append(&jobs, job);
    start();
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return 0;
}

void settle(int64_t timeout_ns) {
    pthread_once(&once, prepare);
    const int64_t end = now_ns() + timeout_ns;
    pthread_mutex_lock(&lock);
    while (running && (has_objects() || tries > 0) && wait_until(end)) continue;
    pthread_mutex_unlock(&lock);
}

void end_closing(const gpo_api *api, int64_t deadline_ns) {
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
    ended = 1;
    pthread_cond_broadcast(&changed);
    while (running && wait_until(deadline_ns)) continue;
    struct job *left = jobs;
    jobs = NULL;
    pthread_mutex_unlock(&lock);
    for (struct job *job = left; job; job = job->next)
        if (job->kind != CLASS_RUNTIME) destroy_handle(api, job->kind, job->handle);
    for (struct job *job = left; job; job = job->next) {
        const int64_t time = deadline_ns - now_ns();
        if (job->kind == CLASS_RUNTIME) api->runtime_shutdown(job->handle, time > 0 ? time : 0);
    }
    /* Objects that the jobs keep aren't released: the process ends. */
}

/* --- pipelines and executors --- */

int is_busy(const gpo_api *api, enum class_id kind, void *handle) {
    if (kind == CLASS_PIPELINE) {
        gpo_pipeline_progress progress = {.struct_size = sizeof progress};
        return api->pipeline_get_progress(handle, &progress) == GPO_SUCCESS && progress.running;
    }
    if (kind != CLASS_EXECUTOR) return 0;
    gpo_executor_statistics statistics = {.struct_size = sizeof statistics};
    return api->executor_get_statistics(handle, &statistics) == GPO_SUCCESS && statistics.threads > 0 &&
           statistics.pending > 0;
}

int hold_while_busy(handle_object *object) {
    pthread_mutex_lock(&lock);
    if (busy_count == busy_room) {
        const size_t room = busy_room ? 2 * busy_room : 8;
        handle_object **more = realloc(busy, room * sizeof *more);
        if (!more) {
            pthread_mutex_unlock(&lock);
            return -1;
        }
        busy = more;
        busy_room = room;
    }
    Py_INCREF((PyObject *)object);
    busy[busy_count++] = object;
    __atomic_store_n(&something, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return 0;
}

int end_pipeline(void *handle, void *runtime, PyObject *kept) {
    struct ending *one = calloc(1, sizeof *one);
    if (!one) return -1;
    *one = (struct ending){.handle = handle, .runtime = runtime, .kept = kept};
    open_library()->pipeline_cancel(handle);
    pthread_mutex_lock(&lock);
    one->next = endings;
    endings = one;
    __atomic_store_n(&something, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return 0;
}

/* A pipeline of the runtime that isn't destroyed yet, marked as destroyed; NULL: none is left. */
static void *take_undestroyed(const void *runtime) {
    void *handle = NULL;
    pthread_mutex_lock(&lock);
    for (struct ending *one = endings; one && !handle; one = one->next)
        if (one->runtime == runtime && !one->destroyed) {
            one->destroyed = 1;
            handle = one->handle;
        }
    pthread_mutex_unlock(&lock);
    return handle;
}

void destroy_ending(const void *runtime) {
    const gpo_api *api = open_library();
    for (void *handle = take_undestroyed(runtime); handle; handle = take_undestroyed(runtime))
        api->pipeline_destroy(handle); /* blocks on nothing */
}

/* A pipeline that was destroyed ends with its runtime. The library doesn't know the handle of an ended runtime. */
static int has_ended(const gpo_api *api, const struct ending *one) {
    if (!one->destroyed) return !is_busy(api, CLASS_PIPELINE, one->handle);
    gpo_statistics statistics = {.struct_size = sizeof statistics};
    return api->runtime_get_statistics(one->runtime, &statistics) == GPO_INVALID_HANDLE;
}

/* Takes the pipelines that have ended out of the list. */
static struct ending *take_endings(const gpo_api *api) {
    struct ending *taken = NULL;
    pthread_mutex_lock(&lock);
    for (struct ending **place = &endings; *place;) {
        struct ending *one = *place;
        if (!has_ended(api, one)) {
            place = &one->next;
            continue;
        }
        *place = one->next;
        one->next = taken;
        taken = one;
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

static handle_object *take_idle(const gpo_api *api) {
    handle_object *taken = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < busy_count && !taken; ++i) {
        void *handle = busy[i]->handle;
        if (handle && is_busy(api, busy[i]->kind, handle)) continue;
        taken = busy[i];
        busy[i] = busy[--busy_count];
    }
    pthread_mutex_unlock(&lock);
    return taken;
}

void reap_closed(void) {
    if (!__atomic_load_n(&something, __ATOMIC_ACQUIRE)) return;
    const gpo_api *api = open_library();
    pthread_mutex_lock(&lock);
    struct job *finished = done;
    done = NULL;
    pthread_mutex_unlock(&lock);
    while (finished) {
        struct job *job = finished;
        finished = job->next;
        free_leftovers(job->leftovers);
        Py_XDECREF(job->kept);
        free(job);
    }
    for (struct ending *one = take_endings(api); one;) {
        struct ending *next = one->next;
        if (!one->destroyed) api->pipeline_destroy(one->handle);
        Py_XDECREF(one->kept);
        free(one);
        one = next;
    }
    for (handle_object *idle = take_idle(api); idle; idle = take_idle(api)) Py_DECREF((PyObject *)idle);
    pthread_mutex_lock(&lock);
    __atomic_store_n(&something, done || endings || busy_count, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}
