#include "peers/symmetric_memory.h"

#include <algorithm>
#include <cstring>

#include "peers/handshake.h"
#include "peers/nvshmem_memory.h"

namespace gpo::peers {

namespace {

constexpr uint32_t kWordsOfLine = 16;   // 64 bytes: neighbouring blocks share no sector

uint64_t round_up(uint64_t value, uint64_t to) noexcept { return (value + to - 1) / to * to; }

uint32_t most_resident_blocks(Context& context) {
    DriverScope scope(context);
    const auto attribute = [&](CUdevice_attribute which) {
        return static_cast<uint32_t>(std::max(device_attribute(context, which), 1));
    };
    return attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) *
           attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
}

// Uses a new stream, so as not to wait for other work.
void fill_with_zeros(Context& context, uint64_t address, uint64_t bytes) {
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

// --- one process ---

class OfOneProcess final : public SymmetricMemory {
public:
    OfOneProcess(Peers& peers, SymmetricLayout layout, const FixedText<96>& owner) {
        const std::vector<Ref<Context>>& contexts = peers.contexts();
        for (const Ref<Context>& context : contexts)
            layout.blocks = std::max(layout.blocks, most_resident_blocks(*context));
        layout_ = layout;
        native_atomics_ = peers.info().native_atomics;
        for (uint32_t rank = 0; rank < layout.ranks; ++rank) {
            memory_.push_back(make<OwnedMemory>(contexts[rank], owner));
            try {
                addresses_.push_back(round_up(memory_[rank]->allocate(layout.allocated()), layout.alignment));
            } catch (const Failure& failure) {
                if (failure.error()->status != GPO_OUT_OF_MEMORY) throw;
                fail(GPO_OUT_OF_MEMORY, "the device of rank ", rank, ": ", failure.error()->sentence());
            }
        }
        for (uint32_t rank = 0; rank < layout.ranks; ++rank)
            fill_with_zeros(*contexts[rank], addresses_[rank], layout.padded());
    }

private:
    std::vector<Ref<OwnedMemory>> memory_;   // by rank
};

// --- processes of one host ---

// A rank's record, exchanged three times: with its request, with its allocation, and with the result of importing the
// others'. Has the same layout in all processes.
struct Offer {
    static constexpr uint32_t kVersion = 2;
    uint32_t version = kVersion;
    int32_t status = GPO_SUCCESS;     // not 0: the rank can't take part, since:
    char why[240] = {};
    char owner[96] = {};              // the memory's name, with its label
    char host[96] = {};               // host and PID namespace (describe_place)
    uint64_t bytes = 0, alignment = 0;
    uint32_t blocks = 0, native_atomics = 1;
    uint64_t begin = 0;               // offset of the aligned memory in the exported memory
    Exported exported;
};

class OfOneHost final : public SymmetricMemory {
public:
    OfOneHost(const SymmetricLayout& layout, std::vector<uint64_t> addresses, bool native_atomics,
              Ref<OwnedMemory> memory)
        : memory_(std::move(memory)) {
        layout_ = layout;
        addresses_ = std::move(addresses);
        native_atomics_ = native_atomics;
    }

private:
    const Ref<OwnedMemory> memory_;   // this rank's memory and the imported memory
};

// Allocates memory in a call that all processes make.
class Allocating {
public:
    Allocating(Peers& peers, const SymmetricLayout& layout, const FixedText<96>& owner, const ErrorPtr& wrong)
        : engine_(*peers.hosted()), context_(*peers.contexts().front()),
          memory_(make<OwnedMemory>(peers.contexts().front(), owner)), layout_(layout), failed_(wrong) {
        copy_text(own_.owner, owner.c_str());
    }

    Ref<SymmetricMemory> run() {
        own_.bytes = layout_.bytes;
        own_.alignment = layout_.alignment;
        host::describe_place(own_.host, sizeof own_.host);
        attempt([&] { own_.blocks = most_resident_blocks(context_); });
        exchange();
        compare();
        for (const Offer& offer : offers_) layout_.blocks = std::max(layout_.blocks, offer.blocks);
        attempt([&] { allocate(); });
        exchange();
        attempt([&] { import(); });
        exchange();
        bool native_atomics = true;
        for (const Offer& offer : offers_) native_atomics = native_atomics && offer.native_atomics;
        return make<OfOneHost>(layout_, std::move(addresses_), native_atomics, memory_);
    }

private:
    template <class Body>
    void attempt(Body body) noexcept {
        if (failed_) return;
        try {
            body();
        } catch (const Failure& failure) {
            failed_ = failure.error();
        } catch (const std::bad_alloc&) {
            failed_ = bare_error(GPO_OUT_OF_MEMORY);
        }
    }

    // If a rank fails, all fail, with that rank in the message.
    void exchange() {
        if (failed_) {
            own_.status = failed_->status;
            copy_text(own_.why, failed_->sentence());
        }
        offers_ = engine_.exchange(own_);
        if (failed_) throw Failure(failed_);
        for (uint32_t rank = 0; rank < offers_.size(); ++rank) {
            if (offers_[rank].version != Offer::kVersion)
                fail(GPO_INVALID_ARGUMENT, "rank ", rank, " has another version of the library");
            if (offers_[rank].status != GPO_SUCCESS)
                fail(offers_[rank].status, "rank ", rank, ": ", offers_[rank].why);
        }
    }

    // All ranks reach the same result.
    void compare() const {
        const std::vector<Offer>& offers = offers_;
        require_same_label(offers);
        for (uint32_t rank = 1; rank < offers.size(); ++rank) {
            const auto refuse = [&](const char* what, uint64_t of_rank, uint64_t of_first) {
                if (of_rank != of_first)
                    fail(GPO_INVALID_ARGUMENT, what, " of rank ", rank, " is ", of_rank, ", and that of rank 0 is ",
                         of_first);
            };
            refuse("bytes", offers[rank].bytes, offers[0].bytes);
            refuse("the alignment", offers[rank].alignment, offers[0].alignment);
            if (std::memcmp(offers[rank].host, offers[0].host, sizeof offers[0].host) != 0)
                fail(GPO_NOT_SUPPORTED, "ranks 0 and ", rank,
                     " are on different hosts, or in containers that don't see each other's processes");
        }
    }

    void allocate() {
        const uint64_t address = memory_->allocate(layout_.allocated());
        const uint64_t aligned = round_up(address, layout_.alignment);
        fill_with_zeros(context_, aligned, layout_.padded());
        own_.exported = export_memory(context_, address, layout_.allocated());
        own_.begin = aligned - address;
        addresses_.assign(layout_.ranks, 0);
        addresses_[engine_.rank()] = aligned;
    }

    void import() {
        for (uint32_t rank = 0; rank < layout_.ranks; ++rank) {
            if (rank == engine_.rank()) continue;
            const Offer& offer = offers_[rank];
            try {
                const Exported read =
                    read_exported(context_, Exported::memory, &offer.exported, sizeof offer.exported);
                addresses_[rank] = memory_->import(read) + offer.begin;
            } catch (const Failure& failure) {
                fail(failure.error()->status, "the memory of rank ", rank, ": ", failure.error()->sentence());
            }
            own_.native_atomics = own_.native_atomics && has_native_atomics(offer.exported);
        }
    }

    bool has_native_atomics(const Exported& theirs) {
        if (std::memcmp(theirs.device, own_.exported.device, sizeof theirs.device) == 0) return true;
        const DriverScope scope(context_);
        const int ordinal = ordinal_of(context_, theirs.device);
        return ordinal >= 0 && peer_properties(context_.driver(), context_.ordinal(), ordinal).native_atomics;
    }

    HostedEngine& engine_;
    Context& context_;
    const Ref<OwnedMemory> memory_;
    SymmetricLayout layout_;
    std::vector<uint64_t> addresses_;
    Offer own_;
    std::vector<Offer> offers_;   // the ranks' newest records
    ErrorPtr failed_;             // why this process can't take part; or NULL
};

// --- NVSHMEM ---

class OfNvshmem final : public SymmetricMemory {
public:
    OfNvshmem(const SymmetricLayout& layout, Ref<NvshmemMemory> memory) : memory_(std::move(memory)) {
        layout_ = layout;
        native_atomics_ = false;   // NVSHMEM doesn't report it
        for (uint32_t rank = 0; rank < layout.ranks; ++rank) addresses_.push_back(memory_->address(rank));
    }

private:
    const Ref<NvshmemMemory> memory_;
};

}  // namespace

uint64_t SymmetricLayout::words() const noexcept { return round_up(bytes, kAlignment); }

uint32_t SymmetricLayout::block_words() const noexcept {
    return static_cast<uint32_t>(round_up(ranks + 1, kWordsOfLine));
}

Ref<SymmetricMemory> SymmetricMemory::of_one_process(Peers& peers, SymmetricLayout layout, const FixedText<96>& owner) {
    return make<OfOneProcess>(peers, layout, owner);
}

Ref<SymmetricMemory> SymmetricMemory::of_one_host(Peers& peers, SymmetricLayout layout, const FixedText<96>& owner,
                                                  const ErrorPtr& wrong) {
    return Allocating(peers, layout, owner, wrong).run();
}

Ref<SymmetricMemory> SymmetricMemory::of_nvshmem(Peers& peers, SymmetricLayout layout, const FixedText<96>& owner,
                                                 ErrorPtr wrong) {
    const Ref<Context>& context = peers.contexts().front();
    try {
        layout.blocks = most_resident_blocks(*context);
    } catch (const Failure& failure) {
        if (!wrong) wrong = failure.error();
    }
    Ref<NvshmemMemory> made;
    HostedEngine& engine = *peers.hosted();
    const uint64_t patience = engine.patience();
    engine.exchanges([&](Transport& transport, const std::function<void()>& check) {
        for (const uint32_t of_rank : handshake(transport, layout.blocks, patience, check))
            layout.blocks = std::max(layout.blocks, of_rank);
        made = NvshmemMemory::allocate(context, transport, layout.allocated(), layout.alignment, patience, check,
                                       owner, wrong);
    });
    return make<OfNvshmem>(layout, std::move(made));
}

}  // namespace gpo::peers
