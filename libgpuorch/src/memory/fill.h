// Fills as operations: elements of 1, 2 or 4 bytes, and rows of bytes.
#pragma once

#include "memory/place.h"
#include "stream/stream.h"
#include "stream/work.h"

namespace gpo {

class Fill final : public Operation {
public:
    /// `count` elements, on a stream of `context`. Throws Failure(GPO_INVALID_ARGUMENT).
    Fill(Context& context, uint64_t destination, uint32_t value, uint32_t element_bytes, uint64_t count);
    /// `height` rows of `width` bytes; row starts are `pitch` bytes apart.
    Fill(Context& context, uint64_t destination, uint64_t pitch, uint32_t value, uint64_t width, uint64_t height);

    const FillWork& record() const noexcept { return work_; }

    void issue(Stream& stream) override;
    bool add_to(Stream& stream, StreamRecording& recording) override;
    std::unique_ptr<Operation> held_copy() const override;
    trace::Work work() const noexcept override { return {trace::Engine::fill, bytes_of(work_)}; }
    LearnableWork learnable() const noexcept override;

private:
    bool empty() const noexcept { return work_.count == 0 || work_.rows == 0; }
    void check_known();
    void check_fully() const;

    Context& context_;
    FillWork work_;
    bool known_ = false;  // the whole destination is memory of ours
};

}  // namespace gpo
