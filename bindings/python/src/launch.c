/* launch.c: launches of kernels.
 *
 * A *signature* holds the types of a kernel's parameters, "u32 f32 ptr bytes:12". A *plan* is a kernel with its shape
 * and its stream. A launch, kernel[grid, block, stream], is a builtin function that is bound to a plan. A call packs
 * the arguments into a block on the stack, by exact types first, and makes one call of the library. A call keeps
 * nothing, so threads may use one plan at once.
 *
 * Arrays of this module note the stream. The memory of other libraries is the caller's to keep until the kernel has
 * run. */
#include "gpuorch_python.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    POINTER = 'P',
    STRUCT = 'S',
    QUEUE = 'R',
    MOST_BYTES = 32764,    /* of a kernel's parameters, from CUDA 12.1 on */
    STACK_PARAMETERS = 32, /* more of them, or more bytes, are packed on the heap */
    STACK_BYTES = 512,
};

typedef struct parameter {
    char kind;       /* a letter of element.c, or one of the above */
    uint32_t offset; /* in the block, a multiple of 8 */
} parameter;

typedef struct signature_object {
    OBJECT_HEAD uint32_t count, bytes;
    parameter *parameters;
    uint32_t *sizes;
    PyObject *text; /* "u32 f32 ptr" */
    PyObject *kernel_name;
    PyObject *names; /* a tuple of the parameters' names, or None */
} signature_object;

typedef struct plan_object {
    OBJECT_HEAD handle_object *kernel, *stream;
    handle_object *runtime; /* the stream's, or NULL */
    signature_object *signature;
    gpo_launch launch;
    char label[64];
    int software; /* the device is the software GPU */
} plan_object;

static PyTypeObject *signature_type, *plan_type;

/* --- signatures --- */

static const char separators[] = " ,\t\n";

static int read_type(const char *word, size_t length, char *kind, uint32_t *size) {
    static const struct {
        const char *name;
        char kind;
        uint32_t size;
    } others[] = {{"ptr", POINTER, 8}, {"range", QUEUE, 64}, {"ring", QUEUE, 96}, {"host_ring", QUEUE, 192}};
    char name[16];
    if (length >= sizeof name) return 0;
    memcpy(name, word, length);
    name[length] = 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
        if (strcmp(others[i].name, name) == 0) {
            *kind = others[i].kind;
            *size = others[i].size;
            return 1;
        }
    for (const char *letter = "BbHhIiQqefd?"; *letter; ++letter)
        if (strcmp(element_name(*letter), name) == 0) {
            *kind = *letter;
            *size = element_bytes(*letter);
            return 1;
        }
    if (length < 7 || length > 11 || memcmp(name, "bytes:", 6) != 0) return 0;
    char *end;
    const unsigned long bytes = strtoul(name + 6, &end, 10);
    *kind = STRUCT;
    *size = (uint32_t)bytes;
    return *end == 0 && name[6] >= '0' && name[6] <= '9' && bytes >= 1 && bytes <= MOST_BYTES;
}

/* Reads the words of the text into the signature. */
static int read_types(signature_object *s) {
    const char *text = PyUnicode_AsUTF8AndSize(s->text, NULL);
    if (!text) return -1;
    uint32_t words = 0;
    for (const char *at = text; *(at += strspn(at, separators)); at += strcspn(at, separators)) ++words;
    s->parameters = calloc(words + 1, sizeof *s->parameters);
    s->sizes = calloc(words + 1, sizeof *s->sizes);
    if (!s->parameters || !s->sizes) {
        PyErr_NoMemory();
        return -1;
    }
    for (const char *at = text; *(at += strspn(at, separators));) {
        const size_t length = strcspn(at, separators);
        parameter *p = &s->parameters[s->count];
        if (!read_type(at, length, &p->kind, &s->sizes[s->count])) {
            PyObject *word = PyUnicode_FromStringAndSize(at, (Py_ssize_t)length);
            if (word)
                PyErr_Format(PyExc_ValueError,
                             "%R is no type of a parameter: u8 i8 u16 i16 u32 i32 u64 i64 f16 f32 f64 bool ptr bytes:N "
                             "range ring host_ring expected",
                             word);
            Py_XDECREF(word);
            return -1;
        }
        p->offset = s->bytes;
        s->bytes += (s->sizes[s->count++] + 7) & ~7u;
        if (s->bytes > 4 * MOST_BYTES) {
            PyErr_SetString(PyExc_ValueError, "the parameters have more bytes than a kernel can have");
            return -1;
        }
        at += length;
    }
    return 0;
}

