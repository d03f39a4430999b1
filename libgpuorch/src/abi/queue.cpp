// The exported functions of queue.h.
#include "gpuorch/queue.h"

#include <cstring>
#include <optional>

#include "abi/call.h"
#include "device/device.h"
#include "queue/device_queue.h"

using namespace gpo;

extern "C" {

GPO_API gpo_status gpo_queue_create(gpo_device_t device, const gpo_queue_options* options, gpo_queue_t* queue) {
    return abi::call(__func__, {device}, [&] {
        required(options, "options");
        required(queue, "queue");
        const gpo_queue_options read = read_struct(options, "options");
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            std::optional<Pin<Stream>> user;
            if (read.stream) user.emplace(read.stream);
            auto made = DeviceQueue::create(pinned->context_ref(), read, user ? &**user : nullptr);
            *queue = pinned->runtime().publish<gpo_queue_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_queue_destroy(gpo_queue_t queue) { return abi::destroy(__func__, queue, Type::queue); }

GPO_API gpo_status gpo_queue_get_device_handle(gpo_queue_t queue, void* buffer, size_t capacity, size_t* needed) {
    return abi::call(__func__, {queue}, [&] {
        Pin<DeviceQueue> pinned(queue);
        return abi::blame(*pinned, [&]() -> gpo_status {
            const queue::HandleBytes handle = pinned->handle();
            if (!buffer && capacity) fail(GPO_INVALID_ARGUMENT, "buffer is NULL and capacity is ", capacity);
            if (needed) *needed = handle.size;
            if (!buffer) return GPO_SUCCESS;
            if (capacity < handle.size)
                fail(GPO_BUFFER_TOO_SMALL, "the device handle of ", pinned->describe(), " has ", handle.size,
                     " bytes, capacity is ", capacity);
            std::memcpy(buffer, handle.bytes, handle.size);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_queue_set_costs(gpo_queue_t queue, gpo_stream_t stream, const float* costs, uint64_t count) {
    return abi::call(__func__, {queue, abi::works_on(stream)}, [&] {
        Pin<DeviceQueue> pinned(queue);
        Pin<Stream> on(stream);
        return abi::blame(*pinned, [&] { return pinned->set_costs(*on, costs, count); });
    });
}

GPO_API gpo_status gpo_queue_push(gpo_queue_t queue, gpo_stream_t stream, const void* tasks, uint64_t count,
                                  uint32_t priority) {
    return abi::submit(__func__, {queue, abi::works_on(stream)}, [&] {
        Pin<DeviceQueue> pinned(queue);
        Pin<Stream> on(stream, pinned);
        return abi::blame(*pinned, [&] {
            if (count && !tasks) fail(GPO_INVALID_ARGUMENT, "tasks is NULL and count is ", count);
            return pinned->push(*on, tasks, count, priority);
        });
    });
}

GPO_API gpo_status gpo_queue_reset(gpo_queue_t queue, gpo_stream_t stream) {
    return abi::call(__func__, {queue, abi::works_on(stream)}, [&] {
        Pin<DeviceQueue> pinned(queue);
        Pin<Stream> on(stream);
        return abi::blame(*pinned, [&] { return pinned->reset(*on); });
    });
}

GPO_API gpo_status gpo_queue_set_tenant(gpo_queue_t queue, uint32_t tenant, const gpo_tenant_options* options) {
    return abi::call(__func__, {queue}, [&] {
        required(options, "options");
        const gpo_tenant_options read = read_struct(options, "options");
        if (read.reserved) fail(GPO_INVALID_ARGUMENT, "options.reserved is ", read.reserved);
        Pin<DeviceQueue> pinned(queue);
        return abi::blame(*pinned, [&] {
            pinned->set_tenant(tenant, read);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_queue_post(gpo_queue_t queue, uint32_t tenant, const void* tasks, uint64_t count,
                                  uint64_t user_data, uint64_t* posted) {
    return abi::submit(__func__, {queue}, [&] {
        required(posted, "posted");
        Pin<DeviceQueue> pinned(queue);
        return abi::blame(*pinned, [&] {
            if (count && !tasks) fail(GPO_INVALID_ARGUMENT, "tasks is NULL and count is ", count);
            return pinned->post(tenant, {tasks, count, user_data}, posted);
        });
    });
}

GPO_API gpo_status gpo_queue_take(gpo_queue_t queue, uint32_t tenant, gpo_answer* entries, uint64_t stride,
                                  void* answers, uint64_t capacity, uint64_t* count) {
    return abi::submit(__func__, {queue}, [&] {
        required(count, "count");
        if (capacity) required(entries, "entries");
        if (stride < sizeof(gpo_answer))
            fail(GPO_INVALID_ARGUMENT, "stride is ", stride, ", at least ", sizeof(gpo_answer), " are needed");
        if (capacity > SIZE_MAX / stride)
            fail(GPO_INVALID_ARGUMENT, capacity, " entries of ", stride, " bytes are too many");
        Pin<DeviceQueue> pinned(queue);
        return abi::blame(*pinned, [&] {
            *count = pinned->take(tenant, {entries, stride, answers, capacity});
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_queue_wait(gpo_queue_t queue, uint32_t tenant, int64_t timeout_ns) {
    return abi::call(__func__, {queue}, [&] {
        Pin<DeviceQueue> pinned(queue);
        return abi::blame(*pinned,
                          [&] { return pinned->wait(tenant, timeout_ns == 0 ? 0 : host::deadline_after(timeout_ns)); });
    });
}

GPO_API gpo_status gpo_queue_close(gpo_queue_t queue) {
    return abi::call(__func__, {queue}, [&] {
        Pin<DeviceQueue> pinned(queue);
        return abi::blame(*pinned, [&] {
            pinned->close_ring();
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_queue_abort(gpo_queue_t queue) {
    return abi::call(__func__, {queue}, [&] {
        Pin<DeviceQueue> pinned(queue);
        return abi::blame(*pinned, [&] {
            pinned->abort_ring();
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_queue_get_info(gpo_queue_t queue, gpo_queue_info* info) {
    return abi::call(__func__, {queue}, [&] {
        required(info, "info");
        Pin<DeviceQueue> pinned(queue);
        return abi::blame(*pinned, [&] {
            write_struct(info, pinned->info(), "info");
            return GPO_SUCCESS;
        });
    });
}
}
