#include "queue/scheduler/scheduler.h"

#include <algorithm>
#include <cstring>

#include "device/device.h"
#include "queue/scheduler/load_early.h"

namespace gpo {

namespace scheduler {

namespace {

FixedText<96> owner_of(const char* label) {
    if (!label || !*label) return fixed_text<96>("a scheduler");
    return fixed_text<96>("scheduler `", Runtime::cut_label(label), "`");
}

}  // namespace

Assets::Assets(Ref<DeviceQueue> of, const Plan& plan, Ref<Kernel> with, const FixedText<96>& owner)
    : queue(std::move(of)), kernel(std::move(with)),
      memory(make<queue::Memory>(Ref<Context>(&kernel->context()), Ref<gpo::Stream>(), owner)) {
    if (const FixedText<96> other = queue->claim(owner); *other.c_str())
        fail(GPO_INVALID_STATE, queue->describe(), " is served by ", other.c_str(), " already");
    try {
        if (!plan.of_graphs()) take_multiprocessors(plan);
        blocks = plan.of_graphs() ? 1 : multiprocessors * plan.blocks_per_multiprocessor + (plan.host_ring ? 1 : 0);
        block_bytes = sizeof(Block) + plan.handlers.size() * sizeof(Count);
        const uint64_t errors = plan.max_errors * sizeof(TaskError), samples = kSamples * sizeof(Sample);
        const uint64_t bytes = sizeof(Words) + samples + blocks * block_bytes + errors;
        work.words = memory->allocate(bytes);
        work.samples = work.words + sizeof(Words);
        work.blocks = work.samples + samples;
        work.errors = work.blocks + blocks * block_bytes;
        asked = new (memory->allocate_host(sizeof *asked)) std::atomic<uint32_t>(0);
        work.asked = reinterpret_cast<uint64_t>(asked);
        memory->clear(work.words, bytes);
        memory->wait();
    } catch (...) {
        memory->context().scheduled_multiprocessors.fetch_sub(multiprocessors, std::memory_order_relaxed);
        queue->unclaim();
        throw;
    }
    work.argument = plan.argument;
    work.idle_ns = plan.idle_ns;
    work.sample_ns = plan.sample_ns;
    work.handlers = static_cast<uint32_t>(plan.handlers.size());
    work.max_errors = plan.max_errors;
    work.batch = plan.batch;
}

Assets::~Assets() {
    memory->context().scheduled_multiprocessors.fetch_sub(multiprocessors, std::memory_order_relaxed);
    queue->unclaim();
}

// If the blocks of two schedulers didn't fit beside each other, one scheduler would wait for the other's end.
void Assets::take_multiprocessors(const Plan& plan) {
    const uint32_t all = kernel->limits().multiprocessors;
    if (plan.leave_free >= all)
        fail(GPO_INVALID_ARGUMENT, "options.leave_free is ", plan.leave_free, ", and the device has ", all,
             " multiprocessors");
    std::atomic<uint32_t>& scheduled = memory->context().scheduled_multiprocessors;
    uint32_t taken = scheduled.load(std::memory_order_relaxed), wanted = 0;
    do {
        const uint32_t left = all - std::min(all, taken + plan.leave_free);
        wanted = plan.multiprocessors == GPO_AUTO ? left : plan.multiprocessors;
        if (wanted == 0 || wanted > left)
            fail(GPO_LIMIT_EXCEEDED, "of ", all, " multiprocessors other schedulers have ", taken, ", and ",
                 plan.leave_free, " are to be left free: ", left, " remain, and ", std::max(wanted, 1u),
                 " are to be taken");
    } while (!scheduled.compare_exchange_weak(taken, taken + wanted, std::memory_order_relaxed));
    multiprocessors = wanted;
}

void Run::mark() {
    try {
        stream_.mark(Ref<CompletionHandler>(this));
    } catch (const std::exception& error) {
        if (!is_passing(error)) throw;
        retain();
        stream_.retain();
        try_again();
    }
}

void Run::try_again() noexcept { stream_.runtime().errands().post(*this, host::now() + Errands::kTryAgain); }

void Run::run() noexcept {
    try {
        // Another thread may be in the driver with the submit lock.
        const uint64_t deadline = host::now() + Submission::kBrief;
        if (!stream_.context().ended() && !stream_.mark_until(Ref<CompletionHandler>(this), deadline))
            return try_again();
    } catch (const std::exception& error) {
        if (is_passing(error)) return try_again();
        const auto* failure = dynamic_cast<const Failure*>(&error);
        Outcome outcome;
        outcome.error = failure ? failure->error() : bare_error(GPO_INTERNAL);
        on_completed(outcome);
    }
    const auto stream = Ref<Stream>::adopt(&stream_);
    release();
}

// The stream gives up the assets, which may have the only reference to the stream: if it is their queue's stream.
void Run::on_completed(const Outcome& outcome) noexcept {
    if (stream_.residence()) stream_.residence()->release_done(outcome.operation);
    error_ = outcome.error;
    ended_.store(true, std::memory_order_release);
    wake();
}

void Run::wake() noexcept {
    signal_.fetch_add(1, std::memory_order_seq_cst);
    host::wake_all(signal_);
}

namespace {

// The kernel. Throws if its blocks don't fit on a multiprocessor.
Ref<Kernel> compile(Device& device, const Plan& plan, const gpo_scheduler_options& options) {
    const std::string source = source_of(plan, options);
    gpo_compile_options compiled{};
    compiled.struct_size = sizeof compiled;
    compiled.source = source.c_str();
    compiled.source_bytes = source.size();
    compiled.file_name = options.file_name ? options.file_name : "handlers.cu";
    compiled.options = options.compile_options;
    compiled.option_count = options.compile_option_count;
    compiled.label = options.label;
    Ref<Module> module = compile_module(device, compiled);
    Function& function = module->function(kKernel);
    auto kernel = make<Kernel>(std::move(module), function, options.label ? options.label : "scheduler");
    if (plan.dynamic_shared) kernel->set_max_dynamic_shared(plan.dynamic_shared);
    const uint32_t fit = kernel->blocks_per_multiprocessor(plan.threads, plan.dynamic_shared);
    const uint32_t wanted = plan.blocks_per_multiprocessor + (plan.host_ring ? 1 : 0);
    if (fit < wanted)
        fail(GPO_LIMIT_EXCEEDED, wanted, " blocks of ", plan.threads, " threads are to be on a multiprocessor",
             plan.host_ring ? " (one hands out what the host posts)" : "", ", and of these handlers' ", fit, " fit");
    return kernel;
}

// The launch of a run: of a kernel or of a graph.
template <class Operation>
class Launch final : public Operation {
public:
    template <class... Arguments>
    explicit Launch(Ref<Assets> assets, Arguments&&... arguments)
        : Operation(std::forward<Arguments>(arguments)...), assets_(std::move(assets)) {}
    void issue(Stream& stream) override {
        stream.refuse_capture();
        if (stream.residence()) stream.residence()->keep(Ref<const Counted>(assets_));
        Operation::issue(stream);
    }
    bool add_to(Stream&, StreamRecording&) override { return false; }
    LearnableWork learnable() const noexcept override { return {}; }

private:
    const Ref<Assets> assets_;
};

gpo_launch launch_of(const Plan& plan, const Assets& assets, const char* label) {
    gpo_launch launch{};
    launch.struct_size = sizeof launch;
    launch.grid[0] = assets.blocks;
    launch.block[0] = plan.threads;
    launch.dynamic_shared_bytes = plan.dynamic_shared;
    launch.label = label;
    return launch;
}

}  // namespace

}  // namespace scheduler

using scheduler::Mode;

Ref<Scheduler> Scheduler::create(Device& device, gpo_device_t handle, const gpo_scheduler_options& options,
                                 const StructArray<gpo_handler>& handlers, uint32_t count, Ref<DeviceQueue> queue) {
    if (&queue->runtime() != &device.runtime())
        fail(GPO_INVALID_HANDLE, queue->describe(), " (options.queue) is of another runtime than the device");
    if (&queue->context() != &device.context())
        fail(GPO_INVALID_ARGUMENT, queue->describe(), " (options.queue) is of another device");
    const scheduler::Plan plan = scheduler::plan_of(options, handlers, count, *queue);
    scheduler::check_graphs(plan, device.context());
    auto kernel = scheduler::compile(device, plan, options);
    Ref<Stream> stream(queue->user());
    const bool own_stream = !stream;
    auto assets =
        make<scheduler::Assets>(std::move(queue), plan, std::move(kernel), scheduler::owner_of(options.label));
    if (plan.form == GPO_SCHEDULER_WHILE)
        scheduler::make_loop(*assets, scheduler::launch_of(plan, *assets, options.label), options.label);
    if (plan.of_graphs()) scheduler::make_step(*assets, plan, options.label);
    if (own_stream) {
        gpo_stream_options made{};
        made.struct_size = sizeof made;
        made.flags = GPO_STREAM_RESIDENT;
        scheduler::load_early(device.context());
        made.label = options.label ? options.label : "scheduler";
        stream = make<Stream>(device.context_ref(), handle, made);
        stream->announce();
    }
    return make<Scheduler>(options, plan, std::move(assets), std::move(stream), own_stream);
}

Scheduler::Scheduler(const gpo_scheduler_options& options, const scheduler::Plan& plan, Ref<scheduler::Assets> assets,
                     Ref<Stream> stream, bool own_stream)
    : Object(stream->runtime(), Type::scheduler, options.label), plan_(plan), assets_(std::move(assets)),
      stream_(std::move(stream)), own_stream_(own_stream) {}

// --- runs ---

Ref<scheduler::Run> Scheduler::newest() const {
    std::lock_guard lock(lock_);
    return run_;
}

void Scheduler::refuse_ended_queue() const {
    DeviceQueue& queue = *assets_->queue;
    const gpo_queue_info info = queue.info();
    if (info.state == GPO_QUEUE_ABORTED) fail(GPO_INVALID_STATE, queue.describe(), " was aborted: it has to be reset");
    if (info.state == GPO_QUEUE_CLOSED && !plan_.host_ring && info.done == info.pushed)
        fail(GPO_INVALID_STATE, queue.describe(), " is closed, and all its tasks are done: it has to be reset");
}

void Scheduler::launch(uint32_t run) {
    gpo_status status = GPO_SUCCESS;
    if (assets_->graph) {
        assets_->graph->set("run", &run, sizeof run);
        scheduler::Launch<LaunchGraph> operation(assets_, *assets_->graph, *stream_);
        status = stream_->submit(operation);
    } else {
        scheduler::Work work = assets_->work;
        work.run = run;
        const queue::HandleBytes queue = assets_->queue->handle();
        const void* const arguments[] = {&work, queue.bytes};
        const uint32_t sizes[] = {sizeof work, static_cast<uint32_t>(queue.size)};
        const gpo_launch shape = scheduler::launch_of(plan_, *assets_, label());
        scheduler::Launch<LaunchKernel> operation(assets_, *assets_->kernel, shape, arguments, sizes, 2u);
        status = stream_->submit(operation);
    }
    if (status != GPO_SUCCESS) fail(GPO_LIMIT_EXCEEDED, stream_->describe(), " holds as many operations as it may");
}

void Scheduler::start() {
    refuse_ended_queue();
    std::lock_guard starting(starting_);   // not lock_: the launch may have to wait for a copy in the driver
    if (const Ref<scheduler::Run> before = newest(); before && !before->ended())
        fail(GPO_INVALID_STATE, describe(), " runs already");
    if (destroyed_.load(std::memory_order_seq_cst)) fail(GPO_CANCELLED, describe(), " was destroyed");
    auto run = make<scheduler::Run>(++runs_, *stream_);
    launch(run->number);
    try {
        run->mark();
    } catch (...) {
        ask(*run, Mode::stop);
        throw;
    }
    {
        std::lock_guard lock(lock_);
        run_ = std::move(run);
    }
    // A thread that stops the scheduler meanwhile has set one of the two before it looked for the newest run.
    if (destroyed_.load(std::memory_order_seq_cst) || runtime().shutting_down()) stop_quietly();
}

void Scheduler::ask(scheduler::Run& run, Mode mode) {
    uint32_t before = run.asked.load(std::memory_order_relaxed);
    do {
        if (before >= static_cast<uint32_t>(mode)) return;
    } while (!run.asked.compare_exchange_weak(before, static_cast<uint32_t>(mode), std::memory_order_seq_cst));
    // The thread with the greater request may write before another thread. Each thread therefore writes the greatest.
    const uint64_t address = assets_->work.words + offsetof(scheduler::Words, mode);
    const auto write = [&](uint32_t asked) {
        assets_->asked->store(4 * run.number + asked, std::memory_order_release);
        assets_->memory->write(address, 4 * run.number + asked);
    };
    write(static_cast<uint32_t>(mode));
    const uint32_t newest = run.asked.load(std::memory_order_seq_cst);
    if (newest != static_cast<uint32_t>(mode)) write(newest);
}

void Scheduler::stop_quietly() noexcept {
    try {
        const Ref<scheduler::Run> run = newest();
        if (run && !run->ended()) ask(*run, Mode::stop);
    } catch (const std::exception&) {
        // The context is lost, or the driver refuses the write. The request doesn't reach the kernel.
    }
}

gpo_status Scheduler::wait_for(scheduler::Run& run, uint64_t deadline) {
    for (;;) {
        const uint32_t seen = run.signal().load(std::memory_order_seq_cst);
        if (run.ended()) break;
        if (destroyed_.load(std::memory_order_seq_cst)) fail(GPO_CANCELLED, describe(), " was destroyed");
        if (deadline == 0 || host::now() >= deadline) return GPO_TIMEOUT;
        host::wait(run.signal(), seen, deadline, host::Sleep::light);
    }
    if (run.error()) throw Failure(run.error());
    return GPO_SUCCESS;
}

gpo_status Scheduler::drain_run(uint64_t deadline) {
    const Ref<scheduler::Run> run = newest();
    if (!run) fail(GPO_INVALID_STATE, describe(), " was never started");
    if (!run->ended()) ask(*run, Mode::drain);
    if (wait_for(*run, deadline) != GPO_SUCCESS) return GPO_TIMEOUT;
    const scheduler::Words words = this->words();
    if (words.end_run == run->number && words.end == GPO_CANCELLED)
        fail(GPO_CANCELLED, describe(), " has ended with tasks left: it was stopped, or its queue aborted");
    return GPO_SUCCESS;
}

gpo_status Scheduler::stop_run(uint64_t deadline) {
    const Ref<scheduler::Run> run = newest();
    if (!run) return GPO_SUCCESS;
    if (!run->ended()) ask(*run, Mode::stop);
    return wait_for(*run, deadline);
}

gpo_status Scheduler::wait(uint64_t deadline) {
    const Ref<scheduler::Run> run = newest();
    return run ? wait_for(*run, deadline) : GPO_SUCCESS;
}

// --- the end ---

void Scheduler::destroyed() noexcept {
    destroyed_.store(true, std::memory_order_seq_cst);
    stop_quietly();
    if (const Ref<scheduler::Run> run = newest()) run->wake();
}

bool Scheduler::drain(uint64_t deadline) noexcept {
    try {
        const Ref<scheduler::Run> run = newest();
        return !run || wait_for(*run, deadline) == GPO_SUCCESS;
    } catch (...) {
        return true;  // the run failed, or the scheduler was destroyed: shutdown waits for the stream's last mark
    }
}

void Scheduler::shutdown_timed_out() noexcept {
    if (const Ref<scheduler::Run> run = newest()) run->wake();
}

// No call is inside any more. By its last mark, the scheduler's own stream stays until the run has ended.
void Scheduler::close() noexcept {
    if (own_stream_) static_cast<Object*>(stream_.leak())->release_handle();
}

}  // namespace gpo
