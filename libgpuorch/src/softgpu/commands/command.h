// The parts of streams and graphs: work, the commands that do the work, and the marks by which commands wait for each
// other.
//
// Commands and marks are pooled. The machine's lock guards all their fields, with one exception: the work of a command
// belongs to the engine or the multiprocessors while they have the command.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "softgpu/blocks/multiprocessors.h"
#include "softgpu/commands/copy.h"

namespace gpo::softgpu {

struct ChildGrid;
struct Command;
struct Context;
struct Event;
struct Family;
struct GraphMemory;
struct GraphRun;
struct Pool;
struct Stream;

/// A point in a stream that others wait for: one record of an event, or the tail of a stream that another waits for.
struct Mark {
    std::atomic<uint32_t> done{0};       // a wait word
    std::atomic<uint32_t> sleepers{0};   // host threads on it
    uint32_t references = 0;
    uint64_t time = 0;                   // ns, when done
    uintptr_t stream = 0;                // the stream's handle; 0: a graph's mark
    uint64_t frees = 0;                  // Machine::frees when the mark was put there
    Event* event = nullptr;              // the event whose latest record this is
    Command* waiting = nullptr;          // commands that wait for the mark, by Command::next
    Mark* next_free = nullptr;
};

enum class CommandKind : uint8_t {
    nothing,      // a join in a graph
    child,        // in a graph, another graph: where its nodes begin
    kernel,
    copy,         // one, or the pieces of a batch
    fill,
    record,       // a mark becomes done
    wait,         // for a mark
    host_call,
    write_value,
    wait_value,
    allocation,   // a stream-ordered block becomes live
    release,      // … is given back
    graph,
    conditional,  // in a graph: a body of it, or none
};

/// The condition of a conditional node.
struct Conditional {
    CUgraphConditionalHandle handle = 0;
    CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF;
    uint32_t initial = 0;
    bool assigned = false;               // the condition is `initial` at each start of the graph
};

/// Flag of a wait for the previous launch of the same executable graph. The wait ends by itself, and is given up only
/// when the devices are lost: two launches must not run at once.
inline constexpr unsigned kWaitsForLaunch = 1;

/// Requested and checked work, a value that graphs keep and copy.
struct Work {
    CommandKind kind = CommandKind::nothing;
    Context* context = nullptr;          // the context whose device does it; NULL: the stream's context
    Copy copy;
    std::vector<Copy> pieces;
    Fill fill;
    KernelLaunch launch;                 // of a graph's node: the source of its prepared command
    const gpo_soft_kernel* launch_kernel = nullptr;
    CUfunction function = nullptr;       // of a graph's kernel: its handle, which may be stale
    CUhostFn host_function = nullptr;
    void* user_data = nullptr;
    uint64_t address = 0;                // value, allocation, release
    uint32_t value = 0;
    unsigned flags = 0;
    Pool* pool = nullptr;
    CUevent event = nullptr;             // of a graph's node: the event to record or wait for
    std::shared_ptr<GraphMemory> memory; // … the memory to allocate or free
    Conditional conditional;
    std::shared_ptr<void> keeps;         // must outlive the work: the image of a kernel
};

/// An entry of a stream's queue, or a node of an executable graph.
struct Command : Work {
    bool staged = false;                 // copy.source is a staging block
    Command* next = nullptr;             // in the stream's queue, then in an engine's or a mark's list
    Command* next_launch = nullptr;      // in a batch's list of kernels to submit
    Stream* stream = nullptr;            // the stream that it runs for
    GraphRun* run = nullptr;             // the run whose node it is
    uint32_t node = 0;
    uint64_t ticket = 0;                 // number of the command in its stream, which counts internal commands too
    uint64_t begun = 0;                  // in a stream: number in the order in which the machine's commands begin
    uint64_t number = 0;                 // number of the call that submitted it to the stream, from 1; 0: internal
    uint64_t due = 0;                    // with rates: not done before this time
    Launches prepared;  // one launch, of a kernel that hasn't started; the multiprocessors take it at the start
    ChildGrid* child = nullptr;          // the child grid of this command; NULL: not launched by a kernel
    std::shared_ptr<Family> family;      // the kernel's children until they are over (machine/children.h)
    Mark* mark = nullptr;                // holds a reference; of a graph: done when the run is over
    uint64_t free_id = 0;
    std::shared_ptr<GraphRun> graph;     // of a graph command: its run
    uint32_t lines = 0;                  // … unfinished lines of graphs (graph/run.h)
    std::vector<Mark*> marks;            // … of the events that its nodes record or wait for; each holds a reference

    /// Back to a new one's state; keeps the memory of its vectors.
    void clear() noexcept;
};

}  // namespace gpo::softgpu
