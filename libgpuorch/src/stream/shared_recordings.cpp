#include "stream/shared_recordings.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "stream/blocking_calls.h"
#include "trace/serialising.h"

namespace gpo {

namespace {

constexpr unsigned kNumberBits = 22;   // Linux has at most 2^22 process numbers

uint64_t word_of(const host::Process& process) noexcept {
    return process.start << kNumberBits | static_cast<uint64_t>(process.number);
}

host::Process process_of(uint64_t word) noexcept {
    return {static_cast<int32_t>(word & ((1u << kNumberBits) - 1)), word >> kNumberBits};
}

}  // namespace

// If the memory can't be unregistered (driver error, lost context), the mapping stays: the driver would take other
// memory at these addresses for pinned memory.
class SharedRecordings::Unmap final : public BlockingCall {
public:
    using BlockingCall::BlockingCall;
    void* memory = nullptr;

private:
    void call(bool ok) noexcept override {
        {
            const SerialisingScope serialising(context().runtime(), Serialising::host_registration);
            if (ok && context().table().cuMemHostUnregister(memory) == CUDA_SUCCESS) munmap(memory, sizeof(Words));
        }
        delete this;
    }
};

SharedRecordings::SharedRecordings(Context& context) : context_(&context), own_(word_of(host::this_process())) {}

std::unique_ptr<SharedRecordings> SharedRecordings::create(Context& context) {
    std::unique_ptr<SharedRecordings> made(new SharedRecordings(context));
    if (!made->file_.create(sizeof(Words)))
        fail_errno(errno == ENOMEM || errno == EMFILE || errno == ENFILE ? GPO_OUT_OF_MEMORY : GPO_NOT_SUPPORTED, errno,
                   "memory that processes share");
    made->map(made->file_);
    return made;
}

std::unique_ptr<SharedRecordings> SharedRecordings::open(Context& context, const Exported& exported) {
    std::unique_ptr<SharedRecordings> made(new SharedRecordings(context));
    host::SharedFile file;
    if (!file.open(exported.file) || file.bytes() != sizeof(Words)) {
        const int error = errno;
        refuse_lost(exported);
        fail_errno(GPO_INVALID_ARGUMENT, error,
                   text("of ", gpo::process_of(exported), ", which has destroyed the event, or is another user's"));
    }
    made->map(file);
    return made;
}

void SharedRecordings::map(host::SharedFile& file) {
    auto unmap = std::make_unique<Unmap>(*context_);
    void* const memory = file.map();
    if (!memory) fail_errno(GPO_OUT_OF_MEMORY, errno, "memory that processes share");
    words_ = static_cast<Words*>(memory);
    unmap->memory = memory;
    const auto& table = context_->table();
    try {
        const DriverScope scope(*context_);
        const SerialisingScope serialising(context_->runtime(), Serialising::host_registration);
        context_->check_allocation(
            table.cuMemHostRegister(memory, sizeof(Words), CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
            "cuMemHostRegister", {Context::Wanted::Where::host, sizeof(Words), "an event that processes share"});
    } catch (...) {
        munmap(memory, sizeof(Words));
        throw;
    }
    unmap_ = std::move(unmap);
    const DriverScope scope(*context_);
    context_->check(table.cuMemHostGetDevicePointer(&address_, memory, 0), "cuMemHostGetDevicePointer");
}

SharedRecordings::~SharedRecordings() {
    if (unmap_) unmap_.release()->make_elsewhere();
}

void SharedRecordings::keep_words() noexcept { unmap_.reset(); }

CUdeviceptr SharedRecordings::word(Ticket ticket) const noexcept {
    return address_ + static_cast<uint64_t>(reinterpret_cast<char*>(&slot(ticket).done) -
                                            reinterpret_cast<char*>(words_));
}

// `*after_another`: the word still has an incomplete recording of a living process.
SharedRecordings::Ticket SharedRecordings::take(bool* after_another) {
    std::lock_guard lock(lock_);
    under_way_.reserve(under_way_.size() + 1);
    if (under_way_.size() >= kSlots / 4) std::erase_if(under_way_, [this](Ticket ticket) { return done(ticket); });
    Ticket ticket = 0;
    while (ticket == 0) ticket = words_->tickets.fetch_add(1, std::memory_order_relaxed) + 1;
    under_way_.push_back(ticket);
    const Recorder before = recorder(ticket);
    *after_another = before != 0 && !done(ticket - kSlots) && !has_ended(before);
    slot(ticket).recorder.store(own_, std::memory_order_release);
    return ticket;
}

void SharedRecordings::note_newest(Ticket ticket) noexcept {
    for (Ticket newest = words_->newest.load(std::memory_order_relaxed);
         !reached(newest, ticket) && !words_->newest.compare_exchange_weak(newest, ticket);) {}
}

void SharedRecordings::record(Stream& stream) {
    bool after_another = false;
    const Ticket ticket = take(&after_another);
    try {
        const auto& table = stream.table();
        if (after_another)
            stream.context().check(table.cuStreamWaitValue32(stream.native(), word(ticket), ticket - kSlots,
                                                             CU_STREAM_WAIT_VALUE_GEQ),
                                   "cuStreamWaitValue32");
        stream.context().check(
            table.cuStreamWriteValue32(stream.native(), word(ticket), ticket, CU_STREAM_WRITE_VALUE_DEFAULT),
            "cuStreamWriteValue32");
    } catch (...) {
        release(ticket);   // no stream waits for the ticket yet
        throw;
    }
    note_newest(ticket);
}

void SharedRecordings::wait(Stream& stream, Ticket ticket) {
    if (done(ticket)) return;
    stream.context().check(
        stream.table().cuStreamWaitValue32(stream.native(), word(ticket), ticket, CU_STREAM_WAIT_VALUE_GEQ),
        "cuStreamWaitValue32");
}

bool SharedRecordings::has_ended(Recorder recorder) const noexcept {
    return recorder != 0 && recorder != own_ && host::has_ended(process_of(recorder));
}

void SharedRecordings::release(Ticket ticket) noexcept {
    std::atomic<uint32_t>& done = slot(ticket).done;
    for (uint32_t before = done.load(std::memory_order_relaxed);
         !reached(before, ticket) && !done.compare_exchange_weak(before, ticket);) {}
}

ErrorPtr SharedRecordings::loss(const char* event, Recorder recorder) noexcept {
    return make_error(GPO_PEER_LOST, event, ": process ", process_of(recorder).number,
                      ", which recorded it, has ended before the recording was complete");
}

bool SharedRecordings::idle() noexcept {
    std::lock_guard lock(lock_);
    std::erase_if(under_way_, [this](Ticket ticket) { return done(ticket); });
    return under_way_.empty();
}

}  // namespace gpo
