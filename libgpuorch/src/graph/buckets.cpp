#include "graph/buckets.h"

#include <algorithm>

#include "core/struct_options.h"
#include "graph/instances.h"
#include "memory/fill.h"

namespace gpo {

namespace {

constexpr uint64_t kMostShapes = 4096;
constexpr uint32_t kMostGraphs = 64;  // of gpo_template_launch, for a template

uint32_t graphs_of(const gpo_buckets_options& options) {
    if (options.streams > kMostGraphs)
        fail(GPO_INVALID_ARGUMENT, "options.streams is ", options.streams, ", and at most ", kMostGraphs,
             " are possible");
    return options.streams ? options.streams : 1;
}

}  // namespace

Buckets::Buckets(Ref<Context> context, gpo_device_t device, const gpo_buckets_options& options)
    : Object(context->runtime(), Type::buckets, options.label), context_(std::move(context)),
      max_bytes_(options.max_bytes), pad_address_(options.pad_address), pad_element_bytes_(options.pad_element_bytes),
      max_buckets_(options.max_buckets), falls_back_(options.flags & GPO_BUCKETS_EAGER_FALLBACK),
      callbacks_(*this, options), recorder_(*this, context_, device, callbacks_, graphs_of(options), options) {
    required(options.record, "options.record");
    read_shapes(options);
    check_padding();
}

void Buckets::read_shapes(const gpo_buckets_options& options) {
    required(options.shapes, "options.shapes");
    if (options.shape_count == 0 || options.shape_count > kMostShapes)
        fail(GPO_INVALID_ARGUMENT, "options.shape_count is ", options.shape_count, ", and 1 to ", kMostShapes,
             " are possible");
    for (uint64_t i = 0; i < options.shape_count; ++i) {
        if (options.shapes[i] == 0) fail(GPO_INVALID_ARGUMENT, "options.shapes[", i, "] is 0");
        entries_.push_back({options.shapes[i], nullptr});
    }
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.shape < b.shape; });
    const auto twice = std::adjacent_find(entries_.begin(), entries_.end(),
                                          [](const Entry& a, const Entry& b) { return a.shape == b.shape; });
    if (twice != entries_.end()) fail(GPO_INVALID_ARGUMENT, "options.shapes has ", twice->shape, " twice");
}

void Buckets::check_padding() const {
    if (callbacks_.pads() && pad_address_) fail(GPO_INVALID_ARGUMENT, "options has both `pad` and `pad_address`");
    if ((pad_address_ != 0) != (pad_element_bytes_ != 0))
        fail(GPO_INVALID_ARGUMENT, "options.pad_address is ", hex(pad_address_), " and options.pad_element_bytes is ",
             pad_element_bytes_, ": both or neither are 0");
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(entries_.back().shape, pad_element_bytes_, &bytes) || bytes > UINT64_MAX - pad_address_)
        fail(GPO_INVALID_ARGUMENT, "options.pad_address: ", entries_.back().shape, " elements of ", pad_element_bytes_,
             " bytes run past the end of addresses");
}

void Buckets::close() noexcept {
    for (Entry& entry : entries_) {
        Ref<Bucket> dropped;  // destroyed after the unlock
        std::lock_guard lock(lock_);
        dropped.swap(entry.bucket);
    }
    recorder_.close();
}

void Buckets::require_device(const Stream& stream) const {
    if (&stream.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, describe(), " and ", stream.describe(), " are of different runtimes");
    if (&stream.context() != &*context_)
        fail(GPO_INVALID_ARGUMENT, describe(), " and ", stream.describe(), " are not of one device");
}

// `shape` 0: for an eager request.
ErrorPtr Buckets::error_in(uint64_t shape, const Failure& failure) const {
    auto error = std::make_shared<Error>(*failure.error());
    error->message = shape ? text("bucket ", shape, " of ", describe(), ": ", failure.error()->sentence())
                           : text("an eager request of ", describe(), ": ", failure.error()->sentence());
    return error;
}

// --- the table ---

// The entry of the smallest shape that `size` fits into; NULL: none.
Buckets::Entry* Buckets::entry_of(uint64_t size) noexcept {
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), size,
                                        [](const Entry& entry, uint64_t wanted) { return entry.shape < wanted; });
    return found == entries_.end() ? nullptr : &*found;
}

Buckets::Found Buckets::ready(Entry& entry) noexcept {
    std::lock_guard lock(lock_);
    entry.used = ++requests_;
    return {entry.bucket, false, entry.refused};
}

