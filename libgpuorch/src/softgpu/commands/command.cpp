#include "softgpu/commands/command.h"

namespace gpo::softgpu {

void Command::clear() noexcept {
    kind = CommandKind::nothing;
    context = nullptr;
    copy = Copy();
    pieces.clear();
    fill = Fill();
    launch = KernelLaunch();
    launch_kernel = nullptr;
    function = nullptr;
    host_function = nullptr;
    user_data = nullptr;
    address = 0;
    value = flags = 0;
    pool = nullptr;
    event = nullptr;
    memory.reset();
    conditional = Conditional();
    keeps.reset();
    staged = false;
    next = next_launch = nullptr;
    stream = nullptr;
    run = nullptr;
    node = 0;
    ticket = begun = number = due = 0;
    prepared.clear();
    child = nullptr;
    family.reset();
    mark = nullptr;
    free_id = 0;
    graph.reset();
    lines = 0;
    marks.clear();
}

}  // namespace gpo::softgpu
