// Arrays of gpo_setting, as they cross the ABI.
#pragma once

#include <vector>

#include "core/struct_array.h"
#include "graph/instance.h"

namespace gpo {

class SettingArray {
public:
    /// Refers to the caller's array, which must outlive this. Throws Failure(GPO_INVALID_ARGUMENT).
    SettingArray(const gpo_setting* settings, uint64_t stride, uint64_t count);
    /// Finds the named parameters in the graph's recipe. Throws Failure(GPO_INVALID_ARGUMENT, GPO_NOT_FOUND).
    std::vector<Setting> for_graph(Graph& graph) const;
    /// Throws Failure if a graph of the recipe can't have these settings.
    void check(const Recipe& recipe) const;
    /// Brings the graph to its template's newest recording, and returns the recorded values, replaced by these settings
    /// where they name a parameter. Throws Failure.
    Graph::Snapshot values_for(Graph& graph) const;

private:
    gpo_setting read(uint64_t index) const;
    static uint32_t checked(const Recipe& recipe, const gpo_setting& setting);

    const StructArray<gpo_setting> array_;
    const uint64_t count_;
};

}  // namespace gpo
