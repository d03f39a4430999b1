#include "core/runtime.h"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/environment.h"
#include "core/host_node.h"
#include "core/struct_options.h"

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
        if (driver == "any" || number.empty() || error != std::errc() || end != number.data() + number.size() ||
            parsed.only < 0)
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

constinit std::atomic<Runtime::LogCaller> g_log_caller{nullptr};

thread_local const Runtime::CallbackScope* t_callback = nullptr;  // the calling thread's innermost scope

}  // namespace

Runtime::Runtime(const gpo_runtime_options& options)
    : Object(*this, Type::runtime), options_(options), table_(nullptr) {
    refuse_unknown_flags(options.flags, GPO_RUNTIME_QUIET_FALLBACK, "options.flags");
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
                fail(GPO_INVALID_ARGUMENT, "options.schedule_seed needs the software GPU, and device is `",
                     device_choice_, "`");
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
        retain();   // for all uses
    } catch (...) {
        if (schedule_) g_deterministic = false;
        schedule_.reset();
        table_->release();
        g_runtimes.fetch_sub(1);
        throw;
    }
}

void Runtime::release_handle() noexcept {
    end_use();
    release();
}

void Runtime::end() noexcept {
    for (auto& annex : annexes_) delete annex.exchange(nullptr);
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

void Runtime::refuse_in_host_function() const {
    const driver::Driver* const driver = driver_ready_.load(std::memory_order_acquire);
    CUcontext current = nullptr;
    if (driver && driver->table.cuCtxGetCurrent(&current) == CUDA_ERROR_NOT_PERMITTED)
        fail(GPO_WOULD_DEADLOCK, kCalledInHostFunction);
}

// The software GPU replaces CUDA only if CUDA is absent. If CUDA is broken, opening fails: otherwise the program would
// be slow without a visible reason.
std::shared_ptr<driver::Driver> Runtime::open_chosen_driver(bool cuda, bool soft, bool* stands_in) {
    bool absent = true;
    std::shared_ptr<driver::Driver> opened;
    if (cuda) opened = driver::open_cuda(&reason_, &absent);
    if (opened) return opened;
    const std::string why = cuda ? text("CUDA can't be used: ", reason_) : "";
    if (!soft) fail(GPO_NO_DEVICE, why);
    if (!absent)
        fail(GPO_NO_DEVICE, why,
             driver::has_soft() ? "; the software GPU stands in only where there is no NVIDIA GPU and no driver, or if "
                                  "it is asked for (GPUORCH_DEVICE=soft)"
                                : "");
    std::string soft_why;
    opened = driver::open_soft(&soft_why);
    if (!opened) fail(GPO_NO_DEVICE, why, cuda ? "; " : "", "the software GPU can't be used: ", soft_why);
    *stands_in = cuda;
    return opened;
}

// Prints the fallback on stderr once per process, unless the program or the user has declared it as known.
void Runtime::report_fallback() noexcept {
    static constinit std::atomic<bool> reported{false};
    const bool known = (options_.flags & GPO_RUNTIME_QUIET_FALLBACK) || environment::flag("GPUORCH_QUIET_FALLBACK");
    FixedText<512> line;
    line.append("there is no NVIDIA GPU here, and the software GPU stands in: ").append(reason_);
    if (known || reported.exchange(true)) log(GPO_LOG_INFO, line);
    else log_and_print(GPO_LOG_WARNING, line.c_str());
}

void Runtime::open_driver() {
    bool stands_in = false;   // the software GPU for CUDA
    {
        std::lock_guard lock(driver_lock_);
        if (driver_) return;
        const DeviceChoice choice = parse_device(device_choice_);
        std::shared_ptr<driver::Driver> opened =
            driver::interpose(open_chosen_driver(choice.cuda, choice.soft, &stands_in));
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
    log(GPO_LOG_DEBUG, "driver: ", driver_->name, ", version ", driver_->version, ", ",
        ordinals_.size(), ordinals_.size() == 1 ? " device" : " devices");
    if (stands_in) report_fallback();
}

// Sequentially consistent: either the thread that begins a shutdown finds the new annex, or the maker of the annex sees
// the shutdown.
Annex& Runtime::add_annex(Annex::Slot slot, std::unique_ptr<Annex> made) noexcept {
    Annex* first = nullptr;
    auto& place = annexes_[static_cast<size_t>(slot)];
    return place.compare_exchange_strong(first, made.get(), std::memory_order_seq_cst) ? *made.release() : *first;
}

std::string_view Runtime::cut_label(std::string_view label) noexcept {
    if (label.size() <= 63) return label;
    size_t kept = 63;
    while (kept > 0 && (static_cast<unsigned char>(label[kept]) & 0xC0) == 0x80) --kept;  // not inside a character
    return label.substr(0, kept);
}

const char* Runtime::intern(std::string_view label) {
    label = cut_label(label);
    std::lock_guard lock(labels_lock_);
    auto found = labels_.find(label);
    if (found == labels_.end()) found = labels_.emplace(label).first;
    return found->c_str();
}

void Runtime::log_and_print(int32_t level, const char* line) noexcept {
    if (options_.log != log_to_stderr || level > options_.log_level) log_to_stderr(nullptr, level, line);
    log(level, line);
}

void Runtime::report_mistakes() noexcept {
    static constinit std::atomic<bool> reported{false};
    if (reported.exchange(true)) return;
    try {
        for (const std::string& mistake : environment::mistakes()) log_and_print(GPO_LOG_WARNING, mistake.c_str());
    } catch (const std::bad_alloc&) {
        // Without memory the mistakes aren't reported. The values are ignored in any case.
    }
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
    const LogLine whole{options_.log, options_.log_user, level, line};
    try {
        if (const LogCaller caller = g_log_caller.load(std::memory_order_acquire)) caller(*this, whole);
        else whole.call();
    } catch (...) {
        // A log function that throws has no caller to report to.
    }
}

void Runtime::set_log_caller(LogCaller caller) noexcept { g_log_caller.store(caller, std::memory_order_release); }

gpo_statistics Runtime::own_statistics() const {
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
    return out;
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

void Runtime::report_leaks() {
    FixedText<2048> list;   // shutting down must not need memory
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
    table_->seal();   // objects being created now are refused, or closed with the others
    table_->close_all();
    // Calls in progress pin their objects. stop() has made waiting calls return, so wait until the pins are released.
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

gpo_status Runtime::begin_turn(uint64_t deadline) {
    if (in_callback_of(this)) fail(GPO_WOULD_DEADLOCK, "a callback of the runtime can't shut it down");
    if (schedule_ && !schedule_->made_here())
        fail(GPO_INVALID_STATE, "a deterministic runtime is shut down by the thread that created it");
    host::Lock lock(shutdown_lock_);
    if (!shutdown_passed_on_.wait(lock, deadline, [this] { return !being_shut_down_; })) return GPO_TIMEOUT;
    if (shut_down_) return GPO_INVALID_HANDLE;
    being_shut_down_ = true;
    return GPO_SUCCESS;
}

void Runtime::end_turn(bool shut_down) noexcept {
    std::lock_guard lock(shutdown_lock_);
    being_shut_down_ = false;
    shut_down_ = shut_down;
    shutdown_passed_on_.notify_all();
}

void Runtime::stop_objects() {
    shutting_down_.store(true, std::memory_order_seq_cst);
    for_each([](Object& object) { object.stop(); });
}

bool Runtime::end_lingering(uint64_t deadline) noexcept {
    while (lingering_.load(std::memory_order_seq_cst) != 0) {
        if (host::now() >= deadline) return false;
        host::sleep_until(std::min(deadline, host::now() + 100'000));
    }
    return true;
}

void Runtime::end_handles() {
    for_each([](Object& object) { object.runtime_ended(); });    // all pending entries are in their queues
    handle::destroy(handle_, Type::runtime);
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
