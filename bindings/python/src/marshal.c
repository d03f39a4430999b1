/* marshal.c: any function of the library, by the tables.
 *
 * A call has six steps. Python's arguments are assigned to parameters. Each argument becomes a word for C, and makes
 * the words of its length, stride, sizes and `user`. C's output gets room. C is called. Objects that work or other
 * objects need are kept. The results become objects of Python's. */
#include "call.h"

#include <stdio.h>

enum { MOST_TRIES = 8 }; /* how often is asked again, while what is asked for grows */

static int calls_with_memory; /* atomic: under way, without the GIL */

int is_memory_in_calls(void) { return __atomic_load_n(&calls_with_memory, __ATOMIC_ACQUIRE) != 0; }

/* The runtime whose memory the call uses, borrowed; NULL: it uses none. */
static handle_object *runtime_in_use(const call *c) {
    int uses = (c->entry->flags & FUNCTION_STREAM_KEEPS) != 0;
    const Py_ssize_t count = !uses && c->reading.kept ? PyList_Size(c->reading.kept) : 0;
    for (Py_ssize_t i = 0; i < count && !uses; i++) {
        const memory_object *array = array_of_keeper(PyList_GetItem(c->reading.kept, i));
        uses = array && array->owner && PyObject_TypeCheck(array->owner, handle_type);
    }
    return uses && c->first ? ancestor(c->first, CLASS_RUNTIME) : NULL;
}

/* The array at a place of the kept list if a template's end frees its memory; NULL: none. */
static memory_object *array_of_template(const call *c, Py_ssize_t place) {
    memory_object *array = array_of_keeper(PyList_GetItem(c->reading.kept, place));
    return array && array->in_template ? array : NULL;
}

static void leave_templates(const call *c, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++) {
        const memory_object *array = array_of_template(c, i);
        if (array) leave_template((handle_object *)array->owner);
    }
}

/* Returns how many places of the kept list it has seen, or -1 if a template is being closed. */
static Py_ssize_t enter_templates(const call *c) {
    const Py_ssize_t count = c->reading.kept ? PyList_Size(c->reading.kept) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        const memory_object *array = array_of_template(c, i);
        if (!array || enter_template((handle_object *)array->owner) == 0) continue;
        leave_templates(c, i);
        return -1;
    }
    return count;
}

static gpo_status call_without_gil(call *c, handle_object *runtime) {
    const int has_memory = (c->entry->flags & FUNCTION_STREAM_KEEPS) != 0;
    __atomic_add_fetch(&calls_with_memory, has_memory, __ATOMIC_ACQ_REL);
    PyThreadState *state = PyEval_SaveThread();
    const gpo_status status = c->entry->call(c->api, c->words);
    if (runtime) leave_runtime(runtime);
    PyEval_RestoreThread(state);
    __atomic_sub_fetch(&calls_with_memory, has_memory, __ATOMIC_ACQ_REL);
    return status;
}

/* -1: an exception, and nothing was called. */
static int call_once(call *c, gpo_status *status) {
    handle_object *runtime = runtime_in_use(c);
    const Py_ssize_t places = enter_templates(c);
    if (places < 0) return -1;
    if (runtime && enter_runtime(runtime) < 0) {
        leave_templates(c, places);
        return -1;
    }
    if (c->entry->flags & FUNCTION_KEEPS_GIL) {
        *status = c->entry->call(c->api, c->words);
        if (runtime) leave_runtime(runtime);
    } else {
        *status = call_without_gil(c, runtime);
    }
    leave_templates(c, places);
    return 0;
}

/* The status; -1: an exception. */
static int make_call(call *c, gpo_status *status) {
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        if (call_once(c, status)) return -1;
        if (*status == GPO_SUCCESS || *status == GPO_BUFFER_TOO_SMALL) {
            const int again = grow(c, *status);
            if (again < 0) return -1;
            if (again) continue;
        }
        break;
    }
    return 0;
}

/* A function that destroys an object: as its close() does. */
static PyObject *destroy(call *c) {
    const int released = is(c, FUNCTION_STREAM_POOL_RELEASE);
    const parameter_entry *parameter = &c->entry->parameters[released];
    PyObject *value = c->given[released];
    int64_t timeout_ns = -1;
    if (is_left_out(c, released)) Py_RETURN_NONE; /* as C's NULL */
    handle_object *pool = released ? check_handle(c->given[0], CLASS_STREAM_POOL, "pool") : NULL;
    handle_object *object = released && !pool ? NULL : check_handle(value, parameter->id, parameter->name);
    if (!object || (is(c, FUNCTION_RUNTIME_SHUTDOWN) && read_timeout(c->given[1], &timeout_ns))) return NULL;
    if (pool && object->parent != (PyObject *)pool) { /* the library says what is wrong */
        c->words[0].p = pool->handle;
        c->words[1].p = object->handle;
        gpo_status status;
        if (call_once(c, &status)) return NULL;
        if (status) return raise_status(status);
    }
    if (close_handle(object, timeout_ns)) return NULL;
    Py_RETURN_NONE;
}

