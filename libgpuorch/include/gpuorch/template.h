/* template.h: graph templates: work that is recorded once, patched by name, and launched for little.
 *
 * A *template* (gpo_template_t) is a graph of nodes: kernels, copies, fills and more, and what has to be done before
 * what. Templates are recorded from streams, or built node by node. A *graph* (gpo_graph_t) is an instance of a
 * template. A launch of a graph puts all of its nodes on a stream with one call.
 *
 *     gpo_template_create(device, NULL, &step);
 *     gpo_template_begin(step, stream);                               what is put on `stream` is recorded, and
 *     gpo_stream_launch_kernel(stream, scale, &shape, args, NULL, 3); doesn't run
 *     gpo_template_get_last_node(step, stream, &node);
 *     gpo_template_add_parameter(step, "factor", node, GPO_PARAMETER_ARGUMENT, 1);
 *     gpo_template_end(step);
 *     gpo_graph_create(step, NULL, &graph);
 *     gpo_graph_set(graph, "factor", &factor, sizeof factor);
 *     gpo_graph_launch(graph, stream);
 *
 * Nodes
 *   A node is a number of its template: from 1, in the order in which nodes were added; 0 is no node. A function
 *   that adds a node takes a list of nodes, behind which the new node runs.
 *
 * Recording
 *   A recording is a transaction. If gpo_template_end fails, the template has the same contents as before the
 *   recording, and the streams can be used as before.
 *   A recording begins at one stream. Other streams join when they wait for an event that was recorded on a stream of
 *   the recording, and must be waited for in turn by the first stream before the recording ends. Work that other
 *   libraries put on these streams is recorded too. A call that can't be recorded is refused with GPO_CAPTURE_REFUSED:
 *   waits, queries, notifications, host calls, copies with pageable memory, allocations of a pool.
 *   The library records without a capture of the driver: other captures of the process, and the legacy stream, go on
 *   undisturbed, and the driver gets the nodes with the first graph, or when a node is added by itself (a conditional,
 *   say). The recording becomes a capture of the driver, in relaxed mode, where the driver has to record: a stream is
 *   wrapped, or is of another device; the program has or gets the native handle of one of its streams or events (so
 *   that other libraries can be recorded); a collective is recorded, or a copy or fill whose memory the driver has to
 *   judge; or a node is added by itself and the driver is older than CUDA 12.3.
 *   No recording lacks a piece: if a call is refused that names a stream of the recording, or that adds a node to a
 *   template in recording, then gpo_template_end fails and names the first such call. The reason for the refusal and
 *   the thread don't matter. gpo_template_get_last_node and gpo_template_set_last_node don't count; nor do calls that
 *   fail before they look at the stream (a stale handle of it, GPO_FORKED, a call inside a host node).
 *
 * Parameters
 *   gpo_template_add_parameter names each field of a node that may change from launch to launch. Each graph has its own
 *   values, which are the recorded values at first. Setting a value only stores it. The next launch gives the driver
 *   the nodes with values that have changed since the last launch, and no others.
 *   When a template is recorded anew, gpo_graph_update brings its graphs to the new recording. A value that was set in
 *   a graph stays if the new recording has a parameter of that name that *means the same*: the same field of the same
 *   kind of node, and of kernels the same argument (or grid, block, ...) of the same kernel. Kernels are the same if
 *   their functions have the same name and arguments of the same number and sizes: so a value stays when a module was
 *   compiled anew. If a name stands for several fields, each field of the new recording must mean the same as some
 *   field of the old one. Other set values, and values that the new node can't have, are dropped. The report of the
 *   update counts them and says why. A parameter that was never set, or whose value was dropped, has the value that was
 *   recorded.
 *
 * Lifetime
 *   A template or graph keeps the kernels and events alive that its nodes use. Memory that its graphs refer to can be
 *   freed at any time (gpo_memory_free, gpo_arena_free, gpo_pool_free): the call succeeds, and the free is done when
 *   the last graph that refers to the memory is destroyed or set to something else. The log says which template holds
 *   a free up. A graph refers to
 *   - the addresses of its copies and fills;
 *   - its kernels' arguments of 8 bytes;
 *   - in a larger argument (a struct by value: a view of a pointer and a size, say) each word of 8 bytes, at a multiple
 *     of 8 in the argument, that is an address in memory of this library when the graph is made or the argument is
 *     set: of an allocation, an arena, a pool, a template, a queue or a group (but not memory of NVSHMEM, which only
 *     the others hold). A number that happens to be such an address holds the memory too. gpo_template_statistics
 *     counts these words, and the log names them.
 *   A graph doesn't refer to an address at another place in an argument (of a packed struct), or to memory to which
 *   only other memory points: don't free such memory while the graph may run. Memory of gpo_template_allocate is freed
 *   with its template.
 *
 * Threads
 *   Only the thread that began a recording may use the streams of a recording, add to the template and end it. Work
 *   that another thread puts on such a stream is refused with GPO_INVALID_STATE, and gpo_template_end then fails. A
 *   graph may be set and launched by any thread. Launches of one graph run one after the other, on whichever streams.
 *   Create several graphs, or use gpo_template_launch, to have several run at the same time.
 */
