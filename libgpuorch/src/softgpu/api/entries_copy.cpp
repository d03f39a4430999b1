// Copies and fills. Addresses are checked here, when the call is made; engines do the rest.
//
// Host memory is pageable if this machine doesn't know it. A copy from pageable memory returns when that memory has
// been read: small copies are staged, larger ones waited for. A copy to pageable memory returns when it has been
// written.
#include <cstring>

#include "base/checked.h"
#include "softgpu/api/entries.h"
#include "softgpu/api/nodes.h"
#include "softgpu/api/submission.h"

namespace gpo::softgpu {

namespace {

enum class Side : uint8_t { device, host, any };

/// The source or destination of a copy.
struct End {
    bool on_device = false;
    int device = -1;
    bool pageable = false;
    bool ordered = false;
};

End end_of(Machine& machine, Side side, uint64_t address, uint64_t bytes) {
    require(address != 0);
    const Place place = machine.memory.find(address);
    End end;
    if (place.kind == Place::unknown) {
        // Freed device memory, and a range that runs into a pinned range, are not host memory.
        require(side != Side::device && !machine.memory.touches_known(address, bytes));
        end.pageable = true;
        return end;
    }
    require(place.holds(address, bytes));
    end.on_device = place.on_device();
    end.device = place.ordinal;
    require(!(side == Side::host && place.kind == Place::device));
    if (side == Side::host) end.on_device = false;   // a module's variable is host memory too
    end.ordered = place.ordered;
    return end;
}

Whereabouts whereabouts(Side side, const End& end) {
    const CUmemorytype type = side == Side::any    ? CU_MEMORYTYPE_UNIFIED
                              : side == Side::host ? CU_MEMORYTYPE_HOST
                                                   : CU_MEMORYTYPE_DEVICE;
    return {type, end.device};
}

struct Checked {
    Copy copy;
    bool reads_pageable = false, writes_pageable = false;

