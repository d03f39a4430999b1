#include "softgpu/compiler/waits.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <utility>

#include "softgpu/compiler/names.h"

namespace gpo::softgpu {

namespace {

constexpr std::array<std::string_view, 9> kObserving = {
    "volatile", "__threadfence", "__threadfence_block", "__threadfence_system", "__nanosleep", "clock", "clock64",
    "__ldcv", "__ldcg"};
// A launch is refused while the graph still runs: a loop may try until it isn't.
constexpr std::array<std::string_view, 5> kGraphLaunches = {"cudaGraphLaunch", "launch_fire_and_forget", "launch_tail",
                                                            "launch_sibling", "relaunch_self"};
constexpr std::array<std::string_view, 15> kObservingMembers = {
    "load",      "exchange",  "compare_exchange_weak", "compare_exchange_strong",
    "fetch_add", "fetch_sub", "test_and_set",          "wait",
    "fetch_and", "fetch_or",  "fetch_xor",             "test",
    "try_wait",  "acquire",   "try_acquire"};
constexpr std::array<std::string_view, 28> kGroupWaits = {"sync",
                                                          "shfl",
                                                          "shfl_up",
                                                          "shfl_down",
                                                          "shfl_xor",
                                                          "any",
                                                          "all",
                                                          "ballot",
                                                          "match_any",
                                                          "match_all",
                                                          "reduce",
                                                          "inclusive_scan",
                                                          "exclusive_scan",
                                                          "coalesced_threads",
                                                          "barrier_wait",
                                                          "barrier_arrive",
                                                          "arrive_and_wait",
                                                          "labeled_partition",
                                                          "binary_partition",
                                                          "invoke_one_broadcast",
                                                          "map_shared_rank",
                                                          "query_shared_rank",
                                                          "memcpy_async",
                                                          "wait",
                                                          "wait_prior",
                                                          "acquire",
                                                          "wait_parity",
                                                          "try_wait"};
constexpr std::array<std::string_view, 7> kIndexed = {
    "printf",           "__gpo_assert_fail",  "__trap", "this_thread_block", "__gpo_fail",
    "cudaGetLastError", "cudaPeekAtLastError"};

constexpr std::string_view kConversion = "operator";   // the symbol of operator bool and the like

bool waits_by_name(std::string_view word) {
    return word.starts_with("__syncthreads") || word.starts_with("__syncwarp") || word.starts_with("__shfl_") ||
           word.starts_with("__match_") || word.starts_with("__reduce_") || word.starts_with("__cluster_") ||
           word == "__isClusterShared" || word == "__ballot_sync" ||
           word == "__any_sync" || word == "__all_sync" || word == "__activemask";
}

class Analysis {
public:
    Analysis(const Tokens& tokens, const Structure& structure)
        : all_(tokens.all), tokens_(tokens), structure_(structure), names_of_(tokens, structure) {
        found_.functions.resize(structure.functions.size());
    }

    Waits run(const std::vector<std::string>& name_expressions) {
        for (uint32_t at = 0; at + 1 < all_.size(); ++at)   // cooperative groups, and CCCL's barriers
            if (!all_[at].system &&
                (all_[at].is("cooperative_groups") || (all_[at].is("cuda") && all_[at + 1].is("::"))))
                groups_ = true;
        for (const SharedFound& shared : structure_.shared)
            if (!shared.dynamic) shared_.insert(shared.name);
        for (const FunctionFound& function : structure_.functions)
            if (function.user) add_function(function);
        for (const RestFound& rest : structure_.rest) add_rest(rest);
        for (const std::string& expression : name_expressions) add_expression(expression);
        for (Unit& unit : units_) find_mentions(unit);
        find_volatile_names();
        find_observers();
        for (Unit& unit : units_) look_at(unit);
        spread();
        return std::move(found_);
    }

private:
    // -- who mentions whom -------------------------------------------------------------------------------------------

    enum Trait : uint8_t {
        kWaits = 1,
        kIndexInMemory = 2,
        kDeviceShared = 4,
        kOwnMemory = 8,
        kLaunches = 16,
        kLaunchesGraphs = 32,
    };
    /// Traits that restrict where a kernel may run: in doubt, absent. Only calls spread them, not operators.
    static constexpr uint8_t kByCalls = kLaunchesGraphs;

