// Traces: they have the work done, on one clock; and the work goes on no matter what happens to the files.

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "conformance/batcher_rig.h"
#include "conformance/peers/rig.h"
#include "conformance/pipeline_rig.h"
#include "support/arrivals.h"

using namespace gpo::test;

namespace {

std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    REQUIRE_MESSAGE(file.good(), path);
    return {std::istreambuf_iterator<char>(file), {}};
}

size_t count(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
    return found;
}

/// Last value of a counter of the host.
uint64_t last_of(const std::string& trace, const std::string& counter) {
    const size_t at = trace.rfind("\"name\":\"" + counter + "\",\"cat\":\"counter\",\"pid\":1,");
    REQUIRE_MESSAGE(at != std::string::npos, counter);
    const size_t arguments = trace.find("\"args\":{", at);
    return std::stoull(trace.substr(trace.find(':', arguments + 8) + 1));
}

bool closed(const std::string& trace) { return trace.starts_with("[\n{") && trace.ends_with("}\n]\n"); }

gpo_trace_info info_of(Gpu& gpu) {
    auto info = sized<gpo_trace_info>();
    REQUIRE_OK(gpo_trace_get_info(gpu.runtime, &info));
    return info;
}

std::string summary_of(Gpu& gpu) {
    std::string text(1 << 14, '\0');
    size_t needed = 0;
    REQUIRE_OK(gpo_trace_get_summary(gpu.runtime, text.data(), text.size(), &needed));
    text.resize(needed - 1);
    return text;
}

gpo_status start(Gpu& gpu, const std::string& path, const std::string& picture = "", uint32_t flags = 0) {
    auto options = sized<gpo_trace_options>();
    options.flags = flags;
    if (!path.empty()) options.path = path.c_str();
    if (!picture.empty()) options.picture = picture.c_str();
    options.title = "a test";
    return gpo_trace_start(gpu.runtime, &options);
}

/// Three fills and a copy back, with one completion.
void work(Gpu& gpu, const char* label = "upload") {
    Stream stream = gpu.stream(label);
    Queue queue = gpu.queue();
    Memory memory(gpu, 1 << 16);
    Pinned<char> back = gpu.pinned<char>(1 << 16);
    for (uint32_t value = 1; value <= 3; ++value) REQUIRE_OK(gpo_fill(stream, memory, value, 1, 1 << 16));
    REQUIRE_OK(gpo_copy_to_host(stream, back.data(), memory, 1 << 16));
    REQUIRE_OK(gpo_stream_notify(stream, queue, 4711));
    REQUIRE_OK(gpo_cq_wait(queue, kPatience));
    CHECK(back[77] == 3);
}

}  // namespace