    static Checked nothing() {
        Checked checked;
        checked.copy.height = 0;
        return checked;
    }
};

Checked check(Machine& machine, Side to, uint64_t destination, size_t destination_pitch, Side from, uint64_t source,
              size_t source_pitch, size_t width, size_t height) {
    uint64_t to_bytes = 0, from_bytes = 0;
    require(span_of_rows(destination_pitch, width, height, &to_bytes) &&
            span_of_rows(source_pitch, width, height, &from_bytes));
    const End target = end_of(machine, to, destination, to_bytes);
    const End origin = end_of(machine, from, source, from_bytes);
    Checked checked;
    checked.copy.destination = destination;
    checked.copy.source = source;
    checked.copy.destination_pitch = destination_pitch;
    checked.copy.source_pitch = source_pitch;
    checked.copy.width = width;
    checked.copy.height = height;
    checked.copy.to = whereabouts(to, target);
    checked.copy.from = whereabouts(from, origin);
    checked.copy.check = target.ordered || origin.ordered;
    checked.copy.engine = target.on_device == origin.on_device ? EngineKind::local
                          : target.on_device                   ? EngineKind::in
                                                               : EngineKind::out;
    checked.reads_pageable = origin.pageable;
    checked.writes_pageable = target.pageable;
    return checked;
}

CUresult submit(Machine& machine, CUstream handle, const Checked& checked) {
    Stream* stream = nullptr;
    uint64_t wait_for = 0;
    {
        Submission submission(machine, handle);
        if (!checked.copy.bytes()) {
            submission.count();
            return CUDA_SUCCESS;
        }
        Command& command = submission.command(CommandKind::copy);
        command.copy = checked.copy;
        const bool stage = checked.reads_pageable && checked.copy.bytes() <= kStagedBytes && !submission.captured();
        if (stage) {
            Copy staging = checked.copy;
            staging.destination = reinterpret_cast<uint64_t>(machine.take_staging());
            staging.destination_pitch = checked.copy.width;
            command.copy.source = staging.destination;
            command.copy.source_pitch = checked.copy.width;
            command.staged = true;
            staging.perform();
        }
        stream = &submission.stream();
        const uint64_t ticket = submission.submit();
        if (checked.writes_pageable || (checked.reads_pageable && !stage)) wait_for = ticket;
    }
    if (!wait_for) return CUDA_SUCCESS;
    machine.wait_ticket(*stream, wait_for, true);   // strictly: the caller may free the memory when this returns
    return success_unless_lost(machine);
}

CUresult copy_flat(Machine& machine, Side to, uint64_t destination, Side from, uint64_t source, size_t bytes,
                   CUstream stream) {
    if (!bytes) return submit(machine, stream, Checked::nothing());
    return submit(machine, stream, check(machine, to, destination, bytes, from, source, bytes, bytes, 1));
}

CUresult CUDAAPI copy(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
    return enter_live([&](Machine& machine) -> CUresult {
        return copy_flat(machine, Side::any, destination, Side::any, source, bytes, stream);
    });
}

CUresult CUDAAPI copy_in(CUdeviceptr destination, const void* source, size_t bytes, CUstream stream) {
    return enter_live([&](Machine& machine) -> CUresult {
        return copy_flat(machine, Side::device, destination, Side::host, reinterpret_cast<uint64_t>(source), bytes,
                         stream);
    });
}

CUresult CUDAAPI copy_out(void* destination, CUdeviceptr source, size_t bytes, CUstream stream) {
    return enter_live([&](Machine& machine) -> CUresult {
        return copy_flat(machine, Side::host, reinterpret_cast<uint64_t>(destination), Side::device, source, bytes,
                         stream);
    });
}

CUresult CUDAAPI copy_within(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream) {
    return enter_live([&](Machine& machine) -> CUresult {
        return copy_flat(machine, Side::device, destination, Side::device, source, bytes, stream);
    });
}

void require_on(Machine& machine, CUcontext handle, CUdeviceptr address) {
    Context& context = context_of(machine, handle);
    const Place place = machine.memory.find(address);
    require(!place.on_device() || place.ordinal == context.device->ordinal);
}

CUresult CUDAAPI copy_peer(CUdeviceptr destination, CUcontext destination_context, CUdeviceptr source,
                           CUcontext source_context, size_t bytes, CUstream stream) {
    return enter_live([&](Machine& machine) -> CUresult {
        require_on(machine, destination_context, destination);
        require_on(machine, source_context, source);
        return copy_flat(machine, Side::device, destination, Side::device, source, bytes, stream);
    });
}

/// A pitch of 0 is that of one row.
size_t row_of(const CUDA_MEMCPY3D& d, size_t pitch) { return pitch || d.Height > 1 ? pitch : d.WidthInBytes; }

/// The start address of a side of a 2D copy's description.
uint64_t start_of(CUmemorytype type, const void* host, CUdeviceptr device, size_t x, size_t y, size_t pitch,
                  size_t width, Side* side) {
    uint64_t base = device;
    switch (type) {
        case CU_MEMORYTYPE_HOST:
            *side = Side::host;
            base = reinterpret_cast<uint64_t>(host);
            break;
        case CU_MEMORYTYPE_DEVICE: *side = Side::device; break;
        case CU_MEMORYTYPE_UNIFIED: *side = Side::any; break;
        case CU_MEMORYTYPE_ARRAY: refuse(CUDA_ERROR_NOT_SUPPORTED);
        default: refuse(CUDA_ERROR_INVALID_VALUE);
    }
    size_t row_end = 0;
    require(!__builtin_add_overflow(x, width, &row_end) && row_end <= pitch);
    uint64_t offset = 0;
    require(!__builtin_mul_overflow(y, pitch, &offset) && !__builtin_add_overflow(offset, x, &offset) &&
            !__builtin_add_overflow(base, offset, &base));
    return base;
}

CUresult CUDAAPI copy_2d(const CUDA_MEMCPY2D* description, CUstream stream) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(description != nullptr);
        const CUDA_MEMCPY2D& d = *description;
        Side to = Side::any, from = Side::any;
        const uint64_t source = start_of(d.srcMemoryType, d.srcHost, d.srcDevice, d.srcXInBytes, d.srcY, d.srcPitch,
                                         d.WidthInBytes, &from);
        const uint64_t destination =
            start_of(d.dstMemoryType, d.dstHost, d.dstDevice, d.dstXInBytes, d.dstY, d.dstPitch, d.WidthInBytes, &to);
        if (!d.WidthInBytes || !d.Height) return submit(machine, stream, Checked::nothing());
        return submit(machine, stream, check(machine, to, destination, d.dstPitch, from, source, d.srcPitch,
                                             d.WidthInBytes, d.Height));
    });
}

