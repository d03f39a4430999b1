// The workers. `lock_` guards the queues, and is never held while a block runs or `done` is called.
//
// Memory. A prepared launch never fails for lack of memory. Queues are intrusive lists. Each worker owns a region for
// blocks that run to their end. Blocks that may wait need a region each. Preparing a launch makes at least as many
// regions of its size as the launch needs at once: one, one per block of a cluster, or one per block of a cooperative
// grid. More regions are made if memory allows; otherwise a block waits until a region is free.
//
// Turns. A worker alternates between a resident block that has yielded and new work. Blocks of kernels that can't wait
// are taken in batches and run to their end in the worker's own region. Blocks of other kernels get a region each, and
// count as resident. When all remaining blocks only spin, host::step() gives the core to other threads of the host.
//
// Sleep. Before a worker without work sleeps, it polls for new work for a moment; only one worker at a time does so.
// Meanwhile a thread with new work only changes `news_`, and wakes no worker. The polling worker sees the change, takes
// the work, and wakes the next worker if more is left.
#include "softgpu/blocks/multiprocessors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <new>
#include <optional>

#include "base/environment.h"
#include "host/host.h"
#include "softgpu/blocks/block.h"
#include "softgpu/blocks/guard.h"
#include "softgpu/blocks/launch.h"
#include "softgpu/blocks/region.h"
#include "softgpu/memory/address_room.h"

namespace gpo::softgpu {

namespace {

// The capacity of a multiprocessor, as on compute capability 9.0.
constexpr unsigned kBlocksPerMultiprocessor = 32;
constexpr unsigned kThreadsPerMultiprocessor = 2048;
constexpr size_t kSharedPerMultiprocessor = 228 << 10;
constexpr size_t kSharedReservedPerBlock = 1 << 10;

constexpr uint64_t kLargestBatch = 64;       // blocks of a plain kernel taken at once
constexpr uint64_t kLooksOut = 50'000;     // ns for which a worker without work polls before it sleeps
constexpr uint64_t kRoomLeft = 1ull << 30;   // bytes of addresses that must stay free when optional regions are made
constexpr size_t kStacksKept = 4096;         // warm stacks of free regions, 8 KiB each; more go back to the system

unsigned whole_warps(unsigned threads) { return (threads + 31) / 32 * 32; }

size_t shared_of(const gpo_soft_kernel& kernel, size_t dynamic_shared) {
    return kernel.static_shared_bytes + dynamic_shared + kSharedReservedPerBlock;
}

void print_to_stdout(std::string_view text) {
    fwrite(text.data(), 1, text.size(), stdout);
    fflush(stdout);
}

/// Resident blocks, first in, first out.
class Blocks {
public:
    bool empty() const noexcept { return !first_; }
    void push(Block& block) noexcept {
        block.next = nullptr;
        (first_ ? last_->next : first_) = &block;
        last_ = &block;
    }
    Block& pop() noexcept {
        Block& block = *first_;
        first_ = block.next;
        return block;
    }
    void push_all(Blocks& others) noexcept {
        while (!others.empty()) push(others.pop());
    }

private:
    Block *first_ = nullptr, *last_ = nullptr;
};

/// Regions of one size.
struct Regions {
    Region* kept = nullptr;             // unused regions
    uint64_t made = 0;                  // number of regions
    std::atomic<uint64_t> needed{0};    // the least number for all prepared launches; grows under the lock
};

class Workers final : public Multiprocessors {
public:
    explicit Workers(const Options& options)
        : print_(options.print ? options.print : PrintSink(print_to_stdout)),
          catches_(options.catch_faults || options.guard),
          guard_(options.guard),
          longest_loop_(options.longest_loop),
          multiprocessors_(std::max(1u, options.multiprocessors)),
          most_blocks_(options.max_resident_blocks ? options.max_resident_blocks
                                                   : multiprocessors_ * kBlocksPerMultiprocessor) {
        if (catches_) handler_.emplace();
        const unsigned count = affordable(options.workers ? options.workers : host::processors());
        try {
            for (unsigned i = 0; i < count; ++i) plain_regions_.push_back(std::make_unique<Region>(0, guard_));
            for (unsigned i = 0; i < count; ++i)
                workers_.emplace_back("gpo-softgpu", [this, own = plain_regions_[i].get()] { work(*own); });
        } catch (...) {
            end();
            throw;
        }
    }

