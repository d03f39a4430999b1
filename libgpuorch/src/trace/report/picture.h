// The picture: one SVG with a lane for each engine, stream and thread.
//
// While the trace runs, what may be drawn is stored in bounded memory: if there are too many spans, spans of a lane
// that are too close together to be distinguished are joined, in ever coarser steps. The SVG needs no script and no
// font, fills the available width, and follows the viewer's preference for dark or light.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gpuorch/trace.h"
#include "trace/report/figures.h"
#include "trace/report/span.h"

namespace gpo::trace {

class Picture {
public:
    struct About {
        std::string title;
        gpo_trace_info counts{};  // of the whole trace
        uint64_t start = 0, end = 0;
        std::map<int, std::string> devices;  // names
        const std::map<int, DeviceFigures>* figures = nullptr;
    };

    // All throw only std::bad_alloc.
    void thread(int number, std::string_view name);
    void lane(uint32_t lane, int device, std::string_view name);
    void span(const Span& span);
    void call(int thread, const Record& call);
    void held(const Record& held);
    void callback(int thread, const Record& callback);
    void serialising(const Record& mark);
    void completion(const Record& completion);

    std::string draw(const About& about);

private:
    // mixed: short work of several kinds, joined.
    enum class Look : uint8_t {
        copy_in,
        copy_out,
        copy_on_device,
        fill,
        kernel,
        held,
        call,
        failed,
        mixed,
        callback,
        graph,
        collective,
        count
    };
    struct Piece {
        uint64_t begin, end;
        uint64_t busy;  // part of that time, where several were joined
        uint64_t bytes;
        uint64_t number;
        const char *kind, *label;
        uint32_t count;
        Look look;
        uint32_t nodes = 0;  // of a graph
        const char* graph_template = "";
    };
    struct Count {
        uint64_t count = 0, busy = 0;  // ns in them
        Count& operator+=(const Count& other) {
            count += other.count;
            busy += other.busy;
            return *this;
        }
    };
    struct Row {
        std::string name;
        int device = -1;
        Count all, all_of_strip;  // everything added; drawn are only the pieces. all: with nested calls
        std::vector<Piece> pieces;
        std::vector<Piece> strip;  // along its lower edge: times in which a stream was held, callbacks of a thread
    };
    static Look look_of(const Span& span) noexcept;
    static bool is_work(Look look) noexcept {
        return look <= Look::kernel || look == Look::graph || look == Look::collective || look == Look::mixed;
    }
    template <class Visit>
    void each(const Visit& visit) {
        const auto both = [&](Row& row) {
            visit(row.pieces);
            visit(row.strip);
        };
        for (auto& [number, row] : streams_) both(row);
        for (auto& [number, row] : threads_) both(row);
        for (auto& [number, looks] : engines_)
            for (auto& [look, row] : looks) both(row);
    }
    void add(std::vector<Piece>& pieces, const Piece& piece);
    void coarsen();
    static void join(std::vector<Piece>& pieces, uint64_t quantum);

    std::map<uint32_t, Row> streams_;
    std::map<int, Row> threads_;
    std::map<int, std::map<Look, Row>> engines_;
    struct Mark {
        uint64_t at;
        std::string text;
    };
    std::vector<Mark> serialising_;
    uint64_t serialising_count_ = 0;
    std::vector<uint64_t> completions_;
    uint64_t completion_count_ = 0;
    size_t pieces_ = 0;
    uint64_t quantum_ = 0;  // gaps shorter than this have been joined

    static constexpr size_t kPieces = 60'000, kMarks = 2'000;
    friend class Drawing;
};

}  // namespace gpo::trace
