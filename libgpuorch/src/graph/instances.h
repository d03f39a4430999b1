// The graphs of gpo_template_launch: one for each stream that a template is launched on.
//
// The driver runs one executable graph once at a time. Launches on one stream come one after the other anyway, so they
// can share a graph, which is patched between them; launches on different streams get different graphs and run beside
// each other. So nobody waits for a graph, and nobody needs to be told when one is done.
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
    /// Of `of`, which owns this. Beyond `most` streams, streams share graphs.
    Instances(Template& of, uint32_t most) noexcept;
    ~Instances();

    /// The stream's graph, of the template's current recipe, which `recipe` is as a rule. If the stream has none yet,
    /// `check`, which may throw, is called before one is made. Throws Failure.
    Ref<Graph> of_stream(Stream& stream, const Recipe& recipe, const std::function<void()>& check);
    /// Makes graphs for streams that will come, until there are `count`, and uploads them on `stream`. GPO_WOULD_BLOCK
    /// if that holds too much already.
    gpo_status prepare(uint32_t count, Stream& stream, const Recipe& recipe);
    uint32_t size() noexcept;
    void clear() noexcept;

private:
    struct Entry {
        const Stream* stream;    // to be compared, not followed; NULL: nobody's yet
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
    host::Mutex making_;   // held by who makes the only graph that there can be; outside of lock_
    host::Mutex lock_;
    std::vector<Entry> entries_;   // under lock_, as is:
    uint64_t launches_ = 0;
};

}  // namespace gpo
