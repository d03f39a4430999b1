#include "core/options.h"

#include <algorithm>

namespace gpo {

namespace detail {

void read_struct(const void* in, size_t known, size_t least, const char* name, void* out) {
    uint32_t size = 0;
    std::memcpy(&size, in, sizeof size);
    if (size < least) fail(GPO_INVALID_ARGUMENT, name, ".struct_size is ", size, ": set it to sizeof the struct");
    // A size that no struct of this library will ever have is a field that was not set.
    if (size > 65536) fail(GPO_INVALID_ARGUMENT, name, ".struct_size is ", size, ": set it to sizeof the struct");
    if (size > known) {
        const auto* tail = static_cast<const unsigned char*>(in) + known;
        if (std::any_of(tail, tail + (size - known), [](unsigned char byte) { return byte != 0; }))
            fail(GPO_INVALID_ARGUMENT, name, " is of a newer version (", size, " bytes, known are ", known,
                 ") and uses fields that this library doesn't know");
    }
    std::memcpy(out, in, std::min<size_t>(size, known));
}

size_t writable(uint32_t struct_size, size_t known, const char* name) {
    if (struct_size < sizeof(uint32_t) || struct_size > 65536)
        fail(GPO_INVALID_ARGUMENT, name, ".struct_size is ", struct_size, ": set it to sizeof the struct");
    return std::min<size_t>(struct_size, known);
}

}  // namespace detail

gpo_status write_text(std::string_view value, char* buffer, size_t capacity, size_t* needed) {
    if (!buffer && capacity) fail(GPO_INVALID_ARGUMENT, "buffer is NULL, and capacity is not 0");
    if (needed) *needed = value.size() + 1;
    if (!buffer) return GPO_SUCCESS;
    if (capacity == 0) fail(GPO_BUFFER_TOO_SMALL, value.size() + 1, " bytes are needed");
    const size_t count = std::min(capacity - 1, value.size());
    value.copy(buffer, count);
    buffer[count] = '\0';
    if (count < value.size()) fail(GPO_BUFFER_TOO_SMALL, value.size() + 1, " bytes are needed");
    return GPO_SUCCESS;
}

}  // namespace gpo
