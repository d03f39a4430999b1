// Addresses, of which a process may have few: RLIMIT_AS counts reserved addresses like used memory. The software GPU
// reserves much (device memory, a region for each block that may wait), so if there is a limit it takes only a part of
// what is left.
#pragma once

#include <cstdint>
#include <new>

namespace gpo::softgpu {

inline constexpr uint64_t kUnlimited = UINT64_MAX;
/// Of few addresses the device memory takes one of so many equal parts, and the workers of a device one of what is left
/// then.
inline constexpr uint64_t kPartOfRoom = 4;

/// Bytes of addresses that RLIMIT_AS still allows the process; kUnlimited without a limit. A guess at once out of date:
/// other threads map and unmap.
uint64_t address_room() noexcept;

/// Addresses that can't be had. what() is part of a sentence: how many, for what, and what the limit leaves.
class Shortage : public std::bad_alloc {
public:
    Shortage(uint64_t bytes, const char* purpose) noexcept;
    const char* what() const noexcept override { return text_; }

private:
    char text_[200];
};

/// What the calling thread's latest CUDA_ERROR_OUT_OF_MEMORY was short of; "" if that isn't known.
const char* last_shortage() noexcept;
void set_last_shortage(const std::bad_alloc& error) noexcept;
void forget_last_shortage() noexcept;

}  // namespace gpo::softgpu