static int count_differs(const signature_object *s, uint32_t count) {
    PyErr_Format(PyExc_ValueError, "kernel `%U` has %u parameters, the signature \"%U\" has %u", s->kernel_name, count,
                 s->text, s->count);
    return -1;
}

/* Compares the signature with what the driver says of the kernel, if it can tell. */
static int check_signature(const gpo_api *api, const signature_object *s, gpo_kernel_t kernel) {
    gpo_kernel_attributes attributes = {.struct_size = sizeof attributes};
    gpo_status status = api->kernel_get_attributes(kernel, &attributes);
    if (status == GPO_SUCCESS && attributes.parameter_count && attributes.parameter_count != s->count)
        return count_differs(s, attributes.parameter_count);
    for (uint32_t i = 0; i < s->count && status == GPO_SUCCESS; ++i) {
        uint64_t bytes = 0;
        status = api->kernel_get_parameter(kernel, i, NULL, &bytes);
        if (status == GPO_NOT_SUPPORTED) return 0;
        if (status == GPO_INVALID_ARGUMENT) return count_differs(s, i);
        if (status != GPO_SUCCESS || bytes == s->sizes[i]) continue;
        PyErr_Format(PyExc_ValueError, "parameter %u of kernel `%U` has %llu bytes, and %u by the signature \"%U\"",
                     i + 1, s->kernel_name, (unsigned long long)bytes, s->sizes[i], s->text);
        return -1;
    }
    if (status == GPO_SUCCESS) return 0;
    raise_status(status);
    return -1;
}

/* _signature(kernel, name of the kernel, text, names or None) */
static PyObject *make_signature(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *kernel_object, *name, *text, *names;
    const gpo_api *api = library();
    if (!api || !PyArg_ParseTuple(arguments, "OUUO", &kernel_object, &name, &text, &names)) return NULL;
    handle_object *kernel = check_handle(kernel_object, CLASS_KERNEL, "self");
    signature_object *s = kernel ? (signature_object *)PyType_GenericAlloc(signature_type, 0) : NULL;
    if (!s) return NULL;
    s->text = Py_NewRef(text);
    s->kernel_name = Py_NewRef(name);
    s->names = Py_NewRef(names);
    if (read_types(s) < 0 || check_signature(api, s, kernel->handle) < 0) {
        Py_DECREF((PyObject *)s);
        return NULL;
    }
    return (PyObject *)s;
}

