#include "memory/pool.h"

#include <algorithm>

#include "stream/streams.h"
#include "trace/serialising.h"

namespace gpo {

class PoolAllocation final : public Operation {
public:
    PoolAllocation(Pool& pool, uint64_t bytes) noexcept
        : Operation("allocation", pool.label()), pool_(pool), bytes_(bytes) {}

    void issue(Stream& stream) override {
        stream.refuse_capture();
        Context& context = stream.context();
        CUdeviceptr address = 0;
        pool_.driver_calls_.fetch_add(1, std::memory_order_relaxed);
        const CUresult result =
            stream.table().cuMemAllocFromPoolAsync(&address, bytes_, pool_.native_, stream.native());
        if (result != CUDA_SUCCESS) [[unlikely]]   // describe() only then: this is the path of each allocation
            context.check_allocation(result, "cuMemAllocFromPoolAsync",
                                     {Context::Wanted::Where::device, bytes_, pool_.describe()});
        try {
            pool_.registry_.insert_device({address, address + bytes_, kPieceTag, &pool_});
        } catch (...) {
            stream.table().cuMemFreeAsync(address, stream.native());
            stream.note_free();
            throw;
        }
        address_ = address;
    }
    std::unique_ptr<Operation> held_copy() const override { refuse_held(); }
    [[noreturn]] static void refuse_held() {
        fail(GPO_INVALID_STATE, "the stream is held: the address of what is allocated on it wouldn't be known yet");
    }
    uint64_t address() const noexcept { return address_; }

private:
    Pool& pool_;
    const uint64_t bytes_;
    uint64_t address_ = 0;
};

class PoolFree final : public HookedOperation {
public:
    /// `waited`: the free waited for a graph (memory/holds.h), and has been reported to the program as done.
    PoolFree(Pool& pool, uint64_t address, uint64_t bytes, bool waited = false) noexcept
        : HookedOperation("free", pool.label()), pool_(&pool), address_(address), bytes_(bytes), waited_(waited) {}

    void issue(Stream& stream) override {
        if (stream.detached()) fail(GPO_INVALID_STATE, stream.describe(), " was destroyed");
        stream.refuse_capture();
        RangeMap& ranges = pool_->registry_.device;
        ranges.erase(address_, pool_.get());
        pool_->driver_calls_.fetch_add(1, std::memory_order_relaxed);
        const CUresult result = stream.table().cuMemFreeAsync(address_, stream.native());
        if (result != CUDA_SUCCESS) {
            try {
                ranges.insert({address_, address_ + bytes_, kFreeingTag, pool_.get()});
            } catch (const std::bad_alloc&) {
                // Two failures at once: the piece can't be freed any more, and stays until the pool is destroyed.
            }
            stream.context().check(result, "cuMemFreeAsync");
        }
        stream.note_free();
        pool_->frees_.fetch_add(1, std::memory_order_relaxed);
        pool_->give_room(bytes_);
    }
    std::unique_ptr<Operation> held_copy() const override { return std::make_unique<PoolFree>(*this); }
    /// The free has not happened, and the program can free the piece again. A free that waited is instead made without
    /// the stream, by afterwards().
    void drop(Stream&, const ErrorPtr&) noexcept override {
        if (!waited_) undo();
    }
    void afterwards(const ErrorPtr& dropped) noexcept override {
        if (dropped && waited_)
            pool_->runtime().errands().post_body(
                [pool = pool_, address = address_, bytes = bytes_] { pool->free_now(address, bytes); });
    }
    void undo() noexcept { pool_->registry_.device.retag(address_, pool_.get(), kFreeingTag, kPieceTag); }

private:
    Ref<Pool> pool_;
    uint64_t address_, bytes_;
    bool waited_;
};

// The waiting free of a pool's piece, which is tagged as being freed. The piece is freed in the order of the stream
// that the program gave, or without the stream if it accepts no work any more.
class WaitingPoolFree final : public WaitingFree {
public:
    /// If the handle of a wrapped stream is destroyed meanwhile, the stream leaves a mark, and the free waits for it.
    WaitingPoolFree(Pool& pool, Stream& stream, const Range& piece) noexcept
        : WaitingFree(*pool.context_, piece.start, piece.bytes()), pool_(&pool), stream_(&stream) {
        stream_->marks().expect_mark();
    }
    ~WaitingPoolFree() override { stream_->marks().end_expecting_mark(); }
    FixedText<160> describe() const noexcept override {
        return fixed_text<160>("a piece of ", bytes(), " bytes of ", pool_->describe());
    }
    void free() noexcept override {
        try {
            PoolFree operation(*pool_, start(), bytes(), true);
            if (stream_->submit(operation) == GPO_SUCCESS) return;
        } catch (const std::exception&) {
            // The stream has failed, is captured or detached, or the runtime shuts down.
        }
        pool_->free_now(start(), bytes());
    }

private:
    Stream* behind() const noexcept override { return stream_.get(); }
    const Ref<Pool> pool_;
    const Ref<Stream> stream_;
};

Pool::Pool(Ref<Context> context, const gpo_pool_options& options)
    : Object(context->runtime(), Type::pool, options.label), context_(std::move(context)),
      registry_(Registry::of(context_->runtime())), holds_(Holds::of(context_->runtime())),
      max_bytes_(options.max_bytes) {
    DriverScope scope(*context_);
    const driver::Table& table = context_->table();
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = context_->ordinal();
    context_->check(table.cuMemPoolCreate(&native_, &properties), "cuMemPoolCreate");
    try {
        cuuint64_t keep = options.flags & GPO_POOL_KEEP_NOTHING ? 0
                          : options.keep_bytes != GPO_AUTO      ? options.keep_bytes
                                                                : UINT64_MAX;
        context_->check(table.cuMemPoolSetAttribute(native_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep),
                        "cuMemPoolSetAttribute");
        if (options.initial_bytes) warm_up(options.initial_bytes);
    } catch (...) {
        table.cuMemPoolDestroy(native_);
        throw;
    }
}

Pool::~Pool() {
    DriverTry scope(*context_);
    if (!scope.entered() || !native_) return;
    // Pieces are left only at shutdown.
    try {
        for (const Range& piece : registry_.device.of(this)) {
            registry_.device.erase(piece.start, this);
            context_->table().cuMemFree(piece.start);
        }
    } catch (const std::bad_alloc&) {
        // The driver frees the memory with the context.
    }
    context_->table().cuMemPoolDestroy(native_);
}

// Makes the driver take the memory from the system, on a stream of its own.
void Pool::warm_up(uint64_t bytes) {
    const driver::Table& table = context_->table();
    CUstream stream = nullptr;
    context_->check(table.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0), "cuStreamCreateWithPriority");
    const SerialisingScope serialising(context_->runtime(), Serialising::device_allocation);
    driver_calls_.fetch_add(1, std::memory_order_relaxed);
    CUdeviceptr address = 0;
    const char* function = "cuMemAllocFromPoolAsync";
    CUresult result = table.cuMemAllocFromPoolAsync(&address, bytes, native_, stream);
    if (result == CUDA_SUCCESS) {
        function = "cuMemFreeAsync";
        result = table.cuMemFreeAsync(address, stream);
        const CUresult passed = table.cuStreamSynchronize(stream);
        if (result == CUDA_SUCCESS) result = passed;
    }
    table.cuStreamDestroy(stream);
    context_->check(result, function);
}

