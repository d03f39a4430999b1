// A driver context, shared by all device handles opened on it: driver table, events, streams and scanner.
//
// Entering. Every driver call for a context is made inside a DriverScope. The scope makes the context current and sets
// the thread's capture mode to RELAXED; its destructor restores both. Threads of the library enter a scope once, and
// leave it when they end.
//
// Loss. The context is lost when the driver returns a sticky error, or reports that no context has the original id any
// more. The first such error is stored, and every later DriverScope throws it before it calls the driver. If the driver
// refuses the query for the id, the query is repeated a few times. In a host function the driver permits no query: the
// call fails, but the context isn't lost.
#pragma once

#include <cuda.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/deferred.h"
#include "core/host_node.h"
#include "core/runtime.h"
#include "trace/recorder/trace_source.h"

namespace gpo {

class Context;

/// The streams of a context, which end before the context does. device/ knows them only by this interface, which
/// stream/streams.h implements. Only add_counters allocates memory.
class ContextUsers {
public:
    using Make = std::unique_ptr<ContextUsers> (*)(Context& context);
    virtual ~ContextUsers() = default;
    /// Called once, on any thread, under no lock. `crashed`: a driver error made the context lost, which may have made
    /// contexts of other devices lost too.
    virtual void context_lost(bool crashed) noexcept = 0;
    virtual void add_counters(gpo_statistics& statistics) const = 0;
    /// Cancels held work on all streams, including hidden streams and streams whose handles were destroyed. False if
    /// the deadline passes first: a thread may put work on a stream, and the driver returns only when the GPU has run.
    virtual bool cancel_held(uint64_t deadline) noexcept = 0;
    /// Waits for the marks of the same streams. False if the deadline passes first.
    virtual bool drain_marks(uint64_t deadline) noexcept = 0;
    /// After the end of the errands' thread: does the scanner's remaining work, with the resulting errands, and ends
    /// the scanner's thread.
    virtual void finish() noexcept = 0;
};

class Context final : public trace::Gpu {
public:
    /// `foreign` NULL: retains the primary context. `make_users` is called once the context exists. Throws.
    Context(Runtime& runtime, int native_ordinal, CUcontext foreign, ContextUsers::Make make_users);
    /// Throws: the foreign context belongs to another device.
    [[noreturn]] static void refuse_ordinal(int native_ordinal);

    Runtime& runtime() const noexcept { return *runtime_; }
    const driver::Table& table() const noexcept { return table_; }
    CUcontext native() const noexcept { return native_; }
    int ordinal() const noexcept override { return ordinal_; }
    /// Whether this is the device's primary context, not a foreign one.
    bool primary() const noexcept { return primary_; }
    driver::Driver& driver() const noexcept { return *driver_; }

    /// If the call failed, throws a Failure with function and reason. A sticky result makes the context lost.
    void check(CUresult result, const char* function) {
        if (result != CUDA_SUCCESS) [[unlikely]] fail_call(result, function);
    }
    /// The allocation that a call was to make.
    struct Wanted {
        enum class Where : uint8_t { device, host };
        Where where;
        uint64_t bytes;          // 0: not known
        std::string_view whose;  // "pool `tensors`"; "": no owner
    };
    /// check() for a call that allocates, inside a DriverScope. If memory is short, the failure says how much was asked
    /// for, for whom, and how much the device has left.
    void check_allocation(CUresult result, const char* function, const Wanted& wanted) {
        if (result != CUDA_SUCCESS) [[unlikely]] fail_allocation(result, function, wanted);
    }
    /// The error of a failed call, without throwing it. A sticky result makes the context lost.
    ErrorPtr error_of(CUresult result, const char* function) noexcept;
    ErrorPtr error_of(CUresult result, const char* function, const Wanted& wanted) noexcept;