static void signature_dealloc(PyObject *self) {
    signature_object *s = (signature_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    free(s->parameters);
    free(s->sizes);
    Py_XDECREF(s->text);
    Py_XDECREF(s->kernel_name);
    Py_XDECREF(s->names);
    PyObject_Free(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *signature_str(PyObject *self) { return Py_NewRef(((signature_object *)self)->text); }

static PyType_Slot signature_slots[] = {{Py_tp_doc, "The types of a kernel's parameters."},
                                        {Py_tp_dealloc, signature_dealloc},
                                        {Py_tp_str, signature_str},
                                        {0, NULL}};
static PyType_Spec signature_spec = {"_gpuorch.Signature", sizeof(signature_object), 0,
                                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, signature_slots};

/* --- arguments --- */

enum { WHERE = 200 };

/* "argument 2 (a) of kernel `saxpy`" */
static const char *where(const signature_object *s, uint32_t index, char text[WHERE]) {
    PyObject *name = PyTuple_Check(s->names) ? PyTuple_GetItem(s->names, index) : NULL;
    const char *kernel = PyUnicode_AsUTF8AndSize(s->kernel_name, NULL);
    const char *called = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    PyErr_Clear(); /* names that there is no memory for are left out */
    snprintf(text, WHERE, "argument %u%s%.60s%s of kernel `%.80s`", index + 1, called ? " (" : "", called ? called : "",
             called ? ")" : "", kernel ? kernel : "?");
    return text;
}

static int store_struct(const signature_object *s, uint32_t index, PyObject *value, char *at) {
    char text[WHERE];
    Py_buffer view;
    if (PyObject_GetBuffer(value, &view, PyBUF_SIMPLE) < 0) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s is bytes:%u: an object with the buffer protocol expected, not %R",
                         where(s, index, text), s->sizes[index], (PyObject *)Py_TYPE(value));
        return -1;
    }
    const Py_ssize_t given = view.len;
    if (given == (Py_ssize_t)s->sizes[index]) memcpy(at, view.buf, (size_t)given);
    PyBuffer_Release(&view);
    if (given == (Py_ssize_t)s->sizes[index]) return 0;
    PyErr_Format(PyExc_ValueError, "%s has %u bytes, not %zd", where(s, index, text), s->sizes[index], given);
    return -1;
}

static int store_queue(const signature_object *s, uint32_t index, PyObject *value, char *at) {
    char text[WHERE];
    size_t needed = 0;
    const gpo_api *api = library();
    handle_object *queue = api ? check_handle(value, CLASS_QUEUE, where(s, index, text)) : NULL;
    if (!queue) return -1;
    const gpo_status status = api->queue_get_device_handle(queue->handle, at, s->sizes[index], &needed);
    if (status != GPO_SUCCESS && status != GPO_BUFFER_TOO_SMALL) {
        raise_status(status);
        return -1;
    }
    if (needed == s->sizes[index]) return 0;
    PyErr_Format(PyExc_TypeError, "%s takes a queue of another kind", where(s, index, text));
    return -1;
}

/* All arguments that no fast path has taken. */
static int store_slowly(const plan_object *plan, uint32_t index, PyObject *value, char *at) {
    const signature_object *s = plan->signature;
    const char kind = s->parameters[index].kind;
    char text[WHERE];
    if (kind == STRUCT) return store_struct(s, index, value, at);
    if (kind == QUEUE) return store_queue(s, index, value, at);
    if (kind != POINTER) {
        const int problem = store_element(kind, value, at);
        return problem <= 0 ? problem : raise_element(problem, kind, value, where(s, index, text));
    }
    if (PyObject_TypeCheck(value, memory_type) && note_use((memory_object *)value, plan->stream) < 0) return -1;
    uint64_t address = 0;
    if (value != Py_None && !find_address(value, plan->software, &address)) {
        address = argument_address_on(value, plan->software, "the argument");
        if (address == 0 && PyErr_Occurred()) { /* again, for words that say which argument it is */
            if (PyErr_ExceptionMatches(PyExc_MemoryError)) return -1;
            PyErr_Clear();
            address = argument_address_on(value, plan->software, where(s, index, text));
            if (address == 0 && PyErr_Occurred()) return -1;
        }
    }
    memcpy(at, &address, sizeof address);
    return 0;
}

static inline int store_integer(char kind, PyObject *value, char *at) {
    int overflow;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) return 0;
    switch (kind) {
        case 'I':
            if (number < 0 || number > UINT32_MAX) return 0;
            memcpy(at, &(uint32_t){(uint32_t)number}, 4);
            return 1;
        case 'i':
            if (number < INT32_MIN || number > INT32_MAX) return 0;
            memcpy(at, &(int32_t){(int32_t)number}, 4);
            return 1;
        case 'Q':
            if (number < 0) return 0;
            break;
        case 'q': break;
        default: return 0;
    }
    memcpy(at, &number, 8);
    return 1;
}

