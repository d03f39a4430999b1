/* mailbox.h: shared by completion.c and drain.c: sources of waits, and mailboxes, which end futures. */
#ifndef GPUORCH_MAILBOX_H
#define GPUORCH_MAILBOX_H

#include "gpuorch_python.h"

/* A kind of object to wait for. `value`: a timeline's value, a queue's tenant, which call of a scheduler. */
typedef struct source {
    enum class_id kind;
    /* Waits, without the GIL. GPO_TIMEOUT: not done yet. */
    gpo_status (*wait)(const gpo_api *api, void *handle, uint64_t value, int64_t timeout_ns);
    /* GPO_SUCCESS: done. Any other status: not done, or failed, which the notify reports. Doesn't block. NULL where
     * nothing can be notified. */
    gpo_status (*look)(const gpo_api *api, void *handle, uint64_t value);
    gpo_status (*notify)(const gpo_api *api, void *handle, uint64_t value, gpo_cq_t cq, uint64_t number);
} source;

/* The source and the handle of an object of Python's. TypeError: it can't be waited for. ValueError: it is closed. */
const source *source_of(PyObject *value, handle_object **handle);

/* Waits without the GIL until the descriptor is readable. 1: it is; 0: the time is over (deadline_ns of
 * CLOCK_MONOTONIC; INT64_MAX: never); -1: a signal's handler, or the system, has raised. */
int wait_readable(int descriptor, int64_t deadline_ns);
int64_t deadline_after(int64_t timeout_ns);

/* The failure of an entry as an exception object, with the details that the queue has of it. */
PyObject *entry_error(const gpo_api *api, gpo_cq_t cq, const gpo_completion *entry);

/* Adds the mailboxes (drain.c) to the module. */
int add_mailboxes(PyObject *module);

#endif
