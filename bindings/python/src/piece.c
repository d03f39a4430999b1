/* piece.c: pieces of memory: allocating them from arenas, devices, pools and templates, and giving them back.
 *
 * A piece is freed behind the work that uses it. An array remembers the streams that calls of ours used it on. When the
 * array is freed or collected, memory goes back like this:
 * - Arena: behind the stream that still has work (gpo_arena_free_after). Pool: in the order of that stream. If several
 *   streams have work, a stream made for the purpose waits for all of them.
 * - Device: behind all streams of the device. The library does so by itself.
 * - Template: with the template, which owns the memory.
 * - Tensor of another library: after the work that the streams have now.
 *
 * A stream that was closed can't be waited for. If one used the piece and the device isn't idle, the piece is put into
 * the list `deferred`; each later allocation and free looks at that list again. */
#include "gpuorch_python.h"

#include <pthread.h>
#include <stdlib.h>

#define LONGEST_WAIT_NS 2000000000 /* for pieces of busy devices, before an allocation fails */

/* A piece that goes back when its device is idle. Memory of another library's goes back with its owner, a tensor. An
 * array keeps a freed piece that calls have put into work, until the keepers of these calls end. */
typedef struct deferred_piece {
    struct deferred_piece *next;
    PyObject *owner; /* of the memory; or the array, if `in_array` */
    handle_object *device;
    uint64_t address; /* 0: of a tensor or an array */
    int in_array;
} deferred_piece;

static pthread_mutex_t deferred_lock = PTHREAD_MUTEX_INITIALIZER; /* never held while Python is called */
static deferred_piece *deferred;

/* --- devices --- */

handle_object *device_of(PyObject *object) {
    if (PyObject_TypeCheck(object, memory_type)) {
        PyObject *owner = root_of((memory_object *)object)->owner;
        if (!owner) return NULL;
        object = owner;
    }
    if (!PyObject_TypeCheck(object, handle_type)) return NULL;
    handle_object *handle = (handle_object *)object;
    return handle->kind == CLASS_DEVICE ? handle : ancestor(handle, CLASS_DEVICE);
}

int describe_device(handle_object *device) {
    if (__atomic_load_n(&device->described, __ATOMIC_ACQUIRE)) return 0;
    const gpo_api *api = library();
    if (!api) return -1;
    gpo_device_properties properties = {.struct_size = sizeof properties};
    const gpo_status status = api->device_get_properties(device->handle, &properties);
    if (status != GPO_SUCCESS) {
        raise_status(status);
        return -1;
    }
    __atomic_store_n(&device->software, properties.software != 0, __ATOMIC_RELAXED);
    __atomic_store_n(&device->ordinal, properties.native_ordinal, __ATOMIC_RELAXED);
    __atomic_store_n(&device->described, 1, __ATOMIC_RELEASE);
    return 0;
}

int is_software(handle_object *device) { return describe_device(device) < 0 ? -1 : device->software; }

/* --- freeing --- */

/* Streams that a piece has to be freed behind. */
typedef struct uses {
    gpo_stream_t last; /* still has work, and runs behind all others; NULL: no stream has work */
    gpo_stream_t idle; /* one without work, which no template records; or NULL */
    gpo_stream_t made; /* made for the purpose, to be destroyed; or NULL */
    int unknown;       /* a stream is closed, has failed or may be in capture, so its work may still be going on */
} uses;

static gpo_stream_t make_stream(const gpo_api *api, handle_object *device) {
    const gpo_stream_options options = {.struct_size = sizeof options, .label = "frees"};
    gpo_stream_t stream = NULL;
    return api->stream_create(device->handle, &options, &stream) == GPO_SUCCESS ? stream : NULL;
}

static void add_stream(const gpo_api *api, handle_object *device, const handle_object *stream, uses *u) {
    gpo_stream_t handle = stream->handle;
    const gpo_status status = query_stream(api, stream);
    if (status == GPO_SUCCESS) {
        if (!may_record(stream)) u->idle = handle;
    } else if (status != GPO_NOT_READY) {
        u->unknown = 1;
    } else if (!u->last) {
        u->last = handle;
    } else {
        /* Several have work: none of them is made to wait for another. */
        if (!u->made && (u->made = make_stream(api, device))) {
            if (api->stream_wait_stream(u->made, u->last) != GPO_SUCCESS) u->unknown = 1;
            u->last = u->made;
        }
        if (!u->made || api->stream_wait_stream(u->made, handle) != GPO_SUCCESS) u->unknown = 1;
    }
}

