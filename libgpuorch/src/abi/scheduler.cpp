// The exported functions of scheduler.h.
#include "gpuorch/scheduler.h"

#include "abi/call.h"
#include "core/struct_array.h"
#include "device/device.h"
#include "queue/scheduler/scheduler.h"

using namespace gpo;

namespace {

uint64_t deadline_of(int64_t timeout_ns) { return timeout_ns == 0 ? 0 : host::deadline_after(timeout_ns); }

// Writes as many elements as the caller's array has room for, and at most `stride` bytes of each element.
template <class T, class Read>
gpo_status write_all(const char* function, gpo_scheduler_t scheduler, T* to, const char* name, uint64_t stride,
                     uint64_t capacity, uint64_t* count, Read read) {
    return abi::call(function, {scheduler}, [&] {
        required(count, "count");
        if (capacity) {
            required(to, name);
            check_stride<T>(stride);
            if (capacity > SIZE_MAX / stride)
                fail(GPO_INVALID_ARGUMENT, capacity, " elements of ", stride, " bytes are too many");
        }
        Pin<Scheduler> pinned(scheduler);
        return abi::blame(*pinned, [&] {
            const std::vector<T> found = read(*pinned, capacity);
            for (size_t i = 0; i < found.size(); ++i)
                std::memcpy(reinterpret_cast<std::byte*>(to) + i * stride, &found[i],
                            std::min<uint64_t>(stride, sizeof(T)));
            *count = found.size();
            return GPO_SUCCESS;
        });
    });
}

}  // namespace

extern "C" {

GPO_API gpo_status gpo_scheduler_create(gpo_device_t device, const gpo_scheduler_options* options,
                                        const gpo_handler* handlers, uint64_t stride, uint32_t count,
                                        gpo_scheduler_t* scheduler) {
    return abi::call(__func__, {device}, [&] {
        required(options, "options");
        required(scheduler, "scheduler");
        required(handlers, "handlers");
        const gpo_scheduler_options read = read_struct(options, "options");
        const StructArray<gpo_handler> array(handlers, stride, count, "handlers", "stride");
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            if (!read.queue) fail(GPO_INVALID_ARGUMENT, "options.queue is NULL");
            Pin<DeviceQueue> queue(read.queue);
            auto made = Scheduler::create(*pinned, device, read, array, count, queue.ref());
            *scheduler = pinned->runtime().publish<gpo_scheduler_t>(*made);
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_scheduler_destroy(gpo_scheduler_t scheduler) {
    return abi::destroy(__func__, scheduler, Type::scheduler);
}

GPO_API gpo_status gpo_scheduler_start(gpo_scheduler_t scheduler) {
    return abi::call(__func__, {scheduler}, [&] {
        Pin<Scheduler> pinned(scheduler);
        return abi::blame(*pinned, [&] {
            pinned->start();
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_scheduler_drain(gpo_scheduler_t scheduler, int64_t timeout_ns) {
    return abi::call(__func__, {scheduler}, [&] {
        Pin<Scheduler> pinned(scheduler);
        return abi::blame(*pinned, [&] { return pinned->drain_run(deadline_of(timeout_ns)); });
    });
}

GPO_API gpo_status gpo_scheduler_stop(gpo_scheduler_t scheduler, int64_t timeout_ns) {
    return abi::call(__func__, {scheduler}, [&] {
        Pin<Scheduler> pinned(scheduler);
        return abi::blame(*pinned, [&] { return pinned->stop_run(deadline_of(timeout_ns)); });
    });
}

GPO_API gpo_status gpo_scheduler_wait(gpo_scheduler_t scheduler, int64_t timeout_ns) {
    return abi::call(__func__, {scheduler}, [&] {
        Pin<Scheduler> pinned(scheduler);
        return abi::blame(*pinned, [&] { return pinned->wait(deadline_of(timeout_ns)); });
    });
}

GPO_API gpo_status gpo_scheduler_get_info(gpo_scheduler_t scheduler, gpo_scheduler_info* info) {
    return abi::call(__func__, {scheduler}, [&] {
        required(info, "info");
        Pin<Scheduler> pinned(scheduler);
        return abi::blame(*pinned, [&] {
            write_struct(info, pinned->info(), "info");
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_scheduler_get_handler(gpo_scheduler_t scheduler, uint32_t handler, gpo_handler_info* info) {
    return abi::call(__func__, {scheduler}, [&] {
        required(info, "info");
        Pin<Scheduler> pinned(scheduler);
        return abi::blame(*pinned, [&] {
            write_struct(info, pinned->handler_info(handler), "info");
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_scheduler_get_blocks(gpo_scheduler_t scheduler, gpo_scheduler_block* blocks, uint64_t stride,
                                            uint64_t capacity, uint64_t* count) {
    return write_all(__func__, scheduler, blocks, "blocks", stride, capacity, count,
                     [](Scheduler& of, uint64_t most) { return of.blocks(most); });
}

GPO_API gpo_status gpo_scheduler_get_samples(gpo_scheduler_t scheduler, gpo_depth_sample* samples, uint64_t stride,
                                             uint64_t capacity, uint64_t* count) {
    return write_all(__func__, scheduler, samples, "samples", stride, capacity, count,
                     [](Scheduler& of, uint64_t most) { return of.samples(most); });
}

GPO_API gpo_status gpo_scheduler_get_errors(gpo_scheduler_t scheduler, gpo_task_error* errors, uint64_t stride,
                                            uint64_t capacity, uint64_t* count) {
    return write_all(__func__, scheduler, errors, "errors", stride, capacity, count,
                     [](Scheduler& of, uint64_t most) { return of.errors(most); });
}
}
