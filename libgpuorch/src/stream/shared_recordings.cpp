#include "stream/shared_recordings.h"

#include <sys/mman.h>

#include <cerrno>

namespace gpo {

namespace {

constexpr uint64_t kBytes = 4096;
constexpr unsigned kNumberBits = 22;   // no kernel of Linux has more processes

uint64_t word_of(const host::Process& process) noexcept {
    return process.start << (kNumberBits + 1) | static_cast<uint64_t>(process.number) << 1;
}

}  // namespace

SharedRecordings::SharedRecordings() : own_(word_of(host::this_process())) {}

host::Process SharedRecordings::process_of(uint64_t word) noexcept {
    return {static_cast<int32_t>(word >> 1 & ((1u << kNumberBits) - 1)), word >> (kNumberBits + 1)};
}

std::unique_ptr<SharedRecordings> SharedRecordings::create() {
    std::unique_ptr<SharedRecordings> made(new SharedRecordings);
    if (!made->file_.create(kBytes) || !(made->words_ = static_cast<Words*>(made->file_.map())))
        fail_errno(errno == ENOMEM || errno == EMFILE || errno == ENFILE ? GPO_OUT_OF_MEMORY : GPO_NOT_SUPPORTED, errno,
                   "memory that processes share");
    return made;
}

std::unique_ptr<SharedRecordings> SharedRecordings::open(const Exported& exported) {
    std::unique_ptr<SharedRecordings> made(new SharedRecordings);
    host::SharedFile file;
    if (!file.open(exported.file) || file.bytes() != kBytes) {
        const int error = errno;
        refuse_lost(exported);
        fail_errno(GPO_INVALID_ARGUMENT, error,
                   text("of ", gpo::process_of(exported), ", which has destroyed the event, or is another user's"));
    }
    if (!(made->words_ = static_cast<Words*>(file.map())))
        fail_errno(GPO_OUT_OF_MEMORY, errno, "memory that processes share");
    return made;
}

SharedRecordings::~SharedRecordings() {
    if (words_) munmap(words_, kBytes);
}

bool SharedRecordings::recorder_has_ended() const noexcept {
    const uint64_t word = words_->recorder.load(std::memory_order_acquire);
    if (word & kLost) return true;
    return word != 0 && word != own_ && host::has_ended(process_of(word));
}

void SharedRecordings::set_lost() noexcept {
    uint64_t word = words_->recorder.load(std::memory_order_acquire);
    // One that was recorded anew meanwhile isn't lost.
    if (word && word != own_ && !(word & kLost)) words_->recorder.compare_exchange_strong(word, word | kLost);
}

ErrorPtr SharedRecordings::loss(const char* event) const noexcept {
    return make_error(GPO_PEER_LOST, event, ": process ",
                      process_of(words_->recorder.load(std::memory_order_acquire)).number,
                      ", which recorded it, has ended before the recording was complete");
}

}  // namespace gpo
