#include "peers/hosted_engine.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>

#include "completion/mark.h"
#include "stream/streams.h"

namespace gpo::peers {

namespace {

constexpr uint64_t kWatchesEvery = 20'000'000, kIdleWatchesEvery = 200'000'000;   // ns, at other ranks
constexpr uint64_t kHalf = 4 << 20, kDeviceHalf = 32 << 20;   // bytes of a half of Staging, pinned and on the device
constexpr uint64_t kNewsPatience = 500'000'000;   // ns for news of a living rank's progress to arrive

CUstream make_stream(Context& context, Room::Share& room) {
    const DriverScope scope(context);
    room = Streams::of(context).room().take(Room::kStream, "making a group's stream");
    CUstream stream = nullptr;
    context.check(context.table().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0),
                  "cuStreamCreateWithPriority");
    return stream;
}

}  // namespace

// A collective on a stream and in its engine's queue.
class HostedEngine::Work final : public CompletionHandler {
public:
    Work(Ref<HostedEngine> engine, const Collective& collective, const Part& part, const char* label)
        : collective(collective), part(part), label(label), engine_(std::move(engine)), stream_(part.stream) {}
    HostedEngine& engine() const noexcept { return *engine_; }
    Stream& stream() const noexcept { return *stream_; }
    /// The scanner calls it when all earlier work of the stream is done.
    void on_completed(const Outcome& outcome) noexcept override { engine_->part_ready(*this, outcome.error); }
    bool awaited() const noexcept override { return true; }

    const Collective collective;
    const Part part;
    const char* const label;
    bool begun = false;        // under the stream's submit lock, as is:
    uint64_t behind = 0;       // number of the operation before it
    Work* next = nullptr;      // under the engine's lock, as are:
    bool ready = false;        // all earlier work of the stream is done
    ErrorPtr failed;           // why this rank can't take part; or NULL
    bool dropped = false;      // the stream no longer waits for it
    bool ended = false;
    ErrorPtr result;           // if `ended`; NULL: success

private:
    const Ref<HostedEngine> engine_;
    const Ref<Stream> stream_;
};

class HostedEngine::PartOperation final : public HookedOperation {
public:
    explicit PartOperation(Ref<Work> work)
        : HookedOperation(kind_name(work->collective.kind), work->label), work_(std::move(work)) {}
    PartOperation(const PartOperation& other) : HookedOperation(other), work_(other.work_), held_(true) {}

    // Only held operations begin: nothing can refuse them any more.
    bool ready(Stream& stream) override {
        if (!held_) return false;
        if (!work_->begun) begin(stream);
        std::lock_guard lock(work_->engine().lock_);
        return work_->ended;
    }
    void issue(Stream&) override {
        std::lock_guard lock(work_->engine().lock_);
        if (work_->result) throw NeverPossible(work_->result);
    }
    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<PartOperation>(*this); }
    void held_behind(uint64_t operation) noexcept override {
        work_->behind = operation;
        work_->engine().enqueue(*work_);
    }
    void drop(Stream&, const ErrorPtr& error) noexcept override { work_->engine().part_dropped(*work_, error); }

private:
    void begin(Stream& stream) {
        // Room for this mark, and for a mark of each operation that may have to be dropped.
        stream.marks().reserve(stream.held().count() + 2);
        Mark mark;
        stream.marks().record(mark);
        mark.target = work_;
        mark.operation = work_->behind;
        work_->begun = true;
        stream.marks().push(std::move(mark));
    }

    const Ref<Work> work_;
    const bool held_ = false;
};

// --- what the group calls ---

HostedEngine::HostedEngine(Ref<Context> context, std::unique_ptr<Transport> transport, uint64_t patience,
                           const FixedText<96>& owner)
    : context_(std::move(context)), rank_(transport->rank()), ranks_(transport->ranks()), patience_(patience),
      memory_(make<OwnedMemory>(context_, owner)),
      staging_{static_cast<std::byte*>(memory_->allocate_host(2 * kHalf)), kHalf},
      transport_(std::move(transport)), watch_(*transport_), announced_(ranks_) {
    copies_ = make_stream(*context_, room_);
}

HostedEngine::~HostedEngine() {
    const DriverTry scope(*context_);
    if (scope.entered()) context_->table().cuStreamDestroy(copies_);
}

DeviceStaging HostedEngine::make_device_staging(const Ref<Context>& context, const FixedText<96>& owner) {
    DeviceStaging made;
    made.kernels = kernels_of(*context);
    made.combine_blocks = most_combine_blocks(*context);
    made.memory = make<OwnedMemory>(context, owner);
    made.at = reinterpret_cast<std::byte*>(made.memory->allocate(2 * kDeviceHalf));
    return made;
}

