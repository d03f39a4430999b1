/* handle.c: handles of the library as Python objects: how they are made, closed and collected.
 *
 * Objects hold the object that they were made from, so a runtime is collected last. Collecting runs in tp_finalize,
 * before the garbage collector takes cycles apart: an executor calls its callbacks there, and all that they lead to is
 * whole. Some objects aren't collected at once (closing.c). A thread closes runtimes, and kinds that may have to wait.
 * A pipeline during a run, an executor with callbacks, and objects that the program or the GPU may use unseen
 * (`exposed`) stay open for a while. */
#include "objects.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SLICE_NS (50 * 1000 * 1000)   /* a shutdown looks for signals this often */
#define SETTLE_NS (100 * 1000 * 1000) /* a shutdown waits this long for jobs of the closing thread */
#define PAUSE_NS_MIN (20 * 1000)      /* a shutdown that waits for calls looks this often, at first */
#define PAUSE_NS_MAX (1000 * 1000)
#define MOST_AT_END 256 /* objects of a kind that the end of the program stops */
#define MOST_STREAMS 64 /* streams whose finished work one close looks for */

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
    struct {
        void *handle;
        int is_exported;
    } found[MOST_AT_END];
    size_t count = 0;
    pthread_mutex_lock(&list_lock);
    for (const handle_object *one = first; one && count < MOST_AT_END; one = one->next) {
        if (one->kind != kind || !one->handle || one->borrowed) continue;
        found[count].handle = one->handle;
        found[count++].is_exported = kind == CLASS_RUNTIME && !__atomic_load_n(&one->ending, __ATOMIC_ACQUIRE);
    }
    pthread_mutex_unlock(&list_lock);
    for (size_t i = 0; i < count; ++i) visit(api, found[i].handle, found[i].is_exported);
}

void mark_runtimes(void) {
    pthread_mutex_lock(&list_lock);
    for (handle_object *one = first; one; one = one->next)
        if (one->kind == CLASS_RUNTIME && __atomic_load_n(&one->exports, __ATOMIC_ACQUIRE) <= 0)
            __atomic_store_n(&one->ending, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&list_lock);
}

/* Whether the end of the handle frees memory that arrays stand for. Memory of a closed arena, pool or device stays
 * until the runtime ends. */
static int frees_memory(const handle_object *object) {
    return !object->borrowed &&
           (object->kind == CLASS_RUNTIME || object->kind == CLASS_TEMPLATE || object->kind == CLASS_BUCKETS);
}

/* --- calls that use memory --- */

_Thread_local unsigned thread_number;

unsigned new_thread_number(void) {
    static unsigned last;
    const unsigned number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    return number ? number : 1;
}

static call_counter *new_counters(void) {
    const size_t bytes = CALL_COUNTERS * sizeof(call_counter);
    call_counter *made = aligned_alloc(_Alignof(call_counter), bytes);
    return made ? memset(made, 0, bytes) : NULL;
}

int refuse_entry(handle_object *runtime) {
    const int is_open = read_handle(runtime) != NULL;
    if (is_open && runtime->kind == CLASS_RUNTIME && in_work_of(runtime->runtime)) return 0;
    leave_runtime(runtime);
    PyErr_Format(PyExc_ValueError, "the call was refused: its %s is %s", class_entries[runtime->kind].name,
                 is_open ? "being closed" : "closed");
    return -1;
}

/* The nearest object, from `object` upwards, that frees a template's memory: the template or its buckets; or NULL. */
static handle_object *above_memory(handle_object *object) {
    while (object && (!frees_memory(object) || object->kind == CLASS_RUNTIME))
        object = is_handle(object->parent) ? (handle_object *)object->parent : NULL;
    return object;
}

static handle_object *next_above(const handle_object *object) {
    return above_memory(is_handle(object->parent) ? (handle_object *)object->parent : NULL);
}

int enter_template(handle_object *owner) {
    for (handle_object *one = above_memory(owner); one; one = next_above(one))
        if (enter_runtime(one) < 0) {
            for (handle_object *before = above_memory(owner); before != one; before = next_above(before))
                leave_runtime(before);
            return -1;
        }
    return 0;
}

void leave_template(handle_object *owner) {
    for (handle_object *one = above_memory(owner); one; one = next_above(one)) leave_runtime(one);
}

/* A pause between two looks at the calls: each is longer than the one before. */
static void pause_for(int64_t *pause_ns, int64_t most_ns) {
    const int64_t now = *pause_ns < most_ns ? *pause_ns : most_ns;
    const struct timespec time = {.tv_nsec = now > 0 ? now : 0};
    nanosleep(&time, NULL);
    if (*pause_ns < PAUSE_NS_MAX) *pause_ns *= 2;
}

int has_calls(const handle_object *runtime) {
    int found = 0;
    for (int i = 0; i < CALL_COUNTERS && !found; ++i)
        found = __atomic_load_n(&runtime->calls[i].calls, __ATOMIC_SEQ_CST) > 0;
    return found;
}

