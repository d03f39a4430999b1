#include "peers/bootstrap.h"

#include <algorithm>
#include <cstring>

#include "core/struct_options.h"
#include "device/exported.h"
#include "peers/file_transport.h"
#include "peers/handshake.h"
#include "peers/mpi_transport.h"
#include "peers/peers_names.h"
#include "peers/nccl_engine.h"

namespace gpo::peers {

namespace {

constexpr uint64_t kDefaultPatience = 60'000'000'000;   // ns
constexpr uint64_t kNcclLooksEvery = 5'000'000;         // ns, at other ranks

uint64_t patience_of(int64_t timeout_ns) noexcept {
    if (timeout_ns < 0) return host::kForever;
    return timeout_ns == 0 ? kDefaultPatience : static_cast<uint64_t>(timeout_ns);
}

uint64_t deadline_of(uint64_t patience) noexcept {
    return patience == host::kForever ? host::kForever : host::deadline_after(static_cast<int64_t>(patience));
}

void check_engine(uint32_t engine) {
    if (engine != GPO_AUTO && engine != GPO_ENGINE_NCCL && engine != GPO_ENGINE_HOST)
        fail(GPO_INVALID_ARGUMENT, "options.engine is ", engine_name(engine),
             ", and groups of several processes have GPO_ENGINE_NCCL and GPO_ENGINE_HOST");
}

void check_ranks(const gpo_join_options& options, uint32_t most) {
    if (options.ranks == 0 || options.ranks > most)
        fail(GPO_INVALID_ARGUMENT, "options.ranks is ", options.ranks, ": 1 to ", most, " are possible");
    if (options.rank >= options.ranks)
        fail(GPO_INVALID_ARGUMENT, "options.rank is ", options.rank, ", and options.ranks is ", options.ranks);
}

// A process's record, exchanged when all are there. Has the same layout in all processes.
struct ProcessRecord {
    static constexpr uint32_t kVersion = 4;
    uint32_t version = kVersion, engine = GPO_AUTO;
    uint32_t flags = 0;     // GPO_JOIN_*
    uint32_t nccl = 0;      // NCCL's version; 0: can't be used
    uint32_t on_device = 0; // the transport takes device memory
    char why_not[240] = {};
    uint8_t device[16] = {};
};
// First rank 0's id of NCCL's group; then each rank's result of joining NCCL's group.
struct NcclRecord {
    driver::Nccl::UniqueId id{};
    int32_t status = GPO_SUCCESS;
    char why[252] = {};
};

// Each rank's result of allocating device staging.
struct DeviceRecord {
    int32_t status = GPO_SUCCESS;
    char why[252] = {};
};

ProcessRecord own_record(Context& context, uint32_t engine, uint32_t flags) {
    ProcessRecord own;
    own.engine = engine;
    own.flags = flags;
    if (engine == GPO_ENGINE_HOST) return own;
    try {
        const driver::Nccl& nccl = NcclEngine::open(context);
        const DriverScope scope(context);
        CUdevice device = 0;
        CUuuid uuid{};
        context.check(context.table().cuCtxGetDevice(&device), "cuCtxGetDevice");
        context.check(context.table().cuDeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
        std::memcpy(own.device, uuid.bytes, sizeof own.device);
        own.nccl = static_cast<uint32_t>(nccl.version());
    } catch (const Failure& failure) {
        if (failure.error()->status != GPO_NOT_SUPPORTED) throw;
        copy_text(own.why_not, failure.error()->sentence());
    }
    return own;
}

// All ranks reach the same result: a single difference fails all of them.
void check_records(const std::vector<ProcessRecord>& records) {
    for (uint32_t rank = 0; rank < records.size(); ++rank) {
        if (records[rank].version != records[0].version)
            fail(GPO_INVALID_ARGUMENT, "rank ", rank, " has another version of the library than rank 0");
        if (records[rank].engine != records[0].engine)
            fail(GPO_INVALID_ARGUMENT, "options.engine of rank ", rank, " is ",
                 engine_name(records[rank].engine), ", and rank 0 has ", engine_name(records[0].engine));
        if (records[rank].flags != records[0].flags)
            fail(GPO_INVALID_ARGUMENT, "rank ", records[rank].flags ? rank : 0,
                 " has GPO_JOIN_CHECK_ORDER in its options.flags, and rank ", records[rank].flags ? 0 : rank,
                 " hasn't");
    }
}

// Why NCCL can't join the ranks; "" if it can.
std::string why_no_nccl(const std::vector<ProcessRecord>& records) {
    for (uint32_t rank = 0; rank < records.size(); ++rank) {
        const ProcessRecord& of = records[rank];
        if (of.nccl == 0) return text("rank ", rank, ": ", of.why_not);
        if (of.nccl != records[0].nccl)
            return text("rank ", rank, " has NCCL ", driver::Nccl::version_text(static_cast<int>(of.nccl)),
                        ", and rank 0 has ", driver::Nccl::version_text(static_cast<int>(records[0].nccl)));
        for (uint32_t before = 0; before < rank; ++before)
            if (std::memcmp(of.device, records[before].device, sizeof of.device) == 0)
                return text("ranks ", before, " and ", rank, " have the same device, which NCCL refuses");
    }
    return {};
}

// Joins all ranks by NCCL. NULL: some rank can't join; `*why` says the reason, in all processes alike.
Ref<NcclEngine> join_nccl(const Ref<Context>& context, Transport& transport, uint64_t patience,
                          const std::function<void()>& check, std::string* why) {
    NcclRecord own;
    const auto attempt = [&](auto&& body) {
        try {
            body();
        } catch (const Failure& failure) {
            own.status = failure.error()->status;
            copy_text(own.why, failure.error()->sentence());
        }
    };
    if (transport.rank() == 0)
        attempt([&] {
            const driver::Nccl& nccl = NcclEngine::open(*context);
            const DriverScope scope(*context);
            if (const int result = nccl.ncclGetUniqueId(&own.id); result != driver::Nccl::kSuccess)
                fail(GPO_DRIVER_ERROR, "ncclGetUniqueId: ", nccl.ncclGetErrorString(result));
        });
    own = handshake(transport, own, patience, check)[0];
    Ref<NcclEngine> made;
    if (own.status == GPO_SUCCESS) {
        Watch others(transport);
        uint64_t looked = host::now();
        const auto look = [&] {
            if (host::now() - looked < kNcclLooksEvery) return;
            check();
            others.look();
            looked = host::now();
        };
        attempt([&] {
            made = make<NcclEngine>(context, own.id, transport.rank(), transport.ranks(), deadline_of(patience), look);
            made->warm_up_all();
        });
    }
    const std::vector<NcclRecord> all = handshake(transport, own, patience, check);
    for (uint32_t rank = 0; rank < all.size(); ++rank) {
        if (all[rank].status == GPO_SUCCESS) continue;
        *why = text("rank ", rank, ": ", all[rank].why);
        return nullptr;
    }
    return made;
}

// Device staging; none unless all ranks have device staging.
DeviceStaging device_staging(const Ref<Context>& context, Transport& transport,
                             const std::vector<ProcessRecord>& records,
                             uint64_t patience, const FixedText<96>& owner, const std::function<void()>& check) {
    const auto can = [](const ProcessRecord& of) { return of.on_device != 0; };
    DeviceStaging made;
    std::string why = "its MPI doesn't take addresses of device memory";
    if (std::none_of(records.begin(), records.end(), can)) return made;
    const auto lacking = std::find_if_not(records.begin(), records.end(), can);
    auto without = static_cast<size_t>(lacking - records.begin());
    if (lacking == records.end()) {
        DeviceRecord own;
        try {
            made = HostedEngine::make_device_staging(context, owner);
        } catch (const Failure& failure) {
            own.status = failure.error()->status;
            copy_text(own.why, failure.error()->sentence());
        }
        const std::vector<DeviceRecord> all = handshake(transport, own, patience, check);
        const auto failed =
            std::find_if(all.begin(), all.end(), [](const DeviceRecord& of) { return of.status != 0; });
        if (failed == all.end()) return made;
        without = static_cast<size_t>(failed - all.begin());
        why = failed->why;
    }
    context->runtime().log(GPO_LOG_INFO, owner.c_str(), " has its data exchanged in the host's memory: rank ", without,
                           ": ", why);
    return {};
}

Ref<HostedEngine> begin(Ref<Context> context, std::unique_ptr<Transport> transport, uint32_t engine, uint32_t flags,
                        uint64_t patience, const FixedText<96>& owner, const std::function<void()>& check) {
    ProcessRecord own = own_record(*context, engine, flags);
    own.on_device = transport->takes_device_memory();
    const auto records = handshake(*transport, own, patience, check);
    check_records(records);
    Ref<NcclEngine> nccl;
    if (engine != GPO_ENGINE_HOST) {
        std::string why = why_no_nccl(records);
        if (why.empty()) nccl = join_nccl(context, *transport, patience, check, &why);
        if (!nccl && engine == GPO_ENGINE_NCCL) fail(GPO_NOT_SUPPORTED, why);
        if (!nccl) context->runtime().log(GPO_LOG_INFO, owner.c_str(), " does without NCCL: ", why);
    }
    DeviceStaging device;
    if (!nccl) device = device_staging(context, *transport, records, patience, owner, check);
    auto made = make<HostedEngine>(std::move(context), std::move(transport), patience, owner);
    made->start(std::move(nccl), flags & GPO_JOIN_CHECK_ORDER, std::move(device));
    return made;
}

}  // namespace

Ref<HostedEngine> join(Ref<Context> context, const gpo_join_options& options, const FixedText<96>& owner) {
    refuse_unknown_flags(options.flags, GPO_JOIN_CHECK_ORDER, "options.flags");
    if (options.by < GPO_JOIN_MPI || options.by > GPO_JOIN_ID)
        fail(GPO_INVALID_ARGUMENT, "options.by is ", options.by, ", none of GPO_JOIN_*");
    check_engine(options.engine);
    if ((options.by == GPO_JOIN_FILE) != (options.path != nullptr))
        fail(GPO_INVALID_ARGUMENT, "options.path is ", options.path ? "not NULL, and is for GPO_JOIN_FILE" : "NULL");
    if ((options.by == GPO_JOIN_ID) != (options.id != nullptr))
        fail(GPO_INVALID_ARGUMENT, "options.id is ", options.id ? "not NULL, and is for GPO_JOIN_ID" : "NULL");
    if (options.by != GPO_JOIN_MPI && options.communicator)
        fail(GPO_INVALID_ARGUMENT, "options.communicator is not NULL, and is for GPO_JOIN_MPI");
    refuse_deterministic();
    const uint64_t patience = patience_of(options.timeout_ns);
    const std::function<void()> check = look_for_shutdown(context->runtime());
    const uint64_t deadline = deadline_of(patience);
    std::unique_ptr<Transport> transport;
    if (options.by == GPO_JOIN_MPI) {
        transport = MpiTransport::join(options.communicator, options.rank, options.ranks, GPO_PEERS_MOST_JOINED,
                                       deadline, check);
    } else {
        check_ranks(options, FileTransport::kMostRanks);
        const std::string path = options.by == GPO_JOIN_ID ? file_of_id(options.id) : options.path;
        transport = FileTransport::join(path, options.rank, options.ranks, deadline, check);
    }
    return begin(std::move(context), std::move(transport), options.engine, options.flags, patience, owner, check);
}

Ref<HostedEngine> join_part(Ref<Context> context, HostedEngine& whole, std::span<const uint32_t> ranks, uint32_t engine,
                            const FixedText<96>& owner) {
    check_engine(engine);
    for (size_t place = 0; place < ranks.size(); ++place) {
        if (ranks[place] >= whole.ranks())
            fail(GPO_INVALID_ARGUMENT, "there is no rank ", ranks[place], ": the group has ", whole.ranks(), " ranks");
        if (std::find(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(place), ranks[place]) !=
            ranks.begin() + static_cast<std::ptrdiff_t>(place))
            fail(GPO_INVALID_ARGUMENT, "rank ", ranks[place], " is in the list twice");
    }
    if (std::find(ranks.begin(), ranks.end(), whole.rank()) == ranks.end())
        fail(GPO_INVALID_ARGUMENT, "rank ", whole.rank(), ", which this process has, isn't in the list");
    // Works on broken groups too: the ranks that are left can go on without the others.
    const std::function<void()> check = look_for_shutdown(context->runtime());
    auto transport = whole.split(ranks, deadline_of(whole.patience()), check);
    return begin(std::move(context), std::move(transport), engine, whole.checked() ? GPO_JOIN_CHECK_ORDER : 0,
                 whole.patience(), owner, check);
}

}  // namespace gpo::peers
