/* struct.c: structs of C from mappings of Python's, and records of Python's from structs. */
#include "marshal.h"

#include <math.h>
#include <string.h>

#define NS_PER_SECOND 1e9

int read_timeout(PyObject *value, int64_t *timeout_ns) {
    *timeout_ns = -1;
    if (!value || value == Py_None) return 0;
    const double seconds = PyFloat_AsDouble(value);
    if (seconds == -1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
        PyErr_Clear();
        return wrong_type("timeout", "seconds or None", value);
    }
    if (isnan(seconds) || seconds < 0) {
        PyErr_Format(PyExc_ValueError, "timeout has to be seconds from 0 on, or None for ever, not %R", value);
        return -1;
    }
    if (seconds < (double)INT64_MAX / NS_PER_SECOND) *timeout_ns = (int64_t)ceil(seconds * NS_PER_SECOND);
    return 0; /* longer than three hundred years: no limit */
}

static void *at(void *base, uint32_t offset) { return (char *)base + offset; }

/* Writes the number of elements into the field that is their length. */
static int set_length(const struct_entry *entry, const field_entry *field, void *out, uint64_t count,
                      const char *name) {
    if (field->length < 0) return 0;
    const field_entry *length = &entry->fields[field->length];
    void *place = at(out, length->offset);
    if (length->size == sizeof(uint32_t)) {
        if (count > UINT32_MAX) {
            PyErr_Format(PyExc_OverflowError, "%s has too many elements", name);
            return -1;
        }
        memcpy(place, &(uint32_t){(uint32_t)count}, sizeof(uint32_t));
    } else if (!(field->kind == KIND_HOST_IN &&
                 *(uint64_t *)place)) { /* a source may give fewer bytes than there are */
        memcpy(place, &count, sizeof count);
    }
    return 0;
}

static void set_stride(const struct_entry *entry, const field_entry *field, void *out, uint64_t stride) {
    if (field->stride >= 0) memcpy(at(out, entry->fields[field->stride].offset), &stride, sizeof stride);
}

/* An array in the struct: an int or up to `count` of them; those left out are 1 (grid=4 is 4 x 1 x 1). */
static int read_number_array(const field_entry *field, PyObject *value, const char *name, PyObject *kept, void *out) {
    void *numbers;
    uint64_t count;
    if (read_numbers(value, field->element, name, kept, &numbers, &count)) return -1;
    if (count > field->count) {
        PyErr_Format(PyExc_ValueError, "%s has at most %d numbers", name, (int)field->count);
        return -1;
    }
    const size_t size = field->size / field->count;
    if (count) memcpy(out, numbers, (size_t)count * size);
    for (uint64_t i = count; i < field->count; i++) memcpy((char *)out + i * size, &(uint64_t){1}, size);
    return 0;
}

/* An address of a function of C's, alone or with what it gets as `user`. */
static int read_c_function(PyObject *value, const char *name, uint64_t *function, uint64_t *user) {
    *user = 0;
    if (PyTuple_Check(value) && PyTuple_Size(value) == 2)
        return read_number(PyTuple_GetItem(value, 0), KIND_U64, name, function) ||
                       read_number(PyTuple_GetItem(value, 1), KIND_U64, name, user)
                   ? -1
                   : 0;
    if (PyLong_Check(value)) return read_number(value, KIND_U64, name, function);
    return wrong_type(name, "a function, or the address of a function of C's", value);
}

static int read_callback(const struct_entry *entry, const field_entry *field, PyObject *value, void *out,
                         const char *name, reading *reading) {
    void **user = field->user >= 0 ? at(out, entry->fields[field->user].offset) : NULL;
    if (!PyCallable_Check(value)) {
        uint64_t function, given;
        if (read_c_function(value, name, &function, &given)) return -1;
        memcpy(at(out, field->offset), &function, sizeof function);
        if (user && given) memcpy(user, &given, sizeof given);
        return 0;
    }
    const int place = !strcmp(field->name, "pad");
    struct callback *callback = *user;
    if (!callback) {
        callback = callback_kept(reading->kept, reading->callback_parent);
        if (!callback) return -1;
        *user = callback;
    }
    if (callback_set(callback, place, value)) return -1;
    void (*function)(void) = callback_function(field->id, place);
    memcpy(at(out, field->offset), &function, sizeof function);
    if (field->id == CALLBACK_BATCH) {
        callback_hold(callback);
        reading->work = callback;
        ((gpo_batcher_key_options *)out)->release = (gpo_batch_release_fn)callback_function(CALLBACK_BATCH_RELEASE, 0);
    }
    if (field->id == CALLBACK_SINK) reading->sink = callback;
    if (field->id == CALLBACK_BUCKET)
        reading->inside = callback;
    else if (field->id != CALLBACK_LOG)
        reading->called = field->name;
    return 0;
}