#ifndef GPUORCH_TEMPLATE_H
#define GPUORCH_TEMPLATE_H

#include "memory.h"
#include "module.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpo_template_options {
    uint32_t struct_size;
    uint32_t flags;         /* 0: there are none yet */
    uint32_t max_instances; /* most graphs that gpo_template_launch makes; GPO_AUTO: 64 */
    uint32_t reserved;      /* 0 */
    const char *label;
} gpo_template_options;

/* Creates an empty template for graphs on `device`. `options` may be NULL. */
GPO_API gpo_status gpo_template_create(gpo_device_t device, const gpo_template_options *options,
                                       gpo_template_t *graph_template);

/* Makes a template of a CUgraph of the caller or of another library. The graph is copied: it stays the caller's, and
 * later changes of it don't change the template. The kernels and memory that the nodes use must stay valid for as long
 * as graphs of the template may run: the library knows only its own memory among them (see Lifetime).
 * Nodes have numbers in the order in which cuGraphGetNodes lists those of `native`. A kernel node's label is the
 * kernel's name, as the driver has it.
 * GPO_INVALID_ARGUMENT: `native` is NULL, or the driver doesn't know it
 * GPO_NOT_SUPPORTED: the graph, or a child graph in it, has a node with which the driver copies no graph (a
 *     conditional, an allocation, a free): the message says which */
GPO_API gpo_status gpo_template_import(gpo_device_t device, void *native, const gpo_template_options *options,
                                       gpo_template_t *graph_template);

/* Destroys a template's handle. A recording is discarded. Graphs of the template remain usable.
 * GPO_INVALID_STATE: the template belongs to buckets (buckets.h), and is destroyed with them */
GPO_API gpo_status gpo_template_destroy(gpo_template_t graph_template);

/* --- recording from streams --- */

/* Begins a recording: until gpo_template_end, work that is put on `stream` is recorded and doesn't run. If the template
 * has nodes already, the recording replaces them when it ends (see gpo_graph_update).
 * GPO_INVALID_STATE: the template is being recorded already; or the stream is held (stream.h); or the template is a
 *     body that has nodes, or to which nothing can be added any more
 * GPO_CAPTURE_REFUSED: the stream is in capture, or is the legacy default stream
 * GPO_INVALID_ARGUMENT: template and stream are of different devices */
GPO_API gpo_status gpo_template_begin(gpo_template_t graph_template, gpo_stream_t stream);

/* Ends the recording. Parameters of an earlier recording are dropped.
 * GPO_CAPTURE_REFUSED: a call that names a stream of the recording, or adds a node, was refused: the message names the
 *     first such call, its object and why. Or a call of another library broke the recording. Or a stream of the
 *     recording doesn't join the first stream again. Or the recording of a body has a node that a body can't have or
 *     that can't be copied: the message names the node
 * GPO_OUT_OF_MEMORY: the first refused call was refused for lack of memory, or this call has none
 * GPO_INVALID_STATE: no recording was begun, or another thread began it */
GPO_API gpo_status gpo_template_end(gpo_template_t graph_template);

/* Discards the recording. The streams can be used as before. Any thread. */
GPO_API gpo_status gpo_template_cancel(gpo_template_t graph_template);

/* During a recording: writes the node that was recorded last on `stream`; 0 if there is none, or if the stream waits
 * for several nodes.
 * GPO_INVALID_STATE: the stream isn't in the template's recording */
GPO_API gpo_status gpo_template_get_last_node(gpo_template_t graph_template, gpo_stream_t stream, uint32_t *node);

/* During a recording: later work on `stream` comes after `node` instead of the stream's last nodes. Use it to put nodes
 * that the functions below add, a conditional for example, at their place in a recording. `stream` must be in the
 * recording. */
