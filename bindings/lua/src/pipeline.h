/* pipeline.h: shared by a pipeline's methods (pipeline.c) and C's callbacks (callback.c). */
#ifndef GPUORCH_LUA_PIPELINE_H
#define GPUORCH_LUA_PIPELINE_H

#include "binding.h"

#pragma GCC visibility push(hidden)

#define MOST_STAGES 64
#define MOST_DEVICES 64

enum {
    PIPELINE_EXECUTOR = 2,
    PIPELINE_PROGRESS,
    PIPELINE_FILL,
    PIPELINE_TAKE,
    PIPELINE_SOURCE,
    PIPELINE_SINK,
    PIPELINE_REST,
    PIPELINE_STAGES,
    PIPELINE_ARGUMENTS = PIPELINE_STAGES + MOST_STAGES,
    PIPELINE_DEVICES
};

/* User data of C's callbacks; outlives the Lua object while the pipeline may still call. */
typedef struct pipeline_context {
    struct pipeline_context *next;
    runtime_context *runtime; /* NULL: shut down */
    gpo_pipeline_t pipeline;
    int held;           /* the Lua object frees the context; 0: the runtime's shutdown does */
    int number;         /* the pipeline object is known by it */
    int calls;          /* it has callbacks in Lua, */
    int has_executor;   /* called in an executor of Lua's */
    int started;        /* and may be running */
    int busy;           /* depth of its callbacks in progress */
    int reference;      /* registry reference to the values of a run that outlives the object; 0: none */
    int string;         /* registry reference to the string that a run reads; 0: none */
    int closed;         /* callbacks are answered with GPO_CANCELLED */
    uint64_t result_bytes;
    size_t rest;        /* offset of the rest of a source's string that had no room; 0: none */
    char message[512];  /* of the error that a callback raised in this run */
    char *failure;      /* that error with its traceback, of owned_text; NULL: there was none */
    int heard;          /* a wait has returned it */
    struct stage_context {
        struct pipeline_context *pipeline;
        int number;
    } stages[MOST_STAGES];
} pipeline_context;

/* The callbacks for C. `user` is a pipeline_context; for enqueue_here, one of its stages. */
gpo_status take_here(void *user, const gpo_chunk *chunk);
gpo_status fill_here(void *user, void *buffer, uint64_t capacity, uint64_t *bytes);
gpo_status enqueue_here(void *user, gpo_stream_t stream, const gpo_chunk *chunk);
void progress_here(void *user, const gpo_pipeline_progress *progress);

#pragma GCC visibility pop

#endif
