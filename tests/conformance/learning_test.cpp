// Streams that learn: a repeated sequence is launched as one graph, and nothing else about the stream changes.
#include <array>
#include <chrono>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "support/gpu.h"

using namespace gpo::test;

namespace {

constexpr size_t kWords = 64;
constexpr int kManyTurns = 5000;  // long enough to learn anything, on a machine that does much else

constexpr const char* kSource = R"(
extern "C" __global__ void mix(unsigned *words, unsigned to, unsigned from, unsigned value)
{
    words[to] = words[to] * 3 + words[from] + value + gridDim.x * blockDim.x;
}
extern "C" __global__ void tick(unsigned *word) { *word = *word * 5 + 1; }
)";

/// Memory on the device and on the host, and kernels whose order matters.
struct Field {
    Field(Gpu& gpu, gpo_stream_t stream)
        : stream(stream), words(gpu.memory(kWords * sizeof(uint32_t))), in(gpu.pinned<uint32_t>(kWords)),
          out(gpu.pinned<uint32_t>(kWords)), mix(gpu.kernel(kSource, "mix")), tick(gpu.kernel(kSource, "tick")) {
        for (size_t i = 0; i < kWords; ++i) in[i] = static_cast<uint32_t>(1000 + i);
        REQUIRE_OK(gpo_fill(stream, words, 0, 4, kWords));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    }
    uint64_t word(uint64_t index) const { return words + index * sizeof(uint32_t); }

    gpo_status put_mix(uint32_t to, uint32_t from, uint32_t value, uint32_t threads = 1) {
        return launch(stream, mix, 1, threads, word(0), to, from, value);
    }
    gpo_status put_tick(uint32_t at) { return launch(stream, tick, 1, 1, word(at)); }
    gpo_status put_fill(uint32_t at, uint32_t value, uint32_t bytes) {
        return gpo_fill(stream, word(at), value, bytes, sizeof(uint32_t) / bytes);
    }
    gpo_status put_in(uint32_t to, uint32_t from, uint32_t count) {
        return gpo_copy_to_device(stream, word(to), in.data() + from, count * sizeof(uint32_t));
    }
    gpo_status put_out(uint32_t to, uint32_t from, uint32_t count) {
        return gpo_copy_to_host(stream, out.data() + to, word(from), count * sizeof(uint32_t));
    }
    gpo_status put_across(uint32_t to, uint32_t from, uint32_t count) {
        return gpo_copy_on_device(stream, word(to), word(from), count * sizeof(uint32_t));
    }
    std::vector<uint32_t> contents() {
        std::vector<uint32_t> all(2 * kWords);
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        REQUIRE_OK(gpo_copy_to_host(stream, all.data(), words, words.bytes()));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        for (size_t i = 0; i < kWords; ++i) all[kWords + i] = read(out[i]);
        return all;
    }

    gpo_stream_t stream;
    Memory words;
    Pinned<uint32_t> in, out;
    Kernel mix, tick;
};

/// Ten operations that come again and again with other values.
void put_ten(Field& field, uint32_t turn) {
    REQUIRE_OK(field.put_fill(0, turn, 4));
    for (uint32_t i = 0; i < 4; ++i) REQUIRE_OK(field.put_mix(i + 1, i, turn * 7 + i, 1 + turn % 3));
    REQUIRE_OK(field.put_tick(2));
    REQUIRE_OK(field.put_in(8 + turn % 4, turn % 8, 1 + turn % 3));
    REQUIRE_OK(field.put_across(20 + turn % 5, 1, 2));
    REQUIRE_OK(field.put_mix(30, 21, turn));
    REQUIRE_OK(field.put_out(turn % 16, 20, 4));
}

/// Puts turns of ten operations on the stream until some have been replayed. Returns the number of turns.
uint32_t put_until_replayed(Field& field, uint32_t turn = 0) {
    const uint64_t before = info_of(field.stream).replayed;
    for (const uint32_t last = turn + kManyTurns; turn < last; ++turn) {
        put_ten(field, turn);
        REQUIRE_OK(gpo_stream_wait(field.stream, kPatience));
        if (info_of(field.stream).replayed > before) return turn + 1;
    }
    FAIL("nothing was replayed");
    return 0;
}

