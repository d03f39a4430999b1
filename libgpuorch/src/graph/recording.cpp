#include "graph/recording.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "kernel/launch.h"
#include "stream/event.h"

namespace gpo {

static constexpr uint64_t kLook = 10'000'000;   // ns between two looks for a shutdown

// Takes the stream out of the recording, if the driver says that it isn't captured. Under its submit lock.
static void leave_if_ended(DriverStream& stream) noexcept {
    if (stream.direct_recording()) return;   // a later recording
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (stream.table().cuStreamIsCapturing(stream.native(), &status) != CUDA_SUCCESS) return;
    if (status == CU_STREAM_CAPTURE_STATUS_NONE) stream.leave_recording();
}

GraphRecording::GraphRecording(Ref<Stream> stream, size_t nodes)
    : stream_(std::move(stream)), thread_(handle::thread_number()), lost_(std::make_shared<std::atomic<bool>>(false)) {
    nodes_.reserve(nodes);
    members_.push_back({stream_, {}});
}

GraphRecording::~GraphRecording() = default;   // leave() was called

void GraphRecording::begin() {
    Context& context = stream_->context();
    DriverScope scope(context);
    // The caller holds the template's lock, which a shutdown takes: it must not wait for a copy in the driver.
    std::optional<Submission::LockUntil> lock;
    do {
        stream_->refuse_shut_down();
        lock.emplace(stream_->submission(), host::now() + kLook);
    } while (!lock->held());
    if (const ErrorPtr failed = stream_->failure()) throw Failure(failed);
    if (!stream_->nothing_held())
        fail(GPO_INVALID_STATE, stream_->describe(), " is held: what it holds would be recorded when it is released");
    if (stream_->given_out()) stream_->refuse_capture();
    stream_->join_recording();
    if (!stream_->wrapped() && stream_->private_handle()) {
        number_ = captures::new_number();
        begun_ = true;
        direct_.store(true, std::memory_order_release);
        captures::add(*this, number_);
        stream_->join_direct(*this, number_);
        if (!stream_->private_handle()) enter_capture();   // the handle was given out meanwhile
        return;
    }
    begin_capture();
    begun_ = true;
    captures::add(*this, number_);
}

// Begins a capture of the first stream, into the recording's graph if there is one. If this throws, there is none.
void GraphRecording::begin_capture() {
    const driver::Table& table = stream_->table();
    Context& context = stream_->context();
    constexpr CUstreamCaptureMode kMode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUresult result =
        graph_ ? table.cuStreamBeginCaptureToGraph(stream_->native(), graph_, nullptr, nullptr, 0, kMode)
               : table.cuStreamBeginCapture(stream_->native(), kMode);
    if (result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        fail(GPO_CAPTURE_REFUSED, stream_->describe(), " is the legacy default stream, which can't be captured");
    context.check(result, graph_ ? "cuStreamBeginCaptureToGraph" : "cuStreamBeginCapture");
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t number = 0;
    const CUgraphNode* after = nullptr;
    size_t count = 0;
    result = table.cuStreamGetCaptureInfo(stream_->native(), &status, &number, &capturing_, &after, &count);
    try {
        context.check(result, "cuStreamGetCaptureInfo");
    } catch (...) {
        give_up_capture();
        if (!direct()) leave_if_ended(*stream_);
        throw;
    }
    number_ = number;
}

// The recording keeps its own graph and its nodes, unless the capture was broken: then the driver destroys the graph.
void GraphRecording::give_up_capture() noexcept {
    const driver::Table& table = stream_->table();
    CUgraph graph = nullptr;
    // A capture ends well only if nothing on streams that have joined is left to be waited for.
    for (size_t i = 1; graph_ && i < members_.size(); ++i)
        table.cuStreamUpdateCaptureDependencies(members_[i].stream->native(), nullptr, 0,
                                                CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    const bool ended = table.cuStreamEndCapture(stream_->native(), &graph) == CUDA_SUCCESS;
    capturing_ = nullptr;
    if (graph_ && ended) return;
    if (graph_) {
        graph_ = nullptr;
        lost_->store(true, std::memory_order_release);
        if (!first_refusal_) first_refusal_ = why_lost();
        return;
    }
    if (ended && graph) table.cuGraphDestroy(graph);
    placed_ = 0;
    for (Node& node : nodes_) {
        node.native = nullptr;
        node.attributes_due = false;
    }
}

ErrorPtr GraphRecording::why_lost() noexcept {
    return make_error(GPO_CAPTURE_REFUSED, "the driver couldn't go on with the recording in a capture, and has ",
                      "destroyed the recording's graph");
}

void GraphRecording::discard() noexcept {
    captures::remove(*this);
    // Tries twice to enter the driver: a stream that stays in capture is useless.
    for (int tries = 0; tries < 2; ++tries) {
        {
            std::lock_guard lock(lock_);
            if (!begun_ || ended_) return;
            ended_ = direct();
        }
        if (direct()) return leave();
        try {
            DriverScope scope(stream_->context());
            CUgraph graph = nullptr;
            if (end_capture(&graph) == CUDA_SUCCESS && graph) stream_->table().cuGraphDestroy(graph);
            return leave();
        } catch (const std::exception&) {
            // Usually the device is lost, and the recording with it.
        }
    }
    leave();   // streams and recording refer to each other
}

bool GraphRecording::on_this_thread() const noexcept { return thread_ == handle::thread_number(); }

CUresult GraphRecording::end_capture(CUgraph* graph) noexcept {
    {
        std::lock_guard lock(lock_);
        ended_ = true;
    }
    const Submission::Lock lock(stream_->submission());
    const driver::Table& table = stream_->table();
    CUresult result = table.cuStreamEndCapture(stream_->native(), graph);
    if (result == CUDA_SUCCESS) return result;
    // A failure of the capture has ended it. Any other failure, such as lack of memory, may have had no effect, and the
    // stream must not stay in capture.
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const bool goes_on = table.cuStreamIsCapturing(stream_->native(), &status) == CUDA_SUCCESS &&
                         status != CU_STREAM_CAPTURE_STATUS_NONE;
    if (goes_on) result = table.cuStreamEndCapture(stream_->native(), graph);
    if (is_sticky(result)) stream_->context().error_of(result, "cuStreamEndCapture");  // no other call may find out
    return result;
}

// Calls of the streams needn't check for a capture any more.
void GraphRecording::leave() noexcept {
    std::vector<Member> members;
    {
        std::lock_guard lock(lock_);
        members.swap(members_);
    }
    for (const Member& member : members) {
        const Submission::Lock lock(member.stream->submission());
        member.stream->leave_direct(*this);
        if (!direct()) leave_if_ended(*member.stream);
    }
    drop_graph();
}

// Does nothing unless the recording has ended badly. If the driver can't be entered, the device is lost.
void GraphRecording::drop_graph() noexcept {
    CUgraph graph = nullptr;
    {
        std::lock_guard lock(lock_);
        graph = std::exchange(graph_, nullptr);
    }
    if (!graph) return;
    DriverTry scope(stream_->context());
    if (scope.entered()) stream_->table().cuGraphDestroy(graph);
}

CUgraph GraphRecording::end() {
    captures::remove(*this);
    struct Leaving {
        ~Leaving() { recording.leave(); }
        GraphRecording& recording;
    } const leaving{*this};   // even if there is no memory for the rest
    CUgraph graph = nullptr;
    CUresult result = CUDA_SUCCESS;
    bool direct = false;
    {
        std::lock_guard lock(lock_);
        direct = this->direct();
        ended_ = direct;
        if (direct && !all_joined()) result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        graph = std::exchange(graph_, nullptr);
    }
    if (!direct) result = end_capture(&graph);
    const bool broken = result != CUDA_SUCCESS || (!direct && !graph);
    if (!broken && !first_refusal_) return graph;
    if (graph) stream_->table().cuGraphDestroy(graph);
    if (broken && is_sticky(result)) throw Failure(stream_->context().loss());
    throw Failure(why_not_recorded(broken, result));
}

// After lack of memory the caller may try again; any other refused piece can't be recorded.
ErrorPtr GraphRecording::why_not_recorded(bool broken, CUresult result) const {
    const bool no_memory =
        first_refusal_ ? first_refusal_->status == GPO_OUT_OF_MEMORY : result == CUDA_ERROR_OUT_OF_MEMORY;
    auto error = std::make_shared<Error>();
    error->status = no_memory ? GPO_OUT_OF_MEMORY : GPO_CAPTURE_REFUSED;
    error->native_code = broken && !direct() ? result : CUDA_SUCCESS;
    error->native_domain = error->native_code ? GPO_NATIVE_CUDA : GPO_NATIVE_NONE;
    error->message = first_refusal_ ? text("the recording lacks what was refused: ", first_refusal_->sentence())
                                    : why_broken(result);
    return error;
}

std::string GraphRecording::why_broken(CUresult result) const {
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return "the driver had no memory to end the recording";
    if (result != CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
        return "a call that can't be recorded, of another library or of the program, has broken the recording";
    std::string names;
    for (size_t i = 1; i < members_.size(); ++i)
        names += text(names.empty() ? "" : ", ", members_[i].stream->describe());
    return text("a stream joined the recording, and ", stream_->describe(), " doesn't wait for it at the end",
                names.empty() ? "" : text("; these were given work: ", names));
}

// --- a direct recording ---

const GraphRecording::Member* GraphRecording::find(const DriverStream& stream) const noexcept {
    for (const Member& member : members_)
        if (&*member.stream == &stream) return &member;
    return nullptr;
}

GraphRecording::Member& GraphRecording::member(const DriverStream& stream) {
    const Member* const found = ended_ ? nullptr : find(stream);
    if (!found) fail(GPO_INVALID_STATE, stream.describe(), " is not in this recording");
    return const_cast<Member&>(*found);
}

// Under lock_.
void GraphRecording::put(Stream& stream, const Operation& operation, NodeWork&& work,
                         std::optional<LaunchAttributes> attributes) {
    Member& at = member(stream);
    std::vector<uint32_t> next{static_cast<uint32_t>(nodes_.size())};
    Node& node = nodes_.emplace_back(Node{std::move(work), nullptr, {}, operation.label(), operation.owner()});
    node.attributes = attributes;
    node.after.swap(at.last);
    at.last.swap(next);
}

bool GraphRecording::add_one(Stream& stream, const Operation& operation, NodeWork&& work,
                             std::optional<LaunchAttributes> attributes) {
    std::lock_guard lock(lock_);
    if (!direct()) return false;
    put(stream, operation, std::move(work), attributes);
    return true;
}

bool GraphRecording::add(Stream& stream, const Operation& operation, const KernelWork& work, Arguments arguments) {
    return add_one(stream, operation, node_work(work, std::move(arguments)), attributes_of(work, stream.priority()));
}

bool GraphRecording::add(Stream& stream, const Operation& operation, std::span<const RowsWork> works) {
    std::lock_guard lock(lock_);
    if (!direct()) return false;
    for (const RowsWork& work : works)
        put(stream, operation, node_work(stream.context(), work), std::nullopt);
    return true;
}

bool GraphRecording::add(Stream& stream, const Operation& operation, const FillWork& work) {
    return add_one(stream, operation, node_work(work));
}

bool GraphRecording::add(Stream& stream, const Operation& operation, const EventWork& work) {
    return add_one(stream, operation, EventWork{work.event, work.wait});
}

bool GraphRecording::record(Stream& stream, Event& event) {
    std::lock_guard lock(lock_);
    if (!direct()) return false;
    std::vector<uint32_t> nodes = member(stream).last;
    const auto known = std::find_if(points_.begin(), points_.end(),
                                    [&](const Point& point) { return &*point.event == &event; });
    if (known != points_.end()) known->nodes.swap(nodes);
    else points_.push_back({Ref<Event>(&event), std::move(nodes)});
    return true;
}

bool GraphRecording::wait(Stream& stream, Event& event) {
    const bool joins = !stream.direct_recording();
    // In a recording with streams of several devices, nodes would belong to other contexts than the template's.
    const bool can_join = !stream.wrapped() && stream.private_handle() && &stream.context() == &stream_->context();
    if ((!joins || can_join) && join(stream, event)) {
        if (!joins || stream.private_handle()) return true;
        enter_capture();   // the handle was given out meanwhile
        return true;
    }
    enter_capture();
    return false;
}

// Under lock_: a recording that enters the capture takes this stream over. False if the recording is captured by now.
bool GraphRecording::join(Stream& stream, const Event& event) {
    std::lock_guard lock(lock_);
    if (!direct()) return false;
    const auto point = std::find_if(points_.begin(), points_.end(),
                                    [&](const Point& each) { return &*each.event == &event; });
    if (ended_ || point == points_.end()) fail(GPO_INVALID_STATE, event.describe(), " is not in this recording");
    if (!find(stream)) {
        members_.push_back({Ref<DriverStream>(&stream), point->nodes});
        stream.join_direct(*this, number_);
        return true;
    }
    Member& waits = member(stream);
    std::vector<uint32_t> last = waits.last;
    for (const uint32_t node : point->nodes)
        if (std::find(last.begin(), last.end(), node) == last.end()) last.push_back(node);
    waits.last.swap(last);
    return true;
}

std::vector<Node> GraphRecording::direct_nodes(size_t first) const {
    std::lock_guard lock(lock_);
    return {nodes_.begin() + static_cast<ptrdiff_t>(std::min(first, nodes_.size())), nodes_.end()};
}

bool GraphRecording::place(uint32_t number, Node& node) const {
    std::lock_guard lock(lock_);
    node.native = nodes_[number].native;
    node.attributes_due = nodes_[number].attributes_due;
    return node.native != nullptr;
}

std::vector<Node> GraphRecording::take_direct_nodes(size_t first) {
    std::lock_guard lock(lock_);
    nodes_.erase(nodes_.begin(), nodes_.begin() + static_cast<ptrdiff_t>(first));
    return std::move(nodes_);
}

uint32_t GraphRecording::direct_last(const DriverStream& stream, uint32_t none) const {
    std::lock_guard lock(lock_);
    const std::vector<uint32_t>& last = const_cast<GraphRecording*>(this)->member(stream).last;
    return last.size() == 1 ? last[0] : none;
}

bool GraphRecording::set_direct_last(const DriverStream& stream, uint32_t node) {
    std::vector<uint32_t> last{node};
    std::lock_guard lock(lock_);
    if (!direct()) return false;
    member(stream).last.swap(last);
    return true;
}

// Whether the first stream waits for all that the others were given. Under lock_.
bool GraphRecording::all_joined() const {
    std::vector<bool> behind(nodes_.size());
    std::vector<uint32_t> open = members_[0].last;
    while (!open.empty()) {
        const uint32_t node = open.back();
        open.pop_back();
        if (behind[node]) continue;
        behind[node] = true;
        open.insert(open.end(), nodes_[node].after.begin(), nodes_[node].after.end());
    }
    return std::all_of(members_.begin(), members_.end(), [&](const Member& member) {
        return std::all_of(member.last.begin(), member.last.end(), [&](uint32_t last) { return behind[last]; });
    });
}

// --- nodes that are added by themselves ---

GraphRecording::Addition::Addition(GraphRecording& recording) : recording_(&recording) {
    // A capture of the driver has to be able to take the graph over.
    if (!recording.stream_->table().cuStreamBeginCaptureToGraph) recording.enter_capture();
    lock_ = std::unique_lock(recording.lock_);
    if (recording.direct()) recording.bring_nodes();
}

void GraphRecording::Addition::note(std::span<const Node> added) {
    std::vector<Node>& nodes = recording_->nodes_;
    std::vector<Node> known;
    known.reserve(added.size());
    for (const Node& node : added) known.push_back(Node{EmptyNode{}, node.native, node.after, node.label, nullptr});
    if (const size_t needed = nodes.size() + known.size(); needed > nodes.capacity())
        nodes.reserve(std::max(needed, 2 * nodes.capacity()));
    nodes.insert(nodes.end(), std::make_move_iterator(known.begin()), std::make_move_iterator(known.end()));
    recording_->placed_ = nodes.size();
}

// Under lock_. The graph gets the nodes that it doesn't have.
void GraphRecording::bring_nodes() {
    Context& context = stream_->context();
    if (lost_->load(std::memory_order_acquire)) throw Failure(why_lost());
    if (!graph_) context.check(context.table().cuGraphCreate(&graph_, 0), "cuGraphCreate");
    add_recorded(context, nodes_, placed_, graph_);
    placed_ = nodes_.size();
}

// --- from a direct recording to a capture ---

void GraphRecording::enter_capture() {
    std::lock_guard lock(lock_);
    if (!direct() || ended_) return;
    DriverScope scope(stream_->context());
    const bool lost = lost_->load(std::memory_order_acquire);
    if (graph_ || lost) bring_nodes();
    const uint64_t before = number_;
    begin_capture();
    try {
        move_into_capture(before);
    } catch (...) {
        give_up_capture();
        number_ = before;
        throw;
    }
    graph_ = nullptr;   // the capture's
    for (const Point& point : points_) point.event->move_recording(before, number_, *stream_);
    captures::renumber(*this, number_);
    for (const Member& member : members_) member.stream->set_captured();
    direct_.store(false, std::memory_order_release);
}

// Adds the nodes to the graph that is being captured, and puts streams and events where they were.
void GraphRecording::move_into_capture(uint64_t before) {
    Context& context = stream_->context();
    const driver::Table& table = context.table();
    add_recorded(context, nodes_, placed_, capturing_);
    placed_ = nodes_.size();
    struct Joint {
        explicit Joint(Context& context) : context(context) {
            context.check(context.table().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
        }
        ~Joint() { context.table().cuEventDestroy(event); }
        Joint(const Joint&) = delete;
        Joint& operator=(const Joint&) = delete;
        Context& context;
        CUevent event = nullptr;
    } joint(context);
    context.check(table.cuEventRecord(joint.event, stream_->native()), "cuEventRecord");
    for (size_t i = 1; i < members_.size(); ++i) {
        DriverStream& stream = *members_[i].stream;
        context.check(table.cuStreamWaitEvent(stream.native(), joint.event, CU_EVENT_WAIT_DEFAULT),
                      "cuStreamWaitEvent");
        set_dependencies(stream, members_[i].last);
    }
    for (const Point& point : points_) {
        if (point.event->capture() != before) continue;   // recorded elsewhere since
        set_dependencies(*stream_, point.nodes);
        context.check(table.cuEventRecord(point.event->native(), stream_->native()), "cuEventRecord");
    }
    set_dependencies(*stream_, members_[0].last);
}

void GraphRecording::set_dependencies(DriverStream& stream, const std::vector<uint32_t>& nodes) {
    std::vector<CUgraphNode> natives;
    for (const uint32_t node : nodes) natives.push_back(nodes_[node].native);
    stream.context().check(stream.table().cuStreamUpdateCaptureDependencies(
                               stream.native(), natives.data(), natives.size(), CU_STREAM_SET_CAPTURE_DEPENDENCIES),
                           "cuStreamUpdateCaptureDependencies");
}

// --- what streams report ---

// A kernel that is recorded has the priority of its stream.
static std::optional<LaunchAttributes> attributes_in(const DriverStream& stream, const Operation& operation) noexcept {
    const auto* launch = dynamic_cast<const LaunchKernel*>(&operation);
    return launch ? attributes_of(launch->record(), stream.priority()) : std::nullopt;
}

void GraphRecording::captured(DriverStream& stream, const Operation& operation, CUgraphNode node) noexcept {
    std::lock_guard lock(lock_);
    try {
        if (!find(stream)) members_.push_back({Ref<DriverStream>(&stream), {}});
        const Operation& what = operation.content(stream);
        Ref<const Counted> owner = what.owner();
        if (!node || (operation.work().engine == trace::Engine::none && !owner)) return;   // the operation made no node
        made_.push_back({node, what.label(), std::move(owner), attributes_in(stream, what)});
    } catch (const std::bad_alloc&) {
        if (!first_refusal_) first_refusal_ = bare_error(GPO_OUT_OF_MEMORY);
    }
}

void GraphRecording::refused(DriverStream& stream, const char* function, const ErrorPtr& error) noexcept {
    refused(function, stream.describe().c_str(), error);
}

void GraphRecording::refused(const char* function, const char* of, const ErrorPtr& error) noexcept {
    std::lock_guard lock(lock_);
    if (first_refusal_) return;
    // A sentence about a labelled stream needn't name the stream again.
    const std::string_view sentence = error->sentence(), whose = of;
    const bool again = whose.ends_with('`') && sentence.starts_with(whose);
    first_refusal_ = make_error(error->status, function, " on ", whose, again ? ": it" : ": ",
                                again ? sentence.substr(whose.size()) : sentence);
}

std::optional<GraphRecording::Made> GraphRecording::next_made() noexcept {
    std::lock_guard lock(lock_);
    return passed_ < made_.size() ? std::optional(made_[passed_]) : std::nullopt;
}

void GraphRecording::passed() noexcept {
    std::lock_guard lock(lock_);
    ++passed_;
}

// --- where a stream is ---

CUgraphNode GraphRecording::last(Stream& stream) const {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t number = 0;
    CUgraph graph = nullptr;
    const CUgraphNode* after = nullptr;
    size_t count = 0;
    const CUresult result =
        stream.table().cuStreamGetCaptureInfo(stream.native(), &status, &number, &graph, &after, &count);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) stream.context().check(result, "cuStreamGetCaptureInfo");
    if (result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_ACTIVE || number != number_)
        fail(GPO_INVALID_STATE, stream.describe(), " is not in this recording");
    return count == 1 ? after[0] : nullptr;
}

void GraphRecording::set_last(Stream& stream, CUgraphNode node) {
    static_cast<void>(last(stream));   // throws if the stream isn't in the recording
    stream.context().check(
        stream.table().cuStreamUpdateCaptureDependencies(stream.native(), &node, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
        "cuStreamUpdateCaptureDependencies");
}

}  // namespace gpo
