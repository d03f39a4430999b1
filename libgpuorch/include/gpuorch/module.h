/* module.h: kernels: from CUDA C++ source, from prebuilt images, and built in; and their launch.
 *
 *     gpo_compile_options options = {.struct_size = sizeof options, .source = text, .file_name = "blur.cu"};
 *     gpo_module_compile(device, &options, &module);
 *     gpo_module_get_kernel(module, "blur", &kernel);
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
    uint64_t source_bytes;                    /* 0: up to the NUL */
    const char *file_name;                    /* for messages; NULL: "kernel.cu" */
    const char *const *options;               /* in NVRTC's spelling: "-DN=4", "--std=c++17", "-I/usr/include/mine" */
    uint32_t option_count;
    uint32_t name_expression_count;
    const char *const *name_expressions;      /* templates to instantiate: "scale<float>"; then kernel names, too */
    const char *const *header_names;          /* as they are included */
    const char *const *header_texts;
    uint32_t header_count;
    uint32_t reserved;                        /* 0 */
    const char *label;
} gpo_compile_options;
#define GPO_COMPILE_NO_CACHE 1 /* neither look in the cache on disk nor add to it */

/* Compiles for the device, unless the result is in the cache: by NVRTC of CUDA 12 or newer (the file GPUORCH_NVRTC,
 * else where the loader finds it or below /usr/local/cuda), or by the machine's C++ compiler for the software GPU
 * (GPUORCH_CXX, else c++, g++ or clang++). GPO_COMPILE_FAILED with the first error as the message and the whole text in
 * gpo_last_compile_log; GPO_NO_COMPILER; GPO_LIMIT_EXCEEDED or GPO_IO_ERROR where the system has no descriptor, no
 * process or no room for the compiler. Blocks on the compiler: milliseconds to seconds. Serialises while it loads. */
GPO_API gpo_status gpo_module_compile(gpo_device_t device, const gpo_compile_options *options, gpo_module_t *module);

/* The compiler's text from the calling thread's last gpo_module_compile or gpo_module_load, warnings included; "" if it
 * had nothing to say. */
GPO_API gpo_status gpo_last_compile_log(char *buffer, size_t capacity, size_t *needed);

/* Loads an image: cubin, fatbin or PTX for CUDA, a shared object made for it for the software GPU. The bytes may go
 * when the call returns. GPO_INVALID_IMAGE with the driver's text; the software GPU's images carry a digest, and so a
 * damaged one is refused, as is another version's. `label` may be NULL. */
GPO_API gpo_status gpo_module_load(gpo_device_t device, const void *image, uint64_t bytes, const char *label,
                                   gpo_module_t *module);

/* Copies the image that a module was made from into `buffer`, to be kept and loaded again. `needed`, if not NULL, gets
 * its size in bytes, with no terminator: it is no string. GPO_BUFFER_TOO_SMALL if that is more than `capacity`, and
 * then nothing is written; a NULL buffer with capacity 0 only asks for `needed`. */
GPO_API gpo_status gpo_module_get_image(gpo_module_t module, void *buffer, size_t capacity, size_t *needed);

/* The built-in kernels, which need no compiler (grid and block are up to the caller; all loop over n):
 *   gpo_fill_u32(uint32_t *y, uint32_t value, uint64_t n)                         y = value
 *   gpo_copy_u32(uint32_t *y, const uint32_t *x, uint64_t n)                      y = x
 *   gpo_scale_add_f32(float *y, const float *x, float a, uint64_t n)              y = a * x + y
 *   gpo_add_f32(float *z, const float *x, const float *y, uint64_t n)             z = x + y
 *   gpo_histogram_u8(uint64_t *bins, const uint8_t *x, uint64_t n)                bins[256], added to
 *   gpo_reduce_add_f32(float *sum, const float *x, uint64_t n)                    added to */
GPO_API gpo_status gpo_module_load_builtin(gpo_device_t device, gpo_module_t *module);

/* Kernels of the module keep it; what is running goes on. */
GPO_API gpo_status gpo_module_destroy(gpo_module_t module);

/* A kernel by its name: as in the source for extern "C", a name expression given at compile time, the mangled symbol,
 * or the plain name of a kernel that is neither a template nor overloaded. GPO_NOT_FOUND lists what there is. */
GPO_API gpo_status gpo_module_get_kernel(gpo_module_t module, const char *name, gpo_kernel_t *kernel);
/* Launches that were put on streams go on. */
GPO_API gpo_status gpo_kernel_destroy(gpo_kernel_t kernel);

/* Address and size of a __device__ or __constant__ variable; copy to and from it as to any device memory. Either
 * pointer may be NULL. GPO_NOT_FOUND. */
