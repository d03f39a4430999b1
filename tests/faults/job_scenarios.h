// Scenarios of whole jobs: the main job, compiles, and launches of every kind.
#pragma once

#include "faults/attempt.h"

namespace gpo::test {

/// Files through a kernel into files, with times and a bound on pinned memory. No half-written file is left.
void files(Attempt& a);
/// Chunks and slots found by measuring; source and sink are callbacks.
void tuned_pipeline(Attempt& a);
/// The compiler runs, in real time.
void compile_uncached(Attempt& a);
/// A compile into an empty cache. The compiler copies output that it made before; the library does the same as for any
/// compiler.
void compile_remembered(Attempt& a);
/// Cooperative and clustered launches, held work, and work that the host captures.
void launches(Attempt& a);
/// Kernels that launch kernels: each launch is made, or its kernel gets a failure status.
void families(Attempt& a);
/// A stream that learns: sequences of all learnable operations, replayed and broken.
void learned_sequences(Attempt& a);

}  // namespace gpo::test