CUresult CUDAAPI copy_batch(CUdeviceptr* destinations, CUdeviceptr* sources, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attributes, size_t* first_of, size_t attribute_count, CUstream handle) {
    return enter_live([&](Machine& machine) -> CUresult {
        require(destinations && sources && sizes && count && attributes && first_of);
        require(attribute_count >= 1 && attribute_count <= count && first_of[0] == 0);
        for (size_t i = 0; i < attribute_count; ++i) {
            require(i == 0 || first_of[i] > first_of[i - 1]);
            require(first_of[i] < count);
            require(attributes[i].srcAccessOrder >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM &&
                    attributes[i].srcAccessOrder <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
            require(!(attributes[i].flags & ~unsigned(CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE)));
        }
        require(handle != nullptr && handle != CU_STREAM_LEGACY);
        std::vector<Copy> pieces;
        pieces.reserve(count);
        bool wait = false;
        for (size_t i = 0, attribute = 0; i < count; ++i) {
            if (attribute + 1 < attribute_count && first_of[attribute + 1] == i) ++attribute;
            if (!sizes[i]) continue;
            const Checked checked =
                check(machine, Side::any, destinations[i], sizes[i], Side::any, sources[i], sizes[i], sizes[i], 1);
            const auto order = attributes[attribute].srcAccessOrder;
            // When the source has to have been read by the return, and what that means for memory we can't stage.
            if (checked.writes_pageable || order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL ||
                (checked.reads_pageable && order == CU_MEMCPY_SRC_ACCESS_ORDER_STREAM))
                wait = true;
            pieces.push_back(checked.copy);
        }
        Stream* stream = nullptr;
        uint64_t ticket = 0;
        {
            Submission submission(machine, handle);
            if (submission.captured()) refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
            if (pieces.empty()) {
                submission.count();
                return CUDA_SUCCESS;
            }
            Command& command = submission.command(CommandKind::copy);
            command.copy.engine = pieces.front().engine;
            command.pieces = std::move(pieces);
            stream = &submission.stream();
            ticket = submission.submit();
        }
        if (!wait) return CUDA_SUCCESS;
        machine.wait_ticket(*stream, ticket, true);
        return success_unless_lost(machine);
    });
}

Fill checked_fill(Machine& machine, CUdeviceptr destination, size_t pitch, uint32_t value, uint8_t element,
                  size_t width, size_t height) {
    size_t row = 0;
    require(!__builtin_mul_overflow(width, size_t(element), &row));
    if (height > 1) require(pitch >= row);
    else pitch = row;
    uint64_t bytes = 0;
    require(span_of_rows(pitch, row, height, &bytes) && destination % element == 0 && pitch % element == 0);
    Fill fill;
    if (bytes) {
        require(destination != 0);
        const Place place = machine.memory.find(destination);
        require(place.holds(destination, bytes));
        fill.check = place.ordered;
        fill.to.device = place.ordinal;
    }
    fill.destination = destination;
    fill.pitch = pitch;
    fill.width = width;
    fill.height = height;
    fill.value = value;
    fill.element = element;
    return fill;
}

CUresult fill(CUdeviceptr destination, size_t pitch, uint32_t value, uint8_t element, size_t width, size_t height,
              CUstream stream) {
    return enter_live([&](Machine& machine) -> CUresult {
        const Fill checked = checked_fill(machine, destination, pitch, value, element, width, height);
        Submission submission(machine, stream);
        if (!checked.bytes()) {
            submission.count();
            return CUDA_SUCCESS;
        }
        submission.command(CommandKind::fill).fill = checked;
        submission.submit();
        return CUDA_SUCCESS;
    });
}

CUresult CUDAAPI fill_8(CUdeviceptr destination, unsigned char value, size_t count, CUstream stream) {
    return fill(destination, 0, value, 1, count, 1, stream);
}

CUresult CUDAAPI fill_16(CUdeviceptr destination, unsigned short value, size_t count, CUstream stream) {
    return fill(destination, 0, value, 2, count, 1, stream);
}

CUresult CUDAAPI fill_32(CUdeviceptr destination, unsigned value, size_t count, CUstream stream) {
    return fill(destination, 0, value, 4, count, 1, stream);
}

CUresult CUDAAPI fill_2d_8(CUdeviceptr destination, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
    return fill(destination, pitch, value, 1, width, height, stream);
}

}  // namespace