GPO_API gpo_status gpo_template_set_last_node(gpo_template_t graph_template, gpo_stream_t stream, uint32_t node);

/* --- building node by node ---
 *
 * `after` are `after_count` nodes that the new node comes after; NULL if there are none. `node`, which may be NULL,
 * gets the new node. Nodes can be added while the template is being recorded, and until its first graph is made.
 *
 * For all of them:
 * GPO_INVALID_ARGUMENT: a node of `after` isn't one of this template or is named twice
 * GPO_INVALID_STATE: a graph of the template was made: record it anew, or call gpo_template_clear first */

/* A kernel: as gpo_stream_launch_kernel. */
GPO_API gpo_status gpo_template_add_kernel(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                           gpo_kernel_t kernel, const gpo_launch *launch, const void *const *arguments,
                                           const uint32_t *sizes, uint32_t count, uint32_t *node);

/* A copy. Addresses may be of device memory or of pinned host memory (host pointers converted to uint64_t).
 * GPO_INVALID_ARGUMENT: an address is of pageable memory; or as gpo_copy_batch */
GPO_API gpo_status gpo_template_add_copy(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                         const gpo_copy *copy, uint32_t *node);

/* A fill: as gpo_fill. */
GPO_API gpo_status gpo_template_add_fill(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                         uint64_t destination, uint32_t value, uint32_t element_bytes, uint64_t count,
                                         uint32_t *node);

/* A node that does nothing, to join others. */
GPO_API gpo_status gpo_template_add_empty(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                          uint32_t *node);

/* Each launch of the graph records `event` (event.h) when it reaches this node. Streams, the host and other graphs can
 * wait for the recording, be notified of it and time it. A stream in the recording of a template adds such a node by
 * gpo_event_record of an event with GPO_EVENT_EXTERNAL.
 * If the event is recorded while such a launch is held (stream.h), the recording made meanwhile stays the newest, also
 * once the launch has been given to the GPU. If the graph is updated while a launch of it is held, and has no such node
 * any more, the recording is complete when the launch is.
 * GPO_NOT_SUPPORTED: the event was made with GPO_EVENT_INTERPROCESS, or is imported; or the template is a body */
GPO_API gpo_status gpo_template_add_event_record(gpo_template_t graph_template, const uint32_t *after,
                                                 uint32_t after_count, gpo_event_t event, uint32_t *node);
/* Later nodes wait, on the GPU, for the recording of `event` that is the newest when the graph is launched. If the
 * recording or the launch is held (stream.h), the whole launch waits for the recording. The launch fails as
 * gpo_stream_wait_event would: GPO_CAPTURE_REFUSED if the newest recording was made in a capture, or with the failure
 * of a held recording. A stream in the recording of a template adds such a node by gpo_stream_wait_event of an event
 * with GPO_EVENT_EXTERNAL.
 * GPO_NOT_SUPPORTED: as gpo_template_add_event_record */
GPO_API gpo_status gpo_template_add_event_wait(gpo_template_t graph_template, const uint32_t *after,
                                               uint32_t after_count, gpo_event_t event, uint32_t *node);

/* Called for a host node, on a thread of the driver. The function must not block, must not throw, and must not call
 * CUDA. A host node may call the functions of this library that need no driver: the functions of status.h;
 * gpo_timeline_signal, _fail and _get_value; gpo_host_call_finish; gpo_executor_post, _post_at, _cancel and _get_time;
 * gpo_cq_drain, _wake, _get_fd, _get_error and _get_statistics. Streams that such a call releases go on from another
 * thread, soon after the call. Every other function returns GPO_WOULD_DEADLOCK, and has no effect.
 * The functions of host nodes that the library didn't make (gpo_template_import, other libraries' calls in a recording)
 * are unknown to the library. Their calls return GPO_WOULD_DEADLOCK where the driver refuses them, which CUDA doesn't
 * promise; the refusal loses no device.
 * A C++ exception that leaves the function is logged, and the graph goes on. */
typedef void (*gpo_host_node_fn)(void *user);
/* Calls `function` on the host. The launch of a graph with host nodes may block until the graph's earlier launch is
 * done. `function` and `user` must stay valid until the template and its graphs are destroyed and done. */
GPO_API gpo_status gpo_template_add_host_call(gpo_template_t graph_template, const uint32_t *after,
                                              uint32_t after_count, gpo_host_node_fn function, void *user,
                                              uint32_t *node);

