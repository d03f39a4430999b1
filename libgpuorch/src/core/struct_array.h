// Arrays of structs that cross the ABI. The caller gives the stride, the bytes from one element to the next: elements
// may be smaller or larger than the struct that this library knows (options.h).
#pragma once

#include <cstdint>

#include "core/error.h"
#include "core/struct_options.h"

namespace gpo {

template <class T>
class StructArray {
public:
    /// `name` and `stride_name` are for messages, and must outlive this. Throws Failure(GPO_INVALID_ARGUMENT) for an
    /// address or a stride that no such array can have. An array of 0 elements isn't looked at.
    StructArray(const T* first, uint64_t stride, uint64_t count, const char* name, const char* stride_name)
        : first_(reinterpret_cast<const std::byte*>(first)), stride_(stride), name_(name), stride_name_(stride_name) {
        if (count == 0) return;
        required(first, name);
        if (stride < sizeof(uint32_t))
            fail(GPO_INVALID_ARGUMENT, stride_name, " is ", stride, ": set it to sizeof the struct");
        if (stride % alignof(T) != 0)
            fail(GPO_INVALID_ARGUMENT, stride_name, " is ", stride, ", no multiple of ", alignof(T));
        const auto address = reinterpret_cast<uint64_t>(first);
        if (address % alignof(T) != 0)
            fail(GPO_INVALID_ARGUMENT, name, " is at ", hex(address), ", not aligned to ", alignof(T));
        uint64_t span = 0;
        if (__builtin_mul_overflow(stride, count, &span) || span > UINT64_MAX - address)
            fail(GPO_INVALID_ARGUMENT, stride_name, " is ", stride, ": ", count,
                 " elements run past the end of addresses");
    }

    /// The element, as this library knows it. Throws Failure(GPO_INVALID_ARGUMENT), also if it is larger than the
    /// stride.
    T read(uint64_t i) const {
        const auto* at = reinterpret_cast<const T*>(first_ + i * stride_);
        if (at->struct_size > stride_)
            fail(GPO_INVALID_ARGUMENT, stride_name_, " is ", stride_, ", less than ", name_, "[", i, "].struct_size, ",
                 at->struct_size);
        return read_struct(at, name_);
    }

private:
    const std::byte* const first_;
    const uint64_t stride_;
    const char *const name_, *const stride_name_;
};

}  // namespace gpo
