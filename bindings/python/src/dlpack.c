/* dlpack.c: arrays for other libraries, and their arrays for this one: DLPack, and the CUDA array interface.
 *
 * A loan of an array holds a reference to the array and counts as an export. The borrower may end a loan on any thread,
 * without the interpreter's lock, even after the interpreter has ended. Therefore the end of a loan only puts the loan
 * into a list without locks. The next call that may free memory empties the list (settle_loans).
 *
 * On the software GPU, device memory is memory of the host. Another library would take its address for an address of
 * CUDA's; so arrays of device memory have these attributes on CUDA devices only. */
#include "dlpack.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Keeps a tensor that another library has lent, until the array is freed: see part_with_tensor(). */
typedef struct keeper_object {
    OBJECT_HEAD lent_tensor *old;
    versioned_tensor *versioned;
    int32_t device_kind, device; /* of the tensor */
} keeper_object;

static PyTypeObject *keeper_type;

/* --- lending --- */

typedef struct loan {
    struct loan *next;
    memory_object *array;
    int64_t shape, stride;
    union {
        lent_tensor old;
        versioned_tensor versioned;
    } as;
} loan;

static _Atomic(loan *) ended_loans;

static void end_loan(loan *l) {
    l->next = atomic_load_explicit(&ended_loans, memory_order_relaxed);
    while (
        !atomic_compare_exchange_weak_explicit(&ended_loans, &l->next, l, memory_order_release, memory_order_relaxed)) {
    }
}

static void release_old(lent_tensor *lent) { end_loan(lent->context); }
static void release_versioned(versioned_tensor *lent) { end_loan(lent->context); }

void settle_loans(void) {
    if (!atomic_load_explicit(&ended_loans, memory_order_relaxed)) return;
    loan *all = atomic_exchange_explicit(&ended_loans, NULL, memory_order_acquire);
    while (all) {
        loan *l = all;
        all = l->next;
        end_use(root_of(l->array), 0);
        Py_DECREF((PyObject *)l->array);
        free(l);
    }
}

/* The tensor was never taken: the capsule still has its first name. */
static void drop_capsule(PyObject *capsule) {
    static const char *const names[] = {"dltensor_versioned", "dltensor"};
    for (int old = 0; old < 2; ++old) {
        if (!PyCapsule_IsValid(capsule, names[old])) continue;
        void *lent = PyCapsule_GetPointer(capsule, names[old]);
        if (old)
            release_old(lent);
        else
            release_versioned(lent);
        settle_loans();
    }
}

static void describe(const memory_object *array, int32_t kind, int32_t device, int64_t *shape, int64_t *stride,
                     tensor *t) {
    const char letter = array->format[0];
    *t = (tensor){.data = array->count ? (void *)(uintptr_t)array->address : NULL,
                  .device_kind = kind,
                  .device = device,
                  .dimensions = 1,
                  .element_kind = letter == '?'            ? TENSOR_BOOL
                                  : strchr("efd", letter)  ? TENSOR_FLOAT
                                  : strchr("BHIQ", letter) ? TENSOR_UINT
                                                           : TENSOR_INT,
                  .element_bits = (uint8_t)(array->element_bytes * 8),
                  .lanes = 1,
                  .shape = shape,
                  .strides = stride};
}

/* The kind and the number of the device for others; -1 with an exception. */
static int device_for_others(memory_object *array, int32_t *kind, int32_t *number) {
    if (!check_alive(array)) return -1;
    handle_object *device = device_of((PyObject *)array);
    *kind = TENSOR_CPU;
    *number = 0;
    PyObject *owner = root_of(array)->owner;
    if (!device && owner && Py_TYPE(owner) == keeper_type) { /* an array of another library's memory */
        *kind = ((keeper_object *)owner)->device_kind;
        *number = ((keeper_object *)owner)->device;
        return 0;
    }
    if (!device) {
        PyErr_SetString(PyExc_ValueError, "the array is freed");
        return -1;
    }
    if (describe_device(device) < 0) return -1;
    if (device->software) return 0;
    *kind = array->on_device ? TENSOR_CUDA : TENSOR_CUDA_HOST;
    if (array->on_device) *number = device->ordinal;
    return 0;
}

