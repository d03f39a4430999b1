#include "device/context.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <numeric>

#include "completion/scanner.h"
#include "device/contexts.h"
#include "device/device.h"
#include "device/gpu_clock.h"
#include "stream/cycles.h"
#include "stream/stream.h"

namespace gpo {

namespace {

constexpr size_t kAttributionBytes = 4096;

// Runs an action. It may serialise: not on the scanner.
class Action final : public Errand {
public:
    Action(Context& context, std::function<void(bool)> action)
        : context_(&context), action_(std::move(action)), entry_(context.deferred()) {}
    void run() noexcept override {
        {
            DriverTry scope(*context_);
            action_(scope.entered());
        }
        delete this;
    }

private:
    const Ref<Context> context_;
    const std::function<void(bool)> action_;
    const Deferred::Entry entry_;   // goes before the context may
};

// Called for each pass of a stream. The last mark lets go of it, and then all have passed.
class AllPassed final : public Reached, private Errand {
public:
    AllPassed(Context& context, std::unique_ptr<Action> action, std::vector<Ref<Stream>> streams) noexcept
        : context_(&context), action_(std::move(action)), unmarked_(std::move(streams)) {
        for (const auto& stream : unmarked_) stream->marks().owe();
    }
    void reached(const Outcome&) noexcept override {}
    void mark_all() noexcept {
        retain();
        run();
    }

private:
    ~AllPassed() override { context_->runtime().errands().post(*action_.release()); }

    void run() noexcept override {
        for (; !unmarked_.empty() && !context_->ended(); unmarked_.pop_back()) {
            Stream& stream = *unmarked_.back();
            try {
                stream.mark(Ref<Reached>(this));
            } catch (const std::exception& error) {
                // Where there is only no memory for a mark now, there will be: the action never runs too early.
                if (is_passing(error)) {
                    context_->runtime().errands().post(*this, host::now() + Errands::kTryAgain);
                    return;
                }
                DriverTry scope(*context_);
                if (scope.entered() && !stream.gone()) context_->table().cuStreamSynchronize(stream.native());
            }
            stream.marks().pay();
        }
        release();
    }