TEST_CASE("a trace has the calls, the GPU's work with its times, the completion and the serialising calls") {
    Folder folder;
    Gpu gpu;
    const std::string path = folder / "trace.json", picture = folder / "timeline.svg";
    REQUIRE_OK(start(gpu, path, picture));
    CHECK(info_of(gpu).running == 1);
    work(gpu);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, gpo_fill(gpu.stream(), 0, 0, 1, 16));
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    const gpo_trace_info info = info_of(gpu);
    CHECK(info.running == 0);
    CHECK(info.file_status == GPO_SUCCESS);
    CHECK(info.operations == 4);
    CHECK(info.timed == 4);
    CHECK(info.completions == 1);
    CHECK(info.calls >= 8);
    CHECK(info.dropped == 0);
    CHECK(info.clock_error_ns > 0);
    const std::string trace = contents(path);
    CHECK(trace.size() == info.file_bytes);
    CHECK(closed(trace));
    CHECK(count(trace, "\"name\":\"gpo_fill\",\"cat\":\"call\"") == 4);
    CHECK(count(trace, "\"status\":\"GPO_INVALID_ARGUMENT\"") == 1);
    CHECK(count(trace, "\"name\":\"fill\",\"cat\":\"gpu\"") == 3);
    CHECK(count(trace, "\"engine\":\"copy out\",\"operation\":4,\"bytes\":65536,\"GB/s\":") == 1);
    CHECK(count(trace, "\"ph\":\"s\",\"name\":\"submit\"") == 4);
    CHECK(count(trace, "\"ph\":\"f\",\"name\":\"submit\"") == 4);
    CHECK(count(trace, "\"user_data\":\"4711\"") == 1);
    CHECK(count(trace, "serialising: device allocation") >= 1);
    CHECK(count(trace, "\"args\":{\"name\":\"upload\"}") == 1);
    const std::string svg = contents(picture);
    CHECK(svg.starts_with("<svg xmlns="));
    CHECK(svg.ends_with("</svg>\n"));
    CHECK(count(svg, ">stream upload</text>") == 1);
    // Viewers other than browsers support neither CSS variables nor the dark colour scheme: rules with plain values
    // come first, for them.
    CHECK(count(svg, "var(") == 0);
    const std::string style = svg.substr(0, svg.find("@media(prefers-color-scheme:dark)"));
    CHECK(style.size() < svg.size());
    for (const char* rule : {"text{fill:#", ".p{fill:#", ".l{fill:#", ".c1{fill:#", ".c3{fill:#", ".c6{fill:#"})
        CHECK_MESSAGE(count(style, rule) == 1, rule);
    const std::string summary = summary_of(gpu);
    CHECK(count(summary, "trace of a test: ") == 1);
    CHECK(count(summary, "  fill ") == 1);
    CHECK(count(summary, "  copy out ") == 1);
    CHECK(count(summary, "of the copying was hidden behind other work\n") == 1);
    CHECK(count(summary, "serialising: ") >= 1);
    CHECK(folder.names().size() == 2);
}

TEST_CASE("a picture has a lane of its own for collectives, with their names" * gated) {
    Folder folder;
    PeersRig group(2);
    const std::string picture = folder / "timeline.svg";
    REQUIRE_OK(start(group, folder / "trace.json", picture));
    const auto memory = group.buffers(4 << 20);
    for (uint32_t rank = 0; rank < group.ranks; ++rank)
        REQUIRE_OK(gpo_fill(group.streams[rank], memory[rank], 0, 4, 1 << 20));
    auto sum = collective(GPO_COLLECTIVE_ALL_REDUCE, GPO_TYPE_UINT32, 1 << 20, GPO_REDUCE_SUM);
    sum.label = "gradients";
    REQUIRE_OK(group.submit(sum, group.parts(memory, memory)));
    group.wait_all();
    REQUIRE_OK(gpo_trace_stop(group.runtime));
    const std::string svg = contents(picture);
    CHECK(count(svg, "<title>all-reduce `gradients`, ") == 2 * group.ranks);  // of its stream, and of its device
    CHECK(count(svg, ">collective</text>") == group.ranks + 2);  // a lane of each device, and twice in the legend
    CHECK(count(svg, ">kernel</text>") == 0);
    CHECK(count(svg, "<rect class=\"c11 ") >= 2 * group.ranks);
}

namespace {

/// A template of `fills` fills of four bytes each.
Template filling(Gpu& gpu, uint64_t memory, uint32_t fills, const char* label) {
    auto options = sized<gpo_template_options>();
    options.label = label;
    Template made;
    REQUIRE_OK(gpo_template_create(gpu.device, &options, made.out()));
    for (uint32_t i = 0; i < fills; ++i)
        REQUIRE_OK(gpo_template_add_fill(made, nullptr, 0, memory + 4 * i, i, 4, 1, nullptr));
    return made;
}

Graph graph_of(gpo_template_t from, const char* label = nullptr) {
    auto options = sized<gpo_graph_options>();
    options.label = label;
    Graph made;
    REQUIRE_OK(gpo_graph_create(from, &options, made.out()));
    return made;
}

}  // namespace

