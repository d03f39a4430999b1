#include "kernel/launch.h"

#include <cstring>
#include <optional>

#include "core/struct_options.h"
#include "stream/arguments.h"

namespace gpo {

namespace {

constexpr uint32_t kPortableCluster = 8;
constexpr uint32_t kMostPerCluster = 16;   // 8 on every device; up to 16 if the function was allowed more

std::string shape_text(const uint32_t (&dims)[3]) { return text(dims[0], " × ", dims[1], " × ", dims[2]); }

/// A held launch, with its own copy of the values and a reference to the kernel.
class KeptLaunch final : public LaunchKernel {
public:
    KeptLaunch(const LaunchKernel& launch, Ref<Kernel> kernel, Arguments arguments) noexcept
        : LaunchKernel(launch, arguments.pointers()), kernel_(std::move(kernel)), arguments_(std::move(arguments)) {}

private:
    const Ref<Kernel> kernel_;
    const Arguments arguments_;   // moving it doesn't move what pointers() points to
};

}  // namespace

LaunchKernel::LaunchKernel(Kernel& kernel, const gpo_launch& launch, const void* const* arguments,
                           const uint32_t* sizes, uint32_t count)
    : Operation("kernel", launch.label && *launch.label ? kernel.runtime().intern(launch.label) : kernel.label()),
      kernel_(kernel), sizes_(sizes), count_(count) {
    work_.function = kernel.native();
    work_.arguments = const_cast<void**>(arguments);
    uint32_t clustered = 0;
    for (int i = 0; i < 3; ++i) {
        work_.grid[i] = launch.grid[i] + (i != 0 && launch.grid[i] == 0);
        work_.block[i] = launch.block[i] + (i != 0 && launch.block[i] == 0);
        work_.cluster[i] = launch.cluster[i];
        clustered |= launch.cluster[i];
    }
    work_.dynamic_shared = static_cast<uint32_t>(launch.dynamic_shared_bytes);
    work_.priority = launch.priority;
    if (clustered) [[unlikely]] {
        for (uint32_t& blocks : work_.cluster) blocks += blocks == 0;
    }
    if (launch.flags || launch.dynamic_shared_bytes != work_.dynamic_shared) [[unlikely]] {
        check_rest(launch);
        work_.cooperative = launch.flags & GPO_LAUNCH_COOPERATIVE;
        work_.has_priority = launch.flags & GPO_LAUNCH_PRIORITY;
    }
    if (!shape_fits()) [[unlikely]] check_shape();
    if (!arguments_match()) [[unlikely]] check_arguments();
    if (clustered) [[unlikely]] check_cluster();
    if (work_.cooperative) [[unlikely]] check_cooperative();
}

inline bool LaunchKernel::shape_fits() const noexcept {
    const LaunchLimits& limits = kernel_.limits();
    const Function& function = kernel_.function();
    bool fits = true;
    for (int i = 0; i < 3; ++i)   // a 0 wraps, and is out of range as well
        fits &= work_.grid[i] - 1 < limits.max_grid[i] && work_.block[i] - 1 < limits.max_block[i];
    return fits && uint64_t{work_.block[0]} * work_.block[1] * work_.block[2] <= function.max_threads &&
           work_.dynamic_shared <= function.max_dynamic_shared.load(std::memory_order_relaxed);
}

inline bool LaunchKernel::arguments_match() const noexcept {
    const Function& function = kernel_.function();
    if (function.parameters_known && count_ != function.parameters.size()) return false;
    if (count_ && !work_.arguments) return false;
    const bool check_sizes = sizes_ && function.parameters_known;
    for (uint32_t i = 0; i < count_; ++i)
        if (!work_.arguments[i] || (check_sizes && sizes_[i] != function.parameters[i].bytes)) return false;
    return true;
}

void LaunchKernel::fail_device(const Kernel& kernel, const Stream& stream) {
    if (&kernel.runtime() != &stream.runtime())
        fail(GPO_INVALID_HANDLE, kernel.describe(), " and ", stream.describe(), " are of different runtimes");
    fail(GPO_INVALID_ARGUMENT, kernel.describe(), " and ", stream.describe(), " are not of one device");
}

void LaunchKernel::check_rest(const gpo_launch& launch) const {
    refuse_unknown_flags(launch.flags, GPO_LAUNCH_COOPERATIVE | GPO_LAUNCH_PRIORITY, "launch.flags");
    if (launch.dynamic_shared_bytes > UINT32_MAX)
        fail(GPO_INVALID_ARGUMENT, "launch.dynamic_shared_bytes is ", launch.dynamic_shared_bytes);
}

void LaunchKernel::check_shape() const {
    const LaunchLimits& limits = kernel_.limits();
    const Function& function = kernel_.function();
    for (int i = 0; i < 3; ++i) {
        if (work_.grid[i] - 1 >= limits.max_grid[i])
            fail(GPO_INVALID_ARGUMENT, "launch.grid[", i, "] is ", work_.grid[i], ": a grid has 1 to ",
                 limits.max_grid[i], " blocks in that direction");
        if (work_.block[i] - 1 >= limits.max_block[i])
            fail(GPO_INVALID_ARGUMENT, "launch.block[", i, "] is ", work_.block[i], ": a block has 1 to ",
                 limits.max_block[i], " threads in that direction");
    }
    const uint64_t threads = uint64_t{work_.block[0]} * work_.block[1] * work_.block[2];
    if (threads > function.max_threads)
        fail(GPO_INVALID_ARGUMENT, kernel_.describe(), " can have ", function.max_threads, " threads to a block, and ",
             shape_text(work_.block), " = ", threads, " were asked for");
    const uint32_t most = kernel_.refresh_max_dynamic_shared();
    if (work_.dynamic_shared > most)
        fail(GPO_INVALID_ARGUMENT, kernel_.describe(), " may have ", most, " bytes of dynamic shared memory, and ",
             work_.dynamic_shared, " were asked for; gpo_kernel_set_max_dynamic_shared raises the limit");
}

void LaunchKernel::check_arguments() const {
    const Function& function = kernel_.function();
    if (count_ && !work_.arguments) fail(GPO_INVALID_ARGUMENT, "arguments is NULL and count is ", count_);
    if (function.parameters_known && count_ != function.parameters.size())
        fail(GPO_INVALID_ARGUMENT, kernel_.describe(), " takes ", function.parameters.size(), " arguments, ", count_,
             " were given");
    for (uint32_t i = 0; i < count_; ++i) {
        if (!work_.arguments[i])
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
        if (work_.grid[i] % work_.cluster[i])
            fail(GPO_INVALID_ARGUMENT, "launch.grid[", i, "] is ", work_.grid[i], ", no multiple of launch.cluster[",
                 i, "], ", work_.cluster[i]);
        blocks *= work_.cluster[i];
        if (blocks > kMostPerCluster)
            fail(GPO_INVALID_ARGUMENT, "a cluster has at most ", kMostPerCluster, " blocks, and ",
                 shape_text(work_.cluster), " were asked for");
    }
}

void LaunchKernel::check_cooperative() const {
    const LaunchLimits& limits = kernel_.limits();
    if (!limits.cooperative) fail(GPO_NOT_SUPPORTED, "this device has no cooperative launches");
    const uint32_t threads = work_.block[0] * work_.block[1] * work_.block[2];
    const uint64_t each = kernel_.blocks_per_multiprocessor(threads, work_.dynamic_shared);
    const uint64_t fit = each * limits.multiprocessors;
    // Each factor is below 2^31 and was checked: stop before a product could pass 2^64.
    uint64_t blocks = work_.grid[0];
    for (int i = 1; i < 3 && blocks <= fit; ++i) blocks *= work_.grid[i];
    if (blocks > fit)
        fail(GPO_LIMIT_EXCEEDED, "a cooperative grid of ", kernel_.describe(), " runs all at once: ", fit,
             " blocks of ", threads, " threads fit on this device, and ", shape_text(work_.grid), " were asked for");
}

void LaunchKernel::issue(Stream& stream) {
    std::optional<host::NoCancel> no_cancel;
    if (!plain()) [[unlikely]] no_cancel.emplace();  // the driver may load the code now
    const Issued issued = gpo::issue(stream.context(), stream.native(), work_);
    if (issued.result != CUDA_SUCCESS) [[unlikely]] fail_launch(stream, issued);
    stream.submission().count(work_);
}

void LaunchKernel::fail_launch(Stream& stream, const Issued& issued) const {
    auto error = std::make_shared<Error>(*stream.context().error_of(issued.result, issued.function));
    switch (issued.result) {
        case CUDA_ERROR_INVALID_VALUE:
        case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:   // registers or shared memory of a block of this size
        case CUDA_ERROR_INVALID_CLUSTER_SIZE: error->status = GPO_INVALID_ARGUMENT; break;
        case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: error->status = GPO_LIMIT_EXCEEDED; break;
        default: break;
    }
    error->object = kernel_.describe();
    error->message = text(kernel_.describe(), " on ", stream.describe(), " was not launched: ", error->message);
    if (issued.result == CUDA_ERROR_NOT_SUPPORTED)
        error->message += ": a kernel that launches graphs (gpuorch/device/graph.cuh) runs in graphs alone";
    throw Failure(std::move(error));
}

// The driver alone knows the sizes of some functions' arguments, loads some with their first launch, and decides
// whether a cluster of more than 8 blocks fits.
bool LaunchKernel::add_to(Stream& stream, StreamRecording& recording) {
    const Function& function = kernel_.function();
    const uint32_t blocks = work_.cluster[0] * work_.cluster[1] * work_.cluster[2];
    if (!function.loaded || !function.parameters_known || blocks > kPortableCluster) return false;
    Arguments arguments(count_, [&](uint32_t i) { return function.parameters[i].bytes; });
    for (uint32_t i = 0; i < count_; ++i) arguments.copy(i, work_.arguments[i]);
    if (!recording.add(stream, *this, work_, std::move(arguments))) return false;
    stream.submission().count(work_);
    return true;
}

// Loading a function may fail, and launch attributes can't be changed in a graph.
LearnableWork LaunchKernel::learnable() const noexcept {
    const bool attributes = work_.cooperative || work_.has_priority || work_.cluster[0];
    if (!kernel_.function().loaded || !kernel_.function().parameters_known || attributes) return {};
    return work_;
}

std::vector<uint32_t> LaunchKernel::argument_bytes() const {
    const Function& function = kernel_.function();
    std::vector<uint32_t> bytes(count_);
    for (uint32_t i = 0; i < count_; ++i)
        bytes[i] = function.parameters_known ? function.parameters[i].bytes : sizes_[i];
    return bytes;
}

std::unique_ptr<Operation> LaunchKernel::held_copy() const {
    if (count_ && !kernel_.function().parameters_known && !sizes_)
        fail(GPO_NOT_SUPPORTED, "the stream is held, so the arguments of ", kernel_.describe(),
             " have to be copied, and this driver can't tell their sizes: give `sizes`");
    Arguments arguments(argument_bytes());
    for (uint32_t i = 0; i < count_; ++i) arguments.copy(i, work_.arguments[i]);
    return std::make_unique<KeptLaunch>(*this, Ref<Kernel>(&kernel_), std::move(arguments));
}

}  // namespace gpo
