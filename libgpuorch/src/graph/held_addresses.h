// The addresses that a graph's nodes refer to, held for as long as it can be launched with them: a free of such memory
// waits (memory/holds.h).
//
// Addresses are those of copies and fills, and of kernels' arguments. Whether an argument is an address isn't known. So
// an argument that is as large as an address is taken for one: a number that is none holds nothing up. A larger
// argument may be a struct with addresses in it: each of its aligned words of 8 bytes is held if it lies in memory of
// the library's at that moment. So a number that only looks like an address is held seldom, and can be told from
// others (HeldWord).
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
    /// Holds those of a recipe's nodes, with these values of its parameters. Throws std::bad_alloc.
    HeldAddresses(Template& holder, const Recipe& recipe, const Values& values);
    HeldAddresses(HeldAddresses&& other) noexcept { *this = std::move(other); }
    HeldAddresses& operator=(HeldAddresses&& other) noexcept;
    ~HeldAddresses() { release(); }

    /// Before values of parameters change: holds the addresses in the new values instead of those before. All or none:
    /// throws std::bad_alloc, and then has had no effect.
    void set(std::span<const Setting> settings);

private:
    /// What may be addresses in a value: some words, one behind the other.
    struct Words {
        uint32_t count = 0;
        const char* kernel = nullptr;   // whose argument is larger than an address; NULL: the only word is an address
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
    std::vector<Held> fixed_;               // of nothing that is a parameter
    std::vector<OfParameter> parameters_;
    std::vector<uint64_t> of_parameters_;   // their words; 0: not held
};

}  // namespace gpo
