/* value.c: single values and arrays of Python's as C takes them. */
#include "marshal.h"

#include <string.h>

int wrong_type(const char *name, const char *what, PyObject *value) {
    PyObject *type = PyType_GetName(Py_TYPE(value));
    if (type) {
        PyErr_Format(PyExc_TypeError, "%s has to be %s, not %U", name, what, type);
        Py_DECREF(type);
    }
    return -1;
}

int forget_error(PyObject *kind) {
    if (!PyErr_Occurred()) return 0;
    if (!PyErr_ExceptionMatches(kind)) return -1;
    PyErr_Clear();
    return 0;
}

int find_attribute(PyObject *object, const char *name, PyObject **found) {
    *found = PyObject_GetAttrString(object, name);
    return *found ? 1 : forget_error(PyExc_AttributeError);
}

void *kept_memory(PyObject *kept, size_t bytes) {
    if (bytes > PY_SSIZE_T_MAX) {
        PyErr_NoMemory();
        return NULL;
    }
    PyObject *memory = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    if (!memory) return NULL;
    char *begin = PyBytes_AsString(memory);
    memset(begin, 0, bytes);
    const int failed = PyList_Append(kept, memory);
    Py_DECREF(memory);
    return failed ? NULL : begin;
}

void *kept_array(PyObject *kept, uint64_t count, size_t size) {
    if (count >= PY_SSIZE_T_MAX / size) {
        PyErr_NoMemory();
        return NULL;
    }
    return kept_memory(kept, ((size_t)count + 1) * size);
}

static int out_of_range(const char *name, PyObject *value, const char *range) {
    PyErr_Format(PyExc_OverflowError, "%s is out of range: %R is not %s", name, value, range);
    return -1;
}

static int read_unsigned(PyObject *value, uint64_t most, const char *name, uint64_t *out) {
    PyObject *number = PyLong_CheckExact(value) ? Py_NewRef(value) : PyNumber_Index(value);
    if (!number) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            wrong_type(name, "an int", value);
        }
        return -1;
    }
    *out = PyLong_AsUnsignedLongLong(number);
    int failed = *out == UINT64_MAX && PyErr_Occurred();
    if (failed || *out > most) {
        PyErr_Clear();
        failed = out_of_range(name, number,
                              most == UINT8_MAX    ? "from 0 to 2**8 - 1"
                              : most == UINT32_MAX ? "from 0 to 2**32 - 1"
                                                   : "from 0 to 2**64 - 1");
    }
    Py_DECREF(number);
    return failed ? -1 : 0;
}

static int read_signed(PyObject *value, int wide, const char *name, int64_t *out) {
    PyObject *number = PyLong_CheckExact(value) ? Py_NewRef(value) : PyNumber_Index(value);
    if (!number) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            wrong_type(name, "an int", value);
        }
        return -1;
    }
    *out = PyLong_AsLongLong(number);
    int failed = *out == -1 && PyErr_Occurred();
    if (failed || (!wide && (*out < INT32_MIN || *out > INT32_MAX))) {
        PyErr_Clear();
        failed = out_of_range(name, number, wide ? "from -2**63 to 2**63 - 1" : "from -2**31 to 2**31 - 1");
    }
    Py_DECREF(number);
    return failed ? -1 : 0;
}

static int read_real(PyObject *value, const char *name, double *out) {
    *out = PyFloat_AsDouble(value);
    if (*out == -1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        PyErr_Clear();
        return wrong_type(name, "a number", value);
    }
    return 0;
}

static size_t bytes_of(enum value_kind kind) {
    switch (kind) {
        case KIND_U8: return 1;
        case KIND_U32:
        case KIND_I32:
        case KIND_STATUS:
        case KIND_F32: return 4;
        default: return 8;
    }
}

