// The records that threads make while a trace runs, and their buffers.
//
// Each thread has a buffer for the trace of its newest record. The buffer is a ring with one producer,
// the thread, and one consumer, the recorder's writer thread. Recording takes two reads of the clock and a store, and
// no lock. If the ring is full, the record is dropped and counted. While no trace runs and no tool is attached, all of
// this is one branch.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "core/object.h"
#include "gpuorch/status.h"

namespace gpo::trace {

/// Counts watchers: recorders that are running, and an NVTX tool.
void add_watcher() noexcept;
void remove_watcher() noexcept;
/// Whether there is a watcher. Relaxed: a new watcher may be missed.
inline bool on() noexcept { return host::detail::unusual(~(host::detail::kWatcher - 1u)); }

enum class Kind : uint8_t {
    call,
    operation,
    notify,
    completion,
    held,
    callback,
    serialising,
    submission,
    batch,
    request
};

/// The part of a GPU that does an operation's work. A graph's nodes may use all other engines.
enum class Engine : uint8_t { none, copy_in, copy_out, copy_on_device, fill, kernel, graph };
inline constexpr size_t kEngines = 7;
const char* engine_name(Engine engine) noexcept;

/// How long the newest timed launch of a graph took. All graphs of a template share this object. It is reference
/// counted, because the template may be destroyed before the times of its last launch are known.
class NewestTime final : public Counted {
public:
    /// Nanoseconds; 0: no launch was timed.
    uint64_t took() const noexcept { return took_.load(std::memory_order_relaxed); }
    /// The recorder's thread: launches of different streams are timed in any order.
    void note(uint64_t begin, uint64_t end) noexcept {
        if (begin < begin_) return;
        begin_ = begin;
        took_.store(end - begin, std::memory_order_relaxed);
    }

private:
    std::atomic<uint64_t> took_{0};
    uint64_t begin_ = 0;
};

/// An operation's work on the GPU.
struct Work {
    Engine engine = Engine::none;
    uint64_t bytes = 0;
    bool begins_itself = false;  // the operation calls Traced::begin_work itself, behind its waits
    // Graphs only:
    uint32_t nodes = 0;
    const char* graph_template = "";  // its label, interned
    NewestTime* time = nullptr;
    bool collective = false;  // Engine::kernel only
};

/// In `Record::lane` of a request: of an admission, not of a batcher.
inline constexpr uint32_t kOfAdmission = 1u << 31;

struct Record {
    Kind kind = Kind::call;
    Engine engine = Engine::none;
    bool collective = false;
    bool inside_call = false;  // a call's span is open around it on this thread
    gpo_status status = GPO_SUCCESS;
    uint32_t lane = 0;  // the stream's number in the trace; 0: none
    uint32_t nodes = 0;     // of a graph
    const char* name = "";  // static: the function, the kind of operation, what calls back, what serialises
    const char* label = "";  // interned by the runtime
    const char* graph_template = "";  // of a graph: its template's label, interned too
    uint64_t begin = 0, end = 0;  // host::now()
    uint64_t bytes = 0;  // of copies and fills; held: how many operations; completion: the caller's number
    uint64_t number =
        0;  // of the operation in its stream; notify and completion: the mark's ticks, which identify the mark
    // Of a batcher: `lane` is the batcher's number. A request: `begin` is its submission, `middle` the forming of its
    // batch (0: none), `nodes` the batch's track, `number` its ticket, `bytes` its user_data. A batch: `nodes` is its
    // track, `number` its elements, `bytes` its requests. An admission's request has no batch.
    uint64_t middle = 0;
    CUevent gpu_begin = nullptr, gpu_end = nullptr;
    NewestTime* time = nullptr;  // receives the GPU times: a reference, which is released with the events
};

class Buffer final : public Counted {
public:
    static constexpr uint32_t kRecords = 16384;
    explicit Buffer(uint32_t tag);

    const uint32_t tag;  // of the runtime's handles
    const int thread;  // the system's number of it
    char thread_name[16];
    std::atomic<bool> open{true};  // false once its trace has ended

    // --- the thread ---
    bool has_room(uint32_t records) const noexcept {
        return pushed_.load(std::memory_order_relaxed) - popped_.load(std::memory_order_acquire) + records <= kRecords;
    }
    /// Adds a record, or drops and counts it if the ring is full. True if the caller should wake the writer.
    bool push(const Record& record) noexcept;
    void count_dropped() noexcept { dropped_.fetch_add(1, std::memory_order_relaxed); }

