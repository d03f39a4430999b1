#include "stream/replay.h"

#include <cstring>
#include <optional>

#include "stream/services.h"
#include "stream/stream.h"

namespace gpo {

namespace {

uint64_t mixed(uint64_t value) noexcept {
    value *= 0x9e37'79b9'7f4a'7c15u;
    return (value ^ value >> 29) >> 1 | 1;
}

uint64_t fingerprint(const KernelWork& work) noexcept { return mixed(reinterpret_cast<uint64_t>(work.function)); }
uint64_t fingerprint(const CopyWork& work) noexcept { return mixed(2 + static_cast<uint64_t>(work.way)); }
uint64_t fingerprint(const FillWork& work) noexcept { return mixed(16 + uint64_t{work.element_bytes}); }

bool alike(const KernelWork& one, const KernelWork& other) noexcept { return one.function == other.function; }
bool alike(const CopyWork& one, const CopyWork& other) noexcept { return one.way == other.way; }
bool alike(const FillWork& one, const FillWork& other) noexcept { return one.element_bytes == other.element_bytes; }

// Calls `what` with the record of any kind; returns `none` if there is no record.
template <class Result, class Do>
Result with(const LearnableWork& work, Result none, Do what) noexcept {
    if (const auto* kernel = std::get_if<KernelWork>(&work)) return what(*kernel);
    if (const auto* copy = std::get_if<CopyWork>(&work)) return what(*copy);
    if (const auto* fill = std::get_if<FillWork>(&work)) return what(*fill);
    return none;
}

constexpr Issued kNothing{CUDA_SUCCESS, ""};

}  // namespace

uint64_t fingerprint_of(const LearnableWork& work) noexcept {
    return with(work, uint64_t{0}, [](const auto& record) { return fingerprint(record); });
}

// --- a step ---

ReplayStep::ReplayStep(const Operation& operation, const LearnableWork& work)
    : Operation(operation.kind(), operation.label()), work_(work), arguments_(operation.argument_bytes()),
      owner_(operation.owner()), engine_(operation.work().engine), bytes_(operation.work().bytes) {
    if (auto* kernel = std::get_if<KernelWork>(&work_)) {
        for (uint32_t i = 0; i < arguments_.count(); ++i) arguments_.copy(i, kernel->arguments[i]);
        kernel->arguments = arguments_.pointers();
    }
}

// The operation was counted at its acceptance.
void ReplayStep::issue(Stream& stream) {
    const Issued issued = with(
        work_, kNothing, [&](const auto& record) { return gpo::issue(stream.context(), stream.native(), record); });
    stream.context().check(issued.result, issued.function);
}

std::unique_ptr<Operation> ReplayStep::held_copy() const {
    gpo::fail(GPO_INTERNAL, "a step of a learned sequence was put on a stream");
}

bool ReplayStep::can_do(const LearnableWork& work) const noexcept {
    return with(work, false, [&](const auto& record) {
        const auto* mine = std::get_if<std::decay_t<decltype(record)>>(&work_);
        return mine && alike(*mine, record);
    });
}

void ReplayStep::take(const Operation& operation, const LearnableWork& work, uint64_t number) noexcept {
    set_label(operation.label());
    set_number(number);
    changed_ |= with(work, false, [&](const auto& record) { return take(record); });
}

bool ReplayStep::take(const KernelWork& work) noexcept {
    auto& mine = *std::get_if<KernelWork>(&work_);
    bool changed = mine.dynamic_shared != work.dynamic_shared;
    mine.dynamic_shared = work.dynamic_shared;
    for (int i = 0; i < 3; ++i) {
        changed |= mine.grid[i] != work.grid[i] || mine.block[i] != work.block[i];
        mine.grid[i] = work.grid[i];
        mine.block[i] = work.block[i];
    }
    for (uint32_t i = 0; i < arguments_.count(); ++i) {
        if (std::memcmp(mine.arguments[i], work.arguments[i], arguments_.bytes()[i]) == 0) continue;
        arguments_.copy(i, work.arguments[i]);
        changed = true;
    }
    return changed;
}

bool ReplayStep::take(const CopyWork& work) noexcept {
    auto& mine = *std::get_if<CopyWork>(&work_);
    const bool changed = mine.destination != work.destination || mine.source != work.source || mine.bytes != work.bytes;
    mine = work;
    bytes_ = work.bytes;
    return changed;
}

bool ReplayStep::take(const FillWork& work) noexcept {
    auto& mine = *std::get_if<FillWork>(&work_);
    const bool changed = mine.destination != work.destination || mine.count != work.count || mine.value != work.value;
    mine = work;
    bytes_ = bytes_of(work);
    return changed;
}

Issued ReplayStep::add_to(const Context& context, CUgraph graph, int32_t priority, CUgraphNode& after) noexcept {
    LearnableWork work = work_;
    if (auto* kernel = std::get_if<KernelWork>(&work)) {
        kernel->has_priority = priority != 0;
        kernel->priority = priority;
    }
    const std::span<const CUgraphNode> dependencies(&after, after ? 1 : 0);
    const Issued added = with(
        work, kNothing, [&](const auto& record) { return gpo::add(context, graph, dependencies, record, &node_); });
    if (added.result == CUDA_SUCCESS) after = node_;
    changed_ = false;
    return added;
}

Issued ReplayStep::send(const Context& context, CUgraphExec exec) noexcept {
    if (!changed_) return kNothing;
    const Issued sent =
        with(work_, kNothing, [&](const auto& record) { return gpo::change(context, exec, node_, record); });
    changed_ = sent.result != CUDA_SUCCESS;
    return sent;
}

// --- the graph ---

Replay::~Replay() {
    if (!graph_) return;
    const DriverTry scope(context_);
    if (!scope.entered()) return;
    if (exec_) context_.table().cuGraphExecDestroy(exec_);  // launches in progress run to their end
    context_.table().cuGraphDestroy(graph_);
}

void Replay::add(const Operation& operation, const LearnableWork& work) {
    steps_.reserve(steps_.size() + 1);
    Held::Spent fresh(1);
    Held::HeldOperation& step = fresh.front();
    step.internal = true;
    step.home = &home_;
    step.operation = std::make_unique<ReplayStep>(operation, work);
    steps_.push_back(fresh.begin());
    home_.splice(home_.end(), fresh);
}

CUresult Replay::build() noexcept {
    std::optional<Room::Share> room = StreamServices::of(context_).room().try_take({1, static_cast<int64_t>(size())});
    if (!room) return CUDA_ERROR_NOT_READY;
    room_ = std::move(*room);
    const driver::Table& table = context_.table();
    CUresult result = table.cuGraphCreate(&graph_, 0);
    CUgraphNode last = nullptr;
    for (size_t i = 0; i < size() && result == CUDA_SUCCESS; ++i)
        result = step(i).add_to(context_, graph_, priority_, last).result;
    return result == CUDA_SUCCESS ? table.cuGraphInstantiateWithFlags(&exec_, graph_, 0) : result;
}

CUresult Replay::launch(CUstream stream) noexcept {
    for (size_t i = 0; i < size(); ++i)
        if (const CUresult result = step(i).send(context_, exec_).result; result != CUDA_SUCCESS) return result;
    return context_.table().cuGraphLaunch(exec_, stream);
}

}  // namespace gpo
