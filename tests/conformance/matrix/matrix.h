// The matrix: every operation, at every place, looked at in every way.
//
// A *cell* is an operation, a place and a look. An *operation* is what a program asks of the GPU (operations.cpp): it
// ends by setting a word of pinned memory to kDone. A *place* is where the program asks for it (places.cpp): on a held
// stream, in a recording, in a callback, … A *look* is how the program learns that it is done (looks.cpp).
//
// The expected outcome of a cell is computed (rules.cpp) from properties of the three, never taken from the library's
// behaviour. A cell that works is tested with a closed gate: while the gate is closed every look says "not yet"; when
// it opens, data, order and the number of completions are right. A cell that is refused gives the status that a header
// names, and leaves everything usable.
//
//     GPUORCH_TEST_CELL="kernel|held|event" gpuorch_conformance -tc="matrix*"     one cell; an empty part means all
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "conformance/peers/rig.h"
#include "support/gpu.h"
#include "support/report.h"
#include "support/setting.h"

namespace gpo::test::matrix {

/// Value that an operation stores in its word.
constexpr uint32_t kDone = 7;

/// Value that makes a gate crash.
constexpr uint32_t kCrash = 2;

/// Shared by cells: a runtime with its devices, kernels, and words of pinned memory. Each cell's gate is another word,
/// so a cell can be tested after a failed cell.
class World {
    Setting two_devices_{"GPUORCH_SOFT_DEVICES", "2"};

public:
    World();
    ~World();
    /// A word, 0 at first.
    uint32_t* word();
    /// Whether words are left for one more cell.
    bool fresh() const noexcept { return used_ + 256 < words_.size(); }
    gpo_status write(gpo_stream_t on, uint32_t* to, uint32_t value) { return launch(on, write_word, 1, 1, to, value); }
    /// *to = *from + value.
    gpo_status add(gpo_stream_t on, uint32_t* to, const uint32_t* from, uint32_t value) {
        return launch(on, add_word, 1, 1, to, from, value);
    }
    /// A kernel that ends when the word isn't 0; kCrash makes it crash.
    gpo_status gate(gpo_stream_t on, const uint32_t* open) { return launch(on, gate_word, 1, 1, open); }
    void set(uint32_t* word, uint32_t value);
    /// A node with a kernel of two arguments, a word's address and a number.
    gpo_status node(gpo_template_t in, gpo_kernel_t kernel, uint32_t* word, uint32_t number, const uint32_t* after,
                    uint32_t count, uint32_t* node);

    Gpu gpu;
    std::vector<Device> devices;      // handles of their own, the first device included
    Kernel write_word, add_word, count_word, gate_word, relaunch;
    Executor executor;
    /// Waits until all callbacks of the executor have run: objects used by them may be destroyed afterwards.
    void wait_for_callbacks();
    /// Waits until the library has freed all destroyed objects. The driver waits for kernels in some of the frees, and
    /// the next cell's kernel waits for the test (stream.h, "Resident streams").
    void wait_for_frees();
    /// A group of the first `ranks` devices.
    Peers group(size_t ranks);

private:
    Pinned<uint32_t> words_;
    size_t used_ = 0;
};

/// An operation, made for one cell. Functions may be empty: an operation without `on_stream` is only ever a node.
struct Act {
    explicit Act(World& world) : world(world), word(world.word()) {}
    Act(const Act&) = delete;

    /// Whether the operation is done, with the right data.
    bool done() const { return read(*word) == kDone; }
    /// Puts the operation on a stream. If it is only a node, launches the graph that prepare() made.
    gpo_status put(gpo_stream_t stream);
    /// Records the operation. `recording`: the template into which `stream` is recorded.
    gpo_status record(gpo_template_t recording, gpo_stream_t stream);
    /// Makes the graph for put(). Called before any gate is closed.
    gpo_status prepare();
    /// Ends the operation's own wait.
    void open() const {
        if (on_open) on_open();
    }

    World& world;
    uint32_t* const word;
    /// A call that needs no stream and may wait for the GPU. Made at the place; before the gate is closed, except on
    /// held and resident streams.
    std::function<gpo_status()> at_once;
    std::function<gpo_status(gpo_stream_t)> on_stream;
    std::function<gpo_status(gpo_template_t, const uint32_t* after, uint32_t count, uint32_t* node)> as_node;
    std::function<void()> on_open, at_end;
    /// Frees and destroys the operation's objects while the GPU still works with them.
    std::function<void()> give_up;
    gpo_event_t event = nullptr;      // recorded by the operation
    std::vector<std::shared_ptr<void>> kept;

