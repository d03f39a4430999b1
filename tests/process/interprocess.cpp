// Memory and events of several processes. An exporter starts an importer and passes it the bytes; each meets the
// other's death. On CUDA both have the same GPU.
// RUN: GPUORCH_DEVICE=soft memory
// RUN: GPUORCH_DEVICE=soft GPUORCH_SOFT_GUARD=1 memory
// RUN: GPUORCH_DEVICE=soft events
// RUN: GPUORCH_DEVICE=soft exporter_dies
// RUN: GPUORCH_DEVICE=soft recorder_dies
// RUN: GPUORCH_DEVICE=soft importer_dies
// RUN: GPUORCH_DEVICE=soft refused
// RUN: GPUORCH_DEVICE=soft deterministic
// RUN: GPUORCH_DEVICE=cuda memory
// RUN: GPUORCH_DEVICE=cuda events
// RUN: GPUORCH_DEVICE=cuda exporter_dies
// RUN: GPUORCH_DEVICE=cuda recorder_dies
// RUN: GPUORCH_DEVICE=cuda importer_dies
// RUN: GPUORCH_DEVICE=cuda refused
#include <fcntl.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "process/process.h"

using namespace gpo::test;

namespace {

constexpr uint64_t kWords = 3 * (1 << 18) + 100;   // 3 MiB, and a bit

bool has(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return true;
    std::fprintf(stderr, "`%s` isn't in `%s`\n", part.c_str(), text.c_str());
    return false;
}

// --- what they say to each other ---

class Line {
public:
    Line(int in, int out) : in_(in), out_(out) {}
    void say(const void* data, size_t size) const { EXPECT(write(out_, data, size) == static_cast<ssize_t>(size)); }
    template <class T>
    void say_bytes(const T& value) const { say(&value, sizeof value); }
    void hear(void* data, size_t size) const {
        for (size_t done = 0; done < size;) {
            const ssize_t got = read(in_, static_cast<char*>(data) + done, size - done);
            EXPECT(got > 0);
            done += static_cast<size_t>(got);
        }
    }
    void say(char word) const { say(&word, 1); }
    void hear(char word) const {
        char heard = 0;
        hear(&heard, 1);
        EXPECT(heard == word);
    }

private:
    const int in_, out_;
};

struct Bytes {
    uint8_t bytes[GPO_EXPORT_BYTES];
};

class Partner {
public:
    explicit Partner(const char* scenario) {
        int to[2], from[2];
        EXPECT(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
        const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
        std::fflush(nullptr);
        process = fork();
        EXPECT(process >= 0);
        if (process == 0) {
            dup2(to[0], 0);
            dup2(from[1], 1);
            execl(program.c_str(), program.c_str(), "partner", scenario, nullptr);
            _exit(127);
        }
        close(to[0]);
        close(from[1]);
        line.emplace(from[0], to[1]);
    }
    int code() const {
        int status = 0;
        EXPECT(waitpid(process, &status, 0) == process);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    void kill_it() const { EXPECT(kill(process, SIGKILL) == 0); }   // never waited for, so it stays a zombie
    std::string name() const { return "process " + std::to_string(process); }

    pid_t process = 0;
    std::optional<Line> line;
};

// --- what each has ---

constexpr const char* kAddSource = R"(
extern "C" __global__ void add(unsigned *words, unsigned count, unsigned value)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) words[i] += value;
}
)";

struct Process : Opened {
    gpo_kernel_t gate = compile(device, kGateSource, "gate"), adds = compile(device, kAddSource, "add");

