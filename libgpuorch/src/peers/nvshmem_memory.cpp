#include "peers/nvshmem_memory.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/environment.h"
#include "driver/nvshmem.h"
#include "kernel/kernel.h"
#include "peers/handshake.h"
#include "stream/streams.h"

namespace gpo::peers {

namespace {

using driver::Nvshmem;

constexpr uint64_t kOwnAlignment = 512;   // that NVSHMEM gives what it allocates
constexpr uint32_t kToldAtOnce = 32;      // of what is released

// A piece of the symmetric heap. All PEs have the same ones, with the same numbers.
struct Piece {
    uint64_t number;
    void* at;
    bool released;   // nothing in this process refers to it any more
};

struct World {
    host::Mutex allocating;                // one allocation at a time; the following:
    Nvshmem::UniqueId id{0, {}};           // none: the program has begun NVSHMEM
    CUcontext context = nullptr;           // that it runs in; NULL: not known yet
    uint64_t next = 0;                     // number of a piece
    host::Mutex lock;                      // pieces; a leaf
    std::vector<Piece> pieces;             // by number
};
World& world() {
    static World* const made = new World;   // there until the end
    return *made;
}

void give_back(uint64_t number) noexcept {
    std::lock_guard lock(world().lock);
    for (Piece& piece : world().pieces)
        if (piece.number == number) piece.released = true;
}

// When nothing on the runtime's streams uses a piece any more.
class Release final : public WaitingFree {
public:
    Release(Context& context, uint64_t start, uint64_t bytes, uint64_t number, const FixedText<96>& owner) noexcept
        : WaitingFree(context, start, bytes), number_(number), owner_(owner) {}
    FixedText<160> describe() const noexcept override {
        return fixed_text<160>("device memory of ", owner_.c_str(), ", ", bytes(), " bytes at ", fixed_hex(start()));
    }
    void free() noexcept override { give_back(number_); }

private:
    const uint64_t number_;
    const FixedText<96> owner_;
};

// What each says before anything is done.
struct Asked {
    int32_t status = GPO_SUCCESS;   // not 0: it can't take part
    char why[316] = {};
    int32_t version = 0, begun = 0;   // NVSHMEM's; 1: it runs
    int32_t pe = -1, pes = 0;         // of one that runs
    char owner[96] = {};              // the memory's, with its label
    uint64_t bytes = 0, alignment = 0;
    uint64_t next = 0;
    uint32_t released = 0, unused = 0;
    uint64_t numbers[kToldAtOnce] = {};   // the first that it has released
    Nvshmem::UniqueId id;                 // of its world; before there is one, that rank 0 has made
};
// How a step has gone.
struct Done {
    int32_t status = GPO_SUCCESS;
    char why[316] = {};
    uint64_t place = 0;   // of the memory in its piece
};

template <class Said>
void refuse(Said& said, gpo_status status, std::string_view why) noexcept {
    said.status = status;
    copy_text(said.why, why);
}

template <class Said>
void require_all(const std::vector<Said>& said) {
    for (uint32_t rank = 0; rank < said.size(); ++rank) {
        const Said& of = said[rank];
        if (of.status) fail(of.status, "rank ", rank, ": ", std::string_view(of.why, strnlen(of.why, sizeof of.why)));
    }
}

Asked own_answer(Context& context, uint32_t rank, uint64_t bytes, uint64_t alignment, const Nvshmem*& nvshmem) {
    World& own = world();
    Asked asked;
    asked.bytes = bytes;
    asked.alignment = alignment;
    asked.next = own.next;
    asked.id.version = 0;   // none
    const auto no = [&](std::string_view why) {
        refuse(asked, GPO_NOT_SUPPORTED, why);
        return asked;
    };
    const char* named = environment::get("GPUORCH_NVSHMEM");
    if (!context.driver().has_libraries && !(named && *named))
        return no("NVSHMEM needs CUDA devices, and this is a software GPU");
    if (!context.primary()) return no("NVSHMEM needs the device's primary context, and this is another one");
    {
        const DriverScope scope(context);   // NVSHMEM's own calls wait for all kernels, and take long
        const BlockingCalls::Now now(context, "an allocation by NVSHMEM");
    }
    std::string why;
    nvshmem = Nvshmem::open(&why);
    if (!nvshmem) return no(why);
    asked.version = nvshmem->version();
    const Nvshmem::Calls calls(nvshmem->calls());
    const DriverScope scope(context);
    const int status = nvshmem->nvshmemx_init_status();
    if (status == Nvshmem::kHalfBegun)
        return no("NVSHMEM was begun in this process, and isn't complete: it can't be begun anew");
    asked.begun = status != Nvshmem::kNotBegun;
    if (own.context && own.context != context.native())
        return no("NVSHMEM runs on another device of this process, and can have one only");
    if (asked.begun) {
        asked.id = own.id;
        asked.pe = nvshmem->nvshmem_my_pe();
        asked.pes = nvshmem->nvshmem_n_pes();
    } else if (rank == 0) {
        asked.id = {};
        if (nvshmem->nvshmemx_get_uniqueid(&asked.id) != Nvshmem::kSuccess)
            return no("nvshmemx_get_uniqueid has failed: NVSHMEM's own words are on stderr; is "
                      "nvshmem_bootstrap_uid.so.3 beside libnvshmem_host.so.3?");
    }
    std::lock_guard lock(own.lock);
    for (const Piece& piece : own.pieces)
        if (piece.released && asked.released < kToldAtOnce) asked.numbers[asked.released++] = piece.number;
    return asked;
}

// All ranks find the same. True: NVSHMEM has to be begun.
bool check_answers(const std::vector<Asked>& asked) {
    require_all(asked);
    require_same_label(asked);
    const Asked& first = asked[0];
    for (uint32_t rank = 0; rank < asked.size(); ++rank) {
        const Asked& of = asked[rank];
        if (of.bytes != first.bytes || of.alignment != first.alignment)
            fail(GPO_INVALID_ARGUMENT, "rank ", rank, " asks for ", of.bytes, " bytes aligned to ", of.alignment,
                 ", and rank 0 for ", first.bytes, " bytes aligned to ", first.alignment);
        if (of.version != first.version)
            fail(GPO_NOT_SUPPORTED, "rank ", rank, " has NVSHMEM ", Nvshmem::version_text(of.version),
                 ", and rank 0 has ", Nvshmem::version_text(first.version));
        if (of.begun != first.begun)
            fail(GPO_NOT_SUPPORTED, "NVSHMEM runs in the process of rank ", of.begun ? rank : 0,
                 " already, and not in that of rank ", of.begun ? 0 : rank,
                 ": a process can use it with the same other processes only");
        if (!of.begun) continue;
        if (of.pe != static_cast<int>(rank) || of.pes != static_cast<int>(asked.size()))
            fail(GPO_NOT_SUPPORTED, "in the process of rank ", rank, " of ", asked.size(), " NVSHMEM runs as number ",
                 of.pe, " of ", of.pes,
                 ": its first group has to have the same processes in the same order as this one");
        if (std::memcmp(&of.id, &first.id, sizeof of.id) != 0)
            fail(GPO_NOT_SUPPORTED, "NVSHMEM of rank ", rank, "'s process was begun with other processes than that of "
                 "rank 0's");
        if (of.next != first.next)
            fail(GPO_NOT_SUPPORTED, "an allocation by NVSHMEM has been given up by some processes, and rank ", rank,
                 " has gone another way than rank 0: it can't be used any more");
    }
    return !first.begun;
}

// Modules that are there already. Those that come later ask for themselves.
void begin_modules(Runtime& runtime) {
    runtime.for_each([](Object& object) {
        if (object.type() == Type::module) static_cast<Module&>(object).begin_nvshmem();
        if (object.type() == Type::kernel) static_cast<Kernel&>(object).module().begin_nvshmem();
    });
}

void begin_world(Context& context, const Nvshmem& nvshmem, const Nvshmem::UniqueId& id, uint32_t rank, size_t ranks) {
    const DriverScope scope(context);
    Nvshmem::Attributes attributes;
    int result = nvshmem.nvshmemx_set_attr_uniqueid_args(static_cast<int>(rank), static_cast<int>(ranks), &id,
                                                         &attributes);
    if (result == Nvshmem::kSuccess) result = nvshmem.nvshmemx_hostlib_init_attr(Nvshmem::kByUniqueId, &attributes);
    if (result != Nvshmem::kSuccess || nvshmem.nvshmemx_init_status() <= Nvshmem::kHalfBegun)
        fail(GPO_NOT_SUPPORTED, "nvshmemx_hostlib_init_attr has failed (", result,
             "): NVSHMEM's own words are on stderr. Where multicast is at fault, NVSHMEM_DISABLE_NVLS=1 does without; "
             "NVSHMEM_DEBUG=INFO says more");
}

// The context stays from now on.
void adopt(Context& context, const Nvshmem& nvshmem, const Nvshmem::UniqueId& id) {
    World& own = world();
    if (own.context) return;
    const DriverScope scope(context);
    CUdevice device = 0;
    CUcontext retained = nullptr;
    context.check(context.table().cuDeviceGet(&device, context.ordinal()), "cuDeviceGet");
    context.check(context.table().cuDevicePrimaryCtxRetain(&retained, device), "cuDevicePrimaryCtxRetain");
    own.context = retained;
    own.id = id;
    nvshmem.begin_running();
}

// What all have released. All PEs free the same, in the same order.
void free_released(Context& context, const Nvshmem& nvshmem, const std::vector<Asked>& asked) {
    World& own = world();
    const Nvshmem::Calls calls(nvshmem.calls());
    const DriverScope scope(context);
    for (uint32_t i = 0; i < asked[0].released; ++i) {
        const uint64_t number = asked[0].numbers[i];
        const bool by_all = std::all_of(asked.begin(), asked.end(), [&](const Asked& of) {
            return std::find(of.numbers, of.numbers + of.released, number) != of.numbers + of.released;
        });
        if (!by_all) continue;
        void* at = nullptr;
        {
            std::lock_guard lock(own.lock);
            const auto piece = std::find_if(own.pieces.begin(), own.pieces.end(),
                                            [&](const Piece& one) { return one.number == number; });
            at = piece->at;
            own.pieces.erase(piece);
        }
        nvshmem.nvshmem_free(at);
    }
}

// NVSHMEM's zeroes may still be on their way when it returns, on the legacy stream: a stream that waits for that one
// comes behind them. The memory of a stand-in for tests isn't the driver's.
void clear(Context& context, uint64_t address, uint64_t bytes) {
    if (!context.driver().has_libraries) return;
    const DriverScope scope(context);
    const driver::Table& table = context.table();
    CUstream stream = nullptr;
    context.check(table.cuStreamCreateWithPriority(&stream, CU_STREAM_DEFAULT, 0), "cuStreamCreateWithPriority");
    const CUresult filled = table.cuMemsetD8Async(address, 0, bytes, stream);
    const CUresult waited = table.cuStreamSynchronize(stream);
    table.cuStreamDestroy(stream);
    context.check(filled, "cuMemsetD8Async");
    context.check(waited, "cuStreamSynchronize");
}

struct PieceWanted {
    uint32_t rank;   // the caller's
    uint64_t number, bytes, alignment;
    const FixedText<96>& owner;
};

// Takes a piece of the symmetric heap. `place`: of the memory in its piece; `addresses`: of the ranks' memory, 0 where
// this device has none. Throws Failure, std::bad_alloc.
Holds::Ready take_piece(Context& context, const Nvshmem& nvshmem, const PieceWanted& wanted, uint64_t& place,
                        std::vector<uint64_t>& addresses) {
    World& own = world();
    {
        std::lock_guard lock(own.lock);
        own.pieces.reserve(own.pieces.size() + 1);
    }
    const Nvshmem::Calls calls(nvshmem.calls());
    const DriverScope scope(context);
    const uint64_t alignment = wanted.alignment;
    const uint64_t bytes = wanted.bytes + (alignment > kOwnAlignment ? alignment : 0);
    void* const at = nvshmem.nvshmem_calloc(1, bytes);
    if (!at)
        fail(GPO_OUT_OF_MEMORY, "NVSHMEM's symmetric heap has no ", bytes,
             " bytes: NVSHMEM_SYMMETRIC_SIZE says how many it has where it can't grow");
    const auto begin = reinterpret_cast<uint64_t>(at);
    place = (begin + alignment - 1) / alignment * alignment - begin;
    for (uint32_t of = 0; of < addresses.size(); ++of) {
        void* const found = of == wanted.rank ? at : nvshmem.nvshmem_ptr(at, static_cast<int>(of));
        addresses[of] = found ? reinterpret_cast<uint64_t>(found) + place : 0;
    }
    auto free = Holds::make_ready(std::make_unique<Release>(context, begin, bytes, wanted.number, wanted.owner));
    std::lock_guard lock(own.lock);
    own.pieces.push_back({wanted.number, at, false});
    return free;
}

}  // namespace

Ref<NvshmemMemory> NvshmemMemory::allocate(const Ref<Context>& context, Transport& transport, uint64_t bytes,
                                           uint64_t alignment, uint64_t patience, const std::function<void()>& check,
                                           const FixedText<96>& owner, const ErrorPtr& wrong) {
    World& own = world();
    std::lock_guard one_at_a_time(own.allocating);
    const uint32_t rank = transport.rank();
    const Nvshmem* nvshmem = nullptr;
    Asked answer;
    try {
        if (wrong) throw Failure(wrong);
        answer = own_answer(*context, rank, bytes, alignment, nvshmem);
    } catch (const Failure& failure) {
        refuse(answer, failure.error()->status, failure.error()->sentence());
    }
    copy_text(answer.owner, owner.c_str());
    const auto asked = handshake(transport, answer, patience, check);
    const bool begins = check_answers(asked);
    Done done;
    const uint64_t number = own.next;
    const auto attempt = [&](auto&& body) {
        try {
            body();
        } catch (const Failure& failure) {
            refuse(done, failure.error()->status, failure.error()->sentence());
        } catch (const std::bad_alloc&) {
            refuse(done, GPO_OUT_OF_MEMORY, "no memory");
        }
        const auto all = handshake(transport, done, patience, check);
        if (std::any_of(all.begin(), all.end(), [](const Done& of) { return of.status != 0; })) give_back(number);
        require_all(all);
        return all;
    };
    attempt([&] {
        {
            const Nvshmem::Calls calls(nvshmem->calls());
            if (begins) begin_world(*context, *nvshmem, asked[0].id, rank, asked.size());
            adopt(*context, *nvshmem, asked[0].id);
        }
        begin_modules(context->runtime());
    });
    free_released(*context, *nvshmem, asked);
    ++own.next;
    std::vector<uint64_t> addresses(asked.size());
    Holds::Ready free;
    const auto all = attempt([&] {
        free = take_piece(*context, *nvshmem, {rank, number, bytes, alignment, owner}, done.place, addresses);
        clear(*context, addresses[rank], bytes);
    });
    // From here on all of them have the piece.
    auto made = make<NvshmemMemory>(context, std::move(addresses), std::move(free));
    for (uint32_t of = 0; of < all.size(); ++of)
        if (all[of].place != done.place)
            fail(GPO_NOT_SUPPORTED, "NVSHMEM can't align memory to ", alignment, " bytes: its heaps of ranks ", rank,
                 " and ", of, " aren't aligned so themselves");
    return made;
}

}  // namespace gpo::peers