struct Learning {
    Gpu gpu;
    Stream stream = gpu.stream("learns", GPO_STREAM_LEARNS);
    Field field{gpu, stream};
};

}  // namespace

TEST_CASE("a sequence that comes again and again is replayed, with the results of a plain stream") {
    Learning learning;
    const uint32_t turns = put_until_replayed(learning.field);
    CHECK(info_of(learning.stream).learned == 10);
    CHECK(info_of(learning.stream).replayed % 10 == 0);
    Stream plain = learning.gpu.stream();
    Field expected(learning.gpu, plain);
    for (uint32_t turn = 0; turn < turns; ++turn) put_ten(expected, turn);
    CHECK(learning.field.contents() == expected.contents());
    CHECK(info_of(plain).replayed == 0);
    CHECK(info_of(plain).learned == 0);
}

namespace {

constexpr const char* kNote = R"(
extern "C" __global__ void note(unsigned *to)
{
    if (threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x + blockIdx.y + blockIdx.z != 0) return;
    to[0] = gridDim.x; to[1] = gridDim.y; to[2] = gridDim.z;
    to[3] = blockDim.x; to[4] = blockDim.y; to[5] = blockDim.z;
}
)";

/// A fill, a kernel that stores its launch shape, and a copy. The memory is 0 before.
struct Turn {
    gpo_launch shape = sized<gpo_launch>();
    uint32_t filled_at = 0, filled = 5, fills = 1;
    uint32_t noted_at = 16;
    uint32_t to = 32, from = 0, count = 1;

    std::vector<uint32_t> run(Field& field, gpo_kernel_t note) {
        // The size of the elements differs from the turn's own fill, so the two aren't confused.
        REQUIRE_OK(gpo_fill(field.stream, field.words, 0, 1, kWords * sizeof(uint32_t)));
        REQUIRE_OK(gpo_stream_wait(field.stream, kPatience));
        const uint64_t noted = field.word(noted_at);
        const void* arguments[] = {&noted};
        REQUIRE_OK(gpo_fill(field.stream, field.word(filled_at), filled, 4, fills));
        REQUIRE_OK(gpo_stream_launch_kernel(field.stream, note, &shape, arguments, nullptr, 1));
        REQUIRE_OK(field.put_in(to, from, count));
        return field.contents();
    }
};

}  // namespace

TEST_CASE("whichever one value of an operation changes, its replay has the new one") {
    Learning learning;
    Kernel note = learning.gpu.kernel(kNote, "note");
    Stream plain = learning.gpu.stream();
    Field expected(learning.gpu, plain);
    struct Change {
        const char* what;
        std::function<void(Turn&)> make;
    };
    std::vector<Change> changes = {{"nothing", [](Turn&) {}},
                                   {"where a fill begins", [](Turn& turn) { turn.filled_at = 2; }},
                                   {"a fill's value", [](Turn& turn) { turn.filled = 6; }},
                                   {"a fill's length", [](Turn& turn) { turn.fills = 3; }},
                                   {"an argument", [](Turn& turn) { turn.noted_at = 24; }},
                                   {"where a copy goes", [](Turn& turn) { turn.to = 40; }},
                                   {"where a copy is from", [](Turn& turn) { turn.from = 7; }},
                                   {"a copy's length", [](Turn& turn) { turn.count = 2; }}};
    for (size_t axis = 0; axis < 3; ++axis) {
        changes.push_back({"a side of the grid", [axis](Turn& turn) { turn.shape.grid[axis] = 2; }});
        changes.push_back({"a side of the block", [axis](Turn& turn) { turn.shape.block[axis] = 2; }});
    }
    Turn usual;
    for (size_t axis = 0; axis < 3; ++axis) usual.shape.grid[axis] = usual.shape.block[axis] = 1;
    uint32_t replays = 0;
    for (const Change& change : changes) {
        CAPTURE(change.what);
        Turn other = usual;
        change.make(other);
        // The machine's other work decides which turns are replayed. Later turns are, as a rule.
        std::array<bool, 2> replayed{};
        for (int i = 0; i < 200 && !(replayed[0] && replayed[1]); ++i) {
            Turn& turn = i % 2 ? other : usual;
            const uint64_t before = info_of(learning.stream).replayed;
            REQUIRE(turn.run(learning.field, note) == turn.run(expected, note));
            replayed[i % 2] |= info_of(learning.stream).replayed > before;
        }
        replays += replayed[0] && replayed[1];
    }
    CHECK(replays > 0);
}

