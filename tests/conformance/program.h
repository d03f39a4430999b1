// A program of CUDA C++ source, compiled for the device and run there.
#pragma once

#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "support/gpu.h"
#include "support/report.h"

namespace gpo::test {

/// Blocks of a grid or threads of a block; a plain number is a row of them.
struct Extent {
    Extent(uint32_t x, uint32_t y = 1, uint32_t z = 1) : size{x, y, z} {}
    uint32_t size[3];
};

inline gpo_launch shape_of(const Extent& blocks, const Extent& threads, uint64_t shared = 0) {
    auto launch = sized<gpo_launch>();
    for (int i = 0; i < 3; ++i) {
        launch.grid[i] = blocks.size[i];
        launch.block[i] = threads.size[i];
    }
    launch.dynamic_shared_bytes = shared;
    return launch;
}

/// One thread.
inline gpo_launch single() { return shape_of(1, 1); }

struct Program {
    /// `names`: the templates to be instantiated, with their arguments.
    explicit Program(const std::string& source, const std::vector<const char*>& names = {},
                     const std::vector<const char*>& compiler_options = {}) {
        for (const char* header : {"cooperative_groups.h", "cuda_pipeline.h", "cuda_fp16.h"}) {
            if (source.find("#include <" + std::string(header) + ">") == std::string::npos || gpu.has_header(header))
                continue;
            present = false;
            skip(std::string(header) + " is not where NVRTC is");
            return;
        }
        auto options = sized<gpo_compile_options>();
        options.source = source.c_str();
        options.file_name = "program.cu";
        options.name_expressions = names.data();
        options.name_expression_count = static_cast<uint32_t>(names.size());
        options.options = compiler_options.data();
        options.option_count = static_cast<uint32_t>(compiler_options.size());
        REQUIRE_OK(gpo_module_compile(gpu.device, &options, module.out()));
        stream = gpu.stream();
    }

    Kernel kernel(const std::string& name) {
        Kernel kernel;
        REQUIRE_OK(gpo_module_get_kernel(module, name.c_str(), kernel.out()));
        return kernel;
    }

    /// Puts a launch on the stream. A vector as an argument is copied to device memory, and the kernel gets the
    /// address. After `wait`, a vector that isn't const has the kernel's result.
    template <class... Arguments>
    void put(const std::string& name, const gpo_launch& shape, Arguments&&... arguments) {
        const Kernel found = kernel(name);
        const auto values = std::make_tuple(place(arguments)...);
        std::apply(
            [&](const auto&... value) {
                const void* pointers[] = {&value..., nullptr};
                const uint32_t sizes[] = {sizeof value..., 0};
                REQUIRE_OK(gpo_stream_launch_kernel(stream, found, &shape, pointers, sizes, sizeof...(Arguments)));
            },
            values);
    }
    void wait() {
        for (const Mirror& mirror : mirrors_)
            if (mirror.host) REQUIRE_OK(gpo_copy_to_host(stream, mirror.host, mirror.memory, mirror.memory.bytes()));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        mirrors_.clear();
    }
    template <class... Arguments>
    void run(const std::string& name, const gpo_launch& shape, Arguments&&... arguments) {
        put(name, shape, arguments...);
        wait();
    }

    gpo_kernel_attributes attributes(const std::string& name) {
        auto attributes = sized<gpo_kernel_attributes>();
        REQUIRE_OK(gpo_kernel_get_attributes(kernel(name), &attributes));
        return attributes;
    }

    /// The first elements of a variable of the program.
    template <class T>
    std::vector<T> read(const char* variable, size_t count = 1) {
        std::vector<T> values(count);
        REQUIRE_OK(gpo_copy_to_host(stream, values.data(), address(variable, count * sizeof(T)), count * sizeof(T)));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
        return values;
    }
    template <class T>
    void write(const char* variable, const std::vector<T>& values) {
        const uint64_t bytes = values.size() * sizeof(T);
        REQUIRE_OK(gpo_copy_to_device(stream, address(variable, bytes), values.data(), bytes));
        REQUIRE_OK(gpo_stream_wait(stream, kPatience));
    }

    Gpu gpu;
    Module module;
    Stream stream;
    /// False, and the test counted as skipped, where a header of the toolkit that the source includes isn't there.
    bool present = true;

private:
    struct Mirror {
        void* host;   // where the memory's contents are copied back; NULL: nowhere
        Memory memory;
    };

    uint64_t address(const char* variable, uint64_t bytes) {
        uint64_t at = 0, size = 0;
        REQUIRE_OK(gpo_module_get_symbol(module, variable, &at, &size));
        REQUIRE(size >= bytes);
        return at;
    }

    template <class T>
    T place(const T& value) {
        return value;
    }
    template <class T>
    uint64_t place(std::vector<T>& values) {
        return mirror(values.data(), std::as_bytes(std::span(values)));
    }
    template <class T>
    uint64_t place(const std::vector<T>& values) {
        return mirror(nullptr, std::as_bytes(std::span(values)));
    }
    uint64_t mirror(void* host, std::span<const std::byte> bytes) {
        const Mirror& made = mirrors_.emplace_back(Mirror{host, gpu.memory(bytes.size())});
        REQUIRE_OK(gpo_copy_to_device(stream, made.memory, bytes.data(), bytes.size()));
        return made.memory;
    }

    std::vector<Mirror> mirrors_;
};

}  // namespace gpo::test
