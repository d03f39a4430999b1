#include "kernel/launch.h"

#include <cstring>
#include <optional>

#include "core/options.h"

namespace gpo {

namespace {

constexpr uint32_t kMostPerCluster = 16;   // 8 anywhere; up to 16 where the function was allowed to

/// Alignment of copied values: the largest that a CUDA type has.
constexpr size_t kAlignment = 16;

size_t rounded(size_t bytes) noexcept { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::string shape_text(const uint32_t (&dims)[3]) { return text(dims[0], " × ", dims[1], " × ", dims[2]); }

/// A launch that is held: it has its own copy of the values, and keeps the kernel.
class KeptLaunch final : public LaunchKernel {
public:
    KeptLaunch(const LaunchKernel& launch, Ref<Kernel> kernel, std::unique_ptr<void*[]> pointers,
               std::unique_ptr<std::byte[]> values)
        : LaunchKernel(launch, pointers.get()),
          kernel_(std::move(kernel)),
          pointers_(std::move(pointers)),
          values_(std::move(values)) {}

private:
    const Ref<Kernel> kernel_;
    const std::unique_ptr<void*[]> pointers_;
    const std::unique_ptr<std::byte[]> values_;
};

}  // namespace

LaunchKernel::LaunchKernel(Stream& stream, Kernel& kernel, const gpo_launch& launch, const void* const* arguments,
                           const uint32_t* sizes, uint32_t count)
    : Operation("kernel", launch.label && *launch.label ? kernel.runtime().intern(launch.label) : kernel.label()),
      kernel_(kernel),
      arguments_(const_cast<void**>(arguments)),
      sizes_(sizes),
      count_(count) {
    uint32_t clustered = 0;
    for (int i = 0; i < 3; ++i) {
        shape_.grid[i] = launch.grid[i] + (i != 0 && launch.grid[i] == 0);
        shape_.block[i] = launch.block[i] + (i != 0 && launch.block[i] == 0);
        shape_.cluster[i] = launch.cluster[i];
        clustered |= launch.cluster[i];
    }
    shape_.dynamic_shared = static_cast<uint32_t>(launch.dynamic_shared_bytes);
    shape_.flags = launch.flags;
    shape_.priority = launch.priority;
    const bool usual = &kernel.context() == &stream.context() && !launch.flags && !clustered &&
                       launch.dynamic_shared_bytes == shape_.dynamic_shared;
    if (clustered) [[unlikely]] {
        for (uint32_t& blocks : shape_.cluster) blocks += blocks == 0;
    }
    if (!usual) [[unlikely]] check_rest(stream, launch);
    if (!shape_fits()) [[unlikely]] check_shape();
    if (!arguments_match()) [[unlikely]] check_arguments();
    if (clustered) [[unlikely]] check_cluster();
    if (launch.flags & GPO_LAUNCH_COOPERATIVE) [[unlikely]] check_cooperative();
}

inline bool LaunchKernel::shape_fits() const noexcept {
    const LaunchLimits& limits = kernel_.limits();
    const Function& function = kernel_.function();
    bool fits = true;
    for (int i = 0; i < 3; ++i)   // a 0 is out of range as well: it wraps
        fits &= shape_.grid[i] - 1 < limits.max_grid[i] && shape_.block[i] - 1 < limits.max_block[i];
    return fits && uint64_t{shape_.block[0]} * shape_.block[1] * shape_.block[2] <= function.max_threads &&
           shape_.dynamic_shared <= function.max_dynamic_shared.load(std::memory_order_relaxed);
}

inline bool LaunchKernel::arguments_match() const noexcept {
    const Function& function = kernel_.function();
    if (function.parameters_known && count_ != function.parameters.size()) return false;
    if (count_ && !arguments_) return false;
    const bool check_sizes = sizes_ && function.parameters_known;
    for (uint32_t i = 0; i < count_; ++i)
        if (!arguments_[i] || (check_sizes && sizes_[i] != function.parameters[i].bytes)) return false;
    return true;
}

void LaunchKernel::check_rest(Stream& stream, const gpo_launch& launch) const {
    if (&kernel_.runtime() != &stream.runtime())
        fail(GPO_INVALID_HANDLE, kernel_.describe(), " and ", stream.describe(), " are of different runtimes");
    if (&kernel_.context() != &stream.context())
        fail(GPO_INVALID_ARGUMENT, kernel_.describe(), " and ", stream.describe(), " are not of one device");
    refuse_unknown_flags(launch.flags, GPO_LAUNCH_COOPERATIVE | GPO_LAUNCH_PRIORITY, "launch.flags");
    if (launch.dynamic_shared_bytes > UINT32_MAX)
        fail(GPO_INVALID_ARGUMENT, "launch.dynamic_shared_bytes is ", launch.dynamic_shared_bytes);
}

void LaunchKernel::check_shape() const {
    const LaunchLimits& limits = kernel_.limits();
    const Function& function = kernel_.function();
    for (int i = 0; i < 3; ++i) {
        if (shape_.grid[i] - 1 >= limits.max_grid[i])
            fail(GPO_INVALID_ARGUMENT, "launch.grid[", i, "] is ", shape_.grid[i], ": a grid has 1 to ",
                 limits.max_grid[i], " blocks in that direction");
        if (shape_.block[i] - 1 >= limits.max_block[i])
            fail(GPO_INVALID_ARGUMENT, "launch.block[", i, "] is ", shape_.block[i], ": a block has 1 to ",
                 limits.max_block[i], " threads in that direction");
    }
    const uint64_t threads = uint64_t{shape_.block[0]} * shape_.block[1] * shape_.block[2];
    if (threads > function.max_threads)
        fail(GPO_INVALID_ARGUMENT, kernel_.describe(), " can have ", function.max_threads, " threads to a block, and ",
             shape_text(shape_.block), " = ", threads, " were asked for");
    const uint32_t most = kernel_.refresh_max_dynamic_shared();
    if (shape_.dynamic_shared > most)
        fail(GPO_INVALID_ARGUMENT, kernel_.describe(), " may have ", most, " bytes of dynamic shared memory, and ",
             shape_.dynamic_shared, " were asked for; gpo_kernel_set_max_dynamic_shared raises the limit");
}

void LaunchKernel::check_arguments() const {
    const Function& function = kernel_.function();
    if (count_ && !arguments_) fail(GPO_INVALID_ARGUMENT, "arguments is NULL and count is ", count_);
    if (function.parameters_known && count_ != function.parameters.size())
        fail(GPO_INVALID_ARGUMENT, kernel_.describe(), " takes ", function.parameters.size(), " arguments, ", count_,
             " were given");
    for (uint32_t i = 0; i < count_; ++i) {
        if (!arguments_[i])
            fail(GPO_INVALID_ARGUMENT, "argument ", i, " of ", kernel_.describe(),
                 " is NULL: each is the address of a value");
        if (sizes_ && function.parameters_known && sizes_[i] != function.parameters[i].bytes)
            fail(GPO_INVALID_ARGUMENT, "argument ", i, " of ", kernel_.describe(), " has ",
                 function.parameters[i].bytes, " bytes, ", sizes_[i], " were given");
    }
}

void LaunchKernel::check_cluster() const {
    if (!kernel_.limits().cluster) fail(GPO_NOT_SUPPORTED, "this device has no clusters of blocks");
    uint64_t blocks = 1;
    for (int i = 0; i < 3; ++i) {
        if (shape_.grid[i] % shape_.cluster[i])
            fail(GPO_INVALID_ARGUMENT, "launch.grid[", i, "] is ", shape_.grid[i], ", no multiple of launch.cluster[",
                 i, "], ", shape_.cluster[i]);
        blocks *= shape_.cluster[i];
        if (blocks > kMostPerCluster)
            fail(GPO_INVALID_ARGUMENT, "a cluster has at most ", kMostPerCluster, " blocks, and ",
                 shape_text(shape_.cluster), " were asked for");
    }
}

void LaunchKernel::check_cooperative() const {
    const LaunchLimits& limits = kernel_.limits();
    if (!limits.cooperative) fail(GPO_NOT_SUPPORTED, "this device has no cooperative launches");
    const uint32_t threads = shape_.block[0] * shape_.block[1] * shape_.block[2];
    const uint64_t each = kernel_.blocks_per_multiprocessor(threads, shape_.dynamic_shared);
    const uint64_t fit = each * limits.multiprocessors;
    // Each factor is below 2^31 and was checked: stop before a product could pass 2^64.
    uint64_t blocks = shape_.grid[0];
    for (int i = 1; i < 3 && blocks <= fit; ++i) blocks *= shape_.grid[i];
    if (blocks > fit)
        fail(GPO_LIMIT_EXCEEDED, "a cooperative grid of ", kernel_.describe(), " runs all at once: ", fit,
             " blocks of ", threads, " threads fit on this device, and ", shape_text(shape_.grid), " were asked for");
}

void LaunchKernel::issue(Stream& stream) {
    std::optional<host::NoCancel> no_cancel;
    if (!plain()) [[unlikely]] no_cancel.emplace();  // the driver may load the code now
    CUresult result;
    if (!shape_.flags && !shape_.cluster[0]) [[likely]]
        result = stream.table().cuLaunchKernel(kernel_.native(), shape_.grid[0], shape_.grid[1], shape_.grid[2],
                                               shape_.block[0], shape_.block[1], shape_.block[2], shape_.dynamic_shared,
                                               stream.native(), arguments_, nullptr);
    else
        result = launch_with_attributes(stream);
    if (result != CUDA_SUCCESS) [[unlikely]]
        fail_launch(stream, result, shape_.flags || shape_.cluster[0] ? "cuLaunchKernelEx" : "cuLaunchKernel");
    stream.submission().count_launch();
}

CUresult LaunchKernel::launch_with_attributes(Stream& stream) const {
    CUlaunchAttribute attributes[3];
    std::memset(attributes, 0, sizeof attributes);
    unsigned count = 0;
    if (shape_.flags & GPO_LAUNCH_COOPERATIVE) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attributes[count++].value.cooperative = 1;
    }
    if (shape_.flags & GPO_LAUNCH_PRIORITY) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
        attributes[count++].value.priority = shape_.priority;
    }
    if (shape_.cluster[0]) {
        attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attributes[count].value.clusterDim.x = shape_.cluster[0];
        attributes[count].value.clusterDim.y = shape_.cluster[1];
        attributes[count++].value.clusterDim.z = shape_.cluster[2];
    }
    CUlaunchConfig config;
    std::memset(&config, 0, sizeof config);
    config.gridDimX = shape_.grid[0];
    config.gridDimY = shape_.grid[1];
    config.gridDimZ = shape_.grid[2];
    config.blockDimX = shape_.block[0];
    config.blockDimY = shape_.block[1];
    config.blockDimZ = shape_.block[2];
    config.sharedMemBytes = shape_.dynamic_shared;
    config.hStream = stream.native();
    config.attrs = attributes;
    config.numAttrs = count;
    return stream.table().cuLaunchKernelEx(&config, kernel_.native(), arguments_, nullptr);
}

