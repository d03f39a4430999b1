// The interface between the library and a compiled kernel image of the software GPU (a shared object). The text of this
// file also goes into every compiled image. An image's source may declare a uint64_t of its own, so the file is plain
// C++ and includes nothing else. Both sides check GPO_SOFT_KERNEL_ABI: an image of another version is refused.
//
// How a thread finds itself. A block runs on stacks of its own *region*: memory aligned to 1 << GPO_SOFT_REGION_BITS.
// The region begins with the block's gpo_soft_block and holds its shared memory, threads' states and stacks.
// The stack pointer with its low bits cleared gives the block, and the number of the stack gives the thread. No
// thread-local variable is needed, and a block may continue on another core after any wait. Only one core at a time
// uses a region: atomics on region memory need no bus lock.
#pragma once

#include <stddef.h>

#define GPO_SOFT_KERNEL_ABI 7
#define GPO_SOFT_REGION_BITS 28

typedef __UINT32_TYPE__ gpo_soft_u32;
typedef __UINT64_TYPE__ gpo_soft_u64;
typedef __UINTPTR_TYPE__ gpo_soft_address;

extern "C" {

struct gpo_soft_dim3 { unsigned x, y, z; };

/// The state of a thread of a block. 128 bytes, so that states don't share cache lines.
struct gpo_soft_thread {
    gpo_soft_dim3 index;               // threadIdx
    gpo_soft_u32 linear;                   // the thread's number in the block, x fastest
    gpo_soft_u32 error;                    // the image's: cudaError of its last failed launch; 0: no launch failed
    gpo_soft_u32 library_word;             // the library's, like the rest
    gpo_soft_u64 library[13];
};

/// A block's view of its launch, at the start of its region. Valid while the block runs.
struct gpo_soft_block {
    gpo_soft_dim3 grid, block, block_index, cluster;
    void* dynamic_shared;              // `dynamic_shared_bytes`, 1024-byte aligned
    size_t dynamic_shared_bytes;
    void* static_shared;               // the kernel's static_shared_bytes, 1024-byte aligned
    void* const* args;                 // one pointer per parameter, to a copy that lives as long as the launch
    const struct gpo_soft_services* services;
    void* launch;                      // the library's
    gpo_soft_u32 multiprocessor;           // what %smid shows
    gpo_soft_u32 stack_shift;              // a thread's state is threads[(stack pointer - stacks) >> stack_shift]
    gpo_soft_address stacks;
    gpo_soft_thread* threads;
    gpo_soft_u32 cluster_rank;             // the block's number in its cluster, x fastest
    gpo_soft_u32 cluster_size;             // blocks of the cluster; 1 in a launch without clusters
    /// The blocks of the cluster by rank, in kernels with GPO_SOFT_KERNEL_WAITS. Their regions have the same layout:
    /// the distance from gpo_soft_block to shared memory is equal in all of them.
    gpo_soft_block* const* cluster_blocks;
    gpo_soft_u64 scratch[4];               // the image's, zero when the block starts
    gpo_soft_u64 exchange[32];             // the image's, one for each warp; undefined when the block starts
    void* launching;                       // the image's: launches whose arguments are being made; NULL at the start
};

/// Operations of a warp; each lane hands in `value` and gets its own answer.
enum {
    GPO_SOFT_WARP_SYNC = 0,            // answer 0
    GPO_SOFT_WARP_SHUFFLE = 1,         // the value of lane `argument`; the caller's own if that lane takes no part
    GPO_SOFT_WARP_BALLOT = 2,          // bit per lane of the mask whose value isn't 0
    GPO_SOFT_WARP_MATCH_ANY = 3,       // lanes whose value equals this lane's
    GPO_SOFT_WARP_MATCH_ALL = 4,       // the mask if all values are equal, else 0
    GPO_SOFT_WARP_ACTIVE = 5,          // the lanes that wait at the same `argument` (a call site); mask is ignored
    GPO_SOFT_WARP_REDUCE = 6,          // of the 32-bit values; `argument` is a GPO_SOFT_REDUCE_*
};
enum {
    GPO_SOFT_REDUCE_ADD, GPO_SOFT_REDUCE_MIN, GPO_SOFT_REDUCE_MAX, GPO_SOFT_REDUCE_MIN_SIGNED,
    GPO_SOFT_REDUCE_MAX_SIGNED, GPO_SOFT_REDUCE_AND, GPO_SOFT_REDUCE_OR, GPO_SOFT_REDUCE_XOR,
};
enum {
    GPO_SOFT_BARRIER_PLAIN = 0,        // answer 0
    GPO_SOFT_BARRIER_COUNT = 1,        // threads whose value isn't 0
    GPO_SOFT_BARRIER_AND = 2,
    GPO_SOFT_BARRIER_OR = 3,
};
/// How a kernel launches a graph: CUDA's names of streams, without their zeros.
enum {
    GPO_SOFT_GRAPH_TAIL = 1,
    GPO_SOFT_GRAPH_FIRE_AND_FORGET = 2,
    GPO_SOFT_GRAPH_SIBLING = 3,
};

/// When a grid launched by a kernel runs: CUDA's names of streams for kernels.
enum {
    GPO_SOFT_STREAM_OF_BLOCK = 0,          // after the block's earlier launches of this kind
    GPO_SOFT_STREAM_TAIL = 3,              // after the launching grid and its other children
    GPO_SOFT_STREAM_FIRE_AND_FORGET = 4,   // at once
};

struct gpo_soft_launch;

/// Functions of the library that a kernel may call.
struct gpo_soft_services {
    gpo_soft_u32 abi;
    /// Gives the core to another block or thread: called in every loop that can spin and at every wait.
    void (*yield)(gpo_soft_block*);
    /// Ends the launch with a CUresult (719 trap, 710 assert, 700 …). Does not return.
    void (*fail)(gpo_soft_block*, int result, const char* text);
    void (*print)(gpo_soft_block*, const char* text, size_t length);   // device printf, ordered per thread
    gpo_soft_u64 (*clock)(gpo_soft_block*);
    gpo_soft_u64 (*global_timer)(gpo_soft_block*);                          // ns
    /// The grid barrier of a cooperative launch: the block arrives and gets a ticket, then waits with the ticket for
    /// the other blocks. Only one thread of the block calls them. False: the launch isn't cooperative.
    bool (*grid_arrive)(gpo_soft_block*, gpo_soft_u32* ticket);
    void (*grid_wait)(gpo_soft_block*, gpo_soft_u32 ticket);
    /// Runs `thread(closure)` once for each thread of the block, as fibers; returns when all have ended. Only `run` of
    /// a kernel with GPO_SOFT_KERNEL_WAITS may call it, once. Only these threads may call the functions below.
    void (*run_threads)(gpo_soft_block*, void (*thread)(void* closure), void* closure);
    /// Waits for all threads of the block that haven't ended.
    gpo_soft_u32 (*barrier)(gpo_soft_block*, gpo_soft_u32 operation, gpo_soft_u32 value);
    /// Waits for all lanes of `mask` that haven't ended.
    gpo_soft_u64 (*warp)(gpo_soft_block*, gpo_soft_u32 operation, gpo_soft_u32 mask, gpo_soft_u64 value,
                         gpo_soft_u64 argument);
    /// The thread arrives at the cluster's barrier; then waits for all threads of the cluster that haven't ended.
    void (*cluster_arrive)(gpo_soft_block*);
    void (*cluster_wait)(gpo_soft_block*);
    /// Called by any thread in a loop at `file`:`line` that goes on: gives the core to others, as yield does. In a
    /// kernel without GPO_SOFT_KERNEL_WAITS no other thread of the block can run, so there the launch fails when the
    /// loop takes too long (CUDA_ERROR_LAUNCH_TIMEOUT). `since`: 0 at the loop's first call, then the previous answer.
    gpo_soft_u64 (*spin)(gpo_soft_block*, gpo_soft_u64 since, const char* file, gpo_soft_u32 line);
    /// Sets the condition of a conditional node of the graph that the kernel is in. Any other handle is ignored.
    void (*set_condition)(gpo_soft_block*, gpo_soft_u64 handle, gpo_soft_u32 value);
    /// Launches an executable graph, as GPO_SOFT_GRAPH_* says. The answer is a cudaError.
    int (*launch_graph)(gpo_soft_block*, gpo_soft_u64 graph, gpo_soft_u32 how);
    /// The kernel's executable graph, if kernels may launch it; else 0.
    gpo_soft_u64 (*current_graph)(gpo_soft_block*);
    /// Launches a kernel of the image as a child of the block's grid. Copies all arguments. The answer is a cudaError.
    int (*launch_kernel)(gpo_soft_block*, const gpo_soft_launch*);
};

struct gpo_soft_parameter { gpo_soft_u32 offset, size; };

enum {
    GPO_SOFT_KERNEL_WAITS = 1u,      // some thread may wait for another: run() calls run_threads
    GPO_SOFT_KERNEL_LAUNCHES = 2u,   // some thread may launch a kernel
    GPO_SOFT_KERNEL_LAUNCHES_GRAPHS = 4u,   // some thread launches a graph: it can run in graphs alone
};

struct gpo_soft_kernel {
    const char* name;                          // the symbol: mangled unless extern "C"
    const gpo_soft_parameter* parameters;
    gpo_soft_u32 parameter_count;
    gpo_soft_u32 flags;
    gpo_soft_u32 static_shared_bytes;
    gpo_soft_u32 max_threads;                      // __launch_bounds__, 1024 where there are none
    /// Runs every thread of one block to its end. Called on a stack of the block's region.
    void (*run)(gpo_soft_block*);
    gpo_soft_dim3 cluster;                     // __cluster_dims__; zeros where there are none
};

/// A launch by a kernel. `kernel` takes one parameter, made from all parameters of the source's kernel.
struct gpo_soft_launch {
    gpo_soft_kernel kernel;
    gpo_soft_dim3 grid, block;
    size_t dynamic_shared_bytes;
    gpo_soft_u64 stream;                       // GPO_SOFT_STREAM_*
    const void* argument;                      // kernel.parameters[0].size bytes
};

enum {
    GPO_SOFT_READ_ONLY = 1,            // const: among the image's read-only data
    GPO_SOFT_CONSTANT = 2,             // __constant__, perhaps const too
};
struct gpo_soft_variable { const char* name; void* address; size_t size; gpo_soft_u32 constant; };

/// A name expression of the compile request and the symbol it stands for.
struct gpo_soft_name { const char* expression; const char* symbol; };

struct gpo_soft_image {
    gpo_soft_u32 abi, struct_size;
    const gpo_soft_kernel* kernels;
    gpo_soft_u32 kernel_count;
    const gpo_soft_variable* variables;        // __device__ and __constant__ variables
    gpo_soft_u32 variable_count;
    const gpo_soft_name* names;
    gpo_soft_u32 name_count;
};

/// An image's only exported symbol: `extern "C" const gpo_soft_image* gpo_soft_image_get(void)`. NULL without memory.
typedef const gpo_soft_image* (*gpo_soft_image_get_t)(void);

}
