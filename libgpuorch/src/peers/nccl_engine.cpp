#include "peers/nccl_engine.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <mutex>
#include <utility>

#include "peers/stream_barrier.h"
#include "peers/transport.h"
#include "stream/streams.h"

namespace gpo::peers {

namespace {

using driver::Nccl;

// ncclDataType_t and ncclRedOp_t, by GPO_TYPE_* and GPO_REDUCE_*.
constexpr Nccl::DataType kDataTypes[] = {-1, 0, 1, 2, 3, 4, 5, 6, 9, 7, 8, 10, 11};
constexpr Nccl::Reduction kOperations[] = {-1, 0, 1, 3, 2, 4};
constexpr Nccl::DataType kBytes = 1;          // ncclUint8
constexpr int kNarrowFloats = 22400;          // first version with 8-bit floating point

constexpr uint64_t kSoon = 100'000;           // ns
constexpr size_t kMostWatched = 64;

// NCCL chooses an algorithm by size, and sets up each at its first use. Sizes of a warm-up: 1 KiB, 256 KiB, 16 MiB.
constexpr uint64_t kSizes[] = {1 << 10, 256 << 10, 16 << 20};
constexpr uint64_t kMostWarmUp = 256 << 20;   // most bytes of each of two buffers, with many ranks
size_t size_class(uint64_t bytes) noexcept {
    return bytes <= 32 << 10 ? 0 : bytes <= 4 << 20 ? 1 : 2;
}

// NCCL makes blocking driver calls when it makes a communicator, and at the first collective of a kind. The calls take
// so long that resident work may begin meanwhile. Throws Failure(GPO_INVALID_STATE) beside resident work.
void refuse_beside_resident_work(std::span<const Ref<Context>> contexts, const char* what) {
    for (const auto& context : contexts) {
        const DriverScope scope(*context);
        const BlockingCalls::Now now(*context, what);
    }
}

void free_scratch(Context& context, CUdeviceptr scratch) noexcept {
    Streams::of(context).blocking_calls().free_used_memory(scratch);
}

size_t warm_place(const Collective& c) noexcept {
    return static_cast<size_t>(c.kind) * std::size(kSizes) + size_class(c.bytes());
}

}  // namespace

const Nccl& NcclEngine::open(Context& context) {
    if (!context.driver().has_libraries)
        fail(GPO_NOT_SUPPORTED, "NCCL needs CUDA devices, and these are software GPUs");
    if (!context.primary())
        fail(GPO_NOT_SUPPORTED, "NCCL works in primary contexts, and a device was opened with a context of the "
                                "program's (gpo_device_options.native_context)");
    std::string why;
    const Nccl* const opened = Nccl::open(&why);
    if (!opened) fail(GPO_NOT_SUPPORTED, why);
    return *opened;
}

NcclEngine::NcclEngine(std::span<const Ref<Context>> contexts)
    : contexts_(contexts.begin(), contexts.end()), warm_((GPO_COLLECTIVE_BARRIER + 1) * std::size(kSizes)) {
    for (const auto& context : contexts_) nccl_ = &open(*context);
    refuse_beside_resident_work(contexts_, "making a communicator of NCCL");
    std::vector<int> ordinals;
    for (const auto& context : contexts_) ordinals.push_back(context->ordinal());
    communicators_.resize(contexts_.size());
    const DriverScope scope(*contexts_.front());
    check(nccl_->ncclCommInitAll(communicators_.data(), static_cast<int>(ordinals.size()), ordinals.data()),
          "ncclCommInitAll");
}

NcclEngine::~NcclEngine() {
    const DriverTry scope(*contexts_.front());
    if (!scope.entered()) return;   // on a lost device nothing can be freed
    if (joined_) abort_now();       // not finished: never used
    if (scratch_) free_scratch(*contexts_.front(), scratch_);
    for (const Watched& watched : watched_) destroy(watched);
    for (const Watched& watched : spare_) destroy(watched);
    if (joined_) return;
    nccl_->ncclGroupStart();
    for (const Nccl::Communicator communicator : communicators_) nccl_->ncclCommDestroy(communicator);
    nccl_->ncclGroupEnd();
}

void NcclEngine::check(Nccl::Result result, const char* function) const {
    if (result == Nccl::kSuccess) return;
    const char* detail = nccl_->ncclGetLastError(nullptr);
    auto error = std::make_shared<Error>();
    error->status = GPO_DRIVER_ERROR;
    error->native_code = result;
    error->native_domain = GPO_NATIVE_NCCL;
    error->message = text(function, ": ", nccl_->ncclGetErrorString(result),
                          detail && *detail ? text(": ", detail) : std::string());
    throw Failure(std::move(error));
}

Ref<Counted> NcclEngine::prepare(const Collective& collective, bool captured) {
    if (collective.type >= GPO_TYPE_FLOAT8_E4M3 && nccl_->version() < kNarrowFloats && collective.reduces())
        fail(GPO_NOT_SUPPORTED, "NCCL ", Nccl::version_text(nccl_->version()),
             " doesn't reduce 8-bit floating point: install ", Nccl::version_text(kNarrowFloats), " or newer");
    // A recording keeps the communicators.
    const Ref<Counted> kept = captured ? Ref<Counted>(this) : nullptr;
    if (joined_) return kept;   // all kinds are warm
    {
        std::lock_guard lock(lock_);
        if (warm_[warm_place(collective)]) return kept;
    }
    warm_up(collective);
    std::lock_guard lock(lock_);
    warm_[warm_place(collective)] = true;
    return kept;
}

// Executes a collective of the same kind on the engine's own memory.
void NcclEngine::warm_up(const Collective& collective) {
    refuse_beside_resident_work(contexts_, "the first collective of a kind and size by NCCL");
    const size_t ranks = collective.ranks, here = contexts_.size();
    Collective small = collective;
    uint64_t each = kSizes[size_class(collective.bytes())];
    if (joined_) each = std::min(each, kMostWarmUp / ranks);
    if (small.element_bytes) small.count = each / small.element_bytes;
    struct Lane {
        Context* context = nullptr;
        CUstream stream = nullptr;
        CUdeviceptr memory = 0;
        ~Lane() {
            if (!context) return;
            const DriverTry scope(*context);
            if (!scope.entered()) return;
            const driver::Table& table = context->table();
            if (memory) table.cuMemFreeAsync(memory, stream);   // unlike cuMemFree, doesn't wait for resident work
            if (stream) table.cuStreamDestroy(stream);
        }
    };
    std::vector<Lane> lanes(here);
    std::vector<Part> parts(here);
    std::vector<CUstream> streams(here);
    for (size_t place = 0; place < here; ++place) {
        Lane& lane = lanes[place];
        lane.context = &*contexts_[place];
        const DriverScope scope(*lane.context);
        const driver::Table& table = lane.context->table();
        lane.context->check(table.cuStreamCreateWithPriority(&lane.stream, CU_STREAM_NON_BLOCKING, 0),
                            "cuStreamCreateWithPriority");
        lane.context->check_allocation(table.cuMemAlloc(&lane.memory, 2 * each * ranks), "cuMemAlloc",
                                       {Context::Wanted::Where::device, 2 * each * ranks, "a group's first exchange"});
        const size_t rank = first_rank_ + place;
        streams[place] = lane.stream;
        parts[place].send = lane.memory;
        parts[place].receive = lane.memory + each * ranks;
        parts[place].send_to = static_cast<uint32_t>((rank + 1) % ranks);
        parts[place].receive_from = static_cast<uint32_t>((rank + ranks - 1) % ranks);
    }
    {
        std::lock_guard lock(lock_);
        call(small, parts, streams);
    }
    for (Lane& lane : lanes) {
        const DriverScope scope(*lane.context);
        const driver::Table& table = lane.context->table();
        for (unsigned turn = 0; joined_ && table.cuStreamQuery(lane.stream) == CUDA_ERROR_NOT_READY; ++turn) {
            std::lock_guard lock(lock_);
            settle(Nccl::kSuccess, "ncclGroupEnd");   // throws if the group has ended or the deadline passed
            host::step(turn);
        }
        lane.context->check(table.cuStreamSynchronize(lane.stream), "cuStreamSynchronize");
    }
}

void NcclEngine::issue(const Collective& collective, std::span<const Part> parts, Counted* prepared,
                       void (*begin)(void*), void* of) {
    std::vector<CUstream> streams;
    for (const Part& part : parts) streams.push_back(part.stream->native());
    std::lock_guard lock(lock_);
    if (const ErrorPtr ended = why_ended()) throw Failure(ended);
    begin(of);
    if (!joined_ || prepared) return call(collective, parts, streams);   // recorded collectives aren't watched
    const DriverScope scope(*contexts_.front());
    const Watched watched = begin_watch(streams[0]);
    try {
        call(collective, parts, streams);
    } catch (...) {
        destroy(watched);
        throw;
    }
    end_watch(watched, streams[0]);
}

void NcclEngine::call(const Collective& c, std::span<const Part> parts, std::span<const CUstream> streams) {
    const Nccl& nccl = *nccl_;
    const auto type = kDataTypes[c.type];
    const auto reduction = kOperations[c.reduction];
    const auto root = static_cast<int>(c.root);
    const LaunchTogether together(contexts_.front()->runtime());
    const DriverScope scope(*contexts_.front());
    check(nccl.ncclGroupStart(), "ncclGroupStart");
    Nccl::Result result = Nccl::kSuccess;
    const char* function = "";
    const auto did = [&](Nccl::Result one, const char* name) {
        if (result != Nccl::kSuccess || one == Nccl::kSuccess || (joined_ && one == Nccl::kInProgress)) return;
        result = one;
        function = name;
    };
    for (uint32_t rank = 0; rank < parts.size(); ++rank) {
        const Part& part = parts[rank];
        const Nccl::Communicator with = communicators_[rank];
        const CUstream stream = streams[rank];
        const auto* send = reinterpret_cast<const char*>(part.send);
        auto* receive = reinterpret_cast<char*>(part.receive);
        const auto send_bytes = [&](const char* from, uint32_t to) {
            did(nccl.ncclSend(from, c.bytes(), kBytes, static_cast<int>(to), with, stream), "ncclSend");
        };
        const auto receive_bytes = [&](char* to, uint32_t from) {
            did(nccl.ncclRecv(to, c.bytes(), kBytes, static_cast<int>(from), with, stream), "ncclRecv");
        };
        switch (c.kind) {
            case Kind::all_reduce:
                did(nccl.ncclAllReduce(send, receive, c.count, type, reduction, with, stream), "ncclAllReduce");
                break;
            case Kind::reduce:
                did(nccl.ncclReduce(send, receive, c.count, type, reduction, root, with, stream), "ncclReduce");
                break;
            case Kind::reduce_scatter:
                did(nccl.ncclReduceScatter(send, receive, c.count, type, reduction, with, stream), "ncclReduceScatter");
                break;
            case Kind::broadcast:
                did(nccl.ncclBroadcast(send, receive, c.bytes(), kBytes, root, with, stream), "ncclBroadcast");
                break;
            case Kind::all_gather:
                did(nccl.ncclAllGather(send, receive, c.bytes(), kBytes, with, stream), "ncclAllGather");
                break;
            case Kind::all_to_all:
                for (uint32_t of = 0; of < c.ranks; ++of) {
                    send_bytes(send + of * c.bytes(), of);
                    receive_bytes(receive + of * c.bytes(), of);
                }
                break;
            case Kind::send_receive:
                if (part.send_to != GPO_NO_RANK) send_bytes(send, part.send_to);
                if (part.receive_from != GPO_NO_RANK) receive_bytes(receive, part.receive_from);
                break;
            case Kind::barrier:   // joined only; otherwise the direct engine's (group.cpp)
                if (!scratch_) break;
                did(nccl.ncclAllReduce(reinterpret_cast<void*>(scratch_), reinterpret_cast<void*>(scratch_), 1,
                                       kDataTypes[GPO_TYPE_INT32], kOperations[GPO_REDUCE_MAXIMUM], with, stream),
                    "ncclAllReduce");
                break;
        }
    }
    if (!joined_) {
        did(nccl.ncclGroupEnd(), "ncclGroupEnd");
        return check(result, function);
    }
    const Nccl::Result end = nccl.ncclGroupEnd();
    check(result, function);
    settle(end, "ncclGroupEnd");
}

void NcclEngine::carry_out(const Collective& collective, const Part& part, CUstream stream) {
    std::lock_guard lock(lock_);
    if (const ErrorPtr ended = why_ended()) throw Failure(ended);
    call(collective, {&part, 1}, {&stream, 1});
}

// --- joined ---

NcclEngine::NcclEngine(Ref<Context> context, const Nccl::UniqueId& id, uint32_t rank, uint32_t ranks, uint64_t deadline,
                       const std::function<void()>& check)
    : nccl_(&open(*context)), contexts_{std::move(context)}, communicators_(1), joined_(true), first_rank_(rank),
      deadline_(deadline), check_(check) {
    Context& own = *contexts_.front();
    refuse_beside_resident_work(contexts_, "making a communicator of NCCL");
    const DriverScope scope(own);
    own.check_allocation(own.table().cuMemAlloc(&scratch_, sizeof(int32_t)), "cuMemAlloc",
                         {Context::Wanted::Where::device, sizeof(int32_t), "a group"});
    try {
        Nccl::Config config;
        config.blocking = 0;
        std::lock_guard lock(lock_);
        settle(nccl_->ncclCommInitRankConfig(communicators_.data(), static_cast<int>(ranks), id, static_cast<int>(rank),
                                             &config),
               "ncclCommInitRankConfig");
    } catch (...) {
        if (communicators_[0]) abort_now();
        free_scratch(own, scratch_);
        throw;
    }
}

// Executes every kind once with each size; all processes do so in the same order.
void NcclEngine::warm_up_all() {
    uint32_t ranks = 0;
    {
        int count = 0;
        std::lock_guard lock(lock_);
        check(nccl_->ncclCommCount(communicators_[0], &count), "ncclCommCount");
        ranks = static_cast<uint32_t>(count);
    }
    for (uint32_t kind = GPO_COLLECTIVE_ALL_REDUCE; kind <= GPO_COLLECTIVE_BARRIER; ++kind)
        for (const uint64_t bytes : kSizes) {
            gpo_collective small{};
            small.kind = kind;
            small.type = kind == GPO_COLLECTIVE_BARRIER ? 0 : GPO_TYPE_INT32;
            small.count = kind == GPO_COLLECTIVE_BARRIER ? 0 : bytes / sizeof(int32_t);
            small.reduction = kind <= GPO_COLLECTIVE_REDUCE_SCATTER ? GPO_REDUCE_SUM : 0;
            warm_up(Collective(small, ranks));
        }
    deadline_ = host::kForever;
    check_ = nullptr;
}

// Waits until NCCL has completed the call. The caller holds lock_. In a broken group the thread that holds the lock
// aborts the communicator.
void NcclEngine::settle(Nccl::Result result, const char* function) {
    if (result != Nccl::kSuccess && result != Nccl::kInProgress) check(result, function);
    Pauses pauses;
    const uint64_t begun = host::now();
    for (uint64_t now = begun;; now = host::now()) {
        ErrorPtr ended = why_ended();
        if (!ended && now >= deadline_)
            ended = make_error(GPO_PEER_LOST, "NCCL: other ranks didn't come in time (", function, ")");
        if (ended) {
            abort_now();
            throw Failure(ended);
        }
        if (check_) check_();
        Nccl::Result state = Nccl::kSuccess;
        check(nccl_->ncclCommGetAsyncError(communicators_[0], &state), "ncclCommGetAsyncError");
        if (state != Nccl::kInProgress) return check(state, function);
        if (now - begun < kSoon) host::step(0);   // as a rule NCCL's thread launches within kSoon
        else pauses.pause();
    }
}

ErrorPtr NcclEngine::why_ended() const {
    std::lock_guard lock(ending_);
    return ended_;
}

// The caller holds lock_, or no other thread uses the engine.
void NcclEngine::abort_now() noexcept {
    const Nccl::Communicator communicator = std::exchange(communicators_[0], nullptr);
    if (communicator) nccl_->ncclCommAbort(communicator);
}

gpo_status NcclEngine::submit(const Collective& collective, std::span<const Part> parts, const char* label) {
    if (joined_) note_stream(*parts[0].stream);
    return StreamEngine::submit(collective, parts, label);
}

// Forgets streams without other users: no caller waits for their work.
void NcclEngine::note_stream(Stream& stream) {
    const Ref<Stream> own(&stream);
    std::vector<Ref<Stream>> unused;   // released with no lock held
    std::lock_guard lock(ending_);
    if (ended_) throw Failure(ended_);
    if (std::find(streams_.begin(), streams_.end(), own) != streams_.end()) return;
    const auto used = std::stable_partition(streams_.begin(), streams_.end(),
                                            [](const Ref<Stream>& one) { return !one->only(); });
    unused.assign(std::make_move_iterator(used), std::make_move_iterator(streams_.end()));
    streams_.erase(used, streams_.end());
    streams_.push_back(own);
}

// Streams fail before their kernels end: otherwise marks behind the kernels would report success.
void NcclEngine::abort(const ErrorPtr& error) noexcept {
    std::vector<Ref<Stream>> streams;
    {
        std::lock_guard lock(ending_);
        if (ended_) return;
        ended_ = error;
        streams.swap(streams_);
    }
    for (const auto& stream : streams)
        if (stream->may_be_at_work()) stream->fail_work(error);
    std::unique_lock lock(lock_, std::try_to_lock);   // the lock's holder aborts (settle)
    if (!lock.owns_lock()) return;
    const DriverTry scope(*contexts_.front());
    if (scope.entered()) abort_now();
}

bool NcclEngine::finish() noexcept {
    std::lock_guard lock(lock_);
    const DriverTry scope(*contexts_.front());
    if (!scope.entered() || !communicators_[0]) return true;
    Nccl::Result state = Nccl::kSuccess;
    const bool asked = std::exchange(finishing_, true);
    const Nccl::Result result = asked ? nccl_->ncclCommGetAsyncError(communicators_[0], &state)
                                      : nccl_->ncclCommFinalize(communicators_[0]);
    if (result != Nccl::kSuccess) state = result;
    if (state == Nccl::kInProgress) return false;
    if (state != Nccl::kSuccess) abort_now();
    else nccl_->ncclCommDestroy(std::exchange(communicators_[0], nullptr));
    return true;
}

// The next functions are called under lock_, in the context. Without events a collective isn't watched.
NcclEngine::Watched NcclEngine::begin_watch(CUstream stream) noexcept {
    const driver::Table& table = contexts_.front()->table();
    Watched out;
    if (watched_.size() == kMostWatched) {   // the newest is always watched
        out = watched_.back();
        watched_.pop_back();
    } else if (!spare_.empty()) {
        out = spare_.back();
        spare_.pop_back();
    } else {
        for (CUevent* const event : {&out.come, &out.done})
            if (table.cuEventCreate(event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) *event = nullptr;
    }
    out.number = given_++;
    out.since = 0;
    if (out.come && out.done && table.cuEventRecord(out.come, stream) == CUDA_SUCCESS) return out;
    destroy(out);
    return {};
}

void NcclEngine::end_watch(const Watched& watched, CUstream stream) noexcept {
    if (!watched.come) return;
    const driver::Table& table = contexts_.front()->table();
    try {
        watched_.reserve(kMostWatched);
        spare_.reserve(kMostWatched);
    } catch (const std::bad_alloc&) {
        return destroy(watched);
    }
    if (table.cuEventRecord(watched.done, stream) != CUDA_SUCCESS) return destroy(watched);
    watched_.push_back(watched);
}

void NcclEngine::destroy(const Watched& watched) noexcept {
    for (const CUevent event : {watched.come, watched.done})
        if (event) contexts_.front()->table().cuEventDestroy(event);
}

// A failed event counts as reached: the failure is reported elsewhere.
NcclEngine::Standing NcclEngine::standing() noexcept {
    std::unique_lock lock(lock_, std::try_to_lock);
    if (!lock.owns_lock()) return standing_;
    const DriverTry scope(*contexts_.front());
    if (!scope.entered()) return standing_;
    const auto reached = [&](CUevent event) {
        return contexts_.front()->table().cuEventQuery(event) != CUDA_ERROR_NOT_READY;
    };
    standing_.waits_since = 0;
    std::erase_if(watched_, [&](Watched& watched) {
        if (!watched.since && reached(watched.come)) {
            watched.since = host::now();
            standing_.reached = std::max(standing_.reached, watched.number + 1);
        }
        if (!watched.since) return false;
        if (!reached(watched.done)) {
            if (standing_.waits_since) return false;
            standing_.waits_since = watched.since;
            standing_.number = watched.number;
            return false;
        }
        spare_.push_back(watched);   // has room: reserved in end_watch
        return true;
    });
    return standing_;
}

ErrorPtr NcclEngine::look() noexcept {
    std::unique_lock lock(lock_, std::try_to_lock);
    if (!lock.owns_lock() || !communicators_[0]) return nullptr;
    const DriverTry scope(*contexts_.front());
    Nccl::Result state = Nccl::kSuccess;
    if (!scope.entered() || nccl_->ncclCommGetAsyncError(communicators_[0], &state) != Nccl::kSuccess) return nullptr;
    if (state == Nccl::kSuccess || state == Nccl::kInProgress) return nullptr;
    return make_error(GPO_PEER_LOST, "NCCL: ", nccl_->ncclGetErrorString(state));
}

}  // namespace gpo::peers
