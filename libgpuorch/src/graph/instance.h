// Graphs: instances of a template. Each has an executable graph of the driver's and values for the parameters.
//
// *Wanted* values are for the next launch; *sent* values are those that the driver has. A launch first updates each
// node whose wanted and sent values differ, then launches the driver's graph. If the driver refuses a node, the sent
// values are restored and nothing is launched.
//
// A graph belongs to one recipe. An update to its template's newest recipe keeps the executable graph where the driver
// can, and otherwise makes another. Launches in flight aren't disturbed: the driver has its own copy of them. A launch
// that is held until after an update runs the new recipe, and its values carry over like the graph's (graph/carry.h).
//
// Locks. `lock_` guards all members. A launch takes it inside the stream's submit lock and calls the driver under both:
// two threads may not use an executable graph of the driver's at once.
#pragma once

#include <optional>

#include "graph/carry.h"
#include "graph/held_addresses.h"
#include "graph/template.h"
#include "stream/blocking_calls.h"
#include "stream/launched_events.h"
#include "stream/operation.h"
#include "stream/room.h"

namespace gpo {

class Works;

class Graph final : public Object {
public:
    /// Throws Failure.
    Graph(Ref<Template> of, uint32_t flags, const char* label);

    Context& context() const noexcept { return of_->context(); }
    Template& of() const noexcept { return *of_; }
    /// Throws Failure(GPO_INVALID_HANDLE, GPO_INVALID_ARGUMENT) if the graph can't run on the stream's device.
    void require_device(const Stream& stream) const {
        if (&stream.context() != &context()) [[unlikely]] fail_device(stream);
    }

    /// All or none. Throws Failure.
    void set(std::span<const Setting> settings);
    void set(const char* name, const void* value, uint64_t bytes);
    void get(const char* name, void* value, uint64_t bytes);
    uint32_t parameter(const char* name);
    /// The current values, and their recipe.
    struct Snapshot {
        Ref<Recipe> recipe;
        SetValues values;
    };
    Snapshot snapshot();
    /// Number of nodes of the recipe, with those of bodies.
    uint32_t nodes() noexcept;
    /// Brings the graph to the template's current recipe, and returns the values recorded there. Throws Failure.
    Snapshot recorded();

    /// From an operation's issue(). `values` NULL: the wanted values. Otherwise the graph takes their memory for the
    /// next launch, unless this throws Failure. Recorded events go to `events`, which the caller concludes afterwards.
    void launch(Stream& stream, Snapshot* values, LaunchedEvents& events);
    /// Makes the stream wait for the events for which the graph's own nodes can't wait. Called before each launch.
    /// Throws Failure(GPO_CAPTURE_REFUSED, …).
    gpo_status put_waits(Stream& stream) {
        return waits_.load(std::memory_order_acquire) ? put_all_waits(stream) : GPO_SUCCESS;
    }
    /// From an operation's issue(). Throws Failure.
    void upload(Stream& stream);
    /// Brings the graph to the template's current recipe. Throws Failure, and then the graph is unchanged.
    gpo_graph_update_report update();
    CUgraphExec native();
    /// How often a while's body ran in the newest launch that is done, and whether its limit ended it.
    std::pair<uint32_t, bool> loop(Template& in, uint32_t node);
    /// For kernels that launch the graph: the executable graph, and the address where they leave a failure. Throws
    /// Failure(GPO_INVALID_STATE).
    std::pair<uint64_t, uint64_t> device_handle();
    gpo_status take_device_status();

private:
    ~Graph() override;

    // A node with a field of some parameter, and its work as the driver has it or gets it next.
    struct Patched {
        uint32_t node;
        NodeWork work;
        bool enabled = true, enabled_sent = true;
        bool work_changed = false;
        bool changed() const noexcept { return work_changed || enabled != enabled_sent; }
    };
    struct Target {
        uint32_t patched;   // in patched_
        NodeField field;
    };
    // Device memory in which loops count: two words per loop.
    class Loops final : public Counted {
    public:
        Loops(Context& context, uint32_t count);
        uint32_t count() const noexcept { return count_; }
        uint64_t address(uint32_t loop) const noexcept;

    private:
        ~Loops() override;
        const Ref<Context> context_;
        const uint32_t count_;
        const uint64_t memory_;
    };
    // The driver's executable graph. Launches on resident streams keep a reference, since destroying a graph waits for
    // its launches that loop. If kernels may launch the graph, or if it has conditional or memory nodes, destroying it
    // waits for all kernels on the device.
    class Executable final : public Counted {
    public:
        /// Throws std::bad_alloc.
        Executable(Context& context, const Ref<Recipe>& built);
        CUgraphExec native = nullptr;
        Room::Share room;

