// The reading thread: fills chunks and puts their work on the device.
#include <algorithm>
#include <utility>

#include "pipeline/pipeline.h"

namespace gpo {

using namespace pipeline;

void Pipeline::reading(Ref<Flow> flow, Pipeline* pipeline) noexcept {
    uint64_t seen = 0;
    host::Lock lock(flow->lock);
    for (;;) {
        flow->parked.wait(lock, host::kForever, [&] { return flow->dismissed || flow->runs != seen; });
        if (flow->runs == seen) return;
        seen = flow->runs;
        Run& run = *flow->run;
        lock.unlock();
        pipeline->read(run);
        lock.lock();
        flow->input_ended = true;  // from here on the pipeline may be gone
        flow->arrived.notify_all();
    }
}

void Pipeline::read(Run& run) noexcept {
    try {
        produce(run);
    } catch (...) {
        stop_run(error_in_flight());
    }
    bool stopping;
    {
        host::Lock lock(flow_->lock);
        stopping = flow_->stopping;
    }
    if (stopping) settle();
    run.settled = stopping;
}

void Pipeline::produce(Run& run) {
    prepare(run, run.needs.chunk_bytes);
    if (run.needs.timing) {
        run.base_recorded_ns = host::now();
        slots_.record_base();
    }
    uint64_t begun = 0;
    for (uint64_t index = 0;; ++index) {
        for (; begun - index < run.source->ahead(); ++begun)
            if (!begin_fill(run, begun, begun == index)) break;
        if (begun == index) return;  // it is being stopped
        Chunk& chunk = slots_.record(index);
        if (!finish_fill(run, chunk)) return;
        put_on_device(run, chunk);
    }
}

// Of a chunk that is needed waits until there is room. False: there is none for one that isn't, or the run is being
// stopped.
bool Pipeline::begin_fill(Run& run, uint64_t index, bool needed) {
    const auto room = [&](uint64_t under_way) {
        host::Lock lock(flow_->lock);
        const auto decided = [&] { return flow_->stopping || index - flow_->consumed < under_way; };
        if (needed) flow_->room.wait(lock, host::kForever, decided);
        return decided() && !flow_->stopping;
    };
    if (!room(run.needs.chunks)) return false;
    if (run.size_asked == 0) {
        host::Lock lock(flow_->lock);
        run.size_asked = run.automatic ? flow_->tuning.next() : plan_.chunk_bytes;
    }
    if (run.size_asked > slots_.capacity()) {
        // Buffers grow when nothing is in them.
        if (!needed || !room(1)) return false;
        prepare(run, run.size_asked);
    }
    Chunk& chunk = slots_.chunk(index);
    chunk.capacity = std::min(std::exchange(run.size_asked, 0), slots_.capacity());
    if (!run.source->direct()) run.source->begin(slots_.staging_in(chunk), chunk.capacity);
    return true;
}

void Pipeline::prepare(Run& run, uint64_t chunk_bytes) {
    run.needs.chunk_bytes = chunk_bytes;
    for (;;) {
        try {
            slots_.prepare(plan_, run.needs, crew_->in);
            break;
        } catch (const Failure& failure) {
            // A size that was ours to choose, and that there is no memory for.
            const uint64_t less = run.needs.chunk_bytes / 2 / plan_.granule * plan_.granule;
            if (failure.error()->status != GPO_OUT_OF_MEMORY || !run.automatic || less < Tuning::kLeast) throw;
            run.needs.chunk_bytes = less;
            host::Lock lock(flow_->lock);
            flow_->tuning.restrict(less);
        }
    }
    if (arrivals_.size() != run.needs.chunks || arrivals_epoch_ != slots_.epoch()) {
        arrivals_.clear();
        arrivals_.reserve(run.needs.chunks);
        for (uint64_t i = 0; i < run.needs.chunks; ++i) arrivals_.push_back(make<Arrival>(flow_, &slots_.record(i)));
        arrivals_epoch_ = slots_.epoch();
    }
    if (plan_.has_stage_callbacks) slots_.stages_handle();
    host::Lock lock(flow_->lock);
    flow_->stages = Ref<Stream>(&slots_.stages());
}

// False: the input has ended before this chunk.
bool Pipeline::finish_fill(Run& run, Chunk& chunk) {
    chunk.offset = run.offset;
    if (const void* memory = run.source->direct()) {
        chunk.bytes = std::min(chunk.capacity, run.source->total() - run.offset);
        chunk.from = static_cast<const char*>(memory) + run.offset;
    } else {
        chunk.bytes = run.source->finish();
        chunk.from = slots_.staging_in(chunk);
        if (run.source->staged()) run.staged_bytes += chunk.bytes;
    }
    if (chunk.bytes == 0) return false;
    chunk.output_offset = run.output_offset;
    chunk.output_bytes = plan_.output_bytes(chunk.bytes);
    chunk.to = nullptr;
    if (plan_.has_output() && run.sink->wants_output()) {
        run.sink->check_room(chunk.output_offset + chunk.output_bytes);
        void* const memory = run.sink->direct();
        chunk.to = memory ? static_cast<char*>(memory) + chunk.output_offset : slots_.staging_out(chunk);
    }
    chunk.result_to = run.needs.results ? slots_.staging_result(chunk) : nullptr;
    run.offset += chunk.bytes;
    run.output_offset += chunk.output_bytes;
    return true;
}

void Pipeline::put_on_device(Run& run, Chunk& chunk) {
    run.chunk_bytes = chunk.capacity;
    chunk.submitted_ns = host::now();
    slots_.copy_in(chunk);
    slots_.begin_stages(chunk, plan_);
    run_stages(chunk);
    {
        host::Lock lock(flow_->lock);
        flow_->bytes_in += chunk.bytes;   // though a cancel may let none of it come out
    }
    slots_.end_stages(chunk);
    slots_.copy_out(chunk, plan_);
    {
        host::Lock lock(flow_->lock);
        ++flow_->submitted;
    }
    try {
        slots_.out().mark(arrivals_[chunk.index % run.needs.chunks]);
    } catch (...) {
        host::Lock lock(flow_->lock);
        --flow_->submitted;
        throw;
    }
}

void Pipeline::run_stages(Chunk& chunk) {
    const ChunkView view{chunk.index, chunk.offset, chunk.bytes, chunk.output_bytes,
                         chunk.input, chunk.output, chunk.scratch, chunk.result};
    for (const Stage& stage : plan_.stages) {
        if (stage.kernel) {
            stage.kernel->enqueue(slots_.stages(), view);
            continue;
        }
        const gpo_chunk described = describe_chunk(chunk);
        const gpo_status status = run_callback(owner_, "stage", [&] {
            return stage.enqueue(stage.user, slots_.stages_handle(), &described);
        });
        if (status != GPO_SUCCESS) fail_callback(owner_, "stage", status);
    }
}

// After a stop: returns when nothing of the run is on the device any more.
void Pipeline::settle() noexcept {
    if (!slots_.has_streams()) return;
    slots_.stages().held().cancel();
    for (Stream* stream : {&slots_.in(), &slots_.stages(), &slots_.out()}) {
        {
            host::Lock lock(flow_->lock);
            flow_->settled = 0;
        }
        try {
            stream->mark(settled_);
            host::Lock lock(flow_->lock);
            flow_->room.wait(lock, host::kForever, [&] { return flow_->settled != 0; });
        } catch (...) {
            // No mark can be had: the driver refuses events, or there is no memory. Asking it is what is left.
            for (;;) {
                DriverTry scope(*context_);
                if (!scope.entered() || stream->table().cuStreamQuery(stream->native()) != CUDA_ERROR_NOT_READY) break;
                host::sleep_until(host::now() + 200'000);
            }
        }
        stream->watched().seen_done(
            stream->submission().accepted());  // or dropped, or failed: nothing of it is pending
    }
}

}  // namespace gpo
