/* drain.c: futures of GPU work.
 *
 * A mailbox is a completion queue with a table of futures. Each accepted notify has a slot in the table, and its entry
 * ends the slot's future. There is one mailbox for each runtime and event loop. The loop watches the queue's descriptor
 * and calls drain(). A mailbox belongs to its loop, and ends when the loop is closed or collected. Later entries are
 * dropped. The mailbox of a runtime's concurrent.futures has no loop: a thread of Python's serves it.
 *
 * The mailbox refers to its loop weakly. A slot holds its future, and what the work needs, until the entry comes, also
 * if the future was cancelled. */
#include "mailbox.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>
#include <unistd.h>

#define NO_SLOT UINT32_C(0xffffffff)

enum { BATCH = 64, MOST_BATCHES = 16, CAPACITY = 16384 };

typedef struct slot {
    PyObject *future;    /* NULL: the slot is free */
    PyObject *convert;   /* convert(number, operation, status) is called when the entry has come, also for a cancelled
                            future, and makes the future's result; NULL: the result is None */
    PyObject *kept;      /* lives until the entry has come; may be NULL */
    uint32_t generation; /* of the slot's uses; the upper half of the number that an entry brings */
    uint32_t next;       /* of the free slots */
} slot;

typedef struct mailbox {
    OBJECT_HEAD
    gpo_cq_t cq;
    void *runtime;           /* the handle's value, to be compared only */
    void *loop;              /* the loop's address, to be compared only; NULL: concurrent.futures */
    PyObject *loop_reference; /* weak; NULL without a loop */
    PyObject *queue;         /* the queue as an object, once it was asked for */
    int descriptor;
    int ended;               /* no entry comes any more; atomic: stop() is another thread's */
    pthread_mutex_t lock;    /* of the slots: threads of a free-threaded Python share a mailbox without a loop */
    slot *slots;
    uint32_t slot_count, free_slot, pending;
    struct mailbox *next;    /* of all mailboxes that have a loop */
    PyObject *weak_references;
    PyObject *reference;     /* to the mailbox itself, weak; NULL without a loop */
} mailbox;

static PyTypeObject *mailbox_type;
static pthread_mutex_t mailboxes_lock = PTHREAD_MUTEX_INITIALIZER;
static mailbox *mailboxes;
static PyObject *word_done, *word_set_result, *word_set_exception, *word_running, *word_create_future, *word_await,
    *word_remove_reader, *no_items;

static void end_mailbox(mailbox *m) { __atomic_store_n(&m->ended, 1, __ATOMIC_RELEASE); }
static int has_ended(const mailbox *m) { return __atomic_load_n(&m->ended, __ATOMIC_ACQUIRE); }

/* --- slots --- */

static int more_slots(mailbox *m) {
    const uint32_t count = m->slot_count ? m->slot_count * 2 : 64;
    slot *slots = realloc(m->slots, count * sizeof *slots);
    if (!slots) return -1;
    memset(slots + m->slot_count, 0, (count - m->slot_count) * sizeof *slots);
    for (uint32_t i = count; i-- > m->slot_count;) {
        slots[i].next = m->free_slot;
        m->free_slot = i;
    }
    m->slots = slots;
    m->slot_count = count;
    return 0;
}

static int add_slot(mailbox *m, PyObject *future, PyObject *convert, PyObject *kept, uint64_t *number) {
    pthread_mutex_lock(&m->lock);
    if (m->free_slot == NO_SLOT && more_slots(m) < 0) {
        pthread_mutex_unlock(&m->lock);
        PyErr_NoMemory();
        return -1;
    }
    slot *s = &m->slots[m->free_slot];
    *number = (uint64_t)++s->generation << 32 | m->free_slot;
    m->free_slot = s->next;
    s->convert = convert && convert != Py_None ? Py_NewRef(convert) : NULL;
    s->kept = Py_XNewRef(kept);
    s->future = Py_NewRef(future);
    __atomic_add_fetch(&m->pending, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&m->lock);
    return 0;
}

