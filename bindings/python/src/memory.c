/* memory.c: arrays of the library's memory.
 *
 * An array is one-dimensional and typed. An array on the host has the buffer protocol, elements and slices; numpy and
 * memoryviews share its memory. An array of device memory has an address, a length and slices. A slice is a view: an
 * array that shares the memory of its base, and keeps the base. When and how memory is freed is in piece.c. */
#include "gpuorch_python.h"

#include <stdlib.h>
#include <string.h>

#include <structmember.h> /* needs Python.h */

PyTypeObject *memory_type;

static PyTypeObject *array_class; /* what Python has derived from memory_type; or NULL */

static memory_object *self_of(PyObject *self) { return (memory_object *)self; }

/* --- life --- */

int check_alive(memory_object *array) {
    const memory_object *root = root_of(array);
    if (!__atomic_load_n(&root->address, __ATOMIC_RELAXED)) {
        PyErr_SetString(PyExc_ValueError, "the array is freed");
        return 0;
    }
    if (!root->owner || !PyObject_TypeCheck(root->owner, handle_type)) return 1;
    const char *closed = memory_ended_with((handle_object *)root->owner);
    if (closed)
        PyErr_Format(PyExc_ValueError, "the array is freed: its %s is closed", closed);
    const char *ending = closed ? NULL : memory_is_ending_with((handle_object *)root->owner);
    if (ending) PyErr_Format(PyExc_ValueError, "the array can't be used: its %s is being closed", ending);
    return !closed && !ending;
}

static memory_object *make_array(Py_ssize_t count, uint64_t address, char format, int on_device) {
    memory_object *array = self_of(PyType_GenericAlloc(array_class ? array_class : memory_type, 0));
    if (!array) return NULL;
    array->element_bytes = element_bytes(format);
    array->format[0] = format;
    array->address = address;
    array->count = count;
    array->bytes = (uint64_t)count * array->element_bytes;
    array->on_device = on_device;
    return array;
}

PyObject *new_memory(PyObject *owner, int on_device, uint64_t address, char format, Py_ssize_t count) {
    memory_object *array = make_array(count, address, format, on_device);
    if (array) {
        array->owner = Py_NewRef(owner);
        array->in_template =
            PyObject_TypeCheck(owner, handle_type) && ((handle_object *)owner)->kind == CLASS_TEMPLATE;
        return (PyObject *)array;
    }
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    memory_object lost = {.owner = Py_NewRef(owner), .address = address};
    free_memory(&lost, 1);
    Py_XDECREF(lost.owner);
    PyErr_Restore(type, error, trace);
    return NULL;
}

static PyObject *new_view(memory_object *array, Py_ssize_t start, Py_ssize_t count) {
    memory_object *view =
        make_array(count, array->address + (uint64_t)start * array->element_bytes, array->format[0], array->on_device);
    if (view) view->base = Py_NewRef((PyObject *)root_of(array));
    return (PyObject *)view;
}

void settle_memory(void) {
    settle_loans();
    settle_deferred();
}

static void memory_dealloc(PyObject *self) {
    memory_object *array = self_of(self);
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (array->weak_references) PyObject_ClearWeakRefs(self);
    PyObject *type_of_error, *error, *trace;
    PyErr_Fetch(&type_of_error, &error, &trace);
    if (array->owner) free_memory(array, 1);
    PyErr_Restore(type_of_error, error, trace);
    Py_CLEAR(array->base);
    Py_CLEAR(array->streams);
    Py_XDECREF((PyObject *)array->stream);
    Py_CLEAR(array->owner);
    Py_CLEAR(array->dict);
    PyObject_GC_Del(self);
    Py_DECREF((PyObject *)type);
}

static int memory_traverse(PyObject *self, visitproc visit, void *arg) {
    memory_object *array = self_of(self);
    Py_VISIT((PyObject *)Py_TYPE(self));
    Py_VISIT(array->owner);
    Py_VISIT(array->base);
    Py_VISIT((PyObject *)array->stream);
    Py_VISIT(array->streams);
    Py_VISIT(array->dict);
    return 0;
}

/* Owner, base and streams stay: memory_dealloc frees the memory with them. Every cycle has a dict, of an array or of a
 * handle. */
static int memory_clear(PyObject *self) {
    Py_CLEAR(self_of(self)->dict);
    return 0;
}

/* --- streams that use it --- */

