// The figures of a trace: how busy each engine was, how much of the copying was hidden, the longest gaps, and how much
// work was pending at each moment. One sweep over the begins and ends of all spans, in order of time, computes all of
// them. Memory is bounded, because only spans that can still change the result are stored.
//
// A copy is *hidden* while another engine of its device works too. A *gap* is an interval between the first and the
// last work of a device in which none of its engines works.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "trace/report/span.h"

namespace gpo::trace {

struct Gap {
    uint64_t begin = 0, end = 0;
    std::string before, after;  // "kernel `blur` on stream `work`"
};

struct DeviceFigures {
    struct PerEngine {
        uint64_t busy = 0;  // ns in which at least one span was open
        uint64_t spans = 0, bytes = 0;
        uint64_t nodes = 0;  // of graphs
    };
    std::array<PerEngine, kEngines> engines;
    uint64_t begin = 0, end = 0;  // first and last moment of work
    uint64_t any = 0;  // ns in which some engine worked
    uint64_t copying = 0, hidden = 0;  // ns in which a copy engine worked; ns of these in which another engine did too
    std::vector<Gap> gaps;  // the longest, longest first
};

class Figures {
public:
    /// `on_its_way`: called whenever a device's pending bytes or operations change.
    using OnItsWay = std::function<void(int device, uint64_t at, uint64_t bytes, uint64_t operations)>;
    explicit Figures(OnItsWay on_its_way) : on_its_way_(std::move(on_its_way)) {}

    /// Throws std::bad_alloc.
    void add(const Span& span);
    /// The caller guarantees that all spans submitted before `time` have been added. Throws std::bad_alloc.
    void settle(uint64_t time);
    const std::map<int, DeviceFigures>& devices() const noexcept { return devices_; }

    static constexpr size_t kGaps = 5;

private:
    struct Edge {
        uint64_t at;
        bool begin, submit;  // submit: an end of the time on the way; else of the work
        Engine engine;
        const char *kind, *label, *stream;
        uint64_t bytes;
    };
    struct Sweep {
        std::vector<Edge> edges;
        uint64_t now = 0;
        std::array<uint32_t, kEngines> active{};
        uint32_t working = 0;
        Edge last{};  // the work that ended last
        bool any = false;
        uint64_t bytes = 0, operations = 0;
    };
    void pass(DeviceFigures& device, Sweep& sweep, uint64_t to);
    void note_gap(DeviceFigures& device, const Edge& before, const Edge& after);

    OnItsWay on_its_way_;
    std::map<int, DeviceFigures> devices_;
    std::map<int, Sweep> sweeps_;
};

}  // namespace gpo::trace
