// Pipelines: a source, stages on the device and a sink, in chunks, with copies and kernels overlapped.
//
// Threads. The *reading* thread fills chunks from the source, and puts each chunk's copy in, stages and copy out on
// three streams of a device. A mark behind the copy out notifies the *writing* thread, which hands chunks to the sink
// in order. Both have helper threads that move bytes (team.h). The first run starts the threads; they park between
// runs, and end with the pipeline.
//
// Devices. A *lane* is a device with its slots. A chunk is put on the lane that is likely to be done with it first
// (flow.cpp), and the writing thread takes the chunks by their numbers, wherever they are.
//
// End of a run. The writing thread ends the run when the reading thread has done all its work and every chunk is back
// from the device. From then on nothing accesses the caller's memory or files. In two cases a mark doesn't cover all
// work. If putting a chunk on the device failed halfway, no mark is behind the submitted part. If a chunk's stages were
// dropped, the chunk's mark says nothing about its copy in. A stopped run therefore waits until all three streams are
// idle: on the reading thread, or on the writing thread if the reading thread was done.
//
// Lifetime. A run holds a reference to its pipeline. Destroying a pipeline cancels the run; the writing thread then
// ends the threads. The runtime's errands' thread joins them, since the writing thread can't join itself.
//
// Callbacks run under no lock. All state that threads share is in flow.h, under its lock.
//
// NOTES.md says what was measured.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "completion/completion_queue.h"
#include "pipeline/flow.h"
#include "pipeline/overlap.h"
#include "pipeline/pipeline_plan.h"
#include "pipeline/sink.h"
#include "pipeline/data_source.h"
#include "pipeline/team.h"

namespace gpo {

namespace pipeline {

/// A device with its slots. Belongs to the reading thread during a run.
struct Lane {
    Lane(Ref<Context> its, gpo_device_t device, std::string label)
        : context(std::move(its)), slots(context, device, std::move(label)) {}
    const Ref<Context> context;
    Slots slots;
    std::vector<Ref<Arrival>> arrivals;  // an Arrival for each chunk record
    uint64_t arrivals_epoch = 0;
};

/// A lane's times, as the writing thread learns them.
struct LaneTimes {
    EngineTimes engines;
    bool has_base = false;           // of the reading thread: the base event is recorded before the first chunk's copy
    uint64_t base_recorded_ns = 0;   // on the host's clock; written before the first chunk is submitted
    int64_t base_ns = 0;             // of the base event, since the first base event
    struct Ends { int64_t stages, out; };
    std::vector<Ends> ends;          // of the newest chunk in each slot
    uint64_t chunks = 0, bytes_in = 0;
};

/// State of a single run. Made by start, ended by the writing thread.
struct Run {
    std::unique_ptr<Source> source;
    std::unique_ptr<Sink> sink;
    gpo_sink_fn take = nullptr;
    void* user = nullptr;
    Needs needs;
    bool automatic = false;      // the library chooses the chunk size

    // The reading thread's.
    uint64_t offset = 0, output_offset = 0, chunk_bytes = 0, staged_bytes = 0;
    uint64_t size_asked = 0;     // size chosen for the next chunk, which hasn't begun yet; 0: none
    uint64_t round_bytes = 0;    // size of all chunks of a round: a chunk for each device
    uint64_t capacity = 0;       // of an input buffer, on every device
    bool settled = false;        // the reading thread has waited for idle devices; read once the input has ended
    // The writing thread's.
    std::vector<LaneTimes> lanes;
    bool times_known = false;
    int64_t newest_end_ns = 0;   // of the newest chunk, by the device's events; where there is one device
    uint64_t newest_seen_ns = 0; // … on the host's clock
    uint64_t bytes_out = 0, unstaged_bytes = 0, reported_ns = 0;
};

}  // namespace pipeline

class Pipeline final : public Object {
public:
    /// Throws.
    Pipeline(const Device& device, gpo_device_t handle, const gpo_pipeline_options& options);

    void start(const gpo_source& source, const gpo_sink& sink);

