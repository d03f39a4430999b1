// Which functions may wait for another thread, and which of their loops may spin.
//
// The analysis goes by names, and in doubt the answer is "waits". A function inherits from all functions and classes
// named in its declaration or body; a kernel also from the arguments of its name expressions. Every function inherits
// from all operators, and from names mentioned in namespaces outside of functions and lambdas (tables of functions).
//
// A thread can wait in a barrier, a shuffle, a vote, or a loop whose end may depend on other threads' writes. Loops of
// this kind read atomics or volatile data, or use an operator that does, and are not counted loops. Not a wait: an
// atomic whose result is not used. The compare-and-swap loop of a read-modify-write ends whether others run or not, so
// it is no wait: do { assumed = old; old = atomicCAS(p, assumed, f); } while (assumed != old);
//
// A kernel counts as launching graphs only if it contains such a call by name. In doubt the answer is "doesn't",
// because streams refuse kernels that contain a launch of a graph.
//
// Names may hide what a loop reads (a template's T may be volatile int). Each loop that is not seen to end by itself,
// as a counted loop does, is therefore *watched*. Watching makes no thread wait, but the loop reports at times that it
// still runs, and the multiprocessors find out where it hangs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "softgpu/compiler/structure.h"

namespace gpo::softgpu {

struct SpinningLoop {
    enum class Kind { while_loop, do_loop, for_loop } kind;
    uint32_t keyword;        // while, do, for
    uint32_t open, close;    // the condition's parentheses
    bool watched;            // true: may not end by itself; false: certainly reads other threads' writes
};

struct FunctionTraits {
    bool waits = false;
    bool index_in_memory = false;   // some function asks the thread's state for its index
    bool device_shared = false;     // a device function has shared variables
    bool launches = false;          // a thread may launch a kernel
    bool launches_graphs = false;   // a thread launches a graph, as far as calls by name show
    bool own_memory = false;        // threads may have arrays of their own, or pointers to their own variables
    std::vector<SpinningLoop> loops;
    std::vector<uint32_t> jumps;    // goto tokens of functions that look at what others write
};

struct Waits {
    std::vector<FunctionTraits> functions;   // one for each of structure.functions
    FunctionTraits rest;                     // of structure.rest: only its loops and jumps
};
Waits find_waits(const Tokens& tokens, const Structure& structure, const std::vector<std::string>& name_expressions);

/// The bodies, without braces, of lambdas and local classes within `range`, outermost first; with the '[' of a lambda.
struct Nested {
    uint32_t introducer = 0;        // the '[' of a lambda; 0 for a class
    TokenRange body;
};
std::vector<Nested> find_nested(const Tokens& tokens, TokenRange range);

}  // namespace gpo::softgpu
