#include "trace/serialising.h"

namespace gpo {

void serialised(Runtime& runtime, Serialising what, uint64_t bytes, uint64_t begin) noexcept {
    struct Kind { std::atomic<uint64_t>& counter; const char* name; };
    Counters& counters = runtime.counters;
    const Kind kinds[] = {{counters.device_allocations, "device allocation"},
                          {counters.host_registrations, "host registration"},
                          {counters.pageable_copies, "pageable copy"},
                          {counters.module_loads, "module load"}};
    const Kind& kind = kinds[static_cast<size_t>(what)];
    kind.counter.fetch_add(1, std::memory_order_relaxed);
    trace::serialising(runtime, kind.name, bytes, begin);
}

}  // namespace gpo
