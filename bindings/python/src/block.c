/* block.c: memory that a call is given: arrays, buffers, tensors of other libraries, addresses.
 *
 * Host memory is an array, an object with the buffer protocol or a DLPack tensor of the host. Host memory has to be
 * contiguous in C's order, and writable where the call writes. Device memory is an array, an address (int) or an object
 * that says where on the device it is: by the C exchange API of DLPack, by __cuda_array_interface__ or by __dlpack__.
 *
 * Nothing here orders work. A caller that passes the memory of another library's stream has to order the streams first,
 * or to use gpuorch.from_dlpack(x, stream), which orders them. Each consumer's call names a stream (-1: the caller
 * orders).
 *
 * Unpinned memory of the host, given to a kernel, makes a CUDA device fault. Therefore buffers are device memory only
 * if they are registered (host_register), or if the process has no CUDA driver, so that all devices are software
 * GPUs. */
#include "dlpack.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* --- registered memory --- */

/* Memory that a device has pinned. The buffer is kept until the memory is unpinned. */
typedef struct registration {
    OBJECT_HEAD Py_buffer view;
    handle_object *device; /* atomic; NULL: unpinned, or another thread is at it */
    struct registration *next, *previous;
} registration;

static PyTypeObject *registration_type;
static pthread_mutex_t registrations_lock = PTHREAD_MUTEX_INITIALIZER;
static registration *registrations; /* without references */

static int is_registered(uint64_t address, uint64_t bytes) {
    int found = 0;
    pthread_mutex_lock(&registrations_lock);
    for (const registration *r = registrations; r && !found; r = r->next)
        found = address >= (uintptr_t)r->view.buf && address - (uintptr_t)r->view.buf <= (uint64_t)r->view.len &&
                bytes <= (uint64_t)r->view.len - (address - (uintptr_t)r->view.buf);
    pthread_mutex_unlock(&registrations_lock);
    return found;
}

static void link_registration(registration *r) {
    pthread_mutex_lock(&registrations_lock);
    if ((r->next = registrations)) r->next->previous = r;
    registrations = r;
    pthread_mutex_unlock(&registrations_lock);
}

static void unlink_registration(registration *r) {
    if (is_over()) return; /* in a forked child the lock may stay locked */
    pthread_mutex_lock(&registrations_lock);
    if (r->next) r->next->previous = r->previous;
    if (r->previous)
        r->previous->next = r->next;
    else if (registrations == r)
        registrations = r->next;
    r->next = r->previous = NULL;
    pthread_mutex_unlock(&registrations_lock);
}

/* Raises nothing. If the driver refuses, the memory stays pinned, and the buffer is never released. */
static gpo_status unregister(registration *r) {
    handle_object *device = __atomic_exchange_n(&r->device, NULL, __ATOMIC_ACQ_REL); /* one thread gets it */
    const gpo_api *api = open_library();
    gpo_status status = GPO_SUCCESS;
    if (!device) return GPO_SUCCESS;
    void *handle = device->handle;
    if (api && handle && !is_over()) {
        Py_BEGIN_ALLOW_THREADS status = api->host_unregister(handle, r->view.buf);
        Py_END_ALLOW_THREADS
    }
    if (status == GPO_INVALID_STATE) {
        __atomic_store_n(&r->device, device, __ATOMIC_RELEASE);
        return status;
    }
    unlink_registration(r);
    PyBuffer_Release(&r->view);
    Py_DECREF((PyObject *)device);
    return status;
}

