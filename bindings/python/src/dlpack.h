/* dlpack.h: the structs of DLPack 1, after its published specification, and functions that read a tensor. */
#ifndef GPUORCH_DLPACK_H
#define GPUORCH_DLPACK_H

#include "gpuorch_python.h"

enum { TENSOR_CPU = 1, TENSOR_CUDA = 2, TENSOR_CUDA_HOST = 3, TENSOR_CUDA_MANAGED = 13 }; /* kinds of devices */
enum { TENSOR_INT = 0, TENSOR_UINT = 1, TENSOR_FLOAT = 2, TENSOR_BOOL = 6 };              /* kinds of elements */
enum { TENSOR_READ_ONLY = 1 };                                                            /* flags */

typedef struct tensor_version {
    uint32_t major, minor;
} tensor_version;

typedef struct tensor {
    void *data;
    int32_t device_kind, device;
    int32_t dimensions;
    uint8_t element_kind, element_bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: contiguous */
    uint64_t offset;  /* in bytes, from `data` */
} tensor;

/* A tensor that is lent: the old form, and the form with a version. The borrower calls `release` once. */
typedef struct lent_tensor {
    tensor tensor;
    void *context;
    void (*release)(struct lent_tensor *self);
} lent_tensor;

typedef struct versioned_tensor {
    tensor_version version;
    void *context;
    void (*release)(struct versioned_tensor *self);
    uint64_t flags;
    tensor tensor;
} versioned_tensor;

/* The table that a type's capsule __dlpack_c_exchange_api__ leads to (DLPack 1.3). Functions return 0, or -1 with an
 * exception; `allocate` calls `fail` in place of raising one. No function orders work. */
typedef struct exchange_table {
    tensor_version version;
    struct exchange_table *previous;
    int (*allocate)(tensor *like, versioned_tensor **out, void *context,
                    void (*fail)(void *context, const char *kind, const char *message));
    int (*lend)(void *object, versioned_tensor **out);
    int (*take)(versioned_tensor *lent, void **out); /* makes an object that releases the tensor */
    int (*look)(void *object, tensor *out);          /* borrows for a call; NULL: the library hasn't this function */
    int (*current_stream)(int32_t device_kind, int32_t device, void **out);
} exchange_table;

/* The table of a type. NULL, maybe with an exception: there is none. */
const exchange_table *exchange_table_of(PyTypeObject *type);
/* exchange.c: gives the type of arrays its table. */
int add_exchange(void);

/* For the table of arrays. Work on the legacy default stream, which is the current stream of the table, comes after the
 * work of ours that uses the array. */
int look_at_array(memory_object *array, tensor *out);
versioned_tensor *lend_array(memory_object *array);
/* An array that shares the memory of a tensor, and releases the tensor in the end. On failure the tensor is still the
 * caller's. */
PyObject *take_tensor(versioned_tensor *lent);

/* Borrows a tensor by object.__dlpack__(). `stream`: -1: the caller orders the work; 0: none is named; else as the
 * protocol says. Returns an object that keeps the tensor; *out lives as long. */
PyObject *borrow_tensor(PyObject *object, int64_t stream, const tensor **out, int *read_only);

/* Bytes of a contiguous tensor. -1: a ValueError, which names the parameter, if the tensor isn't contiguous, or has
 * more bytes than an int64 counts. */
int64_t tensor_bytes(const tensor *t, const char *parameter);
static inline uint64_t tensor_address(const tensor *t) { return (uint64_t)(uintptr_t)t->data + t->offset; }
static inline int tensor_is_on_device(const tensor *t) {
    return t->device_kind == TENSOR_CUDA || t->device_kind == TENSOR_CUDA_MANAGED;
}

#endif