/* Makes the borrower's stream wait for one of ours. `theirs` is wrapped at the first call. */
static gpo_status order_behind(const gpo_api *api, handle_object *stream, handle_object *device, int64_t native,
                               gpo_stream_t *theirs) {
    void *ours = stream->handle;
    gpo_status status = GPO_SUCCESS;
    if (!ours || query_stream(api, stream) == GPO_SUCCESS) return status;
    if (is_recording(api, stream)) return status; /* what is recorded runs later, if ever */
    if (!device) device = ancestor(stream, CLASS_DEVICE); /* of another library's memory */
    void *handle = device ? device->handle : NULL;
    if (native == 2 || !handle) {
        Py_BEGIN_ALLOW_THREADS
        status = api->stream_wait(ours, -1);
        Py_END_ALLOW_THREADS
        return status;
    }
    if (!*theirs) status = api->stream_wrap(handle, (void *)(intptr_t)native, NULL, theirs);
    if (status == GPO_SUCCESS) status = api->stream_wait_stream(*theirs, ours);
    return status == GPO_CAPTURE_REFUSED ? GPO_SUCCESS : status; /* nothing is added to a capture unasked */
}

/* Makes the borrower's stream wait for the work of ours that uses the array. `native` as the protocol says: 0 or 1 is
 * the legacy default stream, 2 the default stream of the thread. The host waits where the library can't wrap the
 * stream: the thread's default stream, or a stream of a closed device. */
static int order(const gpo_api *api, memory_object *array, int64_t native) {
    memory_object *root = root_of(array);
    handle_object *device = device_of((PyObject *)array);
    gpo_stream_t theirs = NULL;
    gpo_status status = GPO_SUCCESS;
    Py_ssize_t place = -1;
    for (handle_object *stream; status == GPO_SUCCESS && (stream = next_user(root, &place));) {
        status = order_behind(api, stream, device, native, &theirs);
        Py_DECREF((PyObject *)stream);
    }
    if (status != GPO_SUCCESS) raise_status(status);
    if (theirs) api->stream_destroy(theirs);
    return status == GPO_SUCCESS ? 0 : -1;
}

static int order_for(memory_object *array, PyObject *stream) {
    const gpo_api *api = library();
    if (!api) return -1;
    if (!array->on_device) {
        if (stream == Py_None || (PyLong_Check(stream) && PyLong_AsLong(stream) == -1)) return 0;
        PyErr_SetString(PyExc_BufferError, "stream: memory of the host has none");
        return -1;
    }
    const int64_t native = stream == Py_None ? 1 : PyLong_AsLongLong(stream);
    if (PyErr_Occurred()) return -1;
    if (native == -1) return 0;
    if (native == 0) {
        PyErr_SetString(PyExc_ValueError, "stream: 0 is ambiguous: 1 is the legacy default stream, 2 the thread's");
        return -1;
    }
    return order(api, array, native);
}

/* Whether the memory ends with the callback that runs now. A loan could outlive the memory: then sets an exception. */
static int is_last(const memory_object *array) {
    PyObject *owner = root_of((memory_object *)array)->owner;
    if (!owner || !PyObject_TypeCheck(owner, handle_type) || !is_last_callback((handle_object *)owner)) return 0;
    PyErr_SetString(PyExc_BufferError, "the array can't be lent: its runtime is being closed");
    return 1;
}

static loan *new_loan(memory_object *array, int32_t kind, int32_t number, int versioned) {
    loan *l = calloc(1, sizeof *l);
    if (!l) {
        PyErr_NoMemory();
        return NULL;
    }
    l->shape = array->count;
    l->stride = 1;
    if (versioned) {
        l->as.versioned = (versioned_tensor){.version = {1, 0}, .context = l, .release = release_versioned};
        describe(array, kind, number, &l->shape, &l->stride, &l->as.versioned.tensor);
    } else {
        l->as.old = (lent_tensor){.context = l, .release = release_old};
        describe(array, kind, number, &l->shape, &l->stride, &l->as.old.tensor);
    }
    l->array = (memory_object *)Py_NewRef((PyObject *)array);
    add_use(root_of(array), 0);
    /* A close sees the loan from now on. If a close came before, the memory has ended. */
    if (check_alive(array) && !is_last(array)) return l;
    end_loan(l);
    settle_loans();
    return NULL;
}

static PyObject *lend(memory_object *array, int32_t kind, int32_t number, int versioned) {
    loan *l = new_loan(array, kind, number, versioned);
    if (!l) return NULL;
    PyObject *capsule = PyCapsule_New(&l->as, versioned ? "dltensor_versioned" : "dltensor", drop_capsule);
    if (!capsule) end_loan(l);
    return capsule;
}