TEST_CASE("one kernel after the other, without a pause, is a sequence as well") {
    Learning learning;
    Stream plain = learning.gpu.stream();
    Field expected(learning.gpu, plain);
    // The machine's other work decides how many are replayed before withheld work starts by itself: on a quiet machine
    // nearly all, on a busy one a few among 100,000, as each sequence that breaks makes the rests longer.
    for (int round = 0; round < 20 || (round < 200 && info_of(learning.stream).replayed < 500); ++round) {
        for (uint32_t i = 0; i < 500; ++i) REQUIRE_OK(learning.field.put_mix(i % 8, (i + 3) % 8, i));
        for (uint32_t i = 0; i < 500; ++i) REQUIRE_OK(expected.put_mix(i % 8, (i + 3) % 8, i));
        REQUIRE_OK(gpo_stream_wait(learning.stream, kPatience));
    }
    CHECK(info_of(learning.stream).replayed > 0);
    CHECK(learning.field.contents() == expected.contents());
}

TEST_CASE("a stream with a priority learns as well") {
    Gpu gpu;
    auto options = sized<gpo_stream_options>();
    options.flags = GPO_STREAM_LEARNS;
    options.priority = -1000;
    Stream stream, plain = gpu.stream();
    REQUIRE_OK(gpo_stream_create(gpu.device, &options, stream.out()));
    Field field(gpu, stream), expected(gpu, plain);
    const uint32_t turns = put_until_replayed(field);
    for (uint32_t turn = 0; turn < turns; ++turn) put_ten(expected, turn);
    CHECK(field.contents() == expected.contents());
}

TEST_CASE("operations are accepted, numbered and counted as on a plain stream") {
    Learning learning;
    Stream plain = learning.gpu.stream();
    Field expected(learning.gpu, plain);
    const uint32_t turns = put_until_replayed(learning.field);
    const gpo_statistics before = learning.gpu.statistics();
    CHECK(info_of(learning.stream).accepted == 1 + 10 * uint64_t{turns});
    CHECK(info_of(learning.stream).completed == info_of(learning.stream).accepted);
    Queue queue = learning.gpu.queue();
    for (uint32_t i = 0; i < 3; ++i) put_ten(learning.field, i);
    REQUIRE_OK(learning.field.put_fill(0, 1, 4));
    CHECK(info_of(learning.stream).accepted == 2 + 10 * uint64_t{turns + 3});
    CHECK(info_of(learning.stream).held == 0);
    REQUIRE_OK(gpo_stream_notify(learning.stream, queue, 0));
    CHECK(take(queue, 1)[0].operation == info_of(learning.stream).accepted);
    const gpo_statistics after = learning.gpu.statistics();
    CHECK(after.launches - before.launches == 3 * 6);
    CHECK(after.copies - before.copies == 3 * 3);
    CHECK(after.fills - before.fills == 3 + 1);
    CHECK(after.holds == before.holds);
}

TEST_CASE("what is withheld starts by itself") {
    Learning learning;
    const uint32_t turns = put_until_replayed(learning.field);
    Pinned<uint32_t> word = learning.gpu.pinned<uint32_t>(1);
    REQUIRE_OK(learning.field.put_fill(0, turns, 4));
    const uint64_t address = word.address();
    REQUIRE_OK(launch(learning.stream, learning.field.mix, 1, 1, address, 0u, 0u, 5u));
    const uint64_t deadline = monotonic_ns() + kPatience;
    while (read(word[0]) == 0 && monotonic_ns() < deadline) std::this_thread::yield();
    CHECK(read(word[0]) == 6);
}

TEST_CASE("a sequence that goes on otherwise than before runs in the order in which it came") {
    Learning learning;
    Stream plain = learning.gpu.stream();
    Field expected(learning.gpu, plain);
    const auto both = [&](auto put) {
        put(learning.field);
        put(expected);
    };
    const uint32_t turns = put_until_replayed(learning.field);
    for (uint32_t turn = 0; turn < turns; ++turn) put_ten(expected, turn);
    for (uint32_t cut = 1; cut < 6; ++cut) {
        both([&](Field& field) {
            REQUIRE_OK(field.put_fill(0, cut, 4));
            for (uint32_t i = 0; i + 1 < cut; ++i) REQUIRE_OK(field.put_mix(i + 1, i, cut));
            REQUIRE_OK(field.put_across(1, 3, 1));  // differs from the sequence before
            put_ten(field, cut);
        });
    }
    CHECK(learning.field.contents() == expected.contents());
}

