// Finds declarations by walking the tokens of namespaces and classes: the functions with their parameters and bodies,
// and the device variables. Bodies are not walked; their contents belong to the function.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "softgpu/compiler/lexer.h"

namespace gpo::softgpu {

/// Tokens [begin, end).
struct TokenRange {
    uint32_t begin = 0, end = 0;
    bool empty() const { return begin == end; }
};

struct FunctionFound {
    std::string_view name;                // the last part of its name; of a destructor the class's
    TokenRange declaration;               // from the first token to the ';' or to the body's end
    TokenRange declarator;                // the name with scopes and template arguments: ns::copy<int>
    TokenRange parameters;                // between the parentheses
    TokenRange body;                      // between the braces; empty without one
    bool has_body = false;
    bool kernel = false;                  // __global__
    bool is_template = false;             // has parameters of its own that aren't fixed yet
    bool explicit_instantiation = false;  // template __global__ void copy<int>(int*);
    bool is_operator = false;
    bool in_class = false;
    bool internal = false;                // static
    uint32_t launch_bounds = 0;           // the __launch_bounds__ token; 0: none
    uint32_t cluster_dims = 0;            // the __cluster_dims__ token; 0: none
    std::vector<std::string> scopes;      // namespaces around it
    bool user = true;                     // not from a system header
};

struct VariableFound {
    std::string_view name;
    uint32_t after = 0;                   // index of the ';'
    uint32_t static_token = 0;            // 0: none
    uint32_t extern_token = 0;            // of a mere declaration, which CUDA makes a definition; 0: none
    bool constant = false;                // __constant__
    bool read_only = false;               // const
    std::string symbol;                   // as CUDA names it
};

/// `extern __shared__ T name[];` or `__shared__ T name;` outside of functions.
struct SharedFound {
    std::string_view name;
    TokenRange declaration;               // without the ';'
    bool dynamic = false;                 // extern
    std::vector<std::string> scopes;      // namespaces around it
};

/// A class outside of functions.
struct ClassFound {
    std::string_view name;
    TokenRange head;                      // from the key to the body, with the names of base classes
    TokenRange body;                      // between the braces
};

/// The contents of declarations other than functions: initialisers with lambdas and tables of functions, default
/// member initialisers, base classes. Not in system headers.
struct RestFound {
    std::string_view class_name;          // the innermost named class around it; empty: none
    TokenRange range;
};

struct Structure {
    std::vector<FunctionFound> functions;
    std::vector<VariableFound> variables;
    std::vector<SharedFound> shared;
    std::vector<ClassFound> classes;
    std::vector<RestFound> rest;
    std::set<uint32_t>
        spaces;  // the first __device__ or the like of each declaration of variables that aren't constexpr
};

Structure find_structure(const Tokens& tokens);

/// Words of declarations that parentheses follow and that name nothing: __attribute__, alignas, decltype, …
bool takes_parentheses(std::string_view word);

/// The index after the '>' that closes the '<' at `at`; at + 1 when there is none before `end`.
uint32_t after_angles(const Tokens& tokens, uint32_t at, uint32_t end);

}  // namespace gpo::softgpu
