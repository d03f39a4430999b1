// NVRTC, as the CUDA driver's compiler. The tests need no GPU, only NVRTC's library, from the unpacked toolkit or the
// machine.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "driver/nvrtc.h"
#include "driver/nvrtc_includes.h"
#include "driver/nvrtc_reads.h"
#include "kernel/kernel_image.h"
#include "support/files.h"
#include "support/report.h"

using namespace gpo::driver;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Setting {
    /// NULL: not set.
    explicit Setting(const char* value) {
        if (const char* before = std::getenv("GPUORCH_NVRTC")) before_ = before;
        if (value) setenv("GPUORCH_NVRTC", value, 1);
        else unsetenv("GPUORCH_NVRTC");
    }
    ~Setting() {
        if (before_.empty())
            unsetenv("GPUORCH_NVRTC");
        else
            setenv("GPUORCH_NVRTC", before_.c_str(), 1);
    }
    std::string before_;
};

CompileRequest request(std::string source) {
    CompileRequest out;
    out.source = std::move(source);
    out.file_name = "kernel.cu";
    out.compute_capability = 90;
    return out;
}

/// False, and the test counted as skipped, if NVRTC is missing. NVRTC's library then stays loaded.
bool have_nvrtc(NvrtcCompiler& compiler) {
    const std::string unpacked = std::string(GPUORCH_NVCC_FOLDER) + "/lib/libnvrtc.so.13";
    if (!std::getenv("GPUORCH_NVRTC") && access(unpacked.c_str(), R_OK) == 0) {
        Setting setting(unpacked.c_str());
        if (compiler.identity() != "none") return true;
    }
    if (compiler.identity() != "none") return true;
    gpo::test::skip("no NVRTC on this machine");
    return false;
}

}  // namespace

// Must be the first test case in this file: once found, NVRTC stays loaded.
TEST_CASE("where there is no NVRTC a compilation says what was tried") {
    NvrtcCompiler compiler;
    Setting setting("/nowhere/libnvrtc.so.13");
    CHECK(compiler.identity() == "none");
    const CompileResult result = compiler.compile(request("__global__ void f() {}"));
    CHECK(result.unavailable);
    CHECK_FALSE(result.ok);
    CHECK(contains(result.log, "/nowhere/libnvrtc.so.13"));
}

TEST_CASE("an NVRTC of the driver's own version is looked for first") {
    const Setting none(nullptr);
    const auto for_13 = nvrtc::candidates(13000), for_12 = nvrtc::candidates(12040);
    CHECK(for_13.front() == "libnvrtc.so.13");
    CHECK(for_12.front() == "libnvrtc.so.12");
    Setting setting("/mine/nvrtc.so");
    CHECK(nvrtc::candidates(13000) == std::vector<std::string>{"/mine/nvrtc.so"});
}

TEST_CASE("NVRTC compiles to a cubin of the device, with its kernels and lowered names") {
    NvrtcCompiler compiler;
    if (!have_nvrtc(compiler)) return;
    CompileRequest asked = request("template <class T> __global__ void scale(T* x, T a) { x[threadIdx.x] *= a; }\n"
                                   "extern \"C\" __global__ void plain() {}\n"
                                   "__constant__ float weights[4];\n");
    asked.name_expressions = {"scale<float>", "scale<double>", "&weights"};
    const CompileResult result = compiler.compile(asked);
    INFO(result.log);
    REQUIRE(result.ok);
    REQUIRE(result.lowered.size() == 3);
    CHECK(result.lowered[0].second == "_Z5scaleIfEvPT_S0_");
    CHECK(result.lowered[2].second == "weights");
    const auto names = gpo::kernel::names_in_image(result.image);
    for (const char* name : {"plain", "_Z5scaleIfEvPT_S0_", "_Z5scaleIdEvPT_S0_"})
        CHECK(std::binary_search(names.begin(), names.end(), std::string(name)));
    CHECK(gpo::kernel::ImageBytes(result.image.data(), result.image.size()).size() == result.image.size());
    CHECK(contains(compiler.identity(), "nvrtc "));
    CHECK(contains(compiler.identity(), " headers "));
}

TEST_CASE("the headers that kernels include out of habit are there") {
    NvrtcCompiler compiler;
    if (!have_nvrtc(compiler)) return;
    std::string source;
    for (const auto& header : nvrtc::own_headers()) source += std::string("#include <") + header.first + ">\n";
    source += R"(
extern "C" __global__ void all(uint32_t* out, int64_t n, std::size_t m, uint8_t* bytes) {
    assert(n > 0);
    static_assert(sizeof(uint64_t) == 8 && sizeof(uintptr_t) == 8 && sizeof(int8_t) == 1, "sizes");
    memset(bytes, 0, m);
    printf("%f\n", std::sqrt(2.0f) + M_PI + FLT_MAX + DBL_EPSILON + INFINITY);
    alignas(8) char place[8];
    *new (place) int64_t(n) += 1;
    *out = UINT32_MAX + INT_MAX + (uint32_t)std::fabs((double)n) + CHAR_BIT;
})";
    const CompileResult result = compiler.compile(request(source));
    INFO(result.log);
    CHECK(result.ok);
}

