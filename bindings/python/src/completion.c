/* completion.c: waits that end at signals.
 *
 * Only Python's main thread runs the handlers of signals. A wait on that thread first waits in the library for a
 * moment, which is the fastest way if the work is nearly done. Then the library is asked for an entry in a queue of the
 * thread's, and the queue's descriptor is polled. A signal interrupts the poll, the handler runs, and an exception of
 * the handler ends the wait. Things that can't be notified (a device, a scheduler, a host ring) are waited for in short
 * slices. Other threads wait in the library.
 *
 * The queues belong to the main thread, one for each runtime. A wait that ends early leaves an entry to come, which a
 * later wait drops. */
#include "mailbox.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS INT64_C(50000000) /* how late a signal may be seen where there is no descriptor */
#define FIRST_NS INT64_C(1000000)  /* the first wait, in the library */

enum { SCHEDULER_WAIT, SCHEDULER_DRAIN, SCHEDULER_STOP };

/* --- what can be waited for --- */

static gpo_status wait_stream(const gpo_api *api, void *handle, uint64_t value, int64_t timeout_ns) {
    (void)value;
    return api->stream_wait(handle, timeout_ns);
}

static gpo_status look_at_stream(const gpo_api *api, void *handle, uint64_t value) {
    (void)value;
    return api->stream_query(handle);
}

/* A notify on a stream waits for another thread's copy with memory that isn't pinned. Hence without the GIL. */
static gpo_status notify_stream(const gpo_api *api, void *handle, uint64_t value, gpo_cq_t cq, uint64_t number) {
    gpo_status status;
    (void)value;
    Py_BEGIN_ALLOW_THREADS
    status = api->stream_notify(handle, cq, number);
    Py_END_ALLOW_THREADS
    return status;
}

static gpo_status wait_event(const gpo_api *api, void *handle, uint64_t value, int64_t timeout_ns) {
    (void)value;
    return api->event_wait(handle, timeout_ns);
}

static gpo_status look_at_event(const gpo_api *api, void *handle, uint64_t value) {
    (void)value;
    return api->event_query(handle);
}

static gpo_status notify_event(const gpo_api *api, void *handle, uint64_t value, gpo_cq_t cq, uint64_t number) {
    gpo_status status;
    (void)value;
    Py_BEGIN_ALLOW_THREADS
    status = api->event_notify(handle, cq, number);
    Py_END_ALLOW_THREADS
    return status;
}

static gpo_status wait_timeline(const gpo_api *api, void *handle, uint64_t value, int64_t timeout_ns) {
    return api->timeline_wait(handle, value, timeout_ns);
}

static gpo_status look_at_timeline(const gpo_api *api, void *handle, uint64_t value) {
    uint64_t reached;
    const gpo_status status = api->timeline_get_value(handle, &reached);
    return status != GPO_SUCCESS ? status : reached >= value ? GPO_SUCCESS : GPO_NOT_READY;
}

static gpo_status notify_timeline(const gpo_api *api, void *handle, uint64_t value, gpo_cq_t cq, uint64_t number) {
    return api->timeline_notify(handle, value, cq, number);
}

static gpo_status wait_pipeline(const gpo_api *api, void *handle, uint64_t value, int64_t timeout_ns) {
    (void)value;
    return api->pipeline_wait(handle, timeout_ns, NULL);
}

static gpo_status look_at_pipeline(const gpo_api *api, void *handle, uint64_t value) {
    (void)value;
    return api->pipeline_wait(handle, 0, NULL);
}

static gpo_status notify_pipeline(const gpo_api *api, void *handle, uint64_t value, gpo_cq_t cq, uint64_t number) {
    (void)value;
    return api->pipeline_notify(handle, cq, number);
}

static gpo_status wait_device(const gpo_api *api, void *handle, uint64_t value, int64_t timeout_ns) {
    (void)value;
    return api->device_wait(handle, timeout_ns);
}

static gpo_status wait_scheduler(const gpo_api *api, void *handle, uint64_t value, int64_t timeout_ns) {
    return value == SCHEDULER_DRAIN  ? api->scheduler_drain(handle, timeout_ns)
           : value == SCHEDULER_STOP ? api->scheduler_stop(handle, timeout_ns)
                                     : api->scheduler_wait(handle, timeout_ns);
}

static gpo_status wait_queue(const gpo_api *api, void *handle, uint64_t value, int64_t timeout_ns) {
    return api->queue_wait(handle, (uint32_t)value, timeout_ns);
}

static gpo_status wait_cq(const gpo_api *api, void *handle, uint64_t value, int64_t timeout_ns) {
    (void)value;
    return api->cq_wait(handle, timeout_ns);
}