/* Whether a stream need not be remembered any more. */
static int is_done(const gpo_api *api, const handle_object *stream) {
    return query_stream(api, stream) == GPO_SUCCESS;
}

/* Moves the newest stream to the list of others; of closed streams one stands for all. An idle stream is moved, too:
 * another thread, which has found the stream noted, may be about to put work there. The caller has the array's lock,
 * which the end of a stream may give away meanwhile. */
static int remember_stream(memory_object *root) {
    const gpo_api *api = library();
    if (!api) return -1;
    if (!root->streams && !(root->streams = PyList_New(0))) return -1;
    int closed = !root->stream->handle;
    for (Py_ssize_t i = PyList_Size(root->streams); i-- > 0;) {
        handle_object *old = (handle_object *)list_item(root->streams, i);
        if (!old) continue; /* another thread has shortened the list */
        const int is_needless = old == root->stream || (!old->handle && closed) || is_done(api, old);
        if (!old->handle) closed = 1;
        const int failed = is_needless && PyList_SetSlice(root->streams, i, i + 1, NULL) < 0;
        Py_DECREF((PyObject *)old);
        if (failed) return -1;
    }
    return PyList_Append(root->streams, (PyObject *)root->stream);
}

int note_use(memory_object *array, handle_object *stream) {
    memory_object *root = root_of(array);
    int result = 0;
    if (newest_user(root) == stream) return 0;
    BEGIN_LOCKED(root)
    if (root->stream) result = remember_stream(root);
    if (result == 0) {
        Py_INCREF((PyObject *)stream);
        Py_XDECREF((PyObject *)__atomic_exchange_n(&root->stream, stream, __ATOMIC_SEQ_CST));
    }
    END_LOCKED()
    return result;
}

handle_object *next_user(memory_object *root, Py_ssize_t *place) {
    PyObject *found = NULL;
    BEGIN_LOCKED(root)
    if (*place < 0) {
        found = Py_XNewRef((PyObject *)root->stream);
        *place = root->streams ? PyList_Size(root->streams) : 0;
    }
    while (!found && *place > 0) found = list_item(root->streams, --*place);
    END_LOCKED()
    return (handle_object *)found;
}

/* --- the buffer protocol --- */

static int refuse_device_memory(PyObject *kind) {
    PyErr_SetString(kind,
                    "the array is device memory, which the host can't reach: copy it to an array on the host "
                    "(stream.copy_to_host), and wait for the copy");
    return -1;
}

/* Whether a view would outlive the memory: made in a callback that a shutdown waits for, it may stay. */
static int outlives_memory(const memory_object *root) {
    return root->owner && PyObject_TypeCheck(root->owner, handle_type) &&
           is_last_callback((handle_object *)root->owner);
}

/* A copy of the memory for a view that may outlive the memory. */
static void *copy_memory(const memory_object *array) {
    void *copy = malloc(array->bytes ? array->bytes : 1);
    if (copy) memcpy(copy, (void *)(uintptr_t)array->address, array->bytes);
    else PyErr_NoMemory();
    return copy;
}

static int memory_get_buffer(PyObject *self, Py_buffer *view, int flags) {
    memory_object *array = self_of(self), *root = root_of(array);
    view->obj = NULL;
    if (array->on_device) return refuse_device_memory(PyExc_BufferError);
    add_use(root, 0); /* before check_alive(): a close sees the use, or this thread sees the close */
    void *copy = NULL;
    const int is_late = check_alive(array) && outlives_memory(root);
    if (is_late) copy = copy_memory(array);
    if (is_late || PyErr_Occurred()) end_use(root, 0);
    if (PyErr_Occurred()) return -1;
    *view = (Py_buffer){.buf = copy ? copy : (void *)(uintptr_t)array->address,
                        .internal = copy,
                        .obj = Py_NewRef(self),
                        .len = (Py_ssize_t)array->bytes,
                        .itemsize = array->element_bytes,
                        .ndim = 1};
    if ((flags & PyBUF_FORMAT) == PyBUF_FORMAT) view->format = array->format;
    if ((flags & PyBUF_ND) == PyBUF_ND) view->shape = &array->count;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES) view->strides = &view->itemsize;
    return 0;
}

static void memory_release_buffer(PyObject *self, Py_buffer *view) {
    if (view->internal) free(view->internal);
    else end_use(root_of(self_of(self)), 0);
}

/* --- elements --- */

static Py_ssize_t memory_length(PyObject *self) { return self_of(self)->count; }

