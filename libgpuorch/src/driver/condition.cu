// The kernel that decides conditional nodes of graphs (graph/conditional.h). make_builtin.py compiles this file to
// condition.ptx; softgpu/image/builtin.cpp has the same kernel for the software GPU.
//
// `handle`: the condition. `comparison`: GPO_COMPARE_*. With GPO_COMPARE_KERNEL the user's kernel sets the condition,
// and this kernel only sets it to 0 when `limit` ends a loop. `state`: NULL, or two words of a while node: how often
// the body ran, and whether `limit` ended the loop. `when`: 0 for an if or switch node, 1 before a while node, 2 at the
// end of a while node's body.
extern "C" __global__ void gpo_decide(cudaGraphConditionalHandle handle, const unsigned* word, unsigned comparison,
                                      unsigned constant, unsigned* state, unsigned limit, unsigned when) {
    const bool begins = when == 1 && state, counts = when == 2 && state;
    unsigned value = 0, runs = 0;
    // Both loads come before any use: at the end of each iteration the GPU waits for one latency, not for two.
    if (comparison != 0) value = *(const volatile unsigned*)word;
    if (counts) runs = state[0];
    if (comparison == 1) value = value == constant;
    if (comparison == 2) value = value != constant;
    if (comparison == 3) value = value < constant;
    if (comparison == 4) value = value >= constant;
    if (begins) state[0] = state[1] = 0;
    if (counts) {
        ++runs;
        const bool ends = runs >= limit;
        state[0] = runs;
        if (ends && (comparison == 0 || value != 0)) state[1] = 1;
        if (ends) value = 0;
        if (ends && comparison == 0) cudaGraphSetConditional(handle, 0);
    }
    if (comparison != 0) cudaGraphSetConditional(handle, value);
}
