// Arrays of gpo_setting, as they cross the ABI.
#pragma once

#include <vector>

#include "core/struct_array.h"
#include "graph/instance.h"

namespace gpo {

class SettingArray {
public:
    /// Of the caller's array, which has to stay. Throws Failure(GPO_INVALID_ARGUMENT).
    SettingArray(const gpo_setting* settings, uint64_t stride, uint64_t count);
    /// With names looked up in the graph's recipe. Throws Failure(GPO_INVALID_ARGUMENT, GPO_NOT_FOUND).
    std::vector<Setting> for_graph(Graph& graph) const;
    /// Throws Failure if a graph of the recipe can't have them.
    void check(const Recipe& recipe) const;
    /// What the newest recording of the graph's template has, and these settings over it; the graph is brought to that
    /// recording. Throws Failure.
    Graph::Snapshot values_for(Graph& graph) const;

private:
    gpo_setting read(uint64_t index) const;
    static uint32_t checked(const Recipe& recipe, const gpo_setting& setting);

    const StructArray<gpo_setting> array_;
    const uint64_t count_;
};

}  // namespace gpo