void Pool::check_runtime(Stream& stream) {
    if (&stream.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, stream.describe(), " is of another runtime than ", describe());
}

void Pool::take_room(uint64_t bytes) {
    uint64_t used = in_use_.load(std::memory_order_relaxed);
    do {
        const uint64_t most = max_bytes_ ? max_bytes_ : UINT64_MAX;
        if (bytes > most || used > most - bytes)
            fail(GPO_LIMIT_EXCEEDED, describe(), " has no room for ", bytes, " bytes: ", used, " of at most ", most,
                 " are in use");
    } while (!in_use_.compare_exchange_weak(used, used + bytes, std::memory_order_seq_cst));
    if (watches_.load(std::memory_order_seq_cst)) [[unlikely]] notify_watches();
}

uint64_t Pool::allocate(Stream& stream, uint64_t bytes) {
    check_runtime(stream);
    if (bytes == 0) fail(GPO_INVALID_ARGUMENT, "bytes is 0");
    take_room(bytes);
    try {
        PoolAllocation operation(*this, bytes);
        if (stream.submit(operation) != GPO_SUCCESS) PoolAllocation::refuse_held();
        allocations_.fetch_add(1, std::memory_order_relaxed);
        // The peak counts memory that was really handed out: it is updated when nothing can fail any more.
        const uint64_t used = in_use_.load(std::memory_order_relaxed);
        uint64_t peak = peak_.load(std::memory_order_relaxed);
        while (used > peak && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
        }
        return operation.address();
    } catch (...) {
        in_use_.fetch_sub(bytes, std::memory_order_seq_cst);
        if (watches_.load(std::memory_order_seq_cst)) [[unlikely]] notify_watches();
        throw;
    }
}

gpo_status Pool::free(Stream& stream, uint64_t address) {
    check_runtime(stream);
    if (!registry_.device.retag(address, this, kPieceTag, kFreeingTag))
        fail(GPO_INVALID_ARGUMENT, hex(address), " is not the start of a live piece of ", describe());
    const Range piece = registry_.device.find(address);
    PoolFree operation(*this, address, piece.bytes());
    try {
        if (holds_.any()) [[unlikely]] {
            check_free(stream);
            if (holds_.defer(address, piece.bytes(),
                             [&] { return std::make_unique<WaitingPoolFree>(*this, stream, piece); }))
                return GPO_SUCCESS;
        }
        const gpo_status status = stream.submit(operation);
        if (status != GPO_SUCCESS) operation.undo();
        return status;
    } catch (...) {
        operation.undo();
        throw;
    }
}