static int refuse_close(const handle_object *object, gpo_status status, const char *words) {
    const char *name = class_entries[object->kind].name, *verb = object->kind == CLASS_RUNTIME ? "shutdown" : "destroy";
    gpo_error details = {.struct_size = sizeof details, .status = status};
    snprintf(details.function, sizeof details.function, "gpo_%s_%s", name, verb);
    snprintf(details.object, sizeof details.object, "%s", name);
    snprintf(details.message, sizeof details.message, "calls %s the memory of the %s", words, name);
    PyObject *error = make_error(status, &details);
    if (error) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    return -1;
}

/* Waits until no calls are under way that use memory of the runtime, the template or the buckets. The object is marked,
 * so new calls are refused. A callback doesn't wait, because it may run inside such a call. The library refuses a
 * runtime's shutdown in the runtime's callbacks. */
static int wait_for_calls(handle_object *object, int64_t timeout_ns) {
    const int is_runtime = object->kind == CLASS_RUNTIME;
    if (!has_calls(object) || (is_runtime && in_callback_of(object->runtime))) return 0;
    if (!is_runtime && in_callback())
        return refuse_close(object, GPO_WOULD_DEADLOCK, "that a callback may be part of use");
    const int64_t start = now_ns();
    int64_t pause = PAUSE_NS_MIN;
    while (has_calls(object)) {
        const int64_t left = timeout_ns < 0 ? PAUSE_NS_MAX : timeout_ns - (now_ns() - start);
        if (left <= 0) return refuse_close(object, GPO_TIMEOUT, "of other threads still use");
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

static int is_ending(const handle_object *object) { return __atomic_load_n(&object->ending, __ATOMIC_SEQ_CST) > 0; }

const char *memory_is_ending_with(const handle_object *object) {
    for (; object; object = is_handle(object->parent) ? (handle_object *)object->parent : NULL)
        if (is_ending(object) && !(object->kind == CLASS_RUNTIME && in_work_of(object->runtime)))
            return class_entries[object->kind].name;
    return NULL;
}

int is_last_callback(handle_object *object) {
    const handle_object *runtime = ancestor(object, CLASS_RUNTIME);
    return runtime && is_ending(runtime) && in_work_of(runtime->runtime);
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
    const int has_counters = kind == CLASS_RUNTIME || kind == CLASS_TEMPLATE || kind == CLASS_BUCKETS;
    call_counter *counters = type && has_counters ? new_counters() : NULL;
    if (type && has_counters && !counters) {
        type = NULL;
        PyErr_NoMemory();
    }
    handle_object *object = type ? (handle_object *)PyType_GenericAlloc(type, 0) : NULL;
    if (!object) {
        free(counters);
        handle_object lost = {.kind = kind, .parent = parent};
        destroy(open_library(), &lost, handle);
        return NULL;
    }
    object->kind = kind;
    object->calls = counters;
    object->parent = Py_XNewRef(parent);
    const handle_object *above = is_handle(parent) ? (handle_object *)parent : NULL;
    object->runtime = kind == CLASS_RUNTIME ? handle : above ? above->runtime : NULL;
    object->handle = handle;
    link_handle(object);
    reap();
    return (PyObject *)object;
}

int keep(handle_object *owner, PyObject *object) {
    int result = -1;
    BEGIN_LOCKED(owner)
    if (!owner->kept) owner->kept = PyList_New(0);
    PyObject *list = Py_XNewRef(owner->kept); /* the append may give the lock away */
    if (list) result = PyList_Append(list, object);
    Py_XDECREF(list);
    END_LOCKED()
    return result;
}

/* Takes the list out of the object; the reference is the caller's. */
static PyObject *take_kept(handle_object *owner) {
    PyObject *list;
    BEGIN_LOCKED(owner)
    list = owner->kept;
    owner->kept = NULL;
    END_LOCKED()
    return list;
}

/* The place of what is kept under a name; -1: there is none. */
static Py_ssize_t place_of(PyObject *kept, const char *name) {
    for (Py_ssize_t i = kept ? PyList_Size(kept) : 0; i-- > 0;) {
        PyObject *one = list_item(kept, i);
        PyObject *its = one && PyTuple_Check(one) && PyTuple_Size(one) == 2 ? PyTuple_GetItem(one, 0) : NULL;
        const int found = its && PyUnicode_Check(its) && PyUnicode_CompareWithASCIIString(its, name) == 0;
        Py_XDECREF(one);
        if (found) return i;
    }
    return -1;
}

int keep_as(handle_object *owner, const char *name, PyObject *object) {
    PyObject *pair = Py_BuildValue("(sO)", name, object);
    if (!pair) return -1;
    int result;
    BEGIN_LOCKED(owner)
    PyObject *list = Py_XNewRef(owner->kept);
    const Py_ssize_t place = place_of(list, name);
    result = place < 0 ? keep(owner, pair) : PyList_SetItem(list, place, Py_NewRef(pair));
    Py_XDECREF(list);
    END_LOCKED()
    Py_DECREF(pair);
    return result;
}

void add_export(PyObject *owner, Py_ssize_t by) {
    for (; is_handle(owner); owner = ((handle_object *)owner)->parent)
        __atomic_add_fetch(&((handle_object *)owner)->exports, by, __ATOMIC_SEQ_CST);
}

const char *memory_ended_with(const handle_object *object) {
    const char *name = NULL;
    for (; object; object = is_handle(object->parent) ? (handle_object *)object->parent : NULL)
        if (frees_memory(object) && !read_handle(object)) name = class_entries[object->kind].name;
    return name;
}

static int may_have_finished(const handle_object *one, const void *runtime) {
    return one->kind == CLASS_STREAM && one->runtime == runtime && read_handle(one) && has_in_flight(one);
}

/* Drops what finished work of the runtime's streams has used. The library looks for finished work only when asked, and
 * knows the handles of streams that were closed since. */
static void drop_finished(const void *runtime) {
    const gpo_api *api = open_library();
    struct in_flight *finished[MOST_STREAMS];
    void *handles[MOST_STREAMS];
    size_t count = 0;
    pthread_mutex_lock(&list_lock);
    for (const handle_object *one = first; one && count < MOST_STREAMS; one = one->next)
        if (may_have_finished(one, runtime)) handles[count++] = one->handle;
    pthread_mutex_unlock(&list_lock);
    while (count > 0) api->stream_query(handles[--count]);
    pthread_mutex_lock(&list_lock);
    for (handle_object *one = first; one && count < MOST_STREAMS; one = one->next)
        if (may_have_finished(one, runtime) && (finished[count] = take_finished(one))) ++count;
    pthread_mutex_unlock(&list_lock);
    while (count > 0) free_in_flight(finished[--count]);
    reap();
}

/* Raises an exception if others use memory that the close would free. */
static int check_exports(handle_object *object) {
    if (!frees_memory(object)) return 0;
    settle_loans();
    if (__atomic_load_n(&object->exports, __ATOMIC_SEQ_CST) <= 0) return 0;
    drop_finished(object->runtime);
    settle_loans();
    if (__atomic_load_n(&object->exports, __ATOMIC_SEQ_CST) <= 0) return 0;
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
            dropped[count++] = take_in_flight(one);
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
    Py_XDECREF(take_kept(object));
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
    if (check_exports(object) < 0 || wait_for_calls(object, timeout_ns) < 0) return -1;
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
            raise_status_of(status, "gpo_runtime_shutdown");
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

/* Gives the list of kept objects to the runtime, because they are needed until the runtime ends. */
static void leave_kept(handle_object *object) {
    handle_object *runtime = ancestor(object, CLASS_RUNTIME);
    PyObject *kept = object == runtime ? NULL : take_kept(object);
    if (!kept) return;
    if (runtime && keep(runtime, kept) == 0) {
        Py_DECREF(kept);
        return;
    }
    PyErr_Clear(); /* never released: how long it is needed isn't known */
}

/* A pipeline during a run: cancels it. The library's status of the rest. */
static gpo_status close_now(const gpo_api *api, handle_object *object, void *handle) {
    if (object->kind == CLASS_PIPELINE && is_busy(api, CLASS_PIPELINE, handle)) {
        PyObject *kept = take_kept(object);
        if (end_pipeline(handle, object->runtime, kept) == 0) return GPO_SUCCESS;
        if (kept && keep(object, kept) < 0) {
            Py_INCREF(kept); /* never released: how long it is needed isn't known */
            PyErr_Clear();
        }
        Py_XDECREF(kept);
    }
    if (object->kind == CLASS_BATCHER) leave_kept(object); /* batches go on */
    gpo_status status;
    Py_BEGIN_ALLOW_THREADS
    status = destroy(api, object, handle);
    Py_END_ALLOW_THREADS
    return status;
}

static int close_other(handle_object *object) {
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

int close_handle(handle_object *object, int64_t timeout_ns) {
    if (is_over() || !frees_memory(object)) return close_other(object);
    if (object->kind == CLASS_RUNTIME) return close_runtime(object, timeout_ns);
    if (!read_handle(object)) return 0;
    __atomic_add_fetch(&object->ending, 1, __ATOMIC_SEQ_CST);
    const int result = check_exports(object) < 0 || wait_for_calls(object, -1) < 0 ? -1 : close_other(object);
    __atomic_sub_fetch(&object->ending, 1, __ATOMIC_ACQ_REL);
    return result;
}

/* --- collecting --- */

static int may_wait(enum class_id kind) {
    return kind == CLASS_RUNTIME || kind == CLASS_TEMPLATE || kind == CLASS_GRAPH || kind == CLASS_BUCKETS ||
           kind == CLASS_PEERS;
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
