// The arguments of a launch that comes later than the call that gave them: a held launch, or a pipeline's stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace gpo {

/// Values of a kernel's parameters, each copied or referred to. Launches take `pointers()`.
class Arguments {
public:
    /// `bytes`: of each parameter. Throws std::bad_alloc.
    explicit Arguments(std::span<const uint32_t> bytes)
        : Arguments(static_cast<uint32_t>(bytes.size()), [&](uint32_t i) { return bytes[i]; }) {}
    /// `bytes_of(i)`: of parameter i.
    template <class BytesOf>
    Arguments(uint32_t count, BytesOf&& bytes_of) : count_(count) {
        if (!count) return;
        size_t total = 0;
        for (uint32_t i = 0; i < count; ++i) total += rounded(bytes_of(i));
        // In one block: addresses, sizes, values. new[] of bytes is aligned for any fundamental type: 16.
        const size_t head = rounded(count * (sizeof(void*) + sizeof(uint32_t)));
        block_ = std::make_unique_for_overwrite<std::byte[]>(head + total);
        std::byte* at = block_.get() + head;
        std::memset(at, 0, total);
        for (uint32_t i = 0; i < count; ++i) {
            const uint32_t bytes = bytes_of(i);
            new (pointers() + i) void*(at);
            new (sizes() + i) uint32_t(bytes);
            at += rounded(bytes);
        }
    }

    Arguments(Arguments&& other) noexcept
        : block_(std::move(other.block_)), count_(std::exchange(other.count_, 0)) {}
    Arguments& operator=(Arguments&& other) noexcept {
        block_ = std::move(other.block_);
        count_ = std::exchange(other.count_, 0);
        return *this;
    }

    /// Copies a parameter's value. Not allowed after refer() for the same parameter.
    void copy(size_t i, const void* value) noexcept { std::memcpy(pointers()[i], value, bytes()[i]); }
    /// Refers to a parameter's value, which must stay at this address.
    void refer(size_t i, const void* value) noexcept { pointers()[i] = const_cast<void*>(value); }

    /// NULL without parameters. Moving the object doesn't move what this points to.
    void** pointers() const noexcept { return reinterpret_cast<void**>(block_.get()); }
    const uint32_t* bytes() const noexcept { return sizes(); }
    uint32_t count() const noexcept { return count_; }

private:
    static constexpr size_t kAlignment = 16;   // the largest that a CUDA type has
    static size_t rounded(size_t bytes) noexcept { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
    uint32_t* sizes() const noexcept { return reinterpret_cast<uint32_t*>(pointers() + count_); }

    std::unique_ptr<std::byte[]> block_;
    uint32_t count_ = 0;
};

}  // namespace gpo
