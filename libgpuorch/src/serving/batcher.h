// Batchers: many small requests, put together into few large batches (gpuorch/batcher.h).
//
// A request's way. The submitting thread takes a place for it (batch_request.h) and pushes it on the *inbox*, a list
// without a lock. The next thread with the batcher's lock *absorbs* the inbox: each request joins the line of its key.
// A turn of a lane (batch_lane.h) forms a batch of requests of one key, and answers them when the batch has ended.
//
// Who looks when. A thread whose request finds the inbox empty looks whether a batch is due, if a lane has room; else
// the next turn of a lane does. An errand does at the earliest time at which a batch becomes due, or a request's
// deadline passes. A lane that has formed a batch looks for the others.
//
// Locks. `lock_` guards lines and figures, and is held for lists and sums only: never in a driver call, a copy of bytes
// or a program's function. Entries of keys that preserve order are put into their queues under it.
#pragma once

#include <array>

#include "executor/executor.h"
#include "serving/batch_lane.h"

namespace gpo {

class Batcher final : public Object {
public:
    static constexpr size_t kMostKeys = 256;
    struct On {
        Ref<Context> context;
        gpo_device_t device;
    };
    /// `executor` NULL: one of its own. Throws.
    Batcher(Runtime& runtime, const std::vector<On>& devices, uint32_t lanes, uint32_t capacity, Ref<Executor> executor,
            const char* label);
    /// Starts the batcher's own executor. Throws.
    void start();

    /// The options have no AUTO left but max_delay_ns. `room`: elements that buffers need. Returns the key's number.
    /// Throws.
    uint32_t add_key(const gpo_batcher_key_options& options, uint64_t room);

    /// `dropped`: of a target that takes no outcome any more, if it isn't NULL. GPO_SUCCESS, GPO_WOULD_BLOCK,
    /// GPO_TIMEOUT or GPO_CANCELLED (dropped). The ticket is written before another thread can see the request's end.
    /// Throws.
    gpo_status submit(const gpo_batcher_request& request, uint32_t thread, Target& target,
                      std::atomic<uint64_t>* number, const std::atomic<bool>* dropped, uint64_t* ticket,
                      uint64_t* wait_ns);
    /// Takes a request out of the line whose receiver takes no outcome any more.
    void drop(uint64_t ticket) noexcept;
    void cancel(uint64_t ticket);
    void set_flow(uint64_t flow, uint32_t weight);

    uint32_t keys() const noexcept { return key_count_.load(std::memory_order_acquire); }
    /// Throws Failure(GPO_NOT_FOUND).
    BatchKey& key(uint32_t number) const;
    const char* key_label(uint32_t number) const { return key(number).label; }
    gpo_batcher_info info() noexcept;
    gpo_batcher_info key_info(uint32_t number);
    /// Throws Failure(GPO_NOT_FOUND).
    gpo_batcher_flow_info flow_info(uint64_t flow);
    uint32_t device_count() const noexcept { return device_count_; }
    const Context& context(uint32_t device) const noexcept {
        return lanes_[device * lanes_.size() / device_count_]->context();
    }
    /// Number of the batcher in the process, from 1 on.
    uint64_t number() const noexcept { return number_; }

    void destroyed() noexcept override { end_line(destroyed_error_); }
    void stop() noexcept override { end_line(shut_down_error_); }
    bool drain(uint64_t deadline) noexcept override;
    void close() noexcept override;

    // --- for lanes ---
    /// NULL: it takes no turns any more.
    Executor* executor() const noexcept {
        return executor_gone_.load(std::memory_order_acquire) ? nullptr : &*executor_;
    }
    /// Quick; locks may be held.
    void note_executor_gone() noexcept { executor_gone_.store(true, std::memory_order_release); }
    /// Ends waiting requests: the executor was destroyed. Not on the scanner.
    void end_without_executor() noexcept { end_line(executor_error_); }
    /// Forms a batch for the lane, if one is due. False: there is none.
    bool form(BatchLane& lane, Batch& batch) noexcept;
    /// Answers the requests of a batch, with `batch.error` if it isn't NULL.
    void finish(BatchLane& lane, Batch& batch) noexcept;
    void note_lost(BatchLane& lane) noexcept;
    /// The lane forms no batch until its batches have ended.
    void note_settles(BatchLane& lane) noexcept;
    /// Kicks a lane if a batch is due, ends what has expired, and sets the timer. Without locks.
    void look() noexcept;
    void note_turn_posted() noexcept { turns_.fetch_add(1, std::memory_order_seq_cst); }
    void note_turn_begins() noexcept { turns_.fetch_sub(1, std::memory_order_seq_cst); }

private:
    class Sweep final : public Errand {
    public:
        explicit Sweep(Batcher& of) noexcept : of_(of) {}
        void run() noexcept override;

