/* arguments.c: Python's arguments as words for C. */
#include "call.h"

#include <string.h>

int has_flag(PyObject *object, const char *name) {
    PyObject *value = NULL;
    if (object) find_attribute(object, name, &value);
    Py_XDECREF(value);
    return value == Py_True;
}

int set_flag(PyObject *object, const char *name) { return PyObject_SetAttrString(object, name, Py_True); }

/* --- arguments --- */

/* Names of parameters, interned: the names in a program's calls are the same objects. */
static PyObject *parameter_names[FUNCTION_COUNT][MOST];
static places all_places[FUNCTION_COUNT];

const places *places_of(const call *c) { return &all_places[c->entry - function_entries]; }

static int8_t place_of(const function_entry *entry, const char *name) {
    for (int i = 0; i < entry->count; i++)
        if (!strcmp(entry->parameters[i].name, name)) return (int8_t)i;
    return -1;
}

int add_names(void) {
    for (int f = 0; f < FUNCTION_COUNT; f++) {
        const function_entry *entry = &function_entries[f];
        all_places[f] = (places){.bytes = place_of(entry, "bytes"),
                                 .source = place_of(entry, "source"),
                                 .destination = place_of(entry, "destination"),
                                 .count = place_of(entry, "count"),
                                 .element_bytes = place_of(entry, "element_bytes"),
                                 .capacity = place_of(entry, "capacity"),
                                 .wait_ns = place_of(entry, "wait_ns")};
        for (int i = 0; i < entry->count; i++) {
            PyObject **name = &parameter_names[f][i];
            if (!*name && !(*name = PyUnicode_InternFromString(entry->parameters[i].name))) return -1;
        }
    }
    return 0;
}

/* The place of the parameter that a keyword names; `count`: there is none. */
static int find_keyword(const function_entry *entry, PyObject *keyword) {
    PyObject *const *names = parameter_names[entry - function_entries];
    for (int i = 0; i < entry->count; i++)
        if (names[i] == keyword && !(entry->parameters[i].flags & ENTRY_HIDDEN)) return i;
    for (int i = 0; i < entry->count; i++) /* a str that isn't interned */
        if (!(entry->parameters[i].flags & ENTRY_HIDDEN) &&
            !PyUnicode_CompareWithASCIIString(keyword, entry->parameters[i].name))
            return i;
    return entry->count;
}

static int assign_names(call *c, PyObject *const *args, PyObject *names) {
    const Py_ssize_t count = names ? PyTuple_Size(names) : 0;
    for (Py_ssize_t n = 0; n < count; n++) {
        PyObject *name = PyTuple_GetItem(names, n);
        const int i = find_keyword(c->entry, name);
        if (i == c->entry->count) {
            PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", c->entry->name, name);
            return -1;
        }
        if (c->given[i]) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", c->entry->name, name);
            return -1;
        }
        c->given[i] = args[n];
    }
    return 0;
}

int assign(call *c, PyObject *const *args, Py_ssize_t positional, PyObject *names) {
    Py_ssize_t at = 0;
    for (int i = 0; i < c->entry->count && at < positional; i++)
        if (!(c->entry->parameters[i].flags & ENTRY_HIDDEN)) c->given[i] = args[at++];
    if (at < positional) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zd arguments (%zd given)", c->entry->name, at, positional);
        return -1;
    }
    if (assign_names(c, args + positional, names)) return -1;
    for (int i = 0; i < c->entry->count; i++)
        if (!c->given[i] && !(c->entry->parameters[i].flags & (ENTRY_HIDDEN | ENTRY_OPTIONAL))) {
            PyErr_Format(PyExc_TypeError, "%s() missing required argument: '%s'", c->entry->name,
                         c->entry->parameters[i].name);
            return -1;
        }
    return 0;
}

/* --- inputs --- */

static int read_handle(call *c, const parameter_entry *parameter, PyObject *value, word *out) {
    if (!value || (value == Py_None && (parameter->flags & ENTRY_NULLABLE))) return 0;
    handle_object *object = check_handle(value, parameter->id, parameter->name);
    if (!object) return -1;
    out->p = object->handle;
    if (!c->first) c->first = object;
    if (object->kind == CLASS_STREAM && !c->stream) c->stream = object;
    if (object->kind == CLASS_EXECUTOR) c->executor = object;
    if (object->kind == CLASS_KERNEL) c->reading.kernel = object;
    handle_object *template = object->kind == CLASS_TEMPLATE ? object
                              : object->kind == CLASS_GRAPH  ? ancestor(object, CLASS_TEMPLATE)
                                                             : NULL;
    if (template && !c->reading.graph_template) c->reading.graph_template = template->handle;
    return 0;
}

