// The graphs of gpo_template_launch: one for each stream that a template is launched on.
//
// The driver runs only one launch of an executable graph at a time. Launches on one stream are in order anyway and
// share a graph, which is patched between them. Launches on different streams get different graphs and run beside each
// other. Therefore no launch waits for a free graph, and no graph has to report its end.
#pragma once

#include <functional>
#include <vector>

#include "core/object.h"
#include "gpuorch/template.h"
#include "host/host.h"

namespace gpo {

class Graph;
class Recipe;
class Stream;
class Template;

class Instances {
public:
    /// For the template `of`, which owns this. Beyond `most` streams, streams share graphs.
    Instances(Template& of, uint32_t most) noexcept;
    ~Instances();

    /// The stream's graph. `recipe`: as a rule the template's current recipe. If the stream has no graph yet, `check`,
    /// which may throw, is called before a graph is made. Throws Failure.
    Ref<Graph> of_stream(Stream& stream, const Recipe& recipe, const std::function<void()>& check);
    /// Makes graphs for future streams, until there are `count`, and uploads them on `stream`. GPO_WOULD_BLOCK if
    /// `stream` holds too much already.
    gpo_status prepare(uint32_t count, Stream& stream, const Recipe& recipe);
    uint32_t size() noexcept;
    void clear() noexcept;

private:
    struct Entry {
        const Stream* stream;    // to be compared, not followed; NULL: not assigned yet
        Ref<Graph> graph;
        uint64_t used;           // when, counted in launches
    };
    uint32_t most_of(const Recipe& recipe) const noexcept;
    std::vector<Entry> take_beyond(uint32_t most);
    Entry* find(const Stream* stream) noexcept;
    Entry* ready_for(const Stream& stream, uint32_t most) noexcept;
    Ref<Graph> make_graph();
    Ref<Graph> make_one_of(uint32_t most);

    Template& of_;
    const uint32_t most_;
    host::Mutex making_;   // held while the only possible graph is made; taken before lock_
    host::Mutex lock_;
    std::vector<Entry> entries_;   // under lock_, as is:
    uint64_t launches_ = 0;
};

}  // namespace gpo
