// The state through which the threads of a pipeline, its marks and its callers communicate. It outlives the pipeline
// while one of them uses it.
#pragma once

#include <vector>

#include "completion/mark.h"
#include "gpuorch/pipeline.h"
#include "pipeline/slots.h"
#include "pipeline/tuning.h"

namespace gpo::pipeline {

struct Run;

struct Flow final : Counted {
    host::Mutex lock;            // of all below
    host::Condition parked{host::Sleep::light};   // threads without a run
    host::Condition room{host::Sleep::light};     // the reading thread, for a free chunk
    host::Condition arrived{host::Sleep::light};  // the writing thread, for a chunk that is done
    host::Condition ended{host::Sleep::light};    // callers, for the end of a run

    uint64_t runs = 0;           // started
    bool starting = false;       // a start is checking its arguments
    bool running = false;        // the newest has not ended
    bool busy = false;           // … or has not been reported everywhere
    bool closing = false;        // the pipeline was destroyed: the threads end with the run
    bool dismissed = false;      // the threads end
    Run* run = nullptr;          // whose source and sink can be interrupted

    /// A device of the pipeline's. Its chunks have numbers of their own, from 0.
    struct Lane {
        uint64_t begun = 0, completed = 0, consumed = 0;  // chunks: filled or more, back from the device, through the sink
        Ref<Stream> stages;      // where callbacks of the user's may have work held

        uint64_t under_way() const noexcept { return begun - completed; }
        double ns_per_byte = 0;  // how long it takes; 0: not known
        uint64_t seen = 0;       // chunks that this was measured with
        uint64_t newest_ns = 0;  // when its newest chunk was seen done
    };
    std::vector<Lane> lanes;     // always as many as at first
    /// Where a chunk is. Written by the reading thread alone, so that it may read it without the lock.
    struct Place { uint32_t lane; uint64_t number; };
    std::vector<Place> places;   // of as many chunks as can be under way
    Place& place(uint64_t index) noexcept { return places[index % places.size()]; }
    uint32_t turn = 0;           // the device that is asked first
    static constexpr uint32_t kNoLane = UINT32_MAX;
    /// The device for the next chunk, if it has room; or kNoLane.
    uint32_t next_lane() const noexcept;
    /// The chunk `index` goes there.
    Place begin_on(uint32_t lane, uint64_t index) noexcept;
    /// A chunk is back.
    void note_back(uint32_t lane, const Chunk& chunk) noexcept;
    bool is_back(uint64_t index) noexcept {
        return index < submitted && lanes[place(index).lane].completed > place(index).number;
    }

    // Of the run.
    bool stopping = false;       // no chunk is begun any more, and those under way are dropped
    bool input_ended = false;    // the reading thread has done all that it will
    uint64_t submitted = 0, consumed = 0;  // chunks of all devices: on a device, through the sink
    uint32_t settled = 0;        // streams found idle after a failure
    ErrorPtr failure;            // the first; NULL: none
    uint64_t bytes_in = 0, bytes_done = 0, bytes_total = 0, chunks_done = 0;
    uint64_t started_ns = 0, ended_ns = 0;
    Tuning tuning;
};

/// Tells the writing thread that a chunk is back.
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

/// Tells the reading thread that a stream has nothing left to do.
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
