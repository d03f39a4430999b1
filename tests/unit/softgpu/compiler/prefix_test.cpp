// The precompiled device header of the software GPU's compiler: used where present, never required.
#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>

#include "softgpu/compiler/compiler.h"
#include "support/report.h"

using gpo::driver::CompileRequest;
using gpo::driver::CompileResult;

namespace {

struct TestShelf final : gpo::driver::Shelf {
    std::optional<std::string> take(const std::string& name) override {
        const auto found = kept.find(name);
        found == kept.end() ? ++missed : ++taken;
        return found == kept.end() ? std::nullopt : std::optional(found->second);
    }
    bool put(const std::string& name, std::string_view bytes) override {
        ++puts;
        if (!full) kept[name] = bytes;
        return !full;
    }
    std::map<std::string, std::string> kept;
    int taken = 0, missed = 0, puts = 0;
    bool full = false;
};

CompileResult compile(gpo::driver::Compiler& compiler, TestShelf* shelf, const std::string& source,
                      std::vector<std::string> options = {}) {
    CompileRequest request;
    request.source = source;
    request.file_name = "kernel.cu";
    request.options = std::move(options);
    request.shelf = shelf;
    return compiler.compile(request);
}

const std::string kKernel =
    "__global__ void k(int* x) { __shared__ int s[4]; s[0] = N; __syncthreads(); atomicAdd(x, s[0]); }\n";

/// False, and the test counted as skipped, if the compiler isn't GCC.
bool have_gcc() {
    const auto compiler = gpo::softgpu::make_soft_compiler();
    TestShelf shelf;
    if (compile(*compiler, &shelf, "#ifdef __clang__\n#error clang\n#endif\n").ok) return true;
    gpo::test::skip("Clang compiles sources whole");
    return false;
}

}  // namespace

TEST_CASE("the device header is precompiled once, for all sources and compilers with one set of options") {
    if (!have_gcc()) return;
    TestShelf shelf;
    for (int i = 0; i < 2; ++i) {
        const auto compiler = gpo::softgpu::make_soft_compiler();
        CHECK(compile(*compiler, &shelf, kKernel, {"-DN=" + std::to_string(i)}).ok);
        CHECK(compile(*compiler, &shelf, "#include <stdint.h>\n" + kKernel, {"-DN=1"}).ok);
    }
    CHECK(shelf.puts == 1);
    CHECK(shelf.missed == 1);
    CHECK(shelf.taken == 3);
    const auto compiler = gpo::softgpu::make_soft_compiler();
    CHECK(compile(*compiler, &shelf, kKernel, {"-DN=1", "--std=c++20"}).ok);
    CHECK(compile(*compiler, &shelf, kKernel, {"-DN=1", "--fmad=false"}).ok);
    CHECK(shelf.puts == 3);
}

TEST_CASE("messages are the same with the precompiled header and without") {
    const auto compiler = gpo::softgpu::make_soft_compiler();
    TestShelf shelf;
    const char* const sources[] = {"\n__global__ void k(int* x) { int unused = 3; *x = undeclared; }\n",
                                   "#warning careful\n#define N 1\n__global__ void k(int* x) { x = nothing; }\n",
                                   "__global__ void k(float4 x) { x.q = __half(1); }\n"};
    for (const char* source : sources) {
        const auto warm = compile(*compiler, &shelf, source, {"-DM=3"}),
                   plain = compile(*compiler, nullptr, source, {"-DM=3"});
        CHECK_FALSE(warm.ok);
        CHECK(warm.log == plain.log);
    }
}

TEST_CASE("a precompiled header that is none, or finds no room, is done without") {
    if (!have_gcc()) return;
    const auto compiler = gpo::softgpu::make_soft_compiler();
    TestShelf full;
    full.full = true;
    CHECK(compile(*compiler, &full, kKernel, {"-DN=1"}).ok);
    CHECK(compile(*compiler, &full, kKernel, {"-DN=2"}).ok);
    CHECK(full.puts == 1);   // no repeated attempts
    TestShelf shelf;
    const auto other = gpo::softgpu::make_soft_compiler();
    REQUIRE(compile(*other, &shelf, kKernel, {"-DN=1"}).ok);
    REQUIRE(shelf.kept.size() == 1);
    for (const std::string& text : {std::string("rubbish"), std::string(), shelf.kept.begin()->second.substr(0, 100)}) {
        shelf.kept.begin()->second = text;
        const auto result = compile(*other, &shelf, kKernel, {"-DN=1"});
        INFO(result.log);
        CHECK(result.ok);
        CHECK(result.log.empty());
    }
}
