// module.hpp: modules (module.h).
#ifndef GPUORCH_CPP_MODULE_HPP
#define GPUORCH_CPP_MODULE_HPP

#include <cstdint>
#include <string>

#include "kernel.hpp"
#include "module_calls.hpp"

namespace gpuorch {

class module : public owner<module_calls, gpo_module_destroy> {
public:
    using owner::owner;

    /// The address of a __device__ or __constant__ variable, which is a T or an array of T. GPO_INVALID_ARGUMENT if the
    /// variable's size says otherwise.
    template <class T>
    [[nodiscard]] device_ptr<T> symbol(const char* name) const {
        std::uint64_t address = 0, bytes = 0;
        check(gpo_module_get_symbol(get(), name, &address, &bytes));
        if (bytes == 0 || bytes % sizeof(T) != 0) throw error(error::of_status(GPO_INVALID_ARGUMENT));
        return device_ptr<T>(address);
    }
};

/// The compiler's text from this thread's last device::compile or device::load.
inline std::string compile_log() { return detail::text(gpo_last_compile_log); }

}  // namespace gpuorch

#endif