    /// A function, or another piece of code that has traits.
    struct Unit {
        std::string_view name;                // units that mention the name get the traits; empty: all units do
        FunctionTraits* traits = nullptr;     // receives the unit's loops
        std::string_view symbol{};            // + of operator+; a word of a conversion
        TokenRange body{}, parameters{};      // a kernel's
        bool is_kernel = false, is_rest = false;
        std::vector<TokenRange> ranges{};     // all its tokens
        std::vector<TokenRange> code{};       // the parts that are run
        uint8_t does = 0;
        bool observes = false;
    };
    struct Name {
        std::vector<uint32_t> mentioned_by{}, called_by{};   // indices of units_
        uint8_t does = 0;
        bool observes = false;
    };

    Unit& add_unit(std::string_view name, FunctionTraits* traits) {
        if (!name.empty()) name_index(name);
        Unit& unit = units_.emplace_back();
        unit.name = name;
        unit.traits = traits;
        return unit;
    }
    uint32_t name_index(std::string_view name) {
        const auto [at, added] = indices_.try_emplace(name, static_cast<uint32_t>(names_.size()));
        if (added) names_.emplace_back();
        return at->second;
    }

    void add_function(const FunctionFound& function) {
        FunctionTraits& own = found_.functions[static_cast<size_t>(&function - structure_.functions.data())];
        Unit& unit = add_unit(function.is_operator ? std::string_view() : function.name,
                              function.has_body ? &own : &found_.rest);
        if (function.is_operator) {
            uint32_t symbol = function.parameters.begin - 1;
            while (symbol > function.declaration.begin && !all_[symbol - 1].is("operator")) --symbol;
            unit.symbol = all_[symbol].kind == TokenKind::identifier ? kConversion : all_[symbol].text;
        }
        unit.is_kernel = function.kernel;
        uint32_t defaults = function.parameters.begin;
        while (defaults < function.parameters.end && !all_[defaults].is("=")) ++defaults;
        unit.code.push_back({defaults, function.parameters.end});
        if (!function.has_body) {
            unit.ranges = unit.code;
            uint32_t arguments = function.declarator.begin;   // template __global__ void each<add>(int*);
            while (arguments < function.declarator.end && !all_[arguments].is("<")) ++arguments;
            if (function.explicit_instantiation) unit.ranges.push_back({arguments, function.declarator.end});
            return;
        }
        uint32_t first = function.parameters.end;   // the ':' of a constructor, or the body
        while (first < function.body.begin && !all_[first].is(":")) ++first;
        const TokenRange result{function.declaration.begin, function.declarator.begin};
        unit.code.push_back({first, function.body.end});
        if (function.kernel) {
            kernels_.insert(function.name);
            unit.body = function.body;
            unit.parameters = function.parameters;
            unit.ranges = unit.code;
        } else {
            unit.ranges = {result, {function.parameters.begin, function.body.end}};
            unit.code.push_back(result);
        }
    }

    void add_rest(const RestFound& rest) {
        uint32_t value = rest.range.begin;
        while (value < rest.range.end && !all_[value].is("=") && !all_[value].is("{")) ++value;
        const bool lambda = all_[value].is("=") && all_[value + 1].is("[") && value > rest.range.begin &&
                            all_[value - 1].kind == TokenKind::identifier;
        Unit& unit = add_unit(lambda ? all_[value - 1].text : rest.class_name, &found_.rest);
        unit.is_rest = true;
        unit.ranges = {rest.range};
        unit.code = {{value, rest.range.end}};
    }

    /// each<add>: the kernel mentions what its arguments do.
    void add_expression(std::string_view expression) {
        std::vector<std::string_view> words;
        for (size_t at = 0, end = 0; at < expression.size(); at = end + 1) {
            const auto part = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
            for (end = at; end < expression.size() && part(expression[end]);) ++end;
            if (end > at) words.push_back(expression.substr(at, end - at));
        }
        std::string_view kernel;
        for (const std::string_view word : words)
            if (kernel.empty() && kernels_.count(word)) kernel = word;
        Unit& unit = add_unit(kernel, nullptr);
        unit.is_kernel = !kernel.empty();
        for (const std::string_view word : words) mention(unit, word, false);
    }

    void mention(const Unit& unit, std::string_view word, bool called) {
        const auto name = indices_.find(word);
        if (name == indices_.end()) return;
        const auto index = static_cast<uint32_t>(&unit - units_.data());
        Name& mentioned = names_[name->second];
        const auto add = [&](std::vector<uint32_t>& by) {
            if (by.empty() || by.back() != index) by.push_back(index);
        };
        add(mentioned.mentioned_by);
        if (called) add(mentioned.called_by);
    }

