#include "softgpu/commands/command.h"

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

}  // namespace gpo::softgpu
