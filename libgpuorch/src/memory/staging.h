// Copies between pageable and pinned memory by several threads, for transfers that the driver would stage with one.
//
// One thread moves about 10 GB/s, PCIe five times that: big blocks are cut into pieces which the caller and the copier's
// threads take in turn. Pieces that fill a cache are written past it (non-temporal stores), for the reader is a DMA
// engine, or comes later.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "host/host.h"

namespace gpo {

class StagingCopier {
public:
    /// `threads`: how many copy, the caller of copy() included; 0: two to eight, as the process has processors. Where the
    /// system has no more threads to give, fewer copy. Throws std::bad_alloc.
    explicit StagingCopier(unsigned threads = 0);
    ~StagingCopier();
    StagingCopier(const StagingCopier&) = delete;
    StagingCopier& operator=(const StagingCopier&) = delete;

    /// Returns when all is copied. The ranges don't overlap. Any thread; those who come at the same time go one after
    /// the other.
    void copy(void* to, const void* from, size_t bytes) noexcept;

    unsigned threads() const noexcept { return static_cast<unsigned>(workers_.size()) + 1; }

private:
    void run() noexcept;
    void take_pieces() noexcept;

    host::Mutex turn_;                        // held by the caller whose copy is under way
    char* to_ = nullptr;
    const char* from_ = nullptr;
    size_t bytes_ = 0;
    std::atomic<size_t> next_{0};             // first byte that nobody has taken
    std::atomic<uint32_t> state_{0};          // odd: a copy is open to workers. Changes with each open and close
    std::atomic<uint32_t> inside_{0};         // workers that are in the open copy, or about to see that it is closed
    std::atomic<uint32_t> asleep_{0};
    std::atomic<bool> stop_{false};
    std::vector<host::Thread> workers_;
};

/// Copies `bytes` with stores that go past the cache. The ranges don't overlap.
void copy_past_cache(void* to, const void* from, size_t bytes) noexcept;

}  // namespace gpo
