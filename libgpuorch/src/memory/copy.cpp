#include "memory/copy.h"

#include <cstring>
#include <optional>

#include "core/options.h"
#include "memory/heap.h"

namespace gpo {

namespace {

void count_pageable(Context& context, uint64_t bytes) noexcept {
    context.runtime().serialised(Serialising::pageable_copy, bytes);
    context.runtime().counters.pageable_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void refuse_pageable_capture(Stream& stream, uint64_t address) {
    if (stream.capturing())
        fail(GPO_CAPTURE_REFUSED, stream.describe(), " is being captured, and ", hex(address),
             " is pageable host memory: a copy from or to it can't be recorded");
}

// Which way a copy goes that doesn't say so itself: pageable memory is nowhere known, and the host's.
trace::Engine engine_of(Context& context, uint64_t destination, uint64_t source) noexcept {
    Registry& registry = Registry::of(context.runtime());
    const bool to_device = static_cast<bool>(registry.device.find(destination));
    const bool from_device = static_cast<bool>(registry.device.find(source));
    if (to_device == from_device) return trace::Engine::copy_on_device;
    return to_device ? trace::Engine::copy_in : trace::Engine::copy_out;
}

}  // namespace

// --- one range ---

void Copy::check() {
    if (bytes_ == 0) return;
    check_addresses("destination", destination_, bytes_);
    check_addresses("source", source_, bytes_);
    if (destination_ < source_ + bytes_ && source_ < destination_ + bytes_)
        fail(GPO_INVALID_ARGUMENT, "destination ", hex(destination_), " and source ", hex(source_), " overlap: ", bytes_, " bytes");
    Registry& registry = Registry::of(context_.runtime());
    check_side(registry, "destination", destination_, way_ == Way::to_host, &known_);
    check_side(registry, "source", source_, way_ == Way::to_device, &known_);
}

// The part of the check that needs no driver.
void Copy::check_side(Registry& registry, const char* role, uint64_t address, bool host, bool* known) {
    const Range range = (host ? registry.host : registry.device).find(address);
    if (!range) {
        if (!host && way_ != Way::between && registry.host.find(address))
            fail(GPO_INVALID_ARGUMENT, role, " ", hex(address), " is host memory, where device memory is needed");
        return;
    }
    if (bytes_ <= range.end - address) {
        if (host) *known = true;
        return;
    }
    // Registrations side by side may be copied across; whether the driver can is its to say.
    if (range.tag == kRegisteredTag) return;
    Place place;
    place.kind = host ? GPO_MEMORY_PINNED : GPO_MEMORY_DEVICE;
    place.start = range.start;
    place.bytes = range.bytes();
    check_room(role, place, address, bytes_);
}

Copy::Copy(const Copy& other)
    : Operation(other), context_(other.context_), destination_(other.destination_), source_(other.source_),
      bytes_(other.bytes_), way_(other.way_), known_(other.known_), destination_context_(other.destination_context_),
      source_context_(other.source_context_) {}

void Copy::set_contexts(Ref<Context> destination, Ref<Context> source) noexcept {
    destination_context_ = std::move(destination);
    source_context_ = std::move(source);
}

bool Copy::touches_pageable(Context& context) const {
    if (known_ || (way_ != Way::to_device && way_ != Way::to_host)) return false;
    const bool from = way_ == Way::to_device;
    const uint64_t address = from ? source_ : destination_;
    const driver::Table& table = context.table();
    unsigned type = 0, managed = 0;
    if (table.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS || type == 0) return true;
    if (type == CU_MEMORYTYPE_HOST) return false;
    if (table.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) != CUDA_SUCCESS || !managed)
        fail(GPO_INVALID_ARGUMENT, from ? "source " : "destination ", hex(address),
             " is device memory, where host memory is needed");
    return false;
}

// All that the driver knows of both sides, for copies that it refused, or that it won't see for a while.
void Copy::check_fully(Context& context) const {
    const auto check = [&](const char* role, uint64_t address, bool host) {
        const Place place = place_of(context, address);
        if (!host && way_ != Way::between && place.kind != GPO_MEMORY_DEVICE && place.kind != GPO_MEMORY_MANAGED)
            fail(GPO_INVALID_ARGUMENT, role, " ", hex(address), " is ", kind_name(place.kind), ", where device memory is needed");
        if (place.kind != GPO_MEMORY_PINNED) check_room(role, place, address, bytes_);
    };
    check("destination", destination_, way_ == Way::to_host);
    check("source", source_, way_ == Way::to_device);
}

CUresult Copy::submit(Stream& stream, const char** function) const noexcept {
    const driver::Table& table = stream.table();
    switch (way_) {
        case Way::to_device:
            *function = "cuMemcpyHtoDAsync";
            return table.cuMemcpyHtoDAsync(destination_, reinterpret_cast<const void*>(source_), bytes_, stream.native());
        case Way::to_host:
            *function = "cuMemcpyDtoHAsync";
            return table.cuMemcpyDtoHAsync(reinterpret_cast<void*>(destination_), source_, bytes_, stream.native());
        case Way::on_device:
            *function = "cuMemcpyDtoDAsync";
            return table.cuMemcpyDtoDAsync(destination_, source_, bytes_, stream.native());
        case Way::peer:
            *function = "cuMemcpyPeerAsync";
            return table.cuMemcpyPeerAsync(destination_, destination_context_->native(), source_, source_context_->native(),
                                           bytes_, stream.native());
        case Way::between:
            break;
    }
    *function = "cuMemcpyAsync";
    return table.cuMemcpyAsync(destination_, source_, bytes_, stream.native());
}

void Copy::refused(CUresult result, const char* function) const {
    if (result == CUDA_ERROR_INVALID_VALUE) check_fully(context_);
    throw Failure(context_.error_of(result, function));
}

void Copy::issue_unknown(Stream& stream) {
    if (bytes_ == 0) return;
    std::optional<host::NoCancel> no_cancel;
    if (!plain()) no_cancel.emplace();
    const bool pageable = kept_pageable_ || touches_pageable(context_);
    if (pageable) [[unlikely]] refuse_pageable_capture(stream, way_ == Way::to_host ? destination_ : source_);
    if (way_ == Way::peer)
        for (Context* context : {&*destination_context_, &*source_context_})
            if (context != &stream.context()) context->require_alive();
    const char* function;
    const CUresult result = submit(stream, &function);
    if (result != CUDA_SUCCESS) [[unlikely]] refused(result, function);
    stream.submission().count_copy(bytes_);
    if (pageable) count_pageable(context_, bytes_);
}

trace::Work Copy::work() const noexcept {
    if (bytes_ == 0) return {};
    switch (way_) {
        case Way::to_device: return {trace::Engine::copy_in, bytes_};
        case Way::to_host: return {trace::Engine::copy_out, bytes_};
        case Way::between: return {engine_of(context_, destination_, source_), bytes_};
        default: return {trace::Engine::copy_on_device, bytes_};
    }
}

std::unique_ptr<Operation> Copy::keep() const {
    std::unique_ptr<Copy> kept(new Copy(*this));
    if (bytes_ == 0) return kept;
    check_fully(context_);
    if (touches_pageable(context_)) {
        kept->kept_pageable_ = true;
        if (way_ == Way::to_device) {
            kept->taken_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
            std::memcpy(kept->taken_.get(), reinterpret_cast<const void*>(source_), bytes_);
            kept->source_ = reinterpret_cast<uint64_t>(kept->taken_.get());
        }
    }
    return kept;
}

// --- rows ---

namespace {

/// Bytes from the first to behind the last.
uint64_t span_of(const char* role, uint64_t pitch, uint64_t width, uint64_t height) {
    uint64_t span = 0;
    if (pitch < width) fail(GPO_INVALID_ARGUMENT, role, "_pitch ", pitch, " is less than width ", width);
    if (__builtin_mul_overflow(pitch, height - 1, &span) || __builtin_add_overflow(span, width, &span))
        fail(GPO_INVALID_ARGUMENT, height, " rows of ", role, "_pitch ", pitch, " don't fit into 64 bits");
    return span;
}

}  // namespace

CopyRows::CopyRows(Stream& stream, const gpo_copy_2d& copy) : Operation("copy", nullptr), context_(stream.context()), copy_(copy) {
    if (copy.width == 0 || copy.height == 0) {
        copy_.width = copy_.height = 0;
        return;
    }
    const uint64_t to = span_of("destination", copy.destination_pitch, copy.width, copy.height);
    const uint64_t from = span_of("source", copy.source_pitch, copy.width, copy.height);
    check_addresses("destination", copy.destination, to);
    check_addresses("source", copy.source, from);
}

CopyRows::CopyRows(const CopyRows& other) : Operation(other), context_(other.context_), copy_(other.copy_) {}

void CopyRows::issue(Stream& stream) {
    if (copy_.height == 0) return;
    const auto check = [&](const char* role, uint64_t address, uint64_t pitch) {
        const Place place = place_of(context_, address);
        if (place.pageable())
            refuse_pageable_capture(stream, address);
        else
            check_room(role, place, address, span_of(role, pitch, copy_.width, copy_.height));
        return place;
    };
    const Place to = check("destination", copy_.destination, copy_.destination_pitch);
    const Place from = check("source", copy_.source, copy_.source_pitch);
    CUDA_MEMCPY2D rows{};
    const auto on_device = [](const Place& place) { return place.kind == GPO_MEMORY_DEVICE || place.kind == GPO_MEMORY_MANAGED; };
    rows.srcMemoryType = on_device(from) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    rows.srcHost = reinterpret_cast<const void*>(copy_.source);
    rows.srcDevice = copy_.source;
    rows.srcPitch = copy_.source_pitch;
    rows.dstMemoryType = on_device(to) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    rows.dstHost = reinterpret_cast<void*>(copy_.destination);
    rows.dstDevice = copy_.destination;
    rows.dstPitch = copy_.destination_pitch;
    rows.WidthInBytes = copy_.width;
    rows.Height = copy_.height;
    context_.check(stream.table().cuMemcpy2DAsync(&rows, stream.native()), "cuMemcpy2DAsync");
    const uint64_t bytes = copy_.width * copy_.height;
    stream.submission().count_copy(bytes);
    if (to.pageable() || from.pageable()) count_pageable(context_, bytes);
}

trace::Work CopyRows::work() const noexcept {
    if (copy_.height == 0) return {};
    return {engine_of(context_, copy_.destination, copy_.source), copy_.width * copy_.height};
}

std::unique_ptr<Operation> CopyRows::keep() const {
    std::unique_ptr<CopyRows> kept(new CopyRows(*this));
    if (copy_.height == 0) return kept;
    const uint64_t to = span_of("destination", copy_.destination_pitch, copy_.width, copy_.height);
    const uint64_t from = span_of("source", copy_.source_pitch, copy_.width, copy_.height);
    const Place target = place_of(context_, copy_.destination);
    if (!target.pageable()) check_room("destination", target, copy_.destination, to);
    const Place source = place_of(context_, copy_.source);
    if (!source.pageable()) {
        check_room("source", source, copy_.source, from);
        return kept;
    }
    kept->taken_ = std::make_unique_for_overwrite<std::byte[]>(copy_.width * copy_.height);
    for (uint64_t row = 0; row < copy_.height; ++row)
        std::memcpy(kept->taken_.get() + row * copy_.width,
                    reinterpret_cast<const std::byte*>(copy_.source) + row * copy_.source_pitch, copy_.width);
    kept->copy_.source = reinterpret_cast<uint64_t>(kept->taken_.get());
    kept->copy_.source_pitch = copy_.width;
    return kept;
}

// --- many ranges ---

void CopyBatch::make_room(size_t count) {
    uint64_t* room = inline_room_;
    if (count > kInline) {
        room_ = std::make_unique_for_overwrite<uint64_t[]>(3 * count);
        room = room_.get();
    }
    destinations_ = reinterpret_cast<CUdeviceptr*>(room);
    sources_ = reinterpret_cast<CUdeviceptr*>(room + count);
    sizes_ = reinterpret_cast<size_t*>(room + 2 * count);
    static_assert(sizeof(CUdeviceptr) == sizeof(uint64_t) && sizeof(size_t) == sizeof(uint64_t));
}

CopyBatch::CopyBatch(Stream& stream, const gpo_copy* copies, uint64_t stride, uint64_t count)
    : Operation("batched copy", nullptr), context_(stream.context()) {
    // The least that a struct of this kind ever had, so that a pointer gone wrong is seen before it is followed.
    if (stride < sizeof(gpo_copy)) fail(GPO_INVALID_ARGUMENT, "stride ", stride, " is less than a gpo_copy (", sizeof(gpo_copy), ")");
    if (stride % alignof(gpo_copy) != 0 || reinterpret_cast<uint64_t>(copies) % alignof(gpo_copy) != 0)
        fail(GPO_INVALID_ARGUMENT, "copies or stride ", stride, " is not aligned to ", alignof(gpo_copy));
    uint64_t span = 0;
    if (__builtin_mul_overflow(stride, count, &span) || span > UINT64_MAX - reinterpret_cast<uint64_t>(copies))
        fail(GPO_INVALID_ARGUMENT, count, " copies of stride ", stride, " run past the end of addresses");
    if (count > (SIZE_MAX / (3 * sizeof(uint64_t)))) fail(GPO_INVALID_ARGUMENT, "count ", count, " is too large");
    make_room(count);
    const auto* at = reinterpret_cast<const char*>(copies);
    for (uint64_t i = 0; i < count; ++i, at += stride) {
        const auto& copy = *reinterpret_cast<const gpo_copy*>(at);
        if (copy.struct_size == sizeof(gpo_copy)) [[likely]] {
            if (copy.flags) fail(GPO_INVALID_ARGUMENT, "copies[", i, "].flags has unknown flags ", hex(copy.flags));
        } else {
            refuse_unknown_flags(read_struct(&copy, "copies", sizeof(gpo_copy)).flags, 0, "copies.flags");
        }
        if (copy.bytes == 0) continue;
        const auto culprit = [&](const char* what) {
            fail(GPO_INVALID_ARGUMENT, "copies[", i, "]: ", what, ": destination ", hex(copy.destination), ", source ",
                 hex(copy.source), ", ", copy.bytes, " bytes");
        };
        if (copy.destination == 0 || copy.source == 0) culprit("an address is NULL");
        if (copy.bytes > UINT64_MAX - copy.destination || copy.bytes > UINT64_MAX - copy.source)
            culprit("a range runs past the end of addresses");
        if (copy.destination < copy.source + copy.bytes && copy.source < copy.destination + copy.bytes)
            culprit("the ranges overlap");
        destinations_[count_] = copy.destination;
        sources_[count_] = copy.source;
        sizes_[count_] = copy.bytes;
        ++count_;
        if (__builtin_add_overflow(total_, copy.bytes, &total_)) culprit("all bytes together don't fit into 64 bits");
    }
}

CopyBatch::CopyBatch(const CopyBatch& other)
    : Operation(other), context_(other.context_), count_(other.count_), pageable_from_(other.pageable_from_),
      checked_(other.checked_), total_(other.total_) {
    make_room(count_);
    std::memcpy(destinations_, other.destinations_, count_ * sizeof *destinations_);
    std::memcpy(sources_, other.sources_, count_ * sizeof *sources_);
    std::memcpy(sizes_, other.sizes_, count_ * sizeof *sizes_);
}

// Every piece before any is submitted. Most lie where the one before them lay: each side remembers that place. Pieces that
// touch pageable memory are moved to the end. Inside a DriverScope.
void CopyBatch::check_pieces() {
    if (checked_) return;
    Registry& registry = Registry::of(context_.runtime());
    Place to, from;
    const auto look = [&](Place& last, const char* role, uint64_t address, uint64_t bytes) {
        if (last.bytes != 0 && last.holds(address, bytes)) [[likely]] return;
        const Range range = registry.device.find(address);
        if (range) {
            last.kind = GPO_MEMORY_DEVICE;
            last.start = range.start;
            last.bytes = range.bytes();
        } else {
            last = place_of(context_, address);
        }
        // Pinned ranges that we don't know to be one may go on behind their end.
        if (last.kind == GPO_MEMORY_PINNED && registry.host.find(address).tag != kSlabTag && !last.holds(address, bytes))
            last.bytes = 0;
        else
            check_room(role, last, address, bytes);
    };
    size_t end = count_;
    for (size_t i = 0; i < end;) {
        look(to, "destination", destinations_[i], sizes_[i]);
        look(from, "source", sources_[i], sizes_[i]);
        if (to.pageable() || from.pageable()) [[unlikely]] {
            --end;
            std::swap(destinations_[i], destinations_[end]);
            std::swap(sources_[i], sources_[end]);
            std::swap(sizes_[i], sizes_[end]);
        } else {
            ++i;
        }
    }
    pageable_from_ = end;
    checked_ = true;
}

void CopyBatch::submit_one_by_one(Stream& stream, size_t first, size_t last) {
    for (size_t i = first; i < last; ++i)
        context_.check(stream.table().cuMemcpyAsync(destinations_[i], sources_[i], sizes_[i], stream.native()), "cuMemcpyAsync");
}

void CopyBatch::issue(Stream& stream) {
    check_pieces();
    const bool capturing = stream.capturing();
    if (pageable_from_ < count_ && capturing) refuse_pageable_capture(stream, sources_[pageable_from_]);
    const CUstream native = stream.native();
    const bool default_stream = native == nullptr || native == CU_STREAM_LEGACY;
    if (pageable_from_ > 1 && stream.table().cuMemcpyBatchAsync && !capturing && !default_stream) {
        CUmemcpyAttributes attributes{};
        attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        size_t first = 0;
        context_.check(stream.table().cuMemcpyBatchAsync(destinations_, sources_, sizes_, pageable_from_, &attributes, &first, 1,
                                                         native),
                       "cuMemcpyBatchAsync");
    } else {
        submit_one_by_one(stream, 0, pageable_from_);
    }
    submit_one_by_one(stream, pageable_from_, count_);
    stream.submission().count_copies(count_, total_);
    for (size_t i = pageable_from_; i < count_; ++i) count_pageable(context_, sizes_[i]);
}

// By its first piece: the others go the same way as a rule.
trace::Work CopyBatch::work() const noexcept {
    if (count_ == 0) return {};
    return {engine_of(context_, destinations_[0], sources_[0]), total_};
}

std::unique_ptr<Operation> CopyBatch::keep() const {
    std::unique_ptr<CopyBatch> kept(new CopyBatch(*this));
    kept->check_pieces();
    // Sources that are pageable come along; their destinations are device or pinned memory, or the driver refuses them later.
    uint64_t bytes = 0;
    for (size_t i = kept->pageable_from_; i < kept->count_; ++i)
        if (place_of(context_, kept->sources_[i]).pageable()) bytes += kept->sizes_[i];
    if (bytes == 0) return kept;
    kept->taken_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::byte* at = kept->taken_.get();
    for (size_t i = kept->pageable_from_; i < kept->count_; ++i) {
        if (!place_of(context_, kept->sources_[i]).pageable()) continue;
        std::memcpy(at, reinterpret_cast<const void*>(kept->sources_[i]), kept->sizes_[i]);
        kept->sources_[i] = reinterpret_cast<uint64_t>(at);
        at += kept->sizes_[i];
    }
    return kept;
}

}  // namespace gpo
