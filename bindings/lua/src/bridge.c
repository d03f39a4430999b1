/* bridge.c: how the library's threads reach Lua functions without entering Lua. A callback on such a thread leaves a
 * request, wakes the Lua state's wait, and sleeps until the state's own thread has run the request. Log lines are left
 * in the same way, but no thread waits for them.
 *
 * The bridge lives as long as a runtime may call, which can be longer than the Lua state: from then on every request is
 * answered with GPO_CANCELLED at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binding.h"

#define MOST_LINES 1000 /* of log, kept until the state serves them; more are counted and dropped */

typedef struct line {
    struct line *next;
    runtime_context *context;
    int level;
    char text[];
} line;

struct bridge {
    pthread_mutex_t mutex;
    pthread_cond_t answered;
    const gpo_api *api;
    request *first, **last;
    line *first_line, **last_line;
    int lines;
    gpo_cq_t waiting; /* the queue that the state's thread waits for; NULL: none */
    int references;   /* the state, and each context */
    lua_State *running; /* coroutine inside a call that calls back on the calling thread, */
    pthread_t here;     /* and that thread */
    int forks;          /* fork count of the process that owns the bridge */
};

/* --- forks --- */

static int forks; /* number of forks from the process that loaded the module to this process */

static void count_fork(void) { ++forks; }

int watch_forks(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static int watched;
    pthread_mutex_lock(&mutex);
    if (!watched) watched = pthread_atfork(NULL, NULL, count_fork) == 0;
    pthread_mutex_unlock(&mutex);
    return watched;
}

int belongs_here(state *s) { return s->forks == forks; }

void settle_here(state *s) { s->forks = s->bridge->forks = forks; }

/* A forked child has none of the threads that ask. A lost thread may hold the mutex, and have half changed the lists:
 * the child touches neither. */
static int is_alive(const struct bridge *b) { return b->forks == forks; }

static void lock(struct bridge *b) {
    if (is_alive(b)) pthread_mutex_lock(&b->mutex);
}

static void unlock(struct bridge *b) {
    if (is_alive(b)) pthread_mutex_unlock(&b->mutex);
}

struct bridge *make_bridge(const gpo_api *api) {
    struct bridge *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->forks = forks;
    pthread_mutex_init(&b->mutex, NULL);
    pthread_cond_init(&b->answered, NULL);
    b->api = api;
    b->last = &b->first;
    b->last_line = &b->first_line;
    b->references = 1;
    return b;
}

static void unlock_and_release(struct bridge *b) {
    const int left = --b->references;
    unlock(b);
    if (left != 0) return;
    pthread_cond_destroy(&b->answered);
    pthread_mutex_destroy(&b->mutex);
    free(b);
}

void close_bridge(struct bridge *b) {
    lock(b);
    unlock_and_release(b);
}

runtime_context *make_context(state *s) {
    runtime_context *context = calloc(1, sizeof *context);
    if (!context) return NULL;
    context->bridge = s->bridge;
    context->owner = s;
    lock(s->bridge);
    ++s->bridge->references;
    unlock(s->bridge);
    context->next = s->contexts;
    s->contexts = context;
    return context;
}

/* With the mutex held. */
static void drop_requests(struct bridge *b, const int *closed) {
    for (request **link = &b->first; *link;) {
        request *r = *link;
        if (r->closed != closed && &r->context->closed != closed) {
            link = &r->next;
            continue;
        }
        *link = r->next;
        r->answer = GPO_CANCELLED;
        r->answered = 1;
    }
    for (b->last = &b->first; *b->last;) b->last = &(*b->last)->next;
    pthread_cond_broadcast(&b->answered);
}

static void drop_lines(struct bridge *b, const runtime_context *context) {
    for (line **link = &b->first_line; *link;) {
        line *l = *link;
        if (l->context != context) {
            link = &l->next;
            continue;
        }
        *link = l->next;
        free(l);
        --b->lines;
    }
    for (b->last_line = &b->first_line; *b->last_line;) b->last_line = &(*b->last_line)->next;
}

void close_calls(runtime_context *context, int *closed) {
    struct bridge *b = context->bridge;
    lock(b);
    *closed = 1;
    drop_requests(b, closed);
    unlock(b);
}

void free_context(runtime_context *context) {
    struct bridge *b = context->bridge;
    runtime_context **link = &context->owner->contexts;
    while (*link != context) link = &(*link)->next;
    *link = context->next;
    lock(b);
    if (is_alive(b)) drop_lines(b, context);
    free(context);
    unlock_and_release(b);
}

callers_here enter(lua_State *L, state *s) {
    struct bridge *b = s->bridge;
    luaL_checkstack(L, 60, NULL); /* for what is called inside, where nothing may raise */
    lock(b);
    const callers_here before = {b->running, b->here};
    b->running = s->running = L;
    b->here = pthread_self();
    unlock(b);
    return before;
}

