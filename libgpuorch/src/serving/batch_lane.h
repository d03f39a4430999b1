// A lane of a batcher: what runs batches on a device, one after the other, two batches deep.
//
// A lane has two *slots*. Each has a stream, buffers and a place for a batch. The stream gets the copies in, a wait for
// the work of the other slot's batch, the work, and the copies out. Copies of one batch thus run beside the work of the
// other. The works run one after the other. When the stream has ended a batch, the slot's buffers are free. A graph
// that a slot launches has the same addresses until a larger key makes the buffers grow.
//
// A *turn* does all that a lane does on the host: it answers the requests of ended batches, and forms and submits new
// ones. Turns are tasks of the batcher's executor, one at a time. When the executor takes no tasks any more, turns run
// on the errands' thread, and end batches only.
//
// When the submission of a batch fails halfway, a part of it may be on the stream. The requests are answered when that
// part has ended, and the lane forms no batch until then. The same holds behind a held batch (stream.h).
#pragma once

#include <vector>

#include "core/errands.h"
#include "gpuorch/batcher.h"
#include "memory/arena.h"
#include "pipeline/team.h"
#include "serving/batch_key.h"
#include "stream/event.h"

namespace gpo {

class Batcher;

struct Batch {
    BatchKey* key = nullptr;  // NULL: none
    std::vector<BatchRequest*> members;
    uint64_t elements = 0;
    uint64_t formed_ns = 0;
    uint64_t submitted_ns = 0;  // the host had put it on the stream
    uint64_t ended_ns = 0;      // it was seen to have ended there
    uint64_t expected_ns = 0;   // predicted time of the batch
    uint64_t padding = 0;       // elements
    bool first = false;         // of its size, on its slot: code is loaded and graphs are made, so its time says little
    uint32_t track = 0;         // of its slot, in a trace
    ErrorPtr error;             // of its submission; then its outcome
};

class BatchLane final : private Errand {
public:
    /// `number`: of all lanes. `place`: of the device in the batcher's options. Throws.
    BatchLane(Batcher& batcher, Ref<Context> context, gpo_device_t device, uint32_t place, uint32_t number,
              Ref<Arena> arena);
    ~BatchLane() override;

    /// Makes a turn due. Any thread, quick; locks may be held.
    void kick() noexcept;

    // Under the batcher's lock:
    bool has_room() const noexcept { return alive_ && !settles_ && busy_ < kSlots; }
    bool alive() const noexcept { return alive_; }
    uint32_t busy() const noexcept { return busy_; }
    void note_formed(uint64_t now, uint64_t expected) noexcept {
        ++busy_;
        expected_ += expected;
        free_at_ = std::max(now, free_at_) + expected;
    }
    /// Returns how long the lane has worked for the batch; 0: not known.
    uint64_t note_ended(const Batch& batch, uint64_t now) noexcept {
        --busy_;
        expected_ -= batch.expected_ns;
        free_at_ = now + expected_;
        if (busy_ == 0) settles_ = false;
        if (batch.ended_ns == 0) return 0;
        // The host's part of a batch and the device's part of the batch before it overlap.
        const uint64_t host_ns = batch.submitted_ns - std::min(batch.submitted_ns, batch.formed_ns);
        const uint64_t begin = std::max(batch.submitted_ns, device_ended_);
        device_ended_ = std::max(device_ended_, batch.ended_ns);
        return std::max(host_ns, batch.ended_ns - std::min(batch.ended_ns, begin));
    }
    void note_lost() noexcept { alive_ = false; }
    void note_settles() noexcept { settles_ = true; }
    /// When the lane will have ended its batches, by the measured times.
    uint64_t free_at() const noexcept { return free_at_; }

