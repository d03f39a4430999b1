// error.hpp: the exception that calls throw, and structs with their size set.
#ifndef GPUORCH_CPP_ERROR_HPP
#define GPUORCH_CPP_ERROR_HPP

#include <cstring>
#include <stdexcept>
#include <string>

#include "../options.hpp"

namespace gpuorch {

/// The struct with its size set, for calls of C functions: sized<gpo_metrics>().
template <class Struct>
Struct sized(Struct value = Struct()) noexcept {
    value.struct_size = sizeof value;
    return value;
}

/// Why a call or an operation has failed.
class error : public std::runtime_error {
public:
    explicit error(const gpo_error& details) : std::runtime_error(sentence(details)), details_(details) {}

    /// For the calling thread's last call, which has returned `status`.
    static error of_last_call(gpo_status status) {
        auto details = sized<gpo_error>();
        gpo_last_error(&details);
        return error(details.status == status ? details : of_status(status));
    }

    gpo_status status() const noexcept { return details_.status; }
    const char* function() const noexcept { return details_.function; }
    const char* object() const noexcept { return details_.object; }
    const char* message() const noexcept { return details_.message; }
    const gpo_error& details() const noexcept { return details_; }

    /// A status that came without details.
    static gpo_error of_status(gpo_status status) noexcept {
        auto details = sized<gpo_error>();
        details.status = status;
        std::strncpy(details.message, gpo_status_text(status), sizeof details.message - 1);
        return details;
    }

private:
    static std::string sentence(const gpo_error& details) {
        const std::string message = std::string(details.message) + " (" + gpo_status_name(details.status) + ")";
        return details.function[0] != '\0' ? std::string(details.function) + ": " + message : message;
    }

    gpo_error details_;
};

/// Throws gpuorch::error unless `status`, from a C function that this thread has just called, is GPO_SUCCESS.
inline void check(gpo_status status) {
    if (status != GPO_SUCCESS) throw error::of_last_call(status);
}

}  // namespace gpuorch

#endif