static int read_host_field(const struct_entry *entry, const field_entry *field, PyObject *value, void *out,
                           const char *name, reading *reading) {
    void *memory;
    uint64_t bytes;
    if (PyLong_CheckExact(value) && field->length < 0) { /* an address alone */
        uint64_t address;
        if (read_number(value, KIND_U64, name, &address)) return -1;
        memcpy(at(out, field->offset), &address, sizeof address);
        return 0;
    }
    if (read_host(value, field->kind == KIND_HOST_OUT, name, reading->kept, &memory, &bytes)) return -1;
    memcpy(at(out, field->offset), &memory, sizeof memory);
    return set_length(entry, field, out, bytes, name);
}

/* A pointer to an array or to another struct. */
static int read_pointer_field(const struct_entry *entry, const field_entry *field, PyObject *value, void *out,
                              const char *name, reading *reading) {
    void *pointer = NULL, *more = NULL;
    uint64_t count = 0;
    const struct_entry *other = &struct_entries[field->id < STRUCT_COUNT ? field->id : 0];
    int failed = 0;
    switch (field->kind) {
        case KIND_TEXTS: failed = read_texts(value, name, reading->kept, &pointer, &count); break;
        case KIND_HEADERS:
            failed = read_headers(value, name, reading->kept, &pointer, &more, &count);
            memcpy(at(out, field[1].offset), &more, sizeof more); /* the texts are the next field */
            break;
        case KIND_HANDLES: failed = read_handles(value, field->id, name, reading->kept, &pointer, &count); break;
        case KIND_NUMBERS:
            failed = read_numbers(value, field->element, name, reading->kept, &pointer, &count);
            set_stride(entry, field, out, field->element == KIND_F32 ? sizeof(float) : sizeof(uint64_t));
            break;
        case KIND_STRUCTS:
            failed = read_structs(other, value, name, reading, &pointer, &count);
            set_stride(entry, field, out, other->size);
            break;
        default: /* KIND_STRUCT */
            pointer = kept_memory(reading->kept, other->size);
            failed = pointer ? read_struct_into(other, value, pointer, name, reading) : -1;
    }
    if (failed) return -1;
    memcpy(at(out, field->offset), &pointer, sizeof pointer);
    return set_length(entry, field, out, count, name);
}

static int read_handle_field(const field_entry *field, PyObject *value, void *out, const char *name, reading *reading) {
    handle_object *object = check_handle(value, field->id, name);
    if (!object || PyList_Append(reading->kept, value)) return -1;
    memcpy(out, &object->handle, sizeof object->handle);
    if (field->id == CLASS_EXECUTOR) reading->executor = object;
    if (field->id == CLASS_KERNEL) reading->kernel = object;
    return 0;
}

static int read_arguments_field(const struct_entry *entry, const field_entry *field, PyObject *value, void *out,
                                const char *name, reading *reading) {
    void *pointers;
    uint32_t *sizes;
    uint64_t count;
    if (!reading->kernel) {
        PyErr_Format(PyExc_TypeError, "%s: there is no kernel that they are for", name);
        return -1;
    }
    if (read_arguments(value, reading->kernel, name, reading->kept, &pointers, &sizes, &count)) return -1;
    memcpy(at(out, field->offset), &pointers, sizeof pointers);
    for (uint32_t i = 0; i < entry->count; i++)
        if (!strcmp(entry->fields[i].name, "sizes")) memcpy(at(out, entry->fields[i].offset), &sizes, sizeof sizes);
    return set_length(entry, field, out, count, name);
}

