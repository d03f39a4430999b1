// A runtime's tracing: the buffers of its threads, the streams that were traced, and the thread that makes files of
// them.
//
// The writer thread empties the buffers every few milliseconds, or earlier if a buffer fills up. It reads the GPU times
// of completed operations. Because submitting threads wait for this, the writer reads times less often while threads
// submit fast. Records and times go to the trace file, the figures and the picture, which only the writer thread uses,
// under no lock. After each round the writer publishes the data for info() and summary().
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
#include "trace/recorder/trace_source.h"
#include "trace/report/json.h"
#include "trace/report/picture.h"
#include "trace/report/summary.h"

namespace gpo::trace {

struct Options {
    std::string path, picture, summary, title;  // files; "": none
    bool gpu_times = true;
    bool one_claim = false;  // the claim on the trace file covers the picture too
    bool alone = false;      // the files must be new, and only this user can read them
    bool of_environment = false;  // GPUORCH_TRACE asked for this trace: failures are printed, as no call returns them
};

class Recorder final : public Annex, private Collector {
public:
    static constexpr Slot kSlot = Slot::recorder;
    explicit Recorder(Runtime& runtime);
    ~Recorder() override;

    /// The runtime's recorder; NULL if the runtime has never been traced. Runtime::annex makes the recorder. Check
    /// shutting_down() after that.
    static Recorder* of(const Runtime& runtime) noexcept { return runtime.find_annex<Recorder>(); }

    /// Starts a session. Returns the claim on the trace file, or on the picture if there is no trace file. Throws
    /// Failure(GPO_INVALID_STATE, GPO_SHUT_DOWN, GPO_IO_ERROR), std::bad_alloc, std::system_error, without effects.
    Ref<Claim> start(const Options& options, const Source& source);
    /// Throws Failure(GPO_INVALID_STATE, GPO_WOULD_DEADLOCK), and the failure of a file, if one failed.
    void stop();
    /// Ends a session and releases the contexts, when the runtime shuts down and all work has ended.
    void finish() noexcept;

    /// Starts the trace that GPUORCH_TRACE asks for. Failures are logged, and printed on stderr.
    static void start_from_environment(Runtime& runtime, const Source& source) noexcept;

    bool running() const noexcept { return state_.load(std::memory_order_acquire) == recording; }
    bool gpu_times() const noexcept { return gpu_times_.load(std::memory_order_relaxed); }
    gpo_trace_info info();
    std::string summary();

    /// Adds a GPU that was opened while a session runs.
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
    void note_completion(const Buffer& buffer, const Record& record);
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
    uint64_t lost_ = 0;  // buffers for which there was no memory; under buffers_lock_

    host::Mutex lanes_lock_;  // inside a submit lock
    // Grows under lanes_lock_, but never reallocates, because a session reserves its full capacity. The writer can
    // therefore reach a lane that a record names without the lock. Only the writer uses the lanes' contents.
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::vector<Clocked> clocks_;  // under lanes_lock_

    // Only the writer thread uses these; start and stop use them while no writer runs.
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
    uint64_t dropped_ = 0;  // records that ended threads dropped, and records for which there was no memory
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
