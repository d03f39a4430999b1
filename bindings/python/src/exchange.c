/* exchange.c: DLPack's table of C functions, by which libraries exchange arrays without calls of Python.
 *
 * A type has the table as a capsule, in its attribute __dlpack_c_exchange_api__. A borrower looks up a type's table
 * once, and then reads each argument by a C call. The calls order no work of the borrower's: the borrower works on the
 * stream that `current_stream` gives. This package has no current stream. Therefore `current_stream` gives the legacy
 * default stream, and reading an array makes that stream wait for the work that uses the array. */
#include "dlpack.h"

const exchange_table *exchange_table_of(PyTypeObject *type) {
    PyObject *capsule;
    const exchange_table *table = NULL;
    if (find_attribute((PyObject *)type, "__dlpack_c_exchange_api__", &capsule) < 0) return NULL;
    if (capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
        table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    while (table && table->version.major > 1) table = table->previous;
    Py_XDECREF(capsule);
    return table && table->version.major == 1 && table->look ? table : NULL;
}

static memory_object *array_from(void *object) {
    if (PyObject_TypeCheck((PyObject *)object, memory_type)) return object;
    PyErr_SetString(PyExc_TypeError, "an array of gpuorch expected");
    return NULL;
}

static int refuse_to_allocate(tensor *like, versioned_tensor **out, void *context,
                              void (*fail)(void *context, const char *kind, const char *message)) {
    (void)like, (void)out;
    fail(context, "NotImplementedError",
         "arrays of gpuorch are allocated by an arena, a device or a pool: allocate the result before the call");
    return -1;
}

static int lend(void *object, versioned_tensor **out) {
    memory_object *array = array_from(object);
    *out = array ? lend_array(array) : NULL;
    return *out ? 0 : -1;
}

static int take(versioned_tensor *lent, void **out) { return (*out = take_tensor(lent)) ? 0 : -1; }

static int look(void *object, tensor *out) {
    memory_object *array = array_from(object);
    return array ? look_at_array(array, out) : -1;
}

static int current_stream(int32_t device_kind, int32_t device, void **out) {
    (void)device_kind, (void)device;
    *out = NULL; /* the legacy default stream; memory of the host has no stream */
    return 0;
}

int add_exchange(void) {
    static const char name[] = "__dlpack_c_exchange_api__";
    static exchange_table table = {.version = {1, 3},
                                   .allocate = refuse_to_allocate,
                                   .lend = lend,
                                   .take = take,
                                   .look = look,
                                   .current_stream = current_stream};
    PyObject *capsule = PyCapsule_New(&table, "dlpack_exchange_api", NULL);
    const int failed = capsule ? PyObject_SetAttrString((PyObject *)memory_type, name, capsule) : -1;
    Py_XDECREF(capsule);
    return failed;
}
