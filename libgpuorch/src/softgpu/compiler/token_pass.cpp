#include "softgpu/compiler/token_pass.h"

#include <algorithm>
#include <array>
#include <utility>

#include "softgpu/compiler/messages.h"
#include "softgpu/compiler/names.h"
#include "softgpu/compiler/structure.h"
#include "softgpu/compiler/waits.h"

namespace gpo::softgpu {

namespace {

constexpr uint32_t kNoBound = 1u << 24;   // elements of an `extern __shared__` array, as far as the compiler knows

constexpr std::array<std::string_view, 9> kDropped = {"__device__",       "__host__",      "__constant__",
                                                      "__managed__",      "__shared__",    "__grid_constant__",
                                                      "__cudart_builtin__", "__tile__",    "__nv_pure__"};
constexpr std::array<std::string_view, 4> kDroppedWithArguments = {"__launch_bounds__", "__cluster_dims__",
                                                                   "__maxnreg__", "__block_size__"};
constexpr std::array<std::string_view, 4> kTextures = {"tex1D", "tex2D", "tex3D", "texCubemap"};
constexpr std::array<std::string_view, 8> kFetches = {"",       "Lod",     "Grad",       "fetch",
                                                      "gather", "Layered", "LayeredLod", "LayeredGrad"};
constexpr std::array<std::string_view, 4> kSurfaces = {"surf1D", "surf2D", "surf3D", "surfCubemap"};
constexpr std::array<std::string_view, 6> kStreamCalls = {"cudaStreamCreateWithFlags", "cudaStreamDestroy",
                                                          "cudaStreamWaitEvent",       "cudaEventCreateWithFlags",
                                                          "cudaEventRecord",           "cudaEventDestroy"};
constexpr std::array<std::string_view, 20> kValueTypes = {
    "bool",   "char",    "short",    "int",      "long",   "float",     "double",      "signed", "unsigned", "size_t",
    "struct", "class",   "union",    "enum",     "half",   "ptrdiff_t", "clock_t",     "wchar_t", "char8_t", "dim3"};
constexpr std::array<std::string_view, 7> kElements = {"char", "short", "int", "long", "longlong", "float", "double"};
constexpr std::array<std::string_view, 3> kBeforeStatements = {"else", "do", "return"};
constexpr std::array<std::string_view, 4> kAccesses = {"read", "write", "Layeredread", "Layeredwrite"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kPlaces = {{
    {"threadIdx", "__gpo_thread_index()"},
    {"blockIdx", "__gpo_block_index()"},
    {"blockDim", "__gpo_block_dim()"},
    {"gridDim", "__gpo_grid_dim()"},
}};

/// Whether `word` is one of `beginnings` and one of `ends`.
template <class Beginnings, class Ends>
bool composed(const Beginnings& beginnings, const Ends& ends, std::string_view word) {
    return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view begin) {
        return word.starts_with(begin) && among(ends, word.substr(begin.size()));
    });
}

bool texture(std::string_view word) {
    return composed(kTextures, kFetches, word) || composed(kSurfaces, kAccesses, word) ||
           word == "cudaTextureObject_t" || word == "cudaSurfaceObject_t";
}

std::string c_literal(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + '"';
}

class Pass {
public:
    Pass(std::string_view source, const PassOptions& options)
        : source_(source), options_(options), tokens_(tokenize(source)), all_(tokens_.all),
          structure_(find_structure(tokens_)), names_(tokens_, structure_),
          waits_(find_waits(tokens_, structure_, meant())) {}

    Rewritten run() {
        refuse_what_is_outside();
        refuse_lost_kernels();
        for (const SharedFound& shared : structure_.shared) namespace_shared(shared);
        for (size_t i = 0; i < structure_.functions.size(); ++i) function(structure_.functions[i], waits_.functions[i]);
        rest();
        for (const VariableFound& variable : structure_.variables) register_variable(variable);
        places_whole_ =
            std::any_of(kPlaces.begin(), kPlaces.end(), [&](const auto& place) { return named_whole(place.first); });
        for (uint32_t at = 0; at + 1 < all_.size(); ++at)
            if (!all_[at].system || names_function(all_[at])) word(at);   // assert() is a header's macro
        out_.text = beginning();
        apply();
        out_.text += ending();
        find_kernels();
        return std::move(out_);
    }

private:
    struct Edit {
        uint32_t offset, removed;
        std::string text;
    };

    // -- edits -------------------------------------------------------------------------------------------------------

    void insert_before(uint32_t token, std::string text) { edits_.push_back({all_[token].offset, 0, std::move(text)}); }
    void insert_after(uint32_t token, std::string text) { edits_.push_back({all_[token].end(), 0, std::move(text)}); }
    void replace(uint32_t token, std::string text) {
        edits_.push_back({all_[token].offset, static_cast<uint32_t>(all_[token].text.size()), std::move(text)});
    }

