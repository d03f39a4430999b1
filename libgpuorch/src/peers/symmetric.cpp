#include "peers/symmetric.h"

#include <algorithm>

#include "core/struct_options.h"
#include "kernel/module.h"
#include "memory/fill.h"
#include "peers/peers_names.h"

namespace gpo {

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 48;
constexpr uint64_t kMostAlignment = 2 << 20;

using peers::SymmetricLayout;
using peers::SymmetricMemory;

FixedText<96> owner_of(const gpo_symmetric_options& options) {
    const char* label = options.label ? options.label : "";
    return *label ? fixed_text<96>("symmetric memory `", Runtime::cut_label(label), "`")
                  : fixed_text<96>("symmetric memory");
}

void check(uint64_t bytes, const gpo_symmetric_options& options) {
    constexpr uint64_t least = SymmetricLayout::kAlignment;
    refuse_unknown_flags(options.flags, GPO_SYMMETRIC_REMOTE, "options.flags");
    if (options.reserved) fail(GPO_INVALID_ARGUMENT, "options.reserved is not 0");
    if (options.engine != GPO_AUTO && options.engine != GPO_ENGINE_DIRECT && options.engine != GPO_ENGINE_NVSHMEM)
        fail(GPO_INVALID_ARGUMENT, "options.engine is ", peers::engine_name(options.engine),
             ", and symmetric memory has GPO_ENGINE_DIRECT and GPO_ENGINE_NVSHMEM");
    const uint64_t alignment = options.alignment;
    if (alignment && (alignment < least || alignment > kMostAlignment || (alignment & (alignment - 1))))
        fail(GPO_INVALID_ARGUMENT, "options.alignment is ", alignment, ": it is a power of two from ", least, " to ",
             kMostAlignment);
    if (bytes == 0 || bytes > kMostBytes)
        fail(GPO_INVALID_ARGUMENT, "bytes is ", bytes, ": symmetric memory has 1 to ", kMostBytes, " on each device");
}

}  // namespace

Ref<Symmetric> Symmetric::create(Peers& peers, uint64_t bytes, const gpo_symmetric_options& options) {
    if (peers.ranks() > kMostSymmetricRanks)
        fail(GPO_NOT_SUPPORTED, "symmetric memory has at most ", kMostSymmetricRanks, " ranks, and ", peers.describe(),
             " has ", peers.ranks());
    ErrorPtr wrong;
    try {
        check(bytes, options);
    } catch (const Failure& failure) {
        if (!peers.hosted()) throw;
        wrong = failure.error();   // the other processes learn of it, and fail too
    }
    SymmetricLayout layout;
    layout.bytes = bytes;
    layout.alignment = std::max(options.alignment, SymmetricLayout::kAlignment);
    layout.ranks = peers.ranks();
    Ref<SymmetricMemory> memory;
    if (options.engine == GPO_ENGINE_NVSHMEM) {
        if (!peers.hosted())
            fail(GPO_NOT_SUPPORTED, "GPO_ENGINE_NVSHMEM is for groups of several processes, and ", peers.describe(),
                 " is of one");
        memory = SymmetricMemory::of_nvshmem(peers, layout, owner_of(options), wrong);
    } else if (peers.hosted()) {
        memory = SymmetricMemory::of_one_host(peers, layout, owner_of(options), wrong);
    } else {
        peers.require_direct("symmetric memory");
        memory = SymmetricMemory::of_one_process(peers, layout, owner_of(options));
    }
    return make<Symmetric>(peers, std::move(memory), options);
}

Symmetric::Symmetric(Peers& peers, Ref<SymmetricMemory> memory, const gpo_symmetric_options& options)
    : Object(peers.runtime(), Type::symmetric, options.label), contexts_(peers.contexts()),
      first_rank_(peers.first_rank()), remote_(options.flags & GPO_SYMMETRIC_REMOTE), memory_(std::move(memory)) {
    const SymmetricLayout& layout = memory_->layout();
    handle_.bytes = layout.bytes;
    handle_.ranks = layout.ranks;
    handle_.words = layout.words();
    handle_.block_words = layout.block_words();
    handle_.blocks = layout.blocks;
    for (uint32_t rank = 0; rank < layout.ranks; ++rank) {
        handle_.addresses[rank] = memory_->address(rank);
        handle_.remote += handle_.addresses[rank] == 0;
    }
}

void Symmetric::require_rank(uint32_t rank) const {
    if (rank >= handle_.ranks)
        fail(GPO_INVALID_ARGUMENT, "there is no rank ", rank, ": ", describe(), " has ", handle_.ranks, " ranks");
}

Context& Symmetric::require_own(uint32_t rank) const {
    require_rank(rank);
    if (rank < first_rank_ || rank - first_rank_ >= contexts_.size())
        fail(GPO_INVALID_ARGUMENT, "rank ", rank, " of ", describe(), " is of another process, and this one has rank ",
             first_rank_);
    return *contexts_[rank - first_rank_];
}

uint64_t Symmetric::address(uint32_t rank) const {
    require_rank(rank);
    if (!handle_.addresses[rank])
        fail(GPO_NOT_SUPPORTED, "rank ", first_rank_, " doesn't reach the memory of rank ", rank, " of ", describe(),
             " by an address");
    return handle_.addresses[rank];
}

SymmetricHandle Symmetric::handle(uint32_t rank) const {
    require_own(rank);
    for (uint32_t other = 0; handle_.remote && !remote_ && other < handle_.ranks; ++other)
        if (!handle_.addresses[other])
            fail(GPO_NOT_SUPPORTED, "rank ", rank, " doesn't reach the memory of rank ", other, " of ", describe(),
                 " by an address: kernels compiled with GPUORCH_NVSHMEM reach it, which GPO_SYMMETRIC_REMOTE promises");
    SymmetricHandle out = handle_;
    out.rank = rank;
    return out;
}

gpo_status Symmetric::reset(uint32_t rank, Stream& stream) {
    Context& context = require_own(rank);
    if (&stream.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, stream.describe(), " is of another runtime than ", describe());
    if (&stream.context() != &context)
        fail(GPO_INVALID_ARGUMENT, stream.describe(), " is of another device than rank ", rank);
    Fill zeros(context, handle_.addresses[rank] + handle_.words, 0, sizeof(uint32_t),
               memory_->layout().words_bytes() / sizeof(uint32_t));
    return stream.submit(zeros);
}

gpo_symmetric_info Symmetric::info() const {
    gpo_symmetric_info out{};
    out.ranks = handle_.ranks;
    out.bytes = handle_.bytes;
    out.alignment = memory_->layout().alignment;
    out.device_bytes = memory_->layout().allocated();
    out.barrier_blocks = handle_.blocks;
    out.native_atomics = memory_->native_atomics();
    return out;
}

}  // namespace gpo
