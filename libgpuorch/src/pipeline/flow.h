// The state through which the threads of a pipeline, its marks and its callers communicate. It outlives the pipeline
// while one of them uses it.
#pragma once

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
    Ref<Stream> stages;          // where callbacks of the user's may have work held

    // Of the run.
    bool stopping = false;       // no chunk is begun any more, and those under way are dropped
    bool input_ended = false;    // the reading thread has done all that it will
    uint64_t submitted = 0, completed = 0, consumed = 0;  // chunks: on the device, back from it, through the sink
    uint32_t settled = 0;        // streams found idle after a failure
    ErrorPtr failure;            // the first; NULL: none
    uint64_t bytes_in = 0, bytes_done = 0, bytes_total = 0, chunks_done = 0;
    uint64_t started_ns = 0, ended_ns = 0;
    Tuning tuning;
};

/// Tells the writing thread that a chunk is back.
class Arrival final : public CompletionHandler {
public:
    Arrival(Ref<Flow> flow, Chunk* chunk) noexcept : flow_(std::move(flow)), chunk_(chunk) {}
    void on_completed(const Outcome& outcome) noexcept override {
        host::Lock lock(flow_->lock);
        chunk_->error = chunk_->dropped ? chunk_->dropped : outcome.error;
        chunk_->completed_ns = outcome.completed_ns;
        ++flow_->completed;
        flow_->arrived.notify_one();
    }
    bool awaited() const noexcept override { return true; }

private:
    const Ref<Flow> flow_;
    Chunk* const chunk_;  // lives as long as the run
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