static uses uses_of(const gpo_api *api, handle_object *device, memory_object *root) {
    uses u = {0};
    Py_ssize_t place = -1;
    for (handle_object *stream; (stream = next_user(root, &place)); Py_DECREF((PyObject *)stream))
        add_stream(api, device, stream, &u);
    return u;
}

static gpo_status free_in_arena(const gpo_api *api, handle_object *arena, uint64_t address, const uses *u) {
    void *memory = (void *)(uintptr_t)address;
    return u->last ? api->arena_free_after(arena->handle, memory, u->last) : api->arena_free(arena->handle, memory);
}

static gpo_status free_in_pool(const gpo_api *api, handle_object *device, handle_object *pool, uint64_t address,
                               uses *u) {
    gpo_stream_t stream = u->last ? u->last : u->idle;
    if (!stream) stream = u->made = make_stream(api, device);
    return stream ? api->pool_free(pool->handle, stream, address) : GPO_OUT_OF_MEMORY;
}

/* The library frees memory of a device behind the device's streams, but not behind resident streams, nor behind streams
 * of other devices: a stream of the device waits for these. */
static gpo_status free_on_device(const gpo_api *api, handle_object *device, uint64_t address, uses *u) {
    gpo_stream_info info = {.struct_size = sizeof info};
    if (u->last && u->last != u->made && api->stream_get_info(u->last, &info) == GPO_SUCCESS &&
        ((info.flags & GPO_STREAM_RESIDENT) || info.device != (gpo_device_t)device->handle) &&
        (u->made = make_stream(api, device)))
        api->stream_wait_stream(u->made, u->last);
    return api->memory_free(device->handle, address);
}

/* Puts a piece off until its device is idle. If there is no memory for that, the piece stays until the runtime ends. */
static void defer(PyObject *owner, handle_object *device, uint64_t address, int in_array) {
    deferred_piece *piece = malloc(sizeof *piece);
    if (!piece && in_array) return; /* its keepers free it */
    Py_INCREF(owner);
    if (!piece) return;
    *piece = (deferred_piece){.owner = owner,
                              .device = (handle_object *)Py_NewRef((PyObject *)device),
                              .address = address,
                              .in_array = in_array};
    pthread_mutex_lock(&deferred_lock);
    piece->next = deferred;
    deferred = piece;
    pthread_mutex_unlock(&deferred_lock);
}

/* Keeps another library's tensor until a stream has done what it has. */
static void keep_tensor(const gpo_api *api, handle_object *stream, PyObject *owner) {
    if (query_stream(api, stream) == GPO_SUCCESS) return;
    if (stream->handle && stream_keep(stream, owner) == 0) return;
    PyErr_Clear();
    handle_object *device = ancestor(stream, CLASS_DEVICE);
    if (device && device->handle && api->device_wait(device->handle, 0) != GPO_SUCCESS) defer(owner, device, 0, 0);
}

static void free_tensor(const gpo_api *api, memory_object *root) {
    PyObject *tensor = part_with_tensor(root->owner);
    Py_ssize_t place = -1;
    for (handle_object *stream; (stream = next_user(root, &place)); Py_DECREF((PyObject *)stream))
        keep_tensor(api, stream, tensor);
    Py_DECREF(tensor);
}