static inline int store_address(PyObject *value, char *at) {
    const uint64_t address = PyLong_AsUnsignedLongLong(value);
    if (address == UINT64_MAX && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    memcpy(at, &address, sizeof address);
    return 1;
}

/* Stores a value of exactly the expected type. 0: the type is another. */
static inline int store_fast(const plan_object *plan, char kind, PyObject *value, char *at) {
    if (kind == POINTER) {
        if (PyLong_CheckExact(value)) return store_address(value, at);
        if (!PyObject_TypeCheck(value, memory_type)) return 0;
        memory_object *array = (memory_object *)value;
        const memory_object *root = root_of(array);
        if (!root->address || newest_user(root) != plan->stream || root->pageable || root->in_template) return 0;
        memcpy(at, &array->address, 8);
        return 1;
    }
    if (PyLong_CheckExact(value)) return store_integer(kind, value, at);
    if (!PyFloat_CheckExact(value)) return 0;
    const double number = PyFloat_AsDouble(value);
    if (kind == 'd') {
        memcpy(at, &number, 8);
        return 1;
    }
    const float single = (float)number;
    if (kind != 'f' || isinf(single)) return 0;
    memcpy(at, &single, 4);
    return 1;
}

/* --- launches --- */

/* The template whose memory an argument is, or NULL. */
static handle_object *template_of(const parameter *p, PyObject *value) {
    if (p->kind != POINTER || !PyObject_TypeCheck(value, memory_type)) return NULL;
    const memory_object *root = root_of((memory_object *)value);
    return root->in_template ? (handle_object *)root->owner : NULL;
}

static void leave_templates(const signature_object *s, PyObject *const *given, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        handle_object *owner = template_of(&s->parameters[i], given[i]);
        if (owner) leave_template(owner);
    }
}

static int enter_templates(const signature_object *s, PyObject *const *given, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
        handle_object *owner = template_of(&s->parameters[i], given[i]);
        if (!owner || enter_template(owner) == 0) continue;
        leave_templates(s, given, i);
        return -1;
    }
    return 0;
}

/* Another thread may have noted another stream since, and have seen this one idle. */
static int note_again(const plan_object *plan, PyObject *const *given) {
    const signature_object *s = plan->signature;
    for (uint32_t i = 0; i < s->count; ++i) {
        if (s->parameters[i].kind != POINTER || !PyObject_TypeCheck(given[i], memory_type)) continue;
        memory_object *array = (memory_object *)given[i];
        if (newest_user(root_of(array)) != plan->stream && note_use(array, plan->stream) < 0) return -1;
    }
    return 0;
}

