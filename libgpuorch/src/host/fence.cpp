#include "host/fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace gpo::host {

namespace {
int membarrier(int command) noexcept {
    const int saved = errno;
    const int result = static_cast<int>(syscall(SYS_membarrier, command, 0, 0));
    errno = saved;
    return result;
}
}  // namespace

void look_at_fences() noexcept {
    if (!light_fences() && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0)
        detail::process_flags.unusual.fetch_and(~uint32_t{detail::kNoMembarrier}, std::memory_order_relaxed);
}

void heavy_fence() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    // Asked even where light fences are full ones: a thread may have looked before the answer was known.
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

}  // namespace gpo::host
