// Wraps a driver: a driver whose table entries run a hook around the entries of another driver.
//
// A table entry is a plain function pointer and carries no object. Therefore the wrapped table is global to the hook's
// type: each hook type has one wrapped table at a time. Wrapping a second driver with the same hook replaces the first;
// different hooks stack. A wrapper doesn't support listen(): the wrapped driver can't notify listeners of results that
// the hook invents.
//
//     struct Hook {
//         template <class Call> static CUresult around(Function, Call&& call) noexcept;   // call() reaches the driver
//     };
#pragma once

#include <atomic>
#include <memory>

#include "driver/driver.h"
#include "driver/functions.h"

namespace gpo::driver {

template <class Hook>
class Wrapper final : public Driver {
public:
    explicit Wrapper(std::shared_ptr<Driver> wrapped) : wrapped_(std::move(wrapped)) {
        name = wrapped_->name;
        version = wrapped_->version;
        software = wrapped_->software;
        has_libraries = wrapped_->has_libraries;
        reports_faults = wrapped_->reports_faults;
        uses_host_cores = wrapped_->uses_host_cores;
        has_room = wrapped_->has_room;
        builtin_image = wrapped_->builtin_image;
        condition_image = wrapped_->condition_image;
        push_image = wrapped_->push_image;
        combine_image = wrapped_->combine_image;
        // Set `inner` first: the new entries call the originals through it.
        inner = wrapped_->table;
        table = wrapped_->table;
#define X(name, version, need) \
    if (table.name) table.name = entry<Function::name>(&Table::name, table.name);
        GPO_DRIVER_FUNCTIONS(X, X)
#undef X
    }
    Compiler& compiler() override { return wrapped_->compiler(); }
    std::optional<Fault> fault() override { return wrapped_->fault(); }
    uint64_t submitted(CUstream stream) override { return wrapped_->submitted(stream); }

private:
    template <Function F, class... Args>
    static auto entry(CUresult (*Table::*member)(Args...), CUresult (*)(Args...)) noexcept {
        static CUresult (*Table::*const original)(Args...) = member;
        return +[](Args... args) noexcept -> CUresult {
            return Hook::around(F, [&]() noexcept { return (inner.*original)(args...); });
        };
    }
    static inline Table inner;
    const std::shared_ptr<Driver> wrapped_;
};

}  // namespace gpo::driver
