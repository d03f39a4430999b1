// Launches and occupancy.
#include <algorithm>
#include <cstring>

#include "softgpu/api/entries.h"
#include "softgpu/api/nodes.h"
#include "softgpu/api/submission.h"

namespace gpo::softgpu {

namespace {

constexpr unsigned kMaxThreads = 1024, kPortableCluster = 8, kMaxCluster = 16;

struct Shape {
    gpo_soft_dim3 grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
    size_t shared = 0;
    bool has_cluster = false;
    bool cooperative = false;
    bool has_priority = false;
    int priority = 0;

    uint64_t blocks() const { return uint64_t(grid.x) * grid.y * grid.z; }
    unsigned threads() const { return block.x * block.y * block.z; }
};

/// The checks that don't depend on the function.
void check_shape(const Shape& shape) {
    const gpo_soft_dim3 &grid = shape.grid, &block = shape.block;
    require(grid.x && grid.y && grid.z && block.x && block.y && block.z);
    require(grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535);
    require(block.x <= kMaxThreads && block.y <= kMaxThreads && block.z <= 64 && shape.threads() <= kMaxThreads);
}

/// How blocks come in clusters: as the function says, else as the launch does. Lock held.
void check_cluster(const Function& function, Shape& shape) {
    const gpo_soft_dim3& required = function.kernel->cluster;
    const gpo_soft_dim3 &grid = shape.grid, &cluster = shape.cluster;
    if (required.x) {
        require(!shape.has_cluster || (cluster.x == required.x && cluster.y == required.y && cluster.z == required.z),
                CUDA_ERROR_INVALID_CLUSTER_SIZE);
        shape.cluster = required;
    }
    require(cluster.x && cluster.y && cluster.z && cluster.x <= kMaxCluster && cluster.y <= kMaxCluster &&
                cluster.z <= kMaxCluster,
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
    require(grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0,
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
    require(cluster.x * cluster.y * cluster.z <= (function.non_portable_cluster ? kMaxCluster : kPortableCluster),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

/// Lock held.
void check_function(Machine& machine, const Function& function, const Shape& shape) {
    require(shape.threads() <= function.kernel->max_threads, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    require(shape.shared <= size_t(function.dynamic_shared_limit) &&
            shape.shared + function.kernel->static_shared_bytes <= kSharedMost);
    if (shape.cooperative) {
        const Multiprocessors& multiprocessors = *function.module->context->device->multiprocessors;
        const uint64_t resident =
            uint64_t(machine.multiprocessors) *
            multiprocessors.blocks_per_multiprocessor(*function.kernel, shape.threads(), shape.shared);
        require(shape.blocks() <= resident, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    }
}

/// The parameter buffer, from pointers to the arguments or from a buffer laid out by the caller.
void read_arguments(const Function& function, void** parameters, void** extra, ParameterBytes& arguments) {
    const gpo_soft_kernel& kernel = *function.kernel;
    require(!(parameters && extra));
    arguments.assign(function.argument_bytes, std::byte{0});
    if (!kernel.parameter_count) return;
    if (parameters) {
        for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
            require(parameters[i] != nullptr);
            std::memcpy(arguments.data() + kernel.parameters[i].offset, parameters[i], kernel.parameters[i].size);
        }
        return;
    }
    require(extra != nullptr);
    const void* buffer = nullptr;
    size_t size = 0;
    for (void** at = extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
        if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = at[1];
        else if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) size = at[1] ? *static_cast<const size_t*>(at[1]) : 0;
        else refuse(CUDA_ERROR_INVALID_VALUE);
    }
    // The caller may round the size up to the parameters' alignment.
    require(buffer != nullptr && size >= function.argument_bytes &&
            size - function.argument_bytes < kParameterAlignment);
    std::memcpy(arguments.data(), buffer, function.argument_bytes);
}

Function& function_in(Machine& machine, Context& context, CUfunction handle) {
    Function* function = machine.functions.find(handle);
    require(function != nullptr && function->module->context == &context, CUDA_ERROR_INVALID_HANDLE);
    return *function;
}

/// Checks a launch with a checked shape, except its arguments. Lock held.
KernelLaunch ask(Machine& machine, const Function& function, Shape shape, int priority) {
    check_cluster(function, shape);
    check_function(machine, function, shape);
    KernelLaunch asked;
    asked.kernel = function.kernel;
    asked.grid = shape.grid;
    asked.block = shape.block;
    asked.cluster = shape.cluster;
    asked.dynamic_shared_bytes = shape.shared;
    asked.cooperative = shape.cooperative;
    asked.priority = shape.has_priority ? shape.priority : priority;
    return asked;
}

CUresult launch(Machine& machine, CUfunction handle, const Shape& shape, CUstream stream, void** parameters,
                void** extra) {
    check_shape(shape);
    Submission submission(machine, stream);
    const Function& function = function_in(machine, submission.context(), handle);
    KernelLaunch asked = ask(machine, function, shape, submission.stream().priority);
    read_arguments(function, parameters, extra, asked.arguments);
    require(submission.captured() || !(function.kernel->flags & GPO_SOFT_KERNEL_LAUNCHES_GRAPHS),
            CUDA_ERROR_NOT_SUPPORTED);
    Command& command = submission.command(CommandKind::kernel);
    command.launch_kernel = function.kernel;
    command.keeps = function.module->image;
    command.function = handle;
    if (submission.captured()) command.launch = std::move(asked);
    else machine.prepare(command, *submission.context().device->multiprocessors, std::move(asked));
    submission.submit();
    return CUDA_SUCCESS;
}

CUresult CUDAAPI launch_kernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** parameters,
                               void** extra) {
    return enter_live([&](Machine& machine) -> CUresult {
        Shape shape;
        shape.grid = {grid_x, grid_y, grid_z};
        shape.block = {block_x, block_y, block_z};
        shape.shared = shared;
        return launch(machine, function, shape, stream, parameters, extra);
    });
}

void read_attribute(Shape& shape, const CUlaunchAttribute& attribute) {
    const CUlaunchAttributeValue& value = attribute.value;
    switch (attribute.id) {
        case CU_LAUNCH_ATTRIBUTE_IGNORE: break;
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: shape.cooperative = value.cooperative != 0; break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            shape.has_cluster = true;
            shape.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
            break;
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
            shape.has_priority = true;
            shape.priority = std::clamp(value.priority, kGreatestPriority, kLeastPriority);
            break;
        default: refuse(CUDA_ERROR_NOT_SUPPORTED);
    }
}

Shape shape_of(const CUlaunchConfig& config) {
    Shape shape;
    shape.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
    shape.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
    shape.shared = config.sharedMemBytes;
    require(config.numAttrs == 0 || config.attrs);
    for (unsigned i = 0; i < config.numAttrs; ++i) read_attribute(shape, config.attrs[i]);
    return shape;
}

CUresult CUDAAPI launch_kernel_ex(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(config != nullptr);
        return launch(machine, function, shape_of(*config), config->hStream, parameters, extra);
    });
}

unsigned resident(const Function& function, unsigned threads, size_t shared) {
    if (threads > function.kernel->max_threads || shared + function.kernel->static_shared_bytes > kSharedMost) return 0;
    return function.module->context->device->multiprocessors->blocks_per_multiprocessor(*function.kernel, threads,
                                                                                        shared);
}

CUresult CUDAAPI max_active_blocks(int* blocks, CUfunction handle, int threads, size_t shared) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(blocks != nullptr && threads > 0);
        current_context(machine);
        host::Lock hold(machine.lock);
        *blocks = int(resident(function_of(machine, handle), unsigned(threads), shared));
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI max_potential_block_size(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_of,
                                          size_t shared, int limit) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(grid != nullptr && block != nullptr && limit >= 0);
        current_context(machine);
        unsigned most = 0;
        {
            host::Lock hold(machine.lock);
            most = function_of(machine, handle).kernel->max_threads;
        }
        if (limit) most = std::min(most, unsigned(limit));
        unsigned best_threads = 0, best_blocks = 0;
        for (unsigned threads = most; threads > 0;) {
            // The caller's function runs with no lock held.
            const size_t needed = shared_of ? shared_of(int(threads)) : shared;
            unsigned blocks = 0;
            {
                host::Lock hold(machine.lock);
                blocks = resident(function_of(machine, handle), threads, needed);
            }
            if (blocks * threads > best_blocks * best_threads) {
                best_threads = threads;
                best_blocks = blocks;
            }
            threads = threads > 32 ? (threads - 1) / 32 * 32 : 0;
        }
        require(best_threads > 0);
        *block = int(best_threads);
        *grid = int(best_blocks * machine.multiprocessors);
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI max_active_clusters(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(clusters != nullptr && config != nullptr);
        current_context(machine);
        Shape shape = shape_of(*config);
        check_shape(shape);
        host::Lock hold(machine.lock);
        const Function& function = function_of(machine, handle);
        check_cluster(function, shape);
        const unsigned cluster = shape.cluster.x * shape.cluster.y * shape.cluster.z;
        *clusters = int(resident(function, shape.threads(), shape.shared) * machine.multiprocessors / cluster);
        return CUDA_SUCCESS;
    });
}

}  // namespace

