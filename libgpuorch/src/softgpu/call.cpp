#include "softgpu/call.h"

namespace gpo::softgpu {

namespace {

/// The thread's stack of contexts. The top is kept apart, so that asking for it touches nothing that has to be made.
struct Current {
    uint32_t incarnation = 0;   // of the software GPU that the handles are of
    CUcontext top = nullptr;
    bool below = false;         // t_below isn't empty
};
thread_local constinit Current t_current;
thread_local std::vector<CUcontext> t_below;   // an entry per push, NULLs too

void refresh(const Machine& machine) {
    if (t_current.incarnation == machine.incarnation) return;
    t_current = Current();
    t_current.incarnation = machine.incarnation;
    t_below.clear();
}

}  // namespace

CUcontext current_handle(const Machine& machine) noexcept {
    return t_current.incarnation == machine.incarnation ? t_current.top : nullptr;
}

void set_current(const Machine& machine, CUcontext context) {
    refresh(machine);
    t_current.top = context;
}

void push_current(const Machine& machine, CUcontext context) {
    refresh(machine);
    if (t_current.top || t_current.below) {
        t_below.push_back(t_current.top);
        t_current.below = true;
    }
    t_current.top = context;
}

bool pop_current(const Machine& machine, CUcontext* popped) {
    refresh(machine);
    if (!t_current.top && !t_current.below) return false;
    *popped = t_current.top;
    t_current.top = nullptr;
    if (t_current.below) {
        t_current.top = t_below.back();
        t_below.pop_back();
        t_current.below = !t_below.empty();
    }
    return true;
}

Context& context_of(Machine& machine, CUcontext handle) {
    Context* context = machine.contexts.find(handle);
    if (context && context->alive.load(std::memory_order_acquire)) return *context;
    refuse(machine.contexts.plausible(handle) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT);
}

Context& current_context(Machine& machine) {
    const CUcontext handle = current_handle(machine);
    require(handle != nullptr, CUDA_ERROR_INVALID_CONTEXT);
    return context_of(machine, handle);
}

Context& context_or_current(Machine& machine, CUcontext handle) {
    return handle ? context_of(machine, handle) : current_context(machine);
}

Device& device_of(Machine& machine, CUdevice device) {
    require(device >= 0 && size_t(device) < machine.devices.size(), CUDA_ERROR_INVALID_DEVICE);
    return *machine.devices[size_t(device)];
}

Stream& stream_of(Machine& machine, CUstream handle) {
    if (Stream* stream = machine.streams.find(handle)) return *stream;
    Context& context = current_context(machine);
    if (!handle || handle == CU_STREAM_LEGACY) return *context.legacy;
    require(handle == CU_STREAM_PER_THREAD, CUDA_ERROR_INVALID_HANDLE);
    const uint64_t thread = this_thread();
    for (const auto& [owner, stream] : context.per_thread)
        if (owner == thread) return *stream;
    context.per_thread.reserve(context.per_thread.size() + 1);
    Stream* stream = machine.create_stream(context, 0, kLeastPriority);
    stream->per_thread = true;
    context.per_thread.emplace_back(thread, stream);
    return *stream;
}

Event& event_of(Machine& machine, CUevent handle) {
    Event* event = machine.events.find(handle);
    require(event != nullptr, CUDA_ERROR_INVALID_HANDLE);
    return *event;
}

}  // namespace gpo::softgpu
