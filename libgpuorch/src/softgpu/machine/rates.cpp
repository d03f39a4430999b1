#include "softgpu/machine/rates.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "softgpu/machine/machine.h"

namespace gpo::softgpu {

void set_rates(const Rates& rates) {
    Machine* machine = Machine::running();
    if (!machine) return;
    if (rates.kernels()) machine->need_clock();
    host::Lock hold(machine->lock);
    machine->rates = rates;
    machine->rated.store(rates.any(), std::memory_order_release);
}

bool parse_rates(const char* text, Rates* rates, std::string* why) {
    Rates parsed;
    for (const char* at = text; *at;) {
        const char* equals = std::strchr(at, '=');
        if (!equals) {
            *why = std::string("a rate without a value: ") + at;
            return false;
        }
        const std::string name(at, equals);
        char* end = nullptr;
        const double value = std::strtod(equals + 1, &end);
        if (end == equals + 1 || (*end && *end != ',') || !std::isfinite(value) || value < 0 || value > 1e18) {
            *why = "not a rate: " + std::string(at);
            return false;
        }
        if (name == "h2d") parsed.h2d_bytes_per_s = value;
        else if (name == "d2h") parsed.d2h_bytes_per_s = value;
        else if (name == "d2d") parsed.d2d_bytes_per_s = value;
        else if (name == "threads") parsed.kernel_threads_per_s = value;
        else if (name == "copy") parsed.copy_launch_ns = uint64_t(value);
        else if (name == "launch") parsed.kernel_launch_ns = uint64_t(value);
        else if (name == "kernel") parsed.kernel_ns = uint64_t(value);
        else {
            *why = "no such rate: " + name;
            return false;
        }
        at = *end ? end + 1 : end;
    }
    *rates = parsed;
    return true;
}

}  // namespace gpo::softgpu
