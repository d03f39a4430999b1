// Scenarios of whole jobs: what the main job does, what compiles, what launches in every manner.
#pragma once

#include "faults/attempt.h"

namespace gpo::test {

/// Files through a kernel into files, with times and a bound on pinned memory. Nothing half-written is left.
void files(Attempt& a);
/// Chunks and slots found by measuring; source and sink are callbacks.
void tuned_pipeline(Attempt& a);
/// The compiler runs, in real time.
void compile_uncached(Attempt& a);
/// The library does the same, and puts what comes of it into a cache that is empty; a compiler that has done it before
/// copies it.
void compile_remembered(Attempt& a);
/// Cooperative and clustered launches, what is held, and what the host captures.
void launches(Attempt& a);
/// Kernels that launch kernels: each launch is made, or its kernel is told that it isn't.
void families(Attempt& a);
/// A stream that learns: sequences of all that can be learned, which are replayed and broken.
void learned_sequences(Attempt& a);

}  // namespace gpo::test