    /// A call, or the mention of a function for another function to call.
    bool calls(uint32_t at) const { return all_[at + 1].is("(") || all_[at + 1].is("<") || all_[at + 1].is(">"); }

    void find_mentions(const Unit& unit) {
        if (unit.is_kernel) mention(unit, unit.name, false);   // its instantiations
        for (const TokenRange& range : unit.ranges) {
            uint32_t value = unit.is_rest ? range.end : range.begin;   // from here on no names are declared
            for (uint32_t at = range.begin; at < range.end; ++at) {
                if (all_[at].is("=") || all_[at].is("{")) value = std::min(value, at);
                if (all_[at].kind == TokenKind::identifier && !(at < value && declared(at, range)))
                    mention(unit, all_[at].text, calls(at));
            }
        }
    }

    /// float *sum; declares sum, and mentions no function of that name.
    bool declared(uint32_t at, TokenRange range) const {
        const Token &before = all_[at - (at > 0)], &after = all_[at + 1];
        return at > range.begin &&
               (before.kind == TokenKind::identifier || before.is("*") || before.is("&") || before.is(">") ||
                before.is(",")) &&
               (at + 1 == range.end || after.is(",") || after.is("=") || after.is("[") || after.is("{") ||
                after.is(":") || after.is(")"));
    }

    // -- what looks at the work of others ----------------------------------------------------------------------------

    /// Names declared with volatile, and with type names that are.
    void find_volatile_names() {
        bool more = true;
        while (more) {
            const size_t before = volatile_names_.size();
            bool alias = false;
            for (uint32_t at = 0; at + 1 < all_.size(); ++at) {
                const Token& token = all_[at];
                if (token.system || token.kind != TokenKind::identifier) continue;
                if (token.is("typedef") || token.is("using")) alias = true;
                if (!token.is("volatile") && !volatile_types_.count(token.text)) continue;
                const std::string_view name = declared_after(at + 1, alias);
                if (!name.empty()) (alias && token.is("volatile") ? volatile_types_ : volatile_names_).insert(name);
            }
            more = volatile_names_.size() != before || (before == 0 && !volatile_types_.empty() && !types_seen_);
            types_seen_ = true;
        }
    }

    std::string_view declared_after(uint32_t at, bool& alias) const {
        std::string_view name;
        for (; at < all_.size(); ++at) {
            const Token& token = all_[at];
            if (token.kind == TokenKind::identifier) {
                name = token.text;
            } else if (token.is("<")) {
                at = after_angles(tokens_, at, static_cast<uint32_t>(all_.size() - 1)) - 1;
            } else if (!token.is("*") && !token.is("&") && !token.is("::")) {
                break;
            }
        }
        if (alias) {
            // using T = volatile int: the name comes before.
            for (uint32_t back = at; back-- > 0 && !all_[back].is(";") && !all_[back].is("}");)
                if (all_[back].is("using")) name = all_[back + 1].text;
            alias = false;
        }
        return name;
    }

    /// Is the call at `at` a statement by itself, its answer dropped?
    bool dropped(uint32_t at) const {
        if (!all_[at + 1].is("(") || !all_[all_[at + 1].match + 1].is(";") || at == 0) return false;
        const Token& before = all_[at - 1];
        if (before.is(";") || before.is("{") || before.is("}") || before.is(":") || before.is("else") ||
            before.is("do"))
            return true;
        if (!before.is(")") || before.match == 0) return false;
        const Token& opener = all_[before.match - 1];
        return opener.is("if") || opener.is("while") || opener.is("for") || opener.is("constexpr") ||
               (before.match + 2 == at - 1 && all_[before.match + 1].is("void"));
    }

    bool observes(uint32_t at) const {
        const Token& token = all_[at];
        if (token.system) return false;
        if (token.kind != TokenKind::identifier) return !operators_.empty() && operators_.count(token.text) != 0;
        const std::string_view word = token.text;
        if (word.starts_with("atomic") && word.size() > 6 && (std::isupper(static_cast<unsigned char>(word[6])) != 0))
            return !dropped(at);
        if (word.starts_with("__sync_") || (word.starts_with("__atomic_") && !word.starts_with("__atomic_store") &&
                                            !word.starts_with("__atomic_thread_fence")))
            return true;
        if (among(kObserving, word) || among(kGraphLaunches, word)) return true;
        if (volatile_names_.count(word) || volatile_types_.count(word)) return true;
        if (at > 0 && (all_[at - 1].is(".") || all_[at - 1].is("->")) && among(kObservingMembers, word)) return true;
        if (!calls(at)) return false;
        const auto name = indices_.find(word);
        return name != indices_.end() && names_[name->second].observes;
    }