void Pool::check_free(Stream& stream) {
    if (stream.runtime().shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
    if (ErrorPtr failure = stream.failure()) throw Failure(std::move(failure));
    DriverScope scope(stream.context());
    stream.refuse_capture();
}

void Pool::free_now(uint64_t address, uint64_t bytes) noexcept {
    registry_.device.erase(address, this);
    {
        DriverTry scope(*context_);
        if (scope.entered()) {
            driver_calls_.fetch_add(1, std::memory_order_relaxed);
            Streams::of(*context_).blocking_calls().free_used_memory(address);
        }
    }
    frees_.fetch_add(1, std::memory_order_relaxed);
    give_room(bytes);
}

void Pool::trim(uint64_t keep_bytes) {
    Streams::show_frees(runtime());
    DriverScope scope(*context_);
    const SerialisingScope serialising(context_->runtime(), Serialising::device_allocation);
    driver_calls_.fetch_add(1, std::memory_order_relaxed);
    context_->check(context_->table().cuMemPoolTrimTo(native_, keep_bytes), "cuMemPoolTrimTo");
}

gpo_memory_statistics Pool::statistics() {
    gpo_memory_statistics out{};
    const auto read = [](const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
    out.frees = read(frees_);
    out.allocations = read(allocations_);
    out.in_use = read(in_use_);
    out.peak_in_use = read(peak_);
    out.driver_calls = read(driver_calls_);
    DriverScope scope(*context_);
    const auto ask = [&](CUmemPool_attribute attribute) {
        cuuint64_t value = 0;
        context_->check(context_->table().cuMemPoolGetAttribute(native_, attribute, &value), "cuMemPoolGetAttribute");
        return static_cast<uint64_t>(value);
    };
    out.reserved = ask(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    out.peak_reserved = ask(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH);
    return out;
}

// The handle is destroyed, so the remaining pieces can't be freed any more: they keep the pool until shutdown. Held
// frees have references to the pool, and the last of them ends the keeping if no other piece is left.
void Pool::close() noexcept {
    end_watches();
    if (in_use_.load(std::memory_order_relaxed) == 0) return;
    registry_.keep_until_shutdown(*this, node_);
    closed_.store(true, std::memory_order_seq_cst);
    if (in_use_.load(std::memory_order_seq_cst) == 0) registry_.keep_no_longer(*this);
}

// Either give_room() sees that the pool is closed, or close() sees that the pool is empty.
void Pool::give_room(uint64_t bytes) noexcept {
    const uint64_t used = in_use_.fetch_sub(bytes, std::memory_order_seq_cst);
    if (watches_.load(std::memory_order_seq_cst)) [[unlikely]] notify_watches();
    if (used == bytes && closed_.load(std::memory_order_seq_cst)) [[unlikely]]
        registry_.keep_no_longer(*this);
}

void Pool::watch(PoolWatch& watch) noexcept {
    {
        std::lock_guard lock(watch_lock_);
        watch.next_ = watches_.load(std::memory_order_relaxed);
        watches_.store(&watch, std::memory_order_seq_cst);
    }
    notify_watches();
}

void Pool::unwatch(PoolWatch& watch) noexcept {
    std::lock_guard lock(watch_lock_);
    PoolWatch* first = watches_.load(std::memory_order_relaxed);
    for (PoolWatch** at = &first; *at; at = &(*at)->next_)
        if (*at == &watch) {
            *at = watch.next_;
            break;
        }
    watches_.store(first, std::memory_order_seq_cst);
}

void Pool::end_watches() noexcept {
    std::lock_guard lock(watch_lock_);
    for (PoolWatch* watch = watches_.exchange(nullptr, std::memory_order_seq_cst); watch; watch = watch->next_)
        if (std::exchange(watch->above_, false)) watch->crossed(false);
}

// Threads that change the memory in use at the same time may come here in another order. The last of them sees the
// final number.
void Pool::notify_watches() noexcept {
    std::lock_guard lock(watch_lock_);
    const uint64_t used = in_use_.load(std::memory_order_seq_cst);
    for (PoolWatch* watch = watches_.load(std::memory_order_relaxed); watch; watch = watch->next_) {
        if (watch->above_ ? used > watch->low_ : used <= watch->high_) continue;
        watch->above_ = !watch->above_;
        watch->crossed(watch->above_);
    }
}

FixedText<128> Pool::leaks() noexcept {
    if (context_->lost() || reported_.exchange(true)) return {};
    try {
        const auto pieces = registry_.device.of(this);
        uint64_t bytes = 0;
        size_t count = 0;
        for (const Range& piece : pieces) {
            if (piece.tag == kFreeingTag) continue;   // its free waits
            bytes += piece.bytes();
            ++count;
        }
        if (count == 0) return {};
        return fixed_text<128>(bytes, " bytes in ", count, " pieces");
    } catch (const std::bad_alloc&) {
        return fixed_text<128>("more pieces than there is memory to list");
    }
}

}  // namespace gpo
