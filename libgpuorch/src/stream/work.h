// GPU work as plain records, without a stream or an owner.
//
// A record can be made, checked and copied anywhere. `issue` submits it to a stream, `add` adds it to a graph as a
// node, and `change` puts it into a node of an executable graph. All three use the record's addresses and handles
// (arguments, events, memory) as they are: these have to stay valid until the driver has taken the work, and the memory
// until the work is done. `accesses` returns the memory that the work reads and writes, if known, and `name` the work's
// name in failures and traces. The makers of records refuse invalid arguments and explain the driver's refusals
// (kernel/launch.h, memory/copies.h, memory/fill.h).
#pragma once

#include <cuda.h>

#include <cstdint>
#include <span>
#include <variant>

#include "device/context.h"

namespace gpo {

struct KernelWork {
    CUfunction function = nullptr;
    uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
    uint32_t cluster[3] = {};                  // all 0: no clusters
    uint32_t dynamic_shared = 0;               // bytes
    bool cooperative = false, has_priority = false;
    int32_t priority = 0;
    void** arguments = nullptr;                // addresses of the values, which the driver copies
};

struct CopyWork {
    /// between: by unified addressing, host or device on either side.
    enum class Way : uint8_t { to_device, to_host, on_device, peer, between };
    Way way = Way::between;
    uint64_t destination = 0, source = 0, bytes = 0;
    CUcontext destination_context = nullptr, source_context = nullptr;   // for Way::peer
};

/// Rows of `width` bytes.
struct RowsWork {
    uint64_t destination = 0, source = 0;
    uint64_t destination_pitch = 0, source_pitch = 0;
    uint64_t width = 0, height = 0;
    bool to_device = false, from_device = false;   // otherwise host memory
};

/// Rows of `count` elements, each of 1, 2 or 4 bytes, set to `value`. More than one row: elements of 1 byte.
struct FillWork {
    uint64_t destination = 0;
    uint64_t count = 0, rows = 1, pitch = 0;       // bytes from one row to the next
    uint32_t value = 0, element_bytes = 1;
    bool operator==(const FillWork&) const = default;
};

/// A recording of an event, or a wait for it.
struct EventWork {
    CUevent event = nullptr;
    bool wait = false;
    bool external = false;   // as a node of the captured graph; the driver refuses it on a stream that isn't captured
    bool operator==(const EventWork&) const = default;
};

/// Parameters of a node of this type, all 0.
CUgraphNodeParams node_of(CUgraphNodeType type) noexcept;

/// The driver's result, and the name of the called function.
struct Issued {
    CUresult result;
    const char* function;
};

// Called inside a DriverScope of the context; `stream` belongs to the context.
Issued issue_with_attributes(const Context& context, CUstream stream, const KernelWork& work) noexcept;
inline Issued issue(const Context& context, CUstream stream, const KernelWork& work) noexcept {
    if (work.cooperative || work.has_priority || work.cluster[0]) [[unlikely]]
        return issue_with_attributes(context, stream, work);
    return {context.table().cuLaunchKernel(work.function, work.grid[0], work.grid[1], work.grid[2], work.block[0],
                                           work.block[1], work.block[2], work.dynamic_shared, stream, work.arguments,
                                           nullptr),
            "cuLaunchKernel"};
}
Issued issue_elsewhere(const Context& context, CUstream stream, const CopyWork& work) noexcept;
inline Issued issue(const Context& context, CUstream stream, const CopyWork& work) noexcept {
    const driver::Table& table = context.table();
    switch (work.way) {
        case CopyWork::Way::to_device:
            return {table.cuMemcpyHtoDAsync(work.destination, reinterpret_cast<const void*>(work.source), work.bytes,
                                            stream),
                    "cuMemcpyHtoDAsync"};
        case CopyWork::Way::to_host:
            return {table.cuMemcpyDtoHAsync(reinterpret_cast<void*>(work.destination), work.source, work.bytes, stream),
                    "cuMemcpyDtoHAsync"};
        default: return issue_elsewhere(context, stream, work);
    }
}
Issued issue(const Context& context, CUstream stream, const RowsWork& work) noexcept;
Issued issue(const Context& context, CUstream stream, const FillWork& work) noexcept;
inline Issued issue(const Context& context, CUstream stream, const EventWork& work) noexcept {
    const driver::Table& table = context.table();
    if (work.wait)
        return {table.cuStreamWaitEvent(stream, work.event,
                                        work.external ? CU_EVENT_WAIT_EXTERNAL : CU_EVENT_WAIT_DEFAULT),
                "cuStreamWaitEvent"};
    if (work.external) [[unlikely]]
        return {table.cuEventRecordWithFlags(work.event, stream, CU_EVENT_RECORD_EXTERNAL), "cuEventRecordWithFlags"};
    return {table.cuEventRecord(work.event, stream), "cuEventRecord"};
}

/// The kernel of a node, without launch attributes.
CUDA_KERNEL_NODE_PARAMS params_of(const KernelWork& work) noexcept;
/// Gives a kernel's node the launch attributes of the record. Inside a DriverScope of the context.
Issued set_attributes(const Context& context, CUgraphNode node, const KernelWork& work) noexcept;
/// The part of a fill's value that fits into an element.
constexpr uint32_t element_of(const FillWork& work) noexcept {
    return work.element_bytes == 4 ? work.value : work.value & ((1u << 8 * work.element_bytes) - 1);
}
/// The driver's parameters of a node that does the recorded work, without dependencies.
CUgraphNodeParams params_of(const Context& context, const RowsWork& work) noexcept;
CUgraphNodeParams params_of(const Context& context, const FillWork& work) noexcept;
CUgraphNodeParams params_of(const EventWork& work) noexcept;

// Adds a node to the graph, after `dependencies`, and stores it in `*node`. Inside a DriverScope of the context.
Issued add(const Context& context, CUgraph graph, std::span<const CUgraphNode> dependencies, const KernelWork& work,
           CUgraphNode* node) noexcept;
Issued add(const Context& context, CUgraph graph, std::span<const CUgraphNode> dependencies, const CopyWork& work,
           CUgraphNode* node) noexcept;
Issued add(const Context& context, CUgraph graph, std::span<const CUgraphNode> dependencies, const RowsWork& work,
           CUgraphNode* node) noexcept;
Issued add(const Context& context, CUgraph graph, std::span<const CUgraphNode> dependencies, const FillWork& work,
           CUgraphNode* node) noexcept;
Issued add(const Context& context, CUgraph graph, std::span<const CUgraphNode> dependencies, const EventWork& work,
           CUgraphNode* node) noexcept;

// Changes the work of a node in an executable graph. The node was added with a record of the same kind: a launch of the
// same function, a copy of the same way. Inside a DriverScope of the context.
Issued change(const Context& context, CUgraphExec exec, CUgraphNode node, const KernelWork& work) noexcept;
Issued change(const Context& context, CUgraphExec exec, CUgraphNode node, const CopyWork& work) noexcept;
Issued change(const Context& context, CUgraphExec exec, CUgraphNode node, const FillWork& work) noexcept;

/// Any work that is a record.
using AnyWork = std::variant<KernelWork, CopyWork, RowsWork, FillWork, EventWork>;

/// Work that streams may learn (stream/learner.h): `change` covers everything that may differ from one time to the
/// next.
using LearnableWork = std::variant<std::monostate, KernelWork, CopyWork, FillWork>;

/// Number of bytes moved or set.
constexpr uint64_t bytes_of(const CopyWork& work) noexcept { return work.bytes; }
constexpr uint64_t bytes_of(const RowsWork& work) noexcept { return work.width * work.height; }
constexpr uint64_t bytes_of(const FillWork& work) noexcept { return work.count * work.element_bytes * work.rows; }

/// A range of memory; no bytes: none.
struct Extent {
    uint64_t address = 0, bytes = 0;
};
struct Accesses {
    bool known = false;    // false: any memory may be read and written
    Extent reads, writes;
};
/// A kernel's accesses aren't known. For rows the range runs from the first byte to the last, gaps included.
inline Accesses accesses(const KernelWork&) noexcept { return {}; }
inline Accesses accesses(const CopyWork& work) noexcept {
    return {true, {work.source, work.bytes}, {work.destination, work.bytes}};
}
Accesses accesses(const RowsWork& work) noexcept;
Accesses accesses(const FillWork& work) noexcept;
inline Accesses accesses(const EventWork&) noexcept { return {true, {}, {}}; }

// Static texts, for failures and traces.
constexpr const char* name(const KernelWork&) noexcept { return "kernel"; }
constexpr const char* name(const CopyWork&) noexcept { return "copy"; }
constexpr const char* name(const RowsWork&) noexcept { return "copy"; }
constexpr const char* name(const FillWork&) noexcept { return "fill"; }
constexpr const char* name(const EventWork& work) noexcept { return work.wait ? "wait for event" : "record event"; }

}  // namespace gpo
