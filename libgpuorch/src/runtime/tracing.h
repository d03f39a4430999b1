// The trace's view of the whole runtime: its GPUs, how many operations are pending, and how much memory is in use.
#pragma once

#include "trace/recorder/trace_source.h"

namespace gpo {

/// For Recorder::start.
const trace::Source& trace_source() noexcept;

}  // namespace gpo
