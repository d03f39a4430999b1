// Which functions may wait for another thread, and which of their loops may spin.
//
// The decision is made on names, and if in doubt the answer is "waits". A function is taken to do what any function or
// class does whose name it mentions, in its declaration or its body; a kernel also what the arguments of its name
// expressions do. Every function is taken to do what operators do, and what namespaces mention outside of functions and
// lambdas (tables of functions).
//
// A thread can wait in a barrier, a shuffle or a vote. It can also wait in a loop whose end may depend on what others
// write: a loop that reads atomics or volatile data, or uses an operator that does, and is not a counted loop. Two
// things are no waiting: an atomic whose result is not used; and the compare-and-swap loop of a read-modify-write (do {
// assumed = old; old = atomicCAS(p, assumed, f); } while (assumed != old);), which ends whether others run or not.
//
// Which kernels launch graphs is found by calls alone, and in doubt the answer is "doesn't": a stream refuses those that
// do, wherever the launch is in them.
//
// Names may hide what a loop reads (a template's T may be volatile int). So each loop that is not seen to end by
// itself, as a counted loop does, is *watched*. Watching makes no thread wait, but the loop reports at times that it
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
    bool watched;            // only because nothing shows that it ends by itself; else it looks at what others write
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
