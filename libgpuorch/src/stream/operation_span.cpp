#include "stream/operation_span.h"

#include "stream/driver_stream.h"
#include "stream/marks.h"
#include "stream/traced.h"

namespace gpo::trace {

namespace {

// If the driver can't report the capture state, nothing is timed: the operation itself will find out why.
bool captured(DriverStream& stream) noexcept {
    try {
        return stream.capturing();
    } catch (const std::exception&) {
        return true;
    }
}

}  // namespace

OperationSpan::OperationSpan(DriverStream& stream, StreamMarks& marks, Traced& traced, Recorder& recorder,
                             const gpo::Operation& operation) noexcept
    : stream_(stream), marks_(marks) {
    // The room includes the calls around the operation: no arrow may begin in a call that is missing.
    Buffer* buffer = buffer_of(stream.runtime().tag());
    if (!buffer) return;
    if (!buffer->has_room(64)) {
        buffer->count_dropped();
        return;
    }
    buffer_ = buffer;
    const Work work = operation.work();
    record_.kind = Kind::operation;
    record_.engine = work.engine;
    record_.collective = work.collective;
    record_.bytes = work.bytes;
    record_.nodes = work.nodes;
    record_.graph_template = work.graph_template;
    record_.name = operation.kind();
    record_.label = operation.label();
    record_.inside_call = CallSpan::open();
    const uint32_t lane = traced.lane(recorder);
    record_.lane = lane & ~Recorder::kUntimed;
    record_.begin = host::now();
    if (work.engine == Engine::none || !lane || (lane & Recorder::kUntimed) || !recorder.gpu_times() ||
        captured(stream))
        return;
    if (!(record_.gpu_begin = take_event())) return;
    if (!(record_.gpu_end = take_event())) return;
    timed_ = true;
    time_ = Ref<NewestTime>(work.time);
    if (!work.begins_itself) begin_work();
}

OperationSpan::~OperationSpan() {
    for (const CUevent event : {record_.gpu_begin, record_.gpu_end})
        if (event) marks_.return_event(true, event);
}

// NULL: the operation goes on without its times.
CUevent OperationSpan::take_event() noexcept {
    try {
        return marks_.event(true);
    } catch (...) {
        return nullptr;
    }
}

void OperationSpan::begin_work() noexcept {
    if (timed_ && stream_.table().cuEventRecord(record_.gpu_begin, stream_.native()) != CUDA_SUCCESS) timed_ = false;
}

void OperationSpan::end(uint64_t number) noexcept {
    if (!buffer_) return;
    record_.number = number;
    if (timed_ && stream_.table().cuEventRecord(record_.gpu_end, stream_.native()) != CUDA_SUCCESS) timed_ = false;
    Record noted = record_;
    if (timed_) {  // the events are the trace writer's from here on
        record_.gpu_begin = record_.gpu_end = nullptr;
        noted.time = time_.leak();
    } else {
        noted.gpu_begin = noted.gpu_end = nullptr;
    }
    noted.end = host::now();
    if (buffer_->push(noted)) Collector::wake_of(buffer_->tag);
}

}  // namespace gpo::trace
