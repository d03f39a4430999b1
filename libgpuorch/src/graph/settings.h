// Arrays of gpo_setting, as they cross the ABI.
#pragma once

#include <vector>

#include "core/struct_array.h"
#include "graph/instance.h"

namespace gpo {

class SettingArray {
public:
    /// Refers to the caller's array, which must outlive this. Throws Failure(GPO_INVALID_ARGUMENT).
    /// Settings from `optional_from` on have names, and are skipped where the graph has no such parameter.
    SettingArray(const gpo_setting* settings, uint64_t stride, uint64_t count, uint64_t optional_from = UINT64_MAX);
    /// Finds the named parameters in the graph's recipe. Throws Failure(GPO_INVALID_ARGUMENT, GPO_NOT_FOUND).
    std::vector<Setting> for_graph(Graph& graph) const;
    /// Throws Failure if a graph of the recipe can't have these settings.
    void check(const Recipe& recipe) const;
    /// Brings the graph to its template's newest recording, and returns the recorded values, replaced by these settings
    /// where they name a parameter. Throws Failure.
    Graph::Snapshot values_for(Graph& graph) const;

private:
    gpo_setting read(uint64_t index) const;
    bool skips(const Recipe& recipe, uint64_t index, const gpo_setting& setting) const noexcept {
        return index >= optional_from_ && !recipe.parameters().has(setting.name);
    }
    static uint32_t checked(const Recipe& recipe, const gpo_setting& setting);

    const StructArray<gpo_setting> array_;
    const uint64_t count_, optional_from_;
};

}  // namespace gpo
