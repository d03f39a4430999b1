// A range: hands out the numbers from 0 to count - 1.
#pragma once

#include "queue/device_queue.h"

namespace gpo {

class RangeQueue final : public DeviceQueue {
public:
    static Ref<DeviceQueue> create(Ref<Context> context, const gpo_queue_options& options, Stream* user);
    RangeQueue(Ref<Context> context, const gpo_queue_options& options, Stream* user);

    queue::HandleBytes handle() override;
    gpo_status set_costs(Stream& stream, const float* costs, uint64_t count) override;
    gpo_status reset(Stream& stream) override;

private:
    void describe_in(gpo_queue_info& info) override;
    queue::RangeHandle handle_now();
    uint64_t order_memory(bool wanted);

    host::Mutex handle_lock_;
    queue::RangeHandle handle_;  // its order is under handle_lock_
};

}  // namespace gpo
