// A host ring as an object: memory, the tenants' completion queues, and the thread that serves these queues.
//
// The thread (gpo-queue) starts with the first tenant that has a completion queue. While entries are outstanding, the
// thread collects answers: it polls for a while, then sleeps between two polls, for longer while no answer comes.
// Without outstanding entries, the thread parks until a post wakes it. Tenants without a completion queue collect their
// answers themselves, in take() and wait().
#pragma once

#include "queue/host_ring.h"
#include "queue/queue_options.h"
#include "queue/ring.h"

namespace gpo {

class HostQueue final : public DeviceQueue {
public:
    static Ref<DeviceQueue> create(Ref<Context> context, const gpo_queue_options& options, Stream* user);
    HostQueue(Ref<Context> context, const gpo_queue_options& options, const queue::HostRing::Shape& shape,
              Stream* user);

    queue::HandleBytes handle() override;
    gpo_status reset(Stream& stream) override;
    void close_ring() override { ring_.close(); }
    void abort_ring() override;

    void set_tenant(uint32_t tenant, const gpo_tenant_options& options) override;
    gpo_status post(uint32_t tenant, const PostedTasks& tasks, uint64_t* posted) override;
    uint64_t take(uint32_t tenant, const TakenAnswers& answers) override;
    gpo_status wait(uint32_t tenant, uint64_t deadline) override;

    void destroyed() noexcept override;
    void close() noexcept override;

private:
    // The pinned memory, in one allocation.
    struct Slots {
        Slots(queue::Memory& memory, const queue::HostRing::Shape& shape);
        queue::HostControl* control;
        uint64_t *posted, *answers;
    };
    ~HostQueue() override = default;
    void describe_in(gpo_queue_info& info) override;
    void abort_quietly() noexcept override;

    void check_tenant(uint32_t tenant) const;
    [[noreturn]] void fail_ended() const;
    uint64_t reserve_entries(uint32_t tenant, uint64_t count);
    void refuse_wait(uint32_t tenant) const;

    // The thread.
    void start();
    void serve() noexcept;
    void wake_thread() noexcept;
    bool serve_once() noexcept;

    const Slots slots_;
    queue::Ring tasks_;  // from the block that reads the slots to the blocks that do the tasks
    const uint64_t device_words_;
    queue::HostRing ring_;
    std::atomic<bool> destroyed_{false};

    host::Mutex starting_;
    host::Thread thread_;  // started under starting_
    std::atomic<bool> stopping_{false};
    alignas(64) std::atomic<uint32_t> thread_signal_{0};  // a wait word
    std::atomic<bool> asleep_{false};                     // the thread sleeps or parks, or is about to
};

}  // namespace gpo