    /// `converting`: identifiers count too, if the source has a conversion operator that reads other threads' writes.
    uint32_t first_observed(TokenRange range, bool converting = true) const {
        converting = converting && operators_.count(kConversion);
        for (uint32_t at = range.begin; at < range.end; ++at)
            if (observes(at) || (converting && all_[at].kind == TokenKind::identifier)) return at;
        return range.end;
    }
    bool observed(TokenRange range, bool converting = true) const {
        return first_observed(range, converting) != range.end;
    }

    /// Operators are called without being named, so each newly found operator that observes means another turn over
    /// all units.
    void find_observers() {
        for (size_t operators = 0;; operators = operators_.size()) {
            std::vector<uint32_t> fresh;
            for (uint32_t i = 0; i < units_.size(); ++i) {
                Unit& unit = units_[i];
                unit.observes = unit.observes || std::any_of(unit.code.begin(), unit.code.end(),
                                                             [&](TokenRange range) { return observed(range); });
                if (unit.observes) fresh.push_back(i);
            }
            while (!fresh.empty()) {
                const Unit& unit = units_[fresh.back()];
                fresh.pop_back();
                if (!unit.symbol.empty()) operators_.insert(unit.symbol);
                if (unit.name.empty()) continue;
                Name& name = names_[indices_.at(unit.name)];
                if (std::exchange(name.observes, true)) continue;
                for (const uint32_t caller : name.called_by)
                    if (!std::exchange(units_[caller].observes, true)) fresh.push_back(caller);
            }
            if (operators_.size() == operators) return;
        }
    }

    // -- loops -------------------------------------------------------------------------------------------------------

    /// The index after the statement at `at`.
    uint32_t statement_end(uint32_t at, uint32_t end, unsigned depth = 0) const {
        if (depth == kMostNesting) tokens_.refuse(at, "statements are nested too deep");
        while (at < end && all_[at].is("if")) {   // and the next one of `else if`
            const uint32_t condition = all_[at + 1].is("constexpr") ? at + 2 : at + 1;
            const uint32_t after = statement_end(all_[condition].match + 1, end, depth + 1);
            if (after >= end || !all_[after].is("else")) return after;
            at = after + 1;
        }
        if (at >= end) return end;
        const Token& token = all_[at];
        if (token.is("{")) return token.match + 1;
        if (token.is("for") || token.is("while") || token.is("switch"))
            return statement_end(all_[at + 1].match + 1, end, depth + 1);
        if (token.is("do")) return std::min(all_[statement_end(at + 1, end, depth + 1) + 1].match + 2, end);
        for (; at < end && !all_[at].is(";"); ++at)
            if (all_[at].is("(") || all_[at].is("[") || all_[at].is("{")) at = all_[at].match;
        return std::min(at + 1, end);
    }

    bool assigned(std::string_view name, TokenRange range) const {
        for (uint32_t at = range.begin; at < range.end; ++at) {
            if (!all_[at].is(name)) continue;
            const Token &before = all_[at - 1], &after = all_[at + 1];
            if (before.is("++") || before.is("--") || before.is("&") || after.is("++") || after.is("--") ||
                after.is("=") ||
                (after.text.size() == 2 && after.text[1] == '=' && !after.is("==") && !after.is("!=") &&
                 !after.is("<=") && !after.is(">=")))
                return true;
        }
        return false;
    }

    struct ForParts {
        TokenRange condition{}, step{};
        bool over_range = false;
    };
    ForParts parts_of_for(uint32_t open, uint32_t close) const {
        uint32_t first = 0, second = 0;
        for (uint32_t at = open + 1; at < close; ++at) {
            if (all_[at].is("(") || all_[at].is("[") || all_[at].is("{")) at = all_[at].match;
            else if (all_[at].is(";")) (first ? second : first) = at;
        }
        if (second == 0) return {{}, {}, true};
        return {{first + 1, second}, {second + 1, close}, false};
    }

    bool for_can_spin(const ForParts& parts, TokenRange body) const {
        const auto& [condition, step, over_range] = parts;
        bool counted = false;   // i < n, ++i ends even if n is the result of a conversion
        for (uint32_t at = condition.begin; at < condition.end; ++at)
            counted = counted || (all_[at].kind == TokenKind::identifier && assigned(all_[at].text, step));
        if (observed(condition, !counted) || observed(step, !counted)) return true;
        if (!observed(body)) return false;
        if (condition.empty() || step.empty()) return true;
        for (uint32_t at = condition.begin; at < condition.end; ++at)
            if (all_[at].kind == TokenKind::identifier && assigned(all_[at].text, body)) return true;
        return false;
    }

