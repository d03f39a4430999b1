// Sources and sinks for pipelines, as structs of the C API.
#pragma once

#include <cstdint>
#include <string>

#include "gpuorch/gpuorch.h"
#include "support/sized.h"

namespace gpo::test {

inline gpo_source from_memory(const void* memory, uint64_t bytes) {
    auto source = sized<gpo_source>();
    source.kind = GPO_SOURCE_MEMORY;
    source.memory = memory;
    source.bytes = bytes;
    return source;
}

/// The path must stay until the run has been started; so in to_file.
inline gpo_source from_file(const std::string& path) {
    auto source = sized<gpo_source>();
    source.kind = GPO_SOURCE_FILE;
    source.path = path.c_str();
    return source;
}

inline gpo_sink to_memory(void* memory, uint64_t bytes) {
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_MEMORY;
    sink.memory = memory;
    sink.bytes = bytes;
    return sink;
}

inline gpo_sink to_file(const std::string& path) {
    auto sink = sized<gpo_sink>();
    sink.kind = GPO_SINK_FILE;
    sink.path = path.c_str();
    return sink;
}

/// The output isn't copied out.
inline gpo_sink to_nothing() { return sized<gpo_sink>(); }

}  // namespace gpo::test
