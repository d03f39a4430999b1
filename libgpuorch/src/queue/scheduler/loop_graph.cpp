// The graph of a scheduler of the while form. The kernel is the body, and decides whether there is another turn.
#include <cstddef>

#include "graph/instance.h"
#include "memory/fill.h"
#include "queue/scheduler/scheduler.h"

namespace gpo::scheduler {

namespace {

// A node that sets a word when a run begins.
uint32_t add_word(Template& to, uint64_t address, uint32_t value) {
    const Fill fill(to.context(), address, value, sizeof value, 1);
    return to.add({}, fill.record(), "", nullptr);
}

void add_body(gpo_template_t handle, const Assets& assets, const gpo_launch& launch, const void* const* arguments,
              const uint32_t* sizes) {
    Pin<Template> body(handle);
    const LaunchKernel operation(*assets.kernel, launch, arguments, sizes, 2);
    body->add({}, operation.record(), operation.label(), assets.kernel);
}

}  // namespace

void make_loop(Assets& assets, const gpo_launch& launch, const char* label) {
    const queue::HandleBytes queue = assets.queue->handle();
    const void* const arguments[] = {&assets.work, queue.bytes};
    const uint32_t sizes[] = {sizeof assets.work, static_cast<uint32_t>(queue.size)};
    gpo_template_options options{};
    options.struct_size = sizeof options;
    options.label = label;
    auto made = make<Template>(Ref<Context>(&assets.kernel->context()), options);
    const uint64_t again = assets.work.words + offsetof(Words, again);
    const uint32_t first[] = {add_word(*made, again, 1), add_word(*made, assets.work.words + offsetof(Words, run), 0)};
    made->add_parameter("run", first[1], GPO_PARAMETER_VALUE, 0);
    gpo_condition condition{};
    condition.struct_size = sizeof condition;
    condition.comparison = GPO_COMPARE_NOT_EQUAL;
    condition.word = again;
    gpo_template_t body = nullptr;
    made->add_conditional(first, CU_GRAPH_COND_TYPE_WHILE, condition, {&body, 1});
    try {
        add_body(body, assets, launch, arguments, sizes);
    } catch (...) {
        handle::destroy(reinterpret_cast<uint64_t>(body), Type::graph_template);
        throw;
    }
    handle::destroy(reinterpret_cast<uint64_t>(body), Type::graph_template);
    assets.graph = make<Graph>(std::move(made), 0u, label);
}

}  // namespace gpo::scheduler