/* Adds copies of all nodes of `child`, with conditional nodes and their bodies, after `after`. `node` gets an empty
 * node behind all copies. Parameters of `child` become parameters of this template, named `prefix` followed by the name
 * in the child. `prefix` may be NULL: the same name. Parameters of several children with one name are set together.
 * Nothing can be added to `child` any more. gpo_graph_get_loop finds loops of a child by the child's handle, and those
 * of its bodies by theirs.
 * GPO_NOT_SUPPORTED: `child` has a node that can't be copied: an allocation or free of memory, or a node of another
 *     library that the driver doesn't describe in full (an unknown kind of node; a kernel whose argument sizes the
 *     driver can't report; a node behind a programmatic launch). Or this template is a body, and `child` has a node
 *     that a body can't have. The message names the node
 * GPO_INVALID_ARGUMENT: `child` is this template, or this template is a body of `child` */
GPO_API gpo_status gpo_template_add_child(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                          gpo_template_t child, const char *prefix, uint32_t *node);

/* --- decisions on the GPU ---
 *
 * A conditional node has *bodies*: templates of their own, which are recorded or built like any other and belong to the
 * node. The condition is a comparison of a 32-bit word with a constant, or is set by a kernel. A body may have kernels,
 * copies, fills, empty nodes, child templates and conditional nodes. Any other node is refused when it is added;
 * gpo_template_end refuses a recording that has such a node, and names the node. No graph can be made of a body alone.
 * Destroy the handles of bodies by gpo_template_destroy when they are built. Parameters of bodies, and of children's
 * bodies, become parameters of the template when it gets its first graph.
 *
 * A conditional node that is added while a template or a body is recorded is part of the recording. Its bodies can be
 * filled before and after gpo_template_end. A recording that fails or is cancelled discards the bodies.
 *
 * A comparison is a node of its own, which is added before the conditional node and has the number before.
 *
 * Several graphs of a template with conditional nodes, those of gpo_template_launch on several streams among them, need
 * nodes that can be copied, as a child does (gpo_template_add_child). The recording of a body needs such nodes too. */

#define GPO_COMPARE_KERNEL 0        /* no comparison: a kernel sets the condition (gpo_template_bind_condition) */
#define GPO_COMPARE_EQUAL 1         /* the word == constant */
#define GPO_COMPARE_NOT_EQUAL 2     /* the word != constant */
#define GPO_COMPARE_LESS 3          /* the word < constant, both unsigned */
#define GPO_COMPARE_GREATER_EQUAL 4 /* the word >= constant, both unsigned */
#define GPO_COMPARE_VALUE 5         /* the word itself: which body of a switch */

typedef struct gpo_condition {
    uint32_t struct_size;
    uint32_t comparison;     /* GPO_COMPARE_* */
    uint64_t word;           /* address of the word, a multiple of 4, in device or pinned memory */
    uint32_t constant;
    uint32_t initial;        /* with GPO_COMPARE_KERNEL: the condition when the graph starts */
    uint64_t max_iterations; /* of a while: after that many the loop ends; GPO_AUTO: 2^32 - 1; at most that */
} gpo_condition;

/* Runs `body` if the condition isn't 0, else `otherwise`, if `otherwise` isn't NULL. The condition is evaluated when
 * the graph gets to the node.
 * GPO_NOT_SUPPORTED: the driver has no conditional nodes (before CUDA 12.3), or no else (before 12.8) */
GPO_API gpo_status gpo_template_add_if(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                       const gpo_condition *condition, gpo_template_t *body, gpo_template_t *otherwise,
                                       uint32_t *node);
/* Runs `body` again and again as long as the condition isn't 0. The condition is evaluated when the graph gets to the
 * node, and at the end of each run of the body. gpo_graph_get_loop says how often it ran. A looping graph can't be
 * stopped, and destroying it blocks until the loop ends: set condition.max_iterations. A graph that is launched on a
 * resident stream (stream.h) is freed when the loop has ended, and destroying it doesn't block. */
GPO_API gpo_status gpo_template_add_while(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                          const gpo_condition *condition, gpo_template_t *body, uint32_t *node);
/* Runs the body whose number, from 0, equals the condition; no body if the condition is `count` or more. `bodies` gets
 * `count` templates (1 to 1024).
 * GPO_NOT_SUPPORTED: the driver has no switch nodes (before CUDA 12.8) */
GPO_API gpo_status gpo_template_add_switch(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                           const gpo_condition *condition, gpo_template_t *bodies, uint32_t count,
                                           uint32_t *node);

