#include "memory/staging.h"

#include <algorithm>
#include <cstring>
#include <exception>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace gpo {

namespace {

constexpr size_t kPiece = 256 << 10;       // small enough that all threads end at about the same time
constexpr size_t kAlone = 512 << 10;       // below this, waking a thread costs more than it saves
constexpr unsigned kLooks = 2000;          // turns that an idle worker looks for the next copy before it sleeps

}  // namespace

void copy_past_cache(void* to, const void* from, size_t bytes) noexcept {
#if defined(__SSE2__)
    auto* out = static_cast<char*>(to);
    auto* in = static_cast<const char*>(from);
    const size_t head = std::min(bytes, (64 - reinterpret_cast<uintptr_t>(out) % 64) % 64);
    std::memcpy(out, in, head);
    out += head, in += head, bytes -= head;
    for (; bytes >= 64; out += 64, in += 64, bytes -= 64) {
        const auto* lines = reinterpret_cast<const __m128i*>(in);
        auto* target = reinterpret_cast<__m128i*>(out);
        const __m128i a = _mm_loadu_si128(lines), b = _mm_loadu_si128(lines + 1);
        const __m128i c = _mm_loadu_si128(lines + 2), d = _mm_loadu_si128(lines + 3);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
    _mm_sfence();
    std::memcpy(out, in, bytes);
#else
    std::memcpy(to, from, bytes);
#endif
}

StagingCopier::StagingCopier(unsigned threads) {
    if (threads == 0) threads = std::clamp(host::processors(), 2u, 8u);
    try {
        workers_.reserve(threads - 1);
        while (workers_.size() + 1 < threads) workers_.emplace_back("gpo-staging", [this] { run(); });
    } catch (const std::exception&) {
        // No thread, or no memory for one: fewer do it too.
    }
}

StagingCopier::~StagingCopier() {
    stop_.store(true);
    state_.fetch_add(2);
    host::wake_all(state_);
    workers_.clear();
}

void StagingCopier::copy(void* to, const void* from, size_t bytes) noexcept {
    if (bytes < kAlone || workers_.empty()) {
        if (bytes >= kPiece) copy_past_cache(to, from, bytes);
        else if (bytes) std::memcpy(to, from, bytes);
        return;
    }
    host::Lock lock(turn_);
    to_ = static_cast<char*>(to);
    from_ = static_cast<const char*>(from);
    bytes_ = bytes;
    next_.store(0, std::memory_order_relaxed);
    state_.fetch_add(1);
    if (asleep_.load() != 0) host::wake_all(state_);
    take_pieces();
    // Closing, then looking who is inside; a worker counts itself, then looks whether it is closed. In the one order of
    // these four, either the worker sees the close or we see the worker: nobody is inside when the fields change.
    state_.fetch_add(1);
    for (unsigned spins = 0; inside_.load() != 0; ++spins) host::step(spins);
}

void StagingCopier::take_pieces() noexcept {
    for (;;) {
        const size_t start = next_.fetch_add(kPiece, std::memory_order_relaxed);
        if (start >= bytes_) return;
        copy_past_cache(to_ + start, from_ + start, std::min(kPiece, bytes_ - start));
    }
}

void StagingCopier::run() noexcept {
    uint32_t done = 0;
    unsigned looks = 0;
    while (!stop_.load(std::memory_order_relaxed)) {
        const uint32_t state = state_.load();
        if ((state & 1) && state != done) {
            inside_.fetch_add(1);
            if (state_.load() == state) take_pieces();
            inside_.fetch_sub(1);
            done = state;
            looks = 0;
        } else if (++looks < kLooks) {
            host::step(looks);
        } else {
            asleep_.fetch_add(1);
            // Counted before the word is compared again: who changes it either wakes us or makes the wait return.
            host::wait(state_, state);
            asleep_.fetch_sub(1);
            looks = 0;
        }
    }
}

}  // namespace gpo
