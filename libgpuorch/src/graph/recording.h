// A recording of a stream and of all that join it, as a transaction.
//
// While a recording is direct, operations add nodes to it, each stream has its last nodes, and events name nodes. When
// a node is added by itself, the driver gets a graph with the nodes so far, to which the node is added. Later nodes get
// there with the next such addition, or after the recording.
//
// Where only the driver can record an operation, the recording *enters the capture*: the nodes move into a capture of
// the driver, with the streams and events where they were. If the recording has a graph, the driver captures into that
// graph, and the nodes stay there with the bodies of conditional nodes. From then on streams report the operations that
// are captured (stream/captures.h). The reports give nodes their labels and owners, and a failure its reason.
//
// The capture is in relaxed mode: calls on other threads, and allocations, don't break it. The capture always ends with
// the recording, and then all streams can be used again.
//
// Locks: `lock_` is taken inside submit locks and inside the lock of the list of listeners. An Addition holds it: no
// submit lock may be taken meanwhile.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "graph/node.h"
#include "kernel/kernel.h"
#include "stream/captures.h"
#include "stream/stream.h"

namespace gpo {

class GraphRecording final : public StreamRecording {
public:
    /// `nodes`: about how many there will be. Has no effect before begin(). Throws std::bad_alloc.
    GraphRecording(Ref<Stream> stream, size_t nodes);
    /// Throws Failure(GPO_CAPTURE_REFUSED, GPO_INVALID_STATE, …), and then the stream is unchanged.
    void begin();
    /// Ends the recording, unless it has ended: the streams can be used as before.
    void discard() noexcept;

    Stream& stream() const noexcept { return *stream_; }
    bool on_this_thread() const noexcept override;
    /// Whether the driver captures nothing.
    bool direct() const noexcept { return direct_.load(std::memory_order_acquire); }

    /// Nodes are added by themselves. Meanwhile the recording stays direct, or stays a capture. Inside a DriverScope.
    class Addition {
    public:
        /// The graph gets all nodes that were recorded. Throws Failure.
        explicit Addition(GraphRecording& recording);
        /// The graph to which nodes are added. It belongs to the recording or to the driver's capture.
        CUgraph graph() const noexcept { return recording_->capturing_ ? recording_->capturing_ : recording_->graph_; }
        /// Becomes true if the graph is destroyed before the recording ends.
        std::shared_ptr<const std::atomic<bool>> lost() const noexcept { return recording_->lost_; }
        bool direct() const noexcept { return recording_->direct(); }
        /// The nodes of a direct recording, or those that were recorded before the capture.
        std::span<const Node> nodes() const noexcept { return recording_->nodes_; }
        /// The graph of the direct recording has got these nodes. Throws std::bad_alloc, and then nothing is noted.
        void note(std::span<const Node> added);

    private:
        Ref<GraphRecording> recording_;
        std::unique_lock<host::Mutex> lock_;
    };

    /// The nodes of a direct recording, in order, from number `first` on. Nodes that are in the recording's graph or in
    /// the capture have native nodes. Throws std::bad_alloc.
    std::vector<Node> direct_nodes(size_t first) const;
    /// Sets the native node of `node`, a copy of the node `number`. False if there is no native node yet.
    bool place(uint32_t number, Node& node) const;
    /// The same, moved out of an ended recording.
    std::vector<Node> take_direct_nodes(size_t first);

    /// A node that an operation of ours made in the capture.
    struct Made {
        CUgraphNode node;
        const char* label;               // interned
        Ref<const Counted> owner;
        std::optional<LaunchAttributes> attributes;
    };
    /// The oldest node for which passed() wasn't called.
    std::optional<Made> next_made() noexcept;
    void passed() noexcept;

    /// Notes a refused call, whose work the recording lacks.
    void refused(const char* function, const char* of, const ErrorPtr& error) noexcept;