    Context& context() const noexcept { return *context_; }

private:
    friend class BatchEnd;
    friend class BatchTurn;
    static constexpr size_t kSlots = 2;
    static constexpr uint64_t kAlign = 256;
    static constexpr uint64_t kDirect = 64 << 10;  // bytes from which pinned memory isn't copied by the host
    struct Slot {
        Batch batch;
        Ref<Stream> stream;
        gpo_stream_t handle = nullptr;
        Ref<Event> worked;      // the end of its newest batch's work
        bool recorded = false;  // `worked`, for the batch
        bool unmarked = false;  // no mark could be put behind its work yet
        std::atomic<bool> ended{false};
        ErrorPtr outcome;  // of its mark; written before `ended`, as:
        uint64_t ended_ns = 0;
        // The buffers: offsets and input; words of bytes made and output.
        uint64_t in_bytes = 0, out_bytes = 0;
        char *staged_in = nullptr, *staged_out = nullptr;
        CUdeviceptr device_in = 0, device_out = 0;
        std::vector<uint64_t> seen;  // by key: a bit for each class of sizes that has run here (BatchTimes::class_of)
    };
    /// Where the parts of a key's batches lie in a slot's buffers.
    struct Layout {
        explicit Layout(const BatchKey& key) noexcept;
        uint64_t input, in_bytes;    // offsets come first
        uint64_t output, out_bytes;  // words of bytes made come first, if there are some
    };

    void run() noexcept override;
    bool add_turn() noexcept;
    void post() noexcept;
    void post_later() noexcept;
    void run_elsewhere(uint64_t due) noexcept;
    /// `forms`: on the executor.
    void turn(bool forms) noexcept;
    void work(bool forms) noexcept;
    Slot* free_slot() noexcept;

    void submit(Slot& slot) noexcept;
    void put(Slot& slot);
    void note_size(Slot& slot);
    void put_mark(Slot& slot) noexcept;
    void prepare(Slot& slot, const Layout& layout);
    void make_stream(Slot& slot);
    void make_buffers(Slot& slot, uint64_t in_bytes, uint64_t out_bytes);
    void free_buffers(Slot& slot) noexcept;
    void drop_stream(Slot& slot) noexcept;
    void copy_in(Slot& slot, const Layout& layout);
    void clear_output(Slot& slot, const Layout& layout);
    void put_work(Slot& slot, const Layout& layout);
    void launch_buckets(Slot& slot, const Layout& layout);
    void call_work(Slot& slot, const Layout& layout);
    void copy_out(Slot& slot, const Layout& layout);
    void put_copies(Slot& slot);
    void add_copy(uint64_t destination, uint64_t source, uint64_t bytes, bool staged);
    void add_move(void* to, const void* from, uint64_t bytes);
    void move_all() noexcept;
    bool goes_directly(uint64_t address, uint64_t bytes) const noexcept;
    void finish(Slot& slot) noexcept;
    void scatter(Slot& slot) noexcept;

    Batcher& batcher_;
    const Ref<Context> context_;
    const gpo_device_t device_;
    const uint32_t place_, number_;
    const Ref<Arena> arena_;
    // A posted turn has a reference to the batcher for each thread that wanted it. Such a thread, the scanner for
    // example, then never has the last one.
    static constexpr uint64_t kPosted = 1, kReference = 2;
    std::atomic<uint64_t> turn_state_{0};
    host::Mutex turn_;       // held by the turn
    bool settling_ = false;  // a batch has failed or is held: none is formed until all ended. The turn's, as:
    Slot slots_[kSlots];
    /// Bytes that the host moves between the program's memory and a slot's.
    struct Move {
        uint64_t at;  // bytes of the moves before it
        char* to;
        const char* from;
        uint64_t bytes;
    };
    std::vector<Move> moves_;
    pipeline::Team team_;  // moves many bytes
    std::vector<gpo_copy> copies_;
    bool last_staged_ = false;  // the last of them
    std::vector<gpo_batch_request> members_;
    // Under the batcher's lock:
    bool alive_ = true;
    uint32_t busy_ = 0;
    bool settles_ = false;  // as settling_
    uint64_t free_at_ = 0, device_ended_ = 0;
    uint64_t expected_ = 0;  // predicted time of its batches
};

}  // namespace gpo
