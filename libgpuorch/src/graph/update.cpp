// Bringing a graph to its template's newest recording: by patching the few nodes that differ, by an update of the
// driver's, or by another executable graph.
#include <algorithm>
#include <cstring>

#include "graph/difference.h"
#include "graph/instance.h"
#include "stream/streams.h"

namespace gpo {

namespace {

bool same_shape(const Recipe& a, const Recipe& b) noexcept {
    return std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(),
                      [](const Node& one, const Node& other) { return one.work.index() == other.work.index(); });
}

const char* reason_of(CUgraphExecUpdateResult result) noexcept {
    switch (result) {
        case CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED: return "the order of nodes, or their number, differs";
        case CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED: return "a node is of another kind";
        case CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED:
        case CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE: return "a kernel is replaced by another one";
        case CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED: return "something differs that can't be changed in place";
        case CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED: return "a node can't be updated in place";
        case CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED: return "a launch attribute differs";
        default: return "the driver doesn't say why";
    }
}

}  // namespace

gpo_graph_update_report Graph::update() {
    gpo_graph_update_report report{};
    const Ref<Recipe> recipe = of_->seal();
    std::lock_guard lock(lock_);
    if (recipe.get() == instance_.recipe.get()) return report;
    DriverScope scope(context());
    Dropped dropped;
    SetValues wanted = carry_over(*instance_.recipe, wanted_, *recipe, dropped);
    HeldAddresses addresses(*of_, *recipe, wanted.bytes);
    if (update_in_place(recipe, report)) {
        of_->counters().updates.fetch_add(1, std::memory_order_relaxed);
    } else {
        rebuild(recipe);
        report.rebuilt = 1;
        of_->note_rebuild(report.reason);
    }
    wanted_ = std::move(wanted);
    addresses_ = std::move(addresses);
    of_->note_dropped(dropped);
    report.dropped = dropped.count;
    copy_text(report.dropped_parameter, dropped.parameter);
    copy_text(report.dropped_reason, dropped.reason);
    return report;
}

// False, with the reason, if the driver can't.
bool Graph::update_in_place(const Ref<Recipe>& recipe, gpo_graph_update_report& report) {
    const Recipe& was = *instance_.recipe;
    if (!same_shape(was, *recipe)) {
        const auto differ = std::mismatch(
            was.nodes().begin(), was.nodes().end(), recipe->nodes().begin(), recipe->nodes().end(),
            [](const Node& one, const Node& other) { return one.work.index() == other.work.index(); });
        const auto number = static_cast<uint32_t>(differ.second - recipe->nodes().begin());
        report.node = number < recipe->nodes().size() ? number + 1 : 0;
        copy_text(report.reason, text("it was ", node_text(was, number), ", and is ", node_text(*recipe, number)));
        return false;
    }
    if (recipe->traits().fixed) {
        copy_text(report.reason, "the driver updates no graph that allocates or frees memory");
        return false;
    }
    const Works works(*recipe, *instance_.built);
    Instance next = prepare(recipe, instance_.built, *recipe);
    std::vector<NodeWork> patched;
    for (const Patched& each : next.patched) patched.push_back(works[each.node]);
    enable_all();
    if (patch_differences(*recipe, works)) {
        for (size_t i = 0; i < patched.size(); ++i) next.patched[i].work = std::move(patched[i]);
        take_over(std::move(next));
        return true;
    }
    recipe->make_graph();
    CUgraphExecUpdateResultInfo info;
    std::memset(&info, 0, sizeof info);
    CUresult result;
    {
        std::lock_guard lock(recipe->instantiating());
        result = context().table().cuGraphExecUpdate(exec_, recipe->graph(), &info);
    }
    if (result == CUDA_SUCCESS) {
        take_over(std::move(next));
        return true;
    }
    if (result != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE) context().check(result, "cuGraphExecUpdate");
    const uint32_t number = info.errorNode ? recipe->find(info.errorNode) : Recipe::kNone;
    report.node = number == Recipe::kNone ? 0 : number + 1;
    copy_text(report.reason, number == Recipe::kNone
                                  ? std::string(reason_of(info.result))
                                  : text(node_text(*recipe, number), ", which was ", node_text(was, number), ": ",
                                         reason_of(info.result)));
    return false;
}

