// The writing thread: hands chunks that are back from the device to the sink, and ends the run.
#include <algorithm>

#include "pipeline/pipeline.h"

namespace gpo {

using namespace pipeline;

namespace {
constexpr int64_t kBaseAge = 1'000'000'000;  // ns: up to here, a float of milliseconds resolves 60 ns
}

void Pipeline::writing(Ref<Flow> flow, Pipeline* pipeline) noexcept {
    uint64_t seen = 0;
    for (;;) {
        Run* run;
        {
            host::Lock lock(flow->lock);
            flow->parked.wait(lock, host::kForever, [&] { return flow->dismissed || flow->runs != seen; });
            if (flow->runs == seen) return;
            seen = flow->runs;
            run = flow->run;
        }
        pipeline->write(*run);
        pipeline->end(*run);  // the pipeline may be destroyed afterwards
    }
}

void Pipeline::write(Run& run) noexcept {
    Flow& flow = *flow_;
    bool drop = false;
    for (uint64_t index = 0;; ++index) {
        Flow::Place place;
        {
            host::Lock lock(flow.lock);
            flow.arrived.wait(lock, host::kForever, [&] {
                return flow.is_back(index) || (flow.input_ended && index == flow.submitted);
            });
            drop = flow.stopping;
            if (!flow.is_back(index)) break;
            place = flow.place(index);
        }
        Chunk& chunk = chunk_at(place);
        if (!chunk.error) lanes_[place.lane]->slots.seen_done(chunk);
        if (!drop) {
            try {
                consume(run, chunk);
            } catch (...) {
                stop_run(error_in_flight());
                drop = true;
            }
        }
        {
            host::Lock lock(flow.lock);
            ++flow.consumed;
            ++flow.lanes[place.lane].consumed;
            if (!drop) {
                ++run.lanes[place.lane].chunks;
                run.lanes[place.lane].bytes_in += chunk.bytes;
                flow.bytes_done += chunk.bytes;
                ++flow.chunks_done;
                flow.ended_ns = host::now();
                run.newest_seen_ns = std::max(run.newest_seen_ns, chunk.completed_ns);
                if (run.automatic && (index + 1) % lanes_.size() == 0)
                    flow.tuning.done(run.times_known ? run.newest_end_ns : static_cast<int64_t>(run.newest_seen_ns));
            }
            flow.room.notify_one();
        }
        if (!drop) report_progress(run, false);
    }
    if (drop && !run.settled) settle();
}

void Pipeline::consume(Run& run, Chunk& chunk) {
    if (chunk.error) throw Failure(chunk.error);
    if (run.needs.timing) note_times(run, chunk);
    if (chunk.to && !run.sink->direct()) {
        run.sink->put(chunk.to, chunk.output_offset, chunk.output_bytes);
        if (run.sink->staged()) run.unstaged_bytes += chunk.output_bytes;
    }
    gpo_status status = GPO_SUCCESS;
    if (run.take) {
        gpo_chunk described = describe_chunk(chunk);
        described.output = chunk.to;
        described.result = chunk.result_to;
        status = run_callback(owner_, "sink", [&] { return run.take(run.user, &described); });
    }
    if (chunk.to) run.bytes_out += chunk.output_bytes;
    if (status == GPO_END) stop_run(nullptr);
}

// Only ends are recorded: a timed event between two copies keeps the engine idle for some 6 us. A part's begin is
// computed: the latest of its submission, the end of its dependencies, and the end of the part before on its engine
// (EngineTimes cuts off the overlap).
void Pipeline::note_times(Run& run, Chunk& chunk) {
    Slots& slots = lanes_[chunk.device]->slots;
    LaneTimes& lane = run.lanes[chunk.device];
    DriverScope scope(*lanes_[chunk.device]->context);
    const CUevent events[3] = {chunk.in_end, chunk.stages_end, chunk.out_end};
    int64_t ends[3] = {};
    for (int i = 0; i < 3; ++i) {
        if (!slots.elapsed(slots.base(), events[i], &ends[i])) return;  // no times for this chunk; not a failure
        ends[i] += lane.base_ns;
    }
    const auto [in_end, stages_end, out_end] = ends;
    int64_t in_begin = static_cast<int64_t>(chunk.submitted_ns - lane.base_recorded_ns), stages_begin = in_end;
    LaneTimes::Ends& before = lane.ends[chunk.slot];
    if (chunk.before) {
        in_begin = std::max(in_begin, before.stages);
        stages_begin = std::max(stages_begin, before.out);
    }
    before = {stages_end, out_end};
    EngineTimes& times = lane.engines;
    times.add(EngineTimes::kIn, std::min(in_begin, in_end), in_end);
    times.add(EngineTimes::kKernel, std::min(stages_begin, stages_end), stages_end);
    if (chunk.to || chunk.result_to) times.add(EngineTimes::kOut, std::min(stages_end, out_end), out_end);
    run.newest_end_ns = out_end;
    run.times_known = lanes_.size() == 1;
    if (in_end - lane.base_ns > kBaseAge) {
        lane.base_ns = in_end;
        slots.move_base(chunk);
    }
}

void Pipeline::report_progress(Run& run, bool last) noexcept {
    if (!plan_.progress) return;
    const uint64_t now = host::now();
    if (!last && now - run.reported_ns < plan_.progress_ns) return;
    run.reported_ns = now;
    gpo_pipeline_progress progress = this->progress();
    if (last) progress.running = 0;
    try {
        run_callback(owner_, "progress", [&] {
            plan_.progress(plan_.progress_user, &progress);
            return GPO_SUCCESS;
        });
    } catch (...) {
        stop_run(error_in_flight());
    }
}

// Under the lock of the flow.
void Pipeline::report_result(Run& run) noexcept {
    const Flow& flow = *flow_;
    gpo_pipeline_result& out = result_ = {};
    out.struct_size = sizeof out;
    out.status = flow.failure ? flow.failure->status : GPO_SUCCESS;
    out.bytes_in = flow.bytes_in;
    out.bytes_out = run.bytes_out;
    out.chunks = flow.chunks_done;
    out.elapsed_ns = flow.ended_ns - flow.started_ns;
    out.chunk_bytes = run.chunk_bytes != 0 ? run.chunk_bytes : run.needs.chunk_bytes;
    out.slots = run.needs.slots;
    out.tuned = run.automatic && flow.tuning.measured();
    out.staged_bytes = run.staged_bytes + run.unstaged_bytes;
    for (size_t i = 0; i < lanes_.size(); ++i) {
        LaneTimes& lane = run.lanes[i];
        gpo_pipeline_share& share = shares_[i] = {};
        lane.engines.finish();
        share.struct_size = sizeof share;
        share.chunks = lane.chunks;
        share.bytes_in = lane.bytes_in;
        out.copy_in_ns += share.copy_in_ns = lane.engines.busy(EngineTimes::kIn);
        out.copy_out_ns += share.copy_out_ns = lane.engines.busy(EngineTimes::kOut);
        out.kernel_ns += share.kernel_ns = lane.engines.busy(EngineTimes::kKernel);
        out.copy_hidden_ns += share.copy_hidden_ns = lane.engines.hidden();
    }
}

void Pipeline::end(Run& run) noexcept {
    Flow& flow = *flow_;
    report_progress(run, true);
    bool complete;
    {
        host::Lock lock(flow.lock);
        complete = !flow.failure;
        flow.stopping = true;  // a cancel comes too late from here on
        flow.run = nullptr;
        for (Flow::Lane& lane : flow.lanes) lane.stages = nullptr;
    }
    if (complete) {
        try {
            run.sink->commit();
        } catch (...) {
            ErrorPtr error = error_in_flight();
            host::Lock lock(flow.lock);
            flow.failure = std::move(error);
        }
    }
    run.source.reset();
    run.sink.reset();  // removes an incomplete file
    std::unique_ptr<Run> ended;
    std::vector<Notice> notices;
    ErrorPtr error;
    uint64_t now;
    bool closing;
    Ref<Pipeline> self;
    {
        host::Lock lock(flow.lock);
        report_result(run);
        error_ = error = flow.failure;
        if (error) note_error(error);  // known before the wait for the run ends
        flow.running = false;
        notices.swap(notices_);
        for (; waiting_; waiting_ = waiting_->next) {
            waiting_->result = result_;
            waiting_->error = error;
            waiting_->ended = true;
        }
        closing = flow.closing;
        // Unless closing, the handle keeps the pipeline: the thread that destroys the pipeline after the run frees it.
        if (closing) self = std::move(self_);
        else self_ = nullptr;
        ended = std::move(run_);
        now = host::now();
        flow.ended.notify_all();
    }
    for (Notice& notice : notices) {
        Outcome outcome;
        outcome.error = error;
        outcome.submitted_ns = notice.submitted_ns;
        outcome.completed_ns = now;
        notice.target->on_completed(outcome);
    }
    if (closing) dismiss();
    host::Lock lock(flow.lock);
    flow.busy = flow.running;
    flow.ended.notify_all();
}

}  // namespace gpo
