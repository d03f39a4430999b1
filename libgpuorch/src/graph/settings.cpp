#include "graph/settings.h"

#include <cstring>

#include "core/struct_array.h"

namespace gpo {

SettingArray::SettingArray(const gpo_setting* settings, uint64_t stride, uint64_t count, uint64_t optional_from)
    : array_(settings, stride, count, "settings", "stride"), count_(count), optional_from_(optional_from) {}

gpo_setting SettingArray::read(uint64_t index) const {
    const gpo_setting read = array_.read(index);
    if (read.name && read.parameter)
        fail(GPO_INVALID_ARGUMENT, "settings[", index, "] has both a name, `", read.name, "`, and a number");
    return read;
}

std::vector<Setting> SettingArray::for_graph(Graph& graph) const {
    std::vector<Setting> out;
    if (count_ > out.max_size()) fail(GPO_INVALID_ARGUMENT, "count is ", count_, ", which is too large");
    out.reserve(count_);
    for (uint64_t i = 0; i < count_; ++i) {
        const gpo_setting setting = read(i);
        out.push_back({setting.name ? graph.parameter(setting.name) : setting.parameter, setting.value, setting.bytes});
    }
    return out;
}

// The number of the setting's parameter.
uint32_t SettingArray::checked(const Recipe& recipe, const gpo_setting& setting) {
    const uint32_t number = setting.name ? recipe.parameters().find(setting.name) : setting.parameter;
    recipe.check_setting(number, setting.value, setting.bytes);
    return number;
}

void SettingArray::check(const Recipe& recipe) const {
    for (uint64_t i = 0; i < count_; ++i)
        if (const gpo_setting setting = read(i); !skips(recipe, i, setting)) checked(recipe, setting);
}

Graph::Snapshot SettingArray::values_for(Graph& graph) const {
    Graph::Snapshot out = graph.recorded();
    const Recipe& recipe = *out.recipe;
    for (uint64_t i = 0; i < count_; ++i) {
        const gpo_setting setting = read(i);
        if (skips(recipe, i, setting)) continue;
        const uint32_t number = checked(recipe, setting);
        std::memcpy(out.values.bytes.data() + recipe.parameters()[number].offset, setting.value, setting.bytes);
        out.values.set[number] = true;
    }
    return out;
}

}  // namespace gpo