TEST_CASE("a header of the caller's goes before the one of that name that we have") {
    NvrtcCompiler compiler;
    if (!have_nvrtc(compiler)) return;
    CompileRequest asked = request("#include <stdint.h>\nextern \"C\" __global__ void f(mine* x) { *x = 1; }\n");
    asked.headers = {{"stdint.h", "typedef int mine;\n"}};
    const CompileResult result = compiler.compile(asked);
    INFO(result.log);
    CHECK(result.ok);
}

TEST_CASE("an error names file and line, a warning stays in the log of a success") {
    NvrtcCompiler compiler;
    if (!have_nvrtc(compiler)) return;
    const CompileResult bad = compiler.compile(request("__global__ void f() {\n  undeclared = 1;\n}\n"));
    CHECK_FALSE(bad.ok);
    CHECK_FALSE(bad.unavailable);
    CHECK(contains(bad.log, "kernel.cu(2): error"));
    const CompileResult warned = compiler.compile(request("__global__ void f() {\n  int unused = 1;\n}\n"));
    CHECK(warned.ok);
    CHECK(contains(warned.log, "kernel.cu(2): warning"));
}

TEST_CASE("an unknown option and a wrong name expression are the caller's errors") {
    NvrtcCompiler compiler;
    if (!have_nvrtc(compiler)) return;
    CompileRequest asked = request("template <class T> __global__ void f(T) {}");
    asked.options = {"--no-such-option"};
    CHECK(contains(compiler.compile(asked).log, "no-such-option"));
    asked.options.clear();
    asked.name_expressions = {"g<int>"};
    const CompileResult result = compiler.compile(asked);
    CHECK_FALSE(result.ok);
    CHECK(contains(result.log, "error"));
}

TEST_CASE("for a device newer than NVRTC it gives PTX, for one that it no longer knows a reason") {
    NvrtcCompiler compiler;
    if (!have_nvrtc(compiler)) return;
    CompileRequest asked = request("extern \"C\" __global__ void f() {}");
    asked.compute_capability = 999;
    const CompileResult newer = compiler.compile(asked);
    INFO(newer.log);
    REQUIRE(newer.ok);
    CHECK(contains(std::string(reinterpret_cast<const char*>(newer.image.data()), newer.image.size()), ".version"));
    asked.compute_capability = 20;
    const CompileResult older = compiler.compile(asked);
    CHECK_FALSE(older.ok);
    CHECK(contains(older.log, "compute capability 2.0"));
}

TEST_CASE("an architecture among the options goes before the device's") {
    NvrtcCompiler compiler;
    if (!have_nvrtc(compiler)) return;
    CompileRequest asked = request("extern \"C\" __global__ void f() {}");
    asked.options = {"-arch=compute_80"};
    const CompileResult result = compiler.compile(asked);
    REQUIRE(result.ok);
    const std::string ptx(reinterpret_cast<const char*>(result.image.data()), result.image.size());
    CHECK(contains(ptx, ".target sm_80"));
}

