// The operations of a chunk, one for each engine; and the buffers, which grow when a run needs more.
#include "pipeline/slots.h"

#include <algorithm>
#include <array>

#include "core/handles.h"
#include "stream/streams.h"
#include "trace/serialising.h"

namespace gpo::pipeline {

namespace {

constexpr uint64_t kAlign = 512;                          // of buffers in device memory
constexpr uint64_t kMostMemory = uint64_t{1} << 50;       // more than any device has
constexpr uint64_t kResultAlign = 64;

unsigned __int128 aligned(uint64_t bytes, uint64_t to) noexcept {
    return (static_cast<unsigned __int128>(bytes) + to - 1) / to * to;
}

// A part of a chunk: records in order, as a single operation of a stream. First come the waits for the chunk's other
// parts, then the work, and last an event behind it.
class ChunkOperation : public HookedOperation {
public:
    void issue(Stream& stream) override {
        size_t next = 0;
        while (next < waits_) gpo::issue(stream, records_[next++]);
        if (waits_ < works_) stream.traced().begin_work();
        while (next < count_) gpo::issue(stream, records_[next++]);
    }
    trace::Work work() const noexcept override { return {bytes_ ? engine_ : trace::Engine::none, bytes_, true}; }

protected:
    ChunkOperation(const char* kind, const Stream& stream, Chunk& chunk, trace::Engine engine) noexcept
        : HookedOperation(kind, stream.label()), chunk_(&chunk), engine_(engine) {}
    Chunk& chunk() const noexcept { return *chunk_; }

    // In this order.
    void wait(CUevent event) noexcept { waits_ = works_ = put(EventWork{event, true}); }
    template <class Work>
    void put_work(const Work& work) noexcept {
        works_ = put(work);
        bytes_ += bytes_of(work);
    }
    void record(CUevent event) noexcept { put(EventWork{event, false}); }

private:
    size_t put(AnyWork work) noexcept {
        records_[count_++] = work;
        return count_;
    }

    Chunk* chunk_;  // lives until the run has ended, as do held operations
    const trace::Engine engine_;
    std::array<AnyWork, 4> records_;
    size_t waits_ = 0, works_ = 0, count_ = 0;   // ends of the waits, the work and the whole
    uint64_t bytes_ = 0;
};

class CopyIn final : public ChunkOperation {
public:
    CopyIn(const Stream& stream, Chunk& chunk) noexcept
        : ChunkOperation("copy in", stream, chunk, trace::Engine::copy_in) {
        if (chunk.before) wait(chunk.before->stages_end);
        put_work(CopyWork{CopyWork::Way::to_device, chunk.input, reinterpret_cast<uint64_t>(chunk.from), chunk.bytes});
        record(chunk.in_end);
    }
    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<CopyIn>(*this); }
};

class BeginStages final : public ChunkOperation {
public:
    BeginStages(const Stream& stream, Chunk& chunk, uint64_t result_bytes) noexcept
        : ChunkOperation("begin of the stages", stream, chunk, trace::Engine::fill) {
        wait(chunk.in_end);
        if (chunk.before) wait(chunk.before->out_end);
        if (result_bytes != 0) put_work(FillWork{chunk.result, result_bytes});
    }
    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<BeginStages>(*this); }
    // The stages to come would run before their input is there: fail the stream.
    void drop(Stream& stream, const ErrorPtr& error) noexcept override { stream.fail(error); }
};

class EndStages final : public ChunkOperation {
public:
    EndStages(const Stream& stream, Chunk& chunk, Ref<Stream> out) noexcept
        : ChunkOperation("end of the stages", stream, chunk, trace::Engine::none), out_(std::move(out)) {
        record(chunk.stages_end);
    }
    void issue(Stream& stream) override {
        ChunkOperation::issue(stream);
        chunk().stages.store(Chunk::kIssued, std::memory_order_release);
    }
    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<EndStages>(*this); }
    void drop(Stream&, const ErrorPtr& error) noexcept override {
        chunk().dropped = error;
        chunk().stages.store(Chunk::kDropped, std::memory_order_release);
    }
    // After a held end of the stages: a held copy out may have waited for it.
    void afterwards(const ErrorPtr&) noexcept override { out_->held().flush(); }

