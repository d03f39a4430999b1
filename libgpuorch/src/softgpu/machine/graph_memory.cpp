#include "softgpu/machine/graph_memory.h"

#include <algorithm>

#include "softgpu/machine/machine.h"
#include "softgpu/machine/refused.h"

namespace gpo::softgpu {

GraphMemory::~GraphMemory() {
    if (!address) return;
    machine.graph_memory.erase(address);
    host::Lock hold(machine.memory.lock);
    pool.unfix(address, id);
    machine.settle_pool(pool);
}

std::shared_ptr<GraphMemory> reserve_graph_memory(Machine& machine, Context& context, Pool& pool, const Graph& graph,
                                                  uint64_t bytes) {
    auto made = std::make_shared<GraphMemory>(machine, pool, graph.as<CUgraph>(), bytes);
    CUresult result;
    uint64_t address = 0;
    {
        host::Lock hold(machine.memory.lock);
        result = pool.fix(machine.memory, context.as<CUcontext>(), bytes, &address, &made->id);
    }
    require(result == CUDA_SUCCESS, result);
    made->address = address;
    machine.graph_memory[address] = made;
    return made;
}

std::shared_ptr<GraphMemory> find_graph_memory(Machine& machine, uint64_t address) noexcept {
    const auto at = machine.graph_memory.find(address);
    return at == machine.graph_memory.end() ? nullptr : at->second.lock();
}

namespace {

template <class Visit>
void each_memory(const GraphRun& run, CommandKind kind, Visit visit) {
    for (uint32_t node : run.shape->memory)
        if (run.commands[node]->kind == kind) visit(*run.commands[node]->memory);
}

bool allocates(const GraphRun& run, const GraphMemory& memory) {
    return std::any_of(run.shape->memory.begin(), run.shape->memory.end(), [&](uint32_t node) {
        return run.commands[node]->kind == CommandKind::allocation && run.commands[node]->memory.get() == &memory;
    });
}

}  // namespace

bool can_launch_memory(Machine& machine, const GraphRun& run, bool replaces) noexcept {
    if (run.shape->memory.empty()) return true;
    host::Lock hold(machine.memory.lock);
    bool can = true;
    each_memory(run, CommandKind::allocation, [&](GraphMemory& memory) {
        const Pool::Block* block = memory.pool.fixed(memory.address, memory.id);
        can = can && block && (!block->handed || replaces);
    });
    each_memory(run, CommandKind::release, [&](GraphMemory& memory) {
        const Pool::Block* block = memory.pool.fixed(memory.address, memory.id);
        can = can && block && (block->handed || allocates(run, memory));
    });
    return can;
}

void launch_memory(Machine& machine, const GraphRun& run) noexcept {
    if (run.shape->memory.empty()) return;
    host::Lock hold(machine.memory.lock);
    const auto hand = [&](CommandKind kind, bool handed) {
        each_memory(run, kind,
                    [&](GraphMemory& memory) { memory.pool.fixed(memory.address, memory.id)->handed = handed; });
    };
    hand(CommandKind::allocation, true);
    hand(CommandKind::release, false);
}

}  // namespace gpo::softgpu