void HostedEngine::start(Ref<NcclEngine> nccl, bool checked, DeviceStaging device) {
    nccl_ = std::move(nccl);
    checked_ = checked;
    device_ = std::move(device);
    if (nccl_ && !checked_) progress_ = std::make_unique<Progress>(*transport_);
    Runtime& runtime = context_->runtime();
    runtime.errands().start();
    runtime.lingering(1);
    retain();
    try {
        thread_ = host::Thread("gpo-peers", [this] { serve(); });
    } catch (...) {
        runtime.lingering(-1);
        release();
        throw;
    }
}

gpo_status HostedEngine::submit(const Collective& collective, std::span<const Part> parts, const char* label) {
    if (const ErrorPtr error = broken()) throw Failure(error);
    Stream& stream = *parts[0].stream;
    stream.refuse_captured();
    PartOperation operation(make<Work>(Ref<HostedEngine>(this), collective, parts[0], label));
    return stream.submit(operation);
}

void HostedEngine::abort() noexcept {
    std::lock_guard lock(lock_);
    aborted_ = true;
    changed_.notify_all();
}

void HostedEngine::leave() noexcept {
    std::lock_guard lock(lock_);
    leaving_ = true;
    changed_.notify_all();
}

ErrorPtr HostedEngine::broken() const {
    std::lock_guard lock(lock_);
    return broken_;
}

std::unique_ptr<Transport> HostedEngine::split(std::span<const uint32_t> ranks, uint64_t deadline,
                                           const std::function<void()>& check) {
    return transport_->split(ranks, deadline, check);
}

void HostedEngine::exchanges(const Exchanges& act) {
    const std::function<void()> shutdown = look_for_shutdown(context_->runtime());
    const std::function<void()> check = [&] {
        shutdown();
        if (const ErrorPtr error = broken()) throw Failure(error);
    };
    std::lock_guard lock(calling_);
    try {
        check();
        act(callers_transport(check), check);
    } catch (...) {
        calls_.reset();   // it may hold half a message
        throw;
    }
}

// The caller holds calling_.
Transport& HostedEngine::callers_transport(const std::function<void()>& check) {
    if (calls_) return *calls_;
    std::vector<uint32_t> all(ranks_);
    std::iota(all.begin(), all.end(), 0u);
    const uint64_t deadline =
        patience_ == host::kForever ? host::kForever : host::deadline_after(static_cast<int64_t>(patience_));
    calls_ = split(all, deadline, check);
    return *calls_;
}

// --- from streams ---

void HostedEngine::enqueue(Work& work) noexcept {
    std::lock_guard lock(lock_);
    if (ended_) {   // the runtime shuts down
        work.ended = true;
        work.result = broken_;
        return;
    }
    work.retain();
    (last_ ? last_->next : first_) = &work;
    last_ = &work;
    changed_.notify_all();
}

void HostedEngine::part_ready(Work& work, const ErrorPtr& error) noexcept {
    std::lock_guard lock(lock_);
    work.ready = true;
    if (!work.failed) work.failed = error;
    changed_.notify_all();
}

// After the return the engine doesn't touch the caller's memory.
void HostedEngine::part_dropped(Work& work, const ErrorPtr& error) noexcept {
    std::lock_guard copying(copying_);
    std::lock_guard lock(lock_);
    work.dropped = true;
    if (!work.failed) work.failed = error;
    changed_.notify_all();
}

// --- the thread ---

void HostedEngine::serve() noexcept {
    Runtime& runtime = context_->runtime();
    std::optional<DriverTry> scope;   // MPI's own calls of the driver are for the current context
    if (on_device()) scope.emplace(*context_);
    for (;;) {
        Ref<Work> work;
        try {
            work = next();
            if (!work) break;
            carry_out(*work);
        } catch (const Broken& failure) {
            break_up(failure.error(), Presence::State::broken, failure.culprit(), failure.why());
        } catch (const Failure& failure) {
            break_up(failure.error(), Presence::State::broken, rank_,
                     fixed_text<240>("has failed: ", failure.error()->sentence()));
        } catch (const std::exception& error) {
            break_up(bare_error(GPO_OUT_OF_MEMORY), Presence::State::broken, rank_, "has run out of memory");
        }
        if (work) finish(*work, broken());
    }
    if (nccl_) finish_nccl();
    progress_.reset();
    transport_->depart(Presence::State::left, rank_, {});
    runtime.errands().post(*this);
    runtime.lingering(-1);
}

