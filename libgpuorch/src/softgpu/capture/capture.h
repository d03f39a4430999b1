// Stream capture: work that is given to captured streams becomes nodes of a graph and does not run.
//
// A capture starts at its origin stream. Other streams join the capture by waiting for an event that was recorded in
// it, and must have been joined back into the origin when it ends. A call that isn't allowed invalidates the capture:
// everything on its streams then returns CUDA_ERROR_STREAM_CAPTURE_INVALIDATED until the capture is ended.
//
// Calls that a capture might have to record but can't (allocation, queries, synchronisation …) are *unsafe* beside some
// captures. If the calling thread's mode is GLOBAL: beside any GLOBAL capture in the process. If its mode is not
// RELAXED: beside a GLOBAL or THREAD_LOCAL capture begun by the calling thread. An unsafe call is refused with
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and invalidates those captures.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "softgpu/graph/graph.h"

namespace gpo::softgpu {

struct Event;
struct Machine;
struct Stream;

struct Capture {
    uint64_t id = 0;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    uint64_t thread = 0;                 // the thread that began the capture
    Context* context = nullptr;
    Stream* origin = nullptr;
    Graph* graph = nullptr;              // the recorded nodes; the caller's when the capture ends well, else destroyed
    std::vector<Stream*> streams;        // in the capture
    bool invalidated = false;
};

/// Names the calling thread; never used twice in a process.
uint64_t this_thread() noexcept;
CUstreamCaptureMode exchange_capture_mode(CUstreamCaptureMode) noexcept;

/// Lock not held. Refuses what is unsafe beside a capture in progress.
void refuse_beside_capture(Machine&);

// Lock held.
/// `into`: the caller's graph, which gets the nodes; NULL: a new one. `after`: nodes of `into` that the stream's first
/// node follows.
void begin_capture(Machine&, Stream&, CUstreamCaptureMode, Graph* into, std::vector<GraphNode*> after);
/// Ends the capture. The streams leave the capture even on failure, unless the call itself was wrong.
CUresult end_capture(Machine&, Stream&, CUgraph*);
/// Takes every stream out of the capture and its graph with it.
void abandon_capture(Machine&, Capture&) noexcept;
/// Refuses when the stream's capture has been invalidated.
void require_valid(const Stream&);
/// Invalidates the stream's capture and refuses: the call can't be captured.
[[noreturn]] void refuse_in_capture(Stream&);
/// Work on the legacy stream can't be ordered while a blocking stream of the context is captured. is_implicit: whether
/// a capture prevents the work. refuse_implicit: invalidates those captures and refuses, if there are any.
bool is_implicit(const Machine&, const Stream& legacy) noexcept;
void refuse_implicit(Machine&, Stream& legacy);
/// Records work as a node, which owns `inner` from here on. Throws std::bad_alloc, with no effect.
void capture_work(Machine&, Stream&, Work, std::vector<Graph*> inner = {});
/// The stream's next node follows these nodes of the capture's graph, instead of or besides its dependencies so far.
void set_dependencies(Stream&, const std::vector<GraphNode*>&, bool instead);
void capture_record(Stream&, Event&);
/// False: neither side is captured, an ordinary wait.
bool capture_wait(Stream&, Event&);

}  // namespace gpo::softgpu
