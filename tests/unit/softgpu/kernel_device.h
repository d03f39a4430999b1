// A software GPU reduced to its kernels: compile a source, load the image, launch a kernel, wait. For tests of these
// inner interfaces; kernels for any device are tested in conformance/.
#pragma once

#include <doctest/doctest.h>

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "softgpu/blocks/multiprocessors.h"
#include "softgpu/compiler/compiler.h"
#include "softgpu/image/image.h"

namespace kernel_test {

using gpo::softgpu::Multiprocessors;
using gpo::softgpu::Image;
using gpo::softgpu::KernelLaunch;
using gpo::softgpu::KernelOutcome;

inline gpo::driver::CompileResult compile(const std::string& source, std::vector<std::string> names = {},
                                          std::vector<std::string> options = {}) {
    static const auto compiler = gpo::softgpu::make_soft_compiler();
    gpo::driver::CompileRequest request;
    request.source = source;
    request.file_name = "kernel.cu";
    request.name_expressions = std::move(names);
    request.options = std::move(options);
    return compiler->compile(request);
}

/// The outcome of a launch that may still run.
class Pending {
public:
    void finish(const KernelOutcome& outcome) {
        std::lock_guard lock(mutex_);
        outcome_ = outcome;
        done_ = true;
        changed_.notify_all();
    }
    KernelOutcome wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return done_; });
        return outcome_;
    }
    bool done() {
        std::lock_guard lock(mutex_);
        return done_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false;
    KernelOutcome outcome_;
};

class Program {
public:
    explicit Program(const std::string& source, std::vector<std::string> names = {},
                     std::vector<std::string> options = {}) {
        const auto result = compile(source, std::move(names), std::move(options));
        INFO(result.log);
        REQUIRE(result.ok);
        lowered = result.lowered;
        std::string log;
        REQUIRE(Image::load(result.image.data(), result.image.size(), &log, &image) == CUDA_SUCCESS);
    }
    const gpo_soft_kernel& kernel(const std::string& name) const {
        std::string symbol = name;
        for (const auto& [expression, lower] : lowered)
            if (expression == name) symbol = lower;
        for (const gpo_soft_kernel& kernel : image->kernels())
            if (symbol == kernel.name) return kernel;
        FAIL("no kernel " << name);
        return image->kernels()[0];
    }
    template <class T>
    T* variable(const std::string& name) const {
        for (const gpo_soft_variable& variable : image->variables())
            if (name == variable.name) return static_cast<T*>(variable.address);
        FAIL("no variable " << name);
        return nullptr;
    }

    std::unique_ptr<Image> image;
    std::vector<std::pair<std::string, std::string>> lowered;
};

struct Shape {
    gpo_soft_dim3 grid{1, 1, 1}, block{1, 1, 1};
    size_t shared = 0;
    bool cooperative = false;
    gpo_soft_dim3 cluster{1, 1, 1};
};

class Device {
public:
    explicit Device(unsigned workers = 2, bool guard = false,
                    uint64_t longest_loop = Multiprocessors::Options().longest_loop) {
        Multiprocessors::Options options;
        options.longest_loop = longest_loop;
        options.workers = workers;
        options.guard = guard;
        multiprocessors = Multiprocessors::create(options);
    }

    template <class... Arguments>
    std::shared_ptr<Pending> launch(const gpo_soft_kernel& kernel, Shape shape, const Arguments&... arguments) {
        KernelLaunch launch;
        launch.kernel = &kernel;
        launch.grid = shape.grid;
        launch.block = shape.block;
        launch.dynamic_shared_bytes = shape.shared;
        launch.cooperative = shape.cooperative;
        launch.cluster = shape.cluster;
        REQUIRE(kernel.parameter_count == sizeof...(Arguments));
        size_t index = 0;
        (put(launch.arguments, kernel.parameters[index++], arguments), ...);
        auto pending = std::make_shared<Pending>();
        launch.done = [pending](const KernelOutcome& outcome, gpo::softgpu::Launches&) { pending->finish(outcome); };
        multiprocessors->submit(multiprocessors->prepare(std::move(launch)));
        return pending;
    }
    template <class... Arguments>
    void run(const gpo_soft_kernel& kernel, Shape shape, const Arguments&... arguments) {
        const KernelOutcome outcome = launch(kernel, shape, arguments...)->wait();
        INFO(outcome.text);
        CHECK(outcome.result == CUDA_SUCCESS);
    }

    std::unique_ptr<Multiprocessors> multiprocessors;

private:
    template <class T>
    static void put(gpo::softgpu::ParameterBytes& buffer, gpo_soft_parameter parameter, const T& value) {
        REQUIRE(sizeof(T) == parameter.size);
        buffer.resize(std::max<size_t>(buffer.size(), parameter.offset + parameter.size));
        std::memcpy(buffer.data() + parameter.offset, &value, sizeof value);
    }
};

}  // namespace kernel_test
