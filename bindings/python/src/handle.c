/* handle.c: handles of the library as Python objects: how they are made, closed and collected.
 *
 * Objects hold the object that they were made from, so a runtime is collected last. Collecting runs in tp_finalize,
 * before the garbage collector takes cycles apart: an executor calls its callbacks there, and all that they lead to is
 * whole. Some objects aren't collected at once (closing.c). A thread closes runtimes, and kinds that may have to wait.
 * A pipeline during a run, an executor with callbacks, and objects that the program or the GPU may use unseen
 * (`exposed`) stay open for a while. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "objects.h"

#define SLICE_NS (50 * 1000 * 1000)   /* a shutdown looks for signals this often */
#define SETTLE_NS (100 * 1000 * 1000) /* a shutdown waits this long for jobs of the closing thread */
#define PAUSE_NS_MIN (20 * 1000)      /* a shutdown that waits for calls looks this often, at first */
#define PAUSE_NS_MAX (1000 * 1000)

static PyTypeObject *classes[CLASS_COUNT]; /* that Python has registered */

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static handle_object *first; /* the list of all open handles */

void *read_handle(const handle_object *object) { return __atomic_load_n(&object->handle, __ATOMIC_ACQUIRE); }

/* --- the list of open handles --- */

static void link_handle(handle_object *object) {
    pthread_mutex_lock(&list_lock);
    object->next = first;
    if (first) first->previous = object;
    first = object;
    pthread_mutex_unlock(&list_lock);
}

static void unlink_locked(handle_object *object) {
    if (object->previous) object->previous->next = object->next;
    else if (first == object) first = object->next;
    if (object->next) object->next->previous = object->previous;
    object->previous = object->next = NULL;
}

/* A second call does no harm. A forked child leaves the list as it is. */
void unlink_handle(handle_object *object) {
    if (is_over()) return;
    pthread_mutex_lock(&list_lock);
    unlink_locked(object);
    pthread_mutex_unlock(&list_lock);
}

int has_open_objects(const void *runtime) {
    int found = 0;
    pthread_mutex_lock(&list_lock);
    for (const handle_object *one = first; one && !found; one = one->next)
        found = one->runtime == runtime && read_handle(one) && one->kind != CLASS_RUNTIME && one->kind != CLASS_CQ;
    pthread_mutex_unlock(&list_lock);
    return found;
}

void each_open_handle(enum class_id kind, handle_visitor visit) {
    const gpo_api *api = open_library();
    pthread_mutex_lock(&list_lock);
    for (const handle_object *one = first; one; one = one->next)
        if (one->kind == kind && one->handle && !one->borrowed)
            visit(api, one->handle, kind == CLASS_RUNTIME && !__atomic_load_n(&one->ending, __ATOMIC_ACQUIRE));
    pthread_mutex_unlock(&list_lock);
}

void mark_runtimes(void) {
    pthread_mutex_lock(&list_lock);
    for (handle_object *one = first; one; one = one->next)
        if (one->kind == CLASS_RUNTIME && __atomic_load_n(&one->exports, __ATOMIC_ACQUIRE) <= 0)
            __atomic_store_n(&one->ending, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&list_lock);
}

/* --- calls that use memory --- */

int refuse_entry(handle_object *runtime) {
    const int is_open = read_handle(runtime) != NULL;
    if (is_open && in_callback()) return 0;
    leave_runtime(runtime);
    PyErr_Format(PyExc_ValueError, "the call was refused: its runtime is %s", is_open ? "being closed" : "closed");
    return -1;
}

/* A pause between two looks at the calls: each is longer than the one before. */
static void pause_for(int64_t *pause_ns, int64_t most_ns) {
    const int64_t now = *pause_ns < most_ns ? *pause_ns : most_ns;
    const struct timespec time = {.tv_nsec = now > 0 ? now : 0};
    nanosleep(&time, NULL);
    if (*pause_ns < PAUSE_NS_MAX) *pause_ns *= 2;
}

static int has_calls(const handle_object *runtime) {
    return __atomic_load_n(&runtime->calls, __ATOMIC_SEQ_CST) > 0;
}

/* Waits until the runtime has no calls under way that use memory. The runtime is marked, so new calls are refused. A
 * callback of the runtime doesn't wait: it may run inside such a call, and the library refuses the shutdown. */
