#include "trace/report/json.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "base/xml.h"

namespace gpo::trace {

namespace {

constexpr int kHost = 1, kServing = 2, kDevices = 100;
constexpr int64_t kHeldThreads = 1'000'000;  // a stream's second thread
constexpr size_t kFlushAt = 1 << 16;

int process_of(int device) noexcept { return kDevices + device; }

std::string gigabytes_per_second(uint64_t bytes, uint64_t ns) {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits,
                                   static_cast<double>(bytes) / static_cast<double>(std::max<uint64_t>(ns, 1)),
                                   std::chars_format::fixed, 3)
                         .ptr;
    return {digits, end};
}

}  // namespace

std::string Json::quoted(std::string_view text) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string out = "\"";
    for (size_t i = 0; i < text.size();) {
        const auto c = static_cast<unsigned char>(text[i]);
        const size_t length = utf8_bytes(text, i);
        if (length == 0) {
            out += "\\ufffd";
            ++i;
        } else if (c == '"' || c == '\\') {
            out += '\\';
            out += text[i++];
        } else if (c < 0x20 || c == 0x7f) {
            out += "\\u00";
            out += kDigits[c >> 4];
            out += kDigits[c & 15];
            ++i;
        } else {
            out.append(text, i, length);
            i += length;
        }
    }
    return out + '"';
}

Json::Json(const std::string& path, uint64_t start, std::string_view program, bool alone)
    : file_(path, "[\n", "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":1,\"args\":{\"sort_index\":0}}\n]\n",
            alone),
      start_(start) {
    text_.reserve(kFlushAt + 4096);
    meta("process_name", kHost, 0, text("host: ", program));
}

void Json::time(uint64_t ns) {
    gpo::detail::append(text_, ns / 1000);
    const auto rest = static_cast<unsigned>(ns % 1000);
    text_ += '.';
    text_ += static_cast<char>('0' + rest / 100);
    text_ += static_cast<char>('0' + rest / 10 % 10);
    text_ += static_cast<char>('0' + rest % 10);
}

void Json::head(char phase, std::string_view name, const char* category, int process, int64_t thread, uint64_t at) {
    begin();
    text_ += "{\"ph\":\"";
    text_ += phase;
    text_ += "\",\"name\":";
    text_ += quoted(name);
    text_ += ",\"cat\":\"";
    text_ += category;
    text_ += "\",\"pid\":";
    gpo::detail::append(text_, process);
    text_ += ",\"tid\":";
    gpo::detail::append(text_, thread);
    text_ += ",\"ts\":";
    time(at - std::min(at, start_));
}

void Json::meta(const char* what, int process, int64_t thread, std::string_view argument) {
    begin();
    text_ += text("{\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", process, ",\"tid\":", thread,
                  ",\"args\":{\"name\":", quoted(argument), "}");
    finish();
}

void Json::thread(int number, const char* name) {
    meta("thread_name", kHost, number, *name ? text(name, " ", number) : text("thread ", number));
}

void Json::device(int number, std::string_view name) {
    meta("process_name", process_of(number), 0, text("GPU ", number, ": ", name));
    begin();
    text_ += text("{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":", process_of(number),
                  ",\"args\":{\"sort_index\":", process_of(number), "}");
    finish();
}

void Json::lane(uint32_t lane, int device, std::string_view name) {
    meta("thread_name", process_of(device), lane, name);
}

void Json::arrow(char phase, const char* category, int process, int64_t thread, uint64_t at, uint64_t lane,
                 uint64_t number) {
    head(phase, category, category, process, thread, at);
    text_ += text(",\"id\":\"", lane, ".", number, "\"");
    if (phase == 'f') text_ += ",\"bp\":\"e\"";
    finish();
}

void Json::call(int thread, const Record& call) {
    head('X', call.name, "call", kHost, thread, call.begin);
    text_ += ",\"dur\":";
    time(call.end - call.begin);
    if (call.status) text_ += text(",\"args\":{\"status\":\"", gpo_status_name(call.status), "\"}");
    finish();
}

void Json::callback(int thread, const Record& callback) {
    head('X', callback.name, "callback", kHost, thread, callback.begin);
    text_ += ",\"dur\":";
    time(callback.end - callback.begin);
    finish();
}

void Json::submitted(int thread, const Record& operation) {
    if (!operation.inside_call) {
        std::string name = text("submit ", operation.name);
        if (*operation.label) name += text(" `", operation.label, "`");
        head('X', name, "submit", kHost, thread, operation.begin);
        text_ += ",\"dur\":";
        time(std::max(operation.end - operation.begin, uint64_t{1}));  // an arrow begins in it
        finish();
    }
    if (operation.kind == Kind::notify)
        arrow('s', "completion", kHost, thread, operation.begin, operation.lane, operation.number);
    else if (operation.gpu_end)
        arrow('s', "submit", kHost, thread, operation.begin, operation.lane, operation.number);
}

void Json::serialising(int thread, const Record& mark) {
    const bool timed = mark.end != mark.begin;
    head(timed ? 'X' : 'i', text("serialising: ", mark.name), "serialising", kHost, thread, mark.begin);
    if (timed) {
        text_ += ",\"dur\":";
        time(mark.end - mark.begin);
    } else {
        text_ += ",\"s\":\"t\"";
    }
    if (mark.bytes) text_ += text(",\"args\":{\"bytes\":", mark.bytes, "}");
    finish();
}