    template <class T>
    std::shared_ptr<T> keep(T value) {
        auto made = std::make_shared<T>(std::move(value));
        kept.push_back(made);
        return made;
    }

private:
    Template graph_template_;
    Graph graph_;
};

// Properties of operations.
constexpr uint32_t kNode = 1;            // can be a node of a graph
constexpr uint32_t kBody = 2;            // can be a node of a conditional's body
constexpr uint32_t kNoChild = 4;         // a template with it can't be a child
constexpr uint32_t kNeedsHost = 8;       // done by the host in the stream's order: holds the stream
constexpr uint32_t kWaitsUnsent = 16;    // waits for a signal that isn't submitted yet: holds the stream
constexpr uint32_t kAnswers = 32;        // the call returns a value that is unknown while the stream is held
constexpr uint32_t kLoads = 64;          // loads code, for which the driver waits for all kernels
constexpr uint32_t kNoStream = 128;      // done at once, without a stream
constexpr uint32_t kMarksCapture = 256;  // its event marks a point of a capture, and never completes
constexpr uint32_t kOnlyInGraph = 512;   // a kernel that launches graphs: only a graph may have it
constexpr uint32_t kFromOutside = 1024;  // waits for work outside of the recording
constexpr uint32_t kAlsoNode = 2048;     // also has a function that adds it as a node
constexpr uint32_t kOnlyNode = 4096;     // has a function that adds it as a node, and no function for streams
constexpr uint32_t kEnds = 8192;         // is no work that stays
constexpr uint32_t kTraces = 16384;      // a trace of its own

struct Operation {
    const char* name;
    uint32_t properties;
    void (*make)(World&, Act&);
    bool is(uint32_t property) const noexcept { return properties & property; }
};
const std::vector<Operation>& operations();

// Properties of places.
constexpr uint32_t kRecords = 1;         // calls are recorded
constexpr uint32_t kBuilds = 2;          // nodes are added by functions
constexpr uint32_t kInBody = 4;          // of a conditional
constexpr uint32_t kInChild = 8;
constexpr uint32_t kHeld = 16;           // the stream is held when the call comes
constexpr uint32_t kNeverHeld = 32;      // the stream can't be held
constexpr uint32_t kResident = 64;       // the stream is resident
constexpr uint32_t kBesideResident = 128;
constexpr uint32_t kDriverThread = 256;  // the call comes from a thread of the driver
constexpr uint32_t kCanFail = 512;       // the host can fail what is before the operation

class Site {
public:
    Site(World& world, Act& act) : world(world), act(act), open_word(world.word()) {}
    virtual ~Site() = default;
    /// Statuses of the operation's own call, and of the call that ends a recording.
    struct Calls {
        gpo_status call = GPO_SUCCESS, end = GPO_SUCCESS;
    };
    /// Makes objects early: the driver may wait for other kernels while it makes them. perform() calls it if needed.
    virtual void prepare() {}
    /// Does the operation at this place, behind a closed gate.
    virtual Calls perform() = 0;
    /// Opens the gate.
    virtual void open() { world.set(open_word, 1); }
    /// Fails the work before the operation (kCanFail).
    virtual void fail() {}
    /// Records the template anew with other contents, and updates the graph.
    virtual void record_anew() {}
    /// The graph does what was recorded anew.
    virtual void check_anew() {}
    /// The program destroys its handles while the GPU works.
    virtual void give_up();

    World& world;
    Act& act;
    uint32_t* const open_word;
    Stream stream;      // looks wait for this stream
    gpo_stream_t on() const noexcept { return borrowed ? borrowed : stream.get(); }
    gpo_stream_t borrowed = nullptr;

protected:
    gpo_status gate() { return world.gate(on(), open_word); }
    /// act.at_once. Then waits until the library has freed the operation's objects: the driver waits for gates with
    /// some.
    gpo_status before_gate();
    /// act.at_once, the gate, and the operation.
    gpo_status put_behind_gate();
};

struct Place {
    const char* name;
    uint32_t properties;
    std::unique_ptr<Site> (*make)(World&, Act&);
    bool is(uint32_t property) const noexcept { return properties & property; }
};
const std::vector<Place>& places();

// Properties of looks.
constexpr uint32_t kByEvent = 1;         // by the operation's own event, or an event recorded behind the operation
constexpr uint32_t kByDevice = 2;        // by a wait for all work of the device
constexpr uint32_t kFails = 4;           // the work before the operation is failed
constexpr uint32_t kFreed = 8;           // memory is freed and handles are destroyed meanwhile
constexpr uint32_t kByProcess = 16;      // by an event of several processes
constexpr uint32_t kTracing = 32;        // by a trace

class View {
public:
    View(World& world, Site& site, Act& act) : world(world), site(site), act(act) {}
    virtual ~View() = default;
    /// Called before the operation: makes the calls that may wait for the GPU.
    virtual void before() {}
    /// The gate is closed, and so every look says "not yet".
    virtual void closed() = 0;
    /// The gate has been opened.
    virtual void opened() = 0;
    /// The gate is closed, and this look gives `status` at once.
    virtual void answers(gpo_status) {}

    World& world;
    Site& site;
    Act& act;
    std::atomic<bool> is_open{false};

protected:
    /// The event to look at: the operation's, or `own`, recorded behind the operation.
    gpo_event_t look_at(gpo_event_t own);
};

struct LookKind {
    const char* name;
    uint32_t properties;
    std::unique_ptr<View> (*make)(World&, Site&, Act&);
    bool is(uint32_t property) const noexcept { return properties & property; }
};
const std::vector<LookKind>& looks();

/// The required outcome and its rule: a sentence of a header or a rule of the driver.
struct Expected {
    enum Kind {
        works,
        refused,     // the call gives `status`, and what ends the recording `end`
        fails,       // the call is accepted, and the stream fails with `status` at the operation
        unlooked,    // the operation works, and this look at it gives `status`
        absent       // nothing to test: no such call exists, or a header forbids it
    } kind = works;
    gpo_status status = GPO_SUCCESS, end = GPO_SUCCESS;
    const char* rule = "";
};
Expected expected(const Operation&, const Place&);
Expected expected(const Operation&, const Place&, const LookKind&);

/// Tests a cell whose operation and place go together.
void test(World& world, const Operation& operation, const Place& place, const LookKind& look);

/// The text of libgpuorch/COMPOSES.md: the page of what composes with what.
std::string page();

}  // namespace gpo::test::matrix