TEST_CASE("a source of which NVRTC may read files has no inputs that could be a key of the cache") {
    const auto reads = [](const char* source, std::vector<std::string> options = {},
                          std::vector<std::pair<std::string, std::string>> headers = {}) {
        CompileRequest asked = request(source);
        asked.options = std::move(options);
        asked.headers = std::move(headers);
        NvrtcCompiler compiler;
        CHECK((compiler.begin(asked)->inputs() == nullptr) == nvrtc::may_read_files(asked));
        return nvrtc::may_read_files(asked);
    };
    CHECK_FALSE(reads("__global__ void f() {}"));
    CHECK_FALSE(reads("// This file includes nothing and important things.\n__global__ void f() {}\n"));
    CHECK_FALSE(reads("#include <cuda_fp16.h>\n#  include <cooperative_groups.h>  // tiles\n"));
    CHECK_FALSE(reads("#include <stdint.h>\n#include \"stdint.h\"\n", {"-I/mine"}));
    CHECK_FALSE(reads("#include \"given.h\"\n", {"-I/mine"}, {{"given.h", "#include <given.h>"}}));
    CHECK_FALSE(reads("int include = 1; const char* text = \"include x.h\";", {"--include-path=/mine"}));
    // Each source reads mine.h from a folder, or may do so.
    for (const char* source : {"#include \"mine.h\"\n",
                               "#include MINE\n",
                               "#import \"mine.h\"\n",
                               "#include_next <stdint.h>\n",
                               "%:include \"mine.h\"\n",
                               "%:import <mine.h>\n",
                               "# /* */ include \"mine.h\"\n",
                               "/* */ # include \"mine.h\"\n",
                               "#inc\\\nlude \"mine.h\"\n",
                               "#inc\\ \t\nlude \"mine.h\"\n",
                               "#\\\ninclude \"mine.h\"\n",
                               "#inc\\\r\nlude \"mine.h\"\n",
                               "#inc?\?/\nlude \"mine.h\"\n",
                               "?\?=include \"mine.h\"\n",
                               "#\rinclude \"mine.h\"\n",
                               "#\vinclude\f\"mine.h\"\n",
                               "#if __has_include(\"mine.h\")\n#endif\n",
                               "#define HAS __has_include\n#if HAS(<mine.h>)\n#endif\n",
                               "#if __has_\\\ninclude(\"mine.h\")\n#endif\n",
                               "#include <stdint.h>\\ \n#include \"mine.h\"\n",
                               "#include </mine.h>\n",
                               "#include <../mine.h>\n",
                               "#include <stdint.h"}) {
        CAPTURE(source);
        CHECK(reads(source));
        CHECK(reads("#include \"given.h\"\n", {}, {{"given.h", source}}));
    }
    CHECK(reads("#include <mine.h>\n", {"-I/mine"}));
    CHECK(reads("#include <mine.h>\n", {"--include-path", "/mine"}));
    for (const char* option : {"-include", "-include=x.h", "--pre-include=x.h", "-imacros", "--use-pch=x", "--pch",
                               "--options-file=x", "-optf", "@x", "-DHAS=__has_include(<x.h>)"}) {
        CAPTURE(option);
        CHECK(reads("", {option}));
    }
}

TEST_CASE("the toolkit's headers and those that they need are found where toolkits and wheels have them") {
    namespace fs = std::filesystem;
    const gpo::test::Folder root;
    struct Layout {
        const char* what;
        std::vector<const char*> files;
        const char* library;                 // folder
        std::vector<const char*> expected;   // folders
    };
    const Layout layouts[] = {
        {"a toolkit of CUDA 13",
         {"local/cuda/include/cuda_fp16.h", "local/cuda/include/cccl/nv/target", "local/cuda/include/nv/target"},
         "local/cuda/lib64",
         {"local/cuda/include", "local/cuda/include/cccl"}},
        {"a toolkit of CUDA 12",
         {"local/cuda/include/cuda_fp16.h", "local/cuda/include/nv/target"},
         "local/cuda/lib64",
         {"local/cuda/include"}},
        {"wheels of CUDA 13",
         {"nvidia/cu13/include/cuda_fp16.h", "nvidia/cu13/include/cccl/nv/target"},
         "nvidia/cu13/lib",
         {"nvidia/cu13/include", "nvidia/cu13/include/cccl"}},
        {"wheels of CUDA 12",
         {"nvidia/cuda_runtime/include/cuda_fp16.h", "nvidia/cuda_cccl/include/nv/target"},
         "nvidia/cuda_nvrtc/lib",
         {"nvidia/cuda_runtime/include", "nvidia/cuda_cccl/include"}},
        {"wheels without the core libraries, beside toolkits",
         {"nvidia/cu13/include/cuda_fp16.h", "local/cuda-12.4/include/nv/target",
          "local/cuda-13.1/include/cccl/nv/target", "local/cuda-13.1/include/cuda_fp16.h",
          "local/cuda/include/nv/target"},
         "nvidia/cu13/lib",
         {"nvidia/cu13/include", "local/cuda-13.1/include/cccl"}},
        {"a wheel of CUDA 13 without CCCL, and a toolkit with nv/target in two places",
         {"nvidia/cu13/include/cuda_fp16.h", "local/cuda/include/cuda_fp16.h", "local/cuda/include/nv/target",
          "local/cuda/include/cccl/nv/target", "local/cuda/include/cccl/cuda/std/type_traits"},
         "nvidia/cu13/lib",
         {"nvidia/cu13/include", "local/cuda/include/cccl"}},
        {"only another toolkit",
         {"local/cuda-12.4/include/cuda_fp16.h", "local/cuda-12.4/include/nv/target"},
         "lib",
         {"local/cuda-12.4/include"}},
        {"headers without core libraries anywhere",
         {"nvidia/cu13/include/cuda_fp16.h"},
         "nvidia/cu13/lib",
         {"nvidia/cu13/include"}},
        {"nothing", {}, "lib", {}},
    };
    for (const Layout& layout : layouts) {
        CAPTURE(layout.what);
        const fs::path here = fs::path(root.path) / std::to_string(&layout - layouts);
        fs::create_directories(here / layout.library);
        for (const char* file : layout.files) {
            fs::create_directories((here / file).parent_path());
            std::ofstream(here / file) << "";
        }
        const auto found = nvrtc::find_includes((here / layout.library).string(), 13, (here / "local").string());
        std::vector<fs::path> folders, expected;
        for (const std::string& folder : found.folders) folders.push_back(fs::canonical(folder));
        for (const char* folder : layout.expected) expected.push_back(fs::canonical(here / folder));
        CHECK(folders == expected);
        CHECK_FALSE(found.tried.empty());
    }
}

