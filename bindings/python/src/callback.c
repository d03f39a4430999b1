/* callback.c: functions of Python that the library calls.
 *
 * A function of Python runs only on a thread that Python knows, inside a call of ours: threads of the library and of
 * the driver never enter Python. A callback that comes on another thread all the same is refused with
 * GPO_CALLBACK_FAILED. The next call of ours frees the objects of the callback. */
#include "marshal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct callback {
    PyObject *functions[2]; /* the second: of a struct whose functions share one `user` */
    PyObject *parent;       /* of the streams that the functions get, or what has to live as long; or NULL */
    PyObject *owner;        /* buckets, not referenced: they keep the callback; or NULL */
    uint64_t result_bytes;  /* of a sink */
    int references;
    const void *runtime;   /* the handle of the functions' runtime; NULL: unknown, of a runtime's log */
    struct callback *next; /* in the list of those that have to be freed */
    /* The executor that will call the functions, and shows them to the garbage collector: not referenced. Its list. */
    handle_object *executor;
    struct callback *previous_pending, *next_pending;
};

static struct callback *left_behind; /* by threads that can't free objects of Python's */
static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER; /* never held while objects are released */

/* --- exceptions --- */

/* The exception of an earlier function of the same call, while another function runs. */
typedef struct raised {
    PyObject *type, *value, *traceback;
} raised;

/* Leaves the exception of a function to the call that it ran in. Only the first of a call can be raised. */
static void leave_exception(raised *before, PyObject *function) {
    if (before->type && PyErr_Occurred()) PyErr_WriteUnraisable(function);
    if (before->type) PyErr_Restore(before->type, before->value, before->traceback);
}

/* --- executors and what they have to call --- */

/* In a forked child the lock may stay locked. The lists are whole in the child, since every change is made with the
 * GIL. */
static void acquire(void) {
    if (!is_over()) pthread_mutex_lock(&pending_lock);
}

static void release(void) {
    if (!is_over()) pthread_mutex_unlock(&pending_lock);
}

static void add_pending(struct callback *callback, handle_object *executor) {
    acquire();
    callback->executor = executor;
    callback->next_pending = executor->pending;
    if (executor->pending) executor->pending->previous_pending = callback;
    executor->pending = callback;
    release();
}

static void remove_locked(struct callback *callback) {
    if (callback->previous_pending)
        callback->previous_pending->next_pending = callback->next_pending;
    else
        callback->executor->pending = callback->next_pending;
    if (callback->next_pending) callback->next_pending->previous_pending = callback->previous_pending;
    callback->previous_pending = callback->next_pending = NULL;
    callback->executor = NULL;
}

/* From now on the garbage collector takes the functions for used. On a thread of Python's. */
static void end_pending(struct callback *callback) {
    acquire();
    if (callback->executor) remove_locked(callback);
    release();
}

void callbacks_leave(handle_object *executor) {
    if (!executor->pending) return;
    acquire();
    while (executor->pending) remove_locked(executor->pending);
    release();
}

static int visit(const struct callback *callback, visitproc visit, void *arg) {
    Py_VISIT(callback->functions[0]);
    Py_VISIT(callback->functions[1]);
    Py_VISIT(callback->parent);
    return 0;
}

/* Without the lock: the garbage collector runs alone, and a thread with the lock never waits for the collector. */
int callbacks_visit(handle_object *executor, visitproc visit_one, void *arg) {
    for (const struct callback *one = executor->pending; one; one = one->next_pending) {
        const int stops = visit(one, visit_one, arg);
        if (stops) return stops;
    }
    return 0;
}

/* --- lifetime --- */

/* Callbacks that run on this thread, one inside another. */
struct frame {
    const void *runtime;
    const struct frame *outer;
};
static _Thread_local const struct frame *innermost;

int in_callback(void) { return innermost != NULL; }

int in_callback_of(const void *runtime) {
    for (const struct frame *one = innermost; one; one = one->outer)
        if (!one->runtime || one->runtime == runtime) return 1;
    return 0;
}

int in_work_of(const void *runtime) {
    for (const struct frame *one = innermost; one; one = one->outer)
        if (runtime && one->runtime == runtime) return 1;
    return 0;
}

static int is_python_thread(void) { return !is_over() && PyGILState_GetThisThreadState() != NULL; }

