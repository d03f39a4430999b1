// The state shared by the threads of a pipeline, its marks and its callers. All of them hold references to the state,
// which may outlive the pipeline.
#pragma once

#include <vector>

#include "completion/mark.h"
#include "gpuorch/pipeline.h"
#include "pipeline/slots.h"
#include "pipeline/tuning.h"

namespace gpo::pipeline {

struct Run;

struct Flow final : Counted {
    host::Mutex lock;            // for all members below
    host::Condition parked{host::Sleep::light};   // threads without a run
    host::Condition room{host::Sleep::light};     // the reading thread, for a free chunk
    host::Condition arrived{host::Sleep::light};  // the writing thread, for a chunk that is done
    host::Condition ended{host::Sleep::light};    // callers, for the end of a run

    uint64_t runs = 0;           // started
    bool starting = false;       // a start is checking its arguments
    bool running = false;        // the newest run has not ended
    bool busy = false;           // … or its end has not been reported to all
    bool closing = false;        // the pipeline was destroyed: the threads end with the run
    bool dismissed = false;      // the threads end
    Run* run = nullptr;          // the run, while its source and sink can be interrupted

    /// A device of the pipeline. Numbers its own chunks from 0.
    struct Lane {
        uint64_t begun = 0, completed = 0, consumed = 0;  // chunks: begun, back from the device, through the sink
        Ref<Stream> stages;      // stream on which user callbacks may hold work

        uint64_t under_way() const noexcept { return begun - completed; }
        double ns_per_byte = 0;  // measured mean; 0: not known
        uint64_t seen = 0;       // chunks measured
        uint64_t newest_ns = 0;  // time at which its newest chunk was seen done
    };
    std::vector<Lane> lanes;     // never resized after construction
    /// Location of a chunk. Only the reading thread writes places, and may therefore read them without the lock.
    struct Place { uint32_t lane; uint64_t number; };
    std::vector<Place> places;   // for as many chunks as can be under way
    Place& place(uint64_t index) noexcept { return places[index % places.size()]; }
    uint32_t turn = 0;           // the device that next_lane() tries first
    static constexpr uint32_t kNoLane = UINT32_MAX;
    /// The device for the next chunk; kNoLane if that device has no room.
    uint32_t next_lane() const noexcept;
    /// Assigns chunk `index` to the device.
    Place begin_on(uint32_t lane, uint64_t index) noexcept;
    /// Called when a chunk is back from the device.
    void note_back(uint32_t lane, const Chunk& chunk) noexcept;
    bool is_back(uint64_t index) noexcept {
        return index < submitted && lanes[place(index).lane].completed > place(index).number;
    }

    // State of the run.
    bool stopping = false;       // no chunk is begun any more, and chunks under way are dropped
    bool input_ended = false;    // the reading thread is done with the run
    uint64_t submitted = 0, consumed = 0;  // chunks of all devices: put on a device; through the sink
    uint32_t settled = 0;        // streams found idle after a failure
    ErrorPtr failure;            // the first; NULL: none
    uint64_t bytes_in = 0, bytes_done = 0, bytes_total = 0, chunks_done = 0;
    uint64_t started_ns = 0, ended_ns = 0;
    Tuning tuning;
};

/// Notifies the writing thread of a chunk that is back.
class Arrival final : public CompletionHandler {
public:
    Arrival(Ref<Flow> flow, Chunk* chunk, uint32_t lane) noexcept
        : flow_(std::move(flow)), chunk_(chunk), lane_(lane) {}
    void on_completed(const Outcome& outcome) noexcept override {
        host::Lock lock(flow_->lock);
        chunk_->error = chunk_->dropped ? chunk_->dropped : outcome.error;
        chunk_->completed_ns = outcome.completed_ns;
        flow_->note_back(lane_, *chunk_);
    }
    bool awaited() const noexcept override { return true; }

private:
    const Ref<Flow> flow_;
    Chunk* const chunk_;  // lives as long as the run
    const uint32_t lane_;
};

/// Notifies the reading thread of a stream that has become idle.
class Settled final : public CompletionHandler {
public:
    explicit Settled(Ref<Flow> flow) noexcept : flow_(std::move(flow)) {}
    void on_completed(const Outcome&) noexcept override {
        host::Lock lock(flow_->lock);
        ++flow_->settled;
        flow_->room.notify_one();
    }
    bool awaited() const noexcept override { return true; }

private:
    const Ref<Flow> flow_;
};

}  // namespace gpo::pipeline
