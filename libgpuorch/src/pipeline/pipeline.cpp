// The calls of a pipeline: create, start, wait, cancel, progress, destroy.
#include "pipeline/pipeline.h"

#include <algorithm>
#include <optional>
#include <system_error>

namespace gpo {

using namespace pipeline;

namespace {

constexpr uint32_t kDirectSlots = 3;   // enough where only events hand slots on
constexpr uint32_t kHostSlots = 4;     // … where host threads fill and empty slots
constexpr uint32_t kGivenSlots = 6;    // … and the user gave the chunk size, which may be small
constexpr uint64_t kLikelyChunk = uint64_t{16} << 20;
constexpr uint64_t kMuch = uint64_t{256} << 20, kLargeStaged = uint64_t{8} << 20;
constexpr uint32_t kLeastUnderWay = 8; // chunks put on the device ahead of time, where no host code handles them

Ref<Executor> executor_of(Runtime& runtime, const gpo_pipeline_options& options) {
    if (!options.executor) return nullptr;
    Pin<Executor> pinned(options.executor);
    if (&pinned->runtime() != &runtime)
        fail(GPO_INVALID_HANDLE, "options.executor: ", pinned->describe(), " is of another runtime");
    return pinned.ref();
}

constexpr uint32_t kMostDevices = 64;

std::vector<std::unique_ptr<Lane>> make_lanes(const Device& first, gpo_device_t handle, const char* label,
                                              const gpo_pipeline_options& options) {
    if (options.reserved != 0) fail(GPO_INVALID_ARGUMENT, "options.reserved is ", options.reserved, ", not 0");
    if ((options.devices == nullptr) != (options.device_count == 0))
        fail(GPO_INVALID_ARGUMENT, "options.device_count is ", options.device_count, ", and options.devices is ",
             options.devices ? "an array" : "NULL");
    if (options.device_count > kMostDevices)
        fail(GPO_INVALID_ARGUMENT, "options.device_count is ", options.device_count, ", not 1 to ", kMostDevices);
    std::vector<std::unique_ptr<Lane>> lanes;
    const std::string name = *label ? label : "pipeline";
    if (!options.devices) {
        lanes.push_back(std::make_unique<Lane>(first.context_ref(), handle, name));
        return lanes;
    }
    for (uint32_t i = 0; i < options.device_count; ++i) {
        const Pin<Device> device(options.devices[i]);
        if (&device->runtime() != &first.runtime())
            fail(GPO_INVALID_HANDLE, "options.devices[", i, "], ", device->describe(), ", is of another runtime");
        if (i == 0 && &device->context() != &first.context())
            fail(GPO_INVALID_ARGUMENT, "options.devices[0], ", device->describe(), ", is another device than ",
                 first.describe());
        for (uint32_t before = 0; before < i; ++before)
            if (lanes[before]->context->ordinal() == device->context().ordinal())
                fail(GPO_INVALID_ARGUMENT, "options.devices[", before, "] and options.devices[", i,
                     "] are the same device");
        lanes.push_back(std::make_unique<Lane>(
            device->context_ref(), options.devices[i],
            options.device_count == 1 ? name : text(name, "/", device->ordinal())));
    }
    return lanes;
}

std::vector<Ref<Context>> contexts_of(const std::vector<std::unique_ptr<Lane>>& lanes) {
    std::vector<Ref<Context>> contexts;
    for (const auto& lane : lanes) contexts.push_back(lane->context);
    return contexts;
}

}  // namespace

Pipeline::Crew::Crew(Runtime& of, const std::string& name)
    : runtime(of), in(name + "-src", team_helpers()), out(name + "-snk", team_helpers()) {}

void Pipeline::Crew::leave() noexcept {
    if (inside.fetch_sub(1, std::memory_order_acq_rel) == 1) runtime.errands().post(*this);
}

void Pipeline::Crew::run() noexcept {
    Runtime& of = runtime;
    delete this;
    of.lingering(-1);
}

Pipeline::Pipeline(const Device& device, gpo_device_t handle, const gpo_pipeline_options& options)
    : Object(device.runtime(), Type::pipeline, options.label), lanes_(make_lanes(device, handle, label(), options)),
      plan_(options, contexts_of(lanes_), device.runtime()),
      owner_{&device.runtime(), this, executor_of(device.runtime(), options)},
      cancelled_(make_error(GPO_CANCELLED, "the run of ", describe(), " was cancelled")), flow_(make<Flow>()),
      settled_(make<Settled>(flow_)), shares_(lanes_.size()) {
    flow_->lanes.resize(lanes_.size());
}

Pipeline::~Pipeline() {
    for (const auto& lane : lanes_) lane->slots.close();
}

// --- start ---

void Pipeline::start(const gpo_source& source, const gpo_sink& sink) {
    {
        host::Lock lock(flow_->lock);
        if (flow_->running || flow_->starting) fail(GPO_INVALID_STATE, describe(), " is running");
        flow_->starting = true;
    }
    std::unique_ptr<Run> run;
    try {
        for (const auto& lane : lanes_)
            if (lane->context->lost()) throw Failure(lane->context->loss());
        start_threads();
        run = make_run(source, sink);
    } catch (...) {
        host::Lock lock(flow_->lock);
        flow_->starting = false;
        throw;
    }
    {
        host::Lock lock(flow_->lock);
        begin(std::move(run));
    }
    // A shutdown either has cancelled this run, or looked for runs before it began: then the flag is set here.
    if (runtime().shutting_down()) stop_run(cancelled_);
}

// Under the lock of the flow.
void Pipeline::begin(std::unique_ptr<Run> run) noexcept {
    Flow& flow = *flow_;
    flow.starting = false;
    run_ = std::move(run);
    flow.run = run_.get();
    flow.running = flow.busy = true;
    flow.stopping = flow.input_ended = false;
    flow.submitted = flow.consumed = 0;
    for (Flow::Lane& lane : flow.lanes) lane = {};
    flow.turn = 0;
    flow.failure = nullptr;
    flow.bytes_in = flow.bytes_done = flow.chunks_done = 0;
    flow.bytes_total = run_->source->total();
    flow.started_ns = flow.ended_ns = run_->reported_ns = host::now();
    ++flow.runs;
    self_ = Ref<Pipeline>(this);
    flow.parked.notify_all();
}

std::unique_ptr<pipeline::Run> Pipeline::make_run(const gpo_source& source, const gpo_sink& sink) {
    auto run = std::make_unique<Run>();
    run->source = open_source(source, *lanes_.front()->context, owner_, crew_->in);
    run->sink = open_sink(sink, *lanes_.front()->context, crew_->out);
    run->take = sink.take;
    run->user = sink.user;
    choose_needs(*run);
    return run;
}

void Pipeline::choose_needs(Run& run) {
    Needs& needs = run.needs;
    run.automatic = plan_.chunk_bytes == GPO_AUTO;
    needs.stage_in = !run.source->direct();
    needs.stage_out = plan_.has_output() && run.sink->wants_output() && !run.sink->direct();
    needs.results = run.take && plan_.result_bytes != 0;
    needs.timing = plan_.timing;
    const bool host_code = needs.stage_in || needs.stage_out || run.take || plan_.has_stage_callbacks;
    needs.slots = plan_.slots != GPO_AUTO ? plan_.slots
                  : !host_code             ? kDirectSlots
                  : run.automatic          ? kHostSlots
                                           : kGivenSlots;
    needs.chunks = host_code ? needs.slots : std::max(2 * needs.slots, kLeastUnderWay);
    run.lanes.resize(lanes_.size());
    if (needs.timing)
        for (LaneTimes& lane : run.lanes) lane.ends.resize(needs.slots);

    if (run.automatic) {
        // Pinned memory takes time to make: staged chunks are larger than the trials' chunks only for large inputs.
        const bool staged = needs.stage_in || needs.stage_out;
        const uint64_t total = run.source->total() / lanes_.size();  // for each device
        uint64_t limit = !staged ? Tuning::kMost : total >= kMuch ? kLargeStaged : Tuning::kLargeTrial;
        needs.chunk_bytes = std::max(limit / plan_.granule, uint64_t{1}) * plan_.granule;
        while (Slots::pinned_bytes(plan_, needs) > plan_.pinned_share() && needs.chunk_bytes > plan_.granule) {
            limit = needs.chunk_bytes / 2;
            needs.chunk_bytes = std::max(limit / plan_.granule, uint64_t{1}) * plan_.granule;
        }
        flow_->tuning.begin(total, plan_.granule, std::max(needs.chunk_bytes, plan_.granule));
        needs.chunk_bytes = flow_->tuning.foreseen();
        // When buffers grow, the run waits until the device is empty. Device memory is cheap: without staging, the
        // buffers get the likely size of the choice at once.
        if (!needs.stage_in && !needs.stage_out && flow_->tuning.measuring())
            needs.chunk_bytes = std::max(
                needs.chunk_bytes, std::min(kLikelyChunk, total / 16) / plan_.granule * plan_.granule);
    } else {
        needs.chunk_bytes = plan_.chunk_bytes;
    }
    const uint64_t pinned = Slots::pinned_bytes(plan_, needs);
    if (pinned > plan_.pinned_share())
        fail(GPO_LIMIT_EXCEEDED, needs.slots, " slots of ", needs.chunk_bytes, " bytes need ", pinned,
             " bytes of pinned memory", lanes_.size() > 1 ? text(" on each of ", lanes_.size(), " devices") : "",
             ", and max_pinned_bytes is ", plan_.max_pinned_bytes);
}

void Pipeline::start_threads() {
    if (crew_) return;
    auto crew = std::make_unique<Crew>(runtime(), "gpo-pipe");
    Crew& all = *crew;
    try {
        all.reader = host::Thread("gpo-pipe-src", [flow = flow_, this, &all] {
            reading(flow, this);
            all.leave();
        });
        all.writer = host::Thread("gpo-pipe-snk", [flow = flow_, this, &all] {
            writing(flow, this);
            all.leave();
        });
    } catch (...) {
        // End the reading thread if it has started.
        {
            host::Lock lock(flow_->lock);
            flow_->dismissed = true;
            flow_->parked.notify_all();
        }
        crew.reset();
        {
            host::Lock lock(flow_->lock);
            flow_->dismissed = false;
        }
        try {
            throw;
        } catch (const std::system_error& error) {
            fail(GPO_LIMIT_EXCEEDED, "no thread is left for ", describe(), ": ", error.what());
        }
    }
    crew_ = std::move(crew);
    runtime().lingering(1);
}

// --- asking and waiting ---

gpo_status Pipeline::wait(uint64_t deadline, gpo_pipeline_result* result, ErrorPtr* error) {
    if (Runtime::in_callback_of(this)) fail(GPO_WOULD_DEADLOCK, "a callback of ", describe(), " can't wait for it");
    host::Lock lock(flow_->lock);
    if (flow_->runs == 0) fail(GPO_INVALID_STATE, describe(), " was never started");
    if (!flow_->running) {
        *result = result_;
        *error = error_;
        return GPO_SUCCESS;
    }
    const auto self = std::make_unique<Waiting>(Waiting{waiting_});
    waiting_ = self.get();
    std::optional<Runtime::Blocking> blocking;
    if (host::now() < deadline) blocking.emplace(runtime());
    if (!flow_->ended.wait(lock, deadline, [&] { return self->ended; })) {
        Waiting** at = &waiting_;
        while (*at != self.get()) at = &(*at)->next;
        *at = self->next;
        return GPO_TIMEOUT;
    }
    *result = self->result;
    *error = std::move(self->error);
    return GPO_SUCCESS;
}

void Pipeline::cancel() { stop_run(cancelled_); }

gpo_status Pipeline::notify(CompletionQueue& queue, uint64_t user_data) {
    if (&queue.runtime() != &runtime()) fail(GPO_INVALID_HANDLE, queue.describe(), " is of another runtime");
    const auto entry = make<QueueEntry>(queue, user_data, uint32_t{GPO_ORIGIN_PIPELINE});
    if (!queue.reserve()) return GPO_WOULD_BLOCK;
    try {
        if (runtime().shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
        then(entry);
    } catch (...) {
        queue.unreserve();
        throw;
    }
    return GPO_SUCCESS;
}

void Pipeline::then(Ref<CompletionHandler> target) {
    Outcome outcome;
    {
        host::Lock lock(flow_->lock);
        if (flow_->runs == 0) fail(GPO_INVALID_STATE, describe(), " was never started");
        if (flow_->running) notices_.reserve(notices_.size() + 1);
        runtime().counters.notifies.fetch_add(1, std::memory_order_relaxed);
        const uint64_t now = host::now();
        if (flow_->running) {
            notices_.push_back({std::move(target), now});
            return;
        }
        outcome.error = error_;
        outcome.submitted_ns = outcome.completed_ns = now;
    }
    target->on_completed(outcome);
}

gpo_pipeline_progress Pipeline::progress() {
    host::Lock lock(flow_->lock);
    return progress_locked();
}

gpo_pipeline_share Pipeline::share(uint32_t device) {
    if (device >= lanes_.size())
        fail(GPO_INVALID_ARGUMENT, describe(), " has ", lanes_.size(), lanes_.size() == 1 ? " device" : " devices",
             ", and none with number ", device);
    host::Lock lock(flow_->lock);
    if (shares_[device].struct_size == 0) fail(GPO_INVALID_STATE, "no run of ", describe(), " has ended");
    return shares_[device];
}

gpo_pipeline_progress Pipeline::progress_locked() const noexcept {
    const Flow& flow = *flow_;
    gpo_pipeline_progress out{};
    out.struct_size = sizeof out;
    out.running = flow.running;
    out.bytes_in = flow.bytes_in;
    out.bytes_done = flow.bytes_done;
    out.bytes_total = flow.bytes_total;
    out.chunks_done = flow.chunks_done;
    out.elapsed_ns = (flow.running ? host::now() : flow.ended_ns) - flow.started_ns;
    return out;
}

// --- ending ---

void Pipeline::stop_run(ErrorPtr error) noexcept {
    Flow& flow = *flow_;
    {
        host::Lock lock(flow.lock);
        if (!flow.running || flow.stopping) return;
        flow.stopping = true;
        flow.failure = std::move(error);
        if (flow.run) {
            flow.run->source->interrupt();
            flow.run->sink->interrupt();
        }
        flow.room.notify_all();
        flow.arrived.notify_all();
    }
    // A stage callback may have made the stages wait for a timeline value that never comes. Later stages, which the
    // reading thread may be about to submit, must not run without the dropped wait: the stream fails.
    for (Flow::Lane& lane : flow.lanes) {
        Ref<Stream> stages;
        {
            host::Lock lock(flow.lock);
            stages = lane.stages;
        }
        if (stages) stages->held().fail(cancelled_);
    }
}

void Pipeline::stop() noexcept { stop_run(cancelled_); }

// Cancels at once: a thread inside wait() would keep close() from being called.
void Pipeline::destroyed() noexcept { stop_run(cancelled_); }

bool Pipeline::drain(uint64_t deadline) noexcept {
    host::Lock lock(flow_->lock);
    return flow_->ended.wait(lock, deadline, [&] { return !flow_->busy; });
}

void Pipeline::close() noexcept {
    bool idle;
    {
        host::Lock lock(flow_->lock);
        flow_->closing = true;
        idle = !flow_->running;
    }
    if (idle)
        dismiss();
    else
        stop_run(cancelled_);
}

void Pipeline::dismiss() noexcept {
    {
        host::Lock lock(flow_->lock);
        flow_->dismissed = true;
        flow_->parked.notify_all();
    }
    for (const auto& lane : lanes_) lane->slots.close();
    if (crew_) crew_.release()->leave();
}

ErrorPtr Pipeline::error_in_flight() noexcept {
    try {
        throw;
    } catch (const Failure& failure) {
        return failure.error();
    } catch (const std::bad_alloc&) {
        return bare_error(GPO_OUT_OF_MEMORY);
    } catch (const std::system_error& error) {  // the system has no thread or descriptor left
        return make_error(GPO_LIMIT_EXCEEDED, describe(), ": ", error.what());
    } catch (const std::exception& error) {
        return make_error(GPO_INTERNAL, describe(), ": ", error.what());
    } catch (...) {
        return make_error(GPO_INTERNAL, describe(), ": an exception of an unknown type");
    }
}

gpo_chunk Pipeline::describe_chunk(const Chunk& chunk) const noexcept {
    gpo_chunk out{};
    out.struct_size = sizeof out;
    out.slot = chunk.slot;
    out.index = chunk.index;
    out.offset = chunk.offset;
    out.bytes = chunk.bytes;
    out.output_offset = chunk.output_offset;
    out.output_bytes = chunk.output_bytes;
    out.input_address = chunk.input;
    out.output_address = chunk.output;
    out.scratch_address = chunk.scratch;
    out.result_address = chunk.result;
    out.device = chunk.device;
    return out;
}

}  // namespace gpo