TEST_CASE("a launch of a graph is a span of a kind of its own, with its template's label and the number of its nodes") {
    Folder folder;
    Gpu gpu;
    const std::string path = folder / "trace.json";
    Memory memory(gpu, 1 << 16);
    Stream stream = gpu.stream("steps");
    Template step = filling(gpu, memory, 3, "a <step>");
    Graph graph = graph_of(step), other = graph_of(step, "other");
    REQUIRE_OK(start(gpu, path));
    REQUIRE_OK(gpo_graph_launch(graph, stream));
    REQUIRE_OK(gpo_graph_launch(other, stream));
    REQUIRE_OK(gpo_template_launch(step, stream, nullptr, 0, 0));
    REQUIRE_OK(gpo_fill(stream, memory, 1, 1, 1 << 16));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    CHECK(info_of(gpu).timed == 4);
    const std::string trace = contents(path);
    CHECK(count(trace, "\"cat\":\"graph\"") == 3);
    CHECK(count(trace, "\"name\":\"a <step>\",\"cat\":\"graph\"") == 2);
    CHECK(count(trace, "\"name\":\"other\",\"cat\":\"graph\"") == 1);
    CHECK(count(trace, "\"engine\":\"graph\",\"operation\":1,\"template\":\"a <step>\",\"nodes\":3}") == 1);
    CHECK(count(trace, "\"engine\":\"graph\",\"operation\":2,\"template\":\"a <step>\",\"nodes\":3}") == 1);
    CHECK(count(trace, "\"name\":\"fill\",\"cat\":\"gpu\"") == 1);
    CHECK(count(trace, "\"ph\":\"f\",\"name\":\"submit\"") == 4);
    const std::string summary = summary_of(gpu);
    CHECK(count(summary, "  graph ") == 1);
    CHECK(count(summary, ", 3 timed operations with 9 nodes\n") == 1);
    CHECK(count(summary, "  kernel ") == 0);
}

TEST_CASE("the timeline has a lane for graphs, in which a launch says what it is a launch of") {
    Folder folder;
    Gpu gpu;
    Memory memory(gpu, 1 << 16);
    Stream stream = gpu.stream();
    Template step = filling(gpu, memory, 3, "a <step>");
    for (const char* label : {"", "other"}) {
        Graph graph = graph_of(step, label);
        const std::string picture = folder / "timeline.svg";
        REQUIRE_OK(start(gpu, "", picture));
        REQUIRE_OK(gpo_graph_launch(graph, stream));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        REQUIRE_OK(gpo_trace_stop(gpu.runtime));
        const std::string svg = contents(picture);
        CHECK(count(svg, ">graph</text>") >= 1);
        CHECK(count(svg, *label ? "<title>graph `other` of template `a &lt;step&gt;`, "
                                : "<title>graph `a &lt;step&gt;`, ") == 2);
        CHECK(count(svg, ", 3 nodes, operation ") == 2);
    }
}

TEST_CASE("a graph and its template may be gone when the times of its launch become known") {
    Folder folder;
    Gpu gpu;
    Memory memory(gpu, 1 << 16);
    Stream stream = gpu.stream();
    REQUIRE_OK(start(gpu, folder / "trace.json"));
    for (int i = 0; i < 20; ++i) {
        Template step = filling(gpu, memory, 2, nullptr);
        REQUIRE_OK(gpo_graph_launch(graph_of(step), stream));
    }
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    CHECK(info_of(gpu).timed == 20);
    CHECK(count(contents(folder / "trace.json"), "\"name\":\"graph\",\"cat\":\"graph\"") == 20);
}

TEST_CASE("without GPU times, the launch of a graph is submitted under its name and has no span") {
    Folder folder;
    Gpu gpu;
    Memory memory(gpu, 1 << 16);
    Stream stream = gpu.stream();
    Template step = filling(gpu, memory, 2, "step");
    Graph graph = graph_of(step);
    REQUIRE_OK(start(gpu, folder / "trace.json", "", GPO_TRACE_NO_GPU_TIMES));
    REQUIRE_OK(gpo_graph_launch(graph, stream));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    const std::string trace = contents(folder / "trace.json");
    CHECK(count(trace, "\"cat\":\"graph\"") == 0);
    CHECK(count(trace, "\"name\":\"gpo_graph_launch\",\"cat\":\"call\"") == 1);
}

