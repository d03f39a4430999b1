// Names and texts of statuses, and what driver results become.
#include "core/error.h"

#include <array>
#include <cstring>
#include <system_error>

namespace gpo {

void Error::write_to(gpo_error& out) const noexcept {
    const uint32_t size = out.struct_size;
    std::memset(&out, 0, sizeof out);
    out.struct_size = size;
    out.status = status;
    out.native_code = native_code;
    out.native_domain = native_domain;
    out.operation = operation;
    copy_text(out.function, function);
    copy_text(out.object, object);
    copy_text(out.message, sentence());
}

ErrorPtr bare_error(gpo_status status) noexcept {
    // An error for each status; all statuses are below 100.
    static const auto errors = [] {
        std::array<Error, 100> out;
        for (size_t i = 0; i < out.size(); ++i) out[i].status = static_cast<gpo_status>(i);
        return out;
    }();
    const auto index = static_cast<size_t>(status);
    return ErrorPtr(ErrorPtr(), &errors[index < errors.size() ? index : static_cast<size_t>(GPO_INTERNAL)]);
}

void fail_errno(gpo_status status, int number, std::string message) {
    char buffer[128];
    ErrorPtr error;
    try {
        auto made = std::make_shared<Error>();
        made->status = status;
        made->native_code = number;
        made->native_domain = GPO_NATIVE_ERRNO;
        made->message = text(message, ": ", strerror_r(number, buffer, sizeof buffer));
        error = std::move(made);
    } catch (const std::bad_alloc&) {
        error = bare_error(status);
    }
    throw Failure(std::move(error));
}

bool is_sticky(CUresult result) noexcept {
    switch (result) {
        case CUDA_ERROR_ECC_UNCORRECTABLE:
        case CUDA_ERROR_NVLINK_UNCORRECTABLE:
        case CUDA_ERROR_CONTEXT_IS_DESTROYED:
        case CUDA_ERROR_ILLEGAL_ADDRESS:
        case CUDA_ERROR_LAUNCH_TIMEOUT:
        case CUDA_ERROR_ASSERT:
        case CUDA_ERROR_HARDWARE_STACK_ERROR:
        case CUDA_ERROR_ILLEGAL_INSTRUCTION:
        case CUDA_ERROR_MISALIGNED_ADDRESS:
        case CUDA_ERROR_INVALID_ADDRESS_SPACE:
        case CUDA_ERROR_INVALID_PC:
        case CUDA_ERROR_LAUNCH_FAILED:
        case CUDA_ERROR_EXTERNAL_DEVICE:
        case CUDA_ERROR_DEINITIALIZED:
            return true;
        default:
            return false;
    }
}

bool is_passing(const std::exception& error) noexcept {
    if (const auto* failure = dynamic_cast<const Failure*>(&error))
        return failure->error()->status == GPO_OUT_OF_MEMORY;
    return dynamic_cast<const std::bad_alloc*>(&error) || dynamic_cast<const std::system_error*>(&error);
}

gpo_status status_of(CUresult result) noexcept {
    if (is_sticky(result)) return GPO_DEVICE_LOST;
    switch (result) {
        case CUDA_SUCCESS: return GPO_SUCCESS;
        case CUDA_ERROR_NOT_READY: return GPO_NOT_READY;
        case CUDA_ERROR_INVALID_VALUE:
        case CUDA_ERROR_INVALID_HANDLE:
        case CUDA_ERROR_INVALID_CONTEXT: return GPO_INVALID_ARGUMENT;
        case CUDA_ERROR_OUT_OF_MEMORY: return GPO_OUT_OF_MEMORY;
        case CUDA_ERROR_NO_DEVICE:
        case CUDA_ERROR_INVALID_DEVICE:
        case CUDA_ERROR_NOT_INITIALIZED:
        case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        case CUDA_ERROR_DEVICE_UNAVAILABLE: return GPO_NO_DEVICE;
        case CUDA_ERROR_INVALID_IMAGE:
        case CUDA_ERROR_NO_BINARY_FOR_GPU:
        case CUDA_ERROR_INVALID_PTX:
        case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        case CUDA_ERROR_INVALID_SOURCE: return GPO_INVALID_IMAGE;
        case CUDA_ERROR_NOT_FOUND: return GPO_NOT_FOUND;
        case CUDA_ERROR_NOT_PERMITTED: return GPO_WOULD_DEADLOCK;  // in a host function
        case CUDA_ERROR_NOT_SUPPORTED:
        case CUDA_ERROR_PEER_ACCESS_UNSUPPORTED:
        case CUDA_ERROR_UNSUPPORTED_LIMIT:
        case CUDA_ERROR_STUB_LIBRARY: return GPO_NOT_SUPPORTED;
        case CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED:
        case CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED:
        case CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED:
        case CUDA_ERROR_PEER_ACCESS_NOT_ENABLED:
        case CUDA_ERROR_ILLEGAL_STATE: return GPO_INVALID_STATE;
        case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
        case CUDA_ERROR_OPERATING_SYSTEM:  // no thread, no descriptor
        case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: return GPO_LIMIT_EXCEEDED;
        case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
        case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
        case CUDA_ERROR_STREAM_CAPTURE_MERGE:
        case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
        case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
        case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
        case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
        case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
        case CUDA_ERROR_CAPTURED_EVENT: return GPO_CAPTURE_REFUSED;
        default: return GPO_DRIVER_ERROR;
    }
}

}  // namespace gpo

