/* library.c: opens libgpuorch when it is first used, and says when it must be used no more.
 *
 * The first choice is the file that GPUORCH_LIBRARY names. The second is a libgpuorch of the same SONAME that the
 * process has loaded already, because the process needs a single state. The third is the file beside this module, as in
 * wheels. The last is the system's library. */
#include "objects.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef const gpo_api *(*get_api_function)(uint32_t version);

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static const gpo_api *table; /* atomic */
static gpo_api completed;    /* the table of an older library, completed */
static char library_path[4096];
static int over, used;       /* atomic */

static gpo_status missing(void) { return GPO_NOT_SUPPORTED; }

/* A library with fewer functions has a smaller table: the others say that they aren't supported. */
static const gpo_api *complete(const gpo_api *given) {
    if (given->struct_size >= sizeof completed) return given;
    gpo_status (*function)(void) = missing;
    memcpy(&completed, given, given->struct_size);
    for (size_t at = given->struct_size; at + sizeof function <= sizeof completed; at += sizeof function)
        memcpy((char *)&completed + at, &function, sizeof function);
    return &completed;
}

static void in_child(void) {
    if (__atomic_load_n(&used, __ATOMIC_ACQUIRE)) __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
}

static void *open_file(const char *path, int flags) { return dlopen(path, RTLD_NOW | RTLD_LOCAL | flags); }

/* The file beside the module: "" if there is none. */
static void path_beside(char *path, size_t room) {
    Dl_info here;
    path[0] = '\0';
    if (!dladdr((void *)(uintptr_t)&library, &here) || !here.dli_fname) return;
    const char *slash = strrchr(here.dli_fname, '/');
    const int length = slash ? (int)(slash - here.dli_fname) : 1;
    const int needed = snprintf(path, room, "%.*s/%s", length, slash ? here.dli_fname : ".", GPO_SONAME);
    if (needed < 0 || (size_t)needed >= room || access(path, R_OK) != 0) path[0] = '\0';
}

static void *find_library(const char **name) {
    static char beside[sizeof library_path];
    const char *given = secure_getenv("GPUORCH_LIBRARY");
    if (given && given[0]) return open_file(*name = given, 0);
    void *loaded = open_file(*name = GPO_SONAME, RTLD_NOLOAD);
    if (loaded) return loaded;
    path_beside(beside, sizeof beside);
    return open_file(*name = beside[0] ? beside : GPO_SONAME, 0);
}

/* Why a library couldn't be opened: dlopen's words, and what helps. */
static void explain(const char *words, char *text, size_t room) {
    const char *advice = " (GPUORCH_LIBRARY can name the file)";
    if (strstr(words, "GLIBCXX_") || strstr(words, "CXXABI_"))
        advice = ". The libstdc++ of this system, or of this Python's environment, is too old: libgpuorch needs "
                 "that of GCC 11 or later. Install a newer one (in conda: libstdcxx-ng), or name its folder in "
                 "LD_LIBRARY_PATH";
    else if (strstr(words, "GLIBC_"))
        advice = ". The C library of this system is too old: libgpuorch needs glibc 2.34 or later";
    snprintf(text, room, "%s%s", words, advice);
}

/* Opens the library. Needs no GIL. NULL: `text` says why. */
static const gpo_api *open_now(char *text, size_t room) {
    const char *name = "";
    void *file = find_library(&name);
    if (!file) {
        const char *words = dlerror();
        explain(words ? words : name, text, room);
        return NULL;
    }
    get_api_function get_api;
    *(void **)&get_api = dlsym(file, "gpo_get_api");
    if (!get_api) {
        snprintf(text, room, "%s is not libgpuorch: it has no gpo_get_api", name);
        dlclose(file);
        return NULL;
    }
    const gpo_api *found = get_api(GPO_VERSION);
    if (!found) {
        uint32_t (*version)(void);
        *(void **)&version = dlsym(file, "gpo_version");
        snprintf(text, room, "%s can't serve version %d of the ABI: it has version %u", name, GPO_VERSION,
                 version ? version() : 0);
        return NULL; /* stays loaded: a library that may have threads isn't unloaded */
    }
    Dl_info where;
    const int known = dladdr((void *)(uintptr_t)get_api, &where) && where.dli_fname;
    snprintf(library_path, sizeof library_path, "%s", known ? where.dli_fname : name);
    pthread_atfork(NULL, NULL, in_child);
    return complete(found);
}

const gpo_api *library(void) {
    const gpo_api *now = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
    if (now) return now;
    char text[6000] = "";
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&opening);
    now = table;
    if (!now) {
        now = open_now(text, sizeof text);
        __atomic_store_n(&table, now, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&opening);
    Py_END_ALLOW_THREADS
    if (!now) PyErr_SetString(PyExc_ImportError, text);
    return now;
}

const gpo_api *open_library(void) { return __atomic_load_n(&table, __ATOMIC_ACQUIRE); }

int is_over(void) { return __atomic_load_n(&over, __ATOMIC_ACQUIRE); }

void set_over(void) { __atomic_store_n(&over, 1, __ATOMIC_RELEASE); }

void library_is_used(void) { __atomic_store_n(&used, 1, __ATOMIC_RELEASE); }

static PyStructSequence_Field library_fields[] = {
    {"path", "the file of the library"},
    {"version", "its version, such as \"0.1.0\""},
    {NULL, NULL}};
static PyStructSequence_Desc library_record = {"gpuorch.LibraryInfo", "Which libgpuorch is used.", library_fields, 2};
static PyTypeObject *library_type;

static PyObject *tell_library(PyObject *module, PyObject *none) {
    (void)module, (void)none;
    const gpo_api *api = library();
    if (!api) return NULL;
    PyObject *record = PyStructSequence_New(library_type);
    PyObject *path = PyUnicode_DecodeFSDefault(library_path);
    const unsigned version = api->library_version;
    PyObject *text = PyUnicode_FromFormat("%u.%u.%u", version / 10000, version / 100 % 100, version % 100);
    if (!record || !path || !text) {
        Py_XDECREF(record), Py_XDECREF(path), Py_XDECREF(text);
        return NULL;
    }
    PyStructSequence_SetItem(record, 0, path);
    PyStructSequence_SetItem(record, 1, text);
    return record;
}

static PyMethodDef functions[] = {
    {"library", tell_library, METH_NOARGS,
     "library()\n--\n\nWhich libgpuorch is used: its path and version. Opens it, if it isn't open."},
    {NULL, NULL, 0, NULL}};

int add_library(PyObject *module) {
    if (!library_type) library_type = PyStructSequence_NewType(&library_record);
    return library_type ? PyModule_AddFunctions(module, functions) : -1;
}
