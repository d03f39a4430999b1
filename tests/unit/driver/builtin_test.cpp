// Committed output of nvcc (PTX of the built-in kernels, the tests' images): the pinned nvcc reproduces all of it.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "driver/builtin.h"
#include "support/files.h"
#include "support/report.h"

using gpo::test::Folder;

namespace {

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

const std::string kNvcc = std::string(GPUORCH_NVCC_FOLDER) + "/bin/nvcc";
const std::string kAssembler = std::string(GPUORCH_NVCC_FOLDER) + "/bin/ptxas";

}  // namespace

TEST_CASE("the library carries builtin.ptx, for drivers from CUDA 12.2 on") {
    const std::string ptx(gpo::driver::builtin_ptx());
    CHECK(ptx.find("\n.version 8.2\n") != std::string::npos);
    CHECK(ptx.find("\n.target sm_75\n") != std::string::npos);
    CHECK(ptx.data()[ptx.size()] == '\0');
}

TEST_CASE("nvcc makes the committed PTX again, to the letter") {
    if (access(kNvcc.c_str(), X_OK) != 0) return gpo::test::skip("no nvcc: .ci/setup nvcc unpacks it");
    Folder folder;
    const std::string script = std::string(GPUORCH_SOURCE) + "/driver/make_builtin.py";
    const std::string command = "python3 " + script + " " + kNvcc + " " + folder.path;
    REQUIRE(std::system(command.c_str()) == 0);
    CHECK(text_of(folder.path + "/builtin.ptx") == gpo::driver::builtin_ptx());
    CHECK(text_of(folder.path + "/condition.ptx") == gpo::driver::condition_ptx());
    CHECK(text_of(folder.path + "/push.ptx") == gpo::driver::push_ptx());
    CHECK((text_of(folder.path + "/combine.ptx") == gpo::driver::combine_ptx()));
}

TEST_CASE("nvcc's tools make the committed images of other devices again, to the byte") {
    for (const char* tool : {"/bin/ptxas", "/bin/fatbinary"})
        if (access((std::string(GPUORCH_NVCC_FOLDER) + tool).c_str(), X_OK) != 0)
            return gpo::test::skip("no nvcc: .ci/setup nvcc unpacks it");
    Folder folder;
    const std::string images = gpo::test::test_file("images");
    const std::string command = "python3 " + images + "/make_images.py " + GPUORCH_NVCC_FOLDER + "/bin " + folder.path;
    REQUIRE(std::system(command.c_str()) == 0);
    for (const char* name : {"/triple.sm_75.cubin", "/triple.fatbin", "/triple.sm_75.fatbin"}) {
        CAPTURE(std::string(name));
        CHECK(text_of(folder.path + name).size() > 1000);
        CHECK((text_of(folder.path + name) == text_of(images + name)));
    }
}

TEST_CASE("ptxas assembles the committed PTX for old and new devices") {
    if (access(kAssembler.c_str(), X_OK) != 0) return gpo::test::skip("no ptxas: .ci/setup nvcc unpacks it");
    Folder folder;
    const std::string ptx = folder.path + "/committed.ptx";
    for (const std::string_view text :
         {gpo::driver::builtin_ptx(), gpo::driver::push_ptx(), gpo::driver::combine_ptx()}) {
        std::ofstream(ptx, std::ios::binary) << text;
        for (const char* architecture : {"sm_75", "sm_80", "sm_90", "sm_100"}) {
            CAPTURE(architecture);
            const std::string command =
                kAssembler + " -arch=" + architecture + " -o " + folder.path + "/out.cubin " + ptx;
            CHECK(std::system(command.c_str()) == 0);
        }
    }
}