    /// GPO_TIMEOUT, or GPO_SUCCESS with the result of the run and its failure, if any.
    gpo_status wait(uint64_t deadline, gpo_pipeline_result* result, ErrorPtr* error);
    void cancel();
    gpo_status notify(CompletionQueue& queue, uint64_t user_data);
    /// `target->on_completed` is called when the run has ended; perhaps before this returns.
    void then(Ref<CompletionHandler> target);
    gpo_pipeline_progress progress();
    gpo_pipeline_share share(uint32_t device);

    void close() noexcept override;
    void destroyed() noexcept override;
    void stop() noexcept override;
    bool drain(uint64_t deadline) noexcept override;

private:
    using Run = pipeline::Run;
    using Chunk = pipeline::Chunk;
    using Lane = pipeline::Lane;
    /// The threads. The destructor joins them.
    struct Crew final : Errand {
        Crew(Runtime& runtime, const std::string& name);
        /// Called once by each thread and once for the pipeline. The last call lets the errands' thread join the
        /// threads: other libraries may delay a thread's end, and destroying a pipeline must not wait for this.
        void leave() noexcept;
        void run() noexcept override;
        Runtime& runtime;
        std::atomic<uint32_t> inside{3};
        pipeline::Team in, out;
        host::Thread reader, writer;
    };
    struct Notice {
        Ref<CompletionHandler> target;
        uint64_t submitted_ns;
    };
    /// A thread that waits for the run's end. Has a copy of the result, since the next run may end before the thread
    /// wakes.
    struct Waiting {
        Waiting* next;
        gpo_pipeline_result result{};
        ErrorPtr error{};
        bool ended = false;
    };

    ~Pipeline() override;

    // start
    std::unique_ptr<Run> make_run(const gpo_source& source, const gpo_sink& sink);
    void choose_needs(Run& run);
    void begin(std::unique_ptr<Run> run) noexcept;
    void start_threads();

    // the reading thread (reading.cpp)
    static void reading(Ref<pipeline::Flow> flow, Pipeline* pipeline) noexcept;
    void read(Run& run) noexcept;
    void produce(Run& run);
    void prepare(Run& run, uint64_t chunk_bytes);
    uint64_t next_size(Run& run, uint64_t index) noexcept;
    bool begin_fill(Run& run, uint64_t index, bool needed);
    bool finish_fill(Run& run, Chunk& chunk);
    void put_on_device(Run& run, Chunk& chunk);
    void run_stages(Chunk& chunk);
    Chunk& chunk_at(const pipeline::Flow::Place& place) noexcept {
        return lanes_[place.lane]->slots.record(place.number);
    }
    void settle() noexcept;
    void settle(Stream& stream) noexcept;

    // the writing thread (writing.cpp)
    static void writing(Ref<pipeline::Flow> flow, Pipeline* pipeline) noexcept;
    void write(Run& run) noexcept;
    void consume(Run& run, Chunk& chunk);
    void note_times(Run& run, Chunk& chunk);
    void report_progress(Run& run, bool last) noexcept;
    void end(Run& run) noexcept;
    void report_result(Run& run) noexcept;

    /// The first failure wins; NULL: the run ends early without a failure. Any thread.
    void stop_run(ErrorPtr error) noexcept;
    ErrorPtr error_in_flight() noexcept;
    gpo_chunk describe_chunk(const Chunk& chunk) const noexcept;
    gpo_pipeline_progress progress_locked() const noexcept;
    void dismiss() noexcept;

    const std::vector<std::unique_ptr<Lane>> lanes_;    // one for each device
    const pipeline::Plan plan_;
    const pipeline::Owner owner_;
    const ErrorPtr cancelled_;                          // made in advance: needs no memory when used
    const Ref<pipeline::Flow> flow_;
    const Ref<pipeline::Settled> settled_;

    std::unique_ptr<Crew> crew_;
    std::unique_ptr<Run> run_;
    Ref<Pipeline> self_;                                // during a run, under flow_->lock

    // Result of the run that ended last, under flow_->lock.
    gpo_pipeline_result result_{};
    std::vector<gpo_pipeline_share> shares_;
    ErrorPtr error_;
    // Waiters for the present run, under flow_->lock.
    std::vector<Notice> notices_;
    Waiting* waiting_ = nullptr;
};

template <>
struct TypeOf<Pipeline> { static constexpr Type value = Type::pipeline; };

}  // namespace gpo
