/* stream_keep.c: keeps what a stream's work uses until the work is done.
 *
 * A stream numbers its operations. The objects of a call are kept with the number of the newest operation after that
 * call, and are dropped once the library has seen that operation completed. When a stream is closed before, a mark in a
 * completion queue of ours says when the work is done. Objects that wait for marks are *leftovers*, and belong to a
 * runtime.
 *
 * Recorded work isn't run, and its template keeps the objects of the work. The library counts recorded operations too,
 * and doesn't say whether a stream is recording. Therefore, while any template of the runtime records, that template
 * keeps all objects. */
#include "objects.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define NEWEST 8        /* how many of the newest entries are compared: the same memory is often used again */
#define CLEANED_AT 16   /* fewer entries are cleaned at every call */

struct entry {
    uint64_t number; /* of the operation that uses the object last */
    PyObject *object;
};

struct in_flight {
    size_t count, room, clean_at;
    struct entry *entries;
    struct in_flight *next; /* in a list of those to be freed */
};

struct leftover {
    uint64_t mark;
    struct in_flight *things;
    struct leftover *next;
};

struct leftovers {
    gpo_cq_t cq;
    uint64_t newest_mark;
    struct leftover *first;
    struct leftovers *next; /* in the list of all */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct leftovers *all_leftovers;

/* A template that records. A close takes the template out of the list. */
struct recording {
    const handle_object *graph_template; /* to be compared only */
    const void *runtime;
    PyObject *reference; /* weak: another thread may be deallocating the template */
};

static struct recording *recordings;
static size_t recording_count, recording_room; /* the first is atomic */

/* In a forked child the lock may stay locked. */
static void acquire(void) {
    if (!is_over()) pthread_mutex_lock(&lock);
}

static void release(void) {
    if (!is_over()) pthread_mutex_unlock(&lock);
}

/* --- recordings --- */

/* Room for one more. Under the lock. */
static int more_recordings(void) {
    if (recording_count < recording_room) return 0;
    const size_t room = recording_room ? 2 * recording_room : 4;
    struct recording *more = realloc(recordings, room * sizeof *more);
    if (!more) return -1;
    recordings = more;
    recording_room = room;
    return 0;
}

int recording_begins(handle_object *recording) {
    PyObject *reference = PyWeakref_NewRef((PyObject *)recording, NULL);
    if (!reference) return -1;
    acquire();
    const int failed = more_recordings();
    if (!failed) {
        recordings[recording_count] = (struct recording){recording, recording->runtime, reference};
        __atomic_store_n(&recording_count, recording_count + 1, __ATOMIC_RELEASE);
    }
    release();
    if (!failed) return 0;
    Py_DECREF(reference);
    PyErr_NoMemory();
    return -1;
}

void recording_ends(handle_object *recording) { forget_recording(recording); }

void forget_recording(handle_object *recording) {
    PyObject *reference;
    do {
        reference = NULL;
        acquire();
        for (size_t i = recording_count; i-- > 0 && !reference;) {
            if (recordings[i].graph_template != recording) continue;
            reference = recordings[i].reference;
            recordings[i] = recordings[recording_count - 1];
            __atomic_store_n(&recording_count, recording_count - 1, __ATOMIC_RELEASE);
        }
        release();
        Py_XDECREF(reference);
    } while (reference);
}

/* A template of the runtime that records, the `index`-th; a new reference, or NULL without an exception. */
static handle_object *recording_of(const void *runtime, size_t index) {
    if (__atomic_load_n(&recording_count, __ATOMIC_ACQUIRE) == 0) return NULL;
    PyObject *reference = NULL;
    acquire();
    for (size_t i = 0, at = index; i < recording_count && !reference; ++i)
        if (recordings[i].runtime == runtime && at-- == 0) reference = Py_NewRef(recordings[i].reference);
    release();
    if (!reference) return NULL;
    PyObject *found = PyObject_CallNoArgs(reference);
    Py_DECREF(reference);
    if (!found) PyErr_Clear();
    if (found != Py_None) return (handle_object *)found;
    Py_DECREF(found); /* it is about to leave the list */
    return recording_of(runtime, index + 1);
}

static int is_recorded(const void *runtime) {
    if (__atomic_load_n(&recording_count, __ATOMIC_ACQUIRE) == 0) return 0;
    int found = 0;
    acquire();
    for (size_t i = 0; i < recording_count && !found; ++i) found = recordings[i].runtime == runtime;
    release();
    return found;
}

int may_record(const handle_object *stream) { return is_recorded(stream->runtime); }

int is_recording(const gpo_api *api, const handle_object *stream) {
    uint32_t node;
    for (size_t i = 0;; ++i) {
        handle_object *found = recording_of(stream->runtime, i);
        if (!found) return 0;
        void *recording = found->handle, *handle = stream->handle;
        Py_DECREF((PyObject *)found);
        if (recording && handle && api->template_get_last_node(recording, handle, &node) == GPO_SUCCESS) return 1;
    }
}

gpo_status query_stream(const gpo_api *api, const handle_object *stream) {
    void *handle = stream->handle;
    gpo_stream_info info = {.struct_size = sizeof info};
    if (!handle) return GPO_STALE_HANDLE;
    if (!may_record(stream)) return api->stream_query(handle);
    const gpo_status status = api->stream_get_info(handle, &info);
    return status != GPO_SUCCESS || info.completed == info.accepted ? status : GPO_CAPTURE_REFUSED;
}

static int keep_with_recordings(const void *runtime, PyObject *object) {
    for (size_t i = 0;; ++i) {
        handle_object *found = recording_of(runtime, i);
        if (!found) return 0;
        const int failed = keep(found, object);
        Py_DECREF((PyObject *)found);
        if (failed) return -1;
    }
}

/* --- what a stream's work uses --- */

void free_in_flight(struct in_flight *things) {
    while (things) {
        struct in_flight *next = things->next;
        for (size_t i = 0; i < things->count; ++i) Py_DECREF(things->entries[i].object);
        free(things->entries);
        free(things);
        things = next;
    }
}

int visit_in_flight(struct in_flight *things, visitproc visit, void *arg) {
    for (size_t i = 0; things && i < things->count; ++i) Py_VISIT(things->entries[i].object);
    return 0;
}

/* Room for one more. Under the lock. */
static int make_room(struct in_flight *things) {
    if (things->count < things->room) return 0;
    const size_t room = things->room ? 2 * things->room : 8;
    struct entry *more = realloc(things->entries, room * sizeof *more);
    if (!more) return -1;
    things->entries = more;
    things->room = room;
    return 0;
}

/* Takes out the objects of operations up to this number. NULL: none were found, or memory is short and the objects
 * stay. Under the lock. */
static struct in_flight *take_done(struct in_flight *things, uint64_t completed) {
    size_t done = 0, kept = 0;
    for (size_t i = 0; i < things->count; ++i) done += things->entries[i].number <= completed;
    if (done == 0) return NULL;
    struct in_flight *taken = calloc(1, sizeof *taken);
    if (taken) taken->entries = malloc(done * sizeof *taken->entries);
    if (!taken || !taken->entries) {
        free(taken);
        return NULL;
    }
    for (size_t i = 0; i < things->count; ++i) {
        const struct entry one = things->entries[i];
        if (one.number <= completed) taken->entries[taken->count++] = one;
        else things->entries[kept++] = one;
    }
    things->count = kept;
    things->clean_at = kept < CLEANED_AT ? CLEANED_AT : 2 * kept;
    return taken;
}

/* Adds an object, and takes out the objects of completed operations, to be freed. -1: no memory. Under the lock. */
static int add(handle_object *stream, const gpo_stream_info *info, PyObject *object, struct in_flight **done) {
    struct in_flight *things = stream->in_flight;
    if (!things && !(things = calloc(1, sizeof *things))) return -1;
    __atomic_store_n(&stream->in_flight, things, __ATOMIC_RELAXED);
    if (things->count < CLEANED_AT || things->count >= things->clean_at) *done = take_done(things, info->completed);
    for (size_t i = things->count; i > 0 && i + NEWEST > things->count; --i)
        if (things->entries[i - 1].object == object) {
            if (things->entries[i - 1].number < info->accepted) things->entries[i - 1].number = info->accepted;
            return 0;
        }
    if (make_room(things) < 0) return -1;
    things->entries[things->count++] = (struct entry){info->accepted, Py_NewRef(object)};
    return 0;
}

/* --- streams that are closed before their work is done --- */

/* The leftovers of a runtime, made at the first call. NULL, without an exception: there can be none. */
static struct leftovers *leftovers_of(const gpo_api *api, handle_object *runtime) {
    struct leftovers *known = __atomic_load_n(&runtime->leftovers, __ATOMIC_ACQUIRE);
    if (known) return known;
    struct leftovers *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    if (api->cq_create(runtime->handle, NULL, &made->cq) != GPO_SUCCESS) {
        free(made);
        return NULL;
    }
    acquire();
    if (!runtime->leftovers) {
        made->next = all_leftovers;
        __atomic_store_n(&all_leftovers, made, __ATOMIC_RELEASE);
        __atomic_store_n(&runtime->leftovers, made, __ATOMIC_RELEASE);
        made = NULL;
    }
    release();
    if (made) api->cq_destroy(made->cq);
    free(made);
    return runtime->leftovers;
}

/* Lets a mark say when the work is done. 0: that isn't possible. */
static int leave_behind_mark(const gpo_api *api, handle_object *runtime, void *stream, struct in_flight *things) {
    struct leftovers *leftovers = leftovers_of(api, runtime);
    struct leftover *one = leftovers ? calloc(1, sizeof *one) : NULL;
    if (!one) return 0;
    acquire();
    one->mark = ++leftovers->newest_mark;
    one->things = things;
    one->next = leftovers->first;
    leftovers->first = one;
    release();
    if (api->stream_notify(stream, leftovers->cq, one->mark) == GPO_SUCCESS) return 1;
    acquire();
    for (struct leftover **place = &leftovers->first; *place; place = &(*place)->next)
        if (*place == one) {
            *place = one->next;
            break;
        }
    release();
    free(one);
    return 0;
}

/* Keeps all with a runtime or a device until that is collected. An object that can't be kept leaks, because the GPU may
 * use the object. */
static void keep_all(handle_object *owner, struct in_flight *things) {
    for (size_t i = 0; i < things->count; ++i)
        if (keep(owner, things->entries[i].object) < 0) {
            Py_INCREF(things->entries[i].object);
            PyErr_Clear();
        }
    free_in_flight(things);
}

void leave_stream(handle_object *stream, void *handle) {
    if (stream->kind != CLASS_STREAM || !has_in_flight(stream)) return;
    const gpo_api *api = open_library();
    gpo_stream_info info = {.struct_size = sizeof info};
    const gpo_status status = api->stream_get_info(handle, &info);
    struct in_flight *done = NULL;
    acquire();
    struct in_flight *things = stream->in_flight;
    __atomic_store_n(&stream->in_flight, NULL, __ATOMIC_RELAXED);
    if (things && status == GPO_SUCCESS) done = take_done(things, info.completed);
    release();
    free_in_flight(done);
    if (!things) return;
    handle_object *runtime = ancestor(stream, CLASS_RUNTIME);
    if (status != GPO_SUCCESS || things->count == 0 || !runtime || !runtime->handle) free_in_flight(things);
    else if (is_recorded(runtime->handle) || !leave_behind_mark(api, runtime, handle, things))
        keep_all(runtime, things);
}

void leave_closed_stream(handle_object *stream) {
    struct in_flight *things = take_in_flight(stream);
    if (!things) return;
    handle_object *runtime = ancestor(stream, CLASS_RUNTIME);
    if (things->count == 0 || !runtime || !runtime->handle) free_in_flight(things);
    else keep_all(runtime, things);
}

/* A callback's stream ends with the callback, so a mark is left at once. Buckets keep the objects of the work that they
 * record. */
static int keep_borrowed(const gpo_api *api, handle_object *stream, PyObject *object) {
    handle_object *buckets = ancestor(stream, CLASS_BUCKETS);
    if (buckets) return keep(buckets, object);
    handle_object *runtime = ancestor(stream, CLASS_RUNTIME);
    if (!runtime || !runtime->handle) return 0;
    struct in_flight *one = calloc(1, sizeof *one);
    if (!one || make_room(one) < 0) {
        free(one);
        PyErr_NoMemory();
        return -1;
    }
    one->entries[one->count++] = (struct entry){0, Py_NewRef(object)};
    if (is_recorded(stream->runtime) || !leave_behind_mark(api, runtime, stream->handle, one)) keep_all(runtime, one);
    return 0;
}

int visit_leftovers(struct leftovers *leftovers, visitproc visit, void *arg) {
    for (struct leftover *one = leftovers ? leftovers->first : NULL; one; one = one->next) {
        const int stops = visit_in_flight(one->things, visit, arg);
        if (stops) return stops;
    }
    return 0;
}

/* Takes out what this mark was for. Under the lock. */
static struct in_flight *take_marked(struct leftovers *leftovers, uint64_t mark) {
    for (struct leftover **place = &leftovers->first; *place; place = &(*place)->next) {
        struct leftover *one = *place;
        if (one->mark != mark) continue;
        struct in_flight *things = one->things;
        *place = one->next;
        free(one);
        return things;
    }
    return NULL;
}

void drop_leftovers(struct leftovers *leftovers) {
    struct in_flight *taken = NULL;
    acquire();
    while (leftovers && leftovers->first) {
        struct in_flight *things = take_marked(leftovers, leftovers->first->mark);
        things->next = taken;
        taken = things;
    }
    release();
    free_in_flight(taken);
}

void free_leftovers(struct leftovers *leftovers) {
    if (!leftovers) return;
    acquire();
    for (struct leftovers **place = &all_leftovers; *place; place = &(*place)->next)
        if (*place == leftovers) {
            *place = leftovers->next;
            break;
        }
    release();
    drop_leftovers(leftovers);
    if (!is_over()) open_library()->cq_destroy(leftovers->cq);
    free(leftovers);
}

void reap_leftovers(void) {
    if (!__atomic_load_n(&all_leftovers, __ATOMIC_ACQUIRE)) return;
    const gpo_api *api = open_library();
    struct in_flight *taken = NULL;
    acquire();
    for (struct leftovers *one = all_leftovers; one; one = one->next) {
        gpo_completion entries[64];
        uint64_t count = one->first ? 64 : 0;
        while (count > 0) {
            for (size_t i = 0; i < 64; ++i) entries[i].struct_size = sizeof *entries;
            count = 0;
            if (api->cq_drain(one->cq, entries, sizeof *entries, 64, &count) != GPO_SUCCESS) break;
            for (uint64_t i = 0; i < count; ++i) {
                struct in_flight *things = take_marked(one, entries[i].user_data);
                if (!things) continue;
                things->next = taken;
                taken = things;
            }
        }
    }
    release();
    free_in_flight(taken);
}

/* --- while streams work --- */

/* Work on a stream that another library captures is recorded, too, and only that library knows when it ends. */
static int is_captured(const gpo_api *api, const gpo_stream_info *info, void *handle) {
    return info->wrapped && api->stream_query(handle) == GPO_CAPTURE_REFUSED;
}

int runs_in_order(handle_object *stream) {
    const gpo_api *api = open_library();
    gpo_stream_info info = {.struct_size = sizeof info};
    return !stream->borrowed && stream->handle && api && !is_over() && !is_recorded(stream->runtime) &&
           api->stream_get_info(stream->handle, &info) == GPO_SUCCESS && !is_captured(api, &info, stream->handle);
}

static int needs_cleaning(const handle_object *stream) {
    acquire();
    const struct in_flight *things = stream->in_flight;
    const int needed = things && things->count >= CLEANED_AT && things->count >= things->clean_at;
    release();
    return needed;
}

int stream_keep(handle_object *stream, PyObject *object) {
    const gpo_api *api = open_library();
    void *handle = stream->handle;
    if (!handle || !api || is_over()) return 0;
    gpo_stream_info info = {.struct_size = sizeof info};
    if (api->stream_get_info(handle, &info) != GPO_SUCCESS) return 0; /* its runtime has ended, and all work with it */
    if (is_recorded(stream->runtime)) {
        if (keep_with_recordings(stream->runtime, object) < 0) return -1;
    } else if (is_captured(api, &info, handle)) {
        handle_object *device = ancestor(stream, CLASS_DEVICE);
        return device ? keep(device, object) : 0;
    } else if (needs_cleaning(stream)) {
        /* The library looks for completed work only when asked. A query would spoil a recording. */
        if (api->stream_query(handle) == GPO_SUCCESS) info.completed = info.accepted;
        else api->stream_get_info(handle, &info);
    }
    if (stream->borrowed) return keep_borrowed(api, stream, object);
    struct in_flight *done = NULL;
    acquire();
    const int failed = add(stream, &info, object, &done);
    release();
    free_in_flight(done);
    if (failed) PyErr_NoMemory();
    return failed;
}

struct in_flight *take_in_flight(handle_object *stream) {
    acquire();
    struct in_flight *things = stream->in_flight;
    __atomic_store_n(&stream->in_flight, NULL, __ATOMIC_RELAXED);
    release();
    return things;
}

struct in_flight *take_finished(handle_object *stream) {
    void *handle = stream->handle;
    gpo_stream_info info = {.struct_size = sizeof info};
    if (!has_in_flight(stream) || !handle || is_over()) return NULL;
    if (open_library()->stream_get_info(handle, &info) != GPO_SUCCESS) return NULL;
    acquire();
    struct in_flight *done = stream->in_flight ? take_done(stream->in_flight, info.completed) : NULL;
    release();
    return done;
}

void forget_done(handle_object *stream) { free_in_flight(take_finished(stream)); }
