#include "graph/parameters.h"

#include <algorithm>
#include <cstring>

#include "kernel/kernel.h"
#include "memory/place.h"

namespace gpo {

namespace {

template <class T>
T value_of(const void* from) noexcept {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
void put(void* to, T value) noexcept {
    std::memcpy(to, &value, sizeof value);
}

[[noreturn]] void fail_none(const Node& node, const NodeField& field) {
    fail(GPO_INVALID_ARGUMENT, describe_node(node, field.node), ", has no ", name_of_field(field.what),
         " that can be set");
}

uint32_t size_in_kernel(const Node& node, const KernelNode& kernel, const NodeField& field) {
    if (!kernel.arguments_known())
        fail(GPO_NOT_SUPPORTED, describe_node(node, field.node),
             ", can't be changed: this driver can't tell the sizes of its arguments");
    switch (field.what) {
        case GPO_PARAMETER_ARGUMENT:
            if (field.index >= kernel.arguments())
                fail(GPO_INVALID_ARGUMENT, describe_node(node, field.node), ", has ", kernel.arguments(),
                     " arguments and no argument ", field.index);
            return kernel.argument_bytes(field.index);
        case GPO_PARAMETER_GRID:
        case GPO_PARAMETER_BLOCK: return 3 * sizeof(uint32_t);
        case GPO_PARAMETER_SHARED_BYTES: return sizeof(uint32_t);
        default: fail_none(node, field);
    }
}

uint32_t size_in_copy(const Node& node, const CopyNode& copy, const NodeField& field) {
    if (!copy.plain())
        fail(GPO_NOT_SUPPORTED, describe_node(node, field.node), ", copies from or to an array and can't be changed");
    switch (field.what) {
        case GPO_PARAMETER_DESTINATION:
        case GPO_PARAMETER_SOURCE: return sizeof(uint64_t);
        case GPO_PARAMETER_BYTES:
            if (copy.one_row()) return sizeof(uint64_t);
            fail(GPO_NOT_SUPPORTED, describe_node(node, field.node), ", copies several rows: its length can't be set");
        default: fail_none(node, field);
    }
}

uint32_t size_in_fill(const Node& node, const FillWork& fill, const NodeField& field) {
    switch (field.what) {
        case GPO_PARAMETER_DESTINATION: return sizeof(uint64_t);
        case GPO_PARAMETER_VALUE: return sizeof(uint32_t);
        case GPO_PARAMETER_BYTES:
            if (fill.rows <= 1) return sizeof(uint64_t);
            gpo::fail(GPO_NOT_SUPPORTED, describe_node(node, field.node),
                      ", fills several rows: its length can't be set");
        default: fail_none(node, field);
    }
}

void check_shape(const uint32_t (&most)[3], const std::string& name, const void* value, const char* of) {
    uint32_t shape[3];
    std::memcpy(shape, value, sizeof shape);
    for (int i = 0; i < 3; ++i)
        if (shape[i] - 1 >= most[i])   // a 0 wraps
            fail(GPO_INVALID_ARGUMENT, "parameter `", name, "`: ", of, "[", i, "] is ", shape[i],
                 ", and 1 to ", most[i],
                 " are possible");
}

void check_block(const LaunchLimits& limits, const std::string& name, const void* value) {
    check_shape(limits.max_block, name, value, "block");
    uint32_t block[3];
    std::memcpy(block, value, sizeof block);
    const uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
    if (threads > limits.max_threads)
        fail(GPO_INVALID_ARGUMENT, "parameter `", name, "`: a block of ", threads, " threads, and at most ",
             limits.max_threads, " are possible");
}

// The kernel as users know it: by name and argument sizes, in any module.
std::string kernel_text(Context& context, const Node& node, const KernelNode& kernel) {
    const auto* owner = dynamic_cast<const Kernel*>(node.owner.get());
    std::string out = owner ? owner->function().symbol : native_name(context, kernel);
    out += '(';
    for (uint32_t i = 0; i < kernel.arguments(); ++i) out += text(i ? "," : "", kernel.argument_bytes(i));
    out += ')';
    return out;
}

// The library's own memory is found in its maps, without the driver.
AddressKind kind_at(Context& context, uint64_t address) {
    const Registry& registry = Registry::of(context.runtime());
    if (registry.device.find(address)) return AddressKind::device;
    if (registry.host.find(address)) return AddressKind::host;
    const DriverScope scope(context);
    switch (place_of(context, address).kind) {
        case GPO_MEMORY_PINNED: return AddressKind::host;
        case GPO_MEMORY_DEVICE: return AddressKind::device;
        case GPO_MEMORY_MANAGED: return AddressKind::managed;
        default: return AddressKind::pageable;
    }
}

// A copy node that states its kind of memory keeps that kind, even if the recorded memory was freed since.
AddressKind address_kind(Context& context, const Node& node, const NodeField& field) {
    if (field.what != GPO_PARAMETER_DESTINATION && field.what != GPO_PARAMETER_SOURCE) return AddressKind::none;
    uint64_t address = 0;
    read_field(node.work, field, &address);
    AddressKind found = kind_at(context, address);
    if (found == AddressKind::managed) found = AddressKind::device;
    const auto* copy = std::get_if<CopyNode>(&node.work);
    if (!copy) return found == AddressKind::pageable ? AddressKind::device : found;
    switch (field.what == GPO_PARAMETER_DESTINATION ? copy->params.dstMemoryType : copy->params.srcMemoryType) {
        case CU_MEMORYTYPE_DEVICE: return AddressKind::device;
        case CU_MEMORYTYPE_HOST: return found == AddressKind::pageable ? found : AddressKind::host;
        default: return found;
    }
}

void check_bytes(const Node& node, const std::string& name, uint64_t bytes) {
    if (bytes == 0) fail(GPO_INVALID_ARGUMENT, "parameter `", name, "`: a length of 0; disable the node instead");
    const auto* fill = std::get_if<FillWork>(&node.work);
    if (fill && bytes % fill->element_bytes)
        gpo::fail(GPO_INVALID_ARGUMENT, "parameter `", name, "`: ", bytes, " bytes are no whole elements of ",
                  fill->element_bytes);
}

void check_alignment(const Node& node, const std::string& name, uint64_t destination) {
    const auto* fill = std::get_if<FillWork>(&node.work);
    if (fill && destination % fill->element_bytes)
        gpo::fail(GPO_INVALID_ARGUMENT, "parameter `", name, "`: ", hex(destination), " is no multiple of the ",
                  fill->element_bytes, " bytes of an element");
}

void read_kernel(const KernelNode& kernel, const NodeField& field, void* value) noexcept {
    const CUDA_KERNEL_NODE_PARAMS& params = kernel.params();
    const uint32_t grid[3] = {params.gridDimX, params.gridDimY, params.gridDimZ};
    const uint32_t block[3] = {params.blockDimX, params.blockDimY, params.blockDimZ};
    switch (field.what) {
        case GPO_PARAMETER_ARGUMENT:
            std::memcpy(value, kernel.argument(field.index), kernel.argument_bytes(field.index));
            break;
        case GPO_PARAMETER_GRID: std::memcpy(value, grid, sizeof grid); break;
        case GPO_PARAMETER_BLOCK: std::memcpy(value, block, sizeof block); break;
        default: put(value, uint32_t{params.sharedMemBytes});
    }
}

void write_kernel(KernelNode& kernel, const NodeField& field, const void* value) noexcept {
    CUDA_KERNEL_NODE_PARAMS& params = kernel.params();
    uint32_t shape[3];
    switch (field.what) {
        case GPO_PARAMETER_ARGUMENT:
            std::memcpy(kernel.argument(field.index), value, kernel.argument_bytes(field.index));
            break;
        case GPO_PARAMETER_GRID:
            std::memcpy(shape, value, sizeof shape);
            params.gridDimX = shape[0];
            params.gridDimY = shape[1];
            params.gridDimZ = shape[2];
            break;
        case GPO_PARAMETER_BLOCK:
            std::memcpy(shape, value, sizeof shape);
            params.blockDimX = shape[0];
            params.blockDimY = shape[1];
            params.blockDimZ = shape[2];
            break;
        default: params.sharedMemBytes = value_of<uint32_t>(value);
    }
}

// For copies of one row: drivers require the row to fit into the pitch nevertheless.
void write_length(CUDA_MEMCPY3D& copy, uint64_t bytes) noexcept {
    copy.WidthInBytes = bytes;
    copy.srcPitch = std::max<size_t>(copy.srcPitch, copy.srcXInBytes + bytes);
    copy.dstPitch = std::max<size_t>(copy.dstPitch, copy.dstXInBytes + bytes);
}

}  // namespace

const char* name_of_field(uint32_t what) noexcept {
    switch (what) {
        case GPO_PARAMETER_ARGUMENT: return "argument";
        case GPO_PARAMETER_GRID: return "grid";
        case GPO_PARAMETER_BLOCK: return "block";
        case GPO_PARAMETER_SHARED_BYTES: return "shared memory";
        case GPO_PARAMETER_DESTINATION: return "destination";
        case GPO_PARAMETER_SOURCE: return "source";
        case GPO_PARAMETER_BYTES: return "length";
        case GPO_PARAMETER_VALUE: return "value";
        default: return "switch";
    }
}

std::string meaning_text(const Meaning& meaning) {
    const char* field = name_of_field(meaning.what);
    if (meaning.kernel.empty()) return text("the ", field, " of a ", meaning.kind);
    const auto kernel = std::string_view(meaning.kernel).substr(0, meaning.kernel.rfind('('));
    if (meaning.what == GPO_PARAMETER_ARGUMENT) return text(field, " ", meaning.index, " of kernel `", kernel, "`");
    return text("the ", field, " of kernel `", kernel, "`");
}

NamedField named_field(Context& context, const Node& node, const NodeField& field) {
    const auto* kernel = std::get_if<KernelNode>(&node.work);
    return {field,
            {kind_of(node.work), field.what, field.index, kernel ? kernel_text(context, node, *kernel) : std::string()},
            address_kind(context, node, field)};
}

uint32_t size_of_field(const Node& node, const NodeField& field) {
    if (field.what < GPO_PARAMETER_ARGUMENT || field.what > GPO_PARAMETER_ENABLED)
        fail(GPO_INVALID_ARGUMENT, "what is ", field.what, ", none of GPO_PARAMETER_*");
    if (field.index && field.what != GPO_PARAMETER_ARGUMENT)
        fail(GPO_INVALID_ARGUMENT, "index is ", field.index, ", which only arguments have");
    const auto* kernel = std::get_if<KernelNode>(&node.work);
    const auto* copy = std::get_if<CopyNode>(&node.work);
    const auto* fill = std::get_if<FillWork>(&node.work);
    if (field.what == GPO_PARAMETER_ENABLED && (kernel || copy || fill)) return sizeof(uint32_t);
    if (kernel) return size_in_kernel(node, *kernel, field);
    if (copy) return size_in_copy(node, *copy, field);
    if (fill) return size_in_fill(node, *fill, field);
    fail_none(node, field);
}

void check_address(Context& context, const NamedField& field, const std::string& name, const void* value) {
    if (field.address == AddressKind::none) return;
    const auto address = value_of<uint64_t>(value);
    if (!address) fail(GPO_INVALID_ARGUMENT, "parameter `", name, "`: the address is 0");
    const AddressKind found = kind_at(context, address), wanted = field.address;
    if (found == wanted || found == AddressKind::managed) return;
    if (found == AddressKind::pageable)
        fail(GPO_INVALID_ARGUMENT, "parameter `", name, "`: at ", hex(address),
             " there is no memory that the GPU can use: it is pageable host memory, or was freed");
    if (found == AddressKind::host && wanted == AddressKind::pageable) return;
    const bool host = found == AddressKind::host;
    fail(GPO_INVALID_ARGUMENT, "parameter `", name, "`: ", hex(address), host ? " is host" : " is device",
         " memory, and the node was recorded with ", host ? "device" : "host", " memory there");
}

void check_value(Context& context, const LaunchLimits& limits, const Node& node, const NamedField& field,
                 const std::string& name, const void* value) {
    switch (field.what) {
        case GPO_PARAMETER_GRID: return check_shape(limits.max_grid, name, value, "grid");
        case GPO_PARAMETER_BLOCK: return check_block(limits, name, value);
        case GPO_PARAMETER_BYTES: return check_bytes(node, name, value_of<uint64_t>(value));
        default: break;
    }
    check_address(context, field, name, value);
    if (field.what == GPO_PARAMETER_DESTINATION) check_alignment(node, name, value_of<uint64_t>(value));
}

void read_field(const NodeWork& work, const NodeField& field, void* value) noexcept {
    if (field.what == GPO_PARAMETER_ENABLED) return put(value, uint32_t{1});
    if (const auto* kernel = std::get_if<KernelNode>(&work)) return read_kernel(*kernel, field, value);
    if (const auto* copy = std::get_if<CopyNode>(&work)) {
        put<uint64_t>(value, field.what == GPO_PARAMETER_DESTINATION ? copy->destination()
                             : field.what == GPO_PARAMETER_SOURCE    ? copy->source()
                                                                     : copy->params.WidthInBytes);
    } else if (const auto* fill = std::get_if<FillWork>(&work)) {
        if (field.what == GPO_PARAMETER_VALUE) put(value, uint32_t{fill->value});
        else if (field.what == GPO_PARAMETER_DESTINATION) put<uint64_t>(value, fill->destination);
        else put<uint64_t>(value, fill->count * fill->element_bytes);
    }
}

void write_field(NodeWork& work, const NodeField& field, const void* value) noexcept {
    if (field.what == GPO_PARAMETER_ENABLED) return;
    if (auto* kernel = std::get_if<KernelNode>(&work)) return write_kernel(*kernel, field, value);
    if (auto* copy = std::get_if<CopyNode>(&work)) {
        const auto to = value_of<uint64_t>(value);
        if (field.what == GPO_PARAMETER_DESTINATION) copy->set_destination(to);
        else if (field.what == GPO_PARAMETER_SOURCE) copy->set_source(to);
        else write_length(copy->params, to);
    } else if (auto* fill = std::get_if<FillWork>(&work)) {
        if (field.what == GPO_PARAMETER_VALUE) fill->value = value_of<uint32_t>(value);
        else if (field.what == GPO_PARAMETER_DESTINATION) fill->destination = value_of<uint64_t>(value);
        else fill->count = value_of<uint64_t>(value) / fill->element_bytes;
    }
}

}  // namespace gpo
