/* module.h: modules hold kernels: compiled from CUDA C++ source, loaded from prebuilt images, or built in. A kernel is
 * launched on a stream.
 *
 *     gpo_compile_options options = {.struct_size = sizeof options, .source = text, .file_name = "blur.cu"};
 *     gpo_module_compile(device, &options, &module);
 *     gpo_module_get_kernel(module, "blur", &kernel);
 *     gpo_launch launch = {.struct_size = sizeof launch, .grid = {blocks}, .block = {256}};
 *     gpo_stream_launch_kernel(stream, kernel, &launch, arguments, NULL, 2);
 *
 * A module and a kernel belong to one device (context).
 *
 * While the device has resident work (stream.h), no module can be loaded, and no kernel can be got for the first time,
 * since the driver would wait for the resident work. The calls return GPO_INVALID_STATE, and the message names the
 * resident stream. A module that is destroyed meanwhile is unloaded when the work has ended.
 */
#ifndef GPUORCH_MODULE_H
#define GPUORCH_MODULE_H

#include "memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpo_compile_options {
    uint32_t struct_size;
    uint32_t flags;                           /* GPO_COMPILE_* */
    const char *source;                       /* CUDA C++ */
    uint64_t source_bytes;                    /* 0: the source ends with a NUL */
    const char *file_name;                    /* name of the source in the compiler's messages; NULL: "kernel.cu" */
    const char *const *options;               /* in NVRTC's spelling: "-DN=4", "--std=c++17", "-I/usr/include/mine" */
    uint32_t option_count;
    uint32_t name_expression_count;
    const char *const *name_expressions;      /* template kernels to instantiate, "scale<float>"; the expression is then
                                                 a name for gpo_module_get_kernel */
    const char *const *header_names;          /* headers that the source may include: names as in its #include lines */
    const char *const *header_texts;          /* the text of each of them */
    uint32_t header_count;
    uint32_t reserved;                        /* 0 */
    const char *label;
} gpo_compile_options;
#define GPO_COMPILE_NO_CACHE 1 /* don't use the cache on disk: neither read from it nor add to it */
#define GPO_COMPILE_DYNAMIC_PARALLELISM 2 /* the source's kernels may launch kernels: see below */

/* Compiles a module for the device, or takes the result from the cache on disk.
 *
 * For a CUDA device NVRTC of CUDA 12 or newer compiles: the file that GPUORCH_NVRTC names, else a library that the
 * loader finds or that is below /usr/local/cuda. For the software GPU the machine's C++ compiler does: the command that
 * GPUORCH_CXX names, else c++, g++ or clang++.
 *
 * GPO_COMPILE_FAILED: the source has errors. The message is the first error; gpo_last_compile_log has the whole text
 * GPO_NO_COMPILER: no compiler was found
 * GPO_LIMIT_EXCEEDED, GPO_IO_ERROR: the system has no descriptor, no process or no disk space for the compiler
 *
 * Blocks on the compiler: milliseconds to seconds. Loading the result is serialising (runtime.h). */
GPO_API gpo_status gpo_module_compile(gpo_device_t device, const gpo_compile_options *options, gpo_module_t *module);

/* Dynamic parallelism: a source that is compiled with GPO_COMPILE_DYNAMIC_PARALLELISM may launch its kernels from its
 * kernels, child<<<grid, block, shared bytes, stream>>>(arguments). Each thread that reaches a launch makes one. The
 * launching kernel is the parent: for its stream and for all waits, the parent is done when it and all its children
 * are. The stream argument says when a child runs:
 *   0 (or none)               after the same block's earlier launches of this form
 *   cudaStreamFireAndForget   at once
 *   cudaStreamTailLaunch      after the parent and its other children; tails run one after the other
 * No kernel can wait for its children: cudaDeviceSynchronize doesn't exist on the device. Work that must follow the
 * children is a tail. A child sees what its parent's thread wrote to global memory before the launch. Its arguments are
 * copied by the launch; they must not point to shared or local memory.
 *
 * A launch that fails has no effect, and only cudaGetLastError() reports the failure to the kernel. 69
 * (cudaErrorLaunchPendingCountExceeded): GPO_LIMIT_PENDING_LAUNCHES launches (device.h) are pending; 9
 * (cudaErrorInvalidConfiguration): the device can't have the grid or block; 2 (cudaErrorMemoryAllocation): no memory is
 * left for the launch. The driver reserves the memory of pending launches when the limit is set. A child that crashes
 * loses the device as any kernel does; the message lists the parent's operation.
 *
 * This is made for devices of compute capability 9.0 or newer. On the software GPU kernels make no streams and no
 * events of their own (cudaStreamCreateWithFlags), and what is before <<< must be a name.
 *
 * A launch by a kernel costs more than one by the host: parent and two children took 32.9 us on an H200, against 16.5
 * us from the host. Kernels compiled so may run slower even where they launch nothing, since their code is linked.
 * Measure before choosing this. A kernel that launches kernels can't be in the body of a conditional node, nor in a
 * graph that kernels launch (template.h): gpo_graph_create refuses the graph.
 *
 * On a CUDA device the driver links NVRTC's output with libcudadevrt.a of the CUDA toolkit: the file that
 * GPUORCH_CUDADEVRT names, else the file beside NVRTC, else the file below /usr/local/cuda. The image of the module is
 * linked already, so gpo_module_load needs no toolkit.
 *
 * GPO_COMPILE_FAILED: also if the source launches kernels without the flag; the message names the flag
 * GPO_NO_COMPILER: also if libcudadevrt.a was not found, or the driver's linker is not installed
 * GPO_NOT_SUPPORTED: the driver has no linker */