// False if the recipes differ in more than patchable work, or if the driver refuses a patch. Then the old work is put
// back. If the driver refuses even that, the driver's update, which is tried next, repairs the graph.
bool Graph::patch_differences(const Recipe& recipe, const Works& works) {
    const Works before(*instance_.recipe, *instance_.built);
    std::vector<const NodeWork*> now;
    for (uint32_t i = 0; i < instance_.recipe->nodes().size(); ++i) now.push_back(&before[i]);
    for (const Patched& patched : instance_.patched) now[patched.node] = &patched.work;
    const auto differ = patchable_differences(*instance_.recipe, recipe, now, works);
    if (!differ) return false;
    // The driver's update costs no more than many patches, if the driver has a graph of the recipe. The driver doesn't
    // update a graph whose conditions have other handles.
    if (recipe.has_graph() && recipe.tree().sections.size() == 1 && differ->size() > now.size() / 2) return false;
    const auto patch = [&](uint32_t node, const NodeWork& work) {
        return patch_node(context(), exec_, instance_.natives[node], work);
    };
    for (size_t i = 0; i < differ->size(); ++i) {
        const uint32_t node = (*differ)[i];
        if (patch(node, works[node]) == CUDA_SUCCESS) continue;
        for (size_t back = 0; back <= i; ++back) patch((*differ)[back], *now[(*differ)[back]]);
        return false;
    }
    return true;
}

// Before an update: all nodes of a recording are enabled, but the driver's update enables no node. If the update fails,
// the next launch disables the nodes again.
void Graph::enable_all() {
    unsent_ = true;
    for (uint32_t i = 0; i < instance_.targets.size(); ++i)
        for (const Target& target : instance_.targets[i]) {
            Patched& patched = instance_.patched[target.patched];
            if (target.field.what != GPO_PARAMETER_ENABLED || patched.enabled_sent) continue;
            context().check(context().table().cuGraphNodeSetEnabled(exec_, instance_.natives[patched.node], 1),
                            "cuGraphNodeSetEnabled");
            patched.enabled_sent = true;
            instance_.resend[i] = true;
        }
}

void Graph::rebuild(const Ref<Recipe>& recipe) {
    const Ref<Recipe> built = buildable(recipe);
    Ref<Executable> made;
    Instance next;
    try {
        built->make_graph();
        next = prepare(recipe, built, *built);
        made = instantiate(built);
    } catch (...) {
        if (built->traits().single) built->sole().give_back();
        throw;
    }
    note_launches_before();
    executable_ = std::move(made);
    exec_ = executable_->native;
    take_over(std::move(next));
}

// Launches on a stream that is destroyed by now, or is being captured, can't be marked, and aren't waited for. If this
// throws, the launches are noted by the next rebuild.
void Graph::note_launches_before() {
    const Ref<Stream> last = last_ ? Streams::of(context()).find(last_) : nullptr;
    if (last && !last->captured()) {
        if (!before_) context().take_event(false, &before_);
        context().check(context().table().cuEventRecord(before_, last->native()), "cuEventRecord");
    }
    last_ = nullptr;
}

void Graph::wait_for_launches_before(Stream& stream) {
    context().check(context().table().cuStreamWaitEvent(stream.native(), before_, CU_EVENT_WAIT_DEFAULT),
                    "cuStreamWaitEvent");
}

// Later launches wait for this one, on whichever stream: the driver sees to that.
void Graph::forget_launches_before() noexcept {
    context().give_events(false, &before_, 1);
    before_ = nullptr;
}

}  // namespace gpo
