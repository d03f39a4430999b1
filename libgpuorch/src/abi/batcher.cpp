#include "gpuorch/batcher.h"

#include "abi/call.h"
#include "core/struct_array.h"
#include "device/device.h"
#include "graph/buckets.h"
#include "serving/submit_call.h"

using namespace gpo;

namespace {

constexpr uint32_t kDefaultCapacity = 65536, kMostCapacity = 1u << 20, kMostDevices = 64, kMostLanes = 16,
                   kMostBatch = 65536, kDefaultBatch = 64, kMostFlowWeight = 1u << 16;
constexpr uint64_t kMostBytes = uint64_t{1} << 40;  // of a batch
constexpr uint32_t kKeyFlags = GPO_BATCHER_PRESERVE_ORDER | GPO_BATCHER_VARIABLE_OUTPUT | GPO_BATCHER_KEEP_OUTPUT;

void at_most(uint64_t value, uint64_t most, const char* name) {
    if (value > most) fail(GPO_INVALID_ARGUMENT, "options.", name, " is ", value, ", at most ", most, " are possible");
}

gpo_batcher_options checked(const gpo_batcher_options* options) {
    required(options, "options");
    gpo_batcher_options read = read_struct(options, "options");
    refuse_unknown_flags(read.flags, 0, "options.flags");
    if (read.device_count == 0) fail(GPO_INVALID_ARGUMENT, "options.device_count is 0");
    at_most(read.device_count, kMostDevices, "device_count");
    required(read.devices, "options.devices");
    at_most(read.lanes, kMostLanes, "lanes");
    at_most(read.capacity, kMostCapacity, "capacity");
    if (read.lanes == GPO_AUTO) read.lanes = 1;
    if (read.capacity == GPO_AUTO) read.capacity = kDefaultCapacity;
    return read;
}

/// What a batcher is made for: its devices, all of one runtime.
struct Devices {
    explicit Devices(const gpo_batcher_options& options) {
        for (uint64_t i = 0; i < options.device_count; ++i) {
            Pin<Device> device(options.devices[i]);
            if (!runtime) runtime = Ref<Runtime>(&device->runtime());
            if (&device->runtime() != &*runtime)
                fail(GPO_INVALID_HANDLE, "options.devices[", i, "] is of another runtime than the first");
            for (const Batcher::On& one : on)
                if (&*one.context == &device->context())
                    fail(GPO_INVALID_ARGUMENT, "options.devices[", i, "] is a device that comes before");
            on.push_back({device->context_ref(), options.devices[i]});
        }
    }
    Ref<Runtime> runtime;
    std::vector<Batcher::On> on;
};

/// The largest shape of the buckets, which must be those of the batcher's devices.
uint64_t largest_shape(const Batcher& batcher, const gpo_batcher_key_options& options) {
    uint64_t largest = UINT64_MAX;
    for (uint32_t i = 0; i < batcher.device_count(); ++i) {
        Pin<Buckets> buckets(options.buckets[i]);
        if (&buckets->context() != &batcher.context(i))
            fail(GPO_INVALID_HANDLE, "options.buckets[", i, "] is of another device than device ", i, " of ",
                 batcher.describe());
        largest = std::min(largest, buckets->largest_shape());
    }
    return largest;
}

/// Elements of the largest batch, with the padding of buckets. Throws if they are too large.
uint64_t room_of(const Batcher& batcher, const gpo_batcher_key_options& options) {
    const uint64_t most = options.layout == GPO_BATCH_RAGGED ? options.max_elements : options.max_batch;
    uint64_t room = most;
    for (uint32_t i = 0; options.buckets && i < batcher.device_count(); ++i) {
        Pin<Buckets> buckets(options.buckets[i]);
        room = std::max(room, buckets->shape_for(most));
    }
    const uint64_t bytes = std::max(options.input_bytes, options.output_bytes);
    if (bytes > kMostBytes / room)
        fail(GPO_LIMIT_EXCEEDED, "a batch of ", room, " times ", bytes, " bytes is larger than 2^40 bytes");
    return room;
}

gpo_batcher_key_options checked(const Batcher& batcher, const gpo_batcher_key_options* options) {
    required(options, "options");
    gpo_batcher_key_options read = read_struct(options, "options");
    refuse_unknown_flags(read.flags, kKeyFlags, "options.flags");
    if (read.layout != GPO_BATCH_ROWS && read.layout != GPO_BATCH_RAGGED)
        fail(GPO_INVALID_ARGUMENT, "options.layout is ", read.layout, ", no GPO_BATCH_*");
    if (!read.buckets == !read.work)
        fail(GPO_INVALID_ARGUMENT, "options has ", read.work ? "both buckets and work" : "neither buckets nor work");
    if (read.bucket_count != (read.buckets ? batcher.device_count() : 0))
        fail(GPO_INVALID_ARGUMENT, "options.bucket_count is ", read.bucket_count, ", and ", batcher.describe(), " has ",
             batcher.device_count(), " devices", read.buckets ? "" : "; there are no buckets");
    if (read.release && !read.work) fail(GPO_INVALID_ARGUMENT, "options has release, and no work");
    const bool ragged = read.layout == GPO_BATCH_RAGGED;
    const uint64_t shape = read.buckets ? largest_shape(batcher, read) : 0;
    if (read.max_batch == GPO_AUTO)
        read.max_batch =
            shape && !ragged ? static_cast<uint32_t>(std::min<uint64_t>(shape, kMostBatch)) : kDefaultBatch;
    at_most(read.max_batch, kMostBatch, "max_batch");
    if (ragged && read.max_elements == GPO_AUTO) read.max_elements = std::min<uint64_t>(shape, UINT32_MAX);
    if (ragged && read.max_elements == 0)
        fail(GPO_INVALID_ARGUMENT, "options.max_elements is 0, and there are no buckets whose shapes would say it");
    if (!ragged && read.max_elements != 0)
        fail(GPO_INVALID_ARGUMENT, "options.max_elements is ", read.max_elements, ", and the layout is rows");
    at_most(read.max_elements, UINT32_MAX, "max_elements");
    if (read.input_bytes == 0 && read.output_bytes == 0)
        fail(GPO_INVALID_ARGUMENT, "options.input_bytes and options.output_bytes are 0");
    if (read.flags & GPO_BATCHER_VARIABLE_OUTPUT && read.output_bytes == 0)
        fail(GPO_INVALID_ARGUMENT, "options.flags has GPO_BATCHER_VARIABLE_OUTPUT, and options.output_bytes is 0");
    return read;
}

template <class Other>
void of_one_runtime(const Batcher& batcher, const Other& other) {
    if (&batcher.runtime() != &other.runtime())
        fail(GPO_INVALID_HANDLE, batcher.describe(), " and ", other.describe(), " are of different runtimes");
}

template <class Work>
gpo_status on(const char* function, gpo_batcher_t batcher, Work&& work) noexcept {
    return abi::submit(function, {batcher}, [&] {
        Pin<Batcher> pinned(batcher);
        return abi::blame(*pinned, [&] {
            work(*pinned);
            return GPO_SUCCESS;
        });
    });
}

}  // namespace

