#include "queue/device_queue.h"

#include "core/struct_options.h"
#include "queue/host_queue.h"
#include "queue/range.h"
#include "queue/ring.h"

namespace gpo {

namespace {

constexpr uint64_t kStagingSlab = 1 << 20;  // bytes, at least

FixedText<96> owner_of(const gpo_queue_options& options) {
    const char* label = options.label ? options.label : "";
    return *label ? fixed_text<96>("queue `", Runtime::cut_label(label), "`") : fixed_text<96>("a queue");
}

}  // namespace

Ref<DeviceQueue> DeviceQueue::create(Ref<Context> context, const gpo_queue_options& options, Stream* user) {
    if (user && &user->runtime() != &context->runtime())
        fail(GPO_INVALID_HANDLE, user->describe(), " (options.stream) is of another runtime than the device");
    if (user && &user->context() != context.get())
        fail(GPO_INVALID_ARGUMENT, user->describe(), " (options.stream) is of another device");
    if (user && !user->residence())
        fail(GPO_INVALID_ARGUMENT, user->describe(), " (options.stream) isn't resident: GPO_STREAM_RESIDENT");
    switch (options.kind) {
        case GPO_QUEUE_RANGE: return RangeQueue::create(std::move(context), options, user);
        case GPO_QUEUE_RING: return RingQueue::create(std::move(context), options, user);
        case GPO_QUEUE_HOST_RING: return HostQueue::create(std::move(context), options, user);
        default: fail(GPO_INVALID_ARGUMENT, "options.kind is ", options.kind, ", none of GPO_QUEUE_*");
    }
}

DeviceQueue::DeviceQueue(Ref<Context> context, const gpo_queue_options& options, Stream* user)
    : Object(context->runtime(), Type::queue, options.label), kind_(options.kind),
      memory_(make<queue::Memory>(std::move(context), Ref<Stream>(user), owner_of(options))) {}

// No call is inside any more.
void DeviceQueue::close() noexcept {
    if (staging_) staging_->close();
    memory_->part();
}

gpo_queue_info DeviceQueue::info() {
    gpo_queue_info out{};
    out.kind = kind_;
    describe_in(out);
    out.device_bytes = memory_->device_bytes();
    out.pinned_bytes = memory_->pinned_bytes();
    return out;
}

FixedText<96> DeviceQueue::claim(const FixedText<96>& by) noexcept {
    std::lock_guard lock(claim_lock_);
    const FixedText<96> before = claimed_by_;
    if (!*before.c_str()) claimed_by_ = by;
    return before;
}

void DeviceQueue::unclaim() noexcept {
    std::lock_guard lock(claim_lock_);
    claimed_by_ = {};
}

gpo_status DeviceQueue::set_costs(Stream& stream, const float*, uint64_t) {
    require_device(stream);
    refuse("is no range, whose numbers have costs");
}

gpo_status DeviceQueue::push(Stream& stream, const void*, uint64_t, uint32_t) {
    require_device(stream);
    refuse("is no ring, into which streams push");
}

void DeviceQueue::set_tenant(uint32_t, const gpo_tenant_options&) { refuse_posting(); }

gpo_status DeviceQueue::post(uint32_t, const PostedTasks&, uint64_t*) { refuse_posting(); }

uint64_t DeviceQueue::take(uint32_t, const TakenAnswers&) { refuse_posting(); }

gpo_status DeviceQueue::wait(uint32_t, uint64_t) { refuse_posting(); }

void DeviceQueue::refuse(const char* what) const { fail(GPO_NOT_SUPPORTED, describe(), " ", what); }

void DeviceQueue::require_device(const Stream& stream) const {
    if (&stream.runtime() != &runtime())
        fail(GPO_INVALID_HANDLE, stream.describe(), " is of another runtime than ", describe());
    if (&stream.context() != &context())
        fail(GPO_INVALID_ARGUMENT, stream.describe(), " is of another device than ", describe());
}

Arena& DeviceQueue::staging() {
    {
        std::lock_guard lock(staging_lock_);
        if (staging_) return *staging_;
    }
    gpo_arena_options options{};
    options.struct_size = sizeof options;
    options.slab_bytes = kStagingSlab;
    auto made = make<Arena>(Ref<Context>(&context()), options);
    std::lock_guard lock(staging_lock_);
    if (!staging_) staging_ = std::move(made);
    return *staging_;
}

}  // namespace gpo
