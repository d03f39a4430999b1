#include "trace/recorder/recorder.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/environment.h"

namespace gpo::trace {

namespace {

constinit std::atomic<uint32_t> g_sessions{0}, g_from_environment{0};
// The first claim for GPUORCH_TRACE, which this process holds until it ends. Because of this claim, other processes
// with the same GPUORCH_TRACE choose names of another form.
constinit std::atomic<Claim*> g_place{nullptr};
constinit std::atomic<uint32_t> g_form{0};  // of file names: 0 plain, 1 with the process id, 2 with id and time

std::string program_name() {
    return program_invocation_short_name && *program_invocation_short_name ? program_invocation_short_name : "program";
}

std::string absolute(const std::string& path) {
    if (path.empty() || path.starts_with('/')) return path;
    std::error_code error;
    const std::string folder = std::filesystem::current_path(error);
    if (error) fail_errno(GPO_IO_ERROR, error.value(), text(path, " can't be written"));
    return text(folder, "/", path);
}

/// Whether other users may write to the folder: they could create files with the expected names, and read our traces.
bool is_shared(const char* value) {
    struct stat status;
    return stat(value, &status) == 0 && S_ISDIR(status.st_mode) && (status.st_mode & (S_IWGRP | S_IWOTH));
}

/// The meaning of GPUORCH_TRACE's value. `added` goes before the endings of names.
Options named_by(const char* value, const std::string& added) {
    Options options;
    options.of_environment = true;
    std::string path = value;
    const auto name = [&](const std::string& plain) {
        const size_t base = plain.rfind('/') == std::string::npos ? 0 : plain.rfind('/') + 1;
        const size_t dot = plain.find('.', base + 1);
        return dot == std::string::npos ? plain + added : plain.substr(0, dot) + added + plain.substr(dot);
    };
    struct stat status;
    const bool folder = stat(value, &status) == 0 && S_ISDIR(status.st_mode);
    options.alone = is_shared(value);
    if (folder || path.ends_with('/')) {
        if (!path.ends_with('/')) path += '/';
        options.path = name(path + "trace.json");
        options.picture = name(path + "timeline.svg");
        options.summary = name(path + "summary.txt");
        options.one_claim = true;
    } else {
        (path.ends_with(".svg") ? options.picture : options.path) = name(path);
    }
    return options;
}

void report_untraced(Runtime& runtime, std::string_view why) noexcept {
    try {
        runtime.log_and_print(GPO_LOG_WARNING, text("GPUORCH_TRACE: nothing is traced: ", why).c_str());
    } catch (const std::bad_alloc&) {
        runtime.log_and_print(GPO_LOG_WARNING, "GPUORCH_TRACE: nothing is traced: out of memory");
    }
}

}  // namespace

Recorder::Recorder(Runtime& runtime) : Collector(runtime.tag()), runtime_(runtime) { enlist(); }

Recorder::~Recorder() { delist(); }

Ref<Buffer> Recorder::make_buffer() noexcept {
    std::lock_guard lock(buffers_lock_);
    try {
        buffers_.reserve(buffers_.size() + 1);
        Ref<Buffer> made = make<Buffer>(tag);
        buffers_.push_back(made);
        return made;
    } catch (const std::bad_alloc&) {
        ++lost_;
        return nullptr;
    }
}

void Recorder::wake() noexcept {
    signal_.fetch_add(1, std::memory_order_seq_cst);
    host::wake_one(signal_);
}

// --- beginning and ending ---

Ref<Claim> Recorder::start(const Options& options, const Source& source) {
    if (!change(idle)) {
        if (runtime_.shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
        fail(GPO_INVALID_STATE, "the runtime is being traced already");
    }
    source_ = &source;
    std::vector<std::string> made;
    Ref<Claim> claim;
    try {
        claim = begin_session(options, made);
    } catch (...) {
        json_.reset();
        picture_claim_ = nullptr;
        for (const std::string& folder : made) rmdir(folder.c_str());
        state_.store(idle, std::memory_order_release);
        throw;
    }
    session_.store(g_sessions.fetch_add(1) + 1, std::memory_order_relaxed);
    state_.store(recording, std::memory_order_release);
    add_watcher();
    return claim;
}

Ref<Claim> Recorder::begin_session(const Options& options, std::vector<std::string>& made) {
    give_back_leftovers();
    options_ = options;
    if (options_.title.empty()) options_.title = program_name();
    // Make paths absolute, because the program may change its working directory before the trace ends.
    for (std::string* path : {&options_.path, &options_.picture, &options_.summary}) *path = absolute(*path);
    start_ = host::now();
    for (const std::string& path : {options_.path, options_.picture, options_.summary}) {
        std::string folder = path.substr(0, path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
        made.reserve(made.size() + 1);
        // If a folder can't be made, its files fail to open.
        if (!folder.empty() && mkdir(folder.c_str(), 0777) == 0) made.push_back(std::move(folder));
    }
    const bool claimed = !options_.picture.empty() && !options_.one_claim;
    picture_claim_ = claimed ? make<Claim>(options_.picture, options_.alone) : nullptr;
    if (!options_.picture.empty()) check_writable(options_.picture, picture_claim_.get());
    if (!options_.summary.empty()) check_writable(options_.summary);
    json_ = nullptr;
    if (!options_.path.empty()) json_ = std::make_unique<Json>(options_.path, start_, program_name(), options_.alone);
    const auto gpus = source_->gpus(runtime_);
    {
        std::lock_guard lanes(lanes_lock_);
        lanes_.clear();
        lanes_.reserve(kLanes);
        clocks_.clear();
    }
    end_ = sampled_ = resolved_ = written_ = dropped_ = 0;
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
    for (const auto& gpu : gpus) add_gpu(*gpu);
    publish();
    stopping_.store(false);
    Ref<Claim> claim = json_ ? json_->file().claim() : picture_claim_;
    thread_ = host::Thread("gpo-trace", [this] { run(); });
    return claim;
}

void Recorder::stop() {
    if (Runtime::in_callback_of(this)) fail(GPO_WOULD_DEADLOCK, "the thread that writes the trace can't end it");
    if (!change(recording)) fail(GPO_INVALID_STATE, "the runtime is not being traced");
    remove_watcher();
    stopping_.store(true, std::memory_order_seq_cst);
    wake();
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
    // The state stays `changing`, so that no trace starts after the shutdown.
}

// Discards records of calls that were under way when the session ended, and returns their events.
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
            if (record.gpu_end && record.lane && record.lane <= lanes_.size())
                give_back(*lanes_[record.lane - 1], record);
    }
    // The destructors of clocks call the driver: run them after the lock is released.
    std::vector<Clocked> clocks;
    std::lock_guard lock(lanes_lock_);
    lanes_.clear();
    clocks.swap(clocks_);
}

void Recorder::start_from_environment(Runtime& runtime, const Source& source) noexcept {
    const char* value = environment::get("GPUORCH_TRACE");
    if (!value || !*value || environment::is_a_switch(value)) return;
    try {
        const uint32_t number = g_from_environment.fetch_add(1) + 1;
        const std::string counted = number > 1 ? text("-", number) : "";
        const bool shared = is_shared(value);
        for (uint32_t form = std::max(g_form.load(), uint32_t{shared});; ++form) {
            // Processes of different containers may have the same id and share a folder. The time distinguishes them.
            const std::string process =
                form == 0 ? "" : form == 1 ? text("-", getpid()) : text("-", getpid(), "-", host::now());
            const Options options = named_by(value, process + counted);
            try {
                Ref<Claim> claim = runtime.annex<Recorder>().start(options, source);
                Claim* none = nullptr;
                if (claim && claim->regular() && g_place.compare_exchange_strong(none, claim.get())) {
                    static_cast<void>(claim.leak());
                    g_form.store(form);
                }
            } catch (const Failure& failure) {
                if (form == 2 || !Claim::is_taken(*failure.error())) throw;
                continue;
            }
            if (form != 0)
                runtime.log(GPO_LOG_INFO, "GPUORCH_TRACE: ",
                            shared ? "other users may write to " : "another process traces to ", value,
                            ": this process's trace is ", options.path.empty() ? options.picture : options.path);
            return;
        }
    } catch (const Failure& failure) {
        report_untraced(runtime, failure.error()->sentence());
    } catch (const std::exception& error) {
        report_untraced(runtime, error.what());
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

void Recorder::add_gpu(Gpu& gpu) noexcept {
    if (!gpu_times()) return;
    try {
        Clocked clocked{Ref<Gpu>(&gpu), gpu.make_clock()};
        if (!clocked.clock->adjust(0)) return;
        std::lock_guard lock(lanes_lock_);
        clocks_.push_back(std::move(clocked));
    } catch (const std::bad_alloc&) {
        // This GPU's operations have no times.
    }
}

uint32_t Recorder::add_lane(Gpu& gpu, const char* label) noexcept {
    std::lock_guard lock(lanes_lock_);
    try {
        if (lanes_.size() == kLanes) return 0;
        auto made = std::make_unique<Lane>();
        Lane& lane = *made;
        lane.gpu = Ref<Gpu>(&gpu);
        for (const auto& clocked : clocks_)
            if (clocked.gpu.get() == &gpu) lane.clock = clocked.clock.get();
        lane.name = *label ? std::string(label) : text("stream ", lanes_.size() + 1);
        lane.kept_name = runtime_.intern(lane.name);
        const uint32_t timed = lane.clock ? 0 : kUntimed;
        lanes_.push_back(std::move(made));
        return static_cast<uint32_t>(lanes_.size()) | timed;
    } catch (const std::bad_alloc&) {
        return 0;
    }
}

// --- what was seen ---

gpo_trace_info Recorder::info() {
    std::lock_guard lock(published_lock_);
    gpo_trace_info out = published_.info;
    out.running = running();
    return out;
}

std::string Recorder::summary() {
    Summary about;
    {
        std::lock_guard lock(published_lock_);
        about = published_;
    }
    return summary_text(about);
}

}  // namespace gpo::trace