/* Gives a piece back. Returns the status of the call, if the failure is final. */
static gpo_status free_piece(memory_object *root, uint64_t address) {
    const gpo_api *api = open_library();
    PyObject *object = root->owner;
    if (!api || is_over() || !object) return GPO_SUCCESS;
    if (!PyObject_TypeCheck(object, handle_type)) {
        free_tensor(api, root);
        return GPO_SUCCESS;
    }
    handle_object *owner = (handle_object *)object, *device = device_of(object);
    if (!owner->handle || !device || !device->handle || owner->kind == CLASS_TEMPLATE) return GPO_SUCCESS;
    uses u = uses_of(api, device, root);
    gpo_status status = GPO_SUCCESS;
    int later = 0;
    if (owner->kind != CLASS_DEVICE && u.unknown && api->device_wait(device->handle, 0) != GPO_SUCCESS) {
        later = 1;
    } else {
        status = owner->kind == CLASS_ARENA  ? free_in_arena(api, owner, address, &u)
                 : owner->kind == CLASS_POOL ? free_in_pool(api, device, owner, address, &u)
                                             : free_on_device(api, device, address, &u);
        /* A stream that has failed accepts nothing any more. */
        later = status != GPO_SUCCESS && u.last && owner->kind != CLASS_DEVICE;
    }
    if (later) defer(object, device, address, 0);
    if (u.made) api->stream_destroy(u.made);
    return later ? GPO_SUCCESS : status;
}

/* Frees a deferred piece if its device is idle. Returns 0 if it is not. */
static int free_deferred(const gpo_api *api, const deferred_piece *piece, int64_t timeout_ns) {
    void *handle = piece->device->handle;
    memory_object *array = piece->in_array ? (memory_object *)piece->owner : NULL;
    gpo_status status;
    if (!handle || (array && !__atomic_load_n(&array->ended, __ATOMIC_ACQUIRE)))
        return 1; /* freed with the runtime, or is */
    if (array && (__atomic_load_n(&array->exports, __ATOMIC_ACQUIRE) || is_memory_in_calls())) return 0;
    Py_BEGIN_ALLOW_THREADS status = api->device_wait(handle, timeout_ns);
    Py_END_ALLOW_THREADS if (status == GPO_TIMEOUT) return 0;
    if (array) {
        const uint64_t address = __atomic_exchange_n(&array->ended, 0, __ATOMIC_ACQ_REL);
        if (address) free_piece(array, address);
        return 1;
    }
    handle_object *owner = (handle_object *)piece->owner;
    if (piece->address == 0 || !owner->handle) return 1;
    uses none = {0};
    if (owner->kind == CLASS_ARENA)
        free_in_arena(api, owner, piece->address, &none);
    else
        free_in_pool(api, piece->device, owner, piece->address, &none);
    if (none.made) api->stream_destroy(none.made);
    return 1;
}

static void free_all_deferred(int64_t timeout_ns) {
    const gpo_api *api = open_library();
    if (!api || is_over() || !__atomic_load_n(&deferred, __ATOMIC_RELAXED)) return;
    pthread_mutex_lock(&deferred_lock);
    deferred_piece *all = deferred;
    deferred = NULL;
    pthread_mutex_unlock(&deferred_lock);
    while (all) {
        deferred_piece *piece = all;
        all = all->next;
        if (free_deferred(api, piece, timeout_ns)) {
            Py_DECREF(piece->owner);
            Py_DECREF((PyObject *)piece->device);
            free(piece);
            continue;
        }
        pthread_mutex_lock(&deferred_lock);
        piece->next = deferred;
        deferred = piece;
        pthread_mutex_unlock(&deferred_lock);
    }
}

/* --- uses beside the object --- */

void add_use(memory_object *root, int keeper) {
    __atomic_fetch_add(keeper ? &root->keepers : &root->exports, 1, __ATOMIC_RELAXED);
    if (!keeper) add_export(root->owner, 1);
}

static int is_used(const memory_object *root) {
    return __atomic_load_n(&root->exports, __ATOMIC_ACQUIRE) != 0 ||
           __atomic_load_n(&root->keepers, __ATOMIC_ACQUIRE) != 0;
}

void end_use(memory_object *root, int keeper) {
    if (!keeper) add_export(root->owner, -1);
    __atomic_fetch_sub(keeper ? &root->keepers : &root->exports, 1, __ATOMIC_ACQ_REL);
    if (is_used(root)) return;
    const uint64_t address = __atomic_exchange_n(&root->ended, 0, __ATOMIC_ACQ_REL);
    if (address) free_piece(root, address);
}

/* Whether all work on the device is done. */
static int is_idle(handle_object *device) {
    const gpo_api *api = open_library();
    return api && device && device->handle && !is_over() && !is_memory_in_calls() &&
           api->device_wait(device->handle, 0) == GPO_SUCCESS;
}