    private:
        class Destroy;
        ~Executable() override;
        const Ref<Context> context_;
        const Ref<Recipe> built_;           // given back with the executable
        std::unique_ptr<Destroy> destroy_;  // NULL: destruction waits for no kernel
    };
    // The state that belongs to an executable graph. Made whole, then swapped in.
    struct Instance {
        Ref<Recipe> recipe;                         // whose nodes it has
        Ref<Recipe> built;                          // whose native nodes the driver knows its nodes by
        std::vector<CUgraphNode> natives;           // by the number of a node in `recipe`
        std::vector<Patched> patched;
        std::vector<std::vector<Target>> targets;   // by parameter
        std::vector<bool> resend;                   // parameters to be sent even if unchanged
        std::vector<uint32_t> changed;              // room for all parameters
        Values sent;
        Ref<const Loops> loops;                     // NULL: no loops. Updates keep it if it is large enough
        std::vector<uint64_t> hidden;               // by parameter: address where its while counts
    };
    [[noreturn]] void fail_device(const Stream& stream) const;
    gpo_status put_all_waits(Stream& stream);
    void fail_launch(CUresult result) const;
    static std::string node_text(const Recipe& recipe, uint32_t number);
    // A recipe whose driver's graph may be instantiated now.
    Ref<Recipe> buildable(const Ref<Recipe>& recipe);
    Instance prepare(const Ref<Recipe>& recipe, const Ref<Recipe>& built, const Recipe& sent);
    Ref<const Loops> loops_for(const Recipe& recipe);
    Ref<Executable> instantiate(const Ref<Recipe>& built);
    void free_memory() noexcept;
    void require_device_launch() const;
    void make_device_status(const Recipe& recipe);
    void apply(std::span<const Setting> settings);
    void keep_used(Residence& residence) const;
    void send_snapshot(const Snapshot& values);
    void send(const Values& values);
    void check_addresses(uint32_t parameter, const Values& values) const;
    void write(uint32_t parameter, const Values& values) noexcept;
    CUresult patch(Patched& patched) noexcept;
    void put_back(uint32_t refused) noexcept;
    ErrorPtr error_of_refused(uint32_t refused, CUresult result) const noexcept;
    std::string changed_text(uint32_t in) const;
    bool update_in_place(const Ref<Recipe>& recipe, gpo_graph_update_report& report);
    bool patch_differences(const Recipe& recipe, const Works& works);
    void enable_all();
    void rebuild(const Ref<Recipe>& recipe);
    void note_launches_before();
    void wait_for_launches_before(Stream& stream);
    void forget_launches_before() noexcept;
    void take_over(Instance next) noexcept;

    const Ref<Template> of_;
    const uint32_t flags_;
    std::atomic<bool> waits_{false};   // its nodes wait for events; written under lock_
    host::Mutex lock_;
    // Under lock_:
    Ref<Executable> executable_;
    CUgraphExec exec_ = nullptr;  // of executable_
    Instance instance_;
    SetValues wanted_;            // values that the user has set stay in an update
    HeldAddresses addresses_;
    bool unsent_ = true;          // wanted_ may differ from what was sent
    // The driver puts launches of one executable graph one behind the other. Across a rebuild this class does.
    const Stream* last_ = nullptr;   // of the newest launch of exec_; it may be destroyed
    CUevent before_ = nullptr;    // behind launches of replaced executable graphs; NULL: there is nothing to wait for
    SetValues spare_;             // memory for recorded(), which a launch has given back
    uint32_t* device_status_ = nullptr;   // pinned memory, of a graph that kernels may launch
    std::unique_ptr<HostMemoryFree> device_status_free_;
};

/// The launch of a graph, as an operation.
class LaunchGraph : public HookedOperation {
public:
    /// With the graph's own values, on this stream. Refers to both, which must outlive it.
    LaunchGraph(Graph& graph, Stream& stream);
    /// With these values.
    LaunchGraph(Graph& graph, Stream& stream, Graph::Snapshot values);
    /// Puts the launch on the stream.
    gpo_status put();
    /// Launching and patching an executable graph are both safe beside a capture.
    bool plain() const noexcept override { return true; }
    void issue(Stream& stream) override;
    std::unique_ptr<Operation> held_copy() const override;
    void drop(Stream&, const ErrorPtr& error) noexcept override { events_.drop(error); }
    void afterwards(const ErrorPtr&) noexcept override { events_.release_waiting(); }
    trace::Work work() const noexcept override;
    Ref<const Counted> owner() const noexcept override { return Ref<const Counted>(&graph_); }

private:
    Graph& graph_;
    Stream& stream_;
    LaunchedEvents events_;
    std::optional<Graph::Snapshot> values_;
    Ref<Graph> kept_;   // graph_ too; of a held copy
};

/// The upload of a graph, as an operation.
class UploadGraph final : public Operation {
public:
    explicit UploadGraph(Graph& graph) : Operation("upload of a graph", graph.label()), graph_(&graph) {}
    void issue(Stream& stream) override { graph_->upload(stream); }
    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<UploadGraph>(*graph_); }

private:
    const Ref<Graph> graph_;
};

template <>
struct TypeOf<Graph> { static constexpr Type value = Type::graph; };

}  // namespace gpo
