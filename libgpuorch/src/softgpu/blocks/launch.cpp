#include "softgpu/blocks/launch.h"

#include <utility>

#include "base/text.h"

namespace gpo::softgpu {

namespace {
constexpr size_t kPrintAtOnce = 64 << 10;   // bytes of device printf gathered before they are passed on
}

Launch::Launch(KernelLaunch asked, const PrintSink& sink)
    : request(std::move(asked)),
      block_count(uint64_t{request.grid.x} * request.grid.y * request.grid.z),
      thread_count(request.block.x * request.block.y * request.block.z),
      cluster_size(request.cluster.x * request.cluster.y * request.cluster.z),
      unfinished(block_count),
      sink_(sink) {
    arguments.reserve(request.kernel->parameter_count);
    auto* bytes = const_cast<std::byte*>(request.arguments.data());
    for (uint32_t i = 0; i < request.kernel->parameter_count; ++i)
        arguments.push_back(bytes + request.kernel->parameters[i].offset);
}

void Launch::stop(CUresult result, std::string_view text) noexcept {
    host::Lock lock(lock_);
    if (stopped_.load(std::memory_order_relaxed)) return;
    outcome_.result = result;
    copy_text(outcome_.text, text);
    stopped_.store(true, std::memory_order_release);
}

void Launch::print(std::string_view text) {
    host::Lock lock(lock_);
    printed_.append(text);
    if (printed_.size() < kPrintAtOnce) return;
    sink_(printed_);
    printed_.clear();
}

uint32_t Launch::arrive_at_grid() noexcept {
    const uint32_t generation = grid_generation_.load(std::memory_order_acquire);
    if (grid_arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == block_count) {
        grid_arrived_.store(0, std::memory_order_relaxed);
        grid_generation_.store(generation + 1, std::memory_order_release);
    }
    return generation;
}

KernelOutcome Launch::finish() noexcept {
    KernelOutcome outcome;
    std::string printed;
    {
        host::Lock lock(lock_);
        outcome = outcome_;
        printed.swap(printed_);
    }
    if (!printed.empty()) sink_(printed);
    return outcome;
}

void Launch::rewind() noexcept {
    next_block = 0;
    unfinished.store(block_count, std::memory_order_relaxed);
    stopped_.store(false, std::memory_order_relaxed);
    grid_arrived_.store(0, std::memory_order_relaxed);
    grid_generation_.store(0, std::memory_order_relaxed);
    outcome_ = KernelOutcome();
}

}  // namespace gpo::softgpu