    uint64_t allocate(uint64_t bytes) const {
        uint64_t address = 0;
        EXPECT_OK(gpo_memory_allocate(device, bytes, "shared", &address));
        return address;
    }
    Bytes exported(uint64_t address) const {
        Bytes out{};
        size_t needed = 0;
        EXPECT_OK(gpo_memory_export(device, address, out.bytes, sizeof out, &needed));
        EXPECT(needed == sizeof out);
        return out;
    }
    uint64_t imported(const Bytes& from, uint64_t bytes) const {
        uint64_t address = 0, size = 0;
        EXPECT_OK(gpo_memory_import(device, from.bytes, sizeof from, "theirs", &address, &size));
        EXPECT(size == bytes);
        return address;
    }
    gpo_event_t new_event(uint32_t flags = GPO_EVENT_INTERPROCESS) const {
        auto options = sized<gpo_event_options>();
        options.flags = flags;
        options.label = "step";
        gpo_event_t event = nullptr;
        EXPECT_OK(gpo_event_create(device, &options, &event));
        return event;
    }
    Bytes exported(gpo_event_t event) const {
        Bytes out{};
        EXPECT_OK(gpo_event_export(event, out.bytes, sizeof out, nullptr));
        return out;
    }
    gpo_event_t imported_event(const Bytes& from) const {
        gpo_event_t event = nullptr;
        EXPECT_OK(gpo_event_import(device, from.bytes, sizeof from, "step", &event));
        return event;
    }
    gpo_stream_t new_stream() const {
        gpo_stream_t made = nullptr;
        EXPECT_OK(gpo_stream_create(device, nullptr, &made));
        return made;
    }
    void fill(uint64_t address, uint32_t value, uint64_t words) const {
        EXPECT_OK(gpo_fill(stream, address, value, 4, words));
    }
    void add(uint64_t address, uint32_t value, uint64_t words) const {
        EXPECT_OK(launch_blocks(stream, adds, 4, 64, address, static_cast<uint32_t>(words), value));
    }
    bool all_are(uint64_t address, uint32_t value, uint64_t words) const {
        std::vector<uint32_t> found(words);
        EXPECT_OK(gpo_copy_to_host(stream, found.data(), address, words * 4));
        EXPECT_OK(gpo_stream_wait(stream, kPatience));
        return found == std::vector<uint32_t>(words, value);
    }
    void free(uint64_t address) const { EXPECT_OK(gpo_memory_free(device, address)); }
};

/// A kernel that runs until the word is set.
struct Gate {
    explicit Gate(const Process& of) : open(pinned(of.device, 1)) {
        EXPECT_OK(launch(of.stream, of.gate, reinterpret_cast<uint64_t>(open)));
    }
    void let_go() const { __atomic_store_n(open, 1u, __ATOMIC_SEQ_CST); }
    uint32_t* open;
};

int64_t milliseconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count();
}

// --- memory ---

// The small ones may lie in one page.
const uint64_t kSizes[] = {64, 100, 1025, kWords};   // words

int memory() {
    Partner partner("memory");
    const Line& line = *partner.line;
    Process a;
    std::vector<uint64_t> addresses;
    for (const uint64_t words : kSizes) {
        addresses.push_back(a.allocate(words * 4));
        a.fill(addresses.back(), static_cast<uint32_t>(words), words);
    }
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
    for (const uint64_t address : addresses) line.say_bytes(a.exported(address));
    line.hear('w');
    for (size_t i = 0; i < addresses.size(); ++i)
        EXPECT(a.all_are(addresses[i], static_cast<uint32_t>(kSizes[i]) + 7, kSizes[i]));
    for (size_t i = 0; i < addresses.size(); ++i) a.add(addresses[i], 1, kSizes[i]);
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
    line.say('r');
    EXPECT(partner.code() == 0);
    for (size_t i = 0; i < addresses.size(); ++i) {
        EXPECT(a.all_are(addresses[i], static_cast<uint32_t>(kSizes[i]) + 8, kSizes[i]));
        a.free(addresses[i]);
    }
    a.shut_down();
    return 0;
}

