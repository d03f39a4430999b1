// A ring: a bounded queue of tasks in device memory, which kernels push and pop (gpuorch/device/queue.cuh has the
// protocol).
#pragma once

#include "kernel/kernel.h"
#include "queue/device_queue.h"

namespace gpo {

namespace queue {

/// The kernel by which streams push tasks. Loaded once per context, at the latest with its first ring. Throws.
Ref<Kernel> push_kernel(Context& context);

/// The memory of a ring. Any thread.
class Ring {
public:
    struct Shape {
        uint32_t capacity_log2, task_size, priorities, flags;
    };
    /// The ring is empty and open when memory.wait() has returned. Throws Failure.
    Ring(Memory& memory, const Shape& shape);

    const RingHandle& handle() const noexcept { return handle_; }
    uint64_t capacity() const noexcept { return uint64_t{1} << handle_.capacity_log2; }

    // Work while kernels run. Throw Failure.
    void close();
    void abort();
    /// Without errors: if the driver refuses, the abort reaches no kernel.
    void abort_quietly() noexcept;
    /// Fills in the ring's shape, figures and state. Throws Failure.
    void describe_in(gpo_queue_info& info) const;
    /// Makes the ring empty and open, as work of the stream. GPO_SUCCESS or GPO_WOULD_BLOCK.
    gpo_status reset(gpo::Stream& stream);

    // Device addresses of a priority's parts.
    uint64_t words(uint32_t priority) const noexcept { return handle_.words + priority * ring_words::kBytes; }
    uint64_t state_word() const noexcept { return handle_.words + ring_words::kState; }
    uint64_t sequence(uint32_t priority) const noexcept {
        return handle_.sequence + priority * capacity() * sizeof(uint32_t);
    }
    uint64_t tasks(uint32_t priority) const noexcept {
        return handle_.tasks + priority * capacity() * handle_.task_size;
    }

private:
    /// Sums over the priorities, and the state.
    struct Counts {
        uint64_t pushed = 0, popped = 0, done = 0, refused = 0, depth = 0;
        State state = State::open;
    };
    Counts counts() const;
    void write_state(State state);

    Memory& memory_;
    RingHandle handle_;
    std::atomic<bool> aborted_{false};  // by the host, since the last reset
};

/// log2 of `given`, rounded up; of `otherwise` if `given` is GPO_AUTO. Throws Failure(GPO_INVALID_ARGUMENT).
uint32_t capacity_log2(uint64_t given, uint64_t otherwise);
/// Throws Failure(GPO_INVALID_ARGUMENT).
void check_task_size(uint32_t bytes);

}  // namespace queue

class RingQueue final : public DeviceQueue {
public:
    static Ref<DeviceQueue> create(Ref<Context> context, const gpo_queue_options& options, Stream* user);
    RingQueue(Ref<Context> context, const gpo_queue_options& options, const queue::Ring::Shape& shape, Stream* user);

    queue::HandleBytes handle() override { return queue::bytes_of(ring_.handle()); }
    gpo_status push(Stream& stream, const void* tasks, uint64_t count, uint32_t priority) override;
    gpo_status reset(Stream& stream) override;
    void close_ring() override { ring_.close(); }
    void abort_ring() override { ring_.abort(); }

private:
    void describe_in(gpo_queue_info& info) override;
    void abort_quietly() noexcept override;

    queue::Ring ring_;
    const Ref<Kernel> push_;
    const char* const push_label_;  // interned
};

}  // namespace gpo