int free_memory(memory_object *root, int waits) {
    if (!root->owner || !root->address) return 0;
    settle_memory();
    const int exports = __atomic_load_n(&root->exports, __ATOMIC_ACQUIRE);
    if (exports && !waits) {
        PyErr_Format(
            PyExc_BufferError,
            "the array can't be freed: %d buffer%s of it still exist%s (of numpy arrays, memoryviews or tensors)",
            exports, exports == 1 ? "" : "s", exports == 1 ? "s" : "");
        return -1;
    }
    uint64_t address;
    BEGIN_LOCKED(root) /* behind the accesses of other threads to elements */
    address = __atomic_exchange_n(&root->address, 0, __ATOMIC_ACQ_REL);
    END_LOCKED()
    if (!address) return 0;
    handle_object *device = device_of(root->owner); /* never of root, which new_memory has made up */
    if (!is_used(root) || (!exports && is_idle(device))) {
        const gpo_status status = free_piece(root, address);
        if (status == GPO_SUCCESS) return 0;
        if (!waits) raise_status(status);
        return waits ? 0 : -1;
    }
    __atomic_store_n(&root->ended, address, __ATOMIC_RELEASE);
    if (device) defer((PyObject *)root, device, 0, 1);
    if (!is_used(root)) { /* the last use has ended since */
        const uint64_t left = __atomic_exchange_n(&root->ended, 0, __ATOMIC_ACQ_REL);
        if (left) free_piece(root, left);
    }
    return 0;
}

/* --- allocating --- */

/* Parameters of an allocation beside the number of bytes. */
typedef struct request {
    int on_device;
    uint64_t alignment;    /* of an arena's; 0: the default */
    const char *label;     /* of a device's; or NULL */
    handle_object *stream; /* of a pool's */
} request;

static gpo_status allocate_piece(const gpo_api *api, handle_object *owner, const request *r, uint64_t bytes,
                                 uint64_t *address) {
    void *memory = NULL, *handle = owner->handle, *stream = r->stream ? r->stream->handle : NULL;
    gpo_status status;
    Py_BEGIN_ALLOW_THREADS switch (owner->kind) {
        case CLASS_ARENA: status = api->arena_allocate(handle, bytes, r->alignment, &memory); break;
        case CLASS_POOL: status = api->pool_allocate(handle, stream, bytes, address); break;
        case CLASS_DEVICE: status = api->memory_allocate(handle, bytes, r->label, address); break;
        default:
            status = r->on_device ? api->template_allocate(handle, bytes, address)
                                  : api->template_allocate_host(handle, bytes, &memory);
    }
    Py_END_ALLOW_THREADS if (memory) *address = (uint64_t)(uintptr_t)memory;
    return status;
}

static int bytes_of(PyObject *count_object, uint32_t element, Py_ssize_t *count, uint64_t *bytes) {
    PyObject *index = PyNumber_Index(count_object);
    if (!index) return -1;
    *count = PyLong_AsSsize_t(index);
    Py_DECREF(index);
    if (*count == -1 && PyErr_Occurred()) return -1;
    if (*count < 1) {
        PyErr_Format(PyExc_ValueError, "count: an array has 1 element or more, not %zd", *count);
        return -1;
    }
    if (*count > PY_SSIZE_T_MAX / (Py_ssize_t)element) {
        PyErr_Format(PyExc_OverflowError, "count: %zd elements are more than memory can have", *count);
        return -1;
    }
    *bytes = (uint64_t)*count * element;
    return 0;
}