    void apply() {
        std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) {
            return a.offset != b.offset ? a.offset < b.offset : (a.removed == 0 && b.removed != 0);
        });
        out_.text.reserve(source_.size() + source_.size() / 4);
        uint32_t at = 0;
        for (const Edit& edit : edits_) {
            if (edit.offset < at) continue;   // within something removed
            keep(at, edit.offset);
            if (edit.removed != 0)
                out_.kept.push_back({here(), edit.offset, static_cast<uint32_t>(edit.text.size()), true});
            out_.text += edit.text;
            at = edit.offset + edit.removed;
        }
        keep(at, static_cast<uint32_t>(source_.size()));
    }
    uint32_t here() const { return static_cast<uint32_t>(out_.text.size()); }
    void keep(uint32_t begin, uint32_t end) {
        if (begin == end) return;
        out_.kept.push_back({here(), begin, end - begin, false});
        out_.text += source_.substr(begin, end - begin);
    }

    void find_kernels() {
        for (const FunctionFound& found : structure_.functions) {
            if (!found.kernel || !found.user) continue;
            Rewritten::Kernel kernel{std::string(found.name),
                                     all_[found.declaration.begin].offset,
                                     all_[found.declaration.end - 1].end(),
                                     {}};
            for (const TokenRange& nested : nested_)
                if (nested.begin >= found.body.begin && nested.end <= found.body.end)
                    kernel.nested.emplace_back(all_[nested.begin].offset, all_[nested.end].offset);
            out_.kernels.push_back(std::move(kernel));
        }
    }

    [[noreturn]] void refuse(uint32_t token, const std::string& sentence) const { tokens_.refuse(token, sentence); }

    struct NamespaceShared {
        std::string_view name;
        std::string variable;             // the variable as an expression
        const SharedFound* shared;
    };

    // -- words -------------------------------------------------------------------------------------------------------

    /// Refuses a missing header of CUDA's at the user's #include. `sign`: a header that every missing header includes.
    void refuse_header(const Included& sign) const {
        const size_t folder = folder_of_missing(sign.name);
        if (folder == 0) return;
        const Included* outermost = &sign;
        while (outermost->parent != UINT32_MAX &&
               tokens_.included[outermost->parent].name.starts_with(std::string_view(sign.name).substr(0, folder)))
            outermost = &tokens_.included[outermost->parent];
        throw SourceError(tokens_.files[outermost->file], outermost->line,
                          missing_header(outermost->name.substr(folder)));
    }

    void refuse_what_is_outside() const {
        for (const Included& one : tokens_.included) refuse_header(one);
        for (uint32_t at = 0; at + 1 < all_.size(); ++at) {
            const Token& token = all_[at];
            if (token.system) continue;
            if (token.is("<<<") && !options_.launches)
                refuse(at, "a kernel that launches kernels is compiled with the flag GPO_COMPILE_DYNAMIC_PARALLELISM");
            if (token.kind != TokenKind::identifier) continue;
            if (among(kStreamCalls, token.text) && all_[at + 1].is("("))
                refuse(at, std::string(token.text) +
                               ": kernels make no streams or events on the software GPU; they launch into their "
                               "block's stream, cudaStreamFireAndForget and cudaStreamTailLaunch");
            if (token.is("cudaDeviceSynchronize") && all_[at + 1].is("("))
                refuse(at,
                       "a kernel can't wait for what it launches (cudaDeviceSynchronize): what is to follow that is "
                       "launched in cudaStreamTailLaunch");
            if (token.is("asm") || token.is("__asm__") || token.is("__asm"))
                refuse(at, "inline PTX (asm) is not on the software GPU");
            if (texture(token.text) || (token.is("texture") && all_[at + 1].is("<")))
                refuse(at,
                       "textures and surfaces (" + std::string(token.text) + ") are not on the software GPU");
        }
    }

    /// A kernel that the walk over the declarations didn't find would run unchanged, on the caller's stack.
    void refuse_lost_kernels() const {
        auto function = structure_.functions.begin();
        for (uint32_t at = 0; at + 1 < all_.size(); ++at) {
            if (!all_[at].is("__global__") || all_[at].system) continue;
            while (function != structure_.functions.end() && function->declaration.end <= at) ++function;
            if (function == structure_.functions.end() || function->declaration.begin > at)
                refuse(at,
                       "the declaration that this __global__ belongs to isn't understood; is a ';' missing before it?");
        }
    }

    bool is_member(uint32_t at) const { return at > 0 && (all_[at - 1].is(".") || all_[at - 1].is("->")); }

    /// Is the name used other than to access a member? Then it may also be the name of something else.
    bool named_whole(std::string_view place) const {
        for (uint32_t at = 0; at + 1 < all_.size(); ++at)
            if (all_[at].is(place) && !all_[at].system && !is_member(at) && !all_[at + 1].is(".")) return true;
        return false;
    }

    bool in_attribute(uint32_t at) const {
        return at > 0 && (all_[at - 1].is("(") || all_[at - 1].is(",")) &&
               (all_[at + 1].is(")") || all_[at + 1].is(","));
    }

    static bool names_function(const Token& token) {
        return token.is("__func__") || token.is("__FUNCTION__") || token.is("__PRETTY_FUNCTION__");
    }

    void word(uint32_t at) {
        const Token& token = all_[at];
        if (token.kind != TokenKind::identifier) return;
        if (token.is("__global__")) {
            replace(at, "__attribute__((noinline))");
        } else if (among(kDropped, token.text)) {
            const bool marked = options_.constant_initializers && structure_.spaces.contains(at);
            replace(at, !marked          ? ""
                        : options_.clang ? "__attribute__((require_constant_initialization))"
                                         : "__constinit");
        } else if (among(kDroppedWithArguments, token.text) && all_[at + 1].is("(")) {
            edits_.push_back({token.offset, all_[all_[at + 1].match].end() - token.offset, ""});
        } else if (token.is("__forceinline__")) {
            const bool twice = (at > 0 && all_[at - 1].is("inline")) || all_[at + 1].is("inline");
            replace(at, twice ? "__attribute__((always_inline))" : "inline __attribute__((always_inline))");
        } else if (token.is("__noinline__") && !in_attribute(at)) {
            replace(at, "__attribute__((noinline))");
        } else if (token.is("__align__") && all_[at + 1].is("(")) {
            replace(at, "__attribute__((aligned");
            insert_after(all_[at + 1].match, "))");
        } else if ((token.is("printf") || token.is("clock")) && all_[at + 1].is("(") && !is_member(at)) {
            replace(at, token.is("printf") ? "__gpo_printf" : "__gpo_clock");
            if (at > 1 && all_[at - 1].is("::") && all_[at - 2].is("std")) {
                replace(at - 1, "");
                replace(at - 2, "");
            }
        } else if (names_function(token)) {
            if (const FunctionFound* kernel = kernel_around(at))
                replace(at, token.is("__PRETTY_FUNCTION__") ? "__gpo_function" : c_literal(kernel->name));
        } else if (!is_member(at)) {
            for (const auto& [name, call] : kPlaces)
                if (token.is(name) && !(places_whole_ && names_.own(at)))
                    replace(at, kernel_around(at) ? "__gpo_t." + std::string(name) : std::string(call));
        }
    }

    /// The kernel in whose own body, where threadIdx is a value at hand, `at` is; not in a lambda or class within it.
    const FunctionFound* kernel_around(uint32_t at) const {
        for (const TokenRange& nested : nested_)
            if (at >= nested.begin && at < nested.end) return nullptr;
        for (const FunctionFound* kernel : kernels_)
            if (at >= kernel->body.begin && at < kernel->body.end) return kernel;
        return nullptr;
    }

    /// The text of tokens as it is to be compiled, for use in another place.
    std::string rendered(TokenRange range) const {
        std::string out;
        for (uint32_t at = range.begin; at < range.end; ++at) {
            const Token& token = all_[at];
            if (token.kind == TokenKind::identifier && among(kDropped, token.text)) continue;
            if (token.is("__align__") && all_[at + 1].is("(")) {
                at = all_[at + 1].match;
                continue;
            }
            if (token.is("[") && all_[at + 1].is("[")) {   // an attribute: Clang takes it for a lambda in there
                at = token.match;
                continue;
            }
            out += token.text;
            out += ' ';
        }
        return out;
    }

    /// Parameters without their default arguments.
    std::string parameter_types(TokenRange range) const {
        std::string out;
        bool skipping = false;
        for (uint32_t at = range.begin; at < range.end; ++at) {
            const Token& token = all_[at];
            uint32_t last = at;
            if (token.is("(") || token.is("[") || token.is("{")) last = token.match;
            else if (token.is("<")) last = after_angles(tokens_, at, range.end) - 1;
            if (token.is("=")) skipping = true;
            if (token.is(",")) skipping = false;
            if (!skipping) out += rendered({at, last + 1});
            at = last;
        }
        return out;
    }

    // -- shared memory -----------------------------------------------------------------------------------------------

    /// extern __shared__ T name[] becomes the type of the block's dynamic shared memory.
    std::string open_dynamic(TokenRange declaration, std::string_view name) {
        const std::string type = "__gpo_e" + std::to_string(++count_);
        insert_before(declaration.begin, "struct " + type + " { ");
        for (uint32_t at = declaration.begin; at < declaration.end; ++at) {
            if (all_[at].is("extern")) replace(at, "");
            if (all_[at].is(name) && all_[at + 1].is("[") && all_[at + 2].is("]"))
                insert_after(at + 1, std::to_string(kNoBound));
            if (all_[at].is("{")) at = all_[at].match;
        }
        return type;
    }
    static std::string dynamic_variable(const std::string& type, std::string_view name) {
        return "__gpo_dynamic<" + type + ">()->" + std::string(name);
    }
    static std::string shared_variable(const std::string& type, std::string_view name, const char* tag) {
        return "__gpo_shared<" + type + ", " + tag + ">()." + std::string(name);
    }
    static std::string reference(std::string_view name, const std::string& variable) {
        const std::string word(name);
        return "auto& " + word + " = " + variable + "; (void)&" + word + ";";
    }

    void namespace_shared(const SharedFound& shared) {
        if (shared.dynamic) {
            const std::string type = open_dynamic(shared.declaration, shared.name);
            namespace_shared_.push_back({shared.name, dynamic_variable(type, shared.name), &shared});
        } else {
            const std::string type = "__gpo_s" + std::to_string(++count_);
            insert_before(shared.declaration.begin, "struct " + type + " { ");
            for (uint32_t at = shared.declaration.begin; at < shared.declaration.end; ++at) {
                if (all_[at].is("static")) replace(at, "");
                if (all_[at].is("=")) refuse(at, "a __shared__ variable can't be initialised");
            }
            for (const std::string_view name : declared_names(shared.declaration))
                namespace_shared_.push_back({name, shared_variable(type, name, "__gpo_device_tag"), &shared});
        }
        insert_after(shared.declaration.end, " };");
    }

    uint32_t statement_begin(uint32_t at, uint32_t floor) const {
        for (;;) {
            while (at > floor && !all_[at - 1].is(";") && !all_[at - 1].is("{") && !all_[at - 1].is("}") &&
                   !all_[at - 1].is(":") && !all_[at - 1].is(")"))
                --at;
            // alignas(16) and the like end with a bracket and are part of the declaration.
            if (at <= floor + 1 || !all_[at - 1].is(")")) return at;
            const uint32_t before = all_[at - 1].match - 1;
            if (!all_[before].is("alignas") && !all_[before].is("__align__") && !all_[before].is("__attribute__"))
                return at;
            at = before;
        }
    }

    /// The names declared by the tokens of a declaration.
    std::vector<std::string_view> declared_names(TokenRange declaration) const {
        std::vector<std::string_view> names;
        std::string_view name;
        for (uint32_t at = declaration.begin; at <= declaration.end; ++at) {
            const Token& token = all_[at];
            if (at == declaration.end || token.is(",")) {
                if (!name.empty()) names.push_back(name);
                name = {};
            } else if (token.is("(") || token.is("[") || token.is("{")) {
                at = token.match;
            } else if (token.is("<")) {
                at = after_angles(tokens_, at, declaration.end) - 1;
            } else if (token.kind == TokenKind::identifier && !among(kDropped, token.text) &&
                       !takes_parentheses(token.text)) {
                name = token.text;
            }
        }
        return names;
    }

    /// A shared variable in a function's body, and where its name is known. There the name is a reference, or each use
    /// is replaced by the expression.
    struct SharedReference {
        std::string_view name;
        TokenRange known;
        std::string variable;             // the variable as an expression
        bool spelled_out = false;
    };

    /// May a jump lead past a declaration before `known`? C++ forbids to initialise a reference there.
    bool jumped_over(TokenRange known, TokenRange body) const {
        const uint32_t open = all_[known.end].is("}") ? all_[known.end].match : known.begin;
        const bool chooses = all_[open - 1].is(")") && all_[all_[open - 1].match - 1].is("switch");
        for (uint32_t at = known.begin; at < known.end; ++at) {
            if (chooses && (all_[at].is("case") || all_[at].is("default"))) return true;
            if (!all_[at].is(":") || all_[at - 1].kind != TokenKind::identifier) continue;
            for (uint32_t jump = body.begin; jump < known.begin; ++jump)
                if (all_[jump].is("goto") && all_[jump + 1].is(all_[at - 1].text)) return true;
        }
        return false;
    }

    /// The end of the block that `at` is in.
    uint32_t block_end(uint32_t at, TokenRange body) const {
        while (at-- > body.begin) {
            if (all_[at].is("{")) return all_[at].match;
            if (all_[at].is(")") || all_[at].is("]") || all_[at].is("}")) at = all_[at].match;
        }
        return body.end;
    }

    /// Rewrites a __shared__ declaration inside a function. `captured` gets the names for lambdas to capture.
    void local_shared(uint32_t shared, TokenRange body, bool kernel, std::vector<SharedReference>& captured) {
        const uint32_t begin = statement_begin(shared, body.begin);
        uint32_t end = shared;
        bool external = false;
        while (end < body.end && !all_[end].is(";"))
            end = all_[end].is("(") || all_[end].is("[") || all_[end].is("{") ? all_[end].match + 1 : end + 1;
        if (end >= body.end) refuse(shared, "a __shared__ declaration doesn't end with ';'");
        for (uint32_t at = begin; at < end; ++at) {
            external = external || all_[at].is("extern");
            if (all_[at].is("static")) replace(at, "");
            if (all_[at].is("=")) refuse(at, "a __shared__ variable can't be initialised");
            if (all_[at].is("{") || all_[at].is("[") || all_[at].is("(")) at = all_[at].match;
        }
        const std::vector<std::string_view> names = declared_names({begin, end});
        if (names.empty()) refuse(shared, "a __shared__ variable needs a name");
        const TokenRange known{end, block_end(shared, body)};
        const bool spelled_out = jumped_over(known, body);
        std::string references = " };";
        const auto declare = [&](std::string_view name, const std::string& variable) {
            if (!spelled_out) references += " " + reference(name, variable);
            captured.push_back({name, known, variable, spelled_out});
        };
        if (external) {
            const std::string type = open_dynamic({begin, end}, names.front());
            declare(names.front(), dynamic_variable(type, names.front()));
            insert_after(end, references);
            return;
        }
        const std::string type = "__gpo_s" + std::to_string(++count_);
        const char* tag = kernel ? "__gpo_tag" : "__gpo_device_tag";
        insert_before(begin, "struct " + type + " { ");
        for (const std::string_view name : names) declare(name, shared_variable(type, name, tag));
        insert_after(end, references);
    }

    /// Shared variables aren't captured in CUDA; here they are references, which must be captured as such.
    void capture(const std::vector<Nested>& nested, const std::vector<SharedReference>& shared) {
        for (const Nested& lambda : nested) {
            if (lambda.introducer == 0) continue;
            const uint32_t open = lambda.introducer, close = all_[open].match;
            if (all_[open + 1].is("&") && (all_[open + 2].is("]") || all_[open + 2].is(","))) continue;
            std::string added;
            for (const auto& [name, known, variable, spelled_out] : shared) {
                if (spelled_out || in_class(open, nested, known) || open < known.begin || open >= known.end ||
                    names_.hidden(name, known.begin, open))
                    continue;
                if (!mentions(name, lambda.body) || mentions(name, {open, close})) continue;
                if (is_parameter(name, {close, lambda.body.begin})) continue;
                if (!added.empty() || close != open + 1) added += ", ";
                added += "&" + std::string(name);
            }
            if (!added.empty()) insert_before(close, added);
        }
    }

    /// Is `at` in the body of a local class declared where the variable is known? A class with a member of that name
    /// doesn't count.
    bool in_class(uint32_t at, const std::vector<Nested>& nested, TokenRange known, std::string_view name = {}) const {
        return std::any_of(nested.begin(), nested.end(), [&](const Nested& one) {
            return one.introducer == 0 && one.body.begin > known.begin && at >= one.body.begin && at < one.body.end &&
                   !names_.member(one.body, name);
        });
    }

    /// Spells the variable out where a reference is impossible: in blocks entered by jumps, and in local classes.
    void spell_out(const std::vector<Nested>& nested, const std::vector<SharedReference>& shared) {
        for (const auto& [name, known, variable, spelled_out] : shared)
            for (uint32_t at = known.begin; at < known.end; ++at)
                if (all_[at].is(name) && !is_member(at) && (spelled_out || in_class(at, nested, known, name)) &&
                    !names_.declares(at) && !names_.hidden(name, known.begin, at))
                    replace(at, variable);
    }

    bool is_parameter(std::string_view name, TokenRange lambda) const {
        for (uint32_t at = lambda.begin; at < lambda.end; ++at) {
            const Token &before = all_[at - 1], &after = all_[at + 1];
            if (all_[at].is(name) && !before.is("=") && !before.is("(") && !before.is(",") &&
                (after.is(",") || after.is(")") || after.is("=") || after.is("[")))
                return true;
        }
        return false;
    }

    bool mentions(std::string_view name, TokenRange range) const {
        for (uint32_t at = range.begin; at < range.end; ++at)
            if (all_[at].is(name) && !is_member(at)) return true;
        return false;
    }

    // -- functions ---------------------------------------------------------------------------------------------------

    /// Reports in the user's words the errors that the C++ compiler would find in the rewritten kernel.
    void check_signature(const FunctionFound& kernel) const {
        refuse_result({kernel.declaration.begin, kernel.declarator.begin}, kernel);
        const uint32_t after = kernel.parameters.end + 1;
        if (all_[after].is("->"))
            refuse_result({after + 1, kernel.has_body ? kernel.body.begin - 1 : kernel.declaration.end}, kernel);
        bool in_default = false;
        for (uint32_t at = kernel.parameters.begin; at < kernel.parameters.end; ++at) {
            const Token& token = all_[at];
            if (token.is("=")) in_default = true;
            if (token.is(",")) in_default = false;
            const uint32_t of = token.is("(") ? at + 1 : at;   // int (&a)[4]
            if (!in_default && (all_[of].is("&") || all_[of].is("&&")))
                refuse(of, "kernel `" + std::string(kernel.name) +
                               "` has a parameter that is a reference, and what it refers to would be the host's: a "
                               "kernel takes values and pointers to device memory");
            if (token.is("(") || token.is("[") || token.is("{")) at = token.match;
            else if (token.is("<")) at = after_angles(tokens_, at, kernel.parameters.end) - 1;
        }
    }

    /// Checks the tokens of a kernel's return type. The type behind an alias isn't known here.
    void refuse_result(TokenRange range, const FunctionFound& kernel) const {
        bool type = false;   // the token before belongs to a type that is known
        for (uint32_t at = range.begin; at < range.end; ++at) {
            const Token& token = all_[at];
            const bool reached = token.is("*") || token.is("&") || token.is("&&");
            if (value_type(token) || (reached && type))
                refuse(at, "kernel `" + std::string(kernel.name) +
                               "` is declared to return a value, which nobody would get: a kernel returns void");
            type = token.is("void") || (type && token.is("const"));
            if (token.is("(") || token.is("[")) at = token.match;
            else if (token.is("<")) at = after_angles(tokens_, at, range.end) - 1;
        }
    }

    static bool value_type(const Token& token) {
        std::string_view name = token.text;
        if (token.kind != TokenKind::identifier) return false;
        if (among(kValueTypes, name)) return true;
        if (name.ends_with("_t") && (name.starts_with("int") || name.starts_with("uint"))) return true;
        const bool vector = name.back() >= '1' && name.back() <= '4';   // float4
        if (!vector) return false;
        name.remove_suffix(1);
        if (name.starts_with("u")) name.remove_prefix(1);
        return among(kElements, name);
    }

    void function(const FunctionFound& found, const FunctionTraits& traits) {
        if (found.kernel && found.in_class)
            refuse(found.declaration.begin, "a __global__ function can't be a member of a class");
        if (found.kernel && found.user && !found.explicit_instantiation) check_signature(found);
        if (found.kernel && found.explicit_instantiation)
            register_kernel(found, found.declaration.end, rendered(found.declarator));
        if (!found.has_body || !found.user) return;
        const std::vector<Nested> nested = find_nested(tokens_, found.body);
        for (const Nested& one : nested) nested_.push_back(one.body);
        if (found.kernel) kernels_.push_back(&found);
        std::vector<SharedReference> captured;
        const std::string outer = namespace_shared_for(found, captured);
        if (found.kernel) open_kernel(found, traits, outer);
        else if (!outer.empty()) insert_after(found.body.begin - 1, " " + outer + " {");
        for (uint32_t at = found.body.begin; at < found.body.end; ++at)
            if (all_[at].is("__shared__")) local_shared(at, found.body, found.kernel, captured);
        if (!captured.empty()) capture(nested, captured);
        spell_out(nested, captured);
        launches(found.body);
        yields(traits);
        if (found.kernel) close_kernel(found);
        else if (!outer.empty()) insert_before(found.body.end, "} ");
    }

    /// Lambdas outside of functions.
    void rest() {
        for (const RestFound& found : structure_.rest) {
            launches(found.range);
            std::vector<SharedReference> captured;
            for (uint32_t at = found.range.begin; at < found.range.end; ++at)
                if (all_[at].is("__shared__")) local_shared(at, found.range, false, captured);
            if (captured.empty()) continue;
            const std::vector<Nested> nested = find_nested(tokens_, found.range);
            capture(nested, captured);
            spell_out(nested, captured);
        }
        yields(waits_.rest);
    }

    // -- launches ----------------------------------------------------------------------------------------------------

    /// The '<' of the template arguments that end before `end`; 0: there is none.
    uint32_t opening_angle(uint32_t end) const {
        for (uint32_t open = end - 1; open-- > 0;) {
            const Token& token = all_[open];
            if (token.is(";") || token.is("{") || token.is("}")) return 0;
            if (token.is("<") && after_angles(tokens_, open, end) == end) return open;
        }
        return 0;
    }

    /// Where the name begins that a launch's `<<<` follows: a kernel, with its scopes and template arguments.
    uint32_t launched_name(uint32_t launch) const {
        for (uint32_t at = launch;;) {
            const uint32_t angle = all_[at - 1].is(">") ? opening_angle(at) : at;
            if (angle == 0 || all_[angle - 1].kind != TokenKind::identifier)
                refuse(launch, "what is launched must be named: a kernel, with its template arguments if it needs any");
            at = angle - 1;
            if (all_[at - 1].is("template")) --at;
            if (!all_[at - 1].is("::")) return at;
            --at;
            const Token& scope = all_[at - 1];
            const bool named = scope.kind == TokenKind::identifier && !among(kBeforeStatements, scope.text);
            if (!named && !scope.is(">")) return at;
        }
    }

    /// The first of the three '>' before the arguments.
    uint32_t end_of_shape(uint32_t launch, uint32_t end) const {
        for (uint32_t at = launch + 1; at + 3 < end; ++at) {
            if (all_[at].is("(") || all_[at].is("[") || all_[at].is("{"))
                at = all_[at].match;
            else if (all_[at].is(">") && all_[at + 1].is(">") && all_[at + 2].is(">") && all_[at + 3].is("("))
                return at;
        }
        refuse(launch, "a launch needs >>>(arguments)");
    }

    /// kernel<<<shape>>>(arguments) becomes (__gpo_shape(shape), kernel(arguments)).
    void launches(TokenRange range) {
        for (uint32_t at = range.begin; at < range.end; ++at) {
            if (!all_[at].is("<<<")) continue;
            const uint32_t name = launched_name(at), close = end_of_shape(at, range.end);
            for (uint32_t token = name; token <= at; ++token) replace(token, token == name ? "(__gpo_shape(" : "");
            replace(close, "), " + rendered({name, at}));
            replace(close + 1, "");
            replace(close + 2, "");
            insert_after(all_[close + 3].match, ")");
        }
    }

    void yields(const FunctionTraits& traits) {
        for (const SpinningLoop& loop : traits.loops) spinning(loop);
        for (const uint32_t jump : traits.jumps) {
            insert_before(jump, "{ __gpo_jump(); ");
            insert_after(jump + 2, " }");
        }
    }

    std::string namespace_shared_for(const FunctionFound& found, std::vector<SharedReference>& captured) const {
        std::string out;
        for (const auto& [name, variable, shared] : namespace_shared_) {
            if (found.declaration.end <= shared->declaration.begin || !names_.sees(found, shared->scopes)) continue;
            if (!mentions(name, found.body) || mentions(name, found.parameters) || names_.member(found, name)) continue;
            out += reference(name, variable) + " ";
            captured.push_back({name, found.body, variable, false});
        }
        return out;
    }

    /// The arguments of an attribute, as expressions; none for the token 0.
    std::vector<std::string> attribute_arguments(uint32_t attribute) const {
        std::vector<std::string> arguments;
        if (attribute == 0 || !all_[attribute + 1].is("(")) return arguments;
        const uint32_t close = all_[attribute + 1].match;
        for (uint32_t begin = attribute + 2; begin < close;) {
            uint32_t end = begin;
            for (; end < close && !all_[end].is(","); ++end) {
                if (all_[end].is("(")) end = all_[end].match;
                else if (all_[end].is("<") && all_[end - 1].kind == TokenKind::identifier)
                    end = after_angles(tokens_, end, close) - 1;
            }
            arguments.push_back("(unsigned)(" + rendered({begin, end}) + ")");
            begin = end + 1;
        }
        return arguments;
    }

    /// A kernel's properties other than its body, as constants of its tag.
    std::string kernel_constants(const FunctionFound& found, const FunctionTraits& traits) const {
        std::vector<std::string> cluster = attribute_arguments(found.cluster_dims);
        cluster.resize(3, cluster.empty() ? "0" : "1");
        return "device_shared = " + std::string(traits.device_shared ? "1" : "0") + ", cluster_x = " + cluster[0] +
               ", cluster_y = " + cluster[1] + ", cluster_z = " + cluster[2];
    }

    /// For a launch by a kernel.
    std::string kernel_name(const FunctionFound& found) const {
        if (!launches_) return {};
        return " static const char* name() { return " + c_literal(found.name) + "; }";
    }

    /// Names of parameters with __grid_constant__: all threads may look at one copy.
    std::vector<std::string> grid_constants(TokenRange parameters) const {
        std::vector<std::string> names;
        for (uint32_t at = parameters.begin; at < parameters.end; ++at) {
            if (!all_[at].is("__grid_constant__")) continue;
            std::string_view name;
            for (; at < parameters.end && !all_[at].is(","); ++at) {
                if (all_[at].is("<")) at = after_angles(tokens_, at, parameters.end) - 1;
                else if (all_[at].kind == TokenKind::identifier) name = all_[at].text;
            }
            names.emplace_back(name);
        }
        return names;
    }

    /// Does the source ask what kind of memory a pointer leads to?
    bool asks_for_spaces() const {
        return std::any_of(all_.begin(), all_.end(), [](const Token& token) {
            return !token.system && (token.is("__isGridConstant") || token.is("__isLocal"));
        });
    }

    bool has_launches() const {
        return std::any_of(all_.begin(), all_.end(),
                           [](const Token& token) { return !token.system && token.is("<<<"); });
    }

    void open_kernel(const FunctionFound& found, const FunctionTraits& traits, const std::string& outer) {
        const bool waits = traits.waits || options_.fibers;
        const std::string flags =
            std::to_string((waits ? 1 : 0) + (traits.index_in_memory ? 2 : 0) + (traits.own_memory ? 4 : 0) +
                           (launches_ ? 8 : 0) + (traits.launches ? 16 : 0) + (traits.launches_graphs ? 32 : 0));
        const std::string inlined = waits            ? " mutable"
                                    : options_.clang ? " __attribute__((always_inline)) mutable"
                                                     : " mutable __attribute__((always_inline))";
        const std::vector<std::string> bounds = attribute_arguments(found.launch_bounds);
        const std::string bound = bounds.empty() ? "1024" : bounds.front();
        std::string captured, kept;
        for (const std::string& name : grid_constants(found.parameters)) {
            if (!launches_) captured += ", &" + name;  // a child has only what is in the closure
            if (asks_for_spaces_)
                kept += "__gpo_grid_constant __gpo_g" + std::to_string(++count_) + "(__builtin_addressof(" + name +
                        "), sizeof(" + name + ")); ";
        }
        if (mentions("__PRETTY_FUNCTION__", found.body))
            kept += "[[maybe_unused]] static constexpr auto& __gpo_function = __PRETTY_FUNCTION__; ";
        insert_after(found.body.begin - 1,
                     " struct __gpo_tag { enum { " + kernel_constants(found, traits) + " };" + kernel_name(found) +
                         " }; " + kept + "__gpo_run_block<__gpo_tag, " + flags + ", " + bound + ">([=" + captured +
                         "](const __gpo_view __gpo_t)" + inlined + " { (void)__gpo_t; " + outer + "{");
        if (!found.internal) return;
        for (uint32_t at = found.declaration.begin; at < found.declarator.begin; ++at)
            if (all_[at].is("static")) replace(at, "");
    }

    void close_kernel(const FunctionFound& found) {
        insert_before(found.body.end, "} }); ");
        if (!found.is_template) register_kernel(found, found.body.end, rendered(found.declarator));
    }

    void register_kernel(const FunctionFound& found, uint32_t after, const std::string& declarator) {
        insert_after(after,
                     entered("__gpo_kernel_of<void(" + parameter_types(found.parameters) + "), " + declarator + ">",
                             c_literal(found.name) + ", " + c_literal(found.name) + ", " +
                                 (found.internal ? "true" : "false") + ", nullptr"));
    }

    /// An entry of the image's table.
    std::string entered(const std::string& type, const std::string& arguments) {
        const std::string number = std::to_string(++count_);
        return " static " + type + " __gpo_e" + number + "; __attribute__((constructor)) static void __gpo_enter" +
               number + "() { __gpo_e" + number + ".enter(" + arguments + "); }";
    }

    /// extern "C" int n; only declares, where extern "C" { int n; } defines.
    void define(const VariableFound& variable) {
        defined_ = variable.extern_token;
        if (all_[defined_ + 1].kind == TokenKind::text) {
            insert_after(defined_ + 1, " {");
            insert_after(variable.after, " }");
        } else {
            replace(defined_, "");
        }
    }

    void register_variable(const VariableFound& variable) {
        if (variable.static_token != 0) replace(variable.static_token, "");
        if (variable.extern_token != 0 && variable.extern_token != defined_) define(variable);
        const std::string name(variable.name);
        const char* kind = variable.constant ? "GPO_SOFT_CONSTANT" : variable.read_only ? "GPO_SOFT_READ_ONLY" : "0";
        const std::string where = "__builtin_addressof(" + name + "), sizeof(" + name + ")";
        insert_after(variable.after, entered("__gpo_variable_of",
                                             c_literal(variable.symbol) + ", " + where + ", " + kind + ", nullptr"));
    }

    void spinning(const SpinningLoop& loop) {
        const bool empty_step = all_[loop.close - 1].is(";");
        const std::string counter = loop.watched ? "__gpo_watch __gpo_s; " : "__gpo_spinner __gpo_s; ";
        switch (loop.kind) {
            case SpinningLoop::Kind::while_loop:
                replace(loop.keyword, "for");
                insert_after(loop.open, counter);
                insert_before(loop.close, "; __gpo_s.turn()");
                break;
            case SpinningLoop::Kind::do_loop:
                insert_before(loop.keyword, "for (" + counter + "__gpo_s.once();) ");
                insert_after(loop.open, "__gpo_s.turn() && (");
                insert_before(loop.close, ")");
                break;
            case SpinningLoop::Kind::for_loop:
                insert_before(loop.keyword, "for (" + counter + "__gpo_s.once();) ");
                insert_before(loop.close, empty_step ? "__gpo_s.turn()" : ", __gpo_s.turn()");
                break;
        }
    }

    /// Before the device header: what it has to know of the source.
    std::string beginning() const {
        const bool reached = std::any_of(all_.begin(), all_.end(), [](const Token& token) {
            return !token.system && (token.is("map_shared_rank") || token.is("__cluster_map_shared_rank"));
        });
        return "# 1 \"gpo_source\" 3\nenum { __gpo_reaches_other_blocks = " + std::string(reached ? "1" : "0") +
               " };\n";
    }

    /// After the source: the kernels and variables that the request names, and the table.
    std::string ending() {
        std::string out;
        for (size_t i = 0; i < options_.name_expressions.size(); ++i) {
            std::string_view name = meant()[i];
            while (!name.empty() && (name.front() == ' ' || name.front() == '&')) name.remove_prefix(1);
            const std::string number = std::to_string(i);
            out += "\n# 1 \"name expression " + number + "\"\n" +
                   entered("__gpo_named<decltype(" + std::string(name) + "), &" + std::string(name) + ">",
                           c_literal(options_.name_expressions[i]));
        }
        return out + "\n# 1 \"gpo_table\" 3\n#include \"gpo_table.h\"\n";
    }

    /// The name expressions as they are to be compiled.
    const std::vector<std::string>& meant() const {
        return options_.expanded.empty() ? options_.name_expressions : options_.expanded;
    }

    std::string_view source_;
    const PassOptions& options_;
    Tokens tokens_;
    const TokenList& all_;
    Structure structure_;
    Names names_;
    Waits waits_;
    Rewritten out_;
    std::vector<Edit> edits_;
    std::vector<const FunctionFound*> kernels_;   // with bodies
    std::vector<TokenRange> nested_;
    std::vector<NamespaceShared> namespace_shared_;
    const bool asks_for_spaces_ = asks_for_spaces();
    const bool launches_ = has_launches();
    bool places_whole_ = false;                   // threadIdx or its like may be a name of the source's own
    uint32_t defined_ = 0;   // the last `extern` that define() has seen
    unsigned count_ = 0;
};

}  // namespace

Rewritten rewrite_kernels(std::string_view preprocessed, const PassOptions& options) {
    return Pass(preprocessed, options).run();
}

}  // namespace gpo::softgpu