/* Empties a slot into `out`, and gives the slot's references to the caller. 0: the slot is free or unknown. */
static int take_slot(mailbox *m, uint64_t number, slot *out) {
    const uint32_t i = (uint32_t)number;
    int found = 0;
    pthread_mutex_lock(&m->lock);
    if (i < m->slot_count && m->slots[i].future && m->slots[i].generation == number >> 32) {
        *out = m->slots[i];
        m->slots[i] = (slot){.generation = out->generation, .next = m->free_slot};
        m->free_slot = i;
        __atomic_sub_fetch(&m->pending, 1, __ATOMIC_RELAXED);
        found = 1;
    }
    pthread_mutex_unlock(&m->lock);
    return found;
}

static void drop_slot(slot *s) {
    Py_XDECREF(s->future);
    Py_XDECREF(s->convert);
    Py_XDECREF(s->kept);
}

/* --- ending futures --- */

static PyObject *raised_exception(void) {
#if PY_VERSION_HEX >= 0x030c0000 && (!defined(Py_LIMITED_API) || Py_LIMITED_API + 0 >= 0x030c0000)
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback && value) PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
#endif
}

/* Whether the future still waits: 1, 0, or -1. */
static int is_waiting(mailbox *m, PyObject *future) {
    PyObject *answer = PyObject_CallMethodObjArgs(future, m->loop ? word_done : word_running, NULL);
    if (!answer) return -1;
    const int truth = PyObject_IsTrue(answer);
    Py_DECREF(answer);
    return truth < 0 ? -1 : m->loop ? !truth : truth;
}

static PyObject *make_result(const slot *s, const gpo_completion *entry) {
    if (!s->convert) return Py_NewRef(Py_None);
    return PyObject_CallFunction(s->convert, "KKi", (unsigned long long)entry->user_data,
                                 (unsigned long long)entry->operation, (int)entry->status);
}

/* Ends the slot's future by an entry. Exceptions that no future can take are printed. */
static void end_future(const gpo_api *api, mailbox *m, slot *s, const gpo_completion *entry) {
    PyObject *error = NULL, *ended = NULL;
    PyObject *result = s->convert || entry->status == GPO_SUCCESS ? make_result(s, entry) : NULL;
    if (PyErr_Occurred()) error = raised_exception();
    else if (entry->status != GPO_SUCCESS) error = entry_error(api, m->cq, entry);
    const int waits = is_waiting(m, s->future);
    if (waits > 0 && error) ended = PyObject_CallMethodObjArgs(s->future, word_set_exception, error, NULL);
    else if (waits > 0 && result) ended = PyObject_CallMethodObjArgs(s->future, word_set_result, result, NULL);
    if (PyErr_Occurred()) PyErr_WriteUnraisable(s->future);
    Py_XDECREF(ended);
    Py_XDECREF(result);
    Py_XDECREF(error);
}

/* Takes out all entries and ends their futures. The GIL stays: the library doesn't block here. 0: no entry will come
 * any more. */
static int drain(const gpo_api *api, mailbox *m) {
    gpo_completion entries[BATCH];
    uint64_t count = BATCH;
    for (int round = 0; round < MOST_BATCHES && count == BATCH; ++round) {
        const gpo_status status = api->cq_drain(m->cq, entries, sizeof entries[0], BATCH, &count);
        if (status != GPO_SUCCESS) return 0; /* GPO_SHUT_DOWN, GPO_FORKED */
        for (uint64_t i = 0; i < count; ++i) {
            slot s;
            if (!take_slot(m, entries[i].user_data, &s)) continue;
            end_future(api, m, &s, &entries[i]);
            drop_slot(&s);
        }
    }
    return 1;
}