TEST_CASE("other streams see what is withheld done where they wait for it") {
    Learning learning;
    Stream other = learning.gpu.stream();
    Event event = learning.gpu.event();
    Timeline timeline = learning.gpu.timeline();
    Pinned<uint32_t> out = learning.gpu.pinned<uint32_t>(3);
    uint32_t turn = put_until_replayed(learning.field);
    const auto put_first = [&] { REQUIRE_OK(learning.field.put_fill(0, ++turn, 4)); };
    const auto copied = [&](size_t at) {
        REQUIRE_OK(gpo_copy_to_host(other, &out[at], learning.field.word(0), sizeof(uint32_t)));
        REQUIRE_OK(gpo_stream_wait(other, kPatience));
        return read(out[at]);
    };
    put_first();
    REQUIRE_OK(gpo_stream_wait_stream(other, learning.stream));
    CHECK(copied(0) == turn);
    put_first();
    REQUIRE_OK(gpo_event_record(event, learning.stream));
    REQUIRE_OK(gpo_stream_wait_event(other, event));
    CHECK(copied(1) == turn);
    put_first();
    REQUIRE_OK(gpo_stream_signal_timeline(learning.stream, timeline, 1));
    REQUIRE_OK(gpo_stream_wait_timeline(other, timeline, 1));
    CHECK(copied(2) == turn);
    put_first();
    REQUIRE_OK(gpo_device_wait(learning.gpu.device, kPatience));
    CHECK(copied(0) == turn);
}

TEST_CASE("a stream is not done while something is withheld") {
    Learning learning;
    const uint32_t turn = put_until_replayed(learning.field);
    REQUIRE_OK(learning.field.put_fill(0, turn, 4));
    const gpo_status status = gpo_stream_query(learning.stream);
    CHECK((status == GPO_SUCCESS || status == GPO_NOT_READY));
    REQUIRE_OK(gpo_stream_wait(learning.stream, kPatience));
    CHECK(learning.field.contents()[0] == turn);
}

TEST_CASE("what is withheld isn't cancelled") {
    Learning learning;
    const uint32_t turn = put_until_replayed(learning.field);
    REQUIRE_OK(learning.field.put_fill(0, turn + 1, 4));
    uint64_t cancelled = 9;
    CHECK_OK(gpo_stream_cancel_held(learning.stream, &cancelled));
    CHECK(cancelled == 0);
    CHECK(learning.field.contents()[0] == turn + 1);
}

TEST_CASE("a stream that is destroyed, or whose runtime is shut down, runs what is withheld") {
    for (const bool destroys : {true, false}) {
        CAPTURE(destroys);
        Learning learning;
        const uint32_t turn = put_until_replayed(learning.field);
        Pinned<uint32_t> words = learning.gpu.pinned<uint32_t>(1);
        REQUIRE_OK(learning.field.put_fill(0, turn, 4));
        REQUIRE_OK(launch(learning.stream, learning.field.mix, 1, 1, words.address(), 0u, 0u, 5u));
        if (destroys) learning.stream.reset();
        CHECK_OK(gpo_device_wait(learning.gpu.device, kPatience));
        CHECK(read(words[0]) == 6);
        if (destroys) continue;
        REQUIRE_OK(learning.field.put_fill(0, turn, 4));
        CHECK_OK(gpo_runtime_shutdown(learning.gpu.runtime, kPatience));
    }
}

