// The buffers, streams and events that chunks use on one device.
//
// A chunk uses three streams, one for each engine: copies in, stages, copies out. Events order them: the stages wait
// for the copy in, and the copy out waits for the stages. If no host code looks at a slot between two chunks, more
// chunks can be under way than there are slots. Then events also keep a chunk off buffers that the chunk before still
// uses: its copy in waits for the stages before, and its stages for the copy out before.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "pipeline/pinned_memory.h"
#include "pipeline/plan.h"
#include "stream/stream.h"

namespace gpo::pipeline {

/// A chunk on its way. Written by the reading thread until it is submitted, then read by the writing thread.
struct Chunk {
    uint64_t index = 0, offset = 0, bytes = 0, output_offset = 0, output_bytes = 0;
    uint64_t capacity = 0;                                        // bytes asked of the source
    uint32_t device = 0, slot = 0;                                // the pipeline's device, and its slot there
    uint64_t input = 0, output = 0, scratch = 0, result = 0;      // device addresses
    const void* from = nullptr;                                   // host memory that it is copied from
    void* to = nullptr;                                           // … its output to; NULL: it stays
    void* result_to = nullptr;                                    // … its result to; NULL: it stays
    const Chunk* before = nullptr;                                // whose buffers it takes over on the device; or NULL

    CUevent in_end = nullptr, stages_end = nullptr, out_end = nullptr;  // the end of each engine's part
    uint64_t submitted_ns = 0;                                    // just before it was put on the device
    uint64_t last_in = 0, last_of_stages = 0;                     // its last operations on those streams, by number
    enum : uint32_t { kPending, kIssued, kDropped };
    std::atomic<uint32_t> stages{kPending};                       // whether the driver has the stages
    ErrorPtr dropped;                                             // why not; written before kDropped

    ErrorPtr error;                                               // how it ended
    uint64_t completed_ns = 0;                                    // when it was seen done
};

/// What a run needs of the slots.
struct Needs {
    uint64_t chunk_bytes = 0;
    uint32_t slots = 0;
    uint32_t chunks = 0;          // that may be under way: slots or more
    bool stage_in = false;        // pinned memory for the input
    bool stage_out = false;       // … for the output
    bool results = false;         // … for the results
    bool timing = false;
};

class Slots {
public:
    /// `label` is the beginning of the streams' labels.
    Slots(Ref<Context> context, gpo_device_t device, std::string label) noexcept
        : context_(std::move(context)), device_(device), label_(std::move(label)) {}
    ~Slots();
    Slots(const Slots&) = delete;
    Slots& operator=(const Slots&) = delete;

    /// Makes streams, events and buffers, as far as those that there are don't do. Nothing may be under way, nor on the
    /// team. Throws, and then leaves what can be used for lesser needs.
    void prepare(const Plan& plan, const Needs& needs, Team& team);

    /// Pinned bytes that these needs take.
    static uint64_t pinned_bytes(const Plan& plan, const Needs& needs) noexcept;

    /// The record of chunk number `number` of those that this device gets, with its addresses set.
    Chunk& chunk(uint64_t number) noexcept;
    /// The same, as it is.
    Chunk& record(uint64_t number) noexcept { return *chunks_[number % chunks_.size()]; }
    /// Changes when the records are others than before.
    uint64_t epoch() const noexcept { return epoch_; }
    uint64_t capacity() const noexcept {
        return capacity_;
    }  // of an input buffer, and of its pinned memory if it has some
    void* staging_in(const Chunk& chunk) const noexcept;
    void* staging_out(const Chunk& chunk) const noexcept;
    void* staging_result(const Chunk& chunk) const noexcept;

    /// Puts a chunk's parts on the streams. Throw; what was put on before stays there.
    void copy_in(Chunk& chunk);
    void begin_stages(Chunk& chunk, const Plan& plan);
    void end_stages(Chunk& chunk);
    void copy_out(Chunk& chunk, const Plan& plan);
    /// The copy out is done, and with it all that was before it on the other two streams: no mark of theirs says so.
    void seen_done(const Chunk& chunk) noexcept;

    Stream& in() noexcept { return *in_; }
    Stream& stages() noexcept { return *stages_; }
    Stream& out() noexcept { return *out_; }
    bool has_streams() const noexcept { return static_cast<bool>(out_); }

    /// The stages' stream's handle, for callbacks; made when it is first asked for.
    gpo_stream_t stages_handle();
    /// Takes that handle back.
    void close() noexcept;

    /// An event of the context's for the beginning of a run.
    CUevent base() noexcept { return base_; }
    void record_base();
    /// Nanoseconds from one event to another; both are reached. False if the driver couldn't tell.
    bool elapsed(CUevent from, CUevent to, int64_t* nanoseconds) noexcept;
    /// The end of the chunk's copy in becomes the base.
    void move_base(Chunk& chunk) noexcept;

private:
    void make_streams();
    void make_chunks(uint32_t count, bool timing);
    void give_chunks() noexcept;
    void make_buffers(const Plan& plan, const Needs& needs, Team& team);
    void free_buffers() noexcept;

    void need_pinned(PinnedMemory& pinned, uint64_t bytes, Team& team);

    const Ref<Context> context_;
    const gpo_device_t device_;
    const std::string label_;
    Ref<Stream> in_, stages_, out_;
    uint64_t handle_ = 0;

    std::vector<std::unique_ptr<Chunk>> chunks_;
    uint64_t epoch_ = 0;
    bool timing_ = false;
    CUevent base_ = nullptr;

    CUdeviceptr device_memory_ = 0;
    uint64_t chunk_bytes_ = 0, stride_ = 0, output_at_ = 0, scratch_at_ = 0, result_at_ = 0;  // in a slot
    bool has_output_ = false, has_scratch_ = false, has_result_ = false;
    uint32_t slots_ = 0;        // that there is memory for
    uint32_t slots_used_ = 1;   // of this run
    uint64_t capacity_ = 0;     // bytes of input of a chunk of this run
    uint64_t input_stride_ = 0, output_stride_ = 0, result_stride_ = 0;  // in pinned memory
    PinnedMemory pinned_in_, pinned_out_, pinned_results_;
};

}  // namespace gpo::pipeline
