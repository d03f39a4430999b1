// A resident block: its threads as fibers, with barriers, warp operations and yields.
//
// Words. A *thread* is a device thread, identified by its number in the block. Each thread runs on a *slot*: a stack
// with its state. Threads are started in order. A thread that ends without having waited leaves its stack to the next
// thread; another stack is used only when a thread waits. *Home* is the worker's own context. A block switches to home
// when it has ended, when it was stopped, or when all its threads have run once and still spin.
//
// A block runs on one worker at a time and may continue on another. Nothing here locks or blocks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "softgpu/blocks/fiber.h"
#include "softgpu/blocks/launch.h"
#include "softgpu/kernel_abi.h"

namespace gpo::softgpu {

class Region;

/// A thread's state: gpo_soft_thread with the library's part spelt out.
struct alignas(128) Thread {
    gpo_soft_dim3 index;
    uint32_t linear;
    uint32_t error;
    uint32_t mask;            // lanes it waits for
    uint64_t value;           // handed to a warp operation, then its answer
    uint64_t argument;
    uint32_t operation;
    uint32_t cluster_ticket;  // of the last phase of the cluster's barrier that it has come to, and 1; 0: none
};
static_assert(sizeof(Thread) == sizeof(gpo_soft_thread) &&
              offsetof(Thread, linear) == offsetof(gpo_soft_thread, linear) &&
              offsetof(Thread, error) == offsetof(gpo_soft_thread, error) &&
              offsetof(Thread, mask) == offsetof(gpo_soft_thread, library_word));

struct Block : gpo_soft_block {
    enum class State { running, ended, yielded, stuck, stopped };
    static constexpr unsigned kMostPerCluster = 16;

    struct Warp {
        uint32_t live;        // lanes that haven't ended, those not started yet among them
        uint32_t ready;       // lanes that can go on
        uint32_t at_barrier;
        uint32_t at_warp;     // lanes that wait in an operation with a mask
        uint32_t at_active;   // lanes that wait in GPO_SOFT_WARP_ACTIVE
        uint32_t at_cluster;  // lanes that wait for the cluster's barrier, which another thread watches
    };

    /// Shared state of a cluster's blocks, in the first block. Any worker of the blocks.
    struct Cluster {
        gpo_soft_block* blocks[kMostPerCluster];
        /// The barrier's phase, the number of blocks that haven't ended, and the number of these that have arrived.
        std::atomic<uint64_t> barrier;
        std::atomic<uint32_t> unended;   // blocks whose regions are still needed

        static uint64_t packed(uint32_t phase, uint32_t live, uint32_t arrived) noexcept {
            return uint64_t{phase} << 32 | live << 16 | arrived;
        }
        uint32_t phase() const noexcept { return static_cast<uint32_t>(barrier.load(std::memory_order_acquire) >> 32); }
        void arrive() noexcept;
        /// A block has ended. If it `had_arrived`, the arrival was for `phase`.
        void leave(bool had_arrived, uint32_t phase) noexcept;
    };

    /// Builds the block `number` of `launch` in `region`. `reset` says that contexts left there may not be reused.
    static Block* place(Region& region, Launch& launch, uint64_t number, uint32_t multiprocessor);
    /// Makes one cluster of blocks that were placed, in the order of their ranks.
    static void join(gpo_soft_block* const* blocks, uint32_t count) noexcept;
    /// Runs the block until it ends or goes home. `home` is the calling worker's.
    State run(FiberContext& home) noexcept;
    /// Contexts parked on the stacks are of no use any more: the block was dropped in the middle.
    void forget_contexts() noexcept;

    Block* next = nullptr;    // in one of the multiprocessors' queues

    Launch& owner() noexcept { return *static_cast<Launch*>(launch); }
    Region& region() noexcept { return *region_; }

