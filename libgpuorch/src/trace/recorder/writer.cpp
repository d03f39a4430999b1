// The recorder's writer thread: it empties the buffers, learns GPU times, and writes the files.
#include "trace/recorder/recorder.h"

#include <algorithm>

namespace gpo::trace {

namespace {

constexpr uint64_t kPeriod = 5'000'000, kIdlePeriod = 100'000'000;  // between two looks at the buffers
constexpr uint64_t kSamplePeriod = 10'000'000;
constexpr uint64_t kBaseAge = 1'000'000'000;
constexpr uint64_t kLate = 100'000'000;  // longest time assumed between a record's begin and its push into the buffer
constexpr size_t kPending = 65536;       // most operations of a stream that wait for their GPU times
// If more than kBusy operations were submitted since the last round, the writer reads times only for streams with at
// least kPutOff waiting operations. Reading a time is a driver call, for which submitting threads wait.
constexpr uint64_t kBusy = 256;
constexpr size_t kPutOff = 4096;
constexpr uint64_t kPutOffTime = 100'000'000;  // after which all times are read in any case
constexpr uint64_t kWritten = 50'000'000;      // between writes to the file: a killed process loses some 100 ms

}  // namespace

void Recorder::run() noexcept {
    const Runtime::CallbackScope scope(runtime_, this);  // for the log function, which can't end the trace here
    if (json_) json_->flush(true);                       // replaces an older trace in the file
    uint64_t idle_since = host::now();
    uint64_t seen_records = 0;
    while (!stopping_.load(std::memory_order_seq_cst)) {
        const uint32_t seen = signal_.load(std::memory_order_seq_cst);
        drain(false);
        const uint64_t now = host::now(), records = info_.calls + info_.operations + info_.completions;
        if (std::exchange(seen_records, records) != records) idle_since = now;
        if (stopping_.load(std::memory_order_seq_cst)) break;
        host::wait(signal_, seen, now + (now - idle_since > kIdlePeriod ? kIdlePeriod : kPeriod));
    }
    drain(true);
}

void Recorder::drain(bool last) noexcept {
    const uint64_t now = host::now();
    bool emptied = false;
    try {
        const uint64_t operations = info_.operations;
        empty_buffers(last);
        emptied = true;
        announce_lanes();
        const size_t lanes = adjust_clocks();
        const bool busy = !last && info_.operations - operations > kBusy && now - resolved_ < kPutOffTime;
        if (!busy) resolved_ = now;
        for (size_t i = 0; i < lanes; ++i)
            if (!busy || lanes_[i]->pending.size() >= kPutOff) resolve(*lanes_[i], static_cast<uint32_t>(i + 1));
        figures_->settle(last ? UINT64_MAX : watermark(now));
        if (last || now - sampled_ >= kSamplePeriod) sample(now);
        if (json_) {
            const bool due = last || now - written_ >= kWritten;
            json_->flush(due);
            if (due) written_ = now;
        }
        watch_file();
    } catch (...) {
        ++dropped_;  // no memory, or a driver that doesn't answer
    }
    forget_ended_threads(last, emptied);
    if (last) end_session(now);
    publish();
    // The user's code, under no lock.
    for (const std::string& line : std::exchange(log_, {})) {
        if (options_.of_environment)
            runtime_.log_and_print(GPO_LOG_ERROR, line.c_str());
        else
            runtime_.log(GPO_LOG_ERROR, line);
    }
}

void Recorder::empty_buffers(bool last) {
    std::vector<Ref<Buffer>> buffers;
    {
        std::lock_guard lock(buffers_lock_);
        buffers = buffers_;
    }
    for (const auto& buffer : buffers) {
        if (last) buffer->open.store(false, std::memory_order_release);
        take(*buffer);
    }
}

// Returns the number of lanes.
size_t Recorder::adjust_clocks() {
    std::vector<Clock*> clocks;
    size_t lanes;
    {
        std::lock_guard lock(lanes_lock_);
        for (const auto& clocked : clocks_) clocks.push_back(clocked.clock.get());
        lanes = lanes_.size();
    }
    for (Clock* clock : clocks) {
        const bool waited_for =
            std::any_of(lanes_.begin(), lanes_.begin() + static_cast<std::ptrdiff_t>(lanes),
                        [&](const auto& lane) { return lane->clock == clock && !lane->pending.empty(); });
        if (waited_for) clock->adjust(kBaseAge);
        info_.clock_error_ns = std::max(info_.clock_error_ns, clock->error());
        info_.operation_cost_ns = std::max(info_.operation_cost_ns, info_.call_cost_ns + clock->record_cost());
    }
    return lanes;
}

// When a thread has ended, only the recorder holds its buffer. `emptied`: all buffers were read in this round.
void Recorder::forget_ended_threads(bool last, bool emptied) noexcept {
    std::lock_guard lock(buffers_lock_);
    info_.dropped = dropped_ + lost_;
    std::erase_if(buffers_, [&](Ref<Buffer>& buffer) {
        info_.dropped += buffer->dropped();
        // Two cases: there was no memory to read the buffer, or a thread added records after the trace had ended. The
        // latter don't count as dropped. Events in these records are returned later.
        if (last && buffer->waiting() != 0) {
            if (!emptied) info_.dropped += buffer->waiting();
            return false;
        }
        if (last || buffer->open.load(std::memory_order_acquire) == false || !buffer->only()) return false;
        if (buffer->waiting() != 0) return false;  // the thread has recorded and ended since the buffer was read
        dropped_ += buffer->dropped();
        threads_.erase(buffer.get());
        return true;
    });
}

void Recorder::publish() noexcept {
    try {
        Summary now;
        now.info = info_;
        now.info.file_status = file_error_ ? file_error_->status : GPO_SUCCESS;
        now.title = options_.title;
        now.start = start_;
        now.end = end_;
        now.devices = figures_->devices();
        now.serialising = serialising_;
        std::lock_guard lock(published_lock_);
        std::swap(published_, now);
    } catch (const std::bad_alloc&) {
        // The previous publication stays.
    }
}

void Recorder::take(Buffer& buffer) noexcept {
    Record record;
    while (buffer.pop(record)) {
        bool noted = false;
        try {
            if (threads_.try_emplace(&buffer, 0).second) {
                if (json_) json_->thread(buffer.thread, buffer.thread_name);
                if (picture_) picture_->thread(buffer.thread, buffer.thread_name);
            }
            note(buffer, record);
            noted = true;
            if (json_) json_->flush(false);
        } catch (...) {  // no memory for this one
            ++dropped_;
            if (!noted && record.kind == Kind::operation && record.gpu_end) give_back(*lanes_[record.lane - 1], record);
        }
    }
}

void Recorder::note(const Buffer& buffer, const Record& record) {
    switch (record.kind) {
        case Kind::call:
            ++info_.calls;
            if (json_) json_->call(buffer.thread, record);
            if (picture_) picture_->call(buffer.thread, record);
            break;
        case Kind::operation:
            ++info_.operations;
            if (json_) json_->submitted(buffer.thread, record);
            if (record.gpu_end) {
                Lane& lane = *lanes_[record.lane - 1];
                // Several threads may submit to one stream, each with a buffer of its own: sort their records.
                auto place = lane.pending.end();
                while (place != lane.pending.begin() && std::prev(place)->number > record.number) --place;
                lane.pending.insert(place, record);
                if (lane.pending.size() > kPending) {
                    give_back(lane, lane.pending.front());
                    lane.pending.pop_front();
                }
            }
            break;
        case Kind::notify:
            if (json_) json_->submitted(buffer.thread, record);
            break;
        case Kind::completion:
        case Kind::request: note_completion(buffer, record); break;
        case Kind::submission:
            if (json_) json_->submission(buffer.thread, record);
            break;
        case Kind::batch:
            if (json_) json_->batch(record);
            break;
        case Kind::held:
            announce_lanes();
            if (json_ && record.lane) {
                Record named = record;
                named.label = lanes_[record.lane - 1]->kept_name;
                json_->held(lanes_[record.lane - 1]->gpu->ordinal(), named);
            }
            if (picture_) picture_->held(record);
            break;
        case Kind::callback:
            ++info_.callbacks;
            if (json_) json_->callback(buffer.thread, record);
            if (picture_) picture_->callback(buffer.thread, record);
            break;
        case Kind::serialising: {
            Summary::Serialised& all = serialising_[record.name];
            ++all.count;
            all.time += record.end - record.begin;
            if (json_) json_->serialising(buffer.thread, record);
            if (picture_) picture_->serialising(record);
            break;
        }
    }
}

void Recorder::note_completion(const Buffer& buffer, const Record& record) {
    ++info_.completions;
    if (json_) {
        // Completions that were found together are drawn one after the other, so that viewers show each.
        Record shown = record;
        uint64_t& last_end = threads_[&buffer];
        if (record.kind == Kind::completion) {
            shown.begin = std::max(record.begin, last_end);
            last_end = shown.end = std::max(record.end, shown.begin + 1);
            json_->completion(buffer.thread, shown);
        } else {
            shown.end = std::max(record.end, last_end);
            last_end = shown.end + 1;
            json_->request(buffer.thread, shown);
        }
    }
    if (picture_ && record.kind == Kind::completion) picture_->completion(record);
}

void Recorder::announce_lanes() {
    const size_t lanes = lane_count();
    for (size_t i = 0; i < lanes; ++i) {
        Lane& lane = *lanes_[i];
        if (std::exchange(lane.announced, true)) continue;
        const int device = lane.gpu->ordinal();
        if (json_) {
            json_->device(device, lane.gpu->device_name());
            json_->lane(static_cast<uint32_t>(i + 1), device, lane.name);
        }
        if (picture_) picture_->lane(static_cast<uint32_t>(i + 1), device, lane.name);
    }
}

void Recorder::give_back(Lane& lane, const Record& record) noexcept {
    CUevent events[] = {record.gpu_begin, record.gpu_end};
    lane.gpu->take_back(events, 2);
    if (record.time) record.time->release();
}

void Recorder::resolve(Lane& lane, uint32_t number) {
    if (lane.pending.empty()) return;
    struct Done {
        explicit Done(Gpu& gpu) noexcept : gpu(gpu) {}
        ~Done() {
            if (!events.empty()) gpu.take_back(events.data(), events.size());
        }
        Gpu& gpu;
        std::vector<CUevent> events;
    } done(*lane.gpu);
    done.events.reserve(2 * lane.pending.size());
    std::vector<Clock::Times> times;
    lane.clock->times_of(lane.pending, times);
    for (auto [known, begin, end] : times) {
        const Record record = lane.pending.front();
        const auto newest = Ref<NewestTime>::adopt(record.time);
        done.events.push_back(record.gpu_begin);
        done.events.push_back(record.gpu_end);
        lane.pending.pop_front();
        if (!known) continue;
        // The clocks agree only to some microseconds: make sure that the order is right.
        begin = std::max({begin, record.begin, lane.last_end});
        end = std::max(end, begin + 1);  // an arrow needs a span that isn't empty
        lane.last_end = end;
        if (newest) newest->note(begin, end);
        show(lane, number, record, begin, end);
    }
}

void Recorder::show(Lane& lane, uint32_t number, const Record& record, uint64_t begin, uint64_t end) {
    Span span;
    span.engine = record.engine;
    span.collective = record.collective;
    span.device = lane.gpu->ordinal();
    span.lane = number;
    span.kind = record.name;
    span.label = record.label;
    span.stream = lane.kept_name;
    span.submitted = record.begin;
    span.begin = begin;
    span.end = end;
    span.bytes = record.bytes;
    span.number = record.number;
    span.nodes = record.nodes;
    span.graph_template = record.graph_template;
    figures_->add(span);
    ++info_.timed;
    if (json_) json_->span(span);
    if (picture_) picture_->span(span);
}

// A time before which no further record will begin.
uint64_t Recorder::watermark(uint64_t now) {
    uint64_t mark = now - std::min(now, kLate);
    for (size_t i = 0, count = lane_count(); i < count; ++i)
        if (!lanes_[i]->pending.empty()) mark = std::min(mark, lanes_[i]->pending.front().begin);
    return mark;
}

void Recorder::sample(uint64_t now) {
    sampled_ = now;
    if (!json_) return;
    const Levels levels = source_->levels(runtime_);
    struct Series {
        const char *name, *unit;
        uint64_t value;
    };
    const Series series[] = {{"operations pending", "operations", levels.operations_pending},
                             {"operations held", "operations", levels.operations_held},
                             {"completions not drained", "entries", levels.completions_pending},
                             {"arenas in use", "bytes", levels.arena_in_use},
                             {"pools in use", "bytes", levels.pool_in_use},
                             {"pinned by pipelines", "bytes", levels.pipeline_pinned}};
    static_assert(std::size(series) == std::tuple_size_v<decltype(last_sample_)>);
    for (size_t i = 0; i < std::size(series); ++i)
        if (std::exchange(last_sample_[i], series[i].value) != series[i].value || now - start_ < kSamplePeriod)
            json_->counter(series[i].name, -1, now, series[i].unit, series[i].value);
}

void Recorder::watch_file() {
    if (!json_) return;
    info_.file_bytes = json_->file().bytes();
    if (json_->file().error() && !file_error_) report(json_->file().error());
}

void Recorder::report(const ErrorPtr& error) noexcept {
    if (!file_error_) file_error_ = error;
    try {
        log_.push_back(text("trace: ", error->message));
    } catch (const std::bad_alloc&) {
        // The status says it.
    }
}

void Recorder::end_session(uint64_t now) noexcept {
    end_ = now;
    size_t unfinished = 0;
    const size_t lanes = lane_count();
    for (size_t i = 0; i < lanes; ++i) {
        Lane& lane = *lanes_[i];
        unfinished += lane.pending.size();
        for (const Record& record : lane.pending) give_back(lane, record);
        lane.pending.clear();
    }
    const auto whole = [&](const std::string& path, Claim* claim, const auto& make) {
        if (path.empty()) return;
        try {
            write_whole(path, make(), claim, options_.alone);
        } catch (const Failure& failure) {
            report(failure.error());
        } catch (...) {
            report(bare_error(GPO_OUT_OF_MEMORY));
        }
    };
    try {
        if (json_) {
            json_->about("gpuorch", text("\"calls\":", info_.calls, ",\"operations\":", info_.operations,
                                         ",\"timed\":", info_.timed, ",\"callbacks\":", info_.callbacks,
                                         ",\"completions\":", info_.completions, ",\"unfinished\":", unfinished,
                                         ",\"dropped\":", info_.dropped, ",\"call_cost_ns\":", info_.call_cost_ns,
                                         ",\"operation_cost_ns\":", info_.operation_cost_ns,
                                         ",\"clock_error_ns\":", info_.clock_error_ns));
            json_->flush(true);
        }
    } catch (const std::bad_alloc&) {
        ++info_.dropped;
    }
    if (json_) {
        json_->close();
        try {
            watch_file();
        } catch (const std::bad_alloc&) {
            report(bare_error(GPO_OUT_OF_MEMORY));
        }
        json_.reset();
    }
    whole(options_.picture, picture_claim_.get(), [&] {
        Picture::About about;
        about.title = options_.title;
        about.start = start_;
        about.end = end_;
        about.figures = &figures_->devices();
        for (size_t i = 0; i < lanes; ++i) about.devices[lanes_[i]->gpu->ordinal()] = lanes_[i]->gpu->device_name();
        about.counts = info_;
        return picture_->draw(about);
    });
    picture_.reset();
    if (picture_claim_) picture_claim_->remove_unkept();
    picture_claim_ = nullptr;
    publish();
    whole(options_.summary, nullptr, [&] { return summary_text(published_); });
}

}  // namespace gpo::trace
