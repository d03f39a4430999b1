// The fixture of every test of the public API: a runtime with its device, chosen by GPUORCH_DEVICE as for users, and
// owners for its objects. Every test expects the same of all devices. (A single test asks for the device: the random
// sequences use a schedule of their own if the device's threads can be scheduled too.)
//
// Owners destroy their objects in the reverse order of construction. The Gpu comes first in a test, ends last, and
// fails the test if its runtime can't be shut down.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/owned.h"
#include "support/sized.h"
#include "support/status.h"

namespace gpo::test {

/// Half a minute: for waits that are to succeed. A defect then is a failure and not a hang.
inline constexpr int64_t kPatience = 30'000'000'000;

class Gpu;

/// Device memory; the destructor frees it behind all work that is then on the device's streams.
class Memory {
public:
    Memory() = default;
    Memory(Gpu& gpu, uint64_t bytes);
    Memory(Memory&& other) noexcept
        : device_(other.device_), address_(std::exchange(other.address_, 0)), bytes_(other.bytes_) {}
    Memory& operator=(Memory&& other) noexcept {
        std::swap(device_, other.device_);
        std::swap(address_, other.address_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Memory() {
        if (address_) gpo_memory_free(device_, address_);
    }
    operator uint64_t() const noexcept { return address_; }
    uint64_t bytes() const noexcept { return bytes_; }

private:
    gpo_device_t device_ = nullptr;
    uint64_t address_ = 0, bytes_ = 0;
};

/// Pinned host memory from the fixture's arena; zeroed.
template <class T>
class Pinned {
public:
    Pinned(gpo_arena_t arena, size_t count) : arena_(arena), count_(count) {
        void* memory = nullptr;
        REQUIRE_OK(gpo_arena_allocate(arena, count * sizeof(T), 0, &memory));
        data_ = new (memory) T[count]{};
    }
    Pinned(Pinned&& other) noexcept
        : arena_(other.arena_), data_(std::exchange(other.data_, nullptr)), count_(other.count_) {}
    Pinned& operator=(Pinned&&) = delete;
    ~Pinned() {
        if (data_) gpo_arena_free(arena_, data_);
    }
    T* data() const noexcept { return data_; }
    size_t size() const noexcept { return count_; }
    uint64_t bytes() const noexcept { return count_ * sizeof(T); }
    uint64_t address() const noexcept { return reinterpret_cast<uint64_t>(data_); }
    T& operator[](size_t i) const noexcept { return data_[i]; }
    T* begin() const noexcept { return data_; }
    T* end() const noexcept { return data_ + count_; }

private:
    gpo_arena_t arena_;
    T* data_ = nullptr;
    size_t count_;
};

class Gpu {
public:
    /// `options`: for the runtime, with struct_size set. The device is the first that the runtime shows.
    explicit Gpu(const gpo_runtime_options& options = sized<gpo_runtime_options>());
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    gpo_runtime_t runtime = nullptr;
    gpo_device_t device = nullptr;

    Stream stream(const char* label = nullptr, uint32_t flags = 0, uint32_t max_held = 0);
    Event event(uint32_t flags = 0);
    Timeline timeline(uint64_t value = 0, const char* label = nullptr);
    Queue queue(uint32_t capacity = 0);
    Executor executor(uint32_t flags = 0, uint32_t threads = 0, uint32_t capacity = 0);
    Memory memory(uint64_t bytes) { return Memory(*this, bytes); }
    gpo_arena_t arena();
    template <class T>
    Pinned<T> pinned(size_t count) {
        return Pinned<T>(arena(), count);
    }

    /// Compiles CUDA C++ (once for each text) and finds a kernel in it.
    Kernel kernel(const std::string& source, const char* name);

    /// Whether kernels can include this header of the CUDA toolkit: NVRTC finds it only where there is a toolkit.
    bool has_header(const char* name);

    /// Second device of the runtime: an empty owner where there is none.
    Device second_device();

    gpo_statistics statistics();

private:
    std::map<std::string, Module> modules_;
    Arena arena_;
};

gpo_stream_info info_of(gpo_stream_t stream);

/// Whether the driver reports the number and sizes of kernel parameters (from CUDA 12.4 on); `kernel` must have some.
bool tells_parameters(gpo_kernel_t kernel);

/// Launches a kernel with values as its arguments: their sizes are checked against the kernel's.
template <class... Arguments>
gpo_status launch(gpo_stream_t stream, gpo_kernel_t kernel, uint32_t blocks, uint32_t threads,
                  const Arguments&... arguments) {
    auto shape = sized<gpo_launch>();
    shape.grid[0] = blocks;
    shape.block[0] = threads;
    if constexpr (sizeof...(Arguments) == 0) {
        return gpo_stream_launch_kernel(stream, kernel, &shape, nullptr, nullptr, 0);
    } else {
        const void* pointers[] = {&arguments...};
        const uint32_t sizes[] = {sizeof arguments...};
        return gpo_stream_launch_kernel(stream, kernel, &shape, pointers, sizes, sizeof...(Arguments));
    }
}

/// The mark of tests whose kernels wait for the host or for another stream's kernel while they run. A tool that lets a
/// launch return only once the kernel has ended (compute-sanitizer) can't run them: leave them out there, with
/// -tse=gated.
inline const doctest::test_suite gated{"gated"};

/// A kernel that the GPU can't get past until the host opens the gate. Everything that a test uses while a gate is
/// closed is made before: allocation and module loading may wait for what runs.
class Gate {
public:
    explicit Gate(Gpu& gpu);
    /// Opens the gate, and waits until no kernel reads it any more.
    ~Gate();
    /// Puts the kernel on the stream.
    void put_on(gpo_stream_t stream);
    void open() noexcept;

private:
    gpo_device_t device_;
    Kernel kernel_;
    Pinned<uint32_t> open_;
};

/// Writes and reads a number on the GPU in stream order, which shows tests that work ran, and in which order.
class Writer {
public:
    explicit Writer(Gpu& gpu);
    /// Puts `*target = value` on the stream.
    gpo_status write(gpo_stream_t stream, uint32_t* target, uint32_t value);
    /// Puts `*target = *source + value` on the stream: shows whether `source` was written before.
    gpo_status add(gpo_stream_t stream, uint32_t* target, const uint32_t* source, uint32_t value);

private:
    Kernel write_, add_;
};

/// Takes `count` entries out of a queue, waiting for them.
std::vector<gpo_completion> take(gpo_cq_t cq, size_t count);

/// Waits for what has to come soon.
template <class Condition>
bool comes_true(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kPatience);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
}

/// The clock of completions' times.
uint64_t monotonic_ns();

/// A number written by the GPU, read afresh.
inline uint32_t read(const uint32_t& word) noexcept { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

}  // namespace gpo::test