namespace {

/// The shape that a node's launches have.
Shape shape_of(const KernelLaunch& launch) {
    Shape shape;
    shape.grid = launch.grid;
    shape.block = launch.block;
    shape.cluster = launch.cluster;
    shape.has_cluster = launch.cluster.x * launch.cluster.y * launch.cluster.z != 1;
    shape.shared = launch.dynamic_shared_bytes;
    shape.cooperative = launch.cooperative;
    return shape;
}

/// Other attributes of a node's launches, the arguments as they are.
void change_shape(Machine& machine, Work& work, const Shape& shape) {
    const Function& function = function_in(machine, *work.context, work.function);
    KernelLaunch asked = ask(machine, function, shape, work.launch.priority);
    asked.arguments = work.launch.arguments;
    work.launch = std::move(asked);
}

}  // namespace

void make_kernel_node(Machine& machine, const CUDA_KERNEL_NODE_PARAMS& parameters, Work& work,
                      const KernelLaunch* attributes) {
    const Function& function = function_of(machine, parameters.func);
    Shape shape = attributes ? shape_of(*attributes) : Shape();
    shape.grid = {parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ};
    shape.block = {parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ};
    shape.shared = parameters.sharedMemBytes;
    check_shape(shape);
    KernelLaunch asked = ask(machine, function, shape, attributes ? attributes->priority : 0);
    read_arguments(function, parameters.kernelParams, parameters.extra, asked.arguments);
    work.kind = CommandKind::kernel;
    work.context = function.module->context;
    work.launch_kernel = function.kernel;
    work.function = parameters.func;
    work.keeps = function.module->image;
    work.launch = std::move(asked);
}