static const source sources[] = {{CLASS_STREAM, wait_stream, look_at_stream, notify_stream},
                                 {CLASS_EVENT, wait_event, look_at_event, notify_event},
                                 {CLASS_TIMELINE, wait_timeline, look_at_timeline, notify_timeline},
                                 {CLASS_PIPELINE, wait_pipeline, look_at_pipeline, notify_pipeline},
                                 {CLASS_DEVICE, wait_device, NULL, NULL},
                                 {CLASS_SCHEDULER, wait_scheduler, NULL, NULL},
                                 {CLASS_QUEUE, wait_queue, NULL, NULL},
                                 {CLASS_CQ, wait_cq, NULL, NULL}};

const source *source_of(PyObject *value, handle_object **handle) {
    if (!PyObject_TypeCheck(value, handle_type)) {
        PyErr_SetString(PyExc_TypeError, "what is waited for has to be an object of the library's");
        return NULL;
    }
    const enum class_id kind = ((handle_object *)value)->kind;
    *handle = check_handle(value, kind, class_entries[kind].name);
    if (!*handle) return NULL;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; ++i)
        if (sources[i].kind == kind) return &sources[i];
    PyErr_Format(PyExc_TypeError, "a %s can't be waited for", class_entries[kind].name);
    return NULL;
}

/* --- time and descriptors --- */

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t deadline_after(int64_t timeout_ns) {
    const int64_t now = now_ns();
    return timeout_ns < 0 || timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

static int64_t left_until(int64_t deadline_ns) {
    if (deadline_ns == INT64_MAX) return INT64_MAX;
    const int64_t left = deadline_ns - now_ns();
    return left < 0 ? 0 : left;
}

/* descriptor < 0: only the time. */
int wait_readable(int descriptor, int64_t deadline_ns) {
    for (;;) {
        const int64_t left = left_until(deadline_ns);
        const struct timespec time = {left / 1000000000, left % 1000000000};
        struct pollfd polled = {descriptor, POLLIN, 0};
        int count, error;
        Py_BEGIN_ALLOW_THREADS
        count = ppoll(&polled, descriptor >= 0, left == INT64_MAX ? NULL : &time, NULL);
        error = errno;
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals() < 0) return -1;
        if (count > 0) return 1;
        if (count == 0) return 0;
        if (error != EINTR) {
            errno = error;
            PyErr_SetFromErrno(PyExc_OSError);
            return -1;
        }
    }
}

int wait_for(gpo_cq_t cq, int64_t timeout_ns, int (*poll)(void *context), void *context) {
    const int64_t deadline = deadline_after(timeout_ns);
    const gpo_api *api = library();
    int32_t descriptor = -1;
    if (!api) return -1;
    if (cq) {
        const gpo_status status = api->cq_get_fd(cq, &descriptor);
        if (status != GPO_SUCCESS) return raise_status(status), -1;
    }
    int answer = poll ? poll(context) : 0;
    while (answer == 0 && left_until(deadline) > 0) {
        const int64_t slice = cq || left_until(deadline) < SLICE_NS ? deadline : now_ns() + SLICE_NS;
        answer = wait_readable(descriptor, slice);
        if (answer == 0 && poll) answer = poll(context);
    }
    if (descriptor >= 0) close(descriptor);
    return answer;
}

PyObject *entry_error(const gpo_api *api, gpo_cq_t cq, const gpo_completion *entry) {
    gpo_error details = {.struct_size = sizeof details};
    const int known = entry->error_id && api->cq_get_error(cq, entry->error_id, &details) == GPO_SUCCESS;
    return make_error(entry->status, known ? &details : NULL);
}

/* --- the main thread's queues --- */

/* A wait in progress. A handler that a signal runs in the wait may begin another one. */
typedef struct wait_entry {
    uint64_t number;
    int came;
    gpo_completion entry;
    struct wait_entry *outer;
} wait_entry;

typedef struct own_queue {
    void *runtime;
    gpo_cq_t cq;
    int descriptor;
    int users;
    struct own_queue *next;
} own_queue;

static own_queue *own_queues;
static wait_entry *waits;
static uint64_t last_number;

static void drain_own(const gpo_api *api, gpo_cq_t cq, gpo_status *status) {
    gpo_completion entries[16];
    uint64_t count = 0;
    do {
        *status = api->cq_drain(cq, entries, sizeof entries[0], 16, &count);
        for (uint64_t i = 0; *status == GPO_SUCCESS && i < count; ++i) {
            wait_entry *w = waits;
            while (w && w->number != entries[i].user_data) w = w->outer;
            if (!w) continue;
            w->entry = entries[i];
            w->came = 1;
        }
    } while (*status == GPO_SUCCESS && count == 16);
}

