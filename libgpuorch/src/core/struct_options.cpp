#include "core/struct_options.h"

#include <algorithm>

namespace gpo {

namespace detail {

void check_size(size_t size, const Shape& shape, const char* name, const char* word) {
    if (size >= shape.bytes) return;
    const StructField* last = nullptr;   // the last field that begins below the size
    for (const StructField& field : shape.fields) {
        if (size == field.begin || size == field.end) return;
        if (size > field.begin) last = &field;
    }
    fail(GPO_INVALID_ARGUMENT, name ? name : "", name ? "." : "", word, " is ", size, ", which ends ",
         last && size > last->end ? "between two fields, behind " : "inside the field ", last ? last->name : "",
         ": set it to sizeof the struct");
}

namespace {

void check_struct_size(uint32_t size, const Shape& shape, size_t least, const char* name) {
    // No struct of this library will ever exceed 65536 bytes. A larger size is probably an uninitialised field.
    if (size < least || size > 65536)
        fail(GPO_INVALID_ARGUMENT, name, ".struct_size is ", size, ": set it to sizeof the struct");
    check_size(size, shape, name, "struct_size");
}

}  // namespace

void read_struct(const void* in, const Shape& shape, size_t least, const char* name, void* out) {
    uint32_t size = 0;
    std::memcpy(&size, in, sizeof size);
    if (size != shape.bytes) [[unlikely]] {
        check_struct_size(size, shape, least, name);
        const auto* tail = static_cast<const unsigned char*>(in) + shape.bytes;
        if (size > shape.bytes &&
            std::any_of(tail, tail + (size - shape.bytes), [](unsigned char byte) { return byte != 0; }))
            fail(GPO_INVALID_ARGUMENT, name, " is of a newer version (", size, " bytes, known are ", shape.bytes,
                 ") and uses fields that this library doesn't know");
    }
    std::memcpy(out, in, std::min<size_t>(size, shape.bytes));
}

size_t writable(uint32_t struct_size, const Shape& shape, const char* name) {
    check_struct_size(struct_size, shape, sizeof(uint32_t), name);
    return std::min<size_t>(struct_size, shape.bytes);
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
