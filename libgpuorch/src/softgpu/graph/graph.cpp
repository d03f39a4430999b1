#include "softgpu/graph/graph.h"

#include <algorithm>
#include <utility>

#include "softgpu/machine/machine.h"

namespace gpo::softgpu {

void Command::prepare(Machine& machine, Multiprocessors& multiprocessors, KernelLaunch asked) {
    asked.done = [&machine, this](const KernelOutcome& outcome) { machine.kernel_done(*this, outcome); };
    prepared = multiprocessors.prepare(std::move(asked));
}

void Command::clear() noexcept {
    kind = CommandKind::nothing;
    staged = false;
    next = next_launch = nullptr;
    stream = nullptr;
    run = nullptr;
    node = 0;
    ticket = number = due = 0;
    copy = Copy();
    pieces.clear();
    fill = Fill();
    launch = KernelLaunch();
    prepared.clear();
    launch_kernel = nullptr;
    mark = nullptr;
    host_function = nullptr;
    user_data = nullptr;
    address = 0;
    value = flags = 0;
    pool = nullptr;
    free_id = 0;
    graph.reset();
    keeps.reset();
}

void copy_work(const Command& from, Command& to) {
    to.kind = from.kind;
    to.copy = from.copy;
    to.pieces = from.pieces;
    to.fill = from.fill;
    to.launch_kernel = from.launch_kernel;
    to.host_function = from.host_function;
    to.user_data = from.user_data;
    to.address = from.address;
    to.value = from.value;
    to.flags = from.flags;
    to.keeps = from.keeps;
}

uint32_t GraphNodes::add(std::unique_ptr<Command> work, Context* context, std::vector<uint32_t> depends) {
    const uint32_t index = uint32_t(nodes.size());
    for (uint32_t before : depends) nodes[before].followers.reserve(nodes[before].followers.size() + 1);
    Node node;
    node.work = std::move(work);
    node.context = context;
    node.depends = std::move(depends);
    nodes.push_back(std::move(node));
    for (uint32_t before : nodes[index].depends) nodes[before].followers.push_back(index);
    return index;
}

uint32_t GraphNodes::find(CUgraphNode handle) const noexcept {
    for (uint32_t i = 0; i < nodes.size(); ++i)
        if (native(i) == handle) return i;
    return kNone;
}

void GraphNodes::remove(uint32_t removed) noexcept {
    nodes.erase(nodes.begin() + removed);
    for (Node& node : nodes)
        for (std::vector<uint32_t>* list : {&node.depends, &node.followers}) {
            std::erase(*list, removed);
            for (uint32_t& other : *list) other -= other > removed;
        }
}

std::shared_ptr<GraphNodes> GraphNodes::copy() const {
    auto out = std::make_shared<GraphNodes>();
    out->nodes.reserve(nodes.size());
    for (const Node& node : nodes) {
        Node own;
        own.work = std::make_unique<Command>();
        copy_work(*node.work, *own.work);
        own.work->launch = node.work->launch;
        own.context = node.context;
        own.depends = node.depends;
        own.followers = node.followers;
        out->nodes.push_back(std::move(own));
    }
    return out;
}

GraphRun::GraphRun(std::shared_ptr<const GraphNodes> graph, Command& command)
    : nodes(std::move(graph)), owner(command), commands(nodes->nodes.size()), missing(nodes->nodes.size()) {
    startable.reserve(commands.size());
    for (uint32_t i = 0; i < commands.size(); ++i) {
        const GraphNodes::Node& node = nodes->nodes[i];
        copy_work(*node.work, commands[i]);
        if (commands[i].kind == CommandKind::kernel)
            commands[i].prepare(node.context->device->machine, *node.context->device->multiprocessors,
                                node.work->launch);
        commands[i].run = this;
        commands[i].node = i;
        missing[i] = uint32_t(node.depends.size());
    }
}

}  // namespace gpo::softgpu
