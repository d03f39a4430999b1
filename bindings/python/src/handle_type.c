/* handle_type.c: the type Handle, the base of all classes that stand for a handle: collection, repr, properties, and
 * the module's functions about handles. */
#include "objects.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <structmember.h>

PyTypeObject *handle_type;

static int is_development(void) {
    static int known = -1; /* atomic */
    const int before = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (before >= 0) return before;
    PyObject *flags = PySys_GetObject("flags"); /* borrowed */
    PyObject *mode = flags ? PyObject_GetAttrString(flags, "dev_mode") : NULL;
    const int found = mode ? PyObject_IsTrue(mode) : -1;
    Py_XDECREF(mode);
    if (found < 0) PyErr_Clear(); /* no memory: asked again the next time */
    __atomic_store_n(&known, found, __ATOMIC_RELAXED);
    return found > 0;
}

/* Modules and kernels are made on the way to a launch: nothing is lost if they are left to the collector. */
static int has_to_be_closed(enum class_id kind) { return kind != CLASS_MODULE && kind != CLASS_KERNEL; }

static void warn(handle_object *object, void *handle) {
    PyObject *text = describe_handle(open_library(), object->kind, handle, handle_of_device(object));
    if (!text || PyErr_ResourceWarning((PyObject *)object, 1, "unclosed %U", text) < 0)
        PyErr_WriteUnraisable((PyObject *)Py_TYPE((PyObject *)object));
    Py_XDECREF(text);
}

static void handle_finalize(PyObject *self) {
    handle_object *object = (handle_object *)self;
    void *handle = read_handle(object);
    if (!handle || is_over()) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (!object->borrowed && has_to_be_closed(object->kind) && is_development()) warn(object, handle);
    collect_handle(object, 1);
    reap();
    PyErr_Restore(type, value, traceback);
}

