#include "softgpu/compiler/structure.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace gpo::softgpu {

namespace {

constexpr std::array<std::string_view, 18> kWithParentheses = {
    "__attribute__", "__attribute", "__launch_bounds__", "__align__",       "alignas",      "decltype",
    "noexcept",      "__declspec",  "__cluster_dims__",  "__maxnreg__",     "explicit",     "throw",
    "requires",      "sizeof",      "typeof",            "__typeof__",      "__block_size__", "static_assert"};

bool class_key(const Token& token) {
    return token.is("class") || token.is("struct") || token.is("union") || token.is("enum");
}

class Walker {
public:
    explicit Walker(const Tokens& tokens) : tokens_(tokens), all_(tokens.all) {}

    Structure run() {
        scope({0, static_cast<uint32_t>(all_.size() - 1)}, false);
        std::set<std::string_view> defined;
        for (const VariableFound& variable : found_.variables)
            if (variable.extern_token == 0) defined.insert(variable.symbol);
        std::vector<VariableFound> variables;
        for (const VariableFound& variable : found_.variables)
            if (variable.extern_token == 0 || defined.insert(variable.symbol).second) variables.push_back(variable);
        found_.variables = std::move(variables);
        return std::move(found_);
    }

private:
    void scope(TokenRange range, bool in_class) {
        if (depth_ == kMostNesting) tokens_.refuse(range.begin, "namespaces and classes are nested too deep");
        ++depth_;
        for (uint32_t at = range.begin; at < range.end;) {
            const Token& token = all_[at];
            if (token.is(";") || token.is("}") || token.is(")") || token.is("]")) {
                ++at;
            } else if (in_class && (token.is("public") || token.is("private") || token.is("protected"))) {
                at += 2;
            } else if (token.is("namespace") || (token.is("inline") && all_[at + 1].is("namespace"))) {
                at = name_space(at, range.end);
            } else if (token.is("extern") && all_[at + 1].kind == TokenKind::text && all_[at + 2].is("{")) {
                const bool around = std::exchange(c_linkage_, names_c(at + 1));
                scope({at + 3, all_[at + 2].match}, false);
                c_linkage_ = around;
                at = all_[at + 2].match + 1;
            } else {
                at = declaration(at, range.end, in_class);
            }
        }
        --depth_;
    }

    bool names_c(uint32_t at) const { return all_[at].kind == TokenKind::text && all_[at].text == "\"C\""; }

    uint32_t name_space(uint32_t at, uint32_t end) {
        const size_t depth = scopes_.size();
        bool named = false;
        for (; at < end && !all_[at].is("{"); ++at) {
            if (all_[at].is(";") || all_[at].is("=")) {   // an alias
                scopes_.resize(depth);
                return statement_end(at, end);
            }
            if (all_[at].is("[") || all_[at].is("(")) {
                at = all_[at].match;
            } else if (all_[at].kind == TokenKind::identifier && !all_[at].is("namespace") && !all_[at].is("inline") &&
                       !all_[at].is("__attribute__")) {
                scopes_.emplace_back(all_[at].text);
                named = true;
            }
        }
        if (at >= end) return end;
        if (!named) scopes_.emplace_back("_GLOBAL__N_1");
        scope({at + 1, all_[at].match}, false);
        scopes_.resize(depth);
        return all_[at].match + 1;
    }

    /// The index after the ';' that ends the statement around `at`.
    uint32_t statement_end(uint32_t at, uint32_t end) const {
        for (; at < end; ++at) {
            if (all_[at].is(";")) return at + 1;
            if (all_[at].is("(") || all_[at].is("[") || all_[at].is("{")) at = all_[at].match;
        }
        return end;
    }

    /// Properties of a declaration found so far.
    struct Seen {
        bool global = false, device = false, constant = false, shared = false, is_const = false, is_constexpr = false;
        bool class_key = false, is_operator = false, is_template = false, instantiation = false, type_alias = false;
        bool is_friend = false, is_enum = false;
        uint32_t class_at = 0, rest = 0;   // the class key; where what stands beside the class's body begins
        uint32_t static_token = 0, extern_token = 0, launch_bounds = 0, cluster_dims = 0, name = 0, parameters = 0,
                 pointer = 0;
        uint32_t space = 0;   // the first __device__ or the like
    };

