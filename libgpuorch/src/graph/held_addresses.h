// The addresses that a graph's nodes refer to, held while the graph can be launched with them: a free of such memory
// waits (memory/holds.h).
//
// Addresses are in copies, in fills and in kernel arguments. The library doesn't know which arguments are addresses. An
// argument as large as an address is taken for an address: a mere number delays no free. A larger argument may be a
// struct with addresses: each of its aligned words of 8 bytes is held if it lies in the library's memory at that
// moment. A number that only looks like an address is therefore rarely held, and is marked as a word (HeldWord).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/recipe.h"
#include "memory/holds.h"

namespace gpo {

class Template;

class HeldAddresses {
public:
    /// `holder` outlives this.
    explicit HeldAddresses(Template& holder) noexcept : holder_(&holder) {}
    /// Holds the addresses in a recipe's nodes, with these values of parameters. Throws std::bad_alloc.
    HeldAddresses(Template& holder, const Recipe& recipe, const Values& values);
    HeldAddresses(HeldAddresses&& other) noexcept { *this = std::move(other); }
    HeldAddresses& operator=(HeldAddresses&& other) noexcept;
    ~HeldAddresses() { release(); }

    /// Called before values of parameters change: holds the addresses in the new values instead of the old ones. Throws
    /// std::bad_alloc, and then without effect.
    void set(std::span<const Setting> settings);

private:
    /// The consecutive words of a value that may be addresses.
    struct Words {
        uint32_t count = 0;
        const char* kernel = nullptr;   // label, if its argument is larger than an address; NULL: one word, an address
        uint32_t argument = 0;
    };
    struct OfParameter {
        Words words;
        size_t first = 0;               // in of_parameters_
    };
    struct Held {
        uint64_t address;
        HeldWord word;
    };
    static Words words_of(const Node& node, const NodeField& field) noexcept;
    static HeldWord place_of(const Words& words, uint32_t word) noexcept;
    uint64_t address_in(const void* value, const Words& words, uint32_t word) const noexcept;
    bool set_one(const Setting& setting);
    void hold(uint64_t address, const HeldWord& word);
    void release(uint64_t address, const HeldWord& word) noexcept;
    void count_word(const HeldWord& word, uint64_t change) noexcept;
    void hold_parameters(const Recipe& recipe, const Values& values);
    void hold_fixed(const Recipe& recipe);
    void release() noexcept;

    Template* holder_ = nullptr;
    std::vector<Held> fixed_;               // of fields that no parameter names
    std::vector<OfParameter> parameters_;
    std::vector<uint64_t> of_parameters_;   // their words; 0: not held
};

}  // namespace gpo
