#include "softgpu/commands/shared_event.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace gpo::softgpu {

namespace {

constexpr uint64_t kBytes = 4096;

struct EventHandle {
    static constexpr uint32_t kMagic = 0x4550'5347;   // "GSPE"
    uint32_t magic = kMagic, reserved = 0;
    host::SharedFileName file;
    uint64_t start = 0;   // of the process
};
static_assert(sizeof(EventHandle) <= sizeof(CUipcEventHandle));

}  // namespace

std::shared_ptr<SharedEvent> SharedEvent::create() {
    std::shared_ptr<SharedEvent> made(new SharedEvent);
    if (made->file_.create(kBytes)) made->words_ = static_cast<Words*>(made->file_.map());
    return made->words_ ? made : nullptr;
}

std::shared_ptr<SharedEvent> SharedEvent::open(const CUipcEventHandle& handle, CUresult* why) {
    EventHandle of;
    std::memcpy(&of, handle.reserved, sizeof of);
    *why = CUDA_ERROR_INVALID_VALUE;
    if (of.magic != EventHandle::kMagic) return nullptr;
    *why = CUDA_ERROR_INVALID_CONTEXT;
    if (of.file.process == getpid()) return nullptr;
    *why = CUDA_ERROR_INVALID_HANDLE;
    host::SharedFile file;
    if (host::has_ended({of.file.process, of.start}) || !file.open(of.file) || file.bytes() != kBytes) return nullptr;
    std::shared_ptr<SharedEvent> made(new SharedEvent);
    *why = CUDA_ERROR_OUT_OF_MEMORY;
    made->words_ = static_cast<Words*>(file.map());
    return made->words_ ? made : nullptr;
}

SharedEvent::~SharedEvent() {
    if (words_) munmap(words_, kBytes);
}

CUresult SharedEvent::name(CUipcEventHandle* handle) const noexcept {
    if (!file_.is_open()) return CUDA_ERROR_INVALID_VALUE;
    EventHandle of;
    of.file = file_.name();
    of.start = host::this_process().start;
    std::memset(handle->reserved, 0, sizeof handle->reserved);
    std::memcpy(handle->reserved, &of, sizeof of);
    return CUDA_SUCCESS;
}

void SharedEvent::complete(uint64_t recording) noexcept {
    uint64_t seen = words_->completed.load(std::memory_order_relaxed);
    while (seen < recording && !words_->completed.compare_exchange_weak(seen, recording, std::memory_order_acq_rel)) {}
}

}  // namespace gpo::softgpu
