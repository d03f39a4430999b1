/* element.c: the types of arrays' elements and of kernels' parameters, and how Python's numbers become them. An element
 * is known by its name ("f32"), by numpy's ("float32"), or by the letter of the module struct ("f"); inside the letter
 * is used. A number that a type can't hold is refused; only fractions are rounded. */
#include "gpuorch_python.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct element_type {
    char letter;
    uint8_t bytes;
    const char *name, *numpy_name;
} element_type;

static const element_type element_types[] = {
    {'B', 1, "u8", "uint8"},    {'b', 1, "i8", "int8"},     {'H', 2, "u16", "uint16"},  {'h', 2, "i16", "int16"},
    {'I', 4, "u32", "uint32"},  {'i', 4, "i32", "int32"},   {'Q', 8, "u64", "uint64"},  {'q', 8, "i64", "int64"},
    {'e', 2, "f16", "float16"}, {'f', 4, "f32", "float32"}, {'d', 8, "f64", "float64"}, {'?', 1, "bool", "bool"},
};
enum { TYPE_COUNT = sizeof element_types / sizeof *element_types };

static const element_type *find_letter(char letter) {
    if (letter == 'l') letter = sizeof(long) == 8 ? 'q' : 'i';
    if (letter == 'L') letter = sizeof(long) == 8 ? 'Q' : 'I';
    for (int i = 0; i < TYPE_COUNT; ++i)
        if (element_types[i].letter == letter) return &element_types[i];
    return NULL;
}

static const element_type *find_name(const char *name) {
    if (name[0] && !name[1]) return find_letter(name[0]);
    for (int i = 0; i < TYPE_COUNT; ++i)
        if (!strcmp(element_types[i].name, name) || !strcmp(element_types[i].numpy_name, name))
            return &element_types[i];
    return NULL;
}

const char *element_name(char format) {
    const element_type *type = find_letter(format);
    return type ? type->name : NULL;
}

uint32_t element_bytes(char format) {
    const element_type *type = find_letter(format);
    return type ? type->bytes : 0;
}

/* The name of an object that stands for a type: a str, a numpy.dtype or a class such as numpy.float32. */
static PyObject *name_of(PyObject *object) {
    if (PyUnicode_Check(object)) return Py_NewRef(object);
    PyObject *order, *name;
    if (find_attribute(object, "byteorder", &order) < 0) return NULL;
    const int swapped = order && PyUnicode_Check(order) && PyUnicode_CompareWithASCIIString(order, ">") == 0;
    Py_XDECREF(order);
    if (swapped) {
        PyErr_SetString(PyExc_ValueError, "elements have the byte order of the machine: this type has the other");
        return NULL;
    }
    if (find_attribute(object, PyType_Check(object) ? "__name__" : "name", &name) < 0) return NULL;
    if (name && PyUnicode_Check(name)) return name;
    Py_XDECREF(name);
    PyErr_Format(PyExc_TypeError, "the type of elements is a name such as \"f32\", not %R", object);
    return NULL;
}

int element_of(PyObject *object, char *format, uint32_t *bytes) {
    PyObject *name = name_of(object);
    if (!name) return -1;
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    const element_type *type = text ? find_name(text) : NULL;
    if (type) {
        *format = type->letter;
        *bytes = type->bytes;
    } else if (text) {
        PyErr_Format(
            PyExc_ValueError,
            "%R is no type of elements: u8 i8 u16 i16 u32 i32 u64 i64 f16 f32 f64 bool expected, or a letter of "
            "the module struct",
            name);
    }
    Py_DECREF(name);
    return type ? 0 : -1;
}

/* --- numbers as elements --- */

/* A half from a double, rounded to the nearest, ties to even. Returns 0 if the number is too large. */
static int half_of(double value, uint16_t *out) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double size = fabs(value);
    if (isnan(value))
        *out = sign | 0x7e00;
    else if (isinf(value))
        *out = sign | 0x7c00;
    else {
        int exponent = -13;
        if (size >= 0x1p-14) frexp(size, &exponent);
        if (exponent > 16) return 0;
        const double scaled = ldexp(size, 11 - exponent); /* 1024 to 2048, or less for the smallest numbers */
        uint32_t units = (uint32_t)scaled;
        const double rest = scaled - units;
        if (rest > 0.5 || (rest == 0.5 && (units & 1))) ++units;
        const uint32_t bits = (uint32_t)(exponent + 13) * 1024 + units; /* a carry goes to the exponent */
        if (bits >= 0x7c00) return 0;
        *out = (uint16_t)(sign | bits);
    }
    return 1;
}