int read_number(PyObject *value, enum value_kind kind, const char *name, void *out) {
    uint64_t u;
    int64_t i;
    double d;
    switch (kind) {
        case KIND_U8:
        case KIND_U32:
        case KIND_U64:
        case KIND_SIZE:
            if (read_unsigned(value,
                              kind == KIND_U8    ? UINT8_MAX
                              : kind == KIND_U32 ? UINT32_MAX
                                                 : UINT64_MAX,
                              name, &u))
                return -1;
            memcpy(out, &u, bytes_of(kind)); /* little endian, as every host that the library supports */
            return 0;
        case KIND_I32:
        case KIND_STATUS:
        case KIND_I64:
            if (read_signed(value, kind == KIND_I64, name, &i)) return -1;
            memcpy(out, &i, bytes_of(kind));
            return 0;
        default:
            if (read_real(value, name, &d)) return -1;
            if (kind == KIND_F32)
                memcpy(out, &(float){(float)d}, sizeof(float));
            else
                memcpy(out, &d, sizeof d);
            return 0;
    }
}

PyObject *number_of(enum value_kind kind, const void *in) {
    uint8_t u8;
    uint32_t u32;
    int32_t i32;
    uint64_t u64;
    int64_t i64;
    float f32;
    double f64;
    switch (kind) {
        case KIND_U8: memcpy(&u8, in, sizeof u8); return PyLong_FromUnsignedLong(u8);
        case KIND_U32: memcpy(&u32, in, sizeof u32); return PyLong_FromUnsignedLong(u32);
        case KIND_I32:
        case KIND_STATUS: memcpy(&i32, in, sizeof i32); return PyLong_FromLong(i32);
        case KIND_I64: memcpy(&i64, in, sizeof i64); return PyLong_FromLongLong(i64);
        case KIND_F32: memcpy(&f32, in, sizeof f32); return PyFloat_FromDouble(f32);
        case KIND_F64: memcpy(&f64, in, sizeof f64); return PyFloat_FromDouble(f64);
        default: memcpy(&u64, in, sizeof u64); return PyLong_FromUnsignedLongLong(u64);
    }
}

