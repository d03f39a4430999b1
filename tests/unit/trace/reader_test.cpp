// Reads trace files: complete ones, those of killed processes, and damaged ones.
#include "trace/report/reader.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "support/files.h"
#include "trace/report/json.h"
#include "trace/report/json_line.h"

using namespace gpo::trace;
using gpo::test::read_whole;

namespace {

/// A name for a file in a folder of its own.
struct TraceFile {
    explicit TraceFile(const std::string& ending = ".json") : name(folder / ("trace" + ending)) {}
    void write(const std::string& bytes) const { std::ofstream(name, std::ios::binary) << bytes; }
    const gpo::test::Folder folder;
    const std::string name;
};

constexpr uint64_t kStart = 5'000'000;
constexpr const char* kOdd = "b\"l\\u\tr \xc3\xa9 \xff";  // with a quote, a backslash, a tab, UTF-8 and invalid UTF-8

Span span_of(Engine engine, const char* label, uint64_t number, uint64_t bytes = 0) {
    Span span;
    span.engine = engine;
    span.lane = 2;
    span.kind = engine_name(engine);
    span.label = label;
    span.number = number;
    span.submitted = kStart + 1000 * number;
    span.begin = span.submitted + 111;
    span.end = span.begin + 500;
    span.bytes = bytes;
    return span;
}

Record submission_of(const Span& span) {
    Record record;
    record.kind = Kind::operation;
    record.name = span.kind;
    record.begin = span.submitted;
    record.end = span.submitted + 10;
    record.lane = span.lane;
    record.number = span.number;
    record.gpu_end = reinterpret_cast<CUevent>(1);
    return record;
}

Record call_of(const char* name, uint64_t begin, uint64_t end) {
    Record record;
    record.name = name;
    record.begin = kStart + begin;
    record.end = kStart + end;
    return record;
}

/// A trace with something of everything.
void write_trace(const std::string& path) {
    Json json(path, kStart, "prog\"ram");
    json.thread(7, "main");
    json.device(0, "A GPU");
    json.lane(2, 0, "upload");
    Span spans[] = {span_of(Engine::kernel, kOdd, 1), span_of(Engine::kernel, "", 2),
                    span_of(Engine::copy_in, "", 3, 4096), span_of(Engine::graph, "step", 4)};
    spans[3].nodes = 12;
    spans[3].graph_template = "decode";
    for (const Span& span : spans) json.submitted(7, submission_of(span));
    for (const Span& span : spans) json.span(span);
    json.call(7, call_of("gpo_stream_launch_kernel", 100, 400));
    json.call(7, call_of("gpo_stream_wait", 400, 900));
    json.call(7, call_of("gpo_memory_allocate", 900, 950));
    json.serialising(7, call_of("device allocation", 905, 945));
    json.callback(7, call_of("callback", 1000, 1100));
    Record held = call_of("", 100, 200);
    held.lane = 2;
    held.label = "upload";
    json.held(0, held);
    json.on_the_way(0, kStart + 10, 77, 1);
    json.counter("operations pending", -1, kStart + 5, "operations", 3);
    json.about("gpuorch", "\"dropped\":5,\"call_cost_ns\":60,\"operation_cost_ns\":700");
    json.flush(true);
    json.close();
}

struct Refusal {
    gpo_status status = GPO_SUCCESS;
    std::string message;
};

Refusal refusal_of(const std::string& path) {
    try {
        read_trace(path);
        return {};
    } catch (const gpo::Failure& failure) {
        return {failure.error()->status, failure.error()->message};
    }
}

}  // namespace

