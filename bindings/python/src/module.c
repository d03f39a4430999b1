/* module.c: the module `_gpuorch`. Importing it calls nothing of the library, so a process may fork after the
 * import. */
#include "objects.h"

static int execute(PyObject *module) {
    const int64_t interpreter = PyInterpreterState_GetID(PyInterpreterState_Get());
    if (interpreter == -1 && PyErr_Occurred()) return -1;
    if (interpreter != 0) {
        PyErr_SetString(PyExc_ImportError, "gpuorch works in the main interpreter only, not in a subinterpreter");
        return -1;
    }
    int (*const parts[])(PyObject *) = {add_library, add_errors, add_handles,    add_functions,
                                        add_memory,  add_launch, add_completions};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
        if (parts[i](module) < 0) return -1;
    return 0;
}

#ifdef Py_TARGET_ABI3T

/* A later Python may have larger objects than OBJECT_HEAD has room for. */
static int execute_if_objects_fit(PyObject *module) {
    PyObject *size = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, "__basicsize__");
    const Py_ssize_t bytes = size ? PyLong_AsSsize_t(size) : -1;
    Py_XDECREF(size);
    if (PyErr_Occurred()) return -1;
    if (bytes <= HEAD_BYTES) return execute(module);
    PyErr_Format(PyExc_ImportError,
                 "this version of gpuorch is too old for this Python, whose objects begin with %zd bytes, and %d are "
                 "the most: install a newer version",
                 bytes, HEAD_BYTES);
    return -1;
}

PyABIInfo_VAR(abi);

static PySlot slots[] = {PySlot_STATIC_DATA(Py_mod_abi, &abi),
                         PySlot_STATIC_DATA(Py_mod_name, "_gpuorch"),
                         PySlot_STATIC_DATA(Py_mod_doc, "What the package gpuorch is made from."),
                         PySlot_FUNC(Py_mod_exec, execute_if_objects_fit),
                         PySlot_DATA(Py_mod_gil, Py_MOD_GIL_NOT_USED),
                         PySlot_END};

PyMODEXPORT_FUNC PyModExport__gpuorch(void);
PyMODEXPORT_FUNC PyModExport__gpuorch(void) { return slots; }

#else

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)execute},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_gpuorch", .m_doc = "What the package gpuorch is made from.", .m_slots = slots};

PyMODINIT_FUNC PyInit__gpuorch(void);
PyMODINIT_FUNC PyInit__gpuorch(void) { return PyModuleDef_Init(&definition); }

#endif
