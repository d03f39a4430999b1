// GPU work as the writer thread passes it on to the trace file, the figures and the picture.
#pragma once

#include "trace/record.h"

namespace gpo::trace {

/// GPU work whose times are known.
struct Span {
    Engine engine = Engine::none;
    bool collective = false;
    int device = 0;  // the driver's number
    uint32_t lane = 0;
    const char* kind = "";  // "kernel"
    const char* label = "";
    const char* stream = "";  // the lane's name
    uint64_t submitted = 0;  // host::now(), as the following
    uint64_t begin = 0, end = 0;
    uint64_t bytes = 0;
    uint64_t number = 0;  // of the operation in its stream
    uint32_t nodes = 0;   // of a graph
    const char* graph_template = "";  // of a graph: its template's label
};

}  // namespace gpo::trace
