/* gpuorch_python.h: what the files of the extension module share.
 *
 * There are three builds. Python's headers and the compiler's options choose:
 * - With a GIL: the Limited API of 3.11. The file serves 3.11 and all later versions that have a GIL.
 * - With the headers of a free-threaded Python (Py_GIL_DISABLED): the file serves that version.
 * - With Py_TARGET_ABI3T: the file serves 3.15 and all later versions, with a GIL and without.
 *
 * Without a GIL, threads run this code at the same time. Data that threads share is atomic, or has a lock. The lock is
 * a mutex, or the lock of an object, BEGIN_LOCKED(). A thread with a mutex calls no function of Python's that may wait.
 *
 * On failure, a function sets an exception and returns NULL (`PyObject *`, objects, pointers) or -1 (int), unless a
 * comment says otherwise. References are new unless a comment says "borrowed". */
#ifndef GPUORCH_PYTHON_H
#define GPUORCH_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <pyconfig.h> /* says whether Python has a GIL */
#if !defined(Py_GIL_DISABLED) && !defined(Py_TARGET_ABI3T) && !defined(Py_LIMITED_API)
#define Py_LIMITED_API 0x030b0000
#endif
#include <Python.h>
#include <gpuorch/gpuorch.h>

#include "tables.h" /* made from abi.json: enum class_id, the tables below */

/* --- Pythons with a GIL and without ------------------------------------------------------------------------------ */

/* The head of our objects, as PyObject_HEAD. The stable ABI without a GIL hides the size of a PyObject, which differs
 * between the Pythons that the file serves. There our objects leave room for the largest, and module.c compares. */
#ifdef Py_TARGET_ABI3T
enum { HEAD_BYTES = 32 };
#define OBJECT_HEAD _Alignas(void *) char head[HEAD_BYTES];
#else
#define OBJECT_HEAD PyObject_HEAD
#endif

/* A section in which this thread has the lock of an object; a nested section, or a call of Python that waits, gives the
 * lock away meanwhile. With a GIL there is nothing to lock. The two stand in one block. */
#ifdef Py_GIL_DISABLED
#define BEGIN_LOCKED(object) Py_BEGIN_CRITICAL_SECTION((PyObject *)(object));
#define END_LOCKED() Py_END_CRITICAL_SECTION();
#else
#define BEGIN_LOCKED(object) {
#define END_LOCKED() }
#endif

/* The item of a list that other threads may change: a new reference. NULL, without an exception: there is none at the
 * place. */
static inline PyObject *list_item(PyObject *list, Py_ssize_t place) {
#ifdef Py_GIL_DISABLED
    PyObject *item = PyList_GetItemRef(list, place);
#else
    PyObject *item = Py_XNewRef(PyList_GetItem(list, place));
#endif
    if (!item) PyErr_Clear();
    return item;
}

/* --- library.c: the library, opened when it is first used ------------------------------------------------------- */

/* The library's functions. Opens the library at the first call. ImportError: no library was found, or the library is
 * too old. In a forked child of a process that had opened the library, the table remains, and its functions return
 * GPO_FORKED. */
const gpo_api *library(void);
/* The table if the library has been opened, else NULL; sets no exception. For deallocators. */
const gpo_api *open_library(void);
/* True once the interpreter ends, and in a forked child: deallocators call the library no more. */
int is_over(void);

/* --- error.c: statuses as exceptions ----------------------------------------------------------------------------- */

/* Raises the exception of a status: gpuorch.Error or the subclass named after the status, with the message, the
 * function and the culprit of gpo_last_error. Returns NULL. To be called on the thread that made the call, before
 * another call. An exception that a callback left behind goes first. */
PyObject *raise_status(gpo_status status);
/* The same, with the function ("gpo_stream_wait") if the library doesn't say it. */
PyObject *raise_status_of(gpo_status status, const char *function);
/* The exception object of a status and details, which may be NULL; it isn't raised. */
PyObject *make_error(gpo_status status, const gpo_error *details);

/* --- handle.c: handles of the library as objects ----------------------------------------------------------------- */

