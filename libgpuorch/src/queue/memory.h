// The memory of a queue, and the stream by which the host reaches it while kernels use it.
//
// The *control stream* is the queue's own. It has the greatest priority, so that it shares no hardware queue with the
// stream of a kernel that stays. Fills are put on it while the queue is created, later only copies and writes of single
// words, which need no multiprocessor; all but writes are waited for at once.
//
// The memory is freed when nothing can use it any more: after all work that is on the runtime's plain streams when the
// queue is closed (memory/owned_memory.h), and, if the queue has a stream of its own, after the work on that.
#pragma once

#include "completion/mark.h"
#include "core/errands.h"
#include "memory/owned_memory.h"
#include "stream/stream.h"

namespace gpo::queue {

class Memory final : public CompletionHandler, private Errand {
public:
    /// `user`: the stream of a kernel that stays on the GPU and uses the queue; or NULL. `owner`: whose memory it is,
    /// for messages. Throws Failure.
    Memory(Ref<Context> context, Ref<gpo::Stream> user, const FixedText<96>& owner);

    Context& context() const noexcept { return *context_; }
    gpo::Stream* user() const noexcept { return user_.get(); }

    /// Device memory. Counted in device_bytes(). Throws Failure, std::bad_alloc.
    uint64_t allocate(uint64_t bytes);
    /// Pinned and mapped, and zeroed. Counted in pinned_bytes(). Throws Failure, std::bad_alloc.
    void* allocate_host(uint64_t bytes);
    uint64_t pinned_bytes() const noexcept { return pinned_bytes_.load(std::memory_order_relaxed); }
    uint64_t device_bytes() const noexcept { return device_bytes_.load(std::memory_order_relaxed); }

    // By the control stream. Throw Failure.
    /// Sets `bytes` (a multiple of 4) to zeros: done after the next wait().
    void clear(uint64_t address, uint64_t bytes);
    /// One word, soon, beside whatever runs. The words before it are written before.
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
    CUstream control_ = nullptr;
    std::atomic<uint64_t> device_bytes_{0}, pinned_bytes_{0};
    bool expecting_ = false, marked_ = false;  // of the user's stream: a mark will be made; it was
};

}  // namespace gpo::queue
