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

void PinnedMemory::allocate(Context& context, uint64_t bytes, Team& team) {
    ours_ = bytes >= kWorthwhile;
    const SerialisingScope serialising(context.runtime(), Serialising::host_registration);
    if (!ours_) {
        DriverScope scope(context);
        void* memory = nullptr;
        context.check(context.table().cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
        memory_ = static_cast<char*>(memory);
        bytes_ = bytes;
        count(context, bytes_);
        return;
    }
    map((bytes + kPage - 1) / kPage * kPage);   // no more than that: there is a bound on it
    try {
        populate(team);
        DriverScope scope(context);
        context.check(context.table().cuMemHostRegister(memory_, bytes_, CU_MEMHOSTREGISTER_PORTABLE),
                      "cuMemHostRegister");
    } catch (...) {
        unmap();
        throw;
    }
    count(context, bytes_);
}

// At a multiple of kHuge.
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
    ::madvise(memory_, bytes_, MADV_HUGEPAGE);  // as large as there are
    // A child would share the pages until one of the two writes: whoever does then has a copy that the device doesn't
    // know.
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

void PinnedMemory::free(Context& context) noexcept {
    if (!memory_) return;
    count(context, 0 - bytes_);
    const SerialisingScope serialising(context.runtime(), Serialising::host_registration);
    DriverTry scope(context);
    if (scope.entered()) {
        if (!ours_)
            context.table().cuMemFreeHost(memory_);
        else if (context.table().cuMemHostUnregister(memory_) == CUDA_SUCCESS)
            return unmap();
    }
    if (ours_) keep_addresses();
    memory_ = nullptr;
    bytes_ = 0;
}

// Of memory that the driver still takes for pinned, because it has failed: other memory there would be copied wrongly.
// The pages needn't stay: a driver that uses them holds them itself.
void PinnedMemory::keep_addresses() noexcept {
    ::madvise(memory_, bytes_, MADV_DONTNEED);
}

void PinnedMemory::unmap() noexcept {
    ::munmap(std::exchange(memory_, nullptr), std::exchange(bytes_, 0));
}

}  // namespace gpo::pipeline
