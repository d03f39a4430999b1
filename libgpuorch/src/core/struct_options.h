// Structs that cross the ABI.
//
// Reading: an older, smaller struct is filled up with zeros. A newer, larger struct is accepted if the fields that this
// library doesn't know are zero. Writing: only as many bytes as the caller's struct has. A smaller size must be that
// of an earlier version: a size that ends inside a field, or in the padding between two fields, is refused.
#pragma once

#include <cstring>
#include <span>

#include "core/error.h"
#include "core/struct_fields.h"

namespace gpo {

namespace detail {
/// A struct as this library knows it: size in bytes and fields.
struct Shape {
    size_t bytes;
    std::span<const StructField> fields;
};
template <class T>
inline constexpr Shape kShape{sizeof(T), kStructFields<T>};

/// Throws Failure if `size` is smaller than the shape's and lies within a field. `word` names the size in the message.
void check_size(size_t size, const Shape& shape, const char* name, const char* word);
/// Checks the struct at `in`, whose size is its first field, and copies what both sides know to the zeroed `out`.
void read_struct(const void* in, const Shape& shape, size_t least, const char* name, void* out);
size_t writable(uint32_t struct_size, const Shape& shape, const char* name);
}  // namespace detail

/// Refuses a stride of an array of T, in bytes, that cuts a field of T.
template <class T>
void check_stride(uint64_t stride) {
    detail::check_size(stride, detail::kShape<T>, nullptr, "stride");
}

/// `least`: the size that the struct had in its first version.
template <class T>
T read_struct(const T* in, const char* name, size_t least = sizeof(uint32_t)) {
    T out;
    std::memset(&out, 0, sizeof out);
    if (in) detail::read_struct(in, detail::kShape<T>, least, name, &out);
    out.struct_size = sizeof(T);
    return out;
}

/// How many bytes of T the caller's struct has room for, after its size was checked.
template <class T>
size_t writable(const T& out, const char* name) {
    return detail::writable(out.struct_size, detail::kShape<T>, name);
}

/// Writes `value` to the caller's struct, whose size field stays as the caller set it.
template <class T>
void write_struct(T* out, const T& value, const char* name) {
    if (!out) fail(GPO_INVALID_ARGUMENT, name, " is NULL");
    const uint32_t size = out->struct_size;
    const size_t count = writable(*out, name);
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

/// Writes a string to the caller's buffer: at most `capacity` bytes, including the terminator.
gpo_status write_text(std::string_view value, char* buffer, size_t capacity, size_t* needed);

}  // namespace gpo
