// The software GPU's pass over a kernel's tokens, with source that no compiler would take: the pass rewrites or refuses
// the source with the place, and always ends.
#include <doctest/doctest.h>

#include <string>

#include "softgpu/compiler/lexer.h"
#include "softgpu/compiler/token_pass.h"

using namespace gpo::softgpu;

namespace {

const std::string kSource = R"(# 1 "kernels.cu"
namespace a::b { enum class Kind : int { one = 1, two }; struct Empty {}; } namespace ab = a::b;
using Number = volatile int; typedef volatile unsigned vuint; typedef float (*Function)(float);
template <typename T, typename U = T> struct __align__(8) Pair {
    T first; U second;
    __host__ __device__ explicit Pair(T f, U s = U(3)) noexcept : first(f), second{s} {}
    __device__ T operator()(T x) const { return x * first + second; }
private:
    __device__ ~Pair() {}
};
inline __device__ bool operator<(float3 a, float3 b) { return a.x < b.x; }
__device__ float square(float x) { return x * x; }
static const __device__ float third = 1.0f / 3; __constant__ unsigned char map[] = {1, 2, 3}, more[2][3];
__device__ Function functions[] = {square}, (*one)(float) = &square;
extern __shared__ float dynamic[]; __shared__ int fixed[4], *pointer;
template <int N> __global__ __launch_bounds__(32 * N) __cluster_dims__(2, 1) void many(__grid_constant__ const Pair<int> p, int *out) {
    __shared__ alignas(16) int s[N][32], t; extern __shared__ double d[];
    const auto add = [=, k = 3](auto q) mutable -> int { return q + k + s[0][0] + threadIdx.x; };
    for (int i = 0; i < N; ++i) if (i) s[i][0] = add(i); else if (t) s[0][i] = 0; else do { t = atomicAdd(out, 1); } while (t);
    while (atomicCAS(out, 0, 1)) ; do { } while (*(vuint *)out);
again: if (*(volatile int *)out) goto again;
    switch (t) { case 1: __syncthreads(); break; default: printf("%d\n", (int)d[0]); }
}
extern "C" { static __global__ void plain(int n = (1, 2), float (*rows)[2] = nullptr) { struct Local { int v; } l{1}; dynamic[0] = fixed[0] + l.v; } }
template __global__ void many<2>(const Pair<int>, int *);
__global__ void launching(int *out) {
    many<2><<<dim3(2, 1), 64, 0, cudaStreamTailLaunch>>>(Pair<int>(1), out); if (*out) ::plain<<<1, f<g<int>>()>>>(3);
}
)";

/// True if the pass takes the source, false if refused.
bool taken(const std::string& source) {
    try {
        PassOptions options;
        options.name_expressions = {"many<1>"};
        options.launches = true;
        rewrite_kernels(source, options);
        return true;
    } catch (const SourceError& error) {
        CHECK(std::string(error.what()).find("): error: ") != std::string::npos);
        return false;
    }
}

/// The source with its open brackets closed.
std::string closed(std::string source) {
    std::string open;
    for (const char c : source) {
        if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
        if ((c == ')' || c == ']' || c == '}') && !open.empty()) open.pop_back();
    }
    return source.append(open.rbegin(), open.rend());
}

std::string repeated(const std::string& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
}

}  // namespace

TEST_CASE("kernel source that is cut, or has lost, doubled or swapped a token, is taken or refused") {
    REQUIRE(taken(kSource));
    const Tokens tokens = tokenize(kSource);
    unsigned cut_and_taken = 0;
    for (size_t at = 0; at + 1 < tokens.all.size(); ++at) {
        const Token& token = tokens.all[at];
        const Token& other = tokens.all[at * 31 % (tokens.all.size() - 1)];
        CAPTURE(at);
        CAPTURE(token.text);
        const std::string before = kSource.substr(0, token.offset), behind = kSource.substr(token.end());
        taken(before);
        cut_and_taken += taken(closed(before));
        taken(behind);
        taken(before + behind);
        taken(closed(before + behind));
        taken(before + std::string(token.text) + " " + std::string(token.text) + behind);
        taken(before + " " + std::string(other.text) + " " + behind);
    }
    CHECK(cut_and_taken > 100);
}

static void check_refused_in_line_2(const char* source) {
    CAPTURE(source);
    try {
        rewrite_kernels(source, {});
        FAIL_CHECK("taken");
    } catch (const SourceError& error) {
        CHECK(std::string(error.what()).find("a.cu(2): error: ") == 0);
    }
}

TEST_CASE("a shared variable's declaration that never ends is refused with its line") {
    for (const char* source : {"# 1 \"a.cu\"\n__global__ void k() {\n__shared__ }",
                               "# 1 \"a.cu\"\n__global__ void k() {\n__shared__ int a }",
                               "# 1 \"a.cu\"\n__device__ void f() {\n__shared__ int a[(3)] } int b;"})
        check_refused_in_line_2(source);
}