/* Gives a kernel node the condition of a node that was made with GPO_COMPARE_KERNEL: argument `index` becomes the
 * handle that gpo::set_condition takes (gpuorch/device/graph.cuh; 8 bytes, of type gpo::condition). The kernel must
 * come before the conditional node, or be in the body of the while that it decides. `kernel_in` and `conditional_in`
 * are the templates that the nodes were added to: one template or bodies of it. Copies of both nodes, in children and
 * in further graphs, have conditions of their own.
 * GPO_INVALID_ARGUMENT: a node isn't what it has to be, or the kernel has no such argument of 8 bytes; or the templates
 *     don't belong together
 * GPO_INVALID_STATE: as for nodes; or the recording that had the conditional node was discarded */
GPO_API gpo_status gpo_template_bind_condition(gpo_template_t kernel_in, uint32_t kernel_node, uint32_t index,
                                               gpo_template_t conditional_in, uint32_t conditional);

/* --- memory of a template --- */

/* Device memory that the template owns. The memory keeps its address and is freed with the last of: the template's
 * handle, the graphs of the template and of templates that have it as a child, and the launches of these graphs.
 * Recorded addresses therefore can't become stale. gpo_memory_free refuses the memory. Memory of a body's handle is the
 * memory of the template that the body belongs to. Aligned, and serialising, as gpo_memory_allocate.
 * GPO_OUT_OF_MEMORY: the device has no `bytes` (1 or more) left */
GPO_API gpo_status gpo_template_allocate(gpo_template_t graph_template, uint64_t bytes, uint64_t *address);
/* Pinned host memory with the same lifetime, which kernels of all devices use at the same address as the host. */
GPO_API gpo_status gpo_template_allocate_host(gpo_template_t graph_template, uint64_t bytes, void **memory);

/* Device memory that exists while the graph runs, from this node to a node of gpo_template_add_free. Its address is the
 * same in every launch. Graphs that don't run at once may share the physical memory. Each allocation needs a free:
 * without one no graph of the template can be made. A template with such nodes has one graph at a time, which all
 * streams of gpo_template_launch share; a new recording always rebuilds the graph. The template can't be a child.
 * Kernels can't launch its graph.
 * GPO_NOT_SUPPORTED: the device has no memory pools, or the template is a body
 *
 * Allocations in stream order that other libraries make in a recording (cuMemAllocAsync) become such nodes, too. A
 * recording may allocate memory and not free it: then the memory is still allocated when a launch is done. The next
 * launch of the same graph begins by freeing the memory. After the last launch the program has to free the memory
 * (cuMemFreeAsync). */
GPO_API gpo_status gpo_template_add_allocation(gpo_template_t graph_template, const uint32_t *after,
                                               uint32_t after_count, uint64_t bytes, uint64_t *address, uint32_t *node);
/* Frees such memory. All nodes that use the memory have to be in `after`, or before nodes in `after`.
 * GPO_INVALID_ARGUMENT: no node of the template allocates memory at `address`, a node frees it already, or the new node
 *     would not come after the allocation
 * GPO_NOT_SUPPORTED: the template is a body */
GPO_API gpo_status gpo_template_add_free(gpo_template_t graph_template, const uint32_t *after, uint32_t after_count,
                                         uint64_t address, uint32_t *node);

/* --- parameters --- */

#define GPO_PARAMETER_ARGUMENT 1     /* argument `index` of a kernel, as many bytes as it has */
#define GPO_PARAMETER_GRID 2         /* of a kernel: uint32_t[3] */
#define GPO_PARAMETER_BLOCK 3        /* of a kernel: uint32_t[3] */
#define GPO_PARAMETER_SHARED_BYTES 4 /* of a kernel: uint32_t, bytes of dynamic shared memory */
#define GPO_PARAMETER_DESTINATION 5  /* of a copy or fill: uint64_t, an address of the same kind of memory */
#define GPO_PARAMETER_SOURCE 6       /* of a copy: uint64_t, an address of the same kind of memory */
#define GPO_PARAMETER_BYTES 7        /* of a copy of one row or of a fill: uint64_t; a fill: whole elements. Not 0 */
#define GPO_PARAMETER_VALUE 8        /* of a fill: uint32_t */
#define GPO_PARAMETER_ENABLED 9      /* of a kernel, copy or fill: uint32_t, 0: the node does nothing */