void LaunchKernel::fail_launch(Stream& stream, CUresult result, const char* function) const {
    auto error = std::make_shared<Error>(*stream.context().error_of(result, function));
    switch (result) {
        case CUDA_ERROR_INVALID_VALUE:
        case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:   // registers or shared memory of a block of this size
        case CUDA_ERROR_INVALID_CLUSTER_SIZE: error->status = GPO_INVALID_ARGUMENT; break;
        case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: error->status = GPO_LIMIT_EXCEEDED; break;
        default: break;
    }
    error->object = kernel_.describe();
    error->message = text(kernel_.describe(), " on ", stream.describe(), " was not launched: ", error->message);
    throw Failure(std::move(error));
}

std::unique_ptr<Operation> LaunchKernel::keep() const {
    const Function& function = kernel_.function();
    const auto bytes_of = [&](uint32_t i) -> size_t {
        return function.parameters_known ? function.parameters[i].bytes : sizes_[i];
    };
    if (count_ && !function.parameters_known && !sizes_)
        fail(GPO_NOT_SUPPORTED, "the stream is held, so the arguments of ", kernel_.describe(),
             " have to be copied, and this driver can't tell their sizes: give `sizes`");
    size_t total = 0;
    for (uint32_t i = 0; i < count_; ++i) total += rounded(bytes_of(i));
    // new[] of bytes is aligned for any fundamental type, and 16 is that.
    auto values = std::make_unique<std::byte[]>(total);
    auto pointers = std::make_unique<void*[]>(count_);
    size_t at = 0;
    for (uint32_t i = 0; i < count_; ++i) {
        pointers[i] = values.get() + at;
        std::memcpy(pointers[i], arguments_[i], bytes_of(i));
        at += rounded(bytes_of(i));
    }
    return std::make_unique<KeptLaunch>(*this, Ref<Kernel>(&kernel_), std::move(pointers), std::move(values));
}

}  // namespace gpo