static void free_callback(struct callback *callback) {
    end_pending(callback);
    Py_XDECREF(callback->functions[0]);
    Py_XDECREF(callback->functions[1]);
    Py_XDECREF(callback->parent);
    free(callback);
}

void callback_release(struct callback *callback) {
    if (__atomic_sub_fetch(&callback->references, 1, __ATOMIC_ACQ_REL)) return;
    if (is_python_thread()) {
        const PyGILState_STATE state = PyGILState_Ensure();
        free_callback(callback);
        PyGILState_Release(state);
        return;
    }
    callback->next = __atomic_load_n(&left_behind, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&left_behind, &callback->next, callback, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
}

void callbacks_collect(void) {
    if (!__atomic_load_n(&left_behind, __ATOMIC_RELAXED)) return;
    struct callback *callback = __atomic_exchange_n(&left_behind, NULL, __ATOMIC_ACQUIRE);
    while (callback) {
        struct callback *next = callback->next;
        free_callback(callback);
        callback = next;
    }
}

static struct callback *callback_new(PyObject *parent) {
    struct callback *callback = calloc(1, sizeof *callback);
    if (!callback) {
        PyErr_NoMemory();
        return NULL;
    }
    callback->references = 1;
    callback->parent = Py_XNewRef(parent);
    return callback;
}

struct callback *callback_once(PyObject *callable, PyObject *kept, handle_object *executor) {
    struct callback *callback = callback_new(kept);
    if (!callback) return NULL;
    callback->functions[0] = Py_NewRef(callable);
    callback->runtime = executor->runtime;
    add_pending(callback, executor);
    return callback;
}

/* Keeps a callback, and shows its functions to the garbage collector. */
typedef struct holder {
    OBJECT_HEAD struct callback *callback;
} holder;

static int holder_traverse(PyObject *self, visitproc visit_one, void *arg) {
    const struct callback *callback = ((holder *)self)->callback;
    const int stops = visit_one((PyObject *)Py_TYPE(self), arg);
    return stops || !callback ? stops : visit(callback, visit_one, arg);
}

static void holder_end(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (((holder *)self)->callback) callback_release(((holder *)self)->callback);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* The type has no tp_clear, because every cycle contains the list that keeps the object. */
static PyType_Slot holder_slots[] = {
    {Py_tp_traverse, (void *)holder_traverse}, {Py_tp_dealloc, (void *)holder_end}, {0, NULL}};
static PyType_Spec holder_spec = {"_gpuorch.Functions", sizeof(holder), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  holder_slots};
static PyTypeObject *holder_type;

struct callback *callback_kept(PyObject *kept, PyObject *parent) {
    PyObject *object = PyType_GenericAlloc(holder_type, 0);
    struct callback *callback = object ? callback_new(parent) : NULL;
    if (object) ((holder *)object)->callback = callback;
    if (callback && parent && PyObject_TypeCheck(parent, handle_type))
        callback->runtime = ((handle_object *)parent)->runtime;
    const int failed = !callback || PyList_Append(kept, object);
    Py_XDECREF(object);
    return failed ? NULL : callback;
}

void callback_set_owner(struct callback *callback, PyObject *owner) { callback->owner = owner; }

void callback_set_result(struct callback *callback, uint64_t bytes) { callback->result_bytes = bytes; }

void callback_hold(struct callback *callback) { __atomic_add_fetch(&callback->references, 1, __ATOMIC_RELAXED); }

int callback_set(struct callback *callback, int place, PyObject *callable) {
    PyObject *before = callback->functions[place];
    callback->functions[place] = Py_NewRef(callable);
    Py_XDECREF(before);
    return 0;
}

/* --- what the functions get and return --- */

/* A stream that can be used during the call. */
static PyObject *borrowed_handle(enum class_id kind, void *handle, PyObject *parent) {
    PyObject *object = new_handle(kind, handle, parent);
    if (object) ((handle_object *)object)->borrowed = 1;
    return object;
}

static void end_borrowed(PyObject *object) {
    if (object) ((handle_object *)object)->handle = NULL;
    Py_XDECREF(object);
}

/* The status for a function's result: success for None and True, `otherwise` for False, and an int is a status itself.
 * Takes over `result`. */
static gpo_status status_of(PyObject *result, gpo_status otherwise) {
    gpo_status status = GPO_CALLBACK_FAILED;
    if (result == Py_None || result == Py_True)
        status = GPO_SUCCESS;
    else if (result == Py_False)
        status = otherwise;
    else if (result && read_number(result, KIND_STATUS, "the status that a function returns", &status))
        status = GPO_CALLBACK_FAILED;
    Py_XDECREF(result);
    return status;
}

static PyObject *failure_of(gpo_status status, const gpo_error *error) {
    return error ? make_error(status, error) : Py_NewRef(Py_None);
}

/* --- memory that is lent during a call: of a source or a sink --- */

typedef struct loan {
    OBJECT_HEAD void *memory;
    Py_ssize_t bytes;
    int writable;
    Py_ssize_t exports; /* atomic, as `memory` */
} loan;

static int loan_export(PyObject *self, Py_buffer *view, int flags) {
    loan *given = (loan *)self;
    __atomic_add_fetch(&given->exports, 1, __ATOMIC_SEQ_CST); /* before `memory` is read: end_view() sees one of both */
    void *memory = __atomic_load_n(&given->memory, __ATOMIC_SEQ_CST);
    if (!memory) PyErr_SetString(PyExc_BufferError, "the memory was lent for the callback only");
    const int failed = !memory || PyBuffer_FillInfo(view, self, memory, given->bytes, !given->writable, flags);
    if (failed) __atomic_sub_fetch(&given->exports, 1, __ATOMIC_RELAXED);
    return failed ? -1 : 0;
}

static void loan_return(PyObject *self, Py_buffer *view) {
    (void)view;
    __atomic_sub_fetch(&((loan *)self)->exports, 1, __ATOMIC_RELAXED);
}

static void loan_end(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyType_Slot loan_slots[] = {{Py_bf_getbuffer, (void *)loan_export},
                                   {Py_bf_releasebuffer, (void *)loan_return},
                                   {Py_tp_dealloc, (void *)loan_end},
                                   {0, NULL}};
static PyType_Spec loan_spec = {"_gpuorch.Loan", sizeof(loan), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, loan_slots};
static PyTypeObject *loan_type;

int add_callbacks(void) {
    loan_type = (PyTypeObject *)PyType_FromSpec(&loan_spec);
    holder_type = loan_type ? (PyTypeObject *)PyType_FromSpec(&holder_spec) : NULL;
    return holder_type ? 0 : -1;
}

/* A view of memory for the call, or None without memory. The object in *lent counts the exports of the view. */
static PyObject *view_of(const void *memory, uint64_t bytes, int writable, loan **lent) {
    *lent = NULL;
    if (!memory) return Py_NewRef(Py_None);
    loan *given = PyObject_New(loan, loan_type);
    if (!given) return NULL;
    given->memory = (void *)(uintptr_t)memory;
    given->bytes = (Py_ssize_t)bytes;
    given->writable = writable;
    given->exports = 0;
    *lent = given;
    return PyMemoryView_FromObject((PyObject *)given);
}

/* Ends a view and its loan. If something still exports the memory, that is an exception, since the memory is the
 * pipeline's. */
static int end_view(PyObject *view, loan *lent) {
    if (!lent) return 0;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *done = view ? PyObject_CallMethod(view, "release", NULL) : NULL;
    if (!done) PyErr_Clear(); /* a view of it is left, which counts as an export, too */
    Py_XDECREF(done);
    __atomic_store_n(&lent->memory, NULL, __ATOMIC_SEQ_CST);
    const int used = __atomic_load_n(&lent->exports, __ATOMIC_SEQ_CST) > 0;
    Py_DECREF(lent);
    PyErr_Restore(type, value, traceback);
    if (used && !type)
        PyErr_SetString(PyExc_BufferError,
                        "a callback of a pipeline has kept a view of memory that was lent to it: copy it");
    return used ? -1 : 0;
}

/* --- the functions of C's --- */

#define ENTER(callback, refused)                                                          \
    if (!is_python_thread()) return refused;                                              \
    const PyGILState_STATE state = PyGILState_Ensure();                                   \
    PyObject *function = Py_XNewRef((callback)->functions[0]); /* may end its callback */ \
    raised before;                                                                        \
    const struct frame here = {(callback)->runtime, innermost};                           \
    innermost = &here;                                                                    \
    PyErr_Fetch(&before.type, &before.value, &before.traceback)
#define LEAVE()                         \
    innermost = here.outer;             \
    leave_exception(&before, function); \
    Py_XDECREF(function);               \
    PyGILState_Release(state)

static void run_completion(struct callback *callback, const gpo_completion *completion, const gpo_error *error) {
    ENTER(callback, );
    end_pending(callback);
    PyObject *record = struct_record(&struct_entries[STRUCT_COMPLETION], completion);
    PyObject *failure = record ? failure_of(completion->status, error) : NULL;
    PyObject *result = failure ? PyObject_CallFunctionObjArgs(function, record, failure, NULL) : NULL;
    Py_XDECREF(result);
    Py_XDECREF(failure);
    Py_XDECREF(record);
    LEAVE();
}

static void on_completion(void *user, const gpo_completion *completion, const gpo_error *error) {
    run_completion(user, completion, error);
    callback_release(user);
}

static gpo_status run_host_call(struct callback *callback, const gpo_host_call *call) {
    ENTER(callback, GPO_CALLBACK_FAILED);
    end_pending(callback);
    const struct_entry *entry = &struct_entries[STRUCT_HOST_CALL];
    PyObject *record = struct_record(entry, call);
    PyObject *failure = record && call->error ? make_error(call->status, call->error) : NULL;
    if (failure) replace_field(entry, record, "error", failure);
    PyObject *result = record && !PyErr_Occurred() ? PyObject_CallFunctionObjArgs(function, record, NULL) : NULL;
    Py_XDECREF(record);
    const gpo_status status = status_of(result, GPO_NOT_READY);
    LEAVE();
    return status;
}

static gpo_status on_host_call(void *user, const gpo_host_call *call) {
    const gpo_status status = run_host_call(user, call);
    callback_release(user);
    return status;
}

static gpo_status on_batch(void *user, gpo_stream_t stream, const gpo_batch *batch) {
    struct callback *callback = user;
    ENTER(callback, GPO_CALLBACK_FAILED);
    PyObject *record = struct_record(&struct_entries[STRUCT_BATCH], batch);
    PyObject *object = record ? borrowed_handle(CLASS_STREAM, stream, callback->parent) : NULL;
    PyObject *result = object ? PyObject_CallFunctionObjArgs(function, object, record, NULL) : NULL;
    end_borrowed(object);
    Py_XDECREF(record);
    const gpo_status status = status_of(result, GPO_CALLBACK_FAILED);
    LEAVE();
    return status;
}

static void on_batch_release(void *user) { callback_release(user); }

static gpo_status run_bucket(struct callback *callback, int place, gpo_stream_t stream, const gpo_bucket_work *work) {
    ENTER(callback, GPO_CALLBACK_FAILED);
    const struct_entry *entry = &struct_entries[STRUCT_BUCKET_WORK];
    Py_XDECREF(function);
    function = Py_XNewRef(callback->functions[place]);
    PyObject *record = struct_record(entry, work), *graph_template = NULL, *result = NULL;
    PyObject *parent = callback->owner ? callback->owner : callback->parent;
    PyObject *object = record ? borrowed_handle(CLASS_STREAM, stream, parent) : NULL;
    if (object && work->graph_template) graph_template = borrowed_handle(CLASS_TEMPLATE, work->graph_template, parent);
    /* what is recorded stays with the buckets; padding is put on the stream at once */
    handle_object *recording = graph_template && place == 0 ? (handle_object *)graph_template : NULL;
    if (recording && recording_begins(recording)) recording = NULL;
    if (object && !PyErr_Occurred()) {
        replace_field(entry, record, "graph_template", Py_NewRef(graph_template ? graph_template : Py_None));
        result = PyObject_CallFunctionObjArgs(function, object, record, NULL);
    }
    if (recording) recording_ends(recording);
    end_borrowed(object);
    end_borrowed(graph_template);
    Py_XDECREF(record);
    const gpo_status status = status_of(result, GPO_CALLBACK_FAILED);
    LEAVE();
    return status;
}

static gpo_status on_record(void *user, gpo_stream_t stream, const gpo_bucket_work *work) {
    return run_bucket(user, 0, stream, work);
}

static gpo_status on_pad(void *user, gpo_stream_t stream, const gpo_bucket_work *work) {
    return run_bucket(user, 1, stream, work);
}

static gpo_status on_source(void *user, void *buffer, uint64_t capacity, uint64_t *bytes) {
    struct callback *callback = user;
    *bytes = 0;
    ENTER(callback, GPO_CALLBACK_FAILED);
    loan *lent;
    PyObject *view = view_of(buffer, capacity, 1, &lent);
    PyObject *result = view ? PyObject_CallFunctionObjArgs(function, view, NULL) : NULL;
    gpo_status status = GPO_CALLBACK_FAILED;
    if (result == Py_None)
        status = GPO_END;
    else if (result && !read_number(result, KIND_U64, "the bytes that a source returns", bytes)) {
        if (*bytes > capacity)
            PyErr_Format(PyExc_ValueError, "a source returned %R bytes for a buffer of %llu", result,
                         (unsigned long long)capacity);
        else
            status = *bytes ? GPO_SUCCESS : GPO_END;
    }
    if (end_view(view, lent)) status = GPO_CALLBACK_FAILED;
    Py_XDECREF(view);
    Py_XDECREF(result);
    LEAVE();
    return status;
}

static gpo_status on_stage(void *user, gpo_stream_t stream, const gpo_chunk *chunk) {
    struct callback *callback = user;
    ENTER(callback, GPO_CALLBACK_FAILED);
    PyObject *record = struct_record(&struct_entries[STRUCT_CHUNK], chunk);
    PyObject *object = record ? borrowed_handle(CLASS_STREAM, stream, callback->parent) : NULL;
    PyObject *result = object ? PyObject_CallFunctionObjArgs(function, object, record, NULL) : NULL;
    end_borrowed(object);
    Py_XDECREF(record);
    const gpo_status status = status_of(result, GPO_CALLBACK_FAILED);
    LEAVE();
    return status;
}

static gpo_status on_sink(void *user, const gpo_chunk *chunk) {
    struct callback *callback = user;
    ENTER(callback, GPO_CALLBACK_FAILED);
    const struct_entry *entry = &struct_entries[STRUCT_CHUNK];
    loan *lent_output = NULL, *lent_part = NULL;
    PyObject *record = struct_record(entry, chunk), *result = NULL;
    PyObject *output = record ? view_of(chunk->output, chunk->output_bytes, 0, &lent_output) : NULL;
    PyObject *part = output ? view_of(chunk->result, callback->result_bytes, 0, &lent_part) : NULL;
    if (part) {
        replace_field(entry, record, "output", Py_NewRef(output));
        replace_field(entry, record, "result", Py_NewRef(part));
        result = PyObject_CallFunctionObjArgs(function, record, NULL);
    }
    if (end_view(output, lent_output) | end_view(part, lent_part)) Py_CLEAR(result);
    Py_XDECREF(output);
    Py_XDECREF(part);
    Py_XDECREF(record);
    const gpo_status status = status_of(result, GPO_END);
    LEAVE();
    return status;
}

static void on_progress(void *user, const gpo_pipeline_progress *progress) {
    struct callback *callback = user;
    ENTER(callback, );
    PyObject *record = struct_record(&struct_entries[STRUCT_PIPELINE_PROGRESS], progress);
    PyObject *result = record ? PyObject_CallFunctionObjArgs(function, record, NULL) : NULL;
    Py_XDECREF(result);
    Py_XDECREF(record);
    LEAVE();
}

/* A line that arises on a thread that Python doesn't know goes to stderr, as without a function. */
static void on_log(void *user, int32_t level, const char *text) {
    struct callback *callback = user;
    if (!is_python_thread()) {
        fprintf(stderr, "gpuorch: %s\n", text);
        return;
    }
    ENTER(callback, );
    PyObject *result = PyObject_CallFunction(function, "is", (int)level, text);
    if (!result) PyErr_WriteUnraisable(function); /* no call is to blame for it */
    Py_XDECREF(result);
    LEAVE();
}

void (*callback_function(enum callback_id id, int place))(void) {
    switch (id) {
        case CALLBACK_BATCH: return (void (*)(void))on_batch;
        case CALLBACK_BATCH_RELEASE: return (void (*)(void))on_batch_release;
        case CALLBACK_BUCKET: return place ? (void (*)(void))on_pad : (void (*)(void))on_record;
        case CALLBACK_COMPLETION: return (void (*)(void))on_completion;
        case CALLBACK_HOST: return (void (*)(void))on_host_call;
        case CALLBACK_SOURCE: return (void (*)(void))on_source;
        case CALLBACK_STAGE: return (void (*)(void))on_stage;
        case CALLBACK_SINK: return (void (*)(void))on_sink;
        case CALLBACK_PROGRESS: return (void (*)(void))on_progress;
        case CALLBACK_LOG: return (void (*)(void))on_log;
        default: return NULL;
    }
}