static char *element_at(memory_object *array, Py_ssize_t index) {
    return (char *)(uintptr_t)array->address + index * (Py_ssize_t)array->element_bytes;
}

/* Whether there is an element at an index from the front; an exception else. */
static int has_element(const memory_object *array, Py_ssize_t index) {
    if (index >= 0 && index < array->count) return 1;
    PyErr_SetString(PyExc_IndexError, "the array has no such element");
    return 0;
}

/* An index of Python's, which may count from the end, as one from the front. -1, maybe with an exception: none. */
static Py_ssize_t read_index(const memory_object *array, PyObject *key) {
    const Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (index >= 0) return index;
    return (index == -1 && PyErr_Occurred()) || index < -array->count ? -1 : index + array->count;
}

/* Without a GIL, another thread may close the runtime during an access: it waits for the end of the access. */
#ifdef Py_GIL_DISABLED
static handle_object *owner_of(memory_object *array) {
    PyObject *owner = root_of(array)->owner;
    return owner && PyObject_TypeCheck(owner, handle_type) ? (handle_object *)owner : NULL;
}

static void end_access(memory_object *array) {
    handle_object *owner = owner_of(array), *runtime = owner ? ancestor(owner, CLASS_RUNTIME) : NULL;
    if (owner && root_of(array)->in_template) leave_template(owner);
    if (runtime) leave_runtime(runtime);
}

static int begin_access(memory_object *array) {
    handle_object *owner = owner_of(array), *runtime = owner ? ancestor(owner, CLASS_RUNTIME) : NULL;
    if (!check_alive(array) || (runtime && enter_runtime(runtime) < 0)) return -1;
    if (!root_of(array)->in_template || enter_template(owner) == 0) return 0;
    if (runtime) leave_runtime(runtime);
    return -1;
}
#else
static void end_access(memory_object *array) { (void)array; }
static int begin_access(memory_object *array) { return (void)array, 0; }
#endif

/* Copies an element to `out`. The lock makes a free by another thread wait. */
static int read_element(memory_object *array, Py_ssize_t index, char *out) {
    if (begin_access(array) < 0) return -1;
    int alive;
    BEGIN_LOCKED(root_of(array))
    alive = check_alive(array);
    if (alive) memcpy(out, element_at(array, index), array->element_bytes);
    END_LOCKED()
    end_access(array);
    return alive ? 0 : -1;
}

/* Writes an element to `count` places. */
static int write_elements(memory_object *array, Py_ssize_t start, Py_ssize_t count, const char *element) {
    if (begin_access(array) < 0) return -1;
    int alive;
    BEGIN_LOCKED(root_of(array))
    alive = check_alive(array);
    for (Py_ssize_t i = 0; alive && i < count; ++i)
        memcpy(element_at(array, start + i), element, array->element_bytes);
    END_LOCKED()
    end_access(array);
    return alive ? 0 : -1;
}

/* sq_item: PySequence_GetItem has added the length to an index from the end. */
static PyObject *memory_item(PyObject *self, Py_ssize_t index) {
    memory_object *array = self_of(self);
    if (array->on_device) {
        refuse_device_memory(PyExc_TypeError);
        return NULL;
    }
    char element[8];
    if (!check_alive(array) || !has_element(array, index) || read_element(array, index, element) < 0) return NULL;
    return load_element(array->format[0], element);
}

static int read_slice(memory_object *array, PyObject *key, Py_ssize_t *start, Py_ssize_t *count) {
    Py_ssize_t stop, step;
    if (PySlice_Unpack(key, start, &stop, &step) < 0) return -1;
    if (step != 1) {
        PyErr_Format(PyExc_ValueError, "slices of arrays have step 1%s",
                     array->on_device ? "" : ": array.numpy() has others");
        return -1;
    }
    *count = PySlice_AdjustIndices(array->count, start, &stop, step);
    return 0;
}

static PyObject *memory_subscript(PyObject *self, PyObject *key) {
    memory_object *array = self_of(self);
    if (PySlice_Check(key)) {
        Py_ssize_t start, count;
        if (!check_alive(array) || read_slice(array, key, &start, &count) < 0) return NULL;
        return new_view(array, start, count);
    }
    if (!PyIndex_Check(key))
        return PyErr_Format(PyExc_TypeError, "an index or a slice expected, not %R", (PyObject *)Py_TYPE(key));
    const Py_ssize_t index = read_index(array, key);
    return PyErr_Occurred() ? NULL : memory_item(self, index);
}