    uint32_t declaration(const uint32_t begin, const uint32_t end, bool in_class) {
        Seen seen;
        seen.rest = begin;
        uint32_t at = begin;
        while (all_[at].is("template")) {
            if (!all_[at + 1].is("<")) {
                seen.instantiation = true;
                ++at;
                break;
            }
            const uint32_t after = after_angles(tokens_, at + 1, end);
            if (after > at + 3) seen.is_template = true;   // template <> fixes the parameters
            at = after;
        }
        for (; at < end; ++at) {
            const Token& token = all_[at];
            if (token.is(";")) {
                finish(begin, at, seen, in_class, {}, false);
                return at + 1;
            }
            if (token.is("=") && !(at > begin && all_[at - 1].is("operator"))) {
                const uint32_t after = statement_end(at, end);
                finish(begin, after - 1, seen, in_class, {}, false);
                return after;
            }
            if (token.is("{")) {
                const uint32_t close = token.match;
                if (seen.parameters != 0 && !seen.type_alias) {
                    finish(begin, close + 1, seen, in_class, {at + 1, close}, true);
                    return close + 1;
                }
                if (seen.class_key) {
                    const std::string name = seen.name ? std::string(all_[seen.name].text) : std::string();
                    const std::string_view around = class_name_;
                    if (!seen.is_enum) class_name_ = named_class(seen.class_at, at);
                    rest(begin, at, seen);
                    if (!token.system) found_.classes.push_back({class_name_, {seen.class_at, at}, {at + 1, close}});
                    scopes_.push_back(name);
                    scope({at + 1, close}, true);
                    scopes_.pop_back();
                    class_name_ = around;
                    seen.name = 0;
                    seen.class_key = false;
                    seen.rest = close + 1;
                }
                at = close;
                continue;
            }
            if (token.is(":") && seen.parameters != 0) {
                at = member_initialisers(at, end) - 1;
                continue;
            }
            at = specifier(at, begin, end, seen);
        }
        return end;
    }

    /// After the ':' of a constructor: the index of the body's '{'.
    uint32_t member_initialisers(uint32_t at, uint32_t end) const {
        for (++at; at < end; ++at) {
            if (all_[at].is("<")) {
                at = after_angles(tokens_, at, end) - 1;
            } else if (all_[at].is("(") || all_[at].is("{")) {
                const bool first_in_list = all_[at - 1].kind == TokenKind::identifier || all_[at - 1].is(">");
                if (all_[at].is("{") && !first_in_list) return at;
                at = all_[at].match;
            }
        }
        return end;
    }

    /// Takes in the token at `at`; the last index it belongs to.
    uint32_t specifier(uint32_t at, uint32_t begin, uint32_t end, Seen& seen) const {
        const Token& token = all_[at];
        if (token.is("[")) return token.match;
        if (token.is("<")) return after_angles(tokens_, at, end) - 1;
        if (token.is("(")) {
            const Token& before = all_[at - (at > begin)];
            const bool named = (before.kind == TokenKind::identifier && !takes_parentheses(before.text)) ||
                               before.is(">") || seen.is_operator;
            const bool pointer = all_[at + 1].is("*") || all_[at + 1].is("&");
            if (seen.parameters == 0 && named && seen.name != 0 && !pointer) seen.parameters = at;
            return token.match;
        }
        if (token.is("*") || token.is("&")) seen.pointer = at;
        if (token.kind != TokenKind::identifier) return at;
        if (token.is("operator")) {
            seen.is_operator = true;
            seen.name = at;
            uint32_t after = at + 1;
            if (all_[after].is("(")) return all_[after].match;              // operator()
            while (after < end && !all_[after].is("(")) ++after;
            return after - 1;
        }
        if (token.is("__global__")) seen.global = true;
        else if (token.is("__device__") || token.is("__managed__") || token.is("__constant__")) {
            (token.is("__constant__") ? seen.constant : seen.device) = true;
            if (seen.space == 0) seen.space = at;
        }
        else if (token.is("__shared__")) seen.shared = true;
        else if (token.is("extern")) seen.extern_token = at;
        else if (token.is("static")) seen.static_token = at;
        else if (token.is("const")) seen.is_const = true;
        else if (token.is("constexpr")) seen.is_const = seen.is_constexpr = true;
        else if (token.is("using") || token.is("typedef")) seen.type_alias = true;
        else if (token.is("friend")) seen.is_friend = true;
        else if (class_key(token)) class_head(at, seen);
        else if (token.is("__launch_bounds__")) seen.launch_bounds = at;
        else if (token.is("__cluster_dims__")) seen.cluster_dims = at;
        if (takes_parentheses(token.text)) return all_[at + 1].is("(") ? all_[at + 1].match : at;
        if (seen.parameters == 0 && !token.text.starts_with("__attribute")) seen.name = at;
        return at;
    }

