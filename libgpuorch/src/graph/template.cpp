#include "graph/template.h"

#include <cstring>

#include "graph/instances.h"

namespace gpo {

namespace {
constexpr uint32_t kDefaultInstances = 64;
}

Template::Template(Ref<Context> context, const gpo_template_options& options)
    : Object(context->runtime(), Type::graph_template, options.label), context_(std::move(context)),
      instances_(std::make_unique<Instances>(*this, options.max_instances ? options.max_instances : kDefaultInstances)),
      current_(make<Recipe>(context_, nullptr)) {}

Template::~Template() = default;

void Template::close() noexcept {
    instances_->clear();
    std::lock_guard lock(lock_);
    recording_.reset();
    recorded_ = nullptr;
}

// --- recording ---

void Template::begin(Ref<Stream> stream) {
    if (&stream->runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, describe(), " and ", stream->describe(), " are of different runtimes");
    if (&stream->context() != &*context_)
        fail(GPO_INVALID_ARGUMENT, describe(), " and ", stream->describe(), " are not of one device");
    std::lock_guard lock(lock_);
    if (recording_)
        fail(GPO_INVALID_STATE, describe(), " is being recorded already, on ", recording_->stream().describe());
    auto recipe = make<Recipe>(context_, current_.get());
    recording_ = std::make_unique<GraphRecording>(std::move(stream));
    recipe->borrow(recording_->graph());
    recorded_ = std::move(recipe);
}

GraphRecording& Template::required_recording(const char* what) {
    if (!recording_) fail(GPO_INVALID_STATE, describe(), " is not being recorded: ", what, " needs gpo_template_begin");
    if (!recording_->on_this_thread())
        fail(GPO_INVALID_STATE, "another thread records ", describe(), ": ", what, " is that thread's to call");
    return *recording_;
}

// What streams have reported becomes nodes, in that order.
void Template::read_made() {
    for (GraphRecording::Made& made : recording_->take_made())
        recorded_->see(made.node, made.label, std::move(made.owner));
}

void Template::end() {
    std::lock_guard lock(lock_);
    required_recording("the end");
    DriverScope scope(*context_);
    const std::unique_ptr<GraphRecording> recording = std::move(recording_);
    const Ref<Recipe> recorded = std::move(recorded_);
    const CUgraph graph = recording->end();
    recorded->own(graph, recording->take_made());
    current_ = recorded;
    counters_.recordings.fetch_add(1, std::memory_order_relaxed);
}

void Template::cancel() {
    std::lock_guard lock(lock_);
    if (!recording_) fail(GPO_INVALID_STATE, describe(), " is not being recorded");
    recording_.reset();
    recorded_ = nullptr;
}

uint32_t Template::last_node(Stream& stream) {
    std::lock_guard lock(lock_);
    const GraphRecording& recording = required_recording("the last node");
    DriverScope scope(*context_);
    const CUgraphNode node = recording.last(stream);
    read_made();
    return node ? recorded_->see(node, "", nullptr) + 1 : 0;
}

void Template::set_last_node(Stream& stream, uint32_t node) {
    std::lock_guard lock(lock_);
    GraphRecording& recording = required_recording("the last node");
    DriverScope scope(*context_);
    read_made();
    recording.set_last(stream, recorded_->nodes()[recorded_->checked(node, "node")].native);
}

void Template::clear() {
    std::lock_guard lock(lock_);
    if (recording_) fail(GPO_INVALID_STATE, describe(), " is being recorded");
    current_ = make<Recipe>(context_, current_.get());
}

// --- node by node ---

Recipe& Template::buildable() {
    if (recording_) {
        required_recording("adding to it");
        read_made();
        return *recorded_;
    }
    if (current_->sealed())
        fail(GPO_INVALID_STATE, describe(), " has graphs, so it can't be added to: record it anew, or clear it first");
    current_->make_graph();
    return *current_;
}

uint32_t Template::add_node(std::span<const uint32_t> after, const NodeWork& work) {
    return build(after, [&](Recipe& recipe, const std::vector<uint32_t>& numbers) {
        return recipe.add_copy(work, nullptr, numbers);
    });
}

uint32_t Template::add_child(std::span<const uint32_t> after, Template& child, const char* prefix) {
    if (&child == this) fail(GPO_INVALID_ARGUMENT, describe(), " can't be its own child");
    if (&child.context() != &*context_)
        fail(GPO_INVALID_ARGUMENT, describe(), " and ", child.describe(), " are not of one device");
    const Ref<Recipe> recipe_of_child = child.seal();
    return build(after, [&](Recipe& recipe, const std::vector<uint32_t>& numbers) {
        return recipe.add_child(*recipe_of_child, numbers, prefix);
    });
}

void Template::add_parameter(const char* name, uint32_t node, uint32_t what, uint32_t index) {
    std::lock_guard lock(lock_);
    DriverScope scope(*context_);
    Recipe& recipe = buildable();
    recipe.add_parameter(name, {recipe.checked(node, "node"), what, index});
}

// --- what it is ---

uint32_t Template::parameter(const char* name, uint64_t* bytes) {
    std::lock_guard lock(lock_);
    const Recipe& recipe = recorded_ ? *recorded_ : *current_;
    const uint32_t number = recipe.parameter(name);
    if (bytes) *bytes = recipe.parameters()[number].bytes;
    return number;
}

uint32_t Template::find_node(const char* label) {
    std::lock_guard lock(lock_);
    if (!recording_) return current_->find(std::string_view(label)) + 1;
    required_recording("a search");
    DriverScope scope(*context_);
    read_made();
    return recorded_->find(std::string_view(label)) + 1;
}

Ref<Recipe> Template::seal() {
    std::lock_guard lock(lock_);
    if (recording_) fail(GPO_INVALID_STATE, describe(), " is being recorded");
    if (!current_->sealed()) {
        DriverScope scope(*context_);
        current_->make_graph();
        current_->seal();
    }
    return current_;
}

CUgraph Template::native() { return seal()->graph(); }

gpo_template_statistics Template::statistics() {
    gpo_template_statistics out{};
    out.pooled = instances_->size();
    out.launches = counters_.launches.load(std::memory_order_relaxed);
    out.patches = counters_.patches.load(std::memory_order_relaxed);
    out.updates = counters_.updates.load(std::memory_order_relaxed);
    out.rebuilds = counters_.rebuilds.load(std::memory_order_relaxed);
    out.instance_bytes = counters_.instance_bytes.load(std::memory_order_relaxed);
    out.instances = counters_.instances.load(std::memory_order_relaxed);
    out.recordings = counters_.recordings.load(std::memory_order_relaxed);
    std::lock_guard lock(lock_);
    out.nodes = static_cast<uint32_t>(current_->nodes().size());
    for (const Parameter& parameter : current_->parameters()) out.parameters += parameter.bytes != 0;
    const size_t length = std::min(last_rebuild_.size(), sizeof out.last_rebuild - 1);
    std::memcpy(out.last_rebuild, last_rebuild_.data(), length);
    return out;
}

void Template::note_rebuild(const std::string& reason) noexcept {
    counters_.rebuilds.fetch_add(1, std::memory_order_relaxed);
    std::lock_guard lock(lock_);
    try {
        last_rebuild_ = reason;
    } catch (const std::bad_alloc&) {
        last_rebuild_.clear();
    }
}

}  // namespace gpo
