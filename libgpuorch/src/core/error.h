// Failures inside the library: thrown as Failure, turned into a gpo_status in src/abi.
//
// GPO_NOT_READY, GPO_TIMEOUT and GPO_WOULD_BLOCK are results, not failures: functions return them.
#pragma once

#include <cuda.h>

#include <exception>
#include <memory>
#include <new>
#include <string>

#include "base/text.h"
#include "gpuorch/status.h"

namespace gpo {

/// The facts of a failure; immutable once made, and shared.
struct Error {
    gpo_status status = GPO_INTERNAL;
    int32_t native_code = 0;
    uint32_t native_domain = GPO_NATIVE_NONE;
    uint64_t operation = 0;
    std::string function;  // the exported function that was called; src/abi fills it in
    std::string object;    // "stream `upload`"
    std::string message;   // "": nothing is known besides the status

    const char* sentence() const noexcept { return message.empty() ? gpo_status_text(status) : message.c_str(); }
    void write_to(gpo_error& out) const noexcept;
};

using ErrorPtr = std::shared_ptr<const Error>;

class Failure : public std::exception {
public:
    explicit Failure(ErrorPtr error) noexcept : error_(std::move(error)) {}
    const ErrorPtr& error() const noexcept { return error_; }
    const char* what() const noexcept override { return error_->sentence(); }

private:
    ErrorPtr error_;
};

/// An error with a status but no message of its own. Allocates no memory, so that it can report that memory is short.
ErrorPtr bare_error(gpo_status status) noexcept;

/// An error with a message; a bare error if there is no memory for the message.
template <class... Pieces>
ErrorPtr make_error(gpo_status status, const Pieces&... pieces) noexcept {
    try {
        auto error = std::make_shared<Error>();
        error->status = status;
        error->message = text(pieces...);
        return error;
    } catch (const std::bad_alloc&) {
        return bare_error(status);
    }
}

/// Throws a Failure with a message.
template <class... Pieces>
[[noreturn]] void fail(gpo_status status, const Pieces&... pieces) {
    throw Failure(make_error(status, pieces...));
}

[[noreturn]] void fail_errno(gpo_status status, int number, std::string message);

/// True for a temporary failure: no memory, or no thread, at present.
bool is_passing(const std::exception& error) noexcept;

/// The status that corresponds to a CUresult.
gpo_status status_of(CUresult result) noexcept;

/// True for results by which the context, and with it every device of the driver, is lost permanently.
bool is_sticky(CUresult result) noexcept;

}  // namespace gpo