/* The device of an array, for the borrower by the C table, whose work runs on the legacy default stream. */
static int prepare_for_table(memory_object *array, int32_t *kind, int32_t *number) {
    if (device_for_others(array, kind, number) < 0) return -1;
    if (!array->on_device) return 0;
    if (*kind == TENSOR_CPU) {
        PyErr_SetString(PyExc_BufferError, "memory of the software GPU is for this library only");
        return -1;
    }
    const gpo_api *api = library();
    return api ? order(api, array, 1) : -1;
}

int look_at_array(memory_object *array, tensor *out) {
    static int64_t stride = 1;
    _Static_assert(sizeof array->count == sizeof stride, "the count of elements is the shape");
    int32_t kind, number;
    if (prepare_for_table(array, &kind, &number) < 0) return -1;
    describe(array, kind, number, (int64_t *)&array->count, &stride, out);
    return 0;
}

versioned_tensor *lend_array(memory_object *array) {
    int32_t kind, number;
    settle_memory();
    loan *l = prepare_for_table(array, &kind, &number) < 0 ? NULL : new_loan(array, kind, number, 1);
    return l ? &l->as.versioned : NULL;
}

/* True if the borrower knows the form with a version; -1: an exception. */
static int knows_versions(PyObject *most) {
    if (most == Py_None) return 0;
    PyObject *major = PySequence_GetItem(most, 0);
    const long version = major ? PyLong_AsLong(major) : -1;
    Py_XDECREF(major);
    return PyErr_Occurred() ? -1 : version >= 1;
}

static int check_other_device(PyObject *wanted, int32_t kind, int32_t number) {
    int other_kind, other_number;
    if (wanted == Py_None) return 0;
    if (!PyTuple_Check(wanted)) {
        PyErr_SetString(PyExc_TypeError, "dl_device: a tuple of two ints expected");
        return -1;
    }
    if (!PyArg_ParseTuple(wanted, "ii;dl_device: a tuple of two ints expected", &other_kind, &other_number)) return -1;
    if (other_kind == kind && other_number == number) return 0;
    /* Pinned memory is the host's, too. */
    if (kind == TENSOR_CUDA_HOST && other_kind == TENSOR_CPU) return 0;
    PyErr_SetString(PyExc_BufferError, "dl_device: the array is on another device, and isn't copied");
    return -1;
}

/* array.__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None) */
static PyObject *array_dlpack(PyObject *self, PyObject *arguments, PyObject *named) {
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    memory_object *array = (memory_object *)self;
    PyObject *stream = Py_None, *most = Py_None, *wanted = Py_None, *copy = Py_None;
    int32_t kind, number;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "|$OOOO:__dlpack__", names, &stream, &most, &wanted, &copy))
        return NULL;
    settle_memory();
    if (device_for_others(array, &kind, &number) < 0 || check_other_device(wanted, kind, number) < 0) return NULL;
    const int copies = copy == Py_None ? 0 : PyObject_IsTrue(copy), versioned = knows_versions(most);
    if (copies < 0 || versioned < 0) return NULL;
    if (copies) {
        PyErr_SetString(PyExc_BufferError, "copy: the array lends its memory, and makes no copies");
        return NULL;
    }
    if (wanted != Py_None && kind == TENSOR_CUDA_HOST) {
        int other;
        if (!PyArg_ParseTuple(wanted, "ii", &other, &number)) return NULL;
        kind = other;
    }
    return order_for(array, stream) < 0 ? NULL : lend(array, kind, number, versioned);
}

static PyObject *array_dlpack_device(PyObject *self, PyObject *unused) {
    (void)unused;
    int32_t kind, number;
    if (device_for_others((memory_object *)self, &kind, &number) < 0) return NULL;
    return Py_BuildValue("(ii)", kind, number);
}

/* True if others may have the array's address; an AttributeError else, so that hasattr() says no. */
static int is_for_others(PyObject *self, const char *name, int only_device) {
    memory_object *array = (memory_object *)self;
    if (!array->on_device && !only_device) return 1;
    handle_object *device = device_of(self);
    const int software = device && array->on_device ? is_software(device) : 0;
    if (software == 0 && array->on_device) return 1;
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_MemoryError)) return 0;
    PyErr_Format(PyExc_AttributeError, "'%s': %s", name,
                 array->on_device ? "memory of the software GPU is for this library only" : "the array is on the host");
    return 0;
}