/* A refused request: in how much time it would have been done. */
static void note_wait(call *c) {
    const int wait = places_of(c)->wait_ns;
    if (wait < 0) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *number = PyLong_FromUnsignedLongLong(c->written[wait]);
    if (!number || !value || PyObject_SetAttrString(value, "wait_ns", number)) PyErr_Clear();
    Py_XDECREF(number);
    PyErr_Restore(type, value, traceback);
}

/* The library has refused the functions: it never calls them. */
static void release_functions(call *c) {
    if (c->once) callback_release(c->once);
    if (c->reading.work) callback_release(c->reading.work);
}

static PyObject *fail(call *c, gpo_status status) {
    char function[80];
    snprintf(function, sizeof function, "gpo_%s", c->entry->name);
    raise_status_of(status, function);
    note_wait(c);
    release_functions(c);
    return NULL;
}

static PyObject *finish(call *c, gpo_status status) {
    if ((c->entry->flags & FUNCTION_QUERY) && (status == GPO_SUCCESS || status == GPO_NOT_READY))
        return PyBool_FromLong(status == GPO_SUCCESS);
    if (status != GPO_SUCCESS) return fail(c, status);
    PyObject *type, *value, *traceback; /* of a function that the call ran */
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *all = results(c);
    if (!type) PyErr_Fetch(&type, &value, &traceback);
    if (keep_things(c)) Py_CLEAR(all);
    if (!type) return all;
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    Py_XDECREF(all);
    return NULL;
}

static PyObject *run(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names) {
    call c = {.entry = PyCapsule_GetPointer(self, NULL)};
    c.api = library();
    if (!c.api) return NULL;
    callbacks_collect();
    if (c.entry->least > c.api->struct_size) {
        PyErr_Format(PyExc_NotImplementedError, "this library is too old for %s()", c.entry->name);
        return NULL;
    }
    if (assign(&c, args, count, names)) return NULL;
    if (c.entry->flags & FUNCTION_DESTROYS) return destroy(&c);
    c.reading.kept = PyList_New(0);
    PyObject *all = NULL;
    gpo_status status;
    if (c.reading.kept && !read_inputs(&c) && !make_room(&c) && !make_call(&c, &status))
        all = finish(&c, status);
    else
        release_functions(&c);
    Py_XDECREF(c.reading.kept);
    return all;
}

/* record_type(name): the type of the records of a struct; KeyError: there is no such struct. */
static PyObject *find_record_type(PyObject *module, PyObject *name) {
    (void)module;
    for (int i = 0; PyUnicode_Check(name) && i < STRUCT_COUNT; i++)
        if (!PyUnicode_CompareWithASCIIString(name, struct_entries[i].type_name))
            return Py_XNewRef((PyObject *)record_type(&struct_entries[i]));
    PyErr_SetObject(PyExc_KeyError, name);
    return NULL;
}

static PyMethodDef more_methods[] = {{"record_type", find_record_type, METH_O,
                                      "record_type(name)\n--\n\nThe type of the records of a struct: \"StreamInfo\"."},
                                     {NULL, NULL, 0, NULL}};

static PyMethodDef methods[FUNCTION_COUNT];

int add_functions(PyObject *module) {
    PyObject *name = PyObject_GetAttrString(module, "__name__");
    int failed = !name || add_names() || add_struct_names() || add_callbacks() ||
                 PyModule_AddFunctions(module, more_methods);
    for (int i = 0; !failed && i < FUNCTION_COUNT; i++) {
        const function_entry *entry = &function_entries[i];
        methods[i] =
            (PyMethodDef){entry->name, (PyCFunction)(void (*)(void))run, METH_FASTCALL | METH_KEYWORDS, entry->doc};
        PyObject *which = PyCapsule_New((void *)entry, NULL, NULL);
        PyObject *function = which ? PyCFunction_NewEx(&methods[i], which, name) : NULL;
        Py_XDECREF(which);
        failed = !function || PyModule_AddObjectRef(module, entry->name, function);
        Py_XDECREF(function);
    }
    Py_XDECREF(name);
    return failed ? -1 : 0;
}