private:
    Ref<Stream> out_;
};

class CopyOut final : public ChunkOperation {
public:
    CopyOut(const Stream& stream, Chunk& chunk, uint64_t result_bytes) noexcept
        : ChunkOperation("copy out", stream, chunk, trace::Engine::copy_out) {
        wait(chunk.stages_end);
        if (chunk.to && chunk.output_bytes != 0) put_copy(chunk.to, chunk.output, chunk.output_bytes);
        if (chunk.result_to) put_copy(chunk.result_to, chunk.result, result_bytes);
        record(chunk.out_end);
    }

    // Not before stages_end is recorded, which waits while the stages are held.
    bool ready(Stream&) override { return chunk().stages.load(std::memory_order_acquire) != Chunk::kPending; }
    void issue(Stream& stream) override {
        if (!dropped()) ChunkOperation::issue(stream);
    }
    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<CopyOut>(*this); }
    trace::Work work() const noexcept override { return dropped() ? trace::Work() : ChunkOperation::work(); }

private:
    bool dropped() const noexcept { return chunk().stages.load(std::memory_order_acquire) == Chunk::kDropped; }
    void put_copy(void* to, CUdeviceptr from, uint64_t bytes) noexcept {
        put_work(CopyWork{CopyWork::Way::to_host, reinterpret_cast<uint64_t>(to), from, bytes});
    }
};

class RecordBase final : public Operation {
public:
    explicit RecordBase(CUevent event) noexcept : Operation("begin of the run", nullptr, false), event_(event) {}
    void issue(Stream& stream) override {
        gpo::issue(stream, EventWork{event_, false});
    }
    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<RecordBase>(*this); }

private:
    CUevent event_;
};

void submit(Stream& stream, Operation& operation) {
    if (stream.submit(operation) != GPO_SUCCESS) fail(GPO_LIMIT_EXCEEDED, "too much is held on ", stream.describe());
}

}  // namespace

Slots::~Slots() {
    free_buffers();
    give_chunks();
}

// --- what a run needs ---

void Slots::prepare(const Plan& plan, const Needs& needs, Team& team) {
    make_streams();
    if (chunks_.size() != needs.chunks || timing_ != needs.timing) make_chunks(needs.chunks, needs.timing);
    make_buffers(plan, needs, team);
    slots_used_ = needs.slots;
}

void Slots::make_streams() {
    // A failed stream accepts no more work: make new streams.
    if (out_ && !in_->failure() && !stages_->failure() && !out_->failure()) return;
    close();
    const auto stream = [&](const char* part) {
        gpo_stream_options options{};
        options.struct_size = sizeof options;
        const std::string label = text(label_, "/", part);
        options.label = label.c_str();
        auto made = make<Stream>(context_, device_, options);
        made->announce();
        return made;
    };
    auto in = stream("in"), stages = stream("stages"), out = stream("out");
    in_ = std::move(in);
    stages_ = std::move(stages);
    out_ = std::move(out);
}

void Slots::make_chunks(uint32_t count, bool timing) {
    give_chunks();
    ++epoch_;
    DriverScope scope(*context_);
    timing_ = timing;
    const auto events = [&](bool timed, size_t number) {
        std::vector<CUevent> taken;
        taken.reserve(number);
        try {
            while (taken.size() < number) context_->take_events(timed, number - taken.size(), taken);
        } catch (...) {
            context_->give_events(timed, taken.data(), taken.size());
            throw;
        }
        return taken;
    };
    chunks_.reserve(count);
    if (timing) base_ = events(true, 1).front();
    for (uint32_t i = 0; i < count; ++i) {
        auto chunk = std::make_unique<Chunk>();
        const auto taken = events(timing, 3);
        chunk->in_end = taken[0];
        chunk->stages_end = taken[1];
        chunk->out_end = taken[2];
        chunks_.push_back(std::move(chunk));
    }
}

