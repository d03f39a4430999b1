#include "queue/scheduler/load_early.h"

#include "graph/conditional.h"
#include "queue/ring.h"

namespace gpo::scheduler {

namespace {

void try_to_load(Ref<Kernel> (*load)(Context&), Context& context) noexcept {
    try {
        load(context);
    } catch (const std::exception&) {
        // Who needs it is told why.
    }
}

}  // namespace

void load_early(Context& context) noexcept {
    try_to_load(queue::push_kernel, context);
    if (context.table().cuGraphConditionalHandleCreate) try_to_load(decide_kernel, context);
}

}  // namespace gpo::scheduler
