// The text of a trace's summary: everything that is known of the trace, in words and figures.
#pragma once

#include <map>
#include <string>

#include "gpuorch/trace.h"
#include "trace/report/figures.h"

namespace gpo::trace {

struct Summary {
    struct Serialised {
        uint64_t count = 0, time = 0;  // calls; ns in calls, where measured
    };
    gpo_trace_info info{};
    std::string title;
    uint64_t start = 0, end = 0;  // end 0: it runs
    std::map<int, DeviceFigures> devices;
    std::map<std::string, Serialised> serialising;  // by what
};

/// Throws std::bad_alloc.
std::string summary_text(const Summary& about);

}  // namespace gpo::trace