static int read_field(const struct_entry *entry, const field_entry *field, PyObject *value, void *out,
                      const char *parameter, reading *reading) {
    char name[128];
    void *place = at(out, field->offset);
    PyOS_snprintf(name, sizeof name, "%s%s%s", parameter ? parameter : "", parameter ? "." : "", field->name);
    switch (field->kind) {
        case KIND_TEXT: return read_text(value, name, reading->kept, place);
        case KIND_NUMBER_ARRAY: return read_number_array(field, value, name, reading->kept, place);
        case KIND_ADDRESS: return read_address(value, 1, name, reading->kept, place, NULL);
        case KIND_POINTER: return read_number(value, KIND_U64, name, place);
        case KIND_HANDLE: return read_handle_field(field, value, place, name, reading);
        case KIND_HANDLES:
        case KIND_STRUCT:
        case KIND_STRUCTS:
        case KIND_NUMBERS:
        case KIND_TEXTS:
        case KIND_HEADERS: return read_pointer_field(entry, field, value, out, name, reading);
        case KIND_ARGUMENTS: return read_arguments_field(entry, field, value, out, name, reading);
        case KIND_HOST_IN:
        case KIND_HOST_OUT: return read_host_field(entry, field, value, out, name, reading);
        case KIND_CALLBACK: return read_callback(entry, field, value, out, name, reading);
        case KIND_TEXT_ARRAY:
        case KIND_BYTE_ARRAY:
        case KIND_VALUE: /* VALUE: read behind the rest, which says its size */ return 0;
        default: return read_number(value, field->kind, name, place);
    }
}

/* The value of a setting or of a stage's argument, once the other fields say what its size is. */
static int read_value_field(const struct_entry *entry, const field_entry *field, PyObject *value, void *out,
                            const char *parameter, reading *reading) {
    char name[128];
    void *pointer;
    uint64_t bytes = 0;
    const char *what = "value";
    if (entry == &struct_entries[STRUCT_SETTING]) {
        const gpo_setting *setting = out;
        bytes = parameter_bytes(reading->graph_template, setting->name);
        what = setting->name ? setting->name : what;
    }
    PyOS_snprintf(name, sizeof name, "%s.%s", parameter, what);
    if (read_value(value, bytes, name, reading->kept, &pointer, &bytes)) return -1;
    memcpy(at(out, field->offset), &pointer, sizeof pointer);
    return set_length(entry, field, out, bytes, name);
}

/* Names of all fields, interned, in the order of the structs. */
static PyObject **field_names[STRUCT_COUNT];

int add_struct_names(void) {
    for (int s = 0; s < STRUCT_COUNT; s++) {
        const struct_entry *entry = &struct_entries[s];
        if (!field_names[s]) field_names[s] = PyMem_Calloc(entry->count, sizeof *field_names[s]);
        if (!field_names[s]) {
            PyErr_NoMemory();
            return -1;
        }
        for (uint32_t i = 0; i < entry->count; i++) {
            PyObject **name = &field_names[s][i];
            if (!*name && !(*name = PyUnicode_InternFromString(entry->fields[i].name))) return -1;
        }
    }
    return 0;
}

static PyObject *name_of(const struct_entry *entry, uint32_t i) { return field_names[entry - struct_entries][i]; }

static const field_entry *find_field(const struct_entry *entry, PyObject *key) {
    if (!PyUnicode_Check(key)) {
        wrong_type("the name of an option", "a str", key);
        return NULL;
    }
    for (uint32_t i = 0; i < entry->count; i++)
        if (name_of(entry, i) == key && !(entry->fields[i].flags & ENTRY_HIDDEN)) return &entry->fields[i];
    for (uint32_t i = 0; i < entry->count; i++) /* a str that isn't interned */
        if (!(entry->fields[i].flags & ENTRY_HIDDEN) &&
            PyUnicode_CompareWithASCIIString(key, entry->fields[i].name) == 0)
            return &entry->fields[i];
    PyObject *names = PyUnicode_FromString("");
    for (uint32_t i = 0; names && i < entry->count; i++)
        if (!(entry->fields[i].flags & ENTRY_HIDDEN))
            PyUnicode_AppendAndDel(
                &names, PyUnicode_FromFormat(PyUnicode_GetLength(names) ? ", %s" : "%s", entry->fields[i].name));
    if (names) PyErr_Format(PyExc_TypeError, "%s has no '%U'; it has: %U", entry->name, key, names);
    Py_XDECREF(names);
    return NULL;
}

