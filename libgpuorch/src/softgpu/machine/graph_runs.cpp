// Batch: conditional nodes, and runs that belong together because kernels have launched them.
#include <utility>

#include "softgpu/machine/batch.h"

namespace gpo::softgpu {

/// Starts a stream's launch. If the executable is still in a run launched by a kernel, the stream waits for that run.
Batch::Started Batch::start_run(Command& command) noexcept {
    GraphRun& run = *command.graph;
    if (run.busy()) {
        run.held_up = &command;
        return Started::running;
    }
    command.lines = 1;
    run.begin_line(nullptr);
    begin_run(command);
    return advance_run(run) && finish_run(run) ? Started::done : Started::running;
}

/// The node's condition says what comes next: a body, or that the node is done. `again`: a body is done.
Batch::Started Batch::decide(Command& node, bool again) noexcept {
    GraphRun& run = *node.run;
    const bool loop = node.conditional.type == CU_GRAPH_COND_TYPE_WHILE;
    if ((again && !loop) || machine_.dropping(*node.stream)) return Started::done;
    const uint32_t body = run.chosen(node.node);
    if (body == GraphShape::kNone) return Started::done;
    const bool empty = run.shape->regions[body].empty();
    if (empty && !loop) return Started::done;
    if (empty || (again && !std::exchange(run.moved, false))) {
        // Nothing in the body takes time. An engine begins the next turn, so that other threads get the lock.
        push(context_of(node).device->engines[int(EngineKind::local)].get(), node);
        return Started::running;
    }
    run.begin_region(body);
    return Started::inside;
}

/// A body is done, or an engine has begun the next turn of a body without waits. True when the node isn't done.
bool Batch::repeat(Command& node) noexcept {
    const Started started = decide(node, true);
    if (started == Started::running) ++node.run->in_flight;
    return started != Started::done;
}

/// With the last node of a body, the body is done, and perhaps its conditional node.
void Batch::node_done(GraphRun& run, uint32_t node) noexcept {
    while (run.node_done(node)) {
        const uint32_t decider = run.shape->deciders[run.shape->nodes[node].region];
        if (decider == GraphShape::kNone || repeat(*run.commands[decider])) return;
        node = decider;
    }
}

/// Nothing of the run is in flight. Ends the run if all lines in its environment are done, and begins the next tail.
/// Ends parent runs if only this run was left of them. True when the stream's command is done.
bool Batch::finish_run(GraphRun& finished) noexcept {
    GraphRun* run = &finished;
    while (!run->in_flight && !run->lines) {
        Line& line = *run->line;
        Command& owner = *run->owner;
        line.tails.put_first(run->tails);
        run->running = false;
        release_run(*run);
        GraphRun* next = line.tails.take();
        for (; next && machine_.dropping(*owner.stream); next = line.tails.take()) {
            next->waiting = false;
            release_run(*next);
        }
        if (next) {
            next->waiting = false;
            next->line = &line;
            next->begin(owner);
            if (!advance_run(*next)) return false;
            run = next;
            continue;
        }
        GraphRun* const parent = line.parent;
        release_run(*std::exchange(line.first, nullptr));
        if (!parent) return --owner.lines == 0;
        --parent->lines;
        run = parent;
    }
    return false;
}

/// A launch of the run is over. After the last launch, a waiting stream may run it, and the run may be destroyed.
void Batch::release_run(GraphRun& run) noexcept {
    if (run.busy()) return;
    if (Command* command = std::exchange(run.held_up, nullptr)) start_again(*command);
    const std::shared_ptr<GraphRun> last = std::move(run.keeps);
}

/// The stream's current command is its next one again.
void Batch::start_again(Command& command) noexcept {
    Stream& stream = *command.stream;
    stream.current = nullptr;
    command.next = stream.head;
    stream.head = &command;
    if (!stream.tail) stream.tail = &command;
    ready(stream);
}

void Batch::launch_tail(GraphRun& by, std::shared_ptr<GraphRun> launched) noexcept {
    GraphRun& run = *launched;
    ++by.queued;
    run.waiting = true;
    run.keeps = std::move(launched);
    by.tails.push(run);
}

void Batch::launch_beside(GraphRun& by, std::shared_ptr<GraphRun> launched, bool sibling) noexcept {
    GraphRun& run = *launched;
    GraphRun* const parent = sibling ? by.line->parent : &by;
    ++by.launched;
    ++(parent ? parent->lines : by.owner->lines);
    run.keeps = std::move(launched);
    run.begin_line(parent);
    run.begin(*by.owner);
    if (advance_run(run)) finish_run(run);  // only where all is dropped
}

}  // namespace gpo::softgpu
