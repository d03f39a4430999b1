// Queues from which kernels take their work: the base class of ranges (range.h), rings (ring.h) and host rings
// (host_queue.h).
//
// A queue has memory (memory.h); only a host ring has a thread (host_queue.h). This class refuses the functions that a
// kind doesn't support.
#pragma once

#include "device/context.h"
#include "gpuorch/queue.h"
#include "memory/arena.h"
#include "queue/queue_layout.h"
#include "queue/queue_memory.h"

namespace gpo {

class DeviceQueue : public Object {
public:
    /// Checks the options. `user`, whose handle is options.stream, may be NULL. Throws Failure.
    static Ref<DeviceQueue> create(Ref<Context> context, const gpo_queue_options& options, Stream* user);

    uint32_t kind() const noexcept { return kind_; }
    Context& context() const noexcept { return memory_->context(); }
    /// The stream of a kernel that stays and uses the queue; NULL: there is none.
    Stream* user() const noexcept { return memory_->user(); }
    /// The queue as kernels take it.
    virtual queue::HandleBytes handle() = 0;
    /// Throws Failure.
    gpo_queue_info info();

    // Work of the stream. GPO_SUCCESS or GPO_WOULD_BLOCK. Throw Failure.
    virtual gpo_status set_costs(Stream& stream, const float* costs, uint64_t count);
    virtual gpo_status push(Stream& stream, const void* tasks, uint64_t count, uint32_t priority);
    virtual gpo_status reset(Stream& stream) = 0;

    // Host rings only. Throw Failure.
    struct PostedTasks {
        const void* tasks;
        uint64_t count, user_data;
    };
    struct TakenAnswers {
        gpo_answer* entries;
        size_t stride;
        void* answers;  // or NULL
        uint64_t capacity;
    };
    virtual void set_tenant(uint32_t tenant, const gpo_tenant_options& options);
    /// GPO_SUCCESS, or GPO_WOULD_BLOCK if none was posted.
    virtual gpo_status post(uint32_t tenant, const PostedTasks& tasks, uint64_t* posted);
    virtual uint64_t take(uint32_t tenant, const TakenAnswers& answers);
    virtual gpo_status wait(uint32_t tenant, uint64_t deadline);

    /// Claims the queue for the scheduler `by`. Returns "", or the name of the scheduler that has it. Any thread.
    FixedText<96> claim(const FixedText<96>& by) noexcept;
    void unclaim() noexcept;

    // Take effect at once. Throw Failure.
    virtual void close_ring() { refuse("is no ring, which could be closed"); }
    virtual void abort_ring() { refuse("is no ring, which could be aborted"); }

    // --- for core/object.h ---
    void destroyed() noexcept override { abort_for_user(); }
    void stop() noexcept override { abort_for_user(); }
    void close() noexcept override;

protected:
    DeviceQueue(Ref<Context> context, const gpo_queue_options& options, Stream* user);
    ~DeviceQueue() override = default;

    queue::Memory& memory() const noexcept { return *memory_; }
    [[noreturn]] void refuse(const char* what) const;
    [[noreturn]] void refuse_posting() const { refuse("is no host ring, into which the host posts tasks"); }
    /// Throws Failure(GPO_INVALID_ARGUMENT, GPO_INVALID_HANDLE) unless the stream is of the queue's device.
    void require_device(const Stream& stream) const;
    /// Pinned memory for data that calls pass to streams. Throws Failure.
    Arena& staging();
    /// Fills in the kind's own figures. Throws Failure.
    virtual void describe_in(gpo_queue_info& info) = 0;
    /// Ends the resident kernel that uses the queue, when no call can end it any more.
    virtual void abort_quietly() noexcept {}

private:
    void abort_for_user() noexcept {
        if (memory_->user()) abort_quietly();
    }

    const uint32_t kind_;
    const Ref<queue::Memory> memory_;
    host::Mutex claim_lock_;
    FixedText<96> claimed_by_{};  // under claim_lock_
    host::Mutex staging_lock_;
    Ref<Arena> staging_;  // made when it is first needed; under staging_lock_
};

template <>
struct TypeOf<DeviceQueue> {
    static constexpr Type value = Type::queue;
};

}  // namespace gpo
