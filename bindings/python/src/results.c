/* results.c: room for C's output, and the objects that are made of the output. */
#include "call.h"

#include <string.h>

enum { FIRST_TEXT = 4096 }; /* bytes of room for a text, at first */

/* --- room for what C writes --- */

static int make_structs(call *c, int i, uint64_t capacity) {
    const parameter_entry *parameter = &c->entry->parameters[i];
    const struct_entry *entry = &struct_entries[parameter->id];
    char *memory = kept_array(c->reading.kept, capacity, entry->size);
    if (!memory) return -1;
    for (uint64_t n = 0; n < capacity && (entry->fields[0].flags & ENTRY_STRUCT_SIZE); n++)
        memcpy(memory + n * entry->size, &entry->size, sizeof entry->size);
    c->words[i].p = memory;
    c->words[parameter->stride].u = entry->size;
    c->words[parameter->length].u = capacity;
    return 0;
}

static int make_text(call *c, int i, uint64_t capacity) {
    c->words[i].p = kept_memory(c->reading.kept, capacity);
    c->words[c->entry->parameters[i].length].u = capacity;
    return c->words[i].p ? 0 : -1;
}

/* Room for a parameter's value, whose size the template knows if the caller doesn't say it. */
static int make_value(call *c, int i) {
    const int length = c->entry->parameters[i].length;
    if (is_left_out(c, length)) c->words[length].u = parameter_bytes(c->reading.graph_template, c->words[1].p);
    c->words[i].p = kept_array(c->reading.kept, c->words[length].u, 1);
    return c->words[i].p ? 0 : -1;
}

static int make_answers(call *c, int i) {
    const int capacity = places_of(c)->capacity;
    uint32_t task_size, answer_size;
    if (queue_sizes(c, &task_size, &answer_size)) return -1;
    if (is_left_out(c, capacity)) c->words[capacity].u = (uint64_t)c->entry->parameters[capacity].value;
    c->extents[i] = answer_size;
    if (answer_size) c->words[i].p = kept_array(c->reading.kept, c->words[capacity].u, answer_size);
    return answer_size && !c->words[i].p ? -1 : 0;
}

int make_room(call *c) {
    for (int i = 0; i < c->entry->count; i++) {
        const parameter_entry *parameter = &c->entry->parameters[i];
        int failed = 0;
        switch (parameter->kind) {
            case KIND_OUT_HANDLE:
                if (!(parameter->flags & ENTRY_HIDDEN)) { /* made if it is asked for */
                    const int wanted = c->given[i] ? PyObject_IsTrue(c->given[i]) : 0;
                    failed = wanted < 0;
                    c->words[i].p = wanted > 0 ? &c->written[i] : NULL;
                    break;
                }
                c->words[i].p = &c->written[i];
                break;
            case KIND_OUT_NUMBER:
            case KIND_OUT_TRUTH:
            case KIND_OUT_POINTER:
            case KIND_COUNT:
            case KIND_NEEDED: c->words[i].p = &c->written[i]; break;
            case KIND_OUT_HANDLES:
                c->words[i].p =
                    kept_memory(c->reading.kept, ((size_t)c->words[parameter->length].u + 1) * sizeof(void *));
                failed = !c->words[i].p;
                break;
            case KIND_OUT_STRUCT:
                c->words[i].p = kept_memory(c->reading.kept, struct_entries[parameter->id].size);
                if (c->words[i].p) memcpy(c->words[i].p, &struct_entries[parameter->id].size, sizeof(uint32_t));
                failed = !c->words[i].p;
                break;
            case KIND_OUT_STRUCTS: {
                uint64_t capacity = (uint64_t)c->entry->parameters[parameter->length].value;
                if (!(c->entry->parameters[parameter->length].flags & ENTRY_HIDDEN) &&
                    !is_left_out(c, parameter->length))
                    capacity = c->words[parameter->length].u;
                failed = make_structs(c, i, capacity);
                break;
            }
            case KIND_OUT_TEXT:
            case KIND_OUT_BYTES: failed = make_text(c, i, FIRST_TEXT); break;
            case KIND_OUT_VALUE: failed = make_value(c, i); break;
            case KIND_OUT_ANSWERS: failed = make_answers(c, i); break;
            default: break;
        }
        if (failed) return -1;
    }
    return 0;
}

int grow(call *c, gpo_status status) {
    for (int i = 0; i < c->entry->count; i++) {
        const parameter_entry *parameter = &c->entry->parameters[i];
        if (parameter->kind == KIND_OUT_TEXT || parameter->kind == KIND_OUT_BYTES) {
            const uint64_t needed = c->written[parameter->length + 1]; /* `needed` stands behind `capacity` */
            if ((status == GPO_BUFFER_TOO_SMALL || status == GPO_SUCCESS) && needed > c->words[parameter->length].u)
                return make_text(c, i, needed + 1) ? -1 : 1;
        }
        if (parameter->kind == KIND_OUT_STRUCTS && status == GPO_SUCCESS && !(c->entry->flags & FUNCTION_TAKES)) {
            const uint64_t room = c->words[parameter->length].u;
            if (c->written[parameter->length + 1] >= room) /* `count` stands behind `capacity` */
                return make_structs(c, i, room * 4) ? -1 : 1;
        }
    }
    return 0;
}

/* --- results --- */

/* The object that a new one is made from: the first one, or the runtime of the first device in a list. */
static PyObject *parent_of(call *c) {
    if (c->first) return (PyObject *)c->first;
    const Py_ssize_t count = PyList_Size(c->reading.kept);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(c->reading.kept, i);
        PyObject *one = PyTuple_Check(item) && PyTuple_Size(item) ? PyTuple_GetItem(item, 0) : NULL;
        if (one && PyObject_TypeCheck(one, handle_type))
            return (PyObject *)ancestor((handle_object *)one, CLASS_RUNTIME);
    }
    return NULL;
}

