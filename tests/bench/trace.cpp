// LINK: objects
// The cost of tracing for the launching thread: on, with and without GPU times, and off. The trace goes to /dev/null,
// so the writer thread works as for a file.
#include "bench/gpu.h"
#include "bench/pairs.h"
#include "bench/raw.h"
#include "trace/record.h"

using namespace gpo::bench;

namespace {

enum class Tracing { off, host, all };

class Launches {
public:
    explicit Launches(Row& row)
        : row_(row), raw_(gpu_), stream_(gpu_.stream()), kernel_(gpu_.kernel("empty")), count_(row.size(3300, 100)) {}
    ~Launches() {
        char text[96];
        std::snprintf(text, sizeof text, "%llu of %llu operations lost", static_cast<unsigned long long>(dropped_),
                      static_cast<unsigned long long>(operations_));
        if (operations_) row_.note(text);
    }

    /// The host's nanoseconds for a launch.
    double block(Tracing tracing) {
        return block(tracing, stream_, [&] { launch_once(stream_); });
    }
    /// Like block(Tracing), with a raw event record before and after each launch, as in programs that time launches. An
    /// event can't be recorded again before its time is read, so each launch of a block has its own two events. The
    /// records go onto a second stream of the library's, because its native handle is given out: a traced launch there
    /// queries the capture state each time. (Not where the raw arm has another driver.)
    double block_with_records(Tracing tracing) {
        if (events_.empty()) prepare_records();
        size_t next = 0;
        return block(tracing, recorded_, [&] {
            raw_.cu.cuEventRecord(events_[next++ % events_.size()], native_);
            launch_once(recorded_);
            raw_.cu.cuEventRecord(events_[next++ % events_.size()], native_);
        });
    }

private:
    void prepare_records() {
        recorded_ = gpu_.stream();
        void* native = nullptr;
        CHECK_GPO(gpo_stream_get_native(recorded_, &native));
        native_ = static_cast<CUstream>(native);
        for (int i = 0; i < 2 * (count_ + 1); ++i) events_.push_back(raw_.event(CU_EVENT_DEFAULT));
    }
    template <class Once>
    double block(Tracing tracing, const Stream& stream, Once&& once) {
        if (tracing != Tracing::off) {
            auto options = sized<gpo_trace_options>();
            options.path = "/dev/null";
            options.flags = tracing == Tracing::host ? GPO_TRACE_NO_GPU_TIMES : 0;
            CHECK_GPO(gpo_trace_start(gpu_.runtime, &options));
        }
        once();  // makes the stream's lane and events
        finish(stream);
        const double begin = now_ns();
        for (int i = 0; i < count_; ++i) once();
        const double end = now_ns();
        finish(stream);
        if (tracing != Tracing::off) {
            CHECK_GPO(gpo_trace_stop(gpu_.runtime));
            auto info = sized<gpo_trace_info>();
            CHECK_GPO(gpo_trace_get_info(gpu_.runtime, &info));
            dropped_ += info.dropped;
            operations_ += info.operations;
        }
        return (end - begin) / count_;
    }

    void launch_once(const Stream& stream) {
        unsigned* pointer = nullptr;
        launch(stream, kernel_, one_, pointer, 7u, 0ull);
    }

    Row& row_;
    Gpu gpu_;
    Raw raw_;
    const Stream stream_;
    const Kernel kernel_;
    const gpo_launch one_ = shape(1, 1);
    const int count_;
    // For the arm that records events itself:
    Stream recorded_;
    CUstream native_ = nullptr;
    std::vector<CUevent> events_;
    uint64_t dropped_ = 0, operations_ = 0;
};

/// The branches in an untraced launch: the call's span, and the operation's.
double branches(int count) {
    const double begin = now_ns();
    for (int i = 0; i < count; ++i) {
        gpo::trace::CallSpan span("branches");
        bool traced = gpo::trace::on();
        asm volatile("" : "+r"(traced) : : "memory");
    }
    return (now_ns() - begin) / count;
}

}  // namespace

int main(int argc, char** argv) {
    Bench bench("trace", argc, argv);
    bench.row({.name = "trace_off", .what = "what tracing costs a launch while nobody traces: its branches, alone",
               .target = value_at_most(29), .target_on = on_any},  // 1 % of a launch
              [](Row& row) { row.alone([&] { return branches(row.size(1'000'000, 10'000)); }); });
    bench.row({.name = "trace_host_span",
               .what = "launch, traced without GPU times, host cost",
               .base = "the same untraced",
               .target = difference_at_most(300)},
              [](Row& row) {
                  Launches launches(row);
                  row.pairs([&] { return launches.block(Tracing::off); },
                            [&] { return launches.block(Tracing::host); });
              });
    bench.row({.name = "trace_gpu_span",
               .what = "launch, traced with GPU times, host cost",
               .base = "traced without, and two raw records, of timing events that each launch has its own of",
               .target = difference_at_most(200),
               .devices = on_cuda},
              [](Row& row) {
                  Launches launches(row);
                  row.pairs([&] { return launches.block_with_records(Tracing::host); },
                            [&] { return launches.block(Tracing::all); });
              });
    bench.row({.name = "trace_all", .what = "launch, traced with GPU times, host cost", .base = "the same untraced"},
              [](Row& row) {
                  Launches launches(row);
                  row.pairs([&] { return launches.block(Tracing::off); },
                            [&] { return launches.block(Tracing::all); });
              });
    return bench.finish();
}