TEST_CASE("requests and their batches are spans, and an arrow leads from a submission to its batch to its completion") {
    Gpu gpu;
    Folder folder;
    const std::string path = folder / "serving.json";
    {
        BatcherRig rig(gpu);
        const uint32_t key = rig.add(rig.rows(3));
        REQUIRE_OK(start(gpu, path));
        for (int i = 0; i < 3; ++i) rig.enter(key);
        rig.take(3, GPO_SUCCESS);
    }
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    const std::string trace = contents(path);
    CHECK(closed(trace));
    CHECK(count(trace, "\"name\":\"batch of `key 0`\",\"cat\":\"batch\",\"pid\":2,") == 1);
    CHECK(count(trace, "\"args\":{\"requests\":3,\"elements\":3,\"status\":\"GPO_SUCCESS\"}") == 1);
    for (const char* phase : {"s", "t", "f"})
        CHECK(count(trace, std::string("{\"ph\":\"") + phase + "\",\"name\":\"request\",\"cat\":\"request\"") == 3);
    for (const char* phase : {"b", "e"})
        CHECK(count(trace, std::string("{\"ph\":\"") + phase + "\",\"name\":\"request `key 0`\",\"cat\":\"request\"") ==
              3);
}

TEST_CASE("a file that can't be written is refused by its name, and nothing is traced") {
    Folder folder;
    Gpu gpu;
    for (const bool picture : {false, true}) {
        const std::string bad = "/nowhere/that/is/trace.json", good = folder / "good.json";
        CHECK_STATUS(GPO_IO_ERROR, picture ? start(gpu, good, bad) : start(gpu, bad));
        auto error = sized<gpo_error>();
        CHECK_OK(gpo_last_error(&error));
        CHECK(std::string(error.message).find(bad) != std::string::npos);
        CHECK(error.native_domain == GPO_NATIVE_ERRNO);
        CHECK(error.native_code == 2);
        CHECK(info_of(gpu).running == 0);
        CHECK(folder.names().empty());
    }
    work(gpu);
    REQUIRE_OK(start(gpu, folder / "trace.json"));
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
}

TEST_CASE("a runtime is traced once at a time, and again after that") {
    Folder folder;
    Gpu gpu;
    CHECK_STATUS(GPO_INVALID_STATE, gpo_trace_stop(gpu.runtime));
    CHECK_STATUS(GPO_INVALID_STATE, gpo_trace_get_summary(gpu.runtime, nullptr, 0, nullptr));
    CHECK(info_of(gpu).calls == 0);
    for (const char* name : {"first.json", "second.json"}) {
        REQUIRE_OK(start(gpu, folder / name));
        CHECK_STATUS(GPO_INVALID_STATE, start(gpu, folder / "other.json"));
        work(gpu, name);
        REQUIRE_OK(gpo_trace_stop(gpu.runtime));
        CHECK_STATUS(GPO_INVALID_STATE, gpo_trace_stop(gpu.runtime));
        CHECK(info_of(gpu).timed == 4);
        const std::string trace = contents(folder / name);
        CHECK(closed(trace));
        CHECK(count(trace, "\"cat\":\"gpu\"") == 4);
        CHECK(count(trace, std::string("\"args\":{\"name\":\"") + name + "\"}") == 1);
    }
    CHECK(folder.names().size() == 2);
}

TEST_CASE("ending a trace waits for no GPU, and what still runs has no times" * gated) {
    Folder folder;
    Gpu gpu;
    Gate gate(gpu);
    Stream stream = gpu.stream();
    Memory memory(gpu, 4096);
    REQUIRE_OK(start(gpu, folder / "trace.json"));
    gate.put_on(stream);
    REQUIRE_OK(gpo_fill(stream, memory, 1, 1, 4096));
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    const gpo_trace_info info = info_of(gpu);
    CHECK(info.operations >= 2);
    CHECK(info.timed == 0);
    gate.open();
    CHECK_OK(gpo_stream_wait(stream, kPatience));
    const std::string trace = contents(folder / "trace.json");
    CHECK(closed(trace));
    CHECK(count(trace, "\"cat\":\"gpu\"") == 0);
    CHECK(count(trace, "\"unfinished\":") == 1);
}

