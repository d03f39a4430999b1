// An execution context with a stack of its own: Boost.Context's fcontext. The sanitizers are informed of each switch.
//
// A *switch* saves the running context into `from` and continues in `to`. The call returns at a switch back to `from`.
// A context may be abandoned instead of being switched to again. The frames of an abandoned context are not destroyed,
// so its stack must hold no objects that need a destructor.
//
// Functions that switch are GPO_NO_TSAN: ThreadSanitizer has a stack of calls, and a frame that is entered on one fiber
// and left on another would unbalance it. ThreadSanitizer is informed only of blocks (BlockFiber), not of each thread
// in them.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define GPO_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GPO_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define GPO_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define GPO_TSAN 1
#endif
#endif

#if defined(GPO_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(GPO_TSAN)
extern "C" {
void* __tsan_get_current_fiber(void);
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}
#define GPO_NO_TSAN __attribute__((no_sanitize("thread"), noinline))
#else
#define GPO_NO_TSAN
#endif

namespace gpo::softgpu {

struct FiberContext {
    boost::context::detail::fcontext_t continuation = nullptr;
#if defined(GPO_ASAN)
    void* fake_stack = nullptr;
    const void* bottom = nullptr;  // of the context's stack; NULL until the first switch from a thread's own stack
    size_t size = 0;
#endif
};

using Entry = void (*)(boost::context::detail::transfer_t);

/// Makes a context that begins in `entry` on the stack [bottom, bottom + size). `entry` must call arrived() first and
/// must not return.
inline FiberContext make_context(void* bottom, size_t size, Entry entry) {
    FiberContext context;
    context.continuation = boost::context::detail::make_fcontext(static_cast<char*>(bottom) + size, size, entry);
#if defined(GPO_ASAN)
    context.bottom = bottom;
    context.size = size;
#endif
    return context;
}

/// Must be called first after a switch, in the target: stores where the source will continue.
inline void arrived(boost::context::detail::transfer_t transfer, [[maybe_unused]] FiberContext* self) {
    auto* from = static_cast<FiberContext*>(transfer.data);
    from->continuation = transfer.fctx;
#if defined(GPO_ASAN)
    const void* bottom = nullptr;
    size_t size = 0;
    __sanitizer_finish_switch_fiber(self ? self->fake_stack : nullptr, &bottom, &size);
    if (!from->bottom) {
        from->bottom = bottom;
        from->size = size;
    }
#endif
}

inline void switch_context(FiberContext& from, FiberContext& to) {
#if defined(GPO_ASAN)
    __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.size);
#endif
    arrived(boost::context::detail::jump_fcontext(to.continuation, &from), &from);
}

}  // namespace gpo::softgpu
