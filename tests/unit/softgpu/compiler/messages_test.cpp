// Messages of the software GPU about a source that doesn't compile: the user's lines and columns, kernels by their
// names, and one sentence for each missing feature.
#include "unit/softgpu/kernel_device.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "softgpu/compiler/process.h"
#include "support/report.h"

using namespace kernel_test;

namespace {

/// The log of a refused source.
std::string log_of(const std::string& source, std::vector<std::string> names = {},
                   std::vector<std::string> options = {}) {
    const auto result = compile(source, std::move(names), std::move(options));
    CHECK_FALSE(result.ok);
    return result.log;
}

/// The place given in the log's line with `words`, like "2:10".
std::string place_of(const std::string& log, const std::string& words) {
    const size_t at = log.find(words);
    if (at == std::string::npos) return "not said";
    const size_t begin = log.rfind('\n', at) + 1, file = log.find("kernel.cu:", begin);
    return file == begin ? log.substr(begin + 10, log.find(": ", begin) - begin - 10) : "elsewhere";
}

struct Include {
    const char* line;
    const char* sentence;
};

/// A source with its own constructors and destructors, which set an environment variable of the host when they run.
constexpr const char* kNoisy = R"(
extern "C" int setenv(const char *name, const char *value, int overwrite);
struct Noisy { int value; Noisy() : value(setenv("GPUORCH_TEST_CONSTRUCTED", "variable", 1)) {} };
#ifdef VARIABLE
Noisy noisy;
#endif
__attribute__((constructor)) static void begin() { setenv("GPUORCH_TEST_CONSTRUCTED", "function", 1); }
__attribute__((constructor(101))) static void early() { setenv("GPUORCH_TEST_CONSTRUCTED", "early", 1); }
__attribute__((destructor)) static void end() { setenv("GPUORCH_TEST_CONSTRUCTED", "end", 1); }
__device__ int seven = 7;
extern "C" __global__ void k(int *p) { __shared__ int s; __shared__ int t; s = seven; t = 1; if (&s != &t) *p = s; })";

/// Sets GPUORCH_CXX to a shell script for its lifetime.
class CompilerScript {
public:
    explicit CompilerScript(const std::string& script) {
        const std::string path = folder_.path + "/c++";
        std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
        REQUIRE(chmod(path.c_str(), 0755) == 0);
        if (const char* before = getenv("GPUORCH_CXX")) before_ = before;
        setenv("GPUORCH_CXX", path.c_str(), 1);
    }
    ~CompilerScript() {
        if (before_) setenv("GPUORCH_CXX", before_->c_str(), 1);
        else unsetenv("GPUORCH_CXX");
    }
    CompilerScript(const CompilerScript&) = delete;
    CompilerScript& operator=(const CompilerScript&) = delete;

private:
    const gpo::softgpu::PrivateFolder folder_;
    std::optional<std::string> before_;
};

/// Whether the kernel works while no constructor or destructor has run.
bool runs_quietly(const std::string& source, std::vector<std::string> options) {
    unsetenv("GPUORCH_TEST_CONSTRUCTED");
    int seven = 0;
    {
        const Program program(source, {}, std::move(options));
        Device().run(program.kernel("k"), {}, &seven);
    }
    return seven == 7 && std::getenv("GPUORCH_TEST_CONSTRUCTED") == nullptr;
}

}  // namespace

TEST_CASE("messages about a kernel have the columns of the source as it was written, and its name") {
    const std::string log = log_of(R"(
extern "C" __global__ void k(float *p, unsigned n) {
  __shared__ int s[4];   /* q */   p[n]   =  q1; // q1
  p[threadIdx.x] = p[blockIdx.x + q2] + q2; p[0] = "/* no comment */ q3"[q3];
  auto f = [=](int z) { return q4; };
  p[0] = 1
}
#define MACRO(x) ((x) + q5)
template <int N> __global__ void t(float *p) { p[threadIdx.x] = q6(N); while (atomicAdd(p, 1.f) < q7) ; }
__device__ int dev(int x) { return x + blockIdx.y + q8; }
__global__ void __launch_bounds__(32) m(int *p) { *p = MACRO(3); }
__global__ void u(int a, int b) { a = b; q9(); })",
                                   {"t<3>"});
    CHECK(place_of(log, "'q1' was not") == "3:46");
    CHECK(place_of(log, "'q2' was not") == "4:35");
    CHECK(place_of(log, "'q3' was not") == "4:74");
    CHECK(place_of(log, "'q4' was not") == "5:32");
    CHECK(place_of(log, "expected ';'") == "6:11");
    CHECK(place_of(log, "'q5' was not") == "11");   // a macro's text is nowhere in the line
    CHECK(place_of(log, "to 'q6'") == "9:65");
    CHECK(place_of(log, "'q7' was not") == "9:99");
    CHECK(place_of(log, "'q8' was not") == "10:53");
    CHECK(place_of(log, "'q9' was not") == "12:42");
    CHECK(log.find("kernel.cu: In kernel 'k':\n") != std::string::npos);
    CHECK(log.find("kernel.cu: In kernel 't':\n") != std::string::npos);
    // Exactly one lambda belongs to the source.
    const size_t lambda = log.find("In lambda function");
    CHECK(lambda != std::string::npos);
    CHECK(log.find("In lambda function", lambda + 1) == std::string::npos);
    CHECK(place_of(log_of("extern \"C\" __global__ void k(float *p, unsigned n) { p[n] = 1 }"), "expected ';'") ==
          "1:62");
    CHECK(log.find("gpo") == std::string::npos);
}

