#include "memory/place.h"

#include "base/checked.h"
#include "memory/heap.h"

namespace gpo {

// The place of memory that a graph will allocate at this address: the driver may not know the address yet.
static Place place_in_graphs(Context& context, uint64_t address) noexcept {
    Place place;
    const Registry* registry = context.runtime().find_annex<Registry>();
    const Range range = registry ? registry->device.find(address) : Range();
    if (range.tag != kGraphTag) return place;
    place.kind = GPO_MEMORY_DEVICE;
    place.ordinal = context.ordinal();
    place.start = range.start;
    place.bytes = range.bytes();
    return place;
}

Place place_of(Context& context, uint64_t address) noexcept {
    Place place;
    try {
        Registry& registry = Registry::of(context.runtime());
        if (const Range range = registry.host.find(address)) {
            place.kind = GPO_MEMORY_PINNED;
            place.start = range.start;
            place.bytes = range.bytes();
            return place;
        }
    } catch (const std::bad_alloc&) {
        // Ask the driver instead.
    }
    const driver::Table& table = context.table();
    unsigned type = 0;
    if (table.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS || type == 0)
        return place_in_graphs(context, address);
    unsigned managed = 0;
    if (table.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) != CUDA_SUCCESS) managed = 0;
    place.kind = managed ? GPO_MEMORY_MANAGED : type == CU_MEMORYTYPE_HOST ? GPO_MEMORY_PINNED : GPO_MEMORY_DEVICE;
    if (place.kind != GPO_MEMORY_PINNED) {
        int ordinal = -1;
        if (table.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == CUDA_SUCCESS)
            place.ordinal = ordinal;
    }
    CUdeviceptr start = 0;
    size_t bytes = 0;
    if (place.kind == GPO_MEMORY_DEVICE) {
        if (table.cuMemGetAddressRange(&start, &bytes, address) != CUDA_SUCCESS) start = bytes = 0;
    } else if (table.cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) != CUDA_SUCCESS ||
               table.cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) != CUDA_SUCCESS) {
        start = bytes = 0;
    }
    place.start = start;
    place.bytes = bytes;
    return place;
}

void check_addresses(const char* role, uint64_t address, uint64_t bytes) {
    if (address == 0) fail(GPO_INVALID_ARGUMENT, role, " is NULL");
    if (past_addresses(address, bytes))
        fail(GPO_INVALID_ARGUMENT, role, " ", hex(address), " + ", bytes, " bytes runs past the end of addresses");
}

void check_room(const char* role, const Place& place, uint64_t address, uint64_t bytes) {
    if (place.bytes == 0 || place.holds(address, bytes)) return;
    fail(GPO_INVALID_ARGUMENT, lack_of_room(role, place, address, bytes));
}

std::string lack_of_room(const char* role, const Place& place, uint64_t address, uint64_t bytes) {
    if (place.bytes == 0 || place.holds(address, bytes)) return {};
    return text(role, " ", hex(address), " is in ", place.bytes, " bytes of ", kind_name(place.kind), " at ",
                hex(place.start), ", of which ", place.start + place.bytes - address, " are left there: not ", bytes);
}

void check_pinned_throughout(Context& context, const char* role, uint64_t address, uint64_t bytes) {
    const auto range = [](uint64_t start, uint64_t count) { return text(hex(start), " to ", hex(start + count)); };
    const uint64_t end = address + bytes;
    Place place = place_of(context, address);
    if (place.kind == GPO_MEMORY_PINNED && place.bytes != 0) {
        uint64_t start = place.start, pinned = place.start + place.bytes;
        while (pinned < end) {
            place = place_of(context, pinned);   // pinned ranges side by side count as one range
            if (place.kind != GPO_MEMORY_PINNED || place.start + place.bytes <= pinned)
                fail(GPO_INVALID_ARGUMENT, role, " ", range(address, bytes), " begins in pinned host memory, which is ",
                     range(start, pinned - start), ", and ends outside of it: pin all of a range or nothing");
            pinned = place.start + place.bytes;
        }
    } else if (place.pageable()) {
        Registry& registry = Registry::of(context.runtime());
        if (const Range known = registry.host.overlapping(address, end)) {
            place.start = known.start;
            place.bytes = known.bytes();
        } else if (const Place last = place_of(context, end - 1); last.kind == GPO_MEMORY_PINNED) {
            place = last;   // pinned by the program itself
        }
        if (place.bytes != 0)
            fail(GPO_INVALID_ARGUMENT, role, " ", range(address, bytes),
                 " begins in pageable host memory and runs into pinned host memory, which is ",
                 range(place.start, place.bytes), ": pin all of a range or nothing");
    }
}

const char* kind_name(uint32_t kind) noexcept {
    switch (kind) {
        case GPO_MEMORY_PINNED: return "pinned host memory";
        case GPO_MEMORY_DEVICE: return "device memory";
        case GPO_MEMORY_MANAGED: return "managed memory";
        default: return "pageable host memory";
    }
}

}  // namespace gpo