TEST_CASE("a line of a trace is read by its members' names, and nothing else passes for one") {
    JsonLine line;
    REQUIRE(line.parse(R"( {"a":"x\"\\\/\u00e9\ud83d\ude00","ts":12.345,"args":{"bytes":17,"deep":{"er":"y"}},)"
                       R"("l":[1,"z",[]],"t":true} )"));
    CHECK(line.string("a") == "x\"\\/\u00e9\U0001F600");
    CHECK(line.time("ts") == 12'345);
    CHECK(line.number("args.bytes") == 17);
    CHECK(line.string("args.deep.er") == "y");
    CHECK(line.string("args.bytes") == "");
    CHECK(!line.number("a"));
    CHECK(!line.number("ts"));
    CHECK(!line.number("nothing"));
    for (const auto& [text, time] : std::vector<std::pair<std::string, uint64_t>>{
             {"0", 0}, {"7", 7'000}, {"7.5", 7'500}, {"7.05", 7'050}, {"7.005", 7'005}}) {
        CHECK(line.parse("{\"ts\":" + text + "}"));
        CHECK(line.time("ts") == time);
    }
    for (const char* text : {"-1", "1.2345", "1e3", "1.", "99999999999999999999", "9999999999999999"}) {
        CHECK(line.parse(std::string("{\"ts\":") + text + "}"));
        CHECK(!line.time("ts"));
    }
    for (const char* text : {"",
                             " ",
                             "[]",
                             "{",
                             "}",
                             "{]",
                             "{\"a\"}",
                             "{\"a\":}",
                             "{\"a\":1,}",
                             "{\"a\":1} x",
                             "{\"a\":\"b}",
                             "{\"a\":\"\\\"}",
                             "{\"a\":\"\\x\"}",
                             "{\"a\":\"\\u12\"}",
                             "{\"a\":\"\\u12g4\"}",
                             "{\"a\":[1}",
                             "{\"a\" 1}",
                             "{a:1}",
                             "{\"a\":1 2}",
                             "{\"a\":\"\\ud800\\u0041\"}"}) {
        INFO(text);
        CHECK(!line.parse(text));
    }
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += "{\"a\":[";
    CHECK(!line.parse(deep));
}

TEST_CASE("what a trace's writer wrote is read back, plain and gzipped") {
    for (const char* ending : {".json", ".json.gz"}) {
        INFO(ending);
        const TraceFile file(ending);
        write_trace(file.name);
        const TraceRead trace = read_trace(file.name);
        CHECK(trace.whole);
        CHECK(trace.program == "prog\"ram");
        CHECK(trace.devices.at(0) == "GPU 0: A GPU");
        CHECK(trace.dropped == 5);
        CHECK(trace.call_cost == 60);
        CHECK(trace.operation_cost == 700);
        REQUIRE(trace.spans.size() == 4);
        const Span& kernel = trace.spans[0];
        CHECK(kernel.engine == Engine::kernel);
        CHECK(std::string(kernel.label) == "b\"l\\u?r \xc3\xa9 \xef\xbf\xbd");
        CHECK(std::string(kernel.stream) == "upload");
        CHECK(kernel.submitted == 1000);
        CHECK(kernel.begin == 1111);
        CHECK(kernel.end == 1611);
        CHECK(std::string(trace.spans[1].label) == "");
        CHECK(std::string(trace.spans[1].kind) == "kernel");
        CHECK(trace.spans[2].engine == Engine::copy_in);
        CHECK(trace.spans[2].bytes == 4096);
        CHECK(trace.spans[3].nodes == 12);
        CHECK(std::string(trace.spans[3].graph_template) == "decode");
        CHECK(trace.launches == 1);
        CHECK(trace.launch_time == 300);
        CHECK(trace.serialised.at("device allocation") == 1);
        CHECK(trace.end == 4611);
        uint64_t doing[4] = {};
        for (const auto& span : trace.host) doing[static_cast<size_t>(span.doing)] += span.end - span.begin;
        CHECK(doing[static_cast<size_t>(TraceRead::Doing::launching)] == 300 + 4 * 10);
        CHECK(doing[static_cast<size_t>(TraceRead::Doing::waiting)] == 500);
        CHECK(doing[static_cast<size_t>(TraceRead::Doing::serialising)] == 40);
        CHECK(doing[static_cast<size_t>(TraceRead::Doing::calling)] == 50);
    }
}

