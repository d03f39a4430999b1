// The process's limit of addresses. RLIMIT_AS counts reserved addresses like used memory. The software GPU reserves
// much (device memory, a region for each block that may wait); under a limit it takes only a part of the rest.
#pragma once

#include <cstdint>
#include <new>

namespace gpo::softgpu {

inline constexpr uint64_t kUnlimited = UINT64_MAX;
/// Under a limit the device memory takes 1 / kPartOfRoom of the addresses left, and then a device's workers take
/// 1 / kPartOfRoom of the rest.
inline constexpr uint64_t kPartOfRoom = 4;

/// Bytes of addresses that RLIMIT_AS still allows the process; kUnlimited without a limit. A guess at once out of date:
/// other threads map and unmap.
uint64_t address_room() noexcept;

/// A shortage of addresses. what() is part of a sentence: the number, the purpose, and the number left by the limit.
class Shortage : public std::bad_alloc {
public:
    Shortage(uint64_t bytes, const char* purpose) noexcept;
    const char* what() const noexcept override { return text_; }

private:
    char text_[200];
};

/// The shortage behind the calling thread's latest CUDA_ERROR_OUT_OF_MEMORY; "" if unknown.
const char* last_shortage() noexcept;
void set_last_shortage(const std::bad_alloc& error) noexcept;
void forget_last_shortage() noexcept;

}  // namespace gpo::softgpu
