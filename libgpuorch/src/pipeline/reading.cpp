// The reading thread: fills chunks and puts them on the device.
#include <algorithm>

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
}

void Pipeline::produce(Run& run) {
    prepare(run, run.needs.chunk_bytes);
    if (run.needs.timing) {
        run.base_recorded_ns = host::now();
        slots_.record_base();
    }
    for (uint64_t index = 0;; ++index) {
        uint64_t size;
        {
            host::Lock lock(flow_->lock);
            flow_->room.wait(lock, host::kForever, [&] {
                return flow_->stopping || flow_->submitted - flow_->consumed < run.needs.chunks;
            });
            if (flow_->stopping) return;
            size = run.automatic ? flow_->tuning.next() : plan_.chunk_bytes;
        }
        if (size > slots_.capacity()) {
            {
                host::Lock lock(flow_->lock);
                flow_->room.wait(lock, host::kForever,
                                 [&] { return flow_->stopping || flow_->submitted == flow_->consumed; });
                if (flow_->stopping) return;
            }
            prepare(run, size);
            size = std::min(size, slots_.capacity());
        }
        Chunk& chunk = slots_.chunk(index);
        if (!fill(run, chunk, size)) return;
        put_on_device(run, chunk);
        run.chunk_bytes = size;
    }
}

void Pipeline::prepare(Run& run, uint64_t chunk_bytes) {
    run.needs.chunk_bytes = chunk_bytes;
    for (;;) {
        try {
            slots_.prepare(plan_, run.needs);
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

// False: the input has ended before this chunk, or the run is being stopped.
bool Pipeline::fill(Run& run, Chunk& chunk, uint64_t size) {
    chunk.offset = run.offset;
    if (const void* memory = run.source->direct()) {
        chunk.bytes = std::min(size, run.source->total() - run.offset);
        chunk.from = static_cast<const char*>(memory) + run.offset;
    } else {
        void* const staging = slots_.staging_in(chunk);
        chunk.bytes = run.source->fill(staging, size);
        chunk.from = staging;
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
    chunk.submitted_ns = host::now();
    slots_.copy_in(chunk);
    slots_.begin_stages(chunk, plan_);
    run_stages(chunk);
    slots_.end_stages(chunk);
    slots_.copy_out(chunk, plan_);
    {
        host::Lock lock(flow_->lock);
        ++flow_->submitted;
        flow_->bytes_in += chunk.bytes;
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
    slots_.stages().cancel_held();
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
    }
}

}  // namespace gpo