PyObject *get_dlpack(PyObject *self, void *unused) {
    static PyMethodDef method = {
        "__dlpack__", (PyCFunction)(void (*)(void))array_dlpack, METH_VARARGS | METH_KEYWORDS,
        "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\n"
        "Lends the memory to another library, whose stream waits for the work that uses the array."};
    (void)unused;
    return is_for_others(self, "__dlpack__", 0) ? PyCFunction_NewEx(&method, self, NULL) : NULL;
}

PyObject *get_dlpack_device(PyObject *self, void *unused) {
    static PyMethodDef method = {
        "__dlpack_device__", array_dlpack_device, METH_NOARGS,
        "__dlpack_device__()\n--\n\nThe kind and the number of the device, as DLPack has them."};
    (void)unused;
    return is_for_others(self, "__dlpack_device__", 0) ? PyCFunction_NewEx(&method, self, NULL) : NULL;
}

/* The stream that the borrower has to order its work behind, or None. Waits for all other streams that have work. */
static PyObject *stream_for_others(memory_object *root) {
    const gpo_api *api = library();
    void *native = NULL;
    if (!api) return NULL;
    Py_ssize_t place = -1;
    gpo_stream_t first = NULL;
    for (handle_object *newest; !first && (newest = next_user(root, &place)); Py_DECREF((PyObject *)newest))
        if (!is_recording(api, newest)) first = newest->handle; /* NULL: it is closed */
    if (!first) return Py_NewRef(Py_None);
    gpo_status status = api->stream_get_native(first, &native);
    for (handle_object *stream; status == GPO_SUCCESS && (stream = next_user(root, &place));) {
        gpo_stream_t other = stream->handle;
        const int has_work = other && query_stream(api, stream) != GPO_SUCCESS && !is_recording(api, stream);
        Py_BEGIN_ALLOW_THREADS
        if (has_work) status = api->stream_wait(other, -1);
        Py_END_ALLOW_THREADS
        Py_DECREF((PyObject *)stream);
    }
    if (status != GPO_SUCCESS) return raise_status(status);
    return PyLong_FromUnsignedLongLong(native ? (uintptr_t)native : 1); /* 0 isn't allowed: 1 is the same stream */
}

PyObject *get_cuda_array_interface(PyObject *self, void *unused) {
    (void)unused;
    memory_object *array = (memory_object *)self;
    if (!is_for_others(self, "__cuda_array_interface__", 1)) return NULL;
    PyObject *stream = check_alive(array) ? stream_for_others(root_of(array)) : NULL;
    if (!stream) return NULL;
    const char letter = array->format[0];
    const char kind = letter == '?' ? 'b' : strchr("efd", letter) ? 'f' : strchr("BHIQ", letter) ? 'u' : 'i';
    char type[8] = {letter == '?' || array->element_bytes == 1 ? '|' : '<', kind, (char)('0' + array->element_bytes)};
    return Py_BuildValue("{s(n)sss(KO)sOsNsi}", "shape", array->count, "typestr", type, "data",
                         (unsigned long long)(array->count ? array->address : 0), Py_False, "strides", Py_None,
                         "stream", stream, "version", 3);
}

/* --- borrowing --- */