static PyObject *launch_with(const plan_object *plan, PyObject *const *given, char *values, const void **pointers) {
    const signature_object *s = plan->signature;
    const gpo_api *api = open_library();
    int has_templates = 0;
    for (uint32_t i = 0; i < s->count; ++i) {
        const parameter *p = &s->parameters[i];
        char *at = values + p->offset;
        pointers[i] = at;
        if (store_fast(plan, p->kind, given[i], at)) continue;
        if (store_slowly(plan, i, given[i], at) < 0) return NULL;
        has_templates |= template_of(p, given[i]) != NULL;
    }
    gpo_stream_t stream = plan->stream->handle;
    gpo_kernel_t kernel = plan->kernel->handle;
    if (!stream || !kernel) return PyErr_Format(PyExc_ValueError, "%s is closed", stream ? "kernel" : "stream");
    /* A shutdown closes arenas before it waits for calls of the stream: the kernel would run with freed memory. */
    if (has_templates && enter_templates(s, given, s->count) < 0) return NULL;
    if (plan->runtime && enter_runtime(plan->runtime) < 0) {
        if (has_templates) leave_templates(s, given, s->count);
        return NULL;
    }
    gpo_status status;
    Py_BEGIN_ALLOW_THREADS /* the driver blocks when its queue is full */
        status = api->stream_launch_kernel(stream, kernel, &plan->launch, pointers, s->sizes, s->count);
    if (plan->runtime) leave_runtime(plan->runtime);
    Py_END_ALLOW_THREADS
    if (has_templates) leave_templates(s, given, s->count);
    if (status != GPO_SUCCESS) return raise_status(status);
    return note_again(plan, given) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *launch_large(const plan_object *plan, PyObject *const *given) {
    const signature_object *s = plan->signature;
    const void **pointers = malloc(s->count * sizeof *pointers);
    char *values = malloc(s->bytes);
    PyObject *result = pointers && values ? launch_with(plan, given, values, pointers) : PyErr_NoMemory();
    free(values);
    free(pointers);
    return result;
}

/* The builtin function of a launch. The plan is its self. */
static PyObject *launch(PyObject *self, PyObject *const *given, Py_ssize_t count) {
    const plan_object *plan = (const plan_object *)self;
    const signature_object *s = plan->signature;
    if (!s || count != (Py_ssize_t)s->count) {
        if (!s) return PyErr_Format(PyExc_ValueError, "the plan is collected");
        return PyErr_Format(PyExc_TypeError, "kernel `%U` takes %u arguments (%U), got %zd", s->kernel_name, s->count,
                            s->text, count);
    }
    if (s->count > STACK_PARAMETERS || s->bytes > STACK_BYTES) return launch_large(plan, given);
    _Alignas(16) char values[STACK_BYTES];
    const void *pointers[STACK_PARAMETERS];
    return launch_with(plan, given, values, pointers);
}

/* --- plans --- */

static int read_word(PyObject *value, const char *name, uint32_t *out) {
    const int problem = store_element('I', value, out);
    return problem ? raise_element(problem, 'I', value, name) : 0;
}

/* An int, or one to three of them. */
static int read_shape(PyObject *value, const char *name, uint32_t out[3]) {
    if (!PyTuple_Check(value) && !PyList_Check(value)) return read_word(value, name, out);
    const Py_ssize_t count = PySequence_Size(value);
    if (count < 1 || count > 3) {
        PyErr_Format(PyExc_ValueError, "%s: an int or a tuple of one to three ints expected, not %R", name, value);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject *one = PySequence_GetItem(value, i);
        const int result = one ? read_word(one, name, &out[i]) : -1;
        Py_XDECREF(one);
        if (result < 0) return -1;
    }
    return 0;
}

typedef struct shape_arguments {
    PyObject *grid, *block, *cluster, *priority, *dynamic_shared_bytes, *flags, *label;
} shape_arguments;

static int read_launch(const shape_arguments *a, plan_object *plan) {
    gpo_launch *l = &plan->launch;
    l->struct_size = sizeof *l;
    if (read_shape(a->grid, "grid", l->grid) < 0 || read_shape(a->block, "block", l->block) < 0 ||
        (a->cluster != Py_None && read_shape(a->cluster, "cluster", l->cluster) < 0) ||
        read_word(a->flags, "flags", &l->flags) < 0)
        return -1;
    int problem = store_element('Q', a->dynamic_shared_bytes, &l->dynamic_shared_bytes);
    if (problem) return raise_element(problem, 'Q', a->dynamic_shared_bytes, "dynamic_shared_bytes");
    if (a->priority != Py_None) {
        problem = store_element('i', a->priority, &l->priority);
        if (problem) return raise_element(problem, 'i', a->priority, "priority");
        l->flags |= GPO_LAUNCH_PRIORITY;
    }
    if (a->label == Py_None) return 0;
    const char *label = PyUnicode_AsUTF8AndSize(a->label, NULL);
    if (!label) return -1;
    snprintf(plan->label, sizeof plan->label, "%s", label);
    l->label = plan->label;
    return 0;
}

/* _plan(kernel, signature, grid, block, stream, cluster, priority, dynamic_shared_bytes, flags, label) */
static PyObject *make_plan(PyObject *module, PyObject *arguments) {
    static PyMethodDef method = {
        "launch", (PyCFunction)(void (*)(void))launch, METH_FASTCALL,
        "Launches the kernel with these arguments, which are copied before the call returns. An array of this "
        "package's\n"
        "may be freed or collected at once: its memory is freed behind the kernel. Memory of other libraries (torch, "
        "CuPy,\n"
        "numpy) has to exist until the kernel has run, and their streams have to be ordered with this one.\n\n"
        "TypeError, OverflowError: an argument isn't what the signature says. gpuorch.Error: the library refuses."};
    (void)module;
    PyObject *kernel_object, *signature, *stream_object;
    shape_arguments a;
    if (!PyArg_ParseTuple(arguments, "OO!OOOOOOOO", &kernel_object, signature_type, &signature, &a.grid, &a.block,
                          &stream_object, &a.cluster, &a.priority, &a.dynamic_shared_bytes, &a.flags, &a.label))
        return NULL;
    if (!library()) return NULL;
    handle_object *kernel = check_handle(kernel_object, CLASS_KERNEL, "self");
    handle_object *stream = kernel ? check_handle(stream_object, CLASS_STREAM, "stream") : NULL;
    handle_object *device = stream ? device_of(kernel_object) : NULL;
    plan_object *plan = stream ? (plan_object *)PyType_GenericAlloc(plan_type, 0) : NULL;
    if (!plan) return NULL;
    settle_memory();
    plan->kernel = (handle_object *)Py_NewRef(kernel_object);
    plan->stream = (handle_object *)Py_NewRef(stream_object);
    plan->runtime = (handle_object *)Py_XNewRef((PyObject *)ancestor(stream, CLASS_RUNTIME));
    plan->signature = (signature_object *)Py_NewRef(signature);
    plan->software = device ? is_software(device) : 0;
    PyObject *bound =
        plan->software >= 0 && read_launch(&a, plan) == 0 ? PyCFunction_NewEx(&method, (PyObject *)plan, NULL) : NULL;
    Py_DECREF((PyObject *)plan);
    return bound;
}

static int plan_traverse(PyObject *self, visitproc visit, void *arg) {
    plan_object *plan = (plan_object *)self;
    Py_VISIT((PyObject *)Py_TYPE(self));
    Py_VISIT((PyObject *)plan->kernel);
    Py_VISIT((PyObject *)plan->stream);
    Py_VISIT((PyObject *)plan->runtime);
    return 0;
}

static int plan_clear(PyObject *self) {
    plan_object *plan = (plan_object *)self;
    Py_CLEAR(plan->signature); /* says that the plan can't be used any more */
    Py_CLEAR(plan->kernel);
    Py_CLEAR(plan->stream);
    Py_CLEAR(plan->runtime);
    return 0;
}

static void plan_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    plan_clear(self);
    PyObject_GC_Del(self);
    Py_DECREF((PyObject *)type);
}