int memory_partner(const Line& line) {
    Process a;
    std::vector<uint64_t> addresses;
    Bytes last{};
    for (const uint64_t words : kSizes) {
        line.hear(&last, sizeof last);
        addresses.push_back(a.imported(last, words * 4));
        EXPECT(addresses.back() % 256 == 0);
        auto info = sized<gpo_memory_info>();
        EXPECT_OK(gpo_memory_describe(a.device, addresses.back(), &info));
        EXPECT(info.kind == GPO_MEMORY_DEVICE);
    }
    for (size_t i = 0; i < addresses.size(); ++i) {
        EXPECT(a.all_are(addresses[i], static_cast<uint32_t>(kSizes[i]), kSizes[i]));
        a.add(addresses[i], 7, kSizes[i]);
    }
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
    line.say('w');
    line.hear('r');
    // A second import, whose end leaves the first one.
    const uint64_t again = a.imported(last, kWords * 4);
    EXPECT(a.all_are(again, static_cast<uint32_t>(kWords) + 8, kWords));
    a.free(again);
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
    EXPECT(a.all_are(addresses.back(), static_cast<uint32_t>(kWords) + 8, kWords));
    Bytes none{};
    EXPECT_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_export(a.device, addresses[0], none.bytes, sizeof none, nullptr));
    EXPECT(has(last_message(), "is imported"));
    for (const uint64_t address : addresses) a.free(address);
    EXPECT_STATUS(GPO_INVALID_ARGUMENT, gpo_memory_free(a.device, addresses[0]));
    // Freed memory can be imported again.
    const uint64_t anew = a.imported(last, kWords * 4);
    EXPECT(a.all_are(anew, static_cast<uint32_t>(kWords) + 8, kWords));
    a.free(anew);
    a.shut_down();
    return 0;
}

// --- events ---

int events() {
    Partner partner("events");
    const Line& line = *partner.line;
    Process a;
    const uint64_t data = a.allocate(kWords * 4);
    const gpo_event_t event = a.new_event();
    EXPECT_OK(gpo_event_query(event));
    a.fill(data, 1, kWords);
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
    line.say_bytes(a.exported(data));
    line.say_bytes(a.exported(event));
    line.hear('i');
    for (int turn = 0; turn < 3; ++turn) {
        const Gate gate(a);
        a.add(data, 1, kWords);
        EXPECT_OK(gpo_event_record(event, a.stream));
        line.say('r');
        line.hear('w');
        gate.let_go();
        line.hear('d');
        EXPECT_OK(gpo_event_query(event));
        line.say('q');
        // The other way round.
        line.hear('r');
        EXPECT_STATUS(GPO_NOT_READY, gpo_event_query(event));
        EXPECT_STATUS(GPO_TIMEOUT, gpo_event_wait(event, 5'000'000));
        EXPECT_OK(gpo_stream_wait_event(a.stream, event));
        EXPECT_STATUS(GPO_TIMEOUT, gpo_stream_wait(a.stream, 5'000'000));
        line.say('w');
        EXPECT(a.all_are(data, static_cast<uint32_t>(2 * turn + 3), kWords));
        line.hear('n');   // the partner has queued its waits: later recordings don't affect them
    }
    {
        // Both destroy the event while it is recorded and waited for.
        const Gate gate(a);
        a.add(data, 1, kWords);
        EXPECT_OK(gpo_event_record(event, a.stream));
        line.say('r');
        line.hear('w');
        EXPECT_OK(gpo_event_destroy(event));
        EXPECT_STATUS(GPO_TIMEOUT, gpo_stream_wait(a.stream, 50'000'000));   // longer than it takes to give words back
        gate.let_go();
    }
    EXPECT(partner.code() == 0);
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
    a.free(data);
    a.shut_down();
    return 0;
}

