// kernel.hpp: kernels and their arguments (module.h).
#ifndef GPUORCH_CPP_KERNEL_HPP
#define GPUORCH_CPP_KERNEL_HPP

#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>

#include "kernel_calls.hpp"
#include "memory.hpp"

namespace gpuorch {

/// The size of a grid in blocks, or of a block in threads. A single number is x.
struct dim3 {
    std::uint32_t x, y, z;
    constexpr dim3(std::uint32_t of_x, std::uint32_t of_y = 1, std::uint32_t of_z = 1) noexcept
        : x(of_x), y(of_y), z(of_z) {}
};

namespace detail {

/// The form in which a kernel gets an argument: the value itself, or the address of memory that the GPU reaches.
template <class T>
std::decay_t<T> kernel_argument(const T& value) noexcept {
    static_assert(!std::is_pointer_v<T> && !std::is_null_pointer_v<T> && !std::is_array_v<T>,
                  "a kernel can't follow a pointer of the host: pass a device_ptr, a buffer or pinned memory");
    static_assert(std::is_trivially_copyable_v<T>, "a kernel's arguments are copied as bytes");
    return value;
}
template <class T>
device_ptr<T> kernel_argument(const buffer<T>& memory) noexcept {
    return memory.get();
}
template <class T>
device_ptr<T> kernel_argument(const pinned<T>& memory) noexcept {
    return device_ptr<T>(reinterpret_cast<std::uintptr_t>(memory.data()));
}
template <class T>
device_ptr<T> kernel_argument(const host_memory<T>& memory) noexcept {
    return device_ptr<T>(reinterpret_cast<std::uintptr_t>(memory.data()));
}

}  // namespace detail

class kernel : public owner<kernel_calls, gpo_kernel_destroy> {
public:
    using owner::owner;

    /// Puts the kernel on a stream. For a pointer pass a device_ptr, a buffer or pinned memory; pointers of the host
    /// don't compile. Any other argument is passed unchanged, trivially copyable and of the parameter's own type. The
    /// size is checked: an `int` for a `long long` is refused.
    template <class... Arguments>
    void launch(gpo_stream_t stream, dim3 grid, dim3 block, const Arguments&... arguments) const {
        gpo_launch how{};
        write(how.grid, grid);
        write(how.block, block);
        launch(stream, how, arguments...);
    }
    /// Launches with a gpuorch::launch or gpo_launch, which has shared memory, clusters, flags and a label. `Launch` is
    /// a template parameter so that braces always make a dim3.
    template <class Launch, class... Arguments, std::enable_if_t<std::is_convertible_v<Launch, gpo_launch>, int> = 0>
    void launch(gpo_stream_t stream, const Launch& given, const Arguments&... arguments) const {
        const gpo_launch how = sized<gpo_launch>(given);
        const auto values = std::make_tuple(detail::kernel_argument(arguments)...);
        std::apply(
            [&](const auto&... value) {
                const void* addresses[] = {static_cast<const void*>(std::addressof(value))..., nullptr};
                const std::uint32_t sizes[] = {static_cast<std::uint32_t>(sizeof value)..., 0};
                check(gpo_stream_launch_kernel(stream, get(), &how, addresses, sizes, sizeof...(value)));
            },
            values);
    }

private:
    static void write(std::uint32_t (&to)[3], dim3 from) noexcept {
        to[0] = from.x;
        to[1] = from.y;
        to[2] = from.z;
    }
};

}  // namespace gpuorch

#endif
