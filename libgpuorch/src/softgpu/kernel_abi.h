// What a compiled kernel image of the software GPU (a shared object) exports, and what the library hands to its kernels.
// Plain C++17 with no includes but these two, since the text also goes into every compiled image. Both sides check
// GPO_SOFT_KERNEL_ABI, so an image of another version is refused, not run.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define GPO_SOFT_KERNEL_ABI 1

extern "C" {

struct gpo_soft_dim3 { unsigned x, y, z; };

/// One block's view of its launch. Valid while the block runs.
struct gpo_soft_block {
    gpo_soft_dim3 grid, block, block_index, cluster;
    void* dynamic_shared;              // `dynamic_shared_bytes`, 1024-byte aligned
    size_t dynamic_shared_bytes;
    void* static_shared;               // the kernel's static_shared_bytes, 1024-byte aligned
    void* const* args;                 // one pointer per parameter, to a copy that lives as long as the launch
    const struct gpo_soft_services* services;
    void* launch;                      // the library's
    uint32_t multiprocessor;           // what %smid shows
};

/// What a kernel may ask of the device.
struct gpo_soft_services {
    uint32_t abi;
    /// Gives the core to another block or thread: called in every loop that can spin and at every wait.
    void (*yield)(gpo_soft_block*);
    /// Ends the launch with a CUresult (719 trap, 710 assert, 700 …). Does not return.
    void (*fail)(gpo_soft_block*, int result, const char* text);
    void (*print)(gpo_soft_block*, const char* text, size_t length);   // device printf, ordered per thread
    uint64_t (*clock)(gpo_soft_block*);
    uint64_t (*global_timer)(gpo_soft_block*);                          // ns
    /// All blocks of a cooperative launch meet here (called by one thread of each block). False: not cooperative.
    bool (*grid_barrier)(gpo_soft_block*);
};

struct gpo_soft_parameter { uint32_t offset, size; };

enum {
    GPO_SOFT_KERNEL_WAITS = 1u,   // some thread may wait for another: run() makes fibers of the threads
};

struct gpo_soft_kernel {
    const char* name;                          // the symbol: mangled unless extern "C"
    const gpo_soft_parameter* parameters;
    uint32_t parameter_count;
    uint32_t flags;
    uint32_t static_shared_bytes;
    uint32_t max_threads;                      // __launch_bounds__, 1024 where there are none
    /// Runs every thread of one block to its end.
    void (*run)(gpo_soft_block*);
};

struct gpo_soft_variable { const char* name; void* address; size_t size; uint32_t constant; };

struct gpo_soft_image {
    uint32_t abi, struct_size;
    const gpo_soft_kernel* kernels;
    uint32_t kernel_count;
    const gpo_soft_variable* variables;        // __device__ and __constant__ variables
    uint32_t variable_count;
};

/// The one symbol an image exports: `extern "C" const gpo_soft_image* gpo_soft_image_get(void)`.
typedef const gpo_soft_image* (*gpo_soft_image_get_t)(void);

}