/* Counts calls under way. Without a GIL, threads have different counters, so that their calls don't wait for a cache
 * line that they share. */
#ifdef Py_GIL_DISABLED
enum { CALL_COUNTERS = 16 };
#else
enum { CALL_COUNTERS = 1 };
#endif
typedef struct call_counter {
    _Alignas(64) int calls; /* atomic */
} call_counter;

/* The base of all classes that stand for a handle. Python's classes (gpuorch.Stream) are derived from it. */
typedef struct handle_object {
    OBJECT_HEAD
    void *handle;         /* NULL: closed */
    enum class_id kind;
    int borrowed;         /* closing doesn't destroy it: a callback's stream */
    PyObject *parent;     /* the object it was made from, which is closed later; or NULL */
    PyObject *kept;       /* a list of what has to live as long as the handle; or NULL */
    struct in_flight *in_flight; /* of a stream: memory that its work uses, stream_keep() */
    PyObject *dict, *weak_references;
    int exposed;           /* set: the program or the GPU may use the handle unseen (native handle, device handle,
                              export, tasks), so a collected object stays open until the runtime is closed */
    Py_ssize_t exports;    /* add_export() counts buffers and capsules of the object's memory, and of all objects made
                              from the object; meanwhile a close() that would free the memory is refused */
    struct callback *pending; /* of an executor: functions of Python's that it has to call */
    int ending;            /* of what frees memory (a runtime, a template, buckets), atomic: a close is under way */
    call_counter *calls;   /* of the same: calls under way that use the memory; see enter_runtime() */
    void *runtime;         /* the handle of its runtime, or NULL: says whether two objects belong together */
    int described;         /* of a device, atomic: describe_device() has written the next two */
    int32_t software, ordinal;
    struct leftovers *leftovers; /* of a runtime: what the work of closed streams uses */
    struct handle_object *previous, *next; /* in the list of open handles */
} handle_object;

extern PyTypeObject *handle_type;

/* `value` as a handle of a class, borrowed. TypeError: it is another object, in words that have the parameter's name.
 * ValueError: it is closed. */
handle_object *check_handle(PyObject *value, enum class_id kind, const char *parameter);
/* An object for a new handle, of the class that Python has registered for the kind. On failure the handle is
 * destroyed. `parent` may be NULL. */
PyObject *new_handle(enum class_id kind, void *handle, PyObject *parent);
/* Keeps an object as long as the handle's object lives. */
int keep(handle_object *owner, PyObject *object);
/* Keeps an object until all work that the stream has accepted so far is done, also if the stream is closed before. Work
 * that was recorded, and not run, keeps it as long as the stream's device is open. To be called after the call that put
 * the work there. */
int stream_keep(handle_object *stream, PyObject *object);
/* True if noting the stream in the arrays (note_use) is enough, because the newest work of the stream is neither
 * recorded nor put there by a callback. */
int runs_in_order(handle_object *stream);
/* True if a template of the runtime records: maybe the stream. A call that frees memory isn't part of the recording,
 * and would spoil the recording by a query of the stream, or by work there. */
int may_record(const handle_object *stream);
/* True if a template is recording the stream. A thread that doesn't record may get 0. */
int is_recording(const gpo_api *api, const handle_object *stream);
/* The status of stream_query(), without a query if may_record(). Then GPO_CAPTURE_REFUSED says that the stream may have
 * work. */
gpo_status query_stream(const gpo_api *api, const handle_object *stream);
/* Keeps an object in the place of what was kept under this name before: of the run before, say. */
int keep_as(handle_object *owner, const char *name, PyObject *object);
/* Closes an object as its close() does. The functions that destroy a handle (stream_destroy, stream_pool_release,
 * runtime_shutdown...) call this instead of the library. `timeout_ns` is a runtime's; below 0: no limit. An object
 * that is closed already is no error. */
int close_handle(handle_object *object, int64_t timeout_ns);
/* Notes the beginning and the end of a template's recording. Meanwhile stream_keep() keeps objects with the template.
 * To be called after template_begin has succeeded, and after template_end or template_cancel. */
