#include "peers/group.h"

#include <algorithm>

#include "core/struct_options.h"
#include "peers/bootstrap.h"
#include "peers/peers_names.h"
#include "peers/nccl_engine.h"
#include "stream/streams.h"

namespace gpo {

namespace {

using peers::Collective;
using peers::Engine;
using peers::Part;

void check_options(const gpo_peers_options& options) {
    refuse_unknown_flags(options.flags, 0, "options.flags");
    if (options.reserved) fail(GPO_INVALID_ARGUMENT, "options.reserved is not 0");
}

}  // namespace

Ref<Peers> Peers::create(std::vector<Ref<Context>> contexts, const gpo_peers_options& options) {
    check_options(options);
    if (options.engine > GPO_ENGINE_NCCL)
        fail(GPO_INVALID_ARGUMENT, "options.engine is ", peers::engine_name(options.engine),
             ", and groups of one process have GPO_ENGINE_DIRECT and GPO_ENGINE_NCCL");
    for (size_t rank = 0; rank < contexts.size(); ++rank) {
        if (&contexts[rank]->runtime() != &contexts[0]->runtime())
            fail(GPO_INVALID_HANDLE, "the device of rank ", rank, " is of another runtime than that of rank 0");
        for (size_t before = 0; before < rank; ++before)
            if (contexts[before]->ordinal() == contexts[rank]->ordinal())
                fail(GPO_INVALID_ARGUMENT, "ranks ", before, " and ", rank, " are the same device");
    }
    return make<Peers>(std::move(contexts), options);
}

Peers::Peers(std::vector<Ref<Context>> contexts, const gpo_peers_options& options)
    : Object(contexts.front()->runtime(), Type::peers, options.label), contexts_(std::move(contexts)) {
    connect();
    launcher_ = make<peers::Launcher>(contexts_);
    std::string why_not;
    if (options.engine != GPO_ENGINE_NCCL) {
        if (reach_each_other_) direct_ = make<peers::DirectEngine>(contexts_, describe());
        else why_not = unreachable_;
        if (options.engine == GPO_ENGINE_DIRECT && !direct_) fail(GPO_NOT_SUPPORTED, why_not);
    }
    const bool alone = ranks() == 1 && direct_;   // NCCL is no faster then
    if (options.engine == GPO_ENGINE_NCCL ||
        (options.engine == GPO_AUTO && !alone && contexts_.front()->driver().has_libraries)) {
        try {
            auto made = make<peers::NcclEngine>(contexts_);
            nccl_version_ = static_cast<uint32_t>(made->version());
            nccl_ = std::move(made);
        } catch (const Failure& failure) {
            const gpo_status status = failure.error()->status;
            const bool beside_resident_work = status == GPO_INVALID_STATE && direct_;
            if (options.engine == GPO_ENGINE_NCCL || (status != GPO_NOT_SUPPORTED && !beside_resident_work)) throw;
            why_not += text(why_not.empty() ? "" : "; ", failure.error()->message);
            runtime().log(GPO_LOG_INFO, describe(), " does without NCCL: ", failure.error()->message);
        }
    }
    if (!direct_ && !nccl_) fail(GPO_NOT_SUPPORTED, why_not);
}

// --- of several processes ---

Peers::Peers(Ref<Context> context, const char* label)
    : Object(context->runtime(), Type::peers, label), contexts_{std::move(context)} {
    reach_each_other_ = native_atomics_ = false;
}

Peers::~Peers() { close(); }

void Peers::close() noexcept {
    if (hosted_) hosted_->leave();
}

Ref<Peers> Peers::join(Ref<Context> context, const gpo_join_options& options) {
    auto made = make<Peers>(context, options.label);
    made->hosted_ = peers::join(std::move(context), options, made->describe());
    made->launcher_ = make<peers::Launcher>(made->contexts_, made->first_rank());
    return made;
}

Ref<Peers> Peers::split(std::span<const uint32_t> ranks, const gpo_peers_options& options) const {
    if (!hosted_) return create(contexts_of(ranks), options);
    check_options(options);
    auto made = make<Peers>(contexts_.front(), options.label);
    made->hosted_ = peers::join_part(contexts_.front(), *hosted_, ranks, options.engine, made->describe());
    made->launcher_ = make<peers::Launcher>(made->contexts_, made->first_rank());
    return made;
}

void Peers::abort() {
    if (!hosted_)
        fail(GPO_NOT_SUPPORTED, describe(), " is of one process: gpo_stream_cancel_held cancels what is held of it");
    hosted_->abort();
}

// --- of one process ---

// Gives every device access to the memory of every other, as far as they can reach each other.
void Peers::connect() {
    for (uint32_t from = 0; from < ranks(); ++from)
        for (uint32_t to = 0; to < ranks(); ++to) {
            if (from == to) continue;
            const gpo_peer_properties properties = link(from, to);
            native_atomics_ = native_atomics_ && properties.native_atomics;
            if (!properties.accessible) {
                if (reach_each_other_)
                    unreachable_ = text("the device of rank ", from, " can't reach the memory of rank ", to, "'s");
                reach_each_other_ = false;
                continue;
            }
            Context& context = *contexts_[from];
            DriverScope scope(context);
            contexts_[to]->require_alive();
            const CUresult result = context.table().cuCtxEnablePeerAccess(contexts_[to]->native(), 0);
            if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) context.check(result, "cuCtxEnablePeerAccess");
        }
}

