#include "softgpu/graph.h"

#include <utility>

namespace gpo::softgpu {

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
    to.launch = from.launch;
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

GraphRun::GraphRun(std::shared_ptr<const GraphNodes> graph, Command& command)
    : nodes(std::move(graph)), owner(command), commands(nodes->nodes.size()), missing(nodes->nodes.size()) {
    startable.reserve(commands.size());
    for (uint32_t i = 0; i < commands.size(); ++i) {
        copy_work(*nodes->nodes[i].work, commands[i]);
        commands[i].run = this;
        commands[i].node = i;
        missing[i] = uint32_t(nodes->nodes[i].depends.size());
    }
}

}  // namespace gpo::softgpu
