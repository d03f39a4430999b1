// How a GPU spent its time in a trace.
//
// A GPU is *idle* between its first and its last work while none of its engines works. The host's activity at that time
// decides how idle time counts: as *serialising* if the host makes a serialising call, else as *launching*, else as
// *waiting* for the GPU, else as other work of the *host*. Idle time with the next work already submitted is *queued*.
#pragma once

#include <vector>

#include "trace/report/figures.h"
#include "trace/report/reader.h"

namespace gpo::advice {

/// Nanoseconds.
struct Idle {
    uint64_t launching = 0, waiting = 0, serialising = 0, host = 0, queued = 0;
    uint64_t waits = 0;  // how often the host waited for the GPU before it submitted more work

    uint64_t all() const noexcept { return launching + waiting + serialising + host + queued; }
};

struct GpuFacts {
    int device = 0;
    trace::DeviceFigures figures;
    Idle idle;
    uint64_t kernel_time = 0;  // of kernels and graphs, added up
    uint64_t kernels = 0, graphs = 0, copies = 0;
    uint64_t streams = 0;  // that had kernels or graphs
    uint64_t in_bytes = 0, out_bytes = 0;
    uint64_t period = 0;  // operations after which their sequence repeats; 0: it doesn't
    uint64_t operations = 0;
    uint64_t time() const noexcept { return figures.end - figures.begin; }
};

/// For each GPU that has worked, in the order of their numbers. Throws std::bad_alloc.
std::vector<GpuFacts> facts_of(const trace::TraceRead& trace);

}  // namespace gpo::advice