/* Destroys the queues of runtimes that have shut down. */
static void forget_runtimes(const gpo_api *api) {
    for (own_queue **at = &own_queues; *at;) {
        own_queue *q = *at;
        gpo_status status = GPO_SUCCESS;
        if (q->users == 0) drain_own(api, q->cq, &status);
        if (status == GPO_SUCCESS) {
            at = &q->next;
            continue;
        }
        *at = q->next;
        api->cq_destroy(q->cq);
        close(q->descriptor);
        free(q);
    }
}

static own_queue *queue_of(const gpo_api *api, handle_object *object) {
    handle_object *runtime = ancestor(object, CLASS_RUNTIME);
    if (!runtime || !runtime->handle) {
        PyErr_SetString(PyExc_ValueError, "runtime is closed");
        return NULL;
    }
    for (own_queue *q = own_queues; q; q = q->next)
        if (q->runtime == runtime->handle) return q;
    forget_runtimes(api);
    own_queue *q = malloc(sizeof *q);
    if (!q) return (own_queue *)PyErr_NoMemory();
    const gpo_cq_options options = {.struct_size = sizeof options, .capacity = 1024};
    gpo_cq_t cq = NULL;
    int32_t descriptor = -1;
    gpo_status status = api->cq_create(runtime->handle, &options, &cq);
    if (status == GPO_SUCCESS) status = api->cq_get_fd(cq, &descriptor);
    if (status != GPO_SUCCESS) {
        raise_status(status);
        if (cq) api->cq_destroy(cq);
        free(q);
        return NULL;
    }
    *q = (own_queue){runtime->handle, cq, descriptor, 0, own_queues};
    return own_queues = q;
}

/* --- waits --- */

/* Python's main thread: 1, any other: 0; -1. */
static int on_main_thread(void) {
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *number = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    const unsigned long main = number ? PyLong_AsUnsignedLong(number) : 0;
    Py_XDECREF(threading);
    Py_XDECREF(thread);
    Py_XDECREF(number);
    return PyErr_Occurred() ? -1 : main == PyThread_get_thread_ident();
}

static gpo_status call_wait(const gpo_api *api, const source *what, void *handle, uint64_t value, int64_t timeout_ns) {
    gpo_status status;
    Py_BEGIN_ALLOW_THREADS
    status = what->wait(api, handle, value, timeout_ns);
    Py_END_ALLOW_THREADS
    return status;
}

/* The wait in slices, each followed by the handlers of signals. 0, or -1. */
static int wait_in_slices(const gpo_api *api, const source *what, void *handle, uint64_t value, int64_t deadline_ns,
                          gpo_status *status) {
    do {
        const int64_t left = left_until(deadline_ns);
        *status = call_wait(api, what, handle, value, left < SLICE_NS ? left : SLICE_NS);
        if (PyErr_CheckSignals() < 0) return -1;
    } while (*status == GPO_TIMEOUT && left_until(deadline_ns) > 0);
    return 0;
}

static int own_entry_came(const gpo_api *api, own_queue *q, wait_entry *w, int64_t deadline_ns) {
    for (;;) {
        gpo_status status;
        drain_own(api, q->cq, &status);
        if (w->came) return 1;
        if (status != GPO_SUCCESS) return raise_status(status), -1;
        const int readable = wait_readable(q->descriptor, deadline_ns);
        if (readable <= 0) return readable;
    }
}

/* The wait by an entry in the main thread's queue. A failure of the work is raised here. 0, or -1. */
static int wait_by_entry(const gpo_api *api, const source *what, handle_object *object, uint64_t value,
                         int64_t deadline_ns, gpo_status *status) {
    own_queue *q = queue_of(api, object);
    if (!q) return -1;
    wait_entry w = {.number = ++last_number, .outer = waits};
    ++q->users;
    *status = what->notify(api, object->handle, value, q->cq, w.number);
    if (*status != GPO_SUCCESS) {
        --q->users;
        /* If entries of a thousand waits that ended early are still to come, there is no room for another. */
        if (*status != GPO_WOULD_BLOCK) return 0;
        return wait_in_slices(api, what, object->handle, value, deadline_ns, status);
    }
    waits = &w;
    const int came = own_entry_came(api, q, &w, deadline_ns);
    --q->users;
    waits = w.outer;
    if (came < 0) return -1;
    *status = came ? w.entry.status : GPO_TIMEOUT;
    if (!came || w.entry.status == GPO_SUCCESS || what->kind == CLASS_PIPELINE) return 0;
    PyObject *error = entry_error(api, q->cq, &w.entry);
    if (error) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    return -1;
}

