#include "peers/nccl_engine.h"

#include <algorithm>
#include <bit>
#include <mutex>

#include "peers/meeting.h"

namespace gpo::peers {

namespace {

using driver::Nccl;

// ncclDataType_t and ncclRedOp_t, by GPO_TYPE_* and GPO_REDUCE_*.
constexpr Nccl::DataType kDataTypes[] = {-1, 0, 1, 2, 3, 4, 5, 6, 9, 7, 8, 10, 11};
constexpr Nccl::Reduction kOperations[] = {-1, 0, 1, 3, 2, 4};
constexpr Nccl::DataType kBytes = 1;          // ncclUint8
constexpr int kNarrowFloats = 22400;          // version from which it knows 8-bit floating point

// NCCL chooses algorithms by size: they are set up one by one. Sizes of a warm-up: 1 KiB, 256 KiB, 16 MiB.
constexpr uint64_t kSizes[] = {1 << 10, 256 << 10, 16 << 20};
size_t size_class(uint64_t bytes) noexcept {
    return bytes <= 32 << 10 ? 0 : bytes <= 4 << 20 ? 1 : 2;
}
size_t warm_place(const Collective& c) noexcept {
    return static_cast<size_t>(c.kind) * std::size(kSizes) + size_class(c.bytes());
}

}  // namespace

NcclEngine::NcclEngine(std::span<const Ref<Context>> contexts)
    : contexts_(contexts.begin(), contexts.end()), warm_((GPO_COLLECTIVE_BARRIER + 1) * std::size(kSizes)) {
    for (const auto& context : contexts_) {
        if (context->software()) fail(GPO_NOT_SUPPORTED, "NCCL needs CUDA devices, and these are software GPUs");
        if (!context->primary())
            fail(GPO_NOT_SUPPORTED, "NCCL works in primary contexts, and a device was opened with a context of the "
                                    "program's (gpo_device_options.native_context)");
    }
    std::string why;
    nccl_ = Nccl::open(&why);
    if (!nccl_) fail(GPO_NOT_SUPPORTED, why);
    std::vector<int> ordinals;
    for (const auto& context : contexts_) ordinals.push_back(context->ordinal());
    communicators_.resize(contexts_.size());
    const DriverScope scope(*contexts_.front());
    check(nccl_->ncclCommInitAll(communicators_.data(), static_cast<int>(ordinals.size()), ordinals.data()),
          "ncclCommInitAll");
}

NcclEngine::~NcclEngine() {
    const DriverTry scope(*contexts_.front());
    if (!scope.entered()) return;   // what a lost device had can't be given back
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

Ref<Counted> NcclEngine::prepare(const Collective& collective, bool) {
    if (collective.type >= GPO_TYPE_FLOAT8_E4M3 && nccl_->version() < kNarrowFloats && collective.reduces())
        fail(GPO_NOT_SUPPORTED, "NCCL ", Nccl::version_text(nccl_->version()),
             " doesn't reduce 8-bit floating point: install ", Nccl::version_text(kNarrowFloats), " or newer");
    {
        std::lock_guard lock(lock_);
        if (warm_[warm_place(collective)]) return nullptr;
    }
    warm_up(collective);
    std::lock_guard lock(lock_);
    warm_[warm_place(collective)] = true;
    return nullptr;
}

// The same kind over memory of the engine's own.
void NcclEngine::warm_up(const Collective& collective) {
    const size_t ranks = contexts_.size();
    Collective small = collective;
    const uint64_t each = kSizes[size_class(collective.bytes())];
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
            if (memory) table.cuMemFreeAsync(memory, stream);   // which waits for no resident work
            if (stream) table.cuStreamDestroy(stream);
        }
    };
    std::vector<Lane> lanes(ranks);
    std::vector<Part> parts(ranks);
    std::vector<CUstream> streams(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
        Lane& lane = lanes[rank];
        lane.context = &*contexts_[rank];
        const DriverScope scope(*lane.context);
        const driver::Table& table = lane.context->table();
        lane.context->check(table.cuStreamCreateWithPriority(&lane.stream, CU_STREAM_NON_BLOCKING, 0),
                            "cuStreamCreateWithPriority");
        lane.context->check(table.cuMemAlloc(&lane.memory, 2 * each * ranks), "cuMemAlloc");
        streams[rank] = lane.stream;
        parts[rank].send = lane.memory;
        parts[rank].receive = lane.memory + each * ranks;
        parts[rank].send_to = static_cast<uint32_t>((rank + 1) % ranks);
        parts[rank].receive_from = static_cast<uint32_t>((rank + ranks - 1) % ranks);
    }
    {
        std::lock_guard lock(lock_);
        call(small, parts, streams);
    }
    for (Lane& lane : lanes) {
        const DriverScope scope(*lane.context);
        lane.context->check(lane.context->table().cuStreamSynchronize(lane.stream), "cuStreamSynchronize");
    }
}

void NcclEngine::issue(const Collective& collective, std::span<const Part> parts, Counted*, void (*begin)(void*),
                       void* of) {
    std::vector<CUstream> streams;
    for (const Part& part : parts) streams.push_back(part.stream->native());
    std::lock_guard lock(lock_);
    begin(of);
    call(collective, parts, streams);
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
        if (result != Nccl::kSuccess || one == Nccl::kSuccess) return;
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
                for (uint32_t of = 0; of < parts.size(); ++of) {
                    send_bytes(send + of * c.bytes(), of);
                    receive_bytes(receive + of * c.bytes(), of);
                }
                break;
            case Kind::send_receive:
                if (part.send_to != GPO_NO_RANK) send_bytes(send, part.send_to);
                if (part.receive_from != GPO_NO_RANK) receive_bytes(receive, part.receive_from);
                break;
            case Kind::barrier: break;   // the direct engine's (group.cpp)
        }
    }
    did(nccl.ncclGroupEnd(), "ncclGroupEnd");
    check(result, function);
}

}  // namespace gpo::peers
