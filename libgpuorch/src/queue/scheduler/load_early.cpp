#include "queue/scheduler/load_early.h"

#include "device/contexts.h"
#include "graph/conditional.h"
#include "peers/kernels.h"
#include "queue/ring.h"

namespace gpo::scheduler {

namespace {

template <class Load>
void try_to_load(Load load, Context& context) noexcept {
    try {
        load(context);
    } catch (const std::exception&) {
        // The first use of the kernel reports the error.
    }
}

bool is_the_only_one(const Context& context) {
    return Contexts::of(context.runtime()).each([&](const Context& other) { return &other == &context; });
}

}  // namespace

void load_early(Context& context) noexcept {
    try_to_load(queue::push_kernel, context);
    if (context.table().cuGraphConditionalHandleCreate) try_to_load(decide_kernel, context);
    // The driver translates these kernels at their first load, which takes long. Programs with one device skip that.
    try_to_load(
        [](Context& of) {
            if (!is_the_only_one(of)) peers::kernels_of(of);
        },
        context);
}

}  // namespace gpo::scheduler
