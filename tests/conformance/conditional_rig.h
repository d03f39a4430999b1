// Shared by tests of conditional nodes: kernels that write words and set conditions, and a template to build.
#pragma once

#include "conformance/template_rig.h"

namespace gpo::test {

inline constexpr const char* kConditions = R"(
#include <gpuorch/device/graph.cuh>
extern "C" __global__ void add(unsigned* target, unsigned value) { *target += value; }
extern "C" __global__ void set(unsigned* target, unsigned value) { *target = value; }
extern "C" __global__ void count_down(gpo::condition again, unsigned* left, unsigned* runs) {
    ++*runs;
    gpo::set_condition(again, --*left != 0);
}
extern "C" __global__ void decide(gpo::condition which, const unsigned* word) { gpo::set_condition(which, *word); }
extern "C" __global__ void launch(gpo::device_graph graph, unsigned times, unsigned* failed) {
    for (unsigned i = 0; i < times; ++i) *failed += gpo::launch_tail(graph) != 0;
}
)";

/// A template, with words that its kernels read and write.
struct Built {
    explicit Built(Gpu& gpu)
        : device(gpu.device), add(gpu.kernel(kConditions, "add")), set(gpu.kernel(kConditions, "set")),
          words(gpu.pinned<uint32_t>(16)), stream(gpu.stream()) {
        REQUIRE_OK(gpo_template_create(gpu.device, nullptr, made.out()));
    }
    uint64_t at(size_t i) const { return words.address() + i * sizeof(uint32_t); }
    uint32_t put(gpo_template_t in, gpo_kernel_t kernel, size_t word, uint32_t value, uint32_t after = 0) {
        const gpo_launch shape = one_thread();
        const uint64_t target = at(word);
        const void* arguments[] = {&target, &value};
        uint32_t node = 0;
        REQUIRE_OK(gpo_template_add_kernel(in, &after, after ? 1 : 0, kernel, &shape, arguments, nullptr, 2, &node));
        return node;
    }
    gpo_condition compare(uint32_t comparison, size_t word, uint32_t constant = 0, uint64_t most = 0) const {
        auto condition = sized<gpo_condition>();
        condition.comparison = comparison;
        condition.word = at(word);
        condition.constant = constant;
        condition.max_iterations = most;
        return condition;
    }
    void run(gpo_graph_t graph) {
        CHECK_OK(gpo_graph_launch(graph, stream));
        CHECK_OK(gpo_stream_wait(stream, kPatience));
    }

    /// Skips the test on drivers before CUDA 12.4: they have no conditional nodes, or can't tell the sizes of
    /// arguments, so that kernels can't be copied.
    bool too_old() const {
        if (tells_parameters(add)) return false;
        skip("the driver is older than CUDA 12.4");
        return true;
    }
    static gpo_launch one_thread() {
        auto shape = sized<gpo_launch>();
        shape.grid[0] = shape.block[0] = 1;
        return shape;
    }
    /// `put` on a stream.
    void put_on(gpo_stream_t on, gpo_kernel_t kernel, size_t word, uint32_t value) {
        const gpo_launch shape = one_thread();
        const uint64_t target = at(word);
        const void* arguments[] = {&target, &value};
        REQUIRE_OK(gpo_stream_launch_kernel(on, kernel, &shape, arguments, nullptr, 2));
    }

    const gpo_device_t device;
    Kernel add, set;
    Pinned<uint32_t> words;
    Stream stream;
    Template made;
};

}  // namespace gpo::test