/* A dict that no other thread changes meanwhile. */
static PyObject *private_dict(PyObject *dict) {
#ifdef Py_GIL_DISABLED
    return PyDict_Copy(dict);
#else
    return Py_NewRef(dict);
#endif
}

/* Reads a dict in the order of the struct's fields, so that a kernel is known before its arguments. */
static int read_items(const struct_entry *entry, PyObject *dict, void *out, const char *parameter, reading *reading) {
    Py_ssize_t place = 0;
    PyObject *key, *value;
    while (PyDict_Next(dict, &place, &key, &value))
        if (!find_field(entry, key)) return -1;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < entry->count; i++) {
            const field_entry *field = &entry->fields[i];
            if ((field->flags & ENTRY_HIDDEN) || (pass == 1) != (field->kind == KIND_VALUE)) continue;
            value = PyDict_GetItemWithError(dict, name_of(entry, i));
            if (!value && PyErr_Occurred()) return -1;
            if (!value || (value == Py_None && field->kind != KIND_VALUE)) continue;
            Py_INCREF(value);
            const int failed =
                pass ? read_value_field(entry, field, value, out, parameter ? parameter : entry->name, reading)
                     : read_field(entry, field, value, out, parameter, reading);
            Py_DECREF(value);
            if (failed) return -1;
        }
    return 0;
}

static int read_dict(const struct_entry *entry, PyObject *dict, void *out, const char *parameter, reading *reading) {
    PyObject *items = private_dict(dict);
    const int failed = items ? read_items(entry, items, out, parameter, reading) : -1;
    Py_XDECREF(items);
    return failed;
}

/* The attributes of an object, or the items of a mapping, as a dict. */
static PyObject *as_dict(const struct_entry *entry, PyObject *value, const char *parameter) {
    PyObject *dict = PyDict_New();
    if (!dict) return NULL;
    PyObject *attribute = NULL;
    int found = PyMapping_Check(value) ? find_attribute(value, "keys", &attribute) : 0;
    int failed = found < 0;
    Py_XDECREF(attribute);
    if (found > 0) failed = PyDict_Update(dict, value);
    for (uint32_t i = 0; !found && !failed && i < entry->count; i++) {
        if (entry->fields[i].flags & ENTRY_HIDDEN) continue;
        failed = find_attribute(value, entry->fields[i].name, &attribute) < 0 ||
                 (attribute && PyDict_SetItem(dict, name_of(entry, i), attribute));
        Py_XDECREF(attribute);
    }
    if (!failed && !PyDict_Size(dict) && !found) {
        wrong_type(parameter ? parameter : entry->name, "a dict or an object with the fields", value);
        failed = -1;
    }
    if (failed) Py_CLEAR(dict);
    return dict;
}

int read_struct_into(const struct_entry *entry, PyObject *value, void *out, const char *parameter, reading *reading) {
    memset(out, 0, entry->size);
    if (entry->fields[0].flags & ENTRY_STRUCT_SIZE) memcpy(out, &entry->size, sizeof entry->size);
    if (value == Py_None) return 0;
    if (PyDict_Check(value)) return read_dict(entry, value, out, parameter, reading);
    PyObject *dict = as_dict(entry, value, parameter);
    if (!dict) return -1;
    int failed = PyList_Append(reading->kept, dict);
    if (!failed) failed = read_dict(entry, dict, out, parameter, reading);
    Py_DECREF(dict);
    return failed;
}

int read_struct(const struct_entry *entry, PyObject *value, void *out, const char *parameter, PyObject *kept) {
    reading reading = {.kept = kept};
    if (read_struct_into(entry, value, out, parameter, &reading)) return -1;
    if (!reading.called) return 0;
    PyErr_Format(PyExc_TypeError, "%s.%s: a function of Python's needs an executor that the program runs", parameter,
                 reading.called);
    return -1;
}

