#include "softgpu/memory/address_room.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/text.h"

namespace gpo::softgpu {

namespace {

thread_local char shortage_text[200] = "";

unsigned long long mebibytes(uint64_t bytes) { return bytes >> 20; }

/// Bytes of addresses that the process has; 0 where /proc doesn't tell. Takes no memory.
uint64_t address_use() noexcept {
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    char text[64] = "";
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    return length <= 0 ? 0 : std::strtoull(text, nullptr, 10) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace

uint64_t address_room() noexcept {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
    const uint64_t used = address_use();
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

Shortage::Shortage(uint64_t bytes, const char* purpose) noexcept {
    if (const uint64_t room = address_room(); room != kUnlimited)
        std::snprintf(text_, sizeof text_,
                      "%llu MiB of addresses for %s can't be had: RLIMIT_AS (ulimit -v) leaves %llu MiB",
                      mebibytes(bytes), purpose, mebibytes(room));
    else
        std::snprintf(text_, sizeof text_, "%llu MiB of addresses for %s can't be had: the system refuses them",
                      mebibytes(bytes), purpose);
}

const char* last_shortage() noexcept { return shortage_text; }

void set_last_shortage(const std::bad_alloc& error) noexcept {
    const auto* shortage = dynamic_cast<const Shortage*>(&error);
    copy_text(shortage_text, shortage ? shortage->what() : "");
}

void forget_last_shortage() noexcept { shortage_text[0] = '\0'; }

}  // namespace gpo::softgpu