static int refuse_function(const char *name) {
    if (PyErr_Occurred()) return -1; /* of has_flag() */
    PyErr_Format(
        PyExc_TypeError,
        "%s: a function of Python's needs an executor with the flag EXECUTOR_CALLER, whose callbacks a thread of the "
        "program's runs (run(), poll()); no thread of the library's or of the driver's runs Python. "
        "The address of a function of C's (an int) is accepted",
        name);
    return -1;
}

static int read_function(call *c, const parameter_entry *parameter, PyObject *value, word *out) {
    word *user = parameter->user >= 0 ? &c->words[parameter->user] : NULL;
    uint64_t number = 0;
    if (!PyCallable_Check(value)) {
        PyObject *address = value;
        if (PyTuple_Check(value) && PyTuple_Size(value) == 2) {
            if (read_number(PyTuple_GetItem(value, 1), KIND_U64, "user", &user->u)) return -1;
            address = PyTuple_GetItem(value, 0);
        }
        if (!PyLong_Check(address))
            return wrong_type(parameter->name, "a function, or the address of a function of C's", value);
        if (read_number(address, KIND_U64, parameter->name, &number)) return -1;
        memcpy(&out->f, &number, sizeof out->f);
        return 0;
    }
    out->f = callback_function(parameter->id, 0);
    if (!out->f || !has_flag((PyObject *)c->executor, "_caller")) return refuse_function(parameter->name);
    c->once = callback_once(value, c->reading.kept, c->executor);
    user->p = c->once;
    return c->once ? 0 : -1;
}

int note_queue_sizes(PyObject *queue, const gpo_queue_options *options) {
    PyObject *sizes = Py_BuildValue("(II)", options->task_size, options->answer_size);
    const int failed = !sizes || PyObject_SetAttrString(queue, "_sizes", sizes);
    Py_XDECREF(sizes);
    return failed ? -1 : 0;
}

int queue_sizes(call *c, uint32_t *task_size, uint32_t *answer_size) {
    PyObject *sizes = PyObject_GetAttrString((PyObject *)c->first, "_sizes");
    if (!sizes) return -1;
    const int read = PyArg_ParseTuple(sizes, "II", task_size, answer_size);
    Py_DECREF(sizes);
    return read ? 0 : -1;
}

/* Tasks of a queue: their number follows from the queue's size of a task. */
static int read_tasks(call *c, int i, PyObject *value) {
    const parameter_entry *parameter = &c->entry->parameters[i];
    uint32_t task_size, answer_size;
    if (queue_sizes(c, &task_size, &answer_size) ||
        read_host(value, 0, parameter->name, c->reading.kept, &c->words[i].p, &c->extents[i]))
        return -1;
    PyObject *count = c->given[parameter->length];
    const uint64_t most = task_size ? c->extents[i] / task_size : 0;
    if (!count || count == Py_None) {
        if (task_size && c->extents[i] % task_size) {
            PyErr_Format(PyExc_ValueError, "%s has %llu bytes, which is no multiple of the %u bytes of a task",
                         parameter->name, (unsigned long long)c->extents[i], (unsigned)task_size);
            return -1;
        }
        c->words[parameter->length].u = most;
        return 0;
    }
    if (read_number(count, KIND_U64, "count", &c->words[parameter->length].u)) return -1;
    if (c->words[parameter->length].u <= most) return 0;
    PyErr_Format(PyExc_ValueError, "%s has %llu tasks, fewer than count", parameter->name, (unsigned long long)most);
    return -1;
}

static int read_value_parameter(call *c, int i, PyObject *value) {
    const parameter_entry *parameter = &c->entry->parameters[i];
    const char *name = is(c, FUNCTION_GRAPH_SET) ? c->words[1].p : NULL; /* the parameter's */
    uint64_t bytes = 0;
    if (name && c->reading.graph_template) {
        const gpo_status status = c->api->template_get_parameter(c->reading.graph_template, name, NULL, &bytes);
        if (status) {
            raise_status(status);
            return -1;
        }
    }
    return read_value(value, bytes, name ? name : parameter->name, c->reading.kept, &c->words[i].p,
                      &c->words[parameter->length].u);
}