/* The descriptor stays readable from now on. Therefore the loop stops watching, and drops the mailbox. */
static int stop_watching(mailbox *m) {
    end_mailbox(m);
    if (!m->loop_reference) return 0;
    PyObject *loop = PyObject_CallNoArgs(m->loop_reference);
    if (!loop || loop == Py_None) {
        Py_XDECREF(loop);
        return loop ? 0 : -1;
    }
    PyObject *descriptor = PyLong_FromLong(m->descriptor);
    PyObject *removed = descriptor ? PyObject_CallMethodObjArgs(loop, word_remove_reader, descriptor, NULL) : NULL;
    Py_XDECREF(descriptor);
    Py_DECREF(loop);
    Py_XDECREF(removed);
    return removed ? 0 : -1;
}

static PyObject *mailbox_drain(PyObject *self, PyObject *unused) {
    (void)unused;
    mailbox *m = (mailbox *)self;
    const gpo_api *api = is_over() ? NULL : open_library();
    if ((!api || !drain(api, m)) && stop_watching(m) < 0) return NULL;
    return PyBool_FromLong(!has_ended(m));
}

/* serve(): waits for entries and ends their futures. False: no more will come. */
static PyObject *mailbox_serve(PyObject *self, PyObject *unused) {
    if (wait_readable(((mailbox *)self)->descriptor, INT64_MAX) < 0) return NULL;
    return mailbox_drain(self, unused);
}

/* stop(): makes serve() return False in another thread. Futures that wait stay unfinished. */
static PyObject *mailbox_stop(PyObject *self, PyObject *unused) {
    (void)unused;
    mailbox *m = (mailbox *)self;
    end_mailbox(m);
    if (!is_over() && open_library()) open_library()->cq_wake(m->cq);
    Py_RETURN_NONE;
}

/* --- starting them --- */

static gpo_status notify(const gpo_api *api, mailbox *m, const source *what, void *handle, uint64_t value,
                         uint64_t number) {
    const gpo_status status = what->notify(api, handle, value, m->cq, number);
    if (status != GPO_WOULD_BLOCK) return status;
    drain(api, m); /* the queue counts entries until they are drained */
    return what->notify(api, handle, value, m->cq, number);
}

/* Lets an entry about the source end the future. */
static int begin(const gpo_api *api, mailbox *m, const source *what, handle_object *object, uint64_t value,
                 PyObject *future, PyObject *convert) {
    uint64_t number;
    slot s;
    if (add_slot(m, future, convert, NULL, &number) < 0) return -1;
    const gpo_status status = notify(api, m, what, object->handle, value, number);
    if (status == GPO_SUCCESS) return 0;
    raise_status(status);
    if (take_slot(m, number, &s)) drop_slot(&s);
    return -1;
}

/* begin(source, value, future, convert): True; or False, and the future stays as it is: the source is done. `convert`
 * may be None: the future's result is None. */
static PyObject *mailbox_begin(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    handle_object *object;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "begin() takes 4 arguments (%zd given)", count);
    const source *what = source_of(given[0], &object);
    const uint64_t value = what ? PyLong_AsUnsignedLongLong(given[1]) : 0;
    const gpo_api *api = what && !PyErr_Occurred() ? library() : NULL;
    if (!api) return NULL;
    if (!what->look) return PyErr_Format(PyExc_TypeError, "a %s has no futures", class_entries[what->kind].name);
    if (what->look(api, object->handle, value) == GPO_SUCCESS) Py_RETURN_FALSE;
    if (begin(api, (mailbox *)self, what, object, value, given[2], given[3]) < 0) return NULL;
    Py_RETURN_TRUE;
}

/* add(future, convert, kept): the number whose entry ends the future. */
static PyObject *mailbox_add(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    uint64_t number;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "add() takes 3 arguments (%zd given)", count);
    if (add_slot((mailbox *)self, given[0], given[1], given[2], &number) < 0) return NULL;
    return PyLong_FromUnsignedLongLong(number);
}

/* remove(number): no entry with this number will come. */
static PyObject *mailbox_remove(PyObject *self, PyObject *number) {
    slot s;
    const uint64_t n = PyLong_AsUnsignedLongLong(number);
    if (n == UINT64_MAX && PyErr_Occurred()) return NULL;
    if (take_slot((mailbox *)self, n, &s)) drop_slot(&s);
    Py_RETURN_NONE;
}

