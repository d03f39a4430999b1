#include "trace/report/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "core/error.h"
#include "trace/report/json_line.h"

namespace gpo::trace {

namespace {

constexpr size_t kLongestLine = 1 << 16, kMostOperations = 1 << 22, kMostLines = 1 << 26;
constexpr size_t kLongestText = 255;  // bytes of a name that are kept
constexpr uint64_t kHostProcess = 1, kFirstDevice = 100, kMostDevices = 4096;
constexpr uint64_t kLanes = 1'000'000;  // a device's threads from this number on show held streams

/// The lines of a file, unpacked.
class Lines {
public:
    explicit Lines(const std::string& path) : path_(path) {
        const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (descriptor < 0)
            fail_errno(errno == ENOENT ? GPO_NOT_FOUND : GPO_IO_ERROR, errno, text("trace file ", path));
        struct stat about {};
        if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
            close(descriptor);
            fail(GPO_IO_ERROR, "trace file ", path, " is no regular file");
        }
        file_.reset(gzdopen(descriptor, "rb"));
        if (file_) return;
        close(descriptor);
        throw std::bad_alloc();
    }

    /// The next line, without its end. Nothing at the end of the file.
    std::optional<std::string_view> next() {
        line_.clear();
        ++number_;
        if (number_ > kMostLines)
            fail(GPO_LIMIT_EXCEEDED, "trace file ", path_, " has more than ", kMostLines, " lines");
        for (;;) {
            const size_t end = std::min(room_.find('\n', at_), filled_);
            line_.append(room_, at_, end - at_);
            if (line_.size() > kLongestLine) refuse("is too long");
            at_ = end + 1;
            if (end < filled_) return line_;
            if (!fill()) break;
        }
        ended_within_ = !line_.empty();
        if (line_.empty()) return {};
        return line_;
    }
    /// The newest line had no end.
    bool ended_within() const noexcept { return ended_within_; }
    /// The packed data ended early.
    bool cut() const noexcept { return cut_; }
    [[noreturn]] void refuse(std::string_view why) const {
        fail(GPO_INVALID_ARGUMENT, "trace file ", path_, ", line ", number_, ": ", why);
    }

private:
    bool fill() {
        at_ = filled_ = 0;
        const int got = gzread(file_.get(), room_.data(), static_cast<unsigned>(room_.size()));
        int error = Z_OK;
        gzerror(file_.get(), &error);
        if (got > 0) filled_ = static_cast<size_t>(got);
        if (error == Z_OK || error == Z_STREAM_END) return got > 0;
        if (error == Z_BUF_ERROR) {
            cut_ = true;
            return got > 0;
        }
        if (error == Z_ERRNO) fail_errno(GPO_IO_ERROR, errno, text("trace file ", path_));
        if (error == Z_MEM_ERROR) throw std::bad_alloc();
        refuse("the gzipped data is damaged");
    }

    struct Close {
        void operator()(gzFile file) const noexcept { gzclose(file); }
    };
    const std::string path_;
    std::unique_ptr<gzFile_s, Close> file_;
    std::string room_ = std::string(1 << 16, '\0'), line_;
    size_t at_ = 0, filled_ = 0;
    uint64_t number_ = 0;
    bool ended_within_ = false, cut_ = false;
};

bool starts(std::string_view name, std::initializer_list<std::string_view> beginnings) noexcept {
    return std::any_of(beginnings.begin(), beginnings.end(),
                       [&](std::string_view beginning) { return name.starts_with(beginning); });
}

TraceRead::Doing doing_of(std::string_view call) noexcept {
    if (call.ends_with("_wait") || call.ends_with("_query") || starts(call, {"gpo_executor_run", "gpo_cq_drain"}))
        return TraceRead::Doing::waiting;
    if (call.ends_with("_create") || call.ends_with("_destroy")) return TraceRead::Doing::calling;
    if (call.ends_with("_launch") || starts(call, {"gpo_stream_", "gpo_event_record", "gpo_copy", "gpo_fill"}))
        return TraceRead::Doing::launching;
    return TraceRead::Doing::calling;
}

class TraceReader {
public:
    explicit TraceReader(const std::string& path) : lines_(path) {}

