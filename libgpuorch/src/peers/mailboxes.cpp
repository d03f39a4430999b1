#include "peers/mailboxes.h"

#include <algorithm>

namespace gpo::peers {

namespace {

constexpr uint64_t kPacketBytes = 16, kNumbersAlignment = 256;

uint64_t bytes_of_numbers(uint64_t slots) noexcept {
    const uint64_t blocks = (slots + MailboxesArgument::kThreads - 1) / MailboxesArgument::kThreads;
    return (blocks * sizeof(uint32_t) + kNumbersAlignment - 1) / kNumbersAlignment * kNumbersAlignment;
}

}  // namespace

Mailboxes::Mailboxes(std::span<const Ref<Context>> contexts, uint64_t bytes, const FixedText<96>& owner)
    : slots_((bytes + 7) / 8) {
    const uint64_t inbox_bytes = 2 * contexts.size() * slots_ * kPacketBytes;
    const uint64_t number_bytes = bytes_of_numbers(slots_);
    for (const auto& context : contexts) {
        memory_.push_back(make<OwnedMemory>(context, owner));
        numbers_.push_back(memory_.back()->allocate(number_bytes + inbox_bytes));
        inboxes_.push_back(numbers_.back() + number_bytes);
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

MailboxesArgument Mailboxes::argument(uint32_t rank) const noexcept {
    MailboxesArgument out;
    std::copy(inboxes_.begin(), inboxes_.end(), out.inbox);
    out.numbers = numbers_[rank];
    out.slots = slots_;
    out.ranks = static_cast<uint32_t>(inboxes_.size());
    out.rank = rank;
    return out;
}

}  // namespace gpo::peers
