#include "core/runtime.h"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/environment.h"
#include "completion/scanner.h"
#include "core/options.h"
#include "device/context.h"
#include "trace/recorder.h"

namespace gpo {

namespace {

struct DeviceChoice {
    bool cuda = true, soft = true;
    int only = -1;
};

DeviceChoice parse_device(std::string_view choice) {
    const std::string_view driver = choice.substr(0, choice.find(':'));
    DeviceChoice parsed;
    if (driver == "cuda")
        parsed.soft = false;
    else if (driver == "soft")
        parsed.cuda = false;
    else if (driver != "any")
        fail(GPO_INVALID_ARGUMENT, "device `", choice, "` is none of any, soft, cuda, soft:N, cuda:N");
    if (driver.size() < choice.size()) {
        const std::string_view number = choice.substr(driver.size() + 1);
        auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), parsed.only);
        if (driver == "any" || number.empty() || error != std::errc() || end != number.data() + number.size() || parsed.only < 0)
            fail(GPO_INVALID_ARGUMENT, "device `", choice, "` is none of any, soft, cuda, soft:N, cuda:N");
    }
    return parsed;
}

int32_t log_level_of_environment() noexcept {
    const char* name = environment::get("GPUORCH_LOG");
    if (!name) return 0;
    constexpr const char* kNames[] = {"error", "warning", "info", "debug"};
    for (int32_t i = 0; i < 4; ++i)
        if (std::strcmp(name, kNames[i]) == 0) return i + 1;
    return GPO_LOG_WARNING;
}

std::string default_cache() {
    if (const char* folder = environment::get("GPUORCH_CACHE")) return folder;
    if (const char* base = environment::get("XDG_CACHE_HOME"); base && *base == '/') return text(base, "/gpuorch");
    if (const char* home = environment::get("HOME"); home && *home == '/') return text(home, "/.cache/gpuorch");
    return {};
}

void log_to_stderr(void*, int32_t level, const char* line) {
    constexpr const char* kNames[] = {"", "error", "warning", "info", "debug"};
    std::fprintf(stderr, "gpuorch %s: %s\n", kNames[std::clamp(level, int32_t{0}, int32_t{4})], line);
}

std::atomic<uint32_t> g_runtimes{0};           // alive in this process
std::atomic<uint32_t> g_created{0};            // ever
std::atomic<bool> g_deterministic{false};      // one of them is deterministic

thread_local const Runtime::CallbackScope* t_callback = nullptr;  // the innermost that the calling thread is in

}  // namespace

Runtime::Runtime(const gpo_runtime_options& options) : Object(*this, Type::runtime), options_(options), table_(nullptr) {
    refuse_unknown_flags(options.flags, 0, "options.flags");
    if (options.completion_mode > GPO_COMPLETION_LATENCY)
        fail(GPO_INVALID_ARGUMENT, "options.completion_mode is ", options.completion_mode);
    if (options.log_level < 0 || options.log_level > GPO_LOG_DEBUG)
        fail(GPO_INVALID_ARGUMENT, "options.log_level is ", options.log_level);
    const char* choice = options.device ? options.device : environment::get("GPUORCH_DEVICE");
    device_choice_ = choice && *choice ? choice : "any";
    DeviceChoice parsed = parse_device(device_choice_);
    const int32_t wished = log_level_of_environment();
    if (!options_.log && wished) options_.log = log_to_stderr;
    if (!options_.log_level) options_.log_level = wished ? wished : GPO_LOG_WARNING;
    cache_ = options.cache ? options.cache : default_cache();
    attribute_ = environment::flag("GPUORCH_ATTRIBUTE");

    table_ = handle::Table::acquire();
    lease_ = table_->lease();
    g_runtimes.fetch_add(1);
    try {
        if (options.schedule_seed) {
            if (!parsed.soft)
                fail(GPO_INVALID_ARGUMENT, "options.schedule_seed needs the software GPU, and device is `", device_choice_, "`");
            if (parsed.cuda) device_choice_ = "soft";
            bool free = false;
            if (g_runtimes.load() != 1 || !g_deterministic.compare_exchange_strong(free, true))
                fail(GPO_INVALID_STATE, "a deterministic runtime must be the only one in the process");
            try {
                schedule_ = std::make_unique<host::Schedule>(options.schedule_seed);
            } catch (const std::logic_error& error) {  // a schedule is in force, or threads of the library run
                g_deterministic = false;
                fail(GPO_INVALID_STATE, error.what());
            } catch (...) {
                g_deterministic = false;
                throw;
            }
        } else if (g_deterministic.load()) {
            fail(GPO_INVALID_STATE, "a deterministic runtime is the only one that the process may have");
        }
        if (options.label) set_label(options.label);
        handle_ = table_->insert(*this);
        number_ = g_created.fetch_add(1) + 1;
        retain();   // for all who use it
    } catch (...) {
        if (schedule_) g_deterministic = false;
        schedule_.reset();
        table_->release();
        g_runtimes.fetch_sub(1);
        throw;
    }
}