static int handle_traverse(PyObject *self, visitproc visit, void *arg) {
    handle_object *object = (handle_object *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(object->parent);
    Py_VISIT(object->kept);
    Py_VISIT(object->dict);
    int stops = visit_in_flight(object->in_flight, visit, arg);
    if (!stops) stops = callbacks_visit(object, visit, arg);
    return stops ? stops : visit_leftovers(object->leftovers, visit, arg);
}

static int handle_clear(PyObject *self) {
    handle_object *object = (handle_object *)self;
    if (!is_over()) {
        collect_handle(object, 0); /* if its finaliser has run before, and left it open */
        leave_closed_stream(object);
    }
    add_export(object->parent, -__atomic_load_n(&object->exports, __ATOMIC_ACQUIRE)); /* which leads there no more */
    Py_CLEAR(object->parent);
    Py_CLEAR(object->kept);
    Py_CLEAR(object->dict);
    return 0;
}

static void handle_dealloc(PyObject *self) {
    handle_object *object = (handle_object *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (object->weak_references) PyObject_ClearWeakRefs(self);
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    handle_clear(self);
    unlink_handle(object);
    if (object->kind == CLASS_TEMPLATE) forget_recording(object);
    callbacks_leave(object);
    free_in_flight(object->in_flight);
    free_leftovers(object->leftovers);
    free(object->calls);
    PyErr_Restore(kind, value, traceback);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* --- properties --- */

/* The number of a device as the system counts. -1: it isn't known. */
static int ordinal_of(const gpo_api *api, void *device) {
    gpo_device_properties properties = {.struct_size = sizeof properties};
    if (!device || api->device_get_properties(device, &properties) != GPO_SUCCESS) return -1;
    return (int)properties.native_ordinal;
}

PyObject *describe_handle(const gpo_api *api, enum class_id kind, void *handle, void *device) {
    char label[256] = "", where[32] = "", number[16] = "";
    if (api->object_get_label(handle, label, sizeof label, NULL) != GPO_SUCCESS) label[0] = '\0';
    if (kind == CLASS_KERNEL && !label[0] && api->kernel_get_name(handle, label, sizeof label, NULL) != GPO_SUCCESS)
        label[0] = '\0';
    const int ordinal = ordinal_of(api, device);
    if (ordinal >= 0 && kind == CLASS_DEVICE) snprintf(number, sizeof number, " %d", ordinal);
    else if (ordinal >= 0) snprintf(where, sizeof where, " of device %d", ordinal);
    PyObject *text = PyUnicode_DecodeUTF8(label, (Py_ssize_t)strlen(label), "replace");
    PyObject *shown = !text ? NULL : label[0] ? PyUnicode_FromFormat(" \"%U\"", text) : Py_NewRef(text);
    PyObject *all =
        shown ? PyUnicode_FromFormat("<gpuorch.%s%s%U%s>", class_entries[kind].type_name, number, shown, where) : NULL;
    Py_XDECREF(text);
    Py_XDECREF(shown);
    return all;
}

static PyObject *handle_repr(PyObject *self) {
    handle_object *object = (handle_object *)self;
    void *handle = read_handle(object);
    if (!handle) return PyUnicode_FromFormat("<gpuorch.%s, closed>", class_entries[object->kind].type_name);
    if (is_over()) return PyUnicode_FromFormat("<gpuorch.%s>", class_entries[object->kind].type_name);
    return describe_handle(open_library(), object->kind, handle, handle_of_device(object));
}

void warn_of_open_handles(void) {
    if (!is_development()) return;
    open_handle open[256];
    size_t count = list_open_handles(open, sizeof open / sizeof *open);
    while (count-- > 0) {
        if (!has_to_be_closed(open[count].kind)) continue;
        PyObject *text = describe_handle(open_library(), open[count].kind, open[count].handle, open[count].device);
        if (!text || PyErr_ResourceWarning(NULL, 1, "unclosed %U", text) < 0) PyErr_WriteUnraisable(NULL);
        Py_XDECREF(text);
    }
}

/* --- methods --- */

static PyObject *handle_close(PyObject *self, PyObject *none) {
    (void)none;
    if (close_handle((handle_object *)self, -1) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *handle_enter(PyObject *self, PyObject *none) {
    (void)none;
    handle_object *object = (handle_object *)self;
    return check_handle(self, CLASS_ANY, class_entries[object->kind].name) ? Py_NewRef(self) : NULL;
}

static PyObject *handle_exit(PyObject *self, PyObject *arguments) { return handle_close(self, arguments); }

static PyObject *handle_error(PyObject *self, PyObject *none) {
    (void)none;
    handle_object *object = (handle_object *)self;
    if (!check_handle(self, CLASS_ANY, class_entries[object->kind].name)) return NULL;
    gpo_error details = {.struct_size = sizeof details};
    const gpo_status status = open_library()->object_get_error(object->handle, &details);
    if (status != GPO_SUCCESS) return raise_status(status);
    if (details.status == GPO_SUCCESS) Py_RETURN_NONE;
    return make_error(details.status, &details);
}

static PyObject *handle_reduce(PyObject *self, PyObject *arguments) {
    (void)arguments;
    return PyErr_Format(PyExc_TypeError, "a gpuorch.%s can't be copied or pickled: it belongs to this process",
                        class_entries[((handle_object *)self)->kind].type_name);
}

static PyObject *get_label(PyObject *self, void *none) {
    (void)none;
    handle_object *object = (handle_object *)self;
    char label[64];
    if (!check_handle(self, CLASS_ANY, class_entries[object->kind].name)) return NULL;
    const gpo_status status = open_library()->object_get_label(object->handle, label, sizeof label, NULL);
    if (status != GPO_SUCCESS) return raise_status(status);
    return PyUnicode_DecodeUTF8(label, (Py_ssize_t)strlen(label), "replace");
}

static int set_label(PyObject *self, PyObject *value, void *none) {
    (void)none;
    handle_object *object = (handle_object *)self;
    if (!check_handle(self, CLASS_ANY, class_entries[object->kind].name)) return -1;
    if (value && value != Py_None && !PyUnicode_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "label has to be a str or None");
        return -1;
    }
    PyObject *bytes = value && value != Py_None ? PyUnicode_AsUTF8String(value) : PyBytes_FromString("");
    char *text = NULL;
    if (!bytes || PyBytes_AsStringAndSize(bytes, &text, NULL) < 0) { /* NUL inside: ValueError */
        Py_XDECREF(bytes);
        return -1;
    }
    const gpo_status status = open_library()->object_set_label(object->handle, text);
    Py_DECREF(bytes);
    if (status == GPO_SUCCESS) return 0;
    raise_status(status);
    return -1;
}

static PyObject *get_closed(PyObject *self, void *none) {
    (void)none;
    return PyBool_FromLong(!read_handle((handle_object *)self));
}

static PyObject *get_ancestor(PyObject *self, void *kind) {
    handle_object *found = ancestor((handle_object *)self, (enum class_id)(uintptr_t)kind);
    return Py_NewRef(found ? (PyObject *)found : Py_None);
}

static PyObject *get_parent(PyObject *self, void *none) {
    (void)none;
    PyObject *parent = ((handle_object *)self)->parent;
    return Py_NewRef(parent ? parent : Py_None);
}

static PyMethodDef methods[] = {
    {"close", handle_close, METH_NOARGS,
     "close($self, /)\n--\n\nGives the object back, and may be called again. Work that it was given goes on; a\n"
     "runtime waits for all work and shuts down; the run of a pipeline is cancelled."},
    {"error", handle_error, METH_NOARGS,
     "error($self, /)\n--\n\nThe failure that the object carries, as a gpuorch.Error that isn't raised, or None."},
    {"__enter__", handle_enter, METH_NOARGS, "The object itself: `with` closes it at its end."},
    {"__exit__", handle_exit, METH_VARARGS, "Calls close()."},
    {"__reduce__", handle_reduce, METH_NOARGS, "Raises TypeError."},
    {"__reduce_ex__", handle_reduce, METH_VARARGS, "Raises TypeError."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {
    {"label", get_label, set_label, "Its name in errors, logs, statistics and traces: at most 63 bytes.", NULL},
    {"closed", get_closed, NULL, "Whether it is closed, by close() or with its runtime.", NULL},
    {"parent", get_parent, NULL, "The object that it was made from; None: a runtime.", NULL},
    {"runtime", get_ancestor, NULL, "The Runtime that it was made from.", (void *)(uintptr_t)CLASS_RUNTIME},
    {"device", get_ancestor, NULL, "The Device that it was made from, or None.", (void *)(uintptr_t)CLASS_DEVICE},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(handle_object, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(handle_object, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyType_Slot type_slots[] = {
    {Py_tp_doc, "The base of all objects of the library. close() gives an object back; `with` does so at its end; an\n"
                "object that Python collects is closed. After fork() nothing is closed in the child."},
    {Py_tp_dealloc, handle_dealloc},
    {Py_tp_finalize, handle_finalize},
    {Py_tp_traverse, handle_traverse},
    {Py_tp_clear, handle_clear},
    {Py_tp_repr, handle_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {Py_tp_members, members},
    {0, NULL}};

static PyType_Spec specification = {
    .name = "gpuorch.Handle",
    .basicsize = sizeof(handle_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = type_slots};

/* --- functions of the module --- */

static PyObject *register_class(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *name;
    PyObject *type;
    if (!PyArg_ParseTuple(arguments, "sO:register", &name, &type)) return NULL;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, handle_type))
        return PyErr_Format(PyExc_TypeError, "a class derived from Handle expected");
    for (int kind = 0; kind < CLASS_COUNT; ++kind)
        if (strcmp(class_entries[kind].name, name) == 0) {
            set_handle_class((enum class_id)kind, (PyTypeObject *)type);
            Py_RETURN_NONE;
        }
    return PyErr_Format(PyExc_ValueError, "there is no kind of handle %s", name);
}

static PyObject *shut_down(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *runtime, *timeout;
    int64_t timeout_ns;
    if (!PyArg_ParseTuple(arguments, "OO:shut_down", &runtime, &timeout)) return NULL;
    if (read_timeout(timeout, &timeout_ns) < 0) return NULL;
    if (!is_handle(runtime) || ((handle_object *)runtime)->kind != CLASS_RUNTIME)
        return PyErr_Format(PyExc_TypeError, "a gpuorch.Runtime expected");
    if (close_handle((handle_object *)runtime, timeout_ns) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *set_recording(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *recording;
    int begins;
    if (!PyArg_ParseTuple(arguments, "Op:set_recording", &recording, &begins)) return NULL;
    if (!is_handle(recording)) return PyErr_Format(PyExc_TypeError, "a gpuorch.Template expected");
    if (!begins) recording_ends((handle_object *)recording);
    else if (recording_begins((handle_object *)recording) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *set_exposed(PyObject *module, PyObject *object) {
    (void)module;
    if (!is_handle(object)) return PyErr_Format(PyExc_TypeError, "a gpuorch.Handle expected");
    ((handle_object *)object)->exposed = 1;
    Py_RETURN_NONE;
}

static PyObject *keep_with(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *owner, *object;
    if (!PyArg_ParseTuple(arguments, "OO:keep", &owner, &object)) return NULL;
    if (!is_handle(owner)) return PyErr_Format(PyExc_TypeError, "a gpuorch.Handle expected");
    if (keep((handle_object *)owner, object) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *forget(PyObject *module, PyObject *stream) {
    (void)module;
    if (is_handle(stream) && ((handle_object *)stream)->kind == CLASS_STREAM) forget_done((handle_object *)stream);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"register", register_class, METH_VARARGS, "register(name, class)\n--\n\nThe class of a kind of handle."},
    {"shut_down", shut_down, METH_VARARGS, "shut_down(runtime, timeout)\n--\n\nEnds a runtime."},
    {"set_recording", set_recording, METH_VARARGS,
     "set_recording(template, begins)\n--\n\nWhether a template records."},
    {"set_exposed", set_exposed, METH_O, "set_exposed(object)\n--\n\nThe object isn't destroyed when it is collected."},
    {"keep", keep_with, METH_VARARGS,
     "keep(owner, object)\n--\n\nThe object lives as long as the owner, and what the owner has under way."},
    {"forget_done", forget, METH_O, "forget_done(stream)\n--\n\nDrops what work has used that is done."},
    {NULL, NULL, 0, NULL}};

int add_handles(PyObject *module) {
    if (!handle_type) handle_type = (PyTypeObject *)PyType_FromSpec(&specification);
    if (!handle_type || PyModule_AddObjectRef(module, "Handle", (PyObject *)handle_type) < 0) return -1;
    return PyModule_AddFunctions(module, functions) < 0 ? -1 : add_exit(module);
}
