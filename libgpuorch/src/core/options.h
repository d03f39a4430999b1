// Structs that cross the ABI. Reading: an older, smaller struct is filled up with zeros, a newer, larger one is accepted if
// what we don't know in it is zero. Writing: only as much as the caller's struct has.
#pragma once

#include <cstring>

#include "core/error.h"

namespace gpo {

namespace detail {
/// Checks `size` bytes at `in` against the `known` bytes of our struct and copies the common part to the zeroed `out`.
void read_struct(const void* in, size_t known, size_t least, const char* name, void* out);
size_t writable(uint32_t struct_size, size_t known, const char* name);
}  // namespace detail

/// `least`: the size that the struct had in its first version.
template <class T>
T read_struct(const T* in, const char* name, size_t least = sizeof(uint32_t)) {
    T out;
    std::memset(&out, 0, sizeof out);
    if (in) detail::read_struct(in, sizeof(T), least, name, &out);
    out.struct_size = sizeof(T);
    return out;
}

/// Writes `value` to the caller's struct, whose size field stays as the caller set it.
template <class T>
void write_struct(T* out, const T& value, const char* name) {
    if (!out) fail(GPO_INVALID_ARGUMENT, name, " is NULL");
    const uint32_t size = out->struct_size;
    const size_t count = detail::writable(size, sizeof(T), name);
    std::memcpy(out, &value, count);
    if (size > sizeof(T)) std::memset(reinterpret_cast<char*>(out) + sizeof(T), 0, size - sizeof(T));
    out->struct_size = size;
}

inline void refuse_unknown_flags(uint64_t flags, uint64_t known, const char* name) {
    if (flags & ~known) fail(GPO_INVALID_ARGUMENT, name, " has unknown flags ", hex(flags & ~known));
}

template <class T>
T& required(T* pointer, const char* name) {
    if (!pointer) fail(GPO_INVALID_ARGUMENT, name, " is NULL");
    return *pointer;
}

/// Strings that come out: at most `capacity` bytes with the terminator.
gpo_status write_text(std::string_view value, char* buffer, size_t capacity, size_t* needed);

}  // namespace gpo