static void registration_dealloc(PyObject *self) {
    registration *r = (registration *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject *type_of_error, *error, *trace;
    PyErr_Fetch(&type_of_error, &error, &trace);
    if (unregister(r) == GPO_INVALID_STATE) {
        unlink_registration(r); /* the buffer stays exported: its memory may not move */
        Py_DECREF((PyObject *)r->device);
    }
    PyErr_Restore(type_of_error, error, trace);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *registration_close(PyObject *self, PyObject *unused) {
    (void)unused;
    const gpo_status status = unregister((registration *)self);
    return status == GPO_SUCCESS ? Py_NewRef(Py_None) : raise_status(status);
}

static PyObject *registration_enter(PyObject *self, PyObject *unused) {
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *registration_closed(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(((registration *)self)->device == NULL);
}

static PyMethodDef registration_methods[] = {
    {"close", registration_close, METH_NOARGS,
     "close()\n--\n\nUnpins the memory. No copy may be using it. Again: no harm."},
    {"__enter__", registration_enter, METH_NOARGS, "The registration itself: `with` closes it."},
    {"__exit__", registration_close, METH_VARARGS, "Calls close()."},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef registration_attributes[] = {
    {"closed", registration_closed, NULL, "Whether the memory is unpinned.", NULL}, {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot registration_slots[] = {{Py_tp_doc, "Memory of the program's that a device has pinned."},
                                           {Py_tp_dealloc, registration_dealloc},
                                           {Py_tp_methods, registration_methods},
                                           {Py_tp_getset, registration_attributes},
                                           {0, NULL}};
static PyType_Spec registration_spec = {"_gpuorch.Registration", sizeof(registration), 0,
                                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, registration_slots};

/* 1, 0, or -1 with an exception. */
static int has_attribute(PyObject *value, const char *name) {
    PyObject *found;
    const int result = find_attribute(value, name, &found);
    Py_XDECREF(found);
    return result;
}

/* 1: the tensor is the host's; 0: it is a device's; -1: an exception. */
static int is_of_host(PyObject *value, const char *parameter) {
    int kind, number;
    PyObject *device = PyObject_CallMethod(value, "__dlpack_device__", NULL);
    if (!device) return -1;
    const int known = PyTuple_Check(device) && PyArg_ParseTuple(device, "ii", &kind, &number);
    Py_DECREF(device);
    if (known) return kind == TENSOR_CPU || kind == TENSOR_CUDA_HOST;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s: __dlpack_device__() has to give a tuple of two ints", parameter);
    return -1;
}

/* Takes a buffer as one block of memory. 1, without an exception: the object gives no buffer, but has __dlpack__. (The
 * buffer protocol can't say bfloat16, and other types of JAX.) */
static int get_buffer(PyObject *value, int writes, const char *parameter, Py_buffer *view) {
    if (PyObject_GetBuffer(value, view, PyBUF_FULL_RO) < 0) {
        PyObject *type, *error, *trace;
        view->obj = NULL;
        if (PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
        PyErr_Fetch(&type, &error, &trace);
        const int lends = has_attribute(value, "__dlpack__") > 0 && is_of_host(value, parameter) >= 0;
        PyErr_Clear();
        if (lends) {
            Py_XDECREF(type);
            Py_XDECREF(error);
            Py_XDECREF(trace);
            return 1;
        }
        PyErr_Restore(type, error, trace);
        return -1;
    }
    const int contiguous = PyBuffer_IsContiguous(view, 'C');
    if (contiguous && !(writes && view->readonly)) return 0;
    PyObject *type = PyType_GetName(Py_TYPE(value));
    if (type && !contiguous)
        PyErr_Format(PyExc_ValueError,
                     "%s: the memory of this %U isn't contiguous in C's order: give a contiguous copy of it "
                     "(numpy.ascontiguousarray)",
                     parameter, type);
    else if (type)
        PyErr_Format(PyExc_BufferError, "%s is written to, and the memory of this %U is read-only", parameter, type);
    Py_XDECREF(type);
    PyBuffer_Release(view);
    view->obj = NULL;
    return -1;
}

/* The array whose memory a buffer is: numpy's arrays and memoryviews lead to it. NULL: of none, or an exception. */
static PyObject *array_behind(PyObject *value, const Py_buffer *view) {
    enum { MOST_STEPS = 8 };
    PyObject *one = Py_NewRef(value);
    for (int step = 0; step < MOST_STEPS && one && !PyObject_TypeCheck(one, memory_type); ++step) {
        PyObject *next = NULL;
        if (!PyBytes_Check(one) && !PyByteArray_Check(one))
            find_attribute(one, PyMemoryView_Check(one) ? "obj" : "base", &next);
        Py_DECREF(one);
        one = next;
    }
    if (!one) return NULL;
    const memory_object *array = PyObject_TypeCheck(one, memory_type) ? root_of((memory_object *)one) : NULL;
    const uint64_t offset = array ? (uintptr_t)view->buf - array->address : 0;
    if (array && array->address && offset <= array->bytes && (uint64_t)view->len <= array->bytes - offset) return one;
    Py_DECREF(one);
    return NULL;
}

/* Makes a block of a buffer. If the memory is an array's, the array is kept: an export would keep the runtime open. */
static int take_buffer(PyObject *value, block *out) {
    out->address = (uintptr_t)out->view.buf;
    out->bytes = (uint64_t)out->view.len;
    PyObject *array = array_behind(value, &out->view);
    const int failed = !array && PyErr_Occurred();
    if (!failed) out->object = array ? array : Py_NewRef(value);
    if (!array && !failed) return 0;
    PyBuffer_Release(&out->view);
    out->view.obj = NULL;
    return failed ? -1 : 0;
}

/* _host_register(device, buffer, flags) */
static PyObject *host_register(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *object, *buffer, *number;
    uint32_t flags;
    const gpo_api *api = library();
    if (!api || !PyArg_ParseTuple(arguments, "OOO", &object, &buffer, &number)) return NULL;
    const int problem = store_element('I', number, &flags);
    if (problem) return raise_element(problem, 'I', number, "flags"), NULL;
    handle_object *device = check_handle(object, CLASS_DEVICE, "self");
    registration *r = device ? (registration *)PyType_GenericAlloc(registration_type, 0) : NULL;
    if (!r) return NULL;
    const int problem_of_buffer = get_buffer(buffer, !(flags & GPO_REGISTER_READ_ONLY), "buffer", &r->view);
    if (problem_of_buffer) {
        if (problem_of_buffer > 0) PyErr_SetString(PyExc_TypeError, "buffer: the object gives no buffer of its memory");
        Py_DECREF((PyObject *)r);
        return NULL;
    }
    void *handle = device->handle;
    gpo_status status;
    Py_BEGIN_ALLOW_THREADS status = api->host_register(handle, r->view.buf, (uint64_t)r->view.len, flags);
    Py_END_ALLOW_THREADS if (status != GPO_SUCCESS) {
        raise_status(status);
        PyBuffer_Release(&r->view);
        Py_DECREF((PyObject *)r);
        return NULL;
    }
    r->device = (handle_object *)Py_NewRef((PyObject *)device);
    link_registration(r);
    return (PyObject *)r;
}

/* --- host memory --- */

static int refuse(PyObject *kind, const char *parameter, const char *words, PyObject *value) {
    PyObject *type = PyType_GetName(Py_TYPE(value));
    if (type) PyErr_Format(kind, "%s %s, not %U", parameter, words, type);
    Py_XDECREF(type);
    return -1;
}

/* A tensor of the host, lent by DLPack. 1: the tensor isn't the host's. */
static int read_host_tensor(PyObject *value, int writes, const char *parameter, block *out) {
    const tensor *t;
    int read_only;
    const int of_host = is_of_host(value, parameter);
    if (of_host <= 0) return of_host < 0 ? -1 : 1;
    PyObject *keeper = borrow_tensor(value, 0, &t, &read_only);
    if (!keeper) return -1;
    const int64_t bytes = tensor_bytes(t, parameter);
    if (bytes >= 0 && writes && read_only)
        PyErr_Format(PyExc_BufferError, "%s is written to, and the tensor is read-only", parameter);
    if (bytes < 0 || PyErr_Occurred()) {
        Py_DECREF(keeper);
        return -1;
    }
    *out = (block){.address = tensor_address(t), .bytes = (uint64_t)bytes, .object = keeper};
    return 0;
}

int read_host_block(PyObject *value, int writes, const char *parameter, block *out) {
    static const char words[] = "takes memory of the host: an array or an object with the buffer protocol";
    *out = (block){0};
    if (PyObject_TypeCheck(value, memory_type)) {
        memory_object *array = (memory_object *)value;
        if (!check_alive(array)) return -1;
        if (array->on_device) return refuse(PyExc_TypeError, parameter, words, value);
        *out = (block){.address = array->address, .bytes = array->bytes, .object = Py_NewRef(value)};
        return 0;
    }
    if (PyObject_CheckBuffer(value)) {
        const int result = get_buffer(value, writes, parameter, &out->view);
        if (result <= 0) return result < 0 ? -1 : take_buffer(value, out);
    }
    const int lends = has_attribute(value, "__dlpack_device__");
    if (lends < 0) return -1;
    if (lends) {
        const int result = read_host_tensor(value, writes, parameter, out);
        if (result <= 0) return result;
    }
    return refuse(PyExc_TypeError, parameter, words, value);
}

/* --- device memory --- */

/* True if all memory of the host is device memory. `software`: whether the device is the software GPU; -1: unknown. If
 * unknown, every device is the software GPU as long as no CUDA driver is in the process. A driver stays loaded. */
static int reaches_host(int software) {
    static int driver;
    if (software >= 0) return software;
    if (__atomic_load_n(&driver, __ATOMIC_RELAXED)) return 0;
    void *found = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!found) return 1;
    __atomic_store_n(&driver, 1, __ATOMIC_RELAXED); /* the handle is kept, so the driver stays */
    return 0;
}

/* A number as an address. */
static int read_integer(PyObject *value, const char *parameter, uint64_t *address) {
    if (PyBool_Check(value)) return refuse(PyExc_TypeError, parameter, "takes memory or its address", value);
    *address = PyLong_AsUnsignedLongLong(value);
    if (!PyErr_Occurred()) return 0;
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_OverflowError, "%s: %R is no address", parameter, value);
    }
    return -1;
}

/* 1, without an exception: there is no buffer, but __dlpack__. */
static int read_buffer_as_device(PyObject *value, int software, const char *parameter, block *out) {
    static const char words[] =
        "takes device memory: an array, an address, or an object with __cuda_array_interface__ or "
        "__dlpack__";
    const int result = get_buffer(value, 0, parameter, &out->view);
    if (result) return result;
    out->address = (uintptr_t)out->view.buf;
    out->bytes = (uint64_t)out->view.len;
    /* A number of numpy's is no memory, though it has a buffer. */
    const int number = out->view.ndim == 0 && out->view.readonly;
    if (!number && (reaches_host(software) || is_registered(out->address, out->bytes)))
        return take_buffer(value, out);
    PyBuffer_Release(&out->view);
    out->view.obj = NULL;
    if (number) return refuse(PyExc_TypeError, parameter, words, value);
    return refuse(
        PyExc_TypeError, parameter,
        "takes memory that the GPU reaches: an array of an arena or a device, or memory that is registered with "
        "device.host_register()",
        value);
}

/* The value of a key of an interface as a number; -1 with an exception. */
static int64_t item_number(PyObject *tuple, Py_ssize_t index) {
    PyObject *item = PySequence_GetItem(tuple, index);
    const int64_t number = item ? PyLong_AsLongLong(item) : -1;
    Py_XDECREF(item);
    return number;
}

/* Bytes of a contiguous array of the interface; -1 with an exception. */
static int64_t interface_bytes(PyObject *interface, const char *parameter) {
    PyObject *shape = PyMapping_GetItemString(interface, "shape");
    PyObject *type = shape ? PyMapping_GetItemString(interface, "typestr") : NULL;
    const char *text = type ? PyUnicode_AsUTF8AndSize(type, NULL) : NULL;
    PyObject *strides = text ? PyMapping_GetItemString(interface, "strides") : NULL;
    if (text && !strides && forget_error(PyExc_KeyError) == 0) strides = Py_NewRef(Py_None);
    int64_t bytes = text && strlen(text) > 2 ? strtoll(text + 2, NULL, 10) : 0;
    const Py_ssize_t dimensions = strides ? PySequence_Size(shape) : -1;
    for (Py_ssize_t i = dimensions; i-- > 0 && !PyErr_Occurred();) {
        const int64_t length = item_number(shape, i);
        if (strides != Py_None && !PyErr_Occurred() && length > 1 && item_number(strides, i) != bytes &&
            !PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%s: the array isn't contiguous: give a contiguous copy of it", parameter);
        if (!PyErr_Occurred() && (bytes < 0 || length < 0 || __builtin_mul_overflow(bytes, length, &bytes)))
            PyErr_Format(PyExc_ValueError, "%s: the array's shape is no size of memory", parameter);
    }
    if (!PyErr_Occurred() && bytes < 0)
        PyErr_Format(PyExc_ValueError, "%s: the array's shape is no size of memory", parameter);
    Py_XDECREF(strides);
    Py_XDECREF(type);
    Py_XDECREF(shape);
    return PyErr_Occurred() ? -1 : bytes;
}

/* Waits until an array of JAX is computed: JAX computes in the background, and doesn't name the stream. Returns 1, or 0
 * if the object can't be waited for, or -1. */
static int wait_until_computed(PyObject *value) {
    PyObject *wait;
    if (find_attribute(value, "block_until_ready", &wait) < 0) return -1;
    if (!wait) return 0;
    PyObject *done = PyObject_CallObject(wait, NULL);
    Py_DECREF(wait);
    Py_XDECREF(done);
    return done ? 1 : -1;
}

/* Whether the interface names the stream of the array's work, as those of version 3 do. -1: an exception. */
static int names_stream(PyObject *interface) {
    PyObject *stream = PyMapping_GetItemString(interface, "stream");
    if (!stream && !PyErr_ExceptionMatches(PyExc_KeyError)) return -1;
    const int named = stream != NULL;
    PyErr_Clear();
    Py_XDECREF(stream);
    return named;
}

static int read_interface(PyObject *interface, PyObject *value, const char *parameter, block *out) {
    const int named = names_stream(interface);
    if (named < 0 || (!named && wait_until_computed(value) < 0)) return -1;
    const int64_t bytes = interface_bytes(interface, parameter);
    PyObject *data = bytes >= 0 ? PyMapping_GetItemString(interface, "data") : NULL;
    PyObject *pointer = data ? PySequence_GetItem(data, 0) : NULL;
    const uint64_t address = pointer ? PyLong_AsUnsignedLongLong(pointer) : 0;
    Py_XDECREF(pointer);
    Py_XDECREF(data);
    if (PyErr_Occurred()) return -1;
    *out = (block){.address = address, .bytes = (uint64_t)bytes, .object = Py_NewRef(value)};
    return 0;
}

/* A tensor's memory, if a GPU reaches it. */
static int check_tensor(const tensor *t, int software, const char *parameter, uint64_t *bytes) {
    if (!tensor_is_on_device(t) && t->device_kind != TENSOR_CUDA_HOST) {
        if (!(t->device_kind == TENSOR_CPU && reaches_host(software))) {
            PyErr_Format(PyExc_TypeError, "%s takes device memory, and the tensor isn't on a CUDA device", parameter);
            return -1;
        }
    }
    const int64_t all = tensor_bytes(t, parameter);
    *bytes = (uint64_t)all;
    return all < 0 ? -1 : 0;
}

/* A tensor's memory for work on a stream that the caller has ordered. */
static PyObject *borrow_ordered(PyObject *value, const tensor **t, int *read_only) {
    PyObject *type, *error, *trace, *keeper = borrow_tensor(value, -1, t, read_only);
    if (keeper) return keeper;
    if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) return NULL;
    PyErr_Fetch(&type, &error, &trace);
    const int computed = wait_until_computed(value); /* JAX knows no -1 */
    if (computed != 0) {
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(trace);
        return computed < 0 ? NULL : borrow_tensor(value, 0, t, read_only);
    }
    PyErr_Restore(type, error, trace);
    return NULL;
}

static int read_device_tensor(PyObject *value, int software, const char *parameter, block *out) {
    const tensor *t;
    int read_only;
    uint64_t bytes;
    /* Memory of the host has no streams, and JAX refuses any. */
    const int plain = PyObject_CheckBuffer(value) ? is_of_host(value, parameter) : 0;
    PyObject *keeper = plain < 0 ? NULL
                       : plain   ? borrow_tensor(value, 0, &t, &read_only)
                                 : borrow_ordered(value, &t, &read_only);
    if (!keeper) return -1;
    if (check_tensor(t, software, parameter, &bytes) < 0) {
        Py_DECREF(keeper);
        return -1;
    }
    *out = (block){.address = tensor_address(t), .bytes = bytes, .object = keeper};
    return 0;
}

/* An array's memory, if a GPU reaches it. */
static int check_array(memory_object *array, int software, const char *parameter) {
    if (!check_alive(array)) return -1;
    if (!root_of(array)->pageable || reaches_host(software) || is_registered(array->address, array->bytes)) return 0;
    PyErr_Format(PyExc_TypeError,
                 "%s takes device memory, and the array is a tensor's memory on the host, which isn't pinned",
                 parameter);
    return -1;
}

static int read_device_block_on(PyObject *value, int software, const char *parameter, block *out) {
    *out = (block){0};
    if (PyObject_TypeCheck(value, memory_type)) {
        memory_object *array = (memory_object *)value;
        if (check_array(array, software, parameter) < 0) return -1;
        *out = (block){.address = array->address, .bytes = array->bytes, .object = Py_NewRef(value)};
        return 0;
    }
    if (PyLong_Check(value)) {
        out->bytes = UINT64_MAX;
        return read_integer(value, parameter, &out->address);
    }
    PyObject *interface;
    if (find_attribute(value, "__cuda_array_interface__", &interface) < 0) return -1;
    if (interface) {
        const int result = read_interface(interface, value, parameter, out);
        Py_DECREF(interface);
        return result;
    }
    if (PyObject_CheckBuffer(value)) {
        const int result = read_buffer_as_device(value, software, parameter, out);
        if (result <= 0) return result;
    }
    const int lends = has_attribute(value, "__dlpack__");
    if (lends < 0) return -1;
    if (lends) return read_device_tensor(value, software, parameter, out);
    return refuse(PyExc_TypeError, parameter,
                  "takes device memory: an array, an address, or an object with __cuda_array_interface__ or __dlpack__",
                  value);
}

int read_device_block(PyObject *value, const char *parameter, block *out) {
    return read_device_block_on(value, -1, parameter, out);
}

void release_block(block *given) {
    if (given->view.obj) PyBuffer_Release(&given->view);
    Py_CLEAR(given->object);
    *given = (block){0};
}

/* --- keepers --- */

typedef struct keeper_object {
    OBJECT_HEAD block block;
} keeper_object;

static PyTypeObject *keeper_type;

static memory_object *array_in(const block *given) {
    if (!given->object || !PyObject_TypeCheck(given->object, memory_type)) return NULL;
    return root_of((memory_object *)given->object);
}

memory_object *array_of_keeper(PyObject *keeper) {
    return Py_TYPE(keeper) == keeper_type ? array_in(&((keeper_object *)keeper)->block) : NULL;
}

static void keeper_dealloc(PyObject *self) {
    keeper_object *keeper = (keeper_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject *type_of_error, *error, *trace;
    PyErr_Fetch(&type_of_error, &error, &trace);
    memory_object *array = array_in(&keeper->block);
    if (array) end_use(array, 1);
    release_block(&keeper->block);
    PyErr_Restore(type_of_error, error, trace);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

static PyType_Slot keeper_slots[] = {{Py_tp_dealloc, keeper_dealloc}, {0, NULL}};
static PyType_Spec keeper_spec = {"_gpuorch.BlockKeeper", sizeof(keeper_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, keeper_slots};

PyObject *block_keeper(block *given) {
    keeper_object *keeper = (keeper_object *)PyType_GenericAlloc(keeper_type, 0);
    if (!keeper) {
        release_block(given);
        return NULL;
    }
    keeper->block = *given;
    *given = (block){0};
    memory_object *array = array_in(&keeper->block);
    if (array) add_use(array, 1);
    return (PyObject *)keeper;
}

/* --- addresses for kernels --- */

/* How arrays of a type say where they are. Found once for each type; entries are never changed. */
typedef struct array_reader {
    PyTypeObject *type;
    const exchange_table *table;    /* of DLPack's C exchange API, or NULL */
    PyObject *pointer, *contiguous; /* of torch: unbound methods data_ptr and is_contiguous; else NULL */
    int has_data;                   /* of CuPy: array.data.ptr */
} array_reader;

enum { MOST_READERS = 32 };
static array_reader readers[MOST_READERS];
static int reader_count;
static pthread_mutex_t readers_lock = PTHREAD_MUTEX_INITIALIZER;

static const array_reader *find_reader(PyTypeObject *type) {
    const int count = __atomic_load_n(&reader_count, __ATOMIC_ACQUIRE);
    for (int i = 0; i < count; ++i)
        if (readers[i].type == type) return &readers[i];
    return NULL;
}

/* 1 if a type or a base of the type has this name and module, else 0; -1 with an exception. */
static int is_of(PyTypeObject *type, const char *module, const char *name) {
    PyObject *order = PyObject_GetAttrString((PyObject *)type, "__mro__");
    const Py_ssize_t count = order ? PyTuple_Size(order) : 0;
    int found = 0;
    for (Py_ssize_t i = 0; i < count && !found; ++i) {
        PyObject *one = PyTuple_GetItem(order, i), *of = PyObject_GetAttrString(one, "__module__");
        PyObject *called = PyObject_GetAttrString(one, "__name__");
        const char *text = of && PyUnicode_Check(of) ? PyUnicode_AsUTF8AndSize(of, NULL) : NULL;
        found = text && called && PyUnicode_Check(called) && strncmp(text, module, strlen(module)) == 0 &&
                PyUnicode_CompareWithASCIIString(called, name) == 0;
        Py_XDECREF(of);
        Py_XDECREF(called);
        if (forget_error(PyExc_AttributeError) < 0) break;
    }
    Py_XDECREF(order);
    return PyErr_Occurred() ? -1 : found;
}

/* Finds out how to read a type; NULL: only step by step, or with an exception. */
static const array_reader *make_reader(PyTypeObject *type) {
    array_reader r = {.type = type, .table = exchange_table_of(type)};
    if (!r.table && !PyErr_Occurred() && is_of(type, "torch", "Tensor") > 0 &&
        find_attribute((PyObject *)type, "data_ptr", &r.pointer) > 0)
        find_attribute((PyObject *)type, "is_contiguous", &r.contiguous);
    if (!r.table && !r.pointer && !PyErr_Occurred()) r.has_data = is_of(type, "cupy", "ndarray") > 0;
    if (r.table || (r.pointer && r.contiguous) || r.has_data) {
        pthread_mutex_lock(&readers_lock);
        const int count = reader_count;
        if (count < MOST_READERS && !find_reader(type)) {
            Py_INCREF((PyObject *)type);
            readers[count] = r;
            __atomic_store_n(&reader_count, count + 1, __ATOMIC_RELEASE);
            r.pointer = r.contiguous = NULL;
        }
        pthread_mutex_unlock(&readers_lock);
    }
    Py_XDECREF(r.pointer);
    Py_XDECREF(r.contiguous);
    return find_reader(type);
}

/* Memory of the host has the buffer protocol, and so have CuPy's arrays. -1: an exception. */
static int may_have_reader(PyObject *value) {
    return PyObject_CheckBuffer(value) ? is_of(Py_TYPE(value), "cupy", "ndarray") : has_attribute(value, "__dlpack__");
}

static uint64_t read_torch(const array_reader *r, PyObject *value, int software, const char *parameter) {
    PyObject *on_cuda = PyObject_GetAttrString(value, "is_cuda");
    PyObject *contiguous = on_cuda ? PyObject_CallFunctionObjArgs(r->contiguous, value, NULL) : NULL;
    PyObject *pointer = contiguous ? PyObject_CallFunctionObjArgs(r->pointer, value, NULL) : NULL;
    uint64_t address = pointer ? PyLong_AsUnsignedLongLong(pointer) : 0;
    if (pointer && on_cuda != Py_True && !reaches_host(software))
        PyErr_Format(PyExc_TypeError, "%s takes device memory, and the tensor isn't on a CUDA device", parameter);
    else if (pointer && contiguous != Py_True)
        PyErr_Format(PyExc_ValueError, "%s: the tensor isn't contiguous: give a contiguous copy of it", parameter);
    Py_XDECREF(on_cuda);
    Py_XDECREF(contiguous);
    Py_XDECREF(pointer);
    return PyErr_Occurred() ? 0 : address;
}

static PyObject *word_contiguous, *word_data, *word_ptr;

static uint64_t read_cupy(PyObject *value, const char *parameter) {
    PyObject *contiguous = PyObject_GetAttr(value, word_contiguous);
    if (!contiguous) {
        if (forget_error(PyExc_AttributeError) < 0) return 0;
        PyObject *flags = PyObject_GetAttrString(value, "flags");
        contiguous = flags ? PyObject_GetAttrString(flags, "c_contiguous") : NULL;
        Py_XDECREF(flags);
    }
    PyObject *data = contiguous ? PyObject_GetAttr(value, word_data) : NULL;
    PyObject *pointer = data ? PyObject_GetAttr(data, word_ptr) : NULL;
    const uint64_t address = pointer ? PyLong_AsUnsignedLongLong(pointer) : 0;
    const int is_contiguous = contiguous && !PyErr_Occurred() ? PyObject_IsTrue(contiguous) : 0;
    if (pointer && !is_contiguous && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%s: the array isn't contiguous: give a contiguous copy of it", parameter);
    Py_XDECREF(contiguous);
    Py_XDECREF(data);
    Py_XDECREF(pointer);
    return PyErr_Occurred() ? 0 : address;
}

int find_address(PyObject *value, int software, uint64_t *address) {
    const array_reader *r = find_reader(Py_TYPE(value));
    tensor t = {0};
    if (!r || !r->table) return 0;
    if (r->table->look(value, &t) != 0) {
        PyErr_Clear(); /* argument_address_on() looks again, and raises */
        return 0;
    }
    int64_t count = 1;
    for (int i = t.dimensions; i-- > 0;)
        if ((t.strides && t.shape[i] > 1 && t.strides[i] != count) ||
            __builtin_mul_overflow(count, t.shape[i], &count))
            return 0;
    if (!tensor_is_on_device(&t) && t.device_kind != TENSOR_CUDA_HOST && software != 1) return 0;
    *address = tensor_address(&t);
    return 1;
}

uint64_t argument_address_on(PyObject *value, int software, const char *parameter) {
    uint64_t bytes = 0;
    block given;
    if (PyObject_TypeCheck(value, memory_type)) {
        memory_object *array = (memory_object *)value;
        return check_array(array, software, parameter) < 0 ? 0 : array->address;
    }
    if (PyLong_Check(value)) return read_integer(value, parameter, &bytes) < 0 ? 0 : bytes;
    const array_reader *r = find_reader(Py_TYPE(value));
    if (!r && may_have_reader(value) > 0) r = make_reader(Py_TYPE(value));
    if (!r && PyErr_Occurred()) return 0;
    if (r && r->table) {
        tensor t = {0};
        if (r->table->look(value, &t) != 0 || check_tensor(&t, software, parameter, &bytes) < 0) return 0;
        return tensor_address(&t);
    }
    if (r) return r->pointer ? read_torch(r, value, software, parameter) : read_cupy(value, parameter);
    if (read_device_block_on(value, software, parameter, &given) < 0) return 0;
    const uint64_t address = given.address;
    release_block(&given);
    return address;
}

uint64_t argument_address(PyObject *value, const char *parameter) { return argument_address_on(value, -1, parameter); }

static PyMethodDef functions[] = {{"_host_register", host_register, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

int add_blocks(PyObject *module) {
    word_contiguous = PyUnicode_InternFromString("_c_contiguous");
    word_data = PyUnicode_InternFromString("data");
    word_ptr = PyUnicode_InternFromString("ptr");
    if (!word_contiguous || !word_data || !word_ptr) return -1;
    keeper_type = (PyTypeObject *)PyType_FromSpec(&keeper_spec);
    registration_type = keeper_type ? (PyTypeObject *)PyType_FromSpec(&registration_spec) : NULL;
    return registration_type ? PyModule_AddFunctions(module, functions) : -1;
}