void read_kernel_node(GraphNode& node, CUDA_KERNEL_NODE_PARAMS* parameters) {
    const KernelLaunch& launch = node.work.launch;
    std::vector<void*> arguments;
    for (uint32_t i = 0; i < launch.kernel->parameter_count; ++i)
        arguments.push_back(node.work.launch.arguments.data() + launch.kernel->parameters[i].offset);
    node.arguments = std::move(arguments);
    *parameters = CUDA_KERNEL_NODE_PARAMS{};
    parameters->func = node.work.function;
    parameters->gridDimX = launch.grid.x;
    parameters->gridDimY = launch.grid.y;
    parameters->gridDimZ = launch.grid.z;
    parameters->blockDimX = launch.block.x;
    parameters->blockDimY = launch.block.y;
    parameters->blockDimZ = launch.block.z;
    parameters->sharedMemBytes = unsigned(launch.dynamic_shared_bytes);
    parameters->kernelParams = node.arguments.empty() ? nullptr : node.arguments.data();
    parameters->ctx = node.work.context->as<CUcontext>();
}

void set_kernel_attribute(Machine& machine, Work& work, CUlaunchAttributeID id, const CUlaunchAttributeValue& value) {
    Shape shape = shape_of(work.launch);
    CUlaunchAttribute attribute{};
    attribute.id = id;
    attribute.value = value;
    read_attribute(shape, attribute);
    change_shape(machine, work, shape);
}

void get_kernel_attribute(const Work& work, CUlaunchAttributeID id, CUlaunchAttributeValue* value) {
    const KernelLaunch& launch = work.launch;
    switch (id) {
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: value->cooperative = launch.cooperative; break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            value->clusterDim.x = launch.cluster.x;
            value->clusterDim.y = launch.cluster.y;
            value->clusterDim.z = launch.cluster.z;
            break;
        case CU_LAUNCH_ATTRIBUTE_PRIORITY: value->priority = launch.priority; break;
        default: refuse(CUDA_ERROR_NOT_SUPPORTED);
    }
}

void copy_kernel_attributes(Machine& machine, Work& to, const Work& from) {
    Shape shape = shape_of(to.launch);
    const Shape other = shape_of(from.launch);
    shape.cluster = other.cluster;
    shape.has_cluster = other.has_cluster;
    shape.cooperative = other.cooperative;
    shape.has_priority = true;
    shape.priority = from.launch.priority;
    change_shape(machine, to, shape);
}

void fill_launch_entries(driver::Table& table) noexcept {
    table.cuLaunchKernel = launch_kernel;
    table.cuLaunchKernelEx = launch_kernel_ex;
    table.cuOccupancyMaxActiveBlocksPerMultiprocessor = max_active_blocks;
    table.cuOccupancyMaxPotentialBlockSize = max_potential_block_size;
    table.cuOccupancyMaxActiveClusters = max_active_clusters;
}

}  // namespace gpo::softgpu