// Calls that an imported event refuses.
void expect_imported_refuses(const Process& a, gpo_event_t event, gpo_stream_t other) {
    gpo_template_t step = nullptr;
    auto options = sized<gpo_template_options>();
    EXPECT_OK(gpo_template_create(a.device, &options, &step));
    EXPECT_STATUS(GPO_NOT_SUPPORTED, gpo_template_add_event_record(step, nullptr, 0, event, nullptr));
    EXPECT_OK(gpo_template_begin(step, other));
    EXPECT_STATUS(GPO_CAPTURE_REFUSED, gpo_event_record(event, other));
    EXPECT_STATUS(GPO_CAPTURE_REFUSED, gpo_stream_wait_event(other, event));
    EXPECT_STATUS(GPO_CAPTURE_REFUSED, gpo_template_end(step));
    EXPECT_OK(gpo_template_destroy(step));
    Bytes none{};
    EXPECT_STATUS(GPO_INVALID_ARGUMENT, gpo_event_export(event, none.bytes, sizeof none, nullptr));
    void* native = nullptr;
    EXPECT_STATUS(GPO_NOT_SUPPORTED, gpo_event_get_native(event, &native));
}

int events_partner(const Line& line) {
    Process a;
    Bytes memory{}, of_event{};
    line.hear(&memory, sizeof memory);
    line.hear(&of_event, sizeof of_event);
    const uint64_t data = a.imported(memory, kWords * 4);
    const gpo_event_t event = a.imported_event(of_event);
    EXPECT_OK(gpo_event_query(event));
    EXPECT_OK(gpo_event_wait(event, 0));
    line.say('i');
    const gpo_stream_t other = a.new_stream(), held = a.new_stream();
    gpo_timeline_t timeline = nullptr;
    EXPECT_OK(gpo_timeline_create(a.runtime, nullptr, &timeline));
    for (int turn = 0; turn < 3; ++turn) {
        line.hear('r');
        // When a held stream continues, it waits for the event's newest recording, not for an older one.
        EXPECT_OK(gpo_stream_wait_timeline(held, timeline, static_cast<uint64_t>(turn) + 1));
        EXPECT_OK(gpo_stream_wait_event(held, event));
        EXPECT_OK(gpo_timeline_signal(timeline, static_cast<uint64_t>(turn) + 1));
        EXPECT_STATUS(GPO_TIMEOUT, gpo_stream_wait(held, 5'000'000));
        EXPECT_STATUS(GPO_NOT_READY, gpo_event_query(event));
        EXPECT_STATUS(GPO_TIMEOUT, gpo_event_wait(event, 5'000'000));
        EXPECT_OK(gpo_stream_wait_event(a.stream, event));
        EXPECT_OK(gpo_event_notify(event, a.queue, 5));
        EXPECT_STATUS(GPO_TIMEOUT, gpo_cq_wait(a.queue, 5'000'000));
        line.say('w');
        EXPECT_OK(gpo_event_wait(event, kPatience));
        EXPECT(a.all_are(data, static_cast<uint32_t>(2 * turn + 2), kWords));
        EXPECT_OK(gpo_stream_wait(held, kPatience));
        EXPECT_OK(gpo_cq_wait(a.queue, kPatience));
        gpo_completion entry{};
        uint64_t count = 0;
        EXPECT_OK(gpo_cq_drain(a.queue, &entry, sizeof entry, 1, &count));
        EXPECT(count == 1 && entry.user_data == 5 && entry.status == GPO_SUCCESS);
        line.say('d');
        line.hear('q');
        const Gate gate(a);
        a.add(data, 1, kWords);
        EXPECT_OK(gpo_event_record(event, a.stream));
        EXPECT_OK(gpo_stream_wait_event(other, event));
        line.say('r');
        line.hear('w');
        gate.let_go();
        EXPECT_OK(gpo_stream_wait(other, kPatience));
        EXPECT_OK(gpo_event_wait(event, kPatience));
        line.say('n');
    }
    expect_imported_refuses(a, event, other);
    line.hear('r');
    EXPECT_OK(gpo_stream_wait_event(a.stream, event));
    EXPECT_OK(gpo_event_destroy(event));
    line.say('w');
    EXPECT(a.all_are(data, 8, kWords));
    EXPECT_OK(gpo_timeline_destroy(timeline));
    a.free(data);
    a.shut_down();
    return 0;
}

