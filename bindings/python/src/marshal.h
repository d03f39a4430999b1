/* marshal.h: what struct.c, value.c, callback.c and marshal.c share.
 *
 * The list `kept` of a call holds the targets of the call's pointers: bytes with arrays, objects with buffers, and
 * handles. */
#ifndef GPUORCH_MARSHAL_H
#define GPUORCH_MARSHAL_H

#include "gpuorch_python.h"

/* The state while structs are read. */
typedef struct reading {
    PyObject *kept;            /* a list */
    handle_object *executor;   /* borrowed: the field `executor`, or NULL */
    handle_object *kernel;     /* borrowed: the kernel whose arguments are read, or NULL */
    void *graph_template;      /* whose parameters settings name, or NULL */
    PyObject *callback_parent; /* borrowed: the parent of streams that callbacks get, or NULL */
    struct callback *sink;     /* of a pipeline's run, or NULL */
    struct callback *work;     /* a batcher's, which holds a reference for the library; or NULL */
    const char *called;        /* name of a function of Python's that an executor has to run, or NULL */
    struct callback *inside;   /* functions that our own calls run, of buckets; or NULL */
} reading;

/* --- value.c: single values and arrays --- */

/* `bytes` of zeroed memory that lives as long as the list. */
void *kept_memory(PyObject *kept, size_t bytes);
/* Like kept_memory, for `count` elements. Not NULL for 0 elements either. */
void *kept_array(PyObject *kept, uint64_t count, size_t size);
/* Reads a number of a kind (KIND_U8 to KIND_F64) and stores it with the size that the kind has. */
int read_number(PyObject *value, enum value_kind kind, const char *name, void *out);
/* A number at `in` as Python's. */
PyObject *number_of(enum value_kind kind, const void *in);
/* A str, borrowed as UTF-8; the str is kept. ValueError: it holds a NUL. */
int read_text(PyObject *value, const char *name, PyObject *kept, const char **out);
/* An int or an object as an address. `host`: objects of host memory are accepted, too. `bytes` (may be NULL) gets how
 * many bytes there are, UINT64_MAX: unknown. */
int read_address(PyObject *value, int host, const char *name, PyObject *kept, uint64_t *out, uint64_t *bytes);
/* Host memory; *out NULL for None. */
int read_host(PyObject *value, int writes, const char *name, PyObject *kept, void **out, uint64_t *bytes);
/* Arrays: from a list, a tuple, or for numbers a buffer. *out NULL and 0 elements for None. */
int read_numbers(PyObject *value, enum value_kind kind, const char *name, PyObject *kept, void **out, uint64_t *count);
int read_handles(PyObject *value, enum class_id kind, const char *name, PyObject *kept, void **out, uint64_t *count);
int read_texts(PyObject *value, const char *name, PyObject *kept, void **out, uint64_t *count);
/* A mapping of names to texts, as two arrays. */
int read_headers(PyObject *value, const char *name, PyObject *kept, void **names, void **texts, uint64_t *count);
/* A kernel's arguments: pointers to values, and their sizes, which the kernel knows. */
int read_arguments(PyObject *value, handle_object *kernel, const char *name, PyObject *kept, void **out,
                   uint32_t **sizes, uint64_t *count);
/* Reads a value of `bytes` bytes. With 0 the size is unknown, and the value's type has to say the size. The bytes are
 * kept; *out leads to them. */
int read_value(PyObject *value, uint64_t bytes, const char *name, PyObject *kept, void **out, uint64_t *size);
/* Bytes of a template's parameter; 0: unknown. */
uint64_t parameter_bytes(void *graph_template, const char *name);
/* A type error: "name has to be <what>, not <type>". Returns -1. */
int wrong_type(const char *name, const char *what, PyObject *value);

/* --- struct.c --- */

/* Makes the names of fields as objects, once. */
int add_struct_names(void);
int read_struct_into(const struct_entry *entry, PyObject *value, void *out, const char *parameter, reading *reading);
int read_structs(const struct_entry *entry, PyObject *value, const char *parameter, reading *reading, void **out,
                 uint64_t *count);
/* The type of a struct's records, borrowed. */
PyTypeObject *record_type(const struct_entry *entry);
/* Puts another object in a record's field; takes over the reference. */
void replace_field(const struct_entry *entry, PyObject *record, const char *field, PyObject *value);

/* --- callback.c: functions of Python that the library calls --- */

/* A function for one call by the executor (a completion or a host call). The call frees the callback and `kept`. */
struct callback *callback_once(PyObject *callable, PyObject *kept, handle_object *executor);
/* A callback that lives as long as the list. */
struct callback *callback_kept(PyObject *kept, PyObject *parent);
/* Adds a reference for the library. The function of CALLBACK_BATCH_RELEASE drops the reference. */
void callback_hold(struct callback *callback);
void callback_release(struct callback *callback);
/* The buckets that own the functions; not referenced, since the buckets keep the callback. */
void callback_set_owner(struct callback *callback, PyObject *owner);
/* How many bytes the result of a chunk has, for a sink. */
void callback_set_result(struct callback *callback, uint64_t bytes);
/* Sets the function of a place: 0, or 1 for a second one with the same `user`. */
int callback_set(struct callback *callback, int place, PyObject *callable);
/* The function of C's for a kind of callback. */
void (*callback_function(enum callback_id id, int place))(void);
int add_callbacks(void);
/* Frees what threads without Python have left behind. */
void callbacks_collect(void);

#endif
