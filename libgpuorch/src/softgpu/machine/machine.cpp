#include "softgpu/machine/machine.h"

#include <algorithm>

#include "softgpu/machine/batch.h"

namespace gpo::softgpu {

namespace {

constexpr size_t kCommandChunk = 64, kMarkChunk = 128;

/// An unused staging block holds the link to the next.
struct FreeStaging {
    FreeStaging* next;
};

const char* const kEngineNames[kEngines] = {"gpo-soft-in", "gpo-soft-out", "gpo-soft-local"};

}  // namespace

void Device::start() {
    if (started.load(std::memory_order_acquire)) return;
    host::Lock hold(starting);
    if (started.load(std::memory_order_relaxed)) return;
    for (int i = 0; i < kEngines; ++i)
        if (!engines[i]) engines[i] = std::make_unique<Engine>(machine, kEngineNames[i], perform_copy);
    Multiprocessors::Options options;
    options.multiprocessors = machine.multiprocessors;
    if (!multiprocessors) multiprocessors = Multiprocessors::create(options);
    if (machine.rated.load(std::memory_order_acquire)) machine.need_clock();
    started.store(true, std::memory_order_release);
}

Machine::Machine(int count, uint64_t bytes_per_device, bool guard, const Rates& first_rates, uint32_t number)
    : incarnation(number),
      contexts(HandleKind::context, number),
      streams(HandleKind::stream, number * 7919),
      events(HandleKind::event, number * 7919),
      modules(HandleKind::module, number * 7919),
      functions(HandleKind::function, number * 7919),
      pools(HandleKind::pool, number * 7919),
      graphs(number * 7919),
      graph_execs(HandleKind::graph_exec, number * 7919),
      memory(count, bytes_per_device, guard),
      rates(first_rates),
      rated(first_rates.any()) {
    multiprocessors = std::max(8u, host::processors());
    next_context_id = uint64_t(number) << 32;
    for (int i = 0; i < count; ++i) {
        devices.push_back(std::make_unique<Device>(*this, i));
        Device& device = *devices.back();
        device.default_pool = pools.create();
        device.default_pool->device = i;
        device.default_pool->is_default = true;
        device.default_pool->readable = device.default_pool->writable = uint64_t(1) << i;
        device.graph_pool = pools.create();
        device.graph_pool->device = i;
        device.graph_pool->is_default = true;
        device.graph_pool->threshold = UINT64_MAX;   // only cuDeviceGraphMemTrim gives its memory back
        device.graph_pool->readable = device.graph_pool->writable = uint64_t(1) << i;
        device.primary = contexts.create();
        device.primary->device = &device;
        device.primary->primary = true;
    }
}

Machine::~Machine() {
    {
        Batch batch(*this);
        closing_ = true;
        batch.give_up_waits(nullptr);
    }
    // Wait for batches that are still submitting or waking threads: they use the members that are destroyed next.
    const auto settled = [&] {
        for (unsigned spins = 0; setting_off_.load(std::memory_order_acquire); ++spins) host::step(spins);
    };
    settled();
    for (auto& device : devices) device->multiprocessors.reset();
    for (auto& device : devices)
        for (auto& engine : device->engines) engine.reset();
    host_caller.reset();
    clock.reset();
    settled();
    for (auto& chunk : command_chunks_)
        for (size_t i = 0; i < kCommandChunk; ++i)
            if (chunk[i].staged) give_staging(reinterpret_cast<void*>(chunk[i].copy.source));
    // Destroy executables and graphs before the members that they refer to.
    graph_execs.for_each([](GraphExec& exec) { exec.run.reset(); });
    graphs.destroy_all();
    while (auto* block = static_cast<FreeStaging*>(free_staging_)) {
        free_staging_ = block->next;
        ::operator delete(block);
    }
}

void Machine::need_host_caller() {
    host::Lock starting(starting_);
    if (host_caller) return;
    auto engine = std::make_unique<Engine>(*this, "gpo-soft-host", perform_host_call);
    host::Lock hold(lock);
    host_caller = std::move(engine);
}

void Machine::need_clock() {
    host::Lock starting(starting_);
    if (clock) return;
    auto made = std::make_unique<Clock>(*this);
    host::Lock hold(lock);
    clock = std::move(made);
}

Command* Machine::take_command() {
    if (!free_commands_) {
        auto chunk = std::make_unique<Command[]>(kCommandChunk);
        command_chunks_.push_back(nullptr);
        for (size_t i = 0; i < kCommandChunk; ++i) {
            chunk[i].next = free_commands_;
            free_commands_ = &chunk[i];
        }
        command_chunks_.back() = std::move(chunk);
    }
    Command* command = free_commands_;
    free_commands_ = command->next;
    command->next = nullptr;
    return command;
}

void Machine::give_command(Command* command) noexcept {
    if (command->staged) give_staging(reinterpret_cast<void*>(command->copy.source));
    if (command->mark) release_mark(command->mark);
    for (Mark* mark : command->marks)
        if (mark) release_mark(mark);
    command->clear();
    command->next = free_commands_;
    free_commands_ = command;
}

void Machine::prepare(Command& command, Multiprocessors& multiprocessors, KernelLaunch asked) {
    asked.done = [this, &command](const KernelOutcome& outcome, Launches& ended) {
        kernel_done(command, outcome, ended);
    };
    asked.runtime = &kernel_calls;
    asked.command = &command;
    command.prepared = multiprocessors.prepare(std::move(asked));
}

void Machine::prepare_node(Command& command) {
    if (command.kind != CommandKind::kernel) return;
    prepare(command, *command.context->device->multiprocessors, command.launch);
}

std::shared_ptr<GraphRun> Machine::prepare_run(const Graph& graph) {
    auto run = std::make_shared<GraphRun>(graph);
    for (const auto& command : run->commands) prepare_node(*command);
    return run;
}

Mark* Machine::take_mark() {
    if (!free_marks_) {
        auto chunk = std::make_unique<Mark[]>(kMarkChunk);
        mark_chunks_.push_back(nullptr);
        for (size_t i = 0; i < kMarkChunk; ++i) {
            chunk[i].next_free = free_marks_;
            free_marks_ = &chunk[i];
        }
        mark_chunks_.back() = std::move(chunk);
    }
    Mark* mark = free_marks_;
    free_marks_ = mark->next_free;
    mark->done.store(0, std::memory_order_relaxed);
    mark->references = 1;
    mark->time = 0;
    mark->stream = 0;
    mark->frees = 0;
    mark->event = nullptr;
    mark->waiting = nullptr;
    return mark;
}

void Machine::release_mark(Mark* mark) noexcept {
    if (--mark->references) return;
    mark->next_free = free_marks_;
    free_marks_ = mark;
}

void* Machine::take_staging() {
    if (!free_staging_) return ::operator new(kStagedBytes);
    auto* block = static_cast<FreeStaging*>(free_staging_);
    free_staging_ = block->next;
    return block;
}

void Machine::give_staging(void* memory) noexcept {
    auto* block = static_cast<FreeStaging*>(memory);
    block->next = static_cast<FreeStaging*>(free_staging_);
    free_staging_ = block;
}

void Machine::finish(Command& command, CUresult result, const char* text) noexcept {
    Batch batch(*this);
    batch.completed(command, result, text);
}

void Machine::kernel_done(Command& command, const KernelOutcome& outcome, Launches& ended) noexcept {
    if (command.run) {   // for the next run
        ended.front().rewind();
        command.prepared = std::move(ended);
    }
    if (command.due && outcome.result == CUDA_SUCCESS && host::now() < command.due) {
        host::Lock hold(lock);
        if (!closing_ && clock) {
            const bool wake = clock->at_due_time(command);
            if (wake) setting_off_.fetch_add(1, std::memory_order_acq_rel);
            hold.unlock();
            if (wake) {
                clock->wake();
                setting_off_.fetch_sub(1, std::memory_order_acq_rel);
            }
            return;
        }
    }
    finish(command, outcome.result, outcome.text);
}

bool Machine::dropping(const Stream& stream) const noexcept {
    return closing_ || stream.context->dying || fault_code.load(std::memory_order_relaxed);
}

Stream* Machine::create_stream(Context& context, unsigned flags, int priority) {
    context.streams.reserve(context.streams.size() + 1);
    Stream* stream = streams.create();
    stream->context = &context;
    stream->flags = flags;
    stream->priority = priority;
    stream->legacy = stream->per_thread = stream->destroyed = stream->queued = false;
    stream->number = 0;
    stream->legacy_seen = 0;
    stream->legacy_joined = stream->submitted.load(std::memory_order_relaxed);
    context.streams.push_back(stream);
    return stream;
}

void Machine::destroy_stream(Batch& batch, Stream& stream) noexcept {
    streams.retire(&stream);
    stream.destroyed = true;
    stream.capture.reset();
    batch.ready(stream);   // recycled as soon as it is empty
}

void Machine::recycle_stream(Stream& stream) noexcept {
    stream.destroyed = false;
    std::erase(stream.context->streams, &stream);
    streams.recycle(&stream);
}

void Machine::destroy_event(Event& event) noexcept {
    if (event.mark) {
        if (event.mark->event == &event) event.mark->event = nullptr;
        release_mark(event.mark);
        event.mark = nullptr;
    }
    event.capture.reset();
    event.captured.clear();
    events.retire(&event);
    events.recycle(&event);
}

void Machine::set_record(Event& event, Mark& mark) noexcept {
    if (event.mark) {
        if (event.mark->event == &event) event.mark->event = nullptr;
        release_mark(event.mark);
    }
    event.capture.reset();
    event.captured.clear();
    event.mark = &mark;
    ++mark.references;
    mark.event = &event;
    event.recorded.fetch_add(1, std::memory_order_release);
}

void Machine::begin_context(Context& context) {
    live_contexts.reserve(live_contexts.size() + 1);
    context.legacy = create_stream(context, 0, kLeastPriority);
    context.legacy->legacy = true;
    context.dying = false;
    context.limits[CU_LIMIT_STACK_SIZE] = 1024;
    context.limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    context.limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    context.limits[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
    context.limits[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    context.limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
    context.limits[CU_LIMIT_PERSISTING_L2_CACHE_SIZE] = 0;
    context.id.store(++next_context_id, std::memory_order_release);
    context.alive.store(true, std::memory_order_release);
    live_contexts.push_back(&context);
}

void Machine::end_context(Context& context) {
    std::vector<std::pair<Stream*, uint64_t>> mine;
    {
        Batch batch(*this);
        for (Stream* stream : context.streams) mine.emplace_back(stream, stream->submitted.load());
        context.alive.store(false, std::memory_order_release);
        context.dying = true;
        batch.notify(context);
        batch.give_up_waits(&context);
        for (auto& item : mine) batch.ready(*item.first);
    }
    for (auto [stream, ticket] : mine) wait_ticket(*stream, ticket, true);
    {
        Batch batch(*this);
        while (!context.streams.empty()) {
            Stream& stream = *context.streams.back();
            if (!stream.destroyed) destroy_stream(batch, stream);
            batch.settle();   // takes it out of the list: it is empty
        }
        events.for_each([&](Event& event) {
            if (event.context == &context) destroy_event(event);
        });
        unload_modules(context);
        std::erase(live_contexts, &context);
        context.per_thread.clear();
        context.peers.clear();
        context.legacy = nullptr;
        for (Context* other : live_contexts) std::erase(other->peers, context.as<CUcontext>());
        {
            host::Lock hold(memory.lock);
            pools.for_all([&](Pool& pool) {
                pool.see_all_frees();
                if (pool.empty()) return;
                pool.forget(context.as<CUcontext>());
                settle_pool(pool);
            });
        }
        // Call this under the lock, because the primary context has the same handle when it is retained again.
        memory.forget(context.as<CUcontext>());
    }
    trim_wanted.store(true, std::memory_order_release);
    trim_pools();
}

void Machine::unload_modules(Context& context) noexcept {
    modules.for_each([&](Module& module) {
        if (module.context != &context) return;
        for (Function* function : module.functions) {
            functions.retire(function);
            functions.recycle(function);
        }
        module.functions.clear();
        module.image.reset();
        modules.retire(&module);
        modules.recycle(&module);
    });
}

void Machine::wait_ticket(Stream& stream, uint64_t ticket, bool strict) noexcept {
    stream.sleepers.fetch_add(1, std::memory_order_seq_cst);
    for (;;) {
        const uint32_t seen = stream.turns.load(std::memory_order_seq_cst);
        if (stream.completed.load(std::memory_order_seq_cst) >= ticket) break;
        if (!strict && fault_code.load(std::memory_order_acquire)) break;
        host::wait(stream.turns, seen);
    }
    stream.sleepers.fetch_sub(1, std::memory_order_release);
}

void Machine::wait_mark(Mark& mark) noexcept {
    mark.sleepers.fetch_add(1, std::memory_order_seq_cst);
    while (!mark.done.load(std::memory_order_seq_cst)) host::wait(mark.done, 0);
    mark.sleepers.fetch_sub(1, std::memory_order_release);
}

namespace {

using Tickets = std::vector<std::pair<Stream*, uint64_t>>;

template <class Wanted>
void pending_of(const Context& context, Tickets& tickets, Wanted wanted) {
    for (Stream* stream : context.streams)
        if (wanted(*stream) && !stream->idle())
            tickets.emplace_back(stream, stream->submitted.load(std::memory_order_relaxed));
}

}  // namespace

void Machine::wait_context(const Context* only) {
    Tickets tickets;
    {
        host::Lock hold(lock);
        for (const Context* context : live_contexts)
            if (!only || context == only) pending_of(*context, tickets, [](const Stream&) { return true; });
    }
    for (auto [stream, ticket] : tickets) wait_ticket(*stream, ticket, true);
}

void Machine::wait_running(const Context& context) noexcept {
    for (uint64_t newest = 0;;) {
        Stream* runs = nullptr;
        uint64_t ticket = 0;
        {
            host::Lock hold(lock);
            if (newest == 0) newest = begun;
            for (Stream* stream : context.streams) {
                const Command* current = stream->current;
                if (!current || current->begun > newest) continue;
                if (current->kind != CommandKind::kernel && current->kind != CommandKind::graph) continue;
                runs = stream;
                ticket = current->ticket;
                break;
            }
        }
        if (!runs) return;
        wait_ticket(*runs, ticket, true);
    }
}

void Machine::wait_blocking(const Context& context) {
    Tickets tickets;
    {
        host::Lock hold(lock);
        pending_of(context, tickets, [](const Stream& stream) { return stream.blocking(); });
    }
    for (auto [stream, ticket] : tickets) wait_ticket(*stream, ticket);
}

void Machine::settle_pool(Pool& pool) noexcept {
    if (pool.destroyed && pool.empty()) {
        pool.clear(memory);
        pools.recycle(&pool);
    } else if (pool.reserved > pool.threshold) {
        trim_wanted.store(true, std::memory_order_release);
    }
}

void Machine::see_frees(uintptr_t stream, uint64_t number) noexcept {
    if (!frees_unseen.load(std::memory_order_acquire)) return;
    host::Lock hold(lock);
    host::Lock space(memory.lock);
    bool unseen = false;
    pools.for_each([&](Pool& pool) {
        pool.see_frees(stream, number);
        unseen = unseen || pool.has_unseen_frees();
        if (pool.reserved > pool.threshold) trim_wanted.store(true, std::memory_order_release);
    });
    frees_unseen.store(unseen, std::memory_order_release);
}

void Machine::trim_pools() noexcept {
    if (!trim_wanted.load(std::memory_order_relaxed) || !trim_wanted.exchange(false)) return;
    host::Lock hold(lock);
    host::Lock space(memory.lock);
    pools.for_each([&](Pool& pool) {
        if (pool.reserved > pool.threshold) pool.trim(memory, pool.threshold);
    });
}

}  // namespace gpo::softgpu
