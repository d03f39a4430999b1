#include "device/device.h"

#include <optional>

#include "abi/call.h"
#include "device/contexts.h"
#include "stream/cycles.h"
#include "stream/streams.h"

using namespace gpo;

namespace {

constexpr uint64_t kSearch = 10'000'000;   // ns that a wait which has timed out looks for a cycle of streams

int native_ordinal(Runtime& runtime, uint32_t ordinal) {
    runtime.driver();
    const auto& ordinals = runtime.ordinals();
    if (ordinal >= ordinals.size())
        fail(GPO_NO_DEVICE, "device ", ordinal, " isn't there: the runtime shows ", ordinals.size());
    return ordinals[ordinal];
}

CUlimit native_limit(uint32_t limit) {
    switch (limit) {
        case GPO_LIMIT_STACK_BYTES: return CU_LIMIT_STACK_SIZE;
        case GPO_LIMIT_PRINTF_BYTES: return CU_LIMIT_PRINTF_FIFO_SIZE;
        case GPO_LIMIT_HEAP_BYTES: return CU_LIMIT_MALLOC_HEAP_SIZE;
        case GPO_LIMIT_PENDING_LAUNCHES: return CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT;
        case GPO_LIMIT_L2_FETCH_BYTES: return CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
        case GPO_LIMIT_PERSISTING_L2_BYTES: return CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
        default: fail(GPO_INVALID_ARGUMENT, "limit ", limit, " is none of GPO_LIMIT_*");
    }
}

}  // namespace