    ~Workers() override { end(); }

    Launches prepare(KernelLaunch request) override {
        Launches prepared;
        Launch& launch = prepared.emplace_back(std::move(request), print_);
        launch.longest_loop = longest_loop_;
        if (launch.waits())
            need_regions(RegionLayout::stack_count(launch.thread_count), together(launch));
        return prepared;
    }

    void submit(Launches prepared) noexcept override {
        Launch& launch = prepared.front();
        bool wake = false;
        {
            host::Lock lock(lock_);
            if (ending_) launch.stop(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the device was closed");
            const int priority = launch.request.priority;
            auto place = std::find_if(waiting_.begin(), waiting_.end(),
                                      [&](const Launch& other) { return other.request.priority > priority; });
            waiting_.splice(place, prepared);
            wake = needs_waking();
        }
        if (wake) changed_.notify_one();
    }

    unsigned blocks_per_multiprocessor(const gpo_soft_kernel& kernel, unsigned threads,
                                       size_t dynamic_shared) const override {
        if (threads == 0 || threads > kernel.max_threads) return 0;
        const size_t by_threads = kThreadsPerMultiprocessor / whole_warps(threads);
        const size_t by_shared = kSharedPerMultiprocessor / shared_of(kernel, dynamic_shared);
        return static_cast<unsigned>(std::min({size_t{kBlocksPerMultiprocessor}, by_threads, by_shared}));
    }

    void stop_all(CUresult result) noexcept override {
        host::Lock lock(lock_);
        for (Launch& launch : waiting_) launch.stop(result, "the device was lost");
        for (Launch& launch : started_) launch.stop(result, "the device was lost");
        ready_.push_all(stuck_);
        wake_all();
    }

private:
    struct Work {
        Launch* launch = nullptr;
        Block* resident = nullptr;   // a block to go on with
        uint64_t first = 0, count = 0;   // or new blocks
        Region* region = nullptr;    // for new blocks of a kernel that waits, a cluster of them: a list
    };

    /// The number of workers: as asked, or fewer if RLIMIT_AS leaves few addresses, but at least one.
    static unsigned affordable(unsigned asked) noexcept {
        const uint64_t room = address_room();
        if (room == kUnlimited) return asked;
        return static_cast<unsigned>(std::clamp<uint64_t>(room / kPartOfRoom / RegionLayout::kAlignment, 1, asked));
    }

    /// Blocks that must be resident at once.
    static uint64_t together(const Launch& launch) noexcept {
        return launch.request.cooperative ? launch.block_count : launch.cluster_size;
    }

    void end() noexcept {
        {
            host::Lock lock(lock_);
            ending_ = true;
            for (Launch& launch : waiting_) launch.stop(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the device was closed");
            for (Launch& launch : started_) launch.stop(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the device was closed");
            ready_.push_all(stuck_);   // these blocks run again only in order to end
        }
        wake_all();
        for (auto& worker : workers_) worker.join();
        for (auto& region : plain_regions_) retire(*region);
        for (Regions& regions : regions_)
            while (Region* region = regions.kept) {
                regions.kept = region->next;
                retire(*region);
                delete region;
            }
    }

    /// The regions with `stacks` stacks: 32, 64, …, 1024.
    Regions& regions_of(unsigned stacks) noexcept {
        return regions_[static_cast<size_t>(std::countr_zero(stacks)) - 5];
    }

    /// Makes regions up to `count`, which from now on is the least number kept. Throws std::bad_alloc.
    void need_regions(unsigned stacks, uint64_t count) {
        Regions& regions = regions_of(stacks);
        if (regions.needed.load(std::memory_order_relaxed) >= count) return;
        host::Lock lock(lock_);
        for (; regions.made < count; ++regions.made) keep(*new Region(stacks, guard_));
        regions.needed.store(std::max(regions.needed.load(std::memory_order_relaxed), count),
                             std::memory_order_relaxed);
    }

    // -- under lock_ -------------------------------------------------------------------------------------------------

    bool fits(const Launch& launch) const {
        const uint64_t blocks = together(launch);
        const uint64_t threads = blocks * whole_warps(launch.thread_count);
        const uint64_t shared = blocks * shared_of(*launch.request.kernel, launch.request.dynamic_shared_bytes);
        return resident_blocks_ == 0 ||
               (resident_blocks_ + blocks <= most_blocks_ &&
                resident_threads_ + threads <= uint64_t{multiprocessors_} * kThreadsPerMultiprocessor &&
                resident_shared_ + shared <= uint64_t{multiprocessors_} * kSharedPerMultiprocessor);
    }

    void count_resident(const Launch& launch, bool add) {
        const uint64_t threads = whole_warps(launch.thread_count);
        const uint64_t shared = shared_of(*launch.request.kernel, launch.request.dynamic_shared_bytes);
        resident_blocks_ += add ? 1 : -1;
        resident_threads_ += add ? threads : -threads;
        resident_shared_ += add ? shared : -shared;
    }

    void keep(Region& region) noexcept {
        Regions& regions = regions_of(region.stacks());
        region.next = std::exchange(regions.kept, &region);
        stacks_kept_ += region.stacks();
    }

    /// NULL: all are in use, and there is no memory for another one.
    Region* take_region(unsigned stacks) noexcept {
        Regions& regions = regions_of(stacks);
        if (Region* region = regions.kept) {
            regions.kept = region->next;
            stacks_kept_ -= stacks;
            return region;
        }
        // Regions beyond the needed ones leave addresses to the rest of the process.
        if (regions.made >= regions.needed.load(std::memory_order_relaxed) && address_room() < kRoomLeft)
            return nullptr;
        try {
            auto* region = new Region(stacks, guard_);
            ++regions.made;
            return region;
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    }

    /// `count` regions as a list; NULL if too few can be taken.
    Region* take_regions(unsigned stacks, uint32_t count) noexcept {
        Region* list = nullptr;
        for (; count != 0; --count) {
            Region* region = take_region(stacks);
            if (!region) {
                while (list) keep(*std::exchange(list, list->next));
                return nullptr;
            }
            region->next = std::exchange(list, region);
        }
        return list;
    }

    /// The next new blocks that may start. If a launch can't start for lack of room, later launches of kernels that
    /// wait can't start either: a cooperative grid would otherwise never find room. Launches without residency can.
    Work take_new() {
        bool blocked = false;
        for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
            Launch& launch = *at;
            Work work;
            work.launch = &launch;
            work.first = launch.next_block;
            const uint64_t left = launch.block_count - launch.next_block;
            if (launch.stopped()) {
                work.count = left;
            } else if (!launch.waits()) {
                work.count = std::clamp<uint64_t>(left / (workers_.size() * 4 + 1), 1, kLargestBatch);
            } else {
                if (blocked || (launch.next_block == 0 || !launch.request.cooperative ? !fits(launch) : false)) {
                    blocked = true;
                    continue;
                }
                work.count = launch.cluster_size;
                work.region = take_regions(RegionLayout::stack_count(launch.thread_count), launch.cluster_size);
                if (!work.region) {
                    blocked = true;   // running blocks will release their room
                    continue;
                }
                for (uint64_t i = 0; i < work.count; ++i) count_resident(launch, true);
            }
            launch.next_block += work.count;
            if (launch.next_block == launch.block_count) started_.splice(started_.end(), waiting_, at);
            return work;
        }
        return {};
    }

    Work take() {
        Work work;
        const bool resident_first = (turn_ = !turn_);
        if (!resident_first || ready_.empty()) work = take_new();
        if (!work.launch && !ready_.empty()) {
            work.resident = &ready_.pop();
            work.launch = &work.resident->owner();
        }
        return work;
    }

    bool more_to_do() const { return !ready_.empty() || !waiting_.empty(); }

    /// Work for one more worker has arrived. True if the caller must wake a worker; a polling worker sees `news_`.
    bool needs_waking() noexcept {
        if (looking_out_) news_.fetch_add(1, std::memory_order_release);
        return !looking_out_ && idle_ != 0;
    }

    Launches take_out(const Launch& launch) noexcept {
        Launches out;
        const auto at =
            std::find_if(started_.begin(), started_.end(), [&](const Launch& one) { return &one == &launch; });
        out.splice(out.begin(), started_, at);
        return out;
    }

    // -- not under lock_ ---------------------------------------------------------------------------------------------

    /// `own` is for blocks that run to their end.
    void work(Region& own) {
        FiberContext home;
        GuardedThread guarded(catches_, own);
        unsigned fruitless = 0;        // blocks in a row that only spun
        bool looked_out = false;       // since there was something to do
        host::Lock lock(lock_);
        for (;;) {
            Work work = take();
            if (!work.launch) {
                if (ending_ && waiting_.empty() && started_.empty()) break;
                if (!looked_out && !looking_out_ && !host::detail::scheduled()) {
                    look_out(lock);
                    looked_out = true;
                    continue;
                }
                ++idle_;
                changed_.wait(lock);
                --idle_;
                looked_out = false;
                continue;
            }
            looked_out = false;
            if (more_to_do() && needs_waking()) changed_.notify_one();
            const bool lonely = ready_.empty() && waiting_.empty();
            lock.unlock();
            if (work.resident || work.region) {
                const bool progressed = run_resident(work, home, guarded);
                fruitless = progressed ? 0 : fruitless + 1;
                if (!progressed) host::step(lonely || fruitless > resident_hint_ ? fruitless : 0);
            } else {
                fruitless = 0;
                run_plain(work, own, home, guarded);
            }
            lock.lock();
        }
        lock.unlock();
        wake_all();
    }

    /// Polls for new work for a moment. A launch in this time needs no wake-up, which would cost the launching thread
    /// some microseconds. Only one worker at a time polls. The lock is held on entry and on return.
    void look_out(host::Lock& lock) {
        looking_out_ = true;
        const uint32_t seen = news_.load(std::memory_order_relaxed);
        lock.unlock();
        const uint64_t until = host::now() + kLooksOut;
        for (unsigned spins = 0; news_.load(std::memory_order_acquire) == seen; ++spins) {
            host::step(spins);
            if (host::now() >= until) break;
        }
        lock.lock();
        looking_out_ = false;
    }

    void wake_all() noexcept {
        news_.fetch_add(1, std::memory_order_release);
        changed_.notify_all();
    }

    /// True when the block ended; false when it has only spun.
    bool run_resident(Work& work, FiberContext& home, GuardedThread& guarded) {
        Launch& launch = *work.launch;
        Block* block = work.resident ? work.resident : place_cluster(work);
        Block::State state = Block::State::stopped;
        if (!launch.stopped()) {
            guarded.enter(block);
            state = block->run(home);
            guarded.exit();
        }
        if (state == Block::State::yielded) {
            host::Lock lock(lock_);
            ready_.push(*block);
            return false;
        }
        if (state == Block::State::stuck) {
            host::Lock lock(lock_);
            (launch.stopped() ? ready_ : stuck_).push(*block);
            return false;
        }
        if (state == Block::State::stopped) block->forget_contexts();
        Block::Cluster& cluster = block->cluster_of();
        const uint32_t count = launch.cluster_size;
        if (cluster.unended.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            std::array<Region*, Block::kMostPerCluster> regions;
            for (uint32_t i = 0; i < count; ++i) regions[i] = &static_cast<Block*>(cluster.blocks[i])->region();
            for (uint32_t i = 0; i < count; ++i) give_back(launch, *regions[i]);
        }
        if (state == Block::State::stopped) take_up_stuck();
        ended(launch, 1);
        return true;
    }

    /// Places the new blocks, and returns the first of them; the others are ready for any worker.
    Block* place_cluster(const Work& work) {
        std::array<gpo_soft_block*, Block::kMostPerCluster> blocks;
        Region* region = work.region;
        for (uint64_t i = 0; i < work.count; ++i) {
            Region* next = region->next;
            blocks[i] = Block::place(*region, *work.launch, work.first + i,
                                     static_cast<uint32_t>((work.first + i) % multiprocessors_));
            region = next;
        }
        Block::join(blocks.data(), static_cast<uint32_t>(work.count));
        if (work.count > 1) {
            {
                host::Lock lock(lock_);
                for (uint64_t i = 1; i < work.count; ++i) ready_.push(static_cast<Block&>(*blocks[i]));
            }
            wake_all();
        }
        return static_cast<Block*>(blocks[0]);
    }

    /// Called when a block of a stopped launch has ended. Makes blocks ready whose wait can't end, so that they end.
    void take_up_stuck() noexcept {
        host::Lock lock(lock_);
        ready_.push_all(stuck_);
    }

    void give_back(const Launch& launch, Region& region) noexcept {
        bool surplus;
        {
            host::Lock lock(lock_);
            count_resident(launch, false);
            surplus = stacks_kept_ + region.stacks() > kStacksKept;
            if (!surplus) keep(region);
            resident_hint_ = static_cast<unsigned>(resident_blocks_);
        }
        if (!surplus) return;
        retire(region);
        region.trim();
        {
            host::Lock lock(lock_);
            Regions& regions = regions_of(region.stacks());
            if (regions.made <= regions.needed.load(std::memory_order_relaxed)) {
                keep(region);
                return;
            }
            --regions.made;
        }
        delete &region;
    }

    void run_plain(Work& work, Region& own, FiberContext& home, GuardedThread& guarded) {
        Launch& launch = *work.launch;
        uint64_t left = work.count;
        for (uint64_t number = work.first; left != 0 && !launch.stopped(); ++number, --left) {
            Block* block = Block::place(own, launch, number, static_cast<uint32_t>(number % multiprocessors_));
            guarded.enter(block);
            const Block::State state = block->run(home);
            guarded.exit();
            if (state != Block::State::ended) block->forget_contexts();
        }
        ended(launch, work.count);
    }

    static void retire(Region& region) noexcept { reinterpret_cast<Block*>(region.base())->forget_contexts(); }

    void ended(Launch& launch, uint64_t blocks) {
        if (launch.unfinished.fetch_sub(blocks, std::memory_order_acq_rel) != blocks) return;
        Launches out;
        {
            host::Lock lock(lock_);
            out = take_out(launch);
        }
        const KernelOutcome outcome = out.front().finish();
        if (const auto& done = out.front().request.done) done(outcome, out);
        out.clear();
        bool last;
        {
            host::Lock lock(lock_);
            last = ending_;
        }
        // Other launches may have waited for this room, or the last worker may wait to end.
        if (last || launches_wait_for_room()) wake_all();
    }

    bool launches_wait_for_room() {
        host::Lock lock(lock_);
        return (idle_ != 0 || looking_out_) && !waiting_.empty();
    }

    const PrintSink print_;
    const bool catches_, guard_;
    std::optional<FaultHandler> handler_;
    const uint64_t longest_loop_;
    const unsigned multiprocessors_;
    const unsigned most_blocks_;

    host::Mutex lock_;
    host::Condition changed_;
    Launches waiting_;                   // with blocks not yet started, by priority, then in order of submission
    Launches started_;                   // all blocks started
    Blocks ready_;                       // resident blocks that have yielded
    Blocks stuck_;                       // resident blocks all of whose threads wait for each other
    std::array<Regions, 6> regions_;     // by their number of stacks
    size_t stacks_kept_ = 0;             // of the regions kept
    std::vector<std::unique_ptr<Region>> plain_regions_;   // one for each worker
    uint64_t resident_blocks_ = 0, resident_threads_ = 0, resident_shared_ = 0;
    std::atomic<unsigned> resident_hint_{0};
    unsigned idle_ = 0;                  // workers that sleep
    bool looking_out_ = false;           // a worker does, before it sleeps
    std::atomic<uint32_t> news_{0};      // changes to notify the polling worker; written under the lock or by wake_all
    bool turn_ = false;
    bool ending_ = false;
    std::vector<host::Thread> workers_;  // last: they use all of the above
};

}  // namespace

bool Multiprocessors::catches_faults() noexcept {
    const char* text = environment::get("GPUORCH_SOFT_GUARD");
    const std::string_view value = text ? text : "";
    return value != "0" && value != "off" && value != "no" && value != "false";
}

bool Multiprocessors::guard_from_environment() noexcept {
    return environment::flag("GPUORCH_SOFT_GUARD");
}

std::unique_ptr<Multiprocessors> Multiprocessors::create(const Options& options) {
    return std::make_unique<Workers>(options);
}

}  // namespace gpo::softgpu
