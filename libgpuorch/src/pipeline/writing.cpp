// The writing thread: hands chunks that are back from the device to the sink, and ends the run.
#include <algorithm>

#include "pipeline/pipeline.h"

namespace gpo {

using namespace pipeline;

namespace {
constexpr int64_t kBaseAge = 1'000'000'000;  // a float of milliseconds tells 60 ns apart up to here
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
        pipeline->end(*run);  // the pipeline may be gone afterwards
    }
}

void Pipeline::write(Run& run) noexcept {
    Flow& flow = *flow_;
    bool drop = false;
    for (uint64_t index = 0;; ++index) {
        {
            host::Lock lock(flow.lock);
            flow.arrived.wait(lock, host::kForever, [&] {
                return flow.consumed < flow.completed || (flow.input_ended && flow.completed == flow.submitted);
            });
            drop = flow.stopping;
            if (flow.consumed == flow.completed) break;
        }
        Chunk& chunk = slots_.record(index);
        if (!chunk.error) slots_.seen_done(chunk);
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
            if (!drop) {
                flow.bytes_done += chunk.bytes;
                ++flow.chunks_done;
                flow.ended_ns = host::now();
                if (run.automatic)
                    flow.tuning.done(run.times_known ? run.newest_end_ns : static_cast<int64_t>(chunk.completed_ns));
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

// Only ends are recorded: an event with a time between two copies keeps the engine idle for some 6 us. A part begins
// when the one before it on its engine has ended (EngineTimes sees to that), what it waits for has too, and the host
// had put it there.
void Pipeline::note_times(Run& run, Chunk& chunk) {
    DriverScope scope(*context_);
    const CUevent events[3] = {chunk.in_end, chunk.stages_end, chunk.out_end};
    int64_t ends[3] = {};
    for (int i = 0; i < 3; ++i) {
        if (!slots_.elapsed(slots_.base(), events[i], &ends[i])) return;  // no times, but all else is well
        ends[i] += run.base_ns;
    }
    const auto [in_end, stages_end, out_end] = ends;
    int64_t in_begin = static_cast<int64_t>(chunk.submitted_ns - run.base_recorded_ns), stages_begin = in_end;
    Run::Ends& before = run.ends[chunk.slot];
    if (chunk.before) {
        in_begin = std::max(in_begin, before.stages);
        stages_begin = std::max(stages_begin, before.out);
    }
    before = {stages_end, out_end};
    run.times.add(EngineTimes::kIn, std::min(in_begin, in_end), in_end);
    run.times.add(EngineTimes::kKernel, std::min(stages_begin, stages_end), stages_end);
    if (chunk.to || chunk.result_to) run.times.add(EngineTimes::kOut, std::min(stages_end, out_end), out_end);
    run.newest_end_ns = out_end;
    run.times_known = true;
    if (in_end - run.base_ns > kBaseAge) {
        run.base_ns = in_end;
        slots_.move_base(chunk);
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

gpo_pipeline_result Pipeline::result_of(Run& run) noexcept {
    run.times.finish();
    const Flow& flow = *flow_;
    gpo_pipeline_result out{};
    out.struct_size = sizeof out;
    out.status = flow.failure ? flow.failure->status : GPO_SUCCESS;
    out.bytes_in = flow.bytes_in;
    out.bytes_out = run.bytes_out;
    out.chunks = flow.chunks_done;
    out.elapsed_ns = flow.ended_ns - flow.started_ns;
    out.chunk_bytes = run.chunk_bytes != 0 ? run.chunk_bytes : run.needs.chunk_bytes;
    out.slots = run.needs.slots;
    out.tuned = run.automatic && flow.tuning.measured();
    out.copy_in_ns = run.times.busy(EngineTimes::kIn);
    out.copy_out_ns = run.times.busy(EngineTimes::kOut);
    out.kernel_ns = run.times.busy(EngineTimes::kKernel);
    out.copy_hidden_ns = run.times.hidden();
    out.staged_bytes = run.staged_bytes + run.unstaged_bytes;
    return out;
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
        flow.stages = nullptr;
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
    run.sink.reset();  // takes away what is not complete
    std::unique_ptr<Run> ended;
    std::vector<Notice> notices;
    ErrorPtr error;
    uint64_t now;
    bool closing;
    Ref<Pipeline> self;
    {
        host::Lock lock(flow.lock);
        result_ = result_of(run);
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
        self = std::move(self_);
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
