// Advice from the trace of a run: where a GPU's time went, and changes that would help.
#include "advice/trace_advice.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

using namespace gpo::advice;
using gpo::trace::Engine;
using gpo::trace::Span;
using gpo::trace::TraceRead;
using Doing = TraceRead::Doing;

namespace {

constexpr uint64_t kUs = 1'000;

/// A trace of one GPU with one stream, in microseconds.
class Story {
public:
    Story() {
        trace.program = "a test";
        trace.devices[0] = "GPU 0: A GPU";
    }
    Story& work(Engine engine, const char* label, uint64_t submitted, uint64_t begin, uint64_t end, uint64_t bytes = 0,
                uint32_t lane = 1) {
        Span span;
        span.engine = engine;
        span.kind = gpo::trace::engine_name(engine);
        span.label = label;
        span.stream = "work";
        span.lane = lane;
        span.number = trace.spans.size();
        span.submitted = submitted * kUs;
        span.begin = begin * kUs;
        span.end = end * kUs;
        span.bytes = bytes;
        trace.spans.push_back(span);
        trace.end = std::max(trace.end, span.end);
        return *this;
    }
    Story& host(Doing doing, uint64_t begin, uint64_t end) {
        trace.host.push_back({doing, begin * kUs, end * kUs});
        return *this;
    }
    GpuFacts facts() const {
        const auto all = facts_of(trace);
        REQUIRE(all.size() == 1);
        return all[0];
    }
    std::string text() const { return advise_trace(trace).text; }
    TraceRead trace;
};

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("idle time of a GPU goes to what the host did, and to nothing while the GPU had been given work") {
    Story story;
    story.work(Engine::kernel, "a", 0, 10, 20)
        .work(Engine::kernel, "b", 100, 105, 110)
        .work(Engine::kernel, "c", 103, 130, 140);
    // From 20 on: serialising to 30 within a call to 40, launching to 50, waiting to 80, then something else; the
    // launch at 100 begins at 105. The kernel that begins at 130 was queued since 110.
    story.host(Doing::launching, 15, 22).host(Doing::calling, 25, 40).host(Doing::serialising, 25, 30);
    story.host(Doing::launching, 40, 50).host(Doing::waiting, 45, 80).host(Doing::launching, 99, 104);
    const Idle idle = story.facts().idle;
    CHECK(idle.serialising == 5 * kUs);
    CHECK(idle.launching == (2 + 10 + 1 + 5) * kUs);
    CHECK(idle.waiting == 30 * kUs);
    CHECK(idle.queued == 20 * kUs);
    CHECK(idle.host == (80 - 5 - 13 - 30) * kUs);
    CHECK(idle.waits == 1);
    CHECK(idle.all() == 105 * kUs);
    CHECK(story.facts().figures.any == 25 * kUs);
}

TEST_CASE("work of several streams at a time leaves no idle time, and calls of several threads count once") {
    Story story;
    story.work(Engine::kernel, "a", 0, 10, 50)
        .work(Engine::kernel, "b", 0, 20, 30, 0, 2)
        .work(Engine::kernel, "c", 60, 70, 80);
    story.host(Doing::waiting, 50, 60).host(Doing::waiting, 45, 65).host(Doing::launching, 55, 60);
    const Idle idle = story.facts().idle;
    CHECK(idle.all() == 20 * kUs);
    CHECK(idle.waiting == 5 * kUs);
    CHECK(idle.launching == 15 * kUs);
}

TEST_CASE("a sequence that repeats is found with its length, whatever came before it") {
    Story story;
    const char* const names[] = {"a", "b", "c"};
    uint64_t at = 0;
    const auto add = [&](const char* name) {
        story.work(Engine::kernel, name, at, at + 1, at + 2);
        at += 2;
    };
    CHECK(facts_of(story.trace).empty());
    add("start");
    for (int i = 0; i < 90; ++i) add(names[i % 3]);
    CHECK(story.facts().period == 3);
    uint64_t random = 1;
    Story other;
    for (int i = 0; i < 300; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        other.work(Engine::kernel, names[(random >> 33) % 3], 2 * static_cast<uint64_t>(i),
                   2 * static_cast<uint64_t>(i) + 1, 2 * static_cast<uint64_t>(i) + 2);
    }
    CHECK(other.facts().period == 0);
}

TEST_CASE("short kernels that the host launches one by one: the text names launches and advises a graph") {
    Story story;
    for (uint64_t i = 0; i < 1000; ++i) {
        story.host(Doing::launching, 10 * i, 10 * i + 9);
        story.work(Engine::kernel, i % 2 ? "b" : "a", 10 * i + 5, 10 * i + 8, 10 * i + 10);
        ++story.trace.launches;
        story.trace.launch_time += 9 * kUs;
    }
    const TraceAdvice advice = advise_trace(story.trace);
    INFO(advice.text);
    CHECK(says(advice.text, "most of it launches of the host"));
    CHECK(says(advice.text, "the sequence of 2 operations repeats, 500 times"));
    CHECK(says(advice.text, "1. a graph template: "));
    CHECK(advice.workload.flags == GPO_WORKLOAD_REPEATS);
    CHECK(advice.workload.launches == 2);
    CHECK(advice.workload.kernel_ns == 4 * kUs);
    CHECK(advice.workload.round_ns == 19'984);  // the first one began late
    CHECK(advice.workload.streams == 1);
}

TEST_CASE("copies that run alone: the text names copies and advises a pipeline") {
    Story story;
    constexpr uint64_t kBytes = 256 << 20;
    story.work(Engine::copy_in, "", 0, 10, 5010, kBytes).work(Engine::kernel, "k", 1, 5010, 7010);
    story.work(Engine::copy_out, "", 2, 7010, 12010, kBytes);
    const std::string text = story.text();
    INFO(text);
    CHECK(says(text, "most of it copies"));
    CHECK(says(text, "(0.0 % of that beside other work)"));
    CHECK(says(text, "a pipeline: "));
    CHECK(!says(text, "repeats"));
    // 51 GB/s each way: the advice explains the copies, and a pipeline's effect on them.
    CHECK(says(text, "Copies take 10.0 ms and kernels 2.00 ms, one after the other"));
}

TEST_CASE("a loop that waits for each result: the text names waits and advises a while node") {
    Story story;
    for (uint64_t i = 0; i < 200; ++i) {
        const uint64_t at = 30 * i;
        story.host(Doing::launching, at, at + 3).work(Engine::kernel, "step", at + 2, at + 5, at + 7);
        story.host(Doing::launching, at + 3, at + 6).work(Engine::copy_out, "", at + 5, at + 8, at + 9, 4);
        story.host(Doing::waiting, at + 6, at + 30);
    }
    const TraceAdvice advice = advise_trace(story.trace);
    INFO(advice.text);
    CHECK(says(advice.text, "most of it waits of the host"));
    CHECK(says(advice.text, "1. a graph template with a while node: "));
    CHECK(advice.workload.decisions == 1);
}

TEST_CASE("a GPU that is busy all the time is left alone") {
    Story story;
    for (uint64_t i = 0; i < 50; ++i) story.work(Engine::kernel, "long", i, 10 + 1000 * i, 1010 + 1000 * i);
    const std::string text = story.text();
    INFO(text);
    CHECK(says(text, "most of it kernels"));
    CHECK(says(text, "1. leave it: "));
}

TEST_CASE("a run that mostly is the host's own code is told so, and never to be left as it is") {
    for (const uint64_t own : {60, 80, 95}) {
        CAPTURE(own);
        Story story;
        for (uint64_t i = 0; i < 50; ++i) {   // the GPU has work until the host begins its own
            const uint64_t at = 100 * i;
            story.host(Doing::launching, at, at + 1).work(Engine::kernel, "k", at, at + 1, at + 101 - own);
        }
        const std::string text = story.text();
        INFO(text);
        CHECK(says(text, "most of it other work of the host"));
        CHECK(says(text, "1. the host's own code: no engine works while it runs"));
        CHECK(!says(text, "leave it"));
    }
    Story story;   // of 492 ms 49 times 8, between works of the GPU of 2 ms
    for (uint64_t i = 0; i < 50; ++i) {
        const uint64_t at = 10'000 * i;
        story.host(Doing::launching, at, at).work(Engine::kernel, "k", at, at, at + 2'000);
    }
    const std::string text = story.text();
    INFO(text);
    CHECK(says(text, " 79.7 % of the time"));
    CHECK(says(text, "1.26 times as fast; without that code 4.92 times"));
}

TEST_CASE("what a trace says of itself is in the text: that it ends early, lost records, serialising calls, no work") {
    Story story;
    CHECK(says(story.text(), "no GPU's work has times in it"));
    CHECK(advise_trace(story.trace).workload.launches == 0);
    story.trace.whole = false;
    story.trace.dropped = 17;
    story.trace.serialised["module load"] = 3;
    const std::string text = story.text();
    CHECK(says(text, "trace of a test"));
    CHECK(says(text, "ends early"));
    CHECK(says(text, "17 records were lost"));
    CHECK(says(text, "serialising: 3 x module load"));
}
