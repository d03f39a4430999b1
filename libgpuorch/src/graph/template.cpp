#include "graph/template.h"

#include <algorithm>
#include <cstring>

#include "base/quantities.h"
#include "graph/carry.h"
#include "graph/instances.h"
#include "graph/sketch.h"
#include "memory/holds.h"

namespace gpo {

namespace {
constexpr uint32_t kDefaultInstances = 64;
}

Template::Template(Ref<Context> context, const gpo_template_options& options)
    : Object(context->runtime(), Type::graph_template, options.label), context_(std::move(context)),
      memory_(make<OwnedMemory>(context_, describe())),
      instances_(std::make_unique<Instances>(*this, options.max_instances ? options.max_instances : kDefaultInstances)),
      current_(make<Recipe>(context_, nullptr)) {}

Template::Template(Ref<Context> context, Ref<Recipe> body, Ref<OwnedMemory> memory)
    : Object(context->runtime(), Type::graph_template, nullptr), context_(std::move(context)),
      memory_(std::move(memory)),
      instances_(std::make_unique<Instances>(*this, 0)), current_(std::move(body)) {}

Template::~Template() = default;

void Template::close() noexcept {
    instances_->clear();
    discard();
}

// A stream that stays in capture can't be waited for.
void Template::stop() noexcept { discard(); }

void Template::discard() noexcept {
    std::lock_guard lock(lock_);
    if (recording_) stop_recording();
}

// Ends the capture: the streams can be used as before.
void Template::stop_recording() noexcept {
    recording_->discard();
    recording_ = nullptr;
    const Ref<Recipe> recorded = std::move(recorded_);
    leave(*recorded);
}

// The recording is over, successfully or not.
void Template::leave(Recipe& recorded) noexcept {
    if (!current_->body()) return;
    std::lock_guard building(current_->scope().building);
    recorded.abandon();
    --current_->scope().recordings;
}

// --- recording ---

void Template::require_runtime(const Stream& stream) const {
    if (&stream.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, describe(), " and ", stream.describe(), " are of different runtimes");
}

void Template::require_device(const Stream& stream) const {
    require_runtime(stream);
    if (&stream.context() != &*context_)
        fail(GPO_INVALID_ARGUMENT, describe(), " and ", stream.describe(), " are not of one device");
}

void Template::begin(Ref<Stream> stream) {
    require_device(*stream);
    std::lock_guard lock(lock_);
    if (runtime().shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
    if (recording_)
        fail(GPO_INVALID_STATE, describe(), " is being recorded already, on ", recording_->stream().describe());
    Ref<Recipe> recipe;
    if (current_->body()) recipe = begin_body();
    else recipe = make<Recipe>(context_, current_.get());
    Ref<GraphRecording> recording;
    try {
        recording = make<GraphRecording>(std::move(stream), current_->nodes().size());
        recording->begin();
    } catch (...) {
        if (recording) recording->discard();
        leave(*recipe);
        throw;
    }
    recording_ = std::move(recording);
    recorded_ = std::move(recipe);
    usable_.store(nullptr, std::memory_order_release);
}

// A recipe for the recording of a body. Until leave() no graph can be made of the body's template.
Ref<Recipe> Template::begin_body() {
    Ref<Recipe> made = make<Recipe>(context_, Ref<Scope>(&current_->scope()), nullptr);
    std::lock_guard building(current_->scope().building);
    refuse_finished(*current_);
    if (!current_->nodes().empty()) fail(GPO_INVALID_STATE, describe(), " is a body and has nodes already");
    ++current_->scope().recordings;
    return made;
}

void Template::make_current(Ref<Recipe> recipe) noexcept {
    usable_.store(nullptr, std::memory_order_release);
    current_ = std::move(recipe);
}

GraphRecording& Template::required_recording(const char* what) {
    if (!recording_) fail(GPO_INVALID_STATE, describe(), " is not being recorded: ", what, " needs gpo_template_begin");
    if (!recording_->on_this_thread())
        fail(GPO_INVALID_STATE, "another thread records ", describe(), ": ", what, " is that thread's to call");
    return *recording_;
}

void Template::end() {
    std::lock_guard lock(lock_);
    required_recording("the end");
    // The recording is over even if this fails.
    const Ref<GraphRecording> recording = std::move(recording_);
    const Ref<Recipe> recorded = std::move(recorded_);
    try {
        DriverScope scope(*context_);
        const CUgraph graph = recording->end();
        std::lock_guard building(recorded->scope().building);
        recorded->own(graph, *recording);
        if (recorded->traits().strays)
            fail(GPO_DRIVER_ERROR, describe(),
                 ": a node that couldn't be added couldn't be taken out of the recording");
        if (current_->body()) {
            refuse_finished(*current_);
            current_->take_over(*recorded);
        }
    } catch (...) {
        recording->discard();   // the device may have been lost before the recording ended
        leave(*recorded);
        throw;
    }
    leave(*recorded);
    if (!current_->body()) make_current(recorded);
    counters_.recordings.fetch_add(1, std::memory_order_relaxed);
}

void Template::cancel() {
    std::lock_guard lock(lock_);
    if (!recording_) fail(GPO_INVALID_STATE, describe(), " is not being recorded");
    stop_recording();
}

// A recording may have streams of other devices.
uint32_t Template::last_node(Stream& stream) {
    require_runtime(stream);
    std::lock_guard lock(lock_);
    const GraphRecording& recording = required_recording("the last node");
    if (recording.direct()) return recording.direct_last(stream, Recipe::kNone) + 1;
    DriverScope scope(stream.context());
    const CUgraphNode node = recording.last(stream);
    std::lock_guard building(recorded_->scope().building);
    recorded_->read_made(*recording_);
    return node ? recorded_->see(node, "", nullptr) + 1 : 0;
}

void Template::set_last_node(Stream& stream, uint32_t node) {
    require_runtime(stream);
    std::lock_guard lock(lock_);
    GraphRecording& recording = required_recording("the last node");
    DriverScope scope(stream.context());
    std::lock_guard building(recorded_->scope().building);
    recorded_->read_made(recording);
    const uint32_t number = checked_node(recorded_->nodes(), node, "node");
    if (recording.set_direct_last(stream, number)) return;
    recorded_->read_made(recording);   // the native nodes of what was recorded without the driver
    recording.set_last(stream, recorded_->nodes()[number].native);
}

void Template::clear() {
    std::lock_guard lock(lock_);
    if (recording_) fail(GPO_INVALID_STATE, describe(), " is being recorded");
    if (current_->body()) fail(GPO_INVALID_STATE, describe(), " is a body: clear the template that it belongs to");
    make_current(make<Recipe>(context_, current_.get()));
}

void Template::copy(CUgraph original) {
    auto recipe = make<Recipe>(context_, nullptr);
    {
        DriverScope scope(*context_);
        recipe->copy(original);
    }
    std::lock_guard lock(lock_);
    make_current(std::move(recipe));
}

// --- node by node ---

// In a recording, the caller keeps the result while it adds nodes.
std::optional<GraphRecording::Addition> Template::make_buildable(Recipe& recipe) {
    if (recording_) {
        recipe.read_made(required_recording("adding to it"));
        std::optional<GraphRecording::Addition> addition(*recording_);
        recipe.borrow(*addition);
        return addition;
    }
    refuse_finished(recipe);
    recipe.make_graph();
    recipe.take_strays_out();
    return std::nullopt;
}

void Template::refuse_finished(const Recipe& recipe) const {
    if (recipe.scope().destroyed)
        fail(GPO_INVALID_STATE, describe(), " is a body of a template that was recorded anew, cleared or destroyed");
    if (recipe.abandoned()) fail(GPO_INVALID_STATE, describe(), " is a body of a recording that was discarded");
    if (recipe.scope().sealed)
        fail(GPO_INVALID_STATE, describe(), " has graphs, so it can't be added to: record it anew, or clear it first");
}

void Template::refuse_in_body(const Recipe& recipe, const char* kind, bool forbidden) {
    if (recipe.body() && forbidden) fail(GPO_NOT_SUPPORTED, "a body can't have a node of this kind: ", kind);
}

uint32_t Template::add_node(std::span<const uint32_t> after, const NodeWork& work) {
    return build(after, [&](Recipe& recipe, const std::vector<uint32_t>& numbers) {
        return recipe.add_copy(work, nullptr, numbers);
    });
}

Ref<const Scope> Template::scope() {
    std::lock_guard lock(lock_);
    return Ref<const Scope>(&current_->scope());
}

uint32_t Template::add_child(std::span<const uint32_t> after, Template& child, const char* prefix) {
    if (&child == this || child.scope().get() == scope().get())
        fail(GPO_INVALID_ARGUMENT, child.describe(), " can't be its own child, nor the child of a body of itself");
    if (&child.context() != &*context_)
        fail(GPO_INVALID_ARGUMENT, describe(), " and ", child.describe(), " are not of one device");
    const Ref<Recipe> recipe_of_child = child.seal();
    return build(after, [&](Recipe& recipe, const std::vector<uint32_t>& numbers) {
        return recipe.add_child(*recipe_of_child, child.memory_, numbers, prefix);
    });
}

uint32_t Template::add_conditional(std::span<const uint32_t> after, CUgraphConditionalNodeType type,
                                   const gpo_condition& condition, std::span<gpo_template_t> bodies) {
    if (context_->table().cuGraphConditionalHandleCreate && has_decision(condition, type)) {
        DriverScope scope(*context_);
        static_cast<void>(decide_kernel(*context_));   // loading takes submit locks, which build() must not
    }
    std::vector<gpo_template_t> handles;
    try {
        const uint32_t node = build(after, [&](Recipe& recipe, const std::vector<uint32_t>& numbers) {
            const auto first = static_cast<uint32_t>(recipe.nodes().size());
            std::vector<Ref<Recipe>> made;
            const uint32_t number =
                recipe.add_conditional(type, static_cast<uint32_t>(bodies.size()), condition, numbers, made);
            try {
                handles.reserve(made.size());
                for (const Ref<Recipe>& body : made)
                    handles.push_back(runtime().publish<gpo_template_t>(*make<Template>(context_, body, memory_)));
            } catch (...) {
                recipe.remove_from(first);
                throw;
            }
            return number;
        });
        std::copy(handles.begin(), handles.end(), bodies.begin());
        return node;
    } catch (...) {
        for (const gpo_template_t handle : handles) gpo_template_destroy(handle);
        throw;
    }
}

uint32_t Template::add_allocation(std::span<const uint32_t> after, uint64_t bytes, uint64_t& address) {
    return build(after, [&](Recipe& recipe, const std::vector<uint32_t>& numbers) {
        refuse_in_body(*current_, "allocation", true);
        return recipe.add_allocation(bytes, numbers, address);
    });
}

uint32_t Template::add_free(std::span<const uint32_t> after, uint64_t address) {
    return build(after, [&](Recipe& recipe, const std::vector<uint32_t>& numbers) {
        refuse_in_body(*current_, "free", true);
        return recipe.add_free(address, numbers);
    });
}

void Template::note_refused(const char* function, const ErrorPtr& error) noexcept {
    std::lock_guard lock(lock_);
    if (recording_) recording_->refused(function, describe().c_str(), error);
}

void Template::bind_condition(uint32_t kernel, uint32_t argument, Template& conditional_in, uint32_t conditional) {
    Ref<Recipe> decided;
    {
        std::lock_guard lock(conditional_in.lock_);
        decided = conditional_in.recorded_ ? conditional_in.recorded_ : conditional_in.current_;
    }
    std::lock_guard lock(lock_);
    DriverScope scope(*context_);
    Recipe& recipe = newest();
    std::lock_guard building(recipe.scope().building);
    const std::optional<GraphRecording::Addition> addition = make_buildable(recipe);
    if (&decided->scope() != &recipe.scope())
        fail(GPO_INVALID_ARGUMENT, describe(), " and ", conditional_in.describe(), " are not of one template");
    if (decided->abandoned())
        fail(GPO_INVALID_STATE, "the recording of ", conditional_in.describe(), " ended meanwhile, or was discarded");
    recipe.bind(checked_node(recipe.nodes(), kernel, "kernel_node"), argument, *decided,
                checked_node(decided->nodes(), conditional, "conditional"));
}

uint32_t Template::loop(uint32_t node, const Recipe& recipe) {
    std::lock_guard lock(lock_);
    const uint32_t first = first_loop(recipe.scope());
    const Node& found = current_->nodes()[checked_node(current_->nodes(), node, "node")];
    const auto* conditional = std::get_if<ConditionalNode>(&found.work);
    if (!conditional || conditional->type != CU_GRAPH_COND_TYPE_WHILE)
        fail(GPO_INVALID_ARGUMENT, describe_node(found, node - 1), ", is no while");
    return first + conditional->loop;
}

// The number, in the scope `in`, of the first while of this template, or of the template to which this body belongs.
uint32_t Template::first_loop(const Scope& in) const {
    const Scope* const own = &current_->scope();
    if (own == &in) return 0;
    const auto is_own = [&](const Scope::Child& child) { return child.scope.get() == own; };
    const auto found = std::find_if(in.children.begin(), in.children.end(), is_own);
    if (found == in.children.end())
        fail(GPO_INVALID_ARGUMENT, "the graph is not of ", describe(), " as it is now, nor is that a body, a child or ",
             "a body of a child of its template");
    if (const auto times = std::count_if(in.children.begin(), in.children.end(), is_own); times > 1)
        fail(GPO_INVALID_ARGUMENT, describe(), " is, or is a body of, a child that the graph's template has ", times,
             " times: only loops of a child that it has once can be asked for");
    return found->first_loop;
}

void Template::add_parameter(const char* name, uint32_t node, uint32_t what, uint32_t index) {
    std::lock_guard lock(lock_);
    DriverScope scope(*context_);
    Recipe& recipe = newest();
    std::lock_guard building(recipe.scope().building);
    if (recording_) {
        required_recording("a parameter");
        recipe.read_made(*recording_);
    } else {
        refuse_finished(recipe);
    }
    recipe.add_parameter(name, {checked_node(recipe.nodes(), node, "node"), what, index});
}

// --- queries ---

uint32_t Template::parameter(const char* name, uint64_t* bytes) {
    std::lock_guard lock(lock_);
    const Recipe& recipe = newest();
    const uint32_t number = recipe.parameters().find(name);
    if (bytes) *bytes = recipe.parameters()[number].bytes;
    return number;
}

uint32_t Template::find_node(const char* label) {
    std::lock_guard lock(lock_);
    if (!recording_) return node_called(current_->nodes(), label) + 1;
    required_recording("a search");
    DriverScope scope(*context_);
    std::lock_guard building(recorded_->scope().building);
    recorded_->read_made(*recording_);
    return node_called(recorded_->nodes(), label) + 1;
}

Ref<Recipe> Template::seal() {
    std::lock_guard lock(lock_);
    if (recording_) fail(GPO_INVALID_STATE, describe(), " is being recorded");
    if (current_->body())
        fail(GPO_INVALID_STATE, describe(), " is a body of a conditional node, and no graph by itself");
    if (!current_->traits().sealed) {
        DriverScope scope(*context_);
        std::lock_guard building(current_->scope().building);
        if (current_->scope().recordings) fail(GPO_INVALID_STATE, "a body of ", describe(), " is being recorded");
        current_->seal();
    }
    usable_.store(current_.get(), std::memory_order_release);
    return current_;
}

CUgraph Template::native() {
    const Ref<Recipe> recipe = seal();
    {
        DriverScope scope(*context_);
        recipe->make_graph();
    }
    recipe->events().note_given_out();
    return recipe->graph();
}

gpo_template_statistics Template::statistics() {
    gpo_template_statistics out{};
    out.pooled = instances_->size();
    const Holds::Waiting waiting = Holds::of(runtime()).waiting_frees(*this);
    out.waiting_frees = waiting.frees;
    out.waiting_for_words = waiting.for_words;
    out.held_words = counters_.held_words.load(std::memory_order_relaxed);
    out.launches = counters_.launches.load(std::memory_order_relaxed);
    out.patches = counters_.patches.load(std::memory_order_relaxed);
    out.updates = counters_.updates.load(std::memory_order_relaxed);
    out.rebuilds = counters_.rebuilds.load(std::memory_order_relaxed);
    out.dropped = counters_.dropped.load(std::memory_order_relaxed);
    out.instance_bytes = counters_.instance_bytes.load(std::memory_order_relaxed);
    out.instances = counters_.instances.load(std::memory_order_relaxed);
    out.recordings = counters_.recordings.load(std::memory_order_relaxed);
    std::lock_guard lock(lock_);
    out.nodes = static_cast<uint32_t>(current_->nodes().size());
    for (const Parameter& parameter : current_->parameters())
        out.parameters += parameter.bytes != 0 && !parameter.hidden;
    std::lock_guard notes(notes_lock_);
    copy_text(out.last_rebuild, last_rebuild_);
    copy_text(out.last_dropped, last_dropped_);
    return out;
}

Diagram Template::diagram() {
    std::lock_guard lock(lock_);
    if (recording_) fail(GPO_INVALID_STATE, describe(), " is being recorded");
    std::lock_guard building(current_->scope().building);
    if (current_->scope().recordings)
        fail(GPO_INVALID_STATE, "a body of ", describe(), ", or a body beside it, is being recorded");
    Diagram out = sketch(*current_);
    out.title = *label() ? label() : current_->body() ? "body of a conditional node" : "graph template";
    if (current_->body()) return out;
    const uint64_t launches = counters_.launches.load(std::memory_order_relaxed), took = newest_time_->took();
    out.subtitle += launches ? text("; launched ", count_text(launches, "time")) : std::string("; never launched");
    if (took) out.subtitle += text(", newest timed launch: ", time_text(static_cast<double>(took)));
    return out;
}

void Template::note_rebuild(const char* reason) noexcept {
    counters_.rebuilds.fetch_add(1, std::memory_order_relaxed);
    std::lock_guard lock(notes_lock_);
    try {
        last_rebuild_ = reason;
    } catch (const std::bad_alloc&) {
        last_rebuild_.clear();
    }
}

void Template::note_dropped(const Dropped& dropped) noexcept {
    if (!dropped.count) return;
    counters_.dropped.fetch_add(dropped.count, std::memory_order_relaxed);
    std::lock_guard lock(notes_lock_);
    try {
        last_dropped_ = text("parameter `", dropped.parameter, "`: ", dropped.reason);
    } catch (const std::bad_alloc&) {
        last_dropped_.clear();
    }
}

}  // namespace gpo
