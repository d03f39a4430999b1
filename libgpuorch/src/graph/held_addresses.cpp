#include "graph/held_addresses.h"

#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "graph/template.h"
#include "memory/registry.h"

namespace gpo {

namespace {

constexpr uint32_t kWord = sizeof(uint64_t);

/// Calls `visit` with each field of a node that may contain addresses, and with the field's value.
template <class Visit>
void each_field(const Node& node, uint32_t number, Visit visit) {
    const auto visit_address = [&](uint32_t what, uint64_t address) { visit(NodeField{number, what, 0}, &address); };
    if (const auto* kernel = std::get_if<KernelNode>(&node.work)) {
        for (uint32_t i = 0; i < kernel->arguments(); ++i)
            visit(NodeField{number, GPO_PARAMETER_ARGUMENT, i}, kernel->argument(i));
    } else if (const auto* copy = std::get_if<CopyNode>(&node.work)) {
        if (!copy->plain()) return;
        visit_address(GPO_PARAMETER_DESTINATION, copy->destination());
        visit_address(GPO_PARAMETER_SOURCE, copy->source());
    } else if (const auto* fill = std::get_if<FillWork>(&node.work)) {
        visit_address(GPO_PARAMETER_DESTINATION, fill->destination);
    }
}

}  // namespace

// --- what may be an address ---

HeldAddresses::Words HeldAddresses::words_of(const Node& node, const NodeField& field) noexcept {
    if (field.what == GPO_PARAMETER_DESTINATION || field.what == GPO_PARAMETER_SOURCE) return {1};
    const auto* kernel = std::get_if<KernelNode>(&node.work);
    if (!kernel || field.what != GPO_PARAMETER_ARGUMENT) return {};
    const uint32_t bytes = kernel->argument_bytes(field.index);
    return {bytes / kWord, bytes > kWord ? node.label : nullptr, field.index};
}

HeldWord HeldAddresses::place_of(const Words& words, uint32_t word) noexcept {
    return words.kernel ? HeldWord{words.kernel, words.argument, word} : HeldWord{};
}

// 0: the word isn't to be held.
uint64_t HeldAddresses::address_in(const void* value, const Words& words, uint32_t word) const noexcept {
    uint64_t address = 0;
    std::memcpy(&address, static_cast<const std::byte*>(value) + size_t{word} * kWord, sizeof address);
    const bool held = !words.kernel || Registry::of(holder_->runtime()).owns(address);
    return held ? address : 0;
}

// --- holding ---

HeldAddresses::HeldAddresses(Template& holder, const Recipe& recipe, const Values& values) : holder_(&holder) {
    try {
        hold_parameters(recipe, values);
        hold_fixed(recipe);
    } catch (...) {
        release();
        throw;
    }
}

void HeldAddresses::hold_parameters(const Recipe& recipe, const Values& values) {
    for (const Parameter& parameter : recipe.parameters()) {
        OfParameter of{{}, of_parameters_.size()};
        for (const NodeField& field : parameter.fields)
            if (!of.words.count && !parameter.hidden) of.words = words_of(recipe.nodes()[field.node], field);
        of_parameters_.resize(of.first + of.words.count);   // before release() looks for them there
        parameters_.push_back(of);
        for (uint32_t word = 0; word < of.words.count; ++word) {
            const uint64_t address = address_in(values.data() + parameter.offset, of.words, word);
            hold(address, place_of(of.words, word));
            of_parameters_[of.first + word] = address;
        }
    }
}

void HeldAddresses::hold_fixed(const Recipe& recipe) {
    std::set<std::tuple<uint32_t, uint32_t, uint32_t>> named;
    for (const Parameter& parameter : recipe.parameters())
        for (const NodeField& field : parameter.fields) named.emplace(field.node, field.what, field.index);
    for (uint32_t i = 0; i < recipe.nodes().size(); ++i)
        each_field(recipe.nodes()[i], i, [&](const NodeField& field, const void* value) {
            const Words words = words_of(recipe.nodes()[i], field);
            if (!words.count || named.contains({field.node, field.what, field.index})) return;
            for (uint32_t word = 0; word < words.count; ++word) {
                const Held one{address_in(value, words, word), place_of(words, word)};
                if (!one.address) continue;
                if (fixed_.size() == fixed_.capacity()) fixed_.reserve(2 * fixed_.size() + 16);
                hold(one.address, one.word);
                fixed_.push_back(one);
            }
        });
}

HeldAddresses& HeldAddresses::operator=(HeldAddresses&& other) noexcept {
    std::swap(holder_, other.holder_);
    fixed_.swap(other.fixed_);
    parameters_.swap(other.parameters_);
    of_parameters_.swap(other.of_parameters_);
    return *this;
}

void HeldAddresses::count_word(const HeldWord& word, uint64_t change) noexcept {
    if (word.kernel) holder_->counters().held_words.fetch_add(change, std::memory_order_relaxed);
}

void HeldAddresses::hold(uint64_t address, const HeldWord& word) {
    if (!address) return;
    Holds::of(holder_->runtime()).hold(address, *holder_, word);
    count_word(word, 1);
}

void HeldAddresses::release(uint64_t address, const HeldWord& word) noexcept {
    if (!address) return;
    Holds::of(holder_->runtime()).release(address, *holder_, word);
    count_word(word, uint64_t{0} - 1);
}

// The usual case: a single value with at most one address. False: another case.
bool HeldAddresses::set_one(const Setting& setting) {
    const OfParameter& of = parameters_[setting.parameter];
    if (of.words.count == 0) return true;
    if (of.words.count > 1 || of.words.kernel) return false;
    uint64_t& held = of_parameters_[of.first];
    const uint64_t address = address_in(setting.value, of.words, 0);
    if (held && address)
        Holds::of(holder_->runtime()).replace(held, address, *holder_);
    else if (held != address) {
        hold(address, {});
        release(held, {});
    }
    held = address;
    return true;
}

void HeldAddresses::set(std::span<const Setting> settings) {
    if (settings.size() == 1 && set_one(settings[0])) return;
    const auto each_word = [&](const auto& visit) {
        for (const Setting& setting : settings) {
            const OfParameter& of = parameters_[setting.parameter];
            for (uint32_t word = 0; word < of.words.count; ++word) visit(setting, of, word);
        }
    };
    size_t count = 0, next = 0;
    each_word([&](const Setting&, const OfParameter&, uint32_t) { ++count; });
    std::vector<Held> held;   // all new addresses, before any old one is released
    held.reserve(count);
    try {
        each_word([&](const Setting& setting, const OfParameter& of, uint32_t word) {
            const Held one{address_in(setting.value, of.words, word), place_of(of.words, word)};
            hold(one.address, one.word);
            held.push_back(one);
        });
    } catch (...) {
        for (const Held& one : held) release(one.address, one.word);
        throw;
    }
    each_word([&](const Setting&, const OfParameter& of, uint32_t word) {
        const Held& one = held[next++];
        release(std::exchange(of_parameters_[of.first + word], one.address), one.word);
    });
}

void HeldAddresses::release() noexcept {
    if (!holder_) return;
    for (const Held& one : fixed_) release(one.address, one.word);
    for (const OfParameter& of : parameters_)
        for (uint32_t word = 0; word < of.words.count; ++word)
            release(of_parameters_[of.first + word], place_of(of.words, word));
    fixed_.clear();
    parameters_.clear();
    of_parameters_.clear();
}

}  // namespace gpo
