// A recording: the capture of a stream and of all that join it, as a transaction.
//
// The capture is in relaxed mode, so that calls on other threads, and allocations, don't break it. It ends with the
// recording in any case, and then all streams can be used again. While it goes on, streams report what they were given
// (stream/captures.h): from that nodes have their labels and what they keep, and a failure its reason.
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
    /// Begins. Throws Failure(GPO_CAPTURE_REFUSED, GPO_INVALID_STATE, …), and then the stream is as it was.
    explicit GraphRecording(Ref<Stream> stream);
    /// Discards what was recorded, unless it has ended.
    ~GraphRecording();
    GraphRecording(const GraphRecording&) = delete;
    GraphRecording& operator=(const GraphRecording&) = delete;

    Stream& stream() const noexcept { return *stream_; }
    bool on_this_thread() const noexcept override;
    /// Being captured: it isn't ours.
    CUgraph graph() const noexcept { return graph_; }

    /// What an operation of ours made.
    struct Made {
        CUgraphNode node;
        const char* label;               // interned
        Ref<const Counted> owner;
        std::optional<LaunchAttributes> attributes;
    };
    /// The oldest that passed() wasn't called for.
    std::optional<Made> next_made() noexcept;
    void passed() noexcept;

    /// A call that was to record something was refused.
    void refused(const char* function, const char* of, const ErrorPtr& error) noexcept;

    // Inside a DriverScope.
    /// The node that later work on the stream comes after; NULL if there is none or there are several. Throws
    /// Failure(GPO_INVALID_STATE) if the stream isn't in this recording.
    CUgraphNode last(Stream& stream) const;
    void set_last(Stream& stream, CUgraphNode node);
    /// Ends. The graph is the caller's. Throws Failure(GPO_CAPTURE_REFUSED) with the first reason, or
    /// Failure(GPO_OUT_OF_MEMORY) if that was want of memory; the recording has ended then too.
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