static PyObject *three(const uint32_t numbers[3]) {
    return Py_BuildValue("(III)", numbers[0], numbers[1] ? numbers[1] : 1, numbers[2] ? numbers[2] : 1);
}

static PyObject *object_or_none(void *object) { return Py_NewRef(object ? (PyObject *)object : Py_None); }

static PyObject *get_plan(PyObject *self, void *which) {
    const plan_object *plan = (const plan_object *)self;
    switch (*(const char *)which) {
        case 'k': return object_or_none(plan->kernel);
        case 's': return object_or_none(plan->stream);
        case 'S': return object_or_none(plan->signature);
        case 'g': return three(plan->launch.grid);
        default: return three(plan->launch.block);
    }
}

static PyGetSetDef plan_attributes[] = {{"kernel", get_plan, NULL, "The kernel.", "k"},
                                        {"stream", get_plan, NULL, "The stream.", "s"},
                                        {"signature", get_plan, NULL, "The types of the parameters.", "S"},
                                        {"grid", get_plan, NULL, "How many blocks: a tuple of three ints.", "g"},
                                        {"block", get_plan, NULL, "How many threads a block has: three ints.", "b"},
                                        {NULL, NULL, NULL, NULL, NULL}};
static PyType_Slot plan_slots[] = {{Py_tp_doc, "A kernel with its shape and its stream: __self__ of what launches it."},
                                   {Py_tp_dealloc, plan_dealloc},
                                   {Py_tp_traverse, plan_traverse},
                                   {Py_tp_clear, plan_clear},
                                   {Py_tp_getset, plan_attributes},
                                   {0, NULL}};
static PyType_Spec plan_spec = {"_gpuorch.Plan", sizeof(plan_object), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                plan_slots};

static PyMethodDef functions[] = {{"_signature", make_signature, METH_VARARGS, NULL},
                                  {"_plan", make_plan, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};

int add_launch(PyObject *module) {
    signature_type = (PyTypeObject *)PyType_FromSpec(&signature_spec);
    plan_type = signature_type ? (PyTypeObject *)PyType_FromSpec(&plan_spec) : NULL;
    return plan_type ? PyModule_AddFunctions(module, functions) : -1;
}
