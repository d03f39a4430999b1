/* call.h: the state of one call of the library. Four files share the state: arguments.c makes words of C from Python's
 * arguments, results.c makes room for C's output and objects from the output, keeping.c keeps what has to stay, and
 * marshal.c calls. */
#ifndef GPUORCH_CALL_H
#define GPUORCH_CALL_H

#include "marshal.h"

enum { MOST = 12 }; /* parameters of a function */

typedef struct call {
    const gpo_api *api;
    const function_entry *entry;
    PyObject *given[MOST]; /* borrowed; NULL: left out */
    word words[MOST];
    uint64_t written[MOST]; /* where C writes numbers and handles */
    uint64_t extents[MOST]; /* bytes of memory that was given; UINT64_MAX: unknown */
    reading reading;
    handle_object *first, *stream, *executor; /* borrowed */
    struct callback *once;                    /* a function for this call, until the library has it */
} call;

static inline int is(const call *c, enum function_id id) { return c->entry == &function_entries[id]; }

/* --- arguments.c --- */

/* Assigns Python's arguments to parameters, by their places and names. */
int assign(call *c, PyObject *const *args, Py_ssize_t positional, PyObject *names);
/* Makes the words of all given arguments, and the words that follow from them. */
int read_inputs(call *c);
/* The places of parameters that functions of several kinds have, found once; -1: there is none. */
typedef struct places {
    int8_t bytes, source, destination, count, element_bytes, capacity, wait_ns;
} places;
const places *places_of(const call *c);
/* Makes the names of parameters as objects, and finds the places, once. */
int add_names(void);
int is_left_out(const call *c, int i);
/* Marks that objects carry for later calls: `_caller`: functions of Python's run on the program's threads. has_flag()
 * may leave an exception: no memory. */
int has_flag(PyObject *object, const char *name);
int set_flag(PyObject *object, const char *name);
/* Bytes of a queue's tasks and answers. The sizes are noted when a queue is made, because asking may enter the
 * driver. */
int queue_sizes(call *c, uint32_t *task_size, uint32_t *answer_size);
int note_queue_sizes(PyObject *queue, const gpo_queue_options *options);

/* --- results.c --- */

/* Room for what C writes. */
int make_room(call *c);
/* Makes more room if C needed more. 1: C has to be called again. */
int grow(call *c, gpo_status status);
/* The results as objects: one object, or a tuple. */
PyObject *results(call *c);

/* --- keeping.c --- */

/* The kept objects of a call that work or another object may need later. NULL without an exception: there are none. */
PyObject *lasting(PyObject *kept, int *failed);
/* Keeps what has to stay behind a call that has succeeded. */
int keep_things(call *c);

#endif