static PyObject *mailbox_queue(PyObject *self, void *unused) {
    (void)unused;
    mailbox *m = (mailbox *)self;
    PyObject *queue = __atomic_load_n(&m->queue, __ATOMIC_ACQUIRE);
    if (queue) return Py_NewRef(queue);
    queue = new_handle(CLASS_CQ, m->cq, NULL);
    if (queue) ((handle_object *)queue)->borrowed = 1;
    PyObject *first = NULL;
    BEGIN_LOCKED(m)
    if (m->queue) first = Py_NewRef(m->queue); /* another thread was faster */
    else if (queue) __atomic_store_n(&m->queue, Py_NewRef(queue), __ATOMIC_RELEASE);
    else m->cq = NULL; /* new_handle has destroyed it */
    END_LOCKED()
    if (!first) return queue;
    Py_XDECREF(queue);
    return first;
}

static PyObject *mailbox_pending(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLong(__atomic_load_n(&((mailbox *)self)->pending, __ATOMIC_RELAXED));
}

/* --- mailboxes --- */

static mailbox *new_mailbox(handle_object *runtime, PyObject *loop) {
    const gpo_api *api = library();
    if (!api) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(mailbox_type, Py_tp_alloc);
    mailbox *m = (mailbox *)allocate(mailbox_type, 0);
    if (!m) return NULL;
    pthread_mutex_init(&m->lock, NULL);
    m->descriptor = -1;
    m->free_slot = NO_SLOT;
    m->runtime = runtime->handle;
    m->loop = loop;
    const gpo_cq_options options = {.struct_size = sizeof options, .capacity = CAPACITY};
    gpo_status status = api->cq_create(runtime->handle, &options, &m->cq);
    int32_t descriptor = -1;
    if (status == GPO_SUCCESS) status = api->cq_get_fd(m->cq, &descriptor);
    m->descriptor = descriptor;
    if (status != GPO_SUCCESS) raise_status(status);
    else if (!loop || (m->loop_reference = PyWeakref_NewRef(loop, NULL))) return m;
    Py_DECREF(m);
    return NULL;
}

/* Lets the loop watch the mailbox, and other awaits find it. */
static int watch(mailbox *m, PyObject *loop) {
    PyObject *callback = PyObject_GetAttrString((PyObject *)m, "drain");
    PyObject *added = callback ? PyObject_CallMethod(loop, "add_reader", "iO", m->descriptor, callback) : NULL;
    Py_XDECREF(callback);
    if (!added) return -1;
    Py_DECREF(added);
    m->reference = PyWeakref_NewRef((PyObject *)m, NULL);
    if (!m->reference) return -1;
    pthread_mutex_lock(&mailboxes_lock);
    m->next = mailboxes;
    mailboxes = m;
    pthread_mutex_unlock(&mailboxes_lock);
    return 0;
}

/* NULL without an exception: the loop has none. */
static mailbox *find_mailbox(void *runtime, PyObject *loop) {
    PyObject *reference = NULL; /* another thread may be deallocating the mailbox */
    pthread_mutex_lock(&mailboxes_lock);
    for (mailbox *m = mailboxes; m && !reference; m = m->next)
        if (m->loop == (void *)loop && m->runtime == runtime && !has_ended(m)) reference = Py_NewRef(m->reference);
    pthread_mutex_unlock(&mailboxes_lock);
    mailbox *found = reference ? (mailbox *)PyObject_CallNoArgs(reference) : NULL;
    Py_XDECREF(reference);
    if ((PyObject *)found == Py_None) Py_CLEAR(found);
    if (!found) return NULL;
    /* Another loop may have had the address before. */
    PyObject *same = PyObject_CallNoArgs(found->loop_reference);
    Py_XDECREF(same);
    if (same == loop) return found;
    if (same) end_mailbox(found);
    Py_DECREF(found);
    return !same ? NULL : find_mailbox(runtime, loop);
}

