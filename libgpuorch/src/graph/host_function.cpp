#include "graph/host_function.h"

#include <exception>
#include <mutex>

#include "core/host_node.h"
#include "core/runtime.h"

namespace gpo {

namespace {

// Lists by a hash of function and argument. Entries are never removed, so readers take no lock.
constexpr unsigned kListBits = 8;
constinit std::atomic<HostFunction*> g_lists[1u << kListBits]{};
constinit host::Mutex g_growing;

std::atomic<HostFunction*>& list_of(gpo_host_node_fn function, const void* user) noexcept {
    const uint64_t pair = reinterpret_cast<uint64_t>(function) * 3 + reinterpret_cast<uint64_t>(user);
    return g_lists[(pair * 0x9e37'79b9'7f4a'7c15u) >> (64 - kListBits)];
}

}  // namespace

HostFunction* HostFunction::find(HostFunction* first, gpo_host_node_fn function, void* user) noexcept {
    while (first && (first->function_ != function || first->user_ != user)) first = first->next_;
    return first;
}

CUDA_HOST_NODE_PARAMS HostFunction::params(const Runtime& runtime, gpo_host_node_fn function, void* user) {
    auto& list = list_of(function, user);
    HostFunction* found = find(list.load(std::memory_order_acquire), function, user);
    if (!found) {
        std::lock_guard lock(g_growing);
        HostFunction* const first = list.load(std::memory_order_relaxed);
        found = find(first, function, user);
        if (!found) {
            found = new HostFunction(function, user, first);
            list.store(found, std::memory_order_release);
        }
    }
    found->runtime_.store(reinterpret_cast<uint64_t>(runtime.handle()), std::memory_order_relaxed);
    return {run, found};
}

gpo_host_node_fn HostFunction::called_by(const CUDA_HOST_NODE_PARAMS& params) noexcept {
    return params.fn == run ? static_cast<const HostFunction*>(params.userData)->function_ : params.fn;
}

void HostFunction::run(void* self) {
    const auto& of = *static_cast<const HostFunction*>(self);
    const HostNodeScope scope;
    try {
        of.function_(of.user_);
    } catch (const std::exception& error) {
        of.log_exception(error.what());
    } catch (...) {
        of.log_exception("an exception of an unknown type");
    }
}

void HostFunction::log_exception(const char* what) const noexcept {
    handle::Note* note = nullptr;
    gpo_status status = GPO_SUCCESS;
    handle::Slot* const slot = handle::pin(runtime_.load(std::memory_order_relaxed), Type::runtime, &note, &status);
    if (!slot) return;
    static_cast<Runtime&>(*slot->object).log(GPO_LOG_ERROR, "the function of a host node threw: ", what);
    handle::unpin(*slot, *note);
}

}  // namespace gpo