    // Called by kernels through gpo_soft_services.
    void run_threads(void (*body)(void*), void* closure) noexcept;
    void yield() noexcept;
    uint64_t spin(uint64_t since, const char* file, uint32_t line) noexcept;
    uint32_t barrier(uint32_t operation, uint32_t value) noexcept;
    uint64_t warp(uint32_t operation, uint32_t mask, uint64_t value, uint64_t argument) noexcept;
    void cluster_arrive() noexcept;
    void cluster_wait() noexcept;
    [[noreturn]] void leave(State state) noexcept;
    /// Ends the launch, with `text` and the place of the current thread.
    [[noreturn]] void fail(CUresult result, const char* text) noexcept;
    uint64_t clock() noexcept;
    const Thread* current() const noexcept { return current_; }
    bool has_fibers() const noexcept { return count_ != 0; }
    Cluster& cluster_of() noexcept { return *cluster_of_; }

private:
    static constexpr uint32_t kNone = UINT32_MAX;
    static constexpr uint32_t kUnknown = UINT32_MAX;   // for an index

    static void main_entry(boost::context::detail::transfer_t);
    static void thread_entry(boost::context::detail::transfer_t);
    void thread_ended(Thread& self) noexcept;
    Thread& slot(uint32_t number) noexcept { return reinterpret_cast<Thread*>(threads)[number]; }
    Thread& thread(uint32_t number) noexcept { return slot(slot_of_[number]); }
    /// Where the thread on that slot goes on.
    FiberContext& context(const Thread& on) noexcept { return contexts_[&on - reinterpret_cast<Thread*>(threads)]; }
    void make_current(Thread& next) noexcept {
        current_ = &next;
        number_ = next.linear;
    }
    void assign(Thread& self) noexcept;
    Thread* start_next() noexcept;
    uint32_t ready_from(uint32_t number) const noexcept;
    void make_ready(uint32_t warp, uint32_t lanes) noexcept;
    void make_unready(uint32_t warp, uint32_t lanes) noexcept;
    Thread* after_wait(Thread& self) noexcept;
    void wait() noexcept;
    void wait_longer(Thread& self) noexcept;
    void go_home(FiberContext& from, State state) noexcept;
    void release_barrier() noexcept;
    bool release_group(uint32_t warp, uint32_t mask) noexcept;
    void release_groups(uint32_t warp) noexcept;
    bool release_active(uint32_t warp) noexcept;
    bool release_all_active() noexcept;
    void see_cluster_phase() noexcept;
    void arrive_at_cluster() noexcept;

    Region* region_;
    State state_;
    FiberContext* home_;
    FiberContext main_;            // the context that called run_threads
    FiberContext main_parked_;     // where the region's main fiber waits for the next block; kept between blocks
    FiberContext* resume_;         // where run() goes on; NULL: at the next ready thread
    Thread* current_;
    uint32_t number_;         // of the current thread
    void (*body_)(void*);
    void* closure_;
    uint32_t count_, started_, alive_;
    gpo_soft_dim3 next_index_;
    bool went_round_;         // some thread has yielded since the block was last taken up
    uint32_t ready_warps_;
    uint32_t arrived_, gathered_, answer_;   // the barrier's
    uint32_t barriers_;       // how many there have been
    Cluster cluster_;         // used if this is the cluster's first block
    Cluster* cluster_of_;
    uint32_t cluster_phase_;  // of the cluster's barrier, as last seen
    uint32_t cluster_arrived_;   // threads that have come to it and haven't ended
    bool cluster_joined_;     // all threads have arrived, and so the block
    bool cluster_watched_;    // a waiting thread watches for the end of the phase
    uint64_t ticks_;          // see clock()
    uint32_t parked_, used_;  // stacks with a fiber to be used again; stacks in use or parked
    std::array<Warp, 32> warps_;
    // Data that barriers need for all threads, in compact arrays: barriers don't read the threads' own cache lines.
    std::array<uint16_t, 1024> slot_of_;
    std::array<FiberContext, 1024> contexts_;     // of each slot: where it goes on
    std::array<uint16_t, 1024> free_slots_;  // [0, parked_)
#if defined(GPO_TSAN)
    void* tsan_fiber_;
    void* tsan_home_;
#endif
};

/// The services of every block.
extern const gpo_soft_services kServices;

}  // namespace gpo::softgpu
