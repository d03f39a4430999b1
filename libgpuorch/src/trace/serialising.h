// Serialising calls: calls that make the device or the driver wait for other work. Each is counted, and recorded while
// a trace runs.
#pragma once

#include "core/runtime.h"
#include "trace/record.h"

namespace gpo {

enum class Serialising : uint8_t { device_allocation, host_registration, pageable_copy, module_load };

/// Reports a serialising call. `begin`: when the call began, by host::now(); 0 if unknown.
void serialised(Runtime& runtime, Serialising what, uint64_t bytes = 0, uint64_t begin = 0) noexcept;

/// Reports the serialising call inside its scope.
class SerialisingScope {
public:
    SerialisingScope(Runtime& runtime, Serialising what) noexcept
        : runtime_(runtime), what_(what), begin_(trace::on() ? host::now() : 0) {}
    ~SerialisingScope() { serialised(runtime_, what_, 0, begin_); }
    SerialisingScope(const SerialisingScope&) = delete;
    SerialisingScope& operator=(const SerialisingScope&) = delete;

private:
    Runtime& runtime_;
    const Serialising what_;
    const uint64_t begin_;
};

}  // namespace gpo