/* Names a field of a node as a parameter. `index` is 0 except for arguments. If a field already has the name, both are
 * set together, and must have the same size.
 * GPO_INVALID_ARGUMENT: the node has no such field, the sizes differ, or `name` is empty or longer than 63 bytes
 * GPO_NOT_SUPPORTED: the driver can't tell the size of the argument (before CUDA 12.4), or it can't be changed (the
 *     message says why)
 * GPO_INVALID_STATE: as for nodes */
GPO_API gpo_status gpo_template_add_parameter(gpo_template_t graph_template, const char *name, uint32_t node,
                                              uint32_t what, uint32_t index);

/* Writes a number by which gpo_graph_set_parameter finds the parameter faster than by its name. Numbers stay the same
 * when the template is recorded anew.
 * GPO_NOT_FOUND: there is no such parameter; the message lists the template's parameters */
GPO_API gpo_status gpo_template_get_parameter(gpo_template_t graph_template, const char *name, uint32_t *parameter,
                                              uint64_t *bytes);

/* --- what a template is --- */

/* Finds a node by its label: that of gpo_launch, or the kernel's.
 * GPO_NOT_FOUND: no node has this label; GPO_INVALID_ARGUMENT: several have it */
GPO_API gpo_status gpo_template_find_node(gpo_template_t graph_template, const char *label, uint32_t *node);

/* Writes the CUgraph behind the template. The library owns the CUgraph: read, copy or instantiate it, but don't change
 * it. The CUgraph is valid until the template is recorded anew, cleared or destroyed. Nothing can be added to the
 * template any more.
 * GPO_INVALID_STATE: the template is being recorded, or is a body */
GPO_API gpo_status gpo_template_get_native(gpo_template_t graph_template, void **native);

/* Removes all nodes and parameters, so that the template can be built anew. Its graphs keep what they have until
 * gpo_graph_update.
 * GPO_INVALID_STATE: the template is being recorded */
GPO_API gpo_status gpo_template_clear(gpo_template_t graph_template);

/* The size of a template, and counters of its graphs. */
typedef struct gpo_template_statistics {
    uint32_t struct_size;
    uint32_t nodes;          /* with those of bodies, once it has a graph */
    uint32_t parameters;
    uint32_t instances;      /* graphs that exist now, those of gpo_template_launch included */
    uint32_t pooled;         /* how many of the instances are those of gpo_template_launch */
    uint32_t recordings;     /* how often it was recorded */
    uint64_t launches;       /* of all its graphs */
    uint64_t patches;        /* nodes that a launch gave the driver anew */
    uint64_t updates;        /* graphs that took over a new recording in place */
    uint64_t rebuilds;       /* graphs that had to be instantiated anew for a new recording */
    uint64_t instance_bytes; /* by how much free device memory fell while the newest graph with GPO_GRAPH_UPLOAD or
                                GPO_GRAPH_DEVICE_LAUNCH was made; 0: by nothing, or there was none */
    uint64_t waiting_frees;  /* frees of memory that wait for graphs of this template (see Lifetime) */
    char last_rebuild[256];  /* why the last graph was rebuilt: the node and what differs; "" if none was */
    uint64_t held_words;     /* words of arguments larger than 8 bytes that hold memory for graphs now (see Lifetime) */
    uint64_t waiting_for_words; /* the waiting_frees that only held words hold up: addresses, or numbers that happen to
                                   be addresses. The log names the kernel, the argument and the word */
    uint64_t dropped;        /* values that were set, in graphs or for held launches, and that a new recording had no
                                place for (see Parameters) */
    char last_dropped[256];  /* the parameter of the newest dropped value, and why; "" if there was none */
} gpo_template_statistics;
/* Reads the size of a template, and the counters of its graphs. */
GPO_API gpo_status gpo_template_get_statistics(gpo_template_t graph_template, gpo_template_statistics *statistics);

/* --- pictures --- */

#define GPO_PICTURE_DOT 1 /* text for Graphviz */
#define GPO_PICTURE_SVG 2 /* a picture that needs no other file, and follows the viewer's preference for dark or
                             light */
/* Draws the template: its nodes with their labels, operations and parameters, the order between them, and bodies inside
 * of their conditional nodes. The picture also has the number of launches of the template's graphs, and the duration of
 * the newest launch that a trace (trace.h) has timed, if there is one. Nodes have the numbers of the template or body
 * that they were added to.
 * A string (types.h). Values are shown as they were recorded.
 * GPO_INVALID_STATE: the template is being recorded, or a body of it, or another body of the template that it belongs
 *     to
 * GPO_INVALID_ARGUMENT: an unknown format */
