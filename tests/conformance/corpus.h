// A source of the corpus, compiled for the device.
#pragma once

#include <string>
#include <vector>

#include "support/gpu.h"
#include "support/report.h"

namespace gpo::test {

inline gpo_launch shape_of(uint32_t blocks, uint32_t threads, uint64_t shared = 0) {
    auto launch = sized<gpo_launch>();
    launch.grid[0] = blocks;
    launch.block[0] = threads;
    launch.dynamic_shared_bytes = shared;
    return launch;
}

struct Corpus {
    /// `names`: the kernels to be run, templates with their arguments.
    Corpus(const std::string& source, const std::vector<const char*>& names) {
        // Where NVRTC has one of the toolkit's headers it has all of them.
        present = gpu.has_header("cooperative_groups.h");
        if (!present) {
            skip("the toolkit's headers are not where NVRTC is");
            return;
        }
        auto options = sized<gpo_compile_options>();
        options.source = source.c_str();
        options.file_name = "corpus.cu";
        options.name_expressions = names.data();
        options.name_expression_count = static_cast<uint32_t>(names.size());
        REQUIRE_OK(gpo_module_compile(gpu.device, &options, module.out()));
        stream = gpu.stream();
    }
    template <class... Arguments>
    void run(const char* name, const gpo_launch& shape, const Arguments&... arguments) {
        Kernel kernel;
        REQUIRE_OK(gpo_module_kernel(module, name, kernel.out()));
        const void* pointers[] = {&arguments...};
        const uint32_t sizes[] = {sizeof arguments...};
        REQUIRE_OK(gpo_launch_kernel(stream, kernel, &shape, pointers, sizes, sizeof...(Arguments)));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    }

    Gpu gpu;
    Module module;
    Stream stream;
    bool present = false;
};

}  // namespace gpo::test