bool Buckets::wanted(const Entry& entry) noexcept {
    std::lock_guard lock(lock_);
    return !entry.bucket && !entry.too_large;
}

bool Buckets::full() noexcept {
    std::lock_guard lock(lock_);
    return over(recorded_ + uint64_t{1}, bytes_);
}

bool Buckets::over(uint64_t buckets, uint64_t bytes) const noexcept {
    return (max_buckets_ && buckets > max_buckets_) || (max_bytes_ && bytes > max_bytes_);
}

Buckets::Entry* Buckets::least_used(const Entry& but) noexcept {
    Entry* found = nullptr;
    for (Entry& entry : entries_)
        if (&entry != &but && entry.bucket && (!found || entry.used < found->used)) found = &entry;
    return found;
}

// Puts a bucket into the table, and evicts others for it, unless it doesn't fit.
void Buckets::keep(Entry& entry, const Ref<Bucket>& bucket, bool evicts) {
    std::vector<Ref<Bucket>> evicted;  // destroyed after the unlock
    evicted.reserve(entries_.size());
    std::lock_guard lock(lock_);
    entry.refused = false;
    entry.too_large = max_bytes_ && bucket->bytes() > max_bytes_;
    if (entry.too_large || (!evicts && over(recorded_ + uint64_t{1}, bytes_ + bucket->bytes()))) return;
    entry.bucket = bucket;
    ++recorded_;
    bytes_ += bucket->bytes();
    while (over(recorded_, bytes_)) {
        Entry* least = least_used(entry);
        --recorded_;
        bytes_ -= least->bucket->bytes();
        evicted.push_back(std::move(least->bucket));
        evictions_.fetch_add(1, std::memory_order_relaxed);
    }
}

// --- recording ---

Buckets::Turn::Turn(Buckets& of) noexcept : of_(of) {
    std::lock_guard lock(of_.lock_);
    mine_ = !of_.taken_;
    of_.taken_ = true;
}

Buckets::Turn::~Turn() {
    if (!mine_) return;
    of_.recorder_.rest();
    std::lock_guard lock(of_.lock_);
    of_.taken_ = false;
}

// NULL: the recording has failed, and the bucket's requests run eagerly.
Ref<Bucket> Buckets::record(Entry& entry, Stream& stream) {
    try {
        return recorder_.record(entry.shape, stream);
    } catch (const Failure& failure) {
        ErrorPtr error = error_in(entry.shape, failure);
        const bool falls_back = may_fall_back(stream);
        note_failure(entry, *error, falls_back);
        if (!falls_back) throw Failure(std::move(error));
        runtime().log(GPO_LOG_WARNING, error->message, "; its requests run eagerly");
        return nullptr;
    }
}

// Whether the bucket's requests run eagerly after a failure: only if another recording would fail in the same way.
bool Buckets::may_fall_back(Stream& stream) const noexcept {
    return falls_back_ && recorder_.failed_in_recording() && !stream.failure() && !context_->lost() &&
           !runtime().shutting_down();
}

void Buckets::note_failure(Entry& entry, const Error& error, bool falls_back) noexcept {
    std::lock_guard lock(lock_);
    ++failures_;
    last_failure_ = {};
    last_failure_.append(error.message);
    entry.refused |= falls_back;
}

Buckets::Found Buckets::find(Entry& entry, Stream& stream) {
    const auto settled = [](const Found& found) { return found.bucket || found.refused; };
    if (Found found = ready(entry); settled(found)) return found;
    const host::NoCancel no_cancel;
    const Turn turn(*this);
    if (!turn) return {};
    if (Found found = ready(entry); settled(found)) return found;  // another thread's turn has just ended
    if (!wanted(entry) || recorder_.possible(stream) != GPO_SUCCESS) return {};
    Ref<Bucket> bucket = record(entry, stream);
    if (!bucket) return {nullptr, false, true};
    keep(entry, bucket, true);
    return {std::move(bucket), true};
}

void Buckets::prepare(Stream& stream) {
    require_device(stream);
    const Turn turn(*this);
    if (!turn) fail(GPO_INVALID_STATE, "a bucket of ", describe(), " is being recorded");
    const gpo_status possible = recorder_.possible(stream);
    if (possible == GPO_CAPTURE_REFUSED) fail(possible, stream.describe(), " is in capture");
    if (possible != GPO_SUCCESS)
        fail(possible, stream.describe(), " is held, or what an earlier warm-up of ", describe(), " put on its stream");
    for (auto entry = entries_.rbegin(); entry != entries_.rend() && !full(); ++entry) {
        if (!wanted(*entry)) continue;
        if (const Ref<Bucket> bucket = record(*entry, stream)) keep(*entry, bucket, false);
    }
}