TEST_CASE("memory and kernels that are freed stay for what is withheld") {
    Learning learning;
    uint32_t turn = put_until_replayed(learning.field);
    for (int i = 0; i < 20; ++i) {
        Memory scratch = learning.gpu.memory(64);
        put_ten(learning.field, ++turn);
        REQUIRE_OK(gpo_fill(learning.stream, scratch, 3, 4, 16));
    }
    auto options = sized<gpo_compile_options>();
    options.source = kSource;
    Module module;
    REQUIRE_OK(gpo_module_compile(learning.gpu.device, &options, module.out()));
    Kernel own;
    REQUIRE_OK(gpo_module_get_kernel(module, "tick", own.out()));
    const uint64_t word = learning.field.word(0);
    REQUIRE_OK(learning.field.put_fill(0, 0, 4));
    for (const uint64_t before = info_of(learning.stream).replayed; info_of(learning.stream).replayed < before + 100;) {
        for (int i = 0; i < 5; ++i) REQUIRE_OK(launch(learning.stream, own, 1, 1, word));
        REQUIRE_OK(gpo_stream_wait(learning.stream, kPatience));
    }
    REQUIRE_OK(learning.field.put_fill(0, 7, 4));
    for (int i = 0; i < 2; ++i) REQUIRE_OK(launch(learning.stream, own, 1, 1, word));
    module.reset();
    own.reset();
    CHECK(learning.field.contents()[0] == (7 * 5 + 1) * 5 + 1);
}

TEST_CASE("an end of a sequence that is waited for on a held stream is held with the stream") {
    Learning learning;
    Timeline timeline = learning.gpu.timeline();
    const uint32_t turn = put_until_replayed(learning.field);
    REQUIRE_OK(learning.field.put_fill(0, turn, 4));
    REQUIRE_OK(gpo_stream_wait_timeline(learning.stream, timeline, 1));
    const uint64_t replayed = info_of(learning.stream).replayed;
    put_ten(learning.field, turn + 1);
    CHECK(info_of(learning.stream).held == 11);
    CHECK(info_of(learning.stream).replayed == replayed);
    CHECK_OK(gpo_timeline_signal(timeline, 1));
    CHECK(learning.field.contents()[0] == turn + 1);
    static_cast<void>(put_until_replayed(learning.field, turn));
}

TEST_CASE("a stream whose native handle was given out learns no more") {
    Learning learning;
    uint32_t turn = put_until_replayed(learning.field);
    REQUIRE_OK(learning.field.put_fill(0, turn, 4));
    void* native = nullptr;
    REQUIRE_OK(gpo_stream_get_native(learning.stream, &native));
    const uint64_t replayed = info_of(learning.stream).replayed;
    for (int i = 0; i < 50; ++i) put_ten(learning.field, ++turn);
    CHECK(learning.field.contents()[0] == turn);
    CHECK(info_of(learning.stream).replayed == replayed);
}

TEST_CASE("what is withheld is no part of a recording that begins then") {
    Learning learning;
    Template recorded;
    REQUIRE_OK(gpo_template_create(learning.gpu.device, nullptr, recorded.out()));
    const uint32_t turn = put_until_replayed(learning.field);
    REQUIRE_OK(learning.field.put_fill(0, turn, 4));
    REQUIRE_OK(gpo_template_begin(recorded, learning.stream));
    REQUIRE_OK(learning.field.put_tick(0));
    REQUIRE_OK(gpo_template_end(recorded));
    CHECK(learning.field.contents()[0] == turn);
    REQUIRE_OK(gpo_template_launch(recorded, learning.stream, nullptr, sizeof(gpo_setting), 0));
    CHECK(learning.field.contents()[0] == turn * 5 + 1);
}

TEST_CASE("a fill of other elements, or a copy the other way, is no part of a sequence that is known") {
    Learning learning;
    Field& field = learning.field;
    const auto put = [&](uint32_t element, bool in) {
        REQUIRE_OK(field.put_fill(0, 7, element));
        REQUIRE_OK(field.put_tick(0));
        REQUIRE_OK(in ? field.put_in(8, 3, 1) : field.put_across(8, 0, 1));
        const uint64_t before = info_of(learning.stream).replayed;
        REQUIRE_OK(gpo_stream_wait(learning.stream, kPatience));
        return before;
    };
    const auto learn = [&] {
        for (int i = 0; i < kManyTurns; ++i)
            if (const uint64_t before = info_of(learning.stream).replayed; put(4, true) > before) return;
        FAIL("nothing was replayed");
    };
    learn();
    uint64_t replayed = info_of(learning.stream).replayed;
    CHECK(put(2, true) == replayed);
    CHECK(field.contents()[0] == 0x00070007 * 5 + 1);
    learn();
    replayed = info_of(learning.stream).replayed;
    CHECK(put(4, false) == replayed);
    CHECK(field.contents()[8] == 7 * 5 + 1);
}