    // --- the writer ---
    bool pop(Record& record) noexcept;
    uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
    uint64_t waiting() const noexcept {
        return pushed_.load(std::memory_order_acquire) - popped_.load(std::memory_order_relaxed);
    }

private:
    struct Free {
        void operator()(Record* ring) const noexcept { std::free(ring); }
    };
    std::unique_ptr<Record[], Free> ring_;  // pages that no record has reached take no memory
    alignas(64) std::atomic<uint64_t> pushed_{0};
    std::atomic<uint64_t> dropped_{0};
    alignas(64) std::atomic<uint64_t> popped_{0};
};

/// Gathers the records of a runtime's threads (recorder/recorder.h).
class Collector {
public:
    /// `tag`: of the runtime's handles.
    explicit Collector(uint32_t tag) noexcept : tag(tag) {}
    Collector(const Collector&) = delete;
    Collector& operator=(const Collector&) = delete;

    const uint32_t tag;

    /// A new buffer of the runtime with this tag; NULL if the runtime isn't traced, or there is no memory.
    static Ref<Buffer> make_buffer_of(uint32_t tag) noexcept;
    /// Wakes the writer of the runtime with this tag, because a buffer fills up.
    static void wake_of(uint32_t tag) noexcept;

protected:
    ~Collector() = default;
    /// Add this collector to the list by which a tag is looked up, and remove it. The constructor and the destructor of
    /// the final class call these.
    void enlist() noexcept;
    void delist() noexcept;

private:
    // Under the lock of the list.
    virtual bool collecting() const noexcept = 0;
    virtual Ref<Buffer> make_buffer() noexcept = 0;
    virtual void wake() noexcept = 0;
    static Collector* find(uint32_t tag) noexcept;
    Collector* next_ = nullptr;
};

/// The calling thread's buffer for the trace of the runtime whose handles have this tag; NULL if that runtime isn't
/// traced, or there is no memory. Valid until the thread's next call.
Buffer* buffer_of(uint32_t tag) noexcept;

/// Adds a record of the calling thread, if the runtime is traced.
void record(uint32_t tag, const Record& record) noexcept;

/// The span of a call into the library, for the runtime of the handle that was looked up last.
class CallSpan {
public:
    explicit CallSpan(const char* function) noexcept {
        if (on()) [[unlikely]]
            begin(function);
    }
    ~CallSpan() {
        if (function_) [[unlikely]]
            end();
    }
    CallSpan(const CallSpan&) = delete;
    CallSpan& operator=(const CallSpan&) = delete;
    gpo_status returns(gpo_status status) noexcept { return status_ = status; }
    /// Whether a span is open on the calling thread.
    static bool open() noexcept;

private:
    [[gnu::cold, gnu::noinline]] void begin(const char* function) noexcept;
    [[gnu::cold, gnu::noinline]] void end() noexcept;
    const char* function_ = nullptr;
    uint64_t begin_ = 0;
    gpo_status status_ = GPO_SUCCESS;
};

/// The span of a callback into the program. The callback's calls are spans inside. `what` is static text.
class CallbackSpan {
public:
    CallbackSpan(const Runtime& runtime, const char* what) noexcept {
        if (on()) [[unlikely]]
            begin(runtime, what);
    }
    ~CallbackSpan() {
        if (what_) [[unlikely]]
            end();
    }
    CallbackSpan(const CallbackSpan&) = delete;
    CallbackSpan& operator=(const CallbackSpan&) = delete;

private:
    [[gnu::cold, gnu::noinline]] void begin(const Runtime& runtime, const char* what) noexcept;
    [[gnu::cold, gnu::noinline]] void end() noexcept;
    const char* what_ = nullptr;
    uint64_t begin_ = 0;
    uint32_t tag_ = 0, outer_tag_ = 0, outer_calls_ = 0;
    bool outer_inside_ = false;
};

/// Records that a call made the device or the driver wait for other work. `what` is static text. `begin`: when the call
/// began, by host::now(); 0 if unknown.
[[gnu::cold, gnu::noinline]] void note_serialising(const Runtime& runtime, const char* what, uint64_t bytes,
                                                   uint64_t begin) noexcept;
inline void serialising(const Runtime& runtime, const char* what, uint64_t bytes = 0, uint64_t begin = 0) noexcept {
    if (on()) [[unlikely]]
        note_serialising(runtime, what, bytes, begin);
}

}  // namespace gpo::trace
