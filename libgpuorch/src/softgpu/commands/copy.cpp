#include "softgpu/commands/copy.h"

#include <algorithm>
#include <cstring>

namespace gpo::softgpu {

namespace {

// Like a GPU, small copies and fills of aligned words never tear a word that kernels or value writes change meanwhile.
// Larger amounts are copied as fast as the host can.
constexpr size_t kWholeBytes = 8192;

template <class Word>
void copy_words(char* to, const char* from, size_t bytes) noexcept {
    for (size_t at = 0; at < bytes; at += sizeof(Word)) {
        const Word word = __atomic_load_n(reinterpret_cast<const Word*>(from + at), __ATOMIC_RELAXED);
        __atomic_store_n(reinterpret_cast<Word*>(to + at), word, __ATOMIC_RELAXED);
    }
}

void copy_row(char* to, const char* from, size_t bytes) noexcept {
    const auto ends = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes;
    const bool apart = to + bytes <= from || from + bytes <= to;
    if (bytes > kWholeBytes || !apart || ends % sizeof(uint32_t) != 0) std::memmove(to, from, bytes);
    else if (ends % sizeof(uint64_t) == 0) copy_words<uint64_t>(to, from, bytes);
    else copy_words<uint32_t>(to, from, bytes);
}

}  // namespace

void Copy::perform() const noexcept {
    if (!width || !height) return;
    auto to = reinterpret_cast<char*>(destination);
    auto from = reinterpret_cast<const char*>(source);
    if (height == 1 || (destination_pitch == width && source_pitch == width)) {
        copy_row(to, from, width * height);
        return;
    }
    for (size_t row = 0; row < height; ++row)
        copy_row(to + row * destination_pitch, from + row * source_pitch, width);
}

namespace {

template <class T>
void fill_row(char* row, T value, size_t count) noexcept {
    T* const to = reinterpret_cast<T*>(row);
    if (count * sizeof(T) > kWholeBytes || reinterpret_cast<uintptr_t>(row) % sizeof(T) != 0) {
        std::fill_n(to, count, value);
        return;
    }
    for (size_t i = 0; i < count; ++i) __atomic_store_n(to + i, value, __ATOMIC_RELAXED);
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
