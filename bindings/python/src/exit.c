/* exit.c: the step that Python's end takes (atexit): stops running work, and shuts all runtimes down within a second.
 * After the step, the library is called no more. */
#include "objects.h"

#include <stdlib.h>

#define END_NS NS_PER_SECOND

static void stop_pipeline(const gpo_api *api, void *handle, int none) {
    (void)none;
    if (is_busy(api, CLASS_PIPELINE, handle)) api->pipeline_cancel(handle);
}

static void stop_scheduler(const gpo_api *api, void *handle, int none) {
    (void)none;
    api->scheduler_stop(handle, 0);
}

/* Open handles. Closing a handle meanwhile does no harm, because the library recognizes closed handles. */
typedef struct handles {
    void *all[256];
    size_t count;
} handles;

static handles runtimes, late_runtimes, executors;

static void note(handles *list, void *handle) {
    if (list->count < sizeof list->all / sizeof *list->all) list->all[list->count++] = handle;
}

static void note_runtime(const gpo_api *api, void *handle, int is_exported) {
    (void)api;
    note(is_exported ? &late_runtimes : &runtimes, handle);
}

static void note_executor(const gpo_api *api, void *handle, int none) {
    (void)api, (void)none;
    note(&executors, handle);
}

static void shut_down_all(const gpo_api *api, handles *list, int64_t deadline_ns) {
    for (size_t i = 0; i < list->count; ++i) {
        const int64_t left = deadline_ns - now_ns();
        api->runtime_shutdown(list->all[i], left > 0 ? left : 0);
    }
    list->count = 0;
}

/* After the interpreter. Nothing calls Python any more: the executors are destroyed. */
static void shut_down_late(void) { shut_down_all(open_library(), &late_runtimes, now_ns() + END_NS); }

static void end_all(const gpo_api *api) {
    const int64_t deadline = now_ns() + END_NS;
    each_open_handle(CLASS_PIPELINE, stop_pipeline);
    each_open_handle(CLASS_SCHEDULER, stop_scheduler);
    wait_for_calls_at_end(deadline - END_NS / 2);
    end_closing(api, deadline);
    each_open_handle(CLASS_RUNTIME, note_runtime);
    for (size_t i = 0; i < runtimes.count; ++i) destroy_ending(runtimes.all[i]);
    shut_down_all(api, &runtimes, deadline);
    if (late_runtimes.count == 0) return;
    each_open_handle(CLASS_EXECUTOR, note_executor);
    for (size_t i = 0; i < executors.count; ++i) api->executor_destroy(executors.all[i]);
}

static PyObject *end(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    const gpo_api *api = open_library();
    if (!api || is_over()) {
        set_over();
        Py_RETURN_NONE;
    }
    settle_loans();
    warn_of_open_handles();
    mark_runtimes();
    Py_BEGIN_ALLOW_THREADS
    end_all(api);
    Py_END_ALLOW_THREADS
    /* Arrays of others may still use memory of these runtimes, until the interpreter has ended. */
    if (late_runtimes.count > 0 && Py_AtExit(shut_down_late) < 0) late_runtimes.count = 0;
    set_over();
    if (PyErr_Occurred()) return NULL; /* of a callback that a shutdown has run */
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"end", end, METH_NOARGS, "end()\n--\n\nShuts all runtimes down. Nothing of the library can be used any more."},
    {NULL, NULL, 0, NULL}};

int add_exit(PyObject *module) { return PyModule_AddFunctions(module, functions); }
