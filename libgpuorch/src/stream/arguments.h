// The arguments of a launch that comes later than the call that gave them: a held launch, or a pipeline's stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace gpo {

/// Values of a kernel's parameters, each copied or referred to. Launches take `pointers()`.
class Arguments {
public:
    /// `bytes`: of each parameter. Throws std::bad_alloc.
    explicit Arguments(std::vector<uint32_t> bytes) : bytes_(std::move(bytes)), pointers_(bytes_.size()) {
        size_t total = 0;
        for (const uint32_t one : bytes_) total += rounded(one);
        values_ = std::make_unique<std::byte[]>(total);   // new[] of bytes is aligned for any fundamental type: 16
        std::byte* at = values_.get();
        for (size_t i = 0; i < bytes_.size(); at += rounded(bytes_[i++])) pointers_[i] = at;
    }

    /// Copies a parameter's value. Not allowed after refer() for the same parameter.
    void copy(size_t i, const void* value) noexcept { std::memcpy(pointers_[i], value, bytes_[i]); }
    /// Refers to a parameter's value, which must stay at this address.
    void refer(size_t i, const void* value) noexcept { pointers_[i] = const_cast<void*>(value); }

    void** pointers() noexcept { return pointers_.data(); }
    const uint32_t* bytes() const noexcept { return bytes_.data(); }
    uint32_t count() const noexcept { return static_cast<uint32_t>(bytes_.size()); }

private:
    static constexpr size_t kAlignment = 16;   // the largest that a CUDA type has
    static size_t rounded(size_t bytes) noexcept { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

    std::vector<uint32_t> bytes_;
    std::vector<void*> pointers_;
    std::unique_ptr<std::byte[]> values_;
};

}  // namespace gpo