// The errands thread calls it: the group's thread has ended or is about to end.
void HostedEngine::run() noexcept {
    thread_.join();
    release();
}

/// Waits for the first collective to be ready or to have failed; NULL: the end. Throws an error that breaks the group.
Ref<HostedEngine::Work> HostedEngine::next() {
    for (;;) {
        {
            host::Lock lock(lock_);
            const bool shutting_down = context_->runtime().shutting_down();
            if (first_ && !broken_ && shutting_down) {
                lock.unlock();
                break_up(make_error(GPO_SHUT_DOWN, "the runtime is shutting down"), Presence::State::left, rank_, {});
                continue;
            }
            if (first_ && (broken_ || first_->ready || first_->failed)) {
                Work* const taken = first_;
                first_ = taken->next;
                if (!first_) last_ = nullptr;
                return Ref<Work>::adopt(taken);
            }
            if (!first_ && (leaving_ || shutting_down)) {
                ended_ = true;
                if (!broken_) broken_ = make_error(GPO_CANCELLED, "the group was destroyed");
                return nullptr;
            }
            changed_.wait(lock, host::now() + (first_ || nccl_ ? kWatchesEvery : kIdleWatchesEvery));
        }
        watch_others();
    }
}

void HostedEngine::watch_others() {
    if (broken()) return;
    refuse_aborted();
    if (!nccl_) return look_for_broken(*transport_);
    watch_.look();   // NCCL reports no lost rank, and waits without limit
    if (const ErrorPtr error = nccl_->look()) throw Failure(error);
    if (progress_) look_for_stragglers();
}

// Finds a rank whose stream hasn't reached the collective that the others wait in. If all have, they are at work.
void HostedEngine::look_for_stragglers() {
    const NcclEngine::Standing own = nccl_->standing();
    progress_->exchange(own.reached);
    if (!own.waits_since || patience_ == host::kForever || host::now() - own.waits_since < patience_ + kNewsPatience)
        return;
    for (uint32_t rank = 0; rank < ranks_; ++rank)
        if (rank != rank_ && progress_->of(rank) <= own.number)
            fail_broken(rank, text("hasn't come, or hangs: collective ", own.number + 1,
                                   " of the group has waited for it for ", duration(patience_)));
}

// Collectives in progress may wait for other processes.
void HostedEngine::finish_nccl() noexcept {
    for (Pauses pauses; !nccl_->finish(); pauses.pause()) {
        try {
            watch_.look();
        } catch (const Failure& failure) {
            nccl_->abort(failure.error());
        } catch (const std::exception&) {
            nccl_->abort(bare_error(GPO_OUT_OF_MEMORY));
        }
    }
}

void HostedEngine::refuse_aborted() {
    std::lock_guard lock(lock_);
    if (aborted_) throw Broken(make_error(GPO_CANCELLED, "the group was aborted"), rank_, "has aborted the group");
}

void HostedEngine::refuse_ending() {
    refuse_aborted();
    if (context_->runtime().shutting_down())
        throw Broken(make_error(GPO_SHUT_DOWN, "the runtime is shutting down"), rank_, "has shut its runtime down");
}

// Called during a collective.
void HostedEngine::check(Work& work) {
    refuse_ending();
    std::lock_guard lock(lock_);
    if (work.dropped) throw Failure(work.failed);
}

void HostedEngine::carry_out(Work& work) {
    if (const ErrorPtr error = broken()) return finish(work, error);
    refuse_ending();
    ++number_;
    announce(work);
    const ErrorPtr error = disagreement(announced_);
    if (!error && nccl_)
        move_by_nccl(work);
    else if (!error)
        exchange(work);
    finish(work, error);
}

void HostedEngine::exchange(Work& work) {
    const bool on_device = this->on_device() && (!work.collective.reduces() || ranks_ <= kMostCombined);
    Exchange(
        *transport_, on_device ? Staging{device_.at, kDeviceHalf, device_.memory.get()} : staging_, patience_,
        [&](std::span<const StagingCopy> copies) { copy(work, copies, on_device); },
        [&](std::span<const uint64_t> sources, uint64_t to, uint64_t bytes) {
            combine(work.collective, sources, to, bytes);
        },
        [&] { check(work); })
        .run(work.collective, work.part);
}

