#include "softgpu/machine/engine.h"

#include <algorithm>

#include "base/checked.h"
#include "softgpu/machine/batch.h"
#include "softgpu/machine/machine.h"

namespace gpo::softgpu {

namespace {

thread_local bool t_in_host_function = false;

constexpr uint64_t kWatchPeriod = 20'000;   // ns between two looks at the values that streams wait for

}  // namespace

bool in_host_function() noexcept { return t_in_host_function; }

Engine::Engine(Machine& machine, const char* name, Perform perform)
    : machine_(machine), perform_(perform), thread_(name, [this] { run(); }) {}

Engine::~Engine() {
    {
        host::Lock hold(machine_.lock);
        stopping_ = true;
        word_.fetch_add(1, std::memory_order_release);
    }
    wake();
    thread_.join();
}

bool Engine::push(Command& command) noexcept {
    command.next = nullptr;
    (tail_ ? tail_->next : head_) = &command;
    tail_ = &command;
    if (!parked_) return false;
    parked_ = false;
    word_.fetch_add(1, std::memory_order_release);
    return true;
}

void Engine::run() {
    host::Lock hold(machine_.lock);
    for (;;) {
        while (!head_) {
            if (stopping_) return;
            parked_ = true;
            const uint32_t seen = word_.load(std::memory_order_acquire);
            hold.unlock();
            host::wait(word_, seen);
            hold.lock();
        }
        parked_ = false;
        Command& command = *head_;
        head_ = command.next;
        if (!head_) tail_ = nullptr;
        const bool lost = machine_.closing() || machine_.fault_code.load(std::memory_order_relaxed);
        hold.unlock();
        const CUresult result = lost ? CUDA_SUCCESS : perform_(machine_, command);
        machine_.finish(command, result, "stream-ordered memory was used before its allocation or after its free");
        hold.lock();
    }
}

Clock::Clock(Machine& machine) : machine_(machine), thread_("gpo-soft-clock", [this] { run(); }) {}

Clock::~Clock() {
    {
        host::Lock hold(machine_.lock);
        stopping_ = true;
        word_.fetch_add(1, std::memory_order_release);
    }
    wake();
    thread_.join();
}

bool Clock::at_due_time(Command& command) noexcept {
    Command** at = &timed_;
    while (*at && (*at)->due <= command.due) at = &(*at)->next;
    command.next = *at;
    *at = &command;
    word_.fetch_add(1, std::memory_order_release);
    return at == &timed_;
}

bool Clock::when_value_holds(Command& command) noexcept {
    const bool first = !watched_;
    command.next = watched_;
    watched_ = &command;
    word_.fetch_add(1, std::memory_order_release);
    return first;
}

Command* Clock::take_watched(const Context* only) noexcept {
    Command* taken = nullptr;
    for (Command** at = &watched_; *at;) {
        Command* command = *at;
        if (only && command->stream->context != only) {
            at = &command->next;
            continue;
        }
        *at = command->next;
        command->next = taken;
        taken = command;
    }
    return taken;
}

Command* Clock::take_finished(uint64_t now) noexcept {
    if (timed_ && timed_->due <= now) {
        Command* command = timed_;
        timed_ = command->next;
        return command;
    }
    for (Command** at = &watched_; *at; at = &(*at)->next)
        if (value_holds(**at)) {
            Command* command = *at;
            *at = command->next;
            return command;
        }
    return nullptr;
}

void Clock::run() {
    host::Lock hold(machine_.lock);
    for (;;) {
        const uint64_t now = host::now();
        if (Command* command = take_finished(now)) {
            hold.unlock();
            machine_.finish(*command, CUDA_SUCCESS, "");
            hold.lock();
            continue;
        }
        if (stopping_) return;
        uint64_t deadline = timed_ ? timed_->due : host::kForever;
        if (watched_) deadline = std::min(deadline, now + kWatchPeriod);
        const uint32_t seen = word_.load(std::memory_order_acquire);
        hold.unlock();
        host::wait(word_, seen, deadline);
        hold.lock();
    }
}

bool value_holds(const Command& command) noexcept {
    const uint32_t value = __atomic_load_n(reinterpret_cast<const uint32_t*>(command.address), __ATOMIC_ACQUIRE);
    switch (command.flags & 3) {
        case CU_STREAM_WAIT_VALUE_GEQ: return int32_t(value - command.value) >= 0;
        case CU_STREAM_WAIT_VALUE_EQ: return value == command.value;
        case CU_STREAM_WAIT_VALUE_AND: return (value & command.value) != 0;
        default: return ~(value | command.value) != 0;
    }
}

namespace {

/// False if the range is stream-ordered memory that is not yet allocated or already freed.
bool still_there(Machine& machine, uint64_t address, uint64_t bytes) {
    if (!machine.memory.device_range(address)) return true;
    const Place place = machine.memory.find_reached(address);
    if (!place.ordered) return true;
    host::Lock hold(machine.memory.lock);
    return place.pool->live(address, bytes);
}

bool ends_there(Machine& machine, const Copy& copy) {
    if (!copy.check) return true;
    uint64_t to = 0, from = 0;
    span_of_rows(copy.destination_pitch, copy.width, copy.height, &to);
    span_of_rows(copy.source_pitch, copy.width, copy.height, &from);
    return still_there(machine, copy.destination, to) && still_there(machine, copy.source, from);
}

uint64_t nanoseconds(double amount, double per_second) {
    return per_second > 0 ? uint64_t(amount / per_second * 1e9 + 0.5) : 0;
}

}  // namespace

CUresult perform_copy(Machine& machine, Command& command) {
    const bool rated = machine.rated.load(std::memory_order_acquire);
    const uint64_t begin = rated ? host::now() : 0;
    uint64_t bytes = 0;
    EngineKind engine = EngineKind::local;
    if (command.kind == CommandKind::conditional) return CUDA_SUCCESS;   // a turn of a loop
    if (command.kind == CommandKind::fill) {
        uint64_t span = 0;
        span_of_rows(command.fill.pitch, command.fill.width * command.fill.element, command.fill.height, &span);
        if (command.fill.check && !still_there(machine, command.fill.destination, span))
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        command.fill.perform();
        bytes = command.fill.bytes();
    } else {
        engine = command.copy.engine;
        if (command.pieces.empty()) {
            if (!ends_there(machine, command.copy)) return CUDA_ERROR_ILLEGAL_ADDRESS;
            command.copy.perform();
            bytes = command.copy.bytes();
        }
        for (const Copy& piece : command.pieces) {
            if (!ends_there(machine, piece)) return CUDA_ERROR_ILLEGAL_ADDRESS;
            piece.perform();
            bytes += piece.bytes();
        }
    }
    if (rated) {
        Rates rates;
        {
            host::Lock hold(machine.lock);
            rates = machine.rates;
        }
        const double rate = engine == EngineKind::in    ? rates.h2d_bytes_per_s
                            : engine == EngineKind::out ? rates.d2h_bytes_per_s
                                                        : rates.d2d_bytes_per_s;
        const uint64_t busy = nanoseconds(double(bytes), rate) + rates.copy_launch_ns;
        if (busy) host::sleep_until(begin + busy);
    }
    return CUDA_SUCCESS;
}

CUresult perform_host_call(Machine&, Command& command) {
    t_in_host_function = true;
    command.host_function(command.user_data);
    t_in_host_function = false;
    return CUDA_SUCCESS;
}

}  // namespace gpo::softgpu
