// What a trace shows of the whole runtime: its GPUs, and how much of what is pending and in use.
#pragma once

#include "trace/recorder/source.h"

namespace gpo {

/// For Recorder::start.
const trace::Source& trace_source() noexcept;

}  // namespace gpo