void Runtime::let_go() noexcept {
    end_use();
    release();
}

void Runtime::end() noexcept {
    delete recorder_.exchange(nullptr);
    delete annex_.exchange(nullptr);
    table_->release();
    driver_ready_.store(nullptr);
    driver_.reset();
    if (schedule_) {
        schedule_.reset();
        g_deterministic = false;
    }
    g_runtimes.fetch_sub(1);
    release();
}

uint64_t Runtime::insert(Object& object) {
    if (shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
    return table_->insert(object);
}

driver::Driver& Runtime::driver() {
    driver::Driver* ready = driver_ready_.load(std::memory_order_acquire);
    if (!ready) {
        if (shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
        open_driver();
        ready = driver_ready_.load(std::memory_order_acquire);
    }
    return *ready;
}

std::shared_ptr<driver::Driver> Runtime::shared_driver() {
    driver();
    return driver_;
}

void Runtime::open_driver() {
    bool chosen = false;   // in place of CUDA
    {
        std::lock_guard lock(driver_lock_);
        if (driver_) return;
        const DeviceChoice choice = parse_device(device_choice_);
        std::string why;
        std::shared_ptr<driver::Driver> opened;
        if (choice.cuda) opened = driver::open_cuda(&why);
        reason_ = why;
        if (!opened && !choice.soft) fail(GPO_NO_DEVICE, "CUDA can't be used: ", why);
        if (!opened) {
            std::string soft_why;
            opened = driver::open_soft(&soft_why);
            if (!opened) fail(GPO_NO_DEVICE, "the software GPU can't be used: ", soft_why);
            chosen = choice.cuda;
        }
        opened = driver::interpose(std::move(opened));
        int count = 0;
        if (opened->table.cuDeviceGetCount(&count) != CUDA_SUCCESS) count = 0;
        std::vector<int> ordinals;
        if (choice.only >= 0) {
            if (choice.only >= count)
                fail(GPO_NO_DEVICE, "device `", device_choice_, "` isn't there: the driver has ", count, " devices");
            ordinals.push_back(choice.only);
        } else {
            for (int i = 0; i < count; ++i) ordinals.push_back(i);
        }
        ordinals_ = std::move(ordinals);
        driver_ = std::move(opened);
        driver_ready_.store(driver_.get(), std::memory_order_release);
    }
    if (chosen) log(GPO_LOG_INFO, "the software GPU is used: CUDA can't be: ", reason_);
}

Ref<Context> Runtime::context(int native_ordinal, CUcontext foreign) {
    const auto key = std::make_pair(foreign ? -1 : native_ordinal, foreign);
    {
        std::lock_guard lock(contexts_lock_);
        if (shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
        // One that was lost stays lost, for as long as the runtime lives.
        if (auto found = contexts_.find(key); found != contexts_.end()) {
            if (found->second->ordinal() != native_ordinal) Context::refuse_ordinal(native_ordinal);
            return found->second;
        }
    }
    auto made = make<Context>(*this, native_ordinal, foreign);  // calls the driver: not under the lock
    Ref<Context> kept;
    bool inserted = false;
    {
        std::lock_guard lock(contexts_lock_);
        if (shutting_down()) fail(GPO_SHUT_DOWN, "the runtime is shutting down");
        auto [place, added] = contexts_.try_emplace(key, std::move(made));
        kept = place->second;
        inserted = added;
    }
    if (trace::Recorder* tracer = recorder(); inserted && tracer && tracer->running()) tracer->add_context(*kept);
    return kept;
}

trace::Recorder& Runtime::make_recorder() {
    if (trace::Recorder* ready = recorder()) return *ready;
    auto made = std::make_unique<trace::Recorder>(*this);
    trace::Recorder* first = nullptr;
    if (!recorder_.compare_exchange_strong(first, made.get(), std::memory_order_seq_cst)) return *first;
    return *made.release();
}

void Runtime::serialised(Serialising what, uint64_t bytes, uint64_t begin) noexcept {
    struct Kind { std::atomic<uint64_t>& counter; const char* name; };
    const Kind kinds[] = {{counters.device_allocations, "device allocation"},
                          {counters.host_registrations, "host registration"},
                          {counters.pageable_copies, "pageable copy"},
                          {counters.module_loads, "module load"}};
    const Kind& kind = kinds[static_cast<size_t>(what)];
    kind.counter.fetch_add(1, std::memory_order_relaxed);
    trace::serialising(*this, kind.name, bytes, begin);
}

Runtime::SerialisingScope::SerialisingScope(Runtime& runtime, Serialising what) noexcept
    : runtime_(runtime), what_(what), begin_(trace::on() ? host::now() : 0) {}

Annex& Runtime::add_annex(Annex* (*make)(Runtime&)) {
    std::unique_ptr<Annex> made(make(*this));
    Annex* first = nullptr;
    if (!annex_.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)) return *first;
    return *made.release();
}

const char* Runtime::intern(std::string_view label) {
    if (label.size() > 63) {
        size_t kept = 63;
        while (kept > 0 && (static_cast<unsigned char>(label[kept]) & 0xC0) == 0x80) --kept;  // not inside a character
        label = label.substr(0, kept);
    }
    std::lock_guard lock(labels_lock_);
    auto found = labels_.find(label);
    if (found == labels_.end()) found = labels_.emplace(label).first;
    return found->c_str();
}

void Runtime::tell_user(int32_t level, const char* line) noexcept {
    if (options_.log != log_to_stderr || level > options_.log_level) log_to_stderr(nullptr, level, line);
    log(level, line);
}

void Runtime::write_log(int32_t level, const char* line) noexcept {
    if (log_routed_.load(std::memory_order_acquire)) [[unlikely]] {
        Ref<LogRoute> route;
        {
            std::lock_guard lock(log_route_lock_);
            route = log_route_;
        }
        if (route && route->line(level, line)) return;
    }
    call_log(level, line);
}

void Runtime::set_log_route(Ref<LogRoute> route) noexcept {
    {
        std::lock_guard lock(log_route_lock_);
        std::swap(log_route_, route);
    }
    log_routed_.store(true, std::memory_order_release);
}

void Runtime::call_log(int32_t level, const char* line) noexcept {
    CallbackScope scope(*this, nullptr);
    const trace::CallbackSpan span(*this, "log function");
    try {
        options_.log(options_.log_user, level, line);
    } catch (...) {
        // A log function that throws has nobody to report to.
    }
}

gpo_statistics Runtime::statistics() {
    gpo_statistics out{};
    const auto read = [](const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
    const uint32_t live = table_->live();
    out.live_objects = live > 0 ? live - 1 : 0;  // not the runtime itself
    out.launches = read(counters.launches);
    out.copies = read(counters.copies);
    out.copied_bytes = read(counters.copied_bytes);
    out.fills = read(counters.fills);
    out.notifies = read(counters.notifies);
    for (const auto& counter : counters.latencies) out.completions += read(counter);
    out.failures = read(counters.failures);
    out.holds = read(counters.holds);
    out.device_allocations = read(counters.device_allocations);
    out.host_registrations = read(counters.host_registrations);
    out.pageable_copies = read(counters.pageable_copies);
    out.pageable_bytes = read(counters.pageable_bytes);
    out.legacy_stream_uses = read(counters.legacy_stream_uses);
    out.module_loads = read(counters.module_loads);
    ContextKey key;
    for (auto context = next_context(key, true); context; context = next_context(key, false))
        context->add_stream_counters(out);
    return out;
}

std::vector<Ref<Context>> Runtime::contexts() {
    std::vector<Ref<Context>> out;
    std::lock_guard lock(contexts_lock_);
    for (const auto& [key, context] : contexts_) out.push_back(context);
    return out;
}

// One after the other where a list would need memory; the lock is not held over driver calls.
Ref<Context> Runtime::next_context(ContextKey& key, bool first) noexcept {
    std::lock_guard lock(contexts_lock_);
    const auto found = first ? contexts_.begin() : contexts_.upper_bound(key);
    if (found == contexts_.end()) return nullptr;
    key = found->first;
    return found->second;
}

void Runtime::probe_contexts() noexcept {
    ContextKey key;
    for (auto context = next_context(key, true); context; context = next_context(key, false)) context->probe();
}

bool Runtime::drain_objects(uint64_t deadline) noexcept {
    bool drained = true;
    try {
        for_each([&](Object& object) {
            if (&object != this && !object.drain(deadline)) drained = false;
        });
    } catch (...) {
        drained = false;
    }
    return drained;
}

// The scanners end when all marks are reached, and wait for that without a deadline. Streams without a handle have one while
// anything runs on them.
bool Runtime::drain_marks(uint64_t deadline) noexcept {
    ContextKey key;
    for (auto context = next_context(key, true); context; context = next_context(key, false))
        if (!context->drain_marks(deadline)) return false;
    return true;
}

void Runtime::report_leaks() {
    FixedText<2048> list;   // shutting down is not to need memory
    uint32_t count = 0;
    for_each([&](Object& object) {
        // A queue may be drained and destroyed later.
        if (&object == this || object.is_part() || handle::outlives_runtime(object.type()) || ++count > 16) return;
        if (count > 1) list.append(", ");
        list.append(object.describe());
        const auto inside = object.leaks();
        if (const std::string_view what = inside; !what.empty()) list.append(" with ").append(what);
    });
    if (count > 16) detail::append(list.append(" and "), count - 16), list.append(" more");
    if (count) log(GPO_LOG_WARNING, "shut down with ", count, " objects that were not destroyed: ", list);
}

bool Runtime::close_objects(uint64_t deadline) noexcept {
    table_->seal();   // what is being created now comes too late, or is closed with the others
    table_->close_all();
    // A call that is inside an object keeps it until it returns; stop() has made those that wait return.
    for (unsigned spins = 0; table_->live_to_close() > 1; ++spins) {
        if (host::now() >= deadline) return false;
        if (spins < 64)
            host::step(spins);
        else
            host::sleep_until(std::min(deadline, host::now() + 100'000));
        table_->close_all();
    }
    return true;
}

gpo_status Runtime::shutdown(uint64_t deadline) {
    if (in_callback_of(this)) fail(GPO_WOULD_DEADLOCK, "a callback of the runtime can't shut it down");
    if (schedule_ && !schedule_->made_here())
        fail(GPO_INVALID_STATE, "a deterministic runtime is shut down by the thread that created it");
    {
        host::Lock lock(shutdown_lock_);
        if (!shutdown_passed_on_.wait(lock, deadline, [this] { return !being_shut_down_; })) return GPO_TIMEOUT;
        if (shut_down_) return GPO_INVALID_HANDLE;
        being_shut_down_ = true;
    }
    struct PassOn {
        ~PassOn() {
            std::lock_guard lock(runtime.shutdown_lock_);
            runtime.being_shut_down_ = false;
            runtime.shut_down_ = done;
            runtime.shutdown_passed_on_.notify_all();
        }
        Runtime& runtime;
        bool done = false;
    } pass_on{*this};
    const gpo_status status = shut_down_alone(deadline);
    pass_on.done = status == GPO_SUCCESS;
    if (!pass_on.done) for_each([](Object& object) { object.shutdown_timed_out(); });
    return status;
}

gpo_status Runtime::shut_down_alone(uint64_t deadline) {
    shutting_down_.store(true, std::memory_order_seq_cst);
    for_each([](Object& object) { object.stop(); });
    // Streams without a handle: one that waits for a signal that is held behind it is let go by nobody else.
    ContextKey key;
    for (auto context = next_context(key, true); context; context = next_context(key, false)) context->cancel_held();
    if (!drain_objects(deadline) || !drain_marks(deadline)) return GPO_TIMEOUT;
    report_leaks();
    set_log_route(nullptr);
    if (!close_objects(deadline)) return GPO_TIMEOUT;
    set_log_route(nullptr);   // that of a call that was inside until now: it would keep the runtime
    while (lingering_.load(std::memory_order_seq_cst) != 0) {
        if (host::now() >= deadline) return GPO_TIMEOUT;
        host::sleep_until(std::min(deadline, host::now() + 100'000));
    }
    if (!drain_marks(deadline)) return GPO_TIMEOUT;   // what was freed with the objects waits for streams
    std::map<ContextKey, Ref<Context>> contexts;
    {
        std::lock_guard contexts_lock(contexts_lock_);
        contexts.swap(contexts_);
    }
    // One that is made after this look is made by a call that sees the shutdown.
    if (trace::Recorder* tracer = recorder_.load(std::memory_order_seq_cst)) tracer->finish();
    // In this order: an errand may mark a stream, which needs the scanner, and a mark that was reached may become an errand.
    // Without their thread errands run on the scanner that finds them due, and that goes on until it finds none.
    for (auto& [key, context] : contexts) context->begin_end();
    errands_.finish();
    for (auto& [key, context] : contexts) context->finish();
    if (Annex* annex = annex_.load(std::memory_order_acquire)) annex->shut_down();
    while (!contexts.empty()) contexts.erase(contexts.begin());  // foreign ones before the primary ones that they may be
    for_each([](Object& object) { object.runtime_ended(); });    // every entry that was owed is in its queue
    handle::destroy(handle_, Type::runtime);
    return GPO_SUCCESS;
}

Runtime::CallbackScope::CallbackScope(Runtime& runtime, const void* owner) noexcept
    : runtime_(&runtime), owner_(owner), outer_(t_callback) {
    t_callback = this;
}

Runtime::CallbackScope::~CallbackScope() {
    t_callback = outer_;
}

bool Runtime::in_callback_of(const void* owner_or_runtime) noexcept {
    for (const CallbackScope* scope = t_callback; scope; scope = scope->outer_)
        if (scope->runtime_ == owner_or_runtime || scope->owner_ == owner_or_runtime) return true;
    return false;
}

}  // namespace gpo
