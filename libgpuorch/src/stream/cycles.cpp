// A stream is *stuck* if it is held only for work that is held on stuck streams. The search finds the others: a stream
// that waits for something else will go on at some time, and releases the streams that wait for its work.
//
// The search reads streams one after the other, each under its own lock, and their waits may change in between. A
// stream that is held for a later operation never returns to an earlier one. Hence, if two searches find every stream
// of a cycle at the same operation, all streams were there at once between the searches. Nothing can release an
// unbreakable cycle, so they stay there.
#include "stream/cycles.h"

#include <algorithm>
#include <unordered_map>

#include "device/contexts.h"
#include "stream/streams.h"

namespace gpo {

namespace {

constexpr unsigned kLooks = 16;         // searches before the errand is tried again later
constexpr size_t kNamed = 4;            // streams of a cycle that an error names; messages are cut at 511 bytes

struct Node {
    Ref<Stream> stream;
    bool orphaned = false;
    Held::For held;
    bool stuck = true;

    bool is_as(const Node& before) const {
        return held.operation == before.held.operation && held.awaits.others == before.held.awaits.others &&
               held.awaits.handle == before.held.awaits.handle && held.awaits.streams == before.held.awaits.streams;
    }
};

enum class Which : uint8_t { unbreakable, all };

class Cycles {
public:
    /// Looks at all streams. A stream counts as going on if its submit lock isn't free by the deadline: a thread may be
    /// in the driver with the lock. Throws std::bad_alloc.
    Cycles(Runtime& runtime, Which which, uint64_t deadline) : which_(which) {
        for (const auto& context : Contexts::of(runtime).all())
            for (auto& stream : Streams::of(*context).all())
                if (stream->held().any()) add(std::move(stream), deadline);
        settle();
    }

    /// Throws std::bad_alloc.
    bool is_as(const Cycles& before) const {
        for (const Node& node : before.nodes_) {
            if (!node.stuck) continue;
            const auto found = places_.find(node.stream.get());
            if (found == places_.end() || !nodes_[found->second].stuck || !nodes_[found->second].is_as(node))
                return false;
        }
        return true;
    }

    /// Calls `visit(cycle)`, the places of its nodes, for one cycle of each group of stuck streams.
    template <class Visit>
    void each(Visit visit) const {
        std::vector<size_t> walk_of(nodes_.size(), SIZE_MAX);   // the walk that has visited the node
        for (size_t first = 0; first < nodes_.size(); ++first) {
            std::vector<size_t> walk;
            size_t at = first;
            while (nodes_[at].stuck && walk_of[at] == SIZE_MAX) {
                walk_of[at] = first;
                walk.push_back(at);
                at = places_.at(nodes_[at].held.awaits.streams.front());
            }
            if (walk.empty() || walk_of[at] != first) continue;   // ends in a cycle visited before
            visit(std::vector<size_t>(std::find(walk.begin(), walk.end(), at), walk.end()));
        }
    }

    std::string describe(const std::vector<size_t>& cycle) const {
        std::string out;
        for (size_t i = 0; i < cycle.size() && i < kNamed; ++i) {
            const Node& node = nodes_[cycle[i]];
            out += text(i ? "; " : "", node.stream->describe(), " ", node.held.awaits.text, " held on ");
            if (cycle.size() == 1)
                out += "the same stream, behind the wait";
            else
                out += nodes_[cycle[(i + 1) % cycle.size()]].stream->describe().c_str();
        }
        if (cycle.size() > kNamed) out += text("; and so on, ", cycle.size(), " streams in all");
        return out;
    }

    Stream& stream(size_t at) const noexcept { return *nodes_[at].stream; }
    /// Whether all streams could be looked at.
    bool complete() const noexcept { return complete_; }

private:
    void add(Ref<Stream> stream, uint64_t deadline) {
        Node node;
        node.orphaned = stream->orphaned();
        complete_ &= stream->held().what_for(deadline, node.held);
        node.stream = std::move(stream);
        if (node.held.operation == 0) return;
        places_.emplace(node.stream.get(), nodes_.size());
        nodes_.push_back(std::move(node));
    }

    bool goes_on(const Node& node) const {
        const Awaits& awaits = node.held.awaits;
        if (awaits.others || (which_ == Which::unbreakable && (!node.orphaned || awaits.handle))) return true;
        return std::any_of(awaits.streams.begin(), awaits.streams.end(), [this](const Stream* stream) {
            const auto found = places_.find(stream);
            return found == places_.end() || !nodes_[found->second].stuck;
        });
    }

    void settle() {
        // The nodes that wait for each stream: a node is checked again only after such a stream was found to go on.
        std::unordered_map<const Stream*, std::vector<size_t>> waiting;
        std::vector<size_t> to_look_at;
        for (size_t at = 0; at < nodes_.size(); ++at) {
            for (const Stream* stream : nodes_[at].held.awaits.streams) waiting[stream].push_back(at);
            to_look_at.push_back(at);
        }
        while (!to_look_at.empty()) {
            const size_t at = to_look_at.back();
            to_look_at.pop_back();
            if (!nodes_[at].stuck || !goes_on(nodes_[at])) continue;
            nodes_[at].stuck = false;
            if (const auto those = waiting.find(nodes_[at].stream.get()); those != waiting.end())
                to_look_at.insert(to_look_at.end(), those->second.begin(), those->second.end());
        }
    }

    Which which_;
    bool complete_ = true;
    std::vector<Node> nodes_;                              // streams that are held
    std::unordered_map<const Stream*, size_t> places_;     // in nodes_
};

}  // namespace

bool fail_unbreakable_cycles(Runtime& runtime) noexcept {
    try {
        Cycles before(runtime, Which::unbreakable, host::now() + Submission::kBrief);
        for (unsigned looks = 0; looks < kLooks; ++looks) {
            Cycles now(runtime, Which::unbreakable, host::now() + Submission::kBrief);
            if (!now.is_as(before)) {
                std::swap(before, now);
                continue;
            }
            before.each([&](const std::vector<size_t>& cycle) {
                const ErrorPtr error = make_error(
                    GPO_CANCELLED,
                    "streams hold each other up, and no handle is left that could end it: ", before.describe(cycle));
                for (const size_t at : cycle) before.stream(at).held().fail(error);
            });
            return before.complete() && now.complete();
        }
    } catch (const std::bad_alloc&) {
        // The caller tries again later.
    }
    return false;
}

std::string describe_cycle(Runtime& runtime, uint64_t deadline) noexcept {
    std::string out;
    try {
        const Cycles cycles(runtime, Which::all, deadline);
        cycles.each([&](const std::vector<size_t>& cycle) {
            if (out.empty()) out = cycles.describe(cycle);
        });
    } catch (const std::bad_alloc&) {
        out.clear();
    }
    return out;
}

}  // namespace gpo