void Json::completion(int thread, const Record& completion) {
    head('X', "completion", "completion", kHost, thread, completion.begin);
    text_ += ",\"dur\":";
    time(completion.end - completion.begin);
    text_ += text(",\"args\":{\"user_data\":", quoted(text(completion.bytes)), ",\"status\":\"",
                  gpo_status_name(completion.status), "\"}");
    finish();
    arrow('f', "completion", kHost, thread, completion.begin, completion.lane, completion.number);
}

void Json::submission(int thread, const Record& submission) {
    arrow('s', "request", kHost, thread, submission.begin, submission.lane, submission.number);
}

void Json::name_serving() {
    if (!std::exchange(serving_named_, true)) meta("process_name", kServing, 0, "serving");
}

void Json::request(int thread, const Record& request) {
    name_serving();
    const std::string name = text(request.name, " `", request.label, "`");
    for (const auto& [phase, at] : {std::pair{'b', request.begin}, std::pair{'e', request.end}}) {
        head(phase, name, "request", kServing, 0, at);
        text_ += text(",\"id\":\"", request.lane, ".", request.number, "\"");
        if (phase == 'b')
            text_ += text(",\"args\":{\"user_data\":", quoted(text(request.bytes)), ",\"status\":\"",
                          gpo_status_name(request.status), "\"}");
        finish();
    }
    if (request.middle) arrow('t', "request", kServing, request.nodes, request.middle, request.lane, request.number);
    head('X', "completion", "completion", kHost, thread, request.end);
    text_ += ",\"dur\":";
    time(1);
    text_ += text(",\"args\":{\"user_data\":", quoted(text(request.bytes)), ",\"status\":\"",
                  gpo_status_name(request.status), "\"}");
    finish();
    if (request.lane & kOfAdmission) return;  // no arrow has begun
    arrow('f', "request", kHost, thread, request.end, request.lane, request.number);
}

void Json::batch(const Record& batch) {
    name_serving();
    if (batch_tracks_.insert(batch.nodes).second)
        meta("thread_name", kServing, batch.nodes,
             text(*batch.graph_template ? batch.graph_template : text("batcher ", batch.lane), " lane ",
                  batch.nodes % 65536 / 2, batch.nodes % 2 ? "b" : "a"));
    head('X', text("batch of `", batch.label, "`"), "batch", kServing, batch.nodes, batch.begin);
    text_ += ",\"dur\":";
    time(batch.end - batch.begin);
    text_ += text(",\"args\":{\"requests\":", batch.bytes, ",\"elements\":", batch.number, ",\"status\":\"",
                  gpo_status_name(batch.status), "\"}");
    finish();
}

void Json::held(int device, const Record& held) {
    if (held_lanes_.insert(held.lane).second)
        meta("thread_name", process_of(device), kHeldThreads + held.lane, text(held.label, " held"));
    head('X', "held on the host", "held", process_of(device), kHeldThreads + held.lane, held.begin);
    text_ += ",\"dur\":";
    time(held.end - held.begin);
    text_ += text(",\"args\":{\"operations\":", held.bytes, "}");
    finish();
}

void Json::span(const Span& span) {
    const bool graph = span.engine == Engine::graph, own_name = graph || span.engine == Engine::kernel;
    std::string name = own_name && *span.label ? span.label : span.kind;
    if (!own_name && *span.label) name += text(" `", span.label, "`");
    const int process = process_of(span.device);
    head('X', name, graph ? "graph" : "gpu", process, span.lane, span.begin);
    text_ += ",\"dur\":";
    time(span.end - span.begin);
    text_ += text(",\"args\":{\"engine\":\"", engine_name(span.engine), "\",\"operation\":", span.number);
    if (span.bytes)
        text_ += text(",\"bytes\":", span.bytes, ",\"GB/s\":", gigabytes_per_second(span.bytes, span.end - span.begin));
    if (graph) text_ += text(",\"template\":", quoted(span.graph_template), ",\"nodes\":", span.nodes);
    text_ += '}';
    finish();
    // In the span's last moment: at the end, viewers would find no span around the arrow.
    arrow('f', "submit", process, span.lane, span.end - 1, span.lane, span.number);
}

void Json::on_the_way(int device, uint64_t at, uint64_t bytes, uint64_t operations) {
    head('C', "on the way", "counter", process_of(device), 0, at);
    text_ += text(",\"args\":{\"bytes\":", bytes, "}");
    finish();
    head('C', "queue depth", "counter", process_of(device), 0, at);
    text_ += text(",\"args\":{\"operations\":", operations, "}");
    finish();
}

void Json::counter(const char* name, int device, uint64_t at, const char* series, uint64_t value) {
    head('C', name, "counter", device < 0 ? kHost : process_of(device), 0, at);
    text_ += text(",\"args\":{\"", series, "\":", value, "}");
    finish();
}

void Json::about(const char* name, std::string_view text) {
    begin();
    text_ += gpo::text("{\"ph\":\"M\",\"name\":\"", name, "\",\"pid\":1,\"args\":{", text, "}");
    finish();
}

void Json::flush(bool all) {
    if (text_.size() < kFlushAt && !all) return;
    begin();
    file_.append(text_);
    text_.clear();
    whole_ = 0;
}

void Json::close() noexcept { file_.close(); }

}  // namespace gpo::trace
