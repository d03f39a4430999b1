// A driver context, shared by all device handles that were opened on it: its table, its events, its streams, its scanner.
//
// Entering. Whoever calls the driver on behalf of a context does it inside a DriverScope, which makes the context current
// and the thread's capture mode RELAXED, and puts both back. Threads of the library enter once, for good.
//
// Loss. When the driver returns a sticky error, or the context's id is no longer the one it was opened with, the context is
// lost: the first such error is kept, every later DriverScope throws it, and nothing of it is given to the driver again.
#pragma once

#include <cuda.h>

#include <functional>
#include <memory>
#include <vector>

#include "core/runtime.h"

namespace gpo {

class Scanner;
class Stream;

class Context final : public Counted {
public:
    /// `foreign` NULL: retains the primary context. Throws.
    Context(Runtime& runtime, int native_ordinal, CUcontext foreign);

    Runtime& runtime() const noexcept { return *runtime_; }
    const driver::Table& table() const noexcept { return table_; }
    CUcontext native() const noexcept { return native_; }
    int ordinal() const noexcept { return ordinal_; }
    bool software() const noexcept { return driver_->software; }
    driver::Driver& driver() const noexcept { return *driver_; }

    /// Throws a Failure that says which function failed and why, if it did. A sticky result makes the context lost.
    void check(CUresult result, const char* function) {
        if (result != CUDA_SUCCESS) [[unlikely]] fail_call(result, function);
    }
    /// The error of a failed call, without throwing it. The same effect on the context.
    ErrorPtr error_of(CUresult result, const char* function) noexcept;

    bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }
    ErrorPtr loss() const;
    void lose(ErrorPtr error) noexcept;

    // --- events without timing, for marks; and with ---
    /// Moves up to `count` events into `to` (at least one; made if none is left). Inside a DriverScope. Throws.
    void take_events(bool timing, size_t count, std::vector<CUevent>& to);
    /// Takes events back. Never fails: what can't be kept is destroyed. Needs no DriverScope.
    void give_events(bool timing, CUevent* events, size_t count) noexcept;

    Scanner& scanner() noexcept { return *scanner_; }

    /// Streams announce themselves, for device-wide waits and deferred frees.
    void add_stream(Stream& stream);
    void remove_stream(Stream& stream) noexcept;
    std::vector<Ref<Stream>> streams() const;

    /// Runs `action` on the scanner's thread once all that is on this context's streams now is done, or the context is
    /// lost (`ok` false: the driver's objects are gone already, don't touch them). `action` is quick and doesn't throw; it
    /// runs inside a DriverScope. Works while streams are captured or held: those are waited for as well.
    void when_streams_pass(std::function<void(bool ok)> action);

private:
    friend class DriverScope;
    ~Context() override;
    [[noreturn]] void fail_call(CUresult result, const char* function);

    Ref<Runtime> runtime_;
    std::shared_ptr<driver::Driver> driver_;
    const driver::Table& table_;
    const int ordinal_;
    CUcontext native_ = nullptr;
    bool primary_ = false;
    unsigned long long id_ = 0;

    std::atomic<bool> lost_{false};
    mutable host::Mutex loss_lock_;
    ErrorPtr loss_;

    host::Mutex events_lock_;
    std::vector<CUevent> spare_events_[2];  // without, with timing

    mutable host::Mutex streams_lock_;
    std::vector<Stream*> streams_;

    std::unique_ptr<Scanner> scanner_;
};

/// Makes the context current for the calling thread and lets its calls not disturb captures, until the scope ends.
class DriverScope {
public:
    /// Throws Failure(GPO_DEVICE_LOST) with the context's first failure.
    explicit DriverScope(Context& context);
    ~DriverScope();
    DriverScope(const DriverScope&) = delete;
    DriverScope& operator=(const DriverScope&) = delete;

private:
    const driver::Table& table_;
    CUstreamCaptureMode outer_mode_;
    bool pushed_;
};

/// The same for destructors and other places that can't throw: `entered()` false if the context is lost.
class DriverTry {
public:
    explicit DriverTry(Context& context) noexcept;
    ~DriverTry();
    bool entered() const noexcept { return entered_; }
    DriverTry(const DriverTry&) = delete;
    DriverTry& operator=(const DriverTry&) = delete;

private:
    const driver::Table& table_;
    CUstreamCaptureMode outer_mode_;
    bool entered_ = false, pushed_ = false;
};

}  // namespace gpo