int recording_begins(handle_object *recording);
void recording_ends(handle_object *recording);
/* Counts a buffer or a capsule that uses memory of a handle's object: by 1, and by -1 when it is released. Counts for
 * all objects that the handle was made from, too. Nothing is counted for other objects: tensors of others. */
void add_export(PyObject *owner, Py_ssize_t by);
/* NULL, without an exception, while memory of an arena, a device, a pool or a template is there; else what was closed,
 * and freed it: "runtime", "template", "buckets". */
const char *memory_ended_with(const handle_object *object);
/* If an object that frees the memory is being closed, its name; else NULL. Sets no exception. A runtime's callbacks may
 * use its memory meanwhile, because the shutdown waits for callbacks. */
const char *memory_is_ending_with(const handle_object *object);
/* True in a callback of the object's runtime while the runtime is being closed: the memory is there until the callback
 * has returned. */
int is_last_callback(handle_object *object);
/* Around each call of the library that uses memory. The end of the runtime frees the memory, and waits for the calls.
 * enter_runtime() returns -1, with a ValueError, while the runtime is being closed: except in the runtime's callbacks.
 * leave_runtime() needs no GIL. */
int refuse_entry(handle_object *runtime);
int has_calls(const handle_object *runtime);
unsigned new_thread_number(void);
extern _Thread_local unsigned thread_number __attribute__((tls_model("initial-exec"))); /* 0: there is none yet */
static inline call_counter *own_counter(const handle_object *runtime) {
    if (CALL_COUNTERS == 1) return runtime->calls;
    if (!thread_number) thread_number = new_thread_number();
    return &runtime->calls[thread_number % CALL_COUNTERS];
}
static inline int enter_runtime(handle_object *runtime) {
    /* before `ending` is read: a close sees one of both */
    __atomic_add_fetch(&own_counter(runtime)->calls, 1, __ATOMIC_SEQ_CST);
    const int is_open = !__atomic_load_n(&runtime->ending, __ATOMIC_SEQ_CST) &&
                        __atomic_load_n(&runtime->handle, __ATOMIC_ACQUIRE);
    return is_open ? 0 : refuse_entry(runtime);
}
static inline void leave_runtime(handle_object *runtime) { /* on the same thread */
    __atomic_sub_fetch(&own_counter(runtime)->calls, 1, __ATOMIC_RELEASE);
}
/* Around each call that uses memory of a template. Closing the template, or its buckets, waits for the calls. `owner`
 * is the template. */
int enter_template(handle_object *owner);
void leave_template(handle_object *owner);
/* The handle of the object's runtime, device...: goes up the parents; borrowed. NULL without an exception: there is
 * none. */
handle_object *ancestor(handle_object *object, enum class_id kind);

/* --- memory.c: memory in and out --------------------------------------------------------------------------------- */

/* Memory of the library's, host or device: what an arena, a device, a pool or a template has allocated, typed as a
 * one-dimensional array. gpuorch.Array is derived from it. */
typedef struct memory_object {
    OBJECT_HEAD
    uint64_t address;      /* 0: freed */
    uint64_t bytes;
    char format[2];        /* of struct and of the buffer protocol: B b H h I i Q q f d e ?, as one letter */
    uint32_t element_bytes;
    Py_ssize_t count;      /* elements */
    int on_device;         /* 0: host memory with the buffer protocol */
    int exports;           /* buffers and DLPack capsules that use it: freeing is refused meanwhile */
    PyObject *owner;       /* the Arena, Device, Pool or Template; the memory is freed there; NULL: a view */
    PyObject *base;        /* of a view (slice): the memory_object that owns it */
    handle_object *stream; /* of the last use by a call of ours, or NULL: memory is freed behind this stream */
    PyObject *streams;     /* a list of other streams that used it, or NULL */
    int in_template;       /* the owner is a Template, whose close frees the memory while streams are open */
    int pageable;          /* memory of the host that GPUs don't reach: another library's tensor */
    int keepers;           /* blocks that work in flight keeps; a free meanwhile happens behind them */
    uint64_t ended;        /* the address, after a free that waits for exports and keepers; else 0 */
    PyObject *dict, *weak_references;
} memory_object;

