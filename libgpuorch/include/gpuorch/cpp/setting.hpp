// setting.hpp: values for parameters of graphs (template.h).
#ifndef GPUORCH_CPP_SETTING_HPP
#define GPUORCH_CPP_SETTING_HPP

#include <cstdint>
#include <memory>
#include <utility>

#include "kernel.hpp"

namespace gpuorch {

/// A value for a parameter, by its name or by its number: a number or struct of the parameter's size, a dim3 for a grid
/// or block, a device_ptr, a buffer or pinned memory. The setting refers to the name without copying it.
template <class T>
class setting {
public:
    template <class From>
    setting(const char* name, const From& value) : name_(name), value_(detail::kernel_argument(value)) {}
    template <class From>
    setting(std::uint32_t number, const From& value) : number_(number), value_(detail::kernel_argument(value)) {}

    /// The result refers to this object.
    gpo_setting raw() const noexcept {
        auto one = sized<gpo_setting>();
        one.name = name_;
        one.parameter = number_;
        one.value = std::addressof(value_);
        one.bytes = sizeof value_;
        return one;
    }

private:
    const char* name_ = nullptr;
    std::uint32_t number_ = 0;
    T value_;
};
template <class From>
setting(const char*, const From&) -> setting<decltype(detail::kernel_argument(std::declval<const From&>()))>;
template <class From>
setting(std::uint32_t, const From&) -> setting<decltype(detail::kernel_argument(std::declval<const From&>()))>;

}  // namespace gpuorch

#endif