std::vector<Ref<Context>> Peers::contexts_of(std::span<const uint32_t> ranks) const {
    std::vector<Ref<Context>> out;
    for (const uint32_t rank : ranks) {
        require_rank(rank);
        out.push_back(contexts_[rank]);
    }
    return out;
}

void Peers::require_rank(uint32_t rank) const {
    if (rank >= ranks())
        fail(GPO_INVALID_ARGUMENT, "there is no rank ", rank, ": ", describe(), " has ", ranks(), " ranks");
}

gpo_peer_properties Peers::link(uint32_t from, uint32_t to) const {
    require_rank(from);
    require_rank(to);
    for (const uint32_t rank : {from, to})
        if (hosted_ && rank != first_rank())
            fail(GPO_NOT_SUPPORTED, "rank ", rank, " of ", describe(), " is of another process");
    if (hosted_) return peer_properties(contexts_[0]->driver(), contexts_[0]->ordinal(), contexts_[0]->ordinal());
    return peer_properties(contexts_[from]->driver(), contexts_[from]->ordinal(), contexts_[to]->ordinal());
}

void Peers::require_direct(const char* what) const {
    if (!reach_each_other_) fail(GPO_NOT_SUPPORTED, what, " of ", describe(), ": ", unreachable_);
}

gpo_status Peers::launch(std::span<const peers::RankLaunch> launches) {
    if (launches.size() != contexts_.size())
        fail(GPO_INVALID_ARGUMENT, "count is ", launches.size(), ": ", describe(), " has ", contexts_.size(), " ranks",
             hosted_ ? " in this process" : "");
    return launcher_->submit(launches);
}

gpo_peers_info Peers::info() const {
    gpo_peers_info out{};
    out.ranks = ranks();
    out.direct = reach_each_other_;
    out.native_atomics = native_atomics_;
    out.nccl_version = hosted_ && hosted_->nccl() ? static_cast<uint32_t>(hosted_->nccl()->version()) : nccl_version_;
    out.mpi_device = hosted_ && hosted_->on_device();
    out.rank = first_rank();
    out.local_ranks = static_cast<uint32_t>(contexts_.size());
    out.collectives = collectives_.load(std::memory_order_relaxed);
    out.direct_collectives = direct_collectives_.load(std::memory_order_relaxed);
    out.bytes = bytes_.load(std::memory_order_relaxed);
    return out;
}

Engine& Peers::engine_for(const Collective& collective) const {
    if (hosted_) {
        if (const ErrorPtr error = hosted_->broken()) throw Failure(error);
        return hosted_->collectives();
    }
    if (!nccl_) return *direct_;
    if (!direct_) {
        if (collective.kind == peers::Kind::barrier)
            fail(GPO_NOT_SUPPORTED, "a barrier of ", describe(), ": ", unreachable_);
        return *nccl_;
    }
    const bool small = collective.kind == peers::Kind::barrier || collective.bytes() == 0 ||
                       (collective.kind == peers::Kind::all_reduce && collective.bytes() <= direct_->small_bytes());
    return small ? static_cast<Engine&>(*direct_) : *nccl_;
}

gpo_status Peers::submit(const gpo_collective& given, std::span<const Part> parts) {
    if (parts.size() != contexts_.size())
        fail(GPO_INVALID_ARGUMENT, "count is ", parts.size(), ": ", describe(), " has ", contexts_.size(), " ranks",
             hosted_ ? " in this process" : "");
    const Collective collective(given, ranks());
    collective.check(parts, contexts_, first_rank());
    Engine& engine = engine_for(collective);
    const char* label = given.label && *given.label ? runtime().intern(given.label) : nullptr;
    if (const gpo_status status = engine.submit(collective, parts, label)) return status;
    uint64_t sent = 0;
    for (uint32_t place = 0; place < parts.size(); ++place) sent += collective.sent(first_rank() + place);
    collectives_.fetch_add(1, std::memory_order_relaxed);
    direct_collectives_.fetch_add(&engine == direct_.get(), std::memory_order_relaxed);
    bytes_.fetch_add(sent, std::memory_order_relaxed);
    return GPO_SUCCESS;
}

}  // namespace gpo
