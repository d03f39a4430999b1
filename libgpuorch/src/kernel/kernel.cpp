#include "kernel/kernel.h"

#include <algorithm>

#include "stream/streams.h"

namespace gpo {

int Kernel::attribute(CUfunction_attribute which) {
    int value = 0;
    context().check(context().table().cuFuncGetAttribute(&value, which, native()), "cuFuncGetAttribute");
    return value;
}

gpo_kernel_attributes Kernel::attributes() {
    DriverScope scope(context());
    gpo_kernel_attributes out{};
    const auto bytes = [&](CUfunction_attribute which) { return static_cast<uint64_t>(std::max(attribute(which), 0)); };
    out.max_threads_per_block = static_cast<uint32_t>(attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
    out.registers_per_thread = static_cast<uint32_t>(attribute(CU_FUNC_ATTRIBUTE_NUM_REGS));
    out.parameter_count = static_cast<uint32_t>(function_.parameters.size());
    out.static_shared_bytes = bytes(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    out.constant_bytes = bytes(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
    out.local_bytes_per_thread = bytes(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    out.parameter_bytes = function_.parameter_bytes;
    out.max_dynamic_shared_bytes = bytes(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    out.ptx_version = attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION);
    out.binary_version = attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    return out;
}

const Function::Parameter& Kernel::parameter(uint32_t index) const {
    if (!function_.parameters_known)
        fail(GPO_NOT_SUPPORTED, "the driver can't tell the parameters of ", describe(), ": CUDA 12.4's can");
    if (index >= function_.parameters.size())
        fail(GPO_INVALID_ARGUMENT, describe(), " has ", function_.parameters.size(), " parameters: there is no number ",
             index);
    return function_.parameters[index];
}

void Kernel::set_max_dynamic_shared(uint64_t bytes) {
    const auto most = static_cast<uint64_t>(
        std::max(0, device_attribute(context(), CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)));
    DriverScope scope(context());
    const auto taken = static_cast<uint64_t>(std::max(0, attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)));
    if (taken > most || bytes > most - taken)
        fail(GPO_INVALID_ARGUMENT, describe(), " can't have ", bytes, " bytes of dynamic shared memory: a block has ",
             "at most ", most, " bytes on this device, and the kernel itself takes ", taken);
    Streams::of(context()).settle_withheld();
    context().check(context().table().cuFuncSetAttribute(native(), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                         static_cast<int>(bytes)),
                    "cuFuncSetAttribute");
    function_.max_dynamic_shared.store(static_cast<uint32_t>(bytes), std::memory_order_relaxed);
    function_.occupancy.store(0, std::memory_order_relaxed);
}

uint32_t Kernel::refresh_max_dynamic_shared() {
    DriverScope scope(context());
    const auto bytes = static_cast<uint32_t>(std::max(0, attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)));
    function_.max_dynamic_shared.store(bytes, std::memory_order_relaxed);
    return bytes;
}

uint32_t Kernel::blocks_per_multiprocessor(uint32_t threads, uint64_t dynamic_shared) {
    if (!threads || threads > limits().max_threads)
        fail(GPO_INVALID_ARGUMENT, "threads is ", threads, ": a block has 1 to ", limits().max_threads,
             " on this device");
    if (dynamic_shared > UINT32_MAX) fail(GPO_INVALID_ARGUMENT, "dynamic_shared_bytes is ", dynamic_shared);
    const uint64_t key = uint64_t{threads} << 52 | dynamic_shared << 20;
    const uint64_t known = function_.occupancy.load(std::memory_order_relaxed);
    if (known && (known & ~uint64_t{0xfffff}) == key) return (known & 0xfffff) - 1;
    DriverScope scope(context());
    int blocks = 0;
    context().check(context().table().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                        &blocks, native(), static_cast<int>(threads), static_cast<size_t>(dynamic_shared)),
                    "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    const auto count = static_cast<uint32_t>(std::max(blocks, 0));
    if (count < 0xfffff) function_.occupancy.store(key | (count + 1), std::memory_order_relaxed);
    return count;
}

std::pair<uint32_t, uint32_t> Kernel::suggest(uint64_t dynamic_shared, uint32_t max_threads) {
    if (dynamic_shared > INT32_MAX) fail(GPO_INVALID_ARGUMENT, "dynamic_shared_bytes is ", dynamic_shared);
    if (max_threads > INT32_MAX) fail(GPO_INVALID_ARGUMENT, "max_threads is ", max_threads);
    DriverScope scope(context());
    int blocks = 0, threads = 0;
    context().check(context().table().cuOccupancyMaxPotentialBlockSize(&blocks, &threads, native(), nullptr,
                                                                       static_cast<size_t>(dynamic_shared),
                                                                       static_cast<int>(max_threads)),
                    "cuOccupancyMaxPotentialBlockSize");
    if (threads <= 0 || blocks <= 0)
        fail(GPO_INVALID_ARGUMENT, "no block of ", describe(), " fits with ", dynamic_shared,
             " bytes of dynamic shared memory");
    return {static_cast<uint32_t>(threads), static_cast<uint32_t>(blocks)};
}

}  // namespace gpo
