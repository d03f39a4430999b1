/* error.c: the library's statuses as exceptions. gpuorch/_errors.py has the classes, and registers them. */
#include "objects.h"

#include <stdio.h>
#include <string.h>

#define STATUS_COUNT 128

static PyObject *classes[STATUS_COUNT]; /* by status; 0: the base of all */

static PyObject *text_of(const char *text, size_t room) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strnlen(text, room), "replace");
}

static PyObject *class_of(gpo_status status) {
    PyObject *found = status > 0 && status < STATUS_COUNT ? classes[status] : NULL;
    if (!found) found = classes[0];
    if (!found) PyErr_Format(PyExc_RuntimeError, "status %d, and the package gpuorch isn't imported", (int)status);
    return found;
}

PyObject *make_error(gpo_status status, const gpo_error *details) {
    PyObject *kind = class_of(status);
    if (!kind) return NULL;
    const gpo_api *api = open_library();
    const char *words = details && details->message[0] ? details->message : api ? api->status_text(status) : "";
    PyObject *message = text_of(words, 4096);
    PyObject *function = text_of(details ? details->function : "", sizeof details->function);
    PyObject *object = text_of(details ? details->object : "", sizeof details->object);
    PyObject *error = NULL;
    if (message && function && object)
        error = PyObject_CallFunction(kind, "iOOOi", (int)status, message, function, object,
                                      details ? (int)details->native_code : 0);
    Py_XDECREF(message);
    Py_XDECREF(function);
    Py_XDECREF(object);
    return error;
}

PyObject *raise_status(gpo_status status) { return raise_status_of(status, ""); }

/* A status below GPO_INVALID_ARGUMENT is an answer. Most answers don't set the thread's last failure, which is then
 * another call's. */
PyObject *raise_status_of(gpo_status status, const char *function) {
    if (PyErr_Occurred()) return NULL; /* a callback left it behind: that is why the call failed */
    const gpo_api *api = open_library();
    gpo_error details = {.struct_size = sizeof details};
    int known = api && api->last_error(&details) == GPO_SUCCESS && details.status == status;
    if (status < GPO_INVALID_ARGUMENT) known = known && strcmp(details.function, function) == 0;
    if (!known) details = (gpo_error){.struct_size = sizeof details, .status = status};
    if (!details.function[0]) snprintf(details.function, sizeof details.function, "%s", function);
    PyObject *error = make_error(status, &details);
    if (!error) return NULL;
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
    return NULL;
}

static PyObject *register_error(PyObject *module, PyObject *arguments) {
    (void)module;
    int status;
    PyObject *kind;
    if (!PyArg_ParseTuple(arguments, "iO:register_error", &status, &kind)) return NULL;
    if (status < 0 || status >= STATUS_COUNT) return PyErr_Format(PyExc_ValueError, "%d is no status", status);
    if (!PyExceptionClass_Check(kind)) return PyErr_Format(PyExc_TypeError, "a class of exceptions expected");
    PyObject *before = classes[status];
    classes[status] = Py_NewRef(kind);
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"register_error", register_error, METH_VARARGS,
     "register_error(status, kind)\n--\n\nThe class of exceptions for a status; of status 0: for those without one."},
    {NULL, NULL, 0, NULL}};

int add_errors(PyObject *module) { return PyModule_AddFunctions(module, functions); }
