// stage.hpp: stages of pipelines (pipeline.h).
#ifndef GPUORCH_CPP_STAGE_HPP
#define GPUORCH_CPP_STAGE_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernel.hpp"
#include "stream.hpp"

namespace gpuorch {

/// Arguments of a stage's kernel that differ from chunk to chunk.
namespace chunk {

struct part {
    std::uint32_t kind;  // GPO_STAGE_*
};
inline constexpr part input{GPO_ARGUMENT_INPUT};  // device addresses
inline constexpr part output{GPO_ARGUMENT_OUTPUT};
inline constexpr part scratch{GPO_ARGUMENT_SCRATCH};
inline constexpr part result{GPO_ARGUMENT_RESULT};
inline constexpr part input_bytes{GPO_ARGUMENT_INPUT_BYTES};  // uint64_t
inline constexpr part output_bytes{GPO_ARGUMENT_OUTPUT_BYTES};
inline constexpr part index{GPO_ARGUMENT_INDEX};
inline constexpr part offset{GPO_ARGUMENT_OFFSET};

}  // namespace chunk

/// An argument of a stage's kernel that differs between the pipeline's devices: per_device(tables), with a container
/// that has an element for each device.
template <class T>
struct device_values {
    std::vector<T> values;
};
template <class Container>
[[nodiscard]] auto per_device(const Container& values) {
    using T = std::decay_t<decltype(detail::kernel_argument(*std::begin(values)))>;
    device_values<T> out;
    for (const auto& value : values) out.values.push_back(detail::kernel_argument(value));
    return out;
}

/// A stage of a pipeline, from kernel_stage or callback_stage. Copies share the callable.
class stage {
public:
    stage& block(dim3 threads) { return set(raw_.block, threads); }
    /// Give the grid, or the bytes of input for each block; the grid is computed from those.
    stage& grid(dim3 blocks) { return set(raw_.grid, blocks); }
    stage& bytes_per_block(std::uint64_t bytes) { return raw_.bytes_per_block = bytes, *this; }
    stage& max_blocks(std::uint32_t blocks) { return raw_.max_blocks = blocks, *this; }
    stage& dynamic_shared_bytes(std::uint64_t bytes) { return raw_.dynamic_shared_bytes = bytes, *this; }
    stage& label(std::string text) { return label_ = std::move(text), *this; }

private:
    friend class device;
    friend class pipeline;
    template <class... Arguments>
    friend stage kernel_stage(gpo_kernel_t kernel, const Arguments&... arguments);
    template <class... Arguments>
    friend stage kernel_stage(std::vector<gpo_kernel_t> kernels, const Arguments&... arguments);
    template <class Callable>
    friend stage callback_stage(Callable&& callable);

    struct argument {
        std::uint32_t kind;
        std::vector<unsigned char> value;
        std::size_t bytes = value.size();  // of one device
    };
    stage() = default;
    stage& set(std::uint32_t (&to)[3], dim3 from) {
        to[0] = from.x;
        to[1] = from.y;
        to[2] = from.z;
        return *this;
    }
    void add(chunk::part part) { arguments_.push_back({part.kind, {}}); }
    template <class T>
    void add(const T& value) {
        const auto given = detail::kernel_argument(value);
        const auto bytes = reinterpret_cast<const unsigned char*>(std::addressof(given));
        arguments_.push_back({GPO_ARGUMENT_VALUE, {bytes, bytes + sizeof given}});
    }
    template <class T>
    void add(const device_values<T>& given) {
        const auto bytes = reinterpret_cast<const unsigned char*>(given.values.data());
        arguments_.push_back({GPO_ARGUMENT_DEVICE_VALUE, {bytes, bytes + given.values.size() * sizeof(T)}, sizeof(T)});
    }

    gpo_stage raw_{};  // its pointers are written when the pipeline is created
    std::vector<argument> arguments_;
    std::vector<gpo_kernel_t> kernels_;
    std::shared_ptr<void> callable_;
    std::string label_;
};

/// A kernel that runs for each chunk. Its arguments may be those of kernel::launch, and values of namespace chunk:
///     kernel_stage(blur, chunk::input, chunk::output, chunk::input_bytes, 0.5f).block(256).bytes_per_block(65536)
template <class... Arguments>
[[nodiscard]] stage kernel_stage(gpo_kernel_t kernel, const Arguments&... arguments) {
    stage made;
    made.raw_.kind = GPO_STAGE_KERNEL;
    made.raw_.kernel = kernel;
    (made.add(arguments), ...);
    return made;
}

/// For a pipeline over several devices: a kernel for each device, in the order of gpo_pipeline_options.devices.
///     kernel_stage({blur_here, blur_there}, chunk::input, chunk::output, per_device(tables))
template <class... Arguments>
[[nodiscard]] stage kernel_stage(std::vector<gpo_kernel_t> kernels, const Arguments&... arguments) {
    stage made = kernel_stage(gpo_kernel_t{}, arguments...);
    made.kernels_ = std::move(kernels);
    return made;
}

/// `callable(stream_ref, const gpo_chunk&)` puts the stage's work for a chunk on the stream. An exception ends the run.
template <class Callable>
[[nodiscard]] stage callback_stage(Callable&& callable) {
    using Own = std::decay_t<Callable>;
    auto own = std::make_shared<Own>(std::forward<Callable>(callable));
    stage made;
    made.raw_.kind = GPO_STAGE_CALLBACK;
    made.raw_.user = own.get();
    made.raw_.enqueue = [](void* user, gpo_stream_t stream, const gpo_chunk* chunk) -> gpo_status {
        (*static_cast<Own*>(user))(stream_ref(stream), *chunk);
        return GPO_SUCCESS;
    };
    made.callable_ = std::move(own);
    return made;
}

}  // namespace gpuorch

#endif