/* A wait for a completion queue of the program's: its own descriptor is polled. A wake that another wait has used
 * leaves the descriptor readable, until the next drain. */
static int wait_for_queue(const gpo_api *api, const source *what, void *handle, int64_t deadline_ns,
                          gpo_status *status) {
    const int64_t left = left_until(deadline_ns);
    if (wait_for(handle, left == INT64_MAX ? -1 : left, NULL, NULL) < 0) return -1;
    *status = api->cq_wait(handle, 0);
    return *status == GPO_TIMEOUT ? wait_in_slices(api, what, handle, 0, deadline_ns, status) : 0;
}

/* Whether a notify may block: another thread is in a call that puts work on a stream, and a copy from or to memory that
 * isn't pinned holds the stream until the GPU has done it. */
static int may_block(enum class_id kind, handle_object *object) {
    const handle_object *runtime = ancestor(object, CLASS_RUNTIME);
    return (kind == CLASS_STREAM || kind == CLASS_EVENT) && runtime && has_calls(runtime);
}

/* Waits as wait() below. 0: the wait has ended with this status, which isn't raised yet; -1. */
static int wait_until(const gpo_api *api, const source *what, handle_object *object, uint64_t value, int64_t timeout_ns,
                      gpo_status *status) {
    const int64_t deadline = deadline_after(timeout_ns);
    const int64_t first = timeout_ns < 0 || timeout_ns > FIRST_NS ? FIRST_NS : timeout_ns;
    void *handle = object->handle;
    *status = call_wait(api, what, handle, value, first);
    if (*status != GPO_TIMEOUT || first == timeout_ns) return 0;
    if (PyErr_CheckSignals() < 0) return -1;
    const int on_main = on_main_thread();
    if (on_main < 0) return -1;
    const int64_t left = left_until(deadline);
    if (!on_main) *status = call_wait(api, what, handle, value, left == INT64_MAX ? -1 : left);
    if (!on_main) return 0;
    if (what->kind == CLASS_CQ) return wait_for_queue(api, what, handle, deadline, status);
    if (!what->notify || may_block(what->kind, object))
        return wait_in_slices(api, what, handle, value, deadline, status);
    return wait_by_entry(api, what, object, value, deadline, status);
}

/* The figures of the pipeline's run that has ended, or None if another run has begun. */
static PyObject *pipeline_result(const gpo_api *api, void *handle) {
    gpo_pipeline_result result = {.struct_size = sizeof result};
    const gpo_status status = api->pipeline_wait(handle, 0, &result);
    if (status == GPO_TIMEOUT) Py_RETURN_NONE;
    if (status != GPO_SUCCESS) return raise_status(status);
    return struct_record(&struct_entries[STRUCT_PIPELINE_RESULT], &result);
}

static PyObject *raise_wait(enum class_id kind, uint64_t value, gpo_status status) {
    const int is_scheduler = kind == CLASS_SCHEDULER;
    const int drains = is_scheduler && value == SCHEDULER_DRAIN, stops = is_scheduler && value == SCHEDULER_STOP;
    const char *verb = drains ? "drain" : stops ? "stop" : "wait";
    char function[64];
    snprintf(function, sizeof function, "gpo_%s_%s", class_entries[kind].name, verb);
    return raise_status_of(status, function);
}

/* wait(object[, timeout[, value]]): returns None, or a pipeline's figures. For a host ring, returns True if an answer
 * can be taken, and False if no answer will come. Raises Timeout, and the failure of the object's work. */
static PyObject *wait_object(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    handle_object *object;
    int64_t timeout_ns = -1;
    gpo_status status;
    if (count < 1 || count > 3) return PyErr_Format(PyExc_TypeError, "wait() takes 1 to 3 arguments");
    const source *what = source_of(given[0], &object);
    if (!what || (count > 1 && read_timeout(given[1], &timeout_ns) < 0)) return NULL;
    const uint64_t value = count > 2 ? PyLong_AsUnsignedLongLong(given[2]) : 0;
    if (value == UINT64_MAX && PyErr_Occurred()) return NULL;
    if (what->kind == CLASS_QUEUE && value > UINT32_MAX)
        return PyErr_Format(PyExc_OverflowError, "tenant: %llu doesn't fit in 32 bits", (unsigned long long)value);
    const gpo_api *api = library();
    void *handle = object->handle;
    if (!api || wait_until(api, what, object, value, timeout_ns, &status) < 0) return NULL;
    if (what->kind == CLASS_QUEUE && (status == GPO_SUCCESS || status == GPO_END))
        return PyBool_FromLong(status == GPO_SUCCESS);
    if (what->kind == CLASS_PIPELINE && status != GPO_TIMEOUT) return pipeline_result(api, handle);
    if (status != GPO_SUCCESS) return raise_wait(what->kind, value, status);
    Py_RETURN_NONE;
}

