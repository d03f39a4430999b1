// The library's arm: a runtime with its device, owners of objects, and the benchmarks' kernels.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpuorch/gpuorch.h"
#include "support/owned.h"
#include "support/sized.h"

namespace gpo::bench {

/// Throws the library's message about the calling thread's last failure.
[[noreturn]] void fail_call(const char* call, gpo_status status);
inline void check_call(const char* call, gpo_status status) {
    if (status != GPO_SUCCESS) [[unlikely]] fail_call(call, status);
}
#define CHECK_GPO(...) ::gpo::bench::check_call(#__VA_ARGS__, (__VA_ARGS__))

using test::Arena;
using test::Batcher;
using test::Buckets;
using test::Event;
using test::Executor;
using test::Graph;
using test::Kernel;
using test::Module;
using test::Pipeline;
using test::Pool;
using test::Queue;
using test::sized;
using test::Stream;
using test::Template;

class Gpu {
public:
    explicit Gpu(uint32_t completion_mode = GPO_COMPLETION_BALANCED);
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;
    gpo_device_properties properties{};

    Stream stream() const;
    std::vector<Stream> streams(int count) const;
    Event event(uint32_t flags = 0) const;
    Queue queue(uint32_t capacity) const;
    Arena arena(uint64_t initial_bytes) const;
    /// With one thread, and room for 2^20 callbacks. `flags`: GPO_EXECUTOR_*.
    Executor executor(uint32_t flags) const;
    /// Returns a kernel below by name; the first call compiles all.
    Kernel kernel(const char* name);
    /// Replaces the kernels below by the row's own source. Call before kernel(); `source` must outlive this object.
    void use_source(const char* source) { source_ = source; }
    /// The image of the kernels, for the raw arm.
    std::string image();
    /// The clock64() count of so many nanoseconds.
    long long cycles(double ns) const { return static_cast<long long>(ns * 1e-6 * properties.clock_khz); }

private:
    void compile();
    const char* source_ = nullptr;  // NULL: kernel_source
    Module module_;
};

/// Device memory.
class Memory {
public:
    Memory(const Gpu& gpu, uint64_t bytes) : device_(gpu.device) {
        CHECK_GPO(gpo_memory_allocate(device_, bytes, "bench", &address));
    }
    ~Memory() { gpo_memory_free(device_, address); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    uint64_t address = 0;

private:
    gpo_device_t device_;
};

/// Blocks and threads of a launch, prepared once.
inline gpo_launch shape(uint32_t blocks, uint32_t threads) {
    auto launch = sized<gpo_launch>();
    launch.grid[0] = blocks;
    launch.block[0] = threads;
    return launch;
}

/// Launches with values as the kernel's arguments. Passes the number and the sizes of the arguments, as users do.
template <class... Arguments>
void launch(gpo_stream_t stream, gpo_kernel_t kernel, const gpo_launch& shape, const Arguments&... arguments) {
    const void* pointers[] = {&arguments...};
    static constexpr uint32_t sizes[] = {sizeof arguments...};
    check_call("gpo_stream_launch_kernel",
               gpo_stream_launch_kernel(stream, kernel, &shape, pointers, sizes, sizeof...(arguments)));
}

/// Waits for all work on the stream.
inline void finish(gpo_stream_t stream) { CHECK_GPO(gpo_stream_wait(stream, -1)); }

/// Takes `count` entries out of a queue, waiting for them; throws if one failed.
void take(gpo_cq_t cq, uint64_t count);

/// Whether GPUORCH_DEVICE selects the software GPU.
bool driver_is_software();

/// Describes the machine of a measurement: names and values, in display order. Opens the driver.
std::vector<std::pair<std::string, std::string>> describe_machine(const std::string& command);

/// empty(unsigned *, unsigned, uint64_t)         does nothing
/// spin(int64_t cycles)                          takes that long
/// gate(const volatile unsigned *open)           ends when the host writes something else than 0
/// scale(float4 *y, const float4 *x, uint64_t n) y = 2 x, n bytes, any grid
/// barriers(unsigned n)                          n barriers of the block
/// mix(unsigned *out, unsigned n, unsigned rounds)   n numbers, each by so many rounds of arithmetic, any grid
extern const char* const kernel_source;

}  // namespace gpo::bench
