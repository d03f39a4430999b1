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
        flow->input_ended = true;  // from here on the pipeline may be destroyed
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
    uint64_t begun = 0;
    for (uint64_t index = 0;; ++index) {
        for (; begun - index < run.source->ahead(); ++begun)
            if (!begin_fill(run, begun, begun == index)) break;
        if (begun == index) return;  // the run is being stopped
        Chunk& chunk = chunk_at(flow_->place(index));
        if (!finish_fill(run, chunk)) return;
        put_on_device(run, chunk);
    }
}

// Waits for room if the chunk is needed now. False: no room for a chunk that isn't needed yet, or the run is being
// stopped.
bool Pipeline::begin_fill(Run& run, uint64_t index, bool needed) {
    Flow& flow = *flow_;
    Flow::Place place;
    {
        uint32_t lane = Flow::kNoLane;
        host::Lock lock(flow.lock);
        const auto decided = [&] { return flow.stopping || (lane = flow.next_lane()) != Flow::kNoLane; };
        if (needed) flow.room.wait(lock, host::kForever, decided);
        if (!decided() || flow.stopping) return false;
        if (run.size_asked == 0) run.size_asked = next_size(run, index);
        if (run.size_asked > run.capacity) {
            // Buffers grow only while they are empty.
            if (!needed) return false;
            flow.room.wait(lock, host::kForever, [&] { return flow.stopping || flow.consumed == index; });
            if (flow.stopping) return false;
            lock.unlock();
            prepare(run, run.size_asked);
            lock.lock();
        }
        place = flow.begin_on(lane, index);
    }
    Slots& slots = lanes_[place.lane]->slots;
    Chunk& chunk = slots.chunk(place.number);
    chunk.index = index;
    chunk.device = place.lane;
    chunk.capacity = std::min(std::exchange(run.size_asked, 0), run.capacity);
    if (!run.source->direct()) run.source->begin(slots.staging_in(chunk), chunk.capacity);
    return true;
}

// Under the lock of the flow. Tuning sees a single device's share of the work: a size holds for a round of one chunk
// for each device.
uint64_t Pipeline::next_size(Run& run, uint64_t index) noexcept {
    if (!run.automatic) return plan_.chunk_bytes;
    if (index % lanes_.size() == 0) run.round_bytes = flow_->tuning.next();
    return run.round_bytes;
}

void Pipeline::prepare(Run& run, uint64_t chunk_bytes) {
    run.needs.chunk_bytes = chunk_bytes;
    for (;;) {
        try {
            for (const auto& lane : lanes_) lane->slots.prepare(plan_, run.needs, crew_->in);
            break;
        } catch (const Failure& failure) {
            // Out of memory, with a size that the library chose: halve the size.
            const uint64_t less = run.needs.chunk_bytes / 2 / plan_.granule * plan_.granule;
            if (failure.error()->status != GPO_OUT_OF_MEMORY || !run.automatic || less < Tuning::kLeast) throw;
            run.needs.chunk_bytes = less;
            host::Lock lock(flow_->lock);
            flow_->tuning.restrict(less);
        }
    }
    std::vector<Flow::Place> places(lanes_.size() * run.needs.chunks);
    run.capacity = UINT64_MAX;
    for (uint32_t i = 0; i < lanes_.size(); ++i) {
        Lane& lane = *lanes_[i];
        run.capacity = std::min(run.capacity, lane.slots.capacity());
        if (lane.arrivals.size() != run.needs.chunks || lane.arrivals_epoch != lane.slots.epoch()) {
            lane.arrivals.clear();
            lane.arrivals.reserve(run.needs.chunks);
            for (uint64_t number = 0; number < run.needs.chunks; ++number)
                lane.arrivals.push_back(make<Arrival>(flow_, &lane.slots.record(number), i));
            lane.arrivals_epoch = lane.slots.epoch();
        }
        if (plan_.has_stage_callbacks) lane.slots.stages_handle();
    }
    host::Lock lock(flow_->lock);
    flow_->places.swap(places);
    for (size_t i = 0; i < lanes_.size(); ++i) flow_->lanes[i].stages = Ref<Stream>(&lanes_[i]->slots.stages());
}