/* Writes the compiler's text, with warnings, from the last gpo_module_compile or gpo_module_load of the calling thread;
 * "" if the compiler had nothing to say. */
GPO_API gpo_status gpo_last_compile_log(char *buffer, size_t capacity, size_t *needed);

/* Loads a module from an image: for a CUDA device a cubin, fatbin or PTX; for the software GPU a shared object that the
 * library made for it (gpo_module_get_image). The bytes may be freed when the call returns. `label` may be NULL.
 * GPO_INVALID_IMAGE: the driver refuses the image; the message has the driver's text. Images of the software GPU carry
 *     a digest: a damaged image, or one of another version of the library, is refused */
GPO_API gpo_status gpo_module_load(gpo_device_t device, const void *image, uint64_t bytes, const char *label,
                                   gpo_module_t *module);

/* Copies the image that a module was made from into `buffer`, to be stored and loaded again. The image is not a string
 * and has no terminator. `needed`, if not NULL, gets its size in bytes. A NULL buffer with capacity 0 only asks for
 * `needed`.
 * GPO_BUFFER_TOO_SMALL: the image is larger than `capacity`; nothing is written to `buffer` */
GPO_API gpo_status gpo_module_get_image(gpo_module_t module, void *buffer, size_t capacity, size_t *needed);

/* Loads the module of built-in kernels, which need no compiler. All loop over n, so any grid and block will do:
 *   gpo_fill_u32(uint32_t *y, uint32_t value, uint64_t n)                         y = value
 *   gpo_copy_u32(uint32_t *y, const uint32_t *x, uint64_t n)                      y = x
 *   gpo_scale_add_f32(float *y, const float *x, float a, uint64_t n)              y = a * x + y
 *   gpo_add_f32(float *z, const float *x, const float *y, uint64_t n)             z = x + y
 *   gpo_histogram_u8(uint64_t *bins, const uint8_t *x, uint64_t n)                adds to bins[256]
 *   gpo_reduce_add_f32(float *sum, const float *x, uint64_t n)                    adds to *sum */
GPO_API gpo_status gpo_module_load_builtin(gpo_device_t device, gpo_module_t *module);

/* Destroys a module's handle. The module stays loaded while kernels made from it exist. Running kernels go on. */
GPO_API gpo_status gpo_module_destroy(gpo_module_t module);

/* Makes a handle for a kernel of the module. `name` is the name in the source if the kernel is extern "C" or is neither
 * a template nor overloaded; or a name expression that was given to gpo_module_compile; or the mangled symbol.
 * GPO_NOT_FOUND: there is no such kernel; the message lists the module's kernels */
GPO_API gpo_status gpo_module_get_kernel(gpo_module_t module, const char *name, gpo_kernel_t *kernel);
/* Destroys a kernel's handle. Launches that were put on streams go on. */
GPO_API gpo_status gpo_kernel_destroy(gpo_kernel_t kernel);

/* Writes the device address and the size in bytes of a __device__ or __constant__ variable. The variable can be copied
 * to and from like any device memory. Either pointer may be NULL.
 * GPO_NOT_FOUND: there is no such variable */
GPO_API gpo_status gpo_module_get_symbol(gpo_module_t module, const char *name, uint64_t *address, uint64_t *bytes);

/* The resources that a kernel needs. */
typedef struct gpo_kernel_attributes {
    uint32_t struct_size;
    uint32_t max_threads_per_block;
    uint32_t registers_per_thread;
    uint32_t parameter_count;      /* 0: the kernel has none, or the driver is older than CUDA 12.4 and can't tell */
    uint64_t static_shared_bytes;
    uint64_t constant_bytes;
    uint64_t local_bytes_per_thread;
    uint64_t parameter_bytes;      /* size of all parameters with their padding; 0 as for parameter_count */
    uint64_t max_dynamic_shared_bytes;
    int32_t ptx_version;
    int32_t binary_version;
} gpo_kernel_attributes;
/* Writes what the driver says of a kernel. */
GPO_API gpo_status gpo_kernel_get_attributes(gpo_kernel_t kernel, gpo_kernel_attributes *attributes);