static void keeper_dealloc(PyObject *self) {
    keeper_object *keeper = (keeper_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject *type_of_error, *error, *trace;
    PyErr_Fetch(&type_of_error, &error, &trace);
    if (keeper->old && keeper->old->release) keeper->old->release(keeper->old);
    if (keeper->versioned && keeper->versioned->release) keeper->versioned->release(keeper->versioned);
    PyErr_Restore(type_of_error, error, trace);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

PyObject *part_with_tensor(PyObject *owner) {
    PyObject *type_of_error, *error, *trace;
    keeper_object *from = (keeper_object *)owner;
    PyErr_Fetch(&type_of_error, &error, &trace);
    keeper_object *to = (keeper_object *)PyType_GenericAlloc(keeper_type, 0);
    PyErr_Restore(type_of_error, error, trace);
    if (!to) return Py_NewRef(owner);
    to->old = from->old;
    to->versioned = from->versioned;
    from->old = NULL;
    from->versioned = NULL;
    return (PyObject *)to;
}

static PyType_Slot keeper_slots[] = {{Py_tp_dealloc, keeper_dealloc}, {0, NULL}};
static PyType_Spec keeper_spec = {"_gpuorch.BorrowedTensor", sizeof(keeper_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, keeper_slots};

/* object.__dlpack__(stream=..., max_version=(1, 0)), without what the object doesn't know. */
static PyObject *ask_for_capsule(PyObject *object, int64_t stream) {
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    PyObject *empty = method ? PyTuple_New(0) : NULL;
    PyObject *named = empty ? PyDict_New() : NULL, *capsule = NULL;
    PyObject *number = stream ? PyLong_FromLongLong(stream) : NULL;
    PyObject *version = Py_BuildValue("(ii)", 1, 0);
    if (named && version && (!stream || number) && PyDict_SetItemString(named, "max_version", version) == 0 &&
        (!number || PyDict_SetItemString(named, "stream", number) == 0)) {
        capsule = PyObject_Call(method, empty, named);
        if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) { /* older than the version */
            PyErr_Clear();
            if (PyDict_DelItemString(named, "max_version") == 0) capsule = PyObject_Call(method, empty, named);
        }
    }
    Py_XDECREF(version);
    Py_XDECREF(number);
    Py_XDECREF(named);
    Py_XDECREF(empty);
    Py_XDECREF(method);
    return capsule;
}

/* Takes the tensor out of the capsule. */
static int open_capsule(PyObject *capsule, keeper_object *keeper, const tensor **out, int *read_only) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        keeper->versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (PyCapsule_SetName(capsule, "used_dltensor_versioned") < 0) return -1;
        *out = &keeper->versioned->tensor;
        if (keeper->versioned->version.major == 1) {
            *read_only = (keeper->versioned->flags & TENSOR_READ_ONLY) != 0;
            return 0;
        }
        PyErr_Format(PyExc_BufferError, "a tensor of DLPack 1 expected, not of version %u",
                     keeper->versioned->version.major);
        return -1;
    }
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        keeper->old = PyCapsule_GetPointer(capsule, "dltensor");
        *out = &keeper->old->tensor;
        *read_only = 0;
        return PyCapsule_SetName(capsule, "used_dltensor");
    }
    PyErr_SetString(PyExc_BufferError, "__dlpack__() gave no tensor");
    return -1;
}

static void note_device(keeper_object *keeper, const tensor *t) {
    keeper->device_kind = t->device_kind;
    keeper->device = t->device;
}

PyObject *borrow_tensor(PyObject *object, int64_t stream, const tensor **out, int *read_only) {
    keeper_object *keeper = (keeper_object *)PyType_GenericAlloc(keeper_type, 0);
    PyObject *capsule = keeper ? ask_for_capsule(object, stream) : NULL;
    if (!capsule || open_capsule(capsule, keeper, out, read_only) < 0) Py_CLEAR(keeper);
    if (keeper) note_device(keeper, *out);
    Py_XDECREF(capsule);
    return (PyObject *)keeper;
}

int64_t tensor_bytes(const tensor *t, const char *parameter) {
    int64_t count = 1, bits;
    for (int i = t->dimensions; i-- > 0;) {
        if (t->strides && t->shape[i] > 1 && t->strides[i] != count) {
            PyErr_Format(PyExc_ValueError, "%s: the tensor isn't contiguous: give a contiguous copy of it", parameter);
            return -1;
        }
        if (t->shape[i] < 0 || __builtin_mul_overflow(count, t->shape[i], &count)) {
            PyErr_Format(PyExc_ValueError, "%s: the tensor's shape is no size of memory", parameter);
            return -1;
        }
    }
    if (__builtin_mul_overflow(count, (int64_t)t->element_bits * t->lanes, &bits) || bits > INT64_MAX - 7) {
        PyErr_Format(PyExc_ValueError, "%s: the tensor's shape is no size of memory", parameter);
        return -1;
    }
    return (bits + 7) / 8;
}

static char letter_of(const tensor *t) {
    static const char letters[4][4] = {"bhi", "BHI", "\0ef"};
    if (t->lanes != 1) return 0;
    if (t->element_kind == TENSOR_BOOL) return t->element_bits == 8 ? '?' : 0;
    const int size = t->element_bits == 8 ? 0 : t->element_bits == 16 ? 1 : t->element_bits == 32 ? 2 : 3;
    if (t->element_kind > TENSOR_FLOAT || (size == 3 && t->element_bits != 64)) return 0;
    return size == 3 ? "qQd"[t->element_kind] : letters[t->element_kind][size];
}

