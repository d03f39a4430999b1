// Computes the expected outcome of a cell from properties of the operation, the place and the look.
#include "matrix.h"

namespace gpo::test::matrix {

Expected expected(const Operation& operation, const Place& place) {
    const bool recorded = place.is(kRecords), built = place.is(kBuilds);
    if (built && !operation.is(kAlsoNode | kOnlyNode)) return {Expected::absent, 0, 0, "no function adds it as a node"};
    if (place.is(kDriverThread))
        return {Expected::refused, GPO_WOULD_DEADLOCK, 0,
                "template.h: of this library a host node may call only what needs no driver"};
    if (recorded || built) {
        if (operation.is(kNoStream)) return {};
        if (!operation.is(kNode))
            return {Expected::refused, GPO_CAPTURE_REFUSED, GPO_CAPTURE_REFUSED,
                    "template.h: a call that can't be recorded is refused, and then so is the recording"};
        if (recorded && operation.is(kFromOutside))
            return {Expected::refused, GPO_CAPTURE_REFUSED, GPO_CAPTURE_REFUSED,
                    "stream.h: a stream in capture waits only for work of the same capture"};
        if (place.is(kInBody) && operation.is(kOnlyInGraph))
            return {Expected::absent, 0, 0, "device/graph.cuh: a kernel in a body launches no graphs"};
        if (place.is(kInBody) && !operation.is(kBody))
            return {Expected::refused, GPO_NOT_SUPPORTED, recorded ? GPO_CAPTURE_REFUSED : 0,
                    "template.h: a body may have kernels, copies, fills, empty nodes, children and conditional nodes"};
        if (place.is(kInChild) && operation.is(kNoChild))
            return {Expected::refused, GPO_SUCCESS, GPO_NOT_SUPPORTED,
                    "template.h: a template with memory nodes can't be a child"};
        return {};
    }
    if (operation.is(kOnlyInGraph) && place.is(kHeld))
        return {Expected::fails, GPO_NOT_SUPPORTED, 0,
                "stream.h: a stream fails when the driver refuses what was held, here a kernel that launches graphs"};
    if (operation.is(kOnlyInGraph))
        return {Expected::refused, GPO_NOT_SUPPORTED, 0,
                "module.h: a kernel that launches graphs runs only in a graph"};
    if (place.is(kHeld) && operation.is(kAnswers))
        return {Expected::refused, GPO_INVALID_STATE, 0, "memory.h: on a held stream the address isn't known yet"};
    if (place.is(kNeverHeld) && operation.is(kNeedsHost | kWaitsUnsent))
        return {Expected::refused, GPO_NOT_SUPPORTED, 0, "stream.h: a wrapped stream is never held"};
    if (place.is(kResident) && operation.is(kEnds))
        return {Expected::refused, GPO_NOT_SUPPORTED, 0, "peers.h: a collective is no work that stays"};
    if (place.is(kBesideResident | kResident) && operation.is(kLoads))
        return {Expected::refused, GPO_INVALID_STATE, 0,
                "stream.h: code can't be loaded beside resident work: the driver would wait for it"};
    return {};
}

Expected expected(const Operation& operation, const Place& place, const LookKind& look) {
    const Expected put = expected(operation, place);
    if (put.kind != Expected::works) return put;
    if (look.is(kFails) && !place.is(kCanFail))
        return {Expected::absent, 0, 0,
                "only a crash fails what the GPU has: then all work of the device ends once, with GPO_DEVICE_LOST"};
    if (look.is(kFreed) && place.is(kResident))
        return {Expected::absent, 0, 0, "stream.h: memory that resident work uses must stay allocated"};
    const bool holds = !place.is(kRecords | kBuilds) && operation.is(kNeedsHost | kWaitsUnsent);
    if (look.is(kByProcess) && (place.is(kHeld) || holds))
        return {Expected::absent, 0, 0,
                "interprocess.h: a held recording counts for other processes only once the stream has gone on"};
    if (look.is(kTracing) && operation.is(kTraces))
        return {Expected::absent, 0, 0, "trace.h: a runtime has one trace at a time"};
    if (look.is(kByDevice) && place.is(kResident))
        return {Expected::unlooked, GPO_SUCCESS, 0, "stream.h: waits for everything leave resident work out"};
    if (look.is(kByEvent) && operation.is(kMarksCapture) && place.is(kRecords))
        return {Expected::unlooked, GPO_CAPTURE_REFUSED, 0,
                "event.h: an event that was recorded in a capture is complete at no particular time"};
    return {};
}

}  // namespace gpo::test::matrix