    // Inside a DriverScope.
    /// The node on which later work of the stream depends; NULL if there is none or there are several. Throws
    /// Failure(GPO_INVALID_STATE) if the stream isn't in this recording.
    CUgraphNode last(Stream& stream) const;
    void set_last(Stream& stream, CUgraphNode node);
    /// Like last() and set_last(), in a direct recording: nodes are numbers from 0. `none`: there is none or there are
    /// several.
    uint32_t direct_last(const DriverStream& stream, uint32_t none) const;
    /// False if the recording is a capture by now.
    bool set_direct_last(const DriverStream& stream, uint32_t node);
    /// Ends. The caller owns the graph. After a direct recording the graph is NULL, or has the nodes that have a native
    /// node. Throws Failure(GPO_CAPTURE_REFUSED) with the first reason, or Failure(GPO_OUT_OF_MEMORY) if the reason was
    /// lack of memory; the recording has ended then too.
    CUgraph end();

    void enter_capture() override;

private:
    // A stream in the recording. `last`: the nodes on which its next node depends, while the recording is direct.
    struct Member {
        Ref<DriverStream> stream;
        std::vector<uint32_t> last;
    };
    // The nodes that an event names.
    struct Point {
        Ref<Event> event;
        std::vector<uint32_t> nodes;
    };
    ~GraphRecording() override;
    bool add(Stream& stream, const Operation& operation, const KernelWork& work, Arguments arguments) override;
    bool add(Stream& stream, const Operation& operation, std::span<const RowsWork> works) override;
    bool add(Stream& stream, const Operation& operation, const FillWork& work) override;
    bool add(Stream& stream, const Operation& operation, const EventWork& work) override;
    bool add_one(Stream& stream, const Operation& operation, NodeWork&& work,
                 std::optional<LaunchAttributes> attributes = std::nullopt);
    void put(Stream& stream, const Operation& operation, NodeWork&& work, std::optional<LaunchAttributes> attributes);
    bool record(Stream& stream, Event& event) override;
    bool wait(Stream& stream, Event& event) override;
    bool join(Stream& stream, const Event& event);
    const Member* find(const DriverStream& stream) const noexcept;
    Member& member(const DriverStream& stream);
    void begin_capture();
    void bring_nodes();
    void drop_graph() noexcept;
    void move_into_capture(uint64_t before);
    void set_dependencies(DriverStream& stream, const std::vector<uint32_t>& nodes);
    void give_up_capture() noexcept;
    static ErrorPtr why_lost() noexcept;
    bool all_joined() const;
    ErrorPtr why_not_recorded(bool broken, CUresult result) const;
    void captured(DriverStream& stream, const Operation& operation, CUgraphNode node) noexcept override;
    void refused(DriverStream& stream, const char* function, const ErrorPtr& error) noexcept override;
    CUresult end_capture(CUgraph* graph) noexcept;
    void leave() noexcept;
    std::string why_broken(CUresult result) const;

    const Ref<Stream> stream_;
    const uint64_t thread_;
    std::atomic<bool> direct_{false};    // written under lock_
    mutable host::Mutex lock_;
    // Under lock_:
    uint64_t number_ = 0;                // of the recording, then of the capture
    CUgraph graph_ = nullptr;            // ours, of a direct recording to which a node was added by itself
    CUgraph capturing_ = nullptr;        // the graph being captured, which isn't ours
    std::shared_ptr<std::atomic<bool>> lost_;
    bool begun_ = false, ended_ = false;
    // Recorded without the driver. A node that was added by itself has no work here: the recipe has it.
    std::vector<Node> nodes_;
    size_t placed_ = 0;                  // so many of nodes_ have a native node
    std::vector<Point> points_;
    std::vector<Member> members_;        // first stream_, then the other streams that have joined
    std::vector<Made> made_;             // in the capture
    size_t passed_ = 0;                  // of made_
    ErrorPtr first_refusal_;
};

}  // namespace gpo
