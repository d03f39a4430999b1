#include "softgpu/compiler/options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace gpo::softgpu {

namespace {

// Without effect here: the device is one, always exact (which fast-math options allow), and has no registers to save.
constexpr std::array<std::string_view, 29> kWithoutEffect = {"--use_fast_math",
                                                             "-use_fast_math",
                                                             "--generate-line-info",
                                                             "-lineinfo",
                                                             "--device-debug",
                                                             "-G",
                                                             "--device-as-default-execution-space",
                                                             "-default-device",
                                                             "--device-c",
                                                             "-dc",
                                                             "--device-w",
                                                             "-dw",
                                                             "--extra-device-vectorization",
                                                             "-extra-device-vectorization",
                                                             "--restrict",
                                                             "-restrict",
                                                             "--extensible-whole-program",
                                                             "-ewp",
                                                             "--display-error-number",
                                                             "-err-no",
                                                             "--no-display-error-number",
                                                             "-no-err-no",
                                                             "--device-int128",
                                                             "-device-int128",
                                                             "--builtin-move-forward=true",
                                                             "--builtin-initializer-list=true",
                                                             "--minimal",
                                                             "--device-float128",
                                                             "-device-float128"};
constexpr std::array<std::string_view, 36> kWithoutEffectValued = {"--gpu-architecture",
                                                                   "-arch",
                                                                   "--gpu-code",
                                                                   "-code",
                                                                   "--maxrregcount",
                                                                   "-maxrregcount",
                                                                   "--ftz",
                                                                   "-ftz",
                                                                   "--prec-sqrt",
                                                                   "-prec-sqrt",
                                                                   "--prec-div",
                                                                   "-prec-div",
                                                                   "--relocatable-device-code",
                                                                   "-rdc",
                                                                   "--optimization-info",
                                                                   "-opt-info",
                                                                   "--ptxas-options",
                                                                   "-Xptxas",
                                                                   "--diag-suppress",
                                                                   "-diag-suppress",
                                                                   "--split-compile",
                                                                   "-split-compile",
                                                                   "--dopt",
                                                                   "--diag-error",
                                                                   "-diag-error",
                                                                   "--diag-warn",
                                                                   "-diag-warn",
                                                                   "--Ofast-compile",
                                                                   "-Ofc",
                                                                   "--brief-diagnostics",
                                                                   "-brief-diag",
                                                                   "--modify-stack-limit",
                                                                   "-modify-stack-limit",
                                                                   "--jump-table-density",
                                                                   "-jtd",
                                                                   "--frandom-seed"};

struct Option {
    std::string_view name, value;
    bool valued = false;
};

Option split(std::string_view text) {
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) return {text, {}, false};
    return {text.substr(0, equals), text.substr(equals + 1), true};
}

std::string absolute(std::string_view path) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::absolute(std::filesystem::path(path), error);
    return error ? std::string(path) : whole.string();
}

class Translator {
public:
    explicit Translator(const std::vector<std::string>& options) : options_(options) {}

    CompilerOptions run() {
        for (at_ = 0; at_ < options_.size() && out_.refused.empty(); ++at_)
            if (!one(options_[at_])) out_.refused = "error: unrecognized option " + options_[at_] + " found\n";
        return std::move(out_);
    }

private:
    /// The value of an option: joined, after '=', or the next string.
    bool value(std::string_view text, std::string_view shorter, std::string_view longer, std::string& out) {
        if (text.starts_with(shorter) && !text.starts_with("--")) text.remove_prefix(shorter.size());
        else if (text.starts_with(longer)) text.remove_prefix(longer.size());
        else return false;
        if (text.starts_with("=")) text.remove_prefix(1);
        if (text.empty()) {
            if (at_ + 1 >= options_.size()) return false;
            text = options_[++at_];
        }
        out = text;
        return true;
    }

    bool one(std::string_view text) {
        std::string given;
        if (value(text, "-D", "--define-macro", given)) {
            define(given);
        } else if (value(text, "-U", "--undefine-macro", given)) {
            out_.macros += "#undef " + given.substr(0, given.find('\n')) + "\n";
        } else if (value(text, "-include", "--pre-include", given)) {
            out_.preprocess.insert(out_.preprocess.end(), {"-include", given});
        } else if (value(text, "-I", "--include-path", given)) {
            out_.preprocess.push_back("-I" + absolute(given));
        } else if (text.starts_with("-std") || text.starts_with("--std")) {
            return value(text, "-std", "--std", given) && standard(given);
        } else if (split(text).name == "--fmad" || split(text).name == "-fmad") {
            return value(text, "-fmad", "--fmad", given) && contraction(given);
        } else if (text == "-w" || text == "--disable-warnings") {
            out_.compile.emplace_back("-w");
        } else if (std::find(kWithoutEffect.begin(), kWithoutEffect.end(), text) == kWithoutEffect.end()) {
            const Option option = split(text);
            if (std::find(kWithoutEffectValued.begin(), kWithoutEffectValued.end(), option.name) ==
                kWithoutEffectValued.end())
                return false;
            if (!option.valued && option.name != "--dopt") ++at_;
        }
        return true;
    }

    /// NAME, NAME=text or NAME(x)=text, up to the end of its line.
    void define(std::string_view given) {
        given = given.substr(0, given.find('\n'));
        const size_t equals = given.find('=');
        out_.macros += "#define " + std::string(given.substr(0, equals)) + " ";
        out_.macros += equals == std::string_view::npos ? "1" : given.substr(equals + 1);
        out_.macros += "\n\n";   // one may be taken by a backslash
        out_.macro_names.emplace_back(given.substr(0, given.find_first_of("=( ")));
    }

    bool standard(std::string_view name) {
        constexpr std::array<std::string_view, 4> kStandards = {"c++11", "c++14", "c++17", "c++20"};
        if (std::find(kStandards.begin(), kStandards.end(), name) == kStandards.end()) return false;
        out_.standard = "-std=" + std::string(name);
        return true;
    }

    bool contraction(std::string_view on) {
        if (on != "true" && on != "false") return false;
        if (on == "false") out_.compile.emplace_back("-ffp-contract=off");
        return true;
    }

    const std::vector<std::string>& options_;
    size_t at_ = 0;
    CompilerOptions out_;
};

}  // namespace

CompilerOptions translate_options(const std::vector<std::string>& options) { return Translator(options).run(); }

}  // namespace gpo::softgpu
