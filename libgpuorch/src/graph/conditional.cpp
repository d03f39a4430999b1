#include "graph/conditional.h"

#include <algorithm>
#include <cstring>

#include "memory/place.h"

namespace gpo {

namespace {

Ref<Counted> load_decide(Context& context) {
    const std::string_view image = context.driver().condition_image;
    kernel::ImageBytes copy(image.data(), image.size());
    auto module = make<Module>(Ref<Context>(&context), std::move(copy), Module::Lowered{}, "conditions", nullptr);
    Function& function = module->function("gpo_decide");
    return make<Kernel>(std::move(module), function, "condition");
}

}  // namespace

Ref<Kernel> decide_kernel(Context& context) {
    return Ref<Kernel>::adopt(static_cast<Kernel*>(context.keep(load_decide).leak()));
}

Ref<Kernel> Scope::decide(Context& context) {
    if (!decide_) decide_ = decide_kernel(context);
    return decide_;
}

KernelNode decision(const Kernel& kernel, const ConditionalNode& conditional, Decision when) {
    uint64_t handle = conditional.handle, word = conditional.condition.word, state = 0;
    uint32_t comparison = conditional.condition.comparison, constant = conditional.condition.constant;
    uint32_t limit = static_cast<uint32_t>(conditional.condition.max_iterations);
    auto moment = static_cast<uint32_t>(when);
    void* arguments[] = {&handle, &word, &comparison, &constant, &state, &limit, &moment};
    CUDA_KERNEL_NODE_PARAMS params;
    std::memset(&params, 0, sizeof params);
    params.func = kernel.native();
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments;
    params.ctx = kernel.context().native();
    constexpr uint32_t kBytes[] = {8, 8, 4, 4, 8, 4, 4};   // of the arguments
    return KernelNode(params, kBytes, true);
}

void check_condition(Context& context, const gpo_condition& condition, CUgraphConditionalNodeType type) {
    if (condition.comparison > GPO_COMPARE_VALUE)
        fail(GPO_INVALID_ARGUMENT, "condition.comparison is ", condition.comparison, ", none of GPO_COMPARE_*");
    if (condition.max_iterations && type != CU_GRAPH_COND_TYPE_WHILE)
        fail(GPO_INVALID_ARGUMENT, "condition.max_iterations is for a while");
    if (condition.max_iterations > UINT32_MAX)
        fail(GPO_INVALID_ARGUMENT, "condition.max_iterations is ", condition.max_iterations, ", at most ", UINT32_MAX);
    if (condition.comparison == GPO_COMPARE_KERNEL) {
        if (condition.word) fail(GPO_INVALID_ARGUMENT, "condition.word is given, and a kernel sets the condition");
        return;
    }
    if (condition.initial)
        fail(GPO_INVALID_ARGUMENT, "condition.initial is for GPO_COMPARE_KERNEL: a comparison is done at the node");
    check_addresses("condition.word", condition.word, sizeof(uint32_t));
    if (condition.word % sizeof(uint32_t))
        fail(GPO_INVALID_ARGUMENT, "condition.word ", hex(condition.word), " is no multiple of 4");
    if (place_of(context, condition.word).pageable())
        fail(GPO_INVALID_ARGUMENT, "condition.word ", hex(condition.word),
             " is pageable host memory, which the GPU can't read");
}

std::string why_not_in_body(const NodeWork& work) {
    if (std::get_if<HostNode>(&work) || std::get_if<EventWork>(&work) || is_memory(work) ||
        std::get_if<OtherNode>(&work))
        return text("a body has kernels, copies, fills, empty nodes and conditional nodes, and no ", kind_of(work));
    return "";
}

}  // namespace gpo
