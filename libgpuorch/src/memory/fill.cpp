#include "memory/fill.h"

namespace gpo {

namespace {

// What needs no driver.
void check_known(Context& context, uint64_t destination, uint64_t bytes) {
    check_addresses("destination", destination, bytes);
    const Range range = Registry::of(context.runtime()).device.find(destination);
    if (!range) return;
    Place place;
    place.kind = GPO_MEMORY_DEVICE;
    place.start = range.start;
    place.bytes = range.bytes();
    check_room("destination", place, destination, bytes);
}

// What the driver knows, when it has refused the fill, or won't see it for a while.
void check_fully(Context& context, uint64_t destination, uint64_t bytes) {
    const Place place = place_of(context, destination);
    if (place.pageable())
        fail(GPO_INVALID_ARGUMENT, "destination ", hex(destination), " is ", kind_name(place.kind), ", which the GPU can't fill");
    check_room("destination", place, destination, bytes);
}

void check_result(Context& context, CUresult result, const char* function, uint64_t destination, uint64_t bytes) {
    if (result == CUDA_SUCCESS) [[likely]] return;
    if (result == CUDA_ERROR_INVALID_VALUE) check_fully(context, destination, bytes);
    context.check(result, function);
}

}  // namespace

Fill::Fill(Stream& stream, uint64_t destination, uint32_t value, uint32_t element_bytes, uint64_t count)
    : Operation("fill", nullptr), destination_(destination), count_(count), value_(value), element_bytes_(element_bytes),
      context_(stream.context()) {
    if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4)
        fail(GPO_INVALID_ARGUMENT, "element_bytes is ", element_bytes, ", not 1, 2 or 4");
    if (__builtin_mul_overflow(count, uint64_t{element_bytes}, &bytes_))
        fail(GPO_INVALID_ARGUMENT, "count ", count, " times element_bytes ", element_bytes, " doesn't fit into 64 bits");
    if (destination % element_bytes != 0)
        fail(GPO_INVALID_ARGUMENT, "destination ", hex(destination), " is not aligned to element_bytes ", element_bytes);
    if (count) check_known(context_, destination, bytes_);
}

void Fill::issue(Stream& stream) {
    if (count_ == 0) return;
    const driver::Table& table = stream.table();
    if (element_bytes_ == 1)
        check_result(context_, table.cuMemsetD8Async(destination_, static_cast<unsigned char>(value_), count_, stream.native()),
                     "cuMemsetD8Async", destination_, bytes_);
    else if (element_bytes_ == 2)
        check_result(context_, table.cuMemsetD16Async(destination_, static_cast<unsigned short>(value_), count_, stream.native()),
                     "cuMemsetD16Async", destination_, bytes_);
    else
        check_result(context_, table.cuMemsetD32Async(destination_, value_, count_, stream.native()), "cuMemsetD32Async",
                     destination_, bytes_);
    stream.submission().count_fill();
}

std::unique_ptr<Operation> Fill::keep() const {
    if (count_) check_fully(context_, destination_, bytes_);
    return std::make_unique<Fill>(*this);
}

FillRows::FillRows(Stream& stream, uint64_t destination, uint64_t pitch, uint32_t value, uint64_t width, uint64_t height)
    : Operation("fill", nullptr), destination_(destination), pitch_(pitch), width_(width), height_(height), value_(value),
      context_(stream.context()) {
    if (width == 0 || height == 0) {
        height_ = 0;
        return;
    }
    if (pitch < width) fail(GPO_INVALID_ARGUMENT, "pitch ", pitch, " is less than width ", width);
    if (__builtin_mul_overflow(pitch, height - 1, &span_) || __builtin_add_overflow(span_, width, &span_))
        fail(GPO_INVALID_ARGUMENT, height, " rows of pitch ", pitch, " don't fit into 64 bits");
    check_known(context_, destination, span_);
}

void FillRows::issue(Stream& stream) {
    if (height_ == 0) return;
    check_result(context_,
                 stream.table().cuMemsetD2D8Async(destination_, pitch_, static_cast<unsigned char>(value_), width_, height_,
                                                  stream.native()),
                 "cuMemsetD2D8Async", destination_, span_);
    stream.submission().count_fill();
}

std::unique_ptr<Operation> FillRows::keep() const {
    if (height_) check_fully(context_, destination_, span_);
    return std::make_unique<FillRows>(*this);
}

}  // namespace gpo