/* An array of a tensor's memory, which the keeper keeps. */
static PyObject *new_array(PyObject *keeper, const tensor *t, int read_only) {
    const char letter = letter_of(t);
    const int64_t bytes = tensor_bytes(t, "from_dlpack");
    if (bytes < 0) return NULL;
    if (!letter) {
        PyErr_SetString(PyExc_BufferError, "arrays have no elements of the tensor's type");
    } else if (read_only) {
        PyErr_SetString(PyExc_BufferError, "the tensor is read-only, and arrays are not");
    } else if (t->device_kind != TENSOR_CPU && t->device_kind != TENSOR_CUDA_HOST && !tensor_is_on_device(t)) {
        PyErr_Format(PyExc_BufferError, "the tensor is on a device of kind %d, neither the host nor CUDA",
                     t->device_kind);
    } else if (bytes == 0) {
        PyErr_SetString(PyExc_BufferError, "the tensor has no elements");
    } else {
        PyObject *array = new_memory(keeper, tensor_is_on_device(t), tensor_address(t), letter,
                                     (Py_ssize_t)(bytes / (t->element_bits / 8)));
        if (array) ((memory_object *)array)->pageable = t->device_kind == TENSOR_CPU;
        return array;
    }
    return NULL;
}

/* from_dlpack(object, native stream): an array that shares the memory of another library's tensor. */
static PyObject *from_dlpack(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *object;
    long long stream;
    const tensor *t = NULL;
    int read_only = 0;
    if (!PyArg_ParseTuple(arguments, "OL", &object, &stream)) return NULL;
    settle_memory();
    PyObject *keeper = borrow_tensor(object, stream, &t, &read_only);
    if (!keeper) return NULL;
    PyObject *array = new_array(keeper, t, read_only);
    Py_DECREF(keeper);
    return array;
}

PyObject *take_tensor(versioned_tensor *lent) {
    const tensor *t = &lent->tensor;
    if (lent->version.major != 1 || t->dimensions != 1) {
        PyErr_Format(PyExc_BufferError, "a tensor of DLPack 1 with one dimension expected, not of version %u with %d",
                     lent->version.major, lent->version.major == 1 ? t->dimensions : 0);
        return NULL;
    }
    settle_memory();
    keeper_object *keeper = (keeper_object *)PyType_GenericAlloc(keeper_type, 0);
    if (keeper) note_device(keeper, t);
    PyObject *array = keeper ? new_array((PyObject *)keeper, t, (lent->flags & TENSOR_READ_ONLY) != 0) : NULL;
    if (array) keeper->versioned = lent; /* not before: a keeper without an array would release the tensor */
    Py_XDECREF((PyObject *)keeper);
    return array;
}

/* _native_stream(stream): the address of its CUstream, or 1 for the legacy default stream. On the software GPU an
 * AttributeError, so that hasattr(stream, "__cuda_stream__") says no. */
static PyObject *native_stream(PyObject *module, PyObject *object) {
    (void)module;
    const gpo_api *api = library();
    handle_object *stream = api ? check_handle(object, CLASS_STREAM, "stream") : NULL;
    handle_object *device = stream ? device_of(object) : NULL;
    const int software = !stream ? -1 : device ? is_software(device) : 0;
    void *native = NULL;
    if (software < 0) return NULL;
    if (software) {
        PyErr_SetString(PyExc_AttributeError,
                        "'__cuda_stream__': streams of the software GPU are for this library only");
        return NULL;
    }
    const gpo_status status = api->stream_get_native(stream->handle, &native);
    if (status != GPO_SUCCESS) return raise_status(status);
    return PyLong_FromUnsignedLongLong(native ? (uintptr_t)native : 1);
}

static PyMethodDef functions[] = {{"_from_dlpack", from_dlpack, METH_VARARGS, NULL},
                                  {"_native_stream", native_stream, METH_O, NULL},
                                  {NULL, NULL, 0, NULL}};

int add_dlpack(PyObject *module) {
    keeper_type = (PyTypeObject *)PyType_FromSpec(&keeper_spec);
    return !keeper_type || add_exchange() < 0 ? -1 : PyModule_AddFunctions(module, functions);
}
