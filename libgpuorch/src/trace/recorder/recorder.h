// A runtime's tracing: the buffers of its threads, the streams that were traced, and the thread that makes files of
// them.
//
// The writer thread empties the buffers every few milliseconds, or when a buffer is full. It learns the GPU times of
// completed operations; while threads submit at full speed only now and then, because that makes them wait. It passes
// all of it on to the trace file, the figures and the picture. Only the writer thread uses these, under no lock. After
// each round it publishes what other threads may ask for (info, summary).
//
// Lifetime. A runtime's recorder is made with its first trace and lives as long as the runtime. One trace is a
// *session* of the recorder. Threads share the buffers, and may be inside a call when a session ends: records that they
// push after that are discarded, and the events in these records are returned.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/runtime.h"
#include "gpuorch/trace.h"
#include "trace/record.h"
#include "trace/recorder/source.h"
#include "trace/report/json.h"
#include "trace/report/picture.h"
#include "trace/report/summary.h"

namespace gpo::trace {

struct Options {
    std::string path, picture, summary, title;  // files; "": none
    bool gpu_times = true;
    bool one_claim = false;  // the picture goes with the trace: who has that one has both
    bool alone = false;      // new files, for this user alone
    bool of_environment = false;  // GPUORCH_TRACE asked for it: the program gets no status that says what failed
};

class Recorder final : public Annex, private Collector {
public:
    static constexpr Slot kSlot = Slot::recorder;
    explicit Recorder(Runtime& runtime);
    ~Recorder() override;

    /// The runtime's; NULL if it has never been traced. Runtime::annex makes it, to be followed by a look at
    /// shutting_down().
    static Recorder* of(const Runtime& runtime) noexcept { return runtime.find_annex<Recorder>(); }

    /// Returns the claim on its file, the picture's where there is no trace. Throws Failure(GPO_INVALID_STATE,
    /// GPO_SHUT_DOWN, GPO_IO_ERROR), std::bad_alloc, std::system_error; has then changed nothing.
    Ref<Claim> start(const Options& options, const Source& source);
    /// Throws Failure(GPO_INVALID_STATE, GPO_WOULD_DEADLOCK), and the failure of a file, if one failed.
    void stop();
    /// The runtime shuts down, nothing runs any more: ends a session, and lets go of contexts.
    void finish() noexcept;

    /// What GPUORCH_TRACE asks for; what can't be done is logged, and told on stderr.
    static void start_from_environment(Runtime& runtime, const Source& source) noexcept;

    bool running() const noexcept { return state_.load(std::memory_order_acquire) == recording; }
    bool gpu_times() const noexcept { return gpu_times_.load(std::memory_order_relaxed); }
    gpo_trace_info info();
    std::string summary();

    /// One that was opened while a session runs.
    void add_gpu(Gpu& gpu) noexcept;
    /// A lane for a stream of this GPU: its number in this recording; 0 if there is no room for one. With kUntimed, if
    /// the GPU has no clock. Under the stream's submit lock. `label`: the stream's, or "".
    static constexpr uint32_t kUntimed = 1u << 31;
    uint32_t add_lane(Gpu& gpu, const char* label) noexcept;
    /// Grows with each session, of any runtime.
    uint32_t session() const noexcept { return session_.load(std::memory_order_relaxed); }

private:
    struct Clocked {
        Ref<Gpu> gpu;
        std::unique_ptr<Clock> clock;
    };
    struct Lane {
        Ref<Gpu> gpu;
        Clock* clock = nullptr;  // NULL: none could be made
        std::string name;
        const char* kept_name = "";  // the same, as long as the runtime
        std::deque<Record> pending;
        uint64_t last_end = 0;
        bool announced = false;
    };
    bool collecting() const noexcept override { return running(); }
    Ref<Buffer> make_buffer() noexcept override;
    void wake() noexcept override;
    static constexpr size_t kLanes = 4096;
    size_t lane_count() noexcept {
        std::lock_guard lock(lanes_lock_);
        return lanes_.size();
    }
    bool change(uint32_t from) noexcept { return state_.compare_exchange_strong(from, changing); }

    /// `made`: folders.
    Ref<Claim> begin_session(const Options& options, std::vector<std::string>& made);
    void run() noexcept;
    void drain(bool last) noexcept;
    void empty_buffers(bool last);
    size_t adjust_clocks();
    void forget_ended_threads(bool last, bool emptied) noexcept;
    void take(Buffer& buffer) noexcept;
    void note(const Buffer& buffer, const Record& record);
    void resolve(Lane& lane, uint32_t number);
    void show(Lane& lane, uint32_t number, const Record& record, uint64_t begin, uint64_t end);
    void give_back(Lane& lane, const Record& record) noexcept;
    void give_back_leftovers() noexcept;
    void announce_lanes();
    void sample(uint64_t now);
    void watch_file();
    uint64_t watermark(uint64_t now);
    void end_session(uint64_t now) noexcept;
    void report(const ErrorPtr& error) noexcept;
    void publish() noexcept;
    uint64_t measure_call_cost() const noexcept;

    Runtime& runtime_;
    enum State : uint32_t { idle, changing, recording };  // changing: one thread is in start, stop or finish
    std::atomic<uint32_t> state_{idle};
    std::atomic<bool> gpu_times_{false};
    std::atomic<uint32_t> session_{0};

    host::Mutex buffers_lock_;
    std::vector<Ref<Buffer>> buffers_;  // under buffers_lock_
    uint64_t lost_ = 0;  // buffers that there was no memory for, under it

    host::Mutex lanes_lock_;  // inside a submit lock
    // Grows under lanes_lock_, and never moves: it has room for all from a session's start. Whoever was told of a lane
    // (by a record) reaches it without the lock. A lane is the writer's once it is there.
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::vector<Clocked> clocks_;  // under lanes_lock_

    // The writer's; start and stop touch it while there is none.
    Options options_;
    const Source* source_ = nullptr;
    uint64_t start_ = 0, end_ = 0, sampled_ = 0, resolved_ = 0, written_ = 0;  // host::now() of the last time
    Ref<Claim> picture_claim_;
    std::unique_ptr<Json> json_;
    std::unique_ptr<Figures> figures_;
    std::unique_ptr<Picture> picture_;
    std::map<const Buffer*, uint64_t>
        threads_;  // those that the file knows; where a thread's newest completion ends in it
    std::map<std::string, Summary::Serialised> serialising_;  // by what
    gpo_trace_info info_{};
    uint64_t dropped_ = 0;  // of threads that have gone
    ErrorPtr file_error_;
    std::vector<std::string> log_;  // lines for the runtime's log
    std::array<uint64_t, 6> last_sample_{};

    host::Mutex published_lock_;
    Summary published_;  // under published_lock_

    std::atomic<uint32_t> signal_{0}, sleeping_{0};
    std::atomic<bool> stopping_{false};
    host::Thread thread_;
};

}  // namespace gpo::trace