TEST_CASE("the time in which a stream was held is in the trace, and its work behind it") {
    Folder folder;
    Gpu gpu;
    Timeline timeline = gpu.timeline();
    Stream stream = gpu.stream("patient");
    Memory memory(gpu, 4096);
    REQUIRE_OK(start(gpu, folder / "trace.json"));
    REQUIRE_OK(gpo_stream_wait_timeline(stream, timeline, 1));
    REQUIRE_OK(gpo_fill(stream, memory, 1, 1, 4096));
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    const std::string trace = contents(folder / "trace.json");
    CHECK(count(trace, "\"name\":\"held on the host\"") == 1);
    CHECK(count(trace, "\"args\":{\"name\":\"patient held\"}") == 1);
    CHECK(count(trace, "\"name\":\"fill\",\"cat\":\"gpu\"") == 1);
}

TEST_CASE("the counters of the host say what is pending, held, not drained and in use" * gated) {
    Folder folder;
    Gpu gpu;
    Gate gate(gpu);
    Stream busy = gpu.stream(), patient = gpu.stream();
    Queue queue = gpu.queue();
    Timeline timeline = gpu.timeline();
    Memory memory(gpu, 4096);
    Pool pool;
    REQUIRE_OK(gpo_pool_create(gpu.device, nullptr, pool.out()));
    ComplementOptions rig(gpu);
    Pipeline pipeline = rig.create(gpu);
    const auto data = noise(10'000);
    std::vector<uint8_t> out(data.size());
    REQUIRE_OK(start(gpu, folder / "trace.json"));
    REQUIRE_OK(run(pipeline, from_memory(data.data(), data.size()), to_memory(out.data(), out.size())));
    const Pinned<char> piece = gpu.pinned<char>(1 << 20);
    uint64_t address = 0;
    REQUIRE_OK(gpo_pool_allocate(pool, busy, 1 << 20, &address));
    REQUIRE_OK(gpo_fill(patient, memory, 1, 1, 4096));
    REQUIRE_OK(gpo_stream_notify(patient, queue, 1));
    REQUIRE_OK(gpo_cq_wait(queue, kPatience));
    REQUIRE_OK(gpo_stream_wait_timeline(patient, timeline, 1));
    REQUIRE_OK(gpo_fill(patient, memory, 1, 1, 4096));
    gate.put_on(busy);
    REQUIRE_OK(gpo_fill(busy, memory, 1, 1, 4096));
    auto metrics = sized<gpo_metrics>();
    REQUIRE_OK(gpo_runtime_get_metrics(gpu.runtime, &metrics));
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    gate.open();
    REQUIRE_OK(gpo_timeline_signal(timeline, 1));
    const std::string trace = contents(folder / "trace.json");
    CHECK(metrics.operations_pending >= 4);  // the gate's, a fill, a wait and a fill
    CHECK(last_of(trace, "operations pending") == metrics.operations_pending);
    CHECK(metrics.operations_held == 2);
    CHECK(last_of(trace, "operations held") == 2);
    CHECK(last_of(trace, "completions not drained") == 1);
    CHECK(metrics.arena_in_use >= 1 << 20);
    CHECK(last_of(trace, "arenas in use") == metrics.arena_in_use);
    CHECK(last_of(trace, "pools in use") == 1 << 20);
    CHECK(metrics.pipeline_pinned > 0);
    CHECK(last_of(trace, "pinned by pipelines") == metrics.pipeline_pinned);
    CHECK_OK(gpo_pool_free(pool, busy, address));
    CHECK_OK(gpo_stream_wait(patient, kPatience));
    CHECK_OK(gpo_stream_wait(busy, kPatience));
}

TEST_CASE("callbacks and host calls have spans, also where the caller's thread runs them, and so has what they call") {
    for (const uint32_t flags : {uint32_t{0}, uint32_t{GPO_EXECUTOR_CALLER}}) {
        INFO(flags);
        Folder folder;
        Gpu gpu;
        Executor executor = gpu.executor(flags);
        Stream stream = gpu.stream();
        REQUIRE_OK(start(gpu, folder / "trace.json", folder / "timeline.svg"));
        const gpo_host_fn host_call = [](void*, const gpo_host_call*) -> gpo_status { return GPO_SUCCESS; };
        const gpo_completion_fn asks = [](void* of, const gpo_completion*, const gpo_error*) {
            gpo_stream_query(static_cast<gpo_stream_t>(of));
        };
        REQUIRE_OK(gpo_stream_host_call(stream, executor, host_call, nullptr));
        REQUIRE_OK(gpo_stream_then(stream, executor, asks, stream.get()));
        REQUIRE_OK(gpo_executor_run_for(executor, kPatience, nullptr));
        REQUIRE_OK(gpo_trace_stop(gpu.runtime));
        const std::string trace = contents(folder / "trace.json");
        CHECK(count(trace, "\"name\":\"host call\",\"cat\":\"callback\"") == 1);
        CHECK(count(trace, "\"name\":\"completion callback\",\"cat\":\"callback\"") == 1);
        CHECK(count(trace, "\"name\":\"gpo_stream_query\",\"cat\":\"call\"") == 1);
        CHECK(count(trace, "\"name\":\"gpo_executor_run_for\",\"cat\":\"call\"") == 1);
        const std::string svg = contents(folder / "timeline.svg");
        CHECK(count(svg, ">callback</text>") >= 1);
        CHECK(count(svg, " callback, ") + count(svg, " callbacks, ") >= 1);
        CHECK(count(svg, ">0 calls") == 0);
    }
}

TEST_CASE("the folder that a trace is to be in is made, unless nothing is traced") {
    Folder folder;
    Gpu gpu;
    CHECK_STATUS(GPO_IO_ERROR, start(gpu, folder / "made/trace.json", "/nowhere/that/is/timeline.svg"));
    CHECK(folder.names().empty());
    CHECK_STATUS(GPO_IO_ERROR, start(gpu, folder / "no/such/trace.json"));
    CHECK(folder.names().empty());
    REQUIRE_OK(start(gpu, folder / "made/trace.json", folder / "elsewhere/timeline.svg"));
    work(gpu);
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    CHECK(closed(contents(folder / "made/trace.json")));
    CHECK(contents(folder / "elsewhere/timeline.svg").ends_with("</svg>\n"));
}

TEST_CASE("a pipe that nobody reads is refused at once, and one that is read gets the trace") {
    Folder folder;
    Gpu gpu;
    const std::string pipe = folder / "pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    for (const bool picture : {false, true}) {
        CHECK_STATUS(GPO_IO_ERROR, picture ? start(gpu, "", pipe) : start(gpu, pipe));
        CHECK(std::string(last_error().message).find(pipe + " can't be written: it is a pipe that nobody reads") !=
              std::string::npos);
    }
    std::string text;
    std::thread reader([&] { text = read_whole(pipe); });
    gpo_status begun = GPO_IO_ERROR;
    while ((begun = start(gpu, pipe)) == GPO_IO_ERROR) std::this_thread::yield();  // until it is opened for reading
    REQUIRE_OK(begun);
    work(gpu);
    CHECK_OK(gpo_trace_stop(gpu.runtime));
    reader.join();
    CHECK(closed(text));
}

