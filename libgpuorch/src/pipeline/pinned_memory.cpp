#include "pipeline/pinned_memory.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "trace/serialising.h"

namespace gpo::pipeline {

namespace {

constexpr uint64_t kHuge = uint64_t{2} << 20;   // the system's larger pages, where it has them
constexpr uint64_t kWorthwhile = 2 * kHuge;

// Makes the pages writable without a fault. An errno, or 0.
int populate_pages(char* begin, uint64_t bytes) noexcept {
    constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, of Linux 5.14
    if (::madvise(begin, bytes, kPopulateWrite) == 0) return 0;
    if (errno != EINVAL) return errno;
    for (uint64_t at = 0; at < bytes; at += PinnedMemory::kPage) static_cast<volatile char*>(begin)[at] = 0;
    return 0;
}

void count(Context& context, uint64_t bytes) noexcept {
    context.runtime().counters.pipeline_pinned.fetch_add(bytes, std::memory_order_relaxed);
}

}  // namespace

// If the driver, or a lost context, keeps the registration, the addresses stay reserved.
class PinnedMemory::Free final : public BlockingCall {
public:
    using BlockingCall::BlockingCall;
    char* memory = nullptr;
    uint64_t bytes = 0;
    bool ours = false;   // pages of ours, not the driver's

private:
    void call(bool ok) noexcept override {
        {
            const SerialisingScope serialising(context().runtime(), Serialising::host_registration);
            if (!ours) {
                if (ok) context().table().cuMemFreeHost(memory);
            } else if (ok && context().table().cuMemHostUnregister(memory) == CUDA_SUCCESS) {
                ::munmap(memory, bytes);
            } else {
                // The driver has failed, and still treats these addresses as pinned. They stay reserved, because copies
                // of other memory at the addresses would go wrong. The pages are released: if the driver uses them, it
                // holds references to them.
                ::madvise(memory, bytes, MADV_DONTNEED);
            }
        }
        count(context(), 0 - bytes);
        delete this;
    }
};

PinnedMemory::PinnedMemory() noexcept = default;
PinnedMemory::~PinnedMemory() = default;

void PinnedMemory::allocate(Context& context, uint64_t bytes, Team& team) {
    auto made = std::make_unique<Free>(context);
    made->ours = bytes >= kWorthwhile;
    const SerialisingScope serialising(context.runtime(), Serialising::host_registration);
    if (!made->ours) {
        DriverScope scope(context);
        void* memory = nullptr;
        context.check_allocation(context.table().cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE),
                                 "cuMemHostAlloc", {Context::Wanted::Where::host, bytes, "a pipeline"});
        memory_ = static_cast<char*>(memory);
        bytes_ = bytes;
    } else {
        map((bytes + kPage - 1) / kPage * kPage);   // no larger pages: max_pinned_bytes bounds the size
        try {
            populate(team);
            DriverScope scope(context);
            context.check_allocation(
                context.table().cuMemHostRegister(memory_, bytes_, CU_MEMHOSTREGISTER_PORTABLE), "cuMemHostRegister",
                {Context::Wanted::Where::host, bytes_, "a pipeline"});
        } catch (...) {
            unmap();
            throw;
        }
    }
    count(context, bytes_);
    made->memory = memory_;
    made->bytes = bytes_;
    free_ = std::move(made);
}

// Maps memory at a multiple of kHuge.
void PinnedMemory::map(uint64_t bytes) {
    void* const space =
        ::mmap(nullptr, bytes + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) fail(GPO_OUT_OF_MEMORY, "no address space is left for ", bytes, " bytes of pinned memory");
    char* const first = static_cast<char*>(space);
    const uint64_t before = (kHuge - reinterpret_cast<uintptr_t>(first) % kHuge) % kHuge;
    if (before != 0) ::munmap(first, before);
    ::munmap(first + before + bytes, kHuge - before);
    memory_ = first + before;
    bytes_ = bytes;
}

void PinnedMemory::populate(Team& team) {
    ::madvise(memory_, bytes_, MADV_HUGEPAGE);  // the largest pages available
    // A child process would share the pages until a write, and the writing process would then get a copy that the
    // device doesn't know.
    if (::madvise(memory_, bytes_, MADV_DONTFORK) != 0)
        fail(GPO_OUT_OF_MEMORY, "pinned memory can't be kept from child processes");
    std::atomic<int> error{0};
    team.run(bytes_, [&](uint64_t offset, uint64_t count) {
        const int number = populate_pages(memory_ + offset, count);
        if (number != 0) error.store(number, std::memory_order_relaxed);
    }, kHuge);
    if (error.load(std::memory_order_relaxed) != 0)
        fail(GPO_OUT_OF_MEMORY, "there is no memory for ", bytes_, " pinned bytes");
}

void PinnedMemory::free() noexcept {
    if (!free_) return;
    memory_ = nullptr;
    bytes_ = 0;
    free_.release()->make();
}

void PinnedMemory::unmap() noexcept {
    ::munmap(std::exchange(memory_, nullptr), std::exchange(bytes_, 0));
}

}  // namespace gpo::pipeline