GPO_API gpo_status gpo_template_get_picture(gpo_template_t graph_template, uint32_t format, char *buffer,
                                            size_t capacity, size_t *needed);

/* --- graphs: instances of a template --- */

#define GPO_GRAPH_UPLOAD 1        /* upload to the device when created, so that the first launch is as fast as others */
#define GPO_GRAPH_DEVICE_LAUNCH 2 /* kernels may launch it (gpo_graph_get_device_handle); uploads it too */

typedef struct gpo_graph_options {
    uint32_t struct_size;
    uint32_t flags; /* GPO_GRAPH_* */
    const char *label;
} gpo_graph_options;

/* Makes a graph of the template as it is now. `options` may be NULL.
 * GPO_INVALID_STATE: the template or a body of it is being recorded; or the template is a body; or no node frees an
 *     allocation of the template (gpo_template_add_allocation): the message names the node
 * GPO_NOT_SUPPORTED: with GPO_GRAPH_DEVICE_LAUNCH, the template has a node that such a graph can't have (only kernels,
 *     copies of device and pinned memory, and fills): the message names the node. Or it has conditional nodes or memory
 *     nodes and a graph already, and a node that can't be copied
 * GPO_INVALID_ARGUMENT: an empty template with GPO_GRAPH_DEVICE_LAUNCH
 * Blocks on the GPU until the upload is done, with GPO_GRAPH_UPLOAD and GPO_GRAPH_DEVICE_LAUNCH. */
GPO_API gpo_status gpo_graph_create(gpo_template_t graph_template, const gpo_graph_options *options,
                                    gpo_graph_t *graph);
/* Destroys a graph's handle. Launches that were accepted still run. */
GPO_API gpo_status gpo_graph_destroy(gpo_graph_t graph);

/* Sets a parameter for later launches: `bytes` bytes at `value`, as many as the parameter has. Costs no call of the
 * driver, except for the source or destination of a copy or fill in memory that isn't the library's: then the driver
 * is asked what the memory is.
 * GPO_NOT_FOUND: there is no such parameter
 * GPO_INVALID_ARGUMENT: another size; or a value that can't be: a grid or block beyond the device's limits, a length of
 *     0, an address of another kind of memory or of none that the GPU can use. The message names the parameter */
GPO_API gpo_status gpo_graph_set(gpo_graph_t graph, const char *name, const void *value, uint64_t bytes);
/* Sets the parameter with this number of gpo_template_get_parameter, otherwise as gpo_graph_set. */
GPO_API gpo_status gpo_graph_set_parameter(gpo_graph_t graph, uint32_t parameter, const void *value, uint64_t bytes);

typedef struct gpo_setting {
    uint32_t struct_size;
    uint32_t parameter; /* number of gpo_template_get_parameter; with a name: 0 */
    const char *name;   /* NULL: `parameter` says which */
    const void *value;
    uint64_t bytes;
} gpo_setting;
/* Sets several parameters, all or none. `settings` is an array of `count` structs, `stride` bytes apart. */
GPO_API gpo_status gpo_graph_set_all(gpo_graph_t graph, const gpo_setting *settings, uint64_t stride, uint64_t count);
/* Writes the value that the next launch will use. */
GPO_API gpo_status gpo_graph_get(gpo_graph_t graph, const char *name, void *value, uint64_t bytes);

/* Puts all of the graph's work on a stream, as one operation. On a held stream (stream.h) the launch is held with the
 * values of this moment. If the graph is updated before a held launch is given to the GPU, the launch is of the new
 * recording, and of these values those that were set stay as in gpo_graph_update.
 * GPO_CAPTURE_REFUSED: the stream is in capture, where the driver launches no graphs; gpo_template_add_child adds the
 *     nodes of a template to a recording
 * GPO_INVALID_ARGUMENT: graph and stream are of different devices; or the driver refuses a value that was set: then
 *     nothing was launched, the message names the node, and the graph can be launched with other values; or the memory
 *     at an address that was set has been freed: then too nothing was launched, and the message names the parameter. A
 *     held launch fails later, with the same status
 * GPO_INVALID_STATE: the graph frees memory that another graph allocates and that isn't allocated now
 * May block in the driver if the graph has host nodes or copies. */
GPO_API gpo_status gpo_graph_launch(gpo_graph_t graph, gpo_stream_t stream);

/* Uploads the graph in stream order, so that the next launch needn't.
 * GPO_CAPTURE_REFUSED: the stream is in capture */