    private:
        Batcher& of_;
    };
    /// When something is to be done.
    struct Due {
        BatchKey* key = nullptr;
        uint64_t at = UINT64_MAX;
    };

    ~Batcher() override;
    void refuse_closed() const;
    void check(const gpo_batcher_request& request, const BatchKey& key) const;
    void check_side(const BatchKey& key, const char* which, const void* memory, uint64_t address, uint64_t bytes) const;
    bool misses(const BatchKey& key, const gpo_batcher_request& request, uint64_t now, uint64_t* wait) const noexcept;
    uint64_t predict(const BatchKey& key, uint64_t flow, uint64_t elements, uint64_t now) const noexcept;
    void push(BatchRequest& request) noexcept;

    // Under lock_:
    void absorb(Answers& answers) noexcept;
    void expire(uint64_t now, Answers& answers) noexcept;
    Due earliest_due(const BatchLane& lane) const noexcept;
    uint64_t due_at(const BatchKey& key, const BatchLane& lane) const noexcept;
    uint64_t earliest_deadline() const noexcept;
    BatchLane* freest_lane() noexcept;
    bool take_members(BatchLane& lane, BatchKey& key, uint64_t now, Batch& batch, Answers& answers) noexcept;
    void start_member(BatchKey& key, BatchRequest& request, uint64_t now, uint32_t track) noexcept;
    /// While requests wait, the program's executor must say when it is destroyed.
    void watch_executor() noexcept;
    void leave_line(BatchKey& key, BatchRequest& request, bool in_turn) noexcept;
    /// Ends a waiting request.
    void end(BatchRequest& request, const ErrorPtr& error, uint64_t now, Answers& answers) noexcept;
    /// Answers an ended request, or keeps its outcome until those before it are answered.
    void conclude(BatchKey& key, BatchRequest& request, Outcome outcome, Answers& answers) noexcept;
    void count_end(BatchKey& key, BatchRequest& request, const ErrorPtr& error, uint64_t now) noexcept;
    void publish_lanes() noexcept;
    void add_info(const BatchKey& key, uint64_t now, gpo_batcher_info& out) const noexcept;

    /// With or without lock_.
    void answer(BatchRequest& request, Outcome outcome, Answers& answers) noexcept;

    // Without lock_:
    ErrorPtr of_batch(const BatchKey& key, const Batch& batch, const Error& error) const noexcept;
    void end_line(const ErrorPtr& error) noexcept;
    void look_at(uint64_t due) noexcept;

    const uint64_t number_;
    const uint32_t device_count_, capacity_;
    const bool own_executor_;
    const Ref<Executor> executor_;
    const uint64_t created_ns_;
    // Made ahead: ending a request must not need memory.
    const ErrorPtr expired_error_, cancelled_error_, destroyed_error_, shut_down_error_, executor_error_, memory_error_;
    std::vector<std::unique_ptr<BatchLane>> lanes_;
    std::array<std::atomic<BatchKey*>, kMostKeys> keys_{};
    std::atomic<uint32_t> key_count_{0};
    BatchRequests requests_;
    Sweep sweep_{*this};
    std::atomic<bool> executor_gone_{false}, closed_{false};
    std::atomic<uint64_t> looks_at_{UINT64_MAX};  // when the errand is due

    // The cache line that each submission writes.
    alignas(64) std::atomic<BatchRequest*> inbox_{nullptr};  // the newest first
    std::atomic<uint64_t> waiting_{0};                       // requests in the inbox and in lines

    alignas(64) std::atomic<uint32_t> rooms_{0};  // lanes with room
    std::atomic<uint32_t> living_{0};             // lanes whose device isn't lost
    std::atomic<uint64_t> free_at_{0};            // the earliest time at which a lane will be free
    std::atomic<uint64_t> in_lines_{0};           // requests in lines
    std::atomic<bool> weighted_{false};           // flows may have other weights than 1
    std::atomic<uint32_t> turns_{0};              // that are posted: they will absorb the inbox
    std::atomic<uint32_t> largest_batch_{0};      // most members of a batch, of all keys

    alignas(64) host::Mutex lock_;
    ErrorPtr closed_error_;
    FlowWeights weights_;
    FlowBook flows_;
    Ref<Task> executor_watch_;
    uint64_t unanswered_ = 0;  // batches
    host::Condition answered_;
};

template <>
struct TypeOf<Batcher> {
    static constexpr Type value = Type::batcher;
};

}  // namespace gpo