// --- requests ---

gpo_status Buckets::launch(Stream& stream, gpo_stream_t handle, const Request& request, uint64_t* shape) {
    require_device(stream);
    if (request.size == 0) fail(GPO_INVALID_ARGUMENT, "size is 0");
    const SettingArray settings(request.settings, request.stride, request.count, request.optional_from);
    Entry* entry = entry_of(request.size);
    const Found found = entry ? find(*entry, stream) : Found{};
    const gpo_status status =
        found.bucket ? run_in(*found.bucket, stream, handle, request, settings) : run_eagerly(handle, request);
    if (status != GPO_SUCCESS) return status;
    note(request, found);
    if (shape) *shape = found.bucket ? found.bucket->shape() : 0;
    return status;
}

void Buckets::note(const Request& request, const Found& found) noexcept {
    std::atomic<uint64_t>& outcome = !found.bucket ? eager_ : found.recorded ? misses_ : hits_;
    outcome.fetch_add(1, std::memory_order_relaxed);
    if (found.refused) fallbacks_.fetch_add(1, std::memory_order_relaxed);
    requested_.fetch_add(request.size, std::memory_order_relaxed);
    if (found.bucket) padded_.fetch_add(found.bucket->shape() - request.size, std::memory_order_relaxed);
}

gpo_status Buckets::run_eagerly(gpo_stream_t handle, const Request& request) {
    const gpo_bucket_work work{
        sizeof work,      0, request.size, request.size, nullptr, request.settings, request.stride, request.count,
        GPO_BUCKET_EAGER, 0};
    try {
        callbacks_.record(handle, work);
        return GPO_SUCCESS;
    } catch (const Failure& failure) {
        throw Failure(error_in(0, failure));
    }
}

// Settings are checked before anything is put on the stream.
gpo_status Buckets::run_in(Bucket& bucket, Stream& stream, gpo_stream_t handle, const Request& request,
                           const SettingArray& settings) {
    try {
        Template& recorded = bucket.recorded();
        const Ref<Recipe> recipe = recorded.seal();
        const Ref<Graph> graph = recorded.instances().of_stream(stream, *recipe, [&] { settings.check(*recipe); });
        LaunchGraph launch(*graph, stream, settings.values_for(*graph));
        const gpo_status padded = pad(bucket, stream, handle, request);
        return padded == GPO_SUCCESS ? launch.put() : padded;
    } catch (const Failure& failure) {
        throw Failure(error_in(bucket.shape(), failure));
    }
}

gpo_status Buckets::pad(const Bucket& bucket, Stream& stream, gpo_stream_t handle, const Request& request) {
    if (request.size == bucket.shape()) return GPO_SUCCESS;
    if (pad_address_) return pad_with_zeros(bucket, stream, request.size);
    if (!callbacks_.pads()) return GPO_SUCCESS;
    callbacks_.pad(handle, {sizeof(gpo_bucket_work), 0, request.size, bucket.shape(), bucket.handle(), request.settings,
                            request.stride, request.count, GPO_BUCKET_PADDING, 0});
    return GPO_SUCCESS;
}

gpo_status Buckets::pad_with_zeros(const Bucket& bucket, Stream& stream, uint64_t size) {
    const uint64_t address = pad_address_ + size * pad_element_bytes_;
    const uint64_t bytes = (bucket.shape() - size) * pad_element_bytes_;
    const uint32_t width = (address | bytes) % 4 == 0 ? 4 : 1;
    Fill fill(*context_, address, 0, width, bytes / width);
    return stream.submit(fill);
}

gpo_buckets_statistics Buckets::statistics() {
    gpo_buckets_statistics out{};
    out.hits = hits_.load(std::memory_order_relaxed);
    out.misses = misses_.load(std::memory_order_relaxed);
    out.eager = eager_.load(std::memory_order_relaxed);
    out.evictions = evictions_.load(std::memory_order_relaxed);
    out.requested = requested_.load(std::memory_order_relaxed);
    out.padded = padded_.load(std::memory_order_relaxed);
    out.fallbacks = fallbacks_.load(std::memory_order_relaxed);
    std::lock_guard lock(lock_);
    out.failures = failures_;
    std::string_view(last_failure_).copy(out.last_failure, sizeof out.last_failure - 1);
    out.buckets = recorded_;
    out.bytes = bytes_;
    return out;
}

}  // namespace gpo