/* Notes facts about a new object for later calls. */
static int note_options(call *c, PyObject *object) {
    int caller = 0;
    if (is(c, FUNCTION_EXECUTOR_CREATE) && c->words[1].p)
        caller = (((const gpo_executor_options *)c->words[1].p)->flags & GPO_EXECUTOR_CALLER) != 0;
    if (is(c, FUNCTION_PIPELINE_CREATE) || is(c, FUNCTION_BATCHER_CREATE))
        caller = has_flag((PyObject *)c->reading.executor, "_caller");
    if (PyErr_Occurred()) return -1;
    if (caller && set_flag(object, "_caller")) return -1;
    if (is(c, FUNCTION_QUEUE_CREATE) && note_queue_sizes(object, c->words[1].p)) return -1;
    if (is(c, FUNCTION_PIPELINE_CREATE) && ((const gpo_pipeline_options *)c->words[1].p)->result_bytes) {
        PyObject *bytes = PyLong_FromUnsignedLongLong(((const gpo_pipeline_options *)c->words[1].p)->result_bytes);
        const int failed = !bytes || PyObject_SetAttrString(object, "_result_bytes", bytes);
        Py_XDECREF(bytes);
        if (failed) return -1;
    }
    if (!c->reading.inside) return 0;
    callback_set_owner(c->reading.inside, object);
    return set_flag(object, "_calls_python");
}

static PyObject *new_object(call *c, enum class_id kind, void *handle) {
    if (!handle) return Py_NewRef(Py_None);
    PyObject *object = new_handle(kind, handle, parent_of(c));
    int failed = !object;
    PyObject *things = failed ? NULL : lasting(c->reading.kept, &failed);
    if (!failed && things) failed = keep((handle_object *)object, things);
    Py_XDECREF(things);
    if (!failed) failed = note_options(c, object);
    if (failed) Py_CLEAR(object);
    return object;
}

static PyObject *new_objects(call *c, const parameter_entry *parameter, void **handles) {
    const uint64_t count = c->words[parameter->length].u;
    PyObject *list = PyList_New(0);
    for (uint64_t i = 0; i < count; i++) { /* all become objects, which own them, even if one fails */
        PyObject *object = new_object(c, parameter->id, handles[i]);
        if (list && (!object || PyList_Append(list, object))) Py_CLEAR(list);
        Py_XDECREF(object);
    }
    return list;
}

static PyObject *records(call *c, int i) {
    const parameter_entry *parameter = &c->entry->parameters[i];
    const struct_entry *entry = &struct_entries[parameter->id];
    const uint64_t count = c->written[places_of(c)->count];
    PyObject *list = PyList_New(0);
    for (uint64_t n = 0; list && n < count; n++) {
        PyObject *one = struct_record(entry, (const char *)c->words[i].p + n * entry->size);
        if (!one || PyList_Append(list, one)) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *result(call *c, int i) {
    const parameter_entry *parameter = &c->entry->parameters[i];
    const void *p = c->words[i].p;
    void *handle;
    switch (parameter->kind) {
        case KIND_OUT_NUMBER: return number_of(parameter->element, p);
        case KIND_OUT_TRUTH: return PyBool_FromLong(c->written[i] != 0);
        case KIND_OUT_POINTER: return number_of(KIND_U64, p);
        case KIND_OUT_HANDLE:
            memcpy(&handle, &c->written[i], sizeof handle);
            return new_object(c, parameter->id, handle);
        case KIND_OUT_HANDLES: return new_objects(c, parameter, c->words[i].p);
        case KIND_OUT_STRUCT:
            if (c->entry->flags & FUNCTION_FAILURE)
                return ((const gpo_error *)p)->status ? make_error(((const gpo_error *)p)->status, p)
                                                      : Py_NewRef(Py_None);
            return struct_record(&struct_entries[parameter->id], p);
        case KIND_OUT_STRUCTS: return records(c, i);
        case KIND_OUT_TEXT: return PyUnicode_DecodeUTF8(p, (Py_ssize_t)strlen(p), "replace");
        case KIND_OUT_BYTES: return PyBytes_FromStringAndSize(p, (Py_ssize_t)c->written[parameter->length + 1]);
        case KIND_OUT_VALUE: return PyBytes_FromStringAndSize(p, (Py_ssize_t)c->words[parameter->length].u);
        case KIND_OUT_ANSWERS:
            return PyBytes_FromStringAndSize(p, p ? (Py_ssize_t)(c->extents[i] * c->written[places_of(c)->count]) : 0);
        default: /* KIND_OUT_STATIC_TEXT */ return PyUnicode_FromString(p);
    }
}

PyObject *results(call *c) {
    PyObject *values[MOST];
    Py_ssize_t count = 0;
    int failed = 0;
    for (int i = 0; i < c->entry->count; i++) {
        if (c->entry->parameters[i].kind < KIND_OUT_NUMBER) continue;
        values[count] = result(c, i); /* also after a failure: a new handle needs its object, to be closed */
        if (values[count])
            count++;
        else
            failed = 1;
    }
    PyObject *all = NULL;
    if (!failed && count == 1) return values[0];
    if (!failed) all = count ? PyTuple_New(count) : Py_NewRef(Py_None);
    for (Py_ssize_t i = 0; i < count; i++)
        if (all)
            PyTuple_SetItem(all, i, values[i]);
        else
            Py_DECREF(values[i]);
    return all;
}
