#include "graph/settings.h"

#include <cstring>

#include "core/options.h"

namespace gpo {

SettingArray::SettingArray(const gpo_setting* settings, uint64_t stride, uint64_t count) {
    if (count == 0) return;
    required(settings, "settings");
    check_stride<gpo_setting>(stride);
    settings_.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
        const auto* one = reinterpret_cast<const std::byte*>(settings) + i * stride;
        settings_.push_back(read_struct(reinterpret_cast<const gpo_setting*>(one), "a setting"));
        const gpo_setting& read = settings_.back();
        if (read.struct_size > stride) fail(GPO_INVALID_ARGUMENT, "setting ", i, " is larger than the stride");
        if (read.name && read.parameter)
            fail(GPO_INVALID_ARGUMENT, "setting ", i, " has both a name, `", read.name, "`, and a number");
    }
}

std::vector<Graph::Setting> SettingArray::for_graph(Graph& graph) const {
    std::vector<Graph::Setting> out;
    out.reserve(settings_.size());
    for (const gpo_setting& setting : settings_)
        out.push_back({setting.name ? graph.parameter(setting.name) : setting.parameter, setting.value, setting.bytes});
    return out;
}

Graph::Snapshot SettingArray::values_for(Graph& graph) const {
    Graph::Snapshot out = graph.recorded();
    const Recipe& recipe = *out.recipe;
    for (const gpo_setting& setting : settings_) {
        const uint32_t number = setting.name ? recipe.parameter(setting.name) : setting.parameter;
        recipe.check_setting(number, setting.value, setting.bytes);
        std::memcpy(out.values.data() + recipe.parameters()[number].offset, setting.value, setting.bytes);
    }
    return out;
}

}  // namespace gpo