// False: the input has ended before this chunk.
bool Pipeline::finish_fill(Run& run, Chunk& chunk) {
    const Slots& slots = lanes_[chunk.device]->slots;
    chunk.offset = run.offset;
    if (const void* memory = run.source->direct()) {
        chunk.bytes = std::min(chunk.capacity, run.source->total() - run.offset);
        chunk.from = static_cast<const char*>(memory) + run.offset;
    } else {
        chunk.bytes = run.source->finish();
        chunk.from = slots.staging_in(chunk);
        if (run.source->staged()) run.staged_bytes += chunk.bytes;
    }
    if (chunk.bytes == 0) return false;
    chunk.output_offset = run.output_offset;
    chunk.output_bytes = plan_.output_bytes(chunk.bytes);
    chunk.to = nullptr;
    if (plan_.has_output() && run.sink->wants_output()) {
        run.sink->check_room(chunk.output_offset + chunk.output_bytes);
        void* const memory = run.sink->direct();
        chunk.to = memory ? static_cast<char*>(memory) + chunk.output_offset : slots.staging_out(chunk);
    }
    chunk.result_to = run.needs.results ? slots.staging_result(chunk) : nullptr;
    run.offset += chunk.bytes;
    run.output_offset += chunk.output_bytes;
    return true;
}

void Pipeline::put_on_device(Run& run, Chunk& chunk) {
    Lane& lane = *lanes_[chunk.device];
    run.chunk_bytes = chunk.capacity;
    chunk.submitted_ns = host::now();
    LaneTimes& times = run.lanes[chunk.device];
    if (run.needs.timing && !std::exchange(times.has_base, true)) {
        // Right before the first copy: an idle GPU may take another time to reach an event.
        times.base_recorded_ns = chunk.submitted_ns;
        lane.slots.record_base();
    }
    lane.slots.copy_in(chunk);
    lane.slots.begin_stages(chunk, plan_);
    run_stages(chunk);
    {
        host::Lock lock(flow_->lock);
        flow_->bytes_in += chunk.bytes;   // counted even if a cancel drops the output
    }
    lane.slots.end_stages(chunk);
    lane.slots.copy_out(chunk, plan_);
    {
        host::Lock lock(flow_->lock);
        ++flow_->submitted;
    }
    try {
        lane.slots.out().mark(lane.arrivals[flow_->place(chunk.index).number % run.needs.chunks]);
    } catch (...) {
        host::Lock lock(flow_->lock);
        --flow_->submitted;
        throw;
    }
}

void Pipeline::run_stages(Chunk& chunk) {
    const ChunkView view{chunk.index, chunk.offset, chunk.bytes, chunk.output_bytes,
                         chunk.input, chunk.output, chunk.scratch, chunk.result};
    Slots& slots = lanes_[chunk.device]->slots;
    for (const Stage& stage : plan_.stages) {
        if (!stage.enqueue) {
            stage.kernels[chunk.device]->enqueue(slots.stages(), view);
            continue;
        }
        const gpo_chunk described = describe_chunk(chunk);
        const gpo_status status = run_callback(owner_, "stage", [&] {
            return stage.enqueue(stage.user, slots.stages_handle(), &described);
        });
        if (status != GPO_SUCCESS) fail_callback(owner_, "stage", status);
    }
}

// After a stop: returns when no work of the run is on a device any more.
void Pipeline::settle() noexcept {
    for (const auto& lane : lanes_)
        if (lane->slots.has_streams()) lane->slots.stages().held().cancel();
    for (const auto& lane : lanes_)
        if (lane->slots.has_streams())
            for (Stream* stream : {&lane->slots.in(), &lane->slots.stages(), &lane->slots.out()}) settle(*stream);
}

void Pipeline::settle(Stream& stream) noexcept {
    {
        host::Lock lock(flow_->lock);
        flow_->settled = 0;
    }
    try {
        stream.mark(settled_);
        host::Lock lock(flow_->lock);
        flow_->room.wait(lock, host::kForever, [&] { return flow_->settled != 0; });
    } catch (...) {
        // The mark failed: the driver refuses events, or memory is lacking. Poll the driver instead.
        for (;;) {
            DriverTry scope(stream.context());
            if (!scope.entered() || stream.table().cuStreamQuery(stream.native()) != CUDA_ERROR_NOT_READY) break;
            host::sleep_until(host::now() + 200'000);
        }
    }
    stream.watched().seen_done(stream.submission().accepted());  // done, dropped or failed: nothing is pending
}

}  // namespace gpo
