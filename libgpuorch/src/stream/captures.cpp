#include "stream/captures.h"

#include <vector>

#include "stream/stream.h"

namespace gpo::captures {

namespace {

struct Entry {
    CaptureListener* listener;
    uint64_t capture;
};
host::Mutex g_lock;
std::vector<Entry> g_listeners;   // under g_lock
std::atomic<uint32_t> g_count{0};

struct Point {
    uint64_t capture = 0;         // 0: the stream isn't captured
    CUgraphNode node = nullptr;
};

// Where a captured stream is. Inside a DriverScope.
Point point_of(Stream& stream) noexcept {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t number = 0;
    CUgraph graph = nullptr;
    const CUgraphNode* after = nullptr;
    size_t count = 0;
    if (!stream.given_out() || stream.detached() ||
        stream.table().cuStreamGetCaptureInfo(stream.native(), &status, &number, &graph, &after, &count) !=
            CUDA_SUCCESS ||
        status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return {};
    return {number, count == 1 ? after[0] : nullptr};
}

template <class Visit>
void visit(uint64_t capture, Visit visit) noexcept {
    std::lock_guard lock(g_lock);
    for (const Entry& entry : g_listeners)
        if (entry.capture == capture) visit(*entry.listener);
}

}  // namespace

void add(CaptureListener& listener, uint64_t capture) {
    std::lock_guard lock(g_lock);
    g_listeners.push_back({&listener, capture});
    g_count.fetch_add(1, std::memory_order_relaxed);
    trace::add_watcher();   // so that streams look (Stream::hand_over)
}

void remove(CaptureListener& listener) noexcept {
    std::lock_guard lock(g_lock);
    if (std::erase_if(g_listeners, [&](const Entry& entry) { return entry.listener == &listener; }) == 0) return;
    g_count.fetch_sub(1, std::memory_order_relaxed);
    trace::remove_watcher();
}

bool any() noexcept { return g_count.load(std::memory_order_relaxed) != 0; }

void note_captured(Stream& stream, const Operation& operation) noexcept {
    const Point point = point_of(stream);
    if (!point.capture) return;
    visit(point.capture, [&](CaptureListener& listener) { listener.captured(stream, operation, point.node); });
}

void note_refused(Stream& stream, const char* operation, const ErrorPtr& error) noexcept {
    DriverTry scope(stream.context());
    if (!scope.entered()) return;
    const Point point = point_of(stream);
    if (!point.capture) return;
    visit(point.capture, [&](CaptureListener& listener) { listener.refused(stream, operation, error); });
}

}  // namespace gpo::captures
