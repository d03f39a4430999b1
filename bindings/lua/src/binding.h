/* binding.h: the data that the parts of the module share, and what each part offers the others.
 *
 * Words. The *state* is the module's data for one Lua state, and the first upvalue of each of the module's C functions.
 * An *object* is a userdata around one handle of the library. The object's own table (the user value) keeps other
 * values alive, the parent at index 1. *Here* is the thread that runs the Lua state; no other thread enters Lua.
 *
 * Rules: make an object before its handle: then an error raised by Lua leaks nothing. Return a failure of the library
 * as nil, message, name. Raise an error for a mistake in the call.
 */
#ifndef GPUORCH_LUA_BINDING_H
#define GPUORCH_LUA_BINDING_H

#include <gpuorch/api.h>
#include <pthread.h>
#include <stddef.h>

#include "classes.h"
#include "compat.h"

#pragma GCC visibility push(hidden) /* the module exports luaopen_gpuorch and nothing else */

struct bridge;
struct runtime_context;

/* Slots of a runtime's own table. */
enum { RUNTIME_LOG = 2, RUNTIME_HOME };

typedef struct object {
    enum class_id id;
    int closed;
    int borrowed;         /* 1: closing it destroys nothing */
    int users;            /* number of unfreed arrays and runs that need the handle, which then outlives the closing */
    int runtime;          /* number of the object's runtime; 0: the object has no runtime */
    const struct state *state; /* in which the object was made */
    void *above;          /* the handle of the object's parent, only for comparisons; NULL: none */
    void *handle;         /* the library's handle; NULL: not made yet, or destroyed */
} object;

enum { RECOGNISED = 256 };
typedef struct state {
    const gpo_api *api;
    const void *metatables[CLASS_COUNT]; /* addresses of the classes' metatables, to find a userdata's class */
    struct bridge *bridge; /* NULL: lua_close() is running, and only finalizers older than the module still run */
    lua_State *main;      /* the main coroutine; NULL where it isn't known (5.1, loaded from another coroutine) */
    lua_State *running;   /* coroutine inside a call that calls back here (executors, shutdown); NULL: none */
    int serving;          /* depth of callbacks in progress: nothing may yield */
    int interrupted;      /* Ctrl-C ended a callback, and must also end the call that ran the callback */
    int recorder;         /* number of the template that began to be recorded last; 0: none is being recorded */
    int traced;           /* the error being propagated through protected calls already has its traceback */
    struct unheard *unheard; /* errors in callbacks that no wait will return, in order: to be reported */
    const void *address_metatable;
    int classes, module;  /* registry references: metatables by number, the module's table, */
    int addresses;        /* addresses' metatable, */
    int known, newest;    /* objects that callbacks find by number, weakly, and the newest number, */
    int runner, caller;   /* functions that run requests and pending calls, protected, */
    int teller, handler;  /* function that delivers log lines, message handler for errors, */
    int unheard_teller;   /* and function that reports the errors in `unheard` */
    object *recognised[RECOGNISED]; /* userdata that are known to be objects, by their address (object.c) */
    struct request *request;
    struct owned *owned;  /* what userdata own outside Lua, in a list (owned.c) */
    const struct call *call;
    struct runtime_context *contexts;
    int64_t held_bytes;   /* of arrays that are alive */
    int64_t unstepped;    /* of arrays made since the last step of the collector */
    int forks;            /* fork count of the owning process: a forked child leaves the state alone */
} state;