static int read_array(call *c, int i, PyObject *value) {
    const parameter_entry *parameter = &c->entry->parameters[i];
    const char *name = parameter->name;
    PyObject *kept = c->reading.kept;
    word *out = &c->words[i], *length = &c->words[parameter->length];
    uint32_t *sizes;
    switch (parameter->kind) {
        case KIND_HANDLES: return read_handles(value, parameter->id, name, kept, &out->p, &length->u);
        case KIND_NUMBERS: return read_numbers(value, parameter->element, name, kept, &out->p, &length->u);
        case KIND_STRUCTS:
            c->words[parameter->stride].u = struct_entries[parameter->id].size;
            return read_structs(&struct_entries[parameter->id], value, name, &c->reading, &out->p, &length->u);
        default: /* KIND_ARGUMENTS */
            if (read_arguments(value, c->reading.kernel, name, kept, &out->p, &sizes, &length->u)) return -1;
            c->words[parameter->stride].p = sizes;
            return 0;
    }
}

static int read_struct_parameter(call *c, int i, PyObject *value) {
    const parameter_entry *parameter = &c->entry->parameters[i];
    const struct_entry *entry = &struct_entries[parameter->id];
    if (!value || (value == Py_None && (parameter->flags & ENTRY_NULLABLE))) return 0;
    c->words[i].p = kept_memory(c->reading.kept, entry->size);
    /* options are keyword arguments: their names stand alone in messages */
    const size_t length = strlen(entry->name);
    const int options = length > 8 && !strcmp(entry->name + length - 8, "_options");
    return c->words[i].p ? read_struct_into(entry, value, c->words[i].p, options ? NULL : parameter->name, &c->reading)
                         : -1;
}

static int read_parameter(call *c, int i) {
    const parameter_entry *parameter = &c->entry->parameters[i];
    PyObject *value = c->given[i];
    word *out = &c->words[i];
    switch (parameter->kind) {
        case KIND_HANDLE: return read_handle(c, parameter, value, out);
        case KIND_STRUCT: return read_struct_parameter(c, i, value);
        case KIND_TIMEOUT: return read_timeout(value, &out->i);
        default: break;
    }
    if (!value || (value == Py_None && (parameter->flags & (ENTRY_NULLABLE | ENTRY_OPTIONAL)))) {
        out->i = parameter->value;
        return 0;
    }
    switch (parameter->kind) {
        case KIND_TEXT: return read_text(value, parameter->name, c->reading.kept, (const char **)&out->p);
        case KIND_ADDRESS: return read_address(value, 0, parameter->name, c->reading.kept, &out->u, &c->extents[i]);
        case KIND_HOST_ADDRESS:
        case KIND_POINTER:
            return PyLong_Check(value) ? read_number(value, KIND_U64, parameter->name, &out->u)
                                       : read_host(value, 0, parameter->name, c->reading.kept, &out->p, &c->extents[i]);
        case KIND_HOST_IN:
        case KIND_HOST_OUT:
            if (read_host(value, parameter->kind == KIND_HOST_OUT, parameter->name, c->reading.kept, &out->p,
                          &c->extents[i]))
                return -1;
            c->words[parameter->length].u = c->extents[i];
            return 0;
        case KIND_HANDLES:
        case KIND_NUMBERS:
        case KIND_STRUCTS:
        case KIND_ARGUMENTS: return read_array(c, i, value);
        case KIND_TASKS: /* once `count` is read */ return 0;
        case KIND_VALUE: return read_value_parameter(c, i, value);
        case KIND_CALLBACK: return read_function(c, parameter, value, out);
        case KIND_I32:
        case KIND_STATUS: { /* C reads them from the whole word */
            int32_t number;
            if (read_number(value, parameter->kind, parameter->name, &number)) return -1;
            out->i = number;
            return 0;
        }
        default: return read_number(value, parameter->kind, parameter->name, out);
    }
}

int is_left_out(const call *c, int i) { return !c->given[i] || c->given[i] == Py_None; }

