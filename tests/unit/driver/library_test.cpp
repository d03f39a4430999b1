// Libraries opened by name: the choice among candidates, the messages about the others, and when libraries close.
#include <doctest/doctest.h>

#include <dlfcn.h>

#include <filesystem>

#include "driver/library.h"
#include "support/files.h"

using gpo::driver::Library;

namespace {

// A library that no other test opens: to the dynamic loader, a copy under another name is another library.
std::string own_library(const gpo::test::Folder& folder) {
    const std::string path = folder / "libmade_for_a_test.so";
    std::filesystem::copy_file(GPUORCH_FAKE_NVML, path);
    return path;
}

bool is_loaded(const std::string& path) {
    void* found = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (found) dlclose(found);
    return found != nullptr;
}

}  // namespace

TEST_CASE("the first library that can be loaded is opened, and each that can't be is named with its reason") {
    const gpo::test::Folder folder;
    const std::string path = own_library(folder);
    std::string tried;
    const Library library =
        Library::open({"libnowhere.so.1", "/nowhere/libnowhere.so", path, GPUORCH_FAKE_NVML}, &tried);
    REQUIRE(library);
    CHECK(library.name() == path);
    CHECK(tried.find("libnowhere.so.1: cannot open") == 0);
    CHECK(tried.find("; /nowhere/libnowhere.so: cannot open") != std::string::npos);

    std::string all;
    CHECK_FALSE(Library::open({"libnowhere.so.1"}, &all));
    CHECK(all.find("libnowhere.so.1: cannot open") == 0);
    CHECK_FALSE(Library::open({}, &all));
}

TEST_CASE("a function that a library lacks is NULL where it is optional, and named where it is required") {
    const gpo::test::Folder folder;
    const std::string path = own_library(folder);
    std::string tried;
    const Library library = Library::open({path}, &tried);
    const char* (*known)(int) = nullptr;
    int (*unknown)() = [] { return 1; };
    REQUIRE(library.required("nvmlErrorString", known, &tried));
    CHECK(std::string(known(1)) == "made up for a test");
    library.optional("nvmlNoSuchFunction", unknown);
    CHECK((unknown == nullptr));
    CHECK(tried.empty());
    CHECK_FALSE(library.required("nvmlNoSuchFunction", unknown, &tried));
    CHECK(tried == path + " has no function nvmlNoSuchFunction");
    CHECK_FALSE(Library().required("nvmlErrorString", known, &tried));
}

TEST_CASE("a library found by its bare name tells its file") {
    std::string tried;
    const Library library = Library::open({"libc.so.6"}, &tried);
    REQUIRE(library);
    CHECK(library.name() == "libc.so.6");
    CHECK(library.path().front() == '/');
    CHECK(library.path().ends_with("/libc.so.6"));
}

TEST_CASE("a library closes with its last owner, unless it is to stay") {
    const gpo::test::Folder folder;
    const std::string path = own_library(folder);
    std::string tried;
    {
        Library first = Library::open({path}, &tried);
        Library moved = std::move(first);
        CHECK_FALSE(first);
        REQUIRE(moved);
        CHECK(is_loaded(path));
    }
    CHECK_FALSE(is_loaded(path));
    {
        Library replaced = Library::open({path}, &tried);
        replaced = Library();
        CHECK_FALSE(is_loaded(path));
    }
    Library::open({path}, &tried).stay();
    CHECK(is_loaded(path));
}
