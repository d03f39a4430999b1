#include "graph/held_addresses.h"

#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "memory/holds.h"

namespace gpo {

namespace {

using Key = std::tuple<uint32_t, uint32_t, uint32_t>;

bool is_address(const Node& node, const NodeField& field) noexcept {
    if (field.what == GPO_PARAMETER_DESTINATION || field.what == GPO_PARAMETER_SOURCE) return true;
    const auto* kernel = std::get_if<KernelNode>(&node.work);
    return kernel && field.what == GPO_PARAMETER_ARGUMENT && kernel->argument_bytes(field.index) == sizeof(uint64_t);
}

/// Calls `visit` with each field of a node that may be an address.
template <class Visit>
void each_address(const Node& node, uint32_t number, Visit visit) {
    if (const auto* kernel = std::get_if<KernelNode>(&node.work)) {
        for (uint32_t i = 0; i < kernel->arguments(); ++i)
            if (kernel->argument_bytes(i) == sizeof(uint64_t)) visit(NodeField{number, GPO_PARAMETER_ARGUMENT, i});
    } else if (const auto* copy = std::get_if<CopyNode>(&node.work)) {
        if (!copy->plain()) return;
        visit(NodeField{number, GPO_PARAMETER_DESTINATION, 0});
        visit(NodeField{number, GPO_PARAMETER_SOURCE, 0});
    } else if (std::get_if<FillNode>(&node.work)) {
        visit(NodeField{number, GPO_PARAMETER_DESTINATION, 0});
    }
}

}  // namespace

HeldAddresses::HeldAddresses(const Object& holder, const Recipe& recipe, const Values& values) : holder_(&holder) {
    try {
        std::set<Key> named;
        for (const Parameter& parameter : recipe.parameters()) {
            OfParameter of;
            for (const NodeField& field : parameter.fields) {
                of.is_address |= !parameter.hidden && is_address(recipe.nodes()[field.node], field);
                named.emplace(field.node, field.what, field.index);
            }
            of_parameter_.push_back(of);
            if (!of.is_address) continue;
            uint64_t address = 0;
            std::memcpy(&address, values.data() + parameter.offset, sizeof address);
            hold(address);
            of_parameter_.back().address = address;
        }
        for (uint32_t i = 0; i < recipe.nodes().size(); ++i)
            each_address(recipe.nodes()[i], i, [&](const NodeField& field) {
                if (named.contains({field.node, field.what, field.index})) return;
                uint64_t address = 0;
                read_field(recipe.nodes()[i].work, field, &address);
                if (!address) return;
                if (fixed_.size() == fixed_.capacity()) fixed_.reserve(2 * fixed_.size() + 16);
                hold(address);
                fixed_.push_back(address);
            });
    } catch (...) {
        release();
        throw;
    }
}

HeldAddresses& HeldAddresses::operator=(HeldAddresses&& other) noexcept {
    std::swap(holder_, other.holder_);
    fixed_.swap(other.fixed_);
    of_parameter_.swap(other.of_parameter_);
    return *this;
}

void HeldAddresses::hold(uint64_t address) {
    if (address) Holds::of(holder_->runtime()).hold(address, *holder_);
}

void HeldAddresses::release(uint64_t address) noexcept {
    if (address) Holds::of(holder_->runtime()).release(address, *holder_);
}

void HeldAddresses::set_held(uint32_t parameter, uint64_t address) noexcept {
    release(std::exchange(of_parameter_[parameter].address, address));
}

void HeldAddresses::replace(uint32_t parameter, uint64_t address) {
    uint64_t& held = of_parameter_[parameter].address;
    if (held == address) return;
    Holds& holds = Holds::of(holder_->runtime());
    if (held && address) holds.replace(held, address, *holder_);
    else if (address) holds.hold(address, *holder_);
    else holds.release(held, *holder_);
    held = address;
}

void HeldAddresses::release() noexcept {
    if (!holder_) return;
    for (const uint64_t address : fixed_) release(address);
    for (const OfParameter& of : of_parameter_) release(of.address);
    fixed_.clear();
    of_parameter_.clear();
}

}  // namespace gpo