static int wait_for_calls(handle_object *runtime, const void *handle, int64_t timeout_ns) {
    if (!has_calls(runtime) || in_callback_of(handle)) return 0;
    const int64_t start = now_ns();
    int64_t pause = PAUSE_NS_MIN;
    while (has_calls(runtime)) {
        const int64_t left = timeout_ns < 0 ? PAUSE_NS_MAX : timeout_ns - (now_ns() - start);
        if (left <= 0) {
            gpo_error details = {.struct_size = sizeof details, .status = GPO_TIMEOUT};
            snprintf(details.function, sizeof details.function, "gpo_runtime_shutdown");
            snprintf(details.object, sizeof details.object, "runtime");
            snprintf(details.message, sizeof details.message, "calls of other threads still use the runtime's memory");
            PyObject *error = make_error(GPO_TIMEOUT, &details);
            if (error) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
            Py_XDECREF(error);
            return -1;
        }
        Py_BEGIN_ALLOW_THREADS
        pause_for(&pause, left);
        Py_END_ALLOW_THREADS
        if (PyErr_CheckSignals() < 0) return -1;
    }
    return 0;
}

static int has_ending_calls(void) {
    int found = 0;
    pthread_mutex_lock(&list_lock);
    for (const handle_object *one = first; one && !found; one = one->next)
        found = one->kind == CLASS_RUNTIME && __atomic_load_n(&one->ending, __ATOMIC_ACQUIRE) && has_calls(one);
    pthread_mutex_unlock(&list_lock);
    return found;
}

void wait_for_calls_at_end(int64_t deadline_ns) {
    int64_t pause = PAUSE_NS_MIN;
    while (has_ending_calls() && now_ns() < deadline_ns) pause_for(&pause, PAUSE_NS_MAX);
}

int is_ending(handle_object *object) {
    const handle_object *runtime = ancestor(object, CLASS_RUNTIME);
    return runtime && __atomic_load_n(&runtime->ending, __ATOMIC_ACQUIRE) && !in_callback();
}

size_t list_open_handles(open_handle *open, size_t room) {
    size_t count = 0;
    pthread_mutex_lock(&list_lock);
    for (handle_object *one = first; one && count < room; one = one->next)
        if (one->handle && !one->borrowed)
            open[count++] = (open_handle){one->kind, one->handle, handle_of_device(one)};
    pthread_mutex_unlock(&list_lock);
    return count;
}

/* --- reading --- */

/* The caller that gets the handle closes it. */
static void *take_handle(handle_object *object) { return __atomic_exchange_n(&object->handle, NULL, __ATOMIC_ACQ_REL); }

int is_handle(PyObject *value) { return value && PyObject_TypeCheck(value, handle_type); }

handle_object *check_handle(PyObject *value, enum class_id kind, const char *parameter) {
    handle_object *object = (handle_object *)value;
    if (!is_handle(value) || (kind != CLASS_ANY && object->kind != kind)) {
        PyObject *name = PyType_GetQualName(Py_TYPE(value));
        if (name)
            PyErr_Format(PyExc_TypeError, "%s has to be a gpuorch.%s, not %U", parameter,
                         kind == CLASS_ANY ? "Handle" : class_entries[kind].type_name, name);
        Py_XDECREF(name);
        return NULL;
    }
    if (read_handle(object)) return object;
    PyErr_Format(PyExc_ValueError, "%s is closed", parameter);
    return NULL;
}

handle_object *ancestor(handle_object *object, enum class_id kind) {
    while (object && object->kind != kind) object = is_handle(object->parent) ? (handle_object *)object->parent : NULL;
    return object;
}

void *handle_of_device(handle_object *object) {
    const handle_object *device = ancestor(object, CLASS_DEVICE);
    return device ? read_handle(device) : NULL;
}

/* --- making --- */

void set_handle_class(enum class_id kind, PyTypeObject *type) {
    PyTypeObject *before = classes[kind];
    classes[kind] = (PyTypeObject *)Py_NewRef((PyObject *)type);
    Py_XDECREF((PyObject *)before);
}

gpo_status destroy_handle(const gpo_api *api, enum class_id kind, void *handle) {
    return class_entries[kind].destroy(api, handle);
}

