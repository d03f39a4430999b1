// A kernel that stays on a resident stream, for tests of other work beside it.
#pragma once

#include "support/gpu.h"

namespace gpo::test {

/// The kernel reads a word of pinned memory until `end()` sets it, or for about half a minute: a call that waits for
/// the kernel fails its test and doesn't hang.
class ResidentKernel {
public:
    explicit ResidentKernel(Gpu& gpu, const char* label = "server", uint32_t flags = GPO_STREAM_RESIDENT)
        : stream(gpu.stream(label, flags)), kernel_(gpu.kernel(kSource, "stay")),
          words_(gpu.pinned<uint32_t>(3)) {
        // A first launch, to load everything.
        __atomic_store_n(&words_[0], 1, __ATOMIC_SEQ_CST);
        start();
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        __atomic_store_n(&words_[0], 0, __ATOMIC_SEQ_CST);
        __atomic_store_n(&words_[2], 0, __ATOMIC_SEQ_CST);
        start();
        while (read(words_[2]) == 0) {
        }
    }
    ~ResidentKernel() { end(); }
    /// Whether the kernel still reads the word.
    bool stays() { return gpo_stream_query(stream) == GPO_NOT_READY && read(words_[1]) == 0; }
    /// Ends the kernel and waits. Checks that the kernel hasn't ended for another reason.
    void end() {
        if (!stream) return;
        tell();
        CHECK_OK(gpo_stream_wait(stream, kPatience));
        CHECK(read(words_[1]) == kTold);
        stream.reset();
    }
    void tell() noexcept { __atomic_store_n(&words_[0], 1, __ATOMIC_SEQ_CST); }

    Stream stream;

private:
    static constexpr uint32_t kTold = 1;
    static constexpr const char* kSource = R"(
extern "C" __global__ void stay(const volatile unsigned *told, volatile unsigned *why, volatile unsigned *here)
{
    *why = 0;
    *here = 1;
    const long long begin = clock64();
    while (*told == 0 && clock64() - begin < 60000000000ll) { }
    *why = *told ? 1 : 2;
    __threadfence_system();
}
)";
    void start() { REQUIRE_OK(launch(stream, kernel_, 1, 1, &words_[0], &words_[1], &words_[2])); }

    Kernel kernel_;
    Pinned<uint32_t> words_;
};

}  // namespace gpo::test
