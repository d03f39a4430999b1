#include "softgpu/blocks/block.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "host/schedule.h"
#include "softgpu/blocks/region.h"

namespace gpo::softgpu {

namespace {

constexpr uint32_t kBarriersPerTurn = 256;   // barriers after which the block yields its worker
constexpr uint64_t kVirtualTick = 100;       // ns that reading the clock takes when time is virtual

Block& block_of(gpo_soft_block* block) noexcept { return *static_cast<Block*>(block); }

uint32_t reduce(const uint64_t* values, uint32_t lanes, uint64_t kind) noexcept {
    auto result = static_cast<uint32_t>(values[std::countr_zero(lanes)]);
    for (lanes &= lanes - 1; lanes; lanes &= lanes - 1) {
        const auto value = static_cast<uint32_t>(values[std::countr_zero(lanes)]);
        const bool below = static_cast<int32_t>(value) < static_cast<int32_t>(result);
        switch (kind) {
            case GPO_SOFT_REDUCE_ADD: result += value; break;
            case GPO_SOFT_REDUCE_MIN: result = std::min(result, value); break;
            case GPO_SOFT_REDUCE_MAX: result = std::max(result, value); break;
            case GPO_SOFT_REDUCE_MIN_SIGNED: result = below ? value : result; break;
            case GPO_SOFT_REDUCE_MAX_SIGNED: result = below ? result : value; break;
            case GPO_SOFT_REDUCE_AND: result &= value; break;
            case GPO_SOFT_REDUCE_OR: result |= value; break;
            default: result ^= value; break;
        }
    }
    return result;
}

/// The block whose stack we are on.
Block& block_here() noexcept {
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    return *reinterpret_cast<Block*>(here & ~(RegionLayout::kAlignment - 1));
}

/// Where block `number` of a launch is in its grid: clusters one after the other, and their blocks within them.
gpo_soft_dim3 place_in_grid(const Launch& launch, uint64_t number) noexcept {
    const gpo_soft_dim3 &grid = launch.request.grid, &cluster = launch.request.cluster;
    const auto split = [](uint64_t index, unsigned x, unsigned y) {
        return gpo_soft_dim3{static_cast<unsigned>(index % x), static_cast<unsigned>(index / x % y),
                             static_cast<unsigned>(index / x / y)};
    };
    if (launch.cluster_size == 1) return split(number, grid.x, grid.y);
    const gpo_soft_dim3 which = split(number / launch.cluster_size, grid.x / cluster.x, grid.y / cluster.y);
    const gpo_soft_dim3 within = split(number % launch.cluster_size, cluster.x, cluster.y);
    return {which.x * cluster.x + within.x, which.y * cluster.y + within.y, which.z * cluster.z + within.z};
}

/// The offset from a stack's end at which the stack begins. Neighbouring stacks have different offsets, so that their
/// most used frames don't share cache sets.
size_t colour(uint32_t slot) noexcept { return (slot * 7 % 60) * 64; }

}  // namespace

Block* Block::place(Region& region, Launch& launch, uint64_t number, uint32_t multiprocessor) {
    static_assert(sizeof(Block) <= RegionLayout::kThreads);
    // A region's memory begins as zeros, and what describes its stacks is kept from block to block.
    auto& block = *reinterpret_cast<Block*>(region.base());
    const KernelLaunch& request = launch.request;
    block.grid = request.grid;
    block.block = request.block;
    block.cluster = request.cluster;
    block.block_index = place_in_grid(launch, number);
    block.cluster_size = launch.cluster_size;
    block.cluster_rank = static_cast<uint32_t>(number % launch.cluster_size);
    block.cluster_blocks = nullptr;
    const size_t statics = (request.kernel->static_shared_bytes + 1023) & ~size_t{1023};
    block.static_shared = region.base() + RegionLayout::kShared;
    block.dynamic_shared = region.base() + RegionLayout::kShared + statics;
    block.dynamic_shared_bytes = request.dynamic_shared_bytes;
    block.args = launch.arguments.data();
    block.services = &kServices;
    block.launch = &launch;
    block.multiprocessor = multiprocessor;
    block.threads = reinterpret_cast<gpo_soft_thread*>(region.base() + RegionLayout::kThreads);
    if (region.stacks() != 0) {
        block.stacks = reinterpret_cast<uintptr_t>(region.base()) + RegionLayout::kStacks;
        block.stack_shift = RegionLayout::stack_shift(region.stacks());
    } else {
        block.stacks = reinterpret_cast<uintptr_t>(region.base());
        block.stack_shift = 63;
    }
    std::fill(std::begin(block.scratch), std::end(block.scratch), 0);
    block.launching = nullptr;
    block.region_ = &region;
    block.state_ = State::running;
    block.count_ = 0;
    block.current_ = nullptr;
    block.threads[0].index.x = kUnknown;   // a loop over the threads keeps it only where the kernel reads it
    block.ticks_ = 0;
    if (!block.main_parked_.continuation)
        block.main_parked_ = make_context(region.base() + RegionLayout::kMainStack,
                                          RegionLayout::kMainStackEnd - RegionLayout::kMainStack, main_entry);
    block.resume_ = &block.main_parked_;
    return &block;
}

void Block::forget_contexts() noexcept {
#if defined(GPO_ASAN)
    // Frames that never return stay poisoned in AddressSanitizer's shadow: the next user of the memory would be blamed.
    if (region_) {
        for (uint32_t i = 0; i < used_; ++i)
            __asan_unpoison_memory_region(reinterpret_cast<void*>(stacks + (uintptr_t{i} << stack_shift)),
                                          size_t{1} << stack_shift);
        __asan_unpoison_memory_region(region_->base() + RegionLayout::kMainStack,
                                      RegionLayout::kMainStackEnd - RegionLayout::kMainStack);
    }
#endif
    parked_ = used_ = 0;
    main_parked_ = FiberContext{};
#if defined(GPO_TSAN)
    if (tsan_fiber_) __tsan_destroy_fiber(tsan_fiber_);
    tsan_fiber_ = nullptr;
#endif
}

GPO_NO_TSAN Block::State Block::run(FiberContext& home) noexcept {
    home_ = &home;
    FiberContext* to = resume_;
    if (!to) {
        make_current(thread(ready_from(0)));
        to = &context(*current_);
    }
    state_ = State::running;
    went_round_ = false;
#if defined(GPO_TSAN)
    tsan_home_ = __tsan_get_current_fiber();
    if (!tsan_fiber_) tsan_fiber_ = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(tsan_fiber_, 0);
#endif
    switch_context(home, *to);
    return state_;
}

GPO_NO_TSAN void Block::go_home(FiberContext& from, State state) noexcept {
    state_ = state;
    resume_ = nullptr;
#if defined(GPO_TSAN)
    __tsan_switch_to_fiber(tsan_home_, 0);
#endif
    switch_context(from, *home_);
}

GPO_NO_TSAN void Block::leave(State state) noexcept {
    FiberContext dropped;
    go_home(dropped, state);
    __builtin_unreachable();
}

GPO_NO_TSAN void Block::fail(CUresult result, const char* text) noexcept {
    const auto* thread = current_ ? current_ : reinterpret_cast<const Thread*>(threads);
    // If the text is too long, the sentence is truncated, but not the place.
    char message[sizeof KernelOutcome::text], which[48] = "", where[160];
    if (thread->index.x != kUnknown)
        snprintf(which, sizeof which, ", thread %u,%u,%u", thread->index.x, thread->index.y, thread->index.z);
    const int placed = snprintf(where, sizeof where, " (kernel %.60s, block %u,%u,%u%s)", owner().request.kernel->name,
                                block_index.x, block_index.y, block_index.z, which);
    snprintf(message, sizeof message, "%.*s%s", static_cast<int>(sizeof message) - 1 - placed, text ? text : "", where);
    owner().stop(result, message);
    leave(State::stopped);
}

GPO_NO_TSAN void Block::main_entry(boost::context::detail::transfer_t transfer) {
    arrived(transfer, nullptr);
    Block& block = block_here();
    for (;;) {
        block.owner().request.kernel->run(&block);
        block.go_home(block.main_parked_, State::ended);
    }
}

GPO_NO_TSAN void Block::thread_entry(boost::context::detail::transfer_t transfer) {
    arrived(transfer, nullptr);
    Block& block = block_here();
    Thread& self = *block.current_;
    for (;;) {
        block.body_(block.closure_);
        block.thread_ended(self);
    }
}

GPO_NO_TSAN void Block::run_threads(void (*body)(void*), void* closure) noexcept {
    body_ = body;
    closure_ = closure;
    count_ = alive_ = owner().thread_count;
    started_ = 0;
    next_index_ = {0, 0, 0};
    ready_warps_ = 0;
    arrived_ = gathered_ = answer_ = 0;
    for (uint32_t w = 0; w * 32 < count_; ++w)
        warps_[w] = Warp{count_ - w * 32 >= 32 ? ~0u : (1u << (count_ - w * 32)) - 1, 0, 0, 0, 0, 0};
    make_current(*start_next());
    switch_context(main_, context(*current_));
    count_ = 0;
}

/// Gives the next thread that hasn't started to the stack of `self`.
void Block::assign(Thread& self) noexcept {
    const uint32_t number = started_++;
    self.linear = number;
    self.index = next_index_;
    self.cluster_ticket = 0;
    self.error = 0;
    if (++next_index_.x == block.x) {
        next_index_.x = 0;
        if (++next_index_.y == block.y) {
            next_index_.y = 0;
            ++next_index_.z;
        }
    }
    slot_of_[number] = static_cast<uint16_t>(&self - reinterpret_cast<Thread*>(threads));
    make_ready(number / 32, 1u << (number % 32));
}

Thread* Block::start_next() noexcept {
    uint32_t number;
    if (parked_ != 0) {
        number = free_slots_[--parked_];
    } else {
        number = used_++;
        auto* bottom = reinterpret_cast<char*>(stacks + (uintptr_t{number} << stack_shift));
        contexts_[number] = make_context(bottom, (size_t{1} << stack_shift) - colour(number), thread_entry);
    }
    Thread& self = slot(number);
    assign(self);
    return &self;
}

void Block::make_ready(uint32_t warp, uint32_t lanes) noexcept {
    warps_[warp].ready |= lanes;
    ready_warps_ |= 1u << warp;
}

void Block::make_unready(uint32_t warp, uint32_t lanes) noexcept {
    if ((warps_[warp].ready &= ~lanes) == 0) ready_warps_ &= ~(1u << warp);
}

/// The first thread at or after `number` that can go on.
uint32_t Block::ready_from(uint32_t number) const noexcept {
    const uint32_t warp = number / 32;
    if (warp >= 32) return kNone;
    if (const uint32_t lanes = warps_[warp].ready & (~0u << (number % 32)); lanes && (ready_warps_ >> warp & 1))
        return warp * 32 + static_cast<uint32_t>(std::countr_zero(lanes));
    const uint32_t later = warp == 31 ? 0 : ready_warps_ & (~0u << (warp + 1));
    if (!later) return kNone;
    const auto next = static_cast<uint32_t>(std::countr_zero(later));
    return next * 32 + static_cast<uint32_t>(std::countr_zero(warps_[next].ready));
}

/// The thread to run when `self` must wait. Threads of its own warp come first, so that warps converge. NULL: no thread
/// can run, and the block must go home.
Thread* Block::after_wait(Thread& self) noexcept {
    const uint32_t warp = self.linear / 32, lane = self.linear % 32;
    if (const uint32_t lanes = warps_[warp].ready) {
        const uint32_t later = lanes & (~0u << lane);
        return &thread(warp * 32 + static_cast<uint32_t>(std::countr_zero(later ? later : lanes)));
    }
    if (started_ < count_ && started_ / 32 == warp) return start_next();
    if (release_active(warp)) return &thread(warp * 32 + static_cast<uint32_t>(std::countr_zero(warps_[warp].ready)));
    uint32_t next = ready_from((warp + 1) * 32);
    if (next != kNone) return &thread(next);
    if (started_ < count_) return start_next();
    next = ready_from(0);
    if (next == kNone && release_all_active()) next = ready_from(0);
    if (next == kNone) {
        state_ = State::stuck;
        return nullptr;
    }
    if (went_round_) {
        state_ = State::yielded;
        return nullptr;
    }
    return &thread(next);
}

/// Lets others run until something switches back to `self`.
GPO_NO_TSAN inline void Block::wait() noexcept {
    // Usually the next lane continues. Prefetch the stack of the lane after that.
    const uint32_t lanes = warps_[number_ / 32].ready & (~0u << (number_ % 32));
    if (lanes != 0) {
        const uint32_t number = (number_ & ~31u) + static_cast<uint32_t>(std::countr_zero(lanes));
        if (number + 1 < started_) {
            const char* ahead = static_cast<const char*>(contexts_[slot_of_[number + 1]].continuation);
            __builtin_prefetch(ahead);
            __builtin_prefetch(ahead + 64);
            __builtin_prefetch(ahead + 128);
        }
        FiberContext& from = context(*current_);
        current_ = &thread(number);
        number_ = number;
        switch_context(from, contexts_[slot_of_[number]]);
        return;
    }
    wait_longer(*current_);
}

GPO_NO_TSAN __attribute__((noinline)) void Block::wait_longer(Thread& self) noexcept {
    Thread* next = after_wait(self);
    if (next == &self) return;
    if (next) {
        make_current(*next);
        switch_context(context(self), context(*next));
    } else {
        go_home(context(self), state_);
    }
}

GPO_NO_TSAN void Block::thread_ended(Thread& self) noexcept {
    const uint32_t warp = self.linear / 32, lane = 1u << (self.linear % 32);
    warps_[warp].live &= ~lane;
    make_unready(warp, lane);
    --alive_;
    if (arrived_ != 0 && arrived_ == alive_) release_barrier();
    if (warps_[warp].at_warp) release_groups(warp);
    if (cluster_arrived_ != 0) {
        see_cluster_phase();
        if (cluster_arrived_ != 0 && self.cluster_ticket == cluster_phase_ + 1) --cluster_arrived_;
        arrive_at_cluster();
    }
    if (alive_ == 0 && cluster_size > 1) cluster_of_->leave(cluster_joined_, cluster_phase_);
    if (started_ < count_) {
        assign(self);
        number_ = self.linear;
        return;
    }
    free_slots_[parked_++] = static_cast<uint16_t>(&self - reinterpret_cast<Thread*>(threads));
    if (alive_ == 0)
        switch_context(context(self), main_);
    else
        wait();
}

GPO_NO_TSAN void Block::yield() noexcept {
    if (count_ == 0) return;
    if (owner().stopped()) leave(State::stopped);
    Thread& self = *current_;
    went_round_ = true;
    const uint32_t number = ready_from(self.linear + 1);
    Thread* next = number != kNone ? &thread(number) : started_ < count_ ? start_next() : nullptr;
    if (!next) {
        release_all_active();
        go_home(context(self), State::yielded);
        return;
    }
    make_current(*next);
    switch_context(context(self), context(*next));
}

GPO_NO_TSAN uint64_t Block::spin(uint64_t since, const char* file, uint32_t line) noexcept {
    if (count_ != 0) {
        yield();
        return 0;
    }
    const Launch& launch = owner();
    if (launch.stopped()) leave(State::stopped);
    if (launch.block_count == 1 && launch.thread_count == 1) return 0;   // a single thread waits for no other
    const uint64_t now = clock();
    if (since == 0 || now - since < launch.longest_loop) return since ? since : now;
    char text[sizeof KernelOutcome::text];
    snprintf(text, sizeof text,
             "%.100s:%u: this loop has gone on for %llu ms, and may wait for a thread that can't run beside it; "
             "GPUORCH_SOFT_FIBERS=1 runs them in turn",
             file, line, static_cast<unsigned long long>((now - since) / 1'000'000));
    fail(CUDA_ERROR_LAUNCH_TIMEOUT, text);
}

void Block::release_barrier() noexcept {
    answer_ = gathered_;
    arrived_ = gathered_ = 0;
    for (uint32_t w = 0; w * 32 < count_; ++w) {
        if (!warps_[w].at_barrier) continue;
        make_ready(w, warps_[w].at_barrier);
        warps_[w].at_barrier = 0;
    }
    if (++barriers_ % kBarriersPerTurn == 0) went_round_ = true;
}

GPO_NO_TSAN uint32_t Block::barrier(uint32_t operation, uint32_t value) noexcept {
    // Counts threads with a value other than 0; for AND, threads with the value 0.
    gathered_ += operation == GPO_SOFT_BARRIER_AND ? value == 0 : value != 0;
    if (++arrived_ == alive_) {
        release_barrier();
        if (owner().stopped()) leave(State::stopped);
    } else {
        const uint32_t warp = number_ / 32, lane = 1u << (number_ % 32);
        warps_[warp].at_barrier |= lane;
        make_unready(warp, lane);
        wait();
    }
    switch (operation) {
        case GPO_SOFT_BARRIER_COUNT: return answer_;
        case GPO_SOFT_BARRIER_AND: return answer_ == 0;
        case GPO_SOFT_BARRIER_OR: return answer_ != 0;
        default: return 0;
    }
}

/// If all lanes of `mask` that haven't ended wait with this mask, gives each its answer and makes it ready.
bool Block::release_group(uint32_t warp, uint32_t mask) noexcept {
    Warp& all = warps_[warp];
    const uint32_t live = all.live & mask;
    if (live == 0 || (all.at_warp & live) != live) return false;
    Thread* lanes[32];
    uint64_t values[32];
    uint32_t ballot = 0;
    bool equal = true;
    const auto first = static_cast<uint32_t>(std::countr_zero(live));
    for (uint32_t left = live; left; left &= left - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(left));
        Thread& one = thread(warp * 32 + lane);
        if (one.mask != mask) return false;
        lanes[lane] = &one;
        values[lane] = one.value;
        if (one.value != 0) ballot |= 1u << lane;
        equal = equal && one.value == values[first];
    }
    for (uint32_t left = live; left; left &= left - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(left));
        Thread& one = *lanes[lane];
        switch (one.operation) {
            case GPO_SOFT_WARP_SHUFFLE:
                if (one.argument < 32 && (live >> one.argument & 1)) one.value = values[one.argument];
                break;
            case GPO_SOFT_WARP_BALLOT: one.value = ballot; break;
            case GPO_SOFT_WARP_REDUCE: one.value = reduce(values, live, one.argument); break;
            case GPO_SOFT_WARP_MATCH_ALL: one.value = equal ? live : 0; break;
            case GPO_SOFT_WARP_MATCH_ANY: {
                uint32_t same = 0;
                for (uint32_t others = live; others; others &= others - 1) {
                    const auto other = static_cast<uint32_t>(std::countr_zero(others));
                    if (values[other] == values[lane]) same |= 1u << other;
                }
                one.value = same;
                break;
            }
            default: one.value = 0; break;
        }
    }
    all.at_warp &= ~live;
    make_ready(warp, live);
    return true;
}