/* A stream of a pool goes back to it. */
static gpo_status destroy(const gpo_api *api, const handle_object *object, void *handle) {
    const handle_object *parent = is_handle(object->parent) ? (handle_object *)object->parent : NULL;
    if (object->kind != CLASS_STREAM || !parent || parent->kind != CLASS_STREAM_POOL)
        return destroy_handle(api, object->kind, handle);
    void *pool = read_handle(parent);
    return pool ? api->stream_pool_release(pool, handle) : GPO_SUCCESS;
}

PyObject *new_handle(enum class_id kind, void *handle, PyObject *parent) {
    library_is_used();
    PyTypeObject *type = classes[kind];
    if (!type)
        PyErr_Format(PyExc_RuntimeError, "no class is registered for %s: import gpuorch", class_entries[kind].name);
    handle_object *object = type ? (handle_object *)PyType_GenericAlloc(type, 0) : NULL;
    if (!object) {
        handle_object lost = {.kind = kind, .parent = parent};
        destroy(open_library(), &lost, handle);
        return NULL;
    }
    object->kind = kind;
    object->parent = Py_XNewRef(parent);
    const handle_object *above = is_handle(parent) ? (handle_object *)parent : NULL;
    object->runtime = kind == CLASS_RUNTIME ? handle : above ? above->runtime : NULL;
    object->handle = handle;
    link_handle(object);
    reap();
    return (PyObject *)object;
}

#ifndef Py_BEGIN_CRITICAL_SECTION /* with the GIL every section is one */
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

int keep(handle_object *owner, PyObject *object) {
    int result = -1;
    Py_BEGIN_CRITICAL_SECTION(owner);
    if (!owner->kept) owner->kept = PyList_New(0);
    if (owner->kept) result = PyList_Append(owner->kept, object);
    Py_END_CRITICAL_SECTION();
    return result;
}

/* The place of what is kept under a name; -1: there is none. */
static Py_ssize_t place_of(PyObject *kept, const char *name) {
    for (Py_ssize_t i = kept ? PyList_Size(kept) : 0; i-- > 0;) {
        PyObject *one = PyList_GetItem(kept, i);
        PyObject *its = one && PyTuple_Check(one) && PyTuple_Size(one) == 2 ? PyTuple_GetItem(one, 0) : NULL;
        if (its && PyUnicode_Check(its) && PyUnicode_CompareWithASCIIString(its, name) == 0) return i;
    }
    return -1;
}

int keep_as(handle_object *owner, const char *name, PyObject *object) {
    PyObject *pair = Py_BuildValue("(sO)", name, object);
    if (!pair) return -1;
    int result;
    Py_BEGIN_CRITICAL_SECTION(owner);
    const Py_ssize_t place = place_of(owner->kept, name);
    result = place < 0 ? keep(owner, pair) : PyList_SetItem(owner->kept, place, Py_NewRef(pair));
    Py_END_CRITICAL_SECTION();
    Py_DECREF(pair);
    return result;
}

void add_export(PyObject *owner, Py_ssize_t by) {
    for (; is_handle(owner); owner = ((handle_object *)owner)->parent)
        __atomic_add_fetch(&((handle_object *)owner)->exports, by, __ATOMIC_ACQ_REL);
}

/* Whether the end of the handle frees memory that arrays stand for. Memory of a closed arena, pool or device stays
 * until the runtime ends. */
static int frees_memory(const handle_object *object) {
    return !object->borrowed &&
           (object->kind == CLASS_RUNTIME || object->kind == CLASS_TEMPLATE || object->kind == CLASS_BUCKETS);
}

const char *memory_ended_with(const handle_object *object) {
    const char *name = NULL;
    for (; object; object = is_handle(object->parent) ? (handle_object *)object->parent : NULL)
        if (frees_memory(object) && !read_handle(object)) name = class_entries[object->kind].name;
    return name;
}

