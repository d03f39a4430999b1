#include "softgpu/machine/children.h"

#include <cstring>
#include <memory>
#include <utility>

#include "softgpu/machine/batch.h"

namespace gpo::softgpu {

ChildGrid::ChildGrid(Command& by, Context& context, uint64_t its_block, const gpo_soft_launch& asked)
    : kernel(asked.kernel), parent(&by), block(its_block), stream(asked.stream) {
    command.kind = CommandKind::kernel;
    command.child = this;
    command.context = &context;
    command.launch_kernel = &kernel;
    command.stream = by.stream;
    command.number = by.run ? by.run->owner->number : by.number;
}

KernelLaunch ChildGrid::launch_of(const gpo_soft_launch& asked, int priority) const {
    KernelLaunch launch;
    launch.kernel = &kernel;
    launch.grid = asked.grid;
    launch.block = asked.block;
    if (kernel.cluster.x) launch.cluster = kernel.cluster;
    launch.dynamic_shared_bytes = asked.dynamic_shared_bytes;
    launch.priority = priority;
    launch.arguments.resize(kernel.parameters[0].size);
    std::memcpy(launch.arguments.data(), asked.argument, launch.arguments.size());
    return launch;
}

void ChildGrids::push(ChildGrid& grid) noexcept {
    (first ? last->next : first) = &grid;
    last = &grid;
}

ChildGrid* ChildGrids::take() noexcept {
    ChildGrid* const taken = first;
    if (taken) first = std::exchange(taken->next, nullptr);
    return taken;
}

void ChildGrids::put_first(ChildGrids& others, Command& parent) noexcept {
    if (!others.first) return;
    for (ChildGrid* grid = others.first; grid; grid = grid->next) grid->parent = &parent;
    others.last->next = first;
    if (!first) last = others.last;
    first = std::exchange(others.first, nullptr);
}

void Batch::launch_child(std::unique_ptr<ChildGrid> launched) {
    Command& parent = *launched->parent;
    if (!parent.family) parent.family = std::make_shared<Family>();
    Family& family = *parent.family;
    ChildGrids* const stream = launched->is_in_block() ? &family.blocks[launched->block] : nullptr;
    ChildGrid& child = *launched.release();
    ++context_of(child.command).pending_launches;
    if (child.is_tail()) {
        family.tails.push(child);
        return;
    }
    ++family.unfinished;
    if (stream) stream->push(child);
    if (!stream || stream->first == &child) start_kernel(child.command, *context_of(child.command).device);
}

/// The blocks of a kernel's grid have ended. Returns the stream's or graph node's command that is now done, or NULL.
Command* Batch::grid_ended(Command& ended) noexcept {
    if (ended.child) --context_of(ended).pending_launches;
    if (ended.family) ended.family->parent_ended = true;
    Command* command = &ended;
    while (!family_goes_on(*command)) {
        command->family.reset();
        if (!command->child) return command;
        ChildGrid& over = *command->child;
        command = over.parent;
        leave_family(over);
    }
    return nullptr;
}

/// Whether the grid is not over. Starts the next tail when only tails are left.
bool Batch::family_goes_on(Command& command) noexcept {
    Family* const family = command.family.get();
    if (!family) return false;
    if (!family->parent_ended || family->unfinished) return true;
    if (command.child && command.child->is_tail()) {  // so that even a long line of tails keeps no finished grid
        Command& parent = *command.child->parent;
        parent.family->tails.put_first(family->tails, parent);
        return false;
    }
    while (ChildGrid* tail = family->tails.take()) {
        ++family->unfinished;
        if (start_child(*tail)) return true;
        --family->unfinished;
        discard_child(*tail);
    }
    return false;
}

/// False: the child has to be dropped.
bool Batch::start_child(ChildGrid& child) noexcept {
    if (machine_.dropping(*child.command.stream)) return false;
    start_kernel(child.command, *context_of(child.command).device);
    return true;
}

/// A child is over: the next one of its block's stream begins.
void Batch::leave_family(ChildGrid& over) noexcept {
    Family& family = *over.parent->family;
    --family.unfinished;
    if (over.is_in_block()) {
        const auto stream = family.blocks.find(over.block);
        stream->second.take();
        while (stream->second.first && !start_child(*stream->second.first)) {
            --family.unfinished;
            discard_child(*stream->second.take());
        }
        if (!stream->second.first) family.blocks.erase(stream);
    }
    delete &over;
}

/// For a child that never began.
void Batch::discard_child(ChildGrid& child) noexcept {
    --context_of(child.command).pending_launches;
    delete &child;
}

}  // namespace gpo::softgpu