void Slots::give_chunks() noexcept {
    for (const auto& chunk : chunks_) {
        CUevent events[] = {chunk->in_end, chunk->stages_end, chunk->out_end};
        context_->give_events(timing_, events, 3);
    }
    chunks_.clear();
    if (base_) context_->give_events(true, &base_, 1);
    base_ = nullptr;
}

uint64_t Slots::pinned_bytes(const Plan& plan, const Needs& needs) noexcept {
    unsigned __int128 each = 0;
    if (needs.stage_in) each += needs.chunk_bytes;
    if (needs.stage_out) each += aligned(plan.output_bytes(needs.chunk_bytes), kResultAlign);
    if (needs.results) each += aligned(plan.result_bytes, kResultAlign);
    const auto all = each * needs.slots;
    return all > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(all);
}

void Slots::make_buffers(const Plan& plan, const Needs& wanted, Team& team) {
    if (wanted.chunk_bytes > chunk_bytes_ || wanted.slots > slots_) {
        // Buffers never shrink here: after some runs, they fit the needs of all of them.
        Needs needs = wanted;
        needs.slots = std::max(needs.slots, slots_);
        needs.chunk_bytes = std::max(needs.chunk_bytes, chunk_bytes_);
        const auto input = aligned(needs.chunk_bytes, kAlign);
        const auto output = aligned(plan.output_bytes(needs.chunk_bytes), kAlign);
        const auto scratch = aligned(plan.scratch_bytes, kAlign), result = aligned(plan.result_bytes, kAlign);
        const auto all = (input + output + scratch + result) * needs.slots;
        if (all > kMostMemory)
            fail(GPO_OUT_OF_MEMORY, needs.slots, " slots of ", needs.chunk_bytes,
                 " bytes are more than any device has memory for");
        free_buffers();
        DriverScope scope(*context_);
        const SerialisingScope serialising(context_->runtime(), Serialising::device_allocation);
        const auto bytes = static_cast<uint64_t>(all);
        context_->check_allocation(context_->table().cuMemAlloc(&device_memory_, bytes), "cuMemAlloc",
                                   {Context::Wanted::Where::device, bytes, "a pipeline"});
        chunk_bytes_ = needs.chunk_bytes;
        slots_ = needs.slots;
        stride_ = static_cast<uint64_t>(input + output + scratch + result);
        output_at_ = static_cast<uint64_t>(input);
        scratch_at_ = static_cast<uint64_t>(input + output);
        result_at_ = static_cast<uint64_t>(input + output + scratch);
        has_output_ = plan.has_output();
        has_scratch_ = plan.scratch_bytes != 0;
        has_result_ = plan.result_bytes != 0;
    }
    // Device buffers may be larger than this run's chunks. Pinned buffers are too costly for this.
    const bool staged = wanted.stage_in || wanted.stage_out;
    capacity_ = staged ? wanted.chunk_bytes : chunk_bytes_;
    input_stride_ = capacity_;
    output_stride_ = static_cast<uint64_t>(aligned(plan.output_bytes(capacity_), kResultAlign));
    result_stride_ = static_cast<uint64_t>(aligned(plan.result_bytes, kResultAlign));
    const struct {
        PinnedMemory& pinned;
        uint64_t bytes;
    } needs[] = {{pinned_in_, wanted.stage_in ? input_stride_ * wanted.slots : 0},
                 {pinned_out_, wanted.stage_out ? output_stride_ * wanted.slots : 0},
                 {pinned_results_, wanted.results ? result_stride_ * wanted.slots : 0}};
    uint64_t all = 0;
    for (const auto& [pinned, bytes] : needs) all += std::max(pinned.bytes(), bytes);
    for (const auto& [pinned, bytes] : needs)   // if all exceeds the bound, free buffers of earlier runs
        if (all > plan.pinned_share() && pinned.bytes() >= bytes + PinnedMemory::kPage) pinned.free();
    for (const auto& [pinned, bytes] : needs) need_pinned(pinned, bytes, team);
}