    TraceRead read() {
        begin();
        bool ended = false;
        while (const auto line = lines_.next()) {
            if (ended) lines_.refuse("comes behind the end");
            ended = *line == "]";
            if (ended || event(*line)) continue;
            // A process that is killed leaves the beginning of a line.
            if (!lines_.ended_within() && !lines_.cut()) lines_.refuse("is no event of a trace of libgpuorch");
            break;
        }
        out_.whole = ended && end_read_ && !lines_.cut();
        std::sort(out_.spans.begin(), out_.spans.end(),
                  [](const Span& a, const Span& b) { return a.submitted < b.submitted; });
        return std::move(out_);
    }

private:
    void begin() {
        const auto opening = lines_.next();
        if (!opening || *opening != "[") lines_.refuse("a trace of libgpuorch begins with \"[\"");
        const auto line = lines_.next();
        if (!line) lines_.refuse("the trace is empty");
        const std::string_view host = "host: ";
        if (!parse(*line) || json_.string("name") != "process_name" || !json_.string("args.name").starts_with(host))
            lines_.refuse("this is no trace of libgpuorch");
        out_.program = cut_text(json_.string("args.name").substr(host.size()));
    }

    bool parse(std::string_view line) {
        if (line.ends_with(',')) line.remove_suffix(1);
        return json_.parse(line);
    }
    /// Texts may go to a terminal, which control characters could steer.
    static std::string cut_text(std::string_view text) {
        std::string out(text.substr(0, kLongestText));
        std::replace_if(out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
        return out;
    }
    const char* keep(std::string_view text) { return out_.texts.insert(cut_text(text)).first->c_str(); }

    /// False if the line isn't an event.
    bool event(std::string_view line) {
        if (!parse(line)) return false;
        const std::string_view phase = json_.string("ph");
        if (phase == "M") return about();
        const auto process = json_.number("pid"), at = json_.time("ts");
        if (phase.size() != 1 || !process || !at) return false;
        out_.end = std::max(out_.end, *at);
        if (phase == "s") return *process != kHostProcess || arrow(*at);
        if (phase != "X" && phase != "i") return phase == "C" || phase == "f";
        const auto took = phase == "i" ? std::optional<uint64_t>(0) : json_.time("dur");
        if (!took) return false;
        out_.end = std::max(out_.end, *at + *took);
        if (*process == kHostProcess) return on_host(*at, *at + *took);
        if (*process < kFirstDevice || *process - kFirstDevice >= kMostDevices) return false;
        return on_device(static_cast<int>(*process - kFirstDevice), *at, *at + *took);
    }

    bool about() {
        const auto process = json_.number("pid");
        if (!process) return false;
        const std::string_view what = json_.string("name");
        if (what == "gpuorch") {
            end_read_ = true;
            out_.dropped = json_.number("args.dropped").value_or(0);
            out_.call_cost = json_.number("args.call_cost_ns").value_or(0);
            out_.operation_cost = json_.number("args.operation_cost_ns").value_or(0);
        }
        if (*process < kFirstDevice) return true;
        if (*process - kFirstDevice >= kMostDevices) return false;
        const auto device = static_cast<int>(*process - kFirstDevice);
        if (what == "process_name") out_.devices[device] = cut_text(json_.string("args.name"));
        const auto lane = json_.number("tid");
        if (what == "thread_name" && lane && *lane < kLanes && lanes_.size() < kLanes)
            lanes_[static_cast<uint32_t>(*lane)] = keep(json_.string("args.name"));
        return true;
    }

    static constexpr uint64_t key(uint64_t lane, uint64_t number) noexcept { return lane << 40 ^ number; }

    /// From a submission to its span, which comes later: "lane.number".
    bool arrow(uint64_t at) {
        if (json_.string("cat") != "submit") return true;
        const std::string_view id = json_.string("id");
        const size_t point = id.find('.');
        if (point == std::string_view::npos) return false;
        const auto lane = to_number(id.substr(0, point)), number = to_number(id.substr(point + 1));
        if (!lane || !number) return false;
        if (submitted_.size() > kMostOperations) too_many();
        submitted_[key(*lane, *number)] = at;
        return true;
    }

    static std::optional<uint64_t> to_number(std::string_view digits) noexcept {
        uint64_t value = 0;
        for (const char c : digits) {
            if (c < '0' || c > '9' || value > UINT64_MAX / 10 - 9) return {};
            value = value * 10 + static_cast<uint64_t>(c - '0');
        }
        return digits.empty() ? std::nullopt : std::optional(value);
    }

    bool on_host(uint64_t begin, uint64_t end) {
        const std::string_view kind = json_.string("cat"), name = json_.string("name");
        if (kind == "serialising") {
            const std::string_view prefix = "serialising: ";
            if (out_.serialised.size() < 64)
                ++out_.serialised[cut_text(name.substr(std::min(prefix.size(), name.size())))];
            return add_host({TraceRead::Doing::serialising, begin, end});
        }
        if (kind == "submit") return add_host({TraceRead::Doing::launching, begin, end});
        if (kind != "call") return true;
        if (name == "gpo_stream_launch_kernel") {
            ++out_.launches;
            out_.launch_time += end - begin;
        }
        return add_host({doing_of(name), begin, end});
    }
    bool add_host(const TraceRead::HostSpan& span) {
        if (out_.host.size() > 4 * kMostOperations) too_many();
        if (span.end > span.begin) out_.host.push_back(span);
        return true;
    }

    bool on_device(int device, uint64_t begin, uint64_t end) {
        const std::string_view kind = json_.string("cat");
        if (kind == "held") return true;
        const auto lane = json_.number("tid"), number = json_.number("args.operation");
        const Engine engine = engine_of(json_.string("args.engine"));
        if ((kind != "gpu" && kind != "graph") || engine == Engine::none || !lane || *lane >= kLanes || !number)
            return false;
        if (out_.spans.size() >= kMostOperations) too_many();
        Span span;
        span.engine = engine;
        span.device = device;
        span.lane = static_cast<uint32_t>(*lane);
        name_span(span);
        span.begin = span.submitted = begin;
        span.end = end;
        span.bytes = json_.number("args.bytes").value_or(0);
        span.number = *number;
        span.nodes = static_cast<uint32_t>(std::min<uint64_t>(json_.number("args.nodes").value_or(0), UINT32_MAX));
        if (const auto found = submitted_.find(key(*lane, *number)); found != submitted_.end()) {
            span.submitted = std::min(begin, found->second);
            submitted_.erase(found);
        }
        out_.devices.try_emplace(device);
        out_.spans.push_back(span);
        return true;
    }

    /// Kernels and graphs are named by their labels, copies by what they do.
    void name_span(Span& span) {
        const std::string_view name = json_.string("name");
        const bool labelled = span.engine == Engine::kernel || span.engine == Engine::graph;
        const char* const kind = labelled ? engine_name(span.engine) : keep(name);
        span.kind = kind;
        if (labelled && name != kind) span.label = keep(name);
        span.graph_template = keep(json_.string("args.template"));
        const auto lane = lanes_.find(span.lane);
        span.stream = lane == lanes_.end() ? "a stream" : lane->second;
    }

    static Engine engine_of(std::string_view name) noexcept {
        for (size_t i = 1; i < kEngines; ++i)
            if (name == engine_name(static_cast<Engine>(i))) return static_cast<Engine>(i);
        return Engine::none;
    }

    [[noreturn]] void too_many() const {
        fail(GPO_LIMIT_EXCEEDED, "the trace has more than ", kMostOperations, " operations");
    }

    Lines lines_;
    JsonLine json_;
    TraceRead out_;
    bool end_read_ = false;  // whether the event was read with which a complete trace ends
    std::map<uint32_t, const char*> lanes_;
    std::unordered_map<uint64_t, uint64_t> submitted_;  // by lane and number
};

}  // namespace

TraceRead read_trace(const std::string& path) { return TraceReader(path).read(); }

}  // namespace gpo::trace
