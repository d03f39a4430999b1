// The software GPU as a whole: open_soft creates it, and the functions of the table work on it.
//
// Locks. `lock` guards all scheduling: streams, events, contexts, modules, graphs, the engines' queues. `lock` is the
// outermost lock; inside it only the address space's lock and the multiprocessors' lock are taken. No engine works, no
// kernel or user's function runs and no thread is woken under the lock: a Batch collects what a change of state makes
// runnable, and starts it after releasing the lock.
//
// Progress. When a command of a stream is done, the thread that notices this starts the stream's next command. Records,
// waits, value writes and the bookkeeping of memory are done at once on that thread. Kernels go to the device's
// multiprocessors, copies and fills to one of its engines, host functions to a thread for them. Each of these returns
// every command exactly once, through Machine::finish.
#pragma once

#include <cuda.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "driver/driver.h"
#include "host/host.h"
#include "softgpu/graph/run.h"
#include "softgpu/machine/graph_memory.h"
#include "softgpu/machine/kernel_calls.h"
#include "softgpu/machine/objects.h"
#include "softgpu/machine/rates.h"
#include "softgpu/memory/memory.h"

namespace gpo::softgpu {

class Batch;

inline constexpr size_t kStagedBytes = 64 << 10;    // pageable copies up to here return before the copy runs
inline constexpr int kLeastPriority = 0, kGreatestPriority = -5;
inline constexpr size_t kSharedDefault = 48 << 10, kSharedMost = 227 << 10;

struct Machine {
    Machine(int devices, uint64_t bytes_per_device, bool guard, const Rates&, uint32_t incarnation);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    /// The open software GPU; NULL when there is none, or in a forked child.
    static Machine* running() noexcept;

    host::Mutex lock;
    const uint32_t incarnation;
    HandleTable<Context> contexts;
    HandleTable<Stream> streams;
    HandleTable<Event> events;
    HandleTable<Module> modules;
    HandleTable<Function> functions;
    HandleTable<Pool> pools;
    Graphs graphs;
    HandleTable<GraphExec> graph_execs;
    uint64_t next_condition = 0;                    // handles of conditions: never used twice
    KernelCalls kernel_calls{*this};
    AddressSpace memory;
    std::map<uint64_t, std::weak_ptr<GraphMemory>> graph_memory;   // by address
    std::vector<std::unique_ptr<Device>> devices;
    Rates rates;                                    // guarded by `lock`
    std::atomic<bool> rated{false};
    unsigned multiprocessors = 8;
    std::vector<Context*> live_contexts;
    host::Condition primary_ended;
    uint64_t next_context_id = 0;
    uint64_t next_capture_id = 0;
    uint64_t begun = 0;                             // commands of streams that have begun
    std::atomic<bool> trim_wanted{false};           // a pool may hold more than its threshold
    std::atomic<uint64_t> frees{0};                 // calls that free a pool's memory in a stream's order
    std::atomic<bool> frees_unseen{false};          // some frees may be unseen, in the sense of softgpu/memory/pool.h

    // Guarded by `lock`. After ignore() the owner may destroy the listener. A later wake-up uses only the address of
    // its wait word.
    std::vector<driver::Listener*> listeners;

    // Failure. Once `fault_code` is set, every call that submits work or queries its state returns this code.
    std::atomic<int> fault_code{0};
    std::optional<driver::Fault> fault;

    // Number of captures that aren't relaxed. Calls that are unsafe during a capture check this first.
    std::atomic<uint32_t> strict_captures{0};
    std::vector<std::shared_ptr<Capture>> captures;
    std::atomic<uint32_t> capturing{0};             // number of all captures, including relaxed ones

    std::unique_ptr<Engine> host_caller;            // started with the first host function
    std::unique_ptr<Clock> clock;                   // started when rates are set, or with the first wait for a value
    /// Lock not held; throws std::system_error, std::bad_alloc.
    void need_host_caller();
    void need_clock();

    /// Lock held. A cleared command; throws std::bad_alloc.
    Command* take_command();
    void give_command(Command*) noexcept;
    /// Takes all memory that a kernel's command needs to run later. Throws std::bad_alloc.
    void prepare(Command&, Multiprocessors&, KernelLaunch);
    /// The commands of an executable of the graph, with its kernels prepared. Throws std::bad_alloc.
    std::shared_ptr<GraphRun> prepare_run(const Graph&);
    /// Prepares the node of an executable graph: its kernel is ready to run again and again. Throws std::bad_alloc.
    void prepare_node(Command&);
    /// A mark with one reference.
    Mark* take_mark();
    void release_mark(Mark*) noexcept;
    /// A block of kStagedBytes.
    void* take_staging();
    void give_staging(void*) noexcept;

    /// An engine, the multiprocessors or the clock have done with a command.
    void finish(Command&, CUresult, const char* text) noexcept;
    void kernel_done(Command&, const KernelOutcome&, Launches& ended) noexcept;
    bool closing() const noexcept { return closing_; }
    /// True while commands of this stream are to be dropped instead of run.
    bool dropping(const Stream&) const noexcept;

    /// Lock held. Throw std::bad_alloc.
    Stream* create_stream(Context&, unsigned flags, int priority);
    /// Invalidates the handle. Work that was already submitted to the stream still runs.
    void destroy_stream(Batch&, Stream&) noexcept;
    void destroy_event(Event&) noexcept;
    /// The mark is the event's latest record.
    void set_record(Event&, Mark&) noexcept;
    /// The default streams and a new id. The device's threads must have been started.
    void begin_context(Context&);
    /// Drops work that has not begun, waits for running work, then destroys all objects of the context.
    /// Lock not held.
    void end_context(Context&);

    /// Waits until the stream has finished all commands up to `ticket`. If the devices are lost, returns at once, or,
    /// if `strict`, when the running command has ended.
    void wait_ticket(Stream&, uint64_t ticket, bool strict = false) noexcept;
    void wait_mark(Mark&) noexcept;
    /// Waits strictly for all commands submitted to the context's streams (NULL: all streams). Throws std::bad_alloc.
    void wait_context(const Context*);
    /// Waits strictly for the kernels and graphs that are running in the context, but not for work that has not begun.
    /// Allocates nothing.
    void wait_running(const Context&) noexcept;
    /// Waits for the streams that the legacy stream is ordered with.
    void wait_blocking(const Context&);
    /// After frees of the pool's blocks: recycles a destroyed pool that is empty; a pool above its threshold will be
    /// trimmed. Both locks held.
    void settle_pool(Pool&) noexcept;
    /// A host thread has waited for the stream with this handle, and so has seen the stream's frees up to `number`.
    void see_frees(uintptr_t stream, uint64_t number) noexcept;
    /// Trims pools to their thresholds. Called when the caller waits in any case.
    void trim_pools() noexcept;

private:
    friend class Batch;
    void recycle_stream(Stream&) noexcept;
    void unload_modules(Context&) noexcept;

    bool closing_ = false;
    std::atomic<uint32_t> setting_off_{0};          // batches that are past the lock and still waking threads
    Command* free_commands_ = nullptr;
    Mark* free_marks_ = nullptr;
    void* free_staging_ = nullptr;
    std::vector<std::unique_ptr<Command[]>> command_chunks_;
    std::vector<std::unique_ptr<Mark[]>> mark_chunks_;
    host::Mutex starting_;
};

}  // namespace gpo::softgpu