TEST_CASE("a trace goes where a link of one's own leads, and not where another user's does") {
    Folder folder;
    Gpu gpu;
    const std::string mine = folder / "mine", link = folder / "link.json";
    write_file(mine, {'m', 'i', 'n', 'e'});
    REQUIRE(symlink(mine.c_str(), link.c_str()) == 0);
    if (geteuid() == 0) {
        REQUIRE(lchown(link.c_str(), 65534, 65534) == 0);
        for (const bool picture : {false, true}) {
            CHECK_STATUS(GPO_IO_ERROR, picture ? start(gpu, "", link) : start(gpu, link));
            CHECK(std::string(last_error().message).find("it is a symbolic link of user 65534") != std::string::npos);
            CHECK(contents(mine) == "mine");
        }
        REQUIRE(lchown(link.c_str(), 0, 0) == 0);
    }
    REQUIRE_OK(start(gpu, link));
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    CHECK(closed(contents(mine)));
}

TEST_CASE("while a picture is made nothing else is touched, whatever its name, and no link is followed") {
    Folder folder;
    Gpu gpu;
    const std::string picture = folder / "timeline.svg", beside = folder / "timeline.svg.part", mine = folder / "mine";
    const std::vector<uint8_t> text = {'m', 'i', 'n', 'e'};
    for (const bool link : {false, true}) {
        INFO(link);
        write_file(link ? mine : beside, text);
        if (link) REQUIRE(symlink(mine.c_str(), beside.c_str()) == 0);
        REQUIRE_OK(start(gpu, "", picture));
        CHECK(contents(beside) == "mine");
        REQUIRE_OK(gpo_trace_stop(gpu.runtime));
        CHECK(contents(beside) == "mine");
        CHECK(contents(picture).ends_with("</svg>\n"));
        std::filesystem::remove(beside);
    }
    CHECK(folder.names().size() == 2);
}

