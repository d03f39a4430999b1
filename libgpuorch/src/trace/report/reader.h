// Reads a trace file that the library has written (json.h), gzipped or not.
//
// If the process was killed, its trace file ends early: between two lines, within a line, or within the gzipped data.
// The part before that is read, and `whole` is false. Files with other damage, or from other programs, are refused.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "trace/report/span.h"

namespace gpo::trace {

struct TraceRead {
    /// A host thread's activity.
    enum class Doing : uint8_t { launching, waiting, serialising, calling };
    struct HostSpan {
        Doing doing;
        uint64_t begin, end;  // ns since the trace's start, as all times here
    };

    std::string program;
    std::map<int, std::string> devices;          // names by number
    std::vector<Span> spans;                     // by the time of their submission
    std::vector<HostSpan> host;                  // in no order; spans of different threads, and nested spans, overlap
    std::map<std::string, uint64_t> serialised;  // counts by what
    uint64_t launches = 0, launch_time = 0;      // calls that launch a kernel, ns in them
    uint64_t end = 0;
    uint64_t dropped = 0, call_cost = 0, operation_cost = 0;  // from the trace's last line
    bool whole = true;

    std::set<std::string> texts;  // owns the strings of the spans
};

/// Throws Failure(GPO_NOT_FOUND, GPO_IO_ERROR, GPO_INVALID_ARGUMENT, GPO_LIMIT_EXCEEDED) naming the file, and the line
/// if there is any; std::bad_alloc.
TraceRead read_trace(const std::string& path);

}  // namespace gpo::trace
