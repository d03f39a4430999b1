// The root object: options, the handle table, the driver once it is needed, contexts, labels, the log and statistics.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/deferred.h"
#include "core/errands.h"
#include "core/exclusion.h"
#include "core/handles.h"
#include "driver/driver.h"
#include "gpuorch/runtime.h"
#include "host/schedule.h"

namespace gpo {

/// Counters that more than one thread adds to. Each stream keeps its own counters (stream/stream.h).
struct Counters {
    std::atomic<uint64_t> launches{0}, copies{0}, copied_bytes{0}, fills{0}, notifies{0}, failures{0},
        holds{0}, device_allocations{0}, host_registrations{0}, pageable_copies{0}, pageable_bytes{0},
        legacy_stream_uses{0}, module_loads{0};
    std::atomic<uint64_t> pipeline_pinned{0};              // bytes, now
    std::atomic<uint64_t> latency_sum{0};                  // nanoseconds, of all completions
    std::array<std::atomic<uint64_t>, 32> latencies{};     // completions, by the logarithm of their microseconds
    std::array<std::atomic<uint64_t>, 96> errors{};        // by status
    alignas(64) std::atomic<uint64_t> callbacks{0};        // run by executors: their threads' own line

    /// Counts the end of work for which a notification was requested.
    void count_completion(uint64_t latency_ns, gpo_status status) noexcept {
        const auto place = std::min<size_t>(
            static_cast<size_t>(std::bit_width((latency_ns - (latency_ns != 0)) / 1000)), latencies.size() - 1);
        latencies[place].fetch_add(1, std::memory_order_relaxed);
        latency_sum.fetch_add(latency_ns, std::memory_order_relaxed);
        if (status == GPO_SUCCESS) return;
        failures.fetch_add(1, std::memory_order_relaxed);
        count_error(status);
    }
    void count_error(gpo_status status) noexcept {
        if (static_cast<size_t>(status) < errors.size())
            errors[static_cast<size_t>(status)].fetch_add(1, std::memory_order_relaxed);
    }
};

/// Base class of per-runtime state that belongs to a folder above the core. An annex is made on first use, and deleted
/// when the runtime's last use ends.
class Annex {
public:
    enum class Slot : uint8_t { recorder, holds, registry, contexts };   // in the order in which they are deleted
    static constexpr size_t kSlots = 4;
    Annex() = default;
    Annex(const Annex&) = delete;
    Annex& operator=(const Annex&) = delete;
    virtual ~Annex() = default;
};

/// Passes log lines to another thread, which calls the log function (executor/log_lines.h).
class LogRoute : public Counted {
public:
    /// False if the route has ended. Doesn't throw.
    virtual bool line(int32_t level, const char* line) noexcept = 0;
};

/// Lifetime. The handle, objects and contexts *use* the runtime. Its last use ends everything except its memory, labels
/// and counters, which stay while completion queues hold references.
class Runtime final : public Object {
public:
    explicit Runtime(const gpo_runtime_options& options);

    /// The handle, in the public type.
    gpo_runtime_t handle() const noexcept { return reinterpret_cast<gpo_runtime_t>(handle_); }
    handle::Table& handles() noexcept { return *table_; }
    /// The table's lease of this runtime.
    uint64_t lease() const noexcept { return lease_; }

    /// A use of the runtime by something other than an object.
    class Use {
    public:
        explicit Use(Runtime& runtime) noexcept : runtime_(runtime) { runtime_.begin_use(); }
        ~Use() { runtime_.end_use(); }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
        Runtime& operator*() const noexcept { return runtime_; }
        Runtime* operator->() const noexcept { return &runtime_; }

    private:
        Runtime& runtime_;
    };

    /// Puts an object behind a new handle. Throws Failure(GPO_SHUT_DOWN) once shutdown has begun.
    template <class Handle>
    Handle publish(Object& object) {
        return reinterpret_cast<Handle>(insert(object));
    }

    /// Loads the driver the first time. Throws Failure(GPO_NO_DEVICE) with the reason.
    driver::Driver& driver();
    std::shared_ptr<driver::Driver> shared_driver();
    /// For calls that end something and can't undo it: throws Failure(GPO_WOULD_DEADLOCK) if the driver reports a host
    /// function on the calling thread.
    void refuse_in_host_function() const;
    /// Why CUDA isn't used; "" if it is. After driver().
    const std::string& driver_reason() const noexcept { return reason_; }
    /// Native ordinals that this runtime shows, after driver().
    const std::vector<int>& ordinals() const noexcept { return ordinals_; }