static double double_of_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31) return fraction ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static int store_float(char format, PyObject *value, void *at) {
    const double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred()) {
        const int problem = PyErr_ExceptionMatches(PyExc_TypeError)       ? ELEMENT_WRONG_TYPE
                            : PyErr_ExceptionMatches(PyExc_OverflowError) ? ELEMENT_OUT_OF_RANGE
                                                                          : -1;
        if (problem > 0) PyErr_Clear();
        return problem;
    }
    if (format == 'd') {
        memcpy(at, &number, sizeof number);
        return 0;
    }
    if (format == 'e') {
        uint16_t half;
        if (!half_of(number, &half)) return ELEMENT_OUT_OF_RANGE;
        memcpy(at, &half, sizeof half);
        return 0;
    }
    const float single = (float)number;
    if (isinf(single) && !isinf(number)) return ELEMENT_OUT_OF_RANGE;
    memcpy(at, &single, sizeof single);
    return 0;
}

/* An int as 64 bits: 0, or what is wrong. `negative` says how to read them. */
static int read_integer(PyObject *value, uint64_t *bits, int *negative) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (number == -1 && PyErr_Occurred()) return -1;
    *bits = (uint64_t)number;
    *negative = number < 0;
    if (overflow == 0) return 0;
    if (overflow < 0) return ELEMENT_OUT_OF_RANGE;
    *bits = PyLong_AsUnsignedLongLong(value);
    *negative = 0;
    if (!PyErr_Occurred()) return 0;
    return forget_error(PyExc_OverflowError) < 0 ? -1 : ELEMENT_OUT_OF_RANGE;
}

static int fits(char format, uint64_t bits, int negative) {
    switch (format) {
        case 'B': return !negative && bits <= UINT8_MAX;
        case 'H': return !negative && bits <= UINT16_MAX;
        case 'I': return !negative && bits <= UINT32_MAX;
        case 'Q': return !negative;
        case '?': return bits <= 1;
        case 'b': return negative ? (int64_t)bits >= INT8_MIN : bits <= INT8_MAX;
        case 'h': return negative ? (int64_t)bits >= INT16_MIN : bits <= INT16_MAX;
        case 'i': return negative ? (int64_t)bits >= INT32_MIN : bits <= INT32_MAX;
        default: return negative || bits <= INT64_MAX;
    }
}

int store_element(char format, PyObject *value, void *at) {
    if (format == 'e' || format == 'f' || format == 'd') return store_float(format, value, at);
    uint64_t bits = 0;
    int negative = 0, problem;
    if (PyLong_Check(value)) {
        problem = read_integer(value, &bits, &negative);
    } else if (format == '?' && PyNumber_Check(value) && !PyFloat_Check(value) && !PyComplex_Check(value)) {
        /* numpy's bool has no __index__ */
        const int truth = PyObject_IsTrue(value);
        bits = truth == 1;
        problem = truth < 0 ? -1 : 0;
    } else {
        PyObject *index = PyNumber_Index(value);
        if (!index) {
            if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
            PyErr_Clear();
            return ELEMENT_WRONG_TYPE;
        }
        problem = read_integer(index, &bits, &negative);
        Py_DECREF(index);
    }
    if (problem) return problem;
    if (!fits(format, bits, negative)) return ELEMENT_OUT_OF_RANGE;
    switch (element_bytes(format)) { /* little-endian: the low bytes */
        case 1: memcpy(at, &bits, 1); break;
        case 2: memcpy(at, &bits, 2); break;
        case 4: memcpy(at, &bits, 4); break;
        default: memcpy(at, &bits, 8);
    }
    return 0;
}

int raise_element(int problem, char format, PyObject *value, const char *where) {
    if (problem < 0) return -1;
    const int is_float = strchr("efd", format) != NULL;
    if (problem == ELEMENT_OUT_OF_RANGE)
        PyErr_Format(PyExc_OverflowError, "%s: %R is out of range for %s", where, value, element_name(format));
    else
        PyErr_Format(PyExc_TypeError, "%s is %s: %s expected, not %R", where, element_name(format),
                     is_float ? "a number" : "an int", (PyObject *)Py_TYPE(value));
    return -1;
}

#define LOAD(type, make)                      \
    {                                         \
        type element;                         \
        memcpy(&element, at, sizeof element); \
        return make(element);                 \
    }
PyObject *load_element(char format, const void *at) {
    switch (format) {
        case 'B': LOAD(uint8_t, PyLong_FromUnsignedLong)
        case 'b': LOAD(int8_t, PyLong_FromLong)
        case 'H': LOAD(uint16_t, PyLong_FromUnsignedLong)
        case 'h': LOAD(int16_t, PyLong_FromLong)
        case 'I': LOAD(uint32_t, PyLong_FromUnsignedLong)
        case 'i': LOAD(int32_t, PyLong_FromLong)
        case 'Q': LOAD(uint64_t, PyLong_FromUnsignedLongLong)
        case 'q': LOAD(int64_t, PyLong_FromLongLong)
        case 'f': LOAD(float, PyFloat_FromDouble)
        case 'd': LOAD(double, PyFloat_FromDouble)
        case '?': LOAD(uint8_t, PyBool_FromLong)
        default: break;
    }
    uint16_t half;
    memcpy(&half, at, sizeof half);
    return PyFloat_FromDouble(double_of_half(half));
}
