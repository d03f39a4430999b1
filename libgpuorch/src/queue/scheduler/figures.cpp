// A scheduler's figures, read from its words on the device.
#include <algorithm>
#include <cstring>

#include "queue/scheduler/scheduler.h"

namespace gpo {

namespace {

using scheduler::Block;
using scheduler::Count;

// The rows of all blocks: a Block with its Counts each.
class Rows {
public:
    Rows(const std::vector<std::byte>& bytes, uint64_t each) noexcept : bytes_(bytes), each_(each) {}
    uint64_t blocks() const noexcept { return bytes_.size() / each_; }
    Block block(uint64_t number) const noexcept { return read<Block>(number * each_); }
    Count count(uint64_t block, uint64_t handler) const noexcept {
        return read<Count>(block * each_ + sizeof(Block) + handler * sizeof(Count));
    }
    Count sum(uint64_t block) const noexcept {
        Count out{};
        for (uint64_t handler = 0; handler < handlers(); ++handler) add(out, count(block, handler));
        return out;
    }
    uint64_t handlers() const noexcept { return (each_ - sizeof(Block)) / sizeof(Count); }
    static void add(Count& to, const Count& more) noexcept {
        to.tasks += more.tasks;
        to.errors += more.errors;
        to.busy_ns += more.busy_ns;
    }

private:
    template <class T>
    T read(uint64_t offset) const noexcept {
        T out;
        std::memcpy(&out, bytes_.data() + offset, sizeof out);
        return out;
    }
    const std::vector<std::byte>& bytes_;
    const uint64_t each_;
};

template <class T>
T sized() noexcept {
    T out{};
    out.struct_size = sizeof out;
    return out;
}

}  // namespace

scheduler::Words Scheduler::words() const {
    scheduler::Words out;
    assets_->memory->copy_out(&out, assets_->work.words, sizeof out);
    return out;
}

std::vector<std::byte> Scheduler::block_rows() const {
    std::vector<std::byte> out(assets_->blocks * assets_->block_bytes);
    assets_->memory->copy_out(out.data(), assets_->work.blocks, out.size());
    return out;
}

gpo_scheduler_info Scheduler::info() {
    gpo_scheduler_info out = sized<gpo_scheduler_info>();
    const Ref<scheduler::Run> run = newest();
    const bool runs = run && !run->ended();
    const scheduler::Words words = this->words();
    const std::vector<std::byte> bytes = block_rows();
    const Rows rows(bytes, assets_->block_bytes);
    out.form = plan_.form;
    out.state = runs ? GPO_SCHEDULER_RUNNING + run->asked.load(std::memory_order_relaxed) : GPO_SCHEDULER_READY;
    out.last_end = words.end_run == 0 || (runs && run->number == 1) ? GPO_NOT_READY : words.end;
    // A while node makes at most 2^32 - 1 turns.
    if (run && !runs && words.end_run != run->number) out.last_end = GPO_LIMIT_EXCEEDED;
    out.runs = run ? run->number : 0;
    out.errors = words.errors;
    out.refused_pushes = words.refused_pushes;
    out.steps = words.steps;
    out.depth = assets_->queue->info().depth;
    for (uint64_t i = 0; i < rows.blocks(); ++i) {
        const Block block = rows.block(i);
        const Count sum = rows.sum(i);
        out.tasks += sum.tasks + block.unknown;
        out.busy_ns += sum.busy_ns;
        out.empty_polls += block.empty_polls;
        out.worker_ns += block.worker_ns;
    }
    out.multiprocessors = assets_->multiprocessors;
    out.blocks = assets_->blocks;
    out.workers = plan_.of_graphs() ? 0 : (out.blocks - (plan_.host_ring ? 1 : 0)) * plan_.workers_of_block();
    out.handlers = static_cast<uint32_t>(plan_.handlers.size());
    out.device_bytes = assets_->memory->device_bytes();
    return out;
}

gpo_handler_info Scheduler::handler_info(uint32_t handler) {
    if (handler >= plan_.handlers.size())
        fail(GPO_INVALID_ARGUMENT, "handler is ", handler, ", and ", describe(), " has ", plan_.handlers.size());
    const std::vector<std::byte> bytes = block_rows();
    const Rows rows(bytes, assets_->block_bytes);
    Count sum{};
    for (uint64_t i = 0; i < rows.blocks(); ++i) Rows::add(sum, rows.count(i, handler));
    gpo_handler_info out = sized<gpo_handler_info>();
    out.tasks = sum.tasks;
    out.errors = sum.errors;
    out.busy_ns = sum.busy_ns;
    return out;
}

std::vector<gpo_scheduler_block> Scheduler::blocks(uint64_t capacity) {
    const std::vector<std::byte> bytes = block_rows();
    const Rows rows(bytes, assets_->block_bytes);
    std::vector<gpo_scheduler_block> out;
    for (uint64_t i = 0; i < std::min(rows.blocks(), capacity); ++i) {
        const Block block = rows.block(i);
        const Count sum = rows.sum(i);
        gpo_scheduler_block made = sized<gpo_scheduler_block>();
        made.multiprocessor = block.multiprocessor;
        made.workers = block.workers;
        made.tasks = sum.tasks + block.unknown;
        made.empty_polls = block.empty_polls;
        made.busy_ns = sum.busy_ns;
        made.worker_ns = block.worker_ns;
        out.push_back(made);
    }
    return out;
}

std::vector<gpo_depth_sample> Scheduler::samples(uint64_t capacity) {
    const uint64_t written = words().sample_count;
    std::vector<scheduler::Sample> ring(scheduler::kSamples);
    assets_->memory->copy_out(ring.data(), assets_->work.samples, ring.size() * sizeof ring[0]);
    const uint64_t count = std::min({written, scheduler::kSamples, capacity});
    std::vector<gpo_depth_sample> out;
    for (uint64_t i = written - count; i < written; ++i) {
        const scheduler::Sample& sample = ring[i % scheduler::kSamples];
        gpo_depth_sample made = sized<gpo_depth_sample>();
        made.run = static_cast<uint32_t>(sample.run);
        made.time_ns = sample.time_ns;
        made.depth = sample.depth;
        out.push_back(made);
    }
    return out;
}

std::vector<gpo_task_error> Scheduler::errors(uint64_t capacity) {
    std::vector<scheduler::TaskError> stored(std::min<uint64_t>(words().errors, plan_.max_errors));
    std::vector<gpo_task_error> out;
    if (stored.empty()) return out;
    assets_->memory->copy_out(stored.data(), assets_->work.errors, stored.size() * sizeof stored[0]);
    for (const scheduler::TaskError& error : stored) {
        if (!error.written || out.size() == capacity) break;
        gpo_task_error made = sized<gpo_task_error>();
        made.handler = error.handler;
        made.status = error.status;
        made.priority = error.priority;
        made.position = error.position;
        std::memcpy(made.task, error.task, sizeof made.task);
        out.push_back(made);
    }
    return out;
}

}  // namespace gpo