int read_text(PyObject *value, const char *name, PyObject *kept, const char **out) {
    PyObject *path = NULL;
    if (!PyUnicode_Check(value)) {
        const int is_path = find_attribute(value, "__fspath__", &path);
        Py_CLEAR(path);
        if (is_path < 0 || (is_path && !(path = PyOS_FSPath(value)))) return -1;
        if (path) value = path;
    }
    int result = -1;
    char *text;
    Py_ssize_t length;
    /* A name of a file may be any bytes: os.fsdecode() makes surrogates of bytes that aren't UTF-8. */
    PyObject *bytes = NULL;
    if (!PyUnicode_Check(value) && !(path && PyBytes_Check(value)))
        wrong_type(name, "a str", value);
    else if ((bytes = PyBytes_Check(value) ? Py_NewRef(value)
                                           : PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape")) &&
             !PyBytes_AsStringAndSize(bytes, &text, &length)) {
        *out = text;
        if (strlen(text) != (size_t)length)
            PyErr_Format(PyExc_ValueError, "%s has a NUL in it", name);
        else
            result = PyList_Append(kept, bytes);
    }
    Py_XDECREF(bytes);
    Py_XDECREF(path);
    return result;
}

/* Keeps what holds a block, if anything does. */
static int keep_block(block *given, PyObject *kept) {
    if (!given->object && !given->view.obj) return 0;
    PyObject *keeper = block_keeper(given);
    if (!keeper) return -1;
    const int failed = PyList_Append(kept, keeper);
    Py_DECREF(keeper);
    return failed;
}

int read_address(PyObject *value, int host, const char *name, PyObject *kept, uint64_t *out, uint64_t *bytes) {
    if (bytes) *bytes = UINT64_MAX;
    if (PyLong_CheckExact(value)) return read_unsigned(value, UINT64_MAX, name, out);
    block given = {0};
    if (host && PyObject_TypeCheck(value, memory_type) && !((memory_object *)value)->on_device) {
        if (read_host_block(value, 0, name, &given)) return -1;
    } else if (read_device_block(value, name, &given)) {
        if (!host || !PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        PyErr_Clear();
        memset(&given, 0, sizeof given);
        if (read_host_block(value, 0, name, &given)) return -1;
    }
    *out = given.address;
    if (bytes) *bytes = given.bytes;
    return keep_block(&given, kept);
}

int read_host(PyObject *value, int writes, const char *name, PyObject *kept, void **out, uint64_t *bytes) {
    *out = NULL;
    *bytes = 0;
    if (value == Py_None) return 0;
    block given = {0};
    if (PyLong_CheckExact(value))
        return wrong_type(name, "memory: an array or another object with the buffer protocol", value);
    if (read_host_block(value, writes, name, &given)) return -1;
    *out = (void *)(uintptr_t)given.address;
    *bytes = given.bytes;
    return keep_block(&given, kept);
}

/* The elements of a list or a tuple as a new tuple. */
static PyObject *elements(PyObject *value, const char *name, const char *what) {
    if (PyUnicode_Check(value) || PyBytes_Check(value) || PyDict_Check(value)) {
        wrong_type(name, what, value);
        return NULL;
    }
    PyObject *tuple = PySequence_Tuple(value);
    if (!tuple && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        wrong_type(name, what, value);
    }
    return tuple;
}

int read_numbers(PyObject *value, enum value_kind kind, const char *name, PyObject *kept, void **out, uint64_t *count) {
    *out = NULL;
    *count = 0;
    if (value == Py_None) return 0;
    PyObject *one = NULL;
    if (PyLong_CheckExact(value)) { /* one number is a list of one */
        one = PyTuple_Pack(1, value);
        if (!one) return -1;
        value = one;
    }
    PyObject *given = elements(value, name, "a list of numbers");
    Py_XDECREF(one);
    if (!given) return -1;
    const Py_ssize_t length = PyTuple_Size(given);
    const size_t size = bytes_of(kind);
    char *memory = kept_array(kept, (uint64_t)length, size);
    int failed = memory ? 0 : -1;
    char element[96];
    for (Py_ssize_t i = 0; !failed && i < length; i++) {
        PyOS_snprintf(element, sizeof element, "%s[%zd]", name, i);
        failed = read_number(PyTuple_GetItem(given, i), kind, element, memory + (size_t)i * size);
    }
    Py_DECREF(given);
    *out = memory;
    *count = (uint64_t)length;
    return failed;
}

int read_handles(PyObject *value, enum class_id kind, const char *name, PyObject *kept, void **out, uint64_t *count) {
    *out = NULL;
    *count = 0;
    if (value == Py_None) return 0;
    PyObject *given = elements(value, name, "a list of objects");
    if (!given) return -1;
    const Py_ssize_t length = PyTuple_Size(given);
    void **memory = kept_array(kept, (uint64_t)length, sizeof *memory);
    int failed = memory ? PyList_Append(kept, given) : -1;
    char element[96];
    for (Py_ssize_t i = 0; !failed && i < length; i++) {
        PyOS_snprintf(element, sizeof element, "%s[%zd]", name, i);
        handle_object *object = check_handle(PyTuple_GetItem(given, i), kind, element);
        if (object)
            memory[i] = object->handle;
        else
            failed = -1;
    }
    Py_DECREF(given);
    *out = memory;
    *count = (uint64_t)length;
    return failed;
}

int read_texts(PyObject *value, const char *name, PyObject *kept, void **out, uint64_t *count) {
    *out = NULL;
    *count = 0;
    if (value == Py_None) return 0;
    PyObject *given = elements(value, name, "a list of str");
    if (!given) return -1;
    const Py_ssize_t length = PyTuple_Size(given);
    const char **memory = kept_array(kept, (uint64_t)length, sizeof *memory);
    int failed = memory ? 0 : -1;
    char element[96];
    for (Py_ssize_t i = 0; !failed && i < length; i++) {
        PyOS_snprintf(element, sizeof element, "%s[%zd]", name, i);
        failed = read_text(PyTuple_GetItem(given, i), element, kept, &memory[i]);
    }
    Py_DECREF(given);
    *out = memory;
    *count = (uint64_t)length;
    return failed;
}

int read_headers(PyObject *value, const char *name, PyObject *kept, void **names, void **texts, uint64_t *count) {
    *names = *texts = NULL;
    *count = 0;
    if (value == Py_None) return 0;
    if (!PyDict_Check(value)) return wrong_type(name, "a dict of names and texts", value);
    PyObject *items = PyDict_Copy(value); /* another thread may change the dict between the two */
    PyObject *keys = items ? PyDict_Keys(items) : NULL, *values = items ? PyDict_Values(items) : NULL;
    uint64_t texts_count;
    int failed = keys && values ? 0 : -1;
    Py_XDECREF(items);
    if (!failed)
        failed =
            read_texts(keys, name, kept, names, count) || read_texts(values, name, kept, texts, &texts_count) ? -1 : 0;
    Py_XDECREF(keys);
    Py_XDECREF(values);
    return failed;
}

/* An int as `bytes` bytes; both signed and unsigned numbers fit. */
static int pack_int(PyObject *value, uint64_t bytes, const char *name, unsigned char *out) {
    char range[64];
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
        PyErr_Format(PyExc_TypeError, "%s has %llu bytes: give a bytes object, not an int", name,
                     (unsigned long long)bytes);
        return -1;
    }
    PyObject *number = PyNumber_Index(value);
    if (!number) return -1;
    int overflow;
    const int64_t i = PyLong_AsLongLongAndOverflow(number, &overflow);
    uint64_t u = (uint64_t)i;
    int failed = overflow < 0 || (i == -1 && !overflow && PyErr_Occurred());
    if (overflow > 0) {
        u = PyLong_AsUnsignedLongLong(number);
        failed = bytes < 8 || (u == UINT64_MAX && PyErr_Occurred());
    } else if (!failed && bytes < 8) {
        const int bits = (int)bytes * 8;
        failed = i < -(INT64_C(1) << (bits - 1)) || i >= INT64_C(1) << bits;
    }
    if (failed) {
        PyErr_Clear();
        PyOS_snprintf(range, sizeof range, "from -2**%d to 2**%d - 1", (int)bytes * 8 - 1, (int)bytes * 8);
        out_of_range(name, number, range);
    } else {
        memcpy(out, &u, bytes);
    }
    Py_DECREF(number);
    return failed ? -1 : 0;
}

static int pack_real(PyObject *value, uint64_t bytes, const char *name, unsigned char *out) {
    double d;
    if (read_real(value, name, &d)) return -1;
    if (bytes == sizeof d) {
        memcpy(out, &d, sizeof d);
        return 0;
    }
    if (bytes != sizeof(float)) {
        PyErr_Format(PyExc_TypeError, "%s has %llu bytes: give a bytes object, not a float", name,
                     (unsigned long long)bytes);
        return -1;
    }
    const float f = (float)d;
    if (f - f != 0 && d - d == 0) return out_of_range(name, value, "a 32-bit float");
    memcpy(out, &f, sizeof f);
    return 0;
}

/* The bytes of any object with the buffer protocol, if there are as many. */
static int pack_bytes(PyObject *value, uint64_t bytes, const char *name, unsigned char *out) {
    char *begin;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(value, &begin, &size)) return -1;
    if ((uint64_t)size != bytes) {
        PyErr_Format(PyExc_ValueError, "%s has %llu bytes, not %zd", name, (unsigned long long)bytes, size);
        return -1;
    }
    memcpy(out, begin, bytes);
    return 0;
}