    const Ref<Context> context_;
    std::unique_ptr<Action> action_;
    std::vector<Ref<Stream>> unmarked_;
};

}  // namespace

Context::Context(Runtime& runtime, int native_ordinal, CUcontext foreign)
    : runtime_(runtime), driver_(runtime.shared_driver()), table_(driver_->table), software_(driver_->software),
      ordinal_(native_ordinal) {
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
        scanner_ = std::make_unique<Scanner>(*this);
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
    fail(GPO_INVALID_ARGUMENT, "options.native_context is a context of another device than the driver's number ", native_ordinal);
}

Context::~Context() {
    if (host::forked()) return;
    phase_.store(Phase::ended, std::memory_order_release);
    scanner_.reset();
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

void Context::begin_end() noexcept { phase_.store(Phase::ending, std::memory_order_release); }

void Context::finish() noexcept {
    {
        std::lock_guard lock(idle_lock_);
        hidden_streams_.clear();
    }
    scanner_->stop();
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
            check(result, "cuMemHostRegister");
        }
        attribution_words_ = static_cast<uint32_t*>(page);
    }
    if (!attribution_address_) {
        std::vector<uint16_t> all(kAttributionBytes / 8);
        std::iota(all.begin(), all.end(), uint16_t{0});
        check(table_.cuMemHostGetDevicePointer(&attribution_address_, attribution_words_, 0), "cuMemHostGetDevicePointer");
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

Ref<Stream> Context::idle_stream() {
    {
        std::lock_guard lock(idle_lock_);
        std::erase_if(hidden_streams_, [](const auto& stream) { return stream->failure() && !stream->marks().any(); });
        for (const auto& stream : hidden_streams_)
            if (stream->claim_if_idle()) return stream;
    }
    gpo_stream_options options{};
    options.struct_size = sizeof options;
    options.label = "watch";
    auto made = make<Stream>(Ref<Context>(this), nullptr, options);
    static_cast<void>(made->claim_if_idle());
    std::lock_guard lock(idle_lock_);
    hidden_streams_.push_back(made);
    return made;
}

ErrorPtr Context::error_of(CUresult result, const char* function) noexcept {
    ErrorPtr out;
    try {
        const char *name = nullptr, *description = nullptr;
        table_.cuGetErrorName(result, &name);
        table_.cuGetErrorString(result, &description);
        auto error = std::make_shared<Error>();
        error->status = status_of(result);
        error->native_code = result;
        error->native_domain = GPO_NATIVE_CUDA;
        error->function = function;
        error->message = text(function, ": ", description ? description : "unknown error", " (", name ? name : "?", ", ",
                              static_cast<int>(result), ")");
        out = std::move(error);
    } catch (const std::bad_alloc&) {
        out = bare_error(status_of(result));
    }
    if (!is_sticky(result)) return out;
    lose(out, result != CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return loss();
}

void Context::fail_call(CUresult result, const char* function) {
    throw Failure(error_of(result, function));
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
    if (phase_.load(std::memory_order_acquire) != Phase::open) return;  // nothing of it is left to be told
    scanner_->wake();
    // It takes submit locks and calls the driver, so it is done elsewhere.
    aftermath_.crashed = crashed;
    retain();
    runtime_->errands().post(aftermath_);
}

void Context::Aftermath::run() noexcept {
    const Ref<Context> context = Ref<Context>::adopt(&context_);
    std::vector<Ref<Stream>> streams;
    {
        std::lock_guard lock(context->streams_lock_);
        streams.swap(context->last_streams_);   // no memory is needed: see add_stream
        for (Stream* stream : context->streams_)
            if (stream->try_retain()) streams.push_back(Ref<Stream>::adopt(stream));
    }
    for (const auto& stream : streams) stream->held().flush();
    if (crashed) Contexts::of(context->runtime()).probe();
}

void Context::look_for_cycles() noexcept {
    if (runtime_->shutting_down() || cycle_search_.posted.exchange(true, std::memory_order_seq_cst)) return;
    retain();
    runtime_->errands().post(cycle_search_);
}

void Context::CycleSearch::run() noexcept {
    const Ref<Context> context = Ref<Context>::adopt(&context_);
    posted.store(false, std::memory_order_seq_cst);   // what changes from here on is looked at once more
    if (fail_unbreakable_cycles(context->runtime())) return;
    if (posted.exchange(true, std::memory_order_seq_cst)) return;
    context->retain();
    context->runtime().errands().post(*this, host::now() + Errands::kTryAgain);
}

void Context::probe() noexcept {
    DriverTry scope(*this);
    if (!scope.entered()) return;
    size_t free_now = 0, total = 0;
    const CUresult result = table_.cuMemGetInfo(&free_now, &total);
    if (is_sticky(result)) error_of(result, "cuMemGetInfo");
}

bool Context::found_dead() noexcept {
    if (!lost()) error_of(CUDA_ERROR_CONTEXT_IS_DESTROYED, "cuCtxGetId");
    return false;
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
    // The first few streams make a batch each; from then on events go round.
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

void Context::add_stream(Stream& stream) {
    std::lock_guard lock(streams_lock_);
    if (!lost() && last_streams_.capacity() <= streams_.size()) last_streams_.reserve(2 * streams_.size() + 16);
    streams_.push_back(&stream);
}

void Context::remove_stream(Stream& stream) noexcept {
    std::lock_guard lock(streams_lock_);
    std::erase(streams_, &stream);
    stream.add_counters(past_);
}

std::vector<Ref<Stream>> Context::streams() const {
    std::vector<Ref<Stream>> out;
    std::lock_guard lock(streams_lock_);
    out.reserve(streams_.size());
    for (Stream* stream : streams_)
        if (stream->try_retain()) out.push_back(Ref<Stream>::adopt(stream));
    return out;
}

// In the order of their addresses.
template <class Wanted, class Visit>
bool Context::each_stream(Wanted wanted, Visit visit) noexcept {
    for (const Stream* last = nullptr;;) {
        Ref<Stream> found;
        {
            std::lock_guard hidden_lock(idle_lock_);
            std::lock_guard lock(streams_lock_);
            Stream* next = nullptr;
            const auto look_at = [&](Stream* stream) {
                if (std::less<>()(last, stream) && (!next || std::less<>()(stream, next)) && wanted(*stream)) next = stream;
            };
            for (Stream* stream : streams_) look_at(stream);
            for (const auto& stream : hidden_streams_) look_at(stream.get());
            if (!next) return true;
            if (next->try_retain()) found = Ref<Stream>::adopt(next);
            last = next;
        }
        if (found && !visit(*found)) return false;
    }
}

void Context::cancel_held() noexcept {
    each_stream([](Stream& stream) { return stream.held().any(); },
                [](Stream& stream) {
                    stream.held().cancel();
                    return true;
                });
}

bool Context::drain_marks(uint64_t deadline) noexcept {
    return each_stream([](Stream& stream) { return stream.marks().any(); },
                       [=](Stream& stream) { return stream.marks().drain(deadline); });
}

// Whoever marked it last let go of it after that; and nobody takes a reference out of streams_ meanwhile.
bool Context::claim_unused(Stream& stream) noexcept {
    std::lock_guard lock(streams_lock_);
    return stream.only() && !stream.marks().any() && stream.claim_if_only();
}

void Context::add_stream_counters(gpo_statistics& statistics) const {
    std::lock_guard lock(streams_lock_);
    statistics.launches += past_.launches;
    statistics.copies += past_.copies;
    statistics.copied_bytes += past_.copied_bytes;
    statistics.fills += past_.fills;
    statistics.notifies += past_.notifies;
    statistics.legacy_stream_uses += past_.legacy_stream_uses;
    for (const Stream* stream : streams_) stream->add_counters(statistics);
}

void Context::when_streams_pass(std::function<void(bool)> action) {
    // May throw: before there is anything that would run the action. In a context that has ended all streams have passed.
    auto all = ended() ? std::vector<Ref<Stream>>() : streams();
    auto errand = std::make_unique<Action>(*this, std::move(action));
    make<AllPassed>(*this, std::move(errand), std::move(all))->mark_all();
}

DriverScope::DriverScope(Context& context, Calls calls)
    : table_(context.table_), outer_mode_(CU_STREAM_CAPTURE_MODE_RELAXED), calls_(calls), pushed_(enter(context, nullptr)) {
    if (calls_ == Calls::any) table_.cuThreadExchangeStreamCaptureMode(&outer_mode_);
}

bool DriverScope::enter(Context& context, std::atomic<bool>* was_current) {
    if (!context.alive()) throw Failure(context.loss());
    CUcontext current = nullptr;
    context.table_.cuCtxGetCurrent(&current);
    const bool is_current = current == context.native_;
    if (was_current && was_current->load(std::memory_order_relaxed) != is_current)
        was_current->store(is_current, std::memory_order_relaxed);
    if (!is_current) context.check(context.table_.cuCtxPushCurrent(context.native_), "cuCtxPushCurrent");
    return !is_current;
}

DriverTry::DriverTry(Context& context) noexcept : table_(context.table()), outer_mode_(CU_STREAM_CAPTURE_MODE_RELAXED) {
    if (host::forked() || !context.alive()) return;
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
