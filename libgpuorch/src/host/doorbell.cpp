#include "host/doorbell.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "host/host.h"

namespace gpo::host {

Doorbell::~Doorbell() {
    if (opened()) close(descriptor_);
}

void Doorbell::open() {
    descriptor_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "no descriptor could be made");
}

int Doorbell::duplicate() const {
    const int copy = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) throw std::system_error(errno, std::generic_category(), "the descriptor could not be duplicated");
    return copy;
}

void Doorbell::ring() const noexcept {
    crossing();
    const int before = errno;
    const uint64_t one = 1;
    // EAGAIN: rung 2^64 - 2 times already, hence readable.
    while (write(descriptor_, &one, sizeof one) < 0 && errno == EINTR) {
    }
    errno = before;
    crossing();
}

void Doorbell::hush() const noexcept {
    crossing();
    const int before = errno;
    uint64_t rings = 0;
    while (read(descriptor_, &rings, sizeof rings) < 0 && errno == EINTR) {  // EAGAIN: it wasn't rung
    }
    errno = before;
    crossing();
}

}  // namespace gpo::host