/* The mailbox of a loop for work of the object's runtime. */
static mailbox *mailbox_of(handle_object *object, PyObject *loop) {
    handle_object *runtime = ancestor(object, CLASS_RUNTIME);
    if (!runtime || !runtime->handle) {
        PyErr_SetString(PyExc_ValueError, "runtime is closed");
        return NULL;
    }
    mailbox *m = find_mailbox(runtime->handle, loop);
    if (m || PyErr_Occurred()) return m;
    m = new_mailbox(runtime, loop);
    if (!m || watch(m, loop) == 0) return m;
    Py_DECREF(m);
    return NULL;
}

static void unlink_mailbox(mailbox *m) {
    pthread_mutex_lock(&mailboxes_lock);
    for (mailbox **at = &mailboxes; *at; at = &(*at)->next) {
        if (*at != m) continue;
        *at = m->next;
        break;
    }
    pthread_mutex_unlock(&mailboxes_lock);
}

static int mailbox_traverse(PyObject *self, visitproc visit, void *arg) {
    mailbox *m = (mailbox *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(m->loop_reference);
    Py_VISIT(m->queue);
    for (uint32_t i = 0; i < m->slot_count; ++i) {
        Py_VISIT(m->slots[i].future);
        Py_VISIT(m->slots[i].convert);
        Py_VISIT(m->slots[i].kept);
    }
    return 0;
}

static int mailbox_clear(PyObject *self) {
    mailbox *m = (mailbox *)self;
    end_mailbox(m);
    for (uint32_t i = 0; i < m->slot_count; ++i) {
        slot s;
        if (m->slots[i].future && take_slot(m, (uint64_t)m->slots[i].generation << 32 | i, &s)) drop_slot(&s);
    }
    return 0;
}

static void mailbox_dealloc(PyObject *self) {
    mailbox *m = (mailbox *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (m->weak_references) PyObject_ClearWeakRefs(self);
    unlink_mailbox(m);
    if (m->cq && !is_over() && open_library()) open_library()->cq_destroy(m->cq);
    if (m->descriptor >= 0) close(m->descriptor);
    mailbox_clear(self);
    Py_CLEAR(m->loop_reference);
    Py_CLEAR(m->reference);
    Py_CLEAR(m->queue);
    free(m->slots);
    pthread_mutex_destroy(&m->lock);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* --- the module's functions --- */

/* await_(source, value, loop): the iterator that __await__ returns. Work that is done already isn't waited for. */
static PyObject *await_source(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    handle_object *object;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "await_() takes 3 arguments (%zd given)", count);
    const source *what = source_of(given[0], &object);
    const uint64_t value = what ? PyLong_AsUnsignedLongLong(given[1]) : 0;
    const gpo_api *api = what && !PyErr_Occurred() ? library() : NULL;
    if (!api) return NULL;
    if (!what->look) return PyErr_Format(PyExc_TypeError, "a %s can't be awaited", class_entries[what->kind].name);
    if (what->look(api, object->handle, value) == GPO_SUCCESS) return PyObject_GetIter(no_items);
    mailbox *m = mailbox_of(object, given[2]);
    PyObject *future = m ? PyObject_CallMethodObjArgs(given[2], word_create_future, NULL) : NULL, *iterator = NULL;
    if (future && begin(api, m, what, object, value, future, NULL) == 0)
        iterator = PyObject_CallMethodObjArgs(future, word_await, NULL);
    Py_XDECREF(future);
    Py_XDECREF((PyObject *)m);
    return iterator;
}

/* mailbox(object, loop): the mailbox of a loop for work of the object's runtime. loop None: a new one without a loop,
 * for concurrent.futures. */
static PyObject *mailbox_for(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "mailbox() takes 2 arguments (%zd given)", count);
    handle_object *object = check_handle(given[0], CLASS_ANY, "object");
    if (!object) return NULL;
    if (given[1] != Py_None) return (PyObject *)mailbox_of(object, given[1]);
    handle_object *runtime = ancestor(object, CLASS_RUNTIME);
    if (runtime && runtime->handle) return (PyObject *)new_mailbox(runtime, NULL);
    PyErr_SetString(PyExc_ValueError, "runtime is closed");
    return NULL;
}

/* runtime_of(object): the object's runtime. */
static PyObject *runtime_of(PyObject *module, PyObject *value) {
    (void)module;
    handle_object *object = check_handle(value, CLASS_ANY, "object");
    handle_object *runtime = object ? ancestor(object, CLASS_RUNTIME) : NULL;
    if (runtime && runtime->handle) return Py_NewRef((PyObject *)runtime);
    if (object) PyErr_SetString(PyExc_ValueError, "runtime is closed");
    return NULL;
}

static PyMethodDef mailbox_methods[] = {
    {"drain", mailbox_drain, METH_NOARGS, "Takes entries out of the queue and ends their futures."},
    {"serve", mailbox_serve, METH_NOARGS, "Waits for entries and ends their futures. False: no more will come."},
    {"stop", mailbox_stop, METH_NOARGS, "Makes serve() return False in another thread."},
    {"begin", (PyCFunction)(void (*)(void))mailbox_begin, METH_FASTCALL,
     "begin(source, value, future, convert): lets the source end the future. False: the source is done already."},
    {"add", (PyCFunction)(void (*)(void))mailbox_add, METH_FASTCALL,
     "add(future, convert, kept): the number whose entry ends the future."},
    {"remove", mailbox_remove, METH_O, "remove(number): no entry with this number will come."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef mailbox_values[] = {
    {"cq", mailbox_queue, NULL, "The queue, for calls that put entries into it.", NULL},
    {"pending", mailbox_pending, NULL, "How many entries are to come.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyMemberDef mailbox_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(mailbox, weak_references), READONLY, NULL}, {NULL, 0, 0, 0, NULL}};
static PyType_Slot mailbox_slots[] = {{Py_tp_doc, "A completion queue whose entries end futures."},
                                      {Py_tp_methods, mailbox_methods},
                                      {Py_tp_getset, mailbox_values},
                                      {Py_tp_members, mailbox_members},
                                      {Py_tp_traverse, mailbox_traverse},
                                      {Py_tp_clear, mailbox_clear},
                                      {Py_tp_dealloc, mailbox_dealloc},
                                      {0, NULL}};
static PyType_Spec mailbox_spec = {"_gpuorch.Mailbox", sizeof(mailbox), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                                       Py_TPFLAGS_IMMUTABLETYPE,
                                   mailbox_slots};
static PyMethodDef functions[] = {
    {"await_", (PyCFunction)(void (*)(void))await_source, METH_FASTCALL,
     "await_(source, value, loop): the iterator that __await__ returns."},
    {"mailbox", (PyCFunction)(void (*)(void))mailbox_for, METH_FASTCALL,
     "mailbox(object, loop): the mailbox of a loop for work of the object's runtime; loop None: of no loop."},
    {"runtime_of", runtime_of, METH_O, "runtime_of(object): the object's runtime."},
    {NULL, NULL, 0, NULL}};

int add_mailboxes(PyObject *module) {
    mailbox_type = (PyTypeObject *)PyType_FromSpec(&mailbox_spec);
    word_done = PyUnicode_InternFromString("done");
    word_set_result = PyUnicode_InternFromString("set_result");
    word_set_exception = PyUnicode_InternFromString("set_exception");
    word_running = PyUnicode_InternFromString("set_running_or_notify_cancel");
    word_create_future = PyUnicode_InternFromString("create_future");
    word_await = PyUnicode_InternFromString("__await__");
    word_remove_reader = PyUnicode_InternFromString("remove_reader");
    no_items = PyTuple_New(0);
    if (!mailbox_type || PyErr_Occurred()) return -1;
    return PyModule_AddFunctions(module, functions);
}
