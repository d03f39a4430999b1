#include "driver/builtin.h"

#include <cstddef>

extern const unsigned char gpo_builtin_ptx[];
extern const std::size_t gpo_builtin_ptx_bytes;
extern const unsigned char gpo_condition_ptx[];
extern const std::size_t gpo_condition_ptx_bytes;
extern const unsigned char gpo_push_ptx[];
extern const std::size_t gpo_push_ptx_bytes;
extern const unsigned char gpo_combine_ptx[];
extern const std::size_t gpo_combine_ptx_bytes;

namespace gpo::driver {

std::string_view builtin_ptx() noexcept {
    return {reinterpret_cast<const char*>(gpo_builtin_ptx), gpo_builtin_ptx_bytes};
}

std::string_view condition_ptx() noexcept {
    return {reinterpret_cast<const char*>(gpo_condition_ptx), gpo_condition_ptx_bytes};
}

std::string_view push_ptx() noexcept { return {reinterpret_cast<const char*>(gpo_push_ptx), gpo_push_ptx_bytes}; }

std::string_view combine_ptx() noexcept {
    return {reinterpret_cast<const char*>(gpo_combine_ptx), gpo_combine_ptx_bytes};
}

}  // namespace gpo::driver