extern "C" {

GPO_API gpo_status gpo_batcher_create(const gpo_batcher_options* options, gpo_batcher_t* batcher) {
    return abi::call(__func__, {}, [&] {
        required(batcher, "batcher");
        const gpo_batcher_options read = checked(options);
        const Devices devices(read);
        Ref<Executor> executor;
        if (read.executor) {
            Pin<Executor> run_by(read.executor);
            if (&run_by->runtime() != &*devices.runtime)
                fail(GPO_INVALID_HANDLE, run_by->describe(), " is of another runtime than the devices");
            executor = run_by.ref();
        }
        auto made =
            make<Batcher>(*devices.runtime, devices.on, read.lanes, read.capacity, std::move(executor), read.label);
        try {
            made->start();
            *batcher = devices.runtime->publish<gpo_batcher_t>(*made);
        } catch (...) {
            made->close();
            throw;
        }
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_batcher_destroy(gpo_batcher_t batcher) { return abi::destroy(__func__, batcher, Type::batcher); }

GPO_API gpo_status gpo_batcher_add_key(gpo_batcher_t batcher, const gpo_batcher_key_options* options, uint32_t* key) {
    return abi::call(__func__, {batcher}, [&] {
        required(key, "key");
        Pin<Batcher> pinned(batcher);
        return abi::blame(*pinned, [&] {
            const gpo_batcher_key_options read = checked(*pinned, options);
            *key = pinned->add_key(read, room_of(*pinned, read));
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_batcher_submit(gpo_batcher_t batcher, const gpo_batcher_request* request, gpo_cq_t cq,
                                      uint64_t user_data, uint64_t* ticket, uint64_t* wait_ns) {
    return abi::submit(__func__, {batcher, cq}, [&] {
        required(request, "request");
        required(ticket, "ticket");
        if (wait_ns) *wait_ns = 0;
        const gpo_batcher_request read = read_struct(request, "request");
        Pin<Batcher> pinned(batcher);
        Pin<CompletionQueue> queue(cq, pinned);
        of_one_runtime(*pinned, *queue);
        return abi::blame(*pinned, [&] {
            if (!queue->reserve()) return GPO_WOULD_BLOCK;
            try {
                Target target;
                target.queue = &*queue;
                target.user_data = user_data;
                const gpo_status status =
                    pinned->submit(read, pinned.thread(), target, nullptr, nullptr, ticket, wait_ns);
                if (status != GPO_SUCCESS) queue->unreserve();
                return status;
            } catch (...) {
                queue->unreserve();
                throw;
            }
        });
    });
}

GPO_API gpo_status gpo_batcher_submit_then(gpo_batcher_t batcher, const gpo_batcher_request* request,
                                           gpo_executor_t executor, gpo_completion_fn callback, void* user,
                                           uint64_t* ticket, uint64_t* wait_ns) {
    return abi::call(__func__, {batcher, executor}, [&] {
        required(request, "request");
        required(callback, "callback");
        required(ticket, "ticket");
        if (wait_ns) *wait_ns = 0;
        const gpo_batcher_request read = read_struct(request, "request");
        Pin<Batcher> pinned(batcher);
        Pin<Executor> run_by(executor);
        of_one_runtime(*pinned, *run_by);
        return abi::blame(*pinned, [&] {
            const auto task = make<SubmitCall>(*run_by, *pinned, callback, user);
            return accept_and_submit(*run_by, task, nullptr,
                                     [&] { return task->submit(read, pinned.thread(), ticket, wait_ns); });
        });
    });
}

GPO_API gpo_status gpo_batcher_cancel(gpo_batcher_t batcher, uint64_t ticket) {
    return on(__func__, batcher, [&](Batcher& pinned) { pinned.cancel(ticket); });
}

GPO_API gpo_status gpo_batcher_set_flow(gpo_batcher_t batcher, uint64_t flow, uint32_t weight) {
    return on(__func__, batcher, [&](Batcher& pinned) {
        if (weight == 0 || weight > kMostFlowWeight)
            fail(GPO_INVALID_ARGUMENT, "weight is ", weight, ", it must be 1 to ", kMostFlowWeight);
        pinned.set_flow(flow, weight);
    });
}

GPO_API gpo_status gpo_batcher_get_info(gpo_batcher_t batcher, gpo_batcher_info* info) {
    return abi::call(__func__, {batcher}, [&] {
        required(info, "info");
        Pin<Batcher> pinned(batcher);
        write_struct(info, pinned->info(), "info");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_batcher_get_key_info(gpo_batcher_t batcher, uint32_t key, gpo_batcher_info* info) {
    return abi::call(__func__, {batcher}, [&] {
        required(info, "info");
        Pin<Batcher> pinned(batcher);
        write_struct(info, pinned->key_info(key), "info");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_batcher_get_flow_info(gpo_batcher_t batcher, uint64_t flow, gpo_batcher_flow_info* info) {
    return abi::call(__func__, {batcher}, [&] {
        required(info, "info");
        Pin<Batcher> pinned(batcher);
        write_struct(info, pinned->flow_info(flow), "info");
        return GPO_SUCCESS;
    });
}

}  // extern "C"
