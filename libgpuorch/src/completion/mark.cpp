#include "completion/mark.h"

namespace gpo {

Mark::Mark(Mark&& other) noexcept : MarkFields(other) {
    if (other.target) target.swap(other.target);
    if (other.special) [[unlikely]] {
        since_.swap(other.since_);
        error_.swap(other.error_);
        since_recording_ = other.since_recording_;
    }
}

Mark& Mark::operator=(Mark&& other) noexcept {
    if (special) [[unlikely]] {
        since_ = nullptr;
        error_ = nullptr;
    }
    MarkFields::operator=(other);
    if (target || other.target) target = std::move(other.target);
    if (special) [[unlikely]] {
        since_.swap(other.since_);
        error_.swap(other.error_);
        since_recording_ = other.since_recording_;
    }
    return *this;
}

MarkQueue::MarkQueue() : tail_(new Block), head_(tail_) {}

MarkQueue::~MarkQueue() {
    for (Block* list : {head_, spare_, recycled_.load()})
        while (list) delete std::exchange(list, list->next.load());
}

void MarkQueue::make_spares(size_t count) {
    for (Block* block = recycled_.exchange(nullptr, std::memory_order_acquire); block; ++spares_) {
        Block* after = block->next.load(std::memory_order_relaxed);
        block->next.store(std::exchange(spare_, block), std::memory_order_relaxed);
        block = after;
    }
    for (; spares_ < count; ++spares_) {
        auto* block = new Block;
        block->next.store(std::exchange(spare_, block), std::memory_order_relaxed);
    }
}

void MarkQueue::link_spare() noexcept {
    Block* next = spare_;
    spare_ = next->next.exchange(nullptr, std::memory_order_relaxed);
    --spares_;
    tail_->next.store(next, std::memory_order_release);
    tail_ = next;
}

Mark& MarkQueue::at(size_t i) noexcept {
    const uint64_t popped = popped_.load(std::memory_order_relaxed);
    Block* block = head_;
    for (size_t offset = popped % kBlock + i; offset >= kBlock; offset -= kBlock)
        block = block->next.load(std::memory_order_acquire);
    return block->marks[(popped + i) % kBlock];
}

Mark MarkQueue::pop(size_t size) noexcept {
    const uint64_t popped = popped_.load(std::memory_order_relaxed);
    Mark mark = std::move(head_->marks[popped % kBlock]);
    // Prefetch a mark that the producer has finished, not the mark that the producer is writing now.
    if (size > 2) __builtin_prefetch(&head_->marks[(popped + 2) % kBlock]);
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
