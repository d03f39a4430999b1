// The meaning of a name at a place: does a local variable, parameter or member hide the name of CUDA or of a namespace?
//
// Types are not known, so declarations are distinguished from expressions by the tokens around them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "softgpu/compiler/structure.h"

namespace gpo::softgpu {

class Names {
public:
    Names(const Tokens& tokens, const Structure& structure);

    /// Is the name at `at` declared there, as a variable of a block or a parameter?
    bool declares(uint32_t at) const;
    /// Has a variable or parameter of that name been declared between `from` and `at`, in a block that `at` is in?
    bool hidden(std::string_view name, uint32_t from, uint32_t at) const;
    /// Is the name at `at` declared in the source, in a function or class around `at`?
    bool own(uint32_t at) const;
    /// Does a class that the function belongs to have a member of that name?
    bool member(const FunctionFound& function, std::string_view name) const;
    /// Does the class with this body have a member of that name?
    bool member(TokenRange body, std::string_view name) const;
    /// Can the function use unqualified names from these namespaces?
    bool sees(const FunctionFound& function, const std::vector<std::string>& scopes) const;

private:
    bool begins_block(uint32_t brace) const;
    bool has_parameters(uint32_t open) const;
    bool has_type(uint32_t at) const;
    bool is_in_list(uint32_t at) const;
    bool has_member(const ClassFound& found, std::string_view name, unsigned depth) const;
    std::vector<std::string_view> places(const FunctionFound& function) const;

    const Tokens& tokens_;
    const TokenList& all_;
    const Structure& structure_;
    std::set<std::string_view> seen_through_;   // namespaces whose names are seen from outside
};

}  // namespace gpo::softgpu