void leave(state *s, callers_here before) {
    struct bridge *b = s->bridge;
    lock(b);
    b->running = s->running = before.running;
    b->here = before.thread;
    unlock(b);
}

static void run_here(lua_State *L, state *s, request *r);

gpo_status ask(runtime_context *context, request *r) {
    struct bridge *b = context->bridge;
    r->next = NULL;
    r->context = context;
    r->answer = GPO_CANCELLED;
    r->answered = 0;
    lock(b);
    lua_State *running = b->running && pthread_equal(b->here, pthread_self()) ? b->running : NULL;
    if (!context->closed && !*r->closed && running) {
        unlock(b);
        run_here(running, context->owner, r);
        return r->answer;
    }
    if (!context->closed && !*r->closed) {
        *b->last = r;
        b->last = &r->next;
        const gpo_cq_t waiting = b->waiting, home = context->home;
        unlock(b);
        if (waiting) b->api->cq_wake(waiting);
        if (home != waiting) b->api->cq_wake(home); /* an event loop may be watching its descriptor */
        lock(b);
        while (!r->answered) pthread_cond_wait(&b->answered, &b->mutex);
    }
    unlock(b);
    return r->answer;
}

void log_line(void *user, int32_t level, const char *text) {
    runtime_context *context = user;
    struct bridge *b = context->bridge;
    const size_t length = strlen(text) + 1;
    line *l = malloc(sizeof *l + length);
    if (l) {
        l->next = NULL;
        l->context = context;
        l->level = level;
        memcpy(l->text, text, length);
    }
    lock(b);
    if (l && !context->closed && b->lines < MOST_LINES) {
        *b->last_line = l;
        b->last_line = &l->next;
        ++b->lines;
        l = NULL;
    } else {
        ++context->dropped;
    }
    unlock(b);
    free(l);
}

int begin_waiting(state *s, gpo_cq_t queue) {
    struct bridge *b = s->bridge;
    lock(b);
    const int free_to_wait = !is_alive(b) || b->first == NULL;
    if (free_to_wait) b->waiting = queue;
    unlock(b);
    return free_to_wait;
}

void end_waiting(state *s) {
    lock(s->bridge);
    s->bridge->waiting = NULL;
    unlock(s->bridge);
}

/* --- here --- */

/* Protected calls begin without an allocation of Lua's, which could raise an uncaught error: the functions that they
 * call are in the registry. */

/* Adds a traceback if the interpreter can make one (5.1 only with its debug library), and the error has none yet. */
int with_traceback(lua_State *L) {
    state *s = the_state(L);
    if (s->traced || !lua_tostring(L, 1)) return 1; /* a number is a string from here on */
    lua_getglobal(L, "debug");
    if (!lua_istable(L, -1)) return lua_settop(L, 1), 1;
    lua_getfield(L, -1, "traceback");
    if (!lua_isfunction(L, -1)) return lua_settop(L, 1), 1;
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 2);
    lua_call(L, 2, 1);
    return 1;
}

int call_protected(lua_State *L, state *s, int arguments, int results) {
    const int handler = lua_gettop(L) - arguments;
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->handler);
    lua_insert(L, handler);
    ++s->serving;
    const int failed = lua_pcall(L, arguments, results, handler);
    --s->serving;
    s->traced = 0;
    lua_remove(L, handler);
    return failed;
}

int raise_again(lua_State *L, state *s) {
    s->traced = 1;
    return lua_error(L);
}

/* Whether the text is the error of an interpreter's Ctrl-C hook, perhaps with a position before, or a traceback
 * behind. */
int is_interrupt(const char *text) {
    static const char raised[] = "interrupted!";
    const size_t length = strcspn(text, "\n"), tail = sizeof raised - 1;
    return length >= tail && memcmp(text + length - tail, raised, tail) == 0;
}

void pass_interrupt(lua_State *L, state *s) {
    if (!s->interrupted) return;
    s->interrupted = 0;
    luaL_error(L, "interrupted!");
}

void report(lua_State *L, state *s) {
    if (lua_type(L, -1) == LUA_TSTRING && is_interrupt(lua_tostring(L, -1))) {
        s->interrupted = 1;
        lua_pop(L, 1);
        return;
    }
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->module);
    lua_getfield(L, -1, "on_error");
    lua_replace(L, -2);
    lua_pushvalue(L, -2);
    ++s->serving;
    if (lua_pcall(L, 1, 0, 0) != 0) lua_pop(L, 1); /* on_error itself has failed: drop that error */
    --s->serving;
    lua_pop(L, 1);
}

/* --- errors that no wait will return --- */

struct unheard {
    struct unheard *next;
    char *text;
};

static void take_first_unheard(state *s) {
    struct unheard *first = s->unheard;
    s->unheard = first->next;
    owned_free(s, first->text);
    free(first);
}

