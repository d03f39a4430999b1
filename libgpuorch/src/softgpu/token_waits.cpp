#include "softgpu/token_waits.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace gpo::softgpu {

namespace {

constexpr std::array<std::string_view, 9> kObserving = {
    "volatile", "__threadfence", "__threadfence_block", "__threadfence_system", "__nanosleep",
    "clock",    "clock64",       "__ldcv",              "__ldcg"};
constexpr std::array<std::string_view, 8> kObservingMembers = {
    "load",      "exchange",  "compare_exchange_weak", "compare_exchange_strong",
    "fetch_add", "fetch_sub", "test_and_set",          "wait"};
constexpr std::array<std::string_view, 24> kGroupWaits = {
    "sync", "shfl", "shfl_up", "shfl_down", "shfl_xor", "any", "all", "ballot", "match_any", "match_all", "reduce",
    "inclusive_scan", "exclusive_scan", "coalesced_threads", "barrier_wait", "barrier_arrive", "arrive_and_wait",
    "labeled_partition", "binary_partition", "map_shared_rank", "query_shared_rank", "memcpy_async", "wait",
    "wait_prior"};
constexpr std::array<std::string_view, 5> kIndexed = {"printf", "__gpo_assert_fail", "__trap", "this_thread_block",
                                                      "__gpo_fail"};

template <size_t N>
bool among(const std::array<std::string_view, N>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

bool waits_by_name(std::string_view word) {
    return word.starts_with("__syncthreads") || word.starts_with("__syncwarp") || word.starts_with("__shfl_") ||
           word.starts_with("__match_") || word.starts_with("__reduce_") || word.starts_with("__cluster_") ||
           word == "__isClusterShared" || word == "__ballot_sync" ||
           word == "__any_sync" || word == "__all_sync" || word == "__activemask";
}

class Analysis {
public:
    Analysis(const Tokens& tokens, const Structure& structure)
        : all_(tokens.all), tokens_(tokens), structure_(structure), traits_(structure.functions.size()),
          observes_(structure.functions.size(), false) {}

    std::vector<FunctionTraits> run() {
        for (size_t i = 0; i < structure_.functions.size(); ++i)
            if (structure_.functions[i].has_body && structure_.functions[i].user)
                named_[structure_.functions[i].name].push_back(i);
        for (const Token& token : all_)
            if (!token.system && token.is("cooperative_groups")) groups_ = true;
        find_volatile_names();
        find_observers();
        for (size_t i = 0; i < traits_.size(); ++i)
            if (structure_.functions[i].has_body && structure_.functions[i].user) look_at(i);
        spread();
        return std::move(traits_);
    }

private:
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
        if (token.kind != TokenKind::identifier || token.system) return false;
        const std::string_view word = token.text;
        if (word.starts_with("atomic") && word.size() > 6 && (std::isupper(static_cast<unsigned char>(word[6])) != 0))
            return !dropped(at);
        if (word.starts_with("__sync_") || (word.starts_with("__atomic_") && !word.starts_with("__atomic_store") &&
                                            !word.starts_with("__atomic_thread_fence")))
            return true;
        if (among(kObserving, word) || volatile_names_.count(word) || volatile_types_.count(word)) return true;
        if (at > 0 && (all_[at - 1].is(".") || all_[at - 1].is("->")) && among(kObservingMembers, word)) return true;
        const auto functions = named_.find(word);
        return functions != named_.end() && all_[at + 1].is("(") &&
               std::any_of(functions->second.begin(), functions->second.end(), [&](size_t i) { return observes_[i]; });
    }

    uint32_t first_observed(TokenRange range) const {
        for (uint32_t at = range.begin; at < range.end; ++at)
            if (observes(at)) return at;
        return range.end;
    }
    bool observed(TokenRange range) const { return first_observed(range) != range.end; }

    void find_observers() {
        for (bool more = true; more;) {
            more = false;
            for (size_t i = 0; i < observes_.size(); ++i) {
                const FunctionFound& function = structure_.functions[i];
                if (observes_[i] || !function.has_body || !function.user || !observed(function.body)) continue;
                observes_[i] = more = true;
            }
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

    bool for_can_spin(uint32_t open, uint32_t close, TokenRange body) const {
        uint32_t first = 0, second = 0;
        for (uint32_t at = open + 1; at < close; ++at) {
            if (all_[at].is("(") || all_[at].is("[") || all_[at].is("{")) at = all_[at].match;
            else if (all_[at].is(";")) (first ? second : first) = at;
        }
        if (second == 0) return false;   // over a range
        const TokenRange condition{first + 1, second}, step{second + 1, close};
        if (observed(condition) || observed(step)) return true;
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

    void find_loops(TokenRange body, FunctionTraits& traits) const {
        std::set<uint32_t> ends_of_do;
        for (uint32_t at = body.begin; at < body.end; ++at) {
            const Token& token = all_[at];
            if (token.is("do")) {
                const uint32_t end = statement_end(at + 1, body.end);
                if (end + 1 >= body.end || !all_[end].is("while")) continue;
                ends_of_do.insert(end);
                const TokenRange inside{at + 1, end}, condition{end + 2, all_[end + 1].match};
                if ((observed(inside) || observed(condition)) && !read_modify_write(inside, condition))
                    traits.loops.push_back({SpinningLoop::Kind::do_loop, at, end + 1, all_[end + 1].match});
            } else if (token.is("while") && !ends_of_do.count(at) && all_[at + 1].is("(")) {
                const uint32_t close = all_[at + 1].match, end = statement_end(close + 1, body.end);
                const bool nothing_inside =
                    all_[close + 1].is(";") || (all_[close + 1].is("{") && all_[close + 2].is("}"));
                if (nothing_inside || observed({at + 2, end}))
                    traits.loops.push_back({SpinningLoop::Kind::while_loop, at, at + 1, close});
            } else if (token.is("for") && all_[at + 1].is("(")) {
                const uint32_t close = all_[at + 1].match;
                if (for_can_spin(at + 1, close, {close + 1, statement_end(close + 1, body.end)}))
                    traits.loops.push_back({SpinningLoop::Kind::for_loop, at, at + 1, close});
            }
        }
    }

    // -- functions ---------------------------------------------------------------------------------------------------

    void look_at(size_t index) {
        const FunctionFound& function = structure_.functions[index];
        FunctionTraits& traits = traits_[index];
        find_loops(function.body, traits);
        traits.waits = !traits.loops.empty();
        std::vector<uint32_t> jumps;
        const std::vector<Nested> nested = find_nested(tokens_, function.body);
        for (uint32_t at = function.body.begin; at < function.body.end; ++at) {
            const Token& token = all_[at];
            if (token.kind != TokenKind::identifier) continue;
            const bool member = at > 0 && (all_[at - 1].is(".") || all_[at - 1].is("->") || all_[at - 1].is("::"));
            if (waits_by_name(token.text)) traits.waits = true;
            if (groups_ && among(kGroupWaits, token.text) && (member || all_[at + 1].is("(") || all_[at + 1].is("<")))
                traits.waits = true;
            if (token.is("goto")) jumps.push_back(at);
            if (token.is("__shared__") && !function.kernel) traits.device_shared = true;
            for (const SharedFound& shared : structure_.shared)
                if (!shared.dynamic && token.is(shared.name)) traits.device_shared = true;
            if (among(kIndexed, token.text) || groups_) traits.index_in_memory = true;
            if (token.is("threadIdx") &&
                (!function.kernel || std::any_of(nested.begin(), nested.end(), [&](const Nested& one) {
                     return at >= one.body.begin && at < one.body.end;
                 })))
                traits.index_in_memory = true;
        }
        if (!jumps.empty() && observes_[index]) {
            traits.jumps = std::move(jumps);
            traits.waits = true;
        }
    }

    bool add(FunctionTraits& to, const FunctionTraits& from) const {
        const bool more = (from.waits && !to.waits) || (from.index_in_memory && !to.index_in_memory) ||
                          (from.device_shared && !to.device_shared);
        to.waits = to.waits || from.waits;
        to.index_in_memory = to.index_in_memory || from.index_in_memory;
        to.device_shared = to.device_shared || from.device_shared;
        return more;
    }

    /// A function does what those do that it mentions; and operators are called without being mentioned.
    void spread() {
        for (bool more = true; more;) {
            more = false;
            FunctionTraits operators;
            for (size_t i = 0; i < traits_.size(); ++i)
                if (structure_.functions[i].is_operator) add(operators, traits_[i]);
            for (size_t i = 0; i < traits_.size(); ++i) {
                const FunctionFound& function = structure_.functions[i];
                if (!function.has_body || !function.user) continue;
                more = add(traits_[i], operators) || more;
                for (uint32_t at = function.body.begin; at < function.body.end; ++at) {
                    if (all_[at].kind != TokenKind::identifier) continue;
                    const auto called = named_.find(all_[at].text);
                    if (called == named_.end()) continue;
                    for (const size_t other : called->second)
                        if (!structure_.functions[other].kernel) more = add(traits_[i], traits_[other]) || more;
                }
            }
        }
    }

    const TokenList& all_;
    const Tokens& tokens_;
    const Structure& structure_;
    std::vector<FunctionTraits> traits_;
    std::vector<bool> observes_;
    std::map<std::string_view, std::vector<size_t>> named_;
    std::set<std::string_view> volatile_names_, volatile_types_;
    bool groups_ = false, types_seen_ = false;
};

bool operand(const Token& token) {
    if (token.is("return") || token.is("else") || token.is("do") || token.is("case")) return false;
    return token.kind == TokenKind::identifier || token.kind == TokenKind::number || token.kind == TokenKind::text ||
           token.is(")") || token.is("]") || token.is("[");
}

}  // namespace

std::vector<FunctionTraits> find_waits(const Tokens& tokens, const Structure& structure) {
    return Analysis(tokens, structure).run();
}

std::vector<Nested> find_nested(const Tokens& tokens, TokenRange range) {
    const TokenList& all = tokens.all;
    std::vector<Nested> found;
    for (uint32_t at = range.begin; at < range.end; ++at) {
        if (all[at].is("[") && !all[at + 1].is("[") && !operand(all[at - 1])) {
            uint32_t after = all[at].match + 1;
            while (after < range.end && !all[after].is("{") && !all[after].is(";") && !all[after].is(",")) {
                if (all[after].is("<")) after = after_angles(tokens, after, range.end);
                else after = all[after].is("(") || all[after].is("[") ? all[after].match + 1 : after + 1;
            }
            if (after < range.end && all[after].is("{")) found.push_back({at, {after + 1, all[after].match}});
        } else if ((all[at].is("struct") || all[at].is("class") || all[at].is("union")) &&
                   !all[at - 1].is("__shared__")) {
            uint32_t after = at + 1;
            while (after < range.end && (all[after].kind == TokenKind::identifier || all[after].is("(") ||
                                         all[after].is(":") || all[after].is(",")))
                after = all[after].is("(") ? all[after].match + 1 : after + 1;
            if (after < range.end && all[after].is("{")) found.push_back({0, {after + 1, all[after].match}});
        }
    }
    return found;
}

}  // namespace gpo::softgpu
