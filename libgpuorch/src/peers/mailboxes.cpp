#include "peers/mailboxes.h"

#include <algorithm>
#include <atomic>
#include <new>

namespace gpo::peers {

namespace {

constexpr uint64_t kNumbersAlignment = 256;

uint64_t bytes_of_numbers(uint64_t slots) noexcept {
    const uint64_t blocks = (slots + exchange::kThreads - 1) / exchange::kThreads;
    return (blocks * sizeof(uint32_t) + kNumbersAlignment - 1) / kNumbersAlignment * kNumbersAlignment;
}

}  // namespace

Mailboxes::Mailboxes(std::span<const Ref<Context>> contexts, uint64_t bytes, bool recorded,
                     const FixedText<96>& owner)
    : contexts_(contexts.begin(), contexts.end()), slots_((bytes + 7) / 8) {
    const uint64_t inbox_bytes = 2 * contexts.size() * slots_ * sizeof(exchange::Packet);
    const uint64_t number_bytes = bytes_of_numbers(slots_);
    for (const auto& context : contexts) {
        memory_.push_back(make<OwnedMemory>(context, owner));
        numbers_.push_back(memory_.back()->allocate(number_bytes + inbox_bytes));
        inboxes_.push_back(numbers_.back() + number_bytes);
        // Kernels of other drivers don't look at the word.
        if (!recorded && context->driver().uses_host_cores)
            stopped_.push_back(new (memory_.back()->allocate_host(sizeof(uint32_t))) uint32_t(0));
    }
    for (size_t rank = 0; rank < contexts.size(); ++rank) {
        Context& context = *contexts[rank];
        const DriverScope scope(context);
        const driver::Table& table = context.table();
        CUstream stream = nullptr;
        context.check(table.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0),
                      "cuStreamCreateWithPriority");
        CUresult result = table.cuMemsetD8Async(numbers_[rank], 0, number_bytes + inbox_bytes, stream);
        if (result == CUDA_SUCCESS) result = table.cuStreamSynchronize(stream);
        table.cuStreamDestroy(stream);
        context.check(result, "cuMemsetD8Async");
    }
}

// The kernels of a lost device may never begin, and the ends of the other ranks' contexts wait for theirs.
Mailboxes::~Mailboxes() {
    if (std::any_of(contexts_.begin(), contexts_.end(), [](const auto& context) { return context->lost(); }))
        stop(exchange::kEveryLaunch);
}

exchange::Mailboxes Mailboxes::argument(uint32_t rank) const noexcept {
    exchange::Mailboxes out{};
    std::copy(inboxes_.begin(), inboxes_.end(), out.inbox);
    out.numbers = numbers_[rank];
    out.slots = slots_;
    out.ranks = static_cast<uint32_t>(inboxes_.size());
    out.rank = rank;
    return out;
}

exchange::Stop Mailboxes::stop_argument(uint32_t rank) const noexcept {
    return {stopped_.empty() ? 0 : reinterpret_cast<uint64_t>(stopped_[rank]), launch_};
}

void Mailboxes::stop(uint32_t launch) noexcept {
    for (uint32_t* word : stopped_) std::atomic_ref(*word).store(launch, std::memory_order_release);
}

}  // namespace gpo::peers