TEST_CASE("operations that never repeat are never withheld") {
    Learning learning;
    std::mt19937 random(5);
    for (int i = 0; i < 3000; ++i) {
        switch (random() % 5) {
            case 0: REQUIRE_OK(learning.field.put_tick(random() % 8)); break;
            case 1: REQUIRE_OK(learning.field.put_fill(random() % 8, 1, 4)); break;
            case 2: REQUIRE_OK(learning.field.put_fill(random() % 8, 1, 1)); break;
            case 3: REQUIRE_OK(learning.field.put_across(8, 1, 2)); break;
            default: REQUIRE_OK(learning.field.put_mix(1, 2, 3)); break;
        }
    }
    CHECK(info_of(learning.stream).learned == 0);
    CHECK(info_of(learning.stream).replayed == 0);
    CHECK_OK(gpo_stream_wait(learning.stream, kPatience));
}

TEST_CASE("a sequence that is broken each time is forgotten, and another one is learned") {
    Learning learning;
    uint32_t turn = put_until_replayed(learning.field);
    for (int i = 0; i < 400; ++i) {
        REQUIRE_OK(learning.field.put_fill(0, ++turn, 4));
        REQUIRE_OK(learning.field.put_mix(1, 0, turn));
        REQUIRE_OK(learning.field.put_tick(5));
        REQUIRE_OK(gpo_stream_wait(learning.stream, kPatience));
    }
    CHECK(info_of(learning.stream).learned == 3);
}

TEST_CASE("launches with attributes, and rows, are put on the stream one by one") {
    Learning learning;
    auto shape = sized<gpo_launch>();
    shape.grid[0] = shape.block[0] = 1;
    shape.flags = GPO_LAUNCH_PRIORITY;
    const uint64_t word = learning.field.word(3);
    const void* arguments[] = {&word};
    const uint32_t sizes[] = {sizeof word};
    for (int i = 0; i < 100; ++i) {
        REQUIRE_OK(gpo_stream_launch_kernel(learning.stream, learning.field.tick, &shape, arguments, sizes, 1));
        REQUIRE_OK(gpo_fill_rows(learning.stream, learning.field.word(8), 8, 1, 4, 4));
    }
    CHECK_OK(gpo_stream_wait(learning.stream, kPatience));
    CHECK(info_of(learning.stream).replayed == 0);
}

TEST_CASE("a blocking stream, or one that is wrapped, can't learn") {
    Gpu gpu;
    auto options = sized<gpo_stream_options>();
    options.flags = GPO_STREAM_LEARNS | GPO_STREAM_BLOCKING;
    gpo_stream_t stream = nullptr;
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_stream_create(gpu.device, &options, &stream));
    options.flags = GPO_STREAM_LEARNS;
    CHECK_STATUS(GPO_NOT_SUPPORTED, gpo_stream_wrap(gpu.device, nullptr, &options, &stream));
    CHECK(stream == nullptr);
    REQUIRE_OK(gpo_stream_create(gpu.device, &options, &stream));
    CHECK(info_of(stream).flags == GPO_STREAM_LEARNS);
    CHECK_OK(gpo_stream_destroy(stream));
}

TEST_CASE("two threads put work on a stream that learns") {
    Learning learning;
    Stream& stream = learning.stream;
    constexpr uint32_t kTurns = 2000;
    const auto put = [&](uint32_t at) {
        for (uint32_t turn = 0; turn < kTurns; ++turn) {
            for (uint32_t i = 0; i < 5; ++i) {
                const gpo_status status = learning.field.put_tick(at);
                if (status != GPO_SUCCESS) return status;
            }
            const gpo_status status = turn % 16 ? GPO_SUCCESS : gpo_stream_wait(stream, kPatience);
            if (status != GPO_SUCCESS) return status;
        }
        return gpo_status{GPO_SUCCESS};
    };
    gpo_status other = GPO_INTERNAL;
    std::thread thread([&] { other = put(1); });
    const gpo_status mine = put(0);
    thread.join();
    CHECK_OK(mine);
    CHECK_OK(other);
    uint32_t expected = 0;
    for (uint32_t i = 0; i < 5 * kTurns; ++i) expected = expected * 5 + 1;
    const std::vector<uint32_t> contents = learning.field.contents();
    CHECK(contents[0] == expected);
    CHECK(contents[1] == expected);
    CHECK(info_of(stream).accepted == 1 + 2 * 5 * kTurns + 1);
}