/* Writes the offset and the size, both in bytes, of parameter `index` (from 0) in the kernel's parameters. Either
 * pointer may be NULL. The library knows both already, so the call doesn't block.
 * GPO_INVALID_ARGUMENT: the kernel has no such parameter; the message says how many it has
 * GPO_NOT_SUPPORTED: the driver is older than CUDA 12.4 and can't tell */
GPO_API gpo_status gpo_kernel_get_parameter(gpo_kernel_t kernel, uint32_t index, uint64_t *offset, uint64_t *bytes);

/* Writes the function's name in the image. */
GPO_API gpo_status gpo_kernel_get_name(gpo_kernel_t kernel, char *buffer, size_t capacity, size_t *needed);
/* Writes the CUfunction behind the handle. The library owns it. */
GPO_API gpo_status gpo_kernel_get_native(gpo_kernel_t kernel, void **function);

/* Allows launches of this kernel to use up to `bytes` of dynamic shared memory. The setting holds for all handles of
 * the kernel. A launch whose static and dynamic shared memory together exceed 48 KiB needs this call first.
 * GPO_INVALID_ARGUMENT: a block can't have that much on this device */
GPO_API gpo_status gpo_kernel_set_max_dynamic_shared(gpo_kernel_t kernel, uint64_t bytes);

/* Writes how many blocks of `threads` threads, each with `dynamic_shared_bytes`, fit on a multiprocessor at once.
 * GPO_INVALID_ARGUMENT: `threads` is 0, or more than a block can have on this device */
GPO_API gpo_status gpo_kernel_get_occupancy(gpo_kernel_t kernel, uint32_t threads, uint64_t dynamic_shared_bytes,
                                        uint32_t *blocks);
/* Suggests a launch shape: `threads` gets the block size with the best occupancy, at most `max_threads` (0: no bound),
 * and `blocks` the fewest blocks that fill the device. Either of these two pointers may be NULL.
 * GPO_INVALID_ARGUMENT: no block fits with that much dynamic shared memory */
GPO_API gpo_status gpo_kernel_suggest_shape(gpo_kernel_t kernel, uint64_t dynamic_shared_bytes, uint32_t max_threads,
                                      uint32_t *threads, uint32_t *blocks);

#define GPO_LAUNCH_COOPERATIVE 1 /* all blocks run at the same time and may wait for one another */
#define GPO_LAUNCH_PRIORITY 2    /* this launch has `priority` instead of its stream's */

typedef struct gpo_launch {
    uint32_t struct_size;
    uint32_t flags;                /* GPO_LAUNCH_* */
    uint32_t grid[3];              /* blocks in each dimension; 0 counts as 1, except in grid[0] */
    uint32_t block[3];             /* threads in each dimension; 0 counts as 1, except in block[0] */
    uint32_t cluster[3];           /* blocks of a cluster; all 0: as the kernel's __cluster_dims__ says, else none */
    int32_t priority;              /* with GPO_LAUNCH_PRIORITY */
    uint64_t dynamic_shared_bytes; /* dynamic shared memory of a block */
    const char *label;             /* the operation's label; NULL: the kernel's */
} gpo_launch;

/* Puts a kernel on a stream. Kernel and stream must be of the same device (context).
 *
 * `arguments[i]` points to the value of parameter i: a number, an address, a struct. The values are copied before the
 * call returns. `sizes[i]` is the size of that value in bytes; `sizes` may be NULL. `count` is the number of arguments.
 * `count` and `sizes` are checked against the kernel's parameters if the driver knows them (CUDA 12.4).
 *
 * GPO_INVALID_ARGUMENT: count or a size is wrong (the message names the parameter), or the device or the kernel can't
 *     have this grid, block or cluster
 * GPO_LIMIT_EXCEEDED: the blocks of a cooperative launch don't fit on the device at the same time
 * GPO_NOT_SUPPORTED: the device has no cooperative launches or no clusters; or the stream is held (stream.h), and
 *     neither the driver nor `sizes` has the sizes of the parameters; or the kernel launches graphs
 *     (gpuorch/device/graph.cuh), which works only in a graph: record the launch into a template, or add the kernel
 *     there (gpo_template_add_kernel). A held stream accepts the launch of such a kernel, and then fails */
GPO_API gpo_status gpo_stream_launch_kernel(gpo_stream_t stream, gpo_kernel_t kernel, const gpo_launch *launch,
                                     const void *const *arguments, const uint32_t *sizes, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
