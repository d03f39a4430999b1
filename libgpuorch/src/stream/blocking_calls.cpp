#include "stream/blocking_calls.h"

#include <new>
#include <utility>

#include "stream/services.h"
#include "trace/serialising.h"

namespace gpo {

namespace {

constexpr uint64_t kLongestWait = 1'000'000'000;   // ns that resident work waits before it begins

// Frees device memory if the driver has no memory pools.
class MemoryFree final : public BlockingCall {
public:
    MemoryFree(Context& context, CUdeviceptr address) noexcept : BlockingCall(context), address_(address) {}

private:
    void call(bool ok) noexcept override {
        if (ok) {
            const SerialisingScope serialising(context().runtime(), Serialising::device_allocation);
            context().table().cuMemFree(address_);
        }
        delete this;
    }
    const CUdeviceptr address_;
};

// Unmaps another process's memory: cuIpcCloseMemHandle.
class ImportEnd final : public BlockingCall {
public:
    ImportEnd(Context& context, CUdeviceptr mapping) noexcept : BlockingCall(context), mapping_(mapping) {}

private:
    void call(bool ok) noexcept override {
        if (ok) {
            const SerialisingScope serialising(context().runtime(), Serialising::device_allocation);
            context().table().cuIpcCloseMemHandle(mapping_);
        }
        delete this;
    }
    const CUdeviceptr mapping_;
};

}  // namespace

void HostMemoryFree::call(bool ok) noexcept {
    if (ok) {
        const SerialisingScope serialising(context().runtime(), Serialising::host_registration);
        context().table().cuMemFreeHost(memory_);
    }
    delete this;
}

void BlockingCall::run() noexcept {
    const Ref<Context> context = context_;
    BlockingCalls& calls = StreamServices::of(*context).blocking_calls();
    DriverTry scope(*context);
    const bool ok = scope.entered(), was_put_off = put_off_;
    if (ok && !calls.begin()) return calls.put_off(*this);
    call(ok);
    if (ok) calls.end();
    if (was_put_off) calls.waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void BlockingCall::make_elsewhere() noexcept { StreamServices::of(*context_).blocking_calls().make_behind_all(*this); }

// --- resident work ---

void BlockingCalls::expect_resident_work() {
    if (!make_stream_for_frees()) fail(GPO_OUT_OF_MEMORY, "no stream is left for frees beside resident work");
    services_.room().expect_resident_work();
    expected_.store(true, std::memory_order_release);
}

bool BlockingCalls::make_stream_for_frees() noexcept {
    if (frees_.load(std::memory_order_acquire)) return true;
    std::lock_guard lock(making_);
    CUstream made = frees_.load(std::memory_order_relaxed);
    if (made) return true;
    if (finished_) return false;
    if (context_.table().cuStreamCreateWithPriority(&made, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) return false;
    frees_.store(made, std::memory_order_release);
    return true;
}

void BlockingCalls::begin_work() noexcept {
    host::Lock lock(lock_);
    if (calls_ != 0) no_calls_.wait(lock, host::now() + kLongestWait, [&] { return calls_ == 0; });
    ++beginning_;
}

void BlockingCalls::end_beginning() noexcept {
    std::lock_guard lock(lock_);
    --beginning_;
}

// --- blocking calls ---

// Resident work that begins after ++calls_ waits for the call; work that has begun before is seen.
bool BlockingCalls::begin() noexcept {
    bool resident = false;
    context_.runtime().blocking_calls().begin_long();
    {
        std::lock_guard lock(lock_);
        ++calls_;
        resident = beginning_ != 0;
    }
    host::crossing();
    if (!resident) resident = expected_.load(std::memory_order_acquire) && services_.resident_work();
    if (resident) end();
    return !resident;
}

void BlockingCalls::end() noexcept {
    {
        std::lock_guard lock(lock_);
        if (--calls_ == 0) no_calls_.notify_all();
    }
    context_.runtime().blocking_calls().end_long();
}

BlockingCalls::Now::Now(Context& context, const char* what) : calls_(StreamServices::of(context).blocking_calls()) {
    if (calls_.begin()) return;
    const Ref<Object> stream = calls_.services_.resident_work();
    fail(GPO_INVALID_STATE, what, " waits for all kernels on the device, and one may stay: ",
         stream ? stream->describe() : fixed_text<96>("a resident stream"), " has work, which has to end first");
}

// Waits for the stream: until then the driver keeps memory freed in the stream's order.
void BlockingCalls::free_memory(CUdeviceptr address) noexcept {
    const driver::Table& table = context_.table();
    if (make_stream_for_frees()) {
        const CUstream stream = frees_.load(std::memory_order_acquire);
        if (table.cuMemFreeAsync(address, stream) == CUDA_SUCCESS) {
            table.cuStreamSynchronize(stream);
            return;
        }
    }
    // Without memory for the object, the device memory is freed with the context.
    if (auto* call = new (std::nothrow) MemoryFree(context_, address)) call->make();
}

void BlockingCalls::free_used_memory(CUdeviceptr address) noexcept {
    if (!begin()) return free_memory(address);
    {
        const SerialisingScope serialising(context_.runtime(), Serialising::device_allocation);
        context_.table().cuMemFree(address);
    }
    end();
}

void BlockingCalls::end_import(CUdeviceptr mapping) noexcept {
    if (auto* call = new (std::nothrow) ImportEnd(context_, mapping)) call->make();
}

// --- calls that are put off ---

void BlockingCalls::put_off(BlockingCall& call) noexcept {
    bool watched = false, logged = false;
    {
        std::lock_guard lock(lock_);
        call.next_ = nullptr;
        if (!std::exchange(call.put_off_, true)) waiting_.fetch_add(1, std::memory_order_relaxed);
        (first_ ? last_->next_ : first_) = &call;
        last_ = &call;
        watched = std::exchange(watched_, true);
        logged = std::exchange(logged_, true);
    }
    if (!logged) {
        const Ref<Object> stream = services_.resident_work();
        context_.runtime().log(GPO_LOG_INFO, "pinned memory and modules are given back to the driver when ",
                               stream ? stream->describe() : fixed_text<96>("a resident stream"),
                               " has done its work: the driver would wait for that");
    }
    if (watched) return;
    context_.retain();
    context_.runtime().errands().post(watch_);
}

void BlockingCalls::Watch::run() noexcept {
    BlockingCalls& calls = calls_;
    try {
        calls.services_.when_residents_pass([&calls](bool) {
            calls.make_all();
            calls.context_.release();   // the action has a reference of its own
        });
    } catch (...) {
        // No memory for the wait now: try again later.
        calls.context_.runtime().errands().post(*this, host::now() + Errands::kTryAgain);
    }
}

void BlockingCalls::make_behind_all(BlockingCall& call) noexcept {
    bool first = false;
    {
        std::lock_guard lock(lock_);
        first = !gathered_;
        call.next_ = std::exchange(gathered_, &call);
    }
    if (!first) return;
    context_.retain();
    context_.runtime().errands().post(gather_);
}

void BlockingCalls::Gather::run() noexcept {
    BlockingCalls& calls = calls_;
    BlockingCall* first = nullptr;
    {
        std::lock_guard lock(calls.lock_);
        first = std::exchange(calls.gathered_, nullptr);
    }
    const auto make_each = [first] {
        for (BlockingCall *call = first, *next = nullptr; call; call = next) {
            next = call->next_;
            call->make();
        }
    };
    try {
        calls.services_.when_all_pass([make_each](bool) { make_each(); });
    } catch (...) {
        make_each();   // the device is lost, or there is no memory to wait with
    }
    calls.context_.release();   // each call has a reference of its own
}

// The errands' thread calls it. Calls that find other resident work are put off again.
void BlockingCalls::make_all() noexcept {
    BlockingCall* call = nullptr;
    {
        std::lock_guard lock(lock_);
        call = std::exchange(first_, nullptr);
        last_ = nullptr;
        watched_ = false;
    }
    while (call) {
        BlockingCall* const next = call->next_;
        context_.runtime().errands().post(*call);
        call = next;
    }
}

void BlockingCalls::finish() noexcept {
    CUstream stream = nullptr;
    {
        std::lock_guard lock(making_);
        finished_ = true;
        stream = frees_.exchange(nullptr, std::memory_order_relaxed);
    }
    if (!stream) return;
    DriverTry scope(context_);
    if (scope.entered()) context_.table().cuStreamDestroy(stream);
    expected_.store(false, std::memory_order_relaxed);
}

}  // namespace gpo