static PyObject *allocate(PyObject *owner_object, enum class_id kind, PyObject *type, PyObject *count_object,
                          const request *r) {
    const gpo_api *api = library();
    handle_object *owner = api ? check_handle(owner_object, kind, "self") : NULL;
    char format;
    uint32_t element;
    Py_ssize_t count;
    uint64_t bytes, address = 0;
    if (!owner || element_of(type, &format, &element) < 0 || bytes_of(count_object, element, &count, &bytes) < 0)
        return NULL;
    settle_memory();
    gpo_status status = allocate_piece(api, owner, r, bytes, &address);
    if ((status == GPO_OUT_OF_MEMORY || status == GPO_LIMIT_EXCEEDED) && __atomic_load_n(&deferred, __ATOMIC_RELAXED)) {
        free_all_deferred(LONGEST_WAIT_NS);
        status = allocate_piece(api, owner, r, bytes, &address);
    }
    if (status != GPO_SUCCESS) return raise_status(status);
    PyObject *array = new_memory(owner_object, r->on_device, address, format, count);
    if (array && r->stream && note_use((memory_object *)array, r->stream) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    return array;
}

/* arena_allocate(arena, type, count, alignment) */
static PyObject *allocate_in_arena(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    request r = {0};
    if (count != 4) return PyErr_Format(PyExc_TypeError, "4 arguments expected, got %zd", count);
    r.alignment = PyLong_AsUnsignedLongLong(given[3]);
    if (PyErr_Occurred()) return NULL;
    return allocate(given[0], CLASS_ARENA, given[1], given[2], &r);
}

/* memory_allocate(device, type, count, label) */
static PyObject *allocate_on_device(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    request r = {.on_device = 1};
    if (count != 4) return PyErr_Format(PyExc_TypeError, "4 arguments expected, got %zd", count);
    if (given[3] != Py_None && !(r.label = PyUnicode_AsUTF8AndSize(given[3], NULL))) return NULL;
    return allocate(given[0], CLASS_DEVICE, given[1], given[2], &r);
}

/* pool_allocate(pool, stream, type, count) */
static PyObject *allocate_in_pool(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    request r = {.on_device = 1};
    if (count != 4) return PyErr_Format(PyExc_TypeError, "4 arguments expected, got %zd", count);
    if (!(r.stream = check_handle(given[1], CLASS_STREAM, "stream"))) return NULL;
    return allocate(given[0], CLASS_POOL, given[2], given[3], &r);
}

/* template_allocate(template, type, count, on the host) */
static PyObject *allocate_in_template(PyObject *module, PyObject *const *given, Py_ssize_t count) {
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "4 arguments expected, got %zd", count);
    const int on_host = PyObject_IsTrue(given[3]);
    if (on_host < 0) return NULL;
    const request r = {.on_device = !on_host};
    return allocate(given[0], CLASS_TEMPLATE, given[1], given[2], &r);
}

/* memory_import(device, type, exported, label): an array of another process's memory. */
static PyObject *import_memory(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *owner, *type;
    Py_buffer exported;
    const char *label;
    char format;
    uint32_t element;
    uint64_t address = 0, bytes = 0;
    const gpo_api *api = library();
    if (!api || !PyArg_ParseTuple(arguments, "OOy*z", &owner, &type, &exported, &label)) return NULL;
    handle_object *device = check_handle(owner, CLASS_DEVICE, "self");
    gpo_status status = GPO_SUCCESS;
    if (device && element_of(type, &format, &element) == 0) {
        void *handle = device->handle;
        settle_memory();
        Py_BEGIN_ALLOW_THREADS status =
            api->memory_import(handle, exported.buf, (uint64_t)exported.len, label, &address, &bytes);
        Py_END_ALLOW_THREADS if (status != GPO_SUCCESS) raise_status(status);
    }
    PyBuffer_Release(&exported);
    if (PyErr_Occurred()) return NULL;
    if (bytes % element == 0) return new_memory(owner, 1, address, format, (Py_ssize_t)(bytes / element));
    api->memory_free(device->handle, address);
    return PyErr_Format(PyExc_ValueError, "the memory has %llu bytes, which is no whole number of %s elements",
                        (unsigned long long)bytes, element_name(format));
}

void settle_deferred(void) { free_all_deferred(0); }

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL
static PyMethodDef functions[] = {
    {"_arena_array", FAST(allocate_in_arena), NULL},        {"_device_array", FAST(allocate_on_device), NULL},
    {"_pool_array", FAST(allocate_in_pool), NULL},          {"_template_array", FAST(allocate_in_template), NULL},
    {"_imported_array", import_memory, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

int add_pieces(PyObject *module) { return PyModule_AddFunctions(module, functions); }