// --- any mix of sequences ---

namespace {

/// A step of a program: an operation with its values, or a call that concerns the stream.
struct Step {
    uint32_t kind, a, b, c;
};
constexpr uint32_t kOperations = 7, kCalls = 6;  // numbers of cases in take_step

Step operation(std::mt19937& random) { return {static_cast<uint32_t>(random() % kOperations), 0, 0, 0}; }

/// Motifs: each is repeated a few to many times, with other values each time. Other calls come between motifs, and
/// sometimes inside a motif.
std::vector<Step> random_program(uint64_t seed) {
    std::mt19937 random(static_cast<uint32_t>(seed));
    std::vector<Step> program;
    for (int part = 0; part < 6; ++part) {
        std::vector<Step> motif;
        for (uint32_t size = 1 + random() % 12; size > 0; --size) motif.push_back(operation(random));
        const uint32_t odd = random() % 3 == 0 ? 20 : 2000;
        const bool calls_between = random() % 2;
        const uint32_t call = kOperations + static_cast<uint32_t>(random() % kCalls);
        for (uint32_t times = 1 + random() % 60; times > 0; --times) {
            for (Step step : motif) {
                if (random() % odd == 0) step = operation(random);
                if (random() % odd == 0)
                    program.push_back({kOperations + static_cast<uint32_t>(random() % kCalls), 0, 0, 0});
                step.a = random() % (kWords - 8);
                step.b = random() % (kWords - 8);
                step.c = random() % 1000;
                program.push_back(step);
            }
            if (calls_between) program.push_back({call, 0, 0, 0});
        }
    }
    return program;
}

/// Destination of a copy, apart from its source.
uint32_t apart(uint32_t from) { return from < kWords / 2 ? from + 16 : from - 16; }

void take_step(Field& field, gpo_stream_t other, gpo_cq_t queue, const Step& step) {
    switch (step.kind) {
        case 0: CHECK_OK(field.put_mix(step.a, step.b, step.c, 1 + step.c % 4)); break;
        case 1: CHECK_OK(field.put_tick(step.a)); break;
        case 2: CHECK_OK(field.put_fill(step.a, step.c, 4)); break;
        case 3: CHECK_OK(field.put_fill(step.a, step.c, 1 + step.c % 2)); break;
        case 4: CHECK_OK(field.put_in(step.a, step.b, 1 + step.c % 8)); break;
        case 5: CHECK_OK(field.put_out(step.a, step.b, 1 + step.c % 8)); break;
        case 6: CHECK_OK(field.put_across(apart(step.a), step.a, 1 + step.c % 8)); break;
        case 7: CHECK_OK(gpo_stream_wait(field.stream, kPatience)); break;
        case 8: static_cast<void>(gpo_stream_query(field.stream)); break;
        case 9:
            CHECK_OK(gpo_stream_notify(field.stream, queue, 0));
            CHECK(take(queue, 1)[0].status == GPO_SUCCESS);
            break;
        case 10:
            CHECK_OK(gpo_stream_wait_stream(other, field.stream));
            CHECK_OK(gpo_stream_wait_stream(field.stream, other));
            break;
        // A pause, so that withheld work may start by itself. No check depends on it.
        case 11: std::this_thread::sleep_for(std::chrono::microseconds(200)); break;
        default: CHECK_OK(gpo_stream_cancel_held(field.stream, nullptr)); break;
    }
}

}  // namespace

TEST_CASE("any mix of sequences leaves in memory what it leaves on a plain stream") {
    Gpu gpu;
    Queue queue = gpu.queue();
    Stream other = gpu.stream();
    uint64_t replayed = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        Stream plain = gpu.stream(), learning = gpu.stream("learns", GPO_STREAM_LEARNS);
        Field expected(gpu, plain), field(gpu, learning);
        for (const Step& step : random_program(seed)) {
            take_step(expected, other, queue, step);
            take_step(field, other, queue, step);
        }
        REQUIRE(field.contents() == expected.contents());
        CHECK(info_of(learning).accepted == info_of(plain).accepted);
        replayed += info_of(learning).replayed;
    }
    CHECK(replayed > 0);
}
