/* device/handles.cuh: handles of queues in kernels, and results of calls on queues. Part of device/queue.cuh.
 *
 * gpo_queue_get_device_handle writes these structs. A kernel takes them as arguments, by value. All addresses are the
 * device's. Each counter that many blocks write has a line of 128 bytes to itself.
 */
#ifndef GPUORCH_DEVICE_HANDLES_CUH
#define GPUORCH_DEVICE_HANDLES_CUH

#include <gpuorch/device/atomic.cuh>

namespace gpo {

/* Results of calls: values of gpo_status. */
enum queue_status {
    queue_success = 0,
    queue_timeout = 2,     /* the bound of a wait has passed */
    queue_would_block = 3, /* full or empty */
    queue_end = 4,         /* no more numbers; or the ring is closed, and all tasks are done */
    queue_invalid = 10,    /* the handle is none, or of another kind or version; the task type has another size than the
                              queue's tasks; the priority doesn't exist; a try_ call on a ring with tickets */
    queue_aborted = 50
};

/* States of a ring. */
enum { queue_open = 0, queue_closed = 1, queue_is_aborted = 2 };

enum {
    range_magic = 0x52415247,     /* GRAR */
    ring_magic = 0x49525247,      /* GRRI */
    host_ring_magic = 0x4f485247, /* GRHO */
    queue_version = 0x00010000
};

struct range {
    unsigned magic, version;
    unsigned long long words; /* u64: claims of this launch; 0 between launches */
    unsigned long long count; /* how many numbers. A kernel may lower it, for all workers of a launch alike */
    unsigned long long order; /* `count` u32 numbers in the order in which they are handed out; 0: 0, 1, 2 … */
    unsigned batch;           /* numbers in a batch */
    unsigned flags;           /* range_late_claims */
    unsigned reserved[6];
};

/* Flags of a range. */
enum { range_late_claims = 1 };

struct ring {
    unsigned magic, version;
    unsigned long long words;    /* for each priority 8 lines: ring_line */
    unsigned long long sequence; /* u32 of each slot, ordered by priority */
    unsigned long long tasks;    /* task_size bytes of each slot, ordered by priority */
    unsigned capacity_log2;      /* slots of a priority */
    unsigned task_size;          /* a multiple of 16 */
    unsigned priorities;
    unsigned flags; /* ring_tickets */
    unsigned reserved[12];
};

/* Flags of a ring. */
enum { ring_tickets = 1 };

/* Lines of a ring's words. */
enum ring_line {
    ring_tail = 0,    /* u64: pushes so far: the next position to be written */
    ring_head = 1,    /* u64: pops so far: the next position to be read */
    ring_room = 2,    /* i64: free slots that no push has been promised; at times below 0 */
    ring_items = 3,   /* i64: full slots that no pop has been promised; at times below 0 */
    ring_done = 4,    /* u64: tasks that are done, of all priorities; of priority 0 */
    ring_refused = 5, /* u64: the host's */
    ring_state = 6    /* u32: queue_open and the like; of priority 0 */
};

struct host_ring {
    unsigned magic, version;
    ring tasks;                      /* in device memory: tasks from the dispatcher to the workers */
    unsigned long long posted_slots; /* pinned: `task_words` u64 of each slot */
    unsigned long long answer_slots; /* pinned: `answer_words` u64 of each slot */
    unsigned long long control;      /* pinned: the host's u32 state, at + 8 the final count of tasks; at + 128 the
                                        device's u64: tasks whose slots may be used again */
    unsigned long long device_words; /* u64: answers so far; at + 128 u64: tasks taken from the host so far */
    unsigned task_words;             /* 1 + words of a task: the header is the host's name for it */
    unsigned answer_words;           /* 2 + words of an answer; 0: tasks have none */
    unsigned capacity_log2;          /* slots of both */
    unsigned reserved[11];
};

static_assert(sizeof(range) == 64 && sizeof(ring) == 96 && sizeof(host_ring) == 192, "the host's layouts");

}  // namespace gpo

#endif