void make_copy_node(Machine& machine, const CUDA_MEMCPY3D& d, Work& work) {
    // Only 3D copies with a single layer are supported.
    require(d.Depth == 1 && !d.srcZ && !d.dstZ && !d.srcLOD && !d.dstLOD, CUDA_ERROR_NOT_SUPPORTED);
    Side to = Side::any, from = Side::any;
    const uint64_t source = start_of(d.srcMemoryType, d.srcHost, d.srcDevice, d.srcXInBytes, d.srcY,
                                     row_of(d, d.srcPitch), d.WidthInBytes, &from);
    const uint64_t destination = start_of(d.dstMemoryType, d.dstHost, d.dstDevice, d.dstXInBytes, d.dstY,
                                          row_of(d, d.dstPitch), d.WidthInBytes, &to);
    require(d.WidthInBytes && d.Height);
    work.copy = check(machine, to, destination, row_of(d, d.dstPitch), from, source, row_of(d, d.srcPitch),
                      d.WidthInBytes, d.Height)
                    .copy;
    work.copy.to.type = d.dstMemoryType;
    work.copy.from.type = d.srcMemoryType;
    work.kind = CommandKind::copy;
}

void read_copy_node(const Work& work, CUDA_MEMCPY3D* d) {
    const Copy& copy = work.copy;
    *d = CUDA_MEMCPY3D{};
    d->srcMemoryType = copy.from.type;
    d->dstMemoryType = copy.to.type;
    if (copy.from.type == CU_MEMORYTYPE_HOST) d->srcHost = reinterpret_cast<const void*>(copy.source);
    else d->srcDevice = copy.source;
    if (copy.to.type == CU_MEMORYTYPE_HOST) d->dstHost = reinterpret_cast<void*>(copy.destination);
    else d->dstDevice = copy.destination;
    d->srcPitch = copy.source_pitch;
    d->dstPitch = copy.destination_pitch;
    d->WidthInBytes = copy.width;
    d->Height = copy.height;
    d->Depth = 1;
}

void make_fill_node(Machine& machine, const CUDA_MEMSET_NODE_PARAMS_v2& d, Work& work) {
    require(d.elementSize == 1 || d.elementSize == 2 || d.elementSize == 4);
    require(d.width && d.height && (d.elementSize == 4 || d.value >> 8 * d.elementSize == 0));
    work.fill = checked_fill(machine, d.dst, d.pitch, d.value, uint8_t(d.elementSize), d.width, d.height);
    work.kind = CommandKind::fill;
}

void read_fill_node(const Work& work, CUDA_MEMSET_NODE_PARAMS* d) {
    const Fill& fill = work.fill;
    d->dst = fill.destination;
    d->pitch = fill.height > 1 ? fill.pitch : 0;
    d->value = fill.value;
    d->elementSize = fill.element;
    d->width = fill.width;
    d->height = fill.height;
}

void fill_copy_entries(driver::Table& table) noexcept {
    table.cuMemcpyAsync = copy;
    table.cuMemcpyHtoDAsync = copy_in;
    table.cuMemcpyDtoHAsync = copy_out;
    table.cuMemcpyDtoDAsync = copy_within;
    table.cuMemcpyPeerAsync = copy_peer;
    table.cuMemcpy2DAsync = copy_2d;
    table.cuMemcpyBatchAsync = copy_batch;
    table.cuMemsetD8Async = fill_8;
    table.cuMemsetD16Async = fill_16;
    table.cuMemsetD32Async = fill_32;
    table.cuMemsetD2D8Async = fill_2d_8;
}

}  // namespace gpo::softgpu
