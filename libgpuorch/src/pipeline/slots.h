// The buffers, streams and events that chunks use on one device.
//
// A chunk uses three streams, one for each engine: copies in, stages, copies out. Events order them: the stages wait
// for the copy in, and the copy out waits for the stages. If no host code looks at a slot between two chunks, more
// chunks can be under way than there are slots. Events then also keep a chunk off buffers that the slot's last chunk
// still uses: a copy in waits for the last chunk's stages, and stages wait for the last chunk's copy out.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "pipeline/pinned_memory.h"
#include "pipeline/pipeline_plan.h"
#include "stream/stream.h"

namespace gpo::pipeline {

/// A chunk on its way. Written by the reading thread until it is submitted, then read by the writing thread.
struct Chunk {
    uint64_t index = 0, offset = 0, bytes = 0, output_offset = 0, output_bytes = 0;
    uint64_t capacity = 0;                                        // bytes asked of the source
    uint32_t device = 0, slot = 0;                                // the pipeline's device, and its slot there
    uint64_t input = 0, output = 0, scratch = 0, result = 0;      // device addresses
    const void* from = nullptr;                                   // host memory of the input
    void* to = nullptr;                                           // … for the output; NULL: not copied out
    void* result_to = nullptr;                                    // … for the result; NULL: not copied out
    const Chunk* before = nullptr;                                // last chunk with the same device buffers; or NULL

    CUevent in_end = nullptr, stages_end = nullptr, out_end = nullptr;  // the end of each engine's part
    uint64_t submitted_ns = 0;                                    // time just before the chunk was put on the device
    uint64_t last_in = 0, last_of_stages = 0;                     // numbers of its last operations on these streams
    enum : uint32_t { kPending, kIssued, kDropped };
    std::atomic<uint32_t> stages{kPending};                       // whether the driver has the stages
    ErrorPtr dropped;                                             // the reason; written before kDropped

    ErrorPtr error;                                               // the chunk's failure; NULL: success
    uint64_t completed_ns = 0;                                    // time at which the chunk was seen done
};

/// A run's requirements on the slots.
struct Needs {
    uint64_t chunk_bytes = 0;
    uint32_t slots = 0;
    uint32_t chunks = 0;          // chunks that may be under way: slots or more
    bool stage_in = false;        // pinned memory for the input
    bool stage_out = false;       // … for the output
    bool results = false;         // … for the results
    bool timing = false;
};

class Slots {
public:
    /// `label`: the beginning of the streams' labels.
    Slots(Ref<Context> context, gpo_device_t device, std::string label) noexcept
        : context_(std::move(context)), device_(device), label_(std::move(label)) {}
    ~Slots();
    Slots(const Slots&) = delete;
    Slots& operator=(const Slots&) = delete;

    /// Makes streams, events and buffers where the present ones don't meet the needs. No chunk may be under way, and
    /// the team must be idle. After a throw, the slots still serve smaller needs.
    void prepare(const Plan& plan, const Needs& needs, Team& team);

    /// Pinned bytes for these needs.
    static uint64_t pinned_bytes(const Plan& plan, const Needs& needs) noexcept;

    /// The record of this device's chunk `number`, reset, with its addresses set.
    Chunk& chunk(uint64_t number) noexcept;
    /// The record of this device's chunk `number`, unchanged.
    Chunk& record(uint64_t number) noexcept { return *chunks_[number % chunks_.size()]; }
    /// Changes when the records are made anew.
    uint64_t epoch() const noexcept { return epoch_; }
    uint64_t capacity() const noexcept {
        return capacity_;
    }  // of an input buffer, and of its pinned memory if it has some
    void* staging_in(const Chunk& chunk) const noexcept;
    void* staging_out(const Chunk& chunk) const noexcept;
    void* staging_result(const Chunk& chunk) const noexcept;

    /// Submit a chunk's parts to the streams. Throw; parts submitted before stay there.
    void copy_in(Chunk& chunk);
    void begin_stages(Chunk& chunk, const Plan& plan);
    void end_stages(Chunk& chunk);
    void copy_out(Chunk& chunk, const Plan& plan);
    /// Records that the chunk's work on the other two streams is done, since its copy out is: they have no marks for
    /// it.
    void seen_done(const Chunk& chunk) noexcept;

    Stream& in() noexcept { return *in_; }
    Stream& stages() noexcept { return *stages_; }
    Stream& out() noexcept { return *out_; }
    bool has_streams() const noexcept { return static_cast<bool>(out_); }

    /// Handle of the stages' stream, for callbacks. Made by the first call.
    gpo_stream_t stages_handle();
    /// Destroys this handle.
    void close() noexcept;

    /// The event at the beginning of a run, from the context's events.
    CUevent base() noexcept { return base_; }
    void record_base();
    /// Nanoseconds between two events, which are both reached. False if the driver gives no time.
    bool elapsed(CUevent from, CUevent to, int64_t* nanoseconds) noexcept;
    /// Makes the end of the chunk's copy in the base.
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
    uint32_t slots_ = 0;        // slots with memory
    uint32_t slots_used_ = 1;   // slots of this run
    uint64_t capacity_ = 0;     // most input bytes of a chunk in this run
    uint64_t input_stride_ = 0, output_stride_ = 0, result_stride_ = 0;  // in pinned memory
    PinnedMemory pinned_in_, pinned_out_, pinned_results_;
};

}  // namespace gpo::pipeline