void Slots::need_pinned(PinnedMemory& pinned, uint64_t bytes, Team& team) {
    if (bytes <= pinned.bytes()) return;
    pinned.free();
    pinned.allocate(*context_, bytes, team);
}

void Slots::free_buffers() noexcept {
    if (device_memory_ != 0) {
        DriverTry scope(*context_);
        if (scope.entered()) Streams::of(*context_).blocking_calls().free_used_memory(device_memory_);
    }
    device_memory_ = 0;
    chunk_bytes_ = capacity_ = 0;
    slots_ = 0;
    pinned_in_.free();
    pinned_out_.free();
    pinned_results_.free();
}

Chunk& Slots::chunk(uint64_t number) noexcept {
    Chunk& chunk = record(number);
    chunk.slot = static_cast<uint32_t>(number % slots_used_);
    const uint64_t base = device_memory_ + chunk.slot * stride_;
    chunk.input = base;
    chunk.output = has_output_ ? base + output_at_ : 0;
    chunk.scratch = has_scratch_ ? base + scratch_at_ : 0;
    chunk.result = has_result_ ? base + result_at_ : 0;
    chunk.before = chunks_.size() > slots_used_ && number >= slots_used_ ? &record(number - slots_used_) : nullptr;
    chunk.stages.store(Chunk::kPending, std::memory_order_relaxed);
    chunk.dropped = chunk.error = nullptr;
    return chunk;
}

void* Slots::staging_in(const Chunk& chunk) const noexcept { return pinned_in_.at(chunk.slot * input_stride_); }
void* Slots::staging_out(const Chunk& chunk) const noexcept { return pinned_out_.at(chunk.slot * output_stride_); }
void* Slots::staging_result(const Chunk& chunk) const noexcept {
    return pinned_results_.at(chunk.slot * result_stride_);
}

// --- a chunk's way ---

void Slots::copy_in(Chunk& chunk) {
    CopyIn operation(*in_, chunk);
    submit(*in_, operation);
    chunk.last_in = in_->submission().accepted();
}

void Slots::begin_stages(Chunk& chunk, const Plan& plan) {
    BeginStages operation(*stages_, chunk, plan.result_bytes);
    submit(*stages_, operation);
}

void Slots::end_stages(Chunk& chunk) {
    EndStages operation(*stages_, chunk, out_);
    submit(*stages_, operation);
    chunk.last_of_stages = stages_->submission().accepted();
}

void Slots::copy_out(Chunk& chunk, const Plan& plan) {
    CopyOut operation(*out_, chunk, plan.result_bytes);
    submit(*out_, operation);
}

void Slots::seen_done(const Chunk& chunk) noexcept {
    in_->watched().seen_done(chunk.last_in);
    stages_->watched().seen_done(chunk.last_of_stages);
}

gpo_stream_t Slots::stages_handle() {
    if (handle_ == 0) {
        stages_->set_whole("a pipeline, and goes with it");
        handle_ = reinterpret_cast<uint64_t>(context_->runtime().publish<gpo_stream_t>(*stages_));
    }
    return reinterpret_cast<gpo_stream_t>(handle_);
}

void Slots::close() noexcept {
    if (handle_ != 0) handle::destroy(std::exchange(handle_, 0), Type::stream);
}

// --- times ---

void Slots::record_base() {
    RecordBase operation(base_);
    submit(*in_, operation);
}

bool Slots::elapsed(CUevent from, CUevent to, int64_t* nanoseconds) noexcept {
    float milliseconds = 0;
    if (context_->table().cuEventElapsedTime(&milliseconds, from, to) != CUDA_SUCCESS) return false;
    *nanoseconds = static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
    return true;
}

void Slots::move_base(Chunk& chunk) noexcept { std::swap(base_, chunk.in_end); }

}  // namespace gpo::pipeline
