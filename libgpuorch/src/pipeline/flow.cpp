// Chooses the next chunk's device: the device that is likely to be done with the chunk first. Chunks are then done
// nearly in order, and a device with a finished chunk waits only briefly for the chunks before.
#include "pipeline/flow.h"

#include <algorithm>

namespace gpo::pipeline {

namespace {
constexpr uint64_t kUnknown = 2;         // chunks for a device that isn't measured yet
constexpr double kWeight = 0.25;         // of the newest chunk in a device's mean
constexpr double kForgetting = 15.0 / 16; // an idle device's mean falls by this factor with each chunk of another
                                         // device, so that a device with one slow chunk is tried again
}  // namespace

uint32_t Flow::next_lane() const noexcept {
    const auto count = static_cast<uint32_t>(lanes.size());
    const uint64_t records = places.size() / count;
    uint32_t found = kNoLane;
    double least = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t at = (turn + i) % count;
        const Lane& lane = lanes[at];
        if (count > 1 && lane.ns_per_byte == 0 && lane.under_way() >= kUnknown) continue;
        const double ends = static_cast<double>(lane.under_way() + 1) * lane.ns_per_byte;
        if (found != kNoLane && ends >= least) continue;
        found = at;
        least = ends;
    }
    return found != kNoLane && lanes[found].begun - lanes[found].consumed < records ? found : kNoLane;
}

Flow::Place Flow::begin_on(uint32_t lane, uint64_t index) noexcept {
    for (uint32_t other = 0; other < lanes.size(); ++other)
        if (other != lane && lanes[other].under_way() == 0) lanes[other].ns_per_byte *= kForgetting;
    turn = (lane + 1) % static_cast<uint32_t>(lanes.size());
    return place(index) = {lane, lanes[lane].begun++};
}

void Flow::note_back(uint32_t number, const Chunk& chunk) noexcept {
    Lane& lane = lanes[number];
    ++lane.completed;
    arrived.notify_one();
    if (lanes.size() == 1) return;
    const uint64_t begin = std::max(chunk.submitted_ns, lane.newest_ns);
    const double ns = chunk.completed_ns > begin ? static_cast<double>(chunk.completed_ns - begin) : 0.0;
    const double sample = (ns + 1) / static_cast<double>(std::max(chunk.bytes, uint64_t{1}));
    // A device's first chunk may have waited for code to be loaded.
    if (lane.seen++ < 2) lane.ns_per_byte = sample;
    else lane.ns_per_byte += kWeight * (sample - lane.ns_per_byte);
    lane.newest_ns = std::max(lane.newest_ns, chunk.completed_ns);
    room.notify_one();
}

}  // namespace gpo::pipeline
