#include "memory/copies.h"

#include <cstring>
#include <optional>

#include "base/checked.h"
#include "core/struct_options.h"
#include "memory/heap.h"
#include "trace/serialising.h"

namespace gpo {

namespace {

void count_pageable(Context& context, uint64_t bytes) noexcept {
    serialised(context.runtime(), Serialising::pageable_copy, bytes);
    context.runtime().counters.pageable_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void refuse_pageable_capture(Stream& stream, uint64_t address) {
    if (stream.capturing())
        fail(GPO_CAPTURE_REFUSED, stream.describe(), " is being captured, and ", hex(address),
             " is pageable host memory: a copy from or to it can't be recorded");
}

// The engine of a copy without a stated direction. Addresses outside the device map count as the host's.
trace::Engine engine_of(Context& context, uint64_t destination, uint64_t source) noexcept {
    Registry& registry = Registry::of(context.runtime());
    const bool to_device = static_cast<bool>(registry.device.find(destination));
    const bool from_device = static_cast<bool>(registry.device.find(source));
    if (to_device == from_device) return trace::Engine::copy_on_device;
    return to_device ? trace::Engine::copy_in : trace::Engine::copy_out;
}

// Finds out on which sides device memory is. False if a side is other than pinned memory or the context's own device
// memory, or goes beyond it: only the driver can record such a copy, or refuse it. Inside a DriverScope.
bool place_for_graph(Context& context, RowsWork& work) {
    const Accesses touched = accesses(work);
    const auto look = [&](const Extent& extent, bool& on_device) {
        const Place place = place_of(context, extent.address);
        on_device = place.kind == GPO_MEMORY_DEVICE;
        const bool usable = on_device ? place.ordinal == context.ordinal() : place.kind == GPO_MEMORY_PINNED;
        return usable && place.bytes != 0 && place.holds(extent.address, extent.bytes);
    };
    return look(touched.writes, work.to_device) && look(touched.reads, work.from_device);
}

RowsWork row_of(uint64_t destination, uint64_t source, uint64_t bytes) noexcept {
    return {.destination = destination, .source = source, .destination_pitch = bytes, .source_pitch = bytes,
            .width = bytes, .height = 1};
}

}  // namespace

// --- one range ---

void Copy::check() {
    if (work_.bytes == 0) return;
    check_addresses("destination", work_.destination, work_.bytes);
    check_addresses("source", work_.source, work_.bytes);
    if (work_.destination < work_.source + work_.bytes && work_.source < work_.destination + work_.bytes)
        fail(GPO_INVALID_ARGUMENT, "destination ", hex(work_.destination), " and source ", hex(work_.source),
             " overlap: ", work_.bytes, " bytes");
    Registry& registry = Registry::of(context_.runtime());
    const bool to_host = work_.way == Way::to_host, from_host = work_.way == Way::to_device;
    const bool destination = check_side(registry, "destination", work_.destination, to_host);
    const bool source = check_side(registry, "source", work_.source, from_host);
    known_ = (to_host && destination) || (from_host && source);
    both_known_ = destination && source;
}

// The part of the check that needs no driver. True if the side lies in memory of ours.
bool Copy::check_side(Registry& registry, const char* role, uint64_t address, bool host) {
    const Range range = (host ? registry.host : registry.device).find(address);
    if (!range) {
        if (!host && work_.way != Way::between && registry.host.find(address))
            fail(GPO_INVALID_ARGUMENT, role, " ", hex(address), " is host memory, where device memory is needed");
        return false;
    }
    if (work_.bytes <= range.end - address) return true;
    // A copy may cross registrations that lie side by side; the driver decides whether it can.
    if (range.tag == kRegisteredTag) return false;
    Place place;
    place.kind = host ? GPO_MEMORY_PINNED : GPO_MEMORY_DEVICE;
    place.start = range.start;
    place.bytes = range.bytes();
    check_room(role, place, address, work_.bytes);
    return false;
}

LearnableWork Copy::learnable() const noexcept {
    const bool one_way = work_.way == Way::to_device || work_.way == Way::to_host || work_.way == Way::on_device;
    if (!both_known_ || !one_way || work_.bytes == 0) return {};
    return work_;
}

Copy::Copy(const Copy& other)
    : Operation(other), context_(other.context_), work_(other.work_), known_(other.known_),
      destination_context_(other.destination_context_), source_context_(other.source_context_) {}

void Copy::set_contexts(Ref<Context> destination, Ref<Context> source) noexcept {
    work_.destination_context = destination->native();
    work_.source_context = source->native();
    destination_context_ = std::move(destination);
    source_context_ = std::move(source);
}

RowsWork row_between(Context& context, const gpo_copy& copy) {
    refuse_unknown_flags(copy.flags, 0, "copy.flags");
    if (copy.bytes == 0) fail(GPO_INVALID_ARGUMENT, "copy.bytes is 0");
    if (copy.destination < copy.source + copy.bytes && copy.source < copy.destination + copy.bytes)
        fail(GPO_INVALID_ARGUMENT, "destination ", hex(copy.destination), " and source ", hex(copy.source),
             " overlap: ", copy.bytes, " bytes");
    const auto on_device = [&](const char* role, uint64_t address) {
        check_addresses(role, address, copy.bytes);
        const Place place = place_of(context, address);
        if (place.pageable())
            fail(GPO_INVALID_ARGUMENT, role, " ", hex(address), " is ", kind_name(place.kind),
                 ", which a graph can't copy from or to");
        check_room(role, place, address, copy.bytes);
        return place.kind != GPO_MEMORY_PINNED;
    };
    RowsWork out;
    out.to_device = on_device("destination", copy.destination);
    out.from_device = on_device("source", copy.source);
    out.destination = copy.destination;
    out.source = copy.source;
    out.destination_pitch = out.source_pitch = out.width = copy.bytes;
    out.height = 1;
    return out;
}

bool Copy::touches_pageable(Context& context) const {
    if (known_ || (work_.way != Way::to_device && work_.way != Way::to_host)) return false;
    const bool from = work_.way == Way::to_device;
    const uint64_t address = from ? work_.source : work_.destination;
    const driver::Table& table = context.table();
    unsigned type = 0, managed = 0;
    if (table.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS || type == 0)
        return true;
    if (type == CU_MEMORYTYPE_HOST) return false;
    if (table.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) != CUDA_SUCCESS || !managed)
        fail(GPO_INVALID_ARGUMENT, from ? "source " : "destination ", hex(address),
             " is device memory, where host memory is needed");
    return false;
}

// Checks both sides by all that the driver knows, for copies that the driver has refused, or that are held.
void Copy::check_fully(Context& context) const {
    const auto check = [&](const char* role, uint64_t address, bool host) {
        const Place place = place_of(context, address);
        if (!host && work_.way != Way::between && place.kind != GPO_MEMORY_DEVICE && place.kind != GPO_MEMORY_MANAGED)
            fail(GPO_INVALID_ARGUMENT, role, " ", hex(address), " is ", kind_name(place.kind),
                 ", where device memory is needed");
        if (place.kind != GPO_MEMORY_PINNED) check_room(role, place, address, work_.bytes);
    };
    check("destination", work_.destination, work_.way == Way::to_host);
    check("source", work_.source, work_.way == Way::to_device);
}

void Copy::refused(const Issued& issued) const {
    if (issued.result == CUDA_ERROR_INVALID_VALUE) {
        check_fully(context_);
        check_pinned_throughout(context_, "destination", work_.destination, work_.bytes);
        check_pinned_throughout(context_, "source", work_.source, work_.bytes);
    }
    throw Failure(context_.error_of(issued.result, issued.function));
}

void Copy::issue_unknown(Stream& stream) {
    if (work_.bytes == 0) return;
    std::optional<host::NoCancel> no_cancel;
    if (!plain()) no_cancel.emplace();
    const bool pageable = held_pageable_ || touches_pageable(context_);
    if (pageable) [[unlikely]]
        refuse_pageable_capture(stream, work_.way == Way::to_host ? work_.destination : work_.source);
    if (work_.way == Way::peer)
        for (Context* context : {&*destination_context_, &*source_context_})
            if (context != &stream.context()) context->require_alive();
    CopyWork work = work_;
    // The driver captures no cuMemcpyPeerAsync (seen on two H200s). cuMemcpyAsync finds the devices by the addresses.
    if (work.way == Way::peer && stream.capturing()) work.way = Way::between;
    const Issued issued = gpo::issue(stream.context(), stream.native(), work);
    if (issued.result != CUDA_SUCCESS) [[unlikely]] refused(issued);
    stream.submission().count(work_);
    if (pageable) count_pageable(context_, work_.bytes);
}

bool Copy::add_to(Stream& stream, StreamRecording& recording) {
    if (work_.bytes == 0) return true;
    RowsWork row = row_of(work_.destination, work_.source, work_.bytes);
    if (both_known_ && work_.way != Way::between && work_.way != Way::peer) {
        row.to_device = work_.way != Way::to_host;
        row.from_device = work_.way != Way::to_device;
    } else {
        if (work_.way == Way::peer || !place_for_graph(context_, row)) return false;
        const bool as_said = row.to_device == (work_.way != Way::to_host) &&
                             row.from_device == (work_.way != Way::to_device);
        if (!as_said && work_.way != Way::between) return false;
    }
    if (!recording.add(stream, *this, {&row, 1})) return false;
    stream.submission().count(work_);
    return true;
}

trace::Work Copy::work() const noexcept {
    if (work_.bytes == 0) return {};
    switch (work_.way) {
        case Way::to_device: return {trace::Engine::copy_in, work_.bytes};
        case Way::to_host: return {trace::Engine::copy_out, work_.bytes};
        case Way::between: return {engine_of(context_, work_.destination, work_.source), work_.bytes};
        default: return {trace::Engine::copy_on_device, work_.bytes};
    }
}

std::unique_ptr<Operation> Copy::held_copy() const {
    std::unique_ptr<Copy> held(new Copy(*this));
    if (work_.bytes == 0) return held;
    check_fully(context_);
    if (touches_pageable(context_)) {
        held->held_pageable_ = true;
        if (work_.way == Way::to_device) {
            held->taken_ = std::make_unique_for_overwrite<std::byte[]>(work_.bytes);
            std::memcpy(held->taken_.get(), reinterpret_cast<const void*>(work_.source), work_.bytes);
            held->work_.source = reinterpret_cast<uint64_t>(held->taken_.get());
        }
    }
    return held;
}

// --- rows ---

namespace {

/// Bytes from the start of the first row to the end of the last.
uint64_t span_of(const char* role, uint64_t pitch, uint64_t width, uint64_t height) {
    uint64_t span = 0;
    if (pitch < width) fail(GPO_INVALID_ARGUMENT, role, "_pitch ", pitch, " is less than width ", width);
    if (!span_of_rows(pitch, width, height, &span))
        fail(GPO_INVALID_ARGUMENT, height, " rows of ", role, "_pitch ", pitch, " don't fit into 64 bits");
    return span;
}

}  // namespace

CopyRows::CopyRows(Context& context, const gpo_copy_2d& copy) : Operation("copy", nullptr), context_(context) {
    if (copy.width == 0 || copy.height == 0) return;
    const uint64_t to = span_of("destination", copy.destination_pitch, copy.width, copy.height);
    const uint64_t from = span_of("source", copy.source_pitch, copy.width, copy.height);
    check_addresses("destination", copy.destination, to);
    check_addresses("source", copy.source, from);
    work_.destination = copy.destination;
    work_.source = copy.source;
    work_.destination_pitch = copy.destination_pitch;
    work_.source_pitch = copy.source_pitch;
    work_.width = copy.width;
    work_.height = copy.height;
}

CopyRows::CopyRows(const CopyRows& other) : Operation(other), context_(other.context_), work_(other.work_) {}

void CopyRows::issue(Stream& stream) {
    if (work_.height == 0) return;
    const auto check = [&](const char* role, uint64_t address, const Extent& extent) {
        const Place place = place_of(context_, address);
        if (place.pageable()) {
            refuse_pageable_capture(stream, address);
        } else {
            if (place.kind == GPO_MEMORY_PINNED && !place.holds(address, extent.bytes)) [[unlikely]]
                check_pinned_throughout(context_, role, address, extent.bytes);
            check_room(role, place, address, extent.bytes);
        }
        return place;
    };
    const Accesses touched = accesses(work_);
    const Place to = check("destination", work_.destination, touched.writes);
    const Place from = check("source", work_.source, touched.reads);
    const auto on_device = [](const Place& place) {
        return place.kind == GPO_MEMORY_DEVICE || place.kind == GPO_MEMORY_MANAGED;
    };
    work_.to_device = on_device(to);
    work_.from_device = on_device(from);
    const Issued issued = gpo::issue(context_, stream.native(), work_);
    if (issued.result == CUDA_ERROR_INVALID_VALUE) [[unlikely]] {
        check_pinned_throughout(context_, "destination", work_.destination, touched.writes.bytes);
        check_pinned_throughout(context_, "source", work_.source, touched.reads.bytes);
    }
    context_.check(issued.result, issued.function);
    stream.submission().count(work_);
    if (to.pageable() || from.pageable()) count_pageable(context_, bytes_of(work_));
}

bool CopyRows::add_to(Stream& stream, StreamRecording& recording) {
    if (work_.height == 0) return true;
    if (!place_for_graph(context_, work_) || !recording.add(stream, *this, {&work_, 1})) return false;
    stream.submission().count(work_);
    return true;
}

trace::Work CopyRows::work() const noexcept {
    if (work_.height == 0) return {};
    return {engine_of(context_, work_.destination, work_.source), bytes_of(work_)};
}

std::unique_ptr<Operation> CopyRows::held_copy() const {
    std::unique_ptr<CopyRows> held(new CopyRows(*this));
    if (work_.height == 0) return held;
    const Accesses touched = accesses(work_);
    const Place target = place_of(context_, work_.destination);
    if (!target.pageable()) check_room("destination", target, work_.destination, touched.writes.bytes);
    const Place source = place_of(context_, work_.source);
    if (!source.pageable()) {
        check_room("source", source, work_.source, touched.reads.bytes);
        return held;
    }
    held->taken_ = std::make_unique_for_overwrite<std::byte[]>(bytes_of(work_));
    for (uint64_t row = 0; row < work_.height; ++row)
        std::memcpy(held->taken_.get() + row * work_.width,
                    reinterpret_cast<const std::byte*>(work_.source) + row * work_.source_pitch, work_.width);
    held->work_.source = reinterpret_cast<uint64_t>(held->taken_.get());
    held->work_.source_pitch = work_.width;
    return held;
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

CopyBatch::CopyBatch(Context& context, const gpo_copy* copies, uint64_t stride, uint64_t count)
    : Operation("batched copy", nullptr), context_(context) {
    // The stride is checked against the struct's smallest size ever, so that a wrong array is found before it is read.
    if (stride < sizeof(gpo_copy))
        fail(GPO_INVALID_ARGUMENT, "stride ", stride, " is less than a gpo_copy (", sizeof(gpo_copy), ")");
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

// Checks every piece before any piece is submitted. Most pieces lie where the piece before them lay: each side
// remembers that place. Pieces that touch pageable memory are moved to the end. Inside a DriverScope.
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
        // A pinned range other than our slabs may continue in the next pinned range.
        if (last.kind == GPO_MEMORY_PINNED && registry.host.find(address).tag != kSlabTag &&
            !last.holds(address, bytes))
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
    for (size_t i = first; i < last; ++i) {
        CopyWork piece;
        piece.destination = destinations_[i];
        piece.source = sources_[i];
        piece.bytes = sizes_[i];
        const Issued issued = gpo::issue(context_, stream.native(), piece);
        if (issued.result == CUDA_ERROR_INVALID_VALUE) [[unlikely]] check_pinned(i, i + 1);
        context_.check(issued.result, issued.function);
    }
}

void CopyBatch::check_pinned(size_t first, size_t last) const {
    for (size_t i = first; i < last; ++i) {
        check_pinned_throughout(context_, "destination", destinations_[i], sizes_[i]);
        check_pinned_throughout(context_, "source", sources_[i], sizes_[i]);
    }
}

bool CopyBatch::add_to(Stream& stream, StreamRecording& recording) {
    check_pieces();
    std::vector<RowsWork> rows;
    for (size_t i = 0; i < count_; ++i) {
        rows.push_back(row_of(destinations_[i], sources_[i], sizes_[i]));
        if (!place_for_graph(context_, rows.back())) return false;
    }
    if (!recording.add(stream, *this, rows)) return false;
    stream.submission().count_copies(count_, total_);
    return true;
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
        const CUresult result = stream.table().cuMemcpyBatchAsync(destinations_, sources_, sizes_, pageable_from_,
                                                                  &attributes, &first, 1, native);
        if (result == CUDA_ERROR_INVALID_VALUE) [[unlikely]] check_pinned(0, pageable_from_);
        context_.check(result, "cuMemcpyBatchAsync");
    } else {
        submit_one_by_one(stream, 0, pageable_from_);
    }
    submit_one_by_one(stream, pageable_from_, count_);
    stream.submission().count_copies(count_, total_);
    for (size_t i = pageable_from_; i < count_; ++i) count_pageable(context_, sizes_[i]);
}

// Described by the first piece: the other pieces usually go the same way.
trace::Work CopyBatch::work() const noexcept {
    if (count_ == 0) return {};
    return {engine_of(context_, destinations_[0], sources_[0]), total_};
}

std::unique_ptr<Operation> CopyBatch::held_copy() const {
    std::unique_ptr<CopyBatch> held(new CopyBatch(*this));
    held->check_pieces();
    // Pageable sources are copied now. If a destination is neither device nor pinned memory, the driver refuses its
    // copy later.
    uint64_t bytes = 0;
    for (size_t i = held->pageable_from_; i < held->count_; ++i)
        if (place_of(context_, held->sources_[i]).pageable()) bytes += held->sizes_[i];
    if (bytes == 0) return held;
    held->taken_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    std::byte* at = held->taken_.get();
    for (size_t i = held->pageable_from_; i < held->count_; ++i) {
        if (!place_of(context_, held->sources_[i]).pageable()) continue;
        std::memcpy(at, reinterpret_cast<const void*>(held->sources_[i]), held->sizes_[i]);
        held->sources_[i] = reinterpret_cast<uint64_t>(at);
        at += held->sizes_[i];
    }
    return held;
}

}  // namespace gpo