/// A lane has ended: groups that waited only for this lane can go on.
void Block::release_groups(uint32_t warp) noexcept {
    for (uint32_t left = warps_[warp].at_warp; left;) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(left));
        const uint32_t mask = thread(warp * 32 + lane).mask;
        release_group(warp, mask);
        left &= ~(mask | 1u << lane);
    }
}

/// No other lane of the warp can arrive: the lanes that wait at the same call site become a group.
bool Block::release_active(uint32_t warp) noexcept {
    Warp& all = warps_[warp];
    if (!all.at_active) return false;
    const uint64_t site = thread(warp * 32 + static_cast<uint32_t>(std::countr_zero(all.at_active))).argument;
    uint32_t group = 0;
    for (uint32_t left = all.at_active; left; left &= left - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(left));
        if (thread(warp * 32 + lane).argument == site) group |= 1u << lane;
    }
    for (uint32_t left = group; left; left &= left - 1)
        thread(warp * 32 + static_cast<uint32_t>(std::countr_zero(left))).value = group;
    all.at_active &= ~group;
    make_ready(warp, group);
    return true;
}

bool Block::release_all_active() noexcept {
    bool any = false;
    for (uint32_t w = 0; w * 32 < count_; ++w) any = release_active(w) || any;
    return any;
}