#define HANDLE(object, type) ((type)(object)->handle)
/* The handle of the argument at an index, an open object of the class `word`. */
#define CHECK_HANDLE(index, word) \
    HANDLE((const object *)check_object(L, s, index, (enum class_id)CLASS_OF_##word), gpo_##word##_t)

static inline state *the_state(lua_State *L) { return lua_touserdata(L, lua_upvalueindex(1)); }

/* --- object.c --- */

typedef struct class_info {
    const char *name;     /* "stream": in messages */
    size_t size;          /* of the userdata, which begins with an object */
    const luaL_Reg *methods; /* NULL: none */
    /* Destroys the handle and memory of the open object on top of the stack. `collected`: called by a finalizer: must
     * not run callbacks. */
    void (*destroy)(lua_State *L, state *s, object *o, int collected);
} class_info;
extern const class_info classes[CLASS_COUNT];
extern const char state_is_closed[]; /* message for finalizers that run after the module's own */

void make_classes(lua_State *L, state *s, int state_index);
void push_functions(lua_State *L, int state_index, const luaL_Reg *functions); /* into the table on top */
/* Pushes a new object without a handle; its parent is the value at `parent`, or none if that is 0. */
void *new_object(lua_State *L, state *s, enum class_id id, int parent);
/* Cache of userdata known to be the module's objects: asking Lua for the metatable is most of the cost of a short call.
 * The finalizer clears an object's place, so that no later userdata at the same address is mistaken for the object. The
 * module gives no object's address out as light userdata. If Lua had no memory to call the finalizer, the place is
 * stale, and another library's userdata may be at the address. Checking o->state finds that out: only the module's
 * objects contain the state's address. */
static inline object **place_of(state *s, const void *memory) {
    const uintptr_t number = (uintptr_t)memory / 16;
    return &s->recognised[(number ^ number >> 8) % RECOGNISED];
}
static inline int is_open(const state *s, const object *o) { return !o->closed && o->handle && s->bridge; }
/* The object at an index, raising if it is none of that class, or closed. */
void *check_unknown_object(lua_State *L, state *s, int index, enum class_id id);
static inline void *check_object(lua_State *L, state *s, int index, enum class_id id) {
    object *o = lua_touserdata(L, index);
    if (o && *place_of(s, o) == o && o->state == s && o->id == id && is_open(s, o)) return o;
    return check_unknown_object(L, s, index, id);
}
void *check_object_even_closed(lua_State *L, state *s, int index, enum class_id id);
void *test_object(lua_State *L, state *s, int index, enum class_id id);     /* NULL where it is something else */
void *optional_object(lua_State *L, state *s, int index, enum class_id id); /* NULL for none and nil */
const char *article(const char *word); /* "a" or "an" */
/* Pushes memory with the handles of the objects in the list at `list`: all open, of one class, and of the runtime if
 * that isn't 0. `option` begins the messages. */
void *check_objects(lua_State *L, state *s, int list, enum class_id id, int runtime, const char *option);
object *any_object(lua_State *L, state *s, int index); /* open, of a class with a handle of the library's */
void close_object(lua_State *L, state *s, int index, int collected);
void drop_user(lua_State *L, state *s, int index); /* one less; a closed object goes with the last */
/* Keeps the value at `value` alive as long as the object at `index`, under `slot` (2 and above; 1 is the parent). */
void keep(lua_State *L, int index, int slot, int value);
void push_kept(lua_State *L, int index, int slot);
/* Numbers by which callbacks find objects. A number doesn't keep its object alive. */
int remember(lua_State *L, state *s, int index);
int push_known(lua_State *L, state *s, int number); /* 0, with nil pushed, if the object was collected */
struct runtime_context *context_of(lua_State *L, state *s, const object *o); /* NULL: runtime collected or ended */

/* --- owned.c: memory that a userdata owns outside Lua --- */

/* Frees what the block refers to; the block itself is freed behind it. */
typedef void (*owned_release)(state *s, void *block);
void *owned_make(state *s, size_t bytes,
                 owned_release release);                 /* zeroed; NULL: out of memory. `release` may be NULL */
void *owned_resize(state *s, void *block, size_t bytes); /* as realloc: NULL makes a block, which isn't zeroed */
char *owned_text(state *s, const char *text);
void owned_free(state *s, void *block); /* NULL: nothing happens */
void owned_free_all(state *s);

/* --- status.c --- */

/* Lua's results for a status: true; false, text, name for an answer such as GPO_TIMEOUT; nil, message, name. */
int result(lua_State *L, state *s, gpo_status status);
int query_result(lua_State *L, state *s, gpo_status status); /* just false for GPO_NOT_READY */
int failure(lua_State *L, state *s, gpo_status status); /* status is not 0 */
int failure_with(lua_State *L, state *s, gpo_status status, const char *message);
/* For functions that create the object on top of the stack: returns the object, or the failure. */
int created(lua_State *L, state *s, gpo_status status);
void push_error_record(lua_State *L, state *s, const gpo_error *error);
gpo_status check_status_name(lua_State *L, state *s, int index);
extern const luaL_Reg status_functions[];
int object_get_error(lua_State *L);
int object_get_label(lua_State *L);
int object_set_label(lua_State *L);
/* Pushes the text that `read` gives out by (buffer, capacity, needed). */
typedef gpo_status (*text_reader)(void *context, char *buffer, size_t capacity, size_t *needed);
int push_text(lua_State *L, state *s, text_reader read, void *context, int binary);

/* --- number.c --- */

/* Read an integer of up to 64 bits and a sign. Return NULL, or why the value is none. Accepted: integers, numbers
 * without a fraction that a double holds exactly, and decimal or 0x strings. */
typedef struct exact {
    uint64_t magnitude;
    int negative;
} exact;
const char *read_exact(lua_State *L, int index, exact *out);
const char *read_unsigned(lua_State *L, int index, uint64_t max, uint64_t *out);
const char *read_signed(lua_State *L, int index, int64_t min, int64_t max, int64_t *out);
uint64_t check_unsigned(lua_State *L, int index, uint64_t max);
int64_t check_signed(lua_State *L, int index, int64_t min, int64_t max);
uint64_t optional_unsigned(lua_State *L, int index, uint64_t max, uint64_t otherwise);
/* The number at an index, less 1: Lua counts `what` from 1. */
uint32_t check_from_1(lua_State *L, int index, const char *what);
/* A number where it is exact, else a decimal string. */
void push_unsigned(lua_State *L, uint64_t value);
void push_signed(lua_State *L, int64_t value);
/* Reads seconds, returns nanoseconds; none or a negative number: -1, no time limit. */
int64_t check_timeout(lua_State *L, int index);

/* --- address.c --- */

void make_addresses(lua_State *L, state *s, int state_index);
int make_address(lua_State *L);
void push_address(lua_State *L, const state *s, uint64_t address);
/* Returns NULL, or why the value is no address: for anything but an integer that is `expected`. */
const char *read_address(lua_State *L, const state *s, int index, const char *expected, uint64_t *out);
uint64_t check_address(lua_State *L, const state *s, int index); /* of a parameter that takes arrays, too */

/* --- element.c: the types of array elements and kernel parameters --- */

enum element { ELEMENT_U8, ELEMENT_I8, ELEMENT_U16, ELEMENT_I16, ELEMENT_U32, ELEMENT_I32, ELEMENT_U64, ELEMENT_I64,
               ELEMENT_F32, ELEMENT_F64, ELEMENT_COUNT };
extern const char *const element_names[ELEMENT_COUNT + 1];
extern const uint8_t element_sizes[ELEMENT_COUNT];
/* Converts the value at an index. Returns NULL, or why the value is refused. `out` has room for 8 bytes. */
const char *read_element(lua_State *L, int index, enum element type, void *out);
/* Converts the value at an index to the pattern of a fill: 1, 2 or 4 bytes, `*count` times. An element of 8 bytes must
 * have equal halves, and becomes two patterns of 4 bytes. */
const char *read_pattern(lua_State *L, int index, enum element type, uint32_t *pattern, uint32_t *bytes,
                         uint64_t *count);
void push_element(lua_State *L, enum element type, const void *value);
enum element check_element_type(lua_State *L, int index);
int find_element_type(const char *name, size_t length); /* -1: none */

/* --- record.c: structs of the library as tables --- */

enum field_kind { FIELD_U32, FIELD_I32, FIELD_U64, FIELD_I64, FIELD_F64, FIELD_BOOL, FIELD_STRING, FIELD_CHARS,
                  FIELD_FLAG, FIELD_WORD, FIELD_THREE, FIELD_STATUS, FIELD_BYTES, FIELD_U64S, FIELD_ADDRESS,
                  FIELD_OBJECT, FIELD_STRINGS, FIELD_SKIP };
typedef struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
    uint32_t extra;              /* the flag; how many characters, bytes or numbers; the class; offset of a length */
    const char *const *words;    /* WORD: the names of 0, 1, …; NULL at their end */
} field;
#define FIELD(type, member, kind) {#member, FIELD_##kind, offsetof(type, member), sizeof(((type *)0)->member), NULL}
#define FLAG(type, name, value) {name, FIELD_FLAG, offsetof(type, flags), value, NULL}
#define WORD(type, member, words) {#member, FIELD_WORD, offsetof(type, member), 0, words}
/* The handle of an open object. The table keeps the object as long as the caller keeps the table. */
#define OBJECT(type, member, class) {#member, FIELD_OBJECT, offsetof(type, member), class, NULL}
/* An array of strings, which the table keeps, and its length. */
#define STRINGS(type, member, length) {#member, FIELD_STRINGS, offsetof(type, member), offsetof(type, length), NULL}
/* Keys that the caller reads by itself. */
#define OTHER(name) {name, FIELD_SKIP, 0, 0, NULL}
#define FIELDS_END {NULL, FIELD_SKIP, 0, 0, NULL}
#include "records.h"
/* The number of the word at `index`, or of `otherwise` where there is none; raises with all words. */
int check_word(lua_State *L, int index, const char *otherwise, const char *const *words);
/* Replaces the table at `index` (absolute) by a copy, without the fields that a metatable would give. Values read from
 * the copy live as long as the copy, even if finalizers change the caller's table. */
void copy_table(lua_State *L, int index);
void append(lua_State *L, int list); /* pops the value on top */
/* … and checks the keys: raises with the fields' names for any other key. */
void take_table(lua_State *L, int index, const field *fields, const char *what);
/* Pushes the list part of the table at `index` as a table of its own, and replaces the table by a copy of the rest.
 * Raises if the value is no table. */
void take_list(lua_State *L, int index);
/* Does as take_table, and reads the copy into a zeroed struct (none or nil: nothing). Strings stay the copy's. */
void read_record(lua_State *L, int index, const field *fields, void *record);
void push_record(lua_State *L, state *s, const field *fields, const void *record);
/* Keeps the function in a field of the table at `index` under `slot` of the object at `owner`. 0: there is none. */
int keep_function(lua_State *L, int index, const char *name, int owner, int slot);
/* Pushes a table of the structs that `read` writes to (array, capacity, count), however many there are. */
typedef gpo_status (*list_reader)(state *s, const void *context, void *to, uint64_t capacity, uint64_t *count);
int push_list(lua_State *L, state *s, list_reader read, const void *context, const field *fields, size_t size);

/* --- bridge.c: calls from other threads --- */

typedef struct request {
    struct request *next;
    struct runtime_context *context;
    const int *closed;           /* set under the bridge's mutex: don't run the request any more */
    void (*run)(lua_State *L, state *s, struct request *request); /* here, protected; sets the answer */
    /* Takes the error of `run`, a message with its traceback. False: the caller must report the error. May be NULL. */
    int (*failed)(struct request *request, const char *text);
    gpo_status answer;
    int answered;
} request;

struct pipeline_context;

/* A runtime's data outside Lua: callbacks may come after the Lua state was closed. */
typedef struct runtime_context {
    struct runtime_context *next;
    state *owner;                /* invalid once `closed` is set */
    struct bridge *bridge;
    int number;                  /* the runtime is known by it */
    gpo_runtime_t runtime;
    gpo_cq_t home;               /* the queue of operations that name no other */
    int closed;                  /* its callbacks are answered with GPO_CANCELLED */
    int busy;                    /* depth of its callbacks that run here */
    int dropped;                 /* log lines dropped for lack of room since the last report */
    int seeded;                  /* its threads run on a schedule: none may wait for Lua */
    struct pipeline_context *pipelines;
} runtime_context;

struct bridge *make_bridge(const gpo_api *api);
void close_bridge(struct bridge *b);
runtime_context *make_context(state *s);
void close_calls(runtime_context *context, int *closed); /* sets *closed: requests with it are answered now and later */
void free_context(runtime_context *context);
int watch_forks(void);      /* 0: out of memory */
int belongs_here(state *s); /* 0 in a forked child, */
void settle_here(state *s); /* unless the child is the first to use the library */
/* On any thread: has `r` run here and waits for the answer. */
gpo_status ask(runtime_context *context, request *r);
void log_line(void *context, int32_t level, const char *text); /* a gpo_log_fn: leaves the line to `serve` */
/* Here: runs the requests, and passes on the log lines. */
void serve(lua_State *L, state *s);
void serve_without_raising(lua_State *L, state *s);
/* Raises the error that Ctrl-C raised in a callback, if any. */
void pass_interrupt(lua_State *L, state *s);
int run_request(lua_State *L);
int tell_log(lua_State *L);
int with_traceback(lua_State *L);
int tell_unheard(lua_State *L);
/* Around a wait for a queue, so that a request wakes the wait. False: a request is there already. */
int begin_waiting(state *s, gpo_cq_t queue);
void end_waiting(state *s);
/* Around a call of the library's that calls back on this thread. Nothing may raise between enter and leave, waits
 * included: the coroutine would stay noted as running, and may be collected. */
typedef struct callers_here {
    lua_State *running;
    pthread_t thread;
} callers_here;
callers_here enter(lua_State *L, state *s);
void leave(state *s, callers_here before);
/* Calls the function below its arguments, protected. 0, or 1 with the message and a traceback on the stack. */
int call_protected(lua_State *L, state *s, int arguments, int results);
/* Raises the error on top of the stack again; a protected call has added the traceback. */
int raise_again(lua_State *L, state *s);
/* Pops a callback's message and gives it to gpuorch.on_error, or keeps Ctrl-C's for pass_interrupt. */
void report(lua_State *L, state *s);
int is_interrupt(const char *text); /* whether Ctrl-C raised it */
/* Queues an error that no wait will return: a text of owned_text, or NULL. report_unheard passes the errors to
 * gpuorch.on_error; print_unheard writes them to standard error when the state is closed. Doesn't call Lua: finalizers
 * may use it. */
void leave_unheard(state *s, char *text);
void report_unheard(lua_State *L, state *s);
void print_unheard(state *s);
void print_text(const char *text); /* on standard error; module.c */

/* --- wait.c --- */

int64_t now_ns(void);
int64_t deadline_after(int64_t timeout_ns); /* INT64_MAX: never */
int64_t wait_slice(int64_t deadline); /* how long to sleep before Ctrl-C is looked for; 0: the deadline has passed */
/* Interpreters turn Ctrl-C into a debug hook that raises, on the main coroutine. A hook set since note_hooks means
 * Ctrl-C. A function that may wait calls note_hooks first, since the hook may be set during its preparations. */
typedef struct noted_hooks {
    lua_Hook own, main;
} noted_hooks;
noted_hooks note_hooks(lua_State *L, state *s);
int was_interrupted(lua_State *L, state *s, noted_hooks before);
/* Waits by calling `attempt` for short times until it returns something else than GPO_TIMEOUT, or the deadline has
 * passed. Callbacks and log lines run between; Ctrl-C ends it, with GPO_CANCELLED or by raising. */
typedef gpo_status (*wait_attempt)(state *s, void *context, int64_t timeout_ns);
gpo_status wait_by(lua_State *L, state *s, noted_hooks before, wait_attempt attempt, void *context, int64_t timeout_ns);
/* After GPO_OUT_OF_MEMORY: collects, and waits for frees that are behind a stream. */
void reclaim(lua_State *L, state *s, gpo_device_t device);
void account(lua_State *L, state *s, int64_t bytes); /* of a new array: steps the collector */

/* --- queue.c --- */

typedef struct cq_hold {
    gpo_cq_t handle;             /* a queue outlives its runtime */
    int fd;                      /* -1: not asked for */
} cq_hold;

typedef struct cq_object {
    object base;
    int last[2];                 /* newest number of an entry with a value, and of an operation */
    struct cq_hold *hold;        /* resources to be released even if the finalizer isn't called */
    gpo_completion *stash;       /* entries with values, drained from C and not yet by Lua */
    uint64_t stashed, stash_room;
} cq_object;

typedef struct operation_object {
    object base;
    int done;
    gpo_completion entry;
    char *message;               /* of the failure; NULL: what the status says */
} operation_object;

/* A runtime's own queue: keep_home makes the object, which the runtime keeps, and open_home the handle, once the
 * runtime is made. */
struct cq_object *keep_home(lua_State *L, state *s, int runtime);
gpo_status open_home(state *s, struct cq_object *home, gpo_runtime_t runtime);
/* Takes the entries from the queue at `index`: completes operations, and calls their waiters. */
gpo_status pump(lua_State *L, state *s, int index);
void push_completion(lua_State *L, state *s, const gpo_completion *entry);
int free_number(lua_State *L, int table, int last, int step);
/* notify(context, cq, user_data): one signature for all sources. */
typedef gpo_status (*notifier)(state *s, void *context, gpo_cq_t cq, uint64_t user_data);
/* Pushes an operation (1 result), or with a value true; else failure values. Queue 0: the runtime's own. The source is
 * at 1. */
int notify(lua_State *L, state *s, int queue_index, int value, notifier call, void *context);
int notify_method(lua_State *L, state *s, int queue_index, notifier call, void *context);
enum { OPERATION_ARRAYS = 4 }; /* slot: those of a request of a batcher, in use until its entry has come */
void release_request(lua_State *L, state *s); /* of the operation on top, which is done; takes no memory */
/* Waits: at once, else by sleeping in the library, else, where callbacks may come, by an operation. */
int wait_method(lua_State *L, state *s, noted_hooks before, wait_attempt attempt, notifier call, void *context,
                int64_t timeout_ns);
int operation_wait_at(lua_State *L, state *s, noted_hooks before, int index, int64_t timeout_ns);
int poll_queues(lua_State *L);

/* --- stream.c --- */

enum { STREAM_POOL = 2 };        /* slot */
typedef struct stream_object {
    object base;
    int pooled;                  /* 1: given back to its pool, not destroyed */
    int recorder;                /* number of the template whose recording it may be in; 0: in none */
    int resident;                /* device-wide waits, and C's frees of memory, skip the stream */
} stream_object;

/* Whether all work on a stream is known to be done. While anything is recorded, no stream is queried: several objects
 * may share one stream of C's, and a query that C refuses fails the recording. */
int is_idle(state *s, const stream_object *stream);

/* --- recipe.c: recordings of templates --- */

/* A stream that waits for an event or for another stream may have joined a recording. `other`: that stream, or NULL. */
void join_recording(state *s, stream_object *stream, const stream_object *other);
/* Note work put on a stream with a recorder. record_array: an array used. record_node: the launched kernel, or the type
 * of a fill's value, popped from the stack. */
void record_array(lua_State *L, state *s, int array_index, stream_object *stream);
void record_node(lua_State *L, state *s, stream_object *stream);
/* Defers an array's free to the end of the stream's recording. 0: the stream is in no recording. */
int wait_for_recording(lua_State *L, state *s, int array_index, stream_object *stream);
void push_fill_type(lua_State *L, enum element type); /* for record_node; parameters.c */
void record_queue(lua_State *L, state *s, int queue_index, stream_object *stream);

/* --- array.c --- */

enum memory_kind {
    MEMORY_HOST,
    MEMORY_PINNED,
    MEMORY_BORROWED_HOST,
    MEMORY_DEVICE,
    MEMORY_POOL,
    MEMORY_BORROWED_DEVICE
};
typedef struct array_object {
    object base;
    enum element type;
    enum memory_kind kind;
    uint64_t address;
    uint64_t count;              /* elements */
    struct array_object *root;   /* owner of the memory: the array itself, or the parent of a slice */
    const int *ended;            /* 1: the runtime is shut down, and the memory freed; */
    const int *closed;           /* 1: the template that owns the memory is closed */
    stream_object *last_stream;  /* last stream that used the array; slots 2 and above have all these streams */
    int streams;                 /* number of streams that used the array */
    int registered;              /* pinned by gpo_host_register */
    int counted;                 /* the parent's `users` counts the array */
    int of_graph;                /* a graph allocates the memory: only nodes and recorded streams can use the array */
} array_object;

#define ARRAY_BYTES(array) ((array)->count * element_sizes[(array)->type])
int is_gone(const array_object *array); /* the memory was freed, or the array closed */
array_object *check_array(lua_State *L, state *s, int index); /* raises if is_gone */
/* Before work with the array is put on a stream. */
void use_array(lua_State *L, state *s, int array_index, array_object *array, int stream_index, stream_object *stream);
array_object *new_array(lua_State *L, state *s, int parent, enum memory_kind kind, enum element type, uint64_t address,
                        uint64_t count);
void watch_runtime(lua_State *L, state *s, array_object *array);
int on_host(const array_object *array);
void push_root(lua_State *L, int index); /* of the array at `index` */
void forget_array(lua_State *L, state *s, array_object *array, int index); /* after an explicit free */
/* Whether the free of the array at `index` must wait for a recording; if so, defers the free. */
int is_recorded(lua_State *L, state *s, int index);
/* Frees the host's own memory in a forked child, where nothing else is freed. */
void free_in_child(state *s, array_object *array);
uint64_t check_element_count(lua_State *L, int index, enum element type);
/* The array at an index, which may be no slice. */
array_object *check_piece(lua_State *L, state *s, int index);
/* The results of freeing the array at `index` explicitly: after a success it is closed. */
int piece_freed(lua_State *L, state *s, array_object *array, int index, gpo_status status);
/* Allocations. Pushes the array that memory is allocated for, with its type and number of elements from `type_index`
 * on, and the owner at 1; NULL: impossible, with the failure pushed. `allocated` gives the results, the array being on
 * top, and notes that it is used on the stream at `stream_index` (0: none). */
array_object *push_allocation(lua_State *L, state *s, enum memory_kind kind, int type_index);
int allocated(lua_State *L, state *s, gpo_status status, uint64_t address, int stream_index);
gpo_device_t device_of(lua_State *L, int index); /* of the object at an index, by what it was made from */
/* Calls once more after a collection where memory is short. */
#define WITH_RECLAIM(L, s, device, status, call)                              \
    do {                                                                      \
        status = (call);                                                      \
        if (status == GPO_OUT_OF_MEMORY || status == GPO_LIMIT_EXCEEDED) {    \
            reclaim(L, s, device);                                            \
            status = (call);                                                  \
        }                                                                     \
    } while (0)
uint64_t check_memory(lua_State *L, state *s, int index); /* the address of an array, or an address */
int array_index(lua_State *L);
int array_newindex(lua_State *L);
int array_length(lua_State *L);
int make_host_array(lua_State *L);

/* --- kernel.c --- */

typedef struct parameter {
    uint8_t kind;                /* enum element, PARAMETER_POINTER, PARAMETER_BYTES or PARAMETER_QUEUE */
    uint32_t size;
    uint32_t offset;             /* in the block of values */
} parameter;
/* A queue's kind is known by its size; a template's parameter of that type is BYTES. */
enum { PARAMETER_POINTER = ELEMENT_COUNT, PARAMETER_BYTES, PARAMETER_QUEUE = 64 };
typedef struct kernel_object {
    object base;
    uint32_t count;
    uint32_t bytes;              /* of the block of values */
    parameter *parameters;       /* shares one block with the fields below, from `pointers` on */
    const void **pointers;
    uint32_t *sizes;
    char *values;
} kernel_object;
typedef struct launch_object {
    object base;
    gpo_launch launch;
    char label[64];
} launch_object;
/* Writes the value at `index` as a parameter. Returns NULL, or why the value is refused. `*array`, NULL before: the
 * value's array. */
const char *read_parameter(lua_State *L, state *s, int index, const parameter *p, void *out, array_object **array);
/* The shape at `index`, reused or read into `*read`. */
const gpo_launch *check_shape(lua_State *L, state *s, int index, gpo_launch *read);
/* Puts the argument at `index` into the kernel's values. Returns the argument's array, or NULL. */
array_object *read_argument(lua_State *L, state *s, kernel_object *kernel, uint32_t which, int index);
/* The queue that is argument `which`, or NULL. `user` is the stream of the launch, or the template of the node. */
const struct queue_object *check_queue_argument(lua_State *L, state *s, const kernel_object *kernel, uint32_t which,
                                                int index, const object *user, const stream_object *stream);
const char *parameter_name(const parameter *p, char text[32]);
/* Reads a word of a signature. 0: the word is no type. */
int read_parameter_type(const char *word, size_t length, parameter *p);
/* Reads a number, or a table of up to three numbers. Returns NULL, or why the value is neither. Missing numbers stay
 * unchanged. */
const char *read_shape(lua_State *L, int index, uint32_t out[3]);
void read_three(lua_State *L, int index, const char *name, uint32_t out[3]);
/* The address of the array or address at `index`, 0 for nil: the value of an option. Returns the array, or NULL. */
array_object *read_memory(lua_State *L, state *s, int index, const char *option, uint64_t *address);
int make_launch(lua_State *L);
int interrupt_on(lua_State *L);

int kernel_pack(lua_State *L);   /* pack.c */
int kernel_unpack(lua_State *L);

/* --- device_queue.c: queues that kernels take their work from --- */

enum { QUEUE_STREAM = 2, QUEUE_COMPLETIONS, QUEUE_TAKEN }; /* slots */
typedef struct queue_object {
    object base;
    uint32_t kind;               /* GPO_QUEUE_RANGE, … */
    uint32_t task_size, answer_size;
    const stream_object *stream; /* the queue's resident stream, kept alive; NULL: none */
} queue_object;
/* The kind of queue that a parameter of so many bytes is; 0: none. */
uint32_t queue_kind_of(uint32_t bytes);
/* Writes a kernel's argument for the queue. Returns NULL, or why the queue is refused. */
const char *read_queue(lua_State *L, state *s, int index, const parameter *p, void *out);
/* Why the queue can't be used by work of a stream, or (`stream` is NULL) by a node of the template `user`; or NULL. */
const char *refuse_queue(state *s, const queue_object *queue, const object *user, const stream_object *stream);

/* The table of numbers at `index` as an array of f32, which is pushed. Raises if it is something else. */
const float *check_numbers(lua_State *L, int index, uint64_t *count);

/* --- peers.c: groups of devices, and memory that their kernels use together --- */

typedef struct symmetric_object {
    object base;
    int64_t held_bytes;          /* on all devices, as accounted to the collector */
} symmetric_object;

/* --- executor.c: Lua functions that executors call --- */

/* A function with a pending call; C's user pointer. `owe` reads the executor and, behind it, the function. */
struct owed *owe(lua_State *L, state *s, int executor_index, gpo_executor_t *executor);
int owing(lua_State *L, state *s, int executor_index, struct owed *o, gpo_status status); /* the method's results */
void when_done(void *user, const gpo_completion *completion, const gpo_error *error);
gpo_status host_call(void *user, const gpo_host_call *call);

/* --- advice.c --- */

int advise(lua_State *L);
int advise_trace(lua_State *L);

/* --- runtime.c, executor.c, pipeline.c, await.c --- */

typedef struct runtime_object {
    object base;
    int ended;
    runtime_context *context;    /* NULL: ended */
} runtime_object;
typedef struct executor_object {
    object base;
    int number;                  /* known by it */
    int last;                    /* newest number of a pending function */
} executor_object;
typedef struct pipeline_object {
    object base;
    int number;                  /* known by it */
    struct pipeline_context *context;
} pipeline_object;

int runtime_create(lua_State *L);
void end_runtimes(lua_State *L, state *s); /* all that are left, as the state is closed */
int has_callers(state *s); /* a pipeline is running that may call back here */
void free_pipeline_contexts(lua_State *L, state *s, runtime_context *context);
void make_caller(lua_State *L, state *s, int state_index);
void make_await(lua_State *L, int module, int list, int state_index);
int pipeline_condition(lua_State *L);

extern const luaL_Reg array_methods[], operation_methods[];

/* Free the resources that stay after closing, when the collector takes the userdata. */
void free_kernel(state *s, object *o);
void free_operation(state *s, object *o);
void free_cq(state *s, object *o);

#pragma GCC visibility pop

#endif
