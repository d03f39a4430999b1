#include "queue/staged.h"

namespace gpo::queue {

void Staged::Free::run() noexcept {
    try {
        arena_->free_after(memory_, *stream_);
        delete this;
    } catch (const std::exception&) {
        stream_->runtime().errands().post(*this, host::now() + Errands::kTryAgain);
    }
}

Staged::Staged(Arena& arena, uint64_t bytes)
    : arena_(&arena), memory_(arena.allocate(bytes, 0, handle::take_thread_number())) {}

Staged::~Staged() {
    if (memory_) arena_->free(memory_, handle::thread_number());
}

std::unique_ptr<Staged::Free> Staged::prepare(Stream& stream) {
    return std::make_unique<Free>(arena_, memory_, stream);
}

void Staged::give(std::unique_ptr<Free> later) noexcept {
    memory_ = nullptr;
    later.release()->run();
}

StagedCopy::StagedCopy(const char* kind, const char* label, uint64_t destination, const void* source,
                       uint64_t bytes) noexcept
    : Operation(kind, label) {
    work_.way = CopyWork::Way::to_device;
    work_.destination = destination;
    work_.source = reinterpret_cast<uint64_t>(source);
    work_.bytes = bytes;
}

void StagedCopy::issue(Stream& stream) {
    if (stream.capturing())
        fail(GPO_CAPTURE_REFUSED, stream.describe(), " is being captured, and can't record an ", kind());
    gpo::issue(stream, work_);
}

}  // namespace gpo::queue