TEST_CASE("a parameter whose type isn't known, and name expressions that name no kernel, are told in one line each") {
    CHECK(log_of("__global__ void u(Foo *p, int n) { *p = n; }\n") ==
          "kernel.cu:1:19: error: 'Foo', the type of a parameter of kernel 'u', is not known\n");
    const std::string second = log_of("struct Known {};\n__global__ void u(Known a, Foo *p, int n) { *p = n; }\n");
    CHECK(place_of(second, "'Foo'") == "2:28");
    CHECK(second.find("gpo") == std::string::npos);
    const std::string names = log_of("template <int N> __global__ void t(int *p) { *p = N; }", {"t", "none", "t<"});
    CHECK(names.find("name expression 't': error: it names several functions; a template wants its arguments\n") !=
          std::string::npos);
    CHECK(names.find("name expression 'none': error: 'none' was not declared in this scope\n") != std::string::npos);
    CHECK(std::count(names.begin(), names.end(), '\n') == 3);
}

TEST_CASE("a kernel that returns something or takes a reference is refused at its line, in the user's words") {
    const struct {
        const char* source;
        const char* line;
    } returning[] = {
        {"__global__ int k(int *p) { return *p; }", "(1)"},
        {"\nextern \"C\" __global__ void *k(void *p) { return p; }", "(2)"},
        {"static __global__ const float4 k(float4 *p) { return *p; }", "(1)"},
        {"\n\nunsigned long __global__ k(int *p) { return *p; }", "(3)"},
        {"__global__ auto k(int *p) -> unsigned long { return *p; }", "(1)"},
        {"template <int N> __global__ __launch_bounds__(N < 4 ? 4 : N) bool k(int *p) { return *p; }", "(1)"},
        {"namespace n { __global__ uint32_t k(int *p) { return *p; } }", "(1)"},
        {"struct S { int s; };\n__global__ struct S k(S *p) { return *p; }", "(2)"},
        {"__global__ void k(int *p) { *p = 1; }\n__global__ double k(double *p);", "(2)"},
    };
    for (const auto& row : returning) {
        INFO(row.source);
        CHECK(log_of(row.source) == std::string("kernel.cu") + row.line +
                                        ": error: kernel `k` is declared to return a value, which nobody would get: a "
                                        "kernel returns void\n");
    }
    const char* const referring[] = {
        "__global__ void k(int *p, int &x) { *p = x; }",
        "__global__ void k(int *p, const float4 &x = float4()) { *p = 1; }",
        "__global__ void k(int *p, int (&x)[4]) { *p = x[0]; }",
        "template <class T> __global__ void k(int *p, T &&x) { *p = x; }",
        "__global__ void k(int *p, void (&f)(int)) { f(*p); }",
        "__global__ void k(int *&p) { *p = 1; }",
    };
    for (const char* source : referring) {
        INFO(source);
        CHECK(log_of(source) ==
              "kernel.cu(1): error: kernel `k` has a parameter that is a reference, and what it refers to would be the "
              "host's: a kernel takes values and pointers to device memory\n");
    }
    const char* const fine[] = {
        "__global__ void k(int *p, int n = 1 & 3, bool b = true && false) { *p = n + b; }",
        "__global__ void k(int *p, void (*f)(int &)) { f(*p); }",
        "template <class T> struct A { T t; }; __global__ void k(int *p, A<int &> *a) { *p = a->t; }",
        "using Nothing = void; __global__ Nothing k(int *p) { *p = 1; }",
        "__global__ auto k(int *p) -> void { *p = 1; }",
        "void __global__ k(int *p) { *p = 1; }",
        "template <class T> requires (sizeof(T) == 4) && (T(1) == T(1)) __global__ void k(T *p) { *p = 1; }\n"
        "template __global__ void k(int *p);",
        "__device__ int twice(const int &n) { return 2 * n; } __global__ void k(int *p) { *p = twice(*p); }",
    };
    for (const char* source : fine) {
        INFO(source);
        const auto result = compile(source, {}, {"-std=c++20"});
        INFO(result.log);
        CHECK(result.ok);
    }
}