    /// Queries the driver, which takes 11 ns. False if the context is lost, if code outside the library destroyed it,
    /// or if the driver permits no query on this thread.
    bool alive() noexcept {
        CUresult answer = CUDA_SUCCESS;
        return says_alive(answer) || alive_after(answer);
    }
    /// Whether the context is the calling thread's current one, and alive. Makes one driver call, where alive() and
    /// cuCtxGetCurrent would make two.
    bool is_current() const noexcept {
        unsigned long long id = 0;
        return !lost() && table_.cuCtxGetId(nullptr, &id) == CUDA_SUCCESS && id == id_;
    }
    /// Throws Failure unless alive(). Call this before passing objects of the context to the driver.
    void require_alive() {
        CUresult answer = CUDA_SUCCESS;
        if (!says_alive(answer) && !alive_after(answer)) [[unlikely]] fail_dead();
    }
    bool lost() const noexcept { return lost_.load(std::memory_order_acquire); }
    /// Whether note_device_graph() was ever called: from then on, kernels of any graph may launch graphs.
    bool has_device_graphs() const noexcept { return has_device_graphs_.load(std::memory_order_relaxed); }
    void note_device_graph() noexcept { has_device_graphs_.store(true, std::memory_order_relaxed); }
    /// The first failure; NULL unless the context is lost.
    ErrorPtr loss() const;
    void lose(ErrorPtr error, bool crashed) noexcept;
    /// Makes a driver call without side effects, in order to find out whether the context is lost.
    void probe() noexcept;

    // --- events: without timing, for marks; and with timing ---
    /// Appends up to `count` spare events to `to`, or new events if there are no spare ones; at least one. Inside a
    /// DriverScope. Throws.
    void take_events(bool timing, size_t count, std::vector<CUevent>& to);
    /// Takes one event. Inside a DriverScope. Throws.
    void take_event(bool timing, CUevent* to);
    /// Returns events to the spare ones, or destroys them if there is no memory. Never fails. Needs no DriverScope.
    void give_events(bool timing, CUevent* events, size_t count) noexcept;

    // --- for the trace ---
    std::string device_name() override;
    std::unique_ptr<trace::Clock> make_clock() override;
    void take_back(CUevent* events, size_t count) noexcept override {
        if (!lost()) give_events(true, events, count);
    }

    /// The context's streams.
    ContextUsers& users() const noexcept { return *users_; }

    /// Multiprocessors that schedulers have (queue/scheduler).
    std::atomic<uint32_t> scheduled_multiprocessors{0};

    using MakeKept = Ref<Counted> (*)(Context& context);
    /// Returns the object that the first call made with `make`. The context holds it until the runtime shuts down. The
    /// object may refer to the context. `make` runs under no lock, while other callers with the same `make` wait. If
    /// `make` throws, this throws the same, and the next call tries again. Throws Failure, std::bad_alloc.
    Ref<Counted> keep(MakeKept make);

    /// The first step of the context's end, when the runtime shuts down and no operation is held any more: streams are
    /// no longer notified of a loss. Releases the objects of keep(), which may post errands. The errands' thread must
    /// still be running.
    void begin_end() noexcept;
    /// After the end of the errands' thread: does the scanner's remaining work, with the resulting errands, and ends
    /// the scanner's thread.
    void finish() noexcept;
    /// Whether begin_end() was called: no thread waits for the context's streams any more.
    bool ending() const noexcept { return phase_.load(std::memory_order_acquire) >= Phase::ending; }
    bool ended() const noexcept { return phase_.load(std::memory_order_acquire) == Phase::ended; }

    /// Pinned memory to which each operation writes a number before and after itself, if the runtime attributes
    /// failures; NULL otherwise. Two 32-bit words per stream: begun, ended. The memory outlives the driver's context.
    struct Attribution {
        volatile uint32_t* words = nullptr;
        CUdeviceptr address = 0;
    };
    /// Two words for one stream; NULL if all 512 pairs are in use. Inside a DriverScope.
    Attribution take_attribution();
    void give_attribution(const Attribution& attribution) noexcept;

private:
    CUdevice device_of(CUcontext foreign);
    friend class DriverScope;
    ~Context() override;
    bool says_alive(CUresult& answer) const noexcept {
        unsigned long long id = 0;
        return !lost() && (answer = table_.cuCtxGetId(native_, &id)) == CUDA_SUCCESS && id == id_;
    }
    [[gnu::cold]] bool alive_after(CUresult answer) noexcept;
    [[noreturn]] void fail_dead();
    [[noreturn]] void fail_call(CUresult result, const char* function);
    [[noreturn]] void fail_allocation(CUresult result, const char* function, const Wanted& wanted);
    /// " (CUDA_ERROR_OUT_OF_MEMORY, 2)"
    std::string native_name(CUresult result) const;

