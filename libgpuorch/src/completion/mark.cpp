#include "completion/mark.h"

#include "completion/queue.h"
#include "stream/event.h"

namespace gpo {

Mark::Mark() noexcept = default;
Mark::Mark(const Mark&) = default;
Mark::Mark(Mark&&) noexcept = default;
Mark& Mark::operator=(Mark&&) noexcept = default;
Mark::~Mark() = default;

MarkQueue::MarkQueue() : tail_(new Block), head_(tail_) {}

MarkQueue::~MarkQueue() {
    for (Block* list : {head_, spare_, recycled_.load()})
        while (list) delete std::exchange(list, list->next.load());
}

void MarkQueue::reserve(size_t pushes) {
    // The push that fills a block links the next one, so that the consumer never runs off the end.
    const size_t filled = (pushed_.load(std::memory_order_relaxed) % kBlock + pushes) / kBlock;
    if (filled <= spares_) [[likely]] return;
    for (Block* block = recycled_.exchange(nullptr, std::memory_order_acquire); block; ++spares_) {
        Block* after = block->next.load(std::memory_order_relaxed);
        block->next.store(std::exchange(spare_, block), std::memory_order_relaxed);
        block = after;
    }
    for (; spares_ < filled; ++spares_) {
        auto* block = new Block;
        block->next.store(std::exchange(spare_, block), std::memory_order_relaxed);
    }
}

void MarkQueue::push() noexcept {
    const uint64_t pushed = pushed_.load(std::memory_order_relaxed);
    Mark& mark = tail_->marks[pushed % kBlock];
    if (mark.event)
        since_event_ = 0;
    else if (since_event_ != kNoEvent)
        ++since_event_;
    mark.since_event = since_event_;
    if ((pushed + 1) % kBlock == 0) {
        Block* next = spare_;
        spare_ = next->next.exchange(nullptr, std::memory_order_relaxed);
        --spares_;
        tail_->next.store(next, std::memory_order_release);
        tail_ = next;
    }
    pushed_.store(pushed + 1, std::memory_order_release);
    // The consumer has written the marks that come next, the last time round: fetch their lines for the next push now.
    const char* ahead = reinterpret_cast<const char*>(&tail_->marks[(pushed + 2) % kBlock]);
    __builtin_prefetch(ahead, 1);
    __builtin_prefetch(ahead + 64, 1);
}

Mark& MarkQueue::at(size_t i) noexcept {
    const uint64_t popped = popped_.load(std::memory_order_relaxed);
    Block* block = head_;
    for (size_t offset = popped % kBlock + i; offset >= kBlock; offset -= kBlock)
        block = block->next.load(std::memory_order_acquire);
    return block->marks[(popped + i) % kBlock];
}

Mark MarkQueue::pop() noexcept {
    const uint64_t popped = popped_.load(std::memory_order_relaxed);
    Mark mark = std::move(head_->marks[popped % kBlock]);
    // The producer has written the ones that come next.
    const char* ahead = reinterpret_cast<const char*>(&head_->marks[(popped + 2) % kBlock]);
    __builtin_prefetch(ahead, 1);
    __builtin_prefetch(ahead + 64, 1);
    if ((popped + 1) % kBlock == 0) {
        Block* used = std::exchange(head_, head_->next.load(std::memory_order_acquire));
        Block* first = recycled_.load(std::memory_order_relaxed);
        do used->next.store(first, std::memory_order_relaxed);
        while (!recycled_.compare_exchange_weak(first, used, std::memory_order_acq_rel));
    }
    popped_.store(popped + 1, std::memory_order_release);
    return mark;
}

}  // namespace gpo
