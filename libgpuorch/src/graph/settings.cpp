#include "graph/settings.h"

#include <cstring>

#include "core/options.h"

namespace gpo {

SettingArray::SettingArray(const gpo_setting* settings, uint64_t stride, uint64_t count)
    : settings_(reinterpret_cast<const std::byte*>(settings)), stride_(stride), count_(count) {
    if (count == 0) return;
    required(settings, "settings");
    check_stride<gpo_setting>(stride);
}

gpo_setting SettingArray::read(uint64_t index) const {
    const auto* one = reinterpret_cast<const gpo_setting*>(settings_ + index * stride_);
    const gpo_setting read = read_struct(one, "a setting");
    if (read.struct_size > stride_) fail(GPO_INVALID_ARGUMENT, "setting ", index, " is larger than the stride");
    if (read.name && read.parameter)
        fail(GPO_INVALID_ARGUMENT, "setting ", index, " has both a name, `", read.name, "`, and a number");
    return read;
}

std::vector<Graph::Setting> SettingArray::for_graph(Graph& graph) const {
    std::vector<Graph::Setting> out;
    out.reserve(count_);
    for (uint64_t i = 0; i < count_; ++i) {
        const gpo_setting setting = read(i);
        out.push_back({setting.name ? graph.parameter(setting.name) : setting.parameter, setting.value, setting.bytes});
    }
    return out;
}

Graph::Snapshot SettingArray::values_for(Graph& graph) const {
    Graph::Snapshot out = graph.recorded();
    const Recipe& recipe = *out.recipe;
    for (uint64_t i = 0; i < count_; ++i) {
        const gpo_setting setting = read(i);
        const uint32_t number = setting.name ? recipe.parameter(setting.name) : setting.parameter;
        recipe.check_setting(number, setting.value, setting.bytes);
        std::memcpy(out.values.data() + recipe.parameters()[number].offset, setting.value, setting.bytes);
    }
    return out;
}

}  // namespace gpo