TEST_CASE("a header of the toolkit that isn't there is named with where it was looked for") {
    nvrtc::Includes includes;
    includes.tried = {"/one/include", "/two/include"};
    const std::string core = nvrtc::missing_header(
        "cooperative_groups/details/info.h(50): catastrophic error: cannot open source file \"nv/target\"\n", includes);
    CHECK(contains(core, "error: nv/target is a header of CUDA's C++ core libraries"));
    CHECK(contains(core, "nvidia-cuda-cccl"));
    CHECK(contains(core, "Looked in /one/include, /two/include"));
    CHECK(contains(
        nvrtc::missing_header(
            "k.cu(1): catastrophic error: could not open source file \"cuda_fp16.h\" (no directories)", includes),
        "error: cuda_fp16.h is a header of the CUDA toolkit"));
    CHECK(nvrtc::missing_header("k.cu(1): catastrophic error: cannot open source file \"mine.h\"", includes).empty());
    CHECK(nvrtc::missing_header("k.cu(1): error: expected a \";\"", includes).empty());
}

namespace {

constexpr const char* kLaunchingSource =
    "__global__ void child(int* x) { *x = 1; }\n"
    "extern \"C\" __global__ void parent(int* x) {\n"
    "    child<<<1, 1, 0, cudaStreamTailLaunch>>>(x);\n"
    "}\n";

/// Sets the device runtime's path for its lifetime.
struct RuntimeSetting {
    explicit RuntimeSetting(const std::string& path) { setenv("GPUORCH_CUDADEVRT", path.c_str(), 1); }
    ~RuntimeSetting() { unsetenv("GPUORCH_CUDADEVRT"); }
    RuntimeSetting(const RuntimeSetting&) = delete;
    RuntimeSetting& operator=(const RuntimeSetting&) = delete;
};

}  // namespace

TEST_CASE("NVRTC compiles kernels that launch kernels to an image that is to be linked with the device runtime") {
    NvrtcCompiler compiler;
    if (!have_nvrtc(compiler)) return;
    const gpo::test::Folder folder;
    std::ofstream(folder / "devrt.a") << "!<arch>\n";
    const RuntimeSetting setting(folder / "devrt.a");
    CompileRequest asked = request(kLaunchingSource);
    asked.dynamic_parallelism = true;
    const auto compilation = compiler.begin(asked);
    REQUIRE(compilation->inputs());
    CHECK(contains(*compilation->inputs(), folder / "devrt.a"));
    const CompileResult result = compilation->finish();
    INFO(result.log);
    REQUIRE(result.ok);
    CHECK(result.device_runtime == folder / "devrt.a");
    const auto names = gpo::kernel::names_in_image(result.image);
    CHECK(std::binary_search(names.begin(), names.end(), std::string("__cudaCDP2LaunchDeviceV2")));
}

TEST_CASE("without the device runtime there is no compiler for kernels that launch kernels") {
    NvrtcCompiler compiler;
    if (!have_nvrtc(compiler)) return;
    const RuntimeSetting setting("/nowhere/libcudadevrt.a");
    CompileRequest asked = request(kLaunchingSource);
    asked.dynamic_parallelism = true;
    const CompileResult result = compiler.compile(asked);
    CHECK_FALSE(result.ok);
    CHECK(result.unavailable);
    CHECK(contains(result.log, "/nowhere/libcudadevrt.a"));
}

TEST_CASE("a kernel that launches kernels without being compiled for it is told the flag") {
    NvrtcCompiler compiler;
    if (!have_nvrtc(compiler)) return;
    for (const char* stream : {"", ", 0, cudaStreamTailLaunch", ", 0, cudaStreamFireAndForget"}) {
        CAPTURE(stream);
        const CompileResult result = compiler.compile(
            request(std::string("__global__ void child() {}\n__global__ void parent() { child<<<1, 1") + stream +
                    ">>>(); }\n"));
        CHECK_FALSE(result.ok);
        CHECK(result.log.find("error: ") == 0);
        CHECK(contains(result.log.substr(0, result.log.find('\n')), "GPO_COMPILE_DYNAMIC_PARALLELISM"));
        CHECK(contains(result.log, "kernel.cu(2): error"));
    }
}
