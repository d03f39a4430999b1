// The search for libcudadevrt.a, and the message if the search fails.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "driver/device_runtime.h"
#include "support/files.h"

namespace {

namespace fs = std::filesystem;
using gpo::driver::find_device_runtime;

/// Sets GPUORCH_CUDADEVRT for its lifetime. NULL: not set.
struct ArchiveSetting {
    explicit ArchiveSetting(const char* value) {
        if (const char* before = std::getenv("GPUORCH_CUDADEVRT")) before_ = before;
        set(value);
    }
    ~ArchiveSetting() { set(before_.empty() ? nullptr : before_.c_str()); }
    ArchiveSetting(const ArchiveSetting&) = delete;
    ArchiveSetting& operator=(const ArchiveSetting&) = delete;

private:
    static void set(const char* value) {
        if (value)
            setenv("GPUORCH_CUDADEVRT", value, 1);
        else
            unsetenv("GPUORCH_CUDADEVRT");
    }
    std::string before_;
};

void make_file(const fs::path& path) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "!<arch>\n";
}

}  // namespace

TEST_CASE("the device runtime is found where toolkits and wheels have it") {
    const ArchiveSetting none(nullptr);
    const gpo::test::Folder root;
    struct Layout {
        const char* what;
        std::vector<const char*> files;
        const char* nvrtc;     // NVRTC's folder
        const char* expected;  // NULL: not found
    };
    const Layout layouts[] = {
        {"a toolkit", {"local/cuda/lib64/libcudadevrt.a"}, "local/cuda/lib64", "local/cuda/lib64/libcudadevrt.a"},
        {"a toolkit by its target folder",
         {"local/cuda/targets/x86_64-linux/lib/libcudadevrt.a"},
         "local/cuda/lib64",
         "local/cuda/targets/x86_64-linux/lib/libcudadevrt.a"},
        {"a package manager's folders", {"usr/lib/libcudadevrt.a"}, "usr/lib", "usr/lib/libcudadevrt.a"},
        {"wheels of CUDA 13", {"nvidia/cu13/lib/libcudadevrt.a"}, "nvidia/cu13/lib", "nvidia/cu13/lib/libcudadevrt.a"},
        {"wheels of CUDA 12",
         {"nvidia/cuda_runtime/lib/libcudadevrt.a"},
         "nvidia/cuda_nvrtc/lib",
         "nvidia/cuda_runtime/lib/libcudadevrt.a"},
        {"NVRTC's own before the machine's",
         {"nvidia/cu13/lib/libcudadevrt.a", "local/cuda/lib64/libcudadevrt.a"},
         "nvidia/cu13/lib",
         "nvidia/cu13/lib/libcudadevrt.a"},
        {"NVRTC alone, beside a toolkit of its version and one of another",
         {"local/cuda-12.4/lib64/libcudadevrt.a", "local/cuda-13.0/lib64/libcudadevrt.a"},
         "lib",
         "local/cuda-13.0/lib64/libcudadevrt.a"},
        {"only a toolkit of another version", {"local/cuda-12.4/lib64/libcudadevrt.a"}, "lib", nullptr},
        {"nothing", {}, "lib", nullptr},
    };
    for (const Layout& layout : layouts) {
        CAPTURE(layout.what);
        const fs::path here = fs::path(root.path) / std::to_string(&layout - layouts);
        fs::create_directories(here / layout.nvrtc);
        for (const char* file : layout.files) make_file(here / file);
        const auto found = find_device_runtime((here / layout.nvrtc).string(), 13, (here / "local").string());
        const std::string expected = layout.expected ? fs::canonical(here / layout.expected).string() : "";
        CHECK(found.path == expected);
        CHECK_FALSE(found.tried.empty());
    }
}

TEST_CASE("GPUORCH_CUDADEVRT names the device runtime, and nothing else is taken where it names none") {
    const gpo::test::Folder root;
    make_file(root / "nvrtc/libcudadevrt.a");
    make_file(root / "mine.a");
    const auto find = [&] { return find_device_runtime(root / "nvrtc", 13, root / "local"); };
    {
        const ArchiveSetting mine((root / "mine.a").c_str());
        CHECK(find().path == root / "mine.a");
    }
    const std::string missing = root / "missing.a";
    const ArchiveSetting elsewhere(missing.c_str());
    const auto found = find();
    CHECK(found.path.empty());
    const std::string sentence = gpo::driver::missing_device_runtime(found);
    CHECK(sentence.find("libcudadevrt.a") != std::string::npos);
    CHECK(sentence.find("GPUORCH_CUDADEVRT") != std::string::npos);
    CHECK(sentence.find(missing) != std::string::npos);
}

TEST_CASE("a file that was exchanged has another state") {
    const gpo::test::Folder root;
    make_file(root / "a");
    const std::string before = gpo::driver::state_of_file(root / "a");
    CHECK(before.find(root / "a") == 0);
    std::ofstream(root / "a") << "longer than before\n";
    CHECK(gpo::driver::state_of_file(root / "a") != before);
    CHECK(gpo::driver::state_of_file(root / "missing").empty());
}