/* Drops what finished work of the runtime's streams has used. */
static void drop_finished(const void *runtime) {
    const gpo_api *api = open_library();
    struct in_flight *finished[64];
    size_t count = 0;
    pthread_mutex_lock(&list_lock);
    for (handle_object *one = first; one && count < 64; one = one->next) {
        if (one->kind != CLASS_STREAM || one->runtime != runtime || !one->handle || !one->in_flight) continue;
        api->stream_query(one->handle); /* the library looks only for whoever asks */
        if ((finished[count] = take_finished(one))) ++count;
    }
    pthread_mutex_unlock(&list_lock);
    while (count > 0) free_in_flight(finished[--count]);
    reap();
}

/* Raises an exception if others use memory that the close would free. */
static int check_exports(handle_object *object) {
    if (!frees_memory(object)) return 0;
    settle_loans();
    if (__atomic_load_n(&object->exports, __ATOMIC_ACQUIRE) <= 0) return 0;
    drop_finished(object->runtime);
    settle_loans();
    if (__atomic_load_n(&object->exports, __ATOMIC_ACQUIRE) <= 0) return 0;
    PyErr_Format(PyExc_BufferError,
                 "the %s can't be closed: buffers or arrays of others use its memory: release them first",
                 class_entries[object->kind].name);
    return -1;
}

void reap(void) {
    if (is_over() || !open_library()) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    reap_closed();
    reap_leftovers();
    PyErr_Restore(type, value, traceback);
}

/* --- closing --- */

/* After a runtime's shutdown: closes all objects made from the runtime, except queues, which can be drained. */
static void close_descendants(const void *runtime) {
    struct in_flight *dropped[64];
    size_t count;
    do {
        count = 0;
        pthread_mutex_lock(&list_lock);
        for (handle_object *one = first, *next; one && count < 64; one = next) {
            next = one->next;
            if (one->runtime != runtime || one->kind == CLASS_CQ) continue;
            take_handle(one);
            dropped[count++] = one->in_flight;
            one->in_flight = NULL;
            unlink_locked(one);
        }
        pthread_mutex_unlock(&list_lock);
        for (size_t i = 0; i < count; ++i) free_in_flight(dropped[i]);
    } while (count == 64);
}

static void runtime_is_gone(handle_object *object, const void *runtime) {
    take_handle(object);
    unlink_handle(object);
    close_descendants(runtime);
    drop_leftovers(object->leftovers);
    Py_CLEAR(object->kept);
    reap();
}

/* True for the statuses of an object that is closed already, by another thread or with its runtime, pool or buckets. */
static int is_gone(gpo_status status) {
    return status == GPO_INVALID_HANDLE || status == GPO_STALE_HANDLE || status == GPO_SHUT_DOWN ||
           status == GPO_FORKED;
}

/* Runs one slice of a shutdown. */
static gpo_status shut_down_for(const gpo_api *api, void *handle, int64_t time_ns) {
    gpo_status status;
    Py_BEGIN_ALLOW_THREADS
    status = api->runtime_shutdown(handle, time_ns);
    Py_END_ALLOW_THREADS
    return status;
}

/* Without the GIL another thread could use memory that the shutdown has just freed: the runtime is marked, and calls
 * that other threads have begun before are waited for. */
static int end_runtime(handle_object *object, void *handle, int64_t timeout_ns) {
    const int64_t start = now_ns();
    if (check_exports(object) < 0 || wait_for_calls(object, handle, timeout_ns) < 0) return -1;
    const gpo_api *api = open_library();
    const int64_t rest = timeout_ns < 0 ? SETTLE_NS : timeout_ns - (now_ns() - start);
    Py_BEGIN_ALLOW_THREADS
    settle(rest < 0 ? 0 : rest < SETTLE_NS ? rest : SETTLE_NS);
    Py_END_ALLOW_THREADS
    destroy_ending(handle);
    for (;;) {
        const int64_t left = timeout_ns < 0 ? SLICE_NS : timeout_ns - (now_ns() - start);
        const int64_t slice = left < 0 ? 0 : left < SLICE_NS ? left : SLICE_NS;
        const gpo_status status = shut_down_for(api, handle, slice);
        if (status == GPO_SUCCESS || is_gone(status)) break;
        if (PyErr_Occurred()) return -1; /* of a callback that the shutdown has run */
        if (status != GPO_TIMEOUT || (timeout_ns >= 0 && left <= slice)) {
            raise_status(status);
            return -1;
        }
        if (PyErr_CheckSignals() < 0) return -1;
    }
    runtime_is_gone(object, handle);
    return PyErr_Occurred() ? -1 : 0;
}