    /// do { assumed = old; old = atomicCAS(p, assumed, …); } while (assumed != old);
    bool read_modify_write(TokenRange body, TokenRange condition) const {
        const uint32_t swap = first_observed(body);
        if (swap == body.end || !all_[swap].text.starts_with("atomicCAS") || !all_[swap - 1].is("=")) return false;
        if (observed({swap + 1, body.end}) || observed(condition)) return false;
        const std::string_view old = all_[swap - 2].text;
        bool mentions_old = false, unequal = false, mentions_copy = false;
        for (uint32_t at = condition.begin; at < condition.end; ++at) {
            mentions_old = mentions_old || all_[at].is(old);
            unequal = unequal || all_[at].is("!=");
            if (all_[at].kind != TokenKind::identifier || all_[at].is(old)) continue;
            for (uint32_t in = body.begin; in + 3 < swap; ++in)
                mentions_copy = mentions_copy || (all_[in].is(all_[at].text) && all_[in + 1].is("=") &&
                                                  all_[in + 2].is(old) && all_[in + 3].is(";"));
        }
        return mentions_old && unequal && mentions_copy;
    }

    /// Does the statement or expression in `range` move `name` on: ++name, name += 2, name >>= 1, name = name + 1?
    bool stepped(std::string_view name, TokenRange range) const {
        for (uint32_t at = range.begin; at < range.end; ++at) {
            if (!all_[at].is(name)) continue;
            const Token &before = all_[at - 1], &after = all_[at + 1];
            if (before.is("++") || before.is("--") || after.is("++") || after.is("--")) return true;
            if (after.is("+=") || after.is("-=") || after.is("*=") || after.is("/=") || after.is("<<=")) return true;
            if (after.is(">") && all_[at + 2].is(">=")) return true;
            if ((after.is("=") || after.is("&=")) && all_[at + 2].is(name)) return true;
        }
        return false;
    }

    /// The variable that is all of `range`, but for a ++ or --; "" if it is anything else.
    std::string_view only_variable(TokenRange range) const {
        while (range.end > range.begin + 1 && (all_[range.begin].is("++") || all_[range.begin].is("--"))) ++range.begin;
        while (range.end > range.begin + 1 && (all_[range.end - 1].is("++") || all_[range.end - 1].is("--")))
            --range.end;
        return range.end == range.begin + 1 && all_[range.begin].kind == TokenKind::identifier ? all_[range.begin].text
                                                                                               : std::string_view();
    }

    /// Does a part of a condition (between &&) count: i < n, n != 0, mask, --n? The loop must step the variable.
    bool counts(TokenRange part, TokenRange done) const {
        const auto moves = [&](TokenRange range) {
            const std::string_view name = only_variable(range);
            return !name.empty() && (stepped(name, done) || stepped(name, part));
        };
        while (part.begin < part.end && all_[part.begin].is("(") && all_[part.begin].match + 1 == part.end)
            part = {part.begin + 1, part.end - 1};
        for (uint32_t at = part.begin; at < part.end; ++at) {
            const Token& token = all_[at];
            if (token.is("(") || token.is("[") || token.is("{")) at = token.match;
            else if (token.is("<") || token.is(">") || token.is("<=") || token.is(">=") || token.is("!="))
                return moves({part.begin, at}) || moves({at + 1, part.end});
        }
        return moves(part);
    }

    /// Does the loop plainly end, even if no other thread runs? `done`: the code of a turn.
    bool ends_by_itself(TokenRange condition, TokenRange done) const {
        uint32_t begin = condition.begin;
        for (uint32_t at = condition.begin; at < condition.end; ++at) {
            const Token& token = all_[at];
            if (token.is("(") || token.is("[") || token.is("{")) at = token.match;
            else if (token.is("||") || token.is("?") || token.is(",") || token.is("or")) return false;
            else if (token.is("&&") || token.is("and")) {
                if (counts({begin, at}, done)) return true;
                begin = at + 1;
            }
        }
        return counts({begin, condition.end}, done);
    }

    /// do { … } while (0): a macro's.
    bool never_again(TokenRange condition) const {
        return condition.end == condition.begin + 1 &&
               (all_[condition.begin].is("0") || all_[condition.begin].is("false"));
    }