/* run(executor[, timeout[, poll]]): runs callbacks until none is pending or the time is over; how many ran. */
static PyObject *run_executor(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    int64_t timeout_ns = -1;
    if (count < 1 || count > 3) return PyErr_Format(PyExc_TypeError, "run() takes 1 to 3 arguments");
    handle_object *executor = check_handle(given[0], CLASS_EXECUTOR, "executor");
    if (!executor || (count > 1 && read_timeout(given[1], &timeout_ns) < 0)) return NULL;
    const gpo_api *api = library();
    if (!api) return NULL;
    const int64_t deadline = deadline_after(timeout_ns);
    void *handle = executor->handle;
    uint64_t sum = 0, ran;
    gpo_status status;
    do {
        const int64_t left = left_until(deadline);
        ran = 0;
        Py_BEGIN_ALLOW_THREADS
        status = count == 3 ? api->executor_poll(handle, &ran)
                            : api->executor_run_for(handle, left < SLICE_NS ? left : SLICE_NS, &ran);
        Py_END_ALLOW_THREADS
        sum += ran;
        if (PyErr_Occurred() || PyErr_CheckSignals() < 0) return NULL; /* a callback left an exception behind */
    } while (status == GPO_TIMEOUT && left_until(deadline) > 0);
    if (status != GPO_SUCCESS && status != GPO_TIMEOUT) return raise_status(status);
    return PyLong_FromUnsignedLongLong(sum);
}

/* failure(cq, status, error_id): the exception of an entry. */
static PyObject *failure_of_entry(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *queue;
    gpo_completion entry = {.struct_size = sizeof entry};
    unsigned long long error_id;
    if (!PyArg_ParseTuple(arguments, "OiK:failure", &queue, &entry.status, &error_id)) return NULL;
    handle_object *cq = check_handle(queue, CLASS_CQ, "cq");
    const gpo_api *api = cq ? library() : NULL;
    entry.error_id = error_id;
    return api ? entry_error(api, cq->handle, &entry) : NULL;
}

/* take(cq[, most]): a list of the entries that were drained, as records, or None if no entry will come any more. */
static PyObject *take_entries(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    enum { MOST = 256 };
    gpo_completion entries[MOST];
    uint64_t drained = 0, most = MOST;
    if (count != 1 && count != 2) return PyErr_Format(PyExc_TypeError, "take() takes 1 or 2 arguments");
    handle_object *cq = check_handle(given[0], CLASS_CQ, "cq");
    if (cq && count == 2) most = PyLong_AsUnsignedLongLong(given[1]);
    const gpo_api *api = cq && !PyErr_Occurred() ? library() : NULL;
    if (!api) return NULL;
    if (most > MOST) most = MOST;
    const gpo_status status = api->cq_drain(cq->handle, entries, sizeof entries[0], most, &drained);
    if (status == GPO_SHUT_DOWN) Py_RETURN_NONE;
    if (status != GPO_SUCCESS) return raise_status(status);
    PyObject *list = PyList_New(0);
    for (uint64_t i = 0; list && i < drained; ++i) {
        PyObject *record = struct_record(&struct_entries[STRUCT_COMPLETION], &entries[i]);
        if (!record || PyList_Append(list, record) < 0) Py_CLEAR(list);
        Py_XDECREF(record);
    }
    return list;
}

static PyMethodDef functions[] = {
    {"wait", (PyCFunction)(void (*)(void))wait_object, METH_FASTCALL,
     "wait(object[, timeout[, value]]): waits without the GIL; signals end the wait."},
    {"run", (PyCFunction)(void (*)(void))run_executor, METH_FASTCALL,
     "run(executor[, timeout[, poll]]): runs callbacks; how many ran."},
    {"failure", failure_of_entry, METH_VARARGS, "failure(cq, status, error_id): the exception of an entry."},
    {"take", (PyCFunction)(void (*)(void))take_entries, METH_FASTCALL,
     "take(cq[, most]): a list of entries; None: no entry will come any more."},
    {NULL, NULL, 0, NULL}};

int add_completions(PyObject *module) {
    if (PyModule_AddFunctions(module, functions) < 0) return -1;
    return add_mailboxes(module);
}