TEST_CASE("without GPU times no operation has a span, and each its submission") {
    Folder folder;
    Gpu gpu;
    REQUIRE_OK(start(gpu, folder / "trace.json", "", GPO_TRACE_NO_GPU_TIMES));
    work(gpu);
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    CHECK(info_of(gpu).operations == 4);
    CHECK(info_of(gpu).timed == 0);
    CHECK(count(contents(folder / "trace.json"), "\"cat\":\"gpu\"") == 0);
    CHECK_STATUS(GPO_INVALID_ARGUMENT, start(gpu, "", "", 2));
}

TEST_CASE("a name that ends in .gz is gzipped, and smaller") {
    Folder folder;
    Gpu gpu;
    REQUIRE_OK(start(gpu, folder / "trace.json.gz"));
    for (int i = 0; i < 50; ++i) work(gpu);
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    const std::string packed = contents(folder / "trace.json.gz");
    CHECK(packed.starts_with("\x1f\x8b\x08"));
    CHECK(packed.size() == info_of(gpu).file_bytes);
    CHECK(packed.size() < 250 * info_of(gpu).operations);
}

TEST_CASE("shutting a runtime down ends its trace") {
    Folder folder;
    {
        Gpu gpu;
        REQUIRE_OK(start(gpu, folder / "trace.json", folder / "timeline.svg"));
        work(gpu);
    }
    CHECK(closed(contents(folder / "trace.json")));
    CHECK(count(contents(folder / "trace.json"), "\"cat\":\"gpu\"") == 4);
    CHECK(contents(folder / "timeline.svg").ends_with("</svg>\n"));
}

