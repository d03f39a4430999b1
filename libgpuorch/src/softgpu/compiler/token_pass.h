// Turns preprocessed CUDA C++ into C++ that the machine's compiler accepts behind the device header (cuda_device/).
//
// cuda_device/README.md says what is changed and what must hold. The text keeps its lines, so the compiler's messages
// show the user's files and line numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpo::softgpu {

struct PassOptions {
    bool clang = false;                           // which compiler's spelling of attributes
    std::vector<std::string> name_expressions;
    std::vector<std::string> expanded = {};       // the same with the source's macros replaced; empty: they have none
    /// The compiler is to refuse __device__ and __constant__ variables with initialisers that aren't constant.
    bool constant_initializers = false;
    bool fibers = false;                          // treat every kernel as if its threads may wait
    bool launches = false;                        // kernels may launch kernels
};

/// The rewritten text, and its parts taken from the preprocessed text.
struct Rewritten {
    /// text[at, at + size) was the preprocessed text from `from` on, or is there in place of the token at `from`.
    struct Kept {
        uint32_t at, from, size;
        bool replaced;
    };
    /// Places in the preprocessed text.
    struct Kernel {
        std::string name;
        uint32_t begin, end;                                    // its declaration
        std::vector<std::pair<uint32_t, uint32_t>> nested;      // bodies of lambdas and classes within it
    };
    std::string text;
    std::vector<Kept> kept;        // in their order
    std::vector<Kernel> kernels;
};

/// Throws SourceError (lexer.h) for what is outside the subset.
Rewritten rewrite_kernels(std::string_view preprocessed, const PassOptions& options);

}  // namespace gpo::softgpu