    /// A loop can have a counter in front unless jumps lead into the loop.
    bool can_be_watched(TokenRange body) const {
        for (uint32_t at = body.begin; at < body.end; ++at) {
            if (all_[at].is("switch") && all_[at + 1].is("(")) {
                const uint32_t after = all_[at + 1].match + 1;
                if (all_[after].is("{")) at = all_[after].match;
            } else if (all_[at].is("case") || all_[at].is("default")) {
                return false;
            } else if (all_[at].kind == TokenKind::identifier && all_[at + 1].is(":") &&
                       (all_[at - 1].is(";") || all_[at - 1].is("{") || all_[at - 1].is("}"))) {
                return false;
            }
        }
        return true;
    }

    /// True if one of them looks at what others write.
    bool find_loops(TokenRange body, FunctionTraits& traits) const {
        using Kind = SpinningLoop::Kind;
        std::set<uint32_t> ends_of_do;
        bool spins = false;
        const auto add = [&](Kind kind, uint32_t keyword, uint32_t open, bool looks, TokenRange inside, bool ends) {
            if (looks) spins = true;
            else if (ends || !can_be_watched(inside)) return;
            traits.loops.push_back({kind, keyword, open, all_[open].match, !looks});
        };
        for (uint32_t at = body.begin; at < body.end; ++at) {
            const Token& token = all_[at];
            if (token.system) continue;
            if (token.is("do")) {
                const uint32_t end = statement_end(at + 1, body.end);
                if (end + 1 >= body.end || !all_[end].is("while")) continue;
                ends_of_do.insert(end);
                const TokenRange inside{at + 1, end}, condition{end + 2, all_[end + 1].match};
                if (never_again(condition) || read_modify_write(inside, condition)) continue;
                add(Kind::do_loop, at, end + 1, observed(inside) || observed(condition), inside,
                    ends_by_itself(condition, inside));
            } else if (token.is("while") && !ends_of_do.count(at) && all_[at + 1].is("(")) {
                const uint32_t close = all_[at + 1].match, end = statement_end(close + 1, body.end);
                const TokenRange inside{close + 1, end}, condition{at + 2, close};
                const bool nothing_inside =
                    all_[close + 1].is(";") || (all_[close + 1].is("{") && all_[close + 2].is("}"));
                if (never_again(condition)) continue;
                add(Kind::while_loop, at, at + 1, nothing_inside || observed({at + 2, end}), inside,
                    ends_by_itself(condition, inside));
            } else if (token.is("for") && all_[at + 1].is("(")) {
                const uint32_t open = at + 1, close = all_[open].match;
                const TokenRange inside{close + 1, statement_end(close + 1, body.end)};
                const ForParts parts = parts_of_for(open, close);
                if (parts.over_range) continue;
                add(Kind::for_loop, at, open, for_can_spin(parts, inside), inside,
                    ends_by_itself(parts.condition, {parts.step.begin, inside.end}));
            }
        }
        return spins;
    }

    // -- functions ---------------------------------------------------------------------------------------------------

    void look_at(Unit& unit) {
        if (!unit.traits) return;
        std::vector<uint32_t> jumps;
        bool spins = false;
        std::vector<Nested> nested;
        if (unit.is_kernel) nested = find_nested(tokens_, unit.body);
        for (const TokenRange& range : unit.code) {
            spins = find_loops(range, *unit.traits) || spins;
            for (uint32_t at = range.begin; at < range.end; ++at) {
                if (all_[at].is("<<<") && !all_[at].system) unit.does |= kLaunches | kIndexInMemory;
                if (all_[at].kind != TokenKind::identifier) continue;
                unit.does |= what_word_does(at, unit, nested);
                if (all_[at].is("goto")) jumps.push_back(at);
            }
        }
        if (unit.is_rest ? has_arrays(unit) : has_own_memory(unit)) unit.does |= kOwnMemory;
        if (spins) unit.does |= kWaits;
        if (jumps.empty() || !unit.observes) return;
        unit.traits->jumps.insert(unit.traits->jumps.end(), jumps.begin(), jumps.end());
        unit.does |= kWaits;
    }