/* The settings of a dict of names and values, as a list of dicts. */
static PyObject *settings_of(PyObject *dict) {
    PyObject *items = private_dict(dict), *list = items ? PyList_New(0) : NULL, *key, *value;
    Py_ssize_t place = 0;
    while (list && PyDict_Next(items, &place, &key, &value)) {
        PyObject *one = Py_BuildValue("{sOsO}", PyLong_Check(key) ? "parameter" : "name", key, "value", value);
        if (!one || PyList_Append(list, one)) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    Py_XDECREF(items);
    return list;
}

/* A stage's argument that is a value alone: of the size that the kernel says. */
static PyObject *stage_argument(PyObject *value, Py_ssize_t i, const char *name, reading *reading) {
    if (PyDict_Check(value) || !reading->kernel) return Py_NewRef(value);
    uint64_t bytes = 0, size;
    void *memory;
    const gpo_api *api = library();
    if (!api) return NULL;
    if (!(PyTuple_Check(value) || PyBytes_Check(value)) &&
        api->kernel_get_parameter(reading->kernel->handle, (uint32_t)i, NULL, &bytes))
        bytes = 0;
    if (read_value(value, bytes, name, reading->kept, &memory, &size)) return NULL;
    PyObject *content = PyBytes_FromStringAndSize(memory, (Py_ssize_t)size);
    return content ? Py_BuildValue("{sisN}", "kind", GPO_ARGUMENT_VALUE, "value", content) : NULL;
}

int read_structs(const struct_entry *entry, PyObject *value, const char *parameter, reading *reading, void **out,
                 uint64_t *count) {
    *out = NULL;
    *count = 0;
    if (value == Py_None) return 0;
    PyObject *settings = NULL;
    if (entry == &struct_entries[STRUCT_SETTING] && PyDict_Check(value)) {
        value = settings = settings_of(value);
        if (!settings || PyList_Append(reading->kept, settings)) {
            Py_XDECREF(settings);
            return -1;
        }
    }
    PyObject *given = PyDict_Check(value) ? NULL : PySequence_Tuple(value);
    Py_XDECREF(settings);
    if (!given) return forget_error(PyExc_TypeError) < 0 ? -1 : wrong_type(parameter, "a list of dicts", value);
    const Py_ssize_t length = PyTuple_Size(given);
    char *memory = kept_memory(reading->kept, (size_t)(length ? length : 1) * entry->size);
    int failed = memory ? 0 : -1;
    char element[96];
    for (Py_ssize_t i = 0; !failed && i < length; i++) {
        PyOS_snprintf(element, sizeof element, "%s[%zd]", parameter, i);
        PyObject *one = PyTuple_GetItem(given, i);
        one =
            entry == &struct_entries[STRUCT_STAGE_ARGUMENT] ? stage_argument(one, i, element, reading) : Py_NewRef(one);
        failed = one ? read_struct_into(entry, one, memory + (size_t)i * entry->size, element, reading) : -1;
        Py_XDECREF(one);
    }
    Py_DECREF(given);
    *out = memory;
    *count = (uint64_t)length;
    return failed;
}

/* --- records --- */

static PyTypeObject *record_types[STRUCT_COUNT]; /* made when first used, and never freed */

PyTypeObject *record_type(const struct_entry *entry) {
    const ptrdiff_t which = entry - struct_entries;
    PyTypeObject *type = __atomic_load_n(&record_types[which], __ATOMIC_ACQUIRE);
    if (type) return type;
    PyStructSequence_Field *fields = PyMem_Calloc(entry->count + 1, sizeof *fields);
    char *name = PyMem_Malloc(strlen(entry->type_name) + sizeof "gpuorch.records."); /* 3.11 keeps the pointer */
    if (!fields || !name) {
        PyMem_Free(fields);
        PyMem_Free(name);
        PyErr_NoMemory();
        return NULL;
    }
    strcat(strcpy(name, "gpuorch.records."), entry->type_name);
    int count = 0;
    for (uint32_t i = 0; i < entry->count; i++)
        if (!(entry->fields[i].flags & ENTRY_HIDDEN)) fields[count++].name = entry->fields[i].name;
    PyStructSequence_Desc description = {.name = name, .fields = fields, .n_in_sequence = count};
    type = PyStructSequence_NewType(&description);
    PyMem_Free(fields);
    PyTypeObject *expected = NULL;
    if (type &&
        !__atomic_compare_exchange_n(&record_types[which], &expected, type, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        Py_DECREF(type); /* another thread was faster */
        type = expected;
    }
    return type;
}

static PyObject *text_of(const char *text, size_t most) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strnlen(text, most), "replace");
}

