// The workers. One lock guards the queues; it is never held while a block runs or `done` is called.
//
// A worker takes, in turn, a resident block that has yielded and something new. Blocks of kernels that can't wait are
// taken in batches and run to their end in the worker's own region; blocks of the others get a region each and count
// against what the device can hold. When all that is left to do is spinning, host::step() lets the host have the core.
#include "softgpu/executor.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <list>
#include <new>

#include "core/environment.h"
#include "host/host.h"
#include "softgpu/executor_block.h"
#include "softgpu/executor_guard.h"
#include "softgpu/executor_launch.h"
#include "softgpu/executor_region.h"

namespace gpo::softgpu {

namespace {

// What one multiprocessor holds, as on compute capability 9.0.
constexpr unsigned kBlocksPerMultiprocessor = 32;
constexpr unsigned kThreadsPerMultiprocessor = 2048;
constexpr size_t kSharedPerMultiprocessor = 228 << 10;
constexpr size_t kSharedReservedPerBlock = 1 << 10;

constexpr uint64_t kLargestBatch = 64;       // blocks of a plain kernel taken at once
constexpr size_t kStacksKept = 4096;         // warm stacks of free regions, 8 KiB each; more go back to the system

unsigned whole_warps(unsigned threads) { return (threads + 31) / 32 * 32; }

size_t shared_of(const gpo_soft_kernel& kernel, size_t dynamic_shared) {
    return kernel.static_shared_bytes + dynamic_shared + kSharedReservedPerBlock;
}

void print_to_stdout(std::string_view text) {
    fwrite(text.data(), 1, text.size(), stdout);
    fflush(stdout);
}

class Workers final : public Executor {
public:
    explicit Workers(const Options& options)
        : print_(options.print ? options.print : PrintSink(print_to_stdout)),
          guard_(options.guard),
          multiprocessors_(std::max(1u, options.multiprocessors)),
          most_blocks_(options.max_resident_blocks ? options.max_resident_blocks
                                                   : multiprocessors_ * kBlocksPerMultiprocessor) {
        if (guard_) install_guard();
        const unsigned count = options.workers ? options.workers : host::processors();
        try {
            for (unsigned i = 0; i < count; ++i) workers_.emplace_back("gpo-softgpu", [this] { work(); });
        } catch (...) {
            end();
            throw;
        }
    }

    ~Workers() override { end(); }

