#include "softgpu/machine/batch.h"

#include <utility>

#include "host/fence.h"

namespace gpo::softgpu {

namespace {

/// Adds to `due` what the modelled device would need for a kernel; kernels of a device take turns.
uint64_t kernel_due(const Rates& rates, Device& device, const KernelLaunch& launch) {
    const uint64_t begin = std::max(host::now(), device.kernels_busy_until);
    double threads = double(launch.grid.x) * launch.grid.y * launch.grid.z;
    threads *= double(launch.block.x) * launch.block.y * launch.block.z;
    uint64_t busy = rates.kernel_launch_ns + rates.kernel_ns;
    if (rates.kernel_threads_per_s > 0) busy += uint64_t(threads / rates.kernel_threads_per_s * 1e9 + 0.5);
    return device.kernels_busy_until = begin + busy;
}

}  // namespace

Context& context_of(const Command& command) noexcept {
    return command.context ? *command.context : *command.stream->context;
}

void Batch::ready(Stream& stream) noexcept {
    if (stream.queued || stream.current) return;
    stream.queued = true;
    stream.next_ready = nullptr;
    (ready_last_ ? ready_last_->next_ready : ready_first_) = &stream;
    ready_last_ = &stream;
}

void Batch::append(Stream& stream, Command& command) noexcept {
    command.stream = &stream;
    command.next = nullptr;
    command.ticket = stream.submitted.load(std::memory_order_relaxed) + 1;
    stream.submitted.store(command.ticket, std::memory_order_release);
    (stream.head ? stream.tail->next : stream.head) = &command;
    stream.tail = &command;
    ready(stream);
}

void Batch::wake_later(std::atomic<uint32_t>& word) noexcept {
    if (wake_count_ < kWakes) wakes_[wake_count_++] = &word;
    else host::wake_all(word);
}

void Batch::wake_waiters(Stream& stream) noexcept {
    if (!stream.sleepers.load(std::memory_order_seq_cst)) return;
    stream.turns.fetch_add(1, std::memory_order_release);
    wake_later(stream.turns);
}

void Batch::push(Engine* engine, Command& command) noexcept {
    if (!engine->push(command)) return;
    if (engine_count_ < int(std::size(engines_))) engines_[engine_count_++] = engine;
    else engine->wake();
}

void Batch::mark_done(Mark& mark) noexcept {
    mark.time = host::now();
    if (Event* event = mark.event) {
        event->time = mark.time;
        event->completed.store(event->recorded.load(std::memory_order_relaxed), std::memory_order_release);
    }
    mark.done.store(1, std::memory_order_seq_cst);
    if (mark.sleepers.load(std::memory_order_seq_cst)) wake_later(mark.done);
    if (mark.event) notify(*mark.event->context);
    while (Command* command = mark.waiting) {
        mark.waiting = std::exchange(command->next, woken_);
        woken_ = command;
    }
}

void Batch::notify(const Context& context) noexcept {
    host::light_fence();
    for (driver::Listener* listener : machine_.listeners) {
        if (!listener->listening.load(std::memory_order_seq_cst) || listener->context != context.as<CUcontext>())
            continue;
        listener->listening.store(false, std::memory_order_relaxed);
        listener->signal.fetch_add(1, std::memory_order_seq_cst);
        wake_later(listener->signal);
    }
}

void Batch::retire(Stream& stream) noexcept {
    Command& command = *stream.current;
    if (command.kind == CommandKind::graph) end_run(command);
    stream.current = nullptr;
    stream.completed.store(command.ticket, std::memory_order_seq_cst);
    machine_.give_command(&command);
    wake_waiters(stream);
}

void Batch::start_kernel(Command& command, Device& device) noexcept {
    if (machine_.rates.kernels()) command.due = kernel_due(machine_.rates, device, command.prepared.front().request);
    command.next_launch = nullptr;
    *kernels_last_ = &command;
    kernels_last_ = &command.next_launch;
}

Batch::Started Batch::start(Command& command) noexcept {
    Device& device = *context_of(command).device;
    switch (command.kind) {
        case CommandKind::nothing:
        case CommandKind::child: return Started::done;
        case CommandKind::kernel: start_kernel(command, device); return Started::running;
        case CommandKind::copy: push(device.engines[int(command.copy.engine)].get(), command); return Started::running;
        case CommandKind::fill: push(device.engines[int(EngineKind::local)].get(), command); return Started::running;
        case CommandKind::record: mark_done(*command.mark); return Started::done;
        case CommandKind::wait:
            if (!command.mark || command.mark->done.load(std::memory_order_relaxed)) return Started::done;
            command.next = std::exchange(command.mark->waiting, &command);
            return Started::running;
        case CommandKind::host_call: push(machine_.host_caller.get(), command); return Started::running;
        case CommandKind::write_value:
            __atomic_store_n(reinterpret_cast<uint32_t*>(command.address), command.value, __ATOMIC_SEQ_CST);
            if (machine_.clock) wake_clock_ = true;
            return Started::done;
        case CommandKind::wait_value:
            if (value_holds(command)) return Started::done;
            if (machine_.clock->when_value_holds(command)) wake_clock_ = true;
            return Started::running;
        case CommandKind::allocation: {
            host::Lock hold(machine_.memory.lock);
            command.pool->reach_allocation(command.address);
            return Started::done;
        }
        case CommandKind::release: drop(command); return Started::done;
        case CommandKind::graph: return start_run(command);
        case CommandKind::conditional: return decide(command, false);
    }
    return Started::done;
}

/// Ends a command that won't run: marks it as done, so that other commands don't wait for it, and releases its memory.
void Batch::drop(Command& command) noexcept {
    if (command.kind == CommandKind::record) {
        mark_done(*command.mark);
    } else if (command.kind == CommandKind::release) {
        host::Lock hold(machine_.memory.lock);
        if (!command.pool) return machine_.memory.reach_free(command.address, command.free_id);
        Pool& pool = *command.pool;
        pool.reach_free(command.address, command.free_id);
        machine_.settle_pool(pool);
    }
}

void Batch::advance(Stream& stream) noexcept {
    while (!stream.current && stream.head) {
        Command& command = *stream.head;
        stream.head = command.next;
        if (!stream.head) stream.tail = nullptr;
        command.next = nullptr;
        stream.current = &command;
        command.begun = ++machine_.begun;
        if (machine_.dropping(stream)) drop(command);
        else if (start(command) == Started::running) return;
        retire(stream);
    }
    if (stream.destroyed && !stream.current && !stream.queued) machine_.recycle_stream(stream);
}

void Batch::begin_run(Command& command) noexcept {
    GraphRun& run = *command.graph;
    run.begin(command);
    for (size_t i = 0; i < command.marks.size(); ++i) run.commands[run.shape->events[i]]->mark = command.marks[i];
}

/// Marks the graph's events as done, even if the run never began: their waiters would otherwise never return.
void Batch::end_run(Command& command) noexcept {
    GraphRun& run = *command.graph;
    const bool begun = run.owner == &command;
    if (begun) run.owner = nullptr;
    for (size_t i = 0; i < command.marks.size(); ++i) {
        Command& node = *run.commands[run.shape->events[i]];
        if (begun) node.mark = nullptr;
        if (node.kind == CommandKind::record && !command.marks[i]->done.load(std::memory_order_relaxed))
            mark_done(*command.marks[i]);
    }
    mark_done(*command.mark);
}

bool Batch::advance_run(GraphRun& run) noexcept {
    while (!run.startable.empty() && !machine_.dropping(*run.owner->stream)) {
        const uint32_t node = run.startable.back();
        run.startable.pop_back();
        ++run.in_flight;
        const Started started = run.disabled[node] ? Started::done : start(*run.commands[node]);
        if (started == Started::running) continue;
        --run.in_flight;
        if (started == Started::done) node_done(run, node);
    }
    return run.in_flight == 0;
}

void Batch::completed(Command& ended, CUresult result, const char* text) noexcept {
    if (result != CUDA_SUCCESS && !machine_.closing_) fail(ended, result, text);
    Command* const over = ended.kind == CommandKind::kernel ? grid_ended(ended) : &ended;
    if (!over) return;  // the kernel's children or a parent grid still run
    Command& command = *over;
    Stream& stream = *command.stream;
    if (GraphRun* run = command.run) {
        --run->in_flight;
        run->moved = true;
        if (command.kind != CommandKind::conditional) node_done(*run, command.node);
        else repeat(command);
        if (!advance_run(*run) || !finish_run(*run)) return;
    }
    retire(stream);
    ready(stream);
}

void Batch::fail(const Command& command, CUresult result, const char* text) noexcept {
    if (machine_.fault_code.load(std::memory_order_relaxed)) return;
    machine_.fault_code.store(result, std::memory_order_release);
    const Stream& stream = *command.stream;
    try {
        driver::Fault fault;
        fault.result = result;
        fault.stream = stream.legacy ? nullptr : stream.as<CUstream>();
        fault.number = command.run ? command.run->owner->number : command.number;
        machine_.fault = fault;   // the texts are less sure to find room than the rest
        if (command.kind == CommandKind::kernel && command.launch_kernel)
            machine_.fault->kernel = command.launch_kernel->name;
        machine_.fault->text = text;
    } catch (...) {
    }
    stop_multiprocessors_ = true;
    give_up_waits(nullptr);
    machine_.streams.for_each([&](Stream& each) { wake_waiters(each); });
    machine_.events.for_each([&](Event& event) {
        // Wake the waiters of records behind work that never ends.
        if (event.mark && !event.mark->done.load()) mark_done(*event.mark);
    });
}

void Batch::give_up_waits(const Context* only) noexcept {
    if (machine_.clock)
        for (Command* command = machine_.clock->take_watched(only); command;) {
            Command* next = command->next;
            completed(*command, CUDA_SUCCESS, "");
            command = next;
        }
    for (auto& context : machine_.live_contexts) {
        if (only && context != only) continue;
        for (Stream* stream : context->streams) {
            if (!stream->current) continue;
            const bool ordered = only && (stream->current->flags & kWaitsForLaunch);
            if (stream->current->kind == CommandKind::wait && !ordered) give_up_wait(*stream->current);
            else if (const std::shared_ptr<GraphRun> run = stream->current->graph)   // may end by that
                for (uint32_t node : run->shape->events) give_up_wait(*run->commands[node]);
        }
    }
}

void Batch::give_up_wait(Command& command) noexcept {
    if (command.kind != CommandKind::wait || !command.mark) return;
    Command** at = &command.mark->waiting;
    while (*at && *at != &command) at = &(*at)->next;
    if (!*at) return;   // it doesn't wait, or not any more
    *at = command.next;
    completed(command, CUDA_SUCCESS, "");
}

void Batch::settle() noexcept {
    while (woken_ || ready_first_) {
        if (Command* command = woken_) {
            woken_ = command->next;
            completed(*command, CUDA_SUCCESS, "");
            continue;
        }
        Stream* stream = ready_first_;
        ready_first_ = stream->next_ready;
        if (!ready_first_) ready_last_ = nullptr;
        stream->queued = false;
        advance(*stream);
    }
}

void Batch::finish() noexcept {
    if (finished_) return;
    finished_ = true;
    settle();
    if (!kernels_ && !wake_count_ && !engine_count_ && !wake_clock_ && !stop_multiprocessors_) {
        lock_.unlock();
        return;
    }
    machine_.setting_off_.fetch_add(1, std::memory_order_acq_rel);
    lock_.unlock();
    for (Command* command = kernels_; command;) {
        Command* next = command->next_launch;
        Multiprocessors& multiprocessors = *context_of(*command).device->multiprocessors;
        multiprocessors.submit(std::move(command->prepared));
        command = next;
    }
    if (stop_multiprocessors_ || (kernels_ && machine_.fault_code.load(std::memory_order_acquire))) {
        const CUresult code = CUresult(machine_.fault_code.load(std::memory_order_acquire));
        for (auto& device : machine_.devices)
            if (device->started.load(std::memory_order_acquire)) device->multiprocessors->stop_all(code);
    }
    for (int i = 0; i < engine_count_; ++i) engines_[i]->wake();
    if (wake_clock_) machine_.clock->wake();
    for (int i = 0; i < wake_count_; ++i) host::wake_all(*wakes_[i]);
    machine_.setting_off_.fetch_sub(1, std::memory_order_acq_rel);
}

}  // namespace gpo::softgpu
