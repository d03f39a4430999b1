#include "softgpu/api/call.h"

#include <pthread.h>

#include <memory>
#include <vector>

namespace gpo::softgpu {

namespace {

/// The thread's stack of contexts. The top is kept apart, because reading it must construct nothing. Lower entries are
/// in a thread_local of a trivial type, and in a list when the stack is deep: without memory for noting a
/// thread_local's destructor the C library ends the process.
struct Current {
    static constexpr uint32_t kNear = 15;
    uint32_t incarnation = 0;   // of the software GPU that the handles are of
    uint32_t below = 0;         // an entry per push, NULLs too
    CUcontext top = nullptr;
    CUcontext near[kNear] = {};
};
thread_local constinit Current t_current;

/// The entries above the near ones, on threads that have had any.
class Far {
public:
    /// Throws std::bad_alloc.
    static std::vector<CUcontext>& of_thread() {
        pthread_once(&once_, [] { made_ = pthread_key_create(&key_, destroy) == 0; });
        if (!made_) throw std::bad_alloc();
        if (void* there = pthread_getspecific(key_)) return *static_cast<std::vector<CUcontext>*>(there);
        auto far = std::make_unique<std::vector<CUcontext>>();
        if (pthread_setspecific(key_, far.get()) != 0) throw std::bad_alloc();
        return *far.release();
    }

private:
    static void destroy(void* far) { delete static_cast<std::vector<CUcontext>*>(far); }
    static inline pthread_key_t key_ = 0;
    static inline pthread_once_t once_ = PTHREAD_ONCE_INIT;
    static inline bool made_ = false;
};

void refresh(const Machine& machine) {
    if (t_current.incarnation == machine.incarnation) return;
    if (t_current.below > Current::kNear) Far::of_thread().clear();
    t_current = Current();
    t_current.incarnation = machine.incarnation;
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
        if (t_current.below < Current::kNear)
            t_current.near[t_current.below] = t_current.top;
        else
            Far::of_thread().push_back(t_current.top);
        ++t_current.below;
    }
    t_current.top = context;
}

bool pop_current(const Machine& machine, CUcontext* popped) {
    refresh(machine);
    if (!t_current.top && !t_current.below) return false;
    *popped = t_current.top;
    t_current.top = nullptr;
    if (t_current.below > Current::kNear) {
        std::vector<CUcontext>& far = Far::of_thread();
        t_current.top = far.back();
        far.pop_back();
        --t_current.below;
    } else if (t_current.below) {
        t_current.top = t_current.near[--t_current.below];
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

Function& function_of(Machine& machine, CUfunction handle) {
    Function* function = machine.functions.find(handle);
    require(function != nullptr, CUDA_ERROR_INVALID_HANDLE);
    return *function;
}

}  // namespace gpo::softgpu