TEST_CASE("a kernel that the pass can't find in its source is refused with its line") {
    for (const char* source : {"# 1 \"a.cu\"\nint before = 3\n__global__ void k(int *a) { *a = 1; }\nint behind;",
                               "# 1 \"a.cu\"\nusing Number = int\n__global__ void k(int *a) { *a = 1; }",
                               "# 1 \"a.cu\"\n\n__global__ void k(int *a)"})
        check_refused_in_line_2(source);
    CHECK(
        taken("struct A { friend __global__ void k(int *); }; __global__ void k(int *); template <int N> __global__ "
              "void many(int *) {}\n"
              "template __global__ void many<1>(int *); void f() { __global__ void k(int *); } __global__ void k(int "
              "*a) { *a = 1; }"));
}

TEST_CASE("source that is nested without end is refused, and what is only long is taken") {
    const auto kernel = [](const std::string& body) { return "__global__ void k(int *p) { " + body + " }"; };
    constexpr int kMany = 200'000;
    CHECK_FALSE(taken(kernel("do " + repeated("if (*p) ", kMany) + "; while (atomicAdd(p, 1));")));
    CHECK_FALSE(taken(kernel(repeated("for (; atomicAdd(p, 1);) ", kMany) + ";")));
    CHECK_FALSE(taken(repeated("namespace a { ", kMany) + repeated("}", kMany)));
    CHECK_FALSE(taken(repeated("struct a { ", kMany) + repeated("};", kMany)));
    CHECK(taken(kernel("while (atomicAdd(p, 1)) " + repeated("if (*p) *p = 1; else ", kMany / 10) + ";")));
    CHECK(taken(kernel(repeated("alignas(8) ", kMany / 10) + "__shared__ int a;")));
    CHECK(taken(kernel(repeated("while (atomicAdd(p, 1)) ", 100) + ";")));
    CHECK(taken(repeated("template <int N> Enable<N < 4> few(int x) { return x < N; }\n", kMany / 10)));
    std::string chain;
    for (int i = 0; i < kMany / 10; ++i)
        chain += "__device__ int f" + std::to_string(i) + "(int x) { return f" + std::to_string(i + 1) +
                 "(x) + threadIdx.x; }\n";
    CHECK(taken(chain));
}

TEST_CASE(
    "a loop is watched unless its end is seen to come by itself, and one that looks at what others write yields") {
    const auto rewritten = [](const std::string& loop) {
        const std::string kernel =
            "__global__ void k(int *p, int n, unsigned m, volatile int *flag) { int i = 0; " + loop + " }\n";
        return rewrite_kernels("# 1 \"k.cu\"\n" + kernel, {}).text;
    };
    for (const std::string loop :
         {"for (i = 0; i < n; ++i) { p[i] = 0; }", "for (i = n; i > 0; i >>= 1) p[i] = 0;",
          "for (i = 1; i < n; i *= 2) ++p[i];", "for (; n > i && p[i]; i += 2) ;", "for (; n--; ) ++*p;",
          "while (i < n) { ++p[i]; i += 7; }", "while (i++ < n) ++*p;", "while (m) { ++i; m &= m - 1; }",
          "while (m != 0) m = m / 2;", "do { ++*p; } while (++i != n);", "do { ++*p; } while (0);",
          "while ((i < n) && (p[i] > 0)) ++i;", "int d[3]; for (int e : d) ++e;",
          "do { int old = *p, was; do { was = old; old = atomicCAS(p, was, 1); } while (was != old); } while "
          "(false);"}) {
        CAPTURE(loop);
        const std::string text = rewritten(loop);
        CHECK(text.find("__gpo_watch") == std::string::npos);
        CHECK(text.find("__gpo_spinner") == std::string::npos);
    }
    for (const std::string loop :
         {"while (*p == 0) { ++i; }", "while (p[i % 4] == 0) ++i;", "do { ++i; } while (!*p);",
          "for (;;) { if (*p) break; }", "for (; *p == 0; ++i) ++n;", "while (true) { if (p[i] > n) return; }",
          "while (i < n || *p == 0) ++i;", "while (i < n) n = *p;",
          "while (n) { switch (n) { case 1: n = *p; break; default: n = p[1]; } }"}) {
        CAPTURE(loop);
        const std::string text = rewritten(loop);
        CHECK(text.find("__gpo_watch") != std::string::npos);
        CHECK(text.find("__gpo_spinner") == std::string::npos);
    }
    // A counter before the loop would be jumped over.
    for (const std::string loop : {"switch (n) { case 0: do { ++i; case 1: ++i; } while (*p); }",
                                   "if (n) goto in; while (*p) { in: ++i; }"}) {
        CAPTURE(loop);
        CHECK(rewritten(loop).find("__gpo_watch") == std::string::npos);
    }
    CHECK(rewritten("while (*flag == 0) { ++i; }").find("__gpo_spinner") != std::string::npos);
    // A graph can't be launched while it runs, so the loop waits for other threads.
    for (const std::string loop :
         {"while (gpo::launch_tail(graph)) ++i;", "do { n = cudaGraphLaunch(graph, 0); } while (n);"}) {
        CAPTURE(loop);
        CHECK(rewritten(loop).find("__gpo_spinner") != std::string::npos);
    }
}
