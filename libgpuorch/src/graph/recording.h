// A recording: the capture of a stream and of all that join it, as a transaction.
//
// The capture is in relaxed mode: calls on other threads, and allocations, don't break it. The capture always ends with
// the recording, and then all streams can be used again. Meanwhile streams report the operations that they are given
// (stream/captures.h). The reports give nodes their labels and owners, and a failure its reason.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/node.h"
#include "kernel/kernel.h"
#include "stream/captures.h"
#include "stream/stream.h"

namespace gpo {

class GraphRecording final : public CaptureListener {
public:
    /// Begins. Throws Failure(GPO_CAPTURE_REFUSED, GPO_INVALID_STATE, …), and then the stream is unchanged.
    explicit GraphRecording(Ref<Stream> stream);
    /// Discards the recording, unless it has ended.
    ~GraphRecording();
    GraphRecording(const GraphRecording&) = delete;
    GraphRecording& operator=(const GraphRecording&) = delete;

    Stream& stream() const noexcept { return *stream_; }
    bool on_this_thread() const noexcept override;
    /// The graph being captured, which isn't ours.
    CUgraph graph() const noexcept { return graph_; }

    /// A node that an operation of ours made.
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
    /// The node that later work on the stream comes after; NULL if there is none or there are several. Throws
    /// Failure(GPO_INVALID_STATE) if the stream isn't in this recording.
    CUgraphNode last(Stream& stream) const;
    void set_last(Stream& stream, CUgraphNode node);
    /// Ends. The caller owns the graph. Throws Failure(GPO_CAPTURE_REFUSED) with the first reason, or
    /// Failure(GPO_OUT_OF_MEMORY) if the reason was lack of memory; the recording has ended then too.
    CUgraph end();

private:
    void captured(Stream& stream, const Operation& operation, CUgraphNode node) noexcept override;
    void refused(Stream& stream, const char* function, const ErrorPtr& error) noexcept override;
    void discard() noexcept;
    CUresult end_capture(CUgraph* graph) noexcept;
    void leave() noexcept;
    std::string why_broken(CUresult result) const;

    const Ref<Stream> stream_;
    const uint64_t thread_;
    uint64_t number_ = 0;                // of the capture
    CUgraph graph_ = nullptr;
    bool ended_ = false;
    // Under the lock of the list of listeners while the recording is in it.
    mutable host::Mutex lock_;
    std::vector<Made> made_;
    size_t passed_ = 0;  // of made_
    ErrorPtr first_refusal_;
    std::vector<Ref<Stream>> joined_;    // the other streams that were given something
};

}  // namespace gpo
