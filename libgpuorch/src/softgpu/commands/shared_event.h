// An event of several processes: two counters in memory that they share.
//
// Each recording has a number, one more than the recording before, whichever process made it. The event is complete
// when its newest recording is. A recording counts as complete as soon as a later one is.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "host/shared_file.h"

namespace gpo::softgpu {

class SharedEvent {
public:
    /// NULL: the system has no memory or no descriptor for it. Throws std::bad_alloc.
    static std::shared_ptr<SharedEvent> create();
    /// Another process's; NULL with the reason. Throws std::bad_alloc.
    static std::shared_ptr<SharedEvent> open(const CUipcEventHandle& handle, CUresult* why);
    ~SharedEvent();
    SharedEvent(const SharedEvent&) = delete;
    SharedEvent& operator=(const SharedEvent&) = delete;

    /// INVALID_VALUE: it is another process's.
    CUresult name(CUipcEventHandle* handle) const noexcept;
    /// The number of a new recording.
    uint64_t record() noexcept { return words_->recorded.fetch_add(1, std::memory_order_acq_rel) + 1; }
    void complete(uint64_t recording) noexcept;
    uint64_t newest() const noexcept { return words_->recorded.load(std::memory_order_acquire); }
    bool reached(uint64_t recording) const noexcept {
        return words_->completed.load(std::memory_order_acquire) >= recording;
    }

private:
    struct Words {
        std::atomic<uint64_t> recorded, completed;
    };
    static_assert(std::atomic<uint64_t>::is_always_lock_free);
    SharedEvent() = default;

    host::SharedFile file_;   // open only where it was made
    Words* words_ = nullptr;
};

}  // namespace gpo::softgpu
