/* device/graph.cuh: decisions and launches by kernels that run in graphs (gpuorch/template.h).
 *
 *     #include <gpuorch/device/graph.cuh>
 *
 *     extern "C" __global__ void step(gpo::condition again, unsigned *left) {
 *         ...
 *         if (threadIdx.x == 0 && blockIdx.x == 0) gpo::set_condition(again, --*left);
 *     }
 *
 * For CUDA C++ by nvcc, NVRTC or Clang, of CUDA 12.4 or newer, and for the software GPU. Needs no device link step.
 * gpo_module_compile finds this header by itself.
 *
 * One thread
 *   Each calling thread makes a call of its own, so the kernel has to choose one thread of the grid to call. A launched
 *   graph sees this thread's earlier writes, and writes of other threads if they executed __threadfence() and then met
 *   the calling thread in a barrier. If the graph needs all results of the kernel, launch it as a tail.
 *
 * Conditions
 *   A condition is a number that decides a conditional node. Kernels before the node in the graph may set it, and
 *   kernels in the body of the while that the condition decides. If two threads, of one kernel or of two, set a
 *   condition at the same time, behaviour is undefined.
 *
 * Launches
 *   A kernel may launch graphs if it is in a graph itself, and not in the body of a conditional node. A stream refuses
 *   a kernel that contains a launch of a graph, or calls a function with a launch, even if the launch is never executed
 *   (GPO_NOT_SUPPORTED from gpo_stream_launch_kernel). A graph that kernels launch must have been made with
 *   GPO_GRAPH_DEVICE_LAUNCH. The launching graph need not, unless it launches itself. A graph has one launch at a time:
 *   while it runs, or waits as a tail, it can't be launched. Only a running graph may launch itself, once, as a tail.
 *   An *environment* is one run of a graph with all graphs that belong to it. The run is complete when its environment
 *   and all its tails are.
 *     fire and forget  The graph runs at once, and belongs to the environment of its launching graph. One run of a
 *                      graph can make 120 such launches, siblings included.
 *     tail             The graph runs when the environment of its launching graph is complete. Tails run one after the
 *                      other, in the order of their launches; tails that a tail launches run before the tails that wait
 *                      already. Up to 255 tails of one run of a graph can wait.
 *     sibling          The graph runs at once, and belongs to the same environment as its launching graph. Tails of the
 *                      launching graph don't wait for it.
 *
 * A launch returns 0 or the cause of its failure: gpo::launch_limit_exceeded or gpo::launch_invalid_argument, values of
 * gpo_status. A failure is also stored in the word that gpo_graph_get_device_status reads, and changes nothing else.
 */
#ifndef GPUORCH_DEVICE_GRAPH_CUH
#define GPUORCH_DEVICE_GRAPH_CUH

#if !defined(__CUDACC__) && !defined(__CUDACC_RTC__) && !defined(__CUDA__)
#error "gpuorch/device/graph.cuh is for CUDA C++"
#endif

#if defined(__GPUORCH_SOFT__)
#pragma GCC system_header
#define GPO_DEVICE_FUNCTION static inline
#else
#define GPO_DEVICE_FUNCTION static __device__ inline
#endif

#if !defined(cudaStreamGraphTailLaunch)
/* NVRTC declares these only for relocatable code. The driver finds them by their names. */
extern "C" __device__ cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
extern "C" __device__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);
#endif

namespace gpo {

/* Names the condition of a conditional node: a CUgraphConditionalHandle. A kernel takes it as an argument. */
typedef unsigned long long condition;

/* Names a graph to kernels: what gpo_graph_get_device_handle writes. A kernel takes it as an argument, by value. */
struct device_graph {
    unsigned long long graph;  /* a CUgraphExec */
    unsigned long long status; /* address of a word that gets the last failure; 0: none does */
};

/* Results of a launch: values of gpo_status. */
enum {
    launch_success = 0,
    launch_invalid_argument = 10, /* no graph, or the kernel can't launch any */
    launch_limit_exceeded = 31    /* one launch too many: of the 120 or 255, or of this graph at a time */
};

GPO_DEVICE_FUNCTION void set_condition(condition handle, unsigned value) { cudaGraphSetConditional(handle, value); }

/* The calling kernel's graph, as in device_graph.graph; 0 if the graph wasn't made for launches by kernels. */
GPO_DEVICE_FUNCTION unsigned long long current_graph() {
#if defined(__GPUORCH_SOFT__)
    return (unsigned long long)cudaGetCurrentGraphExec();
#else
    unsigned long long graph;
    asm("mov.u64 %0, %%current_graph_exec;" : "=l"(graph));
    return graph;
#endif
}

/* `stream`: one of the driver's three names for the kinds of launches. */
GPO_DEVICE_FUNCTION int launch_on(unsigned long long stream, device_graph graph) {
    /* The driver answers cudaErrorInvalidValue, 1, to all launches above a limit. */
    const int answer = graph.graph ? (int)cudaGraphLaunch((cudaGraphExec_t)graph.graph, (cudaStream_t)stream) : -1;
    if (answer == 0) return launch_success;
    const int failure = answer == 1 ? launch_limit_exceeded : launch_invalid_argument;
    if (graph.status) *(volatile unsigned*)graph.status = (unsigned)failure;
    return failure;
}

GPO_DEVICE_FUNCTION int launch_tail(device_graph graph) { return launch_on(0x0100000000000000ull, graph); }
GPO_DEVICE_FUNCTION int launch_fire_and_forget(device_graph graph) { return launch_on(0x0200000000000000ull, graph); }
GPO_DEVICE_FUNCTION int launch_sibling(device_graph graph) { return launch_on(0x0300000000000000ull, graph); }

/* Launches the calling kernel's graph as a tail: it starts again when this run is complete. */
GPO_DEVICE_FUNCTION int relaunch_self(unsigned long long status = 0) {
    const device_graph self = {current_graph(), status};
    return launch_tail(self);
}

}  // namespace gpo

#undef GPO_DEVICE_FUNCTION

#endif
