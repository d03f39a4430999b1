#include "device/context.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <numeric>

#include "device/contexts.h"
#include "device/device.h"
#include "device/gpu_clock.h"

namespace gpo {

namespace {

constexpr size_t kAttributionBytes = 4096;
constexpr unsigned kQuestions = 3;   // repeated queries to a driver that refuses to answer

}  // namespace

Context::Context(Runtime& runtime, int native_ordinal, CUcontext foreign, ContextUsers::Make make_users)
    : runtime_(runtime), driver_(runtime.shared_driver()), table_(driver_->table), ordinal_(native_ordinal) {
    runtime.errands().start();
    CUdevice device = 0;
    check(table_.cuDeviceGet(&device, native_ordinal), "cuDeviceGet");
    if (foreign) {
        native_ = foreign;
    } else {
        check(table_.cuDevicePrimaryCtxRetain(&native_, device), "cuDevicePrimaryCtxRetain");
        primary_ = true;
    }
    try {
        check(table_.cuCtxGetId(native_, &id_), "cuCtxGetId");
        if (foreign && device_of(foreign) != device) refuse_ordinal(native_ordinal);
        users_ = make_users(*this);
        phase_.store(Phase::open, std::memory_order_release);
    } catch (...) {
        if (primary_) table_.cuDevicePrimaryCtxRelease(device);
        throw;
    }
}

CUdevice Context::device_of(CUcontext foreign) {
    CUdevice device = 0;
    CUcontext popped = nullptr;
    check(table_.cuCtxPushCurrent(foreign), "cuCtxPushCurrent");
    const CUresult result = table_.cuCtxGetDevice(&device);
    table_.cuCtxPopCurrent(&popped);
    check(result, "cuCtxGetDevice");
    return device;
}

void Context::refuse_ordinal(int native_ordinal) {
    fail(GPO_INVALID_ARGUMENT, "options.native_context is a context of another device than the driver's number ",
         native_ordinal);
}

Context::~Context() {
    if (host::forked()) return;
    phase_.store(Phase::ended, std::memory_order_release);
    users_.reset();
    {
        DriverTry scope(*this);
        if (scope.entered() && attribution_words_) table_.cuMemHostUnregister(attribution_words_);
        if (scope.entered())
            for (auto& events : spare_events_)
                for (CUevent event : events) table_.cuEventDestroy(event);
    }
    if (attribution_words_) munmap(attribution_words_, kAttributionBytes);
    CUdevice device = 0;
    if (primary_ && table_.cuDeviceGet(&device, ordinal_) == CUDA_SUCCESS) table_.cuDevicePrimaryCtxRelease(device);
}

void Context::begin_end() noexcept {
    phase_.store(Phase::ending, std::memory_order_release);
    std::map<MakeKept, Ref<Counted>> released;
    std::lock_guard lock(kept_lock_);
    released.swap(kept_);
}

Ref<Counted> Context::keep(MakeKept make) {
    {
        std::unique_lock lock(kept_lock_);
        for (;;) {
            if (phase_.load(std::memory_order_acquire) != Phase::open)
                fail(GPO_SHUT_DOWN, "the runtime is shutting down");
            const auto [place, added] = kept_.try_emplace(make);
            if (added) break;
            if (place->second) return place->second;
            kept_made_.wait(lock);
        }
    }
    Ref<Counted> made;
    try {
        made = make(*this);
    } catch (...) {
        std::lock_guard lock(kept_lock_);
        kept_.erase(make);
        kept_made_.notify_all();
        throw;
    }
    std::lock_guard lock(kept_lock_);
    if (const auto place = kept_.find(make); place != kept_.end()) place->second = made;  // else the context has ended
    kept_made_.notify_all();
    return made;
}

void Context::finish() noexcept {
    users_->finish();
    phase_.store(Phase::ended, std::memory_order_release);
}

Context::Attribution Context::take_attribution() {
    std::lock_guard lock(attribution_lock_);
    if (!attribution_words_) {
        void* page = mmap(nullptr, kAttributionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) fail_errno(GPO_OUT_OF_MEMORY, errno, "no memory for the numbers of GPUORCH_ATTRIBUTE");
        const CUresult result = table_.cuMemHostRegister(page, kAttributionBytes, CU_MEMHOSTREGISTER_DEVICEMAP);
        if (result != CUDA_SUCCESS) {
            munmap(page, kAttributionBytes);
            check_allocation(result, "cuMemHostRegister",
                             {Wanted::Where::host, kAttributionBytes, "the numbers of GPUORCH_ATTRIBUTE"});
        }
        attribution_words_ = static_cast<uint32_t*>(page);
    }
    if (!attribution_address_) {
        std::vector<uint16_t> all(kAttributionBytes / 8);
        std::iota(all.begin(), all.end(), uint16_t{0});
        check(table_.cuMemHostGetDevicePointer(&attribution_address_, attribution_words_, 0),
              "cuMemHostGetDevicePointer");
        attribution_free_.swap(all);
    }
    if (attribution_free_.empty()) return {};
    const uint16_t pair = attribution_free_.back();
    attribution_free_.pop_back();
    attribution_words_[2 * pair] = attribution_words_[2 * pair + 1] = 0;
    return {attribution_words_ + 2 * pair, attribution_address_ + 8u * pair};
}

void Context::give_attribution(const Attribution& attribution) noexcept {
    if (!attribution.words) return;
    std::lock_guard lock(attribution_lock_);
    attribution_free_.push_back(static_cast<uint16_t>((attribution.address - attribution_address_) / 8));
}

ErrorPtr Context::error_of(CUresult result, const char* function) noexcept {
    ErrorPtr out;
    try {
        const char* description = nullptr;
        table_.cuGetErrorString(result, &description);
        auto error = std::make_shared<Error>();
        error->status = status_of(result);
        error->native_code = result;
        error->native_domain = GPO_NATIVE_CUDA;
        error->function = function;
        error->message = text(description ? description : "unknown error", native_name(result));
        if (result == CUDA_ERROR_NOT_PERMITTED) error->message = text(kCalledInHostFunction, ": ", error->message);
        out = std::move(error);
    } catch (const std::bad_alloc&) {
        out = bare_error(status_of(result));
    }
    if (!is_sticky(result)) return out;
    lose(out, result != CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return loss();
}

std::string Context::native_name(CUresult result) const {
    const char* name = nullptr;
    table_.cuGetErrorName(result, &name);
    return text(" (", name ? name : "?", ", ", static_cast<int>(result), ")");
}

void Context::fail_call(CUresult result, const char* function) {
    throw Failure(error_of(result, function));
}

void Context::fail_allocation(CUresult result, const char* function, const Wanted& wanted) {
    throw Failure(error_of(result, function, wanted));
}

ErrorPtr Context::error_of(CUresult result, const char* function, const Wanted& wanted) noexcept {
    const ErrorPtr reported = error_of(result, function);
    if (result != CUDA_ERROR_OUT_OF_MEMORY) return reported;
    try {
        auto error = std::make_shared<Error>(*reported);
        const auto for_whom = text(wanted.bytes ? text(" for ", wanted.bytes, " bytes") : "",
                                   wanted.whose.empty() ? "" : wanted.bytes ? " of " : " for ", wanted.whose);
        size_t free_now = 0, total = 0;
        if (wanted.where == Wanted::Where::host)
            error->message = text("the host has no memory left to pin", for_whom);
        else if (table_.cuMemGetInfo(&free_now, &total) == CUDA_SUCCESS)
            error->message = text("device ", ordinal_, " has no memory left", for_whom, ": ", free_now, " of its ",
                                  total, " bytes are free");
        else
            error->message = text("device ", ordinal_, " has no memory left", for_whom);
        error->message += native_name(result);
        return error;
    } catch (const std::bad_alloc&) {
        return reported;
    }
}

ErrorPtr Context::loss() const {
    std::lock_guard lock(loss_lock_);
    return loss_;
}

void Context::lose(ErrorPtr error, bool crashed) noexcept {
    {
        std::lock_guard lock(loss_lock_);
        if (loss_) return;
        loss_ = std::move(error);
        lost_.store(true, std::memory_order_release);
    }
    if (phase_.load(std::memory_order_acquire) != Phase::open) return;  // no streams to notify
    users_->context_lost(crashed);
}

void Context::probe() noexcept {
    DriverTry scope(*this);
    if (!scope.entered()) return;
    size_t free_now = 0, total = 0;
    const CUresult result = table_.cuMemGetInfo(&free_now, &total);
    if (is_sticky(result)) error_of(result, "cuMemGetInfo");
}

// Called when the driver didn't return the context's id. Repeats the query if the driver refused it, except on threads
// where the driver permits no calls.
bool Context::alive_after(CUresult answer) noexcept {
    const auto is_destroyed = [&] {
        return answer == CUDA_SUCCESS || answer == CUDA_ERROR_INVALID_CONTEXT || answer == CUDA_ERROR_INVALID_VALUE ||
               answer == CUDA_ERROR_INVALID_HANDLE || answer == CUDA_ERROR_NOT_INITIALIZED || is_sticky(answer);
    };
    for (unsigned again = 0; again < kQuestions && !lost() && !is_destroyed(); ++again) {
        if (answer == CUDA_ERROR_NOT_PERMITTED) return false;
        if (says_alive(answer)) return true;
    }
    if (!lost()) error_of(CUDA_ERROR_CONTEXT_IS_DESTROYED, "cuCtxGetId");
    return false;
}

void Context::fail_dead() {
    throw Failure(lost() ? loss() : error_of(CUDA_ERROR_NOT_PERMITTED, "cuCtxGetId"));
}

void Context::take_events(bool timing, size_t count, std::vector<CUevent>& to) {
    to.reserve(to.size() + count);
    {
        std::lock_guard lock(events_lock_);
        auto& spare = spare_events_[timing];
        const size_t taken = std::min(count, spare.size());
        to.insert(to.end(), spare.end() - static_cast<ptrdiff_t>(taken), spare.end());
        spare.resize(spare.size() - taken);
        if (taken) return;
    }
    // No spare event was left: make `count` events.
    for (size_t i = 0; i < count; ++i) {
        CUevent event = nullptr;
        const CUresult result = table_.cuEventCreate(&event, timing ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
        if (result != CUDA_SUCCESS) {
            if (i > 0) return;
            check(result, "cuEventCreate");
        }
        to.push_back(event);
    }
}

void Context::take_event(bool timing, CUevent* to) {
    {
        std::lock_guard lock(events_lock_);
        if (auto& spare = spare_events_[timing]; !spare.empty()) {
            *to = spare.back();
            spare.pop_back();
            return;
        }
    }
    check(table_.cuEventCreate(to, timing ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING), "cuEventCreate");
}

void Context::give_events(bool timing, CUevent* events, size_t count) noexcept {
    size_t kept = 0;
    try {
        std::lock_guard lock(events_lock_);
        auto& spare = spare_events_[timing];
        if (spare.capacity() < spare.size() + count) spare.reserve(std::max<size_t>(256, 2 * (spare.size() + count)));
        spare.insert(spare.end(), events, events + count);
        kept = count;
    } catch (...) {
    }
    if (kept == count) return;
    DriverTry scope(*this);
    if (scope.entered())
        for (size_t i = kept; i < count; ++i) table_.cuEventDestroy(events[i]);
}

std::string Context::device_name() { return device_properties(*driver_, ordinal_).name; }

std::unique_ptr<trace::Clock> Context::make_clock() { return std::make_unique<GpuClock>(Ref<Context>(this)); }

DriverScope::DriverScope(Context& context, Calls calls)
    : table_(context.table_), outer_mode_(CU_STREAM_CAPTURE_MODE_RELAXED), calls_(calls),
      pushed_(enter(context, nullptr)) {
    if (calls_ == Calls::any) table_.cuThreadExchangeStreamCaptureMode(&outer_mode_);
}

bool DriverScope::enter(Context& context, std::atomic<bool>* was_current) {
    context.require_alive();
    CUcontext current = nullptr;
    context.table_.cuCtxGetCurrent(&current);
    const bool is_current = current == context.native_;
    if (was_current && was_current->load(std::memory_order_relaxed) != is_current)
        was_current->store(is_current, std::memory_order_relaxed);
    if (!is_current) context.check(context.table_.cuCtxPushCurrent(context.native_), "cuCtxPushCurrent");
    return !is_current;
}

DriverTry::DriverTry(Context& context) noexcept : table_(context.table()), outer_mode_(CU_STREAM_CAPTURE_MODE_RELAXED) {
    if (host::forked() || in_host_node() || !context.alive()) return;
    CUcontext current = nullptr;
    table_.cuCtxGetCurrent(&current);
    if (current != context.native()) {
        if (table_.cuCtxPushCurrent(context.native()) != CUDA_SUCCESS) return;
        pushed_ = true;
    }
    table_.cuThreadExchangeStreamCaptureMode(&outer_mode_);
    entered_ = true;
}

DriverTry::~DriverTry() {
    if (!entered_) return;
    table_.cuThreadExchangeStreamCaptureMode(&outer_mode_);
    CUcontext popped;
    if (pushed_) table_.cuCtxPopCurrent(&popped);
}

}  // namespace gpo