extern "C" {

GPO_API gpo_status gpo_runtime_get_device_count(gpo_runtime_t runtime, uint32_t* count) {
    return abi::call(__func__, {runtime}, [&] {
        required(count, "count");
        Pin<Runtime> pinned(runtime);
        pinned->driver();
        *count = static_cast<uint32_t>(pinned->ordinals().size());
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_runtime_describe_device(gpo_runtime_t runtime, uint32_t ordinal,
                                               gpo_device_properties* properties) {
    return abi::call(__func__, {runtime}, [&] {
        required(properties, "properties");
        Pin<Runtime> pinned(runtime);
        const int native = native_ordinal(*pinned, ordinal);
        write_struct(properties, device_properties(pinned->driver(), native), "properties");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_runtime_describe_peer(gpo_runtime_t runtime, uint32_t from, uint32_t to,
                                            gpo_peer_properties* properties) {
    return abi::call(__func__, {runtime}, [&] {
        required(properties, "properties");
        Pin<Runtime> pinned(runtime);
        const int a = native_ordinal(*pinned, from), b = native_ordinal(*pinned, to);
        write_struct(properties, peer_properties(pinned->driver(), a, b), "properties");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_device_open(gpo_runtime_t runtime, const gpo_device_options* options, gpo_device_t* device) {
    return abi::call(__func__, {runtime}, [&] {
        required(device, "device");
        const gpo_device_options read = read_struct(options, "options");
        refuse_unknown_flags(read.flags, 0, "options.flags");
        if (read.reserved) fail(GPO_INVALID_ARGUMENT, "options.reserved is not 0");
        Pin<Runtime> pinned(runtime);
        const int native = native_ordinal(*pinned, read.ordinal);
        auto context = Contexts::of(*pinned).open(native, static_cast<CUcontext>(read.native_context), Streams::create);
        auto made = make<Device>(*pinned, read.ordinal, std::move(context), read.label);
        *device = pinned->publish<gpo_device_t>(*made);
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_device_close(gpo_device_t device) {
    return abi::destroy(__func__, device, Type::device);
}

GPO_API gpo_status gpo_device_get_properties(gpo_device_t device, gpo_device_properties* properties) {
    return abi::call(__func__, {device}, [&] {
        required(properties, "properties");
        Pin<Device> pinned(device);
        Context& context = pinned->context();
        write_struct(properties, device_properties(context.driver(), context.ordinal()), "properties");
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_device_wait(gpo_device_t device, int64_t timeout_ns) {
    return abi::call(__func__, {device}, [&] {
        const uint64_t deadline = host::deadline_after(timeout_ns);
        Pin<Device> pinned(device);
        bool held = false;
        const gpo_status status = abi::blame(*pinned, [&] {
            Context& context = pinned->context();
            context.require_alive();
            const uint64_t newest = Streams::of(context).deferred().newest();
            bool captured = false;
            for (const auto& stream : Streams::of(context).passing()) {
                // A stream in capture runs nothing.
                {
                    DriverScope scope(context);
                    if (stream->captured()) {
                        captured = true;
                        continue;
                    }
                }
                try {
                    if (const gpo_status status = stream->wait(timeout_ns == 0 ? 0 : deadline); status != GPO_SUCCESS) {
                        held = stream->held().any();
                        return status;
                    }
                } catch (const Failure& failure) {
                    // A failed stream doesn't make this call fail: its remaining work is dropped, and its own callers
                    // get the failure. After a cancellation, held work won't run, and earlier work has ended.
                    const bool cancelled =
                        failure.error()->status == GPO_CANCELLED && !pinned->runtime().shutting_down();
                    if (context.lost() || (failure.error() != stream->failure() && !cancelled)) throw;
                }
            }
            // Don't wait for freed memory: it is released only after a capture, which this thread may have to end.
            if (captured) return gpo_status{GPO_SUCCESS};
            const bool here = ServesDeferred::here();
            if (Streams::of(context).deferred().wait(newest, here || timeout_ns == 0 ? 0 : deadline))
                return gpo_status{GPO_SUCCESS};
            if (here && timeout_ns != 0)
                fail(GPO_WOULD_DEADLOCK,
                     "a thread of the library can't wait for memory to be freed, which it does itself");
            return gpo_status{GPO_TIMEOUT};
        });
        if (held)
            if (const std::string cycle = describe_cycle(pinned->runtime(), host::now() + kSearch); !cycle.empty())
                fail(status, "streams hold each other up: ", cycle);
        return status;
    });
}

GPO_API gpo_status gpo_device_get_native(gpo_device_t device, void** context, int32_t* ordinal) {
    return abi::call(__func__, {device}, [&] {
        Pin<Device> pinned(device);
        if (context) *context = pinned->context().native();
        if (ordinal) *ordinal = pinned->context().ordinal();
        return GPO_SUCCESS;
    });
}

GPO_API gpo_status gpo_device_get_memory(gpo_device_t device, uint64_t* free_bytes, uint64_t* total_bytes) {
    return abi::call(__func__, {device}, [&] {
        required(free_bytes, "free_bytes");
        required(total_bytes, "total_bytes");
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            Context& context = pinned->context();
            DriverScope scope(context);
            size_t free_now = 0, total = 0;
            context.check(context.table().cuMemGetInfo(&free_now, &total), "cuMemGetInfo");
            *free_bytes = free_now;
            *total_bytes = total;
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_device_enable_peer(gpo_device_t device, gpo_device_t peer) {
    return abi::call(__func__, {device, peer}, [&] {
        Pin<Device> pinned(device), other(peer);
        if (&pinned->runtime() != &other->runtime())
            fail(GPO_INVALID_HANDLE, pinned->describe(), " and ", other->describe(), " are of different runtimes");
        if (&pinned->context() == &other->context()) return GPO_SUCCESS;
        return abi::blame(*pinned, [&] {
            DriverScope scope(pinned->context());
            other->context().require_alive();
            const CUresult result = pinned->context().table().cuCtxEnablePeerAccess(other->context().native(), 0);
            if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
                pinned->context().check(result, "cuCtxEnablePeerAccess");
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_device_disable_peer(gpo_device_t device, gpo_device_t peer) {
    return abi::call(__func__, {device, peer}, [&] {
        Pin<Device> pinned(device), other(peer);
        if (&pinned->runtime() != &other->runtime())
            fail(GPO_INVALID_HANDLE, pinned->describe(), " and ", other->describe(), " are of different runtimes");
        return abi::blame(*pinned, [&] {
            if (&pinned->context() == &other->context())
                fail(GPO_INVALID_ARGUMENT, "a device can't be kept from its own memory");
            Streams::settle_withheld(pinned->runtime());
            DriverScope scope(pinned->context());
            other->context().require_alive();
            pinned->context().check(pinned->context().table().cuCtxDisablePeerAccess(other->context().native()),
                                    "cuCtxDisablePeerAccess");
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_device_get_limit(gpo_device_t device, uint32_t limit, uint64_t* value) {
    return abi::call(__func__, {device}, [&] {
        required(value, "value");
        const CUlimit native = native_limit(limit);
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            DriverScope scope(pinned->context());
            size_t out = 0;
            pinned->context().check(pinned->context().table().cuCtxGetLimit(&out, native), "cuCtxGetLimit");
            *value = out;
            return GPO_SUCCESS;
        });
    });
}

GPO_API gpo_status gpo_device_set_limit(gpo_device_t device, uint32_t limit, uint64_t value) {
    return abi::call(__func__, {device}, [&] {
        const CUlimit native = native_limit(limit);
        Pin<Device> pinned(device);
        return abi::blame(*pinned, [&] {
            std::optional<BlockingCalls::Now> now;
            if (native == CU_LIMIT_STACK_SIZE) now.emplace(pinned->context(), "setting the stack limit");
            DriverScope scope(pinned->context());
            pinned->context().check(pinned->context().table().cuCtxSetLimit(native, value), "cuCtxSetLimit");
            return GPO_SUCCESS;
        });
    });
}

}