/* Any value of `bytes` bytes, which are known. */
static int pack(PyObject *value, uint64_t bytes, const char *name, unsigned char *out) {
    if (PyFloat_Check(value)) return pack_real(value, bytes, name, out);
    if (PyBytes_Check(value)) return pack_bytes(value, bytes, name, out);
    if (PyLong_Check(value)) return pack_int(value, bytes, name, out);
    if (bytes == sizeof(uint64_t)) {
        const uint64_t address = argument_address(value, name);
        if (address || !PyErr_Occurred()) {
            memcpy(out, &address, sizeof address);
            return 0;
        }
        if (!PyErr_ExceptionMatches(PyExc_TypeError) || !PyNumber_Check(value)) return -1;
        PyErr_Clear();
    }
    if (PyIndex_Check(value)) return pack_int(value, bytes, name, out);
    if (PyNumber_Check(value)) return pack_real(value, bytes, name, out);
    return wrong_type(name, "a number, an array or a bytes object", value);
}

int read_arguments(PyObject *value, handle_object *kernel, const char *name, PyObject *kept, void **out,
                   uint32_t **sizes, uint64_t *count) {
    const gpo_api *api = library();
    PyObject *given = api ? elements(value, name, "a list of arguments") : NULL;
    if (!given) return -1;
    const Py_ssize_t length = PyTuple_Size(given);
    void **pointers = kept_array(kept, (uint64_t)length, sizeof *pointers);
    uint32_t *bytes = kept_array(kept, (uint64_t)length, sizeof *bytes);
    int failed = pointers && bytes ? PyList_Append(kept, given) : -1; /* arrays among them stay */
    char element[96];
    for (Py_ssize_t i = 0; !failed && i < length; i++) {
        uint64_t size = 0;
        PyObject *argument = PyTuple_GetItem(given, i);
        PyOS_snprintf(element, sizeof element, "%s[%zd]", name, i);
        const gpo_status status = api->kernel_get_parameter(kernel->handle, (uint32_t)i, NULL, &size);
        if (status == GPO_NOT_SUPPORTED) { /* an old driver: the value's own size */
            uint64_t own;
            failed = read_value(argument, 0, element, kept, &pointers[i], &own);
            bytes[i] = (uint32_t)own;
            continue;
        }
        if (status) {
            raise_status(status);
            failed = -1;
            continue;
        }
        bytes[i] = (uint32_t)size;
        pointers[i] = kept_memory(kept, size);
        failed = pointers[i] ? pack(argument, size, element, pointers[i]) : -1;
    }
    Py_DECREF(given);
    *out = pointers;
    *sizes = bytes;
    *count = (uint64_t)length;
    return failed;
}