extern PyTypeObject *memory_type;

/* A block of memory that a call uses, with the object that keeps the memory. */
typedef struct block {
    uint64_t address;
    uint64_t bytes;        /* UINT64_MAX: unknown, an address alone */
    Py_buffer view;        /* view.obj != NULL: to be released */
    PyObject *object;      /* what the address was read from: kept by work that goes on */
} block;

/* Host memory: a memory_object on the host, or anything with the buffer protocol (contiguous; writable if `writes`).
 * BufferError, TypeError and ValueError name the parameter, and say what is wrong. */
int read_host_block(PyObject *value, int writes, const char *parameter, block *out);
/* Device memory: a memory_object, an int, an object with __cuda_array_interface__ or __dlpack__ (contiguous, of the
 * device). The software GPU's device memory is the host's: there buffers are taken, too. */
int read_device_block(PyObject *value, const char *parameter, block *out);
void release_block(block *given);
/* An object that holds the block (and releases it when collected), for stream_keep(). Ends `given`. */
PyObject *block_keeper(block *given);
/* The array in a keeper, borrowed: the array that owns the memory. NULL: the object is no keeper, or of other
 * memory. */
memory_object *array_of_keeper(PyObject *keeper);
/* The address of an object as a kernel's argument, without a new reference: memory_object, device arrays of others
 * (type looked up once), pinned buffers. Returns 0 with an exception for other objects, and 0 without an exception for
 * an empty array. */
uint64_t argument_address(PyObject *value, const char *parameter);
/* Like argument_address, for a device that is known to be the software GPU (`software` 1), or not to be (0). */
uint64_t argument_address_on(PyObject *value, int software, const char *parameter);
/* Finds the address for types that were met before and have DLPack's C exchange API. Returns 0, without an exception,
 * if argument_address_on has to find the address. */
int find_address(PyObject *value, int software, uint64_t *address);
/* A new array of the library's memory; `owner` frees it. */
PyObject *new_memory(PyObject *owner, int on_device, uint64_t address, char format, Py_ssize_t count);
/* Bytes of an element by the names u8 i8 u16 i16 u32 i32 u64 i64 f16 f32 f64 or a letter of struct; the letter goes to
 * `format`. ValueError names the wrong one. */
int element_of(PyObject *name, char *format, uint32_t *bytes);

/* True if the memory, and the object that frees the memory, are open. ValueError else. */
int check_alive(memory_object *array);
/* Notes a use of the memory by work on the stream: the memory is freed behind that work. Borrows both. */
int note_use(memory_object *array, handle_object *stream);
/* The streams that were noted, one after another, the newest first; *place is -1 at first. A new reference; NULL: there
 * are no more. The others come from the end of their list, so none is left out if another thread shortens the list. */
handle_object *next_user(memory_object *root, Py_ssize_t *place);
/* The stream that was noted last, to be compared only. */
static inline const handle_object *newest_user(const memory_object *root) {
    return __atomic_load_n(&root->stream, __ATOMIC_SEQ_CST);
}
static inline memory_object *root_of(memory_object *array) {
    return array->base ? (memory_object *)array->base : array;
}
/* piece.c: gives the memory back as soon as nothing uses it. `waits`: while something has a buffer of it, the free
 * waits for the end of that instead of raising BufferError. */
int free_memory(memory_object *root, int waits);
/* Counts a use of the memory beside the object itself, and its end: an export, or a keeper of work in flight. */
void add_use(memory_object *root, int keeper);
void end_use(memory_object *root, int keeper);
/* The parts of add_memory, and of settle_memory, that other files have. */
int add_pieces(PyObject *module);
int add_dlpack(PyObject *module);
int add_blocks(PyObject *module);
void settle_deferred(void);
void settle_loans(void);
/* Gives back what other threads, and busy devices, have left to the next call. */
void settle_memory(void);
/* Asks the library once for what a device is: device->software (1: the software GPU), and device->ordinal (the driver's
 * number). */
