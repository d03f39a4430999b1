#include "graph/instance.h"

#include <algorithm>
#include <cstring>

#include "memory/registry.h"
#include "stream/streams.h"

namespace gpo {

namespace {

constexpr uint64_t kLoopBytes = 2 * sizeof(uint32_t);

/// Bytes that all nodes allocate: an upper bound for a launch.
uint64_t allocated_by(const Recipe& recipe) noexcept {
    uint64_t bytes = 0;
    for (const Node& node : recipe.nodes())
        if (const auto* allocation = std::get_if<AllocationNode>(&node.work)) bytes += allocation->bytes;
    return bytes;
}

constexpr int64_t kLanesOfOthers = 8, kNodesOfOthers = 64;   // of a node whose inside isn't known

/// The room that an executable graph needs: an upper bound for what the driver takes. A node continues the branch of
/// the only node before it, unless another node does; every other node begins a branch.
Room::Need need_of(const Recipe& recipe) {
    const std::vector<Node>& nodes = recipe.nodes();
    std::vector<bool> continued(nodes.size());
    Room::Need need{0, static_cast<int64_t>(nodes.size())};
    for (const Node& node : nodes) {
        if (std::holds_alternative<EmptyNode>(node.work) || is_memory(node.work)) continue;
        if (std::holds_alternative<OtherNode>(node.work)) {
            need.lanes += kLanesOfOthers;
            need.nodes += kNodesOfOthers;
        }
        const bool continues = node.order_known && node.after.size() == 1 && !continued[node.after[0]];
        if (continues) continued[node.after[0]] = true;
        else ++need.lanes;
    }
    need.lanes = std::max<int64_t>(need.lanes, 1);
    return need;
}

bool same(const Parameter& parameter, const Values& a, const Values& b) noexcept {
    return std::memcmp(a.data() + parameter.offset, b.data() + parameter.offset, parameter.bytes) == 0;
}

}  // namespace

Graph::Graph(Ref<Template> of, uint32_t flags, const char* label)
    : Object(of->runtime(), Type::graph, label && *label ? label : of->label()), of_(std::move(of)), flags_(flags),
      addresses_(*of_) {
    const Ref<Recipe> recipe = of_->seal();
    DriverScope scope(context());
    const Ref<Recipe> built = buildable(recipe);
    try {
        built->make_graph();
        instance_ = prepare(recipe, built, *built);
        wanted_ = {recipe->parameters().values(), std::vector<bool>(recipe->parameters().size())};
        addresses_ = HeldAddresses(*of_, *recipe, wanted_.bytes);
        if (flags_ & GPO_GRAPH_DEVICE_LAUNCH) make_device_status(*recipe);
        executable_ = instantiate(built);
        exec_ = executable_->native;
        waits_.store(!recipe->events().awaited.empty(), std::memory_order_relaxed);
    } catch (...) {
        if (built->traits().single) built->sole().give_back();
        free_memory();
        throw;
    }
    of_->counters().instances.fetch_add(1, std::memory_order_relaxed);
}

Graph::~Graph() {
    if (before_) forget_launches_before();
    executable_ = nullptr;
    free_memory();
    of_->counters().instances.fetch_sub(1, std::memory_order_relaxed);
}

// Launches in flight may use the memory: it is freed when the device's streams are past them.
void Graph::free_memory() noexcept {
    try {
        if (!device_status_free_) return;
        Streams::of(context()).when_all_pass([free = device_status_free_.get()](bool) { free->make(); });
        static_cast<void>(device_status_free_.release());
    } catch (...) {
        // Either the device is lost, and its memory too. Or there is no memory for a wait, and the status word is freed
        // with the context.
    }
}

void Graph::make_device_status(const Recipe& recipe) {
    if (recipe.nodes().empty())
        fail(GPO_INVALID_ARGUMENT, of_->describe(), " is empty, and kernels can't launch a graph without work");
    auto free = std::make_unique<HostMemoryFree>(context());
    void* memory = nullptr;
    context().check_allocation(
        context().table().cuMemHostAlloc(&memory, sizeof(uint32_t),
                                         CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
        "cuMemHostAlloc", {Context::Wanted::Where::host, sizeof(uint32_t), of_->describe()});
    free->set(memory);
    device_status_free_ = std::move(free);
    device_status_ = new (memory) uint32_t(0);
}

Ref<Recipe> Graph::buildable(const Ref<Recipe>& recipe) {
    if (!recipe->traits().single || recipe->sole().claim()) return recipe;
    bool free = false;
    BlockingCalls& calls = Streams::of(context()).blocking_calls();
    if (calls.begin()) {
        {
            std::lock_guard lock(recipe->sole().ending());   // another thread may be destroying the executable
            const CUgraphExec left = recipe->sole().take_left();
            if (left) context().table().cuGraphExecDestroy(left);
            free = left || recipe->sole().claim();
        }
        calls.end();
    } else {
        free = recipe->sole().claim();   // that thread may wait for a resident kernel
    }
    return free ? recipe : recipe->rebuild();
}

Graph::Loops::Loops(Context& context, uint32_t count)
    : context_(&context), count_(count),
      memory_(Registry::of(context.runtime()).allocate(context, count * kLoopBytes, "loops of a graph")) {}

// Launches in flight count in the memory: it is freed when the device's streams are past them.
Graph::Loops::~Loops() {
    try {
        Registry::of(context_->runtime()).free(*context_, memory_);
    } catch (...) {
        // The device is lost, and the memory with it; or there is no memory to wait with, and it goes with the context.
    }
}

uint64_t Graph::Loops::address(uint32_t loop) const noexcept { return memory_ + loop * kLoopBytes; }

Ref<const Graph::Loops> Graph::loops_for(const Recipe& recipe) {
    const uint32_t count = recipe.scope().loops;
    if (count == 0) return nullptr;
    if (instance_.loops && instance_.loops->count() >= count) return instance_.loops;
    auto made = make<Loops>(context(), count);
    const BorrowedStream borrowed(context());
    const driver::Table& table = context().table();
    const uint64_t words = count * kLoopBytes / sizeof(uint32_t);
    context().check(table.cuMemsetD32Async(made->address(0), 0, words, borrowed->native()), "cuMemsetD32Async");
    context().check(table.cuStreamSynchronize(borrowed->native()), "cuStreamSynchronize");
    return made;
}

std::pair<uint32_t, bool> Graph::loop(Template& in, uint32_t node) {
    Ref<const Loops> loops;  // kept while the words are read, under no lock
    uint32_t number = 0, words[2] = {};
    {
        std::lock_guard lock(lock_);
        number = in.loop(node, *instance_.recipe);
        loops = instance_.loops;
    }
    const BorrowedStream borrowed(context());
    const CUstream stream = borrowed->native();
    DriverScope scope(context());
    context().check(context().table().cuMemcpyDtoHAsync(words, loops->address(number), sizeof words, stream),
                    "cuMemcpyDtoHAsync");
    context().check(context().table().cuStreamSynchronize(stream), "cuStreamSynchronize");
    return {words[0], words[1] != 0};
}

void Graph::require_device_launch() const {
    if (!(flags_ & GPO_GRAPH_DEVICE_LAUNCH))
        fail(GPO_INVALID_STATE, describe(), " was made without GPO_GRAPH_DEVICE_LAUNCH");
}

std::pair<uint64_t, uint64_t> Graph::device_handle() {
    require_device_launch();
    std::lock_guard lock(lock_);
    return {reinterpret_cast<uint64_t>(exec_), reinterpret_cast<uint64_t>(device_status_)};
}

gpo_status Graph::take_device_status() {
    require_device_launch();
    return static_cast<gpo_status>(std::atomic_ref(*device_status_).exchange(0, std::memory_order_relaxed));
}

// Destroys an executable graph where the driver waits for all kernels on the device (seen on an H200, driver 580). The
// graph may be launched by kernels, or have conditional or memory nodes, or a kernel that launches graphs. Any kernel
// counts as the latter, once there is a graph for kernels to launch.
class Graph::Executable::Destroy final : public BlockingCall {
public:
    Destroy(Context& context, const Ref<Recipe>& built) noexcept : BlockingCall(context), built_(built) {}
    CUgraphExec native = nullptr;   // NULL: take the executable that was left to the recipe
    Room::Share room;

private:
    void call(bool ok) noexcept override {
        {
            std::lock_guard lock(built_->sole().ending());
            if (!native) native = built_->sole().take_left();
            if (native && ok) context().table().cuGraphExecDestroy(native);
            if (native && built_->traits().single) built_->sole().give_back();
        }
        delete this;
    }
    const Ref<Recipe> built_;
};

Graph::Executable::Executable(Context& context, const Ref<Recipe>& built)
    : context_(&context), built_(built),
      destroy_(context.has_device_graphs() || built->traits().single ? std::make_unique<Destroy>(context, built)
                                                                      : nullptr) {}

Graph::Executable::~Executable() {
    if (!native) return;
    if (!destroy_) {
        DriverTry scope(*context_);
        if (scope.entered()) context_->table().cuGraphExecDestroy(native);  // launches in flight run to their end
        return;
    }
    // An uncopyable recipe has one executable at a time: if the next graph comes first, it destroys this executable.
    if (built_->traits().single && !built_->traits().copyable) built_->sole().leave(native);
    else destroy_->native = native;
    destroy_->room = std::move(room);
    BlockingCall* const call = destroy_.release();
    if (context_->runtime().shutting_down()) call->make();
    else call->make_elsewhere();
}

Ref<Graph::Executable> Graph::instantiate(const Ref<Recipe>& built) {
    const Recipe& recipe = *built;
    if (flags_ & GPO_GRAPH_DEVICE_LAUNCH) context().note_device_graph();
    auto made = make<Executable>(context(), built);
    made->room = Streams::of(context()).room().take(need_of(recipe), "making a graph");
    CUDA_GRAPH_INSTANTIATE_PARAMS params;
    std::memset(&params, 0, sizeof params);
    if (flags_ & GPO_GRAPH_DEVICE_LAUNCH) params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    else if (recipe.traits().leaves_memory)
        params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    CUresult result;
    {
        std::lock_guard lock(recipe.instantiating());
        result = context().table().cuGraphInstantiateWithParams(&made->native, recipe.graph(), &params);
    }
    if (result == CUDA_SUCCESS) return made;
    made->native = nullptr;
    const uint32_t node = params.hErrNode_out ? recipe.find(params.hErrNode_out) : Recipe::kNone;
    auto error = std::make_shared<Error>(*context().error_of(
        result, "cuGraphInstantiateWithParams", {Context::Wanted::Where::device, allocated_by(recipe), {}}));
    if ((flags_ & GPO_GRAPH_DEVICE_LAUNCH) && result == CUDA_ERROR_INVALID_VALUE) error->status = GPO_NOT_SUPPORTED;
    error->object = of_->describe();
    error->message = text(of_->describe(), " can't be instantiated",
                          node == Recipe::kNone ? std::string() : text(" because of ", node_text(recipe, node)), ": ",
                          error->message);
    throw Failure(std::move(error));
}

// Does all that needs memory for an executable graph that is made of `built` and has the nodes of `recipe`. `sent` has
// the work that the driver knows: condition handles, which are kernel arguments, differ between the driver's graphs.
Graph::Instance Graph::prepare(const Ref<Recipe>& recipe, const Ref<Recipe>& built, const Recipe& sent) {
    Instance out;
    out.recipe = recipe;
    out.built = built;
    for (const Node& node : built->nodes()) out.natives.push_back(node.native);
    const ParameterTable& parameters = recipe->parameters();
    std::vector<uint32_t> patched_of(recipe->nodes().size(), UINT32_MAX);
    out.targets.resize(parameters.size());
    out.loops = loops_for(*recipe);
    for (size_t i = 0; i < parameters.size(); ++i) {
        out.resend.push_back(parameters[i].differs() || parameters[i].hidden);
        out.hidden.push_back(parameters[i].hidden ? out.loops->address(parameters[i].loop) : 0);
        for (const NodeField& field : parameters[i].fields) {
            uint32_t& patched = patched_of[field.node];
            if (patched == UINT32_MAX) {
                patched = static_cast<uint32_t>(out.patched.size());
                out.patched.push_back({field.node, sent.nodes()[field.node].work});
            }
            out.targets[i].push_back({patched, field});
        }
    }
    out.changed.reserve(parameters.size());
    out.sent = recipe->parameters().values();
    return out;
}

void Graph::take_over(Instance next) noexcept {
    std::swap(instance_, next);
    waits_.store(!instance_.recipe->events().awaited.empty(), std::memory_order_release);
    unsent_ = true;
    // A recipe of 100 nodes takes 30 us to destroy.
    context().runtime().errands().post_body([before = std::move(next.recipe)] { static_cast<void>(before); });
}

// --- values ---

uint32_t Graph::parameter(const char* name) {
    std::lock_guard lock(lock_);
    return instance_.recipe->parameters().find(name);
}

void Graph::set(std::span<const Setting> settings) {
    std::lock_guard lock(lock_);
    apply(settings);
}

void Graph::set(const char* name, const void* value, uint64_t bytes) {
    std::lock_guard lock(lock_);
    const Setting setting{instance_.recipe->parameters().find(name), value, bytes};
    apply({&setting, 1});
}

void Graph::apply(std::span<const Setting> settings) {
    const Recipe& recipe = *instance_.recipe;
    for (const Setting& setting : settings) recipe.check_setting(setting.parameter, setting.value, setting.bytes);
    addresses_.set(settings);
    for (const Setting& setting : settings) {
        const Parameter& parameter = recipe.parameters()[setting.parameter];
        wanted_.set[setting.parameter] = true;
        if (std::memcmp(wanted_.bytes.data() + parameter.offset, setting.value, parameter.bytes) == 0) continue;
        std::memcpy(wanted_.bytes.data() + parameter.offset, setting.value, parameter.bytes);
        unsent_ = true;
    }
}

void Graph::get(const char* name, void* value, uint64_t bytes) {
    std::lock_guard lock(lock_);
    const Parameter& parameter = instance_.recipe->parameters()[instance_.recipe->parameters().find(name)];
    if (bytes != parameter.bytes)
        fail(GPO_INVALID_ARGUMENT, "parameter `", parameter.name, "` has ", parameter.bytes, " bytes, not ", bytes);
    std::memcpy(value, wanted_.bytes.data() + parameter.offset, parameter.bytes);
}

Graph::Snapshot Graph::snapshot() {
    std::lock_guard lock(lock_);
    return {instance_.recipe, wanted_};
}

uint32_t Graph::nodes() noexcept {
    std::lock_guard lock(lock_);
    return static_cast<uint32_t>(instance_.recipe->nodes().size());
}

Graph::Snapshot Graph::recorded() {
    std::unique_lock lock(lock_);
    if (!of_->is_current(*instance_.recipe)) [[unlikely]] {
        lock.unlock();
        update();
        lock.lock();
    }
    Snapshot out{instance_.recipe, std::move(spare_)};
    out.values.bytes = instance_.recipe->parameters().values();
    out.values.set.assign(instance_.recipe->parameters().size(), false);
    return out;
}

// --- launching ---

gpo_status Graph::put_all_waits(Stream& stream) {
    EventList awaited;
    {
        std::lock_guard lock(lock_);
        awaited = instance_.recipe->events().awaited;
    }
    for (const Ref<Event>& event : awaited)
        if (const gpo_status status = event->put_launch_wait(stream); status != GPO_SUCCESS) return status;
    return GPO_SUCCESS;
}

void Graph::launch(Stream& stream, Snapshot* values, LaunchedEvents& events) {
    std::lock_guard lock(lock_);
    if (!values) {
        if (unsent_) send(wanted_.bytes);
        unsent_ = false;
    } else {
        unsent_ = true;   // the driver no longer has the graph's own values
        send_snapshot(*values);
    }
    if (Residence* residence = stream.residence()) [[unlikely]]
        keep_used(*residence);
    const EventList& recorded = instance_.recipe->events().recorded;
    if (!recorded.empty()) events.begin(stream, recorded);
    if (before_) [[unlikely]] wait_for_launches_before(stream);
    const CUresult launched = context().table().cuGraphLaunch(exec_, stream.native());
    if (launched != CUDA_SUCCESS) [[unlikely]] fail_launch(launched);
    last_ = &stream;
    if (before_) [[unlikely]] forget_launches_before();
    if (!recorded.empty()) events.launched(recorded);
    of_->counters().launches.fetch_add(1, std::memory_order_relaxed);
    if (values) spare_ = std::move(values->values);
}

// The graph may have been updated since.
void Graph::send_snapshot(const Snapshot& values) {
    const Recipe& recipe = *instance_.recipe;
    if (values.recipe.get() == &recipe) [[likely]] return send(values.values.bytes);
    Dropped dropped;
    send(carry_over(*values.recipe, values.values, recipe, dropped).bytes);
    of_->note_dropped(dropped);
}

// Makes a resident stream hold references to objects that a launch uses and that an update of the graph may release.
// Other streams need no references (stream/residence.h).
void Graph::keep_used(Residence& residence) const {
    residence.keep(instance_.loops);
    residence.keep(instance_.recipe);
    residence.keep(executable_);
}

void Graph::fail_launch(CUresult result) const {
    if (result == CUDA_ERROR_INVALID_VALUE && instance_.recipe->traits().fixed)
        fail(GPO_INVALID_STATE, describe(), " can't be launched: memory that it frees isn't allocated, or memory that ",
             "it allocates still is");
    context().check_allocation(
        result, "cuGraphLaunch", {Context::Wanted::Where::device, allocated_by(*instance_.recipe), describe()});
}

void Graph::fail_device(const Stream& stream) const {
    if (&stream.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, describe(), " and ", stream.describe(), " are of different runtimes");
    fail(GPO_INVALID_ARGUMENT, describe(), " and ", stream.describe(), " are not of one device");
}

void Graph::upload(Stream& stream) {
    stream.refuse_capture();
    std::lock_guard lock(lock_);
    send(wanted_.bytes);
    unsent_ = false;
    context().check(context().table().cuGraphUpload(exec_, stream.native()), "cuGraphUpload");
}

CUgraphExec Graph::native() {
    DriverScope scope(context());
    std::lock_guard lock(lock_);
    send(wanted_.bytes);
    unsent_ = false;
    instance_.recipe->events().note_given_out();
    return exec_;
}

// Gives the driver the nodes whose values differ from the sent values. Takes no memory. Addresses are checked again:
// memory that isn't the library's may have been freed since.
void Graph::send(const Values& values) {
    const ParameterTable& parameters = instance_.recipe->parameters();
    std::vector<uint32_t>& changed = instance_.changed;
    changed.clear();
    for (uint32_t i = 0; i < parameters.size(); ++i)
        if (parameters[i].bytes && (instance_.resend[i] || (!parameters[i].hidden &&
                                                            !same(parameters[i], values, instance_.sent))))
            changed.push_back(i);
    if (changed.empty()) return;
    for (const uint32_t parameter : changed) check_addresses(parameter, values);
    for (const uint32_t parameter : changed) write(parameter, values);
    uint64_t patches = 0;
    for (uint32_t i = 0; i < instance_.patched.size(); ++i) {
        Patched& patched = instance_.patched[i];
        if (!patched.changed()) continue;
        if (const CUresult result = patch(patched); result != CUDA_SUCCESS) {
            const ErrorPtr error = error_of_refused(i, result);
            put_back(i);
            throw Failure(error);
        }
        ++patches;
    }
    for (const uint32_t i : changed) {
        std::memcpy(instance_.sent.data() + parameters[i].offset, values.data() + parameters[i].offset,
                    parameters[i].bytes);
        instance_.resend[i] = false;
    }
    for (Patched& patched : instance_.patched) patched.work_changed = false;
    of_->counters().patches.fetch_add(patches, std::memory_order_relaxed);
}

void Graph::check_addresses(uint32_t parameter, const Values& values) const {
    const Parameter& of = instance_.recipe->parameters()[parameter];
    for (const NamedField& field : of.fields) check_address(context(), field, of.name, values.data() + of.offset);
}

void Graph::write(uint32_t parameter, const Values& values) noexcept {
    const Parameter& of = instance_.recipe->parameters()[parameter];
    const void* value = values.data() + of.offset;
    if (of.hidden) value = &instance_.hidden[parameter];
    for (const Target& target : instance_.targets[parameter]) {
        Patched& patched = instance_.patched[target.patched];
        if (target.field.what == GPO_PARAMETER_ENABLED) {
            uint32_t enabled = 0;
            std::memcpy(&enabled, value, sizeof enabled);
            patched.enabled = enabled != 0;
        } else {
            write_field(patched.work, target.field, value);
            patched.work_changed = true;
        }
    }
}

CUresult Graph::patch(Patched& patched) noexcept {
    const CUgraphNode native = instance_.natives[patched.node];
    CUresult result = CUDA_SUCCESS;
    if (patched.work_changed) result = patch_node(context(), exec_, native, patched.work);
    if (result != CUDA_SUCCESS || patched.enabled == patched.enabled_sent) return result;
    result = context().table().cuGraphNodeSetEnabled(exec_, native, patched.enabled);
    if (result == CUDA_SUCCESS) patched.enabled_sent = patched.enabled;
    return result;
}

// After a refusal: gives the refused node and those before it the sent values again. The driver may have taken the
// refused node's work and refused only its switch. Parameters that can't be put back are sent by the next launch, even
// if unchanged.
void Graph::put_back(uint32_t refused) noexcept {
    for (const uint32_t parameter : instance_.changed) {
        write(parameter, instance_.sent);
        instance_.resend[parameter] = true;
    }
    bool all = true;
    for (uint32_t i = 0; i <= refused; ++i) {
        Patched& patched = instance_.patched[i];
        if (patched.changed()) all &= patch(patched) == CUDA_SUCCESS;
    }
    for (Patched& patched : instance_.patched) patched.work_changed = false;
    if (!all) return;
    for (const uint32_t parameter : instance_.changed)
        instance_.resend[parameter] = instance_.recipe->parameters()[parameter].differs() ||
                                      instance_.recipe->parameters()[parameter].hidden;
}

std::string Graph::node_text(const Recipe& recipe, uint32_t number) {
    return number < recipe.nodes().size() ? describe_node(recipe.nodes()[number], number) : std::string("no node");
}

// Called while the node still has the refused values.
ErrorPtr Graph::error_of_refused(uint32_t refused, CUresult result) const noexcept {
    const ErrorPtr reported = context().error_of(result, "cuGraphExec…SetParams");
    try {
        const Patched& patched = instance_.patched[refused];
        auto error = std::make_shared<Error>(*reported);
        std::string room;
        if (result == CUDA_ERROR_INVALID_VALUE) {
            error->status = GPO_INVALID_ARGUMENT;
            room = reach_beyond_memory(context(), patched.work);
        }
        error->object = describe();
        error->message = text("the driver refuses what was set for ", changed_text(refused),
                              node_text(*instance_.recipe, patched.node), ", of ", describe(), ": ",
                              room.empty() ? error->message : room);
        return error;
    } catch (const std::bad_alloc&) {
        return reported;
    }
}

// "parameters `from`, `bytes` of ": the parameters that the launch has changed in the node.
std::string Graph::changed_text(uint32_t in) const {
    std::string names;
    unsigned count = 0;
    for (const uint32_t parameter : instance_.changed) {
        const std::vector<Target>& targets = instance_.targets[parameter];
        if (instance_.recipe->parameters()[parameter].hidden ||
            std::none_of(targets.begin(), targets.end(), [&](const Target& target) { return target.patched == in; }))
            continue;
        names += text(count++ ? ", `" : "`", instance_.recipe->parameters()[parameter].name, "`");
    }
    return count ? text(count == 1 ? "parameter " : "parameters ", names, " of ") : std::string();
}

// --- the operation ---

LaunchGraph::LaunchGraph(Graph& graph, Stream& stream)
    : HookedOperation("graph", graph.label()), graph_(graph), stream_(stream) {}

LaunchGraph::LaunchGraph(Graph& graph, Stream& stream, Graph::Snapshot values)
    : HookedOperation("graph", graph.label()), graph_(graph), stream_(stream), values_(std::move(values)) {}

gpo_status LaunchGraph::put() {
    const gpo_status waits = graph_.put_waits(stream_);
    return waits == GPO_SUCCESS ? stream_.submit(*this) : waits;
}

trace::Work LaunchGraph::work() const noexcept {
    trace::Work work{trace::Engine::graph};
    work.nodes = graph_.nodes();
    work.graph_template = graph_.of().label();
    work.time = &graph_.of().newest_time();
    return work;
}

void LaunchGraph::issue(Stream& stream) {
    if (stream.given_out()) stream.refuse_capture();   // the driver would break the capture
    try {
        graph_.launch(stream, values_ ? &*values_ : nullptr, events_);
    } catch (...) {
        events_.refused();
        throw;
    }
    events_.conclude(stream);
}

std::unique_ptr<Operation> LaunchGraph::held_copy() const {
    auto copy = std::make_unique<LaunchGraph>(graph_, stream_, values_ ? *values_ : graph_.snapshot());
    copy->kept_ = Ref<Graph>(&graph_);
    copy->events_.promise(stream_, copy->values_->recipe->events().recorded);
    return copy;
}

}  // namespace gpo