    void submit(KernelLaunch request) override {
        auto launch = std::make_unique<Launch>(std::move(request), print_);
        bool wake = false;
        {
            host::Lock lock(lock_);
            if (ending_) launch->stop(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the device was closed");
            const int priority = launch->request.priority;
            auto place = std::find_if(waiting_.begin(), waiting_.end(),
                                      [&](const auto& other) { return other->request.priority > priority; });
            waiting_.insert(place, std::move(launch));
            wake = idle_ != 0;
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

    void stop_all(CUresult result) override {
        host::Lock lock(lock_);
        for (auto& launch : waiting_) launch->stop(result, "the device was lost");
        for (auto& launch : started_) launch->stop(result, "the device was lost");
        collect_stuck();
        changed_.notify_all();
    }

private:
    using LaunchPointer = std::unique_ptr<Launch>;

    struct Work {
        Launch* launch = nullptr;
        Block* resident = nullptr;   // a block to go on with
        uint64_t first = 0, count = 0;   // or new blocks
        std::unique_ptr<Region> region;  // for the one new block of a kernel that waits
        bool unstartable = false;    // no memory for it
    };

    void end() noexcept {
        {
            host::Lock lock(lock_);
            ending_ = true;
            for (auto& launch : waiting_) launch->stop(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the device was closed");
            for (auto& launch : started_) launch->stop(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the device was closed");
            collect_stuck();
        }
        changed_.notify_all();
        for (auto& worker : workers_) worker.join();
        for (auto& region : regions_) retire(*region);
    }

    // -- under lock_ -------------------------------------------------------------------------------------------------

    /// Blocks that wait for nothing that can come are taken up again only to be ended.
    void collect_stuck() {
        for (Block* block : stuck_) ready_.push_back(block);
        stuck_.clear();
    }

    bool fits(const Launch& launch) const {
        const uint64_t blocks = launch.request.cooperative ? launch.block_count : 1;
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

    std::unique_ptr<Region> take_region(unsigned stacks) {
        for (auto at = regions_.rbegin(); at != regions_.rend(); ++at) {
            if ((*at)->stacks() != stacks) continue;
            std::unique_ptr<Region> region = std::move(*at);
            regions_.erase(std::next(at).base());
            stacks_kept_ -= stacks;
            return region;
        }
        return std::make_unique<Region>(stacks, guard_);
    }

    /// The next new blocks that may start. A launch that can't start keeps later ones of kernels that wait from
    /// overtaking it (a cooperative grid would never find room), but not those that need no residency.
    Work take_new() {
        bool blocked = false;
        for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
            Launch& launch = **at;
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
                work.count = 1;
                try {
                    work.region = take_region(RegionLayout::stack_count(launch.thread_count));
                } catch (const std::bad_alloc&) {
                    if (resident_blocks_ != 0 && !launch.request.cooperative) {
                        blocked = true;   // what runs gives its memory back
                        continue;
                    }
                    launch.stop(CUDA_ERROR_OUT_OF_MEMORY, "no memory for the stacks of a block");
                    work.count = left;
                }
                if (work.region) count_resident(launch, true);
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
            work.resident = ready_.front();
            work.launch = &work.resident->owner();
            ready_.pop_front();
        }
        return work;
    }

    bool more_to_do() const { return !ready_.empty() || !waiting_.empty(); }

    LaunchPointer take_out(Launch* launch) {
        for (auto at = started_.begin(); at != started_.end(); ++at) {
            if (at->get() != launch) continue;
            LaunchPointer out = std::move(*at);
            started_.erase(at);
            return out;
        }
        return nullptr;
    }

    // -- not under lock_ ---------------------------------------------------------------------------------------------

    void work() {
        Context home;
        GuardedThread guarded(guard_);
        std::unique_ptr<Region> own;   // for blocks that run to their end
        unsigned fruitless = 0;        // blocks in a row that only spun
        host::Lock lock(lock_);
        for (;;) {
            Work work = take();
            if (!work.launch) {
                if (ending_ && waiting_.empty() && started_.empty()) break;
                ++idle_;
                changed_.wait(lock);
                --idle_;
                continue;
            }
            if (idle_ != 0 && more_to_do()) changed_.notify_one();
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
        changed_.notify_all();
        if (own) retire(*own);
    }

    /// True when the block ended; false when it has only spun.
    bool run_resident(Work& work, Context& home, GuardedThread& guarded) {
        Launch& launch = *work.launch;
        Block* block = work.resident;
        if (!block) {
            block = Block::place(*work.region.release(), launch, work.first,
                                 static_cast<uint32_t>(work.first % multiprocessors_));
        }
        Block::State state = Block::State::stopped;
        if (!launch.stopped()) {
            guarded.enter(block);
            state = block->run(home);
            guarded.exit();
        }
        if (state == Block::State::yielded) {
            host::Lock lock(lock_);
            ready_.push_back(block);
            return false;
        }
        if (state == Block::State::stuck) {
            host::Lock lock(lock_);
            (launch.stopped() ? static_cast<void>(ready_.push_back(block))
                              : static_cast<void>(stuck_.push_back(block)));
            return false;
        }
        if (state == Block::State::stopped) block->forget_contexts();
        std::unique_ptr<Region> region(&block->region());
        std::unique_ptr<Region> surplus;
        {
            host::Lock lock(lock_);
            count_resident(launch, false);
            if (stacks_kept_ + region->stacks() <= kStacksKept) {
                stacks_kept_ += region->stacks();
                regions_.push_back(std::move(region));
            } else {
                surplus = std::move(region);
            }
            if (state == Block::State::stopped) collect_stuck();
            resident_hint_ = static_cast<unsigned>(resident_blocks_);
        }
        if (surplus) retire(*surplus);
        ended(launch, 1);
        return true;
    }

    void run_plain(Work& work, std::unique_ptr<Region>& own, Context& home, GuardedThread& guarded) {
        Launch& launch = *work.launch;
        uint64_t left = work.count;
        for (uint64_t number = work.first; left != 0 && !launch.stopped(); ++number, --left) {
            try {
                if (!own) own = std::make_unique<Region>(0, guard_);
            } catch (const std::bad_alloc&) {
                launch.stop(CUDA_ERROR_OUT_OF_MEMORY, "no memory for a block's stack");
                break;
            }
            Block* block = Block::place(*own, launch, number, static_cast<uint32_t>(number % multiprocessors_));
            guarded.enter(block);
            const Block::State state = block->run(home);
            guarded.exit();
            if (state != Block::State::ended) block->forget_contexts();
        }
        ended(launch, work.count);
    }

    static void retire(Region& region) { reinterpret_cast<Block*>(region.base())->forget_contexts(); }

    void ended(Launch& launch, uint64_t blocks) {
        if (launch.unfinished.fetch_sub(blocks, std::memory_order_acq_rel) != blocks) return;
        LaunchPointer out;
        {
            host::Lock lock(lock_);
            out = take_out(&launch);
        }
        out->finish();
        out.reset();
        bool last;
        {
            host::Lock lock(lock_);
            last = ending_;
        }
        // Room for what waited for it; or the last worker can go.
        if (last || launches_wait_for_room()) changed_.notify_all();
    }

    bool launches_wait_for_room() {
        host::Lock lock(lock_);
        return idle_ != 0 && !waiting_.empty();
    }

    const PrintSink print_;
    const bool guard_;
    const unsigned multiprocessors_;
    const unsigned most_blocks_;

    host::Mutex lock_;
    host::Condition changed_;
    std::list<LaunchPointer> waiting_;   // with blocks not yet started, by priority, then in order of submission
    std::list<LaunchPointer> started_;   // all blocks started
    std::deque<Block*> ready_;           // resident blocks that have yielded
    std::deque<Block*> stuck_;           // resident blocks all of whose threads wait for each other
    std::vector<std::unique_ptr<Region>> regions_;
    size_t stacks_kept_ = 0;             // of regions_
    uint64_t resident_blocks_ = 0, resident_threads_ = 0, resident_shared_ = 0;
    std::atomic<unsigned> resident_hint_{0};
    unsigned idle_ = 0;
    bool turn_ = false;
    bool ending_ = false;
    std::vector<host::Thread> workers_;  // last: they use all of the above
};

}  // namespace

bool Executor::guard_from_environment() noexcept {
    return environment::flag("GPUORCH_SOFT_GUARD");
}

std::unique_ptr<Executor> Executor::create(const Options& options) { return std::make_unique<Workers>(options); }

}  // namespace gpo::softgpu