// --- deaths ---

// The partner exports memory and is killed after this process has imported it. The imported memory must stay usable.
int exporter_dies() {
    Partner partner("exporter_dies");
    const Line& line = *partner.line;
    Process a;
    Bytes memory{}, of_event{};
    line.hear(&memory, sizeof memory);
    line.hear(&of_event, sizeof of_event);
    const uint64_t data = a.imported(memory, kWords * 4);
    const gpo_event_t event = a.imported_event(of_event);
    EXPECT_OK(gpo_event_wait(event, kPatience));
    partner.kill_it();
    siginfo_t about{};
    EXPECT(waitid(P_PID, static_cast<id_t>(partner.process), &about, WEXITED | WNOWAIT) == 0);
    uint64_t address = 0, size = 0;
    gpo_event_t none = nullptr;
    EXPECT_STATUS(GPO_PEER_LOST, gpo_memory_import(a.device, memory.bytes, sizeof memory, "", &address, &size));
    EXPECT(has(last_message(), partner.name()));
    EXPECT_STATUS(GPO_PEER_LOST, gpo_event_import(a.device, of_event.bytes, sizeof of_event, nullptr, &none));
    EXPECT(partner.code() == -SIGKILL);
    EXPECT_STATUS(GPO_PEER_LOST, gpo_memory_import(a.device, memory.bytes, sizeof memory, "", &address, &size));
    EXPECT_OK(gpo_event_query(event));
    a.add(data, 1, kWords);
    EXPECT(a.all_are(data, 5, kWords));
    EXPECT_OK(gpo_event_record(event, a.stream));
    EXPECT_OK(gpo_event_wait(event, kPatience));
    a.free(data);
    EXPECT_OK(gpo_event_destroy(event));
    a.shut_down();
    return 0;
}

int exporter_dies_partner(const Line& line) {
    Process a;
    const uint64_t data = a.allocate(kWords * 4);
    const gpo_event_t event = a.new_event();
    a.fill(data, 4, kWords);
    EXPECT_OK(gpo_event_record(event, a.stream));
    line.say_bytes(a.exported(data));
    line.say_bytes(a.exported(event));
    line.hear('-');   // nothing comes
    return 1;
}

bool is_asleep(pid_t thread) {
    const std::string stat = read_whole("/proc/self/task/" + std::to_string(thread) + "/stat");
    return stat.substr(stat.rfind(')') + 2, 1) == "S";
}

// Waits in all ways for a recording that never completes, because `partner`, which made it, is killed.
void lose(const Process& a, gpo_event_t event, const Partner& partner) {
    EXPECT_STATUS(GPO_NOT_READY, gpo_event_query(event));
    const gpo_stream_t waits = a.new_stream(), later = a.new_stream();
    EXPECT_OK(gpo_stream_wait_event(waits, event));
    EXPECT_OK(gpo_event_notify(event, a.queue, 9));
    std::chrono::steady_clock::time_point killed;
    std::thread killer([&] {
        while (!is_asleep(getpid())) std::this_thread::yield();   // until the main thread waits for the event
        killed = std::chrono::steady_clock::now();
        partner.kill_it();
    });
    EXPECT_STATUS(GPO_PEER_LOST, gpo_event_wait(event, kPatience));
    EXPECT(has(last_message(), partner.name()) && has(last_message(), "`step`"));
    killer.join();
    EXPECT(milliseconds_since(killed) < 5000);
    EXPECT_STATUS(GPO_PEER_LOST, gpo_event_query(event));
    EXPECT_STATUS(GPO_PEER_LOST, gpo_stream_wait(waits, kPatience));
    EXPECT(has(last_message(), partner.name()));
    EXPECT_OK(gpo_cq_wait(a.queue, kPatience));
    gpo_completion entry{};
    uint64_t count = 0;
    EXPECT_OK(gpo_cq_drain(a.queue, &entry, sizeof entry, 1, &count));
    EXPECT(count == 1 && entry.user_data == 9 && entry.status == GPO_PEER_LOST);
    EXPECT(milliseconds_since(killed) < 5000);
    // Later calls give the same status.
    EXPECT_STATUS(GPO_PEER_LOST, gpo_stream_wait_event(later, event));
    EXPECT_OK(gpo_event_notify(event, a.queue, 10));
    EXPECT_OK(gpo_cq_wait(a.queue, kPatience));
    EXPECT_OK(gpo_cq_drain(a.queue, &entry, sizeof entry, 1, &count));
    EXPECT(count == 1 && entry.user_data == 10 && entry.status == GPO_PEER_LOST);
    EXPECT_STATUS(GPO_PEER_LOST, gpo_event_query(event));
    EXPECT(partner.code() == -SIGKILL);
    // Until it is recorded anew.
    EXPECT_OK(gpo_event_record(event, later));
    EXPECT_OK(gpo_event_wait(event, kPatience));
    EXPECT_OK(gpo_stream_wait_event(later, event));
    EXPECT_OK(gpo_stream_wait(later, kPatience));
    EXPECT_OK(gpo_stream_destroy(waits));
}