namespace {

struct StatusRow {
    gpo_status status;
    const char* name;
    const char* text;
};

#define ROW(status, text) {status, #status, text}
constexpr StatusRow kStatuses[] = {
    ROW(GPO_SUCCESS, "done"),
    ROW(GPO_NOT_READY, "the work is not done yet"),
    ROW(GPO_TIMEOUT, "the timeout passed first"),
    ROW(GPO_WOULD_BLOCK, "bounded and full: take something out, then try again"),
    ROW(GPO_END, "there is no more"),
    ROW(GPO_INVALID_ARGUMENT, "an argument is out of range, NULL or unknown"),
    ROW(GPO_INVALID_HANDLE, "the handle is NULL, of another type, or was never one of a live runtime"),
    ROW(GPO_STALE_HANDLE, "the handle is of something that has been destroyed"),
    ROW(GPO_INVALID_STATE, "the object is not in a state in which this can be done"),
    ROW(GPO_NOT_SUPPORTED, "this device, driver or object can't do that"),
    ROW(GPO_NOT_FOUND, "there is nothing of that name"),
    ROW(GPO_WOULD_DEADLOCK, "inside a callback this would wait for itself"),
    ROW(GPO_BUFFER_TOO_SMALL, "the buffer is too small"),
    ROW(GPO_CAPTURE_REFUSED, "can't be done on a stream that is being captured"),
    ROW(GPO_OUT_OF_MEMORY, "out of memory"),
    ROW(GPO_LIMIT_EXCEEDED, "a limit has been reached"),
    ROW(GPO_NO_DEVICE, "there is no usable device"),
    ROW(GPO_NO_COMPILER, "there is no compiler for kernels"),
    ROW(GPO_COMPILE_FAILED, "the kernel source doesn't compile"),
    ROW(GPO_INVALID_IMAGE, "the image is cut short, not an image, or for another device"),
    ROW(GPO_IO_ERROR, "a file or pipe could not be read or written"),
    ROW(GPO_CANCELLED, "cancelled"),
    ROW(GPO_FAILED, "what it depends on has failed"),
    ROW(GPO_CALLBACK_FAILED, "a callback returned an error or threw"),
    ROW(GPO_DEVICE_LOST, "the device is lost"),
    ROW(GPO_FORKED, "the process was forked after opening: the child can't use what the parent opened"),
    ROW(GPO_SHUT_DOWN, "the runtime is shut down or shutting down"),
    ROW(GPO_PEER_LOST, "a process of the group has died, left, hangs or can't go on"),
    ROW(GPO_DRIVER_ERROR, "the driver returned an error"),
    ROW(GPO_INTERNAL, "a defect of the library"),
};
#undef ROW

}  // namespace

extern "C" {

GPO_API const char* gpo_status_name(gpo_status status) {
    for (const auto& row : kStatuses)
        if (row.status == status) return row.name;
    return "GPO_UNKNOWN";
}

GPO_API const char* gpo_status_text(gpo_status status) {
    for (const auto& row : kStatuses)
        if (row.status == status) return row.text;
    return "not a status of this library";
}

}