GPO_API gpo_status gpo_module_get_symbol(gpo_module_t module, const char *name, uint64_t *address, uint64_t *bytes);

typedef struct gpo_kernel_attributes {
    uint32_t struct_size;
    uint32_t max_threads_per_block;
    uint32_t registers_per_thread;
    uint32_t parameter_count;      /* 0 where the driver can't tell (before CUDA 12.4) and for kernels with none */
    uint64_t static_shared_bytes;
    uint64_t constant_bytes;
    uint64_t local_bytes_per_thread;
    uint64_t parameter_bytes;      /* of all parameters with their padding; 0 as above */
    uint64_t max_dynamic_shared_bytes;
    int32_t ptx_version;
    int32_t binary_version;
} gpo_kernel_attributes;
/* What the driver says of a kernel. */
GPO_API gpo_status gpo_kernel_get_attributes(gpo_kernel_t kernel, gpo_kernel_attributes *attributes);

/* Where parameter `index`, from 0, begins in the kernel's parameters, in bytes, and its size in bytes. Either of the two
 * pointers may be NULL. GPO_INVALID_ARGUMENT where the kernel has no such parameter: the message says how many there are;
 * GPO_NOT_SUPPORTED where the driver can't tell (before CUDA 12.4). Asks nobody: it doesn't block. */
GPO_API gpo_status gpo_kernel_get_parameter(gpo_kernel_t kernel, uint32_t index, uint64_t *offset, uint64_t *bytes);

/* The function's name in the image. */
GPO_API gpo_status gpo_kernel_get_name(gpo_kernel_t kernel, char *buffer, size_t capacity, size_t *needed);
/* The CUfunction behind the handle. It is the library's. */
GPO_API gpo_status gpo_kernel_get_native(gpo_kernel_t kernel, void **function);

/* Lets launches of this kernel, by whatever handle, have up to `bytes` of dynamic shared memory: more than 48 KiB with
 * the static have to be allowed like this first. GPO_INVALID_ARGUMENT if a block can't have so much on this device. */
GPO_API gpo_status gpo_kernel_set_max_dynamic_shared(gpo_kernel_t kernel, uint64_t bytes);

/* How many blocks of `threads` threads fit on a multiprocessor at once. GPO_INVALID_ARGUMENT for more threads than a
 * block has on this device, or 0. */
GPO_API gpo_status gpo_kernel_get_occupancy(gpo_kernel_t kernel, uint32_t threads, uint64_t dynamic_shared_bytes,
                                        uint32_t *blocks);
/* The block size with the best occupancy (at most `max_threads`; 0: no bound), and the fewest blocks that fill the
 * device. Either of the two pointers may be NULL. GPO_INVALID_ARGUMENT if no block fits with so much shared memory. */
GPO_API gpo_status gpo_kernel_suggest_shape(gpo_kernel_t kernel, uint64_t dynamic_shared_bytes, uint32_t max_threads,
                                      uint32_t *threads, uint32_t *blocks);

#define GPO_LAUNCH_COOPERATIVE 1 /* all blocks run at once and may wait for one another */
#define GPO_LAUNCH_PRIORITY 2    /* `priority` holds for this launch in place of the stream's */

typedef struct gpo_launch {
    uint32_t struct_size;
    uint32_t flags;                /* GPO_LAUNCH_* */
    uint32_t grid[3];              /* blocks; a 0 counts as 1, except in grid[0] */
    uint32_t block[3];             /* threads; likewise */
    uint32_t cluster[3];           /* blocks to a cluster; all 0: the kernel's __cluster_dims__, else none */
    int32_t priority;
    uint64_t dynamic_shared_bytes;
    const char *label;             /* of this operation; NULL: the kernel's */
} gpo_launch;

/* Puts a kernel on a stream. `arguments[i]` points to the value of parameter i; the values are copied before the call
 * returns. `sizes[i]` is the size of that value; NULL: not checked. Count and sizes are checked against the kernel's
 * where the driver can tell: GPO_INVALID_ARGUMENT names the parameter. GPO_INVALID_ARGUMENT for a shape that the device
 * or the kernel can't have; GPO_LIMIT_EXCEEDED for a cooperative grid that doesn't fit at once; GPO_NOT_SUPPORTED for
 * cooperative launches and clusters on a device without them, and on a held stream if neither the driver nor `sizes`
 * tells the sizes. Kernel and stream must be of one device (context). */
GPO_API gpo_status gpo_stream_launch_kernel(gpo_stream_t stream, gpo_kernel_t kernel, const gpo_launch *launch,
                                     const void *const *arguments, const uint32_t *sizes, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