    bool latency_mode() const noexcept { return options_.completion_mode == GPO_COMPLETION_LATENCY; }
    bool attribute() const noexcept { return attribute_; }
    const std::string& cache_folder() const noexcept { return cache_; }   // "": none

    /// The label, truncated to the length that the library stores.
    static std::string_view cut_label(std::string_view label) noexcept;
    /// A copy of the truncated label, valid for as long as the runtime.
    const char* intern(std::string_view label);

    /// Logs a line that consists of these pieces. The line is truncated if there is no memory for all of it.
    template <class... Pieces>
    void log(int32_t level, const Pieces&... pieces) noexcept {
        if (!options_.log || level > options_.log_level) return;
        try {
            write_log(level, text(pieces...).c_str());
        } catch (const std::bad_alloc&) {
            FixedText<512> line;
            (detail::append(line, pieces), ...);
            write_log(level, line.c_str());
        }
    }
    /// Logs a problem with a feature that an environment variable asked for, without the program's knowledge: always on
    /// stderr too.
    void log_and_print(int32_t level, const char* line) noexcept;
    /// Logs mistakes in environment variables with log_and_print(), once per process.
    void report_mistakes() noexcept;
    /// From now on lines go to `route` (NULL: logged on the thread that logs). Threads may be logging meanwhile.
    void set_log_route(Ref<LogRoute> route) noexcept;
    /// Calls the user's log function. For routes.
    void call_log(int32_t level, const char* line) noexcept;
    /// A line on its way into a log function.
    struct LogLine {
        gpo_log_fn function;
        void* user;
        int32_t level;
        const char* line;
        void call() const { function(user, level, line); }
    };
    /// From now on `caller` calls the log functions of all runtimes of the process (trace/record.cpp: in a span).
    using LogCaller = void (*)(const Runtime& runtime, const LogLine& line);
    static void set_log_caller(LogCaller caller) noexcept;

    /// Counts threads of destroyed objects that may still be in a callback, and failed calls that still hold a
    /// reference to the blamed object. Shutdown waits until the count is 0, or until its deadline. Threads must call
    /// this before they check shutting_down(): either the thread sees the shutdown, or the shutdown sees the count.
    void lingering(int32_t change) noexcept { lingering_.fetch_add(change, std::memory_order_seq_cst); }

    Errands& errands() noexcept { return errands_; }

    /// Releases of streams that are in progress (stream/releasing.h).
    Deferred& releases() noexcept { return releases_; }

    /// Blocking calls of the driver (stream/blocking_calls.h: the long kind), and launches of kernels that wait for
    /// kernels of other devices (peers/stream_barrier.h).
    Exclusion& blocking_calls() noexcept { return blocking_calls_; }

    /// The runtime's annex of class A; NULL if it hasn't been made. A has a constant `kSlot`, and a constructor from a
    /// Runtime&.
    template <class A>
    A* find_annex(std::memory_order order = std::memory_order_acquire) const noexcept {
        return static_cast<A*>(annexes_[static_cast<size_t>(A::kSlot)].load(order));
    }
    /// The annex, made on first use. Throws exceptions of its constructor, std::bad_alloc.
    template <class A>
    A& annex() {
        if (A* ready = find_annex<A>()) [[likely]] return *ready;
        return static_cast<A&>(add_annex(A::kSlot, std::make_unique<A>(*this)));
    }

    /// Threads in calls that don't query the driver themselves, but wait until a scanner has found the result.
    struct alignas(64) Blocked {
        std::atomic<uint32_t> threads{0};
        std::atomic<uint64_t> since{0};   // when the newest of them began to wait
    } blocked;
    /// Counts the calling thread as blocked.
    class Blocking {
    public:
        explicit Blocking(Runtime& runtime) noexcept : blocked_(runtime.blocked), since_(host::now()) {
            blocked_.since.store(since_, std::memory_order_relaxed);
            blocked_.threads.fetch_add(1, std::memory_order_relaxed);
        }
        /// If this thread was the newest, the remaining threads count as blocked for long.
        ~Blocking() {
            uint64_t mine = since_;
            blocked_.since.compare_exchange_strong(mine, 0, std::memory_order_relaxed);
            blocked_.threads.fetch_sub(1, std::memory_order_relaxed);
        }
        Blocking(const Blocking&) = delete;
        Blocking& operator=(const Blocking&) = delete;

    private:
        Blocked& blocked_;
        const uint64_t since_;
    };

    alignas(64) Counters counters;   // written all the time

    /// The tag in this runtime's handles.
    uint32_t tag() const noexcept { return table_->tag(); }
    /// The runtime's number in the process: 1 for the first that was created.
    uint32_t number() const noexcept { return number_; }