GPO_API gpo_status gpo_graph_upload(gpo_graph_t graph, gpo_stream_t stream);

/* How a graph was updated to the newest recording. */
typedef struct gpo_graph_update_report {
    uint32_t struct_size;
    uint32_t rebuilt;   /* 0: updated in place, or it was up to date; 1: instantiated anew */
    uint32_t node;      /* of the new recording: the first that differs in kind or place; 0: none, or none to name */
    uint32_t reserved;
    char reason[256];   /* why it was rebuilt: node, old, new; "" if it wasn't */
    uint32_t dropped;   /* values that were set in the graph and that the new recording has no place for */
    char dropped_parameter[64]; /* the first of their parameters; "" if there is none */
    char dropped_reason[256];   /* why it was dropped; "" if no value was */
} gpo_graph_update_report;
/* Brings the graph to the template's newest recording: in place if its shape is the same, else by instantiating it
 * anew. Values that were set stay for parameters that mean the same (see Parameters), and others are dropped. If it
 * fails, the graph can be launched as before, and no value is dropped. `report` may be NULL. Graphs of
 * gpo_template_launch are updated by themselves. */
GPO_API gpo_status gpo_graph_update(gpo_graph_t graph, gpo_graph_update_report *report);

/* Launches the template on `stream`, with the values of `settings` (as for gpo_graph_set_all), and what was recorded
 * for all other parameters. Each stream gets a graph of its own, made at the first launch there. Launches on different
 * streams therefore run beside each other, and any number of them can be in flight. Beyond `max_instances` streams,
 * streams share graphs, and launches of one graph run one after the other. The library updates all these graphs to the
 * newest recording. A launch that is held meanwhile is of the newest recording too: see gpo_graph_launch.
 * Statuses as gpo_graph_create, gpo_graph_set_all, gpo_graph_launch. Doesn't wait for the GPU. */
GPO_API gpo_status gpo_template_launch(gpo_template_t graph_template, gpo_stream_t stream, const gpo_setting *settings,
                                       uint64_t stride, uint64_t count);
/* Makes graphs for gpo_template_launch in advance, until there are `count`, and uploads them on `stream`. */
GPO_API gpo_status gpo_template_prepare(gpo_template_t graph_template, uint32_t count, gpo_stream_t stream);

/* How often the body of a while ran in the newest launch that is done, and whether `max_iterations` ended it.
 * `conditional_in` is the template that `node` was added to: the graph's, or a body; or a child, or a body of a child,
 * however deep. Either pointer may be NULL. With a condition that a kernel sets, `limited` is 1 also if the kernel
 * ended the loop just then.
 * GPO_INVALID_ARGUMENT: `node` is no while; or `conditional_in` wasn't in the graph's template when the graph was made
 *     or updated; or the template has the child more than once, and the call can't distinguish the copies (make a
 *     template for each)
 * Blocks for a copy from the device. */
GPO_API gpo_status gpo_graph_get_loop(gpo_graph_t graph, gpo_template_t conditional_in, uint32_t node,
                                      uint64_t *iterations, uint32_t *limited);

/* Writes the CUgraphExec behind the graph, with all values that were set in it. The library owns the CUgraphExec, which
 * is valid until the graph is updated or destroyed. */
GPO_API gpo_status gpo_graph_get_native(gpo_graph_t graph, void **native);

/* Writes the handle by which kernels launch the graph: `native` names the graph, and `status` is the address of a word
 * that gets the last failure of such a launch. A kernel takes both as one argument of 16 bytes, a gpo::device_graph
 * (gpuorch/device/graph.cuh). Both are valid until the graph is rebuilt or destroyed. Set values and updates reach
 * launches by kernels with the next gpo_graph_upload or launch by the host.
 * GPO_INVALID_STATE: the graph was made without GPO_GRAPH_DEVICE_LAUNCH */
GPO_API gpo_status gpo_graph_get_device_handle(gpo_graph_t graph, uint64_t *native, uint64_t *status);
/* Reads that word: the last failure of a device launch by this handle since the last call; GPO_SUCCESS if there was
 * none. GPO_LIMIT_EXCEEDED: one launch too many: one run of a graph may make 120 fire-and-forget and 255 tail launches,
 * and this graph can be launched once at a time. GPO_INVALID_ARGUMENT: anything else */
GPO_API gpo_status gpo_graph_get_device_status(gpo_graph_t graph, gpo_status *device_status);

#ifdef __cplusplus
}
#endif

#endif
