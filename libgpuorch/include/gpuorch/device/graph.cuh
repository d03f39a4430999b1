/* device/graph.cuh: decisions and launches by kernels that run in graphs (gpuorch/template.h).
 *
 *     #include <gpuorch/device/graph.cuh>
 *
 *     extern "C" __global__ void step(gpo::condition again, unsigned *left) {
 *         ...
 *         if (threadIdx.x == 0 && blockIdx.x == 0) gpo::set_condition(again, --*left);
 *     }
 *
 * For CUDA C++ by nvcc, NVRTC or Clang, of CUDA 12.4 or newer, and for the software GPU. It needs no device link step.
 * gpo_module_compile finds this header by itself.
 *
 * One thread
 *   Each thread that calls a function makes a call of its own, so one thread of the grid has to be chosen to call. A
 *   graph that it launches sees what this thread wrote before. What other threads wrote is seen if they executed
 *   __threadfence() and then met the calling thread in a barrier. If the graph needs all that the kernel does, launch
 *   it as a tail.
 *
 * Conditions
 *   A condition is a number that decides a conditional node. A kernel may set it that comes before the node in the
 *   graph, or is in the body of the while that the condition decides. Two threads that set one condition at the same
 *   time, of one kernel or of two, have undefined behaviour.
 *
 * Launches
 *   A kernel may launch graphs if it is in a graph itself, and not in the body of a conditional node. A stream refuses
 *   a kernel that has a launch of a graph in it, or in a function that it calls, whether it would come to the launch
 *   or not (GPO_NOT_SUPPORTED from gpo_stream_launch_kernel). The graph that a kernel launches must have been made for
 *   that (GPO_GRAPH_DEVICE_LAUNCH). The launching graph need not, unless it launches itself. Of one graph there is one
 *   launch at a time: a graph that runs, or waits as a tail, can't be launched. Only a running graph may launch
 *   itself, once, as a tail.
 *   An *environment* is one run of a graph with all that belongs to it. The run is complete when its environment is,
 *   and all its tails.
 *     fire and forget  The graph runs at once, and belongs to the environment of the graph that launched it. One run of
 *                      a graph can make 120 such launches, siblings included.
 *     tail             The graph runs when the environment of the graph that launched it is complete. Tails run one
 *                      after the other, in the order of their launches; those that a tail launches itself run before
 *                      the tails that wait already. Of the tails of one run of a graph 255 can wait.
 *     sibling          The graph runs at once, and belongs to the environment that the graph that launched it belongs
 *                      to. So tails of the latter don't wait for it.
 *
 * A launch returns 0 or why it failed: gpo::launch_limit_exceeded or gpo::launch_invalid_argument, which are values of
 * gpo_status. A failure is also stored in the word that gpo_graph_get_device_status reads. It changes nothing else.
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

/* What a launch returns: values of gpo_status. */
enum {
    launch_success = 0,
    launch_invalid_argument = 10, /* no graph, or the kernel can't launch any */
    launch_limit_exceeded = 31    /* the launch is one too many: of the 120 or 255, or of this graph at a time */
};

GPO_DEVICE_FUNCTION void set_condition(condition handle, unsigned value) { cudaGraphSetConditional(handle, value); }

/* The graph that the calling kernel is in, as device_graph.graph has it; 0 if that wasn't made for launches by kernels.
 */
GPO_DEVICE_FUNCTION unsigned long long current_graph() {
#if defined(__GPUORCH_SOFT__)
    return (unsigned long long)cudaGetCurrentGraphExec();
#else
    unsigned long long graph;
    asm("mov.u64 %0, %%current_graph_exec;" : "=l"(graph));
    return graph;
#endif
}

/* `stream`: one of the three names by which the driver knows how a graph is to be launched. */
GPO_DEVICE_FUNCTION int launch_on(unsigned long long stream, device_graph graph) {
    /* The driver answers cudaErrorInvalidValue, 1, to all launches that are one too many. */
    const int answer = graph.graph ? (int)cudaGraphLaunch((cudaGraphExec_t)graph.graph, (cudaStream_t)stream) : -1;
    if (answer == 0) return launch_success;
    const int failure = answer == 1 ? launch_limit_exceeded : launch_invalid_argument;
    if (graph.status) *(volatile unsigned*)graph.status = (unsigned)failure;
    return failure;
}

GPO_DEVICE_FUNCTION int launch_tail(device_graph graph) { return launch_on(0x0100000000000000ull, graph); }
GPO_DEVICE_FUNCTION int launch_fire_and_forget(device_graph graph) { return launch_on(0x0200000000000000ull, graph); }
GPO_DEVICE_FUNCTION int launch_sibling(device_graph graph) { return launch_on(0x0300000000000000ull, graph); }

/* Launches the graph that the calling kernel is in, as a tail: it starts again when this run is complete. */
GPO_DEVICE_FUNCTION int relaunch_self(unsigned long long status = 0) {
    const device_graph self = {current_graph(), status};
    return launch_tail(self);
}

}  // namespace gpo

#undef GPO_DEVICE_FUNCTION

#endif
