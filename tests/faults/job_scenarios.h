// Scenarios of whole jobs: the main job, compiles, and launches of every kind.
#pragma once

#include "faults/attempt.h"

namespace gpo::test {

/// A pipeline that reads files, runs a kernel and writes files, with times and a bound on pinned memory. No incomplete
/// file may be left.
void files(Attempt& a);
/// A pipeline whose source and sink are callbacks, and which finds sizes and numbers of chunks by measuring.
void tuned_pipeline(Attempt& a);
/// Compiles without a cache: the real compiler runs.
void compile_uncached(Attempt& a);
/// Compiles with an empty cache and a fake compiler, which copies an earlier output of the real one.
void compile_remembered(Attempt& a);
/// Cooperative and clustered launches, held work, and work that the host captures.
void launches(Attempt& a);
/// Kernels that launch kernels: each launch is made, or its kernel gets a failure status.
void families(Attempt& a);
/// A stream that learns: sequences of all learnable operations, replayed and broken.
void learned_sequences(Attempt& a);

}  // namespace gpo::test
