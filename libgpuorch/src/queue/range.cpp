#include "queue/range.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "memory/fill.h"
#include "queue/queue_options.h"
#include "queue/staged.h"

namespace gpo {

namespace {

constexpr uint64_t kMostCount = uint64_t{1} << 48;
constexpr uint64_t kMostOrdered = uint64_t{1} << 32;  // an order has 32-bit numbers

void check(const gpo_queue_options& options) {
    queue::refuse_options("range", options,
                          {queue::Option::capacity, queue::Option::task_size, queue::Option::priorities,
                           queue::Option::answer_size, queue::Option::tenants});
    refuse_unknown_flags(options.flags, GPO_QUEUE_LATE_CLAIMS, "options.flags of a range");
    queue::check_between("count", options.count, 1, kMostCount);
}

// Greatest costs first; equal ones keep their order.
void sort_by_cost(uint32_t* order, const float* costs, uint64_t count) {
    std::iota(order, order + count, uint32_t{0});
    if (costs) std::stable_sort(order, order + count, [=](uint32_t a, uint32_t b) { return costs[a] > costs[b]; });
}

}  // namespace

Ref<DeviceQueue> RangeQueue::create(Ref<Context> context, const gpo_queue_options& options, Stream* user) {
    check(options);
    return make<RangeQueue>(std::move(context), options, user);
}

RangeQueue::RangeQueue(Ref<Context> context, const gpo_queue_options& options, Stream* user)
    : DeviceQueue(std::move(context), options, user) {
    handle_.words = memory().allocate(queue::kRangeBytes);
    handle_.count = options.count;
    handle_.batch = std::max(options.batch, 1u);
    if (options.flags & GPO_QUEUE_LATE_CLAIMS) handle_.flags = queue::RangeHandle::kLateClaims;
    memory().clear(handle_.words, queue::kRangeBytes);
    memory().wait();
}

queue::HandleBytes RangeQueue::handle() { return queue::bytes_of(handle_now()); }

queue::RangeHandle RangeQueue::handle_now() {
    std::lock_guard lock(handle_lock_);
    return handle_;
}

void RangeQueue::describe_in(gpo_queue_info& info) { info.capacity = handle_.count; }

// Device address of the memory for the order. Allocates it if `wanted`; otherwise 0 if the range has none.
uint64_t RangeQueue::order_memory(bool wanted) {
    uint64_t order = handle_now().order;
    if (order || !wanted) return order;
    order = memory().allocate(handle_.count * sizeof(uint32_t));
    std::lock_guard lock(handle_lock_);
    if (!handle_.order) handle_.order = order;  // else another thread was faster: this memory is freed with the queue
    return handle_.order;
}

gpo_status RangeQueue::set_costs(Stream& stream, const float* costs, uint64_t count) {
    require_device(stream);
    if (handle_.count > kMostOrdered)
        fail(GPO_NOT_SUPPORTED, describe(), " has ", handle_.count, " numbers, and an order has at most ",
             kMostOrdered);
    if (costs && count != handle_.count)
        fail(GPO_INVALID_ARGUMENT, "count is ", count, ", and ", describe(), " has ", handle_.count, " numbers");
    for (uint64_t i = 0; costs && i < count; ++i)
        if (std::isnan(costs[i])) fail(GPO_INVALID_ARGUMENT, "costs[", i, "] is no number");
    const uint64_t bytes = handle_.count * sizeof(uint32_t);
    const uint64_t order = order_memory(costs != nullptr);
    if (!order) return GPO_SUCCESS;
    queue::Staged staged(staging(), bytes);
    sort_by_cost(staged.as<uint32_t>(), costs, handle_.count);
    queue::StagedCopy copy("order of a range", label(), order, staged.as<void>(), bytes);
    return staged.submit(stream, copy);
}

gpo_status RangeQueue::reset(Stream& stream) {
    require_device(stream);
    Fill zeros(context(), handle_.words, 0, sizeof(uint32_t), queue::kRangeBytes / sizeof(uint32_t));
    return stream.submit(zeros);
}

}  // namespace gpo
