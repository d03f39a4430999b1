#include "peers/symmetric.h"

#include <algorithm>

#include "core/options.h"
#include "kernel/module.h"
#include "memory/fill.h"

namespace gpo {

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 48;
constexpr uint64_t kAlignment = 256, kMostAlignment = 2 << 20;   // kAlignment: the driver's own, at least
constexpr uint32_t kWordsOfLine = 16;                            // 64 bytes: neighbouring blocks share no sector

uint64_t round_up(uint64_t value, uint64_t to) noexcept { return (value + to - 1) / to * to; }

FixedText<96> owner_of(const gpo_symmetric_options& options) {
    const char* label = options.label ? options.label : "";
    return *label ? fixed_text<96>("symmetric memory `", Runtime::cut_label(label), "`")
                  : fixed_text<96>("symmetric memory");
}

uint32_t most_resident_blocks(Context& context) {
    DriverScope scope(context);
    const auto attribute = [&](CUdevice_attribute which) {
        return static_cast<uint32_t>(std::max(device_attribute(context, which), 1));
    };
    return attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *
           attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
}

// A stream of its own, so that nothing waits for other work.
void clear(Context& context, uint64_t address, uint64_t bytes) {
    DriverScope scope(context);
    const driver::Table& table = context.table();
    CUstream stream = nullptr;
    context.check(table.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0), "cuStreamCreateWithPriority");
    const CUresult filled = table.cuMemsetD32Async(address, 0, bytes / sizeof(uint32_t), stream);
    const CUresult waited = table.cuStreamSynchronize(stream);
    table.cuStreamDestroy(stream);
    context.check(filled, "cuMemsetD32Async");
    context.check(waited, "cuStreamSynchronize");
}

}  // namespace

Ref<Symmetric> Symmetric::create(Peers& peers, uint64_t bytes, const gpo_symmetric_options& options) {
    refuse_unknown_flags(options.flags, 0, "options.flags");
    const uint64_t alignment = options.alignment;
    if (alignment && (alignment < kAlignment || alignment > kMostAlignment || (alignment & (alignment - 1))))
        fail(GPO_INVALID_ARGUMENT, "options.alignment is ", alignment, ": it is a power of two from ", kAlignment,
             " to ", kMostAlignment);
    if (bytes == 0 || bytes > kMostBytes)
        fail(GPO_INVALID_ARGUMENT, "bytes is ", bytes, ": symmetric memory has 1 to ", kMostBytes, " on each device");
    peers.require_direct("symmetric memory");
    return make<Symmetric>(peers, bytes, options);
}

Symmetric::Symmetric(Peers& peers, uint64_t bytes, const gpo_symmetric_options& options)
    : Object(peers.runtime(), Type::symmetric, options.label), contexts_(peers.contexts()),
      alignment_(std::max(options.alignment, kAlignment)) {
    handle_.bytes = bytes;
    handle_.ranks = static_cast<uint32_t>(contexts_.size());
    handle_.words = round_up(bytes, kAlignment);
    handle_.block_words = static_cast<uint32_t>(round_up(handle_.ranks + 1, kWordsOfLine));
    for (const Ref<Context>& context : contexts_)
        handle_.blocks = std::max(handle_.blocks, most_resident_blocks(*context));
    device_bytes_ = padded() + (alignment_ - kAlignment);
    for (uint32_t rank = 0; rank < handle_.ranks; ++rank) {
        memory_.push_back(make<OwnedMemory>(contexts_[rank], owner_of(options)));
        try {
            handle_.addresses[rank] = round_up(memory_[rank]->allocate(device_bytes_), alignment_);
        } catch (const Failure& failure) {
            if (failure.error()->status != GPO_OUT_OF_MEMORY) throw;
            fail(GPO_OUT_OF_MEMORY, "the device of rank ", rank, ": ", failure.error()->sentence());
        }
    }
    for (uint32_t rank = 0; rank < handle_.ranks; ++rank) clear(*contexts_[rank], handle_.addresses[rank], padded());
}

void Symmetric::require_rank(uint32_t rank) const {
    if (rank >= handle_.ranks)
        fail(GPO_INVALID_ARGUMENT, "there is no rank ", rank, ": ", describe(), " has ", handle_.ranks, " ranks");
}

uint64_t Symmetric::address(uint32_t rank) const {
    require_rank(rank);
    return handle_.addresses[rank];
}

SymmetricHandle Symmetric::handle(uint32_t rank) const {
    require_rank(rank);
    SymmetricHandle out = handle_;
    out.rank = rank;
    return out;
}

gpo_status Symmetric::reset(uint32_t rank, Stream& stream) {
    require_rank(rank);
    if (&stream.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, stream.describe(), " is of another runtime than ", describe());
    Context& context = *contexts_[rank];
    if (&stream.context() != &context)
        fail(GPO_INVALID_ARGUMENT, stream.describe(), " is of another device than rank ", rank);
    Fill zeros(context, handle_.addresses[rank] + handle_.words, 0, sizeof(uint32_t), words_bytes() / sizeof(uint32_t));
    return stream.submit(zeros);
}

gpo_symmetric_info Symmetric::info() const {
    gpo_symmetric_info out{};
    out.ranks = handle_.ranks;
    out.bytes = handle_.bytes;
    out.alignment = alignment_;
    out.device_bytes = device_bytes_;
    out.barrier_blocks = handle_.blocks;
    return out;
}

}  // namespace gpo