void leave_unheard(state *s, char *text) {
    struct unheard *u = text ? malloc(sizeof *u) : NULL, **last = &s->unheard;
    if (!u) {
        if (text) print_text(text);
        owned_free(s, text);
        return;
    }
    *u = (struct unheard){NULL, text};
    while (*last) last = &(*last)->next;
    *last = u;
}

void print_unheard(state *s) {
    for (; s->unheard; take_first_unheard(s)) print_text(s->unheard->text);
}

/* Reports the first error; if Lua has no memory for the text, the error stays in the list. */
int tell_unheard(lua_State *L) {
    state *s = the_state(L);
    lua_pushstring(L, s->unheard->text);
    take_first_unheard(s);
    report(L, s);
    return 0;
}

void report_unheard(lua_State *L, state *s) {
    if (!s->unheard || !lua_checkstack(L, 20)) return;
    for (int failed = 0; s->unheard && !failed;) {
        lua_rawgeti(L, LUA_REGISTRYINDEX, s->unheard_teller);
        failed = call_protected(L, s, 0, 0);
        if (failed) lua_pop(L, 1);
    }
}

int run_request(lua_State *L) {
    state *s = the_state(L);
    request *r = s->request;
    r->run(L, s, r);
    return 0;
}

/* Runs a request here, protected. */
static void run_here(lua_State *L, state *s, request *r) {
    request *outer = s->request;
    r->answer = GPO_CALLBACK_FAILED;
    if (!lua_checkstack(L, 40)) return;
    s->request = r;
    ++r->context->busy;
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->runner);
    if (call_protected(L, s, 0, 0) != 0) {
        const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
        if (r->failed && r->failed(r, text ? text : "the callback raised something that is no string")) lua_pop(L, 1);
        else report(L, s);
    }
    --r->context->busy;
    s->request = outer;
}

static const char *const levels[] = {"none", "error", "warning", "info", "debug"};

struct telling {
    int runtime, level;
    const char *text;
};

int tell_log(lua_State *L) {
    state *s = the_state(L);
    const struct telling *t = lua_touserdata(L, 1);
    if (!push_known(L, s, t->runtime)) return 0;
    push_kept(L, -1, RUNTIME_LOG);
    lua_pushstring(L, levels[t->level >= GPO_LOG_ERROR && t->level <= GPO_LOG_DEBUG ? t->level : 0]);
    lua_pushstring(L, t->text);
    lua_call(L, 2, 0);
    return 0;
}

/* Calls the log function of the runtime that is known by the number. */
static void tell(lua_State *L, state *s, int runtime, int level, const char *text) {
    struct telling t = {runtime, level, text};
    lua_rawgeti(L, LUA_REGISTRYINDEX, s->teller);
    lua_pushlightuserdata(L, &t);
    if (call_protected(L, s, 1, 0) != 0) report(L, s);
}

/* Takes the number of dropped log lines of one runtime, `*runtime`; 0: no runtime has dropped any. */
static int next_dropped(state *s, int *runtime) {
    int dropped = 0;
    if (!is_alive(s->bridge)) return 0;
    lock(s->bridge);
    for (runtime_context *context = s->contexts; context && !dropped; context = context->next) {
        dropped = context->dropped;
        context->dropped = 0;
        *runtime = context->number;
    }
    unlock(s->bridge);
    return dropped;
}

static void tell_dropped(lua_State *L, state *s) {
    int runtime = 0;
    for (int dropped; (dropped = next_dropped(s, &runtime));) {
        char text[64];
        snprintf(text, sizeof text, "%d lines of log found no room", dropped);
        tell(L, s, runtime, GPO_LOG_WARNING, text);
    }
}

/* Takes the next line. NULL: there is none. */
static line *next_line(struct bridge *b) {
    if (!is_alive(b)) return NULL;
    lock(b);
    line *l = b->first_line;
    if (l && !(b->first_line = l->next)) b->last_line = &b->first_line;
    b->lines -= l != NULL;
    unlock(b);
    return l;
}

void serve_without_raising(lua_State *L, state *s) {
    struct bridge *b = s->bridge;
    if (!lua_checkstack(L, 20)) return;
    while (is_alive(b) && !s->interrupted) {
        lock(b);
        request *r = b->first;
        if (r && !(b->first = r->next)) b->last = &b->first;
        unlock(b);
        if (!r) break;
        run_here(L, s, r);
        if (!is_alive(b)) return; /* it has forked, and this is the child */
        lock(b);
        r->answered = 1;
        pthread_cond_broadcast(&b->answered);
        unlock(b);
    }
    /* The log function may end the runtime, and so free the context: the context is read before the call. */
    for (line *l; (l = next_line(b)); free(l)) tell(L, s, l->context->number, l->level, l->text);
    tell_dropped(L, s);
    report_unheard(L, s);
}

void serve(lua_State *L, state *s) {
    serve_without_raising(L, s);
    pass_interrupt(L, s);
}