TEST_CASE("a trace that ends anywhere is read as far as it goes, and is known not to be whole") {
    for (const char* ending : {".json", ".json.gz"}) {
        const TraceFile file(ending);
        write_trace(file.name);
        const std::string bytes = read_whole(file.name);
        size_t read = 0, most = 0;
        for (size_t length = 0; length < bytes.size(); ++length) {
            INFO(ending << ", the first " << length << " bytes");
            file.write(bytes.substr(0, length));
            const Refusal refusal = refusal_of(file.name);
            if (refusal.status != GPO_SUCCESS) {
                CHECK(refusal.status == GPO_INVALID_ARGUMENT);
                CHECK(refusal.message.find("line ") != std::string::npos);
                continue;
            }
            ++read;
            const TraceRead trace = read_trace(file.name);
            most = std::max(most, trace.spans.size());
            // Without the last line's end the trace is the same.
            CHECK(trace.whole == (length == bytes.size() - 1 && ending == std::string(".json")));
        }
        CHECK(read > bytes.size() / 2);
        CHECK(most == 4);
    }
}

TEST_CASE("a damaged trace is refused by its line, or read; whichever byte it is") {
    for (const char* ending : {".json", ".json.gz"}) {
        const TraceFile file(ending);
        write_trace(file.name);
        const std::string bytes = read_whole(file.name);
        uint64_t random = 3, refused = 0;
        for (size_t at = 0; at < bytes.size(); ++at) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            std::string damaged = bytes;
            damaged[at] = static_cast<char>(random >> 56);
            file.write(damaged);
            const Refusal refusal = refusal_of(file.name);
            INFO(ending << ", byte " << at << " is " << static_cast<int>(damaged[at]) << ": " << refusal.message);
            CHECK((refusal.status == GPO_SUCCESS || refusal.status == GPO_INVALID_ARGUMENT));
            if (refusal.status == GPO_SUCCESS) continue;
            ++refused;
            CHECK(refusal.message.find(file.name + ", line ") != std::string::npos);
        }
        CHECK(refused > bytes.size() / 20);
    }
}

TEST_CASE("what isn't a trace of the library is refused, and says so") {
    struct Row {
        const char* what;
        std::string bytes;
        const char* message;
    };
    const std::string head =
        "[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"host: x\"}},\n";
    const Row rows[] = {
        {"an empty file", "", "line 1: "},
        {"an object", "{\"traceEvents\":[]}\n", "line 1: "},
        {"another program's trace",
         "[\n{\"ph\":\"X\",\"name\":\"aten::add\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2},\n]\n",
         "line 2: this is no trace of libgpuorch"},
        {"only the beginning", "[\n", "line 2: "},
        {"text in the middle", head + "hello\n]\n", "line 3: is no event"},
        {"a time before the beginning", head + "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"ts\":-1.0,\"dur\":1.0},\n]\n",
         "line 3: "},
        {"a device without an end", head + "{\"ph\":\"X\",\"name\":\"a\",\"pid\":99999,\"ts\":1.0,\"dur\":1.0},\n]\n",
         "line 3: "},
        {"work of no engine",
         head + "{\"ph\":\"X\",\"name\":\"a\",\"cat\":\"gpu\",\"pid\":100,\"tid\":1,\"ts\":1.0,\"dur\":1.0,\"args\":{"
                "\"engine\":\"x\",\"operation\":1}},\n]\n",
         "line 3: "},
        {"something behind the end", head + "]\n]\n", "line 4: comes behind the end"},
        {"an endless line", head + std::string(100'000, ' ') + "\n]\n", "line 3: is too long"},
    };
    const TraceFile file;
    for (const Row& row : rows) {
        file.write(row.bytes);
        const Refusal refusal = refusal_of(file.name);
        INFO(row.what << ": " << refusal.message);
        CHECK(refusal.status == GPO_INVALID_ARGUMENT);
        CHECK(refusal.message.find(row.message) != std::string::npos);
    }
    unlink(file.name.c_str());
    CHECK(refusal_of(file.name).status == GPO_NOT_FOUND);
    CHECK(refusal_of(file.name).message.find(file.name) != std::string::npos);
    CHECK(refusal_of("/tmp").status == GPO_IO_ERROR);
    REQUIRE(mkfifo(file.name.c_str(), 0600) == 0);
    CHECK(refusal_of(file.name).status == GPO_IO_ERROR);
}
