// The parameters of a recipe, by number and by name, with their recorded values.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/parameters.h"

namespace gpo {

class ParameterTable {
public:
    ParameterTable() = default;
    /// Only the names of `before` and their numbers: a new recording defines the parameters. Throws std::bad_alloc.
    static ParameterTable names_of(const ParameterTable& before);

    size_t size() const noexcept { return parameters_.size(); }
    const Parameter& operator[](size_t number) const noexcept { return parameters_[number]; }
    auto begin() const noexcept { return parameters_.begin(); }
    auto end() const noexcept { return parameters_.end(); }
    /// The recorded values.
    const Values& values() const noexcept { return values_; }
    /// The number of a parameter. Throws Failure(GPO_NOT_FOUND), with a list of the parameters.
    uint32_t find(std::string_view name) const;
    /// Whether there is a parameter with this name.
    bool has(std::string_view name) const noexcept {
        const auto found = numbers_.find(name);
        return found != numbers_.end() && settable(found->second);
    }
    /// The parameter with this number, if `value` has its size. Throws Failure.
    const Parameter& settable(uint32_t number, const void* value, uint64_t bytes) const;

    // --- while the recipe is built ---

    /// Adds a field of `node`. Inside a DriverScope. Throws Failure, std::bad_alloc.
    void add(Context& context, std::string_view name, const Node& node, const NodeField& field);
    /// Makes a parameter the library's own. `loop`: number of the while.
    void hide(std::string_view name, uint32_t loop) noexcept;
    /// Removes all fields of a node. Parameters without fields keep only their names.
    void forget_node(uint32_t node) noexcept;
    struct Size {
        size_t parameters, value_bytes;
    };
    Size extent() const noexcept { return {parameters_.size(), values_.size()}; }
    /// Forgets later parameters, which have no fields.
    void cut(const Size& extent) noexcept;

private:
    Parameter& named(std::string_view name);
    bool settable(uint32_t number) const noexcept { return parameters_[number].bytes && !parameters_[number].hidden; }

    std::vector<Parameter> parameters_;
    Values values_;
    std::map<std::string, uint32_t, std::less<>> numbers_;   // by name
};

}  // namespace gpo
