// gpuorch/device/graph.cuh, as sources that the library compiles include it. What its functions do in graphs is tested
// in foreign/device_graph_test.cpp and foreign/conditional_test.cpp.
#include <string>

#include "support/gpu.h"

using namespace gpo::test;

namespace {

const char kAll[] = R"(
#include <gpuorch/device/graph.cuh>
#include <gpuorch/device/graph.cuh>

extern "C" __global__ void outside(unsigned long long *current, unsigned *sizes) {
    *current = gpo::current_graph();
    sizes[0] = sizeof(gpo::condition);
    sizes[1] = sizeof(gpo::device_graph);
}
extern "C" __global__ void decide(gpo::condition again, unsigned *left) { gpo::set_condition(again, --*left); }
extern "C" __global__ void launch(gpo::device_graph graph, int *answers) {
    answers[0] = gpo::launch_fire_and_forget(graph);
    answers[1] = gpo::launch_tail(graph);
    answers[2] = gpo::launch_sibling(graph);
    answers[3] = gpo::relaunch_self();
}
)";

}  // namespace

TEST_CASE("sources include the device header without a folder, and a kernel outside of graphs is in none") {
    Gpu gpu;
    Stream stream = gpu.stream();
    const Kernel outside = gpu.kernel(kAll, "outside"), decide = gpu.kernel(kAll, "decide"),
                 launches = gpu.kernel(kAll, "launch");
    Pinned<uint64_t> current = gpu.pinned<uint64_t>(1);
    Pinned<uint32_t> sizes = gpu.pinned<uint32_t>(2);
    current[0] = 1;
    REQUIRE_OK(launch(stream, outside, 1, 1, current.address(), sizes.address()));
    REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    CHECK(current[0] == 0);
    CHECK(sizes[0] == 8);
    CHECK(sizes[1] == 16);
}

TEST_CASE("a header of the same name that a compilation is given goes before the library's") {
    Gpu gpu;
    const char* const name = "gpuorch/device/graph.cuh";
    const char* const text = "#define MINE 1\n";
    auto options = sized<gpo_compile_options>();
    options.source = "#include <gpuorch/device/graph.cuh>\n#ifndef MINE\n#error \"another header\"\n#endif\n";
    options.header_names = &name;
    options.header_texts = &text;
    options.header_count = 1;
    Module module;
    CHECK_OK(gpo_module_compile(gpu.device, &options, module.out()));
}
