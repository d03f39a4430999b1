/* keeping.c: what has to stay behind a call: memory until work on a stream is done, objects as long as others. */
#include "call.h"

#include <string.h>

/* Whether an object may hold memory or a handle. */
static int holds(PyObject *item) {
    if (PyTuple_Check(item)) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(item); i++)
            if (holds(PyTuple_GetItem(item, i))) return 1;
        return 0;
    }
    return !(PyBytes_Check(item) || PyUnicode_Check(item) || PyDict_Check(item) || PyLong_Check(item) ||
             PyFloat_Check(item));
}

PyObject *lasting(PyObject *kept, int *failed) {
    PyObject *list = NULL;
    const Py_ssize_t count = PyList_Size(kept);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(kept, i);
        if (!holds(item)) continue;
        if (!list) list = PyList_New(0);
        if (!list || PyList_Append(list, item)) {
            *failed = 1;
            break;
        }
    }
    return list;
}

/* Whether an array frees its memory in the order of streams. Memory of a template, and of others, doesn't. */
static int frees_in_order(const memory_object *array) {
    if (!array->owner || !PyObject_TypeCheck(array->owner, handle_type)) return 0;
    const enum class_id kind = ((handle_object *)array->owner)->kind;
    return kind == CLASS_ARENA || kind == CLASS_POOL || kind == CLASS_DEVICE;
}

/* Arrays note the stream, and free their memory behind its work; all else is kept until the work is done. */
static int keep_for_stream(handle_object *stream, PyObject *things) {
    if (!runs_in_order(stream)) return stream_keep(stream, things);
    PyObject *rest = NULL;
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < PyList_Size(things); i++) {
        PyObject *item = PyList_GetItem(things, i);
        memory_object *array = array_of_keeper(item);
        if (array && frees_in_order(array)) {
            failed = note_use(array, stream);
            continue;
        }
        if (!rest) rest = PyList_New(0);
        failed = !rest || PyList_Append(rest, item);
    }
    if (!failed && rest) failed = stream_keep(stream, rest);
    Py_XDECREF(rest);
    return failed;
}

static int keep_for_streams(call *c, PyObject *things) {
    if (c->stream) return keep_for_stream(c->stream, things);
    const Py_ssize_t count = PyList_Size(c->reading.kept); /* each rank of a collective has a stream */
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(c->reading.kept, i);
        if (PyObject_TypeCheck(item, handle_type) && ((handle_object *)item)->kind == CLASS_STREAM &&
            keep_for_stream((handle_object *)item, things))
            return -1;
    }
    return 0;
}

/* An attribute of an object that is a dict, made if there is none. */
static PyObject *dict_of(PyObject *object, const char *name) {
    PyObject *dict;
    if (find_attribute(object, name, &dict)) return dict;
    dict = PyDict_New();
    if (dict && PyObject_SetAttrString(object, name, dict)) Py_CLEAR(dict);
    return dict;
}

/* Keeps things as long as an object has a value under a name: a graph's parameter, registered memory. */
static int keep_by_name(call *c, const char *attribute, PyObject *name, PyObject *things) {
    int failed;
    BEGIN_LOCKED(c->first)
    PyObject *dict = name ? dict_of((PyObject *)c->first, attribute) : NULL;
    failed = !dict;
    if (!failed && things)
        failed = PyDict_SetItem(dict, name, things);
    else if (!failed && (failed = PyDict_Contains(dict, name)) > 0)
        failed = PyDict_DelItem(dict, name);
    Py_XDECREF(dict);
    END_LOCKED()
    return failed ? -1 : 0;
}

/* The values that a graph was given stay while its launch runs. */
static int keep_values(call *c) {
    PyObject *values;
    const int found = find_attribute((PyObject *)c->first, "_values", &values);
    if (found <= 0) return found;
    int failed = 0;
    if (PyDict_Size(values) > 0) {
        PyObject *copy = PyDict_Copy(values);
        failed = !copy || stream_keep(c->stream, copy);
        Py_XDECREF(copy);
    }
    Py_DECREF(values);
    return failed ? -1 : 0;
}

static int keep_handles(call *c) {
    for (int i = 1; i < c->entry->count; i++)
        if (c->entry->parameters[i].kind == KIND_HANDLE && c->words[i].p && keep(c->first, c->given[i])) return -1;
    return 0;
}

int keep_things(call *c) {
    int failed = 0;
    PyObject *things = lasting(c->reading.kept, &failed);
    if (!failed && things && (c->entry->flags & FUNCTION_STREAM_KEEPS)) failed = keep_for_streams(c, things);
    if (!failed && (c->entry->flags & FUNCTION_KEEPS)) failed = keep_handles(c) || (things && keep(c->first, things));
    if (!failed && is(c, FUNCTION_TEMPLATE_BEGIN)) failed = recording_begins(c->first);
    if (is(c, FUNCTION_TEMPLATE_END) || is(c, FUNCTION_TEMPLATE_CANCEL)) recording_ends(c->first);
    if (!failed && is(c, FUNCTION_PIPELINE_START)) failed = things && keep_as(c->first, "run", things);
    if (!failed && (is(c, FUNCTION_GRAPH_SET) || is(c, FUNCTION_GRAPH_SET_PARAMETER)))
        failed = keep_by_name(c, "_values", c->given[1], things);
    if (!failed && is(c, FUNCTION_GRAPH_SET_ALL) && things)
        failed = keep_by_name(c, "_values", c->given[1] ? Py_None : NULL, things);
    if (!failed && is(c, FUNCTION_GRAPH_LAUNCH)) failed = keep_values(c);
    if (!failed && (is(c, FUNCTION_HOST_REGISTER) || is(c, FUNCTION_HOST_UNREGISTER))) {
        PyObject *address = PyLong_FromVoidPtr(c->words[1].p);
        failed = keep_by_name(c, "_registered", address, is(c, FUNCTION_HOST_REGISTER) ? things : NULL);
        Py_XDECREF(address);
    }
    Py_XDECREF(things);
    return failed ? -1 : 0;
}