    /// Memory that threads run as lanes of a vector would share: arrays (with a constant index mostly in registers, but
    /// not always), and variables whose address is taken. Pointees and array elements are found by other checks.
    bool has_own_memory(const Unit& unit) const {
        for (const TokenRange& range : unit.code) {
            for (uint32_t at = range.begin; at < range.end; ++at) {
                if (all_[at].is("__shared__") || all_[at].is("extern"))
                    while (at < range.end && !all_[at].is(";")) ++at;
                const Token &token = all_[at], &after = all_[at + 1];
                if (token.system) continue;
                if (token.kind == TokenKind::identifier && after.is("[") && names_of_.declares(at)) return true;
                if (token.is("array") || token.is("bitset")) return true;
                if (token.is("&") && takes_address(at)) return true;
                if (token.is("{") && all_[at - 1].is(":") && all_[token.match + 1].is(")"))
                    return true;  // for (int x : {1, 2})
            }
        }
        return false;
    }

    /// Does the unit declare an array member or an array type? Device variables don't count: no thread owns them.
    bool has_arrays(const Unit& unit) const {
        for (const TokenRange& range : unit.ranges) {
            bool array = false, variable = false;
            for (uint32_t at = range.begin; at < range.end; ++at) {
                const Token& token = all_[at];
                variable = variable || token.is("__device__") || token.is("__constant__") || token.is("__managed__");
                if (!token.is("[")) continue;
                if (all_[at + 1].is("[") || all_[at - 1].is("=")) at = token.match;   // an attribute, a lambda
                else array = true;
            }
            if (array && !variable) return true;
        }
        return false;
    }

    /// &name and &name.member, of what may be a thread's own.
    bool takes_address(uint32_t at) const {
        const Token& before = all_[at - 1];
        const bool unary = before.is("(") || before.is(",") || before.is("=") || before.is("return") ||
                           before.is("?") || before.is(":") || before.is("{") || before.is(")");
        if (!unary || all_[at + 1].kind != TokenKind::identifier) return false;
        for (++at; all_[at].kind == TokenKind::identifier || all_[at].is(".") || all_[at].is("::");) ++at;
        return !all_[at].is("[") && !all_[at].is("->") && !all_[at].is("(");
    }

    uint8_t what_word_does(uint32_t at, const Unit& unit, const std::vector<Nested>& nested) const {
        const Token& token = all_[at];
        uint8_t does = 0;
        const bool member = all_[at - 1].is(".") || all_[at - 1].is("->") || all_[at - 1].is("::");
        if (waits_by_name(token.text)) does |= kWaits;
        if (groups_ && among(kGroupWaits, token.text) && (member || all_[at + 1].is("(") || all_[at + 1].is("<")))
            does |= kWaits;
        if ((token.is("__shared__") && !unit.is_kernel) || shared_.count(token.text)) does |= kDeviceShared;
        if (among(kIndexed, token.text) || groups_) does |= kIndexInMemory;
        if (launches_graph(at)) does |= kLaunchesGraphs;
        if (token.is("threadIdx") &&
            (!unit.is_kernel || std::any_of(nested.begin(), nested.end(), [&](const Nested& one) {
                return at >= one.body.begin && at < one.body.end;
            })))
            does |= kIndexInMemory;
        return does;
    }

    /// A call of cudaGraphLaunch, or of a function of gpuorch/device/graph.cuh that calls it. Functions and members of
    /// the source with an equal name don't count.
    bool launches_graph(uint32_t at) const {
        if (!among(kGraphLaunches, all_[at].text) || !all_[at + 1].is("(") || at < 2) return false;
        const Token &before = all_[at - 1], &scope = all_[at - 2];
        if (before.is(".") || before.is("->")) return false;
        return (before.is("::") && scope.is("gpo")) || !indices_.count(all_[at].text);
    }

    /// Spreads traits from each unit to the units that mention it. Units without a name count as mentioned by all.
    void spread() {
        std::vector<uint32_t> fresh;
        const auto add = [&](uint32_t index, uint8_t does) {
            if ((does & ~units_[index].does) == 0) return;
            units_[index].does |= does;
            fresh.push_back(index);
        };
        for (uint32_t i = 0; i < units_.size(); ++i)
            if (units_[i].does) fresh.push_back(i);
        uint8_t all_do = 0;
        while (!fresh.empty()) {
            const Unit& unit = units_[fresh.back()];
            fresh.pop_back();
            const uint8_t does = unit.does;
            if (unit.name.empty()) {
                if ((does & ~kByCalls & ~all_do) == 0) continue;
                all_do |= does & ~kByCalls;
                for (uint32_t i = 0; i < units_.size(); ++i) add(i, all_do);
            } else if (unit.body.empty()) {   // no unit mentions a kernel
                Name& name = names_[indices_.at(unit.name)];
                if ((does & ~name.does) == 0) continue;
                name.does |= does;
                for (const uint32_t other : name.mentioned_by) add(other, name.does & ~kByCalls);
                for (const uint32_t other : name.called_by) add(other, name.does & kByCalls);
            }
        }
        for (const Unit& unit : units_) {
            if (!unit.traits || unit.traits == &found_.rest) continue;
            unit.traits->waits = (unit.does & kWaits) != 0;
            unit.traits->index_in_memory = (unit.does & kIndexInMemory) != 0;
            unit.traits->device_shared = (unit.does & kDeviceShared) != 0;
            unit.traits->launches = (unit.does & kLaunches) != 0;
            unit.traits->launches_graphs = (unit.does & kLaunchesGraphs) != 0;
            unit.traits->own_memory = (unit.does & kOwnMemory) != 0;
            for (uint32_t at = unit.parameters.begin; at < unit.parameters.end; ++at)   // each thread has a copy
                if (const auto name = indices_.find(all_[at].text);
                    name != indices_.end() && (names_[name->second].does & kOwnMemory))
                    unit.traits->own_memory = true;
        }
    }