// The process that exported the event dies.
int recorder_dies() {
    Partner partner("recorder_dies");
    Process a;
    Bytes of_event{};
    partner.line->hear(&of_event, sizeof of_event);
    const gpo_event_t event = a.imported_event(of_event);
    lose(a, event, partner);
    EXPECT_OK(gpo_event_destroy(event));
    a.shut_down();
    return 0;
}

int recorder_dies_partner(const Line& line) {
    Process a;
    const Gate gate(a);
    const gpo_event_t event = a.new_event();
    EXPECT_OK(gpo_event_record(event, a.stream));
    line.say_bytes(a.exported(event));
    line.hear('-');
    return 1;
}

// The process that imported the event dies.
int importer_dies() {
    Partner partner("importer_dies");
    const Line& line = *partner.line;
    Process a;
    const uint64_t data = a.allocate(kWords * 4);
    const gpo_event_t event = a.new_event();
    a.fill(data, 4, kWords);
    EXPECT_OK(gpo_event_record(event, a.stream));
    EXPECT_OK(gpo_event_wait(event, kPatience));
    line.say_bytes(a.exported(data));
    line.say_bytes(a.exported(event));
    line.hear('r');
    lose(a, event, partner);
    EXPECT(a.all_are(data, 5, kWords));
    EXPECT_OK(gpo_event_destroy(event));
    a.free(data);
    a.shut_down();
    return 0;
}

int importer_dies_partner(const Line& line) {
    Process a;
    Bytes memory{}, of_event{};
    line.hear(&memory, sizeof memory);
    line.hear(&of_event, sizeof of_event);
    const uint64_t data = a.imported(memory, kWords * 4);
    const gpo_event_t event = a.imported_event(of_event);
    a.add(data, 1, kWords);
    EXPECT_OK(gpo_stream_wait(a.stream, kPatience));
    const Gate gate(a);
    EXPECT_OK(gpo_event_record(event, a.stream));
    line.say('r');
    line.hear('-');
    return 1;
}

// --- refusals that take two ---

