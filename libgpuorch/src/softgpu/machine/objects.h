// The objects behind the handles: contexts, streams, events, modules, functions; and the devices that they belong to.
//
// Ownership. A device owns its multiprocessors and engines. A context belongs to a device. Streams, events and modules
// belong to a context and are destroyed with it. Objects are in the machine's handle tables. Destroying an object
// retires its handle at once; the object is recycled when nothing refers to it any more (a stream: when its queue is
// empty).
//
// The machine's lock guards all fields, except atomics and fields that are marked as constant.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/host.h"
#include "softgpu/blocks/multiprocessors.h"
#include "softgpu/commands/command.h"
#include "softgpu/handles.h"
#include "softgpu/image/image.h"
#include "softgpu/machine/engine.h"
#include "softgpu/memory/pool.h"

namespace gpo::softgpu {

struct Capture;
struct Context;
struct GraphNode;
struct Machine;

struct Device {
    Device(Machine& machine, int ordinal) : machine(machine), ordinal(ordinal) {}
    /// Starts the threads, once. Called without the lock; throws std::system_error, std::bad_alloc.
    void start();

    Machine& machine;
    const int ordinal;
    host::Mutex starting;
    std::atomic<bool> started{false};
    std::unique_ptr<Multiprocessors> multiprocessors;  // constant once started
    std::unique_ptr<Engine> engines[kEngines];
    Pool* default_pool = nullptr;
    Pool* graph_pool = nullptr;                      // what graphs' allocation nodes allocate
    Context* primary = nullptr;                      // has the same handle each time it is retained again
    uint64_t kernels_busy_until = 0;                 // with rates: when the kernel submitted last will end
};

struct Context : Handled {
    Device* device = nullptr;
    bool primary = false;
    std::atomic<bool> alive{false};
    bool dying = false;                              // its commands are dropped
    uint32_t retained = 0;                           // primary
    bool ending = false;  // primary: last release done; end_context is under way
    unsigned flags = 0;
    std::atomic<uint64_t> id{0};                     // changes each time a primary context is retained again
    Stream* legacy = nullptr;
    std::vector<Stream*> streams;                    // all, the legacy one too
    std::vector<std::pair<uint64_t, Stream*>> per_thread;
    std::vector<CUcontext> peers;                    // contexts whose memory this context may access
    size_t limits[16] = {};
    uint32_t pending_launches = 0;  // by kernels: grids whose blocks have not all ended
};

struct Stream : Handled {
    Context* context = nullptr;
    unsigned flags = 0;
    int priority = 0;
    bool legacy = false;
    bool per_thread = false;
    bool destroyed = false;
    bool queued = false;                             // in a batch's list of streams to advance
    Command* current = nullptr;  // with an engine, the multiprocessors or the clock, or waits for a mark
    Command *head = nullptr, *tail = nullptr;        // not begun
    Stream* next_ready = nullptr;                    // in a batch's list
    std::atomic<uint64_t> submitted{0};              // tickets; never reset, so that a waiter can outlive the stream
    std::atomic<uint64_t> completed{0};
    uint64_t number = 0;                             // calls that submitted work to the stream since its creation
    uint64_t legacy_seen = 0;                        // the legacy stream's ticket that this stream is ordered after
    uint64_t legacy_joined = 0;                      // own ticket that the legacy stream is ordered after
    std::atomic<uint32_t> sleepers{0}, turns{0};     // host threads that wait for a ticket

    // Capture. `depends`: the nodes on which the next node will depend.
    std::shared_ptr<Capture> capture;
    bool capture_origin = false;
    std::vector<GraphNode*> depends;

    bool blocking() const noexcept { return !legacy && !(flags & CU_STREAM_NON_BLOCKING); }
    bool idle() const noexcept {
        return completed.load(std::memory_order_acquire) == submitted.load(std::memory_order_acquire);
    }
};

struct Event : Handled {
    Context* context = nullptr;
    unsigned flags = 0;
    std::atomic<uint64_t> recorded{0};               // number of calls that recorded the event
    std::atomic<uint64_t> completed{0};              // number of the latest record that is done
    Mark* mark = nullptr;                            // of the latest record; holds a reference
    uint64_t time = 0;                               // of the latest record that was done while it was the latest

    std::shared_ptr<Capture> capture;                // recorded while its stream was captured
    std::vector<GraphNode*> captured;                 // … after these nodes
};

struct Function;

struct Module : Handled {
    Context* context = nullptr;
    std::shared_ptr<Image> image;
    std::vector<Function*> functions;                // one for each kernel of the image, in its order
};

struct Function : Handled {
    Module* module = nullptr;
    const gpo_soft_kernel* kernel = nullptr;
    size_t argument_bytes = 0;
    int dynamic_shared_limit = 0;
    int carveout = -1;
    int non_portable_cluster = 0;
    int cluster_policy = 0;
};

}  // namespace gpo::softgpu
