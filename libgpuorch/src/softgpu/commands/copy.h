// Copies and fills as values: the bytes to move. A call checks them when it makes them; an engine performs them.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace gpo::softgpu {

/// The engines of a device. Copies in, copies out, and what stays on the device.
enum class EngineKind : uint8_t { in, out, local };
inline constexpr int kEngines = 3;

/// Where memory is, as far as a graph's node may not be changed to have it elsewhere.
struct Whereabouts {
    CUmemorytype type = CU_MEMORYTYPE_DEVICE;   // as the caller called it
    int device = -1;                            // −1: the host
    bool operator==(const Whereabouts&) const = default;
    /// Called the same, and not on another device; pinned memory has a device address.
    bool may_become(const Whereabouts& other) const noexcept {
        return type == other.type && (device == other.device || device < 0 || other.device < 0);
    }
};

/// Rows of `width` bytes. `check`: an end is stream-ordered memory, looked up again when the copy runs.
struct Copy {
    uint64_t destination = 0, source = 0;
    Whereabouts to, from;
    size_t destination_pitch = 0, source_pitch = 0;
    size_t width = 0, height = 1;
    EngineKind engine = EngineKind::local;
    bool check = false;

    size_t bytes() const noexcept { return width * height; }
    void perform() const noexcept;
    bool operator==(const Copy&) const = default;
};

/// Rows of `width` elements of `element` bytes (1, 2 or 4).
struct Fill {
    uint64_t destination = 0;
    Whereabouts to;
    size_t pitch = 0, width = 0, height = 1;
    uint32_t value = 0;
    uint8_t element = 1;
    bool check = false;

    size_t bytes() const noexcept { return width * height * element; }
    void perform() const noexcept;
    bool operator==(const Fill&) const = default;
};

}  // namespace gpo::softgpu
