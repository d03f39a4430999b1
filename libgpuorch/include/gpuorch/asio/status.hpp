// status.hpp: a gpo_status as an error_code.
#ifndef GPUORCH_ASIO_STATUS_HPP
#define GPUORCH_ASIO_STATUS_HPP

#include <cerrno>
#include <string>

#include "../gpuorch.h"
#include "config.hpp"

namespace gpuorch {

/// Errors that are a gpo_status. They compare equal to the portable conditions: GPO_CANCELLED to operation_canceled,
/// GPO_TIMEOUT to timed_out, GPO_OUT_OF_MEMORY to not_enough_memory, and so on.
inline const error_category& status_category() {
    class category final : public error_category {
    public:
        const char* name() const noexcept override { return "gpuorch"; }
        std::string message(int value) const override { return gpo_status_text(value); }
        error_condition default_error_condition(int value) const noexcept override {
            const int portable = errno_of(value);
#if defined(GPUORCH_ASIO_STANDALONE)
            if (portable != 0) return error_condition(portable, std::generic_category());
#else
            if (portable != 0) return error_condition(portable, boost::system::generic_category());
#endif
            return error_condition(value, *this);
        }

    private:
        static int errno_of(int status) noexcept {
            switch (status) {
                case GPO_CANCELLED: return ECANCELED;
                case GPO_TIMEOUT: return ETIMEDOUT;
                case GPO_OUT_OF_MEMORY: return ENOMEM;
                case GPO_WOULD_BLOCK: return EAGAIN;
                case GPO_WOULD_DEADLOCK: return EDEADLK;
                case GPO_INVALID_ARGUMENT: return EINVAL;
                case GPO_NOT_SUPPORTED: return ENOTSUP;
                case GPO_IO_ERROR: return EIO;
                case GPO_DEVICE_LOST: return ENODEV;
                default: return 0;
            }
        }
    };
    static const category instance;
    return instance;
}

inline error_code make_status(gpo_status status) { return error_code(status, status_category()); }

}  // namespace gpuorch

#endif