    alignas(64) std::atomic<bool> cache_refusal_logged{false};   // logged once for each runtime
    /// Counts without those of streams (metrics/metrics.h adds them).
    gpo_statistics own_statistics() const;
    /// Calls `visit` for each live object, pinned; for the runtime too. Throws exceptions of `visit`.
    template <class Visit>
    void for_each(Visit&& visit) {
        table_->for_each([&](Object& object) {
            if (&object.runtime() == this)
                visit(object);  // completion queues of an earlier runtime may still be in the table
        });
    }

    bool shutting_down() const noexcept { return shutting_down_.load(std::memory_order_seq_cst); }

    // --- the core's steps of a shutdown, for runtime/shutdown.cpp; false: the deadline has passed ---
    /// Only one thread at a time shuts the runtime down. GPO_SUCCESS: the caller does, until it calls end_turn().
    /// GPO_TIMEOUT: other threads did so until the deadline. GPO_INVALID_HANDLE: another thread has completed the
    /// shutdown. Throws Failure(GPO_WOULD_DEADLOCK, GPO_INVALID_STATE).
    gpo_status begin_turn(uint64_t deadline);
    void end_turn(bool shut_down) noexcept;
    /// From here on nothing is published. All objects stop.
    void stop_objects();
    bool drain_objects(uint64_t deadline) noexcept;
    void report_leaks();
    bool close_objects(uint64_t deadline) noexcept;
    /// Waits until the count of lingering() is 0.
    bool end_lingering(uint64_t deadline) noexcept;
    /// The last step: only objects that outlive the runtime are left.
    void end_handles();

    /// Surrounds a user's callback. `owner` is the object that waits for the callback (a pipeline, an executor, a
    /// stream), or NULL. Calls in the callback that would wait for `owner` give GPO_WOULD_DEADLOCK. Scopes nest.
    class CallbackScope {
    public:
        CallbackScope(Runtime& runtime, const void* owner) noexcept;
        ~CallbackScope();
        CallbackScope(const CallbackScope&) = delete;
        CallbackScope& operator=(const CallbackScope&) = delete;

    private:
        friend class Runtime;
        const void* const runtime_;
        const void* const owner_;
        const CallbackScope* const outer_;
    };
    static bool in_callback_of(const void* owner_or_runtime) noexcept;

private:
    ~Runtime() override = default;
    friend class Object;   // which uses it
    void begin_use() noexcept { uses_.fetch_add(1, std::memory_order_relaxed); }
    void end_use() noexcept {
        if (uses_.fetch_sub(1, std::memory_order_acq_rel) == 1) end();
    }
    void release_handle() noexcept override;
    void end() noexcept;
    void write_log(int32_t level, const char* line) noexcept;
    uint64_t insert(Object& object);
    void open_driver();
    std::shared_ptr<driver::Driver> open_chosen_driver(bool cuda, bool soft, bool* stands_in);
    void report_fallback() noexcept;
    Annex& add_annex(Annex::Slot slot, std::unique_ptr<Annex> made) noexcept;

    gpo_runtime_options options_;
    std::string device_choice_, cache_;
    bool attribute_ = false;
    std::unique_ptr<host::Schedule> schedule_;
    handle::Table* table_;
    uint64_t lease_ = 0;
    uint64_t handle_ = 0;
    std::atomic<uint64_t> uses_{1};   // the first is the handle's; all uses together hold one reference
    uint32_t number_ = 0;

    host::Mutex driver_lock_;
    std::atomic<driver::Driver*> driver_ready_{nullptr};
    std::shared_ptr<driver::Driver> driver_;
    std::string reason_;
    std::vector<int> ordinals_;

    host::Mutex labels_lock_;
    std::set<std::string, std::less<>> labels_;

    host::Mutex log_route_lock_;
    Ref<LogRoute> log_route_;                       // under log_route_lock_
    std::atomic<bool> log_routed_{false};

    std::atomic<int32_t> lingering_{0};
    Errands errands_;
    Deferred releases_;
    Exclusion blocking_calls_;
    // Fields that most calls read, on one cache line.
    alignas(64) std::array<std::atomic<Annex*>, Annex::kSlots> annexes_{};   // by slot
    std::atomic<bool> shutting_down_{false};
    // Only one thread at a time shuts down, and user code may occupy it for long. Others wait until their deadlines.
    host::Mutex shutdown_lock_;
    host::Condition shutdown_passed_on_{host::Sleep::light};
    bool being_shut_down_ = false, shut_down_ = false;  // under shutdown_lock_
};

template <>
struct TypeOf<Runtime> { static constexpr Type value = Type::runtime; };

}  // namespace gpo