static int close_runtime(handle_object *object, int64_t timeout_ns) {
    void *handle = read_handle(object);
    if (!handle) return 0;
    __atomic_add_fetch(&object->ending, 1, __ATOMIC_SEQ_CST);
    const int result = end_runtime(object, handle, timeout_ns);
    __atomic_sub_fetch(&object->ending, 1, __ATOMIC_ACQ_REL);
    return result;
}

/* A pipeline during a run: cancels it. The library's status of the rest. */
static gpo_status close_now(const gpo_api *api, handle_object *object, void *handle) {
    if (object->kind == CLASS_PIPELINE && is_busy(api, CLASS_PIPELINE, handle) &&
        end_pipeline(handle, object->runtime, object->kept) == 0) {
        object->kept = NULL;
        return GPO_SUCCESS;
    }
    if (object->kind == CLASS_BATCHER && object->kept) { /* batches go on */
        handle_object *runtime = ancestor(object, CLASS_RUNTIME);
        if (runtime && keep(runtime, object->kept) < 0) {
            Py_INCREF(object->kept); /* never released */
            PyErr_Clear();
        }
    }
    gpo_status status;
    Py_BEGIN_ALLOW_THREADS
    status = destroy(api, object, handle);
    Py_END_ALLOW_THREADS
    return status;
}

int close_handle(handle_object *object, int64_t timeout_ns) {
    if (object->kind == CLASS_RUNTIME && !object->borrowed && !is_over()) return close_runtime(object, timeout_ns);
    if (!is_over() && read_handle(object) && check_exports(object) < 0) return -1;
    void *handle = take_handle(object);
    if (!handle) return 0;
    if (is_over()) return 0;
    leave_stream(object, handle);
    if (object->kind == CLASS_TEMPLATE) forget_recording(object);
    const gpo_status status = object->borrowed ? GPO_SUCCESS : close_now(open_library(), object, handle);
    if (status != GPO_SUCCESS && !is_gone(status)) {
        __atomic_store_n(&object->handle, handle, __ATOMIC_RELEASE);
        raise_status(status);
        return -1;
    }
    unlink_handle(object);
    if (PyErr_Occurred()) return -1; /* of a callback that an executor has called at its end */
    reap();
    return 0;
}

/* --- collecting --- */

static int may_wait(enum class_id kind) {
    return kind == CLASS_RUNTIME || kind == CLASS_TEMPLATE || kind == CLASS_GRAPH || kind == CLASS_BUCKETS ||
           kind == CLASS_PEERS;
}

/* Gives the list of kept objects to the runtime, because they are needed until the runtime ends. */
static void leave_kept(handle_object *object) {
    handle_object *runtime = ancestor(object, CLASS_RUNTIME);
    if (!object->kept || object == runtime) return;
    if (!runtime || keep(runtime, object->kept) < 0) {
        Py_INCREF(object->kept); /* never released: how long it is needed isn't known */
        PyErr_Clear();
    }
}

/* Closes an object without references. `may_hold`: the object may stay open instead. */
void collect_handle(handle_object *object, int may_hold) {
    const gpo_api *api = open_library();
    void *handle = read_handle(object);
    if (!handle) return;
    if (may_hold && !object->borrowed && is_busy(api, object->kind, handle) && hold_while_busy(object) == 0) return;
    handle = take_handle(object);
    if (!handle) return;
    leave_stream(object, handle);
    if (object->kind == CLASS_TEMPLATE) forget_recording(object);
    if (object->borrowed) {
    } else if (object->exposed && object->kind != CLASS_RUNTIME) {
        leave_kept(object);
    } else if (may_wait(object->kind) && close_later(object->kind, handle, object->kept, object->leftovers) == 0) {
        object->kept = NULL; /* both are the thread's now */
        object->leftovers = NULL;
    } else if (close_now(api, object, handle) != GPO_SUCCESS || PyErr_Occurred()) {
        if (PyErr_Occurred()) PyErr_WriteUnraisable((PyObject *)Py_TYPE((PyObject *)object)); /* of a callback */
    }
    unlink_handle(object);
}
