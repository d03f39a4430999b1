// Fills as operations: elements of 1, 2 or 4 bytes, and rows of bytes.
#pragma once

#include "memory/place.h"
#include "stream/stream.h"

namespace gpo {

class Fill final : public Operation {
public:
    /// Throws Failure(GPO_INVALID_ARGUMENT).
    Fill(Stream& stream, uint64_t destination, uint32_t value, uint32_t element_bytes, uint64_t count);
    void issue(Stream& stream) override;
    std::unique_ptr<Operation> keep() const override;
    trace::Work work() const noexcept override { return {trace::Engine::fill, bytes_}; }

private:
    uint64_t destination_, count_, bytes_ = 0;
    uint32_t value_, element_bytes_;
    Context& context_;
};

class FillRows final : public Operation {
public:
    FillRows(Stream& stream, uint64_t destination, uint64_t pitch, uint32_t value, uint64_t width, uint64_t height);
    void issue(Stream& stream) override;
    std::unique_ptr<Operation> keep() const override;
    trace::Work work() const noexcept override { return {trace::Engine::fill, width_ * height_}; }

private:
    uint64_t destination_, pitch_, width_, height_, span_ = 0;
    uint32_t value_;
    Context& context_;
};

}  // namespace gpo
