#include "trace/recorder.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/environment.h"
#include "core/runtime.h"
#include "device/device.h"
#include "metrics/metrics.h"
#include "stream/stream.h"

namespace gpo::trace {

namespace {

constexpr uint64_t kPeriod = 5'000'000, kIdlePeriod = 100'000'000;   // between two looks at the buffers
constexpr uint64_t kSamplePeriod = 10'000'000;
constexpr uint64_t kBaseAge = 1'000'000'000;
constexpr uint64_t kLate = 100'000'000;      // a record comes to its buffer's end at most this much after it began
constexpr size_t kPending = 65536;           // operations of a stream whose times are waited for
constexpr size_t kLanes = 4096;

host::Mutex g_list_lock;
constinit Recorder* g_list = nullptr;
constinit std::atomic<uint32_t> g_sessions{0}, g_from_environment{0};

std::string program_name() {
    return program_invocation_short_name && *program_invocation_short_name ? program_invocation_short_name : "program";
}

std::string milliseconds(uint64_t ns) {
    char out[32];
    std::snprintf(out, sizeof out, ns < 10'000'000 ? "%.3f ms" : "%.1f ms", static_cast<double>(ns) * 1e-6);
    return out;
}

std::string percent(uint64_t part, uint64_t whole) {
    char out[32];
    std::snprintf(out, sizeof out, "%.1f %%", whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0);
    return out;
}

std::string real(const char* format, double value) {
    char out[48];
    std::snprintf(out, sizeof out, format, value);
    return out;
}

}  // namespace

Recorder::Recorder(Runtime& runtime) : runtime_(runtime) {
    std::lock_guard lock(g_list_lock);
    next_ = std::exchange(g_list, this);
}

Recorder::~Recorder() {
    std::lock_guard lock(g_list_lock);
    Recorder** at = &g_list;
    while (*at != this) at = &(*at)->next_;
    *at = next_;
}

// Under g_list_lock.
Recorder* Recorder::find(uint32_t tag) noexcept {
    for (Recorder* recorder = g_list; recorder; recorder = recorder->next_)
        if (recorder->runtime_.tag() == tag && recorder->running()) return recorder;
    return nullptr;
}

Ref<Buffer> Recorder::make_buffer(uint32_t tag) noexcept {
    std::lock_guard list_lock(g_list_lock);
    Recorder* recorder = find(tag);
    if (!recorder) return nullptr;
    std::lock_guard lock(recorder->buffers_lock_);
    try {
        recorder->buffers_.reserve(recorder->buffers_.size() + 1);
        Ref<Buffer> made = make<Buffer>(tag);
        recorder->buffers_.push_back(made);
        return made;
    } catch (const std::bad_alloc&) {
        ++recorder->lost_;
        return nullptr;
    }
}

void Recorder::wake_of(uint32_t tag) noexcept {
    std::lock_guard lock(g_list_lock);
    Recorder* recorder = find(tag);
    if (!recorder) return;
    recorder->signal_.fetch_add(1, std::memory_order_seq_cst);
    host::wake_one(recorder->signal_);
}

// --- beginning and ending ---

void Recorder::start(const Options& options) {
    if (!change(idle)) fail(GPO_INVALID_STATE, "the runtime is being traced already");
    bool file_made = false;
    try {
        begin_session(options, &file_made);
    } catch (...) {
        json_.reset();
        if (file_made) unlink(options.path.c_str());
        state_.store(idle, std::memory_order_release);
        throw;
    }
    session_.store(g_sessions.fetch_add(1) + 1, std::memory_order_relaxed);
    state_.store(recording, std::memory_order_release);
    detail::watchers.fetch_add(1, std::memory_order_seq_cst);
}

void Recorder::begin_session(const Options& options, bool* file_made) {
    give_back_leftovers();
    options_ = options;
    if (options_.title.empty()) options_.title = program_name();
    start_ = host::now();
    for (const std::string& path : {options_.picture, options_.summary})
        if (!path.empty()) check_writable(path);
    json_ = nullptr;
    if (!options_.path.empty()) {
        json_ = std::make_unique<Json>(options_.path, start_, program_name());
        *file_made = true;
    }
    const auto contexts = runtime_.contexts();
    {
        std::lock_guard lanes(lanes_lock_);
        lanes_.clear();
        clocks_.clear();
    }
    end_ = sampled_ = dropped_ = 0;
    figures_ = std::make_unique<Figures>([this](int device, uint64_t at, uint64_t bytes, uint64_t operations) {
        if (json_) json_->on_the_way(device, at, bytes, operations);
    });
    picture_ = options_.picture.empty() ? nullptr : std::make_unique<Picture>();
    threads_.clear();
    serialising_.clear();
    info_ = {};
    info_.call_cost_ns = measure_call_cost();
    file_error_ = nullptr;
    last_sample_ = {};
    {
        std::lock_guard lock(buffers_lock_);
        lost_ = 0;
    }
    gpu_times_.store(options.gpu_times, std::memory_order_relaxed);
    for (const auto& context : contexts) add_context(*context);
    publish();
    stopping_.store(false);
    thread_ = host::Thread("gpo-trace", [this] { run(); });
}

void Recorder::stop() {
    if (!change(recording)) fail(GPO_INVALID_STATE, "the runtime is not being traced");
    detail::watchers.fetch_sub(1, std::memory_order_seq_cst);
    stopping_.store(true, std::memory_order_seq_cst);
    signal_.fetch_add(1, std::memory_order_seq_cst);
    host::wake_one(signal_);
    thread_.join();
    const ErrorPtr error = file_error_;
    state_.store(idle, std::memory_order_release);
    if (error) throw Failure(error);
}

void Recorder::finish() noexcept {
    for (unsigned spins = 0; !change(idle); ++spins) {  // another thread may be in start or stop
        try {
            if (running()) stop();
        } catch (...) {
            // Logged when it happened; or another thread stops it.
        }
        host::step(spins);
    }
    give_back_leftovers();
    // For good: nobody starts a trace of a runtime that is shut down.
}

// What threads pushed that were inside a call when the session ended.
void Recorder::give_back_leftovers() noexcept {
    std::vector<Ref<Buffer>> buffers;
    {
        std::lock_guard lock(buffers_lock_);
        buffers.swap(buffers_);
    }
    for (const auto& buffer : buffers) {
        buffer->open.store(false, std::memory_order_release);
        Record record;
        while (buffer->pop(record))
            if (record.gpu_end && record.lane && record.lane <= lanes_.size()) give_back(lanes_[record.lane - 1], record);
    }
    // Clocks call the driver as they go: not under the lock.
    std::vector<std::unique_ptr<GpuClock>> clocks;
    std::lock_guard lock(lanes_lock_);
    lanes_.clear();   // and no deque to swap with: even an empty one takes memory
    clocks.swap(clocks_);
}

void Recorder::start_from_environment(Runtime& runtime) noexcept {
    const char* value = environment::get("GPUORCH_TRACE");
    if (!value || !*value) return;
    try {
        Options options;
        std::string path = value, suffix;
        if (const uint32_t before = g_from_environment.fetch_add(1)) suffix = text("-", before + 1);
        const auto numbered = [&](const std::string& name) {
            const size_t base = name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1;
            const size_t dot = name.find('.', base + 1);
            return dot == std::string::npos ? name + suffix : name.substr(0, dot) + suffix + name.substr(dot);
        };
        struct stat status;
        const bool folder = stat(value, &status) == 0 && S_ISDIR(status.st_mode);
        if (folder || path.ends_with('/')) {
            if (!path.ends_with('/')) path += '/';
            if (!folder) mkdir(path.c_str(), 0777);  // what can't be made is told by the files in it
            options.path = numbered(path + "trace.json");
            options.picture = numbered(path + "timeline.svg");
            options.summary = numbered(path + "summary.txt");
        } else {
            (path.ends_with(".svg") ? options.picture : options.path) = numbered(path);
        }
        runtime.make_recorder().start(options);
    } catch (const Failure& failure) {
        runtime.log(GPO_LOG_WARNING, "GPUORCH_TRACE: nothing is traced: ", failure.error()->sentence());
    } catch (const std::exception& error) {
        runtime.log(GPO_LOG_WARNING, "GPUORCH_TRACE: nothing is traced: ", error.what());
    }
}

uint64_t Recorder::measure_call_cost() const noexcept {
    constexpr int kCalls = 256;
    try {
        Buffer buffer(0);
        Record record;
        record.name = "";
        const uint64_t begin = host::now();
        for (int i = 0; i < kCalls; ++i) {
            record.begin = host::now();
            record.end = host::now();
            buffer.push(record);
        }
        return (host::now() - begin) / kCalls;
    } catch (const std::bad_alloc&) {
        return 0;
    }
}

void Recorder::add_context(Context& context) noexcept {
    if (!gpu_times()) return;
    try {
        auto clock = std::make_unique<GpuClock>(Ref<Context>(&context));
        if (!clock->adjust(0)) return;
        std::lock_guard lock(lanes_lock_);
        clocks_.push_back(std::move(clock));
    } catch (const std::bad_alloc&) {
        // Its operations have no times.
    }
}

uint32_t Recorder::add_lane(const Stream& stream) noexcept {
    std::lock_guard lock(lanes_lock_);
    try {
        if (lanes_.size() == kLanes) return 0;
        Lane lane;
        lane.context = stream.context_ref();
        for (const auto& clock : clocks_)
            if (&clock->context() == &stream.context()) lane.clock = clock.get();
        lane.name = *stream.label() ? std::string(stream.label()) : text("stream ", lanes_.size() + 1);
        lane.kept_name = runtime_.intern(lane.name);
        const uint32_t timed = lane.clock ? 0 : kUntimed;
        lanes_.push_back(std::move(lane));
        return static_cast<uint32_t>(lanes_.size()) | timed;
    } catch (const std::bad_alloc&) {
        return 0;
    }
}

// --- the writer ---

void Recorder::run() noexcept {
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
    try {
        std::vector<Ref<Buffer>> buffers;
        {
            std::lock_guard lock(buffers_lock_);
            buffers = buffers_;
        }
        for (const auto& buffer : buffers) {
            if (last) buffer->open.store(false, std::memory_order_release);
            take(*buffer);
        }
        announce_lanes();
        std::vector<GpuClock*> clocks;
        size_t lanes;
        {
            std::lock_guard lock(lanes_lock_);
            for (const auto& clock : clocks_) clocks.push_back(clock.get());
            lanes = lanes_.size();
        }
        for (GpuClock* clock : clocks) {
            const bool waited_for = std::any_of(lanes_.begin(), lanes_.begin() + static_cast<std::ptrdiff_t>(lanes),
                                                [&](const Lane& lane) { return lane.clock == clock && !lane.pending.empty(); });
            if (waited_for) clock->adjust(kBaseAge);
            info_.clock_error_ns = std::max(info_.clock_error_ns, clock->error());
            info_.operation_cost_ns = std::max(info_.operation_cost_ns, info_.call_cost_ns + clock->record_cost());
        }
        for (size_t i = 0; i < lanes; ++i) resolve(lanes_[i], static_cast<uint32_t>(i + 1));
        figures_->settle(last ? UINT64_MAX : watermark(now));
        if (last || now - sampled_ >= kSamplePeriod) sample(now);
        if (json_) json_->flush(last);
        watch_file();
    } catch (...) {
        ++dropped_;  // no memory, or a driver that doesn't answer
    }
    // Threads that have gone leave their buffers to us alone.
    {
        std::lock_guard lock(buffers_lock_);
        info_.dropped = dropped_ + lost_;
        std::erase_if(buffers_, [&](Ref<Buffer>& buffer) {
            info_.dropped += buffer->dropped();
            if (last || buffer->open.load(std::memory_order_acquire) == false || !buffer->only()) return false;
            dropped_ += buffer->dropped();
            threads_.erase(buffer.get());
            return true;
        });
    }
    if (last) end_session(now);
    publish();
    // The user's code, under no lock.
    for (const std::string& line : std::exchange(log_, {})) runtime_.log(GPO_LOG_ERROR, line);
}

void Recorder::publish() noexcept {
    try {
        Published now;
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
        // What was known before stays.
    }
}

void Recorder::take(Buffer& buffer) {
    Record record;
    while (buffer.pop(record)) {
        if (threads_.try_emplace(&buffer, 0).second) {
            if (json_) json_->thread(buffer.thread, buffer.thread_name);
            if (picture_) picture_->thread(buffer.thread, buffer.thread_name);
        }
        note(buffer, record);
        if (json_) json_->flush(false);
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
                Lane& lane = lanes_[record.lane - 1];
                // Threads that share a stream have buffers of their own: put in order what comes out of it.
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
            ++info_.completions;
            if (json_) json_->completion(buffer.thread, record);
            if (picture_) picture_->completion(record);
            break;
        case Kind::held:
            announce_lanes();
            if (json_ && record.lane) {
                Record named = record;
                named.label = lanes_[record.lane - 1].kept_name;
                json_->held(lanes_[record.lane - 1].context->ordinal(), named);
            }
            if (picture_) picture_->held(record);
            break;
        case Kind::serialising:
            ++serialising_[record.name];
            if (json_) json_->serialising(buffer.thread, record);
            if (picture_) picture_->serialising(buffer.thread, record);
            break;
    }
}

void Recorder::announce_lanes() {
    size_t lanes;
    {
        std::lock_guard lock(lanes_lock_);
        lanes = lanes_.size();
    }
    for (size_t i = 0; i < lanes; ++i) {
        Lane& lane = lanes_[i];
        if (std::exchange(lane.announced, true)) continue;
        const int device = lane.context->ordinal();
        if (json_) {
            json_->device(device, device_properties(lane.context->driver(), device).name);
            json_->lane(static_cast<uint32_t>(i + 1), device, lane.name);
        }
        if (picture_) picture_->lane(static_cast<uint32_t>(i + 1), device, lane.name);
    }
}

void Recorder::give_back(Lane& lane, const Record& record) noexcept {
    if (lane.context->lost()) return;
    CUevent events[] = {record.gpu_begin, record.gpu_end};
    lane.context->give_events(true, events, 2);
}

void Recorder::resolve(Lane& lane, uint32_t number) {
    if (lane.pending.empty()) return;
    DriverTry scope(*lane.context);
    std::vector<CUevent> done;
    done.reserve(2 * lane.pending.size());
    while (!lane.pending.empty()) {
        const Record& record = lane.pending.front();
        uint64_t begin = 0, end = 0;
        CUresult result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
        if (scope.entered()) {
            result = lane.clock->time_of(record.gpu_end, record.begin, &end);
            if (result == CUDA_ERROR_NOT_READY) break;
            if (result == CUDA_SUCCESS) result = lane.clock->time_of(record.gpu_begin, record.begin, &begin);
            done.push_back(record.gpu_begin);
            done.push_back(record.gpu_end);
        }
        if (result == CUDA_SUCCESS) {
            // The clocks agree to some microseconds only: order is kept.
            begin = std::max({begin, record.begin, lane.last_end});
            end = std::max(end, begin);
            lane.last_end = end;
            show(lane, number, record, begin, end);
        }
        lane.pending.pop_front();
    }
    if (!done.empty() && !lane.context->lost()) lane.context->give_events(true, done.data(), done.size());
}

void Recorder::show(Lane& lane, uint32_t number, const Record& record, uint64_t begin, uint64_t end) {
    Span span;
    span.engine = record.engine;
    span.device = lane.context->ordinal();
    span.lane = number;
    span.kind = record.name;
    span.label = record.label;
    span.stream = lane.kept_name;
    span.submitted = record.begin;
    span.begin = begin;
    span.end = end;
    span.bytes = record.bytes;
    span.number = record.number;
    ++info_.timed;
    if (json_) json_->span(span);
    figures_->add(span);
    if (picture_) picture_->span(span);
}

// No record that began before this is still to come.
uint64_t Recorder::watermark(uint64_t now) {
    uint64_t mark = now - std::min(now, kLate);
    std::lock_guard lock(lanes_lock_);
    for (const Lane& lane : lanes_)
        if (!lane.pending.empty()) mark = std::min(mark, lane.pending.front().begin);
    return mark;
}

void Recorder::sample(uint64_t now) {
    sampled_ = now;
    if (!json_) return;
    const gpo_metrics metrics = metrics::of_runtime(runtime_);
    struct Series { const char *name, *unit; uint64_t value; };
    const Series series[] = {{"operations pending", "operations", metrics.operations_pending},
                             {"operations held", "operations", metrics.operations_held},
                             {"completions not drained", "entries", metrics.completions_pending},
                             {"arenas in use", "bytes", metrics.arena_in_use},
                             {"pools in use", "bytes", metrics.pool_in_use}};
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
    {
        std::lock_guard lock(lanes_lock_);
        for (Lane& lane : lanes_) {
            unfinished += lane.pending.size();
            for (const Record& record : lane.pending) give_back(lane, record);
            lane.pending.clear();
        }
    }
    const auto whole = [&](const std::string& path, const auto& make) {
        if (path.empty()) return;
        try {
            write_whole(path, make());
        } catch (const Failure& failure) {
            report(failure.error());
        } catch (...) {
            report(bare_error(GPO_OUT_OF_MEMORY));
        }
    };
    try {
        if (json_) {
            json_->about("gpuorch", text("\"calls\":", info_.calls, ",\"operations\":", info_.operations, ",\"timed\":",
                                         info_.timed, ",\"unfinished\":", unfinished, ",\"dropped\":", info_.dropped,
                                         ",\"call_cost_ns\":", info_.call_cost_ns, ",\"operation_cost_ns\":",
                                         info_.operation_cost_ns, ",\"clock_error_ns\":", info_.clock_error_ns));
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
    whole(options_.picture, [&] {
        Picture::About about;
        about.title = options_.title;
        about.start = start_;
        about.end = end_;
        about.figures = &figures_->devices();
        {
            std::lock_guard lock(lanes_lock_);
            for (const Lane& lane : lanes_)
                about.devices[lane.context->ordinal()] =
                    device_properties(lane.context->driver(), lane.context->ordinal()).name;
        }
        about.operations = info_.timed;
        about.dropped = info_.dropped;
        return picture_->draw(about);
    });
    picture_.reset();
    publish();
    whole(options_.summary, [&] { return summary_text(published_); });
}

// --- what was seen ---

gpo_trace_info Recorder::info() {
    std::lock_guard lock(published_lock_);
    gpo_trace_info out = published_.info;
    out.running = running();
    return out;
}

std::string Recorder::summary() {
    Published about;
    {
        std::lock_guard lock(published_lock_);
        about = published_;
    }
    return summary_text(about);
}

std::string Recorder::summary_text(const Published& about) {
    const gpo_trace_info& info = about.info;
    const uint64_t time = (about.end ? about.end : host::now()) - about.start;
    std::string out = text("trace of ", about.title, ": ", milliseconds(time), ", ", info.calls, " calls, ", info.operations,
                           " operations, ", info.completions, " completions\n");
    for (const auto& [number, device] : about.devices) {
        const uint64_t span = device.end - device.begin;
        out += text("GPU ", number, ": some engine worked ", percent(device.any, span), " of the ", milliseconds(span),
                    " from the first operation to the last\n");
        for (size_t i = 1; i < kEngines; ++i) {
            const auto& engine = device.engines[i];
            if (engine.spans == 0) continue;
            std::string name = engine_name(static_cast<Engine>(i));
            name.resize(16, ' ');
            out += text("  ", name, percent(engine.busy, span), " busy, ", engine.spans, engine.spans == 1 ? " span" : " spans");
            if (engine.bytes)
                out += text(", ", real("%.3f GB", static_cast<double>(engine.bytes) * 1e-9), " at ",
                            real("%.2f GB/s", static_cast<double>(engine.bytes) / static_cast<double>(std::max<uint64_t>(engine.busy, 1))));
            out += '\n';
        }
        if (device.copying) out += text("  ", percent(device.hidden, device.copying), " of the copying was hidden behind other work\n");
        for (const Gap& gap : device.gaps)
            out += text("  gap of ", milliseconds(gap.end - gap.begin), " at ", milliseconds(gap.begin - about.start), ", after ",
                        gap.before, ", before ", gap.after, "\n");
    }
    for (const auto& [what, count] : about.serialising) out += text("serialising: ", count, " x ", what, "\n");
    const uint64_t cost = info.calls * info.call_cost_ns + info.timed * info.operation_cost_ns;
    out += text("recording took the host's threads about ", percent(cost, time), ": ", info.call_cost_ns, " ns a call");
    if (info.operation_cost_ns)
        out += text(", ", info.operation_cost_ns, " ns an operation; GPU times are right to ", info.clock_error_ns, " ns");
    out += info.dropped ? text("; ", info.dropped, " records were lost\n") : "\n";
    return out;
}

}  // namespace gpo::trace
