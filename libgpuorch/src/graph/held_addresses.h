// The addresses that a graph's nodes refer to, held for as long as it can be launched with them: a free of such memory
// waits (memory/holds.h).
//
// Addresses are those of copies and fills, and every argument of a kernel that is as large as an address: whether it is
// one isn't known, and a number that is none holds nothing up.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/recipe.h"

namespace gpo {

class HeldAddresses {
public:
    /// `holder`, the template, outlives this.
    explicit HeldAddresses(const Object& holder) noexcept : holder_(&holder) {}
    /// Holds those of a recipe's nodes, with these values of its parameters. Throws std::bad_alloc.
    HeldAddresses(const Object& holder, const Recipe& recipe, const Values& values);
    HeldAddresses(HeldAddresses&& other) noexcept { *this = std::move(other); }
    HeldAddresses& operator=(HeldAddresses&& other) noexcept;
    ~HeldAddresses() { release(); }

    /// Whether a parameter has an address.
    bool has(uint32_t parameter) const noexcept { return of_parameter_[parameter].is_address; }
    /// Of a parameter that has one, before its value changes. Throws std::bad_alloc, and then has had no effect.
    void replace(uint32_t parameter, uint64_t address);
    /// The same in two steps, for several that change together: all new ones are held first. 0 is none.
    void hold(uint64_t address);
    void release(uint64_t address) noexcept;
    void set_held(uint32_t parameter, uint64_t address) noexcept;

private:
    struct OfParameter {
        bool is_address = false;
        uint64_t address = 0;
    };
    void release() noexcept;

    const Object* holder_ = nullptr;
    std::vector<uint64_t> fixed_;              // of nothing that is a parameter
    std::vector<OfParameter> of_parameter_;
};

}  // namespace gpo