TEST_CASE("what the software GPU doesn't have is told in one sentence, at the user's line") {
    const Include includes[] = {{"#include <mma.h>", "<mma.h> (tensor cores)"},
                                {"# include <cuda_fp8.h> // numbers", "<cuda_fp8.h> (numbers of 8 bits)"},
                                {"#include <cub/block/block_reduce.cuh>", "<cub/block/block_reduce.cuh> (CCCL's CUB)"},
                                {"#include <thrust/tuple.h>", "<thrust/tuple.h> (CCCL's Thrust)"},
                                {"#include <texture_fetch_functions.h>", "<texture_fetch_functions.h> (textures)"}};
    for (const Include& include : includes) {
        CAPTURE(include.line);
        const std::string log = log_of("#define A\n\n" + std::string(include.line) + "\n__global__ void k() {}\n");
        CHECK(log.starts_with("kernel.cu:3:"));
        CHECK(log.ends_with(": error: " + std::string(include.sentence) + " is not on the software GPU\n"));
        CHECK(std::count(log.begin(), log.end(), '\n') == 1);
    }
    CHECK(log_of("\n__global__ void k(float *p, cudaTextureObject_t t) { *p = tex2D<float>(t, 0, 0); }") ==
          "kernel.cu(2): error: textures and surfaces (cudaTextureObject_t) are not on the software GPU\n");
    CHECK(log_of("__global__ void k(int *p) {\n  asm(\"mov.u32 %0, %laneid;\" : \"=r\"(*p)); }") ==
          "kernel.cu(2): error: inline PTX (asm) is not on the software GPU\n");
    // Refused even with a folder of NVIDIA's headers; a user's own header with such a name is used.
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / ("gpuorch_messages_" + std::to_string(getpid()));
    fs::create_directories(folder / "crt");
    std::ofstream(folder / "mma.h") << "#include \"crt/mma.h\"\n";
    std::ofstream(folder / "crt" / "mma.h") << "#pragma once\n";
    fs::create_directories(folder / "own" / "thrust");
    std::ofstream(folder / "own" / "mma.h") << "#define OWN 3\n";
    std::ofstream(folder / "own" / "thrust" / "vectors.h") << "#define THRUST 4\n";
    CHECK(log_of("#define A\n#include <mma.h>\n__global__ void k() {}", {}, {"-I" + folder.string()}) ==
          "kernel.cu(2): error: <mma.h> (tensor cores) is not on the software GPU\n");
    const auto own =
        compile("#include <mma.h>\n#include \"thrust/vectors.h\"\n__global__ void k(int *p) { *p = OWN + THRUST; }", {},
                {"-I" + (folder / "own").string()});
    CHECK(own.ok);
    fs::remove_all(folder);
}

TEST_CASE("a variable of the device's whose initialiser would have to run is refused at its line") {
    const std::string log = log_of(R"(
struct Point { float x; __device__ Point(float value) : x(value) {} };
__device__ int three() { return clock(); }
namespace deep {
__constant__ Point at = {three() + .5f};
}
extern "C" __device__ int first = 1, second = three();
static __device__ int seldom[2] = {1, three()};
constexpr __constant__ int kNumbers[] = {1, 2};
__device__ int plain = kNumbers[1] * 3;
template <class T> __device__ T of_type = T(three());
struct Holder { static inline __device__ int held = three(); };
extern "C" __global__ void k(float *p) { *p = deep::at.x + second + seldom[1] + plain + of_type<int> + Holder::held; })");
    CAPTURE(log);
    const std::string text =
        ": error: dynamic initialization is not supported for a __device__ or __constant__ variable";
    for (const char* at : {"5:20", "7:38", "8:23", "11:33", "12:46"}) CHECK(log.find(at + text) != std::string::npos);
    for (const char* name : {"(deep::at)", "(second)", "(seldom)", "(of_type<int>)", "(Holder::held)"})
        CHECK(log.find(name) != std::string::npos);
    CHECK(log.find("(first)") == std::string::npos);
    CHECK(log.find("(plain)") == std::string::npos);
}

TEST_CASE(
    "constructors and destructors of a source don't run in the host, and a warning says so of those of variables") {
    for (const bool variable : {false, true}) {
        CAPTURE(variable);
        std::vector<std::string> options;
        if (variable) options.push_back("-DVARIABLE");
        const std::string log = compile(kNoisy, {}, options).log;
        CHECK((log.find("kernel.cu: warning: constructors of variables") != std::string::npos) == variable);
        CHECK(runs_quietly(kNoisy, options));
    }
}

TEST_CASE("constructors of a source don't run where the linker packs what fills their array either") {
    if (std::system("ld --help | grep -q pack-relative-relocs") != 0) {
        gpo::test::skip("this linker can't");
        return;
    }
    const CompilerScript compiler("exec c++ -Wl,-z,pack-relative-relocs \"$@\"");
    CHECK(runs_quietly(kNoisy, {"-DVARIABLE"}));
}

TEST_CASE("a source with constructors is refused where the compiler can't say of which variables") {
    const CompilerScript compiler("case \"$*\" in *-fsyntax-only*) echo unwell; exit 1;; esac; exec c++ \"$@\"");
    const std::string log = log_of(kNoisy, {}, {"-DVARIABLE"});
    CHECK(log == "unwell\nkernel.cu: error: variables have constructors, and of which space couldn't be told\n");
}
