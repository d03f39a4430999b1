// Templates: graphs that are recorded or built, and instantiated as graphs (graph/instance.h).
//
// A template has a current recipe (graph/recipe.h): its newest finished recording, or nodes that were added singly. A
// recording builds a second recipe; if the recording fails, the current recipe stays.
//
// Locks. `lock_` guards the recipes while they are built. Driver calls that build them are made under it, and submit
// locks are taken inside. No operation of a stream takes `lock_`: the notes of operations are under `notes_lock_`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpuorch/template.h"
#include "graph/picture/diagram.h"
#include "graph/recipe.h"
#include "graph/recording.h"
#include "memory/owned_memory.h"
#include "trace/record.h"

namespace gpo {

class Graph;
class Instances;
struct Dropped;

/// Counters of a template and its graphs.
struct TemplateCounters {
    std::atomic<uint64_t> launches{0}, patches{0}, updates{0}, rebuilds{0}, instance_bytes{0}, held_words{0},
        dropped{0};
    std::atomic<uint32_t> instances{0}, recordings{0};
};

class Template final : public Object {
public:
    /// Throws Failure.
    Template(Ref<Context> context, const gpo_template_options& options);
    /// A body of a conditional node. `memory`: that of the template to which the body belongs.
    Template(Ref<Context> context, Ref<Recipe> body, Ref<OwnedMemory> memory);

    Context& context() const noexcept { return *context_; }
    /// Shared with its bodies. Recipes that have copies of its nodes keep a reference.
    OwnedMemory& memory() const noexcept { return *memory_; }
    TemplateCounters& counters() noexcept { return counters_; }
    /// The newest timed launch of its graphs.
    trace::NewestTime& newest_time() const noexcept { return *newest_time_; }

    // --- recording. Throw Failure ---
    void begin(Ref<Stream> stream);
    void end();
    void cancel();
    uint32_t last_node(Stream& stream);
    void set_last_node(Stream& stream, uint32_t node);
    /// Drops all nodes and parameters.
    void clear();
    /// Copies a graph's nodes into this new template.
    void copy(CUgraph original);

    // --- node by node. Throw Failure ---
    /// `work`: a record of stream/work.h.
    template <class Work>
    uint32_t add(std::span<const uint32_t> after, const Work& work, const char* label, Ref<const Counted> owner) {
        return build(after, [&](Recipe& recipe, std::vector<uint32_t> numbers) {
            refuse_in_body(recipe, name(work), std::is_same_v<Work, EventWork>);
            return recipe.add(work, label, std::move(owner), std::move(numbers));
        });
    }
    /// Adds a node of another kind.
    uint32_t add_node(std::span<const uint32_t> after, const NodeWork& work);
    uint32_t add_child(std::span<const uint32_t> after, Template& child, const char* prefix);
    /// Adds as many bodies as `bodies` has room for, and stores their handles there.
    uint32_t add_conditional(std::span<const uint32_t> after, CUgraphConditionalNodeType type,
                             const gpo_condition& condition, std::span<gpo_template_t> bodies);
    /// Add the nodes that begin and end the life of device memory.
    uint32_t add_allocation(std::span<const uint32_t> after, uint64_t bytes, uint64_t& address);
    uint32_t add_free(std::span<const uint32_t> after, uint64_t address);
    /// A function that adds a node has failed: if the template is being recorded, the recording lacks the node.
    void note_refused(const char* function, const ErrorPtr& error) noexcept;
    void bind_condition(uint32_t kernel, uint32_t argument, Template& conditional_in, uint32_t conditional);
    void add_parameter(const char* name, uint32_t node, uint32_t what, uint32_t index);

    // --- queries. Throw Failure ---
    uint32_t parameter(const char* name, uint64_t* bytes);
    uint32_t find_node(const char* label);
    CUgraph native();
    gpo_template_statistics statistics();
    /// Throws Failure(GPO_INVALID_STATE) during a recording.
    Diagram diagram();
    /// The current recipe, sealed. Throws Failure(GPO_INVALID_STATE) during a recording.
    Ref<Recipe> seal();
    /// The loop number, in `recipe`, of the while at `node` of this template. This template must be the template of the
    /// recipe, a body or child of that template, or a body of a child. Throws Failure(GPO_INVALID_ARGUMENT).
    uint32_t loop(uint32_t node, const Recipe& recipe);
    /// Whether seal() would return this recipe, to which the caller has a reference. Takes no lock.
    bool is_current(const Recipe& recipe) const noexcept {
        return usable_.load(std::memory_order_acquire) == &recipe;
    }
    /// A graph has been rebuilt for a new recording.
    void note_rebuild(const char* reason) noexcept;
    /// A graph or a held launch has moved to a new recording without these values.
    void note_dropped(const Dropped& dropped) noexcept;

    /// The graphs of gpo_template_launch.
    Instances& instances() noexcept { return *instances_; }

    /// Static text for the owner (buckets): the user may not destroy the template. NULL: the user owns it.
    const char* whole() const noexcept { return whole_; }
    /// Before the template has a handle.
    void set_whole(const char* whole) noexcept { whole_ = whole; }
    bool is_part() const noexcept override { return whole_ != nullptr; }

    void close() noexcept override;
    void stop() noexcept override;

private:
    ~Template() override;
    static void refuse_in_body(const Recipe& recipe, const char* kind, bool forbidden);
    template <class Add>
    uint32_t build(std::span<const uint32_t> after, Add add);
    Recipe& newest() const noexcept { return recorded_ ? *recorded_ : *current_; }
    std::optional<GraphRecording::Addition> make_buildable(Recipe& recipe);
    void refuse_finished(const Recipe& recipe) const;
    void discard() noexcept;
    void stop_recording() noexcept;
    Ref<Recipe> begin_body();
    void leave(Recipe& recorded) noexcept;
    void make_current(Ref<Recipe> recipe) noexcept;
    GraphRecording& required_recording(const char* what);
    Ref<const Scope> scope();
    uint32_t first_loop(const Scope& in) const;
    void require_runtime(const Stream& stream) const;
    void require_device(const Stream& stream) const;

    const Ref<Context> context_;
    const Ref<OwnedMemory> memory_;
    const char* whole_ = nullptr;
    TemplateCounters counters_;
    const Ref<trace::NewestTime> newest_time_ = make<trace::NewestTime>();
    const std::unique_ptr<Instances> instances_;
    host::Mutex lock_;
    // current_ if sealed and nothing is being recorded; else NULL. To be compared, not followed. Written under lock_.
    std::atomic<const Recipe*> usable_{nullptr};
    // Under lock_:
    Ref<Recipe> current_, recorded_;         // recorded_: NULL without a recording
    Ref<GraphRecording> recording_;          // of recorded_
    host::Mutex notes_lock_;   // a leaf
    std::string last_rebuild_, last_dropped_;   // under notes_lock_
};

/// Adds a node to the recording, or without one to the current recipe, unless that recipe is sealed.
template <class Add>
uint32_t Template::build(std::span<const uint32_t> after, Add add) {
    std::lock_guard lock(lock_);
    DriverScope scope(*context_);
    Recipe& recipe = newest();
    std::lock_guard building(recipe.scope().building);
    std::optional<GraphRecording::Addition> addition = make_buildable(recipe);
    const uint32_t made = add(recipe, checked_nodes(recipe.nodes(), after)) + 1;
    if (addition) recipe.report_added(*addition);
    return made;
}

template <>
struct TypeOf<Template> { static constexpr Type value = Type::graph_template; };

}  // namespace gpo
