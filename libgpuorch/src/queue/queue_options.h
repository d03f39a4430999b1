// Checks of gpo_queue_options by the kinds of queues.
#pragma once

#include <initializer_list>

#include "core/struct_options.h"
#include "gpuorch/queue.h"

namespace gpo::queue {

/// Options that only some kinds of queue have.
enum class Option : uint8_t { batch, count, capacity, task_size, priorities, answer_size, tenants };

struct OptionValue {
    const char* name;
    uint64_t value;
};
inline OptionValue value_of(const gpo_queue_options& options, Option option) noexcept {
    switch (option) {
        case Option::batch: return {"batch", options.batch};
        case Option::count: return {"count", options.count};
        case Option::capacity: return {"capacity", options.capacity};
        case Option::task_size: return {"task_size", options.task_size};
        case Option::priorities: return {"priorities", options.priorities};
        case Option::answer_size: return {"answer_size", options.answer_size};
        case Option::tenants: return {"tenants", options.tenants};
    }
    return {"", 0};
}

/// Throws Failure(GPO_INVALID_ARGUMENT) if an option of other kinds is given.
inline void refuse_options(const char* kind, const gpo_queue_options& options,
                           std::initializer_list<Option> of_others) {
    for (const Option option : of_others)
        if (const OptionValue given = value_of(options, option); given.value != 0)
            fail(GPO_INVALID_ARGUMENT, "options.", given.name, " is ", given.value, ", and a ", kind, " has none");
}

/// Throws Failure(GPO_INVALID_ARGUMENT).
inline void check_between(const char* name, uint64_t value, uint64_t least, uint64_t most) {
    if (value < least || value > most)
        fail(GPO_INVALID_ARGUMENT, "options.", name, " is ", value, ", not ", least, " to ", most);
}

/// Throws Failure(GPO_INVALID_ARGUMENT).
inline void check_multiple(const char* name, uint64_t value, uint64_t of) {
    if (value % of != 0) fail(GPO_INVALID_ARGUMENT, "options.", name, " is ", value, ", no multiple of ", of);
}

}  // namespace gpo::queue