/* A value's own functions, which the conversion calls, may free the array. */
static int store_value(memory_object *array, Py_ssize_t index, PyObject *value) {
    char element[8];
    const int problem = store_element(array->format[0], value, element);
    if (problem) return raise_element(problem, array->format[0], value, "an element of the array");
    return write_elements(array, index, 1, element);
}

/* The letter of a buffer's elements, 0: it has none that arrays have. */
static char letter_of(const Py_buffer *view) {
    const char *format = view->format ? view->format : "B";
    if (*format == '@' || *format == '=' || *format == '<') ++format;
    if (!format[0] || format[1] || element_bytes(format[0]) != view->itemsize) return 0;
    if (format[0] == 'l') return sizeof(long) == 8 ? 'q' : 'i';
    if (format[0] == 'L') return sizeof(long) == 8 ? 'Q' : 'I';
    return format[0];
}

/* Copies a buffer's elements: of the same type, or plain bytes. */
static int store_buffer(memory_object *array, Py_ssize_t start, Py_ssize_t count, const Py_buffer *view) {
    const char letter = letter_of(view);
    const Py_ssize_t bytes = count * (Py_ssize_t)array->element_bytes;
    if (letter != array->format[0] && !(letter == 'B' || (view->itemsize == 1 && !letter))) {
        PyErr_Format(PyExc_TypeError,
                     "the array has elements of type %s, the buffer %s: array.numpy()[:] = ... converts",
                     element_name(array->format[0]), letter ? element_name(letter) : view->format);
    } else if (view->len != bytes) {
        PyErr_Format(PyExc_ValueError, "the slice has %zd bytes, the buffer %zd", bytes, view->len);
    } else if (!PyBuffer_IsContiguous(view, 'C')) {
        return PyBuffer_ToContiguous(element_at(array, start), (Py_buffer *)view, view->len, 'C');
    } else {
        memmove(element_at(array, start), view->buf, (size_t)bytes);
        return 0;
    }
    return -1;
}

static int store_sequence(memory_object *array, Py_ssize_t start, Py_ssize_t count, PyObject *value) {
    PyObject *list = PySequence_List(value);
    if (!list) return -1;
    int result = 0;
    if (PyList_Size(list) != count) {
        PyErr_Format(PyExc_ValueError, "the slice has %zd elements, the sequence %zd", count, PyList_Size(list));
        result = -1;
    }
    for (Py_ssize_t i = 0; i < count && result == 0; ++i)
        result = store_value(array, start + i, PyList_GetItem(list, i));
    Py_DECREF(list);
    return result;
}

static int store_slice(memory_object *array, PyObject *key, PyObject *value) {
    Py_ssize_t start, count;
    Py_buffer view;
    if (read_slice(array, key, &start, &count) < 0) return -1;
    if (PyObject_CheckBuffer(value) && !PyNumber_Check(value)) {
        if (PyObject_GetBuffer(value, &view, PyBUF_FULL_RO) < 0) return -1;
    } else if (PySequence_Check(value) && PyObject_CheckBuffer(value)) { /* of numpy, whose arrays are numbers too */
        if (PyObject_GetBuffer(value, &view, PyBUF_FULL_RO) < 0) return -1;
    } else if (PySequence_Check(value) || !PyNumber_Check(value)) {
        return store_sequence(array, start, count, value);
    } else {
        char element[8];
        const int problem = store_element(array->format[0], value, element);
        if (problem) return raise_element(problem, array->format[0], value, "an element of the array");
        return write_elements(array, start, count, element);
    }
    int result = begin_access(array);
    if (result == 0) {
        BEGIN_LOCKED(root_of(array))
        result = check_alive(array) ? store_buffer(array, start, count, &view) : -1;
        END_LOCKED()
        end_access(array);
    }
    PyBuffer_Release(&view);
    return result;
}

static int memory_set(PyObject *self, PyObject *key, PyObject *value) {
    memory_object *array = self_of(self);
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "elements of an array can't be deleted");
        return -1;
    }
    if (array->on_device) return refuse_device_memory(PyExc_TypeError);
    if (!check_alive(array)) return -1;
    if (PySlice_Check(key)) return store_slice(array, key, value);
    const Py_ssize_t index = read_index(array, key);
    if (PyErr_Occurred() || !has_element(array, index)) return -1;
    return store_value(array, index, value);
}