// All ranks have announced the same collective. A part that is dropped during the call waits for its end.
void HostedEngine::move_by_nccl(Work& work) {
    std::lock_guard copying(copying_);
    check(work);
    const DriverScope scope(*context_);
    const driver::Table& table = context_->table();
    try {
        nccl_->carry_out(work.collective, work.part, copies_);
        for (Pauses pauses; table.cuStreamQuery(copies_) == CUDA_ERROR_NOT_READY; pauses.pause()) {
            refuse_ending();
            watch_.look();
            if (const ErrorPtr error = nccl_->look()) throw Failure(error);
        }
    } catch (...) {
        try {
            throw;
        } catch (const Failure& failure) {
            nccl_->abort(failure.error());
        } catch (const std::exception&) {
            nccl_->abort(bare_error(GPO_OUT_OF_MEMORY));
        }
        table.cuStreamSynchronize(copies_);
        throw;
    }
    context_->check(table.cuStreamSynchronize(copies_), "cuStreamSynchronize");
}

void HostedEngine::announce(Work& work) {
    ErrorPtr failed;
    {
        std::lock_guard lock(lock_);
        failed = work.failed;
    }
    announced_[rank_] = announcement_of(number_, work.collective, work.part, work.label, failed);
    std::vector<Transfer> transfers;
    for (uint32_t other = 0; other < ranks_; ++other) {
        if (other == rank_) continue;
        for (const bool sends : {true, false}) {
            Transfer transfer;
            transfer.peer = other;
            transfer.sends = sends;
            transfer.bytes = reinterpret_cast<std::byte*>(&announced_[sends ? rank_ : other]);
            transfer.size = sizeof(Announcement);
            transfers.push_back(transfer);
        }
    }
    // Once failed, the announcement says so: a later drop changes nothing, so check() isn't needed.
    complete(*transport_, transfers, patience_, failed ? std::function<void()>([this] { refuse_ending(); })
                                                       : [&] { check(work); });
}

void HostedEngine::copy(Work& work, std::span<const StagingCopy> copies, bool on_device) {
    std::lock_guard copying(copying_);
    check(work);
    const DriverScope scope(*context_);
    for (const StagingCopy& one : copies) {
        CopyWork record;
        record.way = on_device ? CopyWork::Way::on_device
                     : one.in  ? CopyWork::Way::to_host
                               : CopyWork::Way::to_device;
        const auto staging = reinterpret_cast<uint64_t>(one.staging);
        record.destination = one.in ? staging : one.memory;
        record.source = one.in ? one.memory : staging;
        record.bytes = one.bytes;
        const Issued issued = issue(*context_, copies_, record);
        context_->check(issued.result, issued.function);
        context_->runtime().counters.copies.fetch_add(1, std::memory_order_relaxed);
        context_->runtime().counters.copied_bytes.fetch_add(one.bytes, std::memory_order_relaxed);
    }
    context_->check(context_->table().cuStreamSynchronize(copies_), "cuStreamSynchronize");
}

// Reads and writes only the staging, not the caller's memory.
void HostedEngine::combine(const Collective& collective, std::span<const uint64_t> sources, uint64_t to,
                           uint64_t bytes) {
    const DriverScope scope(*context_);
    const Combine combine(*device_.kernels, device_.combine_blocks, collective, to, sources, bytes);
    const Issued issued = issue(*context_, copies_, combine.work());
    context_->check(issued.result, issued.function);
    context_->check(context_->table().cuStreamSynchronize(copies_), "cuStreamSynchronize");
}

void HostedEngine::finish(Work& work, const ErrorPtr& error) noexcept {
    ErrorPtr result;
    if (error) {
        auto made = make_error(error->status, kind_name(work.collective.kind), work.label ? " `" : "",
                               work.label ? work.label : "", work.label ? "`" : "", ": ", error->sentence());
        try {
            auto full = std::make_shared<Error>(*made);
            full->object = work.stream().describe();
            full->operation = work.behind + 1;
            full->native_code = error->native_code;
            full->native_domain = error->native_domain;
            result = std::move(full);
        } catch (const std::bad_alloc&) {
            result = made;
        }
    }
    {
        std::lock_guard lock(lock_);
        if (std::exchange(work.ended, true)) return;
        work.result = result;
    }
    work.stream().held().flush();
}

void HostedEngine::break_up(const ErrorPtr& error, Presence::State state, uint32_t culprit,
                            std::string_view why) noexcept {
    {
        std::lock_guard lock(lock_);
        if (!broken_) broken_ = error;
    }
    transport_->depart(state, culprit, why);
    if (nccl_) nccl_->abort(error);
}

}  // namespace gpo::peers
