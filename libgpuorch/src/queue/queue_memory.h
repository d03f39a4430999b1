// The memory of a queue, and the stream by which the host accesses the memory while kernels use it.
//
// The *control stream* is the queue's own. The greatest priority keeps it from sharing a hardware queue with the stream
// of a resident kernel. Fills are put on it only while the queue is created. Later it gets copies and writes of single
// words, which need no multiprocessor. The host waits at once for everything but writes.
//
// The memory is freed when no work can use it any more: after all work that is on the runtime's plain streams when the
// queue is closed (memory/owned_memory.h), and after the work on the user's stream, if any.
#pragma once

#include "completion/mark.h"
#include "core/errands.h"
#include "memory/owned_memory.h"
#include "stream/room.h"
#include "stream/stream.h"

namespace gpo::queue {

class Memory final : public CompletionHandler, private Errand {
public:
    /// `user`: the stream of a resident kernel that uses the queue; or NULL. `owner`: the memory's owner, for messages.
    /// Throws Failure.
    Memory(Ref<Context> context, Ref<gpo::Stream> user, const FixedText<96>& owner);

    Context& context() const noexcept { return *context_; }
    gpo::Stream* user() const noexcept { return user_.get(); }

    /// Device memory. Counted in device_bytes(). Throws Failure, std::bad_alloc.
    uint64_t allocate(uint64_t bytes);
    /// Pinned and mapped, and zeroed. Counted in pinned_bytes(). Throws Failure, std::bad_alloc.
    void* allocate_host(uint64_t bytes);
    uint64_t pinned_bytes() const noexcept { return pinned_bytes_.load(std::memory_order_relaxed); }
    uint64_t device_bytes() const noexcept { return device_bytes_.load(std::memory_order_relaxed); }

    // On the control stream. Throw Failure.
    /// Sets `bytes` (a multiple of 4) to zeros: done after the next wait().
    void clear(uint64_t address, uint64_t bytes);
    /// Writes a word, soon, even while kernels run, and after the words of earlier calls.
    void write(uint64_t address, uint32_t value);
    void copy_in(uint64_t address, const void* from, uint64_t bytes);  // waits
    void copy_out(void* to, uint64_t address, uint64_t bytes);  // waits
    void wait();

    /// The queue is closed. The caller gives up its reference afterwards.
    void part() noexcept;

private:
    ~Memory() override;
    void on_completed(const Outcome&) noexcept override;
    void run() noexcept override;

    const Ref<Context> context_;
    const Ref<gpo::Stream> user_;
    const Ref<OwnedMemory> memory_;
    gpo::Room::Share room_;
    CUstream control_ = nullptr;
    std::atomic<uint64_t> device_bytes_{0}, pinned_bytes_{0};
    bool expecting_ = false, marked_ = false;  // the user's stream expects a mark; is marked
};

}  // namespace gpo::queue
