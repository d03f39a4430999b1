#include "memory/fill.h"

#include "base/checked.h"

namespace gpo {

Fill::Fill(Context& context, uint64_t destination, uint32_t value, uint32_t element_bytes, uint64_t count)
    : Operation("fill", nullptr), context_(context) {
    if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4)
        fail(GPO_INVALID_ARGUMENT, "element_bytes is ", element_bytes, ", not 1, 2 or 4");
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(count, uint64_t{element_bytes}, &bytes))
        fail(GPO_INVALID_ARGUMENT, "count ", count, " times element_bytes ", element_bytes,
             " doesn't fit into 64 bits");
    if (destination % element_bytes != 0)
        fail(GPO_INVALID_ARGUMENT, "destination ", hex(destination), " is not aligned to element_bytes ",
             element_bytes);
    work_.destination = destination;
    work_.count = count;
    work_.pitch = bytes;
    work_.value = value;
    work_.element_bytes = element_bytes;
    if (!empty()) check_known();
}

Fill::Fill(Context& context, uint64_t destination, uint64_t pitch, uint32_t value, uint64_t width, uint64_t height)
    : Operation("fill", nullptr), context_(context) {
    if (width == 0 || height == 0) return;
    if (pitch < width) fail(GPO_INVALID_ARGUMENT, "pitch ", pitch, " is less than width ", width);
    uint64_t span = 0;
    if (!span_of_rows(pitch, width, height, &span))
        fail(GPO_INVALID_ARGUMENT, height, " rows of pitch ", pitch, " don't fit into 64 bits");
    work_.destination = destination;
    work_.count = width;
    work_.rows = height;
    work_.pitch = pitch;
    work_.value = value;
    check_known();
}

// The checks that need no driver.
void Fill::check_known() {
    const Extent written = accesses(work_).writes;
    check_addresses("destination", written.address, written.bytes);
    const Range range = Registry::of(context_.runtime()).device.find(written.address);
    if (!range) return;
    Place place;
    place.kind = GPO_MEMORY_DEVICE;
    place.start = range.start;
    place.bytes = range.bytes();
    check_room("destination", place, written.address, written.bytes);
    known_ = true;
}

// A fill node in a graph can't have its number of rows changed.
LearnableWork Fill::learnable() const noexcept {
    if (!known_ || empty() || work_.rows != 1) return {};
    return work_;
}

// The checks that need the driver, for fills that the driver has refused, and for held fills.
void Fill::check_fully() const {
    const Extent written = accesses(work_).writes;
    const Place place = place_of(context_, written.address);
    if (place.pageable())
        fail(GPO_INVALID_ARGUMENT, "destination ", hex(written.address), " is ", kind_name(place.kind),
             ", which the GPU can't fill");
    check_room("destination", place, written.address, written.bytes);
}

void Fill::issue(Stream& stream) {
    if (empty()) return;
    const Issued issued = gpo::issue(context_, stream.native(), work_);
    if (issued.result == CUDA_ERROR_INVALID_VALUE) [[unlikely]] check_fully();
    context_.check(issued.result, issued.function);
    stream.submission().count(work_);
}

bool Fill::add_to(Stream& stream, StreamRecording& recording) {
    if (empty()) return true;
    // The driver finds out whether memory that isn't ours can be filled.
    if (!known_ || !recording.add(stream, *this, work_)) return false;
    stream.submission().count(work_);
    return true;
}

std::unique_ptr<Operation> Fill::held_copy() const {
    if (!empty()) check_fully();
    return std::make_unique<Fill>(*this);
}

}  // namespace gpo
