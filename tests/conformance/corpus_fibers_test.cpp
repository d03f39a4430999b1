// Runs the corpus again on the software GPU, with every kernel compiled so that all threads of a block run in turn
// (GPUORCH_SOFT_FIBERS). The guess which kernels may run as plain loops decides about speed, and no result. Runs a
// single case; with GPUORCH_TEST_FULL all of them.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/gpu.h"
#include "support/report.h"

using namespace gpo::test;

TEST_CASE("the corpus computes the same where all threads of a block run in turn") {
    {
        Gpu gpu;
        auto driver = sized<gpo_driver_info>();
        REQUIRE_OK(gpo_runtime_get_driver(gpu.runtime, &driver));
        if (!driver.software) return skip("a GPU's threads do");
    }
    char self[4096] = "";
    REQUIRE(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    const bool full = std::getenv("GPUORCH_TEST_FULL") != nullptr;
    const std::string command = "GPUORCH_SOFT_FIBERS=1 '" + std::string(self) + "' --no-colors " +
                                (full ? "--source-file='*corpus*' --source-file-exclude='*corpus_fibers*'"
                                      : "--test-case='n bodies pull at each other'") + " 2>&1";
    std::FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string output;
    for (char part[4096]; const size_t length = std::fread(part, 1, sizeof part, pipe);) output.append(part, length);
    const int status = pclose(pipe);
    CAPTURE(output.substr(output.size() - std::min<size_t>(output.size(), 4000)));
    CHECK(status == 0);
    const size_t counted = output.find("test cases:");
    REQUIRE(counted != std::string::npos);
    CHECK(std::atoi(output.c_str() + counted + 11) >= (full ? 30 : 1));
}
