#include "softgpu/commands/copy.h"

#include <algorithm>
#include <cstring>

namespace gpo::softgpu {

void Copy::perform() const noexcept {
    if (!width || !height) return;
    auto to = reinterpret_cast<char*>(destination);
    auto from = reinterpret_cast<const char*>(source);
    if (height == 1 || (destination_pitch == width && source_pitch == width)) {
        std::memmove(to, from, width * height);
        return;
    }
    for (size_t row = 0; row < height; ++row)
        std::memmove(to + row * destination_pitch, from + row * source_pitch, width);
}

namespace {

template <class T>
void fill_row(char* row, T value, size_t count) noexcept {
    std::fill_n(reinterpret_cast<T*>(row), count, value);
}

}  // namespace

void Fill::perform() const noexcept {
    auto to = reinterpret_cast<char*>(destination);
    size_t rows = height, count = width;
    if (rows > 1 && pitch == width * element) {
        count *= rows;
        rows = 1;
    }
    for (size_t row = 0; row < rows; ++row) {
        if (element == 1) std::memset(to + row * pitch, int(value & 0xff), count);
        else if (element == 2) fill_row(to + row * pitch, uint16_t(value), count);
        else fill_row(to + row * pitch, value, count);
    }
}

}  // namespace gpo::softgpu