    void class_head(uint32_t at, Seen& seen) const {
        seen.is_enum = all_[at].is("enum") || (seen.is_enum && seen.class_at == at - 1);   // enum class
        seen.class_key = true;
        seen.class_at = at;
    }

    /// The name of the class with its key at `at` and its body's '{' at `open`; if it has none, the outer class's name.
    std::string_view named_class(uint32_t at, uint32_t open) const {
        std::string_view name = class_name_;
        for (++at; at < open && !all_[at].is(":") && !all_[at].is("<") && !all_[at].is("final"); ++at) {
            if (all_[at].is("[") || all_[at].is("(")) at = all_[at].match;
            else if (all_[at].kind == TokenKind::identifier && !takes_parentheses(all_[at].text)) name = all_[at].text;
        }
        return name;
    }

    /// Adds [begin, end) to the rest, unless it names only the declared entity.
    void rest(uint32_t begin, uint32_t end, const Seen& seen) {
        const bool names_only = seen.is_friend || seen.is_enum || all_[begin].is("static_assert") ||
                                (seen.class_key && seen.class_at + 2 >= end) ||        // struct A;
                                (seen.class_key && seen.instantiation) ||              // template struct A<int>;
                                (all_[begin].is("using") && !all_[begin + 2].is("="));
        if (begin < end && !names_only && !all_[begin].system) found_.rest.push_back({class_name_, {begin, end}});
    }

    void finish(uint32_t begin, uint32_t end, const Seen& seen, bool in_class, TokenRange body, bool has_body) {
        if (all_[begin].system && !seen.global) {
            if (!has_body) return;
        }
        if (seen.parameters == 0 && !seen.shared) rest(seen.rest, end, seen);
        if (seen.type_alias) return;
        if (seen.is_friend && !has_body) in_class = false;   // declares a function of the namespace
        if (seen.shared) {
            if (seen.name && !in_class)
                found_.shared.push_back({last_name(begin, end), {begin, end}, seen.extern_token != 0, scopes_});
            return;
        }
        if (seen.parameters != 0) {
            function(begin, end, seen, in_class, body, has_body);
        } else if (seen.device || seen.constant) {
            if (!seen.is_constexpr && (!in_class || seen.static_token != 0)) found_.spaces.insert(seen.space);
            if (!in_class && !seen.is_template) variables(begin, end, seen);
        }
    }

    void function(uint32_t begin, uint32_t end, const Seen& seen, bool in_class, TokenRange body, bool has_body) {
        FunctionFound function;
        function.declaration = {begin, end};
        function.parameters = {seen.parameters + 1, all_[seen.parameters].match};
        function.body = body;
        function.has_body = has_body;
        function.kernel = seen.global;
        function.is_template = seen.is_template;
        function.explicit_instantiation = seen.instantiation;
        function.is_operator = seen.is_operator;
        function.in_class = in_class;
        function.internal = seen.static_token != 0;
        function.launch_bounds = seen.launch_bounds;
        function.cluster_dims = seen.cluster_dims;
        function.scopes = scopes_;
        function.user = !all_[begin].system;
        function.name = all_[seen.name].text;
        uint32_t first = seen.name;
        while (first >= begin + 2 && all_[first - 1].is("::")) {
            first -= 2;
            if (all_[first].is(">"))
                while (first > begin && !all_[first].is("<")) --first;
            if (first > begin && all_[first].is("<")) --first;
        }
        function.declarator = {first, seen.parameters};
        found_.functions.push_back(std::move(function));
    }

    std::string_view last_name(uint32_t begin, uint32_t end) const {
        std::string_view name;
        for (uint32_t at = begin; at < end; ++at) {
            if (all_[at].is("(") || all_[at].is("[")) {
                if (!name.empty() && all_[at].is("[")) break;
                at = all_[at].match;
            } else if (all_[at].is("=") || all_[at].is("{")) {
                break;
            } else if (all_[at].kind == TokenKind::identifier && !takes_parentheses(all_[at].text)) {
                name = all_[at].text;
            }
        }
        return name;
    }