uint64_t parameter_bytes(void *graph_template, const char *name) {
    const gpo_api *api = library();
    uint64_t bytes = 0;
    if (!api || !graph_template || !name || api->template_get_parameter(graph_template, name, NULL, &bytes)) {
        PyErr_Clear();
        return 0;
    }
    return bytes;
}

/* (type, number): a number of a named type. */
static int read_typed(PyObject *value, uint64_t bytes, const char *name, PyObject *kept, void **out, uint64_t *size) {
    char format;
    uint32_t element;
    PyObject *number = PyTuple_GetItem(value, 1);
    if (element_of(PyTuple_GetItem(value, 0), &format, &element)) return -1;
    if (bytes && bytes != element) {
        PyErr_Format(PyExc_ValueError, "%s has %llu bytes, not %u", name, (unsigned long long)bytes, (unsigned)element);
        return -1;
    }
    *size = element;
    *out = kept_memory(kept, element);
    if (!*out) return -1;
    return format == 'f' || format == 'd' ? pack_real(number, element, name, *out) : pack(number, element, name, *out);
}

int read_value(PyObject *value, uint64_t bytes, const char *name, PyObject *kept, void **out, uint64_t *size) {
    if (PyTuple_Check(value) && PyTuple_Size(value) == 2) return read_typed(value, bytes, name, kept, out, size);
    if (!bytes) {
        if (PyBytes_Check(value))
            bytes = (uint64_t)PyBytes_Size(value);
        else if (PyNumber_Check(value) && !PyObject_TypeCheck(value, memory_type)) {
            PyErr_Format(PyExc_TypeError,
                         "%s: the size of %R is not known: give a bytes object, or its type and the number as "
                         "(\"u32\", 5)",
                         name, value);
            return -1;
        } else
            bytes = sizeof(uint64_t); /* an address */
    }
    *size = bytes;
    *out = kept_memory(kept, bytes);
    if (!*out || PyList_Append(kept, value)) /* an array stays as long as the rest */
        return -1;
    return pack(value, bytes, name, *out);
}