static PyObject *memory_tolist(PyObject *self, PyObject *unused) {
    (void)unused;
    const Py_ssize_t count = self_of(self)->count;
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list && i < count; ++i) {
        PyObject *element = memory_item(self, i);
        if (!element || PyList_SetItem(list, i, element) < 0) Py_CLEAR(list);
    }
    return list;
}

/* --- methods --- */

static PyObject *memory_new(PyTypeObject *type, PyObject *arguments, PyObject *named) {
    (void)type, (void)arguments, (void)named;
    PyErr_SetString(PyExc_TypeError,
                    "arrays are made by arena.allocate(\"f32\", n), device.memory_allocate(\"f32\", n) "
                    "and pool.allocate(stream, \"f32\", n)");
    return NULL;
}

static PyObject *memory_free(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    memory_object *array = self_of(self);
    if (count > 1) return PyErr_Format(PyExc_TypeError, "free() takes at most a stream, got %zd arguments", count);
    if (array->base) {
        PyErr_SetString(PyExc_ValueError, "a slice can't be freed: free the array that it is of");
        return NULL;
    }
    if (count == 1 && given[0] != Py_None) {
        handle_object *stream = check_handle(given[0], CLASS_STREAM, "stream");
        if (!stream || note_use(array, stream) < 0) return NULL;
    }
    if (array->owner && PyObject_TypeCheck(array->owner, handle_type) &&
        ((handle_object *)array->owner)->kind == CLASS_TEMPLATE) {
        PyErr_SetString(PyExc_ValueError, "the memory is the template's, and is freed with it");
        return NULL;
    }
    return free_memory(array, 0) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *memory_enter(PyObject *self, PyObject *unused) {
    (void)unused;
    return check_alive(self_of(self)) ? Py_NewRef(self) : NULL;
}

static PyObject *memory_exit(PyObject *self, PyObject *arguments) {
    (void)arguments;
    if (!self_of(self)->base && free_memory(self_of(self), 1) < 0) return NULL;
    return Py_NewRef(Py_None);
}

/* numpy calls this function for an array without a buffer. Otherwise numpy would make an array of one object. */
static PyObject *memory_numpy(PyObject *self, PyObject *arguments, PyObject *named) {
    (void)arguments, (void)named;
    memory_object *array = self_of(self);
    if (array->on_device) {
        refuse_device_memory(PyExc_TypeError);
        return NULL;
    }
    if (!check_alive(array)) return NULL;
    PyObject *numpy = PyImport_ImportModule("numpy");
    if (!numpy) return NULL;
    PyObject *view = PyMemoryView_FromObject(self);
    PyObject *result = view ? PyObject_CallMethod(numpy, "asarray", "O", view) : NULL;
    Py_XDECREF(view);
    Py_DECREF(numpy);
    return result;
}

static PyObject *memory_repr(PyObject *self) {
    memory_object *array = self_of(self);
    PyObject *type = PyType_GetName(Py_TYPE(self));
    if (!type) return NULL;
    const char *state = !root_of(array)->address ? ", freed" : array->base ? ", a slice" : "";
    PyObject *text = PyUnicode_FromFormat("<gpuorch.%U %s[%zd] on the %s%s>", type, element_name(array->format[0]),
                                          array->count, array->on_device ? "device" : "host", state);
    Py_DECREF(type);
    return text;
}

static PyObject *get_address(PyObject *self, void *unused) {
    (void)unused;
    return check_alive(self_of(self)) ? PyLong_FromUnsignedLongLong(self_of(self)->address) : NULL;
}

static PyObject *get_bytes(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(self_of(self)->bytes);
}

static PyObject *get_count(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromSsize_t(self_of(self)->count);
}

static PyObject *get_dtype(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(element_name(self_of(self)->format[0]));
}

static PyObject *get_format(PyObject *self, void *unused) {
    (void)unused;
    return PyUnicode_FromString(self_of(self)->format);
}

static PyObject *get_itemsize(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLong(self_of(self)->element_bytes);
}

static PyObject *get_on_device(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(self_of(self)->on_device);
}

static PyObject *get_freed(PyObject *self, void *unused) {
    (void)unused;
    const int alive = check_alive(self_of(self));
    PyErr_Clear();
    return PyBool_FromLong(!alive);
}

static PyObject *get_base(PyObject *self, void *unused) {
    (void)unused;
    memory_object *array = self_of(self);
    return Py_NewRef(array->base ? array->base : Py_None);
}

static PyObject *get_owner(PyObject *self, void *unused) {
    (void)unused;
    PyObject *owner = root_of(self_of(self))->owner;
    return Py_NewRef(owner ? owner : Py_None);
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL
#define NAMED(function) (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS
static PyMethodDef methods[] = {
    {"free", FAST(memory_free),
     "free(stream=None)\n--\n\nFrees the memory behind the work of this module's that uses it, and behind the work "
     "that\n"
     "`stream` has now. Again: no harm. BufferError: numpy arrays, memoryviews or tensors still share the memory."},
    {"numpy", NAMED(memory_numpy),
     "numpy()\n--\n\nA numpy array that shares the memory, and keeps it. For arrays on the host."},
    {"__array__", NAMED(memory_numpy), "What numpy.asarray() asks for."},
    {"tolist", memory_tolist, METH_NOARGS, "tolist()\n--\n\nThe elements as a list. For arrays on the host."},
    {"__enter__", memory_enter, METH_NOARGS, "The array itself: `with` frees it."},
    {"__exit__", memory_exit, METH_VARARGS,
     "Frees the memory, as soon as no numpy array, memoryview or tensor shares it any more."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef attributes[] = {
    {"address", get_address, NULL, "Where the memory is: an int. ValueError: it is freed.", NULL},
    {"bytes", get_bytes, NULL, "The size in bytes.", NULL},
    {"nbytes", get_bytes, NULL, "The size in bytes.", NULL},
    {"count", get_count, NULL, "How many elements there are.", NULL},
    {"dtype", get_dtype, NULL, "The type of the elements: \"f32\".", NULL},
    {"format", get_format, NULL, "The type of the elements as a letter of the module struct: \"f\".", NULL},
    {"itemsize", get_itemsize, NULL, "The size of an element in bytes.", NULL},
    {"on_device", get_on_device, NULL, "True for device memory, False for memory of the host.", NULL},
    {"freed", get_freed, NULL, "Whether the memory is freed.", NULL},
    {"base", get_base, NULL, "The array that a slice is of, or None.", NULL},
    {"owner", get_owner, NULL, "The arena, device, pool or template that the memory is from.", NULL},
    {"__dlpack__", get_dlpack, NULL, NULL, NULL},
    {"__dlpack_device__", get_dlpack_device, NULL, NULL, NULL},
    {"__cuda_array_interface__", get_cuda_array_interface, NULL, NULL, NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(memory_object, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(memory_object, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_doc, "Typed memory of the library's, on the host or on a device."},
                              {Py_tp_new, memory_new},
                              {Py_tp_dealloc, memory_dealloc},
                              {Py_tp_traverse, memory_traverse},
                              {Py_tp_clear, memory_clear},
                              {Py_tp_repr, memory_repr},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, attributes},
                              {Py_tp_members, members},
                              {Py_bf_getbuffer, memory_get_buffer},
                              {Py_bf_releasebuffer, memory_release_buffer},
                              {Py_mp_length, memory_length},
                              {Py_mp_subscript, memory_subscript},
                              {Py_mp_ass_subscript, memory_set},
                              {Py_sq_length, memory_length},
                              {Py_sq_item, memory_item},
                              {0, NULL}};
static PyType_Spec spec = {"_gpuorch.Memory", sizeof(memory_object), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

/* _register_array(class): what new arrays are. */
static PyObject *register_array(PyObject *module, PyObject *class) {
    (void)module;
    if (!PyType_Check(class) || !PyType_IsSubtype((PyTypeObject *)class, memory_type))
        return PyErr_Format(PyExc_TypeError, "a class that is derived from Memory expected");
    PyTypeObject *old = array_class;
    array_class = (PyTypeObject *)Py_NewRef(class);
    Py_XDECREF((PyObject *)old);
    return Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {{"_register_array", register_array, METH_O, NULL}, {NULL, NULL, 0, NULL}};

int add_memory(PyObject *module) {
    memory_type = (PyTypeObject *)PyType_FromSpec(&spec);
    if (!memory_type || PyModule_AddObjectRef(module, "Memory", (PyObject *)memory_type) < 0) return -1;
    if (PyModule_AddFunctions(module, functions) < 0) return -1;
    return add_pieces(module) < 0 || add_dlpack(module) < 0 || add_blocks(module) < 0 ? -1 : 0;
}