static PyObject *record_array(const field_entry *field, const char *in) {
    const size_t size = field->size / field->count;
    PyObject *tuple = PyTuple_New(field->count);
    for (int i = 0; tuple && i < field->count; i++) {
        PyObject *number = number_of(field->element, in + (size_t)i * size);
        if (!number || PyTuple_SetItem(tuple, i, number)) Py_CLEAR(tuple);
    }
    return tuple;
}

static uint64_t number_in(const struct_entry *entry, int place, const void *in) {
    const field_entry *field = &entry->fields[place];
    uint64_t u = 0;
    memcpy(&u, (const char *)in + field->offset, field->size);
    return u;
}

static PyObject *record_structs(const struct_entry *entry, const field_entry *field, const void *in,
                                const char *begin) {
    const struct_entry *other = &struct_entries[field->id];
    const uint64_t count = number_in(entry, field->length, in), stride = number_in(entry, field->stride, in);
    PyObject *list = PyList_New(0);
    for (uint64_t i = 0; list && begin && i < count; i++) {
        PyObject *one = struct_record(other, begin + i * stride);
        if (!one || PyList_Append(list, one)) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

static PyObject *record_field(const struct_entry *entry, const field_entry *field, const void *in) {
    const char *place = (const char *)in + field->offset;
    void *pointer = NULL;
    if (field->size == sizeof pointer) memcpy(&pointer, place, sizeof pointer);
    switch (field->kind) {
        case KIND_TEXT: return pointer ? text_of(pointer, PY_SSIZE_T_MAX) : Py_NewRef(Py_None);
        case KIND_TEXT_ARRAY: return text_of(place, field->size);
        case KIND_BYTE_ARRAY: return PyBytes_FromStringAndSize(place, field->size);
        case KIND_NUMBER_ARRAY: return record_array(field, place);
        case KIND_STRUCT: return pointer ? struct_record(&struct_entries[field->id], pointer) : Py_NewRef(Py_None);
        case KIND_STRUCTS: return record_structs(entry, field, in, pointer);
        case KIND_VALUE: return PyBytes_FromStringAndSize(pointer, (Py_ssize_t)number_in(entry, field->length, in));
        case KIND_U8:
        case KIND_U32:
        case KIND_I32:
        case KIND_U64:
        case KIND_I64:
        case KIND_SIZE:
        case KIND_STATUS:
        case KIND_F32:
        case KIND_F64: return number_of(field->kind, place);
        default: /* addresses, handles that may be stale, pointers */ return number_of(KIND_U64, place);
    }
}

PyObject *struct_record(const struct_entry *entry, const void *in) {
    PyTypeObject *type = record_type(entry);
    PyObject *record = type ? PyStructSequence_New(type) : NULL;
    Py_ssize_t place = 0;
    for (uint32_t i = 0; record && i < entry->count; i++) {
        if (entry->fields[i].flags & ENTRY_HIDDEN) continue;
        PyObject *value = record_field(entry, &entry->fields[i], in);
        if (value)
            PyStructSequence_SetItem(record, place++, value);
        else
            Py_CLEAR(record);
    }
    return record;
}

void replace_field(const struct_entry *entry, PyObject *record, const char *field, PyObject *value) {
    Py_ssize_t place = 0;
    for (uint32_t i = 0; i < entry->count; i++) {
        if (entry->fields[i].flags & ENTRY_HIDDEN) continue;
        if (!strcmp(entry->fields[i].name, field)) {
            PyObject *before = PyStructSequence_GetItem(record, place); /* borrowed: SetItem doesn't give it back */
            PyStructSequence_SetItem(record, place, value);
            Py_XDECREF(before);
            return;
        }
        place++;
    }
    Py_DECREF(value);
}
