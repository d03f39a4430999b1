#include "softgpu/compiler/names.h"

#include <algorithm>
#include <array>

namespace gpo::softgpu {

namespace {

constexpr unsigned kMostBases = 16;   // above each other

/// Words that expressions follow.
constexpr std::array<std::string_view, 15> kBeforeExpressions = {"return",    "else", "do",     "case",   "goto",
                                                                 "throw",     "new",  "delete", "sizeof", "alignof",
                                                                 "co_return", "and",  "or",     "not",    "namespace"};

bool type_word(const Token& token) {
    return token.kind == TokenKind::identifier &&
           std::find(kBeforeExpressions.begin(), kBeforeExpressions.end(), token.text) == kBeforeExpressions.end();
}
bool closes(const Token& token) { return token.is(")") || token.is("]") || token.is("}"); }
bool ends_statement(const Token& token) { return token.is(";") || token.is("{") || token.is("}"); }

}  // namespace

Names::Names(const Tokens& tokens, const Structure& structure)
    : tokens_(tokens), all_(tokens.all), structure_(structure) {
    seen_through_.insert("_GLOBAL__N_1");
    for (uint32_t at = 1; at + 1 < all_.size(); ++at) {
        if (!all_[at].is("namespace") || all_[at].system) continue;
        const bool opens = all_[at - 1].is("inline") || all_[at - 1].is("using");
        for (uint32_t in = at + 1; in + 1 < all_.size() && !all_[in].is("{") && !all_[in].is(";"); ++in)
            if (opens || all_[in - 1].is("inline")) seen_through_.insert(all_[in].text);
    }
}

/// Is the '{' that of statements or members, not of an initialiser's list?
bool Names::begins_block(uint32_t brace) const {
    const Token& before = all_[brace - (brace > 0)];
    if (brace > 1 && (all_[brace - 2].is("struct") || all_[brace - 2].is("class") || all_[brace - 2].is("union")))
        return true;
    return before.is("struct") || before.is("union") || ends_statement(before) || before.is(")") || before.is(":") ||
           before.is("else") || before.is("do") || before.is("mutable") || before.is("const") ||
           before.is("noexcept") || before.is("override");
}

/// Does the '(' open the parameters of a definition, or something else that declares?
bool Names::has_parameters(uint32_t open) const {
    const Token &before = all_[open - (open > 0)], &after = all_[all_[open].match + 1];
    if (before.is("for") || before.is("catch")) return true;
    if ((!type_word(before) && !before.is("]")) || before.is("if") || before.is("while") || before.is("switch"))
        return false;
    return after.is("{") || after.is("->") || after.is("const") || after.is("mutable") || after.is("noexcept") ||
           after.is("override");
}

/// Does what stands before `at` begin a statement or parameter, and is it a type? `float *`, `vec<int>`, `const
/// ns::type &`.
bool Names::has_type(uint32_t at) const {
    int angles = 0;
    bool word = false;
    for (; at-- > 0;) {
        const Token& token = all_[at];
        if (type_word(token)) word = true;
        else if (token.is(">")) ++angles;
        else if (token.is("<")) --angles;
        else if (closes(token) && angles > 0) at = token.match;
        else if (!token.is("*") && !token.is("&") && !token.is("&&") && !token.is("::") && angles == 0) break;
        if (angles < 0 || (angles > 0 && ends_statement(token))) return false;
    }
    if (!word || angles != 0) return false;
    if (all_[at].is(","))
        while (at-- > 0 && !all_[at].is("(") && !ends_statement(all_[at]))
            if (closes(all_[at])) at = all_[at].match;
    return all_[at].is("{") ? begins_block(at) : ends_statement(all_[at]) || (all_[at].is("(") && has_parameters(at));
}

/// int a = f(1), name: the ',' before `at` is a declaration's, or auto [a, name].
bool Names::is_in_list(uint32_t at) const {
    for (; at-- > 0;) {
        const Token& token = all_[at];
        if (token.is("["))
            return all_[at - 1].is("auto") ||
                   ((all_[at - 1].is("&") || all_[at - 1].is("&&")) && all_[at - 2].is("auto"));
        if (closes(token) && !token.is("}")) at = token.match;
        else if (token.is("(") && !all_[at - 1].is("for")) return false;
        else if (ends_statement(token) || token.is("(")) break;
    }
    if (all_[at].is("{") && !begins_block(at)) return false;
    const Token &first = all_[at + 1], &second = all_[at + 2];
    return type_word(first) &&
           (type_word(second) || second.is("*") || second.is("&") || second.is("<") || second.is("::"));
}

bool Names::declares(uint32_t at) const {
    const Token &before = all_[at - (at > 0)], &after = all_[at + 1];
    const bool ends = after.is("=") || after.is(";") || after.is(",") || after.is("[") || after.is("{") ||
                      after.is("(") || after.is(")") || after.is(":") || after.is("]");
    if (!ends) return false;
    if (type_word(before)) return true;
    if (before.is(")")) return takes_parentheses(all_[before.match - 1].text);   // float __align__(16) name
    if (before.is(",") || before.is("[")) return is_in_list(at);
    return (before.is("*") || before.is("&") || before.is("&&") || before.is(">")) && has_type(at);
}

bool Names::hidden(std::string_view name, uint32_t from, uint32_t at) const {
    bool heads = true;   // a ')' here belongs to what `at` is the body of: for (int name = 0; …), [](int name)
    while (at-- > from) {
        const Token& token = all_[at];
        if (token.is(name) && declares(at)) return true;
        if (token.is("{") || token.is("(")) heads = true;
        else if (token.is(";") || token.is("}")) heads = false;
        if (token.is("}") || token.is("]") || (token.is(")") && !heads)) at = token.match;
    }
    return false;
}

std::vector<std::string_view> Names::places(const FunctionFound& function) const {
    std::vector<std::string_view> out(function.scopes.begin(), function.scopes.end());
    for (uint32_t at = function.declarator.begin; at < function.declarator.end; ++at) {
        const uint32_t after = all_[at + 1].is("<") ? after_angles(tokens_, at + 1, function.declarator.end) : at + 1;
        if (all_[at].kind == TokenKind::identifier && all_[after].is("::")) out.push_back(all_[at].text);
        at = after - 1;
    }
    return out;
}

bool Names::sees(const FunctionFound& function, const std::vector<std::string>& scopes) const {
    std::vector<std::string_view> around = places(function), wanted(scopes.begin(), scopes.end());
    const auto through = [&](std::string_view scope) { return seen_through_.count(scope) != 0; };
    std::erase_if(around, through);
    std::erase_if(wanted, through);
    return wanted.size() <= around.size() && std::equal(wanted.begin(), wanted.end(), around.begin());
}

bool Names::own(uint32_t at) const {
    const std::string_view name = all_[at].text;
    if (declares(at)) return true;
    for (const FunctionFound& function : structure_.functions) {
        if (at < function.declaration.begin || at >= function.declaration.end) continue;
        for (uint32_t in = function.parameters.begin; in < function.parameters.end; ++in)
            if (all_[in].is(name) && !all_[in - 1].is("=")) return true;
        return member(function, name) || (function.has_body && hidden(name, function.body.begin, at));
    }
    return std::any_of(structure_.classes.begin(), structure_.classes.end(), [&](const ClassFound& found) {
        return at >= found.body.begin && at < found.body.end && has_member(found, name, 0);
    });
}

bool Names::member(const FunctionFound& function, std::string_view name) const {
    const std::vector<std::string_view> around = places(function);
    for (const ClassFound& found : structure_.classes) {
        const bool inside =
            function.declaration.begin >= found.body.begin && function.declaration.begin < found.body.end;
        const bool named = !function.in_class && std::find(around.begin(), around.end(), found.name) != around.end();
        if ((inside || named) && has_member(found, name, 0)) return true;
    }
    return false;
}

bool Names::member(TokenRange body, std::string_view name) const {
    bool value = false;   // behind the '=' of a default
    for (uint32_t at = body.begin; at < body.end; ++at) {
        const Token &token = all_[at], &before = all_[at - 1], &after = all_[at + 1];
        if (token.is(";") || token.is(",") || token.is("}")) value = false;
        if (token.is("=")) value = true;
        const bool ends = after.is(";") || after.is(",") || after.is("=") || after.is("[") || after.is("{") ||
                          after.is("(") || after.is(":") || after.is("}");
        if (!value && ends && token.is(name) && !before.is("::")) return true;
        const bool open = before.is("union") || before.is("struct") || before.is("enum") || all_[at - 2].is("enum");
        if (token.is("(") || token.is("[") || (token.is("{") && !open)) at = token.match;
    }
    return false;
}

bool Names::has_member(const ClassFound& found, std::string_view name, unsigned depth) const {
    if (member(found.body, name)) return true;
    if (depth == kMostBases) return false;
    bool bases = false;
    for (uint32_t at = found.head.begin; at < found.head.end; ++at) {
        bases = bases || all_[at].is(":");
        if (!bases || all_[at].kind != TokenKind::identifier) continue;
        for (const ClassFound& base : structure_.classes)
            if (base.name == all_[at].text && base.body.begin < found.body.begin && has_member(base, name, depth + 1))
                return true;
    }
    return false;
}

}  // namespace gpo::softgpu