TEST_CASE("the log function can't end the trace whose thread has called it, and another thread can") {
    struct Log {
        gpo_runtime_t runtime = nullptr;
        Arrivals came;
        std::atomic<gpo_status> started{GPO_INTERNAL}, stopped{GPO_INTERNAL};
        static void take(void* user, int32_t, const char*) {
            auto& log = *static_cast<Log*>(user);
            log.started = gpo_trace_start(log.runtime, nullptr);
            log.stopped = gpo_trace_stop(log.runtime);
            ++log.came;
        }
    } log;
    auto options = sized<gpo_runtime_options>();
    options.log = Log::take;
    options.log_user = &log;
    options.log_level = GPO_LOG_ERROR;
    Gpu gpu(options);
    log.runtime = gpu.runtime;
    REQUIRE_OK(start(gpu, "/dev/full"));
    auto statistics = sized<gpo_statistics>();
    for (int calls = 0; log.came == 0 && calls < 1'000'000; ++calls)
        REQUIRE_OK(gpo_runtime_get_statistics(gpu.runtime, &statistics));
    REQUIRE(log.came.reach(1));
    CHECK_STATUS(GPO_INVALID_STATE, log.started.load());
    CHECK_STATUS(GPO_WOULD_DEADLOCK, log.stopped.load());
    CHECK_STATUS(GPO_IO_ERROR, gpo_trace_stop(gpu.runtime));
    REQUIRE_OK(start(gpu, ""));
    CHECK_OK(gpo_trace_stop(gpu.runtime));
}

TEST_CASE("traces begin and end while other threads work, and nothing of theirs fails or is lost") {
    Folder folder;
    Gpu gpu;
    Memory memory(gpu, 4096);
    std::atomic<bool> stop{false};
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            Stream stream = gpu.stream();
            Queue queue = gpu.queue();
            for (uint64_t number = 0; !stop.load(); ++number) {
                failures += gpo_fill(stream, memory, 1, 1, 4096) != GPO_SUCCESS;
                failures += gpo_stream_notify(stream, queue, number) != GPO_SUCCESS;
                failures += gpo_cq_wait(queue, kPatience) != GPO_SUCCESS;
                gpo_completion entry;
                uint64_t count = 0;
                failures += gpo_cq_drain(queue, &entry, sizeof entry, 1, &count) != GPO_SUCCESS || count != 1 ||
                            entry.user_data != number || entry.status != GPO_SUCCESS;
            }
        });
    // Two threads compete for the runtime's only trace: each call is done or refused.
    std::atomic<int> started{0}, stopped{0};
    std::atomic<uint64_t> dropped{0};
    for (int i = 0; i < 2; ++i)
        threads.emplace_back([&, i] {
            auto options = sized<gpo_trace_options>();
            const std::string path = folder / (i ? "one.json" : "two.json.gz");
            options.path = path.c_str();
            while (!stop.load()) {
                const gpo_status begun = gpo_trace_start(gpu.runtime, &options);
                started += begun == GPO_SUCCESS;
                const gpo_status ended = gpo_trace_stop(gpu.runtime);
                stopped += ended == GPO_SUCCESS;
                failures += (begun != GPO_SUCCESS && begun != GPO_INVALID_STATE) ||
                            (ended != GPO_SUCCESS && ended != GPO_INVALID_STATE);
                // A record made while the trace ends counts as later: the trace drops nothing.
                dropped += info_of(gpu).dropped;
            }
        });
    while (stopped.load() < 200) std::this_thread::yield();
    stop.store(true);
    for (auto& thread : threads) thread.join();
    CHECK(failures.load() == 0);
    CHECK(dropped.load() == 0);
    if (started.load() > stopped.load()) CHECK_OK(gpo_trace_stop(gpu.runtime));
    REQUIRE_OK(start(gpu, folder / "last.json"));
    work(gpu);
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    CHECK(info_of(gpu).timed == 4);
    CHECK(closed(contents(folder / "last.json")));
}

TEST_CASE("labels with quotes, backslashes, control characters and broken UTF-8 come out as valid text") {
    Folder folder;
    Gpu gpu;
    REQUIRE_OK(start(gpu, folder / "trace.json", folder / "timeline.svg"));
    work(gpu, "\"a\\b\x01\xff</text>&\xc3\xa9");
    REQUIRE_OK(gpo_trace_stop(gpu.runtime));
    CHECK(count(contents(folder / "trace.json"), "\\\"a\\\\b\\u0001\\ufffd</text>&\xc3\xa9") >= 1);
    CHECK(count(contents(folder / "timeline.svg"), "&quot;a\\b\xef\xbf\xbd\xef\xbf\xbd&lt;/text&gt;&amp;\xc3\xa9") >=
          1);
}