    const TokenList& all_;
    const Tokens& tokens_;
    const Structure& structure_;
    Waits found_;
    std::vector<Unit> units_;
    std::vector<Name> names_;
    std::unordered_map<std::string_view, uint32_t> indices_;
    std::set<std::string_view> volatile_names_, volatile_types_, shared_, kernels_;
    std::set<std::string_view> operators_;   // that look at what others write
    const Names names_of_;
    bool groups_ = false, types_seen_ = false;
};

/// Does the '>' before `at` end what stands before a subscript: table<N>[i]?
bool ends_arguments(const Tokens& tokens, uint32_t at, uint32_t begin) {
    for (uint32_t open = at - 1; open-- > begin;) {
        const Token& token = tokens.all[open];
        if (token.is(";") || token.is("{") || token.is("}")) return false;
        if (token.is("<") && after_angles(tokens, open, at) == at) return true;
    }
    return false;
}

/// Is the '[' at `at` a lambda's, not a subscript's, an attribute's or a structured binding's?
bool introduces(const Tokens& tokens, uint32_t at, uint32_t begin) {
    const TokenList& all = tokens.all;
    const Token& before = all[at - 1];
    if (all[at + 1].is("[")) return false;
    if (before.is("return") || before.is("else") || before.is("do") || before.is("case")) return true;
    if (before.kind == TokenKind::identifier || before.kind == TokenKind::number || before.kind == TokenKind::text)
        return false;
    if (before.is("&") || before.is("&&"))
        return !all[at - 2].is("auto") && !(all[at - 2].is("const") && all[at - 3].is("auto"));
    if (before.is(")"))
        return all[before.match - 1].is("if") || all[before.match - 1].is("for") || all[before.match - 1].is("while");
    if (before.is(">")) return !ends_arguments(tokens, at, begin);
    return !before.is("]") && !before.is("[");
}

}  // namespace

Waits find_waits(const Tokens& tokens, const Structure& structure, const std::vector<std::string>& name_expressions) {
    return Analysis(tokens, structure).run(name_expressions);
}

std::vector<Nested> find_nested(const Tokens& tokens, TokenRange range) {
    const TokenList& all = tokens.all;
    std::vector<Nested> found;
    for (uint32_t at = range.begin; at < range.end; ++at) {
        if (all[at].is("[") && introduces(tokens, at, range.begin)) {
            uint32_t after = all[at].match + 1;
            while (after < range.end && !all[after].is("{") && !all[after].is(";") && !all[after].is(",") &&
                   !all[after].is(")")) {
                if (all[after].is("<")) after = after_angles(tokens, after, range.end);
                else after = all[after].is("(") || all[after].is("[") ? all[after].match + 1 : after + 1;
            }
            if (after < range.end && all[after].is("{")) found.push_back({at, {after + 1, all[after].match}});
        } else if ((all[at].is("struct") || all[at].is("class") || all[at].is("union")) &&
                   !all[at - 1].is("__shared__")) {
            uint32_t after = at + 1;
            while (after < range.end &&
                   (all[after].kind == TokenKind::identifier || all[after].is("(") || all[after].is("<") ||
                    all[after].is(":") || all[after].is("::") || all[after].is(",")))
                after = all[after].is("(")   ? all[after].match + 1
                        : all[after].is("<") ? after_angles(tokens, after, range.end)
                                             : after + 1;
            if (after < range.end && all[after].is("{")) found.push_back({0, {after + 1, all[after].match}});
        }
    }
    return found;
}

}  // namespace gpo::softgpu
