// open_soft: the process has one software GPU. The first caller creates the software GPU, and the last holder's release
// destroys it.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>

#include "base/environment.h"
#include "driver/functions.h"
#include "softgpu/api/entries.h"
#include "softgpu/compiler/compiler.h"
#include "softgpu/image/builtin.h"
#include "softgpu/machine/batch.h"
#include "softgpu/machine/machine.h"

namespace gpo::softgpu {

namespace {

constinit std::atomic<Machine*> g_machine{nullptr};
constinit host::Mutex g_opening;              // open and close, one at a time
constinit host::Condition g_closed;
constinit uint32_t g_incarnation = 0;
constinit bool g_open = false;                // from the start of an opening to the end of a closing

/// The driver that is open, if one is. Made on first use and never destroyed: threads may still run at exit, and a
/// global with a destructor would need a constructor of the library's. Under g_opening.
std::weak_ptr<driver::Driver>& registered() {
    alignas(std::weak_ptr<driver::Driver>) static constinit std::byte room[sizeof(std::weak_ptr<driver::Driver>)] = {};
    static constinit std::weak_ptr<driver::Driver>* made = nullptr;
    if (!made) made = new (room) std::weak_ptr<driver::Driver>;
    return *made;
}

class SoftDriver final : public driver::Driver {
public:
    SoftDriver(int devices, uint64_t bytes_per_device, bool guard, const Rates& rates, uint32_t incarnation)
        : machine_(std::make_unique<Machine>(devices, bytes_per_device, guard, rates, incarnation)),
          compiler_(make_soft_compiler()) {
        version = CUDA_VERSION;
        name = "soft";
        software = reports_faults = uses_host_cores = has_room = true;
        builtin_image = softgpu::builtin_image();
        condition_image = softgpu::builtin_image();   // it has gpo_decide too
        push_image = softgpu::builtin_image();        // and gpo_push
        combine_image = softgpu::builtin_image();     // and gpo_combine
        fill_error_entries(table);
        fill_device_entries(table);
        fill_context_entries(table);
        fill_stream_entries(table);
        fill_event_entries(table);
        fill_memory_entries(table);
        fill_pool_entries(table);
        fill_copy_entries(table);
        fill_module_entries(table);
        fill_launch_entries(table);
        fill_graph_entries(table);
        fill_node_entries(table);
        fill_conditional_entries(table);
        fill_exec_entries(table);
        driver::hide_later(table, driver::version_cap());
        g_machine.store(machine_.get(), std::memory_order_release);
    }

    ~SoftDriver() override {
        if (host::forked()) {
            // The threads exist only in the parent: nothing can be waited for, so nothing is taken down.
            (void)machine_.release();
            (void)compiler_.release();
            return;
        }
        g_machine.store(nullptr, std::memory_order_release);
        machine_.reset();
        host::Lock hold(g_opening);
        g_open = false;
        g_closed.notify_all();
    }

    driver::Compiler& compiler() override { return *compiler_; }

    std::optional<driver::Fault> fault() override {
        if (host::forked() || !machine_->fault_code.load(std::memory_order_acquire)) return std::nullopt;
        host::Lock hold(machine_->lock);
        return machine_->fault;
    }

    uint64_t submitted(CUstream handle) override {
        if (host::forked()) return 0;
        host::Lock hold(machine_->lock);
        const Stream* stream = machine_->streams.find(handle);
        return stream ? stream->number : 0;
    }

    bool listen(driver::Listener& listener) noexcept override {
        if (host::forked()) return false;
        try {
            host::Lock hold(machine_->lock);
            machine_->listeners.push_back(&listener);
            return true;
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    void ignore(driver::Listener& listener) noexcept override {
        if (host::forked()) return;
        host::Lock hold(machine_->lock);
        std::erase(machine_->listeners, &listener);
    }

private:
    std::unique_ptr<Machine> machine_;
    std::unique_ptr<driver::Compiler> compiler_;
};

/// A whole number in [least, most].
bool read_number(const char* name, uint64_t least, uint64_t most, uint64_t* value, std::string* why) {
    const char* text = environment::get(name);
    if (!text || !*text) return true;
    char* end = nullptr;
    errno = 0;
    const unsigned long long number = std::strtoull(text, &end, 10);
    if (errno || *end || *text == '-' || number < least || number > most) {
        *why = std::string(name) + " is '" + text + "', not a number from " + std::to_string(least) + " to " +
               std::to_string(most);
        return false;
    }
    *value = number;
    return true;
}

std::shared_ptr<driver::Driver> make(std::string* why) {
    uint64_t devices = 1;
    if (!read_number("GPUORCH_SOFT_DEVICES", 1, 64, &devices, why)) return nullptr;
    const uint64_t machine = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGE_SIZE));
    uint64_t bytes = std::max(machine / 2 / devices, uint64_t(64) << 20);
    if (!read_number("GPUORCH_SOFT_MEMORY", uint64_t(2) << 20, uint64_t(1) << 40, &bytes, why)) return nullptr;
    Rates rates;
    if (const char* text = environment::get("GPUORCH_SOFT_RATES")) {
        std::string reason;
        if (!parse_rates(text, &rates, &reason)) {
            *why = "GPUORCH_SOFT_RATES: " + reason;
            return nullptr;
        }
    }
    const bool guarded = Multiprocessors::guard_from_environment();
    return std::make_shared<SoftDriver>(int(devices), bytes, guarded, rates, ++g_incarnation);
}

}  // namespace

Machine* Machine::running() noexcept {
    Machine* machine = g_machine.load(std::memory_order_acquire);
    return machine && !host::forked() ? machine : nullptr;
}

}  // namespace gpo::softgpu

namespace gpo::driver {

bool has_soft() noexcept { return true; }

std::shared_ptr<Driver> open_soft(std::string* why) {
    using namespace softgpu;
    std::string reason;
    std::string& text = why ? *why : reason;
    if (host::forked()) {
        text = "the process was forked after the software GPU was used";
        return nullptr;
    }
    host::Lock hold(g_opening);
    for (;;) {
        if (auto driver = registered().lock()) return driver;
        if (!g_open) break;
        g_closed.wait(hold);   // the last holder's release is destroying the software GPU
    }
    try {
        auto driver = make(&text);
        if (driver) {
            g_open = true;
            registered() = driver;
        }
        return driver;
    } catch (const std::exception& error) {
        text = std::string("the software GPU can't be started: ") + error.what();
        return nullptr;
    }
}

}  // namespace gpo::driver