    /// __device__ int a = 1, b[3];
    void variables(uint32_t begin, uint32_t end, const Seen& seen) {
        std::string_view name;
        bool value = false, defined = false;
        const bool constant_type = seen.is_const && seen.pointer == 0, external = seen.extern_token != 0;
        const bool c_linkage = external ? names_c(seen.extern_token + 1) || c_linkage_ : c_linkage_;
        for (uint32_t at = begin; at <= end; ++at) {
            const Token& token = all_[at];
            if (at == end || token.is(",")) {
                if (!name.empty()) {
                    const bool internal = seen.static_token != 0 || (constant_type && !external);
                    found_.variables.push_back({name, end, seen.static_token, defined ? 0 : seen.extern_token,
                                                seen.constant, constant_type, symbol(name, internal, c_linkage)});
                }
                value = defined = false;
                name = {};
            } else if (token.is("(") && all_[at + 1].is("*") && !value) {
                for (uint32_t in = at; in < token.match; ++in)   // int (*name)(int)
                    if (all_[in].kind == TokenKind::identifier) name = all_[in].text;
                at = token.match;
                value = true;
            } else if (token.is("(") || token.is("[") || token.is("{")) {
                defined = defined || (token.is("{") && !name.empty());
                at = token.match;
            } else if (token.is("<") && !value) {
                at = after_angles(tokens_, at, end) - 1;
            } else if (token.is("=")) {
                value = defined = true;
            } else if (token.kind == TokenKind::identifier && !value && !takes_parentheses(token.text)) {
                name = token.text;
            }
        }
    }

    /// A variable's name as the C++ ABI mangles it: plain in the global namespace unless it is internal.
    std::string symbol(std::string_view name, bool internal, bool c_linkage) const {
        if (c_linkage && !internal) return std::string(name);
        const std::string own = (internal ? "L" : "") + std::to_string(name.size()) + std::string(name);
        if (scopes_.empty()) return internal ? "_Z" + own : std::string(name);
        std::string mangled = "_ZN";
        for (const std::string& scope : scopes_) mangled += std::to_string(scope.size()) + scope;
        return mangled + own + "E";
    }

    const Tokens& tokens_;
    const TokenList& all_;
    std::vector<std::string> scopes_;
    std::string_view class_name_;
    bool c_linkage_ = false;   // in extern "C" { }
    unsigned depth_ = 0;
    Structure found_;
};

}  // namespace

namespace {

/// Where what seems to be a list of template arguments turns out not to be one.
constexpr std::array<std::string_view, 10> kNotInAngles = {
    "__global__", "__device__", "__host__", "__shared__", "return", "if", "for", "while", "do", "namespace"};

/// Does a declaration begin at `at`, or a function's body, other than a lambda's?
bool begins_anew(const TokenList& all, uint32_t at) {
    const Token& before = all[at - 1];
    if (all[at].is("template"))
        return !before.is("<") && !before.is(",") && !before.is("::") && !before.is(".") && !before.is("->");
    return all[at].is("{") && before.is(")") && !all[before.match - 1].is("]");
}

/// Which '<' within a list opens another one: the names of templates aren't known.
enum class Inner { after_names, not_before_numbers, none };

/// The index after the '>' that closes the '<' at `at`; 0 when there is none.
uint32_t closed_angles(const TokenList& all, uint32_t at, uint32_t end, Inner inner) {
    std::set<std::string_view> values;   // template <int N, …: N < 4 compares
    const bool declares = all[at - (at > 0)].is("template");
    int depth = 0;
    for (uint32_t i = at; i < end; ++i) {
        const Token& token = all[i];
        const Token& before = all[i - (i > 0)];
        const Token& after = all[i + 1];
        if (token.is("<")) {
            const bool opens = before.is("template") ||
                               (inner != Inner::none && before.kind == TokenKind::identifier &&
                                !values.count(before.text) &&
                                (inner == Inner::after_names || after.kind != TokenKind::number));
            if (i == at || opens) ++depth;
        } else if (token.is(">")) {
            if (--depth == 0) return i + 1;
        } else if (begins_anew(all, i)) {
            return 0;
        } else if (token.is("(") || token.is("[") || token.is("{")) {
            i = token.match;
        } else if (token.is(";") || token.is(")") || token.is("]") || token.is("}") ||
                   among(kNotInAngles, token.text)) {
            return 0;
        } else if (declares && depth == 1 && token.kind == TokenKind::identifier &&
                   (before.kind == TokenKind::identifier || before.is("*") || before.is("&")) && !before.is("class") &&
                   !before.is("typename") && (after.is(",") || after.is("=") || after.is(">"))) {
            values.insert(token.text);
        }
    }
    return 0;
}

}  // namespace

uint32_t after_angles(const Tokens& tokens, uint32_t at, uint32_t end) {
    for (const Inner inner : {Inner::after_names, Inner::not_before_numbers, Inner::none})
        if (const uint32_t after = closed_angles(tokens.all, at, end, inner)) return after;
    return at + 1;
}

bool takes_parentheses(std::string_view word) { return among(kWithParentheses, word); }

Structure find_structure(const Tokens& tokens) { return Walker(tokens).run(); }

}  // namespace gpo::softgpu