/* How many bytes are copied, if that wasn't said, and whether both sides have as many. */
static int check_copy(call *c) {
    const places *p = places_of(c);
    const int bytes = p->bytes, from = p->source, to = p->destination;
    if (bytes < 0 || from < 0 || to < 0) return 0;
    word *count = &c->words[bytes];
    if (!(c->entry->parameters[bytes].flags & ENTRY_HIDDEN) && is_left_out(c, bytes)) {
        count->u = c->extents[from] != UINT64_MAX ? c->extents[from] : c->extents[to];
        if (count->u == UINT64_MAX) {
            PyErr_Format(PyExc_TypeError, "%s() needs bytes: source and destination are addresses alone",
                         c->entry->name);
            return -1;
        }
    }
    const int side = c->extents[to] < count->u ? to : from;
    if (c->extents[side] >= count->u) return 0;
    PyErr_Format(PyExc_ValueError, "%s has %llu bytes, fewer than the %llu that are copied",
                 c->entry->parameters[side].name, (unsigned long long)c->extents[side], (unsigned long long)count->u);
    return -1;
}

/* How many elements are filled, if that wasn't said, and whether there are as many. */
static int check_fill(call *c) {
    const places *p = places_of(c);
    const int count = p->count, to = p->destination, size = p->element_bytes;
    if (count < 0 || to < 0 || size < 0) return 0;
    const uint64_t element = c->words[size].u ? c->words[size].u : 1;
    if (is_left_out(c, count)) {
        if (c->extents[to] == UINT64_MAX) {
            PyErr_Format(PyExc_TypeError, "%s() needs count: destination is an address alone", c->entry->name);
            return -1;
        }
        c->words[count].u = c->extents[to] / element;
    } else if (c->extents[to] != UINT64_MAX && c->words[count].u > c->extents[to] / element) {
        PyErr_Format(PyExc_ValueError, "destination has %llu bytes, fewer than count elements of %llu",
                     (unsigned long long)c->extents[to], (unsigned long long)element);
        return -1;
    }
    return 0;
}

/* Functions of Python's in structs: an executor has to run them that the program runs. */
static int check_functions(call *c) {
    const reading *r = &c->reading;
    PyObject *owner = r->executor ? (PyObject *)r->executor : (PyObject *)c->first;
    if (r->called && !has_flag(owner, "_caller")) return refuse_function(r->called);
    if (r->sink) {
        PyObject *bytes; /* none: the pipeline has no results */
        if (find_attribute((PyObject *)c->first, "_result_bytes", &bytes) < 0) return -1;
        if (bytes) callback_set_result(r->sink, PyLong_AsUnsignedLongLong(bytes));
        Py_XDECREF(bytes);
        if (PyErr_Occurred()) return -1;
    }
    if (!is(c, FUNCTION_BATCHER_ADD_KEY) || has_flag((PyObject *)c->first, "_caller")) return 0;
    if (PyErr_Occurred()) return -1;
    const Py_ssize_t kept = PyList_Size(r->kept); /* buckets that call Python */
    for (Py_ssize_t i = 0; i < kept; i++) {
        PyObject *item = PyList_GetItem(r->kept, i);
        for (Py_ssize_t n = 0; PyTuple_Check(item) && n < PyTuple_Size(item); n++)
            if (has_flag(PyTuple_GetItem(item, n), "_calls_python") || PyErr_Occurred())
                return refuse_function("buckets");
    }
    return 0;
}

/* The parent of the streams that functions of Python's get. */
static PyObject *callback_parent(call *c) {
    handle_object *parent = c->first ? ancestor(c->first, CLASS_DEVICE) : NULL;
    if (c->first && !parent) parent = ancestor(c->first, CLASS_RUNTIME);
    return (PyObject *)parent;
}

int read_inputs(call *c) {
    for (int i = 0; i < c->entry->count; i++) {
        const parameter_entry *parameter = &c->entry->parameters[i];
        c->extents[i] = UINT64_MAX;
        if (!(parameter->flags & ENTRY_HIDDEN) && parameter->kind < KIND_OUT_NUMBER && read_parameter(c, i)) return -1;
        if (i == 0) c->reading.callback_parent = callback_parent(c);
    }
    for (int i = 0; i < c->entry->count; i++)
        if (c->entry->parameters[i].kind == KIND_TASKS && read_tasks(c, i, c->given[i])) return -1;
    return check_copy(c) || check_fill(c) || check_functions(c) ? -1 : 0;
}
