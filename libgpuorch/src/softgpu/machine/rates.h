// Rates of the engines. With a rate, an engine does the real work and then stays busy until the modelled device would
// have finished, on the host seam's clock. Under a deterministic schedule that clock is virtual, so overlap is exact.
#pragma once

#include <cstdint>
#include <string>

namespace gpo::softgpu {

struct Rates {
    double h2d_bytes_per_s = 0;          // 0: as fast as the machine is
    double d2h_bytes_per_s = 0;
    double d2d_bytes_per_s = 0;          // also fills and peer copies
    double kernel_threads_per_s = 0;     // the part of a kernel's time that grows with its grid
    uint64_t copy_launch_ns = 0;         // the part of a copy's time that doesn't
    uint64_t kernel_launch_ns = 0;       // gap between two kernels
    uint64_t kernel_ns = 0;              // of every kernel

    bool any() const noexcept {
        return kernels() || h2d_bytes_per_s > 0 || d2h_bytes_per_s > 0 || d2d_bytes_per_s > 0 || copy_launch_ns;
    }
    bool kernels() const noexcept { return kernel_threads_per_s > 0 || kernel_launch_ns || kernel_ns; }
};

/// Sets the rates of all devices for work that has not begun. Does nothing when the software GPU isn't open.
void set_rates(const Rates&);

/// "h2d=55e9,d2h=55e9,d2d=2e12,copy=1500,launch=3000,kernel=10000,threads=1e12" (bytes/s, ns, threads/s).
/// False with the reason in `why` for anything else.
bool parse_rates(const char* text, Rates* rates, std::string* why);

}  // namespace gpo::softgpu