GPO_NO_TSAN uint64_t Block::warp(uint32_t operation, uint32_t mask, uint64_t value, uint64_t argument) noexcept {
    Thread& self = *current_;
    const uint32_t warp = number_ / 32, lane = 1u << (number_ % 32);
    self.value = value;
    self.argument = argument;
    self.operation = operation;
    if (operation == GPO_SOFT_WARP_ACTIVE) {
        warps_[warp].at_active |= lane;
        make_unready(warp, lane);
        wait();
        return self.value;
    }
    self.mask = mask |= lane;
    warps_[warp].at_warp |= lane;
    if (!release_group(warp, mask)) {
        make_unready(warp, lane);
        wait();
    }
    return self.value;
}

uint64_t Block::clock() noexcept {
    // Each call returns a later time. Virtual time advances with each call, so that loops that wait for a time end.
    ticks_ = std::max(host::now(), ticks_ + (host::Schedule::active() ? kVirtualTick : 1));
    return ticks_;
}

namespace {

GPO_NO_TSAN void service_yield(gpo_soft_block* block) { block_of(block).yield(); }

GPO_NO_TSAN void service_fail(gpo_soft_block* block, int result, const char* text) {
    block_of(block).fail(static_cast<CUresult>(result), text);
}

GPO_NO_TSAN gpo_soft_u64 service_spin(gpo_soft_block* block, gpo_soft_u64 since, const char* file, gpo_soft_u32 line) {
    return block_of(block).spin(since, file, line);
}

void service_print(gpo_soft_block* block, const char* text, size_t length) {
    try {
        block_of(block).owner().print({text, length});
    } catch (...) {
        // The text is lost if there is no memory, as text is lost on a GPU whose printf buffer overflows.
    }
}

uint64_t service_clock(gpo_soft_block* block) { return block_of(block).clock(); }

GPO_NO_TSAN bool service_grid_arrive(gpo_soft_block* block, gpo_soft_u32* ticket) {
    Launch& launch = block_of(block).owner();
    if (!launch.request.cooperative) return false;
    *ticket = launch.arrive_at_grid();
    return true;
}

GPO_NO_TSAN void service_grid_wait(gpo_soft_block* block, gpo_soft_u32 ticket) {
    Block& self = block_of(block);
    Launch& launch = self.owner();
    while (launch.grid_generation() == ticket) self.yield();
}

GPO_NO_TSAN void service_run_threads(gpo_soft_block* block, void (*body)(void*), void* closure) {
    block_of(block).run_threads(body, closure);
}

GPO_NO_TSAN uint32_t service_barrier(gpo_soft_block* block, uint32_t operation, uint32_t value) {
    return block_of(block).barrier(operation, value);
}

GPO_NO_TSAN uint64_t service_warp(gpo_soft_block* block, uint32_t operation, uint32_t mask, uint64_t value,
                                  uint64_t argument) {
    return block_of(block).warp(operation, mask, value, argument);
}

constexpr int kNotSupportedHere = 801;  // cudaErrorNotSupported

void service_set_condition(gpo_soft_block* block, gpo_soft_u64 handle, gpo_soft_u32 value) {
    const KernelLaunch& request = block_of(block).owner().request;
    if (request.runtime) request.runtime->set_condition(*request.command, handle, value);
}

int service_launch_graph(gpo_soft_block* block, gpo_soft_u64 graph, gpo_soft_u32 how) {
    const KernelLaunch& request = block_of(block).owner().request;
    return request.runtime ? request.runtime->launch_graph(*request.command, graph, how) : kNotSupportedHere;
}

gpo_soft_u64 service_current_graph(gpo_soft_block* block) {
    const KernelLaunch& request = block_of(block).owner().request;
    return request.runtime ? request.runtime->current_graph(*request.command) : 0;
}

int service_launch_kernel(gpo_soft_block* block, const gpo_soft_launch* asked) {
    const KernelLaunch& request = block_of(block).owner().request;
    const gpo_soft_dim3 &grid = block->grid, &index = block->block_index;
    const uint64_t number = (uint64_t{index.z} * grid.y + index.y) * grid.x + index.x;
    return request.runtime ? request.runtime->launch_kernel(request, number, *asked) : kNotSupportedHere;
}

GPO_NO_TSAN void service_cluster_arrive(gpo_soft_block* block) { block_of(block).cluster_arrive(); }
GPO_NO_TSAN void service_cluster_wait(gpo_soft_block* block) { block_of(block).cluster_wait(); }

}  // namespace

const gpo_soft_services kServices = {
    GPO_SOFT_KERNEL_ABI,  service_yield,          service_fail,          service_print,       service_clock,
    service_clock,        service_grid_arrive,    service_grid_wait,     service_run_threads, service_barrier,
    service_warp,         service_cluster_arrive, service_cluster_wait,  service_spin,        service_set_condition,
    service_launch_graph, service_current_graph,  service_launch_kernel,
};

}  // namespace gpo::softgpu