    const Runtime::Use runtime_;
    std::shared_ptr<driver::Driver> driver_;
    const driver::Table& table_;
    const int ordinal_;
    CUcontext native_ = nullptr;
    bool primary_ = false;
    unsigned long long id_ = 0;

    std::atomic<bool> lost_{false}, has_device_graphs_{false};
    enum class Phase : uint8_t { making, open, ending, ended };   // ended: only the destructor is left
    std::atomic<Phase> phase_{Phase::making};
    mutable host::Mutex loss_lock_;
    ErrorPtr loss_;
    alignas(64) host::Mutex events_lock_;  // for scanner and streams: not on a cache line that every call reads
    std::vector<CUevent> spare_events_[2];  // without, with timing

    host::Mutex attribution_lock_;
    uint32_t* attribution_words_ = nullptr;         // a page of ours, registered with the driver
    CUdeviceptr attribution_address_ = 0;
    std::vector<uint16_t> attribution_free_;        // pairs of words

    host::Mutex kept_lock_;
    host::Condition kept_made_;
    std::map<MakeKept, Ref<Counted>> kept_;  // under kept_lock_; NULL while being made

    std::unique_ptr<ContextUsers> users_;
};

/// The driver calls made inside a scope.
enum class Calls : uint8_t {
    any,    // the thread's capture mode is RELAXED meanwhile
    plain,  // only launches, records, waits, pinned copies and fills: these never disturb another stream's capture, and
            // the capture mode stays unchanged, which saves 15 ns
};

/// Makes the context current on the calling thread until the scope ends, and prevents driver calls from disturbing
/// captures.
class DriverScope {
public:
    /// Throws Failure(GPO_DEVICE_LOST) with the context's first failure.
    explicit DriverScope(Context& context, Calls calls = Calls::any);
    /// A faster constructor for frequent callers. `was_current`: whether the context was already current the last time.
    /// If so, a single driver call verifies that it still is.
    DriverScope(Context& context, Calls calls, std::atomic<bool>& was_current)
        : table_(context.table_), outer_mode_(CU_STREAM_CAPTURE_MODE_RELAXED), calls_(calls),
          pushed_(!(was_current.load(std::memory_order_relaxed) && context.is_current()) &&
                  enter(context, &was_current)) {
        if (calls_ == Calls::any) table_.cuThreadExchangeStreamCaptureMode(&outer_mode_);
    }
    ~DriverScope() {
        if (calls_ == Calls::any) table_.cuThreadExchangeStreamCaptureMode(&outer_mode_);
        CUcontext popped;
        if (pushed_) table_.cuCtxPopCurrent(&popped);
    }
    DriverScope(const DriverScope&) = delete;
    DriverScope& operator=(const DriverScope&) = delete;

private:
    /// Makes the context current. False if it was current already, which is also stored in `was_current`. Throws if the
    /// context is lost.
    static bool enter(Context& context, std::atomic<bool>* was_current);
    const driver::Table& table_;
    CUstreamCaptureMode outer_mode_;
    const Calls calls_;
    const bool pushed_;
};

/// Relaxes the capture mode alone, inside a scope for plain calls.
class RelaxedCapture {
public:
    explicit RelaxedCapture(const driver::Table& table) noexcept : table_(table) {
        table_.cuThreadExchangeStreamCaptureMode(&outer_mode_);
    }
    ~RelaxedCapture() { table_.cuThreadExchangeStreamCaptureMode(&outer_mode_); }
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

private:
    const driver::Table& table_;
    CUstreamCaptureMode outer_mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// A DriverScope for destructors and other places that can't throw: `entered()` is false if the context is lost, in a
/// host node, after a fork, or, rarely, if the driver refuses.
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
