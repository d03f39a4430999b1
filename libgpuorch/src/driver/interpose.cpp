#include <mutex>

#include "driver/driver.h"
#include "host/host.h"

namespace gpo::driver {

namespace {

host::Mutex lock;
std::shared_ptr<const Interposer>& installed() {
    static auto& value = *new std::shared_ptr<const Interposer>();
    return value;
}

}  // namespace

void set_interposer(Interposer wrap) {
    auto next = wrap ? std::make_shared<const Interposer>(std::move(wrap)) : nullptr;
    std::lock_guard guard(lock);
    installed().swap(next);
}

std::shared_ptr<Driver> interpose(std::shared_ptr<Driver> driver) {
    std::shared_ptr<const Interposer> wrap;
    {
        std::lock_guard guard(lock);
        wrap = installed();
    }
    return wrap && driver ? (*wrap)(std::move(driver)) : driver;
}

}  // namespace gpo::driver