int describe_device(handle_object *device);
/* Whether a device is the software GPU; -1 with an exception. */
int is_software(handle_object *device);
/* The device that an object of the library, or an array, belongs to; borrowed; NULL without an exception. */
handle_object *device_of(PyObject *object);
/* Takes the tensor out of the owner of an array of another library's memory: a new object, which releases the tensor in
 * the end. The owner stays, because other threads may look at it. Without memory for an object: the owner itself. */
PyObject *part_with_tensor(PyObject *owner);
/* dlpack.c: what __dlpack__, __dlpack_device__ and __cuda_array_interface__ of arrays are. */
PyObject *get_dlpack(PyObject *array, void *unused);
PyObject *get_dlpack_device(PyObject *array, void *unused);
PyObject *get_cuda_array_interface(PyObject *array, void *unused);
/* element.c: a Python number as an element (0: done, -1: an exception, else what is wrong), and back. */
enum { ELEMENT_WRONG_TYPE = 1, ELEMENT_OUT_OF_RANGE = 2 };
int store_element(char format, PyObject *value, void *at);
PyObject *load_element(char format, const void *at);
/* The name of a letter, "f32"; NULL: it is none. */
const char *element_name(char format);
uint32_t element_bytes(char format);
/* Raises what store_element has found; `where` says which value it was. Returns -1. */
int raise_element(int problem, char format, PyObject *value, const char *where);

/* --- marshal.c: any function of the library, by the tables ------------------------------------------------------- */

/* Whether a call is putting work that uses memory on a stream: an idle device may be about to get the work. */
int is_memory_in_calls(void);
/* Adds every function of abi.json as a function of the module, by its name without gpo_. */
int add_functions(PyObject *module);
/* Fills a struct from a mapping or an object with attributes; `kept` (a list) gets what its pointers lead to. */
int read_struct(const struct_entry *entry, PyObject *value, void *out, const char *parameter, PyObject *kept);
/* A struct as a read-only record (a struct sequence) with the names of its fields; enumerations stay numbers. */
PyObject *struct_record(const struct_entry *entry, const void *in);
/* value.c: clears an exception of the kind. -1: an exception of another kind is set, and stays. */
int forget_error(PyObject *kind);
/* value.c: an attribute that an object may lack: 1: *found is a new reference; 0: there is none; -1: an exception. */
int find_attribute(PyObject *object, const char *name, PyObject **found);
/* A time in seconds (float or int; None: no limit) as nanoseconds for C. */
int read_timeout(PyObject *value, int64_t *timeout_ns);

/* --- callback.c: functions of Python that the library calls ------------------------------------------------------ */

/* A function of Python runs on a thread that Python knows, inside a call of ours that has given the GIL away. An
 * exception of the function stays in the thread's error indicator. After a call that may run functions of Python
 * (executor_run, a wait, a shutdown), the caller looks at PyErr_Occurred(), also if the call succeeded. A second
 * exception goes to sys.unraisablehook. */

/* True on a thread that runs a callback. The second: a callback that belongs, or may belong, to the runtime. The third:
 * a callback of the runtime's that isn't its log function. */
int in_callback(void);
int in_callback_of(const void *runtime);
int in_work_of(const void *runtime);
/* The callbacks that an executor has to call: for its tp_traverse, and before the executor is deallocated. */
int callbacks_visit(handle_object *executor, visitproc visit, void *arg);
void callbacks_leave(handle_object *executor);

/* --- launch.c: plans of launches --------------------------------------------------------------------------------- */

/* Adds the types and functions of a file to the module. */
int add_launch(PyObject *module);
int add_memory(PyObject *module);
int add_handles(PyObject *module);
int add_errors(PyObject *module);
int add_completions(PyObject *module);

/* --- completion.c: waits and futures ----------------------------------------------------------------------------- */

/* Waits, without the GIL, until `poll` says yes (1; -1: exception), the queue has an entry, or the time is over. The
 * descriptor of the queue is polled, so that signals end the wait: the handlers run, and their exceptions are raised
 * here. Returns 1: yes, 0: the time is over. */
int wait_for(gpo_cq_t cq, int64_t timeout_ns, int (*poll)(void *context), void *context);

#endif