// Bytes from another process that are cut, damaged or of the other kind, and exports that have been destroyed.
int refused() {
    Partner partner("refused");
    const Line& line = *partner.line;
    Process a;
    Bytes memory{}, of_event{};
    line.hear(&memory, sizeof memory);
    line.hear(&of_event, sizeof of_event);
    uint64_t address = 0, size = 0;
    gpo_event_t event = nullptr;
    const auto refuse_memory = [&](const Bytes& from, size_t bytes, const char* why) {
        EXPECT_STATUS(GPO_INVALID_ARGUMENT,
                      gpo_memory_import(a.device, from.bytes, bytes, nullptr, &address, &size));
        EXPECT(has(last_message(), why));
    };
    const auto refuse_event = [&](const Bytes& from, size_t bytes, const char* why) {
        EXPECT_STATUS(GPO_INVALID_ARGUMENT, gpo_event_import(a.device, from.bytes, bytes, nullptr, &event));
        EXPECT(has(last_message(), why));
    };
    refuse_memory(memory, sizeof memory - 1, "bytes is 255");
    refuse_memory(Bytes{}, sizeof memory, "nothing that this version of the library has exported");
    refuse_memory(of_event, sizeof of_event, "is of an event, not of memory");
    refuse_event(memory, sizeof memory, "is of memory, not of an event");
    refuse_event(of_event, 0, "bytes is 0");
    for (const size_t place : {20, 60, 100, 200, 255}) {
        Bytes damaged = memory;
        damaged.bytes[place] ^= 1;
        refuse_memory(damaged, sizeof damaged, "damaged");
    }
    EXPECT(address == 0 && size == 0 && event == nullptr);
    line.say('f');
    line.hear('f');
    refuse_event(of_event, sizeof of_event, partner.name().c_str());
    line.say('e');
    EXPECT(partner.code() == 0);
    a.shut_down();
    return 0;
}

int refused_partner(const Line& line) {
    Process a;
    const uint64_t data = a.allocate(4096);
    const gpo_event_t event = a.new_event();
    line.say_bytes(a.exported(data));
    line.say_bytes(a.exported(event));
    line.hear('f');
    a.free(data);
    EXPECT_OK(gpo_event_destroy(event));
    a.check_works();
    line.say('f');
    line.hear('e');
    a.shut_down();
    return 0;
}

int deterministic() {
    auto options = sized<gpo_runtime_options>();
    options.schedule_seed = 7;
    Opened a(options);
    uint64_t address = 0, size = 0;
    EXPECT_OK(gpo_memory_allocate(a.device, 4096, nullptr, &address));
    Bytes bytes{};
    EXPECT_STATUS(GPO_NOT_SUPPORTED, gpo_memory_export(a.device, address, bytes.bytes, sizeof bytes, nullptr));
    EXPECT(has(last_message(), "deterministic"));
    EXPECT_STATUS(GPO_NOT_SUPPORTED, gpo_memory_import(a.device, bytes.bytes, sizeof bytes, nullptr, &address, &size));
    gpo_event_t event = nullptr;
    auto of_event = sized<gpo_event_options>();
    of_event.flags = GPO_EVENT_INTERPROCESS;
    EXPECT_STATUS(GPO_NOT_SUPPORTED, gpo_event_create(a.device, &of_event, &event));
    EXPECT_STATUS(GPO_NOT_SUPPORTED, gpo_event_import(a.device, bytes.bytes, sizeof bytes, nullptr, &event));
    EXPECT_OK(gpo_memory_free(a.device, address));
    a.shut_down();
    return 0;
}

struct Scenario {
    const char* name;
    int (*first)();
    int (*partner)(const Line&);
};
const Scenario kScenarios[] = {
    {"memory", memory, memory_partner},
    {"events", events, events_partner},
    {"exporter_dies", exporter_dies, exporter_dies_partner},
    {"recorder_dies", recorder_dies, recorder_dies_partner},
    {"importer_dies", importer_dies, importer_dies_partner},
    {"refused", refused, refused_partner},
    {"deterministic", deterministic, nullptr},
};

}  // namespace

int main(int count, char** words) {
    const std::vector<std::string> given(words + 1, words + count);
    EXPECT(!given.empty());
    for (const Scenario& scenario : kScenarios) {
        if (scenario.name != given.back()) continue;
        if (given[0] == "partner") return scenario.partner(Line(0, 1));
        skip_without_device("interprocess");
        return scenario.first();
    }
    EXPECT(false);
}
